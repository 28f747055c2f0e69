/* Descriptors of recurrent layers, and what cuDNN 8's interface to them shares with the one before it. */
#ifndef CUMU_API_CUDNN_RNN_H
#define CUMU_API_CUDNN_RNN_H

#include "api/cudnn/dnn.h"

struct dnn_rnn {
    struct dnn_object object;
    int algo, cell, bias, direction, input_mode, type, precision, math, input, hidden, projection, layers;
    unsigned flags;
    void *dropout;
    int clip, clip_nan;
    double clip_low, clip_high;
    bool set;
};
struct dnn_rnn_data {
    struct dnn_object object;
    int type, layout, time, batch, width, *length; /* length: of each sequence, the descriptor's own */
    unsigned char fill[8];                         /* a number of the type, or 0 */
};

struct mudnn_rnn_shape dnn_rnn_shape(const struct dnn_rnn *d);
size_t dnn_rnn_weight_bytes(const struct dnn_rnn *d);
/* 0: more than there can be. */
size_t dnn_rnn_reserve_bytes(const struct dnn_rnn *d, int time, int batch);
/* The matrix and the bias of one gate in the weights at `space`; descriptors and addresses may be NULL. A status. */
int dnn_rnn_params(const struct dnn_rnn *d, int pseudo, const void *space, int id, struct dnn_tensor *m_desc,
                   void **m_at, struct dnn_tensor *b_desc, void **b_at);
/* Is the layer, with its input, no larger than what memory is? */
bool dnn_rnn_fits(const struct dnn_rnn *d);
/* A descriptor of h, or of c, or NULL; what a layer without a state of its cell is given for one does not matter. */
bool dnn_rnn_is_state(const struct dnn_rnn *d, bool cell, int batch, const void *desc);
/* What all calls check: the descriptors fit each other, the spaces are large enough. They are live, or the caller's
 * own. h, c: descriptors of states, or NULL. `keeps`: the reserve is needed. */
int dnn_rnn_begin(struct mudnn_rnn *r, void *handle, const struct dnn_rnn *d, const struct dnn_rnn_data *x,
                  const struct dnn_rnn_data *y, const void *h, const void *c, size_t weight_size, const void *weights,
                  size_t size, const void *space, size_t reserve_size, void *reserve, bool keeps);
/* Checks the addresses of a call that has begun, and makes it. h, c: are the states described? */
int dnn_rnn_run(const struct mudnn_rnn *r, void *handle, bool h, bool c, const int *length, const char *symbol);

#endif
