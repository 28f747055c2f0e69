/* Tier 0, internal: the layout of an image, written by lower/ and validated and read by exec/.
 * Every reference inside an image is an index or an offset; nothing in it is a pointer. */
#ifndef CUMU_PTX_T0_IMAGE_H
#define CUMU_PTX_T0_IMAGE_H

#include "ptx/tier0/t0.h"

#define T0_IMAGE_MAGIC "cumu-t0\n"
#define T0_IMAGE_VERSION 4u

#define T0_NONE 0xffffffffu
#define T0_ROW_ALIGN 64u
#define T0_ROW_MAX 512u  /* the largest row (b128): every operand offset leaves this much room */
#define T0_SINK 0u       /* rows at offset 0: results nobody wants, operands that are absent */
#define T0_REGS_LIMIT (16u << 20)
#define T0_RESULT_MAX 512u /* bytes that a recursive function may return */
#define T0_LOCAL_LIMIT (16u << 20)
#define T0_SHARED_STATIC (48u << 10) /* what ptxas allows on every architecture; more is dynamic */
#define T0_SHARED_RESERVED 1024u /* of the system software: cooperative groups keep state there */
/* Addresses of a cluster's shared memory, of 32 bits: those of its own a block sees from 0; what mapa gives has the
 * highest bit, then 7 bits of rank, then the offset in that block's, and means the same in each of the blocks. */
#define T0_CLUSTER_MAX 16u /* blocks of a cluster: 8 on every device, more where a kernel allows it */
#define T0_CLUSTER_SHIFT 24
#define T0_CLUSTER_FAR 0x80000000u
#define T0_CLUSTER_RANK 0x7fu
#define T0_CLUSTER_STRIDE ((uint64_t)1 << T0_CLUSTER_SHIFT) /* from one block's shared memory to the next one's */
#define T0_FUNC_TAG                                                                                \
    0xCF00000000000000u /* value of a function's address: tag | index in the module */

struct t0_section {
    uint32_t offset, count; /* bytes from the start of the image, elements */
};

/* T0_SECTION(field, element type) */
#define T0_SECTIONS                                                                               \
    T0_SECTION(strings, char)                                                                     \
    T0_SECTION(externs, struct t0_extern)                                                         \
    T0_SECTION(rows, struct t0_row)                                                               \
    T0_SECTION(code, struct t0_insn)                                                              \
    T0_SECTION(lines, struct t0_line)                                                             \
    T0_SECTION(funcs, struct t0_fn)                                                               \
    T0_SECTION(calls, struct t0_call)                                                             \
    T0_SECTION(args, struct t0_arg)                                                               \
    T0_SECTION(tables, struct t0_table)                                                           \
    T0_SECTION(targets, uint32_t)                                                                 \
    T0_SECTION(matrices, struct t0_matrix)                                                        \
    T0_SECTION(operands, uint32_t)                                                                \
    T0_SECTION(kernels, struct t0_kernel_rec)                                                     \
    T0_SECTION(params, struct t0_param)                                                           \
    T0_SECTION(vars, struct t0_var)                                                               \
    T0_SECTION(relocs, struct t0_reloc)                                                           \
    T0_SECTION(data, uint8_t)

struct t0_image {
    char magic[8];
    uint32_t version, nops; /* nops: the op numbering is that of one build */
    uint64_t size;
#define T0_SECTION(field, type) struct t0_section field;
    T0_SECTIONS
#undef T0_SECTION
};

#define T0_AT(image, field, type)                                                                 \
    ((const type *)(const void *)((const char *)(image) + (image)->field.offset))

struct t0_extern {
    uint32_t name, bound;
    uint64_t address;
};

enum t0_row_kind { T0_ROW_IMM, T0_ROW_SREG, T0_ROW_EXTERN, T0_ROW_PARAM, T0_ROW_KINDS };
struct t0_row {
    uint32_t offset;
    uint16_t kind, wide; /* wide: 64-bit lanes; 2: b128 (value is the low half, high half 0) */
    uint32_t index;      /* special register, extern */
    uint32_t pad;
    uint64_t value;      /* immediate, addend */
};

struct t0_line {
    uint32_t line, text; /* text: string of the PTX instruction, for faults */
};

/* A function's part of the register file: npred masks of 64 bytes, n32 rows of 128, n64 of 256 (a
 * b128 takes two), then 32 lane slots of `slot` bytes that hold .param variables: parameters,
 * results and what is passed to callees. One fixed place per function is enough, since rows are
 * private to a lane; recursion saves and restores it. */
struct t0_fn {
    uint32_t name, ordinal, entry;
    uint32_t regs, npred, n32, n64, slot;
    uint32_t param, param_size, ret, ret_size; /* bytes in the slot */
    uint32_t local_size;
};

enum t0_syscall { T0_SYS_NONE, T0_SYS_VPRINTF, T0_SYS_ASSERT, T0_SYS_MALLOC, T0_SYS_FREE, T0_NSYS };

struct t0_call {
    uint32_t caller;
    uint32_t fn;      /* callee, T0_NONE = by the ordinal in row `target` */
    uint32_t target;
    uint32_t syscall; /* enum t0_syscall: no callee */
    uint32_t save;    /* the callee may call the caller: keep the caller's rows */
    uint32_t first, narg;
    uint32_t ret, ret_size; /* bytes in the caller's slot for the result */
};
struct t0_arg {
    uint32_t src, size, dst; /* byte in the caller's slot, byte among the callee's parameters */
};
struct t0_table {
    uint32_t first, count;
};

/* A matrix instruction; matrix.h says what the fields mean. */
struct t0_matrix {
    uint8_t kind, m, n, rnd; /* enum t0_matrix_kind; rnd of f64 products: enum ptx_rnd */
    uint16_t k, flags;       /* enum t0_matrix_flag */
    uint8_t a, b, c, d;      /* enum t0_mx: formats */
    uint32_t first;          /* in operands: rows of d, a, b, c; of a load, of its matrix */
};

struct t0_kernel_rec {
    uint32_t name, fn;
    uint32_t regs_size, shared_size, local_size; /* local_size: per lane, all calls included */
    uint32_t first_param, nparam, param_size;
    uint32_t num_regs, max_threads, reqntid[3];
    uint32_t uses_grid_sync, dynamic_offset, own_local, may_wait;
    uint32_t uses_dynamic; /* names dynamic shared memory */
    struct t0_cluster_info cluster;
};

struct t0_var {
    uint32_t name, align;
    uint64_t size;
    uint32_t init, init_size; /* in data; the rest is zero */
    uint32_t first_reloc, nreloc;
};
enum t0_reloc_kind { T0_RELOC_VAR, T0_RELOC_FUNC };
struct t0_reloc {
    uint64_t offset;
    int64_t addend;
    uint32_t kind, index; /* variable of this image; function ordinal */
    uint32_t size, byte;  /* byte n > 0: only byte n - 1 of the address */
};

/* aux of loads and stores */
enum {
    T0_MEM_LOG2_SIZE = 0x7,      /* bytes of one element */
    T0_MEM_SIGNED = 0x8,
    T0_MEM_VEC_SHIFT = 4,        /* 2 bits: log2 of the elements */
    T0_MEM_DST_SHIFT = 6,        /* 2 bits: data rows of 0 = 16, 1 = 32, 2 = 64, 3 = 128 bits */
    T0_MEM_SHARED = 0x100,       /* else flat */
    T0_MEM_ADDR32 = 0x200,       /* address row of 32 bits */
    T0_MEM_ACQUIRE = 0x400, T0_MEM_RELEASE = 0x800, T0_MEM_SC = 0x1000,
    T0_MEM_STRONG = 0x2000 /* other threads may watch: a vector is one access */
};
/* aux of ATOM: operation (enum ptx_sub) | type << T0_ATOM_TYPE_SHIFT (enum ptx_type) | flags */
enum {
    T0_ATOM_OP = 0x1f, T0_ATOM_TYPE_SHIFT = 5, T0_ATOM_SHARED = 0x400, T0_ATOM_ADDR32 = 0x800,
    T0_ATOM_NORET = 0x1000, T0_ATOM_FTZ = 0x2000,
    T0_ATOM_ACQUIRE = 0x4000, T0_ATOM_RELEASE = 0x8000 /* every atomic of tier 0 is both */
};
enum { T0_FENCE_SYS = 2 }; /* aux of FENCE: up to the whole system; tier 0 knows no less */
/* aux of LDMATRIX and STMATRIX, with T0_MEM_SHARED and T0_MEM_ADDR32 */
enum { T0_LDM_LOG2 = 3 /* of the number of matrices */, T0_LDM_TRANS = 4 };
/* aux of BULK; imm: 0 = copies, else the update of an element, as operation and type of ATOM */
enum { T0_BULK_TO_SHARED = 1, T0_BULK_TO32 = 2, T0_BULK_FROM_SHARED = 4, T0_BULK_FROM32 = 8,
       T0_BULK_BARRIER = 16, T0_BULK_BARRIER32 = 32,
       T0_BULK_MULTICAST = 64 /* to the blocks of the cluster in mask d */ };
enum { T0_CP_LOG2 = 7, T0_CP_ADDR32 = 8, T0_CP_PARTIAL = 16 };
/* An mbarrier object: bits 0-19 arrivals still missing, 20-39 arrivals of a phase, 40-60 bytes
 * still expected (signed), 61-63 phase. */
enum {
    T0_MB_INIT,
    T0_MB_ARRIVE,
    T0_MB_DROP,
    T0_MB_TEST,
    T0_MB_TEST_PARITY,
    T0_MB_PENDING,
    T0_MB_EXPECT,        /* operand: bytes */
    T0_MB_ARRIVE_EXPECT, /* the same, and one arrival */
    T0_MB_DROP_EXPECT,
    T0_MB_COMPLETE,      /* operand: bytes that have come */
    T0_MB_KIND = 15
};
/* imm of TEX: geometry (enum t0_geometry), kind of coordinates, mode, result, channel of tld4 */
enum {
    T0_TEX_GEOMETRY = 7,
    T0_TEX_INTEGER = 8,
    T0_TEX_MODE_SHIFT = 4,   /* 2 bits */
    T0_TEX_RESULT_SHIFT = 6, /* 2 bits */
    T0_TEX_CHANNEL_SHIFT = 8, /* 2 bits */
    T0_TEX_OFFSET = 0x400
};
enum { T0_TEX_BASE, T0_TEX_LEVEL, T0_TEX_GRAD, T0_TEX_GATHER };
enum { T0_TEX_32, T0_TEX_F16, T0_TEX_F16X2 };
enum { T0_TEX_FLOAT, T0_TEX_UNSIGNED, T0_TEX_SIGNED }; /* aux: what it is read as, if somebody has to say so */
/* Operands of the TEX_ARGS in their order (d a b c e of the first, of the second ...). */
enum { T0_TEX_X, T0_TEX_LAYER = 3, T0_TEX_LOD, T0_TEX_DX, T0_TEX_DY = 8, T0_TEX_OFFSETS = 11,
       T0_TEX_ARGS_MAX = 15 };
/* imm of SULD, SUST, SURED: geometry (T0_TEX_GEOMETRY) and the rest; SURED: operation in aux */
enum {
    T0_SURF_LOG2_SHIFT = 4,  /* 2 bits: bytes of one element */
    T0_SURF_VEC_SHIFT = 6,   /* 2 bits: log2 of the elements */
    T0_SURF_EDGE_SHIFT = 8,  /* 2 bits */
    T0_SURF_TYPED = 0x400,   /* .p: by elements and in the surface's format */
    T0_SURF_SIGNED = 0x800
};
enum { T0_SURF_TRAP, T0_SURF_CLAMP, T0_SURF_ZERO };
enum t0_tex_query { T0_TXQ_WIDTH, T0_TXQ_HEIGHT, T0_TXQ_DEPTH, T0_TXQ_ARRAY_SIZE, T0_TXQ_LEVELS,
                    T0_TXQ_SAMPLES, T0_TXQ_DATA_TYPE, T0_TXQ_ORDER, T0_TXQ_NORMALIZED,
                    T0_TXQ_UNNORMALIZED, T0_TXQ_FILTER, T0_TXQ_ADDRESS, T0_TXQ_LAYOUT = 14 };
/* Special registers by when they change: while a warp runs, from block to block, else never. */
static inline bool t0_sreg_dynamic(unsigned sreg)
{
    return sreg >= PTX_SR_CLOCK && sreg <= PTX_SR_GLOBALTIMER_HI;
}
static inline bool t0_sreg_per_block(unsigned sreg)
{
    return (sreg >= PTX_SR_CTAID_X && sreg <= PTX_SR_CTAID_Z) ||
           (sreg >= PTX_SR_CLUSTERID_X && sreg <= PTX_SR_CLUSTERID_Z) ||
           (sreg >= PTX_SR_CLUSTER_CTAID_X && sreg <= PTX_SR_CLUSTER_CTAID_Z) ||
           sreg == PTX_SR_CLUSTER_CTARANK;
}

/* TEX_ARGS behind the first that this form of TEX needs. */
static inline unsigned t0_tex_more(uint32_t imm)
{
    return imm & T0_TEX_OFFSET || (imm >> T0_TEX_MODE_SHIFT & 3) == T0_TEX_GRAD ? 2 : 0;
}

static inline uint32_t t0_fn_slots(const struct t0_fn *f)
{
    return f->regs + T0_ROW_ALIGN * f->npred + 128 * f->n32 + 256 * f->n64;
}
static inline uint64_t t0_fn_size(const struct t0_fn *f)
{
    return (uint64_t)T0_ROW_ALIGN * f->npred + 128ull * f->n32 + 256ull * f->n64 +
           (uint64_t)T0_LANES * f->slot;
}

enum {
    T0_BR_NEG = 1,
    T0_BR_SPIN = 2
}; /* SPIN: back edge of a loop that may wait for other threads */
enum { T0_SHFL_WAIT = 0x100 };          /* beside enum ptx_sub */
enum { T0_SUB_MASK = 0x1f, T0_NEGATE = 0x20, T0_SIGNED_OP = 0x40, T0_WIDE_OP = 0x80 };
enum { T0_BAR_SYNC, T0_BAR_ARRIVE, T0_BAR_RED_POPC, T0_BAR_RED_AND, T0_BAR_RED_OR, T0_BAR_KIND = 7,
       T0_BAR_NEG = 8, T0_BAR_COUNT = 16,
       T0_BARRIER_CLUSTER = 16 /* id beside the 16 of PTX */ };

#endif
