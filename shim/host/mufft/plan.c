/* Plans of the CPU muFFT: shapes, and FFTW's plans of them. */
#include <fftw3.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "host/mufft/mufft.h"

mufftResult mufft_check(const struct mufft_shape *s)
{
    mufftType kind = mufft_kind(s->type);
    if (kind != MUFFT_C2C && kind != MUFFT_R2C && kind != MUFFT_C2R)
        return MUFFT_INVALID_TYPE;
    if (s->rank < 1 || s->rank > RANK)
        return MUFFT_INVALID_VALUE;
    long long total = s->batch;
    if (s->batch < 1)
        return MUFFT_INVALID_SIZE;
    for (int i = 0; i < s->rank; i++)
        if (s->n[i] < 1 || __builtin_mul_overflow(total, s->n[i], &total) || total > PTRDIFF_MAX / 16)
            return MUFFT_INVALID_SIZE;
    if (s->basic)
        return MUFFT_SUCCESS;
    for (int i = 0; i < s->rank; i++)
        if (i && (s->in.embed[i] < 1 || s->out.embed[i] < 1))
            return MUFFT_INVALID_VALUE;
    if (s->in.stride < 1 || s->out.stride < 1 || (s->batch > 1 && (s->in.dist < 0 || s->out.dist < 0)))
        return MUFFT_INVALID_VALUE;
    return MUFFT_SUCCESS;
}

struct mufft_plan *mufft_plan_new(const struct mufft_shape *s)
{
    struct mufft_plan *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->references = 1;
    p->shape = *s;
    double points = (double)s->batch;
    for (int i = 0; i < s->rank; i++)
        points *= (double)s->n[i];
    p->work = points * (16 + 5 * log2(points / (double)s->batch));
    return p;
}

void mufft_plan_release(struct mufft_plan *p)
{
    if (atomic_fetch_sub(&p->references, 1) > 1)
        return;
    for (int i = 0; i < MUFFT_USES; i++)
        if (p->uses[i] && mufft_is_double(p->shape.type))
            fftw_destroy_plan(p->uses[i]);
        else if (p->uses[i])
            fftwf_destroy_plan(p->uses[i]);
    free(p);
}

/* Strides of one side's dimensions and the distance of its transforms. `real`: the side's elements are. */
static long long strides(const struct mufft_shape *s, const struct mufft_side *side, bool real, bool in_place,
                         long long stride[RANK])
{
    long long step = s->basic ? 1 : side->stride;
    bool halved = mufft_kind(s->type) != MUFFT_C2C;
    for (int i = s->rank - 1; i >= 0; i--) {
        long long extent = s->n[i];
        if (halved && i == s->rank - 1)
            extent = !real ? extent / 2 + 1 : in_place ? 2 * (extent / 2 + 1) : extent;
        stride[i] = step;
        step *= s->basic ? extent : i ? side->embed[i] : 1;
    }
    return s->basic ? step : side->dist;
}

struct dims {
    int rank, batches;
    fftw_iodim64 n[RANK], batch;
};

/* A planner that estimates never touches the data; of its address it takes in the alignment, and whether both
 * sides are one. The programs' own use of FFTW may plan at the same time: FFTW's lock is for all of the process. */
#define PLANNER(X, suffix) \
    static void *plan##suffix(const struct mufft_shape *s, const struct dims *d, void *in, void *out, int sign, \
                              unsigned flags) \
    { \
        const X##_iodim64 *n = (const void *)d->n, *batch = (const void *)&d->batch; \
        switch (mufft_kind(s->type)) { \
        case MUFFT_R2C: \
            return X##_plan_guru64_dft_r2c(d->rank, n, d->batches, batch, in, out, flags); \
        case MUFFT_C2R: \
            return X##_plan_guru64_dft_c2r(d->rank, n, d->batches, batch, in, out, flags); \
        default: \
            return X##_plan_guru64_dft(d->rank, n, d->batches, batch, in, out, sign, flags); \
        } \
    } \
    static void run##suffix(const struct mufft_plan *p, void *fftw, void *in, void *out) \
    { \
        switch (mufft_kind(p->shape.type)) { \
        case MUFFT_R2C: \
            X##_execute_dft_r2c(fftw, in, out); \
            break; \
        case MUFFT_C2R: \
            X##_execute_dft_c2r(fftw, in, out); \
            break; \
        default: \
            X##_execute_dft(fftw, in, out); \
        } \
    }
PLANNER(fftw, _double)
PLANNER(fftwf, _float)

static void share_planner(void)
{
    fftw_make_planner_thread_safe();
    fftwf_make_planner_thread_safe();
}

static void *make(const struct mufft_shape *s, unsigned use)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Alignas(64) char data[2][64];
    pthread_once(&once, share_planner);

    bool in_place = use & MUFFT_IN_PLACE;
    long long in[RANK], out[RANK];
    long long in_dist = strides(s, &s->in, mufft_kind(s->type) == MUFFT_R2C, in_place, in);
    long long out_dist = strides(s, &s->out, mufft_kind(s->type) == MUFFT_C2R, in_place, out);
    struct dims d = {.rank = s->rank, .batches = s->batch > 1, .batch = {s->batch, in_dist, out_dist}};
    for (int i = 0; i < s->rank; i++)
        d.n[i] = (fftw_iodim64){s->n[i], in[i], out[i]};
    unsigned flags = FFTW_ESTIMATE | (use & MUFFT_UNALIGNED ? FFTW_UNALIGNED : 0);
    int sign = use & MUFFT_INVERSE_USE ? FFTW_BACKWARD : FFTW_FORWARD;
    return (mufft_is_double(s->type) ? plan_double : plan_float)(s, &d, data[0], data[!in_place], sign, flags);
}

void *mufft_plan_for(struct mufft_plan *p, unsigned use)
{
    void *had = NULL, *made = atomic_load_explicit(&p->uses[use], memory_order_acquire);
    if (made)
        return made;
    made = make(&p->shape, use);
    if (!made || atomic_compare_exchange_strong(&p->uses[use], &had, made))
        return made;
    if (mufft_is_double(p->shape.type))
        fftw_destroy_plan(made);
    else
        fftwf_destroy_plan(made);
    return had;
}

unsigned mufft_misaligned(const struct mufft_plan *p, const void *data)
{
    union {
        const void *in;
        void *out;
    } u = {data};
    int off = mufft_is_double(p->shape.type) ? fftw_alignment_of(u.out) : fftwf_alignment_of(u.out);
    return off ? MUFFT_UNALIGNED : 0;
}

void mufft_run(const struct mufft_plan *p, void *fftw, void *in, void *out)
{
    (mufft_is_double(p->shape.type) ? run_double : run_float)(p, fftw, in, out);
}
