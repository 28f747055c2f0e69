/* CUMU_CHECK=race, and memory once there is stream-ordered memory: the order of works (order.h), and what copies and
 * fills touch. */
#include "host/driver/order.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/copy.h"
#include "host/driver/graph.h"

struct vector {
    uint32_t *known;
    uint32_t n;
    bool all;
};
struct host_stream_order { /* of a stream: what its next work knows */
    struct vector v;
    uint32_t slot;
};

static struct vector host;
static struct { /* of streams that live or lived: their number is used again */
    uint32_t clock;
    bool taken;
} * slots;
static uint32_t nslots;

_Atomic bool host_order_wanted;

static bool races(void) { return host_config()->check_tools & T0_RACECHECK; }

static bool grow(struct vector *v, uint32_t n)
{
    if (n <= v->n)
        return true;
    uint32_t *p = realloc(v->known, n * sizeof *p);
    if (!p)
        return false;
    memset(p + v->n, 0, (n - v->n) * sizeof *p);
    v->known = p;
    v->n = n;
    return true;
}

/* Without memory it is taken to know all, which says nothing wrong. */
static void join(struct vector *to, const uint32_t *known, uint32_t n, bool all)
{
    to->all |= all || !grow(to, n);
    for (uint32_t k = 0; k < n && k < to->n; k++)
        to->known[k] = known[k] > to->known[k] ? known[k] : to->known[k];
}

static void join_order(struct vector *to, const struct host_order *o)
{
    if (!o)
        return;
    join(to, o->known, o->n, o->all);
    if (grow(to, o->slot + 1) && to->known[o->slot] < o->clock)
        to->known[o->slot] = o->clock;
}

/* ---- streams ------------------------------------------------------------------------------------ */

static struct host_stream_order *state_of(MUstream s)
{
    if (s->order)
        return s->order;
    struct host_stream_order *o = calloc(1, sizeof *o);
    while (o && o->slot < nslots && slots[o->slot].taken)
        o->slot++;
    if (o && o->slot == nslots) {
        void *p = realloc(slots, (nslots + 1) * sizeof *slots);
        if (p) {
            slots = p;
            memset(&slots[nslots++], 0, sizeof *slots);
        } else {
            free(o);
            return NULL;
        }
    }
    if (o)
        slots[o->slot].taken = true;
    return s->order = o;
}

static void join_stream(struct vector *to, MUstream s)
{
    const struct host_stream_order *o = s->order;
    if (!o)
        return;
    join(to, o->v.known, o->v.n, o->v.all);
    if (grow(to, o->slot + 1) && to->known[o->slot] < slots[o->slot].clock)
        to->known[o->slot] = slots[o->slot].clock;
}

/* The rules of the default stream: it waits for all blocking streams of its context, and they for it. */
static void join_implied(struct vector *to, MUstream s)
{
    if (!s->legacy && !s->nonblocking && s->ctx->legacy)
        join_stream(to, s->ctx->legacy);
    for (MUstream t = s->legacy ? s->ctx->streams : NULL; t; t = t->next)
        if (!t->nonblocking && t != s)
            join_stream(to, t);
}

void host_order_wait(MUstream s, const struct host_work *w)
{
    struct host_stream_order *at = host_order_on() ? state_of(s) : NULL;
    if (!at)
        return;
    join_implied(&at->v, s); /* whether it is over or not: what is reported depends on no race of ours */
    join_order(&at->v, w->order);
    at->v.all |= !w->order; /* an event that a graph records, when nobody knows yet what was before it */
}

struct host_order *host_order_put(MUstream s, struct host_work *const *after, size_t n,
                                  const struct host_frames *origin)
{
    struct host_stream_order *at = host_order_on() ? state_of(s) : NULL;
    if (!at)
        return NULL;
    join(&at->v, host.known, host.n, host.all);
    join_implied(&at->v, s);
    for (size_t k = 0; k < n; k++)
        host_order_wait(s, after[k]);
    struct host_order *o = malloc(sizeof *o + at->v.n * sizeof o->known[0]);
    if (!o)
        return NULL;
    *o = (struct host_order){.refs = 1,
                             .slot = at->slot,
                             .clock = ++slots[at->slot].clock,
                             .all = at->v.all,
                             .origin = *origin,
                             .n = at->v.n};
    if (o->n)
        memcpy(o->known, at->v.known, o->n * sizeof o->known[0]);
    return o;
}

void host_order_want(void) { host_order_wanted = true; }

struct host_order *host_order_point(MUstream s)
{
    struct host_frames origin;
    host_order_wanted = true;
    host_memcheck_frames(&origin);
    pthread_mutex_lock(&host_sched);
    struct host_order *o = host_order_put(s, NULL, 0, &origin);
    pthread_mutex_unlock(&host_sched);
    return o;
}

void host_order_unref(struct host_order *o)
{
    if (o && atomic_fetch_sub(&o->refs, 1) == 1)
        free(o);
}

void host_order_wait_unseen(MUstream s)
{
    struct host_stream_order *at = host_order_on() ? state_of(s) : NULL;
    if (at)
        at->v.all = true;
}

void host_order_synced(const struct host_order *o) { join_order(&host, o); }

void host_order_stream_synced(MUstream s)
{
    if (!s->order)
        return;
    join_stream(&host, s);
    if (s->legacy)
        join_implied(&host, s);
}

void host_order_stream_gone(MUstream s)
{
    if (!s->order)
        return;
    slots[s->order->slot].taken = false;
    free(s->order->v.known);
    free(s->order);
    s->order = NULL;
}

/* ---- what runs ---------------------------------------------------------------------------------- */

static _Thread_local struct host_running running;

struct host_running host_order_run(struct host_running now)
{
    const struct host_running before = running;
    running = now;
    return before;
}

struct host_running host_order_running(void) { return running; }

struct operation { /* what racecheck keeps of one */
    struct host_order *order;
    const struct graph_plan *plan; /* compared only while the graph's launch runs */
    uint32_t node;
};

bool host_order_knows(const struct host_order *now, const struct host_order *before)
{
    return now->all || now->slot == before->slot ||
           (before->slot < now->n && now->known[before->slot] >= before->clock);
}

/* Either way round: a wait for an event that is over holds up nothing, though what is behind it counts as behind. */
static bool is_ordered(const void *before, const void *now)
{
    const struct operation *a = before, *b = now;
    if (a->order != b->order)
        return host_order_knows(b->order, a->order) || host_order_knows(a->order, b->order);
    return !b->plan || a->plan != b->plan || a->node == b->node || plan_follows(b->plan, a->node, b->node);
}

static void drop(void *user)
{
    struct operation *o = user;
    host_order_unref(o->order);
    free(o);
}

uint32_t host_order_op(const struct t0_grid *g, const char *name)
{
    static const struct t0_race_hooks hooks = {is_ordered, host_memcheck_is_streams, drop};
    struct operation *o = running.order && races() ? malloc(sizeof *o) : NULL;
    if (!o)
        return 0;
    running.order->refs++;
    *o = (struct operation){running.order, running.plan, running.node};
    return t0_race_op(&hooks, g, name, o);
}

static void see_origin(void *ctx, const void *user)
{
    *(struct host_frames *)ctx = ((const struct operation *)user)->order->origin;
}

bool host_order_origin(uint32_t op, struct host_frames *f)
{
    f->count = 0;
    t0_race_user(op, see_origin, f);
    return f->count;
}

/* ---- copies and fills ---------------------------------------------------------------------------- */

struct touching {
    struct host_memcheck_run check;
    struct t0_race *race;
};

static bool begin(struct touching *t, const char *name)
{
    const uint32_t op = host_order_op(NULL, name);
    if (!op || !host_memcheck_begin(&t->check))
        return false;
    t->check.origin = &running.order->origin;
    t->race = t0_race_new(NULL, op);
    return t->race;
}

static void end(struct touching *t) { t0_race_end(t->race, &t->check.watch); }

void host_order_copied(const struct copy *c)
{
    struct touching t;
    if (!races() || (c->src_place == COPY_PAGEABLE && c->dst_place == COPY_PAGEABLE) || !begin(&t, "copy"))
        return;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++) {
            if (c->src_place != COPY_PAGEABLE)
                t0_race_touched(t.race, (uintptr_t)c->src + z * c->src_slice + y * c->src_pitch, c->width, T0_READS);
            if (c->dst_place != COPY_PAGEABLE)
                t0_race_touched(t.race, (uintptr_t)c->dst + z * c->dst_slice + y * c->dst_pitch, c->width, T0_WRITES);
        }
    end(&t);
}

void host_order_filled(const struct fill *f)
{
    struct touching t;
    if (!races() || !begin(&t, "fill"))
        return;
    for (size_t y = 0; y < f->height; y++)
        t0_race_touched(t.race, (uintptr_t)f->p + y * f->pitch, f->width * f->element, T0_WRITES);
    end(&t);
}
