/* Racecheck: stamps of accesses to global memory: a thread of the launch and an event, what many threads of many
 * blocks did. A launch has few events, so that a stamp is mostly one number, which is compared as such. */
#ifndef CUMU_PTX_TIER0_RACE_EVENT_H
#define CUMU_PTX_TIER0_RACE_EVENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct race_event {
    uint32_t clock; /* of the thread, since its block began */
    uint32_t pc;
    uint8_t kind; /* enum t0_access_kind */
    bool strong;
    bool silent; /* of a store: no store of this launch has changed the word */
};
/* By fields, as they are set: a wider load would wait for their stores. */
static inline bool race_is_same_event(const struct race_event *a, const struct race_event *b)
{
    return a->clock == b->clock && a->pc == b->pc && a->kind == b->kind && a->strong == b->strong &&
           a->silent == b->silent;
}

/* What: from the lowest bit on the event's number (none is 0), whether it is strong, the thread's slot and block. */
struct stamp {
    uint64_t what; /* 0: none */
    uint32_t time; /* releases of the launch before it */
} __attribute__((packed, aligned(4)));
enum { STAMP_EVENT = 23, STAMP_THREAD = STAMP_EVENT + 1, STAMP_THREADS = 64 - STAMP_THREAD };
static inline bool stamp_is_strong(uint64_t stamp) { return stamp >> STAMP_EVENT & 1; }
static inline bool stamp_is_of(uint64_t stamp, uint64_t thread) { return (stamp ^ thread) >> STAMP_THREAD == 0; }

/* Chunks of 256 events, 512 and so on, so that a number stays where it is while others come. */
enum { EVENTS_FIRST = 256, EVENT_CHUNKS = 16 };
struct race_events { /* of a launch */
    pthread_mutex_t lock;
    uint32_t count; /* and 1 */
    uint32_t *table, room;
    struct race_event *chunk[EVENT_CHUNKS];
};

/* Of the events of late those of a block, so that most are found without the lock. */
enum { EVENTS_NOTED = 64 };
struct race_noted {
    struct race_event event;
    uint32_t number; /* 0: none */
};

bool race_events_begin(struct race_events *v);
void race_events_end(struct race_events *v); /* keeps some room for the next launch */
void race_events_free(struct race_events *v);
/* The number of an event; 0: there is no memory, or there are too many. */
uint32_t race_event_enter(struct race_events *v, struct race_noted *here, const struct race_event *e);
static inline uint32_t race_event_number(struct race_events *v, struct race_noted noted[EVENTS_NOTED],
                                         const struct race_event *e)
{
    struct race_noted *here = &noted[(e->pc * 2 + e->silent + e->clock) % EVENTS_NOTED];
    return here->number && race_is_same_event(&here->event, e) ? here->number : race_event_enter(v, here, e);
}
/* Of a stamp that is not 0, which another thread has left under a lock that this one has held since. */
static inline const struct race_event *race_event_of(const struct race_events *v, uint64_t stamp)
{
    const uint32_t n = (uint32_t)stamp & ((1u << STAMP_EVENT) - 1),
                   k = 31 - (uint32_t)__builtin_clz(n / EVENTS_FIRST + 1);
    return &v->chunk[k][n - EVENTS_FIRST * ((1u << k) - 1)];
}

#endif
