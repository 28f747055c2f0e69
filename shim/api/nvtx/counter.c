/* NVTX's counters: numbers of a program's over time, each of which is one event of a trace. Groups of counters, whose
 * members a schema describes, and batches with times of their own are not shown. Layouts and numbers: NVTX's public
 * headers. */
#include "api/nvtx/nvtx.h"
#include "core/core.h"
#include "core/hmap.h"
#include "core/intern.h"
#include "core/trace.h"

#include <stdatomic.h>
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
#define FIRST_ID ((uint64_t)1 << 32) /* of those that are not the program's */
enum { SAMPLE_ZERO = 0 };

struct counter {
    struct key {
        const void *domain;
        uint64_t id;
    } key;
    const char *name;
    uint64_t type;
    UT_hash_handle hh;
};
static HMAP(struct counter) counters = HMAP_INIT;
static _Atomic uint64_t next_id = FIRST_ID;

uint64_t cumu_nvtx_counter(const void *domain, const void *attributes)
{
    const struct attributes *a = attributes;
    if (!a || a->size < sizeof *a)
        return 0;
    struct counter *c = calloc(1, sizeof *c), *there = NULL;
    if (!c)
        return 0;
    const uint64_t id = a->id ? a->id : atomic_fetch_add(&next_id, 1);
    c->key.domain = domain;
    c->key.id = id;
    c->name = a->name ? cumu_intern(a->name) : NULL;
    c->type = a->type;
    hmap_lock(&counters);
    HASH_FIND(hh, counters.head, &c->key, sizeof c->key, there);
    if (!there)
        HASH_ADD(hh, counters.head, key, sizeof c->key, c);
    if (there || !hmap_added(c))
        free(c);
    hmap_unlock(&counters);
    return id;
}

static bool find(struct counter *found, const void *domain, uint64_t id)
{
    const struct key key = {domain, id};
    struct counter *c = NULL;
    if (!cumu_active() || !cumu_tracing())
        return false;
    hmap_lock(&counters);
    HASH_FIND(hh, counters.head, &key, sizeof key, c);
    if (c)
        *found = *c;
    hmap_unlock(&counters);
    return c != NULL;
}

static void tell(const struct counter *c, const char *value)
{
    const struct cumu_annotation a = {.domain = cumu_nvtx_text(c->key.domain, true), .payload = value};
    struct cumu_event e = {
        .kind = CUMU_EVENT_COUNTER, .library = "nvtx", .name = c->name ? c->name : "counter", .annotation = &a};
    cumu_trace_begin();
    e.start = cumu_trace_now();
    cumu_trace_stamp(&e);
    cumu_trace_event(&e);
}

static void tell_integer(const struct counter *c, int64_t v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)v);
    tell(c, text);
}
static void tell_unsigned(const struct counter *c, uint64_t v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    tell(c, text);
}
static void tell_real(const struct counter *c, double v)
{
    char text[32];
    struct cumu_writer w = {text, text + sizeof text, false}; /* which knows no locale */
    cumu_write(&w, "%.17g", v);
    tell(c, text);
}

void cumu_nvtx_count_integer(const void *domain, uint64_t id, int64_t value)
{
    struct counter c;
    if (find(&c, domain, id))
        tell_integer(&c, value);
}
void cumu_nvtx_count_real(const void *domain, uint64_t id, double value)
{
    struct counter c;
    if (find(&c, domain, id))
        tell_real(&c, value);
}
/* Why there is no number: because it is 0, or the one before still, or because nobody knows. */
void cumu_nvtx_count_none(const void *domain, uint64_t id, uint8_t reason)
{
    struct counter c;
    if (reason == SAMPLE_ZERO && find(&c, domain, id))
        tell_integer(&c, 0);
}

/* Numbers of NVTX's types of one: C's, those of a size, and floats of a size. */
static const struct {
    uint8_t type, size;
    char kind; /* i, u, f */
} types[] = {{1, 1, 'i'},  {2, 1, 'u'},  {3, 2, 'i'},  {4, 2, 'u'},  {5, 4, 'i'},  {6, 4, 'u'},
             {7, 8, 'i'},  {8, 8, 'u'},  {9, 8, 'i'},  {10, 8, 'u'}, {11, 1, 'i'}, {12, 1, 'u'},
             {13, 2, 'i'}, {14, 2, 'u'}, {15, 4, 'i'}, {16, 4, 'u'}, {17, 8, 'i'}, {18, 8, 'u'},
             {19, 4, 'f'}, {20, 8, 'f'}, {22, 8, 'u'}, {32, 1, 'u'}, {43, 4, 'f'}, {44, 8, 'f'}};

void cumu_nvtx_count(const void *domain, uint64_t id, const void *value, size_t size)
{
    struct counter c;
    if (!value || !find(&c, domain, id))
        return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type != c.type || types[i].size != size)
            continue;
        uint64_t bits = 0;
        float f = 0;
        double d;
        memcpy(&bits, value, size);
        memcpy(&f, value, size < sizeof f ? size : sizeof f);
        memcpy(&d, &bits, sizeof d);
        const unsigned unused = 64 - 8 * (unsigned)size; /* the sign's extension */
        if (types[i].kind == 'f')
            tell_real(&c, size == sizeof f ? (double)f : d);
        else if (types[i].kind == 'i')
            tell_integer(&c, (int64_t)(bits << unused) >> unused);
        else
            tell_unsigned(&c, bits);
    }
}
