/* The cases of kernels that models are made of: products by matrix instructions, attention, normalisation, choice of
 * experts, rotary embeddings, weights of 4 bits. */
#include "cases.h"

/* Of what a half holds without rounding. */
static uint16_t half_of(float v)
{
    uint32_t bits;
    v *= 0x1p-112f;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)(bits >> 31 << 15 | (bits & 0x7fffffff) >> 13);
}

/* Halves from -1 to 1. */
static void add_halves(struct work *w, size_t count)
{
    uint16_t *p = add(w, IN, 'i', count * sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = half_of((float)(int)(next() & 0x7ff) / 1024.0f - 1);
}

static void add_bytes(struct work *w, size_t count)
{
    int8_t *p = add(w, IN, 'i', count);
    for (size_t i = 0; i < count; i++)
        p[i] = (int8_t)next();
}

enum { TILE = 64 }; /* rows and columns of a block of C; queries of a block */
void make_mma_f16(struct work *w)
{
    add_floats(w, OUT, w->n * w->n);
    add_halves(w, w->n * w->n);
    add_halves(w, w->n * w->n);
    scalar(w, (int)w->n);
    shape(w, w->n / TILE, w->n / TILE, 128, 1);
}
void run_mma_f16(struct work *w) { native_mma_f16(of(w, 0), of(w, 1), of(w, 2), (int)w->n); }

void make_mma_s8(struct work *w)
{
    add(w, OUT, 'i', w->n * w->n * sizeof(int));
    add_bytes(w, w->n * w->n);
    add_bytes(w, w->n * w->n);
    scalar(w, (int)w->n);
    shape(w, w->n / TILE, w->n / TILE, 128, 1);
}
void run_mma_s8(struct work *w) { native_mma_s8(of(w, 0), of(w, 1), of(w, 2), (int)w->n); }

enum { HEADS = 4, HEAD_SIZE = 64 };
void make_attention(struct work *w)
{
    size_t count = HEADS * HEAD_SIZE * w->n;
    add_floats(w, OUT, count);
    for (int i = 0; i < 3; i++)
        add_halves(w, count);
    scalar(w, (int)w->n);
    shape(w, w->n / TILE, HEADS, 128, 1);
}
void run_attention(struct work *w) { native_attention(of(w, 0), of(w, 1), of(w, 2), of(w, 3), (int)w->n, HEADS); }

enum { NORM_COLS = 1024 };
void make_layernorm(struct work *w)
{
    add_floats(w, OUT, w->n * NORM_COLS);
    add_floats(w, IN, w->n * NORM_COLS);
    add_floats(w, IN, NORM_COLS);
    add_floats(w, IN, NORM_COLS);
    scalar(w, NORM_COLS);
    shape(w, w->n, 1, 256, 1);
}
void run_layernorm(struct work *w) { native_layernorm(of(w, 0), of(w, 1), of(w, 2), of(w, 3), (int)w->n, NORM_COLS); }

enum { EXPERTS = 256, CHOSEN = 8 };
void make_topk(struct work *w)
{
    add_floats(w, OUT, w->n * CHOSEN);
    add(w, OUT, 'i', w->n * CHOSEN * sizeof(int));
    add_floats(w, IN, w->n * EXPERTS);
    shape(w, w->n / 8, 1, 32, 8);
}
void run_topk(struct work *w) { native_topk(of(w, 0), of(w, 1), of(w, 2), (int)w->n); }

enum { ROPE_HEADS = 32, ROPE_SIZE = 128 };
void make_rope(struct work *w)
{
    add_floats(w, INOUT, w->n * ROPE_HEADS * ROPE_SIZE);
    int *position = add(w, IN, 'i', w->n * sizeof *position);
    for (size_t i = 0; i < w->n; i++)
        position[i] = (int)i;
    scalar(w, ROPE_HEADS);
    shape(w, 1, w->n * ROPE_HEADS / 4, ROPE_SIZE / 2, 4);
}
void run_rope(struct work *w) { native_rope(of(w, 0), of(w, 1), (int)w->n, ROPE_HEADS); }

enum { Q4_COLS = 4096, Q4_BYTES = 18 };
void make_matvec_q4(struct work *w)
{
    size_t blocks = Q4_COLS / 32;
    add_floats(w, OUT, w->n);
    uint8_t *weights = add(w, IN, 'i', w->n * blocks * Q4_BYTES);
    for (size_t i = 0; i < w->n * blocks; i++, weights += Q4_BYTES) {
        uint16_t scale = half_of((float)(1 + (next() & 255)) / 4096.0f);
        memcpy(weights, &scale, sizeof scale);
        for (int k = 2; k < Q4_BYTES; k++)
            weights[k] = (uint8_t)next();
    }
    int8_t *x = add(w, IN, 'i', Q4_COLS);
    for (int i = 0; i < Q4_COLS; i++)
        x[i] = (int8_t)((int)(next() % 255) - 127);
    float *scale = add_floats(w, IN, 2 * blocks); /* and the block's sum times it */
    for (size_t i = 0; i < blocks; i++) {
        int sum = 0;
        for (size_t k = 0; k < 32; k++)
            sum += x[32 * i + k];
        scale[2 * i + 1] = scale[2 * i] * (float)sum;
    }
    scalar(w, Q4_COLS);
    shape(w, w->n / 4, 1, 32, 4);
}
void run_matvec_q4(struct work *w) { native_matvec_q4(of(w, 0), of(w, 1), of(w, 2), of(w, 3), (int)w->n, Q4_COLS); }
