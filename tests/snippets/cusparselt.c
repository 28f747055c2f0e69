/* cuSPARSELt: every wrapper once. What they compute is in tests/cusparselt. */
#include "snippet.h"

typedef struct {
    char data[512];
} opaque;

void snippet_cusparselt(void)
{
    opaque handle, a, b, d, matmul, choice, plan;
    const float one = 1, zero = 0, ones = 1;
    float *memory[4], host[64], got = -1;
    int version = 0, value = 0, *valid;
    size_t size = 0, room = 9;
    if (!snippet_below("mudnnHostPointwise"))
        return;
    OK(C(cusparseLtInit)(&handle));
    OK(C(cusparseLtGetVersion)(&handle, &version));
    EXPECT(version > 0);
    OK(C(cusparseLtGetProperty)(0, &value));
    EXPECT(!strcmp(C(cusparseLtGetErrorName)(0), "CUSPARSE_STATUS_SUCCESS"));
    EXPECT(C(cusparseLtGetErrorString)(3) != NULL);
    OK(C(cusparseLtStructuredDescriptorInit)(&handle, &a, 8, 8, 8, 16, 0, 2, 0));
    OK(C(cusparseLtDenseDescriptorInit)(&handle, &b, 8, 8, 8, 16, 0, 2));
    OK(C(cusparseLtDenseDescriptorInit)(&handle, &d, 8, 8, 8, 16, 0, 2));
    OK(C(cusparseLtMatDescGetAttribute)(&handle, &a, 0, &value, sizeof value));
    IS(value, 1);
    OK(C(cusparseLtMatDescSetAttribute)(&handle, &a, 0, &value, sizeof value));
    OK(C(cusparseLtMatmulDescriptorInit)(&handle, &matmul, 0, 0, &a, &b, &d, &d, 2));
    OK(C(cusparseLtMatmulDescSetAttribute)(&handle, &matmul, 0, &value, sizeof value));
    OK(C(cusparseLtMatmulDescGetAttribute)(&handle, &matmul, 0, &value, sizeof value));
    IS(value, 1);
    OK(C(cusparseLtMatmulAlgSelectionInit)(&handle, &choice, &matmul, 0));
    OK(C(cusparseLtMatmulAlgGetAttribute)(&handle, &choice, 0, &value, sizeof value));
    OK(C(cusparseLtMatmulAlgSetAttribute)(&handle, &choice, 0, &value, sizeof value));
    OK(C(cusparseLtMatmulPlanInit)(&handle, &plan, &matmul, &choice));
    OK(C(cusparseLtMatmulGetWorkspace)(&handle, &plan, &size));
    for (int i = 0; i < 64; i++)
        host[i] = ones;
    for (int i = 0; i < 4; i++)
        OK(M(cudaMalloc, musaMalloc)((void **)&memory[i], 4096));
    OK(M(cudaMemcpy, musaMemcpy)(memory[0], host, sizeof host, 1));
    OK(M(cudaMemcpy, musaMemcpy)(memory[1], host, sizeof host, 1));
    valid = (int *)memory[3];
    OK(C(cusparseLtSpMMAPrune)(&handle, &matmul, memory[0], memory[0], 0, NULL));
    OK(C(cusparseLtSpMMAPrune2)(&handle, &a, 1, 0, memory[0], memory[0], 1, NULL));
    OK(C(cusparseLtSpMMAPruneCheck)(&handle, &matmul, memory[0], valid, NULL));
    OK(C(cusparseLtSpMMAPruneCheck2)(&handle, &a, 1, 0, memory[0], valid, NULL));
    OK(M(cudaMemcpy, musaMemcpy)(&value, valid, sizeof value, 2));
    IS(value, 0);
    OK(C(cusparseLtSpMMACompressedSize)(&handle, &plan, &size, &room));
    EXPECT(size <= 4096 && !room);
    OK(C(cusparseLtSpMMACompressedSize2)(&handle, &a, &size, &room));
    OK(C(cusparseLtSpMMACompress)(&handle, &plan, memory[0], memory[2], NULL, NULL));
    OK(C(cusparseLtSpMMACompress2)(&handle, &a, 1, 0, memory[0], memory[2], NULL, NULL));
    OK(C(cusparseLtMatmul)(&handle, &plan, &one, memory[2], memory[1], &zero, memory[3], memory[3], NULL, NULL, 0));
    OK(M(cudaMemcpy, musaMemcpy)(&got, memory[3], sizeof got, 2));
    EXPECT(got == 4);
    OK(C(cusparseLtMatmulSearch)(&handle, &plan, &one, memory[2], memory[1], &zero, memory[3], memory[3], NULL, NULL,
                                 0));
    for (int i = 0; i < 4; i++)
        OK(M(cudaFree, musaFree)(memory[i]));
    OK(C(cusparseLtMatmulPlanDestroy)(&plan));
    OK(C(cusparseLtMatmulAlgSelectionDestroy)(&choice));
    OK(C(cusparseLtMatDescriptorDestroy)(&a));
    OK(C(cusparseLtDestroy)(&handle));
}
