/* Sparse products of the CPU muSPARSE, for its generic and its legacy form. */
#ifndef CUMU_HOST_MUSPARSE_SPGEMM_H
#define CUMU_HOST_MUSPARSE_SPGEMM_H

#include "host/musparse/musparse.h"

/* All by rows (musparse_csr_plain), with indices of one width; `d` may be NULL. Offsets go to `ptr`, from `base`.
 * The number of elements, or -1: no memory, or more than the indices reach. */
int64_t musparse_count(const struct csr *a, const struct csr *b, const struct csr *d, void *ptr, int base, int work);
/* Columns and values (of the work type) of the product whose offsets are known: alpha * a * b + beta * d. */
bool musparse_multiply(const struct csr *a, const struct csr *b, const struct csr *d, const void *ptr, void *ind,
                       void *val, int base, int work, double complex alpha, double complex beta);

#endif
