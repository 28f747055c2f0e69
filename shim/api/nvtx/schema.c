/* NVTX's schemas: what the members of a program's structures are and where they lie, by what the program said or, where
 * it left offsets out, as C lays structures out. Layouts and numbers: NVTX's public headers. */
#include "api/nvtx/nvtx.h"
#include "api/nvtx/registry.h"
#include "core/intern.h"
#include "core/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry { /* nvtxPayloadSchemaEntry_t */
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset; /* detail: of arrays, texts in place and unions */
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
enum { FIELD_NAME = 1 << 1, FIELD_FLAGS = 1 << 3, FIELD_ENTRIES = 1 << 4, FIELD_COUNT = 1 << 5 };
enum { FIELD_SIZE = 1 << 6, FIELD_ALIGNMENT = 1 << 7, FIELD_ID = 1 << 8 };
enum { IS_FIXED_ARRAY = 1 << 4, IS_OFFSET = 3 << 2 };
enum { MOST_MEMBERS = 1 << 16 };

struct semantics { /* nvtxSemanticsHeader_t */
    uint32_t size;
    uint16_t id, version;
    const struct semantics *next;
    uint64_t value; /* of nvtxSemanticsTime_t a clock, of nvtxSemanticsScope_t a scope */
};
enum { MOST_SEMANTICS = 64 };

struct schema {
    struct nvtx_registered registered;
    struct nvtx_schema is;
};

uint64_t cumu_nvtx_said(const void *semantics, unsigned id)
{
    const struct semantics *s = semantics;
    for (int i = 0; s && i < MOST_SEMANTICS; i++, s = s->next)
        if (s->id == id && s->size >= sizeof *s)
            return s->value;
    return 0;
}

bool cumu_nvtx_read(const struct nvtx_member *m, const void *at, size_t size, void *to, size_t n)
{
    if (!at || m->size < n || size < n || m->offset > size - n)
        return false;
    memcpy(to, (const char *)at + m->offset, n);
    return true;
}

uint64_t cumu_nvtx_scope_in(const struct nvtx_member *m, const void *at, size_t size)
{
    uint64_t id = 0;
    if (m->type == NVTX_TYPE_SCOPE && !(m->flags & (NVTX_IS_ARRAY | NVTX_IS_POINTER)))
        (void)cumu_nvtx_read(m, at, size, &id, sizeof id);
    return id;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* The predefined types: C's, those of a size, addresses, characters, numbers that are NVTX's own, handles. kind: how
 * they are shown; 0: they are not. */
static const struct {
    uint8_t type, size;
    char kind; /* i, u, f */
} types[] = {{1, 1, 'i'},  {2, 1, 'u'},  {3, 2, 'i'},  {4, 2, 'u'},  {5, 4, 'i'},  {6, 4, 'u'},  {7, 8, 'i'},
             {8, 8, 'u'},  {9, 8, 'i'},  {10, 8, 'u'}, {11, 1, 'i'}, {12, 1, 'u'}, {13, 2, 'i'}, {14, 2, 'u'},
             {15, 4, 'i'}, {16, 4, 'u'}, {17, 8, 'i'}, {18, 8, 'u'}, {19, 4, 'f'}, {20, 8, 'f'}, {21, 16, 0},
             {22, 8, 'u'}, {23, 8, 0},   {24, 4, 0},   {25, 1, 0},   {26, 2, 0},   {27, 4, 0},   {32, 1, 'u'},
             {33, 16, 0},  {34, 16, 0},  {42, 2, 0},   {43, 4, 'f'}, {44, 8, 'f'}, {45, 16, 0},  {50, 2, 0},
             {52, 4, 0},   {67, 8, 0},   {68, 4, 0},   {69, 4, 0},   {70, 8, 0},   {71, 4, 0},   {72, 8, 0},
             {73, 4, 0},   {74, 8, 0},   {75, 1, 0},   {76, 1, 0},   {77, 2, 0},   {78, 4, 0},   {80, 8, 0}};

/* Bytes of one; of texts, of a character of them. 0: no such type. */
static size_t size_of(uint64_t type, char *kind)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) {
            *kind = types[i].kind;
            return types[i].size;
        }
    return 0;
}

size_t cumu_nvtx_number(uint64_t type, const void *at, size_t size, char text[32])
{
    char kind = 0;
    const size_t n = size_of(type, &kind);
    if (!kind || (at && size < n))
        return 0;
    if (!at)
        return n;
    uint64_t bits = 0;
    float f = 0;
    double d;
    memcpy(&bits, at, n);
    memcpy(&f, at, n < sizeof f ? n : sizeof f);
    memcpy(&d, &bits, sizeof d);
    struct cumu_writer w = {text, text + 32, false}; /* which knows no locale */
    const unsigned unused = 64 - 8 * (unsigned)n;    /* the sign's extension */
    if (kind == 'f')
        cumu_write(&w, "%.17g", n == sizeof f ? (double)f : d);
    else if (kind == 'i')
        (void)snprintf(text, 32, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    else
        (void)snprintf(text, 32, "%llu", (unsigned long long)bits);
    return n;
}

/* ---- layouts ----------------------------------------------------------------------------------- */

/* Bytes and alignment of a member; 0 bytes: they are not known beforehand. */
static size_t measure(const void *domain, const struct entry *e, size_t *alignment)
{
    const bool text = e->type >= NVTX_TYPE_TEXT && e->type <= NVTX_TYPE_TEXT_UTF32;
    char kind = 0;
    size_t size = size_of(e->type, &kind), times = 1;
    *alignment = size;
    if (e->flags & NVTX_IS_POINTER || (text && !e->detail && !(e->flags & NVTX_IS_ARRAY))) {
        *alignment = sizeof(void *);
        return sizeof(void *);
    }
    if (e->flags & IS_OFFSET)
        return 0;
    if (!size) {
        const struct nvtx_schema *s = cumu_nvtx_schema_of(domain, e->type);
        size = s ? s->size : 0;
        *alignment = s ? s->alignment : 1;
    }
    if (e->flags & NVTX_IS_ARRAY || text) {
        const bool fixed = text ? !(e->flags & NVTX_IS_ARRAY & ~IS_FIXED_ARRAY)
                                : (e->flags & NVTX_IS_ARRAY) == IS_FIXED_ARRAY;
        times = fixed ? e->detail : 0;
    }
    return times && size <= SIZE_MAX / 4 / times ? size * times : 0;
}

/* The members whose places are known; those behind one of unknown length are, if the program says them. */
static void lay_out(struct nvtx_schema *s, const void *domain, const struct entry *e, size_t n, size_t most)
{
    size_t at = 0;
    bool known = true;
    s->alignment = 1;
    for (size_t i = 0; i < n; i++) {
        size_t alignment = 1;
        const size_t size = measure(domain, &e[i], &alignment);
        alignment = alignment > most ? most : alignment;
        if (e[i].offset || !i)
            at = e[i].offset, known = true;
        else if (known && alignment)
            at = (at + alignment - 1) / alignment * alignment;
        if (known && size && at <= SIZE_MAX / 4) {
            struct nvtx_member *m = &s->members[s->count++];
            m->name = e[i].name ? cumu_intern(e[i].name) : NULL;
            m->type = e[i].type, m->flags = e[i].flags, m->detail = e[i].detail;
            m->offset = at, m->size = size;
            m->clock = cumu_nvtx_said(e[i].semantics, NVTX_SEMANTICS_TIME);
            m->scope = cumu_nvtx_said(e[i].semantics, NVTX_SEMANTICS_SCOPE);
            s->alignment = alignment > s->alignment ? alignment : s->alignment;
        }
        known = known && size && at <= SIZE_MAX / 4;
        at += known ? size : 0;
    }
    if (!s->size && known)
        s->size = (at + s->alignment - 1) / s->alignment * s->alignment;
}

uint64_t cumu_nvtx_schema(const void *domain, const void *attributes)
{
    const struct attributes *a = attributes;
    if (!a)
        return 0;
    const bool entries = a->fields & FIELD_ENTRIES && a->fields & FIELD_COUNT && a->entries && a->count <= MOST_MEMBERS;
    const size_t n = entries ? a->count : 0;
    struct schema *s = calloc(1, sizeof *s + n * sizeof *s->is.members);
    if (!s)
        return 0;
    s->is.name = a->fields & FIELD_NAME && a->name ? cumu_intern(a->name) : NULL;
    s->is.flags = a->fields & FIELD_FLAGS ? a->flags : 0;
    s->is.size = a->fields & FIELD_SIZE ? a->size : 0;
    s->is.members = (struct nvtx_member *)(s + 1);
    lay_out(&s->is, domain, a->entries, n, a->fields & FIELD_ALIGNMENT && a->alignment ? a->alignment : 16);
    return cumu_nvtx_keep(&s->registered, NVTX_SCHEMA, domain, a->fields & FIELD_ID ? a->id : 0);
}

uint64_t cumu_nvtx_enumeration(const void *domain, const void *attributes)
{
    (void)domain;
    return attributes ? cumu_nvtx_new_id() : 0;
}

const struct nvtx_schema *cumu_nvtx_schema_of(const void *domain, uint64_t id)
{
    const struct schema *s = cumu_nvtx_kept(NVTX_SCHEMA, domain, id);
    return s ? &s->is : NULL;
}
