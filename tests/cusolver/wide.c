/* cuSOLVER's 64-bit factors, its refining solvers, its options; and that calls keep the order of their stream. */
#include "solver.h"

static void *info;

static void factors(int type, int n)
{
    long t = cuda_type(type);
    size_t bytes = 0, on_host = 0;
    struct mat a = random_mat(type, n, n), p = positive(type, n), b = random_mat(type, n, 2);
    struct dev d = device(type, a), e = device(type, b);
    void *ipiv = memory((size_t)n * 8), *work;
    for (int pivots = 0; pivots < 2; pivots++)
        for (int op = 0; op < 3; op++) {
            for (int i = 0; !pivots && i < n; i++)
                E(a, i, i) += 4 * n;
            put(d, a);
            put(e, b);
            IS(F("cusolverDnXgetrf_bufferSize")(handle, NULL, (long)n, (long)n, t, d.at, (long)d.ld, t, &bytes,
                                                &on_host),
               0);
            work = memory(bytes);
            IS(F("cusolverDnXgetrf")(handle, NULL, (long)n, (long)n, t, d.at, (long)d.ld, pivots ? ipiv : NULL, t, work,
                                     bytes, NULL, on_host, info),
               0);
            IS(number(info), 0);
            IS(F("cusolverDnXgetrs")(handle, NULL, op, (long)n, 2L, t, d.at, (long)d.ld, pivots ? ipiv : NULL, t, e.at,
                                     (long)e.ld, info),
               0);
            IS(number(info), 0);
            struct mat x = fetch(e);
            double size = 1;
            for (int i = 0; i < 2 * n; i++)
                size = cabs(x.at[i]) > size ? cabs(x.at[i]) : size;
            SMALL(distance(product(op, a, OP_N, x), b) / size, "Xgetrs");
            if (pivots) {
                long long swaps[64];
                cudaMemcpy(swaps, ipiv, (size_t)n * 8, 2);
                for (int i = 0; i < n; i++)
                    IS(swaps[i] > i && swaps[i] <= n, 1);
            }
            cudaFree(work);
        }
    for (int uplo = 0; uplo < 2; uplo++) {
        put(d, p);
        put(e, b);
        IS(F("cusolverDnXpotrf_bufferSize")(handle, NULL, uplo, (long)n, t, d.at, (long)d.ld, t, &bytes, &on_host), 0);
        work = memory(bytes);
        IS(F("cusolverDnXpotrf")(handle, NULL, uplo, (long)n, t, d.at, (long)d.ld, t, work, bytes, NULL, on_host, info),
           0);
        IS(number(info), 0);
        IS(F("cusolverDnXpotrs")(handle, NULL, uplo, (long)n, 2L, t, d.at, (long)d.ld, t, e.at, (long)e.ld, info), 0);
        SMALL(distance(product(OP_N, p, OP_N, fetch(e)), b), "Xpotrs");
        cudaFree(work);
        for (int unit = 0; unit < 2; unit++) {
            struct mat r = triangle(p, uplo == UPPER, unit, n, n);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    if (i != j)
                        E(r, i, j) /= 8 * n * n;
            put(d, r);
            IS(F("cusolverDnXtrtri_bufferSize")(handle, uplo, unit, (long)n, t, d.at, (long)d.ld, &bytes, &on_host), 0);
            work = memory(bytes);
            IS(F("cusolverDnXtrtri")(handle, uplo, unit, (long)n, t, d.at, (long)d.ld, work, bytes, NULL, on_host,
                                     info),
               0);
            IS(number(info), 0);
            SMALL(distance(product(OP_N, r, OP_N, triangle(fetch(d), uplo == UPPER, unit, n, n)), identity(n, n)),
                  "Xtrtri");
            cudaFree(work);
        }
    }
    void *tau = memory((size_t)n * 16);
    put(d, a);
    IS(F("cusolverDnXgeqrf_bufferSize")(handle, NULL, (long)n, (long)n, t, d.at, (long)d.ld, t, tau, t, &bytes,
                                        &on_host),
       0);
    work = memory(bytes);
    IS(F("cusolverDnXgeqrf")(handle, NULL, (long)n, (long)n, t, d.at, (long)d.ld, t, tau, t, work, bytes, NULL, on_host,
                             info),
       0);
    IS(number(info), 0);
    struct mat r = triangle(fetch(d), true, false, n, n);
    SAME(product(OP_C, r, OP_N, r), product(OP_C, a, OP_N, a), "Xgeqrf");
    IS(F("cusolverDnXgeqrf")(handle, NULL, (long)n, (long)n, t, d.at, (long)d.ld, 2L, tau, t, work, bytes, NULL,
                             on_host, info),
       INVALID);
    IS(F("cusolverDnXgetrf")(handle, NULL, (long)n, (long)n, t, d.at, (long)d.ld, ipiv, t, work, (size_t)0, NULL,
                             on_host, info),
       INVALID);
    IS(F("cusolverDnXgetrf")(handle, NULL, (long)n, (long)n, 2L, d.at, (long)d.ld, ipiv, t, work, bytes, NULL, on_host,
                             info),
       INVALID);
    IS(F("cusolverDnXgetrf_bufferSize")(handle, NULL, (long)n, (long)n, t, d.at, (long)n - 1, t, &bytes, &on_host),
       INVALID);
    IS(F("cusolverDnXpotrf_bufferSize")(NULL, NULL, 0, (long)n, t, d.at, (long)n, t, &bytes, &on_host),
       NOT_INITIALIZED);
    IS(F("cusolverDnXgetrf_bufferSize")(handle, NULL, 1L << 31, (long)n, t, d.at, 1L << 31, t, &bytes, &on_host), 9);
    cudaFree(work);
    cudaFree(d.at);
    cudaFree(e.at);
}

/* Systems and least squares in a lower precision, which is the full one here. */
static void refined(int type, const char *letters, int m, int n)
{
    struct mat a = random_mat(type, n, n), b = random_mat(type, n, 2), tall = random_mat(type, m, n),
               sides = random_mat(type, m, 2);
    for (int i = 0; i < n; i++) {
        E(a, i, i) += 4;
        E(tall, i, i) += 4;
    }
    size_t bytes = 0;
    int iterations = 7, none = 0;
    struct dev d = device(type, a), e = device(type, b), x = device(type, mat(n, 2));
    void *ipiv = memory((size_t)n * 4);
    IS(F("cusolverDn%sgesv_bufferSize", letters)(handle, n, 2, d.at, d.ld, ipiv, e.at, e.ld, x.at, x.ld, NULL, &bytes),
       0);
    void *work = memory(bytes);
    IS(F("cusolverDn%sgesv", letters)(handle, n, 2, d.at, d.ld, ipiv, e.at, e.ld, x.at, x.ld, work, bytes, &iterations,
                                      info),
       0);
    IS(number(info), 0);
    IS(iterations, 0);
    SAME(fetch(d), a, "gesv leaves A");
    SAME(fetch(e), b, "gesv leaves B");
    SMALL(distance(product(OP_N, a, OP_N, fetch(x)), b), "gesv");
    IS(F("cusolverDn%sgesv", letters)(handle, n, 2, d.at, d.ld, ipiv, e.at, e.ld, x.at, x.ld, work, (size_t)none,
                                      &iterations, info),
       31);
    IS(F("cusolverDn%sgesv", letters)(handle, n, 2, d.at, n - 1, ipiv, e.at, e.ld, x.at, x.ld, work, bytes, &iterations,
                                      info),
       INVALID);
    cudaFree(work);
    struct dev td = device(type, tall), ts = device(type, sides);
    IS(F("cusolverDn%sgels_bufferSize", letters)(handle, m, n, 2, td.at, td.ld, ts.at, ts.ld, x.at, x.ld, NULL, &bytes),
       0);
    work = memory(bytes);
    IS(F("cusolverDn%sgels", letters)(handle, m, n, 2, td.at, td.ld, ts.at, ts.ld, x.at, x.ld, work, bytes, &iterations,
                                      info),
       0);
    IS(number(info), 0);
    /* what is left is orthogonal to the columns */
    struct mat rest = product(OP_N, tall, OP_N, fetch(x));
    for (int i = 0; i < m * 2; i++)
        rest.at[i] -= sides.at[i];
    SMALL(distance(product(OP_C, tall, OP_N, rest), mat(n, 2)) / 10, "gels");
    SAME(fetch(td), tall, "gels leaves A");
    cudaFree(work);
    /* the expert interface */
    void *params = NULL, *infos = NULL;
    int limit = 0, precision = (int[]){1204, 1203, 1214, 1213}[type];
    IS(F("cusolverDnIRSParamsCreate")(&params), 0);
    IS(F("cusolverDnIRSXgesv_bufferSize")(handle, params, n, 2, &bytes), 14);
    IS(F("cusolverDnIRSParamsSetSolverPrecisions")(params, precision, precision), 0);
    IS(F("cusolverDnIRSParamsSetSolverMainPrecision")(params, 1), 14);
    IS(F("cusolverDnIRSParamsSetRefinementSolver")(params, 1104), 0);
    IS(F("cusolverDnIRSParamsSetRefinementSolver")(params, 1), 15);
    IS(F("cusolverDnIRSParamsSetMaxIters")(params, 20), 0);
    IS(F("cusolverDnIRSParamsSetMaxIters")(params, -1), 16);
    IS(F("cusolverDnIRSParamsGetMaxIters")(params, &limit), 0);
    IS(limit, 20);
    IS(F("cusolverDnIRSInfosCreate")(&infos), 0);
    IS(F("cusolverDnIRSInfosGetNiters")(infos, &limit), 25);
    put(d, a);
    IS(F("cusolverDnIRSXgesv_bufferSize")(handle, params, n, 2, &bytes), 0);
    work = memory(bytes);
    IS(F("cusolverDnIRSXgesv")(handle, params, infos, n, 2, d.at, d.ld, e.at, e.ld, x.at, x.ld, work, bytes,
                               &iterations, info),
       0);
    SMALL(distance(product(OP_N, a, OP_N, fetch(x)), b), "IRSXgesv");
    IS(F("cusolverDnIRSInfosGetNiters")(infos, &limit), 0);
    IS(limit, iterations);
    IS(F("cusolverDnIRSXgesv")(handle, NULL, infos, n, 2, d.at, d.ld, e.at, e.ld, x.at, x.ld, work, bytes, &iterations,
                               info),
       12);
    IS(F("cusolverDnIRSXgesv")(handle, params, NULL, n, 2, d.at, d.ld, e.at, e.ld, x.at, x.ld, work, bytes, &iterations,
                               info),
       25);
    IS(F("cusolverDnIRSInfosDestroy")(infos), 0);
    IS(F("cusolverDnIRSParamsDestroy")(params), 0);
}

static void modes(void)
{
    int mode = 0;
    void *other = NULL;
    IS(F("cusolverDnGetDeterministicMode")(handle, &mode), 0);
    IS(mode, 1);
    IS(F("cusolverDnSetDeterministicMode")(handle, 2), 0);
    IS(F("cusolverDnGetDeterministicMode")(handle, &mode), 0);
    IS(mode, 2);
    IS(F("cusolverDnSetDeterministicMode")(handle, 3), INVALID);
    IS(F("cusolverDnSetDeterministicMode")(NULL, 1), NOT_INITIALIZED);
    IS(F("cusolverDnCreate")(&other), 0);
    IS(F("cusolverDnGetDeterministicMode")(other, &mode), 0);
    IS(mode, 1);
    IS(F("cusolverDnDestroy")(other), 0);
    IS(F("cusolverDnGetDeterministicMode")(other, &mode), NOT_INITIALIZED);
}

static volatile int opened;
static void gate(void *p)
{
    (void)p;
    while (!opened)
        ;
}

/* A call returns before the stream has come to it, runs after what stands before it, and lets itself be captured. */
static void ordered(void)
{
    enum { N = 64 };
    int type = 1, lwork = 0;
    struct mat a = positive(type, N);
    struct dev d = device(type, mat(N, N)), from = device(type, a);
    from.ld = d.ld;
    cudaFree(from.at);
    from.at = memory((size_t)d.ld * N * 8);
    put(from, a);
    size_t size = (size_t)d.ld * N * 8;
    void *stream = NULL, *graph = NULL, *exec = NULL;
    IS(cudaStreamCreate(&stream), 0);
    IS(F("cusolverDnSetStream")(handle, stream), 0);
    IS(F("cusolverDnDpotrf_bufferSize")(handle, LOWER, N, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * 8);
    cudaMemcpy(info, &(int){-7}, 4, 1);
    IS(cudaLaunchHostFunc(stream, gate, NULL), 0);
    IS(cudaMemcpyAsync(d.at, from.at, size, 3, stream), 0);
    IS(F("cusolverDnDpotrf")(handle, LOWER, N, d.at, d.ld, work, lwork, info), 0);
    IS(*(volatile int *)info, -7); /* the device's memory is the host's here */
    opened = 1;
    IS(cudaStreamSynchronize(stream), 0);
    IS(number(info), 0);
    struct mat l = triangle(fetch(d), false, false, N, N);
    SAME(product(OP_N, l, OP_C, l), a, "in order");
    IS(cudaStreamBeginCapture(stream, 0), 0);
    IS(cudaMemcpyAsync(d.at, from.at, size, 3, stream), 0);
    IS(F("cusolverDnDpotrf")(handle, LOWER, N, d.at, d.ld, work, lwork, info), 0);
    IS(cudaStreamEndCapture(stream, &graph), 0);
    IS(cudaGraphInstantiate(&exec, graph, 0), 0);
    for (int i = 0; i < 2; i++) {
        cudaMemcpy(info, &(int){-7}, 4, 1);
        IS(cudaGraphLaunch(exec, stream), 0);
        IS(cudaStreamSynchronize(stream), 0);
        IS(number(info), 0);
        SAME(triangle(fetch(d), false, false, N, N), l, "captured");
    }
    IS(cudaGraphExecDestroy(exec), 0);
    IS(cudaGraphDestroy(graph), 0);
    IS(F("cusolverDnSetStream")(handle, NULL), 0);
    IS(cudaStreamDestroy(stream), 0);
}

int main(void)
{
    static const char *const letters[4][6] = {{"SS", "SH", "SB", "SX"},
                                              {"DD", "DS", "DH", "DB", "DX"},
                                              {"CC", "CK", "CE", "CY"},
                                              {"ZZ", "ZC", "ZK", "ZE", "ZY"}};
    IS(start(), 0);
    info = memory(64);
    for (int type = 0; type < 4; type++) {
        for (int s = 0; s < SIZES; s++)
            factors(type, sizes[s]);
        for (int l = 0; letters[type][l]; l++)
            refined(type, letters[type][l], 11 + l, 7);
    }
    modes();
    ordered();
    return check_end("wide");
}
