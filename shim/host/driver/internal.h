/* What streams, memory and contexts share among themselves; modules and launches need host.h
 * only. */
#ifndef CUMU_HOST_INTERNAL_H
#define CUMU_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include "host/driver/host.h"

extern _Thread_local bool host_in_callback; /* this thread runs an application's callback */

MUresult host_devices_init(void);
void host_pin_library(void); /* our threads must outlive a dlclose (proc.c) */

/* ---- work.c ---------------------------------------------------------------------------------- */

/* One piece of a stream's work. Counted: the queue, the stream's tail, events and waiters hold it.
 * Everything but `done` is guarded by host_sched. */
struct host_work {
    struct host_work *next;   /* in its stream */
    MUstream stream;
    struct host_op op;        /* run == NULL: a mere point in the stream (event, wait) */
    int refs;
    unsigned waiting;         /* unfinished works of other streams that must come first */
    struct host_edge *edges;  /* who waits for this one */
    struct host_edge *own;    /* this one's edges, inside the lists of those it waits for */
    uint64_t time;            /* nanoseconds, when it was done */
    MUresult result;
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
    _Atomic bool doomed;           /* destroyed: freed when the queue is empty */
    MUstream next_ready, next;     /* ready list; ctx->streams */
    MUstreamAttrValue attribute[HOST_STREAM_ATTRIBUTES]; /* hints, by MUstreamAttrID */
};

extern pthread_mutex_t host_sched;
extern struct host_slab host_streams, host_events, host_contexts, host_arrays, host_pools;

uint64_t host_now(void);

/* Flags of host_submit. */
enum {
    HOST_WAIT = 1,    /* return when it has run */
    HOST_INLINE = 2   /* run on the calling thread if the stream is idle */
};
/* The general form of host_enqueue. after (NULL or list of n, references stay the caller's): works
 * that must be done first. *out (may be NULL) gets a reference to the work. op may be NULL. */
MUresult host_submit(MUstream s, const struct host_op *op, struct host_work *const *after, size_t n,
                     unsigned flags, struct host_work **out);
void host_work_ref(struct host_work *w);   /* host_sched held */
void host_work_unref(struct host_work *w); /* host_sched not held; NULL is fine */
bool host_work_done(const struct host_work *w);
void host_work_wait(struct host_work *w);
/* A reference to the stream's last work if that is not done, else NULL. */
struct host_work *host_stream_tail(MUstream s);

/* ---- stream.c -------------------------------------------------------------------------------- */

/* Application's handle -> stream of a live, healthy context. */
MUresult host_stream_of(MUstream handle, MUstream *s);
MUstream host_stream_new(MUcontext ctx, unsigned flags, int priority); /* NULL: out of memory */
void host_stream_free(MUstream s); /* pending work finishes first; host_sched not held */
void host_ctx_drain(MUcontext ctx); /* host_ctx_wait without its verdict */
/* After a wait: the context's sticky error, or a failure nobody has been told of yet. */
MUresult host_ctx_verdict(MUcontext ctx);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Address space and pages of one device (arena.c), all under the range lock. */
struct host_arena *host_arena_new(size_t capacity);
bool host_in_arena(const void *p, size_t size); /* touches any device's address range */

/* Device memory of ctx (NULL: the driver's): reserved, made accessible, recorded. */
MUresult host_range_alloc(struct host_device *d, MUcontext ctx, size_t size, size_t align,
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
/* Takes a range of any kind off the books and gives its memory back. */
void host_range_release(const struct host_range *r);
/* Any range of the context (the driver's own excepted); false: no more. */
bool host_range_of_ctx(MUcontext ctx, struct host_range *out);
void host_range_advise(const void *p, int advice, MUdevice dev); /* advice 0: a prefetch */
bool host_arena_offset(struct host_device *d, const void *p, int *fd, size_t *offset);
void host_memory_ctx_gone(MUcontext ctx);

/* pool.c: frees that wait in streams of the context are waited for; false if there were none. */
bool host_pool_drain(MUcontext ctx);
void host_pool_freed(MUmemoryPool pool, size_t size); /* memory of the pool is gone */
void host_memory_info(struct host_device *d, size_t *free_bytes, size_t *total);
uint64_t host_unique_id(void);

#define HOST_KIND(k) (1u << (k))
#define HOST_HOST_KINDS (HOST_KIND(HOST_MEM_PINNED) | HOST_KIND(HOST_MEM_REGISTERED))

size_t host_format_bytes(MUarray_format f); /* of one channel, 0 for a format we lack (array.c) */

/* array.c, mipmap.c */
MUresult host_array_make(MUcontext ctx, const MUSA_ARRAY3D_DESCRIPTOR *d, MUarray *array);
void host_array_free(MUarray a);
struct MUmipmappedArray_st {
    uint64_t slab_;
    MUcontext ctx;
    unsigned levels;
    MUarray level[17];
};
bool host_mipmap_live(MUmipmappedArray m);

/* ipc.c, ipc_event.c: the part of an event that processes share; counted. */
struct host_shared_event;
uint64_t host_process_start(int pid); /* in clock ticks, 0 if it is gone */
struct host_shared_event *host_shared_event_new(void); /* NULL: out of memory */
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
