/* Ranks at work in each other's memory: while a collective, a message or a put moves data there, its owner must not
 * take the memory for its program's again, be its call lost or not. Whoever has failed asks the others to keep off, and
 * waits until they do. */
#include <string.h>
#include <time.h>

#include "host/mccl/net/net.h"

#define BLOCK (256 << 10) /* that is copied between two looks */
#define MOST_MS 1000      /* for a process that has neither ended nor stopped, nor does anything */

static struct mccl_member *own(mcclComm_t c) { return &c->shared->member[c->rank]; }

bool mccl_touch(mcclComm_t c)
{
    atomic_fetch_add(&own(c)->touches, 1); /* in one order with the other's: this one sees that, or that one this */
    if (!atomic_load(&c->shared->keep_off))
        return true;
    mccl_touched(c);
    return false;
}

void mccl_touched(mcclComm_t c) { atomic_fetch_sub_explicit(&own(c)->touches, 1, memory_order_release); }

mcclResult_t mccl_kept_off(mcclComm_t c)
{
    mcclResult_t r = mccl_state(c);
    return r ? r : mcclRemoteError;
}

mcclResult_t mccl_touch_copy(mcclComm_t c, void *to, const void *from, size_t bytes)
{
    size_t at = 0, block = BLOCK;
    if (!mccl_touch(c))
        return mccl_kept_off(c);
    if ((uintptr_t)to - (uintptr_t)from < bytes) /* they overlap, in a put into one's own window */
        block = bytes;
    for (size_t n; at < bytes && !mccl_must_keep_off(c->shared); at += n) {
        n = bytes - at < block ? bytes - at : block;
        memmove((char *)to + at, (const char *)from + at, n);
    }
    mccl_touched(c);
    return at < bytes ? mccl_kept_off(c) : mcclSuccess;
}

mcclResult_t mccl_touch_put(mcclComm_t c, int rank, void *to, const void *from, size_t bytes)
{
    if (c->shared->member[rank].process == own(c)->process)
        return mccl_touch_copy(c, to, from, bytes);
    if (!mccl_touch(c))
        return mccl_kept_off(c);
    const bool whole = mccl_guarded_copy(c->shared, to, from, bytes);
    mccl_touched(c);
    return whole ? mcclSuccess : mccl_kept_off(c);
}

void mccl_keep_off(mcclComm_t c)
{
    if (c->net)
        mccl_far_keep_off(c->net);
    c = c->local ? c->local : c;
    atomic_store(&c->shared->keep_off, 1);
    int64_t end = mccl_now_ms() + MOST_MS;
    for (int i = 0; i < c->nranks; i++) {
        const struct mccl_member *m = &c->shared->member[i];
        const bool here = m->process == own(c)->process;
        while (i != c->rank && atomic_load(&m->touches) && (here || mccl_now_ms() < end)) {
            if (!here && (mccl_is_gone(c, i, 0) || (c->shared->unheard && mccl_stands_still(c, i))))
                break;
            nanosleep(&(struct timespec){0, 50000}, NULL);
        }
    }
}
