/* Meanings of aux bits that only some arithmetic ops have, beyond those of lir.h;
 * lower/select_alu*.c sets them, tier0/alu_*.c reads them. */
#ifndef CUMU_PTX_TIER0_ALU_AUX_H
#define CUMU_PTX_TIER0_ALU_AUX_H

enum {
    LIR_RELU = 16, /* ops that only round to nearest: max with 0, NaN stays */
    LIR_CMP_Q = 2,
    LIR_CMP_NOTC = 4, /* setp, set */
    LIR_CVT_RELU = 1 << 8,
    LIR_CVT_SATFINITE = 1 << 9, /* cvt to a float */
    LIR_CVT_DST_SHIFT = 8,
    LIR_CVT_DST_SIGNED = 4 /* cvt to an integer */
};

/* imm of the conversions of packed numbers: their format */
enum lir_packed {
    LIR_PACKED_F16,
    LIR_PACKED_BF16,
    LIR_PACKED_E4M3,
    LIR_PACKED_E5M2,
    LIR_PACKED_E2M3,
    LIR_PACKED_E3M2,
    LIR_PACKED_E2M1, /* 4 bits each, the others with less than 8 stand in bytes */
    LIR_PACKED_UE8M0,
    LIR_PACKED_S2F6 /* whole numbers of 64ths */
};

/* video */
// clang-format off
enum {
    LIR_VADD, LIR_VSUB, LIR_VAVRG, LIR_VABSDIFF, LIR_VMIN, LIR_VMAX, LIR_VSHL, LIR_VSHR,
    LIR_VSET, /* and the five that follow, in the order of enum ptx_cmp from PTX_EQ to PTX_GE */
    LIR_VIDEO_OP = 15,
    LIR_VIDEO_DS = 1 << 4, LIR_VIDEO_AS = 1 << 5, LIR_VIDEO_BS = 1 << 6, /* d, a, b are signed */
    LIR_VIDEO_SAT = 1 << 7,
    LIR_VIDEO_SECOND = 3 << 8, LIR_VIDEO_PLUS = 1 << 8, LIR_VIDEO_MIN = 2 << 8, LIR_VIDEO_MAX = 3 << 8,
    LIR_VIDEO_WRAP = 1 << 10
};
// clang-format on
/* imm: parts of a, of b, and of d. One part: these numbers. Two or four: sources are three bits an
 * element, the number of the part of a and b together; d is a mask. */
enum {
    LIR_VIDEO_WORD = 0,
    LIR_VIDEO_BYTE = 1,
    LIR_VIDEO_HALF = 5,
    LIR_VIDEO_B_SHIFT = 12,
    LIR_VIDEO_D_SHIFT = 24,
    LIR_VIDEO_PARTS = 0xfff
};
/* aux of VMAD, with LIR_VIDEO_AS, BS and SAT */
enum { LIR_VMAD_PO = 1, LIR_VMAD_MINUS_AB = 2, LIR_VMAD_MINUS_C = 4, LIR_VMAD_SHR7 = 8, LIR_VMAD_SHR15 = 16 };

#endif
