/* Tier 0 lowering: loads, stores, atomics, address conversion and local memory. */
#include "ptx/lir/lower/lower.h"

#include <string.h>

/* Types that tier0/core_atomics.c updates; b128 knows no arithmetic. */
bool lir_atom_known(unsigned op, unsigned type)
{
    switch (type) {
    case PTX_B16:
    case PTX_U16:
    case PTX_B32:
    case PTX_U32:
    case PTX_S32:
    case PTX_B64:
    case PTX_U64:
    case PTX_S64:
    case PTX_F32:
    case PTX_F64:
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: return true;
    default: return type == PTX_B128 && (op == PTX_SUB_CAS || op == PTX_SUB_EXCH);
    }
}

/* Adds what does not fit the 32-bit offset of an instruction. */
static void fold(struct lir_lower *l, struct lir_place *p, uint64_t offset)
{
    if ((int64_t)offset == (int32_t)offset || p->addr32) {
        p->imm = (int32_t)offset;
        return;
    }
    uint32_t row = lir_temp(l, LIR_CLASS_64), imm = lir_imm(l, LIR_CLASS_64, offset);
    struct lir_insn *i = lir_emit(l, LIR_ADD_I64);
    i->d = row;
    i->a = p->row;
    i->b = imm;
    p->row = row;
    p->imm = 0;
}

struct lir_place lir_resolve(struct lir_lower *l, const struct ptx_opnd *o, unsigned space)
{
    struct lir_place p = {.shared = space == PTX_SP_SHARED};
    if (o->sym >= 0) {
        const struct ptx_var *v = ptx_symbol(l->f, o->sym);
        p.shared |= v && v->space == PTX_SP_SHARED;
        p.addr32 = p.shared;
        if (v && (v->space == PTX_SP_LOCAL || v->space == PTX_SP_PARAM)) {
            p.row = lir_symbol(l, o->sym, o->imm, LIR_CLASS_64);
        } else {
            p.row = lir_symbol(l, o->sym, 0, p.shared ? LIR_CLASS_32 : LIR_CLASS_64);
            fold(l, &p, o->imm);
        }
    } else if (o->reg >= 0) {
        p.row = l->reg[o->reg];
        p.addr32 = lir_reg_class(l, o->reg) == LIR_CLASS_32;
        fold(l, &p, o->imm);
    } else {
        p.row = lir_imm(l, LIR_CLASS_64, o->imm);
    }
    return p;
}

static unsigned log2_size(unsigned type)
{
    unsigned size = ptx_type_size(type);
    return size ? (unsigned)__builtin_ctz(size) : 2;
}

/* Bits of the data register: what aux says about rows. */
static unsigned data_width(struct lir_lower *l, const struct ptx_opnd *o, unsigned type)
{
    unsigned size = o->kind == PTX_O_REG ? ptx_type_size(l->f->reg[o->reg].type) : ptx_type_size(type);
    return size <= 2 ? 0 : size == 4 ? 1 : size == 8 ? 2 : 3;
}

static bool slot_place(struct lir_lower *l, const struct ptx_opnd *o, uint32_t *at)
{
    uint32_t band = o->sym >= 0 ? (uint32_t)PTX_SYM_BAND(o->sym) : 0;
    const struct ptx_var *v = o->sym >= 0 ? ptx_symbol(l->f, o->sym) : NULL;
    if (!v || v->space != PTX_SP_PARAM || o->reg >= 0 || (band == PTX_BAND_PARAM && l->f->is_entry))
        return false;
    *at = l->slot[(uint32_t)PTX_SYM_INDEX(o->sym) + (band == PTX_BAND_LOCAL ? l->f->nparam + l->f->nret : 0)];
    *at += (uint32_t)o->imm;
    return true;
}

/* ld.param and st.param of variables with a known place: the launch buffer or the lane slot. */
static bool lower_param(struct lir_lower *l, const struct ptx_instr *i, const struct ptx_opnd *address,
                        const struct ptx_opnd *data, unsigned n, bool store)
{
    unsigned size = ptx_type_size(i->type[0]);
    const struct ptx_var *v = address->sym >= 0 ? ptx_symbol(l->f, address->sym) : NULL;
    uint32_t at = 0;
    bool slot = slot_place(l, address, &at);
    bool kernel = !slot && v && v->space == PTX_SP_PARAM && l->f->is_entry && address->reg < 0;
    if (!slot && !kernel)
        return false;
    if (kernel) {
        if (store)
            lir_fail(l, "store to a kernel parameter");
        at = (uint32_t)(v->offset + address->imm);
        if (at + (uint64_t)size * n > l->f->param_size)
            lir_fail(l, "access outside the kernel's parameters");
    } else if (at + (uint64_t)size * n > l->fn.slot) {
        lir_fail(l, "access outside a parameter");
    }
    for (unsigned k = 0; k < n; k++) {
        uint32_t row = store ? lir_source(l, &data[k], lir_class_of(i->type[0])) : lir_dest(l, &data[k]);
        struct lir_insn *o = lir_emit(l, kernel ? LIR_LD_KPARAM : store ? LIR_LANE_ST : LIR_LANE_LD);
        o->d = row;
        o->imm = (int32_t)(at + k * size);
        o->aux = (uint16_t)(log2_size(i->type[0]) | data_width(l, &data[k], i->type[0]) << LIR_MEM_DST_SHIFT);
        if (ptx_extends_sign(i->type[0]))
            o->aux |= LIR_MEM_SIGNED;
        if (slot) {
            o->a = lir_fn_slots(&l->fn);
            o->c = l->fn.slot;
        }
    }
    return true;
}

/* The handler made for this very form, or the general one. */
static unsigned pick_op(unsigned log2, unsigned width, unsigned n, const struct lir_place *p, uint16_t order,
                        bool store)
{
    static const uint16_t fast[2][2][4] = {
        {{LIR_LDG_8, LIR_LDG_16, LIR_LDG_32, LIR_LDG_64}, {LIR_LDS_8, LIR_LDS_16, LIR_LDS_32, LIR_LDS_64}},
        {{LIR_STG_8, LIR_STG_16, LIR_STG_32, LIR_STG_64}, {LIR_STS_8, LIR_STS_16, LIR_STS_32, LIR_STS_64}},
    };
    bool plain = log2 < 2 ? width < 2 : log2 == 2 ? width == 1 : log2 == 3 && width == 2;
    if (n == 1 && plain && !order && p->addr32 == p->shared)
        return fast[store][p->shared][log2];
    return store ? LIR_ST_ANY : LIR_LD_ANY;
}

static uint16_t ordering(const struct ptx_instr *i)
{
    switch (i->sem) {
    case PTX_ACQUIRE: return LIR_MEM_ACQUIRE;
    case PTX_RELEASE: return LIR_MEM_RELEASE;
    case PTX_SC: return LIR_MEM_SC;
    default: return 0;
    }
}

/* What is done in parts is aligned as a whole. */
static void emit_aligned(struct lir_lower *l, const struct lir_place *p, unsigned log2)
{
    struct lir_insn *o = lir_emit(l, LIR_ALIGNED);
    o->a = p->row;
    o->imm = p->imm;
    o->aux = (uint16_t)(log2 | (p->addr32 ? LIR_MEM_ADDR32 : 0) | (p->shared ? LIR_MEM_SHARED : 0));
}

/* Lowers ld and st. Parameters have forms of their own; the operation is chosen by
 * size, vector and ordering so that plain accesses have loops without tests, and all others share the general one,
 * which looks at `aux`. */
static void lower_access(struct lir_lower *l, const struct ptx_instr *i, bool store)
{
    const struct ptx_opnd *address = &i->src[0], *data = store ? &i->src[1] : &i->dst[0];
    unsigned n = 1, log2 = log2_size(i->type[0]);
    if (data->kind == PTX_O_VEC) {
        n = data->n;
        data = &l->f->opnd[data->first];
    }
    if (n != 1 && n != 2 && n != 4 && n != 8)
        lir_fail(l, "vector of %u elements", n);
    if (lower_param(l, i, address, data, n, store))
        return;
    struct lir_place p = lir_resolve(l, address, i->space);
    unsigned step = n == 8 ? 4 : n; /* the eight elements of .v8 go in two halves */
    if (n == 8) {
        emit_aligned(l, &p, 3 + log2);
        for (unsigned k = 0; !store && k < step; k++) /* the first half may be written over the address */
            if (lir_dest(l, &data[k]) == p.row) {
                const enum lir_class c = p.addr32 ? LIR_CLASS_32 : LIR_CLASS_64;
                const uint32_t copy = lir_temp(l, c);
                lir_emit_move(l, c, copy, p.row);
                p.row = copy;
            }
    }
    for (unsigned first = 0; first < n; first += step) {
        uint32_t row[4] = {0};
        unsigned width = data_width(l, &data[first], i->type[0]);
        for (unsigned k = 0; k < step; k++)
            if (data[first + k].kind == PTX_O_REG)
                width = data_width(l, &data[first + k], i->type[0]);
        for (unsigned k = 0; k < step; k++) { /* numbers beside registers have rows as wide as theirs */
            const struct ptx_opnd *o = &data[first + k];
            row[k] = store ? lir_source(l, o, width == 2 ? LIR_CLASS_64 : lir_class_of(i->type[0])) : lir_dest(l, o);
        }
        struct lir_insn *o = lir_emit(l, pick_op(log2, width, step, &p, ordering(i), store));
        o->a = p.row;
        o->imm = p.imm + (int32_t)(first << log2);
        o->d = row[0];
        o->b = row[1];
        o->c = row[2];
        o->e = row[3];
        o->aux = (uint16_t)(log2 | (unsigned)__builtin_ctz(step) << LIR_MEM_VEC_SHIFT | width << LIR_MEM_DST_SHIFT |
                            ordering(i));
        if (ptx_extends_sign(i->type[0]))
            o->aux |= LIR_MEM_SIGNED;
        if (i->sem != PTX_WEAK)
            o->aux |= LIR_MEM_STRONG;
        if (i->opcode && strstr(i->opcode, ".cg"))
            o->aux |= LIR_MEM_L2;
        if (i->space == PTX_SP_GLOBAL)
            o->aux |= LIR_MEM_GLOBAL;
        if (o->op == LIR_LD_ANY || o->op == LIR_ST_ANY)
            o->aux |= (uint16_t)((p.shared ? LIR_MEM_SHARED : 0) | (p.addr32 ? LIR_MEM_ADDR32 : 0));
    }
}

/* Row of operand k of an atomic operation on a vector: a copy where an earlier element's result goes there. */
static uint32_t vector_source(struct lir_lower *l, const struct ptx_opnd *d, const struct ptx_opnd *v, unsigned k,
                              enum lir_class c)
{
    uint32_t row = lir_source(l, &l->f->opnd[v->first + k], c), copy = row;
    for (unsigned j = 0; d->kind == PTX_O_VEC && j < k && copy == row; j++)
        if (lir_dest(l, &l->f->opnd[d->first + j]) == row)
            lir_emit_move(l, c, copy = lir_temp(l, c), row);
    return copy;
}

/* The elements of a vector are atomic one by one. */
static void lower_atom(struct lir_lower *l, const struct ptx_instr *i)
{
    const struct ptx_opnd *d = &i->dst[0], *v = &i->src[1];
    /* Compilers write atom where nobody wants the result, too. Nothing is known of who reads an instruction's alone. */
    const bool unread = d->kind == PTX_O_REG && l->read && !l->read[d->reg] && i->sem != PTX_ACQUIRE &&
                        i->sem != PTX_ACQ_REL;
    bool returns = i->op == PTX_OP_ATOM && !unread;
    enum lir_class c = lir_class_of(i->type[0]);
    unsigned n = v->kind == PTX_O_VEC ? v->n : 1;
    if (!lir_atom_known(i->sub, i->type[0]))
        lir_fail(l, "atomic operation is not defined for .%s", ptx_type_name(i->type[0]));
    if (n > 1 && i->sub == PTX_SUB_CAS)
        lir_fail(l, "compare-and-swap of a vector");
    struct lir_place p = lir_resolve(l, &i->src[0], i->space);
    uint32_t source[8];
    if (n > 8)
        lir_fail(l, "vector of %u elements", n);
    for (unsigned k = 0; k < n; k++)
        source[k] = v->kind == PTX_O_VEC ? vector_source(l, d, v, k, c) : lir_source(l, v, c);
    if (n > 1)
        emit_aligned(l, &p, log2_size(i->type[0]) + (unsigned)__builtin_ctz(n));
    for (unsigned k = 0; k < n; k++) {
        uint32_t row = !returns               ? LIR_SINK
                       : d->kind == PTX_O_VEC ? lir_dest(l, &l->f->opnd[d->first + k])
                                              : lir_dest(l, d);
        uint32_t third = i->sub == PTX_SUB_CAS ? lir_source(l, &i->src[2], c) : LIR_SINK;
        struct lir_insn *o = lir_emit(l, LIR_ATOM);
        o->d = row;
        o->a = p.row;
        o->imm = p.imm + (int32_t)(k * ptx_type_size(i->type[0]));
        o->b = source[k];
        o->c = third;
        o->aux = (uint16_t)(i->sub | i->type[0] << LIR_ATOM_TYPE_SHIFT | (p.shared ? LIR_ATOM_SHARED : 0) |
                            (p.addr32 ? LIR_ATOM_ADDR32 : 0) | (row ? 0 : LIR_ATOM_NORET) |
                            (i->sem == PTX_ACQUIRE || i->sem == PTX_ACQ_REL ? LIR_ATOM_ACQUIRE : 0) |
                            (i->sem == PTX_RELEASE || i->sem == PTX_ACQ_REL ? LIR_ATOM_RELEASE : 0));
    }
}

static void lower_cvta(struct lir_lower *l, const struct ptx_instr *i)
{
    enum lir_class c = lir_class_of(i->type[0]);
    uint32_t a = lir_source(l, &i->src[0], c), d = lir_dest(l, &i->dst[0]);
    if (i->space != PTX_SP_SHARED) { /* every other space is a window at 0 */
        lir_emit_move(l, c, d, a);
        return;
    }
    if (c != LIR_CLASS_64)
        lir_fail(l, "generic addresses have 64 bits");
    struct lir_insn *o = lir_emit(l, i->flags & PTX_F_TO ? LIR_CVTA_TO_SHARED : LIR_CVTA_SHARED);
    o->d = d;
    o->a = a;
}

static void lower_alloca(struct lir_lower *l, const struct ptx_instr *i)
{
    uint64_t align = i->nsrc > 1 && i->src[1].kind == PTX_O_IMM ? i->src[1].imm : 16;
    l->has_alloca = true;
    if (i->op == PTX_OP_ALLOCA) {
        uint32_t a = lir_source(l, &i->src[0], LIR_CLASS_64), d = lir_dest(l, &i->dst[0]);
        struct lir_insn *o = lir_emit(l, LIR_ALLOCA);
        o->d = d;
        o->a = a;
        o->imm = (int32_t)(align && !(align & (align - 1)) && align <= 4096 ? align : 16);
    } else if (i->op == PTX_OP_STACKSAVE) {
        uint32_t d = lir_dest(l, &i->dst[0]);
        lir_emit(l, LIR_STACKSAVE)->d = d;
    } else {
        uint32_t a = lir_source(l, &i->src[0], LIR_CLASS_64);
        lir_emit(l, LIR_STACKRESTORE)->a = a;
    }
}

/* Loads, stores, atomics, addresses and fences; false: another instruction. */
bool lir_lower_memory(struct lir_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU: lower_access(l, i, false); return true;
    case PTX_OP_ST: lower_access(l, i, true); return true;
    case PTX_OP_ATOM:
    case PTX_OP_RED: lower_atom(l, i); return true;
    case PTX_OP_CVTA: lower_cvta(l, i); return true;
    case PTX_OP_ISSPACEP: {
        uint32_t a = lir_source(l, &i->src[0], LIR_CLASS_64), d = lir_dest(l, &i->dst[0]);
        if (i->src[0].kind == PTX_O_REG && lir_reg_class(l, i->src[0].reg) != LIR_CLASS_64)
            lir_fail(l, "generic addresses have 64 bits");
        struct lir_insn *o = lir_emit(l, LIR_ISSPACEP);
        o->d = d;
        o->a = a;
        o->imm = i->space;
        o->aux = i->opcode && strstr(i->opcode, "shared::cluster") != NULL;
        return true;
    }
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
        lir_emit(l, LIR_FENCE)->aux =
            (uint16_t)((i->op == PTX_OP_MEMBAR ? i->sub != PTX_SUB_CTA : i->sem != PTX_ACQ_REL) |
                       (i->sub == PTX_SUB_SYS || i->scope == PTX_SCOPE_SYS ? LIR_FENCE_SYS : 0));
        return true;
    case PTX_OP_ALLOCA:
    case PTX_OP_STACKSAVE:
    case PTX_OP_STACKRESTORE: lower_alloca(l, i); return true;
    case PTX_OP_PREFETCH: /* hints */
    case PTX_OP_PREFETCHU:
    case PTX_OP_DISCARD:
    case PTX_OP_APPLYPRIORITY: return true;
    default: return false;
    }
}
