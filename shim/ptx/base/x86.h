/* The assembler of the baseline code generator: the few x86-64 instructions it writes, with AVX2 in VEX form (Intel SDM
 * volume 2, 2.3). Code is a growing buffer; what it calls and returns are absolute addresses, jumps and constants are
 * patched when all of it is known. */
#ifndef CUMU_PTX_BASE_X86_H
#define CUMU_PTX_BASE_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NO_INDEX = -1 };

/* A vector operand: a register, memory at base + (index << scale) + disp, or one of the constants. */
struct x86_rm {
    enum { X86_REG, X86_MEM, X86_CONST } kind;
    int reg;   /* or base */
    int index; /* NO_INDEX: none */
    int scale; /* log2 */
    int32_t disp;
    uint32_t constant;
};

struct x86 {
    uint8_t *p;
    size_t n, room;
    bool failed; /* out of memory: what is written is void */
    uint8_t (*constants)[32];
    uint32_t nconstant, constant_room;
    struct x86_fixup { /* 32 bits at `at`, counted from the end of the instruction, `after` bytes behind them */
        uint32_t at, after, target;
        bool constant; /* target: a constant's number, else a label's */
    } * fixup;
    uint32_t nfixup, fixup_room;
    uint32_t *label; /* offset + 1 of each label once it is placed */
    uint32_t nlabel, label_room;
};

void x86_free(struct x86 *x);
void x86_byte(struct x86 *x, unsigned byte);

/* Labels stand for places in the code, before or after they are known. */
uint32_t x86_label(struct x86 *x);
void x86_place(struct x86 *x, uint32_t label);
/* A constant of 32 bytes, one for equal ones. */
uint32_t x86_constant(struct x86 *x, const void *bytes);
/* Appends the constants and patches jumps; false: out of memory, or beyond 2 GB. */
bool x86_finish(struct x86 *x);

static inline struct x86_rm x86_r(int reg) { return (struct x86_rm){.kind = X86_REG, .reg = reg}; }
static inline struct x86_rm x86_at(int base, int32_t disp)
{
    return (struct x86_rm){.kind = X86_MEM, .reg = base, .index = NO_INDEX, .disp = disp};
}
static inline struct x86_rm x86_indexed(int base, int index, int scale, int32_t disp)
{
    return (struct x86_rm){.kind = X86_MEM, .reg = base, .index = index, .scale = scale, .disp = disp};
}
static inline struct x86_rm x86_c(uint32_t constant)
{
    return (struct x86_rm){.kind = X86_CONST, .constant = constant};
}

/* A VEX instruction as one number: opcode, map (1: 0F, 2: 0F38, 3: 0F3A), prefix (0, 1: 66, 2: F3, 3: F2), W. */
#define X86_V(map, pp, w, opcode) ((uint32_t)(map) << 16 | (uint32_t)(pp) << 12 | (uint32_t)(w) << 8 | (opcode))
void x86_vex(struct x86 *x, uint32_t what, bool wide, int reg, int second, struct x86_rm rm,
             int imm); /* imm -1: none */
/* Three operands, 256 bits: d = op(a, b). */
static inline void x86_v3(struct x86 *x, uint32_t what, int d, int a, struct x86_rm b)
{
    x86_vex(x, what, true, d, a, b, -1);
}
static inline void x86_v3i(struct x86 *x, uint32_t what, int d, int a, struct x86_rm b, int imm)
{
    x86_vex(x, what, true, d, a, b, imm);
}
static inline void x86_v2(struct x86 *x, uint32_t what, int d, struct x86_rm b) { x86_vex(x, what, true, d, 0, b, -1); }

/* Instructions of general registers; w: 64 bits. opcode: of the form r, r/m. */
void x86_op(struct x86 *x, bool w, unsigned opcode, int reg, struct x86_rm rm);
void x86_op_imm(struct x86 *x, bool w, unsigned group, struct x86_rm rm, int32_t imm); /* add 0, or 1, and 4, cmp 7 */
void x86_mov_imm64(struct x86 *x, int reg, uint64_t value);
void x86_movzx_byte(struct x86 *x, int reg, struct x86_rm rm);
void x86_mov_to_byte(struct x86 *x, struct x86_rm rm, int reg);
void x86_call(struct x86 *x, int reg);
void x86_jump_to(struct x86 *x, int reg);
void x86_jump(struct x86 *x, uint32_t label);
enum { X86_E = 4, X86_NE = 5 };
void x86_jump_if(struct x86 *x, unsigned condition, uint32_t label);

/* The AVX and AVX2 instructions in use. */
enum {
    V_PADDD = X86_V(1, 1, 0, 0xfe),
    V_PADDQ = X86_V(1, 1, 0, 0xd4),
    V_PSUBD = X86_V(1, 1, 0, 0xfa),
    V_PSUBQ = X86_V(1, 1, 0, 0xfb),
    V_PMULLD = X86_V(2, 1, 0, 0x40),
    V_PMULUDQ = X86_V(1, 1, 0, 0xf4),
    V_PMULDQ = X86_V(2, 1, 0, 0x28),
    V_PABSD = X86_V(2, 1, 0, 0x1e),
    V_PMINUD = X86_V(2, 1, 0, 0x3b),
    V_PMINSD = X86_V(2, 1, 0, 0x39),
    V_PMAXUD = X86_V(2, 1, 0, 0x3f),
    V_PMAXSD = X86_V(2, 1, 0, 0x3d),
    V_PAND = X86_V(1, 1, 0, 0xdb),
    V_PANDN = X86_V(1, 1, 0, 0xdf),
    V_POR = X86_V(1, 1, 0, 0xeb),
    V_PXOR = X86_V(1, 1, 0, 0xef),
    V_PSLLVD = X86_V(2, 1, 0, 0x47),
    V_PSLLVQ = X86_V(2, 1, 1, 0x47),
    V_PSRLVD = X86_V(2, 1, 0, 0x45),
    V_PSRLVQ = X86_V(2, 1, 1, 0x45),
    V_PSRAVD = X86_V(2, 1, 0, 0x46),
    V_PSHUFB = X86_V(2, 1, 0, 0x00),
    V_PCMPEQD = X86_V(1, 1, 0, 0x76),
    V_PCMPEQQ = X86_V(2, 1, 0, 0x29),
    V_PCMPGTD = X86_V(1, 1, 0, 0x66),
    V_PCMPGTQ = X86_V(2, 1, 0, 0x37),
    V_PUNPCKLDQ = X86_V(1, 1, 0, 0x62),
    V_PUNPCKHDQ = X86_V(1, 1, 0, 0x6a),
    V_PACKUSDW = X86_V(2, 1, 0, 0x2b),
    V_PMOVZXDQ = X86_V(2, 1, 0, 0x35),
    V_PMOVSXDQ = X86_V(2, 1, 0, 0x25),
    V_PMOVZXWD = X86_V(2, 1, 0, 0x33),
    V_PBROADCASTD = X86_V(2, 1, 0, 0x58),
    V_PBROADCASTQ = X86_V(2, 1, 0, 0x59),
    V_BLENDVPS = X86_V(3, 1, 0, 0x4a), /* imm: the mask's register << 4 */
    V_BLENDVPD = X86_V(3, 1, 0, 0x4b),
    V_PBLENDD = X86_V(3, 1, 0, 0x02),
    V_PERM2I128 = X86_V(3, 1, 0, 0x46),
    V_EXTRACTI128 = X86_V(3, 1, 0, 0x39), /* reg: source, rm: result */
    V_INSERTI128 = X86_V(3, 1, 0, 0x38),
    V_PERMQ = X86_V(3, 1, 1, 0x00),
    V_SHUFPS = X86_V(1, 0, 0, 0xc6),
    V_MOVUPS = X86_V(1, 0, 0, 0x10),
    V_MOVUPS_TO = X86_V(1, 0, 0, 0x11),
    V_MOVAPS = X86_V(1, 0, 0, 0x28),
    V_MOVD = X86_V(1, 1, 0, 0x6e), /* from a general register */
    V_MOVMSKPS = X86_V(1, 0, 0, 0x50),
    V_ADDPS = X86_V(1, 0, 0, 0x58),
    V_MULPS = X86_V(1, 0, 0, 0x59),
    V_SUBPS = X86_V(1, 0, 0, 0x5c),
    V_DIVPS = X86_V(1, 0, 0, 0x5e),
    V_MINPS = X86_V(1, 0, 0, 0x5d),
    V_MAXPS = X86_V(1, 0, 0, 0x5f),
    V_SQRTPS = X86_V(1, 0, 0, 0x51),
    V_ADDPD = X86_V(1, 1, 0, 0x58),
    V_MULPD = X86_V(1, 1, 0, 0x59),
    V_SUBPD = X86_V(1, 1, 0, 0x5c),
    V_DIVPD = X86_V(1, 1, 0, 0x5e),
    V_SQRTPD = X86_V(1, 1, 0, 0x51),
    V_ANDPS = X86_V(1, 0, 0, 0x54),
    V_ANDNPS = X86_V(1, 0, 0, 0x55),
    V_ORPS = X86_V(1, 0, 0, 0x56),
    V_XORPS = X86_V(1, 0, 0, 0x57),
    V_CMPPS = X86_V(1, 0, 0, 0xc2),
    V_CMPPD = X86_V(1, 1, 0, 0xc2),
    V_FMADD213PS = X86_V(2, 1, 0, 0xa8), /* d = a * d + b */
    V_FMADD213PD = X86_V(2, 1, 1, 0xa8),
    V_FMADD231PS = X86_V(2, 1, 0, 0xb8), /* d = a * b + d */
    V_CVTDQ2PS = X86_V(1, 0, 0, 0x5b),
    V_CVTPS2DQ = X86_V(1, 1, 0, 0x5b),
    V_CVTTPS2DQ = X86_V(1, 2, 0, 0x5b),
    V_CVTDQ2PD = X86_V(1, 2, 0, 0xe6),
    V_CVTPS2PD = X86_V(1, 0, 0, 0x5a),
    V_CVTPD2PS = X86_V(1, 1, 0, 0x5a),
    V_CVTPH2PS = X86_V(2, 1, 0, 0x13),
    V_CVTPS2PH = X86_V(3, 1, 0, 0x1d), /* reg: source, rm: result */
    V_ROUNDPS = X86_V(3, 1, 0, 0x08),
    V_ROUNDPD = X86_V(3, 1, 0, 0x09),
    V_PTEST = X86_V(2, 1, 0, 0x17)
};
void x86_vzeroupper(struct x86 *x);
/* Shifts of all lanes by a number: group 2 right, 4 right with sign, 6 left; q: 64-bit lanes. */
void x86_shift(struct x86 *x, bool q, unsigned group, int d, int a, unsigned by);

#endif
