/* What the parts of the program over libraries with only the names that public sources have seen share. */
#ifndef CUMU_TESTS_SDK_MATHS_H
#define CUMU_TESTS_SDK_MATHS_H

#include <stddef.h>

#include "../check.h"
#include "cuda_enums.h"

int cudaMalloc(void **p, size_t n);
int cudaFree(void *p);
int cudaMemcpy(void *to, const void *from, size_t n, int kind);
int cudaDeviceSynchronize(void);
int cudaStreamCreateWithFlags(void **s, unsigned flags);
int cudaStreamDestroy(void *s);

void blas(void);
void solver(void);
void sparse(void);

#endif
