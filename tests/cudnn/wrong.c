/* Layers without state, with one thing wrong (wrong.h). */
#include "wrong.h"

/* From `inputs` tensors to one more, all of one shape; optional: of the inputs, by bits. */
static void blend(int type, const int *d, int inputs, unsigned optional)
{
    factor(type, 1);
    for (int i = 0; i < inputs; i++) {
        both(tensor(type, 4, d, false), false);
        a[args - 1].optional = optional >> i & 1;
    }
    factor(type, 0);
    both(tensor(type, 4, d, false), true);
}

static void convolution(int type, int way)
{
    const int c = sized(4), k = sized(4), h = 3 + upto(4), r = 2;
    struct tensor *x = tensor(type, 4, (int[]){sized(3), c, h, h}, false);
    struct tensor *w = tensor(type, 4, (int[]){k, c, r, r}, true);
    struct tensor *y = tensor(type, 4, (int[]){x->dim[0], k, h - r + 1, h - r + 1}, false);
    struct tensor *const order[][3] = {{x, w, y}, {w, y, x}, {x, y, w}};
    size_t size = 0;
    void *conv;
    add(HANDLE)->p = handle;
    factor(type, 1);
    both(order[way][0], false);
    both(order[way][1], false);
    conv = other(cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor);
    OK(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, 1, type == F64 ? F64 : F32));
    mode(1);
    if (way == 0)
        OK(cudnnGetConvolutionForwardWorkspaceSize(handle, x->desc, w->desc, conv, y->desc, 1, &size));
    else if (way == 1)
        OK(cudnnGetConvolutionBackwardDataWorkspaceSize(handle, w->desc, y->desc, conv, x->desc, 1, &size));
    else
        OK(cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x->desc, y->desc, conv, w->desc, 1, &size));
    workspace(size);
    factor(type, 0);
    both(order[way][2], true);
}
static void forward(int type) { convolution(type, 0); }
static void backward_data(int type) { convolution(type, 1); }
static void backward_filter(int type) { convolution(type, 2); }
static int run_forward(void)
{
    return cudnnConvolutionForward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), I(7), P(8), Z(9), P(10), P(11), P(12));
}
static int run_backward_data(void)
{
    return cudnnConvolutionBackwardData(P(0), P(1), P(2), P(3), P(4), P(5), P(6), I(7), P(8), Z(9), P(10), P(11),
                                        P(12));
}
static int run_backward_filter(void)
{
    return cudnnConvolutionBackwardFilter(P(0), P(1), P(2), P(3), P(4), P(5), P(6), I(7), P(8), Z(9), P(10), P(11),
                                          P(12));
}

static void backward_bias(int type)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    factor(type, 1);
    both(tensor(type, 4, d, false), false);
    may_be(1 << 0 | 1 << 2 | 1 << 3);
    factor(type, 0);
    both(tensor(type, 4, (int[]){1, box[1], 1, 1}, false), true);
}
static int run_backward_bias(void) { return cudnnConvolutionBackwardBias(P(0), P(1), P(2), P(3), P(4), P(5), P(6)); }

/* y and x of a gradient: which is needed depends on the function. */
static void activation_of(int type, int inputs)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    OK(cudnnSetActivationDescriptor(other(cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor),
                                    1 + upto(3), 0, 1));
    blend(type, d, inputs, inputs == 3 ? 1 << 0 | 1 << 2 : 0);
}
static void activation(int type) { activation_of(type, 1); }
static void activation_backward(int type) { activation_of(type, 3); }
static int run_activation(void) { return cudnnActivationForward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7)); }
static int run_activation_backward(void)
{
    return cudnnActivationBackward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11));
}

static void softmax_of(int type, int inputs)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    mode(upto(3));
    mode(upto(2));
    blend(type, d, inputs, 0);
}
static void softmax(int type) { softmax_of(type, 1); }
static void softmax_backward(int type) { softmax_of(type, 2); }
static int run_softmax(void) { return cudnnSoftmaxForward(P(0), I(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8)); }
static int run_softmax_backward(void)
{
    return cudnnSoftmaxBackward(P(0), I(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10));
}

static const int *begin_pooling(void)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    OK(cudnnSetPooling2dDescriptor(other(cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor), upto(3), 0, 2, 2,
                                   0, 0, 1, 1));
    return d;
}
static void pooling(int type)
{
    const int *d = begin_pooling();
    factor(type, 1);
    both(tensor(type, 4, d, false), false);
    may_be(1 << 2 | 1 << 3); /* windows may reach beyond */
    factor(type, 0);
    both(tensor(type, 4, (int[]){box[0], box[1], box[2] - 1, box[3] - 1}, false), true);
    may_be(1 << 2 | 1 << 3);
}
static int run_pooling(void) { return cudnnPoolingForward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7)); }
static void pooling_backward(int type)
{
    const int *d = begin_pooling();
    factor(type, 1);
    for (int i = 0; i < 3; i++) { /* y, dy, x */
        both(tensor(type, 4, i < 2 ? (int[]){box[0], box[1], box[2] - 1, box[3] - 1} : d, false), false);
        a[args - 1].optional = i != 1;
    }
    factor(type, 0);
    both(tensor(type, 4, d, false), true);
}
static int run_pooling_backward(void)
{
    return cudnnPoolingBackward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11));
}
static void lrn_of(int type, int inputs)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    OK(cudnnSetLRNDescriptor(other(cudnnCreateLRNDescriptor, cudnnDestroyLRNDescriptor), 3, 1e-4, 0.75, 2));
    mode(0);
    blend(type, d, inputs, 0);
}
static void lrn(int type) { lrn_of(type, 1); }
static void lrn_backward(int type) { lrn_of(type, 3); }
static int run_lrn_backward(void)
{
    return cudnnLRNCrossChannelBackward(P(0), P(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                        P(12));
}
static int run_lrn(void) { return cudnnLRNCrossChannelForward(P(0), P(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8)); }

static void begin_norm(int type)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    mode(1);
    factor(type, 1);
    factor(type, 0);
    both(tensor(type, 4, d, false), false);
    both(tensor(type, 4, d, false), true);
    gaps = false; /* one description is that of all */
}
static void norm(int type)
{
    begin_norm(type);
    const int wide = type == F64 ? F64 : F32, one[] = {1, box[1], 1, 1};
    struct tensor *scale = tensor(wide, 4, one, false);
    described(scale);
    memory(scale, false);
    memory(tensor(wide, 4, one, false), false);
    plain(1);
    for (int i = 0; i < 2; i++) {
        memory(tensor(wide, 4, one, false), true);
        a[args - 1].optional = true;
    }
    plain(1e-5);
    gaps = true;
}
static int run_norm(void)
{
    return cudnnBatchNormalizationForwardTraining(P(0), I(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10),
                                                  D(11), P(12), P(13), D(14), NULL, NULL);
}

static void norm_inference(int type)
{
    begin_norm(type);
    const int wide = type == F64 ? F64 : F32, one[] = {1, box[1], 1, 1};
    struct tensor *scale = tensor(wide, 4, one, false);
    both(scale, false);
    for (int i = 0; i < 3; i++) {
        struct tensor *t = tensor(wide, 4, one, false);
        for (int k = 0; k < count(t); k++)
            t->v[k] = 1 + fabs(t->v[k]); /* a variance */
        upload(t);
        memory(t, false);
    }
    plain(1e-5);
    gaps = true;
}
static int run_norm_inference(void)
{
    return cudnnBatchNormalizationForwardInference(P(0), I(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10),
                                                   P(11), P(12), D(13));
}
static void norm_backward(int type)
{
    const int *d = draw_box(), one[] = {1, box[1], 1, 1};
    const int wide = type == F64 ? F64 : F32;
    add(HANDLE)->p = handle;
    mode(1);
    for (int i = 0; i < 4; i++)
        factor(i < 2 ? type : wide, i % 2 == 0);
    both(tensor(type, 4, d, false), false);
    both(tensor(type, 4, d, false), false);
    both(tensor(type, 4, d, false), true);
    gaps = false;
    both(tensor(wide, 4, one, false), false);
    memory(tensor(wide, 4, one, false), true);
    memory(tensor(wide, 4, one, false), true);
    plain(1e-5);
    gaps = true;
}
static int run_norm_backward(void)
{
    return cudnnBatchNormalizationBackward(P(0), I(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                           P(12), P(13), P(14), P(15), D(16), NULL, NULL);
}

static void op_tensor(int type)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    OK(cudnnSetOpTensorDescriptor(other(cudnnCreateOpTensorDescriptor, cudnnDestroyOpTensorDescriptor), upto(2),
                                  type == F64 ? F64 : F32, 0));
    for (int i = 0; i < 2; i++) {
        factor(type, 1);
        both(tensor(type, 4, d, false), false);
    }
    factor(type, 0);
    both(tensor(type, 4, d, false), true);
}
static int run_op_tensor(void)
{
    return cudnnOpTensor(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10));
}
static void add_tensor(int type)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    factor(type, 1);
    both(tensor(type, 4, d, false), false);
    factor(type, 1);
    both(tensor(type, 4, d, false), true);
}
static int run_add_tensor(void) { return cudnnAddTensor(P(0), P(1), P(2), P(3), P(4), P(5), P(6)); }
static int run_transform(void) { return cudnnTransformTensor(P(0), P(1), P(2), P(3), P(4), P(5), P(6)); }
static void scale_tensor(int type)
{
    add(HANDLE)->p = handle;
    both(tensor(type, 4, draw_box(), false), true);
    factor(type, 0.5);
}
static int run_scale(void) { return cudnnScaleTensor(P(0), P(1), P(2), P(3)); }

static void reduce(int type)
{
    const int *d = draw_box();
    size_t size = 0;
    void *how;
    add(HANDLE)->p = handle;
    how = other(cudnnCreateReduceTensorDescriptor, cudnnDestroyReduceTensorDescriptor);
    OK(cudnnSetReduceTensorDescriptor(how, upto(2) ? 0 : 3, type == F64 ? F64 : F32, 0, 0, 0));
    add(PLAIN), add(PLAIN); /* no indices */
    struct tensor *x = tensor(type, 4, d, false), *y = tensor(type, 4, (int[]){box[0], 1, box[2], 1}, false);
    OK(cudnnGetReductionWorkspaceSize(handle, how, x->desc, y->desc, &size));
    workspace(size);
    factor(type, 1);
    both(x, false);
    may_be(1 << 1 | 1 << 3);
    factor(type, 0);
    both(y, true);
}
static int run_reduce(void)
{
    return cudnnReduceTensor(P(0), P(1), NULL, 0, P(4), Z(5), P(6), P(7), P(8), P(9), P(10), P(11));
}

static const struct call calls[] = {
    {"ConvolutionForward", forward, run_forward, false, false},
    {"ConvolutionBackwardData", backward_data, run_backward_data, false, false},
    {"ConvolutionBackwardFilter", backward_filter, run_backward_filter, false, false},
    {"ConvolutionBackwardBias", backward_bias, run_backward_bias, false, false},
    {"ActivationForward", activation, run_activation, false, false},
    {"ActivationBackward", activation_backward, run_activation_backward, false, false},
    {"SoftmaxForward", softmax, run_softmax, false, false},
    {"SoftmaxBackward", softmax_backward, run_softmax_backward, false, false},
    {"PoolingForward", pooling, run_pooling, false, false},
    {"PoolingBackward", pooling_backward, run_pooling_backward, false, false},
    {"LRNCrossChannelBackward", lrn_backward, run_lrn_backward, false, false},
    {"BatchNormalizationForwardInference", norm_inference, run_norm_inference, false, false},
    {"BatchNormalizationBackward", norm_backward, run_norm_backward, false, false},
    {"LRNCrossChannelForward", lrn, run_lrn, false, false},
    {"BatchNormalizationForwardTraining", norm, run_norm, false, false},
    {"OpTensor", op_tensor, run_op_tensor, false, true},
    {"AddTensor", add_tensor, run_add_tensor, false, true},
    {"TransformTensor", add_tensor, run_transform, false, true},
    {"ScaleTensor", scale_tensor, run_scale, true, true},
    {"ReduceTensor", reduce, run_reduce, false, true},
};

int main(void)
{
    MUST(cudnnCreate(&handle));
    all_of(calls, sizeof calls / sizeof *calls, 6);
    OK(cudnnDestroy(handle));
    return check_end("calls with one thing wrong");
}
