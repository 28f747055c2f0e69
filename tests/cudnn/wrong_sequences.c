/* CTC loss, multi-head attention, dropout and spatial transformers with one thing wrong (wrong.h), and lengths and
 * windows that are any numbers. */
#include "wrong.h"

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
    {"DropoutForward", drops, run_drops, false, true},
    {"DropoutBackward", drops_backward, run_drops_backward, false, true},
    {"SpatialTfGridGeneratorForward", grid, run_grid, false, false},
    {"SpatialTfGridGeneratorBackward", grid_backward, run_grid_backward, false, false},
    {"SpatialTfSamplerForward", samples, run_samples, false, false},
    {"SpatialTfSamplerBackward", samples_backward, run_samples_backward, false, false},
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
