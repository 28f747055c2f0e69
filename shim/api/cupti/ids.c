/* What records are numbered and timed by: contexts, streams, threads, clocks. */
#include "api/cupti/cupti.h"
#include "core/hmap.h"
#include "mu.h"
#include "wraps.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_STREAM = 7, FIRST_STREAM = 13 }; /* what CUPTI's records have, too */

struct id {
    struct {
        const void *handle;
        uint64_t context; /* 0: it is a context */
    } key;
    uint32_t id, device;
    UT_hash_handle hh;
};
static HMAP(struct id) ids = HMAP_INIT;
static uint32_t contexts, streams = FIRST_STREAM;
static atomic_int thread_kind;

/* The entry, made if it is not there; zeros without memory. `fresh` may be NULL. */
static struct id number(const void *handle, uint64_t context, bool *fresh)
{
    struct id *i = NULL, *made = calloc(1, sizeof *made), copy = {0};
    if (!made)
        return copy;
    made->key.handle = handle;
    made->key.context = context;
    hmap_lock(&ids);
    HASH_FIND(hh, ids.head, &made->key, sizeof made->key, i);
    if (!i) {
        made->id = context ? streams++ : ++contexts;
        HASH_ADD(hh, ids.head, key, sizeof made->key, made);
        if (hmap_added(made)) {
            i = made;
            made = NULL;
            if (fresh)
                *fresh = true;
        }
    }
    if (i)
        copy = *i;
    hmap_unlock(&ids);
    free(made);
    return copy;
}

static uint32_t device_of(void *context)
{
    MUdevice device = 0;
    MUcontext before = NULL;
    if (mu.muCtxGetCurrent(&before) != MUSA_SUCCESS)
        return 0;
    if (before == context)
        return mu.muCtxGetDevice(&device) == MUSA_SUCCESS ? (uint32_t)device : 0;
    if (mu.muCtxPushCurrent(context) != MUSA_SUCCESS)
        return 0;
    (void)mu.muCtxGetDevice(&device);
    (void)mu.muCtxPopCurrent(&before);
    return (uint32_t)device;
}

struct cupti_context cumu_cupti_context(void)
{
    static _Thread_local struct cupti_context last;
    MUcontext now = NULL;
    if (mu.muCtxGetCurrent(&now) != MUSA_SUCCESS || !now)
        return (struct cupti_context){0};
    last.fresh = false;
    if (last.handle != now || !last.id) {
        bool fresh = false;
        last = (struct cupti_context){.id = number(now, 0, &fresh).id, .device = device_of(now), .handle = now};
        last.fresh = fresh;
    }
    return last;
}

struct cupti_context cumu_cupti_context_of(const void *handle)
{
    struct cupti_context c = cumu_cupti_context();
    if (!handle || handle == c.handle)
        return c;
    void *other = (void *)(uintptr_t)handle;
    return (struct cupti_context){.id = number(handle, 0, NULL).id, .device = device_of(other), .handle = other};
}

uint32_t cumu_cupti_stream(const void *stream)
{
    if (!stream || stream == (const void *)1)
        return DEFAULT_STREAM;
    return number(stream, 1, NULL).id;
}

/* What the system calls a thread is asked for once, and again in the child of a fork, whose thread has another. */
static _Thread_local uint32_t kept_thread;
static bool keeps_threads; /* written before thread_kind */
static pthread_once_t forks_heard = PTHREAD_ONCE_INIT;

static void forget_thread(void) { kept_thread = 0; }

static void hear_forks(void) { keeps_threads = pthread_atfork(NULL, NULL, forget_thread) == 0; }

uint32_t cumu_cupti_thread(void)
{
    if (!atomic_load_explicit(&thread_kind, memory_order_acquire))
        return (uint32_t)pthread_self();
    if (!kept_thread || !keeps_threads)
        kept_thread = (uint32_t)syscall(SYS_gettid);
    return kept_thread;
}

/* ---- clocks ----------------------------------------------------------------------------------- */

typedef uint64_t (*clock_function)(void);
static _Atomic(clock_function) clock_of_program;
static uint64_t first_trace, first_program; /* both clocks when the program gave its own */
static atomic_uint_fast64_t renew_after;    /* nanoseconds since then */

/* Both clocks at one time: of some readings the one that took least, as the thread may wait in the middle of one. */
static void read_clocks(clock_function f, uint64_t *trace, uint64_t *program)
{
    enum { TRIES = 8, SHORT = 200 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES && least > SHORT; i++) {
        uint64_t before = cumu_trace_now(), p = f(), took = cumu_trace_now() - before;
        if (took < least)
            least = took, *trace = before + took / 2, *program = p;
    }
}

static uint64_t real_time(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t cumu_cupti_now(void)
{
    clock_function f = atomic_load(&clock_of_program);
    return f ? f() : cumu_cupti_time(cumu_trace_now());
}

/* The epoch's clock may be set; records go by what it was at first. */
static uint64_t epoch(void)
{
    static atomic_uint_fast64_t kept;
    uint64_t known = atomic_load_explicit(&kept, memory_order_relaxed), none = 0;
    if (!known) {
        known = real_time() - cumu_trace_now();
        if (!atomic_compare_exchange_strong(&kept, &none, known))
            known = none;
    }
    return known;
}

/* The program's clock may count anything (a CPU's ticks, mostly). What it counts in a nanosecond is taken anew each
 * time that the time since the first reading has doubled: with a rate of its own for each record two of the same time
 * would differ, and a copy begin before its call. */
static double rate_of(clock_function f)
{
    static _Atomic double kept;
    uint64_t trace = cumu_trace_now(), program;
    if (trace - first_trace >= atomic_load(&renew_after)) {
        read_clocks(f, &trace, &program);
        if (trace > first_trace)
            atomic_store(&kept, (double)(program - first_program) / (double)(trace - first_trace));
        atomic_store(&renew_after, 2 * (trace - first_trace));
    }
    return atomic_load(&kept);
}

uint64_t cumu_cupti_time(uint64_t t)
{
    clock_function f = atomic_load(&clock_of_program);
    if (!t)
        return 0;
    if (!f)
        return t + epoch();
    return first_program + (uint64_t)(int64_t)((double)(int64_t)(t - first_trace) * rate_of(f));
}

int wrap_cuptiActivityRegisterTimestampCallback(void *function)
{
    clock_function f;
    if (!function)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&f, &function, sizeof f);
    read_clocks(f, &first_trace, &first_program);
    atomic_store(&renew_after, 0);
    atomic_store(&clock_of_program, f);
    return CUPTI_SUCCESS;
}

int wrap_cuptiGetTimestamp(uint64_t *t)
{
    if (!t)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *t = cumu_cupti_now();
    return CUPTI_SUCCESS;
}

/* ---- functions ---------------------------------------------------------------------------------- */

int wrap_cuptiGetContextId(void *context, unsigned *id)
{
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!context)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *id = number(context, 0, NULL).id;
    return *id ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

int wrap_cuptiGetDeviceId(void *context, unsigned *id)
{
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    struct cupti_context c = cumu_cupti_context();
    if (!context && !c.handle)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *id = context ? device_of(context) : c.device;
    return CUPTI_SUCCESS;
}

int wrap_cuptiGetStreamIdEx(void *context, void *stream, unsigned char per_thread, unsigned *id)
{
    (void)context;
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = cumu_cupti_stream(!stream && per_thread ? (void *)2 : stream);
    return *id ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

int wrap_cuptiGetStreamId(void *context, void *stream, unsigned *id)
{
    return wrap_cuptiGetStreamIdEx(context, stream, 0, id);
}

int wrap_cuptiGetThreadIdType(int *kind)
{
    if (!kind)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *kind = atomic_load(&thread_kind);
    return CUPTI_SUCCESS;
}

int wrap_cuptiSetThreadIdType(int kind)
{
    if (kind != 0 && kind != 1)
        return CUPTI_ERROR_NOT_SUPPORTED;
    (void)pthread_once(&forks_heard, hear_forks);
    atomic_store(&thread_kind, kind);
    return CUPTI_SUCCESS;
}
