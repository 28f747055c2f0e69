/* cuDNN 8's recurrent layers: descriptors, the layout of weights, and the calls. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/rnn.h"

int wrap_cudnnCreateRNNDescriptor(void **d) { return dnn_create(DNN_RNN, sizeof(struct dnn_rnn), d); }
int wrap_cudnnDestroyRNNDescriptor(void *d) { return dnn_destroy(DNN_RNN, d); }
int wrap_cudnnCreateRNNDataDescriptor(void **d) { return dnn_create(DNN_RNN_DATA, sizeof(struct dnn_rnn_data), d); }
int wrap_cudnnDestroyRNNDataDescriptor(void *d)
{
    int *length = dnn_is(DNN_RNN_DATA, d) ? ((struct dnn_rnn_data *)d)->length : NULL;
    int r = dnn_destroy(DNN_RNN_DATA, d);
    if (!r)
        free(length);
    return r;
}

int wrap_cudnnSetRNNDescriptor_v8(void *desc, int algo, int cell, int bias, int direction, int input_mode, int type,
                                  int precision, int math, int input, int hidden, int projection, int layers,
                                  void *dropout, unsigned flags)
{
    struct dnn_rnn *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && (unsigned)cell <= CUDNN_GRU && (unsigned)bias <= CUDNN_RNN_SINGLE_REC_BIAS);
    DNN_BAD_UNLESS((unsigned)direction <= CUDNN_BIDIRECTIONAL && (unsigned)input_mode <= CUDNN_SKIP_INPUT);
    DNN_BAD_UNLESS(algo >= 0 && algo < CUDNN_RNN_ALGO_COUNT && (unsigned)math <= CUDNN_FMA_MATH);
    DNN_BAD_UNLESS(input >= 0 && hidden > 0 && layers > 0 && projection >= 0 && projection <= hidden);
    DNN_BAD_UNLESS(!dropout || dnn_is(DNN_DROPOUT, dropout));
    bool projects = projection && projection != hidden;
    if ((type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF &&
         type != CUDNN_DATA_BFLOAT16) ||
        (projects && cell != CUDNN_LSTM))
        return CUDNN_STATUS_NOT_SUPPORTED;
    DNN_BAD_UNLESS(input_mode == CUDNN_LINEAR_INPUT || input == hidden);
    const struct dnn_rnn new = {d->object, algo,      cell,    bias,  direction, input_mode,
                                type,      precision, math,    input, hidden,    projects ? projection : hidden,
                                layers,    flags,     dropout, 0,     0,         0,
                                0,         true};
    if (!dnn_rnn_fits(&new))
        return CUDNN_STATUS_NOT_SUPPORTED;
    *d = new;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetRNNDescriptor_v8(void *desc, int *algo, int *cell, int *bias, int *direction, int *input_mode,
                                  int *type, int *precision, int *math, int *input, int *hidden, int *projection,
                                  int *layers, void **dropout, unsigned *flags)
{
    const struct dnn_rnn *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && d->set);
    int *const to[] = {algo,      cell, bias,  direction, input_mode, type,
                       precision, math, input, hidden,    projection, layers};
    const int from[] = {d->algo,      d->cell, d->bias,  d->direction, d->input_mode, d->type,
                        d->precision, d->math, d->input, d->hidden,    d->projection, d->layers};
    for (int i = 0; i < 12; i++)
        if (to[i])
            *to[i] = from[i];
    if (dropout)
        *dropout = d->dropout;
    if (flags)
        *flags = d->flags;
    return CUDNN_STATUS_SUCCESS;
}

/* The cell's state is held between two bounds. */
static int set_clip(void *desc, int mode, int nan, double low, double high)
{
    struct dnn_rnn *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && (unsigned)mode <= CUDNN_RNN_CLIP_MINMAX && (!mode || low <= high));
    d->clip = mode, d->clip_nan = nan, d->clip_low = low, d->clip_high = high;
    return CUDNN_STATUS_SUCCESS;
}
static int get_clip(const void *desc, int *mode, int *nan, double *low, double *high)
{
    const struct dnn_rnn *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d));
    if (mode)
        *mode = d->clip;
    if (nan)
        *nan = d->clip_nan;
    if (low)
        *low = d->clip_low;
    if (high)
        *high = d->clip_high;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnRNNSetClip_v8(void *d, int mode, int nan, double l, double h) { return set_clip(d, mode, nan, l, h); }
int wrap_cudnnRNNSetClip_v9(void *d, int mode, double l, double h) { return set_clip(d, mode, 0, l, h); }
int wrap_cudnnRNNGetClip_v8(void *d, int *mode, int *nan, double *l, double *h) { return get_clip(d, mode, nan, l, h); }
int wrap_cudnnRNNGetClip_v9(void *d, int *mode, double *l, double *h) { return get_clip(d, mode, NULL, l, h); }

int wrap_cudnnBuildRNNDynamic(void *handle, void *d, int batch)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && batch > 0);
    return CUDNN_STATUS_SUCCESS;
}

/* Lengths must not grow where the layout is a packed one: its batches shrink as time goes on. */
int wrap_cudnnSetRNNDataDescriptor(void *desc, int type, int layout, int time, int batch, int width, const int *length,
                                   void *fill)
{
    struct dnn_rnn_data *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_RNN_DATA, d) && dnn_size(type) &&
                   (unsigned)layout <= CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED);
    DNN_BAD_UNLESS(time > 0 && batch > 0 && width > 0 && length);
    if (mudnn_times(mudnn_times(time, batch), width) > MUDNN_LIMIT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < batch; i++) {
        DNN_BAD_UNLESS(length[i] >= 0 && length[i] <= time);
        DNN_BAD_UNLESS(layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED || !i || length[i] <= length[i - 1]);
    }
    int *copy = malloc((size_t)batch * sizeof *copy);
    if (!copy)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(copy, length, (size_t)batch * sizeof *copy);
    free(d->length);
    d->length = copy;
    d->type = type, d->layout = layout, d->time = time, d->batch = batch, d->width = width;
    memset(d->fill, 0, sizeof d->fill);
    if (fill)
        memcpy(d->fill, fill, dnn_size(type));
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetRNNDataDescriptor(void *desc, int *type, int *layout, int *time, int *batch, int *width, int wanted,
                                   int *length, void *fill)
{
    const struct dnn_rnn_data *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_RNN_DATA, d) && d->length && wanted >= 0);
    int *const to[] = {type, layout, time, batch, width};
    const int from[] = {d->type, d->layout, d->time, d->batch, d->width};
    for (int i = 0; i < 5; i++)
        if (to[i])
            *to[i] = from[i];
    for (int i = 0; length && i < wanted && i < d->batch; i++)
        length[i] = d->length[i];
    if (fill)
        memcpy(fill, d->fill, dnn_size(d->type));
    return CUDNN_STATUS_SUCCESS;
}

/* ---- weights ----------------------------------------------------------------------------------- */

struct mudnn_rnn_shape dnn_rnn_shape(const struct dnn_rnn *d)
{
    return (struct mudnn_rnn_shape){.cell = d->cell,
                                    .gates = d->cell == CUDNN_LSTM  ? 4
                                             : d->cell == CUDNN_GRU ? 3
                                                                    : 1,
                                    .bias = d->bias,
                                    .directions = d->direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
                                    .skip = d->input_mode == CUDNN_SKIP_INPUT,
                                    .type = d->type,
                                    .input = d->input,
                                    .hidden = d->hidden,
                                    .out = d->projection,
                                    .layers = d->layers};
}
bool dnn_rnn_fits(const struct dnn_rnn *d)
{
    const struct mudnn_rnn_shape s = dnn_rnn_shape(d);
    const int64_t widest = s.input > s.directions * s.out ? s.input : s.directions * s.out;
    const int64_t each = mudnn_times(s.gates * s.hidden, widest + s.out + 2) + mudnn_times(s.out, s.hidden);
    return mudnn_times(s.layers * s.directions, each) <= MUDNN_LIMIT;
}
size_t dnn_rnn_weight_bytes(const struct dnn_rnn *d)
{
    struct mudnn_rnn_shape s = dnn_rnn_shape(d);
    return (size_t)mudnn_rnn_weights(&s, s.layers * s.directions, 3) * dnn_size(d->type);
}
size_t dnn_rnn_reserve_bytes(const struct dnn_rnn *d, int time, int batch)
{
    const struct mudnn_rnn_shape s = dnn_rnn_shape(d);
    const int64_t numbers = mudnn_rnn_reserve(&s, time, batch);
    return numbers < MUDNN_MOST ? (size_t)numbers * sizeof(double) : 0;
}

int wrap_cudnnGetRNNWeightSpaceSize(void *handle, void *desc, size_t *size)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, desc) && ((struct dnn_rnn *)desc)->set && size);
    *size = dnn_rnn_weight_bytes(desc);
    return CUDNN_STATUS_SUCCESS;
}

static void answer(struct dnn_tensor *d, void **at, int type, int64_t rows, int64_t columns, const char *place)
{
    if (at)
        *at = (void *)(uintptr_t)place;
    if (!d)
        return;
    d->given = type;
    d->t = (struct mudnn_tensor){type, place ? 3 : 0, 1, {1, rows, columns}, {rows * columns, columns, 1}};
}

/* First the input's gates, then the recurrent ones, then the projection. What is not there has the address NULL. */
int dnn_rnn_params(const struct dnn_rnn *d, int pseudo, const void *space, int id, struct dnn_tensor *m_desc,
                   void **m_at, struct dnn_tensor *b_desc, void **b_at)
{
    struct mudnn_rnn_shape s = dnn_rnn_shape(d);
    int gates = s.gates, part = id / gates, gate = id % gates;
    DNN_BAD_UNLESS(id >= 0 && pseudo >= 0 && pseudo < s.layers * s.directions &&
                   (part < 2 || (part == 2 && !gate && s.cell == CUDNN_LSTM)));
    int64_t rows = part == 2 ? s.out : s.hidden;
    int64_t columns = part == 0 ? mudnn_rnn_width(&s, pseudo / s.directions) : part == 1 ? s.out : s.hidden;
    bool matrix = part == 0 ? !(s.skip && pseudo < s.directions) : part == 1 ? true : s.out != s.hidden;
    bool bias = part < 2 && (s.bias == CUDNN_RNN_DOUBLE_BIAS ||
                             s.bias == (part ? CUDNN_RNN_SINGLE_REC_BIAS : CUDNN_RNN_SINGLE_INP_BIAS));
    size_t each = dnn_size(d->type);
    const char *base = space;
    answer(m_desc, m_at, d->type, rows, columns,
           matrix ? base + (size_t)(mudnn_rnn_weights(&s, pseudo, part) + gate * rows * columns) * each : NULL);
    answer(b_desc, b_at, d->type, s.hidden, 1,
           bias ? base + (size_t)(mudnn_rnn_weights(&s, pseudo, part + 3) + gate * s.hidden) * each : NULL);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetRNNWeightParams(void *handle, void *desc, int pseudo, size_t size, const void *space, int id,
                                 void *m_desc, void **m_at, void *b_desc, void **b_at)
{
    const struct dnn_rnn *d = desc;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && d->set && size >= dnn_rnn_weight_bytes(d));
    DNN_BAD_UNLESS((!m_desc || dnn_is(DNN_TENSOR, m_desc)) && (!b_desc || dnn_is(DNN_TENSOR, b_desc)));
    return dnn_rnn_params(d, pseudo, space, id, m_desc, m_at, b_desc, b_at);
}

int wrap_cudnnGetRNNTempSpaceSizes(void *handle, void *desc, int mode, void *x, size_t *space, size_t *reserve)
{
    const struct dnn_rnn *d = desc;
    const struct dnn_rnn_data *data = x;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && d->set && dnn_is(DNN_RNN_DATA, data) && data->length &&
                   (unsigned)mode <= CUDNN_FWD_MODE_TRAINING);
    const size_t size = dnn_rnn_reserve_bytes(d, data->time, data->batch);
    if (!size)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (space)
        *space = 0;
    if (reserve)
        *reserve = mode == CUDNN_FWD_MODE_TRAINING ? size : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- calls ------------------------------------------------------------------------------------- */

bool dnn_rnn_is_state(const struct dnn_rnn *d, bool cell, int batch, const void *desc)
{
    const struct mudnn_rnn_shape s = dnn_rnn_shape(d);
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, desc);
    return !desc || (cell && d->cell != CUDNN_LSTM) ||
           (t && dnn_is_dense(t, 3) && t->type == d->type && t->dim[0] == s.layers * s.directions &&
            t->dim[1] == batch && t->dim[2] == (cell ? s.hidden : s.out));
}
int dnn_rnn_begin(struct mudnn_rnn *r, void *handle, const struct dnn_rnn *d, const struct dnn_rnn_data *x,
                  const struct dnn_rnn_data *y, const void *h, const void *c, size_t weight_size, const void *weights,
                  size_t size, const void *space, size_t reserve_size, void *reserve, bool keeps)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(d->set);
    struct mudnn_rnn_shape s = dnn_rnn_shape(d);
    DNN_BAD_UNLESS(x->length && y->length && x->type == d->type && y->type == d->type && x->layout == y->layout);
    DNN_BAD_UNLESS(x->time == y->time && x->batch == y->batch && x->width == d->input &&
                   y->width == s.directions * s.out);
    DNN_BAD_UNLESS(!memcmp(x->length, y->length, (size_t)x->batch * sizeof *x->length));
    DNN_BAD_UNLESS(weights && weight_size >= dnn_rnn_weight_bytes(d) && (!size || space));
    DNN_BAD_UNLESS(dnn_rnn_is_state(d, false, x->batch, h) && dnn_rnn_is_state(d, true, x->batch, c));
    *r = (struct mudnn_rnn){.s = s,
                            .clip = d->clip,
                            .clip_low = d->clip_low,
                            .clip_high = d->clip_high,
                            .layout = x->layout,
                            .time = x->time,
                            .batch = x->batch,
                            .weights = weights};
    if (d->dropout)
        DNN_BAD_UNLESS(dnn_dropout_of(d->dropout, &r->dropout, &r->dropout_state));
    if (keeps) {
        const size_t needed = dnn_rnn_reserve_bytes(d, x->time, x->batch);
        DNN_BAD_UNLESS(reserve && needed && reserve_size >= needed);
        DNN_BAD_UNLESS((uintptr_t)reserve % sizeof(double) == 0);
        r->reserve = reserve;
    }
    return CUDNN_STATUS_SUCCESS;
}
int dnn_rnn_run(const struct mudnn_rnn *r, void *handle, bool h, bool c, const int *length, const char *symbol)
{
    DNN_BAD_UNLESS(h || (!r->hx && !r->hy && !r->dhy && !r->dhx));
    DNN_BAD_UNLESS(c || (!r->cx && !r->cy && !r->dcy && !r->dcx));
    DNN_ALIGNED(r->s.type, r->x, r->y, r->dy, r->out, r->dx, r->weights, r->dweights);
    DNN_ALIGNED(r->s.type, r->hx, r->cx, r->dhy, r->dcy, r->hy, r->cy, r->dhx, r->dcx);
    return dnn_done(mu.mudnnHostRnn(dnn_stream(handle), r, length), symbol);
}
/* The same of what programs give. */
static int begin(struct mudnn_rnn *r, void *handle, const struct dnn_rnn *d, const struct dnn_rnn_data *x,
                 const struct dnn_rnn_data *y, const void *h, const void *c, size_t weight_size, const void *weights,
                 size_t size, const void *space, size_t reserve_size, void *reserve, bool keeps)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_RNN, d) && dnn_is(DNN_RNN_DATA, x) && dnn_is(DNN_RNN_DATA, y));
    return dnn_rnn_begin(r, handle, d, x, y, h, c, weight_size, weights, size, space, reserve_size, reserve, keeps);
}

int wrap_cudnnRNNForward(void *handle, void *desc, int mode, const int *lengths, void *x, const void *x_at, void *y,
                         void *y_at, void *h, const void *hx, void *hy, void *c, const void *cx, void *cy,
                         size_t weight_size, const void *weights, size_t size, void *space, size_t reserve_size,
                         void *reserve)
{
    struct mudnn_rnn r;
    bool training = mode == CUDNN_FWD_MODE_TRAINING;
    (void)lengths; /* the same ones as the descriptors' */
    int e = begin(&r, handle, desc, x, y, h, c, weight_size, weights, size, space, reserve_size, reserve, training);
    if (e)
        return e;
    DNN_BAD_UNLESS((unsigned)mode <= CUDNN_FWD_MODE_TRAINING && x_at && y_at);
    DNN_BAD_UNLESS(!training || r.dropout == 0 || r.s.layers == 1 || r.dropout_state);
    r.way = MUDNN_RNN_WAY_FORWARD;
    r.training = training;
    r.x = x_at, r.out = y_at, r.hx = hx, r.hy = hy;
    if (r.s.cell == CUDNN_LSTM)
        r.cx = cx, r.cy = cy;
    memcpy(r.fill, ((struct dnn_rnn_data *)y)->fill, sizeof r.fill);
    return dnn_rnn_run(&r, handle, h, c, ((struct dnn_rnn_data *)x)->length, "cudnnRNNForward");
}

int wrap_cudnnRNNBackwardData_v8(void *handle, void *desc, const int *lengths, void *y, const void *y_at,
                                 const void *dy, void *x, void *dx, void *h, const void *hx, const void *dhy, void *dhx,
                                 void *c, const void *cx, const void *dcy, void *dcx, size_t weight_size,
                                 const void *weights, size_t size, void *space, size_t reserve_size, void *reserve)
{
    struct mudnn_rnn r;
    (void)lengths;
    int e = begin(&r, handle, desc, x, y, h, c, weight_size, weights, size, space, reserve_size, reserve, true);
    if (e)
        return e;
    DNN_BAD_UNLESS(y_at && dy && dx);
    r.way = MUDNN_RNN_WAY_DATA;
    r.y = y_at, r.dy = dy, r.dx = dx, r.hx = hx, r.dhy = dhy, r.dhx = dhx;
    if (r.s.cell == CUDNN_LSTM)
        r.cx = cx, r.dcy = dcy, r.dcx = dcx;
    return dnn_rnn_run(&r, handle, h, c, ((struct dnn_rnn_data *)x)->length, "cudnnRNNBackwardData_v8");
}

int wrap_cudnnRNNBackwardWeights_v8(void *handle, void *desc, int add, const int *lengths, void *x, const void *x_at,
                                    void *h, const void *hx, void *y, const void *y_at, size_t weight_size,
                                    void *dweights, size_t size, void *space, size_t reserve_size, void *reserve)
{
    struct mudnn_rnn r;
    (void)lengths;
    int e = begin(&r, handle, desc, x, y, h, NULL, weight_size, dweights, size, space, reserve_size, reserve, true);
    if (e)
        return e;
    DNN_BAD_UNLESS(x_at && y_at && (unsigned)add <= CUDNN_WGRAD_MODE_SET);
    r.way = MUDNN_RNN_WAY_WEIGHTS;
    r.add = add == CUDNN_WGRAD_MODE_ADD;
    r.x = x_at, r.y = y_at, r.hx = hx, r.dweights = dweights;
    return dnn_rnn_run(&r, handle, h, NULL, ((struct dnn_rnn_data *)x)->length, "cudnnRNNBackwardWeights_v8");
}
