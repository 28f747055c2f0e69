/* cuSOLVER: one function for each task and shape of muSOLVER. SDK 5.1 has cuSOLVER's parameters for most; 4.3 lacks
 * workspace sizes, counts and infos in the orthogonal functions; 3.1 has other names, no handle of its own, and
 * bytes for workspaces (mapping/facts/musa.md A8 to A10). */
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/cusolver.h"
#include "core/resolve.h"

enum { SDK3 = 3, SDK4, SDK5 };

static int shape(void)
{
    static int known;
    int s = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!s) {
        s = cumu_mu_has("musolverDnSormqr_bufferSize")                          ? SDK5
            : cumu_mu_has("musolverDnSgetrf") || !cumu_mu_has("musolverSgetrf") ? SDK4
                                                                                : SDK3;
        __atomic_store_n(&known, s, __ATOMIC_RELAXED);
    }
    return s;
}

#define STATUS CUMU_SOLVER_STATUS
#define EACH CUMU_SOLVER_EACH
#define EACH2 CUMU_SOLVER_EACH2
/* The same of SDK 3.1, whose statuses are muBLAS's. */
#define EACH3(type, name, ...) EACH3_2(type, name, name, __VA_ARGS__)
#define EACH3_2(type, real, complex, ...) \
    old_status((type) == S   ? mu.musolverS##real(__VA_ARGS__) \
               : (type) == D ? mu.musolverD##real(__VA_ARGS__) \
               : (type) == C ? mu.musolverC##complex(__VA_ARGS__) \
                             : mu.musolverZ##complex(__VA_ARGS__))
/* A function of SDK 5.1's name with the parameters of 4.3. */
#define AS4(F, type, real, complex) \
    ((F *)((type) == S   ? (void (*)(void))mu.musolverDnS##real \
           : (type) == D ? (void (*)(void))mu.musolverDnD##real \
           : (type) == C ? (void (*)(void))mu.musolverDnC##complex \
                         : (void (*)(void))mu.musolverDnZ##complex))

static int old_status(int r)
{
    switch (cumu_cublasStatus_t_from_musa(r)) {
    case CUBLAS_STATUS_SUCCESS: return CUSOLVER_STATUS_SUCCESS;
    case CUBLAS_STATUS_NOT_INITIALIZED: return CUSOLVER_STATUS_NOT_INITIALIZED;
    case CUBLAS_STATUS_ALLOC_FAILED: return CUSOLVER_STATUS_ALLOC_FAILED;
    case CUBLAS_STATUS_INVALID_VALUE: return CUSOLVER_STATUS_INVALID_VALUE;
    case CUBLAS_STATUS_NOT_SUPPORTED: return CUSOLVER_STATUS_NOT_SUPPORTED;
    default: return CUSOLVER_STATUS_INTERNAL_ERROR;
    }
}

/* ---- handles ----------------------------------------------------------------------------------- */

int wrap_cusolverDnCreate(void *handle)
{
    return shape() == SDK3 ? old_status(mu.mublasCreate(handle)) : STATUS(mu.musolverDnCreate(handle));
}
int wrap_cusolverDnDestroy(void *h)
{
    int r = shape() == SDK3 ? old_status(mu.mublasDestroy(h)) : STATUS(mu.musolverDnDestroy(h));
    if (!r)
        cumu_solver_forget(h);
    return r;
}
int wrap_cusolverDnSetStream(void *h, cudaStream_t stream)
{
    musaStream_t s = (musaStream_t)stream;
    return shape() == SDK3 ? old_status(mu.mublasSetStream(h, s)) : STATUS(mu.musolverDnSetStream(h, s));
}
int cumu_solver_stream(void *h, musaStream_t *stream)
{
    return shape() == SDK3 ? old_status(mu.mublasGetStream(h, stream)) : STATUS(mu.musolverDnGetStream(h, stream));
}
int wrap_cusolverDnGetStream(void *h, cudaStream_t *stream) { return cumu_solver_stream(h, (musaStream_t *)stream); }

/* SDKs before 5 do not export the ordered forms. */
int cumu_solver_scratch(musaStream_t stream, size_t bytes, void **at)
{
    musaError_t r = cumu_mu_has("musaMallocAsync") ? mu.musaMallocAsync(at, bytes, stream) : mu.musaMalloc(at, bytes);
    return r ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
}
void cumu_solver_release(musaStream_t stream, void *at)
{
    if (!at)
        return;
    if (cumu_mu_has("musaMallocAsync")) {
        mu.musaFreeAsync(at, stream);
    } else {
        mu.musaStreamSynchronize(stream);
        mu.musaFree(at);
    }
}

/* A function that does not tell how it went went well. */
static int clear_info(void *h, int *info, int status)
{
    musaStream_t stream;
    if (status || !info)
        return status;
    int r = cumu_solver_stream(h, &stream);
    return r ? r : mu.musaMemsetAsync(info, 0, sizeof *info, stream) ? CUSOLVER_STATUS_EXECUTION_FAILED : 0;
}

/* Bytes as elements. SDKs disagree on the width of a size: the cell is as wide as any, and zero at first. */
static int in_elements(int type, int status, size_t bytes, int *lwork)
{
    size_t n = (bytes + cumu_solver_size(type) - 1) / cumu_solver_size(type);
    if (status)
        return status;
    if (!lwork)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (n > (size_t)__INT_MAX__)
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    *lwork = n ? (int)n : 1;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- Cholesky and LU --------------------------------------------------------------------------- */

static int fill(int uplo) { return cumu_cublasFillMode_t_to_musa(uplo); }

int cumu_solver_potrf_size(int type, void *h, int uplo, int n, void *a, int lda, int *lwork)
{
    return STATUS(EACH(type, potrf_bufferSize, h, fill(uplo), n, a, lda, lwork));
}
int cumu_solver_potrf(int type, void *h, int uplo, int n, void *a, int lda, void *work, int lwork, int *info)
{
    return STATUS(EACH(type, potrf, h, fill(uplo), n, a, lda, work, lwork, info));
}
int cumu_solver_potrs(int type, void *h, int uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb, int *info)
{
    if (shape() == SDK3)
        return clear_info(h, info, EACH3(type, potrs, h, fill(uplo), n, nrhs, a, lda, b, ldb));
    return STATUS(EACH(type, potrs, h, fill(uplo), n, nrhs, a, lda, b, ldb, info));
}

int cumu_solver_getrf_size(int type, void *h, int m, int n, void *a, int lda, int *lwork)
{
    if (shape() != SDK3)
        return STATUS(EACH(type, getrf_bufferSize, h, m, n, a, lda, lwork));
    size_t bytes = 0;
    int r = EACH3(type, getrf_bufferSize, m, n, true, (int *)&bytes);
    return in_elements(type, r, bytes, lwork);
}

/* SDK 3.1's getrf does not write info: what it should be stands on U's diagonal. */
static int zero_on_diagonal(int type, void *h, int n, const void *a, int lda, int *info)
{
    size_t size = cumu_solver_size(type), count = n > 0 ? (size_t)n : 0;
    static const char zero[16];
    musaStream_t stream;
    char *diagonal = malloc(count * size + 1);
    int found = 0, r = cumu_solver_stream(h, &stream);
    if (!r && !diagonal)
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r && count &&
        mu.musaMemcpy2DAsync(diagonal, size, a, ((size_t)lda + 1) * size, size, count, musaMemcpyDeviceToHost, stream))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    if (!r && mu.musaStreamSynchronize(stream))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    for (int i = 0; !r && !found && i < n; i++)
        if (!memcmp(diagonal + (size_t)i * size, zero, size))
            found = i + 1;
    free(diagonal);
    if (!r && info &&
        (mu.musaMemcpyAsync(info, &found, sizeof found, musaMemcpyHostToDevice, stream) ||
         mu.musaStreamSynchronize(stream)))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    return r;
}
int cumu_solver_getrf(int type, void *h, int m, int n, void *a, int lda, void *work, int *ipiv, int *info)
{
    if (shape() != SDK3)
        return STATUS(EACH(type, getrf, h, m, n, a, lda, work, ipiv, info));
    int r = EACH3(type, getrf, h, m, n, a, lda, ipiv, info, work);
    return r ? r : zero_on_diagonal(type, h, m < n ? m : n, a, lda, info);
}

/* SDK 3.1 wants a buffer where callers of other SDKs pass info: it gets a zeroed one. */
static int getrs_3(int type, void *h, int op, int n, int nrhs, const void *a, int lda, const int *ipiv, void *b,
                   int ldb, int *info)
{
    musaStream_t stream;
    size_t bytes = 0;
    void *buffer = NULL;
    int r = cumu_solver_stream(h, &stream);
    if (!r)
        r = EACH3(type, getrs_bufferSize, op, n, nrhs, (int *)&bytes);
    if (bytes < 256)
        bytes = 256;
    if (!r)
        r = cumu_solver_scratch(stream, bytes, &buffer);
    if (!r && mu.musaMemsetAsync(buffer, 0, bytes, stream))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    if (!r)
        r = clear_info(h, info, EACH3(type, getrs, h, op, n, nrhs, a, lda, ipiv, b, ldb, buffer));
    cumu_solver_release(stream, buffer);
    return r;
}
int cumu_solver_getrs(int type, void *h, int op, int n, int nrhs, const void *a, int lda, const int *ipiv, void *b,
                      int ldb, int *info)
{
    int t = cumu_cublasOperation_t_to_musa(op);
    if (shape() == SDK3)
        return getrs_3(type, h, t, n, nrhs, a, lda, ipiv, b, ldb, info);
    return STATUS(EACH(type, getrs, h, t, n, nrhs, a, lda, ipiv, b, ldb, info));
}

/* ---- QR ---------------------------------------------------------------------------------------- */

typedef int geqrf_size_4(int m, int n, size_t *bytes), orgqr_size_4(int m, int n, int k, size_t *bytes);
typedef int geqrf_4(void *h, int m, int n, void *a, int lda, void *tau, void *buffer);
typedef int orgqr_4(void *h, int m, int n, int k, void *a, int lda, const void *tau, void *buffer);
typedef int ormqr_4(void *h, int side, int op, int m, int n, int k, const void *a, int lda, const void *tau, void *c,
                    int ldc);

/* cuSOLVER asks for a size without a look at lda: CuPy passes n here where m is larger. */
int cumu_solver_geqrf_size(int type, void *h, int m, int n, void *a, int lda, int *lwork)
{
    size_t bytes = 0;
    if (lda < m)
        lda = m;
    if (shape() == SDK5)
        return STATUS(EACH(type, geqrf_bufferSize, h, m, n, a, lda, lwork));
    int r = shape() == SDK3 ? EACH3(type, geqrf_bufferSize, m, n, (int *)&bytes)
                            : STATUS(AS4(geqrf_size_4, type, geqrf_bufferSize, geqrf_bufferSize)(m, n, &bytes));
    return in_elements(type, r, bytes, lwork);
}
int cumu_solver_geqrf(int type, void *h, int m, int n, void *a, int lda, void *tau, void *work, int lwork, int *info)
{
    if (shape() == SDK5)
        return STATUS(EACH(type, geqrf, h, m, n, a, lda, tau, work, lwork, info));
    int r = shape() == SDK3 ? EACH3(type, geqrf, h, m, n, a, lda, tau, work)
                            : STATUS(AS4(geqrf_4, type, geqrf, geqrf)(h, m, n, a, lda, tau, work));
    return clear_info(h, info, r);
}

int cumu_solver_orgqr_size(int type, void *h, int m, int n, int k, const void *a, int lda, const void *tau, int *lwork)
{
    size_t bytes = 0;
    if (shape() == SDK5)
        return STATUS(EACH2(type, orgqr_bufferSize, ungqr_bufferSize, h, m, n, k, a, lda, tau, lwork));
    int r = shape() == SDK3 ? EACH3_2(type, orgqr_bufferSize, ungqr_bufferSize, m, n, k, (int *)&bytes)
                            : STATUS(AS4(orgqr_size_4, type, orgqr_bufferSize, ungqr_bufferSize)(m, n, k, &bytes));
    return in_elements(type, r, bytes, lwork);
}
int cumu_solver_orgqr(int type, void *h, int m, int n, int k, void *a, int lda, const void *tau, void *work, int lwork,
                      int *info)
{
    if (shape() == SDK5)
        return STATUS(EACH2(type, orgqr, ungqr, h, m, n, k, a, lda, tau, work, lwork, info));
    int r = shape() == SDK3 ? EACH3_2(type, orgqr, ungqr, h, m, n, k, a, lda, tau, work)
                            : STATUS(AS4(orgqr_4, type, orgqr, ungqr)(h, m, n, k, a, lda, tau, work));
    return clear_info(h, info, r);
}

/* Complex forms never had a workspace, real ones not before 5.1. */
int cumu_solver_ormqr_size(int type, void *h, int side, int op, int m, int n, int k, const void *a, int lda,
                           const void *tau, const void *c, int ldc, int *lwork)
{
    int s = cumu_cublasSideMode_t_to_musa(side), t = cumu_cublasOperation_t_to_musa(op);
    if (shape() == SDK5 && type == S)
        return STATUS(mu.musolverDnSormqr_bufferSize(h, s, t, m, n, k, a, lda, tau, c, ldc, lwork));
    if (shape() == SDK5 && type == D)
        return STATUS(mu.musolverDnDormqr_bufferSize(h, s, t, m, n, k, a, lda, tau, c, ldc, lwork));
    musaStream_t stream;
    int r = cumu_solver_stream(h, &stream), order = side == CUBLAS_SIDE_LEFT ? m : n;
    bool bad = !s || !t || m < 0 || n < 0 || k < 0 || k > order || lda < (order > 1 ? order : 1) ||
               ldc < (m > 1 ? m : 1) || op == (type >= C ? CUBLAS_OP_T : CUBLAS_OP_C);
    if (!r && bad)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    return in_elements(type, r, 0, lwork);
}
int cumu_solver_ormqr(int type, void *h, int side, int op, int m, int n, int k, const void *a, int lda, const void *tau,
                      void *c, int ldc, void *work, int lwork, int *info)
{
    int s = cumu_cublasSideMode_t_to_musa(side), t = cumu_cublasOperation_t_to_musa(op);
    if (shape() == SDK5 && type == S)
        return STATUS(mu.musolverDnSormqr(h, s, t, m, n, k, a, lda, tau, c, ldc, work, lwork, info));
    if (shape() == SDK5 && type == D)
        return STATUS(mu.musolverDnDormqr(h, s, t, m, n, k, a, lda, tau, c, ldc, work, lwork, info));
    return clear_info(h, info, STATUS(AS4(ormqr_4, type, ormqr, unmqr)(h, s, t, m, n, k, a, lda, tau, c, ldc)));
}

/* ---- singular values and eigenvalues ----------------------------------------------------------- */

/* muSOLVER wants an array E beside its buffer. Both lie in the workspace, E first. */
static size_t aside(size_t bytes) { return (bytes + 255) / 256 * 256; }

static int with_aside(int type, int status, size_t e, size_t bytes, int *lwork)
{
    return in_elements(type, status, aside(e) + bytes, lwork);
}

static int gesvd_bytes(int type, int left, int right, int m, int n, size_t *bytes)
{
    *bytes = 0;
    if (shape() == SDK3)
        return EACH3(type, gesvd_bufferSize, left, right, m, n, 1, MUBLAS_OUTOFPLACE, (int *)bytes);
    return STATUS(EACH(type, gesvd_bufferSize, left, right, m, n, 1, MUBLAS_OUTOFPLACE, bytes));
}
static int most(int a, int b) { return a > b ? a : b; }

/* cuSOLVER's size is for all jobs. E has elements of the type in one description of SDK 3.1. */
int cumu_solver_gesvd_size(int type, void *h, int m, int n, int *lwork)
{
    static const int jobs[] = {'A', 'S', 'O', 'N'};
    musaStream_t stream;
    size_t most_bytes = 0;
    int r = cumu_solver_stream(h, &stream);
    if (!r && (m < n || n < 0))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int i = 0; !r && i < 16; i++) {
        int left = jobs[i / 4], right = jobs[i % 4];
        size_t bytes = 0;
        if (left != 'O' || right != 'O')
            r = gesvd_bytes(type, cumu_cusolverSvdJob_to_musa(left), cumu_cusolverSvdJob_to_musa(right), m, n, &bytes);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    return with_aside(type, r, cumu_solver_size(type) * (size_t)most(n, 1), most_bytes, lwork);
}
int cumu_solver_gesvd(int type, void *h, int jobu, int jobvt, int m, int n, void *a, int lda, void *s, void *u, int ldu,
                      void *vt, int ldvt, void *work, int lwork, void *rwork, int *info)
{
    int left = cumu_cusolverSvdJob_to_musa(jobu), right = cumu_cusolverSvdJob_to_musa(jobvt);
    musaStream_t stream;
    int r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    size_t bytes, e = aside(cumu_solver_size(type) * (size_t)most(n, 1));
    if (m < n || n < 0 || !left || !right)
        return CUSOLVER_STATUS_INVALID_VALUE;
    r = gesvd_bytes(type, left, right, m, n, &bytes);
    if (!r && (lwork < 0 || !work || (size_t)lwork * cumu_solver_size(type) < e + bytes))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    void *buffer = (char *)work + e;
    if (shape() == SDK3)
        r = EACH3(type, gesvd, h, left, right, m, n, a, lda, s, u, ldu, vt, ldvt, work, MUBLAS_OUTOFPLACE, info,
                  buffer);
    else
        r = STATUS(EACH(type, gesvd, h, left, right, m, n, a, lda, s, u, ldu, vt, ldvt, work, MUBLAS_OUTOFPLACE, info,
                        buffer));
    size_t rest = n > 1 ? cumu_solver_real(type) * (size_t)(n - 1) : 0;
    if (!r && rwork && rest && mu.musaMemcpyAsync(rwork, work, rest, musaMemcpyDeviceToDevice, stream))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    return r;
}

static int syevd_bytes(int type, int job, int uplo, int n, size_t *bytes)
{
    *bytes = 0;
    if (shape() != SDK3)
        return STATUS(EACH2(type, syevd_bufferSize, heevd_bufferSize, job, uplo, n, bytes));
    return type == S   ? old_status(mu.musolverSsyevd_bufferSize(job, uplo, n, bytes))
           : type == D ? old_status(mu.musolverDsyevd_bufferSize(job, uplo, n, bytes))
                       : CUSOLVER_STATUS_NOT_SUPPORTED;
}
int cumu_solver_syevd_size(int type, void *h, int jobz, int uplo, int n, const void *a, int lda, int *lwork)
{
    musaStream_t stream;
    size_t bytes = 0;
    int r = cumu_solver_stream(h, &stream);
    (void)a;
    if (!r && (n < 0 || lda < most(n, 1)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = syevd_bytes(type, cumu_cusolverEigMode_t_to_musa(jobz), fill(uplo), n, &bytes);
    return with_aside(type, r, cumu_solver_real(type) * (size_t)most(n, 1), bytes, lwork);
}
int cumu_solver_syevd(int type, void *h, int jobz, int uplo, int n, void *a, int lda, void *w, void *work, int lwork,
                      int *info)
{
    int job = cumu_cusolverEigMode_t_to_musa(jobz), u = fill(uplo), need = 0;
    int r = cumu_solver_syevd_size(type, h, jobz, uplo, n, a, lda, &need);
    if (!r && (lwork < need || !work))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    void *buffer = (char *)work + aside(cumu_solver_real(type) * (size_t)most(n, 1));
    if (shape() != SDK3)
        return STATUS(EACH2(type, syevd, heevd, h, job, u, n, a, lda, w, work, info, buffer));
    return type == S   ? old_status(mu.musolverSsyevd(h, job, u, n, a, lda, w, work, info, buffer))
           : type == D ? old_status(mu.musolverDsyevd(h, job, u, n, a, lda, w, work, info, buffer))
                       : CUSOLVER_STATUS_NOT_SUPPORTED;
}
