/* cuSOLVER Mg's wrappers: each on the diagonal matrix of 4, 9 and 16 in f64, in blocks of two columns on one device. */
#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

enum { N = 3, F64 = CUDA_R_64F, LOWER = CUBLAS_FILL_MODE_LOWER };

static _Thread_local double *a, *b;

static void put(double x, double y, double z)
{
    const double diagonal[N * N] = {4, 0, 0, 0, 9, 0, 0, 0, 16}, sides[N] = {x, y, z};
    OK(M(cudaMemcpy, musaMemcpy)(a, diagonal, sizeof diagonal, 1));
    OK(M(cudaMemcpy, musaMemcpy)(b, sides, sizeof sides, 1));
}
static void holds(const double *at, double want)
{
    double got = 0;
    OK(M(cudaMemcpy, musaMemcpy)(&got, at, sizeof got, 2));
    EXPECT(got - want < 1e-9 && want - got < 1e-9);
}

void snippet_cusolver_mg(void)
{
    void *h = NULL, *grid = NULL, *da = NULL, *db = NULL, *A[1], *B[1], *P[1], *work[1] = {NULL};
    int id[] = {0}, info = -1;
    long lwork = 0;
    double w[N];
    IS(C(cusolverMgCreate)(NULL), CUSOLVER_STATUS_INVALID_VALUE);
    OK(C(cusolverMgCreate)(&h));
    if (C(cusolverMgDeviceSelect)(h, 1, id) == CUSOLVER_STATUS_NOT_INITIALIZED) {
        printf("skip cusolver_mg: built without OpenBLAS\n");
        return;
    }
    OK(C(cusolverMgCreateDeviceGrid)(&grid, 1, 1, id, 1));
    OK(C(cusolverMgCreateMatrixDesc)(&da, N, N, N, 2, F64, grid));
    OK(C(cusolverMgCreateMatrixDesc)(&db, N, 1, N, 2, F64, grid));
    OK(M(cudaMalloc, musaMalloc)(&A[0], 4096));
    a = A[0];
    B[0] = b = a + 128;
    P[0] = a + 256;

    put(4, 9, 16);
    OK(C(cusolverMgPotrf_bufferSize)(h, LOWER, N, A, 1, 1, da, F64, &lwork));
    OK(C(cusolverMgPotrf)(h, LOWER, N, A, 1, 1, da, F64, work, lwork, &info));
    IS(info, 0);
    holds(a + 8, 4);
    OK(C(cusolverMgPotrs_bufferSize)(h, LOWER, N, 1, A, 1, 1, da, B, 1, 1, db, F64, &lwork));
    OK(C(cusolverMgPotrs)(h, LOWER, N, 1, A, 1, 1, da, B, 1, 1, db, F64, work, lwork, &info));
    holds(b + 2, 1);
    OK(C(cusolverMgPotri_bufferSize)(h, LOWER, N, A, 1, 1, da, F64, &lwork));
    OK(C(cusolverMgPotri)(h, LOWER, N, A, 1, 1, da, F64, work, lwork, &info));
    holds(a + 4, 1. / 9);
    put(4, 9, 16);
    OK(C(cusolverMgGetrf_bufferSize)(h, N, N, A, 1, 1, da, P, F64, &lwork));
    OK(C(cusolverMgGetrf)(h, N, N, A, 1, 1, da, P, F64, work, lwork, &info));
    OK(C(cusolverMgGetrs_bufferSize)(h, CUBLAS_OP_N, N, 1, A, 1, 1, da, P, B, 1, 1, db, F64, &lwork));
    OK(C(cusolverMgGetrs)(h, CUBLAS_OP_N, N, 1, A, 1, 1, da, P, B, 1, 1, db, F64, work, lwork, &info));
    holds(b + 1, 1);
    put(0, 0, 0);
    OK(C(cusolverMgSyevd_bufferSize)(h, 0, LOWER, N, A, 1, 1, da, w, F64, F64, &lwork));
    OK(C(cusolverMgSyevd)(h, 0, LOWER, N, A, 1, 1, da, w, F64, F64, work, lwork, &info));
    EXPECT(w[1] - 9 < 1e-9 && 9 - w[1] < 1e-9);
    IS(C(cusolverMgPotrf)(h, LOWER, N, A, 2, 1, da, F64, work, lwork, &info), CUSOLVER_STATUS_INVALID_VALUE);

    OK(C(cusolverMgDestroyMatrixDesc)(da));
    OK(C(cusolverMgDestroyMatrixDesc)(db));
    OK(C(cusolverMgDestroyGrid)(grid));
    OK(C(cusolverMgDestroy)(h));
    OK(M(cudaFree, musaFree)(a));
}
