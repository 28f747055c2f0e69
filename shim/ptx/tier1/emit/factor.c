/* Tier 1 emitter: a product's factors that are read from shared memory a word a lane. Where lanes stand as a product
 * wants them, rows of them read words that follow one another, which costs a fourth of a gather; but only the addresses
 * say so. They are looked at once for the loads of a block that have them in common (prelude/factor.h). */
#include "ptx/tier1/emit/access.h"

enum { SLOTS = 8, WORTH = 3 }; /* addresses a block has at hand; loads that pay for looking */

struct t1_looked_at {
    int32_t value; /* one more than the address; 0: none */
    uint32_t stamp;
};

/* Loads from here to the block's end that have the address. */
static unsigned loads_of(const struct t1_emit *e, int32_t address)
{
    const struct ptx_block *b = &e->f->block[e->block];
    unsigned n = 0;
    for (uint32_t i = e->at; i < b->first + b->count; i++) {
        const struct ptx_instr *in = &e->f->instr[i];
        n += in->op == PTX_OP_LD && in->sem == PTX_WEAK && in->space == PTX_SP_SHARED && in->guard < 0 &&
             in->dst[0].kind == PTX_O_REG && ptx_type_size(in->type[0]) == 4 && e->f->instr_src[i][0] == address;
    }
    return n;
}

static unsigned find_slot(struct t1_emit *e, int32_t address, bool *fresh)
{
    unsigned oldest = 0;
    for (unsigned k = 0; k < SLOTS; k++) {
        struct t1_looked_at *s = &e->looked_at[k];
        if (s->value == address + 1) {
            s->stamp = ++e->fragment_clock;
            *fresh = false;
            return k;
        }
        oldest = s->stamp < e->looked_at[oldest].stamp ? k : oldest;
    }
    *fresh = true;
    return oldest;
}

const char *t1_factor(struct t1_emit *e, const struct t1_access *x, int32_t address)
{
    bool fresh;
    if (!e->multiplies || e->isa == T1_PLAIN || e->guarded || e->watched || e->raced || address < 0 || !x->shared ||
        x->size != 4 || x->address.rep != T1_V || x->address.kind != T1_K_32)
        return NULL;
    const unsigned slot = find_slot(e, address, &fresh);
    if (fresh) {
        if (loads_of(e, address) < WORTH)
            return NULL;
        e->looked_at[slot] = (struct t1_looked_at){address + 1, ++e->fragment_clock};
        t1_put(e, "t1_mx_look(&mxf[%u], %s", slot, e->mask);
        for (unsigned k = 0; k < e->np; k++)
            t1_put(e, ", %s", t1_piece(e, &x->address, k));
        t1_put(e, ");\n");
        e->factors = slot + 1 > e->factors ? slot + 1 : e->factors;
        e->matrices = true;
    }
    const char *words = t1_str(e, "t%u", e->temps++);
    t1_put(e, "pu32 %s[%u];\nt1_mx_fetch(%s, &mxf[%u], smem + (int32_t)0x%x);\n", words, e->np, words, slot,
           (unsigned)(uint32_t)x->imm);
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "const pu32 %s_0_%u = %s[%u];\n", words, k, words, k);
    return words;
}

void t1_factor_block(struct t1_emit *e)
{
    if (!e->looked_at)
        e->looked_at = t1_alloc(e, SLOTS, sizeof *e->looked_at);
    for (unsigned k = 0; k < SLOTS; k++)
        e->looked_at[k] = (struct t1_looked_at){0};
}

void t1_factor_declare(struct t1_emit *e)
{
    if (e->factors)
        t1_put(e, "struct t1_looked_at mxf[%u];\n", e->factors);
    e->factors = 0;
}
