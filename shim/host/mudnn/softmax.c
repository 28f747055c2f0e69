/* Softmax over the channels of each place, or over each image. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

/* Elements of a part: the channels of one place, or all of one image. */
struct part {
    int64_t count;
    int64_t index[MUDNN_DIMS]; /* of the first */
};
static bool by_channel(const struct mudnn_softmax *s) { return s->mode == MUDNN_SOFTMAX_MODE_CHANNEL; }

/* The index of element i of the part. */
static void index_of(const struct mudnn_softmax *s, const struct part *p, int64_t i, int64_t *index)
{
    const struct mudnn_tensor *t = &s->y;
    for (int d = 0; d < t->n; d++)
        index[d] = p->index[d];
    if (by_channel(s)) {
        index[1] = i;
        return;
    }
    for (int d = t->n - 1; d >= 1; i /= t->dim[d], d--)
        index[d] = i % t->dim[d];
}

static void load(double *to, const struct mudnn_softmax *s, const struct part *p, const struct mudnn_tensor *t,
                 const void *at)
{
    for (int64_t i = 0, index[MUDNN_DIMS]; i < p->count; i++) {
        index_of(s, p, i, index);
        to[i] = dnn_get(at, t->type, dnn_place(t, index));
    }
}
static void store(const struct mudnn_softmax *s, const struct part *p, const struct mudnn_tensor *t, const double *from)
{
    for (int64_t i = 0, index[MUDNN_DIMS]; i < p->count; i++) {
        index_of(s, p, i, index);
        int64_t to = dnn_place(t, index);
        double v = s->alpha * from[i];
        if (s->beta != 0)
            v += s->beta * dnn_get(s->out, t->type, to);
        dnn_put(s->out, t->type, to, v);
    }
}

static void forward(const struct mudnn_softmax *s, const struct part *p, double *v)
{
    double most = -INFINITY, sum = 0;
    load(v, s, p, &s->x, s->x_at);
    for (int64_t i = 0; i < p->count && s->algorithm != MUDNN_SOFTMAX_FAST; i++)
        most = v[i] > most ? v[i] : most;
    if (s->algorithm == MUDNN_SOFTMAX_FAST)
        most = 0;
    for (int64_t i = 0; i < p->count; i++) {
        v[i] -= most;
        sum += exp(v[i]);
    }
    for (int64_t i = 0; i < p->count; i++)
        v[i] = s->algorithm == MUDNN_SOFTMAX_LOG ? v[i] - log(sum) : exp(v[i]) / sum;
    store(s, p, &s->y, v);
}

static void backward(const struct mudnn_softmax *s, const struct part *p, double *y, double *dy)
{
    bool logarithm = s->algorithm == MUDNN_SOFTMAX_LOG;
    double sum = 0;
    load(y, s, p, &s->y, s->y_at);
    load(dy, s, p, &s->dy, s->dy_at);
    for (int64_t i = 0; i < p->count; i++)
        sum += logarithm ? dy[i] : y[i] * dy[i];
    for (int64_t i = 0; i < p->count; i++)
        dy[i] = logarithm ? dy[i] - exp(y[i]) * sum : y[i] * (dy[i] - sum);
    store(s, p, &s->x, dy);
}

enum { PARTS = 32 };
static int64_t parts_of(const struct mudnn_softmax *s)
{
    return by_channel(s) ? dnn_count(&s->y) / s->y.dim[1] : s->y.dim[0];
}
static void some(void *job, unsigned part)
{
    const struct mudnn_softmax *s = job;
    const struct mudnn_tensor *t = &s->y;
    int64_t all = parts_of(s), most = dnn_count(t) / all;
    double *v = maths_alloc((size_t)most * 2 * sizeof *v);
    for (int64_t i = all * part / PARTS; v && i < all * (part + 1) / PARTS; i++) {
        struct part p = {most, {0}};
        int64_t rest = i;
        for (int d = t->n - 1; d >= 0 && by_channel(s); d--)
            if (d != 1) {
                p.index[d] = rest % t->dim[d];
                rest /= t->dim[d];
            }
        if (!by_channel(s))
            p.index[0] = i;
        if (s->dy_at)
            backward(s, &p, v, v + most);
        else
            forward(s, &p, v);
    }
    free(v);
}
static void run(const void *call)
{
    struct mudnn_softmax copy = *(const struct mudnn_softmax *)call;
    dnn_parallel(PARTS, some, &copy, 40.0 * (double)dnn_count(&copy.y));
}

static mudnnStatus_t submit(musaStream_t stream, const struct mudnn_softmax *s)
{
    if (!dnn_size(s->x.type) || !dnn_size(s->y.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run, s, sizeof *s, 40.0 * (double)dnn_count(&s->y));
}
DNN_EXPORT mudnnStatus_t mudnnHostSoftmaxForward(musaStream_t stream, const struct mudnn_softmax *s)
{
    return submit(stream, s);
}
DNN_EXPORT mudnnStatus_t mudnnHostSoftmaxBackward(musaStream_t stream, const struct mudnn_softmax *s)
{
    return submit(stream, s);
}
