/* cuSOLVER's sparse wrappers: each on the diagonal matrix of 4, 9 and 16, host and device. */
#include <stdbool.h>
#include <stdlib.h>

#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

enum { N = 3 };

/* The matrix and sides of ones in the type at hand; where it lies: on the host, and on the device. */
struct side {
    void *val, *row, *col, *b, *x, *work;
};
static _Thread_local void *h, *descr, *info;
static _Thread_local struct side host, device;
static _Thread_local double memory[64];
static _Thread_local int where, rank, order[N];
static _Thread_local double norm;

/* x is 1 over 4, 9 and 16: its real parts, `parts` numbers apart. */
static void solved(const struct side *s, bool single, int parts)
{
    double got[2 * N] = {0};
    OK(M(cudaMemcpy, musaMemcpy)(got, s->x, (single ? 4 : 8) * (unsigned)(parts * N), 4));
    for (int i = 0; i < N; i++) {
        double v = single ? (double)((float *)got)[parts * i] : got[parts * i];
        double d = v * (i + 2) * (i + 2) - 1;
        EXPECT(d < 1e-5 && d > -1e-5);
    }
    OK(M(cudaMemset, musaMemset)(device.x, 0, 64));
    memset(host.x, 0, 64);
}
static void fill(bool single, int parts)
{
    static const int row[] = {0, 1, 2, 3}, col[] = {0, 1, 2};
    double *m = memory;
    host = (struct side){m, m + 8, m + 12, m + 16, m + 24, m + 32};
    memset(m, 0, sizeof memory);
    memcpy(host.row, row, sizeof row);
    memcpy(host.col, col, sizeof col);
    for (int i = 0; i < N; i++) {
        if (single) {
            ((float *)host.val)[parts * i] = (float)((i + 2) * (i + 2));
            ((float *)host.b)[parts * i] = 1;
        } else {
            ((double *)host.val)[parts * i] = (i + 2) * (i + 2);
            ((double *)host.b)[parts * i] = 1;
        }
    }
    OK(M(cudaMemcpy, musaMemcpy)(device.val, m, sizeof memory, 1));
}

#define A(s) (s).val, (s).row, (s).col
/* Every function of one type; the shift and the box's corners are of that type. */
#define TYPED(single, parts, shift, box, lu, qr_host, qr, chol_host, chol, lsq, vsi_host, vsi, box_of, fill_host, \
              fill_device, fill_lu, set_host, set_device, batch, zfd) \
    fill(single, parts); \
    OK(lu(h, N, N, descr, A(host), host.b, 0, 0, host.x, &where)); \
    solved(&host, single, parts); \
    OK(qr_host(h, N, N, descr, A(host), host.b, 0, 1, host.x, &where)); \
    solved(&host, single, parts); \
    OK(qr(h, N, N, descr, A(device), device.b, 0, 2, device.x, &where)); \
    solved(&device, single, parts); \
    OK(chol_host(h, N, N, descr, A(host), host.b, 0, 3, host.x, &where)); \
    solved(&host, single, parts); \
    OK(chol(h, N, N, descr, A(device), device.b, 0, 0, device.x, &where)); \
    solved(&device, single, parts); \
    IS(where, -1); \
    OK(lsq(h, N, N, N, descr, A(host), host.b, 0, &rank, host.x, order, &norm)); \
    solved(&host, single, parts); \
    IS(rank, N); \
    OK(vsi_host(h, N, N, descr, A(host), shift, host.b, 50, 0, host.work, host.x)); \
    OK(vsi(h, N, N, descr, A(device), shift, device.b, 50, 0, device.work, device.x)); \
    OK(box_of(h, N, N, descr, A(host), box, &where)); \
    IS(where, N); \
    OK(zfd(h, N, N, descr, A(host), order, &where)); \
    IS(where, N); \
    analyse(); \
    OK(fill_host(h, N, N, descr, A(host), info, host.work)); \
    OK(C(cusolverSpDcsrcholSolveHost)(h, N, host.b, host.x, info, host.work)); \
    solved(&host, single, parts); \
    OK(fill_device(h, N, N, descr, A(device), info, device.work)); \
    OK(C(cusolverSpDcsrcholSolve)(h, N, device.b, device.x, info, device.work)); \
    solved(&device, single, parts); \
    OK(C(cusolverSpDcsrcholDiag)(h, info, device.work)); \
    OK(C(cusolverSpScsrqrZeroPivot)(h, info, 5.0f, &where)); \
    IS(where, 0); \
    OK(C(cusolverSpDcsrqrZeroPivot)(h, info, 1, &where)); \
    IS(where, -1); \
    OK(fill_lu(h, N, N, descr, A(host), info, 1, host.work)); \
    extract(); \
    OK(set_host(h, N, N, N, descr, A(host), shift, info)); \
    OK(C(cusolverSpDcsrqrFactorHost)(h, N, N, N, NULL, NULL, info, host.work)); \
    OK(C(cusolverSpDcsrqrSolveHost)(h, N, N, host.b, host.x, info, host.work)); \
    solved(&host, single, parts); \
    OK(set_device(h, N, N, N, descr, A(device), shift, info)); \
    OK(C(cusolverSpDcsrqrFactor)(h, N, N, N, NULL, NULL, info, device.work)); \
    OK(C(cusolverSpDcsrqrSolve)(h, N, N, device.b, device.x, info, device.work)); \
    solved(&device, single, parts); \
    OK(batch(h, N, N, N, descr, A(device), device.b, device.x, 1, info, device.work)); \
    solved(&device, single, parts)

static void analyse(void)
{
    size_t internal = 0, size = 0;
    OK(C(cusolverSpXcsrcholAnalysis)(h, N, N, descr, host.row, host.col, info));
    OK(C(cusolverSpDcsrcholBufferInfo)(h, N, N, descr, A(host), info, &internal, &size));
    OK(C(cusolverSpXcsrqrAnalysis)(h, N, N, N, descr, host.row, host.col, info));
    OK(C(cusolverSpDcsrqrBufferInfo)(h, N, N, N, descr, A(host), info, &internal, &size));
    OK(C(cusolverSpDcsrqrBufferInfoBatched)(h, N, N, N, descr, A(device), 1, info, &internal, &size));
    EXPECT(internal > 0 && size > 0 && size <= 128);
}
static void extract(void)
{
    int l = -1, u = -1, q[N], row_l[N + 1], row_u[N + 1], col[N];
    double values[2 * N];
    OK(C(cusolverSpXcsrluNnzHost)(h, &l, &u, info));
    IS(l, 0);
    IS(u, N);
    OK(C(cusolverSpDcsrluExtractHost)(h, order, q, descr, values, row_l, col, descr, values, row_u, col, info,
                                      host.work));
    IS(row_u[N], N);
}

static void orders(void)
{
    int map[N] = {0, 1, 2}, row[N + 1] = {0, 1, 2, 3}, col[N] = {0, 1, 2}, p[N] = {2, 0, 1};
    size_t bytes = 0;
    OK(C(cusolverSpXcsrsymrcmHost)(h, N, N, descr, host.row, host.col, order));
    OK(C(cusolverSpXcsrsymamdHost)(h, N, N, descr, host.row, host.col, order));
    OK(C(cusolverSpXcsrmetisndHost)(h, N, N, descr, host.row, host.col, NULL, order));
    IS(order[0] + order[1] + order[2], 3);
    OK(C(cusolverSpXcsrissymHost)(h, N, N, descr, host.row, (int *)host.row + 1, host.col, &where));
    IS(where, 1);
    OK(C(cusolverSpXcsrperm_bufferSizeHost)(h, N, N, N, descr, row, col, p, p, &bytes));
    EXPECT(bytes <= 256);
    int work[64];
    OK(C(cusolverSpXcsrpermHost)(h, N, N, N, descr, row, col, p, p, map, work));
    IS(map[0], 2);
}

/* The diagonal, then four times it. */
static void refactored(void)
{
    int at[N] = {0, 1, 2}, empty[N + 1] = {0}, nnz = -1, first = -1, second = -1, *starts, *indices;
    double *values, zero = -1, boost = -1, *array[1] = {host.val}, x[N];
    void *f = NULL, *d = NULL;
    fill(false, 1);
    array[0] = host.val;
    OK(M(cudaMalloc, musaMalloc)(&d, 64));
    OK(M(cudaMemcpy, musaMemcpy)(d, at, sizeof at, 1));
    OK(C(cusolverRfCreate)(&f));
    OK(C(cusolverRfSetAlgs)(f, 0, 1));
    OK(C(cusolverRfGetAlgs)(f, &first, &second));
    IS(first * 10 + second, 1);
    OK(C(cusolverRfSetMatrixFormat)(f, 0, 2));
    OK(C(cusolverRfGetMatrixFormat)(f, &first, &second));
    IS(first * 10 + second, 2);
    OK(C(cusolverRfSetNumericProperties)(f, 1e-9, 1e-9));
    OK(C(cusolverRfGetNumericProperties)(f, &zero, &boost));
    EXPECT(zero == 1e-9 && boost == 1e-9);
    OK(C(cusolverRfSetResetValuesFastMode)(f, 1));
    OK(C(cusolverRfGetResetValuesFastMode)(f, &first));
    IS(first, 1);
    IS(C(cusolverRfSetupDevice)(N, N, device.row, device.col, device.val, 0, device.row, device.col, device.val, N,
                                device.row, device.col, device.val, d, d, f),
       CUSOLVER_STATUS_INVALID_VALUE); /* L's rows end at 3, it is said to have none */
    OK(C(cusolverRfSetupHost)(N, N, host.row, host.col, host.val, 0, empty, host.col, host.val, N, host.row, host.col,
                              host.val, at, at, f));
    OK(C(cusolverRfAnalyze)(f));
    OK(C(cusolverRfResetValues)(N, N, device.row, device.col, device.val, d, d, f));
    OK(C(cusolverRfRefactor)(f));
    OK(C(cusolverRfGetNumericBoostReport)(f, &first));
    IS(first, 0);
    OK(M(cudaMemcpy, musaMemcpy)(device.x, host.b, sizeof x, 1));
    OK(C(cusolverRfSolve)(f, d, d, 1, device.work, N, device.x, N));
    solved(&device, false, 1);
    OK(C(cusolverRfAccessBundledFactorsDevice)(f, &nnz, &starts, &indices, &values));
    IS(nnz, N);
    OK(C(cusolverRfExtractBundledFactorsHost)(f, &nnz, &starts, &indices, &values));
    EXPECT(nnz == N && values[2] == 16);
    free(starts), free(indices), free(values);
    int *starts_u, *indices_u;
    double *values_u;
    OK(C(cusolverRfExtractSplitFactorsHost)(f, &first, &starts, &indices, &values, &nnz, &starts_u, &indices_u,
                                            &values_u));
    EXPECT(first == 0 && nnz == N && values_u[1] == 9);
    free(starts), free(indices), free(values), free(starts_u), free(indices_u), free(values_u);

    OK(C(cusolverRfBatchSetupHost)(1, N, N, host.row, host.col, array, 0, empty, host.col, host.val, N, host.row,
                                   host.col, host.val, at, at, f));
    OK(C(cusolverRfBatchAnalyze)(f));
    array[0] = device.val;
    OK(C(cusolverRfBatchResetValues)(1, N, N, device.row, device.col, array, d, d, f));
    OK(C(cusolverRfBatchRefactor)(f));
    OK(C(cusolverRfBatchZeroPivot)(f, &first));
    IS(first, -1);
    OK(M(cudaMemcpy, musaMemcpy)(device.x, host.b, sizeof x, 1));
    array[0] = device.x;
    OK(C(cusolverRfBatchSolve)(f, d, d, 1, device.work, N, array, N));
    solved(&device, false, 1);
    OK(C(cusolverRfDestroy)(f));
    OK(M(cudaFree, musaFree)(d));
}

void snippet_cusolver_sparse(void)
{
    char *d = NULL;
    struct CUstream_st *stream = NULL;
    OK(M(cudaMalloc, musaMalloc)((void **)&d, sizeof memory));
    device = (struct side){d, d + 64, d + 96, d + 128, d + 192, d + 256};
    OK(M(cusparseCreateMatDescr, musparseCreateMatDescr)((musparseMatDescr_t *)&descr));
    OK(C(cusolverSpCreate)(&h));
    if (C(cusolverSpXcsrsymamdHost)(h, 1, 1, descr, (int[]){0, 1}, (int[]){0}, order) ==
        CUSOLVER_STATUS_NOT_SUPPORTED) { /* no SuiteSparse */
        refactored();
        return;
    }
    OK(C(cusolverSpSetStream)(h, NULL));
    OK(C(cusolverSpGetStream)(h, &stream));
    OK(C(cusolverSpCreateCsrqrInfo)(&info));
#define SHIFT (float)0
#define BOX \
    (struct cumu_f8){{3.5f, -1}}, (struct cumu_f8) \
    { \
        { \
            20, 1 \
        } \
    }
    TYPED(true, 1, SHIFT, BOX, C(cusolverSpScsrlsvluHost), C(cusolverSpScsrlsvqrHost), C(cusolverSpScsrlsvqr),
          C(cusolverSpScsrlsvcholHost), C(cusolverSpScsrlsvchol), C(cusolverSpScsrlsqvqrHost),
          C(cusolverSpScsreigvsiHost), C(cusolverSpScsreigvsi), C(cusolverSpScsreigsHost),
          C(cusolverSpScsrcholFactorHost), C(cusolverSpScsrcholFactor), C(cusolverSpScsrluFactorHost),
          C(cusolverSpScsrqrSetupHost), C(cusolverSpScsrqrSetup), C(cusolverSpScsrqrsvBatched),
          C(cusolverSpScsrzfdHost));
#undef SHIFT
#undef BOX
#define SHIFT 0.
#define BOX \
    (struct cumu_f16){{3.5, -1}}, (struct cumu_f16) \
    { \
        { \
            20, 1 \
        } \
    }
    TYPED(false, 1, SHIFT, BOX, C(cusolverSpDcsrlsvluHost), C(cusolverSpDcsrlsvqrHost), C(cusolverSpDcsrlsvqr),
          C(cusolverSpDcsrlsvcholHost), C(cusolverSpDcsrlsvchol), C(cusolverSpDcsrlsqvqrHost),
          C(cusolverSpDcsreigvsiHost), C(cusolverSpDcsreigvsi), C(cusolverSpDcsreigsHost),
          C(cusolverSpDcsrcholFactorHost), C(cusolverSpDcsrcholFactor), C(cusolverSpDcsrluFactorHost),
          C(cusolverSpDcsrqrSetupHost), C(cusolverSpDcsrqrSetup), C(cusolverSpDcsrqrsvBatched),
          C(cusolverSpDcsrzfdHost));
#undef SHIFT
#undef BOX
#define SHIFT \
    (struct cumu_f8) \
    { \
        { \
            0 \
        } \
    }
#define BOX \
    (struct cumu_f8){{3.5f, -1}}, (struct cumu_f8) \
    { \
        { \
            20, 1 \
        } \
    }
    TYPED(true, 2, SHIFT, BOX, C(cusolverSpCcsrlsvluHost), C(cusolverSpCcsrlsvqrHost), C(cusolverSpCcsrlsvqr),
          C(cusolverSpCcsrlsvcholHost), C(cusolverSpCcsrlsvchol), C(cusolverSpCcsrlsqvqrHost),
          C(cusolverSpCcsreigvsiHost), C(cusolverSpCcsreigvsi), C(cusolverSpCcsreigsHost),
          C(cusolverSpCcsrcholFactorHost), C(cusolverSpCcsrcholFactor), C(cusolverSpCcsrluFactorHost),
          C(cusolverSpCcsrqrSetupHost), C(cusolverSpCcsrqrSetup), C(cusolverSpCcsrqrsvBatched),
          C(cusolverSpCcsrzfdHost));
#undef SHIFT
#undef BOX
#define SHIFT \
    (struct cumu_f16) \
    { \
        { \
            0 \
        } \
    }
#define BOX \
    (struct cumu_f16){{3.5, -1}}, (struct cumu_f16) \
    { \
        { \
            20, 1 \
        } \
    }
    TYPED(false, 2, SHIFT, BOX, C(cusolverSpZcsrlsvluHost), C(cusolverSpZcsrlsvqrHost), C(cusolverSpZcsrlsvqr),
          C(cusolverSpZcsrlsvcholHost), C(cusolverSpZcsrlsvchol), C(cusolverSpZcsrlsqvqrHost),
          C(cusolverSpZcsreigvsiHost), C(cusolverSpZcsreigvsi), C(cusolverSpZcsreigsHost),
          C(cusolverSpZcsrcholFactorHost), C(cusolverSpZcsrcholFactor), C(cusolverSpZcsrluFactorHost),
          C(cusolverSpZcsrqrSetupHost), C(cusolverSpZcsrqrSetup), C(cusolverSpZcsrqrsvBatched),
          C(cusolverSpZcsrzfdHost));
#undef SHIFT
#undef BOX
    orders();
    refactored();
    OK(C(cusolverSpDestroyCsrqrInfo)(info));
    OK(C(cusolverSpDestroy)(h));
    IS(C(cusolverSpDestroy)(NULL), CUSOLVER_STATUS_NOT_INITIALIZED);
    OK(M(cusparseDestroyMatDescr, musparseDestroyMatDescr)(descr));
    OK(M(cudaFree, musaFree)(d));
}
