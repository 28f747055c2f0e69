/* cuBLAS: copies of vectors and matrices between host and device. A vector with an increment is a matrix of
 * one row, a row of it one element. */
#include "api/api.h"

#include "cuda_enums.h"

struct block {
    long rows, cols, element;
    const void *from;
    long from_ld;
    void *to;
    long to_ld;
};

static int copy(struct block b, int kind, bool async, cudaStream_t stream)
{
    if (b.rows < 0 || b.cols < 0 || b.element <= 0 || b.from_ld <= 0 || b.to_ld <= 0 || b.from_ld < b.rows ||
        b.to_ld < b.rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!b.rows || !b.cols)
        return CUBLAS_STATUS_SUCCESS;
    if (!b.from || !b.to)
        return CUBLAS_STATUS_INVALID_VALUE;
    size_t element = (size_t)b.element, width = element * (size_t)b.rows;
    size_t from = element * (size_t)b.from_ld, to = element * (size_t)b.to_ld, height = (size_t)b.cols;
    if (from == width && to == width) { /* without gaps: one row */
        width *= height;
        from = to = width;
        height = 1;
    }
    musaError_t r = async ? mu.musaMemcpy2DAsync(b.to, to, b.from, from, width, height, kind, (musaStream_t)stream)
                          : mu.musaMemcpy2D(b.to, to, b.from, from, width, height, kind);
    return r ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

static int vector(long n, long element, const void *x, long incx, void *y, long incy, int kind, bool async,
                  cudaStream_t stream)
{
    return copy((struct block){1, n, element, x, incx, y, incy}, kind, async, stream);
}

static int matrix(long rows, long cols, long element, const void *a, long lda, void *b, long ldb, int kind, bool async,
                  cudaStream_t stream)
{
    return copy((struct block){rows, cols, element, a, lda, b, ldb}, kind, async, stream);
}

#define TRANSFERS(way, kind, suffix, size) \
    int wrap_cublas##way##Vector##suffix(size n, size element, const void *x, size incx, void *y, size incy) \
    { \
        return vector(n, element, x, incx, y, incy, kind, false, NULL); \
    } \
    int wrap_cublas##way##VectorAsync##suffix(size n, size element, const void *x, size incx, void *y, size incy, \
                                              cudaStream_t stream) \
    { \
        return vector(n, element, x, incx, y, incy, kind, true, stream); \
    } \
    int wrap_cublas##way##Matrix##suffix(size rows, size cols, size element, const void *a, size lda, void *b, \
                                         size ldb) \
    { \
        return matrix(rows, cols, element, a, lda, b, ldb, kind, false, NULL); \
    } \
    int wrap_cublas##way##MatrixAsync##suffix(size rows, size cols, size element, const void *a, size lda, void *b, \
                                              size ldb, cudaStream_t stream) \
    { \
        return matrix(rows, cols, element, a, lda, b, ldb, kind, true, stream); \
    }
TRANSFERS(Set, musaMemcpyHostToDevice, , int)
TRANSFERS(Get, musaMemcpyDeviceToHost, , int)
TRANSFERS(Set, musaMemcpyHostToDevice, _64, long)
TRANSFERS(Get, musaMemcpyDeviceToHost, _64, long)
