/* cuDNN's multi-head attention: the descriptor, sizes and places of weights, and the three passes. */
#include <string.h>

#include "api/cudnn/sequence.h"

/* Flags of attnMode, which are macros of cuDNN's header: the others are 0. */
enum { ONE_TO_ONE = 1, BIASES = 2 };

struct dnn_attention {
    struct dnn_object object;
    unsigned mode;
    int compute, math;
    double scale;
    void *dropout, *dropout_after;
    struct mudnn_heads_shape s; /* heads is 0 until it is set */
    int most_queries, most_keys, most_batch, most_beam;
};

int wrap_cudnnCreateAttnDescriptor(void **d) { return dnn_create(DNN_ATTENTION, sizeof(struct dnn_attention), d); }
int wrap_cudnnDestroyAttnDescriptor(void *d) { return dnn_destroy(DNN_ATTENTION, d); }

/* The space of the largest sequences, in numbers of what is computed with. */
static struct mudnn_heads_layout largest(const struct dnn_attention *d)
{
    const int64_t beams = d->mode & ONE_TO_ONE ? d->most_beam : 1;
    struct mudnn_heads m = {.s = d->s,
                            .drops = d->dropout != NULL,
                            .drops_after = d->dropout_after != NULL,
                            .q.dim = {d->most_queries, d->most_batch, d->most_beam},
                            .k.dim = {d->most_keys, d->most_batch, beams}};
    return mudnn_heads_plan(&m, true);
}
static size_t number_size(const struct dnn_attention *d)
{
    return d->s.type == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float);
}

int wrap_cudnnSetAttnDescriptor(void *desc, unsigned mode, int heads, double scale, int type, int compute, int math,
                                void *dropout, void *dropout_after, int q, int k, int v, int q_proj, int k_proj,
                                int v_proj, int o_proj, int most_queries, int most_keys, int most_batch, int most_beam)
{
    struct dnn_attention *d = desc, new = {0};
    DNN_BAD_UNLESS(dnn_is(DNN_ATTENTION, d) && mode <= (ONE_TO_ONE | BIASES) && heads > 0 && scale >= 0);
    DNN_BAD_UNLESS(dnn_size(type) && dnn_size(compute) && (unsigned)math <= CUDNN_FMA_MATH);
    DNN_BAD_UNLESS((!dropout || dnn_is(DNN_DROPOUT, dropout)) &&
                   (!dropout_after || dnn_is(DNN_DROPOUT, dropout_after)));
    DNN_BAD_UNLESS(q > 0 && k > 0 && v > 0 && q_proj >= 0 && k_proj >= 0 && v_proj >= 0 && o_proj >= 0);
    DNN_BAD_UNLESS(most_queries > 0 && most_keys > 0 && most_batch > 0 && most_beam > 0);
    DNN_BAD_UNLESS((q_proj ? q_proj : q) == (k_proj ? k_proj : k)); /* else there is no product of the two */
    if (!dnn_attends_in(type) || (compute != type && !(type == CUDNN_DATA_HALF && compute == CUDNN_DATA_FLOAT)))
        return CUDNN_STATUS_NOT_SUPPORTED;
    new = (struct dnn_attention){
        d->object,    mode,      compute,       math,
        scale,        dropout,   dropout_after, {type, mode & BIASES, heads, q, k, v, q_proj, k_proj, v_proj, o_proj},
        most_queries, most_keys, most_batch,    most_beam};
    /* BLAS counts the steps between rows in int */
    if (largest(&new).total > MUDNN_LIMIT || new.s.heads * mudnn_heads_inner(&new.s) > INT32_MAX ||
        new.s.heads *mudnn_heads_value(&new.s) > INT32_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *d = new;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetAttnDescriptor(void *desc, unsigned *mode, int *heads, double *scale, int *type, int *compute,
                                int *math, void **dropout, void **dropout_after, int *q, int *k, int *v, int *q_proj,
                                int *k_proj, int *v_proj, int *o_proj, int *most_queries, int *most_keys,
                                int *most_batch, int *most_beam)
{
    const struct dnn_attention *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_ATTENTION, d) && d->s.heads);
    int *const to[] = {heads,  type,   compute, math,         q,         k,          v,        q_proj,
                       k_proj, v_proj, o_proj,  most_queries, most_keys, most_batch, most_beam};
    const int64_t from[] = {d->s.heads,  d->s.type,       d->compute,   d->math,       d->s.q,
                            d->s.k,      d->s.v,          d->s.q_proj,  d->s.k_proj,   d->s.v_proj,
                            d->s.o_proj, d->most_queries, d->most_keys, d->most_batch, d->most_beam};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        if (to[i])
            *to[i] = (int)from[i];
    if (mode)
        *mode = d->mode;
    if (scale)
        *scale = d->scale;
    if (dropout)
        *dropout = d->dropout;
    if (dropout_after)
        *dropout_after = d->dropout_after;
    return CUDNN_STATUS_SUCCESS;
}

static size_t weight_bytes(const struct dnn_attention *d)
{
    return (size_t)mudnn_heads_weights(&d->s, 8) * dnn_size(d->s.type);
}

/* Without a place for its size there will be no training, and no reserve. */
int wrap_cudnnGetMultiHeadAttnBuffers(void *handle, void *desc, size_t *weights, size_t *space, size_t *reserve)
{
    const struct dnn_attention *d = desc;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ATTENTION, d) && d->s.heads && weights && space);
    struct mudnn_heads_layout l = largest(d);
    *weights = weight_bytes(d);
    *space = (size_t)l.inference * number_size(d);
    if (reserve)
        *reserve = (size_t)l.total * number_size(d);
    return CUDNN_STATUS_SUCCESS;
}

/* (heads, rows, columns); of a projection that is not there the address is NULL. */
int wrap_cudnnGetMultiHeadAttnWeights(void *handle, void *desc, int kind, size_t size, const void *weights,
                                      void *tensor, void **at)
{
    const struct dnn_attention *d = desc;
    struct dnn_tensor *t = tensor;
    int64_t rows, columns;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ATTENTION, d) && d->s.heads && (unsigned)kind <= CUDNN_MH_ATTN_O_BIASES &&
                   size >= weight_bytes(d) && dnn_is(DNN_TENSOR, t) && at);
    mudnn_heads_weight(&d->s, kind, &rows, &columns);
    const int64_t heads = kind == CUDNN_MH_ATTN_O_BIASES ? 1 : d->s.heads;
    *at = rows ? (char *)(uintptr_t)weights + (size_t)mudnn_heads_weights(&d->s, kind) * dnn_size(d->s.type) : NULL;
    t->given = d->s.type;
    t->t = (struct mudnn_tensor){d->s.type, rows ? 3 : 0, 1, {heads, rows, columns}, {rows, 1, heads * rows}};
    return CUDNN_STATUS_SUCCESS;
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* A descriptor of vectors of that width. */
static bool suits(const struct dnn_attention *d, const void *desc, int64_t width)
{
    const struct dnn_sequence *s = desc;
    return dnn_is(DNN_SEQUENCE, s) && s->length && s->type == d->s.type && s->width == width;
}
static bool same_dims(const struct mudnn_sequences *a, const struct mudnn_sequences *b)
{
    return !memcmp(a->dim, b->dim, sizeof a->dim);
}

/* What all passes check. */
static int begin(struct mudnn_heads *m, void *handle, const struct dnn_attention *d, const void *q, const void *k,
                 const void *v, const void *o, size_t weight_size, const void *weights)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ATTENTION, d) && d->s.heads);
    DNN_BAD_UNLESS(suits(d, q, d->s.q) && suits(d, k, d->s.k) && suits(d, v, d->s.v) &&
                   suits(d, o, mudnn_heads_out(&d->s)));
    DNN_BAD_UNLESS(weight_size >= weight_bytes(d) && (weights || !weight_bytes(d)));
    *m = (struct mudnn_heads){.s = d->s,
                              .scale = d->scale,
                              .only = -1,
                              .drops = d->dropout != NULL,
                              .drops_after = d->dropout_after != NULL,
                              .q = ((const struct dnn_sequence *)q)->s,
                              .k = ((const struct dnn_sequence *)k)->s,
                              .v = ((const struct dnn_sequence *)v)->s,
                              .o = ((const struct dnn_sequence *)o)->s,
                              .weights = weights};
    DNN_BAD_UNLESS(same_dims(&m->q, &m->o) && same_dims(&m->k, &m->v) && m->q.dim[1] == m->k.dim[1]);
    DNN_BAD_UNLESS(m->k.dim[2] == (d->mode & ONE_TO_ONE ? m->q.dim[2] : 1));
    DNN_BAD_UNLESS(m->q.dim[0] <= d->most_queries && m->k.dim[0] <= d->most_keys && m->q.dim[1] <= d->most_batch &&
                   m->q.dim[2] <= d->most_beam);
    if (d->dropout)
        DNN_BAD_UNLESS(dnn_dropout_of(d->dropout, &m->rate, &m->state));
    if (d->dropout_after)
        DNN_BAD_UNLESS(dnn_dropout_of(d->dropout_after, &m->rate_after, &m->state_after));
    return CUDNN_STATUS_SUCCESS;
}

/* The space is the reserve in training, else the workspace. */
static int take_space(struct mudnn_heads *m, bool training, size_t size, void *space, size_t reserve_size,
                      void *reserve)
{
    const size_t each = m->s.type == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float);
    struct mudnn_heads_layout l = mudnn_heads_plan(m, training);
    m->training = training;
    m->space = training ? reserve : space;
    DNN_BAD_UNLESS((!size || space) && (!reserve_size || reserve) && m->space);
    DNN_BAD_UNLESS((training ? reserve_size : size) >= (size_t)l.total * each && (uintptr_t)m->space % each == 0);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnMultiHeadAttnForward(void *handle, void *desc, int only, const int *lo, const int *hi,
                                   const int *q_length, const int *k_length, void *q, const void *q_at,
                                   const void *residual, void *k, const void *k_at, void *v, const void *v_at, void *o,
                                   void *out, size_t weight_size, const void *weights, size_t size, void *space,
                                   size_t reserve_size, void *reserve)
{
    struct mudnn_heads m;
    int r = begin(&m, handle, desc, q, k, v, o, weight_size, weights);
    if (!r)
        r = take_space(&m, reserve != NULL, size, space, reserve_size, reserve);
    if (r)
        return r;
    DNN_BAD_UNLESS(lo && hi && q_length && k_length && q_at && k_at && v_at && out);
    DNN_ALIGNED(m.s.type, q_at, k_at, v_at, out, residual, weights);
    DNN_ALIGNED(CUDNN_DATA_INT32, q_length, k_length);
    DNN_BAD_UNLESS(only < m.q.dim[0] && (only < 0 || !m.training) && (!residual || m.s.q == mudnn_heads_out(&m.s)));
    DNN_BAD_UNLESS(!m.training || ((m.rate == 0 || m.state) && (m.rate_after == 0 || m.state_after)));
    m.way = MUDNN_HEADS_WAY_FORWARD;
    m.only = only < 0 ? -1 : only;
    m.q_length = q_length, m.k_length = k_length;
    m.q_at = q_at, m.k_at = k_at, m.v_at = v_at, m.residual = residual, m.out = out;
    return dnn_done(mu.mudnnHostHeads(dnn_stream(handle), &m, lo, hi), "cudnnMultiHeadAttnForward");
}

/* Windows and probabilities are those that the forward pass kept. */
int wrap_cudnnMultiHeadAttnBackwardData(void *handle, void *desc, const int *lo, const int *hi, const int *q_length,
                                        const int *k_length, void *o, const void *dout, void *q, void *dq,
                                        const void *q_at, void *k, void *dk, const void *k_at, void *v, void *dv,
                                        const void *v_at, size_t weight_size, const void *weights, size_t size,
                                        void *space, size_t reserve_size, void *reserve)
{
    struct mudnn_heads m;
    int r = begin(&m, handle, desc, q, k, v, o, weight_size, weights);
    if (!r)
        r = take_space(&m, true, size, space, reserve_size, reserve);
    if (r)
        return r;
    DNN_BAD_UNLESS(lo && hi && q_length && k_length && dout && dq && dk && dv && q_at && k_at && v_at);
    DNN_ALIGNED(m.s.type, dout, dq, dk, dv, q_at, k_at, v_at, weights);
    DNN_ALIGNED(CUDNN_DATA_INT32, q_length, k_length);
    m.way = MUDNN_HEADS_WAY_DATA;
    m.q_length = q_length, m.k_length = k_length;
    m.dout = dout, m.dq = dq, m.dk = dk, m.dv = dv;
    return dnn_done(mu.mudnnHostHeads(dnn_stream(handle), &m, lo, hi), "cudnnMultiHeadAttnBackwardData");
}

/* Of what the two other passes kept. */
int wrap_cudnnMultiHeadAttnBackwardWeights(void *handle, void *desc, int mode, void *q, const void *q_at, void *k,
                                           const void *k_at, void *v, const void *v_at, void *o, const void *dout,
                                           size_t weight_size, const void *weights, void *dweights, size_t size,
                                           void *space, size_t reserve_size, void *reserve)
{
    struct mudnn_heads m;
    int r = begin(&m, handle, desc, q, k, v, o, weight_size, weights);
    if (!r)
        r = take_space(&m, true, size, space, reserve_size, reserve);
    if (r)
        return r;
    DNN_BAD_UNLESS((unsigned)mode <= CUDNN_WGRAD_MODE_SET && q_at && k_at && v_at && dout);
    DNN_ALIGNED(m.s.type, q_at, k_at, v_at, dout, weights, dweights);
    DNN_BAD_UNLESS(dweights || !weight_bytes(desc));
    m.way = MUDNN_HEADS_WAY_WEIGHTS;
    m.add = mode == CUDNN_WGRAD_MODE_ADD;
    m.dweights = dweights;
    return dnn_done(mu.mudnnHostHeads(dnn_stream(handle), &m, NULL, NULL), "cudnnMultiHeadAttnBackwardWeights");
}
