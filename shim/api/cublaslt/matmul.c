/* cuBLASLt's products, their algorithms, and transformations. */
#include "api/cublaslt/lt.h"

/* muBLASLt's objects of the descriptions of a call. */
struct borrowed {
    enum cumu_lt_kind kind;
    void *object, *below;
    bool made;
};

/* Borrows n of them; NULL stays NULL where `optional`. */
static int borrow(struct borrowed *b, int n, const char *optional)
{
    for (int i = 0; i < n; i++) {
        if (!b[i].object && optional[i] == '?')
            continue;
        int r = cumu_lt_use(b[i].kind, b[i].object, &b[i].below, &b[i].made);
        if (!r)
            continue;
        while (i-- > 0)
            cumu_lt_leave(b[i].kind, b[i].below, b[i].made);
        return r;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static int give_back(struct borrowed *b, int n, mublasStatus_t status, const char *name)
{
    for (int i = 0; i < n; i++)
        cumu_lt_leave(b[i].kind, b[i].below, b[i].made);
    if (status == MUBLAS_STATUS_NOT_IMPLEMENTED)
        cumu_gap("cublaslt", name, "muBLASLt does not take these types, orders, scales or this epilogue");
    return CUBLAS(status);
}

#define LAYOUT(object) \
    { \
        CUMU_LT_LAYOUT, object, NULL, false \
    }
#define DESC(object) \
    { \
        CUMU_LT_DESC, object, NULL, false \
    }

int wrap_cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,
                        void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                        const void *algo, void *workspace, size_t workspace_size, cudaStream_t stream)
{
    struct borrowed o[] = {DESC(desc), LAYOUT(a_layout), LAYOUT(b_layout), LAYOUT(c_layout), LAYOUT(d_layout)};
    mublasLtHandle_t h = cumu_lt_handle(handle);
    int r = h ? borrow(o, 5, "...?.") : CUBLAS_STATUS_NOT_INITIALIZED;
    if (r)
        return r;
    return give_back(o, 5,
                     mu.mublasLtMatmul(h, o[0].below, alpha, a, o[1].below, b, o[2].below, beta, c, o[3].below, d,
                                       o[4].below, algo, workspace, workspace_size, (musaStream_t)stream),
                     "cublasLtMatmul");
}

int wrap_cublasLtMatrixTransform(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                                 const void *beta, const void *b, void *b_layout, void *c, void *c_layout,
                                 cudaStream_t stream)
{
    struct borrowed o[] = {
        {CUMU_LT_TRANSFORM, desc, NULL, false}, LAYOUT(a_layout), LAYOUT(b_layout), LAYOUT(c_layout)};
    mublasLtHandle_t h = cumu_lt_handle(handle);
    int r = h ? borrow(o, 4, ".??.") : CUBLAS_STATUS_NOT_INITIALIZED;
    if (r)
        return r;
    return give_back(o, 4,
                     mu.mublasLtMatrixTransform(h, o[0].below, alpha, a, o[1].below, beta, b, o[2].below, c, o[3].below,
                                                (musaStream_t)stream),
                     "cublasLtMatrixTransform");
}

int wrap_cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,
                                        int requested, void *results, int *returned)
{
    struct borrowed o[] = {DESC(desc), LAYOUT(a), LAYOUT(b),
                           LAYOUT(c),  LAYOUT(d), {CUMU_LT_PREFERENCE, preference, NULL, false}};
    mublasLtMatmulHeuristicResult_t *result = results;
    mublasLtHandle_t h = cumu_lt_handle(handle);
    int none, *count = returned ? returned : &none;
    int r = h ? borrow(o, 6, "......") : CUBLAS_STATUS_NOT_INITIALIZED;
    if (r)
        return r;
    *count = 0;
    r = give_back(o, 6,
                  mu.mublasLtMatmulAlgoGetHeuristic(h, o[0].below, o[1].below, o[2].below, o[3].below, o[4].below,
                                                    o[5].below, requested, result, count),
                  "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; !r && i < *count; i++)
        result[i].state = CUBLAS(result[i].state);
    return r;
}

int wrap_cublasLtMatmulAlgoCheck(void *handle, void *desc, void *a, void *b, void *c, void *d, const void *algo,
                                 void *out)
{
    struct borrowed o[] = {DESC(desc), LAYOUT(a), LAYOUT(b), LAYOUT(c), LAYOUT(d)};
    mublasLtMatmulHeuristicResult_t *result = out;
    mublasLtHandle_t h = cumu_lt_handle(handle);
    int r = h ? borrow(o, 5, ".....") : CUBLAS_STATUS_NOT_INITIALIZED;
    if (r)
        return r;
    if (result)
        result->state = MUBLAS_STATUS_INVALID_VALUE;
    r = give_back(
        o, 5, mu.mublasLtMatmulAlgoCheck(h, o[0].below, o[1].below, o[2].below, o[3].below, o[4].below, algo, result),
        "cublasLtMatmulAlgoCheck");
    if (result)
        result->state = CUBLAS(result->state);
    return r;
}

int wrap_cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c, int d, int requested,
                                  int *ids, int *returned)
{
    mublasLtHandle_t h = cumu_lt_handle(handle);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return CUBLAS(mu.mublasLtMatmulAlgoGetIds(h, cumu_cublasComputeType_t_to_musa(compute), scale, a, b, c, d,
                                              requested, ids, returned));
}

int wrap_cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d, int id, void *algo)
{
    mublasLtHandle_t h = cumu_lt_handle(handle);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    int type = cumu_cublasComputeType_t_to_musa(compute), first, count;
    mublasStatus_t r = mu.mublasLtMatmulAlgoInit(h, type, scale, a, b, c, d, id, algo);
    /* A number that a program knows is one of NVIDIA's kernels, which are below 100. */
    if (r == MUBLAS_STATUS_INVALID_VALUE && algo && id >= 0 && id < 100 &&
        !mu.mublasLtMatmulAlgoGetIds(h, type, scale, a, b, c, d, 1, &first, &count) && count)
        r = mu.mublasLtMatmulAlgoInit(h, type, scale, a, b, c, d, first, algo);
    return CUBLAS(r);
}
