/* The tracer: which calls are traced, and what is noted before and after each. */
#include "core/trace.h"
#include "core/config.h"
#include "core/init.h"
#include "core/log.h"
#include "core/upper.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Static_assert(offsetof(struct cumu_frame, index) == 56 && offsetof(struct cumu_frame, floating) == 64 &&
                   offsetof(struct cumu_frame, facade) == 192 && offsetof(struct cumu_frame, target) == 208 &&
                   offsetof(struct cumu_frame, stack_size) == 216 && offsetof(struct cumu_frame, result) == 224 &&
                   offsetof(struct cumu_frame, result_float) == 240 && sizeof(struct cumu_frame) <= 576,
               "trace_entry.S has these offsets");

static atomic_uint threads;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct {
    unsigned number; /* from 1, in order of first calls; 0: none yet */
    unsigned depth;
} me;

static uint64_t began;
static long process;

bool cumu_trace_times_work(void) { return cumu_tracing() || CUMU_ASK(profile_work, false); }

bool cumu_tracing(void) { return cumu_opt_text(CUMU_OPT_TRACE)[0] != 0; }

uint64_t cumu_trace_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t cumu_trace_began(void) { return began; }

static void in_child(void)
{
    process = (long)getpid();
    cumu_trace_forked();
}

static void begin(void)
{
    began = cumu_trace_now();
    process = (long)getpid();
    (void)pthread_atfork(NULL, NULL, in_child);
    CUMU_ASK(work_init, (void)0);
}

void cumu_trace_begin(void) { (void)pthread_once(&once, begin); }

/* ---- filter ---------------------------------------------------------------------------------- */

static bool matches(const char *w, size_t n, const char *library, const char *name)
{
    char text[256];
    if (n >= sizeof text)
        return false;
    memcpy(text, w, n);
    text[n] = 0;
    char *colon = strchr(text, ':');
    if (!colon)
        return fnmatch(text, name, 0) == 0;
    *colon = 0;
    return fnmatch(text, library, 0) == 0 && (!colon[1] || fnmatch(colon + 1, name, 0) == 0);
}

/* Words of CUMU_TRACE_FILTER are [-][LIBRARY:]PATTERN and [-]thread=N. Thread 0: not asked for. */
bool cumu_trace_passes(const char *filter, const char *library, const char *name, unsigned thread)
{
    bool some[2] = {false}, hit[2] = {false}; /* of symbols, of threads */
    for (const char *w = filter; *w;) {
        bool not = *w == '-';
        w += not ;
        size_t n = strcspn(w, ",");
        bool of_thread = strncmp(w, "thread=", 7) == 0;
        bool asked = !of_thread || thread;
        bool same = asked && (of_thread ? (unsigned)atoi(w + 7) == thread : matches(w, n, library, name));
        if (same && not )
            return false;
        some[of_thread] |= asked && n && !not ;
        hit[of_thread] |= same;
        w += n + (w[n] == ',');
    }
    return (!some[0] || hit[0]) && (!some[1] || hit[1]);
}

static bool wanted(const char *library, const char *name, unsigned thread)
{
    return cumu_trace_passes(cumu_opt_text(CUMU_OPT_TRACE_FILTER), library, name, thread);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool traces(const struct cumu_facade *f, const struct cumu_symbol *s)
{
    if (strcmp(f->table->library, "nvtx") == 0) /* its calls are shown as what they say */
        return false;
    return cumu_tracing() && (wanted(f->table->library, s->name, 0) ||
                              (cumu_queues_copy(&cumu_prototypes[s->call]) && wanted("copy", s->name, 0)));
}

static void *thunk(const struct cumu_facade *f, unsigned index)
{
    return (void *)(uintptr_t)(f->thunks + (size_t)index * CUMU_THUNK_SIZE);
}

static bool is_wanted(const struct cumu_facade *f, const struct cumu_symbol *s)
{
    const char *library = f->table->library;
    return traces(f, s) || CUMU_ASK(check_wants, false, library, s->name) ||
           CUMU_ASK(profile_wants, false, library, s->name);
}

void *cumu_trace_slot(const struct cumu_facade *f, unsigned index, void *target)
{
    const struct cumu_symbol *s = &f->table->symbols[index];
    if (cumu_tracing())
        cumu_trace_begin();
    if (f->thunks) /* kept for who wants the calls later */
        __atomic_store_n(&f->targets[index], target, __ATOMIC_RELEASE);
    if (!is_wanted(f, s))
        return target;
    if (!f->thunks) {
        cumu_warn("trace", NULL, "this build of cumu has no thunks (WITH_ASM=0): calls are not seen");
        return target;
    }
    return thunk(f, index);
}

static void rearm(const struct cumu_facade *f)
{
    for (uint32_t i = 0; f->thunks && i < f->table->count; i++) {
        void *target = __atomic_load_n(&f->targets[i], __ATOMIC_ACQUIRE);
        if (target)
            __atomic_store_n(&f->slots[i], is_wanted(f, &f->table->symbols[i]) ? thunk(f, i) : target,
                             __ATOMIC_RELEASE);
    }
}

void cumu_trace_rearm(void) { cumu_init_each(rearm); }

void cumu_trace_stamp(struct cumu_event *e)
{
    cumu_trace_begin();
    if (!me.number)
        me.number = atomic_fetch_add(&threads, 1) + 1;
    e->thread = me.number;
    e->depth = me.depth;
    e->process = process;
    e->correlation = CUMU_ASK(profile_call, 0);
}

void cumu_trace_indent(int more) { me.depth += (unsigned)more; }

void cumu_trace_event(struct cumu_event *e)
{
    if (cumu_tracing() && wanted(e->library, e->name, e->thread))
        cumu_trace_write(e);
    if (e->kind != CUMU_EVENT_CALL)
        CUMU_ASK(profile_event, (void)0, e);
}

static const char *per_thread(const struct cumu_symbol *s)
{
    size_t n = strlen(s->name);
    return n > 5 && strncmp(s->name + n - 5, "_pts", 4) == 0 ? s->name + n - 5 : NULL;
}

void cumu_trace_before(struct cumu_frame *f)
{
    int saved = errno;
    const struct cumu_symbol *s = &f->facade->table->symbols[f->index];
    const struct cumu_prototype *c = &cumu_prototypes[s->call];
    const void *stream;
    f->target = __atomic_load_n(&f->facade->targets[f->index], __ATOMIC_ACQUIRE);
    f->stack_size = (c->stack * 8u + 15) & ~15u;
    f->work = NULL;
    f->checked = CUMU_ASK(check_wants, false, f->facade->table->library, s->name);
    f->profiled = CUMU_ASK(profile_wants, false, f->facade->table->library, s->name);
    f->traced = (!f->checked && !f->profiled) || traces(f->facade, s);
    f->depth = me.depth;
    me.depth += f->traced;
    if (f->profiled)
        CUMU_ASK(profile_before, (void)0, f);
    if ((f->traced || (f->profiled && cumu_trace_times_work())) && cumu_call_bytes(c, f) &&
        cumu_call_stream(c, f, &stream))
        f->work = CUMU_ASK(work_begin, NULL, !stream && per_thread(s) ? (void *)2 /* cudaStreamPerThread */ : stream);
    f->start = cumu_trace_now();
    errno = saved;
}

/* What the call has put on a stream, if that is a copy or a memset. */
static void queue_copy(struct cumu_frame *f, const struct cumu_symbol *s, const struct cumu_prototype *c, uint64_t end)
{
    bool failed = c->status && (int)f->result[0] != 0;
    struct cumu_event copy = {.kind = CUMU_EVENT_COPY,
                              .library = "copy",
                              .name = s->name,
                              .start = end,
                              .bytes = failed ? 0 : cumu_call_bytes(c, f)};
    if (!cumu_call_stream(c, f, &copy.stream) || !cumu_call_bytes(c, f))
        return;
    cumu_trace_stamp(&copy);
    if (f->profiled && !failed)
        CUMU_ASK(profile_copy, (void)0, c, f, &copy);
    CUMU_ASK(work_end, (void)0, f->work, &copy, failed);
}

static void trace(struct cumu_frame *f, const struct cumu_symbol *s, const struct cumu_prototype *c, uint64_t end)
{
    bool failed = c->status && (int)f->result[0] != 0;
    const void *stream = NULL;
    bool queued = cumu_call_stream(c, f, &stream);
    me.depth = f->depth;
    struct cumu_event e = {.kind = CUMU_EVENT_CALL,
                           .library = f->facade->table->library,
                           .name = s->name,
                           .start = f->start,
                           .duration = end - f->start,
                           .timed = true,
                           .call = c,
                           .frame = f,
                           .bytes = queued || failed ? 0 : cumu_call_bytes(c, f)};
    cumu_trace_stamp(&e);
    cumu_trace_event(&e);
}

void cumu_trace_after(struct cumu_frame *f)
{
    uint64_t end = cumu_trace_now();
    int saved = errno;
    const struct cumu_symbol *s = &f->facade->table->symbols[f->index];
    const struct cumu_prototype *c = &cumu_prototypes[s->call];
    if (f->checked)
        CUMU_ASK(check_call, (void)0, c, f);
    if (f->traced)
        trace(f, s, c, end);
    if (f->traced || (f->profiled && cumu_trace_times_work())) {
        queue_copy(f, s, c, end);
        CUMU_ASK(work_poll, (void)0);
    }
    if (f->profiled)
        CUMU_ASK(profile_after, (void)0, f, end);
    errno = saved;
}
