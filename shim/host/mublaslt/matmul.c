/* Products of the CPU muBLASLt: what BLAS takes as it is goes there, the rest as a copy in the work type. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/product.h"
#include "host/maths/submit.h"
#include "host/mublaslt/mublaslt.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
typedef void gemm_f(L, L, I, I, I, V, V, I, V, I, V, void *, I);
gemm_f sgemm_, dgemm_, cgemm_, zgemm_;
static gemm_f *const gemm[] = {sgemm_, dgemm_, cgemm_, zgemm_};
static const int native[] = {MUSA_R_32F, MUSA_R_64F, MUSA_C_32F, MUSA_C_64F};

/* An operand as BLAS takes it: column by column, perhaps transposed. */
struct view {
    V at;
    int ld;
    char op;
    void *made; /* to be freed */
};

/* doubles into the numbers of a work type */
static void narrow(void *to, const double *from, enum lt_work work, size_t n)
{
    lt_store(to, from, work == LT_S || work == LT_C ? MUSA_R_32F : MUSA_R_64F, 0, 1, n);
}

/* A copy without gaps, line after line; the composite orders become columns. rows_k: k is the index of rows. */
static bool copy(struct view *v, const struct mublasLtMatrixLayout *l, V at, enum lt_work work, bool conjugate,
                 const struct lt_scales *scales, bool rows_k)
{
    bool down = l->order != MUBLASLT_ORDER_ROW;
    size_t lines = down ? l->cols : l->rows, n = down ? l->rows : l->cols, parts = lt_complex(l->type) ? 2 : 1;
    size_t size = lt_size(native[work]);
    char *to = v->made = maths_alloc(lines * n * size + 1);
    double *line = maths_alloc(n * parts * sizeof *line + 1);
    for (size_t i = 0; to && line && i < lines; i++) {
        lt_load_line(line, at, l, down, i, n);
        for (size_t p = 0; conjugate && p < n; p++)
            line[2 * p + 1] = -line[2 * p + 1];
        if (scales->at)
            lt_scale_line(line, scales, down == rows_k, i, n);
        narrow(to + size * n * i, line, work, n * parts);
    }
    bool good = to && line;
    free(line);
    v->at = to;
    v->ld = n > 1 ? (int)n : 1;
    return good;
}

/* swap: the whole product is computed transposed. */
static bool view(struct view *v, const struct mublasLtMatrixLayout *l, V at, int op, const struct lt_call *call,
                 bool of_b, bool swap)
{
    enum lt_work work = call->work;
    bool row = l->order == MUBLASLT_ORDER_ROW, transposed = (op != MUBLAS_OP_N) ^ row ^ swap;
    bool conjugate = op == MUBLAS_OP_C && lt_complex(l->type), in_copy = conjugate && !transposed;
    *v = (struct view){at, (int)l->ld, transposed ? conjugate ? 'C' : 'T' : 'N', NULL};
    if (l->type == native[work] && l->order <= MUBLASLT_ORDER_ROW && !in_copy)
        return true;
    return copy(v, l, at, work, in_copy, &call->scales[of_b], (op == MUBLAS_OP_N) == of_b);
}

/* ---- scalars ----------------------------------------------------------------------------------- */

static void scalar(double out[2], V at, int type, const float *scale, const float *scale_too)
{
    out[1] = 0;
    lt_load(out, at, lt_real(type), 0, 1, lt_complex(type) ? 2 : 1);
    if (scale)
        out[0] *= *scale;
    if (scale_too)
        out[0] *= *scale_too;
}

/* c becomes d, where BLAS adds to it. */
static bool bring(const struct lt_call *call, V c, void *d)
{
    const struct mublasLtMatrixLayout *l = &call->ld;
    bool down = l->order != MUBLASLT_ORDER_ROW;
    size_t lines = down ? l->cols : l->rows, n = down ? l->rows : l->cols;
    double *line = maths_alloc(2 * n * sizeof *line);
    for (size_t i = 0; line && i < lines; i++) {
        lt_load_line(line, c, &call->lc, down, i, n);
        lt_store_line(d, line, l, down, i, n);
    }
    free(line);
    return line != NULL;
}

/* d = alpha sum + beta d, with the sums in order of k as the CPU's matrix instructions make them. */
static bool multiply_in_order(const struct view *a, const struct view *b, int m, int n, int k, float alpha, float beta,
                              float *d, int ld)
{
    const struct maths_factor rows = {a->at, (size_t)a->ld, MUSA_R_32F, a->op != 'N'};
    const struct maths_factor columns = {b->at, (size_t)b->ld, MUSA_R_32F, b->op == 'N'};
    float *sum = maths_alloc(sizeof *sum * (size_t)m * (size_t)n);
    bool good = sum && maths_product(&rows, &columns, m, n, k, sum);
    for (size_t j = 0; good && j < (size_t)n; j++) {
        const float *from = sum + j * (size_t)m;
        float *to = d + j * (size_t)ld;
        for (size_t i = 0; i < (size_t)m; i++)
            to[i] = alpha * from[i] + (beta == 0 ? 0 : beta * to[i]);
    }
    free(sum);
    return good;
}

/* The product of two views into the work type; of f16 and narrower ones in order, where they are summed in f32. */
static bool multiply(const struct lt_call *call, const struct view *a, const struct view *b, int m, int n, int k,
                     double s[2][2], void *d, int ld)
{
    float alpha, beta;
    if (call->work == LT_S && call->la.type != MUSA_R_32F && call->lb.type != MUSA_R_32F &&
        call->desc.compute != MUBLAS_COMPUTE_16F) {
        memcpy(&alpha, s[0], sizeof alpha);
        memcpy(&beta, s[1], sizeof beta);
        return multiply_in_order(a, b, m, n, k, alpha, beta, d, ld);
    }
    gemm[call->work](&a->op, &b->op, &m, &n, &k, s[0], a->at, &a->ld, b->at, &b->ld, s[1], d, &ld);
    return true;
}

/* One product of a batch: operands as views in the type that is computed in, the product by BLAS into the result, or
 * into sums of a wider type where type, order or epilogue ask for it. Row order is computed as the transposed
 * product, which is the same memory. */
static void one(const struct lt_call *call, int i)
{
    enum lt_work work = call->work;
    const struct mublasLtMatmulDesc *desc = &call->desc;
    struct mublasLtMatrixLayout sums = call->ld;
    struct view a = {0}, b = {0};
    void *d = (void *)(uintptr_t)lt_member(call->d, &call->ld, i), *acc = d;
    V c = lt_member(call->c, &call->lc, i);
    double alpha[2] = {1}, beta[2] = {0}, s[2][2];
    bool swap = call->ld.order == MUBLASLT_ORDER_ROW;
    int m = (int)call->ld.rows, n = (int)call->ld.cols;
    int k = (int)(desc->op[0] == MUBLAS_OP_N ? call->la.cols : call->la.rows);
    bool direct = call->ld.type == native[work] && call->ld.order <= MUBLASLT_ORDER_ROW &&
                  desc->pointers <= MUBLASLT_POINTER_MODE_DEVICE;
    if (!view(&a, &call->la, lt_member(call->a, &call->la, i), desc->op[0], call, false, swap) ||
        !view(&b, &call->lb, lt_member(call->b, &call->lb, i), desc->op[1], call, true, swap))
        goto out;
    if (direct) {
        scalar(alpha, call->alpha_at ? call->alpha_at : &call->alpha, desc->scale, desc->a_scale, desc->b_scale);
        scalar(beta, call->beta_at ? call->beta_at : &call->beta, desc->scale, desc->c_scale, NULL);
        bool same = c == d && call->lc.ld == call->ld.ld && call->lc.order == call->ld.order;
        if ((beta[0] != 0 || beta[1] != 0) && !same && !bring(call, c, d))
            goto out;
    } else {
        sums.type = native[work];
        sums.order = swap ? MUBLASLT_ORDER_ROW : MUBLASLT_ORDER_COL;
        sums.ld = swap ? n : m;
        acc = maths_alloc(lt_size(sums.type) * (size_t)m * (size_t)n);
        if (!acc)
            goto out;
    }
    narrow(s[0], alpha, work, 2);
    narrow(s[1], beta, work, 2);
    int ld = (int)sums.ld;
    if (!multiply(call, swap ? &b : &a, swap ? &a : &b, swap ? n : m, swap ? m : n, k, s, acc, ld))
        goto out;
    if (!direct || desc->epilogue != MUBLASLT_EPILOGUE_DEFAULT || desc->d_scale || desc->d_amax)
        lt_epilogue(call, i, acc, &sums);
out:
    if (acc != d)
        free(acc);
    free(a.made);
    free(b.made);
}

static void run(V call)
{
    const struct lt_call *c = call;
    for (int i = 0; i < c->ld.batch; i++)
        one(c, i);
}

/* ---- the call ---------------------------------------------------------------------------------- */

mublasStatus_t lt_submit(musaStream_t stream, void (*todo)(V call), V call, size_t size, double work)
{
    switch (maths_submit(stream, (struct maths_work){MATHS_LIBRARY, todo, NULL}, call, size, work)) {
    case musaSuccess: return MUBLAS_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUBLAS_STATUS_MEMORY_ERROR;
    default: return MUBLAS_STATUS_INTERNAL_ERROR;
    }
}

static bool aligned(V at, const struct mublasLtMatrixLayout *l)
{
    size_t size = lt_size(l->mode ? -1 : lt_real(l->type));
    return !size || (uintptr_t)at % size == 0;
}

mublasStatus_t mublasLtMatmul(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc, V alpha, V a,
                              mublasLtMatrixLayout_t a_layout, V b, mublasLtMatrixLayout_t b_layout, V beta, V c,
                              mublasLtMatrixLayout_t c_layout, void *d, mublasLtMatrixLayout_t d_layout,
                              const mublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_size,
                              musaStream_t stream)
{
    struct lt_call call = {.a = a, .b = b, .c = c, .d = d};
    if (!lt_live(handle))
        return MUBLAS_STATUS_INVALID_HANDLE;
    if (!d_layout || (algo && !lt_algo_made(algo)) || (workspace_size && !workspace))
        return MUBLAS_STATUS_INVALID_VALUE;
    if (!c_layout && !c)
        c_layout = d_layout;
    mublasStatus_t r = lt_check(desc, a_layout, b_layout, c_layout, d_layout, &call.work);
    if (r)
        return r;
    call.desc = *desc;
    call.la = *a_layout, call.lb = *b_layout, call.lc = *c_layout, call.ld = *d_layout;
    bool host = desc->pointers == MUBLASLT_POINTER_MODE_HOST, no_beta = false;
    bool host_beta = host || desc->pointers == MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
    if (desc->pointers == MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) {
        host_beta = true; /* 0 */
    } else if (!beta) {
        return MUBLAS_STATUS_INVALID_POINTER;
    } else if (host_beta) {
        memcpy(&call.beta, beta, lt_size(desc->scale));
    } else {
        call.beta_at = beta;
    }
    if (!alpha)
        return MUBLAS_STATUS_INVALID_POINTER;
    if (host)
        memcpy(&call.alpha, alpha, lt_size(desc->scale));
    else
        call.alpha_at = alpha;
    static const char zero[sizeof call.beta];
    no_beta = host_beta && !memcmp(&call.beta, zero, sizeof zero);
    double m = (double)d_layout->rows, n = (double)d_layout->cols;
    double k = (double)(desc->op[0] == MUBLAS_OP_N ? a_layout->cols : a_layout->rows);
    if (m == 0 || n == 0)
        return MUBLAS_STATUS_SUCCESS;
    enum { WITH_AUX = 128, WITH_BIAS = 4 | 16 | 256 | 512 };
    bool unscaled = (desc->a_mode && !desc->a_scale) || (desc->b_mode && !desc->b_scale);
    if (!d || unscaled || (k > 0 && (!a || !b)) || (!c && !no_beta) || (desc->epilogue & WITH_AUX && !desc->aux) ||
        (desc->epilogue & WITH_BIAS && !desc->bias))
        return MUBLAS_STATUS_INVALID_POINTER;
    if (!aligned(a, a_layout) || !aligned(b, b_layout) || !aligned(c, c_layout) || !aligned(d, d_layout))
        return MUBLAS_STATUS_INVALID_VALUE;
    bool in_place = c == d && (c_layout->ld != d_layout->ld || c_layout->order != d_layout->order ||
                               c_layout->type != d_layout->type);
    if (in_place && !no_beta)
        return MUBLAS_STATUS_INVALID_VALUE;
    const void **const place[] = {&call.a, &call.b, &call.c, &call.alpha_at, &call.beta_at};
    for (size_t i = 0; i < sizeof place / sizeof *place; i++)
        *place[i] = maths_operand(*place[i]);
    call.d = maths_operand(d);
    if (lt_scaled(desc)) {
        call.scales[0] = (struct lt_scales){desc->a_mode, maths_operand(desc->a_scale), (size_t)m, (size_t)k};
        call.scales[1] = (struct lt_scales){desc->b_mode, maths_operand(desc->b_scale), (size_t)n, (size_t)k};
        call.desc.a_scale = call.desc.b_scale = NULL;
    }
    call.desc.bias = maths_operand(desc->bias);
    call.desc.aux = maths_operand(desc->aux);
    return lt_submit(stream, run, &call, sizeof call, 8 * m * n * (k + 1) * d_layout->batch);
}
