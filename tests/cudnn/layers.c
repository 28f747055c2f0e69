/* Everything but convolutions, of random shapes, strides and types, against plain loops: activations, sums of tensors,
 * reductions, pooling, softmax, normalisation, dropout. */
#include "dnn.h"

static const int types[] = {F32, F64, F16, BF16};

static int random_dims(int *dim, int least)
{
    int n = least + upto(6 - least);
    for (int i = 0; i < n; i++)
        dim[i] = 1 + upto(5);
    return n;
}

/* ---- element by element ------------------------------------------------------------------------ */

static double act(int mode, double c, double x)
{
    return mode == 0   ? 1 / (1 + exp(-x))
           : mode == 1 ? fmax(x, 0)
           : mode == 2 ? tanh(x)
           : mode == 3 ? fmin(fmax(x, 0), c)
           : mode == 4 ? (x > 0 ? x : c * expm1(x))
                       : x / (1 + exp(-x));
}
static double slope(int mode, double c, double x) /* by its definition, apart from the code's closed forms */
{
    double h = 1e-6;
    if (mode == 1 || mode == 3)
        return x > 0 && (mode == 1 || x < c);
    if (mode == 4)
        return x > 0 ? 1 : c * exp(x);
    return (act(mode, c, x + h) - act(mode, c, x - h)) / (2 * h);
}

static void activations(int type)
{
    int dim[8], n = random_dims(dim, 3), mode = upto(6);
    struct tensor x = make(type, n, dim, NCHW, upto(2), false), y = make(type, n, dim, NCHW, upto(2), false);
    struct tensor dy = make(type, n, dim, NHWC, upto(2), false), dx = make(type, n, dim, NCHW, upto(2), false);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2, c = 0.75, *want = calloc((size_t)count(&x), sizeof *want);
    union scalar alpha = scalar(type, a), beta = scalar(type, b), one = scalar(type, 1), zero = scalar(type, 0);
    void *d;
    if (mode == 5)
        mode = 6;
    OK(cudnnCreateActivationDescriptor(&d));
    OK(cudnnSetActivationDescriptor(d, mode, 0, mode == 1 ? 0 : c));
    for (int i = 0; i < count(&x); i++)
        want[i] = a * act(mode, c, x.v[i]) + b * y.v[i];
    OK(cudnnActivationForward(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 1, "activation");
    OK(cudnnActivationForward(handle, d, &one, x.desc, x.at, &zero, y.desc, y.at));
    for (int i = 0; i < count(&x); i++)
        want[i] = a * dy.v[i] * slope(mode, c, x.v[i]) + b * dx.v[i];
    OK(cudnnActivationBackward(handle, d, &alpha, y.desc, y.at, dy.desc, dy.at, x.desc, x.at, &beta, dx.desc, dx.at));
    OK(cudaDeviceSynchronize());
    /* y in a narrow type is all that derivatives of sigmoid and tanh are made of; the reference's are differences */
    same(&dx, want, type == F64 ? 1e3 : 8, "activation's gradient");
    OK(cudnnDestroyActivationDescriptor(d));
    free(want);
    drop(&x), drop(&y), drop(&dy), drop(&dx);
}

static void sums(int type)
{
    int dim[8], small[8], n = random_dims(dim, 3), op = upto(5);
    for (int i = 0; i < n; i++)
        small[i] = upto(2) ? dim[i] : 1;
    struct tensor a = make(type, n, dim, NCHW, upto(2), false), b = make(type, n, small, NCHW, upto(2), false);
    struct tensor c = make(type, n, dim, NHWC, upto(2), false);
    double k1 = upto(2) ? 1 : 0.5, k2 = upto(2) ? 1 : -2, kb = upto(2) ? 0 : 3,
           *want = calloc((size_t)count(&a), sizeof *want);
    union scalar alpha1 = scalar(type, k1), alpha2 = scalar(type, k2), beta = scalar(type, kb);
    void *d;
    OK(cudnnCreateOpTensorDescriptor(&d));
    OK(cudnnSetOpTensorDescriptor(d, op, type == F64 ? F64 : F32, 0));
    for (int i = 0; i < count(&a); i++) {
        int rest = i, at = 0, step = 1;
        for (int k = n - 1; k >= 0; rest /= dim[k], k--) {
            at += (small[k] == 1 ? 0 : rest % dim[k]) * step;
            step *= small[k];
        }
        double x = k1 * a.v[i], y = k2 * b.v[at];
        double v = op == 0 ? x + y : op == 1 ? x * y : op == 2 ? fmin(x, y) : op == 3 ? fmax(x, y) : sqrt(x);
        want[i] = v + kb * c.v[i];
    }
    OK(cudnnOpTensor(handle, d, &alpha1, a.desc, a.at, &alpha2, b.desc, b.at, &beta, c.desc, c.at));
    OK(cudaDeviceSynchronize());
    same(&c, want, 2, "op tensor");
    OK(cudnnDestroyOpTensorDescriptor(d));
    free(want);
    drop(&a), drop(&b), drop(&c);
}

/* Transform, which converts, and set. */
static void moves(int from, int to)
{
    int dim[8], n = random_dims(dim, 3);
    struct tensor x = make(from, n, dim, NCHW, upto(2), false), y = make(to, n, dim, NHWC, upto(2), false);
    double *want = calloc((size_t)count(&x), sizeof *want);
    union scalar alpha = scalar(to, 0.5), beta = scalar(to, 1);
    for (int i = 0; i < count(&x); i++)
        want[i] = 0.5 * x.v[i] + y.v[i];
    OK(cudnnTransformTensor(handle, &alpha, x.desc, x.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 2, "transform");
    OK(cudnnSetTensor(handle, x.desc, x.at, y.host));
    for (int i = 0; i < count(&x); i++)
        want[i] = get(y.host, from, 0);
    OK(cudaDeviceSynchronize());
    if (from == to)
        same(&x, want, 1, "set");
    free(want);
    drop(&x), drop(&y);
}

/* ---- reductions -------------------------------------------------------------------------------- */

static void reduces(int type)
{
    int dim[8], small[8], n = random_dims(dim, 3), op = upto(9);
    for (int i = 0; i < n; i++)
        small[i] = upto(2) ? dim[i] : 1;
    struct tensor a = make(type, n, dim, NHWC, upto(2), false), c = make(type, n, small, NCHW, upto(2), false);
    double k = upto(2) ? 1 : 0.5, kb = upto(2) ? 0 : 3, *want = calloc((size_t)count(&c), sizeof *want);
    int *first = calloc((size_t)count(&c), sizeof *first), part = count(&a) / count(&c);
    union scalar alpha = scalar(type, k), beta = scalar(type, kb);
    bool extreme = op == 2 || op == 3 || op == 4, places = extreme && upto(2);
    void *d, *indices = NULL;
    size_t size = 0;
    for (int i = 0; i < count(&c); i++) {
        want[i] = op == 1 || op == 8 ? 1 : op == 2 ? INFINITY : op == 3 ? -INFINITY : 0;
        first[i] = 0;
    }
    for (int i = 0; i < count(&a); i++) {
        int rest = i, at = 0, step = 1, within = 0, inner = 1;
        for (int q = n - 1; q >= 0; rest /= dim[q], q--) {
            at += (small[q] == 1 ? 0 : rest % dim[q]) * step;
            step *= small[q];
            within += (small[q] == dim[q] ? 0 : rest % dim[q]) * inner;
            inner *= small[q] == dim[q] ? 1 : dim[q];
        }
        double v = a.v[i], *w = &want[at];
        if (op == 4)
            v = fabs(v);
        if (extreme && (op == 2 ? v < *w : v > *w))
            first[at] = within;
        *w = op == 0 || op == 5   ? *w + v
             : op == 1            ? *w * v
             : op == 2            ? fmin(*w, v)
             : op == 3 || op == 4 ? fmax(*w, v)
             : op == 6            ? *w + fabs(v)
             : op == 7            ? *w + v * v
                                  : *w * (v == 0 ? 1 : v);
    }
    for (int i = 0; i < count(&c); i++)
        want[i] = k * (op == 5 ? want[i] / part : op == 7 ? sqrt(want[i]) : want[i]) + kb * c.v[i];
    OK(cudnnCreateReduceTensorDescriptor(&d));
    OK(cudnnSetReduceTensorDescriptor(d, op, type == F64 ? F64 : F32, 0, places, 0));
    OK(cudnnGetReductionIndicesSize(handle, d, a.desc, c.desc, &size));
    IS(size, places ? 4 * count(&c) : 0);
    if (places)
        MUST(cudaMalloc(&indices, size));
    if (places)
        IS(cudnnReduceTensor(handle, d, indices, size - 1, NULL, 0, &alpha, a.desc, a.at, &beta, c.desc, c.at), BAD);
    OK(cudnnReduceTensor(handle, d, indices, size, NULL, 0, &alpha, a.desc, a.at, &beta, c.desc, c.at));
    OK(cudaDeviceSynchronize());
    if (type == F64 || type == F32 || (op != 1 && op != 8)) /* products of halves leave their range */
        same(&c, want, 2, "reduction");
    if (places) {
        int *got = malloc(size);
        OK(cudaMemcpy(got, indices, size, 2));
        EXPECT(!memcmp(got, first, size), "places of extremes");
        free(got);
    }
    cudaFree(indices);
    OK(cudnnDestroyReduceTensorDescriptor(d));
    free(want);
    free(first);
    drop(&a), drop(&c);
}

/* ---- pooling ----------------------------------------------------------------------------------- */

static void pools(int type)
{
    int n = 2 + (upto(4) == 0), window[3], pad[3], stride[3], xd[5] = {1 + upto(2), 1 + upto(3)}, yd[5], mode = upto(4);
    void *d;
    for (int i = 0; i < n; i++) {
        window[i] = 1 + upto(3);
        pad[i] = upto(window[i]);
        stride[i] = 1 + upto(3);
        xd[i + 2] = window[i] + upto(5);
    }
    OK(cudnnCreatePoolingDescriptor(&d));
    OK(cudnnSetPoolingNdDescriptor(d, mode, 0, n, window, pad, stride));
    struct tensor x = make(type, n + 2, xd, upto(2), upto(2), false);
    OK(cudnnGetPoolingNdForwardOutputDim(d, x.desc, n + 2, yd));
    struct tensor y = make(type, n + 2, yd, upto(2), upto(2), false), dy = make(type, n + 2, yd, NCHW, upto(2), false);
    struct tensor dx = make(type, n + 2, xd, NCHW, upto(2), false);
    double *want = calloc((size_t)count(&y), sizeof *want), *grad = calloc((size_t)count(&x), sizeof *grad);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2;
    union scalar alpha = scalar(type, a), beta = scalar(type, b);
    int in = 1, all = 1;
    for (int i = 0; i < n; i++)
        in *= xd[i + 2], all *= window[i];
    for (int i = 0; i < count(&y); i++) {
        int rest = i, o[3], inside = 0, best = -1;
        double sum = 0;
        for (int k = n - 1; k >= 0; rest /= yd[k + 2], k--)
            o[k] = rest % yd[k + 2];
        for (int pass = 0; pass < 2; pass++)
            for (int t = 0; t < all; t++) {
                int r = t, at = 0, step = 1;
                bool good = true;
                for (int k = n - 1; k >= 0; r /= window[k], k--) {
                    int p = o[k] * stride[k] - pad[k] + r % window[k];
                    good &= p >= 0 && p < xd[k + 2];
                    at += p * step;
                    step *= xd[k + 2];
                }
                if (!good)
                    continue;
                at += rest * in;
                if (!pass) {
                    inside++;
                    sum += x.v[at];
                    if (best < 0 || x.v[at] > x.v[best])
                        best = at;
                } else if (mode == 0 || mode == 3) {
                    grad[at] += at == best ? dy.v[i] : 0;
                } else {
                    grad[at] += dy.v[i] / (mode == 1 ? all : inside);
                }
            }
        want[i] = a * (mode == 0 || mode == 3 ? x.v[best] : sum / (mode == 1 ? all : inside)) + b * y.v[i];
    }
    OK(cudnnPoolingForward(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 2, "pooling");
    for (int i = 0; i < count(&x); i++)
        grad[i] = a * grad[i] + b * dx.v[i];
    OK(cudnnPoolingBackward(handle, d, &alpha, y.desc, y.at, dy.desc, dy.at, x.desc, x.at, &beta, dx.desc, dx.at));
    OK(cudaDeviceSynchronize());
    same(&dx, grad, 2, "pooling's gradient");
    OK(cudnnDestroyPoolingDescriptor(d));
    free(want);
    free(grad);
    drop(&x), drop(&y), drop(&dy), drop(&dx);
}

/* ---- softmax ----------------------------------------------------------------------------------- */

static void softmaxes(int type)
{
    int dim[8], n = random_dims(dim, 4), algorithm = upto(3), channel = upto(2), inner = 1, parts, each;
    struct tensor x = make(type, n, dim, upto(2), upto(2), false), y = make(type, n, dim, upto(2), upto(2), false);
    struct tensor dy = make(type, n, dim, NCHW, upto(2), false), dx = make(type, n, dim, NCHW, upto(2), false);
    double *want = calloc((size_t)count(&x), sizeof *want), *grad = calloc((size_t)count(&x), sizeof *grad);
    union scalar one = scalar(type, 1), zero = scalar(type, 0);
    for (int i = 2; i < n; i++)
        inner *= dim[i];
    parts = channel ? dim[0] * inner : dim[0];
    each = count(&x) / parts;
    for (int p = 0; p < parts; p++) {
        double sum = 0, dot = 0, total = 0;
        int base = channel ? p / inner * dim[1] * inner + p % inner : p * each, step = channel ? inner : 1;
        for (int i = 0; i < each; i++)
            sum += exp(x.v[base + i * step]);
        for (int i = 0; i < each; i++) {
            double s = exp(x.v[base + i * step]) / sum;
            want[base + i * step] = algorithm == 2 ? log(s) : s;
            dot += s * dy.v[base + i * step];
            total += dy.v[base + i * step];
        }
        for (int i = 0; i < each; i++) {
            double s = exp(x.v[base + i * step]) / sum;
            grad[base + i * step] = algorithm == 2 ? dy.v[base + i * step] - s * total
                                                   : s * (dy.v[base + i * step] - dot);
        }
    }
    OK(cudnnSoftmaxForward(handle, algorithm, channel, &one, x.desc, x.at, &zero, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 1, "softmax");
    OK(cudnnSoftmaxBackward(handle, algorithm, channel, &one, y.desc, y.at, dy.desc, dy.at, &zero, dx.desc, dx.at));
    OK(cudaDeviceSynchronize());
    same(&dx, grad, 30, "softmax's gradient");
    free(want);
    free(grad);
    drop(&x), drop(&y), drop(&dy), drop(&dx);
}

/* ---- normalisation ----------------------------------------------------------------------------- */

static void normalises(int type)
{
    int dim[8], sd[8], n = random_dims(dim, 4), mode = upto(3), ops = upto(3), pt = type == F64 ? F64 : F32, inner = 1;
    dim[0] += 1;
    for (int i = 0; i < n; i++)
        sd[i] = i == 1 || (i > 1 && mode == 0) ? dim[i] : 1;
    for (int i = 2; i < n; i++)
        inner *= dim[i];
    /* plain: all of one layout without gaps, which the library below may take as they are */
    bool plain = upto(2), gaps = !plain;
    int layout = upto(2), other = plain ? layout : NCHW;
    struct tensor x = make(type, n, dim, layout, gaps && upto(2), false),
                  y = make(type, n, dim, plain ? layout : upto(2), gaps && upto(2), false);
    struct tensor z = make(type, n, dim, NCHW, upto(2), false), dy = make(type, n, dim, other, gaps && upto(2), false);
    struct tensor dx = make(type, n, dim, other, gaps && upto(2), false), dz = make(type, n, dim, NCHW, false, false);
    struct tensor p[8];
    for (int i = 0; i < 8; i++) /* scale, bias, running mean and variance, saved mean and inverse, gradients */
        p[i] = make(pt, n, sd, NCHW, false, false);
    for (int i = 0; i < count(&p[3]); i++)
        p[3].v[i] = fabs(p[3].v[i]) + 1;
    upload(&p[3]);
    int features = count(&p[0]), all = count(&x), m = all / features;
    double eps = 0.125, factor = 0.25, *want = calloc((size_t)all, 8), *grad = calloc((size_t)all, 8);
    double *stat = calloc((size_t)features * 8, 8), *mean = stat, *var = stat + features, *inv = stat + 2 * features;
    double *run = stat + 3 * features, *runv = stat + 4 * features, *ds = stat + 5 * features,
           *db = stat + 6 * features;
    union scalar one = scalar(type, 1), zero = scalar(type, 0), alpha = scalar(type, plain ? 1 : 0.5);
    union scalar beta = scalar(type, plain ? 0 : 1);
    void *a;
#define FEATURE(i) (mode == 0 ? (i) % (dim[1] * inner) : (i) / inner % dim[1])
    for (int i = 0; i < all; i++)
        mean[FEATURE(i)] += x.v[i] / m;
    for (int i = 0; i < all; i++)
        var[FEATURE(i)] += pow(x.v[i] - mean[FEATURE(i)], 2) / m;
    for (int f = 0; f < features; f++) {
        inv[f] = 1 / sqrt(var[f] + eps);
        run[f] = 0.75 * p[2].v[f] + 0.25 * mean[f];
        runv[f] = 0.75 * p[3].v[f] + 0.25 * var[f] * m / (m > 1 ? m - 1 : 1);
    }
    for (int i = 0; i < all; i++) {
        int f = FEATURE(i);
        double v = p[0].v[f] * (x.v[i] - mean[f]) * inv[f] + p[1].v[f] + (ops == 2 ? z.v[i] : 0);
        want[i] = ops ? fmax(v, 0) : v;
    }
    OK(cudnnCreateActivationDescriptor(&a));
    OK(cudnnSetActivationDescriptor(a, 1, 0, 0));
    OK(cudnnBatchNormalizationForwardTrainingEx(handle, mode, ops, &one, &zero, x.desc, x.at, z.desc, z.at, y.desc,
                                                y.at, p[0].desc, p[0].at, p[1].at, factor, p[2].at, p[3].at, eps,
                                                p[4].at, p[5].at, a, NULL, 0, NULL, 0));
    OK(cudaDeviceSynchronize());
    same(&y, want, 4, "batch normalisation");
    same(&p[2], run, 1, "running mean");
    same(&p[3], runv, 1, "running variance");
    same(&p[4], mean, 1, "saved mean");
    same(&p[5], inv, 1, "saved inverse");
    double *d = calloc((size_t)all, 8);
    download(&y); /* what is 0 but for rounding is open or closed as the forward call said */
    for (int i = 0; i < all; i++) {
        d[i] = ops && y.v[i] <= 0 ? 0 : dy.v[i];
        db[FEATURE(i)] += d[i];
        ds[FEATURE(i)] += d[i] * (x.v[i] - mean[FEATURE(i)]) * inv[FEATURE(i)];
    }
    for (int i = 0; i < all; i++) {
        int f = FEATURE(i);
        grad[i] = (plain ? 1 : 0.5) * p[0].v[f] * inv[f] *
                      (d[i] - db[f] / m - (x.v[i] - mean[f]) * inv[f] * ds[f] / m) +
                  (plain ? 0 : dx.v[i]);
    }
    /* By the forward call's statistics or, without them, by its own; one of the two alone is refused. */
#define BACKWARD(mean, inverse) \
    cudnnBatchNormalizationBackwardEx(handle, mode, ops, &alpha, &beta, &one, &zero, x.desc, x.at, y.desc, y.at, \
                                      dy.desc, dy.at, dz.desc, dz.at, dx.desc, dx.at, p[0].desc, p[0].at, p[1].at, \
                                      p[6].at, p[7].at, eps, mean, inverse, a, NULL, 0, NULL, 0)
    IS(upto(2) ? BACKWARD(p[4].at, NULL) : BACKWARD(NULL, p[5].at), BAD);
    const bool kept = upto(2);
    OK(BACKWARD(kept ? p[4].at : NULL, kept ? p[5].at : NULL));
#undef BACKWARD
    OK(cudaDeviceSynchronize());
    if (type == F32 || type == F64) { /* of halves the result's sign may be lost */
        same(&dx, grad, 8, "batch normalisation's gradient");
        same(&p[6], ds, 8, "scale's gradient");
        same(&p[7], db, 8, "bias's gradient");
    }
    if (ops == 2 && (type == F32 || type == F64))
        same(&dz, d, 1, "z's gradient");
    for (int i = 0; i < all; i++) {
        int f = FEATURE(i);
        want[i] = p[0].v[f] * (x.v[i] - run[f]) / sqrt(runv[f] + eps) + p[1].v[f];
    }
    OK(cudnnBatchNormalizationForwardInference(handle, mode, &one, &zero, x.desc, x.at, y.desc, y.at, p[0].desc,
                                               p[0].at, p[1].at, p[2].at, p[3].at, eps));
    OK(cudaDeviceSynchronize());
    same(&y, want, 4, "inference");
    IS(cudnnBatchNormalizationForwardInference(handle, mode, &one, &zero, x.desc, x.at, y.desc, y.at, x.desc, p[0].at,
                                               p[1].at, p[2].at, p[3].at, eps),
       features == all ? 0 : BAD);
    OK(cudnnDestroyActivationDescriptor(a));
    free(want), free(grad), free(stat), free(d);
    drop(&x), drop(&y), drop(&z), drop(&dy), drop(&dx), drop(&dz);
    for (int i = 0; i < 8; i++)
        drop(&p[i]);
}

/* ---- dropout ----------------------------------------------------------------------------------- */

static void drops(void)
{
    int dim[4] = {4, 8, 16, 16}, kept = 0;
    struct tensor x = make(F32, 4, dim, NCHW, false, false), y = make(F32, 4, dim, NCHW, true, false);
    float one = 1;
    void *d, *state, *mask;
    size_t size = 0, room = 0;
    OK(cudnnCreateDropoutDescriptor(&d));
    OK(cudnnDropoutGetStatesSize(handle, &size));
    OK(cudnnDropoutGetReserveSpaceSize(x.desc, &room));
    MUST(cudaMalloc(&state, size));
    MUST(cudaMalloc(&mask, room));
    OK(cudnnSetDropoutDescriptor(d, handle, 0.25f, state, size, 7));
    OK(cudnnSetTensor(handle, x.desc, x.at, &one));
    OK(cudnnDropoutForward(handle, d, x.desc, x.at, y.desc, y.at, mask, room));
    OK(cudnnDropoutBackward(handle, d, y.desc, y.at, x.desc, x.at, mask, room));
    float *got = malloc(y.size * 4), *back = malloc(x.size * 4);
    OK(cudaMemcpy(got, y.at, y.size * 4, 2));
    OK(cudaMemcpy(back, x.at, x.size * 4, 2));
    for (int i = 0; i < count(&y); i++) {
        float v = got[place(&y, i)];
        kept += v != 0;
        EXPECT(v == 0 || fabsf(v - 4 / 3.0f) < 1e-6f);
        EXPECT(fabsf(back[i] - v * 4 / 3) < 1e-5f);
    }
    EXPECT(fabs(kept / (double)count(&y) - 0.75) < 0.02, "%d kept of %d", kept, count(&y));
    IS(cudnnDropoutForward(handle, d, x.desc, x.at, y.desc, y.at, mask, room - 1), BAD);
    IS(cudnnSetDropoutDescriptor(d, handle, 2, state, size, 7), BAD);
    OK(cudnnDestroyDropoutDescriptor(d));
    cudaFree(state);
    cudaFree(mask);
    free(got);
    free(back);
    drop(&x), drop(&y);
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 160; i++) {
        int type = types[i % 4];
        activations(type);
        sums(type);
        moves(type, types[upto(4)]);
        reduces(type);
        pools(type);
        softmaxes(type);
        normalises(type);
        normalises(F32);
    }
    drops();
    OK(cudnnDestroy(handle));
    return check_end("layers");
}
