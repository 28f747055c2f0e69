/* The releases of cuBLAS and cuBLASLt that the facades stand for. */
#ifndef CUMU_API_CUBLAS_RELEASE_H
#define CUMU_API_CUBLAS_RELEASE_H

#include "api/release.h"

static const struct {
    struct cumu_release library;
    int cudart;
} cumu_cublas_releases[] = {{{11, 11, 3}, CUMU_CUDART_11}, {{12, 9, 3}, CUMU_CUDART_12}, {{13, 10, 0}, CUMU_CUDART_13}};
enum { V11, V12, V13 };

/* As the libraries tell it: 120901. */
static inline int cumu_cublas_version(int release)
{
    struct cumu_release l = cumu_cublas_releases[release].library;
    return l.major * 10000 + l.minor * 100 + l.patch;
}

#endif
