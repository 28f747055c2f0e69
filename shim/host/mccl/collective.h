/* What short collectives share, in two halves (collective.c) or at a stroke (stroke.c): their numbers, what a rank says
 * of them, and where it puts its data. */
#ifndef CUMU_HOST_MCCL_COLLECTIVE_H
#define CUMU_HOST_MCCL_COLLECTIVE_H

#include "host/mccl/mccl.h"

#define LAZY 8 /* at most MCCL_STAGES: a root waits for no number that it has not published */

struct view { /* of one collective or chunk */
    mcclComm_t c;
    const struct mccl_job *job;
    size_t size; /* of an element */
    uint64_t number, slot;
};

static inline struct mccl_what what_of(const struct mccl_job *j)
{
    j = j->whole ? j->whole : j;
    return (struct mccl_what){.kind = (uint8_t)j->kind,
                              .type = (uint8_t)j->type,
                              .op = (uint8_t)j->op,
                              .root = (uint8_t)j->root,
                              .count = j->count};
}

/* What must agree between ranks, in their order. */
static inline uint64_t mix(uint64_t history, const struct mccl_job *j)
{
    j = j->whole ? j->whole : j;
    uint64_t what = (uint64_t)j->kind | (uint64_t)j->type << 3 | (uint64_t)(j->op & 15) << 7 | (uint64_t)j->root << 11 |
                    (uint64_t)j->count << 20;
    return (history ^ what) * 0x9e3779b97f4a7c15u ^ history >> 29;
}

static inline void set_number(struct view *v, uint64_t number)
{
    v->number = number;
    v->slot = number % MCCL_AHEAD;
}

/* Rank i's, of this number. */
static inline struct mccl_post *post(const struct view *v, int i) { return &v->c->shared->member[i].post[v->slot]; }

/* How far a rank may be ahead with a contribution of that size. */
static inline uint64_t window(size_t bytes)
{
    return bytes <= MCCL_INLINE ? MCCL_AHEAD : bytes <= MCCL_STAGED_BYTES ? MCCL_STAGED_AHEAD : MCCL_STAGES;
}

/* The next number, for which there is room. */
static inline void count_as(struct view *v, uint64_t history)
{
    mcclComm_t c = v->c;
    set_number(v, ++c->number);
    c->history = history;
    c->shared->member[c->rank].what[v->slot] = what_of(v->job);
}

/* And this rank's line, unpublished. */
static inline struct mccl_post *describe(const struct view *v)
{
    struct mccl_post *mine = post(v, v->c->rank);
    mine->history = v->c->history;
    return mine;
}

/* Where rank i's contribution of that size lies: in the counter's line or in a staging area. */
static inline unsigned char *place(const struct view *v, int i, size_t bytes)
{
    struct mccl_member *m = &v->c->shared->member[i];
    return bytes <= MCCL_INLINE         ? post(v, i)->data
           : bytes <= MCCL_STAGED_BYTES ? m->small[v->number % MCCL_STAGED_AHEAD]
                                        : m->stage[v->number % MCCL_STAGES];
}

/* Nobody looks at the next number's line yet, which this CPU fetches meanwhile: later it would have to wait for it. */
static inline void publish_ahead(const struct view *v, struct mccl_post *mine)
{
    atomic_store_explicit(&mine->number, v->number, memory_order_release);
#if defined __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(v->c->shared->member[v->c->rank].post[(v->number + 1) % MCCL_AHEAD]));
#endif
}

/* collective.c. Every rank must be done with what a new post takes the place of. Only looks, if it may not wait. */
mcclResult_t mccl_make_room(mcclComm_t c, uint64_t ahead, bool may_wait);

/* stroke.c. Of a short broadcast this rank is about to publish its part as the root: no other one may be. In their
 * order roots come one after the other, as each has had the data of the one before. False: there is another one,
 * `rival`, whom it meets instead of what it would do later. */
bool mccl_enter_root(const struct view *v);

#endif
