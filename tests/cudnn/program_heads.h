/* Multi-head attention in drawn programs (sequences.c): one descriptor of the layer and four of its sequences, set anew
 * for each call; windows, lengths, beams, residuals, projections; NaN in results and behind the sequences' ends; values
 * and gradients against a model on a tape (tape.h). */
#ifndef CUMU_TESTS_PROGRAM_HEADS_H
#define CUMU_TESTS_PROGRAM_HEADS_H

#include "program.h"
#include "tape.h"

static void *attention, *sequence[4]; /* of queries, keys, values, results */
enum { HEAD_Q, HEAD_K, HEAD_V, HEAD_O, HEAD_ROWS = 64, HEAD_TIMES = 8 };

/* One of the four: its dimensions as cuDNN counts them (time, batch, beam, vector), and how far they are apart. */
struct head_vectors {
    int dim[4], axes[4], step[4];
    struct operand *p;
};
struct heads {
    int one_to_one, biases, count, proj[4], lengths[2][HEAD_ROWS], lo[HEAD_TIMES], hi[HEAD_TIMES];
    double scale;
    bool residual;
    struct head_vectors x[4], d[4];
    struct operand *w, *dw, *keep, *left;
    size_t weight_size, space_size, reserve_size;
    void *q_length, *k_length, *space;
};

static inline int head_place(const struct head_vectors *x, int bundle, int t, int c)
{
    return bundle / x->dim[2] * x->step[1] + bundle % x->dim[2] * x->step[2] + t * x->step[0] + c;
}
static inline int head_keys(const struct heads *h, int bundle)
{
    return h->x[HEAD_K].dim[2] == h->x[HEAD_Q].dim[2] ? bundle : bundle / h->x[HEAD_Q].dim[2];
}
static inline int head_bundles(const struct heads *h, int which) { return h->x[which].dim[1] * h->x[which].dim[2]; }
static inline int head_length(const struct heads *h, int which, int bundle)
{
    return h->lengths[which == HEAD_K || which == HEAD_V][bundle];
}

/* ---- the model --------------------------------------------------------------------------------- */

struct head_tape {
    int *x[4], *w, *out, at[8]; /* at: where a kind of weights begins, -1: it is not there */
};
static inline int head_weight(const struct heads *h, const struct head_tape *m, int kind, int head, int row, int column)
{
    const int rows = h->proj[kind % 4];
    return m->at[kind] < 0 ? -1 : m->w[m->at[kind] + row + (kind == 7 ? 0 : (column * h->count + head) * rows)];
}
/* What a head sees of a vector. */
static inline int head_see(const struct heads *h, const struct head_tape *m, int kind, int head, const int *x, int *to)
{
    const int width = h->x[kind].dim[3];
    if (!h->proj[kind])
        memcpy(to, x, sizeof *to * (size_t)width);
    for (int r = 0; r < h->proj[kind]; r++) {
        const int bias = head_weight(h, m, kind + 4, head, r, 0);
        to[r] = bias < 0 ? leaf(0) : bias;
        for (int c = 0; c < width; c++)
            to[r] = plus(to[r], times(head_weight(h, m, kind, head, r, c), x[c]));
    }
    return h->proj[kind] ? h->proj[kind] : width;
}
/* One head of one query: its values, weighted; `width` of them. */
static inline void head_attend(const struct heads *h, const struct head_tape *m, int head, int bundle, int t, int *to,
                               int width)
{
    const int keys = head_keys(h, bundle), n = head_length(h, HEAD_K, keys);
    int q[16], k[16], v[16], e[HEAD_TIMES], sum = -1;
    double most = -INFINITY;
    for (int c = 0; c < width; c++)
        to[c] = leaf(0);
    const int inner = head_see(h, m, HEAD_Q, head, m->x[HEAD_Q] + head_place(&h->x[HEAD_Q], bundle, t, 0), q);
    for (int s = 0; s < n; s++) {
        e[s] = -1;
        if (s < h->lo[t] || s >= h->hi[t])
            continue;
        head_see(h, m, HEAD_K, head, m->x[HEAD_K] + head_place(&h->x[HEAD_K], keys, s, 0), k);
        e[s] = leaf(0);
        for (int c = 0; c < inner; c++)
            e[s] = plus(e[s], times(q[c], k[c]));
        e[s] = scaled(e[s], h->scale);
        most = fmax(most, v_of(e[s]));
    }
    for (int s = 0; s < n; s++)
        if (e[s] >= 0) {
            e[s] = exp_of(plus(e[s], leaf(-most)));
            sum = sum < 0 ? e[s] : plus(sum, e[s]);
        }
    for (int s = 0; s < n; s++) {
        if (e[s] < 0)
            continue;
        head_see(h, m, HEAD_V, head, m->x[HEAD_V] + head_place(&h->x[HEAD_V], keys, s, 0), v);
        for (int c = 0; c < width; c++)
            to[c] = plus(to[c], times(quotient(e[s], sum), v[c]));
    }
}
/* `dropped`: all of the probabilities; `after`: all of the result, before the residual. Only the query at `only`, or
 * all of them. */
static inline struct head_tape head_model(const struct heads *h, bool dropped, bool after, int only)
{
    struct head_tape m = {.w = NULL};
    const struct head_vectors *q = &h->x[HEAD_Q], *o = &h->x[HEAD_O];
    const int value = h->proj[HEAD_V] ? h->proj[HEAD_V] : h->x[HEAD_V].dim[3];
    clear_tape();
    for (int k = 0; k < 3; k++)
        m.x[k] = leaves(h->x[k].p->t.v, count(&h->x[k].p->t));
    m.w = leaves(h->w->t.v, count(&h->w->t));
    m.out = calloc((size_t)count(&o->p->t), sizeof *m.out);
    void *t, *at;
    OK(cudnnCreateTensorDescriptor(&t));
    for (int i = 0; i < 8; i++) {
        OK(cudnnGetMultiHeadAttnWeights(handle, attention, i, h->weight_size, h->w->t.at, t, &at));
        m.at[i] = at ? (int)(((char *)at - (char *)h->w->t.at) / (int)bytes(type)) : -1;
    }
    OK(cudnnDestroyTensorDescriptor(t));
    for (int b = 0; b < head_bundles(h, HEAD_Q); b++)
        for (int t = 0; t < q->dim[0]; t++) {
            int *to = m.out + head_place(o, b, t, 0), v[64];
            const bool live = t < head_length(h, HEAD_Q, b) && (only < 0 || only == t);
            for (int c = 0; c < o->dim[3]; c++)
                to[c] = h->proj[HEAD_O] && m.at[7] >= 0 ? head_weight(h, &m, 7, 0, c, 0) : leaf(0);
            for (int i = 0; live && i < h->count; i++) {
                head_attend(h, &m, i, b, t, v, value);
                for (int c = 0; c < value; c++)
                    v[c] = dropped ? scaled(v[c], 0) : v[c];
                for (int r = 0; r < h->proj[HEAD_O]; r++)
                    for (int c = 0; c < value; c++)
                        to[r] = plus(to[r], times(head_weight(h, &m, HEAD_O, i, r, c), v[c]));
                if (!h->proj[HEAD_O])
                    memcpy(to + i * value, v, sizeof *v * (size_t)value);
            }
            for (int c = 0; c < o->dim[3]; c++) {
                to[c] = after ? scaled(to[c], 0) : to[c];
                if (h->residual)
                    to[c] = plus(to[c], leaf(h->left->t.v[head_place(q, b, t, c)]));
            }
        }
    return m;
}

/* ---- the layer --------------------------------------------------------------------------------- */

static inline struct operand *head_numbers(int n, double shrink)
{
    return packed_operand(type, 3, (const int[]){n, 1, 1}, shrink);
}
/* As x, of its own numbers, NaN behind the ends of the sequences. */
static inline struct operand *head_like(const struct heads *h, int which)
{
    const struct head_vectors *x = &h->x[which];
    struct operand *p = head_numbers(x->dim[0] * x->dim[1] * x->dim[2] * x->dim[3], 0.5);
    for (int b = 0; b < head_bundles(h, which); b++)
        for (int t = head_length(h, which, b); t < x->dim[0]; t++)
            for (int c = 0; c < x->dim[3]; c++)
                p->t.v[head_place(x, b, t, c)] = upto(2) ? NAN : number(type);
    upload_operand(p);
    return p;
}
static inline void head_draw(struct heads *h)
{
    memset(h, 0, sizeof *h);
    h->one_to_one = upto(2), h->biases = upto(2), h->count = 1 + upto(3);
    h->scale = upto(5) / 4.0;
    int width[4];
    for (int i = 0; i < 4; i++)
        h->proj[i] = upto(2) ? 1 + upto(4) : 0;
    for (int i = 0; i < 3; i++)
        width[i] = 1 + upto(5);
    if (h->proj[0] && h->proj[1])
        h->proj[1] = h->proj[0];
    else if (h->proj[1])
        width[0] = h->proj[1];
    else
        width[1] = h->proj[0] ? h->proj[0] : width[0];
    width[3] = h->proj[3] ? h->proj[3] : h->count * (h->proj[2] ? h->proj[2] : width[2]);
    const int batch = 1 + upto(3), beam = 1 + upto(3), queries = 1 + upto(5), keys = 1 + upto(5);
    for (int i = 0; i < 4; i++) {
        struct head_vectors *x = &h->x[i];
        const bool of_keys = i == HEAD_K || i == HEAD_V;
        int step = 1;
        memcpy(x->dim, (const int[]){of_keys ? keys : queries, batch, of_keys && !h->one_to_one ? 1 : beam, width[i]},
               sizeof x->dim);
        memcpy(x->axes, (const int[]){0, 1, 2, 3}, sizeof x->axes);
        for (int k = 2; k > 0; k--) {
            const int other = upto(k + 1), kept = x->axes[k];
            x->axes[k] = x->axes[other], x->axes[other] = kept;
        }
        for (int k = 3; k >= 0; step *= x->dim[x->axes[k]], k--)
            x->step[x->axes[k]] = step;
    }
    for (int i = 0; i < HEAD_ROWS; i++)
        h->lengths[0][i] = upto(queries + 1), h->lengths[1][i] = upto(keys + 1);
    for (int t = 0; t < HEAD_TIMES; t++) {
        const bool all = upto(2);
        h->lo[t] = all ? 0 : upto(4) - 1, h->hi[t] = all ? 2147483647 : upto(8);
    }
    /* the residual lies as queries do, and is as long */
    h->residual = width[3] == width[0] && upto(2);
}
static inline void head_describe(const struct heads *h, void *drops, void *drops_after)
{
    const struct head_vectors *x = h->x;
    const int compute = type == F16 && upto(2) ? F32 : type;
    OK(cudnnSetAttnDescriptor(attention, (unsigned)(h->one_to_one | h->biases << 1), h->count, h->scale, type, compute,
                              0, drops, drops_after, x[0].dim[3], x[1].dim[3], x[2].dim[3], h->proj[0], h->proj[1],
                              h->proj[2], h->proj[3], x[0].dim[0], x[1].dim[0], x[0].dim[1], x[0].dim[2]));
    for (int i = 0; i < 4; i++)
        OK(cudnnSetSeqDataDescriptor(sequence[i], type, 4, x[i].dim, x[i].axes, (size_t)head_bundles(h, i),
                                     h->lengths[i == HEAD_K || i == HEAD_V], NULL));
    if (upto(4) == 0) {
        int dim[4] = {1, 1, 1, 0}, axes[4] = {0, 1, 1, 3}, back[4], n, t, one[1] = {1};
        size_t lengths;
        IS(cudnnSetSeqDataDescriptor(sequence[0], type, 4, dim, x[0].axes, 1, one, NULL), BAD);
        IS(cudnnSetSeqDataDescriptor(sequence[0], type, 4, x[0].dim, axes, 1, one, NULL), BAD);
        IS(cudnnSetSeqDataDescriptor(sequence[0], type, 4, x[0].dim, x[0].axes, 99, h->lengths[0], NULL), BAD);
        IS(cudnnSetAttnDescriptor(attention, 0, 1, 1, type, type, 0, NULL, NULL, 2, 3, 1, 0, 0, 0, 0, 1, 1, 1, 1), BAD);
        IS(cudnnSetAttnDescriptor(attention, 4, 1, 1, type, type, 0, NULL, NULL, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1), BAD);
        OK(cudnnGetSeqDataDescriptor(sequence[0], &t, &n, 4, back, NULL, &lengths, 0, NULL, NULL));
        EXPECT(t == type && n == 4 && !memcmp(back, x[0].dim, sizeof back) && (int)lengths == head_bundles(h, 0));
    }
}

/* ---- calls ------------------------------------------------------------------------------------- */

static inline int head_forward(const struct heads *h, int only, bool training)
{
    return cudnnMultiHeadAttnForward(handle, attention, only, h->lo, h->hi, h->q_length, h->k_length, sequence[0],
                                     h->x[0].p->t.at, h->residual ? h->left->t.at : NULL, sequence[1], h->x[1].p->t.at,
                                     sequence[2], h->x[2].p->t.at, sequence[3], h->x[3].p->t.at, h->weight_size,
                                     h->w->t.at, training ? 0 : h->space_size, training ? NULL : h->space,
                                     training ? h->reserve_size : 0, training ? h->keep->t.at : NULL);
}
static inline int head_data(const struct heads *h)
{
    return cudnnMultiHeadAttnBackwardData(
        handle, attention, h->lo, h->hi, h->q_length, h->k_length, sequence[3], h->d[3].p->t.at, sequence[0],
        h->d[0].p->t.at, h->x[0].p->t.at, sequence[1], h->d[1].p->t.at, h->x[1].p->t.at, sequence[2], h->d[2].p->t.at,
        h->x[2].p->t.at, h->weight_size, h->w->t.at, 0, NULL, h->reserve_size, h->keep->t.at);
}
static inline int head_weights(const struct heads *h, int mode)
{
    return cudnnMultiHeadAttnBackwardWeights(handle, attention, mode, sequence[0], h->x[0].p->t.at, sequence[1],
                                             h->x[1].p->t.at, sequence[2], h->x[2].p->t.at, sequence[3],
                                             h->d[3].p->t.at, h->weight_size, h->w->t.at, h->dw->t.at, 0, NULL,
                                             h->reserve_size, h->keep->t.at);
}
static inline void head_wrong(const struct heads *h, int call)
{
    struct heads wrong = *h;
    struct operand none = {.t = {.at = NULL}};
    void *const was = attention, *const first = sequence[0];
    const size_t least = h->weight_size > 0;
    switch (upto(5)) {
    case 0: wrong.weight_size -= least, attention = least ? was : first; break;
    case 1: wrong.reserve_size--, wrong.space_size--; break;
    case 2: attention = first; break;
    case 3: sequence[0] = was; break;
    default: wrong.x[1].p = &none;
    }
    const int r = call == 0   ? head_forward(&wrong, -1, false)
                  : call == 1 ? head_forward(&wrong, -1, true)
                  : call == 2 ? head_data(&wrong)
                              : head_weights(&wrong, upto(2));
    attention = was, sequence[0] = first;
    settle_all(r, false, "a wrong attention");
}

static inline double *head_values(const int *at, int n, bool slopes)
{
    double *v = calloc((size_t)n + 1, sizeof *v);
    for (int i = 0; i < n; i++)
        v[i] = slopes ? tape[at[i]].g : v_of(at[i]);
    return v;
}
static inline void attentions(void)
{
    static const float rates[] = {0, 0, 1};
    struct heads h;
    if (type == BF16)
        type = F32;
    head_draw(&h);
    const float rate = rates[upto(3)];
    const bool drops = upto(3) == 0, drops_after = !drops && upto(3) == 0, training = upto(3) != 0;
    OK(cudnnSetDropoutDescriptor(drp, handle, rate, drop_state, state_size, 7));
    head_describe(&h, drops ? drp : NULL, drops_after ? drp : NULL);
    OK(cudnnGetMultiHeadAttnBuffers(handle, attention, &h.weight_size, &h.space_size, &h.reserve_size));
    for (int i = 0; i < 3; i++)
        h.x[i].p = head_like(&h, i);
    h.w = head_numbers((int)(h.weight_size / bytes(type)) + !h.weight_size, 0.5);
    const int *od = h.x[3].dim, *qd = h.x[0].dim, out = od[0] * od[1] * od[2] * od[3];
    h.x[3].p = head_numbers(out, 1);
    poison(h.x[3].p);
    h.left = h.residual ? head_numbers(qd[0] * qd[1] * qd[2] * qd[3], 1) : NULL;
    if (training) {
        h.keep = head_numbers((int)((h.reserve_size + 7) / bytes(type)), 1);
        h.keep->t.at = h.keep->room + GUARD + (h.keep->start = 0);
        poison(h.keep);
    }
    MUST(cudaMalloc(&h.q_length, sizeof h.lengths));
    MUST(cudaMalloc(&h.space, h.space_size + 1));
    h.k_length = (char *)h.q_length + sizeof h.lengths[0];
    OK(cudaMemcpy(h.q_length, h.lengths, sizeof h.lengths, 1));
    const int only = !training && upto(2) ? upto(qd[0]) : -1;
    if (upto(4) == 0)
        head_wrong(&h, training);
    const bool nothing = training && rate == 1;
    struct head_tape m = head_model(&h, drops && nothing, drops_after && nothing, only);
    double *y = head_values(m.out, out, false);
    for (int b = 0; only >= 0 && b < head_bundles(&h, HEAD_O); b++)
        for (int t = 0; t < od[0]; t++)
            for (int c = 0; t != only && c < od[3]; c++)
                y[head_place(&h.x[3], b, t, c)] = NAN;
    expects(h.x[3].p, y, most_of(y, out));
    expects(h.keep, ANYTHING, 0);
    struct heads given = h; /* the windows are the call's */
    int r = head_forward(&given, only, training);
    memset(given.lo, 5, sizeof given.lo), memset(given.hi, 5, sizeof given.hi);
    bool on = settle_all(r, true, "attention");
    free(y);
    if (on && training) {
        for (int i = 0; i < 3; i++) {
            const int *dim = h.x[i].dim;
            h.d[i].p = head_numbers(dim[0] * dim[1] * dim[2] * dim[3], 1);
            poison(h.d[i].p);
        }
        h.d[3].p = head_like(&h, HEAD_O);
        h.dw = head_numbers(count(&h.w->t), 1);
        if (upto(4) == 0)
            head_wrong(&h, 2);
        for (int b = 0; b < head_bundles(&h, HEAD_O); b++)
            for (int t = 0; t < head_length(&h, HEAD_O, b); t++)
                for (int c = 0; c < od[3]; c++) {
                    const int at = head_place(&h.x[3], b, t, c);
                    tape[m.out[at]].g += h.d[3].p->t.v[at];
                }
        sweep();
        double *d[4], steep = 1;
        for (int i = 0; i < 4; i++) {
            const struct operand *p = i < 3 ? h.x[i].p : h.w;
            d[i] = head_values(i < 3 ? m.x[i] : m.w, count(&p->t), true);
            steep = fmax(steep, most_of(d[i], count(&p->t)));
        }
        for (int i = 0; i < 3; i++)
            expects(h.d[i].p, d[i], steep);
        expects(h.keep, ANYTHING, 0);
        on = settle_all(head_data(&h), true, "attention's gradients");
        if (on && upto(4) == 0)
            head_wrong(&h, 3);
        const int mode = upto(2);
        if (mode)
            poison(h.dw);
        for (int i = 0; i < count(&h.w->t); i++)
            d[3][i] = !h.weight_size ? h.dw->t.v[i] : mode ? d[3][i] : d[3][i] + h.dw->t.v[i];
        expects(h.dw, d[3], steep);
        expects(h.keep, ANYTHING, 0);
        if (on)
            settle_all(head_weights(&h, mode), true, "attention's gradients of weights");
        for (int i = 0; i < 4; i++)
            free(d[i]);
    }
    for (int i = 0; i < 3; i++)
        free(m.x[i]);
    free(m.w), free(m.out);
    OK(cudaFree(h.q_length));
    OK(cudaFree(h.space));
}

#endif
