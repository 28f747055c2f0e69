/* cuDNN's fused operations: packs of parameters, and plans. What the operations are is in fused_run.c. */
#include "api/cudnn/fused.h"

#include <string.h>

enum dnn_kind dnn_fused_kind(int label)
{
    switch (label) {
    case CUDNN_PARAM_XDESC:
    case CUDNN_PARAM_BN_EQSCALEBIAS_DESC:
    case CUDNN_PARAM_YDESC:
    case CUDNN_PARAM_DYDESC:
    case CUDNN_PARAM_YSTATS_DESC:
    case CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC:
    case CUDNN_PARAM_ZDESC:
    case CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC:
    case CUDNN_PARAM_ACTIVATION_BITMASK_DESC:
    case CUDNN_PARAM_DXDESC:
    case CUDNN_PARAM_DZDESC: return DNN_TENSOR;
    case CUDNN_PARAM_WDESC:
    case CUDNN_PARAM_DWDESC: return DNN_FILTER;
    case CUDNN_PARAM_ACTIVATION_DESC: return DNN_ACTIVATION;
    case CUDNN_PARAM_CONV_DESC: return DNN_CONVOLUTION;
    default: return DNN_NONE;
    }
}
static size_t size_of(enum dnn_kind kind)
{
    return kind == DNN_ACTIVATION    ? sizeof(struct dnn_activation)
           : kind == DNN_CONVOLUTION ? sizeof(struct dnn_convolution)
                                     : sizeof(struct dnn_tensor);
}

/* A new object that is like one; a status. */
static int copy_desc(enum dnn_kind kind, const void *from, void **to)
{
    int r = dnn_create(kind, size_of(kind), to);
    if (!r)
        memcpy((char *)*to + sizeof(struct dnn_object), (const char *)from + sizeof(struct dnn_object),
               size_of(kind) - sizeof(struct dnn_object));
    return r;
}
static void drop_descs(struct dnn_fused *p)
{
    for (int i = 0; i < FUSED_CONSTANTS; i++)
        if (dnn_fused_kind(i) != DNN_NONE && p->param[i].desc) {
            dnn_destroy(dnn_fused_kind(i), p->param[i].desc);
            p->param[i].desc = NULL;
        }
}

static int create(enum dnn_kind kind, size_t size, void **out, int ops)
{
    DNN_BAD_UNLESS((unsigned)ops <= CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM);
    int r = dnn_create(kind, size, out);
    if (!r && kind == DNN_FUSED_VARIANTS)
        ((struct dnn_fused_variants *)*out)->ops = ops;
    else if (!r)
        ((struct dnn_fused *)*out)->ops = ops;
    return r;
}
static int destroy(enum dnn_kind kind, void *p)
{
    if (p && dnn_is(kind, p))
        drop_descs(p);
    return dnn_destroy(kind, p);
}
int wrap_cudnnCreateFusedOpsConstParamPack(void **p, int ops)
{
    return create(DNN_FUSED_CONSTANTS, sizeof(struct dnn_fused), p, ops);
}
int wrap_cudnnDestroyFusedOpsConstParamPack(void *p) { return destroy(DNN_FUSED_CONSTANTS, p); }
int wrap_cudnnCreateFusedOpsVariantParamPack(void **p, int ops)
{
    return create(DNN_FUSED_VARIANTS, sizeof(struct dnn_fused_variants), p, ops);
}
int wrap_cudnnDestroyFusedOpsVariantParamPack(void *p) { return dnn_destroy(DNN_FUSED_VARIANTS, p); }
int wrap_cudnnCreateFusedOpsPlan(void **p, int ops) { return create(DNN_FUSED_PLAN, sizeof(struct dnn_fused), p, ops); }
int wrap_cudnnDestroyFusedOpsPlan(void *p) { return destroy(DNN_FUSED_PLAN, p); }

/* ---- parameters -------------------------------------------------------------------------------- */

/* `value`: a descriptor, or where a number lies; NULL takes back what was set. */
int wrap_cudnnSetFusedOpsConstParamPackAttribute(void *pack, int label, const void *value)
{
    struct dnn_fused *p = pack;
    DNN_BAD_UNLESS(dnn_is(DNN_FUSED_CONSTANTS, p) && (unsigned)label < FUSED_CONSTANTS);
    const enum dnn_kind kind = dnn_fused_kind(label);
    if (kind == DNN_NONE) {
        int number = value ? *(const int *)value : 0;
        DNN_BAD_UNLESS((unsigned)number <=
                       (label == CUDNN_PARAM_BN_MODE ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_PTR_16B_ALIGNED));
        p->param[label].value = number;
        return CUDNN_STATUS_SUCCESS;
    }
    DNN_BAD_UNLESS(!value || dnn_is(kind, value));
    void *copy = NULL;
    int r = value ? copy_desc(kind, value, &copy) : CUDNN_STATUS_SUCCESS;
    if (r)
        return r;
    if (p->param[label].desc)
        dnn_destroy(kind, p->param[label].desc);
    p->param[label].desc = copy;
    return CUDNN_STATUS_SUCCESS;
}

/* Into a descriptor of the program's, or to where a number goes. */
int wrap_cudnnGetFusedOpsConstParamPackAttribute(void *pack, int label, void *value, int *none)
{
    const struct dnn_fused *p = pack;
    DNN_BAD_UNLESS(dnn_is(DNN_FUSED_CONSTANTS, p) && (unsigned)label < FUSED_CONSTANTS && value && none);
    const enum dnn_kind kind = dnn_fused_kind(label);
    if (kind == DNN_NONE) {
        *(int *)value = p->param[label].value;
        *none = label != CUDNN_PARAM_BN_MODE && p->param[label].value == CUDNN_PTR_NULL;
        return CUDNN_STATUS_SUCCESS;
    }
    DNN_BAD_UNLESS(dnn_is(kind, value));
    *none = p->param[label].desc == NULL;
    if (!*none)
        memcpy((char *)value + sizeof(struct dnn_object),
               (const char *)p->param[label].desc + sizeof(struct dnn_object),
               size_of(kind) - sizeof(struct dnn_object));
    return CUDNN_STATUS_SUCCESS;
}

static void *scalar_of(struct dnn_fused_variants *p, int label, size_t *size)
{
    *size = 8;
    switch (label) {
    case CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES: return &p->space;
    case CUDNN_SCALAR_INT64_T_BN_ACCUMULATION_COUNT: return &p->count;
    case CUDNN_SCALAR_DOUBLE_BN_EXP_AVG_FACTOR: return &p->factor;
    case CUDNN_SCALAR_DOUBLE_BN_EPSILON: return &p->epsilon;
    default: return NULL;
    }
}
/* An address of the device, or where the host has a number. */
int wrap_cudnnSetFusedOpsVariantParamPackAttribute(void *pack, int label, void *value)
{
    struct dnn_fused_variants *p = pack;
    size_t size;
    DNN_BAD_UNLESS(dnn_is(DNN_FUSED_VARIANTS, p));
    if ((unsigned)label < FUSED_POINTERS) {
        p->at[label] = value;
        return CUDNN_STATUS_SUCCESS;
    }
    void *to = scalar_of(p, label, &size);
    DNN_BAD_UNLESS(to && value);
    memcpy(to, value, size);
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetFusedOpsVariantParamPackAttribute(void *pack, int label, void *value)
{
    struct dnn_fused_variants *p = pack;
    size_t size;
    DNN_BAD_UNLESS(dnn_is(DNN_FUSED_VARIANTS, p) && value);
    if ((unsigned)label < FUSED_POINTERS) {
        *(void **)value = p->at[label];
        return CUDNN_STATUS_SUCCESS;
    }
    const void *from = scalar_of(p, label, &size);
    DNN_BAD_UNLESS(from);
    memcpy(value, from, size);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- plans ------------------------------------------------------------------------------------- */

/* The plan has copies of the parameters, as they are now. */
int wrap_cudnnMakeFusedOpsPlan(void *handle, void *of, void *pack, size_t *size)
{
    struct dnn_fused *plan = of;
    const struct dnn_fused *p = pack;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_FUSED_PLAN, plan) && dnn_is(DNN_FUSED_CONSTANTS, p) && plan->ops == p->ops && size);
    int r = dnn_fused_check(p, size);
    plan->made = false;
    drop_descs(plan);
    for (int i = 0; !r && i < FUSED_CONSTANTS; i++)
        if (dnn_fused_kind(i) == DNN_NONE)
            plan->param[i].value = p->param[i].value;
        else if (p->param[i].desc)
            r = copy_desc(dnn_fused_kind(i), p->param[i].desc, &plan->param[i].desc);
    plan->made = !r;
    return r;
}

int wrap_cudnnFusedOpsExecute(void *handle, void *of, void *pack)
{
    const struct dnn_fused *plan = of;
    const struct dnn_fused_variants *v = pack;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_FUSED_PLAN, plan) && plan->made && dnn_is(DNN_FUSED_VARIANTS, v) && v->ops == plan->ops);
    return dnn_fused_run(handle, plan, v);
}
