/* Products whose elements have types of their own: f16, bf16 and bytes become what BLAS has, and back. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/element.h"
#include "host/maths/product.h"
#include "host/maths/submit.h"
#include "host/mublas/mublas.h"

typedef const int *I;
typedef const void *V;
MUBLAS_FORTRAN(gemm, const char *, const char *, I, I, I, V, V, I, V, I, V, void *, I);

/* What is summed in which type: of a and b, of c, the type of the sum, the type of BLAS that serves. */
static const struct kind {
    unsigned char in, out, compute, work;
} kinds[] = {{MUSA_R_16F, MUSA_R_16F, MUBLAS_COMPUTE_16F, S},   {MUSA_R_8I, MUSA_R_32I, MUBLAS_COMPUTE_32I, D},
             {MUSA_R_16F, MUSA_R_16F, MUBLAS_COMPUTE_32F, S},   {MUSA_R_16F, MUSA_R_32F, MUBLAS_COMPUTE_32F, S},
             {MUSA_R_16BF, MUSA_R_16BF, MUBLAS_COMPUTE_32F, S}, {MUSA_R_16BF, MUSA_R_32F, MUBLAS_COMPUTE_32F, S},
             {MUSA_R_8I, MUSA_R_32F, MUBLAS_COMPUTE_32F, S},    {MUSA_R_32F, MUSA_R_32F, MUBLAS_COMPUTE_32F, S},
             {MUSA_C_8I, MUSA_C_32F, MUBLAS_COMPUTE_32F, C},    {MUSA_C_32F, MUSA_C_32F, MUBLAS_COMPUTE_32F, C},
             {MUSA_R_64F, MUSA_R_64F, MUBLAS_COMPUTE_64F, D},   {MUSA_C_64F, MUSA_C_64F, MUBLAS_COMPUTE_64F, Z}};

static const struct kind *kind_of(int in, int out, int compute)
{
    if (compute == MUBLAS_COMPUTE_32F_FAST_TF32)
        compute = in == MUSA_R_32F || in == MUSA_C_32F ? MUBLAS_COMPUTE_32F : -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].in == in && kinds[i].out == out && kinds[i].compute == compute)
            return &kinds[i];
    return NULL;
}

static size_t size_of(int type)
{
    switch (type) {
    case MUSA_R_8I: return 1;
    case MUSA_C_8I:
    case MUSA_R_16F:
    case MUSA_R_16BF: return 2;
    case MUSA_C_32F:
    case MUSA_R_64F: return 8;
    case MUSA_C_64F: return 16;
    default: return 4;
    }
}

/* n elements into floats; real bytes, of integer sums, into doubles, which hold them exactly. */
static void widen(void *to, V from, int type, size_t n)
{
    float *f = to;
    double *d = to;
    const unsigned short *h = from;
    const signed char *b = from;
    if (type == MUSA_R_16F)
        for (size_t i = 0; i < n; i++)
            f[i] = f16_to_f32(h[i]);
    else if (type == MUSA_C_8I)
        for (size_t i = 0; i < 2 * n; i++)
            f[i] = b[i];
    else
        for (size_t i = 0; i < n; i++)
            d[i] = b[i];
}

static const int native[] = {MUSA_R_32F, MUSA_R_64F, MUSA_C_32F, MUSA_C_64F}; /* BLAS's own */

/* A matrix as BLAS takes it: itself, or a widened copy without gaps (*made). */
static bool matrix(const struct mublas_operand *o, int type, int work, int rows, int cols, struct mublas_operand *as,
                   void **made)
{
    *as = *o;
    *made = NULL;
    if (type == native[work])
        return true;
    size_t wide = mublas_size(work), narrow = size_of(type), r = (size_t)rows;
    char *copy = *made = maths_alloc(r * (size_t)cols * wide + 1);
    if (!copy)
        return false;
    for (size_t j = 0; j < (size_t)cols; j++)
        widen(copy + wide * r * j, (const char *)o->at + narrow * (size_t)o->ld * j, type, r);
    as->at = copy;
    as->ld = rows > 1 ? rows : 1;
    return true;
}

/* Of types whose sums the CPU's matrix instructions make in f32, too: the same sums (host/maths/product.h). */
static bool ordered(const struct mublas_call *c)
{
    return c->type == S && c->compute != MUBLAS_COMPUTE_16F && c->a.type != MUSA_R_32F;
}

static bool sum_in_order(const struct mublas_call *c, float *sum)
{
    const struct maths_factor a = {c->a.at, (size_t)c->a.ld, c->a.type, c->t[0] != 'N'};
    const struct maths_factor b = {c->b.at, (size_t)c->b.ld, c->b.type, c->t[1] == 'N'};
    return maths_product(&a, &b, c->m, c->n, c->k, sum);
}

/* c = alpha * sum + beta * c, in the types of c and of the scalars. */
static void finish(const struct mublas_call *c, const void *sum)
{
    float alpha = 0, beta = 0;
    int ialpha = 0, ibeta = 0;
    if (c->compute == MUBLAS_COMPUTE_32I) {
        ialpha = *(const int *)mublas_alpha(c);
        ibeta = *(const int *)mublas_beta(c);
    } else if (c->compute == MUBLAS_COMPUTE_16F) {
        alpha = f16_to_f32(*(const mublas_half *)mublas_alpha(c));
        beta = f16_to_f32(*(const mublas_half *)mublas_beta(c));
    } else {
        alpha = *(const float *)mublas_alpha(c);
        beta = *(const float *)mublas_beta(c);
    }
    for (size_t j = 0; j < (size_t)c->n; j++) {
        size_t in = (size_t)c->m * j, out = (size_t)c->c.ld * j;
        const float *f = (const float *)sum + in;
        const double *d = (const double *)sum + in;
        unsigned short *h = (unsigned short *)mublas_out(&c->c) + out;
        int *w = (int *)mublas_out(&c->c) + out;
        float *o = (float *)mublas_out(&c->c) + out;
        size_t m = (size_t)c->m;
        if (c->c.type == MUSA_R_32I)
            for (size_t i = 0; i < m; i++)
                w[i] = (int)((unsigned)ialpha * (unsigned)(long long)d[i] +
                             (ibeta ? (unsigned)ibeta * (unsigned)w[i] : 0));
        else if (c->c.type == MUSA_R_16F && beta == 0)
            for (size_t i = 0; i < m; i++)
                h[i] = f32_to_f16(alpha * f[i]);
        else if (c->c.type == MUSA_R_16F)
            for (size_t i = 0; i < m; i++)
                h[i] = f32_to_f16(alpha * f[i] + beta * f16_to_f32(h[i]));
        else if (c->c.type == MUSA_R_32F)
            for (size_t i = 0; i < m; i++)
                o[i] = alpha * f[i] + (beta == 0 ? 0 : beta * o[i]);
        else
            for (size_t i = 0; i < m; i++)
                h[i] = f32_to_bf16(alpha * f[i] + (beta == 0 ? 0 : beta * bf16_to_f32(h[i])));
    }
}

static void one_ex(const struct mublas_call *c)
{
    static const double one[] = {1, 0}, zero[] = {0, 0};
    static const float one_f = 1, zero_f = 0;
    struct mublas_operand a = c->a, b = c->b;
    void *made_a = NULL, *made_b = NULL, *sum = NULL;
    int work = c->type;
    bool a_plain = c->t[0] == 'N', b_plain = c->t[1] == 'N';
    bool narrow = c->c.type == MUSA_R_16F || c->c.type == MUSA_R_32I;
    if (ordered(c)) {
        if ((sum = maths_alloc(sizeof(float) * (size_t)c->m * (size_t)c->n)) && sum_in_order(c, sum))
            finish(c, sum);
        goto out;
    }
    if (!matrix(&c->a, c->a.type, work, a_plain ? c->m : c->k, a_plain ? c->k : c->m, &a, &made_a) ||
        !matrix(&c->b, c->b.type, work, b_plain ? c->k : c->n, b_plain ? c->n : c->k, &b, &made_b))
        goto out;
    if (!narrow) {
        gemm[work](&c->t[0], &c->t[1], &c->m, &c->n, &c->k, mublas_alpha(c), a.at, &a.ld, b.at, &b.ld, mublas_beta(c),
                   mublas_out(&c->c), &c->c.ld);
    } else if ((sum = maths_alloc(mublas_size(work) * (size_t)c->m * (size_t)c->n))) {
        gemm[work](&c->t[0], &c->t[1], &c->m, &c->n, &c->k, work == S ? (V)&one_f : (V)one, a.at, &a.ld, b.at, &b.ld,
                   work == S ? (V)&zero_f : (V)zero, sum, &c->m);
        finish(c, sum);
    }
out:
    free(sum);
    free(made_b);
    free(made_a);
}

static void run_ex(const struct mublas_call *c)
{
    mublas_each(c, (size_t[]){size_of(c->a.type), size_of(c->b.type), size_of(c->c.type)}, one_ex);
}

static bool small(int ld, int rows) { return ld < (rows > 1 ? rows : 1); }

static mublasStatus_t do_ex(mublasHandle_t h, struct mublas_call c, int ta, int tb, V alpha, V beta, int algo)
{
    MUBLAS_LIVE(h);
    c.run = run_ex;
    c.t[0] = mublas_op(ta);
    c.t[1] = mublas_op(tb);
    if (!c.t[0] || !c.t[1] || !c.compute || algo < MUBLAS_GEMM_DEFAULT || algo > MUBLAS_GEMM_DEFAULT_TENSOR_OP)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (c.m < 0 || c.n < 0 || c.k < 0 || c.batch < 0 || small(c.a.ld, c.t[0] == 'N' ? c.m : c.k) ||
        small(c.b.ld, c.t[1] == 'N' ? c.k : c.n) || small(c.c.ld, c.m))
        return MUBLAS_STATUS_INVALID_SIZE;
    const struct kind *kind = kind_of(c.a.type, c.c.type, c.compute);
    if (!kind || c.b.type != c.a.type)
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    c.type = kind->work;
    size_t size = c.compute == MUBLAS_COMPUTE_16F ? 2 : c.compute == MUBLAS_COMPUTE_32I ? 4 : mublas_size(kind->work);
    mublasStatus_t r = mublas_scalars(h, &c, alpha, size, beta, size);
    if (r || !c.m || !c.n || !c.batch)
        return r;
    if (!c.c.at || (c.k && (!c.a.at || !c.b.at)))
        return MUBLAS_STATUS_INVALID_POINTER;
    const bool plain = c.a.type == native[kind->work] && c.c.type == c.a.type;
    return mublas_submit(h, &c, (plain ? mublas_product(c.type, c.m, c.n, c.k) : 8.0 * c.m * c.n * c.k) * c.batch);
}

#define FN(name, ...) mublasStatus_t name(mublasHandle_t h, int ta, int tb, int m, int n, int k, __VA_ARGS__)
#define CALL(...) \
    (struct mublas_call) { .m = m, .n = n, .k = k, __VA_ARGS__ }
#define AT(p, l, s, t) \
    { \
        .at = (p), .ld = (l), .stride = (s), .type = (t) \
    }

FN(MUBLAS_GEMM_EX, V alpha, V a, int atype, int lda, V b, int btype, int ldb, V beta, void *c, int ctype, int ldc,
   mublasComputeType_t compute, mublasGemmAlgo_t algo)
{
    return do_ex(h,
                 CALL(.a = AT(a, lda, 0, atype), .b = AT(b, ldb, 0, btype), .c = AT(c, ldc, 0, ctype), .batch = 1,
                      .compute = compute),
                 ta, tb, alpha, beta, algo);
}
FN(MUBLAS_GEMM_BATCHED_EX, V alpha, V const *a, int atype, int lda, V const *b, int btype, int ldb, V beta,
   void *const *c, int ctype, int ldc, int batch, mublasComputeType_t compute, mublasGemmAlgo_t algo)
{
    return do_ex(h,
                 CALL(.a = AT(a, lda, 0, atype), .b = AT(b, ldb, 0, btype), .c = AT(c, ldc, 0, ctype), .batch = batch,
                      .pointers = true, .compute = compute),
                 ta, tb, alpha, beta, algo);
}
FN(MUBLAS_GEMM_STRIDED_BATCHED_EX, V alpha, V a, int atype, int lda, long long stridea, V b, int btype, int ldb,
   long long strideb, V beta, void *c, int ctype, int ldc, long long stridec, int batch, mublasComputeType_t compute,
   mublasGemmAlgo_t algo)
{
    return do_ex(h,
                 CALL(.a = AT(a, lda, stridea, atype), .b = AT(b, ldb, strideb, btype), .c = AT(c, ldc, stridec, ctype),
                      .batch = batch, .compute = compute),
                 ta, tb, alpha, beta, algo);
}
FN(mublasSgemmEx, const float *alpha, V a, int atype, int lda, V b, int btype, int ldb, const float *beta, void *c,
   int ctype, int ldc)
{
    return MUBLAS_GEMM_EX(h, ta, tb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc,
                          MUBLAS_COMPUTE_32F, MUBLAS_GEMM_DEFAULT);
}
FN(mublasCgemmEx, const muComplex *alpha, V a, int atype, int lda, V b, int btype, int ldb, const muComplex *beta,
   void *c, int ctype, int ldc)
{
    return MUBLAS_GEMM_EX(h, ta, tb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc,
                          MUBLAS_COMPUTE_32F, MUBLAS_GEMM_DEFAULT);
}

#define HALF(batched, compute_batch) \
    do_ex(h, \
          CALL(.a = AT(a, lda, stridea, MUSA_R_16F), .b = AT(b, ldb, strideb, MUSA_R_16F), \
               .c = AT(c, ldc, stridec, MUSA_R_16F), .batch = compute_batch, .pointers = batched, \
               .compute = MUBLAS_COMPUTE_16F), \
          ta, tb, alpha, beta, MUBLAS_GEMM_DEFAULT)
FN(mublasHgemm, const mublas_half *alpha, const mublas_half *a, int lda, const mublas_half *b, int ldb,
   const mublas_half *beta, mublas_half *c, int ldc)
{
    enum { stridea = 0, strideb = 0, stridec = 0 };
    return HALF(false, 1);
}
FN(mublasHgemmBatched, const mublas_half *alpha, const mublas_half *const *a, int lda, const mublas_half *const *b,
   int ldb, const mublas_half *beta, mublas_half *const *c, int ldc, int batch)
{
    enum { stridea = 0, strideb = 0, stridec = 0 };
    return HALF(true, batch);
}
FN(mublasHgemmStridedBatched, const mublas_half *alpha, const mublas_half *a, int lda, long long stridea,
   const mublas_half *b, int ldb, long long strideb, const mublas_half *beta, mublas_half *c, int ldc,
   long long stridec, int batch)
{
    return HALF(false, batch);
}
