/* Racecheck: vector clocks of the threads of a cluster. Threads that have just met share one vector, so that a
 * barrier costs as much as one join and an access one look-up. */
#include "ptx/tier0/race.h"

#include <stdlib.h>
#include <string.h>

struct vector { /* of clocks, one a slot */
    uint32_t refs;
    uint64_t version; /* changes with its contents, unique */
    struct vector *next_free;
    uint32_t clock[];
};

struct object { /* what releases and acquires meet at */
    uint64_t name;
    struct vector *v;
    uint64_t taken; /* version of the vector that was released last */
};

struct race_clocks {
    uint32_t threads, slots, barriers;
    uint64_t versions;
    uint32_t *clock;         /* of each slot, from 1 */
    struct vector **know;    /* of each thread; shared */
    uint64_t *seen;          /* version of what each thread acquired last */
    struct vector **arrived; /* of each barrier: what threads that did not wait knew; NULL: none */
    struct vector *gone;     /* what threads that exited knew */
    uint64_t gone_taken;
    struct vector *spare;
    struct object *object; /* open addressing, a power of two of them */
    uint32_t objects, objects_room;
};

static struct vector *new_vector(struct race_clocks *c)
{
    struct vector *v = c->spare;
    if (v)
        c->spare = v->next_free;
    else if (!(v = malloc(sizeof *v + c->slots * sizeof v->clock[0])))
        return NULL;
    v->refs = 1;
    v->version = ++c->versions;
    return v;
}

static void drop(struct race_clocks *c, struct vector *v)
{
    if (!v || --v->refs)
        return;
    v->next_free = c->spare;
    c->spare = v;
}

static struct vector *copy(struct race_clocks *c, const struct vector *of)
{
    struct vector *v = new_vector(c);
    if (v)
        memcpy(v->clock, of->clock, c->slots * sizeof of->clock[0]);
    return v;
}

static void join(struct race_clocks *c, struct vector *to, const struct vector *from)
{
    for (uint32_t k = 0; k < c->slots; k++)
        to->clock[k] = to->clock[k] > from->clock[k] ? to->clock[k] : from->clock[k];
    to->version = ++c->versions;
}

/* Vectors change only in the hands of one: the thread's own, if it is not. */
static struct vector *own(struct race_clocks *c, uint32_t thread)
{
    struct vector *v = c->know[thread];
    if (v->refs == 1)
        return v;
    struct vector *mine = copy(c, v);
    if (!mine)
        return NULL;
    drop(c, v);
    return c->know[thread] = mine;
}

/* *to takes up what the thread knows, and its own past. `taken` spares a join with the vector of the last time. */
static bool give(struct race_clocks *c, uint32_t thread, struct vector **to, uint64_t *taken)
{
    const struct vector *v = c->know[thread];
    if (!*to) {
        if (!(*to = copy(c, v)))
            return false;
    } else if (!taken || *taken != v->version) {
        join(c, *to, v);
    }
    if (taken)
        *taken = v->version;
    (*to)->clock[thread] = c->clock[thread]++;
    (*to)->version = ++c->versions;
    return true;
}

static void clear_objects(struct race_clocks *c)
{
    for (uint32_t k = 0; k < c->objects_room && c->objects; k++) {
        drop(c, c->object[k].v);
        c->object[k].v = NULL;
    }
    c->objects = 0;
}

static struct object *find(const struct race_clocks *c, uint64_t name)
{
    uint32_t k = (uint32_t)(name * 0x9e3779b97f4a7c15u >> 32);
    if (!c->objects_room)
        return NULL;
    while (c->object[k & (c->objects_room - 1)].v && c->object[k & (c->objects_room - 1)].name != name)
        k++;
    return &c->object[k & (c->objects_room - 1)];
}

static struct object *make_object(struct race_clocks *c, uint64_t name)
{
    if (2 * c->objects >= c->objects_room) {
        struct race_clocks more = {.objects_room = c->objects_room ? 2 * c->objects_room : 64};
        if (!(more.object = calloc(more.objects_room, sizeof *more.object)))
            return NULL;
        for (uint32_t k = 0; k < c->objects_room; k++)
            if (c->object[k].v)
                *find(&more, c->object[k].name) = c->object[k];
        free(c->object);
        c->object = more.object;
        c->objects_room = more.objects_room;
    }
    struct object *o = find(c, name);
    if (!o->v) {
        o->name = name;
        o->taken = 0;
        c->objects++;
    }
    return o;
}

struct race_clocks *race_clocks_new(uint32_t threads, uint32_t slots, uint32_t barriers)
{
    struct race_clocks *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->threads = threads;
    c->slots = slots;
    c->barriers = barriers;
    c->clock = calloc(slots, sizeof *c->clock);
    c->know = calloc(threads, sizeof(struct vector *));
    c->seen = calloc(threads, sizeof *c->seen);
    c->arrived = calloc(barriers, sizeof(struct vector *));
    if (c->clock && c->know && c->seen && c->arrived)
        return c;
    race_clocks_free(c);
    return NULL;
}

static void forget(struct race_clocks *c)
{
    clear_objects(c);
    for (uint32_t k = 0; c->arrived && k < c->barriers; k++) {
        drop(c, c->arrived[k]);
        c->arrived[k] = NULL;
    }
    for (uint32_t k = 0; c->know && k < c->threads; k++) {
        drop(c, c->know[k]);
        c->know[k] = NULL;
    }
    drop(c, c->gone);
    c->gone = NULL;
}

void race_clocks_free(struct race_clocks *c)
{
    if (!c)
        return;
    forget(c);
    for (struct vector *v = c->spare, *next; v; v = next) {
        next = v->next_free;
        free(v);
    }
    free(c->clock);
    free(c->know);
    free(c->seen);
    free(c->arrived);
    free(c->object);
    free(c);
}

bool race_clocks_begin(struct race_clocks *c)
{
    forget(c);
    struct vector *v = new_vector(c);
    if (!v)
        return false;
    for (uint32_t k = 0; k < c->slots; k++)
        v->clock[k] = c->clock[k]++;
    for (uint32_t k = 0; k < c->threads; k++)
        c->know[k] = v;
    v->refs = c->threads;
    return true;
}

struct race_stamp race_now(const struct race_clocks *c, uint32_t slot)
{
    return (struct race_stamp){c->clock[slot], slot};
}

bool race_is_ordered(const struct race_clocks *c, struct race_stamp s, uint32_t thread)
{
    return s.slot == thread || c->know[thread]->clock[s.slot] >= s.clock;
}

/* The threads wait for each other: each knows then what one of them knew, and what was left at the barrier. Most
 * often they share a vector already, which nobody else has: that is changed in place. */
bool race_meet(struct race_clocks *c, const uint32_t *thread, uint32_t count, bool with_gone, uint32_t barrier)
{
    if (!count)
        return true;
    struct vector *v = c->know[thread[0]];
    bool alike = true;
    for (uint32_t k = 1; k < count && alike; k++)
        alike = c->know[thread[k]] == v;
    if (!alike || v->refs != count) {
        const struct vector *last = v;
        if (!(v = copy(c, v)))
            return false;
        for (uint32_t k = 1; k < count; k++) {
            const struct vector *next = c->know[thread[k]];
            if (next != last)
                join(c, v, next);
            last = next;
        }
        for (uint32_t k = 0; k < count; k++) {
            drop(c, c->know[thread[k]]);
            c->know[thread[k]] = v;
        }
        v->refs = count;
    }
    if (with_gone && c->gone)
        join(c, v, c->gone);
    if (barrier < c->barriers && c->arrived[barrier]) {
        join(c, v, c->arrived[barrier]);
        drop(c, c->arrived[barrier]);
        c->arrived[barrier] = NULL;
    }
    for (uint32_t k = 0; k < count; k++)
        v->clock[thread[k]] = c->clock[thread[k]]++;
    v->version = ++c->versions;
    return true;
}

bool race_arrive(struct race_clocks *c, uint32_t thread, uint32_t barrier)
{
    return give(c, thread, &c->arrived[barrier], NULL);
}

bool race_exit(struct race_clocks *c, uint32_t thread) { return give(c, thread, &c->gone, &c->gone_taken); }

bool race_release(struct race_clocks *c, uint32_t thread, uint64_t name)
{
    struct object *o = make_object(c, name);
    return o && give(c, thread, &o->v, &o->taken);
}

bool race_is_object(const struct race_clocks *c, uint64_t name)
{
    const struct object *o = c->objects ? find(c, name) : NULL;
    return o && o->v;
}

bool race_acquire(struct race_clocks *c, uint32_t thread, uint64_t name)
{
    const struct object *o = c->objects ? find(c, name) : NULL;
    if (!o || !o->v || c->seen[thread] == o->v->version)
        return true;
    struct vector *v = own(c, thread);
    if (!v)
        return false;
    join(c, v, o->v);
    c->seen[thread] = o->v->version;
    return true;
}

/* ---- asynchronous copies: the clock of a thread's copies counts their groups ---------------------- */

void race_commit(struct race_clocks *c, uint32_t thread) { c->clock[c->threads + thread]++; }

bool race_wait(struct race_clocks *c, uint32_t thread, uint32_t pending)
{
    const uint32_t copies = c->threads + thread, current = c->clock[copies];
    struct vector *v = own(c, thread);
    if (!v)
        return false;
    if (pending < current && current - 1 - pending > v->clock[copies])
        v->clock[copies] = current - 1 - pending;
    v->version = ++c->versions;
    return true;
}

bool race_copies_release(struct race_clocks *c, uint32_t thread, uint64_t name)
{
    const uint32_t copies = c->threads + thread;
    struct object *o = make_object(c, name);
    if (!o || !give(c, thread, &o->v, &o->taken))
        return false;
    o->v->clock[copies] = c->clock[copies]++;
    return true;
}
