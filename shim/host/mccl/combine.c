/* Combines the ranks' buffers block by block, so that what one step writes the next finds in the cache. */
#include <string.h>

#include "host/mccl/mccl.h"
#include "host/mccl/reduce.h"

#define BLOCK 8192 /* bytes of the accumulator */

static const struct mccl_arithmetic *arithmetic(void)
{
#if defined __x86_64__
    static const struct mccl_arithmetic *_Atomic known; /* every thread finds the same */
    const struct mccl_arithmetic *chosen = known;
    if (!chosen) {
        __builtin_cpu_init();
        chosen = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq")
                     ? &mccl_arithmetic_4
                 : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")
                     ? &mccl_arithmetic_3
                     : &mccl_arithmetic_1;
        known = chosen;
    }
    return chosen;
#else
    return &mccl_arithmetic_1;
#endif
}

float mccl_half(mcclDataType_t type, const void *half)
{
    float wide;
    arithmetic()->widen[type](&wide, half, 1);
    return wide;
}

/* To dst[first] and those behind it. */
static bool copy_out(const struct mccl_combine *w, size_t at, const void *from, size_t bytes, int first)
{
    for (int i = first; i < w->ndst; i++) {
        char *to = (char *)w->dst[i] + at;
        if (to == (const char *)from)
            continue;
        if (!w->shared || (!w->foreign && i == 0))
            memcpy(to, from, bytes);
        else if (!mccl_guarded_copy(w->shared, to, from, bytes))
            return false;
    }
    return true;
}

/* Block [at, at + n elements) of a type that is computed as it is. */
static bool native(const struct mccl_arithmetic *f, const struct mccl_combine *w, size_t at, size_t n, size_t size)
{
    unsigned char sum[BLOCK] __attribute__((aligned(64))), scaled[BLOCK] __attribute__((aligned(64)));
    bool scale = w->op == mcclNumOps;
    void *last = w->foreign ? (void *)sum : (char *)w->dst[0] + at;
    const void *x = (const char *)w->src[0] + at;
    if (scale) {
        f->mul[w->type](sum, x, w->scale[0], n);
        x = sum;
    }
    for (int i = 1; i < w->nsrc; i++) {
        const void *y = (const char *)w->src[i] + at;
        /* The last step may write to its place: by then every source of this block has been read. */
        void *out = i == w->nsrc - 1 && w->op != mcclAvg ? last : sum;
        if (scale) {
            f->mul[w->type](scaled, y, w->scale[i], n);
            y = scaled;
        }
        f->pair[w->type][w->op](out, x, y, n);
        x = out;
    }
    if (w->op == mcclAvg) {
        f->div[w->type](last, x, w->nsrc, n);
        x = last;
    }
    return copy_out(w, at, x, n * size, 0);
}

/* The same for halves, summed in float. */
static bool halves(const struct mccl_arithmetic *f, const struct mccl_combine *w, size_t at, size_t n)
{
    float sum[BLOCK / 4] __attribute__((aligned(64))), next[BLOCK / 4] __attribute__((aligned(64)));
    for (int i = 0; i < w->nsrc; i++) {
        const void *src = (const char *)w->src[i] + at;
        float *x = i ? next : sum;
        f->widen[w->type](x, src, n);
        if (w->op == mcclNumOps)
            f->mul[w->type](x, x, w->scale[i], n);
        if (i)
            f->pair[w->type][w->op](sum, sum, next, n);
    }
    if (w->op == mcclAvg)
        f->div[w->type](sum, sum, w->nsrc, n);
    uint16_t narrow[BLOCK / 4] __attribute__((aligned(64)));
    uint16_t *last = w->foreign ? narrow : (uint16_t *)((char *)w->dst[0] + at);
    f->narrow[w->type](last, sum, n);
    return copy_out(w, at, last, n * 2, 0);
}

bool mccl_combine(const struct mccl_combine *w)
{
    const struct mccl_arithmetic *f = arithmetic();
    size_t size = mccl_type_size(w->type);
    bool half = f->widen[w->type] != NULL;
    bool copies = w->nsrc == 1 && w->op != mcclNumOps;                            /* nothing to compute */
    if (w->nsrc == 2 && w->ndst == 1 && !w->shared && !half && w->op < mcclAvg) { /* in one step, of any length */
        f->pair[w->type][w->op](w->dst[0], w->src[0], w->src[1], w->count);
        return true;
    }
    size_t block = half && !copies ? BLOCK / 4 : BLOCK / size;
    for (size_t i = 0; i < w->count; i += block) {
        size_t n = w->count - i < block ? w->count - i : block, at = i * size;
        if (w->shared && mccl_must_keep_off(w->shared))
            return false;
        if (!(copies ? copy_out(w, at, (const char *)w->src[0] + at, n * size, 0)
              : half ? halves(f, w, at, n)
                     : native(f, w, at, n, size)))
            return false;
    }
    return true;
}

void mccl_divide(mcclDataType_t type, void *at, int parts, size_t n)
{
    const struct mccl_arithmetic *f = arithmetic();
    float wide[BLOCK / 4] __attribute__((aligned(64)));
    if (!f->widen[type]) {
        f->div[type](at, at, parts, n);
        return;
    }
    uint16_t *half = at;
    for (size_t i = 0; i < n; i += BLOCK / 4) {
        size_t m = n - i < BLOCK / 4 ? n - i : BLOCK / 4;
        f->widen[type](wide, half + i, m);
        f->div[type](wide, wide, parts, m);
        f->narrow[type](half + i, wide, m);
    }
}
