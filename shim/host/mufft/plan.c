/* Plans of the CPU muFFT: shapes, and the ways that FFTW has for them. */
#include <math.h>
#include <stdlib.h>

#include "host/mufft/fftw.h"
#include "host/mufft/mufft.h"

/* What cuFFT documents of half precision: powers of two, and no steps between real elements. */
static mufftResult check_narrow(const struct mufft_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        if (s->n[i] & (s->n[i] - 1))
            return MUFFT_NOT_SUPPORTED;
    const struct mufft_side *real = mufft_kind(s->type) == MUFFT_R2C ? &s->in : &s->out;
    return mufft_kind(s->type) != MUFFT_C2C && !s->basic && real->stride != 1 ? MUFFT_NOT_SUPPORTED : MUFFT_SUCCESS;
}

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
    if (!s->basic) {
        for (int i = 0; i < s->rank; i++)
            if (i && (s->in.embed[i] < 1 || s->out.embed[i] < 1))
                return MUFFT_INVALID_VALUE;
        if (s->in.stride < 1 || s->out.stride < 1 || (s->batch > 1 && (s->in.dist < 0 || s->out.dist < 0)))
            return MUFFT_INVALID_VALUE;
    }
    return s->narrow ? check_narrow(s) : MUFFT_SUCCESS;
}

struct mufft_extent mufft_extent(const struct mufft_shape *s, bool out, bool in_place)
{
    const struct mufft_side *side = out ? &s->out : &s->in;
    bool halved = mufft_kind(s->type) != MUFFT_C2C;
    bool real = mufft_kind(s->type) == (out ? MUFFT_C2R : MUFFT_R2C);
    struct mufft_extent e;
    long long step = s->basic ? 1 : side->stride;
    for (int i = s->rank - 1; i >= 0; i--) {
        bool last = halved && i == s->rank - 1;
        long long half = s->n[i] / 2 + 1;
        e.n[i] = last && !real ? half : s->n[i];
        e.stride[i] = step;
        step *= !s->basic ? (i ? side->embed[i] : 1) : last && real && in_place ? 2 * half : e.n[i];
    }
    e.dist = s->basic ? step : side->dist;
    return e;
}

struct mufft_plan *mufft_plan_new(const struct mufft_shape *s)
{
    struct mufft_plan *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    struct mufft_shape wide = s->narrow ? mufft_widened(s) : *s;
    size_t out_at, size = mufft_way_scratch(&wide) + (s->narrow ? mufft_narrow_scratch(s, &out_at) : 0);
    if (size && !(p->scratch = aligned_alloc(64, (size + 63) & ~(size_t)63))) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->scratch_lock, NULL);
    p->references = 1;
    p->shape = *s;
    double points = (double)s->batch;
    for (int i = 0; i < s->rank; i++)
        points *= (double)s->n[i];
    p->work = points * ((s->narrow ? 32 : 16) + 5 * log2(points / (double)s->batch));
    return p;
}

void mufft_plan_release(struct mufft_plan *p)
{
    if (atomic_fetch_sub(&p->references, 1) > 1)
        return;
    for (int i = 0; i < MUFFT_USES; i++)
        mufft_way_free(p->ways[i]);
    pthread_mutex_destroy(&p->scratch_lock);
    free(p->scratch);
    free(p);
}

const struct mufft_way *mufft_way_for(struct mufft_plan *p, unsigned use)
{
    struct mufft_way *had = NULL, *made = atomic_load_explicit(&p->ways[use], memory_order_acquire);
    if (made)
        return made;
    struct mufft_shape wide = p->shape.narrow ? mufft_widened(&p->shape) : p->shape;
    made = mufft_way_new(&wide, p->shape.narrow ? use & MUFFT_INVERSE_USE : use);
    if (!made || atomic_compare_exchange_strong(&p->ways[use], &had, made))
        return made;
    mufft_way_free(made);
    return had;
}

unsigned mufft_use_of(const struct mufft_plan *p, const void *in, const void *out)
{
    const struct mufft_fftw *f = mufft_fftw(mufft_is_double(p->shape.type));
    union {
        const void *in;
        void *out;
    } u[2] = {{in}, {out}};
    bool off = !p->shape.narrow && f && (f->alignment_of(u[0].out) || f->alignment_of(u[1].out));
    return (off ? MUFFT_UNALIGNED : 0) | (in == out ? MUFFT_IN_PLACE : 0);
}

void mufft_run(struct mufft_plan *p, const struct mufft_way *way, void *in, void *out)
{
    if (p->scratch)
        pthread_mutex_lock(&p->scratch_lock);
    if (p->shape.narrow) {
        size_t out_at, end = mufft_narrow_scratch(&p->shape, &out_at);
        char *wide = p->scratch;
        mufft_widen(&p->shape, in, in == out, p->scratch);
        mufft_way_run(way, wide, wide + out_at, wide + end);
        mufft_make_narrow(&p->shape, (float *)(void *)(wide + out_at), out, in == out);
    } else {
        mufft_way_run(way, in, out, p->scratch);
    }
    if (p->scratch)
        pthread_mutex_unlock(&p->scratch_lock);
}
