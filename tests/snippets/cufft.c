/* cuFFT's wrappers: plans by number, every way to make one, sizes, streams, transforms, properties, versions. */
#include <math.h>

#include "cuda_enums.h"
#include "snippet.h"

enum { N = 8 };
static size_t size;

/* A plan that is made: its work area's size, and that it cannot be made again. */
static void made(int plan)
{
    size = 1;
    OK(C(cufftGetSize)(plan, &size));
    IS(C(cufftMakePlan1d)(plan, N, CUFFT_C2C, 1, &size), CUFFT_INVALID_PLAN);
    OK(C(cufftDestroy)(plan));
    IS(C(cufftDestroy)(plan), CUFFT_INVALID_PLAN);
}

static int empty(void)
{
    int plan = -1;
    OK(C(cufftCreate)(&plan));
    EXPECT(plan > 0);
    return plan;
}

static void ways_to_plan(void)
{
    int plan, n[2] = {4, N};
    long long n64[2] = {4, N};
    OK(C(cufftPlan1d)(&plan, N, CUFFT_C2C, 3));
    made(plan);
    OK(C(cufftPlan2d)(&plan, 4, N, CUFFT_R2C));
    made(plan);
    OK(C(cufftPlan3d)(&plan, 2, 4, N, CUFFT_Z2D));
    made(plan);
    OK(C(cufftPlanMany)(&plan, 2, n, n, 1, 4 * N, n, 1, 4 * N, CUFFT_C2C, 2));
    made(plan);
    OK(C(cufftMakePlan1d)(plan = empty(), N, CUFFT_Z2Z, 2, &size));
    made(plan);
    OK(C(cufftMakePlan2d)(plan = empty(), 4, N, CUFFT_C2R, &size));
    made(plan);
    OK(C(cufftMakePlan3d)(plan = empty(), 2, 4, N, CUFFT_D2Z, &size));
    made(plan);
    OK(C(cufftMakePlanMany)(plan = empty(), 2, n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 5, &size));
    made(plan);
    OK(C(cufftMakePlanMany64)(plan = empty(), 2, n64, n64, 1, 4 * N, n64, 1, 4 * N, CUFFT_C2C, 2, &size));
    made(plan);
    OK(C(cufftXtMakePlanMany)(plan = empty(), 1, n64, NULL, 1, 1, CUDA_R_64F, NULL, 1, 1, CUDA_C_64F, 1, &size,
                              CUDA_C_64F));
    made(plan);
    OK(C(cufftXtMakePlanMany)(plan = empty(), 1, n64, NULL, 1, 1, CUDA_R_32F, NULL, 1, 1, CUDA_C_32F, 1, &size,
                              CUDA_R_32F));
    made(plan);
    IS(C(cufftPlan1d)(NULL, N, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
    IS(C(cufftPlan1d)(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
    IS(C(cufftPlan2d)(&plan, N, N, 7), CUFFT_INVALID_TYPE);
    IS(C(cufftPlan3d)(NULL, N, N, N, CUFFT_C2C), CUFFT_INVALID_VALUE);
    IS(C(cufftPlanMany)(&plan, 0, n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
    plan = empty();
    IS(C(cufftMakePlanMany64)(plan, 1, n64, NULL, 1, 1, NULL, 1, 1, 7, 1, &size), CUFFT_INVALID_TYPE);
    n64[0] = 12; /* halves come in powers of two */
    IS(C(cufftXtMakePlanMany)(plan, 1, n64, NULL, 1, 1, CUDA_C_16F, NULL, 1, 1, CUDA_C_16F, 1, &size, CUDA_C_16F),
       CUFFT_NOT_SUPPORTED);
    OK(C(cufftDestroy)(plan));
}

static void sizes(void)
{
    int plan = empty(), n[1] = {N};
    long long n64[1] = {N};
    OK(C(cufftGetSize1d)(plan, N, CUFFT_C2C, 1, &size));
    OK(C(cufftGetSize2d)(plan, N, N, CUFFT_C2C, &size));
    OK(C(cufftGetSize3d)(plan, N, N, N, CUFFT_C2C, &size));
    OK(C(cufftGetSizeMany)(plan, 1, n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1, &size));
    OK(C(cufftGetSizeMany64)(plan, 1, n64, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1, &size));
    OK(C(cufftXtGetSizeMany)(plan, 1, n64, NULL, 1, 1, CUDA_C_32F, NULL, 1, 1, CUDA_C_32F, 1, &size, CUDA_C_32F));
    OK(M(cufftEstimate1d, mufftEstimate1d)(N, CUFFT_C2C, 1, &size));
    IS(C(cufftGetSize1d)(plan, 0, CUFFT_C2C, 1, &size), CUFFT_INVALID_SIZE);
    IS(C(cufftGetSizeMany64)(plan, 1, n64, NULL, 1, 1, NULL, 1, 1, 7, 1, &size), CUFFT_INVALID_TYPE);
    IS(C(cufftGetSize1d)(0, N, CUFFT_C2C, 1, &size), CUFFT_INVALID_PLAN);
    IS(C(cufftGetSize)(plan, &size), CUFFT_INVALID_PLAN);
    OK(C(cufftDestroy)(plan));
}

static void settings(void)
{
    int plan = empty();
    long long value = -1;
    void *area[1] = {&size};
    OK(C(cufftSetAutoAllocation)(plan, 0));
    OK(C(cufftSetPlanPropertyInt64)(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, 1));
    OK(C(cufftGetPlanPropertyInt64)(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, &value));
    EXPECT(value == 1);
    OK(C(cufftResetPlanProperty)(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT));
    OK(C(cufftGetPlanPropertyInt64)(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, &value));
    EXPECT(value == 0);
    IS(C(cufftSetPlanPropertyInt64)(plan, 9, 1), CUFFT_INVALID_VALUE);
    IS(C(cufftGetPlanPropertyInt64)(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, NULL), CUFFT_INVALID_VALUE);
    OK(C(cufftMakePlan1d)(plan, N, CUFFT_C2C, 1, &size));
    IS(C(cufftSetPlanPropertyInt64)(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, 1), CUFFT_NOT_SUPPORTED);
    OK(C(cufftSetWorkArea)(plan, area[0]));
    OK(C(cufftXtSetWorkArea)(plan, area));
    IS(C(cufftXtSetWorkArea)(plan, NULL), CUFFT_INVALID_VALUE);
    OK(C(cufftXtSetWorkAreaPolicy)(plan, CUFFT_WORKAREA_MINIMAL, NULL));
    OK(C(cufftXtSetWorkAreaPolicy)(plan, CUFFT_WORKAREA_USER, &size));
    IS(C(cufftXtSetWorkAreaPolicy)(plan, 3, NULL), CUFFT_INVALID_VALUE);
    OK(C(cufftSetStream)(plan, NULL));
    OK(C(cufftDestroy)(plan));
    IS(C(cufftSetStream)(plan, NULL), CUFFT_INVALID_PLAN);
    IS(C(cufftSetWorkArea)(-1, NULL), CUFFT_INVALID_PLAN);
    IS(C(cufftDestroy)(-1), CUFFT_INVALID_PLAN);
    IS(C(cufftDestroy)(1 << 30), CUFFT_INVALID_PLAN);
}

/* Plans over several GPUs: the CPU library has none; tests/cufft runs these over one that has. */
static void descriptors(void)
{
    int plan = empty(), gpus[2] = {0, 1};
    void *d = NULL;
    IS(C(cufftXtSetGPUs)(plan, 2, gpus), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtMalloc)(plan, &d, 0), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtMemcpy)(plan, &d, gpus, 0), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtQueryPlan)(plan, &d, 0), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptor)(plan, &d, &d, CUFFT_FORWARD), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptorC2C)(plan, &d, &d, CUFFT_FORWARD), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptorZ2Z)(plan, &d, &d, CUFFT_FORWARD), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptorR2C)(plan, &d, &d), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptorC2R)(plan, &d, &d), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptorD2Z)(plan, &d, &d), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtExecDescriptorZ2D)(plan, &d, &d), CUFFT_NOT_SUPPORTED);
    IS(C(cufftXtSetGPUs)(-1, 2, gpus), CUFFT_INVALID_PLAN);
    OK(C(cufftDestroy)(plan));
}

static void versions(void)
{
    int v = 0;
    OK(C(cufftGetVersion)(&v));
    EXPECT(v == 12500);
    OK(V(12, cufftGetVersion)(&v));
    EXPECT(v == 11401);
    OK(V(11, cufftGetVersion)(&v));
    EXPECT(v == 10900);
    IS(C(cufftGetVersion)(NULL), CUFFT_INVALID_VALUE);
    OK(C(cufftGetProperty)(0, &v));
    EXPECT(v == 12);
    OK(V(12, cufftGetProperty)(1, &v));
    EXPECT(v == 4);
    OK(V(11, cufftGetProperty)(1, &v));
    EXPECT(v == 9);
    IS(C(cufftGetProperty)(3, &v), CUFFT_INVALID_VALUE);
}

static int type_of_pair(int real, int inverse) { return !real ? CUFFT_C2C : inverse ? CUFFT_C2R : CUFFT_R2C; }

/* A ramp there and back is N times itself; its sum is where the frequency is 0. */
static void transforms(void)
{
    for (int precise = 0; precise < 2; precise++)
        for (int real = 0; real < 2; real++) {
            size_t bytes = 2 * N * (precise ? 8 : 4);
            int there, back, more = precise ? 0x40 : 0;
            void *in, *half;
            double sum = 0, again = 0;
            OK(M(cudaMallocManaged, musaMallocManaged)(&in, bytes, 1));
            OK(M(cudaMallocManaged, musaMallocManaged)(&half, bytes, 1));
            for (int i = 0; i < 2 * N; i++)
                if (precise)
                    ((double *)in)[i] = i;
                else
                    ((float *)in)[i] = (float)i;
            OK(C(cufftPlan1d)(&there, N, type_of_pair(real, 0) | more, 1));
            OK(C(cufftPlan1d)(&back, N, type_of_pair(real, 1) | more, 1));
            if (precise && real) {
                OK(C(cufftExecD2Z)(there, in, half));
                OK(C(cufftExecZ2D)(back, half, in));
            } else if (real) {
                OK(C(cufftExecR2C)(there, in, half));
                OK(C(cufftExecC2R)(back, half, in));
            } else if (precise) {
                OK(C(cufftExecZ2Z)(there, in, half, CUFFT_FORWARD));
                OK(C(cufftExecZ2Z)(back, half, in, CUFFT_INVERSE));
            } else {
                OK(C(cufftExecC2C)(there, in, half, CUFFT_FORWARD));
                OK(C(cufftExecC2C)(back, half, in, CUFFT_INVERSE));
            }
            if (!real)
                IS(C(cufftXtExec)(there, in, half, 0), CUFFT_INVALID_VALUE);
            IS(C(cufftXtExec)(there, NULL, half, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
            OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
            again = precise ? ((double *)in)[3] : ((float *)in)[3];
            EXPECT(fabs(again - 3 * N) < 1e-4);
            OK(C(cufftXtExec)(there, in, half, CUFFT_FORWARD));
            OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
            sum = precise ? ((double *)half)[0] : ((float *)half)[0];
            EXPECT(fabs(sum - N * (real ? N * (N - 1) / 2 : N * (N - 1))) < 1e-2);
            OK(C(cufftDestroy)(there));
            IS(C(cufftExecC2C)(there, in, half, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
            OK(C(cufftDestroy)(back));
            OK(M(cudaFree, musaFree)(in));
            OK(M(cudaFree, musaFree)(half));
        }
}

void snippet_cufft(void)
{
    int plan = 0, status = C(cufftCreate)(&plan);
    if (status == CUFFT_INTERNAL_ERROR) /* built without FFTW */
        return;
    OK(status);
    OK(C(cufftDestroy)(plan));
    ways_to_plan();
    sizes();
    settings();
    descriptors();
    versions();
    transforms();
}
