/* The muBLASLt ABI: 26 functions are named in public sources (mapping/facts/musa.md A4) and return mublasStatus_t.
 * No declaration, attribute number or size is published: they are cuBLASLt's here, by ancestry, except where a
 * value is one of muBLAS's own enums (operations, fill modes, compute types, status). */
#ifndef CUMU_ABI_MUBLASLT_H
#define CUMU_ABI_MUBLASLT_H

#include <stdint.h>

#include "abi/mublas.h"

typedef struct mublasLtContext *mublasLtHandle_t;
typedef struct mublasLtMatmulDesc *mublasLtMatmulDesc_t;
typedef struct mublasLtMatrixLayout *mublasLtMatrixLayout_t;
typedef struct mublasLtMatmulPreference *mublasLtMatmulPreference_t;
typedef struct mublasLtMatrixTransformDesc *mublasLtMatrixTransformDesc_t;
typedef struct {
    uint64_t data[8];
} mublasLtMatmulAlgo_t;
typedef struct {
    mublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    mublasStatus_t state;
    float wavesCount;
    int reserved[4];
} mublasLtMatmulHeuristicResult_t;

#pragma GCC visibility push(default)
mublasStatus_t mublasLtCreate(mublasLtHandle_t *handle);
mublasStatus_t mublasLtDestroy(mublasLtHandle_t handle);

/* Descriptions of operations, matrices and wishes: made with their defaults, changed and read by attribute.
 * A buffer has the attribute's size; `written` may be NULL; with size 0 only the size needed is told there. */
mublasStatus_t mublasLtMatmulDescCreate(mublasLtMatmulDesc_t *desc, mublasComputeType_t compute, int scale_type);
mublasStatus_t mublasLtMatmulDescDestroy(mublasLtMatmulDesc_t desc);
mublasStatus_t mublasLtMatmulDescSetAttribute(mublasLtMatmulDesc_t desc, int attribute, const void *buf, size_t size);
mublasStatus_t mublasLtMatmulDescGetAttribute(mublasLtMatmulDesc_t desc, int attribute, void *buf, size_t size,
                                              size_t *written);
mublasStatus_t mublasLtMatrixLayoutCreate(mublasLtMatrixLayout_t *layout, int type, uint64_t rows, uint64_t cols,
                                          int64_t ld);
mublasStatus_t mublasLtMatrixLayoutDestroy(mublasLtMatrixLayout_t layout);
mublasStatus_t mublasLtMatrixLayoutSetAttribute(mublasLtMatrixLayout_t layout, int attribute, const void *buf,
                                                size_t size);
mublasStatus_t mublasLtMatrixLayoutGetAttribute(mublasLtMatrixLayout_t layout, int attribute, void *buf, size_t size,
                                                size_t *written);
mublasStatus_t mublasLtMatmulPreferenceCreate(mublasLtMatmulPreference_t *preference);
mublasStatus_t mublasLtMatmulPreferenceDestroy(mublasLtMatmulPreference_t preference);
mublasStatus_t mublasLtMatmulPreferenceSetAttribute(mublasLtMatmulPreference_t preference, int attribute,
                                                    const void *buf, size_t size);
mublasStatus_t mublasLtMatrixTransformDescCreate(mublasLtMatrixTransformDesc_t *desc, int scale_type);
mublasStatus_t mublasLtMatrixTransformDescDestroy(mublasLtMatrixTransformDesc_t desc);
mublasStatus_t mublasLtMatrixTransformDescSetAttribute(mublasLtMatrixTransformDesc_t desc, int attribute,
                                                       const void *buf, size_t size);

mublasStatus_t mublasLtMatmulAlgoGetHeuristic(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc,
                                              mublasLtMatrixLayout_t a, mublasLtMatrixLayout_t b,
                                              mublasLtMatrixLayout_t c, mublasLtMatrixLayout_t d,
                                              mublasLtMatmulPreference_t preference, int requested,
                                              mublasLtMatmulHeuristicResult_t *results, int *returned);
mublasStatus_t mublasLtMatmulAlgoGetIds(mublasLtHandle_t handle, mublasComputeType_t compute, int scale_type,
                                        int a_type, int b_type, int c_type, int d_type, int requested, int *ids,
                                        int *returned);
mublasStatus_t mublasLtMatmulAlgoInit(mublasLtHandle_t handle, mublasComputeType_t compute, int scale_type, int a_type,
                                      int b_type, int c_type, int d_type, int id, mublasLtMatmulAlgo_t *algo);
mublasStatus_t mublasLtMatmulAlgoCheck(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc, mublasLtMatrixLayout_t a,
                                       mublasLtMatrixLayout_t b, mublasLtMatrixLayout_t c, mublasLtMatrixLayout_t d,
                                       const mublasLtMatmulAlgo_t *algo, mublasLtMatmulHeuristicResult_t *result);
mublasStatus_t mublasLtMatmulAlgoCapGetAttribute(const mublasLtMatmulAlgo_t *algo, int attribute, void *buf,
                                                 size_t size, size_t *written);
mublasStatus_t mublasLtMatmulAlgoConfigSetAttribute(mublasLtMatmulAlgo_t *algo, int attribute, const void *buf,
                                                    size_t size);
mublasStatus_t mublasLtMatmulAlgoConfigGetAttribute(const mublasLtMatmulAlgo_t *algo, int attribute, void *buf,
                                                    size_t size, size_t *written);

/* d = alpha op(a) op(b) + beta c, then the epilogue; ordered like a kernel of the stream. Descriptions are read at
 * once, alpha and beta as the pointer mode says. algo NULL: the best. */
mublasStatus_t mublasLtMatmul(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                              mublasLtMatrixLayout_t a_layout, const void *b, mublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c, mublasLtMatrixLayout_t c_layout, void *d,
                              mublasLtMatrixLayout_t d_layout, const mublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_size, musaStream_t stream);
/* c = alpha op(a) + beta op(b), between types and orders. */
mublasStatus_t mublasLtMatrixTransform(mublasLtHandle_t handle, mublasLtMatrixTransformDesc_t desc, const void *alpha,
                                       const void *a, mublasLtMatrixLayout_t a_layout, const void *beta, const void *b,
                                       mublasLtMatrixLayout_t b_layout, void *c, mublasLtMatrixLayout_t c_layout,
                                       musaStream_t stream);
#pragma GCC visibility pop

#endif
