/* muSPARSE for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MUSPARSE_H
#define CUMU_NATIVE_MUSPARSE_H

#include "begin.h"
#include "abi/musparse.h"
#include "end.h"

#include "musa_runtime.h"

#endif
