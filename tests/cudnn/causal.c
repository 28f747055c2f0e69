/* cuDNN's causal convolutions in one dimension and their gradients, against plain loops. */
#include "dnn.h"

enum { IDENTITY, SILU };
static const int types[] = {F32, F16, BF16};

static struct tensor line_of(int type, int a, int b, int c)
{
    return make(type, 3, (int[]){a, b, c}, NCHW, false, false);
}

static double activation(int f, double z) { return f == SILU ? z / (1 + exp(-z)) : z; }
static double derivative(int f, double z)
{
    double s = 1 / (1 + exp(-z));
    return f == SILU ? s * (1 + z * (1 - s)) : 1;
}

/* Both ways, at times in place; some numbers are so large that exponentials overflow. What the taps' gradients are
 * added to is there before. */
static void convolve(int type, int weight_type, int f)
{
    const int batch = 1 + upto(3), channels = 1 + upto(5), taps = 1 + upto(upto(3) ? 5 : 40),
              length = 1 + upto(upto(4) ? 30 : 900);
    const bool in_place = upto(3) == 0;
    struct tensor x = line_of(type, batch, channels, length), y = line_of(type, batch, channels, length),
                  dy = line_of(type, batch, channels, length);
    struct tensor w = line_of(type, channels, taps, 1), b = line_of(type, channels, 1, 1);
    struct tensor dw = line_of(weight_type, channels, taps, 1), db = line_of(weight_type, channels, 1, 1);
    const int n = count(&x);
    double *z = calloc((size_t)n, sizeof *z), *want = calloc((size_t)n, sizeof *want);
    void *stream = NULL;
    if (upto(2))
        OK(cudaStreamCreate(&stream));
    for (int i = 0; i < n && upto(4) == 0; i += 1 + upto(9))
        x.v[i] = upto(2) ? -96 : 96;
    upload(&x);
    for (int i = 0; i < n; i++) {
        int t = i % length, channel = i / length % channels;
        z[i] = b.v[channel];
        for (int k = 0; k < taps; k++)
            if (t - (taps - 1) + k >= 0)
                z[i] += w.v[channel * taps + k] * x.v[i - (taps - 1) + k];
        want[i] = activation(f, z[i]);
    }
    void *to = in_place ? x.at : y.at;
    OK(cudnnCausalConv1dForward(stream, x.at, w.at, b.at, to, batch, channels, length, taps, type, f));
    OK(cudaStreamSynchronize(stream));
    same(in_place ? &x : &y, want, 8, "causal convolution");

    upload(&x);
    to = in_place ? dy.at : y.at;
    memset(want, 0, (size_t)n * sizeof *want);
    for (int i = 0; i < n; i++) {
        int t = i % length, channel = i / length % channels;
        double dz = dy.v[i] * derivative(f, z[i]);
        db.v[channel] += dz;
        for (int k = 0; k < taps; k++)
            if (t - (taps - 1) + k >= 0) {
                dw.v[channel * taps + k] += dz * x.v[i - (taps - 1) + k];
                want[i - (taps - 1) + k] += dz * w.v[channel * taps + k];
            }
    }
    OK(cudnnCausalConv1dBackward(stream, x.at, w.at, b.at, dy.at, to, dw.at, db.at, batch, channels, length, taps, type,
                                 weight_type, f));
    OK(cudaStreamSynchronize(stream));
    same(in_place ? &dy : &y, want, 8, "its gradient");
    same(&dw, dw.v, 200, "its taps' gradients");
    same(&db, db.v, 20, "its bias's gradient");
    if (stream)
        OK(cudaStreamDestroy(stream));
    free(z), free(want);
    drop(&x), drop(&y), drop(&dy), drop(&w), drop(&b), drop(&dw), drop(&db);
}

/* One argument at a time is wrong. */
static void wrong(void)
{
    static const int values[] = {-1, 0, INT32_MIN}, other[] = {F64, I8, E4M3, -1, 99};
    void *p = NULL;
    MUST(cudaMalloc(&p, 1024));
    for (int at = 0; at < 8; at++) {
        void *q[8] = {p, p, p, p, p, p, p, p};
        q[at] = NULL;
        if (at < 4)
            IS(cudnnCausalConv1dForward(NULL, q[0], q[1], q[2], q[3], 1, 1, 1, 1, F32, SILU), BAD);
        if (at < 7)
            IS(cudnnCausalConv1dBackward(NULL, q[0], q[1], q[2], q[3], q[4], q[5], q[6], 1, 1, 1, 1, F32, F32, SILU),
               BAD);
        for (int i = 0; i < 3 && at < 4; i++) {
            int n[4] = {1, 1, 1, 1};
            n[at] = values[i];
            IS(cudnnCausalConv1dForward(NULL, p, p, p, p, n[0], n[1], n[2], n[3], F32, SILU), BAD);
            IS(cudnnCausalConv1dBackward(NULL, p, p, p, p, p, p, p, n[0], n[1], n[2], n[3], F32, F32, SILU), BAD);
        }
    }
    for (int i = 0; i < 5; i++) {
        const int want = other[i] < 0 || other[i] == 99 ? BAD : UNSUPPORTED;
        IS(cudnnCausalConv1dForward(NULL, p, p, p, p, 1, 1, 1, 1, other[i], SILU), want);
        IS(cudnnCausalConv1dBackward(NULL, p, p, p, p, p, p, p, 1, 1, 1, 1, other[i], F32, SILU), want);
        IS(cudnnCausalConv1dBackward(NULL, p, p, p, p, p, p, p, 1, 1, 1, 1, F32, other[i], SILU), want);
        IS(cudnnCausalConv1dForward(NULL, p, p, p, p, 1, 1, 1, 1, F32, 2 + i), BAD);
    }
    IS(cudnnCausalConv1dForward(NULL, p, p, p, p, 1, 1, 1, 1, F32, -1), BAD);
    cudaFree(p);
}

int main(void)
{
    MUST(cudnnCreate(&handle)); /* which nothing here asks for, and descriptors need none */
    for (int i = 0; i < 180; i++)
        convolve(types[i % 3], types[i / 3 % 3], upto(3) ? SILU : IDENTITY);
    wrong();
    OK(cudnnDestroy(handle));
    return check_end("causal convolutions");
}
