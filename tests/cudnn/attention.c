/* cuDNN's graphs of attention and normalisation against plain loops: attention as one operation and as the graphs
 * that cudnn-frontend makes of it, forward and backward, with masks, biases, shared heads and lengths; norms of all
 * modes. */
#include "graph.h"

struct sizes {
    int b, h, hk, q, k, d; /* heads of queries and of keys; lengths; depth */
};
static struct tensor heads(int type, int b, int h, int s, int d)
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
static desc middle(int64_t uid, int type, struct sizes s, int last) /* b, h, q, last */
{
    return describe(uid, type, 4, (int[]){s.b, s.h, s.q, last}, NULL, VIRTUAL);
}
static desc turned(const struct tensor *t, int64_t uid) /* the last two dimensions change places */
{
    int dim[] = {t->dim[0], t->dim[1], t->dim[3], t->dim[2]},
        stride[] = {t->stride[0], t->stride[1], t->stride[3], t->stride[2]};
    return describe(uid, t->type, 4, dim, stride, REAL);
}
static double at4(const struct tensor *t, int a, int b, int c, int d)
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
};
static bool counts(const struct problem *p, int b, int i, int j)
{
    return (!p->causal || j <= i) && (!p->lengths || (i < p->qlen[b] && j < p->klen[b]));
}
static void probabilities(const struct problem *p, int b, int h, int i, double *to, double *stats)
{
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < p->s.k; j++) {
        to[j] = 0;
        for (int d = 0; d < p->s.d; d++)
            to[j] += at4(&p->q, b, h, i, d) * at4(&p->k, b, h / (p->s.h / p->s.hk), j, d);
        to[j] = to[j] * p->scale + (p->biased ? at4(&p->bias, 0, h, i, j) : 0);
        if (!counts(p, b, i, j))
            to[j] = -FLT_MAX;
        most = fmax(most, to[j]);
    }
    for (int j = 0; j < p->s.k; j++)
        sum += to[j] = exp(to[j] - most);
    for (int j = 0; j < p->s.k; j++)
        to[j] /= sum;
    *stats = most + log(sum);
}
static struct problem random_problem(int type, bool lengths)
{
    struct problem p = {.scale = 0.25, .biased = upto(2), .causal = upto(2), .lengths = lengths};
    int group = 1 + upto(3);
    p.s = (struct sizes){1 + upto(2), 0, 1 + upto(2), 1 + upto(9), 1 + upto(9), 1 + upto(8)};
    p.s.h = p.s.hk * group;
    if (p.causal && p.s.k < p.s.q) /* no row without any column */
        p.s.k = p.s.q;
    p.q = heads(type, p.s.b, p.s.h, p.s.q, p.s.d);
    p.k = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
    p.v = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
    p.o = heads(type, p.s.b, p.s.h, p.s.q, p.s.d);
    p.bias = make(type, 4, (int[]){1, p.s.h, p.s.q, p.s.k}, 0, false, false);
    p.stats = make(F32, 4, (int[]){p.s.b, p.s.h, p.s.q, 1}, 0, false, false);
    for (int b = 0; b < p.s.b; b++) {
        p.qlen[b] = 1 + upto(p.s.q);
        p.klen[b] = 1 + upto(p.s.k);
    }
    return p;
}
static void drop_problem(struct problem *p)
{
    drop(&p->q), drop(&p->k), drop(&p->v), drop(&p->o), drop(&p->bias), drop(&p->stats);
}
static void expected(const struct problem *p, double *o, double *stats)
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

static desc band(desc x, desc fill, desc y)
{
    desc d = create(KIND(OPERATION_DIAGONAL_BAND_MASK));
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), x);
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_BDESC), fill);
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_YDESC), y);
    set_enum(d, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), TYPE(POINTWISE_MODE), CUDNN_POINTWISE_CMP_GE);
    OK(finalize(d));
    return d;
}

/* A tensor's sequences cut into pages, which lie in another order, with others between; the table of them. */
static struct tensor in_pages(const struct tensor *t, int page, struct tensor *table)
{
    int entries = (t->dim[2] + page - 1) / page, all = t->dim[0] * entries + 2;
    struct tensor cache = make(t->type, 4, (int[]){all, t->dim[1], page, t->dim[3]}, 0, false, false);
    *table = make(I32, 4, (int[]){t->dim[0], 1, entries, 1}, 0, false, false);
    for (int i = 0; i < count(table); i++)
        table->v[i] = all - 1 - i;
    for (int i = 0; i < count(t); i++) {
        int d = i % t->dim[3], s = i / t->dim[3] % t->dim[2], h = i / t->dim[3] / t->dim[2] % t->dim[1];
        int at = (int)table->v[i / t->dim[3] / t->dim[2] / t->dim[1] * entries + s / page];
        cache.v[((at * t->dim[1] + h) * page + s % page) * t->dim[3] + d] = t->v[i];
    }
    upload(table), upload(&cache);
    return cache;
}

/* One operation; masks and bias as its own graph. `paged`: keys and values lie in pages. */
static void unified(int type, bool lengths, bool paged)
{
    struct problem p = random_problem(type, lengths);
    int page = 1 + upto(3);
    struct tensor kt, vt, kc, vc;
    if (paged) { /* a row of scores is as long as the pages are */
        int whole = (p.s.k + page - 1) / page * page;
        drop(&p.k), drop(&p.v), drop(&p.bias);
        p.s.k = whole;
        p.k = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
        p.v = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
        p.bias = make(type, 4, (int[]){1, p.s.h, p.s.q, p.s.k}, 0, false, false);
        kc = in_pages(&p.k, page, &kt), vc = in_pages(&p.v, page, &vt);
    }
    float scale = (float)p.scale, least = -FLT_MAX;
    struct tensor ql = make(I32, 4, (int[]){p.s.b, 1, 1, 1}, 0, false, false);
    struct tensor kl = make(I32, 4, (int[]){p.s.b, 1, 1, 1}, 0, false, false);
    double *o = calloc((size_t)count(&p.o), sizeof *o), *stats = calloc((size_t)count(&p.stats), sizeof *stats);
    desc d = create(KIND(OPERATION_SDPA_FWD)), softmax = create(KIND(OPERATION_SOFTMAX)), op[2], to;
    int ops = 0;
    expected(&p, o, stats);
    for (int b = 0; b < p.s.b; b++)
        ql.v[b] = p.qlen[b], kl.v[b] = p.klen[b];
    upload(&ql), upload(&kl);
    set_desc(d, A(OPERATION_SDPA_FWD_QDESC), of(&p.q, 1));
    set_desc(d, A(OPERATION_SDPA_FWD_KDESC), of(paged ? &kc : &p.k, 2));
    set_desc(d, A(OPERATION_SDPA_FWD_VDESC), of(paged ? &vc : &p.v, 3));
    set_desc(d, A(OPERATION_SDPA_FWD_ODESC), of(&p.o, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_SCALEDESC), scalar_of(6, F32, 4));
    if (paged) {
        set_desc(d, A(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), of(&kt, 11));
        set_desc(d, A(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), of(&vt, 12));
    }
    if (lengths) {
        set_desc(d, A(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), of(&ql, 9));
        set_desc(d, A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), of(&kl, 10));
    }
    to = middle(20, F32, p.s, p.s.k);
    if (p.biased) {
        desc next = middle(21, F32, p.s, p.s.k);
        op[ops++] = apply(CUDNN_POINTWISE_ADD, to, of(&p.bias, 7), next);
        to = next;
    }
    if (p.causal) {
        desc next = middle(22, F32, p.s, p.s.k);
        op[ops++] = band(to, scalar_of(8, F32, 4), next);
        to = next;
    }
    if (ops) {
        desc g = create(KIND(OPERATIONGRAPH)); /* without a handle */
        set(g, A(OPERATIONGRAPH_OPS), TYPE(BACKEND_DESCRIPTOR), ops, op);
        OK(finalize(g));
        EXPECT(!plan_of(g), "part of a graph has a plan");
        set_desc(d, A(OPERATION_SDPA_FWD_SUBGRAPH), g);
        set_int(d, A(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), 20);
        set_int(d, A(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), p.causal ? 22 : 21);
    }
    if (upto(2)) {
        set_desc(softmax, A(OPERATION_SOFTMAX_XDESC), middle(30, F32, p.s, p.s.k));
        set_desc(softmax, A(OPERATION_SOFTMAX_YDESC), middle(31, F32, p.s, p.s.k));
        set_desc(softmax, A(OPERATION_SOFTMAX_STATS_DESC), of(&p.stats, 5));
        OK(finalize(softmax));
        set_desc(d, A(OPERATION_SDPA_FWD_SOFTMAX_DESC), softmax);
    } else {
        set_desc(d, A(OPERATION_SDPA_FWD_STATSDESC), of(&p.stats, 5));
    }
    OK(finalize(d));
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale, p.bias.at, &least, ql.at, kl.at, NULL, NULL};
    if (paged)
        at[1] = kc.at, at[2] = vc.at, at[10] = kt.at, at[11] = vt.at;
    if (run_graph(1, &d, paged ? 12 : 10, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, at)) {
        same(&p.o, o, 4, "attention as one operation");
        if (!lengths) /* of rows beyond a length they are anybody's */
            same(&p.stats, stats, 4, "its statistics");
    }
    destroy_all();
    free(o), free(stats);
    drop_problem(&p);
    drop(&ql), drop(&kl);
    if (paged)
        drop(&kc), drop(&vc), drop(&kt), drop(&vt);
}

/* Dropout, whose mask the operation writes: each of it is 0 or 1, in the given share, and what stays is scaled. */
static void dropped(int type)
{
    struct problem p = random_problem(type, false);
    float scale = (float)p.scale, rate = 0.25f * (float)(1 + upto(3));
    int64_t seeds[] = {2026, upto(1000)};
    struct tensor mask = make(F32, 4, (int[]){p.s.b, p.s.h, p.s.q, p.s.k}, 0, false, false);
    double *o = calloc((size_t)count(&p.o), sizeof *o), *row = calloc((size_t)p.s.k, sizeof *row);
    float *kept = calloc((size_t)count(&mask), sizeof *kept);
    desc d = create(KIND(OPERATION_SDPA_FWD));
    p.biased = p.causal = false;
    set_desc(d, A(OPERATION_SDPA_FWD_QDESC), of(&p.q, 1));
    set_desc(d, A(OPERATION_SDPA_FWD_KDESC), of(&p.k, 2));
    set_desc(d, A(OPERATION_SDPA_FWD_VDESC), of(&p.v, 3));
    set_desc(d, A(OPERATION_SDPA_FWD_ODESC), of(&p.o, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_SCALEDESC), scalar_of(6, F32, 4));
    set(d, A(OPERATION_SDPA_FWD_DROPOUT_PROBABILITY), TYPE(FLOAT), 1, &rate);
    set_desc(d, A(OPERATION_SDPA_FWD_DROPOUT_SEED_DESC), scalar_of(7, I64, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC), scalar_of(8, I64, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC), of(&mask, 9));
    OK(finalize(d));
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, &scale, &seeds[0], &seeds[1], mask.at};
    if (run_graph(1, &d, 8, (int64_t[]){1, 2, 3, 4, 6, 7, 8, 9}, at)) {
        double stats, ones = 0, n = count(&mask);
        OK(cudaMemcpy(kept, mask.at, (size_t)n * sizeof *kept, 2));
        for (int i = 0; i < p.s.b * p.s.h * p.s.q; i++) {
            int r = i % p.s.q, h = i / p.s.q % p.s.h, b = i / p.s.q / p.s.h;
            probabilities(&p, b, h, r, row, &stats);
            for (int j = 0; j < p.s.k; j++) {
                float m = kept[i * p.s.k + j];
                EXPECT(m == 0 || m == 1, "mask %g", (double)m);
                ones += m;
                for (int c = 0; c < p.s.d; c++)
                    o[i * p.s.d + c] += row[j] * m / (1 - rate) * at4(&p.v, b, h / (p.s.h / p.s.hk), j, c);
            }
        }
        same(&p.o, o, 4, "attention with dropout");
        EXPECT(fabs(ones - n * (1 - rate)) < 5 * sqrt(n * rate * (1 - rate)) + 1, "%g of %g stay, of 1 - %g", ones, n,
               (double)rate);
    }
    destroy_all();
    free(o), free(row), free(kept);
    drop_problem(&p);
    drop(&mask);
}

/* The pieces: products, masks by comparing indices, and softmax by reductions. */
static int pieces_of_softmax(const struct problem *p, desc *op, desc score, desc stats, desc result)
{
    desc most = middle(40, F32, p->s, 1), less = middle(41, F32, p->s, p->s.k), power = middle(42, F32, p->s, p->s.k);
    desc sum = middle(43, F32, p->s, 1), logarithm = middle(44, F32, p->s, 1);
    op[0] = reduce(CUDNN_REDUCE_TENSOR_MAX, score, most);
    op[1] = apply(CUDNN_POINTWISE_SUB, score, most, less);
    op[2] = apply(CUDNN_POINTWISE_EXP, less, NULL, power);
    op[3] = reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
    op[4] = apply(CUDNN_POINTWISE_LOG, sum, NULL, logarithm);
    op[5] = apply(CUDNN_POINTWISE_ADD, most, logarithm, stats);
    op[6] = apply(CUDNN_POINTWISE_DIV, power, sum, result);
    return 7;
}
static int mask_pieces(const struct problem *p, desc *op, desc *score)
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
        op[n++] = apply_with(pointwise(CUDNN_POINTWISE_GEN_INDEX, A(POINTWISE_AXIS), 2), *score, NULL, NULL, row);
        op[n++] = apply_with(pointwise(CUDNN_POINTWISE_GEN_INDEX, A(POINTWISE_AXIS), 3), *score, NULL, NULL, column);
        op[n++] = apply(CUDNN_POINTWISE_CMP_GE, row, column, keep);
        op[n++] = apply_with(pointwise(CUDNN_POINTWISE_BINARY_SELECT, 0, 0), *score, scalar_of(8, F32, 4), keep, next);
        *score = next;
    }
    return n;
}
static void composite(int type)
{
    struct problem p = random_problem(type, false);
    float scale = (float)p.scale, least = -FLT_MAX;
    double *o = calloc((size_t)count(&p.o), sizeof *o), *stats = calloc((size_t)count(&p.stats), sizeof *stats);
    desc op[20], score = middle(50, F32, p.s, p.s.k), scaled = middle(49, F32, p.s, p.s.k),
                 s = middle(60, type, p.s, p.s.k);
    int n = 0;
    expected(&p, o, stats);
    op[n++] = product(of(&p.q, 1), turned(&p.k, 2), scaled, NULL, NULL, NULL);
    op[n++] = apply(CUDNN_POINTWISE_MUL, scaled, scalar_of(6, F32, 4), score);
    n += mask_pieces(&p, op + n, &score);
    n += pieces_of_softmax(&p, op + n, score, of(&p.stats, 5), s);
    op[n++] = product(s, of(&p.v, 3), of(&p.o, 4), NULL, NULL, NULL);
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale, p.bias.at, &least};
    if (run_graph(n, op, 8, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8}, at)) {
        same(&p.o, o, 4, "attention of pieces");
        same(&p.stats, stats, 4, "its statistics");
    }
    destroy_all();
    free(o), free(stats);
    drop_problem(&p);
}

/* The gradients, in the pieces of cudnn-frontend: a view that turns p and ds around by strides, sums of groups. */
static void backward(int type)
{
    struct problem p = random_problem(type, false);
    struct sizes s = p.s;
    int group = s.h / s.hk, qk = s.q * s.k;
    float scale = (float)p.scale, least = -FLT_MAX;
    struct tensor dy = heads(type, s.b, s.h, s.q, s.d), dq = heads(type, s.b, s.h, s.q, s.d);
    struct tensor dk = heads(type, s.b, s.hk, s.k, s.d), dv = heads(type, s.b, s.hk, s.k, s.d);
    double *o = calloc((size_t)count(&p.o), sizeof *o), *row = calloc((size_t)s.k, sizeof *row);
    double *want[3] = {calloc((size_t)count(&dq), sizeof *o), calloc((size_t)count(&dk), sizeof *o),
                       calloc((size_t)count(&dv), sizeof *o)};
    expected(&p, o, p.stats.v);
    memcpy(p.o.v, o, sizeof *o * (size_t)count(&p.o));
    upload(&p.o), upload(&p.stats);
    for (int i = 0; i < s.b * s.h * s.q; i++) {
        int r = i % s.q, h = i / s.q % s.h, b = i / s.q / s.h, hk = h / group;
        double stats, dot = 0;
        probabilities(&p, b, h, r, row, &stats);
        for (int d = 0; d < s.d; d++)
            dot += at4(&dy, b, h, r, d) * p.o.v[i * s.d + d];
        for (int j = 0; j < s.k; j++) {
            double dp = 0;
            int kv = ((b * s.hk + hk) * s.k + j) * s.d;
            for (int d = 0; d < s.d; d++) {
                dp += at4(&dy, b, h, r, d) * p.v.v[kv + d];
                want[2][kv + d] += row[j] * at4(&dy, b, h, r, d);
            }
            double ds = row[j] * (dp - dot) * p.scale;
            for (int d = 0; d < s.d; d++) {
                want[0][i * s.d + d] += ds * p.k.v[kv + d];
                want[1][kv + d] += ds * at4(&p.q, b, h, r, d);
            }
        }
    }
    desc op[40], score = middle(50, F32, s, s.k), first = middle(49, F32, s, s.k),
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
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale, p.bias.at, &least, dy.at, dq.at, dk.at, dv.at};
    if (run_graph(n, op, 12, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14}, at)) {
        same(&dq, want[0], 16, "attention's gradient of q");
        same(&dk, want[1], 16, "attention's gradient of k");
        same(&dv, want[2], 16, "attention's gradient of v");
    }
    destroy_all();
    free(o), free(row), free(want[0]), free(want[1]), free(want[2]);
    drop_problem(&p);
    drop(&dy), drop(&dq), drop(&dk), drop(&dv);
}

/* ---- normalisation ----------------------------------------------------------------------------- */

struct norm {
    int mode, dim[4], feature[4], kept[4]; /* shapes of scale, and of what is kept */
};
static struct norm random_norm(int mode)
{
    struct norm n = {.mode = mode, .dim = {2 + upto(2), 1 + upto(4), 1 + upto(4), 2 + upto(4)}};
    for (int i = 0; i < 4; i++) {
        bool layer = mode == CUDNN_LAYER_NORM || mode == CUDNN_RMS_NORM;
        bool reduced = layer ? i > 0 : mode == CUDNN_INSTANCE_NORM ? i > 1 : i != 1;
        n.kept[i] = reduced ? 1 : n.dim[i];
        n.feature[i] = layer ? (i > 0 ? n.dim[i] : 1) : i == 1 ? n.dim[1] : 1;
    }
    return n;
}
static int within(const int *dim, const int *shape,
                  int i) /* element i of shape lies where in dim, whose 1s serve all? */
{
    int index[4], at = 0;
    for (int d = 3; d >= 0; i /= shape[d], d--)
        index[d] = i % shape[d];
    for (int d = 0; d < 4; d++)
        at = at * dim[d] + (dim[d] > 1 ? index[d] : 0);
    return at;
}
static void norms(int mode, int type)
{
    struct norm n = random_norm(mode);
    bool centred = mode != CUDNN_RMS_NORM, running = mode == CUDNN_BATCH_NORM;
    struct tensor x = make(type, 4, n.dim, upto(2), false, false), y = make(type, 4, n.dim, upto(2), false, false);
    struct tensor dy = make(type, 4, n.dim, upto(2), false, false), dx = make(type, 4, n.dim, 0, false, false);
    struct tensor scale = make(F32, 4, n.feature, 0, false, false), bias = make(F32, 4, n.feature, 0, false, false);
    struct tensor mean = make(F32, 4, n.kept, 0, false, false), inverse = make(F32, 4, n.kept, 0, false, false);
    struct tensor ds = make(F32, 4, n.feature, 0, false, false), db = make(F32, 4, n.feature, 0, false, false);
    struct tensor old = make(F32, 4, n.kept, 0, false, false), new = make(F32, 4, n.kept, 0, false, false);
    struct tensor var = make(F32, 4, n.kept, 0, false, false), nvar = make(F32, 4, n.kept, 0, false, false);
    float epsilon = 0.5f, factor = 0.25f; /* large enough for types of few digits */
    int kept = count(&mean), all = count(&x), each = all / kept, features = count(&scale);
    double *m = calloc((size_t)kept * 6 + (size_t)features * 2 + (size_t)all * 2, sizeof *m), *v = m + kept,
           *inv = v + kept;
    double *g = inv + kept, *gx = g + kept, *run = gx + kept, *wds = run + kept, *wdb = wds + features,
           *wy = wdb + features;
    double *wdx = wy + all;
    for (int i = 0; centred && i < all; i++)
        m[within(n.kept, n.dim, i)] += x.v[i] / each;
    for (int i = 0; i < all; i++) {
        int k = within(n.kept, n.dim, i);
        v[k] += (x.v[i] - m[k]) * (x.v[i] - m[k]) / each;
    }
    for (int k = 0; k < kept; k++)
        inv[k] = 1 / sqrt(v[k] + epsilon);
    for (int i = 0; i < all; i++) {
        int k = within(n.kept, n.dim, i), f = within(n.feature, n.dim, i);
        double hat = (x.v[i] - m[k]) * inv[k];
        wy[i] = hat * scale.v[f] + bias.v[f];
        wds[f] += dy.v[i] * hat;
        wdb[f] += dy.v[i];
        g[k] += dy.v[i] * scale.v[f] / each;
        gx[k] += dy.v[i] * scale.v[f] * hat / each;
    }
    for (int i = 0; i < all; i++) {
        int k = within(n.kept, n.dim, i), f = within(n.feature, n.dim, i);
        double hat = (x.v[i] - m[k]) * inv[k];
        wdx[i] = inv[k] * (dy.v[i] * scale.v[f] - (centred ? g[k] : 0) - hat * gx[k]);
    }
    desc d = create(KIND(OPERATION_NORM_FORWARD)), b = create(KIND(OPERATION_NORM_BACKWARD));
    set_enum(d, A(OPERATION_NORM_FWD_MODE), TYPE(NORM_MODE), mode);
    set_enum(d, A(OPERATION_NORM_FWD_PHASE), TYPE(NORM_FWD_PHASE), CUDNN_NORM_FWD_TRAINING);
    set_desc(d, A(OPERATION_NORM_FWD_XDESC), of(&x, 1));
    set_desc(d, A(OPERATION_NORM_FWD_YDESC), of(&y, 2));
    set_desc(d, A(OPERATION_NORM_FWD_SCALE_DESC), of(&scale, 3));
    set_desc(d, A(OPERATION_NORM_FWD_BIAS_DESC), of(&bias, 4));
    set_desc(d, A(OPERATION_NORM_FWD_EPSILON_DESC), scalar_of(5, F32, 4));
    set_desc(d, A(OPERATION_NORM_FWD_MEAN_DESC), centred ? of(&mean, 6) : NULL);
    set_desc(d, A(OPERATION_NORM_FWD_INV_VARIANCE_DESC), of(&inverse, 7));
    if (running) {
        set_desc(d, A(OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC), scalar_of(8, F32, 4));
        set_desc(d, A(OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC), of(&old, 9));
        set_desc(d, A(OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC), of(&var, 10));
        set_desc(d, A(OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC), of(&new, 11));
        set_desc(d, A(OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC), of(&nvar, 12));
    }
    OK(finalize(d));
    int64_t uid[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    void *at[] = {x.at,   y.at,   scale.at, bias.at, &epsilon, mean.at, inverse.at, &factor,
                  old.at, var.at, new.at,   nvar.at, dy.at,    dx.at,   ds.at,      db.at};
    if (run_graph(1, &d, 16, uid, at)) {
        same(&y, wy, 4, "normalisation");
        same(&inverse, inv, 1, "its 1 / deviation");
        if (centred)
            same(&mean, m, 1, "its mean");
        for (int k = 0; running && k < kept; k++)
            run[k] = 0.75 * old.v[k] + 0.25 * m[k];
        if (running)
            same(&new, run, 1, "the running mean");
        for (int k = 0; running && k < kept; k++)
            run[k] = 0.75 * var.v[k] + 0.25 * v[k] * each / (each - 1);
        if (running)
            same(&nvar, run, 1, "the running variance");
    }
    set_enum(b, A(OPERATION_NORM_BWD_MODE), TYPE(NORM_MODE), mode);
    set_desc(b, A(OPERATION_NORM_BWD_XDESC), of(&x, 1));
    set_desc(b, A(OPERATION_NORM_BWD_DYDESC), of(&dy, 13));
    set_desc(b, A(OPERATION_NORM_BWD_SCALE_DESC), of(&scale, 3));
    set_desc(b, A(OPERATION_NORM_BWD_MEAN_DESC), centred ? of(&mean, 6) : NULL);
    set_desc(b, A(OPERATION_NORM_BWD_INV_VARIANCE_DESC), of(&inverse, 7));
    set_desc(b, A(OPERATION_NORM_BWD_DXDESC), of(&dx, 14));
    set_desc(b, A(OPERATION_NORM_BWD_DSCALE_DESC), of(&ds, 15));
    set_desc(b, A(OPERATION_NORM_BWD_DBIAS_DESC), of(&db, 16));
    OK(finalize(b));
    if (run_graph(1, &b, 16, uid, at)) {
        same(&dx, wdx, 4, "normalisation's gradient");
        same(&ds, wds, 16, "its gradient of scale");
        same(&db, wdb, 16, "its gradient of bias");
    }
    destroy_all();
    free(m);
    struct tensor *const used[] = {&x, &y, &dy, &dx, &scale, &bias, &mean, &inverse, &ds, &db, &old, &new, &var, &nvar};
    for (int i = 0; i < 14; i++)
        drop(used[i]);
}

int main(void)
{
    static const int types[] = {F32, F16, BF16};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 45; i++)
        unified(types[i % 3], i % 5 == 0, false);
    for (int i = 0; i < 30; i++)
        unified(types[i % 3], i % 3 == 0, true);
    for (int i = 0; i < 30; i++)
        dropped(types[i % 3]);
    for (int i = 0; i < 45; i++)
        composite(types[i % 3]);
    for (int i = 0; i < 30; i++)
        backward(i % 3 ? F32 : F16);
    for (int i = 0; i < 48; i++)
        norms((const int[]){CUDNN_LAYER_NORM, CUDNN_INSTANCE_NORM, CUDNN_BATCH_NORM, CUDNN_RMS_NORM}[i % 4],
              types[i / 4 % 3]);
    OK(cudnnDestroy(handle));
    return check_end("attention");
}
