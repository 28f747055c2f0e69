/* Calls of cuDNN's layers with one thing wrong, made of right ones: each argument in turn is nothing, noise, an object
 * of another kind, destroyed or not set, a shape or type that does not fit, a mode that is none, a workspace too small,
 * memory that begins at an odd address. What is wrong has an error, and the right call is right again behind all of it.
 * Numbers of the host lie in memory of their size, so that sanitizers see who reads more. */
#include "dnn.h"

enum kind { HANDLE, TENSOR, FILTER, OTHER, DATA, RESULT, NUMBER, MODE, WORK, SIZE, PLAIN };
struct arg {
    enum kind kind;
    bool optional; /* NULL means something, or the other shape does */
    void *p;
    int i;
    size_t z;
    double d;
    const struct tensor *t;
    unsigned free; /* dimensions, by bits, that need not fit */
};
enum { ARGS = 24, TENSORS = 10 };
static struct arg a[ARGS];
static int args;
static struct tensor all[TENSORS];
static int tensors;
static void *others[4];
static int (*destroy_other[4])(void *);
static int other_count;

static struct arg *add(enum kind kind)
{
    a[args] = (struct arg){.kind = kind};
    return &a[args++];
}
static bool gaps = true;
static struct tensor *tensor(int type, int n, const int *dim, bool filter)
{
    all[tensors] = make(type, n, dim, NCHW, gaps && !filter && upto(2), filter);
    return &all[tensors++];
}
static void may_be(unsigned dims) /* of the last descriptor but one argument */ { a[args - 2].free = dims; }
static void described(const struct tensor *t)
{
    struct arg *x = add(t->is_filter ? FILTER : TENSOR);
    x->p = t->desc, x->t = t;
}
static void memory(const struct tensor *t, bool result)
{
    struct arg *x = add(result ? RESULT : DATA);
    x->p = t->at, x->t = t;
}
static void both(const struct tensor *t, bool result)
{
    described(t);
    memory(t, result);
}
static void factor(int type, double v)
{
    const union scalar s = scalar(type, v);
    const size_t size = type == F64 ? sizeof(double) : sizeof(float);
    struct arg *x = add(NUMBER);
    x->p = malloc(size);
    memcpy(x->p, &s, size);
}
static void mode(int v) { add(MODE)->i = v; }
static void plain(double v) { add(PLAIN)->d = v; }
static void *other(int (*create)(void *), int (*destroy)(void *))
{
    void *d = NULL;
    MUST(create(&d));
    others[other_count] = d;
    destroy_other[other_count++] = destroy;
    add(OTHER)->p = d;
    return d;
}
static void workspace(size_t size)
{
    struct arg *w = add(WORK), *z;
    MUST(cudaMalloc(&w->p, size + 1));
    w->z = size;
    w->optional = !size;
    z = add(SIZE);
    z->z = size;
}

/* ---- right calls ------------------------------------------------------------------------------- */

#define P(n) a[n].p
#define I(n) a[n].i
#define Z(n) a[n].z
#define D(n) a[n].d
struct call {
    const char *name;
    void (*set_up)(int type);
    int (*run)(void);
    bool one_shape; /* of all its tensors: no other can be wrong */
    bool any_type;  /* types may differ */
};
static int sized(int most) { return 2 + upto(most - 1); }
static int box[4];
static const int *draw_box(void)
{
    for (int i = 0; i < 4; i++)
        box[i] = sized(5);
    return box;
}

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

/* ---- what is wrong ----------------------------------------------------------------------------- */

static void tear_down(void)
{
    for (int i = 0; i < args; i++) {
        if (a[i].kind == NUMBER)
            free(a[i].p);
        if (a[i].kind == WORK)
            OK(cudaFree(a[i].p));
    }
    for (int i = 0; i < other_count; i++)
        OK(destroy_other[i](others[i]));
    other_count = 0;
    while (tensors)
        drop(&all[--tensors]);
    args = 0;
}
static void restore(void)
{
    for (int i = 0; i < tensors; i++)
        OK(cudaMemcpy(all[i].at, all[i].host, all[i].size * bytes(all[i].type), 1));
}
static int run(const struct call *c)
{
    int r = c->run();
    OK(cudaDeviceSynchronize());
    return r;
}
static void refused(const struct call *c, int i, const char *what)
{
    int r = run(c);
    EXPECT(r >= 1000 && r < 5000, "%s: argument %d: %s: %d", c->name, i, what, r);
}

/* Another description of the tensor: a dimension shorter, or a narrower type, so that nothing is read beyond it. */
static void *described_anew(const struct tensor *t, int which)
{
    static const int narrower[] = {[F32] = F16, [F64] = F32, [F16] = I8};
    struct tensor o = *t;
    void *d;
    if (which == t->n)
        o.type = narrower[t->type];
    else
        o.dim[which]--;
    if (t->is_filter) {
        OK(cudnnCreateFilterDescriptor(&d));
        OK(cudnnSetFilterNdDescriptor(d, o.type, NCHW, o.n, o.dim));
    } else {
        OK(cudnnCreateTensorDescriptor(&d));
        OK(cudnnSetTensorNdDescriptor(d, o.type, o.n, o.dim, o.stride));
    }
    return d;
}

static void objects(const struct call *c, int i)
{
    static long long noise[64] = {0x1234567812345678, -1, 77};
    struct arg *const x = &a[i];
    void *const right = x->p;
    void *gone = NULL, *unset = NULL, *unlike = NULL;
    const bool filter = x->kind == FILTER;
    x->p = NULL;
    refused(c, i, "NULL");
    x->p = noise;
    refused(c, i, "noise");
    x->p = x->kind == HANDLE ? all[0].desc : handle;
    refused(c, i, "another kind");
    OK(filter ? cudnnCreateFilterDescriptor(&gone) : cudnnCreateTensorDescriptor(&gone));
    OK(filter ? cudnnDestroyFilterDescriptor(gone) : cudnnDestroyTensorDescriptor(gone));
    x->p = gone;
    refused(c, i, "destroyed");
    OK(filter ? cudnnCreateTensorDescriptor(&unlike) : cudnnCreateActivationDescriptor(&unlike));
    if (x->kind != OTHER) {
        x->p = unlike;
        refused(c, i, "a descriptor of another kind");
    }
    OK(filter ? cudnnDestroyTensorDescriptor(unlike) : cudnnDestroyActivationDescriptor(unlike));
    if (x->t) {
        OK(filter ? cudnnCreateFilterDescriptor(&unset) : cudnnCreateTensorDescriptor(&unset));
        x->p = unset;
        refused(c, i, "not set");
        OK(filter ? cudnnDestroyFilterDescriptor(unset) : cudnnDestroyTensorDescriptor(unset));
    }
    for (int k = 0; x->t && !c->one_shape && k <= x->t->n; k++) {
        if (k < x->t->n ? x->t->dim[k] < 3 || x->free >> k & 1 : c->any_type)
            continue; /* a dimension of 1 may serve all */
        x->p = described_anew(x->t, k);
        refused(c, i, k < x->t->n ? "another shape" : "another type");
        OK(filter ? cudnnDestroyFilterDescriptor(x->p) : cudnnDestroyTensorDescriptor(x->p));
    }
    x->p = right;
}

/* From an address on that is odd, or half of what numbers lie at. */
static void odd_address(const struct call *c, int i)
{
    struct arg *const x = &a[i];
    void *const right = x->p;
    x->p = (char *)right + (upto(2) ? 1 : bytes(x->t->type) / 2);
    int r = run(c);
    EXPECT(r == 2003, "%s: argument %d: an odd address: %d", c->name, i, r);
    x->p = right;
}

static void one(const struct call *c, int type)
{
    double *want[TENSORS];
    c->set_up(type);
    IS(run(c), 0);
    for (int k = 0; k < tensors; k++) {
        struct tensor t = all[k];
        t.v = want[k] = calloc((size_t)count(&t), sizeof(double));
        download(&t);
    }
    restore();
    for (int i = 0; i < args; i++) {
        struct arg *const x = &a[i];
        const struct arg right = *x;
        static const int modes[] = {-1, 99, 1 << 30};
        switch (x->kind) {
        case HANDLE:
        case TENSOR:
        case FILTER:
        case OTHER: objects(c, i); break;
        case DATA:
        case RESULT:
        case NUMBER:
            x->p = NULL;
            if (!x->optional)
                refused(c, i, "NULL");
            *x = right;
            if (x->kind != NUMBER)
                odd_address(c, i);
            break;
        case MODE:
            for (int k = 0; k < 3; k++) {
                x->i = modes[k];
                refused(c, i, "a mode that is none");
            }
            break;
        case WORK:
            x->p = NULL;
            if (!x->optional)
                refused(c, i, "no workspace");
            break;
        case SIZE:
            x->z = right.z - 1;
            if (right.z)
                refused(c, i, "a workspace too small");
            break;
        case PLAIN: break;
        }
        *x = right;
    }
    restore();
    IS(run(c), 0);
    for (int k = 0; k < tensors; k++) {
        same(&all[k], want[k], 1e-3, c->name);
        free(want[k]);
    }
    tear_down();
}

int main(void)
{
    static const int types[] = {F32, F64, F16};
    MUST(cudnnCreate(&handle));
    for (int round = 0; round < 6; round++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            one(&calls[i], types[round % 3]);
    OK(cudnnDestroy(handle));
    return check_end("calls with one thing wrong");
}
