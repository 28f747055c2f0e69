/* Racecheck: events of a launch, each once: a table of them by what they are. */
#include "ptx/tier0/race_event.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 512, TABLE_KEPT = 1 << 14 };

static uint32_t hash(const struct race_event *e)
{
    uint64_t h = e->clock * 0xc2b2ae3d27d4eb4fu;
    h ^= ((uint64_t)e->pc << 5 | (unsigned)e->kind << 2 | (unsigned)e->strong << 1 | e->silent) * 0x165667b19e3779f9u;
    return (uint32_t)(h >> 32 ^ h >> 15);
}

bool race_events_begin(struct race_events *v)
{
    v->count = 1;
    if (!v->table && (v->table = calloc(TABLE_FIRST, sizeof *v->table)))
        v->room = TABLE_FIRST;
    if (!v->chunk[0])
        v->chunk[0] = malloc(EVENTS_FIRST * sizeof *v->chunk[0]);
    return v->table && v->chunk[0];
}

static void free_table(struct race_events *v)
{
    free(v->table);
    v->table = NULL;
    v->room = 0;
}

void race_events_end(struct race_events *v)
{
    for (unsigned k = 1; k < EVENT_CHUNKS; k++) {
        free(v->chunk[k]);
        v->chunk[k] = NULL;
    }
    if (v->room > TABLE_KEPT)
        free_table(v);
    else
        memset(v->table, 0, v->room * sizeof *v->table);
}

void race_events_free(struct race_events *v)
{
    for (unsigned k = 0; k < EVENT_CHUNKS; k++)
        free(v->chunk[k]);
    free_table(v);
    pthread_mutex_destroy(&v->lock);
}

/* Where the table has it, or a place for it. */
static uint32_t *look(const struct race_events *v, uint32_t *table, uint32_t room, const struct race_event *e)
{
    uint32_t k = hash(e);
    while (table[k & (room - 1)] && !race_is_same_event(race_event_of(v, table[k & (room - 1)]), e))
        k++;
    return &table[k & (room - 1)];
}

static bool grow(struct race_events *v)
{
    const uint32_t room = 2 * v->room;
    uint32_t *table = calloc(room, sizeof *table);
    if (!table)
        return false;
    for (uint32_t n = 1; n < v->count; n++)
        *look(v, table, room, race_event_of(v, n)) = n;
    free(v->table);
    v->table = table;
    v->room = room;
    return true;
}

static uint32_t enter(struct race_events *v, const struct race_event *e)
{
    if (v->count >> STAMP_EVENT || (2 * v->count >= v->room && !grow(v)))
        return 0;
    uint32_t *at = look(v, v->table, v->room, e);
    if (*at)
        return *at;
    const uint32_t n = v->count, k = 31 - (uint32_t)__builtin_clz(n / EVENTS_FIRST + 1);
    const size_t room = (size_t)EVENTS_FIRST << k;
    if (k >= EVENT_CHUNKS || (!v->chunk[k] && !(v->chunk[k] = malloc(room * sizeof *v->chunk[k]))))
        return 0;
    v->chunk[k][n - EVENTS_FIRST * ((1u << k) - 1)] = *e;
    *at = n;
    v->count++;
    return n;
}

uint32_t race_event_enter(struct race_events *v, struct race_noted *here, const struct race_event *e)
{
    pthread_mutex_lock(&v->lock);
    const uint32_t number = enter(v, e);
    pthread_mutex_unlock(&v->lock);
    *here = (struct race_noted){*e, number};
    return number;
}
