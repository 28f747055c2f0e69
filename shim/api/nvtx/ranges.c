/* Ranges and marks of NVTX: those of a thread's stack, and those of the process, which another thread may end. */
#include "api/nvtx/nvtx.h"
#include "core/core.h"
#include "core/hmap.h"
#include "core/intern.h"
#include "core/trace.h"
#include "wraps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct range {
    struct range *below; /* of a stack */
    unsigned missing;    /* ranges within it that there was no memory for, whose ends come before its own */
    const void *domain;
    const char *message;
    struct cumu_annotation annotation;
    char payload[32];
    uint64_t start;
    uint64_t id;
    UT_hash_handle hh; /* of the process */
};

static HMAP(struct range) open_ranges = HMAP_INIT;
static atomic_uint_fast64_t last_id;
static atomic_uint listeners; /* besides the tracer */

/* The stack is freed with its thread. */
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
static bool stack_usable;

static void free_stack(void *top)
{
    for (struct range *r = top, *below; r; r = below) {
        below = r->below;
        free(r);
    }
}

static void make_key(void) { stack_usable = pthread_key_create(&stack_key, free_stack) == 0; }

bool cumu_nvtx_wanted(void)
{
    return cumu_active() && (atomic_load_explicit(&listeners, memory_order_relaxed) || cumu_tracing());
}

void cumu_nvtx_want(bool on)
{
    if (on)
        atomic_fetch_add(&listeners, 1);
    else
        atomic_fetch_sub(&listeners, 1);
    if (on)
        cumu_nvtx_attach();
}

/* ---- what an event is ------------------------------------------------------------------------ */

static const char *message_of(const struct nvtx_attributes *a)
{
    static const char no_memory[] = "(out of memory)";
    const char *s = NULL;
    if (!a->message)
        return "";
    if (a->message_type == NVTX_MESSAGE_ASCII && !(s = cumu_intern(a->message)))
        s = no_memory;
    if (a->message_type == NVTX_MESSAGE_REGISTERED)
        s = cumu_nvtx_text(a->message, false);
    if (a->message_type == NVTX_MESSAGE_UNICODE) {
        char *narrow = cumu_nvtx_narrow(a->message);
        s = cumu_intern(narrow);
        free(narrow);
        s = s ? s : no_memory;
    }
    return s ? s : "";
}

static void write_payload(char text[32], const struct nvtx_attributes *a)
{
    struct cumu_writer w = {text, text + 32, false}; /* which knows no locale */
    switch (a->payload_type) {
    case NVTX_PAYLOAD_U64: (void)snprintf(text, 32, "%llu", (unsigned long long)a->payload.u64); break;
    case NVTX_PAYLOAD_I64: (void)snprintf(text, 32, "%lld", (long long)a->payload.i64); break;
    case NVTX_PAYLOAD_U32: (void)snprintf(text, 32, "%u", a->payload.u32); break;
    case NVTX_PAYLOAD_I32: (void)snprintf(text, 32, "%d", a->payload.i32); break;
    case NVTX_PAYLOAD_DOUBLE: cumu_write(&w, "%.17g", a->payload.d); break;
    case NVTX_PAYLOAD_FLOAT: cumu_write(&w, "%.9g", (double)a->payload.f); break;
    default: text[0] = 0;
    }
}

static void describe(struct range *r, const void *domain, const struct nvtx_attributes *a, const char *scope)
{
    static const struct nvtx_attributes none;
    if (!a || a->size < sizeof *a) /* no version of NVTX has a shorter one */
        a = &none;
    r->domain = domain;
    r->message = message_of(a);
    write_payload(r->payload, a);
    r->annotation = (struct cumu_annotation){.domain = cumu_nvtx_text(domain, true),
                                             .scope = scope,
                                             .category = a->category ? cumu_nvtx_category(domain, a->category) : NULL,
                                             .payload = r->payload[0] ? r->payload : NULL,
                                             .category_number = a->category,
                                             .color = a->color,
                                             .colored = a->color_type == NVTX_COLOR_ARGB};
    cumu_trace_begin();
    r->id = atomic_fetch_add(&last_id, 1) + 1;
    r->start = cumu_trace_now();
}

enum { FLAG_MARK = 1, FLAG_BEGIN = 2, FLAG_END = 4 };

static void tell_marker(const struct range *r, unsigned flags, uint64_t at, const struct nvtx_attributes *a)
{
    struct nvtx_marker m = {r->id, at, r->message, r->annotation.domain, flags, !r->annotation.id, a};
    if (atomic_load_explicit(&listeners, memory_order_relaxed))
        cumu_cupti_marker(&m);
}

static void tell(const struct range *r, enum cumu_event_kind kind, uint64_t end)
{
    struct cumu_event e = {.kind = kind,
                           .library = "nvtx",
                           .name = r->message,
                           .start = r->start,
                           .duration = end - r->start,
                           .timed = kind == CUMU_EVENT_RANGE,
                           .annotation = &r->annotation};
    if (!cumu_tracing())
        return;
    cumu_trace_stamp(&e);
    cumu_trace_event(&e);
}

static void lose_marker(void)
{
    if (atomic_load_explicit(&listeners, memory_order_relaxed))
        cumu_cupti_lose_marker();
}

void cumu_nvtx_tell(const void *domain, const struct nvtx_attributes *a, const char *scope, uint64_t at, uint64_t ended)
{
    struct range r = {0};
    if (!cumu_nvtx_wanted())
        return;
    describe(&r, domain, a, scope);
    r.start = at;
    r.annotation.id = ended ? r.id : 0;
    tell_marker(&r, ended ? FLAG_BEGIN : FLAG_MARK, at, a);
    if (ended)
        tell_marker(&r, FLAG_END, ended, NULL);
    tell(&r, ended ? CUMU_EVENT_RANGE : CUMU_EVENT_MARK, ended ? ended : at);
}

/* ---- marks ----------------------------------------------------------------------------------- */

void cumu_nvtx_mark(const void *domain, const struct nvtx_attributes *a, const char *scope)
{
    struct range r = {0};
    if (!cumu_nvtx_wanted())
        return;
    describe(&r, domain, a, scope);
    tell_marker(&r, FLAG_MARK, r.start, a);
    tell(&r, CUMU_EVENT_MARK, r.start);
}

static struct nvtx_attributes plain(int type, const void *message)
{
    return (struct nvtx_attributes){.size = sizeof(struct nvtx_attributes), .message_type = type, .message = message};
}

void wrap_nvtxDomainMarkEx(void *domain, const void *attributes) { cumu_nvtx_mark(domain, attributes, NULL); }

void wrap_nvtxMarkEx(const void *attributes) { cumu_nvtx_mark(NULL, attributes, NULL); }

void wrap_nvtxMarkA(const char *message)
{
    struct nvtx_attributes a = plain(NVTX_MESSAGE_ASCII, message);
    cumu_nvtx_mark(NULL, &a, NULL);
}

void wrap_nvtxMarkW(const void *message)
{
    struct nvtx_attributes a = plain(NVTX_MESSAGE_UNICODE, message);
    cumu_nvtx_mark(NULL, &a, NULL);
}

/* ---- ranges of a thread ----------------------------------------------------------------------- */

/* How many of the domain are open; the number of a new one, from 0. */
static int depth_of(const struct range *r, const void *domain)
{
    int n = 0;
    for (; r; r = r->below)
        n += r->domain == domain;
    return n;
}

static struct range *innermost(struct range *r, const void *domain)
{
    while (r && r->domain != domain)
        r = r->below;
    return r;
}

int cumu_nvtx_push(const void *domain, const struct nvtx_attributes *a, const char *scope)
{
    if (!cumu_nvtx_wanted())
        return NVTX_NO_TRACKING;
    (void)pthread_once(&stack_once, make_key);
    struct range *top = stack_usable ? pthread_getspecific(stack_key) : NULL;
    struct range *r = stack_usable ? calloc(1, sizeof *r) : NULL;
    if (!r || pthread_setspecific(stack_key, r) != 0) {
        struct range *around = innermost(top, domain);
        if (around)
            around->missing++;
        free(r);
        lose_marker();
        return NVTX_NO_TRACKING;
    }
    describe(r, domain, a, scope);
    r->below = top;
    cumu_trace_indent(1);
    tell_marker(r, FLAG_BEGIN, r->start, a);
    return depth_of(r->below, domain);
}

/* Ends the domain's innermost range; ranges of different domains need not nest. */
static int pop(const void *domain)
{
    if (!cumu_nvtx_wanted())
        return NVTX_NO_TRACKING;
    (void)pthread_once(&stack_once, make_key);
    struct range *top = stack_usable ? pthread_getspecific(stack_key) : NULL, **at = &top;
    while (*at && (*at)->domain != domain)
        at = &(*at)->below;
    struct range *r = *at;
    if (!r)
        return -1; /* nothing was pushed */
    if (r->missing) {
        r->missing--;
        return NVTX_NO_TRACKING;
    }
    *at = r->below;
    (void)pthread_setspecific(stack_key, top);
    cumu_trace_indent(-1);
    uint64_t ended = cumu_trace_now();
    tell_marker(r, FLAG_END, ended, NULL);
    tell(r, CUMU_EVENT_RANGE, ended);
    free(r);
    return depth_of(top, domain);
}

int wrap_nvtxDomainRangePushEx(void *domain, const void *attributes)
{
    return cumu_nvtx_push(domain, attributes, NULL);
}

int wrap_nvtxRangePushEx(const void *attributes) { return cumu_nvtx_push(NULL, attributes, NULL); }

int wrap_nvtxRangePushA(const char *message)
{
    struct nvtx_attributes a = plain(NVTX_MESSAGE_ASCII, message);
    return cumu_nvtx_push(NULL, &a, NULL);
}

int wrap_nvtxRangePushW(const void *message)
{
    struct nvtx_attributes a = plain(NVTX_MESSAGE_UNICODE, message);
    return cumu_nvtx_push(NULL, &a, NULL);
}

int wrap_nvtxDomainRangePop(void *domain) { return pop(domain); }

int wrap_nvtxRangePop(void) { return pop(NULL); }

/* ---- ranges of the process -------------------------------------------------------------------- */

uint64_t cumu_nvtx_start(const void *domain, const struct nvtx_attributes *a, const char *scope)
{
    if (!cumu_nvtx_wanted())
        return 0;
    struct range *r = calloc(1, sizeof *r), copy;
    if (!r) {
        lose_marker();
        return 0;
    }
    describe(r, domain, a, scope);
    r->annotation.id = r->id;
    copy = *r;
    hmap_lock(&open_ranges);
    HASH_ADD(hh, open_ranges.head, id, sizeof r->id, r);
    bool added = hmap_added(r);
    hmap_unlock(&open_ranges);
    if (!added) {
        free(r);
        lose_marker();
        return 0;
    }
    tell_marker(&copy, FLAG_BEGIN, copy.start, a);
    return copy.id;
}

static void end(uint64_t id)
{
    struct range *r = NULL;
    if (!id)
        return;
    hmap_lock(&open_ranges);
    HASH_FIND(hh, open_ranges.head, &id, sizeof id, r);
    if (r)
        HASH_DEL(open_ranges.head, r);
    hmap_unlock(&open_ranges);
    if (r && cumu_nvtx_wanted()) {
        uint64_t at = cumu_trace_now();
        tell_marker(r, FLAG_END, at, NULL);
        tell(r, CUMU_EVENT_RANGE, at);
    }
    free(r);
}

uint64_t wrap_nvtxDomainRangeStartEx(void *domain, const void *attributes)
{
    return cumu_nvtx_start(domain, attributes, NULL);
}

uint64_t wrap_nvtxRangeStartEx(const void *attributes) { return cumu_nvtx_start(NULL, attributes, NULL); }

uint64_t wrap_nvtxRangeStartA(const char *message)
{
    struct nvtx_attributes a = plain(NVTX_MESSAGE_ASCII, message);
    return cumu_nvtx_start(NULL, &a, NULL);
}

uint64_t wrap_nvtxRangeStartW(const void *message)
{
    struct nvtx_attributes a = plain(NVTX_MESSAGE_UNICODE, message);
    return cumu_nvtx_start(NULL, &a, NULL);
}

void wrap_nvtxRangeEnd(uint64_t id) { end(id); }

void wrap_nvtxDomainRangeEnd(void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

/* ---- the rest --------------------------------------------------------------------------------- */

void wrap_nvtxInitialize(const void *reserved) { (void)reserved; }

/* Threads are numbered in traces; their names have no place there. */
void wrap_nvtxNameOsThreadA(unsigned thread, const char *name) { (void)thread, (void)name; }

void wrap_nvtxNameOsThreadW(unsigned thread, const void *name) { (void)thread, (void)name; }
