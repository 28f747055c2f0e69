/* Sparse factors in complex double. */
#include <complex.h>
#define NUMBER double _Complex
#define SINGLE float _Complex
#define NUMBERS cumu_sparse_complex
#define XTYPE SPQR_COMPLEX
#define NUMBER_OF(re, im) __builtin_complex(re, im) /* CMPLX: glibc defines that for gcc alone */
#define CONJ(x) conj(x)
#define ABS(x) cabs(x)
#define REAL(x) creal(x)
#define ARG(x) carg(x)
#include "api/cusolver/sparse_numeric.h"
