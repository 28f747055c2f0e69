/* Collectives over several hosts, in two levels (README.md): the ranks of a host reduce, gather or pass on among
 * themselves by their shared memory, and one rank of each host, for each chunk another one, exchanges with its
 * counterparts. Chunks are pipelined: while some are on the wire, the next ones are worked on inside the hosts. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

#define CHUNK (256 << 10) /* bytes of a chunk: with one in each stage, less than a CPU's cache is under way */
#define HOP 2           /* turns of the pipeline between two stages: while one chunk is worked on, one is on the wire */
#define SLOTS (2 * HOP) /* chunks between their first stage and their last, the third */

struct slot { /* of a chunk under way */
    struct mccl_flight *f;
    int n;
    char *room;
};

struct work {
    mcclComm_t c;
    struct mccl_net *net;
    struct mccl_job *job;
    struct mccl_stream stream;
    size_t size, chunk, nchunks; /* bytes of an element; elements of a chunk */
    int seat, nseats;            /* this rank's on its host */
    bool averages;               /* the sum is divided at the end */
    bool plain;                  /* what this rank sends is what its host sends */
    struct mccl_flight *flights;
    int most; /* flights of a slot */
    size_t room;
    struct slot slot[SLOTS];
};

/* ---- setting up -------------------------------------------------------------------------------- */

uint32_t mccl_net_signature(const struct mccl_job *j, unsigned number)
{
    uint64_t h = ((uint64_t)j->count * 0x9e3779b97f4a7c15u) ^ ((uint64_t)j->root * 0xc2b2ae3d27d4eb4fu);
    return (uint32_t)j->kind | (uint32_t)j->type << 4 | (uint32_t)(j->op & 15) << 8 | (number & 15) << 12 |
           (uint32_t)(h >> 48) << 16;
}

static bool reduces(enum mccl_kind k) { return k == MCCL_ALL_REDUCE || k == MCCL_REDUCE || k == MCCL_REDUCE_SCATTER; }

/* Flights and scratch memory of all slots: so many flights and chunks for each. The size of a chunk is the same on all
 * ranks: `most` is what the one with most of them has, or more. */
static mcclResult_t set_up(struct work *w, struct mccl_job *job, int flights, size_t chunks, size_t most)
{
    mcclComm_t c = job->comm;
    struct mccl_net *n = c->net;
    *w = (struct work){.c = c, .net = n, .job = job, .size = mccl_type_size(job->type), .most = flights};
    w->stream = (struct mccl_stream){
        .c = c, .class = MCCL_ALL, .signature = mccl_net_signature(job, n->number++), .job = job};
    size_t bytes = CHUNK / (most > 4 ? most / 4 : 1);
    bytes = bytes < 65536 ? 65536 : bytes;
    w->chunk = bytes / w->size < job->count ? bytes / w->size : job->count;
    w->nchunks = (job->count + w->chunk - 1) / w->chunk;
    w->seat = n->seat_of[c->rank];
    w->nseats = mccl_net_size(n, n->host);
    w->averages = reduces(job->kind) && job->op == mcclAvg;
    w->plain = w->nseats == 1 && job->op != mcclNumOps;
    /* A piece of a chunk for each host is rounded up to an element. */
    w->room = (w->chunk + (size_t)n->nhosts) * w->size * chunks;
    size_t slots = w->nchunks < SLOTS ? w->nchunks : SLOTS;
    if (n->room < w->room * slots) {
        free(n->scratch);
        n->scratch = malloc(w->room * slots);
        n->room = n->scratch ? w->room * slots : 0;
    }
    w->flights = calloc((size_t)flights * slots + 1, sizeof *w->flights);
    for (size_t i = 0; i < slots; i++)
        w->slot[i] = (struct slot){.f = w->flights + i * (size_t)flights, .room = n->scratch + i * w->room};
    if (w->flights && (n->scratch || !w->room))
        return mcclSuccess;
    mccl_fail(c, mcclSystemError, "rank %d is out of memory", c->rank);
    return mcclSystemError;
}

static struct slot *slot_of(struct work *w, size_t chunk) { return &w->slot[chunk % SLOTS]; }
static size_t begin_of(const struct work *w, size_t chunk) { return chunk * w->chunk; }
static size_t count_of(const struct work *w, size_t chunk)
{
    size_t left = w->job->count - chunk * w->chunk;
    return left < w->chunk ? left : w->chunk;
}

static void send_part(struct work *w, struct slot *s, int to, unsigned step, const void *from, size_t n)
{
    if (n)
        mccl_net_send(&w->stream, &s->f[s->n++], to, step, from, n * w->size);
}

static void receive_part(struct work *w, struct slot *s, int from, unsigned step, void *to, size_t n)
{
    if (n)
        mccl_net_receive(&w->stream, &s->f[s->n++], from, step, to, n * w->size);
}

static mcclResult_t settle(struct work *w, struct slot *s)
{
    mcclResult_t r = mccl_net_settle(&w->stream, s->f, s->n);
    s->n = 0;
    return r;
}

/* A step among the ranks of this host: elements that begin at `send` and `recv`, or, with an offset, within what the
 * call gave, which the others can map. */
static mcclResult_t at_home(struct work *w, enum mccl_kind kind, int root, const char *send, char *recv, size_t n)
{
    const struct mccl_job *j = w->job;
    struct mccl_job step = {.comm = w->c->local,
                            .kind = kind,
                            .type = j->type,
                            .op = kind == MCCL_REDUCE ? w->averages ? mcclSum : j->op : mcclSum,
                            .scale = j->scale,
                            .root = root,
                            .count = n,
                            .send = send,
                            .recv = recv,
                            .offer = j->offer,
                            .mappable = j->mappable,
                            .whole = j};
    step.scale.device = NULL;
    /* What others map is described as it was when the call was made; scratch memory is not. */
    if (kind == MCCL_BROADCAST)
        step.offer.send = step.offer.recv;
    else
        step.mappable = j->mappable && j->kind == MCCL_ALL_REDUCE;
    if (step.mappable) {
        step.offer.send.address += (uint64_t)(send - (kind == MCCL_BROADCAST ? j->recv : j->send));
        step.offer.recv.address += (uint64_t)(recv - j->recv);
    }
    w->c->local->doing = j->kind;
    return mccl_run_collective(&step);
}

/* dst = the reduction of so many sources, in the order of the hosts; an average is divided by all ranks. */
static void combine(const struct work *w, void *dst, const void **src, int nsrc, size_t n)
{
    if (n)
        mccl_combine(&(struct mccl_combine){.type = w->job->type,
                                            .op = w->averages || w->job->op == mcclNumOps ? mcclSum : w->job->op,
                                            .nsrc = nsrc,
                                            .ndst = 1,
                                            .src = src,
                                            .dst = &dst,
                                            .count = n});
}

static void finish(const struct work *w, void *at, size_t n)
{
    if (w->averages)
        mccl_divide(w->job->type, at, w->c->nranks, n);
}

/* Runs the stages of all chunks, each so many turns after the one before. */
static mcclResult_t pipeline(struct work *w, mcclResult_t (*const *stage)(struct work *, size_t), int stages)
{
    mcclResult_t r = mcclSuccess;
    size_t end = w->nchunks + (size_t)(stages - 1) * (w->nchunks > 1 ? HOP : 0);
    if (w->nchunks == 1)
        for (int k = 0; k < stages && !r; k++)
            r = stage[k](w, 0);
    for (size_t i = 0; w->nchunks > 1 && i < end && !r; i++)
        for (int k = stages - 1; k >= 0 && !r; k--) { /* the last first: it makes room */
            size_t back = (size_t)k * HOP;
            if (i >= back && i - back < w->nchunks)
                r = stage[k](w, i - back);
        }
    if (r)
        (void)mccl_net_give_up(w->c, r);
    free(w->flights);
    return r;
}

/* ---- all-reduce ---------------------------------------------------------------------------------- */

/* Who exchanges a chunk on each host: their number there. */
static int rail(const struct work *w, size_t chunk) { return (int)(chunk % (size_t)w->net->rails); }

/* Between two hosts, one exchange of everything. */
static bool flat(const struct work *w) { return w->net->nhosts == 2; }

static void piece(const struct work *w, size_t n, int host, size_t *at, size_t *count)
{
    size_t hosts = (size_t)w->net->nhosts, each = (n + hosts - 1) / hosts;
    *at = each * (size_t)host < n ? each * (size_t)host : n;
    *count = n - *at < each ? n - *at : each;
}

static const char *own(const struct work *w, size_t at)
{
    return (w->plain ? w->job->send : w->job->recv) + at * w->size;
}

/* Reduced within the host, a chunk goes to the counterparts: whole between two hosts, else a piece to each. */
static mcclResult_t reduce_home(struct work *w, size_t chunk)
{
    struct mccl_net *net = w->net;
    struct slot *s = slot_of(w, chunk);
    size_t at = begin_of(w, chunk), n = count_of(w, chunk);
    int k = rail(w, chunk);
    mcclResult_t r = w->plain ? mcclSuccess
                              : at_home(w, MCCL_REDUCE, k, w->job->send + at * w->size, w->job->recv + at * w->size, n);
    if (r || w->seat != k)
        return r;
    char *room = s->room;
    for (int i = 1; i < net->nhosts; i++) {
        int h = (net->host + net->nhosts - i) % net->nhosts;
        size_t from = 0, count = n;
        if (!flat(w))
            piece(w, n, net->host, &from, &count);
        receive_part(w, s, mccl_net_rank(net, h, k), 0, room, count);
        room += count * w->size;
    }
    for (int i = 1; i < net->nhosts; i++) {
        int h = (net->host + i) % net->nhosts;
        size_t from = 0, count = n;
        if (!flat(w))
            piece(w, n, h, &from, &count);
        send_part(w, s, mccl_net_rank(net, h, k), 0, own(w, at + from), count);
    }
    return mcclSuccess;
}

static mcclResult_t reduce_between(struct work *w, size_t chunk)
{
    struct mccl_net *net = w->net;
    struct slot *s = slot_of(w, chunk);
    size_t at = begin_of(w, chunk), n = count_of(w, chunk), from = 0, count = n;
    int k = rail(w, chunk);
    if (w->seat != k)
        return mcclSuccess;
    mcclResult_t r = settle(w, s);
    if (r)
        return r;
    if (!flat(w))
        piece(w, n, net->host, &from, &count);
    const void *src[MCCL_MAX_RANKS];
    for (int i = 1; i < net->nhosts; i++)
        src[(net->host + net->nhosts - i) % net->nhosts] = s->room + (size_t)(i - 1) * count * w->size;
    src[net->host] = own(w, at + from);
    char *to = w->job->recv + (at + from) * w->size;
    combine(w, to, src, net->nhosts, count);
    finish(w, to, count);
    for (int i = 1; i < net->nhosts && !flat(w); i++) {
        int h = (net->host + net->nhosts - i) % net->nhosts;
        size_t theirs, m;
        piece(w, n, h, &theirs, &m);
        receive_part(w, s, mccl_net_rank(net, h, k), 1, w->job->recv + (at + theirs) * w->size, m);
        h = (net->host + i) % net->nhosts;
        send_part(w, s, mccl_net_rank(net, h, k), 1, to, count);
    }
    return mcclSuccess;
}

static mcclResult_t spread_home(struct work *w, size_t chunk)
{
    int k = rail(w, chunk);
    char *at = w->job->recv + begin_of(w, chunk) * w->size;
    mcclResult_t r = w->seat == k ? settle(w, slot_of(w, chunk)) : mcclSuccess;
    return r || w->nseats == 1 ? r : at_home(w, MCCL_BROADCAST, k, at, at, count_of(w, chunk));
}

static mcclResult_t all_reduce(struct mccl_job *job)
{
    static mcclResult_t (*const stages[])(struct work *, size_t) = {reduce_home, reduce_between, spread_home};
    struct work w;
    int others = job->comm->net->nhosts - 1;
    mcclResult_t r = set_up(&w, job, 2 * others, 1, 1);
    return r ? r : pipeline(&w, stages, 3);
}

/* ---- broadcast and reduce: a binomial tree of the hosts ------------------------------------------ */

/* A host's number as seen from the root's, and the other way round. */
static int seen(const struct mccl_net *n, int root, int host) { return (host - root + n->nhosts) % n->nhosts; }
static int host_at(const struct mccl_net *n, int root, int v) { return (v + root) % n->nhosts; }

/* Who stands for a host: on the root's, the root. */
static int node_seat(const struct work *w, int host, size_t chunk)
{
    int root = w->net->host_of[w->job->root];
    return host == root ? w->net->seat_of[w->job->root] : (int)(chunk % (size_t)mccl_net_size(w->net, host));
}

static int node(const struct work *w, int host, size_t chunk)
{
    return mccl_net_rank(w->net, host, node_seat(w, host, chunk));
}

static bool is_node(const struct work *w, size_t chunk) { return w->seat == node_seat(w, w->net->host, chunk); }

static int lowest_bit(int v, int n)
{
    if (v)
        return v & -v;
    int b = 1;
    while (b < n)
        b <<= 1;
    return b;
}

static mcclResult_t pass_down(struct work *w, struct slot *s, size_t chunk, const char *from)
{
    int root = w->net->host_of[w->job->root], v = seen(w->net, root, w->net->host);
    for (int b = lowest_bit(v, w->net->nhosts) >> 1; b; b >>= 1)
        if (v + b < w->net->nhosts)
            send_part(w, s, node(w, host_at(w->net, root, v + b), chunk), 0, from, count_of(w, chunk));
    return mcclSuccess;
}

static mcclResult_t broadcast_begin(struct work *w, size_t chunk)
{
    int root = w->net->host_of[w->job->root], v = seen(w->net, root, w->net->host);
    size_t at = begin_of(w, chunk) * w->size;
    struct slot *s = slot_of(w, chunk);
    if (!is_node(w, chunk))
        return mcclSuccess;
    if (!v)
        return pass_down(w, s, chunk, w->job->send + at);
    receive_part(w, s, node(w, host_at(w->net, root, v & (v - 1)), chunk), 0, w->job->recv + at, count_of(w, chunk));
    return mcclSuccess;
}

static mcclResult_t broadcast_pass(struct work *w, size_t chunk)
{
    struct slot *s = slot_of(w, chunk);
    if (!is_node(w, chunk) || w->net->host == w->net->host_of[w->job->root])
        return mcclSuccess;
    mcclResult_t r = settle(w, s);
    return r ? r : pass_down(w, s, chunk, w->job->recv + begin_of(w, chunk) * w->size);
}

static mcclResult_t broadcast_home(struct work *w, size_t chunk)
{
    size_t at = begin_of(w, chunk) * w->size, n = count_of(w, chunk);
    bool from_root = w->c->rank == w->job->root;
    mcclResult_t r = mcclSuccess;
    if (from_root && w->job->recv != w->job->send)
        memcpy(w->job->recv + at, w->job->send + at, n * w->size);
    if (w->nseats > 1)
        r = at_home(w, MCCL_BROADCAST, node_seat(w, w->net->host, chunk), w->job->recv + at, w->job->recv + at, n);
    return !r && is_node(w, chunk) ? settle(w, slot_of(w, chunk)) : r;
}

static mcclResult_t broadcast(struct mccl_job *job)
{
    static mcclResult_t (*const stages[])(struct work *, size_t) = {broadcast_begin, broadcast_pass, broadcast_home};
    struct work w;
    mcclResult_t r = set_up(&w, job, 16, 0, 0);
    return r ? r : pipeline(&w, stages, 3);
}

/* Children in the tree of a host, by their distance. */
static int children(const struct work *w, int v, int *child)
{
    int n = 0;
    for (int b = 1; b < lowest_bit(v, w->net->nhosts); b <<= 1)
        if (v + b < w->net->nhosts)
            child[n++] = v + b;
    return n;
}

/* Where a host's own part of a chunk is summed up: in the first part of the slot's scratch memory. */
static mcclResult_t reduce_begin(struct work *w, size_t chunk)
{
    int root = w->net->host_of[w->job->root], v = seen(w->net, root, w->net->host), child[16];
    size_t at = begin_of(w, chunk) * w->size, n = count_of(w, chunk);
    struct slot *s = slot_of(w, chunk);
    bool mine = is_node(w, chunk);
    int many = mine ? children(w, v, child) : 0;
    for (int i = 0; i < many; i++)
        receive_part(w, s, node(w, host_at(w->net, root, child[i]), chunk), 0, s->room + (size_t)(i + 1) * n * w->size,
                     n);
    if (w->plain) {
        if (!many && v)
            send_part(w, s, node(w, host_at(w->net, root, v & (v - 1)), chunk), 0, w->job->send + at, n);
        return mcclSuccess;
    }
    return at_home(w, MCCL_REDUCE, node_seat(w, w->net->host, chunk), w->job->send + at, mine ? s->room : NULL, n);
}

static mcclResult_t reduce_up(struct work *w, size_t chunk)
{
    int root = w->net->host_of[w->job->root], v = seen(w->net, root, w->net->host), child[16];
    size_t at = begin_of(w, chunk) * w->size, n = count_of(w, chunk);
    struct slot *s = slot_of(w, chunk);
    if (!is_node(w, chunk))
        return mcclSuccess;
    int many = children(w, v, child);
    if (w->plain && !many && v)
        return mcclSuccess; /* it is under way */
    mcclResult_t r = settle(w, s);
    if (r)
        return r;
    const void *src[17] = {w->plain ? w->job->send + at : s->room};
    for (int i = 0; i < many; i++)
        src[i + 1] = s->room + (size_t)(i + 1) * n * w->size;
    char *to = v ? s->room : w->job->recv + at;
    combine(w, to, src, many + 1, n);
    if (v)
        send_part(w, s, node(w, host_at(w->net, root, v & (v - 1)), chunk), 0, to, n);
    else
        finish(w, to, n);
    return mcclSuccess;
}

static mcclResult_t reduce_end(struct work *w, size_t chunk)
{
    return is_node(w, chunk) ? settle(w, slot_of(w, chunk)) : mcclSuccess;
}

static mcclResult_t reduce(struct mccl_job *job)
{
    static mcclResult_t (*const stages[])(struct work *, size_t) = {reduce_begin, reduce_up, reduce_end};
    struct work w;
    size_t depth = 1;
    while (1 << (depth - 1) < job->comm->net->nhosts)
        depth++;
    mcclResult_t r = set_up(&w, job, 16, depth + 1, depth + 1);
    return r ? r : pipeline(&w, stages, 3);
}

/* ---- all-gather and reduce-scatter: pairwise exchange ------------------------------------------- */

/* Which rank of that host is in charge of rank q's block. */
static int owner_seat(const struct work *w, int host, int q)
{
    return w->net->seat_of[q] % mccl_net_size(w->net, host);
}
static int owner(const struct work *w, int host, int q) { return mccl_net_rank(w->net, host, owner_seat(w, host, q)); }

static char *block(const struct work *w, const char *base, int q, size_t at)
{
    return (char *)(uintptr_t)base + ((size_t)q * w->job->count + at) * w->size;
}

static mcclResult_t gather_begin(struct work *w, size_t chunk)
{
    struct mccl_net *net = w->net;
    size_t at = begin_of(w, chunk), n = count_of(w, chunk);
    struct slot *s = slot_of(w, chunk);
    for (int i = 1; i < net->nhosts; i++) {
        int h = (net->host + net->nhosts - i) % net->nhosts;
        for (int k = 0; k < mccl_net_size(net, h); k++) {
            int q = mccl_net_rank(net, h, k);
            if (owner(w, net->host, q) == w->c->rank)
                receive_part(w, s, q, 0, block(w, w->job->recv, q, at), n);
        }
    }
    for (int i = 1; i < net->nhosts; i++)
        send_part(w, s, owner(w, (net->host + i) % net->nhosts, w->c->rank), 0, w->job->send + at * w->size, n);
    char *own_block = block(w, w->job->recv, w->c->rank, at);
    if (own_block != w->job->send + at * w->size)
        memcpy(own_block, w->job->send + at * w->size, n * w->size);
    mcclResult_t r = mcclSuccess;
    for (int k = 0; k < w->nseats && w->nseats > 1 && !r; k++) {
        char *b = block(w, w->job->recv, mccl_net_rank(net, net->host, k), at);
        r = at_home(w, MCCL_BROADCAST, k, b, b, n);
    }
    return r;
}

static mcclResult_t gather_end(struct work *w, size_t chunk)
{
    struct mccl_net *net = w->net;
    size_t at = begin_of(w, chunk), n = count_of(w, chunk);
    mcclResult_t r = settle(w, slot_of(w, chunk));
    for (int q = 0; q < w->c->nranks && w->nseats > 1 && !r; q++)
        if (net->host_of[q] != net->host) {
            char *b = block(w, w->job->recv, q, at);
            r = at_home(w, MCCL_BROADCAST, owner_seat(w, net->host, q), b, b, n);
        }
    return r;
}

static mcclResult_t all_gather(struct mccl_job *job)
{
    static mcclResult_t (*const stages[])(struct work *, size_t) = {gather_begin, gather_end};
    struct work w;
    mcclResult_t r = set_up(&w, job, job->comm->nranks + job->comm->net->nhosts, 0, 0);
    return r ? r : pipeline(&w, stages, 2);
}

/* Each host sums up what it has for a rank elsewhere and sends it there. Scratch memory: a part for each other host,
 * then one for each block that this rank sends. */
static mcclResult_t scatter_begin(struct work *w, size_t chunk)
{
    struct mccl_net *net = w->net;
    size_t at = begin_of(w, chunk), n = count_of(w, chunk), part = n * w->size;
    struct slot *s = slot_of(w, chunk);
    char *room = s->room;
    mcclResult_t r = mcclSuccess;
    for (int i = 1; i < net->nhosts; i++, room += part)
        receive_part(w, s, owner(w, (net->host + net->nhosts - i) % net->nhosts, w->c->rank), 0, room, n);
    for (int i = 1; i <= net->nhosts && !r; i++) {
        int h = (net->host + i) % net->nhosts; /* this host's own at last */
        for (int k = 0; k < mccl_net_size(net, h) && !r; k++) {
            int q = mccl_net_rank(net, h, k);
            bool mine = owner(w, net->host, q) == w->c->rank, away = h != net->host;
            const char *from = block(w, w->job->send, q, at);
            char *to = !mine ? NULL : away ? room : w->job->recv + at * w->size;
            if (!w->plain)
                r = at_home(w, MCCL_REDUCE, owner_seat(w, net->host, q), from, to, n);
            if (mine && away && !r) {
                send_part(w, s, q, 0, w->plain ? from : to, n);
                room += part;
            }
        }
    }
    return r;
}

static mcclResult_t scatter_end(struct work *w, size_t chunk)
{
    struct mccl_net *net = w->net;
    size_t at = begin_of(w, chunk), n = count_of(w, chunk), part = n * w->size;
    struct slot *s = slot_of(w, chunk);
    mcclResult_t r = settle(w, s);
    if (r)
        return r;
    const void *src[MCCL_MAX_RANKS];
    char *to = w->job->recv + at * w->size;
    src[net->host] = w->plain ? block(w, w->job->send, w->c->rank, at) : to;
    for (int i = 1; i < net->nhosts; i++)
        src[(net->host + net->nhosts - i) % net->nhosts] = s->room + (size_t)(i - 1) * part;
    combine(w, to, src, net->nhosts, n);
    finish(w, to, n);
    return mcclSuccess;
}

static mcclResult_t reduce_scatter(struct mccl_job *job)
{
    static mcclResult_t (*const stages[])(struct work *, size_t) = {scatter_begin, scatter_end};
    struct mccl_net *net = job->comm->net;
    struct work w;
    int parts = net->nhosts - 1;
    for (int q = 0; q < job->comm->nranks; q++)
        parts += net->host_of[q] != net->host &&
                 net->seat_of[q] % mccl_net_size(net, net->host) == net->seat_of[job->comm->rank];
    mcclResult_t r = set_up(&w, job, 2 * parts, (size_t)parts, (size_t)(job->comm->nranks + net->nhosts));
    return r ? r : pipeline(&w, stages, 2);
}

mcclResult_t mccl_net_collective(struct mccl_job *job)
{
    switch (job->kind) {
    case MCCL_ALL_REDUCE: return all_reduce(job);
    case MCCL_REDUCE: return reduce(job);
    case MCCL_BROADCAST: return broadcast(job);
    case MCCL_ALL_GATHER: return all_gather(job);
    default: return reduce_scatter(job);
    }
}
