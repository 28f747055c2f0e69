/* Structured sparsity: of each four numbers in a line of a matrix two are kept, or of floats one of each two. Pruning,
 * checking, compression, and products, which are those of the matrix that the compressed one stands for. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);

struct job {
    enum mudnn_structure what;
    struct mudnn_structured m;
    const void *in;
    void *out;
};

/* Numbers of a group of which only the larger half may stay: two of four, or one of two floats. */
static int group_of(const struct mudnn_structured *m) { return m->type == MUDNN_DATA_FLOAT ? 2 : 4; }

/* Bit i: element i of the four stays. Those of largest magnitude do, of equal ones the first. */
static unsigned keep_largest(const double *v, int group)
{
    unsigned keep = 0;
    for (int g = 0; g < 4; g += group)
        for (int n = 0; n < group / 2; n++) {
            int best = -1;
            for (int i = g; i < g + group; i++)
                if (!(keep >> i & 1) && (best < 0 || fabs(v[i]) > fabs(v[best])))
                    best = i;
            keep |= 1u << best;
        }
    return keep;
}

/* Of each of `group` rows, the half that stays, so that each column has a half as well and the sum of magnitudes is
 * the largest: all ways are tried, 90 of tiles of four and two of tiles of two. */
static void keep_tile(double v[4][4], int group, unsigned keep[4])
{
    static const unsigned halves[] = {3, 5, 9, 6, 10, 12};
    unsigned count = group == 4 ? 6 : 2, ways = group == 4 ? 6 * 6 * 6 * 6 : 4;
    double most = -1;
    for (unsigned way = 0; way < ways; way++) {
        unsigned row[4], rest = way;
        int column[4] = {0};
        double sum = 0;
        bool good = true;
        for (int r = 0; r < group; r++, rest /= count) {
            row[r] = group == 4 ? halves[rest % count] : 1u << rest % count;
            for (int c = 0; c < group; c++)
                if (row[r] >> c & 1)
                    sum += fabs(v[r][c]), column[c]++;
        }
        for (int c = 0; c < group; c++)
            good &= column[c] == group / 2;
        if (good && sum > most) {
            most = sum;
            memcpy(keep, row, sizeof row);
        }
    }
}

static int64_t place(const struct mudnn_structured *m, int64_t batch, int64_t line, int64_t i)
{
    return batch * m->batch_step + line * m->line_step + i * m->step;
}
static void store_kept(const struct job *j, int64_t at, const double *v, unsigned keep, int n)
{
    double out[4];
    for (int i = 0; i < n; i++)
        out[i] = keep >> i & 1 ? v[i] : 0;
    dnn_store(j->out, out, j->m.type, at, j->m.step, (size_t)n);
}

static void prune_strips(const struct job *j, int64_t batch)
{
    const struct mudnn_structured *m = &j->m;
    for (int64_t line = 0; line < m->lines; line++)
        for (int64_t i = 0; i < m->length; i += 4) {
            double v[4];
            int64_t at = place(m, batch, line, i);
            dnn_load(v, j->in, m->type, at, m->step, 4);
            store_kept(j, at, v, keep_largest(v, group_of(m)), 4);
        }
}
static void prune_tiles(const struct job *j, int64_t batch)
{
    const struct mudnn_structured *m = &j->m;
    const int group = group_of(m);
    for (int64_t line = 0; line < m->lines; line += group)
        for (int64_t i = 0; i < m->length; i += group) {
            double v[4][4] = {{0}};
            unsigned keep[4] = {0};
            for (int r = 0; r < group; r++)
                dnn_load(v[r], j->in, m->type, place(m, batch, line + r, i), m->step, (size_t)group);
            keep_tile(v, group, keep);
            for (int r = 0; r < group; r++)
                store_kept(j, place(m, batch, line + r, i), v[r], keep[r], group);
        }
}
static bool is_structured(const struct job *j, int64_t batch)
{
    const struct mudnn_structured *m = &j->m;
    const int group = group_of(m);
    for (int64_t line = 0; line < m->lines; line++)
        for (int64_t i = 0; i < m->length; i += group) {
            double v[4];
            int kept = 0;
            dnn_load(v, j->in, m->type, place(m, batch, line, i), m->step, (size_t)group);
            for (int k = 0; k < group; k++)
                kept += v[k] != 0;
            if (kept > group / 2)
                return false;
        }
    return true;
}

/* The numbers of all lines that stay, and behind them for each four numbers the places of their two, two bits each,
 * two fours a byte. */
static void compress(const struct job *j, int64_t batch)
{
    const struct mudnn_structured *m = &j->m;
    size_t size = dnn_size(m->type);
    unsigned char *values = (unsigned char *)j->out + (size_t)batch * mudnn_structured_bytes(m, size),
                  *places = values + (size_t)(m->lines * m->length / 2) * size;
    for (int64_t line = 0; line < m->lines; line++)
        for (int64_t i = 0; i < m->length; i += 4) {
            double v[4];
            int64_t four = (line * m->length + i) / 4;
            unsigned keep, bits = 0;
            int n = 0;
            dnn_load(v, j->in, m->type, place(m, batch, line, i), m->step, 4);
            for (int k = 0; k < 4; k++) /* a NaN stays before any number */
                v[k] = v[k] != v[k] ? INFINITY : v[k];
            keep = keep_largest(v, group_of(m));
            for (int k = 0; k < 4; k++)
                if (keep >> k & 1) {
                    memcpy(values + (size_t)(2 * four + n) * size,
                           (const char *)j->in + place(m, batch, line, i + k) * (int64_t)size, size);
                    bits |= (unsigned)k << 2 * n++;
                }
            places[four / 2] = (unsigned char)(four % 2 ? (places[four / 2] & 15) | bits << 4 : bits);
        }
}

static void run(const void *call)
{
    const struct job *j = call;
    int64_t batches = j->m.batch_step ? j->m.batches : 1;
    bool good = true;
    for (int64_t b = 0; b < batches; b++)
        switch (j->what) {
        case MUDNN_STRUCTURE_TILE: prune_tiles(j, b); break;
        case MUDNN_STRUCTURE_STRIP: prune_strips(j, b); break;
        case MUDNN_STRUCTURE_CHECK: good = good && is_structured(j, b); break;
        default: compress(j, b); break;
        }
    if (j->what == MUDNN_STRUCTURE_CHECK)
        *(int *)j->out = !good;
}

DNN_EXPORT mudnnStatus_t mudnnHostStructure(musaStream_t stream, int what, const struct mudnn_structured *m,
                                            const void *in, void *out)
{
    struct job j = {(enum mudnn_structure)what, *m, in, out};
    if (!dnn_size(m->type) || m->lines % 4 != 0 || m->length % 8 != 0)
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run, &j, sizeof j, 60.0 * (double)(m->lines * m->length * m->batches));
}

/* ---- products ---------------------------------------------------------------------------------- */

/* The compressed matrix as it was, lines of `length` without gaps. */
static void expand(const struct mudnn_structured *m, const unsigned char *from, double *to)
{
    size_t size = dnn_size(m->type);
    const unsigned char *places = from + (size_t)(m->lines * m->length / 2) * size;
    memset(to, 0, (size_t)(m->lines * m->length) * sizeof *to);
    for (int64_t four = 0; four < m->lines * m->length / 4; four++) {
        unsigned bits = places[four / 2] >> 4 * (four % 2) & 15;
        for (int n = 0; n < 2; n++)
            to[4 * four + (bits >> 2 * n & 3)] = dnn_get(from, m->type, 2 * four + n);
    }
}

static double finish_one(const struct mudnn_structured_product *p, double v)
{
    if (p->relu)
        v = v <= p->threshold ? 0 : v > p->upper ? p->upper : v;
    if (p->gelu) /* by tanh */
        v = p->gelu_scale * 0.5 * v * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
    return v;
}

/* d = f(alpha op(a) op(b) + beta c + bias) of one member of the batch; rows and columns are d's. */
static void multiply(const struct mudnn_structured_product *p, int64_t batch, double *sparse, double *dense,
                     double *result)
{
    const struct mudnn_structured *s = &p->sparse;
    const int m = (int)p->rows, n = (int)p->columns, k = (int)s->length;
    const double one = 1, zero = 0;
    const unsigned char *from = p->sparse_at;
    int64_t lines = p->sparse_is_a ? p->columns : p->rows; /* of the dense one */
    expand(s, from + (s->batch_step ? (size_t)batch * mudnn_structured_bytes(s, dnn_size(s->type)) : 0), sparse);
    for (int64_t i = 0; i < lines; i++)
        dnn_load(dense + i * k, p->dense_at, p->dense.type, batch * p->dense.batch_step + i * p->dense.line_step,
                 p->dense.step, (size_t)k);
    /* both have the sum's dimension last: row-major d = A B', which to BLAS is the columns' d' = B A' */
    dgemm_("T", "N", &n, &m, &k, &one, p->sparse_is_a ? dense : sparse, &k, p->sparse_is_a ? sparse : dense, &k, &zero,
           result, &n);
    for (int64_t i = 0; i < m; i++) {
        double alpha = p->alpha_at ? p->alpha_at[i] : p->alpha, beta = p->beta_at ? p->beta_at[i] : p->beta;
        double bias = p->bias_at ? dnn_get(p->bias_at, p->bias_type, batch * p->bias_step + i) : 0;
        for (int64_t j = 0; j < n; j++) {
            double v = alpha * result[i * n + j] + bias;
            if (beta != 0)
                v += beta * dnn_get(p->c_at, p->c.type, batch * p->c.batch_step + i * p->c.line_step + j * p->c.step);
            result[i * n + j] = finish_one(p, v);
        }
        dnn_store(p->d_at, result + i * n, p->d.type, batch * p->d.batch_step + i * p->d.line_step, p->d.step,
                  (size_t)n);
    }
}
static void run_product(const void *call)
{
    const struct mudnn_structured_product *p = call;
    const struct mudnn_structured *s = &p->sparse;
    size_t lines = (size_t)(p->sparse_is_a ? p->columns : p->rows);
    double *sparse = maths_alloc((size_t)(s->lines * s->length) * sizeof *sparse);
    double *dense = maths_alloc(lines * (size_t)s->length * sizeof *dense);
    double *result = maths_alloc((size_t)(p->rows * p->columns) * sizeof *result);
    for (int64_t b = 0; sparse && dense && result && b < p->batches; b++)
        multiply(p, b, sparse, dense, result);
    free(sparse);
    free(dense);
    free(result);
}
DNN_EXPORT mudnnStatus_t mudnnHostStructuredProduct(musaStream_t stream, const struct mudnn_structured_product *p)
{
    const struct mudnn_structured *s = &p->sparse;
    bool types = dnn_size(s->type) && dnn_size(p->dense.type) && dnn_size(p->c.type) && dnn_size(p->d.type);
    if (!types || p->rows > INT32_MAX || p->columns > INT32_MAX || s->length > INT32_MAX)
        return MUDNN_STATUS_NOT_SUPPORTED; /* BLAS counts in int */
    return dnn_submit(stream, MATHS_LIBRARY, run_product, p, sizeof *p,
                      2.0 * (double)p->rows * (double)p->columns * (double)s->length * (double)p->batches);
}
