/* Tier 0, public: the interpreter (in the CPU MUSA library), which runs an image's blocks warp by warp. The image is
 * the only thing that crosses between the shim, which lowers PTX (ptx/lir), and the library. */
#ifndef CUMU_PTX_TIER0_H
#define CUMU_PTX_TIER0_H

#include "ptx/lir/lir.h"

struct t0_fault;
struct t0_grid;
enum { T0_COPIES = 64 }; /* devices of a multicast object, at most */
struct t0_env {          /* what the machine below gives to kernels; ctx is passed back */
    void *ctx;
    void *(*global_alloc)(void *ctx, size_t size, size_t align); /* zeroed; freed by global_free */
    void (*global_free)(void *ctx, void *p);
    void (*global_constant)(void *ctx, void *p);            /* kernels may only read it; NULL: nobody wants to know */
    void *(*dev_malloc)(void *ctx, size_t size);            /* device-side malloc(); NULL when the heap is full */
    bool (*dev_free)(void *ctx, void *p);                   /* false: it is no live block of the heap */
    void (*print)(void *ctx, const char *text, size_t len); /* printf output, in order within a block */
    /* A thread's assertion failed: the thread ends, all others go on. NULL: it is a fault that ends the block. */
    void (*assertion)(void *ctx, const struct t0_fault *fault);
    /* A thread calls the device runtime (enum lir_device_call; args: words of 64 bits). NULL: there is none, which is
     * CUDA's cudaErrorNotSupported. */
    uint64_t (*device)(const struct t0_grid *g, const uint32_t block[3], uint32_t thread, uint32_t call,
                       const uint64_t *args);
    /* The memory of each device behind a multicast address, in at[], and how far on it lies together; 0: it is no such
     * address, or some device has bound no memory there, or may not do that. NULL: there are none. */
    unsigned (*copies)(void *ctx, uint64_t address, bool write, uint8_t *at[T0_COPIES], uint64_t *extent);
};

enum t0_fault_kind {
    T0_OK,
    T0_FAULT_TRAP,
    T0_FAULT_ASSERT,
    T0_FAULT_ADDRESS,
    T0_FAULT_MISALIGNED,
    T0_FAULT_STACK,
    T0_FAULT_INVALID_PC,
    T0_FAULT_SHARED, /* shared access outside the block's shared memory */
    T0_FAULT_DEADLOCK,
    T0_FAULT_NOMEM,
    T0_STOPPED,          /* not a fault of this block: it only waited, and grid->stop said to give up */
    T0_FAULT_INSTRUCTION /* of a tile: what its descriptor or tensor map says cannot be */
};
#define T0_FAULT_TEXT 512 /* bytes of a message */
struct t0_source { /* of the program: file and line, and where that function was inlined; NULL and 0: unknown, not */
    const char *file, *call_file;
    uint32_t line, call_line;
};
struct t0_fault {
    enum t0_fault_kind kind;
    const char *kernel;
    uint32_t block[3], thread[3]; /* first lane at fault */
    uint64_t address;
    uint32_t line;            /* PTX line */
    struct t0_source source;  /* what that comes of; texts of the kernel's module */
    char text[T0_FAULT_TEXT]; /* instruction as PTX text, or the assertion */
};

struct t0_module;
struct t0_kernel; /* owned by its module */

/* Whether kernels run by code of the baseline generator (ptx/base), which is made once as much time has gone into
 * interpreting them as making it takes, or at once. For modules that are loaded from now on; watched launches never
 * do. */
enum t0_baseline { T0_BASELINE_NEVER, T0_BASELINE_WHEN_HOT, T0_BASELINE_AT_ONCE };
void t0_baseline(enum t0_baseline when);

/* Validates everything it later relies on (offsets, counts, opcodes): a corrupt image is refused with
 * *why set (NULL: there is no memory), never run. Defines the image's variables through env->global_alloc. */
struct t0_module *t0_module_load(const void *image, size_t size, const struct t0_env *env, const char **why);
void t0_module_unload(struct t0_module *m);
struct t0_kernel *t0_module_kernel(struct t0_module *m, const char *name);
/* Variable by name: its address and size; 0, or -1. */
int t0_module_global(struct t0_module *m, const char *name, void **address, size_t *size);

struct t0_kernel_info {
    const char *name;
    uint32_t nparam, param_size;
    const struct lir_param *param;
    uint32_t shared_size; /* static shared memory, bytes */
    uint32_t local_size;  /* per thread */
    uint32_t num_regs;    /* what attributes report: PTX registers in 32-bit units, as launch bounds allow */
    uint32_t max_threads; /* from .maxntid/.reqntid, else 1024 */
    uint32_t reqntid[3];  /* 0 = none */
    struct lir_cluster_info cluster;
    bool uses_grid_sync; /* reads %envreg1/2 */
    bool may_wait;       /* a loop may watch memory that others write, or calls hide one */
    bool launches;       /* calls the device runtime */
    bool cancels;        /* blocks take over others (t0_grid's cancel) */
};
void t0_kernel_info(const struct t0_kernel *k, struct t0_kernel_info *out);

/* Shared memory of a block that holds `used` bytes: devices give it out in units of 128, and programs read
 * a vector past their own end of it (seen in Numba). */
static inline uint32_t t0_shared_size(uint32_t used) { return used + (-used & 127); }

struct t0_rest { /* blocks in a row that were given to a call, which has not begun them */
    uint64_t first, count;
};

struct t0_watch; /* watch.h */
struct t0_grid { /* one launch; constant while it runs */
    const struct t0_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared;
    const void *params; /* launch buffer of param_size bytes */
    const struct t0_env *env;
    uint64_t grid_id;
    uint64_t envreg12;            /* %envreg2:%envreg1, workspace of grid-wide barriers */
    uint64_t graph_exec;          /* %current_graph_exec */
    uint32_t nsm;                 /* %nsmid */
    uint32_t cluster[3];          /* blocks of a cluster, which divide the grid; 0 = launched without */
    bool cooperative;             /* blocks wait for each other: one that does yields soon */
    const struct t0_watch *watch; /* what accesses are checked by, NULL: nothing */
    void *nest;                   /* of env->device's owner: what the launch is among those that kernels launch */
    const _Atomic bool *ended;    /* as stop, of all launches that belong together; NULL = never */
    const _Atomic bool *stop;     /* set by anyone: blocks that only spin give up; NULL = never */
    _Atomic bool *asserted;       /* set by the first assertion that fails, for blocks that spin the same; or NULL */
    _Atomic bool *refused;        /* set by the first access that memcheck refuses: t0_waits_in_vain; or NULL */
    /* Called by blocks that have waited for long: may run other blocks, with other workers, before it returns.
     * It may take the rest, whose count is then 0. True: others are under way on this thread, so that the block
     * had better wait for less long the next time. NULL: nobody to give way to. */
    bool (*yield)(struct t0_rest *rest);
    /* Called by a block that asks to take over a cluster that has not begun, which then never does; *first is the
     * number of its first block. False: none is left. NULL: there never is one. */
    bool (*cancel)(uint64_t *first);
};

static inline bool t0_grid_stopped(const struct t0_grid *g)
{
    return (g->stop && *g->stop) || (g->ended && *g->ended) || (g->asserted && *g->asserted);
}
/* What CUDA prints of it but for the indices; any text may be NULL. */
void t0_assertion_text(char text[T0_FAULT_TEXT], const char *message, const char *file, uint32_t line,
                       const char *function);
uint64_t t0_device_call(const struct t0_grid *g, const uint32_t block[3], uint32_t thread, uint32_t call,
                        const uint64_t *args);
/* An assertion of this thread has failed. False: the launch has nobody to tell, it is a fault. */
bool t0_assertion(const struct t0_grid *g, const uint32_t block[3], const uint32_t thread[3], const char *text);

/* A worker holds the memory one OS thread needs to run blocks: registers, shared arena, local memory.
 * Reused from block to block, grows on demand. */
struct t0_worker;
struct t0_worker *t0_worker_new(uint32_t smid);
/* From now on its thread has blocks of other workers under way too: one that waits yields soon. */
void t0_worker_crowd(struct t0_worker *w);
void t0_worker_free(struct t0_worker *w);

/* Blocks are numbered cluster by cluster: the ranks of the first cluster, those of the next one (x fastest in
 * both). Without clusters that is the order of their indices. */
uint32_t t0_cluster_size(const struct t0_grid *g); /* blocks of a cluster, 1 without */
void t0_block_index(const struct t0_grid *g, uint64_t number, uint32_t index[3]);
uint64_t t0_block_number(const struct t0_grid *g, const uint32_t index[3]);

/* Runs the block of this number to completion, of a launch without clusters. T0_OK or the fault. */
enum t0_fault_kind t0_block_run(struct t0_worker *w, const struct t0_grid *g, uint64_t block, struct t0_fault *fault);
/* Cooperative launches and clusters: all `count` blocks, whole clusters of them, are resident on this worker and
 * take turns whenever one spins or waits; returns when all are done. */
enum t0_fault_kind t0_blocks_run_resident(struct t0_worker *w, const struct t0_grid *g, uint64_t first, uint64_t count,
                                          struct t0_fault *fault);
/* Called by the SIGSEGV/SIGBUS handler on a worker's own thread: true if the worker was executing a
 * kernel's memory access, in which case it does not return (jumps back into t0_block_run). */
bool t0_worker_memory_fault(struct t0_worker *w, const void *address, bool misaligned);

#endif
