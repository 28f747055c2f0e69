/* Ranks that do not call the same: for every collective and every argument of it, one rank differs in that one. All
 * ranks must hear of it, by their streams and their communicators, and one line must say what differed.
 * Usage: disagree [N]; N: ranks a host, of which a root may have done its part before the others find out, and what is
 * found first is said. */
#include "team.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum kind { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECV };
static const char *const names[] = {"ncclAllReduce",     "ncclReduce", "ncclBroadcast", "ncclAllGather",
                                    "ncclReduceScatter", "ncclSend",   "ncclRecv"};

struct call {
    enum kind kind;
    size_t count;
    mcclDataType_t type;
    mcclRedOp_t op;
    int root; /* or peer */
};

struct pair {
    struct call usual, other;
    int odd;          /* the rank that calls `other` */
    bool late;        /* after some calls that agree */
    const char *word; /* what the line must hold */
};

enum { LARGEST = 70000 };
static int per_host; /* 0: all ranks are on one */

static mcclResult_t make(struct rank *r, const struct call *c, char *x, char *y)
{
    switch (c->kind) {
    case ALL_REDUCE: return mcclAllReduce(x, y, c->count, c->type, c->op, r->comm, r->stream);
    case REDUCE: return mcclReduce(x, y, c->count, c->type, c->op, c->root, r->comm, r->stream);
    case BROADCAST: return mcclBroadcast(x, y, c->count, c->type, c->root, r->comm, r->stream);
    case ALL_GATHER: return mcclAllGather(x, y, c->count, c->type, r->comm, r->stream);
    case REDUCE_SCATTER: return mcclReduceScatter(x, y, c->count, c->type, c->op, r->comm, r->stream);
    case SEND: return mcclSend(x, c->count, c->type, c->root, r->comm, r->stream);
    default: return mcclRecv(y, c->count, c->type, c->root, r->comm, r->stream);
    }
}

static bool transfers(const struct call *c) { return c->kind == SEND || c->kind == RECV; }

/* Of a short call: those whose data this rank needs call the same, or there are none. It may be done, rightly, before
 * the others have begun. */
static bool has_all_it_needs(const struct rank *r, const struct pair *p)
{
    const struct call *c = r->rank == p->odd ? &p->other : &p->usual;
    if (c->count > 8192)
        return false;
    if (c->kind == BROADCAST)
        return r->rank == c->root || (r->rank == p->odd) == (c->root == p->odd);
    return c->kind == REDUCE && r->rank != c->root;
}

/* A call that is not done must be heard of: by its own result if the communicator had failed already, or by the
 * next wait for its stream, even if the context was waited for first. One that has right data is done; its communicator
 * fails nevertheless, whatever this rank does next, once another has called something else with the same number. */
static void disagree(struct rank *r)
{
    const struct pair *p = r->arg;
    const struct call *mine = r->rank == p->odd ? &p->other : &p->usual;
    char *x = device_bytes(r, LARGEST * 8 * 4), *y = device_bytes(r, LARGEST * 8 * 4);
    for (int i = 0; i < 40 && p->late; i++)
        RANK(r, mcclAllReduce(x, x, 1 + (size_t)i, mcclInt32, mcclSum, r->comm, r->stream) == mcclSuccess);
    mcclResult_t e = make(r, mine, x, y);
    RANK(r, e == mcclSuccess || e == mcclInvalidUsage);
    if (!e && p->late)
        (void)musaDeviceSynchronize();
    musaError_t told = musaStreamSynchronize(r->stream);
    /* Who receives knows what came. */
    const bool receives = mine->kind == RECV && transfers(&p->usual) && transfers(&p->other);
    const bool may_be_done = !receives && (per_host || has_all_it_needs(r, p));
    /* Both: the calls before, if this rank is late. */
    RANK(r, told == musaErrorIllegalState || (e && !told) || (may_be_done && !told));
    if ((per_host || (may_be_done && transfers(&p->other))) && !told &&
        !e) { /* done, as far as this rank can tell: then the next call fails */
        (void)mcclAllReduce(x, x, 1, mcclInt32, mcclSum, r->comm, r->stream);
        (void)musaStreamSynchronize(r->stream);
    }
    RANK(r, async_error(r, true) == mcclInvalidUsage);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, r->comm, r->stream) == mcclInvalidUsage);
    RANK(r, mcclBroadcast(x, x, 100000, mcclInt8, 0, r->comm, r->stream) == mcclInvalidUsage);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess); /* the stream lives */
    RANK(r, musaFree(x) == musaSuccess && musaFree(y) == musaSuccess);
}

/* Runs the pair with stderr in a file; true if every rank of it heard, and each process said so in one line. */
static bool run_pair(enum team team, int nranks, struct pair *p)
{
    static char text[8192];
    struct caught caught = stderr_catch();
    bool ok = team_run(team, nranks, true, disagree, p);
    stderr_caught(caught, text, sizeof text);
    int lines = 0, good = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = 0;
        bool says = strstr(line, p->word);
        says = says || (per_host && (strstr(line, "disagree in") || strstr(line, " calls ncclAllReduce") ||
                                     strstr(line, "wait for each other")));
        good += strstr(line, "nccl: rank ") && says && strstr(line, " failed: ");
        *end = '\n';
    }
    int wanted = team == PROCESSES ? nranks : per_host ? (nranks + per_host - 1) / per_host : 1;
    if (lines != wanted || good != wanted)
        printf("# %d lines, %d of them with \"%s\", expected %d:\n%s\n", lines, good, p->word, wanted, text);
    return ok && lines == wanted && good == wanted;
}

static int bad, runs;

static void compare(enum team team, int nranks, struct pair p)
{
    runs++;
    if (run_pair(team, nranks, &p) || bad++ > 3)
        return;
    report(false, "%s, count %zu, type %d, op %d, root %d; rank %d of %d: %s, count %zu, type %d, op %d, root %d",
           names[p.usual.kind], p.usual.count, p.usual.type, p.usual.op, p.usual.root, p.odd, nranks,
           names[p.other.kind], p.other.count, p.other.type, p.other.op, p.other.root);
}

static bool reduces(enum kind k) { return k == ALL_REDUCE || k == REDUCE || k == REDUCE_SCATTER; }
static bool rooted(enum kind k) { return k == REDUCE || k == BROADCAST; }

/* Everything that one argument of the call can be instead; `step` takes each step'th of them. */
static void vary(enum team team, int nranks, struct call usual, int step)
{
    static int turn;
    struct pair p = {.usual = usual};
#define TRY(wanted, ...) \
    do { \
        if (turn++ % step == 0) { \
            p.odd = turn / step % nranks; \
            p.late = turn / step % 3 == 0; \
            p.other = usual; \
            p.word = wanted; \
            __VA_ARGS__; \
            compare(team, nranks, p); \
        } \
    } while (0)
    for (enum kind k = ALL_REDUCE; k <= REDUCE_SCATTER; k++)
        if (k != usual.kind)
            TRY(names[usual.kind], p.other.kind = k);
    TRY("count ", p.other.count++);
    TRY("count ", p.other.count = usual.count > 1000 ? 3 : LARGEST);
    for (mcclDataType_t t = 0; t < mcclNumTypes; t++)
        if (t != usual.type)
            TRY("type nccl", p.other.type = t);
    for (mcclRedOp_t o = 0; o < mcclNumOps && reduces(usual.kind); o++)
        if (o != usual.op)
            TRY("operation nccl", p.other.op = o);
    for (int i = 0; i < nranks && rooted(usual.kind); i++)
        if (i != usual.root)
            TRY("root ", p.other.root = i);
}

/* Collectives against messages, and messages of different lengths. */
static void vary_messages(enum team team, mcclDataType_t type)
{
    struct pair mixed = {.odd = 1}, large = {.odd = 1, .word = "receives 70000 of nccl"};
    large.usual = (struct call){RECV, LARGEST, type, 0, 1}; /* more than a letter holds */
    large.other = (struct call){SEND, LARGEST - 1, type, 0, 0};
    mixed.usual = (struct call){ALL_REDUCE, 10, type, mcclSum, 0};
    mixed.other = (struct call){RECV, 10, type, 0, 0};
    mixed.word = "wait for each other";
    /* The sender of a short message is done when it has sent, so that its stream has no error: not tried here. */
    compare(team, 2, large);
    compare(team, 2, mixed);
    mixed.usual.count = LARGEST;
    compare(team, 4, mixed);
    mixed.other = (struct call){SEND, LARGEST, type, 0, 0};
    compare(team, 3, mixed);
    mixed.usual = (struct call){RECV, 10, type, 0, 1}; /* each from the next one, and nobody sends */
    mixed.other = (struct call){RECV, 10, type, 0, 0};
    compare(team, 2, mixed);
}

/* Between hosts a long message goes in two parts, and what is short whole: lengths about where that changes. */
static void vary_lengths(enum team team)
{
    static const size_t edges[] = {8192, 65536, 65537, 300000};
    enum { EDGES = sizeof edges / sizeof *edges };
    for (int k = 0; k < EDGES * EDGES; k++) {
        struct pair p = {.odd = k % 2, .late = k % 3 == 0, .word = "disagree in "};
        struct call *receive = p.odd ? &p.usual : &p.other, *send = p.odd ? &p.other : &p.usual;
        *receive = (struct call){RECV, edges[k / EDGES], mcclInt8, 0, 1};
        *send = (struct call){SEND, edges[k % EDGES], mcclInt8, 0, 0};
        if (k / EDGES != k % EDGES)
            compare(team, 2, p);
    }
}

/* Of hosts {0, 1} and {2, 3}: rank 1 receives from both, while rank 0 is in a sum. What comes from rank 2 comes when
 * rank 1 sleeps already, which from then on waits for its own host alone. */
static void far_comes_late(struct rank *r)
{
    char *x = device_bytes(r, 4096), *y = device_bytes(r, 4096);
    if (r->rank == 1) {
        RANK(r, mcclGroupStart() == mcclSuccess && mcclRecv(x, 512, mcclInt8, 0, r->comm, r->stream) == mcclSuccess &&
                    mcclRecv(y, 512, mcclInt8, 2, r->comm, r->stream) == mcclSuccess);
        (void)mcclGroupEnd();
    } else if (r->rank == 2) {
        nap_us(300000);
        RANK(r, mcclSend(x, 512, mcclInt8, 1, r->comm, r->stream) == mcclSuccess);
    } else {
        (void)mcclAllReduce(x, y, 512, mcclInt8, mcclSum, r->comm, r->stream);
    }
    (void)musaStreamSynchronize(r->stream);
    RANK(r, async_error(r, true) == mcclInvalidUsage);
    RANK(r, musaFree(x) == musaSuccess && musaFree(y) == musaSuccess);
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_DEVICES", "4", 1);
    per_host = argc > 1 ? atoi(argv[1]) : 0;
    if (per_host)
        setenv("CUMU_NCCL_HOST_RANKS", argv[1], 1);
    const int step = per_host ? 101 : 2; /* a circle over hosts is known after a second */
    for (int team = PROCESSES; team >= THREADS; team--) {
        bad = runs = 0;
        int turn = 0;
        for (int nranks = 2; nranks <= 4; nranks++)
            for (enum kind k = ALL_REDUCE; k <= REDUCE_SCATTER; k++)
                /* line, staged, direct */
                for (size_t count = 7; count <= 60007; count += count < 1000 ? 2000 : 58000, turn++)
                    vary((enum team)team, nranks,
                         (struct call){k, count, turn % mcclNumTypes, turn % mcclNumOps, turn % nranks},
                         team == PROCESSES && !per_host ? 29 : step);
        for (mcclDataType_t t = 0; t < mcclNumTypes; t += per_host ? mcclNumTypes : team == PROCESSES ? 6 : 3)
            vary_messages((enum team)team, t);
        if (per_host == 1 && team == THREADS)
            vary_lengths(THREADS);
        if (per_host == 2) {
            static char text[4096];
            struct caught caught = stderr_catch();
            const bool ok = team_run((enum team)team, 4, true, far_comes_late, NULL);
            stderr_caught(caught, text, sizeof text);
            report(ok && strstr(text, "wait for each other"), "what comes late from another host, as %s: %s",
                   team ? "processes" : "threads", ok ? text : "not heard of");
        }
        report(!bad, "%d pairs of calls that differ, as %s", runs, team ? "processes" : "threads");
    }
    return check_end("mccl disagree");
}
