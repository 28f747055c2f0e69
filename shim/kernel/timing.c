/* Times what is put on streams while tracing: an event before it and one after it. What lies between them is
 * the time on the device: of the CPU libraries, from the stream's turn to the end of the work; on a GPU, what
 * its events say. Read when the program makes its next traced call, so nothing here waits. */
#include "core/trace.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "core/upper.h"
#include "kernel/graph.h"
#include "mu.h"

/* Pieces of work that wait for their events (more are not timed); how many of them one call looks at; contexts whose
 * clock is known. */
enum { MAX_PENDING = 16384, LOOK_AT = 64, BASES = 16 };

struct work {
    struct work *next;
    MUcontext ctx;
    MUevent before, after;
    uint64_t begun; /* on the host */
    struct cumu_event event;
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; not held in calls below */
static struct work *pending, **last = &pending;
static atomic_uint count;
static atomic_flag polling = ATOMIC_FLAG_INIT;
static pid_t owner;

/* Begun by begin(), completed by end(). */
struct started {
    MUcontext ctx;
    MUevent before;
    uint64_t begun;
};

/* ---- when it was ------------------------------------------------------------------------------ */

/* Per context an event whose host time is taken as known: the first one's is when it was put on its stream.
 * Elapsed times are floats of milliseconds, so a later one takes over each second. Of who polls. */
static struct base {
    MUcontext ctx;
    MUevent event;
    uint64_t at;
} bases[BASES];

/* Host time of the event, which came after `begun` and, with the work behind it, is over for `duration`; it is kept if
 * it becomes the base. What the base was taken for is corrected by both bounds: no work begins before it was put on its
 * stream, none ends after it was found done. */
static uint64_t time_of(MUcontext ctx, MUevent event, uint64_t begun, uint64_t duration, bool *kept)
{
    unsigned i = 0;
    float ms = 0;
    while (i < BASES && bases[i].ctx && bases[i].ctx != ctx)
        i++;
    *kept = false;
    if (i == BASES)
        return begun;
    struct base *b = &bases[i];
    bool known = b->ctx && mu.muEventElapsedTime(&ms, b->event, event) == MUSA_SUCCESS;
    uint64_t at = known ? b->at + (uint64_t)(int64_t)((double)ms * 1e6) : begun, latest = cumu_trace_now() - duration;
    uint64_t right = at < begun ? begun : at;
    right = right > latest ? latest : right;
    if (known && ms < 1000) {
        b->at += right - at;
        return right;
    }
    if (b->ctx)
        (void)mu.muEventDestroy(b->event);
    *b = (struct base){ctx, event, right};
    *kept = true;
    return right;
}

static void finish(struct work *w, bool done)
{
    float ms = 0;
    bool kept = false;
    if (done && mu.muEventElapsedTime(&ms, w->before, w->after) == MUSA_SUCCESS) {
        w->event.timed = true;
        w->event.duration = (uint64_t)((double)ms * 1e6);
        w->event.start = time_of(w->ctx, w->before, w->begun, w->event.duration, &kept);
    }
    if (!kept)
        (void)mu.muEventDestroy(w->before);
    (void)mu.muEventDestroy(w->after);
    w->event.lost = !w->event.timed;
    cumu_trace_event(&w->event);
    free(w);
    atomic_fetch_sub(&count, 1);
}

/* ---- list ------------------------------------------------------------------------------------- */

static struct work *take_all(void)
{
    pthread_mutex_lock(&lock);
    struct work *w = pending;
    pending = NULL;
    last = &pending;
    pthread_mutex_unlock(&lock);
    return w;
}

static void put_back(struct work *list, struct work **end)
{
    pthread_mutex_lock(&lock);
    *end = pending;
    if (!pending)
        last = end;
    pending = list;
    pthread_mutex_unlock(&lock);
}

/* Writes what is done; at_end: everything, what is not done without a time. The caller has `polling`. */
static void write_done(bool at_end)
{
    int mode = cumu_capture_relax();
    struct work *list = take_all(), **at = &list;
    for (unsigned looked = 0; *at && (looked < LOOK_AT || at_end);) {
        MUresult r = mu.muEventQuery((*at)->after);
        if (r == MUSA_ERROR_NOT_READY && !at_end) {
            looked++;
            at = &(*at)->next;
            continue;
        }
        struct work *w = *at;
        *at = w->next;
        finish(w, r == MUSA_SUCCESS);
    }
    while (*at)
        at = &(*at)->next;
    if (list)
        put_back(list, at);
    cumu_capture_restore(mode);
}

static void poll(bool at_end)
{
    if (!atomic_load_explicit(&count, memory_order_relaxed) || getpid() != owner || atomic_flag_test_and_set(&polling))
        return;
    write_done(at_end);
    atomic_flag_clear(&polling);
}

/* What is told may fill a buffer of CUPTI's user, whose function for that must not be called from within itself: a call
 * that it makes tells nothing, the next one of another place does. */
static void work_poll(void)
{
    if (!CUMU_ASK(profile_inside, false))
        poll(false);
}

static void work_flush(void)
{
    if (!atomic_load_explicit(&count, memory_order_relaxed) || getpid() != owner || CUMU_ASK(profile_inside, false))
        return;
    while (atomic_flag_test_and_set(&polling))
        (void)sched_yield();
    write_done(false);
    atomic_flag_clear(&polling);
}

static void at_exit(void) { poll(true); }

/* A child of a process that had no work yet is an owner as well. */
static void in_child(void)
{
    if (atomic_load_explicit(&count, memory_order_relaxed))
        return;
    owner = getpid();
    atomic_flag_clear(&polling);
}

static void work_init(void)
{
    owner = getpid();
    (void)pthread_atfork(NULL, NULL, in_child);
    atomic_fetch_add(&cumu_captures, 1); /* launches look up from now on */
    (void)atexit(at_exit);
}

/* ---- around the work -------------------------------------------------------------------------- */

void *cumu_work_begin(const void *stream)
{
    struct started *s = NULL;
    if (cumu_forked() || atomic_load_explicit(&count, memory_order_relaxed) >= MAX_PENDING ||
        cumu_capture_graph((CUstream)(uintptr_t)stream, NULL))
        return NULL;
    int mode = cumu_capture_relax();
    s = calloc(1, sizeof *s);
    if (s &&
        (mu.muCtxGetCurrent(&s->ctx) != MUSA_SUCCESS || !s->ctx || mu.muEventCreate(&s->before, 0) != MUSA_SUCCESS)) {
        free(s);
        s = NULL;
    }
    if (s && mu.muEventRecord(s->before, (MUstream)(uintptr_t)stream) != MUSA_SUCCESS) {
        (void)mu.muEventDestroy(s->before);
        free(s);
        s = NULL;
    }
    if (s)
        s->begun = cumu_trace_now(); /* what the event is put before has not begun yet */
    cumu_capture_restore(mode);
    return s;
}

/* NULL if it cannot be timed after all. */
static struct work *pend(const struct started *s, const struct cumu_event *e)
{
    size_t n = strlen(e->name) + 1;
    struct work *w = calloc(1, sizeof *w + n);
    if (!w)
        return NULL;
    if (mu.muEventCreate(&w->after, 0) != MUSA_SUCCESS) {
        free(w);
        return NULL;
    }
    if (mu.muEventRecord(w->after, (MUstream)(uintptr_t)e->stream) != MUSA_SUCCESS) {
        (void)mu.muEventDestroy(w->after);
        free(w);
        return NULL;
    }
    memcpy(w->name, e->name, n);
    w->ctx = s->ctx;
    w->before = s->before;
    w->begun = s->begun;
    w->event = *e;
    w->event.name = w->name;
    w->event.context = s->ctx;
    return w;
}

void cumu_work_end(void *work, const struct cumu_event *e, bool failed)
{
    struct started *s = work;
    struct cumu_event now = *e;
    struct work *w = NULL;
    int mode = s ? cumu_capture_relax() : -1;
    if (s && !failed)
        w = pend(s, e);
    if (s && !w)
        (void)mu.muEventDestroy(s->before);
    if (s)
        cumu_capture_restore(mode);
    free(s);
    if (!w && !failed) {
        now.lost = !cumu_capture_graph((CUstream)(uintptr_t)e->stream, NULL);
        cumu_trace_event(&now);
    }
    if (!w)
        return;
    pthread_mutex_lock(&lock);
    *last = w;
    last = &w->next;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&count, 1);
}

static const struct cumu_upper timing = {.work_init = work_init,
                                         .work_begin = cumu_work_begin,
                                         .work_end = cumu_work_end,
                                         .work_poll = work_poll,
                                         .work_flush = work_flush};
CUMU_UPPER(timing);
