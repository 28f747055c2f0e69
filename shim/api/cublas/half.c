/* Level 1 of f16 and bf16 vectors as products of matrices with one row, whose leading dimension is the increment. */
#include "api/cublas/half.h"

#include <math.h>

#include "api/cublas/blas.h"

/* A handle's constants, where this pointer mode looks for f32 scalars, and its stream. */
struct call {
    struct cublas_constants *device;
    const float *one, *zero;
    musaStream_t stream;
    bool on_device;
};

static int begin(struct call *c, void *handle)
{
    static const float host[] = {0, 1};
    mublasPointerMode_t mode;
    int r = cublas_mode(handle, &mode);
    if (!r)
        r = CUBLAS(mu.mublasGetStream(handle, &c->stream));
    if (r)
        return r;
    c->device = cublas_constants(handle);
    if (!c->device)
        return CUBLAS_STATUS_ALLOC_FAILED;
    c->on_device = mode == MUBLAS_POINTER_MODE_DEVICE;
    c->one = c->on_device ? &c->device->one : &host[1];
    c->zero = c->on_device ? &c->device->zero : &host[0];
    return CUBLAS_STATUS_SUCCESS;
}

/* Reversed vectors are no matrices; two that are reversed meet in the same pairs as two that are not. */
static bool strides(const char *name, int *incx, int *incy)
{
    if (!*incx || !*incy || (*incx < 0) != (*incy < 0)) {
        cumu_gap("cublas", name, "an increment of 0, or increments of two signs, of f16");
        return false;
    }
    *incx = *incx < 0 ? -*incx : *incx;
    *incy = *incy < 0 ? -*incy : *incy;
    return true;
}

static int narrow(int type) { return type == CUDA_R_16F ? MUSA_R_16F : MUSA_R_16BF; }
static const void *one_of(const struct call *c, int type)
{
    return type == CUDA_R_16F ? &c->device->f16 : &c->device->bf16;
}

/* c (1 x n, of MUSA's type `out`) = alpha a (1 x k) op(b) + beta c, in f32. */
static int product(void *handle, int op, int n, int k, const void *alpha, const void *a, int lda, const void *b,
                   int ldb, int type, const void *beta, void *c, int ldc, int out)
{
    int in = narrow(type);
    return CUBLAS(mu.MUBLAS_GEMM_STRIDED_BATCHED_EX(handle, MUBLAS_OP_N, op, 1, n, k, alpha, a, in, lda, 0, b, in, ldb,
                                                    0, beta, c, out, ldc, 0, 1, MUBLAS_COMPUTE_32F,
                                                    MUBLAS_GEMM_DEFAULT));
}

int cublas_half_axpy(void *handle, int n, const void *alpha, const void *x, int type, int incx, void *y, int incy)
{
    struct call c;
    int r = begin(&c, handle);
    if (r || n <= 0)
        return r;
    if (!strides("cublasAxpyEx", &incx, &incy))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return product(handle, MUBLAS_OP_N, n, 1, alpha, one_of(&c, type), 1, x, incx, type, c.one, y, incy, narrow(type));
}

int cublas_half_scal(void *handle, int n, const void *alpha, void *x, int type, int incx)
{
    struct call c;
    int r = begin(&c, handle);
    if (r || n <= 0 || incx <= 0) /* as BLAS: nothing */
        return r;
    return product(handle, MUBLAS_OP_N, n, 0, c.one, x, 1, x, incx, type, alpha, x, incx, narrow(type));
}

/* The handle's cell to the host. */
static int fetched(const struct call *c, void *to, size_t size)
{
    int r = mu.musaMemcpyAsync(to, &c->device->cell, size, musaMemcpyDeviceToHost, c->stream);
    if (!r)
        r = mu.musaStreamSynchronize(c->stream);
    return r ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

int cublas_half_dot(void *handle, int n, const void *x, int type, int incx, const void *y, int incy, void *result)
{
    struct call c;
    int r = begin(&c, handle);
    if (r)
        return r;
    if (n > 0 && !strides("cublasDotEx", &incx, &incy))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (n <= 0) /* the sum of nothing */
        n = 0, incx = incy = 1;
    void *to = c.on_device ? result : &c.device->cell;
    r = product(handle, MUBLAS_OP_T, 1, n, c.one, x, incx, y, incy, type, c.zero, to, 1, narrow(type));
    return r || c.on_device ? r : fetched(&c, result, sizeof(uint16_t));
}

int cublas_half_norm(void *handle, int n, const void *x, int type, int incx, void *result)
{
    struct call c;
    float norm = 0; /* of nothing */
    int r = begin(&c, handle);
    if (r)
        return r;
    if (n > 0 && incx > 0) {
        r = product(handle, MUBLAS_OP_T, 1, n, c.one, x, incx, x, incx, type, c.zero, &c.device->cell, 1, MUSA_R_32F);
        if (!r)
            r = fetched(&c, &norm, sizeof norm);
        norm = sqrtf(norm);
    }
    /* The norm times one, in the type of x. */
    const void *one = one_of(&c, type), *alpha = &norm;
    void *to = result;
    if (!r && c.on_device) {
        alpha = &c.device->cell;
        r = mu.musaMemcpyAsync(&c.device->cell, &norm, sizeof norm, musaMemcpyHostToDevice, c.stream)
                ? CUBLAS_STATUS_EXECUTION_FAILED
                : CUBLAS_STATUS_SUCCESS;
    } else if (!r) {
        to = &c.device->cell;
    }
    if (!r)
        r = product(handle, MUBLAS_OP_N, 1, 1, alpha, one, 1, one, 1, type, c.zero, to, 1, narrow(type));
    if (!r && !c.on_device)
        r = fetched(&c, result, sizeof(uint16_t));
    else if (!r && mu.musaStreamSynchronize(c.stream)) /* `norm` is ours until then */
        r = CUBLAS_STATUS_EXECUTION_FAILED;
    return r;
}
