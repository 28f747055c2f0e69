/* MCCL for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MCCL_H
#define CUMU_NATIVE_MCCL_H

#include "begin.h"
#include "abi/mccl.h"
#include "end.h"
#include "musa_runtime.h"

enum { /* the other names of types, as NCCL has them */
       mcclChar = mcclInt8,
       mcclInt = mcclInt32,
       mcclHalf = mcclFloat16,
       mcclFloat = mcclFloat32,
       mcclDouble = mcclFloat64,
};

#endif
