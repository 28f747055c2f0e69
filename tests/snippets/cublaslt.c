/* cuBLASLt's wrappers: descriptions of both kinds, a product with a bias, algorithms, a transformation. */
#include <stdbool.h>
#include <stdint.h>

#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

enum { F32 = CUDA_R_32F, N = 2 };
static const float one = 1, zero = 0;

static void tells(void)
{
    int part = -1;
    size_t entries = 0;
    EXPECT(C(cublasLtGetVersion)() / 10000 == 13);
    EXPECT(V(12, cublasLtGetVersion)() / 10000 == 12);
    EXPECT(V(11, cublasLtGetVersion)() / 10000 == 11);
    typedef size_t version(void);
    EXPECT(REACH(version, cublasLtGetCudartVersion)() / 1000 == 13);
    typedef int property(int, void *);
    OK(REACH(property, cublasLtGetProperty)(0, &part));
    EXPECT(part == 13);
    typedef const char *words(int);
    EXPECT(!strcmp(REACH(words, cublasLtGetStatusName)(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED"));
    EXPECT(strstr(REACH(words, cublasLtGetStatusString)(CUBLAS_STATUS_NOT_SUPPORTED), "not supported"));
    OK(C(cublasLtHeuristicsCacheSetCapacity)(100));
    OK(C(cublasLtHeuristicsCacheGetCapacity)(&entries));
    EXPECT(entries == 100);
    IS(C(cublasLtHeuristicsCacheGetCapacity)(NULL), CUBLAS_STATUS_INVALID_VALUE);
    OK(C(cublasLtLoggerSetCallback)(NULL));
    OK(C(cublasLtLoggerSetFile)(NULL));
    OK(C(cublasLtLoggerOpenFile)("/dev/null"));
    OK(C(cublasLtLoggerSetLevel)(1));
    IS(C(cublasLtLoggerSetLevel)(9), CUBLAS_STATUS_INVALID_VALUE);
    OK(C(cublasLtLoggerSetMask)(1));
    OK(C(cublasLtLoggerForceDisable)());
}

/* d = a a + bias, a = 1 3; 2 4, once with each kind of description. */
static void product(void *handle, float *device, bool own)
{
    const float a[] = {1, 2, 3, 4}, bias[] = {10, 20};
    float back[4];
    uint64_t own_desc[32], own_layout[8], own_preference[8];
    void *desc = own_desc, *layout = own_layout, *preference = own_preference, *there = device + 16;
    int epilogue = CUBLASLT_EPILOGUE_BIAS, found = 0, order = -1;
    struct {
        uint64_t algo[8], rest[4];
    } results[2];
    size_t written = 0;
    OK(M(cudaMemcpy, musaMemcpy)(device, a, sizeof a, 1));
    OK(M(cudaMemcpy, musaMemcpy)(there, bias, sizeof bias, 1));
    if (own) {
        OK(C(cublasLtMatmulDescInit_internal)(desc, sizeof own_desc, CUBLAS_COMPUTE_32F, F32));
        OK(C(cublasLtMatrixLayoutInit_internal)(layout, sizeof own_layout, F32, N, N, N));
        OK(C(cublasLtMatmulPreferenceInit_internal)(preference, sizeof own_preference));
    } else {
        OK(C(cublasLtMatmulDescCreate)(&desc, CUBLAS_COMPUTE_32F, F32));
        OK(C(cublasLtMatrixLayoutCreate)(&layout, F32, N, N, N));
        OK(C(cublasLtMatmulPreferenceCreate)(&preference));
    }
    OK(C(cublasLtMatmulDescSetAttribute)(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    OK(C(cublasLtMatmulDescSetAttribute)(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &there, sizeof there));
    epilogue = 0;
    OK(C(cublasLtMatmulDescGetAttribute)(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, &written));
    EXPECT(epilogue == CUBLASLT_EPILOGUE_BIAS && written == sizeof epilogue);
    OK(C(cublasLtMatrixLayoutSetAttribute)(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &(int){CUBLASLT_ORDER_COL}, 4));
    OK(C(cublasLtMatrixLayoutGetAttribute)(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, 4, NULL));
    EXPECT(order == CUBLASLT_ORDER_COL);
    OK(C(cublasLtMatmulPreferenceSetAttribute)(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(uint64_t){64},
                                               8));
    uint64_t space = 0;
    OK(C(cublasLtMatmulPreferenceGetAttribute)(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space, 8, NULL));
    EXPECT(space == 64);
    OK(C(cublasLtMatmulAlgoGetHeuristic)(handle, desc, layout, layout, layout, layout, preference, 2, results, &found));
    EXPECT(found == 1);
    OK(C(cublasLtMatmulAlgoCheck)(handle, desc, layout, layout, layout, layout, results, &results[1]));
    OK(C(cublasLtMatmul)(handle, desc, &one, device, layout, device, layout, &zero, NULL, layout, device + 32, layout,
                         results, NULL, 0, NULL));
    OK(M(cudaMemcpy, musaMemcpy)(back, device + 32, sizeof back, 2));
    EXPECT(back[0] == 17 && back[1] == 30 && back[2] == 25 && back[3] == 42);
    if (own)
        return;
    OK(C(cublasLtMatmulPreferenceDestroy)(preference));
    OK(C(cublasLtMatrixLayoutDestroy)(layout));
    OK(C(cublasLtMatmulDescDestroy)(desc));
}

static void algorithms(void *handle)
{
    int id = 0, count = 0;
    uint64_t algo[8];
    OK(C(cublasLtMatmulAlgoGetIds)(handle, CUBLAS_COMPUTE_32F, F32, F32, F32, F32, F32, 1, &id, &count));
    EXPECT(count == 1);
    OK(C(cublasLtMatmulAlgoInit)(handle, CUBLAS_COMPUTE_32F, F32, F32, F32, F32, F32, id, algo));
    IS(C(cublasLtMatmulAlgoInit)(NULL, CUBLAS_COMPUTE_32F, F32, F32, F32, F32, F32, id, algo),
       CUBLAS_STATUS_NOT_INITIALIZED);
}

/* c = a^T */
static void transposed(void *handle, float *device)
{
    const float a[] = {1, 2, 3, 4};
    float back[4];
    uint64_t own[8], own_layout[8];
    void *desc;
    int op = CUBLAS_OP_T, was = -1;
    OK(M(cudaMemcpy, musaMemcpy)(device, a, sizeof a, 1));
    OK(C(cublasLtMatrixTransformDescInit_internal)(own, sizeof own, F32));
    OK(C(cublasLtMatrixTransformDescCreate)(&desc, F32));
    OK(C(cublasLtMatrixLayoutInit_internal)(own_layout, sizeof own_layout, F32, N, N, N));
    for (int i = 0; i < 2; i++) {
        void *way = i ? desc : own;
        OK(C(cublasLtMatrixTransformDescSetAttribute)(way, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &op, sizeof op));
        OK(C(cublasLtMatrixTransformDescGetAttribute)(way, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &was, 4, NULL));
        EXPECT(was == op);
        OK(C(cublasLtMatrixTransform)(handle, way, &one, device, own_layout, &zero, NULL, NULL, device + 16, own_layout,
                                      NULL));
        OK(M(cudaMemcpy, musaMemcpy)(back, device + 16, sizeof back, 2));
        EXPECT(back[0] == 1 && back[1] == 3 && back[2] == 2 && back[3] == 4);
    }
    OK(C(cublasLtMatrixTransformDescDestroy)(desc));
}

static void emulation(void)
{
    uint64_t own[8];
    void *desc;
    int bits = 5;
    OK(C(cublasLtEmulationDescInit_internal)(own, sizeof own));
    OK(C(cublasLtEmulationDescCreate)(&desc));
    OK(C(cublasLtEmulationDescSetAttribute)(desc, CUBLASLT_EMULATION_DESC_STRATEGY, &bits, sizeof bits));
    bits = 0;
    OK(C(cublasLtEmulationDescGetAttribute)(desc, CUBLASLT_EMULATION_DESC_STRATEGY, &bits, sizeof bits, NULL));
    EXPECT(bits == 5);
    OK(C(cublasLtEmulationDescDestroy)(desc));
}

void snippet_cublaslt(void)
{
    void *handle = NULL, *device = NULL;
    if (C(cublasLtCreate)(&handle) == CUBLAS_STATUS_NOT_INITIALIZED) {
        printf("skip cublaslt: built without OpenBLAS\n");
        return;
    }
    OK(M(cudaMalloc, musaMalloc)(&device, 4096));
    tells();
    product(handle, device, false);
    product(handle, device, true);
    algorithms(handle);
    transposed(handle, device);
    emulation();
    OK(M(cudaFree, musaFree)(device));
    OK(C(cublasLtDestroy)(handle));
    IS(C(cublasLtDestroy)(handle), CUBLAS_STATUS_NOT_INITIALIZED);
}
