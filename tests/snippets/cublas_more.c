/* cuBLAS's other wrappers: the interface without handles, settings, logs, level 1 of named types, products of f16 and
 * bf16 with vectors, groups of batches, and cublasXt's products of host memory. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

#define CV(name) REACH(__typeof__(conv_##name), name)
enum { F32 = CUDA_R_32F, F64 = CUDA_R_64F };

static void put(void *device, const void *host, size_t size) { OK(M(cudaMemcpy, musaMemcpy)(device, host, size, 1)); }
static void take(void *host, const void *device, size_t size) { OK(M(cudaMemcpy, musaMemcpy)(host, device, size, 2)); }

/* ---- without handles --------------------------------------------------------------------------- */

static void plain(void)
{
    float numbers[] = {3, 4}, *x = NULL;
    double back[4];
    int version = 0;
    void *at = NULL;
    C(cublasShutdown)();
    C(cublasGetError)();
    CV(cublasSscal)(1, 2, numbers, 1);
    IS(C(cublasGetError)(), CUBLAS_STATUS_NOT_INITIALIZED);
    OK(C(cublasGetError)());
    IS(C(cublasAlloc)(1, 4, &x), CUBLAS_STATUS_NOT_INITIALIZED);
    OK(C(cublasInit)());
    OK(C(cublasInit)());
    OK(C(cublasAlloc)(64, 4, &x));
    IS(C(cublasAlloc)(0, 4, &at), CUBLAS_STATUS_INVALID_VALUE);
    OK(C(cublasSetKernelStream)(NULL));
    put(x, numbers, sizeof numbers);
    EXPECT(CV(cublasSnrm2)(2, x, 1) == 5);
    EXPECT(CV(cublasIsamax)(2, x, 1) == 2);
    OK(C(cublasGetError)());
    CV(cublasSgemv)('X', 1, 1, 1, x, 1, x, 1, 0, x, 1);
    IS(C(cublasGetError)(), CUBLAS_STATUS_INVALID_VALUE);
    /* 2 * 3 * 4 in four types, in place */
    C(cublasStrmm)('L', 'u', 'N', 'n', 1, 1, 2, x, 1, x + 1, 1);
    take(numbers, x, sizeof numbers);
    EXPECT(numbers[1] == 24);
    const double pair[] = {3, 0, 4, 0};
    const float pair_f[] = {3, 0, 4, 0};
    double *d = (double *)(void *)x;
    put(x, pair, sizeof pair);
    C(cublasDtrmm)('L', 'U', 'N', 'N', 1, 1, 2, d, 1, d + 2, 1);
    take(back, x, sizeof back);
    EXPECT(back[2] == 24);
    const double two[] = {2, 0};
    const float two_f[] = {2, 0};
    struct cumu_f16 z;
    struct cumu_f8 c;
    memcpy(&z, two, sizeof z);
    memcpy(&c, two_f, sizeof c);
    put(x, pair, sizeof pair);
    C(cublasZtrmm)('R', 'L', 'C', 'N', 1, 1, z, d, 1, d + 2, 1);
    take(back, x, sizeof back);
    EXPECT(back[2] == 24 && back[3] == 0);
    put(x, pair_f, sizeof pair_f);
    C(cublasCtrmm)('R', 'L', 'T', 'N', 1, 1, c, x, 1, x + 2, 1);
    take(back, x, sizeof pair_f);
    EXPECT(((float *)back)[2] == 24 && ((float *)back)[3] == 0);
    OK(C(cublasGetError)());
    OK(C(cublasGetVersion)(&version));
    EXPECT(version / 10000 == 13);
    OK(V(12, cublasGetVersion)(&version));
    EXPECT(version / 10000 == 12);
    OK(V(11, cublasGetVersion)(&version));
    EXPECT(version / 10000 == 11);
    IS(C(cublasGetVersion)(NULL), CUBLAS_STATUS_INVALID_VALUE);
    OK(C(cublasFree)(x));
    OK(C(cublasShutdown)());
    IS(C(cublasShutdown)(), CUBLAS_STATUS_NOT_INITIALIZED);
    IS(C(cublasFree)(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
}

/* ---- settings and logs ------------------------------------------------------------------------- */

static void settings(void *handle)
{
    const struct {
        int (*set)(void *, int), (*get)(void *, void *), first;
    } all[] = {
        {C(cublasSetSmCountTarget), C(cublasGetSmCountTarget), 0},
        {C(cublasSetEmulationStrategy), C(cublasGetEmulationStrategy), 0},
        {C(cublasSetEmulationSpecialValuesSupport), C(cublasGetEmulationSpecialValuesSupport), 0xffff},
        {C(cublasSetFixedPointEmulationMantissaControl), C(cublasGetFixedPointEmulationMantissaControl), 0},
        {C(cublasSetFixedPointEmulationMaxMantissaBitCount), C(cublasGetFixedPointEmulationMaxMantissaBitCount), 0},
        {C(cublasSetFixedPointEmulationMantissaBitOffset), C(cublasGetFixedPointEmulationMantissaBitOffset), 0},
    };
    void *other, *bits = handle;
    int value = -1;
    OK(CV(cublasCreate_v2)(&other));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        OK(all[i].get(other, &value));
        EXPECT(value == all[i].first);
        OK(all[i].set(other, 3));
        OK(all[i].get(other, &value));
        EXPECT(value == 3);
        OK(all[i].get(handle, &value)); /* each handle has its own */
        EXPECT(value == all[i].first);
        IS(all[i].set(other, -2000), CUBLAS_STATUS_INVALID_VALUE);
        IS(all[i].get(other, NULL), CUBLAS_STATUS_INVALID_VALUE);
        IS(all[i].set(NULL, 0), CUBLAS_STATUS_NOT_INITIALIZED);
    }
    OK(C(cublasSetFixedPointEmulationMantissaBitCountPointer)(other, &value));
    OK(C(cublasGetFixedPointEmulationMantissaBitCountPointer)(other, &bits));
    EXPECT(bits == &value);
    OK(C(cublasSetMathMode)(other, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH | CUBLAS_PEDANTIC_MATH));
    OK(C(cublasGetMathMode)(other, &value));
    EXPECT(value == (CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH | CUBLAS_PEDANTIC_MATH));
    OK(C(cublasSetMathMode)(other, CUBLAS_DEFAULT_MATH));
    OK(C(cublasGetMathMode)(other, &value));
    EXPECT(value == CUBLAS_DEFAULT_MATH);
    IS(C(cublasSetMathMode)(other, 99), CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasSetMathMode)(NULL, 0), CUBLAS_STATUS_NOT_INITIALIZED);
    OK(C(cublasDestroy_v2)(other));
    IS(C(cublasDestroy_v2)(other), CUBLAS_STATUS_NOT_INITIALIZED);
    OK(C(cublasLoggerConfigure)(0, 0, 0, NULL));
    OK(C(cublasSetLoggerCallback)(NULL));
    OK(C(cublasGetLoggerCallback)(&bits));
    EXPECT(bits == NULL);
}

/* ---- level 1 ----------------------------------------------------------------------------------- */

static void level1(void *handle, double *device)
{
    const double start[] = {3, -4, 1, 2};
    double back[4], out = 0, *y = device + 2, a = 3, b = 4, c = 0, s = 0, param[5];
    int at = 0;
    int64_t wide = 0;
    put(device, start, sizeof start);
    OK(C(cublasAsumEx)(handle, 2, device, F64, 1, &out, F64, F64));
    EXPECT(out == 7);
    OK(C(cublasAsumEx_64)(handle, 1, device, F64, 1, &out, F64, F64));
    EXPECT(out == 3);
    OK(C(cublasIamaxEx)(handle, 2, device, F64, 1, &at));
    EXPECT(at == 2);
    OK(C(cublasIaminEx)(handle, 2, device, F64, 1, &at));
    EXPECT(at == 1);
    OK(C(cublasIamaxEx_64)(handle, 2, device, F64, 1, &wide));
    EXPECT(wide == 2);
    OK(C(cublasIaminEx_64)(handle, 2, device, F64, 1, &wide));
    EXPECT(wide == 1);
    OK(C(cublasSwapEx)(handle, 2, device, F64, 1, y, F64, 1));
    OK(C(cublasSwapEx_64)(handle, 1, device, F64, 1, y, F64, 1));
    take(back, device, sizeof back);
    EXPECT(back[0] == 3 && back[1] == 2 && back[2] == 1 && back[3] == -4);
    OK(C(cublasCopyEx)(handle, 1, device, F64, 1, y, F64, 1));
    OK(C(cublasCopyEx_64)(handle, 1, device + 1, F64, 1, y + 1, F64, 1));
    take(back, device, sizeof back);
    EXPECT(back[2] == 3 && back[3] == 2);
    const double cosine = 0, sine = 1;
    put(device, start, sizeof start);
    OK(C(cublasRotEx)(handle, 1, device, F64, 1, y, F64, 1, &cosine, &sine, F64, F64));
    OK(C(cublasRotEx_64)(handle, 1, device + 1, F64, 1, y + 1, F64, 1, &cosine, &sine, F64, F64));
    take(back, device, sizeof back);
    EXPECT(back[0] == 1 && back[1] == 2 && back[2] == -3 && back[3] == 4);
    OK(C(cublasRotgEx)(handle, &a, &b, F64, &c, &s, F64, F64));
    EXPECT(a == 5 && c == 0.6 && s == 0.8);
    const double scale[] = {-1, 2, 0, 0, 2}; /* twice both */
    OK(C(cublasRotmEx)(handle, 1, device, F64, 1, y, F64, 1, scale, F64, F64));
    OK(C(cublasRotmEx_64)(handle, 1, device, F64, 1, y, F64, 1, scale, F64, F64));
    take(back, device, sizeof back);
    EXPECT(back[0] == 4 && back[2] == -12);
    double d1 = 1, d2 = 1, x1 = 3, y1 = 0;
    OK(C(cublasRotmgEx)(handle, &d1, F64, &d2, F64, &x1, F64, &y1, F64, param, F64, F64));
    EXPECT(param[0] == -2); /* nothing to rotate */
    IS(C(cublasAsumEx)(handle, 2, device, CUDA_R_16F, 1, &out, F32, F32), CUBLAS_STATUS_NOT_SUPPORTED);
    IS(C(cublasSwapEx)(NULL, 2, device, F64, 1, y, F64, 1), CUBLAS_STATUS_NOT_INITIALIZED);
}

/* ---- products ---------------------------------------------------------------------------------- */

/* 2 * 3 in f16 and bf16; results in them or in f32. */
static void narrow(void *handle, char *device)
{
    typedef __typeof__(wrap_cublasHSHgemvBatched) lists;
    typedef __typeof__(wrap_cublasHSHgemvBatched_64) lists_64;
    typedef __typeof__(wrap_cublasHSHgemvStridedBatched) strides;
    typedef __typeof__(wrap_cublasHSHgemvStridedBatched_64) strides_64;
    const struct {
        lists *lists;
        lists_64 *lists_64;
        strides *strides;
        strides_64 *strides_64;
        unsigned short two, three, six; /* six 0: of f32 */
    } all[] = {
        {C(cublasHSHgemvBatched), C(cublasHSHgemvBatched_64), C(cublasHSHgemvStridedBatched),
         C(cublasHSHgemvStridedBatched_64), 0x4000, 0x4200, 0x4600},
        {C(cublasHSSgemvBatched), C(cublasHSSgemvBatched_64), C(cublasHSSgemvStridedBatched),
         C(cublasHSSgemvStridedBatched_64), 0x4000, 0x4200, 0},
        {C(cublasTSTgemvBatched), C(cublasTSTgemvBatched_64), C(cublasTSTgemvStridedBatched),
         C(cublasTSTgemvStridedBatched_64), 0x4000, 0x4040, 0x40c0},
        {C(cublasTSSgemvBatched), C(cublasTSSgemvBatched_64), C(cublasTSSgemvStridedBatched),
         C(cublasTSSgemvStridedBatched_64), 0x4000, 0x4040, 0},
    };
    const float one = 1, zero = 0;
    char *x = device + 64, *y = device + 128, **list = (char **)(void *)(device + 256);
    put(list, (char *[]){device, x, y}, 24);
    for (int i = 0; i < 4; i++)
        for (int form = 0; form < 4; form++) {
            float got;
            unsigned short bits;
            put(device, &all[i].two, 2);
            put(x, &all[i].three, 2);
            OK(M(cudaMemset, musaMemset)(y, 0xff, 4));
            OK(form == 0   ? all[i].lists(handle, 0, 1, 1, &one, list, 1, list + 1, 1, &zero, list + 2, 1, 1)
               : form == 1 ? all[i].lists_64(handle, 0, 1, 1, &one, list, 1, list + 1, 1, &zero, list + 2, 1, 1)
               : form == 2 ? all[i].strides(handle, 1, 1, 1, &one, device, 1, 0, x, 1, 0, &zero, y, 1, 0, 1)
                           : all[i].strides_64(handle, 1, 1, 1, &one, device, 1, 0, x, 1, 0, &zero, y, 1, 0, 1));
            take(&got, y, 4);
            memcpy(&bits, &got, 2);
            EXPECT(all[i].six ? bits == all[i].six : got == 6);
        }
    IS(all[0].strides(handle, 0, 1, 1, &one, device, 1, 0, x, -1, 0, &zero, y, 1, 0, 1), CUBLAS_STATUS_NOT_SUPPORTED);
    IS(all[0].strides(handle, 0, 1, 1, &one, device, 1, 0, x, 0, 0, &zero, y, 1, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(all[0].strides(NULL, 0, 1, 1, &one, device, 1, 0, x, 1, 0, &zero, y, 1, 0, 1), CUBLAS_STATUS_NOT_INITIALIZED);
}

/* Two groups, of two products and of one: each number times itself, times the group's factor. */
static void groups(void *handle, char *device)
{
    const int op[] = {0, 0}, ones[] = {1, 1}, count[] = {2, 1};
    const long ones_64[] = {1, 1}, count_64[] = {2, 1};
    const double numbers[] = {2, 3, 4}, alpha[] = {1, 10}, beta[] = {0, 0};
    const float numbers_f[] = {2, 3, 4}, alpha_f[] = {1, 10}, beta_f[] = {0, 0};
    char **list = (char **)(void *)(device + 256);
    enum { D = CUBLAS_COMPUTE_64F, S = CUBLAS_COMPUTE_32F };
    for (int form = 0; form < 6; form++) {
        bool d = form < 3;
        size_t size = d ? 8 : 4;
        double back[3];
        put(device, d ? (const void *)numbers : numbers_f, 3 * size);
        char *out = device + 64;
        put(list, (char *[]){device, device + size, device + 2 * size, out, out + size, out + 2 * size}, 48);
        switch (form) {
        case 0:
            OK(C(cublasDgemmGroupedBatched)(handle, op, op, ones, ones, ones, alpha, list, ones, list, ones, beta,
                                            list + 3, ones, 2, count));
            break;
        case 1:
            OK(C(cublasDgemmGroupedBatched_64)(handle, op, op, ones_64, ones_64, ones_64, alpha, list, ones_64, list,
                                               ones_64, beta, list + 3, ones_64, 2, count_64));
            break;
        case 2:
            OK(C(cublasGemmGroupedBatchedEx)(handle, op, op, ones, ones, ones, alpha, list, F64, ones, list, F64, ones,
                                             beta, list + 3, F64, ones, 2, count, D));
            break;
        case 3:
            OK(C(cublasSgemmGroupedBatched)(handle, op, op, ones, ones, ones, alpha_f, list, ones, list, ones, beta_f,
                                            list + 3, ones, 2, count));
            break;
        case 4:
            OK(C(cublasSgemmGroupedBatched_64)(handle, op, op, ones_64, ones_64, ones_64, alpha_f, list, ones_64, list,
                                               ones_64, beta_f, list + 3, ones_64, 2, count_64));
            break;
        default:
            OK(C(cublasGemmGroupedBatchedEx_64)(handle, op, op, ones_64, ones_64, ones_64, alpha_f, list, F32, ones_64,
                                                list, F32, ones_64, beta_f, list + 3, F32, ones_64, 2, count_64, S));
        }
        take(back, out, 3 * size);
        const float *f = (const float *)back;
        EXPECT(d ? back[0] == 4 && back[1] == 9 && back[2] == 160 : f[0] == 4 && f[1] == 9 && f[2] == 160);
    }
    IS(C(cublasSgemmGroupedBatched)(handle, op, op, ones, ones, ones, alpha_f, list, ones, list, ones, beta_f, list + 3,
                                    ones, -1, count),
       CUBLAS_STATUS_INVALID_VALUE);
    IS(C(cublasSgemmGroupedBatched)(NULL, op, op, ones, ones, ones, alpha_f, list, ones, list, ones, beta_f, list + 3,
                                    ones, 1, count),
       CUBLAS_STATUS_NOT_INITIALIZED);
}

/* ---- cublasXt ---------------------------------------------------------------------------------- */

/* All on one number of each type: a = 2, b = 3, c = 5 (real), alpha = 4, beta = 1. */
static void xt(void)
{
    void *x, *devices = (int[]){0};
    int value = 0;
    OK(C(cublasXtCreate)(&x));
    OK(C(cublasXtDeviceSelect)(x, 1, devices));
    IS(C(cublasXtDeviceSelect)(x, 1, (int[]){99}), CUBLAS_STATUS_INVALID_VALUE);
    OK(C(cublasXtSetBlockDim)(x, 64));
    OK(C(cublasXtGetBlockDim)(x, &value));
    EXPECT(value == 64);
    OK(C(cublasXtSetPinningMemMode)(x, 1));
    OK(C(cublasXtGetPinningMemMode)(x, &value));
    EXPECT(value == 1);
    OK(C(cublasXtSetCpuRoutine)(x, 0, 0, NULL));
    OK(C(cublasXtSetCpuRatio)(x, 0, 0, 0.5f));
    IS(C(cublasXtSetCpuRatio)(x, 0, 0, 2), CUBLAS_STATUS_INVALID_VALUE);
    OK(C(cublasXtMaxBoards)(&value));
    EXPECT(value >= 1);
    OK(C(cublasXtGetNumBoards)(1, devices, &value));
    EXPECT(value == 1);
    typedef __typeof__(wrap_cublasXtSgemm) gemm;
    typedef __typeof__(wrap_cublasXtSsyrk) rank;
    typedef __typeof__(wrap_cublasXtSsyr2k) rank2;
    typedef __typeof__(wrap_cublasXtSsymm) symm;
    typedef __typeof__(wrap_cublasXtSspmm) spmm;
    typedef __typeof__(wrap_cublasXtStrmm) trmm;
    typedef __typeof__(wrap_cublasXtStrsm) trsm;
    const struct {
        gemm *gemm;
        rank *rank[2];
        rank2 *rank2[4];
        symm *symm[2];
        spmm *spmm;
        trmm *trmm;
        trsm *trsm;
    } all[] = {
        {C(cublasXtSgemm),
         {C(cublasXtSsyrk), NULL},
         {C(cublasXtSsyr2k), C(cublasXtSsyrkx), NULL, NULL},
         {C(cublasXtSsymm), NULL},
         C(cublasXtSspmm),
         C(cublasXtStrmm),
         C(cublasXtStrsm)},
        {C(cublasXtDgemm),
         {C(cublasXtDsyrk), NULL},
         {C(cublasXtDsyr2k), C(cublasXtDsyrkx), NULL, NULL},
         {C(cublasXtDsymm), NULL},
         C(cublasXtDspmm),
         C(cublasXtDtrmm),
         C(cublasXtDtrsm)},
        {C(cublasXtCgemm),
         {C(cublasXtCsyrk), C(cublasXtCherk)},
         {C(cublasXtCsyr2k), C(cublasXtCsyrkx), C(cublasXtCher2k), C(cublasXtCherkx)},
         {C(cublasXtCsymm), C(cublasXtChemm)},
         C(cublasXtCspmm),
         C(cublasXtCtrmm),
         C(cublasXtCtrsm)},
        {C(cublasXtZgemm),
         {C(cublasXtZsyrk), C(cublasXtZherk)},
         {C(cublasXtZsyr2k), C(cublasXtZsyrkx), C(cublasXtZher2k), C(cublasXtZherkx)},
         {C(cublasXtZsymm), C(cublasXtZhemm)},
         C(cublasXtZspmm),
         C(cublasXtZtrmm),
         C(cublasXtZtrsm)},
    };
    for (int t = 0; t < 4; t++) {
        double d[5][2] = {{2}, {3}, {5}, {4}, {1}};
        float f[5][2] = {{2}, {3}, {5}, {4}, {1}};
        bool narrow = t % 2 == 0;
        size_t size = narrow ? 8 : 16;
        char *n = narrow ? (char *)f : (char *)d, *a = n, *b = n + size, *c = n + 2 * size, *alpha = n + 3 * size;
        char *beta = n + 4 * size;
#define GIVES(want, call) \
    do { \
        d[2][0] = f[2][0] = 5; \
        OK(call); \
        EXPECT((narrow ? f[2][0] : d[2][0]) == (want)); \
    } while (0)
        GIVES(29, all[t].gemm(x, 0, 0, 1, 1, 1, alpha, a, 1, b, 1, beta, c, 1));
        for (int i = 0; i < (t < 2 ? 1 : 2); i++) {
            GIVES(21, all[t].rank[i](x, 0, 0, 1, 1, alpha, a, 1, beta, c, 1));
            GIVES(29, all[t].symm[i](x, 0, 0, 1, 1, alpha, a, 1, b, 1, beta, c, 1));
            GIVES(53, all[t].rank2[2 * i](x, 0, 0, 1, 1, alpha, a, 1, b, 1, beta, c, 1));
            GIVES(29, all[t].rank2[2 * i + 1](x, 0, 0, 1, 1, alpha, a, 1, b, 1, beta, c, 1));
        }
        GIVES(29, all[t].spmm(x, 0, 0, 1, 1, alpha, a, b, 1, beta, c, 1));
        GIVES(24, all[t].trmm(x, 0, 0, 0, 0, 1, 1, alpha, a, 1, b, 1, c, 1));
        GIVES(10, all[t].trsm(x, 0, 0, 0, 0, 1, 1, alpha, a, 1, c, 1));
        IS(all[t].gemm(x, 0, 0, 2, 1, 1, alpha, a, 1, b, 1, beta, c, 2), CUBLAS_STATUS_INVALID_VALUE);
        IS(all[t].gemm(x, 0, 9, 1, 1, 1, alpha, a, 1, b, 1, beta, c, 1), CUBLAS_STATUS_INVALID_VALUE);
        IS(all[t].gemm(NULL, 0, 0, 1, 1, 1, alpha, a, 1, b, 1, beta, c, 1), CUBLAS_STATUS_NOT_INITIALIZED);
    }
    OK(C(cublasXtDestroy)(x));
    IS(C(cublasXtDestroy)(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
}

void snippet_cublas_more(void)
{
    void *handle = NULL, *device = NULL;
    if (CV(cublasCreate_v2)(&handle) == CUBLAS_STATUS_NOT_INITIALIZED) {
        printf("skip cublas_more: built without OpenBLAS\n");
        return;
    }
    OK(M(cudaMalloc, musaMalloc)(&device, 4096));
    settings(handle);
    level1(handle, device);
    narrow(handle, device);
    groups(handle, device);
    xt();
    OK(M(cudaFree, musaFree)(device));
    OK(C(cublasDestroy_v2)(handle));
}

/* Of the whole process: no other thread may be at it. */
void snippet_cublas_plain(void)
{
    void *handle = NULL;
    if (CV(cublasCreate_v2)(&handle) == CUBLAS_STATUS_NOT_INITIALIZED)
        return;
    OK(C(cublasDestroy_v2)(handle));
    plain();
}
