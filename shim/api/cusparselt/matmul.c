/* cuSPARSELt: plans and products, pruning and compression. */
#include <string.h>

#include "api/cusparselt/lt.h"

static int done(mudnnStatus_t status, const char *symbol)
{
    switch (status) {
    case MUDNN_STATUS_SUCCESS: return CUSPARSE_STATUS_SUCCESS;
    case MUDNN_STATUS_ALLOC_FAILED: return CUSPARSE_STATUS_ALLOC_FAILED;
    case MUDNN_STATUS_NOT_SUPPORTED:
        cumu_gap("cusparselt", symbol, "the library below has no structured sparsity");
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    default: return CUSPARSE_STATUS_EXECUTION_FAILED;
    }
}

size_t lt_size(int type)
{
    switch (type) {
    case MUDNN_DATA_FLOAT:
    case MUDNN_DATA_INT32: return 4;
    case MUDNN_DATA_HALF:
    case MUDNN_DATA_BFLOAT16: return 2;
    default: return 1;
    }
}
/* Does it begin where numbers of the type may? NULL does. */
static bool is_aligned(const void *p, int type) { return (uintptr_t)p % lt_size(type) == 0; }

/* ---- plans ------------------------------------------------------------------------------------- */

int wrap_cusparseLtMatmulPlanInit(const void *handle, void *plan, const void *matmul, const void *choice)
{
    struct lt_plan p = {.kind = LT_PLAN};
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(plan && lt_take(LT_MATMUL, matmul, &p.matmul, sizeof p.matmul) &&
                  lt_take(LT_CHOICE, choice, &p.choice, sizeof p.choice));
    memcpy(plan, &p, sizeof p);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtMatmulPlanDestroy(const void *plan) { return lt_forget(LT_PLAN, plan); }

int wrap_cusparseLtMatmulGetWorkspace(const void *handle, const void *plan, size_t *size)
{
    struct lt_plan p;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_PLAN, plan, &p, sizeof p) && size);
    *size = 0;
    return CUSPARSE_STATUS_SUCCESS;
}

/* Products of narrow integers have a bias of floats, all others one of D's type, or of C's where D is of eight bits. */
static int bias_type(const struct lt_matmul *m)
{
    if (m->m[0].type == CUDA_R_8I)
        return MUDNN_DATA_FLOAT;
    int d = m->m[3].type;
    return lt_type(d == CUDA_R_8F_E4M3 || d == CUDA_R_8F_E5M2 ? m->m[2].type : d);
}

/* alpha and beta are floats of the host, or vectors of the device. */
static int multiply(const void *handle, const void *plan, const void *alpha, const void *a, const void *b,
                    const void *beta, const void *c, void *d, const void *streams, int count, const char *symbol)
{
    struct lt_plan p;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_PLAN, plan, &p, sizeof p) && alpha && beta && a && b && d && count >= 0);
    LT_BAD_UNLESS(!count || streams);
    const struct lt_matmul *m = &p.matmul;
    struct mudnn_structured left = lt_lines(&m->m[0], lt_transposed(m, 0), false);
    struct mudnn_structured right = lt_lines(&m->m[1], lt_transposed(m, 1), true);
    struct mudnn_structured_product w = {.sparse_is_a = m->m[0].structured,
                                         .c = lt_lines(&m->m[2], false, false),
                                         .d = lt_lines(&m->m[3], false, false),
                                         .rows = left.lines,
                                         .columns = right.lines,
                                         .batches = m->m[3].batches,
                                         .c_at = c,
                                         .d_at = d,
                                         .bias_at = m->bias,
                                         .bias_step = m->bias_stride,
                                         .relu = m->relu,
                                         .gelu = m->gelu,
                                         .threshold = (double)m->threshold,
                                         .upper = (double)m->upper,
                                         .gelu_scale = (double)m->gelu_scale};
    w.bias_type = bias_type(m);
    w.sparse = w.sparse_is_a ? left : right;
    w.dense = w.sparse_is_a ? right : left;
    w.sparse_at = w.sparse_is_a ? a : b;
    w.dense_at = w.sparse_is_a ? b : a;
    if (m->alpha_vector)
        w.alpha_at = alpha;
    else
        w.alpha = (double)*(const float *)alpha;
    if (m->beta_vector)
        w.beta_at = beta;
    else
        w.beta = (double)*(const float *)beta;
    LT_BAD_UNLESS(c || (!w.beta_at && w.beta == 0));
    LT_BAD_UNLESS(is_aligned(a, left.type) && is_aligned(b, right.type) && is_aligned(c, w.c.type) &&
                  is_aligned(d, w.d.type) && is_aligned(w.bias_at, w.bias_type));
    LT_BAD_UNLESS(is_aligned(w.alpha_at, MUDNN_DATA_FLOAT) && is_aligned(w.beta_at, MUDNN_DATA_FLOAT));
    LT_BAD_UNLESS(w.bias_step >= 0 && mudnn_times(w.batches, w.bias_step) < MUDNN_MOST);
    musaStream_t stream = count ? *(const musaStream_t *)streams : NULL;
    return done(mu.mudnnHostStructuredProduct(stream, &w), symbol);
}
int wrap_cusparseLtMatmul(const void *handle, const void *plan, const void *alpha, const void *a, const void *b,
                          const void *beta, const void *c, void *d, void *space, void *streams, int count)
{
    (void)space;
    return multiply(handle, plan, alpha, a, b, beta, c, d, streams, count, "cusparseLtMatmul");
}
/* There is one algorithm to find; D is written, as by a search. */
int wrap_cusparseLtMatmulSearch(const void *handle, void *plan, const void *alpha, const void *a, const void *b,
                                const void *beta, const void *c, void *d, void *space, void *streams, int count)
{
    (void)space;
    return multiply(handle, plan, alpha, a, b, beta, c, d, streams, count, "cusparseLtMatmulSearch");
}

/* ---- pruning and compression ------------------------------------------------------------------- */

/* The lines of a structured matrix that stands on a side of a product. */
static int lines_of(struct mudnn_structured *to, const void *handle, const void *desc, int is_a, int op)
{
    struct lt_matrix m;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATRIX, desc, &m, sizeof m) && m.structured);
    LT_BAD_UNLESS(op == CUSPARSE_OPERATION_NON_TRANSPOSE || op == CUSPARSE_OPERATION_TRANSPOSE);
    *to = lt_lines(&m, op == CUSPARSE_OPERATION_TRANSPOSE, !is_a);
    return CUSPARSE_STATUS_SUCCESS;
}
static int lines_of_matmul(struct mudnn_structured *to, const void *handle, const struct lt_matmul *m)
{
    int operand = m->m[0].structured ? 0 : 1;
    return lines_of(to, handle, &m->m[operand], !operand, m->op[operand]);
}
static int structure(const struct mudnn_structured *m, int what, const void *in, void *out, cudaStream_t stream,
                     const char *symbol)
{
    LT_BAD_UNLESS(in && out && is_aligned(in, m->type));
    LT_BAD_UNLESS(is_aligned(out, what == MUDNN_STRUCTURE_CHECK ? MUDNN_DATA_INT32 : m->type));
    return done(mu.mudnnHostStructure((musaStream_t)stream, what, m, in, out), symbol);
}
static int prune(const struct mudnn_structured *m, const void *in, void *out, int alg, cudaStream_t stream,
                 const char *symbol)
{
    LT_BAD_UNLESS(alg == CUSPARSELT_PRUNE_SPMMA_TILE || alg == CUSPARSELT_PRUNE_SPMMA_STRIP);
    return structure(m, alg == CUSPARSELT_PRUNE_SPMMA_TILE ? MUDNN_STRUCTURE_TILE : MUDNN_STRUCTURE_STRIP, in, out,
                     stream, symbol);
}

int wrap_cusparseLtSpMMAPrune(const void *handle, const void *matmul, const void *in, void *out, int alg,
                              cudaStream_t stream)
{
    struct lt_matmul m;
    struct mudnn_structured s;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATMUL, matmul, &m, sizeof m));
    int r = lines_of_matmul(&s, handle, &m);
    return r ? r : prune(&s, in, out, alg, stream, "cusparseLtSpMMAPrune");
}
int wrap_cusparseLtSpMMAPrune2(const void *handle, const void *desc, int is_a, int op, const void *in, void *out,
                               int alg, cudaStream_t stream)
{
    struct mudnn_structured s;
    int r = lines_of(&s, handle, desc, is_a, op);
    return r ? r : prune(&s, in, out, alg, stream, "cusparseLtSpMMAPrune2");
}

int wrap_cusparseLtSpMMAPruneCheck(const void *handle, const void *matmul, const void *in, int *valid,
                                   cudaStream_t stream)
{
    struct lt_matmul m;
    struct mudnn_structured s;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATMUL, matmul, &m, sizeof m));
    int r = lines_of_matmul(&s, handle, &m);
    return r ? r : structure(&s, MUDNN_STRUCTURE_CHECK, in, valid, stream, "cusparseLtSpMMAPruneCheck");
}
int wrap_cusparseLtSpMMAPruneCheck2(const void *handle, const void *desc, int is_a, int op, const void *in, int *valid,
                                    cudaStream_t stream)
{
    struct mudnn_structured s;
    int r = lines_of(&s, handle, desc, is_a, op);
    return r ? r : structure(&s, MUDNN_STRUCTURE_CHECK, in, valid, stream, "cusparseLtSpMMAPruneCheck2");
}

static int sizes(const struct lt_matrix *m, size_t *compressed, size_t *buffer)
{
    struct mudnn_structured s = lt_lines(m, false, false);
    LT_BAD_UNLESS(m->structured && compressed && buffer);
    *compressed = mudnn_structured_bytes(&s, lt_size(s.type)) * (size_t)(s.batch_step ? s.batches : 1);
    *buffer = 0;
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtSpMMACompressedSize(const void *handle, const void *plan, size_t *compressed, size_t *buffer)
{
    struct lt_plan p;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_PLAN, plan, &p, sizeof p));
    return sizes(&p.matmul.m[p.matmul.m[0].structured ? 0 : 1], compressed, buffer);
}
int wrap_cusparseLtSpMMACompressedSize2(const void *handle, const void *desc, size_t *compressed, size_t *buffer)
{
    struct lt_matrix m;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATRIX, desc, &m, sizeof m));
    return sizes(&m, compressed, buffer);
}
int wrap_cusparseLtSpMMACompress(const void *handle, const void *plan, const void *in, void *out, void *buffer,
                                 cudaStream_t stream)
{
    struct lt_plan p;
    struct mudnn_structured s;
    (void)buffer;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_PLAN, plan, &p, sizeof p));
    int r = lines_of_matmul(&s, handle, &p.matmul);
    return r ? r : structure(&s, MUDNN_STRUCTURE_COMPRESS, in, out, stream, "cusparseLtSpMMACompress");
}
int wrap_cusparseLtSpMMACompress2(const void *handle, const void *desc, int is_a, int op, const void *in, void *out,
                                  void *buffer, cudaStream_t stream)
{
    struct mudnn_structured s;
    (void)buffer;
    int r = lines_of(&s, handle, desc, is_a, op);
    return r ? r : structure(&s, MUDNN_STRUCTURE_COMPRESS, in, out, stream, "cusparseLtSpMMACompress2");
}
