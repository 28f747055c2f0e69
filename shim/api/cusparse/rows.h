/* Matrices of formats that muSPARSE lacks, for its functions. */
#ifndef CUMU_API_CUSPARSE_ROWS_H
#define CUMU_API_CUSPARSE_ROWS_H

#include "api/cusparse/spmat.h"

/* The rows of a matrix as a CSR matrix of ours, with the values it has now. */
struct cumu_rows;
int cumu_cusparse_rows(void *h, const struct cumu_spmat *m, const char *function, struct cumu_rows **out);
const struct cumu_spmat *cumu_cusparse_rows_matrix(const struct cumu_rows *r);
/* Takes other values, that lie as those of the matrix did; gives what they have become to such an array. */
int cumu_cusparse_rows_set(void *h, struct cumu_rows *r, const void *values);
int cumu_cusparse_rows_back(void *h, const struct cumu_rows *r, void *values);
void cumu_cusparse_rows_free(struct cumu_rows *r); /* NULL is nothing; what has been queued must have run */

/* A matrix for one call: muSPARSE's own object, or rows of ours. */
struct cumu_view {
    void *mu;
    struct cumu_rows *rows;
};
/* `formats`: bits of the cusparseFormat_t that become rows; others are CUSPARSE_STATUS_NOT_SUPPORTED. */
int cumu_cusparse_view(void *h, const struct cumu_spmat *m, const char *function, unsigned formats,
                       struct cumu_view *v);
/* After the call: waits for it and frees, where rows were made. Returns `status`, or that of waiting. */
int cumu_cusparse_viewed(void *h, const struct cumu_view *v, int status);
#define CUSPARSE_BSR (1u << CUSPARSE_FORMAT_BSR)
#define CUSPARSE_SELL (1u << CUSPARSE_FORMAT_SLICED_ELLPACK)

#endif
