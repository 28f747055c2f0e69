/* cuFFTW: what surrounds FFTW's plans. Memory is the host's own, as in NVIDIA's; there is no wisdom, no time limit and
 * no count of operations to tell of. */
#include <stdlib.h>

#include "api/cufftw/plan.h"

#define SUPPORT(X) \
    void *wrap_##X##_malloc(size_t size) { return malloc(size); } \
    void wrap_##X##_free(void *p) { free(p); } \
    void wrap_##X##_export_wisdom_to_file(void *file) { (void)file; } \
    int wrap_##X##_import_wisdom_from_file(void *file) \
    { \
        (void)file; \
        return 1; \
    } \
    void wrap_##X##_set_timelimit(double seconds) { (void)seconds; } \
    double wrap_##X##_cost(void *plan) \
    { \
        (void)plan; \
        return 1; \
    } \
    void wrap_##X##_flops(void *plan, double *add, double *mul, double *fma) \
    { \
        (void)plan; \
        if (add) \
            *add = 1; \
        if (mul) \
            *mul = 1; \
        if (fma) \
            *fma = 1; \
    } \
    void wrap_##X##_cleanup(void) {}
SUPPORT(fftw)
SUPPORT(fftwf)
