/* Records of what the tracer sees on the device, and of NVTX's ranges. */
#include "api/check.h"
#include "api/cupti/cupti.h"
#include "api/nvtx/nvtx.h"
#include "core/intern.h"
#include "core/upper.h"
#include "mu.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* ---- copies --------------------------------------------------------------------------------------- */

/* CUpti_ActivityMemcpyKind, by what is read and what is written: host, array, device. */
static uint8_t copy_kind(uint8_t to, uint8_t from)
{
    enum { HTOD = 1, DTOH, HTOA, ATOH, ATOA, ATOD, DTOA, DTOD, HTOH };
    static const uint8_t kinds[3][3] = {{HTOH, HTOA, HTOD}, {ATOH, ATOA, ATOD}, {DTOH, DTOA, DTOD}};
    static const uint8_t place[] = {[MEMORY_UNKNOWN] = 0, [MEMORY_PAGEABLE] = 0, [MEMORY_PINNED] = 0,
                                    [MEMORY_DEVICE] = 2,  [MEMORY_ARRAY] = 1,    [MEMORY_MANAGED] = 2};
    return kinds[place[from]][place[to]];
}

static uint8_t memory_kind(uintptr_t at)
{
    unsigned type = 0, managed = 0;
    if (mu.muPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != MUSA_SUCCESS)
        return MEMORY_PAGEABLE;
    if (mu.muPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) == MUSA_SUCCESS && managed)
        return MEMORY_MANAGED;
    return type == MU_MEMORYTYPE_DEVICE ? MEMORY_DEVICE : MEMORY_PINNED;
}

/* What a call moves: the kinds of memory it writes and reads; a memset reads none, and has a value. */
static bool describe(const struct cumu_prototype *c, const struct cumu_frame *f, struct cumu_event *e)
{
    struct check_range r[2];
    unsigned n = cumu_check_moves(c, f, r);
    e->written = e->read = MEMORY_UNKNOWN;
    for (unsigned i = 0; i < n; i++) {
        bool array = r[i].size == 1 && e->bytes > 1; /* known by its handle alone (check_moves.c) */
        uint8_t kind = array ? MEMORY_ARRAY : memory_kind(r[i].at);
        if (r[i].use == CHECK_WRITES)
            e->written = kind;
        else
            e->read = kind;
    }
    for (unsigned i = 1; i < c->count && n == 1; i++) { /* the value stands behind the memory */
        const struct cumu_argument *a = &cumu_arguments[c->first + i];
        if (!a->stars && (a->kind == CUMU_ARG_SIGNED || a->kind == CUMU_ARG_UNSIGNED) && a->size <= 4) {
            e->value = (uint32_t)cumu_call_argument(c, f, i);
            break;
        }
    }
    return n != 0;
}

void cumu_cupti_write_work(const void *r, size_t size, const struct cupti_context *c, uint32_t stream)
{
    if ((c->handle && !c->id) || !stream)
        cumu_cupti_lose();
    else
        cumu_cupti_write(r, size);
}

static void write_event(const struct cumu_event *e, const void *r, size_t size, const struct cupti_context *c,
                        uint32_t stream)
{
    if (e->lost)
        cumu_cupti_lose();
    else
        cumu_cupti_write_work(r, size, c, stream);
}

static void write_memcpy(const struct cumu_event *e)
{
    struct cupti_context c = cumu_cupti_context_of(e->context);
    struct cupti_memcpy r = {.kind = KIND_MEMCPY,
                             .copy = copy_kind(e->written, e->read),
                             .from = e->read,
                             .to = e->written,
                             .flags = e->stream != NULL || strstr(e->name, "Async") != NULL,
                             .bytes = e->bytes,
                             .start = cumu_cupti_time(e->start),
                             .end = cumu_cupti_time(e->start + e->duration),
                             .device = c.device,
                             .context = c.id,
                             .stream = cumu_cupti_stream(e->stream),
                             .correlation = e->correlation,
                             .runtime_correlation = e->correlation,
                             .count = 1};
    if (cumu_cupti_kind_on(KIND_MEMCPY))
        write_event(e, &r, sizeof r, &c, r.stream);
}

static void write_memset(const struct cumu_event *e)
{
    struct cupti_context c = cumu_cupti_context_of(e->context);
    struct cupti_memset r = {.kind = KIND_MEMSET,
                             .value = e->value,
                             .bytes = e->bytes,
                             .start = cumu_cupti_time(e->start),
                             .end = cumu_cupti_time(e->start + e->duration),
                             .device = c.device,
                             .context = c.id,
                             .stream = cumu_cupti_stream(e->stream),
                             .correlation = e->correlation,
                             .flags = strstr(e->name, "Async") != NULL,
                             .memory = e->written};
    if (cumu_cupti_kind_on(KIND_MEMSET))
        write_event(e, &r, sizeof r, &c, r.stream);
}

static void write_copy(const struct cumu_event *e)
{
    if (strstr(e->name, "emset"))
        write_memset(e);
    else
        write_memcpy(e);
}

void cumu_cupti_copied(const struct cumu_prototype *c, const struct cumu_frame *f, uint64_t end)
{
    const void *stream;
    struct cumu_event e = {.kind = CUMU_EVENT_COPY,
                           .name = f->facade->table->symbols[f->index].name,
                           .start = f->start,
                           .duration = end - f->start,
                           .bytes = cumu_call_bytes(c, f),
                           .correlation = f->correlation};
    bool wanted = cumu_cupti_kind_on(KIND_MEMCPY) || cumu_cupti_kind_on(KIND_MEMSET);
    if (wanted && e.bytes && !cumu_call_stream(c, f, &stream) && describe(c, f, &e))
        write_copy(&e);
}

/* ---- events of the tracer ------------------------------------------------------------------------- */

static void write_kernel(const struct cumu_event *e)
{
    struct cupti_context c = cumu_cupti_context_of(e->context);
    struct cupti_kernel r = {.registers = (uint16_t)e->registers,
                             .start = cumu_cupti_time(e->start),
                             .end = cumu_cupti_time(e->start + e->duration),
                             .completed = cumu_cupti_time(e->start + e->duration),
                             .device = c.device,
                             .context = c.id,
                             .stream = cumu_cupti_stream(e->stream),
                             .static_shared = (int32_t)e->fixed,
                             .dynamic_shared = (int32_t)e->shared,
                             .local_per_thread = e->local,
                             .correlation = e->correlation ? e->correlation : cumu_cupti_correlation(),
                             .grid_id = e->correlation,
                             .name = cumu_intern(e->name),
                             .shared_executed = (uint32_t)(e->fixed + e->shared)};
    for (unsigned i = 0; i < 3; i++) {
        r.grid[i] = (int32_t)e->grid[i];
        r.block[i] = (int32_t)e->block[i];
    }
    r.kind = cumu_cupti_kind_on(KIND_CONCURRENT_KERNEL) ? KIND_CONCURRENT_KERNEL : KIND_KERNEL;
    if (!cumu_cupti_kind_on(r.kind))
        return;
    if (r.name)
        write_event(e, &r, sizeof r, &c, r.stream);
    else
        cumu_cupti_lose();
}

static void write_graph(const struct cumu_event *e)
{
    struct cupti_context c = cumu_cupti_context_of(e->context);
    struct cupti_graph r = {.kind = KIND_GRAPH_TRACE,
                            .correlation = e->correlation,
                            .start = cumu_cupti_time(e->start),
                            .end = cumu_cupti_time(e->start + e->duration),
                            .device = c.device,
                            .context = c.id,
                            .stream = cumu_cupti_stream(e->stream),
                            .end_device = c.device,
                            .end_context = c.id};
    if (cumu_cupti_kind_on(KIND_GRAPH_TRACE))
        write_event(e, &r, sizeof r, &c, r.stream);
}

/* A compilation is the driver's, of the process: none of the program's threads waits for it. */
static void write_compilation(const struct cumu_event *e)
{
    struct cupti_overhead r = {.kind = KIND_OVERHEAD,
                               .overhead = OVERHEAD_COMPILER,
                               .object = OBJECT_PROCESS,
                               .id = {(uint32_t)getpid()},
                               .start = cumu_cupti_time(e->start),
                               .end = cumu_cupti_time(e->start + e->duration)};
    if (cumu_cupti_kind_on(KIND_OVERHEAD))
        cumu_cupti_write(&r, sizeof r);
}

/* Work that is captured into a graph has no time and no record; one whose time could not be taken is lost. */
static void profile_event(const struct cumu_event *e)
{
    if (!e->timed && !e->lost)
        return;
    switch (e->kind) {
    case CUMU_EVENT_KERNEL: write_kernel(e); break;
    case CUMU_EVENT_COPY: write_copy(e); break;
    case CUMU_EVENT_GRAPH: write_graph(e); break;
    case CUMU_EVENT_COMPILE: write_compilation(e); break;
    default: break; /* calls and ranges have ways of their own */
    }
}

static void profile_copy(const struct cumu_prototype *c, const struct cumu_frame *f, struct cumu_event *e)
{
    (void)describe(c, f, e);
}

static const struct cumu_upper records = {.profile_copy = profile_copy, .profile_event = profile_event};
CUMU_UPPER(records);

/* ---- markers -------------------------------------------------------------------------------------- */

/* CUpti_MetricValueKind of NVTX's kinds of payload. */
static void set_payload(struct cupti_marker_data *r, const struct nvtx_attributes *a)
{
    enum { DOUBLE = 0, UINT64 = 1, INT64 = 4 };
    double d = 0;
    int64_t i = 0;
    r->payload_kind = UINT64;
    switch (a->payload_type) {
    case NVTX_PAYLOAD_U64: r->payload = a->payload.u64; return;
    case NVTX_PAYLOAD_U32: r->payload = a->payload.u32; return;
    case NVTX_PAYLOAD_I64: i = a->payload.i64; break;
    case NVTX_PAYLOAD_I32: i = a->payload.i32; break;
    case NVTX_PAYLOAD_DOUBLE: d = a->payload.d; break;
    case NVTX_PAYLOAD_FLOAT: d = (double)a->payload.f; break;
    default: return;
    }
    bool real = a->payload_type == NVTX_PAYLOAD_DOUBLE || a->payload_type == NVTX_PAYLOAD_FLOAT;
    r->payload_kind = real ? DOUBLE : INT64;
    memcpy(&r->payload, real ? (void *)&d : (void *)&i, sizeof r->payload);
}

void cumu_cupti_marker(const struct nvtx_marker *m)
{
    struct cupti_marker r = {.kind = KIND_MARKER,
                             .flags = m->flags,
                             .timestamp = cumu_cupti_time(m->at),
                             .id = (uint32_t)m->id,
                             .object = m->thread ? OBJECT_THREAD : OBJECT_PROCESS,
                             .object_id = {(uint32_t)getpid(), m->thread ? cumu_cupti_thread() : 0},
                             .name = m->flags & FLAG_END ? NULL : m->name,
                             .domain = m->domain};
    if (cumu_cupti_kind_on(KIND_MARKER))
        cumu_cupti_write(&r, sizeof r);
    const struct nvtx_attributes *a = m->attributes;
    if (!a || a->size < sizeof *a || !cumu_cupti_kind_on(KIND_MARKER_DATA))
        return;
    struct cupti_marker_data d = {.kind = KIND_MARKER_DATA, .id = r.id, .category = a->category};
    d.color = a->color_type == NVTX_COLOR_ARGB ? a->color : 0;
    set_payload(&d, a);
    cumu_cupti_write(&d, sizeof d);
}

void cumu_cupti_lose_marker(void)
{
    if (cumu_cupti_kind_on(KIND_MARKER))
        cumu_cupti_lose();
}
