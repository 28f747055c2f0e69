/* Inside of the CPU muDNN: numbers of all types as doubles, walks over tensors with any strides, and how a call gets
 * onto its stream. Convolutions and products are oneDNN's and OpenBLAS's, all else are loops. */
#ifndef CUMU_HOST_MUDNN_H
#define CUMU_HOST_MUDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/mudnn.h"
#include "host/maths/submit.h"

#define DNN_EXPORT __attribute__((visibility("default")))

size_t dnn_size(int type); /* bytes of a number; 0: not one that is known here */
/* n numbers from places `first`, `first + step`, ..., counted in numbers; and back, rounded as the type rounds. */
void dnn_load(double *to, const void *from, int type, int64_t first, int64_t step, size_t n);
void dnn_store(void *to, const double *from, int type, int64_t first, int64_t step, size_t n);
/* n numbers that lie side by side as floats, and back. False: the type is none of float, half and bfloat16, and nothing
 * was moved. */
bool dnn_widen(float *to, const void *from, int type, int64_t first, size_t n);
bool dnn_narrow(void *to, const float *from, int type, int64_t first, size_t n);
bool dnn_has_subnormals(const void *bfloats, size_t n); /* among n of bfloat16 */
static inline double dnn_get(const void *from, int type, int64_t at)
{
    double v;
    dnn_load(&v, from, type, at, 0, 1);
    return v;
}
static inline void dnn_put(void *to, int type, int64_t at, double v) { dnn_store(to, &v, type, at, 0, 1); }

/* A walk over all elements of a shape, in rows of at most DNN_ROW: for each operand where the row begins and its step,
 * both in numbers. An operand's dimension of 1 is broadcast. */
enum { DNN_ROW = 512, DNN_OPERANDS = 8 };
struct dnn_walk {
    unsigned operands;
    int n;
    int64_t dim[MUDNN_DIMS + 2], step[DNN_OPERANDS][MUDNN_DIMS + 2];
};
/* The order is that of operand 0's memory. */
void dnn_plan(struct dnn_walk *w, const struct mudnn_tensor *shape, unsigned operands,
              const struct mudnn_tensor *const operand[]);
typedef void dnn_row(void *job, const int64_t *at, const int64_t *step, size_t n);
/* Calls `row` for every row; on several CPUs where `parallel` and there is much: rows must not write to one place. */
void dnn_walk(const struct dnn_walk *w, bool parallel, dnn_row *row, void *job);

/* part(job, 0 .. parts - 1), on several CPUs where there are more than about a million operations of `work`. */
void dnn_parallel(unsigned parts, void (*part)(void *job, unsigned i), void *job, double work);

int64_t dnn_count(const struct mudnn_tensor *t);  /* elements */
int64_t dnn_extent(const struct mudnn_tensor *t); /* numbers from the first to the last, and one */
int64_t dnn_place(const struct mudnn_tensor *t, const int64_t *index);
/* Rows: all dimensions but the last. Where row `row` of a tensor of that shape begins in an operand, whose dimensions
 * of 1 serve all. */
int64_t dnn_count_rows(const struct mudnn_tensor *t);
int64_t dnn_row_place(const struct mudnn_tensor *t, const struct mudnn_tensor *shape, int64_t row);
/* A tensor of the same shape without gaps, in the order N, C, ... */
struct mudnn_tensor dnn_packed(const struct mudnn_tensor *t, int type);

/* A tensor's elements in order as doubles, the caller's to free (NULL: no memory); and at = alpha v + beta at. */
double *dnn_read(const struct mudnn_tensor *t, const void *at);
void dnn_blend(const struct mudnn_tensor *t, void *at, const double *v, double alpha, double beta);

/* Puts it on the stream. `work`: see maths_submit. */
mudnnStatus_t dnn_submit(musaStream_t stream, enum maths_code code, void (*run)(const void *call), const void *call,
                         size_t size, double work);
/* Reads a byte of each page that a tensor has, and writes it back where it will be written: a fault is this call's
 * before a library's threads are at work, where it could be nobody's. */
void dnn_touch(const struct mudnn_tensor *t, const void *at, bool write);

/* f of cudnnActivationMode_t. */
double dnn_activate(int mode, double coefficient, double x);

/* ---- convolutions ------------------------------------------------------------------------------ */

enum dnn_way { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_FILTER };
/* One of floats, or of bfloat16: shapes and strides are c's, and vectors there are none. */
struct dnn_floats {
    enum dnn_way way;
    bool narrow; /* bfloat16 */
    const struct mudnn_convolution *c;
    void *x, *w, *y; /* the way's result is written, the others are read */
};
/* By oneDNN. False where it is not here, does not take this, or had no memory: then nothing was written. */
bool dnn_by_onednn(const struct dnn_floats *f);
/* c = scale a b, of matrices of rows, or where turned of columns, that are `lead` numbers apart. */
struct dnn_product {
    const void *a, *b;
    void *c;
    float scale;
    bool narrow, c_narrow; /* a and b are of bfloat16 and not floats; c is */
    bool a_turned, b_turned;
    int64_t rows, columns, inner, a_lead, b_lead, c_lead;
};
/* False: as above. Of bfloat16 as the CPU has it: to it a subnormal number is 0. */
bool dnn_product_by_onednn(const struct dnn_product *p);
/* A batch normalisation of floats over channels; x's layout, without gaps, is that of all its tensors. What a way does
 * not take is NULL. */
struct dnn_norm_floats {
    bool training, backward; /* neither: by the mean and variance given */
    float epsilon;
    const struct mudnn_tensor *x;
    float *x_at, *y_at, *dy_at, *dx_at, *mean, *variance, *scale, *shift, *dscale, *dshift;
};
bool dnn_norm_by_onednn(const struct dnn_norm_floats *f);

/* A call of mudnnHostMatmul. */
void dnn_matmul(const void *call);

/* A call of mudnnHostBnFinalize. */
void dnn_bn_finalize(const void *call);

/* Passes over recurrent layers; the reserve holds numbers of that size. */
void dnn_rnn_doubles(const struct mudnn_rnn *r, const int *length);
void dnn_rnn_floats(const struct mudnn_rnn *r, const int *length);

/* Is oneDNN here? */
bool dnn_has_onednn(void);

#endif
