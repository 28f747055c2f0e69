/* Tier 0 lowering: where values live. Registers share rows when their live intervals do not meet;
 * constants and special registers have rows of their own that are filled before a warp starts.
 *
 * Rows are private to a lane and handlers write only active lanes, so it is enough that no lane's
 * own path has two live values in one row: plain liveness over the control-flow graph. */
#include "ptx/lir/lower/lower.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t row_bytes[LIR_CLASSES] = {LIR_ROW_ALIGN, 128, 256, 512};

uint32_t lir_take(struct lir_lower *l, uint32_t bytes)
{
    uint32_t at = l->regs_top;
    if (bytes > LIR_REGS_LIMIT || at > LIR_REGS_LIMIT - bytes - 2 * LIR_ROW_MAX)
        lir_fail(l, "function needs too many registers");
    l->regs_top = at + ((bytes + LIR_ROW_ALIGN - 1) & ~(LIR_ROW_ALIGN - 1));
    return at;
}

enum lir_class lir_class_of(unsigned type)
{
    if (type == PTX_PRED)
        return LIR_CLASS_PRED;
    switch (ptx_type_size(type)) {
    case 8: return LIR_CLASS_64;
    case 16: return LIR_CLASS_128;
    default: return LIR_CLASS_32;
    }
}

/* ---- constants ---- */

/* Multiplicative hashing (Knuth) of both words: by 2^64 over the golden ratio, and by a constant of MurmurHash3. */
static uint32_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b + 0x7f4a7c15u) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 29);
}

static void grow_buckets(struct lir_lower *l)
{
    uint32_t n = l->nbucket ? l->nbucket * 2 : 256;
    uint32_t *b = calloc(n, sizeof *b);
    const struct lir_row *r = l->rows.p;
    if (!b)
        lir_out_of_memory(l);
    for (uint32_t k = 0; k < l->rows.n; k++) {
        uint32_t h = hash(r[k].value, (uint64_t)r[k].kind << 40 | (uint64_t)r[k].wide << 36 | r[k].index);
        while (b[h & (n - 1)])
            h++;
        b[h & (n - 1)] = k + 1;
    }
    free(l->row_bucket);
    l->row_bucket = b;
    l->nbucket = n;
}

uint32_t lir_const_row(struct lir_lower *l, enum lir_row_kind kind, unsigned wide, uint32_t index, uint64_t value)
{
    if (l->rows.n * 2 >= l->nbucket)
        grow_buckets(l);
    uint32_t h = hash(value, (uint64_t)kind << 40 | (uint64_t)wide << 36 | index), k;
    const struct lir_row *r = l->rows.p;
    for (; (k = l->row_bucket[h & (l->nbucket - 1)]); h++)
        if (r[k - 1].value == value && r[k - 1].kind == kind && r[k - 1].wide == wide && r[k - 1].index == index)
            return r[k - 1].offset;
    uint32_t offset = lir_take(l, row_bytes[wide + 1]);
    struct lir_row *row = lir_push(l, &l->rows, sizeof *row);
    *row = (struct lir_row){
        .offset = offset, .kind = (uint16_t)kind, .wide = (uint16_t)wide, .index = index, .value = value};
    l->row_bucket[h & (l->nbucket - 1)] = l->rows.n;
    return offset;
}

/* ---- liveness ---- */

struct interval {
    uint32_t reg, start, end;
};

struct live {
    struct lir_lower *l;
    uint32_t *start, *end; /* by register; start > end = never seen */
    uint32_t *wide;        /* registers that live across blocks: number + 1 */
    uint32_t nwide, words;
    uint64_t *gen, *kill, *in; /* by block */
    uint32_t *defined;         /* block (+1) that last defined the register, while scanning */
    uint32_t *pos;             /* position of each block's first instruction in the layout */
};

typedef void visit(struct live *v, uint32_t block, uint32_t pos, int32_t reg, bool def, bool certain);

static void visit_opnd(struct live *v, uint32_t b, uint32_t pos, const struct ptx_opnd *o, bool def, bool certain,
                       visit *fn)
{
    const struct ptx_func *f = v->l->f;
    if (o->kind == PTX_O_VEC) {
        for (uint32_t k = 0; k < o->n; k++)
            visit_opnd(v, b, pos, &f->opnd[o->first + k], def, certain, fn);
    } else if (o->kind == PTX_O_REG) {
        fn(v, b, pos, o->reg, def, certain);
    } else if (o->kind == PTX_O_ADDR && o->reg >= 0) {
        fn(v, b, pos, o->reg, false, true);
    }
}

static void visit_all(struct live *v, visit *fn)
{
    const struct ptx_func *f = v->l->f;
    for (uint32_t n = 0; n < f->nblock && v->l->layout[n] != LIR_NONE; n++) {
        uint32_t b = v->l->layout[n];
        const struct ptx_block *block = &f->block[b];
        for (uint32_t k = 0; k < block->count; k++) {
            const struct ptx_instr *i = &f->instr[block->first + k];
            uint32_t pos = v->pos[b] + k;
            if (i->guard >= 0)
                fn(v, b, pos, i->guard, false, true);
            for (unsigned s = 0; s < i->nsrc; s++)
                visit_opnd(v, b, pos, &i->src[s], false, true, fn);
            if (i->op == PTX_OP_RET)
                for (uint32_t r = 0; r < f->nret; r++)
                    if (f->ret[r].reg >= 0)
                        fn(v, b, pos, f->ret[r].reg, false, true);
            for (unsigned d = 0; d < i->ndst; d++)
                visit_opnd(v, b, pos, &i->dst[d], true, i->guard < 0, fn);
        }
    }
}

/* Registers read in a block before that block defines them are alive across blocks. */
static void find_wide(struct live *v, uint32_t b, uint32_t pos, int32_t reg, bool def, bool certain)
{
    (void)pos;
    if (def && certain)
        v->defined[reg] = b + 1;
    else if (v->defined[reg] != b + 1 && !v->wide[reg])
        v->wide[reg] = ++v->nwide;
}

static void find_gen_kill(struct live *v, uint32_t b, uint32_t pos, int32_t reg, bool def, bool certain)
{
    uint32_t n = v->wide[reg];
    (void)pos;
    if (!n--)
        return;
    uint64_t bit = 1ull << (n & 63), *gen = &v->gen[(size_t)b * v->words + n / 64];
    uint64_t *kill = &v->kill[(size_t)b * v->words + n / 64];
    if (def && certain)
        *kill |= bit;
    else if (!(*kill & bit))
        *gen |= bit;
}

static void find_read(struct live *v, uint32_t b, uint32_t pos, int32_t reg, bool def, bool certain)
{
    (void)b;
    (void)pos;
    (void)certain;
    v->l->read[reg] |= !def;
}

static void widen(struct live *v, uint32_t reg, uint32_t from, uint32_t to)
{
    if (from < v->start[reg])
        v->start[reg] = from;
    if (to > v->end[reg] || v->end[reg] == LIR_NONE)
        v->end[reg] = to;
}

static void find_extent(struct live *v, uint32_t b, uint32_t pos, int32_t reg, bool def, bool certain)
{
    (void)b;
    (void)def;
    (void)certain;
    widen(v, (uint32_t)reg, pos, pos);
}

static void solve(struct live *v)
{
    const struct ptx_func *f = v->l->f;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = f->nblock; n-- > 0;) {
            uint32_t b = v->l->layout[n];
            if (b == LIR_NONE)
                continue;
            for (uint32_t w = 0; w < v->words; w++) {
                uint64_t out = 0, *in = &v->in[(size_t)b * v->words + w];
                for (uint32_t s = 0; s < f->block[b].nsucc; s++)
                    out |= v->in[(size_t)f->block[b].succ[s] * v->words + w];
                out = v->gen[(size_t)b * v->words + w] | (out & ~v->kill[(size_t)b * v->words + w]);
                changed |= out != *in;
                *in = out;
            }
        }
    }
}

/* Makes the interval of every register that is alive at a block's start or end cover that point. */
static void cover(struct live *v)
{
    const struct ptx_func *f = v->l->f;
    uint32_t *name = calloc(v->nwide + 1, sizeof *name);
    if (!name)
        lir_out_of_memory(v->l);
    for (uint32_t r = 0; r < f->nreg; r++)
        if (v->wide[r])
            name[v->wide[r] - 1] = r;
    for (uint32_t n = 0; n < f->nblock && v->l->layout[n] != LIR_NONE; n++) {
        uint32_t b = v->l->layout[n], first = v->pos[b], last = first + f->block[b].count;
        for (uint32_t w = 0; w < v->words; w++) {
            uint64_t in = v->in[(size_t)b * v->words + w], out = 0;
            for (uint32_t s = 0; s < f->block[b].nsucc; s++)
                out |= v->in[(size_t)f->block[b].succ[s] * v->words + w];
            for (; in; in &= in - 1)
                widen(v, name[w * 64 + (uint32_t)__builtin_ctzll(in)], first, first);
            for (; out; out &= out - 1)
                widen(v, name[w * 64 + (uint32_t)__builtin_ctzll(out)], last, last);
        }
    }
    free(name);
}

/* ---- linear scan ---- */

/* Counting sort by start or end, each one of so many points; registers of one point stay in order. first: zeroed, for
 * as many points and two more. */
static void sort(struct interval *to, const struct interval *from, uint32_t n, bool by_end, uint32_t points,
                 uint32_t *first)
{
    for (uint32_t k = 0; k < n; k++)
        first[(by_end ? from[k].end : from[k].start) + 1]++;
    for (uint32_t p = 0; p < points; p++)
        first[p + 1] += first[p];
    for (uint32_t k = 0; k < n; k++)
        to[first[by_end ? from[k].end : from[k].start]++] = from[k];
}

/* Row numbers within each class; count[] = rows needed. */
static void scan(struct lir_lower *l, struct interval *by_s, struct interval *by_e, uint32_t n, uint32_t *count)
{
    const struct ptx_func *f = l->f;
    struct lir_list free_rows[LIR_CLASSES] = {{0}};
    uint32_t done = 0;
    for (uint32_t k = 0; k < n; k++) {
        for (; done < n && by_e[done].end < by_s[k].start; done++) {
            unsigned c = lir_class_of(f->reg[by_e[done].reg].type);
            *(uint32_t *)lir_push(l, &free_rows[c], sizeof(uint32_t)) = l->reg[by_e[done].reg];
        }
        struct lir_list *rows = &free_rows[lir_class_of(f->reg[by_s[k].reg].type)];
        l->reg[by_s[k].reg] = rows->n ? ((uint32_t *)rows->p)[--rows->n]
                                      : count[lir_class_of(f->reg[by_s[k].reg].type)]++;
    }
    for (unsigned c = 0; c < LIR_CLASSES; c++)
        free(free_rows[c].p);
}

static void find_intervals(struct live *v)
{
    struct lir_lower *l = v->l;
    visit_all(v, find_wide);
    visit_all(v, find_read);
    v->words = (v->nwide + 63) / 64;
    size_t cells = (size_t)l->f->nblock * v->words + 1;
    v->gen = calloc(cells, sizeof *v->gen);
    v->kill = calloc(cells, sizeof *v->kill);
    v->in = calloc(cells, sizeof *v->in);
    if (v->gen && v->kill && v->in) {
        visit_all(v, find_gen_kill);
        solve(v);
        visit_all(v, find_extent);
        for (uint32_t k = 0; k < l->f->nparam; k++) /* .reg parameters arrive before the first block */
            if (l->f->param[k].reg >= 0)
                widen(v, (uint32_t)l->f->param[k].reg, 0, 0);
        cover(v);
    }
}

/* Linear scan (Poletto and Sarkar 1999) over live intervals: by their start they take a row, by their end they give
 * it back. Rows of a class lie side by side, behind them three temporaries a class. */
void lir_allocate_rows(struct lir_lower *l)
{
    struct ptx_func *f = l->f;
    struct live v = {.l = l};
    uint32_t nreg = f->nreg, n = 0, count[LIR_CLASSES] = {0}, at = 0;
    size_t some = nreg + 1;
    v.start = malloc(some * sizeof *v.start);
    v.end = malloc(some * sizeof *v.end);
    v.wide = calloc(some, sizeof *v.wide);
    v.defined = calloc(some, sizeof *v.defined);
    v.pos = calloc(f->nblock + 1, sizeof *v.pos);
    struct interval *by_s = calloc(some, sizeof *by_s), *by_e = calloc(some, sizeof *by_e);
    l->reg = realloc(l->reg, some * sizeof *l->reg);
    l->read = realloc(l->read, some * sizeof *l->read);
    bool ok = v.start && v.end && v.wide && v.defined && v.pos && by_s && by_e && l->reg && l->read;
    if (ok) {
        memset(v.start, 0xff, some * sizeof *v.start);
        memset(v.end, 0xff, some * sizeof *v.end);
        memset(l->reg, 0, some * sizeof *l->reg);
        memset(l->read, 0, some * sizeof *l->read);
        for (uint32_t k = 0; k < f->nblock && l->layout[k] != LIR_NONE; k++) {
            v.pos[l->layout[k]] = at;
            at += f->block[l->layout[k]].count + 1; /* the end of a block is a point of its own */
        }
        find_intervals(&v);
        ok = v.gen && v.kill && v.in;
    }
    struct interval *all = ok ? calloc(some, sizeof *all) : NULL;
    uint32_t *first = ok ? calloc(at + 2, 2 * sizeof *first) : NULL;
    ok = all && first;
    if (ok) {
        for (uint32_t r = 0; r < nreg; r++)
            if (v.end[r] != LIR_NONE)
                all[n++] = (struct interval){r, v.start[r], v.end[r]};
        sort(by_s, all, n, false, at, first);
        sort(by_e, all, n, true, at, first + at + 2);
        scan(l, by_s, by_e, n, count);
    }
    uint32_t units = count[LIR_CLASS_32] + 2 * count[LIR_CLASS_64] + 4 * count[LIR_CLASS_128];
    l->num_regs = units > l->num_regs ? units : l->num_regs;
    uint32_t first_temp[LIR_CLASSES], base[LIR_CLASSES];
    for (unsigned c = 0; c < LIR_CLASSES; c++) {
        first_temp[c] = count[c];
        count[c] += 3;
    }
    l->fn.npred = count[LIR_CLASS_PRED];
    l->fn.n32 = count[LIR_CLASS_32];
    l->fn.n64 = count[LIR_CLASS_64] + 2 * count[LIR_CLASS_128];
    free(all);
    free(first);
    free(v.start);
    free(v.end);
    free(v.wide);
    free(v.defined);
    free(v.pos);
    free(v.gen);
    free(v.kill);
    free(v.in);
    if (!ok || lir_fn_size(&l->fn) > LIR_REGS_LIMIT) {
        free(by_s);
        free(by_e);
        if (!ok)
            lir_out_of_memory(l);
        lir_fail(l, "function needs too many registers");
    }
    l->fn.regs = l->regs_top;
    base[LIR_CLASS_PRED] = l->fn.regs;
    base[LIR_CLASS_32] = base[LIR_CLASS_PRED] + LIR_ROW_ALIGN * count[LIR_CLASS_PRED];
    base[LIR_CLASS_64] = base[LIR_CLASS_32] + 128 * count[LIR_CLASS_32];
    base[LIR_CLASS_128] = base[LIR_CLASS_64] + 256 * count[LIR_CLASS_64];
    for (uint32_t k = 0; k < n; k++) {
        unsigned c = lir_class_of(f->reg[by_s[k].reg].type);
        l->reg[by_s[k].reg] = base[c] + row_bytes[c] * l->reg[by_s[k].reg];
    }
    for (unsigned c = 0; c < LIR_CLASSES; c++)
        for (unsigned k = 0; k < 3; k++)
            l->temp[c][k] = base[c] + row_bytes[c] * (first_temp[c] + k);
    free(by_s);
    free(by_e);
    lir_take(l, (uint32_t)lir_fn_size(&l->fn));
}
