/* cuSOLVER over a muSOLVER without Jacobi functions: eigenvalues by its direct ones. */
#include <math.h>

#include "maths.h"

enum { TO = 1, FROM = 2 };

static void options(void *h, void *info)
{
    int sweeps = 7;
    double residual = 7;
    check(!cusolverDnXsyevjSetTolerance(info, 1e-9) && !cusolverDnXsyevjSetMaxSweeps(info, 20) &&
              !cusolverDnXsyevjSetSortEig(info, 1) && cusolverDnXsyevjSetTolerance(info, -1) &&
              cusolverDnXsyevjSetTolerance(NULL, 1),
          "options of a Jacobi solver");
    check(!cusolverDnXsyevjGetSweeps(h, info, &sweeps) && sweeps == 0 &&
              !cusolverDnXsyevjGetResidual(h, info, &residual) && residual == 0 &&
              cusolverDnXsyevjGetSweeps(h, NULL, &sweeps),
          "and what it tells");
}

/* Two matrices (a s; conj(s) a), whose eigenvalues are a - |s| and a + |s|; the second matrix alone as a real one. */
static void eigenvalues(void *h, void *info)
{
    double z[16] = {5, 0, 3, -4, 3, 4, 5, 0, 2, 0, 1, 0, 1, 0, 2, 0}, a[4] = {2, 1, 1, 2}, w[4] = {0};
    void *p = NULL, *work = NULL;
    int lwork = 0, infos[2] = {7, 7};
    int bad = cudaMalloc(&p, 4096) || cudaMemcpy(p, a, sizeof a, TO);
    char *at = p, *values = at + 1024, *status = at + 2048;
    bad |= cusolverDnDsyevj_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, at, 2, values, &lwork,
                                       info) ||
           lwork <= 0 || cudaMalloc(&work, (size_t)lwork * sizeof(double)) ||
           cusolverDnDsyevj(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, at, 2, values, work, lwork, status,
                            info) ||
           cudaMemcpy(a, at, sizeof a, FROM) || cudaMemcpy(w, values, 16, FROM) || cudaMemcpy(infos, status, 4, FROM) ||
           cudaFree(work);
    check(!bad && fabs(w[0] - 1) < 1e-12 && fabs(w[1] - 3) < 1e-12 && fabs(a[0] + a[1]) < 1e-12 &&
              fabs(a[2] - a[3]) < 1e-12 && infos[0] == 0,
          "eigenvalues and vectors");
    bad = cudaMemcpy(at, z, sizeof z, TO) ||
          cusolverDnZheevjBatched_bufferSize(h, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_UPPER, 2, at, 2, values,
                                             &lwork, info, 2) ||
          cudaMalloc(&work, (size_t)lwork * 16) ||
          cusolverDnZheevjBatched(h, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_UPPER, 2, at, 2, values, work, lwork,
                                  status, info, 2) ||
          cudaMemcpy(w, values, sizeof w, FROM) || cudaMemcpy(infos, status, sizeof infos, FROM) || cudaFree(work);
    check(!bad && fabs(w[0]) < 1e-12 && fabs(w[1] - 10) < 1e-12 && fabs(w[2] - 1) < 1e-12 && fabs(w[3] - 3) < 1e-12 &&
              !infos[0] && !infos[1] && !cudaFree(p),
          "and of a batch of complex ones");
}

void solver(void)
{
    void *h = NULL, *info = NULL;
    check(!cusolverDnCreate(&h) && !cusolverDnCreateSyevjInfo(&info), "a solver's handle and options");
    options(h, info);
    eigenvalues(h, info);
    check(!cusolverDnDestroySyevjInfo(info) && !cusolverDnDestroy(h), "which go");
}
