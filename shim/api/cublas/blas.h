/* What the cuBLAS wrappers begin with: a muBLAS status as cuBLAS's, and what a handle is set to. */
#ifndef CUMU_API_CUBLAS_BLAS_H
#define CUMU_API_CUBLAS_BLAS_H

#include "api/api.h"

#include "conv.h"
#include "cuda_enums.h"

/* Status of a muBLAS call as cuBLAS's. */
#define CUBLAS(call) cumu_cublasStatus_t_from_musa(call)

/* Where the handle's scalars lie; CUBLAS_STATUS_NOT_INITIALIZED for what is no handle, as muBLAS alone knows. */
static inline int cublas_mode(void *handle, mublasPointerMode_t *mode)
{
    return CUBLAS(mu.mublasGetPointerMode(handle, mode));
}
static inline int cublas_live(void *handle)
{
    mublasPointerMode_t mode;
    return cublas_mode(handle, &mode);
}

#endif
