/* Block scales: tensors of few bits whose blocks share a scale, to numbers and back. By the public formulas of the
 * microscaling formats (OCP 2023) and of cuDNN: scale = amax / greatest, rounded up as the scale's type holds it, and
 * numbers divided by it, rounded to nearest even. */
#include "host/mudnn/mudnn.h"

#include <math.h>

#include "abi/mudnn_graph.h"
#include "host/maths/element.h"

static const double fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6}; /* E2M1, of a sign and an index */

static bool is_nibble(int type)
{
    return type == MUDNN_DATA_FP4_E2M1 || type == MUDNN_DATA_INT4 || type == MUDNN_DATA_UINT4;
}

static double get_nibble(const void *from, int type, int64_t at)
{
    unsigned byte = ((const unsigned char *)from)[at / 2], v = at % 2 ? byte >> 4 : byte & 15;
    if (type == MUDNN_DATA_FP4_E2M1)
        return v & 8 ? -fp4[v & 7] : fp4[v & 7];
    return type == MUDNN_DATA_INT4 && v > 7 ? (double)v - 16 : v;
}

/* To the nearest, of two the even one; beyond the last the last. */
static void put_fp4(void *to, int64_t at, double v)
{
    unsigned char *byte = (unsigned char *)to + at / 2;
    unsigned best = 0;
    for (unsigned i = 1; i < 8; i++) {
        double far = fabs(fabs(v) - fp4[i]), least = fabs(fabs(v) - fp4[best]);
        best = far < least || (far == least && !(i & 1)) ? i : best;
    }
    best = v != v ? 7 : best;
    best |= signbit(v) ? 8 : 0;
    *byte = (unsigned char)(at % 2 ? (*byte & 15) | best << 4 : (*byte & 0xf0) | best);
}

static double get(const struct mudnn_operand *o, int64_t at)
{
    if (is_nibble(o->t.type))
        return get_nibble(o->at, o->t.type, at);
    if (o->t.type == MUDNN_DATA_FP8_E8M0) {
        unsigned char v = ((const unsigned char *)o->at)[at];
        return v == 255 ? NAN : ldexp(1, v - 127);
    }
    return dnn_get(o->at, o->t.type, at);
}

/* The least number of a type that is not below v, and where it goes. */
static double put_scale(const struct mudnn_operand *o, int64_t at, double v)
{
    if (o->t.type == MUDNN_DATA_FP8_E8M0) {
        int e = 0;
        double m = frexp(v, &e);
        int code = v > 0 ? (m == 0.5 ? e - 1 : e) + 127 : 0;
        code = code < 0 ? 0 : code > 254 ? 254 : code;
        ((unsigned char *)o->at)[at] = (unsigned char)code;
        return ldexp(1, code - 127);
    }
    if (o->t.type == MUDNN_DATA_FP8_E4M3) {
        unsigned char code = maths_to_e4m3((float)v);
        if (maths_from_e4m3(code) < v && code < 0x7e)
            code++;
        ((unsigned char *)o->at)[at] = code;
        return maths_from_e4m3(code);
    }
    dnn_put(o->at, o->t.type, at, v);
    return dnn_get(o->at, o->t.type, at);
}

/* Where the scale of an element lies. In the order of tensor cores, 128 rows of 4 columns are a tile of 512 numbers, in
 * which four times 32 rows lie beside one another; tiles lie row by row. Columns are the dimension of step 1. */
static int64_t scale_place(const struct mudnn_block_scale *b, const int64_t *index)
{
    const struct mudnn_tensor *t = &b->scale.t;
    const int last = b->swizzled ? t->n - 2 : t->n;
    int64_t at = 0;
    for (int i = 0; i < last; i++)
        at += index[i] / b->block[i] * t->stride[i];
    if (!b->swizzled)
        return at;
    const bool turned = t->stride[t->n - 1] != 1 && t->stride[t->n - 2] == 1;
    const int column = turned ? t->n - 2 : t->n - 1, row = turned ? t->n - 1 : t->n - 2;
    const int64_t r = index[row] / b->block[row], c = index[column] / b->block[column];
    const int64_t tiles = (t->dim[column] + 3) / 4;
    return at + (r / 128 * tiles + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

static void index_of(const int64_t *dim, int n, int64_t i, int64_t *index)
{
    for (int d = n - 1; d >= 0; i /= dim[d], d--)
        index[d] = i % dim[d];
}

enum { PARTS = 32 };

static void dequantize_part(void *job, unsigned part)
{
    const struct mudnn_block_scale *b = job;
    const struct mudnn_tensor *x = &b->x.t, *y = &b->y.t;
    const int last = y->n - 1;
    const int64_t n = y->dim[last], rows = dnn_count(y) / n;
    int64_t index[MUDNN_DIMS];
    for (int64_t row = rows * part / PARTS; row < rows * (part + 1) / PARTS; row++) {
        index_of(y->dim, last, row, index);
        index[last] = 0;
        const int64_t from = dnn_place(x, index), to = dnn_place(y, index);
        double scale = 0;
        for (int64_t i = 0; i < n; i++) {
            index[last] = i;
            if (i % b->block[last] == 0)
                scale = get(&b->scale, scale_place(b, index));
            dnn_put(b->y.at, y->type, to + i * y->stride[last], get(&b->x, from + i * x->stride[last]) * scale);
        }
    }
}

/* One block: its greatest, the scale, its numbers. Results of four bits have neighbours in a byte: those run as one. */
static void quantize_block(const struct mudnn_block_scale *b, const int64_t *which)
{
    static const int types[] = {MUDNN_DATA_FP8_E4M3, MUDNN_DATA_FP8_E5M2, MUDNN_DATA_FP4_E2M1};
    static const double greatest[] = {448, 57344, 6};
    const struct mudnn_tensor *x = &b->x.t;
    int64_t size[MUDNN_DIMS], index[MUDNN_DIMS], first[MUDNN_DIMS], count = 1;
    double most = 0, limit = 1, scale = 1;
    for (int i = 0; i < x->n; i++) {
        first[i] = which[i] * b->block[i];
        size[i] = x->dim[i] - first[i] < b->block[i] ? x->dim[i] - first[i] : b->block[i];
        count *= size[i];
    }
    for (int i = 0; i < 3; i++)
        limit = types[i] == b->y.t.type ? greatest[i] : limit;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < count; i++) {
            index_of(size, x->n, i, index);
            for (int d = 0; d < x->n; d++)
                index[d] += first[d];
            const double v = dnn_get(b->x.at, x->type, dnn_place(x, index));
            const int64_t at = dnn_place(&b->y.t, index);
            if (!pass)
                most = fmax(most, fabs(v));
            else if (b->y.t.type == MUDNN_DATA_FP4_E2M1)
                put_fp4(b->y.at, at, scale > 0 ? v / scale : 0);
            else
                dnn_put(b->y.at, b->y.t.type, at, scale > 0 ? v / scale : 0);
        }
        if (!pass)
            scale = put_scale(&b->scale, scale_place(b, first), most / limit);
    }
}

static void quantize_part(void *job, unsigned part)
{
    const struct mudnn_block_scale *b = job;
    const struct mudnn_tensor *x = &b->x.t;
    int64_t blocks[MUDNN_DIMS], which[MUDNN_DIMS], count = 1;
    for (int i = 0; i < x->n; i++)
        count *= blocks[i] = (x->dim[i] + b->block[i] - 1) / b->block[i];
    for (int64_t i = count * part / PARTS; i < count * (part + 1) / PARTS; i++) {
        index_of(blocks, x->n, i, which);
        quantize_block(b, which);
    }
}

static void run(const void *call)
{
    struct mudnn_block_scale b = *(const struct mudnn_block_scale *)call;
    const double work = 30.0 * (double)dnn_count(&b.x.t);
    if (b.quantize)
        dnn_parallel(PARTS, quantize_part, &b, is_nibble(b.y.t.type) ? 0 : work);
    else
        dnn_parallel(PARTS, dequantize_part, &b, work);
}

DNN_EXPORT mudnnStatus_t mudnnHostBlockScale(musaStream_t stream, const struct mudnn_block_scale *b)
{
    const int few = b->quantize ? b->y.t.type : b->x.t.type, many = b->quantize ? b->x.t.type : b->y.t.type;
    const int scale = b->scale.t.type;
    if (!dnn_size(many) || !(dnn_size(few) || is_nibble(few)))
        return MUDNN_STATUS_NOT_SUPPORTED;
    if (!dnn_size(scale) && scale != MUDNN_DATA_FP8_E8M0)
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run, b, sizeof *b, 30.0 * (double)dnn_count(&b->x.t));
}
