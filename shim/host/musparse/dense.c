/* Dense operands of the CPU muSPARSE in the type of the sum. */
#include <stdlib.h>

#include "host/musparse/dense.h"

bool dense_in(struct dense *d, const struct musparse_dnmat *m, int i, musparseOperation_t op, int work)
{
    int64_t lines = m->order == MUSPARSE_ORDER_COLUMN ? m->cols : m->rows;
    int64_t length = m->order == MUSPARSE_ORDER_COLUMN ? m->rows : m->cols;
    bool by_column = (m->order == MUSPARSE_ORDER_COLUMN) != is_trans(op);
    const char *at = (const char *)m->values + (int64_t)musparse_size(m->type) * m->stride * i;
    size_t n = lines && length ? (size_t)((lines - 1) * m->ld + length) : 0;
    const void *wide = musparse_wide(at, m->type, work, n, &d->made);
    d->at = (void *)(uintptr_t)wide;
    d->rows = is_trans(op) ? m->cols : m->rows;
    d->cols = is_trans(op) ? m->rows : m->cols;
    d->rs = by_column ? 1 : m->ld;
    d->cs = by_column ? m->ld : 1;
    d->conj = is_conj(op);
    return wide || !n;
}

void dense_out(struct dense *d, const struct musparse_dnmat *m, int i, int work)
{
    int64_t lines = m->order == MUSPARSE_ORDER_COLUMN ? m->cols : m->rows;
    int64_t length = m->order == MUSPARSE_ORDER_COLUMN ? m->rows : m->cols;
    size_t size = musparse_size(m->type);
    char *at = (char *)m->values + (int64_t)size * m->stride * i;
    for (int64_t k = 0; d->made && k < lines; k++) /* what lies between the lines is not ours */
        musparse_narrow(at + (int64_t)size * m->ld * k, m->type, (char *)d->made + (int64_t)work_size(work) * m->ld * k,
                        work, (size_t)length);
    free(d->made);
}
