/* Reductions made of smaller calls, and tokens that go where their experts are. */
#include "ranks.h"

/* Inside of groups of g ranks, then between ranks of the same place in them, then inside again: for all g. */
void hierarchical(struct rank *r)
{
    for (int g = 1; g <= r->n; g++) {
        if (r->n % g)
            continue;
        ncclComm_t inside, between_groups;
        const size_t each = (size_t)between(r, 1, 3000), n = each * (size_t)g;
        const unsigned salt = draw(r);
        MUST(r, ncclCommSplit(r->comm, r->me / g, r->me, &inside, NULL) == 0);
        MUST(r, ncclCommSplit(r->comm, r->me % g, r->me, &between_groups, NULL) == 0);
        double *x = put(r, matrix(r, salt + (unsigned)r->me, n), n), *want = host(r, n), *one = room(r, n);
        double *mine = x + each * (size_t)(r->me % g);
        MUST(r, ncclReduceScatter(x, mine, each, F64, SUM, inside, r->stream) == 0);
        MUST(r, ncclAllReduce(mine, mine, each, F64, SUM, between_groups, r->stream) == 0);
        MUST(r, ncclAllGather(mine, x, each, F64, inside, r->stream) == 0);
        for (int q = 0; q < r->n; q++)
            add(r, n, 1, put(r, matrix(r, salt + (unsigned)q, n), n), one);
        get(r, want, one, n);
        same(r, "the sum", x, want, n);
        MUST(r, ncclCommDestroy(inside) == 0 && ncclCommDestroy(between_groups) == 0);
    }
}

/* The ring all-reduce (Patarasuk and Yuan 2009), half of the data going each way round at once; parts of unlike length,
 * some of none. */
void ring_both_ways(struct rank *r)
{
    enum { RANKS = 16 };
    size_t from[2][RANKS + 1], n = 0;
    for (int way = 0; way < 2; way++)
        for (int q = 0; q <= r->n; q++) {
            from[way][q] = n;
            n += q < r->n ? (size_t)(between(r, 0, 3) ? between(r, 1, 2500) : 0) : 0;
        }
    const unsigned salt = draw(r);
    double *x = put(r, matrix(r, salt + (unsigned)r->me, n), n), *in[2] = {room(r, 2500), room(r, 2500)};
    double *one = room(r, n);
    for (int step = 0; step < 2 * r->n - 2; step++) {
        const bool sums = step < r->n - 1;
        size_t length[2] = {0}, at[2] = {0};
        MUST(r, ncclGroupStart() == 0);
        for (int way = 0; way < 2; way++) {
            const int turn = way ? -1 : 1, next = (r->me + turn + r->n) % r->n, before = (r->me - turn + r->n) % r->n;
            const int k = sums ? step : step - r->n; /* a part begins at its own rank, its sum one before */
            const int out = ((r->me - turn * k) % r->n + r->n) % r->n, part = ((out - turn) % r->n + r->n) % r->n;
            at[way] = from[way][part];
            length[way] = from[way][part + 1] - at[way];
            MUST(r,
                 ncclSend(x + from[way][out], from[way][out + 1] - from[way][out], F64, next, r->comm, r->stream) == 0);
            MUST(r, ncclRecv(sums ? in[way] : x + at[way], length[way], F64, before, r->comm, r->stream) == 0);
        }
        MUST(r, ncclGroupEnd() == 0);
        for (int way = 0; way < 2 && sums; way++)
            if (length[way])
                add(r, length[way], 1, in[way], x + at[way]);
    }
    for (int q = 0; q < r->n && n; q++)
        add(r, n, 1, put(r, matrix(r, salt + (unsigned)q, n), n), one);
    same(r, "the sum", x, got(r, one, n), n);
}

/* Each rank has experts and tokens; a token goes to the expert that its gate names, is multiplied there and comes back
 * to its place. Some experts are popular, some get none: counts are exchanged before the tokens. */
void mixture_of_experts(struct rank *r)
{
    enum { EXPERTS = 4, TOKENS = 200, RANKS = 16, WIDTH = 5 };
    const int each = between(r, 1, EXPERTS), experts = each * r->n, popular = between(r, 0, experts - 1);
    int tokens[RANKS], count[RANKS * EXPERTS] = {0}, gate[TOKENS], place[TOKENS], sent[RANKS * EXPERTS + 1] = {0};
    for (int q = 0; q < r->n; q++)
        tokens[q] = between(r, 0, 9) ? between(r, 1, TOKENS) : 0;
    const unsigned salt = draw(r);
    const int mine = tokens[r->me];
    double *x = matrix(r, salt + (unsigned)r->me, (size_t)mine * WIDTH), *sorted = host(r, (size_t)mine * WIDTH);
    for (int i = 0; i < mine; i++) {
        const unsigned coin = salt * 31u + (unsigned)(r->me * 7919 + i) * 2654435761u;
        gate[i] = (coin >> 9) % 3 ? popular : (int)((coin >> 13) % (unsigned)experts);
        count[gate[i]]++;
    }
    for (int e = 0; e < experts; e++)
        sent[e + 1] = sent[e] + count[e];
    for (int i = 0, next[RANKS * EXPERTS] = {0}; i < mine; i++) {
        place[i] = sent[gate[i]] + next[gate[i]]++;
        memcpy(sorted + place[i] * WIDTH, x + i * WIDTH, WIDTH * sizeof *x);
    }
    /* Who gets how many: count[rank][expert of it], from everybody. */
    int *counts, *theirs, come[RANKS * EXPERTS], all = 0;
    MUST(r, cudaMalloc(&counts, sizeof count) == 0 && cudaMalloc(&theirs, sizeof count) == 0);
    MUST(r, cudaMemcpyAsync(counts, count, sizeof count, 1, r->stream) == 0);
    MUST(r, ncclAlltoAll(counts, theirs, (size_t)each, INT32, r->comm, r->stream) == 0);
    MUST(r, cudaStreamSynchronize(r->stream) == 0);
    MUST(r, cudaMemcpy(come, theirs, sizeof(int) * (size_t)experts, 2) == 0);
    MUST(r, cudaFree(counts) == 0 && cudaFree(theirs) == 0);
    for (int i = 0; i < experts; i++)
        all += come[i];
    double *out = put(r, sorted, (size_t)mine * WIDTH), *in = room(r, (size_t)all * WIDTH),
           *done = room(r, (size_t)all * WIDTH), *home = room(r, (size_t)mine * WIDTH);
    for (int back = 0; back < 2; back++) {
        MUST(r, ncclGroupStart() == 0);
        for (int q = 0, at = 0; q < r->n; q++) {
            int there = 0;
            const int here = sent[(q + 1) * each] - sent[q * each];
            for (int e = 0; e < each; e++)
                there += come[q * each + e];
            double *ours = (back ? home : out) + sent[q * each] * WIDTH, *guests = (back ? done : in) + at * WIDTH;
            MUST(r, ncclSend(back ? guests : ours, (size_t)(back ? there : here) * WIDTH, F64, q, r->comm, r->stream) ==
                        0);
            MUST(r, ncclRecv(back ? ours : guests, (size_t)(back ? here : there) * WIDTH, F64, q, r->comm, r->stream) ==
                        0);
            at += there;
        }
        MUST(r, ncclGroupEnd() == 0);
        for (int q = 0, at = 0; q < r->n && !back; q++)
            for (int e = 0; e < each; at += come[q * each + e++])
                if (come[q * each + e])
                    multiply(r, 0, 0, WIDTH, come[q * each + e], WIDTH,
                             put(r, matrix(r, salt + 500 + (unsigned)(r->me * each + e), WIDTH * WIDTH), WIDTH * WIDTH),
                             in + at * WIDTH, done + at * WIDTH, false);
    }
    double *want = room(r, (size_t)mine * WIDTH), *plain = put(r, x, (size_t)mine * WIDTH),
           *order = host(r, (size_t)mine * WIDTH);
    for (int i = 0; i < mine; i++) /* one device, a token at a time */
        multiply(r, 0, 0, WIDTH, 1, WIDTH,
                 put(r, matrix(r, salt + 500 + (unsigned)gate[i], WIDTH * WIDTH), WIDTH * WIDTH), plain + i * WIDTH,
                 want + place[i] * WIDTH, false);
    get(r, order, want, (size_t)mine * WIDTH);
    same(r, "the tokens", home, order, (size_t)mine * WIDTH);
}
