/* MUSA's driver API for programs that are written for MUSA, over the headers that cumu's own code has. */
#ifndef CUMU_NATIVE_MUSA_H
#define CUMU_NATIVE_MUSA_H

#include "begin.h"
#include "abi/musa.h"
#include "end.h"

#endif
