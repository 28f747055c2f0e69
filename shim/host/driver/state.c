/* What the kernels of one context share: device memory for their variables, the malloc heap, and
 * the buffers that device printf fills until a synchronising call writes it out, and assertions until
 * their launch has ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/kernel.h"
#include "host/driver/memcheck.h"
#include "host/driver/nest.h"

struct text { /* what kernels say, as far as the printf limit goes */
    char *at;
    size_t used, size, lost;
};

struct state {
    struct t0_env env;
    struct host_device *device;
    MUcontext ctx;
    pthread_mutex_t heap_lock;
    _Atomic(struct host_heap *) heap;
    void *heap_memory;
    pthread_mutex_t print_lock;
    struct text printed, asserted;
    struct t0_fault lowest; /* of the failed assertions that have not been reported, if there are any */
    bool any;
};

static void *global_alloc(void *ctx, size_t size, size_t align)
{
    struct state *s = ctx;
    return host_mem_alloc(s->device, size, align < 512 ? 512 : align);
}

static void global_free(void *ctx, void *p)
{
    struct state *s = ctx;
    host_mem_free(s->device, p);
}

static void global_constant(void *unused, void *p)
{
    (void)unused;
    host_memcheck_constant(p);
}

/* The heap is made by the first malloc: later changes of the limit have no effect, as in CUDA. */
static struct host_heap *heap(struct state *s)
{
    struct host_heap *h = s->heap;
    if (h)
        return h;
    pthread_mutex_lock(&s->heap_lock);
    h = s->heap;
    if (!h) {
        size_t size = s->ctx->limit[MU_LIMIT_MALLOC_HEAP_SIZE];
        s->heap_memory = host_mem_alloc(s->device, size, 4096);
        h = s->heap_memory ? host_heap_new(s->heap_memory, size) : NULL;
        if (h)
            host_memcheck_heap_made(s->heap_memory);
        s->heap = h;
    }
    pthread_mutex_unlock(&s->heap_lock);
    return h;
}

static void *dev_malloc(void *ctx, size_t size)
{
    struct host_heap *h = heap(ctx);
    void *p = h ? host_heap_alloc(h, size) : NULL;
    host_memcheck_heap(p, size, ((struct state *)ctx)->ctx);
    return p;
}

static bool dev_free(void *ctx, void *p)
{
    struct state *s = ctx;
    struct host_heap *h = s->heap;
    if (p && h)
        host_memcheck_heap_freed(p); /* before another thread gets the same memory */
    const bool good = !p || (h && host_heap_free(h, p));
    if (!good)
        host_log(1, "device free(%p): no live block of the device heap", p);
    return good;
}

/* Grows up to the printf limit; text beyond it is lost, and how much is told later. print_lock held. */
static void append(struct text *t, size_t limit, const char *text, size_t len)
{
    if (t->used + len > t->size) {
        size_t size = t->size ? t->size * 2 : 65536;
        while (size < t->used + len)
            size *= 2;
        size = size < limit ? size : limit;
        char *grown = t->used + len <= size ? realloc(t->at, size) : NULL;
        if (grown) {
            t->at = grown;
            t->size = size;
        }
    }
    if (t->used + len <= t->size) {
        memcpy(t->at + t->used, text, len);
        t->used += len;
    } else {
        t->lost += len;
    }
}

static void print(void *ctx, const char *text, size_t len)
{
    struct state *s = ctx;
    pthread_mutex_lock(&s->print_lock);
    append(&s->printed, s->ctx->limit[MU_LIMIT_PRINTF_FIFO_SIZE], text, len);
    pthread_mutex_unlock(&s->print_lock);
}

static struct text take_text(struct state *s, struct text *from)
{
    pthread_mutex_lock(&s->print_lock);
    struct text t = *from;
    *from = (struct text){.used = 0};
    pthread_mutex_unlock(&s->print_lock);
    return t;
}

/* Through stdio, so that the order with the application's own printf stays as written. */
static void flush(struct state *s)
{
    struct text t = take_text(s, &s->printed);
    if (t.used)
        fwrite(t.at, 1, t.used, stdout);
    if (t.lost)
        host_log(1, "device printf: %zu bytes beyond the limit were lost", t.lost);
    free(t.at);
}

/* ---- assertions ------------------------------------------------------------------------------ */

static bool lower(const struct t0_fault *a, const struct t0_fault *b)
{
    for (int i = 2; i >= 0; i--)
        if (a->block[i] != b->block[i])
            return a->block[i] < b->block[i];
    for (int i = 2; i >= 0; i--)
        if (a->thread[i] != b->thread[i])
            return a->thread[i] < b->thread[i];
    return false;
}

static void assertion(void *ctx, const struct t0_fault *f)
{
    struct state *s = ctx;
    char line[T0_FAULT_TEXT + 160];
    int n = host_fault_assertion(line, sizeof line, f);
    pthread_mutex_lock(&s->print_lock);
    append(&s->asserted, s->ctx->limit[MU_LIMIT_PRINTF_FIFO_SIZE], line, (size_t)n);
    if (!s->any || lower(f, &s->lowest))
        s->lowest = *f;
    s->any = true;
    pthread_mutex_unlock(&s->print_lock);
}

MUresult host_assertions_report(MUcontext ctx)
{
    struct state *s = ctx->kernel_state;
    struct text t = take_text(s, &s->asserted);
    if (t.used)
        fwrite(t.at, 1, t.used, stderr);
    if (t.lost)
        host_say("assertions: %zu bytes of lines beyond the limit of device printf were lost", t.lost);
    free(t.at);
    pthread_mutex_lock(&s->print_lock);
    struct t0_fault lowest = s->lowest;
    bool any = s->any; /* launches at the same time: the first to end tells for all */
    s->any = false;
    pthread_mutex_unlock(&s->print_lock);
    return any ? host_fault_report(&lowest, NULL) : MUSA_ERROR_ASSERT;
}

static pthread_mutex_t create = PTHREAD_MUTEX_INITIALIZER;

const struct t0_env *host_kernel_env(MUcontext ctx)
{
    struct state *s = __atomic_load_n(&ctx->kernel_state, __ATOMIC_ACQUIRE);
    if (s)
        return &s->env;
    pthread_mutex_lock(&create);
    s = ctx->kernel_state;
    if (!s && (s = calloc(1, sizeof *s))) {
        *s = (struct state){.env = {.ctx = s,
                                    .global_alloc = global_alloc,
                                    .global_free = global_free,
                                    .global_constant = global_constant,
                                    .dev_malloc = dev_malloc,
                                    .dev_free = dev_free,
                                    .print = print,
                                    .assertion = assertion,
                                    .device = nest_call,
                                    .copies = host_multicast_copies},
                            .device = ctx->device,
                            .ctx = ctx};
        pthread_mutex_init(&s->heap_lock, NULL);
        pthread_mutex_init(&s->print_lock, NULL);
        __atomic_store_n(&ctx->kernel_state, s, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&create);
    return s ? &s->env : NULL;
}

void host_kernels_synced(MUcontext ctx)
{
    struct state *s = ctx ? __atomic_load_n(&ctx->kernel_state, __ATOMIC_ACQUIRE) : NULL;
    if (s)
        flush(s);
}

void host_kernels_ctx_gone(MUcontext ctx)
{
    struct state *s = ctx->kernel_state;
    if (!s)
        return;
    host_modules_unload(ctx);
    flush(s);
    free(s->asserted.at);
    ctx->kernel_state = NULL;
    host_heap_delete(s->heap);
    if (s->heap_memory)
        host_mem_free(s->device, s->heap_memory);
    pthread_mutex_destroy(&s->heap_lock);
    pthread_mutex_destroy(&s->print_lock);
    free(s);
}
