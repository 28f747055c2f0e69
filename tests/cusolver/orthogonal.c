/* QR and the reductions of cuSOLVER: the factors multiply to the matrix, what should be orthogonal is. */
#include "solver.h"

static void *info;
static int lwork;
static void *room(int type) { return memory((size_t)lwork * size_of(type)); }

static void qr(int type, int m, int n)
{
    int least = m < n ? m : n;
    struct mat a = random_mat(type, m, n);
    struct dev d = device(type, a);
    void *tau = memory((size_t)least * 16), *work;
    IS(F("cusolverDn%cgeqrf_bufferSize", LETTER)(handle, m, n, d.at, d.ld, &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%cgeqrf", LETTER)(handle, m, n, d.at, d.ld, tau, work, lwork, info), 0);
    IS(number(info), 0);
    cudaFree(work);
    struct mat r = triangle(fetch(d), true, false, least, n), whole = mat(m, m);
    /* all of Q, from the first columns of a wider matrix */
    struct mat reflectors = fetch(d);
    for (int j = 0; j < least; j++)
        for (int i = 0; i < m; i++)
            E(whole, i, j) = E(reflectors, i, j);
    struct dev full = device(type, whole);
    IS(F("cusolverDn%c%sgqr_bufferSize", LETTER, or (type))(handle, m, m, least, full.at, full.ld, tau, &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%c%sgqr", LETTER, or (type))(handle, m, m, least, full.at, full.ld, tau, work, lwork, info), 0);
    IS(number(info), 0);
    cudaFree(work);
    struct mat q = fetched(full), first = mat(m, least);
    memcpy(first.at, q.at, sizeof(num) * (size_t)(m * least));
    SMALL(not_orthogonal(q), "orgqr");
    SAME(product(OP_N, first, OP_N, r), a, "geqrf");
    for (int side = 0; side < 2; side++)
        for (int op = 0; op < 3; op++) {
            int rows = side ? 5 : m, columns = side ? m : 5;
            struct mat c = random_mat(type, rows, columns);
            struct dev e = device(type, c);
            bool bad = type >= 2 && op == OP_T; /* an H is meant */
            IS(F("cusolverDn%c%smqr_bufferSize", LETTER, or (type))(handle, side, op, rows, columns, least, d.at, d.ld,
                                                                    tau, e.at, e.ld, &lwork),
               bad ? INVALID : 0);
            work = room(type);
            IS(F("cusolverDn%c%smqr", LETTER, or (type))(handle, side, op, rows, columns, least, d.at, d.ld, tau, e.at,
                                                         e.ld, work, lwork, info),
               bad ? INVALID : 0);
            cudaFree(work);
            if (!bad) {
                IS(number(info), 0);
                struct mat want = side ? product(OP_N, c, OP_N, op ? product(OP_C, q, OP_N, identity(m, m)) : q)
                                       : product(op, q, OP_N, c);
                SAME(fetched(e), want, "ormqr");
            }
        }
    cudaFree(d.at);
    cudaFree(tau);
}

/* Q^H A P = B with two diagonals. */
static void bidiagonal(int type, int m, int n)
{
    struct mat a = random_mat(type, m, n);
    struct dev d = device(type, a);
    void *diagonals[2] = {memory((size_t)n * 8), memory((size_t)n * 8)},
         *taus[2] = {memory((size_t)n * 16), memory((size_t)n * 16)};
    IS(F("cusolverDn%cgebrd_bufferSize", LETTER)(handle, m, n, &lwork), 0);
    void *work = room(type);
    IS(F("cusolverDn%cgebrd", LETTER)(handle, m, n, d.at, d.ld, diagonals[0], diagonals[1], taus[0], taus[1], work,
                                      lwork, info),
       0);
    IS(number(info), 0);
    cudaFree(work);
    double diagonal[64], beside[64];
    reals(type, diagonals[0], diagonal, n);
    reals(type, diagonals[1], beside, n - 1);
    struct mat b = mat(n, n), raw = fetch(d), rows = mat(n, n);
    for (int i = 0; i < n; i++) {
        E(b, i, i) = diagonal[i];
        if (i + 1 < n)
            E(b, i, i + 1) = beside[i];
        for (int j = 0; j < n; j++)
            E(rows, i, j) = E(raw, i, j);
    }
    struct dev q = device(type, raw), p = device(type, rows);
    IS(F("cusolverDn%c%sgbr_bufferSize", LETTER, or (type))(handle, 0, m, n, n, q.at, q.ld, taus[0], &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%c%sgbr", LETTER, or (type))(handle, 0, m, n, n, q.at, q.ld, taus[0], work, lwork, info), 0);
    cudaFree(work);
    IS(F("cusolverDn%c%sgbr_bufferSize", LETTER, or (type))(handle, 1, n, n, m, p.at, p.ld, taus[1], &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%c%sgbr", LETTER, or (type))(handle, 1, n, n, m, p.at, p.ld, taus[1], work, lwork, info), 0);
    IS(number(info), 0);
    struct mat qm = fetched(q), pm = fetched(p);
    SMALL(not_orthogonal(qm), "orgbr Q");
    SMALL(not_orthogonal(pm), "orgbr P");
    SAME(product(OP_N, product(OP_N, qm, OP_N, b), OP_N, pm), a, "gebrd");
}

/* Q^H A Q = T with one diagonal beside the other. */
static void tridiagonal(int type, int n, int uplo)
{
    struct mat a = symmetric(type, n, true);
    struct dev d = device(type, a);
    void *w = memory((size_t)n * 8), *e = memory((size_t)n * 8), *tau = memory((size_t)n * 16);
    IS(F("cusolverDn%c%strd_bufferSize", LETTER, sy(type))(handle, uplo, n, d.at, d.ld, w, e, tau, &lwork), 0);
    void *work = room(type);
    IS(F("cusolverDn%c%strd", LETTER, sy(type))(handle, uplo, n, d.at, d.ld, w, e, tau, work, lwork, info), 0);
    IS(number(info), 0);
    cudaFree(work);
    double diagonal[64], beside[64];
    reals(type, w, diagonal, n);
    reals(type, e, beside, n - 1);
    struct mat t = mat(n, n), c = random_mat(type, n, 3), c2 = random_mat(type, 3, n);
    for (int i = 0; i < n; i++) {
        E(t, i, i) = diagonal[i];
        if (i + 1 < n)
            E(t, i, i + 1) = E(t, i + 1, i) = beside[i];
    }
    struct dev q = device(type, fetch(d));
    IS(F("cusolverDn%c%sgtr_bufferSize", LETTER, or (type))(handle, uplo, n, q.at, q.ld, tau, &lwork), 0);
    work = room(type);
    IS(F("cusolverDn%c%sgtr", LETTER, or (type))(handle, uplo, n, q.at, q.ld, tau, work, lwork, info), 0);
    IS(number(info), 0);
    cudaFree(work);
    struct mat qm = fetched(q);
    SMALL(not_orthogonal(qm), "orgtr");
    SAME(product(OP_N, product(OP_N, qm, OP_N, t), OP_C, qm), a, "sytrd");
    for (int side = 0; side < 2; side++)
        for (int op = 0; op < 3; op += type < 2 ? 1 : 2) {
            struct dev m = device(type, side ? c2 : c);
            IS(F("cusolverDn%c%smtr_bufferSize", LETTER, or (type))(handle, side, uplo, op, m.m, m.n, d.at, d.ld, tau,
                                                                    m.at, m.ld, &lwork),
               0);
            work = room(type);
            IS(F("cusolverDn%c%smtr", LETTER, or (type))(handle, side, uplo, op, m.m, m.n, d.at, d.ld, tau, m.at, m.ld,
                                                         work, lwork, info),
               0);
            cudaFree(work);
            struct mat turned = op ? product(OP_C, qm, OP_N, identity(n, n)) : qm;
            SAME(fetched(m), side ? product(OP_N, c2, OP_N, turned) : product(OP_N, turned, OP_N, c), "ormtr");
        }
}

static void errors(int type)
{
    void *a = memory(4096);
    const char *o = or (type), *s = sy(type);
    IS(F("cusolverDn%cgeqrf", LETTER)(handle, 2, 2, a, 2, a, a, 0, info), INVALID);
    IS(F("cusolverDn%cgeqrf", LETTER)(handle, 2, 2, a, 1, a, a, 256, info), INVALID);
    IS(F("cusolverDn%cgeqrf_bufferSize", LETTER)(handle, -2, 2, a, 2, &lwork), INVALID);
    IS(F("cusolverDn%cgeqrf_bufferSize", LETTER)(NULL, 2, 2, a, 2, &lwork), NOT_INITIALIZED);
    IS(F("cusolverDn%cgeqrf", LETTER)(handle, 0, 2, a, 1, a, a, 256, info), 0);
    IS(number(info), 0);
    lwork = 0; /* the room of a wide matrix is told, as cuPyNumeric asks for it */
    IS(F("cusolverDn%c%sgqr_bufferSize", LETTER, o)(handle, 2, 3, 2, a, 2, a, &lwork), 0);
    EXPECT(lwork > 0, "no room is told");
    IS(F("cusolverDn%c%sgqr", LETTER, o)(handle, 2, 3, 2, a, 2, a, a, 256, info), INVALID);
    IS(F("cusolverDn%c%sgqr_bufferSize", LETTER, o)(handle, 3, 2, 3, a, 3, a, &lwork), INVALID);
    IS(F("cusolverDn%c%sgqr", LETTER, o)(handle, 2, 2, 2, a, 1, a, a, 256, info), INVALID);
    IS(F("cusolverDn%c%smqr", LETTER, o)(handle, 2, OP_N, 2, 2, 2, a, 2, a, a, 2, a, 256, info), INVALID);
    IS(F("cusolverDn%c%smqr", LETTER, o)(handle, 0, OP_N, 2, 2, 3, a, 2, a, a, 2, a, 256, info), INVALID);
    IS(F("cusolverDn%c%smqr", LETTER, o)(handle, 0, OP_N, 2, 2, 2, a, 2, a, a, 1, a, 256, info), INVALID);
    IS(F("cusolverDn%cgebrd", LETTER)(handle, 2, 2, a, 2, a, a, a, a, a, 0, info), INVALID);
    IS(F("cusolverDn%cgebrd_bufferSize", LETTER)(handle, 2, -2, &lwork), INVALID);
    IS(F("cusolverDn%c%sgbr_bufferSize", LETTER, o)(handle, 0, 2, 3, 2, a, 2, a, &lwork), INVALID);
    IS(F("cusolverDn%c%strd_bufferSize", LETTER, s)(handle, 4, 2, a, 2, a, a, a, &lwork), INVALID);
    IS(F("cusolverDn%c%strd", LETTER, s)(handle, LOWER, 2, a, 2, a, a, a, a, 0, info), INVALID);
    IS(F("cusolverDn%c%sgtr_bufferSize", LETTER, o)(handle, LOWER, 2, a, 1, a, &lwork), INVALID);
    IS(F("cusolverDn%c%smtr_bufferSize", LETTER, o)(handle, 3, LOWER, OP_N, 2, 2, a, 2, a, a, 2, &lwork), INVALID);
    cudaFree(a);
}

int main(void)
{
    IS(start(), 0);
    info = memory(64);
    for (int type = 0; type < 4; type++) {
        for (int s = 0; s < SIZES; s++) {
            int n = sizes[s];
            qr(type, n, n);
            qr(type, n + 4, n);
            qr(type, n, n + 2);
            bidiagonal(type, n, n);
            bidiagonal(type, n + 3, n);
            tridiagonal(type, n, LOWER);
            tridiagonal(type, n, UPPER);
        }
        errors(type);
    }
    return check_end("orthogonal");
}
