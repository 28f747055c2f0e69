/* The layers of drawn programs (programs.c) that compute element by element or with neighbours, and their gradients:
 * op tensor, add, transform, scale, set, activations, softmax, local responses, pooling. */
#ifndef CUMU_TESTS_PROGRAM_ELEMENTS_H
#define CUMU_TESTS_PROGRAM_ELEMENTS_H

#include "program.h"

static int chance; /* one operand in so many is infinite or none */
static double want[ROOM], want2[ROOM];

/* ---- element by element ------------------------------------------------------------------------ */

static void op_tensors(void)
{
    int dim[8], small[2][8], n = draw_dims(dim, 3, 5), which = upto(5);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++)
            small[k][i] = upto(k ? 2 : 5) ? dim[i] : 1;
    const int in_place = upto(4);
    struct operand *x = draw_operand(type, n, in_place == 1 ? dim : small[0], false, chance);
    struct operand *y = draw_operand(type, n, in_place == 2 ? dim : small[1], false, chance);
    struct operand *c = in_place == 1 ? x : in_place == 2 ? y : draw_operand(type, n, dim, false, 0);
    const int compute = type == F64 ? F64 : F32, nan = upto(2);
    factors(compute);
    const double k1 = either(0, 1) ? 1 : 0.5, k2 = either(0, 1) ? 1 : -2;
    const union factor alpha1 = factor_of(compute, k1), alpha2 = factor_of(compute, k2);
    if (c != x && c != y)
        result(c);
    OK(cudnnSetOpTensorDescriptor(op, which, compute, nan));
    if (upto(4) == 0)
        IS(cudnnSetOpTensorDescriptor(op, 6 + upto(9), compute, nan), BAD);
    for (int i = 0; i < count(&c->t); i++) {
        const double u = k1 * x->t.v[served(dim, x->t.dim, n, i)], v = k2 * y->t.v[served(dim, y->t.dim, n, i)];
        const bool none = nan && (isnan(u) || isnan(v));
        const double results[] = {u + v, u * v, none ? NAN : fmin(u, v), none ? NAN : fmax(u, v), sqrt(u)};
        a = 1;
        want[i] = blended(results[which], c, i);
    }
    int r = cudnnOpTensor(handle, op, &alpha1, x->t.desc, x->t.at, &alpha2, which == 4 && upto(2) ? NULL : y->t.desc,
                          y->t.at, &beta, c->t.desc, c->t.at);
    settle(r, c, want, 4, "op tensor");
}

static void moves(void)
{
    int dim[8], small[8], n = draw_dims(dim, 3, 5), which = upto(4);
    for (int i = 0; i < n; i++)
        small[i] = which == 1 || upto(2) ? dim[i] : 1;
    const bool was = mixed;
    mixed = mixed && which != 2;
    struct operand *x = which < 2 ? draw_operand(type, n, small, false, chance) : NULL;
    struct operand *y = draw_operand(type, n, dim, false, which < 2 ? 0 : chance);
    factors(y->t.type);
    if (which < 2)
        result(y);
    char value[8];
    const double v = number(y->t.type);
    put(value, y->t.type, 0, v);
    for (int i = 1; i < vector_of(y->t.type) && i < 8; i++)
        value[i] = value[0];
    for (int i = 0; i < count(&y->t); i++)
        want[i] = which < 2 ? blended(x->t.v[served(dim, small, n, i)], y, i) : which == 2 ? a * y->t.v[i] : v;
    int r = which == 0   ? cudnnAddTensor(handle, &alpha, x->t.desc, x->t.at, &beta, y->t.desc, y->t.at)
            : which == 1 ? cudnnTransformTensor(handle, &alpha, x->t.desc, x->t.at, &beta, y->t.desc, y->t.at)
            : which == 2 ? cudnnScaleTensor(handle, y->t.desc, y->t.at, &alpha)
                         : cudnnSetTensor(handle, y->t.desc, y->t.at, value);
    settle(r, y, want, 2, which == 0 ? "add" : which == 1 ? "transform" : which == 2 ? "scale" : "set");
    mixed = was;
}

static double activate(int mode, double c, double x)
{
    return mode == 0   ? 1 / (1 + exp(-x))
           : mode == 1 ? (x < 0 ? 0 : x)
           : mode == 2 ? tanh(x)
           : mode == 3 ? (x < 0   ? 0
                          : x > c ? c
                                  : x)
           : mode == 4 ? (x > 0 ? x : c * expm1(x))
           : mode == 6 ? x / (1 + exp(-x))
                       : x;
}
static double slope(int mode, double c, double x, double y)
{
    const double s = 1 / (1 + exp(-x));
    return mode == 0   ? y * (1 - y)
           : mode == 1 ? x > 0
           : mode == 2 ? 1 - y * y
           : mode == 3 ? x > 0 && x < c
           : mode == 4 ? (x > 0 ? 1 : c * exp(x))
                       : s + x * s * (1 - s);
}
static void activations(void)
{
    static const double limits[] = {0.75, 1, 6};
    int dim[8], n = draw_dims(dim, 3, 5), mode = upto(6);
    mode = mode == 5 ? 6 : mode;
    const double c = limits[upto(3)];
    OK(cudnnSetActivationDescriptor(act, mode, 1, c));
    if (upto(4) == 0)
        IS(cudnnSetActivationDescriptor(act, 7 + upto(9), 0, 9), BAD);
    struct operand *x = draw_operand(type, n, dim, false, chance);
    struct operand *y = upto(3) ? draw_operand(type, n, dim, false, 0) : x;
    factors(y->t.type);
    if (y != x)
        result(y);
    double *before = malloc(sizeof(double) * (size_t)count(&x->t)); /* where it is in place */
    for (int i = 0; i < count(&x->t); i++) {
        before[i] = x->t.v[i];
        want[i] = a == 0 && !isfinite(before[i]) ? NAN : blended(activate(mode, c, before[i]), y, i);
    }
    const double kept_a = a, kept_b = b;
    if (a == 0) { /* 0 times infinity: what that is depends on when the factor is applied */
        for (int i = 0; i < count(&x->t); i++)
            if (!isfinite(before[i])) {
                free(before);
                return;
            }
    }
    int r = cudnnActivationForward(handle, act, &alpha, x->t.desc, x->t.at, &beta, y->t.desc, y->t.at);
    if (!settle(r, y, want, 2, "activation") || y == x || kept_a != 1 || kept_b != 0) {
        free(before);
        return;
    }
    take(y);
    struct operand *dy = draw_operand(type, n, dim, false, 0);
    struct operand *dx = upto(3) ? draw_operand(type, n, dim, false, 0) : dy;
    factors(dx->t.type);
    if (dx != dy)
        result(dx);
    for (int i = 0; i < count(&x->t); i++) {
        const double v = dy->t.v[i] * slope(mode, c, before[i], y->t.v[i]);
        want[i] = isfinite(before[i]) ? blended(v, dx, i) : 0;
    }
    for (int i = 0; i < count(&x->t); i++)
        if (!isfinite(before[i])) {
            free(before);
            return;
        }
    r = cudnnActivationBackward(handle, act, &alpha, y->t.desc, y->t.at, dy->t.desc, dy->t.at, x->t.desc, x->t.at,
                                &beta, dx->t.desc, dx->t.at);
    settle(r, dx, want, 8, "activation's gradient");
    free(before);
}

static void softmaxes(void)
{
    int dim[8], n = draw_dims(dim, 3, 5), algorithm = upto(3), channel = upto(2), inner = 1;
    struct operand *x = draw_operand(type, n, dim, false, 0), *y = upto(3) ? draw_operand(type, n, dim, false, 0) : x;
    factors(y->t.type);
    if (y != x)
        result(y);
    for (int i = 2; i < n; i++)
        inner *= dim[i];
    const int parts = channel ? dim[0] * inner : dim[0], each = count(&x->t) / parts, step = channel ? inner : 1;
#define AT(p, i) ((channel ? (p) / inner * dim[1] * inner + (p) % inner : (p)*each) + (i)*step)
    for (int p = 0; p < parts; p++) {
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < each; i++)
            most = fmax(most, algorithm ? x->t.v[AT(p, i)] : 0);
        for (int i = 0; i < each; i++)
            sum += exp(x->t.v[AT(p, i)] - most);
        for (int i = 0; i < each; i++) {
            const double v = x->t.v[AT(p, i)] - most;
            want[AT(p, i)] = blended(algorithm == 2 ? v - log(sum) : exp(v) / sum, y, AT(p, i));
        }
    }
    int r = cudnnSoftmaxForward(handle, algorithm, channel, &alpha, x->t.desc, x->t.at, &beta, y->t.desc, y->t.at);
    if (!settle(r, y, want, algorithm == 2 ? 4 : 1, "softmax"))
        return;
    take(y);
    struct operand *dy = draw_operand(type, n, dim, false, 0),
                   *dx = upto(3) ? draw_operand(type, n, dim, false, 0) : dy;
    if (algorithm == 2)
        for (int i = 0; i < count(&y->t); i++)
            if (y->t.v[i] > 10)
                return; /* no logarithm of a probability */
    factors(dx->t.type);
    if (dx != dy)
        result(dx);
    double most = 1;
    for (int p = 0; p < parts; p++) {
        double sum = 0, large = 0;
        for (int i = 0; i < each; i++) {
            sum += algorithm == 2 ? dy->t.v[AT(p, i)] : dy->t.v[AT(p, i)] * y->t.v[AT(p, i)];
            large += fabs(dy->t.v[AT(p, i)]) + fabs(y->t.v[AT(p, i)]);
        }
        for (int i = 0; i < each; i++) {
            const double g = dy->t.v[AT(p, i)], v = y->t.v[AT(p, i)];
            want[AT(p, i)] = blended(algorithm == 2 ? g - exp(v) * sum : v * (g - sum), dx, AT(p, i));
        }
        most = fmax(most, large);
    }
#undef AT
    r = cudnnSoftmaxBackward(handle, algorithm, channel, &alpha, y->t.desc, y->t.at, dy->t.desc, dy->t.at, &beta,
                             dx->t.desc, dx->t.at);
    settle(r, dx, want, most, "softmax's gradient");
}

/* ---- neighbours -------------------------------------------------------------------------------- */

static void lrns(void)
{
    int dim[8], n = draw_dims(dim, 4, 5), window = 1 + upto(7), inner = 1;
    const double la = 0.5, lb = 0.75, lk = 2;
    struct operand *x = draw_operand(type, n, dim, false, 0), *y = draw_operand(type, n, dim, false, 0);
    factors(y->t.type);
    result(y);
    OK(cudnnSetLRNDescriptor(lrn, (unsigned)window, la, lb, lk));
    if (upto(4) == 0)
        IS(cudnnSetLRNDescriptor(lrn, either(0, 17), la, lb, lk), BAD);
    for (int i = 2; i < n; i++)
        inner *= dim[i];
    double *d = malloc(sizeof(double) * (size_t)count(&x->t));
    const int behind = (window - 1) / 2, ahead = window - behind - 1;
    for (int i = 0; i < count(&x->t); i++) {
        const int c = i / inner % dim[1];
        d[i] = lk;
        for (int k = -behind; k <= ahead; k++)
            if (c + k >= 0 && c + k < dim[1])
                d[i] += la / window * x->t.v[i + k * inner] * x->t.v[i + k * inner];
        want[i] = blended(x->t.v[i] * pow(d[i], -lb), y, i);
    }
    int r = cudnnLRNCrossChannelForward(handle, lrn, 0, &alpha, x->t.desc, x->t.at, &beta, y->t.desc, y->t.at);
    if (settle(r, y, want, 2, "local response") && a == 1 && b == 0) {
        take(y);
        struct operand *dy = draw_operand(type, n, dim, false, 0), *dx = draw_operand(type, n, dim, false, 0);
        factors(dx->t.type);
        result(dx);
        for (int i = 0; i < count(&x->t); i++) {
            const int c = i / inner % dim[1];
            double sum = 0;
            for (int k = -ahead; k <= behind; k++) /* of the windows that hold it */
                if (c + k >= 0 && c + k < dim[1]) {
                    const int j = i + k * inner;
                    sum += dy->t.v[j] * x->t.v[j] * pow(d[j], -lb - 1);
                }
            want[i] = blended(dy->t.v[i] * pow(d[i], -lb) - 2 * lb * la / window * x->t.v[i] * sum, dx, i);
        }
        r = cudnnLRNCrossChannelBackward(handle, lrn, 0, &alpha, y->t.desc, y->t.at, dy->t.desc, dy->t.at, x->t.desc,
                                         x->t.at, &beta, dx->t.desc, dx->t.at);
        settle(r, dx, want, 8, "local response's gradient");
    }
    free(d);
}

/* Elements of x in the window of y's element, one by one: -1 behind the last, -2 where it lies outside. */
struct window {
    int n, size[3], pad[3], stride[3], dilation[3], all;
};
static int element_of(const struct window *w, const int *x, const int *y, int place_, int t)
{
    int at = 0, step = 1;
    bool inside = true;
    for (int k = w->n - 1; k >= 0; k--) {
        const int p = place_ % y[k + 2] * w->stride[k] - w->pad[k] + t % w->size[k] * w->dilation[k];
        inside &= p >= 0 && p < x[k + 2];
        at += p * step;
        step *= x[k + 2];
        place_ /= y[k + 2], t /= w->size[k];
    }
    return inside ? at : -1;
}

static void pools(void)
{
    struct window w = {.n = 1 + upto(3), .all = 1, .dilation = {1, 1, 1}};
    int xd[5] = {1 + upto(2), upto(3) ? 1 + upto(5) : 4}, yd[5], mode = upto(4), in = 1, out = 1;
    const bool large = upto(24) == 0;
    w.n = w.n == 1 ? 2 : w.n;
    for (int i = 0; i < w.n; i++) {
        w.size[i] = 1 + upto(4), w.pad[i] = upto(w.size[i]), w.stride[i] = 1 + upto(3);
        xd[i + 2] = w.size[i] + upto(large ? 14 : 5);
        in *= xd[i + 2], w.all *= w.size[i];
    }
    OK(w.n == 2 && upto(2) ? cudnnSetPooling2dDescriptor(pool, mode, 1, w.size[0], w.size[1], w.pad[0], w.pad[1],
                                                         w.stride[0], w.stride[1])
                           : cudnnSetPoolingNdDescriptor(pool, mode, 1, w.n, w.size, w.pad, w.stride));
    if (upto(4) == 0)
        IS(cudnnSetPoolingNdDescriptor(pool, mode, 1, w.n, w.pad, w.pad, (const int[]){-1, 1, 1}), BAD);
    struct operand *x = draw_operand(type, w.n + 2, xd, false, chance);
    OK(cudnnGetPoolingNdForwardOutputDim(pool, x->t.desc, w.n + 2, yd));
    for (int i = 0; i < w.n; i++) {
        IS(yd[i + 2], (xd[i + 2] + 2 * w.pad[i] - w.size[i]) / w.stride[i] + 1);
        out *= yd[i + 2];
    }
    struct operand *y = draw_operand(type, w.n + 2, yd, false, 0);
    struct operand *dy = draw_operand(type, w.n + 2, yd, false, 0), *dx = draw_operand(type, w.n + 2, xd, false, 0);
    factors(y->t.type);
    result(y);
    memset(want2, 0, sizeof(double) * (size_t)count(&x->t));
    const bool max = mode == 0 || mode == 3;
    bool finite = true;
    for (int i = 0; i < count(&y->t); i++) {
        int best = -1, inside = 0;
        double sum = 0;
        for (int t = 0; t < w.all; t++) {
            int at = element_of(&w, xd, yd, i % out, t);
            if (at < 0)
                continue;
            const double v = x->t.v[i / out * in + at];
            finite &= isfinite(v);
            inside++;
            sum += v;
            if (best < 0 || (!isnan(x->t.v[best]) && (isnan(v) || v > x->t.v[best])))
                best = i / out * in + at;
        }
        const int n = mode == 1 ? w.all : inside;
        want[i] = blended(max ? x->t.v[best] : sum / n, y, i);
        for (int t = 0; t < w.all; t++) {
            int at = element_of(&w, xd, yd, i % out, t);
            if (at >= 0 && (!max || i / out * in + at == best))
                want2[i / out * in + at] += dy->t.v[i] / (max ? 1 : n);
        }
    }
    if (a == 0 && !finite)
        return;
    int r = cudnnPoolingForward(handle, pool, &alpha, x->t.desc, x->t.at, &beta, y->t.desc, y->t.at);
    if (!settle(r, y, want, 2, "pooling") || a != 1 || b != 0)
        return;
    take(y);
    factors(dx->t.type);
    result(dx);
    for (int i = 0; i < count(&x->t); i++)
        want[i] = blended(want2[i], dx, i);
    r = cudnnPoolingBackward(handle, pool, &alpha, y->t.desc, y->t.at, dy->t.desc, dy->t.at, x->t.desc, x->t.at, &beta,
                             dx->t.desc, dx->t.at);
    settle(r, dx, want, 4, "pooling's gradient");
}

#endif
