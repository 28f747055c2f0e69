/* How the data of cases are made: the same numbers in every run. */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include <stdlib.h>
#include <string.h>

#include "bench.h"

static inline uint32_t next(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static inline void *add(struct work *w, enum role role, char type, size_t size)
{
    struct buffer *b = &w->buf[w->bufs++];
    *b = (struct buffer){.role = role, .type = type, .size = size, .data = calloc(1, size)};
    b->native = role == IN ? b->data : calloc(1, size);
    if (!b->data || !b->native)
        abort();
    return b->data;
}

static inline float *add_floats(struct work *w, enum role role, size_t count)
{
    float *p = add(w, role, 'f', count * sizeof *p);
    for (size_t i = 0; role != OUT && i < count; i++)
        p[i] = (float)(next() & 0xffff) / 65536.0f;
    return p;
}

static inline void scalar(struct work *w, int v) { w->scalars[w->nscalars++] = v; }

static inline void shape(struct work *w, size_t gx, size_t gy, unsigned bx, unsigned by)
{
    w->grid[0] = (unsigned)gx, w->grid[1] = (unsigned)gy;
    w->block[0] = bx, w->block[1] = by;
}

static inline void *of(const struct work *w, unsigned i) { return (char *)w->buf[i].native + w->buf[i].shift; }

/* cases_models.c */
void make_attention(struct work *w);
void run_attention(struct work *w);
void make_layernorm(struct work *w);
void run_layernorm(struct work *w);
void make_mma_f16(struct work *w);
void run_mma_f16(struct work *w);
void make_mma_s8(struct work *w);
void run_mma_s8(struct work *w);
void make_topk(struct work *w);
void run_topk(struct work *w);
void make_rope(struct work *w);
void run_rope(struct work *w);
void make_matvec_q4(struct work *w);
void run_matvec_q4(struct work *w);

#endif
