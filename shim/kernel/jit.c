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
#include "kernel/job.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config.h"
#include "core/resolve.h"
#include "kernel/device.h"
#include "kernel/graph.h"
#include "kernel/missed.h"
#include "compile/progress.h"

enum {
    MAX_THREADS = 3, /* that look and load; one of them, or two where there are CPUs enough, may compile */
    EXIT_MS = 1000,  /* that a process may wait at its end for what is being compiled */
    MAX_TRIES = 4,   /* doublings of that, for what earlier processes began in vain */
    LOOK_MS = 50,    /* after which a kernel in the interpreter is looked at again */
    LOOKS = 100      /* at one that does not begin */
};

struct jit cumu_jit = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct list {
    struct job *first, **end;
} queue = {NULL, &queue.first}, later = {NULL, &later.first}; /* to look for; for another look, the first due first */
static struct job *ready;                                     /* to compile, in no order */
static struct job *working[MAX_THREADS];
static unsigned threads, sleeping, compiling;
static unsigned compilers;         /* that may run at once; from the first job on */
static unsigned waiting, finished; /* jobs that are queued or ready; that threads have done */
static pid_t owner;                /* the process that has the threads: not a child that it forks */

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
static uint64_t heat(const struct job *j)
{
    return j->f ? j->before + (cumu_jit.spent ? cumu_jit.spent(j->inst->function) : 0) : 0;
}

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
        } else if (j->f && cumu_jit.under_way && cumu_jit.under_way(j->inst->function) &&
                   (j->looks++ < LOOKS || heat(j) > j->before)) {
            postpone(j);
        } else {
            if (j->f) {
                atomic_store(&j->inst->worth[j->shape], j->worth > j->before ? j->worth - j->before : 0);
                atomic_store(&j->inst->jit[j->shape], CUMU_JIT_ABSENT);
            }
            cumu_job_free(j);
        }
    }
}

/* What is to be worked on now, or NULL. Lock held. */
static struct job *next_job(void)
{
    if (cumu_jit.leaving)
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
        cumu_job_free(j);
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
    if (dladdr((void *)&cumu_jit.lock, &info) && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* A background compiler thread. It runs at a low priority and captures nothing of anybody's; it makes its first
 * driver calls before it takes any job, for the reason below. */
/* Calls of files and signals are libcumu-nodes' where it is preloaded, and each looks the C library's up when it is
 * first called, by the dynamic linker's lock: before there is a job that who unloads a module may wait for. */
static void call_once(void)
{
    volatile int as_folder = O_RDONLY | O_DIRECTORY | O_CLOEXEC; /* volatile: __open_2 where calls are fortified */
    const int fd[] = {open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), open("/", as_folder),
                      openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    for (unsigned i = 0; i < sizeof fd / sizeof *fd; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    struct stat st;
    (void)stat("/", &st);
    (void)lstat("/", &st);
    (void)fstatat(AT_FDCWD, "/", &st, 0);
    (void)access("/", F_OK);
    DIR *d = opendir("/");
    if (d) {
        (void)readdir(d);
        rewinddir(d);
        closedir(d);
    }
    FILE *f = fopen("/", "re");
    if (f)
        (void)fclose(f);
    (void)signal(0, SIG_DFL); /* there is no such signal */
}

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
    call_once();
    pthread_mutex_lock(&cumu_jit.lock);
    if (threads == 1)
        cumu_missed_read();
    for (;;) {
        struct job *j;
        while (!(j = next_job())) {
            sleeping++;
            if (later.first && !cumu_jit.leaving)
                (void)pthread_cond_timedwait(&more, &cumu_jit.lock, &later.first->due);
            else
                pthread_cond_wait(&more, &cumu_jit.lock);
            sleeping--;
        }
        const bool compiles = j->compile;
        *mine = j;
        compiling += compiles;
        pthread_mutex_unlock(&cumu_jit.lock);
        cumu_job_work(j);
        pthread_mutex_lock(&cumu_jit.lock);
        *mine = NULL;
        compiling -= compiles;
        put_away(j);
        cumu_progress(++finished, cumu_jit.leaving ? 0 : waiting);
        pthread_cond_broadcast(&cumu_jit.idle);
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
    pthread_mutex_lock(&cumu_jit.lock);
    cumu_jit.leaving = true;
    cumu_progress(finished, 0);
    for (unsigned i = 0; i < MAX_THREADS; i++)
        for (struct job *j; (j = working[i]) && j->compile;) {
            if ((j->lengthy && j->tries < 2) ||
                pthread_cond_timedwait(&cumu_jit.idle, &cumu_jit.lock,
                                       &end[j->tries < MAX_TRIES ? j->tries : MAX_TRIES]) != 0)
                break;
        }
    cumu_missed_leave(cumu_jit.spent);
    unsigned never = waiting;
    pthread_mutex_unlock(&cumu_jit.lock);
    cumu_info("jit", "all", "%u kernels compiled in %.1f s, %u from the cache, %u stay on tier 0, %u not begun",
              atomic_load(&cumu_jit.compiled), atomic_load(&cumu_jit.total_ms) / 1e3, atomic_load(&cumu_jit.cached),
              atomic_load(&cumu_jit.refused), never);
}

static void start_once(void)
{
    stay_loaded();
    *(void **)&cumu_jit.take_over = cumu_below("musa", T1_TAKE_OVER);
    *(void **)&cumu_jit.under_way = cumu_below("musa", T1_UNDER_WAY);
    *(void **)&cumu_jit.spent = cumu_below("musa", T1_SPENT);
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
    pthread_mutex_lock(&cumu_jit.lock);
    bool served = threads > 0;
    if (!sleeping && threads < compilers + 1)
        served |= start_thread();
    if (served) {
        if (j->again) {
            postpone(j);
        } else if (cumu_jit_mode() == JIT_EAGER) {
            make_ready(j);
        } else {
            push(&queue, j);
            waiting++;
        }
        pthread_cond_signal(&more);
    }
    pthread_mutex_unlock(&cumu_jit.lock);
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
            cumu_job_free(j);
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
    pthread_mutex_lock(&cumu_jit.lock);
    while (call_off(f))
        pthread_cond_wait(&cumu_jit.idle, &cumu_jit.lock);
    cumu_missed_gone(f, cumu_jit.spent);
    pthread_mutex_unlock(&cumu_jit.lock);
}

/* ---- launches -------------------------------------------------------------------------------- */

MUfunction cumu_jit_consider(struct cumu_func *f, struct func_inst *i, enum t1_shape shape)
{
    enum jit_mode m = cumu_jit_mode();
    unsigned char state = atomic_load(&i->jit[shape]);
    if (m == JIT_OFF) {
        atomic_store(&i->jit[shape], CUMU_JIT_SETTLED);
        return i->function;
    }
    const bool again = state == CUMU_JIT_ABSENT;
    if (state == CUMU_JIT_ASKED || state == CUMU_JIT_WATCHED ||
        !atomic_compare_exchange_strong(&i->jit[shape], &state, again ? CUMU_JIT_WATCHED : CUMU_JIT_ASKED))
        return i->function;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start_once);
    struct job *j = cumu_job_new(f, i, shape);
    if (j) {
        j->compile = m == JIT_WAIT;
        j->again = again;
        j->worth = atomic_load(&i->worth[shape]);
    }
    if (j && m == JIT_WAIT) {
        int mode_before = cumu_capture_relax();
        cumu_job_work(j);
        cumu_capture_restore(mode_before);
        cumu_job_free(j);
    } else if (!j || !enqueue(j)) {
        free(j);
        atomic_store(&i->jit[shape], CUMU_JIT_SETTLED);
    }
    MUfunction fast = atomic_load_explicit(&i->fast[shape], memory_order_acquire);
    return fast ? fast : i->function;
}
