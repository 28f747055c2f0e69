/* Fused operations with one thing wrong: each descriptor is left out, or of another shape; each operand is said to be
 * there and is not, or begins at an odd address; a workspace too small; packs and plans that are foreign, destroyed, of
 * another operation or not made. What is wrong has an error and writes nothing, neither operands nor behind the
 * workspace, and the right execution is right again behind all of it. */
#include "dnn.h"

#include "cuda_enums.h"

enum { PLACES = 16, GUARD = 64 };
#define LABEL(name) CUDNN_PARAM_##name

/* What an operation is made of: operands, and which shape each has. */
struct operand {
    int place, pointer, desc;
    int shape; /* 0: x's; 1: the filter's; 2: y's; 3, 4: numbers of x's, of y's channels; 5: bits */
    bool may_be_without;
};
#define OP(name, d, shape, without) \
    { \
        CUDNN_PARAM_##name##_PLACEHOLDER, CUDNN_PTR_##name, CUDNN_PARAM_##d, shape, without \
    }
static const struct {
    const char *name;
    int ops;
    bool convolves, activates, normalises;
    struct operand operand[PLACES];
} all[] = {
    {"CONV_BNSTATS",
     CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS,
     true,
     true,
     false,
     {OP(XDATA, XDESC, 0, false), OP(BN_EQSCALE, BN_EQSCALEBIAS_DESC, 3, true),
      OP(BN_EQBIAS, BN_EQSCALEBIAS_DESC, 3, true), OP(WDATA, WDESC, 1, false), OP(YDATA, YDESC, 2, true),
      OP(YSUM, YSTATS_DESC, 4, true), OP(YSQSUM, YSTATS_DESC, 4, true)}},
    {"WGRAD",
     CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD,
     true,
     true,
     false,
     {OP(XDATA, XDESC, 0, false), OP(BN_EQSCALE, BN_EQSCALEBIAS_DESC, 3, true),
      OP(BN_EQBIAS, BN_EQSCALEBIAS_DESC, 3, true), OP(DYDATA, DYDESC, 2, false), OP(DWDATA, DWDESC, 1, false)}},
    {"FINALIZE_TRAINING",
     CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING,
     false,
     false,
     true,
     {OP(YSUM, YSTATS_DESC, 3, false), OP(YSQSUM, YSTATS_DESC, 3, false),
      OP(BN_SCALE, BN_SCALEBIAS_MEANVAR_DESC, 3, true), OP(BN_BIAS, BN_SCALEBIAS_MEANVAR_DESC, 3, true),
      OP(BN_SAVED_MEAN, BN_SCALEBIAS_MEANVAR_DESC, 3, true), OP(BN_SAVED_INVSTD, BN_SCALEBIAS_MEANVAR_DESC, 3, true),
      OP(BN_RUNNING_MEAN, BN_SCALEBIAS_MEANVAR_DESC, 3, true), OP(BN_RUNNING_VAR, BN_SCALEBIAS_MEANVAR_DESC, 3, true),
      OP(BN_EQSCALE, BN_EQSCALEBIAS_DESC, 3, true), OP(BN_EQBIAS, BN_EQSCALEBIAS_DESC, 3, true)}},
    {"FINALIZE_INFERENCE",
     CUDNN_FUSED_BN_FINALIZE_STATISTICS_INFERENCE,
     false,
     false,
     true,
     {OP(BN_SCALE, BN_SCALEBIAS_MEANVAR_DESC, 3, true), OP(BN_BIAS, BN_SCALEBIAS_MEANVAR_DESC, 3, true),
      OP(BN_RUNNING_MEAN, BN_SCALEBIAS_MEANVAR_DESC, 3, false), OP(BN_RUNNING_VAR, BN_SCALEBIAS_MEANVAR_DESC, 3, false),
      OP(BN_EQSCALE, BN_EQSCALEBIAS_DESC, 3, true), OP(BN_EQBIAS, BN_EQSCALEBIAS_DESC, 3, true)}},
    {"CONV_SCALE_BIAS_ADD",
     CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION,
     true,
     true,
     false,
     {OP(XDATA, XDESC, 0, false), OP(WDATA, WDESC, 1, false), OP(YDATA, YDESC, 2, false), OP(ZDATA, ZDESC, 2, true),
      OP(BN_EQSCALE, BN_EQSCALEBIAS_DESC, 4, true), OP(BN_EQBIAS, BN_EQSCALEBIAS_DESC, 4, true),
      OP(BN_Z_EQSCALE, BN_Z_EQSCALEBIAS_DESC, 4, true), OP(BN_Z_EQBIAS, BN_Z_EQSCALEBIAS_DESC, 4, true)}},
    {"GEN_BITMASK",
     CUDNN_FUSED_SCALE_BIAS_ADD_ACTIVATION_GEN_BITMASK,
     false,
     true,
     true,
     {OP(XDATA, XDESC, 0, false), OP(YDATA, YDESC, 0, false), OP(ZDATA, ZDESC, 0, true),
      OP(BN_EQSCALE, BN_EQSCALEBIAS_DESC, 3, true), OP(BN_EQBIAS, BN_EQSCALEBIAS_DESC, 3, true),
      OP(ACTIVATION_BITMASK, ACTIVATION_BITMASK_DESC, 5, true)}},
    {"FORK_DBATCHNORM",
     CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM,
     false,
     true,
     true,
     {OP(XDATA, XDESC, 0, false), OP(DYDATA, DYDESC, 0, false), OP(DXDATA, DXDESC, 0, false),
      OP(DZDATA, DZDESC, 0, true), OP(BN_SCALE, BN_SCALEBIAS_MEANVAR_DESC, 3, false),
      OP(BN_SAVED_MEAN, BN_SCALEBIAS_MEANVAR_DESC, 3, false), OP(BN_SAVED_INVSTD, BN_SCALEBIAS_MEANVAR_DESC, 3, false),
      OP(BN_DSCALE, BN_SCALEBIAS_MEANVAR_DESC, 3, false), OP(BN_DBIAS, BN_SCALEBIAS_MEANVAR_DESC, 3, false),
      OP(ACTIVATION_BITMASK, ACTIVATION_BITMASK_DESC, 5, false)}}};

static struct tensor t[PLACES];
static int operands;
static double *right[PLACES];
static void *plan, *constants, *variants, *conv, *activation;
static char *workspace;
static size_t space, needed; /* space: of the workspace */
static const char *name;

static int const_at(int label, const void *v) { return cudnnSetFusedOpsConstParamPackAttribute(constants, label, v); }
static int variant(int label, void *v) { return cudnnSetFusedOpsVariantParamPackAttribute(variants, label, v); }
static int make_plan(void) { return cudnnMakeFusedOpsPlan(handle, plan, constants, &needed); }
static void unharmed(const char *what)
{
    char guard[GUARD];
    OK(cudaMemcpy(guard, workspace + space, GUARD, 2));
    for (int i = 0; i < GUARD; i++)
        EXPECT(guard[i] == 0x5a, "%s: %s: written behind the workspace", name, what);
    for (int i = 0; i < operands; i++) {
        const size_t size = t[i].size * bytes(t[i].type);
        char *now = malloc(size);
        OK(cudaMemcpy(now, t[i].at, size, 2));
        EXPECT(!memcmp(now, t[i].host, size), "%s: %s: operand %d was written", name, what, i);
        free(now);
    }
}
static void refused(int r, const char *what, int i)
{
    EXPECT(r / 1000 == 2 || r / 1000 == 3 || r == NOT_INITIALIZED, "%s: %s, %d: %d", name, what, i, r);
    OK(cudaDeviceSynchronize());
    unharmed(what);
}
static int execute(void) { return cudnnFusedOpsExecute(handle, plan, variants); }

static void set_up(const struct operand *o, int ops, bool convolves, bool activates, bool normalises)
{
    const int n = 2, c = 2 + upto(3), k = 2 + upto(3), h = 4, mode = 1, there = 1;
    const int shapes[6][4] = {{n, c, h, h}, {k, c, 2, 2}, {n, k, h - 1, h - 1},
                              {1, c, 1, 1}, {1, k, 1, 1}, {16, 1, 1, 1}};
    const double epsilon = 1e-3, factor = 0.5;
    long long per_channel = n * h * h;
    OK(cudnnCreateFusedOpsPlan(&plan, ops));
    OK(cudnnCreateFusedOpsConstParamPack(&constants, ops));
    OK(cudnnCreateFusedOpsVariantParamPack(&variants, ops));
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, 1, F32));
    OK(cudnnCreateActivationDescriptor(&activation));
    OK(cudnnSetActivationDescriptor(activation, 1, 0, 0.0));
    if (convolves)
        OK(const_at(LABEL(CONV_DESC), conv));
    if (activates)
        OK(const_at(LABEL(ACTIVATION_DESC), activation));
    if (normalises)
        OK(const_at(LABEL(BN_MODE), &mode));
    for (operands = 0; operands < PLACES && o[operands].place; operands++) {
        const struct operand *p = &o[operands];
        t[operands] = make(p->shape == 5 ? I32 : F32, 4, shapes[p->shape], NCHW, false, p->shape == 1);
        for (int i = 0; p->shape > 2 && i < count(&t[operands]); i++)
            t[operands].v[i] = 1 + fabs(t[operands].v[i]);
        upload(&t[operands]);
        OK(const_at(p->desc, t[operands].desc));
        OK(const_at(p->place, &there));
        OK(variant(p->pointer, t[operands].at));
    }
    OK(variant(CUDNN_SCALAR_INT64_T_BN_ACCUMULATION_COUNT, &per_channel));
    OK(variant(CUDNN_SCALAR_DOUBLE_BN_EXP_AVG_FACTOR, (void *)&factor));
    OK(variant(CUDNN_SCALAR_DOUBLE_BN_EPSILON, (void *)&epsilon));
    OK(make_plan());
    space = needed;
    MUST(cudaMalloc((void **)&workspace, needed + GUARD));
    OK(cudaMemset(workspace, 0x5a, needed + GUARD));
    OK(variant(CUDNN_PTR_WORKSPACE, workspace));
    OK(variant(CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES, &needed));
}
static void restore(void)
{
    for (int i = 0; i < operands; i++)
        OK(cudaMemcpy(t[i].at, t[i].host, t[i].size * bytes(t[i].type), 1));
}

/* Constants: each descriptor in turn is not there, and is of another shape. */
static void wrong_constants(const struct operand *o)
{
    void *const noise = (void *)"noise that is no descriptor", *gone;
    OK(cudnnCreateTensorDescriptor(&gone));
    OK(cudnnDestroyTensorDescriptor(gone));
    for (int i = 0; i < operands; i++) {
        struct tensor other = t[i];
        void *d;
        refused(const_at(o[i].desc, noise), "noise", i);
        refused(const_at(o[i].desc, handle), "a handle", i);
        refused(const_at(o[i].desc, gone), "destroyed", i);
        refused(const_at(o[i].desc, plan), "a plan", i);
        refused(const_at(o[i].place, &(int){7}), "an unknown placement", i);
        OK(const_at(o[i].desc, NULL)); /* all operands that share it have none then */
        refused(make_plan(), "without a descriptor", i);
        refused(execute(), "a plan that was not made", i);
        other.dim[o[i].shape == 5 ? 0 : 1] = 1;
        if (t[i].is_filter) {
            OK(cudnnCreateFilterDescriptor(&d));
            OK(cudnnSetFilterNdDescriptor(d, other.type, NCHW, 4, other.dim));
        } else {
            OK(cudnnCreateTensorDescriptor(&d));
            OK(cudnnSetTensorNdDescriptor(d, other.type, 4, other.dim, other.stride));
        }
        OK(const_at(o[i].desc, d));
        refused(make_plan(), "another shape", i);
        OK(t[i].is_filter ? cudnnDestroyFilterDescriptor(d) : cudnnDestroyTensorDescriptor(d));
        OK(const_at(o[i].desc, t[i].desc));
        OK(make_plan());
        if (!o[i].may_be_without) {
            OK(const_at(o[i].place, &(int){0}));
            refused(make_plan(), "without an operand", i);
            OK(const_at(o[i].place, &(int){1}));
        }
    }
    for (int label = -3; label < 200; label++)
        if (label < 0 || label > LABEL(BN_DBIAS_PLACEHOLDER)) {
            refused(const_at(label, noise), "an unknown label", label);
            void *x = handle;
            int none;
            refused(cudnnGetFusedOpsConstParamPackAttribute(constants, label, x, &none), "an unknown label", label);
        }
    refused(cudnnMakeFusedOpsPlan(NULL, plan, constants, &needed), "no handle", 0);
    refused(cudnnMakeFusedOpsPlan(handle, constants, constants, &needed), "a pack as a plan", 0);
    refused(cudnnMakeFusedOpsPlan(handle, plan, plan, &needed), "a plan as a pack", 0);
    refused(cudnnMakeFusedOpsPlan(handle, plan, NULL, &needed), "no pack", 0);
    refused(cudnnMakeFusedOpsPlan(handle, plan, constants, NULL), "no size", 0);
    OK(make_plan());
    EXPECT(needed == space, "%s: %zu bytes, not %zu", name, needed, space);
}
static void wrong_variants(const struct operand *o, int ops)
{
    void *other = NULL;
    size_t small = needed - 1;
    for (int i = 0; i < operands; i++) {
        OK(variant(o[i].pointer, NULL));
        refused(execute(), "an operand that is not there", i);
        OK(variant(o[i].pointer, (char *)t[i].at + 1 + upto(3)));
        refused(execute(), "an odd address", i);
        OK(variant(o[i].pointer, t[i].at));
    }
    if (needed) {
        OK(variant(CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES, &small));
        refused(execute(), "a workspace too small", 0);
        OK(variant(CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES, &needed));
        OK(variant(CUDNN_PTR_WORKSPACE, NULL));
        refused(execute(), "no workspace", 0);
        OK(variant(CUDNN_PTR_WORKSPACE, workspace + 1));
        refused(execute(), "a workspace at an odd address", 0);
        OK(variant(CUDNN_PTR_WORKSPACE, workspace));
    }
    for (int label = -3; label < 200; label++)
        if (label < 0 || label > CUDNN_SCALAR_DOUBLE_BN_EPSILON ||
            (label > CUDNN_PTR_BN_DBIAS && label < CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES))
            refused(variant(label, &small), "an unknown label", label);
    refused(variant(CUDNN_SCALAR_DOUBLE_BN_EPSILON, NULL), "a number that is nowhere", 0);
    refused(cudnnFusedOpsExecute(NULL, plan, variants), "no handle", 0);
    refused(cudnnFusedOpsExecute(handle, NULL, variants), "no plan", 0);
    refused(cudnnFusedOpsExecute(handle, constants, variants), "a pack as a plan", 0);
    refused(cudnnFusedOpsExecute(handle, plan, constants), "another pack", 0);
    OK(cudnnCreateFusedOpsVariantParamPack(&other, (ops + 1) % 7));
    refused(cudnnFusedOpsExecute(handle, plan, other), "a pack of another operation", 0);
    OK(cudnnDestroyFusedOpsVariantParamPack(other));
    refused(cudnnFusedOpsExecute(handle, plan, other), "a pack that is gone", 0);
    OK(cudnnCreateFusedOpsPlan(&other, ops));
    refused(cudnnFusedOpsExecute(handle, other, variants), "a plan that is not made", 0);
    OK(cudnnDestroyFusedOpsPlan(other));
    refused(cudnnFusedOpsExecute(handle, other, variants), "a plan that is gone", 0);
    refused(cudnnCreateFusedOpsPlan(&other, 7), "an unknown operation", 0);
    refused(cudnnCreateFusedOpsPlan(NULL, 0), "no place", 0);
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            const struct operand *o = all[i].operand;
            name = all[i].name;
            set_up(o, all[i].ops, all[i].convolves, all[i].activates, all[i].normalises);
            int r = execute();
            EXPECT(!r, "%s: %d", name, r);
            for (int k = 0; k < operands; k++) {
                struct tensor now = t[k];
                now.v = right[k] = calloc((size_t)count(&now), 8);
                download(&now);
            }
            restore();
            wrong_constants(o);
            wrong_variants(o, all[i].ops);
            /* a plan has copies of what it was made of */
            for (int k = 0; k < operands; k++)
                OK(t[k].is_filter ? cudnnDestroyFilterDescriptor(t[k].desc) : cudnnDestroyTensorDescriptor(t[k].desc));
            OK(cudnnDestroyFusedOpsConstParamPack(constants));
            OK(cudnnDestroyConvolutionDescriptor(conv));
            OK(cudnnDestroyActivationDescriptor(activation));
            r = execute();
            EXPECT(!r, "%s: %d at the end", name, r);
            for (int k = 0; k < operands; k++) {
                same(&t[k], right[k], 1e-3, name);
                free(right[k]);
                t[k].desc = NULL;
                drop(&t[k]);
            }
            OK(cudnnDestroyFusedOpsPlan(plan));
            OK(cudnnDestroyFusedOpsVariantParamPack(variants));
            OK(cudaFree(workspace));
        }
    OK(cudnnDestroy(handle));
    return check_end("fused operations with one thing wrong");
}
