/* Passes over recurrent layers in numbers of one size, which whoever includes this names: `real`, its REAL_GEMM,
 * real_sigmoid and real_tanh, REAL_VECTOR for loops of them, and RNN_RUN, the function that is made. Products of
 * matrices are BLAS's, the gates are loops. What training keeps lies in the reserve, from which both gradients are
 * made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/mudnn/mudnn.h"
#include "host/mudnn/rnn_strips.h"

void REAL_GEMM(const char *transa, const char *transb, const int *m, const int *n, const int *k, const real *alpha,
               const real *a, const int *lda, const real *b, const int *ldb, const real *beta, real *c, const int *ldc);

static bool is_real(int type) { return type == (sizeof(real) == sizeof(float) ? MUDNN_DATA_FLOAT : MUDNN_DATA_DOUBLE); }

/* n numbers from place `first`, and back. */
static void load(real *to, const void *from, int type, int64_t first, size_t n)
{
    double v[DNN_ROW];
    if (is_real(type)) {
        memcpy(to, (const real *)from + first, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i += DNN_ROW) {
        size_t some = n - i < DNN_ROW ? n - i : DNN_ROW;
        dnn_load(v, from, type, first + (int64_t)i, 1, some);
        for (size_t k = 0; k < some; k++)
            to[i + k] = (real)v[k];
    }
}
static void store(void *to, const real *from, int type, int64_t first, size_t n)
{
    double v[DNN_ROW];
    if (is_real(type)) {
        memcpy((real *)to + first, from, n * sizeof *from);
        return;
    }
    for (size_t i = 0; i < n; i += DNN_ROW) {
        size_t some = n - i < DNN_ROW ? n - i : DNN_ROW;
        for (size_t k = 0; k < some; k++)
            v[k] = (double)from[i + k];
        dnn_store(to, v, type, first + (int64_t)i, 1, some);
    }
}

/* A pass over all layers. Rows are places (t, b), t * batch + b. */
struct pass {
    const struct mudnn_rnn *r;
    const struct mudnn_rnn_shape *s;
    const int *length;
    int64_t places, gates;                   /* time * batch; columns of all gates */
    real *w;                                 /* the weight space as doubles: read, or gradients */
    real *in, *next;                         /* a layer's input, or its gradient; of the layer above */
    real *term, *state, *cell, *delta, *raw; /* scratch: a step's products and states, rows of a batch */
    real *bias;                              /* of the gates, for multiply_packed */
    real *packed;                            /* the recurrent matrix for it, or NULL */
};

/* What is kept of a pseudo-layer: see mudnn_rnn_reserve. */
struct kept {
    real *act, *grad, *aux, *raw, *out_grad;
};
static struct kept kept_of(const struct pass *p, int64_t pseudo)
{
    const struct mudnn_rnn_shape *s = p->s;
    int64_t each = p->places * (2 * p->gates + 2 * s->hidden + s->out);
    real *at = (real *)p->r->reserve + pseudo * each;
    struct kept k = {.act = at};
    k.grad = k.act + p->places * p->gates;
    k.aux = k.grad + p->places * p->gates;
    k.raw = k.aux + p->places * s->hidden;
    k.out_grad = k.raw + p->places * s->hidden;
    return k;
}
/* A layer's output, rows of both directions; and what dropout multiplied it by. */
static real *output_of(const struct pass *p, int64_t layer)
{
    const struct mudnn_rnn_shape *s = p->s;
    int64_t each = p->places * (2 * p->gates + 2 * s->hidden + s->out), row = p->places * s->directions * s->out;
    return (real *)p->r->reserve + s->layers * s->directions * each + layer * 2 * row;
}
static real *mask_of(const struct pass *p, int64_t layer)
{
    return output_of(p, layer) + p->places * p->s->directions * p->s->out;
}

/* Rows: c[m][n] = a[m][k] b, or b transposed, or a transposed (a[k][m]); added where `add`. ld: of a row. */
static void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, bool add, real *c, int64_t ldc)
{
    enum { MANY = 1 << 14 };
    if (sizeof(real) == sizeof(float) && !add && m * n * k > MANY) { /* BLAS first clears c, and takes longer */
        const struct dnn_product p = {.a = (const void *)a,
                                      .b = (const void *)b,
                                      .c = (void *)c,
                                      .scale = 1,
                                      .a_turned = ta,
                                      .b_turned = tb,
                                      .rows = m,
                                      .columns = n,
                                      .inner = k,
                                      .a_lead = lda,
                                      .b_lead = ldb,
                                      .c_lead = ldc};
        if (dnn_product_by_onednn(&p))
            return;
    }
    const int M = (int)m, N = (int)n, K = (int)k, A = (int)lda, B = (int)ldb, C = (int)ldc;
    const real one = 1, beta = add ? 1 : 0;
    if (m && n && k)
        REAL_GEMM(tb ? "T" : "N", ta ? "T" : "N", &N, &M, &K, &one, b, &B, a, &A, &beta, c, &C);
}

/* ---- the program's layouts --------------------------------------------------------------------- */

/* Where the vector of place (t, b) begins, in vectors; negative where a packed layout has none. */
static int64_t vector_at(const struct pass *p, int64_t t, int64_t b, int64_t before)
{
    if (p->r->layout == MUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
        return t < p->length[b] ? before + b : -1;
    return p->r->layout == MUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED ? b * p->r->time + t : t * p->r->batch + b;
}
/* Rows of `width` from the program's memory, zeroes behind a sequence's end; or into it. */
static void move(const struct pass *p, real *rows, int64_t width, const void *from, void *to)
{
    int64_t before = 0;
    double fill[DNN_ROW];
    for (int i = 0; i < DNN_ROW; i++)
        fill[i] = dnn_get(p->r->fill, p->s->type, 0);
    for (int64_t t = 0; t < p->r->time; t++) {
        int64_t here = 0;
        for (int64_t b = 0; b < p->r->batch; b++) {
            int64_t at = vector_at(p, t, b, before);
            real *row = rows + (t * p->r->batch + b) * width;
            bool live = t < p->length[b];
            here += live;
            if (from && live)
                load(row, from, p->s->type, at * width, (size_t)width);
            else if (from)
                memset(row, 0, (size_t)width * sizeof *row);
            else if (live)
                store(to, row, p->s->type, at * width, (size_t)width);
            for (int64_t i = 0; to && !live && at >= 0 && i < width; i += DNN_ROW)
                dnn_store(to, fill, p->s->type, at * width + i, 1, (size_t)(width - i < DNN_ROW ? width - i : DNN_ROW));
        }
        before += here;
    }
}
/* Rows of a batch of one pseudo-layer's state; zeroes where there is none. */
static void load_state(const struct pass *p, real *to, const void *from, int64_t pseudo, int64_t width)
{
    size_t n = (size_t)(p->r->batch * width);
    if (from)
        load(to, from, p->s->type, pseudo * (int64_t)n, n);
    else
        memset(to, 0, n * sizeof *to);
}
static void store_state(const struct pass *p, const real *from, void *to, int64_t pseudo, int64_t width)
{
    size_t n = (size_t)(p->r->batch * width);
    if (to)
        store(to, from, p->s->type, pseudo * (int64_t)n, n);
}

/* ---- cells ------------------------------------------------------------------------------------- */

/* One place: g holds the gates' sums of the input, h those of the state, and gets what the gates let through. `state`
 * is the output before a projection, `cell` an LSTM's cell; aux keeps the cell, or the GRU's recurrent term. */
REAL_VECTOR static void step(const struct pass *p, real *restrict g, const real *restrict h, real *restrict state,
                             real *restrict cell, real *restrict aux)
{
    const struct mudnn_rnn *r = p->r;
    const int64_t n = p->s->hidden;
    const real low = r->clip ? (real)r->clip_low : -INFINITY, high = r->clip ? (real)r->clip_high : INFINITY;
    switch (p->s->cell) {
    case MUDNN_LSTM:
        for (int64_t i = 0; i < n; i++) {
            real in = real_sigmoid(g[i] + h[i]), forget = real_sigmoid(g[n + i] + h[n + i]);
            real fresh = real_tanh(g[2 * n + i] + h[2 * n + i]), out = real_sigmoid(g[3 * n + i] + h[3 * n + i]);
            real c = forget * cell[i] + in * fresh;
            c = c < low ? low : c;
            c = c > high ? high : c;
            g[i] = in, g[n + i] = forget, g[2 * n + i] = fresh, g[3 * n + i] = out;
            cell[i] = aux[i] = c;
            state[i] = out * real_tanh(c);
        }
        break;
    case MUDNN_GRU:
        for (int64_t i = 0; i < n; i++) {
            real reset = real_sigmoid(g[i] + h[i]), keep = real_sigmoid(g[n + i] + h[n + i]), term = h[2 * n + i];
            real fresh = real_tanh(g[2 * n + i] + reset * term);
            g[i] = reset, g[n + i] = keep, g[2 * n + i] = fresh;
            aux[i] = term;
            state[i] = (1 - keep) * fresh + keep * state[i];
        }
        break;
    case MUDNN_RNN_TANH:
        for (int64_t i = 0; i < n; i++)
            state[i] = g[i] = real_tanh(g[i] + h[i]);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            state[i] = g[i] = g[i] + h[i] > 0 ? g[i] + h[i] : 0;
        break;
    }
}

/* Back through one place: d is the gradient of the output before its projection and becomes what goes on to the state
 * past the gates, dc an LSTM cell's; dg gets the gates' gradients. */
REAL_VECTOR static void step_back(const struct pass *p, const real *g, const real *aux, const real *cell_before,
                                  const real *state_before, real *restrict d, real *restrict dc, real *restrict dg)
{
    const int64_t n = p->s->hidden;
    switch (p->s->cell) {
    case MUDNN_LSTM:
        for (int64_t i = 0; i < n; i++) {
            real in = g[i], forget = g[n + i], fresh = g[2 * n + i], out = g[3 * n + i], t = real_tanh(aux[i]);
            real c = dc[i] + d[i] * out * (1 - t * t);
            dg[i] = c * fresh * in * (1 - in);
            dg[n + i] = c * cell_before[i] * forget * (1 - forget);
            dg[2 * n + i] = c * in * (1 - fresh * fresh);
            dg[3 * n + i] = d[i] * t * out * (1 - out);
            dc[i] = c * forget;
            d[i] = 0;
        }
        break;
    case MUDNN_GRU:
        for (int64_t i = 0; i < n; i++) {
            real reset = g[i], keep = g[n + i], fresh = g[2 * n + i], dn = d[i] * (1 - keep) * (1 - fresh * fresh);
            dg[i] = dn * aux[i] * reset * (1 - reset);
            dg[n + i] = d[i] * (state_before[i] - fresh) * keep * (1 - keep);
            dg[2 * n + i] = dn;
            d[i] *= keep;
        }
        break;
    case MUDNN_RNN_TANH:
        for (int64_t i = 0; i < n; i++)
            dg[i] = d[i] * (1 - g[i] * g[i]), d[i] = 0;
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            dg[i] = g[i] > 0 ? d[i] : 0, d[i] = 0;
        break;
    }
}
/* The recurrent products' gradients: the gates', but for the GRU's new memory, which the reset gate multiplies. */
static void recurrent(const struct pass *p, const real *dg, const real *g, real *to)
{
    const int64_t n = p->s->hidden;
    memcpy(to, dg, (size_t)p->gates * sizeof *to);
    for (int64_t i = 0; p->s->cell == MUDNN_GRU && i < n; i++)
        to[2 * n + i] *= g[i];
}

/* ---- passes ------------------------------------------------------------------------------------ */

static const real *weight(const struct pass *p, int64_t pseudo, int which)
{
    return p->w + mudnn_rnn_weights(p->s, pseudo, which);
}
static bool has_bias(const struct pass *p, int part)
{
    return p->s->bias == MUDNN_RNN_DOUBLE_BIAS ||
           p->s->bias == (part ? MUDNN_RNN_SINGLE_REC_BIAS : MUDNN_RNN_SINGLE_INP_BIAS);
}
/* Rows of biases to which products are added, of the input (part 0) or of the state: both biases go to the former, but
 * the GRU's reset gate multiplies the latter's. False: there are none, and nothing is written. */
static bool begin_rows(const struct pass *p, int64_t pseudo, int part, real *rows, int64_t n)
{
    const bool apart = p->s->cell == MUDNN_GRU;
    const real *bias[2] = {NULL};
    for (int i = 0; i < 2; i++)
        if (has_bias(p, i) && (apart ? i == part : part == 0))
            bias[i] = weight(p, pseudo, 3 + i);
    if (!n || (!bias[0] && !bias[1]))
        return false;
    for (int64_t k = 0; k < p->gates; k++)
        rows[k] = (bias[0] ? bias[0][k] : 0) + (bias[1] ? bias[1][k] : 0);
    for (int64_t i = 1; i < n; i++)
        memcpy(rows + i * p->gates, rows, (size_t)p->gates * sizeof *rows);
    return true;
}

/* One direction of a layer over all times: the input's products at once, the state's step by step. A sequence that has
 * ended, or read backward has not begun, keeps its state. */
static void forward(struct pass *p, int64_t layer, int direction)
{
    const struct mudnn_rnn_shape *s = p->s;
    const int64_t pseudo = layer * s->directions + direction, batch = p->r->batch, width = mudnn_rnn_width(s, layer);
    const bool projects = s->out != s->hidden;
    struct kept k = kept_of(p, pseudo);
    real *out = output_of(p, layer) + direction * s->out;
    /* biases come with the products of packed matrices, where both are sums of the same gates */
    const int late = p->packed ? p->s->cell == MUDNN_GRU : -1;
    const real *bias = late >= 0 && begin_rows(p, pseudo, late, p->bias, 1) ? p->bias : NULL;
    const bool begun = late != 0 && begin_rows(p, pseudo, 0, k.act, p->places);
    if (s->skip && !layer)
        for (int64_t i = 0; i < p->places * p->gates; i++)
            k.act[i] = p->in[i / p->gates * width + i % p->gates % s->hidden] + (begun ? k.act[i] : 0);
    else
        product(false, true, p->places, p->gates, width, p->in, width, weight(p, pseudo, 0), width, begun, k.act,
                p->gates);
    load_state(p, p->state, p->r->hx, pseudo, s->out);
    load_state(p, p->cell, p->r->cx, pseudo, s->hidden);
    if (p->packed)
        pack(weight(p, pseudo, 1), true, p->gates, s->out, p->packed);
    for (int64_t i = 0; i < p->r->time; i++) {
        int64_t t = direction ? p->r->time - 1 - i : i;
        if (p->packed)
            multiply_packed(batch, p->gates, s->out, p->state, p->packed, bias, 0, p->term);
        else
            product(false, true, batch, p->gates, s->out, p->state, s->out, weight(p, pseudo, 1), s->out,
                    begin_rows(p, pseudo, 1, p->term, batch), p->term, p->gates);
        for (int64_t b = 0; b < batch; b++) {
            int64_t at = t * batch + b;
            real *raw = projects ? k.raw + at * s->hidden : p->state + b * s->out;
            if (t < p->length[b])
                step(p, k.act + at * p->gates, p->term + b * p->gates, raw, p->cell + b * s->hidden,
                     k.aux + at * s->hidden);
            if (t < p->length[b] && projects)
                product(false, true, 1, s->out, s->hidden, raw, s->hidden, weight(p, pseudo, 2), s->hidden, false,
                        p->state + b * s->out, s->out);
            real *to = out + at * s->directions * s->out;
            if (t < p->length[b])
                memcpy(to, p->state + b * s->out, (size_t)s->out * sizeof *to);
            else
                memset(to, 0, (size_t)s->out * sizeof *to);
        }
    }
    store_state(p, p->state, p->r->hy, pseudo, s->out);
    store_state(p, p->cell, p->r->cy, pseudo, s->hidden);
}

/* The state before place (t, b): the place before it in the direction's order, or the first state. */
static const real *before(const struct pass *p, const real *rows, int64_t stride, const real *first, int64_t width,
                          int64_t t, int64_t b, int direction)
{
    int64_t from = direction ? t + 1 : t - 1;
    return from >= 0 && from < p->length[b] ? rows + (from * p->r->batch + b) * stride : first + b * width;
}

static void backward(struct pass *p, int64_t layer, int direction)
{
    const struct mudnn_rnn_shape *s = p->s;
    const int64_t pseudo = layer * s->directions + direction, batch = p->r->batch, width = mudnn_rnn_width(s, layer);
    const int64_t row = s->directions * s->out;
    const bool projects = s->out != s->hidden;
    struct kept k = kept_of(p, pseudo);
    const real *out = output_of(p, layer) + direction * s->out;
    real *first = p->state, *first_cell = p->state + batch * s->out, *d = p->delta, *dc = p->cell;
    load_state(p, first, p->r->hx, pseudo, s->out);
    load_state(p, first_cell, p->r->cx, pseudo, s->hidden);
    load_state(p, d, p->r->dhy, pseudo, s->out);
    load_state(p, dc, p->r->dcy, pseudo, s->hidden);
    if (p->packed)
        pack(weight(p, pseudo, 1), false, s->out, p->gates, p->packed);
    for (int64_t i = 0; i < p->r->time; i++) {
        int64_t t = direction ? i : p->r->time - 1 - i;
        memset(p->term, 0, (size_t)(batch * p->gates) * sizeof *p->term);
        for (int64_t b = 0; b < batch; b++) {
            int64_t at = t * batch + b;
            real *dg = k.grad + at * p->gates, *db = d + b * s->out, *raw = projects ? p->raw : db;
            if (t >= p->length[b]) {
                memset(dg, 0, (size_t)p->gates * sizeof *dg);
                memset(k.out_grad + at * s->out, 0, (size_t)s->out * sizeof *dg);
                continue;
            }
            for (int64_t n = 0; n < s->out; n++) {
                db[n] += p->next[at * row + direction * s->out + n];
                k.out_grad[at * s->out + n] = db[n];
            }
            if (projects) {
                product(false, false, 1, s->hidden, s->out, db, s->out, weight(p, pseudo, 2), s->hidden, false, raw,
                        s->hidden);
                memset(db, 0, (size_t)s->out * sizeof *db);
            }
            step_back(p, k.act + at * p->gates, k.aux + at * s->hidden,
                      before(p, k.aux, s->hidden, first_cell, s->hidden, t, b, direction),
                      before(p, out, row, first, s->out, t, b, direction), raw, dc + b * s->hidden, dg);
            recurrent(p, dg, k.act + at * p->gates, p->term + b * p->gates);
        }
        if (p->packed)
            multiply_packed(batch, s->out, p->gates, p->term, p->packed, d, s->out, d);
        else
            product(false, false, batch, s->out, p->gates, p->term, p->gates, weight(p, pseudo, 1), s->out, true, d,
                    s->out);
    }
    store_state(p, d, p->r->dhx, pseudo, s->out);
    store_state(p, dc, p->r->dcx, pseudo, s->hidden);
    if (s->skip && !layer)
        for (int64_t i = 0; i < p->places * p->gates; i++)
            p->in[i / p->gates * width + i % p->gates % s->hidden] += k.grad[i];
    else
        product(false, false, p->places, width, p->gates, k.grad, p->gates, weight(p, pseudo, 0), width, true, p->in,
                width);
}

/* A pseudo-layer's gradients of weights, added to what p->w holds. */
static bool weights(struct pass *p, int64_t layer, int direction)
{
    const struct mudnn_rnn_shape *s = p->s;
    const int64_t pseudo = layer * s->directions + direction, batch = p->r->batch, width = mudnn_rnn_width(s, layer);
    struct kept k = kept_of(p, pseudo);
    const real *out = output_of(p, layer) + direction * s->out;
    real *h = maths_alloc((size_t)(p->places * s->out) * sizeof *h);
    real *g = maths_alloc((size_t)(p->places * p->gates) * sizeof *g);
    load_state(p, p->state, p->r->hx, pseudo, s->out);
    for (int64_t i = 0; h && g && i < p->places; i++) {
        memcpy(h + i * s->out,
               before(p, out, s->directions * s->out, p->state, s->out, i / batch, i % batch, direction),
               (size_t)s->out * sizeof *h);
        recurrent(p, k.grad + i * p->gates, k.act + i * p->gates, g + i * p->gates);
    }
    if (h && g) {
        real *at = p->w;
        if (!s->skip || layer)
            product(true, false, p->gates, width, p->places, k.grad, p->gates, p->in, width, true,
                    at + mudnn_rnn_weights(s, pseudo, 0), width);
        product(true, false, p->gates, s->out, p->places, g, p->gates, h, s->out, true,
                at + mudnn_rnn_weights(s, pseudo, 1), s->out);
        for (int64_t i = 0; i < p->places * p->gates; i++) {
            if (has_bias(p, 0))
                at[mudnn_rnn_weights(s, pseudo, 3) + i % p->gates] += k.grad[i];
            if (has_bias(p, 1))
                at[mudnn_rnn_weights(s, pseudo, 4) + i % p->gates] += g[i];
        }
        if (s->out != s->hidden) {
            for (int64_t i = 0; i < p->places; i++)
                for (int64_t n = 0; i / batch >= p->length[i % batch] && n < s->hidden; n++)
                    k.raw[i * s->hidden + n] = 0;
            product(true, false, s->out, s->hidden, p->places, k.out_grad, s->out, k.raw, s->hidden, true,
                    at + mudnn_rnn_weights(s, pseudo, 2), s->hidden);
        }
    }
    free(h);
    free(g);
    return h && g;
}

static double drawn(uint64_t seed, uint64_t at)
{
    uint64_t z = seed + (at + 1) * 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The input of a layer: the program's, or what the layer below gave, without what dropout takes. */
static void bring_input(struct pass *p, int64_t layer, bool draws)
{
    const struct mudnn_rnn *r = p->r;
    const int64_t n = p->places * p->s->directions * p->s->out;
    if (!layer) {
        move(p, p->in, p->s->input, r->x, NULL);
        return;
    }
    const real *out = output_of(p, layer - 1);
    real *mask = mask_of(p, layer - 1);
    for (int64_t i = 0; i < n; i++) {
        if (draws)
            mask[i] = r->dropout == 0                                                  ? 1
                      : drawn(r->dropout_state[0], r->dropout_state[1]++) < r->dropout ? 0
                                                                                       : (real)(1 / (1 - r->dropout));
        p->in[i] = out[i] * mask[i];
    }
}

static void all_forward(struct pass *p)
{
    struct mudnn_rnn copy = *p->r;
    if (!copy.training)
        copy.dropout = 0;
    p->r = &copy;
    for (int64_t l = 0; l < p->s->layers; l++) {
        bring_input(p, l, true);
        for (int d = 0; d < p->s->directions; d++)
            forward(p, l, d);
    }
    move(p, output_of(p, p->s->layers - 1), p->s->directions * p->s->out, NULL, p->r->out);
}

static void all_backward(struct pass *p)
{
    const int64_t row = p->s->directions * p->s->out;
    move(p, p->next, row, p->r->dy, NULL);
    for (int64_t l = p->s->layers; l-- > 0;) {
        int64_t n = p->places * mudnn_rnn_width(p->s, l);
        memset(p->in, 0, (size_t)n * sizeof *p->in);
        for (int d = 0; d < p->s->directions; d++)
            backward(p, l, d);
        for (int64_t i = 0; l && i < n; i++)
            p->next[i] = p->in[i] * mask_of(p, l - 1)[i];
    }
    move(p, p->in, p->s->input, NULL, p->r->dx);
}

static void all_weights(struct pass *p, int64_t count)
{
    bool good = true;
    if (!p->r->add)
        memset(p->w, 0, (size_t)count * sizeof *p->w);
    for (int64_t l = 0; good && l < p->s->layers; l++) {
        bring_input(p, l, false);
        for (int d = 0; good && d < p->s->directions; d++)
            good = weights(p, l, d);
    }
    if (good)
        store(p->r->dweights, p->w, p->s->type, 0, (size_t)count);
}

void RNN_RUN(const struct mudnn_rnn *of, const int *length)
{
    struct mudnn_rnn r = *of;
    struct pass p = {
        &r,   &r.s, length, r.time * r.batch, r.s.gates * r.s.hidden, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL};
    int64_t count = mudnn_rnn_weights(&r.s, r.s.layers * r.s.directions, 3), row = r.s.directions * r.s.out;
    int64_t width = row > r.s.input ? row : r.s.input;
    real *own = NULL;
    int64_t sizes[] = {count,
                       p.places * width,
                       p.places * row,
                       r.batch * p.gates,
                       r.batch * (r.s.out + r.s.hidden),
                       r.batch * r.s.hidden,
                       r.batch * r.s.out,
                       r.s.hidden,
                       p.gates,
                       r.way == MUDNN_RNN_WAY_FORWARD ? packed_size(p.gates, r.s.out) : packed_size(r.s.out, p.gates)};
    real **const to[] = {&p.w, &p.in, &p.next, &p.term, &p.state, &p.cell, &p.delta, &p.raw, &p.bias, &p.packed};
    /* few numbers of doubles are computed, and many rows are BLAS's */
    size_t used = sizeof sizes / sizeof *sizes;
    if (sizeof(real) == sizeof(double) || r.batch > MOST_ROWS || r.way == MUDNN_RNN_WAY_WEIGHTS)
        used--;
    /* weights that are read lie there as they are wanted, if their type is this one */
    bool direct = r.way != MUDNN_RNN_WAY_WEIGHTS && is_real(r.s.type) && (uintptr_t)r.weights % sizeof(real) == 0;
    bool good = true;
    if (direct)
        p.w = (real *)(uintptr_t)r.weights;
    for (size_t i = direct; i < used; i++) {
        *to[i] = maths_alloc((size_t)(sizes[i] + 1) * sizeof(real));
        good &= *to[i] != NULL;
    }
    if (!r.reserve)
        own = maths_alloc((size_t)mudnn_rnn_reserve(&r.s, r.time, r.batch) * sizeof(real));
    if (!r.reserve)
        r.reserve = (double *)own;
    if (good && r.reserve) {
        if (!direct)
            load(p.w, r.weights, r.s.type, 0, (size_t)count);
        if (r.way == MUDNN_RNN_WAY_FORWARD)
            all_forward(&p);
        else if (r.way == MUDNN_RNN_WAY_DATA)
            all_backward(&p);
        else
            all_weights(&p, count);
    }
    for (size_t i = direct; i < used; i++)
        free(*to[i]);
    free(own);
}
