/* cuSOLVER's wrappers: the functions of one type, in whichever shape the muSOLVER below has them. The typed, the
 * 64-bit and the refining functions of cuSOLVER all call these.
 *
 * Enums are CUDA's, statuses cusolverStatus_t, workspaces of `lwork` elements lie on the device. */
#ifndef CUMU_API_CUSOLVER_H
#define CUMU_API_CUSOLVER_H

#include "api/api.h"

#include "conv.h"
#include "cuda_enums.h"

enum { S, D, C, Z }; /* float, double, and complex of them */

static inline size_t cumu_solver_size(int type) { return (size_t[]){4, 8, 8, 16}[type]; }
static inline size_t cumu_solver_real(int type) { return type == S || type == C ? 4 : 8; }

/* NOT_INITIALIZED for what is no handle. */
int cumu_solver_stream(void *h, musaStream_t *stream);

/* The modes of a handle that is no more. */
void cumu_solver_forget(void *h);

/* Device memory for one call, released in stream order. */
int cumu_solver_scratch(musaStream_t stream, size_t bytes, void **at);
void cumu_solver_release(musaStream_t stream, void *at);

int cumu_solver_potrf_size(int type, void *h, int uplo, int n, void *a, int lda, int *lwork);
int cumu_solver_potrf(int type, void *h, int uplo, int n, void *a, int lda, void *work, int lwork, int *info);
int cumu_solver_potrs(int type, void *h, int uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb,
                      int *info);
int cumu_solver_getrf_size(int type, void *h, int m, int n, void *a, int lda, int *lwork);
int cumu_solver_getrf(int type, void *h, int m, int n, void *a, int lda, void *work, int *ipiv, int *info);
int cumu_solver_getrs(int type, void *h, int op, int n, int nrhs, const void *a, int lda, const int *ipiv, void *b,
                      int ldb, int *info);
int cumu_solver_geqrf_size(int type, void *h, int m, int n, void *a, int lda, int *lwork);
int cumu_solver_geqrf(int type, void *h, int m, int n, void *a, int lda, void *tau, void *work, int lwork, int *info);
int cumu_solver_orgqr_size(int type, void *h, int m, int n, int k, const void *a, int lda, const void *tau, int *lwork);
int cumu_solver_orgqr(int type, void *h, int m, int n, int k, void *a, int lda, const void *tau, void *work, int lwork,
                      int *info);
int cumu_solver_ormqr_size(int type, void *h, int side, int op, int m, int n, int k, const void *a, int lda,
                           const void *tau, const void *c, int ldc, int *lwork);
int cumu_solver_ormqr(int type, void *h, int side, int op, int m, int n, int k, const void *a, int lda, const void *tau,
                      void *c, int ldc, void *work, int lwork, int *info);
int cumu_solver_gesvd_size(int type, void *h, int m, int n, int *lwork);
/* jobs: the letters 'A', 'S', 'O', 'N'; rwork, which may be NULL, gets what did not converge. */
int cumu_solver_gesvd(int type, void *h, int jobu, int jobvt, int m, int n, void *a, int lda, void *s, void *u, int ldu,
                      void *vt, int ldvt, void *work, int lwork, void *rwork, int *info);
int cumu_solver_syevd_size(int type, void *h, int jobz, int uplo, int n, const void *a, int lda, int *lwork);
int cumu_solver_syevd(int type, void *h, int jobz, int uplo, int n, void *a, int lda, void *w, void *work, int lwork,
                      int *info);

#define CUMU_SOLVER_STATUS(call) cumu_cusolverStatus_t_from_musa(call)
/* `name` of the type, real names and complex ones being alike or not. */
#define CUMU_SOLVER_EACH2(type, real, complex, ...) \
    ((type) == S   ? mu.musolverDnS##real(__VA_ARGS__) \
     : (type) == D ? mu.musolverDnD##real(__VA_ARGS__) \
     : (type) == C ? mu.musolverDnC##complex(__VA_ARGS__) \
                   : mu.musolverDnZ##complex(__VA_ARGS__))
#define CUMU_SOLVER_EACH(type, name, ...) CUMU_SOLVER_EACH2(type, name, name, __VA_ARGS__)

#endif
