/* Reductions over dimensions: sums, products, extremes with their places, norms. */
#include "host/mudnn/pointwise.h"

#include <math.h>
#include <stdlib.h>

/* Values of the result while they are made, without gaps; `where`: which element of its part an extreme is. */
struct work {
    const struct mudnn_reduction *r;
    double *sum;
    uint32_t *where;
};

static double beginning(int operation)
{
    switch (operation) {
    case MUDNN_REDUCE_TENSOR_MUL:
    case MUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: return 1;
    case MUDNN_REDUCE_TENSOR_MIN: return INFINITY;
    case MUDNN_REDUCE_TENSOR_MAX: return -INFINITY;
    default: return 0;
    }
}

/* One more element; true where it is the extreme so far. */
static bool take(const struct mudnn_reduction *r, double *sum, double v)
{
    double old = *sum;
    switch (r->operation) {
    case MUDNN_REDUCE_TENSOR_ADD:
    case MUDNN_REDUCE_TENSOR_AVG: *sum += v; return false;
    case MUDNN_REDUCE_TENSOR_MUL: *sum *= v; return false;
    case MUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: *sum *= v == 0 ? 1 : v; return false;
    case MUDNN_REDUCE_TENSOR_NORM1: *sum += fabs(v); return false;
    case MUDNN_REDUCE_TENSOR_NORM2: *sum += v * v; return false;
    default: break;
    }
    if (r->operation == MUDNN_REDUCE_TENSOR_AMAX)
        v = fabs(v);
    if (v != v) {
        if (!r->nan || old != old)
            return false;
    } else if (!(r->operation == MUDNN_REDUCE_TENSOR_MIN ? v < old : v > old)) {
        return false;
    }
    *sum = v;
    return true;
}

/* Sums of a row, and its greatest, into one place; false for what else there is. */
static bool take_row(const struct mudnn_reduction *r, double *sum, const double *v, size_t n)
{
    enum { LANES = 8 };
    const bool adds = r->operation == MUDNN_REDUCE_TENSOR_ADD || r->operation == MUDNN_REDUCE_TENSOR_AVG;
    double part[LANES], all = 0;
    size_t i = 0;
    if (!adds && r->operation != MUDNN_REDUCE_TENSOR_MAX)
        return false;
    for (int k = 0; k < LANES; k++)
        part[k] = adds ? 0 : -INFINITY;
    for (; adds && i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            part[k] += v[i + (size_t)k];
    for (; !adds && i + LANES <= n; i += LANES) {
        bool numbers = true;
        for (int k = 0; k < LANES; k++) {
            part[k] = v[i + (size_t)k] > part[k] ? v[i + (size_t)k] : part[k];
            numbers &= v[i + (size_t)k] == v[i + (size_t)k];
        }
        for (int k = 0; !numbers && k < LANES; k++) /* with a NaN among them */
            take(r, sum, v[i + (size_t)k]);
    }
    for (; i < n; i++)
        take(r, sum, v[i]);
    for (int k = 0; k < LANES; k++)
        if (adds)
            all += part[k];
        else
            take(r, sum, part[k]);
    *sum += all;
    return true;
}

/* A row of a in its own order: either all into one place, or each into a place of its own. The place of an extreme
 * among what is reduced is counted by the fourth operand, whose strides are those of the reduced dimensions alone. */
static void row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    double v[DNN_ROW], b[DNN_ROW];
    const bool floats = w->r->b_at && w->r->a.type == MUDNN_DATA_FLOAT && w->r->b.type == MUDNN_DATA_FLOAT;
    if (floats && w->r->operation == MUDNN_REDUCE_TENSOR_ADD && step[1] == 1 && step[4] == 1 && step[2] == 0) {
        w->sum[at[2]] += dnn_dot_floats((const float *)w->r->a_at + at[1], (const float *)w->r->b_at + at[4], n);
        return;
    }
    dnn_load(v, w->r->a_at, w->r->a.type, at[1], step[1], n);
    if (w->r->b_at) {
        dnn_load(b, w->r->b_at, w->r->b.type, at[4], step[4], n);
        for (size_t i = 0; i < n; i++)
            v[i] *= b[i];
    }
    if (step[2] == 0 && !w->where && take_row(w->r, &w->sum[at[2]], v, n))
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t c = at[2] + (int64_t)i * step[2];
        if (take(w->r, &w->sum[c], v[i]) && w->where)
            w->where[c] = (uint32_t)(at[3] + (int64_t)i * step[3]);
    }
}

static void finish_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    const struct mudnn_reduction *r = w->r;
    double v[DNN_ROW], old[DNN_ROW], count = (double)dnn_count(&r->a) / (double)dnn_count(&r->c);
    for (size_t i = 0; i < n; i++) {
        double s = w->sum[at[1] + (int64_t)i * step[1]];
        v[i] = r->alpha * (r->operation == MUDNN_REDUCE_TENSOR_AVG     ? s / count
                           : r->operation == MUDNN_REDUCE_TENSOR_NORM2 ? sqrt(s)
                                                                       : s);
    }
    if (r->beta != 0) {
        dnn_load(old, r->c_at, r->c.type, at[0], step[0], n);
        for (size_t i = 0; i < n; i++)
            v[i] += r->beta * old[i];
    }
    dnn_store(r->c_at, v, r->c.type, at[0], step[0], n);
}

/* Walks over a in its memory's order with sums as doubles, then over c. Places are found in order of the index, as the
 * first of equal extremes counts: there the walk is one over the packed shape. */
static void run(const void *call)
{
    const struct mudnn_reduction *r = call;
    struct work w = {r, NULL, r->indices};
    struct mudnn_tensor sums = dnn_packed(&r->c, MUDNN_DATA_DOUBLE), within = dnn_packed(&r->a, 0);
    int64_t count = dnn_count(&r->c), inner = 1;
    struct dnn_walk plan;
    w.sum = maths_alloc((size_t)count * sizeof *w.sum);
    if (!w.sum)
        return;
    for (int64_t i = 0; i < count; i++)
        w.sum[i] = beginning(r->operation);
    for (int64_t i = 0; r->indices && i < count; i++)
        r->indices[i] = 0;
    for (int i = within.n; i-- > 0;) {
        bool kept = r->c.dim[i] == r->a.dim[i];
        within.stride[i] = kept ? 0 : inner;
        inner *= kept ? 1 : r->a.dim[i];
    }
    struct mudnn_tensor order = r->indices ? dnn_packed(&r->a, 0) : r->a;
    const struct mudnn_tensor *const in[] = {&order, &r->a, &sums, &within, r->b_at ? &r->b : &r->a}, *const out[] = {
                                                                                                          &r->c, &sums};
    dnn_plan(&plan, &r->a, 5, in);
    dnn_walk(&plan, false, row, &w);
    dnn_plan(&plan, &r->c, 2, out);
    dnn_walk(&plan, false, finish_row, &w);
    free(w.sum);
}

DNN_EXPORT mudnnStatus_t mudnnHostReduce(musaStream_t stream, const struct mudnn_reduction *r)
{
    if (!dnn_size(r->a.type) || (r->b_at && !dnn_size(r->b.type)) || !dnn_size(r->c.type) ||
        (unsigned)r->operation > MUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run, r, sizeof *r, 12.0 * (double)dnn_count(&r->a));
}
