/* Tier 1 execution: runs a block by its object. A fault leaves the object by a jump; the block is then
 * run again on tier 0, which knows the thread, the instruction and its line. */
#undef _FORTIFY_SOURCE /* its longjmp takes a jump from a fibre's stack for an error */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ptx/tier1/exec/object.h"

/* ---- a worker's memory ----------------------------------------------------------------------- */

enum { PAGE = 4096, STACK_LEAST = 65536 };
/* Shared addresses are 32 bits, and objects do not check them: whether they take them as signed or as
 * unsigned, all of them stay in this range, which has the arena at SHARED_BELOW. */
#define SHARED_BELOW (((size_t)2 << 30) + 65536)
#define SHARED_RANGE (SHARED_BELOW + ((size_t)4 << 30) + 65536)

static uint8_t *reserve(size_t size, int access)
{
    void *p = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void release(uint8_t **p, size_t *size)
{
    if (*p)
        munmap(*p, *size);
    *p = NULL;
    *size = 0;
}

static bool shared_room(struct t1_worker *t, size_t want)
{
    want = (want + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (!t->block.shared) {
        uint8_t *range = reserve(SHARED_RANGE, PROT_NONE);
        if (!range)
            return false;
        t->block.shared = range + SHARED_BELOW;
    }
    if (want > t->shared_room) {
        if (mprotect(t->block.shared, want, PROT_READ | PROT_WRITE))
            return false;
        t->shared_room = want;
    }
    return true;
}

static bool local_room(struct t1_worker *t, size_t want)
{
    if (want <= t->local_room)
        return true;
    release(&t->block.local, &t->local_room);
    t->block.local = reserve(want, PROT_READ | PROT_WRITE);
    t->local_room = t->block.local ? want : 0;
    return t->block.local != NULL;
}

/* The lowest page of every stack is closed: what runs over its end faults. */
static bool stack_room(struct t1_worker *t, uint32_t warps, uint64_t each)
{
    each = (each < STACK_LEAST ? STACK_LEAST : each) + PAGE;
    each = (each + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (each <= t->block.stack_size && warps * t->block.stack_size <= t->stack_room)
        return true;
    if (each < t->block.stack_size)
        each = t->block.stack_size;
    release(&t->block.stacks, &t->stack_room);
    t->block.stacks = reserve(T0_MAX_WARPS * each, PROT_READ | PROT_WRITE);
    if (!t->block.stacks)
        return false;
    t->stack_room = T0_MAX_WARPS * each;
    t->block.stack_size = each;
    for (uint32_t k = 0; k < T0_MAX_WARPS; k++)
        if (mprotect(t->block.stacks + k * each, PAGE, PROT_NONE))
            return false;
    return true;
}

static void free_worker(struct t1_worker *t)
{
    if (t->block.shared)
        munmap(t->block.shared - SHARED_BELOW, SHARED_RANGE);
    release(&t->block.local, &t->local_room);
    release(&t->block.stacks, &t->stack_room);
    free(t);
}

/* ---- services -------------------------------------------------------------------------------- */

static struct t1_worker *worker_of(struct t1_block *b)
{
    return b->worker;
}

static _Noreturn void raise_fault(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane,
                                  const char *text)
{
    struct t1_worker *t = worker_of(b);
    const uint32_t *n = b->ntid;
    uint32_t thread = warp * T0_LANES + lane;
    t->fault.kind = (enum t0_fault_kind)kind;
    t->fault.thread[0] = thread % n[0];
    t->fault.thread[1] = thread / n[0] % n[1];
    t->fault.thread[2] = thread / n[0] / n[1];
    snprintf(t->fault.text, sizeof t->fault.text, "%s", text ? text : "");
    siglongjmp(t->owner->out, 1);
}

static void serve_fault(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane,
                        const char *text)
{
    raise_fault(b, kind, warp, lane, text);
}

static void serve_assert(struct t1_block *b, const char *message, const char *file, uint32_t line,
                         const char *function, uint32_t warp, uint32_t lane)
{
    char text[160];
    snprintf(text, sizeof text, "%.40s:%u: %.40s: Assertion `%.60s` failed.", file ? file : "", line,
             function ? function : "", message ? message : "");
    raise_fault(b, T0_FAULT_ASSERT, warp, lane, text);
}

static int32_t serve_print(struct t1_block *b, const char *format, const uint8_t *args)
{
    return t0_printf(worker_of(b)->grid->env, format, args);
}

static void *serve_malloc(struct t1_block *b, uint64_t size)
{
    const struct t0_env *env = worker_of(b)->grid->env;
    return env->dev_malloc(env->ctx, size);
}

static void serve_free(struct t1_block *b, void *p)
{
    const struct t0_env *env = worker_of(b)->grid->env;
    if (p)
        env->dev_free(env->ctx, p);
}

static bool serve_stopped(struct t1_block *b)
{
    const _Atomic bool *stop = worker_of(b)->grid->stop;
    return stop && *stop;
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t serve_clock(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

static uint64_t serve_timer(void)
{
    return nanoseconds(CLOCK_REALTIME);
}

static const struct t1_services services = {
    .fault = serve_fault, .print = serve_print, .dev_malloc = serve_malloc, .dev_free = serve_free,
    .assert_fail = serve_assert, .stopped = serve_stopped, .clock = serve_clock,
    .globaltimer = serve_timer, .alu = t1_service_alu,
};

/* ---- a block --------------------------------------------------------------------------------- */

static struct t1_worker *worker(struct t0_worker *w)
{
    struct t1_worker *t = w->tier1;
    if (!t && (t = calloc(1, sizeof *t))) {
        t->owner = w;
        t->block.worker = t;
        t->block.services = &services;
        w->tier1_free = free_worker;
        w->tier1 = t;
    }
    return t;
}

/* What stays the same for all blocks of a launch. */
static bool prepare(struct t1_worker *t, const struct t1_object *o, const struct t0_grid *g)
{
    const struct t0_kernel_rec *rec = g->kernel->rec;
    struct t1_block *b = &t->block;
    t->last_serial = 0;
    b->params = g->params;
    b->externs = o->externs;
    memcpy(b->nctaid, g->grid, sizeof b->nctaid);
    memcpy(b->ntid, g->block, sizeof b->ntid);
    b->nthreads = g->block[0] * g->block[1] * g->block[2];
    b->nwarps = (b->nthreads + T0_LANES - 1) / T0_LANES;
    b->dynamic_shared = g->dynamic_shared;
    b->shared_size = rec->dynamic_offset + g->dynamic_shared;
    b->smid = t->owner->smid;
    b->nsm = g->nsm;
    b->grid_id = g->grid_id;
    b->envreg12 = g->envreg12;
    b->local_stride = rec->local_size ? rec->local_size + 64 : 0;
    if (!shared_room(t, (size_t)b->shared_size + 64) ||
        !local_room(t, b->local_stride * b->nwarps * T0_LANES) ||
        (o->info->barriers && !stack_room(t, b->nwarps, o->info->stack_size)))
        return false;
    t->last = *g;
    t->last_serial = o->serial;
    return true;
}

static bool prepared(const struct t1_worker *t, const struct t1_object *o, const struct t0_grid *g)
{
    return t->last_serial == o->serial && !memcmp(&t->last, g, sizeof *g);
}

static void no_print(void *ctx, const char *text, size_t len)
{
    (void)ctx, (void)text, (void)len;
}

/* Tier 0 names the thread and the instruction. Where it runs on instead of failing (the first run has
 * changed what the block reads), what tier 1 knows is reported. Blocks that only spin give up at once:
 * the second run ends where the first did. */
static void find_fault(struct t0_worker *w, const struct t0_grid *g, uint64_t block,
                       struct t0_fault *fault)
{
    static const _Atomic bool stop = true;
    struct t0_env quiet = *g->env;
    struct t0_grid again = *g;
    struct t0_fault found;
    quiet.print = no_print;
    again.env = &quiet;
    again.stop = &stop;
    if (t0_block_run(w, &again, block, &found) != T0_OK && found.kind != T0_STOPPED &&
        found.kind != T0_FAULT_NOMEM)
        *fault = found;
}

static void start(struct t1_block *b, uint64_t block)
{
    if (block <= UINT32_MAX && b->nctaid[1] == 1 && b->nctaid[2] == 1) {
        b->ctaid[0] = (uint32_t)block;
        b->ctaid[1] = b->ctaid[2] = 0;
        return;
    }
    uint64_t rest = block / b->nctaid[0];
    b->ctaid[0] = (uint32_t)(block % b->nctaid[0]);
    b->ctaid[1] = (uint32_t)(rest % b->nctaid[1]);
    b->ctaid[2] = (uint32_t)(rest / b->nctaid[1]);
}

/* The fault as far as the object's run tells it. */
static void fault_of_signal(struct t1_worker *t)
{
    struct t0_worker *w = t->owner;
    struct t0_fault *f = &t->fault;
    uint64_t in_shared = w->fault_address - (uint64_t)(uintptr_t)t->block.shared;
    uint64_t in_stacks = w->fault_address - (uint64_t)(uintptr_t)t->block.stacks;
    sigset_t set; /* out of a signal handler: its signals are still blocked */
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    f->kind = w->kind;
    f->address = w->fault_address;
    if (in_shared + SHARED_BELOW < SHARED_RANGE) {
        f->kind = T0_FAULT_SHARED;
        f->address = (uint32_t)in_shared;
    } else if (in_stacks < t->stack_room) {
        f->kind = T0_FAULT_STACK;
    }
    snprintf(f->text, sizeof f->text, "some thread of the block");
}

/* True, or false after a fault, which t->fault then holds. t->at is the block it came to. */
static bool __attribute__((noinline)) run(struct t1_worker *t, const struct t1_object *o,
                                          uint64_t end)
{
    struct t0_worker *w = t->owner;
    const unsigned fp = t0_fp_enter();
    w->warp = NULL;
    int how = sigsetjmp(w->out, 0);
    if (!how) {
        w->in_object = true;
        for (; t->at < end; t->at++) {
            start(&t->block, t->at);
            o->run(&t->block);
        }
    }
    w->in_object = false;
    t0_fp_leave(fp);
    if (how == 2)
        fault_of_signal(t);
    return !how;
}

enum t0_fault_kind t1_blocks_run(struct t0_worker *w, const struct t1_object *o,
                                 const struct t0_grid *g, uint64_t first, uint64_t count,
                                 struct t0_fault *fault)
{
    struct t1_worker *t = worker(w);
    if (!t || (!prepared(t, o, g) && !prepare(t, o, g))) { /* no memory: tier 0 needs less */
        enum t0_fault_kind kind = T0_OK;
        for (uint64_t k = first; kind == T0_OK && k < first + count; k++)
            kind = t0_block_run(w, g, k, fault);
        return kind;
    }
    t->grid = g;
    t->at = first;
    if (run(t, o, first + count))
        return T0_OK;
    if (t->fault.kind == T0_STOPPED) {
        fault->kind = T0_STOPPED;
        return T0_STOPPED;
    }
    *fault = t->fault;
    fault->kernel = T0_AT(g->kernel->module->image, strings, char) + g->kernel->rec->name;
    memcpy(fault->block, t->block.ctaid, sizeof fault->block);
    memset(&t->fault, 0, sizeof t->fault);
    find_fault(w, g, t->at, fault);
    return fault->kind;
}

enum t0_fault_kind t1_block_run(struct t0_worker *w, const struct t1_object *o,
                                const struct t0_grid *g, uint64_t block, struct t0_fault *fault)
{
    return t1_blocks_run(w, o, g, block, 1, fault);
}
