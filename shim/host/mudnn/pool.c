/* Pooling and softmax. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

/* The part of a window that lies in x, along one dimension. */
struct span {
    int64_t from, to;
};
static struct span span_of(const struct mudnn_pooling *p, int i, int64_t place)
{
    int64_t from = place * p->stride[i] - p->pad[i], to = from + p->window[i], most = p->x.dim[i + 2];
    return (struct span){from < 0 ? 0 : from, to > most ? most : to};
}

/* What is done for each element of a window: the places in x and dx. */
struct window {
    const struct mudnn_pooling *p;
    double *grad;  /* of dx, packed: one image and channel; backward only */
    int64_t image; /* its first place in x */
    double sum, value, share;
    int64_t best;
    int64_t packed[MUDNN_DIMS];
};
static bool is_max(const struct mudnn_pooling *p)
{
    return p->mode == MUDNN_POOLING_MAX || p->mode == MUDNN_POOLING_MAX_DETERMINISTIC;
}

/* Elements of the window in order; `visit` gets the place in x and the place in a packed image. */
static void each(struct window *w, const struct span *s, int i, int64_t at, int64_t packed,
                 void (*visit)(struct window *w, int64_t at, int64_t packed))
{
    const struct mudnn_pooling *p = w->p;
    if (i == p->spatial || i + 2 == MUDNN_DIMS) { /* the latter for gcc 10, which unrolls this and warns */
        visit(w, at, packed);
        return;
    }
    for (int64_t k = s[i].from; k < s[i].to; k++)
        each(w, s, i + 1, at + k * p->x.stride[i + 2], packed + k * w->packed[i], visit);
}
static void add(struct window *w, int64_t at, int64_t packed)
{
    double v = dnn_get(w->p->x_at, w->p->x.type, at);
    (void)packed;
    w->sum += v;
}
static void greatest(struct window *w, int64_t at, int64_t packed)
{
    double v = dnn_get(w->p->x_at, w->p->x.type, at);
    if (w->best < 0 || v > w->value || (w->p->nan && v != v && w->value == w->value) ||
        (!w->p->nan && w->value != w->value)) {
        w->value = v;
        w->best = packed;
    }
}
static void spread(struct window *w, int64_t at, int64_t packed)
{
    (void)at;
    w->grad[packed] += w->share;
}

/* The divisor of an average: the whole window where padding counts, else the part that lies in x. */
static double divisor(const struct mudnn_pooling *p, const struct span *s)
{
    double n = 1;
    for (int i = 0; i < p->spatial; i++)
        n *= p->mode == MUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? (double)p->window[i]
                                                                    : (double)(s[i].to - s[i].from);
    return n;
}

/* One image and channel. */
static void forward_part(void *job, unsigned part)
{
    const struct mudnn_pooling *p = job;
    struct mudnn_tensor y = dnn_packed(&p->y, 0);
    int64_t outer[2] = {part / p->x.dim[1], part % p->x.dim[1]}, count = y.stride[1];
    int64_t image[MUDNN_DIMS] = {outer[0], outer[1]};
    struct window w = {.p = p, .image = dnn_place(&p->x, image)};
    for (int64_t i = 0; i < count; i++) {
        struct span s[MUDNN_DIMS];
        int64_t index[MUDNN_DIMS] = {outer[0], outer[1]}, rest = i;
        for (int d = p->spatial - 1; d >= 0; d--) {
            index[d + 2] = rest % y.dim[d + 2];
            rest /= y.dim[d + 2];
            s[d] = span_of(p, d, index[d + 2]);
        }
        w.sum = 0, w.best = -1, w.value = 0;
        each(&w, s, 0, w.image, 0, is_max(p) ? greatest : add);
        int64_t to = dnn_place(&p->y, index);
        double v = p->alpha * (is_max(p) ? w.value : w.sum / divisor(p, s));
        if (p->beta != 0)
            v += p->beta * dnn_get(p->out, p->y.type, to);
        dnn_put(p->out, p->y.type, to, v);
    }
}

static void backward_part(void *job, unsigned part)
{
    const struct mudnn_pooling *p = job;
    struct mudnn_tensor y = dnn_packed(&p->dy, 0), x = dnn_packed(&p->x, 0);
    int64_t outer[2] = {part / p->x.dim[1], part % p->x.dim[1]}, count = y.stride[1], in = x.stride[1];
    int64_t image[MUDNN_DIMS] = {outer[0], outer[1]};
    struct window w = {.p = p, .image = dnn_place(&p->x, image), .grad = maths_zeroed((size_t)in, sizeof *w.grad)};
    if (!w.grad)
        return;
    for (int d = 0; d < p->spatial; d++)
        w.packed[d] = x.stride[d + 2];
    for (int64_t i = 0; i < count; i++) {
        struct span s[MUDNN_DIMS];
        int64_t index[MUDNN_DIMS] = {outer[0], outer[1]}, rest = i;
        for (int d = p->spatial - 1; d >= 0; d--) {
            index[d + 2] = rest % y.dim[d + 2];
            rest /= y.dim[d + 2];
            s[d] = span_of(p, d, index[d + 2]);
        }
        double dy = dnn_get(p->dy_at, p->dy.type, dnn_place(&p->dy, index));
        w.best = -1, w.value = 0;
        if (is_max(p)) {
            each(&w, s, 0, w.image, 0, greatest);
            if (w.best >= 0)
                w.grad[w.best] += dy;
        } else {
            w.share = dy / divisor(p, s);
            each(&w, s, 0, 0, 0, spread);
        }
    }
    for (int64_t i = 0; i < in; i++) {
        int64_t index[MUDNN_DIMS] = {outer[0], outer[1]}, rest = i;
        for (int d = p->spatial - 1; d >= 0; d--) {
            index[d + 2] = rest % x.dim[d + 2];
            rest /= x.dim[d + 2];
        }
        int64_t to = dnn_place(&p->dx, index);
        double v = p->alpha * w.grad[i];
        if (p->beta != 0)
            v += p->beta * dnn_get(p->out, p->dx.type, to);
        dnn_put(p->out, p->dx.type, to, v);
    }
    free(w.grad);
}

static double work_of(const struct mudnn_pooling *p)
{
    double n = 8 * (double)dnn_count(&p->y);
    for (int i = 0; i < p->spatial; i++)
        n *= (double)p->window[i];
    return n + 8 * (double)dnn_count(&p->x);
}

static void run_forward(const void *call)
{
    const struct mudnn_pooling *p = call;
    struct mudnn_pooling copy = *p;
    dnn_parallel((unsigned)(p->x.dim[0] * p->x.dim[1]), forward_part, &copy, work_of(p));
}
static void run_backward(const void *call)
{
    struct mudnn_pooling copy = *(const struct mudnn_pooling *)call;
    dnn_parallel((unsigned)(copy.x.dim[0] * copy.x.dim[1]), backward_part, &copy, work_of(&copy));
}

DNN_EXPORT mudnnStatus_t mudnnHostPoolingForward(musaStream_t stream, const struct mudnn_pooling *p)
{
    if (!dnn_size(p->x.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_forward, p, sizeof *p, work_of(p));
}
DNN_EXPORT mudnnStatus_t mudnnHostPoolingBackward(musaStream_t stream, const struct mudnn_pooling *p)
{
    if (!dnn_size(p->x.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_backward, p, sizeof *p, work_of(p));
}
