/* Singular values of cuSOLVER: A = U S V^H with orthogonal U and V and descending values, in every job. */
#include "solver.h"

static void *info;
static int lwork;
static void *room(int type) { return memory((size_t)lwork * size_of(type)); }

static void descending(int type, const double *s, int n)
{
    for (int i = 0; i < n; i++)
        if (!EXPECT(s[i] >= 0 && (!i || s[i] <= s[i - 1]), "values %c: not descending", LETTER)) {
            return;
        }
}
/* U S V^H of the first k columns. */
static struct mat composed(struct mat u, const double *s, struct mat v, int k)
{
    struct mat a = mat(u.m, v.m);
    for (int i = 0; i < u.m; i++)
        for (int j = 0; j < v.m; j++)
            for (int l = 0; l < k; l++)
                E(a, i, j) += E(u, i, l) * s[l] * conj(E(v, j, l));
    return a;
}
static struct mat turned(struct mat a) { return product(OP_C, a, OP_N, identity(a.m, a.m)); }
static struct mat head(struct mat a, int columns)
{
    struct mat b = mat(a.m, columns);
    memcpy(b.at, a.at, sizeof(num) * (size_t)(a.m * columns));
    return b;
}

static void classic(int type, int m, int n)
{
    struct mat a = random_mat(type, m, n);
    struct dev d = device(type, a), u = device(type, mat(m, m)), vt = device(type, mat(n, n));
    void *values = memory((size_t)n * 8), *rwork = memory((size_t)n * 8), *work;
    double s[64], other[64];
    IS(F("cusolverDn%cgesvd_bufferSize", LETTER)(handle, m, n, &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'A', 'A', m, n, d.at, d.ld, values, u.at, u.ld, vt.at, vt.ld, work, lwork,
                                      rwork, info),
       0);
    IS(number(info), 0);
    reals(type, values, s, n);
    descending(type, s, n);
    struct mat um = fetch(u), vm = turned(fetch(vt));
    SMALL(not_orthogonal(um), "gesvd U");
    SMALL(not_orthogonal(vm), "gesvd V");
    SAME(composed(um, s, vm, n), a, "gesvd");
    const char jobs[][2] = {{'S', 'S'}, {'O', 'S'}, {'S', 'O'}, {'A', 'O'}, {'O', 'A'}, {'A', 'S'}, {'S', 'A'},
                            {'N', 'A'}, {'A', 'N'}, {'N', 'N'}, {'O', 'N'}, {'N', 'O'}, {'S', 'N'}, {'N', 'S'}};
    for (int i = 0; i < 14; i++) {
        put(d, a);
        IS(F("cusolverDn%cgesvd", LETTER)(handle, jobs[i][0], jobs[i][1], m, n, d.at, d.ld, values, u.at, u.ld, vt.at,
                                          vt.ld, work, lwork, NULL, info),
           0);
        IS(number(info), 0);
        reals(type, values, other, n);
        for (int k = 0; k < n; k++)
            SMALL(fabs(s[k] - other[k]) / 10, "gesvd's values");
        struct mat left = jobs[i][0] == 'O' ? fetch(d) : fetch(u);
        struct mat right = jobs[i][1] == 'O' ? fetch(d) : fetch(vt);
        struct mat square = mat(n, n);
        for (int k = 0; k < n * n; k++)
            square.at[k] = E(right, k % n, k / n);
        if (jobs[i][0] != 'N' && jobs[i][1] != 'N')
            SAME(composed(left, other, turned(square), n), a, "gesvd in part");
    }
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'Q', 'A', m, n, d.at, d.ld, values, u.at, u.ld, vt.at, vt.ld, work, lwork,
                                      NULL, info),
       INVALID);
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'O', 'O', m, n, d.at, d.ld, values, u.at, u.ld, vt.at, vt.ld, work, lwork,
                                      NULL, info),
       INVALID);
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'A', 'A', m, n, d.at, d.ld, values, u.at, m - 1, vt.at, vt.ld, work,
                                      lwork, NULL, info),
       INVALID);
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'A', 'A', m, n, d.at, d.ld, values, u.at, u.ld, vt.at, vt.ld, work, 0,
                                      NULL, info),
       INVALID);
    IS(F("cusolverDn%cgesvd_bufferSize", LETTER)(handle, n, m + 1, &lwork), INVALID);
    IS(F("cusolverDn%cgesvd_bufferSize", LETTER)(NULL, m, n, &lwork), NOT_INITIALIZED);
    /* 64 bits */
    long t = cuda_type(type), r = type == 0 || type == 2 ? 0 : 1;
    size_t on_device = 0, on_host = 0;
    put(d, a);
    IS(F("cusolverDnXgesvd_bufferSize")(handle, NULL, 'A', 'A', (long)m, (long)n, t, d.at, (long)d.ld, r, values, t,
                                        u.at, (long)u.ld, t, vt.at, (long)vt.ld, t, &on_device, &on_host),
       0);
    void *more = memory(on_device);
    IS(F("cusolverDnXgesvd")(handle, NULL, 'A', 'A', (long)m, (long)n, t, d.at, (long)d.ld, r, values, t, u.at,
                             (long)u.ld, t, vt.at, (long)vt.ld, t, more, on_device, NULL, on_host, info),
       0);
    IS(number(info), 0);
    reals(type, values, other, n);
    SAME(composed(fetch(u), other, turned(fetch(vt)), n), a, "Xgesvd");
    cudaFree(work);
    cudaFree(more);
}

static void rotated(int type, int m, int n, int econ)
{
    int least = m < n ? m : n;
    struct mat a = random_mat(type, m, n);
    struct dev d = device(type, a), u = device(type, mat(m, econ ? least : m)),
               v = device(type, mat(n, econ ? least : n));
    void *values = memory((size_t)least * 8), *params = NULL, *work;
    double s[64], other[64], residual = -1, error = -1;
    int sweeps = -1;
    IS(F("cusolverDnCreateGesvdjInfo")(&params), 0);
    IS(((int (*)(void *, double))symbol("cusolverDnXgesvdjSetTolerance"))(params, 1e-7), 0);
    IS(F("cusolverDnXgesvdjSetMaxSweeps")(params, 15), 0);
    IS(F("cusolverDnXgesvdjSetSortEig")(params, 1), 0);
    IS(F("cusolverDn%cgesvdj_bufferSize", LETTER)(handle, 1, econ, m, n, d.at, d.ld, values, u.at, u.ld, v.at, v.ld,
                                                  &lwork, params),
       0);
    work = room(type);
    IS(F("cusolverDn%cgesvdj", LETTER)(handle, 1, econ, m, n, d.at, d.ld, values, u.at, u.ld, v.at, v.ld, work, lwork,
                                       info, params),
       0);
    IS(number(info), 0);
    reals(type, values, s, least);
    descending(type, s, least);
    struct mat um = fetch(u), vm = fetch(v);
    SMALL(not_orthogonal(um), "gesvdj U");
    SMALL(not_orthogonal(vm), "gesvdj V");
    SAME(composed(um, s, vm, least), a, "gesvdj");
    IS(F("cusolverDnXgesvdjGetResidual")(handle, params, &residual), 0);
    IS(F("cusolverDnXgesvdjGetSweeps")(handle, params, &sweeps), 0);
    IS(residual >= 0 && sweeps >= 0, 1);
    SMALL(residual / (10 * least), "gesvdj's residual");
    put(d, a);
    IS(F("cusolverDn%cgesvdj", LETTER)(handle, 0, econ, m, n, d.at, d.ld, values, NULL, 1, NULL, 1, work, lwork, info,
                                       params),
       0);
    reals(type, values, other, least);
    for (int i = 0; i < least; i++)
        SMALL(fabs(other[i] - s[i]) / 10, "gesvdj without vectors");
    IS(F("cusolverDn%cgesvdj", LETTER)(handle, 1, econ, m, n, d.at, d.ld, values, u.at, u.ld, v.at, n - 1, work, lwork,
                                       info, params),
       INVALID);
    IS(F("cusolverDnDestroyGesvdjInfo")(params), 0);
    IS(F("cusolverDn%cgesvdj", LETTER)(handle, 1, econ, m, n, d.at, d.ld, values, u.at, u.ld, v.at, v.ld, work, lwork,
                                       info, params),
       INVALID);
    cudaFree(work);
    long t = cuda_type(type), r = type == 0 || type == 2 ? 0 : 1;
    size_t on_device = 0, on_host = 0;
    put(d, a);
    IS(F("cusolverDnXgesvdp_bufferSize")(handle, NULL, 1, econ, (long)m, (long)n, t, d.at, (long)d.ld, r, values, t,
                                         u.at, (long)u.ld, t, v.at, (long)v.ld, t, &on_device, &on_host),
       0);
    work = memory(on_device);
    IS(F("cusolverDnXgesvdp")(handle, NULL, 1, econ, (long)m, (long)n, t, d.at, (long)d.ld, r, values, t, u.at,
                              (long)u.ld, t, v.at, (long)v.ld, t, work, on_device, NULL, on_host, info, &error),
       0);
    IS(number(info), 0);
    IS(error == 0, 1);
    reals(type, values, other, least);
    SAME(composed(fetch(u), other, fetch(v), least), a, "Xgesvdp");
    cudaFree(work);
    /* the k greatest */
    int k = (least + 1) / 2;
    struct dev uk = device(type, mat(m, k)), vk = device(type, mat(n, k));
    put(d, a);
    IS(F("cusolverDnXgesvdr_bufferSize")(handle, NULL, 'S', 'S', (long)m, (long)n, (long)k, 0L, 2L, t, d.at, (long)d.ld,
                                         r, values, t, uk.at, (long)uk.ld, t, vk.at, (long)vk.ld, t, &on_device,
                                         &on_host),
       0);
    work = memory(on_device);
    IS(F("cusolverDnXgesvdr")(handle, NULL, 'S', 'S', (long)m, (long)n, (long)k, 0L, 2L, t, d.at, (long)d.ld, r, values,
                              t, uk.at, (long)uk.ld, t, vk.at, (long)vk.ld, t, work, on_device, NULL, on_host, info),
       0);
    IS(number(info), 0);
    reals(type, values, other, k);
    SAME(composed(fetch(uk), other, fetch(vk), k), composed(head(um, k), s, head(vm, k), k), "Xgesvdr");
    cudaFree(work);
}

/* Matrices one after the other. */
static void batch(int type, int m, int n)
{
    enum { BATCH = 3 };
    int least = m < n ? m : n;
    struct mat whole = random_mat(type, m, n * BATCH);
    struct dev d = device(type, whole), u = device(type, mat(m, m * BATCH)), v = device(type, mat(n, n * BATCH));
    void *values = memory((size_t)least * BATCH * 8), *infos = memory(BATCH * 4), *params = NULL;
    double s[64];
    IS(F("cusolverDnCreateGesvdjInfo")(&params), 0);
    IS(F("cusolverDn%cgesvdjBatched_bufferSize", LETTER)(handle, 1, m, n, d.at, d.ld, values, u.at, u.ld, v.at, v.ld,
                                                         &lwork, params, BATCH),
       0);
    void *work = room(type);
    IS(F("cusolverDn%cgesvdjBatched", LETTER)(handle, 1, m, n, d.at, d.ld, values, u.at, u.ld, v.at, v.ld, work, lwork,
                                              infos, params, BATCH),
       0);
    reals(type, values, s, least * BATCH);
    struct mat um = fetch(u), vm = fetch(v);
    for (int i = 0; i < BATCH; i++) {
        struct mat ui = {m, m, um.at + i * m * m}, vi = {n, n, vm.at + i * n * n}, ai = {m, n, whole.at + i * m * n};
        IS(number((int *)infos + i), 0);
        SMALL(not_orthogonal(ui), "gesvdjBatched");
        SAME(composed(ui, s + i * least, vi, least), ai, "gesvdjBatched");
    }
    IS(F("cusolverDn%cgesvdjBatched", LETTER)(handle, 1, m, n, d.at, d.ld, values, u.at, u.ld, v.at, v.ld, work, lwork,
                                              infos, params, 0),
       0);
    IS(F("cusolverDnDestroyGesvdjInfo")(params), 0);
    cudaFree(work);
    /* the k greatest, with gaps between the matrices */
    int k = (least + 1) / 2;
    put(d, whole);
    double norms[BATCH];
    long long sa = (long long)d.ld * n, ss = least, su = (long long)u.ld * m, sv = (long long)v.ld * n;
    IS(F("cusolverDn%cgesvdaStridedBatched_bufferSize", LETTER)(handle, 1, k, m, n, d.at, d.ld, sa, values, ss, u.at,
                                                                u.ld, su, v.at, v.ld, sv, &lwork, BATCH),
       0);
    work = room(type);
    IS(F("cusolverDn%cgesvdaStridedBatched", LETTER)(handle, 1, k, m, n, d.at, d.ld, sa, values, ss, u.at, u.ld, su,
                                                     v.at, v.ld, sv, work, lwork, infos, norms, BATCH),
       0);
    reals(type, values, s, least * BATCH);
    um = fetch(u);
    vm = fetch(v);
    SAME(fetch(d), whole, "gesvda leaves A");
    for (int i = 0; i < BATCH; i++) {
        struct mat ui = {m, k, um.at + i * m * m}, vi = {n, k, vm.at + i * n * n}, ai = {m, n, whole.at + i * m * n};
        struct mat near_a = composed(ui, s + i * least, vi, k);
        double sum = 0;
        for (int j = 0; j < m * n; j++)
            sum += creal((ai.at[j] - near_a.at[j]) * conj(ai.at[j] - near_a.at[j]));
        SMALL(not_orthogonal(ui), "gesvda");
        SMALL(fabs(sqrt(sum) - norms[i]) / 10, "gesvda's norm");
    }
    IS(F("cusolverDn%cgesvdaStridedBatched", LETTER)(handle, 1, least + 1, m, n, d.at, d.ld, sa, values, ss, u.at, u.ld,
                                                     su, v.at, v.ld, sv, work, lwork, infos, norms, BATCH),
       INVALID);
    cudaFree(work);
}

int main(void)
{
    IS(start(), 0);
    info = memory(64);
    for (int type = 0; type < 4; type++)
        for (int s = 0; s < SIZES; s++) {
            int n = sizes[s];
            classic(type, n, n);
            classic(type, n + 5, n);
            classic(type, 2 * n + 3, n);
            for (int econ = 0; econ < 2; econ++) {
                rotated(type, n, n, econ);
                rotated(type, n + 3, n, econ);
                rotated(type, n, n + 2, econ);
            }
            if (n < 10) {
                batch(type, n, n);
                batch(type, n + 2, n);
            }
        }
    return check_end("svd");
}
