/* cuSPARSE over a muSPARSE of which only some names are seen: vectors, what they tell, and what is computed of them. */
#include <math.h>

#include "maths.h"

enum { TO = 1, FROM = 2 };

/* Indices 1 and 3, counted from one as 2 and 4, of five. */
static void of_doubles(void *h, char *at)
{
    int index[] = {2, 4}, itype = 0, base = 0, type = 0;
    long size = 0, nnz = 0;
    double xs[] = {10, 20}, ys[] = {1, 2, NAN, 4, 5}, alpha = 3, beta = 2, c = 0, s = 1, dot = 0;
    void *x = NULL, *y = NULL, *indices = NULL, *values = NULL, *same = NULL;
    size_t bytes = 0;
    int bad = cudaMemcpy(at, index, sizeof index, TO) || cudaMemcpy(at + 256, xs, sizeof xs, TO) ||
              cudaMemcpy(at + 512, ys, sizeof ys, TO) ||
              cusparseCreateSpVec(&x, 5, 2, at, at + 256, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_64F) ||
              cusparseCreateDnVec(&y, 5, at + 512, CUDA_R_64F);
    check(!bad && !cusparseSpVecGet(x, &size, &nnz, &indices, &values, &itype, &base, &type) && size == 5 && nnz == 2 &&
              indices == at && values == at + 256 && itype == CUSPARSE_INDEX_32I && base == CUSPARSE_INDEX_BASE_ONE &&
              type == CUDA_R_64F && !cusparseDnVecGet(y, &size, &values, &type) && size == 5 && values == at + 512 &&
              !cusparseDnVecGetValues(y, &same) && same == values,
          "vectors tell what they are");
    bad = cusparseSpVV_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, x, y, &dot, CUDA_R_64F, &bytes) ||
          cusparseSpVV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, x, y, &dot, CUDA_R_64F, NULL);
    check(!bad && dot == 100, "an inner product, and no element between");
    bad = cusparseAxpby(h, &alpha, x, &beta, y) || cudaMemcpy(ys, at + 512, sizeof ys, FROM);
    check(!bad && ys[0] == 2 && ys[1] == 34 && isnan(ys[2]) && ys[3] == 68 && ys[4] == 10, "a sum");
    bad = cusparseRot(h, &c, &s, x, y) || cudaMemcpy(xs, at + 256, sizeof xs, FROM) ||
          cudaMemcpy(ys, at + 512, sizeof ys, FROM);
    check(!bad && xs[0] == 34 && xs[1] == 68 && ys[1] == -10 && ys[3] == -20 && ys[0] == 2, "a rotation");
    beta = 0;
    bad = cusparseAxpby(h, &alpha, x, &beta, y) || cudaMemcpy(ys, at + 512, sizeof ys, FROM);
    check(!bad && ys[2] == 0 && ys[1] == 102, "a factor of 0 leaves nothing");
    index[1] = 6;
    check(!cudaMemcpy(at, index, sizeof index, TO) && cusparseAxpby(h, &alpha, x, &beta, y) != 0,
          "an index that is none is refused");
    check(!cusparseDestroySpVec(x) && !cusparseDestroyDnVec(y) && cusparseAxpby(h, &alpha, x, &beta, y) != 0,
          "vectors go");
}

static void of_complex_floats(void *h, char *at)
{
    long index[] = {0, 1};
    float xs[] = {1, 2, 0, 1}, ys[] = {3, 4, 5, 0}, dot[2] = {0};
    void *x = NULL, *y = NULL;
    int bad = cudaMemcpy(at, index, sizeof index, TO) || cudaMemcpy(at + 256, xs, sizeof xs, TO) ||
              cudaMemcpy(at + 512, ys, sizeof ys, TO) ||
              cusparseCreateSpVec(&x, 2, 2, at, at + 256, CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_C_32F) ||
              cusparseCreateDnVec(&y, 2, at + 512, CUDA_C_32F) ||
              cusparseSpVV(h, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE, x, y, dot, CUDA_C_32F, NULL);
    check(!bad && dot[0] == 11 && dot[1] == -7 && !cusparseDestroySpVec(x) && !cusparseDestroyDnVec(y),
          "an inner product of complex numbers"); /* (1-2i)(3+4i) + (-i)5 */
}

void sparse(void)
{
    void *h = NULL, *p = NULL, *stream = NULL, *got = &stream;
    int mode = 7, numbers[5] = {0};
    check(!cusparseCreate(&h) && !cudaMalloc(&p, 4096), "a handle of cuSPARSE");
    check(!cusparseGetStream(h, &got) && !got && !cudaStreamCreateWithFlags(&stream, 1) &&
              !cusparseSetStream(h, stream) && !cusparseGetStream(h, &got) && got == stream,
          "its stream is known");
    check(!cusparseSetPointerMode(h, CUSPARSE_POINTER_MODE_HOST) && !cusparseGetPointerMode(h, &mode) &&
              mode == CUSPARSE_POINTER_MODE_HOST &&
              cusparseSetPointerMode(h, CUSPARSE_POINTER_MODE_DEVICE) == CUSPARSE_STATUS_NOT_SUPPORTED,
          "its scalars lie on the host");
    of_doubles(h, p);
    of_complex_floats(h, p);
    check(!cusparseCreateIdentityPermutation(h, 5, p) && !cudaMemcpy(numbers, p, sizeof numbers, FROM) &&
              numbers[0] == 0 && numbers[4] == 4,
          "the identity as a permutation");
    check(!cusparseDestroy(h) && !cudaFree(p) && !cudaStreamDestroy(stream), "which goes");
}
