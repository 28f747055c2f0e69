/* Cholesky, LU and L D L^T of cuSOLVER: the factors multiply to the matrix, solutions solve, what cannot be done is
 * told in info, and what cannot be meant in the status. */
#include "solver.h"

static void *info;
static int lwork;

static void cholesky(int type, int n, int uplo)
{
    struct mat a = positive(type, n), x = random_mat(type, n, 3), b = product(OP_N, a, OP_N, x);
    struct dev d = device(type, a), e = device(type, b);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(handle, uplo, n, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cpotrf", LETTER)(handle, uplo, n, d.at, d.ld, work, lwork, info), 0);
    IS(number(info), 0);
    struct mat got = fetch(d), l = triangle(got, uplo == UPPER, false, n, n);
    SAME(uplo ? product(OP_C, l, OP_N, l) : product(OP_N, l, OP_C, l), a, "potrf");
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if ((uplo ? i > j : i < j) && cabs(E(got, i, j) - E(a, i, j)) > bound(type) * 50)
                check(false, "potrf %c: the other triangle", LETTER), i = j = n;
    IS(F("cusolverDn%cpotrs", LETTER)(handle, uplo, n, 3, d.at, d.ld, e.at, e.ld, info), 0);
    IS(number(info), 0);
    SMALL(distance(product(OP_N, a, OP_N, fetch(e)), b), "potrs");
    struct dev l2 = device(type, got);
    IS(F("cusolverDn%cpotri_bufferSize", LETTER)(handle, uplo, n, d.at, d.ld, &lwork), 0);
    void *more = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cpotri", LETTER)(handle, uplo, n, d.at, d.ld, more, lwork, info), 0);
    IS(number(info), 0);
    struct mat inverse = fetched(d);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (uplo ? i > j : i < j)
                E(inverse, i, j) = conj(E(inverse, j, i));
    SMALL(distance(product(OP_N, a, OP_N, inverse), identity(n, n)) / n, "potri");
    IS(F("cusolverDn%clauum_bufferSize", LETTER)(handle, uplo, n, l2.at, l2.ld, &lwork), 0);
    void *last = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%clauum", LETTER)(handle, uplo, n, l2.at, l2.ld, last, lwork, info), 0);
    struct mat lu = triangle(fetched(l2), uplo == UPPER, false, n, n);
    struct mat whole = uplo ? product(OP_N, l, OP_C, l) : product(OP_C, l, OP_N, l);
    SAME(lu, triangle(whole, uplo == UPPER, false, n, n), "lauum");
    cudaFree(work);
    cudaFree(more);
    cudaFree(last);
    cudaFree(e.at);
}

/* The k-th leading minor is not positive. */
static void not_positive(int type, int uplo)
{
    int n = 9, k = 4;
    struct mat a = positive(type, n);
    E(a, k, k) = -100;
    struct dev d = device(type, a);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(handle, uplo, n, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cpotrf", LETTER)(handle, uplo, n, d.at, d.ld, work, lwork, info), 0);
    IS(number(info), k + 1);
    cudaFree(d.at);
    cudaFree(work);
}

static void cholesky_batch(int type, int uplo)
{
    enum { BATCH = 5, N = 7 };
    struct mat a[BATCH], b[BATCH];
    struct dev d[BATCH], e[BATCH];
    void *pointers[2][BATCH], *lists = memory(sizeof pointers), *infos = memory(BATCH * sizeof(int));
    for (int i = 0; i < BATCH; i++) {
        a[i] = positive(type, N);
        if (i == 3)
            E(a[i], 1, 1) = -100;
        b[i] = random_mat(type, N, 1);
        d[i] = device(type, a[i]);
        e[i] = device(type, b[i]);
        d[i].ld = d[0].ld;
        e[i].ld = e[0].ld;
        cudaFree(d[i].at);
        cudaFree(e[i].at);
        d[i].at = memory((size_t)d[0].ld * N * 16);
        e[i].at = memory((size_t)e[0].ld * 16);
        put(d[i], a[i]);
        put(e[i], b[i]);
        pointers[0][i] = d[i].at;
        pointers[1][i] = e[i].at;
    }
    cudaMemcpy(lists, pointers, sizeof pointers, 1);
    IS(F("cusolverDn%cpotrfBatched", LETTER)(handle, uplo, N, lists, d[0].ld, infos, BATCH), 0);
    for (int i = 0; i < BATCH; i++)
        IS(number((int *)infos + i), i == 3 ? 2 : 0);
    IS(F("cusolverDn%cpotrsBatched", LETTER)(handle, uplo, N, 1, lists, d[0].ld, (void **)lists + BATCH, e[0].ld, info,
                                             BATCH),
       0);
    IS(number(info), 0);
    for (int i = 0; i < BATCH; i++)
        if (i != 3)
            SMALL(distance(product(OP_N, a[i], OP_N, fetch(e[i])), b[i]), "potrsBatched");
    IS(F("cusolverDn%cpotrfBatched", LETTER)(handle, uplo, N, lists, d[0].ld, infos, 0), 0);
    IS(F("cusolverDn%cpotrfBatched", LETTER)(handle, uplo, N, lists, N - 1, infos, BATCH), INVALID);
    IS(F("cusolverDn%cpotrfBatched", LETTER)(handle, uplo, N, lists, N, infos, -1), INVALID);
    IS(F("cusolverDn%cpotrsBatched", LETTER)(handle, uplo, N, 1, lists, N, lists, N, info, -1), INVALID);
}

static void lu(int type, int m, int n, bool pivots)
{
    int least = m < n ? m : n;
    struct mat a = random_mat(type, m, n);
    for (int i = 0; !pivots && i < least; i++) /* a matrix that needs none */
        E(a, i, i) += 2 * (m + n);
    struct dev d = device(type, a);
    void *ipiv = memory((size_t)least * sizeof(int));
    int swaps[64];
    IS(F("cusolverDn%cgetrf_bufferSize", LETTER)(handle, m, n, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cgetrf", LETTER)(handle, m, n, d.at, d.ld, work, pivots ? ipiv : NULL, info), 0);
    IS(number(info), 0);
    struct mat got = fetch(d), swapped = copied(a);
    cudaMemcpy(swaps, ipiv, (size_t)least * sizeof(int), 2);
    for (int i = 0; pivots && i < least; i++)
        for (int j = 0; j < n; j++) {
            num t = E(swapped, i, j);
            E(swapped, i, j) = E(swapped, swaps[i] - 1, j);
            E(swapped, swaps[i] - 1, j) = t;
        }
    SAME(product(OP_N, triangle(got, false, true, m, least), OP_N, triangle(got, true, false, least, n)), swapped,
         "getrf");
    if (pivots) {
        struct dev whole = device(type, a);
        IS(F("cusolverDn%claswp", LETTER)(handle, n, whole.at, whole.ld, 1, least, ipiv, 1), 0);
        SAME(fetched(whole), swapped, "laswp");
    }
    for (int op = 0; m == n && op < 3; op++) {
        struct mat b = random_mat(type, n, 4);
        struct dev e = device(type, b);
        IS(F("cusolverDn%cgetrs", LETTER)(handle, op, n, 4, d.at, d.ld, pivots ? ipiv : NULL, e.at, e.ld, info), 0);
        IS(number(info), 0);
        struct mat x = fetched(e);
        double size = 1;
        for (int i = 0; i < 4 * n; i++)
            size = cabs(x.at[i]) > size ? cabs(x.at[i]) : size;
        SMALL(distance(product(op, a, OP_N, x), b) / size, "getrs");
    }
    cudaFree(d.at);
    cudaFree(ipiv);
    cudaFree(work);
}

static void singular(int type, bool pivots)
{
    int n = 6, zero = 3;
    struct mat a = random_mat(type, n, n);
    for (int i = 0; i < n; i++) {
        E(a, i, i) += 20;
        E(a, i, zero) = 0;
    }
    struct dev d = device(type, a);
    void *ipiv = memory(64), *work;
    IS(F("cusolverDn%cgetrf_bufferSize", LETTER)(handle, n, n, d.at, d.ld, &lwork), 0);
    work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cgetrf", LETTER)(handle, n, n, d.at, d.ld, work, pivots ? ipiv : NULL, info), 0);
    IS(number(info), zero + 1);
}

/* A = L D L^T, of which the inverse tells whether it is right. */
static void indefinite(int type, int n, int uplo, bool pivots)
{
    struct mat a = symmetric(type, n, false), b = random_mat(type, n, 2);
    for (int i = 0; !pivots && i < n; i++)
        E(a, i, i) += 2 * n * (i % 2 ? 1 : -1);
    struct dev d = device(type, a), e = device(type, b);
    void *ipiv = memory((size_t)n * sizeof(int)), *wide = NULL;
    IS(F("cusolverDn%csytrf_bufferSize", LETTER)(handle, n, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%csytrf", LETTER)(handle, uplo, n, d.at, d.ld, pivots ? ipiv : NULL, work, lwork, info), 0);
    IS(number(info), 0);
    if (pivots) {
        int narrow[64];
        long long ints[64];
        cudaMemcpy(narrow, ipiv, (size_t)n * sizeof(int), 2);
        for (int i = 0; i < n; i++)
            ints[i] = narrow[i];
        wide = memory((size_t)n * 8);
        cudaMemcpy(wide, ints, (size_t)n * 8, 1);
    }
    size_t on_device = 0, on_host = 1;
    int t = cuda_type(type);
    IS(F("cusolverDnXsytrs_bufferSize")(handle, uplo, (long)n, 2L, t, d.at, (long)d.ld, wide, t, e.at, (long)e.ld,
                                        &on_device, &on_host),
       0);
    void *room = memory(on_device);
    IS(F("cusolverDnXsytrs")(handle, uplo, (long)n, 2L, t, d.at, (long)d.ld, wide, t, e.at, (long)e.ld, room, on_device,
                             NULL, on_host, info),
       0);
    IS(number(info), 0);
    SMALL(distance(product(OP_N, a, OP_N, fetched(e)), b) / n, "Xsytrs");
    IS(F("cusolverDn%csytri_bufferSize", LETTER)(handle, uplo, n, d.at, d.ld, pivots ? ipiv : NULL, &lwork), 0);
    void *more = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%csytri", LETTER)(handle, uplo, n, d.at, d.ld, pivots ? ipiv : NULL, more, lwork, info), 0);
    struct mat inverse = fetched(d);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (uplo ? i > j : i < j)
                E(inverse, i, j) = E(inverse, j, i);
    SMALL(distance(product(OP_N, a, OP_N, inverse), identity(n, n)) / (n * 4), "sytri");
}

static void errors(int type)
{
    void *a = memory(4096);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(NULL, LOWER, 2, a, 2, &lwork), NOT_INITIALIZED);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(handle, 7, 2, a, 2, &lwork), INVALID);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(handle, LOWER, -1, a, 2, &lwork), INVALID);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(handle, LOWER, 3, a, 2, &lwork), INVALID);
    IS(F("cusolverDn%cpotrf_bufferSize", LETTER)(handle, LOWER, 2, a, 2, NULL), INVALID);
    IS(F("cusolverDn%cpotrf", LETTER)(handle, LOWER, 2, a, 2, a, 0, info), INVALID);
    IS(F("cusolverDn%cpotrf", LETTER)(handle, LOWER, 2, a, 1, a, 64, info), INVALID);
    IS(F("cusolverDn%cpotrf", LETTER)(handle, LOWER, 2, NULL, 2, a, 64, info), INVALID);
    IS(F("cusolverDn%cpotrf", LETTER)(handle, 5, 2, a, 2, a, 64, info), INVALID);
    IS(F("cusolverDn%cpotrf", LETTER)(handle, LOWER, 0, a, 1, NULL, 0, info), 0);
    IS(number(info), 0);
    IS(F("cusolverDn%cpotrs", LETTER)(handle, LOWER, 2, 1, a, 1, a, 2, info), INVALID);
    IS(F("cusolverDn%cpotrs", LETTER)(handle, LOWER, 2, 1, a, 2, a, 1, info), INVALID);
    IS(F("cusolverDn%cpotrs", LETTER)(handle, LOWER, 2, -1, a, 2, a, 2, info), INVALID);
    IS(F("cusolverDn%cpotrs", LETTER)(handle, LOWER, 0, 1, a, 1, a, 1, info), 0);
    IS(F("cusolverDn%cgetrf_bufferSize", LETTER)(handle, 3, 2, a, 2, &lwork), INVALID);
    IS(F("cusolverDn%cgetrf_bufferSize", LETTER)(handle, -1, 2, a, 2, &lwork), INVALID);
    IS(F("cusolverDn%cgetrf", LETTER)(handle, 3, 2, a, 2, a, a, info), INVALID);
    IS(F("cusolverDn%cgetrf", LETTER)(NULL, 2, 2, a, 2, a, a, info), NOT_INITIALIZED);
    IS(F("cusolverDn%cgetrf", LETTER)(handle, 0, 2, a, 1, a, a, info), 0);
    IS(F("cusolverDn%cgetrs", LETTER)(handle, 3, 2, 1, a, 2, a, a, 2, info), INVALID);
    IS(F("cusolverDn%cgetrs", LETTER)(handle, OP_N, 2, 1, a, 2, a, a, 1, info), INVALID);
    IS(F("cusolverDn%cgetrs", LETTER)(handle, OP_N, 2, 0, a, 2, a, a, 2, info), 0);
    IS(F("cusolverDn%csytrf", LETTER)(handle, LOWER, 2, a, 2, a, a, 0, info), INVALID);
    IS(F("cusolverDn%claswp", LETTER)(handle, 2, a, 2, 0, 2, a, 1), INVALID);
    IS(F("cusolverDn%claswp", LETTER)(handle, 2, a, 2, 1, 2, a, 0), INVALID);
    cudaFree(a);
}

int main(void)
{
    IS(start(), 0);
    info = memory(64);
    for (int type = 0; type < 4; type++) {
        for (int s = 0; s < SIZES; s++)
            for (int uplo = 0; uplo < 2; uplo++) {
                cholesky(type, sizes[s], uplo);
                indefinite(type, sizes[s], uplo, true);
                indefinite(type, sizes[s], uplo, false);
            }
        for (int s = 0; s < SIZES; s++)
            for (int pivots = 0; pivots < 2; pivots++) {
                lu(type, sizes[s], sizes[s], pivots);
                lu(type, sizes[s] + 5, sizes[s], pivots);
                lu(type, sizes[s], sizes[s] + 3, pivots);
            }
        for (int uplo = 0; uplo < 2; uplo++) {
            not_positive(type, uplo);
            cholesky_batch(type, uplo);
        }
        singular(type, true);
        singular(type, false);
        errors(type);
    }
    IS(F("cusolverDnDestroy")(handle), 0);
    IS(F("cusolverDnDestroy")(handle), NOT_INITIALIZED);
    return check_end("factor");
}
