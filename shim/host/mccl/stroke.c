/* A short broadcast at a stroke: under the lock of the streams, by the calling thread, which has no place in its
 * stream. Its root waits for nobody, so that two ranks which take themselves for the root would not find out by their
 * data: roots enter their number in one word that they share. */
#include <string.h>

#include "host/mccl/collective.h"

bool mccl_enter_root(const struct view *v)
{
    mcclComm_t c = v->c;
    uint64_t before = atomic_exchange(&c->shared->rooted, v->number << 8 | (uint64_t)c->rank);
    int other = (int)(before & 255);
    if (before >> 8 < v->number || other == c->rank)
        return true;
    c->refused = v->number;
    c->rival = other;
    return false;
}

bool mccl_is_stroke(const struct mccl_job *job)
{
    return job->kind == MCCL_BROADCAST && !job->comm->net && job->comm->nranks > 1 &&
           job->count * mccl_type_size(job->type) <= MCCL_COPIED_BYTES;
}

bool mccl_stroke_can_go(const struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    const uint64_t next = c->number + 1, ahead = window(job->count * mccl_type_size(job->type));
    if (next > c->passed + ahead && mccl_make_room(c, ahead, false))
        return false;
    return job->root == c->rank || atomic_load_explicit(&c->shared->member[job->root].post[next % MCCL_AHEAD].number,
                                                        memory_order_acquire) >= next;
}

bool mccl_step_stroke(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    const size_t bytes = job->count * mccl_type_size(job->type);
    struct view v = {.c = c, .job = job, .size = 1};
    const bool root = job->root == c->rank;
    const uint64_t history = mix(c->history, job);
    set_number(&v, c->number + 1);
    if (!root && post(&v, job->root)->history != history)
        return false;
    count_as(&v, history);
    if (root && !mccl_enter_root(&v)) {
        job->given = v.number;
        return false;
    }
    struct mccl_post *mine = describe(&v);
    if (root) {
        memcpy(place(&v, c->rank, bytes), job->send, bytes);
        publish_ahead(&v, mine);
    } else
        atomic_store_explicit(&mine->number, v.number, memory_order_release);
    const void *from = root ? job->send : (const void *)place(&v, job->root, bytes);
    if (from != job->recv)
        memcpy(job->recv, from, bytes);
    if (v.number % LAZY == 0)
        atomic_store_explicit(&c->shared->member[c->rank].done, v.number, memory_order_release);
    return true;
}
