/* cuDNN's graphs of attention against plain loops: as one operation and as the graphs that cudnn-frontend makes of it,
 * with masks, biases, shared heads, lengths, pages, sinks and sequences behind one another. */
#include "attention.h"

static desc band(desc x, desc fill, desc shift, desc y)
{
    desc d = create(KIND(OPERATION_DIAGONAL_BAND_MASK));
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), x);
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_BDESC), fill);
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_YDESC), y);
    set_desc(d, A(OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC), shift);
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

/* One operation; masks and bias as its own graph. `paged`: keys and values lie in pages. `packed`: sequences behind
 * one another. */
static void unified(int type, bool lengths, bool paged, bool packed)
{
    struct problem p = random_problem(type, lengths);
    int page = 1 + upto(3);
    struct tensor kt, vt, kc, vc;
    const bool own_softmax = upto(2);
    if (paged) { /* a row of scores is as long as the pages are, or as its tensors say */
        const bool says = own_softmax || p.biased || p.causal;
        int whole = says && upto(2) ? p.s.k : (p.s.k + page - 1) / page * page;
        drop(&p.k), drop(&p.v), drop(&p.bias);
        p.s.k = whole;
        p.k = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
        p.v = heads(type, p.s.b, p.s.hk, p.s.k, p.s.d);
        p.bias = make(type, 4, (int[]){1, p.s.h, p.s.q, p.s.k}, 0, false, false);
        kc = in_pages(&p.k, page, &kt), vc = in_pages(&p.v, page, &vt);
    }
    float scale = (float)p.scale, least = (float)p.least;
    int shift = -p.shift;
    struct tensor sink = make(F32, 4, (int[]){1, p.s.h, 1, 1}, 0, false, false);
    struct tensor max = make(F32, 4, p.stats.dim, 0, false, false), sum = make(F32, 4, p.stats.dim, 0, false, false);
    p.max = calloc((size_t)count(&max), sizeof *p.max), p.sum = calloc((size_t)count(&max), sizeof *p.sum);
    if (own_softmax && upto(2))
        p.sinks = sink.v;
    struct tensor ql = make(I32, 4, (int[]){p.s.b, 1, 1, 1}, 0, false, false);
    struct tensor kl = make(I32, 4, (int[]){p.s.b, 1, 1, 1}, 0, false, false);
    double *o = calloc((size_t)count(&p.o), sizeof *o), *stats = calloc((size_t)count(&p.stats), sizeof *stats);
    desc d = create(KIND(OPERATION_SDPA_FWD)), softmax = create(KIND(OPERATION_SOFTMAX)), op[2], to;
    int ops = 0;
    p.whole = true;
    expected(&p, o, stats);
    const bool two = own_softmax && upto(3) == 0; /* statistics to the base 2 */
    for (int i = 0; two && i < count(&p.stats); i++)
        stats[i] *= M_LOG2E;
    for (int b = 0; b < p.s.b; b++)
        ql.v[b] = p.qlen[b], kl.v[b] = p.klen[b];
    upload(&ql), upload(&kl);
    const int summed = upto(4);
    struct tensor qs = sums_of(&ql), ks = sums_of(&kl);
    struct tensor offsets[5], rows[5]; /* of q, k, v, o, stats */
    if (packed)
        rows[0] = behind_one_another(&p.q, p.qlen, &offsets[0]),
        rows[1] = behind_one_another(&p.k, p.klen, &offsets[1]),
        rows[2] = behind_one_another(&p.v, p.klen, &offsets[2]),
        rows[3] = behind_one_another(&p.o, p.qlen, &offsets[3]),
        rows[4] = behind_one_another(&p.stats, p.qlen, &offsets[4]);
#define MAYBE_PACKED(i, t, uid) (packed ? of_ragged(&rows[i], t, uid, &offsets[i], 40 + (i)) : of(t, uid))
    set_desc(d, A(OPERATION_SDPA_FWD_QDESC), MAYBE_PACKED(0, &p.q, 1));
    set_desc(d, A(OPERATION_SDPA_FWD_KDESC), paged ? of(&kc, 2) : MAYBE_PACKED(1, &p.k, 2));
    set_desc(d, A(OPERATION_SDPA_FWD_VDESC), paged ? of(&vc, 3) : MAYBE_PACKED(2, &p.v, 3));
    set_desc(d, A(OPERATION_SDPA_FWD_ODESC), MAYBE_PACKED(3, &p.o, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_SCALEDESC), scalar_of(6, F32, 4));
    if (paged) {
        set_desc(d, A(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), of(&kt, 11));
        set_desc(d, A(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), of(&vt, 12));
    }
    if (lengths) {
        set_desc(d, summed & 1 ? A(OPERATION_SDPA_FWD_CU_SEQ_LEN_QDESC) : A(OPERATION_SDPA_FWD_SEQ_LEN_QDESC),
                 of(summed & 1 ? &qs : &ql, 9));
        set_desc(d, summed & 2 ? A(OPERATION_SDPA_FWD_CU_SEQ_LEN_KVDESC) : A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC),
                 of(summed & 2 ? &ks : &kl, 10));
    }
    to = middle(20, F32, p.s, p.s.k);
    if (p.biased) {
        desc next = middle(21, F32, p.s, p.s.k);
        op[ops++] = apply(CUDNN_POINTWISE_ADD, to, of(&p.bias, 7), next);
        to = next;
    }
    if (p.causal) {
        desc next = middle(22, F32, p.s, p.s.k);
        op[ops++] = band(to, scalar_of(8, F32, 4), p.shift || upto(2) ? scalar_of(13, I32, 4) : NULL, next);
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
    if (own_softmax) {
        set_desc(softmax, A(OPERATION_SOFTMAX_XDESC), middle(30, F32, p.s, p.s.k));
        set_desc(softmax, A(OPERATION_SOFTMAX_YDESC), middle(31, F32, p.s, p.s.k));
        set_desc(softmax, A(OPERATION_SOFTMAX_STATS_DESC), MAYBE_PACKED(4, &p.stats, 5));
        set_desc(softmax, A(OPERATION_SOFTMAX_MAX_DESC), of(&max, 14));
        set_desc(softmax, A(OPERATION_SOFTMAX_SUM_EXP_DESC), of(&sum, 15));
        set_desc(softmax, A(OPERATION_SOFTMAX_SINK_DESC), p.sinks ? of(&sink, 16) : NULL);
        set(softmax, A(OPERATION_SOFTMAX_STATS_LOG2), TYPE(BOOLEAN), 1, &two);
        OK(finalize(softmax));
        set_desc(d, A(OPERATION_SDPA_FWD_SOFTMAX_DESC), softmax);
    } else {
        set_desc(d, A(OPERATION_SDPA_FWD_STATSDESC), MAYBE_PACKED(4, &p.stats, 5));
    }
#undef MAYBE_PACKED
    OK(finalize(d));
    void *at[21] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale, p.bias.at, &least,
                    ql.at,  kl.at,  kl.at,  kl.at,  &shift,     max.at, sum.at,    sink.at};
    if (summed & 1)
        at[8] = qs.at;
    if (summed & 2)
        at[9] = ks.at;
    if (paged)
        at[1] = kc.at, at[2] = vc.at, at[10] = kt.at, at[11] = vt.at;
    for (int i = 0; packed && i < 5; i++) {
        at[16 + i] = offsets[i].at;
        if (!paged || i == 0 || i > 2)
            at[i] = rows[i].at;
    }
    if (run_graph(1, &d, packed ? 21 : 16,
                  (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 40, 41, 42, 43, 44}, at)) {
        if (packed) {
            same_rows(&rows[3], &p.o, p.qlen, o, "attention of sequences behind one another");
            same_rows(&rows[4], &p.stats, p.qlen, stats, "their statistics");
        } else {
            same(&p.o, o, 4, "attention as one operation");
            same(&p.stats, stats, 4, "its statistics");
        }
        if (own_softmax) {
            same(&max, p.max, 4, "its greatest scores");
            same(&sum, p.sum, 4, "its sums");
        }
    }
    destroy_all();
    free(o), free(stats), free(p.max), free(p.sum);
    drop_problem(&p);
    drop(&ql), drop(&kl), drop(&qs), drop(&ks), drop(&sink), drop(&max), drop(&sum);
    for (int i = 0; packed && i < 5; i++)
        drop(&rows[i]), drop(&offsets[i]);
    if (paged)
        drop(&kc), drop(&vc), drop(&kt), drop(&vt);
}

/* Dropout, whose mask the operation writes: each of it is 0 or 1, in the given share, and what stays is scaled.
 * `paged`: keys and values lie in pages, of which the last need not be full, as the mask alone says. */
static void dropped(int type, bool paged)
{
    struct problem p = random_problem(type, false);
    struct tensor kt, vt, kc, vc;
    float scale = (float)p.scale, rate = 0.25f * (float)(1 + upto(3));
    int64_t seeds[] = {2026, upto(1000)};
    struct tensor mask = make(F32, 4, (int[]){p.s.b, p.s.h, p.s.q, p.s.k}, 0, false, false);
    double *o = calloc((size_t)count(&p.o), sizeof *o), *row = calloc((size_t)p.s.k, sizeof *row);
    float *kept = calloc((size_t)count(&mask), sizeof *kept);
    desc d = create(KIND(OPERATION_SDPA_FWD));
    p.biased = p.causal = false;
    if (paged) {
        const int page = 1 + upto(5);
        kc = in_pages(&p.k, page, &kt), vc = in_pages(&p.v, page, &vt);
        set_desc(d, A(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), of(&kt, 11));
        set_desc(d, A(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), of(&vt, 12));
    }
    set_desc(d, A(OPERATION_SDPA_FWD_QDESC), of(&p.q, 1));
    set_desc(d, A(OPERATION_SDPA_FWD_KDESC), of(paged ? &kc : &p.k, 2));
    set_desc(d, A(OPERATION_SDPA_FWD_VDESC), of(paged ? &vc : &p.v, 3));
    set_desc(d, A(OPERATION_SDPA_FWD_ODESC), of(&p.o, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_SCALEDESC), scalar_of(6, F32, 4));
    set(d, A(OPERATION_SDPA_FWD_DROPOUT_PROBABILITY), TYPE(FLOAT), 1, &rate);
    set_desc(d, A(OPERATION_SDPA_FWD_DROPOUT_SEED_DESC), scalar_of(7, I64, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC), scalar_of(8, I64, 4));
    set_desc(d, A(OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC), of(&mask, 9));
    OK(finalize(d));
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, &scale, &seeds[0], &seeds[1], mask.at, NULL, NULL};
    if (paged)
        at[1] = kc.at, at[2] = vc.at, at[8] = kt.at, at[9] = vt.at;
    if (run_graph(1, &d, paged ? 10 : 8, (int64_t[]){1, 2, 3, 4, 6, 7, 8, 9, 11, 12}, at)) {
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
        size_t head = (size_t)p.s.q * (size_t)p.s.k;
        for (int i = 1; large && i < p.s.b * p.s.h; i++)
            EXPECT(memcmp(kept, kept + head * (size_t)i, head * sizeof *kept) != 0, "head %d has the first one's mask",
                   i);
        EXPECT(fabs(ones - n * (1 - rate)) < 5 * sqrt(n * rate * (1 - rate)) + 1, "%g of %g stay, of 1 - %g", ones, n,
               (double)rate);
    }
    destroy_all();
    free(o), free(row), free(kept);
    drop_problem(&p);
    drop(&mask);
    if (paged)
        drop(&kc), drop(&vc), drop(&kt), drop(&vt);
}

/* The pieces: products, masks by comparing indices, and softmax by reductions. */
static int pieces_of_softmax(const struct problem *p, desc *op, desc score, desc stats, desc result)
{
    desc most = middle(40, F32, p->s, 1), less = middle(41, F32, p->s, p->s.k), power = middle(42, F32, p->s, p->s.k);
    desc sum = middle(43, F32, p->s, 1), logarithm = middle(44, F32, p->s, 1);
    int n = 0;
    if (p->sinks) { /* cudnn-frontend gives the greatest of rows the rows' shape */
        desc sink = describe(16, F32, 4, (int[]){1, p->s.h, 1, 1}, NULL, REAL), whole = middle(45, F32, p->s, p->s.k);
        desc rest = middle(46, F32, p->s, 1), share = middle(47, F32, p->s, 1), part = middle(48, F32, p->s, 1);
        op[n++] = reduce(CUDNN_REDUCE_TENSOR_MAX, score, whole);
        op[n++] = apply(CUDNN_POINTWISE_MAX, whole, sink, most);
        op[n++] = apply(CUDNN_POINTWISE_SUB, sink, most, rest);
        op[n++] = apply(CUDNN_POINTWISE_EXP, rest, NULL, share);
        op[n++] = reduce(CUDNN_REDUCE_TENSOR_ADD, power, part);
        op[n++] = apply(CUDNN_POINTWISE_ADD, part, share, sum);
    } else {
        op[n++] = reduce(CUDNN_REDUCE_TENSOR_MAX, score, most);
        op[n++] = reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
    }
    op[n++] = apply(CUDNN_POINTWISE_SUB, score, most, less);
    op[n++] = apply(CUDNN_POINTWISE_EXP, less, NULL, power);
    op[n++] = apply(CUDNN_POINTWISE_LOG, sum, NULL, logarithm);
    op[n++] = apply(CUDNN_POINTWISE_ADD, most, logarithm, stats);
    op[n++] = apply(CUDNN_POINTWISE_DIV, power, sum, result);
    return n;
}
static void composite(int type)
{
    struct problem p = random_problem(type, false);
    float scale = (float)p.scale, least = (float)p.least;
    int shift = -p.shift;
    double *o = calloc((size_t)count(&p.o), sizeof *o), *stats = calloc((size_t)count(&p.stats), sizeof *stats);
    desc op[30], score = middle(50, F32, p.s, p.s.k), scaled = middle(49, F32, p.s, p.s.k),
                 s = middle(60, type, p.s, p.s.k);
    int n = 0;
    struct tensor sink = make(F32, 4, (int[]){1, p.s.h, 1, 1}, 0, false, false);
    p.sinks = upto(2) ? sink.v : NULL;
    expected(&p, o, stats);
    op[n++] = product(of(&p.q, 1), turned(&p.k, 2), scaled, NULL, NULL, NULL);
    op[n++] = apply(CUDNN_POINTWISE_MUL, scaled, scalar_of(6, F32, 4), score);
    n += mask_pieces(&p, op + n, &score);
    n += pieces_of_softmax(&p, op + n, score, of(&p.stats, 5), s);
    op[n++] = product(s, of(&p.v, 3), of(&p.o, 4), NULL, NULL, NULL);
    void *at[] = {p.q.at, p.k.at, p.v.at, p.o.at, p.stats.at, &scale, p.bias.at, &least, &shift, sink.at};
    if (run_graph(n, op, 10, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 16}, at)) {
        same(&p.o, o, 4, "attention of pieces");
        same(&p.stats, stats, 4, "its statistics");
    }
    destroy_all();
    free(o), free(stats);
    drop_problem(&p);
    drop(&sink);
}

int main(void)
{
    static const int types[] = {F32, F16, BF16};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 45; i++)
        unified(types[i % 3], i % 5 == 0, false, false);
    for (int i = 0; i < 30; i++)
        unified(types[i % 3], i % 3 == 0, true, false);
    for (int i = 0; i < 45; i++)
        unified(types[i % 3], true, i % 3 == 1, true);
    for (int i = 0; i < 30; i++)
        dropped(types[i % 3], i & 1);
    for (int i = 0; i < 45; i++)
        composite(types[i % 3]);
    large = true;
    for (int i = 0; i < 3; i++) {
        unified(types[i], i > 0, false, i == 2);
        unified(types[i], i > 0, true, i == 1);
        dropped(types[i], false);
        dropped(types[i], true);
        composite(types[i]);
    }
    OK(cudnnDestroy(handle));
    return check_end("attention");
}
