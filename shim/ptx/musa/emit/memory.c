/* The MUSA emitter: loads, stores, atomics, addresses, asynchronous copies. */
#include "ptx/musa/emit/emit.h"

#include <stdio.h>

/* Address a + imm of global memory as a pointer, of any other but shared with "flat" in its place. */
static struct mu_str flat_pointer(const char *space, const char *a, int32_t imm)
{
    struct mu_str r;
    const unsigned size = imm < 0 ? 0u - (unsigned)imm : (unsigned)imm;
    if (imm)
        snprintf(r.s, sizeof r.s, "%s(%.50s %c 0x%x)", space, a, imm < 0 ? '-' : '+', size);
    else
        snprintf(r.s, sizeof r.s, "%s(%.60s)", space, a);
    return r;
}

/* Address a + imm as a pointer. */
static struct mu_str pointer(struct mu_emit *e, uint32_t row, int32_t imm, bool shared, bool addr32)
{
    struct mu_str a = mu_get(e, row, addr32 ? 'w' : 'l'), r;
    if (!shared && addr32)
        mu_fail(e, "a 32-bit address outside shared memory");
    if (!shared)
        return flat_pointer("flat", a.s, imm);
    if (imm)
        snprintf(r.s, sizeof r.s, "CM_S(%.50s + 0x%x)", a.s, (unsigned)imm);
    else
        snprintf(r.s, sizeof r.s, "CM_S(%.60s)", a.s);
    return r;
}

/* A loaded word as the row has it. */
static void keep(struct mu_emit *e, uint32_t row, const char *word, unsigned bytes, uint16_t aux)
{
    const unsigned width = aux >> LIR_MEM_DST_SHIFT & 3;
    const bool sign = aux & LIR_MEM_SIGNED && bytes < 8;
    mu_put(e, "%s = %s", mu_set(e, row, width < 2 ? 'w' : 'l').s, width == 0 ? "(u16)" : width == 1 ? "(u32)" : "");
    if (sign)
        mu_put(e, "sign_extend<%u>(%s);\n", bytes, word);
    else
        mu_put(e, "%s;\n", word);
    if (width == 3)
        mu_put(e, "%s = 0;\n", mu_set(e, row + 256, 'l').s);
}

/* Writes a load or store: by size and vector width, through the prelude's functions. Strong ones have names of their
 * own, since C++ has no word for PTX's memory model; release is a fence before, acquire one behind. */
static void access(struct mu_emit *e, bool store)
{
    const struct lir_insn *i = e->at;
    const bool shared = (i->op >= LIR_LDS_8 && i->op <= LIR_LDS_64) || (i->op >= LIR_STS_8 && i->op <= LIR_STS_64) ||
                        ((i->op == LIR_LD_ANY || i->op == LIR_ST_ANY) && i->aux & LIR_MEM_SHARED);
    const bool addr32 = i->op == LIR_LD_ANY || i->op == LIR_ST_ANY ? (i->aux & LIR_MEM_ADDR32) != 0 : shared;
    unsigned n = 1u << (i->aux >> LIR_MEM_VEC_SHIFT & 3), bytes = 1u << (i->aux & LIR_MEM_LOG2_SIZE);
    const unsigned width = i->aux >> LIR_MEM_DST_SHIFT & 3;
    const char *strong = i->aux & LIR_MEM_STRONG ? "_strong" : "";
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    struct mu_str p = i->aux & LIR_MEM_GLOBAL && !shared && !addr32
                          ? flat_pointer("in_global", mu_get(e, i->a, 'l').s, i->imm)
                          : pointer(e, i->a, i->imm, shared, addr32);
    char word[160];
    if (store && i->aux & (LIR_MEM_RELEASE | LIR_MEM_SC))
        mu_put(e, "fence(1);\n");
    const bool whole = e->parts & MU_WIDE && *strong; /* one with the atomics of that size */
    if (bytes == 16) {                                /* b128, and vectors of it */
        for (unsigned k = 0; k < n; k++)
            if (whole && store)
                mu_put(e, "store_wide(%s + %u, wide_words(%s, %s));\n", p.s, 16 * k, mu_get(e, row[k], 'l').s,
                       mu_get(e, row[k] + 256, 'l').s);
            else if (whole)
                mu_put(e, "{\nconst wide v = load_wide(%s + %u);\n%s = v.v[0];\n%s = v.v[1];\n}\n", p.s, 16 * k,
                       mu_set(e, row[k], 'l').s, mu_set(e, row[k] + 256, 'l').s);
            else if (store)
                mu_put(e, "{\nsome<8, 2> v;\nv.v[0] = %s;\nv.v[1] = %s;\nstore_some%s<8, 2>(%s + %u, v);\n}\n",
                       mu_get(e, row[k], 'l').s, mu_get(e, row[k] + 256, 'l').s, strong, p.s, 16 * k);
            else
                mu_put(e, "{\nconst some<8, 2> v = load_some%s<8, 2>(%s + %u);\n%s = v.v[0];\n%s = v.v[1];\n}\n",
                       strong, p.s, 16 * k, mu_set(e, row[k], 'l').s, mu_set(e, row[k] + 256, 'l').s);
    } else if (n == 1 && store) {
        mu_put(e, "store%s<%u>(%s, %s);\n", strong, bytes, p.s, mu_get(e, i->d, width < 2 ? 'w' : 'l').s);
    } else if (n == 1) {
        snprintf(word, sizeof word, "load%s<%u>(%s)", strong, bytes, p.s);
        keep(e, i->d, word, bytes, i->aux);
    } else if (store) {
        mu_put(e, "{\nsome<%u, %u> v;\n", bytes, n);
        for (unsigned k = 0; k < n; k++)
            mu_put(e, "v.v[%u] = (word<%u>::T)%s;\n", k, bytes, mu_get(e, row[k], width < 2 ? 'w' : 'l').s);
        mu_put(e, "store_some%s<%u, %u>(%s, v);\n}\n", strong, bytes, n, p.s);
    } else {
        mu_put(e, "{\nconst some<%u, %u> v = load_some%s<%u, %u>(%s);\n", bytes, n, strong, bytes, n, p.s);
        for (unsigned k = 0; k < n; k++) {
            snprintf(word, sizeof word, "v.v[%u]", k);
            keep(e, row[k], word, bytes, i->aux);
        }
        mu_put(e, "}\n");
    }
    if (!store && i->aux & (LIR_MEM_ACQUIRE | LIR_MEM_SC))
        mu_put(e, "fence(1);\n");
}

/* ---- parameters ---- */

static void kernel_param(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const unsigned bytes = 1u << (i->aux & LIR_MEM_LOG2_SIZE);
    uint32_t index, rest;
    char word[160];
    const struct ptx_var *v = mu_param_at(e, (uint64_t)i->imm, &index, &rest);
    if (!v || rest + bytes > v->size)
        mu_fail(e, "access across the kernel's parameters");
    if (bytes == 16) {
        mu_put(e, "%s = *(const m64 *)((const u8 *)&a%u + %u);\n", mu_set(e, i->d, 'l').s, index, rest);
        mu_put(e, "%s = *(const m64 *)((const u8 *)&a%u + %u);\n", mu_set(e, i->d + 256, 'l').s, index, rest + 8);
        return;
    }
    if (mu_param_scalar(v) && !rest && bytes == v->size)
        snprintf(word, sizeof word, "a%u", index);
    else
        snprintf(word, sizeof word, "*(const m%u *)((const u8 *)&a%u + %u)", 8 * bytes, index, rest);
    keep(e, i->d, word, bytes, i->aux);
}

static void slot(struct mu_emit *e, bool store)
{
    const struct lir_insn *i = e->at;
    const unsigned bytes = 1u << (i->aux & LIR_MEM_LOG2_SIZE), width = i->aux >> LIR_MEM_DST_SHIFT & 3;
    char word[160];
    if (bytes == 16) {
        for (unsigned k = 0; k < 2; k++)
            if (store)
                mu_put(e, "*(m64 *)(slot + %u) = %s;\n", i->imm + 8 * k, mu_get(e, i->d + 256 * k, 'l').s);
            else
                mu_put(e, "%s = *(m64 *)(slot + %u);\n", mu_set(e, i->d + 256 * k, 'l').s, i->imm + 8 * k);
        return;
    }
    snprintf(word, sizeof word, "*(m%u *)(slot + %d)", 8 * bytes, i->imm);
    if (store)
        mu_put(e, "%s = (m%u)%s;\n", word, 8 * bytes, mu_get(e, i->d, width < 2 ? 'w' : 'l').s);
    else
        keep(e, i->d, word, bytes, i->aux);
}

/* What a function allocates lies in an array of its own. */
static void stack(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    if (i->op == LIR_STACKRESTORE) {
        mu_put(e, "top = %s;\n", mu_get(e, i->a, 'l').s);
    } else if (i->op == LIR_STACKSAVE) {
        mu_put(e, "%s = top;\n", mu_set(e, i->d, 'l').s);
    } else {
        const unsigned align = i->imm > 0 ? (unsigned)i->imm : 16;
        mu_put(e, "{\nconst u64 at = (top + %uu) & ~%uull, n = %s;\n", align - 1, align - 1, mu_get(e, i->a, 'l').s);
        mu_put(e, "if (n > CM_STACK || at + n > (u64)stack + CM_STACK) {\ntrap();\nreturn%s;\n}\n",
               e->function ? " 1" : "");
        mu_put(e, "%s = at;\ntop = at + n;\n}\n", mu_set(e, i->d, 'l').s);
    }
}

/* ---- atomics ---- */

/* Writes an atomic. Operation and type are template arguments: the prelude has the toolkit's own function where
 * there is one, and a loop of compare and swap elsewhere. */
static void atom(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const unsigned op = i->aux & LIR_ATOM_OP, type = i->aux >> LIR_ATOM_TYPE_SHIFT & 0x1f, size = ptx_type_size(type);
    const char kind = size == 8 ? 'l' : 'w';
    struct mu_str p = pointer(e, i->a, i->imm, i->aux & LIR_ATOM_SHARED, i->aux & LIR_ATOM_ADDR32);
    if (size == 16) {
        const uint32_t c = op == PTX_SUB_CAS ? i->c : i->b;
        mu_put(e, "{\nconst wide v = atom128(%u, %s, wide_words(%s, %s), ", op, p.s, mu_get(e, i->b, 'l').s,
               mu_get(e, i->b + 256, 'l').s);
        mu_put(e, "wide_words(%s, %s));\n", mu_get(e, c, 'l').s, mu_get(e, c + 256, 'l').s);
        if (!(i->aux & LIR_ATOM_NORET))
            mu_put(e, "%s = v.v[0];\n%s = v.v[1];\n", mu_set(e, i->d, 'l').s, mu_set(e, i->d + 256, 'l').s);
        mu_put(e, "(void)v;\n}\n");
        return;
    }
    if (i->aux & LIR_ATOM_RELEASE)
        mu_put(e, "fence(1);\n");
    if (i->aux & LIR_ATOM_NORET)
        mu_put(e, "(void)");
    else
        mu_put(e, "%s = ", mu_set(e, i->d, kind).s);
    mu_put(e, "atom%u<%u, %u>(%s, %s, %s);\n", 8 * size, op, type, p.s, mu_get(e, i->b, kind).s,
           op == PTX_SUB_CAS ? mu_get(e, i->c, kind).s : "0");
    if (i->aux & LIR_ATOM_ACQUIRE)
        mu_put(e, "fence(1);\n");
}

/* ---- asynchronous copies ---- */

static void copy_async(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    struct mu_str to = pointer(e, i->a, i->imm, true, i->aux & LIR_CP_ADDR32);
    const unsigned size = 1u << (i->aux & LIR_CP_LOG2);
    e->parts |= MU_ASYNC;
    if (i->aux & LIR_CP_PARTIAL)
        mu_put(e, "copy_async(%s, flat(%s), %u, %s);\n", to.s, mu_get(e, i->b, 'l').s, size, mu_get(e, i->c, 'w').s);
    else
        mu_put(e, "copy_async(%s, flat(%s), %u, %u);\n", to.s, mu_get(e, i->b, 'l').s, size, size);
}

static void bulk(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const unsigned type = (unsigned)i->imm >> LIR_ATOM_TYPE_SHIFT & 0x1f;
    struct mu_str to = pointer(e, i->a, 0, i->aux & LIR_BULK_TO_SHARED, i->aux & LIR_BULK_TO32);
    if (i->aux & LIR_BULK_ZERO && i->aux & LIR_BULK_BARRIER)
        mu_fail(e, "requests to cancel a cluster have no counterpart in MUSA");
    struct mu_str from = pointer(e, i->b, 0, i->aux & LIR_BULK_ZERO || i->aux & LIR_BULK_FROM_SHARED,
                                 i->aux & (i->aux & LIR_BULK_ZERO ? LIR_BULK_TO32 : LIR_BULK_FROM32));
    struct mu_str n = mu_get(e, i->c, 'w');
    e->parts |= MU_ASYNC;
    if (i->aux & LIR_BULK_ZERO)
        mu_put(e, "zero_bulk(%s, %s);\n", to.s, n.s);
    else if (i->imm)
        mu_put(e, "reduce_bulk<%u, %u, %u>(%s, %s, %s);\n", (unsigned)i->imm & LIR_ATOM_OP, type, ptx_type_size(type),
               to.s, from.s, n.s);
    else
        mu_put(e, "copy_bulk(%s, %s, %s);\n", to.s, from.s, n.s);
    if (i->aux & LIR_BULK_BARRIER)
        mu_put(e, "if (%s)\narrive(%s, 0, false, 0u - %s);\n", n.s,
               pointer(e, i->e, 0, true, i->aux & LIR_BULK_BARRIER32).s, n.s);
}

/* Writes an operation on an mbarrier, whose word the prelude lays out as tier 0 does: pending and expected arrivals
 * in 20 bits each (hence the factor 0x100001), the phase on top. */
static void mbarrier(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const unsigned kind = i->aux & LIR_MB_KIND;
    const bool drop = kind == LIR_MB_DROP || kind == LIR_MB_DROP_EXPECT;
    e->parts |= MU_ASYNC;
    if (kind == LIR_MB_PENDING) {
        mu_put(e, "%s = (u32)(%s & 0xfffff);\n", mu_set(e, i->d, 'w').s, mu_get(e, i->b, 'l').s);
        return;
    }
    if (kind == LIR_MB_INVAL)
        return;
    struct mu_str p = pointer(e, i->a, i->imm, i->aux & LIR_MEM_SHARED, i->aux & LIR_MEM_ADDR32);
    struct mu_str b = mu_get(e, i->b, kind == LIR_MB_TEST ? 'l' : 'w');
    switch (kind) {
    case LIR_MB_INIT: mu_put(e, "store_strong<8>(%s, (u64)(%s & 0xfffff) * 0x100001);\n", p.s, b.s); break;
    case LIR_MB_ARRIVE:
    case LIR_MB_DROP: mu_put(e, "%s = arrive(%s, %s, %d, 0);\n", mu_set(e, i->d, 'l').s, p.s, b.s, drop); break;
    case LIR_MB_EXPECT: mu_put(e, "arrive(%s, 0, false, %s);\n", p.s, b.s); break;
    case LIR_MB_ARRIVE_EXPECT:
    case LIR_MB_DROP_EXPECT: mu_put(e, "%s = arrive(%s, 1, %d, %s);\n", mu_set(e, i->d, 'l').s, p.s, drop, b.s); break;
    case LIR_MB_COMPLETE: mu_put(e, "arrive(%s, 0, false, 0u - %s);\n", p.s, b.s); break;
    case LIR_MB_TEST: mu_put(e, "%s = (barrier_word(%s) ^ %s) >> 61 != 0;\n", mu_set(e, i->d, 'p').s, p.s, b.s); break;
    default: mu_put(e, "%s = (barrier_word(%s) >> 61 & 1) != (%s & 1);\n", mu_set(e, i->d, 'p').s, p.s, b.s);
    }
}

static void space_test(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    struct mu_str a = mu_get(e, i->a, 'l'), d = mu_set(e, i->d, 'p');
    switch (i->imm) {
    case PTX_SP_SHARED: mu_put(e, "%s = in_shared(%s);\n", d.s, a.s); return;
    case PTX_SP_CONST: mu_fail(e, "isspacep.const: nothing says which addresses are of constant variables"); return;
    case PTX_SP_PARAM: mu_put(e, "%s = false;\n", d.s); return;
    case PTX_SP_LOCAL: mu_put(e, "%s = ", d.s); break;
    default: mu_put(e, "%s = !in_shared(%s) && !", d.s, a.s);
    }
    mu_put(e, "(false");
    if (e->fn->local_size)
        mu_put(e, " || %s - (u64)local < sizeof local", a.s);
    if (e->uses_stack)
        mu_put(e, " || %s - (u64)stack < sizeof stack", a.s);
    mu_put(e, ");\n");
}

static void shared_address(struct mu_emit *e, bool to)
{
    const struct lir_insn *i = e->at;
    if (to) /* generic to shared */
        mu_put(e, "%s = %s(%s - (u64)shared_memory);\n", mu_set(e, i->d, i->aux & 1 ? 'w' : 'l').s,
               i->aux & 1 ? "(u32)" : "", mu_get(e, i->a, 'l').s);
    else
        mu_put(e, "%s = (u64)shared_memory + %s;\n", mu_set(e, i->d, 'l').s, mu_get(e, i->a, i->aux & 1 ? 'w' : 'l').s);
}

/* Loads, stores, atomics and addresses; false: another instruction. */
bool mu_memory(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    if (i->op >= LIR_LDG_8 && i->op <= LIR_LD_ANY)
        return access(e, false), true;
    if (i->op >= LIR_STG_8 && i->op <= LIR_ST_ANY)
        return access(e, true), true;
    switch (i->op) {
    case LIR_LD_KPARAM: kernel_param(e); return true;
    case LIR_LANE_LD: slot(e, false); return true;
    case LIR_LANE_ST: slot(e, true); return true;
    case LIR_LANE_ADDR: mu_put(e, "%s = (u64)(slot + %d);\n", mu_set(e, i->d, 'l').s, i->imm); return true;
    case LIR_LOCAL_ADDR: mu_put(e, "%s = (u64)(local + %d);\n", mu_set(e, i->d, 'l').s, i->imm); return true;
    case LIR_ALLOCA:
    case LIR_STACKSAVE:
    case LIR_STACKRESTORE: stack(e); return true;
    case LIR_ATOM: atom(e); return true;
    case LIR_ALIGNED: return true; /* the device's own accesses look */
    case LIR_FENCE: mu_put(e, "fence(%d);\n", i->aux & LIR_FENCE_SYS ? 2 : 1); return true;
    case LIR_CVTA_SHARED: shared_address(e, false); return true;
    case LIR_CVTA_TO_SHARED: shared_address(e, true); return true;
    case LIR_ISSPACEP: space_test(e); return true;
    case LIR_MAPA: { /* the block is its whole cluster */
        const char kind = i->aux & LIR_MEM_ADDR32 ? 'w' : 'l';
        mu_put(e, "%s = %s;\n", mu_set(e, i->d, kind).s, mu_get(e, i->a, kind).s);
        return true;
    }
    case LIR_CTARANK: mu_put(e, "%s = 0;\n", mu_set(e, i->d, 'w').s); return true;
    case LIR_CP_ASYNC: copy_async(e); return true;
    case LIR_ASYNC_GROUP: return true;
    case LIR_BULK: bulk(e); return true;
    case LIR_MBARRIER: mbarrier(e); return true;
    default: return false;
    }
}
