/* cuFFTW: executions. Data may lie anywhere, as FFTW's does: memory that the device does not know is copied there and
 * back. */
#include <stdlib.h>

#include "api/cufftw/plan.h"

static bool is_on_device(const void *p)
{
    musaPointerAttributes a;
    if (!mu.musaPointerGetAttributes(&a, p))
        return a.type != musaMemoryTypeUnregistered;
    mu.musaGetLastError(); /* a MUSA that calls it an error */
    return false;
}

static int transform(const struct cufftw_plan *p, void *in, void *out)
{
    switch (p->type) {
    case CUFFT_C2C:
        return wrap_cufftExecC2C(p->plan, in, out, p->sign);
    case CUFFT_Z2Z:
        return wrap_cufftExecZ2Z(p->plan, in, out, p->sign);
    case CUFFT_R2C:
        return wrap_cufftExecR2C(p->plan, in, out);
    case CUFFT_D2Z:
        return wrap_cufftExecD2Z(p->plan, in, out);
    case CUFFT_C2R:
        return wrap_cufftExecC2R(p->plan, in, out);
    default:
        return wrap_cufftExecZ2D(p->plan, in, out);
    }
}

/* A copy on the device of memory that only the host has; NULL without room for it. */
static void *staged(const void *data, size_t bytes, bool filled)
{
    void *copy = NULL;
    if (mu.musaMalloc(&copy, bytes))
        return NULL;
    if (!filled || !mu.musaMemcpy(copy, data, bytes, musaMemcpyHostToDevice))
        return copy;
    mu.musaFree(copy);
    return NULL;
}

/* Executes a plan on memory of either side: FFTW's programs pass host pointers, which are staged on the device; with
 * a device pointer nothing is copied. In place needs room for the larger side. */
static bool run(const struct cufftw_plan *p, void *in, void *out)
{
    bool in_place = in == out, done = false;
    void *from = in, *to = out, *in_copy = NULL, *out_copy = NULL;
    if (!is_on_device(in)) {
        size_t bytes = in_place && p->out.bytes > p->in.bytes ? p->out.bytes : p->in.bytes;
        from = in_copy = staged(in, bytes, true);
        if (!from)
            goto out;
    }
    if (in_place)
        to = from;
    else if (!is_on_device(out)) { /* what lies between its elements stays as it is */
        to = out_copy = staged(out, p->out.bytes, !p->out.dense);
        if (!to)
            goto out;
    }
    done = !transform(p, from, to) && !mu.musaStreamSynchronize(NULL) &&
           (to == out || !mu.musaMemcpy(out, to, p->out.bytes, musaMemcpyDeviceToHost));
out:
    if (in_copy)
        mu.musaFree(in_copy);
    if (out_copy)
        mu.musaFree(out_copy);
    return done;
}

void cufftw_run(const struct cufftw_plan *p, void *in, void *out)
{
    if (!p || !in || !out || run(p, in, out))
        return;
    CUMU_LOG_AT(CUMU_ERROR, "cufftw", "fftw_execute", "the transform did not run: nothing is written");
    mu.musaGetLastError();
}

#define EXECUTE(X) \
    void wrap_##X##_execute(void *plan) \
    { \
        const struct cufftw_plan *p = plan; \
        if (p) \
            cufftw_run(p, p->in.data, p->out.data); \
    } \
    void wrap_##X##_execute_dft(void *plan, void *in, void *out) { cufftw_run(plan, in, out); } \
    void wrap_##X##_execute_dft_r2c(void *plan, void *in, void *out) { cufftw_run(plan, in, out); } \
    void wrap_##X##_execute_dft_c2r(void *plan, void *in, void *out) { cufftw_run(plan, in, out); } \
    void wrap_##X##_destroy_plan(void *plan) \
    { \
        struct cufftw_plan *p = plan; \
        if (p) \
            wrap_cufftDestroy(p->plan); \
        free(p); \
    }
EXECUTE(fftw)
EXECUTE(fftwf)
