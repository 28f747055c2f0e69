/* cuRAND, cuSPARSE and, in files of their own, cuBLAS and cuSOLVER over libraries with nothing but names that public
 * sources have seen: what programs import most goes another way. */
#include <math.h>

#include "maths.h"

enum { N = 1000 };

static void random_numbers(void)
{
    void *device = NULL, *host = NULL, *p = NULL;
    unsigned a[N], b[N];
    float x[N], y[N];
    double z[N], w[N];
    int bad = curandCreateGenerator(&device, CURAND_RNG_PSEUDO_XORWOW) ||
              curandCreateGeneratorHost(&host, CURAND_RNG_PSEUDO_XORWOW) || cudaMalloc(&p, sizeof z) ||
              curandSetPseudoRandomGeneratorSeed(device, 5) || curandSetPseudoRandomGeneratorSeed(host, 5);
    check(!bad, "a generator of host memory over one of device memory");
    bad = curandGenerate(device, p, N) || cudaMemcpy(a, p, sizeof a, 2) || curandGenerate(host, b, N);
    for (int i = 0; i < N; i++)
        bad |= a[i] != b[i];
    check(!bad, "both give the same numbers");
    bad = curandGenerateUniform(device, p, N) || curandGenerateUniform(host, x, N);
    for (int i = 0; i < N; i++)
        bad |= !(x[i] > 0 && x[i] <= 1);
    check(!bad, "uniform numbers into host memory");
    bad = curandGenerateLogNormal(device, p, N, 0.5f, 2) || cudaMemcpy(x, p, sizeof x, 2) ||
          curandGenerateLogNormal(host, y, N, 0.5f, 2);
    for (int i = 0; i < N; i++)
        bad |= !(x[i] > 0) || x[i] != y[i];
    bad |= curandGenerateNormalDouble(device, p, N, 0.5, 2) || cudaMemcpy(z, p, sizeof z, 2) ||
           curandGenerateLogNormalDouble(host, w, N, 0.5, 2);
    for (int i = 0; i < N; i++)
        bad |= fabs(exp(z[i]) - w[i]) > 1e-12 * w[i];
    check(!bad, "logarithmic normal numbers");
    double mean = 0, deviation = 0;
    bad = curandGeneratePoisson(device, p, N, 30) || cudaMemcpy(a, p, sizeof a, 2) ||
          curandGeneratePoisson(host, b, N, 30);
    for (int i = 0; i < N; i++) {
        mean += a[i] / (double)N;
        deviation += (a[i] - 30.0) * (a[i] - 30.0) / N;
        bad |= a[i] != b[i];
    }
    check(!bad && fabs(mean - 30) < 1 && fabs(deviation - 30) < 6, "Poisson numbers");
    bad = curandGeneratePoisson(host, b, N, 0.01);
    for (int i = 0; i < N; i++)
        bad |= b[i] > 3;
    check(!bad && curandGeneratePoisson(host, b, N, 0) == CURAND_STATUS_OUT_OF_RANGE &&
              curandGeneratePoisson(host, b, N, 400001) == CURAND_STATUS_OUT_OF_RANGE,
          "and their range");
    check(!curandSetGeneratorOrdering(host, CURAND_ORDERING_PSEUDO_BEST) &&
              !curandSetGeneratorOrdering(host, CURAND_ORDERING_PSEUDO_LEGACY) &&
              curandSetGeneratorOrdering(host, CURAND_ORDERING_PSEUDO_SEEDED) == CURAND_STATUS_ARCH_MISMATCH,
          "orders that promise no numbers");
    check(!curandSetQuasiRandomGeneratorDimensions(host, 1) &&
              curandSetQuasiRandomGeneratorDimensions(host, 2) == CURAND_STATUS_ARCH_MISMATCH,
          "what has no other way is not supported");
    check(!curandDestroyGenerator(host) && !curandDestroyGenerator(device), "they go");
}

static void descriptors(void)
{
    void *d = NULL;
    check(!cusparseCreateMatDescr(&d) && d && cusparseGetMatType(d) == 0 && cusparseGetMatFillMode(d) == 0 &&
              cusparseGetMatDiagType(d) == 0 && cusparseGetMatIndexBase(d) == 0,
          "a matrix descriptor's defaults");
    check(!cusparseSetMatIndexBase(d, CUSPARSE_INDEX_BASE_ONE) && !cusparseSetMatFillMode(d, 1) &&
              !cusparseSetMatType(d, 3) && cusparseGetMatIndexBase(d) == 1 && cusparseGetMatFillMode(d) == 1 &&
              cusparseGetMatType(d) == 3,
          "and what was set");
    check(!cusparseDestroyMatDescr(d) && cusparseDestroyMatDescr(d) != 0, "destroyed once");
}

int main(void)
{
    random_numbers();
    descriptors();
    blas();
    solver();
    sparse();
    return check_end("maths of an SDK");
}
