/* Launches: the checks CUDA makes, the copy of the arguments, and the grid as one operation of its
 * stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/driver/internal.h"
#include "host/driver/kernel.h"
#include "host/driver/memcheck.h"
#include "host/driver/nest.h"

#define ALONE_NS 20000 /* below this a grid is done before a second CPU has woken up */
#define HERE_NS 4000   /* below this another thread would take longer to hear of it */
#define WORKSPACE 64   /* of a grid barrier: two words are used */
#define TIMED_EVERY 8  /* of brief grids: two looks at the clock are a tenth of a small launch */

struct launch { /* one launch, from the call until its grid has run */
    MUfunction f;
    MUcontext ctx;
    struct t0_grid grid;
    struct host_frames *origin; /* of the call, where accesses are checked; else NULL */
    unsigned char params[];     /* the argument buffer, from the next multiple of 64 on */
};

static _Atomic uint64_t grid_ids;

/* Whether the grid may run inside the call: known to be short, and its end depends on nothing that the
 * calling thread would do next. */
static bool brief(const struct launch *l)
{
    const struct t0_grid *g = &l->grid;
    uint64_t each = l->f->block_ns, blocks = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2];
    return each && blocks < HERE_NS && each * blocks < HERE_NS && !g->cooperative && !g->cluster[0] &&
           !l->f->info.may_wait && !l->f->info.launches && host_thread_fit();
}

/* ---- running it ------------------------------------------------------------------------------ */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t host_clock_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* Whether a grid gets the memory that grid-wide barriers count in. Programs launch kernels that have them in the
 * ordinary way, too (CuPy's jit by `cg.sync(grid)`), which works where the device holds all blocks at once. */
static bool has_barrier(MUfunction f, const struct t0_grid *g, uint64_t blocks)
{
    return g->cooperative || (f->info.uses_grid_sync &&
                              blocks <= host_resident(f, g->block[0] * g->block[1] * g->block[2], g->dynamic_shared));
}

/* Runs a grid when its turn on the stream comes. Short grids, by the time that blocks of this kernel took before,
 * run on this thread alone: waking helpers costs more than they would save. */
MUresult host_grid_perform(MUfunction f, MUcontext ctx, struct t0_grid *g, const struct host_frames *origin)
{
    struct host_device *device = ctx->device;
    uint64_t blocks = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2];
    void *workspace = NULL;
    if (has_barrier(f, g, blocks)) {
        workspace = host_mem_alloc(device, WORKSPACE, 512);
        if (!workspace)
            return MUSA_ERROR_OUT_OF_MEMORY;
        g->envreg12 = (uint64_t)(uintptr_t)workspace;
    }
    uint32_t before = f->block_ns;
    bool alone = before && blocks < ALONE_NS && before * blocks < ALONE_NS;
    struct t0_fault fault;
    struct host_memcheck_run check;
    _Atomic bool asserted = false, refused = false;
    g->asserted = &asserted;
    g->refused = &refused;
    g->watch = host_memcheck_start(&check, ctx, origin, f->info.name, g);
    /* A brief grid that is not timed took what the last one did, unless even the coarse clock has gone on. */
    const bool timed = !before || blocks >= HERE_NS || blocks * before >= HERE_NS || g->grid_id % TIMED_EVERY == 0;
    const clockid_t clock = timed ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE; /* of ms, for a fifth of the price */
    const uint64_t start = clock_ns(clock);
    atomic_store_explicit(&f->since, start, memory_order_relaxed);
    enum t0_fault_kind kind = host_grid_run(g, f, alone && !g->cooperative, before, &fault);
    /* Wall time by blocks: where several CPUs shared the grid it is too small by their number,
     * which only makes such a grid look for help a little later. */
    uint64_t took = clock_ns(clock) - start;
    if (!took)
        took = blocks * before;
    const uint64_t each = took / blocks;
    atomic_store_explicit(&f->since, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&f->spent_ns, took, memory_order_relaxed);
    f->block_ns = each > UINT32_MAX ? UINT32_MAX : each ? (uint32_t)each : 1;
    if (workspace)
        host_mem_free(device, workspace);
    /* Who synchronises later may only see that the context has failed. */
    if (asserted || kind != T0_OK)
        host_kernels_synced(ctx);
    if (asserted) /* what failed later in the same launch is its consequence */
        return host_assertions_report(ctx);
    if (g->watch && host_memcheck_end(&check))
        return MUSA_ERROR_LAUNCH_FAILED; /* as under compute-sanitizer */
    return kind == T0_OK ? MUSA_SUCCESS : host_fault_report(&fault, g->watch ? &check : NULL);
}

static MUresult run_grid(MUfunction f, MUcontext ctx, struct t0_grid *g, const struct host_frames *origin)
{
    return f->info.launches ? nest_run(f, ctx, g, origin) : host_grid_perform(f, ctx, g, origin);
}

static MUresult run(void *arg)
{
    struct launch *l = arg;
    return run_grid(l->f, l->ctx, &l->grid, l->origin);
}

static void drop(void *arg)
{
    struct launch *l = arg;
    free(l->origin);
    free(l);
}

struct t0_grid host_grid_of(const struct host_kernel_launch *k, MUcontext ctx, void *params)
{
    struct t0_grid g = {.kernel = k->f->kernel,
                        .grid = {k->grid[0], k->grid[1], k->grid[2]},
                        .block = {k->block[0], k->block[1], k->block[2]},
                        .dynamic_shared = k->shared,
                        .params = params,
                        .env = host_kernel_env(ctx),
                        .grid_id = ++grid_ids,
                        .nsm = (uint32_t)host_multiprocessors(ctx->device),
                        .cooperative = k->cooperative};
    (void)host_cluster_of(k, g.grid, g.cluster); /* checked before */
    return g;
}

MUresult host_kernel_run(const struct host_kernel_launch *k, void *params)
{
    MUcontext ctx = k->f->module->ctx;
    struct t0_grid g = host_grid_of(k, ctx, params);
    g.graph_exec = graph_env_exec();
    host_fault_arm();
    return run_grid(k->f, ctx, &g, NULL);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Checks grid, block and shared memory against the device and the kernel, with CUDA's error for each. */
static MUresult check_shape(MUfunction f, const struct host_device *d, const uint32_t grid[3], const uint32_t block[3],
                            unsigned shared)
{
    static const int grid_limit[3] = {MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                      MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
    static const int block_limit[3] = {MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                       MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    for (int i = 0; i < 3; i++)
        if (!grid[i] || grid[i] > (uint32_t)host_device_attribute(d, grid_limit[i]) || !block[i] ||
            block[i] > (uint32_t)host_device_attribute(d, block_limit[i]))
            return MUSA_ERROR_INVALID_VALUE;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads > (uint64_t)host_device_attribute(d, MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        threads > f->info.max_threads) /* .maxntid: the tests of numba-cuda want this error, too, not "resources" */
        return MUSA_ERROR_INVALID_VALUE;
    const uint32_t *wanted = f->info.reqntid;
    if (wanted[0] && (block[0] != wanted[0] || block[1] != wanted[1] || block[2] != wanted[2]))
        return MUSA_ERROR_INVALID_VALUE;
    int most = host_device_attribute(d, MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (shared > (unsigned)host_function_max_dynamic(f) || (uint64_t)shared + f->info.shared_size > (uint64_t)most)
        return MUSA_ERROR_INVALID_VALUE;
    return MUSA_SUCCESS;
}

static MUresult check_cooperative(MUfunction f, const uint32_t grid[3], const uint32_t block[3], unsigned shared)
{
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    const uint64_t most = host_resident(f, block[0] * block[1] * block[2], shared);
    if (blocks <= most)
        return MUSA_SUCCESS;
    if (host_config()->check_tools & T0_SYNCCHECK) {
        char note[200];
        snprintf(note, sizeof note, "%s: %llu blocks, of which the device holds %llu at once", f->info.name,
                 (unsigned long long)blocks, (unsigned long long)most);
        host_memcheck_say(&(struct t0_finding){.tool = T0_SYNCCHECK,
                                               .title = "Barrier error detected. Cooperative launch that cannot be "
                                                        "resident.",
                                               .note = {note},
                                               .notes = 1},
                          "Saved host backtrace up to driver entry point at kernel launch time");
    }
    return MUSA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* ---- arguments: copied at the call, as the caller's storage is his again when it returns ----- */

static MUresult pack_buffer(const struct t0_kernel_info *info, void **extra, unsigned char *to)
{
    const void *buffer = NULL;
    size_t size = 0;
    for (; *extra != MU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == MU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == MU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            memcpy(&size, extra[1], sizeof size);
        else
            return MUSA_ERROR_INVALID_VALUE;
    }
    size_t need = info->nparam ? info->param[info->nparam - 1].offset + info->param[info->nparam - 1].size : 0;
    if (size < need || (need && !buffer))
        return MUSA_ERROR_INVALID_VALUE;
    if (need)
        memcpy(to, buffer, need);
    return MUSA_SUCCESS;
}

static MUresult pack(const struct t0_kernel_info *info, void **params, void **extra, unsigned char *to)
{
    if (extra)
        return params ? MUSA_ERROR_INVALID_VALUE : pack_buffer(info, extra, to);
    if (info->nparam && !params)
        return MUSA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < info->nparam; i++) {
        if (!params[i])
            return MUSA_ERROR_INVALID_VALUE;
        memcpy(to + info->param[i].offset, params[i], info->param[i].size);
    }
    return MUSA_SUCCESS;
}

/* ---- the call -------------------------------------------------------------------------------- */

MUresult host_kernel_check(const struct host_kernel_launch *k)
{
    if (!host_function_live(k->f))
        return MUSA_ERROR_INVALID_HANDLE;
    struct host_device *d = k->f->module->ctx->device;
    uint32_t grid[3] = {k->grid[0], k->grid[1], k->grid[2]}, cluster[3];
    MUresult r = host_cluster_of(k, grid, cluster), shape = check_shape(k->f, d, grid, k->block, k->shared);
    if (shape || r)
        return shape ? shape : r;
    return k->cooperative ? check_cooperative(k->f, grid, k->block, k->shared) : MUSA_SUCCESS;
}

/* A multiple of the alignment; 16 bytes of slack for vector loads at the end of the buffer. */
size_t host_kernel_params_size(MUfunction f)
{
    return ((size_t)f->info.param_size + 16 + HOST_PARAMS_ALIGN - 1) / HOST_PARAMS_ALIGN * HOST_PARAMS_ALIGN;
}

MUresult host_kernel_pack(MUfunction f, void **params, void **extra, void *to)
{
    return pack(&f->info, params, extra, to);
}

/* In a capture the node keeps the caller's pointers, as the SDK's does: they are read when the graph
 * is launched, and whoever captures keeps the arguments alive. */
static MUresult capture(MUstream s, const struct host_kernel_launch *k, void **params, void **extra)
{
    if (k->f->info.nparam && !params == !extra)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_KERNEL,
                           .kernel.v1 = {k->f, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1],
                                         k->block[2], k->shared, params, extra}};
    MUgraphNode node;
    MUresult r = host_capture_add(s, &p, &node);
    if (!r && k->cooperative)
        r = muGraphKernelNodeSetAttribute(node, MU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                          &(MUlaunchAttributeValue){.cooperative = 1});
    if (!r && k->cluster[0])
        r = muGraphKernelNodeSetAttribute(
            node, MU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            &(MUlaunchAttributeValue){.clusterDim = {k->cluster[0], k->cluster[1], k->cluster[2]}});
    return r;
}

/* Checks a launch, copies its arguments and queues it, or makes it a node of the graph that the stream captures.
 * Arguments are copied here, as the program may reuse their memory at once. */
static MUresult launch(MUfunction f, const uint32_t grid[3], const uint32_t block[3], unsigned shared, MUstream stream,
                       bool cooperative, const uint32_t cluster[3], void **params, void **extra)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_kernel_launch k = {
        f,           {grid[0], grid[1], grid[2]},         {block[0], block[1], block[2]}, shared,
        cooperative, {cluster[0], cluster[1], cluster[2]}};
    MUstream s;
    if (!host_function_live(f))
        return MUSA_ERROR_INVALID_HANDLE;
    if ((r = host_stream_of(stream, &s)))
        return r;
    if (f->module->ctx != s->ctx)
        return MUSA_ERROR_INVALID_HANDLE;
    if ((r = host_kernel_check(&k)))
        return r;
    if (host_capturing(s))
        return capture(s, &k, params, extra);
    /* The buffer is aligned by hand, as aligned_alloc is several times slower than malloc, and alone cleared: of all
     * of it the compiler makes calloc, which in glibc does without a thread's cache. */
    size_t size = host_kernel_params_size(f);
    struct launch *l = malloc(sizeof *l + size + HOST_PARAMS_ALIGN - 1);
    if (!l)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *l = (struct launch){.f = f, .ctx = s->ctx};
    unsigned char *buffer = l->params + (-(uintptr_t)l->params & (HOST_PARAMS_ALIGN - 1));
    memset(buffer, 0, size);
    if ((r = pack(&f->info, params, extra, buffer))) {
        free(l);
        return r;
    }
    l->grid = host_grid_of(&k, s->ctx, buffer);
    if (host_memcheck_on() && (l->origin = malloc(sizeof *l->origin)))
        host_memcheck_frames(l->origin);
    host_fault_arm();
    struct host_op op = {
        .run = run, .drop = drop, .arg = l, .what = f->info.name, .flags = brief(l) ? HOST_OP_BRIEF : 0};
    return host_enqueue_in(s, &op);
}

static const uint32_t none[3]; /* clusters */

MUresult muLaunchKernel(MUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                        unsigned int by, unsigned int bz, unsigned int shared, MUstream stream, void **params,
                        void **extra)
{
    return launch(f, (uint32_t[]){gx, gy, gz}, (uint32_t[]){bx, by, bz}, shared, stream, false, none, params, extra);
}

MUresult muLaunchCooperativeKernel(MUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                   unsigned int by, unsigned int bz, unsigned int shared, MUstream stream,
                                   void **params)
{
    return launch(f, (uint32_t[]){gx, gy, gz}, (uint32_t[]){bx, by, bz}, shared, stream, true, none, params, NULL);
}

static MUresult launch_ex(const MUlaunchConfig *c, MUstream stream, MUfunction f, void **params, void **extra)
{
    bool cooperative = false;
    const uint32_t *cluster = none;
    for (unsigned i = 0; i < c->numAttrs && c->attrs; i++) {
        const MUlaunchAttribute *a = &c->attrs[i];
        if (a->id == MU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            cooperative = a->value.cooperative != 0;
        else if (a->id == MU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            cluster = &a->value.clusterDim.x;
        /* the others are hints: priorities, cache windows, overlap with the previous kernel */
    }
    return launch(f, (uint32_t[]){c->gridDimX, c->gridDimY, c->gridDimZ},
                  (uint32_t[]){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, stream, cooperative,
                  cluster, params, extra);
}

MUresult muLaunchKernelEx(const MUlaunchConfig *config, MUfunction f, void **params, void **extra)
{
    return config ? launch_ex(config, config->hStream, f, params, extra) : MUSA_ERROR_INVALID_VALUE;
}

/* ---- stream 0 is the thread's own ------------------------------------------------------------ */

MUresult muLaunchKernel_ptsz(MUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                             unsigned int by, unsigned int bz, unsigned int shared, MUstream stream, void **params,
                             void **extra)
{
    return muLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, host_ptsz(stream), params, extra);
}

MUresult muLaunchCooperativeKernel_ptsz(MUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                        MUstream stream, void **params)
{
    return muLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, host_ptsz(stream), params);
}

MUresult muLaunchKernelEx_ptsz(const MUlaunchConfig *config, MUfunction f, void **params, void **extra)
{
    return config ? launch_ex(config, host_ptsz(config->hStream), f, params, extra) : MUSA_ERROR_INVALID_VALUE;
}

/* ---- start-up -------------------------------------------------------------------------------- */

MUresult host_kernels_init(void) { return MUSA_SUCCESS; /* the handler waits for the first launch */ }

void host_kernels_thread(void)
{
    host_fault_stack();
    (void)host_worker_keep(); /* without one, each grid tries again */
}
