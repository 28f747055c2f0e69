/* What the files of muSPARSE's legacy interface share: its matrices are arrays of 32-bit indices with a description. */
#ifndef CUMU_HOST_MUSPARSE_LEGACY_H
#define CUMU_HOST_MUSPARSE_LEGACY_H

#include "host/musparse/dense.h"

/* An analysis object. */
struct musparse_info {
    int structural, numeric; /* row of the first zero pivot, or -1; of the analysis, of the computation */
    bool boost;
    double tolerance;
    double complex value; /* what a boosted pivot becomes */
    void *kept;           /* csru2csr: the order before sorting */
    int64_t count;        /* of what is kept */
};

/* Defines FN for the four types, with the type of its elements and its work type. */
#define FOUR(FN) FN(S, float, S) FN(D, double, D) FN(C, muComplex, C) FN(Z, muDoubleComplex, Z)
static const int type_of_work[] = {MUSA_R_32F, MUSA_R_64F, MUSA_C_32F, MUSA_C_64F};

static inline struct csr csr_of(int rows, int cols, int nnz, musparseConstMatDescr_t d, const void *val, const int *ptr,
                                const int *ind)
{
    return (struct csr){.rows = rows, .cols = cols, .nnz = nnz, .base = d->base, .ptr = ptr, .ind = ind, .val = val};
}
/* Column-major, or transposed. */
static inline struct dense dense_of(const void *at, int rows, int cols, int ld, musparseOperation_t op)
{
    return (struct dense){.rows = rows, .cols = cols, .rs = is_trans(op) ? ld : 1, .cs = is_trans(op) ? 1 : ld,
                          .at = (void *)(uintptr_t)at, .conj = is_conj(op)};
}
#define DESCRIBED(d) \
    do { \
        POINTERS(d); \
        VALUES((d)->type == MUSPARSE_MATRIX_TYPE_GENERAL); \
    } while (0)

/* Kernels of other files, on matrices by rows. */
void musparse_spmm(const struct csr *a, int work, const struct dense *b, const struct dense *c, double complex alpha,
                   double complex beta);
void musparse_solve(const struct csr *a, int work, bool upper, bool unit, const struct dense *y);
void musparse_fill(const struct dense *to, const struct dense *from, int work, double complex alpha);

#endif
