/* muBLASLt for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MUBLASLT_H
#define CUMU_NATIVE_MUBLASLT_H

#include "begin.h"
#include "abi/mublaslt.h"
#include "end.h"

#include "musa_runtime.h"

#endif
