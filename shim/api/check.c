/* Vector clocks of streams and events, the uses of memory under way, and the report of two that no order
 * lies between. */
#include "api/check.h"
#include "core/hmap.h"
#include "core/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 1024, USES = 16384 };

struct clock {
    uint32_t at[STREAMS]; /* by number of the stream */
};

struct check_stream {
    const void *handle; /* of a default stream, with device and, per thread, thread */
    int device;
    unsigned thread, number;
    bool live;
    enum check_stream_kind kind;
    struct clock clock;
};

struct event {
    const void *handle;
    struct clock clock;
    UT_hash_handle hh;
};

struct use {
    struct check_range range;
    struct check_call call;
    unsigned stream;
    uint32_t tick;
};

struct list {
    struct use *use;
    unsigned n, room;
};

struct text { /* a kernel's name, or a pair of sites */
    char *key;
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything below */
static struct check_stream *streams[STREAMS];
static unsigned nstreams;
static struct clock host;
static struct event *events;
static struct list collectives, others;
static struct text *names, *pairs;

/* ---- streams and events ------------------------------------------------------------------------ */

static void join(struct clock *to, const struct clock *from)
{
    for (unsigned i = 0; i < nstreams; i++)
        if (to->at[i] < from->at[i])
            to->at[i] = from->at[i];
}

static bool is_default(const void *handle) { return (uintptr_t)handle <= 2; }

static struct check_stream *find(const void *handle, int device, unsigned thread)
{
    for (unsigned i = 0; i < nstreams; i++) {
        struct check_stream *s = streams[i];
        if (s->live && s->handle == handle && (!is_default(handle) || (s->device == device && s->thread == thread)))
            return s;
    }
    return NULL;
}

/* The place of one that was destroyed, if there is one: its clock goes on, what it had waited for is
 * forgotten. */
static struct check_stream *place(void)
{
    for (unsigned i = 0; i < nstreams; i++)
        if (!streams[i]->live) {
            uint32_t tick = streams[i]->clock.at[i];
            memset(&streams[i]->clock, 0, sizeof streams[i]->clock);
            streams[i]->clock.at[i] = tick;
            return streams[i];
        }
    if (nstreams == STREAMS)
        return NULL;
    struct check_stream *s = calloc(1, sizeof *s);
    if (s) {
        s->number = nstreams;
        streams[nstreams++] = s;
    }
    return s;
}

struct check_stream *cumu_check_stream(const void *handle, int device, unsigned thread,
                                       enum check_stream_kind (*kind)(const void *handle))
{
    thread = (uintptr_t)handle == 2 ? thread : 0;
    pthread_mutex_lock(&lock);
    struct check_stream *s = find(handle, device, thread);
    pthread_mutex_unlock(&lock);
    if (s)
        return s;
    enum check_stream_kind k = kind(handle); /* asks the library below: without the lock */
    pthread_mutex_lock(&lock);
    s = find(handle, device, thread);
    if (!s && (s = place())) {
        s->handle = handle;
        s->device = device;
        s->thread = thread;
        s->kind = k;
        s->live = true;
    }
    pthread_mutex_unlock(&lock);
    if (!s)
        cumu_warn("check", NULL, "more than %d streams: some are not checked", STREAMS);
    return s;
}

void cumu_check_stream_gone(const void *handle, int device)
{
    pthread_mutex_lock(&lock);
    struct check_stream *s = find(handle, device, 0);
    if (s && !is_default(handle))
        s->live = false;
    pthread_mutex_unlock(&lock);
}

/* Before s does anything, or is asked about: it knows what the host knows, and what the rules of the legacy
 * stream make it wait for. */
static void arrive(struct check_stream *s)
{
    join(&s->clock, &host);
    for (unsigned i = 0; i < nstreams && s->kind != CHECK_NONBLOCKING; i++) {
        struct check_stream *t = streams[i];
        bool orders = s->kind == CHECK_LEGACY ? t->kind == CHECK_BLOCKING : t->kind == CHECK_LEGACY;
        if (t != s && orders && t->device == s->device)
            join(&s->clock, &t->clock);
    }
}

void cumu_check_record(struct check_stream *s, const void *event)
{
    struct event *e;
    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(events, &event, e);
    if (!e && (e = calloc(1, sizeof *e))) {
        e->handle = event;
        HASH_ADD_PTR(events, handle, e);
        if (!hmap_added(e)) {
            free(e);
            e = NULL;
        }
    }
    arrive(s);
    if (e)
        e->clock = s->clock;
    pthread_mutex_unlock(&lock);
}

void cumu_check_event_gone(const void *event)
{
    struct event *e;
    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(events, &event, e);
    if (e)
        HASH_DEL(events, e);
    pthread_mutex_unlock(&lock);
    free(e);
}

static void wait_for_event(struct clock *waiter, const void *event)
{
    struct event *e;
    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(events, &event, e);
    if (e)
        join(waiter, &e->clock);
    pthread_mutex_unlock(&lock);
}

void cumu_check_wait(struct check_stream *s, const void *event) { wait_for_event(&s->clock, event); }
void cumu_check_event_synced(const void *event) { wait_for_event(&host, event); }

void cumu_check_wait_all(struct check_stream *s)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < nstreams; i++)
        join(&s->clock, &streams[i]->clock);
    pthread_mutex_unlock(&lock);
}

void cumu_check_join(struct check_stream *const *s, unsigned n)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n; i++)
        arrive(s[i]);
    for (unsigned i = 1; i < n; i++)
        join(&s[0]->clock, &s[i]->clock);
    for (unsigned i = 1; i < n; i++)
        join(&s[i]->clock, &s[0]->clock);
    pthread_mutex_unlock(&lock);
}

void cumu_check_synced(struct check_stream *s)
{
    pthread_mutex_lock(&lock);
    arrive(s);
    join(&host, &s->clock);
    pthread_mutex_unlock(&lock);
}

void cumu_check_device_synced(int device)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < nstreams; i++)
        if (streams[i]->device == device)
            join(&host, &streams[i]->clock);
    pthread_mutex_unlock(&lock);
}

/* ---- uses of memory ---------------------------------------------------------------------------- */

/* The kept copy of a text; *fresh says whether it is a new one. */
static const char *keep(struct text **set, const char *key, bool *fresh)
{
    struct text *t = NULL;
    HASH_FIND_STR(*set, key, t);
    *fresh = !t;
    if (!t && (t = calloc(1, sizeof *t))) {
        t->key = strdup(key);
        if (t->key)
            HASH_ADD_KEYPTR(hh, *set, t->key, strlen(t->key), t);
        if (!t->key || !hmap_added(t)) {
            free(t->key);
            free(t);
            t = NULL;
        }
    }
    return t ? t->key : NULL;
}

static bool overlap(const struct check_range *a, const struct check_range *b)
{
    return a->size && b->size && a->at < b->at + b->size && b->at < a->at + a->size;
}

static void describe(char *text, size_t size, const struct check_call *c)
{
    Dl_info d;
    const char *file = NULL;
    if (dladdr((void *)(c->site - 1), &d) && d.dli_fname) /* -1: inside the call */
        file = strrchr(d.dli_fname, '/') ? strrchr(d.dli_fname, '/') + 1 : d.dli_fname;
    (void)snprintf(text, size, "%s%s%s on stream %p at %s+%#zx", c->name, c->kernel ? " of " : "",
                   c->kernel ? c->kernel : "", c->stream, file ? file : "?",
                   (size_t)(c->site - (file ? (uintptr_t)d.dli_fbase : 0)));
}

static void tell(const struct use *now, const struct use *before, const char *why)
{
    static const char *const does[] = {"reads", "writes", "may write"};
    char key[64], here[512], there[512];
    bool fresh;
    (void)snprintf(key, sizeof key, "%zx %zx", (size_t)before->call.site, (size_t)now->call.site);
    (void)keep(&pairs, key, &fresh);
    if (!fresh)
        return;
    uintptr_t at = now->range.at > before->range.at ? now->range.at : before->range.at;
    describe(here, sizeof here, &now->call);
    describe(there, sizeof there, &before->call);
    cumu_log(NULL, CUMU_ERROR, "check", now->call.name, "%s %#zx (%s) while that is under way which %s it (%s): %s",
             does[now->range.use], (size_t)at, here, does[before->range.use], there, why);
}

/* Compares with what is under way, and forgets what the host has waited for. */
static void compare(struct list *l, const struct use *now, const struct clock *known)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->n; i++) {
        const struct use *u = &l->use[i];
        if (u->tick <= host.at[u->stream])
            continue;
        if (overlap(&u->range, &now->range) && (u->range.use || now->range.use) && u->tick > known->at[u->stream])
            tell(now, u, "no event, synchronisation or common stream lies between");
        l->use[n++] = *u;
    }
    l->n = n;
}

/* The last of its kind on a stream stands for those before it. */
static void add(struct list *l, const struct use *now)
{
    for (unsigned i = 0; i < l->n; i++) {
        struct use *u = &l->use[i];
        if (u->stream == now->stream && u->range.at == now->range.at && u->range.size == now->range.size &&
            u->range.use == now->range.use && u->call.site == now->call.site) {
            *u = *now;
            return;
        }
    }
    if (l->n == l->room) {
        unsigned room = l->room ? l->room * 2 : 64;
        struct use *more = room <= USES ? realloc(l->use, room * sizeof *more) : NULL;
        if (more) {
            l->use = more;
            l->room = room;
        } else if (l->n) { /* the older half is forgotten */
            l->n /= 2;
            memmove(l->use, l->use + l->n, l->n * sizeof *l->use);
        } else
            return;
    }
    l->use[l->n++] = *now;
}

void cumu_check_put(struct check_stream *s, const struct check_call *call, const struct check_range *ranges, unsigned n)
{
    bool fresh;
    pthread_mutex_lock(&lock);
    arrive(s);
    struct use u = {.call = *call, .stream = s->number, .tick = ++s->clock.at[s->number]};
    u.call.kernel = call->kernel ? keep(&names, call->kernel, &fresh) : NULL;
    for (unsigned i = 0; i < n; i++) {
        u.range = ranges[i];
        if (!u.range.size)
            continue;
        compare(&collectives, &u, &s->clock);
        if (call->collective)
            compare(&others, &u, &s->clock);
        add(call->collective ? &collectives : &others, &u);
    }
    pthread_mutex_unlock(&lock);
}

void cumu_check_beside(const struct check_call *a, const struct check_range *ra, const struct check_call *b,
                       const struct check_range *rb)
{
    struct use before = {.call = *a, .range = *ra}, now = {.call = *b, .range = *rb};
    pthread_mutex_lock(&lock);
    if (overlap(ra, rb) && (ra->use || rb->use))
        tell(&now, &before, "messages of one group go at the same time");
    pthread_mutex_unlock(&lock);
}

static void forget(struct list *l, const struct check_range *r)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->n; i++)
        if (!overlap(&l->use[i].range, r))
            l->use[n++] = l->use[i];
    l->n = n;
}

void cumu_check_fresh(uintptr_t at, size_t size)
{
    struct check_range r = {at, size, CHECK_WRITES};
    pthread_mutex_lock(&lock);
    forget(&collectives, &r);
    forget(&others, &r);
    pthread_mutex_unlock(&lock);
}
