/* Tier 0 execution: the state of modules, workers, blocks, warps and splits.
 *
 * A warp's live lanes are partitioned into splits, each at its own pc and call frame. One split of
 * a warp runs at a time: its mask is warp->l.mask, the others wait in warp->split[]. */
#ifndef CUMU_PTX_T0_WARP_H
#define CUMU_PTX_T0_WARP_H

#include <setjmp.h>
#include <stdatomic.h>

#include "ptx/lir/image.h"
#include "ptx/tier0/handler.h"
#include "ptx/tier0/tier0.h"

#define T0_MAX_WARPS 32   /* 1024 threads */
#define T0_BARRIERS 25    /* 16, those of the warpgroups, and the one of the cluster */
#define T0_MAX_DEPTH 4096 /* of calls in a thread */

struct t0_kernel {
    struct t0_module *module;
    const struct lir_kernel_rec *rec;
    uint64_t serial; /* unique in the process: what a worker remembers instead of the pointer */
};

struct t0_verdicts; /* undefined.c */
void t0_verdicts_free(struct t0_verdicts *v);

struct t0_module {
    struct lir_image *image; /* own copy, validated */
    struct t0_env env;
    struct t0_kernel *kernel;
    uint32_t nkernel;
    void **var;                           /* address of every variable of the image */
    struct t0_verdicts *_Atomic verdicts; /* undefined.c; NULL: none yet */
    const struct base_code *_Atomic base; /* its code by the baseline generator; NULL: none yet */
    atomic_uint_fast64_t spent;           /* cycles in the interpreter, until that is known */
    atomic_bool settled;                  /* whether there is such code is known, or somebody makes it */
};

struct t0_frame {
    struct t0_frame *parent; /* NULL = the kernel itself */
    struct t0_frame *all;    /* every frame the warp ever made */
    const struct lir_call *call;
    uint32_t fn, ret_pc, depth, refs; /* refs: splits and child frames */
    uint32_t local_base, extra;       /* bytes in the lane's local memory; extra: alloca */
    uint8_t *saved;                   /* the caller's rows (recursive calls), or NULL */
};

enum t0_split_state { T0_READY, T0_WAIT_LANES, T0_WAIT_BARRIER };
struct t0_split {
    struct t0_frame *frame;
    uint32_t pc, mask;
    uint32_t want;  /* T0_WAIT_LANES: lanes to wait for; T0_WAIT_BARRIER: barrier id */
    uint32_t stamp; /* when it last ran, for fairness */
    uint8_t state;
};

struct t0_block;
struct t0_warp {
    struct t0_lanes l;         /* first: what arithmetic handlers see */
    const struct lir_insn *at; /* instruction that may fault */
    struct t0_block *block;
    uint8_t *shared;
    uint32_t shared_size;
    const uint8_t *params;
    struct t0_frame *frame; /* of the running split */
    uint32_t pc;            /* of the running split, while it is not in the loop */
    uint32_t dead;          /* lanes that exited or never were */
    uint32_t index, nsplit;
    uint32_t spin, hold, clock;
    uint32_t passed, patience;      /* back edges while other splits stood; how many until one of them runs */
    uint32_t turn;                  /* how long that may, as `hold` counts */
    uint32_t ended;                 /* lanes of a watched launch that end behind this instruction */
    const struct t0_stored *stored; /* tools.h: what a store of compiled code writes, which has no rows; else NULL */
    bool force;                     /* the next collective goes on with whoever is there */
    bool running;                   /* l.mask, frame and pc hold a split */
    bool early;                     /* the others have had a turn before it arrives at a barrier again */
    struct t0_frame *spare, *all;
    struct t0_split split[LIR_LANES];
};

struct t0_barrier {
    uint32_t arrived[T0_MAX_WARPS];
    uint32_t arrivals, count; /* count: threads asked for, 0 = all */
    uint32_t again;           /* of threads that arrived and came once more, as FlashAttention 3's first group does */
    uint32_t popc;
    bool all, any, in_use;
};

struct t0_cluster { /* blocks that see each other's shared memory; a block without others is one */
    uint8_t *base;  /* shared memory of rank 0, that of rank n LIR_CLUSTER_STRIDE * n further */
    uint32_t size;
    uint32_t arrivals; /* at its barrier, instructions of this phase */
    struct t0_block *block[LIR_CLUSTER_MAX];
};

struct t0_block {
    struct t0_worker *worker;
    const struct t0_grid *grid;
    const struct lir_image *image;
    const struct lir_kernel_rec *rec;
    uint32_t index[3];
    uint32_t nwarp, alive;
    uint8_t *regs;
    size_t regs_stride, regs_room;
    uint8_t *shared;
    size_t shared_room;
    uint8_t *local;
    size_t local_stride, local_room;
    bool filled;     /* the rows hold what `last` of the worker says */
    bool refused;    /* lanes have ended, as memcheck refused their accesses */
    bool again;      /* tier 1's: where memcheck finds something wrong, the block is run again, which reports it */
    bool others_run; /* tier 1's: another warp than the running one does not wait at a barrier */
    struct t0_barrier barrier[T0_BARRIERS];
    struct t0_cluster *cluster, alone; /* cluster: rank 0's, where the others' is not used */
    struct race_block *race;           /* tools.h: of the first block of a cluster that is watched; or NULL */
    struct sync_block *sync;
    struct t0_warp warp[T0_MAX_WARPS];
};

struct t0_waiting { /* of blocks that only wait for others: since when, when last asked (ns); 0: they do more */
    uint64_t grid_id, since, asked;
};
struct t0_worker {
    uint32_t smid;
    struct t0_waiting waiting;
    void *scratch;           /* T0_SCRATCH bytes, when a product of tiles first asks */
    bool crowded;            /* t0_worker_crowd */
    struct t0_block **block; /* resident blocks; [0] serves ordinary launches */
    uint32_t nblock;
    struct t0_arena *arena; /* cluster.c: shared memory of resident clusters */
    uint64_t narena;
    struct t0_grid last; /* what the rows of filled blocks were made for */
    uint64_t last_serial;
    volatile bool running;
    volatile bool in_object; /* tier 1 runs, whose faults leave the same way */
    struct t1_worker *tier1; /* what tier 1 keeps here, with how to free it */
    void (*tier1_free)(struct t1_worker *);
    struct t0_warp *volatile warp; /* the warp that runs now */
    sigjmp_buf out;
    enum t0_fault_kind kind;
    uint32_t fault_lane;
    uint64_t fault_address;
    char fault_text[T0_FAULT_TEXT];
};

/* AGAIN: it may go on at once, perhaps by other code. */
enum t0_ran { T0_RAN_DONE, T0_RAN_BLOCKED, T0_RAN_TURN, T0_RAN_YIELD, T0_RAN_AGAIN };

/* sched.c */
enum t0_ran t0_warp_run(struct t0_warp *w);
void t0_warp_start(struct t0_warp *w, uint32_t mask, uint32_t pc);
void t0_sched_init(void);
/* Lets one waiting collective of the warp go on without its missing lanes; false if none waits. */
bool t0_warp_force(struct t0_warp *w);
bool t0_warp_can_run(const struct t0_warp *w);
void t0_splits_merge(struct t0_warp *w);

/* baseline.c: an image was loaded; the interpreter took so many cycles for it, which may be enough for code. */
void t0_base_loaded(struct t0_module *m);
void t0_base_spent(struct t0_module *m, uint64_t cycles);

/* frame.c */
void t0_frame_enter(struct t0_warp *w, const struct lir_call *call, uint32_t fn, uint32_t ret_pc);
void t0_frame_leave(struct t0_warp *w); /* the running split returns: sets w->pc and w->frame */
void t0_frame_drop(struct t0_warp *w, struct t0_frame *f);
void t0_frames_reset(struct t0_warp *w, bool release);     /* no split is left; release: to the system */
uint8_t *t0_local(const struct t0_warp *w, unsigned lane); /* the lane's local memory */

/* barrier.c: the running split arrives; true = goes on at once */
bool t0_bar_early(struct t0_warp *w, const struct lir_insn *i);
bool t0_bar_arrive(struct t0_warp *w, const struct lir_insn *i);
void t0_bar_exited(struct t0_block *b); /* lanes died: complete what waited for them */

/* Tensor memory lies behind shared memory, in the same window. */
#define T0_TENSOR_OFFSET ((size_t)8 << 20)
#define T0_TENSOR_BYTES ((size_t)260 << 10)
static inline size_t t0_shared_room(const struct lir_kernel_rec *rec, uint32_t dynamic)
{
    return rec->uses_tensor ? T0_TENSOR_OFFSET + T0_TENSOR_BYTES
                            : (size_t)t0_shared_size(rec->dynamic_offset + dynamic) + 64;
}
void t0_tensor_clear(uint8_t *shared); /* core_tmem.c: a block begins */

/* cluster.c */
#define T0_ROOM_SLACK 65536 /* as T1_SHARED_SLACK */
uint32_t t0_cluster_rank(const struct t0_grid *g, const uint32_t index[3]);
/* Shared memory for `count` resident blocks of a launch with clusters; false without memory. */
bool t0_arenas_prepare(struct t0_worker *w, const struct t0_grid *g, uint64_t count);
uint8_t *t0_arena_base(const struct t0_worker *w, uint64_t cluster); /* rank 0 of the n-th resident cluster */
bool t0_arena_holds(const struct t0_worker *w, const void *p);       /* reserved for an arena, accessible or not */
void t0_arenas_free(struct t0_worker *w);
/* Addresses for shared memory, not accessible yet: `below` bytes behind the start of `range`, a multiple of
 * LIR_CLUSTER_STRIDE; NULL: none. munmap gives them back. */
uint8_t *t0_reserve_shared(size_t below, size_t range);
/* Host address of `size` bytes at a shared::cluster address that is not the block's own, or at a generic address of
 * any block's shared memory; NULL: there are none. */
uint8_t *t0_far_shared(const struct t0_warp *w, uint64_t a, uint64_t size);
uint8_t *t0_generic_shared(const struct t0_warp *w, uint64_t a, uint64_t size);
/* The running split arrives at the cluster's barrier, or waits there: true = goes on at once. */
bool t0_cluster_arrive(struct t0_warp *w, bool waits);
void t0_cluster_exited(struct t0_cluster *c); /* lanes died */
void t0_cluster_handlers(t0_handler *table[LIR_NOPS]);

/* constants.c: variables in the window of .const */
bool t0_constant_add(const void *p, uint64_t size); /* false: out of memory */
void t0_constant_remove(const void *p);
bool t0_constant(uint64_t address);

/* fault.c */
_Noreturn void t0_raise(struct t0_warp *w, const struct lir_insn *i, enum t0_fault_kind kind, unsigned lane,
                        uint64_t address);
/* Leaves the blocks of a worker that only waits, as T0_STOPPED. */
_Noreturn void t0_give_up(struct t0_worker *worker);
/* Whether blocks of this worker, which only wait, do so for a thread that memcheck has ended: when they have been asked
 * again and again for a second. Devices end a kernel at its first refused access. */
bool t0_waits_in_vain(const struct t0_grid *g, struct t0_waiting *w);
_Noreturn void t0_raise_text(struct t0_warp *w, const struct lir_insn *i, enum t0_fault_kind kind, unsigned lane,
                             const char *text);
void t0_fault_fill(struct t0_worker *w, struct t0_fault *fault);
struct t0_source t0_source(const struct lir_image *image, uint32_t line); /* of a PTX line; texts of the image */
uint32_t t0_lane_of_address(const struct t0_warp *w, uint64_t *address);

/* block.c */
void t0_thread_index(const struct t0_block *b, uint32_t linear, uint32_t out[3]);
/* core_sreg.c: value of a special register that is fixed for a lane of a warp during a block */
uint64_t t0_sreg_fixed(const struct t0_block *b, unsigned warp, unsigned lane, unsigned sreg);

/* core_atomics.c: one update of memory by enum ptx_sub, returning what was there, and the bytes of a type
 * (0: not one that is updated; 16: not by t0_atomic_one). */
uint64_t t0_atomic_one(void *p, unsigned type, unsigned op, uint64_t b, uint64_t c);
unsigned t0_atomic_size(unsigned type);

/* printf.c: returns the number of conversions, or -1 */
int t0_printf(const struct t0_env *env, const char *format, const uint8_t *args);

extern t0_handler *lir_table[LIR_NOPS];
/* watch.c: the table of launches that are watched, after all others. */
void t0_watch_handlers(t0_handler *table[LIR_NOPS]);
/* Fills *p for a lane at an instruction, with its callers: of the running split. */
struct t0_place;
void t0_place_of(const struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct t0_place *p);
/* A thread of a watched launch frees what is no block of the heap. */
void t0_watch_free(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t address);
void t0_memory_handlers(t0_handler *table[LIR_NOPS]);
void t0_core_avx2(t0_handler *table[LIR_NOPS]);     /* after the others, if t0_alu_level() is 3 */
void t0_core_avx512(t0_handler *table[LIR_NOPS]);   /* the same, 4 */
void t0_vector_avx512(t0_handler *table[LIR_NOPS]); /* by t0_core_avx512 */
int t0_alu_level(void);                             /* alu.c: level of this CPU, 1, 3 or 4 */
void t0_atomic_handlers(t0_handler *table[LIR_NOPS]);
void t0_warp_handlers(t0_handler *table[LIR_NOPS]);
void t0_misc_handlers(t0_handler *table[LIR_NOPS]);
void t0_texture_handlers(t0_handler *table[LIR_NOPS]);
void t0_async_handlers(t0_handler *table[LIR_NOPS]);
void t0_matrix_handlers(t0_handler *table[LIR_NOPS]);
void t0_tensor_handlers(t0_handler *table[LIR_NOPS]);
void t0_call_handlers(t0_handler *table[LIR_NOPS]);

#define T0_FOR_LANES(lane, mask) \
    for (uint32_t lanes_ = (mask), lane = 0; lanes_ && ((lane = (uint32_t)__builtin_ctz(lanes_)), true); \
         lanes_ &= lanes_ - 1)

#endif
