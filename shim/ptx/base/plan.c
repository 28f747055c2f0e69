/* Blocks, operands and liveness of an image's LIR. Rows are private to a lane, so plain liveness over the control flow
 * is enough (lir/lower/rows.c assigns them by the same argument). */
#include "ptx/base/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/lir/alu_aux.h"
#include "ptx/lir/matrix.h"
#include "ptx/lir/tile.h"

static const char *const patterns[LIR_NOPS] = {
#define LIR_OP(id, operands) [LIR_##id] = operands,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};

static void use(struct base_operands *o, uint32_t row) { o->use[o->nuse++] = row; }
static void def(struct base_operands *o, uint32_t row) { o->def[o->ndef++] = row; }

/* An operation that is not known better: it may read all that it names, and the second half of values of 128 bits. */
static void use_all(struct base_operands *o, const struct lir_insn *i)
{
    const uint32_t row[] = {i->d, i->a, i->b, i->c, i->e};
    for (unsigned k = 0; k < 5; k++) {
        use(o, row[k]);
        use(o, row[k] + 256);
    }
}

/* The rows of a load's or store's elements. */
static void elements(struct base_operands *o, const struct lir_insn *i, bool defined)
{
    const uint32_t row[] = {i->d, i->b, i->c, i->e};
    const unsigned n = 1u << (i->aux >> LIR_MEM_VEC_SHIFT & 3);
    if (n > 4 || (i->aux >> LIR_MEM_DST_SHIFT & 3) == 3) {
        use_all(o, i);
        return;
    }
    for (unsigned k = 0; k < n; k++)
        (defined ? def : use)(o, row[k]);
}

static void alu_operands(const struct lir_insn *i, const char *pattern, struct base_operands *o)
{
    const uint32_t source[] = {i->a, i->b, i->c, i->e};
    def(o, i->d);
    for (unsigned k = 0; pattern[2 + k]; k++)
        use(o, source[k]);
}

void base_operands(const struct lir_image *m, const struct lir_insn *i, struct base_operands *o)
{
    o->nuse = o->ndef = o->nmore = 0;
    if (patterns[i->op] && *patterns[i->op]) {
        alu_operands(i, patterns[i->op], o);
        return;
    }
    if (i->op >= LIR_LDG_8 && i->op <= LIR_ST_ANY) { /* loads, then stores */
        use(o, i->a);
        elements(o, i, i->op <= LIR_LD_ANY);
        return;
    }
    switch (i->op) {
    case LIR_UNPACK4_B32:
    case LIR_UNPACK4_B64: def(o, i->b); def(o, i->c); /* fall through */
    case LIR_UNPACK2_B16:
    case LIR_UNPACK2_B32:
    case LIR_UNPACK2_B64:
        def(o, i->d);
        def(o, i->e);
        use(o, i->a);
        return;
    case LIR_MMA:
    case LIR_WMMA_LD:
    case LIR_WMMA_ST: {
        const struct lir_matrix *x = LIR_AT(m, matrices, struct lir_matrix) + (uint32_t)i->imm;
        o->more = LIR_AT(m, operands, uint32_t) + x->first;
        o->nmore = lir_mx_regs(x);
        use_all(o, i);
        return;
    }
    case LIR_TILE:
    case LIR_WGMMA:
    case LIR_TCMMA: {
        const struct lir_tile *x = LIR_AT(m, tiles, struct lir_tile) + (uint32_t)i->imm;
        o->more = LIR_AT(m, operands, uint32_t) + x->first;
        o->nmore = x->nrow;
        use_all(o, i);
        return;
    }
    case LIR_LD_KPARAM: elements(o, i, true); return;
    case LIR_CALL: use(o, LIR_AT(m, calls, struct lir_call)[(uint32_t)i->imm].target); return;
    case LIR_BRA:
    case LIR_JOIN:
    case LIR_RET:
    case LIR_EXIT: return;
    case LIR_YIELD:
        if (i->aux == 2)
            use(o, i->a);
        return;
    case LIR_GUARD:
    case LIR_BRP:
    case LIR_BRX: use(o, i->a); return;
    case LIR_SHFL:
        use(o, i->a);
        use(o, i->b);
        use(o, i->c);
        use(o, i->e);
        def(o, i->d);
        return;
    default: break;
    }
    if ((i->op >= LIR_SETP_U16 && i->op <= LIR_SETP_BF16X2) || (i->op >= LIR_SET_U16 && i->op <= LIR_SET_BF16X2)) {
        use(o, i->a);
        use(o, i->b);
        if (i->aux >> LIR_BOOL_SHIFT & 3)
            use(o, i->c);
        def(o, i->d);
        if (i->op <= LIR_SETP_BF16X2 && i->aux & LIR_CMP_Q)
            def(o, i->e);
        return;
    }
    use_all(o, i);
}

static bool ends_block(const struct lir_insn *i) { return i->op >= LIR_SHFL && i->op != LIR_GUARD; }

static bool falls_through(const struct lir_insn *i)
{
    return i->op != LIR_BRA && i->op != LIR_BRX && i->op != LIR_RET && i->op != LIR_EXIT && i->op != LIR_TRAP;
}

static void mark_targets(const struct base_plan *p, const struct lir_insn *i, uint8_t *leader)
{
    const uint32_t *target = LIR_AT(p->image, targets, uint32_t);
    if (i->op == LIR_BRA || i->op == LIR_BRP)
        leader[i->imm] = 1;
    if (i->op != LIR_BRX)
        return;
    const struct lir_table *t = LIR_AT(p->image, tables, struct lir_table) + i->imm;
    for (uint32_t k = 0; k < t->count; k++)
        leader[target[t->first + k]] = 1;
}

static bool find_blocks(struct base_plan *p)
{
    uint8_t *leader = calloc(p->n + 1, 1);
    p->block = calloc(p->n + 1, sizeof *p->block);
    if (!leader || !p->block) {
        free(leader);
        return false;
    }
    const struct lir_fn *fn = LIR_AT(p->image, funcs, struct lir_fn);
    for (uint32_t k = 0; k < p->image->funcs.count; k++)
        leader[fn[k].entry] = 1;
    leader[0] = 1;
    for (uint32_t k = 0; k < p->n; k++) {
        mark_targets(p, &p->code[k], leader);
        if (ends_block(&p->code[k]))
            leader[k + 1] = 1;
    }
    for (uint32_t k = 0; k < p->n; k++)
        p->nblock += leader[k];
    p->start = calloc(p->nblock + 1, sizeof *p->start);
    for (uint32_t k = 0, b = 0; p->start && k < p->n; k++) {
        if (leader[k])
            p->start[b++] = k;
        p->block[k] = b - 1;
    }
    free(leader);
    if (p->start)
        p->start[p->nblock] = p->n;
    return p->start != NULL;
}

static void add_block(const struct base_plan *p, uint32_t insn, uint64_t *set)
{
    const uint64_t *in = p->in + (size_t)p->block[insn] * p->words;
    for (uint32_t k = 0; k < p->words; k++)
        set[k] |= in[k];
}

void base_live_out(const struct base_plan *p, uint32_t b, uint64_t *set)
{
    const uint32_t last = p->start[b + 1] - 1;
    const struct lir_insn *i = &p->code[last];
    memset(set, 0, p->words * sizeof *set);
    if (falls_through(i) && last + 1 < p->n)
        add_block(p, last + 1, set);
    if (i->op == LIR_BRA || i->op == LIR_BRP)
        add_block(p, (uint32_t)i->imm, set);
    if (i->op != LIR_BRX)
        return;
    const struct lir_table *t = LIR_AT(p->image, tables, struct lir_table) + i->imm;
    for (uint32_t k = 0; k < t->count; k++)
        add_block(p, LIR_AT(p->image, targets, uint32_t)[t->first + k], set);
}

static void put(uint64_t *set, uint32_t row, bool live)
{
    const uint32_t n = row / LIR_ROW_ALIGN;
    const uint64_t bit = 1ull << (n % 64);
    set[n / 64] = live ? set[n / 64] | bit : set[n / 64] & ~bit;
}

void base_live_step(const struct base_plan *p, const struct lir_insn *i, bool guarded, uint64_t *set)
{
    struct base_operands o;
    base_operands(p->image, i, &o);
    for (unsigned k = 0; !guarded && k < o.ndef; k++)
        put(set, o.def[k], false);
    for (unsigned k = 0; k < o.nuse; k++)
        put(set, o.use[k], true);
    for (uint32_t k = 0; k < o.nmore; k++) {
        put(set, o.more[k], true);
        put(set, o.more[k] + 256, true);
    }
}

/* Iterates backwards over the blocks until nothing changes. */
static bool find_live(struct base_plan *p)
{
    uint64_t *set = calloc(p->words, sizeof *set);
    bool changed = set != NULL;
    while (changed) {
        changed = false;
        for (uint32_t b = p->nblock; b-- > 0;) {
            uint64_t *in = p->in + (size_t)b * p->words;
            base_live_out(p, b, set);
            for (uint32_t k = p->start[b + 1]; k-- > p->start[b];)
                base_live_step(p, &p->code[k], k > p->start[b] && p->code[k - 1].op == LIR_GUARD, set);
            if (memcmp(in, set, p->words * sizeof *set)) {
                memcpy(in, set, p->words * sizeof *set);
                changed = true;
            }
        }
    }
    free(set);
    return set != NULL;
}

enum { MOST_LIVE = 64 << 20 }; /* bytes of all sets; larger kernels stay in the interpreter, or go to tier 1 */

struct base_plan *base_plan_make(const struct lir_image *image)
{
    struct base_plan *p = calloc(1, sizeof *p);
    if (!p || !image->kernels.count)
        goto fail;
    p->image = image;
    p->code = LIR_AT(image, code, struct lir_insn);
    p->n = image->code.count;
    const uint32_t rows = LIR_AT(image, kernels, struct lir_kernel_rec)->regs_size + 2 * LIR_ROW_MAX;
    p->words = rows / LIR_ROW_ALIGN / 64 + 1;
    if (!find_blocks(p) || (uint64_t)p->nblock * p->words * sizeof *p->in > MOST_LIVE)
        goto fail;
    p->in = calloc((size_t)p->nblock * p->words, sizeof *p->in);
    if (!p->in || !find_live(p))
        goto fail;
    return p;
fail:
    base_plan_free(p);
    return NULL;
}

void base_plan_free(struct base_plan *p)
{
    if (!p)
        return;
    free(p->start);
    free(p->block);
    free(p->in);
    free(p);
}
