/* Tier 0 lowering: operands as rows, and every instruction that is plain arithmetic. */
#include "ptx/lir/lower/lower.h"

#include <string.h>

struct lir_insn *lir_emit(struct lir_lower *l, unsigned op)
{
    struct lir_insn *i = lir_push(l, &l->code, sizeof *i);
    struct lir_line *line = lir_push(l, &l->lines, sizeof *line);
    i->op = (uint16_t)op;
    line->line = l->at ? l->at->line : l->f->line;
    return i;
}

uint32_t lir_temp(struct lir_lower *l, enum lir_class c)
{
    if (l->used[c] == 3)
        lir_fail(l, "operands too complex");
    return l->temp[c][l->used[c]++];
}

uint32_t lir_imm(struct lir_lower *l, enum lir_class c, uint64_t value)
{
    switch (c) {
    case LIR_CLASS_PRED: return lir_const_row(l, LIR_ROW_IMM, 0, 0, value & 1 ? ~0u : 0);
    case LIR_CLASS_32: return lir_const_row(l, LIR_ROW_IMM, 0, 0, (uint32_t)value);
    case LIR_CLASS_64: return lir_const_row(l, LIR_ROW_IMM, 1, 0, value);
    default: return lir_const_row(l, LIR_ROW_IMM, 2, 0, value);
    }
}

enum lir_class lir_reg_class(struct lir_lower *l, int32_t reg) { return lir_class_of(l->f->reg[reg].type); }

void lir_emit_move(struct lir_lower *l, enum lir_class c, uint32_t d, uint32_t a)
{
    static const uint16_t op[LIR_CLASSES] = {LIR_MOV_P, LIR_MOV_B32, LIR_MOV_B64, LIR_MOV_B128};
    struct lir_insn *i = lir_emit(l, op[c]);
    i->d = d;
    i->a = a;
}

uint32_t lir_shared_area(struct lir_lower *l, const struct ptx_var *v, bool *dynamic)
{
    struct lir_area *a = l->areas.p;
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
        lir_refuse(l, "shared memory passes 1 MiB");
    a = lir_push(l, &l->areas, sizeof *a);
    a->var = v;
    a->offset = (uint32_t)at;
    l->shared_top = (uint32_t)(at + v->size);
    return a->offset;
}

uint32_t lir_extern(struct lir_lower *l, const char *name)
{
    const struct lir_extern *e = l->externs.p;
    for (uint32_t k = 0; k < l->externs.n; k++)
        if (!strcmp((char *)l->strings.p + e[k].name, name))
            return k;
    uint32_t at = lir_string(l, name);
    struct lir_extern *x = lir_push(l, &l->externs, sizeof *x);
    x->name = at;
    return l->externs.n - 1;
}

/* The address of a symbol in a row: a number, what the launch or the loader fills in, or what an instruction computes
 * in each lane. */
uint32_t lir_symbol(struct lir_lower *l, int32_t sym, uint64_t offset, enum lir_class c)
{
    const struct ptx_var *v = ptx_symbol(l->f, sym);
    unsigned wide = c == LIR_CLASS_64;
    if (PTX_SYM_BAND(sym) == PTX_BAND_FUNC) {
        const struct ptx_func *f = lir_callee(l, sym);
        if (l->module->func[PTX_SYM_INDEX(sym)].is_entry) {
            l->launches = true;
            return lir_const_row(l, LIR_ROW_EXTERN, 1, lir_extern(l, l->module->func[PTX_SYM_INDEX(sym)].name), offset);
        }
        if (f)
            lir_reach(l, f);
        return lir_imm(l, c, LIR_FUNC_TAG | (f ? f->number : (uint64_t)PTX_SYM_INDEX(sym)));
    }
    if (!v)
        lir_fail(l, "symbol has no address");
    if (c != LIR_CLASS_64 && v->space != PTX_SP_SHARED)
        lir_fail(l, "`%s`: addresses outside shared memory have 64 bits", v->name);
    switch (v->space) {
    case PTX_SP_SHARED: {
        bool dynamic;
        uint32_t at = lir_shared_area(l, v, &dynamic);
        return lir_const_row(l, LIR_ROW_IMM, wide, dynamic ? LIR_DYNAMIC : 0,
                             wide ? at + offset : (uint32_t)(at + offset));
    }
    case PTX_SP_LOCAL: {
        struct lir_insn *i = lir_emit(l, LIR_LOCAL_ADDR);
        uint32_t row = lir_temp(l, LIR_CLASS_64);
        i->imm = (int32_t)(v->offset + offset);
        return i->d = row;
    }
    case PTX_SP_PARAM:
        if (PTX_SYM_BAND(sym) == PTX_BAND_PARAM && l->f->is_entry)
            return lir_const_row(l, LIR_ROW_PARAM, 1, 0, v->offset + offset);
        else {
            uint32_t k = (uint32_t)PTX_SYM_INDEX(sym) +
                         (PTX_SYM_BAND(sym) == PTX_BAND_LOCAL ? l->f->nparam + l->f->nret : 0);
            struct lir_insn *i = lir_emit(l, LIR_LANE_ADDR);
            i->a = lir_fn_slots(&l->fn);
            i->c = l->fn.slot;
            i->imm = (int32_t)(l->slot[k] + offset);
            uint32_t row = lir_temp(l, LIR_CLASS_64);
            return ((struct lir_insn *)l->code.p)[l->code.n - 1].d = row;
        }
    case PTX_SP_GLOBAL:
    case PTX_SP_CONST:
        if (v->size == 0 && !v->unsized && !v->is_extern)
            break;
        return lir_const_row(l, LIR_ROW_EXTERN, 1, lir_extern(l, v->name), offset);
    default: break;
    }
    lir_fail(l, "`%s`: no address in this state space", v->name);
}

/* %reserved_smem_offset_*: the first use makes the area. Multi-warp tiles of cooperative groups
 * keep their barriers at offset_1. */
static uint32_t reserved_shared(struct lir_lower *l, unsigned sreg)
{
    static const uint32_t at[] = {0, LIR_SHARED_RESERVED, LIR_SHARED_RESERVED, 0, LIR_SHARED_RESERVED / 2};
    if (!l->reserved) {
        l->shared_top = (l->shared_top + 127) & ~127u;
        l->reserved = l->shared_top + 1;
        l->shared_top += LIR_SHARED_RESERVED;
    }
    return l->reserved - 1 + at[sreg - PTX_SR_RESERVED_SMEM_BEGIN];
}

static uint32_t special(struct lir_lower *l, unsigned sreg, enum lir_class c)
{
    if (sreg >= PTX_SR_RESERVED_SMEM_BEGIN && sreg <= PTX_SR_RESERVED_SMEM_1)
        return lir_imm(l, c, reserved_shared(l, sreg));
    if (sreg == PTX_SR_ENVREG0 + 1 || sreg == PTX_SR_ENVREG0 + 2)
        l->uses_grid_sync = true;
    if (lir_sreg_dynamic(sreg)) {
        uint32_t row = lir_temp(l, c);
        struct lir_insn *i = lir_emit(l, LIR_SREG);
        i->d = row;
        i->imm = (int32_t)sreg;
        i->aux = c == LIR_CLASS_64;
        return row;
    }
    return lir_const_row(l, LIR_ROW_SREG, c == LIR_CLASS_64, sreg, 0);
}

uint32_t lir_source(struct lir_lower *l, const struct ptx_opnd *o, enum lir_class c)
{
    switch (o->kind) {
    case PTX_O_REG: return l->reg[o->reg];
    case PTX_O_IMM: return lir_imm(l, c, o->imm);
    case PTX_O_SREG: return special(l, (unsigned)o->reg, c);
    case PTX_O_SYM: return lir_symbol(l, o->sym, o->imm, c);
    case PTX_O_NONE:
    case PTX_O_SINK: return LIR_SINK;
    default: lir_fail(l, "operand of a kind that is not supported here");
    }
}

uint32_t lir_dest(struct lir_lower *l, const struct ptx_opnd *o)
{
    if (o->kind == PTX_O_REG)
        return l->reg[o->reg];
    if (o->kind == PTX_O_SINK || o->kind == PTX_O_NONE)
        return LIR_SINK;
    lir_fail(l, "destination of a kind that is not supported here");
}

/* Type that source s of an instruction is read as. Registers say themselves how wide they are; this
 * is for immediates and symbols. */
static enum lir_class source_class(const struct ptx_instr *i, unsigned s)
{
    enum lir_class first = lir_class_of(i->type[0]), second = lir_class_of(i->type[1]);
    switch (i->op) {
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_BMSK:
    case PTX_OP_SZEXT:
    case PTX_OP_BFE: return s ? LIR_CLASS_32 : first;
    case PTX_OP_BFI: return s < 2 ? first : LIR_CLASS_32;
    case PTX_OP_CVT: return second;
    case PTX_OP_SET: return s < 2 ? second : LIR_CLASS_PRED;
    case PTX_OP_SETP: return s < 2 ? first : LIR_CLASS_PRED;
    case PTX_OP_SELP: return s < 2 ? first : LIR_CLASS_PRED;
    case PTX_OP_SLCT: return s < 2 ? first : second;
    case PTX_OP_LOP3: return s < 4 ? LIR_CLASS_32 : LIR_CLASS_PRED;
    case PTX_OP_MAD:
        return s == 2 && i->flags & PTX_F_WIDE && first == LIR_CLASS_32 && ptx_type_size(i->type[0]) == 4 ? LIR_CLASS_64
                                                                                                          : first;
    default: return i->type[0] ? first : LIR_CLASS_32;
    }
}

/* What of a source's register is read as 32 bits. */
static uint32_t low_part(struct lir_lower *l, const struct ptx_opnd *o, enum lir_class c)
{
    const uint32_t row = lir_source(l, o, c);
    if (o->kind != PTX_O_REG || c != LIR_CLASS_32 || lir_reg_class(l, o->reg) != LIR_CLASS_64)
        return row;
    const uint32_t low = lir_temp(l, LIR_CLASS_32);
    struct lir_insn *n = lir_emit(l, LIR_CVT_I32_U64);
    n->aux = 2 << 8;
    n->a = row;
    n->d = low;
    return low;
}

/* cvt and its registers: the sources may be wider than the type it is read as, the destination wider
 * than what is made; both only by going from 32- to 64-bit rows. */
static bool lower_cvt(struct lir_lower *l, const struct ptx_instr *i, struct lir_insn *out)
{
    enum lir_class from = lir_class_of(i->type[1]), to = lir_class_of(i->type[0]);
    const struct ptx_opnd *d = &i->dst[0];
    uint32_t row[3] = {LIR_SINK, LIR_SINK, LIR_SINK};
    for (unsigned k = 0; k < 3 && k < i->nsrc; k++)
        row[k] = low_part(l, &i->src[k], k < 2 ? from : LIR_CLASS_32);
    uint32_t drow = lir_dest(l, d), wide = drow;
    bool extend = d->kind == PTX_O_REG && lir_reg_class(l, d->reg) == LIR_CLASS_64 && to == LIR_CLASS_32;
    if (extend)
        drow = l->used[LIR_CLASS_32] < 3 ? lir_temp(l, LIR_CLASS_32) : row[0]; /* then all are sources' low parts */
    out->d = drow;
    out->a = row[0];
    out->b = row[1];
    out->c = row[2];
    *lir_emit(l, out->op) = *out;
    if (extend) {
        const unsigned type = i->sub == PTX_SUB_PACK ? PTX_B32 : i->type[0];
        struct lir_insn *n = lir_emit(l, type == PTX_S8    ? LIR_CVT_I64_S8
                                         : type == PTX_S16 ? LIR_CVT_I64_S16
                                         : type == PTX_S32 ? LIR_CVT_I64_S32
                                                           : LIR_CVT_I64_U32);
        n->d = wide;
        n->a = drow;
    }
    return true;
}

/* A parallel move: every source is read before any destination is written. Moves whose destination nobody still has to
 * read go first; where only cycles are left, a copy of one destination breaks one of them. */
static void emit_moves(struct lir_lower *l, enum lir_class c, unsigned n, uint32_t *d, uint32_t *s)
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
            spare = spare ? spare : lir_temp(l, c);
            lir_emit_move(l, c, spare, d[0]);
            for (k = 0; k < n; k++)
                s[k] = s[k] == d[0] ? spare : s[k];
            continue;
        }
        if (d[k] != s[k])
            lir_emit_move(l, c, d[k], s[k]);
        n--;
        memmove(&d[k], &d[k + 1], (n - k) * sizeof *d);
        memmove(&s[k], &s[k + 1], (n - k) * sizeof *s);
    }
}

/* mov.v4 and the like, and mov between a vector and the register that holds all of it. */
static bool lower_mov_vector(struct lir_lower *l, const struct ptx_instr *i, struct lir_insn *out)
{
    const struct ptx_opnd *d = &i->dst[0], *s = &i->src[0], *part = l->f->opnd;
    enum lir_class c = lir_class_of(i->type[0]);
    if (d->kind == PTX_O_VEC && s->kind == PTX_O_VEC) {
        uint32_t to[8], from[8];
        if (d->n != s->n || d->n > 8)
            lir_fail(l, "vectors of different lengths");
        for (unsigned k = 0; k < d->n; k++) {
            from[k] = lir_source(l, &part[s->first + k], c);
            to[k] = lir_dest(l, &part[d->first + k]);
        }
        emit_moves(l, c, d->n, to, from);
        return true;
    }
    if (d->kind != PTX_O_VEC && s->kind != PTX_O_VEC)
        return false;
    unsigned n = d->kind == PTX_O_VEC ? d->n : s->n;
    enum lir_class piece = ptx_type_size(i->type[0]) / n > 4 ? LIR_CLASS_64 : LIR_CLASS_32;
    uint32_t row[4] = {0};
    if (n > 4)
        lir_fail(l, "vector of more than four elements");
    if (d->kind == PTX_O_VEC) {
        for (unsigned k = 0; k < n; k++)
            row[k] = lir_dest(l, &part[d->first + k]);
        out->a = lir_source(l, s, c);
        out->d = row[0];
        out->e = row[1];
        out->b = row[2];
        out->c = row[3];
    } else {
        for (unsigned k = 0; k < n; k++)
            row[k] = lir_source(l, &part[s->first + k], piece);
        out->d = lir_dest(l, d);
        out->a = row[0];
        out->b = row[1];
        out->c = row[2];
        out->e = row[3];
    }
    return false;
}

void lir_lower_alu(struct lir_lower *l, const struct ptx_instr *i)
{
    struct lir_insn out = {0};
    bool vector = i->op == PTX_OP_MOV && (i->dst[0].kind == PTX_O_VEC || i->src[0].kind == PTX_O_VEC);
    if (vector && i->vec > 1 && lower_mov_vector(l, i, &out))
        return;
    if (!lir_select_alu(i, &out))
        lir_fail(l, "instruction is not supported");
    if (i->op == PTX_OP_CVT && lower_cvt(l, i, &out))
        return;
    if (vector) {
        if (lower_mov_vector(l, i, &out))
            return;
    } else {
        uint32_t *place[4] = {&out.a, &out.b, &out.c, &out.e};
        for (unsigned s = 0; s < i->nsrc && s < 4; s++)
            if (!(s == 3 && i->op == PTX_OP_LOP3))
                *place[s] = lir_source(l, &i->src[s], source_class(i, s));
        out.d = i->ndst ? lir_dest(l, &i->dst[0]) : LIR_SINK;
        if (i->ndst > 1)
            out.e = lir_dest(l, &i->dst[1]);
    }
    *lir_emit(l, out.op) = out;
}
