/* NVTX's clocks: times that a program read itself, as times of a trace. Known are the tracer's own clock,
 * which programs get by nvtxTimestampGet, the system's monotonic and real time, and clocks that the program relates to
 * these by two points or by a factor. */
#include "api/nvtx/nvtx.h"
#include "core/hmap.h"
#include "core/trace.h"

#include <stdlib.h>
#include <time.h>

struct attributes { /* nvtxTimeDomainAttr_t */
    uint64_t scope, type, id, flags;
    int64_t resolution; /* ticks a second, or 0 */
    uint64_t start;
};
struct point { /* nvtxSyncPoint_t */
    int64_t from, to;
};
/* The numbers of clocks that every program means the same by. NOT_SAID: of times without semantics, which are ours; of
 * a clock that was registered, one that nobody knows. */
enum { NOT_SAID = 0, OURS = 1, REALTIME = 12, MONOTONIC = 14, STEADY = 50, SYSTEM = 52 };

struct clock {
    struct key {
        const void *domain;
        uint64_t id;
    } key;
    uint64_t type;
    double slope; /* ns a tick; 0: not known */
    bool pointed;
    int64_t ticks;
    uint64_t at; /* ns of the tracer's at these ticks */
    UT_hash_handle hh;
};
static HMAP(struct clock) clocks = HMAP_INIT;

int64_t cumu_nvtx_now(void) { return (int64_t)cumu_trace_now(); }

/* The clock, new if there is none; NULL without memory. The table is locked. */
static struct clock *find(const void *domain, uint64_t id)
{
    const struct key key = {domain, id};
    struct clock *c = NULL;
    HASH_FIND(hh, clocks.head, &key, sizeof key, c);
    if (c)
        return c;
    c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->key = key;
    c->type = id;
    HASH_ADD(hh, clocks.head, key, sizeof c->key, c);
    if (!hmap_added(c)) {
        free(c);
        return NULL;
    }
    return c;
}

uint64_t cumu_nvtx_clock(const void *domain, const void *attributes)
{
    const struct attributes *a = attributes;
    if (!a)
        return 0;
    const uint64_t id = a->id ? a->id : cumu_nvtx_new_id();
    hmap_lock(&clocks);
    struct clock *c = find(domain, id);
    if (c)
        c->type = a->type;
    if (c && a->resolution > 0)
        c->slope = 1e9 / (double)a->resolution;
    hmap_unlock(&clocks);
    return c ? id : 0;
}

/* Of a clock by itself; false: it is none that is known. */
static bool known(uint64_t type, int64_t ticks, uint64_t *ns)
{
    struct timespec t;
    switch (type) {
    case NOT_SAID:
    case OURS:
    case MONOTONIC:
    case STEADY: *ns = (uint64_t)ticks; return true;
    case REALTIME:
    case SYSTEM:
        (void)clock_gettime(CLOCK_REALTIME, &t);
        *ns = cumu_trace_now() - ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - (uint64_t)ticks);
        return true;
    default: return false;
    }
}

bool cumu_nvtx_time(const void *domain, uint64_t clock, int64_t ticks, uint64_t *ns)
{
    if (known(clock, ticks, ns))
        return true;
    const struct key key = {domain, clock};
    struct clock *c = NULL, found = {.type = clock};
    hmap_lock(&clocks);
    HASH_FIND(hh, clocks.head, &key, sizeof key, c);
    if (c)
        found = *c;
    hmap_unlock(&clocks);
    if (found.pointed && found.slope > 0) {
        const double far = ((double)ticks - (double)found.ticks) * found.slope;
        *ns = found.at + (uint64_t)(int64_t)(far > 0x1p62 ? 0x1p62 : far < -0x1p62 ? -0x1p62 : far);
        return true;
    }
    return c && found.type != NOT_SAID && known(found.type, ticks, ns);
}

/* At these ticks of `clock` it was that time; `slope`, if it is not 0, ns a tick. */
static void learn(const void *domain, uint64_t clock, int64_t ticks, uint64_t at, double slope)
{
    hmap_lock(&clocks);
    struct clock *c = find(domain, clock);
    if (c && slope == 0 && c->pointed && ticks != c->ticks)
        slope = (double)(int64_t)(at - c->at) / ((double)ticks - (double)c->ticks);
    if (c) {
        c->slope = slope > 0 ? slope : c->slope;
        c->ticks = ticks, c->at = at, c->pointed = true;
    }
    hmap_unlock(&clocks);
}
void cumu_nvtx_synchronise(const void *domain, uint64_t one, uint64_t other, int64_t at_one, int64_t at_other)
{
    uint64_t ns;
    if (known(one, at_one, &ns))
        learn(domain, other, at_other, ns, 0);
    else if (known(other, at_other, &ns) || cumu_nvtx_time(domain, other, at_other, &ns))
        learn(domain, one, at_one, ns, 0);
    else if (cumu_nvtx_time(domain, one, at_one, &ns))
        learn(domain, other, at_other, ns, 0);
}
void cumu_nvtx_synchronise_all(const void *domain, uint64_t from, uint64_t to, const void *points, size_t count)
{
    const struct point *p = points;
    for (size_t i = 0; p && i < count; i++)
        cumu_nvtx_synchronise(domain, from, to, p[i].from, p[i].to);
}
/* slope: ticks of `to` a tick of `from`. Only of a `to` that counts ns is it known how long those are. */
void cumu_nvtx_convert(const void *domain, uint64_t from, uint64_t to, double slope, int64_t at_from, int64_t at_to)
{
    uint64_t ns;
    if (slope > 0 && known(to, at_to, &ns))
        learn(domain, from, at_from, ns, slope);
}
