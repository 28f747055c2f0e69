/* NVTX's memory API (its headers ToolsExtMem, ToolsExtMemCudaRt): what a program's own allocators do, its names for
 * memory and what kernels may do with it, for the tools of CUMU_CHECK. An extension of NVTX (extension.c). While no
 * tool looks at kernels nothing is taken, which leaves the headers' functions without effect. */
#include "abi/report.h"
#include "api/nvtx/nvtx.h"
#include "core/config.h"
#include "core/core.h"
#include "core/log.h"
#include "core/resolve.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum { COMPATIBLE = 0x0102 };
enum { TYPE_VIRTUAL_ADDRESS = 1, USAGE_SUB_ALLOCATOR = 1 };
enum { RIGHTS_RESET = 8, ALL_RIGHTS = CUMU_MAY_READ | CUMU_MAY_WRITE | CUMU_MAY_UPDATE };

struct header { /* of each description: the extension's version, and its own size */
    uint16_t compatible, size;
};
struct range {
    size_t size;
    const void *base;
};
struct heap {
    struct header head;
    uint32_t reserved, usage, type;
    size_t type_size;
    const struct range *range;
};
struct regions {
    struct header head;
    uint32_t type;
    const void *heap;
    size_t count, stride;
    const void *elements;
    const void **handles; /* out; may be NULL */
};
struct list { /* ranges of a type of memory; or regions by address or handle, which are the same here */
    struct header head;
    uint32_t type;
    size_t count, stride;
    const void *elements;
};
struct name {
    uint32_t reference_type, message_type;
    const void *region, *message;
};
struct names {
    struct header head;
    uint32_t reserved;
    size_t count, stride;
    const void *elements;
};
struct right {
    uint32_t flags, reference_type;
    const void *region;
};
struct rights {
    struct header head;
    uint32_t reserved;
    const void *permissions;
    size_t count, stride;
    const void *elements;
};

static _Atomic(cumu_host_annotate_t *) host;

static void say(enum cumu_memory_note_kind kind, const void *base, size_t size)
{
    host(&(struct cumu_memory_note){.kind = kind, .base = (uintptr_t)base, .size = size, .device = -1});
}

/* Whether a description is of the version that is known here, and has all that is. */
static bool good(const void *d, size_t size)
{
    const struct header *h = d;
    return h && h->compatible == COMPATIBLE && h->size >= size;
}

/* Number k of a description's elements; NULL: they are too small. */
static const void *element(const void *elements, size_t stride, size_t k, size_t size)
{
    return elements && stride >= size ? (const char *)elements + k * stride : NULL;
}

static void each_range(enum cumu_memory_note_kind kind, const void *elements, size_t stride, size_t count,
                       const void **handles)
{
    for (size_t k = 0; k < count; k++) {
        const struct range *r = element(elements, stride, k, sizeof *r);
        if (r && r->base && r->size)
            say(kind, r->base, r->size);
        if (handles)
            handles[k] = r ? r->base : NULL;
    }
}

/* ---- heaps and regions ------------------------------------------------------------------------- */

static const void *heap_register(const void *domain, const struct heap *h)
{
    (void)domain;
    const bool known = good(h, sizeof *h) && h->type == TYPE_VIRTUAL_ADDRESS && h->range &&
                       h->type_size >= sizeof *h->range && h->range->base && h->range->size;
    if (!known)
        return NULL;
    if (h->usage == USAGE_SUB_ALLOCATOR) /* others only describe what lies there */
        say(CUMU_NOTE_HEAP, h->range->base, h->range->size);
    return h->range->base;
}

static void heap_unregister(const void *domain, const void *heap)
{
    (void)domain;
    if (heap)
        say(CUMU_NOTE_HEAP_GONE, heap, 0);
}

static void heap_reset(const void *domain, const void *heap)
{
    (void)domain;
    say(CUMU_NOTE_HEAP_RESET, heap, 0);
}

static void regions_register(const void *domain, const struct regions *r)
{
    (void)domain;
    if (good(r, sizeof *r) && r->type == TYPE_VIRTUAL_ADDRESS)
        each_range(CUMU_NOTE_REGION, r->elements, r->stride, r->count, r->handles);
}

static void each_listed(enum cumu_memory_note_kind kind, const struct list *l)
{
    if (good(l, sizeof *l) && l->type == TYPE_VIRTUAL_ADDRESS)
        each_range(kind, l->elements, l->stride, l->count, NULL);
}

static void regions_resize(const void *domain, const struct list *l)
{
    (void)domain;
    each_listed(CUMU_NOTE_REGION, l);
}

static void regions_unregister(const void *domain, const struct list *l)
{
    (void)domain;
    for (size_t k = 0; good(l, sizeof *l) && k < l->count; k++) {
        const void *const *region = element(l->elements, l->stride, k, sizeof *region);
        if (region && *region)
            say(CUMU_NOTE_REGION_GONE, *region, 0);
    }
}

static void mark_initialized(const void *domain, void *stream, uint8_t per_thread, const struct list *l)
{
    (void)domain;
    (void)stream; /* what the program says to have happened there counts at once */
    (void)per_thread;
    each_listed(CUMU_NOTE_WRITTEN, l);
}

static void regions_name(const void *domain, const struct names *names)
{
    (void)domain;
    for (size_t k = 0; good(names, sizeof *names) && k < names->count; k++) {
        const struct name *n = element(names->elements, names->stride, k, sizeof *n);
        if (!n || !n->region || !n->message)
            continue;
        char *narrow = n->message_type == NVTX_MESSAGE_UNICODE ? cumu_nvtx_narrow(n->message) : NULL;
        const char *text = n->message_type == NVTX_MESSAGE_ASCII        ? n->message
                           : n->message_type == NVTX_MESSAGE_REGISTERED ? cumu_nvtx_text(n->message, false)
                                                                        : narrow;
        if (text)
            host(&(struct cumu_memory_note){.kind = CUMU_NOTE_NAME, .base = (uintptr_t)n->region, .name = text});
        free(narrow);
    }
}

/* ---- permissions --------------------------------------------------------------------------------- */

/* Handles: of the process 0, as the headers have it; of CUDA's whole process, of a device; of objects that programs
 * make, which are the headers' sign that there is no tool. */
enum { PROCESS = 0, CUDA_PROCESS = 1, FIRST_DEVICE = 2, NO_TOOL = -1 };

static const void *handle(intptr_t n) { return (const void *)n; } // NOLINT(performance-no-int-to-ptr)

/* Whether the handle stands for kernels, and of which device. */
static bool scope(const void *permissions, int *device)
{
    const intptr_t n = (intptr_t)permissions;
    *device = n >= FIRST_DEVICE ? (int)(n - FIRST_DEVICE) : -1;
    return n >= PROCESS && n < INT32_MAX;
}

static const void *process_permissions(const void *domain)
{
    (void)domain;
    return handle(CUDA_PROCESS);
}

static const void *device_permissions(const void *domain, int device)
{
    (void)domain;
    return device < 0 ? NULL : handle((intptr_t)FIRST_DEVICE + device);
}

static void permissions_assign(const void *domain, const struct rights *rights)
{
    struct cumu_memory_note a = {.kind = CUMU_NOTE_RIGHTS};
    (void)domain;
    for (size_t k = 0; good(rights, sizeof *rights) && scope(rights->permissions, &a.device) && k < rights->count;
         k++) {
        const struct right *r = element(rights->elements, rights->stride, k, sizeof *r);
        if (!r || !r->region)
            continue;
        a.kind = r->flags & RIGHTS_RESET ? CUMU_NOTE_RIGHTS_GONE : CUMU_NOTE_RIGHTS;
        a.base = (uintptr_t)r->region;
        a.rights = r->flags & ALL_RIGHTS;
        host(&a);
    }
}

static void permissions_reset(const void *domain, const void *permissions)
{
    struct cumu_memory_note a = {.kind = CUMU_NOTE_RIGHTS_GONE};
    (void)domain;
    if (scope(permissions, &a.device))
        host(&a);
}

/* Permissions of single streams and peers: said once, as what they forbid is not found. */
static void not_looked_at(const char *function)
{
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        cumu_warn("nvtx", function,
                  "permissions are looked at for the whole process and for devices, not for streams and peers");
}

static const void *permissions_create(const void *domain, int32_t flags)
{
    (void)domain;
    (void)flags;
    not_looked_at("nvtxMemPermissionsCreate");
    return handle(NO_TOOL);
}

static void permissions_bind(const void *domain, const void *permissions, uint32_t where, uint32_t flags)
{
    (void)domain;
    (void)permissions;
    (void)where;
    (void)flags;
    not_looked_at("nvtxMemPermissionsBind");
}

static void set_peer_access(const void *domain, const void *permissions, int peer, uint32_t flags)
{
    (void)domain;
    (void)permissions;
    (void)peer;
    (void)flags;
    not_looked_at("nvtxMemCudaSetPeerAccess");
}

/* ---- the module -------------------------------------------------------------------------------- */

typedef void (*function)(void);
static const function slots[] = {
    /* by NVTX's numbers; those that are missing stay without effect */
    [0] = (function)heap_register,       [1] = (function)heap_unregister,    [2] = (function)heap_reset,
    [3] = (function)regions_register,    [4] = (function)regions_resize,     [5] = (function)regions_unregister,
    [6] = (function)regions_name,        [7] = (function)permissions_assign, [8] = (function)permissions_create,
    [10] = (function)permissions_reset,  [11] = (function)permissions_bind,  [13] = (function)process_permissions,
    [14] = (function)device_permissions, [15] = (function)set_peer_access,   [16] = (function)mark_initialized,
};

/* Whether any tool looks at kernels. */
static bool is_wanted(void)
{
    static const char *const tools[] = {"memory", "race", "init", "sync"};
    bool any = false;
    for (size_t k = 0; k < sizeof tools / sizeof *tools; k++)
        any |= cumu_opt_has(CUMU_OPT_CHECK, tools[k]);
    return any && cumu_active() && cumu_opt_bool(CUMU_OPT_CHECK_NVTX);
}

int cumu_nvtx_memory(struct nvtx_module *m)
{
    if (m->compatible != COMPATIBLE || !is_wanted())
        return 0;
    if (!host) {
        cumu_host_annotate_t *f;
        *(void **)&f = cumu_below("musa", CUMU_HOST_ANNOTATE);
        host = f;
    }
    if (!host || m->segments < 1 || !m->segment || !m->segment->slots)
        return 0;
    for (size_t k = 0; k < sizeof slots / sizeof *slots && k < m->segment->count; k++)
        if (slots[k])
            __atomic_store_n(&m->segment->slots[k], (intptr_t)slots[k], __ATOMIC_RELEASE);
    return 1;
}
