/* Matrices of blocks (BSR, and GEBSR whose blocks are no squares) of the CPU muSPARSE's legacy interface. */
#ifndef CUMU_HOST_MUSPARSE_BLOCKS_H
#define CUMU_HOST_MUSPARSE_BLOCKS_H

#include "host/musparse/legacy.h"

/* mb by nb blocks of `high` by `wide` elements, each stored by rows or by columns (dir). */
struct blocks {
    int mb, nb, nnzb, dir, high, wide, work, base;
    const int *ptr, *ind;
    const void *val; /* NULL: the structure alone */
};
#define BLOCKS_OF(mb_, nb_, nnzb_, dir_, high_, wide_, W, d, val_, ptr_, ind_) \
    { \
        .mb = mb_, .nb = nb_, .nnzb = nnzb_, .dir = dir_, .high = high_, .wide = wide_, .work = W, .base = (d)->base, \
        .val = val_, .ptr = ptr_, .ind = ind_ \
    }

/* Where element (i, j) of block k lies, in elements. */
static inline size_t block_element(const struct blocks *b, size_t k, int i, int j)
{
    size_t at = k * (size_t)b->high * (size_t)b->wide;
    return at + (b->dir == MUSPARSE_DIRECTION_ROW ? (size_t)i * (size_t)b->wide + (size_t)j
                                                  : (size_t)j * (size_t)b->high + (size_t)i);
}
/* The rows of elements, into arrays that the caller has (val may be NULL). */
void musparse_expand(const struct blocks *b, int *ptr, int *ind, void *val, int base);
/* The same as a matrix to free with musparse_csr_free; columns ascend if those of the blocks do. False: no memory. */
bool musparse_open_blocks(struct csr *c, const struct blocks *b);
/* Puts the elements of an opened matrix back into the blocks. */
void musparse_close_blocks(const struct blocks *b, const struct csr *c);

/* What every call with blocks checks of them. */
musparseStatus_t musparse_check_blocks(musparseHandle_t h, int dir, int m, int n, int high, int wide,
                                       musparseConstMatDescr_t d, const int *ptr);

#endif
