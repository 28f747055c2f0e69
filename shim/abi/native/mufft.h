/* muFFT for programs that are written for MUSA. */
#ifndef CUMU_NATIVE_MUFFT_H
#define CUMU_NATIVE_MUFFT_H

#include "begin.h"
#include "abi/mufft.h"
#include "end.h"

#include "musa_runtime.h"

#endif
