/* muSOLVER for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MUSOLVER_H
#define CUMU_NATIVE_MUSOLVER_H

#include "begin.h"
#include "abi/musolver.h"
#include "end.h"

#include "musa_runtime.h"

#endif
