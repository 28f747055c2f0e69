/* Normalisation over a batch, and dropout. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

/* Sums of each feature. A walk's operands: what is written or read first, x, the features, and two more. */
struct work {
    const struct mudnn_norm *n;
    struct mudnn_tensor s; /* packed doubles */
    double *mean, *inverse, *scale, *bias, *first, *second;
    double count; /* elements of a feature */
};

static void add_rows(double *sum, int64_t at, int64_t step, const double *v, size_t n)
{
    double whole = 0;
    for (size_t i = 0; step && i < n; i++)
        sum[at + (int64_t)i * step] += v[i];
    for (size_t i = 0; !step && i < n; i++)
        whole += v[i];
    sum[at] += whole;
}

static void mean_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    double v[DNN_ROW];
    dnn_load(v, w->n->x_at, w->n->x.type, at[0], step[0], n);
    add_rows(w->first, at[1], step[1], v, n);
}
static void variance_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    double v[DNN_ROW];
    dnn_load(v, w->n->x_at, w->n->x.type, at[0], step[0], n);
    for (size_t i = 0; i < n; i++) {
        v[i] -= w->mean[at[1] + (int64_t)i * step[1]];
        v[i] *= v[i];
    }
    add_rows(w->second, at[1], step[1], v, n);
}

static void load_features(const struct work *w, double *to, const void *from, double otherwise)
{
    int64_t n = dnn_count(&w->s);
    if (from)
        dnn_load(to, from, w->n->s.type, 0, 1, (size_t)n);
    for (int64_t i = 0; !from && i < n; i++)
        to[i] = otherwise;
}
/* to = alpha v + beta to */
static void store_features(const struct work *w, void *to, const double *v, double alpha, double beta)
{
    for (int64_t i = 0; to && i < dnn_count(&w->s); i++)
        dnn_put(to, w->n->s.type, i, alpha * v[i] + (beta != 0 ? beta * dnn_get(to, w->n->s.type, i) : 0));
}

static bool begin(struct work *w, const struct mudnn_norm *n)
{
    int64_t features = dnn_count(&n->s);
    *w = (struct work){.n = n, .s = dnn_packed(&n->s, MUDNN_DATA_DOUBLE)};
    w->count = (double)dnn_count(&n->x) / (double)features;
    w->mean = maths_zeroed((size_t)features * 6, sizeof *w->mean);
    if (!w->mean)
        return false;
    w->inverse = w->mean + features;
    w->scale = w->inverse + features;
    w->bias = w->scale + features;
    w->first = w->bias + features;
    w->second = w->first + features;
    load_features(w, w->scale, n->scale, 1);
    load_features(w, w->bias, n->bias, 0);
    return true;
}

/* Mean and variance of the batch in two passes, as the difference of sums of squares loses digits. */
static void statistics(struct work *w)
{
    const struct mudnn_norm *n = w->n;
    const struct mudnn_tensor *const in[] = {&n->x, &w->s};
    struct dnn_walk plan;
    dnn_plan(&plan, &n->x, 2, in);
    dnn_walk(&plan, false, mean_row, w);
    for (int64_t i = 0; i < dnn_count(&w->s); i++)
        w->mean[i] = w->first[i] / w->count;
    dnn_walk(&plan, false, variance_row, w);
    for (int64_t i = 0; i < dnn_count(&w->s); i++) {
        w->second[i] /= w->count;
        w->inverse[i] = 1 / sqrt(w->second[i] + n->epsilon);
    }
}

enum { OUT, X, S, Z, DY };
/* A row of the result, to which beta of what stood there is added. */
static void store_blended(const struct mudnn_norm *m, void *to, int type, double *v, int64_t at, int64_t step, size_t n)
{
    double old[DNN_ROW];
    if (m->beta != 0) {
        dnn_load(old, to, type, at, step, n);
        for (size_t i = 0; i < n; i++)
            v[i] += m->beta * old[i];
    }
    dnn_store(to, v, type, at, step, n);
}

static void forward_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    const struct mudnn_norm *m = w->n;
    double v[DNN_ROW], more[DNN_ROW];
    dnn_load(v, m->x_at, m->x.type, at[X], step[X], n);
    for (size_t i = 0; i < n; i++) {
        int64_t f = at[S] + (int64_t)i * step[S];
        v[i] = w->scale[f] * ((v[i] - w->mean[f]) * w->inverse[f]) + w->bias[f];
    }
    if (m->z_at) {
        dnn_load(more, m->z_at, m->z.type, at[Z], step[Z], n);
        for (size_t i = 0; i < n; i++)
            v[i] += more[i];
    }
    for (size_t i = 0; m->relu && i < n; i++)
        v[i] = v[i] < 0 ? 0 : v[i];
    for (size_t i = 0; m->alpha != 1 && i < n; i++)
        v[i] *= m->alpha;
    store_blended(m, m->y_at, m->y.type, v, at[OUT], step[OUT], n);
}

/* What of a batch's mean (w->mean), variance (w->second) and inverse is kept. */
static void keep_statistics(const struct work *w)
{
    const struct mudnn_norm *n = w->n;
    double last = w->count > 1 ? w->count / (w->count - 1) : 1;
    store_features(w, n->mean, w->mean, 1, 0);
    store_features(w, n->inverse, w->inverse, 1, 0);
    store_features(w, n->running_mean, w->mean, n->factor, 1 - n->factor);
    store_features(w, n->running_variance, w->second, n->factor * last, 1 - n->factor);
}

/* ---- by oneDNN --------------------------------------------------------------------------------- */

/* Channels last or behind the images, without gaps. */
static bool is_dense(const struct mudnn_tensor *t)
{
    int64_t step = 1;
    bool last = t->stride[1] == 1 && t->dim[1] > 1;
    if (last)
        step = t->dim[1];
    for (int i = t->n - 1; i >= 0; i--) {
        if (last && i == 1)
            continue;
        if (t->stride[i] != step && t->dim[i] != 1)
            return false;
        step *= t->dim[i];
    }
    return t->vector == 1 && t->type == MUDNN_DATA_FLOAT;
}
static bool alike(const struct mudnn_tensor *a, const struct mudnn_tensor *b)
{
    for (int i = 0; i < a->n; i++)
        if (a->stride[i] != b->stride[i] || a->dim[i] != b->dim[i])
            return false;
    return a->n == b->n && a->type == b->type && a->vector == b->vector;
}
/* Floats of channels' statistics, with nothing behind the normalisation. */
static bool is_plain(const struct mudnn_norm *n, bool backward)
{
    bool channels = n->s.dim[1] == n->x.dim[1] && dnn_count(&n->s) == n->x.dim[1];
    return channels && dnn_has_onednn() && n->s.type == MUDNN_DATA_FLOAT && is_dense(&n->x) && n->alpha == 1 &&
           n->beta == 0 && !n->relu && !n->z_at && !n->dz_at && n->scale &&
           (backward ? n->training && alike(&n->x, &n->dy) && alike(&n->x, &n->dx) : alike(&n->x, &n->y) && n->bias);
}

/* The floats that oneDNN takes and gives of the features lie behind each other in `own`. */
static bool forward_by_onednn(const struct mudnn_norm *n)
{
    struct work w;
    int64_t features = n->x.dim[1];
    if (!begin(&w, n))
        return true; /* the call has failed */
    float *own = maths_alloc((size_t)features * 2 * sizeof *own);
    struct dnn_norm_floats f = {.training = n->training,
                                .epsilon = (float)n->epsilon,
                                .x = &n->x,
                                .x_at = (float *)(uintptr_t)n->x_at,
                                .y_at = n->y_at,
                                .mean = own,
                                .variance = own ? own + features : NULL,
                                .scale = (float *)(uintptr_t)n->scale,
                                .shift = (float *)(uintptr_t)n->bias};
    if (!n->training)
        f.mean = n->running_mean, f.variance = n->running_variance;
    dnn_touch(&n->x, n->x_at, false);
    dnn_touch(&n->y, n->y_at, true);
    bool good = own && dnn_norm_by_onednn(&f);
    for (int64_t i = 0; good && n->training && i < features; i++) {
        w.mean[i] = (double)own[i];
        w.second[i] = (double)own[features + i];
        w.inverse[i] = 1 / sqrt(w.second[i] + n->epsilon);
    }
    if (good && n->training)
        keep_statistics(&w);
    free(own);
    free(w.mean);
    return good;
}

static void run_forward(const void *call)
{
    const struct mudnn_norm *n = call;
    struct work w;
    struct dnn_walk plan;
    if ((is_plain(n, false) && forward_by_onednn(n)) || !begin(&w, n))
        return;
    int64_t features = dnn_count(&w.s);
    if (n->training) {
        statistics(&w);
        keep_statistics(&w);
    } else {
        load_features(&w, w.mean, n->running_mean, 0);
        load_features(&w, w.second, n->running_variance, 1);
        for (int64_t i = 0; i < features; i++)
            w.inverse[i] = 1 / sqrt(w.second[i] + n->epsilon);
    }
    const struct mudnn_tensor *const all[] = {&n->y, &n->x, &w.s, n->z_at ? &n->z : &n->x};
    dnn_plan(&plan, &n->y, 4, all);
    dnn_walk(&plan, true, forward_row, &w);
    free(w.mean);
}

/* ---- backward ---------------------------------------------------------------------------------- */

enum { YB = 3, DZ = 5 };
/* dy where the activation passed it. Operands: dx, x, s, y, dy, dz. */
static void passed(const struct work *w, const int64_t *at, const int64_t *step, double *dy, size_t n)
{
    const struct mudnn_norm *m = w->n;
    double y[DNN_ROW];
    dnn_load(dy, m->dy_at, m->dy.type, at[DY], step[DY], n);
    if (!m->relu)
        return;
    dnn_load(y, m->y_at, m->y.type, at[YB], step[YB], n);
    for (size_t i = 0; i < n; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}
static void sum_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    double x[DNN_ROW], dy[DNN_ROW];
    passed(w, at, step, dy, n);
    dnn_load(x, w->n->x_at, w->n->x.type, at[X], step[X], n);
    add_rows(w->first, at[S], step[S], dy, n);
    for (size_t i = 0; i < n; i++) {
        int64_t f = at[S] + (int64_t)i * step[S];
        x[i] = (x[i] - w->mean[f]) * w->inverse[f] * dy[i];
    }
    add_rows(w->second, at[S], step[S], x, n);
}
static void gradient_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct work *w = job;
    const struct mudnn_norm *m = w->n;
    double x[DNN_ROW], dy[DNN_ROW];
    passed(w, at, step, dy, n);
    dnn_load(x, m->x_at, m->x.type, at[X], step[X], n);
    if (m->dz_at)
        dnn_store(m->dz_at, dy, m->dz.type, at[DZ], step[DZ], n);
    for (size_t i = 0; i < n; i++) {
        int64_t f = at[S] + (int64_t)i * step[S];
        double h = (x[i] - w->mean[f]) * w->inverse[f];
        if (m->training)
            dy[i] -= (w->first[f] + h * w->second[f]) / w->count;
        x[i] = m->alpha * w->scale[f] * w->inverse[f] * dy[i];
    }
    store_blended(m, m->dx_at, m->dx.type, x, at[OUT], step[OUT], n);
}

/* oneDNN takes the variance: it is made of the inverse that was kept. */
static bool backward_by_onednn(const struct mudnn_norm *n)
{
    struct work w;
    int64_t features = n->x.dim[1];
    if (!begin(&w, n))
        return true;
    float *own = maths_alloc((size_t)features * 5 * sizeof *own);
    load_features(&w, w.mean, n->mean, 0);
    load_features(&w, w.inverse, n->inverse, 1);
    for (int64_t i = 0; own && i < features; i++) {
        own[i] = (float)w.mean[i];
        own[features + i] = (float)(1 / (w.inverse[i] * w.inverse[i]) - n->epsilon);
        own[2 * features + i] = (float)w.bias[i];
    }
    struct dnn_norm_floats f = {.backward = true,
                                .epsilon = (float)n->epsilon,
                                .x = &n->x,
                                .x_at = (float *)(uintptr_t)n->x_at,
                                .dy_at = (float *)(uintptr_t)n->dy_at,
                                .dx_at = n->dx_at,
                                .mean = own,
                                .scale = (float *)(uintptr_t)n->scale};
    dnn_touch(&n->x, n->x_at, false);
    dnn_touch(&n->dy, n->dy_at, false);
    dnn_touch(&n->dx, n->dx_at, true);
    if (own)
        f.variance = own + features, f.shift = own + 2 * features, f.dscale = own + 3 * features,
        f.dshift = own + 4 * features;
    bool good = own && dnn_norm_by_onednn(&f);
    for (int64_t i = 0; good && i < features; i++) {
        w.second[i] = (double)f.dscale[i];
        w.first[i] = (double)f.dshift[i];
    }
    if (good) {
        store_features(&w, n->dscale, w.second, n->alpha_s, n->beta_s);
        store_features(&w, n->dbias, w.first, n->alpha_s, n->beta_s);
    }
    free(own);
    free(w.mean);
    return good;
}

static void run_backward(const void *call)
{
    const struct mudnn_norm *n = call;
    struct work w;
    struct dnn_walk plan;
    if ((is_plain(n, true) && n->mean && n->inverse && n->dx_at != n->dy_at && backward_by_onednn(n)) || !begin(&w, n))
        return;
    int64_t features = dnn_count(&w.s);
    if (n->mean && n->inverse) {
        load_features(&w, w.mean, n->mean, 0);
        load_features(&w, w.inverse, n->inverse, 1);
    } else {
        statistics(&w);
    }
    for (int64_t i = 0; i < features; i++)
        w.first[i] = w.second[i] = 0;
    const struct mudnn_tensor *const all[] = {
        &n->dx, &n->x, &w.s, n->relu ? &n->y : &n->x, &n->dy, n->dz_at ? &n->dz : &n->x};
    dnn_plan(&plan, &n->x, 6, all);
    dnn_walk(&plan, false, sum_row, &w);
    dnn_walk(&plan, true, gradient_row, &w);
    store_features(&w, n->dscale, w.second, n->alpha_s, n->beta_s);
    store_features(&w, n->dbias, w.first, n->alpha_s, n->beta_s);
    free(w.mean);
}

static bool types_known(const struct mudnn_norm *n)
{
    return dnn_size(n->x.type) && dnn_size(n->s.type) && n->s.vector == 1;
}
DNN_EXPORT mudnnStatus_t mudnnHostNormForward(musaStream_t stream, const struct mudnn_norm *n)
{
    if (!types_known(n))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, is_plain(n, false) ? MATHS_LIBRARY : MATHS_OWN_CODE, run_forward, n, sizeof *n,
                      40.0 * (double)dnn_count(&n->x));
}
DNN_EXPORT mudnnStatus_t mudnnHostNormBackward(musaStream_t stream, const struct mudnn_norm *n)
{
    if (!types_known(n))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, is_plain(n, true) ? MATHS_LIBRARY : MATHS_OWN_CODE, run_backward, n, sizeof *n,
                      60.0 * (double)dnn_count(&n->x));
}

/* ---- dropout ----------------------------------------------------------------------------------- */

/* A number of [0, 1) from a counter: splitmix64 (Steele, Lea and Flood 2014). */
static double draw(uint64_t seed, uint64_t at)
{
    uint64_t z = seed + (at + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void drop_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct mudnn_dropout *d = job;
    double v[DNN_ROW], keep = d->rate < 1 ? 1 / (1 - d->rate) : 0;
    dnn_load(v, d->x_at, d->x.type, at[1], step[1], n);
    for (size_t i = 0; i < n; i++) {
        int64_t k = at[2] + (int64_t)i * step[2];
        if (!d->again)
            d->mask[k] = draw(d->state[0], d->state[1] + (uint64_t)k) >= d->rate;
        v[i] = d->mask[k] ? v[i] * keep : 0;
    }
    dnn_store(d->y_at, v, d->y.type, at[0], step[0], n);
}
static void run_dropout(const void *call)
{
    const struct mudnn_dropout *d = call;
    struct mudnn_tensor order = dnn_packed(&d->x, 0);
    const struct mudnn_tensor *const all[] = {&d->y, &d->x, &order};
    struct dnn_walk w;
    dnn_plan(&w, &d->y, 3, all);
    dnn_walk(&w, true, drop_row, (void *)(uintptr_t)d);
    if (!d->again)
        d->state[1] += (uint64_t)dnn_count(&d->x);
}
DNN_EXPORT mudnnStatus_t mudnnHostDropout(musaStream_t stream, const struct mudnn_dropout *d)
{
    if (!dnn_size(d->x.type) || !dnn_size(d->y.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_dropout, d, sizeof *d, 24.0 * (double)dnn_count(&d->x));
}

struct seeding {
    uint64_t *state, seed;
};
static void run_seed(const void *call)
{
    const struct seeding *s = call;
    s->state[0] = s->seed;
    s->state[1] = 0;
}
DNN_EXPORT mudnnStatus_t mudnnHostDropoutSeed(musaStream_t stream, uint64_t *state, uint64_t seed)
{
    struct seeding s = {state, seed};
    return dnn_submit(stream, MATHS_OWN_CODE, run_seed, &s, sizeof s, 1);
}
