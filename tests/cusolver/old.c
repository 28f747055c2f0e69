/* cuSOLVER's functions over the muSOLVER of an older SDK (sdk.c): `old 3` and `old 4`. */
#include "solver.h"

static void *info;
static int lwork;

static void solutions(int type, int n)
{
    struct mat a = random_mat(type, n, n), x = random_mat(type, n, 2), b;
    for (int i = 0; i < n; i++)
        E(a, i, i) += n;
    struct dev d = device(type, a);
    void *pivots = memory((size_t)n * 4);
    IS(F("cusolverDn%cgetrf_bufferSize", LETTER)(handle, n, n, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cgetrf", LETTER)(handle, n, n, d.at, d.ld, work, pivots, info), 0);
    IS(number(info), 0);
    for (int op = OP_N; op <= OP_C; op++) {
        b = product(op, a, OP_N, x);
        struct dev e = device(type, b);
        IS(F("cusolverDn%cgetrs", LETTER)(handle, op, n, 2, d.at, d.ld, pivots, e.at, e.ld, info), 0);
        IS(number(info), 0);
        SAME(fetched(e), x, "getrs");
    }
    IS(F("cusolverDn%cgetrs", LETTER)(handle, 7, n, 2, d.at, d.ld, pivots, d.at, d.ld, info), INVALID);
    if (n > 3) { /* a zero pivot is told though SDK 3.1 does not */
        for (int i = 0; i < n; i++)
            E(a, i, 2) = 0;
        put(d, a);
        IS(F("cusolverDn%cgetrf", LETTER)(handle, n, n, d.at, d.ld, work, pivots, info), 0);
        IS(number(info), 3);
    }
    cudaFree(d.at);

    /* potrf is of another SDK: the factor is made here. */
    for (int uplo = LOWER; uplo <= UPPER; uplo++) {
        struct mat l = triangle(random_mat(type, n, n), uplo == UPPER, false, n, n);
        for (int i = 0; i < n; i++)
            E(l, i, i) = n + 1;
        b = product(OP_N, uplo ? product(OP_C, l, OP_N, l) : product(OP_N, l, OP_C, l), OP_N, x);
        struct dev f = device(type, l), e = device(type, b);
        IS(F("cusolverDn%cpotrs", LETTER)(handle, uplo, n, 2, f.at, f.ld, e.at, e.ld, info), 0);
        IS(number(info), 0);
        SAME(fetched(e), x, "potrs");
        cudaFree(f.at);
    }
    cudaFree(work);
    cudaFree(pivots);
}

static void orthogonal(int type, int m, int n, int sdk)
{
    struct mat a = random_mat(type, m, n), r, q;
    struct dev d = device(type, a), c = device(type, a);
    void *tau = memory((size_t)n * 16);
    IS(F("cusolverDn%cgeqrf_bufferSize", LETTER)(handle, m, n, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cgeqrf", LETTER)(handle, m, n, d.at, d.ld, tau, work, lwork, info), 0);
    IS(number(info), 0);
    r = triangle(fetch(d), true, false, n, n);
    if (sdk == 4) { /* Q^H A = R */
        int op = type < 2 ? OP_T : OP_C;
        IS(F("cusolverDn%c%smqr_bufferSize", LETTER, or (type))(handle, 0, op, m, n, n, d.at, d.ld, tau, c.at, c.ld,
                                                                &lwork),
           0);
        void *more = memory((size_t)lwork * size_of(type));
        IS(F("cusolverDn%c%smqr", LETTER, or (type))(handle, 0, op, m, n, n, d.at, d.ld, tau, c.at, c.ld, more, lwork,
                                                     info),
           0);
        IS(number(info), 0);
        SAME(fetch(c), triangle(r, true, false, m, n), "ormqr");
        cudaFree(more);
    }
    IS(F("cusolverDn%c%sgqr_bufferSize", LETTER, or (type))(handle, m, n, n, d.at, d.ld, tau, &lwork), 0);
    void *last = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%c%sgqr", LETTER, or (type))(handle, m, n, n, d.at, d.ld, tau, last, lwork, info), 0);
    IS(number(info), 0);
    q = fetched(d);
    SMALL(not_orthogonal(q), "orgqr");
    SAME(product(OP_N, q, OP_N, r), a, "geqrf");
    cudaFree(work), cudaFree(last), cudaFree(tau), cudaFree(c.at);
}

static void values(int type, int m, int n, int sdk)
{
    struct mat a = random_mat(type, m, n), h = symmetric(type, n, true);
    struct dev d = device(type, a), u = device(type, mat(m, m)), v = device(type, mat(n, n));
    void *s = memory((size_t)n * 8), *rest = memory((size_t)n * 8), *w = memory((size_t)n * 8);
    double *found = calloc((size_t)n, sizeof *found);
    IS(F("cusolverDn%cgesvd_bufferSize", LETTER)(handle, m, n, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'A', 'A', m, n, d.at, d.ld, s, u.at, u.ld, v.at, v.ld, work, lwork, rest,
                                      info),
       0);
    IS(number(info), 0);
    reals(type, s, found, n);
    struct mat sigma = mat(m, n);
    for (int i = 0; i < n; i++)
        E(sigma, i, i) = found[i];
    SAME(product(OP_N, product(OP_N, fetch(u), OP_N, sigma), OP_N, fetch(v)), a, "gesvd");
    IS(F("cusolverDn%cgesvd", LETTER)(handle, 'A', 'A', m, n, d.at, d.ld, s, u.at, u.ld, v.at, v.ld, work, 1, rest,
                                      info),
       INVALID);
    cudaFree(work), cudaFree(d.at);

    struct dev e = device(type, h);
    int want = sdk == 3 && type > 1 ? 9 : 0; /* SDK 3.1 has it for real numbers alone */
    IS(F("cusolverDn%c%sevd_bufferSize", LETTER, sy(type))(handle, 1, LOWER, n, e.at, e.ld, w, &lwork), want);
    if (!want) {
        work = memory((size_t)lwork * size_of(type));
        IS(F("cusolverDn%c%sevd", LETTER, sy(type))(handle, 1, LOWER, n, e.at, e.ld, w, work, lwork, info), 0);
        IS(number(info), 0);
        reals(type, w, found, n);
        struct mat q = fetch(e), scaled = copied(q);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                E(scaled, i, j) *= found[j];
        SAME(product(OP_N, scaled, OP_C, q), h, "syevd");
        cudaFree(work);
    }
    cudaFree(e.at), cudaFree(u.at), cudaFree(v.at), cudaFree(s), cudaFree(rest), cudaFree(w);
}

int main(int argc, char **argv)
{
    int sdk = argc > 1 ? atoi(argv[1]) : 3;
    void *stream = (void *)1, *set = &stream;
    cudaStreamCreate(&set);
    info = memory(4);
    IS(start(), 0);
    IS(F("cusolverDnSetStream")(handle, set), 0);
    IS(F("cusolverDnGetStream")(handle, &stream), 0);
    IS(stream == set, 1);
    for (int type = 0; type < 4; type++)
        for (int i = 0; i < SIZES; i++) {
            solutions(type, sizes[i]);
            orthogonal(type, sizes[i] + upto(4), sizes[i], sdk);
            values(type, sizes[i] + upto(4), sizes[i], sdk);
        }
    IS(F("cusolverDnDestroy")(handle), 0);
    return check_end(sdk == 3 ? "cuSOLVER over SDK 3.1's muSOLVER" : "cuSOLVER over SDK 4.3's muSOLVER");
}
