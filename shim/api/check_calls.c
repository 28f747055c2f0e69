/* CUMU_CHECK=sync: what each call of a program means to the model of check.h. One row a call; the forms with
 * _v2, _ptds and _ptsz and NCCL's p names share their row. */
#include "core/trace.h"
#include "core/upper.h"
#include "api/api.h"
#include "api/check.h"
#include "api/nccl/nccl.h"
#include "core/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { POINTERS = 64 };

enum what {
    LAUNCH, /* kernel, arguments, extra, configuration */
    RECORD, /* event */
    WAIT_EVENT,
    WAIT_VALUE,
    SYNC_STREAM,
    SYNC_EVENT,
    SYNC_DEVICE,
    ALLOCATE, /* where the address goes, size */
    STREAM_GONE,
    EVENT_GONE,
    COLLECTIVE, /* send, receive, count, type, communicator, root or peer */
    GROUP_START,
    GROUP_END,
    MOVE, /* copies and memsets: what their signatures say (check_moves.c) */
    BLAS  /* every other call of cuBLAS */
};
enum { NO = -1, SEND_ALL = 1, RECEIVE_ALL = 2, SEND_ROOT = 4, RECEIVE_ROOT = 8 };

static const struct row {
    const char *name;
    enum what what;
    signed char a[6];   /* numbers of arguments */
    unsigned char more; /* COLLECTIVE: of whom and for whom */
} rows[] = {
    {"cudaLaunchKernel", LAUNCH, {0, 3, NO, NO}, 0},
    {"__cudaLaunchKernel", LAUNCH, {0, 3, NO, NO}, 0},
    {"cudaLaunchCooperativeKernel", LAUNCH, {0, 3, NO, NO}, 0},
    {"cudaLaunchKernelExC", LAUNCH, {1, 2, NO, 0}, 0},
    {"cuLaunchKernel", LAUNCH, {0, 9, 10, NO}, 0},
    {"cuLaunchCooperativeKernel", LAUNCH, {0, 9, NO, NO}, 0},
    {"cuLaunchKernelEx", LAUNCH, {1, 2, 3, 0}, 0},
    {"cudaEventRecord", RECORD, {0}, 0},
    {"cudaEventRecordWithFlags", RECORD, {0}, 0},
    {"cuEventRecord", RECORD, {0}, 0},
    {"cuEventRecordWithFlags", RECORD, {0}, 0},
    {"cudaStreamWaitEvent", WAIT_EVENT, {1}, 0},
    {"cuStreamWaitEvent", WAIT_EVENT, {1}, 0},
    {"cuStreamWaitValue32", WAIT_VALUE, {0}, 0},
    {"cuStreamWaitValue64", WAIT_VALUE, {0}, 0},
    {"cuStreamBatchMemOp", WAIT_VALUE, {0}, 0},
    {"cudaStreamSynchronize", SYNC_STREAM, {0}, 0},
    {"cudaStreamQuery", SYNC_STREAM, {0}, 0},
    {"cuStreamSynchronize", SYNC_STREAM, {0}, 0},
    {"cuStreamQuery", SYNC_STREAM, {0}, 0},
    {"cudaEventSynchronize", SYNC_EVENT, {0}, 0},
    {"cudaEventQuery", SYNC_EVENT, {0}, 0},
    {"cuEventSynchronize", SYNC_EVENT, {0}, 0},
    {"cuEventQuery", SYNC_EVENT, {0}, 0},
    {"cudaEventElapsedTime", SYNC_EVENT, {2}, 0},
    {"cuEventElapsedTime", SYNC_EVENT, {2}, 0},
    {"cudaDeviceSynchronize", SYNC_DEVICE, {0}, 0},
    {"cudaThreadSynchronize", SYNC_DEVICE, {0}, 0},
    {"cuCtxSynchronize", SYNC_DEVICE, {0}, 0},
    {"cudaFree", SYNC_DEVICE, {0}, 0}, /* it waits for the device, in CUDA and in MUSA */
    {"cudaFreeHost", SYNC_DEVICE, {0}, 0},
    {"cuMemFree", SYNC_DEVICE, {0}, 0},
    {"ncclMemFree", SYNC_DEVICE, {0}, 0},
    {"cudaMalloc", ALLOCATE, {0, 1}, 0},
    {"cudaMallocAsync", ALLOCATE, {0, 1}, 0},
    {"cudaMallocFromPoolAsync", ALLOCATE, {0, 1}, 0},
    {"cudaMallocManaged", ALLOCATE, {0, 1}, 0},
    {"cudaMallocHost", ALLOCATE, {0, 1}, 0},
    {"cudaHostAlloc", ALLOCATE, {0, 1}, 0},
    {"cuMemAlloc", ALLOCATE, {0, 1}, 0},
    {"cuMemAllocAsync", ALLOCATE, {0, 1}, 0},
    {"cuMemAllocFromPoolAsync", ALLOCATE, {0, 1}, 0},
    {"cuMemAllocManaged", ALLOCATE, {0, 1}, 0},
    {"ncclMemAlloc", ALLOCATE, {0, 1}, 0},
    {"cudaStreamDestroy", STREAM_GONE, {0}, 0},
    {"cuStreamDestroy", STREAM_GONE, {0}, 0},
    {"cudaEventDestroy", EVENT_GONE, {0}, 0},
    {"cuEventDestroy", EVENT_GONE, {0}, 0},
    {"ncclAllReduce", COLLECTIVE, {0, 1, 2, 3, 5, NO}, 0},
    {"ncclReduce", COLLECTIVE, {0, 1, 2, 3, 6, 5}, RECEIVE_ROOT},
    {"ncclBroadcast", COLLECTIVE, {0, 1, 2, 3, 5, 4}, SEND_ROOT},
    {"ncclBcast", COLLECTIVE, {0, 0, 1, 2, 4, 3}, SEND_ROOT},
    {"ncclAllGather", COLLECTIVE, {0, 1, 2, 3, 4, NO}, RECEIVE_ALL},
    {"ncclReduceScatter", COLLECTIVE, {0, 1, 2, 3, 5, NO}, SEND_ALL},
    {"ncclAlltoAll", COLLECTIVE, {0, 1, 2, 3, 4, NO}, SEND_ALL | RECEIVE_ALL},
    {"ncclGather", COLLECTIVE, {0, 1, 2, 3, 5, 4}, RECEIVE_ALL | RECEIVE_ROOT},
    {"ncclScatter", COLLECTIVE, {0, 1, 2, 3, 5, 4}, SEND_ALL | SEND_ROOT},
    {"ncclSend", COLLECTIVE, {0, NO, 1, 2, 4, NO}, 0},
    {"ncclRecv", COLLECTIVE, {NO, 0, 1, 2, 4, NO}, 0},
    {"ncclGroupStart", GROUP_START, {0}, 0},
    {"ncclGroupEnd", GROUP_END, {0}, 0},
};

struct grouped { /* a collective of a group: put on its stream when the group ends */
    struct check_stream *stream;
    const void *comm;
    bool message; /* a send or a receive: one range, the other is empty */
    struct check_call call;
    struct check_range ranges[2];
};

static _Thread_local struct {
    int depth;
    unsigned number; /* of the thread, from 1 */
    unsigned n, room;
    struct grouped *calls;
} mine;
static _Atomic unsigned threads;

/* ---- which calls ------------------------------------------------------------------------------- */

static bool checking(void) { return cumu_opt_has(CUMU_OPT_CHECK, "sync"); }

static bool same(const char *row, const char *symbol)
{
    size_t n = strlen(row);
    if (strncmp(row, symbol, n) != 0)
        return false;
    for (symbol += n; *symbol;)
        if (strncmp(symbol, "_v2", 3) == 0 || strncmp(symbol, "_v3", 3) == 0)
            symbol += 3;
        else if (strcmp(symbol, "_ptds") == 0 || strcmp(symbol, "_ptsz") == 0)
            symbol += 5;
        else
            return false;
    return true;
}

static const struct row *row_of(const char *symbol)
{
    symbol += strncmp(symbol, "pnccl", 5) == 0;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (same(rows[i].name, symbol))
            return &rows[i];
    return NULL;
}

static bool moves(const char *symbol)
{
    symbol += strncmp(symbol, "cu", 2) == 0 ? strncmp(symbol, "cuda", 4) == 0 ? 4 : 2 : 0;
    return strncmp(symbol, "Memcpy", 6) == 0 || strncmp(symbol, "Memset", 6) == 0;
}

static bool orders(const char *library, const char *symbol)
{
    return checking() && (row_of(symbol) || moves(symbol) || strcmp(library, "cublas") == 0);
}

static bool check_wants(const char *library, const char *symbol)
{
    return orders(library, symbol) || cumu_check_api_wants(library, symbol);
}

/* ---- one call ---------------------------------------------------------------------------------- */

struct seen {
    const struct cumu_prototype *call;
    const struct cumu_frame *frame;
    const struct row *row;
    const char *name;
    int device;
};

static uint64_t argument(const struct seen *s, int i)
{
    return i < 0 ? 0 : cumu_call_argument(s->call, s->frame, (unsigned)i);
}

static const void *pointer(const struct seen *s, int i) { return (const void *)(uintptr_t)argument(s, i); }

static bool on_device(const void *p)
{
    unsigned type = 0;
    return p &&
           mu.muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, (MUdeviceptr)(uintptr_t)p) ==
               MUSA_SUCCESS &&
           type == MU_MEMORYTYPE_DEVICE;
}

static enum check_stream_kind kind_of(const void *handle)
{
    unsigned flags = 0;
    if ((uintptr_t)handle <= 1)
        return CHECK_LEGACY;
    return mu.muStreamGetFlags((MUstream)(uintptr_t)handle, &flags) == MUSA_SUCCESS && flags & 1 ? CHECK_NONBLOCKING
                                                                                                 : CHECK_BLOCKING;
}

/* NULL: what is put there becomes part of a graph, or there are too many. */
static struct check_stream *stream_at(const struct seen *s, const void *handle)
{
    bool per_thread = strstr(s->name, "_ptds") || strstr(s->name, "_ptsz");
    if (!handle)
        handle = (const void *)(uintptr_t)(per_thread ? 2 : 1);
    /* The legacy stream is never captured, and to ask about it is an error while a blocking stream is. */
    MUstreamCaptureStatus status = 0;
    if ((uintptr_t)handle != 1 &&
        (mu.muStreamIsCapturing((MUstream)(uintptr_t)handle, &status) != MUSA_SUCCESS || status))
        return NULL;
    return cumu_check_stream(handle, s->device, mine.number, kind_of);
}

/* What the call itself says: its argument, or the legacy stream. */
static struct check_stream *stream_of(const struct seen *s, const void **handle)
{
    *handle = NULL;
    (void)cumu_call_stream(s->call, s->frame, handle);
    return stream_at(s, *handle);
}

static struct check_call caller(const struct seen *s, const void *stream)
{
    return (struct check_call){.name = s->name, .site = (uintptr_t)s->frame->stack[-1], .stream = stream};
}

static void move(const struct seen *s)
{
    struct check_range r[2];
    const void *handle, *unused;
    bool on_host = false;
    unsigned n = cumu_check_moves(s->call, s->frame, r);
    struct check_stream *stream = n ? stream_of(s, &handle) : NULL;
    if (!stream)
        return;
    struct check_call call = caller(s, handle);
    cumu_check_put(stream, &call, r, n);
    for (unsigned i = 0; i < n; i++)
        on_host |= r[i].size > 1 && !on_device((const void *)r[i].at);
    /* Without a stream the host waits, but not for what stays on the device. */
    if (!cumu_call_stream(s->call, s->frame, &unused) && on_host)
        cumu_check_synced(stream);
}

static void pointers_at(const void *value, size_t size, struct check_range *r, unsigned *n)
{
    for (size_t at = 0; at + sizeof(uintptr_t) <= size && *n < POINTERS; at += sizeof(uintptr_t)) {
        uintptr_t p;
        memcpy(&p, (const char *)value + at, sizeof p);
        if (on_device((const void *)p))
            r[(*n)++] = (struct check_range){p, 1, CHECK_MAY_WRITE}; /* how far it goes nobody knows */
    }
}

/* What a kernel launch may touch: the device pointers among its arguments, as if the kernel wrote there, since PTX
 * does not say which way the bytes go. */
static void launch(const struct seen *s)
{
    const signed char *a = s->row->a;
    struct cumu_func *f = cumu_kernel_of(pointer(s, a[0]));
    void **args = (void **)(uintptr_t)argument(s, a[1]), **extra = (void **)(uintptr_t)argument(s, a[2]);
    const void *handle = NULL, *config = pointer(s, a[3]);
    if (config)
        handle = strncmp(s->name, "cuda", 4) == 0 ? (const void *)((const cudaLaunchConfig_t *)config)->stream
                                                  : (const void *)((const CUlaunchConfig *)config)->hStream;
    struct check_stream *stream = config ? stream_at(s, handle) : stream_of(s, &handle);
    if (!stream || !f)
        return;
    struct check_range r[POINTERS];
    unsigned n = 0;
    const char *buffer = NULL;
    for (void **e = extra; e && *e; e += 2) /* pairs of a name and a value: CU_LAUNCH_PARAM_BUFFER_POINTER */
        if ((uintptr_t)*e == 1)
            buffer = e[1];
    size_t offset, size;
    for (size_t i = 0; (args || buffer) && cumu_func_param(f, i, &offset, &size) == CUDA_SUCCESS; i++)
        pointers_at(args ? args[i] : buffer + offset, size, r, &n);
    struct check_call call = caller(s, handle);
    call.kernel = cumu_func_name(f);
    cumu_check_put(stream, &call, r, n);
}

/* ---- NCCL -------------------------------------------------------------------------------------- */

/* What a collective reads and writes on this rank: counts are per rank or for all ranks, and only the root has a
 * buffer in some. In a group the ranges wait for ncclGroupEnd, which is when the call happens. */
static void collective(const struct seen *s)
{
    const signed char *a = s->row->a;
    unsigned more = s->row->more;
    struct nccl_comm *c = cumu_nccl_comm((void *)(uintptr_t)argument(s, a[4]));
    size_t bytes = argument(s, a[2]) * cumu_nccl_type_size((int)argument(s, a[3]));
    if (!c)
        return;
    struct seen at = *s;
    at.device = c->device;
    bool root = a[5] >= 0 && (int)argument(s, a[5]) == c->rank;
    struct grouped g = {.comm = c, .message = a[0] < 0 || a[1] < 0};
    g.stream = stream_of(&at, &g.call.stream);
    g.call = caller(s, g.call.stream);
    g.call.collective = true;
    if (a[0] >= 0 && (root || !(more & SEND_ROOT)))
        g.ranges[0] = (struct check_range){(uintptr_t)argument(s, a[0]),
                                           bytes * (more & SEND_ALL ? (size_t)c->nranks : 1), CHECK_READS};
    if (a[1] >= 0 && (root || !(more & RECEIVE_ROOT)))
        g.ranges[1] = (struct check_range){(uintptr_t)argument(s, a[1]),
                                           bytes * (more & RECEIVE_ALL ? (size_t)c->nranks : 1), CHECK_WRITES};
    if (!g.stream)
        return;
    if (!mine.depth) {
        cumu_check_put(g.stream, &g.call, g.ranges, 2);
        return;
    }
    if (mine.n == mine.room) {
        unsigned room = mine.room * 2 + 16;
        struct grouped *grown = realloc(mine.calls, room * sizeof *grown);
        if (!grown)
            return;
        mine.calls = grown;
        mine.room = room;
    }
    mine.calls[mine.n++] = g;
}

/* The streams that a group uses with one communicator wait for each other before it and after. */
static void join_streams(void)
{
    struct check_stream **s = malloc(mine.n * sizeof *s);
    for (unsigned i = 0; i < mine.n && s; i++) {
        unsigned n = 0;
        for (unsigned k = 0; k < mine.n; k++)
            if (mine.calls[k].comm == mine.calls[i].comm)
                s[n++] = mine.calls[k].stream;
        cumu_check_join(s, n);
    }
    free(s);
}

static void compare_messages(void)
{
    for (unsigned i = 0; i < mine.n; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct grouped *a = &mine.calls[k], *b = &mine.calls[i];
            if (a->message && b->message && a->comm == b->comm)
                cumu_check_beside(&a->call, &a->ranges[!a->ranges[0].size], &b->call, &b->ranges[!b->ranges[0].size]);
        }
}

static void group_end(bool failed)
{
    if (!mine.depth || --mine.depth)
        return;
    if (!failed && mine.n) {
        compare_messages();
        join_streams();
        for (unsigned i = 0; i < mine.n; i++)
            cumu_check_put(mine.calls[i].stream, &mine.calls[i].call, mine.calls[i].ranges, 2);
        join_streams();
    }
    free(mine.calls);
    mine.calls = NULL;
    mine.n = mine.room = 0;
}

/* ---- cuBLAS ------------------------------------------------------------------------------------ */

/* Of a handle the stream is asked below; of the pointers a call is given those to the device's memory
 * count. */
static void blas(const struct seen *s)
{
    struct check_range r[POINTERS];
    unsigned n = 0;
    for (unsigned i = 1; i < s->call->count && n < POINTERS; i++) {
        const struct cumu_argument *a = &cumu_arguments[s->call->first + i];
        bool points = a->stars || a->kind == CUMU_ARG_POINTER || a->kind == CUMU_ARG_ADDRESS;
        if (points && on_device(pointer(s, (int)i)))
            r[n++] = (struct check_range){(uintptr_t)argument(s, (int)i), 1, CHECK_MAY_WRITE};
    }
    musaStream_t handle = NULL;
    bool has_handle = cumu_arguments[s->call->first].kind == CUMU_ARG_POINTER;
    if (!n || !has_handle || mu.mublasGetStream((void *)(uintptr_t)argument(s, 0), &handle) != 0)
        return;
    struct check_stream *stream = stream_at(s, handle);
    struct check_call call = caller(s, handle);
    if (stream)
        cumu_check_put(stream, &call, r, n);
}

/* ---- all of them ------------------------------------------------------------------------------- */

/* Tells the checker what a call that has returned did: moved data, ordered streams, made or freed something. A call
 * that failed did nothing, but the end of a group closes it all the same. */
static void act(const struct seen *s, bool failed)
{
    const void *handle;
    struct check_stream *stream;
    enum what what = s->row ? s->row->what : moves(s->name) ? MOVE : BLAS;
    if (what == GROUP_START && !failed)
        mine.depth++;
    else if (what == GROUP_END)
        group_end(failed);
    if (failed)
        return;
    switch (what) {
    case MOVE: move(s); return;
    case LAUNCH: launch(s); return;
    case COLLECTIVE: collective(s); return;
    case SYNC_EVENT: cumu_check_event_synced(pointer(s, s->row->a[0])); return;
    case SYNC_DEVICE: cumu_check_device_synced(s->device); return;
    case STREAM_GONE: cumu_check_stream_gone(pointer(s, 0), s->device); return;
    case EVENT_GONE: cumu_check_event_gone(pointer(s, 0)); return;
    case BLAS: blas(s); return;
    case ALLOCATE: {
        uintptr_t at = 0;
        memcpy(&at, pointer(s, 0), sizeof at);
        cumu_check_fresh(at, argument(s, 1));
        return;
    }
    case GROUP_START:
    case GROUP_END: return;
    case RECORD:
    case WAIT_EVENT:
    case WAIT_VALUE:
    case SYNC_STREAM: break;
    }
    if (!(stream = stream_of(s, &handle)))
        return;
    if (what == RECORD)
        cumu_check_record(stream, pointer(s, s->row->a[0]));
    else if (what == WAIT_EVENT)
        cumu_check_wait(stream, pointer(s, s->row->a[0]));
    else if (what == WAIT_VALUE)
        cumu_check_wait_all(stream);
    else
        cumu_check_synced(stream);
}

static void check_call(const struct cumu_prototype *c, const struct cumu_frame *f)
{
    const struct cumu_symbol *symbol = &f->facade->table->symbols[f->index];
    if (cumu_check_api_wants(f->facade->table->library, symbol->name))
        cumu_check_api_call(c, f);
    if (!orders(f->facade->table->library, symbol->name))
        return;
    if (!mine.number)
        mine.number = atomic_fetch_add(&threads, 1) + 1;
    struct seen s = {.call = c, .frame = f, .row = row_of(symbol->name), .name = symbol->name};
    (void)mu.musaGetDevice(&s.device);
    /* What NCCL does in the background has not failed. */
    bool nccl = strcmp(f->facade->table->library, "nccl") == 0;
    int result = c->status ? (int)f->result[0] : 0;
    act(&s, result && !(nccl && result == ncclInProgress));
}

static const struct cumu_upper checks = {.check_wants = check_wants, .check_call = check_call};
CUMU_UPPER(checks);
