/* What cuDNN's later versions keep of the earlier ones, of random shapes, against plain loops: CTC loss by all its
 * paths, spatial transformers, im2col, and the later name of batch normalisation. */
#include "dnn.h"

static void *on_device(const void *from, size_t size)
{
    void *p;
    MUST(cudaMalloc(&p, size + 8));
    OK(cudaMemcpy(p, from, size, 1));
    return p;
}

/* ---- CTC --------------------------------------------------------------------------------------- */

enum { TIMES = 5, CLASSES = 4 };
/* The probability of labels: the sum over all paths that give them without blanks and repetitions. */
static double all_paths(const double *p, int time, int classes, const int *label, int length)
{
    double sum = 0;
    int paths = 1;
    for (int t = 0; t < time; t++)
        paths *= classes;
    for (int i = 0; i < paths; i++) {
        int rest = i, before = 0, n = 0;
        double product = 1;
        bool same_labels = true;
        for (int t = 0; t < time; t++, rest /= classes) {
            int k = rest % classes;
            product *= p[t * classes + k];
            if (k && k != before) {
                same_labels &= n < length && label[n] == k;
                n++;
            }
            before = k;
        }
        sum += same_labels && n == length ? product : 0;
    }
    return sum;
}
static double cost_of(const double *x, bool softmax, int time, int classes, const int *label, int length)
{
    double p[TIMES * CLASSES];
    for (int t = 0; t < time; t++) {
        double sum = 0;
        for (int k = 0; k < classes; k++)
            sum += exp(x[t * classes + k]);
        for (int k = 0; k < classes; k++)
            p[t * classes + k] = exp(x[t * classes + k]) / sum;
    }
    (void)softmax;
    return -log(all_paths(p, time, classes, label, length));
}

static void ctc(void)
{
    int time = 1 + upto(TIMES), batch = 1 + upto(4), classes = 2 + upto(CLASSES - 1), algo = upto(2), newer = upto(3);
    int dim[] = {time, batch, classes}, label_length[4], input_length[4], labels[4 * TIMES], all = 0;
    bool softmax = upto(2), skip = upto(2), wants = upto(4);
    struct tensor probs = make(F32, 3, dim, NCHW, upto(2), false), grads = make(F32, 3, dim, NCHW, upto(2), false);
    double *x = calloc((size_t)count(&probs), sizeof *x), *want = calloc((size_t)count(&probs), sizeof *want);
    void *d, *space;
    float costs[4], *costs_at = on_device(costs, sizeof costs);
    size_t size = 0;
    for (int i = 0; i < count(&probs); i++)
        x[i] = probs.v[i];
    for (int i = 0; !softmax && i < time * batch; i++) { /* probabilities of x */
        double sum = 0;
        for (int k = 0; k < classes; k++)
            sum += exp(x[i * classes + k]);
        for (int k = 0; k < classes; k++)
            probs.v[i * classes + k] = exp(x[i * classes + k]) / sum;
    }
    upload(&probs);
    for (int n = 0; n < batch; n++) {
        label_length[n] = upto(time + 1);
        input_length[n] = 1 + upto(time);
        for (int i = 0; i < label_length[n]; i++)
            labels[all++] = 1 + upto(classes - 1);
    }
    OK(cudnnCreateCTCLossDescriptor(&d));
    if (newer == 2)
        OK(cudnnSetCTCLossDescriptor_v8(d, F32, softmax, skip, TIMES));
    else
        OK(cudnnSetCTCLossDescriptorEx(d, F32, softmax, skip));
    int *label_at = on_device(labels, sizeof labels), *length_at = on_device(label_length, sizeof label_length),
        *input_at = on_device(input_length, sizeof input_length);
    if (newer == 2)
        OK(cudnnGetCTCLossWorkspaceSize_v8(handle, algo, d, probs.desc, grads.desc, &size));
    else
        OK(cudnnGetCTCLossWorkspaceSize(handle, probs.desc, grads.desc, labels, label_length, input_length, algo, d,
                                        &size));
    EXPECT(size > 0);
    MUST(cudaMalloc(&space, size));
    if (newer == 2) {
        IS(cudnnCTCLoss_v8(handle, algo, d, probs.desc, probs.at, label_at, length_at, input_at, costs_at, grads.desc,
                           grads.at, size - 1, space),
           BAD);
        OK(cudnnCTCLoss_v8(handle, algo, d, probs.desc, probs.at, label_at, length_at, input_at, costs_at, grads.desc,
                           wants ? grads.at : NULL, size, space));
    } else {
        IS(cudnnCTCLoss(handle, probs.desc, probs.at, labels, label_length, input_length, costs_at, grads.desc,
                        grads.at, algo, d, space, size - 1),
           BAD);
        OK(cudnnCTCLoss(handle, probs.desc, probs.at, labels, label_length, input_length, costs_at, grads.desc,
                        wants ? grads.at : NULL, algo, d, space, size));
    }
    OK(cudaMemcpy(costs, costs_at, sizeof costs, 2));
    all = 0;
    for (int n = 0; n < batch; n++) {
        const int *label = labels + all;
        int repeats = 0, inputs = input_length[n];
        double own[TIMES * CLASSES];
        all += label_length[n];
        for (int i = 1; i < label_length[n]; i++)
            repeats += label[i] == label[i - 1];
        bool possible = label_length[n] + repeats <= inputs;
        for (int i = 0; i < time * classes; i++)
            own[i] = x[(i / classes * batch + n) * classes + i % classes];
        double cost = possible ? cost_of(own, softmax, inputs, classes, label, label_length[n]) : 0;
        EXPECT(fabs(costs[n] - cost) < 1e-4 * (1 + cost), "cost %g, not %g", costs[n], cost);
        for (int i = 0; i < time * classes; i++) {
            int at = (i / classes * batch + n) * classes + i % classes;
            double step[2] = {0, 0};
            if (!wants || (!possible && skip)) {
                want[at] = grads.v[at];
                continue;
            }
            for (int s = 0; s < 2 && possible && i / classes < inputs; s++) {
                own[i] = x[at] + (s ? 1e-4 : -1e-4);
                step[s] = cost_of(own, softmax, inputs, classes, label, label_length[n]);
            }
            own[i] = x[at];
            want[at] = (step[1] - step[0]) / 2e-4;
        }
    }
    same(&grads, want, 1, "CTC's gradient");
    if (newer < 2) {
        int wrong = label_length[0];
        label_length[0] = 257;
        IS(cudnnCTCLoss(handle, probs.desc, probs.at, labels, label_length, input_length, costs_at, grads.desc,
                        grads.at, algo, d, space, size),
           BAD);
        label_length[0] = wrong;
    } else { /* the device's labels cannot be seen: no crash, no number */
        int wrong[] = {classes, -3, 1 << 30};
        OK(cudaMemcpy(label_at, wrong + upto(3), 4, 1));
        OK(cudnnCTCLoss_v8(handle, algo, d, probs.desc, probs.at, label_at, length_at, input_at, costs_at, grads.desc,
                           grads.at, size, space));
        OK(cudaMemcpy(costs, costs_at, sizeof costs, 2));
        EXPECT(!label_length[0] || isnan(costs[0]), "cost %g of a label that is none", costs[0]);
    }
    IS(cudnnCTCLoss_v8(handle, 2, d, probs.desc, probs.at, label_at, length_at, input_at, costs_at, grads.desc,
                       grads.at, size, space),
       UNSUPPORTED);
    OK(cudnnDestroyCTCLossDescriptor(d));
    cudaFree(space), cudaFree(costs_at), cudaFree(label_at), cudaFree(length_at), cudaFree(input_at);
    free(x), free(want);
    drop(&probs), drop(&grads);
}

/* ---- spatial transformers ---------------------------------------------------------------------- */

static double sample(const double *image, int h, int w, double x, double y)
{
    double px = (x + 1) / 2 * (w - 1), py = (y + 1) / 2 * (h - 1), v = 0;
    for (int r = 0; r < h; r++)
        for (int c = 0; c < w; c++)
            v += image[r * w + c] * fmax(0, 1 - fabs(px - c)) * fmax(0, 1 - fabs(py - r));
    return v;
}

static void transforms(int type)
{
    int n = 1 + upto(2), c = 1 + upto(3), xd[] = {n, c, 1 + upto(5), 1 + upto(5)},
        yd[] = {n, c, 1 + upto(5), 1 + upto(5)};
    int gd[] = {n, yd[2], yd[3], 2}, td[] = {n, 2, 3}, places = yd[2] * yd[3], out = n * c * places, in = xd[2] * xd[3];
    struct tensor x = make(type, 4, xd, upto(2), upto(2), false), y = make(type, 4, yd, NCHW, upto(2), false);
    struct tensor grid = make(type, 4, gd, NCHW, false, false), theta = make(type, 3, td, NCHW, false, false);
    struct tensor dy = make(type, 4, yd, NHWC, upto(2), false), dx = make(type, 4, xd, NCHW, upto(2), false);
    struct tensor dgrid = make(type, 4, gd, NCHW, false, false);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2, *want = calloc((size_t)out, sizeof *want),
           *gx = calloc((size_t)count(&x), sizeof *gx), *gg = calloc((size_t)count(&grid), sizeof *gg);
    union scalar alpha = scalar(type, a), beta = scalar(type, b);
    void *d;
    OK(cudnnCreateSpatialTransformerDescriptor(&d));
    IS(cudnnSetSpatialTransformerNdDescriptor(d, 0, type, 5, (const int[]){1, 1, 1, 1, 1}), UNSUPPORTED);
    OK(cudnnSetSpatialTransformerNdDescriptor(d, 0, type, 4, yd));
    OK(cudnnSpatialTfGridGeneratorForward(handle, d, theta.at, grid.at));
    for (int i = 0; i < n * places; i++) {
        double u = yd[3] > 1 ? -1 + 2.0 * (i % yd[3]) / (yd[3] - 1) : 0;
        double v = yd[2] > 1 ? -1 + 2.0 * (i / yd[3] % yd[2]) / (yd[2] - 1) : 0;
        for (int k = 0; k < 2; k++) {
            const double *t = theta.v + i / places * 6 + k * 3;
            gg[2 * i + k] = t[0] * u + t[1] * v + t[2];
        }
    }
    OK(cudaDeviceSynchronize());
    same(&grid, gg, 2, "grid");
    for (int i = 0; i < count(&grid); i++) /* of numbers that types hold, between the corners of x and around them */
        grid.v[i] = (upto(37) - 18) / 16.0 + 1 / 64.0;
    upload(&grid);
    memset(gg, 0, (size_t)count(&grid) * sizeof *gg);
    for (int i = 0; i < out; i++) {
        int image = i / places / c, channel = i / places;
        const double *g = grid.v + 2 * (image * places + i % places);
        want[i] = a * sample(x.v + channel * in, xd[2], xd[3], g[0], g[1]) + b * y.v[i];
        double px = (g[0] + 1) / 2 * (xd[3] - 1), py = (g[1] + 1) / 2 * (xd[2] - 1);
        for (int k = 0; k < in; k++)
            gx[channel * in + k] += dy.v[i] * fmax(0, 1 - fabs(px - k % xd[3])) * fmax(0, 1 - fabs(py - k / xd[3]));
        for (int k = 0; k < 2; k++) {
            double h = 1e-6, more = sample(x.v + channel * in, xd[2], xd[3], g[0] + (k ? 0 : h), g[1] + (k ? h : 0));
            double less = sample(x.v + channel * in, xd[2], xd[3], g[0] - (k ? 0 : h), g[1] - (k ? h : 0));
            gg[2 * (image * places + i % places) + k] += dy.v[i] * (more - less) / (2 * h);
        }
    }
    OK(cudnnSpatialTfSamplerForward(handle, d, &alpha, x.desc, x.at, grid.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 4, "samples");
    IS(cudnnSpatialTfSamplerForward(handle, d, &alpha, x.desc, x.at, grid.at, &beta, theta.desc, y.at), BAD);
    for (int i = 0; i < count(&x); i++)
        gx[i] = a * gx[i] + b * dx.v[i];
    for (int i = 0; i < count(&grid); i++)
        gg[i] = a * gg[i] + b * dgrid.v[i];
    OK(cudnnSpatialTfSamplerBackward(handle, d, &alpha, x.desc, x.at, &beta, dx.desc, dx.at, &alpha, dy.desc, dy.at,
                                     grid.at, &beta, dgrid.at));
    OK(cudaDeviceSynchronize());
    same(&dx, gx, 8, "samples' gradient");
    same(&dgrid, gg, type == F64 ? 1e4 : 16, "grid's gradient");
    upload(&dgrid);
    OK(cudnnSpatialTfGridGeneratorBackward(handle, d, dgrid.at, theta.at));
    for (int i = 0; i < count(&theta); i++)
        want[0] = 0, theta.v[i] = 0;
    for (int i = 0; i < n * places; i++) {
        double u[] = {yd[3] > 1 ? -1 + 2.0 * (i % yd[3]) / (yd[3] - 1) : 0,
                      yd[2] > 1 ? -1 + 2.0 * (i / yd[3] % yd[2]) / (yd[2] - 1) : 0, 1};
        for (int k = 0; k < 6; k++)
            theta.v[i / places * 6 + k] += dgrid.v[2 * i + k / 3] * u[k % 3];
    }
    OK(cudaDeviceSynchronize());
    same(&theta, theta.v, 16, "map's gradient");
    OK(cudnnDestroySpatialTransformerDescriptor(d));
    free(want), free(gx), free(gg);
    drop(&x), drop(&y), drop(&grid), drop(&theta), drop(&dy), drop(&dx), drop(&dgrid);
}

/* ---- windows ------------------------------------------------------------------------------------ */

static void windows(int type)
{
    int xd[] = {1 + upto(3), 1 + upto(3), 3 + upto(4), 3 + upto(4)}, wd[] = {2, xd[1], 1 + upto(3), 1 + upto(3)}, yd[4];
    int pad[] = {upto(2), upto(2)}, stride[] = {1 + upto(2), 1 + upto(2)}, dilation[] = {1, 1 + upto(2)};
    const bool turned = upto(2);
    struct tensor x = make(type, 4, xd, NCHW, upto(2), false), w = make(type, 4, wd, NCHW, false, true);
    void *conv;
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolutionNdDescriptor(conv, 2, pad, stride, dilation, !turned, type == F64 ? F64 : F32));
    if (!cudnnGetConvolutionNdForwardOutputDim(conv, x.desc, w.desc, 4, yd)) {
        int taps = wd[1] * wd[2] * wd[3], md[] = {taps, xd[0], yd[2] * yd[3]}, window = wd[2] * wd[3];
        struct tensor m = make(type, 3, md, NCHW, false, false);
        double *want = calloc((size_t)count(&m), sizeof *want);
        for (int i = 0; i < count(&m); i++) {
            int place_ = i % md[2], image = i / md[2] % md[1], channel = i / md[2] / md[1] / window;
            int tap = i / md[2] / md[1] % window, at = turned ? window - 1 - tap : tap;
            int row = place_ / yd[3] * stride[0] - pad[0] + at / wd[3] * dilation[0];
            int column = place_ % yd[3] * stride[1] - pad[1] + at % wd[3] * dilation[1];
            bool inside = row >= 0 && row < xd[2] && column >= 0 && column < xd[3];
            want[i] = inside ? x.v[((image * xd[1] + channel) * xd[2] + row) * xd[3] + column] : 0;
        }
        OK(cudnnIm2Col(handle, x.desc, x.at, w.desc, conv, m.at));
        OK(cudaDeviceSynchronize());
        same(&m, want, 0, "im2col");
        free(want);
        drop(&m);
    }
    OK(cudnnDestroyConvolutionDescriptor(conv));
    drop(&x), drop(&w);
}

/* The reordered filter gives the same convolution. */
static void reorders(void)
{
    int dim[] = {32, 32, 1, 1}, fd[] = {1, 32, 2, 2};
    void *w, *x, *y, *conv, *at[6], *bias;
    float one = 1, zero = 0, b[32];
    int8_t numbers[1024], got[2][128];
    for (int i = 0; i < 1024; i++)
        numbers[i] = (int8_t)(upto(5) - 2);
    for (int i = 0; i < 32; i++)
        b[i] = (float)i;
    at[0] = on_device(numbers, 1024), at[1] = on_device(numbers, 1024), at[2] = on_device(numbers, 128);
    at[3] = on_device(got[0], 128), at[4] = on_device(b, 128), bias = on_device(got, 128);
    OK(cudnnCreateFilterDescriptor(&w));
    OK(cudnnSetFilterNdDescriptor(w, I8X32, VECT, 4, dim));
    OK(cudnnCreateTensorDescriptor(&x));
    OK(cudnnSetTensorNdDescriptorEx(x, VECT, I8X32, 4, fd));
    OK(cudnnCreateTensorDescriptor(&y));
    OK(cudnnSetTensorNdDescriptorEx(y, VECT, I8X32, 4, fd));
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, 1, I32));
    OK(cudnnConvolutionForward(handle, &one, x, at[2], w, at[0], conv, 1, NULL, 0, &zero, y, at[3]));
    OK(cudaMemcpy(got[0], at[3], 128, 2));
    OK(cudaMemset(at[1], 0, 1024));
    OK(cudnnReorderFilterAndBias(handle, w, 0, at[0], at[1], 1, at[4], bias));
    OK(cudnnSetConvolutionReorderType(conv, 1));
    OK(cudnnConvolutionForward(handle, &one, x, at[2], w, at[1], conv, 1, NULL, 0, &zero, y, at[3]));
    OK(cudaMemcpy(got[1], at[3], 128, 2));
    EXPECT(!memcmp(got[0], got[1], 128), "a convolution with a reordered filter");
    OK(cudaMemcpy(got[1], bias, 128, 2));
    EXPECT(!memcmp(got[1], b, 128), "a reordered bias");
    for (int i = 0; i < 5; i++)
        cudaFree(at[i]);
    cudaFree(bias);
    OK(cudnnDestroyConvolutionDescriptor(conv));
    OK(cudnnDestroyTensorDescriptor(x));
    OK(cudnnDestroyTensorDescriptor(y));
    OK(cudnnDestroyFilterDescriptor(w));
}

/* ---- the later name of batch normalisation ------------------------------------------------------ */

/* The same numbers as cudnnBatchNormalization*, which layers.c compares with loops. */
static void normalises(int type)
{
    int n = 4, dim[] = {2 + upto(2), 1 + upto(3), 1 + upto(3), 1 + upto(3)}, mode = upto(2), ops = upto(3), all;
    struct tensor x = make(type, n, dim, NCHW, upto(2), false), z = make(type, n, dim, NCHW, upto(2), false);
    struct tensor y[2], dx[2], dz[2], dy = make(type, n, dim, NCHW, upto(2), false);
    int sd[] = {1, dim[1], mode ? 1 : dim[2], mode ? 1 : dim[3]}, stat = type == F64 ? F64 : F32;
    struct tensor p[2][8];
    union scalar one = scalar(type, 1), half_ = scalar(type, 0.5);
    void *act, *s, *v;
    size_t size[3] = {9, 9, 9};
    OK(cudnnCreateActivationDescriptor(&act));
    OK(cudnnSetActivationDescriptor(act, 1, 0, 0));
    OK(cudnnCreateTensorDescriptor(&s));
    OK(cudnnCreateTensorDescriptor(&v));
    OK(cudnnDeriveNormTensorDescriptor(s, v, x.desc, mode, 1));
    for (int k = 0; k < 2; k++) {
        seed = 99;
        y[k] = make(type, n, dim, NCHW, false, false), dx[k] = make(type, n, dim, NCHW, false, false);
        dz[k] = make(type, n, dim, NCHW, false, false);
        for (int i = 0; i < 8; i++)
            p[k][i] = make(stat, n, sd, NCHW, false, false);
    }
    all = count(&x);
    (void)all;
    OK(cudnnGetNormalizationForwardTrainingWorkspaceSize(handle, mode, ops, 0, x.desc, z.desc, y[0].desc, s, act, v,
                                                         &size[0], 1));
    OK(cudnnGetNormalizationBackwardWorkspaceSize(handle, mode, ops, 0, x.desc, y[0].desc, dy.desc, dz[0].desc,
                                                  dx[0].desc, s, act, v, &size[1], 1));
    OK(cudnnGetNormalizationTrainingReserveSpaceSize(handle, mode, ops, 0, act, x.desc, &size[2], 1));
    EXPECT(!size[0] && !size[1] && !size[2]);
    OK(cudnnNormalizationForwardTraining(handle, mode, ops, 0, &one, &half_, x.desc, x.at, s, p[0][0].at, p[0][1].at,
                                         0.5, v, p[0][2].at, p[0][3].at, 1e-3, p[0][4].at, p[0][5].at, act, z.desc,
                                         z.at, y[0].desc, y[0].at, NULL, 0, NULL, 0, 1));
    OK(cudnnBatchNormalizationForwardTrainingEx(handle, mode, ops, &one, &half_, x.desc, x.at, z.desc, z.at, y[1].desc,
                                                y[1].at, s, p[1][0].at, p[1][1].at, 0.5, p[1][2].at, p[1][3].at, 1e-3,
                                                p[1][4].at, p[1][5].at, act, NULL, 0, NULL, 0));
    OK(cudnnNormalizationBackward(handle, mode, ops, 0, &one, &half_, &one, &half_, x.desc, x.at, y[0].desc, y[0].at,
                                  dy.desc, dy.at, dz[0].desc, dz[0].at, dx[0].desc, dx[0].at, s, p[0][0].at, p[0][1].at,
                                  p[0][6].at, p[0][7].at, 1e-3, v, p[0][4].at, p[0][5].at, act, NULL, 0, NULL, 0, 1));
    OK(cudnnBatchNormalizationBackwardEx(handle, mode, ops, &one, &half_, &one, &half_, x.desc, x.at, y[1].desc,
                                         y[1].at, dy.desc, dy.at, dz[1].desc, dz[1].at, dx[1].desc, dx[1].at, s,
                                         p[1][0].at, p[1][1].at, p[1][6].at, p[1][7].at, 1e-3, p[1][4].at, p[1][5].at,
                                         act, NULL, 0, NULL, 0));
    struct tensor *const pairs[][2] = {{&y[0], &y[1]},       {&dx[0], &dx[1]},     {&dz[0], &dz[1]},
                                       {&p[0][2], &p[1][2]}, {&p[0][3], &p[1][3]}, {&p[0][6], &p[1][6]},
                                       {&p[0][7], &p[1][7]}};
    OK(cudaDeviceSynchronize());
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        size_t size_ = pairs[k][0]->size * bytes(pairs[k][0]->type);
        char *a = malloc(size_), *b = malloc(size_);
        OK(cudaMemcpy(a, pairs[k][0]->at, size_, 2));
        OK(cudaMemcpy(b, pairs[k][1]->at, size_, 2));
        EXPECT(!memcmp(a, b, size_), "normalisation %d, operations %d, result %zu", mode, ops, k);
        free(a), free(b);
    }
    /* inference: with the running statistics, the activation and z */
    double *want = calloc((size_t)count(&x), sizeof *want);
    for (int k = 2; k < 4; k++) /* positive */
        for (int i = 0; i < count(&p[0][k]); i++)
            p[0][k].v[i] = 1 + upto(3);
    upload(&p[0][2]), upload(&p[0][3]), upload(&y[0]);
    for (int i = 0; i < count(&x); i++) {
        int f = mode ? i / (dim[2] * dim[3]) % dim[1] : i % (dim[1] * dim[2] * dim[3]);
        double u = p[0][0].v[f] * (x.v[i] - p[0][2].v[f]) / sqrt(p[0][3].v[f] + 1e-3) + p[0][1].v[f];
        u += ops == 2 ? z.v[i] : 0;
        want[i] = (ops && u < 0 ? 0 : u) + 0.5 * y[0].v[i];
    }
    OK(cudnnNormalizationForwardInference(handle, mode, ops, 0, &one, &half_, x.desc, x.at, s, p[0][0].at, p[0][1].at,
                                          v, p[0][2].at, p[0][3].at, z.desc, z.at, act, y[0].desc, y[0].at, 1e-3, 1));
    OK(cudaDeviceSynchronize());
    same(&y[0], want, 4, "inference");
    free(want);
    IS(cudnnNormalizationForwardInference(handle, mode, ops, 0, &one, &half_, x.desc, x.at, s, p[0][0].at, p[0][1].at,
                                          v, p[0][2].at, p[0][3].at, z.desc, z.at, act, y[0].desc, y[0].at, 1e-3, 2),
       UNSUPPORTED);
    OK(cudnnDestroyActivationDescriptor(act));
    OK(cudnnDestroyTensorDescriptor(s));
    OK(cudnnDestroyTensorDescriptor(v));
    drop(&x), drop(&z), drop(&dy);
    for (int k = 0; k < 2; k++) {
        drop(&y[k]), drop(&dx[k]), drop(&dz[k]);
        for (int i = 0; i < 8; i++)
            drop(&p[k][i]);
    }
}

int main(void)
{
    static const int types[] = {F32, F64, F16, BF16};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 120; i++) {
        unsigned at = seed;
        int type = types[i % 4];
        ctc();
        transforms(type);
        windows(type);
        normalises(type);
        seed = at + 77777u * (unsigned)i + 1;
    }
    reorders();
    OK(cudnnDestroy(handle));
    return check_end("earlier layers");
}
