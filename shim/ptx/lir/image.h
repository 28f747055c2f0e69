/* The layout of an image, written by lower/, validated and read by the interpreter, and read by the emitters.
 * Every reference inside an image is an index or an offset; nothing in it is a pointer. */
#ifndef CUMU_PTX_T0_IMAGE_H
#define CUMU_PTX_T0_IMAGE_H

#include "ptx/lir/lir.h"

#define LIR_IMAGE_MAGIC "cumu-t0\n"
#define LIR_IMAGE_VERSION 12u /* goes up with any change of what follows */

#define LIR_NONE 0xffffffffu          /* no function, no target */
#define LIR_ROW_ALIGN 64u             /* a line of the CPU's cache, and a vector of AVX-512 */
#define LIR_ROW_MAX 512u              /* the largest row (b128): every operand offset leaves this much room */
#define LIR_SINK 0u                   /* rows at offset 0: results nobody wants, operands that are absent */
#define LIR_REGS_LIMIT (16u << 20)    /* bytes of a warp's rows */
#define LIR_RESULT_MAX 512u           /* bytes that a recursive function may return */
#define LIR_LOCAL_LIMIT (16u << 20)   /* bytes of a thread; CUDA allows 512 KiB */
#define LIR_SHARED_STATIC (48u << 10) /* what ptxas allows on every architecture; more is dynamic */
#define LIR_SHARED_RESERVED 1024u     /* of the system software: cooperative groups keep state there */
/* Addresses of a cluster's shared memory, of 32 bits: those of its own a block sees from 0; what mapa gives has the
 * highest bit, then 7 bits of rank, then the offset in that block's, and means the same in each of the blocks. */
#define LIR_CLUSTER_MAX 16u /* blocks of a cluster: 8 on every device, more where a kernel allows it */
#define LIR_CLUSTER_SHIFT 24
#define LIR_CLUSTER_FAR 0x80000000u
#define LIR_CLUSTER_RANK 0x7fu
#define LIR_CLUSTER_STRIDE ((uint64_t)1 << LIR_CLUSTER_SHIFT) /* from one block's shared memory to the next one's */
#define LIR_FUNC_TAG 0xCF00000000000000u /* value of a function's address: tag | index in the module */

struct lir_section {
    uint32_t offset, count; /* bytes from the start of the image, elements */
};

/* LIR_SECTION(field, element type) */
#define LIR_SECTIONS \
    LIR_SECTION(strings, char) \
    LIR_SECTION(externs, struct lir_extern) \
    LIR_SECTION(rows, struct lir_row) \
    LIR_SECTION(code, struct lir_insn) \
    LIR_SECTION(lines, struct lir_line) \
    LIR_SECTION(locs, struct lir_loc) \
    LIR_SECTION(funcs, struct lir_fn) \
    LIR_SECTION(calls, struct lir_call) \
    LIR_SECTION(args, struct lir_arg) \
    LIR_SECTION(tables, struct lir_table) \
    LIR_SECTION(targets, uint32_t) \
    LIR_SECTION(matrices, struct lir_matrix) \
    LIR_SECTION(operands, uint32_t) \
    LIR_SECTION(tiles, struct lir_tile) \
    LIR_SECTION(kernels, struct lir_kernel_rec) \
    LIR_SECTION(params, struct lir_param) \
    LIR_SECTION(vars, struct lir_var) \
    LIR_SECTION(relocs, struct lir_reloc) \
    LIR_SECTION(data, uint8_t)

struct lir_image {
    char magic[8];
    uint32_t version, nops; /* nops: the op numbering is that of one build */
    uint64_t size;
#define LIR_SECTION(field, type) struct lir_section field;
    LIR_SECTIONS
#undef LIR_SECTION
};

#define LIR_AT(image, field, type) ((const type *)(const void *)((const char *)(image) + (image)->field.offset))

struct lir_extern {
    uint32_t name, bound;
    uint64_t address;
};

enum lir_row_kind { LIR_ROW_IMM, LIR_ROW_SREG, LIR_ROW_EXTERN, LIR_ROW_PARAM, LIR_ROW_KINDS };
struct lir_row {
    uint32_t offset;
    uint16_t kind, wide; /* wide: 64-bit lanes; 2: b128 (value is the low half, high half 0) */
    uint32_t index;      /* special register, extern */
    uint32_t pad;
    uint64_t value; /* immediate, addend */
};

struct lir_line {
    uint32_t line, text; /* text: string of the PTX instruction, for faults */
};

/* The text of an instruction's PTX, behind its guard. */
static inline const char *lir_text(const struct lir_image *m, const struct lir_insn *i)
{
    const char *s = LIR_AT(m, strings, char) +
                    LIR_AT(m, lines, struct lir_line)[i - LIR_AT(m, code, struct lir_insn)].text;
    for (; *s == '@'; s++)
        while (s[1] && *s != ' ')
            s++;
    return s;
}

/* Instructions of PTX lines above `line`, up to the next record, come of this line of the program's source; 0: unknown.
 * In ascending order of `line`. */
struct lir_loc {
    uint32_t line, file, source;     /* file: string of its name */
    uint32_t call_file, call_source; /* where that function was inlined; 0: it was not */
};

/* A function's part of the register file: npred masks of 64 bytes, n32 rows of 128, n64 of 256 (a
 * b128 takes two), then 32 lane slots of `slot` bytes that hold .param variables: parameters,
 * results and what is passed to callees. One fixed place per function is enough, since rows are
 * private to a lane; recursion saves and restores it. */
struct lir_fn {
    uint32_t name, ordinal, entry;
    uint32_t regs, npred, n32, n64, slot;
    uint32_t param, param_size, ret, ret_size; /* bytes in the slot */
    uint32_t local_size;
};

enum lir_syscall {
    LIR_SYS_NONE,
    LIR_SYS_VPRINTF,
    LIR_SYS_ASSERT,
    LIR_SYS_MALLOC,
    LIR_SYS_FREE,
    LIR_SYS_DEVICE,
    LIR_NSYS
};
/* LIR_SYS_DEVICE: a number in the order of ptx/device_calls.def; the arguments are 64-bit words at an address. */
enum lir_device_call {
#define DEVICE_CALL(name, result, params) LIR_DEVICE_##name,
#include "ptx/device_calls.def"
#undef DEVICE_CALL
    LIR_DEVICE_CALLS
};

struct lir_call {
    uint32_t caller;
    uint32_t fn; /* callee, LIR_NONE = by the ordinal in row `target` */
    uint32_t target;
    uint32_t syscall; /* enum lir_syscall: no callee */
    uint32_t save;    /* the callee may call the caller: keep the caller's rows */
    uint32_t first, narg;
    uint32_t ret, ret_size; /* bytes in the caller's slot for the result */
};
struct lir_arg {
    uint32_t src, size, dst; /* byte in the caller's slot, byte among the callee's parameters */
};
struct lir_table {
    uint32_t first, count;
};

/* A matrix instruction; matrix.h says what the fields mean. */
struct lir_matrix {
    uint8_t kind, m, n, rnd; /* enum lir_matrix_kind; rnd of f64 products: enum ptx_rnd */
    uint16_t k, flags;       /* enum lir_matrix_flag */
    uint8_t a, b, c, d;      /* enum lir_mx: formats */
    uint32_t first;          /* in operands: rows of d, a, b, c; of a load, of its matrix */
};

/* An instruction over tiles; tile.h says what the fields mean. */
struct lir_tile {
    uint16_t kind, nrow;
    uint32_t first; /* its rows, in operands */
    uint32_t p[6];
};

struct lir_kernel_rec {
    uint32_t name, fn;
    uint32_t regs_size, shared_size, local_size; /* local_size: per lane, all calls included */
    uint32_t first_param, nparam, param_size;
    uint32_t num_regs, max_threads, reqntid[3];
    uint32_t uses_grid_sync, dynamic_offset, own_local, may_wait;
    uint32_t uses_dynamic; /* names dynamic shared memory */
    uint32_t launches;     /* calls the device runtime, or another kernel by its address */
    uint32_t uses_tensor;  /* has tcgen05: blocks have tensor memory */
    uint32_t cancels;      /* has clusterlaunchcontrol: blocks take over those that have not begun */
    struct lir_cluster_info cluster;
};

struct lir_var {
    uint32_t name, align;
    uint64_t size;
    uint32_t init, init_size; /* in data; the rest is zero */
    uint32_t first_reloc, nreloc;
    uint32_t constant, pad; /* constant: kernels may only read it */
};
enum lir_reloc_kind { LIR_RELOC_VAR, LIR_RELOC_FUNC, LIR_RELOC_KERNEL };
struct lir_reloc {
    uint64_t offset;
    int64_t addend;
    uint32_t kind, index; /* variable of this image; function ordinal; extern that is a kernel */
    uint32_t size, byte;  /* byte n > 0: only byte n - 1 of the address */
};

/* aux of loads and stores */
enum {
    LIR_MEM_LOG2_SIZE = 0x7, /* bytes of one element */
    LIR_MEM_SIGNED = 0x8,
    LIR_MEM_VEC_SHIFT = 4,  /* 2 bits: log2 of the elements */
    LIR_MEM_DST_SHIFT = 6,  /* 2 bits: data rows of 0 = 16, 1 = 32, 2 = 64, 3 = 128 bits */
    LIR_MEM_SHARED = 0x100, /* else flat */
    LIR_MEM_ADDR32 = 0x200, /* address row of 32 bits */
    LIR_MEM_ACQUIRE = 0x400,
    LIR_MEM_RELEASE = 0x800,
    LIR_MEM_SC = 0x1000,
    LIR_MEM_STRONG = 0x2000, /* other threads may watch: a vector is one access */
    LIR_MEM_GLOBAL = 0x4000, /* of flat ones: PTX says that it is global memory */
    LIR_MEM_L2 = 0x8000      /* .cg: by the cache that all blocks share, as programs do that watch each other */
};
/* aux of ATOM: operation (enum ptx_sub) | type << LIR_ATOM_TYPE_SHIFT (enum ptx_type) | flags */
enum {
    LIR_ATOM_OP = 0x1f,
    LIR_ATOM_TYPE_SHIFT = 5,
    LIR_ATOM_SHARED = 0x400,
    LIR_ATOM_ADDR32 = 0x800,
    LIR_ATOM_NORET = 0x1000,
    LIR_ATOM_FTZ = 0x2000,
    LIR_ATOM_ACQUIRE = 0x4000,
    LIR_ATOM_RELEASE = 0x8000 /* every atomic of the CPU back end is both */
};
enum { LIR_FENCE_SYS = 2 }; /* aux of FENCE: up to the whole system; the CPU back end knows no less */
/* aux of LDMATRIX and STMATRIX, with LIR_MEM_SHARED and LIR_MEM_ADDR32 */
enum {
    LIR_LDM_LOG2 = 3 /* of the number of matrices, of 8 rows each */,
    LIR_LDM_TRANS = 4,
    LIR_LDM_BYTES = 8, /* loads: two are one of 16 x 16 bytes, turned; stores: each is one of 16 x 8, by columns */
    LIR_LDM_B4 = 16,   /* rows are 16 elements of 4 bits, or of 6, which become bytes */
    LIR_LDM_B6 = 32
};
/* aux of BULK; imm: 0 = copies, else the update of an element, as operation and type of ATOM */
enum {
    LIR_BULK_TO_SHARED = 1,
    LIR_BULK_TO32 = 2,
    LIR_BULK_FROM_SHARED = 4,
    LIR_BULK_FROM32 = 8,
    LIR_BULK_BARRIER = 16,
    LIR_BULK_BARRIER32 = 32,
    LIR_BULK_MULTICAST = 64, /* to the blocks of the cluster in mask d */
    LIR_BULK_ZERO = 128,     /* zeros, from nowhere; to all of the cluster's blocks that mask d may name */
    LIR_BULK_EDGES = 256     /* up to 15 bytes at both ends of the source may lie outside of an allocation */
};
enum { LIR_CP_LOG2 = 7, LIR_CP_ADDR32 = 8, LIR_CP_PARTIAL = 16 };
/* aux of ASYNC_GROUP */
enum lir_group {
    LIR_GROUP_COMMIT,
    LIR_GROUP_WAIT, /* for all but the last imm groups */
    LIR_GROUP_WAIT_ALL,
    LIR_GROUP_TRACK, /* the mbarrier at [a + imm] tracks the copies so far; with LIR_MEM_SHARED, ADDR32 */
    LIR_GROUP_KIND = 3,
    LIR_GROUP_TILES = 4, /* groups of products */
    LIR_GROUP_LOADS = 8, /* tcgen05.ld, st */
    LIR_GROUP_STORES = 16,
    LIR_GROUP_BULK = 32 /* copies in bulk */
};
/* An mbarrier object: bits 0-19 arrivals still missing, 20-39 arrivals of a phase, 40-60 bytes
 * still expected (signed), 61-63 phase. */
enum {
    LIR_MB_INIT,
    LIR_MB_ARRIVE,
    LIR_MB_DROP,
    LIR_MB_TEST,
    LIR_MB_TEST_PARITY,
    LIR_MB_PENDING,
    LIR_MB_EXPECT,        /* operand: bytes */
    LIR_MB_ARRIVE_EXPECT, /* the same, and one arrival */
    LIR_MB_DROP_EXPECT,
    LIR_MB_COMPLETE, /* operand: bytes that have come */
    LIR_MB_INVAL,    /* changes nothing, but only init may follow */
    LIR_MB_KIND = 15
};
/* What the coordinates of an instruction mean. */
enum lir_geometry {
    LIR_GEO_1D,
    LIR_GEO_2D,
    LIR_GEO_3D,
    LIR_GEO_A1D,
    LIR_GEO_A2D,
    LIR_GEO_CUBE,
    LIR_GEO_ACUBE,
    LIR_GEOMETRIES
};
/* imm of TEX: geometry (enum lir_geometry), kind of coordinates, mode, result, channel of tld4 */
enum {
    LIR_TEX_GEOMETRY = 7,
    LIR_TEX_INTEGER = 8,
    LIR_TEX_MODE_SHIFT = 4,    /* 2 bits */
    LIR_TEX_RESULT_SHIFT = 6,  /* 2 bits */
    LIR_TEX_CHANNEL_SHIFT = 8, /* 2 bits */
    LIR_TEX_OFFSET = 0x400
};
enum { LIR_TEX_BASE, LIR_TEX_LEVEL, LIR_TEX_GRAD, LIR_TEX_GATHER };
enum { LIR_TEX_32, LIR_TEX_F16, LIR_TEX_F16X2 };
enum { LIR_TEX_FLOAT, LIR_TEX_UNSIGNED, LIR_TEX_SIGNED }; /* aux: what it is read as, if somebody has to say so */
/* Operands of the TEX_ARGS in their order (d a b c e of the first, of the second ...). */
enum {
    LIR_TEX_X,
    LIR_TEX_LAYER = 3,
    LIR_TEX_LOD,
    LIR_TEX_DX,
    LIR_TEX_DY = 8,
    LIR_TEX_OFFSETS = 11,
    LIR_TEX_ARGS_MAX = 15
};
/* imm of SULD, SUST, SURED: geometry (LIR_TEX_GEOMETRY) and the rest; SURED: operation in aux */
enum {
    LIR_SURF_LOG2_SHIFT = 4, /* 2 bits: bytes of one element */
    LIR_SURF_VEC_SHIFT = 6,  /* 2 bits: log2 of the elements */
    LIR_SURF_EDGE_SHIFT = 8, /* 2 bits */
    LIR_SURF_TYPED = 0x400,  /* .p: by elements and in the surface's format */
    LIR_SURF_SIGNED = 0x800
};
enum { LIR_SURF_TRAP, LIR_SURF_CLAMP, LIR_SURF_ZERO };
enum lir_tex_query {
    LIR_TXQ_WIDTH,
    LIR_TXQ_HEIGHT,
    LIR_TXQ_DEPTH,
    LIR_TXQ_ARRAY_SIZE,
    LIR_TXQ_LEVELS,
    LIR_TXQ_SAMPLES,
    LIR_TXQ_DATA_TYPE,
    LIR_TXQ_ORDER,
    LIR_TXQ_NORMALIZED,
    LIR_TXQ_UNNORMALIZED,
    LIR_TXQ_FILTER,
    LIR_TXQ_ADDRESS,
    LIR_TXQ_LAYOUT = 14
};
/* Special registers by when they change: while a warp runs, from block to block, else never. */
static inline bool lir_sreg_dynamic(unsigned sreg) { return sreg >= PTX_SR_CLOCK && sreg <= PTX_SR_GLOBALTIMER_HI; }
static inline bool lir_sreg_per_block(unsigned sreg)
{
    return (sreg >= PTX_SR_CTAID_X && sreg <= PTX_SR_CTAID_Z) ||
           (sreg >= PTX_SR_CLUSTERID_X && sreg <= PTX_SR_CLUSTERID_Z) ||
           (sreg >= PTX_SR_CLUSTER_CTAID_X && sreg <= PTX_SR_CLUSTER_CTAID_Z) || sreg == PTX_SR_CLUSTER_CTARANK;
}

/* TEX_ARGS behind the first that this form of TEX needs. */
static inline unsigned lir_tex_more(uint32_t imm)
{
    return imm & LIR_TEX_OFFSET || (imm >> LIR_TEX_MODE_SHIFT & 3) == LIR_TEX_GRAD ? 2 : 0;
}

static inline uint32_t lir_fn_slots(const struct lir_fn *f)
{
    return f->regs + LIR_ROW_ALIGN * f->npred + 128 * f->n32 + 256 * f->n64;
}
static inline uint64_t lir_fn_size(const struct lir_fn *f)
{
    return (uint64_t)LIR_ROW_ALIGN * f->npred + 128ull * f->n32 + 256ull * f->n64 + (uint64_t)LIR_LANES * f->slot;
}

enum { LIR_BR_NEG = 1, LIR_BR_SPIN = 2 }; /* SPIN: back edge of a loop that may wait for other threads */
enum { LIR_SHFL_WAIT = 0x100 };           /* beside enum ptx_sub */
enum { LIR_SUB_MASK = 0x1f, LIR_NEGATE = 0x20, LIR_SIGNED_OP = 0x40, LIR_WIDE_OP = 0x80 };
enum {
    LIR_BAR_SYNC,
    LIR_BAR_ARRIVE,
    LIR_BAR_RED_POPC,
    LIR_BAR_RED_AND,
    LIR_BAR_RED_OR,
    LIR_BAR_KIND = 7,
    LIR_BAR_NEG = 8,
    LIR_BAR_COUNT = 16,
    LIR_BARRIER_GROUP = 16,  /* ids beside the 16 of PTX: of eight warpgroups, */
    LIR_BARRIER_CLUSTER = 24 /* and of the cluster */
};

#endif
