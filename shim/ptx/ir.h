/* The PTX front end's public data: modules, functions, instructions, control-flow graph, SSA and
 * analyses. Everything is allocated from the module's or function's arena and freed as a whole.
 * Nothing here depends on CUDA, MUSA or the rest of cumu; these two layers, fatbin/ and ptx/, know libc only.
 * What instructions mean: PTX ISA 9.0. */
#ifndef CUMU_PTX_IR_H
#define CUMU_PTX_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ptx_arena; /* ptx/arena.h */

/* The newest PTX that the front end was written for. What is refused in a newer one is a gap. */
enum { PTX_NEWEST_MAJOR = 9, PTX_NEWEST_MINOR = 0 };

/* First error found; later ones are not recorded. `line` counts from 1 in the PTX text. */
struct ptx_diag {
    unsigned line;
    char what[64]; /* offending token or instruction, as written */
    char msg[192]; /* "what is wrong; what was expected" */
    bool gap;      /* nothing is wrong, as far as cumu knows: it is more than cumu can do */
    bool nomem;    /* nor that: there was no memory */
};

// clang-format off
enum ptx_type {
    PTX_NONE,
    PTX_U8, PTX_U16, PTX_U32, PTX_U64,
    PTX_S8, PTX_S16, PTX_S32, PTX_S64,
    PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128,
    PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_TF32, PTX_F32, PTX_F64,
    PTX_U16X2, PTX_S16X2, PTX_E4M3X2, PTX_E5M2X2, PTX_U4, PTX_S4, PTX_B1, PTX_U2, PTX_S2,
    PTX_F32X2, PTX_E2M3X2, PTX_E3M2X2, PTX_E2M1X2, PTX_UE8M0X2, PTX_E4M3X4, PTX_E5M2X4, PTX_E2M3X4, PTX_E3M2X4,
    PTX_E2M1X4, PTX_S2F6X2, PTX_U8X4, PTX_S8X4,
    PTX_PRED,
    PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF,
    PTX_NTYPES
};

enum ptx_space {
    PTX_SP_NONE, /* = generic for ld/st/atom/cvta */
    PTX_SP_REG, PTX_SP_PARAM, PTX_SP_GLOBAL, PTX_SP_SHARED, PTX_SP_CONST, PTX_SP_LOCAL
};

/* Base opcodes; the spelling table (ptx/front/ops.def) is the one place that lists them. */
enum ptx_op {
    PTX_OP_INVALID,
#define PTX_OP(id, text) PTX_OP_##id,
#include "ptx/front/ops.def"
#undef PTX_OP
    PTX_NOPS
};

enum ptx_rnd {
    PTX_RND_NONE, PTX_RN, PTX_RZ, PTX_RM, PTX_RP, PTX_RNA,
    PTX_RNI, PTX_RZI, PTX_RMI, PTX_RPI, PTX_RS
};

enum ptx_cmp {
    PTX_CMP_NONE,
    /* ordered for floats; lo/ls/hi/hs fold in here */
    PTX_EQ, PTX_NE, PTX_LT, PTX_LE, PTX_GT, PTX_GE,
    PTX_EQU, PTX_NEU, PTX_LTU, PTX_LEU, PTX_GTU, PTX_GEU, PTX_NUM, PTX_NAN
};

/* The one "which flavour" modifier of an opcode: atom/red/bar.red/redux operation, setp/set boolean
 * combiner, shfl/vote/match mode, prmt mode, shf direction, testp class, lop3 bool... */
enum ptx_sub {
    PTX_SUB_NONE,
    PTX_SUB_AND, PTX_SUB_OR, PTX_SUB_XOR, PTX_SUB_POPC, PTX_SUB_ADD, PTX_SUB_MIN, PTX_SUB_MAX,
    PTX_SUB_INC, PTX_SUB_DEC, PTX_SUB_CAS, PTX_SUB_EXCH,
    PTX_SUB_UP, PTX_SUB_DOWN, PTX_SUB_BFLY, PTX_SUB_IDX,
    PTX_SUB_ALL, PTX_SUB_ANY, PTX_SUB_UNI, PTX_SUB_BALLOT,
    PTX_SUB_F4E, PTX_SUB_B4E, PTX_SUB_RC8, PTX_SUB_ECL, PTX_SUB_ECR, PTX_SUB_RC16,
    PTX_SUB_L, PTX_SUB_R,
    PTX_SUB_FINITE, PTX_SUB_INFINITE, PTX_SUB_NUMBER, PTX_SUB_NOTANUMBER, PTX_SUB_NORMAL,
    PTX_SUB_SUBNORMAL,
    PTX_SUB_ARRIVE, PTX_SUB_SYNC, PTX_SUB_RED, PTX_SUB_WARP_SYNC,
    PTX_SUB_CTA, PTX_SUB_GL, PTX_SUB_SYS, /* membar levels */
    PTX_SUB_TO, PTX_SUB_CREATE, PTX_SUB_FRACT, PTX_SUB_PACK, PTX_SUB_WAIT
};

enum ptx_sem { PTX_WEAK, PTX_VOLATILE, PTX_RELAXED, PTX_ACQUIRE, PTX_RELEASE, PTX_ACQ_REL, PTX_SC,
               PTX_MMIO };
enum ptx_scope { PTX_SCOPE_NONE, PTX_SCOPE_CTA, PTX_SCOPE_CLUSTER, PTX_SCOPE_GPU, PTX_SCOPE_SYS };

enum ptx_flag {
    PTX_F_FTZ = 1u << 0, PTX_F_SAT = 1u << 1, PTX_F_APPROX = 1u << 2, PTX_F_FULL = 1u << 3,
    PTX_F_WIDE = 1u << 4, PTX_F_HI = 1u << 5, PTX_F_LO = 1u << 6, PTX_F_UNI = 1u << 7,
    PTX_F_NC = 1u << 8, PTX_F_SYNC = 1u << 9, PTX_F_ALIGNED = 1u << 10, PTX_F_CC = 1u << 11,
    PTX_F_NAN = 1u << 12, PTX_F_XORSIGN = 1u << 13, PTX_F_ABS = 1u << 14, PTX_F_RELU = 1u << 15,
    PTX_F_CLAMP = 1u << 16, PTX_F_WRAP = 1u << 17, PTX_F_SHIFTAMT = 1u << 18,
    PTX_F_NOFTZ = 1u << 19,
    PTX_F_TO = 1u << 20, PTX_F_OOB = 1u << 21, PTX_F_SATFINITE = 1u << 22,
    PTX_F_PO = 1u << 23, PTX_F_SHR7 = 1u << 24, PTX_F_SHR15 = 1u << 25, /* vmad */
    PTX_F_SCALED = 1u << 27, /* cvt: by two ue8m0 */
    PTX_F_TURN = 1u << 26 /* ld, st, and waits at mbarriers that end: then the block's other warps have a turn
                           * (analysis/turn.c) */
};
// clang-format on

enum ptx_opnd_kind {
    PTX_O_NONE,
    PTX_O_REG,   /* reg = register index; neg = written as !p */
    PTX_O_IMM,   /* imm = the value's bits in the instruction's operand type (f32 in the low 32) */
    PTX_O_SREG,  /* reg = enum ptx_sreg */
    PTX_O_SYM,   /* sym + imm (byte offset): address of a variable or function */
    PTX_O_ADDR,  /* [base + imm]: base is reg >= 0, or sym >= 0, or neither (absolute) */
    PTX_O_VEC,   /* n operands at func->opnds[first..]; also call argument lists */
    PTX_O_BLOCK, /* reg = block index after ptx_cfg_build, label id before */
    PTX_O_SINK   /* _ */
};

/* Digits behind .b or .h: three bits each, the last one written lowest. */
enum { PTX_SEL_DIGITS = 0xfff, PTX_SEL_COUNT_SHIFT = 12, PTX_SEL_BYTES = 1 << 16, PTX_SEL_HALVES = 1 << 17 };
#define PTX_SEL_COUNT(sel) ((sel) >> PTX_SEL_COUNT_SHIFT & 7)

struct ptx_opnd {
    uint8_t kind, n, neg;
    bool is_real; /* PTX_O_IMM written with a point or as the bits of a float */
    int32_t reg;  /* register, special register, block */
    int32_t sym;  /* symbol id: see ptx_symbol(); -1 = none */
    union {
        uint32_t first; /* PTX_O_VEC */
        uint32_t sel;   /* PTX_O_REG of a video instruction: PTX_SEL_* of .h1 or .b7654; 0 = none */
    };
    uint64_t imm;
};

// clang-format off
enum ptx_sreg {
    PTX_SR_TID_X, PTX_SR_TID_Y, PTX_SR_TID_Z, PTX_SR_NTID_X, PTX_SR_NTID_Y, PTX_SR_NTID_Z,
    PTX_SR_CTAID_X, PTX_SR_CTAID_Y, PTX_SR_CTAID_Z, PTX_SR_NCTAID_X, PTX_SR_NCTAID_Y,
    PTX_SR_NCTAID_Z, PTX_SR_LANEID, PTX_SR_WARPID, PTX_SR_NWARPID, PTX_SR_SMID, PTX_SR_NSMID,
    PTX_SR_GRIDID, PTX_SR_LANEMASK_EQ, PTX_SR_LANEMASK_LE, PTX_SR_LANEMASK_LT, PTX_SR_LANEMASK_GE,
    PTX_SR_LANEMASK_GT, PTX_SR_CLOCK, PTX_SR_CLOCK_HI, PTX_SR_CLOCK64, PTX_SR_GLOBALTIMER,
    PTX_SR_GLOBALTIMER_LO, PTX_SR_GLOBALTIMER_HI, PTX_SR_DYNAMIC_SMEM_SIZE,
    PTX_SR_TOTAL_SMEM_SIZE, PTX_SR_ENVREG0, /* ... 31 */ PTX_SR_ENVREG31 = PTX_SR_ENVREG0 + 31,
    PTX_SR_CLUSTERID_X, PTX_SR_CLUSTERID_Y, PTX_SR_CLUSTERID_Z, PTX_SR_NCLUSTERID_X,
    PTX_SR_NCLUSTERID_Y, PTX_SR_NCLUSTERID_Z, PTX_SR_CLUSTER_CTAID_X, PTX_SR_CLUSTER_CTAID_Y,
    PTX_SR_CLUSTER_CTAID_Z, PTX_SR_CLUSTER_NCTAID_X, PTX_SR_CLUSTER_NCTAID_Y,
    PTX_SR_CLUSTER_NCTAID_Z, PTX_SR_CLUSTER_CTARANK, PTX_SR_CLUSTER_NCTARANK,
    PTX_SR_IS_EXPLICIT_CLUSTER, PTX_SR_CURRENT_GRAPH_EXEC, PTX_SR_AGGR_SMEM_SIZE,
    PTX_SR_RESERVED_SMEM_BEGIN, PTX_SR_RESERVED_SMEM_END, PTX_SR_RESERVED_SMEM_CAP,
    PTX_SR_RESERVED_SMEM_0, PTX_SR_RESERVED_SMEM_1,
    PTX_SR_PM0, /* ... 7 */ PTX_SR_PM0_64 = PTX_SR_PM0 + 8, /* ... 7 */
    PTX_NSREGS = PTX_SR_PM0_64 + 8
};
// clang-format on

struct ptx_instr {
    uint16_t op;     /* enum ptx_op */
    uint8_t type[4]; /* enum ptx_type, in the order written (cvt.rn.f32.s32 -> F32, S32) */
    uint8_t rnd, cmp, sub, space, sem, scope;
    uint8_t vec;        /* 1, 2, 4, 8 */
    uint8_t lut_dims;   /* texture geometry, mma shape id: issue-specific */
    uint32_t flags;     /* enum ptx_flag */
    const char *opcode; /* as written, with all modifiers: "ld.global.v4.f32" */
    int32_t guard;      /* predicate register or -1 */
    bool guard_neg;
    uint8_t ndst, nsrc;
    uint32_t line;
    /* setp p|q: dst[0]=p dst[1]=q. shfl d|p likewise. st/red/bar: ndst 0, address is src[0].
     * call: dst[0] = VEC of return params (or NONE), src[0] = callee (SYM or REG),
     * src[1] = VEC of arguments, src[2] = SYM of the .callprototype (with .calltargets: of its
     * first function) or NONE. brx.idx: src[0] = index, src[1] = SYM_PROTO of func->btab.
     * bar.red: sub = POPC, AND or OR; src = barrier, threads or NONE, predicate.
     * Texture and tensor operands "[tex, {x, y}]" are a VEC of what stands in the brackets;
     * operands past the fifth source (wgmma) are a VEC in src[4]. Sources with neg set occur only
     * in setp, set, vote, bar and barrier (elsewhere a not.pred stands in front) and as -x in vmad. */
    struct ptx_opnd dst[2], src[5];
};

struct ptx_reg {
    const char *name;  /* without scope renaming; for messages */
    uint8_t type;      /* enum ptx_type as declared */
    bool widened;      /* some cvt makes it of 32 bits: what cvta is given may be a short address */
    int32_t low, high; /* of 128 bits: the registers of 64 that stand for it (wide.c), 0 before it is used */
};

/* One phi of SSA form: value `dst` of register `reg`, one source value per predecessor. */
struct ptx_phi {
    int32_t reg, dst;
    int32_t *src; /* [block->npred], in the order of block->pred */
};

struct ptx_block {
    uint32_t first, count; /* instructions func->instrs[first .. first+count) */
    /* block indices, each once; succ[0] = taken target, succ[nsucc-1] = fall-through */
    int32_t *pred, *succ;
    uint32_t npred, nsucc;
    int32_t idom, ipdom; /* -1 = entry / virtual exit */
    int32_t loop_header; /* innermost natural loop containing the block, -1 = none */
    int32_t loop_parent; /* of a loop header: header of the loop around its loop, -1 = none */
    uint32_t loop_depth;
    uint32_t rpo; /* position in reverse post-order, loops contiguous */
    struct ptx_phi *phi;
    uint32_t nphi;
    bool divergent;        /* may run with a partial mask (analysis) */
    bool join;             /* lanes of a divergent branch reconverge here: phis may vary */
    bool left_divergently; /* of a loop header: lanes may leave its loop in different rounds,
                                * so that the loop's values count as VARYING outside it */
    bool reachable;
    bool loose; /* set by the caller before ptx_analyse: lanes may run it at any time, some again
                                * before others have come, so that its values count as VARYING outside it */
};

/* The lattice of mapping/facts/ptx.md V1. */
enum ptx_class_kind { PTX_C_UNKNOWN, PTX_C_UNIFORM, PTX_C_UNIFORM_G, PTX_C_AFFINE, PTX_C_AFFINE_G, PTX_C_VARYING };
struct ptx_value {
    int32_t reg;        /* the PTX register this is a version of */
    int32_t block;      /* defining block; -1 = undefined at entry */
    int32_t instr;      /* defining instruction index, -1 = phi or undefined */
    uint8_t kind;       /* enum ptx_class_kind */
    int64_t stride;     /* lanes' stride for AFFINE */
    uint8_t align_log2; /* of lane 0's value */
    bool has_range;
    int64_t lo, hi;
};

struct ptx_var { /* a variable or a parameter */
    const char *name;
    uint8_t space, type;
    uint8_t vec;                            /* .v2/.v4 element */
    bool is_extern, is_managed, is_pointer; /* .extern .shared arr[]; .attribute(.managed); .ptr */
    bool visible;                           /* .visible / .weak / .common */
    uint32_t align;
    uint64_t size;       /* bytes; 0 for unsized extern arrays */
    uint64_t offset;     /* params: in the parameter buffer; shared/local: in the frame (layout) */
    const uint8_t *init; /* NULL = zero; else init_size bytes */
    uint64_t init_size;
    struct ptx_reloc {
        uint64_t offset;
        const char *sym;
        int64_t addend;
        uint8_t size;
        bool generic;
        uint8_t byte;
    } * reloc; /* byte: 0 = whole address, n = mask(n-1) byte */
    uint32_t nreloc;
    uint32_t line;
    uint8_t parts;   /* .reg vector parameter: its elements, told by the first of them */
    int32_t reg;     /* .reg parameter: its register after ptx_func_parse; -1 = none */
    bool unsized;    /* first dimension [] and no initialiser */
    uint64_t row[8]; /* bytes of one element of the outermost dimension, the next one, ... */
};

/* A .loc directive: instructions from the PTX line behind `at` on come of this line of the program's source, up to the
 * next directive of the function. */
struct ptx_loc {
    uint32_t at, file, line;       /* file: as .file directives number them */
    uint32_t call_file, call_line; /* where the function of that line was inlined; 0: it was not */
};

struct ptx_func {
    const char *name;
    bool is_entry, is_decl, visible, noreturn;
    struct ptx_module *module;
    uint32_t number; /* its place in module->func */
    uint32_t line;
    const char *body; /* text span of the body; parsed on demand by ptx_func_parse */
    size_t body_len;
    uint32_t body_line;    /* line of its '{' */
    uint32_t end_line;     /* of its '}' */
    struct ptx_var *param; /* entry: offsets in the launch buffer; .func: arguments in order */
    uint32_t nparam;
    struct ptx_var *ret; /* .func results; more than one only in registers */
    uint32_t nret;
    bool params_in_regs;                                    /* .func with .reg arguments */
    uint32_t param_size;                                    /* bytes of the launch buffer */
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg; /* 0 = not given */
    bool cluster_dim_explicit, blocks_are_clusters;
    uint32_t reqnctapercluster[3], maxclusterrank; /* 0 = not given */

    /* Set by the caller before ptx_cfg_build: a block begins where lanes meet (ptx_waits_for_lanes). */
    bool split_at_waits;
    /* Likewise: a loop has one back edge, and nested loops do not share a header (latch.c). */
    bool separate_loops;

    /* after ptx_func_parse */
    bool parsed;
    struct ptx_arena *arena;
    struct ptx_reg *reg;
    uint32_t nreg;
    struct ptx_instr *instr;
    uint32_t ninstr;
    struct ptx_opnd *opnd;
    uint32_t nopnd;
    struct ptx_var *local;
    uint32_t nlocal;     /* variables of the body: shared, local, param */
    struct ptx_loc *loc; /* in the order of the text */
    uint32_t nloc;
    uint64_t local_size; /* bytes of .local per thread */
    uint32_t nlabel;
    int32_t *label_instr; /* label id -> index of the next instruction */
    const char **label_name;
    /* block[k]: where entry k leads, after ptx_cfg_build */
    struct ptx_branch_table {
        const char *name;
        int32_t *label;
        uint32_t n;
        int32_t *block;
    } * btab;
    uint32_t nbtab;
    struct ptx_proto {
        const char *name;
        struct ptx_var *ret, *param;
        uint32_t nret, nparam;
    } * proto;
    uint32_t nproto;

    /* after ptx_cfg_build */
    /* Blocks stand in reverse post-order with loops contiguous (index == rpo), unreachable ones are
     * gone; block 0 is the entry and has no predecessors (it may be empty). A block ends with a
     * branch, ret, exit or trap, guarded or not, or where a branch leads. */
    struct ptx_block *block;
    uint32_t nblock;
    bool irreducible; /* some cycle has more than one entry: it is no natural loop */
    /* after ptx_ssa_build: value of every operand, parallel to instr / opnd (see ssa.c). A ret of a
     * function with .reg results has their values in instr_src[i][0..nret). */
    struct ptx_value *value;
    uint32_t nvalue;
    int32_t (*instr_dst)[2]; /* SSA value of dst[i], -1 none */
    int32_t (*instr_src)[6]; /* SSA value of src[i].reg; [5] = guard */
    int32_t (*instr_old)[2]; /* guarded instructions: value dst[i] keeps where the guard is false */
    int32_t *opnd_value;     /* SSA value of func->opnd[k].reg for vectors */
    int32_t *opnd_old;       /* as instr_old, for elements of a destination vector */
};

struct ptx_module {
    struct ptx_arena *arena;
    const char *text;
    size_t text_len; /* owned copy, NUL-terminated */
    unsigned version_major, version_minor;
    unsigned target; /* 75 for sm_75; suffix a/f in target_suffix */
    char target_suffix;
    unsigned address_size;
    struct ptx_var *var;
    uint32_t nvar; /* module scope: global, const, shared (extern) */
    struct ptx_func *func;
    uint32_t nfunc;           /* entries and functions, declarations included */
    struct ptx_symtab *names; /* of variables and functions; read-only once open */
    struct ptx_source {       /* .file directives */
        uint32_t number;
        const char *name;
    } * source;
    uint32_t nsource;
};

/* Symbol ids in ptx_opnd.sym: one number says which table and where in it. Below the bands lie variables of the module,
 * -1 is none. A band is bits 28 to 30 of a positive int, so that each table may have 2^28 entries, more than a text
 * that we read can declare. */
enum {
    PTX_BAND_FUNC = 0x20000000,  /* module->func[i] */
    PTX_BAND_LOCAL = 0x40000000, /* func->local[i] */
    PTX_BAND_PARAM = 0x60000000, /* func->param[i]; results follow params */
    PTX_BAND_PROTO = 0x70000000, /* func->proto[i] or btab */
};
#define PTX_SYM_FUNC(i) ((int32_t)(PTX_BAND_FUNC + (i)))
#define PTX_SYM_LOCAL(i) ((int32_t)(PTX_BAND_LOCAL + (i)))
#define PTX_SYM_PARAM(i) ((int32_t)(PTX_BAND_PARAM + (i)))
#define PTX_SYM_PROTO(i) ((int32_t)(PTX_BAND_PROTO + (i)))
#define PTX_SYM_BAND(s) ((s)&0x70000000)
#define PTX_SYM_INDEX(s) ((s)&0x0fffffff)

/* The finding in one line, as it is told: "PTX line 7: ld.foo: unknown modifier". */
void ptx_diag_text(const struct ptx_diag *d, char *to, size_t room);

/* Scans the module: directives, variables with initialisers, function headers, bodies as spans.
 * Copies `text`. Returns NULL with *diag filled on a syntax error. */
struct ptx_module *ptx_module_open(const char *text, size_t len, struct ptx_diag *diag);
void ptx_module_close(struct ptx_module *m);
/* The definition if there is one, else the declaration. */
struct ptx_func *ptx_module_func(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_module_var(const struct ptx_module *m, const char *name);

/* Each step is idempotent and includes the earlier ones. 0, or -1 with *diag filled. */
int ptx_func_parse(struct ptx_func *f, struct ptx_diag *diag);
/* Blocks in layout order, dominators, post-dominators, loops. */
int ptx_cfg_build(struct ptx_func *f, struct ptx_diag *diag);
bool ptx_allocates(const struct ptx_instr *in); /* tcgen05.alloc, which waits for other warps */
/* Lanes of a warp wait for each other at this instruction, or may in what it calls. */
bool ptx_waits_for_lanes(const struct ptx_instr *in);
/* Pruned SSA; values keep their register, so that mapping every value back to its register
 * is always valid. */
int ptx_ssa_build(struct ptx_func *f, struct ptx_diag *diag);
enum ptx_given_kind {
    PTX_GIVEN_VALUE, /* it has this value */
    PTX_GIVEN_WARPS  /* it is a multiple of 32 up to PTX_MOST_GIVEN, but not 0 */
};
enum { PTX_MOST_GIVEN = (1 << 30) - 32, /* with room for what counts lanes */ PTX_FEW_BLOCKS = 1 << 20 };
struct ptx_given { /* what is assumed of a kernel parameter, by its offset and bytes */
    uint32_t offset, size;
    enum ptx_given_kind kind;
    int64_t value;
    bool prepared; /* the parameters at `magic` and `shift`, of 32 bits, make a division by it of a multiplication */
    uint32_t magic, shift;
};
struct ptx_shape { /* what the analysis may assume of a launch */
    uint32_t block[3];
    bool exact;
    bool warps;      /* blockDim.x is a multiple of 32 */
    bool few_blocks; /* gridDim.x is no more than PTX_FEW_BLOCKS */
    const struct ptx_given *given;
    uint32_t ngiven;
};
/* Classes, ranges, divergence. */
int ptx_analyse(struct ptx_func *f, const struct ptx_shape *shape, struct ptx_diag *diag);
/* Class of a value where a block uses it: VARYING outside a divergently left loop that has it. */
unsigned ptx_class_at(const struct ptx_func *f, int32_t value, uint32_t block);
void ptx_func_drop(struct ptx_func *f); /* frees what parse and later steps made */
/* The steps write into their function. Who shares the module with others, as all do that lower its kernels, works on
 * copies of the functions as the scan left them: an open module itself is only read, by any number of threads. NULL
 * where memory is short. */
struct ptx_func *ptx_func_copy(const struct ptx_func *f);
void ptx_func_free(struct ptx_func *copy); /* NULL is fine */

const char *ptx_op_name(unsigned op);
const char *ptx_type_name(unsigned type);
unsigned ptx_type_size(unsigned type); /* bytes; 0 for pred */
/* An element that fills a wider register is extended by its sign. */
static inline bool ptx_extends_sign(unsigned type) { return type >= PTX_S8 && type <= PTX_S64; }
bool ptx_type_is_float(unsigned type);
/* Variable of a symbol id; NULL for functions, prototypes and branch tables. */
const struct ptx_var *ptx_symbol(const struct ptx_func *f, int32_t sym);
/* Text of the module or of one function with blocks, phis and classes as far as they are built, for
 * `cumu ptx` and tests. */
void ptx_dump_module(const struct ptx_module *m, FILE *out);
void ptx_dump_func(const struct ptx_func *f, FILE *out);
/* Writes the instruction as PTX text (for messages and dumps); returns buf. */
char *ptx_instr_text(const struct ptx_func *f, const struct ptx_instr *i, char *buf, size_t size);

#endif
