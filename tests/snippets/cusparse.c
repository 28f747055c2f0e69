/* cuSPARSE's wrappers on a matrix of three rows: what it tells of itself, descriptors, products, solves. */
#include <stdbool.h>
#include <stdint.h>

#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

#define CV(name) REACH(__typeof__(conv_##name), name)
enum { ROWS = 3, NNZ = 4, F32 = CUDA_R_32F, I32 = CUSPARSE_INDEX_32I, N = CUSPARSE_OPERATION_NON_TRANSPOSE };

/* The device's memory: a matrix [2 0 0; 1 3 0; 0 0 4] and room beside it. */
struct device {
    int offsets[ROWS + 1], columns[NNZ], rows[NNZ], more[8], more_columns[16];
    float values[NNZ], x[9], y[9], z[16];
    char buffer[4096], buffer2[1024], buffer3[1024];
};
static const struct device start = {
    {0, 1, 3, 4}, {0, 0, 1, 2}, {0, 1, 1, 2}, {0}, {0}, {2, 1, 3, 4}, {1, 2, 3, 1, 0, 0, 0, 1, 0},
    {0},          {0},          {0},          {0}, {0}};
static const float one = 1, zero = 0;

static void tells(void *handle)
{
    int version = 0, part = -1;
    OK(C(cusparseGetVersion)(handle, &version));
    EXPECT(version / 1000 == 12);
    OK(V(11, cusparseGetVersion)(handle, &version));
    EXPECT(version / 1000 == 11);
    IS(C(cusparseGetVersion)(NULL, &version), CUSPARSE_STATUS_NOT_INITIALIZED);
    OK(C(cusparseGetProperty)(0, &part));
    EXPECT(part == 12);
    OK(V(11, cusparseGetProperty)(0, &part));
    EXPECT(part == 11);
    IS(C(cusparseGetProperty)(3, &part), CUSPARSE_STATUS_INVALID_VALUE);
    EXPECT(!strcmp(C(cusparseGetErrorName)(CUSPARSE_STATUS_ZERO_PIVOT), "CUSPARSE_STATUS_ZERO_PIVOT"));
    EXPECT(strstr(C(cusparseGetErrorString)(CUSPARSE_STATUS_NOT_SUPPORTED), "not supported"));
    EXPECT(strstr(C(cusparseGetErrorName)(99), "unrecognized"));
    OK(C(cusparseLoggerSetCallback)(NULL));
    OK(C(cusparseLoggerSetFile)(NULL));
    IS(C(cusparseLoggerOpenFile)("/nowhere/at/all"), CUSPARSE_STATUS_INVALID_VALUE);
    OK(C(cusparseLoggerSetLevel)(0));
    IS(C(cusparseLoggerSetLevel)(9), CUSPARSE_STATUS_INVALID_VALUE);
    OK(C(cusparseLoggerSetMask)(0));
    OK(C(cusparseLoggerForceDisable)());
}

static void *csr(struct device *d)
{
    void *m = NULL;
    OK(C(cusparseCreateCsr)(&m, ROWS, ROWS, NNZ, d->offsets, d->columns, d->values, I32, I32, 0, F32));
    return m;
}
static void *vector(float *at)
{
    void *v = NULL;
    OK(CV(cusparseCreateDnVec)(&v, ROWS, at, F32));
    return v;
}
static void *dense(float *at)
{
    void *m = NULL;
    OK(CV(cusparseCreateDnMat)(&m, ROWS, ROWS, ROWS, at, F32, CUSPARSE_ORDER_COL));
    return m;
}
static bool holds(const float *at, float a, float b, float c)
{
    float got[3] = {0};
    OK(M(cudaMemcpy, musaMemcpy)(got, at, sizeof got, 2));
    return got[0] == a && got[1] == b && got[2] == c;
}

static void descriptors(struct device *d)
{
    int64_t rows, cols, nnz, block, width;
    void *a, *b, *v, *m = csr(d);
    int otype, itype, base, type, format, batch, fill = 1, got = 0;
    OK(C(cusparseCsrGet)(m, &rows, &cols, &nnz, &a, &b, &v, &otype, &itype, &base, &type));
    EXPECT(rows == ROWS && cols == ROWS && nnz == NNZ && a == d->offsets && b == d->columns && v == d->values);
    EXPECT(otype == I32 && itype == I32 && base == 0 && type == F32);
    IS(C(cusparseCscGet)(m, &rows, &cols, &nnz, &a, &b, &v, &otype, &itype, &base, &type),
       CUSPARSE_STATUS_INVALID_VALUE);
    OK(C(cusparseSpMatGetSize)(m, &rows, &cols, &nnz));
    OK(C(cusparseSpMatGetFormat)(m, &format));
    OK(C(cusparseSpMatGetIndexBase)(m, &base));
    OK(C(cusparseSpMatGetValues)(m, &v));
    OK(C(cusparseSpMatSetValues)(m, d->values));
    OK(C(cusparseCsrSetStridedBatch)(m, 2, 4, 4));
    OK(C(cusparseSpMatGetStridedBatch)(m, &batch));
    EXPECT(nnz == NNZ && format == CUSPARSE_FORMAT_CSR && base == 0 && v == d->values && batch == 2);
    OK(C(cusparseSpMatSetAttribute)(m, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    OK(C(cusparseSpMatGetAttribute)(m, CUSPARSE_SPMAT_FILL_MODE, &got, sizeof got));
    EXPECT(got == 1);
    IS(C(cusparseSpMatSetAttribute)(m, CUSPARSE_SPMAT_FILL_MODE, &fill, 1), CUSPARSE_STATUS_INVALID_VALUE);
    OK(C(cusparseCsrSetPointers)(m, d->offsets, d->columns, d->values));
    OK(C(cusparseDestroySpMat)(m));
    OK(C(cusparseCreateCsc)(&m, ROWS, ROWS, NNZ, d->offsets, d->columns, d->values, I32, I32, 0, F32));
    OK(C(cusparseCscGet)(m, &rows, &cols, &nnz, &a, &b, &v, &otype, &itype, &base, &type));
    OK(C(cusparseCscSetPointers)(m, d->offsets, d->columns, d->values));
    OK(C(cusparseDestroySpMat)(m));
    OK(C(cusparseCreateCoo)(&m, ROWS, ROWS, NNZ, d->rows, d->columns, d->values, I32, 0, F32));
    OK(C(cusparseCooGet)(m, &rows, &cols, &nnz, &a, &b, &v, &itype, &base, &type));
    EXPECT(a == d->rows && b == d->columns);
    OK(ONLY(11, cusparseCooSetPointers)(m, d->rows, d->columns, d->values));
    OK(C(cusparseCooSetStridedBatch)(m, 2, 4));
    OK(ONLY(11, cusparseSpMatSetStridedBatch)(m, 1));
    OK(C(cusparseDestroySpMat)(m));
    OK(C(cusparseCreateBlockedEll)(&m, 4, 4, 2, 2, d->columns, d->x, I32, 0, F32));
    OK(C(cusparseBlockedEllGet)(m, &rows, &cols, &block, &width, &a, &v, &itype, &base, &type));
    EXPECT(rows == 4 && block == 2 && width == 2 && a == d->columns && v == d->x);
    OK(C(cusparseDestroySpMat)(m));
    OK(C(cusparseCreateSlicedEll)(&m, 4, 4, 4, 4, 2, d->offsets, d->columns, d->values, I32, I32, 0, F32));
    OK(C(cusparseDestroySpMat)(m));
    OK(C(cusparseCreateBsr)(&m, 2, 2, 1, 2, 2, d->offsets, d->columns, d->values, I32, I32, 0, F32,
                            CUSPARSE_ORDER_ROW));
    OK(C(cusparseBsrSetStridedBatch)(m, 1, 0, 0, 0));
    OK(C(cusparseDestroySpMat)(m));
    IS(C(cusparseDestroySpMat)(NULL), CUSPARSE_STATUS_INVALID_VALUE);
}

static void products(void *h, struct device *d)
{
    size_t size = 0;
    void *m = csr(d), *x = vector(d->x), *y = vector(d->y), *b = dense(d->x), *c = dense(d->y);
    OK(C(cusparseSpMV_bufferSize)(h, N, &one, m, x, &zero, y, F32, 0, &size));
    OK(C(cusparseSpMV_preprocess)(h, N, &one, m, x, &zero, y, F32, 0, d->buffer));
    OK(C(cusparseSpMV)(h, N, &one, m, x, &zero, y, F32, 0, d->buffer));
    EXPECT(holds(d->y, 2, 7, 12));
    OK(C(cusparseSpMM_bufferSize)(h, N, N, &one, m, b, &zero, c, F32, 0, &size));
    OK(C(cusparseSpMM_preprocess)(h, N, N, &one, m, b, &zero, c, F32, 0, d->buffer));
    OK(C(cusparseSpMM)(h, N, N, &one, m, b, &zero, c, F32, 0, d->buffer));
    EXPECT(holds(d->y + 3, 2, 1, 0));
    OK(C(cusparseSparseToDense_bufferSize)(h, m, c, 0, &size));
    OK(C(cusparseSparseToDense)(h, m, c, 0, d->buffer));
    EXPECT(holds(d->y, 2, 1, 0) && holds(d->y + 3, 0, 3, 0));
    OK(C(cusparseDenseToSparse_bufferSize)(h, c, m, 0, &size));
    OK(C(cusparseDenseToSparse_analysis)(h, c, m, 0, d->buffer));
    OK(C(cusparseDenseToSparse_convert)(h, c, m, 0, d->buffer));
    EXPECT(holds(d->values, 2, 1, 3));
    OK(C(cusparseSDDMM_bufferSize)(h, N, N, &one, c, c, &zero, m, F32, 0, &size));
    OK(C(cusparseSDDMM_preprocess)(h, N, N, &one, c, c, &zero, m, F32, 0, d->buffer));
    OK(C(cusparseSDDMM)(h, N, N, &one, c, c, &zero, m, F32, 0, d->buffer));
    EXPECT(holds(d->values, 4, 5, 9));
    OK(ONLY(11, cusparseConstrainedGeMM_bufferSize)(h, N, N, &one, c, c, &zero, m, F32, &size));
    OK(ONLY(11, cusparseConstrainedGeMM)(h, N, N, &one, c, c, &zero, m, F32, d->buffer));
    EXPECT(holds(d->values, 4, 5, 9));
    OK(M(cudaMemcpy, musaMemcpy)(d->values, start.values, sizeof d->values, 1));
    OK(C(cusparseDestroySpMat)(m));
    OK(CV(cusparseDestroyDnVec)(x));
    OK(CV(cusparseDestroyDnVec)(y));
    OK(CV(cusparseDestroyDnMat)(b));
    OK(CV(cusparseDestroyDnMat)(c));
}

static void solves(void *h, struct device *d)
{
    size_t size = 0;
    void *m = csr(d), *x = vector(d->x), *y = vector(d->y), *b = dense(d->x), *c = dense(d->y), *s = NULL;
    OK(C(cusparseSpSV_createDescr)(&s));
    OK(C(cusparseSpSV_bufferSize)(h, N, &one, m, x, y, F32, 0, s, &size));
    OK(C(cusparseSpSV_analysis)(h, N, &one, m, x, y, F32, 0, s, d->buffer));
    OK(C(cusparseSpSV_solve)(h, N, &one, m, x, y, F32, 0, s));
    EXPECT(holds(d->y, 0.5f, 0.5f, 0.75f));
    OK(M(cudaMemcpy, musaMemcpy)(d->z, (float[]){4, 6, 8}, 12, 1)); /* a new diagonal */
    OK(C(cusparseSpSV_updateMatrix)(h, s, d->z, CUSPARSE_SPSV_UPDATE_DIAGONAL));
    OK(C(cusparseSpSV_solve)(h, N, &one, m, x, y, F32, 0, s));
    EXPECT(holds(d->y, 0.25f, 1.75f / 6, 0.375f));
    OK(C(cusparseSpSV_destroyDescr)(s));
    OK(C(cusparseSpSM_createDescr)(&s));
    OK(C(cusparseSpSM_bufferSize)(h, N, N, &one, m, b, c, F32, 0, s, &size));
    OK(C(cusparseSpSM_analysis)(h, N, N, &one, m, b, c, F32, 0, s, d->buffer));
    OK(M(cudaMemcpy, musaMemcpy)(d->z, (float[]){1, 2, 4, 8}, 16, 1)); /* all values anew */
    OK(C(cusparseSpSM_updateMatrix)(h, s, d->z, CUSPARSE_SPSM_UPDATE_GENERAL));
    OK(C(cusparseSpSM_solve)(h, N, N, &one, m, b, c, F32, 0, s));
    EXPECT(holds(d->y, 1, 0, 0.375f));
    OK(C(cusparseSpSM_destroyDescr)(s));
    OK(C(cusparseDestroySpMat)(m));
    OK(CV(cusparseDestroyDnVec)(x));
    OK(CV(cusparseDestroyDnVec)(y));
    OK(CV(cusparseDestroyDnMat)(b));
    OK(CV(cusparseDestroyDnMat)(c));
}

static void sparse_products(void *h, struct device *d)
{
    size_t size = 0, size2 = 0, size3 = 0;
    int64_t rows, cols, nnz = 0, count = 0;
    void *m = csr(d), *c = NULL, *p = NULL;
    OK(C(cusparseCreateCsr)(&c, ROWS, ROWS, 0, d->more, NULL, NULL, I32, I32, 0, F32));
    OK(C(cusparseSpGEMM_createDescr)(&p));
    OK(C(cusparseSpGEMM_workEstimation)(h, N, N, &one, m, m, &zero, c, F32, 0, p, &size, NULL));
    EXPECT(size <= sizeof d->buffer);
    OK(C(cusparseSpGEMM_workEstimation)(h, N, N, &one, m, m, &zero, c, F32, 0, p, &size, d->buffer));
    OK(C(cusparseSpGEMM_getNumProducts)(p, &count));
    EXPECT(count == 5);
    OK(C(cusparseSpGEMM_estimateMemory)(h, N, N, &one, m, m, &zero, c, F32, 0, p, 0.5f, &size3, NULL, NULL));
    OK(C(cusparseSpGEMM_estimateMemory)(h, N, N, &one, m, m, &zero, c, F32, 0, p, 0.5f, &size3, d->buffer3, &size2));
    OK(C(cusparseSpGEMM_compute)(h, N, N, &one, m, m, &zero, c, F32, 0, p, &size, NULL));
    OK(C(cusparseSpGEMM_compute)(h, N, N, &one, m, m, &zero, c, F32, 0, p, &size, d->buffer2));
    OK(C(cusparseSpMatGetSize)(c, &rows, &cols, &nnz));
    EXPECT(nnz == 4);
    OK(C(cusparseCsrSetPointers)(c, d->more, d->more_columns, d->z));
    OK(C(cusparseSpGEMM_copy)(h, N, N, &one, m, m, &zero, c, F32, 0, p));
    EXPECT(holds(d->z, 4, 5, 9));
    OK(C(cusparseSpGEMM_destroyDescr)(p));
    OK(C(cusparseSpGEMM_createDescr)(&p));
    OK(C(cusparseSpGEMMreuse_workEstimation)(h, N, N, m, m, c, 0, p, &size, NULL));
    OK(C(cusparseSpGEMMreuse_workEstimation)(h, N, N, m, m, c, 0, p, &size, d->buffer));
    OK(C(cusparseSpGEMMreuse_nnz)(h, N, N, m, m, c, 0, p, &size, NULL, &size2, NULL, &size3, NULL));
    OK(C(cusparseSpGEMMreuse_nnz)(h, N, N, m, m, c, 0, p, &size, d->buffer3, &size2, d->buffer, &size3, d->buffer2));
    OK(C(cusparseSpGEMMreuse_copy)(h, N, N, m, m, c, 0, p, &size, NULL));
    OK(C(cusparseSpGEMMreuse_copy)(h, N, N, m, m, c, 0, p, &size, d->buffer3));
    OK(C(cusparseSpGEMMreuse_compute)(h, N, N, &one, m, m, &one, c, F32, 0, p));
    EXPECT(holds(d->z, 8, 10, 18));
    OK(C(cusparseSpGEMM_destroyDescr)(p));
    OK(C(cusparseDestroySpMat)(m));
    OK(C(cusparseDestroySpMat)(c));
}

void snippet_cusparse(void)
{
    void *handle = NULL;
    struct device *d = NULL;
    OK(CV(cusparseCreate)(&handle));
    OK(M(cudaMalloc, musaMalloc)((void **)&d, sizeof *d));
    OK(M(cudaMemcpy, musaMemcpy)(d, &start, sizeof start, 1));
    tells(handle);
    descriptors(d);
    products(handle, d);
    OK(M(cudaMemcpy, musaMemcpy)(d, &start, sizeof start, 1));
    solves(handle, d);
    sparse_products(handle, d);
    OK(M(cudaFree, musaFree)(d));
    OK(CV(cusparseDestroy)(handle));
}
