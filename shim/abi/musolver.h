/* The muSOLVER ABI in the shapes of SDK 5.1 (mapping/facts/musa.md N9, A8 to A10): the handle is muBLAS's, operands
 * are named by muBLAS's numbers. getrf, potrf, geqrf, orgqr and ormqr have cuSOLVER's parameters; syevd, gesvd, trtri
 * and unmqr have rocSOLVER's, as they had since the first SDKs. Functions that are known by name alone have
 * cuSOLVER's parameters. `musolver_3` and `musolver_4` are shapes of older SDKs under names that the CPU library
 * lacks or has otherwise. */
#ifndef CUMU_ABI_MUSOLVER_H
#define CUMU_ABI_MUSOLVER_H

#include "abi/mublas.h"

typedef mublasHandle_t musolverDnHandle_t;
typedef struct _musolverParams_t *musolverJacobi_t; /* gesvdjInfo_t and syevjInfo_t */

/* Values: mapping/types/cusolver.enum (musa_enums.h). */
typedef int musolverStatus_t, mublasEvect_t, mublasSvect_t, mublasWorkmode_t, mublasErange_t, mublasEform_t;

/* What is declared here is what libmusolver exports. A call is ordered like a kernel of the handle's stream: results
 * and `info` (0; k: the k-th pivot or step failed) are written in stream order, workspaces must live until then. A
 * workspace of `lwork` elements comes from the function's _bufferSize; a `buffer` of so many bytes. `meig` lies on
 * the host: functions that write it wait. INVALID_VALUE for sizes, leading dimensions, enumerators and workspaces
 * that cannot be. Any thread. */
#pragma GCC visibility push(default)
musolverStatus_t musolverDnCreate(musolverDnHandle_t *handle);
musolverStatus_t musolverDnDestroy(musolverDnHandle_t handle);
musolverStatus_t musolverDnSetStream(musolverDnHandle_t handle, musaStream_t stream);
musolverStatus_t musolverDnGetStream(musolverDnHandle_t handle, musaStream_t *stream);

/* The options of Jacobi solvers. The CPU library is direct: it keeps them, makes no sweeps, and tells the Frobenius
 * norm of A V - V W or A V - U S as the residual (0 where no vectors were asked for). */
#define MUSOLVER_JACOBI(Create, Destroy, x) \
    musolverStatus_t musolverDn##Create(musolverJacobi_t *info); \
    musolverStatus_t musolverDn##Destroy(musolverJacobi_t info); \
    musolverStatus_t musolverDnX##x##SetTolerance(musolverJacobi_t info, double tolerance); \
    musolverStatus_t musolverDnX##x##SetMaxSweeps(musolverJacobi_t info, int sweeps); \
    musolverStatus_t musolverDnX##x##SetSortEig(musolverJacobi_t info, int sort); \
    musolverStatus_t musolverDnX##x##GetResidual(musolverDnHandle_t h, musolverJacobi_t info, double *residual); \
    musolverStatus_t musolverDnX##x##GetSweeps(musolverDnHandle_t h, musolverJacobi_t info, int *sweeps);
MUSOLVER_JACOBI(CreateGesvdjInfo, DestroyGesvdjInfo, gesvdj)
MUSOLVER_JACOBI(CreateSyevjInfo, DestroySyevjInfo, syevj)

#define FN(name, ...) musolverStatus_t musolverDn##name(musolverDnHandle_t h, __VA_ARGS__);
#define FREE(name, ...) musolverStatus_t musolverDn##name(__VA_ARGS__); /* without a handle */
#define OP mublasOperation_t
#define UP mublasFillMode_t
#define SI mublasSideMode_t
#define EV mublasEvect_t
#define ER mublasErange_t
#define EF mublasEform_t
#define J musolverJacobi_t

/* X: letter of the type T; R: the real type beside it. */
#define MUSOLVER_ALL(X, T, R) \
    FN(X##potrf_bufferSize, UP u, int n, T *a, int lda, int *lwork) \
    FN(X##potrf, UP u, int n, T *a, int lda, T *work, int lwork, int *info) \
    FN(X##potrs, UP u, int n, int nrhs, const T *a, int lda, T *b, int ldb, int *info) \
    FN(X##potrfBatched, UP u, int n, T *const *a, int lda, int *info, int batch) \
    FN(X##potrsBatched, UP u, int n, int nrhs, T *const *a, int lda, T *const *b, int ldb, int *info, int batch) \
    FN(X##potri_bufferSize, UP u, int n, T *a, int lda, int *lwork) \
    FN(X##potri, UP u, int n, T *a, int lda, T *work, int lwork, int *info) \
    FN(X##lauum_bufferSize, UP u, int n, T *a, int lda, int *lwork) \
    FN(X##lauum, UP u, int n, T *a, int lda, T *work, int lwork, int *info) \
    FN(X##trtri, UP u, mublasDiagType_t d, int n, T *a, int lda, int *info) \
    FN(X##getrf_bufferSize, int m, int n, T *a, int lda, int *lwork) \
    FN(X##getrf, int m, int n, T *a, int lda, T *work, int *ipiv, int *info) \
    FN(X##getrs, OP t, int n, int nrhs, const T *a, int lda, const int *ipiv, T *b, int ldb, int *info) \
    FN(X##laswp, int n, T *a, int lda, int k1, int k2, const int *ipiv, int incx) \
    FN(X##sytrf_bufferSize, int n, T *a, int lda, int *lwork) \
    FN(X##sytrf, UP u, int n, T *a, int lda, int *ipiv, T *work, int lwork, int *info) \
    FN(X##sytri_bufferSize, UP u, int n, T *a, int lda, const int *ipiv, int *lwork) \
    FN(X##sytri, UP u, int n, T *a, int lda, const int *ipiv, T *work, int lwork, int *info) \
    FN(X##geqrf_bufferSize, int m, int n, T *a, int lda, int *lwork) \
    FN(X##geqrf, int m, int n, T *a, int lda, T *tau, T *work, int lwork, int *info) \
    FN(X##gebrd_bufferSize, int m, int n, int *lwork) \
    FN(X##gebrd, int m, int n, T *a, int lda, R *d, R *e, T *tauq, T *taup, T *work, int lwork, int *info) \
    FREE(X##gesvd_bufferSize, mublasSvect_t left, mublasSvect_t right, int m, int n, int batch, mublasWorkmode_t mode, \
         size_t *size) \
    FN(X##gesvd, mublasSvect_t left, mublasSvect_t right, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, \
       int ldv, R *e, mublasWorkmode_t mode, int *info, void *buffer) \
    FN(X##gesvdj_bufferSize, EV job, int econ, int m, int n, const T *a, int lda, const R *s, const T *u, int ldu, \
       const T *v, int ldv, int *lwork, J params) \
    FN(X##gesvdj, EV job, int econ, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, \
       int lwork, int *info, J params) \
    FN(X##gesvdjBatched_bufferSize, EV job, int m, int n, const T *a, int lda, const R *s, const T *u, int ldu, \
       const T *v, int ldv, int *lwork, J params, int batch) \
    FN(X##gesvdjBatched, EV job, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, int lwork, \
       int *info, J params, int batch) \
    FN(X##gesvdaStridedBatched_bufferSize, EV job, int rank, int m, int n, const T *a, int lda, long long stridea, \
       const R *s, long long strides, const T *u, int ldu, long long strideu, const T *v, int ldv, long long stridev, \
       int *lwork, int batch) \
    FN(X##gesvdaStridedBatched, EV job, int rank, int m, int n, const T *a, int lda, long long stridea, R *s, \
       long long strides, T *u, int ldu, long long strideu, T *v, int ldv, long long stridev, T *work, int lwork, \
       int *info, double *residuals, int batch)

/* SY: sy or he; OR: or or un; ORM: orm or unm. */
#define MUSOLVER_NAMED(X, T, R, SY, OR) \
    FREE(X##SY##evd_bufferSize, EV job, UP u, int n, size_t *size) \
    FN(X##SY##evd, EV job, UP u, int n, T *a, int lda, R *w, R *e, int *info, void *buffer) \
    FN(X##SY##evdx_bufferSize, EV job, ER range, UP u, int n, const T *a, int lda, R vl, R vu, int il, int iu, \
       int *meig, const R *w, int *lwork) \
    FN(X##SY##evdx, EV job, ER range, UP u, int n, T *a, int lda, R vl, R vu, int il, int iu, int *meig, R *w, \
       T *work, int lwork, int *info) \
    FN(X##SY##gvd_bufferSize, EF form, EV job, UP u, int n, const T *a, int lda, const T *b, int ldb, const R *w, \
       int *lwork) \
    FN(X##SY##gvd, EF form, EV job, UP u, int n, T *a, int lda, T *b, int ldb, R *w, T *work, int lwork, int *info) \
    FN(X##SY##gvdx_bufferSize, EF form, EV job, ER range, UP u, int n, const T *a, int lda, const T *b, int ldb, R vl, \
       R vu, int il, int iu, int *meig, const R *w, int *lwork) \
    FN(X##SY##gvdx, EF form, EV job, ER range, UP u, int n, T *a, int lda, T *b, int ldb, R vl, R vu, int il, int iu, \
       int *meig, R *w, T *work, int lwork, int *info) \
    FN(X##SY##evj_bufferSize, EV job, UP u, int n, const T *a, int lda, const R *w, int *lwork, J params) \
    FN(X##SY##evj, EV job, UP u, int n, T *a, int lda, R *w, T *work, int lwork, int *info, J params) \
    FN(X##SY##evjBatched_bufferSize, EV job, UP u, int n, const T *a, int lda, const R *w, int *lwork, J params, \
       int batch) \
    FN(X##SY##evjBatched, EV job, UP u, int n, T *a, int lda, R *w, T *work, int lwork, int *info, J params, \
       int batch) \
    FN(X##SY##gvj_bufferSize, EF form, EV job, UP u, int n, const T *a, int lda, const T *b, int ldb, const R *w, \
       int *lwork, J params) \
    FN(X##SY##gvj, EF form, EV job, UP u, int n, T *a, int lda, T *b, int ldb, R *w, T *work, int lwork, int *info, \
       J params) \
    FN(X##SY##trd_bufferSize, UP u, int n, const T *a, int lda, const R *d, const R *e, const T *tau, int *lwork) \
    FN(X##SY##trd, UP u, int n, T *a, int lda, R *d, R *e, T *tau, T *work, int lwork, int *info) \
    FN(X##OR##gqr_bufferSize, int m, int n, int k, const T *a, int lda, const T *tau, int *lwork) \
    FN(X##OR##gqr, int m, int n, int k, T *a, int lda, const T *tau, T *work, int lwork, int *info) \
    FN(X##OR##gbr_bufferSize, SI s, int m, int n, int k, const T *a, int lda, const T *tau, int *lwork) \
    FN(X##OR##gbr, SI s, int m, int n, int k, T *a, int lda, const T *tau, T *work, int lwork, int *info) \
    FN(X##OR##gtr_bufferSize, UP u, int n, const T *a, int lda, const T *tau, int *lwork) \
    FN(X##OR##gtr, UP u, int n, T *a, int lda, const T *tau, T *work, int lwork, int *info) \
    FN(X##OR##mtr_bufferSize, SI s, UP u, OP t, int m, int n, const T *a, int lda, const T *tau, const T *c, int ldc, \
       int *lwork) \
    FN(X##OR##mtr, SI s, UP u, OP t, int m, int n, T *a, int lda, T *tau, T *c, int ldc, T *work, int lwork, int *info)

#define MUSOLVER_ORMQR(X, T) \
    FN(X##ormqr_bufferSize, SI s, OP t, int m, int n, int k, const T *a, int lda, const T *tau, const T *c, int ldc, \
       int *lwork) \
    FN(X##ormqr, SI s, OP t, int m, int n, int k, const T *a, int lda, const T *tau, T *c, int ldc, T *work, \
       int lwork, int *info)

MUSOLVER_ALL(S, float, float)
MUSOLVER_ALL(D, double, double)
MUSOLVER_ALL(C, muComplex, float)
MUSOLVER_ALL(Z, muDoubleComplex, double)
MUSOLVER_NAMED(S, float, float, sy, or)
MUSOLVER_NAMED(D, double, double, sy, or)
MUSOLVER_NAMED(C, muComplex, float, he, un)
MUSOLVER_NAMED(Z, muDoubleComplex, double, he, un)
MUSOLVER_ORMQR(S, float)
MUSOLVER_ORMQR(D, double)
FN(Cunmqr, SI s, OP t, int m, int n, int k, const muComplex *a, int lda, const muComplex *tau, muComplex *c, int ldc)
FN(Zunmqr, SI s, OP t, int m, int n, int k, const muDoubleComplex *a, int lda, const muDoubleComplex *tau,
   muDoubleComplex *c, int ldc)
FN(Xsytrs_bufferSize, UP u, long long n, long long nrhs, int atype, const void *a, long long lda, const long long *ipiv,
   int btype, void *b, long long ldb, size_t *device, size_t *host)
FN(Xsytrs, UP u, long long n, long long nrhs, int atype, const void *a, long long lda, const long long *ipiv, int btype,
   void *b, long long ldb, void *device, size_t device_size, void *host, size_t host_size, int *info)
#pragma GCC visibility pop

#undef FN
#undef FREE
#undef OP
#undef UP
#undef SI
#undef EV
#undef ER
#undef EF
#undef J
#undef MUSOLVER_JACOBI
#undef MUSOLVER_ALL
#undef MUSOLVER_NAMED
#undef MUSOLVER_ORMQR

#endif
