/* cuFFTW: FFTW's ways to say a transform, said to the system's FFTW. A plan is NULL where there is none, as in FFTW.
 *
 * FFTW's general functions (many, guru, guru64) are enough for all, and they are those that call none of the others:
 * calls of one exported function to another would reach this library's own, which have the same names. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/cufftw/plan.h"

static void *library[2]; /* for float, for double */

/* Its lock against planning in two threads is process-wide, for the program's own FFTW and the CPU's muFFT too. */
static void load(void)
{
    static const char *const names[2][2] = {{"libfftw3f.so.3", "libfftw3f_threads.so.3"},
                                            {"libfftw3.so.3", "libfftw3_threads.so.3"}};
    for (int k = 0; k < 2; k++) {
        void *l = dlopen(names[k][0], RTLD_NOW | RTLD_LOCAL), *threads = dlopen(names[k][1], RTLD_NOW | RTLD_LOCAL);
        const char *safe = k ? "fftw_make_planner_thread_safe" : "fftwf_make_planner_thread_safe";
        void (*make_safe)(void) = threads ? (void (*)(void))dlsym(threads, safe) : NULL;
        if (make_safe)
            make_safe();
        library[k] = make_safe ? l : NULL;
    }
}
void *cufftw_function(bool precise, const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char whole[64];
    pthread_once(&once, load);
    snprintf(whole, sizeof whole, "fftw%s_%s", precise ? "" : "f", name);
    void *f = library[precise] ? dlsym(library[precise], whole) : NULL;
    if (!f)
        cumu_gap("cufftw", "fftw_plan_dft", "there is no FFTW (packages libfftw3-double3 and libfftw3-single3)");
    return f;
}

/* ---- requests ---------------------------------------------------------------------------------- */

enum form { MANY, GURU, GURU64 };
struct layout { /* of one side; what a form has no use for is 0 */
    void *data;
    const int *embed;
    int stride, dist;
};
struct request {
    bool precise;
    enum cufftw_kind kind;
    enum form form;
    int rank, sign, batches;
    unsigned flags;
    const void *n, *batch; /* int, or dimensions of the form */
    struct layout in, out;
};

typedef void *many_complex(int, const void *, int, void *, const int *, int, int, void *, const int *, int, int, int,
                           unsigned);
typedef void *many_real(int, const void *, int, void *, const int *, int, int, void *, const int *, int, int, unsigned);
typedef void *guru_complex(int, const void *, int, const void *, void *, void *, int, unsigned);
typedef void *guru_real(int, const void *, int, const void *, void *, void *, unsigned);

static void *made(const struct request *q, unsigned flags)
{
    static const char *const names[][3] = {{"plan_many_dft", "plan_many_dft_r2c", "plan_many_dft_c2r"},
                                           {"plan_guru_dft", "plan_guru_dft_r2c", "plan_guru_dft_c2r"},
                                           {"plan_guru64_dft", "plan_guru64_dft_r2c", "plan_guru64_dft_c2r"}};
    const struct layout *i = &q->in, *o = &q->out;
    void *f = cufftw_function(q->precise, names[q->form][q->kind]);
    if (!f)
        return NULL;
    if (q->form == MANY && q->kind == CUFFTW_C2C)
        return ((many_complex *)f)(q->rank, q->n, q->batches, i->data, i->embed, i->stride, i->dist, o->data, o->embed,
                                   o->stride, o->dist, q->sign, flags);
    if (q->form == MANY)
        return ((many_real *)f)(q->rank, q->n, q->batches, i->data, i->embed, i->stride, i->dist, o->data, o->embed,
                                o->stride, o->dist, flags);
    if (q->kind == CUFFTW_C2C)
        return ((guru_complex *)f)(q->rank, q->n, q->batches, q->batch, i->data, o->data, q->sign, flags);
    return ((guru_real *)f)(q->rank, q->n, q->batches, q->batch, i->data, o->data, flags);
}

/* Elements and one side's step of a dimension, of which MANY's have none of their own. */
static void dimension(const struct request *q, const void *all, int i, bool out, long long *n, long long *step)
{
    const ptrdiff_t *wide = all; /* n, input's step, output's step */
    const int *narrow = all;
    *n = q->form == MANY ? narrow[i] : q->form == GURU ? narrow[3 * i] : wide[3 * i];
    *step = q->form == MANY ? 0 : q->form == GURU ? narrow[3 * i + 1 + out] : wide[3 * i + 1 + out];
}

/* FFTW ends the process when it finds no memory for its tables: what no memory could hold is refused. */
static bool fits(const struct request *q)
{
    double bytes = q->precise ? 8 : 4, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < q->rank; i++) {
        long long n, step;
        dimension(q, q->n, i, false, &n, &step);
        bytes *= (double)n;
    }
    return bytes > 0 && bytes < memory;
}

/* What one side reaches, for memory that has to be copied. False where that is beyond any address, or a step is
 * negative: cuFFT has no such plans, and of some FFTW 3.3.10's planner dies. */
static bool extent(const struct request *q, bool out, struct cufftw_side *side)
{
    const struct layout *l = out ? &q->out : &q->in;
    bool real = q->kind == (out ? CUFFTW_C2R : CUFFTW_R2C), half = q->kind != CUFFTW_C2C && !real;
    double last_at = 0, step = l->stride, element = (q->precise ? 8 : 4) * (real ? 1 : 2);
    const int *n = q->n;
    long long each, by;
    if (l->stride < 0 || l->dist < 0)
        return false;
    for (int i = q->rank; i-- > 0;) {
        bool last = i == q->rank - 1;
        dimension(q, q->n, i, out, &each, &by);
        if (by < 0 || (q->form == MANY && l->embed && l->embed[i] < 1))
            return false;
        each = last && half ? each / 2 + 1 : each;
        last_at += (double)(each - 1) * (q->form == MANY ? step : (double)by);
        if (q->form == MANY) /* in place, a real row has room for the complex one */
            step *= l->embed                                    ? l->embed[i]
                    : last && real && q->in.data == q->out.data ? 2 * (n[i] / 2 + 1)
                                                                : (double)each;
    }
    for (int i = 0; q->form != MANY && i < q->batches; i++) {
        dimension(q, q->batch, i, out, &each, &by);
        if (by < 0)
            return false;
        last_at += (double)(each - 1) * (double)by;
    }
    last_at += q->form == MANY ? (double)(q->batches - 1) * l->dist : 0;
    *side = (struct cufftw_side){l->data, last_at * element < 0x1p60 ? (size_t)((last_at + 1) * element) : 0};
    return side->bytes;
}

/* The plan's memory may lie on the device and holds the program's numbers already, as cuFFT's plans do not touch them:
 * FFTW estimates, whatever the program asks for, so that it does not either. */
static void *plan(const struct request *q)
{
    enum { DESTROY_INPUT = 1, UNALIGNED = 2, PRESERVE_INPUT = 16, ESTIMATE = 64 };
    unsigned flags = (q->flags & (DESTROY_INPUT | PRESERVE_INPUT)) | ESTIMATE;
    bool batched = q->form == MANY ? q->batches > 0 : q->batches >= 0 && (!q->batches || q->batch);
    bool signless = q->kind != CUFFTW_C2C || q->sign == CUFFT_FORWARD || q->sign == CUFFT_INVERSE;
    if (q->rank < 1 || !q->n || !batched || !signless || !fits(q))
        return NULL;
    struct cufftw_plan *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = (struct cufftw_plan){.precise = q->precise, .kind = q->kind};
    if (extent(q, false, &p->in) && extent(q, true, &p->out))
        p->fast = made(q, flags);
    p->any = p->fast ? made(q, flags | UNALIGNED) : NULL;
    if (p->any)
        return p;
    cufftw_drop(p);
    return NULL;
}
void cufftw_drop(struct cufftw_plan *p)
{
    void (*destroy)(void *) = (void (*)(void *))cufftw_function(p->precise, "destroy_plan");
    if (p->fast)
        destroy(p->fast);
    if (p->any)
        destroy(p->any);
    free(p);
}

/* Contiguous, where FFTW makes room for the complex side of a real transform in place. */
static void *basic(bool precise, enum cufftw_kind kind, int rank, const int *n, void *in, void *out, int sign,
                   unsigned flags)
{
    return plan(
        &(struct request){precise, kind, MANY, rank, sign, 1, flags, n, NULL, {in, NULL, 1, 0}, {out, NULL, 1, 0}});
}

/* One kind's functions. SIGN and sign: what only the complex kind has. */
#define PLANS(X, precise, what, KIND, SIGN, sign) \
    void *wrap_##X##_plan_##what##_1d(int n, void *in, void *out SIGN, unsigned flags) \
    { \
        return basic(precise, KIND, 1, &n, in, out, sign, flags); \
    } \
    void *wrap_##X##_plan_##what##_2d(int n0, int n1, void *in, void *out SIGN, unsigned flags) \
    { \
        return basic(precise, KIND, 2, (int[]){n0, n1}, in, out, sign, flags); \
    } \
    void *wrap_##X##_plan_##what##_3d(int n0, int n1, int n2, void *in, void *out SIGN, unsigned flags) \
    { \
        return basic(precise, KIND, 3, (int[]){n0, n1, n2}, in, out, sign, flags); \
    } \
    void *wrap_##X##_plan_##what(int rank, const int *n, void *in, void *out SIGN, unsigned flags) \
    { \
        return basic(precise, KIND, rank, n, in, out, sign, flags); \
    } \
    void *wrap_##X##_plan_many_##what(int rank, const int *n, int batch, void *in, const int *inembed, int istride, \
                                      int idist, void *out, const int *onembed, int ostride, int odist SIGN, \
                                      unsigned flags) \
    { \
        return plan(&(struct request){precise, \
                                      KIND, \
                                      MANY, \
                                      rank, \
                                      sign, \
                                      batch, \
                                      flags, \
                                      n, \
                                      NULL, \
                                      {in, inembed, istride, idist}, \
                                      {out, onembed, ostride, odist}}); \
    } \
    void *wrap_##X##_plan_guru_##what(int rank, const void *dims, int batches, const void *batch, void *in, \
                                      void *out SIGN, unsigned flags) \
    { \
        return plan(&(struct request){ \
            precise, KIND, GURU, rank, sign, batches, flags, dims, batch, {.data = in}, {.data = out}}); \
    } \
    void *wrap_##X##_plan_guru64_##what(int rank, const void *dims, int batches, const void *batch, void *in, \
                                        void *out SIGN, unsigned flags) \
    { \
        return plan(&(struct request){ \
            precise, KIND, GURU64, rank, sign, batches, flags, dims, batch, {.data = in}, {.data = out}}); \
    }
#define A_SIGN , int sign
#define NO_SIGN
PLANS(fftw, true, dft, CUFFTW_C2C, A_SIGN, sign)
PLANS(fftwf, false, dft, CUFFTW_C2C, A_SIGN, sign)
PLANS(fftw, true, dft_r2c, CUFFTW_R2C, NO_SIGN, 0)
PLANS(fftwf, false, dft_r2c, CUFFTW_R2C, NO_SIGN, 0)
PLANS(fftw, true, dft_c2r, CUFFTW_C2R, NO_SIGN, 0)
PLANS(fftwf, false, dft_c2r, CUFFTW_C2R, NO_SIGN, 0)
