/* What the cuSPARSELt wrappers share. Handles, descriptors and plans are structs of bytes in the program's memory, of
 * any alignment: they are copied in, checked by the number at their start, and copied out. */
#ifndef CUMU_API_CUSPARSELT_LT_H
#define CUMU_API_CUSPARSELT_LT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/mudnn.h"
#include "api/api.h"
#include "cuda_enums.h"
#include "wraps.h"

enum lt_kind { LT_HANDLE = 0x4c540001, LT_MATRIX, LT_MATMUL, LT_CHOICE, LT_PLAN };
enum { LT_BYTES = 512 }; /* most that a struct of ours takes of the program's */

struct lt_handle {
    unsigned kind;
};
struct lt_matrix {
    unsigned kind;
    int type, order, batches; /* cudaDataType_t, cusparseOrder_t */
    bool structured;
    int64_t rows, columns, ld, stride; /* stride: of the batch; 0: one for all */
};
struct lt_matmul {
    unsigned kind;
    int op[2]; /* cusparseOperation_t of A and B */
    struct lt_matrix m[4];
    int relu, gelu, alpha_vector, beta_vector;
    float upper, threshold, gelu_scale;
    const void *bias, *sparse;
    int64_t bias_stride;
};
struct lt_choice {
    unsigned kind;
    int id, iterations, split, split_mode, split_buffers;
};
struct lt_plan {
    unsigned kind;
    struct lt_choice choice;
    struct lt_matmul matmul;
};
_Static_assert(sizeof(struct lt_plan) <= LT_BYTES, "a plan in the program's struct");

/* A copy of the program's struct; false for NULL and what is none of the kind. */
bool lt_take(enum lt_kind kind, const void *from, void *to, size_t size);
/* The struct will be none any more. */
int lt_forget(enum lt_kind kind, const void *what);

#define LT_HANDLE_OR_LEAVE(h) \
    do { \
        struct lt_handle handle_; \
        if (!(h)) \
            return CUSPARSE_STATUS_INVALID_VALUE; \
        if (!lt_take(LT_HANDLE, h, &handle_, sizeof handle_)) \
            return CUSPARSE_STATUS_NOT_INITIALIZED; \
    } while (0)
#define LT_BAD_UNLESS(condition) \
    do { \
        if (!(condition)) \
            return CUSPARSE_STATUS_INVALID_VALUE; \
    } while (0)

/* mudnnDataType_t of a cudaDataType_t that matrices may have; -1: of none. */
int lt_type(int type);
size_t lt_size(int type); /* of a number of a mudnnDataType_t that lt_type gives */
/* The operand of a product, or the result, as lines: of the sum's dimension, or rows. */
struct mudnn_structured lt_lines(const struct lt_matrix *m, bool transposed, bool columns);
bool lt_transposed(const struct lt_matmul *m, int operand);

#endif
