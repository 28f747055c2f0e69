/* Instructions over tiles: copies by tensor maps, products of warpgroups (wgmma) and by tensor memory (tcgen05),
 * multimem. Each is one LIR operation with a record (struct lir_tile) of what its spelling says, and a list of rows;
 * this says what a record's numbers and rows are. */
#ifndef CUMU_PTX_LIR_TILE_H
#define CUMU_PTX_LIR_TILE_H

#include "ptx/lir/image.h"

enum lir_tile_kind {
    LIR_TILE_TENSOR,      /* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor */
    LIR_TILE_MAP_REPLACE, /* tensormap.replace: field p[1], element p[2] of it */
    LIR_TILE_MAP_COPY,    /* tensormap.cp_fenceproxy: p[1] bytes */
    LIR_TILE_MULTIMEM,    /* see LIR_MM_LOAD */
    LIR_TILE_WGMMA,
    LIR_TILE_TCMMA,
    LIR_TILE_TM_ALLOC,   /* tcgen05.alloc: row 0: address that hears of it, 1: columns, 2: predicate, it has got them */
    LIR_TILE_TM_DEALLOC, /* row 0: address in tensor memory, 1: columns */
    LIR_TILE_TM_LD,      /* row 0: address, then p[2] registers; p[1]: shape, p[3]: columns from half to half;
                            p[4]: LIR_TM_RED_*, with a last row for what it gives */
    LIR_TILE_TM_ST,
    LIR_TILE_TM_CP,     /* row 0: address, 1: descriptor; p[1]: shape */
    LIR_TILE_TM_COMMIT, /* row 0: mbarrier, 1: mask of blocks */
    LIR_TILE_KINDS
};

/* p[0] of all: which rows are addresses of 32 bits and what lies in shared memory. */
enum {
    LIR_TILE_A32 = 1, /* row 0 */
    LIR_TILE_B32 = 2, /* row 1 */
    LIR_TILE_C32 = 4, /* row 2 */
    LIR_TILE_A_SHARED = 8,
    LIR_TILE_B_SHARED = 16
};

/* Rows of TENSOR: map, shared memory, mbarrier, mask of blocks, five coordinates, three offsets of im2col. p[1]: mode;
 * p[2]: how many coordinates; p[3]: LIR_TENSOR_*; p[4]: enum ptx_sub of a reduction, 0: copies. */
enum {
    LIR_TENSOR_MAP,
    LIR_TENSOR_SHARED,
    LIR_TENSOR_BARRIER,
    LIR_TENSOR_MASK,
    LIR_TENSOR_COORD,
    LIR_TENSOR_OFFSET = 9
};
enum { LIR_TENSOR_ROWS = 12 };
enum {
    LIR_TENSOR_TILE,
    LIR_TENSOR_GATHER4,
    LIR_TENSOR_IM2COL,
    LIR_TENSOR_IM2COL_NO_OFFS,
    LIR_TENSOR_IM2COL_W,
    LIR_TENSOR_IM2COL_W128
};
enum {
    LIR_TENSOR_STORE = 1,     /* to global memory */
    LIR_TENSOR_TELLS = 2,     /* the mbarrier of the bytes */
    LIR_TENSOR_MULTICAST = 4, /* to the blocks of the mask */
    LIR_TENSOR_PAIR = 8       /* .cta_group::2: the mbarrier may be of the pair's even block */
};

/* Rows of MAP_REPLACE: map, new value (of 64 bits where p[1] says so). */
enum lir_map_field {
    LIR_MAP_ADDRESS,
    LIR_MAP_RANK,
    LIR_MAP_BOX,
    LIR_MAP_DIM,
    LIR_MAP_STRIDE,
    LIR_MAP_ESTRIDE,
    LIR_MAP_TYPE,
    LIR_MAP_INTERLEAVE,
    LIR_MAP_SWIZZLE,
    LIR_MAP_FILL,
    LIR_MAP_ATOMICITY,
    LIR_MAP_FIELDS,
    LIR_MAP_STRIDE_BY_16 = 16 /* texts of before PTX ISA 8.5 give strides without their four low bits */
};

/* MULTIMEM, p[1]: one of these; p[2]: enum ptx_sub, 0: a store or a copy. Rows: the address, then p[4] elements of the
 * value or the result, p[3]: their type, how many lie in a register << 8, LIR_MM_WIDE. Of BULK the address, what is
 * copied in shared memory, bytes, mask of those of 16 (if p[4]); p[3]: enum ptx_type; p[5]: no multicast address. */
enum { LIR_MM_LOAD, LIR_MM_STORE, LIR_MM_REDUCE, LIR_MM_BULK };
enum lir_mm_type { /* by size */
                   LIR_MM_E4M3,
                   LIR_MM_E5M2,
                   LIR_MM_LAST_8 = LIR_MM_E5M2,
                   LIR_MM_F16,
                   LIR_MM_BF16,
                   LIR_MM_LAST_16 = LIR_MM_BF16,
                   LIR_MM_U32,
                   LIR_MM_S32,
                   LIR_MM_F32,
                   LIR_MM_LAST_32 = LIR_MM_F32,
                   LIR_MM_U64,
                   LIR_MM_S64,
                   LIR_MM_F64,
                   LIR_MM_TYPES
};
enum { LIR_MM_WIDE = 1 << 16 /* sums are made in the next wider type: f16 of 8 bits, f32 of 16 */ };
/* Bytes of a register's value, 0: there is no such record. */
static inline unsigned lir_mm_size(const struct lir_tile *x)
{
    const unsigned type = x->p[3] & 255, pack = x->p[3] >> 8 & 255;
    const unsigned size = type <= LIR_MM_LAST_8 ? 1 : type <= LIR_MM_LAST_16 ? 2 : type <= LIR_MM_LAST_32 ? 4 : 8;
    return type < LIR_MM_TYPES && (pack == 1 || (pack == 2 && size <= 2) || (pack == 4 && size == 1)) ? size * pack : 0;
}

/* Elements of matrices. */
enum lir_tile_format {
    LIR_TILE_F16,
    LIR_TILE_BF16,
    LIR_TILE_TF32,
    LIR_TILE_E4M3,
    LIR_TILE_E5M2,
    LIR_TILE_S8,
    LIR_TILE_U8,
    LIR_TILE_B1,
    LIR_TILE_E2M3, /* of 6 bits, 16 of them in 16 bytes */
    LIR_TILE_E3M2,
    LIR_TILE_E2M1,        /* of 4 bits, 16 of them in 16 bytes */
    LIR_TILE_E2M1_PACKED, /* 32 of them */
    LIR_TILE_F32,
    LIR_TILE_S32
};
static inline unsigned lir_tile_bits(unsigned format)
{
    switch (format) {
    case LIR_TILE_F16:
    case LIR_TILE_BF16: return 16;
    case LIR_TILE_TF32:
    case LIR_TILE_F32:
    case LIR_TILE_S32: return 32;
    case LIR_TILE_B1: return 1;
    case LIR_TILE_E2M1_PACKED: return 4;
    default: return 8; /* with what pads them */
    }
}
static inline unsigned lir_tile_per_chunk(unsigned format) { return 128 / lir_tile_bits(format); }

/* Rows of WGMMA: sums out, sums in, A (four, or a descriptor of 64 bits), B's descriptor, predicate: sums are taken in,
 * metadata. p[1]: n, p[2]: k, p[3]: formats of A, B << 8 and the sums << 16. */
enum {
    LIR_WG_A_REGS = 1,
    LIR_WG_TRANS_A = 2,
    LIR_WG_TRANS_B = 4,
    LIR_WG_NEG_A = 8,
    LIR_WG_NEG_B = 16,
    LIR_WG_SAT = 32,
    LIR_WG_SPARSE = 64,
    LIR_WG_SELECTOR = 8 /* 2 bits */
};
static inline uint32_t lir_wg_sums(const struct lir_tile *x)
{
    return x->p[1] / (x->p[3] >> 16 == LIR_TILE_F16 ? 4 : 2);
}
static inline bool lir_wg_fits(const struct lir_tile *x)
{
    const unsigned n = x->p[1], a = x->p[3] & 255, b = x->p[3] >> 8 & 255, d = x->p[3] >> 16;
    return n && n <= 256 && n % 8 == 0 && a <= LIR_TILE_B1 && b <= LIR_TILE_B1 &&
           (d == LIR_TILE_F16 || d == LIR_TILE_F32 || d == LIR_TILE_S32) &&
           x->p[2] == 256 / lir_tile_bits(a) << !!(x->p[0] & LIR_WG_SPARSE) && x->p[2] % lir_tile_per_chunk(b) == 0;
}

/* Rows of TCMMA, p[1]: kind, p[2]: scale factors of a row, p[3]: sums taken in are scaled by 2^-p[3]. META: metadata of
 * a sparse A in tensor memory; ZERO: the descriptor of columns that .ws leaves zero. */
enum {
    LIR_TC_D,
    LIR_TC_A,
    LIR_TC_B,
    LIR_TC_DESCRIPTOR,
    LIR_TC_ADD,
    LIR_TC_SCALE_A,
    LIR_TC_SCALE_B,
    LIR_TC_META,
    LIR_TC_ZERO,
    LIR_TC_MASKS,
    LIR_TC_ROWS = LIR_TC_MASKS + 8
};
enum {
    LIR_TC_A_TENSOR = 1,
    LIR_TC_PAIR = 2,
    LIR_TC_MASK = 4,
    LIR_TC_SCALED = 8,
    LIR_TC_SPARSE = 16,
    LIR_TC_WS = 32,
    LIR_TC_ZEROES = 64 /* there is a row ZERO */
};
enum { LIR_TC_F16, LIR_TC_TF32, LIR_TC_F8F6F4, LIR_TC_I8, LIR_TC_MXF8F6F4, LIR_TC_MXF4, LIR_TC_MXF4NVF4, LIR_TC_KINDS };
/* p[0] of TM_*, beside LIR_TILE_*; shapes */
enum { LIR_TM_PAIR = 256, LIR_TM_MULTICAST = 512, LIR_TM_PACKED = 1024 };
enum {
    LIR_TM_RED_U32 = 1,
    LIR_TM_RED_S32,
    LIR_TM_RED_F32,
    LIR_TM_RED_TYPE = 3,
    LIR_TM_RED_MAX = 4,
    LIR_TM_RED_ABS = 8,
    LIR_TM_RED_NAN = 16
};
enum { LIR_TM_32X32, LIR_TM_16X64, LIR_TM_16X128, LIR_TM_16X256, LIR_TM_16X32X2, LIR_TM_SHAPES };
enum {
    LIR_TM_CP_128X256,
    LIR_TM_CP_4X256,
    LIR_TM_CP_128X128,
    LIR_TM_CP_64X128_02_13,
    LIR_TM_CP_64X128_01_23,
    LIR_TM_CP_32X128,
    LIR_TM_CP_SHAPES
};

/* The operation that runs a record. */
static inline unsigned lir_tile_op(unsigned kind)
{
    return kind == LIR_TILE_WGMMA ? LIR_WGMMA : kind == LIR_TILE_TCMMA ? LIR_TCMMA : LIR_TILE;
}

static inline uint32_t lir_tile_rows(const struct lir_tile *x)
{
    switch (x->kind) {
    case LIR_TILE_TENSOR: return LIR_TENSOR_ROWS;
    case LIR_TILE_MAP_REPLACE:
    case LIR_TILE_MAP_COPY: return 2;
    case LIR_TILE_MULTIMEM:
        return x->p[1] == LIR_MM_BULK ? 4 : x->p[4] && x->p[4] <= 8 && lir_mm_size(x) ? 1 + x->p[4] : 0;
    case LIR_TILE_WGMMA: return lir_wg_fits(x) ? 2 * lir_wg_sums(x) + (x->p[0] & LIR_WG_A_REGS ? 4 : 1) + 3 : 0;
    case LIR_TILE_TCMMA: {
        const bool scaled = x->p[0] & LIR_TC_SCALED;
        return x->p[1] < LIR_TC_KINDS && x->p[3] < 16 && (!scaled || x->p[2] == 1 || x->p[2] == 2 || x->p[2] == 4)
                   ? LIR_TC_ROWS
                   : 0;
    }
    case LIR_TILE_TM_ALLOC: return 3;
    case LIR_TILE_TM_DEALLOC:
    case LIR_TILE_TM_COMMIT: return 2;
    case LIR_TILE_TM_CP: return x->p[1] < LIR_TM_CP_SHAPES ? 2 : 0;
    case LIR_TILE_TM_LD:
    case LIR_TILE_TM_ST: return x->p[1] < LIR_TM_SHAPES && x->p[2] <= 128 ? 1 + x->p[2] + (x->p[4] != 0) : 0;
    default: return 0;
    }
}

#endif
