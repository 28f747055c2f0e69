/* Local response normalisation across channels and of windows of an image, the latter with means, too: against plain
 * loops and their differences. */
#include "dnn.h"

/* ---- local response ---------------------------------------------------------------------------- */

struct window {
    bool spatial;
    int n;
    double alpha, beta, k;
};
static void lrn_loops(const struct window *w, const struct tensor *t, const double *x, double *y)
{
    int behind = (w->n - 1) / 2, from = w->spatial ? 2 : 1, to = w->spatial ? t->n : 2;
    for (int i = 0; i < count(t); i++) {
        double sum = 0, size = 1;
        for (int d = from; d < to; d++)
            size *= w->n;
        for (int j = 0; j < count(t); j++) {
            int a = i, b = j;
            bool in = true;
            for (int d = t->n - 1; d >= 0; a /= t->dim[d], b /= t->dim[d], d--) {
                int far = b % t->dim[d] - a % t->dim[d];
                in &= d < from || d >= to ? !far : far >= -behind && far < w->n - behind;
            }
            sum += in ? x[j] * x[j] : 0;
        }
        y[i] = x[i] * pow(w->k + w->alpha / size * sum, -w->beta);
    }
}

static void lrn(int type)
{
    int n = 4 + upto(2), dim[5];
    for (int i = 0; i < n; i++)
        dim[i] = 1 + upto(i == 1 ? 7 : 3);
    struct tensor x = make(type, n, dim, upto(2), upto(2), false), y = make(type, n, dim, NCHW, upto(2), false);
    struct tensor dy = make(type, n, dim, NCHW, upto(2), false), dx = make(type, n, dim, NCHW, upto(2), false);
    struct window w = {upto(2), 1 + upto(5), 0.5 + upto(3), 0.25 * (1 + upto(4)), 1 + upto(2)};
    int all = count(&x);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2;
    double *plain = calloc((size_t)all, sizeof *plain), *want = calloc((size_t)all, sizeof *want);
    union scalar alpha = scalar(type, a), beta = scalar(type, b), one = scalar(type, 1), zero = scalar(type, 0);
    void *d;
    OK(cudnnCreateLRNDescriptor(&d));
    IS(cudnnSetLRNDescriptor(d, 17, 1, 1, 1), BAD);
    IS(cudnnSetLRNDescriptor(d, 3, 1, 1, 1e-6), BAD);
    OK(cudnnSetLRNDescriptor(d, (unsigned)w.n, w.alpha, w.beta, w.k));
    lrn_loops(&w, &x, x.v, plain);
    for (int i = 0; i < all; i++)
        want[i] = a * plain[i] + b * y.v[i];
#define FORWARD(alpha, beta) \
    OK(w.spatial ? cudnnDivisiveNormalizationForward(handle, d, 0, alpha, x.desc, x.at, NULL, dx.at, dy.at, beta, \
                                                     y.desc, y.at) \
                 : cudnnLRNCrossChannelForward(handle, d, 0, alpha, x.desc, x.at, beta, y.desc, y.at))
    FORWARD(&alpha, &beta);
    OK(cudaDeviceSynchronize());
    same(&y, want, 2, "local response");
    FORWARD(&one, &zero);
    OK(w.spatial ? cudnnDivisiveNormalizationBackward(handle, d, 0, &alpha, x.desc, x.at, NULL, dy.at, y.at, y.at,
                                                      &beta, dx.desc, dx.at, NULL)
                 : cudnnLRNCrossChannelBackward(handle, d, 0, &alpha, y.desc, y.at, dy.desc, dy.at, x.desc, x.at, &beta,
                                                dx.desc, dx.at));
    if (type == F64 && (!w.spatial || (w.n % 2 && !memcmp(dy.stride, x.stride, sizeof dy.stride)))) {
        for (int i = 0; i < all; i++) {
            double old = x.v[i], loss[2] = {0, 0};
            for (int s = 0; s < 2; s++) {
                x.v[i] = old + (s ? 1e-5 : -1e-5);
                lrn_loops(&w, &x, x.v, plain);
                for (int j = 0; j < all; j++)
                    loss[s] += plain[j] * dy.v[j];
            }
            x.v[i] = old;
            want[i] = a * (loss[1] - loss[0]) / 2e-5 + b * dx.v[i];
        }
        OK(cudaDeviceSynchronize());
        same(&dx, want, 1e3, "local response's gradient");
    }
    OK(cudnnDestroyLRNDescriptor(d));
    free(plain), free(want);
    drop(&x), drop(&y), drop(&dy), drop(&dx);
}

/* With means. (i, j): is j in i's window? */
static bool in_window(const struct tensor *t, int n, int i, int j)
{
    bool in = true;
    for (int d = t->n - 1; d >= 0; i /= t->dim[d], j /= t->dim[d], d--) {
        int far = j % t->dim[d] - i % t->dim[d];
        in &= d < 2 ? !far : far >= -(n - 1) / 2 && far < n - (n - 1) / 2;
    }
    return in;
}
static double denominator(const struct window *w, const struct tensor *t, const double *x, const double *m, int i)
{
    double sum = 0, size = 1;
    for (int d = 2; d < t->n; d++)
        size *= w->n;
    for (int j = 0; j < count(t); j++)
        sum += in_window(t, w->n, i, j) ? (x[j] - m[i]) * (x[j] - m[i]) : 0;
    return w->k + w->alpha / size * sum;
}
static double divisive_loss(const struct window *w, const struct tensor *t, const double *m, const double *dy)
{
    double loss = 0;
    for (int i = 0; i < count(t); i++)
        loss += dy[i] * t->v[i] * pow(denominator(w, t, t->v, m, i), -w->beta);
    return loss;
}
/* The gradients by their formulas; those of x are summed over its own windows, which by differences is right for odd
 * ones alone. */
static void divisive(int type)
{
    int n = 4 + upto(2), dim[5], format = upto(2);
    for (int i = 0; i < n; i++)
        dim[i] = 1 + upto(i == 1 ? 2 : 4);
    struct tensor x = make(type, n, dim, format, false, false), m = make(type, n, dim, format, false, false);
    struct tensor dy = make(type, n, dim, format, false, false), y = make(type, n, dim, NCHW, upto(2), false);
    struct tensor dx = make(type, n, dim, NCHW, false, false), dm = make(type, n, dim, NCHW, false, false);
    struct tensor temp = make(type, n, dim, format, false, false);
    struct window w = {true, 1 + upto(4), 0.5 + upto(3), 0.25 * (1 + upto(4)), 1 + upto(2)};
    int all = count(&x);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2, size = 1;
    double *want = calloc((size_t)all, sizeof *want), *g = calloc((size_t)all, sizeof *g);
    union scalar alpha = scalar(type, a), beta = scalar(type, b);
    bool wants_means = upto(2);
    void *d;
    OK(cudnnCreateLRNDescriptor(&d));
    OK(cudnnSetLRNDescriptor(d, (unsigned)w.n, w.alpha, w.beta, w.k));
    OK(cudnnDivisiveNormalizationForward(handle, d, 0, &alpha, x.desc, x.at, m.at, temp.at, temp.at, &beta, y.desc,
                                         y.at));
    OK(cudnnDivisiveNormalizationBackward(handle, d, 0, &alpha, x.desc, x.at, m.at, dy.at, temp.at, temp.at, &beta,
                                          dx.desc, dx.at, wants_means ? dm.at : NULL));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < all; i++)
        want[i] = a * x.v[i] * pow(denominator(&w, &x, x.v, m.v, i), -w.beta) + b * y.v[i];
    same(&y, want, 5, "divisive normalisation");
    for (int i = 2; i < n; i++)
        size *= w.n;
    for (int i = 0; i < all; i++)
        g[i] = 2 * w.beta * w.alpha / size * dy.v[i] * x.v[i] * pow(denominator(&w, &x, x.v, m.v, i), -w.beta - 1);
    for (int i = 0; i < all; i++) {
        double sum = dy.v[i] * pow(denominator(&w, &x, x.v, m.v, i), -w.beta);
        for (int j = 0; j < all; j++)
            sum -= in_window(&x, w.n, i, j) ? g[j] * (x.v[i] - m.v[j]) : 0;
        want[i] = a * sum + b * dx.v[i];
        if (type == F64 && w.n % 2) {
            double old = x.v[i], loss[2];
            for (int s = 0; s < 2; s++) {
                x.v[i] = old + (s ? 1e-5 : -1e-5);
                loss[s] = divisive_loss(&w, &x, m.v, dy.v);
            }
            x.v[i] = old;
            EXPECT(fabs((loss[1] - loss[0]) / 2e-5 - sum) < 1e-6 * (1 + fabs(sum)), "the test's own gradient");
        }
    }
    same(&dx, want, 50, "divisive normalisation's gradient");
    for (int i = 0; i < all; i++) {
        double sum = 0;
        for (int j = 0; j < all; j++)
            sum += in_window(&x, w.n, i, j) ? g[i] * (x.v[j] - m.v[i]) : 0;
        want[i] = wants_means ? a * sum + b * dm.v[i] : dm.v[i];
    }
    same(&dm, want, 50, "the means' gradient");
    IS(cudnnDivisiveNormalizationBackward(handle, d, 0, &alpha, x.desc, x.at, NULL, dy.at, temp.at, temp.at, &beta,
                                          dx.desc, dx.at, dm.at),
       BAD); /* of no means */
    OK(cudnnDestroyLRNDescriptor(d));
    free(want), free(g);
    drop(&x), drop(&m), drop(&dy), drop(&y), drop(&dx), drop(&dm), drop(&temp);
}

int main(void)
{
    static const int types[] = {F32, F64, F16, BF16};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 120; i++) {
        lrn(types[i % 4]);
        divisive(types[i % 4]);
    }
    OK(cudnnDestroy(handle));
    return check_end("local responses");
}
