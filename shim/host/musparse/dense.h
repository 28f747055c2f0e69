/* Dense operands of the CPU muSPARSE in the type of the sum. */
#ifndef CUMU_HOST_MUSPARSE_DENSE_H
#define CUMU_HOST_MUSPARSE_DENSE_H

#include "host/musparse/musparse.h"

/* Member `i` of op(m): in place if it is of the work type. False: no memory. Free d->made, or: */
bool dense_in(struct dense *d, const struct musparse_dnmat *m, int i, musparseOperation_t op, int work);
/* Writes back what was not in place, and frees it. */
void dense_out(struct dense *d, const struct musparse_dnmat *m, int i, int work);

#endif
