/* Multi-head attention below cuDNN's facade: layers with projections, biases and residual connections over sequences of
 * different lengths. Ours, like all of abi/mudnn.h, whose conventions hold. */
#ifndef CUMU_ABI_MUDNN_HEADS_H
#define CUMU_ABI_MUDNN_HEADS_H

#include "abi/mudnn.h"

/* Head i of n makes of a query q, and the keys K and values V that its window shows it,
 * h[i] = (Wv[i] V + bv[i]) softmax(scale (Wk[i] K + bk[i])' (Wq[i] q + bq[i])); the layer gives the sum of Wo[i] h[i],
 * plus bo, plus a residual. A projection of width 0 is none: then all heads see the same vectors, and the h[i] are the
 * output one behind the other. */
struct mudnn_heads_shape {
    int type; /* mudnnDataType_t */
    bool biases;
    int64_t heads, q, k, v, q_proj, k_proj, v_proj, o_proj;
};
static inline int64_t mudnn_heads_inner(const struct mudnn_heads_shape *s) { return s->q_proj ? s->q_proj : s->q; }
static inline int64_t mudnn_heads_value(const struct mudnn_heads_shape *s) { return s->v_proj ? s->v_proj : s->v; }
static inline int64_t mudnn_heads_out(const struct mudnn_heads_shape *s)
{
    return s->o_proj ? s->o_proj : s->heads * mudnn_heads_value(s);
}

/* Rows and columns of a head's weight (kind 0..3: of Q, K, V, O) or bias (4..7); 0: there is none. */
static inline void mudnn_heads_weight(const struct mudnn_heads_shape *s, int kind, int64_t *rows, int64_t *columns)
{
    const int64_t proj[] = {s->q_proj, s->k_proj, s->v_proj, s->o_proj};
    const int64_t width[] = {s->q, s->k, s->v, mudnn_heads_value(s)};
    *rows = kind < 4 || s->biases ? proj[kind % 4] : 0;
    *columns = !*rows ? 0 : kind < 4 ? width[kind] : 1;
}
/* Numbers of the weight space before that of `kind`, 8: all. Element (head, row, column) of a kind lies at
 * (column * heads + head) * rows + row, as NVIDIA's does (mapping/facts/cuda.md F11); O's bias is one for all heads. */
static inline int64_t mudnn_heads_weights(const struct mudnn_heads_shape *s, int kind)
{
    int64_t at = 0, rows, columns;
    for (int i = 0; i < kind; i++) {
        mudnn_heads_weight(s, i, &rows, &columns);
        at += mudnn_times(mudnn_times(rows, columns), i < 7 ? s->heads : 1);
    }
    return at;
}

/* Vectors that lie together, `step` numbers from one time, batch and beam to the next. */
struct mudnn_sequences {
    int64_t dim[3], step[3];
};

enum mudnn_heads_way { MUDNN_HEADS_WAY_FORWARD, MUDNN_HEADS_WAY_DATA, MUDNN_HEADS_WAY_WEIGHTS };
struct mudnn_heads {
    enum mudnn_heads_way way;
    bool training; /* forward: `space` keeps what the gradients need */
    bool add;      /* weights: gradients are added to what is there */
    struct mudnn_heads_shape s;
    double scale;
    bool drops, drops_after; /* is there a dropout of the softmax, of the output? */
    double rate, rate_after;
    uint64_t *state, *state_after;
    int64_t only;                      /* the one time of the queries that is computed, or -1 */
    struct mudnn_sequences q, k, v, o; /* keys and values have beams of their own, or one for all */
    const void *q_at, *k_at, *v_at, *residual, *weights, *dout;
    void *out, *dq, *dk, *dv, *dweights;
    const int *q_length, *k_length; /* one for each batch and beam, in that order */
    void *space;                    /* mudnn_heads_plan() numbers: doubles of doubles, else floats */
};

/* Where what is computed lies in the space. Vectors are in the order batch, beam, time. */
struct mudnn_heads_layout {
    int64_t w, xq, xk, xv, pq, pk, pv, p, kept, h, out, kept_after, scratch;
    int64_t dout, dh, dpq, dpk, dpv, dx, dw; /* of the gradients */
    int64_t queries, keys;                   /* vectors */
    int64_t total, inference;                /* numbers; without those of training */
};
static inline int64_t mudnn_heads_take(int64_t *at, int64_t a, int64_t b)
{
    int64_t here = *at;
    *at += mudnn_times(a, b);
    return here;
}
static inline struct mudnn_heads_layout mudnn_heads_plan(const struct mudnn_heads *m, bool training)
{
    const struct mudnn_heads_shape *s = &m->s;
    const int64_t inner = mudnn_times(s->heads, mudnn_heads_inner(s));
    const int64_t value = mudnn_times(s->heads, mudnn_heads_value(s));
    const int64_t bundles = mudnn_times(m->q.dim[1], m->q.dim[2]), out = mudnn_heads_out(s);
    const int64_t scores = mudnn_times(m->q.dim[0], m->k.dim[0]);
    const int64_t widest = s->q > s->k ? (s->q > s->v ? s->q : s->v) : s->k > s->v ? s->k : s->v;
    struct mudnn_heads_layout l = {.queries = mudnn_times(bundles, m->q.dim[0])};
    int64_t at = 0, weights = mudnn_heads_weights(s, 8);
    l.keys = mudnn_times(mudnn_times(m->k.dim[1], m->k.dim[2]), m->k.dim[0]);
    int64_t all = mudnn_times(mudnn_times(bundles, s->heads), scores);
    l.w = mudnn_heads_take(&at, weights, 1);
    l.xq = mudnn_heads_take(&at, l.queries, s->q);
    l.xk = mudnn_heads_take(&at, l.keys, s->k);
    l.xv = mudnn_heads_take(&at, l.keys, s->v);
    l.pq = s->q_proj ? mudnn_heads_take(&at, l.queries, inner) : l.xq;
    l.pk = s->k_proj ? mudnn_heads_take(&at, l.keys, inner) : l.xk;
    l.pv = s->v_proj ? mudnn_heads_take(&at, l.keys, value) : l.xv;
    l.h = mudnn_heads_take(&at, l.queries, value);
    l.out = s->o_proj ? mudnn_heads_take(&at, l.queries, out) : l.h;
    l.scratch = mudnn_heads_take(&at, scores, 2);
    l.inference = at;
    l.p = mudnn_heads_take(&at, all, 1);
    l.kept = mudnn_heads_take(&at, all, m->drops);
    l.kept_after = mudnn_heads_take(&at, l.queries, m->drops_after ? out : 0);
    l.dout = mudnn_heads_take(&at, l.queries, out);
    l.dh = s->o_proj ? mudnn_heads_take(&at, l.queries, value) : l.dout;
    l.dpq = mudnn_heads_take(&at, l.queries, s->q_proj ? inner : s->q);
    l.dpk = mudnn_heads_take(&at, l.keys, s->k_proj ? inner : s->k);
    l.dpv = mudnn_heads_take(&at, l.keys, s->v_proj ? value : s->v);
    l.dx = mudnn_heads_take(&at, l.queries > l.keys ? l.queries : l.keys, widest);
    l.dw = mudnn_heads_take(&at, weights, 1);
    l.total = training ? at : l.inference;
    return l;
}

#pragma GCC visibility push(default)
/* lo, hi: the windows of keys for each time of the queries, up to `only`; read at once, for gradients not at all. */
mudnnStatus_t mudnnHostHeads(musaStream_t stream, const struct mudnn_heads *m, const int *lo, const int *hi);
#pragma GCC visibility pop

#endif
