/* Spatial transformers (Jaderberg et al. 2015): grids of affine maps, bilinear samples, gradients of both; and the
 * windows of a convolution as rows of a matrix. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

/* Place i of n from -1 to 1; of one alone the middle. */
static double coordinate(int64_t i, int64_t n) { return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : 0; }

static void run_grid(const void *call)
{
    const struct mudnn_grid *g = call;
    for (int64_t n = 0; n < g->batch; n++) {
        double theta[6], sum[6] = {0}, at[2];
        dnn_load(theta, g->theta, g->type, 6 * n, 1, g->backward ? 0 : 6);
        for (int64_t i = 0; i < g->height * g->width; i++) {
            int64_t place = 2 * (n * g->height * g->width + i);
            double x = coordinate(i % g->width, g->width), y = coordinate(i / g->width, g->height);
            if (g->backward)
                dnn_load(at, g->grid, g->type, place, 1, 2);
            for (int k = 0; k < 2; k++) {
                if (g->backward)
                    sum[3 * k] += at[k] * x, sum[3 * k + 1] += at[k] * y, sum[3 * k + 2] += at[k];
                else
                    at[k] = theta[3 * k] * x + theta[3 * k + 1] * y + theta[3 * k + 2];
            }
            if (!g->backward)
                dnn_store(g->grid, at, g->type, place, 1, 2);
        }
        if (g->backward)
            dnn_store(g->theta, sum, g->type, 6 * n, 1, 6);
    }
}
DNN_EXPORT mudnnStatus_t mudnnHostGrid(musaStream_t stream, const struct mudnn_grid *g)
{
    if (!dnn_size(g->type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_grid, g, sizeof *g, 20.0 * (double)(g->batch * g->height * g->width));
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* The four neighbours of a sample: places, weights, and the weights' derivatives by the grid's two numbers. */
struct corners {
    int64_t row[4], column[4];
    double weight[4], by_x[4], by_y[4];
    bool inside[4];
};
static void find_corners(const struct mudnn_sampler *s, const double *at, struct corners *c)
{
    int64_t height = s->x.dim[2], width = s->x.dim[3];
    double to_x = (double)(width - 1) / 2, to_y = (double)(height - 1) / 2;
    double x = (at[0] + 1) * to_x, y = (at[1] + 1) * to_y, left = floor(x), top = floor(y);
    for (int k = 0; k < 4; k++) {
        double column = left + k % 2, row = top + k / 2, u = k % 2 ? x - left : 1 - (x - left),
               v = k / 2 ? y - top : 1 - (y - top);
        c->inside[k] = column >= 0 && column < (double)width && row >= 0 && row < (double)height;
        c->column[k] = c->inside[k] ? (int64_t)column : 0;
        c->row[k] = c->inside[k] ? (int64_t)row : 0;
        c->weight[k] = u * v;
        c->by_x[k] = (k % 2 ? v : -v) * to_x;
        c->by_y[k] = (k / 2 ? u : -u) * to_y;
    }
}

/* One image. */
static void sample_part(void *job, unsigned part)
{
    const struct mudnn_sampler *s = job;
    const int64_t n = part, channels = s->x.dim[1], height = s->y.dim[2], width = s->y.dim[3];
    struct mudnn_tensor image = s->x, packed;
    image.dim[0] = 1;
    packed = dnn_packed(&image, MUDNN_DATA_DOUBLE);
    double *dx = s->backward ? maths_zeroed((size_t)dnn_count(&image), sizeof *dx) : NULL;
    for (int64_t i = 0; (dx || !s->backward) && i < height * width; i++) {
        double at[2], grad[2] = {0, 0};
        struct corners c;
        int64_t place = 2 * (n * height * width + i);
        dnn_load(at, s->grid, s->x.type, place, 1, 2);
        find_corners(s, at, &c);
        for (int64_t channel = 0; channel < channels; channel++) {
            int64_t to = dnn_place(&s->y, (int64_t[MUDNN_DIMS]){n, channel, i / width, i % width});
            double v = 0, dy = s->backward ? dnn_get(s->dy_at, s->y.type, to) : 0;
            for (int k = 0; k < 4; k++) {
                if (!c.inside[k])
                    continue;
                int64_t index[MUDNN_DIMS] = {n, channel, c.row[k], c.column[k]};
                double x = dnn_get(s->x_at, s->x.type, dnn_place(&s->x, index));
                v += c.weight[k] * x;
                grad[0] += dy * c.by_x[k] * x;
                grad[1] += dy * c.by_y[k] * x;
                index[0] = 0;
                if (dx)
                    dx[dnn_place(&packed, index)] += dy * c.weight[k];
            }
            if (!s->backward)
                dnn_put(s->y_at, s->y.type, to,
                        s->alpha * v + (s->beta != 0 ? s->beta * dnn_get(s->y_at, s->y.type, to) : 0));
        }
        for (int k = 0; s->backward && k < 2; k++)
            dnn_put(s->dgrid, s->x.type, place + k,
                    s->alpha_grid * grad[k] +
                        (s->beta_grid != 0 ? s->beta_grid * dnn_get(s->dgrid, s->x.type, place + k) : 0));
    }
    if (dx) {
        struct mudnn_tensor to = s->dx;
        to.dim[0] = 1;
        dnn_blend(&to, (char *)s->dx_at + n * s->dx.stride[0] * (int64_t)dnn_size(to.type), dx, s->alpha, s->beta);
    }
    free(dx);
}
static void run_sampler(const void *call)
{
    struct mudnn_sampler s = *(const struct mudnn_sampler *)call;
    dnn_parallel((unsigned)s.x.dim[0], sample_part, &s, 60.0 * (double)dnn_count(&s.y));
}
DNN_EXPORT mudnnStatus_t mudnnHostSampler(musaStream_t stream, const struct mudnn_sampler *s)
{
    if (!dnn_size(s->x.type) || !dnn_size(s->y.type) || s->x.vector != 1 || s->y.vector != 1)
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_sampler, s, sizeof *s, 60.0 * (double)dnn_count(&s->y));
}

/* ---- windows ----------------------------------------------------------------------------------- */

static void run_im2col(const void *call)
{
    const struct mudnn_im2col *m = call;
    const struct mudnn_convolution *c = &m->c;
    struct mudnn_tensor y = dnn_packed(&c->y, 0), w = dnn_packed(&c->w, 0);
    int64_t places = y.stride[1], taps = w.stride[0], at = 0;
    for (int64_t k = 0; k < taps; k++)
        for (int64_t i = 0; i < c->x.dim[0] * places; i++, at++) {
            int64_t index[MUDNN_DIMS] = {i / places, k / w.stride[1]}, out = i % places, tap = k % w.stride[1];
            bool inside = true;
            for (int d = c->spatial - 1; d >= 0; out /= y.dim[d + 2], tap /= w.dim[d + 2], d--) {
                int64_t t = c->flip ? w.dim[d + 2] - 1 - tap % w.dim[d + 2] : tap % w.dim[d + 2];
                index[d + 2] = out % y.dim[d + 2] * c->stride[d] - c->pad[d] + t * c->dilation[d];
                inside &= index[d + 2] >= 0 && index[d + 2] < c->x.dim[d + 2];
            }
            dnn_put(m->to, c->x.type, at, inside ? dnn_get(m->x_at, c->x.type, dnn_place(&c->x, index)) : 0);
        }
}
DNN_EXPORT mudnnStatus_t mudnnHostIm2col(musaStream_t stream, const struct mudnn_im2col *m)
{
    if (!dnn_size(m->c.x.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    double work = 16.0 * (double)dnn_count(&m->c.w) / (double)m->c.w.dim[0] * (double)dnn_count(&m->c.y);
    return dnn_submit(stream, MATHS_OWN_CODE, run_im2col, m, sizeof *m, work);
}
