/* Tier 1 emitter: loads or stores of a block that access neighbouring bytes at one address: quantised weights read by
 * halves of a word, what a thread has of an array in shared memory. Where they cover 4, 8 or 16 bytes, each lane moves
 * these at once: what costs in a gather or scatter is lanes. */
#include "ptx/tier1/emit/access.h"

enum { MOST = 16, SLOTS = sizeof((struct t1_emit *)0)->together / sizeof *((struct t1_emit *)0)->together };

struct part {
    int64_t at;
    unsigned size;
    uint32_t instr;
};

/* An address as another value and a constant: the sum's, behind all additions of constants. Whoever reads a sum reads
 * the value that it was made of in the same round of every loop, as the one's definition dominates the other's. */
static int32_t find_root(const struct ptx_func *f, int32_t address, int64_t *off)
{
    *off = 0;
    while (address >= 0 && f->value[address].instr >= 0) {
        const struct ptx_instr *in = &f->instr[f->value[address].instr];
        const unsigned size = ptx_type_size(in->type[0]);
        if (in->op != PTX_OP_ADD || in->guard >= 0 || in->flags || in->type[0] < PTX_U8 || in->type[0] > PTX_S64 ||
            size != ptx_type_size(f->reg[f->value[address].reg].type) || in->src[0].kind != PTX_O_REG ||
            in->src[1].kind != PTX_O_IMM)
            break;
        *off += size == 8 ? (int64_t)in->src[1].imm : (int32_t)in->src[1].imm;
        address = f->instr_src[f->value[address].instr][0];
    }
    return address;
}

/* Whether a value that is stored may have made way for another of its register when the last of a group is: where
 * registers have one place for all their values (home.c). */
static bool may_be_gone(const struct t1_emit *e, const struct ptx_opnd *data, int32_t value)
{
    bool gone = data->kind == PTX_O_REG && e->value[value].home;
    for (unsigned k = 0; data->kind == PTX_O_VEC && k < data->n; k++)
        gone |= e->f->opnd[data->first + k].kind == PTX_O_REG && e->value[e->f->opnd_value[data->first + k]].home;
    return gone;
}

/* An access at that value and a constant, of elements of up to a word. */
static bool is_part(const struct t1_emit *e, uint32_t i, int32_t root, struct part *part)
{
    const struct ptx_instr *in = &e->f->instr[i];
    const bool store = in->op == PTX_OP_ST;
    const struct ptx_opnd *o = &in->src[0], *data = store ? &in->src[1] : &in->dst[0];
    const unsigned size = ptx_type_size(in->type[0]);
    int64_t off;
    if (in->op != e->in->op || in->sem != PTX_WEAK || in->guard >= 0 || in->space != e->in->space ||
        t1_of_cluster(in) || o->kind != PTX_O_ADDR || o->reg < 0 || o->sym >= 0 ||
        find_root(e->f, e->f->instr_src[i][0], &off) != root)
        return false;
    *part = (struct part){off + (int64_t)o->imm, data->kind == PTX_O_VEC ? size * data->n : size, i};
    return store ? size == 4 && !may_be_gone(e, data, e->f->instr_src[i][1])
                 : size <= 4 && (data->kind == PTX_O_REG || data->kind == PTX_O_VEC);
}

/* Whether it lies in those bytes, and not across two words. */
static bool is_within(const struct part *p, const struct t1_together *w)
{
    const int64_t in = p->at - w->first;
    return in >= 0 && in + p->size <= w->size && (p->size < 4 ? in % 4 + p->size <= 4 : in % 4 == 0);
}

/* The first that has it, as later ones were made without it. */
static struct t1_together *find_group(struct t1_emit *e, int32_t root, const struct part *p)
{
    struct t1_together *first = NULL;
    for (unsigned k = 0; k < SLOTS; k++) {
        struct t1_together *w = &e->together[k];
        if (w->size && w->root == root && w->space == e->in->space && p->instr >= w->from && p->instr <= w->until &&
            is_within(p, w) && (!first || w->from < first->from))
            first = w;
    }
    return first;
}

/* The loads or stores from here on, as long as nothing else writes, nor reads what is to be stored, and no lanes
 * meet. Those that another group has are left out. */
static unsigned find_parts(struct t1_emit *e, int32_t root, struct part *part)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[e->block];
    unsigned n = 0;
    for (uint32_t i = e->at; i < b->first + b->count && n < MOST; i++) {
        const struct ptx_instr *in = &f->instr[i];
        struct t1_op op = {0};
        if (is_part(e, i, root, &part[n])) {
            n += !find_group(e, root, &part[n]);
            continue;
        }
        const bool reads = in->op == PTX_OP_LD && in->sem == PTX_WEAK && e->in->op == PTX_OP_LD;
        if (!reads && in->op != PTX_OP_MOV && in->op != PTX_OP_CVTA && !t1_alu(in, &op))
            break;
    }
    return n;
}

/* Whether parts cover size bytes from `first` on, none of them two words; the last one's place in `until`. Of two
 * stores to a word the later one's value stays, as then; so a store that has some of the bytes only is none's between
 * whom they wait. */
static bool covered(const struct part *part, unsigned n, bool store, struct t1_together *w)
{
    uint64_t bytes = 0;
    unsigned found = 0;
    w->until = 0;
    for (unsigned k = 0; k < n; k++) {
        if (store && !is_within(&part[k], w) && part[k].at < w->first + w->size && part[k].at + part[k].size > w->first)
            break;
        if (!is_within(&part[k], w))
            continue;
        bytes |= ((1ull << part[k].size) - 1) << (part[k].at - w->first);
        found++;
        w->until = part[k].instr > w->until ? part[k].instr : w->until;
    }
    return found > 1 && bytes == (1ull << w->size) - 1;
}

/* The largest group that the access in work is one of. Lanes a fixed step apart must not share bytes of it; 32 bytes
 * move at once if those of all lanes follow one another. */
static bool find_cover(const struct t1_emit *e, const struct t1_access *x, const struct part *part, unsigned n,
                       bool store, struct t1_together *w)
{
    const int64_t stride = x->address.rep == T1_V ? 16 : x->address.stride < 0 ? -x->address.stride : x->address.stride;
    const bool rows = x->address.rep == T1_U && x->address.stride == 32 && e->isa == T1_AVX512;
    const unsigned least = t1_in_structures(x) ? 16 : store ? 8 : 4;
    for (w->size = rows ? 32 : e->isa == T1_PLAIN ? 8 : 16; n > 1 && w->size >= least; w->size /= 2)
        for (unsigned k = 0; k < n; k++) {
            w->first = part[k].at;
            if (is_within(&part[0], w) && stride >= w->size && covered(part, n, store, w))
                return true;
        }
    return false;
}

static bool fetch(struct t1_emit *e, const struct t1_access *x, unsigned in, struct t1_together *w)
{
    struct t1_access all = *x;
    all.imm -= in;
    if (x->address.rep == T1_V && t1_first_ahead(e, x))
        t1_put(e, "t1_ahead_of(%s, %s, %u);\n", t1_piece(e, &x->address, 0), t1_piece(e, &x->address, 2 * e->np - 1),
               w->size);
    if (w->size >= 16) {
        all.size = 4;
        all.t = "u32";
        w->words = w->size == 32 ? t1_load_rows(e, &all) : t1_load_vector(e, &all, 4, 15);
        return w->words;
    }
    const unsigned t = e->temps++;
    w->words = t1_str(e, "t%u", t);
    all.size = w->size;
    all.wide = w->size == 8;
    all.t = all.wide ? "u64" : "u32";
    all.has_index = all.has_gather = false;
    for (unsigned k = 0; k < e->np && !all.wide; k++)
        t1_put(e, "const pu32 t%u_0_%u = %s;\n", t, k, t1_load_piece(e, &all, k));
    for (unsigned q = 0; q < 2 * e->np && all.wide; q++)
        t1_put(e, "const pu64 t%u_%u = %s;\n", t, q, t1_load_piece(e, &all, q));
    for (unsigned k = 0; k < e->np && all.wide; k++)
        t1_put(e, "const pu32 t%u_0_%u = t1_lows_u64(t%u_%u, t%u_%u), t%u_1_%u = t1_highs_u64(t%u_%u, t%u_%u);\n", t, k,
               t, 2 * k, t, 2 * k + 1, t, k, t, 2 * k, t, 2 * k + 1);
    return true;
}

bool t1_first_ahead(struct t1_emit *e, const struct t1_access *x)
{
    int64_t off;
    const int32_t root = find_root(e->f, x->value, &off);
    for (uint32_t k = 0; k < e->nahead; k++)
        if (e->ahead[k] == root)
            return false;
    if (x->shared || x->local || root < 0 || e->nahead == sizeof e->ahead / sizeof *e->ahead)
        return false;
    e->ahead[e->nahead++] = root;
    return true;
}

/* Whether the access in work may be one of several, of lanes whose places do not follow one another. Halves of a warp
 * that read the same share one gather, which is less. */
static bool may_group(struct t1_emit *e, const struct t1_access *x, int32_t *root, struct part *self)
{
    const struct t1_arg *a = &x->address;
    const bool known = a->rep == T1_V ? !x->shared || e->isa != T1_PLAIN
                                      : a->rep == T1_U && a->stride && e->isa != T1_PLAIN;
    int64_t off;
    if (!known || x->local || e->guarded || e->watched || e->raced || x->value < 0)
        return false;
    *root = find_root(e->f, x->value, &off);
    return is_part(e, e->at, *root, self);
}

static struct t1_together *add_group(struct t1_emit *e, const struct t1_together *w)
{
    struct t1_together *to = &e->together[e->ntogether++ % SLOTS];
    *to = *w;
    return to;
}

const char *t1_load_together(struct t1_emit *e, const struct t1_access *x, unsigned *byte)
{
    struct part part[MOST], self;
    int32_t root;
    if (!may_group(e, x, &root, &self))
        return NULL;
    const struct t1_together *known = find_group(e, root, &self);
    if (!known) {
        struct t1_together w = {.root = root, .space = e->in->space, .from = e->at};
        const unsigned n = find_parts(e, root, part);
        if (!find_cover(e, x, part, n, false, &w) || !fetch(e, x, (unsigned)(self.at - w.first), &w))
            return NULL;
        known = add_group(e, &w);
    }
    *byte = (unsigned)(self.at - known->first);
    return known->words;
}

static struct t1_arg stored_word(struct t1_emit *e, struct t1_word from)
{
    const struct ptx_opnd *o = &e->f->instr[from.instr].src[1];
    if (o->kind != PTX_O_VEC)
        return t1_source(e, o, e->f->instr_src[from.instr][1], T1_K_32);
    return t1_source(e, &e->f->opnd[o->first + from.element], e->f->opnd_value[o->first + from.element], T1_K_32);
}

bool t1_store_together(struct t1_emit *e, const struct t1_access *x)
{
    struct part part[MOST], self;
    int32_t root;
    if (!may_group(e, x, &root, &self))
        return false;
    struct t1_together *w = find_group(e, root, &self);
    if (!w) {
        struct t1_together all = {.root = root, .space = e->in->space, .from = e->at};
        const unsigned n = find_parts(e, root, part);
        if (e->together[e->ntogether % SLOTS].until > e->at || !find_cover(e, x, part, n, true, &all))
            return false;
        w = add_group(e, &all);
    }
    for (unsigned k = 0; k < self.size / 4; k++)
        w->source[(self.at - w->first) / 4 + k] = (struct t1_word){e->at, k};
    if (e->at < w->until)
        return true;
    struct t1_access all = *x;
    struct t1_arg v[8];
    const unsigned n = w->size / 4;
    for (unsigned k = 0; k < n; k++)
        v[k] = stored_word(e, w->source[k]);
    all.imm -= (uint64_t)(self.at - w->first);
    if (n == 8)
        t1_store_rows(e, &all, v);
    else
        t1_store_vector(e, &all, v, n);
    return true;
}
