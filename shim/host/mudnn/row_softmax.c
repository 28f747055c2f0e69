/* Softmax of rows, as attention has it between its products: in floats where rows are, else in doubles. */
#include "host/mudnn/mudnn.h"

#include <stdlib.h>
#include <string.h>

#include "abi/mudnn_graph.h"
#include "host/mudnn/real.h"

enum { PARTS = 32 };

static void put_row(const struct mudnn_operand *o, const struct mudnn_tensor *shape, int64_t row, double v)
{
    if (o->at)
        dnn_put(o->at, o->t.type, dnn_row_place(&o->t, shape, row), v);
}

/* The row's statistics of its logarithm. */
static void put_stats(const struct mudnn_row_softmax *s, int64_t row, double v)
{
    const struct mudnn_tensor *x = &s->x.t;
    if (s->rows.at && row % x->dim[x->n - 2] >= dnn_get(s->rows.at, s->rows.t.type, dnn_row_place(&s->rows.t, x, row)))
        v = -INFINITY;
    put_row(&s->stats, x, row, s->log2 ? v * M_LOG2E : v);
}

/* One row of `n` numbers, in v. */
static void double_row(const struct mudnn_row_softmax *s, int64_t row, double *v, int64_t n)
{
    const struct mudnn_tensor *x = &s->x.t, *y = &s->y.t;
    double most = -INFINITY, sum = 0, sink = 0;
    dnn_load(v, s->x.at, x->type, dnn_row_place(x, x, row), x->stride[x->n - 1], (size_t)n);
    if (s->sink.at) {
        sink = dnn_get(s->sink.at, s->sink.t.type, dnn_row_place(&s->sink.t, x, row));
        most = sink;
    }
    for (int64_t i = 0; i < n; i++)
        most = v[i] > most || v[i] != v[i] ? v[i] : most;
    double from = most == -INFINITY ? 0 : most; /* a row of nothing but -inf: no NaN in between */
    for (int64_t i = 0; i < n; i++) {
        v[i] = exp(v[i] - from);
        sum += v[i];
    }
    if (s->sink.at)
        sum += exp(sink - from);
    for (int64_t i = 0; i < n; i++)
        v[i] = sum > 0 || sum != sum ? v[i] / sum : 0; /* nothing counts in a row of sum 0 */
    dnn_store(s->y.at, v, y->type, dnn_row_place(y, x, row), y->stride[y->n - 1], (size_t)n);
    put_row(&s->max, x, row, most);
    put_row(&s->sum, x, row, sum);
    put_stats(s, row, from + log(sum));
}

/* ---- rows of floats ---------------------------------------------------------------------------- */

enum { LANES = 8, AHEAD = 4 };
typedef float vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));
typedef int32_t lane_bits __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

#define GREATER(a, b) ((vector)(((lane_bits)(a) & ((a) > (b))) | ((lane_bits)(b) & ~((a) > (b)))))

/* The greatest of n numbers and `least`; a NaN where there is one. The vectors are written out, as the compiler makes
 * none of a maximum whose order it must keep; rows are short, so that the last steps count. */
REAL_VECTOR static float greatest(const float *v, int64_t n, float least)
{
    vector most[AHEAD];
    lane_bits nan = {0};
    int64_t i = 0;
    int any = 0;
    for (int a = 0; a < AHEAD; a++)
        most[a] = (vector){0} + least;
    for (; i + AHEAD * LANES <= n; i += AHEAD * LANES)
        for (int a = 0; a < AHEAD; a++) {
            const vector next = *(const vector *)(v + i + a * LANES);
            most[a] = GREATER(next, most[a]);
            nan |= next != next;
        }
    for (; i + LANES <= n; i += LANES) {
        const vector next = *(const vector *)(v + i);
        most[0] = GREATER(next, most[0]);
        nan |= next != next;
    }
    for (; i < n; i++) {
        least = v[i] > least ? v[i] : least;
        any |= v[i] != v[i];
    }
    most[0] = GREATER(most[0], most[1]);
    most[2] = GREATER(most[2], most[3]);
    most[0] = GREATER(most[0], most[2]);
    for (int k = 0; k < LANES; k++) {
        any |= nan[k];
        least = most[0][k] > least ? most[0][k] : least;
    }
    return any ? NAN : least;
}

/* to[i] = exp(from[i] - most), 0 where that is no normal number any more; their sum, of vectors of sums that are short
 * enough to keep their digits. The exponential is real_exp of numbers that are not above 0; a NaN stays one. */
#define EXPONENTIATE(NAME, BYTES, TARGET) \
    TARGET static double NAME(float *to, const float *from, int64_t n, float most) \
    { \
        enum { WIDE = (BYTES) / sizeof(float), SHORT = 128 * WIDE }; \
        typedef float vec __attribute__((vector_size(BYTES), aligned(sizeof(float)))); \
        typedef int32_t ints __attribute__((vector_size(BYTES), aligned(sizeof(float)))); \
        const float magic = 12582912.0f; \
        double sum = 0; \
        for (int64_t i = 0; i < n;) { \
            vec some = {0}; \
            const int64_t end = n - i < SHORT ? n : i + SHORT; \
            for (; i + WIDE <= end; i += WIDE) { \
                const vec x = *(const vec *)(from + i) - most, shifted = x * 1.44269504088896341f + magic; \
                const vec whole = shifted - magic, r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f; \
                const ints power = ((ints)shifted << 23) + 0x3f800000; \
                vec e = r * (1 / 720.0f) + 1 / 120.0f; \
                e = ((((e * r + 1 / 24.0f) * r + 1 / 6.0f) * r + 0.5f) * r + 1) * r + 1; \
                e = (vec)((ints)(e * (vec)power) & ~(x < -87.0f)); \
                *(vec *)(to + i) = e; \
                some += e; \
            } \
            for (; i < end; i++) { \
                float x = from[i] - most, e = real_exp(x); \
                to[i] = x < -87.0f ? 0 : e; \
                some[0] += to[i]; \
            } \
            for (int k = 0; k < WIDE; k++) \
                sum += (double)some[k]; \
        } \
        return sum; \
    }
EXPONENTIATE(exponentiate_narrow, 32, REAL_NARROW)
#ifdef REAL_WIDE
EXPONENTIATE(exponentiate_wide, 64, REAL_WIDE)
#endif

static double exponentiate(float *to, const float *from, int64_t n, float most)
{
#ifdef REAL_WIDE
    if (__builtin_cpu_supports("x86-64-v4"))
        return exponentiate_wide(to, from, n, most);
#endif
    return exponentiate_narrow(to, from, n, most);
}

REAL_VECTOR static void scale_row(float *v, int64_t n, float by)
{
    for (int64_t i = 0; i < n; i++)
        v[i] *= by;
}

/* A row of floats that lie side by side, into such a row or, by way of v, into narrower numbers. */
static void float_row(const struct mudnn_row_softmax *s, int64_t row, float *v, int64_t n)
{
    const struct mudnn_tensor *x = &s->x.t, *y = &s->y.t;
    const int64_t at = dnn_row_place(x, x, row);
    const int64_t to = memcmp(x->stride, y->stride, (size_t)x->n * sizeof *x->stride) == 0 ? at
                                                                                           : dnn_row_place(y, x, row);
    const float *from = (const float *)s->x.at + at;
    double sink = s->sink.at ? dnn_get(s->sink.at, s->sink.t.type, dnn_row_place(&s->sink.t, x, row)) : -INFINITY;
    const float most = greatest(from, n, (float)sink), least = most == -INFINITY ? 0 : most;
    float *made = y->type == MUDNN_DATA_FLOAT ? (float *)s->y.at + to : v;
    double sum = exponentiate(made, from, n, least);
    if (s->sink.at)
        sum += exp(sink - (double)least);
    scale_row(made, n, sum > 0 || sum != sum ? (float)(1 / sum) : 0);
    if (made == v)
        (void)dnn_narrow(s->y.at, v, y->type, to, (size_t)n);
    put_row(&s->max, x, row, (double)most);
    put_row(&s->sum, x, row, sum);
    put_stats(s, row, (double)least + log(sum));
}
static bool is_of_floats(const struct mudnn_row_softmax *s)
{
    const struct mudnn_tensor *x = &s->x.t, *y = &s->y.t;
    return x->type == MUDNN_DATA_FLOAT && x->stride[x->n - 1] == 1 && y->stride[y->n - 1] == 1 &&
           (y->type == MUDNN_DATA_FLOAT || y->type == MUDNN_DATA_HALF || y->type == MUDNN_DATA_BFLOAT16);
}

/* ---- all rows ---------------------------------------------------------------------------------- */

static void softmax_part(void *job, unsigned part)
{
    const struct mudnn_row_softmax *s = job;
    const int64_t rows = dnn_count_rows(&s->x.t), n = s->x.t.dim[s->x.t.n - 1];
    const bool floats = is_of_floats(s);
    double *v = maths_alloc((size_t)n * sizeof *v);
    for (int64_t row = rows * part / PARTS; v && row < rows * (part + 1) / PARTS; row++)
        floats ? float_row(s, row, (float *)v, n) : double_row(s, row, v, n);
    free(v);
}

static void run_softmax(const void *call)
{
    struct mudnn_row_softmax s = *(const struct mudnn_row_softmax *)call;
    dnn_parallel(PARTS, softmax_part, &s, 40.0 * (double)dnn_count(&s.x.t));
}

DNN_EXPORT mudnnStatus_t mudnnHostRowSoftmax(musaStream_t stream, const struct mudnn_row_softmax *s)
{
    if (!dnn_size(s->x.t.type) || !dnn_size(s->y.t.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_softmax, s, sizeof *s, 40.0 * (double)dnn_count(&s->x.t));
}
