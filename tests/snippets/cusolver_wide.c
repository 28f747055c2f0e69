/* cuSOLVER's wrappers of functions that take types as arguments, refine, or set options: each on the diagonal matrix
 * of 4, 9 and 16 in f64. Those of CUDA 11 and 12 are asked in that facade. */
#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

enum { N = 3, F64 = CUDA_R_64F, LOWER = CUBLAS_FILL_MODE_LOWER, VECTORS = CUSOLVER_EIG_MODE_VECTOR };
enum { ROOM = 1 << 20 };

static _Thread_local void *h;
static _Thread_local char *a, *b, *c, *u, *v, *work;
static _Thread_local int *info;
static _Thread_local size_t bytes, on_host;

static void begin(const double *sides)
{
    static const double diagonal[N * N] = {4, 0, 0, 0, 9, 0, 0, 0, 16}, ones[N] = {4, 9, 16};
    OK(M(cudaMemcpy, musaMemcpy)(a, diagonal, sizeof diagonal, 1));
    OK(M(cudaMemcpy, musaMemcpy)(b, sides ? sides : ones, sizeof ones, 1));
    bytes = on_host = 0;
}
static void holds(const void *at, int i, double want)
{
    double got = 0;
    OK(M(cudaMemcpy, musaMemcpy)(&got, (const double *)at + i, sizeof got, 2));
    double d = got < 0 && want >= 0 ? -got - want : got - want;
    EXPECT(d < 1e-9 && d > -1e-9);
}
static void sized(void) { EXPECT(bytes > 0 && bytes <= ROOM && on_host == 0); }

static void factors(void)
{
    static const double squares[N] = {4, 9, 16};
    begin(NULL);
    OK(C(cusolverDnXgetrf_bufferSize)(h, NULL, N, N, F64, a, N, F64, &bytes, &on_host));
    sized();
    OK(C(cusolverDnXgetrf)(h, NULL, N, N, F64, a, N, c, F64, work, bytes, NULL, 0, info));
    OK(C(cusolverDnXgetrs)(h, NULL, CUBLAS_OP_N, N, 1, F64, a, N, c, F64, b, N, info));
    holds(b, 2, 1);
    IS(C(cusolverDnXgetrs)(h, NULL, CUBLAS_OP_N, N, 1, F64, a, N, c, CUDA_R_32F, b, N, info),
       CUSOLVER_STATUS_INVALID_VALUE);
    begin(NULL);
    OK(ONLY(12, cusolverDnGetrf_bufferSize)(h, NULL, N, N, F64, a, N, F64, &bytes));
    OK(ONLY(12, cusolverDnGetrf)(h, NULL, N, N, F64, a, N, c, F64, work, bytes, info));
    OK(ONLY(12, cusolverDnGetrs)(h, NULL, CUBLAS_OP_N, N, 1, F64, a, N, c, F64, b, N, info));
    holds(b, 1, 1);
    begin(squares);
    OK(C(cusolverDnXpotrf_bufferSize)(h, NULL, LOWER, N, F64, a, N, F64, &bytes, &on_host));
    sized();
    OK(C(cusolverDnXpotrf)(h, NULL, LOWER, N, F64, a, N, F64, work, bytes, NULL, 0, info));
    holds(a, 4, 3);
    OK(C(cusolverDnXpotrs)(h, NULL, LOWER, N, 1, F64, a, N, F64, b, N, info));
    holds(b, 0, 1);
    IS(C(cusolverDnXpotrf)(h, NULL, LOWER, N, F64, a, N, F64, work, 0, NULL, 0, info), CUSOLVER_STATUS_INVALID_VALUE);
    begin(squares);
    OK(ONLY(12, cusolverDnPotrf_bufferSize)(h, NULL, LOWER, N, F64, a, N, F64, &bytes));
    OK(ONLY(12, cusolverDnPotrf)(h, NULL, LOWER, N, F64, a, N, F64, work, bytes, info));
    OK(ONLY(12, cusolverDnPotrs)(h, NULL, LOWER, N, 1, F64, a, N, F64, b, N, info));
    holds(b, 2, 1);
    begin(NULL);
    OK(C(cusolverDnXgeqrf_bufferSize)(h, NULL, N, N, F64, a, N, F64, c, F64, &bytes, &on_host));
    sized();
    OK(C(cusolverDnXgeqrf)(h, NULL, N, N, F64, a, N, F64, c, F64, work, bytes, NULL, 0, info));
    holds(a, 8, 16);
    begin(NULL);
    OK(ONLY(12, cusolverDnGeqrf_bufferSize)(h, NULL, N, N, F64, a, N, F64, c, F64, &bytes));
    OK(ONLY(12, cusolverDnGeqrf)(h, NULL, N, N, F64, a, N, F64, c, F64, work, bytes, info));
    holds(a, 0, 4);
    OK(C(cusolverDnXtrtri_bufferSize)(h, LOWER, CUBLAS_DIAG_NON_UNIT, N, F64, a, N, &bytes, &on_host));
    begin(NULL);
    OK(C(cusolverDnXtrtri)(h, LOWER, CUBLAS_DIAG_NON_UNIT, N, F64, a, N, work, 8, NULL, 0, info));
    holds(a, 8, 1. / 16);
    IS(C(cusolverDnXtrtri_bufferSize)(h, LOWER, 5, N, F64, a, N, &bytes, &on_host), CUSOLVER_STATUS_INVALID_VALUE);
}

static void general(void)
{
    begin(NULL);
    OK(C(cusolverDnXgeev_bufferSize)(h, NULL, 0, VECTORS, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, &bytes,
                                     &on_host));
    sized();
    OK(C(cusolverDnXgeev)(h, NULL, 0, VECTORS, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, work, bytes, NULL, 0,
                          info));
    holds(c, 1, 9);
    holds(v, 8, 1);
    IS(C(cusolverDnXgeev_bufferSize)(h, NULL, 5, VECTORS, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, &bytes,
                                     &on_host),
       CUSOLVER_STATUS_INVALID_VALUE);
    begin(NULL);
    OK(C(cusolverDnXlarft_bufferSize)(h, NULL, 0, 0, N, N, F64, a, N, F64, b, F64, v, N, F64, &bytes, &on_host));
    sized();
    OK(C(cusolverDnXlarft)(h, NULL, 0, 0, N, N, F64, a, N, F64, b, F64, v, N, F64, work, bytes, NULL, 0));
    holds(v, 4, 9);
}

static void eigenvalues(void)
{
    enum { BY_INDEX = CUSOLVER_EIG_RANGE_I };
    long found = -1;
    begin(NULL);
    OK(C(cusolverDnXsyevd_bufferSize)(h, NULL, VECTORS, LOWER, N, F64, a, N, F64, c, F64, &bytes, &on_host));
    sized();
    OK(C(cusolverDnXsyevd)(h, NULL, VECTORS, LOWER, N, F64, a, N, F64, c, F64, work, bytes, NULL, 0, info));
    holds(c, 1, 9);
    begin(NULL);
    OK(ONLY(12, cusolverDnSyevd_bufferSize)(h, NULL, VECTORS, LOWER, N, F64, a, N, F64, c, F64, &bytes));
    OK(ONLY(12, cusolverDnSyevd)(h, NULL, VECTORS, LOWER, N, F64, a, N, F64, c, F64, work, bytes, info));
    holds(c, 2, 16);
    begin(NULL);
    OK(C(cusolverDnXsyevdx_bufferSize)(h, NULL, VECTORS, BY_INDEX, LOWER, N, F64, a, N, NULL, NULL, 2, 3, &found, F64,
                                       c, F64, &bytes, &on_host));
    sized();
    OK(C(cusolverDnXsyevdx)(h, NULL, VECTORS, BY_INDEX, LOWER, N, F64, a, N, NULL, NULL, 2, 3, &found, F64, c, F64,
                            work, bytes, NULL, 0, info));
    IS(found, 2);
    holds(c, 0, 9);
    begin(NULL);
    OK(ONLY(12, cusolverDnSyevdx_bufferSize)(h, NULL, VECTORS, BY_INDEX, LOWER, N, F64, a, N, NULL, NULL, 3, 3, &found,
                                             F64, c, F64, &bytes));
    OK(ONLY(12, cusolverDnSyevdx)(h, NULL, VECTORS, BY_INDEX, LOWER, N, F64, a, N, NULL, NULL, 3, 3, &found, F64, c,
                                  F64, work, bytes, info));
    holds(c, 0, 16);
    begin(NULL);
    OK(C(cusolverDnXsyevBatched_bufferSize)(h, NULL, VECTORS, LOWER, N, F64, a, N, F64, c, F64, &bytes, &on_host, 1));
    sized();
    OK(C(cusolverDnXsyevBatched)(h, NULL, VECTORS, LOWER, N, F64, a, N, F64, c, F64, work, bytes, NULL, 0, info, 1));
    holds(c, 0, 4);
}

static void singular_values(void)
{
    double error = -1;
    begin(NULL);
    OK(C(cusolverDnXgesvd_bufferSize)(h, NULL, 'A', 'A', N, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, &bytes,
                                      &on_host));
    sized();
    OK(C(cusolverDnXgesvd)(h, NULL, 'A', 'A', N, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, work, bytes, NULL, 0,
                           info));
    holds(c, 0, 16);
    holds(u, 2, 1);
    begin(NULL);
    OK(ONLY(12, cusolverDnGesvd_bufferSize)(h, NULL, 'A', 'A', N, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64,
                                            &bytes));
    OK(ONLY(12, cusolverDnGesvd)(h, NULL, 'A', 'A', N, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, work, bytes,
                                 info));
    holds(c, 1, 9);
    begin(NULL);
    OK(C(cusolverDnXgesvdp_bufferSize)(h, NULL, VECTORS, 1, N, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, &bytes,
                                       &on_host));
    sized();
    OK(C(cusolverDnXgesvdp)(h, NULL, VECTORS, 1, N, N, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, work, bytes, NULL,
                            0, info, &error));
    holds(c, 2, 4);
    EXPECT(error == 0);
    begin(NULL);
    OK(C(cusolverDnXgesvdr_bufferSize)(h, NULL, 'S', 'S', N, N, 2, 0, 1, F64, a, N, F64, c, F64, u, N, F64, v, N, F64,
                                       &bytes, &on_host));
    sized();
    OK(C(cusolverDnXgesvdr)(h, NULL, 'S', 'S', N, N, 2, 0, 1, F64, a, N, F64, c, F64, u, N, F64, v, N, F64, work, bytes,
                            NULL, 0, info));
    holds(c, 1, 9);
}

/* Systems of one type, solved from its functions; 4 x = 8 of four types at once would prove no more. */
static void refined(void)
{
    typedef __typeof__(wrap_cusolverDnDDgesv) solve;
    typedef __typeof__(wrap_cusolverDnDDgesv_bufferSize) solve_size;
    typedef __typeof__(wrap_cusolverDnDDgels) least;
    typedef __typeof__(wrap_cusolverDnDDgels_bufferSize) least_size;
    const struct {
        solve *solve;
        solve_size *size;
        least *least;
        least_size *least_size;
        float number[4];
        size_t width;
    } types[] = {
        {C(cusolverDnSSgesv),
         C(cusolverDnSSgesv_bufferSize),
         C(cusolverDnSSgels),
         C(cusolverDnSSgels_bufferSize),
         {4},
         4},
        {C(cusolverDnCCgesv),
         C(cusolverDnCCgesv_bufferSize),
         C(cusolverDnCCgels),
         C(cusolverDnCCgels_bufferSize),
         {4},
         8},
        {C(cusolverDnDDgesv),
         C(cusolverDnDDgesv_bufferSize),
         C(cusolverDnDDgels),
         C(cusolverDnDDgels_bufferSize),
         {0, 2.25f},
         8},
        {C(cusolverDnZZgesv),
         C(cusolverDnZZgesv_bufferSize),
         C(cusolverDnZZgels),
         C(cusolverDnZZgels_bufferSize),
         {0, 2.25f},
         16},
    };
    for (int i = 0; i < 4; i++) {
        int iterations = 0;
        float got[4] = {0};
        const float one[2][4] = {{1}, {0, 1.875f}}; /* as f32 and as f64 */
        OK(M(cudaMemcpy, musaMemcpy)(a, types[i].number, types[i].width, 1));
        OK(M(cudaMemcpy, musaMemcpy)(b, types[i].number, types[i].width, 1));
        OK(types[i].size(h, 1, 1, a, 1, c, b, 1, u, 1, NULL, &bytes));
        OK(types[i].solve(h, 1, 1, a, 1, c, b, 1, u, 1, work, bytes, &iterations, info));
        OK(M(cudaMemcpy, musaMemcpy)(got, u, types[i].width, 2));
        EXPECT(!memcmp(got, one[i / 2], types[i].width) && iterations == 0);
        OK(M(cudaMemcpy, musaMemcpy)(a, types[i].number, types[i].width, 1));
        OK(types[i].least_size(h, 1, 1, 1, a, 1, b, 1, u, 1, NULL, &bytes));
        OK(types[i].least(h, 1, 1, 1, a, 1, b, 1, u, 1, work, bytes, &iterations, info));
        OK(M(cudaMemcpy, musaMemcpy)(got, u, types[i].width, 2));
        EXPECT(!memcmp(got, one[i / 2], types[i].width));
        IS(types[i].solve(h, 1, 1, a, 1, c, b, 1, u, 1, NULL, 0, &iterations, info), CUSOLVER_STATUS_INVALID_WORKSPACE);
    }
}

static void expert(void)
{
    void *params = NULL, *infos = NULL, *history = NULL;
    int n = -1;
    OK(C(cusolverDnIRSParamsCreate)(&params));
    OK(C(cusolverDnIRSParamsSetSolverPrecisions)(params, CUSOLVER_R_64F, CUSOLVER_R_32F));
    OK(C(cusolverDnIRSParamsSetSolverMainPrecision)(params, CUSOLVER_R_64F));
    OK(C(cusolverDnIRSParamsSetSolverLowestPrecision)(params, CUSOLVER_R_16F));
    IS(C(cusolverDnIRSParamsSetSolverLowestPrecision)(params, 1), CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC);
    OK(C(cusolverDnIRSParamsSetRefinementSolver)(params, CUSOLVER_IRS_REFINE_CLASSICAL));
    OK(C(cusolverDnIRSParamsSetTol)(params, 1e-9));
    OK(C(cusolverDnIRSParamsSetTolInner)(params, 1e-4));
    OK(C(cusolverDnIRSParamsSetMaxIters)(params, 9));
    OK(C(cusolverDnIRSParamsSetMaxItersInner)(params, 9));
    OK(C(cusolverDnIRSParamsEnableFallback)(params));
    OK(C(cusolverDnIRSParamsDisableFallback)(params));
    OK(C(cusolverDnIRSParamsGetMaxIters)(params, &n));
    IS(n, 9);
    OK(C(cusolverDnIRSInfosCreate)(&infos));
    OK(C(cusolverDnIRSInfosRequestResidual)(infos));
    IS(C(cusolverDnIRSInfosGetNiters)(infos, &n), CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED);
    begin(NULL);
    OK(C(cusolverDnIRSXgesv_bufferSize)(h, params, N, 1, &bytes));
    OK(C(cusolverDnIRSXgesv)(h, params, infos, N, 1, a, N, b, N, u, N, work, bytes, &n, info));
    holds(u, 2, 1);
    OK(C(cusolverDnIRSInfosGetNiters)(infos, &n));
    EXPECT(n == 0);
    OK(C(cusolverDnIRSInfosGetOuterNiters)(infos, &n));
    OK(C(cusolverDnIRSInfosGetMaxIters)(infos, &n));
    IS(n, 9);
    IS(C(cusolverDnIRSInfosGetResidualHistory)(infos, &history), CUSOLVER_STATUS_NOT_SUPPORTED);
    begin(NULL);
    OK(C(cusolverDnIRSXgels_bufferSize)(h, params, N, N, 1, &bytes));
    OK(C(cusolverDnIRSXgels)(h, params, infos, N, N, 1, a, N, b, N, u, N, work, bytes, &n, info));
    holds(u, 1, 1);
    OK(C(cusolverDnIRSInfosDestroy)(infos));
    OK(C(cusolverDnIRSParamsDestroy)(params));
    IS(C(cusolverDnIRSParamsDestroy)(NULL), CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED);
}

static void options(void)
{
    void *params = NULL;
    int mode = -1;
    OK(C(cusolverDnCreateParams)(&params));
    OK(C(cusolverDnSetAdvOptions)(params, 0, 1));
    IS(C(cusolverDnSetAdvOptions)(params, 9, 1), CUSOLVER_STATUS_INVALID_VALUE);
    OK(C(cusolverDnDestroyParams)(params));
    OK(C(cusolverDnSetDeterministicMode)(h, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS));
    OK(C(cusolverDnGetDeterministicMode)(h, &mode));
    IS(mode, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS);
    OK(C(cusolverDnSetMathMode)(h, CUSOLVER_FP32_EMULATED_BF16X9_MATH));
    OK(C(cusolverDnGetMathMode)(h, &mode));
    IS(mode, CUSOLVER_FP32_EMULATED_BF16X9_MATH);
    OK(C(cusolverDnSetEmulationStrategy)(h, 1));
    OK(C(cusolverDnGetEmulationStrategy)(h, &mode));
    IS(mode, 1);
    IS(C(cusolverDnSetMathMode)(h, 7), CUSOLVER_STATUS_INVALID_VALUE);
}

void snippet_cusolver_wide(void *handle)
{
    char *device = NULL;
    OK(M(cudaMalloc, musaMalloc)((void **)&device, 8192 + ROOM));
    h = handle;
    a = device;
    b = device + 1024;
    c = device + 2048;
    u = device + 3072;
    v = device + 4096;
    info = (int *)(device + 5120);
    work = device + 8192;
    factors();
    general();
    eigenvalues();
    singular_values();
    refined();
    expert();
    options();
    OK(M(cudaFree, musaFree)(device));
}
