/* Recurrent layers by the interface before cuDNN 8: sizes and types come with each call, a sequence is an array of
 * descriptors, one of each time step, and weights are a filter. The calls below are those of version 8. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/rnn.h"

int wrap_cudnnSetRNNDescriptor_v6(void *handle, void *desc, int hidden, int layers, void *dropout, int input_mode,
                                  int direction, int cell, int algo, int precision)
{
    DNN_HANDLE_OR_LEAVE(handle);
    /* the input's width is told later; skipping asks for that of the state */
    return wrap_cudnnSetRNNDescriptor_v8(desc, algo, cell, CUDNN_RNN_DOUBLE_BIAS, direction, input_mode, precision,
                                         precision, CUDNN_DEFAULT_MATH, hidden, hidden, hidden, layers, dropout, 0);
}

int wrap_cudnnGetRNNDescriptor_v6(void *handle, void *desc, int *hidden, int *layers, void **dropout, int *input_mode,
                                  int *direction, int *cell, int *algo, int *precision)
{
    DNN_HANDLE_OR_LEAVE(handle);
    return wrap_cudnnGetRNNDescriptor_v8(desc, algo, cell, NULL, direction, input_mode, NULL, precision, NULL, NULL,
                                         hidden, NULL, layers, dropout, NULL);
}

static struct dnn_rnn *set_one(void *desc)
{
    return dnn_is(DNN_RNN, desc) && ((struct dnn_rnn *)desc)->set ? desc : NULL;
}

int wrap_cudnnSetRNNMatrixMathType(void *desc, int type)
{
    struct dnn_rnn *d = set_one(desc);
    DNN_BAD_UNLESS(d && (unsigned)type <= CUDNN_FMA_MATH);
    d->math = type;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetRNNMatrixMathType(void *desc, int *type)
{
    const struct dnn_rnn *d = set_one(desc);
    DNN_BAD_UNLESS(d && type);
    *type = d->math;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetRNNBiasMode(void *desc, int mode)
{
    struct dnn_rnn *d = set_one(desc);
    DNN_BAD_UNLESS(d && (unsigned)mode <= CUDNN_RNN_SINGLE_REC_BIAS);
    d->bias = mode;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetRNNBiasMode(void *desc, int *mode)
{
    const struct dnn_rnn *d = set_one(desc);
    DNN_BAD_UNLESS(d && mode);
    *mode = d->bias;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetRNNPaddingMode(void *desc, unsigned mode)
{
    struct dnn_rnn *d = set_one(desc);
    DNN_BAD_UNLESS(d && mode <= 1);
    d->flags = (d->flags & ~1u) | mode;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetRNNPaddingMode(void *desc, unsigned *mode)
{
    const struct dnn_rnn *d = set_one(desc);
    DNN_BAD_UNLESS(d && mode);
    *mode = d->flags & 1;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetRNNProjectionLayers(void *handle, void *desc, int recurrent, int out)
{
    struct dnn_rnn *d = set_one(desc);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(d && recurrent >= 0 && recurrent <= d->hidden && out >= 0);
    if (out || (recurrent && recurrent != d->hidden && d->cell != CUDNN_LSTM))
        return CUDNN_STATUS_NOT_SUPPORTED;
    d->projection = recurrent ? recurrent : d->hidden;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetRNNProjectionLayers(void *handle, void *desc, int *recurrent, int *out)
{
    const struct dnn_rnn *d = set_one(desc);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(d);
    if (recurrent)
        *recurrent = d->projection;
    if (out)
        *out = 0;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnRNNSetClip(void *handle, void *desc, int mode, int nan, double low, double high)
{
    DNN_HANDLE_OR_LEAVE(handle);
    return wrap_cudnnRNNSetClip_v8(desc, mode, nan, low, high);
}
int wrap_cudnnRNNGetClip(void *handle, void *desc, int *mode, int *nan, double *low, double *high)
{
    DNN_HANDLE_OR_LEAVE(handle);
    return wrap_cudnnRNNGetClip_v8(desc, mode, nan, low, high);
}

/* ---- sizes and weights ------------------------------------------------------------------------- */

/* The descriptor as the call sees it: with the input's width and type. */
static int complete(struct dnn_rnn *to, const void *desc, int64_t width, int type)
{
    DNN_BAD_UNLESS(set_one((void *)(uintptr_t)desc));
    *to = *(const struct dnn_rnn *)desc;
    if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
        return CUDNN_STATUS_NOT_SUPPORTED;
    DNN_BAD_UNLESS(width > 0 && width <= INT32_MAX && (to->input_mode == CUDNN_LINEAR_INPUT || width == to->hidden));
    to->input = (int)width;
    to->type = type;
    return dnn_rnn_fits(to) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
/* One time step: batch, width, 1, without gaps. */
static const struct mudnn_tensor *step_of(const void *desc)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, desc);
    return t && t->n >= 3 && dnn_is_dense(t, 2) && t->dim[0] <= INT32_MAX ? t : NULL;
}
static int complete_by_step(struct dnn_rnn *to, const void *desc, const void *step)
{
    const struct mudnn_tensor *t = step_of(step);
    DNN_BAD_UNLESS(t);
    return complete(to, desc, t->dim[1], t->type);
}

int wrap_cudnnGetRNNWorkspaceSize(void *handle, void *desc, int time, void **x, size_t *size)
{
    struct dnn_rnn d;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(time > 0 && x && size);
    int r = complete_by_step(&d, desc, x[0]);
    if (!r)
        *size = 0;
    return r;
}
int wrap_cudnnGetRNNTrainingReserveSize(void *handle, void *desc, int time, void **x, size_t *size)
{
    struct dnn_rnn d;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(time > 0 && x && size);
    int r = complete_by_step(&d, desc, x[0]);
    if (r)
        return r;
    *size = dnn_rnn_reserve_bytes(&d, time, (int)step_of(x[0])->dim[0]);
    return *size ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
int wrap_cudnnGetRNNParamsSize(void *handle, void *desc, void *x, size_t *size, int type)
{
    struct dnn_rnn d;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(size);
    int r = complete_by_step(&d, desc, x);
    if (r)
        return r;
    DNN_BAD_UNLESS(d.type == type);
    *size = dnn_rnn_weight_bytes(&d);
    return CUDNN_STATUS_SUCCESS;
}

static size_t filter_bytes(const void *filter, int type) /* 0: none of this type */
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_FILTER, filter);
    int64_t n = 1;
    for (int i = 0; t && i < t->n; i++)
        n *= t->dim[i];
    return t && t->type == type ? (size_t)n * dnn_size(type) : 0;
}

static int find_params(void *handle, const void *desc, int pseudo, const void *x, const void *filter, const void *w,
                       int id, void *m_desc, void **m_at, void *b_desc, void **b_at)
{
    struct dnn_rnn d;
    DNN_HANDLE_OR_LEAVE(handle);
    int r = complete_by_step(&d, desc, x);
    if (r)
        return r;
    DNN_BAD_UNLESS(filter_bytes(filter, d.type) >= dnn_rnn_weight_bytes(&d) && w);
    return dnn_rnn_params(&d, pseudo, w, id, m_desc, m_at, b_desc, b_at);
}
int wrap_cudnnGetRNNLinLayerMatrixParams(void *handle, void *desc, int pseudo, void *x, void *filter, const void *w,
                                         int id, void *out, void **at)
{
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, out) && at);
    return find_params(handle, desc, pseudo, x, filter, w, id, out, at, NULL, NULL);
}
int wrap_cudnnGetRNNLinLayerBiasParams(void *handle, void *desc, int pseudo, void *x, void *filter, const void *w,
                                       int id, void *out, void **at)
{
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, out) && at);
    return find_params(handle, desc, pseudo, x, filter, w, id, NULL, NULL, out, at);
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* The sequences of a call: time steps' descriptors as one packed layout, or version 8's descriptors. */
struct sequences {
    struct dnn_rnn d;
    struct dnn_rnn_data x, y;
    int *own; /* lengths of x and y, to be freed */
};

static bool same_step(const void *desc, const struct mudnn_tensor *like, int64_t width)
{
    const struct mudnn_tensor *t = step_of(desc);
    return t && t->type == like->type && t->dim[0] == like->dim[0] && t->dim[1] == width;
}

static int take_steps(struct sequences *s, const void *desc, int time, void *const *x, void *const *y)
{
    DNN_BAD_UNLESS(time > 0 && x && y);
    int r = complete_by_step(&s->d, desc, x[0]);
    if (r)
        return r;
    const struct mudnn_tensor *first = step_of(x[0]);
    const struct mudnn_rnn_shape shape = dnn_rnn_shape(&s->d);
    const int batch = (int)first->dim[0], width = (int)(shape.directions * shape.out);
    for (int t = 0; t < time; t++) {
        const struct mudnn_tensor *now = step_of(x[t]);
        DNN_BAD_UNLESS(now && now->type == first->type && now->dim[1] == first->dim[1]);
        DNN_BAD_UNLESS(!t || now->dim[0] <= step_of(x[t - 1])->dim[0]);
        DNN_BAD_UNLESS(same_step(y[t], now, width));
    }
    s->own = malloc((size_t)batch * sizeof *s->own);
    if (!s->own)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (int b = 0; b < batch; b++)
        for (s->own[b] = 0; s->own[b] < time && b < step_of(x[s->own[b]])->dim[0];)
            s->own[b]++;
    s->x = (struct dnn_rnn_data){.type = s->d.type,
                                 .layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                 .time = time,
                                 .batch = batch,
                                 .width = s->d.input,
                                 .length = s->own};
    s->y = s->x;
    s->y.width = width;
    return CUDNN_STATUS_SUCCESS;
}
static int take_data(struct sequences *s, const void *desc, const void *x, const void *y)
{
    DNN_BAD_UNLESS(dnn_is(DNN_RNN_DATA, x) && dnn_is(DNN_RNN_DATA, y));
    s->x = *(const struct dnn_rnn_data *)x;
    s->y = *(const struct dnn_rnn_data *)y;
    DNN_BAD_UNLESS(s->x.length && s->y.length);
    return complete(&s->d, desc, s->x.width, s->x.type);
}

/* Descriptors of one layout, for y and its gradient. */
static int same_data(const struct dnn_rnn_data *a, const struct dnn_rnn_data *b)
{
    DNN_BAD_UNLESS(a->length && a->type == b->type && a->layout == b->layout && a->time == b->time &&
                   a->batch == b->batch && a->width == b->width &&
                   !memcmp(a->length, b->length, (size_t)a->batch * sizeof *a->length));
    return CUDNN_STATUS_SUCCESS;
}

/* What a call has beside its sequences. States that come in, go out, and gradients have descriptors of their own. */
struct state {
    const void *desc, *at;
};
struct operands {
    struct state h[3], c[3];
    const void *filter, *weights;
    size_t size;
    const void *space;
    size_t reserve_size;
    void *reserve;
};
static int begin(struct mudnn_rnn *r, void *handle, const struct sequences *s, const struct operands *o, bool keeps)
{
    for (int i = 0; i < 3; i++) {
        const struct state *h = &o->h[i], *c = &o->c[i];
        DNN_BAD_UNLESS(dnn_rnn_is_state(&s->d, false, s->x.batch, h->desc) && (h->desc || !h->at));
        DNN_BAD_UNLESS(dnn_rnn_is_state(&s->d, true, s->x.batch, c->desc));
        DNN_BAD_UNLESS(s->d.cell != CUDNN_LSTM || c->desc || !c->at);
    }
    return dnn_rnn_begin(r, handle, &s->d, &s->x, &s->y, NULL, NULL, filter_bytes(o->filter, s->d.type), o->weights,
                         o->size, o->space, o->reserve_size, o->reserve, keeps);
}
static int finish(struct mudnn_rnn *r, void *handle, const struct sequences *s, const char *symbol)
{
    return dnn_rnn_run(r, handle, true, true, s->x.length, symbol);
}

static int forward(void *handle, struct sequences *s, const struct operands *o, const void *x, const void *hx,
                   const void *cx, void *y, void *hy, void *cy, bool training, const char *symbol)
{
    struct mudnn_rnn r;
    int e = begin(&r, handle, s, o, training);
    if (e)
        return e;
    DNN_BAD_UNLESS(x && y);
    DNN_BAD_UNLESS(!training || r.dropout == 0 || r.s.layers == 1 || r.dropout_state);
    r.way = MUDNN_RNN_WAY_FORWARD;
    r.training = training;
    r.x = x, r.out = y, r.hx = hx, r.hy = hy;
    if (r.s.cell == CUDNN_LSTM)
        r.cx = cx, r.cy = cy;
    memcpy(r.fill, s->y.fill, sizeof r.fill);
    return finish(&r, handle, s, symbol);
}

int wrap_cudnnRNNForwardInference(void *handle, void *desc, int time, void **xd, const void *x, void *hxd,
                                  const void *hx, void *cxd, const void *cx, void *wd, const void *w, void **yd,
                                  void *y, void *hyd, void *hy, void *cyd, void *cy, void *space, size_t size)
{
    struct sequences s = {.own = NULL};
    struct operands o = {{{hxd, hx}, {hyd, hy}}, {{cxd, cx}, {cyd, cy}}, wd, w, size, space, 0, NULL};
    DNN_HANDLE_OR_LEAVE(handle);
    int r = take_steps(&s, desc, time, xd, yd);
    if (!r)
        r = forward(handle, &s, &o, x, hx, cx, y, hy, cy, false, "cudnnRNNForwardInference");
    free(s.own);
    return r;
}
int wrap_cudnnRNNForwardTraining(void *handle, void *desc, int time, void **xd, const void *x, void *hxd,
                                 const void *hx, void *cxd, const void *cx, void *wd, const void *w, void **yd, void *y,
                                 void *hyd, void *hy, void *cyd, void *cy, void *space, size_t size, void *reserve,
                                 size_t reserve_size)
{
    struct sequences s = {.own = NULL};
    struct operands o = {{{hxd, hx}, {hyd, hy}}, {{cxd, cx}, {cyd, cy}}, wd, w, size, space, reserve_size, reserve};
    DNN_HANDLE_OR_LEAVE(handle);
    int r = take_steps(&s, desc, time, xd, yd);
    if (!r)
        r = forward(handle, &s, &o, x, hx, cx, y, hy, cy, true, "cudnnRNNForwardTraining");
    free(s.own);
    return r;
}
int wrap_cudnnRNNForwardInferenceEx(void *handle, void *desc, void *xd, const void *x, void *hxd, const void *hx,
                                    void *cxd, const void *cx, void *wd, const void *w, void *yd, void *y, void *hyd,
                                    void *hy, void *cyd, void *cy, void *kd, const void *keys, void *ad,
                                    void *attention, void *id, void *inner, void *qd, void *queries, void *space,
                                    size_t size)
{
    struct sequences s = {.own = NULL};
    struct operands o = {{{hxd, hx}, {hyd, hy}}, {{cxd, cx}, {cyd, cy}}, wd, w, size, space, 0, NULL};
    (void)kd, (void)ad, (void)id, (void)qd;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(!keys && !attention && !inner && !queries); /* reserved */
    int r = take_data(&s, desc, xd, yd);
    return r ? r : forward(handle, &s, &o, x, hx, cx, y, hy, cy, false, "cudnnRNNForwardInferenceEx");
}
int wrap_cudnnRNNForwardTrainingEx(void *handle, void *desc, void *xd, const void *x, void *hxd, const void *hx,
                                   void *cxd, const void *cx, void *wd, const void *w, void *yd, void *y, void *hyd,
                                   void *hy, void *cyd, void *cy, void *kd, const void *keys, void *ad, void *attention,
                                   void *id, void *inner, void *qd, void *queries, void *space, size_t size,
                                   void *reserve, size_t reserve_size)
{
    struct sequences s = {.own = NULL};
    struct operands o = {{{hxd, hx}, {hyd, hy}}, {{cxd, cx}, {cyd, cy}}, wd, w, size, space, reserve_size, reserve};
    (void)kd, (void)ad, (void)id, (void)qd;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(!keys && !attention && !inner && !queries);
    int r = take_data(&s, desc, xd, yd);
    return r ? r : forward(handle, &s, &o, x, hx, cx, y, hy, cy, true, "cudnnRNNForwardTrainingEx");
}

/* Gradients that come in and go out. */
struct gradients {
    const void *y, *dy, *dhy, *dcy, *hx, *cx;
    void *dx, *dhx, *dcx;
};
/* desc: of the states' three, then of the cells' three. */
static struct operands operands_of(const struct gradients *g, void *const *desc, void *wd, const void *w, size_t size,
                                   void *space, size_t reserve_size, void *reserve)
{
    return (struct operands){{{desc[0], g->hx}, {desc[1], g->dhy}, {desc[2], g->dhx}},
                             {{desc[3], g->cx}, {desc[4], g->dcy}, {desc[5], g->dcx}},
                             wd,
                             w,
                             size,
                             space,
                             reserve_size,
                             reserve};
}
static int backward(void *handle, struct sequences *s, const struct operands *o, const struct gradients *g,
                    const char *symbol)
{
    struct mudnn_rnn r;
    int e = begin(&r, handle, s, o, true);
    if (e)
        return e;
    DNN_BAD_UNLESS(g->y && g->dy && g->dx);
    r.way = MUDNN_RNN_WAY_DATA;
    r.y = g->y, r.dy = g->dy, r.dx = g->dx, r.hx = g->hx, r.dhy = g->dhy, r.dhx = g->dhx;
    if (r.s.cell == CUDNN_LSTM)
        r.cx = g->cx, r.dcy = g->dcy, r.dcx = g->dcx;
    return finish(&r, handle, s, symbol);
}

int wrap_cudnnRNNBackwardData(void *handle, void *desc, int time, void **yd, const void *y, void **dyd, const void *dy,
                              void *dhyd, const void *dhy, void *dcyd, const void *dcy, void *wd, const void *w,
                              void *hxd, const void *hx, void *cxd, const void *cx, void **dxd, void *dx, void *dhxd,
                              void *dhx, void *dcxd, void *dcx, void *space, size_t size, void *reserve,
                              size_t reserve_size)
{
    struct sequences s = {.own = NULL};
    const struct gradients g = {y, dy, dhy, dcy, hx, cx, dx, dhx, dcx};
    void *const states[] = {hxd, dhyd, dhxd, cxd, dcyd, dcxd};
    const struct operands o = operands_of(&g, states, wd, w, size, space, reserve_size, reserve);
    DNN_HANDLE_OR_LEAVE(handle);
    int r = take_steps(&s, desc, time, dxd, yd);
    for (int t = 0; !r && t < time; t++)
        if (!dyd || !same_step(dyd[t], step_of(yd[t]), s.y.width))
            r = CUDNN_STATUS_BAD_PARAM;
    if (!r)
        r = backward(handle, &s, &o, &g, "cudnnRNNBackwardData");
    free(s.own);
    return r;
}
int wrap_cudnnRNNBackwardDataEx(void *handle, void *desc, void *yd, const void *y, void *dyd, const void *dy, void *ad,
                                const void *attention, void *dhyd, const void *dhy, void *dcyd, const void *dcy,
                                void *wd, const void *w, void *hxd, const void *hx, void *cxd, const void *cx,
                                void *dxd, void *dx, void *dhxd, void *dhx, void *dcxd, void *dcx, void *kd, void *keys,
                                void *space, size_t size, void *reserve, size_t reserve_size)
{
    struct sequences s = {.own = NULL};
    const struct gradients g = {y, dy, dhy, dcy, hx, cx, dx, dhx, dcx};
    void *const states[] = {hxd, dhyd, dhxd, cxd, dcyd, dcxd};
    const struct operands o = operands_of(&g, states, wd, w, size, space, reserve_size, reserve);
    (void)ad, (void)kd;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(!attention && !keys && dnn_is(DNN_RNN_DATA, dyd));
    int r = take_data(&s, desc, dxd, yd);
    if (!r)
        r = same_data(dyd, yd);
    return r ? r : backward(handle, &s, &o, &g, "cudnnRNNBackwardDataEx");
}

/* Adds to what is there, as this interface does. */
static int add_weights(void *handle, struct sequences *s, const struct operands *o, const void *x, const void *hx,
                       const void *y, void *dw, const char *symbol)
{
    struct mudnn_rnn r;
    int e = begin(&r, handle, s, o, true);
    if (e)
        return e;
    DNN_BAD_UNLESS(x && y);
    r.way = MUDNN_RNN_WAY_WEIGHTS;
    r.add = true;
    r.x = x, r.y = y, r.hx = hx, r.dweights = dw;
    return finish(&r, handle, s, symbol);
}
int wrap_cudnnRNNBackwardWeights(void *handle, void *desc, int time, void **xd, const void *x, void *hxd,
                                 const void *hx, void **yd, const void *y, const void *space, size_t size, void *dwd,
                                 void *dw, const void *reserve, size_t reserve_size)
{
    struct sequences s = {.own = NULL};
    struct operands o = {{{hxd, hx}}, {{NULL, NULL}}, dwd, dw, size, space, reserve_size, (void *)(uintptr_t)reserve};
    DNN_HANDLE_OR_LEAVE(handle);
    int r = take_steps(&s, desc, time, xd, yd);
    if (!r)
        r = add_weights(handle, &s, &o, x, hx, y, dw, "cudnnRNNBackwardWeights");
    free(s.own);
    return r;
}
int wrap_cudnnRNNBackwardWeightsEx(void *handle, void *desc, void *xd, const void *x, void *hxd, const void *hx,
                                   void *yd, const void *y, void *space, size_t size, void *dwd, void *dw,
                                   void *reserve, size_t reserve_size)
{
    struct sequences s = {.own = NULL};
    struct operands o = {{{hxd, hx}}, {{NULL, NULL}}, dwd, dw, size, space, reserve_size, reserve};
    DNN_HANDLE_OR_LEAVE(handle);
    int r = take_data(&s, desc, xd, yd);
    return r ? r : add_weights(handle, &s, &o, x, hx, y, dw, "cudnnRNNBackwardWeightsEx");
}
