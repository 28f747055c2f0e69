/* NVTX's payloads by schemas: ranges and marks that have nothing but a structure of the program's, whose members a
 * schema describes. They are shown by the member that the schema calls their message, or by the schema's name. Layouts:
 * NVTX's public headers. */
#include "api/nvtx/nvtx.h"
#include "core/hmap.h"
#include "core/intern.h"
#include "wraps.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct entry { /* nvtxPayloadSchemaEntry_t */
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset; /* detail: of arrays and unions */
    const void *semantics, *reserved;
};
struct attributes { /* nvtxPayloadSchemaAttr_t */
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct entry *entries;
    size_t count, size, alignment;
    uint64_t id;
};
struct data { /* nvtxPayloadData_t */
    uint64_t schema;
    size_t size;
    const void *at;
};
enum { FIELD_NAME = 1 << 1, FIELD_ENTRIES = 1 << 4, FIELD_COUNT = 1 << 5, FIELD_ID = 1 << 8 };
enum { KIND_OF_EVENT = 3 << 10, IS_MESSAGE = 1 << 10, IS_POINTER = 1 << 1, IS_ARRAY = 7 << 4 };
enum { TYPE_STRING = 75, TYPE_REGISTERED = 80 };
#define FIRST_ID ((uint64_t)1 << 32) /* of those that are not the program's */

struct schema {
    struct key {
        const void *domain;
        uint64_t id;
    } key;
    const char *name;
    size_t message; /* where it lies, and whose handle it is: a text's, or a registered string's; SIZE_MAX: nowhere */
    bool registered;
    UT_hash_handle hh;
};
static HMAP(struct schema) schemas = HMAP_INIT;
static _Atomic uint64_t next_id = FIRST_ID;

static bool has(const struct attributes *a, uint64_t field) { return (a->fields & field) != 0; }

/* Offsets that a schema leaves out are not worked out. */
static void find_message(struct schema *s, const struct attributes *a)
{
    s->message = SIZE_MAX;
    for (size_t i = 0; has(a, FIELD_ENTRIES) && has(a, FIELD_COUNT) && a->entries && i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        if ((e->flags & KIND_OF_EVENT) != IS_MESSAGE || e->flags & (IS_ARRAY | IS_POINTER) || e->detail ||
            (e->type != TYPE_STRING && e->type != TYPE_REGISTERED) || (!e->offset && i) || e->offset > SIZE_MAX / 2)
            continue;
        s->message = e->offset;
        s->registered = e->type == TYPE_REGISTERED;
        return;
    }
}

uint64_t cumu_nvtx_schema(const void *domain, const void *attributes)
{
    const struct attributes *a = attributes;
    if (!a)
        return 0;
    struct schema *s = calloc(1, sizeof *s), *there = NULL;
    if (!s)
        return 0;
    const uint64_t id = has(a, FIELD_ID) ? a->id : atomic_fetch_add(&next_id, 1);
    s->key.domain = domain;
    s->key.id = id;
    s->name = has(a, FIELD_NAME) && a->name ? cumu_intern(a->name) : NULL;
    find_message(s, a);
    hmap_lock(&schemas);
    HASH_FIND(hh, schemas.head, &s->key, sizeof s->key, there);
    if (!there)
        HASH_ADD(hh, schemas.head, key, sizeof s->key, s);
    if (there || !hmap_added(s))
        free(s);
    hmap_unlock(&schemas);
    return id;
}

uint64_t cumu_nvtx_enumeration(const void *domain, const void *attributes)
{
    (void)domain;
    return attributes ? atomic_fetch_add(&next_id, 1) : 0;
}

/* As the attributes of an event that has a message. */
static struct nvtx_attributes event_of(const void *domain, const void *payloads, size_t count)
{
    const struct data *d = payloads;
    struct nvtx_attributes a = {.size = sizeof a, .message_type = NVTX_MESSAGE_ASCII, .message = "payload"};
    bool named = false;
    for (size_t i = 0; d && i < count; i++) {
        const struct key key = {domain, d[i].schema};
        struct schema *s = NULL, found = {.message = SIZE_MAX};
        hmap_lock(&schemas);
        HASH_FIND(hh, schemas.head, &key, sizeof key, s);
        if (s)
            found = *s;
        hmap_unlock(&schemas);
        const void *message = NULL;
        if (d[i].at && d[i].size >= sizeof message && found.message <= d[i].size - sizeof message)
            memcpy(&message, (const char *)d[i].at + found.message, sizeof message);
        if (message) {
            a.message = message;
            a.message_type = found.registered ? NVTX_MESSAGE_REGISTERED : NVTX_MESSAGE_ASCII;
            return a;
        }
        if (found.name && !named)
            a.message = found.name, named = true;
    }
    return a;
}

void cumu_nvtx_payload_mark(void *domain, const void *payloads, size_t count)
{
    const struct nvtx_attributes a = event_of(domain, payloads, count);
    wrap_nvtxDomainMarkEx(domain, &a);
}
int cumu_nvtx_payload_push(void *domain, const void *payloads, size_t count)
{
    const struct nvtx_attributes a = event_of(domain, payloads, count);
    return wrap_nvtxDomainRangePushEx(domain, &a);
}
uint64_t cumu_nvtx_payload_start(void *domain, const void *payloads, size_t count)
{
    const struct nvtx_attributes a = event_of(domain, payloads, count);
    return wrap_nvtxDomainRangeStartEx(domain, &a);
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
