/* NVTX's counters: numbers of a program's over time, each of which is one event of a trace; groups of them, whose
 * members a schema describes; and batches that have times of their own. Layouts and numbers: NVTX's public headers. */
#include "api/nvtx/nvtx.h"
#include "api/nvtx/registry.h"
#include "core/core.h"
#include "core/intern.h"
#include "core/log.h"
#include "core/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attributes { /* nvtxCounterAttr_t */
    size_t size;
    uint64_t type; /* of a number, or a schema */
    const char *name, *description;
    uint64_t scope;
    const void *semantics;
    uint64_t id;
};
struct batch { /* nvtxCounterBatch_t */
    uint64_t counter;
    const void *samples;
    size_t size;
    uint64_t flags;
    const int64_t *times;
    size_t times_size;
};
#define BEGIN_AND_INTERVAL ((uint64_t)1 << 32) /* what a batch's times are */
#define END_AND_INTERVAL ((uint64_t)2 << 32)
enum { SAMPLE_ZERO = 0 };

struct counter {
    struct nvtx_registered is;
    const char *name;
    uint64_t type, scope, clock; /* clock: of its batches' times */
};

uint64_t cumu_nvtx_counter(const void *domain, const void *attributes)
{
    const struct attributes *a = attributes;
    if (!a || a->size < sizeof *a)
        return 0;
    struct counter *c = calloc(1, sizeof *c);
    if (!c)
        return 0;
    c->name = a->name ? cumu_intern(a->name) : NULL;
    c->type = a->type;
    c->scope = a->scope ? a->scope : cumu_nvtx_said(a->semantics, NVTX_SEMANTICS_SCOPE);
    c->clock = cumu_nvtx_said(a->semantics, NVTX_SEMANTICS_TIME);
    return cumu_nvtx_keep(&c->is, NVTX_COUNTER, domain, a->id);
}

/* NULL: there is none, or nobody listens. */
static const struct counter *find(const void *domain, uint64_t id)
{
    return cumu_active() && cumu_tracing() ? cumu_nvtx_kept(NVTX_COUNTER, domain, id) : NULL;
}

/* member: of a group, or NULL. scope: or 0: as the counter was registered. at: when it was, or 0: now. */
static void tell(const struct counter *c, const struct nvtx_member *member, uint64_t scope, const char *value,
                 uint64_t at)
{
    scope = scope ? scope : c->scope;
    struct cumu_annotation a = {.domain = cumu_nvtx_text(c->is.domain, true),
                                .scope = cumu_nvtx_scope_of(c->is.domain, scope),
                                .payload = value};
    const char *name = c->name ? c->name : "counter";
    char both[256], thread[32];
    if (member) {
        (void)snprintf(both, sizeof both, "%s.%s", name, member->name ? member->name : "");
        name = both;
    }
    struct cumu_event e = {.kind = CUMU_EVENT_COUNTER, .library = "nvtx", .name = name, .annotation = &a};
    cumu_trace_begin();
    e.start = at ? at : cumu_trace_now();
    cumu_trace_stamp(&e);
    if (scope == NVTX_SCOPE_THREAD) { /* each thread has its own */
        (void)snprintf(thread, sizeof thread, "%s %u", a.scope, e.thread);
        a.scope = thread;
    }
    cumu_trace_event(&e);
}

void cumu_nvtx_count_integer(const void *domain, uint64_t id, int64_t value)
{
    const struct counter *c = find(domain, id);
    char text[32];
    if (c && cumu_nvtx_number(NVTX_TYPE_INT64, &value, sizeof value, text))
        tell(c, NULL, 0, text, 0);
}
void cumu_nvtx_count_real(const void *domain, uint64_t id, double value)
{
    const struct counter *c = find(domain, id);
    char text[32];
    if (c && cumu_nvtx_number(NVTX_TYPE_DOUBLE, &value, sizeof value, text))
        tell(c, NULL, 0, text, 0);
}
/* Why there is no number: because it is 0, or the one before still, or because nobody knows. */
void cumu_nvtx_count_none(const void *domain, uint64_t id, uint8_t reason)
{
    const struct counter *c = find(domain, id);
    if (reason == SAMPLE_ZERO && c)
        tell(c, NULL, 0, "0", 0);
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* Bytes of a sample; 0: nobody knows. */
static size_t sample_size(const struct counter *c)
{
    const size_t number = cumu_nvtx_number(c->type, NULL, 0, NULL);
    const struct nvtx_schema *s = number ? NULL : cumu_nvtx_schema_of(c->is.domain, c->type);
    return s ? s->size : number;
}

/* When a sample of a group was, by the time among its members; 0 if there is none, or of an unknown clock. */
static uint64_t time_within(const struct counter *c, const char *sample, size_t size)
{
    const struct nvtx_schema *s = cumu_nvtx_schema_of(c->is.domain, c->type);
    uint64_t at = 0;
    for (size_t i = 0; s && i < s->count; i++) {
        const struct nvtx_member *m = &s->members[i];
        int64_t ticks;
        if ((m->flags & NVTX_KIND) == NVTX_IS_TIME && m->type != NVTX_TYPE_SCOPE && m->size == sizeof ticks &&
            cumu_nvtx_read(m, sample, size, &ticks, sizeof ticks))
            (void)cumu_nvtx_time(c->is.domain, m->clock, ticks, &at);
    }
    return at;
}

/* Of a group the numbers that are called counters, if any are, else all. Their scopes, by NVTX's order: one that the
 * sample says of counters, that of the number's semantics, one that the sample says of itself, the registration's. */
static void tell_sample(const struct counter *c, const char *sample, size_t size, uint64_t at)
{
    char text[32];
    uint64_t of_counters = 0, of_all = 0;
    if (cumu_nvtx_number(c->type, NULL, 0, NULL)) {
        if (size == cumu_nvtx_number(c->type, sample, size, text))
            tell(c, NULL, 0, text, at);
        return;
    }
    const struct nvtx_schema *s = cumu_nvtx_schema_of(c->is.domain, c->type);
    bool named = false;
    for (size_t i = 0; s && i < s->count; i++) {
        const struct nvtx_member *m = &s->members[i];
        const uint64_t role = m->flags & NVTX_ROLE, scope = cumu_nvtx_scope_in(m, sample, size);
        named |= role == NVTX_IS_COUNTER && m->type != NVTX_TYPE_SCOPE;
        if (scope && role == NVTX_IS_COUNTER)
            of_counters = scope;
        else if (scope && !role && (m->flags & NVTX_KIND) != NVTX_IS_TIME)
            of_all = scope;
    }
    for (size_t i = 0; s && i < s->count; i++) {
        const struct nvtx_member *m = &s->members[i];
        if (m->flags & (NVTX_IS_POINTER | NVTX_IS_ARRAY) || (m->flags & NVTX_KIND) == NVTX_IS_TIME ||
            m->offset > size || (named && (m->flags & NVTX_ROLE) != NVTX_IS_COUNTER))
            continue;
        if (cumu_nvtx_number(m->type, sample + m->offset, size - m->offset, text))
            tell(c, m, of_counters ? of_counters : m->scope ? m->scope : of_all, text, at);
    }
}

void cumu_nvtx_count(const void *domain, uint64_t id, const void *value, size_t size)
{
    const struct counter *c = find(domain, id);
    if (value && c)
        tell_sample(c, value, size, time_within(c, value, size));
}

void cumu_nvtx_count_batch(const void *domain, const void *batch)
{
    const struct batch *b = batch;
    const struct counter *c = b ? find(domain, b->counter) : NULL;
    if (!c || !b->samples)
        return;
    const size_t each = sample_size(c), n = each ? b->size / each : 0, times = b->times_size / sizeof *b->times;
    const bool begins = b->flags & BEGIN_AND_INTERVAL, pair = begins || b->flags & END_AND_INTERVAL;
    for (size_t i = 0; i < n; i++) {
        const char *sample = (const char *)b->samples + i * each;
        uint64_t at = 0;
        if (!b->times)
            at = time_within(c, sample, each);
        else if (pair ? times >= 2 : i < times) {
            const uint64_t back = begins ? (uint64_t)-i : n - 1 - i; /* intervals before the time that is said */
            const uint64_t ticks = pair ? (uint64_t)b->times[0] - back * (uint64_t)b->times[1] : (uint64_t)b->times[i];
            (void)cumu_nvtx_time(domain, c->clock, (int64_t)ticks, &at);
        }
        if (at)
            tell_sample(c, sample, each, at);
        else
            cumu_gap("nvtx", "nvtxCounterBatchSubmit", "samples without times of a clock that is known");
    }
}
