/* What the tests of attention in cuDNN's graphs share: random problems, their scalar solution, sequences behind one
 * another, masks in pieces. */
#ifndef CUMU_TESTS_ATTENTION_H
#define CUMU_TESTS_ATTENTION_H

#include "graph.h"

struct sizes {
    int b, h, hk, q, k, d; /* heads of queries and of keys; lengths; depth */
};
static inline struct tensor heads(int type, int b, int h, int s, int d)
{
    /* batch, head, sequence, depth; in memory often batch, sequence, head, depth */
    struct tensor t = make(type, 4, (int[]){b, h, s, d}, 0, false, false);
    if (upto(2) && h > 1) {
        drop(&t);
        t = make(type, 4, (int[]){b, s, h, d}, 0, false, false);
        int swap = t.dim[1];
        t.dim[1] = t.dim[2], t.dim[2] = swap;
        swap = t.stride[1];
        t.stride[1] = t.stride[2], t.stride[2] = swap;
        upload(&t);
    }
    return t;
}
static inline desc middle(int64_t uid, int type, struct sizes s, int last) /* b, h, q, last */
{
    return describe(uid, type, 4, (int[]){s.b, s.h, s.q, last}, NULL, VIRTUAL);
}
static inline desc turned(const struct tensor *t, int64_t uid) /* the last two dimensions change places */
{
    int dim[] = {t->dim[0], t->dim[1], t->dim[3], t->dim[2]},
        stride[] = {t->stride[0], t->stride[1], t->stride[3], t->stride[2]};
    return describe(uid, t->type, 4, dim, stride, REAL);
}
static inline double at4(const struct tensor *t, int a, int b, int c, int d)
{
    return t->v[((a * t->dim[1] + b) * t->dim[2] + c) * t->dim[3] + d];
}

/* What a row of scores is, masks included; softmax's sum goes with it. */
struct problem {
    struct sizes s;
    struct tensor q, k, v, bias, o, stats;
    double scale;
    bool biased, causal, lengths;
    int qlen[4], klen[4];
    int shift;     /* of the causal mask: so many of the first rows have nothing that counts */
    double least;  /* what is masked becomes that, but beyond a length -inf */
    double *sinks; /* of each head, or NULL */
    double *max, *sum;
    bool whole; /* one operation, of which rows beyond a length have no statistics even with a sink */
};
static inline void probabilities(const struct problem *p, int b, int h, int i, double *to, double *stats)
{
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < p->s.k; j++) {
        to[j] = 0;
        for (int d = 0; d < p->s.d; d++)
            to[j] += at4(&p->q, b, h, i, d) * at4(&p->k, b, h / (p->s.h / p->s.hk), j, d);
        to[j] = to[j] * p->scale + (p->biased ? at4(&p->bias, 0, h, i, j) : 0);
        if (p->causal && j + p->shift > i)
            to[j] = p->least;
        if (p->lengths && (i >= p->qlen[b] || j >= p->klen[b]))
            to[j] = -INFINITY;
        most = fmax(most, to[j]);
    }
    if (p->sinks)
        most = fmax(most, p->sinks[h]);
    for (int j = 0; j < p->s.k; j++)
        sum += to[j] = to[j] == -INFINITY ? 0 : exp(to[j] - most);
    sum += p->sinks ? exp(p->sinks[h] - most) : 0;
    for (int j = 0; j < p->s.k; j++)
        to[j] = sum > 0 ? to[j] / sum : 0;
    *stats = p->whole && p->lengths && i >= p->qlen[b] ? -INFINITY : most + log(sum);
    if (p->max) {
        int at = (b * p->s.h + h) * p->s.q + i;
        p->max[at] = most, p->sum[at] = sum;
    }
}
/* So many scores that they are computed for one head after the other. */
static bool large;
static inline struct problem random_problem(int type, bool lengths)
{
    struct problem p = {.scale = 0.25, .biased = upto(2), .causal = upto(2), .lengths = lengths};
    int group = 1 + upto(3);
    p.s = (struct sizes){1 + upto(2), 0, 1 + upto(2), 1 + upto(9), 1 + upto(9), 1 + upto(8)};
    if (large)
        p.s = (struct sizes){2, 0, 2, 530 + upto(60), 530 + upto(60), 1 + upto(4)}, group = 2;
    p.s.h = p.s.hk * group;
    p.shift = upto(2) * upto(4);
    p.least = p.shift || upto(2) ? -INFINITY : -FLT_MAX;
    p.q = heads(type, p.s.b, p.s.h, p.s.q, p.s.d);
    p.k = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
    p.v = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
    p.o = heads(type, p.s.b, p.s.h, p.s.q, p.s.d);
    p.bias = make(type, 4, (int[]){1, p.s.h, p.s.q, p.s.k}, 0, false, false);
    p.stats = make(F32, 4, (int[]){p.s.b, p.s.h, p.s.q, 1}, 0, false, false);
    for (int b = 0; b < p.s.b; b++) {
        p.qlen[b] = upto(p.s.q + 1);
        p.klen[b] = upto(p.s.k + 1);
    }
    return p;
}
static inline void drop_problem(struct problem *p)
{
    drop(&p->q), drop(&p->k), drop(&p->v), drop(&p->o), drop(&p->bias), drop(&p->stats);
}
static inline void expected(const struct problem *p, double *o, double *stats)
{
    double *row = calloc((size_t)p->s.k, sizeof *row);
    for (int i = 0; i < p->s.b * p->s.h * p->s.q; i++) {
        int r = i % p->s.q, h = i / p->s.q % p->s.h, b = i / p->s.q / p->s.h;
        probabilities(p, b, h, r, row, &stats[i]);
        for (int d = 0; d < p->s.d; d++) {
            double sum = 0;
            for (int j = 0; j < p->s.k; j++)
                sum += !p->lengths || j < p->klen[b] ? row[j] * at4(&p->v, b, h / (p->s.h / p->s.hk), j, d) : 0;
            o[i * p->s.d + d] = p->lengths && r >= p->qlen[b] ? 0 : sum;
        }
    }
    free(row);
}

/* A tensor's sequences one behind the other, as long as they are, with gaps between rows; where each begins. The
 * description is one of the tensor's shape. */
static inline struct tensor behind_one_another(const struct tensor *t, const int *length, struct tensor *offsets)
{
    int rows = 1 + upto(3), h = t->dim[1], d = t->dim[3], wide = upto(2) ? I64 : I32;
    for (int b = 0; b < t->dim[0]; b++)
        rows += length[b];
    struct tensor p = make(t->type, 3, (int[]){rows, h, d + upto(2)}, 0, false, false);
    *offsets = make(wide, 4, (int[]){t->dim[0] + 1, 1, 1, 1}, 0, false, false);
    offsets->unit = upto(3) ? 0 : p.stride[0];
    for (int b = 0, row = 0; b <= t->dim[0]; b++) {
        offsets->v[b] = row * (offsets->unit ? 1 : p.stride[0]);
        for (int s = 0; b < t->dim[0] && s < length[b]; s++, row++)
            for (int i = 0; i < h * d; i++)
                p.v[(row * h + i / d) * p.dim[2] + i % d] = at4(t, b, i / d, s, i % d);
    }
    upload(&p), upload(offsets);
    return p;
}
static inline desc of_ragged(const struct tensor *t, const struct tensor *shape, int64_t uid,
                             const struct tensor *offsets, int64_t offsets_uid)
{
    int strides[] = {shape->dim[2] * t->stride[0], t->stride[1], t->stride[0], t->stride[2]};
    desc d = begin_tensor(uid, t->type, 4, shape->dim, strides, REAL);
    set_desc(d, A(TENSOR_RAGGED_OFFSET_DESC), of(offsets, offsets_uid));
    if (offsets->unit)
        set_int(d, A(TENSOR_RAGGED_OFFSET_MULTIPLIER), offsets->unit);
    OK(finalize(d));
    return d;
}
/* What the rows that are should be; all else is what it was. */
static inline void same_rows(const struct tensor *t, const struct tensor *shape, const int *length, const double *want,
                             const char *what)
{
    double *all = calloc((size_t)count(t), sizeof *all);
    int h = shape->dim[1], d = shape->dim[3];
    memcpy(all, t->v, sizeof *all * (size_t)count(t));
    for (int b = 0, row = 0; b < shape->dim[0]; b++)
        for (int s = 0; s < length[b]; s++, row++)
            for (int i = 0; i < h * d; i++)
                all[(row * h + i / d) * t->dim[2] + i % d] = want[((b * h + i / d) * shape->dim[2] + s) * d + i % d];
    same(t, all, 16, what);
    free(all);
}

static inline int mask_pieces(const struct problem *p, desc *op, desc *score)
{
    int n = 0;
    if (p->biased) {
        desc next = middle(51, F32, p->s, p->s.k);
        op[n++] = apply(CUDNN_POINTWISE_ADD, *score, describe(7, p->bias.type, 4, p->bias.dim, p->bias.stride, REAL),
                        next);
        *score = next;
    }
    if (p->causal) {
        desc row = middle(52, I32, p->s, p->s.k), column = middle(53, I32, p->s, p->s.k);
        desc keep = middle(54, CUDNN_DATA_BOOLEAN, p->s, p->s.k), next = middle(55, F32, p->s, p->s.k);
        desc moved = middle(56, I32, p->s, p->s.k);
        op[n++] = apply_with(pointwise(CUDNN_POINTWISE_GEN_INDEX, A(POINTWISE_AXIS), 2), *score, NULL, NULL, row);
        op[n++] = apply_with(pointwise(CUDNN_POINTWISE_GEN_INDEX, A(POINTWISE_AXIS), 3), *score, NULL, NULL, column);
        op[n++] = apply(CUDNN_POINTWISE_ADD, row, scalar_of(9, I32, 4), moved);
        op[n++] = apply(CUDNN_POINTWISE_CMP_GE, moved, column, keep);
        op[n++] = apply_with(pointwise(CUDNN_POINTWISE_BINARY_SELECT, 0, 0), *score, scalar_of(8, F32, 4), keep, next);
        *score = next;
    }
    return n;
}

#endif
