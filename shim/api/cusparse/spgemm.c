/* cuSPARSE's products of sparse matrices on muSPARSE's stages.
 *
 * cuSPARSE tells the size of the result before the program gives it arrays, and never asks for row offsets before;
 * muSPARSE counts into the row offsets of the result. So the first buffer holds row offsets, with which the result
 * is counted, and the last step counts again into the program's own. */
#include <stdlib.h>
#include <string.h>

#include "api/cusparse/spmat.h"
#include "core/guard.h"

/* cusparseSpGEMMDescr_t. */
struct product {
    void *offsets; /* the program's first buffer */
    void *buffer;  /* and muSPARSE's */
    const struct cumu_spmat *a, *b;
};

int wrap_cusparseSpGEMM_createDescr(void *out)
{
    CUSPARSE_CHECK(out);
    struct product *p = calloc(1, sizeof *p);
    *(struct product **)out = p;
    return p ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

int wrap_cusparseSpGEMM_destroyDescr(void *descr)
{
    CUSPARSE_CHECK(descr);
    free(descr);
    return CUSPARSE_STATUS_SUCCESS;
}

struct operands {
    void *h;
    int opa, opb;
    const void *alpha, *beta;
    const struct cumu_spmat *a, *b, *c;
    int compute, alg;
};
/* One stage of muSPARSE's alpha * A * B + beta * D. SDK 4.3.5 throws C++ exceptions out of some. */
struct stage {
    const struct operands *o;
    const void *d;
    int which;
    size_t *size;
    void *buffer;
};
static int run_stage(void *stage)
{
    const struct stage *s = stage;
    const struct operands *o = s->o;
    return mu.musparseSpGEMM(o->h, cumu_cusparse_op(o->opa), cumu_cusparse_op(o->opb), o->alpha, o->a->mu, o->b->mu,
                             o->beta, s->d, o->c->mu, o->compute, cumu_cusparseSpGEMMAlg_t_to_musa(o->alg), s->which,
                             s->size, s->buffer);
}
static int stage_with(const struct operands *o, const void *d, int which, size_t *size, void *buffer)
{
    struct stage s = {o, d, which, size, buffer};
    int r = cumu_guarded(run_stage, &s, MUSPARSE_STATUS_THROWN_EXCEPTION);
    if (r == MUSPARSE_STATUS_THROWN_EXCEPTION)
        cumu_gap("cusparse", "cusparseSpGEMM", "muSPARSE threw an exception");
    return CUSPARSE(r);
}
static int stage(const struct operands *o, int which, size_t *size, void *buffer)
{
    return stage_with(o, NULL, which, size, buffer);
}

static int check(const struct operands *o, const void *descr)
{
    CUSPARSE_CHECK(descr && o->alpha);
    CUSPARSE_OWN(o->a, "cusparseSpGEMM");
    CUSPARSE_OWN(o->b, "cusparseSpGEMM");
    CUSPARSE_OWN(o->c, "cusparseSpGEMM");
    if (o->c->format != CUSPARSE_FORMAT_CSR)
        return cumu_cusparse_format(o->c, "cusparseSpGEMM");
    return CUSPARSE_STATUS_SUCCESS;
}

static size_t offsets_size(const struct cumu_spmat *c)
{
    size_t size = ((size_t)c->rows + 1) * (c->offsets_type == CUSPARSE_INDEX_64I ? 8 : 4);
    return (size + 255) / 256 * 256;
}

/* Counts the result into the first buffer; its descriptor has its nnz then, and no arrays of its own. */
static int count(const struct operands *o, struct product *p, void *buffer)
{
    size_t size = 0;
    p->buffer = buffer;
    int r = CUSPARSE(mu.musparseCsrSetPointers(o->c->mu, p->offsets, o->c->indices, o->c->values));
    return r ? r : stage(o, MUSPARSE_SPGEMM_STAGE_NNZ, &size, buffer);
}

/* Into the arrays that the program has set since. */
static int fill(const struct operands *o, struct product *p)
{
    size_t size = 0;
    CUSPARSE_CHECK(p->offsets && o->c->offsets);
    int r = CUSPARSE(mu.musparseCsrSetPointers(o->c->mu, o->c->offsets, o->c->indices, o->c->values));
    r = r ? r : stage(o, MUSPARSE_SPGEMM_STAGE_NNZ, &size, p->buffer);
    return r ? r : stage(o, MUSPARSE_SPGEMM_STAGE_COMPUTE, &size, p->buffer);
}

#define OPERANDS(name, alpha_, beta_) \
    struct operands name = {h, opa, opb, alpha_, beta_, a, b, c, compute, alg}; \
    struct product *p = descr; \
    int r = check(&name, p); \
    if (r) \
    return r

int wrap_cusparseSpGEMM_workEstimation(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                                       const void *beta, void *c, int compute, int alg, void *descr, void *size,
                                       void *buffer)
{
    OPERANDS(o, alpha, beta);
    CUSPARSE_CHECK(size);
    if (!buffer)
        *(size_t *)size = offsets_size(o.c);
    else
        p->offsets = buffer;
    p->a = a;
    p->b = b;
    return CUSPARSE_STATUS_SUCCESS;
}

/* Each element of A meets a row of B: counted on the host, for those who ask. */
int wrap_cusparseSpGEMM_getNumProducts(void *descr, void *products)
{
    const struct product *p = descr;
    CUSPARSE_CHECK(p && products && p->a);
    size_t wide = p->a->index_type == CUSPARSE_INDEX_64I ? 8 : 4, n = (size_t)p->a->nnz, rows = (size_t)p->b->rows;
    char *columns = malloc(n * wide + 1), *offsets = malloc((rows + 1) * wide);
    int r = CUSPARSE_STATUS_ALLOC_FAILED;
    int64_t total = 0;
    if (columns && offsets) {
        r = mu.musaMemcpy(columns, p->a->indices, n * wide, musaMemcpyDeviceToHost) ||
                    mu.musaMemcpy(offsets, p->b->offsets, (rows + 1) * wide, musaMemcpyDeviceToHost)
                ? CUSPARSE_STATUS_EXECUTION_FAILED
                : CUSPARSE_STATUS_SUCCESS;
#define AT(array, i) (wide == 8 ? ((const int64_t *)(array))[i] : ((const int32_t *)(array))[i])
        for (size_t k = 0; !r && k < n; k++) {
            int64_t row = AT(columns, k) - p->a->base;
            if (row < 0 || row >= (int64_t)rows)
                r = CUSPARSE_STATUS_INVALID_VALUE;
            else
                total += AT(offsets, row + 1) - AT(offsets, row);
        }
    }
    free(columns);
    free(offsets);
    if (!r)
        *(int64_t *)products = total;
    return r;
}

int wrap_cusparseSpGEMM_estimateMemory(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                                       const void *beta, void *c, int compute, int alg, void *descr, float fraction,
                                       void *size3, void *buffer3, void *size2)
{
    OPERANDS(o, alpha, beta);
    CUSPARSE_CHECK(size3 && fraction > 0 && fraction <= 1);
    if (!buffer3) {
        *(size_t *)size3 = 16; /* nothing is estimated in it */
        return CUSPARSE_STATUS_SUCCESS;
    }
    CUSPARSE_CHECK(size2);
    return stage(&o, MUSPARSE_SPGEMM_STAGE_BUFFER_SIZE, size2, NULL);
}

int wrap_cusparseSpGEMM_compute(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                                const void *beta, void *c, int compute, int alg, void *descr, void *size, void *buffer)
{
    OPERANDS(o, alpha, beta);
    CUSPARSE_CHECK(size);
    if (!buffer)
        return stage(&o, MUSPARSE_SPGEMM_STAGE_BUFFER_SIZE, size, NULL);
    CUSPARSE_CHECK(p->offsets);
    return count(&o, p, buffer);
}

int wrap_cusparseSpGEMM_copy(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                             const void *beta, void *c, int compute, int alg, void *descr)
{
    OPERANDS(o, alpha, beta);
    return fill(&o, p);
}

/* ---- a result whose structure is used again: here the structure is found as above, and kept in its arrays. The
 * scalars of the steps without values are of the matrices' type. */
static const double complex_one[2] = {1, 0};
static const float complex_onef[2] = {1, 0};
#define STRUCTURE(name) \
    const struct cumu_spmat *of = c; \
    CUSPARSE_CHECK(of); \
    int compute = of->type == CUDA_R_16F || of->type == CUDA_R_16BF ? CUDA_R_32F : of->type; \
    const void *one = compute == CUDA_R_64F || compute == CUDA_C_64F ? (const void *)complex_one : complex_onef; \
    OPERANDS(name, one, NULL)

int wrap_cusparseSpGEMMreuse_workEstimation(void *h, int opa, int opb, const void *a, const void *b, void *c, int alg,
                                            void *descr, void *size, void *buffer)
{
    STRUCTURE(o);
    CUSPARSE_CHECK(size);
    if (!buffer)
        *(size_t *)size = offsets_size(o.c);
    else
        p->offsets = buffer;
    return CUSPARSE_STATUS_SUCCESS;
}

int wrap_cusparseSpGEMMreuse_nnz(void *h, int opa, int opb, const void *a, const void *b, void *c, int alg, void *descr,
                                 void *size2, void *buffer2, void *size3, void *buffer3, void *size4, void *buffer4)
{
    STRUCTURE(o);
    CUSPARSE_CHECK(size2 && size3 && size4);
    if (!buffer2 && !buffer3 && !buffer4) {
        *(size_t *)size2 = 16;
        *(size_t *)size3 = offsets_size(o.c); /* the first buffer may be freed after this step */
        return stage(&o, MUSPARSE_SPGEMM_STAGE_BUFFER_SIZE, size4, NULL);
    }
    CUSPARSE_CHECK(buffer3 && buffer4);
    p->offsets = buffer3;
    return count(&o, p, buffer4);
}

int wrap_cusparseSpGEMMreuse_copy(void *h, int opa, int opb, const void *a, const void *b, void *c, int alg,
                                  void *descr, void *size, void *buffer)
{
    STRUCTURE(o);
    CUSPARSE_CHECK(size);
    if (!buffer) {
        *(size_t *)size = 16;
        return CUSPARSE_STATUS_SUCCESS;
    }
    return fill(&o, p);
}

int wrap_cusparseSpGEMMreuse_compute(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                                     const void *beta, void *c, int compute, int alg, void *descr)
{
    OPERANDS(o, alpha, beta);
    size_t size = 0;
    int mode;
    double value[2] = {0, 0};
    CUSPARSE_CHECK(beta && p->offsets && o.c->offsets);
    r = CUSPARSE(mu.musparseGetPointerMode(h, &mode));
    if (r)
        return r;
    /* what the result holds is added, if it is: of a beta on the device that is not known here */
    if (mode == MUSPARSE_POINTER_MODE_HOST)
        memcpy(value, beta, cumu_cusparse_size(compute));
    bool add = mode != MUSPARSE_POINTER_MODE_HOST ||
               (compute == CUDA_R_32F || compute == CUDA_C_32F ? (((float *)value)[0] != 0 || ((float *)value)[1] != 0)
                                                               : (value[0] != 0 || value[1] != 0));
    return stage_with(&o, add ? o.c->mu : NULL, MUSPARSE_SPGEMM_STAGE_COMPUTE, &size, p->buffer);
}
