/* What the kernels of one context share: device memory for their variables, the malloc heap, and
 * the buffer that device printf fills until a synchronising call writes it out. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/kernel.h"

struct state {
    struct t0_env env;
    struct host_device *device;
    MUcontext ctx;
    pthread_mutex_t heap_lock;
    _Atomic(struct host_heap *) heap;
    void *heap_memory;
    pthread_mutex_t print_lock;
    char *text;
    size_t used, size, lost;
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
        s->heap = h;
    }
    pthread_mutex_unlock(&s->heap_lock);
    return h;
}

static void *dev_malloc(void *ctx, size_t size)
{
    struct host_heap *h = heap(ctx);
    return h ? host_heap_alloc(h, size) : NULL;
}

static void dev_free(void *ctx, void *p)
{
    struct state *s = ctx;
    struct host_heap *h = s->heap;
    if (p && (!h || !host_heap_free(h, p)))
        host_log(1, "device free(%p): no live block of the device heap", p);
}

/* Grows up to the printf limit; text beyond it is lost, and how much is logged. */
static void print(void *ctx, const char *text, size_t len)
{
    struct state *s = ctx;
    pthread_mutex_lock(&s->print_lock);
    size_t limit = s->ctx->limit[MU_LIMIT_PRINTF_FIFO_SIZE];
    if (s->used + len > s->size) {
        size_t size = s->size ? s->size * 2 : 65536;
        while (size < s->used + len)
            size *= 2;
        size = size < limit ? size : limit;
        char *grown = s->used + len <= size ? realloc(s->text, size) : NULL;
        if (grown) {
            s->text = grown;
            s->size = size;
        }
    }
    if (s->used + len <= s->size) {
        memcpy(s->text + s->used, text, len);
        s->used += len;
    } else {
        s->lost += len;
    }
    pthread_mutex_unlock(&s->print_lock);
}

/* Through stdio, so that the order with the application's own printf stays as written. */
static void flush(struct state *s)
{
    pthread_mutex_lock(&s->print_lock);
    char *text = s->text;
    size_t used = s->used, lost = s->lost;
    s->text = NULL;
    s->used = s->size = s->lost = 0;
    pthread_mutex_unlock(&s->print_lock);
    if (used)
        fwrite(text, 1, used, stdout);
    if (lost)
        host_log(1, "device printf: %zu bytes beyond the limit were lost", lost);
    free(text);
}

static pthread_mutex_t create = PTHREAD_MUTEX_INITIALIZER;

const struct t0_env *host_kernel_env(MUcontext ctx)
{
    pthread_mutex_lock(&create);
    struct state *s = ctx->kernel_state;
    if (!s && (s = calloc(1, sizeof *s))) {
        *s = (struct state){ .env = { .ctx = s,
                                      .global_alloc = global_alloc,
                                      .global_free = global_free,
                                      .dev_malloc = dev_malloc,
                                      .dev_free = dev_free,
                                      .print = print },
                             .device = ctx->device,
                             .ctx = ctx };
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
    ctx->kernel_state = NULL;
    host_heap_delete(s->heap);
    if (s->heap_memory)
        host_mem_free(s->device, s->heap_memory);
    pthread_mutex_destroy(&s->heap_lock);
    pthread_mutex_destroy(&s->print_lock);
    free(s);
}
