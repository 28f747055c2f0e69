/* What the parts of the program over libraries with only the names that public sources have seen share. */
#ifndef CUMU_TESTS_SDK_MATHS_H
#define CUMU_TESTS_SDK_MATHS_H

#include <stddef.h>

#include "../check.h"
#include "cuda_enums.h"
#include "cuda_functions.h"

void blas(void);
void solver(void);
void sparse(void);

#endif
