/* Emitting a kernel as warp-vector C: what the parts share. Errors leave through t1_fail.
 * Why C, vectors of the machine's width, one scalar for what is uniform: mapping/facts/ptx.md W1 to W4.
 *
 * Names in the emitted text
 *   v12            value 12: uniform, or lane 0's value of an affine one (predicates: 0 or 1)
 *   v12g0 v12g1    the same for each half of a warp
 *   v12_0 v12_1 .. its pieces when it varies: P pieces of 32-bit lanes, 2P of 64-bit ones
 *   v12m           its lanes as a mask, when it is a varying predicate
 *   v12c_0 ..      the same as the comparison left it, for each piece: a t1_c32 or t1_c64
 *   s12[32]        what each lane made of it, in the checked form alone
 *   x12_0, x12m    per-lane copy of a value that lanes take out of a loop in different rounds
 *   p7             lanes waiting to run block 7;  m: lanes that run this block;  live: lanes not exited
 *   B7 S7          block 7 and the place behind it
 *   b warp         struct t1_block *, index of the warp;  smem params: from b
 *
 * What the prelude gives (k, q, h, scale and other numbers below are constants; N = T1_N lanes a piece):
 *   types     pu32 pu64 ph32 (N/2 lanes of 32 bits); vector operators + - * & | ^ ~ << >> work on them
 *   masks     T1_MASK32(m, k) T1_MASK64(m, q): bits of piece k of a warp mask; T1_FOR_LANES(l, m) loops
 *   make      t1_splat_u32(x) t1_splat_u64(x) t1_ramp_u32(base, stride, k) t1_ramp_u64(base, stride, q):
 *             lane i = base + stride * (k * N + i), or (q * N/2 + i)
 *   halves    t1_half_u32(piece, h) -> ph32; t1_join_u32(ph32, ph32) -> pu32
 *             t1_zext_u32(ph32) t1_sext_u32(ph32) -> pu64; t1_trunc_u64(pu64) t1_high_u64(pu64) -> ph32
 *   blend     t1_blend_u32(bits, old, new) t1_blend_u64: new where the bit is set
 *   memory    t1_load_T(ptr) t1_maskload_T(bits, ptr) t1_store_T(ptr, v) t1_maskstore_T(bits, ptr, v),
 *             T = u8 s8 u16 s16 u32 (in pu32) and u64 (in pu64), stores without s8 s16; unaligned;
 *             inactive lanes of a load are 0
 *             t1_gather_T(bits, base, idx, scale) t1_scatter_T(bits, base, idx, v, scale): idx is pu32 for
 *             T of up to 32 bits, ph32 for u64, taken as signed; scale 1 2 4 8
 *             t1_gather64_T(bits, a_lo, a_hi) t1_scatter64_T(bits, a_lo, a_hi, v): pu64 addresses; u64: one
 *             pu64, t1_gather64_u64(bits, a), t1_scatter64_u64(bits, a, v)
 *   scalars   t1_ld_T(ptr) -> uint32_t / uint64_t, t1_st_T(ptr, v): one unaligned access
 *   lanes     t1_perm_u32(idx, v_0, .., v_{P-1}): lane idx[i] (0..31) of the whole warp value, for one piece
 *             t1_spill_u32(uint32_t *, k, v) t1_fill_u32(const uint32_t *, k), _u64: to and from uint_t[32]
 *   atomics   t1_atom_OP_T(ptr, b) returns the old value; OP = add min max inc dec and or xor exch,
 *             t1_atom_cas_T(ptr, compare, value); T = u32 s32 u64 s64 f32 f64 u16 f16 bf16 f16x2 bf16x2;
 *             all in raw containers. t1_satom_OP_T: the same on shared memory, no lock prefix
 *   warp      t1_match_any_u32/u64(m, const a[32], uint32_t d[32]), t1_match_all_u32/u64(...) returns pred mask
 *             t1_redux_OP_T(m, const uint32_t a[32]) -> uint32_t
 *             t1_shfl_lanes(mode, lanes, b, c, &bits in range) -> pu32 of source lanes; mode 0 up 1 down 2 bfly 3 idx
 *   clusters  t1_cluster_arrive(b) t1_cluster_wait(b): the barrier of a cluster's blocks, of a warp
 *             T1_FAR(b, a): flat address of a shared::cluster address, T1_NEAR the reverse; T1_MAPA(b, a, rank)
 *             T1_MAPA_FAR(b, a, rank) T1_RANK_OF(b, a) T1_FAR_RANK(b, a): of generic and of shared::cluster
 *             addresses; all of scalars as of pieces
 *   control   t1_bar(b, id, live) whole-block barrier; t1_bar_popc(b, id, count, m, live, with), t1_bar_and, t1_bar_or
 *             -> uint32_t: count 0 = all, with = lanes of m that have the predicate; t1_part(b, id, count, m, live,
 *             waits, with, without) one of part of a block; t1_yield(b) for spin loops; t1_fence()
 *             T1_COMPILER_FENCE()
 *             T1_TRAP(b, warp, m): services->fault(T0_FAULT_TRAP)
 *   before the prelude the text defines T1_FIBRES and T1_SPINS (0 or 1: warps are fibres; they may yield
 *   other than at barriers) and T1_SHAPE; behind everything stands T1_MAIN(t1_kernel), which defines cumu_t1_run and
 *   cumu_t1_info; void t1_kernel(struct t1_block *b, uint32_t warp, uint32_t live) runs one warp. */
#ifndef CUMU_PTX_T1_EMIT_H
#define CUMU_PTX_T1_EMIT_H

#include <setjmp.h>
#include <string.h>

#include "ptx/analysis/analyse.h"
#include "ptx/buffer.h"
#include "ptx/analysis/calls.h"
#include "ptx/tier1/emit/alu.h"
#include "ptx/tier1/tier1.h"

enum { T1_MOST_GIVEN = 12 };
enum t1_rep { T1_U, T1_G, T1_V }; /* one scalar (and stride), one for each half of a warp, pieces */

/* A source: what an instruction reads. Scalars are lane 0's (or the half's first lane's) value. */
struct t1_arg {
    uint8_t kind, rep; /* container as the instruction sees it */
    bool narrowed;     /* V: held in 64 bits, read as 32 */
    int64_t stride;
    const char *s[2];
    const char *v; /* V: pieces are v_0, v_1 ...; predicates: v is the mask's name */
    const char *c; /* V predicates: the comparison by pieces, c_0, c_1 ..., or NULL; */
    bool c_wide;   /* of 64 bits */
};

struct t1_value {
    uint8_t kind, rep;
    bool used, again; /* again: more than once */
    bool escapes;     /* read outside a loop that lanes leave in different rounds */
    bool global;      /* declared at the top of the function, */
    int32_t next;     /* and begun where info.begun lists it; the list ends with -1 */
    bool floats;      /* some instruction takes it for one */
    uint16_t home;    /* one more than its place in the frame (home.c); 0: it has none */
    uint8_t pieces;   /* V predicates: 32 or 64 when its block has the comparison by pieces of that width */
};

struct t1_block_info {
    bool div;        /* runs under a mask of its own */
    bool pend;       /* somebody deposits lanes for it */
    int32_t begun;   /* values that are something from here on: a list by t1_value.next, or -1 */
    bool target;     /* label is needed */
    uint8_t turn;    /* rounds of its loop between two yields of a warp; 0: it reads no rows */
    uint32_t masked; /* loads and stores under its mask, of rows; an atomic counts twice */
    bool loses;      /* lanes leave the kernel in the middle of it */
    uint32_t run;    /* last block of the run of divergent blocks that holds it */
};

enum { T1_WAITS = 1, T1_WAITS_WITHIN = 2 }; /* of a loop */

struct t1_var_place { /* shared variables; .param variables of functions */
    const struct ptx_var *var;
    uint32_t offset;
};

struct t1_word { /* of what an instruction stores */
    uint32_t instr, element;
};
struct t1_together { /* bytes of each lane that move at once, for the loads or stores `from` to `until` */
    int32_t root;    /* the value that they lie `first` behind */
    unsigned space, size;
    int64_t first;
    uint32_t from, until;
    const char *words;        /* of loads */
    struct t1_word source[8]; /* of stores, which wait for the last of them, by word */
};

struct t1_emit {
    const struct ptx_module *module;
    struct ptx_diag *diag;
    jmp_buf out;
    struct ptx_arena *arena;
    enum t1_shape shape;
    enum t1_isa isa;
    unsigned np, nl; /* pieces of a 32-bit warp value, lanes of a piece */
    struct ptx_text text, top;
    const char *const *externs; /* names, in the image's order */
    uint32_t nextern;
    struct ptx_calls reached;
    struct t1_var_place *shared;
    uint32_t nshared, shared_cap, shared_top, dynamic_align;
    bool fibres, spins, clusters, parts; /* clusters: it has barriers of them; parts: of part of a block */
    struct t1_param {
        uint32_t offset;
        const char *t;
    } * param; /* loads of kernel parameters */
    uint32_t nparam, param_cap;
    bool checked, separate;                /* T1_EMIT_CHECKED; not T1_EMIT_SHARED_HEADERS */
    bool deep;                             /* calls handlers, which need more of a stack */
    bool matrices;                         /* uses prelude/matrix.h */
    bool whole;                            /* T1_EMIT_WHOLE */
    const char *heading;                   /* of the kernel's text: qualifiers and name; NULL: the usual one */
    struct ptx_given given[T1_MOST_GIVEN]; /* what its second text assumes: given.c */
    uint32_t ngiven;
    struct t1_fragment *fragment;              /* unpacked factors that the block in work has at hand: matrix.c */
    uint32_t fragment_clock, fragment_size[2]; /* words of the largest A, B */
    uint32_t *sums_at;                         /* by instruction: one more than where sums of a product wait for it */
    uint8_t *sums_busy;                        /* places of such sums that are taken */
    uint32_t sums;                             /* places in all */
    struct {                                   /* a product that waits for one with the same A, if `name` */
        const char *name, *a, *b;
        unsigned ktiles, at;
    } held;
    uint32_t factors;              /* the most places of factors that a block has at hand: factor.c */
    bool multiplies;               /* it has products by mma */
    uint32_t temps;                /* numbers of temporary names given out */
    bool lines, watched, raced;    /* T1_EMIT_LINES, T1_EMIT_WATCHED, T1_EMIT_RACED */
    const struct lir_image *image; /* the kernel's, as tier 0 runs it */
    uint32_t places;               /* accesses that keep a range */

    /* the function in work */
    struct ptx_func *f;
    struct t1_value *value;
    struct t1_block_info *info;
    uint32_t block;             /* the block in work */
    uint32_t at;                /* the instruction in work */
    const struct ptx_instr *in; /* it, for messages; NULL between instructions */
    const char *mask;           /* lanes that run it: an expression without side effects */
    bool guarded;               /* mask was narrowed by a guard and may be empty */
    uint8_t *waits;             /* by header: T1_WAITS, the loop may wait for other threads, or one inside it */
    uint8_t *effects;           /* by number of a module's function: depend.c */
    uint8_t *read;              /* by value: where t1_values_read notes them */
    bool loose;                 /* it has loose blocks */
    bool zeros;                 /* its values begin as zeros at its top */
    uint32_t index;             /* of the function among those reached */
    uint32_t *param_at;         /* bytes of its .param variables; */
    uint32_t param_top;         /* bytes of all */
    uint64_t sregs;             /* special registers that the prologue must provide */
    bool uses_cc, yields;
    uint32_t homes, frame; /* home.c: places of registers, bytes of the frame that has them */
    uint16_t *home_of;     /* by register, one more than its place; 0: it has none */
    uint32_t rows;         /* places where the last round's address is kept */
    struct {
        int32_t value;
        uint32_t imm, low;
    } tested[8]; /* addresses known to be aligned, in this block */
    uint32_t ntested;
    int32_t looked_at[8]; /* addresses of factors, in this block */
    uint32_t nlooked_at;
    struct t1_together together[8];
    uint32_t ntogether;
    int32_t ahead[8]; /* values whose surroundings the block has prefetched */
    uint32_t nahead;
};

/* A block begins: what is known, or at hand, is of the one before. */
static inline void t1_forget(struct t1_emit *e)
{
    e->ntested = e->nahead = e->nlooked_at = 0;
    memset(e->together, 0, sizeof e->together);
}

/* text.c */
_Noreturn void t1_fail(struct t1_emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *t1_alloc(struct t1_emit *e, size_t count, size_t size); /* zeroed, lives as long as e */
const char *t1_str(struct t1_emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void t1_put(struct t1_emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void t1_write(struct t1_emit *e, struct ptx_text *t, const char *s, size_t n);
/* prelude.c: what of the prelude a kernel of that text needs. */
void t1_put_prelude(struct t1_emit *e, const char *kernel, size_t size);

/* loose.c: blocks that lanes run at different times */
void t1_loosen(struct t1_emit *e, uint32_t header, uint32_t exit); /* a loop, and what its leavers do */
bool t1_held(struct t1_emit *e, uint32_t k);                       /* lanes in block k wait for others */
void t1_loose_after(struct t1_emit *e, uint32_t k); /* behind block k: rounds of loops, and all that waits */

/* home.c: of a function that has been planned; in front of its text and behind it. */
void t1_find_homes(struct t1_emit *e);
void t1_put_homes(struct t1_emit *e);
void t1_end_homes(struct t1_emit *e);
uint32_t t1_home_row(uint32_t home);

/* flush.c */
void t1_spare_flushes(struct t1_emit *e, struct t1_op *op);

/* kernel.c: a barrier of its block, but not one of all threads whose number is written there. */
bool t1_of_part(const struct ptx_instr *in);

#define T1_KERNEL_PARAMETERS \
    "(struct t1_block *b, const struct t1_block *g, const struct t1_args *args, uint32_t warp, uint32_t live)"

/* given.c: what is assumed of the parameters of a kernel that was analysed, and then, once it was analysed with that,
 * more; the choice between its two texts. */
uint32_t t1_find_given(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN]);
bool t1_find_more(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN], uint32_t *ngiven);
void t1_put_choice(struct t1_emit *e);
const char *t1_given(struct t1_emit *e); /* whether a launch's parameters are such, as an expression of args */
/* stride.c, divisor.c: parameters that are strides of arrays in memory, those by which lanes' numbers are divided. */
uint32_t t1_find_strides(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN]);
uint32_t t1_find_divisors(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN]);
/* stride.c. The value is a parameter, converted or not, times a power of two that is added to *shift. */
bool t1_parameter(const struct ptx_func *f, int32_t value, struct ptx_parameter *p, int *shift);

/* plan.c: what blocks and values are, before anything is written */
void t1_plan(struct t1_emit *e);
/* Marks the values that the block's instructions, and the phis behind it, read. */
void t1_values_read(struct t1_emit *e, uint32_t block, uint8_t *read);

/* line.c: nothing without e->lines */
void t1_mark_line(struct t1_emit *e, const struct ptx_instr *in); /* what follows is this instruction's */
void t1_spread_lines(struct t1_emit *e);                          /* over the text in work, once it is whole */
const char *t1_c_name(struct t1_emit *e, const char *kernel);

/* check.c: nothing, unless the kernel is emitted in its checked form */
void t1_check_declare(struct t1_emit *e);
void t1_check_read(struct t1_emit *e, uint32_t k); /* at the head of block k */
void t1_check_made(struct t1_emit *e, uint32_t k); /* at its end */
void t1_check_copy(struct t1_emit *e, int32_t phi, const struct t1_arg *a, const char *mask);

bool t1_parts_lanes(const struct ptx_func *f, uint32_t b); /* the branch at its end */

/* depend.c: e->waits, and e->spins if there is any such loop */
void t1_find_waits(struct t1_emit *e);
bool t1_call_meets(struct t1_emit *e, const struct ptx_instr *in); /* lanes do, in what it calls */
bool t1_call_waits(struct t1_emit *e, const struct ptx_instr *in); /* there may be a loop that waits */

/* wait.c: before t1_plan; more blocks have been made loose, or must be once blocks begin where lanes meet */
bool t1_must_be_loose(struct t1_emit *e);
bool t1_meets_all(const struct ptx_instr *in);
/* No more than one lane of a warp runs the block, whatever the launch. */
bool t1_one_lane(const struct t1_emit *e, uint32_t block);

/* value.c */
uint8_t t1_kind_of(struct t1_emit *e, unsigned type);
/* Source operand; value = its SSA value when it is a register. kind: container it is read in. */
struct t1_arg t1_source(struct t1_emit *e, const struct ptx_opnd *o, int32_t value, unsigned kind);
struct t1_arg t1_value_arg(struct t1_emit *e, int32_t value, uint32_t use_block);
struct t1_arg t1_src(struct t1_emit *e, unsigned k, unsigned kind); /* source k of e->in */
struct t1_arg t1_const(struct t1_emit *e, unsigned kind, uint64_t v);
const char *t1_scalar(struct t1_emit *e, const struct t1_arg *a, unsigned h);
const char *t1_piece(struct t1_emit *e, const struct t1_arg *a, unsigned k); /* k: of the container's pieces */
const char *t1_half(struct t1_emit *e, const struct t1_arg *a, unsigned q);  /* 32 bits: ph32 number q */
const char *t1_mask(struct t1_emit *e, const struct t1_arg *a);              /* predicate as lanes */
bool t1_same_for_all(const struct t1_arg *a);                                /* one scalar, no stride */
/* Writes an array uint32_t/uint64_t NAME[32] with the lanes' values; returns an expression for lane `l`. */
const char *t1_lane(struct t1_emit *e, const struct t1_arg *a);
unsigned t1_group(const struct t1_emit *e, unsigned pieces, unsigned k); /* half of the warp of piece k */

/* Definitions: the instruction in work gives a value. Guards, and lanes that left a loop, are seen to. */
void t1_def_scalar(struct t1_emit *e, int32_t value, unsigned h, const char *expr);
void t1_def_piece(struct t1_emit *e, int32_t value, unsigned k, const char *expr);
void t1_def_mask(struct t1_emit *e, int32_t value, const char *expr);
void t1_def_arg(struct t1_emit *e, int32_t value, const struct t1_arg *a);
void t1_def_lanes(struct t1_emit *e, int32_t value, const char *array); /* uint_t[32], or a mask's name */
void t1_def_done(struct t1_emit *e, int32_t value);                     /* after all scalars or pieces */
int32_t t1_dst(struct t1_emit *e, unsigned d); /* value of destination d of e->in, -1 = nobody reads it */
const char *t1_symbol(struct t1_emit *e, int32_t sym, uint64_t offset, unsigned kind);
struct t1_arg t1_local_base(struct t1_emit *e); /* where each lane's local memory starts, 64 bits */

/* instr.c */
void t1_instr(struct t1_emit *e, uint32_t i);

/* memory.c */
bool t1_memory(struct t1_emit *e);
enum { T1_MOST_SCALE = 256 };
struct t1_gather {       /* base + index * scale, the index of 32 bits widened: operands of earlier instructions */
    int32_t base, index; /* values */
    struct ptx_opnd base_opnd;
    uint32_t scale; /* up to T1_MOST_SCALE */
    bool is_signed; /* the index; instructions that gather ask for it, and for scales of 1, 2, 4 and 8 */
};
bool t1_gather_form(const struct ptx_func *f, int32_t address, uint32_t block, struct t1_gather *g);
/* Piece q of 64 bits of the lanes' addresses, imm behind them, from their indices. */
const char *t1_index_address(struct t1_emit *e, const struct t1_gather *g, uint64_t imm, unsigned q);
struct t1_arg t1_address(struct t1_emit *e, const struct ptx_opnd *o, int32_t value, bool *shared, uint64_t *imm);
/* Pointer into shared memory: a 32-bit address and an offset. */
const char *t1_in_shared(struct t1_emit *e, const char *s, uint64_t imm);
/* Pointer expression of one lane (named l) of an address. */
const char *t1_lane_pointer(struct t1_emit *e, const struct t1_arg *a, bool shared, uint64_t imm);
/* Declares an array p, the lanes' pointers in pieces of 64 bits; for a load, lanes that do not run get one to zeros. */
void t1_pointers(struct t1_emit *e, const char *p, const struct t1_arg *a, bool shared, uint64_t imm, bool load);
/* Tests that the lanes' addresses are multiples of `bytes`. value: the address's, -1 for a variable's; g: its
 * form if known, or NULL. */
void t1_aligned(struct t1_emit *e, const struct t1_arg *a, const struct t1_gather *g, int32_t value, uint64_t imm,
                unsigned bytes);

/* watch.c: nothing, unless the kernel is emitted in its watched form. Tests that the lanes in `mask` may access `bytes`
 * at the address; a, g, imm: as for t1_aligned, but offsets where `what` (T1_WATCH_*) says so. */
void t1_watch(struct t1_emit *e, const struct t1_arg *a, const struct t1_gather *g, uint64_t imm, unsigned bytes,
              unsigned what, const char *mask);
struct lir_image;
void t1_watch_escape(struct t1_emit *e, const struct lir_image *image); /* what handlers of tier 0 are to do */

/* race.c: nothing, unless the kernel is emitted in its form for racecheck. Tells what the running lanes are about to
 * do: as t1_watch; value: what they store, n elements. */
void t1_race(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned bytes, unsigned what,
             const struct t1_arg *value, unsigned n);
void t1_race_collective(struct t1_emit *e, int k); /* e->in is one, whose source k names lanes; -1: none does */
void t1_race_refuse(struct t1_emit *e, const char *what);

/* cluster.c */
bool t1_of_cluster(const struct ptx_instr *in); /* it says shared::cluster */
struct t1_arg t1_far_address(struct t1_emit *e, const struct t1_arg *a, uint64_t imm);
struct t1_arg t1_near_address(struct t1_emit *e, const struct t1_arg *a); /* and back */
bool t1_cluster_op(struct t1_emit *e);

/* atom.c, warp.c, call.c */
bool t1_atomic(struct t1_emit *e);
bool t1_warp_op(struct t1_emit *e);
void t1_call(struct t1_emit *e);
const char *t1_kernel_param(struct t1_emit *e, uint64_t offset, const char *t); /* t: suffix of loads */
bool t1_param_access(struct t1_emit *e, bool store);                            /* .param of functions: ld and st */
void t1_param_plan(struct t1_emit *e);
void t1_param_declare(struct t1_emit *e);
uint32_t t1_reach(struct t1_emit *e, const struct ptx_func *f); /* index of a function, enlisting it */

/* lane.c: statements that declare NAME as lane `l` has the 32-bit value, from a load of its own; NULL: it cannot, or
 * should not, be computed so. */
const char *t1_lane_anew(struct t1_emit *e, int32_t value, const char *name);

/* serial.c */
bool t1_serial(struct t1_emit *e, uint32_t k);      /* is block k a loop to run lane by lane? */
void t1_serial_loop(struct t1_emit *e, uint32_t k); /* instead of the block */

/* escape.c: any instruction that tier 0 has a handler for. Fails if it needs more than its operands. */
void t1_escape(struct t1_emit *e);

/* matrix.c */
void t1_matrix_block(struct t1_emit *e);   /* a block begins: nothing is unpacked */
void t1_matrix_declare(struct t1_emit *e); /* room for what the function unpacks */

/* factor.c */
void t1_factor_declare(struct t1_emit *e); /* room for what its blocks look at */

/* flow.c */
void t1_phi_copies(struct t1_emit *e, uint32_t from, uint32_t to); /* for every lane that runs */
bool t1_may_rest(const struct t1_emit *e, int32_t header);         /* no barrier nor call in that loop, or -1 */
/* Behind block k: to the next round of the loops that end with it and whose headers stand before block `before`. */
void t1_next_rounds(struct t1_emit *e, uint32_t k, uint32_t before);
void t1_function(struct t1_emit *e, struct ptx_func *f, uint32_t index);

#endif
