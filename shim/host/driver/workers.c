/* The worker pool: blocks of running grids are spread over the CPUs. The thread that launches takes
 * part itself; idle workers are handed to a grid when it starts, and go on to others when it has no
 * block left. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/strands.h"

#define MAX_WORKERS 512 /* threads, if CUMU_HOST_THREADS asks for so many */
#define MAX_SPARE 16    /* interpreters of threads that are gone, with their memory */
#define ROUNDS 32       /* of waiting until a thread has more than its share under way */
#define TURNS 16        /* of waiting until another thread may have the CPU: on a busy machine that takes long */
#define BATCH_NS 4000   /* what a batch should take: much more than handing it out */

struct job {
    const struct t0_grid *grid;
    MUfunction f;
    const struct t1_object *object; /* NULL: none when it began; blocks begun later may find one */
    uint64_t batch;                 /* blocks handed out at a time; in a row, so that the lowest unfinished one
                              always runs and those that wait for lower ones come to an end */
    uint64_t count;                 /* of all blocks */
    _Atomic uint64_t next;          /* the next to hand out, so blocks start in ascending order */
    uint64_t threads;               /* that were to work on it when it began */
    _Atomic uint64_t beside;        /* blocks under way beside the first of each thread */
    _Atomic bool failed;            /* read by t0 as grid->stop: blocks that wait for a failed one give up */
    struct t0_fault fault;          /* of the lowest block that failed (pool lock) */
    struct job *link;               /* list of jobs that still want help */
    unsigned helpers;               /* workers called or inside (pool lock) */
    struct idler *called;           /* those that have not woken up yet (pool lock) */
    pthread_cond_t left;            /* no helper any more */
};

struct idler { /* a worker thread; waiting in the idle list, then in its job's list of called ones */
    struct idler *link;
    struct job *job;
    pthread_cond_t wake;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *jobs;
static struct idler *idle;
static unsigned started;          /* worker threads that exist */
static _Atomic unsigned arrivals; /* jobs ever: a worker between two blocks sees that one came */
static _Atomic unsigned smids;

/* ---- a thread's worker ----------------------------------------------------------------------- */

/* Threads of ours keep a worker; the application's, which run brief grids, borrow one of the spare. */
static _Thread_local struct t0_worker *mine;
static _Atomic(struct t0_worker *) last_given; /* the first of them to be taken, without the lock */
static struct t0_worker *spare[MAX_SPARE];     /* all below: lock */
static unsigned spares;

struct t0_worker *host_worker_new(void)
{
    unsigned threads = (unsigned)host_config()->threads;
    return t0_worker_new(smids++ % (threads ? threads : 1));
}

bool host_worker_keep(void)
{
    if (!mine)
        mine = host_worker_new();
    host_fault_serve(mine);
    return mine != NULL;
}

static struct t0_worker *take_worker(void)
{
    struct t0_worker *w = mine;
    if (w)
        return w;
    w = atomic_exchange(&last_given, NULL);
    if (!w) {
        pthread_mutex_lock(&lock);
        if (spares)
            w = spare[--spares];
        pthread_mutex_unlock(&lock);
    }
    if (!w)
        w = host_worker_new();
    host_fault_serve(w);
    return w;
}

static void give_worker(struct t0_worker *w)
{
    if (!w || w == mine)
        return;
    host_fault_serve(NULL);
    struct t0_worker *none = NULL;
    if (atomic_compare_exchange_strong(&last_given, &none, w))
        return;
    pthread_mutex_lock(&lock);
    if (spares < MAX_SPARE) {
        spare[spares++] = w;
        w = NULL;
    }
    pthread_mutex_unlock(&lock);
    t0_worker_free(w);
}

/* ---- running blocks -------------------------------------------------------------------------- */

static bool lower(const uint32_t a[3], const uint32_t b[3])
{
    for (int i = 2; i >= 0; i--)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* Where many blocks fail, the lowest is reported, so that runs are alike. One that gave up is none. */
static void job_fail(struct job *j, const struct t0_fault *fault)
{
    if (fault->kind == T0_STOPPED)
        return;
    pthread_mutex_lock(&lock);
    if (!j->failed || lower(fault->block, j->fault.block))
        j->fault = *fault;
    j->failed = true;
    pthread_mutex_unlock(&lock);
}

/* ---- one thread's part --------------------------------------------------------------------- */

/* A thread has one block, or one cluster, under way until that has waited for long. Then it begins a second, and
 * whenever all that it has under way only wait, as many again: at once up to its share of those that occupancy
 * promises to be resident, and beyond that after ROUNDS rounds of waiting, as programs launch fixed numbers of blocks
 * and take it that the device is large enough. */
struct crew {
    struct host_strands strands; /* first: what host_strands_run passes */
    struct job *job;
    struct t0_rest rest; /* blocks of a call of which one waits */
    unsigned waited;     /* strands in a row that only waited */
    unsigned turns;      /* of waiting since another thread has been given the CPU */
    unsigned grow;       /* strands to begin before the turn goes round again */
    unsigned rounds;     /* in which all waited, with the share under way, since the last one began */
    uint64_t share;      /* strands; 0 = not known yet */
    uint64_t most;       /* strands beside the first ones, of all threads */
    unsigned seen;       /* arrivals when it began */
    bool helper;
};
static _Thread_local struct crew *crew;

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void find_limits(struct crew *c)
{
    const struct job *j = c->job;
    const struct t0_grid *g = j->grid;
    const uint32_t size = t0_cluster_size(g), threads = g->block[0] * g->block[1] * g->block[2];
    const uint64_t promised = host_resident(j->f, threads, g->dynamic_shared);
    c->share = (lesser(promised, j->count) / size + j->threads - 1) / j->threads;
    c->share += !c->share;
    c->most = lesser(host_resident_most(j->f, threads, g->dynamic_shared), j->count) / size;
}

/* How many may begin when all that the thread has under way wait. Each time beyond the share is a longer one: a thread
 * that is only late for what the others wait for has few blocks begun in its place. */
static unsigned growth(struct crew *c)
{
    const unsigned count = c->strands.count;
    if (count < c->share)
        return (unsigned)lesser(count, c->share - count);
    if (++c->rounds < ROUNDS)
        return 0;
    c->rounds = 0;
    return count;
}

/* Whether a block may begin beside those that are under way. */
static bool may_begin(const struct crew *c)
{
    const struct job *j = c->job;
    return !j->failed && j->beside < c->most &&
           (c->rest.count || atomic_load_explicit(&j->next, memory_order_relaxed) < j->count);
}

/* The block that runs has waited for long: grid->yield. */
static bool yield(struct t0_rest *rest)
{
    struct crew *c = crew;
    struct job *j = c->job;
    if (!c->rest.count) {
        c->rest = *rest;
        rest->count = 0;
    }
    if (!c->share)
        find_limits(c);
    if (++c->waited >= c->strands.count) { /* everybody waits */
        c->waited = 0;
        c->grow = growth(c);
        c->strands.backward = !c->strands.backward; /* in one of the two a chain of blocks comes to its end at once */
        c->turns += c->strands.count;
        if (c->turns >= TURNS) { /* maybe for another thread */
            c->turns = 0;
            sched_yield();
        }
    }
    if (c->grow && may_begin(c)) {
        c->grow--;
        j->beside++;
        if (host_strands_add(&c->strands))
            return true;
        j->beside--;
    }
    c->grow = 0;
    return host_strands_turn(&c->strands);
}

/* A block takes over a cluster that has not begun: grid->cancel. */
static bool cancel(uint64_t *first)
{
    struct job *j = crew->job;
    const uint32_t size = t0_cluster_size(j->grid);
    if (j->failed || atomic_load_explicit(&j->next, memory_order_relaxed) >= j->count)
        return false;
    *first = atomic_fetch_add_explicit(&j->next, size, memory_order_relaxed);
    return *first < j->count;
}

/* Blocks for the strand that runs; false if none are left. */
static bool next_blocks(struct crew *c, struct t0_rest *out)
{
    struct job *j = c->job;
    if (c->rest.count) {
        *out = (struct t0_rest){c->rest.first++, 1};
        c->rest.count--;
        return true;
    }
    out->first = atomic_fetch_add_explicit(&j->next, j->batch, memory_order_relaxed);
    if (out->first >= j->count)
        return false;
    out->count = j->count - out->first < j->batch ? j->count - out->first : j->batch;
    return true;
}

/* Watched blocks that are resident together, or take over others, stay in the interpreter: one that faults could not be
 * run again alone. So do launches that a filter leaves out, as the objects are those of the others. */
static const struct t1_object *object_of(MUfunction f, const struct t0_grid *g)
{
    return (g->watch || host_config()->check_tools) && (!g->watch || g->cooperative || g->cluster[0] || f->info.cancels)
               ? NULL
               : host_function_object(f, g->block);
}

static enum t0_fault_kind run_batch(struct t0_worker *w, struct job *j, const struct t0_rest *b, struct t0_fault *fault)
{
    const struct t1_object *o = j->object ? j->object : object_of(j->f, j->grid);
    if (t0_cluster_size(j->grid) > 1) /* its blocks are under way together */
        return o ? t1_blocks_run_resident(w, o, j->grid, b->first, b->count, fault)
                 : t0_blocks_run_resident(w, j->grid, b->first, b->count, fault);
    return o ? t1_blocks_run(w, o, j->grid, b->first, b->count, fault) : t0_block_run(w, j->grid, b->first, fault);
}

/* What each strand of a thread does: until the job has no block left; a helper also leaves when another job has
 * arrived. */
static void run_blocks(struct host_strands *s)
{
    struct crew *c = (struct crew *)(void *)s;
    struct job *j = c->job;
    struct t0_rest blocks;
    struct t0_fault fault;
    bool added = s->count > 1;
    while (!j->failed && next_blocks(c, &blocks)) {
        if (run_batch(host_strands_worker(s), j, &blocks, &fault) != T0_OK)
            job_fail(j, &fault);
        c->waited = c->rounds = 0;
        if (added && s->count > c->share)
            break; /* there are more than do the memory good */
        if (s->count > 1)
            (void)host_strands_turn(s); /* what they wait for may have come */
        if (c->helper && c->seen != arrivals && !c->rest.count)
            break;
    }
    j->beside -= added;
}

static void work(struct job *j, bool helper)
{
    struct t0_worker *w = take_worker();
    struct crew c = {.job = j, .helper = helper, .seen = arrivals};
    if (!w) {
        job_fail(j, &(struct t0_fault){.kind = T0_FAULT_NOMEM, .kernel = ""});
        return;
    }
    crew = &c;
    host_strands_run(&c.strands, w, run_blocks);
    crew = NULL;
    give_worker(w);
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool wants_help(const struct job *j)
{
    return !j->failed && atomic_load_explicit(&j->next, memory_order_relaxed) < j->count;
}

static struct job *neediest(void)
{
    struct job *best = NULL;
    for (struct job *j = jobs; j; j = j->link)
        if (wants_help(j) && (!best || j->helpers < best->helpers))
            best = j;
    return best;
}

/* A thread that runs blocks of grids. It helps the grid that needs it most, and sleeps where none does; who wakes it
 * has already chosen its grid, so that no two threads race for the same work. */
static void *worker_thread(void *unused)
{
    (void)unused;
    struct idler self = {.link = NULL};
    host_kernels_thread();
    if (!host_worker_keep())
        return NULL;
    pthread_cond_init(&self.wake, NULL);
    pthread_mutex_lock(&lock);
    for (;;) {
        struct job *j = neediest();
        if (j) {
            j->helpers++;
        } else {
            self.job = NULL;
            self.link = idle;
            idle = &self;
            while (!self.job)
                pthread_cond_wait(&self.wake, &lock);
            j = self.job; /* whoever woke us has counted us and taken us off the idle list */
            struct idler **at = &j->called;
            while (*at != &self)
                at = &(*at)->link;
            *at = self.link;
        }
        pthread_mutex_unlock(&lock);
        work(j, true);
        pthread_mutex_lock(&lock);
        if (!--j->helpers)
            pthread_cond_signal(&j->left);
    }
    return NULL;
}

static void start_workers(void)
{
    int threads = host_config()->threads;
    unsigned want = threads > 1 ? (unsigned)threads - 1 : 0;
    for (want = want < MAX_WORKERS ? want : MAX_WORKERS; started < want; started++)
        if (!host_thread("cumu-worker", worker_thread, NULL))
            break;
}

/* Takes up to n idle workers for j; gives the number. Lock held. */
static unsigned call_helpers(struct job *j, uint64_t n)
{
    unsigned got = 0;
    for (; got < n && idle; got++) {
        struct idler *w = idle;
        idle = w->link;
        w->job = j;
        w->link = j->called;
        j->called = w;
        j->helpers++;
        pthread_cond_signal(&w->wake);
    }
    return got;
}

/* Helpers that never woke up are not waited for: on a busy machine that costs more than the grid. */
static void dismiss(struct job *j)
{
    while (j->called) {
        struct idler *w = j->called;
        j->called = w->link;
        j->helpers--;
        w->job = NULL;
        w->link = idle;
        idle = w;
    }
}

static void leave_list(struct job *j)
{
    struct job **at = &jobs;
    while (*at != j)
        at = &(*at)->link;
    *at = j->link;
}

/* Small blocks go out by the dozen, when there are many of them. */
static uint64_t batch_of(uint64_t blocks, uint32_t block_ns, bool alone)
{
    if (alone)
        return blocks;
    uint64_t share = blocks / (4u * (unsigned)host_config()->threads), by_time;
    if (!block_ns || !share)
        return 1;
    by_time = BATCH_NS / block_ns;
    return by_time < 1 ? 1 : by_time < share ? by_time : share;
}

/* Runs a grid on this thread and as many helpers as its blocks and the CPUs allow; each takes batches of blocks until
 * none is left. The job lies on this stack, so it waits for the helpers to leave it. */
enum t0_fault_kind host_grid_run(struct t0_grid *g, MUfunction f, bool alone, uint32_t block_ns, struct t0_fault *fault)
{
    uint64_t blocks = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2];
    struct job j = {.grid = g, .f = f, .object = object_of(f, g), .count = blocks, .threads = 1};
    uint32_t cluster = t0_cluster_size(g);
    j.batch = cluster > 1                   ? cluster
              : f->info.cancels             ? 1
              : j.object && !g->cooperative ? batch_of(blocks, block_ns, alone)
                                            : 1;
    bool share = blocks > 1 && !alone;
    g->stop = &j.failed;
    g->yield = yield;
    g->cancel = cancel;
    if (share) {
        pthread_cond_init(&j.left, NULL);
        pthread_mutex_lock(&lock);
        start_workers();
        j.threads += call_helpers(&j, blocks - 1);
        arrivals++;
        j.link = jobs;
        jobs = &j;
        pthread_mutex_unlock(&lock);
    }
    work(&j, false);
    if (share) {
        pthread_mutex_lock(&lock);
        leave_list(&j);
        dismiss(&j);
        while (j.helpers)
            pthread_cond_wait(&j.left, &lock);
        pthread_mutex_unlock(&lock);
        pthread_cond_destroy(&j.left);
    }
    if (!j.failed)
        return T0_OK;
    *fault = j.fault;
    return fault->kind;
}
