/* Transformations of tensors and filters of random shapes against plain loops: padding, folding and unfolding; and
 * gradients of convolutions with strides through the descriptors that fold them. */
#include "dnn.h"

static const int types[] = {F32, F64, F16, BF16};
enum { FOLD, UNFOLD };

static void unravel(const int *dim, int n, int i, int *index)
{
    for (int d = n - 1; d >= 0; i /= dim[d], d--)
        index[d] = i % dim[d];
}
static int ravel(const int *dim, int n, const int *index)
{
    int at = 0;
    for (int d = 0; d < n; d++)
        at = at * dim[d] + index[d];
    return at;
}

/* Of the image as it was: its shape, what pads it, how it is folded, and the shape that comes of it. */
struct folding {
    int n, dim[5], before[5], after[5], out[5];
    unsigned fold[3];
};
static struct folding random_folding(bool cuts, bool folds)
{
    struct folding f = {.n = 3 + upto(3)};
    int places = 1;
    for (int i = 0; i < f.n; i++) {
        bool may_cut = cuts && (i != 1 || !folds);
        f.dim[i] = 1 + upto(i < 2 ? 4 : 7);
        f.before[i] = upto(3) - (may_cut && f.dim[i] > 2), f.after[i] = upto(3) - (may_cut && f.dim[i] > 2);
        if (i >= 2)
            places *= (int)(f.fold[i - 2] = folds ? 1 + (unsigned)upto(3) : 1);
    }
    for (int i = 0; i < f.n; i++) {
        int fold = i < 2 ? 1 : (int)f.fold[i - 2], wide = f.dim[i] + f.before[i] + f.after[i];
        f.out[i] = i == 1 ? wide * places : (wide + fold - 1) / fold;
    }
    return f;
}
/* Where an element of the image is in what it becomes; -1: cut off. */
static int folded_place(const struct folding *f, int element)
{
    int index[5], to[5], place = 0;
    unravel(f->dim, f->n, element, index);
    for (int i = 0; i < f->n; i++) {
        int fold = i < 2 ? 1 : (int)f->fold[i - 2], at = index[i] + f->before[i];
        if (at < 0 || index[i] >= f->dim[i] + f->after[i])
            return -1;
        to[i] = at / fold;
        place = place * fold + at % fold;
    }
    to[1] += place * f->dim[1];
    return ravel(f->out, f->n, to);
}
static void set(void *d, const struct folding *f, int direction)
{
    int before[5], after[5];
    for (int i = 0; i < f->n; i++) {
        before[i] = direction == FOLD ? f->before[i] : -f->before[i];
        after[i] = direction == FOLD ? f->after[i] : -f->after[i];
    }
    OK(cudnnSetTensorTransformDescriptor(d, (unsigned)f->n, NHWC, before, after, f->fold, direction));
}

static void folds(int from, int to, bool filter)
{
    const bool cuts = upto(2), folded = upto(4) != 0;
    struct folding f = random_folding(cuts, folded);
    struct tensor x = make(from, f.n, f.dim, upto(2), !filter && upto(2), filter);
    struct tensor y = make(to, f.n, f.out, upto(2), !filter && upto(2), filter);
    double a = upto(2) ? 1 : 0.5, *want = calloc((size_t)count(&y), sizeof *want);
    union scalar alpha = scalar(to, a), beta = scalar(to, 2), zero = scalar(to, 0);
    int format, back[5], direction, n;
    unsigned fold[3];
    bool changed = folded && (f.fold[0] > 1 || (f.n > 3 && f.fold[1] > 1) || (f.n > 4 && f.fold[2] > 1));
    size_t size = 0;
    void *d, *made;
    OK(cudnnCreateTensorTransformDescriptor(&d));
    set(d, &f, FOLD);
    OK(cudnnGetTensorTransformDescriptor(d, (unsigned)f.n, &format, back, NULL, fold, &direction));
    EXPECT(format == NHWC && direction == FOLD && !memcmp(back, f.before, sizeof *back * (size_t)f.n));
    EXPECT(!memcmp(fold, f.fold, sizeof *fold * (size_t)(f.n - 2)));
    for (int i = 0; i < f.n; i++)
        changed |= f.before[i] || f.after[i];
    for (int i = 0; i < count(&x); i++) {
        int at = folded_place(&f, i);
        if (at >= 0)
            want[at] = a * x.v[i];
    }
#define TRANSFORM(handle, d, alpha, x, beta, y) \
    (filter ? cudnnTransformFilter(handle, d, alpha, (x).desc, (x).at, beta, (y).desc, (y).at) \
            : cudnnTransformTensorEx(handle, d, alpha, (x).desc, (x).at, beta, (y).desc, (y).at))
    OK(TRANSFORM(handle, d, &alpha, x, &zero, y));
    OK(cudaDeviceSynchronize());
    same(&y, want, 2, "folded");
    IS(TRANSFORM(handle, d, &alpha, x, &beta, y), changed ? UNSUPPORTED : 0);
    if (memcmp(f.dim, f.out, sizeof *f.dim * (size_t)f.n)) /* cut before and padded behind, it would fit itself */
        IS(TRANSFORM(handle, d, &alpha, y, &zero, y), BAD);
    if (!filter) {
        int dims[5], steps[5];
        OK(cudnnCreateTensorDescriptor(&made));
        OK(cudnnInitTransformDest(d, x.desc, made, &size));
        IS(size, (size_t)count(&y) * bytes(from));
        OK(cudnnGetTensorNdDescriptor(made, 5, &format, &n, dims, steps));
        EXPECT(n == f.n && format == from && !memcmp(dims, f.out, sizeof *dims * (size_t)n) &&
               (steps[1] == 1 || dims[1] == 1));
        OK(cudnnDestroyTensorDescriptor(made));
    }
    OK(cudaDeviceSynchronize());
    OK(cudnnDestroyTensorTransformDescriptor(d));
    free(want);
    drop(&x), drop(&y);
}

/* What was folded comes back; the blocks' padding is cut off, which the image does not fill. */
static void unfolds(int from, int to)
{
    struct folding f = random_folding(false, true);
    int places = 1;
    for (int i = 2; i < f.n; i++) {
        int fold = (int)f.fold[i - 2], over = (f.dim[i] + f.before[i] + f.after[i]) % fold;
        f.after[i] += over ? fold - over : 0;
        places *= fold;
    }
    if (places == 1)
        return;
    struct tensor x = make(from, f.n, f.out, upto(2), upto(2), false),
                  y = make(to, f.n, f.dim, upto(2), upto(2), false);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2, *want = calloc((size_t)count(&y), sizeof *want);
    union scalar alpha = scalar(to, a), beta = scalar(to, b);
    size_t size = 0;
    void *d, *made;
    OK(cudnnCreateTensorTransformDescriptor(&d));
    set(d, &f, UNFOLD);
    for (int i = 0; i < count(&y); i++)
        want[i] = a * x.v[folded_place(&f, i)] + b * y.v[i];
    OK(cudnnTransformTensorEx(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 2, "unfolded");
    OK(cudnnCreateTensorDescriptor(&made));
    OK(cudnnInitTransformDest(d, x.desc, made, &size));
    IS(size, (size_t)count(&y) * bytes(from));
    OK(cudnnDestroyTensorDescriptor(made));
    f.before[0] = -1; /* what was unfolded is not padded */
    set(d, &f, UNFOLD);
    IS(cudnnTransformTensorEx(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at), UNSUPPORTED);
    OK(cudnnDestroyTensorTransformDescriptor(d));
    free(want);
    drop(&x), drop(&y);
}

/* ---- gradients --------------------------------------------------------------------------------- */

struct descriptors {
    void *w, *dy, *conv, *dx, *t[4]; /* filter, dy, dx folded, dx unfolded */
};
static void create(struct descriptors *d)
{
    OK(cudnnCreateFilterDescriptor(&d->w));
    OK(cudnnCreateTensorDescriptor(&d->dy));
    OK(cudnnCreateTensorDescriptor(&d->dx));
    OK(cudnnCreateConvolutionDescriptor(&d->conv));
    for (int i = 0; i < 4; i++)
        OK(cudnnCreateTensorTransformDescriptor(&d->t[i]));
}
static void destroy(struct descriptors *d)
{
    OK(cudnnDestroyFilterDescriptor(d->w));
    OK(cudnnDestroyTensorDescriptor(d->dy));
    OK(cudnnDestroyTensorDescriptor(d->dx));
    OK(cudnnDestroyConvolutionDescriptor(d->conv));
    for (int i = 0; i < 4; i++)
        OK(cudnnDestroyTensorTransformDescriptor(d->t[i]));
}
#define FOLDED(handle, weights, diff, convolution, data, format, to) \
    cudnnGetFoldedConvBackwardDataDescriptors(handle, (weights).desc, (diff).desc, convolution, (data).desc, format, \
                                              (to).w, (to).dy, (to).conv, (to).dx, (to).t[0], (to).t[1], (to).t[2], \
                                              (to).t[3])

/* As seen of NVIDIA's: 3 channels of 8 x 8, 4 maps, a window of 3 x 3, padding 1, stride 2. */
static void seen(void)
{
    int xd[] = {2, 3, 8, 8}, wd[] = {4, 3, 3, 3}, yd[] = {2, 4, 4, 4}, type, format, n, dim[4], step[4], mode;
    static const int want_w[] = {8, 16, 2, 2}, want_y[] = {2, 8, 5, 5}, want_x[] = {2, 16, 4, 4};
    struct tensor x = make(F32, 4, xd, NCHW, false, false), w = make(F32, 4, wd, NCHW, false, true),
                  y = make(F32, 4, yd, NCHW, false, false);
    struct descriptors d;
    int pad[2], stride[2], dilation[2];
    void *conv;
    create(&d);
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolution2dDescriptor(conv, 1, 1, 2, 2, 1, 1, 1, F32));
    OK(FOLDED(handle, w, y, conv, x, NCHW, d));
    OK(cudnnGetFilterNdDescriptor(d.w, 4, &type, &format, &n, dim));
    EXPECT(type == F32 && format == NCHW && n == 4 && !memcmp(dim, want_w, sizeof dim));
    OK(cudnnGetTensorNdDescriptor(d.dy, 4, &type, &n, dim, step));
    EXPECT(type == F32 && n == 4 && !memcmp(dim, want_y, sizeof dim));
    OK(cudnnGetTensorNdDescriptor(d.dx, 4, &type, &n, dim, step));
    EXPECT(type == F32 && n == 4 && !memcmp(dim, want_x, sizeof dim));
    OK(cudnnGetConvolutionNdDescriptor(d.conv, 2, &n, pad, stride, dilation, &mode, &type));
    EXPECT(n == 2 && pad[0] == 1 && pad[1] == 1 && stride[0] == 1 && stride[1] == 1 && mode == 1);
    IS(FOLDED(NULL, w, y, conv, x, NCHW, d), NOT_INITIALIZED);
    IS(FOLDED(handle, w, y, NULL, x, NCHW, d), BAD);
    IS(FOLDED(handle, w, x, conv, y, NCHW, d), BAD);
    IS(FOLDED(handle, w, y, conv, x, 3, d), BAD);
    IS(FOLDED(handle, w, y, conv, x, VECT, d), UNSUPPORTED);
    void *once = d.t[2];
    d.t[2] = d.dx;
    IS(FOLDED(handle, w, y, conv, x, NCHW, d), BAD);
    d.t[2] = once;
    OK(cudnnSetConvolution2dDescriptor(conv, 1, 1, 2, 2, 1, 1, 0, F32));
    IS(FOLDED(handle, w, y, conv, x, NCHW, d), UNSUPPORTED);
    OK(cudnnDestroyConvolutionDescriptor(conv));
    destroy(&d);
    drop(&x), drop(&w), drop(&y);
}

static void *room(const void *desc, bool filter)
{
    size_t size = 0;
    void *p;
    OK(filter ? cudnnGetFilterSizeInBytes((void *)(uintptr_t)desc, &size)
              : cudnnGetTensorSizeInBytes((void *)(uintptr_t)desc, &size));
    MUST(cudaMalloc(&p, size));
    OK(cudaMemset(p, 0x55, size));
    return p;
}

/* dx = a (gradient) + b dx, as the sum over all products. */
static void gradients(int type)
{
    int pad[] = {upto(4), upto(4)}, stride[] = {1 + upto(3), 1 + upto(3)};
    int wd[] = {1 + upto(9), 1 + upto(5), 1 + upto(4), 1 + upto(4)};
    int xd[] = {1 + upto(2), wd[1], wd[2] + upto(6), wd[3] + upto(6)}, yd[] = {xd[0], wd[0], 0, 0};
    for (int i = 0; i < 2; i++)
        yd[i + 2] = (xd[i + 2] + 2 * pad[i] - wd[i + 2]) / stride[i] + 1;
    struct tensor x = make(type, 4, xd, upto(2), upto(2), false), w = make(type, 4, wd, upto(2), false, true),
                  y = make(type, 4, yd, upto(2), upto(2), false);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : 2, *want = calloc((size_t)count(&x), sizeof *want);
    union scalar alpha = scalar(type, a), beta = scalar(type, b), one = scalar(type, 1), zero = scalar(type, 0);
    struct descriptors d;
    void *conv;
    for (int i = 0; i < count(&y); i++)
        for (int k = 0; k < wd[1] * wd[2] * wd[3]; k++) {
            int yi[4], wi[] = {0, k / wd[3] / wd[2], k / wd[3] % wd[2], k % wd[3]};
            unravel(yd, 4, i, yi);
            wi[0] = yi[1];
            int xi[] = {yi[0], wi[1], yi[2] * stride[0] - pad[0] + wi[2], yi[3] * stride[1] - pad[1] + wi[3]};
            if (xi[2] >= 0 && xi[3] >= 0 && xi[2] < xd[2] && xi[3] < xd[3])
                want[ravel(xd, 4, xi)] += a * y.v[i] * w.v[ravel(wd, 4, wi)];
        }
    for (int i = 0; i < count(&x); i++)
        want[i] += b * x.v[i];
    create(&d);
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolution2dDescriptor(conv, pad[0], pad[1], stride[0], stride[1], 1, 1, 1, type == F64 ? F64 : F32));
    OK(FOLDED(handle, w, y, conv, x, upto(2), d));
    void *wp = room(d.w, true), *yp = room(d.dy, false), *xp = room(d.dx, false);
    OK(cudnnTransformFilter(handle, d.t[0], &one, w.desc, w.at, &zero, d.w, wp));
    OK(cudnnTransformTensorEx(handle, d.t[1], &one, y.desc, y.at, &zero, d.dy, yp));
    OK(cudnnConvolutionBackwardData(handle, &one, d.w, wp, d.dy, yp, d.conv, 1, NULL, 0, &zero, d.dx, xp));
    OK(cudnnTransformTensorEx(handle, d.t[3], &alpha, d.dx, xp, &beta, x.desc, x.at));
    OK(cudaDeviceSynchronize());
    same(&x, want, 8, "gradient by blocks");
    OK(cudnnTransformTensorEx(handle, d.t[2], &one, x.desc, x.at, &zero, d.dx, xp));
    OK(cudnnTransformTensorEx(handle, d.t[3], &one, d.dx, xp, &zero, x.desc, x.at));
    OK(cudaDeviceSynchronize());
    same(&x, want, 8, "folded and unfolded");
    cudaFree(wp), cudaFree(yp), cudaFree(xp);
    OK(cudnnDestroyConvolutionDescriptor(conv));
    destroy(&d);
    free(want);
    drop(&x), drop(&w), drop(&y);
}

/* Numbers that fit no int, or no memory. */
static void wrong(void)
{
    int dim[] = {1, 2, 3, 4}, most = 0x7fffffff, least = -most - 1;
    struct tensor x = make(F32, 4, dim, NCHW, false, false);
    float one = 1, zero = 0;
    size_t size = 7;
    void *d, *made;
    OK(cudnnCreateTensorDescriptor(&made));
    OK(cudnnCreateTensorTransformDescriptor(&d));
    IS(cudnnInitTransformDest(d, x.desc, made, &size), BAD); /* not set yet */
    const struct {
        int before[4], after[4], want;
        unsigned fold[2];
        int direction;
    } cases[] = {{{0, 0, most}, {0, 0, most}, BAD, {1, 1}, FOLD},
                 {{0, 0, least}, {0}, BAD, {1, 1}, FOLD},
                 {{0}, {0}, BAD, {~0u, ~0u}, FOLD},
                 {{0}, {0}, BAD, {~0u, ~0u}, UNFOLD},
                 {{0, 0, least}, {0, 0, least}, BAD, {2, 1}, UNFOLD},
                 {{0, least}, {0, least}, BAD, {2, 1}, UNFOLD},
                 {{0}, {0}, BAD, {1, 3}, UNFOLD},
                 {{0, -1}, {0}, UNSUPPORTED, {1, 3}, FOLD},
                 {{0, 1}, {0}, UNSUPPORTED, {2, 1}, UNFOLD},
                 {{0, 0, 0, most - 8}, {0}, UNSUPPORTED, {1, 1}, FOLD}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cudnnSetTensorTransformDescriptor(d, 4, 0, cases[i].before, cases[i].after, cases[i].fold,
                                             cases[i].direction));
        IS(cudnnInitTransformDest(d, x.desc, made, &size), cases[i].want);
        EXPECT(cudnnTransformTensorEx(handle, d, &one, x.desc, x.at, &zero, x.desc, x.at) != 0);
    }
    IS(cudnnSetTensorTransformDescriptor(d, 4, 0, NULL, NULL, (const unsigned[]){0, 1}, FOLD), BAD);
    IS(cudnnSetTensorTransformDescriptor(d, 4, 0, NULL, NULL, NULL, 2), BAD);
    IS(cudnnSetTensorTransformDescriptor(d, 2, 0, NULL, NULL, NULL, FOLD), BAD);
    OK(cudnnDestroyTensorTransformDescriptor(d));
    OK(cudnnDestroyTensorDescriptor(made));
    drop(&x);
    check(!check_failures, "wrong transformations are refused");
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    seen();
    wrong();
    for (int i = 0; i < 240; i++) {
        folds(types[i % 4], types[upto(4)], upto(3) == 0);
        unfolds(types[i % 4], types[upto(4)]);
        gradients(types[i % 4]);
    }
    OK(cudnnDestroy(handle));
    return check_end("transformations");
}
