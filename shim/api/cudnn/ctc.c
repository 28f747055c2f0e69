/* cuDNN's CTC loss. */
#include "api/cudnn/dnn.h"

enum { LABELS = 256 }; /* most of a sequence whose length the descriptor does not say */

struct dnn_ctc {
    struct dnn_object object;
    int compute, norm, grad, most;
    bool set;
};

int wrap_cudnnCreateCTCLossDescriptor(void **d) { return dnn_create(DNN_CTC, sizeof(struct dnn_ctc), d); }
int wrap_cudnnDestroyCTCLossDescriptor(void *d) { return dnn_destroy(DNN_CTC, d); }

static int set(void *desc, int compute, int norm, int grad, int most)
{
    struct dnn_ctc *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_CTC, d) && dnn_size(compute) && (unsigned)norm <= CUDNN_LOSS_NORMALIZATION_SOFTMAX);
    DNN_BAD_UNLESS((unsigned)grad <= CUDNN_PROPAGATE_NAN && most >= 0 && most <= LABELS);
    d->compute = compute, d->norm = norm, d->grad = grad, d->most = most;
    d->set = true;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetCTCLossDescriptor(void *d, int compute)
{
    return set(d, compute, CUDNN_LOSS_NORMALIZATION_NONE, CUDNN_NOT_PROPAGATE_NAN, LABELS);
}
int wrap_cudnnSetCTCLossDescriptorEx(void *d, int compute, int norm, int nan)
{
    return set(d, compute, norm, nan, LABELS);
}
int wrap_cudnnSetCTCLossDescriptor_v8(void *d, int compute, int norm, int nan, int most)
{
    return set(d, compute, norm, nan, most);
}
/* The modes of gradients have the numbers of the NaN propagation before them, and mean the same. */
int wrap_cudnnSetCTCLossDescriptor_v9(void *d, int compute, int norm, int grad, int most)
{
    return set(d, compute, norm, grad, most);
}

static int get(void *desc, int *compute, int *norm, int *grad, int *most)
{
    const struct dnn_ctc *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_CTC, d) && d->set);
    int *const to[] = {compute, norm, grad, most};
    const int from[] = {d->compute, d->norm, d->grad, d->most};
    for (int i = 0; i < 4; i++)
        if (to[i])
            *to[i] = from[i];
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetCTCLossDescriptor(void *d, int *compute) { return get(d, compute, NULL, NULL, NULL); }
int wrap_cudnnGetCTCLossDescriptorEx(void *d, int *compute, int *norm, int *nan)
{
    return get(d, compute, norm, nan, NULL);
}
int wrap_cudnnGetCTCLossDescriptor_v8(void *d, int *compute, int *norm, int *nan, int *most)
{
    return get(d, compute, norm, nan, most);
}
int wrap_cudnnGetCTCLossDescriptor_v9(void *d, int *compute, int *norm, int *grad, int *most)
{
    return get(d, compute, norm, grad, most);
}

/* What the size of the workspace and the call have in common. `most`: labels of the longest sequence. */
static int describe(struct mudnn_ctc *c, void *handle, const void *desc, int algo, const void *probs, const void *grads,
                    int64_t most)
{
    const struct dnn_ctc *d = desc;
    const struct mudnn_tensor *p = dnn_tensor_of(DNN_TENSOR, probs), *g = dnn_tensor_of(DNN_TENSOR, grads);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_CTC, d) && d->set && p && p->n == 3 && (!grads || (g && dnn_same_shape(p, g))));
    DNN_BAD_UNLESS(algo >= 0);
    if (algo > CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC || d->compute != CUDNN_DATA_FLOAT || p->type != CUDNN_DATA_FLOAT ||
        (g && g->type != CUDNN_DATA_FLOAT))
        return CUDNN_STATUS_NOT_SUPPORTED;
    *c = (struct mudnn_ctc){.softmax = d->norm == CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                            .skip = d->grad == CUDNN_PROPAGATE_NAN,
                            .most = most,
                            .probs = *p};
    if (g)
        c->grads = *g;
    return CUDNN_STATUS_SUCCESS;
}
static size_t space_of(const struct mudnn_ctc *c)
{
    return (size_t)mudnn_ctc_space(c->probs.dim[0], c->probs.dim[1], c->probs.dim[2], c->most) * sizeof(double);
}

/* The longest of the host's label sequences; -1 where lengths or labels are none. */
static int64_t longest(const struct mudnn_tensor *p, const int *labels, const int *label_length,
                       const int *input_length)
{
    int64_t most = 0, all = 0;
    for (int64_t i = 0; i < p->dim[1]; i++) {
        if (label_length[i] < 0 || label_length[i] > LABELS || input_length[i] < 0 || input_length[i] > p->dim[0])
            return -1;
        most = label_length[i] > most ? label_length[i] : most;
        all += label_length[i];
    }
    if (all && !labels)
        return -1;
    for (int64_t i = 0; i < all; i++)
        if (labels[i] <= 0 || labels[i] >= p->dim[2])
            return -1;
    return most;
}

int wrap_cudnnGetCTCLossWorkspaceSize(void *handle, void *probs, void *grads, const int *labels,
                                      const int *label_length, const int *input_length, int algo, void *desc,
                                      size_t *size)
{
    struct mudnn_ctc c;
    int r = describe(&c, handle, desc, algo, probs, grads, 0);
    if (r)
        return r;
    DNN_BAD_UNLESS(label_length && input_length && size);
    c.most = longest(&c.probs, labels, label_length, input_length);
    DNN_BAD_UNLESS(c.most >= 0);
    *size = space_of(&c);
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetCTCLossWorkspaceSize_v8(void *handle, int algo, void *desc, void *probs, void *grads, size_t *size)
{
    struct mudnn_ctc c;
    int r = describe(&c, handle, desc, algo, probs, grads, 0);
    if (r)
        return r;
    DNN_BAD_UNLESS(size);
    c.most = ((const struct dnn_ctc *)desc)->most;
    *size = space_of(&c);
    return CUDNN_STATUS_SUCCESS;
}

static int start(struct mudnn_ctc *c, void *handle, const void *probs_at, const int *labels, const int *label_length,
                 const int *input_length, void *costs, void *grads_at, void *space, size_t size, const char *symbol)
{
    DNN_BAD_UNLESS(probs_at && costs && (c->grads.n ? grads_at != NULL : !grads_at) && space && size >= space_of(c) &&
                   (uintptr_t)space % sizeof(double) == 0);
    DNN_ALIGNED(c->probs.type, probs_at, grads_at);
    DNN_ALIGNED(CUDNN_DATA_FLOAT, costs);
    DNN_ALIGNED(CUDNN_DATA_INT32, labels, label_length, input_length);
    c->probs_at = probs_at, c->grads_at = grads_at, c->costs = costs, c->space = space;
    c->labels = labels, c->label_length = label_length, c->input_length = input_length;
    return dnn_done(mu.mudnnHostCtc(dnn_stream(handle), c), symbol);
}

/* Without gradients, only the costs. */
int wrap_cudnnCTCLoss(void *handle, void *probs, const void *probs_at, const int *labels, const int *label_length,
                      const int *input_length, void *costs, void *grads, void *grads_at, int algo, void *desc,
                      void *space, size_t size)
{
    struct mudnn_ctc c;
    int r = describe(&c, handle, desc, algo, probs, grads_at ? grads : NULL, 0);
    if (r)
        return r;
    DNN_BAD_UNLESS(label_length && input_length && (grads || !grads_at));
    c.most = longest(&c.probs, labels, label_length, input_length);
    DNN_BAD_UNLESS(c.most >= 0);
    c.host = true;
    return start(&c, handle, probs_at, labels, label_length, input_length, costs, grads_at, space, size,
                 "cudnnCTCLoss");
}

/* Labels and lengths are the device's: what is wrong with them makes the cost NaN. */
int wrap_cudnnCTCLoss_v8(void *handle, int algo, void *desc, void *probs, const void *probs_at, const int *labels,
                         const int *label_length, const int *input_length, void *costs, void *grads, void *grads_at,
                         size_t size, void *space)
{
    struct mudnn_ctc c;
    int r = describe(&c, handle, desc, algo, probs, grads_at ? grads : NULL, 0);
    if (r)
        return r;
    DNN_BAD_UNLESS(labels && label_length && input_length && (grads || !grads_at));
    c.most = ((const struct dnn_ctc *)desc)->most;
    return start(&c, handle, probs_at, labels, label_length, input_length, costs, grads_at, space, size,
                 "cudnnCTCLoss_v8");
}
