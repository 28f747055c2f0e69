/* The gradients of attention in cuDNN's graphs against plain loops: in the pieces of cudnn-frontend and as one
 * operation. */
#include "attention.h"

/* The forward pass's O and stats, which are uploaded, and by plain loops the gradients of q, k and v of dy, the
 * caller's to free; with lengths, rows behind theirs have none. */
static void expected_gradients(struct problem *p, struct tensor *dy, bool lengths, double *want[3])
{
    const struct sizes s = p->s;
    const size_t keys = (size_t)(s.b * s.hk * s.k * s.d);
    double *o = calloc((size_t)count(&p->o), sizeof *o), *row = calloc((size_t)s.k, sizeof *row);
    want[0] = calloc((size_t)(s.b * s.h * s.q * s.d), sizeof *o);
    want[1] = calloc(keys, sizeof *o), want[2] = calloc(keys, sizeof *o);
    expected(p, o, p->stats.v);
    memcpy(p->o.v, o, sizeof *o * (size_t)count(&p->o));
    upload(&p->o), upload(&p->stats);
    for (int i = 0; i < s.b * s.h * s.q; i++) {
        int r = i % s.q, h = i / s.q % s.h, b = i / s.q / s.h, hk = h / (s.h / s.hk);
        double stats, dot = 0;
        probabilities(p, b, h, r, row, &stats);
        for (int d = 0; d < s.d; d++)
            dot += at4(dy, b, h, r, d) * p->o.v[i * s.d + d];
        for (int j = 0; j < s.k && !(lengths && r >= p->qlen[b]); j++) {
            double dp = 0;
            int kv = ((b * s.hk + hk) * s.k + j) * s.d;
            for (int d = 0; d < s.d; d++) {
                dp += at4(dy, b, h, r, d) * p->v.v[kv + d];
                want[2][kv + d] += row[j] * at4(dy, b, h, r, d);
            }
            double ds = row[j] * (dp - dot) * p->scale;
            for (int d = 0; d < s.d; d++) {
                want[0][i * s.d + d] += ds * p->k.v[kv + d];
                want[1][kv + d] += ds * at4(&p->q, b, h, r, d);
            }
        }
    }
    free(o), free(row);
}

/* The gradients, in the pieces of cudnn-frontend: a view that turns p and ds around by strides, sums of groups. */
static void backward(int type)
{
    struct problem p = random_problem(type, false);
    struct sizes s = p.s;
    int qk = s.q * s.k;
    float scale = (float)p.scale, least = (float)p.least;
    int shift = -p.shift;
    struct tensor dy = heads(type, s.b, s.h, s.q, s.d), dq = heads(type, s.b, s.h, s.q, s.d);
    struct tensor dk = heads(type, s.b, s.hk, s.k, s.d), dv = heads(type, s.b, s.hk, s.k, s.d);
    struct tensor sink = make(F32, 4, (int[]){1, s.h, 1, 1}, 0, false, false),
                  dsink = make(F32, 4, sink.dim, 0, false, false);
    double *want[3], dsinks[16] = {0};
    p.sinks = upto(2) ? sink.v : NULL;
    expected_gradients(&p, &dy, false, want);
    for (int i = 0; p.sinks && i < s.b * s.h * s.q; i++)
        for (int d = 0; d < s.d; d++)
            dsinks[i / s.q % s.h] -= exp(sink.v[i / s.q % s.h] - p.stats.v[i]) * p.o.v[i * s.d + d] *
                                     at4(&dy, i / s.q / s.h, i / s.q % s.h, i % s.q, d);
    desc op[48], score = middle(50, F32, s, s.k), first = middle(49, F32, s, s.k),
                 dod = describe(11, type, 4, dy.dim, dy.stride, REAL);
    desc less = middle(70, F32, s, s.k), power = middle(71, F32, s, s.k), mul = middle(72, F32, s, s.d);
    desc dot = middle(73, F32, s, 1), dp = middle(74, F32, s, s.k), dp2 = middle(75, F32, s, s.k);
    desc ds0 = middle(76, F32, s, s.k), ds = middle(77, type, s, s.k);
    int turned_dim[] = {s.b, s.h, s.k, s.q}, turned_stride[] = {s.h * qk, qk, 1, s.k}, full[] = {s.b, s.h, s.k, s.d},
        n = 0;
    desc pt = describe(78, type, 4, turned_dim, turned_stride, VIRTUAL),
         dst = describe(79, type, 4, turned_dim, turned_stride, VIRTUAL);
    desc dvs = describe(80, F32, 4, full, NULL, VIRTUAL), dks = describe(81, F32, 4, full, NULL, VIRTUAL);
    op[n++] = apply(CUDNN_POINTWISE_MUL, dod, of(&p.o, 4), mul);
    op[n++] = reduce(CUDNN_REDUCE_TENSOR_ADD, mul, dot);
    if (p.sinks) { /* the graph has the sign of cudnn-frontend's, and the result that of the gradient */
        desc rest = middle(82, F32, s, 1), share = middle(83, F32, s, 1), all = middle(84, F32, s, 1);
        op[n++] = apply(CUDNN_POINTWISE_SUB, of(&sink, 15), of(&p.stats, 5), rest);
        op[n++] = apply(CUDNN_POINTWISE_EXP, rest, NULL, share);
        op[n++] = apply(CUDNN_POINTWISE_MUL, share, dot, all);
        op[n++] = reduce(CUDNN_REDUCE_TENSOR_ADD, all, of(&dsink, 16));
    }
    op[n++] = product(of(&p.q, 1), turned(&p.k, 2), first, NULL, NULL, NULL);
    op[n++] = apply(CUDNN_POINTWISE_MUL, first, scalar_of(6, F32, 4), score);
    n += mask_pieces(&p, op + n, &score);
    op[n++] = apply(CUDNN_POINTWISE_SUB, score, of(&p.stats, 5), less);
    op[n++] = apply(CUDNN_POINTWISE_EXP, less, NULL, power);
    op[n] = create(KIND(OPERATION_RESHAPE));
    set_desc(op[n], A(OPERATION_RESHAPE_XDESC), power);
    set_desc(op[n], A(OPERATION_RESHAPE_YDESC), pt);
    OK(finalize(op[n++]));
    op[n++] = product(pt, dod, dvs, NULL, NULL, NULL);
    op[n++] = reduce(CUDNN_REDUCE_TENSOR_ADD, dvs, of(&dv, 14));
    op[n++] = product(dod, turned(&p.v, 3), dp, NULL, NULL, NULL);
    op[n++] = apply(CUDNN_POINTWISE_SUB, dp, dot, dp2);
    op[n++] = apply(CUDNN_POINTWISE_MUL, dp2, power, ds0);
    op[n++] = apply(CUDNN_POINTWISE_MUL, ds0, scalar_of(6, F32, 4), ds);
    op[n] = create(KIND(OPERATION_RESHAPE));
    set_desc(op[n], A(OPERATION_RESHAPE_XDESC), ds);
    set_desc(op[n], A(OPERATION_RESHAPE_YDESC), dst);
    OK(finalize(op[n++]));
    op[n++] = product(dst, of(&p.q, 1), dks, NULL, NULL, NULL);
    op[n++] = reduce(CUDNN_REDUCE_TENSOR_ADD, dks, of(&dk, 13));
    op[n++] = product(ds, of(&p.k, 2), of(&dq, 12), NULL, NULL, NULL);
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale,  p.bias.at, &least,
                  dy.at,  dq.at,  dk.at,  dv.at,  &shift,     sink.at, dsink.at};
    if (run_graph(n, op, 15, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 9, 15, 16}, at)) {
        if (p.sinks)
            same(&dsink, dsinks, 16, "the sinks' gradients");
        same(&dq, want[0], 16, "attention's gradient of q");
        same(&dk, want[1], 16, "attention's gradient of k");
        same(&dv, want[2], 16, "attention's gradient of v");
    }
    destroy_all();
    free(want[0]), free(want[1]), free(want[2]);
    drop_problem(&p);
    drop(&sink), drop(&dsink);
    drop(&dy), drop(&dq), drop(&dk), drop(&dv);
}

/* The gradients as one operation, with lengths; `packed`: sequences behind one another, of keys and their gradients. */
static void backward_as_one(int type, bool lengths, bool packed)
{
    struct problem p = random_problem(type, lengths);
    struct sizes s = p.s;
    p.biased = p.causal = false;
    float scale = (float)p.scale;
    struct tensor dy = heads(type, s.b, s.h, s.q, s.d), dq = heads(type, s.b, s.h, s.q, s.d);
    struct tensor dk = heads(type, s.b, s.hk, s.k, s.d), dv = heads(type, s.b, s.hk, s.k, s.d);
    struct tensor ql = make(I32, 4, (int[]){s.b, 1, 1, 1}, 0, false, false);
    struct tensor kl = make(I32, 4, (int[]){s.b, 1, 1, 1}, 0, false, false);
    double *want[3];
    expected_gradients(&p, &dy, lengths, want);
    for (int b = 0; b < s.b; b++)
        ql.v[b] = p.qlen[b], kl.v[b] = p.klen[b];
    upload(&ql), upload(&kl);
    struct tensor *const whole[] = {&p.k, &p.v, &dk, &dv};
    struct tensor rows[4], offsets[4];
    desc d = create(KIND(OPERATION_SDPA_BWD)), t[4];
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale, dy.at, dq.at,
                  dk.at,  dv.at,  ql.at,  kl.at,  NULL,       NULL,   NULL,  NULL};
    static const int where[] = {1, 2, 8, 9};
    for (int i = 0; i < 4; i++) {
        int64_t uid = where[i] + 1;
        if (packed)
            rows[i] = behind_one_another(whole[i], p.klen, &offsets[i]);
        t[i] = packed ? of_ragged(&rows[i], whole[i], uid, &offsets[i], 13 + i) : of(whole[i], uid);
        at[12 + i] = packed ? offsets[i].at : NULL;
        at[where[i]] = packed ? rows[i].at : at[where[i]];
    }
    set_desc(d, A(OPERATION_SDPA_BWD_QDESC), of(&p.q, 1));
    set_desc(d, A(OPERATION_SDPA_BWD_KDESC), t[0]);
    set_desc(d, A(OPERATION_SDPA_BWD_VDESC), t[1]);
    set_desc(d, A(OPERATION_SDPA_BWD_ODESC), of(&p.o, 4));
    set_desc(d, A(OPERATION_SDPA_BWD_STATSDESC), of(&p.stats, 5));
    set_desc(d, A(OPERATION_SDPA_BWD_SCALEDESC), scalar_of(6, F32, 4));
    set_desc(d, A(OPERATION_SDPA_BWD_DODDESC), of(&dy, 7));
    set_desc(d, A(OPERATION_SDPA_BWD_DQDESC), of(&dq, 8));
    set_desc(d, A(OPERATION_SDPA_BWD_DKDESC), t[2]);
    set_desc(d, A(OPERATION_SDPA_BWD_DVDESC), t[3]);
    if (lengths) {
        set_desc(d, A(OPERATION_SDPA_BWD_SEQ_LEN_QDESC), of(&ql, 11));
        set_desc(d, A(OPERATION_SDPA_BWD_SEQ_LEN_KVDESC), of(&kl, 12));
    }
    OK(finalize(d));
    if (run_graph(1, &d, packed ? 16 : 12, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, at)) {
        same(&dq, want[0], 16, "the one operation's gradient of q");
        const double scores = (double)s.b * s.h * s.q * s.k * 4; /* of which a few are there for a head at a time */
        EXPECT(!large || (double)workspace_size < scores, "a workspace of %.0f for scores of %.0f",
               (double)workspace_size, scores);
        if (packed) {
            same_rows(&rows[2], &dk, p.klen, want[1], "the packed gradient of k");
            same_rows(&rows[3], &dv, p.klen, want[2], "the packed gradient of v");
        } else {
            same(&dk, want[1], 16, "the one operation's gradient of k");
            same(&dv, want[2], 16, "the one operation's gradient of v");
        }
    }
    destroy_all();
    free(want[0]), free(want[1]), free(want[2]);
    drop_problem(&p);
    drop(&dy), drop(&dq), drop(&dk), drop(&dv), drop(&ql), drop(&kl);
    for (int i = 0; packed && i < 4; i++)
        drop(&rows[i]), drop(&offsets[i]);
}

int main(void)
{
    static const int types[] = {F32, F16, BF16};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 30; i++)
        backward(types[i % 3]);
    for (int i = 0; i < 45; i++)
        backward_as_one(types[i % 3], i / 3 % 3 != 1, i / 3 % 3 == 2);
    large = true;
    for (int i = 0; i < 4; i++) {
        backward(types[i % 3]);
        backward_as_one(types[i % 3], i > 0, i == 2);
    }
    OK(cudnnDestroy(handle));
    return check_end("gradients of attention");
}
