/* Tier 1, public: a kernel as C text for the system's compiler, and the shared object that comes back. One
 * object serves one kernel, one class of block shapes and one instruction set. Warps of 32 lanes are held
 * in pieces of the machine's vector width; the object runs a whole block a call. What tier 1 cannot
 * express it refuses, and the kernel stays on tier 0. */
#ifndef CUMU_PTX_TIER1_H
#define CUMU_PTX_TIER1_H

#include "ptx/tier0/tier0.h"

#define T1_VERSION 25u /* of emitted text and of struct t1_block: part of the cache key */

/* What may be assumed of blockDim; decided by t1_shape at launch, part of the cache key. */
enum t1_shape {
    T1_SHAPE_LINEAR, /* blockDim.x a multiple of 32: whole warps, tid.x affine, tid.y and z uniform in a warp */
    T1_SHAPE_HALF,   /* whole warps, blockDim.x a multiple of 16: the same for each half of a warp */
    T1_SHAPE_FLAT,   /* other 1-D blocks: as linear, but the last warp is not whole */
    T1_SHAPE_ANY,    /* tid.* vary freely */
    T1_NSHAPES
};
enum t1_shape t1_shape(const uint32_t block[3]);
bool t1_shape_fits(enum t1_shape object, const uint32_t block[3]); /* an object of that class may run it */

enum t1_isa { T1_PLAIN, T1_AVX2, T1_AVX512, T1_NISA };
enum t1_isa t1_isa_here(void);
/* All flags of the compiler for an object, split at spaces: the caller adds only -o and the input. */
const char *t1_isa_flags(enum t1_isa isa);
/* Behind them for a text of that many bytes: large ones are compiled with fewer passes. */
const char *t1_size_flags(size_t text);
const char *t1_prelude(size_t *size); /* text in front of kernels, what each needs of it; not NUL-terminated */

/* ---- emit/: PTX -> C text (in the shim) ------------------------------------------------------- */

/* Complete text for one kernel with all functions it reaches and what it needs of the prelude; *text is malloc'ed. The
 * text depends on its arguments alone. Module variables are reached through struct t1_block's externs, in
 * the order of lir_image_extern of the image that lir_lower_kernel gives for the same kernel.
 * 0, or -1 with *diag naming what keeps the kernel on tier 0. */
int t1_emit(const struct ptx_module *m, const char *kernel, enum t1_shape shape, enum t1_isa isa, char **text,
            size_t *size, struct ptx_diag *diag);
enum {
    T1_EMIT_CHECKED = 1,        /* for tests: faults where a lane would read what another one made (emit/check.c) */
    T1_EMIT_SHARED_HEADERS = 2, /* for tests: loops that share a header stay one loop (latch.c) */
    T1_EMIT_LINES = 4,          /* with the lines of the source, or of the PTX, for debuggers */
    T1_EMIT_WATCHED = 8,        /* for launches that are watched for wrong accesses (emit/watch.c) */
    T1_EMIT_RACED = 16,         /* and for races (emit/race.c); not both */
    T1_EMIT_WHOLE = 32          /* for tests: with all of the prelude, so that kernels can share it */
};
int t1_emit_as(const struct ptx_module *m, const char *kernel, enum t1_shape shape, enum t1_isa isa, unsigned options,
               char **text, size_t *size, struct ptx_diag *diag);

/* ---- image: a tier 0 image with an object beside it ------------------------------------------- */

#define T1_IMAGE_MAGIC "cumu-t1\n"
/* What is in an image. */
struct t1_parts {
    const void *lir_image, *object;
    size_t lir_size, object_size;
    enum t1_shape shape;
    const char *path; /* a file that begins with the object, by which debuggers can find it; NULL: there is none */
};
/* muModuleLoadData takes it like a tier 0 image: launches of fitting shape run the object, others tier 0.
 * *image is malloc'ed. */
int t1_image_pack(const struct t1_parts *p, void **image, size_t *size);
/* Parts of an image; false if it is no tier 1 image or damaged. */
bool t1_image_split(const void *image, size_t size, struct t1_parts *p);

/* A driver that takes images exports these for who compiles behind a program's back. */
struct MUfunc_st;
struct MUctx_st;
#define T1_TAKE_OVER "cumu_host_take_over"
/* Blocks of f that begin from now on, those of launches under way too, run the object of compiled's module, if they
 * are of its shape; until either module is unloaded. An error: they are not one kernel of one context. */
typedef int t1_take_over(struct MUfunc_st *f, struct MUfunc_st *compiled);
#define T1_UNDER_WAY "cumu_host_under_way"
/* Whether a launch of f may be running, or is the first one and has not ended. */
typedef bool t1_under_way(struct MUfunc_st *f);
#define T1_SPENT "cumu_host_spent"
/* Nanoseconds that launches of f took, the one under way included. */
typedef uint64_t t1_spent(struct MUfunc_st *f);

/* For kernels that launch kernels: what the driver asks of who loads them, and tells. A kernel's address is a key that
 * he chooses. */
struct t1_nest_shim {
    int capability, version;                        /* 80 for 8.0; of the runtime, 12020 for 12.2 */
    const char *(*error_text)(int error, int name); /* CUDA's name of an error, or its description */
    /* A grid of this kernel is about to run in a context, and has run; times of CLOCK_MONOTONIC in ns. */
    void (*begin)(uint64_t key, struct MUctx_st *ctx, const uint32_t grid[3], const uint32_t block[3]);
    void (*end)(uint64_t key, struct MUctx_st *ctx, const uint32_t grid[3], const uint32_t block[3], unsigned shared,
                uint64_t from, uint64_t to);
};
#define T1_NEST_MEET "cumu_host_nest_meet"
typedef void t1_nest_meet(const struct t1_nest_shim *s);
#define T1_NEST_KERNEL "cumu_host_nest_kernel"
/* The key is f's in its context until its module is unloaded. */
typedef int t1_nest_kernel(uint64_t key, struct MUfunc_st *f);

/* ---- exec/: running an object (in the CPU MUSA library) --------------------------------------- */

/* What emitted code sees of a block; the prelude declares the same struct (kept equal by a test). The
 * worker fills it; `services` never return to the kernel where marked. */
struct t1_fibre;
struct t1_cluster {                     /* the barrier of a cluster's blocks */
    uint32_t live, arrived, generation; /* warps: that have not ended, that have arrived in this generation */
    uint32_t waiting, waiting_here;     /* at any barrier, which nobody has completed; at this one */
};
struct t1_block {
    uint8_t *shared; /* static, then dynamic shared memory */
    const uint8_t *params;
    const uint64_t *externs; /* addresses, in the image's order */
    uint8_t *local;          /* local_stride bytes a thread, thread-linear; NULL when unused */
    uint64_t local_stride;
    uint32_t ctaid[3], nctaid[3], ntid[3];
    uint32_t nthreads, nwarps;
    uint32_t dynamic_shared, shared_size; /* shared_size: all of it */
    uint32_t smid, nsm;
    uint64_t grid_id, envreg12, graph_exec;
    uint8_t *stacks; /* nwarps stacks of stack_size bytes, for kernels with barriers */
    uint64_t stack_size;
    struct t1_fibre *current; /* the warp that runs now; owned by the object */
    const struct t1_services *services;
    void *worker;                       /* passed back to services */
    uint8_t *cluster_shared;            /* of the cluster's rank 0; `shared` without a cluster */
    struct t1_cluster *cluster_barrier; /* set without a cluster by the object itself */
    uint32_t cluster[3], cluster_size;  /* blocks; 1 without a cluster */
    uint32_t rank, explicit_cluster;
    uint32_t patience;       /* a spin loop calls `stopped` when its turns, masked by this, are 0 */
    uint64_t left;           /* blocks that the call has not begun: `stopped` may take them */
    uint64_t shared_used;    /* bytes of shared memory that the program asked for; of watched objects, as `ranges` */
    struct t1_range *ranges; /* T1_RANGES of them, by the number of an access; odd: of those that write */
    uint32_t others_run;     /* another warp of the block does not wait at a barrier, where tcgen05.alloc asks */
};
/* Watched objects: memory that the lanes of an access may touch, as far as is known, and what the access is. */
enum { T1_RANGES = 256 };
struct t1_range {
    uint64_t base, size;
};
enum {
    T1_WATCH_WRITES = 1,
    T1_WATCH_UPDATES = 2,
    T1_WATCH_SHARED = 4,
    T1_WATCH_LOCAL = 8,
    T1_WATCH_GLOBAL = 16,
    T1_WATCH_32 = 32 /* of 32 bits */
};
struct t1_watched {
    uint32_t bytes, what, line; /* bytes of a lane; T1_WATCH_*; line of the PTX */
    uint32_t pc;                /* of raced objects: number of the instruction in the image */
    int64_t stride;             /* the same: of t1_row, for `reads` */
};
/* Raced objects: where lanes access memory. Lane l at wide[l] or narrow[l] + first[0]; if both are NULL,
 * at first[l / 16] + stride * (l % 16). */
struct t1_row {
    const uint64_t *wide;
    const uint32_t *narrow;
    uint64_t first[2];
    int64_t stride;
    uint32_t elements;    /* of what is stored: */
    const void *value[8]; /* of 32 lanes, 32 or 64 bits each */
};
/* Operands of arithmetic that emitted code has no expression for: rows as tier 0's, first destination 0,
 * sources 1 to 3, a fourth source or a second destination 4. */
struct t1_rows {
    _Alignas(64) uint64_t row[5][32];
    uint32_t carry;
};
struct t1_services {
    void (*fault)(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane, const char *text); /* noreturn */
    int32_t (*print)(struct t1_block *b, const char *format, const uint8_t *args);
    void *(*dev_malloc)(struct t1_block *b, uint64_t size);
    void (*dev_free)(struct t1_block *b, void *p);
    void (*assert_fail)(struct t1_block *b, const char *message, const char *file, uint32_t line, const char *function,
                        uint32_t warp, uint32_t lane);
    /* True: another block failed, a waiting one should give up. Other blocks of the thread may run before it
     * returns. */
    bool (*stopped)(struct t1_block *b);
    uint64_t (*clock)(void);
    uint64_t (*globaltimer)(void);
    bool (*constant)(uint64_t address); /* of a constant variable */
    bool (*parameter)(struct t1_block *b, uint64_t address);
    void (*alu)(struct t1_block *b, struct t1_rows *rows, uint32_t op, uint32_t aux, int32_t imm,
                uint32_t mask); /* t1_service_alu: tier 0's handler of `op` for the lanes in mask */
    /* Runs the code of an image made by lir_lower_single on its register file for the lanes in mask. */
    void (*exec)(struct t1_block *b, const void *image, uint8_t *regs, uint32_t warp, uint32_t mask);
    /* The lanes in mask access these addresses, one of them outside of *range, which becomes one that holds the first.
     * Does not return where a lane may not. range: NULL for offsets, which are wrong then. */
    void (*watch)(struct t1_block *b, uint32_t warp, uint32_t mask, const uint64_t address[32],
                  const struct t1_watched *at, struct t1_range *range);
    uint64_t (*device)(struct t1_block *b, uint32_t thread, uint32_t call, const uint64_t *args);
    /* Of raced objects: the lanes in mask are about to make this access; these lanes of a warp, of those that have not
     * exited, meet as far as named[] of each says (NULL: all of them); all warps of the block have met. `reads`: as
     * `race`, of reads of shared memory by lane l at (l < 16 ? first : second) + stride * (l % 16), in registers; false
     * where `race` has to be called. */
    bool (*reads)(struct t1_block *b, uint32_t warp, uint32_t mask, uint64_t first, uint64_t second,
                  const struct t1_watched *at);
    void (*race)(struct t1_block *b, uint32_t warp, uint32_t mask, const struct t1_row *row,
                 const struct t1_watched *at);
    void (*gather)(struct t1_block *b, uint32_t warp, uint32_t mask, uint32_t live, const uint32_t named[32]);
    void (*met)(struct t1_block *b);
};
void t1_service_alu(struct t1_block *b, struct t1_rows *rows, uint32_t op, uint32_t aux, int32_t imm, uint32_t mask);
/* The object's exports. */
/* "cumu_t1_run": runs `count` >= 1 blocks to completion, in linear order from ctaid on; ctaid is moved along. */
typedef void t1_entry(struct t1_block *b, uint64_t count);
struct t1_info { /* "cumu_t1_info" */
    uint32_t version, isa, shape;
    uint32_t barriers; /* 1: needs stacks */
    uint64_t stack_size;
    uint32_t watched; /* T1_EMIT_WATCHED, T1_EMIT_RACED: for launches that are watched so, and no others; or 0 */
};

#define T1_SHARED_SLACK 65536 /* unmapped beyond what 32 bits reach from `shared`, on both sides */

struct t1_object;
/* Loads the object: from the file at path, if it is the user's alone and begins with the object, else by way of a
 * memfd; path may be NULL. NULL with *why set. It must outlive its runs. */
struct t1_object *t1_object_load(const void *object, size_t size, const char *path, const char **why);
void t1_object_unload(struct t1_object *o);
unsigned t1_object_watched(const struct t1_object *o); /* t1_info.watched */
/* Ties the object to the kernel it was made of; before its first run. False: out of memory. */
bool t1_object_bind(struct t1_object *o, const struct t0_kernel *k);
/* Like t0_block_run. On a memory fault the lane is unknown to the object: it is found by running the block
 * again on tier 0, whose fault is reported. */
enum t0_fault_kind t1_block_run(struct t0_worker *w, const struct t1_object *o, const struct t0_grid *g, uint64_t block,
                                struct t0_fault *fault);
/* `count` blocks one after the other, in ascending order: for blocks so small that the entry costs. */
enum t0_fault_kind t1_blocks_run(struct t0_worker *w, const struct t1_object *o, const struct t0_grid *g,
                                 uint64_t first, uint64_t count, struct t0_fault *fault);
/* Cooperative launches and clusters, as t0_blocks_run_resident: `count` blocks that take turns. */
enum t0_fault_kind t1_blocks_run_resident(struct t0_worker *w, const struct t1_object *o, const struct t0_grid *g,
                                          uint64_t first, uint64_t count, struct t0_fault *fault);

#endif
