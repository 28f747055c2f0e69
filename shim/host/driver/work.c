/* The scheduler: works wait in stream order and for works of other streams; a pool of server
 * threads runs what is ready. A stream that waits holds no thread. */
#include <errno.h>
#include <sched.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/driver/internal.h"
#include "host/driver/order.h"

#define MAX_SERVERS 256 /* a callback or a spinning kernel holds its thread: others must get on */
#define PATIENCE_NS 500 /* the first part of that without yielding: both may be on one CPU */
#define SPIN_NS 30000   /* an idle server looks that long before it sleeps: a wake-up costs as much */
#define WAIT_NS \
    100000 /* a waiter longer: CUDA's spin for as long as it takes, and the short calls of libraries
                          * (an FFT of 64 x 1024) are done by then */

struct host_edge { /* `waiter` waits for the work in whose list this edge is */
    struct host_work *waiter;
    struct host_edge *next;
};

pthread_mutex_t host_sched = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t server_wake = PTHREAD_COND_INITIALIZER;
static MUstream ready_first, ready_last;
static struct host_task *tasks;     /* of graphs: more hands for a run that is under way */
static int servers, idle, wakes;    /* threads; those asleep; of them already told to wake */
static int signals;                 /* of them, those that nobody has sent yet */
static bool spinner;                /* one idle server looks at ready_hint before it sleeps */
static _Atomic uint32_t ready_hint; /* 1: ready_first or tasks is set */

uint64_t host_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool may_spin(void)
{
    static _Atomic int answer;
    if (!answer)
        answer = host_config()->threads > 1 ? 1 : 2;
    return answer == 1;
}

static void pause_cpu(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Spins for so long until the word has the value; true if it came to. */
static bool look_for(const _Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    for (uint64_t start = host_now(), spent = 0; spent < ns; spent = host_now() - start) {
        for (int i = 0; i < 32; i++) {
            if (*word == value)
                return true;
            pause_cpu();
        }
        if (spent > PATIENCE_NS)
            sched_yield(); /* the one we wait for may want this CPU */
    }
    return false;
}

/* A thread that serves streams: tasks first, then the stream that has been ready longest. Threads are made as needed
 * and stay. */

void host_work_ref(struct host_work *w) { w->refs++; }

static void unref_locked(struct host_work *w)
{
    if (w && --w->refs == 0) {
        host_order_unref(w->order);
        free(w->own);
        free(w);
    }
}

void host_work_unref(struct host_work *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&host_sched);
    unref_locked(w);
    pthread_mutex_unlock(&host_sched);
}

bool host_work_done(const struct host_work *w) { return w->done == 1; }

static void wait_until_done(struct host_work *w)
{
    if (may_spin() && look_for(&w->done, 1, WAIT_NS))
        return;
    for (;;) {
        uint32_t seen = 0;
        if (atomic_compare_exchange_strong(&w->done, &seen, 2) || seen == 2)
            syscall(SYS_futex, &w->done, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        else
            return;
    }
}

void host_work_wait(struct host_work *w)
{
    wait_until_done(w);
    host_work_synced(w);
}

void host_work_synced(const struct host_work *w)
{
    if (!w->order)
        return;
    pthread_mutex_lock(&host_sched);
    host_order_synced(w->order);
    pthread_mutex_unlock(&host_sched);
}

static void *serve(void *unused);

/* Gets somebody to look at the ready list. host_sched held; the caller sends the signals, once it has
 * released the lock if it can: a server that wakes up to a lock goes back to sleep. */
static void call_server(void)
{
    if (spinner) {
        spinner = false; /* it will look; the next caller wakes another */
        return;
    }
    if (idle > wakes) {
        wakes++;
        signals++;
    } else if (servers < MAX_SERVERS) {
        servers++;
        if (!host_thread("mu-stream", serve, NULL))
            servers--; /* those that exist will come round to it */
    }
}

static void make_ready(MUstream s)
{
    if (s->ready || s->running || !s->head || s->head->waiting)
        return;
    s->ready = true;
    s->next_ready = NULL;
    if (ready_last)
        ready_last->next_ready = s;
    else
        ready_first = s;
    ready_last = s;
    ready_hint = 1;
    call_server();
}

/* w is done: wakes who waits for it and drops a reference. host_sched held. */
static void complete(struct host_work *w)
{
    if (!w->op.run) /* an event's point: nobody asks when others ended */
        w->time = host_now();
    /* Nobody can begin to wait for it meanwhile: that takes the lock. */
    const bool watched = !w->stream || w->stream->tail != w || w->refs > 2;
    if (!watched)
        atomic_store_explicit(&w->done, 1, memory_order_release);
    else if (atomic_exchange(&w->done, 1) == 2)
        syscall(SYS_futex, &w->done, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    for (struct host_edge *e = w->edges, *next; e; e = next) {
        next = e->next; /* the edge is its waiter's and may go with it */
        if (w->tainted)
            e->waiter->stream->async_error = w->tainted;
        if (--e->waiter->waiting == 0)
            make_ready(e->waiter->stream);
    }
    for (; signals; signals--)
        pthread_cond_signal(&server_wake);
    unref_locked(w);
}

/* The head of s has run. host_sched held. */
static void finish(MUstream s)
{
    struct host_work *w = s->head;
    s->head = w->next;
    if (!s->head)
        s->last = NULL;
    complete(w);
    if (!s->head)
        atomic_store_explicit(&s->busy, false, memory_order_release);
}

struct host_work *host_point_new(void)
{
    struct host_work *w = calloc(1, sizeof *w);
    if (w)
        w->refs = 1;
    return w;
}

void host_point_reach(struct host_work *w)
{
    pthread_mutex_lock(&host_sched);
    if ((w->order = host_order_running().order))
        w->order->refs++;
    complete(w);
    pthread_mutex_unlock(&host_sched);
}

/* Runs an op outside every lock. */
static MUresult perform(MUstream s, const struct host_op *op)
{
    MUcontext ctx = s->ctx;
    MUresult r = ctx->error;
    if (op->run && (!r || op->flags & HOST_OP_ALWAYS)) {
        host_log(3, "device %d: %s", ctx->device->ordinal, op->what);
        r = op->run(op->arg);
        if (r) {
            host_log(2, "device %d: %s: error %d", ctx->device->ordinal, op->what, host_failure_code(r));
            if (!host_error_sticky(r))
                s->async_error = r;
            host_ctx_fail(ctx, r);
        }
    }
    if (op->drop)
        op->drop(op->arg);
    return r;
}

/* host_sched is held on entry and exit, not while the op runs. */
static void run_head(MUstream s)
{
    struct host_work *w = s->head;
    if (w->op.run || w->op.drop) {
        pthread_mutex_unlock(&host_sched);
        const struct host_running before = host_order_run((struct host_running){.order = w->order});
        MUresult r = perform(s, &w->op);
        host_order_run(before);
        pthread_mutex_lock(&host_sched);
        w->result = r;
    }
    atomic_store_explicit(&w->tainted, s->async_error, memory_order_relaxed); /* whoever reads it has seen it done */
    finish(s);
}

/* A destroyed stream goes when its last work is done; until then who waits for the context waits for it. */
static void bury(MUstream s)
{
    if (s->doomed && !s->head && !s->running) {
        MUstream *link = &s->ctx->streams;
        while (*link != s)
            link = &(*link)->next;
        *link = s->next;
        unref_locked(s->tail);
        s->tail = NULL;
        host_order_stream_gone(s);
        host_slab_put(&host_streams, s);
    }
}

/* Runs what s has until it is empty or must wait. host_sched held on entry and exit. */
static void run_stream(MUstream s)
{
    while (s->head && !s->head->waiting)
        run_head(s);
    s->running = false;
    bury(s);
}

void host_stream_free(MUstream s)
{
    host_capture_stream_gone(s);
    pthread_mutex_lock(&host_sched);
    s->doomed = true;
    bury(s);
    pthread_mutex_unlock(&host_sched);
}

/* ---- server threads -------------------------------------------------------------------------- */

static void wait_for_ready(void)
{
    if (!spinner && may_spin()) {
        spinner = true;
        pthread_mutex_unlock(&host_sched);
        look_for(&ready_hint, 1, SPIN_NS);
        pthread_mutex_lock(&host_sched);
        spinner = false;
        if (ready_first || tasks)
            return;
    }
    idle++;
    pthread_cond_wait(&server_wake, &host_sched);
    idle--;
    if (wakes)
        wakes--;
}

static void unlock_and_wake(void)
{
    int send = signals;
    signals = 0;
    pthread_mutex_unlock(&host_sched);
    for (; send; send--)
        pthread_cond_signal(&server_wake);
}

void host_task_post(struct host_task *t)
{
    pthread_mutex_lock(&host_sched);
    t->next = tasks;
    tasks = t;
    ready_hint = 1;
    call_server();
    unlock_and_wake();
}

/* A thread that serves streams: tasks first, as somebody waits for them, then the stream that has been ready
 * longest, until it has nothing more to do. Threads are made as needed and stay. */
static void *serve(void *unused)
{
    (void)unused;
    host_kernels_thread();
    pthread_mutex_lock(&host_sched);
    for (;;) { /* never ends: the process's exit takes the threads along */
        while (!ready_first && !tasks)
            wait_for_ready();
        struct host_task *t = tasks;
        if (t) {
            tasks = t->next;
            ready_hint = tasks || ready_first;
            pthread_mutex_unlock(&host_sched);
            t->run(t);
            pthread_mutex_lock(&host_sched);
            continue;
        }
        MUstream s = ready_first;
        ready_first = s->next_ready;
        if (!ready_first) {
            ready_last = NULL;
            ready_hint = 0;
        }
        s->ready = false;
        s->running = true;
        run_stream(s);
    }
    return NULL;
}

/* ---- submission ------------------------------------------------------------------------------ */

/* What the default-stream rules make a work of s wait for: the legacy stream waits for all blocking
 * streams of its context and they for it; non-blocking streams at most for the context's fence.
 * Fills list if it is not NULL; returns the count. */
static size_t implied(MUstream s, struct host_work **list)
{
    size_t n = 0;
    if (!s->legacy) {
        struct host_work *w = s->nonblocking ? s->ctx->fence : s->ctx->legacy->tail;
        if (!w || w->done == 1)
            return 0;
        if (list)
            list[0] = w;
        return 1;
    }
    for (MUstream t = s->ctx->streams; t; t = t->next)
        if (!t->nonblocking && t != s && t->tail && t->tail->done != 1) {
            if (list)
                list[n] = t->tail;
            n++;
        }
    return n;
}

static void link_edges(struct host_work *w, struct host_work *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->done != 1) {
            struct host_edge *e = &w->own[w->waiting++];
            e->waiter = w;
            e->next = list[i]->edges;
            list[i]->edges = e;
        }
}

static void put(MUstream s, struct host_work *w)
{
    if (s->tail != w)
        unref_locked(s->tail);
    s->tail = w;
    atomic_store_explicit(&s->busy, true, memory_order_relaxed); /* whoever submits before a wait is seen by it */
    if (s->last)
        s->last->next = w;
    else
        s->head = w;
    s->last = w;
}

static void run_here(MUstream s)
{
    s->running = true;
    run_head(s);
    s->running = false;
    bury(s);
}

/* The first work of all makes a thread that serves, so that whatever is queued later finds one. host_sched held. */
static bool have_server(void)
{
    if (!servers)
        servers = host_thread("mu-stream", serve, NULL);
    return servers;
}

static MUresult done_by_caller(void *unused) { return (void)unused, MUSA_SUCCESS; }

struct host_work *host_hold(MUstream s)
{
    struct host_frames origin;
    struct host_work *w = NULL;
    origin.count = 0; /* the rest is long */
    const bool ordered = host_order_on();
    if (ordered)
        host_memcheck_frames(&origin);
    pthread_mutex_lock(&host_sched);
    if (!s->head && !s->running && !s->doomed && !implied(s, NULL) && have_server()) {
        w = s->tail; /* which is done: one that nobody else knows serves again */
        if (!w || w->refs > 1 || w->order || w->own || w->edges)
            w = malloc(sizeof *w);
    }
    if (w) {
        *w = (struct host_work){.stream = s, .op.run = done_by_caller, .refs = 2}; /* queue, tail */
        if (ordered)
            w->order = host_order_put(s, NULL, 0, &origin);
        put(s, w);
        s->running = true;
    }
    pthread_mutex_unlock(&host_sched);
    return w;
}

void host_release(struct host_work *held, const struct host_op *op)
{
    MUstream s = held->stream;
    pthread_mutex_lock(&host_sched);
    s->running = false;
    if (op)
        held->op = *op;
    else {
        atomic_store_explicit(&held->tainted, s->async_error, memory_order_relaxed);
        finish(s);
    }
    make_ready(s);
    bury(s);
    unlock_and_wake();
}

bool cumu_host_at_once(MUstream stream, bool (*does)(void *), void *arg)
{
    MUstream s;
    if (host_order_on() || !host_stream_open(stream, &s))
        return false;
    pthread_mutex_lock(&host_sched);
    const bool done = !s->head && !s->running && !s->doomed && !implied(s, NULL) && does(arg);
    pthread_mutex_unlock(&host_sched);
    return done;
}

/* Queues work on a stream behind what it depends on: the stream's last work, what the default stream implies,
 * `after`. Work in an idle stream that may run here does, with the lock released around it; else a server thread
 * takes it. */
MUresult host_submit(MUstream s, const struct host_op *op, struct host_work *const *after, size_t n, unsigned flags,
                     struct host_work **out)
{
    struct host_work *w = malloc(sizeof *w), *small[8], **list = small; /* calloc is slower */
    MUresult r = MUSA_ERROR_OUT_OF_MEMORY;
    if (!w)
        goto fail;
    *w = (struct host_work){.stream = s};
    if (op)
        w->op = *op;
    MUresult refused = host_captures && !(flags & HOST_CHECKED) ? host_capture_refuse(s) : 0;
    if (refused) {
        r = refused;
        goto fail;
    }
    struct host_frames origin;
    origin.count = 0;
    if (host_order_on())
        host_memcheck_frames(&origin);
    pthread_mutex_lock(&host_sched);
    if (!have_server()) {
        r = MUSA_ERROR_OPERATING_SYSTEM;
        goto fail_locked;
    }
    if (s->doomed) {
        r = MUSA_ERROR_INVALID_HANDLE;
        goto fail_locked;
    }
    size_t count = implied(s, NULL);
    if (count > 8 && !(list = malloc(count * sizeof *list)))
        goto fail_locked;
    implied(s, list);
    if (count + n && !(w->own = malloc((count + n) * sizeof *w->own)))
        goto fail_locked;
    link_edges(w, list, count);
    link_edges(w, after, n);

    w->order = host_order_put(s, after, n, &origin);
    bool wait = flags & HOST_WAIT;
    /* A mere point in an idle stream is reached at once: no thread need wake for an event. */
    bool here = (!op || flags & HOST_INLINE) && !s->head && !s->running && !w->waiting;
    w->refs = 2 + (out ? 1 : 0) + (wait ? 1 : 0); /* queue, tail */
    put(s, w);
    if (here)
        run_here(s);
    make_ready(s);
    unlock_and_wake();
    if (list != small)
        free(list);
    if (out)
        *out = w;
    if (!wait)
        return MUSA_SUCCESS;
    if (here)
        host_work_synced(w);
    else
        host_work_wait(w);
    r = host_failure_code(w->result);
    host_work_unref(w);
    return r;

fail_locked:
    pthread_mutex_unlock(&host_sched);
fail:
    if (w)
        free(w->own);
    free(w);
    if (list != small)
        free(list);
    if (op && op->drop)
        op->drop(op->arg);
    return r;
}

void host_fence(MUcontext ctx)
{
    pthread_mutex_lock(&host_sched);
    host_order_stream_synced(ctx->legacy); /* of later work alone, but nobody can tell it from earlier work */
    struct host_work *w = ctx->legacy->tail;
    w = w && w->done != 1 ? w : NULL;
    if (w)
        host_work_ref(w);
    unref_locked(ctx->fence);
    ctx->fence = w;
    pthread_mutex_unlock(&host_sched);
}

struct host_work *host_stream_tail(MUstream s)
{
    if (!atomic_load_explicit(&s->busy, memory_order_acquire) && !host_order_on())
        return NULL;
    pthread_mutex_lock(&host_sched);
    struct host_work *w = s->tail;
    if (w && w->done != 1)
        host_work_ref(w);
    else
        w = NULL;
    host_order_stream_synced(s); /* a wait for an event that was over may stand behind the last work */
    pthread_mutex_unlock(&host_sched);
    return w;
}
