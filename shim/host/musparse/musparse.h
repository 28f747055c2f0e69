/* Inside of the CPU muSPARSE: what its files share.
 *
 * A call is checked on the caller's thread, copied with what it needs of its descriptors, and run by the handle's
 * stream. There every sparse matrix becomes a CSR matrix (struct csr, matrix.c) and every element one of four
 * types, so that one template per operation (*.inc, through each.h) serves all formats and mixed types. */
#ifndef CUMU_HOST_MUSPARSE_H
#define CUMU_HOST_MUSPARSE_H

#include <complex.h>
#undef I /* the index type of the templates */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/musparse.h"
#include "musa_enums.h"

typedef int musaDataType_t;

enum { S, D, C, Z }; /* float, double, and complex of them: what is computed in */

/* ---- types.c */
size_t musparse_size(musaDataType_t type); /* 0: no element type */
int musparse_work(musaDataType_t type);    /* S, D, C or Z that holds it; -1: none */
static inline size_t work_size(int work)
{
    static const unsigned char size[] = {4, 8, 8, 16};
    return size[work];
}
static inline musaDataType_t work_type(int work) /* its element type */
{
    static const unsigned char type[] = {MUSA_R_32F, MUSA_R_64F, MUSA_C_32F, MUSA_C_64F};
    return type[work];
}
/* n elements of `type` into the work type and back. False: no such conversion. */
bool musparse_widen(void *to, int work, const void *from, musaDataType_t type, size_t n);
bool musparse_narrow(void *to, musaDataType_t type, const void *from, int work, size_t n);
/* `from` itself if it is of the work type, else a widened copy to free (*made). NULL: no memory. */
const void *musparse_wide(const void *from, musaDataType_t type, int work, size_t n, void **made);
size_t musparse_index_size(musparseIndexType_t type); /* 0: none */
int64_t musparse_index(const void *at, musparseIndexType_t type, size_t i);
/* Work type of a call; -1 if these types do not go together. */
int musparse_types(musaDataType_t a, musaDataType_t x, musaDataType_t y, musaDataType_t compute);

/* ---- handle.c */
bool musparse_live(musparseHandle_t h);
musaStream_t musparse_stream(musparseHandle_t h);
bool musparse_on_device(musparseHandle_t h); /* scalars and results lie there */
#define LIVE(h) \
    do { \
        if (!musparse_live(h)) \
            return MUSPARSE_STATUS_INVALID_HANDLE; \
    } while (0)
#define CHECK(cond, status) \
    do { \
        if (!(cond)) \
            return MUSPARSE_STATUS_##status; \
    } while (0)
#define POINTERS(cond) CHECK(cond, INVALID_POINTER)
#define VALUES(cond) CHECK(cond, INVALID_VALUE)
#define SIZES(cond) CHECK(cond, INVALID_SIZE)

/* A scalar of a call: read when the call is made, or when it runs. */
struct scalar {
    const void *at; /* of device pointer mode, else NULL */
    double complex value;
    musaDataType_t type;
};
struct scalar musparse_scalar(musparseHandle_t h, const void *at, musaDataType_t type);
double complex musparse_read(const struct scalar *s);

/* Puts `run` with a copy of the call on the stream (host/maths/submit.h). */
musparseStatus_t musparse_submit(musparseHandle_t h, void (*run)(const void *), const void *call, size_t size,
                                 double work);
/* The same, and waits: for calls whose outcome the caller reads when they return. */
musparseStatus_t musparse_submit_wait(musparseHandle_t h, void (*run)(const void *), const void *call, size_t size);
/* The same for a number that is written where the caller said: waits in host pointer mode, where it lies on the host
 * and is ready when the call returns; not while a graph is captured, which writes it when it runs. */
musparseStatus_t musparse_submit_result(musparseHandle_t h, void (*run)(const void *), const void *call, size_t size,
                                        double work);
static inline bool op_valid(musparseOperation_t op)
{
    return op >= MUSPARSE_OPERATION_NON_TRANSPOSE && op <= MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}
static inline bool is_trans(musparseOperation_t op) { return op != MUSPARSE_OPERATION_NON_TRANSPOSE; }
static inline bool is_conj(musparseOperation_t op) { return op == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE; }

/* ---- descr.c */
struct musparse_mat_descr {
    musparseMatrixType_t type;
    musparseFillMode_t fill;
    musparseDiagType_t diag;
    musparseIndexBase_t base;
};
struct musparse_spvec {
    int64_t size, nnz;
    void *indices, *values;
    musparseIndexType_t itype;
    musparseIndexBase_t base;
    musaDataType_t type;
};
struct musparse_dnvec {
    int64_t size;
    void *values;
    musaDataType_t type;
};
struct musparse_dnmat {
    int64_t rows, cols, ld, stride;
    void *values;
    musaDataType_t type;
    musparseOrder_t order;
    int batch;
};
enum format { CSR, CSC, COO, BELL };
struct musparse_spmat {
    enum format format;
    int64_t rows, cols, nnz;          /* nnz of BELL: its places */
    void *offsets, *indices, *values; /* COO: offsets are the rows */
    musparseIndexType_t otype, itype;
    musparseIndexBase_t base;
    musaDataType_t type;
    int64_t block, ellcols; /* BELL */
    musparseFillMode_t fill;
    musparseDiagType_t diag;
    int batch;
    int64_t offsets_stride, values_stride;
};

/* ---- matrix.c */
/* A matrix by rows, both index arrays of one type, whose values may be of the work type. */
struct csr {
    int64_t rows, cols, nnz;
    int wide; /* indices are int64_t, not int32_t */
    int base;
    const void *ptr, *ind, *val;
    bool trans, conj; /* op() of it, whatever the format */
    void *made[4];    /* to free */
};
/* Member `i` of the batch of op(m), its values left as they are. False: no memory. */
bool musparse_csr(struct csr *c, const struct musparse_spmat *m, int i, musparseOperation_t op);
/* The same with values of the work type. */
bool musparse_csr_wide(struct csr *c, const struct musparse_spmat *m, int i, musparseOperation_t op, int work);
void musparse_csr_free(struct csr *c);
/* The matrix by rows itself: what is `trans` becomes a copy that is not; needs values of `size` bytes. */
bool musparse_csr_plain(struct csr *c, size_t size);

/* False, and the call has failed: the offsets do not ascend within nnz elements, or a column (ind may be NULL) lies
 * outside of the matrix. Asked before such places are written in memory that the call has allocated. */
bool musparse_sound(const struct csr *c);

/* A dense operand in the work type: element (i, j) of op() of it lies at i * rs + j * cs. */
struct dense {
    int64_t rows, cols, rs, cs;
    void *at;
    bool conj;
    void *made;
};

#define TABLE(name) \
    { \
        {name##_s32, name##_s64}, {name##_d32, name##_d64}, {name##_c32, name##_c64}, { name##_z32, name##_z64 } \
    }

#endif
