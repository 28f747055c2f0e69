/* Inside of the CPU muBLASLt: descriptions as its files share them. It stands on OpenBLAS and the exported MUSA
 * functions. A call is checked on the caller's thread, copied, and run by a callback of its stream. */
#ifndef CUMU_HOST_MUBLASLT_H
#define CUMU_HOST_MUBLASLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/mublaslt.h"
#include "musa_enums.h"

struct mublasLtMatrixLayout {
    int type, order;
    uint64_t rows, cols;
    int64_t ld;
    int batch, mode;
    int64_t stride, plane; /* elements between matrices of a batch; bytes between planes of complex numbers */
};

struct mublasLtMatmulDesc {
    int compute, scale, pointers; /* mublasLtPointerMode_t */
    int op[3], fill;              /* of a, b, c */
    unsigned epilogue;
    void *bias;
    int64_t bias_stride;
    void *aux;
    int64_t aux_ld, aux_stride, alpha_stride;
    const float *a_scale, *b_scale, *c_scale, *d_scale;
    float *d_amax;
    int aux_type, bias_type; /* -1: by the other types */
    const float *aux_scale;
    float *aux_amax;
    int a_mode, b_mode, c_mode, d_mode, aux_mode;
    void *out_scale;
    int out_mode;
};

struct mublasLtMatmulPreference {
    uint64_t workspace;
    uint32_t align[4];
};

struct mublasLtMatrixTransformDesc {
    int scale, pointers, op[2];
};

/* A place of a description that an attribute names. A table ends with size 0. */
struct lt_attribute {
    int id;
    unsigned char offset, size;
};
mublasStatus_t lt_set(const struct lt_attribute *table, void *object, int id, const void *buf, size_t size);
mublasStatus_t lt_get(const struct lt_attribute *table, const void *object, int id, void *buf, size_t size,
                      size_t *written);

bool lt_live(mublasLtHandle_t h);

/* How a product of these types is computed: the type of BLAS that serves. */
enum lt_work { LT_S, LT_D, LT_C, LT_Z, LT_NONE };
struct lt_types {
    int compute, scale, a, b, c, d;
};
enum lt_work lt_work_of(struct lt_types t);

/* SUCCESS, INVALID_VALUE for what contradicts itself, NOT_IMPLEMENTED for what it can not do. *work is set. */
mublasStatus_t lt_check(const struct mublasLtMatmulDesc *desc, const struct mublasLtMatrixLayout *a,
                        const struct mublasLtMatrixLayout *b, const struct mublasLtMatrixLayout *c,
                        const struct mublasLtMatrixLayout *d, enum lt_work *work);
bool lt_layout_good(const struct mublasLtMatrixLayout *l); /* known type and order, ld large enough */

/* What bias and auxiliary matrix consist of. */
int lt_bias_type(const struct mublasLtMatmulDesc *desc, int c_type, int d_type);
int lt_aux_type(const struct mublasLtMatmulDesc *desc, int d_type);

size_t lt_size(int type); /* of an element; 0: not a type that is known here, or two elements in a byte */
bool lt_packed(int type); /* two elements in a byte, of real matrices in the plain orders, that are read only */
bool lt_complex(int type);
/* Place of element (row, column). */
size_t lt_place(const struct mublasLtMatrixLayout *l, size_t row, size_t column);

/* n real elements from or to places `first`, `first + step`, ...; integers are rounded and bounded. */
void lt_load(double *to, const void *from, int type, size_t first, size_t step, size_t n);
void lt_store(void *to, const double *from, int type, size_t first, size_t step, size_t n);

/* One line of a matrix: elements (p, index) where `down`, else (index, p), for p < n; a complex one is two numbers. */
void lt_load_line(double *to, const void *at, const struct mublasLtMatrixLayout *l, bool down, size_t index, size_t n);
void lt_store_line(void *at, const double *from, const struct mublasLtMatrixLayout *l, bool down, size_t index,
                   size_t n);
int lt_real(int type); /* of the parts of a complex number */

/* Batch member i; with layouts of addresses, the address there. */
const void *lt_member(const void *at, const struct mublasLtMatrixLayout *l, int i);

/* Scales of a factor by vectors or blocks of its elements. at NULL: it has none. */
struct lt_scales {
    int mode;
    const void *at;
    size_t rows, k; /* of op(a), columns of op(b) */
};
bool lt_scaled(const struct mublasLtMatmulDesc *desc); /* by more than a scalar for a factor */
mublasStatus_t lt_check_scales(const struct mublasLtMatmulDesc *desc, const struct mublasLtMatrixLayout *a,
                               const struct mublasLtMatrixLayout *b, const struct mublasLtMatrixLayout *d,
                               enum lt_work *work);
/* Scales n elements of a line: those along k of a row, or those of all rows at one k. */
void lt_scale_line(double *line, const struct lt_scales *s, bool along_k, size_t index, size_t n);

/* One product with its epilogue. alpha, beta: where the scalars are when it runs. */
struct lt_call {
    struct mublasLtMatmulDesc desc;
    struct mublasLtMatrixLayout la, lb, lc, ld;
    const void *a, *b, *c;
    void *d;
    const void *alpha_at, *beta_at; /* NULL: the values below */
    union {
        float s[2];
        double d[2];
        int i;
        unsigned short h;
    } alpha, beta;
    enum lt_work work;
    struct lt_scales scales[2]; /* of a and b; those of one number are in the description */
};
bool lt_algo_made(const mublasLtMatmulAlgo_t *algo);
mublasStatus_t lt_submit(musaStream_t stream, void (*run)(const void *call), const void *call, size_t size,
                         double work);

/* d = alpha acc + beta c and the epilogue of member i. acc: the sums as `sums` says, in d's order unless that is a
 * composite one. It may be d itself: then alpha and beta are done. */
void lt_epilogue(const struct lt_call *call, int i, const void *acc, const struct mublasLtMatrixLayout *sums);

#endif
