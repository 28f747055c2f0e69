/* cuSOLVER's wrappers: what it tells of itself, and every typed function on a diagonal matrix, whose answers are
 * known. */
#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

#define CV(name) REACH(__typeof__(conv_##name), name)

enum { N = 3, LWORK = 4096 };

/* The functions of one type; those of all types have the same prototypes. */
struct typed {
    int type; /* 0 float, 1 double, 2 and 3 complex of them */
    __typeof__(wrap_cusolverDnSpotrs) *potrs;
    __typeof__(wrap_cusolverDnSgetrf_bufferSize) *getrf_size;
    __typeof__(wrap_cusolverDnSgetrf) *getrf;
    __typeof__(wrap_cusolverDnSgetrs) *getrs;
    __typeof__(wrap_cusolverDnSgeqrf_bufferSize) *geqrf_size;
    __typeof__(wrap_cusolverDnSgeqrf) *geqrf;
    __typeof__(wrap_cusolverDnSgesvd_bufferSize) *gesvd_size;
    __typeof__(wrap_cusolverDnSgesvd) *gesvd;
    __typeof__(wrap_cusolverDnSsyevd_bufferSize) *syevd_size;
    __typeof__(wrap_cusolverDnSsyevd) *syevd;
    __typeof__(wrap_cusolverDnSorgqr_bufferSize) *orgqr_size;
    __typeof__(wrap_cusolverDnSorgqr) *orgqr;
    __typeof__(wrap_cusolverDnSormqr_bufferSize) *ormqr_size;
    __typeof__(wrap_cusolverDnSormqr) *ormqr;
};

static void tells(void)
{
    int version = 0, part = -1;
    OK(C(cusolverGetVersion)(&version));
    EXPECT(version / 1000 == 12);
    IS(C(cusolverGetVersion)(NULL), CUSOLVER_STATUS_INVALID_VALUE);
    OK(V(12, cusolverGetVersion)(&version));
    EXPECT(version / 1000 == 11);
    OK(C(cusolverGetProperty)(0, &part));
    EXPECT(part == 12);
    OK(V(12, cusolverGetProperty)(0, &part));
    EXPECT(part == 11);
    IS(C(cusolverGetProperty)(3, &part), CUSOLVER_STATUS_INVALID_VALUE);
}

/* Real numbers of any type, in and out. */
static void put(int type, void *at, const double *from, int n)
{
    double raw[2 * N * N] = {0};
    for (int i = 0; i < n; i++)
        switch (type) {
        case 0: ((float *)raw)[i] = (float)from[i]; break;
        case 1: raw[i] = from[i]; break;
        case 2: ((float *)raw)[2 * i] = (float)from[i]; break;
        default: raw[2 * i] = from[i];
        }
    OK(M(cudaMemcpy, musaMemcpy)(at, raw, (size_t[]){4, 8, 8, 16}[type] * (size_t)n, 1));
}
static double get(int type, const void *at, int i)
{
    size_t size = (size_t[]){4, 8, 8, 16}[type];
    double raw[2] = {0};
    OK(M(cudaMemcpy, musaMemcpy)(raw, (const char *)at + size * (size_t)i, size, 2));
    return type == 0 || type == 2 ? *(float *)raw : raw[0];
}
static void holds(int type, const void *at, int i, double want)
{
    double got = get(type, at, i), d = got < 0 && want >= 0 ? -got - want : got - want;
    EXPECT(d < 1e-4 && d > -1e-4);
}

static const double diagonal[N * N] = {4, 0, 0, 0, 9, 0, 0, 0, 16};

static void all_of(const struct typed *t, void *h, char *device)
{
    char *a = device, *b = device + 1024, *c = device + 2048, *work = device + 8192;
    int *info = (int *)(device + 4096), *ipiv = info + 16, lwork = 0, got = -1, type = t->type, real = type % 2;
    const double ones[N] = {4, 9, 16};
    put(type, a, diagonal, N * N);
    put(type, b, ones, N);
    OK(t->getrf_size(h, N, N, a, N, &lwork));
    EXPECT(lwork > 0 && lwork < LWORK);
    OK(t->getrf(h, N, N, a, N, work, ipiv, info));
    OK(t->getrs(h, CUBLAS_OP_N, N, 1, a, N, ipiv, b, N, info));
    OK(M(cudaMemcpy, musaMemcpy)(&got, info, sizeof got, 2));
    IS(got, 0);
    holds(type, b, 2, 1);
    IS(t->getrf(h, N, N, a, N - 1, work, ipiv, info), CUSOLVER_STATUS_INVALID_VALUE);
    IS(t->getrs(NULL, CUBLAS_OP_N, N, 1, a, N, ipiv, b, N, info), CUSOLVER_STATUS_NOT_INITIALIZED);
    /* the matrix as a factor: L L^H has its squares */
    put(type, b, (double[N]){16, 81, 256}, N);
    OK(t->potrs(h, CUBLAS_FILL_MODE_LOWER, N, 1, a, N, b, N, info));
    holds(type, b, 1, 1);
    OK(t->geqrf_size(h, N, N, a, N, &lwork));
    EXPECT(lwork > 0 && lwork < LWORK);
    OK(t->geqrf(h, N, N, a, N, c, work, lwork, info));
    holds(type, a, 4, 9);
    IS(t->geqrf(h, N, N, a, N, c, work, 0, info), CUSOLVER_STATUS_INVALID_VALUE);
    put(type, b, ones, N);
    OK(t->ormqr_size(h, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, N, 1, N, a, N, c, b, N, &lwork));
    OK(t->ormqr(h, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, N, 1, N, a, N, c, b, N, work, lwork, info));
    holds(type, b, 2, 16);
    IS(t->ormqr_size(h, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, N, 1, N + 1, a, N, c, b, N, &lwork),
       CUSOLVER_STATUS_INVALID_VALUE);
    OK(t->orgqr_size(h, N, N, N, a, N, c, &lwork));
    OK(t->orgqr(h, N, N, N, a, N, c, work, lwork, info));
    holds(type, a, 0, 1);
    put(type, a, diagonal, N * N);
    OK(t->syevd_size(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N, a, N, c, &lwork));
    EXPECT(lwork > 0 && lwork < LWORK);
    OK(t->syevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N, a, N, c, work, lwork, info));
    holds(real, c, 1, 9);
    holds(type, a, 8, 1);
    IS(t->syevd(h, 3, CUBLAS_FILL_MODE_LOWER, N, a, N, c, work, lwork, info), CUSOLVER_STATUS_INVALID_VALUE);
    put(type, a, diagonal, N * N);
    OK(t->gesvd_size(h, N, N, &lwork));
    EXPECT(lwork > 0 && lwork < LWORK);
    OK(t->gesvd(h, 'N', 'A', N, N, a, N, c, NULL, N, b, N, work, lwork, NULL, info));
    holds(real, c, 0, 16);
    holds(type, b, 6, 1);
    IS(t->gesvd(h, 'X', 'A', N, N, a, N, c, NULL, N, b, N, work, lwork, NULL, info), CUSOLVER_STATUS_INVALID_VALUE);
    IS(t->gesvd_size(h, N, N + 1, &lwork), CUSOLVER_STATUS_INVALID_VALUE);
}

void snippet_cusolver(void)
{
    void *handle = NULL, *device = NULL;
    cudaStream_t stream = NULL, now = NULL;
    if (C(cusolverDnCreate)(&handle) == CUSOLVER_STATUS_NOT_INITIALIZED) {
        printf("skip cusolver: built without OpenBLAS\n");
        return;
    }
    OK(M(cudaMalloc, musaMalloc)(&device, 8192 + LWORK * 16));
    tells();
    const struct typed types[] = {
        {0, C(cusolverDnSpotrs), C(cusolverDnSgetrf_bufferSize), C(cusolverDnSgetrf), C(cusolverDnSgetrs),
         C(cusolverDnSgeqrf_bufferSize), C(cusolverDnSgeqrf), C(cusolverDnSgesvd_bufferSize), C(cusolverDnSgesvd),
         C(cusolverDnSsyevd_bufferSize), C(cusolverDnSsyevd), C(cusolverDnSorgqr_bufferSize), C(cusolverDnSorgqr),
         C(cusolverDnSormqr_bufferSize), C(cusolverDnSormqr)},
        {1, C(cusolverDnDpotrs), C(cusolverDnDgetrf_bufferSize), C(cusolverDnDgetrf), C(cusolverDnDgetrs),
         C(cusolverDnDgeqrf_bufferSize), C(cusolverDnDgeqrf), C(cusolverDnDgesvd_bufferSize), C(cusolverDnDgesvd),
         C(cusolverDnDsyevd_bufferSize), C(cusolverDnDsyevd), C(cusolverDnDorgqr_bufferSize), C(cusolverDnDorgqr),
         C(cusolverDnDormqr_bufferSize), C(cusolverDnDormqr)},
        {2, C(cusolverDnCpotrs), C(cusolverDnCgetrf_bufferSize), C(cusolverDnCgetrf), C(cusolverDnCgetrs),
         C(cusolverDnCgeqrf_bufferSize), C(cusolverDnCgeqrf), C(cusolverDnCgesvd_bufferSize), C(cusolverDnCgesvd),
         C(cusolverDnCheevd_bufferSize), C(cusolverDnCheevd), C(cusolverDnCungqr_bufferSize), C(cusolverDnCungqr),
         C(cusolverDnCunmqr_bufferSize), C(cusolverDnCunmqr)},
        {3, C(cusolverDnZpotrs), C(cusolverDnZgetrf_bufferSize), C(cusolverDnZgetrf), C(cusolverDnZgetrs),
         C(cusolverDnZgeqrf_bufferSize), C(cusolverDnZgeqrf), C(cusolverDnZgesvd_bufferSize), C(cusolverDnZgesvd),
         C(cusolverDnZheevd_bufferSize), C(cusolverDnZheevd), C(cusolverDnZungqr_bufferSize), C(cusolverDnZungqr),
         C(cusolverDnZunmqr_bufferSize), C(cusolverDnZunmqr)},
    };
    OK(M(cudaStreamCreate, musaStreamCreate)((void *)&stream));
    OK(C(cusolverDnSetStream)(handle, stream));
    OK(C(cusolverDnGetStream)(handle, &now));
    EXPECT(now == stream);
    IS(C(cusolverDnGetStream)(NULL, &now), CUSOLVER_STATUS_NOT_INITIALIZED);
    OK(C(cusolverDnSetStream)(handle, NULL));
    for (int i = 0; i < 4; i++)
        all_of(&types[i], handle, device);
    snippet_cusolver_wide(handle);
    OK(M(cudaFree, musaFree)(device));
    OK(M(cudaStreamDestroy, musaStreamDestroy)((void *)stream));
    OK(C(cusolverDnDestroy)(handle));
    IS(C(cusolverDnDestroy)(handle), CUSOLVER_STATUS_NOT_INITIALIZED);
    IS(C(cusolverDnCreate)(NULL), CUSOLVER_STATUS_INVALID_VALUE);
}
