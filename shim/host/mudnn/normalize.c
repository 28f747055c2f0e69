/* Normalisation of any part of a tensor, as graphs ask for it (layers, instances, batches, root mean squares), its
 * gradients, and the parts that batch normalisation is taken apart into. Loops, in doubles. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

#include "abi/mudnn_graph.h"

/* Walks over x with sums as doubles: operands 0 x, 1 and 2 tensors like it, 3 the sums' places. */
struct sums {
    const struct mudnn_operand *x, *dy, *scale;
    const struct mudnn_operand *y; /* written */
    const struct mudnn_operand *bias;
    double *a, *b; /* of each kept element */
    const double *mean, *inverse;
    struct mudnn_tensor places;
    double count;
};

static double number_of(const struct mudnn_operand *o, double none)
{
    return o->at ? dnn_get(o->at, o->t.type, 0) : none;
}

static void walk(struct sums *s, const struct mudnn_tensor *second, const struct mudnn_tensor *third,
                 const struct mudnn_tensor *fourth, bool parallel, dnn_row *row)
{
    const struct mudnn_tensor *const all[] = {&s->x->t, &s->places, second ? second : &s->x->t,
                                              third ? third : &s->x->t, fourth ? fourth : &s->x->t};
    struct dnn_walk w;
    dnn_plan(&w, &s->x->t, 5, all);
    dnn_walk(&w, parallel, row, s);
}

static void add_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    struct sums *s = job;
    double v[DNN_ROW];
    dnn_load(v, s->x->at, s->x->t.type, at[0], step[0], n);
    for (size_t i = 0; i < n; i++)
        s->a[at[1] + (int64_t)i * step[1]] += v[i];
}
static void add_square_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    struct sums *s = job;
    double v[DNN_ROW];
    dnn_load(v, s->x->at, s->x->t.type, at[0], step[0], n);
    for (size_t i = 0; i < n; i++) {
        int64_t k = at[1] + (int64_t)i * step[1];
        double d = v[i] - (s->mean ? s->mean[k] : 0);
        s->b[k] += d * d;
    }
}
static void normalize_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    struct sums *s = job;
    double v[DNN_ROW], scale[DNN_ROW], bias[DNN_ROW];
    dnn_load(v, s->x->at, s->x->t.type, at[0], step[0], n);
    if (s->scale->at)
        dnn_load(scale, s->scale->at, s->scale->t.type, at[3], step[3], n);
    if (s->bias->at)
        dnn_load(bias, s->bias->at, s->bias->t.type, at[4], step[4], n);
    for (size_t i = 0; i < n; i++) {
        int64_t k = at[1] + (int64_t)i * step[1];
        v[i] = (v[i] - (s->mean ? s->mean[k] : 0)) * s->inverse[k] * (s->scale->at ? scale[i] : 1) +
               (s->bias->at ? bias[i] : 0);
    }
    dnn_store(s->y->at, v, s->y->t.type, at[2], step[2], n);
}

/* Numbers of a small tensor in order of their index, and back. */
static void read_kept(double *to, const struct mudnn_operand *o)
{
    const struct mudnn_tensor *t = &o->t;
    for (int64_t i = 0, n = dnn_count(t); i < n; i++) {
        int64_t at = 0, rest = i;
        for (int d = t->n - 1; d >= 0; rest /= t->dim[d], d--)
            at += rest % t->dim[d] * t->stride[d];
        to[i] = dnn_get(o->at, t->type, at);
    }
}
static void write_kept(const struct mudnn_operand *o, const double *from)
{
    const struct mudnn_tensor *t = &o->t;
    for (int64_t i = 0, n = o->at ? dnn_count(t) : 0; i < n; i++) {
        int64_t at = 0, rest = i;
        for (int d = t->n - 1; d >= 0; rest /= t->dim[d], d--)
            at += rest % t->dim[d] * t->stride[d];
        dnn_put(o->at, t->type, at, from[i]);
    }
}

/* new = (1 - factor) old + factor value */
static void run_average(const struct mudnn_operand *in, const struct mudnn_operand *out, double factor, double *value,
                        double *old, int64_t n)
{
    if (!out->at || !in->at)
        return;
    read_kept(old, in);
    for (int64_t i = 0; i < n; i++)
        old[i] = (1 - factor) * old[i] + factor * value[i];
    write_kept(out, old);
}

static void run_forward(const void *call)
{
    const struct mudnn_normalize *n = call;
    const int64_t kept = dnn_count(&n->kept);
    struct sums s = {.x = &n->x, .scale = &n->scale, .bias = &n->bias, .y = &n->y};
    double *v = maths_zeroed((size_t)kept * 4, sizeof *v), *mean = v, *variance = v + kept, *inverse = variance + kept;
    if (!v)
        return;
    s.places = dnn_packed(&n->kept, MUDNN_DATA_DOUBLE);
    s.count = (double)(dnn_count(&n->x.t) / kept);
    s.a = mean;
    s.b = variance;
    s.mean = n->centred ? mean : NULL;
    s.inverse = inverse;
    if (n->given) {
        if (n->centred)
            read_kept(mean, &n->mean);
        read_kept(inverse, &n->inverse);
    } else {
        const double epsilon = number_of(&n->epsilon, 0), factor = number_of(&n->factor, 1);
        if (n->centred)
            walk(&s, NULL, NULL, NULL, false, add_row);
        for (int64_t i = 0; i < kept; i++)
            mean[i] /= s.count;
        walk(&s, NULL, NULL, NULL, false, add_square_row);
        for (int64_t i = 0; i < kept; i++) {
            variance[i] /= s.count;
            inverse[i] = 1 / sqrt(variance[i] + epsilon);
        }
        write_kept(&n->mean, mean);
        write_kept(&n->inverse, inverse);
        run_average(&n->mean_in, &n->mean_out, factor, mean, inverse + kept, kept);
        for (int64_t i = 0; s.count > 1 && i < kept; i++)
            variance[i] *= s.count / (s.count - 1);
        run_average(&n->variance_in, &n->variance_out, factor, variance, inverse + kept, kept);
    }
    walk(&s, &n->y.t, n->scale.at ? &n->scale.t : NULL, n->bias.at ? &n->bias.t : NULL, true, normalize_row);
    free(v);
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* dscale and dbias: sums over what scale does not tell apart. */
struct weights {
    const struct mudnn_normalize_backward *n;
    const double *mean, *inverse;
    double *dscale, *dbias;
};
static void weights_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    struct weights *g = job;
    double x[DNN_ROW], dy[DNN_ROW];
    dnn_load(x, g->n->x.at, g->n->x.t.type, at[0], step[0], n);
    dnn_load(dy, g->n->dy.at, g->n->dy.t.type, at[2], step[2], n);
    for (size_t i = 0; i < n; i++) {
        int64_t k = at[1] + (int64_t)i * step[1], to = at[3] + (int64_t)i * step[3];
        g->dscale[to] += dy[i] * (x[i] - (g->mean ? g->mean[k] : 0)) * g->inverse[k];
        g->dbias[to] += dy[i];
    }
}
static void gradient_sums_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    struct sums *s = job;
    double x[DNN_ROW], dy[DNN_ROW], scale[DNN_ROW];
    dnn_load(x, s->x->at, s->x->t.type, at[0], step[0], n);
    dnn_load(dy, s->dy->at, s->dy->t.type, at[2], step[2], n);
    if (s->scale->at)
        dnn_load(scale, s->scale->at, s->scale->t.type, at[3], step[3], n);
    for (size_t i = 0; i < n; i++) {
        int64_t k = at[1] + (int64_t)i * step[1];
        double g = dy[i] * (s->scale->at ? scale[i] : 1);
        s->a[k] += g;
        s->b[k] += g * (x[i] - (s->mean ? s->mean[k] : 0)) * s->inverse[k];
    }
}
/* dx = inverse (g - mean(g) - xhat mean(g xhat)), g = scale dy; without mean(g) where nothing was centred. */
static void gradient_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    struct sums *s = job;
    double x[DNN_ROW], dy[DNN_ROW], scale[DNN_ROW];
    dnn_load(x, s->x->at, s->x->t.type, at[0], step[0], n);
    dnn_load(dy, s->dy->at, s->dy->t.type, at[2], step[2], n);
    if (s->scale->at)
        dnn_load(scale, s->scale->at, s->scale->t.type, at[3], step[3], n);
    for (size_t i = 0; i < n; i++) {
        int64_t k = at[1] + (int64_t)i * step[1];
        double g = dy[i] * (s->scale->at ? scale[i] : 1);
        double hat = (x[i] - (s->mean ? s->mean[k] : 0)) * s->inverse[k];
        x[i] = s->inverse[k] * (g - (s->mean ? s->a[k] / s->count : 0) - hat * s->b[k] / s->count);
    }
    dnn_store(s->y->at, x, s->y->t.type, at[4], step[4], n);
}

static void weight_gradients(const struct mudnn_normalize_backward *n, const struct sums *s)
{
    const struct mudnn_operand *shape = n->dscale.at ? &n->dscale : &n->dbias;
    const int64_t count = dnn_count(&shape->t);
    struct mudnn_tensor places = dnn_packed(&shape->t, MUDNN_DATA_DOUBLE);
    double *v = maths_zeroed((size_t)count * 2, sizeof *v);
    struct weights g = {n, s->mean, s->inverse, v, v + count};
    const struct mudnn_tensor *const all[] = {&n->x.t, &s->places, &n->dy.t, &places};
    struct dnn_walk w;
    if (!v)
        return;
    dnn_plan(&w, &n->x.t, 4, all);
    dnn_walk(&w, false, weights_row, &g);
    write_kept(&n->dscale, g.dscale);
    write_kept(&n->dbias, g.dbias);
    free(v);
}

static void run_backward(const void *call)
{
    const struct mudnn_normalize_backward *n = call;
    const int64_t kept = dnn_count(&n->kept);
    struct sums s = {.x = &n->x, .dy = &n->dy, .scale = &n->scale, .y = &n->dx};
    double *v = maths_zeroed((size_t)kept * 4, sizeof *v);
    if (!v)
        return;
    s.places = dnn_packed(&n->kept, MUDNN_DATA_DOUBLE);
    s.count = (double)(dnn_count(&n->x.t) / kept);
    s.a = v;
    s.b = v + kept;
    if (n->centred) {
        read_kept(v + 2 * kept, &n->mean);
        s.mean = v + 2 * kept;
    }
    read_kept(v + 3 * kept, &n->inverse);
    s.inverse = v + 3 * kept;
    if (n->dscale.at || n->dbias.at)
        weight_gradients(n, &s);
    const struct mudnn_tensor *scale = n->scale.at ? &n->scale.t : NULL;
    walk(&s, &n->dy.t, scale, NULL, false, gradient_sums_row);
    walk(&s, &n->dy.t, scale, &n->dx.t, true, gradient_row);
    free(v);
}

/* ---- parts of batch normalisation -------------------------------------------------------------- */

void dnn_bn_finalize(const void *call)
{
    const struct mudnn_bn_finalize *b = call;
    const int64_t n = dnn_count(&b->sum.t);
    const double count = number_of(&b->count, 1), epsilon = number_of(&b->epsilon, 0),
                 factor = number_of(&b->factor, 1);
    double *v = maths_zeroed((size_t)n * 6, sizeof *v), *mean = v, *variance = v + n, *inverse = v + 2 * n;
    double *scale = v + 3 * n, *bias = v + 4 * n, *old = v + 5 * n;
    if (!v)
        return;
    if (b->training) {
        read_kept(mean, &b->sum);
        read_kept(variance, &b->square);
        for (int64_t i = 0; i < n; i++) {
            mean[i] /= count;
            variance[i] = variance[i] / count - mean[i] * mean[i];
            variance[i] = variance[i] < 0 ? 0 : variance[i];
        }
    } else {
        read_kept(mean, &b->mean_in);
        read_kept(variance, &b->variance_in);
    }
    for (int64_t i = 0; i < n; i++) {
        inverse[i] = 1 / sqrt(variance[i] + epsilon);
        scale[i] = 1;
    }
    write_kept(&b->mean, mean);
    write_kept(&b->inverse, inverse);
    if (b->scale.at)
        read_kept(scale, &b->scale);
    if (b->bias.at)
        read_kept(bias, &b->bias);
    for (int64_t i = 0; i < n; i++) {
        scale[i] *= inverse[i];
        bias[i] -= mean[i] * scale[i];
    }
    write_kept(&b->eq_scale, scale);
    write_kept(&b->eq_bias, bias);
    run_average(&b->mean_in, &b->mean_out, factor, mean, old, n);
    for (int64_t i = 0; count > 1 && i < n; i++)
        variance[i] *= count / (count - 1);
    run_average(&b->variance_in, &b->variance_out, factor, variance, old, n);
    free(v);
}

static void run_weights(const void *call)
{
    const struct mudnn_bn_weights *b = call;
    const int64_t n = dnn_count(&b->mean.t);
    const double count = (double)dnn_count(&b->x.t) / (double)n;
    const struct mudnn_operand no_scale = {.t = b->x.t};
    struct sums s = {.x = &b->x, .dy = &b->dy, .scale = &no_scale};
    double *v = maths_zeroed((size_t)n * 5, sizeof *v), *mean = v + 2 * n, *inverse = v + 3 * n, *scale = v + 4 * n;
    if (!v)
        return;
    read_kept(mean, &b->mean);
    read_kept(inverse, &b->inverse);
    read_kept(scale, &b->scale);
    s.places = dnn_packed(&b->mean.t, MUDNN_DATA_DOUBLE);
    s.a = v;
    s.b = v + n;
    s.mean = mean;
    s.inverse = inverse;
    walk(&s, &b->dy.t, NULL, NULL, false, gradient_sums_row);
    write_kept(&b->dbias, s.a);
    write_kept(&b->dscale, s.b);
    for (int64_t i = 0; i < n; i++) {
        double dy = scale[i] * inverse[i], dscale = s.b[i], dbias = s.a[i];
        s.a[i] = -dy * inverse[i] * dscale / count;
        s.b[i] = dy * (mean[i] * inverse[i] * dscale - dbias) / count;
        scale[i] = dy;
    }
    write_kept(&b->eq_dy, scale);
    write_kept(&b->eq_x, s.a);
    write_kept(&b->eq_bias, s.b);
    free(v);
}

/* ---- calls ------------------------------------------------------------------------------------- */

DNN_EXPORT mudnnStatus_t mudnnHostNormalize(musaStream_t stream, const struct mudnn_normalize *n)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_forward, n, sizeof *n, 30.0 * (double)dnn_count(&n->x.t));
}
DNN_EXPORT mudnnStatus_t mudnnHostNormalizeBackward(musaStream_t stream, const struct mudnn_normalize_backward *n)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_backward, n, sizeof *n, 60.0 * (double)dnn_count(&n->x.t));
}
DNN_EXPORT mudnnStatus_t mudnnHostBnFinalize(musaStream_t stream, const struct mudnn_bn_finalize *b)
{
    return dnn_submit(stream, MATHS_OWN_CODE, dnn_bn_finalize, b, sizeof *b, 100.0 * (double)dnn_count(&b->sum.t));
}
DNN_EXPORT mudnnStatus_t mudnnHostBnWeights(musaStream_t stream, const struct mudnn_bn_weights *b)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_weights, b, sizeof *b, 30.0 * (double)dnn_count(&b->x.t));
}
