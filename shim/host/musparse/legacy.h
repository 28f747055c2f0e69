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

#define OP musparseOperation_t

/* Defines FN for the four types, with the type of its elements and its work type. */
#define FOUR(FN) FN(S, float, S) FN(D, double, D) FN(C, muComplex, C) FN(Z, muDoubleComplex, Z)

static inline struct csr csr_of(int rows, int cols, int nnz, musparseConstMatDescr_t d, const void *val, const int *ptr,
                                const int *ind)
{
    return (struct csr){.rows = rows, .cols = cols, .nnz = nnz, .base = d->base, .ptr = ptr, .ind = ind, .val = val};
}
/* Column-major, or transposed. */
static inline struct dense dense_of(const void *at, int rows, int cols, int ld, musparseOperation_t op)
{
    return (struct dense){.rows = rows,
                          .cols = cols,
                          .rs = is_trans(op) ? ld : 1,
                          .cs = is_trans(op) ? 1 : ld,
                          .at = (void *)(uintptr_t)at,
                          .conj = is_conj(op)};
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
/* Incomplete factors over the matrix; the first row without a pivot goes to info->numeric, from the matrix's base. */
void musparse_factorise(const struct csr *a, int work, bool cholesky, struct musparse_info *info);
/* The first row whose diagonal element is there and zero, from the matrix's base; or -1. */
int musparse_zero_diagonal(const struct csr *a, int work);
/* By columns what was by rows: values of `size` bytes, or none (MUSPARSE_ACTION_SYMBOLIC). Checks what it is given. */
musparseStatus_t musparse_transpose(musparseHandle_t h, int m, int n, int nnz, const void *val, const int *ptr,
                                    const int *ind, void *cscval, int *cscptr, int *cscind, size_t size,
                                    musparseAction_t action, musparseIndexBase_t base);
void musparse_fill(const struct dense *to, const struct dense *from, int work, double complex alpha);

#endif
