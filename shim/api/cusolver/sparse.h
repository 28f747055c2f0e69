/* cuSOLVER's sparse parts (Sp and Rf), computed on the host whichever MUSA library is below: muSOLVER has no sparse
 * function that is known by more than its name. Arithmetic is in double or complex double for all four types, as
 * SuiteSparse's is, whose KLU, SPQR, AMD and BTF do the work (suitesparse.h).
 *
 * Matrices are compressed by rows, zero-based, columns ascending and each but once. Functions that return int answer
 * a cusolverStatus_t. */
#ifndef CUMU_API_CUSOLVER_SPARSE_H
#define CUMU_API_CUSOLVER_SPARSE_H

#include "api/cusolver/cusolver.h"

struct cumu_csr {
    int m, n;
    int *row, *col; /* m + 1, row[m] */
    void *val;      /* row[m] numbers, or NULL for a pattern */
};
void cumu_csr_free(struct cumu_csr *a);

/* A factor; its content belongs to the arithmetic that made it. */
struct cumu_factor;

/* The two arithmetics: one source, sparse_numeric.h. `raw` is what the program has, single or double. */
struct cumu_sparse {
    size_t size; /* of a number */
    void (*in)(void *numbers, const void *raw, size_t n, bool single);
    void (*out)(void *raw, const void *numbers, size_t n, bool single);

    /* A = QR, A with m >= n: columns that are no further than tol from the others' span are left out (negative: none);
     * PA = LU, a pivot on the diagonal kept where it is at least `threshold` times the largest of its column; A = LL^H
     * from A's lower triangle. NOT_SUPPORTED for the first two without SuiteSparse. */
    int (*qr)(const struct cumu_csr *a, double tol, struct cumu_factor **out);
    int (*lu)(const struct cumu_csr *a, double threshold, struct cumu_factor **out);
    int (*chol)(const struct cumu_csr *a, struct cumu_factor **out);
    void (*release)(struct cumu_factor *f);

    /* The first diagonal element that is no larger than tol, or what is not positive; -1: none. */
    int (*pivot)(const struct cumu_factor *f, double tol);
    /* How many columns QR did not leave out; pick (n): these, then the others. */
    int (*rank)(const struct cumu_factor *qr, int *pick);
    /* x (n) that is nearest to a solution of Ax = b (m); residual, which may be NULL: the norm of Ax - b by QR. */
    int (*solve)(const struct cumu_factor *f, const void *b, void *x, double *residual);
    /* Diagonal of a Cholesky factor. */
    void (*diagonal)(const struct cumu_factor *f, double *out);
    /* Elements of LU's factors, L without its unit diagonal; rows' order. NULL: not wanted. */
    void (*sizes)(const struct cumu_factor *lu, int *l, int *u);
    int (*extract)(const struct cumu_factor *lu, int *order, struct cumu_csr *l, struct cumu_csr *u);
    /* A + shift * I, with places for the whole diagonal; m = n. */
    int (*shifted)(const struct cumu_csr *a, const void *shift, struct cumu_csr *out);
    void (*multiply)(const struct cumu_csr *a, const void *x, void *y); /* y = Ax */
    /* The argument of det A in radians, up to whole turns. */
    double (*argument)(const struct cumu_factor *lu);
};
extern const struct cumu_sparse cumu_sparse_real, cumu_sparse_complex;

/* Orders for few new elements in the factors of a matrix with the pattern of A + A^T: order[new] = old. */
enum { CUMU_ORDER_NONE, CUMU_ORDER_RCM, CUMU_ORDER_AMD, CUMU_ORDER_ND, CUMU_ORDERS };
int cumu_sparse_order(int how, const struct cumu_csr *a, int *order);

/* Rows in an order in which as many of the diagonal's elements as can be are present; found: how many. */
int cumu_sparse_diagonal(const struct cumu_csr *a, int *order, int *found);

#endif
