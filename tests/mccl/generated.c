/* Generated programs of collectives and transfers: sizes about every border between two ways of doing them, grouped and
 * not, on one stream and several, waited for and not, by threads, processes and one thread that drives all ranks. Every
 * result is computed here from what each rank has sent. `generated SEED` for another one. */
#include "team.h"

#include <string.h>

enum { ROUNDS = 60, MOST = 3, LARGEST = 20000, PENDING = 4, RANKS = 5 };
enum what { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SHIFT, SWAP, WHATS };

struct op {
    enum what what;
    size_t count; /* of each message, or of a block */
    int shift;    /* root of a broadcast; how far messages go */
    int messages, stream;
    unsigned salt;
};

struct round {
    int n;
    bool grouped, waited;
    struct op op[MOST];
};

struct side { /* of one rank */
    mcclComm_t comm;
    musaStream_t stream[2];
    int *out[PENDING][MOST], *in[PENDING][MOST];
};

static unsigned seed = 1;

static unsigned draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Around a power of two, which the borders are; sometimes nothing. */
static size_t draw_count(unsigned *s, int nranks)
{
    size_t n = (size_t)1 << draw(s) % 15;
    n += draw(s) % 5;
    n = n < 2 ? 0 : n - 2;
    return n * (size_t)nranks > LARGEST ? LARGEST / (size_t)nranks : n;
}

static struct round draw_round(unsigned *s, int nranks, bool alone)
{
    struct round r = {.n = 1 + (int)(draw(s) % MOST), .grouped = alone || draw(s) % 2, .waited = draw(s) % 2};
    for (int i = 0; i < r.n; i++) {
        r.op[i] = (struct op){.what = (enum what)(draw(s) % (r.grouped ? SWAP : WHATS)),
                              .shift = (int)(draw(s) % (unsigned)nranks),
                              .messages = 1 + (int)(draw(s) % 3),
                              .stream = draw(s) % 4 == 0,
                              .salt = draw(s)};
        r.op[i].count = draw_count(s, nranks);
        if (r.op[i].what == SHIFT && !r.grouped)
            r.op[i].what = SWAP;
    }
    return r;
}

static int value(const struct op *o, int rank, size_t i)
{
    return (int)((o->salt ^ (unsigned)rank * 77u) + i) % 100003;
}

/* What rank `to` gets at i; messages of a transfer lie one behind the other. */
static int wanted(const struct op *o, int nranks, int to, size_t i)
{
    int sum = 0;
    switch (o->what) {
    case BROADCAST: return value(o, o->shift, i);
    case ALL_GATHER: return value(o, (int)(i / o->count), i % o->count);
    case SHIFT: return value(o, (to + nranks - o->shift) % nranks, i);
    case SWAP: return value(o, to ^ 1, i);
    case REDUCE_SCATTER:
        i += (size_t)to * o->count;
        /* fall through */
    default:
        for (int q = 0; q < nranks; q++)
            sum += value(o, q, i);
        return sum;
    }
}

static size_t received(const struct op *o, int nranks, int rank)
{
    if (o->what == SWAP && (rank ^ 1) >= nranks)
        return 0;
    return o->count * (size_t)(o->what == ALL_GATHER ? nranks : o->what == SHIFT || o->what == SWAP ? o->messages : 1);
}

static mcclResult_t issue(const struct op *o, const struct side *s, int nranks, int rank, int *out, int *in)
{
    musaStream_t stream = s->stream[o->stream];
    mcclResult_t r = 0;
    memset(in, 0xa5, (size_t)LARGEST * 3 * sizeof *in);
    for (size_t i = 0; i < (size_t)LARGEST * 3; i++)
        out[i] = value(o, rank, i);
    switch (o->what) {
    case ALL_REDUCE: return mcclAllReduce(out, in, o->count, mcclInt32, mcclSum, s->comm, stream);
    case BROADCAST: return mcclBroadcast(out, in, o->count, mcclInt32, o->shift, s->comm, stream);
    case ALL_GATHER: return mcclAllGather(out, in, o->count, mcclInt32, s->comm, stream);
    case REDUCE_SCATTER: return mcclReduceScatter(out, in, o->count, mcclInt32, mcclSum, s->comm, stream);
    default: break;
    }
    const bool swap = o->what == SWAP;
    const int to = swap ? rank ^ 1 : (rank + o->shift) % nranks;
    const int from = swap ? to : (rank + nranks - o->shift) % nranks;
    for (int k = 0; k < 2 && to < nranks; k++)        /* of two that swap, one sends first */
        for (int m = 0; m < o->messages && !r; m++) { /* the messages of a pair keep their order */
            const size_t at = (size_t)m * o->count;
            if (swap && rank > to ? !k : k)
                r = mcclRecv(in + at, o->count, mcclInt32, from, s->comm, stream);
            else
                r = mcclSend(out + at, o->count, mcclInt32, to, s->comm, stream);
        }
    return r;
}

static void prepare(struct rank *r, struct side *s)
{
    RANK(r, musaStreamCreate(&s->stream[0]) == 0);
    RANK(r, musaStreamCreateWithFlags(&s->stream[1], musaStreamNonBlocking) == 0);
    for (int k = 0; k < PENDING * MOST; k++) {
        s->out[k / MOST][k % MOST] = device_bytes(r, (size_t)LARGEST * 3 * sizeof(int));
        s->in[k / MOST][k % MOST] = device_bytes(r, (size_t)LARGEST * 3 * sizeof(int));
    }
}

static void verify(struct rank *r, const struct side *s, const struct round *rounds, int first, int n, int nranks,
                   int me)
{
    RANK(r, musaStreamSynchronize(s->stream[0]) == 0);
    RANK(r, musaStreamSynchronize(s->stream[1]) == 0);
    for (int k = first; k < n; k++)
        for (int i = 0; i < rounds[k % PENDING].n; i++) {
            const struct op *o = &rounds[k % PENDING].op[i];
            const int *in = s->in[k % PENDING][i];
            const size_t bytes = received(o, nranks, me);
            size_t bad = 0;
            while (bad < bytes && in[bad] == wanted(o, nranks, me, bad))
                bad++;
            if (bad < bytes && r->wrong++ < 5)
                printf(
                    "# seed %u, %d ranks, rank %d, round %d, call %d (kind %d, count %zu): element %zu is %d, not %d\n",
                    seed, nranks, me, k, i, (int)o->what, o->count, bad, in[bad], wanted(o, nranks, me, bad));
        }
}

/* n ranks from `first` on are this thread's. */
static void run(struct rank *r, struct side *s, int first, int n)
{
    unsigned state = seed * 7919u + (unsigned)r->nranks;
    struct round rounds[PENDING];
    for (int k = 0, since = 0; k < ROUNDS && !r->wrong; k++) {
        struct round *now = &rounds[k % PENDING];
        *now = draw_round(&state, r->nranks, n > 1);
        if (now->grouped)
            mcclGroupStart();
        for (int i = 0; i < now->n; i++)
            for (int q = 0; q < n; q++)
                RANK(r, issue(&now->op[i], &s[q], r->nranks, first + q, s[q].out[k % PENDING][i],
                              s[q].in[k % PENDING][i]) == 0);
        if (now->grouped)
            RANK(r, mcclGroupEnd() == 0);
        if (!now->waited && k + 1 - since < PENDING && k + 1 < ROUNDS)
            continue;
        for (int q = 0; q < n; q++)
            verify(r, &s[q], rounds, since, k + 1, r->nranks, first + q);
        since = k + 1;
    }
}

static void body(struct rank *r)
{
    struct side s = {.comm = r->comm};
    prepare(r, &s);
    run(r, &s, r->rank, 1);
}

static void one_thread(int n)
{
    struct rank r = {.nranks = n};
    struct side s[RANKS] = {0};
    mcclComm_t comms[RANKS];
    RANK(&r, mcclCommInitAll(comms, n, NULL) == 0);
    for (int i = 0; i < n && !r.wrong; i++) {
        musaSetDevice(i);
        s[i].comm = comms[i];
        prepare(&r, &s[i]);
    }
    if (!r.wrong)
        run(&r, s, 0, n);
    for (int i = 0; i < n; i++)
        RANK(&r, mcclCommDestroy(comms[i]) == 0);
    report(!r.wrong, "generated programs, one thread for %d ranks", n);
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_DEVICES", "5", 1);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : seed;
    for (int team = PROCESSES; team >= THREADS; team--)
        for (int n = 2; n <= RANKS; n++)
            report(team_run((enum team)team, n, true, body, NULL), "generated programs, %d %s", n,
                   team ? "processes" : "threads");
    for (int n = 1; n <= RANKS; n++)
        one_thread(n);
    return check_end("mccl generated");
}
