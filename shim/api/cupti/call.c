/* Calls as a user of CUPTI sees them: a number for each, callbacks before and after it, records of it. */
#include "api/api.h"
#include "api/cupti/cupti.h"
#include "core/intern.h"
#include "core/upper.h"
#include "wraps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct callback_data { /* CUpti_CallbackData */
    int site;
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *kept;
    uint32_t correlation;
};
struct resource_data {
    void *context, *resource, *descriptor;
};
struct synchronize_data {
    void *context, *stream;
};

static atomic_uint last_call;
static _Thread_local uint32_t call; /* the outermost that is under way */

uint32_t cumu_cupti_correlation(void) { return call ? call : atomic_fetch_add(&last_call, 1) + 1; }

/* ---- the function -------------------------------------------------------------------------------- */

struct function {
    unsigned domain;
    uint32_t cbid;
    const struct cumu_symbol *symbol;
    const struct cumu_prototype *prototype;
};

/* Numbers are looked up once for each symbol. 0: not looked up, NONE: it has none. */
enum { TABLES = 8, NONE = 0xffff };
static struct {
    _Atomic(const struct cumu_table *) table;
    _Atomic(_Atomic uint16_t *) cbid;
} known[TABLES];

static unsigned toolkit_of(const char *soname)
{
    const char *v = strstr(soname, "libcudart.so.");
    return v ? (unsigned)(10 * (v[13] - '0') + v[14] - '0') : 99;
}

static uint32_t look_up(const struct cumu_table *t, uint32_t index, unsigned domain)
{
    return cumu_cupti_cbid(domain, t->symbols[index].name, toolkit_of(t->soname));
}

static uint32_t cbid_of(const struct cumu_table *t, uint32_t index, unsigned domain)
{
    unsigned i = 0;
    for (; i < TABLES; i++) {
        const struct cumu_table *there = NULL;
        if (atomic_load(&known[i].table) == t || atomic_compare_exchange_strong(&known[i].table, &there, t) ||
            there == t)
            break;
    }
    if (i == TABLES)
        return look_up(t, index, domain);
    _Atomic uint16_t *list = atomic_load(&known[i].cbid), *none = NULL;
    if (!list) {
        list = calloc(t->count, sizeof *list);
        if (!list)
            return look_up(t, index, domain);
        if (!atomic_compare_exchange_strong(&known[i].cbid, &none, list)) {
            free((void *)list);
            list = none;
        }
    }
    uint16_t v = atomic_load_explicit(&list[index], memory_order_relaxed);
    if (!v) {
        uint32_t found = look_up(t, index, domain);
        v = found ? (uint16_t)found : NONE;
        atomic_store_explicit(&list[index], v, memory_order_relaxed);
    }
    return v == NONE ? 0 : v;
}

static struct function function_of(const struct cumu_frame *f)
{
    const struct cumu_table *t = f->facade->table;
    struct function n = {.domain = strcmp(t->library, "cuda") == 0 ? DOMAIN_DRIVER : DOMAIN_RUNTIME,
                         .symbol = &t->symbols[f->index]};
    n.prototype = &cumu_prototypes[n.symbol->call];
    n.cbid = cbid_of(t, (uint32_t)f->index, n.domain);
    return n;
}

/* ---- its arguments as a struct -------------------------------------------------------------------- */

static unsigned alignment(const struct cumu_argument *a)
{
    if (a->stars)
        return 8;
    return a->kind == CUMU_ARG_DIM3 ? 4 : a->size >= 8 ? 8 : a->size ? a->size : 8;
}

/* What CUPTI calls FUNCTION_params: a member for each argument, laid out as C does. They lie in the call's frame: a
 * callback without them for want of memory would be read through NULL. */
static void make_params(const struct function *n, struct cumu_frame *f)
{
    size_t end = 0;
    memset(f->params, 0, sizeof f->params);
    for (unsigned i = 0; i < n->prototype->count; i++) {
        const struct cumu_argument *a = &cumu_arguments[n->prototype->first + i];
        size_t size = a->stars ? 8 : a->size, align = alignment(a);
        end = (end + align - 1) & ~(align - 1);
        for (size_t k = 0; k < size && end + k + 8 <= sizeof f->params; k += 8) {
            uint64_t part = cumu_call_part(n->prototype, f, i, (unsigned)(k / 8));
            memcpy((char *)f->params + end + k, &part, size - k < 8 ? size - k : 8);
        }
        end += size;
    }
    f->has_params = true;
}

/* The name of the kernel that it launches. */
static const char *kernel_name(const struct function *n, const struct cumu_frame *f)
{
    if (!strstr(n->symbol->name, "Launch") || !n->prototype->count)
        return NULL;
    bool packed = strstr(n->symbol->name, "LaunchKernelEx") != NULL; /* the kernel is the second argument */
    const struct cumu_argument *a = &cumu_arguments[n->prototype->first];
    if (!packed && a->stars)
        return NULL;
    const struct cumu_func *k = cumu_kernel_of((const void *)(uintptr_t)cumu_call_argument(n->prototype, f, packed));
    return k ? cumu_intern(cumu_func_name(k)) : NULL;
}

/* ---- callbacks ------------------------------------------------------------------------------------ */

static void tell_api(const struct function *n, struct cumu_frame *f, int site)
{
    void *user;
    cupti_callback tell = cumu_cupti_callback(n->domain, n->cbid, &user);
    if (!tell || !n->cbid)
        return;
    if (!f->has_params)
        make_params(n, f);
    struct cupti_context c = cumu_cupti_context();
    struct callback_data d = {.site = site,
                              .function = n->symbol->name,
                              .params = f->params,
                              .result = site == SITE_EXIT ? f->result : NULL,
                              .symbol = kernel_name(n, f),
                              .context = c.handle,
                              .context_id = c.id,
                              .kept = &f->kept,
                              .correlation = f->correlation};
    cumu_cupti_inside++;
    tell(user, (int)n->domain, n->cbid, &d);
    cumu_cupti_inside--;
}

static void tell_resource(uint32_t cbid, void *context, void *resource)
{
    void *user;
    cupti_callback tell = cumu_cupti_callback(DOMAIN_RESOURCE, cbid, &user);
    struct resource_data d = {context, resource, NULL};
    if (!tell)
        return;
    cumu_cupti_inside++;
    tell(user, DOMAIN_RESOURCE, cbid, &d);
    cumu_cupti_inside--;
}

static void tell_synchronized(uint32_t cbid, void *context, void *stream)
{
    void *user;
    cupti_callback tell = cumu_cupti_callback(DOMAIN_SYNCHRONIZE, cbid, &user);
    struct synchronize_data d = {context, stream};
    if (!tell)
        return;
    cumu_cupti_inside++;
    tell(user, DOMAIN_SYNCHRONIZE, cbid, &d);
    cumu_cupti_inside--;
}

static bool is(const char *name, const char *wanted)
{
    size_t n = strlen(wanted);
    return strncmp(name, wanted, n) == 0 && (!name[n] || name[n] == '_' || strncmp(name + n, "With", 4) == 0);
}

/* ---- synchronisation ------------------------------------------------------------------------------ */

enum { SYNC_EVENT = 1, SYNC_STREAM_WAITS, SYNC_STREAM, SYNC_CONTEXT };
static const struct {
    const char *name;
    unsigned char type, stream, event; /* which argument, from 1; 0: none */
} synchronizing[] = {{"cudaEventSynchronize", SYNC_EVENT, 0, 1},       {"cuEventSynchronize", SYNC_EVENT, 0, 1},
                     {"cudaStreamWaitEvent", SYNC_STREAM_WAITS, 1, 2}, {"cuStreamWaitEvent", SYNC_STREAM_WAITS, 1, 2},
                     {"cudaStreamSynchronize", SYNC_STREAM, 1, 0},     {"cuStreamSynchronize", SYNC_STREAM, 1, 0},
                     {"cudaDeviceSynchronize", SYNC_CONTEXT, 0, 0},    {"cuCtxSynchronize", SYNC_CONTEXT, 0, 0}};

static void synchronized(const struct function *n, const struct cumu_frame *f, uint64_t end)
{
    for (unsigned i = 0; i < sizeof synchronizing / sizeof *synchronizing; i++) {
        if (!is(n->symbol->name, synchronizing[i].name))
            continue;
        unsigned type = synchronizing[i].type, stream = synchronizing[i].stream, event = synchronizing[i].event;
        void *s = stream ? (void *)(uintptr_t)cumu_call_argument(n->prototype, f, stream - 1) : NULL;
        struct cupti_context c = cumu_cupti_context();
        struct cupti_synchronization r = {
            .kind = KIND_SYNCHRONIZATION,
            .type = type,
            .start = cumu_cupti_time(f->start),
            .end = cumu_cupti_time(end),
            .correlation = f->correlation,
            .context = c.id,
            .stream = stream ? cumu_cupti_stream(s) : UINT32_MAX,
            .event = event ? (uint32_t)(cumu_call_argument(n->prototype, f, event - 1) >> 4) : UINT32_MAX,
            .result = (uint32_t)f->result[0]};
        if (cumu_cupti_kind_on(KIND_SYNCHRONIZATION))
            cumu_cupti_write_work(&r, sizeof r, &c, r.stream);
        if (type == SYNC_STREAM)
            tell_synchronized(SYNCHRONIZE_STREAM, c.handle, s);
        if (type == SYNC_CONTEXT)
            tell_synchronized(SYNCHRONIZE_CONTEXT, c.handle, NULL);
        return;
    }
}

/* ---- external numbers ----------------------------------------------------------------------------- */

enum { EXTERNAL_KINDS = 6, EXTERNAL_FEW = 8 };
/* Of a thread. Profilers push one for each of a program's scopes, and programs nest as they like. */
struct external {
    struct external_stack {
        uint64_t *id;
        unsigned depth, capacity;
    } kind[EXTERNAL_KINDS];
};
static pthread_key_t external_key;
static bool external_usable;

static void free_external(void *thread)
{
    struct external *e = thread;
    for (unsigned k = 0; k < EXTERNAL_KINDS; k++)
        free(e->kind[k].id);
    free(e);
}
static void make_external_key(void) { external_usable = pthread_key_create(&external_key, free_external) == 0; }

/* The thread's; NULL: it has none and, where they shall be made, there is no memory. */
static struct external *external_of(bool make)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_external_key);
    struct external *e = external_usable ? pthread_getspecific(external_key) : NULL;
    if (e || !make || !external_usable)
        return e;
    e = calloc(1, sizeof *e);
    if (e && pthread_setspecific(external_key, e) != 0) {
        free(e);
        return NULL;
    }
    return e;
}

int wrap_cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    if (kind <= 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    struct external *e = external_of(true);
    struct external_stack *s = e ? &e->kind[kind] : NULL;
    if (s && s->depth == s->capacity) {
        const unsigned capacity = s->capacity ? 2 * s->capacity : EXTERNAL_FEW;
        uint64_t *more = realloc(s->id, capacity * sizeof *more);
        if (more)
            s->id = more, s->capacity = capacity;
    }
    if (!s || s->depth == s->capacity)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    s->id[s->depth++] = id;
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
    if (kind <= 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    struct external *e = external_of(false);
    if (!e || !e->kind[kind].depth)
        return CUPTI_ERROR_QUEUE_EMPTY;
    const uint64_t id = e->kind[kind].id[--e->kind[kind].depth];
    if (last)
        *last = id;
    return CUPTI_SUCCESS;
}

static void write_external(uint32_t correlation)
{
    const struct external *e = external_of(false);
    for (unsigned k = 1; e && k < EXTERNAL_KINDS; k++) {
        const unsigned n = e->kind[k].depth;
        if (!n)
            continue;
        struct cupti_external r = {.kind = KIND_EXTERNAL_CORRELATION,
                                   .external_kind = k,
                                   .external = e->kind[k].id[n - 1],
                                   .correlation = correlation};
        cumu_cupti_write(&r, sizeof r);
    }
}

/* ---- around a call -------------------------------------------------------------------------------- */

static void profile_before(struct cumu_frame *f)
{
    f->has_params = false;
    f->kept = 0;
    f->correlation = 0;
    f->outermost = false;
    if (cumu_cupti_inside)
        return;
    struct function n = function_of(f);
    f->outermost = !call;
    if (!call)
        call = atomic_fetch_add(&last_call, 1) + 1;
    f->correlation = call;
    if (f->outermost && cumu_cupti_kind_on(KIND_EXTERNAL_CORRELATION))
        write_external(call); /* before what the call puts on the device: profilers read records in their order */
    if (is(n.symbol->name, "cudaStreamDestroy") || is(n.symbol->name, "cuStreamDestroy"))
        tell_resource(RESOURCE_STREAM_DESTROY, cumu_cupti_context().handle,
                      (void *)(uintptr_t)cumu_call_argument(n.prototype, f, 0));
    if (is(n.symbol->name, "cuCtxDestroy"))
        tell_resource(RESOURCE_CONTEXT_DESTROY, (void *)(uintptr_t)cumu_call_argument(n.prototype, f, 0), NULL);
    tell_api(&n, f, SITE_ENTER);
}

static void write_api(const struct function *n, const struct cumu_frame *f, uint64_t end)
{
    struct cupti_api r = {.kind = n->domain == DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME,
                          .cbid = n->cbid,
                          .start = cumu_cupti_time(f->start),
                          .end = cumu_cupti_time(end),
                          .process = (uint32_t)getpid(),
                          .thread = cumu_cupti_thread(),
                          .correlation = f->correlation,
                          .result = (uint32_t)f->result[0]};
    cumu_cupti_write(&r, sizeof r);
}

static void profile_after(struct cumu_frame *f, uint64_t end)
{
    if (!f->correlation)
        return;
    struct function n = function_of(f);
    bool failed = n.prototype->status && (int)f->result[0] != 0;
    struct cupti_context c = cumu_cupti_context();
    if (c.fresh)
        tell_resource(RESOURCE_CONTEXT_CREATED, c.handle, NULL);
    if (!failed && (is(n.symbol->name, "cudaStreamCreate") || is(n.symbol->name, "cuStreamCreate"))) {
        void **out = (void **)(uintptr_t)cumu_call_argument(n.prototype, f, 0);
        tell_resource(RESOURCE_STREAM_CREATED, c.handle, out ? *out : NULL);
    }
    if (cumu_cupti_api_on(n.domain, n.cbid))
        write_api(&n, f, end);
    synchronized(&n, f, end);
    if (!failed)
        cumu_cupti_copied(n.prototype, f, end);
    tell_api(&n, f, SITE_EXIT);
    if (f->outermost)
        call = 0;
}

static uint32_t profile_call(void) { return call; }

static bool profile_inside(void) { return cumu_cupti_inside != 0; }

static const struct cumu_upper calls = {.profile_before = profile_before,
                                        .profile_after = profile_after,
                                        .profile_call = profile_call,
                                        .profile_inside = profile_inside};
CUMU_UPPER(calls);
