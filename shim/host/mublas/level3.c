/* BLAS level 3 of the CPU muBLAS, and its batches. */
#include <stdlib.h>
#include <string.h>

#include "host/mublas/mublas.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
MUBLAS_FORTRAN(gemm, L, L, I, I, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(symm, L, L, I, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(syrk, L, L, I, I, V, V, I, V, void *, I);
MUBLAS_FORTRAN(syr2k, L, L, I, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(trmm, L, L, L, L, I, I, V, V, I, void *, I);
MUBLAS_FORTRAN(trsm, L, L, L, L, I, I, V, V, I, void *, I);
void chemm_(L, L, I, I, V, V, I, V, I, V, void *, I), zhemm_(L, L, I, I, V, V, I, V, I, V, void *, I);
void cherk_(L, L, I, I, V, V, I, V, void *, I), zherk_(L, L, I, I, V, V, I, V, void *, I);
void cher2k_(L, L, I, I, V, V, I, V, I, V, void *, I), zher2k_(L, L, I, I, V, V, I, V, I, V, void *, I);

typedef const struct mublas_call *call_t;
#define ALPHA mublas_alpha(c)
#define BETA mublas_beta(c)
#define A c->a.at, &c->a.ld
#define B c->b.at, &c->b.ld
#define OUT mublas_out(&c->c), &c->c.ld

static void one_gemm(call_t c) { gemm[c->type](&c->t[0], &c->t[1], &c->m, &c->n, &c->k, ALPHA, A, B, BETA, OUT); }
static void run_gemm(call_t c)
{
    size_t size = mublas_size(c->type);
    mublas_each(c, (size_t[]){size, size, size}, one_gemm);
}
static void run_symm(call_t c) { symm[c->type](&c->side, &c->uplo, &c->m, &c->n, ALPHA, A, B, BETA, OUT); }
static void run_hemm(call_t c)
{
    (c->type == C ? chemm_ : zhemm_)(&c->side, &c->uplo, &c->m, &c->n, ALPHA, A, B, BETA, OUT);
}
static void run_syrk(call_t c) { syrk[c->type](&c->uplo, c->t, &c->n, &c->k, ALPHA, A, BETA, OUT); }
static void run_herk(call_t c) { (c->type == C ? cherk_ : zherk_)(&c->uplo, c->t, &c->n, &c->k, ALPHA, A, BETA, OUT); }
static void run_syr2k(call_t c) { syr2k[c->type](&c->uplo, c->t, &c->n, &c->k, ALPHA, A, B, BETA, OUT); }
static void run_her2k(call_t c)
{
    (c->type == C ? cher2k_ : zher2k_)(&c->uplo, c->t, &c->n, &c->k, ALPHA, A, B, BETA, OUT);
}
static void one_trsm(call_t c) { trsm[c->type](&c->side, &c->uplo, c->t, &c->diag, &c->m, &c->n, ALPHA, A, OUT); }
static void run_trsm(call_t c)
{
    size_t size = mublas_size(c->type);
    mublas_each(c, (size_t[]){size, size, size}, one_trsm);
}

/* muBLAS multiplies b into c; BLAS multiplies in place. */
static void run_trmm(call_t c)
{
    size_t size = mublas_size(c->type);
    char *to = mublas_out(&c->c);
    for (int j = 0; j < c->n && c->b.at != to; j++)
        memcpy(to + size * (size_t)c->c.ld * (size_t)j, (const char *)c->b.at + size * (size_t)c->b.ld * (size_t)j,
               size * (size_t)c->m);
    trmm[c->type](&c->side, &c->uplo, c->t, &c->diag, &c->m, &c->n, ALPHA, A, OUT);
}

/* One triangle of alpha op(a) op(b)^T + beta c, by columns: what lies outside it stays untouched. For
 * herkx (kl: 1) op(b) is conjugated, beta is real, and the diagonal gets no imaginary part. */
static void run_syrkx(call_t c)
{
    size_t size = mublas_size(c->type);
    bool n_form = c->t[0] == 'N';
    const char *left = &c->t[0], *right = n_form ? (c->kl ? "C" : "T") : "N";
    double beta_z[2] = {0};
    float beta_c[2] = {0};
    V beta = BETA;
    if (c->kl && c->type == C)
        beta_c[0] = *(const float *)BETA, beta = beta_c;
    else if (c->kl)
        beta_z[0] = *(const double *)BETA, beta = beta_z;
    for (int j = 0; j < c->n; j++) {
        int first = c->uplo == 'L' ? j : 0, rows = c->uplo == 'L' ? c->n - j : j + 1;
        size_t row = size * (n_form ? 1 : (size_t)c->a.ld), col = size * (n_form ? 1 : (size_t)c->b.ld);
        char *to = (char *)mublas_out(&c->c) + size * ((size_t)c->c.ld * (size_t)j + (size_t)first);
        gemm[c->type](left, right, &rows, &(int){1}, &c->k, ALPHA, (const char *)c->a.at + row * (size_t)first,
                      &c->a.ld, (const char *)c->b.at + col * (size_t)j, &c->b.ld, beta, to, &c->c.ld);
        char *diagonal = to + size * (size_t)(j - first);
        if (c->kl)
            memset(diagonal + size / 2, 0, size / 2);
    }
}

struct shape {
    bool letters;
    int m, n, k;
    int rows_a, rows_b, rows_c; /* least leading dimensions; b's is not used when negative */
};
static bool small(int ld, int rows) { return ld < (rows > 1 ? rows : 1); }

static mublasStatus_t submit(mublasHandle_t h, struct mublas_call *c, struct shape s, V alpha, size_t asize, V beta,
                             size_t bsize)
{
    MUBLAS_LIVE(h);
    if (!s.letters)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (s.m < 0 || s.n < 0 || s.k < 0 || c->batch < 0 || small(c->a.ld, s.rows_a) || small(c->c.ld, s.rows_c) ||
        (s.rows_b >= 0 && small(c->b.ld, s.rows_b)))
        return MUBLAS_STATUS_INVALID_SIZE;
    mublasStatus_t r = mublas_scalars(h, c, alpha, asize, beta, bsize);
    if (r || !s.m || !s.n || !c->batch)
        return r;
    if (!c->c.at || (s.k && (!c->a.at || (s.rows_b >= 0 && !c->b.at))))
        return MUBLAS_STATUS_INVALID_POINTER;
    return mublas_submit(h, c, mublas_product(c->type, s.m, s.n, s.k) * c->batch);
}

static mublasStatus_t do_gemm(mublasHandle_t h, struct mublas_call c, int ta, int tb, V alpha, V beta)
{
    size_t size = mublas_size(c.type);
    c.run = run_gemm;
    c.t[0] = mublas_op(ta);
    c.t[1] = mublas_op(tb);
    struct shape s = {c.t[0] && c.t[1], c.m, c.n, c.k, c.t[0] == 'N' ? c.m : c.k, c.t[1] == 'N' ? c.k : c.n, c.m};
    return submit(h, &c, s, alpha, size, beta, size);
}

static mublasStatus_t do_symm(mublasHandle_t h, struct mublas_call c, int side, int uplo, V alpha, V beta)
{
    size_t size = mublas_size(c.type);
    c.side = mublas_side(side);
    c.uplo = mublas_fill(uplo);
    int order = c.side == 'L' ? c.m : c.n;
    return submit(h, &c, (struct shape){c.side && c.uplo, c.m, c.n, order, order, c.m, c.m}, alpha, size, beta, size);
}

/* op: which of T and C the function has, beside N; real matrices take both. `two`: b is used. */
static mublasStatus_t do_rank(mublasHandle_t h, struct mublas_call c, int uplo, int op, char transposed, bool two,
                              V alpha, size_t asize, V beta, size_t bsize)
{
    c.uplo = mublas_fill(uplo);
    c.t[0] = mublas_op(op);
    bool known = c.t[0] == 'N' || (c.t[0] && (c.type < C || c.t[0] == transposed));
    int rows = c.t[0] == 'N' ? c.n : c.k;
    return submit(h, &c, (struct shape){known && c.uplo, c.n, c.n, c.k, rows, two ? rows : -1, c.n}, alpha, asize, beta,
                  bsize);
}

/* a triangular, c the result; b, of trmm only, what is multiplied. */
static mublasStatus_t do_triangular(mublasHandle_t h, struct mublas_call c, int side, int uplo, int op, int diag,
                                    V alpha)
{
    c.side = mublas_side(side);
    c.uplo = mublas_fill(uplo);
    c.t[0] = mublas_op(op);
    c.diag = mublas_diag(diag);
    int order = c.side == 'L' ? c.m : c.n;
    struct shape s = {c.side && c.uplo && c.t[0] && c.diag, c.m, c.n, order, order, c.run == run_trmm ? c.m : -1, c.m};
    return submit(h, &c, s, alpha, mublas_size(c.type), NULL, 0);
}

#define FN(name, ...) mublasStatus_t mublas##name(mublasHandle_t h, __VA_ARGS__)
#define AT(p, l) \
    { \
        .at = (p), .ld = (l) \
    }
#define CALL(...) \
    (struct mublas_call) { .batch = 1, __VA_ARGS__ }
#define ABC .a = AT(a, lda), .b = AT(b, ldb), .c = AT(c, ldc)

#define ALL(W, T) \
    FN(W##gemm, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const T *beta, T *c, int ldc) \
    { \
        return do_gemm(h, CALL(.type = W, .m = m, .n = n, .k = k, ABC), ta, tb, alpha, beta); \
    } \
    FN(W##gemmBatched, int ta, int tb, int m, int n, int k, const T *alpha, const T *const *a, int lda, \
       const T *const *b, int ldb, const T *beta, T *const *c, int ldc, int count) \
    { \
        struct mublas_call call = {.type = W, .m = m, .n = n, .k = k, ABC, .batch = count, .pointers = true}; \
        return do_gemm(h, call, ta, tb, alpha, beta); \
    } \
    FN(W##gemmStridedBatched, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, \
       long long stridea, const T *b, int ldb, long long strideb, const T *beta, T *c, int ldc, long long stridec, \
       int count) \
    { \
        struct mublas_call call = {.type = W, .m = m, .n = n, .k = k, ABC, .batch = count}; \
        call.a.stride = stridea; \
        call.b.stride = strideb; \
        call.c.stride = stridec; \
        return do_gemm(h, call, ta, tb, alpha, beta); \
    } \
    FN(W##symm, int side, int uplo, int m, int n, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const T *beta, T *c, int ldc) \
    { \
        return do_symm(h, CALL(.run = run_symm, .type = W, .m = m, .n = n, ABC), side, uplo, alpha, beta); \
    } \
    FN(W##syrk, int uplo, int t, int n, int k, const T *alpha, const T *a, int lda, const T *beta, T *c, int ldc) \
    { \
        return do_rank(h, CALL(.run = run_syrk, .type = W, .n = n, .k = k, .a = AT(a, lda), .c = AT(c, ldc)), uplo, t, \
                       'T', false, alpha, sizeof(T), beta, sizeof(T)); \
    } \
    FN(W##syr2k, int uplo, int t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const T *beta, T *c, int ldc) \
    { \
        return do_rank(h, CALL(.run = run_syr2k, .type = W, .n = n, .k = k, ABC), uplo, t, 'T', true, alpha, \
                       sizeof(T), beta, sizeof(T)); \
    } \
    FN(W##syrkx, int uplo, int t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const T *beta, T *c, int ldc) \
    { \
        return do_rank(h, CALL(.run = run_syrkx, .type = W, .n = n, .k = k, ABC), uplo, t, 'T', true, alpha, \
                       sizeof(T), beta, sizeof(T)); \
    } \
    FN(W##trmm, int side, int uplo, int t, int diag, int m, int n, const T *alpha, const T *a, int lda, const T *b, \
       int ldb, T *c, int ldc) \
    { \
        return do_triangular(h, CALL(.run = run_trmm, .type = W, .m = m, .n = n, ABC), side, uplo, t, diag, alpha); \
    } \
    FN(W##trsm, int side, int uplo, int t, int diag, int m, int n, const T *alpha, const T *a, int lda, T *b, int ldb) \
    { \
        return do_triangular(h, CALL(.run = run_trsm, .type = W, .m = m, .n = n, .a = AT(a, lda), .c = AT(b, ldb)), \
                             side, uplo, t, diag, alpha); \
    } \
    FN(W##trsmBatched, int side, int uplo, int t, int diag, int m, int n, const T *alpha, const T *const *a, int lda, \
       T *const *b, int ldb, int count) \
    { \
        struct mublas_call call = {.run = run_trsm, .type = W, .m = m, .n = n, .batch = count, .pointers = true}; \
        call.a = (struct mublas_operand)AT(a, lda); \
        call.c = (struct mublas_operand)AT(b, ldb); \
        return do_triangular(h, call, side, uplo, t, diag, alpha); \
    }
#define COMPLEX(W, T, R) \
    FN(W##hemm, int side, int uplo, int m, int n, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const T *beta, T *c, int ldc) \
    { \
        return do_symm(h, CALL(.run = run_hemm, .type = W, .m = m, .n = n, ABC), side, uplo, alpha, beta); \
    } \
    FN(W##herk, int uplo, int t, int n, int k, const R *alpha, const T *a, int lda, const R *beta, T *c, int ldc) \
    { \
        return do_rank(h, CALL(.run = run_herk, .type = W, .n = n, .k = k, .a = AT(a, lda), .c = AT(c, ldc)), uplo, t, \
                       'C', false, alpha, sizeof(R), beta, sizeof(R)); \
    } \
    FN(W##her2k, int uplo, int t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const R *beta, T *c, int ldc) \
    { \
        return do_rank(h, CALL(.run = run_her2k, .type = W, .n = n, .k = k, ABC), uplo, t, 'C', true, alpha, \
                       sizeof(T), beta, sizeof(R)); \
    } \
    FN(W##herkx, int uplo, int t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const R *beta, T *c, int ldc) \
    { \
        return do_rank(h, CALL(.run = run_syrkx, .type = W, .n = n, .k = k, .kl = 1, ABC), uplo, t, 'C', true, alpha, \
                       sizeof(T), beta, sizeof(R)); \
    }
ALL(S, float)
ALL(D, double)
ALL(C, muComplex)
ALL(Z, muDoubleComplex)
COMPLEX(C, muComplex, float)
COMPLEX(Z, muDoubleComplex, double)
