/* What the kernel side of the CPU driver shares: module.c, state.c, heap.c, function.c, launch.c,
 * occupancy.c, cluster.c, workers.c, fault.c.
 *
 * Locks: the module lock (module.c), the pool lock (workers.c), the print and heap locks of a
 * context's kernel state. All are leaves: nothing that takes a lock of host.h is called and nothing
 * waits while one is held (but the first malloc of a context, which takes the range lock). */
#ifndef CUMU_HOST_KERNEL_H
#define CUMU_HOST_KERNEL_H

#include <signal.h>

#include "host/driver/host.h"
#include "ptx/tier1/tier1.h"

/* ---- module.c -------------------------------------------------------------------------------- */

struct MUmod_st {
    uint64_t slab_;
    MUcontext ctx;
    MUmodule next, prev;  /* the context's list (module lock) */
    MUfunction functions; /* made by the first muModuleGetFunction of a name (module lock) */
    struct t0_module *t0;
    struct t1_object *object; /* compiled code for blocks of `shape`, or NULL */
    enum t1_shape shape;
    MUfunction serves; /* whose blocks run the object as well (module lock) */
};

struct MUfunc_st {
    uint64_t slab_;
    MUmodule module;
    MUfunction next;
    const struct t0_kernel *kernel;
    struct t0_kernel_info info;
    _Atomic int max_dynamic; /* dynamic shared memory opted into, -1 = the default */
    _Atomic int carveout, cache_config, shared_config;
    _Atomic int cluster_dims[3], large_clusters, cluster_policy; /* attributes: cluster.c */
    _Atomic uint32_t block_ns;                                   /* what a block of the last launch took, 0 = unknown */
    _Atomic uint64_t since;    /* the clock when the launch under way began; of several the first that ends zeroes it */
    _Atomic uint64_t spent_ns; /* that launches took, those that have ended */
    _Atomic(MUmodule) faster[T1_NSHAPES]; /* whose objects have taken over (written with the module lock) */
};

bool host_function_live(MUfunction f);
uint64_t host_clock_ns(void); /* monotonic */
/* Compiled code for such blocks: that of f's module, or of the function that has taken over from it; NULL: none. */
const struct t1_object *host_function_object(MUfunction f, const uint32_t block[3]);
/* Unloads what the application left in a context that nothing runs in any more. */
void host_modules_unload(MUcontext ctx);

/* ---- state.c: what a context's kernels use --------------------------------------------------- */

struct host_heap;

/* Environment of every kernel of ctx, made on first use; NULL without memory. Lives as long as the
 * context's modules do. */
const struct t0_env *host_kernel_env(MUcontext ctx);
/* A launch has ended in which assertions failed: writes their lines, says so and gives the error code. */
MUresult host_assertions_report(MUcontext ctx);

/* ---- heap.c: device-side malloc -------------------------------------------------------------- */

/* Manages `size` bytes at `base` (16-byte aligned); the caller owns that memory. The bookkeeping is
 * not in it. Threads may call at once. */
struct host_heap *host_heap_new(void *base, size_t size);
void host_heap_delete(struct host_heap *h);
void *host_heap_alloc(struct host_heap *h, size_t size); /* 16-byte aligned, or NULL */
/* False for a pointer that is not a live block of this heap; nothing happens then. */
bool host_heap_free(struct host_heap *h, void *p);

/* ---- function.c ------------------------------------------------------------------------------ */

/* Dynamic shared memory a launch of f may ask for now, in bytes. */
int host_function_max_dynamic(MUfunction f);

/* ---- launch.c -------------------------------------------------------------------------------- */

struct host_kernel_launch { /* all of a launch but its arguments */
    MUfunction f;
    uint32_t grid[3], block[3];
    unsigned shared;
    bool cooperative;
    uint32_t cluster[3]; /* what the launch asks for; zeros: nothing */
};
MUresult host_kernel_check(const struct host_kernel_launch *k); /* f may be any value */
/* Bytes that the packed arguments of f need, aligned to HOST_PARAMS_ALIGN. */
#define HOST_PARAMS_ALIGN 64
size_t host_kernel_params_size(MUfunction f);
MUresult host_kernel_pack(MUfunction f, void **params, void **extra, void *to);
/* Runs the grid on this thread and the workers, and returns when it is done. */
MUresult host_kernel_run(const struct host_kernel_launch *k, void *params);

/* ---- cluster.c ------------------------------------------------------------------------------- */

/* The launch's clusters, zeros without, and its grid in blocks, which is k's before the call. */
MUresult host_cluster_of(const struct host_kernel_launch *k, uint32_t grid[3], uint32_t cluster[3]);
uint32_t host_cluster_most(MUfunction f); /* blocks that a cluster of f may have */
bool host_cluster_attribute(MUfunction f, MUfunction_attribute attr, int *value); /* false: not one of these */
MUresult host_cluster_set_attribute(MUfunction f, MUfunction_attribute attr, int value);

/* ---- occupancy.c ----------------------------------------------------------------------------- */

/* Blocks of f that one multiprocessor holds at once; 0 if not even one fits. */
int host_occupancy(MUfunction f, unsigned threads, size_t dynamic_shared);
/* Blocks of f that its device holds at once. */
uint64_t host_resident(MUfunction f, unsigned threads, size_t dynamic_shared);
/* Blocks of f that the largest devices hold at once, however few CPUs there are; at least 1. */
uint64_t host_resident_most(MUfunction f, unsigned threads, size_t dynamic_shared);

/* ---- workers.c ------------------------------------------------------------------------------- */

/* Runs every block of g, on the calling thread and on idle workers; T0_OK or the fault of the lowest
 * block that failed. alone: the calling thread only. f: whose occupancy says how many blocks get on beside each
 * other when they wait. block_ns: what a block is thought to take, 0 = unknown. */
enum t0_fault_kind host_grid_run(struct t0_grid *g, MUfunction f, bool alone, uint32_t block_ns,
                                 struct t0_fault *fault);
/* A worker for a thread, or for a further strand of it; NULL without memory. */
struct t0_worker *host_worker_new(void);
/* Gives the calling thread, one of ours, a worker for good; false without memory. */
bool host_worker_keep(void);

/* ---- self.c ----------------------------------------------------------------------------------- */

struct cumu_task;
/* Of the calling thread, for as long as it lives. */
struct host_self {
    struct t0_worker *served; /* whose kernel it runs */
    struct cumu_task *task;   /* the call of a maths library that it runs, or works for */
};
struct host_self *host_self(void);
struct host_self *host_self_in_handler(void); /* NULL: host_self was never called here */

/* ---- fault.c --------------------------------------------------------------------------------- */

/* Puts our handler in front of the process's; cheap when it is there already. */
void host_fault_arm(void);
/* True if kernels may run on the calling thread, the application's: a fault would reach our handler, as
 * it does not block SIGSEGV, and there is stack enough. */
bool host_thread_fit(void);
/* Alternate signal stack for the calling thread of ours. */
void host_fault_stack(void);
/* From now on a memory fault of this thread inside a kernel goes to w. */
void host_fault_serve(struct t0_worker *w);
/* CUDA's own line of a failed assertion, which programs and their tests look for; its length. */
int host_fault_assertion(char *line, size_t size, const struct t0_fault *f);
/* task.c: a fault of the call of a maths library that this thread runs, or of a thread that works for one. Comes back
 * with true when the instruction can be tried again, with false for everybody else's faults. */
bool host_call_fault(int sig, const siginfo_t *info, const void *context);
/* Says what happened (one line on stderr) and gives its error code. check: of a launch that is checked, or NULL. */
struct host_memcheck_run;
MUresult host_fault_report(const struct t0_fault *f, const struct host_memcheck_run *check);

#endif
