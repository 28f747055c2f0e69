/* Plans of cuFFTW: the system FFTW's, and the memory that they were made for. */
#ifndef CUMU_API_CUFFTW_PLAN_H
#define CUMU_API_CUFFTW_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "cuda_enums.h"
#include "wraps.h"

enum cufftw_kind { CUFFTW_C2C, CUFFTW_R2C, CUFFTW_C2R };

struct cufftw_side {
    void *data;
    size_t bytes; /* from there to the end of the last element */
};
struct cufftw_plan {
    bool precise; /* double */
    enum cufftw_kind kind;
    void *fast, *any; /* FFTW's plans: for memory aligned as in and out are, and for any */
    struct cufftw_side in, out;
};

/* fftw_NAME or fftwf_NAME of the system's FFTW; NULL, with a line that says why, where there is none. */
void *cufftw_function(bool precise, const char *name);

void cufftw_drop(struct cufftw_plan *p);

/* Runs the plan on these, which lie on the host or on the device. Returns when the result is there, as FFTW does. */
void cufftw_run(const struct cufftw_plan *p, void *in, void *out);

#endif
