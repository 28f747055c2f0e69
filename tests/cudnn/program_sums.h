/* The layers of drawn programs (programs.c) that sum: convolutions in all directions, reductions, batch normalisation;
 * and dropout. */
#ifndef CUMU_TESTS_PROGRAM_SUMS_H
#define CUMU_TESTS_PROGRAM_SUMS_H

#include "program_elements.h"

/* ---- convolutions ------------------------------------------------------------------------------ */

struct shape {
    struct window w;
    int groups, turned, x[5], f[5], y[5];
};
static void draw_shape(struct shape *s, int vector)
{
    const bool large = upto(16) == 0;
    *s = (struct shape){.w = {.n = upto(4) ? 2 : either(1, 3), .all = 1}, .groups = upto(3) ? 1 : 1 + upto(4)};
    s->turned = upto(4) == 0;
    s->x[0] = s->y[0] = 1 + upto(3);
    s->f[1] = vector > 1 ? vector : large ? 16 * (1 + upto(2)) : 1 + upto(6);
    if (upto(6) == 0 && vector == 1)
        s->groups = 2 + upto(8), s->f[1] = 1; /* depth-wise */
    s->x[1] = s->f[1] * s->groups;
    s->f[0] = s->y[1] = (vector > 1 ? vector : large ? 16 : 1 + upto(6)) * s->groups;
    for (int i = 0; i < s->w.n; i++) {
        s->f[i + 2] = s->w.size[i] = 1 + upto(s->w.n == 3 ? 3 : 5);
        s->w.dilation[i] = vector > 1 ? 1 : 1 + upto(upto(2) ? 1 : 3);
        s->w.stride[i] = 1 + upto(upto(2) ? 1 : 3);
        s->w.pad[i] = upto(4);
        s->w.all *= s->w.size[i];
        int least = (s->w.size[i] - 1) * s->w.dilation[i] + 1 - 2 * s->w.pad[i];
        s->x[i + 2] = (least > 1 ? least : 1) + upto(large && s->w.n < 3 ? 12 : 5);
        s->y[i + 2] = (s->x[i + 2] + 2 * s->w.pad[i] - (s->w.size[i] - 1) * s->w.dilation[i] - 1) / s->w.stride[i] + 1;
    }
    /* numbers of what is computed, which is not the type's */
    OK(s->w.n == 2 && upto(2)
           ? cudnnSetConvolution2dDescriptor(conv, s->w.pad[0], s->w.pad[1], s->w.stride[0], s->w.stride[1],
                                             s->w.dilation[0], s->w.dilation[1], !s->turned,
                                             type == I8 || vector > 1 ? I32
                                             : type == F64            ? F64
                                                                      : F32)
           : cudnnSetConvolutionNdDescriptor(conv, s->w.n, s->w.pad, s->w.stride, s->w.dilation, !s->turned,
                                             type == I8 || vector > 1 ? I32
                                             : type == F64            ? F64
                                                                      : F32));
    OK(cudnnSetConvolutionGroupCount(conv, s->groups));
    OK(cudnnSetConvolutionMathType(conv, upto(4)));
    if (upto(4) == 0) {
        IS(cudnnSetConvolutionGroupCount(conv, -upto(3)), BAD);
        IS(cudnnSetConvolutionNdDescriptor(conv, s->w.n, s->w.pad, (const int[]){0, 0, 0}, s->w.dilation, 1, F32), BAD);
        IS(cudnnSetConvolutionMathType(conv, 4 + upto(9)), BAD);
    }
}
/* way 0: y of x and w; 1: x of y and w; 2: w of x and y. */
static void convolve(const struct shape *s, int way, const double *x, const double *f, const double *y, double *out)
{
    int in = 1, places = 1;
    for (int i = 0; i < s->w.n; i++)
        in *= s->x[i + 2], places *= s->y[i + 2];
    const int maps = s->f[0] / s->groups;
    for (int n = 0; n < s->x[0]; n++)
        for (int k = 0; k < s->f[0]; k++)
            for (int p = 0; p < places; p++)
                for (int t = 0; t < s->w.all; t++) {
                    const int at = element_of(&s->w, s->x, s->y, p, t);
                    for (int c = 0; at >= 0 && c < s->f[1]; c++) {
                        const int xi = (n * s->x[1] + k / maps * s->f[1] + c) * in + at;
                        const int fi = (k * s->f[1] + c) * s->w.all + (s->turned ? s->w.all - 1 - t : t);
                        const int yi = (n * s->f[0] + k) * places + p;
                        if (way == 0)
                            out[yi] += x[xi] * f[fi];
                        else if (way == 1)
                            out[xi] += y[yi] * f[fi];
                        else
                            out[fi] += y[yi] * x[xi];
                    }
                }
}
/* What the queries say; the algorithm to go on with. */
static int ask(int way, struct operand *x, struct operand *f, struct operand *y, size_t *size)
{
    struct {
        int algo, status;
        float time;
        size_t memory;
        int determinism, math, reserved[3];
    } p[9];
    const bool find = upto(2);
    const int wanted = 1 + upto(9);
    int n = -1, r;
    if (way == 0)
        r = find ? cudnnFindConvolutionForwardAlgorithm(handle, x->t.desc, f->t.desc, conv, y->t.desc, wanted, &n, p)
                 : cudnnGetConvolutionForwardAlgorithm_v7(handle, x->t.desc, f->t.desc, conv, y->t.desc, wanted, &n, p);
    else if (way == 1)
        r = find ? cudnnFindConvolutionBackwardDataAlgorithm(handle, f->t.desc, y->t.desc, conv, x->t.desc, wanted, &n,
                                                             p)
                 : cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, f->t.desc, y->t.desc, conv, x->t.desc, wanted,
                                                               &n, p);
    else
        r = find ? cudnnFindConvolutionBackwardFilterAlgorithm(handle, x->t.desc, y->t.desc, conv, f->t.desc, wanted,
                                                               &n, p)
                 : cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x->t.desc, y->t.desc, conv, f->t.desc, wanted,
                                                                 &n, p);
    EXPECT(r ? mixed && is_refused(r) : n >= 1 && n <= wanted && p[0].status == 0, "algorithms: %d, %d of %d", r, n,
           wanted);
    *size = 0;
    if (r)
        return -1;
    r = way == 0
            ? cudnnGetConvolutionForwardWorkspaceSize(handle, x->t.desc, f->t.desc, conv, y->t.desc, p[0].algo, size)
        : way == 1 ? cudnnGetConvolutionBackwardDataWorkspaceSize(handle, f->t.desc, y->t.desc, conv, x->t.desc,
                                                                  p[0].algo, size)
                   : cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x->t.desc, y->t.desc, conv, f->t.desc,
                                                                    p[0].algo, size);
    EXPECT(!r && *size == p[0].memory, "%d: %zu bytes of workspace, not %zu", r, *size, p[0].memory);
    return p[0].algo;
}

static void convolutions(void)
{
    static const int bytes_[][2] = {{I8, I8}, {I8, F32}, {I8, I32}, {I8X4, I8X4}, {I8X4, F32}, {I8X32, I8X32}};
    const int *t = upto(5) == 0 ? bytes_[upto(6)] : NULL, was = type;
    const int way = t ? 0 : upto(3), out_type = t ? t[1] : type;
    const char *const names[] = {"convolution", "convolution's data gradient", "convolution's filter gradient"};
    struct shape s;
    size_t size;
    type = t ? t[0] : type;
    draw_shape(&s, vector_of(type));
    struct operand *x = draw_operand(type, s.w.n + 2, s.x, false, 0);
    struct operand *f = draw_operand(type, s.w.n + 2, s.f, true, 0);
    struct operand *y = draw_operand(out_type, s.w.n + 2, s.y, false, 0), *out = way == 0 ? y : way == 1 ? x : f;
    int dims[5];
    OK(cudnnGetConvolutionNdForwardOutputDim(conv, x->t.desc, f->t.desc, s.w.n + 2, dims));
    EXPECT(!memcmp(dims, s.y, sizeof(int) * (size_t)(s.w.n + 2)), "output shape");
    factors(out->t.type);
    result(out);
    memset(want, 0, sizeof(double) * (size_t)count(&out->t));
    convolve(&s, way, x->t.v, f->t.v, y->t.v, want);
    double most = 4;
    for (int i = 0; i < count(&out->t); i++) {
        most = fmax(most, fabs(want[i]));
        want[i] = blended(want[i], out, i);
    }
    const int algo = ask(way, x, f, y, &size);
    void *space = NULL;
    if (size)
        MUST(cudaMalloc(&space, size));
    const int ag = algo < 0 ? upto(3) : algo;
    int r = way == 0 ? cudnnConvolutionForward(handle, &alpha, x->t.desc, x->t.at, f->t.desc, f->t.at, conv, ag, space,
                                               size, &beta, y->t.desc, y->t.at)
            : way == 1 ? cudnnConvolutionBackwardData(handle, &alpha, f->t.desc, f->t.at, y->t.desc, y->t.at, conv, ag,
                                                      space, size, &beta, x->t.desc, x->t.at)
                       : cudnnConvolutionBackwardFilter(handle, &alpha, x->t.desc, x->t.at, y->t.desc, y->t.at, conv,
                                                        ag, space, size, &beta, f->t.desc, f->t.at);
    EXPECT(!r == (algo >= 0), "%s: %d, but its algorithm is %d", names[way], r, algo);
    settle(r, out, want, most, names[way]);
    OK(cudaFree(space));
    type = was;
}

static void fused(void)
{
    struct shape s;
    draw_shape(&s, 1);
    int mode = upto(7), dims[5] = {1, s.y[1], 1, 1, 1}, spatial = 1;
    const bool was = mixed;
    const double c = 0.75;
    mixed = false;
    struct operand *x = draw_operand(type, s.w.n + 2, s.x, false, 0);
    struct operand *f = draw_operand(type, s.w.n + 2, s.f, true, 0);
    struct operand *y = draw_operand(type, s.w.n + 2, s.y, false, 0);
    struct operand *z = upto(3) ? draw_operand(type, s.w.n + 2, s.y, false, 0) : y;
    struct operand *bias = draw_operand(type == F64 ? F64 : F32, s.w.n + 2, dims, false, 0);
    factors(type);
    if (z != y)
        poison(y);
    memset(want, 0, sizeof(double) * (size_t)count(&y->t));
    convolve(&s, 0, x->t.v, f->t.v, y->t.v, want);
    double most = 4;
    for (int i = 0; i < s.w.n; i++)
        spatial *= s.y[i + 2];
    for (int i = 0; i < count(&y->t); i++) {
        most = fmax(most, fabs(want[i]));
        const double v = a * want[i] + (b != 0 ? b * z->t.v[i] : 0) + bias->t.v[i / spatial % s.y[1]];
        want[i] = mode == 5 ? v : activate(mode, c, v);
    }
    OK(cudnnSetActivationDescriptor(act, mode, 1, c));
    int r = cudnnConvolutionBiasActivationForward(handle, &alpha, x->t.desc, x->t.at, f->t.desc, f->t.at, conv, 1, NULL,
                                                  0, &beta, z->t.desc, z->t.at, bias->t.desc, bias->t.at, act,
                                                  y->t.desc, y->t.at);
    if (VERSION == 9 && mode != 1 && mode != 5 && is_refused(r))
        r = UNSUPPORTED; /* other activations need not be there */
    settle(r, y, want, most, "bias and activation");
    mixed = was;
}

static void biases(void)
{
    int dim[8], n = draw_dims(dim, 3, 5), one[5] = {1, dim[1], 1, 1, 1}, inner = 1;
    struct operand *y = draw_operand(type, n, dim, false, 0), *d = draw_operand(type, n, one, false, 0);
    double most = 4;
    factors(d->t.type);
    result(d);
    for (int i = 2; i < n; i++)
        inner *= dim[i];
    memset(want, 0, sizeof(double) * (size_t)dim[1]);
    for (int i = 0; i < count(&y->t); i++) {
        want[i / inner % dim[1]] += y->t.v[i];
        most = fmax(most, fabs(want[i / inner % dim[1]]));
    }
    for (int i = 0; i < dim[1]; i++)
        want[i] = blended(want[i], d, i);
    int r = cudnnConvolutionBackwardBias(handle, &alpha, y->t.desc, y->t.at, &beta, d->t.desc, d->t.at);
    settle(r, d, want, most, "bias's gradient");
}

/* ---- reductions -------------------------------------------------------------------------------- */

static void reductions(void)
{
    int dim[8], small[8], n = draw_dims(dim, 3, 5), which = upto(9);
    for (int i = 0; i < n; i++)
        small[i] = upto(2) ? dim[i] : 1;
    const bool extreme = which == 2 || which == 3 || which == 4, places = extreme && upto(2);
    struct operand *x = draw_operand(type, n, dim, false, extreme ? chance : 0);
    struct operand *y = draw_operand(type, n, small, false, 0);
    factors(y->t.type);
    result(y);
    int part = count(&x->t) / count(&y->t);
    unsigned *first = calloc((size_t)count(&y->t), sizeof *first), *got = calloc((size_t)count(&y->t), sizeof *got);
    void *indices = NULL;
    size_t size = 99, space = 99;
    double most = 2;
    for (int i = 0; i < count(&y->t); i++)
        want[i] = which == 1 || which == 8 ? 1 : which == 2 ? INFINITY : which == 3 ? -INFINITY : 0;
    bool finite = true;
    for (int i = 0; i < count(&x->t); i++) {
        const int at = served(dim, small, n, i);
        int within = 0, inner = 1;
        for (int q = n - 1, rest = i; q >= 0; rest /= dim[q], q--) {
            within += (small[q] == dim[q] ? 0 : rest % dim[q]) * inner;
            inner *= small[q] == dim[q] ? 1 : dim[q];
        }
        double v = which == 4 ? fabs(x->t.v[i]) : x->t.v[i], *w = &want[at];
        finite &= isfinite(v);
        if (extreme && !isnan(*w) && (isnan(v) || (which == 2 ? v < *w : v > *w)))
            first[at] = (unsigned)within;
        *w = which == 0 || which == 5 ? *w + v
             : which == 1             ? *w * v
             : extreme                ? (isnan(*w) || isnan(v) ? NAN
                                         : which == 2          ? fmin(*w, v)
                                                               : fmax(*w, v))
             : which == 6             ? *w + fabs(v)
             : which == 7             ? *w + v * v
                                      : *w * (v == 0 ? 1 : v);
        most = fmax(most, isfinite(*w) ? fabs(*w) : 0);
    }
    for (int i = 0; i < count(&y->t); i++)
        want[i] = blended(which == 5 ? want[i] / part : which == 7 ? sqrt(want[i]) : want[i], y, i);
    OK(cudnnSetReduceTensorDescriptor(red, which, y->t.type == F64 ? F64 : F32, 1, places, 0));
    if (upto(4) == 0)
        IS(cudnnSetReduceTensorDescriptor(red, 9 + upto(9), F32, 1, 1, 0), BAD);
    OK(cudnnGetReductionIndicesSize(handle, red, x->t.desc, y->t.desc, &size));
    OK(cudnnGetReductionWorkspaceSize(handle, red, x->t.desc, y->t.desc, &space));
    EXPECT(size == (places ? sizeof *first * (size_t)count(&y->t) : 0), "%zu bytes of indices", size);
    void *work = NULL;
    if (size)
        MUST(cudaMalloc(&indices, size));
    if (space)
        MUST(cudaMalloc(&work, space));
    if (((which != 1 && which != 8) || most < 1e4) && (finite || a != 0)) {
        int r = cudnnReduceTensor(handle, red, indices, size, work, space, &alpha, x->t.desc, x->t.at, &beta, y->t.desc,
                                  y->t.at);
        if (settle(r, y, want, most, "reduction") && size) {
            OK(cudaMemcpy(got, indices, size, 2));
            EXPECT(!memcmp(got, first, size), "places of extremes");
        }
    }
    OK(cudaFree(indices));
    OK(cudaFree(work));
    free(first), free(got);
}

/* ---- normalisation ----------------------------------------------------------------------------- */

/* The feature of element i, of so many. */
static int feature(const int *dim, int n, int mode, int i)
{
    int inner = 1;
    for (int k = 2; k < n; k++)
        inner *= dim[k];
    return mode == 0 ? i % (dim[1] * inner) : i / inner % dim[1];
}
static struct operand *statistics(int n, const int *dim, bool positive)
{
    const bool was = mixed;
    mixed = false;
    struct operand *p = draw_operand(type == F64 ? F64 : F32, n, dim, false, 0);
    lay_out(&p->t, NCHW, false); /* one description is that of all */
    describe_operand(p, NCHW, false);
    for (int i = 0; positive && i < count(&p->t); i++)
        p->t.v[i] = 1 + fabs(p->t.v[i]);
    upload_operand(p);
    mixed = was;
    return p;
}
static void norms(void)
{
    int dim[8], sd[8], n = draw_dims(dim, 4, 5), mode = upto(3), which = upto(2), ops = which ? 0 : upto(3), m;
    const bool was = mixed;
    mixed = false;
    dim[0] += dim[0] == 1;
    for (int i = 0; i < n; i++)
        sd[i] = i == 1 || (i > 1 && mode == 0) ? dim[i] : 1;
    struct operand *x = draw_operand(type, n, dim, false, 0), *y = draw_operand(type, n, dim, false, 0);
    struct operand *z = ops == 2 ? draw_operand(type, n, dim, false, 0) : NULL;
    struct operand *scale = statistics(n, sd, false), *bias = statistics(n, sd, false),
                   *mean = statistics(n, sd, false);
    struct operand *var = statistics(n, sd, true), *saved = statistics(n, sd, false),
                   *inverse = statistics(n, sd, false);
    const int all = count(&x->t), features = count(&scale->t);
    const double eps = 0.125, factor = either(0, 1) ? 1 : 0.25;
    int derived_type, derived_n, derived[8], step[8];
    double *means = calloc((size_t)features, 8), *vars = calloc((size_t)features, 8);
    const bool keeps = upto(4), runs = upto(4);
    m = all / features;
    OK(cudnnDeriveBNTensorDescriptor(o[OPERANDS - 1].tensor, x->t.desc, mode));
    OK(cudnnGetTensorNdDescriptor(o[OPERANDS - 1].tensor, 8, &derived_type, &derived_n, derived, step));
    EXPECT(derived_type == scale->t.type && derived_n == n && !memcmp(derived, sd, sizeof(int) * (size_t)n));
    factors(type);
    if (a == 0)
        a = 1, alpha = factor_of(type, 1);
    if (ops)
        b = 0, beta = factor_of(type, 0);
    result(y);
    for (int i = 0; i < all; i++)
        means[feature(dim, n, mode, i)] += x->t.v[i] / m;
    for (int i = 0; i < all; i++)
        vars[feature(dim, n, mode, i)] += pow(x->t.v[i] - means[feature(dim, n, mode, i)], 2) / m;
    for (int i = 0; i < all; i++) {
        const int f = feature(dim, n, mode, i);
        double v = which ? scale->t.v[f] * (x->t.v[i] - mean->t.v[f]) / sqrt(var->t.v[f] + eps) + bias->t.v[f]
                         : scale->t.v[f] * (x->t.v[i] - means[f]) / sqrt(vars[f] + eps) + bias->t.v[f];
        v += z ? z->t.v[i] : 0;
        want[i] = blended(ops ? fmax(v, 0) : v, y, i);
    }
    OK(cudnnSetActivationDescriptor(act, 1, upto(2), 0));
    int r = which ? cudnnBatchNormalizationForwardInference(handle, mode, &alpha, &beta, x->t.desc, x->t.at, y->t.desc,
                                                            y->t.at, scale->t.desc, scale->t.at, bias->t.at, mean->t.at,
                                                            var->t.at, eps)
                  : cudnnBatchNormalizationForwardTrainingEx(
                        handle, mode, ops, &alpha, &beta, x->t.desc, x->t.at, z ? z->t.desc : NULL, z ? z->t.at : NULL,
                        y->t.desc, y->t.at, scale->t.desc, scale->t.at, bias->t.at, factor, runs ? mean->t.at : NULL,
                        runs ? var->t.at : NULL, eps, keeps ? saved->t.at : NULL, keeps ? inverse->t.at : NULL, act,
                        NULL, 0, NULL, 0);
    OK(cudaDeviceSynchronize());
    EXPECT(!r, "batch normalisation: %d", r);
    if (!which) { /* four results more */
        const struct {
            struct operand *p;
            bool is;
        } more[] = {{mean, runs}, {var, runs}, {saved, keeps}, {inverse, keeps}};
        for (int k = 0; k < 4; k++) {
            for (int f = 0; f < features; f++) {
                const double unbiased = vars[f] * m / (m > 1 ? m - 1 : 1), old = more[k].p->t.v[f];
                const double now = k == 0 || k == 2 ? means[f] : k == 1 ? unbiased : 1 / sqrt(vars[f] + eps);
                want2[f] = k < 2 ? (1 - factor) * old + factor * now : now;
            }
            if (more[k].is && look(more[k].p, want2, 2, "statistics"))
                take(more[k].p);
        }
    }
    settle(r, y, want, 4, "batch normalisation");
    if (which) {
        free(means), free(vars);
        mixed = was;
        return;
    }
    take(y);
    /* backward: where y is 0 but for rounding, it is open or closed as y says */
    struct operand *dy = z ? z : draw_operand(type, n, dim, false, 0), *dx = draw_operand(type, n, dim, false, 0);
    struct operand *dz = z ? draw_operand(type, n, dim, false, 0) : NULL;
    struct operand *ds = mean, *db = var; /* they lie as scale does */
    const double a1 = either(0, 1) ? 1 : 0.5, b1 = either(0, 1) ? 0 : 2, as = 1, bs = either(0, 1) ? 0 : 0.5;
    const union factor alpha1 = factor_of(type, a1), beta1 = factor_of(type, b1), alpha_s = factor_of(type, as),
                       beta_s = factor_of(type, bs);
    double *sums = calloc((size_t)features * 2, 8), *g = calloc((size_t)all, 8), most = 4;
    if (b1 == 0)
        poison(dx);
    if (bs == 0)
        poison(ds), poison(db);
    if (dz)
        poison(dz);
    for (int i = 0; i < all; i++) {
        const int f = feature(dim, n, mode, i);
        g[i] = ops && !(y->t.v[i] > 0) ? 0 : dy->t.v[i];
        sums[2 * f] += g[i];
        sums[2 * f + 1] += g[i] * (x->t.v[i] - means[f]) / sqrt(vars[f] + eps);
        most = fmax(most, fmax(fabs(sums[2 * f]), fabs(sums[2 * f + 1])));
    }
    for (int i = 0; i < all; i++) {
        const int f = feature(dim, n, mode, i);
        const double inv = 1 / sqrt(vars[f] + eps), xh = (x->t.v[i] - means[f]) * inv;
        want[i] = a1 * scale->t.v[f] * inv * (g[i] - sums[2 * f] / m - xh * sums[2 * f + 1] / m) +
                  (b1 != 0 ? b1 * dx->t.v[i] : 0);
    }
    const bool by_kept = keeps && upto(2);
    r = cudnnBatchNormalizationBackwardEx(handle, mode, ops, &alpha1, &beta1, &alpha_s, &beta_s, x->t.desc, x->t.at,
                                          y->t.desc, y->t.at, dy->t.desc, dy->t.at, dz ? dz->t.desc : NULL,
                                          dz ? dz->t.at : NULL, dx->t.desc, dx->t.at, scale->t.desc, scale->t.at,
                                          bias->t.at, ds->t.at, db->t.at, eps, by_kept ? saved->t.at : NULL,
                                          by_kept ? inverse->t.at : NULL, act, NULL, 0, NULL, 0);
    OK(cudaDeviceSynchronize());
    EXPECT(!r, "batch normalisation's gradient: %d", r);
    for (int k = 0; k < 2; k++) {
        struct operand *p = k ? db : ds;
        for (int f = 0; f < features; f++)
            want2[f] = sums[2 * f + !k] + (bs != 0 ? bs * p->t.v[f] : 0);
        if (look(p, want2, most, k ? "bias's gradient" : "scale's gradient"))
            take(p);
    }
    if (dz && look(dz, g, 1, "z's gradient"))
        take(dz);
    settle(r, dx, want, most, "batch normalisation's gradient");
    free(means), free(vars), free(sums), free(g);
    mixed = was;
}

/* ---- dropout ----------------------------------------------------------------------------------- */

/* What is kept is scaled, the rest 0; the same elements of the gradient; and the same again of a state restored. */
static void dropouts(void)
{
    static const float rates[] = {0, 0.25f, 0.5f, 0.75f, 1};
    int dim[8], n = draw_dims(dim, 3, 5);
    const bool was = mixed;
    mixed = false;
    const float rate = rates[upto(5)];
    struct operand *x = draw_operand(type, n, dim, false, 0), *y = upto(3) ? draw_operand(type, n, dim, false, 0) : x;
    struct operand *dy = draw_operand(type, n, dim, false, 0),
                   *dx = upto(3) ? draw_operand(type, n, dim, false, 0) : dy;
    size_t size = 0;
    void *mask;
    const double up = rate < 1 ? 1 / (1 - (double)rate) : 0;
    const unsigned long long number_ = (unsigned)upto(1000);
    const int all = count(&x->t);
    OK(cudnnDropoutGetReserveSpaceSize(x->t.desc, &size));
    MUST(cudaMalloc(&mask, size));
    OK(cudnnSetDropoutDescriptor(drp, handle, rate, drop_state, state_size, number_));
    if (y != x)
        poison(y);
    if (dx != dy)
        poison(dx);
    OK(cudnnDropoutForward(handle, drp, x->t.desc, x->t.at, y->t.desc, y->t.at, mask, size));
    OK(cudaDeviceSynchronize());
    char *now = malloc(ROOM);
    OK(cudaMemcpy(now, y->t.at, y->t.size * bytes(type), 2));
    double *kept = malloc(sizeof(double) * (size_t)all), *of = malloc(sizeof(double) * (size_t)all);
    for (int i = 0; i < all; i++) { /* an x of 0 says nothing */
        const double v = get(now, type, place(&y->t, i));
        of[i] = x->t.v[i];
        kept[i] = of[i] == 0 ? NAN : v != 0;
        want[i] = v == 0 && !(rate <= 0 && of[i] != 0) ? 0 : of[i] * up;
    }
    settle(0, y, want, 1, "dropout");
    take(y);
    int r = cudnnDropoutBackward(handle, drp, dy->t.desc, dy->t.at, dx->t.desc, dx->t.at, mask, size);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(now, dx->t.at, dx->t.size * bytes(type), 2));
    for (int i = 0; i < all; i++)
        want[i] = isnan(kept[i]) ? get(now, type, place(&dx->t, i)) : kept[i] != 0 ? dy->t.v[i] * up : 0;
    settle(r, dx, want, 1, "dropout's gradient");
    take(dx);
    /* the state is one of the seed: from it the same elements are kept */
    OK(cudnnSetDropoutDescriptor(drp, handle, rate, drop_state, state_size, number_));
    OK(cudnnDropoutForward(handle, drp, dx->t.desc, dx->t.at, dx->t.desc, dx->t.at, mask, size));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(now, dx->t.at, dx->t.size * bytes(type), 2));
    for (int i = 0; i < all; i++)
        want[i] = isnan(kept[i]) ? get(now, type, place(&dx->t, i)) : kept[i] != 0 ? dx->t.v[i] * up : 0;
    settle(0, dx, want, 1, "dropout again");
    OK(cudaFree(mask));
    free(now), free(kept), free(of);
    mixed = was;
}

#endif
