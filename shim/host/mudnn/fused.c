/* Scaling of channels with an addition and an activation, bits of what it let through, sums of channels and what batch
 * normalisation makes of them: the parts of fused operations that are no convolutions. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/mudnn_fused.h"

/* ---- elements and their channels --------------------------------------------------------------- */

/* A tensor of a number of each channel, as an operand of walks. */
static struct mudnn_tensor channels_of(const struct mudnn_tensor *x, int type)
{
    struct mudnn_tensor t = {.type = type, .n = x->n, .vector = 1};
    for (int i = 0; i < t.n; i++) {
        t.dim[i] = i == 1 ? x->dim[1] : 1;
        t.stride[i] = 1;
    }
    return t;
}
static int type_of(const struct mudnn_channel *c) { return c->at ? c->type : MUDNN_DATA_FLOAT; }

static bool load_channels(double *to, const struct mudnn_channel *c, int64_t at, int64_t step, size_t n)
{
    if (c->at)
        dnn_load(to, c->at, c->type, at, step, n);
    return c->at != NULL;
}

static void scaled_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct mudnn_scaled *s = job;
    double v[DNN_ROW], z[DNN_ROW], c[DNN_ROW];
    dnn_load(v, s->x_at, s->x.type, at[1], step[1], n);
    if (load_channels(c, &s->scale, at[2], step[2], n))
        for (size_t i = 0; i < n; i++)
            v[i] *= c[i];
    if (load_channels(c, &s->bias, at[2], step[2], n))
        for (size_t i = 0; i < n; i++)
            v[i] += c[i];
    if (s->z_at) {
        dnn_load(z, s->z_at, s->z.type, at[3], step[3], n);
        if (load_channels(c, &s->z_scale, at[2], step[2], n))
            for (size_t i = 0; i < n; i++)
                z[i] *= c[i];
        for (size_t i = 0; i < n; i++)
            v[i] += z[i];
        if (load_channels(c, &s->z_bias, at[2], step[2], n))
            for (size_t i = 0; i < n; i++)
                v[i] += c[i];
    }
    for (size_t i = 0; s->mask && i < n; i++) {
        const uint64_t bit = (uint64_t)(at[4] + (int64_t)i * step[4]);
        if (v[i] > 0 || !s->activates)
            s->mask[bit / 32] |= 1u << bit % 32;
    }
    for (size_t i = 0; s->activates && i < n; i++)
        v[i] = dnn_activate(s->mode, s->coefficient, v[i]);
    dnn_store(s->y_at, v, s->y.type, at[0], step[0], n);
}

static void run_scaled(const void *call)
{
    struct mudnn_scaled s = *(const struct mudnn_scaled *)call;
    struct mudnn_tensor c = channels_of(&s.x, type_of(&s.scale)), bits = dnn_packed(&s.y, MUDNN_DATA_FLOAT);
    const struct mudnn_tensor *const all[] = {&s.y, &s.x, &c, s.z_at ? &s.z : &s.x, &bits};
    struct dnn_walk w;
    if (s.mask)
        memset(s.mask, 0, (size_t)mudnn_mask_words(dnn_count(&s.y)) * sizeof *s.mask);
    dnn_plan(&w, &s.y, 5, all);
    dnn_walk(&w, !s.mask, scaled_row, &s); /* rows share words of the mask */
}

static void masked_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct mudnn_masked *m = job;
    double v[DNN_ROW];
    dnn_load(v, m->x_at, m->x.type, at[1], step[1], n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bit = (uint64_t)(at[2] + (int64_t)i * step[2]);
        v[i] = m->mask[bit / 32] >> bit % 32 & 1 ? v[i] : 0;
    }
    dnn_store(m->y_at, v, m->y.type, at[0], step[0], n);
}
static void run_masked(const void *call)
{
    struct mudnn_masked m = *(const struct mudnn_masked *)call;
    struct mudnn_tensor bits = dnn_packed(&m.x, MUDNN_DATA_FLOAT);
    const struct mudnn_tensor *const all[] = {&m.y, &m.x, &bits};
    struct dnn_walk w;
    dnn_plan(&w, &m.y, 3, all);
    dnn_walk(&w, true, masked_row, &m);
}

/* ---- channels ---------------------------------------------------------------------------------- */

struct sums {
    const struct mudnn_statistics *s;
    double *sum, *square;
};
static void sums_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct sums *g = job;
    double v[DNN_ROW];
    dnn_load(v, g->s->x_at, g->s->x.type, at[0], step[0], n);
    for (size_t i = 0; i < n; i++) {
        int64_t c = at[1] + (int64_t)i * step[1];
        g->sum[c] += v[i];
        g->square[c] += v[i] * v[i];
    }
}
static void run_statistics(const void *call)
{
    const struct mudnn_statistics *s = call;
    const int64_t n = s->x.dim[1];
    struct mudnn_tensor c = channels_of(&s->x, MUDNN_DATA_DOUBLE);
    struct sums g = {.s = s, .sum = maths_zeroed((size_t)n * 2, sizeof(double))};
    const struct mudnn_tensor *const all[] = {&s->x, &c};
    struct dnn_walk w;
    if (!g.sum)
        return;
    g.square = g.sum + n;
    dnn_plan(&w, &s->x, 2, all);
    dnn_walk(&w, false, sums_row, &g);
    if (s->sum.at)
        dnn_store(s->sum.at, g.sum, s->sum.type, 0, 1, (size_t)n);
    if (s->square.at)
        dnn_store(s->square.at, g.square, s->square.type, 0, 1, (size_t)n);
    free(g.sum);
}

static struct mudnn_operand number(const double *v)
{
    return (struct mudnn_operand){{.type = MUDNN_DATA_DOUBLE, .n = 1, .dim = {1}, .stride = {1}}, (void *)(uintptr_t)v};
}
static void run_finalize(const void *call)
{
    const struct mudnn_finalize *f = call;
    struct mudnn_bn_finalize b = f->of;
    b.count = number(&f->count);
    b.epsilon = number(&f->epsilon);
    b.factor = number(&f->factor);
    dnn_bn_finalize(&b);
}

/* ---- calls ------------------------------------------------------------------------------------- */

DNN_EXPORT mudnnStatus_t mudnnHostScaled(musaStream_t stream, const struct mudnn_scaled *s)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_scaled, s, sizeof *s, 30.0 * (double)dnn_count(&s->y));
}
DNN_EXPORT mudnnStatus_t mudnnHostMasked(musaStream_t stream, const struct mudnn_masked *m)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_masked, m, sizeof *m, 20.0 * (double)dnn_count(&m->y));
}
DNN_EXPORT mudnnStatus_t mudnnHostStatistics(musaStream_t stream, const struct mudnn_statistics *s)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_statistics, s, sizeof *s, 12.0 * (double)dnn_count(&s->x));
}
DNN_EXPORT mudnnStatus_t mudnnHostFinalize(musaStream_t stream, const struct mudnn_finalize *f)
{
    return dnn_submit(stream, MATHS_OWN_CODE, run_finalize, f, sizeof *f, 100.0 * (double)dnn_count(&f->of.sum.t));
}
