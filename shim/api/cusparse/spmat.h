/* Sparse matrices as cuSPARSE's programs hold them. muSPARSE's own object is behind, where it has one. */
#ifndef CUMU_API_CUSPARSE_SPMAT_H
#define CUMU_API_CUSPARSE_SPMAT_H

#include "api/api.h"

#include "conv.h"
#include "cuda_enums.h"
#include "musa_enums.h"

/* What getters answer is kept here, since no SDK is known to have them. The descriptor lives from cusparseCreate*
 * to cusparseDestroySpMat; the arrays are the program's. */
struct cumu_spmat {
    void *mu;   /* musparseSpMatDescr_t; NULL of the formats that muSPARSE lacks */
    int format; /* cusparseFormat_t */
    int64_t rows, cols, nnz;
    int64_t block_rows, block_cols; /* BSR; of blocked ELL block_rows, and the slice of sliced ELL */
    int64_t width;                  /* columns of ELL, values of sliced ELL */
    void *offsets, *indices, *values;
    int offsets_type, index_type, base, type, order;
    int fill, diag;
    int batch;
    int64_t batch_stride;                 /* of values */
    int64_t batch_offsets, batch_columns; /* BSR */
};

/* Status of a muSPARSE call as cuSPARSE's. */
#define CUSPARSE(call) cumu_cusparseStatus_t_from_musa(call)
#define CUSPARSE_CHECK(cond) \
    do { \
        if (!(cond)) \
            return CUSPARSE_STATUS_INVALID_VALUE; \
    } while (0)
/* CUSPARSE_STATUS_NOT_SUPPORTED, said once: this format does not go there. */
int cumu_cusparse_format(const struct cumu_spmat *m, const char *function);
/* For functions of which muSPARSE has no other form: refuses NULL, and what has no object of muSPARSE's. */
#define CUSPARSE_OWN(m, function) \
    do { \
        CUSPARSE_CHECK(m); \
        if (!(m)->mu) \
            return cumu_cusparse_format(m, function); \
    } while (0)

static inline int cumu_cusparse_op(int op) { return cumu_cusparseOperation_t_to_musa(op); }
/* Size of an element of cudaDataType `type`, 0 if it has none here. */
size_t cumu_cusparse_size(int type);

#endif
