/* Fused operations: each of random shapes, with and without the operands that may be missing, against plain loops; what
 * packs of parameters give back; wrong input. */
#include "dnn.h"

#include "cuda_enums.h"

#define PARAM(name) CUDNN_PARAM_##name
#define PLACE(name) CUDNN_PARAM_##name##_PLACEHOLDER
#define PTR(name) CUDNN_PTR_##name

static void *plan, *constants, *variants, *workspace;
static size_t needed;

static void begin(int ops)
{
    OK(cudnnCreateFusedOpsPlan(&plan, ops));
    OK(cudnnCreateFusedOpsConstParamPack(&constants, ops));
    OK(cudnnCreateFusedOpsVariantParamPack(&variants, ops));
    workspace = NULL;
}
static void set_place(int label, int value) { OK(cudnnSetFusedOpsConstParamPackAttribute(constants, label, &value)); }
static void desc(int label, const void *d) { OK(cudnnSetFusedOpsConstParamPackAttribute(constants, label, d)); }
static void pointer(int label, void *p) { OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, label, p)); }
static void operand(int d, int label, int p, const struct tensor *t)
{
    if (!t)
        return;
    desc(d, t->desc);
    set_place(label, 1 + upto(2));
    pointer(p, t->at);
}
#define OPERAND(name, d, t) operand(PARAM(d), PLACE(name), PTR(name), t)
#define DATA(name, t) operand(PARAM(name##DESC), PLACE(name##DATA), PTR(name##DATA), t)

static int make_plan(void)
{
    int r = cudnnMakeFusedOpsPlan(handle, plan, constants, &needed);
    if (!r) {
        MUST(cudaMalloc(&workspace, needed + 16));
        OK(cudaMemset(workspace, 0x7f, needed));
        pointer(PTR(WORKSPACE), workspace);
        OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES, &needed));
    }
    return r;
}
static void end(void)
{
    OK(cudnnDestroyFusedOpsVariantParamPack(variants));
    OK(cudnnDestroyFusedOpsConstParamPack(constants));
    OK(cudnnDestroyFusedOpsPlan(plan));
    cudaFree(workspace);
}

static struct tensor channels(int type, int n) { return make(type, 4, (const int[]){1, n, 1, 1}, NCHW, false, false); }
static double activated(int mode, double v) /* -1: none */ { return mode == 1 ? fmax(v, 0) : mode == 2 ? tanh(v) : v; }
static void *activation(int mode)
{
    void *d;
    OK(cudnnCreateActivationDescriptor(&d));
    OK(cudnnSetActivationDescriptor(d, mode < 0 ? 5 : mode, 0, 0.0));
    return d;
}
static int channel_of(const struct tensor *t, int i) { return i / (t->dim[2] * t->dim[3]) % t->dim[1]; }

/* ---- convolutions ------------------------------------------------------------------------------ */

struct conv {
    int pad, stride, type, format;
    struct tensor x, w, y;
    void *desc;
};
static struct conv convolution(int type)
{
    struct conv c = {.pad = upto(2), .stride = 1 + upto(2), .type = type, .format = upto(2)};
    int n = 1 + upto(2), in = 1 + upto(4), maps = 1 + upto(4), size = 3 + upto(4), window = 1 + upto(3);
    int out = (size + 2 * c.pad - window) / c.stride + 1;
    c.x = make(type, 4, (const int[]){n, in, size, size}, c.format, false, false);
    c.w = make(type, 4, (const int[]){maps, in, window, window}, c.format, false, true);
    c.y = make(type, 4, (const int[]){n, maps, out, out}, c.format, false, false);
    OK(cudnnCreateConvolutionDescriptor(&c.desc));
    OK(cudnnSetConvolution2dDescriptor(c.desc, c.pad, c.pad, c.stride, c.stride, 1, 1, 1, type == F64 ? F64 : F32));
    return c;
}
static void drop_convolution(struct conv *c)
{
    drop(&c->x), drop(&c->w), drop(&c->y);
    OK(cudnnDestroyConvolutionDescriptor(c->desc));
}
/* Adds what each product gives: to the results, or (back) to the filter. */
static void convolve(const struct conv *c, const double *x, double *w, double *y, bool back)
{
    const int *in = c->x.dim, *window = c->w.dim, *out = c->y.dim;
    for (int i = 0; i < count(&c->y); i++)
        for (int k = 0; k < in[1] * window[2] * window[3]; k++) {
            int q = i % out[3], p = i / out[3] % out[2], m = i / out[3] / out[2] % out[1],
                n = i / out[3] / out[2] / out[1];
            int s = k % window[3], r = k / window[3] % window[2], ch = k / window[3] / window[2];
            int h = p * c->stride - c->pad + r, v = q * c->stride - c->pad + s,
                filter = m * in[1] * window[2] * window[3] + k;
            if (h < 0 || v < 0 || h >= in[2] || v >= in[3])
                continue;
            double one = x[((n * in[1] + ch) * in[2] + h) * in[3] + v];
            if (back)
                w[filter] += one * y[i];
            else
                y[i] += one * w[filter];
        }
}

/* Statistics of the result, and the filter's gradient, of an input that may be scaled and activated. */
static void scaled_convolutions(int type)
{
    for (int round = 0; round < 30; round++) {
        bool back = upto(2), scales = upto(2), biases = upto(2), keeps = back || upto(2);
        int mode = upto(3) - 1, mode_used = mode == 0 ? -1 : mode;
        struct conv c = convolution(type);
        int maps = c.y.dim[1];
        struct tensor scale = channels(type, c.x.dim[1]), bias = channels(type, c.x.dim[1]);
        struct tensor sum = channels(F32, maps), square = channels(F32, maps);
        void *act = activation(mode_used < 0 ? -1 : 1);
        double *x = calloc((size_t)count(&c.x), 8), *y = calloc((size_t)count(&c.y), 8),
               *w = calloc((size_t)count(&c.w), 8);
        for (int i = 0; i < count(&c.x); i++) {
            int ch = channel_of(&c.x, i);
            x[i] = activated(mode_used < 0 ? -1 : 1, (scales ? scale.v[ch] : 1) * c.x.v[i] + (biases ? bias.v[ch] : 0));
        }
        begin(back ? CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD : CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS);
        desc(PARAM(CONV_DESC), c.desc);
        if (mode >= 0)
            desc(PARAM(ACTIVATION_DESC), act);
        DATA(X, &c.x);
        OPERAND(BN_EQSCALE, BN_EQSCALEBIAS_DESC, scales ? &scale : NULL);
        OPERAND(BN_EQBIAS, BN_EQSCALEBIAS_DESC, biases ? &bias : NULL);
        if (back) {
            DATA(DY, &c.y);
            DATA(DW, &c.w);
        } else {
            DATA(W, &c.w);
            desc(PARAM(YDESC), c.y.desc);
            if (keeps)
                DATA(Y, &c.y);
            OPERAND(YSUM, YSTATS_DESC, &sum);
            OPERAND(YSQSUM, YSTATS_DESC, &square);
        }
        OK(make_plan());
        OK(cudnnFusedOpsExecute(handle, plan, variants));
        OK(cudaDeviceSynchronize());
        if (back) {
            convolve(&c, x, w, c.y.v, true);
            same(&c.w, w, 20, "dw");
        } else {
            double sums[8] = {0}, squares[8] = {0};
            convolve(&c, x, c.w.v, y, false);
            for (int i = 0; i < count(&c.y); i++)
                sums[channel_of(&c.y, i)] += y[i], squares[channel_of(&c.y, i)] += y[i] * y[i];
            if (keeps)
                same(&c.y, y, 20, "y");
            double rough = type == F16 ? 50 : 1;
            same(&sum, sums, 100 * rough, "sums");
            same(&square, squares, 1000 * rough, "squares");
        }
        end();
        drop_convolution(&c);
        drop(&scale), drop(&bias), drop(&sum), drop(&square);
        OK(cudnnDestroyActivationDescriptor(act));
        free(x), free(y), free(w);
    }
}

/* ---- sums of two tensors, and their bits ------------------------------------------------------- */

static void sums(int type)
{
    for (int round = 0; round < 30; round++) {
        bool convolves = upto(2), scales = upto(2), biases = upto(2), adds = upto(2), z_scales = adds && upto(2);
        bool z_biases = adds && upto(2);
        int mode = convolves ? upto(3) : upto(2);
        struct conv c = convolution(type);
        int n = c.y.dim[1];
        struct tensor in = make(type, 4, c.y.dim, upto(2), true, false),
                      z = make(type, 4, c.y.dim, upto(2), true, false);
        struct tensor scale = channels(type, n), bias = channels(type, n), z_scale = channels(type, n);
        struct tensor z_bias = channels(type, n),
                      mask = make(I32, 4, (const int[]){1, (count(&c.y) + 31) / 32, 1, 1}, NCHW, false, false);
        void *act = activation(mode == 0 ? -1 : mode);
        double *y = calloc((size_t)count(&c.y), 8);
        if (convolves)
            convolve(&c, c.x.v, c.w.v, y, false);
        else
            memcpy(y, in.v, (size_t)count(&c.y) * 8);
        for (int i = 0; i < count(&c.y); i++) {
            int ch = channel_of(&c.y, i);
            y[i] = y[i] * (scales ? scale.v[ch] : 1) + (biases ? bias.v[ch] : 0);
            if (adds)
                y[i] += z.v[i] * (z_scales ? z_scale.v[ch] : 1) + (z_biases ? z_bias.v[ch] : 0);
            y[i] = activated(mode ? mode : -1, y[i]);
        }
        begin(convolves ? CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION
                        : CUDNN_FUSED_SCALE_BIAS_ADD_ACTIVATION_GEN_BITMASK);
        desc(PARAM(ACTIVATION_DESC), act);
        DATA(X, convolves ? &c.x : &in);
        DATA(Y, &c.y);
        OPERAND(BN_EQSCALE, BN_EQSCALEBIAS_DESC, scales ? &scale : NULL);
        OPERAND(BN_EQBIAS, BN_EQSCALEBIAS_DESC, biases ? &bias : NULL);
        DATA(Z, adds ? &z : NULL);
        OPERAND(BN_Z_EQSCALE, BN_Z_EQSCALEBIAS_DESC, z_scales ? &z_scale : NULL);
        OPERAND(BN_Z_EQBIAS, BN_Z_EQSCALEBIAS_DESC, z_biases ? &z_bias : NULL);
        if (convolves) {
            desc(PARAM(CONV_DESC), c.desc);
            DATA(W, &c.w);
        } else {
            set_place(PARAM(BN_MODE), 2);
            OPERAND(ACTIVATION_BITMASK, ACTIVATION_BITMASK_DESC, &mask);
        }
        OK(make_plan());
        OK(cudnnFusedOpsExecute(handle, plan, variants));
        OK(cudaDeviceSynchronize());
        same(&c.y, y, 20, convolves ? "convolved sum" : "sum");
        end();
        if (!convolves) { /* and back, by the bits: dz and batch normalisation's gradients */
            bool forks = upto(2);
            struct tensor dy = make(type, 4, c.y.dim, upto(2), true, false),
                          dx = make(type, 4, c.y.dim, upto(2), true, false);
            struct tensor mean = channels(type == F64 ? F64 : F32, n), inverse = channels(type == F64 ? F64 : F32, n);
            struct tensor s = channels(type == F64 ? F64 : F32, n), ds = channels(type == F64 ? F64 : F32, n);
            struct tensor db = channels(type == F64 ? F64 : F32, n);
            double *dz = calloc((size_t)count(&dy), 8), *want = calloc((size_t)count(&dy), 8), ones[2][8] = {{0}},
                   each = 0;
            for (int i = 0; i < count(&dy); i++) {
                int ch = channel_of(&dy, i);
                dz[i] = mode && y[i] <= 0 ? 0 : dy.v[i];
                ones[0][ch] += dz[i] * (in.v[i] - mean.v[ch]) * inverse.v[ch];
                ones[1][ch] += dz[i];
                each += ch == 0;
            }
            for (int i = 0; i < count(&dy); i++) {
                int ch = channel_of(&dy, i);
                double h = (in.v[i] - mean.v[ch]) * inverse.v[ch];
                want[i] = s.v[ch] * inverse.v[ch] * (dz[i] - ones[1][ch] / each - h * ones[0][ch] / each);
            }
            begin(CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM);
            desc(PARAM(ACTIVATION_DESC), act);
            set_place(PARAM(BN_MODE), 1);
            DATA(X, &in);
            DATA(DY, &dy);
            DATA(DX, &dx);
            DATA(DZ, forks ? &z : NULL);
            OPERAND(ACTIVATION_BITMASK, ACTIVATION_BITMASK_DESC, &mask);
            OPERAND(BN_SAVED_MEAN, BN_SCALEBIAS_MEANVAR_DESC, &mean);
            OPERAND(BN_SAVED_INVSTD, BN_SCALEBIAS_MEANVAR_DESC, &inverse);
            OPERAND(BN_SCALE, BN_SCALEBIAS_MEANVAR_DESC, &s);
            OPERAND(BN_DSCALE, BN_SCALEBIAS_MEANVAR_DESC, &ds);
            OPERAND(BN_DBIAS, BN_SCALEBIAS_MEANVAR_DESC, &db);
            OK(make_plan());
            OK(cudnnFusedOpsExecute(handle, plan, variants));
            OK(cudaDeviceSynchronize());
            if (forks)
                same(&z, dz, 1, "dz");
            same(&dx, want, 100, "dx");
            same(&ds, ones[0], 200, "dscale");
            same(&db, ones[1], 200, "dbias");
            end();
            drop(&dy), drop(&dx), drop(&mean), drop(&inverse), drop(&s), drop(&ds), drop(&db);
            free(dz), free(want);
        }
        drop_convolution(&c);
        drop(&in), drop(&z), drop(&scale), drop(&bias), drop(&z_scale), drop(&z_bias), drop(&mask);
        OK(cudnnDestroyActivationDescriptor(act));
        free(y);
    }
}

/* ---- statistics -------------------------------------------------------------------------------- */

static void finalizes(int type)
{
    for (int round = 0; round < 40; round++) {
        enum { SUM, SQUARE, SCALE, BIAS, RUN_MEAN, RUN_VAR, MEAN, INVERSE, EQ_SCALE, EQ_BIAS, ALL };
        bool training = upto(2), averages = !training || upto(2), keeps = upto(2);
        int n = 1 + upto(7);
        int64_t counted = 2 + upto(50);
        double factor = upto(5) / 4.0, epsilon = 1e-5, want[ALL][8];
        struct tensor t[ALL];
        for (int i = 0; i < ALL; i++)
            t[i] = channels(i < SCALE ? F32 : type, n);
        for (int i = 0; i < n; i++) { /* a square's sum is at least the square of the sum by the count */
            t[SQUARE].v[i] = t[SUM].v[i] * t[SUM].v[i] / (double)counted + 1 + upto(20);
            t[RUN_VAR].v[i] = fabs(t[RUN_VAR].v[i]) + 0.5;
        }
        upload(&t[SQUARE]), upload(&t[RUN_VAR]);
        for (int i = 0; i < n; i++) {
            double mean = training ? t[SUM].v[i] / (double)counted : t[RUN_MEAN].v[i];
            double variance = training ? t[SQUARE].v[i] / (double)counted - mean * mean : t[RUN_VAR].v[i];
            double sample = variance * (double)counted / ((double)counted - 1);
            want[MEAN][i] = mean;
            want[INVERSE][i] = 1 / sqrt(variance + epsilon);
            want[EQ_SCALE][i] = t[SCALE].v[i] * want[INVERSE][i];
            want[EQ_BIAS][i] = t[BIAS].v[i] - mean * want[EQ_SCALE][i];
            want[RUN_MEAN][i] = training ? (1 - factor) * t[RUN_MEAN].v[i] + factor * mean : t[RUN_MEAN].v[i];
            want[RUN_VAR][i] = training ? (1 - factor) * t[RUN_VAR].v[i] + factor * sample : t[RUN_VAR].v[i];
        }
        begin(training ? CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING : CUDNN_FUSED_BN_FINALIZE_STATISTICS_INFERENCE);
        set_place(PARAM(BN_MODE), 1);
        if (training) {
            OPERAND(YSUM, YSTATS_DESC, &t[SUM]);
            OPERAND(YSQSUM, YSTATS_DESC, &t[SQUARE]);
            OPERAND(BN_SAVED_MEAN, BN_SCALEBIAS_MEANVAR_DESC, keeps ? &t[MEAN] : NULL);
            OPERAND(BN_SAVED_INVSTD, BN_SCALEBIAS_MEANVAR_DESC, keeps ? &t[INVERSE] : NULL);
        }
        OPERAND(BN_SCALE, BN_SCALEBIAS_MEANVAR_DESC, &t[SCALE]);
        OPERAND(BN_BIAS, BN_SCALEBIAS_MEANVAR_DESC, &t[BIAS]);
        OPERAND(BN_RUNNING_MEAN, BN_SCALEBIAS_MEANVAR_DESC, averages ? &t[RUN_MEAN] : NULL);
        OPERAND(BN_RUNNING_VAR, BN_SCALEBIAS_MEANVAR_DESC, averages ? &t[RUN_VAR] : NULL);
        OPERAND(BN_EQSCALE, BN_EQSCALEBIAS_DESC, &t[EQ_SCALE]);
        OPERAND(BN_EQBIAS, BN_EQSCALEBIAS_DESC, &t[EQ_BIAS]);
        OK(make_plan());
        OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, CUDNN_SCALAR_INT64_T_BN_ACCUMULATION_COUNT, &counted));
        OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, CUDNN_SCALAR_DOUBLE_BN_EXP_AVG_FACTOR, &factor));
        OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, CUDNN_SCALAR_DOUBLE_BN_EPSILON, &epsilon));
        OK(cudnnFusedOpsExecute(handle, plan, variants));
        OK(cudaDeviceSynchronize());
        double rough = type == F64 ? 1e5 : 1;
        for (int i = RUN_MEAN; i < ALL; i++) {
            bool written = i >= EQ_SCALE || (i < MEAN ? averages : training && keeps);
            same(&t[i], written ? want[i] : t[i].v, 20 * rough, training ? "finalised" : "inferred");
        }
        end();
        for (int i = 0; i < ALL; i++)
            drop(&t[i]);
    }
}

/* ---- packs, wrong input ------------------------------------------------------------------------ */

static void packs(void)
{
    struct tensor x = make(F32, 4, (const int[]){2, 3, 4, 5}, NHWC, false, false);
    int none = 7, value, type, n, dims[8], strides[8];
    void *d, *act = activation(1), *p = &value;
    size_t bytes_set = 77, got = 0;
    begin(CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS);
    OK(cudnnCreateTensorDescriptor(&d));
    OK(cudnnGetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), d, &none));
    IS(none, 1);
    desc(PARAM(XDESC), x.desc);
    OK(cudnnGetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), d, &none));
    OK(cudnnGetTensorNdDescriptor(d, 8, &type, &n, dims, strides));
    EXPECT(!none && type == F32 && n == 4 && !memcmp(dims, x.dim, 16) && !memcmp(strides, x.stride, 16), "a copy");
    OK(cudnnGetFusedOpsConstParamPackAttribute(constants, PLACE(XDATA), &value, &none));
    EXPECT(none == 1 && value == CUDNN_PTR_NULL, "no placeholder: %d", value);
    set_place(PLACE(XDATA), CUDNN_PTR_16B_ALIGNED);
    OK(cudnnGetFusedOpsConstParamPackAttribute(constants, PLACE(XDATA), &value, &none));
    EXPECT(!none && value == CUDNN_PTR_16B_ALIGNED, "placeholder: %d", value);
    desc(PARAM(XDESC), NULL); /* takes it back */
    OK(cudnnGetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), d, &none));
    IS(none, 1);
    OK(cudnnGetFusedOpsVariantParamPackAttribute(variants, PTR(XDATA), &p));
    EXPECT(!p, "no pointer");
    pointer(PTR(XDATA), x.at);
    OK(cudnnGetFusedOpsVariantParamPackAttribute(variants, PTR(XDATA), &p));
    EXPECT(p == x.at, "the pointer");
    OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES, &bytes_set));
    OK(cudnnGetFusedOpsVariantParamPackAttribute(variants, CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES, &got));
    IS(got, 77);

    IS(cudnnCreateFusedOpsPlan(&p, 7), BAD);
    IS(cudnnCreateFusedOpsPlan(NULL, 0), BAD);
    IS(cudnnCreateFusedOpsConstParamPack(&p, -1), BAD);
    IS(cudnnCreateFusedOpsVariantParamPack(&p, 99), BAD);
    IS(cudnnDestroyFusedOpsPlan(constants), BAD);
    IS(cudnnDestroyFusedOpsConstParamPack(variants), BAD);
    IS(cudnnSetFusedOpsConstParamPackAttribute(constants, 39, d), BAD);
    IS(cudnnSetFusedOpsConstParamPackAttribute(constants, -1, d), BAD);
    IS(cudnnSetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), act), BAD);
    IS(cudnnSetFusedOpsConstParamPackAttribute(constants, PARAM(WDESC), d), BAD);
    IS(cudnnSetFusedOpsConstParamPackAttribute(variants, PARAM(XDESC), d), BAD);
    value = 3;
    IS(cudnnSetFusedOpsConstParamPackAttribute(constants, PLACE(XDATA), &value), BAD);
    IS(cudnnSetFusedOpsConstParamPackAttribute(constants, PARAM(BN_MODE), &value), BAD);
    IS(cudnnGetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), NULL, &none), BAD);
    IS(cudnnGetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), act, &none), BAD);
    IS(cudnnGetFusedOpsConstParamPackAttribute(constants, PARAM(XDESC), d, NULL), BAD);
    IS(cudnnSetFusedOpsVariantParamPackAttribute(variants, 24, d), BAD);
    IS(cudnnSetFusedOpsVariantParamPackAttribute(variants, 104, d), BAD);
    IS(cudnnSetFusedOpsVariantParamPackAttribute(variants, 100, NULL), BAD);
    IS(cudnnGetFusedOpsVariantParamPackAttribute(variants, 0, NULL), BAD);
    IS(cudnnGetFusedOpsVariantParamPackAttribute(constants, 0, &p), BAD);
    end();
    OK(cudnnDestroyTensorDescriptor(d));
    OK(cudnnDestroyActivationDescriptor(act));
    drop(&x);
}

static void wrong(void)
{
    struct conv c = convolution(F32);
    struct tensor sum = channels(F32, c.y.dim[1]), other = channels(F32, c.y.dim[1] + 1);
    struct tensor act8 = make(I8, 4, c.y.dim, NCHW, false, false);
    void *variants2, *act;
    size_t size = 0;
    begin(CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), BAD); /* nothing was set */
    IS(cudnnFusedOpsExecute(handle, plan, variants), BAD);
    desc(PARAM(CONV_DESC), c.desc);
    DATA(X, &c.x);
    DATA(W, &c.w);
    desc(PARAM(YDESC), c.y.desc);
    OPERAND(YSUM, YSTATS_DESC, &other);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), BAD); /* another number of channels */
    OPERAND(YSUM, YSTATS_DESC, &sum);
    IS(cudnnMakeFusedOpsPlan(NULL, plan, constants, &needed), NOT_INITIALIZED);
    IS(cudnnMakeFusedOpsPlan(handle, constants, constants, &needed), BAD);
    IS(cudnnMakeFusedOpsPlan(handle, plan, variants, &needed), BAD);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, NULL), BAD);
    OK(make_plan());
    EXPECT(needed > 0, "a result that is not kept needs workspace");
    OK(cudnnFusedOpsExecute(handle, plan, variants));
    OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, 100, &size));
    IS(cudnnFusedOpsExecute(handle, plan, variants), BAD); /* no workspace */
    OK(cudnnSetFusedOpsVariantParamPackAttribute(variants, 100, &needed));
    pointer(PTR(WORKSPACE), NULL);
    IS(cudnnFusedOpsExecute(handle, plan, variants), BAD);
    pointer(PTR(WORKSPACE), workspace);
    pointer(PTR(XDATA), NULL);
    IS(cudnnFusedOpsExecute(handle, plan, variants), BAD);
    pointer(PTR(XDATA), (char *)c.x.at + 1);
    IS(cudnnFusedOpsExecute(handle, plan, variants), BAD);
    pointer(PTR(XDATA), c.x.at);
    OK(cudnnCreateFusedOpsVariantParamPack(&variants2, CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD));
    IS(cudnnFusedOpsExecute(handle, plan, variants2), BAD); /* of another operation */
    IS(cudnnFusedOpsExecute(handle, plan, plan), BAD);
    OK(cudnnDestroyFusedOpsVariantParamPack(variants2));
    desc(PARAM(YDESC), sum.desc); /* another shape: the plan that was made is gone */
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), BAD);
    IS(cudnnFusedOpsExecute(handle, plan, variants), BAD);
    desc(PARAM(YDESC), act8.desc);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), UNSUPPORTED);
    end();
    begin(CUDNN_FUSED_SCALE_BIAS_ADD_ACTIVATION_GEN_BITMASK);
    act = activation(2);
    DATA(X, &c.y);
    DATA(Y, &c.y);
    desc(PARAM(ACTIVATION_DESC), act);
    set_place(PARAM(BN_MODE), 1);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), UNSUPPORTED); /* tanh has no bits */
    desc(PARAM(ACTIVATION_DESC), NULL);
    OPERAND(ACTIVATION_BITMASK, ACTIVATION_BITMASK_DESC, &sum);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), BAD); /* bits in floats */
    set_place(PLACE(ACTIVATION_BITMASK), 0);
    OK(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed));
    set_place(PARAM(BN_MODE), 0);
    IS(cudnnMakeFusedOpsPlan(handle, plan, constants, &needed), UNSUPPORTED);
    end();
    OK(cudnnDestroyActivationDescriptor(act));
    drop_convolution(&c);
    drop(&sum), drop(&other), drop(&act8);
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 3; i++) {
        int type = i == 0 ? F32 : i == 1 ? F64 : F16;
        scaled_convolutions(type);
        sums(type);
        if (type != F16)
            finalizes(type);
    }
    packs();
    wrong();
    OK(cudnnDestroy(handle));
    return check_end("fused operations");
}
