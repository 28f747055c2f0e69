/* Tier 0 execution: workers, and a block from its launch to its last warp. */
#include "ptx/tier0/tools.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PATIENCE = 4, /* turns that bring nothing before blocks yield to ones on other workers of the thread */
    MIXED = 16    /* turns in which some warps spin and others do not that count as one of those */
};

struct t0_worker *t0_worker_new(uint32_t smid)
{
    struct t0_worker *w = calloc(1, sizeof *w);
    if (w)
        w->smid = smid;
    return w;
}

void t0_worker_crowd(struct t0_worker *w) { w->crowded = true; }

/* Memory that costs nothing until touched; NULL when there is none. */
static void *map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}

static void warp_clear(struct t0_warp *w, bool release)
{
    w->running = false;
    w->frame = NULL;
    w->nsplit = 0;
    if (w->all)
        t0_frames_reset(w, release);
}

static void block_free(struct t0_block *b)
{
    if (!b)
        return;
    for (uint32_t k = 0; k < T0_MAX_WARPS; k++)
        warp_clear(&b->warp[k], true);
    unmap(b->regs, b->regs_room);
    unmap(b->shared, b->shared_room);
    unmap(b->local, b->local_room);
    t0_race_block_free(b->race);
    t0_sync_block_free(b->sync);
    free(b);
}

void t0_worker_free(struct t0_worker *w)
{
    if (!w)
        return;
    for (uint32_t k = 0; k < w->nblock; k++)
        block_free(w->block[k]);
    free(w->block);
    free(w->scratch);
    t0_arenas_free(w);
    if (w->tier1)
        w->tier1_free(w->tier1);
    free(w);
}

void t0_thread_index(const struct t0_block *b, uint32_t linear, uint32_t out[3])
{
    const uint32_t *n = b->grid->block;
    out[0] = linear % n[0];
    out[1] = linear / n[0] % n[1];
    out[2] = linear / n[0] / n[1];
}

/* Fills a row that no instruction writes: an immediate, a special register, the address of a variable or parameter.
 * Those that are the same in all lanes are one store loop; only tid, laneid and their like differ by lane. */
static void fill_row(const struct t0_block *b, unsigned warp, const struct lir_row *r)
{
    uint8_t *row = b->regs + warp * b->regs_stride + r->offset;
    uint64_t v = r->value;
    if (r->kind == LIR_ROW_SREG && !lir_sreg_per_block(r->index)) {
        for (unsigned l = 0; l < LIR_LANES; l++) {
            v = t0_sreg_fixed(b, warp, l, r->index);
            memcpy(row + (r->wide ? 8 : 4) * l, &v, r->wide ? 8 : 4);
        }
    } else {
        uint32_t *narrow = (uint32_t *)(void *)row;
        uint64_t *wide = (uint64_t *)(void *)row;
        if (r->kind == LIR_ROW_SREG)
            v = t0_sreg_fixed(b, warp, 0, r->index);
        else if (r->kind == LIR_ROW_EXTERN)
            v += LIR_AT(b->image, externs, struct lir_extern)[r->index].address;
        else if (r->kind == LIR_ROW_PARAM)
            v += (uint64_t)(uintptr_t)b->grid->params;
        for (unsigned l = 0; r->wide && l < LIR_LANES; l++)
            wide[l] = v;
        for (unsigned l = 0; !r->wide && l < LIR_LANES; l++)
            narrow[l] = (uint32_t)v;
    }
    if (r->wide > 1)
        memset(row + 256, 0, 256);
}

static void *map_shared(size_t size)
{
    uint8_t *p = t0_reserve_shared(0, size);
    if (p && mprotect(p, size, PROT_READ | PROT_WRITE)) {
        munmap(p, size);
        p = NULL;
    }
    return p;
}

/* Grows one of the block's buffers; it only ever grows. */
static bool grow_buffer(uint8_t **p, size_t *have, size_t want, void *(*map_it)(size_t size))
{
    if (*have >= want)
        return true;
    want = (want + 65535) & ~(size_t)65535;
    unmap(*p, *have);
    *have = 0;
    *p = map_it(want);
    if (!*p)
        return false;
    *have = want;
    return true;
}

static bool prepare(struct t0_block *b, const struct t0_grid *g)
{
    const struct lir_kernel_rec *rec = b->rec = g->kernel->rec;
    uint64_t threads = (uint64_t)g->block[0] * g->block[1] * g->block[2];
    uint8_t *before = b->regs;

    b->grid = g;
    b->image = g->kernel->module->image;
    b->nwarp = (uint32_t)((threads + LIR_LANES - 1) / LIR_LANES);
    /* an odd number of cache lines between the warps' files keeps them off the same cache sets */
    size_t stride = (((size_t)rec->regs_size + 63) & ~(size_t)63) | 64;
    b->filled &= stride == b->regs_stride;
    b->regs_stride = stride;
    if (!grow_buffer(&b->regs, &b->regs_room, b->regs_stride * b->nwarp, map))
        return false;
    b->filled &= b->regs == before;
    if (!grow_buffer(&b->shared, &b->shared_room, t0_shared_room(rec, g->dynamic_shared), map_shared))
        return false;
    b->local_stride = rec->local_size ? rec->local_size + 64 : 0;
    return !b->local_stride || grow_buffer(&b->local, &b->local_room, b->local_stride * b->nwarp * LIR_LANES, map);
}

/* Makes the resident block k one of its cluster; alone it is one of its own. */
static void join_cluster(struct t0_worker *w, const struct t0_grid *g, uint64_t k)
{
    struct t0_block *b = w->block[k];
    const uint32_t size = t0_cluster_size(g), rank = (uint32_t)(k % size);
    if (!rank)
        b->alone = (struct t0_cluster){.base = size == 1 ? b->shared : t0_arena_base(w, k / size), .size = size};
    b->cluster = &w->block[k - rank]->alone;
    b->cluster->block[rank] = b;
}

/* Makes a block ready to run as number `number` of the grid: barriers cleared, each warp at the kernel's entry with
 * the lanes that exist. A block that has run before keeps its rows, but for the few that depend on the block's
 * index. */
static bool start(struct t0_block *b, uint64_t number)
{
    const struct t0_grid *g = b->grid;
    const struct lir_row *row = LIR_AT(b->image, rows, struct lir_row);
    const struct lir_fn *fn = LIR_AT(b->image, funcs, struct lir_fn) + b->rec->fn;
    uint32_t threads = g->block[0] * g->block[1] * g->block[2];

    t0_block_index(g, number, b->index);
    b->alive = b->nwarp;
    b->refused = false;
    if (b->rec->uses_tensor)
        t0_tensor_clear(b->cluster->base + t0_cluster_rank(g, b->index) * LIR_CLUSTER_STRIDE);
    for (unsigned k = 0; k < T0_BARRIERS; k++)
        if (b->barrier[k].in_use)
            memset(&b->barrier[k], 0, sizeof b->barrier[k]);
    for (uint32_t k = 0; k < b->nwarp; k++) {
        struct t0_warp *w = &b->warp[k];
        uint32_t left = threads - k * LIR_LANES;
        warp_clear(w, false);
        w->l.regs = b->regs + k * b->regs_stride;
        w->at = NULL;
        w->block = b;
        w->index = k;
        w->shared = b->cluster->base + t0_cluster_rank(g, b->index) * LIR_CLUSTER_STRIDE;
        w->shared_size = t0_shared_size(b->rec->dynamic_offset + g->dynamic_shared);
        w->params = g->params;
        for (uint32_t r = 0; r < b->image->rows.count; r++) {
            if (b->filled && !(row[r].kind == LIR_ROW_SREG && lir_sreg_per_block(row[r].index)))
                break; /* lowering puts the rows that change from block to block first */
            fill_row(b, k, &row[r]);
        }
        t0_warp_start(w, left >= LIR_LANES ? ~0u : (1u << left) - 1, fn->entry);
        t0_frame_enter(w, NULL, b->rec->fn, 0);
    }
    b->filled = true;
    if (g->watch)
        t0_tools_begin(b);
    return true;
}

bool t0_warp_can_run(const struct t0_warp *w)
{
    for (uint32_t k = 0; k < w->nsplit; k++)
        if (w->split[k].state == T0_READY)
            return true;
    return w->running;
}

struct turn {        /* of all blocks of a worker */
    bool spun, busy; /* some warp has spun; has done more than that */
};

/* One turn of every warp; whether any could run. */
static bool turn(struct t0_worker *worker, struct t0_block *b, struct turn *what)
{
    bool ran = false;
    for (uint32_t k = 0; k < b->nwarp; k++) {
        struct t0_warp *w = &b->warp[k];
        if (w->dead == ~0u || !t0_warp_can_run(w))
            continue;
        ran = true;
        worker->warp = w;
        bool spun = t0_warp_run(w) == T0_RAN_YIELD;
        what->spun |= spun;
        what->busy |= !spun;
    }
    return ran;
}

/* Nobody of the cluster can go on: collectives whose missing lanes wait elsewhere go on without them. Who waits for
 * threads that memcheck has ended is not at fault, and ends with them. */
static void unblock(struct t0_worker *worker, struct t0_cluster *c)
{
    struct t0_warp *stuck = NULL;
    bool refused = false;
    for (uint32_t n = 0; n < c->size; n++) {
        struct t0_block *b = c->block[n];
        refused |= b->refused;
        for (uint32_t k = 0; k < b->nwarp; k++) {
            if (b->warp[k].dead == ~0u)
                continue;
            if (t0_warp_force(&b->warp[k]))
                return;
            stuck = stuck ? stuck : &b->warp[k];
        }
    }
    if (refused)
        t0_give_up(worker);
    worker->warp = stuck;
    stuck->l.mask = stuck->split[0].mask;
    t0_raise(stuck, LIR_AT(stuck->block->image, code, struct lir_insn) + stuck->split[0].pc, T0_FAULT_DEADLOCK,
             (unsigned)__builtin_ctz(stuck->l.mask), 0);
}

/* One turn of every block of a cluster; how many are not done. */
static uint32_t cluster_turn(struct t0_worker *worker, struct t0_cluster *c, struct turn *what)
{
    uint32_t left = 0;
    bool ran = false;
    for (uint32_t n = 0; n < c->size; n++) {
        struct t0_block *b = c->block[n];
        if (b->alive)
            ran |= turn(worker, b, what);
        left += b->alive != 0;
    }
    if (left && !ran)
        unblock(worker, c);
    return left;
}

/* All blocks of the worker spin: what they wait for runs on another thread, or has to be given way to. */
static void wait_for_others(struct t0_worker *worker, uint32_t turns)
{
    const struct t0_grid *g = worker->block[0]->grid;
    struct t0_rest none = {0, 0};
    if (t0_grid_stopped(g) || t0_waits_in_vain(g, &worker->waiting)) /* or has failed there and will never come */
        t0_give_up(worker);
    if (!g->yield)
        sched_yield();
    else if (worker->crowded || g->cooperative || turns % PATIENCE == 0)
        (void)g->yield(&none);
}

/* Blocks give way when none of their warps does more than spin; now and then also when some do, as those may go round
 * with barriers until what the others wait for has come. */
static void run_all(struct t0_worker *worker, uint32_t count)
{
    const uint32_t size = t0_cluster_size(worker->block[0]->grid);
    uint32_t turns = 0, mixed = 0;
    for (uint32_t left = count; left;) {
        struct turn what = {false, false};
        left = 0;
        for (uint32_t k = 0; k < count; k += size)
            left += cluster_turn(worker, worker->block[k]->cluster, &what);
        if (what.busy)
            worker->waiting.asked = 0;
        if (left && what.spun && (!what.busy || worker->crowded || ++mixed % MIXED == 0))
            wait_for_others(worker, ++turns);
    }
}

/* The rows of blocks may be kept if they were made for the very same launch. */
static bool same_launch(const struct t0_worker *w, const struct t0_grid *g)
{
    const struct t0_grid *l = &w->last;
    return w->last_serial == g->kernel->serial && l->params == g->params && !memcmp(l->grid, g->grid, sizeof g->grid) &&
           !memcmp(l->block, g->block, sizeof g->block) && !memcmp(l->cluster, g->cluster, sizeof g->cluster) &&
           l->dynamic_shared == g->dynamic_shared && l->grid_id == g->grid_id && l->envreg12 == g->envreg12 &&
           l->graph_exec == g->graph_exec && l->nsm == g->nsm;
}

/* Makes room for `count` blocks that run together (cooperative grids, clusters). Memory is kept from launch to
 * launch; what was filled in for another kernel, grid or arguments is forgotten. */
static bool blocks_prepare(struct t0_worker *w, const struct t0_grid *g, uint64_t count)
{
    if (count > w->nblock) {
        struct t0_block **more = realloc(w->block, count * sizeof *more);
        if (!more)
            return false;
        w->block = more;
        for (; w->nblock < count; w->nblock++) {
            w->block[w->nblock] = calloc(1, sizeof **more);
            if (!w->block[w->nblock])
                return false;
            w->block[w->nblock]->worker = w;
        }
    }
    if (!same_launch(w, g)) {
        for (uint32_t k = 0; k < w->nblock; k++)
            w->block[k]->filled = false;
        w->last = *g;
        w->last_serial = g->kernel->serial;
    }
    for (uint64_t k = 0; k < count; k++)
        if (!prepare(w->block[k], g))
            return false;
    if (t0_cluster_size(g) > 1 && !t0_arenas_prepare(w, g, count))
        return false;
    for (uint64_t k = 0; k < count; k++)
        join_cluster(w, g, k);
    return true;
}

enum t0_fault_kind t0_blocks_run_resident(struct t0_worker *w, const struct t0_grid *g, uint64_t first, uint64_t count,
                                          struct t0_fault *fault)
{
    int how;
    if (!count)
        return T0_OK;
    if (count > UINT32_MAX || !blocks_prepare(w, g, count)) {
        memset(fault, 0, sizeof *fault);
        fault->kind = T0_FAULT_NOMEM;
        fault->kernel = LIR_AT(g->kernel->module->image, strings, char) + g->kernel->rec->name;
        return T0_FAULT_NOMEM;
    }
    w->warp = NULL;
    const unsigned fp = t0_fp_enter(); /* the application may have its own mode */
    how = sigsetjmp(w->out, 0);
    if (!how) {
        w->running = true;
        for (uint32_t k = 0; k < count; k++)
            start(w->block[k], first + k);
        run_all(w, (uint32_t)count);
        w->running = false;
        t0_fp_leave(fp);
        return T0_OK;
    }
    w->running = false;
    t0_fp_leave(fp);
    if (how == 2) { /* out of a signal handler: its signals are still blocked */
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGSEGV);
        sigaddset(&set, SIGBUS);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    t0_fault_fill(w, fault);
    for (uint32_t k = 0; k < w->nblock; k++) {
        w->block[k]->filled = false;
        for (uint32_t n = 0; n < T0_MAX_WARPS; n++)
            warp_clear(&w->block[k]->warp[n], false);
    }
    return fault->kind;
}

enum t0_fault_kind t0_block_run(struct t0_worker *w, const struct t0_grid *g, uint64_t block, struct t0_fault *fault)
{
    return t0_blocks_run_resident(w, g, block, 1, fault);
}
