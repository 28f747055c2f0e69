/* What streams, memory and contexts share among themselves; modules and launches need host.h
 * only. */
#ifndef CUMU_HOST_INTERNAL_H
#define CUMU_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "host/driver/host.h"

/* What cumu_host_watch was told; or NULL. */
extern const struct cumu_host_watch *_Atomic host_watched;
/* Around a call of an application's function. host_callback_end gives what cumu_host_fail said in between. */
void host_callback_begin(void);
MUresult host_callback_end(void);
/* The results of operations and what is to be told later may be such failures: what the application is told. */
MUresult host_failure_told(int failure);
static inline MUresult host_failure_code(MUresult r) { return r >= 0 ? r : host_failure_told(-r); }

MUresult host_devices_init(void);
void host_pin_library(void); /* our threads must outlive a dlclose (proc.c) */

/* ---- capture.c ------------------------------------------------------------------------------- */

extern _Atomic int host_captures; /* under way in the process; 0: none of the checks is needed */

struct graph_link { /* an edge as one of its ends sees it */
    MUgraphNode node;
    MUgraphEdgeData data;
};
struct graph_links {
    struct graph_link *at;
    uint32_t n, room;
};

/* The one place where work for a capturing stream is turned away: called for all that goes into a
 * queue. Work that can be captured became a node before it got here (host_capture_add). */
MUresult host_capture_refuse(MUstream s);
/* Before a wait for, or a question about, the stream's or (NULL) all of the context's work. */
MUresult host_capture_check_wait(MUcontext ctx, MUstream s);
static inline MUresult host_capture_wait_check(MUcontext ctx, MUstream s)
{
    return host_captures ? host_capture_check_wait(ctx, s) : MUSA_SUCCESS;
}
MUresult host_capture_event_check(MUevent e); /* the same for an event */
/* Before a call that CUDA calls potentially unsafe: allocation, frees, waits, synchronous copies. */
MUresult host_capture_unsafe(void);
/* A node in place of an operation of the capturing stream s. *node may be NULL. */
MUresult host_capture_add(MUstream s, MUgraphNodeParams *params, MUgraphNode *node);
MUresult host_capture_record(MUstream s, MUevent e);
/* *handled: the wait was one of captures; else it is to be enqueued. */
MUresult host_capture_wait(MUstream s, MUevent e, bool *handled);
void host_capture_forget_event(MUevent e); /* destroyed, or recorded outside of captures */
void host_capture_stream_gone(MUstream s);

/* ---- work.c ---------------------------------------------------------------------------------- */

/* One piece of a stream's work. Counted: the queue, the stream's tail, events and waiters hold it.
 * Everything but `done` is guarded by host_sched. */
struct host_work {
    struct host_work *next; /* in its stream */
    MUstream stream;
    struct host_op op; /* run == NULL: a mere point in the stream (event, wait) */
    int refs;
    unsigned waiting;        /* unfinished works of other streams that must come first */
    struct host_edge *edges; /* who waits for this one */
    struct host_edge *own;   /* this one's edges, inside the lists of those it waits for */
    uint64_t time;           /* nanoseconds, when it was done */
    MUresult result;
    struct host_order *order; /* order.h: where racecheck is on; else NULL */
    _Atomic int tainted;      /* what had failed in its stream and was not told when it was done */
    _Atomic uint32_t done;    /* futex: 0 pending, 1 done, 2 pending with sleepers */
};

#define HOST_STREAM_ATTRIBUTES 4
#define HOST_GREATEST_PRIORITY (-5) /* accepted and reported; it steers nothing */

struct MUstream_st {
    uint64_t slab_;
    MUcontext ctx;
    unsigned flags;
    int priority;
    bool nonblocking, legacy, per_thread;
    uint64_t id;
    /* host_sched: */
    struct host_work *head, *last; /* queue; head is running if `running` */
    struct host_work *tail;        /* last work ever enqueued, may be done; NULL if none */
    bool running, ready;
    _Atomic bool busy;               /* there is a head: read without the lock by who would wait */
    struct host_stream_order *order; /* order.c */
    _Atomic int async_error;         /* of its work that failed without poisoning: told once, by a wait for it */
    _Atomic bool doomed;             /* destroyed: freed when the queue is empty */
    /* host_graphs: */
    _Atomic(struct host_capture *) capture;              /* under way, or NULL; see capture.c */
    struct graph_links capture_deps;                     /* what the next captured node depends on */
    MUstream next_ready, next;                           /* ready list; ctx->streams */
    MUstreamAttrValue attribute[HOST_STREAM_ATTRIBUTES]; /* hints, by MUstreamAttrID */
};

/* Is its work to become nodes (host_capture_add)? */
static inline bool host_capturing(MUstream s) { return host_captures && s->capture; }

struct MUevent_st {
    uint64_t slab_;
    MUcontext ctx;
    unsigned flags;
    struct host_work *work;           /* of the last record; NULL: never recorded (host_sched) */
    struct host_shared_event *shared; /* MU_EVENT_INTERPROCESS: used instead of work */
    /* host_graphs: set while the last record is one inside a capture */
    _Atomic(struct host_capture *) capture;
    struct graph_links capture_deps;
};

extern pthread_mutex_t host_sched;
extern struct host_slab host_streams, host_events, host_contexts, host_arrays, host_pools;

uint64_t host_now(void);

/* Flags of host_submit. */
enum {
    HOST_WAIT = 1,   /* return when it has run */
    HOST_INLINE = 2, /* run on the calling thread if the stream is idle */
    HOST_CHECKED = 4 /* the caller has asked host_capture_refuse, and holds host_graphs now */
};
/* host_enqueue of a stream that host_stream_of has told. */
MUresult host_enqueue_in(MUstream s, const struct host_op *op);
/* The general form of host_enqueue. after (NULL or list of n, references stay the caller's): works
 * that must be done first. *out (may be NULL) gets a reference to the work. op may be NULL. */
MUresult host_submit(MUstream s, const struct host_op *op, struct host_work *const *after, size_t n, unsigned flags,
                     struct host_work **out);
/* A work that the calling thread does itself: from now on it is the stream's last one, and under way. NULL, and nothing
 * was done, unless the stream is idle and so is what the default stream implies. No check of captures. */
struct host_work *host_hold(MUstream s);
/* It is done, unless there is an op: then a thread of the stream does that, in the same place. */
void host_release(struct host_work *held, const struct host_op *op);
/* Non-blocking streams' later work waits for what the legacy stream has now. */
void host_fence(MUcontext ctx);
void host_work_ref(struct host_work *w);   /* host_sched held */
void host_work_unref(struct host_work *w); /* host_sched not held; NULL is fine */
bool host_work_done(const struct host_work *w);
void host_work_wait(struct host_work *w);
void host_work_synced(const struct host_work *w); /* it is done, and the host has seen that */
/* A reference to the stream's last work if that is not done, else NULL: for a wait of the host. */
struct host_work *host_stream_tail(MUstream s);
/* A work of no stream, which somebody else says is done: host_point_reach, once, which drops the
 * reference that host_point_new gave. NULL: out of memory. */
struct host_work *host_point_new(void);
void host_point_reach(struct host_work *w);
/* Runs t->run(t) on a server thread soon. */
struct host_task {
    struct host_task *next;
    void (*run)(struct host_task *t);
};
void host_task_post(struct host_task *t);

/* ---- memop.c --------------------------------------------------------------------------------- */

struct host_memops; /* checked memory operations; malloc'ed, the caller's to free */
MUresult host_memops_new(MUcontext ctx, unsigned count, const MUstreamBatchMemOpParams *ops, unsigned flags,
                         struct host_memops **made);
void host_memops_run(const struct host_memops *b);

/* ---- event.c --------------------------------------------------------------------------------- */

MUresult host_event_of(MUevent e);                        /* of a live, healthy context? */
struct host_work *host_event_work(MUevent e);             /* a reference to its last record, or NULL */
void host_event_set_work(MUevent e, struct host_work *w); /* takes the reference over */

/* ---- stream.c -------------------------------------------------------------------------------- */

/* Application's handle -> stream of a live, healthy context. */
MUresult host_stream_default(MUstream handle, MUstream *s); /* of this thread's context: the legacy one, its own */
static inline MUresult host_stream_of(MUstream handle, MUstream *s)
{
    if ((uintptr_t)handle <= (uintptr_t)MU_STREAM_PER_THREAD)
        return host_stream_default(handle, s);
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_streams, handle) || handle->doomed)
        return MUSA_ERROR_INVALID_HANDLE;
    *s = handle;
    return handle->ctx->error;
}
/* May work be done in it beside what submissions look at: nothing failed is to be told, nothing is captured? */
static inline bool host_stream_open(MUstream handle, MUstream *s)
{
    if (host_stream_of(handle, s) || (*s)->async_error || (*s)->ctx->async_error)
        return false;
    return !(host_captures && ((*s)->capture || (*s)->legacy)); /* the legacy stream's, a submission would say */
}
MUstream host_stream_new(MUcontext ctx, unsigned flags, int priority); /* NULL: out of memory */
void host_stream_free(MUstream s);  /* pending work finishes first; host_sched not held */
void host_ctx_drain(MUcontext ctx); /* host_ctx_wait without its verdict */
/* After a wait for work of the context: its sticky error, or a failure nobody has been told of yet. */
MUresult host_ctx_verdict(MUcontext ctx);
/* After a wait for the stream. What failed in it is told here even if a wait for something else was told before:
 * another thread may have waited there. */
MUresult host_stream_verdict(MUstream s);

/* ---- memory ---------------------------------------------------------------------------------- */

struct graph_memory; /* graph_memory.c */
/* Address space and pages of one device, or of one pool that processes share (arena.c), all under the
 * range lock. The name is the memfd's. */
struct host_arena *host_arena_new(const char *name, size_t capacity);
void host_arena_retire(struct host_arena *a); /* goes with its last allocation */
bool host_mem_fresh(size_t size);             /* does an allocation of that size have blocks of its own? */
int host_arena_fd(const struct host_arena *a);
/* Other processes may read how much of it is used (machine.h). */
void host_arena_show(struct host_arena *a);
bool host_in_arena(const void *p, size_t size); /* touches any arena's address range */
/* Memory of the device that lives elsewhere (vmm.c): false if so much is not free. */
bool host_device_charge(struct host_device *d, size_t size);
void host_device_refund(struct host_device *d, size_t size);

/* vmm.c: touches addresses that muMemAddressReserve gave out. */
bool host_vmm_reserved(const void *p, size_t size);
/* multicast.c: env->copies of t0_env. */
unsigned host_multicast_copies(void *ctx, uint64_t address, bool write, uint8_t **at, uint64_t *extent);
unsigned host_vmm_handle_types(const struct host_range *r); /* a mapping may be exported as, else 0 */
unsigned host_pool_handle_types(MUmemoryPool pool);         /* the same; NULL is fine */
/* Machine's device and size of a memfd of ours named `musa-WHAT-<device>`; -1 if it is no such one. */
int host_shared_fd_device(int fd, const char *what, size_t *size);
struct host_device *host_device_numbered(int number); /* by the machine's number, NULL: not visible */

/* Device memory of ctx (NULL: the driver's): reserved in the arena (NULL: the device's own), made
 * accessible, recorded. */
MUresult host_range_alloc(struct host_device *d, struct host_arena *a, MUcontext ctx, size_t size, size_t align,
                          enum host_mem_kind kind, MUmemoryPool pool, void **p);
/* Records memory that lives elsewhere (pinned, registered, managed, IPC); false if it overlaps a
 * live range or memory is short. */
bool host_range_add(const struct host_range *r);
/* Takes the range that starts at p and is of one of the kinds (mask of 1 << kind) off the books and
 * gives device pages back. false if there is none. *out (may be NULL) tells what it was. */
bool host_range_remove(const void *p, unsigned kinds, struct host_range *out);
/* Finds the range that starts at p and marks it as being freed; false if there is none, or it is
 * marked. */
bool host_range_claim(const void *p, unsigned kinds, struct host_range *out);
/* The live range that holds p is, or (NULL) is no longer, memory of a graph. */
void host_range_set_graph(const void *p, struct graph_memory *m);
/* The claimed range at p is not freed after all, and is another allocation from here on. */
void host_range_unclaim(const void *p);
/* Takes a range of any kind off the books and gives its memory back. */
void host_range_release(const struct host_range *r);
/* Any range of the context (the driver's own excepted); false: no more. */
bool host_range_of_ctx(MUcontext ctx, struct host_range *out);
void host_range_advise(const void *p, int advice, MUdevice dev); /* advice 0: a prefetch */
void host_range_access(const void *p, unsigned access);          /* of the mapping at p */
/* Where in its arena's memfd a piece of device memory lies, for another process. */
bool host_arena_offset(const void *p, int *fd, size_t *offset);
void host_memory_ctx_gone(MUcontext ctx);

/* For mend.c, between the two: whether some live range lies there; whether all of it is one arena's, and where in its
 * memfd. */
void host_books_lock(void);
void host_books_unlock(void);
bool host_range_in(uintptr_t from, size_t size);
bool host_arena_at(uintptr_t from, size_t size, int *fd, off_t *offset);

/* ---- mend.c ---------------------------------------------------------------------------------- */

/* From a fault handler: gives the inaccessible address memory that means nothing. false: it cannot have any. */
bool host_mend(uintptr_t address);
void host_mend_end(void); /* everything is as it was */
/* The same for these addresses, the books being locked. Only while host_mended. */
void host_mend_undo(uintptr_t from, uintptr_t end);
extern _Atomic bool host_mended;

#define HOST_POOL_NAME "musa-pool" /* of a shared pool's memfd: -<device>-<process>.<number> */
struct MUmemPoolHandle_st {
    uint64_t slab_;
    struct host_device *device;
    bool is_default;
    bool imported;            /* another process's: pointers come from it, memory does not */
    struct host_arena *arena; /* of its own if it can be exported, else NULL */
    int fd;                   /* of the arena; imported: ours to close */
    int pid;                  /* who made it, and its number there: what pointers are checked by */
    unsigned long long id;
    size_t max_size; /* 0 = no limit */
    uint64_t release_threshold;
    int reuse[3]; /* by attribute - 1: hints */
    _Atomic uint64_t used, held, used_high, reserved_high;
    unsigned char access[HOST_MAX_DEVICES]; /* flags given to other devices */
};

MUmemoryPool host_pool_new(struct host_device *d); /* NULL: out of memory */
/* pool.c: frees that wait in streams of the context are waited for; false if there were none. */
bool host_pool_drain(MUcontext ctx);
void host_pool_unused(const struct host_range *r); /* the program has freed it: its figure, if it is of a pool */
void host_pool_freed(const struct host_range *r);  /* memory of a pool is gone */
/* Whose memory goes with a context: the primary one's. What another context takes from a pool, or captures, is the
 * device's (NULL): streams establish its order, and it stays when that context is destroyed. */
MUcontext host_pool_owner(const struct host_device *d, MUcontext ctx);
unsigned host_pool_kinds(MUdeviceptr p); /* what may be freed there: pointers from other processes' pools too */
void host_memory_info(struct host_device *d, size_t *free_bytes, size_t *total);
uint64_t host_unique_id(void);

#define HOST_KIND(k) (1u << (k))
#define HOST_HOST_KINDS (HOST_KIND(HOST_MEM_PINNED) | HOST_KIND(HOST_MEM_REGISTERED))

size_t host_format_bytes(MUarray_format f); /* of one channel, 0 for a format we lack (array.c) */

/* array.c, mipmap.c */
MUresult host_array_make(MUcontext ctx, const MUSA_ARRAY3D_DESCRIPTOR *d, MUarray *array);
void host_array_free(MUarray a);
static inline size_t host_array_bytes(MUarray a) { return a->slice * (a->depth ? a->depth : 1); }
struct MUmipmappedArray_st {
    uint64_t slab_;
    MUcontext ctx;
    unsigned levels;
    MUarray level[17];
};
bool host_mipmap_live(MUmipmappedArray m);

/* ipc.c, ipc_event.c: the part of an event that processes share; counted. */
struct host_shared_event;
uint64_t host_process_start(int pid);                      /* in clock ticks, 0 if it is gone */
struct host_shared_event *host_shared_event_new(void);     /* NULL: out of memory */
void host_shared_event_unref(struct host_shared_event *e); /* NULL is fine */
MUresult host_shared_event_export(struct host_shared_event *e, MUipcEventHandle *handle);
MUresult host_shared_event_open(const MUipcEventHandle *handle, struct host_shared_event **e);
MUresult host_shared_event_record(struct host_shared_event *e, MUstream s);
MUresult host_shared_event_wait_in(struct host_shared_event *e, MUstream s);
bool host_shared_event_done(struct host_shared_event *e); /* the last record is reached */
void host_shared_event_wait(struct host_shared_event *e);

void host_events_ctx_gone(MUcontext ctx);
void host_arrays_ctx_gone(MUcontext ctx);
void host_mipmaps_ctx_gone(MUcontext ctx); /* before the arrays */
void host_textures_ctx_gone(MUcontext ctx);

#endif
