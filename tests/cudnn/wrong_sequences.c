/* Recurrent layers, CTC loss, multi-head attention, dropout and spatial transformers with one thing wrong (wrong.h);
 * and descriptors of them with numbers that are negative, or whose products are beyond all memory. */
#include "wrong.h"

enum { RELU, TANH, LSTM, GRU, FOUR = 4 };
static void *give_descriptor(int (*create)(void *))
{
    void *d = NULL;
    MUST(create(&d));
    return d;
}

/* ---- recurrent layers -------------------------------------------------------------------------- */

static struct net {
    int type, cell, directions, layers, time, batch, input, hidden, out, layout, length[FOUR];
    size_t weight_size, reserve_size;
    void *desc, *x, *y, *state, *cell_state;
    void *x_at, *y_at, *w_at, *reserve;
} net;

static void *sequence(int type, int time, int batch, int width, int layout, const int *length)
{
    void *d = give_descriptor(cudnnCreateRNNDataDescriptor);
    const double fill = 0;
    OK(cudnnSetRNNDataDescriptor(d, type, layout, time, batch, width, length, (void *)&fill));
    return d;
}
static void *recurrent(int type, int cell, int input, int hidden, int out, int layers, int directions)
{
    void *d = give_descriptor(cudnnCreateRNNDescriptor);
    OK(cudnnSetRNNDescriptor_v8(d, 0, cell, 2, directions - 1, 0, type, type, 0, input, hidden, out, layers, NULL, 1));
    return d;
}
static void draw_net(int type, bool projects)
{
    struct net *n = &net;
    *n = (struct net){.type = type,
                      .cell = upto(4),
                      .directions = 1 + upto(2),
                      .layers = 1 + upto(2),
                      .time = 2 + upto(3),
                      .batch = 2 + upto(2),
                      .input = 2 + upto(3),
                      .hidden = 3 + upto(3),
                      .layout = upto(3)};
    n->out = projects && n->cell == LSTM && upto(2) ? n->hidden - 1 : n->hidden;
    for (int i = 0; i < n->batch; i++)
        n->length[i] = i ? 1 + upto(n->length[i - 1]) : n->time;
    n->desc = keep_other(recurrent(type, n->cell, n->input, n->hidden, n->out, n->layers, n->directions),
                         cudnnDestroyRNNDescriptor);
    n->x = keep_other(sequence(type, n->time, n->batch, n->input, n->layout, n->length), cudnnDestroyRNNDataDescriptor);
    n->y = keep_other(sequence(type, n->time, n->batch, n->directions * n->out, n->layout, n->length),
                      cudnnDestroyRNNDataDescriptor);
    size_t none;
    OK(cudnnGetRNNWeightSpaceSize(handle, n->desc, &n->weight_size));
    OK(cudnnGetRNNTempSpaceSizes(handle, n->desc, 1, n->x, &none, &n->reserve_size));
    const int states[] = {n->layers * n->directions, n->batch, n->out};
    gaps = false;
    n->state = tensor(type, 3, states, false)->desc;
    n->cell_state = tensor(type, 3, (int[]){states[0], states[1], n->hidden}, false)->desc;
    gaps = true;
    n->x_at = numbers_of(type, (size_t)(n->time * n->batch * n->input) * bytes(type));
    n->y_at = numbers_of(type, (size_t)(n->time * n->batch * n->directions * n->out) * bytes(type));
    n->w_at = numbers_of(type, n->weight_size);
    n->reserve = blob(n->reserve_size, NULL, true);
}
static void *states(bool cell) /* memory of one */
{
    size_t n = (size_t)(net.layers * net.directions * net.batch * (cell ? net.hidden : net.out));
    return numbers_of(net.type, n * bytes(net.type));
}

static void layer_argument(void)
{
    const struct net *n = &net;
    add(OTHER)->p = n->desc;
    unlike(give_descriptor(cudnnCreateRNNDescriptor), "a layer that is not set", cudnnDestroyRNNDescriptor);
    unlike(recurrent(n->type == F32 ? F64 : F32, n->cell, n->input, n->hidden, n->out, n->layers, n->directions),
           "a layer of another type", cudnnDestroyRNNDescriptor);
    unlike(recurrent(n->type, n->cell, n->input + 1, n->hidden, n->out, n->layers, n->directions),
           "a layer of wider input", cudnnDestroyRNNDescriptor);
    unlike(recurrent(n->type, n->cell, n->input, n->hidden + 1, n->out == n->hidden ? 0 : n->out, n->layers,
                     n->directions),
           "a wider layer", cudnnDestroyRNNDescriptor);
    unlike(recurrent(n->type, n->cell, n->input, n->hidden, n->out, n->layers + 1, n->directions), "a layer more",
           cudnnDestroyRNNDescriptor);
}
static void data_argument(bool out)
{
    const struct net *n = &net;
    const int width = out ? n->directions * n->out : n->input;
    int longer[FOUR], shorter[FOUR];
    memcpy(longer, n->length, sizeof longer);
    memcpy(shorter, n->length, sizeof shorter);
    shorter[n->batch - 1]--;
    longer[n->batch] = 1;
    add(OTHER)->p = out ? n->y : n->x;
    const struct {
        const char *what;
        int type, time, batch, width, layout;
        const int *length;
    } wrong[] = {{"another type", n->type == F32 ? F64 : F32, n->time, n->batch, width, n->layout, n->length},
                 {"a longer time", n->type, n->time + 1, n->batch, width, n->layout, n->length},
                 {"a sequence more", n->type, n->time, n->batch + 1, width, n->layout, longer},
                 {"wider vectors", n->type, n->time, n->batch, width + 1, n->layout, n->length},
                 {"another layout", n->type, n->time, n->batch, width, (n->layout + 1) % 3, n->length},
                 {"another length", n->type, n->time, n->batch, width, n->layout, shorter}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        unlike(sequence(wrong[i].type, wrong[i].time, wrong[i].batch, wrong[i].width, wrong[i].layout, wrong[i].length),
               wrong[i].what, cudnnDestroyRNNDataDescriptor);
    unlike(give_descriptor(cudnnCreateRNNDataDescriptor), "sequences that are not set", cudnnDestroyRNNDataDescriptor);
}
/* The descriptor of a state; only an LSTM's cell has one of its own. */
static void state_argument(bool cell)
{
    const bool ignored = cell && net.cell != LSTM;
    struct arg *x = add(ignored ? PLAIN : TENSOR);
    x->p = cell ? net.cell_state : net.state;
    x->t = ignored ? NULL : &all[cell];
}
static void state_memory(bool cell, bool result)
{
    if (cell && net.cell != LSTM)
        add(PLAIN);
    else
        raw(states(cell), bytes(net.type), result, true);
}
static void weight_arguments(void)
{
    size_of_space(net.weight_size);
    raw(net.w_at, bytes(net.type), false, false);
}
static void space_arguments(void)
{
    size_of_space(0);
    add(PLAIN);
    size_of_space(net.reserve_size);
    struct arg *r = add(WORK);
    r->p = net.reserve, r->z = net.reserve_size, r->unit = 8;
}

static void rnn_forward(int type)
{
    draw_net(type, true);
    add(HANDLE)->p = handle;
    layer_argument();
    mode(1);
    add(PLAIN); /* lengths on the device, which the descriptors have, too */
    data_argument(false);
    raw(net.x_at, bytes(type), false, false);
    data_argument(true);
    raw(net.y_at, bytes(type), true, false);
    state_argument(false);
    state_memory(false, false);
    state_memory(false, true);
    state_argument(true);
    state_memory(true, false);
    state_memory(true, true);
    weight_arguments();
    space_arguments();
}
static int run_rnn_forward(void)
{
    return cudnnRNNForward(P(0), P(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13),
                           Z(14), P(15), Z(16), P(17), Z(18), P(19));
}
static void keep_memory(void) /* which is restored from now on */
{
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < blob_count; i++)
        OK(cudaMemcpy(blobs[i].host, blobs[i].at, blobs[i].size, 2));
}
static void keep_forward(void) /* what gradients need */
{
    const struct net *n = &net;
    OK(cudnnRNNForward(handle, n->desc, 1, NULL, n->x, n->x_at, n->y, n->y_at, n->state, NULL, NULL, n->cell_state,
                       NULL, NULL, n->weight_size, n->w_at, 0, NULL, n->reserve_size, n->reserve));
    keep_memory();
}
static void rnn_data(int type)
{
    draw_net(type, true);
    keep_forward();
    const size_t size = (size_t)(net.time * net.batch * net.directions * net.out) * bytes(type);
    add(HANDLE)->p = handle;
    layer_argument();
    add(PLAIN);
    data_argument(true);
    raw(net.y_at, bytes(type), false, false);
    raw(numbers_of(type, size), bytes(type), false, false);
    data_argument(false);
    raw(net.x_at, bytes(type), true, false);
    state_argument(false);
    for (int i = 0; i < 3; i++)
        state_memory(false, i == 2);
    state_argument(true);
    for (int i = 0; i < 3; i++)
        state_memory(true, i == 2);
    weight_arguments();
    space_arguments();
}
static int run_rnn_data(void)
{
    return cudnnRNNBackwardData_v8(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12),
                                   P(13), P(14), P(15), Z(16), P(17), Z(18), P(19), Z(20), P(21));
}
static void rnn_weights(int type)
{
    draw_net(type, true);
    keep_forward();
    const struct net *n = &net;
    OK(cudnnRNNBackwardData_v8(handle, n->desc, NULL, n->y, n->y_at, n->y_at, n->x, numbers_of(type, 4096), n->state,
                               NULL, NULL, NULL, n->cell_state, NULL, NULL, NULL, n->weight_size, n->w_at, 0, NULL,
                               n->reserve_size, n->reserve));
    keep_memory();
    add(HANDLE)->p = handle;
    layer_argument();
    mode(upto(2));
    add(PLAIN);
    data_argument(false);
    raw(n->x_at, bytes(type), false, false);
    state_argument(false);
    state_memory(false, false);
    data_argument(true);
    raw(n->y_at, bytes(type), false, false);
    size_of_space(n->weight_size);
    raw(numbers_of(type, n->weight_size), bytes(type), true, false);
    space_arguments();
}
static int run_rnn_weights(void)
{
    return cudnnRNNBackwardWeights_v8(P(0), P(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), Z(10), P(11), Z(12),
                                      P(13), Z(14), P(15));
}

#ifdef BAD /* the interface before version 8: a descriptor for each time step, weights as a filter */
static void *step_descriptor(int type, int batch, int width)
{
    void *d = give_descriptor(cudnnCreateTensorDescriptor);
    OK(cudnnSetTensorNdDescriptor(d, type, 3, (int[]){batch, width, 1}, (int[]){width, 1, 1}));
    return d;
}
/* Batches of the steps never grow. To be freed. */
static void **steps_of(int width)
{
    const struct net *n = &net;
    void **steps = calloc((size_t)n->time, sizeof *steps);
    for (int t = 0; t < n->time; t++) {
        int batch = 0;
        while (batch < n->batch && t < n->length[batch])
            batch++;
        steps[t] = keep_other(step_descriptor(n->type, batch, width), cudnnDestroyTensorDescriptor);
    }
    return steps;
}
static void steps_argument(int width)
{
    const struct net *n = &net;
    struct arg *x = add(ARRAY);
    x->p = steps_of(width), x->n = n->time;
    unlike(step_descriptor(n->type, n->batch + 1, width), "a larger batch", cudnnDestroyTensorDescriptor);
    unlike(step_descriptor(n->type == F32 ? F64 : F32, n->batch, width), "another type", cudnnDestroyTensorDescriptor);
    unlike(step_descriptor(n->type, n->batch, width + 1), "another width", cudnnDestroyTensorDescriptor);
}
static void *filter; /* of all weights */
static void legacy_net(int type)
{
    draw_net(type, false);
    struct net *n = &net;
    n->layout = 0;
    n->desc = keep_other(give_descriptor(cudnnCreateRNNDescriptor), cudnnDestroyRNNDescriptor);
    OK(cudnnSetRNNDescriptor_v6(handle, n->desc, n->hidden, n->layers, NULL, 0, n->directions - 1, n->cell, 0, type));
    filter = keep_other(give_descriptor(cudnnCreateFilterDescriptor), cudnnDestroyFilterDescriptor);
    OK(cudnnSetFilterNdDescriptor(filter, type, NCHW, 3, (int[]){(int)(n->weight_size / bytes(type)), 1, 1}));
}
static void legacy_begin(void)
{
    add(HANDLE)->p = handle;
    add(OTHER)->p = net.desc;
    unlike(give_descriptor(cudnnCreateRNNDescriptor), "a layer that is not set", cudnnDestroyRNNDescriptor);
}
static void in_steps(bool out, void *at, bool result)
{
    const struct net *n = &net;
    const int width = out ? n->directions * n->out : n->input;
    steps_argument(width);
    raw(at ? at : numbers_of(n->type, (size_t)(n->time * n->batch * width) * bytes(n->type)), bytes(n->type), result,
        false);
}
static void legacy_state(bool cell, bool result)
{
    state_argument(cell);
    state_memory(cell, result);
}
static void filter_argument(void *at, bool result)
{
    const int numbers = (int)(net.weight_size / bytes(net.type));
    void *small = give_descriptor(cudnnCreateFilterDescriptor);
    add(FILTER)->p = filter;
    OK(cudnnSetFilterNdDescriptor(small, net.type, NCHW, 3, (int[]){numbers - 1, 1, 1}));
    unlike(small, "too few weights", cudnnDestroyFilterDescriptor);
    raw(at, bytes(net.type), result, false);
}
static void legacy_spaces(void)
{
    struct arg *r = add(WORK);
    r->p = net.reserve, r->z = net.reserve_size, r->unit = 8;
    size_of_space(net.reserve_size);
}
static void legacy_forward(int type)
{
    legacy_net(type);
    legacy_begin();
    in_steps(false, net.x_at, false);
    legacy_state(false, false);
    legacy_state(true, false);
    filter_argument(net.w_at, false);
    in_steps(true, net.y_at, true);
    legacy_state(false, true);
    legacy_state(true, true);
    legacy_spaces();
}
static int run_legacy_forward(void)
{
    return cudnnRNNForwardTraining(P(0), P(1), net.time, P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                   P(12), P(13), P(14), P(15), NULL, 0, P(16), Z(17));
}
static void legacy_kept(void)
{
    void **xs = steps_of(net.input), **ys = steps_of(net.directions * net.out);
    OK(cudnnRNNForwardTraining(handle, net.desc, net.time, xs, net.x_at, net.state, NULL, net.cell_state, NULL, filter,
                               net.w_at, ys, net.y_at, net.state, NULL, net.cell_state, NULL, NULL, 0, net.reserve,
                               net.reserve_size));
    free(xs), free(ys);
    keep_memory();
}
static void legacy_data(int type)
{
    legacy_net(type);
    legacy_kept();
    legacy_begin();
    in_steps(true, net.y_at, false);
    in_steps(true, NULL, false);
    legacy_state(false, false);
    legacy_state(true, false);
    filter_argument(net.w_at, false);
    legacy_state(false, false);
    legacy_state(true, false);
    in_steps(false, NULL, true);
    legacy_state(false, true);
    legacy_state(true, true);
    legacy_spaces();
}
static int run_legacy_data(void)
{
    return cudnnRNNBackwardData(P(0), P(1), net.time, P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                P(12), P(13), P(14), P(15), P(16), P(17), P(18), P(19), P(20), P(21), NULL, 0, P(22),
                                Z(23));
}
static void legacy_weights(int type)
{
    legacy_net(type);
    legacy_kept();
    void **xs = steps_of(net.input), **ys = steps_of(net.directions * net.out), *dx = numbers_of(type, 4096);
    OK(cudnnRNNBackwardData(handle, net.desc, net.time, ys, net.y_at, ys, net.y_at, net.state, NULL, net.cell_state,
                            NULL, filter, net.w_at, net.state, NULL, net.cell_state, NULL, xs, dx, net.state, NULL,
                            net.cell_state, NULL, NULL, 0, net.reserve, net.reserve_size));
    free(xs), free(ys);
    keep_memory();
    legacy_begin();
    in_steps(false, net.x_at, false);
    legacy_state(false, false);
    in_steps(true, net.y_at, false);
    filter_argument(numbers_of(type, net.weight_size), true);
    legacy_spaces();
}
static int run_legacy_weights(void)
{
    return cudnnRNNBackwardWeights(P(0), P(1), net.time, P(2), P(3), P(4), P(5), P(6), P(7), NULL, 0, P(8), P(9), P(10),
                                   Z(11));
}
#endif

/* ---- CTC loss ---------------------------------------------------------------------------------- */

static void ctc_of(bool device)
{
    const int time = 4, batch = 2 + upto(2), classes = 3 + upto(3), lengths[] = {1, 2, 1}, inputs[] = {4, 3, 4};
    const int labels[] = {1, 2, 1, 2};
    size_t size;
    gaps = upto(2);
    struct tensor *probs = tensor(F32, 3, (int[]){time, batch, classes}, false),
                  *grads = tensor(F32, 3, probs->dim, false);
    gaps = true;
    void *d = keep_other(give_descriptor(cudnnCreateCTCLossDescriptor), cudnnDestroyCTCLossDescriptor);
    OK(device ? cudnnSetCTCLossDescriptor_v8(d, F32, 1, 0, 3) : cudnnSetCTCLossDescriptorEx(d, F32, 1, 0));
    OK(device ? cudnnGetCTCLossWorkspaceSize_v8(handle, 0, d, probs->desc, grads->desc, &size)
              : cudnnGetCTCLossWorkspaceSize(handle, probs->desc, grads->desc, labels, lengths, inputs, 0, d, &size));
    add(HANDLE)->p = handle;
    if (device) {
        mode(0);
        add(OTHER)->p = d;
        unlike(give_descriptor(cudnnCreateCTCLossDescriptor), "a loss that is not set", cudnnDestroyCTCLossDescriptor);
        both(probs, false);
        raw(blob(sizeof labels, labels, false), 4, false, false);
        raw(blob(sizeof lengths, lengths, false), 4, false, false);
        raw(blob(sizeof inputs, inputs, false), 4, false, false);
    } else {
        static const int never_lengths[] = {-1, 257, INT32_MAX, INT32_MIN}, never_labels[] = {0, -1, 9, INT32_MAX};
        both(probs, false);
        ints(batch == 2 ? 3 : 4, labels);
        for (int i = 0; i < 4; i++)
            never(upto(3), never_labels[i]);
        ints(batch, lengths);
        for (int i = 0; i < 4; i++)
            never(upto(batch), never_lengths[i]);
        ints(batch, inputs);
        for (int i = 0; i < 4; i++)
            never(upto(batch), i == 1 ? time + 1 : never_lengths[i]);
    }
    raw(numbers_of(F32, sizeof(float) * (size_t)batch), 4, true, false);
    both(grads, true);
    a[args - 1].optional = true;
    if (!device) {
        mode(0);
        add(OTHER)->p = d;
        unlike(give_descriptor(cudnnCreateCTCLossDescriptor), "a loss that is not set", cudnnDestroyCTCLossDescriptor);
    } else {
        size_of_space(size);
    }
    space_at(size, 8);
    if (!device)
        size_of_space(size);
}
static void ctc(int type)
{
    (void)type; /* it is float */
    ctc_of(false);
}
static void ctc_device(int type)
{
    (void)type;
    ctc_of(true);
}
static int run_ctc(void)
{
    return cudnnCTCLoss(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), I(9), P(10), P(11), Z(12));
}
static int run_ctc_device(void)
{
    return cudnnCTCLoss_v8(P(0), I(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), Z(11), P(12));
}
/* Lengths and labels on the device are seen too late for a status: that sequence's cost is NaN, and so are those
 * behind a length that cannot be, as nobody knows where their labels begin. The others' are right. */
static void ctc_lies(void)
{
    enum { LABELS = 5, LABEL_LENGTHS, INPUT_LENGTHS, COSTS, BATCH = 3 };
    static const int never_lengths[] = {-1, 4, INT32_MAX, INT32_MIN}, never_labels[] = {0, -1, 9, INT32_MAX};
    static const int never_times[] = {-1, 5, INT32_MAX, INT32_MIN}, first[] = {0, 1, 3};
    const struct call c = {"CTCLoss_v8, lies", NULL, run_ctc_device, false, false};
    for (int i = 0; i < 60; i++) {
        const int place = LABELS + i % 3, wrong = upto(BATCH), k = upto(4);
        const int v = place == LABELS ? never_labels[k] : place == LABEL_LENGTHS ? never_lengths[k] : never_times[k];
        float right[BATCH], now[BATCH];
        do {
            tear_down();
            ctc_of(true);
        } while (all[0].dim[1] != BATCH);
        IS(run(&c), 0);
        OK(cudaMemcpy(right, P(COSTS), sizeof right, 2));
        OK(cudaMemcpy((int *)P(place) + (place == LABELS ? first[wrong] : wrong), &v, sizeof v, 1));
        IS(run(&c), 0);
        OK(cudaMemcpy(now, P(COSTS), sizeof now, 2));
        for (int n = 0; n < BATCH; n++) {
            bool lost = n == wrong || (n > wrong && place == LABEL_LENGTHS);
            EXPECT(lost ? isnan(now[n]) : now[n] == right[n], "place %d of sequence %d: %d: cost %d: %g, not %g", place,
                   wrong, v, n, now[n], lost ? NAN : right[n]);
        }
    }
    tear_down();
}

/* ---- multi-head attention ---------------------------------------------------------------------- */

static struct {
    int type, heads, width, queries, keys, batch, lengths[2][FOUR];
    void *desc, *q, *k, *q_at, *k_at, *v_at, *out, *w_at, *reserve, *q_length, *k_length;
    size_t weight_size, space_size, reserve_size;
} heads;

static void *vectors(int type, int time, int batch, int width, const int *length)
{
    void *d = give_descriptor(cudnnCreateSeqDataDescriptor);
    OK(cudnnSetSeqDataDescriptor(d, type, 4, (int[]){time, batch, 1, width}, (int[]){0, 1, 2, 3}, (size_t)batch, length,
                                 NULL));
    return d;
}
static void *attention(int type, int width, int more)
{
    void *d = give_descriptor(cudnnCreateAttnDescriptor);
    OK(cudnnSetAttnDescriptor(d, 2, heads.heads + more, 0.5, type, type, 0, NULL, NULL, width, width, width, 2, 2, 2,
                              width, heads.queries, heads.keys, heads.batch, 1));
    return d;
}
static void draw_heads(int type)
{
    heads.type = type, heads.heads = 1 + upto(2), heads.width = 2 + upto(3);
    heads.queries = 2 + upto(2), heads.keys = 2 + upto(3), heads.batch = 1 + upto(2);
    for (int i = 0; i < FOUR; i++)
        heads.lengths[0][i] = heads.queries, heads.lengths[1][i] = 1 + upto(heads.keys);
    heads.desc = keep_other(attention(type, heads.width, 0), cudnnDestroyAttnDescriptor);
    heads.q = keep_other(vectors(type, heads.queries, heads.batch, heads.width, heads.lengths[0]),
                         cudnnDestroySeqDataDescriptor);
    heads.k = keep_other(vectors(type, heads.keys, heads.batch, heads.width, heads.lengths[1]),
                         cudnnDestroySeqDataDescriptor);
    OK(cudnnGetMultiHeadAttnBuffers(handle, heads.desc, &heads.weight_size, &heads.space_size, &heads.reserve_size));
    const size_t q = (size_t)(heads.queries * heads.batch * heads.width) * bytes(type);
    const size_t k = (size_t)(heads.keys * heads.batch * heads.width) * bytes(type);
    heads.q_at = numbers_of(type, q), heads.out = numbers_of(type, q);
    heads.k_at = numbers_of(type, k), heads.v_at = numbers_of(type, k);
    heads.w_at = numbers_of(type, heads.weight_size);
    heads.q_length = blob(sizeof heads.lengths[0], heads.lengths[0], false);
    heads.k_length = blob(sizeof heads.lengths[1], heads.lengths[1], false);
    heads.reserve = blob(heads.reserve_size, NULL, true);
}
static void heads_begin(void)
{
    add(HANDLE)->p = handle;
    add(OTHER)->p = heads.desc;
    unlike(give_descriptor(cudnnCreateAttnDescriptor), "a layer that is not set", cudnnDestroyAttnDescriptor);
    unlike(attention(heads.type == F32 ? F64 : F32, heads.width, 0), "another type", cudnnDestroyAttnDescriptor);
    unlike(attention(heads.type, heads.width + 1, 0), "another width", cudnnDestroyAttnDescriptor);
    unlike(attention(heads.type, heads.width, 1), "a head more", cudnnDestroyAttnDescriptor);
}
static void windows(void)
{
    int lo[FOUR] = {0}, hi[FOUR] = {9, 9, 9, 9};
    ints(FOUR, lo);
    ints(FOUR, hi);
}
static void vectors_argument(bool keys)
{
    const int *length = heads.lengths[keys], time = keys ? heads.keys : heads.queries;
    add(OTHER)->p = keys ? heads.k : heads.q;
    unlike(give_descriptor(cudnnCreateSeqDataDescriptor), "not set", cudnnDestroySeqDataDescriptor);
    unlike(vectors(heads.type == F32 ? F64 : F32, time, heads.batch, heads.width, length), "another type",
           cudnnDestroySeqDataDescriptor);
    unlike(vectors(heads.type, time + 1, heads.batch, heads.width, length), "another time",
           cudnnDestroySeqDataDescriptor);
    unlike(vectors(heads.type, time, heads.batch + 1, heads.width, length), "another batch",
           cudnnDestroySeqDataDescriptor);
    unlike(vectors(heads.type, time, heads.batch, heads.width + 1, length), "another width",
           cudnnDestroySeqDataDescriptor);
}
static void vectors_memory(void *at, bool keys, bool result)
{
    const size_t n = (size_t)((keys ? heads.keys : heads.queries) * heads.batch * heads.width);
    raw(at ? at : numbers_of(heads.type, n * bytes(heads.type)), bytes(heads.type), result, false);
}
static void device_lengths(void)
{
    raw(heads.q_length, 4, false, false);
    raw(heads.k_length, 4, false, false);
}
static void heads_spaces(bool weights)
{
    size_of_space(heads.weight_size);
    raw(heads.w_at, bytes(heads.type), false, false);
    if (weights)
        raw(numbers_of(heads.type, heads.weight_size), bytes(heads.type), true, false);
    size_of_space(0);
    add(PLAIN);
    size_of_space(heads.reserve_size);
    struct arg *r = add(WORK);
    r->p = heads.reserve, r->z = heads.reserve_size, r->unit = heads.type == F64 ? 8 : 4;
}
static void heads_forward(int type)
{
    draw_heads(type);
    heads_begin();
    windows();
    device_lengths();
    vectors_argument(false);
    vectors_memory(heads.q_at, false, false);
    add(PLAIN); /* no residual */
    vectors_argument(true);
    vectors_memory(heads.k_at, true, false);
    vectors_argument(true);
    vectors_memory(heads.v_at, true, false);
    vectors_argument(false);
    vectors_memory(heads.out, false, true);
    heads_spaces(false);
}
static int run_heads_forward(void)
{
    return cudnnMultiHeadAttnForward(P(0), P(1), -1, P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                     P(12), P(13), P(14), Z(15), P(16), Z(17), P(18), Z(19), P(20));
}
static void heads_kept(void)
{
    static const int lo[FOUR] = {0}, hi[FOUR] = {9, 9, 9, 9};
    OK(cudnnMultiHeadAttnForward(handle, heads.desc, -1, lo, hi, heads.q_length, heads.k_length, heads.q, heads.q_at,
                                 NULL, heads.k, heads.k_at, heads.k, heads.v_at, heads.q, heads.out, heads.weight_size,
                                 heads.w_at, 0, NULL, heads.reserve_size, heads.reserve));
    keep_memory();
}
static void heads_data(int type)
{
    draw_heads(type);
    heads_kept();
    heads_begin();
    windows();
    device_lengths();
    vectors_argument(false);
    vectors_memory(NULL, false, false); /* dout */
    vectors_argument(false);
    vectors_memory(NULL, false, true);
    vectors_memory(heads.q_at, false, false);
    for (int i = 0; i < 2; i++) {
        vectors_argument(true);
        vectors_memory(NULL, true, true);
        vectors_memory(i ? heads.v_at : heads.k_at, true, false);
    }
    heads_spaces(false);
}
static int run_heads_data(void)
{
    return cudnnMultiHeadAttnBackwardData(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                          P(12), P(13), P(14), P(15), P(16), Z(17), P(18), Z(19), P(20), Z(21), P(22));
}
static void heads_weights(int type)
{
    static const int lo[FOUR] = {0}, hi[FOUR] = {9, 9, 9, 9};
    draw_heads(type);
    heads_kept();
    void *dout = numbers_of(type, 4096), *dx = numbers_of(type, 4096);
    OK(cudnnMultiHeadAttnBackwardData(handle, heads.desc, lo, hi, heads.q_length, heads.k_length, heads.q, dout,
                                      heads.q, dx, heads.q_at, heads.k, dx, heads.k_at, heads.k, dx, heads.v_at,
                                      heads.weight_size, heads.w_at, 0, NULL, heads.reserve_size, heads.reserve));
    keep_memory();
    heads_begin();
    mode(upto(2));
    vectors_argument(false);
    vectors_memory(heads.q_at, false, false);
    vectors_argument(true);
    vectors_memory(heads.k_at, true, false);
    vectors_argument(true);
    vectors_memory(heads.v_at, true, false);
    vectors_argument(false);
    raw(dout, bytes(type), false, false);
    heads_spaces(true);
}
static int run_heads_weights(void)
{
    return cudnnMultiHeadAttnBackwardWeights(P(0), P(1), I(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), Z(11),
                                             P(12), P(13), Z(14), P(15), Z(16), P(17));
}
/* Windows and lengths may be any numbers: what they show of no key is nothing, and nothing is read elsewhere. */
static void heads_lies(void)
{
    static const int numbers[] = {-1, 0, 1, 3, 99, INT32_MAX, INT32_MIN, -99};
    const struct call c = {"MultiHeadAttnForward, lies", NULL, run_heads_forward, false, false};
    for (int i = 0; i < 60; i++) {
        heads_forward(i % 3 == 0 ? F64 : i % 3 == 1 ? F32 : F16);
        for (int k = 0; k < FOUR; k++) {
            int lengths[2] = {numbers[upto(8)], numbers[upto(8)]};
            ((int *)P(2))[k] = numbers[upto(8)], ((int *)P(3))[k] = numbers[upto(8)];
            for (int n = 0; n < 2; n++)
                OK(cudaMemcpy((int *)P(4 + n) + k, &lengths[n], sizeof(int), 1));
        }
        int r = run(&c);
        EXPECT(!r || is_refusal(r), "%d", r);
        tear_down();
    }
}

/* ---- dropout, spatial transformers ------------------------------------------------------------- */

static void drop_of(bool backward, int type)
{
    const int *dims = draw_box();
    size_t size, state;
    struct tensor *x = tensor(type, 4, dims, false), *y = tensor(type, 4, dims, false);
    void *d = keep_other(give_descriptor(cudnnCreateDropoutDescriptor), cudnnDestroyDropoutDescriptor), *mask;
    OK(cudnnDropoutGetStatesSize(handle, &state));
    OK(cudnnDropoutGetReserveSpaceSize(x->desc, &size));
    OK(cudnnSetDropoutDescriptor(d, handle, 0.5f, blob(state, NULL, false), state, 7));
    mask = blob(size, NULL, true);
    if (backward)
        OK(cudnnDropoutForward(handle, d, x->desc, x->at, y->desc, y->at, mask, size));
    keep_memory();
    restore();
    add(HANDLE)->p = handle;
    add(OTHER)->p = d;
    if (!backward)
        unlike(give_descriptor(cudnnCreateDropoutDescriptor), "a dropout without a state",
               cudnnDestroyDropoutDescriptor);
    both(backward ? y : x, false);
    both(backward ? x : y, true);
    struct arg *m = add(WORK);
    m->p = mask, m->z = size;
    size_of_space(size);
}
static void drops(int type) { drop_of(false, type); }
static void drops_backward(int type) { drop_of(true, type); }
static int run_drops(void) { return cudnnDropoutForward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), Z(7)); }
static int run_drops_backward(void) { return cudnnDropoutBackward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), Z(7)); }

static void *transformer(int type, const int *dims)
{
    void *d = give_descriptor(cudnnCreateSpatialTransformerDescriptor);
    OK(cudnnSetSpatialTransformerNdDescriptor(d, 0, type, 4, dims));
    return d;
}
static const int *spatial_begin(int type, bool samples)
{
    const int *d = draw_box();
    add(HANDLE)->p = handle;
    add(OTHER)->p = keep_other(transformer(type, d), cudnnDestroySpatialTransformerDescriptor);
    unlike(give_descriptor(cudnnCreateSpatialTransformerDescriptor), "not set",
           cudnnDestroySpatialTransformerDescriptor);
    if (samples) {
        unlike(transformer(type, (int[]){d[0], d[1], d[2] + 1, d[3]}), "another height",
               cudnnDestroySpatialTransformerDescriptor);
        unlike(transformer(type == F32 ? F64 : F32, d), "another type", cudnnDestroySpatialTransformerDescriptor);
    }
    return d;
}
static size_t grid_size(int type, const int *d) { return (size_t)(2 * d[0] * d[2] * d[3]) * bytes(type); }
static void grid_of(bool backward, int type)
{
    const int *d = spatial_begin(type, false);
    void *theta = numbers_of(type, (size_t)(6 * d[0]) * bytes(type)), *grid = numbers_of(type, grid_size(type, d));
    raw(backward ? grid : theta, bytes(type), false, false);
    raw(backward ? theta : grid, bytes(type), true, false);
}
static void grid(int type) { grid_of(false, type); }
static void grid_backward(int type) { grid_of(true, type); }
static int run_grid(void) { return cudnnSpatialTfGridGeneratorForward(P(0), P(1), P(2), P(3)); }
static int run_grid_backward(void) { return cudnnSpatialTfGridGeneratorBackward(P(0), P(1), P(2), P(3)); }
static void samples(int type)
{
    const int *d = spatial_begin(type, true);
    factor(type, 1);
    both(tensor(type, 4, (int[]){d[0], d[1], 3, 4}, false), false);
    may_be(1 << 2 | 1 << 3);
    raw(numbers_of(type, grid_size(type, d)), bytes(type), false, false);
    factor(type, 0);
    both(tensor(type, 4, d, false), true);
}
static int run_samples(void)
{
    return cudnnSpatialTfSamplerForward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8));
}
static void samples_backward(int type)
{
    const int *d = spatial_begin(type, true), x[] = {d[0], d[1], 3, 4};
    factor(type, 1);
    both(tensor(type, 4, x, false), false);
    factor(type, 0);
    both(tensor(type, 4, x, false), true);
    factor(type, 1);
    both(tensor(type, 4, d, false), false);
    raw(numbers_of(type, grid_size(type, d)), bytes(type), false, false);
    factor(type, 0);
    raw(numbers_of(type, grid_size(type, d)), bytes(type), true, false);
}
static int run_samples_backward(void)
{
    return cudnnSpatialTfSamplerBackward(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11),
                                         P(12), P(13));
}

static const struct call calls[] = {
    {"CTCLoss", ctc, run_ctc, false, false},
    {"CTCLoss_v8", ctc_device, run_ctc_device, false, false},
    {"MultiHeadAttnForward", heads_forward, run_heads_forward, false, false},
    {"MultiHeadAttnBackwardData", heads_data, run_heads_data, false, false},
    {"MultiHeadAttnBackwardWeights", heads_weights, run_heads_weights, false, false},
    {"RNNForward", rnn_forward, run_rnn_forward, false, false},
    {"RNNBackwardData_v8", rnn_data, run_rnn_data, false, false},
    {"RNNBackwardWeights_v8", rnn_weights, run_rnn_weights, false, false},
    {"DropoutForward", drops, run_drops, false, true},
    {"DropoutBackward", drops_backward, run_drops_backward, false, true},
    {"SpatialTfGridGeneratorForward", grid, run_grid, false, false},
    {"SpatialTfGridGeneratorBackward", grid_backward, run_grid_backward, false, false},
    {"SpatialTfSamplerForward", samples, run_samples, false, false},
    {"SpatialTfSamplerBackward", samples_backward, run_samples_backward, false, false},
#ifdef BAD
    {"RNNForwardTraining", legacy_forward, run_legacy_forward, false, false},
    {"RNNBackwardData", legacy_data, run_legacy_data, false, false},
    {"RNNBackwardWeights", legacy_weights, run_legacy_weights, false, false},
#endif
};

int main(void)
{
    MUST(cudnnCreate(&handle));
    all_of(calls, sizeof calls / sizeof *calls, 12);
    ctc_lies();
    heads_lies();
    OK(cudnnDestroy(handle));
    return check_end("sequences with one thing wrong");
}
