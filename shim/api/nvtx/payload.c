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
enum { KIND_OF_ENTRY = 3 << 10, IS_MESSAGE = 1 << 10, IS_TIME = 2 << 10 };
enum { PART_OF_EVENT = 7 << 12, BEGIN = 1 << 12, END = 2 << 12, MARK = 3 << 12 };
enum { IS_POINTER = 1 << 1, IS_ARRAY = 7 << 4 };
enum { LONGEST = 256 }; /* of texts in place that are shown */

/* A member's bytes in a payload; false where it has fewer. */
static bool read_member(const struct data *d, const struct nvtx_member *m, void *to, size_t size)
{
    if (!d->at || m->size < size || d->size < size || m->offset > d->size - size)
        return false;
    memcpy(to, (const char *)d->at + m->offset, size);
    return true;
}

/* The message among the members, as an event's attributes have it. */
static void take_message(struct nvtx_attributes *a, const struct data *d, const struct nvtx_member *m)
{
    const bool text = m->type == NVTX_TYPE_TEXT || m->type == NVTX_TYPE_TEXT_UTF8;
    const void *message = NULL;
    if (m->type == NVTX_TYPE_REGISTERED && !(m->flags & (IS_ARRAY | IS_POINTER)) &&
        read_member(d, m, &message, sizeof message) && message) {
        a->message = message, a->message_type = NVTX_MESSAGE_REGISTERED;
    } else if (text && !m->detail && !(m->flags & (IS_ARRAY | IS_POINTER)) &&
               read_member(d, m, &message, sizeof message) && message) {
        a->message = message, a->message_type = NVTX_MESSAGE_ASCII;
    } else if (text && m->detail && !(m->flags & IS_POINTER) && m->size < LONGEST) { /* it lies in place */
        char copy[LONGEST] = "";
        if (read_member(d, m, copy, m->size) && (message = cumu_intern(copy)) != NULL)
            a->message = message, a->message_type = NVTX_MESSAGE_ASCII;
    }
}

/* As the attributes of an event, and its scope, if they have one: what is said later counts. */
static struct nvtx_attributes event_of(const void *domain, const struct data *d, size_t count, const char **scope)
{
    struct nvtx_attributes a = {.size = sizeof a, .message_type = NVTX_MESSAGE_ASCII};
    const char *name = NULL;
    for (size_t i = 0; d && i < count; i++) {
        const struct nvtx_schema *s = cumu_nvtx_schema_of(domain, d[i].schema);
        name = s && !name ? s->name : name;
        for (size_t k = 0; s && k < s->count; k++) {
            const struct nvtx_member *m = &s->members[k];
            if ((m->flags & KIND_OF_ENTRY) == IS_MESSAGE)
                take_message(&a, &d[i], m);
            if (m->type == NVTX_TYPE_CATEGORY)
                (void)read_member(&d[i], m, &a.category, sizeof a.category);
            if (m->type == NVTX_TYPE_COLOR && read_member(&d[i], m, &a.color, sizeof a.color))
                a.color_type = NVTX_COLOR_ARGB;
            uint64_t id;
            if (m->type == NVTX_TYPE_SCOPE && read_member(&d[i], m, &id, sizeof id))
                *scope = cumu_nvtx_scope_of(domain, id);
        }
    }
    if (!a.message)
        a.message = name ? name : "payload";
    return a;
}

void cumu_nvtx_payload_mark(void *domain, const void *payloads, size_t count)
{
    const char *scope = NULL;
    const struct nvtx_attributes a = event_of(domain, payloads, count, &scope);
    cumu_nvtx_mark(domain, &a, scope);
}
int cumu_nvtx_payload_push(void *domain, const void *payloads, size_t count)
{
    const char *scope = NULL;
    const struct nvtx_attributes a = event_of(domain, payloads, count, &scope);
    return cumu_nvtx_push(domain, &a, scope);
}
uint64_t cumu_nvtx_payload_start(void *domain, const void *payloads, size_t count)
{
    const char *scope = NULL;
    const struct nvtx_attributes a = event_of(domain, payloads, count, &scope);
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
static void submit(const void *domain, const struct data *d, size_t count, const char *scope)
{
    uint64_t from = 0, to = 0, at = 0, clock = 0;
    if (!cumu_nvtx_wanted())
        return;
    for (size_t i = 0; d && i < count; i++) {
        const struct nvtx_schema *s = cumu_nvtx_schema_of(domain, d[i].schema);
        for (size_t k = 0; s && k < s->count; k++) {
            const struct nvtx_member *m = &s->members[k];
            const uint64_t part = m->flags & PART_OF_EVENT;
            int64_t ticks;
            if ((!part && (m->flags & KIND_OF_ENTRY) != IS_TIME) || part > MARK ||
                !read_member(&d[i], m, &ticks, sizeof ticks))
                continue;
            clock = m->clock;
            (void)cumu_nvtx_time(domain, clock, ticks, part == BEGIN ? &from : part == END ? &to : &at);
        }
    }
    const struct nvtx_attributes a = event_of(domain, d, count, &scope);
    if (from && to >= from)
        cumu_nvtx_tell(domain, &a, scope, from, to);
    else if (at && !from && !to)
        cumu_nvtx_tell(domain, &a, scope, at, 0);
    else
        cumu_gap("nvtx", "nvtxEventSubmit", "an event without times of a clock that is known, or half a range");
}

void cumu_nvtx_submit(const void *domain, const void *payloads, size_t count) { submit(domain, payloads, count, NULL); }

void cumu_nvtx_submit_batch(const void *domain, const void *batch)
{
    const struct batch *b = batch;
    const struct nvtx_schema *s = b ? cumu_nvtx_schema_of(domain, b->schema) : NULL;
    const char *scope = b ? cumu_nvtx_scope_of(domain, b->scope) : NULL;
    for (size_t at = 0; s && s->size && b->events && b->size - at >= s->size; at += s->size) {
        const struct data d = {b->schema, s->size, (const char *)b->events + at};
        submit(domain, &d, 1, scope);
    }
}
