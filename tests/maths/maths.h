/* What the tests of the maths libraries' failures share: prototypes, contexts, what was said on stderr. */
#ifndef CUMU_TESTS_MATHS_H
#define CUMU_TESTS_MATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

typedef void *P;
typedef const void *V;
int cudaMalloc(P *, size_t), cudaFree(P), cudaMemset(P, int, size_t), cudaMemcpy(P, V, size_t, int);
int cudaDeviceSynchronize(void), cudaDeviceReset(void), cudaStreamSynchronize(P), cudaStreamCreateWithFlags(P, int);
int cudaStreamBeginCapture(P, int), cudaStreamEndCapture(P, P), cudaGraphInstantiateWithFlags(P, P, long),
    cudaGraphLaunch(P, P);
int cudaGetLastError(void);
int cublasCreate_v2(P *), cublasDestroy_v2(P), cublasSetStream_v2(P, P);
int cublasSscal_v2(P, int, V, P, int), cublasSaxpy_v2(P, int, V, V, int, P, int),
    cublasSdot_v2(P, int, V, int, V, int, P);
int cublasSgemv_v2(P, int, int, int, V, V, int, V, int, V, P, int);
int cublasSgemm_v2(P, int, int, int, int, int, V, V, int, V, int, V, P, int);
int cublasStrsm_v2(P, int, int, int, int, int, int, V, V, int, P, int);
int cublasGemmEx(P, int, int, int, int, int, V, V, int, int, V, int, int, V, P, int, int, int, int);
int cublasSgemmBatched(P, int, int, int, int, int, V, V, int, V, int, V, V, int, int);
int cublasSgetrfBatched(P, int, V, int, P, P, int), cublasSgeqrfBatched(P, int, int, V, int, V, int *, int);
int cublasSmatinvBatched(P, int, V, int, V, int, P, int), cublasCsyr2_v2(P, int, int, V, V, int, V, int, P, int);
int cufftPlan1d(int *, int, int, int), cufftPlan2d(int *, int, int, int), cufftExecC2C(int, P, P, int),
    cufftDestroy(int);
int curandCreateGenerator(P *, int), curandGenerateUniform(P, P, size_t), curandGenerate(P, P, size_t);
int curandGeneratePoisson(P, P, size_t, double), curandDestroyGenerator(P),
    curandSetPseudoRandomGeneratorSeed(P, unsigned long long);
int cusolverDnCreate(P *), cusolverDnSgetrf_bufferSize(P, int, int, P, int, int *),
    cusolverDnSgetrf(P, int, int, P, int, P, P, P);
int cusolverDnSgetrs(P, int, int, int, V, int, V, P, int, P), cusolverDnSpotrfBatched(P, int, int, P, int, P, int);
int cusolverDnSsyevd_bufferSize(P, int, int, int, V, int, V, int *),
    cusolverDnSsyevd(P, int, int, int, P, int, P, P, int, P);
int cublasLtCreate(P *), cublasLtMatmulDescCreate(P, int, int),
    cublasLtMatrixLayoutCreate(P, int, uint64_t, uint64_t, int64_t);
int cublasLtMatmul(P, P, V, V, P, V, P, V, V, P, P, P, V, P, size_t, P);
int cusparseCreate(P *), cusparseDestroy(P), cusparseCreateMatDescr(P), cusparseCreateDnVec(P, int64_t, P, int);
int cusparseCreateCsr(P, int64_t, int64_t, int64_t, P, P, P, int, int, int, int);
int cusparseSpMV(P, int, V, P, P, V, P, int, int, P), cusparseSpGEMM_createDescr(P);
int cusparseSpGEMM_workEstimation(P, int, int, V, P, P, V, P, int, int, P, size_t *, P);
int cusparseSpGEMM_compute(P, int, int, V, P, P, V, P, int, int, P, size_t *, P);
int cusparseXcsr2bsrNnz(P, int, int, int, P, V, V, int, P, P, int *);

static P blas __attribute__((unused));
static const float one = 1, zero = 0, two __attribute__((unused)) = 2;

/* stderr lies in a file; `text` is what is in there since the last look. */
static char text[65536];
static inline const char *text_now(void)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("stderr", 0);
        dup2(fd, 2);
    }
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
        exit(1);
    return text;
}
/* Lines that begin with the name of a call. */
static inline int said(const char *name)
{
    char start[128];
    int n = 0;
    snprintf(start, sizeof start, "host: %s: ", name);
    for (const char *at = text_now(); (at = strstr(at, start)); at++)
        n++;
    return n;
}

static inline void begin_context(void)
{
    text_now();
    MUST(cudaFree(NULL));
    MUST(cublasCreate_v2(&blas));
}
static inline void end_context(void)
{
    cublasDestroy_v2(blas);
    cudaDeviceReset();
    cudaGetLastError();
}

#endif
