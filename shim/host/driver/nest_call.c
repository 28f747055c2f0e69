/* The calls of CUDA's device runtime: launches by threads of kernels, streams, events, copies, and what they may ask.
 * Results are CUDA's error numbers, which each thread's last error keeps. Memory of the kernel is not touched while
 * the lock is held: an access that faults leaves the kernel at once. */
#include "host/driver/nest.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/lir/image.h"

enum { NON_BLOCKING = 1, DISABLE_TIMING = 2, DEVICE_TO_DEVICE = 3, ANY_DIRECTION = 4 };
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };
enum { PARAMS_MOST = 32764 }; /* bytes: what CUDA takes */

struct caller {
    struct nest *grid;
    const struct t0_grid *launch;
    uint64_t block;
    uint32_t thread;
};

static void lock(const struct caller *c) { pthread_mutex_lock(&c->grid->family->lock); }
static void unlock(const struct caller *c) { pthread_mutex_unlock(&c->grid->family->lock); }

/* ---- the thread's last error ----------------------------------------------------------------- */

static struct nest_status **status_of(const struct caller *c)
{
    struct nest_status **at = &c->grid->status;
    while (*at && ((*at)->block != c->block || (*at)->thread != c->thread))
        at = &(*at)->next;
    return at;
}

/* Lock held. */
static int keep_error(const struct caller *c, int error)
{
    struct nest_status **at = error ? status_of(c) : NULL, *s = at ? *at : NULL;
    if (at && !s && (s = calloc(1, sizeof *s))) {
        *s = (struct nest_status){c->grid->status, c->block, c->thread, 0};
        c->grid->status = s;
    }
    if (s)
        s->error = error;
    return error;
}

static int last_error(const struct caller *c, bool take)
{
    lock(c);
    struct nest_status **at = status_of(c), *s = *at;
    int error = s ? s->error : NEST_OK;
    if (s && take) {
        *at = s->next;
        free(s);
    }
    unlock(c);
    return error;
}

/* ---- launches -------------------------------------------------------------------------------- */

static MUcontext context(const struct caller *c) { return c->grid->family->ctx; }

static struct host_kernel_launch launch_of(MUfunction f, const uint64_t *grid, const uint64_t *block, uint64_t shared)
{
    return (struct host_kernel_launch){.f = f,
                                       .grid = {(uint32_t)grid[0], (uint32_t)grid[1], (uint32_t)grid[2]},
                                       .block = {(uint32_t)block[0], (uint32_t)block[1], (uint32_t)block[2]},
                                       .shared = (unsigned)shared};
}

static int check_launch(const struct caller *c, const struct host_kernel_launch *k)
{
    static const int most[6] = {MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,  MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,  MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
                                MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    const struct host_device *d = context(c)->device;
    if (!k->f)
        return NEST_INVALID_FUNCTION;
    for (int i = 0; i < 6; i++) {
        uint32_t n = i < 3 ? k->grid[i] : k->block[i - 3];
        if (!n || n > (uint32_t)host_device_attribute(d, most[i]))
            return NEST_INVALID_CONFIGURATION;
    }
    const uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
    if (threads > (uint64_t)host_device_attribute(d, MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
        return NEST_INVALID_CONFIGURATION;
    if (threads > k->f->info.max_threads)
        return NEST_OUT_OF_RESOURCES;
    return host_kernel_check(k) ? NEST_INVALID_VALUE : NEST_OK;
}

/* A launch that has its arguments still to come. */
static void *prepare(const struct caller *c, const struct host_kernel_launch *k, uint64_t key, size_t size, int *error)
{
    struct nest *n = nest_new(c->grid, NEST_GRID, c->block);
    if (n && !(n->params = nest_params(n->family, size))) {
        nest_drop(n);
        n = NULL;
    }
    *error = n ? NEST_OK : NEST_NO_MEMORY;
    if (!n)
        return NULL;
    n->params_size = size;
    n->f = k->f;
    n->launch = *k;
    n->key = key;
    *c->grid->prepared_end = n;
    c->grid->prepared_end = &n->next;
    return n->params;
}

static uint64_t get_buffer(const struct caller *c, const uint64_t *a)
{
    const struct host_kernel_launch none = {.f = NULL};
    int error = NEST_INVALID_VALUE;
    lock(c);
    void *p = a[1] <= PARAMS_MOST && a[0] <= HOST_PARAMS_ALIGN
                  ? prepare(c, &none, 0, (size_t)a[1] + 2 * HOST_PARAMS_ALIGN, &error)
                  : NULL;
    (void)keep_error(c, error);
    unlock(c);
    return (uint64_t)(uintptr_t)p;
}

static uint64_t get_buffer_for(const struct caller *c, const uint64_t *a)
{
    const struct host_kernel_launch k = launch_of(nest_kernel(context(c), a[0]), a + 1, a + 4, a[7]);
    int error = check_launch(c, &k);
    lock(c);
    void *p = error ? NULL : prepare(c, &k, a[0], host_kernel_params_size(k.f), &error);
    (void)keep_error(c, error);
    unlock(c);
    return (uint64_t)(uintptr_t)p;
}

/* The launch whose arguments lie there, which is prepared no longer. Lock held. */
static struct nest *take_prepared(const struct caller *c, uint64_t buffer)
{
    struct nest **at = &c->grid->prepared, *n;
    while (*at && (*at)->params != (void *)(uintptr_t)buffer)
        at = &(*at)->next;
    if ((n = *at)) {
        *at = n->next;
        if (!n->next)
            c->grid->prepared_end = at;
    }
    return n;
}

/* Puts n, which goes if that fails, into a stream. Lock held. */
static int issue(const struct caller *c, struct nest *n, uint64_t stream)
{
    struct nest_queue *queue;
    bool tail;
    int error = nest_room(c->grid) ? NEST_OK : NEST_PENDING_COUNT; /* may wait: what is a stream is asked afterwards */
    if (!error && !nest_stream(c->grid, c->block, stream, &queue, &tail))
        error = NEST_INVALID_HANDLE;
    if (!error)
        error = nest_issue(n, queue, tail);
    if (error)
        nest_drop(n);
    return error;
}

static int launch_prepared(const struct caller *c, uint64_t buffer, uint64_t stream)
{
    lock(c);
    struct nest *n = take_prepared(c, buffer);
    int error = keep_error(c, n && n->f ? issue(c, n, stream) : NEST_INVALID_VALUE);
    unlock(c);
    return error;
}

static int launch_named(const struct caller *c, const uint64_t *a)
{
    const struct host_kernel_launch k = launch_of(nest_kernel(context(c), a[0]), a + 2, a + 5, a[8]);
    int error = check_launch(c, &k);
    lock(c);
    struct nest *n = take_prepared(c, a[1]);
    if (!n && !a[1] && !error && !k.f->info.nparam) { /* no arguments, and no place for them */
        void *p = prepare(c, &k, a[0], HOST_PARAMS_ALIGN, &error);
        n = p ? take_prepared(c, (uint64_t)(uintptr_t)p) : NULL;
    }
    if (!error && (!n || n->params_size < host_kernel_params_size(k.f)))
        error = NEST_INVALID_VALUE;
    if (!error) {
        n->f = k.f;
        n->launch = k;
        n->key = a[0];
        error = issue(c, n, a[9]);
    } else if (n) {
        nest_drop(n);
    }
    (void)keep_error(c, error);
    unlock(c);
    return error;
}

/* ---- streams and events ---------------------------------------------------------------------- */

static int new_stream(const struct caller *c, struct nest_queue **out)
{
    lock(c);
    struct nest_queue *q = calloc(1, sizeof *q);
    if (q) {
        q->next = c->grid->queues;
        c->grid->queues = q;
    }
    unlock(c);
    *out = q;
    return q ? NEST_OK : NEST_NO_MEMORY;
}

static int drop_stream(const struct caller *c, uint64_t value)
{
    struct nest_queue *queue, **at = &c->grid->queues;
    bool tail;
    if (value <= 4 || !nest_stream(c->grid, c->block, value, &queue, &tail))
        return NEST_INVALID_HANDLE;
    queue->destroyed = true;
    if (queue->head)
        return NEST_OK;
    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
    free(queue);
    return NEST_OK;
}

static struct nest_event **event_of(const struct caller *c, uint64_t value)
{
    struct nest_event **at = &c->grid->events;
    while (*at && *at != (struct nest_event *)(uintptr_t)value)
        at = &(*at)->next;
    return at;
}

static int new_event(const struct caller *c, struct nest_event **out)
{
    lock(c);
    struct nest_event *e = calloc(1, sizeof *e);
    if (e) {
        e->next = c->grid->events;
        c->grid->events = e;
    }
    unlock(c);
    *out = e;
    return e ? NEST_OK : NEST_NO_MEMORY;
}

static int drop_event(const struct caller *c, uint64_t value)
{
    struct nest_event **at = event_of(c, value), *e = *at;
    if (!e)
        return NEST_INVALID_HANDLE;
    *at = e->next;
    nest_unmark(e->mark);
    free(e);
    return NEST_OK;
}

static int record(const struct caller *c, uint64_t event, uint64_t stream)
{
    struct nest_event *e = *event_of(c, event);
    struct nest *n = e ? nest_new(c->grid, NEST_RECORD, c->block) : NULL;
    struct nest_mark *m = n ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        free(n);
        return e ? NEST_NO_MEMORY : NEST_INVALID_HANDLE;
    }
    nest_unmark(e->mark);
    m->refs = 2;
    e->mark = n->mark = m;
    return issue(c, n, stream);
}

static int wait_for(const struct caller *c, uint64_t stream, uint64_t event)
{
    struct nest_event *e = *event_of(c, event);
    if (!e || !e->mark)
        return e ? NEST_OK : NEST_INVALID_HANDLE;
    struct nest *n = nest_new(c->grid, NEST_WAIT, c->block);
    if (!n)
        return NEST_NO_MEMORY;
    n->mark = e->mark;
    n->mark->refs++;
    return issue(c, n, stream);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether so many bytes from p on are memory that kernels may use, as the device's own is, and neither local nor
 * shared. */
static bool is_memory(const void *p, const struct nest_region *r, size_t pitch, size_t slice)
{
    size_t rows, layers, all;
    if (!r->width || !r->height || !r->depth)
        return true;
    return !__builtin_mul_overflow(r->height - 1, pitch, &rows) &&
           !__builtin_mul_overflow(r->depth - 1, slice, &layers) && !__builtin_add_overflow(rows, layers, &all) &&
           !__builtin_add_overflow(all, r->width, &all) && host_mem_device_extent(p) >= all;
}

static int move(const struct caller *c, enum nest_kind kind, const struct nest_region *r, uint64_t stream)
{
    if (!is_memory(r->to, r, r->to_pitch, r->to_slice) ||
        (kind == NEST_COPY && !is_memory(r->from, r, r->from_pitch, r->from_slice)) ||
        (r->height > 1 && r->width > (kind == NEST_SET || r->to_pitch < r->from_pitch ? r->to_pitch : r->from_pitch)))
        return NEST_INVALID_VALUE;
    lock(c);
    struct nest *n = nest_new(c->grid, kind, c->block);
    if (n)
        n->region = *r;
    int error = n ? issue(c, n, stream) : NEST_NO_MEMORY;
    unlock(c);
    return error;
}

static struct nest_region plane(const uint64_t *to, const uint64_t *from, uint64_t width, uint64_t height, int value)
{
    return (struct nest_region){.to = (char *)(uintptr_t)to[0],
                                .to_pitch = to[1],
                                .from = from ? (const char *)(uintptr_t)from[0] : NULL,
                                .from_pitch = from ? from[1] : 0,
                                .width = width,
                                .height = height,
                                .depth = 1,
                                .value = value};
}

static int copy_line(const struct caller *c, const uint64_t *a)
{
    const struct nest_region r = plane((uint64_t[]){a[0], 0}, (uint64_t[]){a[1], 0}, a[2], 1, 0);
    return a[3] != DEVICE_TO_DEVICE && a[3] != ANY_DIRECTION ? NEST_INVALID_DIRECTION : move(c, NEST_COPY, &r, a[4]);
}

static int copy_plane(const struct caller *c, const uint64_t *a)
{
    const struct nest_region r = plane(a, a + 2, a[4], a[5], 0);
    return a[6] != DEVICE_TO_DEVICE && a[6] != ANY_DIRECTION ? NEST_INVALID_DIRECTION : move(c, NEST_COPY, &r, a[7]);
}

/* cudaMemcpy3DParms: array, position, pointer with pitch, width and height; the same of the destination; extent,
 * direction. */
static int copy_space(const struct caller *c, const uint64_t *a)
{
    uint64_t p[20];
    memcpy(p, (const void *)(uintptr_t)a[0], sizeof p);
    const uint64_t *from = p + 1, *to = p + 9, *extent = p + 16;
    if (p[0] || p[8])
        return NEST_NOT_SUPPORTED; /* arrays are the host's */
    const size_t from_slice = p[5] * p[7], to_slice = p[13] * p[15];
    const struct nest_region r = {.from = (const char *)(uintptr_t)p[4] + from[0] + from[1] * p[5] +
                                          from[2] * from_slice,
                                  .to = (char *)(uintptr_t)p[12] + to[0] + to[1] * p[13] + to[2] * to_slice,
                                  .from_pitch = p[5],
                                  .to_pitch = p[13],
                                  .from_slice = from_slice,
                                  .to_slice = to_slice,
                                  .width = extent[0],
                                  .height = extent[1],
                                  .depth = extent[2]};
    return (uint32_t)p[19] != DEVICE_TO_DEVICE && (uint32_t)p[19] != ANY_DIRECTION ? NEST_INVALID_DIRECTION
                                                                                   : move(c, NEST_COPY, &r, a[1]);
}

static int set_line(const struct caller *c, const uint64_t *a)
{
    const struct nest_region r = plane((uint64_t[]){a[0], 0}, NULL, a[2], 1, (int)a[1]);
    return move(c, NEST_SET, &r, a[3]);
}

static int set_plane(const struct caller *c, const uint64_t *a)
{
    const struct nest_region r = plane(a, NULL, a[3], a[4], (int)a[2]);
    return move(c, NEST_SET, &r, a[5]);
}

static int set_space(const struct caller *c, const uint64_t *a)
{
    struct nest_region r = plane(a, NULL, a[5], a[6], (int)a[4]);
    r.to_slice = a[1] * a[3];
    r.depth = a[7];
    return move(c, NEST_SET, &r, a[8]);
}

static int allocate(const struct caller *c, uint64_t out, uint64_t size)
{
    const struct t0_env *env = c->launch->env;
    void *p = env->dev_malloc(env->ctx, size);
    memcpy((void *)(uintptr_t)out, &p, sizeof p);
    return p ? NEST_OK : NEST_NO_MEMORY;
}

static int release(const struct caller *c, uint64_t address)
{
    const struct t0_env *env = c->launch->env;
    return !address || env->dev_free(env->ctx, (void *)(uintptr_t)address) ? NEST_OK : NEST_INVALID_VALUE;
}

/* ---- questions ------------------------------------------------------------------------------- */

static int answer(uint64_t out, int64_t value, size_t size)
{
    if (!out)
        return NEST_INVALID_VALUE;
    memcpy((void *)(uintptr_t)out, &value, size);
    return NEST_OK;
}

static int device_attribute(const struct caller *c, uint64_t out, int attribute, int device)
{
    const struct t1_nest_shim *s = nest_shim();
    if (device < 0 || device >= host_device_count())
        return NEST_INVALID_DEVICE;
    int value = host_device_attribute(context(c)->device, attribute);
    if (s && attribute == CAPABILITY_MAJOR)
        value = s->capability / 10;
    if (s && attribute == CAPABILITY_MINOR)
        value = s->capability % 10;
    return value < 0 ? NEST_INVALID_VALUE : answer(out, value, sizeof(int));
}

/* The beginning of cudaFuncAttributes that all releases have. */
static int function_attributes(const struct caller *c, uint64_t out, uint64_t key)
{
    const struct t1_nest_shim *s = nest_shim();
    MUfunction f = nest_kernel(context(c), key);
    if (!f)
        return NEST_INVALID_FUNCTION;
    if (!out)
        return NEST_INVALID_VALUE;
    const struct {
        uint64_t shared, constant, local;
        int threads, registers, ptx, binary, cache, dynamic, carveout;
    } all = {.shared = f->info.shared_size,
             .local = f->info.local_size,
             .threads = (int)f->info.max_threads,
             .registers = (int)f->info.num_regs,
             .ptx = s ? s->capability : 0,
             .binary = s ? s->capability : 0,
             .dynamic = host_function_max_dynamic(f),
             .carveout = f->carveout};
    memcpy((void *)(uintptr_t)out, &all, offsetof(__typeof__(all), carveout) + sizeof all.carveout);
    return NEST_OK;
}

static int occupancy(const struct caller *c, uint64_t out, uint64_t key, uint64_t threads, uint64_t shared)
{
    MUfunction f = nest_kernel(context(c), key);
    if (!f)
        return NEST_INVALID_FUNCTION;
    return (int32_t)threads <= 0 ? NEST_INVALID_VALUE
                                 : answer(out, host_occupancy(f, (unsigned)threads, shared), sizeof(int));
}

static const char *text(uint64_t error, int name)
{
    const struct t1_nest_shim *s = nest_shim();
    return s ? s->error_text((int)(uint32_t)error, name) : "";
}

/* ---- the calls ------------------------------------------------------------------------------- */

static int answer_locked(const struct caller *c, unsigned call, const uint64_t *a)
{
    lock(c);
    int error = NEST_NOT_SUPPORTED;
    switch (call) {
    case LIR_DEVICE_DeviceSynchronize: error = nest_wait(c->grid, c->block); break;
    case LIR_DEVICE_StreamDestroy: error = drop_stream(c, a[0]); break;
    case LIR_DEVICE_StreamWaitEvent: error = wait_for(c, a[0], a[1]); break;
    case LIR_DEVICE_EventRecord:
    case LIR_DEVICE_EventRecordWithFlags: error = record(c, a[0], a[1]); break;
    case LIR_DEVICE_EventDestroy: error = drop_event(c, a[0]); break;
    }
    unlock(c);
    return error;
}

static int answer_call(const struct caller *c, unsigned call, const uint64_t *a)
{
    const struct t1_nest_shim *s = nest_shim();
    void *made = NULL;
    int error;
    switch (call) {
    case LIR_DEVICE_StreamCreateWithFlags:
        error = a[1] != NON_BLOCKING ? NEST_INVALID_VALUE : new_stream(c, (struct nest_queue **)&made);
        return error ? error : answer(a[0], (int64_t)(intptr_t)made, sizeof made);
    case LIR_DEVICE_EventCreateWithFlags:
        error = a[1] != DISABLE_TIMING ? NEST_INVALID_VALUE : new_event(c, (struct nest_event **)&made);
        return error ? error : answer(a[0], (int64_t)(intptr_t)made, sizeof made);
    case LIR_DEVICE_GetDevice: return answer(a[0], context(c)->device->ordinal, sizeof(int));
    case LIR_DEVICE_GetDeviceCount: return answer(a[0], host_device_count(), sizeof(int));
    case LIR_DEVICE_DeviceGetAttribute: return device_attribute(c, a[0], (int)a[1], (int)a[2]);
    case LIR_DEVICE_DeviceGetLimit:
        return a[1] > MU_LIMIT_PERSISTING_L2_CACHE_SIZE
                   ? NEST_INVALID_VALUE
                   : answer(a[0], (int64_t)context(c)->limit[a[1]], sizeof(size_t));
    case LIR_DEVICE_DeviceGetCacheConfig: return answer(a[0], context(c)->cache_config, sizeof(int));
    case LIR_DEVICE_DeviceGetSharedMemConfig: return answer(a[0], context(c)->shared_config, sizeof(int));
    case LIR_DEVICE_RuntimeGetVersion: return answer(a[0], s ? s->version : 0, sizeof(int));
    case LIR_DEVICE_FuncGetAttributes: return function_attributes(c, a[0], a[1]);
    case LIR_DEVICE_OccupancyMaxActiveBlocksPerMultiprocessor:
    case LIR_DEVICE_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags: return occupancy(c, a[0], a[1], a[2], a[3]);
    case LIR_DEVICE_MemcpyAsync: return copy_line(c, a);
    case LIR_DEVICE_Memcpy2DAsync: return copy_plane(c, a);
    case LIR_DEVICE_Memcpy3DAsync: return copy_space(c, a);
    case LIR_DEVICE_MemsetAsync: return set_line(c, a);
    case LIR_DEVICE_Memset2DAsync: return set_plane(c, a);
    case LIR_DEVICE_Memset3DAsync: return set_space(c, a);
    case LIR_DEVICE_Malloc: return allocate(c, a[0], a[1]);
    case LIR_DEVICE_Free: return release(c, a[0]);
    case LIR_DEVICE_GraphLaunch: return graph_launch_by_kernel(c->grid->family->graph, a[0], a[1]);
    default: return answer_locked(c, call, a);
    }
}

uint64_t nest_call(const struct t0_grid *g, const uint32_t block[3], uint32_t thread, uint32_t call, const uint64_t *a)
{
    const struct caller c = {nest_of(g), g, t0_block_number(g, block), thread};
    if (!c.grid)
        return NEST_NOT_SUPPORTED;
    switch (call) {
    case LIR_DEVICE_GetParameterBuffer: return get_buffer(&c, a);
    case LIR_DEVICE_GetParameterBufferV2: return get_buffer_for(&c, a);
    case LIR_DEVICE_LaunchDevice: return (uint64_t)launch_named(&c, a);
    case LIR_DEVICE_LaunchDeviceV2: return (uint64_t)launch_prepared(&c, a[0], a[1]);
    case LIR_DEVICE_GetLastError: return (uint64_t)last_error(&c, true);
    case LIR_DEVICE_PeekAtLastError: return (uint64_t)last_error(&c, false);
    case LIR_DEVICE_GetErrorString: return (uint64_t)(uintptr_t)text(a[0], 0);
    case LIR_DEVICE_GetErrorName: return (uint64_t)(uintptr_t)text(a[0], 1);
    default: break;
    }
    int error = answer_call(&c, call, a);
    if (error) {
        lock(&c);
        (void)keep_error(&c, error);
        unlock(&c);
    }
    return (uint64_t)error;
}
