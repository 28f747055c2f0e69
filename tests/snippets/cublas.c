/* cuBLAS's wrappers: what it tells of itself, copies, 64-bit indices, scalars and results on the device. */
#include <stdint.h>

#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

#define CV(name) REACH(__typeof__(conv_##name), name)

enum { N = 6 };

static void tells(void *handle)
{
    int version = 0, part = -1;
    OK(C(cublasGetVersion_v2)(handle, &version));
    EXPECT(version / 10000 == 13);
    version = 0;
    OK(C(cublasGetVersion_v2)(NULL, &version)); /* JAX asks before it has a handle */
    EXPECT(version > 130000);
    IS(C(cublasGetVersion_v2)(handle, NULL), CUBLAS_STATUS_INVALID_VALUE);
    OK(V(12, cublasGetVersion_v2)(handle, &version));
    EXPECT(version / 10000 == 12);
    OK(V(11, cublasGetVersion_v2)(handle, &version));
    EXPECT(version / 10000 == 11);
    OK(C(cublasGetProperty)(0, &part));
    EXPECT(part == 13);
    OK(V(12, cublasGetProperty)(0, &part));
    EXPECT(part == 12);
    OK(V(11, cublasGetProperty)(1, &part));
    EXPECT(part == 11);
    IS(C(cublasGetProperty)(3, &part), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasGetProperty)(0, NULL), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT(C(cublasGetCudartVersion)() / 1000 == 13);
    EXPECT(V(12, cublasGetCudartVersion)() / 1000 == 12);
    EXPECT(V(11, cublasGetCudartVersion)() / 1000 == 11);
    EXPECT(!strcmp(C(cublasGetStatusName)(CUBLAS_STATUS_MAPPING_ERROR), "CUBLAS_STATUS_MAPPING_ERROR"));
    EXPECT(strstr(C(cublasGetStatusString)(CUBLAS_STATUS_NOT_SUPPORTED), "not supported"));
    EXPECT(strstr(C(cublasGetStatusName)(99), "unknown") && strstr(C(cublasGetStatusString)(99), "unknown"));
}

static void copies(float *device)
{
    float in[2 * N], out[2 * N] = {0};
    for (int i = 0; i < 2 * N; i++)
        in[i] = (float)(i + 1);
    /* every second of `in` to every element of the device, and back with gaps of three */
    OK(C(cublasSetVector)(4, sizeof *in, in, 2, device, 1));
    OK(C(cublasGetVector)(4, sizeof *in, device, 1, out, 3));
    EXPECT(out[0] == 1 && out[3] == 3 && out[6] == 5 && out[9] == 7 && out[1] == 0);
    OK(C(cublasSetVector_64)(N, sizeof *in, in, 1, device, 1));
    OK(C(cublasGetVector_64)(N, sizeof *in, device, 1, out, 1));
    EXPECT(!memcmp(in, out, N * sizeof *in));
    memset(out, 0, sizeof out);
    /* 2 x 3 with a leading dimension of 4 */
    OK(C(cublasSetMatrix)(2, 3, sizeof *in, in, 4, device, 2));
    OK(C(cublasGetMatrix)(2, 3, sizeof *in, device, 2, out, 3));
    EXPECT(out[0] == 1 && out[1] == 2 && out[3] == 5 && out[7] == 10 && out[2] == 0);
    OK(C(cublasSetMatrix_64)(2, 3, sizeof *in, in, 2, device, 2));
    OK(C(cublasGetMatrix_64)(2, 3, sizeof *in, device, 2, out, 2));
    EXPECT(!memcmp(in, out, N * sizeof *in));
    OK(C(cublasSetVectorAsync)(N, sizeof *in, in + N, 1, device, 1, NULL));
    OK(C(cublasGetVectorAsync)(N, sizeof *in, device, 1, out, 1, NULL));
    OK(C(cublasSetVectorAsync_64)(N, sizeof *in, in, 1, device, 1, NULL));
    OK(C(cublasGetVectorAsync_64)(N, sizeof *in, device, 1, out + N, 1, NULL));
    OK(M(cudaStreamSynchronize, musaStreamSynchronize)(NULL));
    EXPECT(!memcmp(in + N, out, N * sizeof *in) && !memcmp(in, out + N, N * sizeof *in));
    OK(C(cublasSetMatrixAsync)(2, 3, sizeof *in, in, 4, device, 2, NULL));
    OK(C(cublasGetMatrixAsync)(2, 3, sizeof *in, device, 2, out, 2, NULL));
    OK(C(cublasSetMatrixAsync_64)(2, 3, sizeof *in, in, 4, device, 2, NULL));
    OK(C(cublasGetMatrixAsync_64)(2, 3, sizeof *in, device, 2, out, 2, NULL));
    OK(M(cudaStreamSynchronize, musaStreamSynchronize)(NULL));
    EXPECT(out[0] == 1 && out[2] == 5 && out[5] == 10);
    OK(C(cublasSetVector)(0, 4, NULL, 1, NULL, 1));
    IS(C(cublasSetVector)(-1, 4, in, 1, device, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasSetVector)(1, 0, in, 1, device, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasGetVector)(1, 4, device, 0, out, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasSetMatrix)(4, 1, 4, in, 3, device, 4), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasGetMatrix)(1, 1, 4, NULL, 1, out, 1), CUBLAS_STATUS_INVALID_VALUE);
}

/* The place of the first greatest and least of n numbers of which one is 9 and one is 1. */
static void indices(void *handle, void *device)
{
    double numbers[2 * N];
    int64_t at, *there = (int64_t *)((char *)device + 256);
    struct {
        int (*max)(void *, long, const void *, long, void *), (*min)(void *, long, const void *, long, void *);
        size_t size;
    } kinds[] = {{C(cublasIsamax_v2_64), C(cublasIsamin_v2_64), 4},
                 {C(cublasIdamax_v2_64), C(cublasIdamin_v2_64), 8},
                 {C(cublasIcamax_v2_64), C(cublasIcamin_v2_64), 4},
                 {C(cublasIzamax_v2_64), C(cublasIzamin_v2_64), 8}};
    for (int k = 0; k < 4; k++) {
        int parts = k < 2 ? 1 : 2;
        for (int i = 0; i < N * parts; i++) {
            double v = i == 2 * parts ? 9 : i == 4 * parts ? 0 : 5;
            if (kinds[k].size == 4)
                ((float *)numbers)[i] = (float)v;
            else
                numbers[i] = v;
        }
        OK(M(cudaMemcpy, musaMemcpy)(device, numbers, kinds[k].size * (size_t)(N * parts), 1));
        at = -1;
        OK(kinds[k].max(handle, N, device, 1, &at));
        EXPECT(at == 3);
        OK(kinds[k].min(handle, N, device, 1, &at));
        EXPECT(at == 5);
        OK(CV(cublasSetPointerMode_v2)(handle, CUBLAS_POINTER_MODE_DEVICE));
        OK(M(cudaMemset, musaMemset)(there, 0xff, sizeof *there));
        OK(kinds[k].max(handle, N, device, 1, there));
        OK(M(cudaMemcpy, musaMemcpy)(&at, there, sizeof at, 2));
        EXPECT(at == 3);
        OK(CV(cublasSetPointerMode_v2)(handle, CUBLAS_POINTER_MODE_HOST));
        IS(kinds[k].max(handle, 1L << 31, device, 1, &at), CUBLAS_STATUS_NOT_SUPPORTED);
        IS(kinds[k].max(NULL, N, device, 1, &at), CUBLAS_STATUS_NOT_INITIALIZED);
        IS(kinds[k].max(handle, N, device, 1, NULL), CUBLAS_STATUS_INVALID_VALUE);
    }
}

/* x = (3, 4) of f64 and complex f32 as arguments say. */
static void typed(void *handle, void *device)
{
    const double numbers[] = {3, 4}, two = 2;
    double out = 0, back[2];
    float pair[2];
    enum { F32 = CUDA_R_32F, F64 = CUDA_R_64F, C32 = CUDA_C_32F };
    OK(M(cudaMemcpy, musaMemcpy)(device, numbers, sizeof numbers, 1));
    OK(C(cublasNrm2Ex)(handle, 2, device, F64, 1, &out, F64, F64));
    EXPECT(out == 5);
    OK(C(cublasDotEx)(handle, 2, device, F64, 1, device, F64, 1, &out, F64, F64));
    EXPECT(out == 25);
    OK(C(cublasScalEx)(handle, 2, &two, F64, device, F64, 1, F64));
    OK(C(cublasAxpyEx)(handle, 2, &two, F64, device, F64, 1, device, F64, 1, F64));
    OK(M(cudaMemcpy, musaMemcpy)(back, device, sizeof back, 2));
    EXPECT(back[0] == 18 && back[1] == 24);
    OK(C(cublasScalEx_64)(handle, 2, &two, F64, device, F64, 1, F64));
    OK(C(cublasAxpyEx_64)(handle, 1, &two, F64, device, F64, 1, device, F64, 1, F64));
    OK(C(cublasNrm2Ex_64)(handle, 1, device, F64, 1, &out, F64, F64));
    EXPECT(out == 108);
    OK(C(cublasDotEx_64)(handle, 1, device, F64, 1, device, F64, 1, &out, F64, F64));
    EXPECT(out == 11664);
    const float complex_one[] = {3, 4};
    OK(M(cudaMemcpy, musaMemcpy)(device, complex_one, sizeof complex_one, 1));
    OK(C(cublasDotcEx)(handle, 1, device, C32, 1, device, C32, 1, pair, C32, C32));
    EXPECT(pair[0] == 25 && pair[1] == 0);
    OK(C(cublasDotcEx_64)(handle, 1, device, C32, 1, device, C32, 1, pair, C32, C32));
    OK(C(cublasDotEx)(handle, 1, device, C32, 1, device, C32, 1, pair, C32, C32));
    EXPECT(pair[0] == -7 && pair[1] == 24);
    OK(C(cublasNrm2Ex)(handle, 1, device, C32, 1, pair, F32, F32));
    EXPECT(pair[0] == 5);
    IS(C(cublasNrm2Ex)(handle, 1, device, F32, 1, &out, F64, F64), CUBLAS_STATUS_NOT_SUPPORTED);
    IS(C(cublasAxpyEx)(handle, 1, &two, F64, device, F32, 1, device, F32, 1, F32), CUBLAS_STATUS_NOT_SUPPORTED);
    IS(C(cublasScalEx)(NULL, 1, &two, F64, device, F64, 1, F64), CUBLAS_STATUS_NOT_INITIALIZED);
}

/* c = 2 a a^T or 2 a a^H + c of one complex number, 3 + 4i. */
static void ranks(void *handle, void *device)
{
    const float a[] = {3, 4}, alpha[] = {2, 0}, one[] = {1, 0};
    float c[2];
    void *at = (char *)device + 256;
    enum { C32 = CUDA_C_32F, LOWER = CUBLAS_FILL_MODE_LOWER, N_OP = CUBLAS_OP_N };
    typedef __typeof__(wrap_cublasCsyrkEx) narrow;
    typedef __typeof__(wrap_cublasCsyrkEx_64) wide;
    const struct {
        narrow *narrow;
        wide *wide;
        float re, im;
    } kinds[] = {
        {C(cublasCsyrkEx), C(cublasCsyrkEx_64), -14, 48},
        {C(cublasCsyrk3mEx), C(cublasCsyrk3mEx_64), -14, 48},
        {C(cublasCherkEx), C(cublasCherkEx_64), 50, 0},
        {C(cublasCherk3mEx), C(cublasCherk3mEx_64), 50, 0},
    };
    for (int k = 0; k < 4; k++) {
        OK(M(cudaMemcpy, musaMemcpy)(device, a, sizeof a, 1));
        OK(M(cudaMemset, musaMemset)(at, 0, sizeof c));
        OK(kinds[k].narrow(handle, LOWER, N_OP, 1, 1, alpha, device, C32, 1, one, at, C32, 1));
        OK(kinds[k].wide(handle, LOWER, N_OP, 1, 1, alpha, device, C32, 1, one, at, C32, 1));
        OK(M(cudaMemcpy, musaMemcpy)(c, at, sizeof c, 2));
        EXPECT(c[0] == 2 * kinds[k].re && c[1] == 2 * kinds[k].im);
        IS(kinds[k].narrow(handle, 7, N_OP, 1, 1, alpha, device, C32, 1, one, at, C32, 1), CUBLAS_STATUS_INVALID_VALUE);
        IS(kinds[k].narrow(handle, LOWER, N_OP, 1, 1, alpha, device, CUDA_C_8I, 1, one, at, C32, 1),
           CUBLAS_STATUS_NOT_SUPPORTED);
    }
}

void snippet_cublas(void)
{
    void *handle = NULL, *device = NULL;
    if (CV(cublasCreate_v2)(&handle) == CUBLAS_STATUS_NOT_INITIALIZED) {
        printf("skip cublas: built without OpenBLAS\n");
        return;
    }
    OK(M(cudaMalloc, musaMalloc)(&device, 4096));
    tells(handle);
    copies(device);
    indices(handle, device);
    typed(handle, device);
    ranks(handle, device);
    OK(C(cublasSetWorkspace_v2)(handle, device, 1024));
    IS(C(cublasSetWorkspace_v2)(handle, (char *)device + 8, 1024), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasSetWorkspace_v2)(NULL, device, 1024), CUBLAS_STATUS_NOT_INITIALIZED);
    IS(CV(cublasSaxpy_v2_64)(handle, 1L << 31, NULL, NULL, 1, NULL, 1), CUBLAS_STATUS_NOT_SUPPORTED);
    OK(M(cudaFree, musaFree)(device));
    OK(C(cublasDestroy_v2)(handle));
    IS(C(cublasDestroy_v2)(handle), CUBLAS_STATUS_NOT_INITIALIZED);
}
