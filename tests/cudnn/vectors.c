/* Vectors of 4 and 32 channels (NCHW_VECT_C) and numbers of eight bits against plain loops: what descriptors say of
 * them, changes of layout and type, pooling, activations, softmax, sums; and what is refused. Their convolutions are
 * in convolution.c. */
#include "dnn.h"

static int format_of(int type) { return vector_of(type) > 1 ? VECT : upto(2); }
static struct tensor random_of(int type, int n, const int *dim)
{
    return make(type, n, dim, format_of(type), upto(3) == 0, false);
}
/* Channels that every type's vectors divide. */
static int random_dims(int *dim, int type, int other)
{
    int n = 4 + upto(2), most = vector_of(type) > vector_of(other) ? vector_of(type) : vector_of(other);
    for (int i = 0; i < n; i++)
        dim[i] = 1 + upto(4);
    dim[1] *= most;
    return n;
}

static void descriptors(void)
{
    static const int wrong_types[] = {I64, BOOL, E4M3, E5M2};
    int dim[] = {2, 8, 3, 5}, type, n, back[4], step[4];
    size_t size;
    void *d, *w;
    OK(cudnnCreateTensorDescriptor(&d));
    OK(cudnnCreateFilterDescriptor(&w));
    OK(cudnnSetTensor4dDescriptor(d, VECT, I8X4, 2, 8, 3, 5));
    OK(cudnnGetTensorNdDescriptor(d, 4, &type, &n, back, step));
    EXPECT(type == I8X4 && n == 4 && !memcmp(back, dim, sizeof dim));
    EXPECT(step[0] == 30 && step[1] == 15 && step[2] == 5 && step[3] == 1);
    OK(cudnnGetTensorSizeInBytes(d, &size));
    IS(size, 240);
    OK(cudnnSetTensor4dDescriptor(d, VECT, I8X32, 2, 64, 3, 5));
    OK(cudnnGetTensorSizeInBytes(d, &size));
    IS(size, 1920);
    OK(cudnnSetFilter4dDescriptor(w, I8X32, VECT, 32, 32, 3, 3));
    OK(cudnnGetFilterSizeInBytes(w, &size));
    IS(size, 9216);
    IS(cudnnSetTensor4dDescriptor(d, VECT, I8X4, 2, 6, 3, 5), BAD);
    IS(cudnnSetTensor4dDescriptor(d, VECT, I8X32, 2, 8, 3, 5), BAD);
    IS(cudnnSetTensor4dDescriptor(d, VECT, I8, 2, 8, 3, 5), BAD);
    IS(cudnnSetFilter4dDescriptor(w, I8, VECT, 8, 8, 3, 3), BAD);
    for (int i = 0; i < 4; i++) {
        IS(cudnnSetTensor4dDescriptor(d, NCHW, wrong_types[i], 2, 8, 3, 5), BAD);
        IS(cudnnSetTensorNdDescriptor(d, wrong_types[i], 4, dim, step), BAD);
        IS(cudnnSetFilter4dDescriptor(w, wrong_types[i], NCHW, 8, 8, 3, 3), BAD);
    }
    OK(cudnnDestroyTensorDescriptor(d));
    OK(cudnnDestroyFilterDescriptor(w));
    check(!check_failures, "descriptors of vectors");
}

/* Is it NVIDIA's that a tensor of one type becomes one of the other? `extended`: cudnnTransformTensorEx. */
static int allowed(int from, int to, bool extended)
{
    bool vectors = vector_of(from) > 1 || vector_of(to) > 1, is_unsigned = from == U8 || from == U8X4;
    if (extended)
        return 0;
    if (vector_of(from) == 32 || vector_of(to) == 32)
        return BAD;
    return vectors && bytes(from) == 1 && bytes(to) == 1 && is_unsigned != (to == U8 || to == U8X4) ? UNSUPPORTED : 0;
}

static void moves(int from, int to)
{
    int dim[8], n = random_dims(dim, from, to);
    struct tensor x = random_of(from, n, dim), y = random_of(to, n, dim);
    double a = upto(2) ? 1 : 0.5, b = upto(2) ? 0 : -0.5, *want = calloc((size_t)count(&y), sizeof *want);
    union scalar alpha = scalar(to, a), beta = scalar(to, b);
    const bool extended = upto(2);
    void *d;
    for (int i = 0; i < count(&y); i++)
        want[i] = held(to, a * x.v[i] + b * y.v[i]);
    if (extended) {
        OK(cudnnCreateTensorTransformDescriptor(&d));
        OK(cudnnSetTensorTransformDescriptor(d, (unsigned)n, vector_of(to) > 1 ? VECT : NCHW, NULL, NULL, NULL, 0));
        OK(cudnnTransformTensorEx(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at));
        OK(cudnnDestroyTensorTransformDescriptor(d));
    } else {
        IS(cudnnTransformTensor(handle, &alpha, x.desc, x.at, &beta, y.desc, y.at), allowed(from, to, false));
    }
    OK(cudaDeviceSynchronize());
    same(&y, allowed(from, to, extended) ? y.v : want, 1, "moved");
    free(want);
    drop(&x), drop(&y);
}

/* A multiple of the vectors is added in front of the channels and behind them. */
static void pads(int type)
{
    int n = 4, dim[] = {2, 3 * vector_of(type), 2, 3}, before[4] = {0, vector_of(type)}, after[4] = {1, 0, 1, 0},
        out[4];
    for (int i = 0; i < n; i++)
        out[i] = dim[i] + before[i] + after[i];
    struct tensor x = random_of(type, n, dim), y = random_of(type, n, out);
    double *want = calloc((size_t)count(&y), sizeof *want);
    float one = 1, zero = 0;
    void *d;
    for (int i = 0; i < count(&x); i++) {
        int rest = i, at = 0, step = 1;
        for (int k = n - 1; k >= 0; rest /= dim[k], step *= out[k], k--)
            at += (rest % dim[k] + before[k]) * step;
        want[at] = x.v[i];
    }
    OK(cudnnCreateTensorTransformDescriptor(&d));
    OK(cudnnSetTensorTransformDescriptor(d, 4, VECT, before, after, NULL, 0));
    OK(cudnnTransformTensorEx(handle, d, &one, x.desc, x.at, &zero, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "padded");
    before[1] -= 1, after[1] += 1;
    OK(cudnnSetTensorTransformDescriptor(d, 4, VECT, before, after, NULL, 0));
    IS(cudnnTransformTensorEx(handle, d, &one, x.desc, x.at, &zero, y.desc, y.at),
       vector_of(type) > 1 ? UNSUPPORTED : 0);
    OK(cudnnSetTensorTransformDescriptor(d, 4, VECT, NULL, NULL, (const unsigned[]){2, 3}, 0));
    IS(cudnnTransformTensorEx(handle, d, &one, x.desc, x.at, &zero, y.desc, y.at), BAD);
    OK(cudaDeviceSynchronize());
    OK(cudnnDestroyTensorTransformDescriptor(d));
    free(want);
    drop(&x), drop(&y);
}

static void pools(int type)
{
    int dim[] = {1 + upto(2), (1 + upto(2)) * vector_of(type), 2 + upto(5), 2 + upto(5)}, out[4];
    int mode = upto(3), window = 1 + upto(2), pad = upto(window), stride = 1 + upto(2);
    struct tensor x = random_of(type, 4, dim);
    double a = upto(2) ? 1 : 2.5, b = upto(2) ? 0 : 0.5;
    union scalar alpha = scalar(type, a), beta = scalar(type, b);
    void *d;
    OK(cudnnCreatePoolingDescriptor(&d));
    OK(cudnnSetPooling2dDescriptor(d, mode, 0, window, window, pad, pad, stride, stride));
    OK(cudnnGetPoolingNdForwardOutputDim(d, x.desc, 4, out));
    struct tensor y = random_of(type, 4, out), plain = make(I8, 4, out, NCHW, false, false);
    double *want = calloc((size_t)count(&y), sizeof *want);
    for (int i = 0; i < count(&y); i++) {
        int q = i % out[3], p = i / out[3] % out[2], image = i / out[3] / out[2], inside = 0;
        double sum = 0, most = -INFINITY;
        for (int k = 0; k < window * window; k++) {
            int h = p * stride - pad + k / window, w = q * stride - pad + k % window;
            if (h < 0 || w < 0 || h >= dim[2] || w >= dim[3])
                continue;
            double v = x.v[(image * dim[2] + h) * dim[3] + w];
            most = fmax(most, v), sum += v, inside++;
        }
        double v = mode == 0 ? most : sum / (mode == 1 ? window * window : inside);
        want[i] = held(type, a * v + b * y.v[i]);
    }
    IS(cudnnPoolingForward(handle, d, &alpha, x.desc, x.at, &beta, plain.desc, plain.at), type == I8 ? 0 : BAD);
    OK(cudnnPoolingForward(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "pooled");
    OK(cudnnDestroyPoolingDescriptor(d));
    free(want);
    drop(&x), drop(&y), drop(&plain);
}

static double activated(int mode, double x)
{
    return mode == 0   ? 1 / (1 + exp(-x))
           : mode == 1 ? fmax(x, 0)
           : mode == 2 ? tanh(x)
           : mode == 3 ? fmin(fmax(x, 0), 6)
                       : (x > 0 ? x : 6 * expm1(x));
}
static void activations(int type)
{
    int dim[8], n = random_dims(dim, type, type), mode = upto(5);
    struct tensor x = random_of(type, n, dim), y = random_of(type, n, dim),
                  plain = make(I8, n, dim, NCHW, false, false);
    double a = upto(2) ? 1 : 2.5, b = upto(2) ? 0 : 0.5, *want = calloc((size_t)count(&y), sizeof *want);
    union scalar alpha = scalar(type, a), beta = scalar(type, b);
    void *d;
    for (int i = 0; i < count(&y); i++)
        want[i] = held(type, a * activated(mode, x.v[i]) + b * y.v[i]);
    OK(cudnnCreateActivationDescriptor(&d));
    OK(cudnnSetActivationDescriptor(d, mode, 0, mode == 1 ? 0 : 6));
    OK(cudnnActivationForward(handle, d, &alpha, x.desc, x.at, &beta, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "activated");
    IS(cudnnActivationForward(handle, d, &alpha, x.desc, x.at, &beta, plain.desc, plain.at), type == I8 ? 0 : BAD);
    OK(cudaDeviceSynchronize());
    OK(cudnnDestroyActivationDescriptor(d));
    free(want);
    drop(&x), drop(&y), drop(&plain);
}

/* Over the channels of each place, whose numbers are near each other so that more than one counts. */
static void softmaxes(int type)
{
    int dim[8], n = random_dims(dim, type, type), places = 1;
    struct tensor x = random_of(type, n, dim), y = random_of(type, n, dim);
    double *want = calloc((size_t)count(&y), sizeof *want);
    float a = 100, b = 0;
    for (int i = 2; i < n; i++)
        places *= dim[i];
    for (int i = 0; i < count(&x); i++)
        x.v[i] = upto(4);
    upload(&x);
    for (int i = 0; i < count(&x); i++) {
        double sum = 0;
        const double *first = x.v + i / places / dim[1] * dim[1] * places + i % places;
        for (int c = 0; c < dim[1]; c++)
            sum += exp(first[c * places]);
        want[i] = held(type, a * exp(x.v[i]) / sum);
    }
    OK(cudnnSoftmaxForward(handle, 1, 1, &a, x.desc, x.at, &b, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "softmax");
    free(want);
    drop(&x), drop(&y);
}

/* A number for each channel is added; all are scaled; all become one. */
static void sums(int type)
{
    int dim[8], small[8] = {1, 1, 1, 1, 1, 1, 1, 1}, n = random_dims(dim, type, type), places = 1, i;
    small[1] = dim[1];
    struct tensor y = random_of(type, n, dim), bias = random_of(type, n, small);
    double *want = calloc((size_t)count(&y), sizeof *want);
    float half = 0.5f, quarter = 0.25f;
    signed char value[32] = {9, 9, 9, 9}, uneven[32] = {9, 9, 8, 9};
    for (i = 2; i < n; i++)
        places *= dim[i];
    for (i = 0; i < count(&y); i++)
        want[i] = held(type, 0.5 * bias.v[i / places % dim[1]] + 0.25 * y.v[i]);
    OK(cudnnAddTensor(handle, &half, bias.desc, bias.at, &quarter, y.desc, y.at));
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "sum");
    for (i = 0; i < count(&y); i++)
        want[i] = held(type, 0.5 * want[i]);
    OK(cudnnScaleTensor(handle, y.desc, y.at, &half));
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "scaled");
    IS(cudnnSetTensor(handle, y.desc, y.at, value), vector_of(type) == 32 ? UNSUPPORTED : 0);
    for (i = 0; i < count(&y) && vector_of(type) != 32; i++)
        want[i] = 9;
    IS(cudnnSetTensor(handle, y.desc, y.at, uneven), vector_of(type) == 1 ? 0 : UNSUPPORTED);
    OK(cudaDeviceSynchronize());
    same(&y, want, 0, "filled");
    free(want);
    drop(&y), drop(&bias);
}

int main(void)
{
    static const int small[] = {I8, U8, I8X4, U8X4, I8X32}, all[] = {I8, U8, I8X4, U8X4, I8X32, F32, F64, F16, I32};
    MUST(cudnnCreate(&handle));
    descriptors();
    for (int i = 0; i < 400; i++)
        moves(all[i % 9], all[i / 9 % 9]);
    for (int i = 0; i < 100; i++) {
        pads(small[i % 5]);
        pools(small[i % 5]);
        activations(small[i % 5]);
        softmaxes(small[i % 5]);
        sums(small[i % 5]);
    }
    OK(cudnnDestroy(handle));
    return check_end("vectors");
}
