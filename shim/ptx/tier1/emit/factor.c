/* Tier 1 emitter: a product's factors that are read from shared memory a word a lane. Where lanes stand as a product
 * wants them, rows of them read words that follow one another, which costs a fourth of a gather; but only the addresses
 * say so. They are looked at once for the loads of a block that have them in common (prelude/factor.h). */
#include "ptx/tier1/emit/access.h"

enum { SLOTS = sizeof((struct t1_emit *)0)->looked_at / sizeof *((struct t1_emit *)0)->looked_at };
enum { WORTH = 3 }; /* loads that pay for looking */

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

/* The last ones that the block has looked at are at hand: the address's place; -1: it is none of them. */
static int find_slot(const struct t1_emit *e, int32_t address)
{
    for (uint32_t k = 0; k < e->nlooked_at && k < SLOTS; k++)
        if (e->looked_at[k] == address)
            return (int)k;
    return -1;
}

const char *t1_factor(struct t1_emit *e, const struct t1_access *x)
{
    if (!e->multiplies || e->isa == T1_PLAIN || e->guarded || e->watched || e->raced || x->value < 0 || !x->shared ||
        x->size != 4 || x->address.rep != T1_V || x->address.kind != T1_K_32)
        return NULL;
    int slot = find_slot(e, x->value);
    if (slot < 0) {
        if (loads_of(e, x->value) < WORTH)
            return NULL;
        slot = (int)(e->nlooked_at++ % SLOTS);
        e->looked_at[slot] = x->value;
        t1_put(e, "t1_mx_look(&mxf[%d], %s", slot, e->mask);
        for (unsigned k = 0; k < e->np; k++)
            t1_put(e, ", %s", t1_piece(e, &x->address, k));
        t1_put(e, ");\n");
        e->factors = (uint32_t)slot >= e->factors ? (uint32_t)slot + 1 : e->factors;
        e->matrices = true;
    }
    const char *words = t1_str(e, "t%u", e->temps++);
    t1_put(e, "pu32 %s[%u];\nt1_mx_fetch(%s, &mxf[%d], smem + (int32_t)0x%x);\n", words, e->np, words, slot,
           (unsigned)(uint32_t)x->imm);
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "const pu32 %s_0_%u = %s[%u];\n", words, k, words, k);
    return words;
}

void t1_factor_declare(struct t1_emit *e)
{
    if (e->factors)
        t1_put(e, "struct t1_looked_at mxf[%u];\n", e->factors);
    e->factors = 0;
}
