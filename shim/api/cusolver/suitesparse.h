/* SuiteSparse's functions that cusolverSp stands on, found at run time; its headers are not needed to build.
 *
 * What is relied on of its binary interface, alike in SuiteSparse 5 and 7 (Debian 12 and 13): the heads of
 * cholmod_sparse, cholmod_dense, cholmod_common and klu_common, and two numbers of klu_numeric. KLU, AMD, BTF and most
 * of CHOLMOD are under the LGPL, SPQR and CHOLMOD's supernodal part under the GPL, like FFTW: none is linked with. */
#ifndef CUMU_API_CUSOLVER_SUITESPARSE_H
#define CUMU_API_CUSOLVER_SUITESPARSE_H

#include <stddef.h>
#include <stdint.h>

struct cumu_klu_common {
    double tol, memgrow, initmem_amd, initmem, maxwork;
    int btf, ordering, scale;
    void *user_order, *user_data;
    int halt_if_singular, status;
    char rest[512];
};
struct cumu_klu_numeric {
    int n, nblocks, lnz, unz;
};
enum { KLU_OUT_OF_MEMORY = -2, AMD_OUT_OF_MEMORY = -1 };

struct cumu_spqr_sparse { /* by columns */
    size_t nrow, ncol, nzmax;
    int64_t *p, *i, *nz;
    void *x, *z;
    int stype, itype, xtype, dtype, sorted, packed;
};
struct cumu_spqr_dense {
    size_t nrow, ncol, nzmax, d;
    void *x, *z;
    int xtype, dtype;
};
struct cumu_spqr_common {
    char before[144];
    int print, precise, try_catch;
    char rest[8 << 10];
};
enum { SPQR_FIXED = 0, SPQR_COLAMD = 2, SPQR_LONG = 2, SPQR_REAL = 1, SPQR_COMPLEX = 2 };

struct cumu_suitesparse {
    /* A P[new] = old order for the pattern of A + A^T. */
    int (*amd_order)(int n, const int *p, const int *i, int *order, void *control, void *info);
    /* How many columns have a row of their own; match[row]: its column, or -1. */
    int (*btf_maxtrans)(int rows, int columns, int *p, int *i, double most, double *done, int *match, int *work);
    int (*klu_defaults)(struct cumu_klu_common *c);
    void *(*klu_analyze_given)(int n, int *p, int *i, int *rows, int *columns, struct cumu_klu_common *c);
    struct cumu_klu_numeric *(*klu_factor)(int *p, int *i, double *x, void *symbolic, struct cumu_klu_common *c);
    struct cumu_klu_numeric *(*klu_z_factor)(int *p, int *i, double *x, void *symbolic, struct cumu_klu_common *c);
    int (*klu_extract)(struct cumu_klu_numeric *f, void *symbolic, int *lp, int *li, double *lx, int *up, int *ui,
                       double *ux, int *fp, int *fi, double *fx, int *rows, int *columns, double *scale, int *blocks,
                       struct cumu_klu_common *c);
    int (*klu_z_extract)(struct cumu_klu_numeric *f, void *symbolic, int *lp, int *li, double *lx, double *lz, int *up,
                         int *ui, double *ux, double *uz, int *fp, int *fi, double *fx, double *fz, int *rows,
                         int *columns, double *scale, int *blocks, struct cumu_klu_common *c);
    int (*klu_free_symbolic)(void **symbolic, struct cumu_klu_common *c);
    int (*klu_free_numeric)(struct cumu_klu_numeric **f, struct cumu_klu_common *c);
    int (*klu_z_free_numeric)(struct cumu_klu_numeric **f, struct cumu_klu_common *c);
    int (*cholmod_l_start)(struct cumu_spqr_common *c);
    int (*cholmod_l_finish)(struct cumu_spqr_common *c);
    int (*cholmod_l_free_sparse)(struct cumu_spqr_sparse **a, struct cumu_spqr_common *c);
    int (*cholmod_l_free_dense)(struct cumu_spqr_dense **a, struct cumu_spqr_common *c);
    void *(*cholmod_l_free)(size_t n, size_t size, void *p, struct cumu_spqr_common *c);
    /* The rank, or -1. R, the columns' order (NULL: as they are), reflections H with the rows' order and factors. */
    int64_t (*SuiteSparseQR_C)(int ordering, double tol, int64_t econ, int transposed, struct cumu_spqr_sparse *a,
                               void *b, void *dense_b, void **z, void **dense_z, struct cumu_spqr_sparse **r,
                               int64_t **columns, struct cumu_spqr_sparse **h, int64_t **rows,
                               struct cumu_spqr_dense **factors, struct cumu_spqr_common *c);
};

/* NULL, with a line that says why, where one of the libraries is missing or not as described above. */
const struct cumu_suitesparse *cumu_suitesparse(void);

#endif
