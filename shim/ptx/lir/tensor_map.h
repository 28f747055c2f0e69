/* A tensor map as cumu keeps it in the 128 bytes of a CUtensorMap: written by cuTensorMapEncode* and tensormap.replace,
 * read where copies run. NVIDIA leaves its own form open; programs only pass it on. */
#ifndef CUMU_PTX_LIR_TENSOR_MAP_H
#define CUMU_PTX_LIR_TENSOR_MAP_H

#include <stdint.h>

#define LIR_TMAP_MAGIC 0x54754d43u
enum { LIR_TMAP_RANK = 5 };

enum lir_tmap_mode { LIR_TMAP_TILED, LIR_TMAP_IM2COL, LIR_TMAP_IM2COL_W, LIR_TMAP_IM2COL_W128 };
/* Types and the like have the numbers of the driver API's enums (CUtensorMapDataType and others), which are public in
 * its documentation. */
enum lir_tmap_type {
    LIR_TMAP_U8,
    LIR_TMAP_U16,
    LIR_TMAP_U32,
    LIR_TMAP_S32,
    LIR_TMAP_U64,
    LIR_TMAP_S64,
    LIR_TMAP_F16,
    LIR_TMAP_F32,
    LIR_TMAP_F64,
    LIR_TMAP_BF16,
    LIR_TMAP_F32_FTZ,
    LIR_TMAP_TF32,
    LIR_TMAP_TF32_FTZ,
    LIR_TMAP_U4X16,     /* 16 elements of 4 bits, 8 bytes */
    LIR_TMAP_U4X16_P64, /* the same, padded to 16 bytes in shared memory */
    LIR_TMAP_U6X16_P32, /* 16 of 6 bits, 12 bytes, padded to 16 in shared memory */
    LIR_TMAP_TYPES
};
enum lir_tmap_swizzle {
    LIR_TMAP_PLAIN,
    LIR_TMAP_32B,
    LIR_TMAP_64B,
    LIR_TMAP_128B,
    LIR_TMAP_128B_ATOM_32B,
    LIR_TMAP_128B_ATOM_32B_FLIP_8B,
    LIR_TMAP_128B_ATOM_64B,
    LIR_TMAP_SWIZZLES
};

struct lir_tmap {
    uint32_t magic;
    uint8_t type, rank, mode, interleave;
    uint8_t swizzle, nan_fill; /* what is out of bounds reads as a NaN rather than zero */
    uint16_t channels, pixels; /* of im2col */
    uint8_t estride[LIR_TMAP_RANK];
    uint8_t zero[5];
    uint64_t address;
    uint32_t dim[LIR_TMAP_RANK]; /* elements; 0 is 2^32 */
    uint16_t box[LIR_TMAP_RANK];
    int16_t lower[3], upper[3]; /* corners of im2col's box, of dimensions 1, 2, 3 */
    uint8_t more[6];
    uint64_t stride[LIR_TMAP_RANK - 1]; /* bytes from one element of dimension 1, 2 ... to the next */
};
_Static_assert(sizeof(struct lir_tmap) == 112, "fits a CUtensorMap");

/* Elements that lie together, and their bytes in global and in shared memory. */
struct lir_tmap_unit {
    uint8_t elements, global, shared;
};
static inline struct lir_tmap_unit lir_tmap_unit(unsigned type)
{
    static const struct lir_tmap_unit unit[LIR_TMAP_TYPES] = {
        [LIR_TMAP_U8] = {1, 1, 1},          [LIR_TMAP_U16] = {1, 2, 2},     [LIR_TMAP_U32] = {1, 4, 4},
        [LIR_TMAP_S32] = {1, 4, 4},         [LIR_TMAP_U64] = {1, 8, 8},     [LIR_TMAP_S64] = {1, 8, 8},
        [LIR_TMAP_F16] = {1, 2, 2},         [LIR_TMAP_F32] = {1, 4, 4},     [LIR_TMAP_F64] = {1, 8, 8},
        [LIR_TMAP_BF16] = {1, 2, 2},        [LIR_TMAP_F32_FTZ] = {1, 4, 4}, [LIR_TMAP_TF32] = {1, 4, 4},
        [LIR_TMAP_TF32_FTZ] = {1, 4, 4},    [LIR_TMAP_U4X16] = {16, 8, 8},  [LIR_TMAP_U4X16_P64] = {16, 8, 16},
        [LIR_TMAP_U6X16_P32] = {16, 12, 16}};
    return unit[type < LIR_TMAP_TYPES ? type : 0];
}

/* Bytes of a line that the swizzle knows; 0: none. */
static inline unsigned lir_tmap_span(unsigned swizzle)
{
    return swizzle == LIR_TMAP_PLAIN ? 0 : swizzle == LIR_TMAP_32B ? 32 : swizzle == LIR_TMAP_64B ? 64 : 128;
}

/* Where a byte of shared memory that would lie at `a` lies: bits of the address from 7 on are added, without carry, to
 * those from 4, 5 or 6 on (CuTe: Swizzle<1,4,3>, <2,4,3>, <3,4,3>, <2,5,2>, <1,6,1>). */
static inline uint32_t lir_tmap_swizzled(unsigned swizzle, uint32_t a)
{
    switch (swizzle) {
    case LIR_TMAP_32B: return a ^ (a >> 3 & 0x10);
    case LIR_TMAP_64B: return a ^ (a >> 3 & 0x30);
    case LIR_TMAP_128B: return a ^ (a >> 3 & 0x70);
    case LIR_TMAP_128B_ATOM_32B: return a ^ (a >> 2 & 0x60);
    case LIR_TMAP_128B_ATOM_32B_FLIP_8B: return a ^ (a >> 2 & 0x60) ^ (a >> 4 & 8);
    case LIR_TMAP_128B_ATOM_64B: return a ^ (a >> 1 & 0x40);
    default: return a;
    }
}

#endif
