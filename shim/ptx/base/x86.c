/* The assembler of the baseline code generator: encodings, labels, constants. */
#include "ptx/base/x86.h"

#include <stdlib.h>
#include <string.h>

void x86_free(struct x86 *x)
{
    free(x->p);
    free(x->constants);
    free(x->fixup);
    free(x->label);
    memset(x, 0, sizeof *x);
}

/* Room for one more element; false, and the code is void, without memory. */
static bool grow(struct x86 *x, void *array, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room)
        return true;
    uint32_t more = *room ? 2 * *room : 64;
    void *p = realloc(*(void **)array, more * size);
    if (!p) {
        x->failed = true;
        return false;
    }
    *(void **)array = p;
    *room = more;
    return true;
}

static void bytes(struct x86 *x, const void *p, size_t n)
{
    if (x->n + n > x->room) {
        size_t room = x->room ? 2 * x->room : 4096;
        uint8_t *more = x->failed ? NULL : realloc(x->p, room);
        if (!more) {
            x->failed = true;
            return;
        }
        x->p = more;
        x->room = room;
    }
    memcpy(x->p + x->n, p, n);
    x->n += n;
}

void x86_byte(struct x86 *x, unsigned byte)
{
    uint8_t b = (uint8_t)byte;
    bytes(x, &b, 1);
}

static void word(struct x86 *x, uint32_t v) { bytes(x, &v, 4); }

uint32_t x86_label(struct x86 *x)
{
    if (!grow(x, &x->label, x->nlabel, &x->label_room, sizeof *x->label))
        return 0;
    x->label[x->nlabel] = 0;
    return x->nlabel++;
}

void x86_place(struct x86 *x, uint32_t label)
{
    if (label < x->nlabel)
        x->label[label] = (uint32_t)x->n + 1;
}

uint32_t x86_constant(struct x86 *x, const void *value)
{
    for (uint32_t k = 0; k < x->nconstant; k++)
        if (!memcmp(x->constants[k], value, 32))
            return k;
    if (!grow(x, &x->constants, x->nconstant, &x->constant_room, sizeof *x->constants))
        return 0;
    memcpy(x->constants[x->nconstant], value, 32);
    return x->nconstant++;
}

static void fix(struct x86 *x, uint32_t after, uint32_t target, bool constant)
{
    if (grow(x, &x->fixup, x->nfixup, &x->fixup_room, sizeof *x->fixup))
        x->fixup[x->nfixup++] = (struct x86_fixup){(uint32_t)x->n, after, target, constant};
    word(x, 0);
}

bool x86_finish(struct x86 *x)
{
    while (x->n % 32 && !x->failed)
        x86_byte(x, 0xcc);
    const size_t pool = x->n;
    for (uint32_t k = 0; k < x->nconstant; k++)
        bytes(x, x->constants[k], 32);
    if (x->failed || x->n > INT32_MAX)
        return false;
    for (uint32_t k = 0; k < x->nfixup; k++) {
        const struct x86_fixup *f = &x->fixup[k];
        const size_t to = f->constant ? pool + (size_t)32 * f->target : x->label[f->target] - 1;
        const int32_t distance = (int32_t)((int64_t)to - (int64_t)(f->at + 4 + f->after));
        memcpy(x->p + f->at, &distance, 4);
    }
    return true;
}

/* ModRM, SIB and displacement; `after`: bytes of the instruction behind them. */
static void address(struct x86 *x, int reg, struct x86_rm rm, uint32_t after)
{
    const unsigned r = (unsigned)(reg & 7) << 3;
    if (rm.kind == X86_REG) {
        x86_byte(x, 0xc0 | r | (rm.reg & 7));
        return;
    }
    if (rm.kind == X86_CONST) { /* relative to the instruction's end */
        x86_byte(x, r | 5);
        fix(x, after, rm.constant, true);
        return;
    }
    const bool near = rm.disp >= -128 && rm.disp < 128, sib = rm.index != NO_INDEX || (rm.reg & 7) == RSP;
    x86_byte(x, (near ? 0x40u : 0x80u) | r | (sib ? 4 : rm.reg & 7));
    if (sib)
        x86_byte(x, (unsigned)rm.scale << 6 | (rm.index == NO_INDEX ? 4u : rm.index & 7) << 3 | (rm.reg & 7));
    if (near)
        x86_byte(x, (uint8_t)rm.disp);
    else
        word(x, (uint32_t)rm.disp);
}

/* Bits 3 of index and base, where those are registers. */
static unsigned high_index(struct x86_rm rm) { return rm.kind == X86_MEM && rm.index != NO_INDEX ? rm.index >> 3 : 0; }
static unsigned high_base(struct x86_rm rm) { return rm.kind != X86_CONST ? rm.reg >> 3 : 0; }

void x86_vex(struct x86 *x, uint32_t what, bool wide, int reg, int second, struct x86_rm rm, int imm)
{
    const unsigned map = what >> 16, pp = what >> 12 & 3, w = what >> 8 & 1;
    const unsigned rxb = ((unsigned)reg >> 3 << 7 | high_index(rm) << 6 | high_base(rm) << 5) ^ 0xe0;
    x86_byte(x, 0xc4);
    x86_byte(x, rxb | map);
    x86_byte(x, w << 7 | (~(unsigned)second & 15) << 3 | (unsigned)wide << 2 | pp);
    x86_byte(x, what & 0xff);
    address(x, reg, rm, imm >= 0);
    if (imm >= 0)
        x86_byte(x, (unsigned)imm);
}

void x86_shift(struct x86 *x, bool q, unsigned group, int d, int a, unsigned by)
{
    x86_vex(x, X86_V(1, 1, 0, q ? 0x73 : 0x72), true, (int)group, d, x86_r(a), (int)by);
}

void x86_vzeroupper(struct x86 *x)
{
    static const uint8_t code[] = {0xc5, 0xf8, 0x77};
    bytes(x, code, sizeof code);
}

static void rex(struct x86 *x, bool w, int reg, struct x86_rm rm, bool byte)
{
    const unsigned bits = (unsigned)w << 3 | (unsigned)reg >> 3 << 2 | high_index(rm) << 1 | high_base(rm);
    if (bits || byte)
        x86_byte(x, 0x40 | bits);
}

void x86_op(struct x86 *x, bool w, unsigned opcode, int reg, struct x86_rm rm)
{
    rex(x, w, reg, rm, false);
    if (opcode > 0xff)
        x86_byte(x, opcode >> 8);
    x86_byte(x, opcode & 0xff);
    address(x, reg, rm, 0);
}

void x86_op_imm(struct x86 *x, bool w, unsigned group, struct x86_rm rm, int32_t imm)
{
    rex(x, w, 0, rm, false);
    x86_byte(x, 0x81);
    address(x, (int)group, rm, 4);
    word(x, (uint32_t)imm);
}

void x86_mov_imm64(struct x86 *x, int reg, uint64_t value)
{
    rex(x, value > UINT32_MAX, 0, x86_r(reg), false);
    x86_byte(x, 0xb8 | (reg & 7));
    bytes(x, &value, value > UINT32_MAX ? 8 : 4);
}

void x86_movzx_byte(struct x86 *x, int reg, struct x86_rm rm) { x86_op(x, false, 0x0fb6, reg, rm); }

void x86_mov_to_byte(struct x86 *x, struct x86_rm rm, int reg)
{
    rex(x, false, reg, rm, reg >= RSP);
    x86_byte(x, 0x88);
    address(x, reg, rm, 0);
}

void x86_call(struct x86 *x, int reg)
{
    rex(x, false, 0, x86_r(reg), false);
    x86_byte(x, 0xff);
    address(x, 2, x86_r(reg), 0);
}

void x86_jump_to(struct x86 *x, int reg)
{
    rex(x, false, 0, x86_r(reg), false);
    x86_byte(x, 0xff);
    address(x, 4, x86_r(reg), 0);
}

void x86_jump(struct x86 *x, uint32_t label)
{
    x86_byte(x, 0xe9);
    fix(x, 0, label, false);
}

void x86_jump_if(struct x86 *x, unsigned condition, uint32_t label)
{
    x86_byte(x, 0x0f);
    x86_byte(x, 0x80 | condition);
    fix(x, 0, label, false);
}
