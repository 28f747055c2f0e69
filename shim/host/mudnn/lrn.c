/* Local response normalisation, across channels and within them. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

/* Sums over windows of one dimension of packed numbers, in place. `line` is as long as the dimension. */
static void sum_dimension(double *v, const struct mudnn_tensor *t, int d, int64_t behind, int64_t ahead, double *line)
{
    int64_t step = t->stride[d], length = t->dim[d], all = dnn_count(t);
    for (int64_t first = 0; first < all; first++) {
        if (first / step % length != 0)
            continue;
        for (int64_t i = 0; i < length; i++)
            line[i] = v[first + i * step];
        for (int64_t i = 0; i < length; i++) {
            int64_t from = i < behind ? 0 : i - behind, to = i + ahead < length ? i + ahead : length - 1;
            double sum = 0;
            for (int64_t k = from; k <= to; k++)
                sum += line[k];
            v[first + i * step] = sum;
        }
    }
}
static void sum_windows(const struct mudnn_lrn *l, const struct mudnn_tensor *packed, double *v, bool reverse,
                        double *line)
{
    int from = l->spatial ? 2 : 1, to = l->spatial ? packed->n : 2;
    for (int d = from; d < to; d++)
        sum_dimension(v, packed, d, reverse ? l->ahead : l->behind, reverse ? l->behind : l->ahead, line);
}

/* Over the window of element i, with means m: the sums of x - m_i and of its square, and of g (x_i - m). Each is summed
 * by itself: of differences of the windows' sums no digits are left where x is far from 0. g may be NULL. */
struct deviations {
    double sum, square, back;
};
static struct deviations deviate(const struct mudnn_lrn *l, const struct mudnn_tensor *packed, const double *x,
                                 const double *m, const double *g, int64_t i)
{
    int64_t from[3] = {0}, to[3] = {0}, step[3] = {0}, first = i;
    struct deviations d = {0, 0, 0};
    for (int k = 2; k < packed->n; k++) {
        const int64_t length = packed->dim[k], at = i / packed->stride[k] % length;
        from[k - 2] = at < l->behind ? 0 : at - l->behind;
        to[k - 2] = at + l->ahead < length ? at + l->ahead : length - 1;
        step[k - 2] = packed->stride[k];
        first -= at * packed->stride[k];
    }
    for (int64_t u = from[0]; u <= to[0]; u++)
        for (int64_t v = from[1]; v <= to[1]; v++)
            for (int64_t w = from[2]; w <= to[2]; w++) {
                const int64_t j = first + u * step[0] + v * step[1] + w * step[2];
                const double far = x[j] - m[i];
                d.sum += far;
                d.square += far * far;
                d.back += g ? g[j] * (x[i] - m[j]) : 0;
            }
    return d;
}

/* The window's denominator with means m, D = k + factor sum of (x - m)^2, and its gradients: with
 * g = 2 b factor dy x D^-b-1, dx = dy D^-b - sum of g (x - m), dm = g sum of (x - m). NVIDIA's sums those of dx over
 * each element's own window, not over the windows that hold it: where a window is even that is not quite the
 * gradient. */
static void run_means(const struct mudnn_lrn *l, const struct mudnn_tensor *packed, const double *x, const double *dy)
{
    const int64_t n = dnn_count(packed);
    double *m = dnn_read(&l->x, l->means_at), *out = maths_alloc(3 * (size_t)n * sizeof *out);
    if (m && out) {
        double *scale = out + n, *g = scale + n;
        for (int64_t i = 0; i < n; i++) {
            const struct deviations d = deviate(l, packed, x, m, NULL, i);
            const double denominator = l->k + l->factor * d.square;
            scale[i] = pow(denominator, -l->exponent);
            g[i] = dy ? 2 * l->exponent * l->factor * dy[i] * x[i] * scale[i] / denominator : 0;
            out[i] = dy ? g[i] * d.sum : x[i] * scale[i];
        }
        if (dy && l->dmeans_at)
            dnn_blend(&l->out, l->dmeans_at, out, l->alpha, l->beta);
        for (int64_t i = 0; dy && i < n; i++)
            out[i] = dy[i] * scale[i] - deviate(l, packed, x, m, g, i).back;
        dnn_blend(&l->out, l->out_at, out, l->alpha, l->beta);
    }
    free(m);
    free(out);
}

/* D is the window's denominator before its exponent. With y_j = x_j D_j^-b:
 * dx_i = dy_i D_i^-b - 2 b factor x_i (sum over the windows j that hold i of dy_j y_j / D_j); of spatial windows over
 * the window of i, see above. */
static void run(const void *call)
{
    const struct mudnn_lrn *l = call;
    struct mudnn_tensor packed = dnn_packed(&l->x, MUDNN_DATA_DOUBLE);
    int64_t n = dnn_count(&l->x), longest = 1;
    for (int d = 1; d < packed.n; d++)
        longest = packed.dim[d] > longest ? packed.dim[d] : longest;
    double *x = dnn_read(&l->x, l->x_at), *dy = l->dy_at ? dnn_read(&l->dy, l->dy_at) : NULL;
    double *sum = maths_alloc((size_t)n * sizeof *sum), *line = maths_alloc((size_t)longest * sizeof *line);
    double *back = l->dy_at ? maths_alloc((size_t)n * sizeof *back) : NULL;
    if (l->means_at && x && (!l->dy_at || dy)) {
        run_means(l, &packed, x, dy);
    } else if (x && sum && line && (!l->dy_at || (dy && back))) {
        for (int64_t i = 0; i < n; i++)
            sum[i] = x[i] * x[i];
        sum_windows(l, &packed, sum, false, line);
        for (int64_t i = 0; i < n; i++)
            sum[i] = l->k + l->factor * sum[i];
        for (int64_t i = 0; back && i < n; i++)
            back[i] = dy[i] * x[i] * pow(sum[i], -l->exponent - 1);
        if (back)
            sum_windows(l, &packed, back, !l->spatial, line);
        for (int64_t i = 0; i < n; i++) {
            double scale = pow(sum[i], -l->exponent);
            sum[i] = back ? dy[i] * scale - 2 * l->exponent * l->factor * x[i] * back[i] : x[i] * scale;
        }
        dnn_blend(&l->out, l->out_at, sum, l->alpha, l->beta);
    }
    free(x);
    free(dy);
    free(sum);
    free(line);
    free(back);
}

DNN_EXPORT mudnnStatus_t mudnnHostLrn(musaStream_t stream, const struct mudnn_lrn *l)
{
    if (!dnn_size(l->x.type) || !dnn_size(l->out.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    const double side = (double)(l->behind + l->ahead + 1);
    const double window = l->means_at ? pow(side, l->x.n - 2) : side * (l->spatial ? l->x.n - 2 : 1);
    return dnn_submit(stream, MATHS_OWN_CODE, run, l, sizeof *l, (60 + 2 * window) * (double)dnn_count(&l->x));
}
