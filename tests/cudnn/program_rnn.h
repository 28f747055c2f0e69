/* Recurrent layers in drawn programs (sequences.c): one descriptor that is set anew for each net, states and gradients
 * that may be left out, noise and NaN behind the sequences' ends and in the results, calls that must be refused between
 * the right ones; values and gradients against a model on a tape (tape.h), dropout against differences of the library's
 * own results. */
#ifndef CUMU_TESTS_PROGRAM_RNN_H
#define CUMU_TESTS_PROGRAM_RNN_H

#include "program.h"
#include "tape.h"

enum { RELU, TANH, LSTM, GRU };
static void *rnn, *x_data, *y_data;

/* Sizes, and the operands: those that a call may do without are NULL then. */
struct rnn {
    int cell, bias, dirs, skip, input, hidden, out, layers, layout, time, batch, gates, length[40];
    int clips, nan;
    double low, high, fill;
    float rate;
    size_t weight_size, reserve_size;
    struct operand *x, *y, *hx, *cx, *w, *hy, *cy, *dy, *dhy, *dcy, *dx, *dhx, *dcx, *dw, *keep;
};

static inline int rnn_place(const struct rnn *n, int t, int s)
{
    int at = s;
    if (n->layout == 2)
        return s * n->time + t;
    if (n->layout == 0)
        return t * n->batch + s;
    for (int k = 0; k < t; k++)
        for (int i = 0; i < n->batch; i++)
            at += k < n->length[i];
    return at;
}
static inline int rnn_vectors(const struct rnn *n)
{
    int all = 0;
    for (int i = 0; i < n->batch; i++)
        all += n->layout == 1 ? n->length[i] : n->time;
    return all;
}

/* ---- the model --------------------------------------------------------------------------------- */

/* Where the tape has what; -1: nothing. */
struct rnn_tape {
    int *x, *hx, *cx, *w, *y, *hy, *cy;
};
static inline int rnn_weight(const struct rnn *n, const struct rnn_tape *m, int pseudo, int id, bool bias, int i)
{
    void *at = NULL, *b = NULL, *t[2];
    OK(cudnnCreateTensorDescriptor(&t[0]));
    OK(cudnnCreateTensorDescriptor(&t[1]));
    OK(cudnnGetRNNWeightParams(handle, rnn, pseudo, n->weight_size, n->w->t.at, id, t[0], &at, t[1], &b));
    OK(cudnnDestroyTensorDescriptor(t[0]));
    OK(cudnnDestroyTensorDescriptor(t[1]));
    at = bias ? b : at;
    return at ? m->w[((char *)at - (char *)n->w->t.at) / (int)bytes(n->w->t.type) + i] : -1;
}
/* The sum of a matrix's row by a vector, and of a bias; a skipped input has no matrix. */
static inline int rnn_row(const int *matrix, const int *bias, int row, const int *v, int width)
{
    int sum = bias[0] < 0 ? leaf(0) : bias[row];
    if (matrix[0] < 0)
        return plus(sum, v[row]);
    for (int j = 0; j < width; j++)
        sum = plus(sum, times(matrix[row * width + j], v[j]));
    return sum;
}
enum { WIDEST = 64 };
static inline void rnn_step(const struct rnn *n, int *const m[9], int *const b[9], const int *x, int width, int *h,
                            int *c)
{
    int in[4][WIDEST], own[4][WIDEST], s[WIDEST];
    for (int q = 0; q < n->gates; q++)
        for (int i = 0; i < n->hidden; i++) {
            in[q][i] = rnn_row(m[q], b[q], i, x, width);
            own[q][i] = rnn_row(m[n->gates + q], b[n->gates + q], i, h, n->out);
        }
    for (int i = 0; i < n->hidden; i++)
        if (n->cell == LSTM) {
            int g[4];
            for (int q = 0; q < 4; q++)
                g[q] = plus(in[q][i], own[q][i]);
            c[i] = plus(times(sigmoid(g[1]), c[i]), times(sigmoid(g[0]), tanh_of(g[2])));
            if (n->clips)
                c[i] = clipped(c[i], n->low, n->high);
            s[i] = times(sigmoid(g[3]), tanh_of(c[i]));
        } else if (n->cell == GRU) {
            const int reset = sigmoid(plus(in[0][i], own[0][i])), keep = sigmoid(plus(in[1][i], own[1][i]));
            const int fresh = tanh_of(plus(in[2][i], times(reset, own[2][i])));
            s[i] = plus(fresh, times(keep, plus(h[i], scaled(fresh, -1))));
        } else {
            s[i] = plus(in[0][i], own[0][i]);
            s[i] = n->cell == TANH ? tanh_of(s[i]) : relu_of(s[i]);
        }
    for (int i = 0; i < n->out; i++)
        h[i] = n->out == n->hidden ? s[i] : rnn_row(m[8], b[8], i, s, n->hidden);
}
/* `dropped`: nothing goes from layer to layer. */
static inline struct rnn_tape rnn_model(const struct rnn *n, bool dropped)
{
    const int wide = n->dirs * n->out, all = n->layers * n->dirs;
    struct rnn_tape m = {NULL};
    clear_tape();
    m.x = leaves(n->x->t.v, count(&n->x->t));
    m.w = leaves(n->w->t.v, count(&n->w->t));
    m.hx = n->hx ? leaves(n->hx->t.v, count(&n->hx->t)) : NULL;
    m.cx = n->cx ? leaves(n->cx->t.v, count(&n->cx->t)) : NULL;
    m.y = calloc((size_t)(rnn_vectors(n) * wide + 1), sizeof *m.y);
    m.hy = calloc((size_t)(all * n->batch * n->out), sizeof *m.hy);
    m.cy = calloc((size_t)(all * n->batch * n->hidden), sizeof *m.cy);
    int *in = calloc((size_t)(n->time * n->batch * WIDEST), sizeof *in),
        *out = calloc((size_t)(n->time * n->batch * WIDEST), sizeof *out);
    for (int t = 0; t < n->time; t++)
        for (int s = 0; s < n->batch; s++)
            for (int i = 0; t < n->length[s] && i < n->input; i++)
                in[(t * n->batch + s) * WIDEST + i] = m.x[rnn_place(n, t, s) * n->input + i];
    for (int l = 0; l < n->layers; l++) {
        const int width = l ? wide : n->input;
        for (int d = 0; d < n->dirs; d++) {
            const int p = l * n->dirs + d, ids = 2 * n->gates + (n->out != n->hidden);
            int *matrix[9] = {NULL}, *bias[9] = {NULL}, none = -1;
            for (int k = 0; k < ids; k++) {
                const int at = k == 2 * n->gates ? 8 : k;
                const int first = rnn_weight(n, &m, p, k, false, 0), firstb = rnn_weight(n, &m, p, k, true, 0);
                matrix[at] = first < 0 ? &none : m.w + (first - m.w[0]);
                bias[at] = firstb < 0 ? &none : m.w + (firstb - m.w[0]);
            }
            for (int s = 0; s < n->batch; s++) {
                int h[WIDEST], c[WIDEST];
                for (int i = 0; i < n->out; i++)
                    h[i] = m.hx ? m.hx[(p * n->batch + s) * n->out + i] : leaf(0);
                for (int i = 0; i < n->hidden; i++)
                    c[i] = m.cx ? m.cx[(p * n->batch + s) * n->hidden + i] : leaf(0);
                for (int k = 0; k < n->length[s]; k++) {
                    const int t = d ? n->length[s] - 1 - k : k, at = (t * n->batch + s) * WIDEST;
                    rnn_step(n, matrix, bias, in + at, width, h, c);
                    memcpy(out + at + d * n->out, h, sizeof *h * (size_t)n->out);
                }
                memcpy(m.hy + (p * n->batch + s) * n->out, h, sizeof *h * (size_t)n->out);
                memcpy(m.cy + (p * n->batch + s) * n->hidden, c, sizeof *c * (size_t)n->hidden);
            }
        }
        memcpy(in, out, sizeof *in * (size_t)(n->time * n->batch * WIDEST));
        for (int i = 0; dropped && i < n->time * n->batch * WIDEST; i++)
            in[i] = scaled(in[i], 0);
    }
    for (int t = 0; t < n->time; t++)
        for (int s = 0; s < n->batch; s++)
            for (int i = 0; t < n->length[s] && i < wide; i++)
                m.y[rnn_place(n, t, s) * wide + i] = out[(t * n->batch + s) * WIDEST + i];
    free(in), free(out);
    return m;
}
static inline void rnn_forget(struct rnn_tape *m)
{
    free(m->x), free(m->w), free(m->hx), free(m->cx), free(m->y), free(m->hy), free(m->cy);
}

/* ---- the net ----------------------------------------------------------------------------------- */

static inline struct operand *rnn_operand(int d0, int d1, int d2, double shrink)
{
    return packed_operand(type, 3, (const int[]){d0, d1, d2}, shrink);
}
/* Behind the end of a sequence lies what must not matter. */
static inline void rnn_spoil(const struct rnn *n, struct operand *p, int width)
{
    for (int s = 0; n->layout != 1 && s < n->batch; s++)
        for (int t = n->length[s]; t < n->time; t++)
            for (int i = 0; i < width; i++)
                p->t.v[rnn_place(n, t, s) * width + i] = upto(2) ? NAN : number(type);
    upload_operand(p);
}
static inline void rnn_describe(const struct rnn *n)
{
    char fill[8];
    put(fill, type, 0, n->fill);
    OK(cudnnSetRNNDescriptor_v8(rnn, upto(3), n->cell, n->bias, n->dirs - 1, n->skip, type, type == F64 ? F64 : F32, 0,
                                n->input, n->hidden, n->out, n->layers, drp, (unsigned)(n->layout != 1)));
#ifdef BAD /* version 8 */
    OK(cudnnRNNSetClip_v8(rnn, n->clips, n->nan, n->low, n->high));
#else
    if (upto(2))
        OK(cudnnRNNSetClip_v9(rnn, n->clips, n->low, n->high));
    else
        OK(cudnnRNNSetClip_v8(rnn, n->clips, n->nan, n->low, n->high));
#endif
    OK(cudnnSetRNNDataDescriptor(x_data, type, n->layout, n->time, n->batch, n->input, n->length, NULL));
    OK(cudnnSetRNNDataDescriptor(y_data, type, n->layout, n->time, n->batch, n->dirs * n->out, n->length, fill));
    if (upto(4) == 0) { /* what is refused leaves all as it was */
        int back[9], lengths[40], wrong = n->time + 1;
        IS(cudnnSetRNNDescriptor_v8(rnn, 0, 4 + upto(9), 0, 0, 0, type, type, 0, 1, 1, 1, 1, drp, 0), BAD);
        IS(cudnnSetRNNDescriptor_v8(rnn, 0, 2, 0, 0, 0, type, type, 0, 1, 1, 2, 1, drp, 0), BAD);
        IS(cudnnSetRNNDataDescriptor(x_data, type, n->layout, n->time, 1, n->input, &wrong, NULL), BAD);
        IS(cudnnSetRNNDataDescriptor(x_data, type, 3 + upto(9), n->time, n->batch, n->input, n->length, NULL), BAD);
        OK(cudnnGetRNNDataDescriptor(x_data, back, back + 1, back + 2, back + 3, back + 4, 40, lengths, NULL));
        EXPECT(back[0] == type && back[1] == n->layout && back[2] == n->time && back[3] == n->batch &&
               back[4] == n->input && !memcmp(lengths, n->length, sizeof *lengths * (size_t)n->batch));
        memset(fill, 1, sizeof fill);
        OK(cudnnGetRNNDataDescriptor(y_data, back, NULL, NULL, NULL, NULL, 0, NULL, fill));
        EXPECT(get(fill, type, 0) == n->fill, "type %d is filled with %g, not %g", type, get(fill, type, 0), n->fill);
    }
}
static inline void rnn_draw(struct rnn *n)
{
    static const float rates[] = {0, 0, 1, 0.5f};
    *n = (struct rnn){.cell = upto(4),
                      .bias = upto(4),
                      .dirs = 1 + upto(2),
                      .skip = upto(4) == 0,
                      .hidden = upto(12) ? 1 + upto(4) : 5 + upto(20),
                      .layers = 1 + upto(3),
                      .layout = upto(3),
                      .time = 1 + upto(4),
                      .batch = upto(8) ? 1 + upto(4) : 4 + upto(34),
                      .nan = upto(2),
                      .rate = rates[upto(4)],
                      .fill = upto(2) ? 0 : number(type)};
    if (n->hidden > 4)
        n->layers = 1, n->batch = 1 + n->batch % 4;
    n->input = n->skip ? n->hidden : 1 + upto(4);
    n->out = n->cell == LSTM && n->hidden > 1 && upto(2) ? n->hidden - 1 : n->hidden;
    n->gates = n->cell == LSTM ? 4 : n->cell == GRU ? 3 : 1;
    n->clips = n->cell == LSTM && upto(3) == 0;
    n->low = -0.25 * (1 + upto(4)), n->high = 0.25 * (1 + upto(4));
    for (int i = 0; i < n->batch; i++)
        n->length[i] = n->layout != 1 ? upto(n->time + 1) : i ? upto(n->length[i - 1] + 1) : n->time;
    if (n->rate == 0.5f) /* what is dropped is drawn: only differences tell */
        n->clips = 0;
}
/* Operands of a net whose descriptors are set. */
static inline void rnn_give(struct rnn *n)
{
    const int wide = n->dirs * n->out, all = n->layers * n->dirs, rows = rnn_vectors(n);
    size_t space = 1;
    OK(cudnnGetRNNWeightSpaceSize(handle, rnn, &n->weight_size));
    OK(cudnnGetRNNTempSpaceSizes(handle, rnn, 1, x_data, &space, &n->reserve_size));
    n->x = rnn_operand(rows, n->input, 1, 1);
    n->w = rnn_operand((int)(n->weight_size / bytes(type)), 1, 1, 0.25);
    n->y = rnn_operand(rows, wide, 1, 1);
    n->hx = upto(4) ? rnn_operand(all, n->batch, n->out, 0.5) : NULL;
    n->hy = upto(4) ? rnn_operand(all, n->batch, n->out, 1) : NULL;
    const bool cells = n->cell == LSTM;
    n->cx = cells && upto(4) ? rnn_operand(all, n->batch, n->hidden, 0.5) : NULL;
    n->cy = cells && upto(4) ? rnn_operand(all, n->batch, n->hidden, 1) : NULL;
    rnn_spoil(n, n->x, n->input);
    poison(n->y);
    if (n->hy)
        poison(n->hy);
    if (n->cy)
        poison(n->cy);
}
static inline void rnn_give_gradients(struct rnn *n)
{
    const int wide = n->dirs * n->out, all = n->layers * n->dirs, rows = rnn_vectors(n);
    const bool cells = n->cell == LSTM;
    n->dy = rnn_operand(rows, wide, 1, 1);
    n->dx = rnn_operand(rows, n->input, 1, 1);
    n->dw = rnn_operand(count(&n->w->t), 1, 1, 1);
    n->dhy = upto(4) ? rnn_operand(all, n->batch, n->out, 1) : NULL;
    n->dhx = upto(4) ? rnn_operand(all, n->batch, n->out, 1) : NULL;
    n->dcy = cells && upto(4) ? rnn_operand(all, n->batch, n->hidden, 1) : NULL;
    n->dcx = cells && upto(4) ? rnn_operand(all, n->batch, n->hidden, 1) : NULL;
    rnn_spoil(n, n->dy, wide);
    poison(n->dx);
    if (n->dhx)
        poison(n->dhx);
    if (n->dcx)
        poison(n->dcx);
}

/* ---- calls ------------------------------------------------------------------------------------- */

#define AT(p) ((p) ? (p)->t.at : NULL)
/* The first operand of some that is there: it describes their shape. */
static inline void *rnn_shape(struct operand *const *p, int n)
{
    for (int i = 0; i < n; i++)
        if (p[i])
            return p[i]->t.desc;
    return NULL;
}
static inline int rnn_forward(const struct rnn *n, bool training)
{
    void *hd = rnn_shape((struct operand *[]){n->hx, n->hy}, 2), *cd = rnn_shape((struct operand *[]){n->cx, n->cy}, 2);
    return cudnnRNNForward(handle, rnn, training, NULL, x_data, n->x->t.at, y_data, n->y->t.at, hd, AT(n->hx),
                           AT(n->hy), cd, AT(n->cx), AT(n->cy), n->weight_size, n->w->t.at, 0, NULL,
                           training ? n->reserve_size : 0, training ? n->keep->t.at : NULL);
}
static inline int rnn_backward(const struct rnn *n)
{
    void *hd = rnn_shape((struct operand *[]){n->hx, n->dhy, n->dhx}, 3),
         *cd = rnn_shape((struct operand *[]){n->cx, n->dcy, n->dcx}, 3);
    return cudnnRNNBackwardData_v8(handle, rnn, NULL, y_data, n->y->t.at, n->dy->t.at, x_data, n->dx->t.at, hd,
                                   AT(n->hx), AT(n->dhy), AT(n->dhx), cd, AT(n->cx), AT(n->dcy), AT(n->dcx),
                                   n->weight_size, n->w->t.at, 0, NULL, n->reserve_size, n->keep->t.at);
}
static inline int rnn_weights(const struct rnn *n, int mode)
{
    return cudnnRNNBackwardWeights_v8(handle, rnn, mode, NULL, x_data, n->x->t.at, n->hx ? n->hx->t.desc : NULL,
                                      AT(n->hx), y_data, n->y->t.at, n->weight_size, n->dw->t.at, 0, NULL,
                                      n->reserve_size, n->keep->t.at);
}
/* A call with one thing wrong: refused, and nothing is written. */
static inline void rnn_wrong(const struct rnn *n, int call)
{
    struct rnn wrong = *n;
    void *const keep = rnn, *const x_keep = x_data;
    struct operand none = {.t = {.at = NULL}};
    switch (upto(6)) {
    case 0: wrong.weight_size--; break;
    case 1: wrong.w = wrong.dw = &none; break;
    case 2: rnn = x_keep; break;
    case 3: x_data = keep; break;
    case 4:
        if (call == 0)
            wrong.x = &none;
        else
            wrong.reserve_size--;
        break;
    default:
        if (call == 2)
            wrong.x = &none;
        else
            wrong.y = &none;
    }
    const int r = call == 0   ? rnn_forward(&wrong, false)
                  : call == 1 ? rnn_forward(&wrong, true)
                  : call == 2 ? rnn_weights(&wrong, upto(2))
                              : rnn_backward(&wrong);
    rnn = keep, x_data = x_keep;
    settle_all(r, false, "a wrong recurrent call");
}

static inline double *rnn_values(const struct rnn *n, const int *at, int many, int width, double fill)
{
    double *v = calloc((size_t)many + 1, sizeof *v);
    for (int i = 0; i < many; i++)
        v[i] = at ? v_of(at[i]) : fill;
    for (int s = 0; width && n->layout != 1 && s < n->batch; s++)
        for (int t = n->length[s]; t < n->time; t++)
            for (int i = 0; i < width; i++)
                v[rnn_place(n, t, s) * width + i] = fill;
    return v;
}
static inline double *rnn_slopes(const struct rnn *n, const int *at, int many, int width)
{
    double *v = calloc((size_t)many + 1, sizeof *v);
    for (int i = 0; i < many; i++)
        v[i] = tape[at[i]].g;
    for (int s = 0; width && n->layout != 1 && s < n->batch; s++)
        for (int t = n->length[s]; t < n->time; t++)
            for (int i = 0; i < width; i++)
                v[rnn_place(n, t, s) * width + i] = 0;
    return v;
}
/* The sum of results by what comes back, by the library itself; from the same state of dropout. */
static inline double rnn_loss(const struct rnn *n, unsigned long long number)
{
    const struct operand *of[] = {n->y, n->hy, n->cy}, *by[] = {n->dy, n->dhy, n->dcy};
    double sum = 0;
    OK(cudnnSetDropoutDescriptor(drp, handle, n->rate, drop_state, state_size, number));
    OK(rnn_forward(n, true));
    OK(cudaDeviceSynchronize());
    char *now = malloc(ROOM);
    for (int k = 0; k < 3; k++) {
        if (!of[k] || !by[k])
            continue;
        OK(cudaMemcpy(now, of[k]->t.at, of[k]->t.size * bytes(type), 2));
        for (int i = 0; i < count(&of[k]->t); i++) {
            const double g = by[k]->t.v[i], v = get(now, type, (size_t)i);
            sum += isnan(g) || isnan(v) ? 0 : g * v;
        }
    }
    free(now);
    return sum;
}
/* Where numbers are dropped that are drawn: gradients along one direction of all that is read. */
static inline void rnn_differences(struct rnn *n, unsigned long long number)
{
    struct operand *of[] = {n->x, n->hx, n->cx, n->w};
    const struct operand *grads[] = {n->dx, n->dhx, n->dcx, n->dw};
    double slope = 0, loss[2];
    double *way = calloc(ROOM, sizeof *way);
    for (int k = 0; k < 4; k++) {
        if (!of[k] || !grads[k])
            continue;
        double *was = malloc(sizeof(double) * (size_t)(count(&of[k]->t) + 1));
        for (int i = 0; i < count(&of[k]->t); i++) {
            was[i] = of[k]->t.v[i], way[i] = isnan(was[i]) ? 0 : (upto(33) - 16) / 16.0;
            slope = isnan(was[i]) ? slope : slope + way[i] * grads[k]->t.v[i];
        }
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < count(&of[k]->t); i++)
                of[k]->t.v[i] = was[i] + (s ? 1e-5 : -1e-5) * way[i];
            upload_operand(of[k]);
            loss[s] = rnn_loss(n, number);
        }
        for (int i = 0; i < count(&of[k]->t); i++)
            of[k]->t.v[i] = was[i];
        upload_operand(of[k]);
        slope -= (loss[1] - loss[0]) / 2e-5;
        EXPECT(fabs(slope) < 1e-5 * (1 + fabs(loss[0])), "dropped, gradient %d: it is off by %g of %g", k, slope,
               loss[0]);
        slope = 0;
    }
    free(way);
}

/* What a layer gives the next is dropped, or kept and scaled: two layers that hand their input on, as the first has no
 * matrix, the second the identity, and neither looks back. */
static inline void rnn_identity(void)
{
    struct rnn n = {.cell = RELU,
                    .dirs = 1,
                    .skip = 1,
                    .hidden = 1 + upto(6),
                    .layers = 2,
                    .time = 1 + upto(4),
                    .batch = 1 + upto(4),
                    .gates = 1,
                    .rate = 0.25f * (float)(1 + upto(3))};
    n.input = n.out = n.hidden;
    for (int i = 0; i < n.batch; i++)
        n.length[i] = n.time;
    OK(cudnnSetDropoutDescriptor(drp, handle, n.rate, drop_state, state_size, (unsigned)upto(1000)));
    rnn_describe(&n);
    rnn_give(&n);
    n.keep = rnn_operand((int)((n.reserve_size + 7) / bytes(type)), 1, 1, 1);
    n.keep->t.at = n.keep->room + GUARD + (n.keep->start = 0);
    poison(n.keep);
    const int all = count(&n.x->t), square = n.hidden * n.hidden;
    for (int i = 0; i < all; i++)
        n.x->t.v[i] = 1 + upto(8);
    for (int i = 0; i < count(&n.w->t); i++)
        n.w->t.v[i] = 0;
    for (int i = 0; i < n.hidden; i++) /* the first layer's recurrent matrix, then the second's of the input */
        n.w->t.v[square + i * n.hidden + i] = 1;
    upload_operand(n.x), upload_operand(n.w);
    expects(n.y, ANYTHING, 0), expects(n.hy, ANYTHING, 0), expects(n.keep, ANYTHING, 0);
    const bool good = settle_all(rnn_forward(&n, true), true, "dropped between layers");
    for (int i = 0; good && i < all; i++) {
        const double v = n.y->t.v[i], up = n.x->t.v[i] / (1 - (double)n.rate);
        EXPECT(v == 0 || fabs(v - up) <= tolerance(type) * up, "rate %g: %g became %g", (double)n.rate, n.x->t.v[i], v);
    }
}

static inline void recurrents(void)
{
    if (upto(8) == 0) {
        rnn_identity();
        return;
    }
    struct rnn n;
    rnn_draw(&n);
    const unsigned long long number_ = (unsigned)upto(1000);
    const bool drops = n.rate != 0 && n.layers > 1;
    OK(cudnnSetDropoutDescriptor(drp, handle, n.rate, drop_state, state_size, number_));
    rnn_describe(&n);
    rnn_give(&n);
    const bool training = upto(4) != 0, drawn = training && drops && n.rate < 1;
    if (training) {
        n.keep = rnn_operand((int)((n.reserve_size + 7) / bytes(type)), 1, 1, 1);
        n.keep->t.at = n.keep->room + GUARD + (n.keep->start = 0);
        poison(n.keep);
    }
    if (upto(4) == 0)
        rnn_wrong(&n, training);
    struct rnn_tape m = rnn_model(&n, training && drops);
    const int wide = n.dirs * n.out, ny = count(&n.y->t), nh = n.layers * n.dirs * n.batch * n.out;
    const int nc = n.layers * n.dirs * n.batch * n.hidden;
    double *y = rnn_values(&n, m.y, ny, wide, n.fill), *hy = rnn_values(&n, m.hy, nh, 0, 0),
           *cy = rnn_values(&n, m.cy, nc, 0, 0);
    const double most = most_of(y, ny);
    expects(n.y, drawn ? ANYTHING : y, most);
    expects(n.hy, drawn ? ANYTHING : hy, most);
    expects(n.cy, drawn ? ANYTHING : cy, most_of(cy, nc));
    expects(n.keep, ANYTHING, 0);
    int r = rnn_forward(&n, training);
    if (upto(4) == 0) { /* the call has all it needs of the descriptors */
        struct rnn other;
        rnn_draw(&other);
        rnn_describe(&other);
    }
    const bool good = settle_all(r, true, "recurrent layers");
    free(y), free(hy), free(cy);
    if (!training || !good) {
        rnn_forget(&m);
        return;
    }
    rnn_describe(&n);
    rnn_give_gradients(&n);
    if (upto(4) == 0)
        rnn_wrong(&n, 3);
    for (int t = 0; t < n.time; t++)
        for (int s = 0; s < n.batch; s++)
            for (int i = 0; t < n.length[s] && i < wide; i++)
                tape[m.y[rnn_place(&n, t, s) * wide + i]].g += n.dy->t.v[rnn_place(&n, t, s) * wide + i];
    for (int i = 0; n.dhy && i < nh; i++)
        tape[m.hy[i]].g += n.dhy->t.v[i];
    for (int i = 0; n.dcy && i < nc; i++)
        tape[m.cy[i]].g += n.dcy->t.v[i];
    sweep();
    /* halves round what comes near a jump of the slope to either side of it */
    const bool unknown = drawn || (kink && (n.clips || n.cell == RELU));
    double *dx = rnn_slopes(&n, m.x, count(&n.x->t), n.input), *dw = rnn_slopes(&n, m.w, count(&n.w->t), 0);
    double *dhx = m.hx ? rnn_slopes(&n, m.hx, nh, 0) : NULL, *dcx = m.cx ? rnn_slopes(&n, m.cx, nc, 0) : NULL;
    const double steep = fmax(most_of(dx, count(&n.x->t)), most_of(dw, count(&n.w->t)));
    expects(n.dx, unknown ? ANYTHING : dx, steep);
    expects(n.dhx, unknown || !dhx ? ANYTHING : dhx, steep); /* of a state that is not given: the slope at 0 */
    expects(n.dcx, unknown || !dcx ? ANYTHING : dcx, steep);
    expects(n.keep, ANYTHING, 0);
    bool on = settle_all(rnn_backward(&n), true, "gradients of recurrent layers");
    if (on && upto(4) == 0)
        rnn_wrong(&n, 2);
    const int mode = drawn ? 1 : upto(2);
    if (mode)
        poison(n.dw);
    for (int i = 0; !mode && i < count(&n.w->t); i++)
        dw[i] += n.dw->t.v[i];
    expects(n.dw, unknown ? ANYTHING : dw, steep);
    expects(n.keep, ANYTHING, 0);
    on = on && settle_all(rnn_weights(&n, mode), true, "gradients of recurrent layers' weights");
    const bool all_seen = (n.hy || !n.dhy) && (n.cy || !n.dcy);
    if (on && drawn && type == F64 && n.cell != RELU && all_seen)
        rnn_differences(&n, number_);
    rnn_forget(&m);
    free(dx), free(dw), free(dhx), free(dcx);
}

#endif
