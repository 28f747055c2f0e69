/* Writes code for a whole image: for each basic block twice, once for warps of which all lanes run, once for others.
 * Runs of arithmetic become loops over pieces (lanes.h), all else that goes straight on a call of its handler; branches
 * that all lanes take jump, and what splits a warp, waits or ends returns to the dispatch loop. */
#include "ptx/base/base.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ptx/base/lanes.h"
#include "ptx/tier0/warp.h"

struct generator {
    struct base_plan *plan;
    struct x86 x;
    struct lanes lanes;
    t0_handler *const *table;
    uint32_t *label[2]; /* by block: of the code for all lanes, for some */
    uint32_t leave;     /* label: returns RAX */
    uint64_t *live;     /* of a block: rows live before each of its instructions, and behind the last */
    size_t live_room;
    struct way_out { /* code out of line that returns an instruction */
        uint32_t label, insn;
    } * out;
    uint32_t nout, out_room;
    uint8_t *constant;
    uint64_t *value;
    bool partial;
    bool upper; /* upper halves of vector registers may be in use */
};

static struct x86_rm of_warp(size_t offset) { return x86_at(LANES_WARP, (int32_t)offset); }
#define MASK_OF_WARP of_warp(offsetof(struct t0_warp, l.mask))

/* A label for code that leaves with this instruction as the next. */
static uint32_t way_out(struct generator *g, uint32_t insn)
{
    if (g->nout == g->out_room) {
        uint32_t room = g->out_room ? 2 * g->out_room : 64;
        struct way_out *more = realloc(g->out, room * sizeof *more);
        if (!more) {
            g->x.failed = true;
            return 0;
        }
        g->out = more;
        g->out_room = room;
    }
    g->out[g->nout] = (struct way_out){x86_label(&g->x), insn};
    return g->out[g->nout++].label;
}

static void write_call(struct generator *g, uint32_t insn)
{
    const struct lir_insn *i = &g->plan->code[insn];
    if (g->upper)
        x86_vzeroupper(&g->x); /* handlers may be SSE code, which would wait for them */
    g->upper = false;
    x86_op(&g->x, true, 0x8b, RDI, x86_r(LANES_WARP));
    x86_mov_imm64(&g->x, RSI, (uint64_t)(uintptr_t)i);
    x86_mov_imm64(&g->x, RAX, (uint64_t)(uintptr_t)g->table[i->op]);
    x86_call(&g->x, RAX);
}

/* The lanes of a predicate that run in EAX, all that run in R12. */
static void write_taken(struct generator *g, uint32_t row, bool negated)
{
    x86_op(&g->x, false, 0x8b, RAX, x86_at(LANES_REGS, (int32_t)row));
    x86_op(&g->x, false, 0x8b, R12, MASK_OF_WARP);
    if (negated)
        x86_op_imm(&g->x, false, 6, x86_r(RAX), -1); /* xor */
    x86_op(&g->x, false, 0x23, RAX, x86_r(R12));     /* and: sets the zero flag */
}

static void write_guarded_call(struct generator *g, uint32_t guard)
{
    const struct lir_insn *i = &g->plan->code[guard];
    const uint32_t none = x86_label(&g->x);
    const bool upper = g->upper;
    write_taken(g, i->a, i->aux != 0);
    x86_jump_if(&g->x, X86_E, none);
    x86_op(&g->x, false, 0x89, RAX, MASK_OF_WARP);
    write_call(g, guard + 1);
    x86_op(&g->x, false, 0x89, R12, MASK_OF_WARP);
    x86_place(&g->x, none);
    g->upper = upper;
}

static void write_split_check(struct generator *g, uint32_t insn)
{
    if (!g->partial)
        return; /* all lanes run: nobody waits anywhere */
    x86_op_imm(&g->x, false, 7, of_warp(offsetof(struct t0_warp, nsplit)), 0);
    x86_jump_if(&g->x, X86_NE, way_out(g, insn));
}

/* Loops that may wait for other threads are counted by the dispatch loop. */
static bool counted(const struct lir_insn *i, uint32_t insn)
{
    return i->aux & LIR_BR_SPIN && (uint32_t)i->imm <= insn;
}

static void write_branch(struct generator *g, uint32_t insn)
{
    const struct lir_insn *i = &g->plan->code[insn];
    const uint32_t target = g->label[g->partial][g->plan->block[i->imm]];
    if (i->op == LIR_BRA) {
        write_split_check(g, insn);
        x86_jump(&g->x, counted(i, insn) ? way_out(g, insn) : target);
        return;
    }
    const uint32_t next = x86_label(&g->x);
    write_taken(g, i->a, i->aux & LIR_BR_NEG);
    x86_jump_if(&g->x, X86_E, next);
    if (counted(i, insn)) {
        x86_jump(&g->x, way_out(g, insn));
    } else {
        x86_op(&g->x, false, 0x3b, RAX, x86_r(R12));
        x86_jump_if(&g->x, X86_NE, way_out(g, insn));
        write_split_check(g, insn);
        x86_jump(&g->x, target);
    }
    x86_place(&g->x, next);
}

static void write_control(struct generator *g, uint32_t insn)
{
    const struct lir_insn *i = &g->plan->code[insn];
    if (i->op == LIR_JOIN) {
        write_split_check(g, insn);
    } else if (i->op == LIR_BRA || i->op == LIR_BRP) {
        write_branch(g, insn);
    } else if (i->op < LIR_GUARD) { /* a collective: at once where all lanes that live are here */
        if (g->partial) {
            x86_op(&g->x, false, 0x8b, RAX, MASK_OF_WARP);
            x86_op(&g->x, false, 0x0b, RAX, of_warp(offsetof(struct t0_warp, dead)));
            x86_op_imm(&g->x, false, 7, x86_r(RAX), -1);
            x86_jump_if(&g->x, X86_NE, way_out(g, insn));
        }
        write_call(g, insn);
    } else {
        x86_jump(&g->x, way_out(g, insn));
    }
}

static bool add_op(struct generator *g, uint32_t insn, const struct lir_insn *guard)
{
    struct lanes *l = &g->lanes;
    if (l->nop == l->op_room) {
        uint32_t room = l->op_room ? 2 * l->op_room : 64;
        struct lanes_op *more = realloc(l->op, room * sizeof *more);
        if (!more)
            return false;
        l->op = more;
        l->op_room = room;
    }
    struct lanes_op *op = &l->op[l->nop++];
    op->i = &g->plan->code[insn];
    op->guard = guard ? guard->a : LIR_NONE;
    op->negated = guard && guard->aux;
    base_operands(g->plan->image, op->i, &op->o);
    return true;
}

/* Writes the run that was collected, in front of this instruction of block b. */
static void flush(struct generator *g, uint32_t b, uint32_t insn)
{
    struct lanes *l = &g->lanes;
    if (!l->nop)
        return;
    l->live = g->live + (size_t)(insn - g->plan->start[b]) * g->plan->words;
    l->partial = g->partial;
    lanes_write(l);
    l->nop = 0;
    g->upper = true;
}

static void write_block(struct generator *g, uint32_t b)
{
    const struct lir_insn *code = g->plan->code;
    const uint32_t end = g->plan->start[b + 1];
    x86_place(&g->x, g->label[g->partial][b]);
    g->upper = true; /* by whoever came here */
    for (uint32_t k = g->plan->start[b]; k < end && !g->x.failed; k++) {
        const bool guarded = code[k].op == LIR_GUARD;
        if (lanes_can(&g->lanes, &code[k + guarded])) {
            if (!add_op(g, k + guarded, guarded ? &code[k] : NULL))
                g->x.failed = true;
        } else {
            flush(g, b, k);
            if (guarded)
                write_guarded_call(g, k);
            else if (code[k].op < LIR_SHFL)
                write_call(g, k);
            else
                write_control(g, k);
        }
        k += guarded;
    }
    flush(g, b, end); /* the last block ends by what jumps or leaves (tier0/image.c) */
}

/* Rows that are live before each instruction of a block. */
static bool find_live(struct generator *g, uint32_t b)
{
    const struct base_plan *p = g->plan;
    const uint32_t n = p->start[b + 1] - p->start[b];
    const size_t room = (size_t)(n + 1) * p->words;
    if (room > g->live_room) {
        uint64_t *more = realloc(g->live, room * sizeof *more);
        if (!more)
            return false;
        g->live = more;
        g->live_room = room;
    }
    base_live_out(p, b, g->live + (size_t)n * p->words);
    for (uint32_t k = n; k-- > 0;) {
        const uint32_t insn = p->start[b] + k;
        uint64_t *set = g->live + (size_t)k * p->words;
        memcpy(set, set + p->words, p->words * sizeof *set);
        base_live_step(p, &p->code[insn], k && p->code[insn - 1].op == LIR_GUARD, set);
    }
    return true;
}

/* The entry, at offset 0: (warp, address) as in C; the way back. */
static void write_frame(struct generator *g)
{
    static const uint8_t enter[] = {0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57}; /* push rbx, r12 to r15 */
    static const uint8_t leave[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0xc3};
    for (size_t k = 0; k < sizeof enter; k++)
        x86_byte(&g->x, enter[k]);
    x86_op(&g->x, true, 0x8b, LANES_WARP, x86_r(RDI));
    x86_op(&g->x, true, 0x8b, LANES_REGS, of_warp(offsetof(struct t0_warp, l.regs)));
    x86_jump_to(&g->x, RSI);
    g->leave = x86_label(&g->x);
    x86_place(&g->x, g->leave);
    x86_vzeroupper(&g->x);
    for (size_t k = 0; k < sizeof leave; k++)
        x86_byte(&g->x, leave[k]);
}

static void write_ways_out(struct generator *g)
{
    for (uint32_t k = 0; k < g->nout; k++) {
        x86_place(&g->x, g->out[k].label);
        x86_mov_imm64(&g->x, RAX, (uint64_t)(uintptr_t)&g->plan->code[g->out[k].insn]);
        x86_jump(&g->x, g->leave);
    }
}

static bool find_constants(struct generator *g)
{
    const struct lir_row *row = LIR_AT(g->plan->image, rows, struct lir_row);
    g->constant = calloc(g->plan->words, 64);
    g->value = calloc((size_t)g->plan->words * 64, sizeof *g->value);
    for (uint32_t k = 0; g->constant && g->value && k < g->plan->image->rows.count; k++)
        if (row[k].kind == LIR_ROW_IMM) {
            g->constant[row[k].offset / LIR_ROW_ALIGN] = 1;
            g->value[row[k].offset / LIR_ROW_ALIGN] = row[k].value;
        }
    return g->constant && g->value;
}

static bool write_all(struct generator *g)
{
    const uint32_t n = g->plan->nblock;
    for (unsigned v = 0; v < 2; v++) {
        g->label[v] = calloc(n, sizeof **g->label);
        for (uint32_t b = 0; g->label[v] && b < n; b++)
            g->label[v][b] = x86_label(&g->x);
    }
    if (!g->label[0] || !g->label[1] || !find_constants(g))
        return false;
    g->lanes.x = &g->x;
    g->lanes.constant = g->constant;
    g->lanes.value = g->value;
    write_frame(g);
    for (unsigned v = 0; v < 2; v++)
        for (uint32_t b = 0; b < n && !g->x.failed; b++) {
            g->partial = v;
            if (!find_live(g, b))
                return false;
            write_block(g, b);
        }
    write_ways_out(g);
    return x86_finish(&g->x);
}

static void generator_free(struct generator *g)
{
    free(g->label[0]);
    free(g->label[1]);
    free(g->live);
    free(g->out);
    free(g->constant);
    free(g->value);
    free(g->lanes.op);
    x86_free(&g->x);
    base_plan_free(g->plan);
}

/* Memory that is written first and executed then, never both. */
static const uint8_t *make_executable(const uint8_t *text, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    memcpy(p, text, size);
    if (mprotect(p, size, PROT_READ | PROT_EXEC) == 0)
        return p;
    munmap(p, size);
    return NULL;
}

bool base_possible(void)
{
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;
    return t0_alu_level() >= 3 && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
#else
    return false;
#endif
}

struct base_code *base_compile(const struct lir_image *image, t0_handler *const *table)
{
    struct generator g = {.table = table};
    struct base_code *c = base_possible() ? calloc(1, sizeof *c) : NULL;
    uint32_t *entry = NULL;
    if (!c || !(g.plan = base_plan_make(image)) || !write_all(&g))
        goto fail;
    entry = calloc((size_t)2 * g.plan->n, sizeof *entry);
    if (!entry || !(c->text = make_executable(g.x.p, g.x.n)))
        goto fail;
    c->size = g.x.n;
    c->full = entry;
    c->part = entry + g.plan->n;
    for (uint32_t b = 0; b < g.plan->nblock; b++)
        for (unsigned v = 0; v < 2; v++)
            entry[v * g.plan->n + g.plan->start[b]] = g.x.label[g.label[v][b]] - 1;
    generator_free(&g);
    return c;
fail:
    free(entry);
    free(c);
    generator_free(&g);
    return NULL;
}

void base_free(struct base_code *c)
{
    if (!c)
        return;
    munmap((void *)(uintptr_t)c->text, c->size);
    free((void *)(uintptr_t)c->full);
    free(c);
}

const struct lir_insn *base_enter(const struct base_code *c, struct t0_warp *w, uint32_t at)
{
    const struct lir_insn *(*enter)(struct t0_warp *, const uint8_t *);
    memcpy(&enter, &c->text, sizeof enter);
    return enter(w, c->text + at);
}
