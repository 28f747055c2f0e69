/* muRAND for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MURAND_H
#define CUMU_NATIVE_MURAND_H

#include "begin.h"
#include "abi/murand.h"
#include "end.h"

#include "musa_runtime.h"

#endif
