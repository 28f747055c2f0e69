/* Plans of cuFFTW: one of cuFFT's, and what FFTW's interface keeps with it. */
#ifndef CUMU_API_CUFFTW_PLAN_H
#define CUMU_API_CUFFTW_PLAN_H

#include <stdbool.h>

#include "api/api.h"
#include "cuda_enums.h"
#include "wraps.h"

enum { CUFFTW_RANK = 3 };

struct cufftw_dim {
    long long n, is, os; /* elements; steps of the two sides, in their own elements */
};
struct cufftw_side {
    void *data;
    size_t bytes; /* from the first element to the last */
    bool dense;   /* no byte of them belongs to anything else */
};
struct cufftw_plan {
    int plan, type, sign; /* cuFFT's number, type and direction */
    struct cufftw_side in, out;
};

/* Runs the plan on these, which lie on the device or in memory that it knows nothing of. Returns when the result is
 * there, as FFTW does. */
void cufftw_run(const struct cufftw_plan *p, void *in, void *out);

#endif
