/* What the cuBLASLt wrappers share. Programs hold descriptions in memory of their own, of a size that muBLASLt does
 * not know; so a description is a record of cumu's, and muBLASLt's object stands beside it or is made for a call.
 * The sizes: mapping/facts/cuda.md S5. */
#ifndef CUMU_API_CUBLASLT_LT_H
#define CUMU_API_CUBLASLT_LT_H

#include "api/cublas/blas.h"

/* muBLASLt's handle of a cublasLtHandle_t or, as CUDA allows, of a cublasHandle_t; NULL of anything
 * else. O(1), without a lock. */
mublasLtHandle_t cumu_lt_handle(void *handle);

enum cumu_lt_kind { CUMU_LT_DESC, CUMU_LT_LAYOUT, CUMU_LT_PREFERENCE, CUMU_LT_TRANSFORM, CUMU_LT_EMULATION };

/* muBLASLt's object of a description, for one call: *made says that cumu_lt_leave must destroy it. CUDA's status. */
int cumu_lt_use(enum cumu_lt_kind kind, void *object, void **mu, bool *made);
void cumu_lt_leave(enum cumu_lt_kind kind, void *mu, bool made);

#endif
