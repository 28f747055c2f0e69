/* Sparse factors in double. */
#define NUMBER double
#define SINGLE float
#define NUMBERS cumu_sparse_real
#define XTYPE SPQR_REAL
#define NUMBER_OF(re, im) (re)
#define CONJ(x) (x)
#define ABS(x) fabs(x)
#define REAL(x) (x)
#define ARG(x) ((x) < 0 ? M_PI : 0)
#include "api/cusolver/sparse_numeric.h"
