/* cuFFTW: executions, on the host whichever MUSA library is below, as FFTW's programs have their data there. Memory of
 * the device goes to the host and back. */
#include <stdlib.h>

#include "api/cufftw/plan.h"

/* Memory of the device that only it is sure to reach, all of the allocation, as a plan's steps may lead either way. */
struct staged {
    char *base, *copy;
    size_t bytes;
};
static bool stage(struct staged *s, void *data)
{
    musaPointerAttributes about;
    MUdeviceptr base;
    *s = (struct staged){0};
    if (mu.musaPointerGetAttributes(&about, data)) {
        mu.musaGetLastError(); /* a MUSA that calls the host's own memory an error */
        return true;
    }
    if (about.type == musaMemoryTypeUnregistered)
        return true;
    if (mu.musaStreamSynchronize(NULL)) /* what was queued before may still write it */
        return false;
    if (about.type != musaMemoryTypeDevice)
        return true;
    if (mu.muMemGetAddressRange_v2(&base, &s->bytes, (MUdeviceptr)data))
        return false;
    s->base = (char *)base;
    s->copy = malloc(s->bytes);
    return s->copy && !mu.musaMemcpy(s->copy, s->base, s->bytes, musaMemcpyDeviceToHost);
}
static void *at(const struct staged *s, void *data) { return s->copy ? s->copy + ((char *)data - s->base) : data; }

static bool transform(const struct cufftw_plan *p, void *in, void *out)
{
    static const char *const names[] = {"execute_dft", "execute_dft_r2c", "execute_dft_c2r"};
    int (*alignment)(void *) = (int (*)(void *))cufftw_function(p->precise, "alignment_of");
    void (*execute)(void *, void *, void *) = (void (*)(void *, void *, void *))cufftw_function(p->precise,
                                                                                                names[p->kind]);
    if (!alignment || !execute)
        return false;
    bool alike = alignment(in) == alignment(p->in) && alignment(out) == alignment(p->out);
    execute(alike ? p->fast : p->any, in, out);
    return true;
}

void cufftw_run(const struct cufftw_plan *p, void *in, void *out)
{
    struct staged from, to = {0};
    if (!p || !in || !out)
        return;
    bool done = stage(&from, in);
    if (done && from.copy && (char *)out >= from.base && (char *)out < from.base + from.bytes)
        to = from; /* one allocation, and in place perhaps */
    else
        done = done && stage(&to, out);
    done = done && transform(p, at(&from, in), at(&to, out)) &&
           (!to.copy || !mu.musaMemcpy(to.base, to.copy, to.bytes, musaMemcpyHostToDevice));
    if (to.copy != from.copy)
        free(to.copy);
    free(from.copy);
    if (done)
        return;
    CUMU_LOG_AT(CUMU_ERROR, "cufftw", "fftw_execute", "the transform did not run: nothing is written");
    mu.musaGetLastError();
}

#define EXECUTE(X) \
    void wrap_##X##_execute(void *plan) \
    { \
        const struct cufftw_plan *p = plan; \
        if (p) \
            cufftw_run(p, p->in, p->out); \
    } \
    void wrap_##X##_execute_dft(void *plan, void *in, void *out) { cufftw_run(plan, in, out); } \
    void wrap_##X##_execute_dft_r2c(void *plan, void *in, void *out) { cufftw_run(plan, in, out); } \
    void wrap_##X##_execute_dft_c2r(void *plan, void *in, void *out) { cufftw_run(plan, in, out); } \
    void wrap_##X##_destroy_plan(void *plan) \
    { \
        if (plan) \
            cufftw_drop(plan); \
    }
EXECUTE(fftw)
EXECUTE(fftwf)
