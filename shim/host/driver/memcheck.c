/* CUMU_CHECK=memory: what memory lives, who made it, and what has been freed of late. A list of its own beside the
 * books (arena.c), so that looking at each access takes no lock of theirs. */
#include "host/driver/graph.h"
#include "host/driver/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NEARBY = 1 << 16 };  /* bytes from an allocation: an index gone wrong rather than a pointer */
enum { REMEMBERED = 1024 }; /* freed allocations, so that a use after the free can be told from a wild address */

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct host_block *live; /* in ascending order of base */
static size_t count, room;
static struct host_block freed[REMEMBERED]; /* a ring */
static size_t next_freed;
static _Atomic uint64_t epoch = 1; /* goes up with each change */
static bool complete = true;       /* false: memory ran out for this list, nothing is reported any more */

bool host_memcheck_on(void) { return host_config()->check_tools != 0; }

/* Number of the first block that begins behind p. */
static size_t behind(uintptr_t p)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (live[middle].base <= p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add(const struct host_block *b)
{
    pthread_rwlock_wrlock(&lock);
    if (count == room) {
        size_t more = room ? 2 * room : 256;
        struct host_block *p = realloc(live, more * sizeof *p);
        if (p) {
            live = p;
            room = more;
        }
    }
    if (count < room) {
        size_t at = behind(b->base);
        memmove(live + at + 1, live + at, (count - at) * sizeof *live);
        live[at] = *b;
        count++;
    } else {
        complete = false;
    }
    epoch++;
    pthread_rwlock_unlock(&lock);
}

/* What was allocated and never written, if that was asked for. */
static void say_unused(const struct host_block *b)
{
    uint64_t first = 0;
    if (!host_config()->check_unused || b->kind != HOST_MEM_DEVICE || b->foreign || b->in_heap)
        return;
    uint64_t bytes = 0;
    for (uint64_t from = b->base, end = from + b->size, to; host_annotate_piece(&from, end, &to); from = to) {
        uint64_t here = 0;
        const uint64_t n = host_initcheck_unwritten(from, to - from, &here);
        first = bytes ? first : here;
        bytes += n;
    }
    if (bytes && (double)bytes * 100 >= (double)b->size * (double)host_config()->unused_from)
        host_memcheck_say_unused(b, bytes, first);
}

/* here: the place of the free; NULL: it is not remembered. heap: only if it is of the device heap. */
static void take_away(uintptr_t base, const struct host_frames *here, bool heap)
{
    pthread_rwlock_wrlock(&lock);
    size_t at = behind(base);
    if (at && live[at - 1].base == base && (!heap || live[at - 1].in_heap)) {
        say_unused(&live[at - 1]);
        if (here) {
            struct host_block *old = &freed[next_freed++ % REMEMBERED];
            *old = live[at - 1];
            old->life = NULL;
            old->freed = *here;
        }
        host_life_free(live[at - 1].life);
        host_annotate_gone(base, live[at - 1].size);
        memmove(live + at - 1, live + at, (count - at) * sizeof *live);
        count--;
    }
    epoch++;
    pthread_rwlock_unlock(&lock);
}

void host_memcheck_made(const struct host_range *r)
{
    if (!host_memcheck_on())
        return;
    struct host_block b = {.base = r->base, .size = r->size, .kind = r->kind, .ctx = r->ctx, .written = r->base};
    b.one_device = r->kind == HOST_MEM_DEVICE && r->ctx && !r->pool; /* pools have rights of their own */
    host_memcheck_frames(&b.made);
    host_initcheck_made(r);
    if (host_config()->check_tools & T0_RACECHECK)
        t0_race_forget(r->base, r->size);
    add(&b);
}

void host_memcheck_gone(const struct host_range *r)
{
    if (!host_memcheck_on())
        return;
    struct host_frames here;
    host_memcheck_frames(&here);
    take_away(r->base, &here, false);
}

static bool inside(const struct host_block *b, uint64_t address) { return address - b->base < b->size; }

static struct host_block *block_at(uint64_t p)
{
    const size_t at = behind((uintptr_t)p);
    return at && live[at - 1].base == p ? &live[at - 1] : NULL;
}

/* The block that holds the address. Lock held. */
static struct host_block *holder(uint64_t address)
{
    const size_t at = behind((uintptr_t)address);
    return at && inside(&live[at - 1], address) ? &live[at - 1] : NULL;
}

void host_memcheck_pooled(uint64_t p, MUstream s)
{
    if (!(host_config()->check_tools & T0_MEMCHECK))
        return;
    struct host_order *from = host_order_point(s);
    pthread_rwlock_wrlock(&lock);
    struct host_block *b = block_at(p);
    struct host_life *life = host_life_new(from, b && b->unborn);
    if (b) {
        host_life_free(b->life); /* the stream takes it again before it has come to the free */
        b->life = life;
        b->streamed = true;
        b->given_back = b->unborn = false;
    } else {
        host_life_free(life);
    }
    epoch++;
    pthread_rwlock_unlock(&lock);
}

void host_memcheck_unpooled(uint64_t p, MUstream s)
{
    if (!(host_config()->check_tools & T0_MEMCHECK))
        return;
    struct host_order *until = host_order_point(s);
    struct host_block early = {.base = 0};
    pthread_rwlock_wrlock(&lock);
    const struct host_block *b = block_at(p);
    if (!b || !b->life)
        host_order_unref(until);
    else if (!host_life_end(b->life, until))
        early = *b;
    epoch++;
    pthread_rwlock_unlock(&lock);
    if (early.base)
        host_memcheck_say_early_free(&early);
}

/* Stream-ordered memory lives where this stands, in the order of streams and, of a graph, among its nodes. */
static bool is_alive(const struct host_block *b, const struct host_running *r)
{
    if (!b->life)
        return !b->unborn;
    return host_life_holds(b->life, r->order) && (!r->plan || graph_memory_holds(r->plan, r->node, b->base));
}

void host_memcheck_touched(const void *p, const char *by)
{
    const struct host_running now = host_order_running();
    struct host_block outlived = {.base = 0};
    if (!now.order || !(host_config()->check_tools & T0_MEMCHECK))
        return;
    pthread_rwlock_rdlock(&lock);
    const struct host_block *b = holder((uintptr_t)p);
    if (b && !is_alive(b, &now))
        outlived = *b;
    for (size_t k = next_freed; !b && k && next_freed - k < REMEMBERED; k--) /* its stream is further */
        if (inside(&freed[(k - 1) % REMEMBERED], (uintptr_t)p)) {
            b = &freed[(k - 1) % REMEMBERED];
            if (b->streamed)
                outlived = *b;
        }
    pthread_rwlock_unlock(&lock);
    if (outlived.base)
        host_memcheck_say_outlived(&outlived, by, now.order);
}

void host_memcheck_array(const void *p, size_t size, MUcontext ctx)
{
    if (!host_memcheck_on())
        return;
    pthread_rwlock_wrlock(&lock);
    struct host_block *b = block_at((uintptr_t)p);
    if (b) {
        b->of_array = size;
        b->ctx = ctx;
    }
    pthread_rwlock_unlock(&lock);
}

static void give_back(const void *p, bool unborn)
{
    if (!host_memcheck_on())
        return;
    pthread_rwlock_wrlock(&lock);
    struct host_block *b = block_at((uintptr_t)p);
    if (b) {
        b->given_back = true;
        b->unborn = unborn && host_config()->check_tools & T0_MEMCHECK; /* which hears of its lives */
    }
    epoch++;
    pthread_rwlock_unlock(&lock);
}

void host_memcheck_given_back(const void *p) { give_back(p, false); }
void host_memcheck_unborn(const void *p)
{
    host_order_want();
    give_back(p, true);
}

void host_memcheck_constant(const void *p)
{
    if (!host_memcheck_on())
        return;
    pthread_rwlock_wrlock(&lock);
    struct host_block *b = block_at((uintptr_t)p);
    if (b)
        b->constant = true;
    epoch++;
    pthread_rwlock_unlock(&lock);
}

void host_memcheck_heap(const void *p, size_t size, MUcontext ctx)
{
    if (p && host_memcheck_on())
        add(&(struct host_block){
            .base = (uintptr_t)p, .size = size, .kind = HOST_MEM_DEVICE, .ctx = ctx, .in_heap = true});
}

void host_memcheck_heap_freed(const void *p)
{
    if (host_memcheck_on())
        take_away((uintptr_t)p, &(struct host_frames){.count = 0}, true);
}

void host_memcheck_heap_made(const void *p)
{
    if (host_memcheck_on())
        take_away((uintptr_t)p, NULL, false);
}

bool host_memcheck_is_private(uint64_t address)
{
    pthread_rwlock_rdlock(&lock);
    const struct host_block *b = holder(address);
    const bool is = b && b->kind == HOST_MEM_DEVICE && !b->foreign && !b->in_heap && complete;
    pthread_rwlock_unlock(&lock);
    return is;
}

bool host_memcheck_is_streams(uint64_t address)
{
    pthread_rwlock_rdlock(&lock);
    const struct host_block *b = holder(address);
    const bool is = b && !b->in_heap && b->kind != HOST_MEM_INTERNAL;
    pthread_rwlock_unlock(&lock);
    return is;
}

void host_memcheck_changed(void) { epoch++; }

void host_memcheck_foreign(void)
{
    pthread_rwlock_wrlock(&lock);
    for (size_t k = 0; k < count; k++)
        live[k].foreign = true;
    pthread_rwlock_unlock(&lock);
}

void host_memcheck_leaks(MUcontext ctx)
{
    pthread_rwlock_rdlock(&lock);
    for (size_t k = 0; k < count && !ctx; k++)
        say_unused(&live[k]);
    pthread_rwlock_unlock(&lock);
    if (!host_memcheck_on() || !host_config()->check_leaks)
        return;
    const unsigned kinds = HOST_KIND(HOST_MEM_DEVICE) | HOST_KIND(HOST_MEM_PINNED) | HOST_KIND(HOST_MEM_MANAGED) |
                           HOST_KIND(HOST_MEM_MAPPED);
    size_t bytes = 0, leaks = 0;
    pthread_rwlock_rdlock(&lock);
    for (size_t k = 0; k < count; k++) {
        const struct host_block *b = &live[k];
        if (!(HOST_KIND(b->kind) & kinds || b->of_array) || b->given_back || host_life_ended(b->life) ||
            (ctx && b->ctx != ctx))
            continue;
        host_memcheck_say_leak(b);
        bytes += b->of_array ? b->of_array : b->size;
        leaks++;
    }
    pthread_rwlock_unlock(&lock);
    if (leaks || !ctx)
        host_memcheck_say_leaks(bytes, leaks);
}

/* At the end of the process, after the program's own functions for it. */
static __attribute__((destructor)) void at_exit(void) { host_memcheck_leaks(NULL); }

/* Contexts may touch other devices' memory once they have said so, and stream-ordered memory while it lives. */
static bool is_reachable(const struct host_block *b, const struct host_memcheck_run *r, enum t0_access_kind kind)
{
    return !(b->constant && kind != T0_READS) &&
           (!b->one_device || b->ctx->device == r->ctx->device ||
            __atomic_load_n(&r->ctx->peer[b->ctx->device->ordinal], __ATOMIC_RELAXED)) &&
           is_alive(b, &(struct host_running){(struct host_order *)(uintptr_t)r->order, r->plan, r->node});
}

/* Mappings side by side are as good as one, and their rights change. */
static bool is_mapped(uint64_t address, uint32_t size, enum t0_access_kind kind)
{
    const unsigned rights = kind == T0_READS ? MU_MEM_ACCESS_FLAGS_PROT_READ : MU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const uint64_t end = address + size;
    struct host_range r;
    while (address < end && host_mem_find((const void *)(uintptr_t)address, &r) && r.kind == HOST_MEM_MAPPED &&
           (r.access & rights) == rights)
        address = r.base + r.size;
    return address >= end;
}

/* Threads look again and again at the same allocation: each remembers the last one. */
bool host_memcheck_allowed(void *run, uint64_t address, uint32_t size, enum t0_access_kind kind)
{
    static _Thread_local struct {
        uint64_t epoch, serial;
        uintptr_t base;
        size_t size;
        MUcontext ctx;
    } last;
    const struct host_memcheck_run *r = run;
    if (last.epoch == epoch && last.ctx == r->ctx && (!last.serial || last.serial == r->serial) &&
        address - last.base < last.size && size <= last.size - (address - last.base))
        return true;
    bool in = false, mapped = false, denied = false, whole;
    pthread_rwlock_rdlock(&lock);
    const struct host_block *b = holder(address);
    if (b) {
        mapped = b->kind == HOST_MEM_MAPPED;
        in = !mapped && size <= b->size - (address - b->base) && is_reachable(b, r, kind);
        denied = host_annotate_denies(b->base, address, size, kind, r->ctx->device->ordinal) != NULL;
        if (in && !b->in_heap && !b->constant && !host_annotate_any(b->base, b->size)) {
            last.epoch = epoch;
            last.serial = b->life ? r->serial : 0;
            last.base = b->base;
            last.size = b->size;
            last.ctx = r->ctx;
        }
    }
    whole = complete;
    pthread_rwlock_unlock(&lock);
    return !denied && (mapped ? is_mapped(address, size, kind) : in || !whole);
}

const char *host_memcheck_denied(void *run, uint64_t address, uint32_t size, enum t0_access_kind kind)
{
    const struct host_memcheck_run *r = run;
    const char *why = NULL;
    pthread_rwlock_rdlock(&lock);
    const struct host_block *b = holder(address);
    if (b)
        why = host_annotate_denies(b->base, address, size, kind, r->ctx->device->ordinal);
    pthread_rwlock_unlock(&lock);
    return why ? why : "out of bounds";
}

/* Whether initcheck need not look at each access there. It is asked again and again while memory is written: from
 * where the last look ended. */
static bool is_written(struct host_block *b)
{
    if (!(host_config()->check_tools & T0_INITCHECK) || b->kind != HOST_MEM_DEVICE || b->foreign)
        return true;
    const uintptr_t end = b->base + b->size, from = __atomic_load_n(&b->written, __ATOMIC_RELAXED);
    const uintptr_t next = from < end ? host_initcheck_first(from, end - from) : end;
    if (next != from)
        __atomic_store_n(&b->written, next, __ATOMIC_RELAXED);
    return next >= end;
}

bool host_memcheck_range(void *run, uint64_t address, enum t0_access_kind kind, uint64_t *base, uint64_t *size)
{
    const struct host_memcheck_run *r = run;
    bool found = false;
    pthread_rwlock_rdlock(&lock);
    struct host_block *b = holder(address);
    if (b && b->kind != HOST_MEM_MAPPED && !b->in_heap && is_reachable(b, r, kind) && is_written(b) &&
        !host_annotate_any(b->base, b->size)) {
        found = true;
        *base = b->base;
        *size = b->size;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

/* Whether the process has memory there, though no device may touch it: the forgotten copy. */
static bool is_host_memory(uint64_t address)
{
    const uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
    unsigned char resident;
    return address >= 4096 && (address >> 47) == 0 && !mincore((void *)page, 4096, &resident);
}

struct host_where host_memcheck_find(uint64_t address)
{
    struct host_where w = {.what = HOST_NOWHERE};
    uint64_t nearest = UINT64_MAX;
    pthread_rwlock_rdlock(&lock);
    for (size_t k = 0; k < count; k++) {
        const struct host_block *b = &live[k];
        if (b->kind == HOST_MEM_INTERNAL && !(b->constant && inside(b, address)))
            continue;
        const uint64_t away = inside(b, address)  ? 0
                              : address < b->base ? b->base - address
                                                  : address - (b->base + b->size) + 1;
        if (away < nearest) {
            nearest = away;
            w = (struct host_where){away ? HOST_NEAR : HOST_INSIDE, *b};
        }
    }
    for (size_t k = next_freed; nearest && k && next_freed - k < REMEMBERED; k--) {
        const struct host_block *b = &freed[(k - 1) % REMEMBERED];
        if (!inside(b, address))
            continue;
        w = (struct host_where){HOST_FREED, *b};
        break;
    }
    pthread_rwlock_unlock(&lock);
    if (nearest >= NEARBY && (w.what == HOST_NEAR || w.what == HOST_NOWHERE) &&
        !host_in_arena((const void *)(uintptr_t)address, 1) && is_host_memory(address))
        w.what = HOST_UNREACHABLE;
    return w;
}
