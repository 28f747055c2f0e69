/* cuDNN's local response normalisation, and the divisive one of spatial neighbours. */
#include "api/cudnn/dnn.h"

/* cuDNN's limits of the descriptor. */
#define LEAST_K 1e-5
#define LEAST_BETA 0.01
enum { LEAST_N = 1, MOST_N = 16 };

int wrap_cudnnCreateLRNDescriptor(void **d)
{
    int r = dnn_create(DNN_LRN, sizeof(struct dnn_lrn), d);
    if (!r) {
        struct dnn_object o = ((struct dnn_lrn *)*d)->object;
        *(struct dnn_lrn *)*d = (struct dnn_lrn){o, 5, 1e-4, 0.75, 2};
    }
    return r;
}
int wrap_cudnnDestroyLRNDescriptor(void *d) { return dnn_destroy(DNN_LRN, d); }

int wrap_cudnnSetLRNDescriptor(void *desc, unsigned n, double alpha, double beta, double k)
{
    struct dnn_lrn *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_LRN, d) && n >= LEAST_N && n <= MOST_N && beta >= LEAST_BETA && k >= LEAST_K);
    d->n = n, d->alpha = alpha, d->beta = beta, d->k = k;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetLRNDescriptor(void *desc, unsigned *n, double *alpha, double *beta, double *k)
{
    const struct dnn_lrn *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_LRN, d));
    if (n)
        *n = d->n;
    if (alpha)
        *alpha = d->alpha;
    if (beta)
        *beta = d->beta;
    if (k)
        *k = d->k;
    return CUDNN_STATUS_SUCCESS;
}

/* alpha is divided by the window's elements, an even window has one more behind the middle than before it. */
static int start(void *handle, bool spatial, const void *desc, const void *alpha, const void *x, const void *x_at,
                 const void *means, const void *dy, const void *dy_at, const void *beta, const void *out, void *out_at,
                 void *dmeans, const char *symbol)
{
    const struct dnn_lrn *d = desc;
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *ot = dnn_tensor_of(DNN_TENSOR, out);
    const struct mudnn_tensor *dyt = dnn_tensor_of(DNN_TENSOR, dy);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_LRN, d) && alpha && beta && xt && ot && x_at && out_at && dnn_same_shape(xt, ot));
    DNN_BAD_UNLESS(xt->type == ot->type && (!dy_at || (dyt && dnn_same_shape(xt, dyt) && dyt->type == xt->type)));
    DNN_ALIGNED(xt->type, x_at, out_at, dy_at);
    bool floats = xt->type == CUDNN_DATA_FLOAT || xt->type == CUDNN_DATA_DOUBLE || xt->type == CUDNN_DATA_HALF ||
                  xt->type == CUDNN_DATA_BFLOAT16;
    if (xt->n < 4 || xt->n > 5 || !floats)
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct mudnn_lrn l = {.spatial = spatial,
                          .behind = (d->n - 1) / 2,
                          .k = d->k,
                          .factor = d->alpha / d->n,
                          .exponent = d->beta,
                          .alpha = dnn_scalar(alpha, xt->type),
                          .beta = dnn_scalar(beta, xt->type),
                          .x = *xt,
                          .out = *ot,
                          .x_at = x_at,
                          .dy_at = dy_at,
                          .means_at = means,
                          .out_at = out_at,
                          .dmeans_at = dmeans};
    l.ahead = d->n - l.behind - 1;
    for (int i = 3; spatial && i < xt->n; i++)
        l.factor /= d->n;
    if (dy_at)
        l.dy = *dyt;
    return dnn_done(mu.mudnnHostLrn(dnn_stream(handle), &l), symbol);
}

int wrap_cudnnLRNCrossChannelForward(void *handle, void *d, int mode, const void *alpha, void *x, const void *x_at,
                                     const void *beta, void *y, void *y_at)
{
    DNN_BAD_UNLESS(mode == CUDNN_LRN_CROSS_CHANNEL_DIM1);
    return start(handle, false, d, alpha, x, x_at, NULL, NULL, NULL, beta, y, y_at, NULL,
                 "cudnnLRNCrossChannelForward");
}
int wrap_cudnnLRNCrossChannelBackward(void *handle, void *d, int mode, const void *alpha, void *y, const void *y_at,
                                      void *dy, const void *dy_at, void *x, const void *x_at, const void *beta,
                                      void *dx, void *dx_at)
{
    const struct mudnn_tensor *yt = dnn_tensor_of(DNN_TENSOR, y), *xt = dnn_tensor_of(DNN_TENSOR, x);
    DNN_BAD_UNLESS(mode == CUDNN_LRN_CROSS_CHANNEL_DIM1 && y_at && dy_at && yt && xt && dnn_same_shape(yt, xt) &&
                   yt->type == xt->type);
    DNN_ALIGNED(yt->type, y_at);
    return start(handle, false, d, alpha, x, x_at, NULL, dy, dy_at, beta, dx, dx_at, NULL,
                 "cudnnLRNCrossChannelBackward");
}

/* Means lie as x does, which is as far as the documents go; that the squares are of (x - mean of the middle), and that
 * x is divided as it is, is mapping/facts/cuda.md F11. */
int wrap_cudnnDivisiveNormalizationForward(void *handle, void *d, int mode, const void *alpha, void *x,
                                           const void *x_at, const void *means, void *space, void *space2,
                                           const void *beta, void *y, void *y_at)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(mode == CUDNN_DIVNORM_PRECOMPUTED_MEANS && space && space2);
    return start(handle, true, d, alpha, x, x_at, means, NULL, NULL, beta, y, y_at, NULL,
                 "cudnnDivisiveNormalizationForward");
}
int wrap_cudnnDivisiveNormalizationBackward(void *handle, void *d, int mode, const void *alpha, void *x,
                                            const void *x_at, const void *means, const void *dy_at, void *space,
                                            void *space2, const void *beta, void *dx, void *dx_at, void *dmeans)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(mode == CUDNN_DIVNORM_PRECOMPUTED_MEANS && space && space2 && dy_at);
    DNN_BAD_UNLESS(!dmeans || means);
    return start(handle, true, d, alpha, x, x_at, means, x, dy_at, beta, dx, dx_at, dmeans,
                 "cudnnDivisiveNormalizationBackward");
}
