/* Tier 0 lowering: cp.async, mbarrier and addresses of a cluster's blocks. Copies are done at once, so that
 * groups need no waiting. */
#include "ptx/tier0/lower/lower.h"

#include <string.h>

/* True if the opcode as written has this modifier. */
static bool has(const struct ptx_instr *i, const char *modifier)
{
    size_t n = strlen(modifier);
    for (const char *p = i->opcode; p && (p = strchr(p, '.')); p++)
        if (!strncmp(p + 1, modifier, n) && (p[n + 1] == '.' || p[n + 1] == ':' || !p[n + 1]))
            return true;
    return false;
}

static void lower_copy(struct t0_lower *l, const struct ptx_instr *i)
{
    uint64_t size = i->nsrc > 2 && i->src[2].kind == PTX_O_IMM ? i->src[2].imm : 0;
    uint32_t bytes = T0_SINK;
    bool partial = false;
    if ((size != 4 && size != 8 && size != 16) || i->src[0].kind != PTX_O_ADDR ||
        i->src[1].kind != PTX_O_ADDR)
        t0_fail(l, "copy of a form that is not supported");
    struct t0_place to = t0_resolve(l, &i->src[0], PTX_SP_SHARED);
    struct t0_place from = t0_resolve(l, &i->src[1], PTX_SP_GLOBAL);
    for (unsigned k = 3; k < i->nsrc; k++) {
        const struct ptx_opnd *o = &i->src[k];
        enum t0_class c = o->kind == PTX_O_REG ? t0_reg_class(l, o->reg) : T0_CLASS_32;
        if (c == T0_CLASS_64) /* the cache policy */
            continue;
        partial = true;
        bytes = t0_source(l, o, c);
        if (c == T0_CLASS_PRED) { /* ignore-src: copies nothing, so that all is zero */
            uint32_t ignore = bytes, none = t0_imm(l, T0_CLASS_32, 0);
            uint32_t all = t0_imm(l, T0_CLASS_32, size);
            bytes = t0_temp(l, T0_CLASS_32);
            struct t0_insn *pick = t0_emit(l, T0_SELP_B32);
            pick->d = bytes;
            pick->a = none;
            pick->b = all;
            pick->c = ignore;
        }
    }
    uint32_t row = from.row;
    if (from.imm) {
        row = t0_temp(l, T0_CLASS_64);
        uint32_t imm = t0_imm(l, T0_CLASS_64, (uint64_t)(int64_t)from.imm);
        struct t0_insn *sum = t0_emit(l, T0_ADD_I64);
        sum->d = row;
        sum->a = from.row;
        sum->b = imm;
    }
    struct t0_insn *o = t0_emit(l, T0_CP_ASYNC);
    o->a = to.row;
    o->imm = to.imm;
    o->b = row;
    o->c = bytes;
    o->aux = (uint16_t)((unsigned)__builtin_ctzll(size) | (to.addr32 ? T0_CP_ADDR32 : 0) |
                        (partial ? T0_CP_PARTIAL : 0));
}

/* An address with its offset in it, as a row. */
static uint32_t address_row(struct t0_lower *l, const struct ptx_opnd *o, unsigned space,
                            bool *addr32)
{
    struct t0_place p = t0_resolve(l, o, space);
    *addr32 = p.addr32;
    if (!p.imm)
        return p.row;
    enum t0_class c = p.addr32 ? T0_CLASS_32 : T0_CLASS_64;
    uint32_t row = t0_temp(l, c), imm = t0_imm(l, c, (uint64_t)(int64_t)p.imm);
    struct t0_insn *sum = t0_emit(l, p.addr32 ? T0_ADD_I32 : T0_ADD_I64);
    sum->d = row;
    sum->a = p.row;
    sum->b = imm;
    return row;
}

/* Of cp.reduce.async.bulk: what becomes of an element, as imm of T0_BULK. */
static int32_t update_of(struct t0_lower *l, const struct ptx_instr *i)
{
    if (!i->sub || i->sub > PTX_SUB_DEC || !t0_atom_known(i->sub, i->type[0]) ||
        ptx_type_size(i->type[0]) > 8)
        t0_fail(l, "reduction of a form that is not supported");
    return (int32_t)(i->sub | (unsigned)i->type[0] << T0_ATOM_TYPE_SHIFT);
}

/* cp.async.bulk and cp.reduce.async.bulk between shared and global memory, without a tensor map; false if
 * it is another. */
static bool lower_bulk(struct t0_lower *l, const struct ptx_instr *i)
{
    bool barrier = has(i, "mbarrier"), to32, from32, barrier32 = false;
    bool load = has(i, "global") && barrier, store = has(i, "global") && !barrier;
    if (has(i, "commit_group") || has(i, "wait_group") || has(i, "prefetch"))
        return true;
    if (has(i, "tensor") || has(i, "cp_mask") || i->nsrc < 3 + barrier ||
        i->src[0].kind != PTX_O_ADDR || i->src[1].kind != PTX_O_ADDR ||
        (barrier && i->src[3].kind != PTX_O_ADDR))
        return false;
    uint32_t to = address_row(l, &i->src[0], store ? PTX_SP_GLOBAL : PTX_SP_SHARED, &to32);
    uint32_t from = address_row(l, &i->src[1], load ? PTX_SP_GLOBAL : PTX_SP_SHARED, &from32);
    uint32_t size = t0_source(l, &i->src[2], T0_CLASS_32), at = T0_SINK, mask = T0_SINK;
    const bool multicast = has(i, "multicast");
    if (multicast && i->nsrc < 5)
        return false;
    if (barrier)
        at = address_row(l, &i->src[3], PTX_SP_SHARED, &barrier32);
    if (multicast)
        mask = t0_source(l, &i->src[4], T0_CLASS_32);
    int32_t update = has(i, "reduce") ? update_of(l, i) : 0;
    struct t0_insn *o = t0_emit(l, T0_BULK);
    o->d = mask;
    o->a = to;
    o->b = from;
    o->c = size;
    o->e = at;
    o->aux = (uint16_t)((store ? 0 : T0_BULK_TO_SHARED) | (to32 ? T0_BULK_TO32 : 0) |
                        (load ? 0 : T0_BULK_FROM_SHARED) | (from32 ? T0_BULK_FROM32 : 0) |
                        (barrier ? T0_BULK_BARRIER : 0) | (barrier32 ? T0_BULK_BARRIER32 : 0) |
                        (multicast ? T0_BULK_MULTICAST : 0));
    o->imm = update;
    return true;
}

static void mbarrier(struct t0_lower *l, const struct ptx_instr *i, unsigned kind,
                     const struct ptx_opnd *address, const struct ptx_opnd *operand,
                     enum t0_class c)
{
    static const struct ptx_opnd one = {.kind = PTX_O_IMM, .reg = -1, .sym = -1, .imm = 1};
    struct t0_place p = {0};
    if (address && address->kind != PTX_O_ADDR)
        t0_fail(l, "expected an address");
    if (address)
        p = t0_resolve(l, address, has(i, "shared") ? PTX_SP_SHARED : PTX_SP_NONE);
    operand = operand ? operand : &one;
    if (operand->kind == PTX_O_REG && t0_reg_class(l, operand->reg) != c)
        t0_fail(l, "operand of the wrong width");
    uint32_t b = t0_source(l, operand, c), d = i->ndst ? t0_dest(l, &i->dst[0]) : T0_SINK;
    struct t0_insn *o = t0_emit(l, T0_MBARRIER);
    o->d = d;
    o->a = p.row;
    o->imm = p.imm;
    o->b = b;
    o->aux = (uint16_t)(kind | (p.shared ? T0_MEM_SHARED : 0) | (p.addr32 ? T0_MEM_ADDR32 : 0));
}

static bool lower_mbarrier(struct t0_lower *l, const struct ptx_instr *i)
{
    const struct ptx_opnd *more = i->nsrc > 1 ? &i->src[1] : NULL;
    if (has(i, "init"))
        mbarrier(l, i, T0_MB_INIT, &i->src[0], more, T0_CLASS_32);
    else if (has(i, "arrive") && !has(i, "expect_tx"))
        mbarrier(l, i, T0_MB_ARRIVE, &i->src[0], more, T0_CLASS_32);
    else if (has(i, "arrive_drop") && !has(i, "expect_tx"))
        mbarrier(l, i, T0_MB_DROP, &i->src[0], more, T0_CLASS_32);
    else if (has(i, "expect_tx") && more)
        mbarrier(l, i,
                 has(i, "arrive")        ? T0_MB_ARRIVE_EXPECT
                 : has(i, "arrive_drop") ? T0_MB_DROP_EXPECT
                                         : T0_MB_EXPECT,
                 &i->src[0], more, T0_CLASS_32);
    else if (has(i, "complete_tx") && more)
        mbarrier(l, i, T0_MB_COMPLETE, &i->src[0], more, T0_CLASS_32);
    else if ((has(i, "test_wait") || has(i, "try_wait")) && more)
        mbarrier(l, i, has(i, "parity") ? T0_MB_TEST_PARITY : T0_MB_TEST, &i->src[0], more,
                 has(i, "parity") ? T0_CLASS_32 : T0_CLASS_64);
    else if (has(i, "pending_count"))
        mbarrier(l, i, T0_MB_PENDING, NULL, &i->src[0], T0_CLASS_64);
    else
        return has(i, "inval");
    return true;
}

/* st.async and red.async: st or red in shared memory, then its bytes have come. */
static void lower_store_async(struct t0_lower *l, const struct ptx_instr *i)
{
    struct ptx_instr plain = *i;
    const struct ptx_opnd *v = &i->src[1], *part = v;
    const unsigned size = ptx_type_size(i->type[0]);
    unsigned n = 1;
    if (v->kind == PTX_O_VEC) {
        n = v->n;
        part = &l->f->opnd[v->first];
    }
    if (i->space == PTX_SP_GLOBAL)
        t0_fail(l, "needs sm_100; sm_90 is the last architecture supported");
    if (i->nsrc != 3 || i->src[0].kind != PTX_O_ADDR || i->src[2].kind != PTX_O_ADDR || n != i->vec ||
        size < 4 || size > 8 || (n > 1 && i->op != PTX_OP_ST_ASYNC) ||
        (i->space != PTX_SP_SHARED && i->space != PTX_SP_NONE))
        t0_fail(l, "asynchronous store of a form that is not supported");
    for (unsigned k = 0; k < n; k++)
        if (part[k].kind == PTX_O_REG && ptx_type_size(l->f->reg[part[k].reg].type) != size)
            t0_fail(l, "register of the wrong width");
    plain.op = i->op == PTX_OP_ST_ASYNC ? PTX_OP_ST : PTX_OP_RED;
    plain.nsrc = 2;
    if (plain.op == PTX_OP_RED && (!i->sub || i->sub > PTX_SUB_DEC))
        t0_fail(l, "reduction of a form that is not supported");
    t0_lower_memory(l, &plain);
    const struct ptx_opnd bytes = {.kind = PTX_O_IMM, .reg = -1, .sym = -1, .imm = (uint64_t)size * n};
    mbarrier(l, i, T0_MB_COMPLETE, &i->src[2], &bytes, T0_CLASS_32);
}

/* mapa and getctarank. A variable as their operand is one of shared memory, as its place in this space or, without
 * one, as a generic address. */
static void lower_rank(struct t0_lower *l, const struct ptx_instr *i)
{
    const bool map = i->op == PTX_OP_MAPA, shared = i->space == PTX_SP_SHARED;
    const enum t0_class c = t0_class_of(i->type[0]);
    if (!shared && c != T0_CLASS_64)
        t0_fail(l, "generic addresses have 64 bits");
    uint32_t a = t0_source(l, &i->src[0], c);
    if (!shared && i->src[0].kind == PTX_O_SYM) {
        struct t0_insn *generic = t0_emit(l, T0_CVTA_SHARED);
        generic->a = a;
        generic->d = a = t0_temp(l, T0_CLASS_64);
    }
    uint32_t rank = map ? t0_source(l, &i->src[1], T0_CLASS_32) : T0_SINK, d = t0_dest(l, &i->dst[0]);
    struct t0_insn *o = t0_emit(l, map ? T0_MAPA : T0_CTARANK);
    o->d = d;
    o->a = a;
    o->b = rank;
    o->aux = (uint16_t)((shared ? T0_MEM_SHARED : 0) | (c == T0_CLASS_32 ? T0_MEM_ADDR32 : 0));
}

bool t0_lower_async(struct t0_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_CP:
        if (!has(i, "async"))
            return false;
        if (has(i, "bulk"))
            return lower_bulk(l, i);
        if (has(i, "commit_group") || has(i, "wait_group") || has(i, "wait_all"))
            return true;
        if (has(i, "mbarrier")) { /* its copies are done: .noinc arrives, the other form balances
                                     itself */
            if (has(i, "noinc"))
                mbarrier(l, i, T0_MB_ARRIVE, &i->src[0], NULL, T0_CLASS_32);
            return true;
        }
        lower_copy(l, i);
        return true;
    case PTX_OP_MBARRIER: return lower_mbarrier(l, i);
    case PTX_OP_ST_ASYNC:
    case PTX_OP_RED_ASYNC: lower_store_async(l, i); return true;
    case PTX_OP_MAPA:
    case PTX_OP_GETCTARANK: lower_rank(l, i); return true;
    default: return false;
    }
}
