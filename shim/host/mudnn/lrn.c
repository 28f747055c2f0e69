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

/* Numbers of the window around each element that lie inside. */
static void count_windows(const struct mudnn_lrn *l, const struct mudnn_tensor *packed, double *v, double *line)
{
    for (int64_t i = 0; i < dnn_count(packed); i++)
        v[i] = 1;
    sum_windows(l, packed, v, false, line);
}

/* The window's denominator with means m, D = k + factor sum of (x - m)^2, and its gradients: with
 * g = dy x D^-b-1, dx = dy D^-b - 2 b factor (x sum of g - sum of g m), dm = 2 b factor g sum of (x - m). NVIDIA's sums
 * those of dx over each element's own window, not over the windows that hold it: where a window is even that is not
 * quite the gradient. */
static void run_means(const struct mudnn_lrn *l, const struct mudnn_tensor *packed, const double *x, const double *dy,
                      double *line)
{
    const size_t n = (size_t)dnn_count(packed);
    double *m = dnn_read(&l->x, l->means_at), *v = maths_alloc(4 * n * sizeof *v);
    if (m && v) {
        double *sum = v, *square = v + n, *inside = v + 2 * n, *g = v + 3 * n;
        for (size_t i = 0; i < n; i++) {
            sum[i] = x[i];
            square[i] = x[i] * x[i];
        }
        sum_windows(l, packed, sum, false, line);
        sum_windows(l, packed, square, false, line);
        count_windows(l, packed, inside, line);
        for (size_t i = 0; i < n; i++) {
            square[i] = l->k + l->factor * (square[i] - 2 * m[i] * sum[i] + inside[i] * m[i] * m[i]);
            sum[i] -= inside[i] * m[i];
        }
        if (dy) {
            for (size_t i = 0; i < n; i++) {
                g[i] = dy[i] * x[i] * pow(square[i], -l->exponent - 1);
                sum[i] *= 2 * l->exponent * l->factor * g[i];
                inside[i] = g[i] * m[i];
            }
            if (l->dmeans_at)
                dnn_blend(&l->out, l->dmeans_at, sum, l->alpha, l->beta);
            sum_windows(l, packed, g, false, line);
            sum_windows(l, packed, inside, false, line);
        }
        for (size_t i = 0; i < n; i++) {
            double scale = pow(square[i], -l->exponent);
            sum[i] = dy ? dy[i] * scale - 2 * l->exponent * l->factor * (x[i] * g[i] - inside[i]) : x[i] * scale;
        }
        dnn_blend(&l->out, l->out_at, sum, l->alpha, l->beta);
    }
    free(m);
    free(v);
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
    if (l->means_at && x && line && (!l->dy_at || dy)) {
        run_means(l, &packed, x, dy, line);
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
    double window = (double)(l->behind + l->ahead + 1) * (l->spatial ? l->x.n - 2 : 1);
    return dnn_submit(stream, MATHS_OWN_CODE, run, l, sizeof *l, (60 + 2 * window) * (double)dnn_count(&l->x));
}
