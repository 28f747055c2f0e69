/* Windows of graphs: greatest and mean values with the places of the greatest, and their gradients; and random numbers
 * of a counter. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

#include "abi/mudnn_graph.h"

/* ---- windows ----------------------------------------------------------------------------------- */

static int64_t taps_of(const struct mudnn_resample *r)
{
    int64_t n = 1;
    for (int i = 0; i < r->spatial; i++)
        n *= r->window[i];
    return n;
}

static void index_of(const struct mudnn_tensor *t, int64_t i, int64_t *index)
{
    for (int d = t->n - 1; d >= 0; i /= t->dim[d], d--)
        index[d] = i % t->dim[d];
}

/* Where tap `tap` of the window of element y[index] lies in x: false where that is padding. Edges are repeated where
 * the padding says so. */
static bool tap_place(const struct mudnn_resample *r, const int64_t *index, int64_t tap, int64_t *x)
{
    const struct mudnn_tensor *t = &r->x.t;
    bool inside = true;
    x[0] = index[0];
    x[1] = index[1];
    for (int i = r->spatial - 1; i >= 0; tap /= r->window[i], i--) {
        int64_t at = index[i + 2] * r->stride[i] - r->pad[i] + tap % r->window[i], most = t->dim[i + 2] - 1;
        inside &= at >= 0 && at <= most;
        x[i + 2] = at < 0 ? 0 : at > most ? most : at;
    }
    return inside || r->padding == MUDNN_EDGE_VAL_PAD;
}

static bool is_greatest(const struct mudnn_resample *r) { return r->mode == MUDNN_RESAMPLE_MAXPOOL; }

/* The greatest of a window, and which tap it is. A window of nothing but padding by -inf has none: -inf, tap 0. */
static double greatest(const struct mudnn_resample *r, const struct mudnn_operand *x, const int64_t *index,
                       int64_t *which)
{
    double most = -INFINITY;
    int64_t place[MUDNN_DIMS];
    bool any = false;
    *which = 0;
    for (int64_t tap = 0, taps = taps_of(r); tap < taps; tap++) {
        bool inside = tap_place(r, index, tap, place);
        if (!inside && r->padding != MUDNN_ZERO_PAD)
            continue;
        double v = inside ? dnn_get(x->at, x->t.type, dnn_place(&x->t, place)) : 0;
        if (!any || v > most || (r->nan && v != v && most == most)) {
            most = v;
            *which = tap;
            any = true;
        }
    }
    return most;
}

static double mean(const struct mudnn_resample *r, const int64_t *index, double *count)
{
    double sum = 0;
    int64_t place[MUDNN_DIMS];
    *count = 0;
    for (int64_t tap = 0, taps = taps_of(r); tap < taps; tap++) {
        bool inside = tap_place(r, index, tap, place);
        *count += inside || r->mode == MUDNN_RESAMPLE_AVGPOOL;
        if (inside && !r->backward)
            sum += dnn_get(r->x.at, r->x.t.type, dnn_place(&r->x.t, place));
    }
    *count = *count > 0 ? *count : 1;
    return sum / *count;
}

enum { PARTS = 32 };
static void forward_part(void *job, unsigned part)
{
    const struct mudnn_resample *r = job;
    const int64_t all = dnn_count(&r->y.t);
    int64_t index[MUDNN_DIMS], which = 0;
    for (int64_t i = all * part / PARTS; i < all * (part + 1) / PARTS; i++) {
        double count, old = 0;
        index_of(&r->y.t, i, index);
        double v = r->alpha * (is_greatest(r) ? greatest(r, &r->x, index, &which) : mean(r, index, &count));
        int64_t at = dnn_place(&r->y.t, index);
        if (r->beta != 0)
            old = r->beta * dnn_get(r->y.at, r->y.t.type, at);
        dnn_put(r->y.at, r->y.t.type, at, v + old);
        if (r->index.at)
            dnn_put(r->index.at, r->index.t.type, dnn_place(&r->index.t, index), (double)which);
    }
}

/* Gradients of windows that overlap meet: sums as doubles, of one image and channel after the other. */
static void backward_part(void *job, unsigned part)
{
    const struct mudnn_resample *r = job;
    const struct mudnn_tensor *x = &r->x.t, *y = &r->y.t;
    const int64_t planes = x->dim[0] * x->dim[1], in = dnn_count(x) / planes, out = dnn_count(y) / planes;
    double *sum = maths_zeroed((size_t)in, sizeof *sum);
    for (int64_t plane = planes * part / PARTS; sum && plane < planes * (part + 1) / PARTS; plane++) {
        int64_t index[MUDNN_DIMS], place[MUDNN_DIMS], which;
        struct mudnn_tensor packed = dnn_packed(x, MUDNN_DATA_DOUBLE);
        packed.stride[0] = packed.stride[1] = 0;
        for (int64_t i = 0; i < in; i++)
            sum[i] = 0;
        for (int64_t i = plane * out; i < (plane + 1) * out; i++) {
            double count;
            index_of(y, i, index);
            double dy = r->alpha * dnn_get(r->y.at, y->type, dnn_place(y, index));
            if (!is_greatest(r)) {
                mean(r, index, &count);
                for (int64_t tap = 0, taps = taps_of(r); tap < taps; tap++)
                    if (tap_place(r, index, tap, place))
                        sum[dnn_place(&packed, place)] += dy / count;
                continue;
            }
            if (r->index.at)
                which = (int64_t)dnn_get(r->index.at, r->index.t.type, dnn_place(&r->index.t, index));
            else
                greatest(r, &r->old_x, index, &which);
            if (which >= 0 && which < taps_of(r) && tap_place(r, index, which, place))
                sum[dnn_place(&packed, place)] += dy;
        }
        for (int64_t i = 0; i < in; i++) {
            index_of(x, plane * in + i, index);
            int64_t at = dnn_place(x, index);
            double old = r->beta != 0 ? r->beta * dnn_get(r->x.at, x->type, at) : 0;
            dnn_put(r->x.at, x->type, at, sum[i] + old);
        }
    }
    free(sum);
}

static void run_resample(const void *call)
{
    struct mudnn_resample r = *(const struct mudnn_resample *)call;
    dnn_parallel(PARTS, r.backward ? backward_part : forward_part, &r,
                 20.0 * (double)dnn_count(&r.y.t) * (double)taps_of(&r));
}

DNN_EXPORT mudnnStatus_t mudnnHostResample(musaStream_t stream, const struct mudnn_resample *r)
{
    if (r->mode == MUDNN_RESAMPLE_NEAREST || r->mode == MUDNN_RESAMPLE_BILINEAR)
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_resample, r, sizeof *r,
                      20.0 * (double)dnn_count(&r->y.t) * (double)taps_of(r));
}

/* ---- random numbers ---------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood 2014): the counter's step and its mixing. */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static double uniform(uint64_t key, uint64_t counter) { return (double)(mix(key ^ mix(counter)) >> 11) * 0x1p-53; }

static double draw(const struct mudnn_random *r, uint64_t key, uint64_t place)
{
    double u = uniform(key, 2 * place);
    switch (r->distribution) {
    case MUDNN_RNG_DISTRIBUTION_BERNOULLI: return u < r->a;
    case MUDNN_RNG_DISTRIBUTION_UNIFORM: return r->a + (r->b - r->a) * u;
    default: /* Box and Muller's */
        return r->a + r->b * sqrt(-2 * log(1 - u)) * cos(6.28318530717958647692 * uniform(key, 2 * place + 1));
    }
}

static uint64_t word_of(const struct mudnn_operand *o, uint64_t none)
{
    if (!o->at)
        return none;
    return o->t.type == MUDNN_DATA_INT64 ? *(const uint64_t *)o->at : (uint64_t)(int64_t)dnn_get(o->at, o->t.type, 0);
}

static void run_random(const void *call)
{
    const struct mudnn_random *r = call;
    const uint64_t key = mix(word_of(&r->seed, r->fixed)) ^ mix(~word_of(&r->offset, 0));
    int64_t index[MUDNN_DIMS];
    for (int64_t i = 0, n = dnn_count(&r->y.t); i < n; i++) {
        index_of(&r->y.t, i, index);
        dnn_put(r->y.at, r->y.t.type, dnn_place(&r->y.t, index), draw(r, key, r->first + (uint64_t)i));
    }
}

DNN_EXPORT mudnnStatus_t mudnnHostRandom(musaStream_t stream, const struct mudnn_random *r)
{
    if (!dnn_size(r->y.t.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_random, r, sizeof *r, 20.0 * (double)dnn_count(&r->y.t));
}
