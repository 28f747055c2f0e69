/* Recurrent layers of both interfaces with one thing wrong (wrong.h). */
#include "wrong.h"

enum { RELU, TANH, LSTM, GRU };

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

static const struct call calls[] = {
    {"RNNForward", rnn_forward, run_rnn_forward, false, false},
    {"RNNBackwardData_v8", rnn_data, run_rnn_data, false, false},
    {"RNNBackwardWeights_v8", rnn_weights, run_rnn_weights, false, false},
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
    OK(cudnnDestroy(handle));
    return check_end("recurrent layers with one thing wrong");
}
