/* muBLAS for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MUBLAS_H
#define CUMU_NATIVE_MUBLAS_H

#include "begin.h"
#include "abi/mublas.h"
#include "end.h"

#include "musa_runtime.h"

#endif
