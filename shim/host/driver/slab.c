/* Handles: objects of one kind in one reserved range, so that any value passed as a handle can be
 * checked. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "host/driver/host.h"
#include "host/driver/limits.h"

/* Address space only, as much as there is where it is limited; pages appear as objects do. */
#define MOST ((size_t)256 << 20)
#define LEAST ((size_t)1 << 20)
#define SHARE 32 /* of what is left: there are some twenty kinds of handles */

/* First word of an object: the slab's address while it lives, else the index of the next free
 * object plus one. An index is far below any address, so the two never meet. */
static uint64_t *word(void *object) { return object; }

/* Slabs are static objects without a constructor: one lock for all is enough, it is held for a few
 * instructions and only when handles are created or destroyed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Leak checkers look for pointers in malloc'ed and static memory only; this is the sanitizers' way
 * to be told of more. Absent in ordinary processes. */
extern void __lsan_register_root_region(const void *p, size_t size) __attribute__((weak));
#define TOLD ((size_t)1 << 20) /* bytes made known at a time */

static void tell_leak_checker(unsigned char *base, size_t from, size_t end)
{
    if (!__lsan_register_root_region)
        return;
    for (size_t at = (from + TOLD - 1) / TOLD * TOLD; at < end; at += TOLD)
        __lsan_register_root_region(base + at, TOLD);
}

static size_t stride(const struct host_slab *s)
{
    return (s->size + HOST_SLAB_ALIGN - 1) / HOST_SLAB_ALIGN * HOST_SLAB_ALIGN;
}

static unsigned char *base_of(struct host_slab *s) { return __atomic_load_n(&s->base, __ATOMIC_ACQUIRE); }

void *host_slab_get(struct host_slab *s)
{
    pthread_mutex_lock(&lock);
    unsigned char *base = s->base, *object = NULL;
    if (!base) {
        size_t most = host_limit_address_space() / SHARE;
        void *p = MAP_FAILED;
        s->room = MOST;
        while (s->room > most && s->room > LEAST)
            s->room /= 2;
        for (; p == MAP_FAILED && s->room >= LEAST; s->room /= p == MAP_FAILED ? 2 : 1)
            p = mmap(NULL, s->room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        base = p == MAP_FAILED ? NULL : p;
        __atomic_store_n(&s->base, base, __ATOMIC_RELEASE);
    }
    /* Freed objects wait in a queue: a handle that is used after its end stays invalid for long. */
    if (base && s->free_count > 64) {
        object = base + (s->first_free - 1) * stride(s);
        s->first_free = *word(object);
        s->free_count--;
        memset(object + 8, 0, s->size - 8);
    } else if (base && (s->used + 1) * stride(s) <= s->room) {
        object = base + stride(s) * s->used;
        tell_leak_checker(base, stride(s) * s->used, stride(s) * (s->used + 1));
        __atomic_store_n(&s->used, s->used + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&s->end, (uintptr_t)object + stride(s), __ATOMIC_RELEASE);
    }
    if (object)
        __atomic_store_n(word(object), (uint64_t)(uintptr_t)s, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return object;
}

void host_slab_put(struct host_slab *s, void *object)
{
    pthread_mutex_lock(&lock);
    uint64_t index = (uint64_t)((unsigned char *)object - s->base) / stride(s) + 1;
    __atomic_store_n(word(object), 0, __ATOMIC_RELEASE);
    if (s->free_count++)
        __atomic_store_n(word(s->base + (s->last_free - 1) * stride(s)), index, __ATOMIC_RELAXED);
    else
        s->first_free = index;
    s->last_free = index;
    pthread_mutex_unlock(&lock);
}

void *host_slab_next(struct host_slab *s, void *after)
{
    unsigned char *base = base_of(s);
    if (!base)
        return NULL;
    size_t i = after ? (size_t)((unsigned char *)after - base) / stride(s) + 1 : 0;
    for (; i < __atomic_load_n(&s->used, __ATOMIC_ACQUIRE); i++)
        if (host_slab_live(s, base + i * stride(s)))
            return base + i * stride(s);
    return NULL;
}
