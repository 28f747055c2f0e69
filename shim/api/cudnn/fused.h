/* Fused operations: their parameters, and what runs them. */
#ifndef CUMU_API_CUDNN_FUSED_H
#define CUMU_API_CUDNN_FUSED_H

#include "abi/mudnn_fused.h"
#include "api/cudnn/dnn.h"

enum {
    FUSED_CONSTANTS = CUDNN_PARAM_BN_DBIAS_PLACEHOLDER + 1,
    FUSED_POINTERS = CUDNN_PTR_BN_DBIAS + 1,
    FUSED_SCALARS = CUDNN_SCALAR_DOUBLE_BN_EPSILON - CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES + 1
};

/* What is set before a plan is made: copies of descriptors, which are objects of their own, and numbers. A plan is one
 * of these, too, with a copy of all of it. */
struct dnn_fused {
    struct dnn_object object;
    int ops;
    bool made; /* of a plan */
    union {
        void *desc;
        int value;
    } param[FUSED_CONSTANTS];
};
/* What may change from one execution to the next. */
struct dnn_fused_variants {
    struct dnn_object object;
    int ops;
    void *at[FUSED_POINTERS];
    size_t space;
    int64_t count;
    double factor, epsilon;
};

/* The object kind of a label's descriptor; DNN_NONE: it is a number. */
enum dnn_kind dnn_fused_kind(int label);
/* The convolution of those that have one. */
int dnn_fused_convolution(const struct dnn_fused *p, struct mudnn_convolution *c);
/* Checks the parameters of a plan, and says what workspace it needs; a status. */
int dnn_fused_check(const struct dnn_fused *p, size_t *size);
int dnn_fused_run(void *handle, const struct dnn_fused *p, const struct dnn_fused_variants *v);

/* Is the operand of a placeholder there? */
static inline bool fused_has(const struct dnn_fused *p, int place) { return p->param[place].value != CUDNN_PTR_NULL; }

static inline const struct mudnn_tensor *fused_tensor(const struct dnn_fused *p, int label)
{
    return dnn_tensor_of(dnn_fused_kind(label), p->param[label].desc);
}
/* Bytes of a tensor in the workspace, as numbers of `type`. */
static inline size_t fused_extent(const struct mudnn_tensor *t, int type)
{
    int64_t last = 0;
    for (int i = 0; i < t->n; i++)
        last += (t->dim[i] - 1) * t->stride[i];
    return ((size_t)(last + 1) * dnn_size(type) + 255) / 256 * 256;
}

/* None, an identity, or one that says by its sign what it lets through. */
static inline bool fused_activates(const struct dnn_fused *p, bool only_relu, const struct dnn_activation **a)
{
    *a = p->param[CUDNN_PARAM_ACTIVATION_DESC].desc;
    if (*a && (*a)->mode == CUDNN_ACTIVATION_IDENTITY)
        *a = NULL;
    return !*a || !only_relu || (*a)->mode == CUDNN_ACTIVATION_RELU;
}
static inline bool fused_scales(const struct dnn_fused *p)
{
    const struct dnn_activation *a;
    fused_activates(p, false, &a);
    return a || fused_has(p, CUDNN_PARAM_BN_EQSCALE_PLACEHOLDER) || fused_has(p, CUDNN_PARAM_BN_EQBIAS_PLACEHOLDER);
}

#endif
