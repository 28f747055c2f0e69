/* Plans as cuFFT numbers them, and what of them only cumu keeps. */
#ifndef CUMU_API_CUFFT_PLAN_H
#define CUMU_API_CUFFT_PLAN_H

#include <stdatomic.h>

#include "api/api.h"
#include "cuda_enums.h"

struct cufft_plan {
    atomic_bool taken;
    _Atomic(mufftHandle) below; /* NULL: no plan of the program */
    atomic_bool made;
    long long patient, threads; /* properties; nothing below reads them */
};

/* NULL for a number that is no plan. No lock: the number is the place. */
struct cufft_plan *cumu_cufft_plan(int plan);

/* First statement of a wrapper that takes `plan`: `h` is what muFFT calls it. */
#define CUFFT_BELOW(plan, h) \
    struct cufft_plan *place_ = cumu_cufft_plan(plan); \
    mufftHandle h = place_ ? place_->below : NULL; \
    if (!h) \
    return CUFFT_INVALID_PLAN

#endif
