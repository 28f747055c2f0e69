/* Softmax of rows, as attention has it between its products: in floats where rows are, else in doubles. */
#include "host/mudnn/mudnn.h"

#include <stdlib.h>

#include "abi/mudnn_graph.h"
#include "host/mudnn/real.h"

enum { PARTS = 32 };

static void put_row(const struct mudnn_operand *o, const struct mudnn_tensor *shape, int64_t row, double v)
{
    if (o->at)
        dnn_put(o->at, o->t.type, dnn_row_place(&o->t, shape, row), v);
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
    put_row(&s->stats, x, row, from + log(sum));
}

/* ---- rows of floats ---------------------------------------------------------------------------- */

enum { LANES = 16 };

/* The greatest of n numbers and `least`; a NaN where there is one. */
REAL_VECTOR static float greatest(const float *v, int64_t n, float least)
{
    float most[LANES];
    int32_t none[LANES] = {0}, any = 0;
    int64_t i = 0;
    for (int k = 0; k < LANES; k++)
        most[k] = least;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            most[k] = v[i + k] > most[k] ? v[i + k] : most[k];
            none[k] |= v[i + k] != v[i + k];
        }
    for (; i < n; i++) {
        most[0] = v[i] > most[0] ? v[i] : most[0];
        any |= v[i] != v[i];
    }
    for (int k = 0; k < LANES; k++) {
        least = most[k] > least ? most[k] : least;
        any |= none[k];
    }
    return any ? NAN : least;
}

/* to[i] = exp(from[i] - most), 0 where that is no normal number any more; their sum, of LANES sums that are short
 * enough to keep their digits. */
REAL_VECTOR static double exponentiate(float *to, const float *from, int64_t n, float most)
{
    enum { SHORT = 64 * LANES };
    double sum = 0;
    for (int64_t i = 0; i < n;) {
        float part[LANES] = {0};
        const int64_t end = n - i < SHORT ? n : i + SHORT;
        for (; i + LANES <= end; i += LANES)
            for (int k = 0; k < LANES; k++) {
                float x = from[i + k] - most, e = real_exp(x);
                e = x < -87.0f ? 0 : e;
                to[i + k] = e;
                part[k] += e;
            }
        for (; i < end; i++) {
            float x = from[i] - most, e = real_exp(x);
            to[i] = x < -87.0f ? 0 : e;
            part[0] += to[i];
        }
        for (int k = 0; k < LANES; k++)
            sum += (double)part[k];
    }
    return sum;
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
    const float *from = (const float *)s->x.at + dnn_row_place(x, x, row);
    const int64_t to = dnn_row_place(y, x, row);
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
    put_row(&s->stats, x, row, (double)least + log(sum));
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
