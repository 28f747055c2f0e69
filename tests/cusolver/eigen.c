/* Eigenvalues of cuSOLVER: A V = V W, V orthogonal, values ascending; parts of the spectrum are parts of the whole. */
#include "solver.h"

static void *info;
static int lwork;
static void *room(int type) { return memory((size_t)lwork * size_of(type)); }
enum { ALL = 1001, BY_INDEX, BY_VALUE };

static struct mat diagonal(const double *w, int n)
{
    struct mat d = mat(n, n);
    for (int i = 0; i < n; i++)
        E(d, i, i) = w[i];
    return d;
}
static void ascending(int type, const double *w, int n)
{
    for (int i = 1; i < n; i++)
        if (!EXPECT(w[i] >= w[i - 1], "values %c: not ascending", LETTER)) {
            return;
        }
}
/* Of A x = w B x, A B x = w x or B A x = w x; B NULL is none. */
static void solves(int type, int form, struct mat a, const struct mat *b, struct mat v, const double *w, int n,
                   const char *what)
{
    struct mat left, right = product(OP_N, v, OP_N, diagonal(w, n));
    if (form == 1) {
        left = product(OP_N, a, OP_N, v);
        right = b ? product(OP_N, *b, OP_N, right) : right;
    } else {
        left = form == 2 ? product(OP_N, a, OP_N, product(OP_N, *b, OP_N, v))
                         : product(OP_N, *b, OP_N, product(OP_N, a, OP_N, v));
    }
    SMALL(distance(left, right) / 10, what);
}

static void standard(int type, int n, int uplo, double *w)
{
    struct mat a = symmetric(type, n, true);
    double other[64];
    struct dev d = device(type, a);
    void *values = memory((size_t)n * 8), *work;
    long t = cuda_type(type), r = type == 0 || type == 2 ? 0 : 1;
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values, &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%c%sevd", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values, work, lwork, info), 0);
    IS(number(info), 0);
    struct mat v = fetch(d);
    reals(type, values, w, n);
    ascending(type, w, n);
    SMALL(not_orthogonal(v), "syevd");
    solves(type, 1, a, NULL, v, w, n, "syevd");
    put(d, a);
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, sy(type))(handle, 0, uplo, n, d.at, d.ld, values, &lwork), 0);
    IS(F("cusolverDn%c%sevd", LETTER, sy(type))(handle, 0, uplo, n, d.at, d.ld, values, work, lwork, info), 0);
    reals(type, values, other, n);
    for (int i = 0; i < n; i++)
        SMALL(fabs(other[i] - w[i]) / 10, "syevd without vectors");
    cudaFree(work);
    /* the 64-bit form */
    size_t on_device = 0, on_host = 9;
    put(d, a);
    IS(F("cusolverDnXsyevd_bufferSize")(handle, NULL, 1, uplo, (long)n, t, d.at, (long)d.ld, r, values, t, &on_device,
                                        &on_host),
       0);
    work = memory(on_device);
    IS(F("cusolverDnXsyevd")(handle, NULL, 1, uplo, (long)n, t, d.at, (long)d.ld, r, values, t, work, on_device, NULL,
                             on_host, info),
       0);
    IS(number(info), 0);
    reals(type, values, other, n);
    solves(type, 1, a, NULL, fetch(d), other, n, "Xsyevd");
    IS(F("cusolverDnXsyevd")(handle, NULL, 1, uplo, (long)n, t, d.at, (long)d.ld, 2L, values, t, work, on_device, NULL,
                             on_host, info),
       INVALID);
    IS(F("cusolverDnXsyevd")(handle, NULL, 1, uplo, (long)n, 2L, d.at, (long)d.ld, 2L, values, t, work, on_device, NULL,
                             on_host, info),
       INVALID);
    IS(F("cusolverDnXsyevd")(handle, NULL, 1, uplo, (long)n, t, d.at, (long)d.ld, r, values, t, work, (size_t)0, NULL,
                             on_host, info),
       INVALID);
    cudaFree(work);
    /* by rotations */
    void *params = NULL;
    double residual = -1;
    int sweeps = -1;
    IS(F("cusolverDnCreateSyevjInfo")(&params), 0);
    IS(((int (*)(void *, double))symbol("cusolverDnXsyevjSetTolerance"))(params, 1e-7), 0);
    IS(F("cusolverDnXsyevjSetMaxSweeps")(params, 30), 0);
    IS(F("cusolverDnXsyevjSetSortEig")(params, 1), 0);
    IS(F("cusolverDnXsyevjSetMaxSweeps")(NULL, 30), INVALID);
    put(d, a);
    IS(F("cusolverDn%c%sevj_bufferSize", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values, &lwork, params), 0);
    work = room(type);
    IS(F("cusolverDn%c%sevj", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values, work, lwork, info, params), 0);
    IS(number(info), 0);
    reals(type, values, other, n);
    solves(type, 1, a, NULL, fetch(d), other, n, "syevj");
    IS(F("cusolverDnXsyevjGetResidual")(handle, params, &residual), 0);
    IS(F("cusolverDnXsyevjGetSweeps")(handle, params, &sweeps), 0);
    SMALL(residual / (10 * n), "syevj's residual");
    IS(sweeps >= 0 && residual >= 0, 1);
    IS(F("cusolverDnDestroySyevjInfo")(params), 0);
    IS(F("cusolverDnDestroySyevjInfo")(params), INVALID);
    cudaFree(work);
    cudaFree(d.at);
}

static int evdx(int type, int range, int uplo, int n, struct dev d, double vl, double vu, int il, int iu, int *meig,
                void *values, void *work)
{
    void *f = symbol("cusolverDn%c%sevdx", LETTER, sy(type)),
         *s = symbol("cusolverDn%c%sevdx_bufferSize", LETTER, sy(type));
    int need = 0, r;
    if (type == 0 || type == 2) {
        r = ((int (*)(void *, int, int, int, int, void *, int, float, float, int, int, int *, void *, int *))s)(
            handle, 1, range, uplo, n, d.at, d.ld, (float)vl, (float)vu, il, iu, meig, values, &need);
        return r ? r
                 : ((int (*)(void *, int, int, int, int, void *, int, float, float, int, int, int *, void *, void *,
                             int, void *))f)(handle, 1, range, uplo, n, d.at, d.ld, (float)vl, (float)vu, il, iu, meig,
                                             values, work, need, info);
    }
    r = ((int (*)(void *, int, int, int, int, void *, int, double, double, int, int, int *, void *, int *))s)(
        handle, 1, range, uplo, n, d.at, d.ld, vl, vu, il, iu, meig, values, &need);
    return r ? r
             : ((int (*)(void *, int, int, int, int, void *, int, double, double, int, int, int *, void *, void *, int,
                         void *))f)(handle, 1, range, uplo, n, d.at, d.ld, vl, vu, il, iu, meig, values, work, need,
                                    info);
}

static void part(int type, int n, int uplo)
{
    struct mat a = symmetric(type, n, true);
    struct dev d = device(type, a);
    double all[64], some[64];
    void *values = memory((size_t)n * 8), *work = memory(1 << 20);
    int count = -1;
    IS(evdx(type, ALL, uplo, n, d, 0, 0, 0, 0, &count, values, work), 0);
    IS(count, n);
    reals(type, values, all, n);
    int il = 1 + n / 4, iu = n - n / 4;
    put(d, a);
    IS(evdx(type, BY_INDEX, uplo, n, d, 0, 0, il, iu, &count, values, work), 0);
    IS(count, iu - il + 1);
    reals(type, values, some, count);
    for (int i = 0; i < count; i++)
        SMALL(fabs(some[i] - all[il - 1 + i]) / 10, "syevdx by index");
    struct mat v = fetch(d), first = mat(n, count);
    memcpy(first.at, v.at, sizeof(num) * (size_t)(n * count));
    solves(type, 1, a, NULL, first, some, count, "syevdx by index");
    double vl = n > 1 ? (all[0] + all[1]) / 2 : all[0] - 1, vu = all[n - 1] + 1;
    put(d, a);
    IS(evdx(type, BY_VALUE, uplo, n, d, vl, vu, 0, 0, &count, values, work), 0);
    IS(count, n > 1 ? n - 1 : 1);
    IS(evdx(type, BY_VALUE, uplo, n, d, 2, 1, 0, 0, &count, values, work), INVALID);
    IS(evdx(type, BY_INDEX, uplo, n, d, 0, 0, 0, 1, &count, values, work), INVALID);
    IS(evdx(type, BY_INDEX, uplo, n, d, 0, 0, 1, n + 1, &count, values, work), INVALID);
    IS(evdx(type, 1004, uplo, n, d, 0, 0, 1, n, &count, values, work), INVALID);
    /* the 64-bit form takes bounds by address, in the type of the values */
    float vlf = (float)vl, vuf = (float)vu;
    bool narrow = type == 0 || type == 2;
    long t = cuda_type(type), r = narrow ? 0 : 1, found = -1;
    size_t on_device = 0, on_host = 0;
    put(d, a);
    IS(F("cusolverDnXsyevdx_bufferSize")(handle, NULL, 1, BY_VALUE, uplo, (long)n, t, d.at, (long)d.ld,
                                         narrow ? (void *)&vlf : &vl, narrow ? (void *)&vuf : &vu, 0L, 0L, &found, r,
                                         values, t, &on_device, &on_host),
       0);
    void *more = memory(on_device);
    IS(F("cusolverDnXsyevdx")(handle, NULL, 1, BY_VALUE, uplo, (long)n, t, d.at, (long)d.ld,
                              narrow ? (void *)&vlf : &vl, narrow ? (void *)&vuf : &vu, 0L, 0L, &found, r, values, t,
                              more, on_device, NULL, on_host, info),
       0);
    IS((int)found, n > 1 ? n - 1 : 1);
    reals(type, values, some, (int)found);
    for (int i = 0; i < found; i++)
        SMALL(fabs(some[i] - all[n - (int)found + i]) / 10, "Xsyevdx");
    cudaFree(work);
    cudaFree(more);
    cudaFree(d.at);
}

static void general(int type, int n, int uplo, int form)
{
    struct mat a = symmetric(type, n, true), b = positive(type, n);
    struct dev d = device(type, a), e = device(type, b);
    double w[64];
    void *values = memory((size_t)n * 8), *params = NULL;
    IS(F("cusolverDn%c%sgvd_bufferSize", LETTER, sy(type))(handle, form, 1, uplo, n, d.at, d.ld, e.at, e.ld, values,
                                                           &lwork),
       0);
    void *work = room(type);
    IS(F("cusolverDn%c%sgvd", LETTER, sy(type))(handle, form, 1, uplo, n, d.at, d.ld, e.at, e.ld, values, work, lwork,
                                                info),
       0);
    IS(number(info), 0);
    reals(type, values, w, n);
    ascending(type, w, n);
    solves(type, form, a, &b, fetch(d), w, n, "sygvd");
    put(d, a);
    put(e, b);
    cudaFree(work);
    IS(F("cusolverDnCreateSyevjInfo")(&params), 0);
    IS(F("cusolverDn%c%sgvj_bufferSize", LETTER, sy(type))(handle, form, 1, uplo, n, d.at, d.ld, e.at, e.ld, values,
                                                           &lwork, params),
       0);
    work = room(type);
    IS(F("cusolverDn%c%sgvj", LETTER, sy(type))(handle, form, 1, uplo, n, d.at, d.ld, e.at, e.ld, values, work, lwork,
                                                info, params),
       0);
    reals(type, values, w, n);
    solves(type, form, a, &b, fetch(d), w, n, "sygvj");
    IS(F("cusolverDnDestroySyevjInfo")(params), 0);
    /* B is not positive: info says where */
    E(b, n / 2, n / 2) = -50;
    put(d, a);
    put(e, b);
    IS(F("cusolverDn%c%sgvd", LETTER, sy(type))(handle, form, 1, uplo, n, d.at, d.ld, e.at, e.ld, values, work, lwork,
                                                info),
       0);
    IS(number(info), n + n / 2 + 1);
    IS(F("cusolverDn%c%sgvd", LETTER, sy(type))(handle, 4, 1, uplo, n, d.at, d.ld, e.at, e.ld, values, work, lwork,
                                                info),
       INVALID);
    cudaFree(work);
    cudaFree(d.at);
    cudaFree(e.at);
}

/* Matrices one after the other, and their values. */
static void batch(int type, int n, int uplo)
{
    enum { BATCH = 4 };
    struct mat a[BATCH], whole = mat(n, n * BATCH);
    for (int i = 0; i < BATCH; i++) {
        a[i] = symmetric(type, n, true);
        memcpy(whole.at + i * n * n, a[i].at, sizeof(num) * (size_t)(n * n));
    }
    struct dev d = device(type, whole);
    void *values = memory((size_t)n * BATCH * 8), *infos = memory(BATCH * 4), *params = NULL, *work;
    double w[256];
    for (int form = 0; form < 2; form++) {
        put(d, whole);
        if (form == 0) {
            IS(F("cusolverDnCreateSyevjInfo")(&params), 0);
            IS(F("cusolverDn%c%sevjBatched_bufferSize", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values,
                                                                          &lwork, params, BATCH),
               0);
            work = room(type);
            IS(F("cusolverDn%c%sevjBatched", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values, work, lwork,
                                                               infos, params, BATCH),
               0);
            IS(F("cusolverDnXsyevjGetResidual")(handle, params, w), 9);
            IS(F("cusolverDn%c%sevjBatched", LETTER, sy(type))(handle, 1, uplo, n, d.at, d.ld, values, work, lwork,
                                                               infos, params, -1),
               INVALID);
        } else {
            long t = cuda_type(type), r = type == 0 || type == 2 ? 0 : 1;
            size_t on_device = 0, on_host = 0;
            IS(F("cusolverDnXsyevBatched_bufferSize")(handle, NULL, 1, uplo, (long)n, t, d.at, (long)d.ld, r, values, t,
                                                      &on_device, &on_host, (long)BATCH),
               0);
            work = memory(on_device);
            IS(F("cusolverDnXsyevBatched")(handle, NULL, 1, uplo, (long)n, t, d.at, (long)d.ld, r, values, t, work,
                                           on_device, NULL, on_host, infos, (long)BATCH),
               0);
        }
        struct mat all = fetch(d);
        reals(type, values, w, n * BATCH);
        for (int i = 0; i < BATCH; i++) {
            struct mat v = mat(n, n);
            memcpy(v.at, all.at + i * n * n, sizeof(num) * (size_t)(n * n));
            IS(number((int *)infos + i), 0);
            solves(type, 1, a[i], NULL, v, w + i * n, n, form ? "XsyevBatched" : "syevjBatched");
        }
        cudaFree(work);
    }
    IS(F("cusolverDnDestroySyevjInfo")(params), 0);
}

static void errors(int type)
{
    void *a = memory(4096);
    const char *s = sy(type);
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, s)(NULL, 1, LOWER, 2, a, 2, a, &lwork), NOT_INITIALIZED);
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, s)(handle, 2, LOWER, 2, a, 2, a, &lwork), INVALID);
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, s)(handle, 1, LOWER, 2, a, 1, a, &lwork), INVALID);
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, s)(handle, 1, LOWER, -1, a, 1, a, &lwork), INVALID);
    IS(F("cusolverDn%c%sevd", LETTER, s)(handle, 1, LOWER, 2, a, 2, a, a, 1, info), INVALID);
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, s)(handle, 1, LOWER, 0, a, 1, a, &lwork), 0);
    IS(F("cusolverDn%c%sevd", LETTER, s)(handle, 1, LOWER, 0, a, 1, a, a, lwork, info), 0);
    IS(number(info), 0);
    IS(F("cusolverDn%c%sevj_bufferSize", LETTER, s)(handle, 1, LOWER, 2, a, 2, a, &lwork, NULL), INVALID);
    cudaFree(a);
}

int main(void)
{
    double w[64];
    IS(start(), 0);
    info = memory(64);
    for (int type = 0; type < 4; type++) {
        for (int s = 0; s < SIZES; s++)
            for (int uplo = 0; uplo < 2; uplo++) {
                standard(type, sizes[s], uplo, w);
                part(type, sizes[s], uplo);
                for (int form = 1; form <= 3 && sizes[s] < 30; form++)
                    general(type, sizes[s], uplo, form);
                if (sizes[s] < 10)
                    batch(type, sizes[s], uplo);
            }
        errors(type);
    }
    return check_end("eigen");
}
