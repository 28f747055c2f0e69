/* Short collectives over several hosts, so that the calling thread can do them: a state machine that never waits, and
 * one that does on a stream's thread if the others are late. One rank of each host, its leader, talks to the others':
 *
 *   at home   the ranks of a host reduce or gather to their leader
 *   rounds    between leaders: recursive doubling or one exchange of everything for the all-reduce, a binomial tree
 *             for broadcast and reduce, one exchange for all-gather and reduce-scatter
 *   at home   the leader passes the result on
 *
 * Steps at home are collectives of the host's own communicator through its staging areas. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

#define LONGEST (64 << 10) /* bytes */
#define FLAT (4 << 10)     /* up to here an all-reduce of few hosts is one exchange of everything */
#define FEW 8
#define MOST_HOSTS 64 /* beyond, one exchange is too many messages for the calling thread */

enum phase { GATHERS, TALKS, SPREADS, DONE };

struct mccl_short {
    struct mccl_job *job;
    mcclComm_t c;
    struct mccl_net *net;
    struct mccl_stream stream;
    enum phase phase;
    struct mccl_job home; /* the step at home */
    int round;
    bool talking; /* the round is begun */
    bool averages;
    size_t size, bytes; /* of an element; of the job's count */
    int leader;         /* its number on this host */
    char *acc;          /* what the leader has so far */
    char *room;         /* for what comes */
    struct mccl_flight *flights;
    int n;
    /* kept for the next call */
    char *memory;
    size_t capacity;
    int most;
};

/* ---- what is short --------------------------------------------------------------------------------- */

static bool reduces(enum mccl_kind k) { return k == MCCL_ALL_REDUCE || k == MCCL_REDUCE || k == MCCL_REDUCE_SCATTER; }

static bool all_at_once(enum mccl_kind k) { return k == MCCL_ALL_GATHER || k == MCCL_REDUCE_SCATTER; }

/* Bytes that one message may have: the same on all ranks. */
static size_t total(const struct mccl_job *j)
{
    return j->count * mccl_type_size(j->type) * (all_at_once(j->kind) ? (size_t)j->comm->nranks : 1);
}

bool mccl_short_fits(const struct mccl_job *j)
{
    const struct mccl_net *n = j->comm->net;
    return total(j) <= LONGEST && (!all_at_once(j->kind) || n->nhosts <= MOST_HOSTS);
}

static int nseats(const struct mccl_short *s) { return mccl_net_size(s->net, s->net->host); }

static bool flat(const struct mccl_short *s)
{
    return s->net->nhosts == 2 || (s->net->nhosts <= FEW && s->bytes <= FLAT);
}

/* Scratch memory: for what the leader has, and for what comes. */
static size_t acc_bytes(const struct mccl_short *s)
{
    return s->job->kind == MCCL_REDUCE_SCATTER ? 2 * total(s->job) : total(s->job);
}

static size_t room_bytes(const struct mccl_short *s)
{
    switch (s->job->kind) {
    case MCCL_ALL_REDUCE: return s->bytes * (size_t)(flat(s) ? s->net->nhosts : 1);
    case MCCL_REDUCE: return s->bytes * 8; /* children in the tree, of 256 hosts at most */
    case MCCL_REDUCE_SCATTER: return s->bytes * (size_t)(nseats(s) * (s->net->nhosts + 1));
    default: return 0;
    }
}

static mcclResult_t make_room(struct mccl_short *s)
{
    size_t acc = (acc_bytes(s) + 63) & ~(size_t)63, need = acc + room_bytes(s) + 64;
    int most = 2 * s->net->nhosts + 2;
    if (s->capacity < need) {
        free(s->memory);
        s->memory = malloc(need);
        s->capacity = s->memory ? need : 0;
    }
    if (s->most < most) {
        s->flights = calloc((size_t)most, sizeof *s->flights);
        s->most = s->flights ? most : 0;
    }
    s->acc = s->memory;
    s->room = s->memory ? s->memory + acc : NULL;
    if (s->memory && s->flights)
        return mcclSuccess;
    mccl_fail(s->c, mcclSystemError, "rank %d is out of memory", s->c->rank);
    return mcclSystemError;
}

void mccl_short_free(struct mccl_short *s)
{
    if (!s)
        return;
    free(s->memory);
    free(s->flights);
    free(s);
}

/* ---- at home --------------------------------------------------------------------------------------- */

static void step_home(struct mccl_short *s, enum mccl_kind kind, const void *send, void *recv, size_t count)
{
    const struct mccl_job *j = s->job;
    s->home = (struct mccl_job){.comm = s->c->local,
                                .kind = kind,
                                .type = j->type,
                                .op = kind == MCCL_REDUCE && !s->averages ? j->op : mcclSum,
                                .scale = j->scale,
                                .root = s->leader,
                                .count = count,
                                .send = send,
                                .recv = recv,
                                .staged = true};
    s->home.scale.device = NULL;
}

/* mcclInProgress: not yet. */
static mcclResult_t at_home(struct mccl_short *s, bool may_wait)
{
    struct mccl_job *h = &s->home;
    h->whole = s->job; /* which may have moved */
    s->c->local->doing = s->job->kind;
    if (may_wait || nseats(s) == 1)
        return mccl_run_collective(h);
    if (!h->given && !mccl_begin_collective(h))
        return mcclInProgress;
    return mccl_advance_collective(h) ? mccl_run_collective(h) : mcclInProgress;
}

/* What the ranks of this host give their leader. False: nothing. */
static bool begin_gather(struct mccl_short *s)
{
    const struct mccl_job *j = s->job;
    const bool leads = s->net->seat_of[s->c->rank] == s->leader;
    const bool plain = nseats(s) == 1 && j->op != mcclNumOps;
    switch (j->kind) {
    case MCCL_BROADCAST: s->acc = leads && s->c->rank == j->root ? (char *)(uintptr_t)j->send : j->recv; return false;
    case MCCL_ALL_GATHER: {
        char *own = s->acc + (size_t)s->net->first[s->net->host] * s->bytes;
        if (nseats(s) > 1)
            step_home(s, MCCL_ALL_GATHER, j->send, own, j->count);
        else
            memcpy(own, j->send, s->bytes);
        return nseats(s) > 1;
    }
    default: {
        size_t count = j->kind == MCCL_REDUCE_SCATTER ? j->count * (size_t)s->c->nranks : j->count;
        if (j->kind == MCCL_ALL_REDUCE || (j->kind == MCCL_REDUCE && s->c->rank == j->root))
            s->acc = j->recv;
        if (!plain)
            step_home(s, MCCL_REDUCE, j->send, leads ? s->acc : NULL, count);
        else if (s->acc != j->send)
            memcpy(s->acc, j->send, count * s->size);
        return !plain;
    }
    }
}

/* What the leader passes on, and where it comes from. False: nothing. */
static bool begin_spread(struct mccl_short *s)
{
    const struct mccl_job *j = s->job;
    if (j->kind == MCCL_REDUCE || nseats(s) == 1)
        return false;
    if (j->kind == MCCL_ALL_GATHER)
        step_home(s, MCCL_BROADCAST, s->acc, s->acc, j->count * (size_t)s->c->nranks);
    else if (j->kind == MCCL_REDUCE_SCATTER)
        step_home(s, MCCL_BROADCAST, s->acc, s->acc, j->count * (size_t)nseats(s));
    else
        step_home(s, MCCL_BROADCAST, s->acc, j->recv, j->count);
    return true;
}

static void unpack(struct mccl_short *s)
{
    const struct mccl_job *j = s->job;
    if (j->kind == MCCL_BROADCAST && s->acc != j->recv)
        memmove(j->recv, s->acc, s->bytes);
    if (j->kind == MCCL_REDUCE_SCATTER)
        memcpy(j->recv, s->acc + (size_t)s->net->seat_of[s->c->rank] * s->bytes, s->bytes);
    for (int i = 0; j->kind == MCCL_ALL_GATHER && i < s->c->nranks; i++)
        memcpy(j->recv + (size_t)s->net->ranks[i] * s->bytes, s->acc + (size_t)i * s->bytes, s->bytes);
}

/* ---- between leaders ------------------------------------------------------------------------------- */

static int leader_of(const struct mccl_short *s, int host)
{
    const struct mccl_job *j = s->job;
    bool rooted = j->kind == MCCL_BROADCAST || j->kind == MCCL_REDUCE;
    return mccl_net_rank(s->net, host, rooted && host == s->net->host_of[j->root] ? s->net->seat_of[j->root] : 0);
}

static void send_to(struct mccl_short *s, int host, const void *from, size_t bytes)
{
    mccl_net_send(&s->stream, &s->flights[s->n++], leader_of(s, host), 0, from, bytes);
}

static void receive_from(struct mccl_short *s, int host, void *to, size_t bytes)
{
    mccl_net_receive(&s->stream, &s->flights[s->n++], leader_of(s, host), 0, to, bytes);
}

static void combine(const struct mccl_short *s, void *dst, const void **src, int nsrc, size_t bytes)
{
    mccl_combine(&(struct mccl_combine){.type = s->job->type,
                                        .op = s->averages || s->job->op == mcclNumOps ? mcclSum : s->job->op,
                                        .nsrc = nsrc,
                                        .ndst = 1,
                                        .src = src,
                                        .dst = &dst,
                                        .count = bytes / s->size});
}

static void divide(const struct mccl_short *s, void *at, size_t bytes)
{
    if (s->averages)
        mccl_divide(s->job->type, at, s->c->nranks, bytes / s->size);
}

/* Everything to everybody, who put it together in the order of the hosts. `away` lies between what goes to two hosts,
 * 0 if all get the same. */
static void exchange(struct mccl_short *s, const char *from, size_t away, size_t out, char *to, size_t in)
{
    int n = s->net->nhosts, me = s->net->host;
    for (int i = 1; i < n; i++)
        receive_from(s, (me + n - i) % n, to + (size_t)(i - 1) * in, in);
    for (int i = 1; i < n; i++)
        send_to(s, (me + i) % n, from + away * (size_t)((me + i) % n), out);
}

static void combine_all(struct mccl_short *s, char *to, const char *own, size_t bytes)
{
    int n = s->net->nhosts, me = s->net->host;
    const void *src[MCCL_MAX_RANKS];
    for (int i = 1; i < n; i++)
        src[(me + n - i) % n] = s->room + (size_t)(i - 1) * bytes;
    src[me] = own;
    combine(s, to, src, n, bytes);
    divide(s, to, bytes);
}

/* Recursive doubling. Hosts beyond the largest power of two give what they have to another one and get the result of
 * it. Both of two partners compute the same: the lower one's part comes first. */
enum { FOLD = -1, DONE_DOUBLING = -2 };
static int partner(const struct mccl_short *s, int round, int *kind)
{
    int n = s->net->nhosts, me = s->net->host, power = 1, levels = 0;
    while (2 * power <= n) {
        power *= 2;
        levels++;
    }
    *kind = round == 0 || round > levels ? FOLD : round;
    if (round == 0)
        return me >= power ? me - power : me + power < n ? me + power : -1;
    if (me >= power || round > levels + 1)
        return *kind = DONE_DOUBLING, -1;
    return round <= levels ? me ^ 1 << (round - 1) : me + power < n ? me + power : -1;
}

static bool begin_doubling(struct mccl_short *s)
{
    int kind, with = partner(s, s->round, &kind), me = s->net->host;
    if (kind == DONE_DOUBLING)
        return false;
    if (with < 0)
        return true;
    if (kind != FOLD || with < me || s->round == 0)
        receive_from(s, with, s->room, s->bytes);
    if (kind != FOLD || with < me || s->round != 0)
        send_to(s, with, s->acc, s->bytes);
    return true;
}

static void end_doubling(struct mccl_short *s)
{
    int kind, with = partner(s, s->round, &kind), me = s->net->host, next;
    const void *src[2] = {with < me ? s->room : s->acc, with < me ? s->acc : s->room};
    if (with >= 0 && kind == FOLD && with < me)
        memcpy(s->acc, s->room, s->bytes);
    else if (with >= 0 && (kind != FOLD || s->round == 0))
        combine(s, s->acc, src, 2, s->bytes);
    (void)partner(s, s->round + 1, &next);
    if (kind != FOLD && next == FOLD)
        divide(s, s->acc, s->bytes);
}

/* A binomial tree of the hosts, as seen from the root's. */
static int seen(const struct mccl_short *s)
{
    int n = s->net->nhosts;
    return (s->net->host - s->net->host_of[s->job->root] + n) % n;
}

static int host_at(const struct mccl_short *s, int v) { return (v + s->net->host_of[s->job->root]) % s->net->nhosts; }

static int children(const struct mccl_short *s, int *child)
{
    int n = 0, v = seen(s);
    for (int b = 1; b < s->net->nhosts && !(v & b); b <<= 1)
        if (v + b < s->net->nhosts)
            child[n++] = host_at(s, v + b);
    return n;
}

static int parent(const struct mccl_short *s)
{
    int v = seen(s);
    return host_at(s, v & (v - 1));
}

/* The block of a host's ranks out of a vector of all ranks, host after host. */
static void pack(struct mccl_short *s)
{
    char *to = s->acc + total(s->job);
    for (int i = 0; i < s->c->nranks; i++)
        memcpy(to + (size_t)i * s->bytes, s->acc + (size_t)s->net->ranks[i] * s->bytes, s->bytes);
}

/* Begins the round. False: there is none any more. */
static bool begin_round(struct mccl_short *s)
{
    const struct mccl_net *net = s->net;
    int child[16], n;
    switch (s->job->kind) {
    case MCCL_ALL_REDUCE:
        if (!flat(s))
            return begin_doubling(s);
        if (!s->round)
            exchange(s, s->acc, 0, s->bytes, s->room, s->bytes);
        return !s->round;
    case MCCL_BROADCAST:
        if (s->round == 0 && seen(s))
            receive_from(s, parent(s), s->acc, s->bytes);
        n = s->round == 1 ? children(s, child) : 0;
        while (n--) /* the largest subtree first */
            send_to(s, child[n], s->acc, s->bytes);
        return s->round < 2;
    case MCCL_REDUCE:
        n = s->round == 0 ? children(s, child) : 0;
        for (int i = 0; i < n; i++)
            receive_from(s, child[i], s->room + (size_t)i * s->bytes, s->bytes);
        if (s->round == 1 && seen(s))
            send_to(s, parent(s), s->acc, s->bytes);
        return s->round < 2;
    case MCCL_ALL_GATHER:
        for (int i = 1; i < net->nhosts && !s->round; i++) {
            int h = (net->host + net->nhosts - i) % net->nhosts;
            receive_from(s, h, s->acc + (size_t)net->first[h] * s->bytes, (size_t)mccl_net_size(net, h) * s->bytes);
        }
        for (int i = 1; i < net->nhosts && !s->round; i++)
            send_to(s, (net->host + i) % net->nhosts, s->acc + (size_t)net->first[net->host] * s->bytes,
                    (size_t)nseats(s) * s->bytes);
        return !s->round;
    default:
        if (s->round)
            return false;
        pack(s);
        for (int i = 1; i < net->nhosts; i++)
            receive_from(s, (net->host + net->nhosts - i) % net->nhosts,
                         s->room + (size_t)((i - 1) * nseats(s)) * s->bytes, (size_t)nseats(s) * s->bytes);
        for (int i = 1; i < net->nhosts; i++) {
            int h = (net->host + i) % net->nhosts;
            send_to(s, h, s->acc + total(s->job) + (size_t)net->first[h] * s->bytes,
                    (size_t)mccl_net_size(net, h) * s->bytes);
        }
        return true;
    }
}

/* Puts together what the round brought. */
static void end_round(struct mccl_short *s)
{
    const void *src[17] = {s->acc};
    int child[16], n;
    switch (s->job->kind) {
    case MCCL_ALL_REDUCE:
        if (flat(s))
            combine_all(s, s->acc, s->acc, s->bytes);
        else
            end_doubling(s);
        break;
    case MCCL_REDUCE:
        n = s->round == 0 ? children(s, child) : 0;
        for (int i = 0; i < n; i++)
            src[i + 1] = s->room + (size_t)i * s->bytes;
        if (n)
            combine(s, s->acc, src, n + 1, s->bytes);
        if (s->round == 0 && !seen(s))
            divide(s, s->acc, s->bytes);
        break;
    case MCCL_REDUCE_SCATTER:
        combine_all(s, s->acc, s->acc + total(s->job) + (size_t)s->net->first[s->net->host] * s->bytes,
                    (size_t)nseats(s) * s->bytes);
        break;
    default: break;
    }
}

static mcclResult_t talk(struct mccl_short *s, bool may_wait)
{
    if (s->net->seat_of[s->c->rank] != s->leader)
        return mcclSuccess;
    for (;;) {
        if (!s->talking) {
            s->n = 0;
            if (!begin_round(s))
                return mcclSuccess;
            s->talking = true;
        }
        mcclResult_t r = may_wait ? mccl_net_settle(&s->stream, s->flights, s->n)
                                  : mccl_net_look(&s->stream, s->flights, s->n);
        if (r)
            return r;
        end_round(s);
        s->talking = false;
        s->round++;
    }
}

/* ---- all of it ------------------------------------------------------------------------------------- */

/* As far as it goes: mcclInProgress if that is not the end. */
static mcclResult_t advance(struct mccl_short *s, bool may_wait)
{
    mcclResult_t r = mcclSuccess;
    if (s->phase == GATHERS) {
        if (s->home.comm)
            r = at_home(s, may_wait);
        if (r)
            return r;
        s->phase = TALKS;
    }
    if (s->phase == TALKS) {
        r = talk(s, may_wait);
        if (r)
            return r;
        s->phase = begin_spread(s) ? SPREADS : DONE;
        if (s->phase == DONE)
            unpack(s);
    }
    if (s->phase == SPREADS) {
        r = at_home(s, may_wait);
        if (r)
            return r;
        s->phase = DONE;
        unpack(s);
    }
    return mcclSuccess;
}

static struct mccl_short *begin(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    struct mccl_net *n = c->net;
    struct mccl_short *s = n->brief ? n->brief : (n->brief = calloc(1, sizeof *s));
    if (!s) {
        mccl_fail(c, mcclSystemError, "rank %d is out of memory", c->rank);
        return NULL;
    }
    bool rooted = job->kind == MCCL_BROADCAST || job->kind == MCCL_REDUCE;
    *s = (struct mccl_short){.job = job,
                             .c = c,
                             .net = n,
                             .stream = {.c = c, .class = MCCL_ALL},
                             .averages = reduces(job->kind) && job->op == mcclAvg,
                             .size = mccl_type_size(job->type),
                             .leader = rooted && n->host == n->host_of[job->root] ? n->seat_of[job->root] : 0,
                             .flights = s->flights,
                             .memory = s->memory,
                             .capacity = s->capacity,
                             .most = s->most};
    s->bytes = job->count * s->size;
    if (make_room(s))
        return NULL;
    s->stream.signature = mccl_net_signature(job, n->number++);
    s->stream.job = job;
    s->home.comm = NULL;
    if (!begin_gather(s))
        s->home.comm = NULL;
    job->under_way = s;
    job->begun = true;
    return s;
}

bool mccl_short_begin(struct mccl_job *job) { return begin(job) != NULL; }

bool mccl_short_advance(struct mccl_job *job)
{
    struct mccl_short *s = job->under_way;
    s->job = job;
    s->stream.job = job;
    job->result = advance(s, false);
    if (job->result == mcclInProgress) {
        job->result = mcclSuccess;
        return false;
    }
    if (!job->result)
        s->phase = DONE;
    return true;
}

mcclResult_t mccl_short_run(struct mccl_job *job)
{
    struct mccl_short *s = job->under_way ? job->under_way : begin(job);
    if (!s)
        return mcclSystemError;
    s->job = job;
    s->stream.job = job;
    mcclResult_t r = job->result ? job->result : advance(s, true);
    if (r)
        (void)mccl_net_give_up(job->comm, r);
    job->under_way = NULL;
    return r;
}
