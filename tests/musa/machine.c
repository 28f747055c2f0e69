/* The machine of machine.h: a fiber for each thread of a block, run in the order of threads until they wait for
 * one another. */
#include "musa/machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include "ptx/tier0/warp.h"
#include "ptx/lir/image.h"
#include "ptx/tier0/texture.h"

enum {
    THREADS = 1024,
    STACK = 256 << 10,
    SHARED = 256 << 10,
    BARRIERS = 17,
    ROUNDS = 1 << 17 /* what spins longer spins for ever */
};
enum state { READY, AT_WARP, AT_BARRIER, GONE };

static struct thread {
    ucontext_t context;
    enum state state;
    int kind; /* of what it waits for */
    unsigned mask, v, lane, id, result;
    const void *site;
    bool started;
} threads[THREADS];
static struct barrier {
    bool used;
    unsigned n, popc, all, any, again, arrived[THREADS / 32]; /* again: of threads that arrived and came once more */
} barriers[BARRIERS];

static struct machine machine;
static ucontext_t scheduler;
static unsigned current, nthread;
static void (*entry_point)(const void *);
static const void *parameters;
static const struct t0_grid *grid;
static struct t0_fault *fault_out;
static int fault_kind;
static uint8_t *stacks, *shared_memory, signal_stack[64 << 10];
static sigjmp_buf on_fault;
static volatile bool in_fiber;

static void leave(void) { swapcontext(&threads[current].context, &scheduler); }

static void start(void)
{
    entry_point(parameters);
    threads[current].state = GONE;
    leave();
}

/* ---- what threads ask for ---- */

static void spin_once(void) { leave(); }

static void end_block(const char *message, const char *file, unsigned line, const char *function)
{
    fault_kind = message ? T0_FAULT_ASSERT : T0_FAULT_TRAP;
    if (message)
        snprintf(fault_out->text, sizeof fault_out->text, "%.40s:%u: %.40s: Assertion `%.40s` failed.", file, line,
                 function, message);
    leave();
}

static unsigned at_warp(int kind, unsigned mask, unsigned v, unsigned lane)
{
    struct thread *t = &threads[current];
    t->state = AT_WARP;
    t->kind = kind;
    t->mask = mask;
    t->v = v;
    t->lane = lane;
    t->site = __builtin_return_address(0);
    leave();
    return threads[current].result;
}

static unsigned dead(unsigned warp)
{
    unsigned bits = 0;
    for (unsigned l = 0; l < 32; l++)
        if (warp * 32 + l >= nthread || threads[warp * 32 + l].state == GONE)
            bits |= 1u << l;
    return bits;
}

static bool complete(const struct barrier *b)
{
    unsigned n = b->again;
    for (unsigned w = 0; w * 32 < nthread; w++) {
        unsigned here = b->arrived[w] | dead(w);
        if (!b->n && ~here)
            return false;
        if (b->arrived[w])
            n += (unsigned)__builtin_popcount(here);
    }
    return n >= b->n;
}

static unsigned result_of(const struct barrier *b, int kind)
{
    return kind == 2 ? b->popc : kind == 3 ? b->all : b->any;
}

static void open_barrier(unsigned id)
{
    struct barrier *b = &barriers[id];
    for (unsigned k = 0; k < nthread; k++)
        if (threads[k].state == AT_BARRIER && threads[k].id == id) {
            threads[k].result = result_of(b, threads[k].kind);
            threads[k].state = READY;
        }
    *b = (struct barrier){0};
}

static unsigned at_barrier(unsigned id, unsigned n, int kind, int pred)
{
    struct thread *t = &threads[current];
    struct barrier *b = &barriers[id % BARRIERS];
    if (!b->used)
        *b = (struct barrier){.used = true, .n = n, .all = 1};
    b->popc += pred != 0;
    b->all &= pred != 0;
    b->any |= pred != 0;
    b->again += b->arrived[current / 32] >> current % 32 & 1;
    b->arrived[current / 32] |= 1u << current % 32;
    if (kind != 1) {
        t->state = AT_BARRIER;
        t->id = id % BARRIERS;
        t->kind = kind;
    }
    if (complete(b))
        open_barrier(id % BARRIERS);
    if (kind == 1)
        return 0;
    leave();
    return threads[current].result;
}

static unsigned round_mode(unsigned mode)
{
    unsigned old = _mm_getcsr();
    _mm_setcsr((old & ~0x6000u) | mode << 13);
    return old >> 13 & 3;
}

static unsigned approximate(int which, unsigned bits)
{
    static const uint16_t op[] = {LIR_RSQRT_F32, LIR_EX2_F32, LIR_LG2_F32, LIR_SIN_F32, LIR_COS_F32, LIR_TANH_F32};
    static _Alignas(64) uint8_t regs[3 * LIR_ROW_MAX];
    static struct {
        struct t0_lanes lanes;
        uint8_t rest[4096];
    } warp = {.lanes = {.regs = regs, .mask = 1}};
    static t0_handler *table[LIR_NOPS];
    if (!table[LIR_EX2_F32])
        t0_alu_handlers(table);
    struct lir_insn i = {.op = op[which], .d = LIR_ROW_MAX, .a = 2 * LIR_ROW_MAX};
    *T0_U32(&warp, i.a) = bits;
    table[i.op]((struct t0_warp *)(void *)&warp, &i);
    return *T0_U32(&warp, i.d);
}

static unsigned long long now(int wall)
{
    struct timespec t;
    clock_gettime(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* ---- textures ---- */

static const struct t0_texture *object(unsigned long long handle, bool surface)
{
    const struct t0_texture *t = (const struct t0_texture *)(uintptr_t)handle;
    if (handle && !(handle & 7) && t->magic == T0_TEXTURE_MAGIC && t->surface == surface)
        return t;
    fault_kind = T0_FAULT_ADDRESS;
    leave();
    return NULL;
}

static void fetch(unsigned long long handle, unsigned form, const unsigned *at, unsigned *out)
{
    const struct t0_texture *t = object(handle, false);
    const unsigned mode = form >> LIR_TEX_MODE_SHIFT & 3;
    struct t0_texture_query q = {
        .geometry = form & LIR_TEX_GEOMETRY, .integer = form & LIR_TEX_INTEGER, .layer = (int32_t)at[LIR_TEX_LAYER]};
    float dx[3], dy[3];
    memcpy(q.f, at, sizeof q.f);
    memcpy(q.i, at, sizeof q.i);
    memcpy(dx, at + LIR_TEX_DX, sizeof dx);
    memcpy(dy, at + LIR_TEX_DY, sizeof dy);
    if (mode == LIR_TEX_LEVEL)
        memcpy(&q.lod, at + LIR_TEX_LOD, sizeof q.lod);
    else if (mode == LIR_TEX_GRAD)
        q.lod = t0_texture_lod(t, q.geometry, dx, dy);
    if (mode == LIR_TEX_GATHER)
        t0_texture_gather(t, &q, form >> LIR_TEX_CHANNEL_SHIFT & 3, out);
    else
        t0_texture_fetch(t, &q, out);
}

static bool fit(int64_t *x, int64_t n, int edge)
{
    if (*x >= 0 && *x < n)
        return true;
    *x = *x < 0 ? 0 : n - 1;
    return edge == LIR_SURF_CLAMP;
}

static void *surface(unsigned long long handle, unsigned geometry, int at_x, int at_y, int at_z, unsigned bytes,
                     int edge)
{
    const struct t0_texture *t = object(handle, true);
    const struct t0_texture_level *s = &t->level[0];
    int64_t x = at_x / (int)bytes, y = at_y, z = at_z;
    const unsigned element = t0_texel_bytes(t->format) * t->channels;
    (void)geometry;
    bool inside = fit(&x, (int64_t)s->width * element / bytes, edge);
    inside &= fit(&y, s->height, edge);
    inside &= fit(&z, s->depth, edge);
    if (at_x % (int)bytes || (!inside && edge == LIR_SURF_TRAP)) {
        fault_kind = at_x % (int)bytes ? T0_FAULT_MISALIGNED : T0_FAULT_ADDRESS;
        leave();
    }
    return inside ? s->data + (uint64_t)z * s->slice + (uint64_t)y * s->pitch + (uint64_t)x * bytes : NULL;
}

static int print(const char *format, const unsigned char *args) { return t0_printf(grid->env, format, args); }
static void *heap_alloc(size_t n) { return grid->env->dev_malloc(grid->env->ctx, n); }
static void heap_free(void *p)
{
    if (p)
        grid->env->dev_free(grid->env->ctx, p);
}

/* ---- scheduling ---- */

static void run_thread(unsigned k)
{
    struct thread *t = &threads[k];
    current = k;
    machine.tid[0] = k % machine.ntid[0];
    machine.tid[1] = k / machine.ntid[0] % machine.ntid[1];
    machine.tid[2] = k / machine.ntid[0] / machine.ntid[1];
    if (!t->started) {
        t->started = true;
        getcontext(&t->context);
        t->context.uc_stack.ss_sp = stacks + (size_t)k * STACK;
        t->context.uc_stack.ss_size = STACK;
        makecontext(&t->context, start, 0);
    }
    in_fiber = true;
    swapcontext(&scheduler, &t->context);
    in_fiber = false;
}

/* Those of the warp that wait at thread k's collective; 0 if one is missing. */
static unsigned gathered(unsigned k)
{
    unsigned base = k & ~31u, who = 0, gone = dead(k / 32);
    const struct thread *t = &threads[k];
    for (unsigned l = 0; l < 32; l++) {
        if (t->kind != 2 && !(t->mask >> l & 1) && base + l != k)
            continue;
        if (gone >> l & 1)
            continue;
        const struct thread *o = &threads[base + l];
        /* lanes of another mask are at another collective */
        bool same = o->state == AT_WARP && o->kind == t->kind &&
                    (t->kind != 2 ? o->mask == t->mask : o->site == t->site);
        if (!same && t->kind != 2)
            return 0;
        who |= (unsigned)same << l;
    }
    return who;
}

static bool release(unsigned k)
{
    unsigned base = k & ~31u, who = gathered(k), bits = 0;
    unsigned value[32] = {0}, from[32] = {0};
    if (!who)
        return false;
    for (unsigned l = 0; l < 32; l++)
        if (who >> l & 1) {
            value[l] = threads[base + l].v;
            from[l] = threads[base + l].lane;
            bits |= (unsigned)(value[l] != 0) << l;
        }
    for (unsigned l = 0; l < 32; l++)
        if (who >> l & 1) {
            struct thread *o = &threads[base + l];
            o->result = o->kind == 0 ? value[from[l] & 31] : o->kind == 1 ? bits : who;
            o->state = READY;
        }
    return true;
}

/* One round over a warp; false if nobody could do anything. */
static bool run_warp(unsigned w)
{
    bool moved = false, ready = true;
    for (unsigned k = 32 * w; k < nthread && k < 32 * w + 32 && !fault_kind; k++)
        if (threads[k].state == READY) {
            run_thread(k);
            moved = true;
        }
    for (unsigned k = 32 * w; k < nthread && k < 32 * w + 32; k++)
        if (threads[k].state == AT_WARP && threads[k].kind != 2)
            moved |= release(k);
    for (unsigned k = 32 * w; k < nthread && k < 32 * w + 32; k++)
        ready &= threads[k].state != READY;
    for (unsigned k = 32 * w; ready && k < nthread && k < 32 * w + 32; k++)
        if (threads[k].state == AT_WARP && threads[k].kind == 2)
            return release(k);
    return moved;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (!in_fiber) {
        signal(sig, SIG_DFL);
        return;
    }
    fault_kind = T0_FAULT_ADDRESS;
    fault_out->address = (uint64_t)(uintptr_t)info->si_addr;
    siglongjmp(on_fault, 1);
}

static void run_block(void)
{
    bool moved = true;
    for (unsigned round = 0; moved && !fault_kind && round < ROUNDS; round++) {
        moved = false;
        for (unsigned w = 0; 32 * w < nthread && !fault_kind; w++)
            moved |= run_warp(w);
        for (unsigned id = 0; id < BARRIERS; id++)
            if (barriers[id].used && complete(&barriers[id])) { /* threads that left were missing */
                open_barrier(id);
                moved = true;
            }
    }
    for (unsigned k = 0; k < nthread && !fault_kind; k++)
        if (threads[k].state != GONE)
            fault_kind = T0_FAULT_DEADLOCK;
}

unsigned long machine_shuffles(void) { return machine.shuffles; }

int machine_run(struct machine **where, void (*entry)(const void *), const struct t0_grid *g, uint64_t block,
                uint32_t shared, struct t0_fault *fault)
{
    struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, old_segv, old_bus;
    if (!stacks) {
        stacks = mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        shared_memory = aligned_alloc(4096, SHARED);
        if (stacks == MAP_FAILED || !shared_memory)
            abort();
        for (unsigned k = 0; k < THREADS; k++) /* a stack that grows too far ends in a fault, which needs another */
            mprotect(stacks + (size_t)k * STACK, 4096, PROT_NONE);
        sigaltstack(&(stack_t){.ss_sp = signal_stack, .ss_size = sizeof signal_stack}, NULL);
    }
    grid = g;
    fault_out = fault;
    fault_kind = T0_OK;
    entry_point = entry;
    parameters = g->params;
    nthread = g->block[0] * g->block[1] * g->block[2];
    machine = (struct machine){.shared = shared_memory,
                               .shared_room = SHARED,
                               .dynamic_shared = g->dynamic_shared,
                               .total_shared = shared + g->dynamic_shared,
                               .grid_id = g->grid_id,
                               .envreg12 = g->envreg12,
                               .barrier = at_barrier,
                               .warp = at_warp,
                               .wait = spin_once,
                               .end = end_block,
                               .round = round_mode,
                               .approx = approximate,
                               .clock = now,
                               .print = print,
                               .alloc = heap_alloc,
                               .release = heap_free,
                               .texture = fetch,
                               .surface = surface};
    memcpy(machine.ntid, g->block, sizeof machine.ntid);
    memcpy(machine.nctaid, g->grid, sizeof machine.nctaid);
    machine.ctaid[0] = (unsigned)(block % g->grid[0]);
    machine.ctaid[1] = (unsigned)(block / g->grid[0] % g->grid[1]);
    machine.ctaid[2] = (unsigned)(block / g->grid[0] / g->grid[1]);
    *where = &machine;
    memset(barriers, 0, sizeof barriers);
    memset(shared_memory, 0, SHARED);
    for (unsigned k = 0; k < nthread; k++) {
        threads[k].state = READY;
        threads[k].started = false;
    }
    act.sa_sigaction = on_signal;
    sigaction(SIGSEGV, &act, &old_segv);
    sigaction(SIGBUS, &act, &old_bus);
    unsigned fp = t0_fp_enter();
    if (!sigsetjmp(on_fault, 1))
        run_block();
    in_fiber = false;
    t0_fp_leave(fp);
    sigaction(SIGSEGV, &old_segv, NULL);
    sigaction(SIGBUS, &old_bus, NULL);
    fault->kind = (enum t0_fault_kind)fault_kind;
    return fault_kind;
}
