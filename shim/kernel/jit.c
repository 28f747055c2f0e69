/* Compiles kernels behind the program's back: every kernel starts on tier 0; at its first launch a thread here looks
 * for its object in the cache, and later has it compiled when that seems worth it, loads it and gives it to later
 * launches, and to blocks that have not begun of those under way.
 *
 * Worth a compiler is what has spent an eighth of the time in the interpreter that the compiler is thought to take
 * (as in the ski rental problem, but compiled code is some eight times as fast, and later processes have it, too).
 * What earlier processes spent counts (missed.h), so that a program that is shorter than its compiler gets
 * there. Of several the hottest is first, and the cache is looked at before anything is compiled.
 *
 * The library below is called without any lock but for its clocks, which take none, and while it loads an object
 * (which takes the dynamic linker's lock, that the program may hold when it unloads a module) nobody waits for this
 * thread. */
#include "kernel/jit.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "core/config.h"
#include "core/resolve.h"
#include "core/trace.h"
#include "compile/compile.h"
#include "kernel/device.h"
#include "kernel/graph.h"
#include "kernel/missed.h"
#include "compile/progress.h"

enum {
    MAX_THREADS = 3,       /* that look and load; one of them, or two where there are CPUs enough, may compile */
    EXIT_MS = 1000,        /* that a process may wait at its end for what is being compiled */
    MAX_TRIES = 4,         /* doublings of that, for what earlier processes began in vain */
    LOOK_MS = 50,          /* after which a kernel in the interpreter is looked at again */
    LOOKS = 100,           /* at one that does not begin */
    LONG_TEXT = 200000,    /* bytes: takes longer than EXIT_MS to compile */
    COMPILE_NS = 60000000, /* of any kernel, and of a byte of PTX: seen over 800 kernels, tests/bench/README.md */
    COMPILE_BYTE_NS = 30000,
    SHARE = 8 /* of that time, spent in the interpreter: worth it */
};

struct job {
    struct job *next;
    struct cumu_func *f; /* NULL: cancelled */
    struct func_inst *inst;
    MUcontext ctx;
    enum t1_shape shape;
    bool compile;    /* now; else only looked for in the cache */
    bool absent;     /* it is not there */
    uint64_t worth;  /* ns in the interpreter, from which on it is compiled; 0: at once */
    uint64_t before; /* ns of earlier processes */
    unsigned tries;  /* of theirs */
    unsigned looks;
    bool again; /* it is known that the cache lacks it */
    struct timespec due;
    bool busy;    /* f and inst are in use: who cancels waits */
    bool lengthy; /* nobody waits for its end when the process goes; lock held */
    void *image;  /* tier 0's, bound to ctx */
    size_t image_size;
    struct cumu_key key;
    char *text;
    size_t text_size;
    char name[]; /* of the kernel; those of templates take hundreds of bytes */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
static struct list {
    struct job *first, **end;
} queue = {NULL, &queue.first}, later = {NULL, &later.first}; /* to look for; for another look, the first due first */
static struct job *ready;                                     /* to compile, in no order */
static struct job *working[MAX_THREADS];
static unsigned threads, sleeping, compiling;
static unsigned compilers;         /* that may run at once; from the first job on */
static unsigned waiting, finished; /* jobs that are queued or ready; that threads have done */
static pid_t owner;                /* the process that has the threads: not a child that it forks */
static bool leaving; /* the process exits: what is compiled now goes to the cache, nothing else is begun */
static atomic_uint compiled, cached, refused, total_ms;

static t1_take_over *take_over; /* the driver's, from the first job on; NULL: it has none */
static t1_under_way *under_way;
static t1_spent *spent;

enum mode { OFF, BACKGROUND, EAGER, WAIT };

static bool watches(void) { return cumu_opt_has(CUMU_OPT_CHECK, "memory") || cumu_opt_has(CUMU_OPT_CHECK, "init"); }

static bool races(void) { return cumu_opt_has(CUMU_OPT_CHECK, "race"); }

/* Whether tools look at kernels that compiled code knows nothing of: memcheck and initcheck together, racecheck and
 * synccheck alone have objects of their own. Synccheck leaves those that have nothing to look at. */
static bool interprets(void) { return cumu_opt_has(CUMU_OPT_CHECK, "sync") + races() + watches() > 1; }

static unsigned options(void)
{
    return (cumu_object_debugged() ? T1_EMIT_LINES : 0) | (watches() ? T1_EMIT_WATCHED : races() ? T1_EMIT_RACED : 0);
}

static enum mode mode(void)
{
    static atomic_int known = -1;
    int m = atomic_load_explicit(&known, memory_order_relaxed);
    if (m < 0) {
        const char *text = cumu_opt_text(CUMU_OPT_JIT);
        m = !strcmp(text, "wait") ? WAIT : !strcmp(text, "eager") ? EAGER : !strcmp(text, "1") ? BACKGROUND : OFF;
        if (cumu_device_code() && (cumu_opt_has(CUMU_OPT_CHECK, "memory") || cumu_opt_has(CUMU_OPT_CHECK, "race") ||
                                   cumu_opt_has(CUMU_OPT_CHECK, "init")))
            cumu_error("jit", NULL, "CUMU_CHECK sees accesses of kernels on the CPU only: CUMU_BACKEND=host");
        if (m != OFF && (cumu_device_code() || interprets()))
            m = OFF; /* devices' kernels are compiled from the start */
        atomic_store(&known, m);
    }
    return (enum mode)m;
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* Whether the job's kernel is still wanted; from now on it stays until done(). */
static bool take(struct job *j)
{
    pthread_mutex_lock(&lock);
    j->busy = j->f != NULL && !leaving;
    pthread_mutex_unlock(&lock);
    return j->busy;
}

static void done(struct job *j)
{
    pthread_mutex_lock(&lock);
    j->busy = false;
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

static void settle(struct job *j, enum cumu_jit_state state)
{
    if (!take(j))
        return;
    atomic_store(&j->inst->jit[j->shape], state);
    done(j);
}

void cumu_jit_note(const char *kernel, const char *how, unsigned ms)
{
    if (cumu_trace_times_work())
        cumu_trace_event(&(struct cumu_event){.kind = CUMU_EVENT_COMPILE,
                                              .library = "compile",
                                              .name = kernel,
                                              .start = cumu_trace_now() - ms * 1000000ull,
                                              .duration = ms * 1000000ull,
                                              .timed = ms != 0,
                                              .process = (long)getpid(),
                                              .note = how});
}

static void forget(const struct job *j)
{
    pthread_mutex_lock(&lock);
    cumu_missed_forget(&j->key);
    pthread_mutex_unlock(&lock);
}

static void refuse(struct job *j, const char *why)
{
    atomic_fetch_add(&refused, 1);
    cumu_info("jit", j->name, "stays on tier 0: %s", why);
    cumu_jit_note(j->name, "stays on tier 0", 0);
    settle(j, CUMU_JIT_SETTLED);
}

/* Makes the job's context current, which our own threads have none of; returns what was. */
static MUcontext enter(MUcontext ctx)
{
    MUcontext now = NULL;
    (void)mu.muCtxGetCurrent(&now);
    if (now != ctx)
        (void)mu.muCtxSetCurrent(ctx); /* one that is gone fails what follows */
    return now;
}

static void leave(MUcontext ctx, MUcontext before)
{
    if (before != ctx)
        (void)mu.muCtxSetCurrent(before);
}

/* Key and bound image. */
static bool prepare(struct job *j)
{
    if (!take(j))
        return false;
    struct cumu_unit *u = j->f->unit;
    cumu_unit_enter(u);
    cumu_object_key(&j->key, cumu_unit_ptx(u), cumu_unit_digest(u), j->name, j->shape, cumu_object_isa(), options());
    const struct ptx_func *ptx = ptx_module_func(cumu_unit_ptx(u), j->name);
    j->worth = mode() != BACKGROUND || !spent
                   ? 0
                   : (COMPILE_NS + COMPILE_BYTE_NS * (uint64_t)(ptx ? ptx->body_len : 0)) / SHARE;
    MUcontext now = enter(j->ctx); /* for the addresses of the module's variables */
    bool bound = cumu_unit_image(u, j->f, j->ctx, &j->image, &j->image_size) == CUDA_SUCCESS;
    leave(j->ctx, now);
    cumu_unit_leave(u);
    done(j);
    if (!bound)
        refuse(j, "its image cannot be bound");
    return bound;
}

/* Text, for a compiler. */
static bool emit(struct job *j)
{
    struct ptx_diag diag = {0};
    char why[sizeof diag.msg + sizeof diag.what + 32];
    if (!take(j))
        return false;
    cumu_unit_enter(j->f->unit);
    int bad = t1_emit_as(cumu_unit_ptx(j->f->unit), j->name, j->shape, cumu_object_isa(), options(), &j->text,
                         &j->text_size, &diag);
    cumu_unit_leave(j->f->unit);
    done(j);
    if (!bad) {
        pthread_mutex_lock(&lock);
        j->lengthy = j->text_size > LONG_TEXT;
        pthread_cond_broadcast(&idle);
        pthread_mutex_unlock(&lock);
        return true;
    }
    j->text = NULL;
    ptx_diag_text(&diag, why, sizeof why);
    refuse(j, why);
    return false;
}

static void publish(struct job *j, MUmodule module, MUfunction function)
{
    bool used = false;
    if (take(j)) {
        struct func_inst *i = j->inst;
        cumu_unit_enter(j->f->unit);
        if (atomic_load(&i->ctx) == j->ctx) {
            cumu_func_attrs_replay(j->f, function);
            i->fast_module[j->shape] = module;
            atomic_store_explicit(&i->fast[j->shape], function, memory_order_release);
            if (take_over)
                (void)take_over(i->function, function);
            used = true;
        }
        atomic_store(&i->jit[j->shape], CUMU_JIT_SETTLED);
        cumu_unit_leave(j->f->unit);
        done(j);
    }
    if (!used)
        (void)mu.muModuleUnload(module);
}

static void load(struct job *j, const struct cumu_compiled *o, const char *how)
{
    char path[PATH_MAX];
    void *image = NULL;
    size_t size;
    MUmodule module = NULL;
    MUfunction function = NULL;
    const struct t1_parts parts = {.lir_image = j->image,
                                   .lir_size = j->image_size,
                                   .object = o->data,
                                   .object_size = o->size,
                                   .shape = j->shape,
                                   .path = cumu_object_debugged() && cumu_cache_file(&j->key, path) ? path : NULL};
    if (t1_image_pack(&parts, &image, &size) != 0) {
        refuse(j, "out of memory");
        return;
    }
    MUcontext now = enter(j->ctx);
    int err = mu.muModuleLoadData(&module, image);
    free(image);
    if (!err && (err = mu.muModuleGetFunction(&function, module, j->name)) != 0)
        (void)mu.muModuleUnload(module);
    if (!err) {
        cumu_info("jit", j->name, "tier 1 ready: %s (%u compiled in %u ms, %u cached, %u refused)", how,
                  atomic_load(&compiled), atomic_load(&total_ms), atomic_load(&cached), atomic_load(&refused));
        publish(j, module, function);
    } else {
        refuse(j, "the MUSA library does not take its object");
    }
    leave(j->ctx, now);
}

/* By a launch that waits for its compiled code, or by one that runs in the interpreter meanwhile and that blocks not
 * begun, or the next launches, take over from: then the compiler must not starve beside the workers. */
static bool is_waited_for(struct job *j)
{
    const bool hurry = mode() != BACKGROUND || j->tries; /* with idle time it did not come to an end */
    if (hurry || !take(j))
        return hurry;
    bool waited = under_way && under_way(j->inst->function);
    done(j);
    return waited;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* One job: the object from the cache, or text and compiler. A job whose kernel has gone meanwhile still fills the
 * cache, but is not loaded. */
static void work(struct job *j)
{
    struct cumu_compiled o;
    char how[32];
    if (!prepare(j))
        return;
    enum cumu_made made = cumu_object_find(&o, &j->key);
    j->absent = made == CUMU_MADE_ABSENT && !j->compile;
    if (made == CUMU_MADE_ABSENT && j->compile) {
        pthread_mutex_lock(&lock);
        cumu_missed_begun(&j->key);
        pthread_mutex_unlock(&lock);
        if (!emit(j)) {
            forget(j);
            return;
        }
        made = cumu_object_make(&o, &j->key, j->name, j->text, j->text_size, j->shape, cumu_object_isa(),
                                !is_waited_for(j));
    }
    if (made != CUMU_MADE_ABSENT)
        forget(j);
    switch (made) {
    case CUMU_MADE_ABSENT: return;
    case CUMU_MADE_FAILED: refuse(j, o.why); return;
    case CUMU_MADE_CACHED:
        atomic_fetch_add(&cached, 1);
        (void)snprintf(how, sizeof how, "from the cache");
        cumu_jit_note(j->name, how, 0);
        break;
    case CUMU_MADE_COMPILED:
        atomic_fetch_add(&compiled, 1);
        atomic_fetch_add(&total_ms, o.ms);
        (void)snprintf(how, sizeof how, "compiled in %u ms", o.ms);
        cumu_jit_note(j->name, how, o.ms);
        break;
    }
    if (take(j)) { /* else nobody waits for it */
        done(j);
        load(j, &o, how);
    }
    free(o.data);
}

static void free_job(struct job *j)
{
    free(j->text);
    free(j->image);
    free(j);
}

static void push(struct list *l, struct job *j)
{
    j->next = NULL;
    *l->end = j;
    l->end = &j->next;
}

static struct job *pop(struct list *l)
{
    struct job *j = l->first;
    l->first = j->next;
    if (!l->first)
        l->end = &l->first;
    return j;
}

static struct timespec in_ms(long ms)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Its time in the interpreter so far. */
static uint64_t heat(const struct job *j) { return j->f ? j->before + (spent ? spent(j->inst->function) : 0) : 0; }

static void make_ready(struct job *j)
{
    j->compile = true;
    j->next = ready;
    ready = j;
    waiting++;
}

static struct job *take_hottest(void)
{
    struct job **hottest = &ready, *j;
    for (struct job **at = &ready; *at; at = &(*at)->next)
        if (heat(*at) > heat(*hottest))
            hottest = at;
    if ((j = *hottest)) {
        *hottest = j->next;
        waiting--;
    }
    return j;
}

static void postpone(struct job *j)
{
    j->due = in_ms(LOOK_MS);
    push(&later, j);
}

/* Looks at those that are due: worth it by now; or running, for another look; else a launch will ask again. */
static void look_again(void)
{
    const struct timespec now = in_ms(0);
    for (struct job *j; (j = later.first) && (j->due.tv_sec < now.tv_sec ||
                                              (j->due.tv_sec == now.tv_sec && j->due.tv_nsec <= now.tv_nsec));) {
        (void)pop(&later);
        if (j->f && heat(j) >= j->worth) {
            atomic_store(&j->inst->jit[j->shape], CUMU_JIT_ASKED);
            make_ready(j);
        } else if (j->f && under_way && under_way(j->inst->function) && (j->looks++ < LOOKS || heat(j) > j->before)) {
            postpone(j);
        } else {
            if (j->f) {
                atomic_store(&j->inst->worth[j->shape], j->worth > j->before ? j->worth - j->before : 0);
                atomic_store(&j->inst->jit[j->shape], CUMU_JIT_ABSENT);
            }
            free_job(j);
        }
    }
}

/* What is to be worked on now, or NULL. Lock held. */
static struct job *next_job(void)
{
    if (leaving)
        return NULL;
    look_again();
    if (queue.first) {
        waiting--;
        return pop(&queue);
    }
    return compiling < compilers ? take_hottest() : NULL;
}

/* A job that has been worked on: the next step for a kernel that is not in the cache. Lock held. */
static void put_away(struct job *j)
{
    if (!j->absent || !j->f) {
        free_job(j);
        return;
    }
    free(j->image);
    j->image = NULL;
    cumu_missed_note(&j->key, j->f, j->inst->function, &j->before, &j->tries);
    if (heat(j) >= j->worth) {
        make_ready(j);
    } else {
        atomic_store(&j->inst->jit[j->shape], CUMU_JIT_WATCHED);
        postpone(j);
    }
    pthread_cond_signal(&more); /* who sleeps does so until it is due */
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Our code must stay mapped under the threads, whoever closes the library. */
static void stay_loaded(void)
{
    Dl_info info;
    if (dladdr((void *)&lock, &info) && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* A background compiler thread. It runs at a low priority and captures nothing of anybody's; it makes its first
 * driver calls before it takes any job, for the reason below. */
static void *thread_main(void *slot)
{
    struct job **mine = slot;
    (void)prctl(PR_SET_NAME, "cumu-jit");
    int relaxed = musaStreamCaptureModeRelaxed; /* what it loads is no business of anybody's capture */
    (void)mu.muThreadExchangeStreamCaptureMode(&relaxed);
    /* A function's first call looks it up and takes the dynamic linker's lock: not while who unloads a
     * module holds that lock and waits for a job. */
    MUcontext none = NULL;
    (void)mu.muCtxGetCurrent(&none);
    (void)mu.muCtxSetCurrent(none);
    pthread_mutex_lock(&lock);
    if (threads == 1)
        cumu_missed_read();
    for (;;) {
        struct job *j;
        while (!(j = next_job())) {
            sleeping++;
            if (later.first && !leaving)
                (void)pthread_cond_timedwait(&more, &lock, &later.first->due);
            else
                pthread_cond_wait(&more, &lock);
            sleeping--;
        }
        const bool compiles = j->compile;
        *mine = j;
        compiling += compiles;
        pthread_mutex_unlock(&lock);
        work(j);
        pthread_mutex_lock(&lock);
        *mine = NULL;
        compiling -= compiles;
        put_away(j);
        cumu_progress(++finished, leaving ? 0 : waiting);
        pthread_cond_broadcast(&idle);
    }
    return NULL;
}

/* A program that is over before its kernels are compiled would compile them in every run, and wait a while each time:
 * what is begun is finished, once, unless that would be felt as a hang. */
static void at_exit(void)
{
    struct timespec end[MAX_TRIES + 1];
    for (unsigned i = 0; i <= MAX_TRIES; i++) /* what earlier processes began and did not end is waited for longer */
        end[i] = in_ms(i < 2 ? EXIT_MS : EXIT_MS << i);
    if (getpid() != owner)
        return;
    pthread_mutex_lock(&lock);
    leaving = true;
    cumu_progress(finished, 0);
    for (unsigned i = 0; i < MAX_THREADS; i++)
        for (struct job *j; (j = working[i]) && j->compile;) {
            if ((j->lengthy && j->tries < 2) ||
                pthread_cond_timedwait(&idle, &lock, &end[j->tries < MAX_TRIES ? j->tries : MAX_TRIES]) != 0)
                break;
        }
    cumu_missed_leave(spent);
    unsigned never = waiting;
    pthread_mutex_unlock(&lock);
    cumu_info("jit", "all", "%u kernels compiled in %.1f s, %u from the cache, %u stay on tier 0, %u not begun",
              atomic_load(&compiled), atomic_load(&total_ms) / 1e3, atomic_load(&cached), atomic_load(&refused), never);
}

static void start_once(void)
{
    stay_loaded();
    *(void **)&take_over = cumu_below("musa", T1_TAKE_OVER);
    *(void **)&under_way = cumu_below("musa", T1_UNDER_WAY);
    *(void **)&spent = cumu_below("musa", T1_SPENT);
    compilers = sysconf(_SC_NPROCESSORS_ONLN) >= 4 ? 2 : 1; /* a file is read for it */
    owner = getpid();
    (void)atexit(at_exit);
}

/* Lock held. */
static bool start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, old;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's handlers run on the program's threads */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&thread, &attr, thread_main, &working[threads]) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attr);
    threads += ok;
    return ok;
}

static bool enqueue(struct job *j)
{
    pthread_mutex_lock(&lock);
    bool served = threads > 0;
    if (!sleeping && threads < compilers + 1)
        served |= start_thread();
    if (served) {
        if (j->again) {
            postpone(j);
        } else if (mode() == EAGER) {
            make_ready(j);
        } else {
            push(&queue, j);
            waiting++;
        }
        pthread_cond_signal(&more);
    }
    pthread_mutex_unlock(&lock);
    return served;
}

static void let_go(const struct list *l, const struct cumu_func *f)
{
    for (struct job *j = l->first; j; j = j->next)
        if (j->f == f)
            j->f = NULL;
}

/* f's jobs are called off; whether one is in use, which may wait for its next turn again after that. Lock held. */
static bool call_off(struct cumu_func *f)
{
    bool busy = false;
    let_go(&queue, f);
    let_go(&later, f);
    for (struct job **at = &ready, *j; (j = *at);)
        if (j->f == f) {
            *at = j->next;
            waiting--;
            free_job(j);
        } else {
            at = &j->next;
        }
    for (unsigned i = 0; i < MAX_THREADS; i++)
        if (working[i] && working[i]->f == f) {
            if (working[i]->busy)
                busy = true;
            else
                working[i]->f = NULL;
        }
    return busy;
}

void cumu_jit_cancel(struct cumu_func *f)
{
    pthread_mutex_lock(&lock);
    while (call_off(f))
        pthread_cond_wait(&idle, &lock);
    cumu_missed_gone(f, spent);
    pthread_mutex_unlock(&lock);
}

/* ---- launches -------------------------------------------------------------------------------- */

static struct job *new_job(struct cumu_func *f, struct func_inst *i, enum t1_shape shape)
{
    size_t size = strlen(f->name) + 1;
    struct job *j = calloc(1, sizeof *j + size);
    if (!j)
        return NULL;
    j->f = f;
    j->inst = i;
    j->ctx = atomic_load(&i->ctx);
    j->shape = shape;
    memcpy(j->name, f->name, size);
    return j;
}

MUfunction cumu_jit_consider(struct cumu_func *f, struct func_inst *i, enum t1_shape shape)
{
    enum mode m = mode();
    unsigned char state = atomic_load(&i->jit[shape]);
    if (m == OFF) {
        atomic_store(&i->jit[shape], CUMU_JIT_SETTLED);
        return i->function;
    }
    const bool again = state == CUMU_JIT_ABSENT;
    if (state == CUMU_JIT_ASKED || state == CUMU_JIT_WATCHED ||
        !atomic_compare_exchange_strong(&i->jit[shape], &state, again ? CUMU_JIT_WATCHED : CUMU_JIT_ASKED))
        return i->function;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start_once);
    struct job *j = new_job(f, i, shape);
    if (j) {
        j->compile = m == WAIT;
        j->again = again;
        j->worth = atomic_load(&i->worth[shape]);
    }
    if (j && m == WAIT) {
        int mode_before = cumu_capture_relax();
        work(j);
        cumu_capture_restore(mode_before);
        free_job(j);
    } else if (!j || !enqueue(j)) {
        free(j);
        atomic_store(&i->jit[shape], CUMU_JIT_SETTLED);
    }
    MUfunction fast = atomic_load_explicit(&i->fast[shape], memory_order_acquire);
    return fast ? fast : i->function;
}
