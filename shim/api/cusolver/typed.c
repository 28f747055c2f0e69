/* cuSOLVER's functions of one type that muSOLVER has in several shapes. */
#include "api/cusolver/cusolver.h"

#define FN(name) int wrap_cusolverDn##name
#define TYPED(X, t) \
    FN(X##potrs)(void *h, int uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb, void *info) \
    { \
        return cumu_solver_potrs(t, h, uplo, n, nrhs, a, lda, b, ldb, info); \
    } \
    FN(X##getrf_bufferSize)(void *h, int m, int n, void *a, int lda, void *lwork) \
    { \
        return cumu_solver_getrf_size(t, h, m, n, a, lda, lwork); \
    } \
    FN(X##getrf)(void *h, int m, int n, void *a, int lda, void *work, void *ipiv, void *info) \
    { \
        return cumu_solver_getrf(t, h, m, n, a, lda, work, ipiv, info); \
    } \
    FN(X##getrs) \
    (void *h, int op, int n, int nrhs, const void *a, int lda, const void *ipiv, void *b, int ldb, void *info) \
    { \
        return cumu_solver_getrs(t, h, op, n, nrhs, a, lda, ipiv, b, ldb, info); \
    } \
    FN(X##geqrf_bufferSize)(void *h, int m, int n, void *a, int lda, void *lwork) \
    { \
        return cumu_solver_geqrf_size(t, h, m, n, a, lda, lwork); \
    } \
    FN(X##geqrf)(void *h, int m, int n, void *a, int lda, void *tau, void *work, int lwork, void *info) \
    { \
        return cumu_solver_geqrf(t, h, m, n, a, lda, tau, work, lwork, info); \
    } \
    FN(X##gesvd_bufferSize)(void *h, int m, int n, void *lwork) { return cumu_solver_gesvd_size(t, h, m, n, lwork); } \
    FN(X##gesvd) \
    (void *h, char jobu, char jobvt, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *vt, int ldvt, \
     void *work, int lwork, void *rwork, void *info) \
    { \
        return cumu_solver_gesvd(t, h, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork, info); \
    }
TYPED(S, S)
TYPED(D, D)
TYPED(C, C)
TYPED(Z, Z)

#define NAMED(X, t, SY, OR) \
    FN(X##SY##evd_bufferSize)(void *h, int jobz, int uplo, int n, const void *a, int lda, const void *w, void *lwork) \
    { \
        (void)w; \
        return cumu_solver_syevd_size(t, h, jobz, uplo, n, a, lda, lwork); \
    } \
    FN(X##SY##evd)(void *h, int jobz, int uplo, int n, void *a, int lda, void *w, void *work, int lwork, void *info) \
    { \
        return cumu_solver_syevd(t, h, jobz, uplo, n, a, lda, w, work, lwork, info); \
    } \
    FN(X##OR##gqr_bufferSize)(void *h, int m, int n, int k, const void *a, int lda, const void *tau, void *lwork) \
    { \
        return cumu_solver_orgqr_size(t, h, m, n, k, a, lda, tau, lwork); \
    } \
    FN(X##OR##gqr)(void *h, int m, int n, int k, void *a, int lda, const void *tau, void *work, int lwork, void *info) \
    { \
        return cumu_solver_orgqr(t, h, m, n, k, a, lda, tau, work, lwork, info); \
    } \
    FN(X##OR##mqr_bufferSize) \
    (void *h, int side, int op, int m, int n, int k, const void *a, int lda, const void *tau, const void *c, int ldc, \
     void *lwork) \
    { \
        return cumu_solver_ormqr_size(t, h, side, op, m, n, k, a, lda, tau, c, ldc, lwork); \
    } \
    FN(X##OR##mqr) \
    (void *h, int side, int op, int m, int n, int k, const void *a, int lda, const void *tau, void *c, int ldc, \
     void *work, int lwork, void *info) \
    { \
        return cumu_solver_ormqr(t, h, side, op, m, n, k, a, lda, tau, c, ldc, work, lwork, info); \
    }
NAMED(S, S, sy, or)
NAMED(D, D, sy, or)
NAMED(C, C, he, un)
NAMED(Z, Z, he, un)
