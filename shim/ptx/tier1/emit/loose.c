/* Tier 1 emitter: blocks that lanes run at different times. Where lanes of a warp may wait for each other, or where
 * control flow has no loops to speak of, a lane cannot be made to wait at the end of a loop or a branch. Such
 * blocks stand in a row; each runs the lanes that have come to it, and the row is run again until no lane is left
 * in it. Blocks at whose head lanes reconverge are held until no lane is anywhere else. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

/* ---- which blocks ---- */

/* Lanes reconverge at its head: nobody waits for what lies behind. */
static bool meets_all(const struct ptx_func *f, uint32_t k)
{
    return f->block[k].count && t1_meets_all(&f->instr[f->block[k].first]);
}

static void reach(const struct ptx_func *f, uint32_t k, uint8_t *seen)
{
    if (seen[k] || meets_all(f, k))
        return;
    seen[k] = 1;
    for (uint32_t s = 0; s < f->block[k].nsucc; s++)
        reach(f, (uint32_t)f->block[k].succ[s], seen);
}

void t1_loosen(struct t1_emit *e, uint32_t header, uint32_t exit)
{
    struct ptx_func *f = e->f;
    uint8_t *in = t1_alloc(e, f->nblock + 1, 1);
    uint32_t low = header, high = header;
    reach(f, exit, in);
    for (uint32_t k = 0; k < f->nblock; k++)
        if (in[k] || ptx_in_loop(f, (int32_t)k, (int32_t)header)) {
            low = k < low ? k : low;
            high = k > high ? k : high;
        }
    for (uint32_t k = low; k <= high; k++)
        f->block[k].loose = true;
}

/* Operand that names the lanes which reconverge here; -1: all of the warp. */
static int member_mask(const struct ptx_func *f, uint32_t i)
{
    const struct ptx_instr *in = &f->instr[i];
    int at;
    switch (in->op) {
    case PTX_OP_SHFL: at = 3; break;
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX: at = 1; break;
    case PTX_OP_ELECT: at = 0; break;
    case PTX_OP_BAR: at = in->sub == PTX_SUB_WARP_SYNC ? 0 : -1; break;
    default: at = -1;
    }
    if (at < 0 || at >= in->nsrc)
        return -1;
    const struct ptx_opnd *o = &in->src[at];
    int32_t v = f->instr_src[i][at];
    bool all = o->kind == PTX_O_IMM ? (uint32_t)o->imm == ~0u
                                    : o->kind == PTX_O_REG && v >= 0 && f->value[v].has_range &&
                                          f->value[v].lo == f->value[v].hi && (uint32_t)f->value[v].lo == ~0u;
    return all ? -1 : at;
}

/* ---- their order ---- */

bool t1_held(struct t1_emit *e, uint32_t k)
{
    const struct ptx_block *b = &e->f->block[k];
    const struct ptx_instr *in = &e->f->instr[b->first];
    return b->count && (in->op == PTX_OP_CALL ? t1_call_meets(e, in) : ptx_waits_for_lanes(in));
}

/* Before every jump back, as any of them may be the only one of a loop that waits. */
static const char *yields(const struct t1_emit *e) { return e->spins ? "t1_yield(b); " : ""; }

/* A held block for lanes that name whom they reconverge with: runs those, once all of them have come or, at the
 * end of a round in which nobody else could run, anyway. */
static void run_held(struct t1_emit *e, uint32_t k, int mask, bool anyway)
{
    const struct ptx_block *b = &e->f->block[k];
    t1_put(e, "if (p%u) {\n", k);
    e->block = k;
    e->at = b->first;
    e->in = &e->f->instr[b->first];
    struct t1_arg a = t1_src(e, (unsigned)mask, T1_K_32);
    const char *x = t1_lane(e, &a);
    t1_put(e, "const unsigned l = (unsigned)__builtin_ctz(p%u);\nwho = %s | 1u << l;\n", k, x);
    e->in = NULL;
    if (anyway)
        t1_put(e, "%sgoto C%u;\n", yields(e), k);
    else
        t1_put(e, "if (!(who & live & ~p%u)) { %sgoto C%u; }\nwho = ~0u;\n", k, yields(e), k);
    t1_put(e, "}\n");
}

/* A loop whose header and last block stand in one row goes on there. Where the header stands before the row, the next
 * round begins when no lane of the loop is left in the row: at the header they are together. Those that have left
 * the loop and reconverge further down in the row wait until then. */
void t1_loose_after(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    uint32_t first = k;
    while (first && f->block[first - 1].loose)
        first--;
    for (int32_t h = f->block[k].loop_header; h >= (int32_t)first; h = f->block[h].loop_parent)
        if ((k + 1 == f->nblock || !ptx_in_loop(f, (int32_t)k + 1, h)) && !t1_held(e, (uint32_t)h) && !e->waits[h])
            t1_put(e, "if (p%d) goto B%d;\n", h, h);
    if (k + 1 < f->nblock && f->block[k + 1].loose)
        return;
    for (unsigned anyway = 0; anyway < 2; anyway++) {
        for (uint32_t t = first; t <= k; t++) {
            int mask = t1_held(e, t) ? member_mask(f, f->block[t].first) : -1;
            if (mask >= 0)
                run_held(e, t, mask, anyway);
            else if (t1_held(e, t) == anyway)
                t1_put(e, "if (p%u) { %sgoto %c%u; }\n", t, yields(e), anyway ? 'C' : 'B', t);
            if (anyway)
                t1_next_rounds(e, t, first);
        }
    }
}
