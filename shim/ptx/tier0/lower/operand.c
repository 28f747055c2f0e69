/* Tier 0 lowering: operands as rows, and every instruction that is plain arithmetic. */
#include "ptx/tier0/lower/lower.h"

#include <string.h>

struct t0_insn *t0_emit(struct t0_lower *l, unsigned op)
{
    struct t0_insn *i = t0_push(l, &l->code, sizeof *i);
    struct t0_line *line = t0_push(l, &l->lines, sizeof *line);
    i->op = (uint16_t)op;
    line->line = l->at ? l->at->line : l->f->line;
    return i;
}

uint32_t t0_temp(struct t0_lower *l, enum t0_class c)
{
    if (l->used[c] == 3)
        t0_fail(l, "operands too complex");
    return l->temp[c][l->used[c]++];
}

uint32_t t0_imm(struct t0_lower *l, enum t0_class c, uint64_t value)
{
    switch (c) {
    case T0_CLASS_PRED: return t0_const_row(l, T0_ROW_IMM, 0, 0, value & 1 ? ~0u : 0);
    case T0_CLASS_32: return t0_const_row(l, T0_ROW_IMM, 0, 0, (uint32_t)value);
    case T0_CLASS_64: return t0_const_row(l, T0_ROW_IMM, 1, 0, value);
    default: return t0_const_row(l, T0_ROW_IMM, 2, 0, value);
    }
}

enum t0_class t0_reg_class(struct t0_lower *l, int32_t reg)
{
    return t0_class_of(l->f->reg[reg].type);
}

void t0_emit_move(struct t0_lower *l, enum t0_class c, uint32_t d, uint32_t a)
{
    static const uint16_t op[T0_CLASSES] = {T0_MOV_P, T0_MOV_B32, T0_MOV_B64, T0_MOV_B128};
    struct t0_insn *i = t0_emit(l, op[c]);
    i->d = d;
    i->a = a;
}

uint32_t t0_shared_area(struct t0_lower *l, const struct ptx_var *v, bool *dynamic)
{
    struct t0_area *a = l->areas.p;
    *dynamic = v->unsized || (v->is_extern && !v->size);
    l->uses_dynamic |= *dynamic;
    if (*dynamic) {
        if (v->align > l->dynamic_align)
            l->dynamic_align = v->align;
        return 0;
    }
    for (uint32_t k = 0; k < l->areas.n; k++)
        if (a[k].var == v)
            return a[k].offset;
    uint64_t at = ((uint64_t)l->shared_top + v->align - 1) & ~(uint64_t)(v->align - 1);
    if (at + v->size > 1u << 20)
        t0_refuse(l, "shared memory passes 1 MiB");
    a = t0_push(l, &l->areas, sizeof *a);
    a->var = v;
    a->offset = (uint32_t)at;
    l->shared_top = (uint32_t)(at + v->size);
    return a->offset;
}

static uint32_t module_var(struct t0_lower *l, const struct ptx_var *v)
{
    const struct t0_extern *e = l->externs.p;
    for (uint32_t k = 0; k < l->externs.n; k++)
        if (!strcmp((char *)l->strings.p + e[k].name, v->name))
            return k;
    uint32_t name = t0_string(l, v->name);
    struct t0_extern *x = t0_push(l, &l->externs, sizeof *x);
    x->name = name;
    return l->externs.n - 1;
}

uint32_t t0_symbol(struct t0_lower *l, int32_t sym, uint64_t offset, enum t0_class c)
{
    const struct ptx_var *v = ptx_symbol(l->f, sym);
    unsigned wide = c == T0_CLASS_64;
    if (PTX_SYM_BAND(sym) == 0x20000000) {
        const struct ptx_func *f = t0_callee(l, sym);
        if (f)
            t0_reach(l, f);
        return t0_imm(l, c, T0_FUNC_TAG | (f ? f->number : (uint64_t)PTX_SYM_INDEX(sym)));
    }
    if (!v)
        t0_fail(l, "symbol has no address");
    if (c != T0_CLASS_64 && v->space != PTX_SP_SHARED)
        t0_fail(l, "`%s`: addresses outside shared memory have 64 bits", v->name);
    switch (v->space) {
    case PTX_SP_SHARED: {
        bool dynamic;
        uint32_t at = t0_shared_area(l, v, &dynamic);
        return t0_const_row(l, T0_ROW_IMM, wide, dynamic ? T0_DYNAMIC : 0,
                            wide ? at + offset : (uint32_t)(at + offset));
    }
    case PTX_SP_LOCAL: {
        struct t0_insn *i = t0_emit(l, T0_LOCAL_ADDR);
        uint32_t row = t0_temp(l, T0_CLASS_64);
        i->imm = (int32_t)(v->offset + offset);
        return i->d = row;
    }
    case PTX_SP_PARAM:
        if (PTX_SYM_BAND(sym) == 0x60000000 && l->f->is_entry)
            return t0_const_row(l, T0_ROW_PARAM, 1, 0, v->offset + offset);
        else {
            uint32_t k = (uint32_t)PTX_SYM_INDEX(sym) +
                         (PTX_SYM_BAND(sym) == 0x40000000 ? l->f->nparam + l->f->nret : 0);
            struct t0_insn *i = t0_emit(l, T0_LANE_ADDR);
            i->a = t0_fn_slots(&l->fn);
            i->c = l->fn.slot;
            i->imm = (int32_t)(l->slot[k] + offset);
            uint32_t row = t0_temp(l, T0_CLASS_64);
            return ((struct t0_insn *)l->code.p)[l->code.n - 1].d = row;
        }
    case PTX_SP_GLOBAL:
    case PTX_SP_CONST:
        if (v->size == 0 && !v->unsized && !v->is_extern)
            break;
        return t0_const_row(l, T0_ROW_EXTERN, 1, module_var(l, v), offset);
    default: break;
    }
    t0_fail(l, "`%s`: no address in this state space", v->name);
}

/* %reserved_smem_offset_*: the first use makes the area. Multi-warp tiles of cooperative groups
 * keep their barriers at offset_1. */
static uint32_t reserved_shared(struct t0_lower *l, unsigned sreg)
{
    static const uint32_t at[] = {0, T0_SHARED_RESERVED, T0_SHARED_RESERVED, 0,
                                  T0_SHARED_RESERVED / 2};
    if (!l->reserved) {
        l->shared_top = (l->shared_top + 127) & ~127u;
        l->reserved = l->shared_top + 1;
        l->shared_top += T0_SHARED_RESERVED;
    }
    return l->reserved - 1 + at[sreg - PTX_SR_RESERVED_SMEM_BEGIN];
}

static uint32_t special(struct t0_lower *l, unsigned sreg, enum t0_class c)
{
    if (sreg >= PTX_SR_RESERVED_SMEM_BEGIN && sreg <= PTX_SR_RESERVED_SMEM_1)
        return t0_imm(l, c, reserved_shared(l, sreg));
    if (sreg == PTX_SR_ENVREG0 + 1 || sreg == PTX_SR_ENVREG0 + 2)
        l->uses_grid_sync = true;
    if (t0_sreg_dynamic(sreg)) {
        uint32_t row = t0_temp(l, c);
        struct t0_insn *i = t0_emit(l, T0_SREG);
        i->d = row;
        i->imm = (int32_t)sreg;
        i->aux = c == T0_CLASS_64;
        return row;
    }
    return t0_const_row(l, T0_ROW_SREG, c == T0_CLASS_64, sreg, 0);
}

uint32_t t0_source(struct t0_lower *l, const struct ptx_opnd *o, enum t0_class c)
{
    switch (o->kind) {
    case PTX_O_REG: return l->reg[o->reg];
    case PTX_O_IMM: return t0_imm(l, c, o->imm);
    case PTX_O_SREG: return special(l, (unsigned)o->reg, c);
    case PTX_O_SYM: return t0_symbol(l, o->sym, o->imm, c);
    case PTX_O_NONE:
    case PTX_O_SINK: return T0_SINK;
    default: t0_fail(l, "operand of a kind that is not supported here");
    }
}

uint32_t t0_dest(struct t0_lower *l, const struct ptx_opnd *o)
{
    if (o->kind == PTX_O_REG)
        return l->reg[o->reg];
    if (o->kind == PTX_O_SINK || o->kind == PTX_O_NONE)
        return T0_SINK;
    t0_fail(l, "destination of a kind that is not supported here");
}

/* Type that source s of an instruction is read as. Registers say themselves how wide they are; this
 * is for immediates and symbols. */
static enum t0_class source_class(const struct ptx_instr *i, unsigned s)
{
    enum t0_class first = t0_class_of(i->type[0]), second = t0_class_of(i->type[1]);
    switch (i->op) {
    case PTX_OP_SHL: case PTX_OP_SHR: case PTX_OP_BMSK: case PTX_OP_SZEXT: case PTX_OP_BFE:
        return s ? T0_CLASS_32 : first;
    case PTX_OP_BFI: return s < 2 ? first : T0_CLASS_32;
    case PTX_OP_CVT: return second;
    case PTX_OP_SET: return s < 2 ? second : T0_CLASS_PRED;
    case PTX_OP_SETP: return s < 2 ? first : T0_CLASS_PRED;
    case PTX_OP_SELP: return s < 2 ? first : T0_CLASS_PRED;
    case PTX_OP_SLCT: return s < 2 ? first : second;
    case PTX_OP_LOP3: return s < 4 ? T0_CLASS_32 : T0_CLASS_PRED;
    case PTX_OP_MAD: return s == 2 && i->flags & PTX_F_WIDE && first == T0_CLASS_32 &&
                                    ptx_type_size(i->type[0]) == 4 ? T0_CLASS_64 : first;
    default: return i->type[0] ? first : T0_CLASS_32;
    }
}

/* cvt and its registers: the source may be wider than the type it is read as, the destination wider
 * than what is made; both only by going from 32- to 64-bit rows. */
static bool lower_cvt(struct t0_lower *l, const struct ptx_instr *i, struct t0_insn *out)
{
    enum t0_class from = t0_class_of(i->type[1]), to = t0_class_of(i->type[0]);
    const struct ptx_opnd *a = &i->src[0], *d = &i->dst[0];
    uint32_t arow = t0_source(l, a, from);
    if (a->kind == PTX_O_REG && t0_reg_class(l, a->reg) == T0_CLASS_64 && from == T0_CLASS_32) {
        struct t0_insn *n = t0_emit(l, T0_CVT_I32_U64);
        n->aux = 2 << 8;
        n->a = arow;
        arow = t0_temp(l, T0_CLASS_32);
        ((struct t0_insn *)l->code.p)[l->code.n - 1].d = arow;
    }
    uint32_t drow = t0_dest(l, d), wide = drow;
    bool extend =
        d->kind == PTX_O_REG && t0_reg_class(l, d->reg) == T0_CLASS_64 && to == T0_CLASS_32;
    if (extend)
        drow = t0_temp(l, T0_CLASS_32);
    out->d = drow;
    out->a = arow;
    out->b = i->nsrc > 1 ? t0_source(l, &i->src[1], from) : T0_SINK;
    out->c = i->nsrc > 2 ? t0_source(l, &i->src[2], T0_CLASS_32) : T0_SINK;
    *t0_emit(l, out->op) = *out;
    if (extend) {
        bool sign = i->type[0] == PTX_S8 || i->type[0] == PTX_S16 || i->type[0] == PTX_S32;
        struct t0_insn *n = t0_emit(l, i->type[0] == PTX_S8    ? T0_CVT_I64_S8
                                       : i->type[0] == PTX_S16 ? T0_CVT_I64_S16
                                       : sign                  ? T0_CVT_I64_S32
                                                               : T0_CVT_I64_U32);
        n->d = wide;
        n->a = drow;
    }
    return true;
}

/* A parallel move: every source is read before any destination is written. Moves whose destination nobody still has to
 * read go first; where only cycles are left, a copy of one destination breaks one of them. */
static void emit_moves(struct t0_lower *l, enum t0_class c, unsigned n, uint32_t *d, uint32_t *s)
{
    uint32_t spare = 0;
    while (n) {
        unsigned k = 0, reader = 0;
        for (; k < n; k++) {
            for (reader = 0; reader < n && (reader == k || s[reader] != d[k]);)
                reader++;
            if (reader == n)
                break;
        }
        if (k == n) {
            spare = spare ? spare : t0_temp(l, c);
            t0_emit_move(l, c, spare, d[0]);
            for (k = 0; k < n; k++)
                s[k] = s[k] == d[0] ? spare : s[k];
            continue;
        }
        if (d[k] != s[k])
            t0_emit_move(l, c, d[k], s[k]);
        n--;
        memmove(&d[k], &d[k + 1], (n - k) * sizeof *d);
        memmove(&s[k], &s[k + 1], (n - k) * sizeof *s);
    }
}

/* mov.v4 and the like, and mov between a vector and the register that holds all of it. */
static bool lower_mov_vector(struct t0_lower *l, const struct ptx_instr *i, struct t0_insn *out)
{
    const struct ptx_opnd *d = &i->dst[0], *s = &i->src[0], *part = l->f->opnd;
    enum t0_class c = t0_class_of(i->type[0]);
    if (d->kind == PTX_O_VEC && s->kind == PTX_O_VEC) {
        uint32_t to[8], from[8];
        if (d->n != s->n || d->n > 8)
            t0_fail(l, "vectors of different lengths");
        for (unsigned k = 0; k < d->n; k++) {
            from[k] = t0_source(l, &part[s->first + k], c);
            to[k] = t0_dest(l, &part[d->first + k]);
        }
        emit_moves(l, c, d->n, to, from);
        return true;
    }
    if (d->kind != PTX_O_VEC && s->kind != PTX_O_VEC)
        return false;
    unsigned n = d->kind == PTX_O_VEC ? d->n : s->n;
    enum t0_class piece = ptx_type_size(i->type[0]) / n > 4 ? T0_CLASS_64 : T0_CLASS_32;
    uint32_t row[4] = {0};
    if (n > 4)
        t0_fail(l, "vector of more than four elements");
    if (d->kind == PTX_O_VEC) {
        for (unsigned k = 0; k < n; k++)
            row[k] = t0_dest(l, &part[d->first + k]);
        out->a = t0_source(l, s, c);
        out->d = row[0];
        out->e = row[1];
        out->b = row[2];
        out->c = row[3];
    } else {
        for (unsigned k = 0; k < n; k++)
            row[k] = t0_source(l, &part[s->first + k], piece);
        out->d = t0_dest(l, d);
        out->a = row[0];
        out->b = row[1];
        out->c = row[2];
        out->e = row[3];
    }
    return false;
}

void t0_lower_alu(struct t0_lower *l, const struct ptx_instr *i)
{
    struct t0_insn out = {0};
    bool vector =
        i->op == PTX_OP_MOV && (i->dst[0].kind == PTX_O_VEC || i->src[0].kind == PTX_O_VEC);
    if (vector && i->vec > 1 && lower_mov_vector(l, i, &out))
        return;
    if (!t0_select_alu(i, &out))
        t0_fail(l, "instruction is not supported");
    if (i->op == PTX_OP_CVT && lower_cvt(l, i, &out))
        return;
    if (vector) {
        if (lower_mov_vector(l, i, &out))
            return;
    } else {
        uint32_t *place[4] = {&out.a, &out.b, &out.c, &out.e};
        for (unsigned s = 0; s < i->nsrc && s < 4; s++)
            if (!(s == 3 && i->op == PTX_OP_LOP3))
                *place[s] = t0_source(l, &i->src[s], source_class(i, s));
        out.d = i->ndst ? t0_dest(l, &i->dst[0]) : T0_SINK;
        if (i->ndst > 1)
            out.e = t0_dest(l, &i->dst[1]);
    }
    *t0_emit(l, out.op) = out;
}
