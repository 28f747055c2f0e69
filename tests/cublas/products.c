/* cuBLAS level 3 against plain loops: all operations, sides, triangles, leading dimensions, special scalars. */
#include "blas.h"

/* Element (i, j) of op(a). */
static num at(struct buffer a, int op, int ld, int i, int j)
{
    return op == 0 ? a.ref[i + j * ld] : conj_if(op == 2, a.ref[j + i * ld]);
}
/* Element of a symmetric or Hermitian matrix of which one triangle is there (0 lower, 1 upper). */
static num mirrored(struct buffer a, int uplo, bool hermitian, int ld, int i, int j)
{
    if (hermitian && i == j)
        return creal(a.ref[i + i * ld]);
    bool there = uplo == 0 ? i >= j : i <= j;
    return there ? a.ref[i + j * ld] : conj_if(hermitian, a.ref[j + i * ld]);
}
/* Of a triangular one. */
static num triangular(struct buffer a, int uplo, int diag, int ld, int i, int j)
{
    if (i == j && diag)
        return 1;
    return (uplo == 0 ? i >= j : i <= j) ? a.ref[i + j * ld] : 0;
}
static num op_triangular(struct buffer a, int uplo, int op, int diag, int ld, int i, int j)
{
    return op == 0 ? triangular(a, uplo, diag, ld, i, j) : conj_if(op == 2, triangular(a, uplo, diag, ld, j, i));
}
/* NaN in what must not be read: the other triangle, and a diagonal that counts as ones. */
static void hide(struct buffer a, int uplo, int diag, int n, int ld)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if ((uplo == 0 ? i < j : i > j) || (i == j && diag))
                a.ref[i + j * ld] = NAN;
}
static num scaled(num beta, num c) { return beta == 0 ? 0 : beta * c; }

typedef const void *V;
typedef int gemm_f(void *, int, int, int, int, int, V, V, int, V, int, V, void *, int);
typedef int gemm_64(void *, int, int, long, long, long, V, V, long, V, long, V, void *, long);
typedef int batched_f(void *, int, int, int, int, int, V, V, int, V, int, V, V, int, int);
typedef int strided_f(void *, int, int, int, int, int, V, V, int, long long, V, int, long long, V, void *, int,
                      long long, int);

static void gemm(int type, int form)
{
    int ta = upto(3), tb = upto(3), m = upto(20), n = upto(20), k = upto(20), batch = form < 2 ? 1 : upto(4);
    int lda = (ta ? k : m) + upto(3) + 1, ldb = (tb ? n : k) + upto(3) + 1, ldc = m + upto(3) + 1;
    int sa = lda * (ta ? m : k) + 1, sb = ldb * (tb ? k : n), sc = ldc * n + 2;
    struct buffer a = buffer(type, (size_t)(sa * batch)), b = buffer(type, (size_t)(sb * batch)),
                  c = buffer(type, (size_t)(sc * batch));
    num alpha = special(type), beta = special(type);
    for (int q = 0; q < batch && beta == 0; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                c.ref[q * sc + i + j * ldc] = NAN;
    upload(a), upload(b), upload(c);
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    char x = letter_of[type];
    if (form == 0)
        OK(((gemm_f *)symbol("cublas%cgemm_v2", x))(handle, ta, tb, m, n, k, pa, a.at, lda, b.at, ldb, pb, c.at, ldc));
    if (form == 1)
        OK(((gemm_64 *)symbol("cublas%cgemm_v2_64", x))(handle, ta, tb, m, n, k, pa, a.at, lda, b.at, ldb, pb, c.at,
                                                        ldc));
    if (form == 2)
        OK(((strided_f *)symbol("cublas%cgemmStridedBatched", x))(handle, ta, tb, m, n, k, pa, a.at, lda, sa, b.at, ldb,
                                                                  sb, pb, c.at, ldc, sc, batch));
    if (form == 3) {
        char *list[12], *lists;
        for (int q = 0; q < batch; q++) {
            list[q] = (char *)a.at + size_of(type) * (size_t)(sa * q);
            list[4 + q] = (char *)b.at + size_of(type) * (size_t)(sb * q);
            list[8 + q] = (char *)c.at + size_of(type) * (size_t)(sc * q);
        }
        cudaMalloc((void **)&lists, sizeof list);
        cudaMemcpy(lists, list, sizeof list, 1);
        OK(((batched_f *)symbol("cublas%cgemmBatched", x))(handle, ta, tb, m, n, k, pa, lists, lda, lists + 32, ldb, pb,
                                                           lists + 64, ldc, batch));
        cudaFree(lists);
    }
    for (int q = 0; q < batch; q++) {
        struct buffer aq = a, bq = b;
        aq.ref += q * sa, bq.ref += q * sb;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                num s = 0;
                for (int p = 0; p < k; p++)
                    s += at(aq, ta, lda, i, p) * at(bq, tb, ldb, p, j);
                num *to = &c.ref[q * sc + i + j * ldc];
                *to = alpha * s + scaled(beta, *to);
            }
    }
    COMPARE(c, k, "gemm");
    drop(a), drop(b), drop(c);
}

typedef int symm_f(void *, int, int, int, int, V, V, int, V, int, V, void *, int);
static void symm(int type, bool hermitian)
{
    int side = upto(2), uplo = upto(2), m = upto(16), n = upto(16), order = side ? n : m;
    int lda = order + upto(3) + 1, ldb = m + upto(3) + 1, ldc = m + upto(3) + 1;
    struct buffer a = buffer(type, (size_t)(lda * order)), b = buffer(type, (size_t)(ldb * n)),
                  c = buffer(type, (size_t)(ldc * n));
    num alpha = special(type), beta = special(type);
    hide(a, uplo, 0, order, lda);
    upload(a), upload(b), upload(c);
    OK(((symm_f *)symbol("cublas%c%smm_v2", letter_of[type], hermitian ? "he" : "sy"))(
        handle, side, uplo, m, n, scalar(type, alpha), a.at, lda, b.at, ldb, scalar(type, beta), c.at, ldc));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num s = 0;
            for (int p = 0; p < order; p++)
                s += side ? b.ref[i + p * ldb] * mirrored(a, uplo, hermitian, lda, p, j)
                          : mirrored(a, uplo, hermitian, lda, i, p) * b.ref[p + j * ldb];
            c.ref[i + j * ldc] = alpha * s + scaled(beta, c.ref[i + j * ldc]);
        }
    COMPARE(c, order, "symm");
    drop(a), drop(b), drop(c);
}

/* form 0: syrk and herk; 1: syr2k, her2k; 2: syrkx, herkx. */
typedef int rank_f(void *, int, int, int, int, V, V, int, V, void *, int);
typedef int rank2_f(void *, int, int, int, int, V, V, int, V, int, V, void *, int);
static void rank(int type, bool hermitian, int form)
{
    int uplo = upto(2), op = upto(2) ? (hermitian ? 2 : 1) : 0, n = upto(16), k = upto(16) + 1;
    int lda = (op ? k : n) + upto(3) + 1, ldb = (op ? k : n) + upto(3) + 1, ldc = n + upto(3) + 1;
    struct buffer a = buffer(type, (size_t)(lda * (op ? n : k))), b = buffer(type, (size_t)(ldb * (op ? n : k))),
                  c = buffer(type, (size_t)(ldc * n));
    num alpha = hermitian && form == 0 ? unit() : special(type), beta = hermitian ? unit() : special(type);
    int real = hermitian ? type - 2 : type;
    for (int i = 0; i < n && hermitian; i++)
        c.ref[i + i * ldc] = creal(c.ref[i + i * ldc]);
    upload(a), upload(b), upload(c);
    static const char *const names[] = {"rk", "r2k", "rkx"};
    char name[40];
    snprintf(name, sizeof name, "cublas%c%s%s%s", letter_of[type], hermitian ? "he" : "sy", names[form],
             form == 2 ? "" : "_v2");
    V pa = scalar(form == 0 ? real : type, alpha), pb = scalar(real, beta);
    if (form == 0)
        OK(((rank_f *)symbol("%s", name))(handle, uplo, op, n, k, pa, a.at, lda, pb, c.at, ldc));
    else
        OK(((rank2_f *)symbol("%s", name))(handle, uplo, op, n, k, pa, a.at, lda, b.at, ldb, pb, c.at, ldc));
    struct buffer second = form ? b : a;
    int ld2 = form ? ldb : lda;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            if (uplo == 0 ? i < j : i > j)
                continue;
            num s = 0;
            for (int p = 0; p < k; p++) {
                s += alpha * at(a, op, lda, i, p) * conj_if(hermitian, at(second, op, ld2, j, p));
                if (form == 1)
                    s += conj_if(hermitian, alpha) * at(b, op, ldb, i, p) * conj_if(hermitian, at(a, op, lda, j, p));
            }
            num *to = &c.ref[i + j * ldc];
            s += scaled(beta, *to);
            *to = hermitian && i == j ? creal(s) : s; /* of herkx too, whose sum need not be real */
        }
    COMPARE(c, 2 * k, name);
    drop(a), drop(b), drop(c);
}

typedef int trsm_f(void *, int, int, int, int, int, int, V, V, int, void *, int);
typedef int trmm_f(void *, int, int, int, int, int, int, V, V, int, V, int, void *, int);
static void triangles(int type)
{
    int side = upto(2), uplo = upto(2), op = upto(3), diag = upto(2), m = upto(12) + 1, n = upto(12) + 1;
    int order = side ? n : m, lda = order + upto(3), ldb = m + upto(3), ldc = m + upto(3);
    struct buffer a = buffer(type, (size_t)(lda * order)), b = buffer(type, (size_t)(ldb * n)),
                  c = buffer(type, (size_t)(ldc * n)), x = buffer(type, (size_t)(ldb * n));
    num alpha = value(type) + 2;
    for (int i = 0; i < lda * order; i++)
        a.ref[i] *= 0.125;
    for (int i = 0; i < order; i++)
        a.ref[i + i * lda] += 2;
    hide(a, uplo, diag, order, lda);
    upload(a), upload(b), upload(c);
    OK(((trmm_f *)symbol("cublas%ctrmm_v2", letter_of[type]))(handle, side, uplo, op, diag, m, n, scalar(type, alpha),
                                                              a.at, lda, b.at, ldb, c.at, ldc));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num s = 0;
            for (int p = 0; p < order; p++)
                if (side ? !isnan(creal(op_triangular(a, uplo, op, diag, lda, p, j))) : true)
                    s += side ? b.ref[i + p * ldb] * op_triangular(a, uplo, op, diag, lda, p, j)
                              : op_triangular(a, uplo, op, diag, lda, i, p) * b.ref[p + j * ldb];
            c.ref[i + j * ldc] = alpha * s;
        }
    COMPARE(c, order, "trmm");
    /* b = alpha op(a)^-1 b: built from a solution that is known. */
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num s = 0;
            for (int p = 0; p < order; p++)
                s += side ? x.ref[i + p * ldb] * op_triangular(a, uplo, op, diag, lda, p, j)
                          : op_triangular(a, uplo, op, diag, lda, i, p) * x.ref[p + j * ldb];
            b.ref[i + j * ldb] = s / alpha;
        }
    upload(b);
    OK(((trsm_f *)symbol("cublas%ctrsm_v2", letter_of[type]))(handle, side, uplo, op, diag, m, n, scalar(type, alpha),
                                                              a.at, lda, b.at, ldb));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            b.ref[i + j * ldb] = x.ref[i + j * ldb];
    COMPARE(b, 8 * order, "trsm");
    drop(a), drop(b), drop(c), drop(x);
}

typedef int geam_f(void *, int, int, int, int, V, V, int, V, V, int, void *, int);
typedef int dgmm_f(void *, int, int, int, V, int, V, int, void *, int);
static void extensions(int type)
{
    int ta = upto(3), tb = upto(3), m = upto(12) + 1, n = upto(12) + 1, side = upto(2), incx = upto(2) + 1;
    int lda = (ta ? n : m) + upto(3), ldb = (tb ? n : m) + upto(3), ldc = m + upto(3);
    struct buffer a = buffer(type, (size_t)(lda * (ta ? m : n))), b = buffer(type, (size_t)(ldb * (tb ? m : n))),
                  c = buffer(type, (size_t)(ldc * n)), x = buffer(type, (size_t)(incx * (side ? n : m)));
    num alpha = special(type), beta = special(type);
    if (alpha == 0)
        poison(a);
    if (beta == 0)
        poison(b);
    upload(a), upload(b), upload(c), upload(x);
    OK(((geam_f *)symbol("cublas%cgeam", letter_of[type]))(handle, ta, tb, m, n, scalar(type, alpha), a.at, lda,
                                                           scalar(type, beta), b.at, ldb, c.at, ldc));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            c.ref[i + j * ldc] = scaled(alpha, at(a, ta, lda, i, j)) + scaled(beta, at(b, tb, ldb, i, j));
    COMPARE(c, 1, "geam");
    struct buffer d = buffer(type, (size_t)(ldc * n));
    upload(d);
    OK(((dgmm_f *)symbol("cublas%cdgmm", letter_of[type]))(handle, side, m, n, c.at, ldc, x.at, incx, d.at, ldc));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            d.ref[i + j * ldc] = c.ref[i + j * ldc] * x.ref[incx * (side ? j : i)];
    COMPARE(d, 1, "dgmm");
    drop(a), drop(b), drop(c), drop(d), drop(x);
}

static void refused(void)
{
    gemm_f *f = symbol("cublasSgemm_v2");
    struct buffer a = buffer(0, 64);
    on_device = false;
    ((int (*)(void *, int))symbol("cublasSetPointerMode_v2"))(handle, 0);
    V one = scalar(0, 1);
    IS(f(NULL, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 2, one, a.at, 2), 1);
    IS(f(&seed, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 2, one, a.at, 2), 1);
    IS(f(handle, 3, 0, 2, 2, 2, one, a.at, 2, a.at, 2, one, a.at, 2), 7);
    IS(f(handle, 0, 111, 2, 2, 2, one, a.at, 2, a.at, 2, one, a.at, 2), 7);
    IS(f(handle, 0, 0, -1, 2, 2, one, a.at, 2, a.at, 2, one, a.at, 2), 7);
    IS(f(handle, 0, 0, 2, 2, 2, one, a.at, 1, a.at, 2, one, a.at, 2), 7);
    IS(f(handle, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 1, one, a.at, 2), 7);
    IS(f(handle, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 2, one, a.at, 1), 7);
    IS(f(handle, 1, 0, 2, 2, 3, one, a.at, 2, a.at, 3, one, a.at, 2), 7);
    IS(f(handle, 0, 0, 2, 2, 2, NULL, a.at, 2, a.at, 2, one, a.at, 2), 7);
    IS(f(handle, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 2, NULL, a.at, 2), 7);
    IS(f(handle, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 2, one, NULL, 2), 7);
    OK(f(handle, 0, 0, 0, 2, 2, one, NULL, 1, NULL, 2, one, NULL, 1));
    trsm_f *t = symbol("cublasStrsm_v2");
    IS(t(handle, 2, 0, 0, 0, 2, 2, one, a.at, 2, a.at, 2), 7);
    IS(t(handle, 0, 3, 0, 0, 2, 2, one, a.at, 2, a.at, 2), 7);
    IS(t(handle, 0, 0, 0, 2, 2, 2, one, a.at, 2, a.at, 2), 7);
    IS(((int (*)(void *, int))symbol("cublasSetPointerMode_v2"))(handle, 2), 7);
    drop(a);
}

int main(void)
{
    OK(begin());
    for (int round = 0; round < 60; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            for (int form = 0; form < 4; form++)
                gemm(type, form);
            for (int hermitian = 0; hermitian <= type / 2; hermitian++) {
                symm(type, hermitian);
                for (int form = 0; form < 3; form++)
                    rank(type, hermitian, form);
            }
            triangles(type);
            extensions(type);
        }
    refused();
    return check_end("products");
}
