/* NVTX's payloads by schemas: ranges and marks that have nothing but structures of the program's. They are shown by the
 * member that the schema calls their message, or by the schema's name; those that a program tells behind their time,
 * by the times among their members. Layouts and numbers: NVTX's public headers. */
#include "api/nvtx/nvtx.h"
#include "core/intern.h"
#include "core/log.h"
#include "wraps.h"

#include <stdlib.h>
#include <string.h>

struct data { /* nvtxPayloadData_t */
    uint64_t schema;
    size_t size;
    const void *at;
};
struct batch { /* nvtxEventBatch_t */
    uint64_t schema;
    size_t size;
    const void *events;
    uint64_t scope, flags;
    const void *flexible;
    size_t flexible_size, flexible_offset;
};
enum { LONGEST = 256 }; /* of texts in place that are shown */

/* The message among the members, as an event's attributes have it. */
static void take_message(struct nvtx_attributes *a, const struct data *d, const struct nvtx_member *m)
{
    const bool text = m->type == NVTX_TYPE_TEXT || m->type == NVTX_TYPE_TEXT_UTF8;
    const void *message = NULL;
    if (m->type == NVTX_TYPE_REGISTERED && !(m->flags & (NVTX_IS_ARRAY | NVTX_IS_POINTER)) &&
        cumu_nvtx_read(m, d->at, d->size, &message, sizeof message) && message) {
        a->message = message, a->message_type = NVTX_MESSAGE_REGISTERED;
    } else if (text && !m->detail && !(m->flags & (NVTX_IS_ARRAY | NVTX_IS_POINTER)) &&
               cumu_nvtx_read(m, d->at, d->size, &message, sizeof message) && message) {
        a->message = message, a->message_type = NVTX_MESSAGE_ASCII;
    } else if (text && m->detail && !(m->flags & NVTX_IS_POINTER) && m->size < LONGEST) { /* it lies in place */
        char copy[LONGEST] = "";
        if (cumu_nvtx_read(m, d->at, d->size, copy, m->size) && (message = cumu_intern(copy)) != NULL)
            a->message = message, a->message_type = NVTX_MESSAGE_ASCII;
    }
}

/* Where an event may say its scope; what comes later here goes before, and what is said later among equals (the
 * header's "Scope specification and precedence"). */
enum scope_place {
    NOWHERE,
    BY_TIME,      /* of what counts its time */
    BY_SEMANTICS, /* of any member */
    BY_BATCH,
    BY_MEMBER, /* which is one */
    BY_SEMANTICS_OF_BEGIN,
    BY_MEMBER_OF_BEGIN /* of a range, or of a mark */
};
struct scope {
    enum scope_place place;
    uint64_t id;
};
static void hear_scope(struct scope *s, enum scope_place place, uint64_t id)
{
    if (id && place >= s->place)
        *s = (struct scope){place, id};
}
/* Scopes of ends and of counters are others than the event's. */
static void take_scope(struct scope *s, const struct data *d, const struct nvtx_member *m)
{
    const uint64_t role = m->flags & NVTX_ROLE, value = cumu_nvtx_scope_in(m, d->at, d->size);
    const bool begin = role == NVTX_IS_BEGIN || role == NVTX_IS_MARK, time = (m->flags & NVTX_KIND) == NVTX_IS_TIME;
    if (role && !begin)
        return;
    hear_scope(s, begin ? BY_MEMBER_OF_BEGIN : time ? BY_TIME : BY_MEMBER, value);
    hear_scope(s, begin ? BY_SEMANTICS_OF_BEGIN : time ? BY_TIME : BY_SEMANTICS, m->scope);
}

/* As the attributes of an event, and its scope, if they or its batch have one: what is said later counts. */
static struct nvtx_attributes event_of(const void *domain, const struct data *d, size_t count, uint64_t batch_scope,
                                       const char **scope)
{
    struct scope where = {batch_scope ? BY_BATCH : NOWHERE, batch_scope};
    struct nvtx_attributes a = {.size = sizeof a, .message_type = NVTX_MESSAGE_ASCII};
    const char *name = NULL;
    for (size_t i = 0; d && i < count; i++) {
        const struct nvtx_schema *s = cumu_nvtx_schema_of(domain, d[i].schema);
        name = s && !name ? s->name : name;
        for (size_t k = 0; s && k < s->count; k++) {
            const struct nvtx_member *m = &s->members[k];
            if ((m->flags & NVTX_KIND) == NVTX_IS_MESSAGE)
                take_message(&a, &d[i], m);
            if (m->type == NVTX_TYPE_CATEGORY)
                (void)cumu_nvtx_read(m, d[i].at, d[i].size, &a.category, sizeof a.category);
            if (m->type == NVTX_TYPE_COLOR && cumu_nvtx_read(m, d[i].at, d[i].size, &a.color, sizeof a.color))
                a.color_type = NVTX_COLOR_ARGB;
            take_scope(&where, &d[i], m);
        }
    }
    if (!a.message)
        a.message = name ? name : "payload";
    *scope = cumu_nvtx_scope_of(domain, where.id);
    return a;
}

void cumu_nvtx_payload_mark(void *domain, const void *payloads, size_t count)
{
    const char *scope;
    const struct nvtx_attributes a = event_of(domain, payloads, count, 0, &scope);
    cumu_nvtx_mark(domain, &a, scope);
}
int cumu_nvtx_payload_push(void *domain, const void *payloads, size_t count)
{
    const char *scope;
    const struct nvtx_attributes a = event_of(domain, payloads, count, 0, &scope);
    return cumu_nvtx_push(domain, &a, scope);
}
uint64_t cumu_nvtx_payload_start(void *domain, const void *payloads, size_t count)
{
    const char *scope;
    const struct nvtx_attributes a = event_of(domain, payloads, count, 0, &scope);
    return cumu_nvtx_start(domain, &a, scope);
}
/* What a range has at its end only is not shown. */
int cumu_nvtx_payload_pop(void *domain, const void *payloads, size_t count)
{
    (void)payloads, (void)count;
    return wrap_nvtxDomainRangePop(domain);
}
void cumu_nvtx_payload_end(void *domain, uint64_t id, const void *payloads, size_t count)
{
    (void)payloads, (void)count;
    wrap_nvtxDomainRangeEnd(domain, id);
}

/* ---- events that are told behind their time ------------------------------------------------------ */

/* One that has its time, or both of a range's, among its members, in a clock that is known. */
static void submit(const void *domain, const struct data *d, size_t count, uint64_t batch_scope)
{
    const char *scope;
    uint64_t from = 0, to = 0, at = 0, clock = 0;
    if (!cumu_nvtx_wanted())
        return;
    for (size_t i = 0; d && i < count; i++) {
        const struct nvtx_schema *s = cumu_nvtx_schema_of(domain, d[i].schema);
        for (size_t k = 0; s && k < s->count; k++) {
            const struct nvtx_member *m = &s->members[k];
            const uint64_t part = m->flags & NVTX_ROLE, kind = m->flags & NVTX_KIND;
            int64_t ticks;
            if ((!part && kind != NVTX_IS_TIME) || kind == NVTX_IS_MESSAGE || m->type == NVTX_TYPE_SCOPE ||
                part > NVTX_IS_MARK || !cumu_nvtx_read(m, d[i].at, d[i].size, &ticks, sizeof ticks))
                continue;
            clock = m->clock;
            (void)cumu_nvtx_time(domain, clock, ticks, part == NVTX_IS_BEGIN ? &from : part == NVTX_IS_END ? &to : &at);
        }
    }
    const struct nvtx_attributes a = event_of(domain, d, count, batch_scope, &scope);
    if (from && to >= from)
        cumu_nvtx_tell(domain, &a, scope, from, to);
    else if (at && !from && !to)
        cumu_nvtx_tell(domain, &a, scope, at, 0);
    else
        cumu_gap("nvtx", "nvtxEventSubmit", "an event without times of a clock that is known, or half a range");
}

void cumu_nvtx_submit(const void *domain, const void *payloads, size_t count) { submit(domain, payloads, count, 0); }

void cumu_nvtx_submit_batch(const void *domain, const void *batch)
{
    const struct batch *b = batch;
    const struct nvtx_schema *s = b ? cumu_nvtx_schema_of(domain, b->schema) : NULL;
    for (size_t at = 0; s && s->size && b->events && b->size - at >= s->size; at += s->size) {
        const struct data d = {b->schema, s->size, (const char *)b->events + at};
        submit(domain, &d, 1, b->scope);
    }
}
