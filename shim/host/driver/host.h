/* Inside of the CPU MUSA driver: what its files share. Nothing here is seen by the shim.
 *
 * Locks, in the order in which they may be nested:
 *   1. contexts_lock (context.c): creation and retention of contexts; host_graphs (graph.c): graphs
 *   and captures
 *   2. host_sched (work.c): contexts' stream lists, stream queues, works, events; one for the
 * process   3. the pools' lock (pool.c), the range lock (arena.c: what is allocated), the slab
 * lock (slab.c) No lock is ever held while op->run, op->drop or an application's callback runs,
 * nor while waiting.
 */
#ifndef CUMU_HOST_H
#define CUMU_HOST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/musa.h"

/* A second exported name of a function of the same file; musa.h declares both, which exports
 * them. */
#define HOST_ALIAS(name, of) extern __typeof__(of) name __attribute__((alias(#of)))

/* ---- config.c: the only reader of the environment -------------------------------------------- */

struct host_config {
    int devices;                  /* CUMU_HOST_DEVICES, default as many as a launcher has started ranks, else 1 */
    size_t memory;                /* CUMU_HOST_MEMORY, bytes of one device */
    int log;                      /* CUMU_HOST_LOG: 0 off, 1 errors, 2 failures of work, 3 all work */
    int threads;                  /* CUMU_HOST_THREADS, default the CPUs this process may use */
    bool strict;                  /* CUMU_HOST_STRICT: accesses near allocations fault, see space.c */
    unsigned check_tools;         /* CUMU_CHECK: what looks at kernels, bits of enum t0_tool, see memcheck.h */
    bool check_leaks;             /* CUMU_CHECK_LEAKS: what is never freed is reported, too */
    int check_limit;              /* CUMU_CHECK_LIMIT: reports that are printed, 0 = all */
    unsigned check_level;         /* CUMU_CHECK_LEVEL: the least severe race that is reported, enum t0_severity */
    bool check_unused;            /* CUMU_CHECK_UNUSED: allocated bytes that nobody writes are reported, too */
    bool check_copies;            /* CUMU_CHECK_COPIES: those to the host of what nobody wrote are reported */
    long unused_from;             /* CUMU_CHECK_UNUSED_FROM: percent of an allocation at least */
    const char *check_kernels;    /* CUMU_CHECK_KERNELS, see memcheck_filter.c */
    long check_skip, check_count; /* CUMU_CHECK_LAUNCHES; count 0: all */
    bool check_goes_on;           /* CUMU_CHECK_AFTER=kernel */
    size_t check_padding;         /* CUMU_CHECK_PADDING: bytes between allocations, beyond those of space.c */
    bool check_marks;             /* reports are preceded by a line "@TOOL PROCESS" */
    const char *check_file;       /* CUMU_CHECK_FILE: what they are appended to; empty: stderr */
    bool share;                   /* CUMU_HOST_SHARE: ranks of one communicator may be on one device */
    bool launch_blocking;         /* MUSA_LAUNCH_BLOCKING */
    int visible[64];              /* ordinal -> machine's device, from MUSA_VISIBLE_DEVICES */
    int nvisible;
    const char *wrong; /* an unusable variable: muInit fails and names it; NULL if none */
};
const struct host_config *host_config(void); /* read once, at the first call */

/* One line to stderr, `cumu: host: ...`, when CUMU_HOST_LOG >= level. Does not allocate. */
void host_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line regardless of CUMU_HOST_LOG: for what a user must see (a kernel's fault, a wrong
 * variable). */
void host_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- slab.c: handles ------------------------------------------------------------------------- */

/* Objects of one kind in one reserved range, never unmapped: any value an application passes as a
 * handle can be checked in O(1) without a lock and without touching memory that is not ours. */
struct host_slab {
    const char *name;
    size_t size;                                      /* of one object; its first 8 bytes belong to the slab */
    unsigned char *base;                              /* set by the first get */
    uintptr_t end;                                    /* of the objects there have been; 0: none yet */
    size_t room;                                      /* bytes behind `base` */
    uint64_t used, first_free, last_free, free_count; /* slab.c's */
};
#define HOST_SLAB_ALIGN ((size_t)64) /* own cache lines: handles are used by different threads */
#define HOST_SLAB(type, label) \
    { \
        .name = label, .size = sizeof(type) \
    }
void *host_slab_get(struct host_slab *s);              /* zeroed, or NULL */
void host_slab_put(struct host_slab *s, void *object); /* dead from here on; reused last */
static inline bool host_slab_live(const struct host_slab *s, const void *object)
{
    const uintptr_t at = (uintptr_t)object, end = __atomic_load_n(&s->end, __ATOMIC_ACQUIRE);
    /* Not whether it is a multiple of the stride: divisions are slow, and nothing within an object holds the
     * slab's address. */
    if (at >= end || at < (uintptr_t)s->base || at % HOST_SLAB_ALIGN)
        return false;
    return __atomic_load_n((const uint64_t *)object, __ATOMIC_ACQUIRE) == (uint64_t)(uintptr_t)s;
}
void *host_slab_next(struct host_slab *s, void *after); /* walks live objects; NULL starts, ends */

/* ---- device.c -------------------------------------------------------------------------------- */

#define HOST_MAX_DEVICES 64 /* bits of host_range.accessed_by */

struct host_device {
    int ordinal;       /* what the application calls it */
    int number;        /* the machine's device, before MUSA_VISIBLE_DEVICES */
    int cores;         /* CPUs used */
    MUcontext primary; /* its struct lives for ever; alive while retained */
    struct host_arena *arena;
};
struct host_device *host_device(MUdevice ordinal); /* NULL: no such device, or not initialised */
int host_device_count(void);
/* Of the machine's device: the same in every process, different for every device. */
void host_uuid(int number, MUuuid *uuid);
/* MU_DEVICE_ATTRIBUTE_*: the value, 0 for one that this device lacks, -1 for an unknown number. */
int host_device_attribute(const struct host_device *d, int attribute);
/* Multiprocessors that programs see: the CPUs used; where they are told of clusters (9.0), enough for the largest. */
int host_multiprocessors(const struct host_device *d);

/* ---- context.c ------------------------------------------------------------------------------- */

#define HOST_LIMITS 16 /* of enum MUlimit there are fewer */
struct MUctx_st {
    uint64_t slab_;
    struct host_device *device;
    _Atomic bool alive; /* a destroyed context answers MUSA_ERROR_CONTEXT_IS_DESTROYED */
    bool primary;
    unsigned flags;
    int retained;              /* primary: Retain calls outstanding */
    uint64_t id;               /* unique over the process, changes when a primary context is reset */
    _Atomic int error;         /* sticky MUresult of this context, 0 if healthy */
    _Atomic int async_error;   /* of work that failed without poisoning: told once, by a wait */
    size_t limit[HOST_LIMITS]; /* by MUlimit */
    int cache_config, shared_config;
    unsigned char peer[HOST_MAX_DEVICES]; /* by ordinal: access enabled */
    MUstream legacy;                      /* the legacy default stream */
    MUstream streams;                     /* all streams, legacy and per-thread ones included (host_sched) */
    struct host_work *fence;              /* what non-blocking streams wait for, or NULL (host_sched) */
    void *modules;                        /* module.c's list of this context's modules (module.c's lock) */
    void *kernel_state;                   /* launch.c's: device heap, printf buffer ... */
};

/* First line of nearly every entry point: initialised, not a forked child, a live current context
 * without sticky error. *ctx (may be NULL) gets the context. */
MUresult host_enter(MUcontext *ctx);
/* Initialised and not a forked child: for calls that need no context. */
#define HOST_STACK 64                  /* contexts that a thread may push */
extern _Thread_local struct host_own { /* one object: to find a thread's own costs a call */
    bool in_callback;                  /* this thread runs an application's callback */
    int depth;
    MUcontext at[HOST_STACK];
} host_own;
extern _Atomic bool host_started;
static inline MUresult host_ready(void)
{
    if (__builtin_expect(!host_started, 0))
        return MUSA_ERROR_NOT_INITIALIZED;
    /* An application's callback must not call back: it would wait for the stream it holds up. */
    if (__builtin_expect(host_own.in_callback, 0))
        return MUSA_ERROR_NOT_PERMITTED;
    return MUSA_SUCCESS;
}
static inline MUcontext host_current(void) /* this thread's, or NULL; it may be dead or poisoned */
{
    return host_own.depth ? host_own.at[host_own.depth - 1] : NULL;
}
static inline struct host_device *host_ctx_device(MUcontext c) { return c->device; }
bool host_ctx_live(MUcontext c); /* any value may be passed */
/* Errors that poison a context: illegal address, assert, launch failure ... */
bool host_error_sticky(MUresult r);
/* Poisons ctx with r if it is sticky and the context was healthy. */
void host_ctx_fail(MUcontext ctx, MUresult r);

/* ---- stream.c, work.c: asynchronous work ----------------------------------------------------- */

enum {
    HOST_OP_ALWAYS = 1, /* run even in a poisoned context (frees, callbacks with a status) */
    HOST_OP_BRIEF = 2   /* waits for nobody and is done before another thread has woken up: on an
                         * idle stream it runs on the calling thread */
};

struct host_op {
    MUresult (*run)(void *arg); /* in stream order; skipped in a poisoned context */
    void (*drop)(void *arg);    /* once, after run or instead of it, or if enqueue fails */
    void *arg;
    const char *what; /* for the log */
    unsigned flags;
};

/* `stream` is the application's handle: a stream, 0 or MU_STREAM_LEGACY, MU_STREAM_PER_THREAD. Its
 * context is the handle's, or the current one for the special values. Ordering against the legacy
 * default stream is done here. A failure of run poisons the context when host_error_sticky, else
 * it is the result of the next synchronising call of the context. MUSA_LAUNCH_BLOCKING waits. */
MUresult host_enqueue(MUstream stream, const struct host_op *op);
/* The same, and waits until it has run; on an idle stream it runs on the calling thread, so run
 * must be short of application code and kernels. Returns run's result. */
MUresult host_enqueue_wait(MUstream stream, const struct host_op *op);
/* Context of a handle as above; MUSA_ERROR_INVALID_HANDLE for a handle that is no stream. Sticky
 * errors of that context are returned too. */
MUresult host_stream_ctx(MUstream stream, MUcontext *ctx);
/* Waits until everything enqueued so far in the context has run. */
MUresult host_ctx_wait(MUcontext ctx);
/* What a NULL stream means in the _ptsz and _ptds entry points. */
static inline MUstream host_ptsz(MUstream s) { return s ? s : MU_STREAM_PER_THREAD; }

/* ---- memory.c -------------------------------------------------------------------------------- */

enum host_mem_kind {
    HOST_MEM_DEVICE = 1, /* muMemAlloc and friends */
    HOST_MEM_INTERNAL,   /* device memory of the driver's own: module variables, arrays, heaps */
    HOST_MEM_PINNED,     /* muMemHostAlloc */
    HOST_MEM_REGISTERED, /* muMemHostRegister: the application's memory */
    HOST_MEM_MANAGED,
    HOST_MEM_IPC,   /* another process's device memory */
    HOST_MEM_MAPPED /* muMemMap: an allocation in reserved addresses (vmm.c) */
};
struct host_range { /* one live allocation */
    uintptr_t base;
    size_t size;
    enum host_mem_kind kind;
    unsigned flags; /* as given at allocation */
    struct host_device *device;
    MUcontext ctx;
    uint64_t id;                  /* MU_POINTER_ATTRIBUTE_BUFFER_ID */
    MUmemoryPool pool;            /* it came from, or NULL */
    struct host_mapping *mapping; /* HOST_MEM_MAPPED: vmm.c's, valid under its lock */
    unsigned access;              /* HOST_MEM_MAPPED: MU_MEM_ACCESS_FLAGS_*, of any device */
    bool on_host;                 /* HOST_MEM_MAPPED: memory of the host's, not of a device */
    bool multicast;               /* HOST_MEM_MAPPED: of a multicast object, which has no memory (multicast.c) */
    struct graph_memory *graph;   /* it belongs to, or NULL (graph_memory.c) */
    bool freeing;                 /* a stream-ordered free is under way */
    bool read_mostly;             /* managed memory: the advice given, for muMemRangeGetAttribute */
    MUdevice preferred, prefetched;
    uint64_t accessed_by; /* bit 0 the CPU, bit n+1 device n */
};

/* Device memory for the driver's own use (kind HOST_MEM_INTERNAL): zeroed, align a power of two,
 * at least 512. NULL when the device is full. Never freed by the application. */
void *host_mem_alloc(struct host_device *d, size_t size, size_t align);
void host_mem_free(struct host_device *d, void *p);
/* The live allocation that holds p; false if none. Copies, so the answer stays valid. */
bool host_mem_find(const void *p, struct host_range *out);
/* Bytes from p on that device code may touch: to the end of the live allocation, or of mappings side by side. */
size_t host_mem_device_extent(const void *p);
/* True if [p, p+size) is such memory. */
bool host_mem_on_device(const void *p, size_t size);
/* Managed memory of a module variable (or of muMemAllocManaged); freed by host_managed_free. */
void *host_managed_alloc(MUcontext ctx, size_t size, unsigned flags);
void host_managed_free(void *p);

/* ---- array.c --------------------------------------------------------------------------------- */

struct MUarray_st {
    uint64_t slab_;
    MUcontext ctx;
    size_t width, height, depth; /* in elements; 0 as in the descriptor */
    unsigned format, channels, flags;
    size_t element;      /* bytes of one element */
    size_t pitch, slice; /* bytes of a row and of a layer */
    bool level;          /* of a mipmapped array, which owns it */
    unsigned char *data; /* device memory, row major */
};
bool host_array_live(MUarray a);

/* ---- what the kernel side gives (module.c function.c launch.c workers.c fault.c) ------------- */

/* Once, from muInit, before any thread of ours exists: fault handler, tables. */
MUresult host_kernels_init(void);
/* First thing on every stream thread (alternate stack, ...). */
void host_kernels_thread(void);
/* After every wait of a synchronising call, on the application's thread: device printf is
 * written. */
void host_kernels_synced(MUcontext ctx);
/* The context goes (destroyed or reset): no work of it runs any more; unload its modules, free its
 * heap. */
void host_kernels_ctx_gone(MUcontext ctx);

/* Starts one detached thread of ours: named, every signal blocked but SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL and SIGTRAP. false if the system refuses. */
bool host_thread(const char *name, void *(*body)(void *), void *arg);

#endif
