/* Tier 0 lowering: cp.async, mbarrier and addresses of a cluster's blocks. Copies are done at once, so that
 * groups need no waiting. */
#include "ptx/lir/alu_aux.h"
#include "ptx/lir/lower/lower.h"

static bool has(const struct ptx_instr *i, const char *modifier) { return lir_has(i, modifier); }

/* Lowers cp.async to a copy that is done at once: the ISA lets it complete any time before the wait. A source size
 * below the copy's pads with zeros; ignore-src is a source size of 0 where the predicate holds; a cache policy
 * changes nothing. */
static void lower_copy(struct lir_lower *l, const struct ptx_instr *i)
{
    uint64_t size = i->nsrc > 2 && i->src[2].kind == PTX_O_IMM ? i->src[2].imm : 0;
    uint32_t bytes = LIR_SINK;
    bool partial = false;
    if ((size != 4 && size != 8 && size != 16) || i->src[0].kind != PTX_O_ADDR || i->src[1].kind != PTX_O_ADDR)
        lir_fail(l, "copy of a form that is not supported");
    struct lir_place to = lir_resolve(l, &i->src[0], PTX_SP_SHARED);
    struct lir_place from = lir_resolve(l, &i->src[1], PTX_SP_GLOBAL);
    for (unsigned k = 3; k < i->nsrc; k++) {
        const struct ptx_opnd *o = &i->src[k];
        enum lir_class c = o->kind == PTX_O_REG ? lir_reg_class(l, o->reg) : LIR_CLASS_32;
        if (c == LIR_CLASS_64) /* the cache policy */
            continue;
        partial = true;
        bytes = lir_source(l, o, c);
        if (c == LIR_CLASS_PRED) { /* ignore-src: copies nothing, so that all is zero */
            uint32_t ignore = bytes, none = lir_imm(l, LIR_CLASS_32, 0);
            uint32_t all = lir_imm(l, LIR_CLASS_32, size);
            bytes = lir_temp(l, LIR_CLASS_32);
            struct lir_insn *pick = lir_emit(l, LIR_SELP_B32);
            pick->d = bytes;
            pick->a = none;
            pick->b = all;
            pick->c = ignore;
        }
    }
    uint32_t row = from.row;
    if (from.imm) {
        row = lir_temp(l, LIR_CLASS_64);
        uint32_t imm = lir_imm(l, LIR_CLASS_64, (uint64_t)(int64_t)from.imm);
        struct lir_insn *sum = lir_emit(l, LIR_ADD_I64);
        sum->d = row;
        sum->a = from.row;
        sum->b = imm;
    }
    struct lir_insn *o = lir_emit(l, LIR_CP_ASYNC);
    o->a = to.row;
    o->imm = to.imm;
    o->b = row;
    o->c = bytes;
    o->aux = (uint16_t)((unsigned)__builtin_ctzll(size) | (to.addr32 ? LIR_CP_ADDR32 : 0) |
                        (partial ? LIR_CP_PARTIAL : 0));
}

/* Groups of copies, which are done already: only what checks their order looks at this. */
static void lower_group(struct lir_lower *l, const struct ptx_instr *i)
{
    struct lir_insn *o = lir_emit(l, LIR_ASYNC_GROUP);
    o->aux = has(i, "commit_group") ? LIR_GROUP_COMMIT : LIR_GROUP_WAIT_ALL;
    if (has(i, "wait_group") && i->nsrc && i->src[0].kind == PTX_O_IMM) {
        o->aux = LIR_GROUP_WAIT;
        o->imm = i->src[0].imm > INT32_MAX ? INT32_MAX : (int32_t)i->src[0].imm;
    }
    o->aux |= has(i, "bulk") ? LIR_GROUP_BULK : 0;
}

/* An address with its offset in it, as a row. */
static uint32_t address_row(struct lir_lower *l, const struct ptx_opnd *o, unsigned space, bool *addr32)
{
    struct lir_place p = lir_resolve(l, o, space);
    *addr32 = p.addr32;
    if (!p.imm)
        return p.row;
    enum lir_class c = p.addr32 ? LIR_CLASS_32 : LIR_CLASS_64;
    uint32_t row = lir_temp(l, c), imm = lir_imm(l, c, (uint64_t)(int64_t)p.imm);
    struct lir_insn *sum = lir_emit(l, p.addr32 ? LIR_ADD_I32 : LIR_ADD_I64);
    sum->d = row;
    sum->a = p.row;
    sum->b = imm;
    return row;
}

/* Of cp.reduce.async.bulk: what becomes of an element, as imm of LIR_BULK. */
static int32_t update_of(struct lir_lower *l, const struct ptx_instr *i)
{
    if (!i->sub || i->sub > PTX_SUB_DEC || !lir_atom_known(i->sub, i->type[0]) || ptx_type_size(i->type[0]) > 8)
        lir_fail(l, "reduction of a form that is not supported");
    return (int32_t)(i->sub | (unsigned)i->type[0] << LIR_ATOM_TYPE_SHIFT);
}

/* cp.async.bulk and cp.reduce.async.bulk between shared and global memory, without a tensor map; false if
 * it is another. With .ignore_oob all is copied: what lies outside is indeterminate, and as each 16 aligned bytes have
 * one of the allocation's, memory is there. */
static bool lower_bulk(struct lir_lower *l, const struct ptx_instr *i)
{
    bool barrier = has(i, "mbarrier"), to32, from32, barrier32 = false;
    bool load = has(i, "global") && barrier, store = has(i, "global") && !barrier;
    if (has(i, "prefetch"))
        return true;
    if (has(i, "commit_group") || has(i, "wait_group")) {
        lower_group(l, i);
        return true;
    }
    if (store && has(i, "cp_mask")) {
        lir_lower_masked(l, i);
        return true;
    }
    const bool edges = has(i, "ignore_oob");
    const struct ptx_opnd *tells = &i->src[3];
    if (edges && i->nsrc == 5 && i->src[4].kind == PTX_O_VEC) /* the bytes at both ends stand before it */
        tells = &l->f->opnd[i->src[4].first + 1];
    if (has(i, "tensor") || has(i, "cp_mask") || i->nsrc < 3 + barrier || i->src[0].kind != PTX_O_ADDR ||
        i->src[1].kind != PTX_O_ADDR || (barrier && tells->kind != PTX_O_ADDR))
        return false;
    uint32_t to = address_row(l, &i->src[0], store ? PTX_SP_GLOBAL : PTX_SP_SHARED, &to32);
    uint32_t from = address_row(l, &i->src[1], load ? PTX_SP_GLOBAL : PTX_SP_SHARED, &from32);
    uint32_t size = lir_source(l, &i->src[2], LIR_CLASS_32), at = LIR_SINK, mask = LIR_SINK;
    const bool multicast = has(i, "multicast");
    if ((multicast && i->nsrc < 5) || (edges && (!load || multicast)))
        return false;
    if (barrier)
        at = address_row(l, tells, PTX_SP_SHARED, &barrier32);
    if (multicast) { /* with a policy behind it both stand in a list */
        const struct ptx_opnd *blocks = &i->src[4];
        mask = lir_source(l, blocks->kind == PTX_O_VEC ? &l->f->opnd[blocks->first] : blocks, LIR_CLASS_32);
    }
    int32_t update = has(i, "reduce") ? update_of(l, i) : 0;
    struct lir_insn *o = lir_emit(l, LIR_BULK);
    o->d = mask;
    o->a = to;
    o->b = from;
    o->c = size;
    o->e = at;
    o->aux = (uint16_t)((store ? 0 : LIR_BULK_TO_SHARED) | (to32 ? LIR_BULK_TO32 : 0) |
                        (load ? 0 : LIR_BULK_FROM_SHARED) | (from32 ? LIR_BULK_FROM32 : 0) |
                        (barrier ? LIR_BULK_BARRIER : 0) | (barrier32 ? LIR_BULK_BARRIER32 : 0) |
                        (multicast ? LIR_BULK_MULTICAST : 0) | (edges ? LIR_BULK_EDGES : 0));
    o->imm = update;
    return true;
}

/* st.bulk [a], size, 0 and clusterlaunchcontrol.try_cancel [answer], [mbarrier]: zeros in shared memory, or with an
 * mbarrier the answer, which is zeros where no cluster is left to cancel. */
static bool lower_zeros(struct lir_lower *l, const struct ptx_instr *i)
{
    const bool cancel = i->op == PTX_OP_CLUSTERLAUNCHCONTROL, multicast = cancel && has(i, "multicast");
    bool to32, barrier32 = false;
    if ((!cancel && i->space && i->space != PTX_SP_SHARED) || (cancel && !has(i, "mbarrier::complete_tx::bytes")))
        return false;
    if (cancel ? !has(i, "try_cancel") || i->nsrc != 2 || i->src[1].kind != PTX_O_ADDR
               : i->nsrc != 3 || i->src[2].kind != PTX_O_IMM || i->src[2].imm)
        return false;
    if (i->ndst || i->src[0].kind != PTX_O_ADDR)
        return false;
    const uint32_t to = address_row(l, &i->src[0], PTX_SP_SHARED, &to32);
    const uint32_t at = cancel ? address_row(l, &i->src[1], PTX_SP_SHARED, &barrier32) : LIR_SINK;
    uint32_t size = cancel ? lir_imm(l, LIR_CLASS_32, 16) : LIR_SINK;
    if (!cancel && i->src[1].kind == PTX_O_REG && lir_reg_class(l, i->src[1].reg) == LIR_CLASS_64) {
        const uint32_t wide = lir_source(l, &i->src[1], LIR_CLASS_64);
        size = lir_temp(l, LIR_CLASS_32);
        struct lir_insn *cut = lir_emit(l, LIR_CVT_I32_U64);
        cut->d = size;
        cut->a = wide;
        cut->aux = 2 << LIR_CVT_DST_SHIFT;
    } else if (!cancel) {
        size = lir_source(l, &i->src[1], LIR_CLASS_32);
    }
    const uint32_t all = lir_imm(l, LIR_CLASS_32, 0xffff);
    l->cancels |= cancel;
    struct lir_insn *o = lir_emit(l, LIR_BULK);
    o->d = multicast ? all : LIR_SINK;
    o->a = to;
    o->b = to;
    o->c = size;
    o->e = at;
    o->aux = (uint16_t)(LIR_BULK_ZERO | LIR_BULK_TO_SHARED | (to32 ? LIR_BULK_TO32 : 0) |
                        (cancel ? LIR_BULK_BARRIER : 0) | (barrier32 ? LIR_BULK_BARRIER32 : 0) |
                        (multicast ? LIR_BULK_MULTICAST : 0));
    return true;
}

/* An mbarrier tracks the copies so far. */
static void lower_tracking(struct lir_lower *l, const struct ptx_instr *i)
{
    if (i->src[0].kind != PTX_O_ADDR)
        lir_fail(l, "expected an address");
    const struct lir_place p = lir_resolve(l, &i->src[0], has(i, "shared") ? PTX_SP_SHARED : PTX_SP_NONE);
    struct lir_insn *o = lir_emit(l, LIR_ASYNC_GROUP);
    o->a = p.row;
    o->imm = p.imm;
    o->aux = (uint16_t)(LIR_GROUP_TRACK | (p.shared ? LIR_MEM_SHARED : 0) | (p.addr32 ? LIR_MEM_ADDR32 : 0));
}

static void mbarrier(struct lir_lower *l, const struct ptx_instr *i, unsigned kind, const struct ptx_opnd *address,
                     const struct ptx_opnd *operand, enum lir_class c)
{
    static const struct ptx_opnd one = {.kind = PTX_O_IMM, .reg = -1, .sym = -1, .imm = 1};
    struct lir_place p = {0};
    if (address && address->kind != PTX_O_ADDR)
        lir_fail(l, "expected an address");
    if (address)
        p = lir_resolve(l, address, has(i, "shared") ? PTX_SP_SHARED : PTX_SP_NONE);
    operand = operand ? operand : &one;
    if (operand->kind == PTX_O_REG && lir_reg_class(l, operand->reg) != c)
        lir_fail(l, "operand of the wrong width");
    uint32_t b = lir_source(l, operand, c), d = i->ndst ? lir_dest(l, &i->dst[0]) : LIR_SINK;
    struct lir_insn *o = lir_emit(l, LIR_MBARRIER);
    o->d = d;
    o->a = p.row;
    o->imm = p.imm;
    o->b = b;
    o->aux = (uint16_t)(kind | (p.shared ? LIR_MEM_SHARED : 0) | (p.addr32 ? LIR_MEM_ADDR32 : 0));
}

/* Picks the form of an mbarrier operation by its modifiers. False is an operation that is not known. */
static bool lower_mbarrier(struct lir_lower *l, const struct ptx_instr *i)
{
    const struct ptx_opnd *more = i->nsrc > 1 ? &i->src[1] : NULL;
    if (has(i, "init"))
        mbarrier(l, i, LIR_MB_INIT, &i->src[0], more, LIR_CLASS_32);
    else if (has(i, "arrive") && !has(i, "expect_tx"))
        mbarrier(l, i, LIR_MB_ARRIVE, &i->src[0], more, LIR_CLASS_32);
    else if (has(i, "arrive_drop") && !has(i, "expect_tx"))
        mbarrier(l, i, LIR_MB_DROP, &i->src[0], more, LIR_CLASS_32);
    else if (has(i, "expect_tx") && more)
        mbarrier(l, i,
                 has(i, "arrive")        ? LIR_MB_ARRIVE_EXPECT
                 : has(i, "arrive_drop") ? LIR_MB_DROP_EXPECT
                                         : LIR_MB_EXPECT,
                 &i->src[0], more, LIR_CLASS_32);
    else if (has(i, "complete_tx") && more)
        mbarrier(l, i, LIR_MB_COMPLETE, &i->src[0], more, LIR_CLASS_32);
    else if ((has(i, "test_wait") || has(i, "try_wait")) && more)
        mbarrier(l, i, has(i, "parity") ? LIR_MB_TEST_PARITY : LIR_MB_TEST, &i->src[0], more,
                 has(i, "parity") ? LIR_CLASS_32 : LIR_CLASS_64);
    else if (has(i, "pending_count"))
        mbarrier(l, i, LIR_MB_PENDING, NULL, &i->src[0], LIR_CLASS_64);
    else if (has(i, "inval"))
        mbarrier(l, i, LIR_MB_INVAL, &i->src[0], NULL, LIR_CLASS_32);
    else
        return false;
    return true;
}

/* st.async and red.async: st or red in shared memory, then its bytes have come. */
static void lower_store_async(struct lir_lower *l, const struct ptx_instr *i)
{
    struct ptx_instr plain = *i;
    const struct ptx_opnd *v = &i->src[1], *part = v;
    const unsigned size = ptx_type_size(i->type[0]);
    unsigned n = 1;
    if (v->kind == PTX_O_VEC) {
        n = v->n;
        part = &l->f->opnd[v->first];
    }
    if ((i->space == PTX_SP_GLOBAL || (i->space == PTX_SP_NONE && has(i, "mmio"))) && i->nsrc == 2 && n == 1 &&
        i->src[0].kind == PTX_O_ADDR) { /* no mbarrier */
        plain.op = i->op == PTX_OP_ST_ASYNC ? PTX_OP_ST : PTX_OP_RED;
        lir_lower_memory(l, &plain);
        return;
    }
    if (i->nsrc != 3 || i->src[0].kind != PTX_O_ADDR || i->src[2].kind != PTX_O_ADDR || n != i->vec || size < 4 ||
        size > 8 || (n > 1 && i->op != PTX_OP_ST_ASYNC) || (i->space != PTX_SP_SHARED && i->space != PTX_SP_NONE))
        lir_fail(l, "asynchronous store of a form that is not supported");
    for (unsigned k = 0; k < n; k++)
        if (part[k].kind == PTX_O_REG && ptx_type_size(l->f->reg[part[k].reg].type) != size)
            lir_fail(l, "register of the wrong width");
    plain.op = i->op == PTX_OP_ST_ASYNC ? PTX_OP_ST : PTX_OP_RED;
    plain.nsrc = 2;
    if (plain.op == PTX_OP_RED && (!i->sub || i->sub > PTX_SUB_DEC))
        lir_fail(l, "reduction of a form that is not supported");
    lir_lower_memory(l, &plain);
    const struct ptx_opnd bytes = {.kind = PTX_O_IMM, .reg = -1, .sym = -1, .imm = (uint64_t)size * n};
    mbarrier(l, i, LIR_MB_COMPLETE, &i->src[2], &bytes, LIR_CLASS_32);
}

/* mapa and getctarank. A variable as their operand is one of shared memory, as its place in this space or, without
 * one, as a generic address. */
static void lower_rank(struct lir_lower *l, const struct ptx_instr *i)
{
    const bool map = i->op == PTX_OP_MAPA, shared = i->space == PTX_SP_SHARED;
    const enum lir_class c = lir_class_of(i->type[0]);
    if (!shared && c != LIR_CLASS_64)
        lir_fail(l, "generic addresses have 64 bits");
    uint32_t a = lir_source(l, &i->src[0], c);
    if (!shared && i->src[0].kind == PTX_O_SYM) {
        struct lir_insn *generic = lir_emit(l, LIR_CVTA_SHARED);
        generic->a = a;
        generic->d = a = lir_temp(l, LIR_CLASS_64);
    }
    uint32_t rank = map ? lir_source(l, &i->src[1], LIR_CLASS_32) : LIR_SINK, d = lir_dest(l, &i->dst[0]);
    struct lir_insn *o = lir_emit(l, map ? LIR_MAPA : LIR_CTARANK);
    o->d = d;
    o->a = a;
    o->b = rank;
    o->aux = (uint16_t)((shared ? LIR_MEM_SHARED : 0) | (c == LIR_CLASS_32 ? LIR_MEM_ADDR32 : 0));
}

bool lir_lower_async(struct lir_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_CP:
        if (!has(i, "async"))
            return false;
        if (has(i, "tensor"))
            return lir_lower_tensor(l, i);
        if (has(i, "bulk"))
            return lower_bulk(l, i);
        if (has(i, "commit_group") || has(i, "wait_group") || has(i, "wait_all")) {
            lower_group(l, i);
            return true;
        }
        if (has(i, "mbarrier")) { /* its copies are done: .noinc arrives, the other form balances
                                     itself */
            lower_tracking(l, i);
            if (has(i, "noinc"))
                mbarrier(l, i, LIR_MB_ARRIVE, &i->src[0], NULL, LIR_CLASS_32);
            return true;
        }
        lower_copy(l, i);
        return true;
    case PTX_OP_TCGEN05: return lir_lower_tcgen05(l, i);
    case PTX_OP_WGMMA: return lir_lower_wgmma(l, i);
    case PTX_OP_TENSORMAP: return lir_lower_tensormap(l, i);
    case PTX_OP_MULTIMEM: return lir_lower_multimem(l, i);
    case PTX_OP_MBARRIER: return lower_mbarrier(l, i);
    case PTX_OP_ST_BULK:
    case PTX_OP_CLUSTERLAUNCHCONTROL: return lower_zeros(l, i);
    case PTX_OP_ST_ASYNC:
    case PTX_OP_RED_ASYNC: lower_store_async(l, i); return true;
    case PTX_OP_MAPA:
    case PTX_OP_GETCTARANK: lower_rank(l, i); return true;
    default: return false;
    }
}
