/* Handles: one reserved address range cut into equal slots, so that any pointer a program passes can be
 * told from a handle without a table, and a stale or foreign one is refused instead of followed. */
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOT = CUMU_HANDLE_SIZE, ARENA = 256 << 20 }; /* a million handles; untouched pages cost nothing */

static struct {
    pthread_mutex_t lock;
    _Atomic(char *) base;
    size_t used;     /* slots ever handed out */
    void *free_list; /* first word of a free slot links to the next one */
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct free_slot {
    uint32_t kind; /* CUMU_H_FREE */
    struct free_slot *next;
};

void *cumu_handle_new(enum cumu_handle_kind kind)
{
    void *slot = NULL;
    pthread_mutex_lock(&arena.lock);
    char *base = atomic_load_explicit(&arena.base, memory_order_relaxed);
    if (!base) {
        base = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            goto out;
        atomic_store_explicit(&arena.base, base, memory_order_release);
    }
    if (arena.free_list) {
        struct free_slot *f = arena.free_list;
        arena.free_list = f->next;
        slot = f;
    } else if (arena.used < ARENA / SLOT) {
        slot = base + arena.used++ * SLOT;
    }
    if (slot) {
        memset(slot, 0, SLOT);
        *(uint32_t *)slot = kind;
    }
out:
    pthread_mutex_unlock(&arena.lock);
    return slot;
}

void cumu_handle_free(void *handle)
{
    if (!handle)
        return;
    struct free_slot *f = handle;
    pthread_mutex_lock(&arena.lock);
    f->kind = CUMU_H_FREE;
    f->next = arena.free_list;
    arena.free_list = f;
    pthread_mutex_unlock(&arena.lock);
}

static inline const uint32_t *slot_of(const void *p)
{
    const char *base = atomic_load_explicit(&arena.base, memory_order_acquire);
    uintptr_t off = (uintptr_t)p - (uintptr_t)base;
    return base && off < ARENA && off % SLOT == 0 ? p : NULL;
}

void *cumu_handle_as(const void *p, enum cumu_handle_kind kind)
{
    const uint32_t *slot = slot_of(p);
    return slot && *slot == kind ? (void *)(uintptr_t)slot : NULL;
}

struct cumu_module *cumu_as_module(const void *p) { return cumu_handle_as(p, CUMU_H_MODULE); }

struct cumu_func *cumu_as_func(const void *p) { return cumu_handle_as(p, CUMU_H_FUNC); }

struct cumu_link *cumu_as_link(const void *p) { return cumu_handle_as(p, CUMU_H_LINK); }

struct cumu_jitlink *cumu_as_jitlink(const void *p) { return cumu_handle_as(p, CUMU_H_JITLINK); }

struct cumu_reference *cumu_as_reference(const void *p) { return cumu_handle_as(p, CUMU_H_REFERENCE); }
