/* Tier 1 execution: runs a block by its object. A fault leaves the object by a jump; the block is then
 * run again on tier 0, which knows the thread, the instruction and its line. */
#undef _FORTIFY_SOURCE /* its longjmp takes a jump from a fibre's stack for an error */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/tier1/exec/object.h"

enum { /* turns of spin loops, less one, until a block yields */
       PATIENCE = 1023,
       LITTLE = 3 /* where other blocks of the thread are under way: they are most likely what it waits for */
};

/* ---- services -------------------------------------------------------------------------------- */

static struct t1_worker *worker_of(struct t1_block *b) { return b->worker; }

void t1_thread_at(const struct t1_block *b, uint32_t linear, uint32_t out[3])
{
    const uint32_t *n = b->ntid;
    out[0] = linear % n[0];
    out[1] = linear / n[0] % n[1];
    out[2] = linear / n[0] / n[1];
}

_Noreturn void t1_raise(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane, const char *text)
{
    struct t1_worker *t = worker_of(b);
    t->fault.kind = (enum t0_fault_kind)kind;
    t1_thread_at(b, warp * LIR_LANES + lane, t->fault.thread);
    snprintf(t->fault.text, sizeof t->fault.text, "%s", text ? text : "");
    siglongjmp(t->owner->out, 1);
}

static void serve_fault(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane, const char *text)
{
    t1_raise(b, kind, warp, lane, text);
}

static void serve_assert(struct t1_block *b, const char *message, const char *file, uint32_t line, const char *function,
                         uint32_t warp, uint32_t lane)
{
    char text[T0_FAULT_TEXT];
    uint32_t thread[3];
    t0_assertion_text(text, message, file, line, function);
    t1_thread_at(b, warp * LIR_LANES + lane, thread);
    if (!t0_assertion(worker_of(b)->grid, b->ctaid, thread, text))
        t1_raise(b, T0_FAULT_ASSERT, warp, lane, text);
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
        (void)env->dev_free(env->ctx, p);
}

static uint64_t serve_device(struct t1_block *b, uint32_t thread, uint32_t call, const uint64_t *args)
{
    return t0_device_call(worker_of(b)->grid, b->ctaid, thread, call, args);
}

bool t1_stopped(const struct t1_worker *t)
{
    return t0_grid_stopped(t->grid) || t0_waits_in_vain(t->grid, &t->owner->waiting);
}

static bool serve_stopped(struct t1_block *b)
{
    const struct t1_worker *t = worker_of(b);
    const uint32_t *at = b->ctaid, *n = b->nctaid;
    struct t0_rest rest = {at[0] + (uint64_t)n[0] * (at[1] + (uint64_t)n[1] * at[2]) + 1, b->left};
    if (t->grid->yield) {
        b->patience = t->grid->yield(&rest) || t->grid->cooperative ? LITTLE : PATIENCE;
        b->left = rest.count;
    }
    return t1_stopped(t);
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t serve_clock(void) { return nanoseconds(CLOCK_MONOTONIC); }

static uint64_t serve_timer(void) { return nanoseconds(CLOCK_REALTIME); }

static bool serve_parameter(struct t1_block *b, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)b->params < worker_of(b)->grid->kernel->rec->param_size;
}

#define SERVICES(ask) \
    { \
        .fault = serve_fault, .print = serve_print, .dev_malloc = serve_malloc, .dev_free = serve_free, \
        .assert_fail = serve_assert, .stopped = ask, .clock = serve_clock, .globaltimer = serve_timer, \
        .constant = t0_constant, .parameter = serve_parameter, .alu = t1_service_alu, .exec = t1_service_exec, \
        .watch = t1_service_watch, .device = serve_device, .reads = t1_service_reads, .race = t1_service_race, \
        .gather = t1_service_gather, .met = t1_service_met \
    }
static const struct t1_services usual_services = SERVICES(serve_stopped);
const struct t1_services t1_resident_services = SERVICES(t1_resident_stopped);

/* ---- a block --------------------------------------------------------------------------------- */

static void free_worker(struct t1_worker *t)
{
    t1_resident_free(t);
    t1_room_free(&t->room);
    free(t->stand_in);
    t1_race_free(t);
    free(t->ranges);
    free(t);
}

struct t1_worker *t1_worker_of(struct t0_worker *w)
{
    struct t1_worker *t = w->tier1;
    if (!t && (t = calloc(1, sizeof *t))) {
        t->owner = w;
        t->room.block.worker = t;
        t->room.block.services = &usual_services;
        w->tier1_free = free_worker;
        w->tier1 = t;
    }
    return t;
}

static bool prepared(struct t1_worker *t, const struct t1_object *o, const struct t0_grid *g)
{
    if (t->last_serial == o->serial && !memcmp(&t->last, g, sizeof *g))
        return true;
    t->last_serial = 0;
    if (!t1_room_prepare(&t->room, o, g, t->owner->smid, NULL) ||
        (o->info->watched == T1_EMIT_WATCHED && !t1_watch_prepare(t, g)) ||
        (o->info->watched == T1_EMIT_RACED && !t1_race_prepare(t, g)))
        return false;
    t->last = *g;
    t->last_serial = o->serial;
    return true;
}

static void no_print(void *ctx, const char *text, size_t len) { (void)ctx, (void)text, (void)len; }

/* Tier 0 names the thread and the instruction. Where it runs on instead of failing (the first run has
 * changed what the block reads), what tier 1 knows is reported. Blocks that only spin give up at once:
 * the second run ends where the first did. */
void t1_find_fault(struct t0_worker *w, const struct t0_grid *g, uint64_t block, struct t0_fault *fault)
{
    static const _Atomic bool stop = true;
    struct t0_env quiet = *g->env;
    struct t0_grid again = *g;
    struct t0_fault found;
    quiet.print = no_print;
    again.env = &quiet;
    again.stop = &stop;
    again.asserted = NULL;
    again.yield = NULL;
    again.cancel = NULL;                      /* what the block had taken over is not done again */
    const uint32_t size = t0_cluster_size(g); /* blocks of a cluster need each other */
    if (t0_blocks_run_resident(w, &again, block - block % size, size, &found) != T0_OK && found.kind != T0_STOPPED &&
        found.kind != T0_FAULT_NOMEM)
        *fault = found;
}

/* The fault as far as the object's run tells it. */
static void fault_of_signal(struct t1_worker *t)
{
    struct t0_worker *w = t->owner;
    struct t0_fault *f = &t->fault;
    uint64_t in_shared = w->fault_address - (uint64_t)(uintptr_t)t->now->block.shared;
    uint64_t in_stacks = w->fault_address - (uint64_t)(uintptr_t)t->now->block.stacks;
    sigset_t set; /* out of a signal handler: its signals are still blocked */
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    f->kind = w->kind;
    f->address = w->fault_address;
    if (in_shared + T1_SHARED_BELOW < T1_SHARED_RANGE || t0_arena_holds(w, (void *)(uintptr_t)w->fault_address)) {
        f->kind = T0_FAULT_SHARED;
        f->address = (uint32_t)in_shared;
    } else if (in_stacks < t->now->stack_room) {
        f->kind = T0_FAULT_STACK;
    }
    snprintf(f->text, sizeof f->text, "some thread of the block");
}

bool __attribute__((noinline)) t1_guarded(struct t1_worker *t, void (*body)(void *), void *arg)
{
    struct t0_worker *w = t->owner;
    const unsigned fp = t0_fp_enter();
    w->warp = NULL;
    int how = sigsetjmp(w->out, 0);
    if (!how) {
        w->in_object = true;
        body(arg);
    }
    w->in_object = false;
    if (how)
        t->last_serial = 0; /* its stacks are as the fault left them */
    t0_fp_leave(fp);
    if (how == 2)
        fault_of_signal(t);
    else if (how && !t->fault.kind) /* a handler of tier 0 found it */
        t->fault = (struct t0_fault){.kind = w->kind, .address = w->fault_address};
    return !how;
}

enum t0_fault_kind t1_fault_tell(struct t1_worker *t, const struct t0_grid *g, struct t0_fault *fault)
{
    if (t->fault.kind == T0_STOPPED) {
        t->fault.kind = T0_OK;
        fault->kind = T0_STOPPED;
        return T0_STOPPED;
    }
    *fault = t->fault;
    fault->kernel = LIR_AT(g->kernel->module->image, strings, char) + g->kernel->rec->name;
    memcpy(fault->block, t->now->block.ctaid, sizeof fault->block);
    memset(&t->fault, 0, sizeof t->fault);
    if (g->watch)
        return t1_watch_again(t, g, fault) ? T0_OK : fault->kind;
    t1_find_fault(t->owner, g, t0_block_number(g, t->now->block.ctaid), fault);
    return fault->kind;
}

struct blocks { /* of an ordinary launch */
    struct t1_worker *t;
    const struct t1_object *o;
    uint64_t count;
};

static void run_blocks(void *arg)
{
    const struct blocks *b = arg;
    b->o->run(&b->t->room.block, b->count);
}

/* Blocks behind the one that has just left by a fault. */
static uint64_t behind(const struct t1_worker *t, const struct t1_object *o, const struct t0_grid *g, uint64_t end)
{
    return o->info->barriers ? t->room.block.left : end - 1 - t0_block_number(g, t->room.block.ctaid);
}

enum t0_fault_kind t1_blocks_run(struct t0_worker *w, const struct t1_object *o, const struct t0_grid *g,
                                 uint64_t first, uint64_t count, struct t0_fault *fault)
{
    struct t1_worker *t = t1_worker_of(w);
    enum t0_fault_kind kind = T0_OK;
    while (count && kind == T0_OK) {
        if (!t || !prepared(t, o, g)) { /* no memory: tier 0 needs less */
            for (uint64_t k = first; kind == T0_OK && k < first + count; k++)
                kind = t0_block_run(w, g, k, fault);
            return kind;
        }
        struct blocks blocks = {t, o, count};
        t->grid = g;
        t->now = &t->room;
        t->race_begun = false;
        t->room.block.patience = w->crowded || g->cooperative ? LITTLE : PATIENCE;
        t1_room_start(&t->room, g, first);
        if (t1_guarded(t, run_blocks, &blocks))
            return T0_OK;
        const uint64_t end = first + count, rest = behind(t, o, g, end);
        kind = t1_fault_tell(t, g, fault); /* OK: of a watched launch, which goes on */
        first = end - rest;
        count = rest;
    }
    return kind;
}

enum t0_fault_kind t1_block_run(struct t0_worker *w, const struct t1_object *o, const struct t0_grid *g, uint64_t block,
                                struct t0_fault *fault)
{
    return t1_blocks_run(w, o, g, block, 1, fault);
}
