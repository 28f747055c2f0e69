/* Random matrices of blocks on the device, with a dense copy beside them. */
#ifndef CUMU_TESTS_BSR_H
#define CUMU_TESTS_BSR_H

#include "sparse.h"

struct bsr {
    int type, mb, nb, high, wide, dir, base, nnzb;
    num *dense;  /* mb * high by nb * wide */
    char *there; /* mb by nb: blocks that are stored */
    void *ptr, *ind, *val;
};

static inline size_t in_block(const struct bsr *s, int k, int i, int j)
{
    return (size_t)(k * s->high * s->wide + (s->dir ? j * s->high + i : i * s->wide + j));
}

/* density in percent. `square`: every diagonal block, the matrix dominant, its elements small beside the diagonal;
 * `hermitian` too: the same in both triangles, conjugate. */
static inline struct bsr bsr(int type, int mb, int nb, int high, int wide, int dir, int base, int density, int square,
                             int hermitian)
{
    struct bsr s = {.type = type, .mb = mb, .nb = nb, .high = high, .wide = wide, .dir = dir, .base = base};
    size_t room = (size_t)(mb * nb * high * wide) + 1;
    int *ptr = malloc((size_t)(mb + 1) * sizeof *ptr), *ind = malloc((size_t)(mb * nb + 1) * sizeof *ind);
    int cols = nb * wide;
    num *val = calloc(room, sizeof *val);
    char *raw = malloc(room * 16);
    s.dense = calloc(room, sizeof *s.dense);
    s.there = calloc((size_t)(mb * nb) + 1, 1);
    for (int r = 0; r < mb; r++)
        for (int c = 0; c < nb; c++)
            s.there[r * nb + c] = hermitian && c < r ? s.there[c * nb + r] : upto(100) < density || (square && r == c);
    for (int i = 0; i < mb * high; i++)
        for (int j = 0; j < cols; j++) {
            num v = value(type);
            if (!s.there[i / high * nb + j / wide])
                continue;
            if (square)
                v = i == j ? mb * high + 2 : v / 2;
            if (hermitian && j < i)
                v = conj(s.dense[j * cols + i]);
            s.dense[i * cols + j] = v;
        }
    for (int r = 0; r < mb; r++) {
        ptr[r] = s.nnzb + base;
        for (int c = 0; c < nb; c++) {
            if (!s.there[r * nb + c])
                continue;
            for (int i = 0; i < high; i++)
                for (int j = 0; j < wide; j++)
                    val[in_block(&s, s.nnzb, i, j)] = s.dense[(r * high + i) * cols + c * wide + j];
            ind[s.nnzb++] = c + base;
        }
    }
    ptr[mb] = s.nnzb + base;
    pack(type, val, raw, room);
    s.ptr = index_array(ptr, mb + 1, 0);
    s.ind = index_array(ind, s.nnzb, 0);
    s.val = device(raw, (size_t)(s.nnzb * high * wide) * size_of(type));
    free(ptr), free(ind), free(val), free(raw);
    return s;
}
static inline void drop_bsr(struct bsr s)
{
    cudaFree(s.ptr), cudaFree(s.ind), cudaFree(s.val);
    free(s.dense), free(s.there);
}
/* The elements that lie on the device now, as a dense matrix. */
static inline num *bsr_dense(const struct bsr *s)
{
    int *ptr = host_ints(s->ptr, s->mb + 1), *ind = host_ints(s->ind, s->nnzb), cols = s->nb * s->wide;
    size_t n = (size_t)(s->nnzb * s->high * s->wide);
    num *v = malloc((n + 1) * sizeof *v), *d = calloc((size_t)(s->mb * s->high * cols) + 1, sizeof *d);
    char *raw = malloc(n * 16 + 1);
    cudaMemcpy(raw, s->val, n * size_of(s->type), 2);
    unpack(s->type, raw, v, n);
    for (int r = 0; r < s->mb; r++)
        for (int k = ptr[r] - s->base; k < ptr[r + 1] - s->base; k++)
            for (int i = 0; i < s->high; i++)
                for (int j = 0; j < s->wide; j++)
                    d[(r * s->high + i) * cols + (ind[k] - s->base) * s->wide + j] += v[in_block(s, k, i, j)];
    free(ptr), free(ind), free(v), free(raw);
    return d;
}

#endif
