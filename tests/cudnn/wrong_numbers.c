/* Descriptors of cuDNN with drawn numbers: negative, zero, small, of which products are beyond all memory. What is
 * refused has a status; of what is taken the sizes that the library tells are those of arithmetic. */
#include "wrong.h"

/* One of each four is none that is possible. */
static int any(void)
{
    static const int odd[] = {0, -1, INT32_MIN, INT32_MAX, 1 << 16, 1 << 20, 46341, INT32_MAX - 1};
    return upto(3) ? 1 + upto(6) : odd[upto(8)];
}
static int taken, refusals;
/* Whether it was taken. */
static bool told(int r, const char *what)
{
    EXPECT(!r || is_refusal(r), "%s: %d", what, r);
    *(r ? &refusals : &taken) += 1;
    return !r;
}
static void fits(double want, size_t got, const char *what)
{
    EXPECT(fabs(want - (double)got) <= 1e-9 * want, "%s: %zu bytes, not %g", what, got, want);
}

static void layers(void)
{
    static const int types[] = {F32, F64, F16, BF16, I8, 99};
    const int cell = upto(4), bias = upto(4), directions = 1 + upto(2), type = types[upto(6)];
    const int input = any(), hidden = any(), layers = any(), time = any(), batch = 1 + upto(3), width = any();
    const int out = cell == 2 && upto(2) ? any() : hidden, length[] = {1, 1, 1, 1},
              gates = cell == 2   ? 4
                      : cell == 3 ? 3
                                  : 1;
    void *d = NULL, *x = NULL;
    size_t size, reserve, none;
    OK(cudnnCreateRNNDescriptor(&d));
    OK(cudnnCreateRNNDataDescriptor(&x));
    bool sequences = told(cudnnSetRNNDataDescriptor(x, type, upto(3), time, batch, width, length, NULL), "sequences");
    EXPECT(!sequences || (time > 0 && width > 0 && type != 99), "sequences %d x %d of type %d", time, width, type);
    bool set = told(cudnnSetRNNDescriptor_v8(d, 0, cell, bias, directions - 1, 0, type, type, 0, input, hidden, out,
                                             layers, NULL, 0),
                    "a layer");
    EXPECT(!set || (input >= 0 && hidden > 0 && out >= 0 && layers > 0 && type < I8 + 99), "%d %d %d", input, hidden,
           layers);
    IS(cudnnGetRNNWeightSpaceSize(handle, d, &size) == 0, set);
    const double least = (double)time * batch * layers * directions * hidden;
    const bool sized = cudnnGetRNNTempSpaceSizes(handle, d, 1, x, &none, &reserve) == 0;
    EXPECT(sized == (set && sequences) || (!sized && least > 1e12), "a reserve of %d x %d x %d x %d", time, batch,
           layers, hidden);
    if (set) {
        const double h = hidden, o = out ? out : hidden, wide = directions * o, rows = gates * h;
        const double biases = bias == 0 ? 0 : bias == 3 ? 1 : bias == 2 ? 2 : 1, all = (double)layers * directions;
        double n = directions * rows * input + (all - directions) * rows * wide + all * (rows * o + biases * rows);
        n += o < h ? all * o * h : 0;
        fits(n * (double)bytes(type), size, "weights");
    }
    EXPECT(!sized || (double)reserve >= 8 * least, "%zu bytes for %d x %d x %d x %d", reserve, time, batch, layers,
           hidden);
    OK(cudnnDestroyRNNDescriptor(d));
    OK(cudnnDestroyRNNDataDescriptor(x));
}

static void heads(void)
{
    void *d = NULL, *s = NULL;
    int v[12], dims[4], length[16] = {0}, proj = any();
    size_t weights, space, reserve;
    OK(cudnnCreateAttnDescriptor(&d));
    OK(cudnnCreateSeqDataDescriptor(&s));
    for (int i = 0; i < 12; i++)
        v[i] = any();
    for (int i = 0; i < 4; i++)
        dims[i] = i == 1 || i == 2 ? 1 + upto(3) : any();
    bool set = told(cudnnSetAttnDescriptor(d, (unsigned)upto(4), v[0], 0.5, F32, F32, 0, NULL, NULL, v[1], v[2], v[3],
                                           proj, proj, v[4], v[5], v[6], v[7], v[8], v[9]),
                    "attention");
    IS(cudnnGetMultiHeadAttnBuffers(handle, d, &weights, &space, &reserve) == 0, set);
    if (set) {
        const double value = v[4] ? v[4] : v[3];
        EXPECT((double)weights >=
                   4 * (double)v[0] *
                       ((double)proj * v[1] + (double)proj * v[2] + (double)v[4] * v[3] + (double)v[5] * value),
               "%zu bytes of weights", weights);
        EXPECT((double)reserve >= 4 * (double)v[0] * v[6] * v[7] * v[8] * v[9], "%zu bytes of reserve", reserve);
    }
    (void)told(cudnnSetSeqDataDescriptor(s, F32, 4, dims, (int[]){upto(4), upto(4), upto(4), 3},
                                         (size_t)(dims[1] * dims[2] + upto(2)), length, NULL),
               "sequences of vectors");
    OK(cudnnDestroyAttnDescriptor(d));
    OK(cudnnDestroySeqDataDescriptor(s));
}

static void losses(void)
{
    void *d = NULL, *t = NULL;
    size_t size;
    int dims[3] = {any(), any(), any()}, strides[3] = {any(), any(), any()}, most = any();
    OK(cudnnCreateCTCLossDescriptor(&d));
    OK(cudnnCreateTensorDescriptor(&t));
    bool shaped = told(cudnnSetTensorNdDescriptor(t, F32, 3, dims, strides), "a tensor");
    bool set = told(cudnnSetCTCLossDescriptor_v8(d, F32, any(), any(), most), "a loss");
    IS(cudnnGetCTCLossWorkspaceSize_v8(handle, 0, d, t, NULL, &size) == 0, shaped && set);
    if (shaped && set) {
        const double states = 2.0 * most + 1;
        EXPECT((double)size >= 8 * (double)dims[0] * dims[1] * states, "%zu bytes for %d x %d x %d, %d labels", size,
               dims[0], dims[1], dims[2], most);
    }
    OK(cudnnDestroyCTCLossDescriptor(d));
    OK(cudnnDestroyTensorDescriptor(t));
}

/* Windows, and what comes out of them. */
static void windows(void)
{
    void *x = NULL, *w = NULL, *conv = NULL, *pool = NULL, *y = NULL;
    const int xd[] = {any(), any(), any(), any()}, wd[] = {any(), upto(4) ? xd[1] : any(), any(), any()};
    int pad[2] = {any(), any()}, step[2] = {any(), any()}, more[2] = {any(), any()}, out[4] = {0};
    size_t size = 0;
    OK(cudnnCreateTensorDescriptor(&x));
    OK(cudnnCreateTensorDescriptor(&y));
    OK(cudnnCreateFilterDescriptor(&w));
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnCreatePoolingDescriptor(&pool));
    bool shaped = told(cudnnSetTensor4dDescriptor(x, NCHW, F32, xd[0], xd[1], xd[2], xd[3]), "a tensor");
    bool filter = told(cudnnSetFilter4dDescriptor(w, F32, NCHW, wd[0], wd[1], wd[2], wd[3]), "a filter");
    bool set = told(cudnnSetConvolutionNdDescriptor(conv, 2, pad, step, more, 0, F32), "a convolution");
    if (told(cudnnGetConvolutionNdForwardOutputDim(conv, x, w, 4, out), "its output")) {
        EXPECT(shaped && filter && set, "an output of nothing");
        for (int i = 0; i < 2; i++) {
            double want = floor(((double)xd[2 + i] + 2.0 * pad[i] - ((wd[2 + i] - 1.0) * more[i] + 1)) / step[i]) + 1;
            EXPECT(out[2 + i] == want && want > 0, "%d, not %g", out[2 + i], want);
        }
        if (told(cudnnSetTensor4dDescriptor(y, NCHW, F32, out[0], out[1], out[2], out[3]), "its tensor"))
            (void)told(cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, conv, y, 1, &size), "its workspace");
    }
    if (told(cudnnSetPoolingNdDescriptor(pool, upto(3), 0, 2, (int[]){wd[2], wd[3]}, pad, step), "a pooling") &&
        told(cudnnGetPoolingNdForwardOutputDim(pool, x, 4, out), "its output"))
        for (int i = 0; i < 2; i++) {
            double want = floor(((double)xd[2 + i] + 2.0 * pad[i] - wd[2 + i]) / step[i]) + 1;
            EXPECT(shaped && out[2 + i] == want && want > 0, "pooling: %d, not %g", out[2 + i], want);
        }
    if (shaped && told(cudnnDropoutGetReserveSpaceSize(x, &size), "a mask"))
        fits((double)xd[0] * xd[1] * xd[2] * xd[3], size, "a mask");
    OK(cudnnDestroyTensorDescriptor(x));
    OK(cudnnDestroyTensorDescriptor(y));
    OK(cudnnDestroyFilterDescriptor(w));
    OK(cudnnDestroyConvolutionDescriptor(conv));
    OK(cudnnDestroyPoolingDescriptor(pool));
}

static void others_of_numbers(void)
{
    static const double doubles[] = {0, 1, -1, 0.5, NAN, INFINITY, -INFINITY, 1e308, 1e-308};
    void *s = NULL, *l = NULL, *d = NULL, *c = NULL, *state;
    int dims[4] = {any(), any(), any(), any()};
    double v = doubles[upto(9)], u = doubles[upto(9)];
    size_t size;
    OK(cudnnCreateSpatialTransformerDescriptor(&s));
    OK(cudnnCreateLRNDescriptor(&l));
    OK(cudnnCreateDropoutDescriptor(&d));
    OK(cudnnCreateRNNDescriptor(&c));
    bool set = told(cudnnSetSpatialTransformerNdDescriptor(s, upto(2), upto(2) ? F32 : I32, 3 + upto(3), dims), "maps");
    EXPECT(!set || (double)dims[0] * dims[1] * dims[2] * dims[3] <= 2147483648.0, "maps beyond all tensors");
    set = told(cudnnSetLRNDescriptor(l, (unsigned)any(), v, u, doubles[upto(9)]), "LRN");
    OK(cudnnDropoutGetStatesSize(handle, &size));
    MUST(cudaMalloc(&state, size));
    const size_t given = upto(2) ? size : size - 1;
    set = told(cudnnSetDropoutDescriptor(d, handle, (float)v, state, given, 7), "dropout");
    EXPECT(set == (v >= 0 && v <= 1 && given == size), "a dropout of %g, a state of %zu", v, given);
    OK(cudnnSetRNNDescriptor_v8(c, 0, 2, 2, 0, 0, F32, F32, 0, 2, 2, 2, 1, NULL, 0));
    set = told(cudnnRNNSetClip_v8(c, 1, 0, v, u), "clipping");
    EXPECT(set == (v <= u), "clipping from %g to %g", v, u);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(state));
    OK(cudnnDestroySpatialTransformerDescriptor(s));
    OK(cudnnDestroyLRNDescriptor(l));
    OK(cudnnDestroyDropoutDescriptor(d));
    OK(cudnnDestroyRNNDescriptor(c));
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 4000; i++) {
        layers();
        heads();
        losses();
        windows();
        others_of_numbers();
    }
    EXPECT(taken > 10000 && refusals > 10000, "%d taken, %d refused", taken, refusals);
    OK(cudnnDestroy(handle));
    return check_end("descriptors of drawn numbers");
}
