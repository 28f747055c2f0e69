/* Tier 1 emitter: loads of a block that read neighbouring bytes at one address, as quantised weights are read by
 * halves of a word. Where they cover 4 or 8 bytes, each lane loads these at once: what costs in a gather is lanes. */
#include "ptx/tier1/emit/emit.h"

enum { MOST = 8 };

struct part {
    int64_t at;
    unsigned size;
    uint32_t instr;
};

static bool is_part(const struct t1_emit *e, const struct ptx_instr *in, uint32_t i, int32_t address)
{
    const struct ptx_opnd *o = &in->src[0];
    return in->op == PTX_OP_LD && in->sem == PTX_WEAK && in->guard < 0 && in->space == e->in->space &&
           in->dst[0].kind == PTX_O_REG && o->kind == PTX_O_ADDR && o->reg >= 0 && o->sym < 0 &&
           e->f->instr_src[i][0] == address && ptx_type_size(in->type[0]) <= 4;
}

/* The loads from here on, as long as nothing writes and no lanes meet. */
static unsigned find_parts(const struct t1_emit *e, int32_t address, struct part *part)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[e->block];
    unsigned n = 0;
    for (uint32_t i = e->at; i < b->first + b->count && n < MOST; i++) {
        const struct ptx_instr *in = &f->instr[i];
        struct t1_op op = {0};
        const bool reads = in->op == PTX_OP_LD && in->sem == PTX_WEAK;
        if (!reads && in->op != PTX_OP_MOV && in->op != PTX_OP_CVTA && !t1_alu(in, &op))
            break;
        if (is_part(e, in, i, address))
            part[n++] = (struct part){(int64_t)in->src[0].imm, ptx_type_size(in->type[0]), i};
    }
    return n;
}

/* Whether parts cover size bytes from `first` on, none of them two words; the last one's place in *until. */
static bool covered(const struct part *part, unsigned n, int64_t first, unsigned size, uint32_t *until)
{
    unsigned bytes = 0, found = 0;
    *until = 0;
    for (unsigned k = 0; k < n; k++) {
        const int64_t at = part[k].at - first;
        if (at < 0 || at >= size || at % 4 + part[k].size > 4)
            continue;
        bytes |= ((1u << part[k].size) - 1) << at;
        found++;
        *until = part[k].instr > *until ? part[k].instr : *until;
    }
    return found > 1 && bytes == (1u << size) - 1;
}

static void fetch(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, struct t1_together *w)
{
    const unsigned t = e->temps++;
    w->words = t1_str(e, "t%u", t);
    t1_put(e, "t1_ahead_of(%s, %s, %u);\n", t1_piece(e, a, 0), t1_piece(e, a, 2 * e->np - 1), w->size);
    for (unsigned k = 0; k < e->np && w->size == 4; k++)
        t1_put(e, "const pu32 t%u_0_%u = t1_gather64_u32(T1_MASK32(%s, %u), %s + 0x%llxull, %s + 0x%llxull);\n", t, k,
               e->mask, k, t1_piece(e, a, 2 * k), (unsigned long long)imm, t1_piece(e, a, 2 * k + 1),
               (unsigned long long)imm);
    for (unsigned q = 0; q < 2 * e->np && w->size == 8; q++)
        t1_put(e, "const pu64 t%u_%u = t1_gather64_u64(T1_MASK64(%s, %u), %s + 0x%llxull);\n", t, q, e->mask, q,
               t1_piece(e, a, q), (unsigned long long)imm);
    for (unsigned k = 0; k < e->np && w->size == 8; k++)
        t1_put(e,
               "const pu32 t%u_0_%u = t1_join_u32(t1_trunc_u64(t%u_%u), t1_trunc_u64(t%u_%u)), "
               "t%u_1_%u = t1_join_u32(t1_high_u64(t%u_%u), t1_high_u64(t%u_%u));\n",
               t, k, t, 2 * k, t, 2 * k + 1, t, k, t, 2 * k, t, 2 * k + 1);
}

const char *t1_together(struct t1_emit *e, const struct t1_arg *a, int32_t address, uint64_t imm, unsigned *byte)
{
    struct part part[MOST];
    const int64_t at = (int64_t)e->in->src[0].imm;
    if (a->rep != T1_V || a->kind != T1_K_64 || e->guarded || e->watched || e->raced || address < 0 ||
        !is_part(e, e->in, e->at, address))
        return NULL;
    for (unsigned k = 0; k < sizeof e->together / sizeof *e->together; k++) {
        const struct t1_together *w = &e->together[k];
        const int64_t in = at - w->first;
        if (w->words && w->address == address && e->at > w->from && e->at <= w->until && in >= 0 && in < w->size &&
            in % 4 + ptx_type_size(e->in->type[0]) <= 4) {
            *byte = (unsigned)in;
            return w->words;
        }
    }
    const unsigned n = find_parts(e, address, part);
    for (unsigned size = 8; n > 1 && size >= 4; size -= 4)
        for (unsigned k = 0; k < n; k++) {
            struct t1_together w = {.address = address, .first = part[k].at, .size = size, .from = e->at};
            const int64_t in = at - w.first;
            if (in < 0 || in >= size || in % 4 + part[0].size > 4 || !covered(part, n, w.first, size, &w.until))
                continue;
            fetch(e, a, imm - (uint64_t)in, &w);
            e->together[e->ntogether++ % (sizeof e->together / sizeof *e->together)] = w;
            *byte = (unsigned)in;
            return w.words;
        }
    return NULL;
}
