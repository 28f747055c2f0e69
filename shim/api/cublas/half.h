/* Level 1 of f16 and bf16 vectors, sums in f32, as products: muBLAS has no functions of its own for them. */
#ifndef CUMU_API_CUBLAS_HALF_H
#define CUMU_API_CUBLAS_HALF_H

#include <stdint.h>

/* What products take from device memory. `cell` is the one that is written: a result on its way to the host. */
struct cublas_constants {
    uint16_t f16, bf16;
    float one, zero, cell;
};
/* On the handle's device, made at the first question and kept with the handle. NULL: no memory. */
struct cublas_constants *cublas_constants(void *handle);

/* type: CUDA_R_16F or CUDA_R_16BF, of vectors and results; alpha is f32. Increments: none is 0, and of two both have
 * one sign, else CUBLAS_STATUS_NOT_SUPPORTED. Scalars and results lie where the pointer mode says. */
int cublas_half_axpy(void *handle, int n, const void *alpha, const void *x, int type, int incx, void *y, int incy);
int cublas_half_scal(void *handle, int n, const void *alpha, void *x, int type, int incx);
int cublas_half_dot(void *handle, int n, const void *x, int type, int incx, const void *y, int incy, void *result);
/* On the device, too, the root is taken on the host: waits for the handle's stream. */
int cublas_half_norm(void *handle, int n, const void *x, int type, int incx, void *result);

#endif
