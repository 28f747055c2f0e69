/* cuFFTW: executions, on the host whichever MUSA library is below, as FFTW's programs have their data there. Memory of
 * the device goes to the host and back. */
#include <stdlib.h>

#include "api/cufftw/plan.h"

/* A copy of memory of the device that only it is sure to reach, of as much as one side or, in place, both reach. */
struct staged {
    void *copy;
    size_t bytes;
};
static bool stage(struct staged *s, void *data, size_t bytes)
{
    musaPointerAttributes about;
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
    *s = (struct staged){malloc(bytes), bytes};
    return s->copy && !mu.musaMemcpy(s->copy, data, bytes, musaMemcpyDeviceToHost);
}
static bool transform(const struct cufftw_plan *p, void *in, void *out)
{
    static const char *const names[] = {"execute_dft", "execute_dft_r2c", "execute_dft_c2r"};
    int (*alignment)(void *) = (int (*)(void *))cufftw_function(p->precise, "alignment_of");
    void (*execute)(void *, void *, void *) = (void (*)(void *, void *, void *))cufftw_function(p->precise,
                                                                                                names[p->kind]);
    if (!alignment || !execute)
        return false;
    bool alike = alignment(in) == alignment(p->in.data) && alignment(out) == alignment(p->out.data);
    execute(alike ? p->fast : p->any, in, out);
    return true;
}

void cufftw_run(const struct cufftw_plan *p, void *in, void *out)
{
    struct staged from, to = {0};
    if (!p || !in || !out)
        return;
    size_t both = p->in.bytes > p->out.bytes ? p->in.bytes : p->out.bytes;
    bool done = stage(&from, in, in == out ? both : p->in.bytes);
    if (in == out)
        to = from;
    else
        done = done && stage(&to, out, p->out.bytes);
    done = done && transform(p, from.copy ? from.copy : in, to.copy ? to.copy : out) &&
           (!to.copy || !mu.musaMemcpy(out, to.copy, to.bytes, musaMemcpyHostToDevice));
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
            cufftw_run(p, p->in.data, p->out.data); \
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
