/* Meanings of aux bits that only some arithmetic ops have, beyond those of t0.h;
 * lower/select_alu*.c sets them, exec/alu_*.c reads them. */
#ifndef CUMU_PTX_TIER0_ALU_AUX_H
#define CUMU_PTX_TIER0_ALU_AUX_H

enum {
    T0_RELU = 16,                     /* ops that only round to nearest: max with 0, NaN stays */
    T0_CMP_Q = 2, T0_CMP_NOTC = 4,    /* setp, set */
    T0_CVT_RELU = 1 << 8, T0_CVT_SATFINITE = 1 << 9,         /* cvt to a float */
    T0_CVT_DST_SHIFT = 8, T0_CVT_DST_SIGNED = 4              /* cvt to an integer */
};

/* video */
enum {
    T0_VADD, T0_VSUB, T0_VAVRG, T0_VABSDIFF, T0_VMIN, T0_VMAX, T0_VSHL, T0_VSHR,
    T0_VSET, /* and the five that follow, in the order of enum ptx_cmp from PTX_EQ to PTX_GE */
    T0_VIDEO_OP = 15,
    T0_VIDEO_DS = 1 << 4, T0_VIDEO_AS = 1 << 5, T0_VIDEO_BS = 1 << 6, /* d, a, b are signed */
    T0_VIDEO_SAT = 1 << 7,
    T0_VIDEO_SECOND = 3 << 8, T0_VIDEO_PLUS = 1 << 8, T0_VIDEO_MIN = 2 << 8, T0_VIDEO_MAX = 3 << 8,
    T0_VIDEO_WRAP = 1 << 10
};
/* imm: parts of a, of b, and of d. One part: these numbers. Two or four: sources are three bits an
 * element, the number of the part of a and b together; d is a mask. */
enum {
    T0_VIDEO_WORD = 0, T0_VIDEO_BYTE = 1, T0_VIDEO_HALF = 5,
    T0_VIDEO_B_SHIFT = 12, T0_VIDEO_D_SHIFT = 24, T0_VIDEO_PARTS = 0xfff
};
/* aux of VMAD, with T0_VIDEO_AS, BS and SAT */
enum { T0_VMAD_PO = 1, T0_VMAD_MINUS_AB = 2, T0_VMAD_MINUS_C = 4, T0_VMAD_SHR7 = 8,
       T0_VMAD_SHR15 = 16 };

#endif
