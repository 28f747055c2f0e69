/* cuSOLVER's 64-bit eigenvalues and singular values, and those of CUDA 11 and 12 that they replaced. */
#include "api/cusolver/wide.h"

/* ---- eigenvalues ------------------------------------------------------------------------------- */

static int syevd_size(struct wide w, int element, int wtype, void *h, int jobz, int uplo, long n, const void *a,
                      long lda, size_t *device, size_t *host)
{
    int lwork = 0, r = w.status;
    if (!r && wtype != real_of(element))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_syevd_size(w.type, h, jobz, uplo, (int)n, a, (int)lda, &lwork);
    return sizes(w, r, lwork, 0, device, host);
}
int wrap_cusolverDnXsyevd_bufferSize(void *h, void *params, int jobz, int uplo, long n, int element, const void *a,
                                     long lda, int wtype, const void *values, int compute, void *device, void *host)
{
    (void)params, (void)compute, (void)values;
    return syevd_size(WIDE(element, n, lda), element, wtype, h, jobz, uplo, n, a, lda, device, host);
}
int wrap_cusolverDnSyevd_bufferSize(void *h, void *params, int jobz, int uplo, long n, int element, const void *a,
                                    long lda, int wtype, const void *values, int compute, void *device)
{
    (void)params, (void)compute, (void)values;
    return syevd_size(WIDE(element, n, lda), element, wtype, h, jobz, uplo, n, a, lda, device, NULL);
}
int wrap_cusolverDnSyevd(void *h, void *params, int jobz, int uplo, long n, int element, void *a, long lda, int wtype,
                         void *values, int compute, void *work, size_t size, void *info)
{
    struct wide w = WIDE(element, n, lda);
    (void)params, (void)compute;
    if (!w.status && wtype != real_of(element))
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    return w.status
               ? w.status
               : cumu_solver_syevd(w.type, h, jobz, uplo, (int)n, a, (int)lda, values, work, elements(w, size), info);
}
int wrap_cusolverDnXsyevd(void *h, void *params, int jobz, int uplo, long n, int element, void *a, long lda, int wtype,
                          void *values, int compute, void *work, size_t size, void *host, size_t host_size, void *info)
{
    (void)host, (void)host_size;
    return wrap_cusolverDnSyevd(h, params, jobz, uplo, n, element, a, lda, wtype, values, compute, work, size, info);
}

/* The range's bounds lie on the host in the type of the values. */
struct range {
    int range;
    double vl, vu;
    long il, iu;
};
static struct range range_of(struct wide w, int range, const void *vl, const void *vu, long il, long iu)
{
    struct range r = {cumu_cusolverEigRange_t_to_musa(range), 0, 0, il, iu};
    if (!w.status && range == CUSOLVER_EIG_RANGE_V && vl && vu) {
        bool narrow = cumu_solver_real(w.type) == sizeof(float);
        r.vl = narrow ? *(const float *)vl : *(const double *)vl;
        r.vu = narrow ? *(const float *)vu : *(const double *)vu;
    }
    return r;
}
static int syevdx_size(struct wide w, int element, int wtype, void *h, int jobz, struct range g, int uplo, long n,
                       const void *a, long lda, const void *values, size_t *device, size_t *host)
{
    int lwork = 0, meig = 0, r = w.status, job = cumu_cusolverEigMode_t_to_musa(jobz);
    int u = cumu_cublasFillMode_t_to_musa(uplo), il = (int)g.il, iu = (int)g.iu, ld = (int)lda;
    if (!r && wtype != real_of(element))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    switch (w.type) {
    case S:
        r = mu.musolverDnSsyevdx_bufferSize(h, job, g.range, u, (int)n, a, ld, (float)g.vl, (float)g.vu, il, iu, &meig,
                                            values, &lwork);
        break;
    case D:
        r = mu.musolverDnDsyevdx_bufferSize(h, job, g.range, u, (int)n, a, ld, g.vl, g.vu, il, iu, &meig, values,
                                            &lwork);
        break;
    case C:
        r = mu.musolverDnCheevdx_bufferSize(h, job, g.range, u, (int)n, a, ld, (float)g.vl, (float)g.vu, il, iu, &meig,
                                            values, &lwork);
        break;
    default:
        r = mu.musolverDnZheevdx_bufferSize(h, job, g.range, u, (int)n, a, ld, g.vl, g.vu, il, iu, &meig, values,
                                            &lwork);
    }
    return sizes(w, CUMU_SOLVER_STATUS(r), lwork, 0, device, host);
}
int wrap_cusolverDnXsyevdx_bufferSize(void *h, void *params, int jobz, int range, int uplo, long n, int element,
                                      const void *a, long lda, void *vl, void *vu, long il, long iu, void *meig,
                                      int wtype, const void *values, int compute, void *device, void *host)
{
    struct wide w = WIDE(element, n, lda, il, iu);
    (void)params, (void)compute, (void)meig;
    return syevdx_size(w, element, wtype, h, jobz, range_of(w, range, vl, vu, il, iu), uplo, n, a, lda, values, device,
                       host);
}
int wrap_cusolverDnSyevdx_bufferSize(void *h, void *params, int jobz, int range, int uplo, long n, int element,
                                     const void *a, long lda, void *vl, void *vu, long il, long iu, void *meig,
                                     int wtype, const void *values, int compute, void *device)
{
    struct wide w = WIDE(element, n, lda, il, iu);
    (void)params, (void)compute, (void)meig;
    return syevdx_size(w, element, wtype, h, jobz, range_of(w, range, vl, vu, il, iu), uplo, n, a, lda, values, device,
                       NULL);
}
/* The typed form of all four syevdx functions; bounds of the interval come by pointer, in the type of the values. */
int wrap_cusolverDnSyevdx(void *h, void *params, int jobz, int range, int uplo, long n, int element, void *a, long lda,
                          void *vl, void *vu, long il, long iu, void *meig64, int wtype, void *values, int compute,
                          void *work, size_t size, void *info)
{
    struct wide w = WIDE(element, n, lda, il, iu);
    struct range g = range_of(w, range, vl, vu, il, iu);
    int meig = 0, r = w.status, job = cumu_cusolverEigMode_t_to_musa(jobz), u = cumu_cublasFillMode_t_to_musa(uplo);
    int from = (int)il, to = (int)iu, ld = (int)lda, lwork = elements(w, size);
    (void)params, (void)compute;
    if (!r && wtype != real_of(element))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    switch (w.type) {
    case S:
        r = mu.musolverDnSsyevdx(h, job, g.range, u, (int)n, a, ld, (float)g.vl, (float)g.vu, from, to, &meig, values,
                                 work, lwork, info);
        break;
    case D:
        r = mu.musolverDnDsyevdx(h, job, g.range, u, (int)n, a, ld, g.vl, g.vu, from, to, &meig, values, work, lwork,
                                 info);
        break;
    case C:
        r = mu.musolverDnCheevdx(h, job, g.range, u, (int)n, a, ld, (float)g.vl, (float)g.vu, from, to, &meig, values,
                                 work, lwork, info);
        break;
    default:
        r = mu.musolverDnZheevdx(h, job, g.range, u, (int)n, a, ld, g.vl, g.vu, from, to, &meig, values, work, lwork,
                                 info);
    }
    if (!r && meig64)
        *(long *)meig64 = meig;
    return CUMU_SOLVER_STATUS(r);
}
int wrap_cusolverDnXsyevdx(void *h, void *params, int jobz, int range, int uplo, long n, int element, void *a, long lda,
                           void *vl, void *vu, long il, long iu, void *meig, int wtype, void *values, int compute,
                           void *work, size_t size, void *host, size_t host_size, void *info)
{
    (void)host, (void)host_size;
    return wrap_cusolverDnSyevdx(h, params, jobz, range, uplo, n, element, a, lda, vl, vu, il, iu, meig, wtype, values,
                                 compute, work, size, info);
}

/* The options that a Jacobi solver needs and these functions do not have: the defaults, made once. */
static int default_options(bool values, musolverJacobi_t *out)
{
    static musolverJacobi_t made[2];
    musolverJacobi_t now = __atomic_load_n(&made[values], __ATOMIC_ACQUIRE), none = NULL;
    if (!now) {
        int r = CUMU_SOLVER_STATUS(values ? mu.musolverDnCreateGesvdjInfo(&now) : mu.musolverDnCreateSyevjInfo(&now));
        if (r)
            return r;
        if (!__atomic_compare_exchange_n(&made[values], &none, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            if (values)
                mu.musolverDnDestroyGesvdjInfo(now);
            else
                mu.musolverDnDestroySyevjInfo(now);
            now = none;
        }
    }
    *out = now;
    return CUSOLVER_STATUS_SUCCESS;
}

int wrap_cusolverDnXsyevBatched_bufferSize(void *h, void *params, int jobz, int uplo, long n, int element,
                                           const void *a, long lda, int wtype, const void *values, int compute,
                                           void *device, void *host, long batch)
{
    struct wide w = WIDE(element, n, lda, batch);
    int lwork = 0, r = w.status;
    musolverJacobi_t options;
    (void)params, (void)compute;
    if (!r && wtype != real_of(element))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = default_options(false, &options);
    if (!r)
        r = CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH2(
            w.type, syevjBatched_bufferSize, heevjBatched_bufferSize, h, cumu_cusolverEigMode_t_to_musa(jobz),
            cumu_cublasFillMode_t_to_musa(uplo), (int)n, a, (int)lda, values, &lwork, options, (int)batch));
    return sizes(w, r, lwork, 0, device, host);
}
int wrap_cusolverDnXsyevBatched(void *h, void *params, int jobz, int uplo, long n, int element, void *a, long lda,
                                int wtype, void *values, int compute, void *work, size_t size, void *host,
                                size_t host_size, void *info, long batch)
{
    struct wide w = WIDE(element, n, lda, batch);
    int r = w.status;
    musolverJacobi_t options;
    (void)params, (void)compute, (void)host, (void)host_size;
    if (!r && wtype != real_of(element))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = default_options(false, &options);
    return r ? r
             : CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH2(w.type, syevjBatched, heevjBatched, h,
                                                    cumu_cusolverEigMode_t_to_musa(jobz),
                                                    cumu_cublasFillMode_t_to_musa(uplo), (int)n, a, (int)lda, values,
                                                    work, elements(w, size), info, options, (int)batch));
}

/* ---- singular values --------------------------------------------------------------------------- */

static int gesvd_size(struct wide w, int element, int stype, void *h, long m, long n, size_t *device, size_t *host)
{
    int lwork = 0, r = w.status;
    if (!r && stype != real_of(element))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_gesvd_size(w.type, h, (int)m, (int)n, &lwork);
    return sizes(w, r, lwork, 0, device, host);
}
int wrap_cusolverDnXgesvd_bufferSize(void *h, void *params, char jobu, char jobvt, long m, long n, int element,
                                     const void *a, long lda, int stype, const void *s, int utype, const void *u,
                                     long ldu, int vtype, const void *vt, long ldvt, int compute, void *device,
                                     void *host)
{
    struct wide w = WIDE(element, m, n, lda, ldu, ldvt);
    (void)params, (void)compute, (void)jobu, (void)jobvt, (void)a, (void)s, (void)u, (void)vt;
    if (!w.status && (utype != element || vtype != element))
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    return gesvd_size(w, element, stype, h, m, n, device, host);
}
int wrap_cusolverDnGesvd_bufferSize(void *h, void *params, char jobu, char jobvt, long m, long n, int element,
                                    const void *a, long lda, int stype, const void *s, int utype, const void *u,
                                    long ldu, int vtype, const void *vt, long ldvt, int compute, void *device)
{
    size_t host;
    return wrap_cusolverDnXgesvd_bufferSize(h, params, jobu, jobvt, m, n, element, a, lda, stype, s, utype, u, ldu,
                                            vtype, vt, ldvt, compute, device, &host);
}
int wrap_cusolverDnGesvd(void *h, void *params, char jobu, char jobvt, long m, long n, int element, void *a, long lda,
                         int stype, void *s, int utype, void *u, long ldu, int vtype, void *vt, long ldvt, int compute,
                         void *work, size_t size, void *info)
{
    struct wide w = WIDE(element, m, n, lda, ldu, ldvt);
    (void)params, (void)compute;
    if (!w.status && (utype != element || vtype != element || stype != real_of(element)))
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    return w.status ? w.status
                    : cumu_solver_gesvd(w.type, h, jobu, jobvt, (int)m, (int)n, a, (int)lda, s, u, (int)ldu, vt,
                                        (int)ldvt, work, elements(w, size), NULL, info);
}
int wrap_cusolverDnXgesvd(void *h, void *params, char jobu, char jobvt, long m, long n, int element, void *a, long lda,
                          int stype, void *s, int utype, void *u, long ldu, int vtype, void *vt, long ldvt, int compute,
                          void *work, size_t size, void *host, size_t host_size, void *info)
{
    (void)host, (void)host_size;
    return wrap_cusolverDnGesvd(h, params, jobu, jobvt, m, n, element, a, lda, stype, s, utype, u, ldu, vtype, vt, ldvt,
                                compute, work, size, info);
}

/* By polar decomposition: the same results as by rotations. A is not perturbed, so the error of the values is 0. */
int wrap_cusolverDnXgesvdp_bufferSize(void *h, void *params, int jobz, int econ, long m, long n, int element,
                                      const void *a, long lda, int stype, const void *s, int utype, const void *u,
                                      long ldu, int vtype, const void *v, long ldv, int compute, void *device,
                                      void *host)
{
    struct wide w = WIDE(element, m, n, lda, ldu, ldv);
    int lwork = 0, r = w.status;
    musolverJacobi_t options;
    (void)params, (void)compute;
    if (!r && (utype != element || vtype != element || stype != real_of(element)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = default_options(true, &options);
    if (!r)
        r = CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(w.type, gesvdj_bufferSize, h, cumu_cusolverEigMode_t_to_musa(jobz),
                                                econ, (int)m, (int)n, a, (int)lda, s, u, (int)ldu, v, (int)ldv, &lwork,
                                                options));
    return sizes(w, r, lwork, 0, device, host);
}
int wrap_cusolverDnXgesvdp(void *h, void *params, int jobz, int econ, long m, long n, int element, void *a, long lda,
                           int stype, void *s, int utype, void *u, long ldu, int vtype, void *v, long ldv, int compute,
                           void *work, size_t size, void *host, size_t host_size, void *info, void *error)
{
    struct wide w = WIDE(element, m, n, lda, ldu, ldv);
    int r = w.status;
    musolverJacobi_t options;
    (void)params, (void)compute, (void)host, (void)host_size;
    if (!r && (utype != element || vtype != element || stype != real_of(element)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = default_options(true, &options);
    if (!r)
        r = CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(w.type, gesvdj, h, cumu_cusolverEigMode_t_to_musa(jobz), econ, (int)m,
                                                (int)n, a, (int)lda, s, u, (int)ldu, v, (int)ldv, work,
                                                elements(w, size), info, options));
    if (!r && error)
        *(double *)error = 0;
    return r;
}

/* The k greatest of all, which are exact where a random sample approximates. S, U and V of all lie in the workspace. */
struct all_values {
    size_t s, u, v, work;
    int columns, lwork;
};
static int plan_gesvdr(struct wide w, void *h, char jobu, char jobv, long m, long n, long k, long p, long niters,
                       const void *a, long lda, long ldu, long ldv, struct all_values *l, musolverJacobi_t *options)
{
    long least = m < n ? m : n;
    size_t size = cumu_solver_size(w.type);
    bool bad = (jobu != 'S' && jobu != 'N') || (jobv != 'S' && jobv != 'N') || m < 0 || n < 0 || k < 0 || k > least ||
               p < 0 || k + p > least || niters < 0 || lda < (m > 1 ? m : 1) ||
               (jobu == 'S' && ldu < (m > 1 ? m : 1)) || (jobv == 'S' && ldv < (n > 1 ? n : 1));
    int r = w.status ? w.status : bad ? CUSOLVER_STATUS_INVALID_VALUE : default_options(true, options);
    if (r)
        return r;
    l->columns = (int)least;
    l->s = 0;
    l->u = rounded(cumu_solver_real(w.type) * (size_t)least);
    l->v = l->u + rounded(size * (size_t)m * (size_t)least);
    l->work = l->v + rounded(size * (size_t)n * (size_t)least);
    return CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(
        w.type, gesvdj_bufferSize, h, cumu_cusolverEigMode_t_to_musa(CUSOLVER_EIG_MODE_VECTOR), 1, (int)m, (int)n, a,
        (int)lda, NULL, NULL, (int)(m > 1 ? m : 1), NULL, (int)(n > 1 ? n : 1), &l->lwork, *options));
}
int wrap_cusolverDnXgesvdr_bufferSize(void *h, void *params, char jobu, char jobv, long m, long n, long k, long p,
                                      long niters, int element, const void *a, long lda, int stype, const void *s,
                                      int utype, const void *u, long ldu, int vtype, const void *v, long ldv,
                                      int compute, void *device, void *host)
{
    struct wide w = WIDE(element, m, n, k, lda, ldu, ldv);
    struct all_values l = {0};
    musolverJacobi_t options;
    (void)params, (void)compute, (void)s, (void)u, (void)v;
    if (!w.status && (utype != element || vtype != element || stype != real_of(element)))
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    int r = plan_gesvdr(w, h, jobu, jobv, m, n, k, p, niters, a, lda, ldu, ldv, &l, &options);
    return sizes(w, r, l.lwork, l.work, device, host);
}
/* The leading k singular values and vectors: of a full decomposition, where cuSOLVER samples at random. Exact
 * instead of approximate, and slower for small k; muSOLVER has no randomised one. */
int wrap_cusolverDnXgesvdr(void *h, void *params, char jobu, char jobv, long m, long n, long k, long p, long niters,
                           int element, void *a, long lda, int stype, void *s, int utype, void *u, long ldu, int vtype,
                           void *v, long ldv, int compute, void *work, size_t bytes, void *host, size_t host_size,
                           void *info)
{
    struct wide w = WIDE(element, m, n, k, lda, ldu, ldv);
    struct all_values l = {0};
    musolverJacobi_t options;
    musaStream_t stream;
    (void)params, (void)compute, (void)host, (void)host_size;
    if (!w.status && (utype != element || vtype != element || stype != real_of(element)))
        w.status = CUSOLVER_STATUS_INVALID_VALUE;
    int r = plan_gesvdr(w, h, jobu, jobv, m, n, k, p, niters, a, lda, ldu, ldv, &l, &options);
    size_t size = cumu_solver_size(w.type), mb = size * (size_t)m, nb = size * (size_t)n;
    if (!r && m && n && (!work || bytes < l.work + (size_t)l.lwork * size))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    char *at = work;
    r = CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(w.type, gesvdj, h, cumu_cusolverEigMode_t_to_musa(CUSOLVER_EIG_MODE_VECTOR),
                                            1, (int)m, (int)n, a, (int)lda, (void *)(at + l.s), (void *)(at + l.u),
                                            (int)(m > 1 ? m : 1), (void *)(at + l.v), (int)(n > 1 ? n : 1),
                                            (void *)(at + l.work), l.lwork, info, options));
    if (r || !k)
        return r;
    const int way = musaMemcpyDeviceToDevice;
    bool bad = mu.musaMemcpyAsync(s, at + l.s, cumu_solver_real(w.type) * (size_t)k, way, stream);
    bad = bad || (jobu == 'S' && mu.musaMemcpy2DAsync(u, size * (size_t)ldu, at + l.u, mb, mb, (size_t)k, way, stream));
    bad = bad || (jobv == 'S' && mu.musaMemcpy2DAsync(v, size * (size_t)ldv, at + l.v, nb, nb, (size_t)k, way, stream));
    return bad ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}
