/* Messages between hosts as calls see them: their tags, waiting for them, and what is wrong with one. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/mccl/net/net.h"

#define LOOKS 500  /* at the wire, without giving the CPU away */
#define YIELDS 200 /* then */
#define PATIENCE_MS 300

/* A tag: the class of the call and the sender, the step of the call, and what the sender means by it, which does not
 * count for the match. Messages of one sender, class and step keep their order. */
#define MATCHED 0xffffffff00000000u

static uint64_t tag_of(const struct mccl_stream *s, int from, unsigned step)
{
    return (uint64_t)s->class << 60 | (uint64_t)(from & 0xffff) << 44 | (uint64_t)(step & 0xfff) << 32 | s->signature;
}

void mccl_net_send(const struct mccl_stream *s, struct mccl_flight *f, int to, unsigned step, const void *from,
                   size_t bytes)
{
    mccl_wire_send(s->c->net->wire, f, to, tag_of(s, s->c->rank, step), from, bytes);
}

void mccl_net_receive(const struct mccl_stream *s, struct mccl_flight *f, int from, unsigned step, void *to,
                      size_t bytes)
{
    mccl_wire_receive(s->c->net->wire, f, from, tag_of(s, from, step), MATCHED, to, bytes);
}

static mcclResult_t over(mcclComm_t c) { return c->aborting ? mcclInternalError : mccl_state(c); }

mcclResult_t mccl_net_give_up(mcclComm_t c, mcclResult_t why)
{
    mccl_wire_cancel(c->net->wire);
    return why;
}

static void fail_left(mcclComm_t c, int rank)
{
    mccl_fail(c, mcclRemoteError, "rank %d on host %s has left the communicator", rank, c->net->seats[rank].name);
}

/* Notes for rank 0 one of those that the call waits for, the next one each time. */
static void note_awaited(mcclComm_t c, bool (*waits_for)(void *, int rank), void *arg)
{
    struct mccl_net *n = c->net;
    for (int i = 0, q = (int)n->awaited; i < c->nranks; i++, q++)
        if (waits_for(arg, q % c->nranks)) {
            n->awaited = (uint32_t)(q % c->nranks) + 1;
            break;
        }
    n->kind = c->doing;
    n->looks++;
}

/* Sleeps until something comes by the wire. The star's thread may have taken it in before the wire was armed. */
static void doze(struct mccl_net *n, bool (*ready)(void *), void *arg, int nap_ms)
{
    struct pollfd p = {.fd = mccl_wire_descriptor(n->wire), .events = POLLIN};
    if (mccl_wire_arm(n->wire) && !ready(arg))
        (void)poll(&p, 1, nap_ms);
}

mcclResult_t mccl_net_wait(mcclComm_t c, bool (*ready)(void *), void *arg, bool (*waits_for)(void *, int rank),
                           int nap_ms)
{
    struct mccl_net *n = c->net;
    mcclResult_t r = mcclSuccess;
    int64_t grace = 0;
    int looks = c->crowded ? LOOKS - 20 : 0;
    unsigned moves = mccl_wire_moves(n->wire);
    n->waiting++;
    n->waits++;
    atomic_fetch_add_explicit(&n->moved, 1, memory_order_relaxed);
    for (int i = looks; !ready(arg); i++) {
        mccl_wire_progress(n->wire);
        if (mccl_wire_moves(n->wire) != moves) { /* a long message that flows is not slept on */
            moves = mccl_wire_moves(n->wire);
            i = looks;
        }
        if (i < LOOKS)
            mccl_pause();
        else if (i < LOOKS + YIELDS)
            i = mccl_yield() ? i : LOOKS + YIELDS;
        else if (!ready(arg)) {
            note_awaited(c, waits_for, arg);
            doze(n, ready, arg, nap_ms);
        }
        r = i % 16 && i < LOOKS + YIELDS ? mcclSuccess : over(c);
        if (r && (ready(arg) || mccl_in_grace(c, &grace)))
            r = mcclSuccess;
        for (int q = 0; q < c->nranks && !r && i > LOOKS + YIELDS; q++)
            if (n->left[q] && waits_for(arg, q)) {
                mccl_wire_progress(n->wire);
                if (ready(arg))
                    break;
                fail_left(c, q);
                r = over(c);
            }
        if (r)
            break;
    }
    n->waiting--;
    n->awaited = 0;
    return r;
}

struct set {
    struct mccl_flight *f;
    int n;
};

static bool all_done(void *arg)
{
    const struct set *s = arg;
    for (int i = 0; i < s->n; i++)
        if (!atomic_load_explicit(&s->f[i].done, memory_order_acquire))
            return false;
    return true;
}

/* Done, or one of them is wrong. */
static bool settled(void *arg)
{
    const struct set *s = arg;
    for (int i = 0; i < s->n; i++)
        if (atomic_load_explicit(&s->f[i].done, memory_order_acquire) && s->f[i].status)
            return true;
    return all_done(arg);
}

static bool waits_for(void *arg, int rank)
{
    const struct set *s = arg;
    for (int i = 0; i < s->n; i++)
        if (!s->f[i].done && s->f[i].peer == rank)
            return true;
    return false;
}

/* What two ranks mean by a call, as far as the signature tells. */
static void differ(const struct mccl_stream *s, const struct mccl_flight *f)
{
    uint32_t theirs = (uint32_t)f->tag, mine = s->signature;
    mcclComm_t c = s->c;
    const char *what = s->class == MCCL_PAIR  ? "ncclSend and ncclRecv"
                       : s->class == MCCL_ALL ? mccl_kind_name(s->job->kind)
                                              : "ncclCommWindowRegister";
    if (s->class == MCCL_ALL && (theirs & 15) != (mine & 15))
        mccl_fail(c, mcclInvalidUsage, "rank %d calls %s, rank %d on host %s calls %s", c->rank, what, f->peer,
                  c->net->seats[f->peer].name, mccl_kind_name(theirs & 15));
    else if ((theirs >> 4 & 15) != (mine >> 4 & 15) && s->class == MCCL_ALL)
        mccl_fail(c, mcclInvalidUsage, "rank %d and rank %d on host %s disagree in %s: type %s against %s", c->rank,
                  f->peer, c->net->seats[f->peer].name, what, mccl_type_name(mine >> 4 & 15),
                  mccl_type_name(theirs >> 4 & 15));
    else
        mccl_fail(c, mcclInvalidUsage, "rank %d and rank %d on host %s disagree in %s: %s", c->rank, f->peer,
                  c->net->seats[f->peer].name, what,
                  s->class == MCCL_PAIR ? "count or type" : "count, operation, root or an earlier call");
}

mcclResult_t mccl_net_check(const struct mccl_stream *s, const struct mccl_flight *f)
{
    mcclComm_t c = s->c;
    if (f->status && !mccl_wire_truncated(f->status)) {
        /* Who is gone, and how, the star knows better, and soon. */
        for (int i = 0; i < PATIENCE_MS && !over(c) && !c->net->left[f->peer]; i++)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (c->net->left[f->peer])
            fail_left(c, f->peer);
        mccl_fail(c, mcclRemoteError, "rank %d lost the connection to rank %d on host %s: %s", c->rank, f->peer,
                  c->net->seats[f->peer].name, mccl_wire_error(f->status));
        return mccl_state(c);
    }
    if (f->receives && (f->status || f->bytes != f->wanted || (uint32_t)f->tag != s->signature)) {
        differ(s, f);
        return mcclInvalidUsage;
    }
    return mcclSuccess;
}

mcclResult_t mccl_net_look(const struct mccl_stream *s, struct mccl_flight *f, int n)
{
    struct set set = {f, n};
    atomic_fetch_add_explicit(&s->c->net->moved, 1, memory_order_relaxed);
    if (!all_done(&set))
        mccl_wire_progress(s->c->net->wire);
    if (!settled(&set))
        return mcclInProgress;
    mcclResult_t r = mcclSuccess;
    for (int i = 0; i < n && !r; i++)
        if (f[i].done)
            r = mccl_net_check(s, &f[i]);
    return r;
}

mcclResult_t mccl_net_settle(const struct mccl_stream *s, struct mccl_flight *f, int n)
{
    struct set set = {f, n};
    mcclResult_t r = mccl_net_wait(s->c, settled, &set, waits_for, MCCL_NAP_MS);
    for (int i = 0; i < n && !r; i++)
        if (f[i].done)
            r = mccl_net_check(s, &f[i]);
    return r ? mccl_net_give_up(s->c, r) : mcclSuccess;
}
