/* cuSOLVER's functions on general matrices that muSOLVER lacks and LAPACK has: eigenvalues, and the triangle of
 * reflectors. LAPACK is looked for at run time (libmusolver.so.1 itself needs OpenBLAS); where it is missing the
 * functions answer NOT_SUPPORTED. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/wide.h"
#include "api/fetch.h"

/* LAPACK's functions in its own convention: all by reference, then the lengths of letters. */
static void *lapack(const char *name, const char *function)
{
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3", "libopenblas.so", "liblapack.so"};
    static void *library;
    void *l = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
    for (size_t i = 0; !l && i < sizeof names / sizeof *names; i++)
        l = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    __atomic_store_n(&library, l, __ATOMIC_RELEASE);
    void *f = l ? dlsym(l, function) : NULL;
    if (!f)
        cumu_gap("cusolver", name, "muSOLVER has no such function, and there is no LAPACK (package libopenblas0)");
    return f;
}

static int store(musaStream_t stream, void *to, const void *from, size_t bytes)
{
    bool bad = bytes && (mu.musaMemcpyAsync(to, from, bytes, musaMemcpyHostToDevice, stream) ||
                         mu.musaStreamSynchronize(stream));
    return bad ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}

/* ---- eigenvalues ------------------------------------------------------------------------------- */

typedef void real_geev(const char *, const char *, const int *, void *, const int *, void *, void *, void *,
                       const int *, void *, const int *, void *, const int *, int *, size_t, size_t);
typedef void complex_geev(const char *, const char *, const int *, void *, const int *, void *, void *, const int *,
                          void *, const int *, void *, const int *, void *, int *, size_t, size_t);

/* One call; `lwork` -1 asks for the size. Values of a real matrix are real parts, then imaginary ones. */
static int geev(int type, void *f, bool left, bool right, int n, void *a, int lda, void *w, void *vl, int ldvl,
                void *vr, int ldvr, void *work, int lwork, void *rwork)
{
    const char *l = left ? "V" : "N", *r = right ? "V" : "N";
    int info = 0;
    if (type == S || type == D)
        ((real_geev *)f)(l, r, &n, a, &lda, w, (char *)w + cumu_solver_size(type) * (size_t)n, vl, &ldvl, vr, &ldvr,
                         work, &lwork, &info, 1, 1);
    else
        ((complex_geev *)f)(l, r, &n, a, &lda, w, vl, &ldvl, vr, &ldvr, work, &lwork, rwork, &info, 1, 1);
    return info;
}
static int work_size(int type, const void *first)
{
    double size = type == S || type == C ? (double)*(const float *)first : *(const double *)first;
    return size < 1 ? 1 : (int)size;
}

/* Pairs out of the two halves, for a real matrix whose values go into complex numbers. */
static void pair(int type, const void *halves, void *pairs, int n)
{
    size_t each = cumu_solver_size(type);
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t part = 0; part < 2; part++)
            memcpy((char *)pairs + (2 * i + part) * each, (const char *)halves + (i + part * (size_t)n) * each, each);
}

struct geev {
    int type, n, lda, ldvl, ldvr;
    bool left, right, paired;
    void *a, *values, *vl, *vr;
    int *info;
};
/* Eigenvalues of a general matrix by LAPACK on the host, as muSOLVER has no geev. Real matrices have complex
 * eigenvalues as two arrays in LAPACK and as pairs in cuSOLVER's mixed form. */
static int on_host(const struct geev *g, musaStream_t stream, void *f)
{
    size_t size = cumu_solver_size(g->type), n = (size_t)g->n, one = n ? n : 1;
    size_t count = g->type == S || g->type == D ? 2 * n : n; /* elements of the values */
    int lwork = 1, info = 0, r = CUSOLVER_STATUS_ALLOC_FAILED;
    void *a = cumu_fetch(stream, g->a, n ? ((size_t)g->lda * (n - 1) + n) * size : 0);
    void *w = malloc(2 * one * size), *pairs = malloc(2 * one * size), *rwork = malloc(2 * one * size), *work = NULL;
    void *vl = g->left ? malloc((size_t)g->ldvl * one * size) : NULL;
    void *vr = g->right ? malloc((size_t)g->ldvr * one * size) : NULL;
    char first[16];
    if (a && w && pairs && rwork && (vl || !g->left) && (vr || !g->right)) {
        geev(g->type, f, g->left, g->right, g->n, a, g->lda, w, vl, g->ldvl, vr, g->ldvr, first, -1, rwork);
        lwork = work_size(g->type, first);
        work = malloc((size_t)lwork * size);
    }
    if (work) {
        info = geev(g->type, f, g->left, g->right, g->n, a, g->lda, w, vl, g->ldvl, vr, g->ldvr, work, lwork, rwork);
        pair(g->type, w, pairs, g->paired ? g->n : 0);
        r = store(stream, g->values, g->paired ? pairs : w, count * size);
        for (int j = 0; !r && j < g->n; j++) { /* column by column: what lies between is the program's */
            size_t to = (size_t)j * size;
            if (g->left)
                r = store(stream, (char *)g->vl + to * (size_t)g->ldvl, (char *)vl + to * (size_t)g->ldvl, n * size);
            if (!r && g->right)
                r = store(stream, (char *)g->vr + to * (size_t)g->ldvr, (char *)vr + to * (size_t)g->ldvr, n * size);
        }
        if (!r)
            r = store(stream, g->info, &info, sizeof info);
    }
    free(a), free(w), free(pairs), free(rwork), free(work), free(vl), free(vr);
    return r;
}

/* What both calls check. */
static int geev_check(struct wide w, int jobvl, int jobvr, long n, int element, long lda, int wtype, int ltype,
                      long ldvl, int rtype, long ldvr)
{
    bool left = jobvl == CUSOLVER_EIG_MODE_VECTOR, right = jobvr == CUSOLVER_EIG_MODE_VECTOR;
    int complex = element == CUDA_R_32F ? CUDA_C_32F : element == CUDA_R_64F ? CUDA_C_64F : element;
    long least = n > 1 ? n : 1;
    if (w.status)
        return w.status;
    if ((!left && jobvl != CUSOLVER_EIG_MODE_NOVECTOR) || (!right && jobvr != CUSOLVER_EIG_MODE_NOVECTOR) || n < 0 ||
        lda < least || (left && ldvl < least) || (right && ldvr < least) || (wtype != element && wtype != complex) ||
        (left && ltype != element) || (right && rtype != element))
        return CUSOLVER_STATUS_INVALID_VALUE;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnXgeev_bufferSize(void *h, void *params, int jobvl, int jobvr, long n, int element, const void *a,
                                    long lda, int wtype, const void *values, int ltype, const void *vl, long ldvl,
                                    int rtype, const void *vr, long ldvr, int compute, void *device, void *host)
{
    struct wide w = WIDE(element, n, lda, ldvl, ldvr);
    int r = geev_check(w, jobvl, jobvr, n, element, lda, wtype, ltype, ldvl, rtype, ldvr);
    (void)params, (void)a, (void)values, (void)vl, (void)vr, (void)compute;
    return sizes(w, r, 1, 0, device, host);
}
int wrap_cusolverDnXgeev(void *h, void *params, int jobvl, int jobvr, long n, int element, void *a, long lda, int wtype,
                         void *values, int ltype, void *vl, long ldvl, int rtype, void *vr, long ldvr, int compute,
                         void *work, size_t size, void *host, size_t host_size, void *info)
{
    static const char *const name[] = {"sgeev_", "dgeev_", "cgeev_", "zgeev_"};
    struct wide w = WIDE(element, n, lda, ldvl, ldvr);
    musaStream_t stream;
    int r = geev_check(w, jobvl, jobvr, n, element, lda, wtype, ltype, ldvl, rtype, ldvr);
    (void)params, (void)compute, (void)work, (void)size, (void)host, (void)host_size;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    struct geev g = {w.type,
                     (int)n,
                     (int)lda,
                     ldvl > 1 ? (int)ldvl : 1,
                     ldvr > 1 ? (int)ldvr : 1,
                     jobvl == CUSOLVER_EIG_MODE_VECTOR,
                     jobvr == CUSOLVER_EIG_MODE_VECTOR,
                     wtype != element,
                     a,
                     values,
                     vl,
                     vr,
                     info};
    if (!r && (!info || (n && (!a || !values || (g.left && !vl) || (g.right && !vr)))))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    void *f = r ? NULL : lapack("cusolverDnXgeev", name[w.type]);
    return r ? r : f ? on_host(&g, stream, f) : CUSOLVER_STATUS_NOT_SUPPORTED;
}

/* ---- reflectors -------------------------------------------------------------------------------- */

/* T of H = I - V T V^H. Modes: forward 0, backward 1; by columns 0, by rows 1. */
typedef void larft(const char *, const char *, const int *, const int *, void *, const int *, const void *, void *,
                   const int *, size_t, size_t);
static int larft_check(struct wide w, int direct, int storev, long n, long k, int element, long ldv, int tau_type,
                       int ttype, long ldt)
{
    if (w.status)
        return w.status;
    bool bad = direct < 0 || direct > 1 || storev < 0 || storev > 1 || k < 0 || k > n || tau_type != element ||
               ttype != element || ldv < (storev ? k : n) || ldv < 1 || ldt < k || ldt < 1;
    return bad ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnXlarft_bufferSize(void *h, void *params, int direct, int storev, long n, long k, int element,
                                     const void *v, long ldv, int tau_type, const void *tau, int ttype, void *t,
                                     long ldt, int compute, void *device, void *host)
{
    struct wide w = WIDE(element, n, k, ldv, ldt);
    (void)params, (void)v, (void)tau, (void)t, (void)compute;
    return sizes(w, larft_check(w, direct, storev, n, k, element, ldv, tau_type, ttype, ldt), 1, 0, device, host);
}
/* The triangular factor of a block of reflectors, by LAPACK on the host. Only bytes of the matrix are fetched:
 * behind the last column may be the end of the allocation. */
int wrap_cusolverDnXlarft(void *h, void *params, int direct, int storev, long n, long k, int element, const void *v,
                          long ldv, int tau_type, const void *tau, int ttype, void *t, long ldt, int compute,
                          void *work, size_t size, void *host, size_t host_size)
{
    static const char *const name[] = {"slarft_", "dlarft_", "clarft_", "zlarft_"};
    struct wide w = WIDE(element, n, k, ldv, ldt);
    musaStream_t stream;
    int r = larft_check(w, direct, storev, n, k, element, ldv, tau_type, ttype, ldt);
    (void)params, (void)compute, (void)work, (void)size, (void)host, (void)host_size;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    if (!r && k && (!v || !tau || !t))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    larft *f = r ? NULL : (larft *)lapack("cusolverDnXlarft", name[w.type]);
    if (r || !f || !k)
        return r ? r : f ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_SUPPORTED;
    size_t each = cumu_solver_size(w.type);
    size_t last = (size_t)(storev ? k : n), columns = (size_t)(storev ? n : k); /* no bytes behind the last column's */
    void *vectors = cumu_fetch(stream, v, ((size_t)ldv * (columns - 1) + last) * each);
    void *scalars = cumu_fetch(stream, tau, (size_t)k * each);
    void *out = cumu_fetch(stream, t, ((size_t)ldt * (size_t)(k - 1) + (size_t)k) * each);
    r = vectors && scalars && out ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r) {
        const int rows = (int)n, count = (int)k, lv = (int)ldv, lt = (int)ldt;
        f(direct ? "B" : "F", storev ? "R" : "C", &rows, &count, vectors, &lv, scalars, out, &lt, 1, 1);
        r = store(stream, t, out, ((size_t)ldt * (size_t)(k - 1) + (size_t)k) * each);
    }
    free(vectors), free(scalars), free(out);
    return r;
}
