/* Collectives, as one rank does its part. Three ways, by size and reach of the buffers:
 *   in the counter's line   up to MCCL_INLINE bytes: one cache line from each rank to each
 *   staged                  through the ranks' staging areas: small ones, and memory that others cannot map
 *   direct                  every rank does its slice of the work in all ranks' buffers: each source is
 *                           read once and each destination written once, by whoever has it in its cache
 * A rank may be MCCL_AHEAD collectives or chunks ahead of the others, whose counters say what they are done with. No
 * rank is done before all have begun the same, so that those which call different things find out; but in later
 * chunks, and in a short broadcast, it waits only for those whose data it needs. Then who takes itself for the root
 * says so in a place that all roots share: two that do are found by the second one; whoever takes another one for
 * the root, or calls something else reads what one of them says.
 * Direct ones end with a barrier, because a caller may reuse its buffers at once. */
#include <string.h>

#include "host/mccl/collective.h"
#include "host/mccl/net/net.h"

static bool reduces(enum mccl_kind kind)
{
    return kind == MCCL_ALL_REDUCE || kind == MCCL_REDUCE || kind == MCCL_REDUCE_SCATTER;
}

static bool gives(const struct mccl_job *j, int rank) { return j->kind != MCCL_BROADCAST || rank == j->root; }

static bool gets(const struct mccl_job *j, int rank)
{
    return j->kind == MCCL_REDUCE ? rank == j->root : j->kind != MCCL_BROADCAST || rank != j->root;
}

mcclResult_t mccl_make_room(mcclComm_t c, uint64_t ahead, bool may_wait)
{
    uint64_t next = c->number + 1;
    if (next <= c->passed + ahead)
        return mcclSuccess;
    uint64_t passed = c->number; /* as far as all are, so that the next call need not look again */
    for (int i = 0; i < c->nranks; i++) {
        const _Atomic uint64_t *word = &c->shared->member[i].done;
        uint64_t done = i == c->rank ? passed : atomic_load_explicit(word, memory_order_acquire);
        if (done + ahead < next) {
            mcclResult_t r = may_wait ? mccl_wait(c, word, next - ahead, i) : mcclInProgress;
            if (r)
                return r;
            done = next - ahead;
        }
        passed = done < passed ? done : passed;
    }
    c->passed = passed;
    return mcclSuccess;
}

static void count(struct view *v) { count_as(v, mix(v->c->history, v->job)); }

static struct mccl_post *begin(struct view *v)
{
    count(v);
    return describe(v);
}

static void publish(struct view *v, struct mccl_post *mine)
{
    atomic_store_explicit(&mine->number, v->number, memory_order_release);
    mccl_notify(v->c);
}

/* Bytes that a contribution of n elements takes, the same on every rank. */
static size_t contribution_room(const struct view *v, size_t n)
{
    return n * v->size * (v->job->kind == MCCL_REDUCE_SCATTER ? (size_t)v->c->nranks : 1);
}

/* Is it one piece that goes by the counters' lines or the small staging areas? */
static bool is_short(const struct view *v)
{
    return contribution_room(v, v->job->count) <= (v->job->staged ? MCCL_STAGE
                                                   : v->c->direct ? MCCL_COPIED_BYTES
                                                                  : MCCL_STAGED_BYTES);
}

static void done(struct view *v)
{
    /* Roots of short broadcasts are held up by nothing else than this word, which they read when they are far ahead:
     * it is written now and then, so that it need not come back from them each time. */
    if (v->job->kind != MCCL_BROADCAST || v->number % LAZY == 0 || !is_short(v))
        atomic_store_explicit(&v->c->shared->member[v->c->rank].done, v->number, memory_order_release);
    if (!v->job->way.held || !is_short(v)) /* else this was all: the others are told when its turn is over */
        mccl_notify(v->c);
}

/* Does that rank, which has published this number, mean the same? */
static mcclResult_t compare(const struct view *v, int i)
{
    mcclComm_t c = v->c;
    if (post(v, i)->history == c->history)
        return mcclSuccess;
    return mccl_disagree(c, &c->shared->member[c->rank].what[v->slot], i, &c->shared->member[i].what[v->slot]);
}

/* Does this rank need that one's data, or word? */
static bool needs(const struct view *v, int i)
{
    return v->job->kind == MCCL_BROADCAST ? i == v->job->root && i != v->c->rank : true;
}

static mcclResult_t meet_rival(const struct view *v)
{
    mcclComm_t c = v->c;
    mcclResult_t r = mccl_wait(c, &post(v, c->rival)->number, v->number, c->rival);
    r = r ? r : compare(v, c->rival);
    return r ? r : mcclInternalError;
}

/* Waits until the ranks that this one needs, or all of them, have published this number, and checks that they mean the
 * same. */
static mcclResult_t gather(struct view *v, bool all)
{
    mcclComm_t c = v->c;
    bool every = true;
    for (int i = 0; i < c->nranks; i++) {
        if (i == c->rank) /* its own it has published */
            continue;
        if (!all && !needs(v, i)) {
            every = false;
            continue;
        }
        mcclResult_t r = mccl_wait(c, &post(v, i)->number, v->number, i);
        if (r)
            return r;
        if ((r = compare(v, i)))
            return r;
    }
    if (every) /* who has come to this number is done with the one before */
        c->passed = v->number - 1;
    return mcclSuccess;
}

/* Puts elements [at, at + n) where the others read them. */
static void contribute(const struct view *v, unsigned char *to, size_t at, size_t n)
{
    const struct mccl_job *j = v->job;
    if (j->kind != MCCL_REDUCE_SCATTER) {
        memcpy(to, j->send + at * v->size, n * v->size);
        return;
    }
    for (size_t q = 0; q < (size_t)v->c->nranks; q++)
        memcpy(to + q * n * v->size, j->send + (q * j->count + at) * v->size, n * v->size);
}

static void scales(const struct view *v, const void **scale)
{
    for (int i = 0; i < v->c->nranks; i++)
        scale[i] = &v->c->shared->member[i].scalar[v->slot];
}

/* Takes elements [at, at + n) from what every rank has put at from[rank]. */
static void take(const struct view *v, const void **from, size_t at, size_t n)
{
    const struct mccl_job *j = v->job;
    int nranks = v->c->nranks;
    char *recv = j->recv + at * v->size;
    if (j->kind == MCCL_ALL_GATHER) {
        for (size_t q = 0; q < (size_t)nranks; q++)
            memcpy(recv + q * j->count * v->size, from[q], n * v->size);
    } else if (j->kind == MCCL_BROADCAST) {
        memcpy(recv, from[j->root], n * v->size);
    } else {
        const void *src[MCCL_MAX_RANKS], *scale[MCCL_MAX_RANKS];
        size_t skip = j->kind == MCCL_REDUCE_SCATTER ? (size_t)v->c->rank * n * v->size : 0;
        for (int i = 0; i < nranks; i++)
            src[i] = (const char *)from[i] + skip;
        scales(v, scale);
        void *dst = recv;
        mccl_combine(&(struct mccl_combine){
            .type = j->type,
            .op = j->op,
            .nsrc = nranks,
            .ndst = 1,
            .src = src,
            .scale = scale,
            .dst = &dst,
            .count = n,
        });
    }
}

/* One chunk by way of the counters' lines or the staging areas, in two halves: what this rank gives, */
static void give(struct view *v, size_t at, size_t n)
{
    count(v);
    bool contributes = gives(v->job, v->c->rank);
    /* Before anything is written to the line, which the others have in their caches as they look at it: a locked
     * instruction behind that would wait until they have given it up, and they take it back at once. */
    if (v->job->kind == MCCL_BROADCAST && contributes && !at && !mccl_enter_root(v))
        return;
    struct mccl_post *mine = describe(v);
    if (contributes)
        contribute(v, place(v, v->c->rank, contribution_room(v, n)), at, n);
    if (v->job->op == mcclNumOps)
        v->c->shared->member[v->c->rank].scalar[v->slot] = v->job->scale.host;
    if (v->job->kind == MCCL_BROADCAST && contributes && is_short(v)) /* it waits for nobody, and `done` comes next */
        publish_ahead(v, mine);
    else if (contributes || !at)
        publish(v, mine);
}

/* and what it gets once the others have given theirs. */
static mcclResult_t get(struct view *v, size_t at, size_t n)
{
    mcclComm_t c = v->c;
    bool receives = gets(v->job, c->rank), all = !at && v->job->kind != MCCL_BROADCAST;
    mcclResult_t r = receives || all ? gather(v, all) : c->refused == v->number ? meet_rival(v) : mcclSuccess;
    if (r)
        return r;
    if (receives) {
        const void *from[MCCL_MAX_RANKS];
        for (int i = 0; i < c->nranks; i++)
            from[i] = place(v, i, contribution_room(v, n));
        take(v, from, at, n);
    } else if (v->job->kind == MCCL_BROADCAST && v->job->recv != v->job->send)
        memcpy(v->job->recv + at * v->size, v->job->send + at * v->size, n * v->size);
    done(v);
    return mcclSuccess;
}

static mcclResult_t staged(struct view *v)
{
    size_t room = MCCL_STAGE / v->size;
    if (v->job->kind == MCCL_REDUCE_SCATTER)
        room /= (size_t)v->c->nranks;
    mcclResult_t r = mcclSuccess;
    for (size_t at = 0; at < v->job->count && !r; at += room) {
        size_t n = v->job->count - at < room ? v->job->count - at : room;
        r = mccl_make_room(v->c, window(contribution_room(v, n)), true);
        if (!r)
            give(v, at, n);
        r = r ? r : get(v, at, n);
    }
    return r;
}

/* This rank's share of count elements: whole cache lines. */
static void slice(const struct view *v, size_t *from, size_t *n)
{
    size_t line = 64 / v->size, nranks = (size_t)v->c->nranks, count = v->job->count;
    size_t each = (count + nranks * line - 1) / (nranks * line) * line;
    *from = each * (size_t)v->c->rank < count ? each * (size_t)v->c->rank : count;
    *n = count - *from < each ? count - *from : each;
}

/* This rank's part of the work when all see each other's buffers. False: it may not go on. */
static bool work(const struct view *v, char *const *send, char *const *recv)
{
    const struct mccl_job *j = v->job;
    int nranks = v->c->nranks, me = v->c->rank;
    size_t from = 0, n = j->count, block = j->count * v->size;
    const void *src[MCCL_MAX_RANKS], *scale[MCCL_MAX_RANKS];
    void *dst[MCCL_MAX_RANKS];
    int nsrc = 0, ndst = 0;
    if (j->kind == MCCL_ALL_REDUCE || j->kind == MCCL_REDUCE || j->kind == MCCL_BROADCAST)
        slice(v, &from, &n);
    if (!n)
        return true;
    for (int k = 0; k < nranks; k++) {
        /* Destinations begin with one's own, so that the ranks do not all write to the same. */
        int i = k, q = (me + k) % nranks;
        if (reduces(j->kind))
            src[nsrc++] = send[i] + (j->kind == MCCL_REDUCE_SCATTER ? (size_t)me * block : from * v->size);
        if (j->kind == MCCL_ALL_REDUCE || j->kind == MCCL_BROADCAST)
            dst[ndst++] = recv[q] + from * v->size;
        if (j->kind == MCCL_ALL_GATHER)
            dst[ndst++] = recv[q] + (size_t)me * block;
    }
    if (j->kind == MCCL_BROADCAST)
        src[nsrc++] = send[j->root] + from * v->size;
    if (j->kind == MCCL_ALL_GATHER)
        src[nsrc++] = send[me];
    if (j->kind == MCCL_REDUCE)
        dst[ndst++] = recv[j->root] + from * v->size;
    if (j->kind == MCCL_REDUCE_SCATTER)
        dst[ndst++] = recv[me];
    scales(v, scale);
    return mccl_combine(&(struct mccl_combine){
        .type = j->type,
        .op = reduces(j->kind) ? j->op : mcclSum,
        .nsrc = nsrc,
        .ndst = ndst,
        .src = src,
        .scale = scale,
        .dst = dst,
        .count = n,
        .shared = v->c->shared,
        .foreign = j->kind == MCCL_REDUCE && j->root != me,
    });
}

/* Everybody's buffers as seen from here. */
static mcclResult_t see_all(const struct view *v, char **send, char **recv)
{
    const struct mccl_job *j = v->job;
    mcclComm_t c = v->c;
    for (int i = 0; i < c->nranks; i++) {
        const struct mccl_offer *o = &c->shared->member[i].offer[v->slot];
        bool sends = j->kind != MCCL_BROADCAST || i == j->root;
        bool receives = j->kind != MCCL_REDUCE || i == j->root;
        if (i == c->rank) {
            send[i] = (char *)(uintptr_t)j->send;
            recv[i] = j->recv;
            continue;
        }
        /* Of the others only what this rank's part touches. */
        if (j->kind == MCCL_ALL_GATHER)
            sends = false;
        if (j->kind == MCCL_REDUCE_SCATTER)
            receives = false;
        send[i] = sends ? mccl_reach(c, i, &o->send) : NULL;
        recv[i] = receives ? mccl_reach(c, i, &o->recv) : NULL;
        if ((sends && !send[i]) || (receives && !recv[i])) /* the probe of mccl_settle could be mapped */
            return mccl_fail_to_reach(c, i);
    }
    return mcclSuccess;
}

/* A collective in which every rank reads the others' memory: buffers are offered, and used when all ranks could map
 * all of them; if one could not, all take the staged way, as the choice must be the same everywhere. A rank leaves
 * when all are done, since its buffers are its program's again then. */
static void offer(struct view *v)
{
    struct mccl_post *mine = begin(v);
    struct mccl_member *me = &v->c->shared->member[v->c->rank];
    me->offer[v->slot] = v->job->offer;
    mine->mappable = v->job->mappable;
    if (v->job->op == mcclNumOps)
        me->scalar[v->slot] = v->job->scale.host;
    publish(v, mine);
}

static bool all_mappable(const struct view *v)
{
    bool all = true;
    for (int i = 0; i < v->c->nranks; i++)
        all = all && post(v, i)->mappable;
    return all;
}

static mcclResult_t work_on_offers(struct view *v)
{
    char *send[MCCL_MAX_RANKS], *recv[MCCL_MAX_RANKS];
    mcclResult_t r = see_all(v, send, recv);
    if (r)
        return r;
    if (!mccl_touch(v->c))
        return mccl_kept_off(v->c);
    const bool whole = work(v, send, recv);
    mccl_touched(v->c);
    if (!whole)
        return mccl_kept_off(v->c);
    done(v);
    return mcclSuccess;
}

static mcclResult_t wait_for_done(const struct view *v)
{
    mcclResult_t r = mcclSuccess;
    for (int i = 0; i < v->c->nranks && !r; i++)
        r = mccl_wait(v->c, &v->c->shared->member[i].done, v->number, i);
    return r;
}

static mcclResult_t take_offers(struct view *v)
{
    mcclResult_t r = gather(v, true);
    if (r)
        return r;
    if (!all_mappable(v)) {
        done(v);
        return staged(v);
    }
    r = work_on_offers(v);
    return r ? r : wait_for_done(v);
}

static struct view view_of(struct mccl_job *job)
{
    return (struct view){.c = job->comm, .job = job, .size = mccl_type_size(job->type)};
}

/* ---- all others, in two halves ------------------------------------------------------------------ */

bool mccl_begin_collective(struct mccl_job *job)
{
    struct view v = view_of(job);
    const size_t room = contribution_room(&v, job->count);
    const bool brief = is_short(&v);
    if (job->op == mcclNumOps && job->scale.device)
        return false;
    if (v.c->nranks == 1) /* nothing to begin */
        return brief;
    if (v.c->net)
        return mccl_short_fits(job) && mccl_short_begin(job);
    if ((!brief && (!job->mappable || room * (size_t)v.c->nranks > MCCL_HERE_BYTES)) ||
        mccl_make_room(v.c, brief ? window(room) : MCCL_AHEAD, false))
        return false;
    if (brief)
        give(&v, 0, job->count);
    else
        offer(&v);
    job->given = v.number;
    return true;
}

enum point { NEEDED, BEGUN, DONE }; /* those that are needed have begun; all have; all are done */

static bool reached(const struct view *v, enum point point)
{
    for (int i = 0; i < v->c->nranks; i++) {
        if (i == v->c->rank || (point == NEEDED && !needs(v, i)))
            continue;
        const _Atomic uint64_t *word = point == DONE ? &v->c->shared->member[i].done : &post(v, i)->number;
        if (atomic_load_explicit(word, memory_order_acquire) < v->number)
            return false;
    }
    return true;
}

bool mccl_advance_collective(struct mccl_job *job)
{
    if (job->comm->net)
        return mccl_short_advance(job);
    if (job->comm->nranks == 1)
        return true;
    struct view v = view_of(job);
    set_number(&v, job->given);
    if (!job->worked) {
        if (!reached(&v, is_short(&v) ? NEEDED : BEGUN))
            return false;
        if (is_short(&v))
            return true;
        job->result = gather(&v, true);
        if (!job->result && !all_mappable(&v)) /* in several steps then: for the stream */
            return false;
        job->worked = true;
        job->result = job->result ? job->result : work_on_offers(&v);
    }
    return job->result || reached(&v, DONE);
}

mcclResult_t mccl_run_collective(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    struct view v = view_of(job);
    if (job->given) {
        set_number(&v, job->given);
        return is_short(&v)  ? get(&v, 0, job->count)
               : job->result ? job->result
               : job->worked ? wait_for_done(&v)
                             : take_offers(&v);
    }
    if (job->op == mcclNumOps && job->scale.device) { /* its value when the stream has come here */
        memcpy(&job->scale.host, job->scale.device, mccl_type_size(job->scale.type));
        mccl_widen_scale(&job->scale);
    }
    if (c->net)
        return mccl_short_fits(job) ? mccl_short_run(job) : mccl_net_collective(job);
    if (c->nranks == 1) {
        char *send = (char *)(uintptr_t)job->send;
        c->shared->member[0].scalar[0] = job->scale.host;
        (void)work(&v, &send, &job->recv);
        return mcclSuccess;
    }
    if (is_short(&v))
        return staged(&v);
    mcclResult_t r = mccl_make_room(c, MCCL_AHEAD, true);
    if (r)
        return r;
    offer(&v);
    return take_offers(&v);
}

/* One round in which every rank says yes or no. */
static mcclResult_t all_agree(struct view *v, bool *yes)
{
    struct mccl_post *mine = begin(v);
    mine->mappable = *yes;
    publish(v, mine);
    mcclResult_t r = gather(v, true);
    for (int i = 0; i < v->c->nranks && !r; i++)
        *yes = *yes && post(v, i)->mappable;
    done(v);
    return r;
}

mcclResult_t mccl_settle(mcclComm_t c, const void *probe)
{
    struct mccl_job job = {.comm = c};
    struct view v = {.c = c, .job = &job};
    bool yes = mccl_describe(c, probe, &c->shared->member[c->rank].offer[1].send); /* of number 1 */
    yes = yes && (c->one_process || mccl_guarded());
    mcclResult_t r = all_agree(&v, &yes);
    for (int i = 0; i < c->nranks && !r && yes; i++)
        yes = i == c->rank || mccl_reach(c, i, &c->shared->member[i].offer[1].send);
    r = r ? r : all_agree(&v, &yes); /* and so nobody frees its probe while another opens it */
    c->direct = yes;
    return r;
}
