/* Tier 1 emitter: symbols, addresses and the forms of addresses that loads and stores know. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

/* ---- symbols ---- */

/* The offset of a shared variable, placed at its first mention and aligned; dynamic shared memory begins behind all
 * of them. 1 MiB is more than any device has. */
static const char *shared_offset(struct t1_emit *e, const struct ptx_var *v, uint64_t offset, unsigned kind)
{
    const char *suffix = kind == T1_K_64 ? "ull" : "u";
    if (v->unsized || (v->is_extern && !v->size)) {
        if (v->align > e->dynamic_align)
            e->dynamic_align = v->align;
        return t1_str(e, "(T1_DYNAMIC + 0x%llx%s)", (unsigned long long)offset, suffix);
    }
    uint32_t k = 0;
    while (k < e->nshared && e->shared[k].var != v)
        k++;
    if (k == e->nshared) {
        if (e->nshared == e->shared_cap) {
            uint32_t cap = e->shared_cap ? 2 * e->shared_cap : 16;
            struct t1_var_place *more = t1_alloc(e, cap, sizeof *more);
            if (e->nshared)
                memcpy(more, e->shared, e->nshared * sizeof *more);
            e->shared = more;
            e->shared_cap = cap;
        }
        uint64_t at = ((uint64_t)e->shared_top + v->align - 1) & ~(uint64_t)(v->align - 1);
        if (at + v->size > 1u << 20)
            t1_fail(e, "shared memory passes 1 MiB");
        e->shared[e->nshared++] = (struct t1_var_place){v, (uint32_t)at};
        e->shared_top = (uint32_t)(at + v->size);
    }
    return t1_str(e, "0x%llx%s", (unsigned long long)(e->shared[k].offset + offset), suffix);
}

static uint32_t extern_of(struct t1_emit *e, const char *name)
{
    for (uint32_t k = 0; k < e->nextern; k++)
        if (!strcmp(e->externs[k], name))
            return k;
    t1_fail(e, "`%s` is not among the image's variables", name);
}

/* Address of a symbol as a scalar expression. In local memory it is an offset, the same for all lanes. */
const char *t1_symbol(struct t1_emit *e, int32_t sym, uint64_t offset, unsigned kind)
{
    const struct ptx_var *v = ptx_symbol(e->f, sym);
    const struct ptx_func *f = PTX_SYM_BAND(sym) == PTX_BAND_FUNC ? &e->module->func[PTX_SYM_INDEX(sym)] : NULL;
    if (f && f->is_entry)
        return t1_str(e, "(b->externs[%u] + 0x%llxull)", extern_of(e, f->name), (unsigned long long)offset);
    if (f)
        t1_fail(e, "addresses of functions are not supported");
    if (!v)
        t1_fail(e, "symbol has no address");
    unsigned long long at = offset;
    if (v->space == PTX_SP_SHARED)
        return shared_offset(e, v, offset, kind);
    if (kind != T1_K_64)
        t1_fail(e, "`%s`: addresses outside shared memory have 64 bits", v->name);
    switch (v->space) {
    case PTX_SP_LOCAL: return t1_str(e, "(frame + 0x%llxull)", (unsigned long long)(v->offset + offset));
    case PTX_SP_PARAM:
        if (PTX_SYM_BAND(sym) != PTX_BAND_PARAM || !e->f->is_entry)
            t1_fail(e, "address of a function's parameter is not supported");
        return t1_str(e, "((uint64_t)params + 0x%llxull)", (unsigned long long)(v->offset + offset));
    case PTX_SP_GLOBAL:
    case PTX_SP_CONST:
        return at ? t1_str(e, "(b->externs[%u] + 0x%llxull)", extern_of(e, v->name), at)
                  : t1_str(e, "b->externs[%u]", extern_of(e, v->name));
    default: t1_fail(e, "`%s`: no address in this state space", v->name);
    }
}

/* ---- addresses ---- */

static bool uniform_at(const struct ptx_func *f, int32_t v, uint32_t block)
{
    return v >= 0 && f->value[v].block >= 0 && !ptx_outside(f, f->value[v].block, (int32_t)block) &&
           f->value[v].kind == PTX_C_UNIFORM;
}

static const struct ptx_instr *def_of(const struct ptx_func *f, int32_t v, uint32_t block)
{
    if (v < 0 || f->value[v].instr < 0 || ptx_outside(f, f->value[v].block, (int32_t)block))
        return NULL;
    const struct ptx_instr *in = &f->instr[f->value[v].instr];
    return in->guard < 0 ? in : NULL;
}

/* value = index * scale, of an index of 32 bits that is widened? */
static bool index_of(const struct ptx_func *f, int32_t v, unsigned type, uint64_t scale, uint32_t block,
                     struct t1_gather *g)
{
    const struct ptx_value *x = &f->value[v];
    if ((x->kind != PTX_C_VARYING && x->kind != PTX_C_AFFINE) || ptx_type_size(f->reg[x->reg].type) != 4 ||
        (type != PTX_S32 && type != PTX_U32) || !scale || scale > T1_MOST_SCALE)
        return false;
    g->index = v;
    g->scale = (uint32_t)scale;
    g->is_signed = type == PTX_S32 || (x->has_range && x->lo >= 0);
    return !ptx_outside(f, x->block, (int32_t)block);
}

static bool index_form(const struct ptx_func *f, int32_t v, uint32_t block, struct t1_gather *g)
{
    const struct ptx_instr *in = def_of(f, v, block);
    int32_t(*src)[6] = in ? &f->instr_src[f->value[v].instr] : NULL;
    if (!in || f->value[v].kind != PTX_C_VARYING)
        return false;
    if (in->op == PTX_OP_MUL && in->flags & PTX_F_WIDE && in->src[0].kind == PTX_O_REG && in->src[1].kind == PTX_O_IMM)
        return index_of(f, (*src)[0], in->type[0], in->src[1].imm, block, g);
    if (in->op == PTX_OP_SHL && in->src[0].kind == PTX_O_REG && in->src[1].kind == PTX_O_IMM && in->src[1].imm < 32) {
        if (!index_form(f, (*src)[0], block, g) || g->scale != 1)
            return false;
        g->scale = 1u << in->src[1].imm;
        return g->scale <= T1_MOST_SCALE;
    }
    if (in->op == PTX_OP_CVT && in->src[0].kind == PTX_O_REG && ptx_type_size(in->type[0]) == 8 &&
        !(in->flags & PTX_F_SAT))
        return index_of(f, (*src)[0], in->type[1], 1, block, g);
    return false;
}

bool t1_gather_form(const struct ptx_func *f, int32_t address, uint32_t block, struct t1_gather *g)
{
    const struct ptx_instr *in = def_of(f, address, block);
    if (!in || f->value[address].kind != PTX_C_VARYING || ptx_type_size(f->reg[f->value[address].reg].type) != 8)
        return false;
    int32_t(*src)[6] = &f->instr_src[f->value[address].instr];
    *g = (struct t1_gather){.base = -1, .index = -1};
    if (in->op == PTX_OP_CVTA && in->space != PTX_SP_SHARED && in->space != PTX_SP_LOCAL &&
        in->src[0].kind == PTX_O_REG)
        return t1_gather_form(f, (*src)[0], block, g);
    if (in->op != PTX_OP_ADD || ptx_type_size(in->type[0]) != 8)
        return false;
    for (unsigned k = 0; k < 2; k++) {
        if (in->src[k].kind != PTX_O_REG || in->src[1 - k].kind != PTX_O_REG || !uniform_at(f, (*src)[k], block) ||
            !index_form(f, (*src)[1 - k], block, g))
            continue;
        g->base = (*src)[k];
        return true;
    }
    return false;
}

const char *t1_index_address(struct t1_emit *e, const struct t1_gather *g, uint64_t imm, unsigned q)
{
    struct t1_arg base = t1_value_arg(e, g->base, e->block), index = t1_value_arg(e, g->index, e->block);
    return t1_str(e, "t1_%sext_u32(%s) * %uu + t1_splat_u64(%s + 0x%llxull)", g->is_signed ? "s" : "z",
                  t1_half(e, &index, q), g->scale, base.s[0], (unsigned long long)imm);
}

struct t1_arg t1_address(struct t1_emit *e, const struct ptx_opnd *o, int32_t value, bool *shared, uint64_t *imm)
{
    struct t1_arg a = {0};
    *imm = 0;
    if (o->kind != PTX_O_ADDR)
        t1_fail(e, "expected an address");
    if (o->sym >= 0) {
        const struct ptx_var *v = ptx_symbol(e->f, o->sym);
        *shared |= v && v->space == PTX_SP_SHARED;
        a.kind = *shared ? T1_K_32 : T1_K_64;
        a.rep = T1_U;
        a.s[0] = t1_symbol(e, o->sym, o->imm, a.kind);
        return a;
    }
    if (o->reg >= 0) {
        *imm = o->imm;
        a = t1_value_arg(e, value, e->block);
        if (*shared && t1_of_cluster(e->in)) {
            *shared = false;
            return t1_far_address(e, &a, *imm);
        }
        if (a.kind == T1_K_32 && !*shared)
            t1_fail(e, "address of 32 bits outside shared memory");
        return a;
    }
    return t1_const(e, T1_K_64, o->imm);
}

struct t1_arg t1_local_base(struct t1_emit *e)
{
    struct t1_arg a = {.kind = T1_K_64, .rep = T1_V, .v = t1_str(e, "t%u", e->temps++)};
    for (unsigned q = 0; q < 2 * e->np; q++)
        t1_put(e,
               "pu64 %s_%u = t1_ramp_u64((uint64_t)b->local + (uint64_t)warp * 32u * b->local_stride, "
               "b->local_stride, %u);\n",
               a.v, q, q);
    return a;
}

/* Added behind the extension where that leaves no room that T1_SHARED_RANGE covers: one register then serves all
 * offsets from the same address. */
const char *t1_in_shared(struct t1_emit *e, const char *s, uint64_t imm)
{
    const int32_t off = (int32_t)(uint32_t)imm;
    if (off >= -(T1_SHARED_SLACK / 2) && off <= 1 << 30)
        return t1_str(e, "(smem + (int64_t)(int32_t)(%s) + %d)", s, (int)off);
    return t1_str(e, "(smem + (int32_t)(%s + 0x%xu))", s, (unsigned)(uint32_t)off);
}

const char *t1_lane_pointer(struct t1_emit *e, const struct t1_arg *a, bool shared, uint64_t imm)
{
    const char *x = t1_lane(e, a);
    if (a->kind == T1_K_32)
        return t1_in_shared(e, x, imm);
    return t1_str(e, shared ? "(smem + (%s + 0x%llxull))" : "((uint8_t *)(%s + 0x%llxull))", x,
                  (unsigned long long)imm);
}

void t1_pointers(struct t1_emit *e, const char *p, const struct t1_arg *a, bool shared, uint64_t imm, bool load)
{
    t1_put(e, "pu64 %s[%u];\n", p, 2 * e->np);
    for (unsigned q = 0; q < 2 * e->np; q++) {
        const char *at = a->kind == T1_K_32 ? t1_str(e, "t1_sext_u32(%s + 0x%xu)", t1_half(e, a, q), (uint32_t)imm)
                                            : t1_str(e, "%s + 0x%llxull", t1_piece(e, a, q), (unsigned long long)imm);
        t1_put(e, "%s[%u] = %s%s;\n", p, q, at, shared ? " + (uint64_t)smem" : "");
    }
    if (load)
        t1_put(e, "if (T1_UNLIKELY(%s != ~0u)) t1_absent((const uint8_t **)%s, %s);\n", e->mask, p, e->mask);
}
