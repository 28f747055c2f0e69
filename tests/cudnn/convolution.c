/* Convolutions of random shapes, strides and types in all three directions against plain loops; then what must be
 * refused. */
#include "dnn.h"

struct shape {
    int n, pad[3], stride[3], dilation[3], groups, mode; /* mode 0: the filter is turned around */
    struct tensor x, w, y;
    void *desc;
};

/* Calls `visit` with the places of x, w and y of every product. */
static void each(const struct shape *s, void (*visit)(void *job, int x, int w, int y), void *job)
{
    int spatial_y = 1, window = 1, spatial_x = 1;
    for (int i = 0; i < s->n; i++) {
        spatial_y *= s->y.dim[i + 2];
        spatial_x *= s->x.dim[i + 2];
        window *= s->w.dim[i + 2];
    }
    int maps = s->w.dim[0] / s->groups, channels = s->w.dim[1];
    for (int n = 0; n < s->x.dim[0]; n++)
        for (int k = 0; k < s->w.dim[0]; k++)
            for (int c = 0; c < channels; c++)
                for (int p = 0; p < spatial_y; p++)
                    for (int r = 0; r < window; r++) {
                        int x = 0, step = 1, rest_p = p, rest_r = r, turned = 0, turn = 1;
                        bool inside = true;
                        for (int i = s->n - 1; i >= 0; i--) {
                            int o = rest_p % s->y.dim[i + 2], t = rest_r % s->w.dim[i + 2];
                            int at = o * s->stride[i] - s->pad[i] + t * s->dilation[i];
                            rest_p /= s->y.dim[i + 2];
                            rest_r /= s->w.dim[i + 2];
                            inside &= at >= 0 && at < s->x.dim[i + 2];
                            x += at * step;
                            step *= s->x.dim[i + 2];
                            turned += (s->mode ? t : s->w.dim[i + 2] - 1 - t) * turn;
                            turn *= s->w.dim[i + 2];
                        }
                        if (inside)
                            visit(job, (n * s->x.dim[1] + k / maps * channels + c) * spatial_x + x,
                                  (k * channels + c) * window + turned, (n * s->w.dim[0] + k) * spatial_y + p);
                    }
}
struct sums {
    const double *x, *w, *y;
    double *out;
};
static void add_y(void *job, int x, int w, int y)
{
    ((struct sums *)job)->out[y] += ((struct sums *)job)->x[x] * ((struct sums *)job)->w[w];
}
static void add_x(void *job, int x, int w, int y)
{
    ((struct sums *)job)->out[x] += ((struct sums *)job)->y[y] * ((struct sums *)job)->w[w];
}
static void add_w(void *job, int x, int w, int y)
{
    ((struct sums *)job)->out[w] += ((struct sums *)job)->y[y] * ((struct sums *)job)->x[x];
}

static struct shape random_shape(int type, int out_type)
{
    struct shape s = {.n = 2 + (upto(4) == 0), .groups = upto(3) ? 1 : 1 + upto(3), .mode = upto(4) != 0};
    const int vector = vector_of(type), w_type = type == U8X4 ? I8X4 : type;
    int x[5], w[5], y[5], format = vector > 1 ? VECT : upto(2);
    x[0] = y[0] = 1 + upto(3);
    w[1] = vector > 1 ? vector * (1 + upto(2)) : 1 + upto(5);
    x[1] = w[1] * s.groups;
    w[0] = y[1] = (1 + upto(vector == 32 ? 2 : 5)) * s.groups * vector_of(out_type);
    for (int i = 0; i < s.n; i++) {
        w[i + 2] = 1 + upto(3);
        s.dilation[i] = vector > 1 ? 1 : 1 + upto(2);
        s.stride[i] = 1 + upto(2);
        s.pad[i] = upto(3);
        x[i + 2] = (w[i + 2] - 1) * s.dilation[i] + 1 + upto(6);
        y[i + 2] = (x[i + 2] + 2 * s.pad[i] - (w[i + 2] - 1) * s.dilation[i] - 1) / s.stride[i] + 1;
    }
    s.x = make(type, s.n + 2, x, format, upto(3) == 0, false);
    s.w = make(w_type, s.n + 2, w, vector > 1 ? VECT : upto(2), false, true);
    s.y = make(out_type, s.n + 2, y, vector_of(out_type) > 1 ? VECT : upto(2), upto(3) == 0, false);
    OK(cudnnCreateConvolutionDescriptor(&s.desc));
    OK(cudnnSetConvolutionNdDescriptor(s.desc, s.n, s.pad, s.stride, s.dilation, s.mode,
                                       vector > 1 || type == I8 ? I32
                                       : type == F64            ? F64
                                                                : F32));
    OK(cudnnSetConvolutionGroupCount(s.desc, s.groups));
    int dims[5];
    OK(cudnnGetConvolutionNdForwardOutputDim(s.desc, s.x.desc, s.w.desc, s.n + 2, dims));
    EXPECT(!memcmp(dims, y, sizeof(int) * (size_t)(s.n + 2)), "output shape");
    return s;
}
static void drop_shape(struct shape *s)
{
    drop(&s->x);
    drop(&s->w);
    drop(&s->y);
    OK(cudnnDestroyConvolutionDescriptor(s->desc));
}

/* way 0: forward, 1: data, 2: filter */
static void one(int type, int out_type, int way)
{
    struct shape s = random_shape(type, out_type);
    struct tensor *out = way == 0 ? &s.y : way == 1 ? &s.x : &s.w;
    double a = vector_of(type) > 1 ? 1 / 4096.0 : upto(2) ? 1 : 0.5, b = upto(2) ? 0 : -2;
    union scalar alpha = scalar(out_type, a), beta = scalar(out_type, b);
    double *want = calloc((size_t)count(out), sizeof *want);
    struct sums sums = {s.x.v, s.w.v, s.y.v, want};
    size_t size = 1;
    each(&s, way == 0 ? add_y : way == 1 ? add_x : add_w, &sums);
    for (int i = 0; i < count(out); i++) {
        want[i] = held(out_type, a * want[i] + b * out->v[i]);
    }
    if (way == 0) {
        OK(cudnnGetConvolutionForwardWorkspaceSize(handle, s.x.desc, s.w.desc, s.desc, s.y.desc, 0, &size));
        OK(cudnnConvolutionForward(handle, &alpha, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, NULL, 0, &beta,
                                   s.y.desc, s.y.at));
    } else if (way == 1) {
        OK(cudnnGetConvolutionBackwardDataWorkspaceSize(handle, s.w.desc, s.y.desc, s.desc, s.x.desc, 1, &size));
        OK(cudnnConvolutionBackwardData(handle, &alpha, s.w.desc, s.w.at, s.y.desc, s.y.at, s.desc, 1, NULL, 0, &beta,
                                        s.x.desc, s.x.at));
    } else {
        OK(cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, s.x.desc, s.y.desc, s.desc, s.w.desc, 1, &size));
        OK(cudnnConvolutionBackwardFilter(handle, &alpha, s.x.desc, s.x.at, s.y.desc, s.y.at, s.desc, 1, NULL, 0, &beta,
                                          s.w.desc, s.w.at));
    }
    OK(cudaDeviceSynchronize());
    IS(size, 0);
    same(out, want, 4, way == 0 ? "forward" : way == 1 ? "backward data" : "backward filter");
    free(want);
    drop_shape(&s);
}

static double activate(int mode, double x)
{
    return mode == 0   ? 1 / (1 + exp(-x))
           : mode == 1 ? fmax(x, 0)
           : mode == 2 ? tanh(x)
           : mode == 3 ? fmin(fmax(x, 0), 0.75)
           : mode == 4 ? (x > 0 ? x : 0.75 * expm1(x))
           : mode == 6 ? x / (1 + exp(-x))
                       : x;
}

static void fused(int type, int out_type)
{
    struct shape s = random_shape(type, out_type);
    int mode = upto(7), dims[5] = {1, s.y.dim[1], 1, 1, 1};
    struct tensor z = make(out_type, s.y.n, s.y.dim, vector_of(out_type) > 1 ? VECT : NCHW, upto(2), false);
    struct tensor bias = make(out_type == F64 ? F64 : F32, s.y.n, dims, NCHW, false, false);
    double a1 = vector_of(type) > 1 ? 1 / 4096.0 : upto(2) ? 1 : 0.5, a2 = upto(2) ? 0 : 0.25;
    union scalar alpha1 = scalar(out_type, a1), alpha2 = scalar(out_type, a2);
    double *want = calloc((size_t)count(&s.y), sizeof *want);
    struct sums sums = {s.x.v, s.w.v, s.y.v, want};
    void *act;
    bool in_place = upto(3) == 0;
    int spatial = count(&s.y) / s.y.dim[0] / s.y.dim[1];
    each(&s, add_y, &sums);
    for (int i = 0; i < count(&s.y); i++) {
        double v = a1 * want[i] + a2 * (in_place ? s.y.v[i] : z.v[i]) + bias.v[i / spatial % s.y.dim[1]];
        want[i] = held(out_type, activate(mode, v));
    }
    OK(cudnnCreateActivationDescriptor(&act));
    OK(cudnnSetActivationDescriptor(act, mode, 0, 0.75));
    OK(cudnnConvolutionBiasActivationForward(handle, &alpha1, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 1, NULL, 0,
                                             &alpha2, in_place ? s.y.desc : z.desc, in_place ? s.y.at : z.at, bias.desc,
                                             bias.at, act, s.y.desc, s.y.at));
    OK(cudaDeviceSynchronize());
    same(&s.y, want, 4, "bias and activation");
    OK(cudnnDestroyActivationDescriptor(act));
    free(want);
    drop(&z);
    drop(&bias);
    drop_shape(&s);
}

/* The bias's gradient. */
static void bias(int type)
{
    struct shape s = random_shape(type, type);
    int dims[5] = {1, s.y.dim[1], 1, 1, 1}, spatial = count(&s.y) / s.y.dim[0] / s.y.dim[1];
    struct tensor b = make(type, s.y.n, dims, NCHW, false, false);
    union scalar alpha = scalar(type, 0.5), beta = scalar(type, 2);
    double want[32] = {0};
    for (int i = 0; i < count(&s.y); i++)
        want[i / spatial % s.y.dim[1]] += 0.5 * s.y.v[i];
    for (int i = 0; i < s.y.dim[1]; i++)
        want[i] += 2 * b.v[i];
    OK(cudnnConvolutionBackwardBias(handle, &alpha, s.y.desc, s.y.at, &beta, b.desc, b.at));
    OK(cudaDeviceSynchronize());
    same(&b, want, 4, "bias gradient");
    drop(&b);
    drop_shape(&s);
}

/* What NVIDIA's refuse of vectors and bytes; the last runs. */
/* Numbers below the least normal one of bfloat16 count, on whatever the CPU multiplies: 2^-130 times 2^100. */
static void subnormals(void)
{
    enum { MAPS = 32, PLACES = 64 };
    const int image[] = {1, MAPS, 8, 8}, square[] = {MAPS, MAPS, 1, 1};
    const float alpha = 1, beta = 0;
    struct tensor x = make(BF16, 4, image, NCHW, false, false), w = make(BF16, 4, square, NCHW, false, true),
                  y = make(BF16, 4, image, NCHW, false, false);
    void *conv;
    double *want = calloc(MAPS * PLACES, sizeof *want);
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, 1, F32));
    for (int i = 0; i < MAPS * PLACES; i++)
        x.v[i] = 0x1p-130, want[i] = 0x1p-30;
    for (int i = 0; i < MAPS * MAPS; i++)
        w.v[i] = i % (MAPS + 1) ? 0 : 0x1p100;
    upload(&x), upload(&w);
    OK(cudnnConvolutionForward(handle, &alpha, x.desc, x.at, w.desc, w.at, conv, 1, NULL, 0, &beta, y.desc, y.at));
    EXPECT(get(x.host, BF16, 0) == 0x1p-130);
    OK(cudaMemcpy(y.host, y.at, y.size * bytes(BF16), 2));
    for (int i = 0; i < MAPS * PLACES; i++)
        EXPECT(get(y.host, BF16, (size_t)i) == want[i], "place %d: %g, not %g", i, get(y.host, BF16, (size_t)i),
               want[i]);
    OK(cudnnDestroyConvolutionDescriptor(conv));
    free(want);
    drop(&x), drop(&w), drop(&y);
}

static void vectors_refused(void)
{
    static const struct {
        int x, y, x_format, y_format, dilation, compute, want;
    } cases[] = {{I8X4, I8, VECT, NCHW, 1, I32, UNSUPPORTED},   {I8X4, I8X4, VECT, VECT, 1, F32, UNSUPPORTED},
                 {I8X4, I8X4, VECT, VECT, 2, I32, UNSUPPORTED}, {I8X4, I8X32, VECT, VECT, 1, I32, UNSUPPORTED},
                 {I8X32, F32, VECT, NCHW, 1, I32, UNSUPPORTED}, {I8X32, I8X4, VECT, VECT, 1, I32, UNSUPPORTED},
                 {I8X4, U8X4, VECT, VECT, 1, I32, UNSUPPORTED}, {I8, I8X4, NHWC, VECT, 1, I32, UNSUPPORTED},
                 {U8, U8, NHWC, NHWC, 1, I32, UNSUPPORTED},     {U8, I8, NHWC, NHWC, 1, I32, 0},
                 {I8, I8, NHWC, NHWC, 1, I8, UNSUPPORTED}, /* what PyTorch asks for: sums of eight bits */
                 {I8, I32, NHWC, NHWC, 1, F32, UNSUPPORTED},    {F32, F32, NCHW, NCHW, 1, I32, UNSUPPORTED},
                 {F16, F16, NCHW, NCHW, 1, BF16, UNSUPPORTED},  {I8X4, I8X4, VECT, VECT, 1, I32, 0}};
    float one = 1, zero = 0;
    size_t size;
    void *conv;
    OK(cudnnCreateConvolutionDescriptor(&conv));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int d = cases[i].dilation, xd[] = {1, 32, 4, 4}, wd[] = {32, 32, 2, 2}, yd[] = {1, 32, 4 - d, 4 - d};
        struct tensor x = make(cases[i].x, 4, xd, cases[i].x_format, false, false);
        struct tensor w = make(cases[i].x == U8 ? I8 : cases[i].x, 4, wd, cases[i].x_format, false, true);
        struct tensor y = make(cases[i].y, 4, yd, cases[i].y_format, false, false);
        OK(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, d, d, 1, cases[i].compute));
        IS(cudnnConvolutionForward(handle, &one, x.desc, x.at, w.desc, w.at, conv, 1, NULL, 0, &zero, y.desc, y.at),
           cases[i].want);
        IS(cudnnGetConvolutionForwardWorkspaceSize(handle, x.desc, w.desc, conv, y.desc, 1, &size), cases[i].want);
        IS(cudnnConvolutionBackwardData(handle, &one, w.desc, w.at, y.desc, y.at, conv, 1, NULL, 0, &zero, x.desc,
                                        x.at),
           UNSUPPORTED);
        IS(cudnnConvolutionBackwardFilter(handle, &one, x.desc, x.at, y.desc, y.at, conv, 1, NULL, 0, &zero, w.desc,
                                          w.at),
           UNSUPPORTED);
        OK(cudaDeviceSynchronize());
        drop(&x), drop(&w), drop(&y);
    }
    OK(cudnnDestroyConvolutionDescriptor(conv));
    check(!check_failures, "convolutions of vectors that cuDNN lacks are refused");
}

static void wrong(void)
{
    struct shape s = random_shape(F32, F32);
    float one = 1, zero = 0;
    int n = 0;
    char perf[8][80];
    size_t size;
#define FORWARD(h, a, xd, x, wd, w, cd, algo, b, yd, y) \
    cudnnConvolutionForward(h, a, xd, x, wd, w, cd, algo, NULL, 0, b, yd, y)
    IS(FORWARD(NULL, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), NOT_INITIALIZED);
    IS(FORWARD(s.x.desc, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, NULL, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, NULL, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.w.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, NULL, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.x.desc, s.w.at, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, NULL, s.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.w.desc, 0, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 99, &zero, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, NULL, s.y.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.desc, s.y.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, s.y.desc, NULL), BAD);
    IS(cudnnConvolutionForward(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, NULL, 64, &zero, s.y.desc,
                               s.y.at),
       BAD);
    int dims[5];
    memcpy(dims, s.y.dim, sizeof dims);
    dims[s.y.n - 1]++;
    struct tensor other = make(F32, s.y.n, dims, NCHW, false, false),
                  doubles = make(F64, s.y.n, s.y.dim, NCHW, false, false);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, other.desc, other.at), BAD);
    IS(FORWARD(handle, &one, s.x.desc, s.x.at, s.w.desc, s.w.at, s.desc, 0, &zero, doubles.desc, doubles.at),
       UNSUPPORTED);
    OK(cudnnGetConvolutionForwardAlgorithm_v7(handle, s.x.desc, s.w.desc, s.desc, s.y.desc, 8, &n, perf));
    IS(n, 1);
    IS(cudnnGetConvolutionForwardAlgorithm_v7(handle, s.x.desc, s.w.desc, s.desc, s.y.desc, 0, &n, perf), BAD);
    IS(cudnnGetConvolutionForwardAlgorithm_v7(handle, s.x.desc, s.w.desc, s.desc, s.y.desc, 1, NULL, perf), BAD);
    IS(cudnnFindConvolutionForwardAlgorithm(handle, s.x.desc, s.w.desc, s.desc, other.desc, 8, &n, perf), BAD);
    IS(cudnnGetConvolutionForwardWorkspaceSize(handle, s.x.desc, s.w.desc, s.desc, s.y.desc, 0, NULL), BAD);
    IS(cudnnGetConvolutionForwardWorkspaceSize(handle, s.x.desc, s.w.desc, s.desc, s.y.desc, 77, &size), BAD);
    int bad[3] = {-1, 0, 0}, good[3] = {1, 1, 1}, nothing[3] = {0};
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 2, bad, good, good, 1, F32), BAD);
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 2, good, nothing, good, 1, F32), BAD);
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 2, good, good, nothing, 1, F32), BAD);
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 2, NULL, good, good, 1, F32), BAD);
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 99, good, good, good, 1, F32), UNSUPPORTED);
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 2, good, good, good, 5, F32), BAD);
    IS(cudnnSetConvolutionNdDescriptor(s.desc, 2, good, good, good, 1, 99), BAD);
    IS(cudnnSetConvolutionGroupCount(s.desc, 0), BAD);
    IS(cudnnSetTensor4dDescriptor(s.x.desc, 0, F32, 1, 0, 1, 1), BAD);
    IS(cudnnSetTensor4dDescriptor(s.x.desc, 0, 99, 1, 1, 1, 1), BAD);
    IS(cudnnSetTensor4dDescriptor(s.x.desc, 9, F32, 1, 1, 1, 1), BAD);
    IS(cudnnSetTensor4dDescriptor(s.x.desc, VECT, I8X4, 1, 6, 1, 1), BAD);
    IS(cudnnSetTensor4dDescriptor(s.w.desc, 0, F32, 1, 1, 1, 1), BAD);
    IS(cudnnSetTensor4dDescriptor(NULL, 0, F32, 1, 1, 1, 1), BAD);
    IS(cudnnSetTensorNdDescriptor(s.x.desc, F32, 99, dims, dims), UNSUPPORTED);
    IS(cudnnCreateTensorDescriptor(NULL), BAD);
    IS(cudnnDestroyTensorDescriptor(s.w.desc), BAD);
    drop(&other);
    drop(&doubles);
    drop_shape(&s);
    check(!check_failures, "wrong convolutions are refused");
}

int main(void)
{
    static const int types[][2] = {{F32, F32}, {F64, F64}, {F16, F16}, {BF16, BF16}, {I8, I8}, {I8, F32}, {I8, I32}};
    static const int vectors[][2] = {{I8X4, I8X4}, {I8X4, F32}, {U8X4, I8X4}, {U8X4, F32}, {I8X32, I8X32}};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 300; i++) {
        const int *t = types[i % 7];
        one(t[0], t[1], t[0] == I8 ? 0 : i / 7 % 3);
    }
    for (int i = 0; i < 60; i++)
        fused(types[i % 4][0], types[i % 4][1]);
    for (int i = 0; i < 60; i++)
        one(vectors[i % 5][0], vectors[i % 5][1], 0), fused(vectors[i % 5][0], vectors[i % 5][1]);
    for (int i = 0; i < 20; i++)
        bias(types[i % 4][0]);
    subnormals();
    vectors_refused();
    wrong();
    OK(cudnnDestroy(handle));
    return check_end("convolutions");
}
