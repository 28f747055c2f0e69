/* cuSOLVER's 64-bit factors, which take the element type as an argument, and those of CUDA 11 and 12 that they
 * replaced: muSOLVER's function of the type. Workspaces on the host are not needed. */
#include "api/cusolver/wide.h"

/* ---- Cholesky, LU, QR, triangles --------------------------------------------------------------- */

static int potrf_size(struct wide w, void *h, int uplo, long n, const void *a, long lda, size_t *device, size_t *host)
{
    int lwork = 0;
    int r = w.status ? w.status : cumu_solver_potrf_size(w.type, h, uplo, (int)n, (void *)a, (int)lda, &lwork);
    return sizes(w, r, lwork, 0, device, host);
}
int wrap_cusolverDnXpotrf_bufferSize(void *h, void *params, int uplo, long n, int element, const void *a, long lda,
                                     int compute, void *device, void *host)
{
    (void)params, (void)compute;
    return potrf_size(WIDE(element, n, lda), h, uplo, n, a, lda, device, host);
}
int wrap_cusolverDnPotrf_bufferSize(void *h, void *params, int uplo, long n, int element, const void *a, long lda,
                                    int compute, void *device)
{
    (void)params, (void)compute;
    return potrf_size(WIDE(element, n, lda), h, uplo, n, a, lda, device, NULL);
}
int wrap_cusolverDnPotrf(void *h, void *params, int uplo, long n, int element, void *a, long lda, int compute,
                         void *work, size_t size, void *info)
{
    struct wide w = WIDE(element, n, lda);
    (void)params, (void)compute;
    return w.status ? w.status : cumu_solver_potrf(w.type, h, uplo, (int)n, a, (int)lda, work, elements(w, size), info);
}
int wrap_cusolverDnXpotrf(void *h, void *params, int uplo, long n, int element, void *a, long lda, int compute,
                          void *work, size_t size, void *host, size_t host_size, void *info)
{
    (void)host, (void)host_size;
    return wrap_cusolverDnPotrf(h, params, uplo, n, element, a, lda, compute, work, size, info);
}
int wrap_cusolverDnXpotrs(void *h, void *params, int uplo, long n, long nrhs, int element, const void *a, long lda,
                          int btype, void *b, long ldb, void *info)
{
    struct wide w = WIDE(element, n, nrhs, lda, ldb);
    (void)params;
    if (!w.status && btype != element)
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    return w.status ? w.status : cumu_solver_potrs(w.type, h, uplo, (int)n, (int)nrhs, a, (int)lda, b, (int)ldb, info);
}
int wrap_cusolverDnPotrs(void *h, void *params, int uplo, long n, long nrhs, int element, const void *a, long lda,
                         int btype, void *b, long ldb, void *info)
{
    return wrap_cusolverDnXpotrs(h, params, uplo, n, nrhs, element, a, lda, btype, b, ldb, info);
}

/* Pivots have 64 bits here: muSOLVER's of 32 lie at the workspace's end, and are spread or gathered by a copy of
 * columns (the numbers are positive). */
static size_t pivot_bytes(long m, long n)
{
    long least = m < n ? m : n;
    return rounded(least > 0 ? (size_t)least * sizeof(int) : 0);
}
static int copy_pivots(musaStream_t stream, void *to, size_t to_size, const void *from, size_t from_size, long count)
{
    if (count <= 0)
        return CUSOLVER_STATUS_SUCCESS;
    bool bad = to_size > from_size && mu.musaMemsetAsync(to, 0, to_size * (size_t)count, stream);
    bad = bad || mu.musaMemcpy2DAsync(to, to_size, from, from_size, sizeof(int), (size_t)count,
                                      musaMemcpyDeviceToDevice, stream);
    return bad ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}
static int getrf_size(struct wide w, void *h, long m, long n, const void *a, long lda, size_t *device, size_t *host)
{
    int lwork = 0;
    int r = w.status ? w.status : cumu_solver_getrf_size(w.type, h, (int)m, (int)n, (void *)a, (int)lda, &lwork);
    return sizes(w, r, lwork, pivot_bytes(m, n) + 256, device, host);
}
int wrap_cusolverDnXgetrf_bufferSize(void *h, void *params, long m, long n, int element, const void *a, long lda,
                                     int compute, void *device, void *host)
{
    (void)params, (void)compute;
    return getrf_size(WIDE(element, m, n, lda), h, m, n, a, lda, device, host);
}
int wrap_cusolverDnGetrf_bufferSize(void *h, void *params, long m, long n, int element, const void *a, long lda,
                                    int compute, void *device)
{
    (void)params, (void)compute;
    return getrf_size(WIDE(element, m, n, lda), h, m, n, a, lda, device, NULL);
}
int wrap_cusolverDnGetrf(void *h, void *params, long m, long n, int element, void *a, long lda, void *ipiv, int compute,
                         void *work, size_t size, void *info)
{
    struct wide w = WIDE(element, m, n, lda);
    musaStream_t stream;
    size_t need = 0, pivots = pivot_bytes(m, n);
    (void)params, (void)compute;
    int r = getrf_size(w, h, m, n, a, lda, &need, NULL);
    if (!r && m && n && (size < need || !work))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    int *narrow = ipiv ? work : NULL;
    r = cumu_solver_getrf(w.type, h, (int)m, (int)n, a, (int)lda, work ? (char *)work + pivots : NULL, narrow, info);
    return r || !ipiv ? r : copy_pivots(stream, ipiv, sizeof(long), narrow, sizeof(int), m < n ? m : n);
}
int wrap_cusolverDnXgetrf(void *h, void *params, long m, long n, int element, void *a, long lda, void *ipiv,
                          int compute, void *work, size_t size, void *host, size_t host_size, void *info)
{
    (void)host, (void)host_size;
    return wrap_cusolverDnGetrf(h, params, m, n, element, a, lda, ipiv, compute, work, size, info);
}
int wrap_cusolverDnXgetrs(void *h, void *params, int op, long n, long nrhs, int element, const void *a, long lda,
                          const void *ipiv, int btype, void *b, long ldb, void *info)
{
    struct wide w = WIDE(element, n, nrhs, lda, ldb);
    musaStream_t stream;
    void *narrow = NULL;
    (void)params;
    int r = !w.status && btype != element ? CUSOLVER_STATUS_INVALID_VALUE : w.status;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    if (ipiv && n > 0 && nrhs > 0) {
        r = cumu_solver_scratch(stream, (size_t)n * sizeof(int), &narrow);
        if (!r)
            r = copy_pivots(stream, narrow, sizeof(int), ipiv, sizeof(long), n);
    }
    if (!r)
        r = cumu_solver_getrs(w.type, h, op, (int)n, (int)nrhs, a, (int)lda, narrow, b, (int)ldb, info);
    cumu_solver_release(stream, narrow);
    return r;
}
int wrap_cusolverDnGetrs(void *h, void *params, int op, long n, long nrhs, int element, const void *a, long lda,
                         const void *ipiv, int btype, void *b, long ldb, void *info)
{
    return wrap_cusolverDnXgetrs(h, params, op, n, nrhs, element, a, lda, ipiv, btype, b, ldb, info);
}

static int geqrf_size(struct wide w, int element, int tau_type, void *h, long m, long n, const void *a, long lda,
                      size_t *device, size_t *host)
{
    int lwork = 0, r = w.status;
    if (!r && tau_type != element)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_geqrf_size(w.type, h, (int)m, (int)n, (void *)a, (int)lda, &lwork);
    return sizes(w, r, lwork, 0, device, host);
}
int wrap_cusolverDnXgeqrf_bufferSize(void *h, void *params, long m, long n, int element, const void *a, long lda,
                                     int tau_type, const void *tau, int compute, void *device, void *host)
{
    (void)params, (void)compute, (void)tau;
    return geqrf_size(WIDE(element, m, n, lda), element, tau_type, h, m, n, a, lda, device, host);
}
int wrap_cusolverDnGeqrf_bufferSize(void *h, void *params, long m, long n, int element, const void *a, long lda,
                                    int tau_type, const void *tau, int compute, void *device)
{
    (void)params, (void)compute, (void)tau;
    return geqrf_size(WIDE(element, m, n, lda), element, tau_type, h, m, n, a, lda, device, NULL);
}
int wrap_cusolverDnGeqrf(void *h, void *params, long m, long n, int element, void *a, long lda, int tau_type, void *tau,
                         int compute, void *work, size_t size, void *info)
{
    struct wide w = WIDE(element, m, n, lda);
    (void)params, (void)compute;
    if (!w.status && tau_type != element)
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    return w.status ? w.status
                    : cumu_solver_geqrf(w.type, h, (int)m, (int)n, a, (int)lda, tau, work, elements(w, size), info);
}
int wrap_cusolverDnXgeqrf(void *h, void *params, long m, long n, int element, void *a, long lda, int tau_type,
                          void *tau, int compute, void *work, size_t size, void *host, size_t host_size, void *info)
{
    (void)host, (void)host_size;
    return wrap_cusolverDnGeqrf(h, params, m, n, element, a, lda, tau_type, tau, compute, work, size, info);
}

int wrap_cusolverDnXtrtri_bufferSize(void *h, int uplo, int diag, long n, int element, void *a, long lda, void *device,
                                     void *host)
{
    struct wide w = WIDE(element, n, lda);
    bool bad = !cumu_cublasFillMode_t_to_musa(uplo) || !cumu_cublasDiagType_t_to_musa(diag) || n < 0 ||
               lda < (n > 1 ? n : 1);
    (void)a;
    return sizes(w, w.status ? w.status : bad ? CUSOLVER_STATUS_INVALID_VALUE : 0, 1, 0, device, host);
}
int wrap_cusolverDnXtrtri(void *h, int uplo, int diag, long n, int element, void *a, long lda, void *work, size_t size,
                          void *host, size_t host_size, void *info)
{
    struct wide w = WIDE(element, n, lda);
    (void)work, (void)size, (void)host, (void)host_size;
    return w.status
               ? w.status
               : CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(w.type, trtri, h, cumu_cublasFillMode_t_to_musa(uplo),
                                                     cumu_cublasDiagType_t_to_musa(diag), (int)n, a, (int)lda, info));
}
