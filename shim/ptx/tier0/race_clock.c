/* Racecheck: vector clocks of the threads of a cluster. Threads that have just met share one vector, so that a
 * barrier costs as much as one join and an access one look-up. */
#include "ptx/tier0/race_clock.h"

#include <stdlib.h>
#include <string.h>

struct race_object { /* what releases and acquires meet at */
    uint64_t name;
    struct race_vector *v;
    uint64_t taken; /* version of the vector that was released last */
};

static struct race_vector *new_vector(struct race_clocks *c)
{
    struct race_vector *v = c->spare;
    if (v)
        c->spare = v->next_free;
    else if (!(v = malloc(sizeof *v + c->slots * sizeof v->clock[0])))
        return NULL;
    v->refs = 1;
    v->version = ++c->versions;
    return v;
}

static void drop(struct race_clocks *c, struct race_vector *v)
{
    if (!v || --v->refs)
        return;
    v->next_free = c->spare;
    c->spare = v;
}

static struct race_vector *copy(struct race_clocks *c, const struct race_vector *of)
{
    struct race_vector *v = new_vector(c);
    if (v)
        memcpy(v->clock, of->clock, c->slots * sizeof of->clock[0]);
    return v;
}

/* Slots are those of whole warps: a fixed count, so that compilers make vectors of it. */
static void join(struct race_clocks *c, struct race_vector *to, const struct race_vector *from)
{
    for (uint32_t first = 0; first < c->slots; first += LIR_LANES) {
        uint32_t *restrict a = to->clock + first;
        const uint32_t *restrict b = from->clock + first;
        for (unsigned k = 0; k < LIR_LANES; k++)
            a[k] = a[k] > b[k] ? a[k] : b[k];
    }
    to->version = ++c->versions;
}

/* Vectors change only in the hands of one: the thread's own, if it is not. */
static struct race_vector *own(struct race_clocks *c, uint32_t thread)
{
    struct race_vector *v = c->know[thread];
    c->warp[thread / LIR_LANES].uneven = true;
    if (v->refs == 1)
        return v;
    struct race_vector *mine = copy(c, v);
    if (!mine)
        return NULL;
    drop(c, v);
    return c->know[thread] = mine;
}

static void begin_epoch(struct race_clocks *c, uint32_t thread)
{
    c->clock[thread]++;
    c->warp[thread / LIR_LANES].uneven = true;
}

/* *to takes up what the thread knows, and its own past. `taken` spares a join with the vector of the last time. */
static bool give(struct race_clocks *c, uint32_t thread, struct race_vector **to, uint64_t *taken)
{
    const struct race_vector *v = c->know[thread];
    if (!*to) {
        if (!(*to = copy(c, v)))
            return false;
    } else if (!taken || *taken != v->version) {
        join(c, *to, v);
    }
    if (taken)
        *taken = v->version;
    (*to)->clock[thread] = c->clock[thread];
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

static struct race_object *find(const struct race_clocks *c, uint64_t name)
{
    uint32_t k = (uint32_t)(name * 0x9e3779b97f4a7c15u >> 32);
    if (!c->objects_room)
        return NULL;
    while (c->object[k & (c->objects_room - 1)].v && c->object[k & (c->objects_room - 1)].name != name)
        k++;
    return &c->object[k & (c->objects_room - 1)];
}

static struct race_object *make_object(struct race_clocks *c, uint64_t name)
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
    struct race_object *o = find(c, name);
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
    c->know = calloc(threads, sizeof(struct race_vector *));
    c->seen = calloc(threads, sizeof *c->seen);
    c->arrived = calloc(barriers, sizeof(struct race_vector *));
    c->warp = calloc(threads / LIR_LANES, sizeof *c->warp);
    c->exited = calloc(threads, sizeof *c->exited);
    if (c->clock && c->know && c->seen && c->arrived && c->warp && c->exited)
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
    c->exits = 0;
    c->arrivals = false;
}

void race_clocks_free(struct race_clocks *c)
{
    if (!c)
        return;
    forget(c);
    for (struct race_vector *v = c->spare, *next; v; v = next) {
        next = v->next_free;
        free(v);
    }
    free(c->clock);
    free(c->know);
    free(c->seen);
    free(c->arrived);
    free(c->object);
    free(c->warp);
    free(c->exited);
    free(c);
}

/* All threads know all that was: their clocks go on from one number. */
static void make_even(struct race_clocks *c, struct race_vector *v)
{
    uint32_t most = 0;
    for (uint32_t first = 0; first < c->threads; first += LIR_LANES) {
        const uint32_t *restrict clock = c->clock + first;
        for (uint32_t k = 0; k < LIR_LANES; k++)
            most = clock[k] > most ? clock[k] : most;
    }
    c->floor = most + 1;
    for (uint32_t first = 0; first < c->threads; first += LIR_LANES) {
        uint32_t *restrict clock = c->clock + first, *restrict known = v->clock + first;
        for (uint32_t k = 0; k < LIR_LANES; k++) {
            known[k] = most;
            clock[k] = most + 1;
        }
    }
    for (uint32_t k = 0; k < c->threads / LIR_LANES; k++)
        c->warp[k] = (struct race_warp){c->floor, false, false};
    v->version = ++c->versions;
}

bool race_clocks_begin(struct race_clocks *c, uint32_t alive)
{
    if (c->slots == c->threads && c->know[0] && c->know[0]->refs == c->threads && !c->objects && !c->gone &&
        !c->exits && !c->arrivals) { /* the block before has met at no more than barriers of all */
        c->alive = alive;
        make_even(c, c->know[0]);
        return true;
    }
    forget(c);
    struct race_vector *v = new_vector(c);
    if (!v)
        return false;
    for (uint32_t k = c->threads; k < c->slots; k++)
        v->clock[k] = c->clock[k]++;
    for (uint32_t k = 0; k < c->threads; k++)
        c->know[k] = v;
    v->refs = c->threads;
    c->alive = alive;
    make_even(c, v);
    return true;
}

/* These threads have met: a warp stays even if that was all it did. */
static void meet_lanes(struct race_clocks *c, const uint32_t *thread, uint32_t count, uint32_t barrier)
{
    struct race_warp *w = &c->warp[thread[0] / LIR_LANES];
    bool all = count == LIR_LANES && barrier == RACE_NO_BARRIER;
    for (uint32_t k = 1; k < count; k++) {
        all = all && thread[k] / LIR_LANES == thread[0] / LIR_LANES;
        c->warp[thread[k] / LIR_LANES].uneven |= !all;
    }
    w->uneven |= !all;
    w->since = c->clock[thread[0]];
}

/* What threads that have exited knew, each the first time that somebody asks. */
static bool join_gone(struct race_clocks *c, struct race_vector *v)
{
    for (; c->exits; c->exits--) {
        const uint32_t thread = c->exited[c->exits - 1];
        if (!give(c, thread, &c->gone, &c->gone_taken))
            return false;
        begin_epoch(c, thread);
    }
    if (c->gone)
        join(c, v, c->gone);
    return true;
}

/* One vector in the hands of these threads alone, with what each of them knows if they join. Most often they share one
 * already, which nobody else has. NULL: memory ran out. */
static struct race_vector *share(struct race_clocks *c, const uint32_t *thread, uint32_t count, bool joins)
{
    struct race_vector *v = c->know[thread[0]];
    const struct race_vector *last = v;
    bool alike = true;
    for (uint32_t k = 1; k < count && alike; k++)
        alike = c->know[thread[k]] == v;
    if (alike && v->refs == count)
        return v;
    if (!(v = copy(c, v)))
        return NULL;
    for (uint32_t k = 1; k < count && joins; k++) {
        const struct race_vector *next = c->know[thread[k]];
        if (next != last)
            join(c, v, next);
        last = next;
    }
    for (uint32_t k = 0; k < count; k++) {
        drop(c, c->know[thread[k]]);
        c->know[thread[k]] = v;
    }
    v->refs = count;
    return v;
}

/* The threads wait for each other: each knows then what one of them knew, and what was left at the barrier. */
bool race_meet(struct race_clocks *c, const uint32_t *thread, uint32_t count, bool with_gone, uint32_t barrier)
{
    if (!count)
        return true;
    const bool everybody = with_gone && count == c->alive, joins = !everybody || c->slots > c->threads;
    struct race_vector *v = share(c, thread, count, joins);
    if (!v)
        return false;
    if (with_gone && joins && !join_gone(c, v))
        return false;
    if (barrier < c->barriers && c->arrived[barrier]) {
        join(c, v, c->arrived[barrier]);
        drop(c, c->arrived[barrier]);
        c->arrived[barrier] = NULL;
    }
    if (everybody) {
        c->exits = 0;
        make_even(c, v);
        return true;
    }
    for (uint32_t k = 0; k < count; k++)
        v->clock[thread[k]] = c->clock[thread[k]]++;
    v->version = ++c->versions;
    meet_lanes(c, thread, count, barrier);
    return true;
}

bool race_meet_warp(struct race_clocks *c, uint32_t first)
{
    struct race_vector *v = c->know[first];
    struct race_vector *const *know = c->know + first;
    uint32_t *restrict clock = c->clock + first, *restrict known = v->clock + first, thread[LIR_LANES];
    bool alike = v->refs == LIR_LANES;
    for (uint32_t k = 0; k < LIR_LANES; k++)
        alike &= know[k] == v;
    if (!alike) {
        for (uint32_t k = 0; k < LIR_LANES; k++)
            thread[k] = first + k;
        return race_meet(c, thread, LIR_LANES, false, RACE_NO_BARRIER);
    }
    for (uint32_t k = 0; k < LIR_LANES; k++) {
        known[k] = clock[k];
        clock[k]++;
    }
    v->version = ++c->versions;
    c->warp[first / LIR_LANES].since = clock[0];
    return true;
}

bool race_meet_all(struct race_clocks *c)
{
    struct race_vector *v = c->know[0];
    if (v->refs != c->threads) {
        if (!(v = new_vector(c)))
            return false;
        for (uint32_t k = 0; k < c->threads; k++) {
            drop(c, c->know[k]);
            c->know[k] = v;
        }
        v->refs = c->threads;
    }
    make_even(c, v);
    return true;
}

bool race_arrive(struct race_clocks *c, uint32_t thread, uint32_t barrier)
{
    c->arrivals = true;
    if (!give(c, thread, &c->arrived[barrier], NULL))
        return false;
    begin_epoch(c, thread);
    return true;
}

bool race_meet_products(struct race_clocks *c, const uint32_t *thread, uint32_t count, uint32_t products,
                        uint32_t barrier)
{
    for (uint32_t k = 0; k < count; k++)
        if (!race_arrive(c, thread[k], barrier))
            return false;
    const struct race_vector *all = count ? c->arrived[barrier] : NULL;
    for (uint32_t k = 0, n; k < count; k += n) {
        for (n = 1; k + n < count && c->know[thread[k + n]] == c->know[thread[k]];)
            n++;
        struct race_vector *v = share(c, thread + k, n, false); /* they do already */
        if (!v)
            return false;
        for (uint32_t t = 0; t < count; t++) {
            const uint32_t slot = products + thread[t];
            if (slot < c->slots && all->clock[slot] > v->clock[slot])
                v->clock[slot] = all->clock[slot];
        }
        v->version = ++c->versions;
    }
    return true;
}

void race_exit(struct race_clocks *c, uint32_t thread)
{
    c->alive--;
    c->exited[c->exits++] = thread;
}

bool race_release(struct race_clocks *c, uint32_t thread, uint64_t name)
{
    struct race_object *o = make_object(c, name);
    struct race_warp *w = &c->warp[thread / LIR_LANES];
    if (!o || !give(c, thread, &o->v, &o->taken))
        return false;
    if (w->uneven)
        c->clock[thread]++;
    else
        for (uint32_t k = 0, first = thread & ~(LIR_LANES - 1u); k < LIR_LANES; k++)
            c->clock[first + k]++;
    w->released = true;
    return true;
}

bool race_is_object(const struct race_clocks *c, uint64_t name)
{
    const struct race_object *o = c->objects ? find(c, name) : NULL;
    return o && o->v;
}

bool race_acquire(struct race_clocks *c, uint32_t thread, uint64_t name)
{
    const struct race_object *o = c->objects ? find(c, name) : NULL;
    if (!o || !o->v || c->seen[thread] == o->v->version)
        return true;
    struct race_vector *v = own(c, thread);
    if (!v)
        return false;
    join(c, v, o->v);
    c->seen[thread] = o->v->version;
    return true;
}

/* ---- what threads start: the clock of such a slot counts groups, and in its low bits mbarriers -------- */

enum { HEARD_BITS = 2 };

void race_commit(struct race_clocks *c, uint32_t slot)
{
    c->clock[slot] = ((c->clock[slot] >> HEARD_BITS) + 1) << HEARD_BITS;
}

bool race_wait(struct race_clocks *c, uint32_t thread, uint32_t slot, uint32_t pending)
{
    const uint32_t group = c->clock[slot] >> HEARD_BITS, next = (group - pending) << HEARD_BITS;
    struct race_vector *v = own(c, thread);
    if (!v)
        return false;
    if (pending < group && next - 1 > v->clock[slot])
        v->clock[slot] = next - 1;
    v->version = ++c->versions;
    return true;
}

bool race_async_release(struct race_clocks *c, uint32_t thread, uint32_t slot, uint64_t name)
{
    struct race_object *o = make_object(c, name);
    if (!o || !give(c, thread, &o->v, &o->taken))
        return false;
    begin_epoch(c, thread);
    o->v->clock[slot] = c->clock[slot]++;
    return true;
}
