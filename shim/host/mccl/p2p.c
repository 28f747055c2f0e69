/* Sends and receives of one group, all under way at once: each goes as far as its mailbox lets it, until
 * none is left. A message is one letter if it is short or the receiver can reach the sender's memory, a
 * train of letters otherwise. */
#include <string.h>

#include "host/mccl/net/net.h"

static struct mccl_mailbox *mailbox(mcclComm_t c, const struct mccl_transfer *t)
{
    return t->send ? mccl_mailbox(c->shared, c->rank, t->peer) : mccl_mailbox(c->shared, t->peer, c->rank);
}

/* Transfers with one peer in one direction keep their order: is an earlier one not complete? */
static bool blocked(const struct mccl_job *j, int i)
{
    const struct mccl_transfer *t = &j->transfers[i];
    for (int k = 0; k < i; k++) {
        const struct mccl_transfer *e = &j->transfers[k];
        if (e->send == t->send && e->peer == t->peer && !e->complete && !(e->send && e->posted))
            return true;
    }
    return false;
}

static uint64_t load(const _Atomic uint64_t *word) { return atomic_load_explicit(word, memory_order_acquire); }

static bool is_direct(const struct mccl_transfer *t) { return !t->moved && t->bytes > MCCL_LETTER && t->mappable; }

/* Is there room for the next letter? The receiver's count is asked only when the mailbox seems full. */
static bool has_room(struct mccl_mailbox *box, const struct mccl_transfer *t)
{
    uint64_t sent = atomic_load_explicit(&box->sent, memory_order_relaxed);
    const uint64_t most = t->bytes - t->moved <= MCCL_FEW || is_direct(t) ? MCCL_DEPTH : MCCL_LARGE;
    if (sent - box->seen >= most)
        box->seen = load(&box->taken);
    return sent - box->seen < most;
}

/* Is the next letter there? */
static bool has_letter(const struct mccl_mailbox *box)
{
    uint64_t taken = atomic_load_explicit(&box->taken, memory_order_relaxed);
    return load(&box->letter[taken % MCCL_DEPTH].number) == taken + 1;
}

/* The lines that a next letter of that size takes, which the receiver has read: this CPU fetches them meanwhile. */
static void fetch_next(const struct mccl_mailbox *box, uint64_t sent, size_t bytes)
{
#if defined __x86_64__
    const unsigned char *data = box->data[sent % MCCL_LARGE];
    for (size_t at = 0; at < bytes && bytes > MCCL_FEW && bytes <= MCCL_COPIED_BYTES; at += 64)
        __asm__ volatile("prefetchw %0" : : "m"(data[at]));
#endif
}

/* Posts what fits. */
static bool step_send(mcclComm_t c, struct mccl_transfer *t)
{
    struct mccl_mailbox *box = mailbox(c, t);
    if (t->posted) { /* the receiver copies; done when it has taken the letter */
        t->complete = load(&box->taken) >= t->letter;
        return t->complete;
    }
    bool moved = false;
    while (!t->complete && !t->posted && has_room(box, t)) {
        uint64_t sent = atomic_load_explicit(&box->sent, memory_order_relaxed);
        struct mccl_letter *l = &box->letter[sent % MCCL_DEPTH];
        size_t left = t->bytes - t->moved, n = 0;
        l->total = t->bytes;
        l->type = (uint16_t)t->type;
        l->direct = is_direct(t);
        if (l->direct) {
            l->piece = t->piece;
            t->posted = true;
        } else {
            n = left < MCCL_LETTER ? left : MCCL_LETTER;
            l->bytes = (uint32_t)n;
            memcpy(n <= MCCL_FEW ? l->few : box->data[sent % MCCL_LARGE], t->at + t->moved, n);
            t->moved += n;
            t->complete = t->moved == t->bytes;
        }
        t->letter = ++sent;
        atomic_store_explicit(&box->sent, sent, memory_order_relaxed);
        atomic_store_explicit(&l->number, sent, memory_order_release);
        fetch_next(box, sent, n);
        moved = true;
    }
    return moved;
}

/* Takes what lies in the mailbox: letters in pieces, or the place of the whole message in the sender's memory. The
 * sizes of both sides are compared here, as only the receiver sees both. */
static mcclResult_t step_receive(mcclComm_t c, struct mccl_transfer *t, bool *moved)
{
    struct mccl_mailbox *box = mailbox(c, t);
    while (!t->complete && has_letter(box)) {
        uint64_t taken = atomic_load_explicit(&box->taken, memory_order_relaxed);
        const struct mccl_letter *l = &box->letter[taken % MCCL_DEPTH];
        if (l->total != t->bytes) {
            size_t theirs = mccl_type_size((mcclDataType_t)l->type), mine = mccl_type_size(t->type);
            mccl_fail(c, mcclInvalidUsage, "rank %d sends %llu of %s, rank %d receives %llu of %s",
                      mccl_name(c, t->peer), (unsigned long long)(l->total / (theirs ? theirs : 1)),
                      mccl_type_name(l->type), mccl_name(c, c->rank), (unsigned long long)(t->bytes / mine),
                      mccl_type_name((unsigned)t->type));
            return mcclInvalidUsage;
        }
        if (l->direct) {
            const void *from = mccl_reach(c, t->peer, &l->piece);
            if (!from)
                return mccl_fail_to_reach(c, t->peer);
            mcclResult_t r = mccl_touch_copy(c, t->at, from, t->bytes);
            if (r)
                return r;
            t->complete = true;
        } else {
            memcpy(t->at + t->moved, l->bytes <= MCCL_FEW ? l->few : box->data[taken % MCCL_LARGE], l->bytes);
            t->moved += l->bytes;
            t->complete = t->moved == t->bytes;
        }
        atomic_store_explicit(&box->taken, taken + 1, memory_order_release);
        *moved = true;
    }
    return mcclSuccess;
}

bool mccl_can_step(void *arg)
{
    const struct mccl_job *j = arg;
    for (int i = 0; i < j->ntransfers; i++) {
        const struct mccl_transfer *t = &j->transfers[i];
        if (t->complete || blocked(j, i))
            continue;
        struct mccl_mailbox *box = mailbox(j->comm, t);
        if (!t->send ? has_letter(box) : t->posted ? load(&box->taken) >= t->letter : has_room(box, t))
            return true;
    }
    return false;
}

bool mccl_waits_for(void *arg, int rank)
{
    const struct mccl_job *j = arg;
    for (int i = 0; i < j->ntransfers; i++)
        if (!j->transfers[i].complete && j->transfers[i].peer == rank)
            return true;
    return false;
}

mcclResult_t mccl_step_transfers(struct mccl_job *job, int *left, bool *moved)
{
    mcclComm_t c = job->comm;
    *moved = false;
    *left = 0;
    for (int i = 0; i < job->ntransfers; i++) {
        struct mccl_transfer *t = &job->transfers[i];
        mcclResult_t r = mcclSuccess;
        if (t->complete)
            continue;
        if (!blocked(job, i)) {
            if (t->send)
                *moved = step_send(c, t) || *moved;
            else
                r = step_receive(c, t, moved);
        }
        if (r)
            return r;
        *left += !t->complete;
    }
    if (*moved && (*left || !job->way.held)) /* else the others are told when its turn is over */
        mccl_notify(c);
    return mcclSuccess;
}

void mccl_reset_transfers(struct mccl_job *job)
{
    for (int i = 0; i < job->ntransfers; i++) {
        struct mccl_transfer *t = &job->transfers[i];
        t->posted = t->complete = false;
        t->moved = 0;
    }
}

bool mccl_is_letter(mcclComm_t c, const struct mccl_transfer *t) { return !c->net && t->bytes <= MCCL_COPIED_BYTES; }

bool mccl_letter_can_go(mcclComm_t c, const struct mccl_transfer *t)
{
    return t->send ? has_room(mailbox(c, t), t) : has_letter(mailbox(c, t));
}

bool mccl_step_letter(mcclComm_t c, struct mccl_transfer *t)
{
    const struct mccl_mailbox *box = mailbox(c, t);
    bool moved;
    if (t->send)
        return step_send(c, t) && t->complete;
    const uint64_t taken = atomic_load_explicit(&box->taken, memory_order_relaxed);
    return has_letter(box) && box->letter[taken % MCCL_DEPTH].total == t->bytes && !step_receive(c, t, &moved);
}

bool mccl_begin_transfers(struct mccl_job *job)
{
    size_t bytes = 0;
    for (int i = 0; i < job->ntransfers; i++)
        bytes += job->transfers[i].bytes;
    if (bytes > MCCL_HERE_BYTES)
        return false;
    if (job->comm->net)
        return mccl_net_begin_transfers(job);
    mccl_reset_transfers(job);
    job->begun = true;
    return true;
}

bool mccl_advance_transfers(struct mccl_job *job)
{
    int left;
    bool moved;
    if (job->comm->net)
        return mccl_net_advance_transfers(job);
    if (mccl_step_transfers(job, &left, &moved)) /* an error is the communicator's from now on */
        return true;
    job->worked = !left;
    return job->worked;
}

mcclResult_t mccl_run_transfers(struct mccl_job *job)
{
    if (job->comm->net)
        return mccl_net_transfers(job);
    if (job->worked)
        return mcclSuccess;
    if (!job->begun) /* a graph runs the same job again */
        mccl_reset_transfers(job);
    for (;;) {
        int left;
        bool moved;
        mcclResult_t r = mccl_step_transfers(job, &left, &moved);
        if (r || !left)
            return r;
        if (!moved)
            r = mccl_wait_for(job->comm, mccl_can_step, job, mccl_waits_for);
        if (r)
            return r;
    }
}
