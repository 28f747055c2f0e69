/* cuDNN's causal convolutions in one dimension, which take a stream instead of a handle. */
#include "api/cudnn/dnn.h"

static int submit(cudaStream_t stream, const struct mudnn_causal *c, const char *symbol)
{
    DNN_BAD_UNLESS(c->batch > 0 && c->channels > 0 && c->length > 0 && c->taps > 0 && c->x && c->w && c->b);
    DNN_BAD_UNLESS(dnn_size(c->type) && (c->activation == CUDNN_CAUSAL_CONV1D_ACTIVATION_IDENTITY ||
                                         c->activation == CUDNN_CAUSAL_CONV1D_ACTIVATION_SILU));
    return dnn_done(mu.mudnnHostCausal((musaStream_t)stream, c), symbol);
}

int wrap_cudnnCausalConv1dForward(cudaStream_t stream, const void *x, const void *w, const void *bias, void *y,
                                  int batch, int channels, int length, int taps, int type, int activation)
{
    struct mudnn_causal c = {.type = type,
                             .activation = activation,
                             .batch = batch,
                             .channels = channels,
                             .length = length,
                             .taps = taps,
                             .x = x,
                             .w = w,
                             .b = bias,
                             .y = y};
    DNN_BAD_UNLESS(y);
    return submit(stream, &c, "cudnnCausalConv1dForward");
}

int wrap_cudnnCausalConv1dBackward(cudaStream_t stream, const void *x, const void *w, const void *bias, const void *dy,
                                   void *dx, void *dw, void *dbias, int batch, int channels, int length, int taps,
                                   int type, int weight_type, int activation)
{
    struct mudnn_causal c = {.backward = true,
                             .type = type,
                             .weight_type = weight_type,
                             .activation = activation,
                             .batch = batch,
                             .channels = channels,
                             .length = length,
                             .taps = taps,
                             .x = x,
                             .w = w,
                             .b = bias,
                             .dy = dy,
                             .dx = dx,
                             .dw = dw,
                             .db = dbias};
    DNN_BAD_UNLESS(dy && dx && dw && dbias && dnn_size(weight_type));
    return submit(stream, &c, "cudnnCausalConv1dBackward");
}
