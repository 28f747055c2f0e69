/* Tier 1 emitter: registers that products of warpgroups (wgmma) sum up in have places of their own in a frame that is
 * the handler's register file, so that it adds to them where they are. Such a register has one place for all its
 * values: where no block runs under a mask, one of them is at hand at a time. */
#include "ptx/tier1/emit/emit.h"

#include "ptx/lir/image.h"

/* Whether the register's values can share a place. What is read by way of an address that was computed before
 * (t1_gather_form) is read behind its time. */
static bool may_share(const struct t1_emit *e, int32_t reg, const uint8_t *late)
{
    const struct ptx_func *f = e->f;
    for (uint32_t v = 0; v < f->nvalue; v++) {
        const struct t1_value *x = &e->value[v];
        if (f->value[v].reg != reg || !x->used || f->value[v].block < 0)
            continue;
        if (late[v] || x->escapes || x->kind != T1_K_32 || e->info[f->value[v].block].div)
            return false;
    }
    return true;
}

static void find_late(const struct t1_emit *e, uint8_t *late)
{
    const struct ptx_func *f = e->f;
    struct t1_gather g;
    for (uint32_t k = 0; k < f->nblock; k++)
        for (uint32_t i = f->block[k].first; i < f->block[k].first + f->block[k].count; i++) {
            const struct ptx_instr *in = &f->instr[i];
            if ((in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST) && in->src[0].kind == PTX_O_ADDR &&
                in->src[0].reg >= 0 && t1_gather_form(f, f->instr_src[i][0], k, &g)) {
                late[g.index] = 1;
                if (g.base >= 0)
                    late[g.base] = 1;
            }
        }
}

void t1_find_homes(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    uint8_t *late = NULL, *seen = NULL;
    e->homes = e->frame = 0;
    for (uint32_t i = 0; i < f->ninstr && !e->loose && !e->watched && !e->raced; i++) {
        const struct ptx_instr *in = &f->instr[i];
        if (in->op != PTX_OP_WGMMA || !in->ndst || in->dst[0].kind != PTX_O_VEC)
            continue;
        if (!late) {
            late = t1_alloc(e, f->nvalue + 1, sizeof *late);
            e->home_of = t1_alloc(e, f->nreg + 1, sizeof *e->home_of);
            seen = t1_alloc(e, f->nreg + 1, sizeof *seen);
            find_late(e, late);
        }
        for (unsigned k = 0; k < in->dst[0].n; k++) {
            const struct ptx_opnd *o = &f->opnd[in->dst[0].first + k];
            if (o->kind != PTX_O_REG || seen[o->reg])
                continue;
            seen[o->reg] = 1;
            if (may_share(e, o->reg, late))
                e->home_of[o->reg] = (uint16_t)++e->homes;
        }
    }
    for (uint32_t v = 0; e->homes && v < f->nvalue; v++)
        if (e->value[v].used && e->value[v].rep == T1_V && f->value[v].block >= 0)
            e->value[v].home = e->home_of[f->value[v].reg];
}

uint32_t t1_home_row(uint32_t home) { return LIR_ROW_MAX + (home - 1) * 128; }

/* The names of the values' pieces; what is undefined on some way is zero. */
void t1_put_homes(struct t1_emit *e)
{
    if (!e->homes)
        return;
    const uint32_t homes = t1_home_row(e->homes + 1), size = e->frame > homes ? e->frame : homes;
    const uint32_t pieces = (size + 127) / 128 * e->np, first = t1_home_row(1) / 128 * e->np;
    t1_put(e, "pu32 frame_[%u] __attribute__((aligned(64)));\n__builtin_memset(frame_ + %u, 0, %u);\n", pieces, first,
           128 * e->homes);
    for (uint32_t v = 0; v < e->f->nvalue; v++)
        for (unsigned k = 0; e->value[v].home && k < e->np; k++)
            t1_put(e, "#define v%u_%u frame_[%u]\n", v, k, first + (e->value[v].home - 1u) * e->np + k);
}

void t1_end_homes(struct t1_emit *e)
{
    for (uint32_t v = 0; e->homes && v < e->f->nvalue; v++)
        for (unsigned k = 0; e->value[v].home && k < e->np; k++)
            t1_put(e, "#undef v%u_%u\n", v, k);
}
