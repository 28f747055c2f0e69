/* cuDNN's activations, and what computes with whole tensors element by element. */
#include "api/cudnn/dnn.h"

int wrap_cudnnCreateActivationDescriptor(void **d)
{
    return dnn_create(DNN_ACTIVATION, sizeof(struct dnn_activation), d);
}
int wrap_cudnnDestroyActivationDescriptor(void *d) { return dnn_destroy(DNN_ACTIVATION, d); }

int wrap_cudnnSetActivationDescriptor(void *desc, int mode, int nan, double coefficient)
{
    struct dnn_activation *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, d) && (unsigned)mode <= CUDNN_ACTIVATION_SWISH);
    DNN_BAD_UNLESS((unsigned)nan <= CUDNN_PROPAGATE_NAN);
    d->mode = mode;
    d->nan = nan;
    d->coefficient = coefficient;
    d->swish = 1;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetActivationDescriptor(void *desc, int *mode, int *nan, double *coefficient)
{
    const struct dnn_activation *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, d) && mode && nan && coefficient);
    *mode = d->mode;
    *nan = d->nan;
    *coefficient = d->coefficient;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetActivationDescriptorSwishBeta(void *d, double beta)
{
    DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, d));
    ((struct dnn_activation *)d)->swish = beta;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetActivationDescriptorSwishBeta(void *d, double *beta)
{
    DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, d) && beta);
    *beta = ((struct dnn_activation *)d)->swish;
    return CUDNN_STATUS_SUCCESS;
}

/* cudnnActivationMode_t as modes of a pointwise operation. */
static const struct {
    int forward, backward;
} modes[] = {[CUDNN_ACTIVATION_SIGMOID] = {CUDNN_POINTWISE_SIGMOID_FWD, CUDNN_POINTWISE_SIGMOID_BWD},
             [CUDNN_ACTIVATION_RELU] = {CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_RELU_BWD},
             [CUDNN_ACTIVATION_TANH] = {CUDNN_POINTWISE_TANH_FWD, CUDNN_POINTWISE_TANH_BWD},
             [CUDNN_ACTIVATION_CLIPPED_RELU] = {CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_RELU_BWD},
             [CUDNN_ACTIVATION_ELU] = {CUDNN_POINTWISE_ELU_FWD, CUDNN_POINTWISE_ELU_BWD},
             [CUDNN_ACTIVATION_IDENTITY] = {CUDNN_POINTWISE_IDENTITY, CUDNN_POINTWISE_MUL},
             [CUDNN_ACTIVATION_SWISH] = {CUDNN_POINTWISE_SWISH_FWD, CUDNN_POINTWISE_SWISH_BWD}};

/* The coefficient bounds a clipped ReLU only: the documents say so of every ReLU, NVIDIA's compute otherwise
 * (mapping/facts/cuda.md F11). */
static void describe(struct mudnn_pointwise *p, const struct dnn_activation *a, double alpha, double beta)
{
    *p = (struct mudnn_pointwise){.nan = a->nan == CUDNN_PROPAGATE_NAN,
                                  .scale = alpha,
                                  .alpha = {1, 1},
                                  .beta = beta,
                                  .low = 0,
                                  .high = a->mode == CUDNN_ACTIVATION_CLIPPED_RELU ? a->coefficient : __builtin_inf(),
                                  .elu = a->coefficient,
                                  .softplus = 1,
                                  .swish = a->swish};
}

int wrap_cudnnActivationForward(void *handle, void *act, const void *alpha, void *x, const void *x_at, const void *beta,
                                void *y, void *y_at)
{
    const struct dnn_activation *a = act;
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *yt = dnn_tensor_of(DNN_TENSOR, y);
    struct mudnn_pointwise p;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, a) && alpha && beta && xt && yt && x_at && y_at && dnn_same_shape(xt, yt));
    DNN_BAD_UNLESS(dnn_same_type(x, y));
    DNN_ALIGNED(xt->type, x_at, y_at);
    if (a->mode == CUDNN_ACTIVATION_IDENTITY)
        return CUDNN_STATUS_NOT_SUPPORTED; /* cuDNN has it for cudnnConvolutionBiasActivationForward alone */
    describe(&p, a, dnn_scalar(alpha, yt->type), dnn_scalar(beta, yt->type));
    p.mode = modes[a->mode].forward;
    p.x = *xt, p.y = *yt;
    p.x_at = x_at, p.y_at = y_at;
    return dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), "cudnnActivationForward");
}

/* dx = alpha dy f'(x) + beta dx; of sigmoid and tanh the derivative is one of y, which programs may give for x. */
int wrap_cudnnActivationBackward(void *handle, void *act, const void *alpha, void *y, const void *y_at, void *dy,
                                 const void *dy_at, void *x, const void *x_at, const void *beta, void *dx, void *dx_at)
{
    const struct dnn_activation *a = act;
    const struct mudnn_tensor *yt = dnn_tensor_of(DNN_TENSOR, y), *dyt = dnn_tensor_of(DNN_TENSOR, dy);
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *dxt = dnn_tensor_of(DNN_TENSOR, dx);
    struct mudnn_pointwise p;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, a) && alpha && beta && yt && dyt && xt && dxt && dy_at && dx_at);
    DNN_BAD_UNLESS(dnn_same_shape(yt, dyt) && dnn_same_shape(yt, dxt) && dnn_same_shape(yt, xt));
    if (dyt->type != yt->type || dxt->type != yt->type || xt->type != yt->type)
        return CUDNN_STATUS_NOT_SUPPORTED;
    DNN_ALIGNED(yt->type, y_at, dy_at, x_at, dx_at);
    if (a->mode == CUDNN_ACTIVATION_IDENTITY)
        return CUDNN_STATUS_NOT_SUPPORTED;
    describe(&p, a, dnn_scalar(alpha, dxt->type), dnn_scalar(beta, dxt->type));
    p.mode = modes[a->mode].backward;
    p.from_y = a->mode == CUDNN_ACTIVATION_SIGMOID || a->mode == CUDNN_ACTIVATION_TANH;
    p.x = *dyt, p.b = p.from_y ? *yt : *xt, p.y = *dxt;
    p.x_at = dy_at, p.b_at = p.from_y ? y_at : x_at, p.y_at = dx_at;
    DNN_BAD_UNLESS(p.b_at);
    return dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), "cudnnActivationBackward");
}

/* ---- whole tensors ----------------------------------------------------------------------------- */

int wrap_cudnnCreateOpTensorDescriptor(void **d) { return dnn_create(DNN_OP_TENSOR, sizeof(struct dnn_op_tensor), d); }
int wrap_cudnnDestroyOpTensorDescriptor(void *d) { return dnn_destroy(DNN_OP_TENSOR, d); }

int wrap_cudnnSetOpTensorDescriptor(void *desc, int op, int compute, int nan)
{
    struct dnn_op_tensor *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_OP_TENSOR, d) && (unsigned)op <= CUDNN_OP_TENSOR_NOT && dnn_size(compute));
    DNN_BAD_UNLESS((unsigned)nan <= CUDNN_PROPAGATE_NAN);
    d->op = op;
    d->compute = compute;
    d->nan = nan;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetOpTensorDescriptor(void *desc, int *op, int *compute, int *nan)
{
    const struct dnn_op_tensor *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_OP_TENSOR, d));
    if (op)
        *op = d->op;
    if (compute)
        *compute = d->compute;
    if (nan)
        *nan = d->nan;
    return CUDNN_STATUS_SUCCESS;
}

/* c = op(alpha1 a, alpha2 b) + beta c; NOT is 1 - alpha1 a, and takes no b. */
int wrap_cudnnOpTensor(void *handle, void *desc, const void *alpha1, void *a, const void *a_at, const void *alpha2,
                       void *b, const void *b_at, const void *beta, void *c, void *c_at)
{
    static const int op_modes[] = {
        [CUDNN_OP_TENSOR_ADD] = CUDNN_POINTWISE_ADD,   [CUDNN_OP_TENSOR_MUL] = CUDNN_POINTWISE_MUL,
        [CUDNN_OP_TENSOR_MIN] = CUDNN_POINTWISE_MIN,   [CUDNN_OP_TENSOR_MAX] = CUDNN_POINTWISE_MAX,
        [CUDNN_OP_TENSOR_SQRT] = CUDNN_POINTWISE_SQRT, [CUDNN_OP_TENSOR_NOT] = CUDNN_POINTWISE_SUB};
    const struct dnn_op_tensor *d = desc;
    const struct mudnn_tensor *at = dnn_tensor_of(DNN_TENSOR, a), *bt = dnn_tensor_of(DNN_TENSOR, b);
    const struct mudnn_tensor *ct = dnn_tensor_of(DNN_TENSOR, c);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_OP_TENSOR, d) && at && ct && alpha1 && beta && a_at && c_at && dnn_serves(at, ct));
    bool one = d->op == CUDNN_OP_TENSOR_SQRT || d->op == CUDNN_OP_TENSOR_NOT;
    DNN_BAD_UNLESS(one || (bt && alpha2 && b_at && dnn_serves(bt, ct)));
    DNN_ALIGNED(at->type, a_at);
    DNN_ALIGNED(ct->type, c_at);
    if (!one)
        DNN_ALIGNED(bt->type, b_at);
    if (d->op == CUDNN_OP_TENSOR_NOT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct mudnn_pointwise p = {.mode = op_modes[d->op],
                                .nan = d->nan == CUDNN_PROPAGATE_NAN,
                                .scale = 1,
                                .alpha = {dnn_scalar(alpha1, d->compute), one ? 0 : dnn_scalar(alpha2, d->compute)},
                                .beta = dnn_scalar(beta, d->compute),
                                .x = *at,
                                .y = *ct,
                                .x_at = a_at,
                                .y_at = c_at};
    if (!one)
        p.b = *bt, p.b_at = b_at;
    return dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), "cudnnOpTensor");
}

/* y = alpha x + beta y, x broadcast where `broadcast`. */
static int move(void *handle, const char *symbol, const void *alpha, const struct mudnn_tensor *x, const void *x_at,
                const void *beta, const struct mudnn_tensor *y, void *y_at, bool broadcast)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(alpha && beta && x && y && x_at && y_at && (broadcast ? dnn_serves(x, y) : dnn_same_shape(x, y)));
    DNN_ALIGNED(x->type, x_at);
    DNN_ALIGNED(y->type, y_at);
    struct mudnn_pointwise p = {.mode = CUDNN_POINTWISE_IDENTITY,
                                .scale = dnn_scalar(alpha, y->type),
                                .alpha = {1, 0},
                                .beta = dnn_scalar(beta, y->type),
                                .x = *x,
                                .y = *y,
                                .x_at = x_at,
                                .y_at = y_at};
    return dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), symbol);
}
int wrap_cudnnAddTensor(void *handle, const void *alpha, void *a, const void *a_at, const void *beta, void *c,
                        void *c_at)
{
    return move(handle, "cudnnAddTensor", alpha, dnn_tensor_of(DNN_TENSOR, a), a_at, beta, dnn_tensor_of(DNN_TENSOR, c),
                c_at, true);
}
/* Vectors of 4 come from all types but the bytes of the other sign and go to them, those of 32 nowhere, as with
 * NVIDIA's (mapping/facts/cuda.md F11). */
int wrap_cudnnTransformTensor(void *handle, const void *alpha, void *x, const void *x_at, const void *beta, void *y,
                              void *y_at)
{
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *yt = dnn_tensor_of(DNN_TENSOR, y);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(xt && yt && xt->vector != 32 && yt->vector != 32);
    bool bytes = dnn_size(xt->type) == 1 && dnn_size(yt->type) == 1;
    if ((xt->vector > 1 || yt->vector > 1) && bytes && xt->type != yt->type)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return move(handle, "cudnnTransformTensor", alpha, xt, x_at, beta, yt, y_at, false);
}

int wrap_cudnnScaleTensor(void *handle, void *y, void *y_at, const void *alpha)
{
    static const float zero;
    static const double wide_zero;
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, y);
    const void *beta = t && t->type == CUDNN_DATA_DOUBLE ? (const void *)&wide_zero : &zero;
    return move(handle, "cudnnScaleTensor", alpha, t, y_at, beta, t, y_at, false);
}

/* The value is one of the tensor's own type, of vectors a vector: of four equal numbers, as it is not said what others
 * do. */
int wrap_cudnnSetTensor(void *handle, void *y, void *y_at, const void *value)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, y);
    const unsigned char *numbers = value;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(t && y_at && value);
    DNN_ALIGNED(t->type, y_at);
    for (int i = 1; i < t->vector; i++)
        if (t->vector != 4 || numbers[i] != numbers[0])
            return CUDNN_STATUS_NOT_SUPPORTED;
    return dnn_done(mu.mudnnHostFill(dnn_stream(handle), t, y_at, value), "cudnnSetTensor");
}
