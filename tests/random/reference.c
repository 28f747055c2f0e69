/* The reference: every thread has its own program counter and runs until it ends or needs others; a
 * collective happens when all living lanes that its mask names have arrived at it. */
#include <stdlib.h>
#include <string.h>

#include "random/random.h"
#include "random/scalar.h"

enum { MAX_STEPS = 200000, MAX_DEPTH = 64 };
enum state { RUNS, AT_WARP, AT_BLOCK, ENDED };

struct frame {
    struct ptx_func *f;
    uint32_t pc;
    uint64_t *reg;
    uint8_t *mem; /* variables of the body, then parameters and results: 64 bytes each */
    struct frame *up;
};
struct thread {
    uint32_t tid[3], linear;
    struct frame *top;
    enum state state;
    uint32_t steps, depth;
    bool cc;
};
struct block {
    struct ptx_module *m;
    const struct args *args;
    uint32_t ntid[3], ctaid, n;
    struct thread *t;
    uint8_t *shared;
    const uint8_t *tab;
    char *why;
    size_t size;
};

enum {
    VAR = FAR_BYTES, /* bytes; parameters have up to 16 */
    SHARED_BYTES = MAX_THREADS * (SLOT + PLACE_STRIDE) + FACTOR_BYTES
};

static bool fail(struct block *b, const struct ptx_func *f, const struct ptx_instr *in)
{
    char text[160];
    snprintf(b->why, b->size, "reference: line %u: %s", in->line, ptx_instr_text(f, in, text, sizeof text));
    return false;
}

static struct frame *push(struct frame *up, struct ptx_func *f)
{
    struct frame *k = calloc(1, sizeof *k);
    k->f = f;
    k->up = up;
    k->reg = calloc(f->nreg + 1u, sizeof *k->reg);
    k->mem = calloc(f->nlocal + f->nparam + f->nret + 1u, VAR);
    return k;
}
static struct frame *pop(struct frame *k)
{
    struct frame *up = k->up;
    free(k->reg);
    free(k->mem);
    free(k);
    return up;
}

static uint64_t cut(const struct frame *k, int32_t r, uint64_t v)
{
    unsigned size = ptx_type_size(k->f->reg[r].type);
    return size == 0 ? v & 1 : size >= 8 ? v : v & ((1ull << 8 * size) - 1);
}
static void set(struct frame *k, const struct ptx_opnd *o, uint64_t v)
{
    if (o->kind == PTX_O_REG)
        k->reg[o->reg] = cut(k, o->reg, v);
}

static uint64_t special(const struct block *b, const struct thread *t, int32_t r)
{
    uint32_t lane = t->linear % 32, bit = 1u << lane;
    switch (r) {
    case PTX_SR_TID_X:
    case PTX_SR_TID_Y:
    case PTX_SR_TID_Z: return t->tid[r - PTX_SR_TID_X];
    case PTX_SR_NTID_X:
    case PTX_SR_NTID_Y:
    case PTX_SR_NTID_Z: return b->ntid[r - PTX_SR_NTID_X];
    case PTX_SR_CTAID_X: return b->ctaid;
    case PTX_SR_NCTAID_X: return GRID;
    case PTX_SR_LANEID: return lane;
    case PTX_SR_WARPID: return t->linear / 32;
    case PTX_SR_LANEMASK_EQ: return bit;
    case PTX_SR_LANEMASK_LT: return bit - 1;
    case PTX_SR_LANEMASK_LE: return bit | (bit - 1);
    case PTX_SR_LANEMASK_GT: return ~(bit | (bit - 1));
    case PTX_SR_LANEMASK_GE: return ~(bit - 1);
    default: return 0;
    }
}

/* Address of a variable; shared memory counts from 0. */
static uint64_t symbol(const struct block *b, const struct frame *k, int32_t sym)
{
    uint32_t i = (uint32_t)PTX_SYM_INDEX(sym);
    if (PTX_SYM_BAND(sym) == PTX_SYM_LOCAL(0))
        return k->f->local[i].space == PTX_SP_SHARED ? 0 : (uint64_t)(uintptr_t)(k->mem + i * VAR);
    if (PTX_SYM_BAND(sym) == PTX_SYM_PARAM(0))
        return k->f->is_entry ? (uint64_t)(uintptr_t)b->args + k->f->param[i].offset
                              : (uint64_t)(uintptr_t)(k->mem + (k->f->nlocal + i) * VAR);
    return (uint64_t)(uintptr_t)b->tab;
}

static uint64_t source(const struct block *b, const struct thread *t, const struct ptx_opnd *o)
{
    const struct frame *k = t->top;
    switch (o->kind) {
    case PTX_O_REG: return k->reg[o->reg] ^ o->neg;
    case PTX_O_IMM: return o->imm ^ o->neg;
    case PTX_O_SREG: return special(b, t, o->reg);
    case PTX_O_SYM: return symbol(b, k, o->sym) + o->imm;
    case PTX_O_ADDR: return (o->reg >= 0 ? k->reg[o->reg] : o->sym != -1 ? symbol(b, k, o->sym) : 0) + o->imm;
    default: return 0;
    }
}

static uint8_t *place(struct block *b, const struct thread *t, const struct ptx_instr *in)
{
    uint64_t a = source(b, t, &in->src[0]);
    if (in->space == PTX_SP_SHARED)
        return (uint32_t)a < SHARED_BYTES ? b->shared + (uint32_t)a : NULL;
    return (uint8_t *)(uintptr_t)a;
}

static bool load_store(struct block *b, struct thread *t, const struct ptx_instr *in)
{
    struct frame *k = t->top;
    const struct ptx_opnd *data = in->op == PTX_OP_LD ? &in->dst[0] : &in->src[1], *e = data;
    unsigned size = ptx_type_size(in->type[0]), n = 1;
    uint8_t *p = place(b, t, in);
    if (data->kind == PTX_O_VEC) {
        n = data->n;
        e = k->f->opnd + data->first;
    }
    if (!p || (uintptr_t)p % (size * n))
        return fail(b, k->f, in);
    for (unsigned i = 0; i < n; i++, p += size) {
        uint64_t v = 0;
        if (in->op == PTX_OP_ST) {
            v = source(b, t, &e[i]);
            memcpy(p, &v, size);
            continue;
        }
        memcpy(&v, p, size);
        if (e[i].kind == PTX_O_REG)
            set(k, &e[i], extend(v, in->type[0], 8));
    }
    return true;
}

static uint64_t combine(const struct ptx_instr *in, uint64_t old, uint64_t a, uint64_t c)
{
    struct ptx_instr op = *in;
    const uint64_t s[4] = {old, a};
    uint64_t d[2];
    bool cc = false;
    op.flags = 0;
    switch (in->sub) {
    case PTX_SUB_EXCH: return a;
    case PTX_SUB_CAS: return old == a ? c : old;
    case PTX_SUB_INC: return old >= a ? 0 : old + 1;
    case PTX_SUB_DEC: return old == 0 || old > a ? a : old - 1;
    case PTX_SUB_ADD: op.op = PTX_OP_ADD; break;
    case PTX_SUB_MIN: op.op = PTX_OP_MIN; break;
    case PTX_SUB_MAX: op.op = PTX_OP_MAX; break;
    case PTX_SUB_AND: op.op = PTX_OP_AND; break;
    case PTX_SUB_OR: op.op = PTX_OP_OR; break;
    default: op.op = PTX_OP_XOR;
    }
    scalar(&op, s, d, &cc);
    return d[0];
}

static bool atomic(struct block *b, struct thread *t, const struct ptx_instr *in)
{
    uint64_t old = 0, v;
    size_t size = ptx_type_size(in->type[0]);
    uint8_t *p = place(b, t, in);
    if (!p)
        return fail(b, t->top->f, in);
    memcpy(&old, p, size);
    v = combine(in, old, source(b, t, &in->src[1]), source(b, t, &in->src[2]));
    memcpy(p, &v, size);
    set(t->top, &in->dst[0], old);
    return true;
}

static bool move(struct block *b, struct thread *t, const struct ptx_instr *in)
{
    struct frame *k = t->top;
    const struct ptx_opnd *s = &in->src[0], *d = &in->dst[0];
    if (s->kind == PTX_O_VEC) {
        unsigned part = 8 * ptx_type_size(in->type[0]) / s->n;
        uint64_t v = 0;
        for (unsigned i = 0; i < s->n; i++)
            v |= source(b, t, &k->f->opnd[s->first + i]) << part * i;
        set(k, d, v);
    } else if (d->kind == PTX_O_VEC) {
        unsigned part = 8 * ptx_type_size(in->type[0]) / d->n;
        uint64_t v = source(b, t, s);
        for (unsigned i = 0; i < d->n; i++)
            set(k, &k->f->opnd[d->first + i], v >> part * i);
    } else {
        set(k, d, source(b, t, s));
    }
    return true;
}

static bool enter(struct block *b, struct thread *t, const struct ptx_instr *in)
{
    struct frame *k = t->top;
    struct ptx_diag diag;
    uint32_t callee = (uint32_t)PTX_SYM_INDEX(in->src[0].sym);
    struct ptx_func *f = &b->m->func[callee];
    if (in->src[0].kind != PTX_O_SYM || ptx_func_parse(f, &diag) || ++t->depth > MAX_DEPTH)
        return fail(b, k->f, in);
    struct frame *n = push(k, f);
    for (unsigned i = 0; i < in->src[1].n; i++) {
        const struct ptx_opnd *a = &k->f->opnd[in->src[1].first + i];
        if (f->params_in_regs)
            n->reg[f->param[i].reg] = source(b, t, a);
        else
            memcpy(n->mem + (f->nlocal + i) * VAR, (void *)(uintptr_t)symbol(b, k, a->sym), VAR);
    }
    t->top = n;
    return true;
}

/* The calling frame's pc is still at the call. */
static void leave(struct block *b, struct thread *t)
{
    struct frame *n = t->top, *k = n->up;
    struct ptx_func *f = n->f;
    const struct ptx_instr *in = &k->f->instr[k->pc++];
    for (unsigned i = 0; in->dst[0].kind == PTX_O_VEC && i < in->dst[0].n; i++) {
        const struct ptx_opnd *o = &k->f->opnd[in->dst[0].first + i];
        if (f->params_in_regs)
            set(k, o, n->reg[f->ret[i].reg]);
        else
            memcpy((void *)(uintptr_t)symbol(b, k, o->sym), n->mem + (f->nlocal + f->nparam + i) * VAR, VAR);
    }
    t->top = pop(n);
    t->depth--;
}

static bool arithmetic(struct block *b, struct thread *t, const struct ptx_instr *in)
{
    struct frame *k = t->top;
    uint64_t s[4] = {0}, d[2];
    for (unsigned i = 0; i < in->nsrc && i < 4; i++)
        s[i] = source(b, t, &in->src[i]);
    if (!scalar(in, s, d, &t->cc))
        return fail(b, k->f, in);
    unsigned size = in->op == PTX_OP_CVT && in->dst[0].kind == PTX_O_REG ? ptx_type_size(k->f->reg[in->dst[0].reg].type)
                                                                         : 0;
    set(k, &in->dst[0], size ? extend(d[0], in->type[0], size) : d[0]);
    if (in->ndst > 1)
        set(k, &in->dst[1], d[1]);
    return true;
}

/* One instruction of one thread, which may leave it waiting. */
static bool step(struct block *b, struct thread *t)
{
    struct frame *k = t->top;
    if (++t->steps > MAX_STEPS) {
        snprintf(b->why, b->size, "reference: endless");
        return false;
    }
    if (k->pc >= k->f->ninstr) { /* the end of a body is a ret */
        if (k->up)
            leave(b, t);
        else
            t->state = ENDED;
        return true;
    }
    const struct ptx_instr *in = &k->f->instr[k->pc];
    if (in->guard >= 0 && (k->reg[in->guard] & 1) == in->guard_neg) {
        k->pc++;
        return true;
    }
    switch (in->op) {
    case PTX_OP_BRA: k->pc = (uint32_t)k->f->label_instr[in->src[0].reg]; return true;
    case PTX_OP_BRX: {
        const struct ptx_branch_table *tab = &k->f->btab[PTX_SYM_INDEX(in->src[1].sym)];
        uint64_t i = source(b, t, &in->src[0]);
        if (i >= tab->n)
            return fail(b, k->f, in);
        k->pc = (uint32_t)k->f->label_instr[tab->label[i]];
        return true;
    }
    case PTX_OP_RET:
        if (k->up) {
            leave(b, t);
            return true;
        } /* fall through */
    case PTX_OP_EXIT: t->state = ENDED; return true;
    case PTX_OP_CALL: return enter(b, t, in);
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX: t->state = AT_WARP; return true;
    case PTX_OP_BAR: t->state = in->sub == PTX_SUB_WARP_SYNC ? AT_WARP : AT_BLOCK; return true;
    default: k->pc++;
    }
    switch (in->op) {
    case PTX_OP_LD:
    case PTX_OP_ST: return load_store(b, t, in);
    case PTX_OP_ATOM:
    case PTX_OP_RED: return atomic(b, t, in);
    case PTX_OP_CVTA: /* generic addresses are this process's */
        set(k, &in->dst[0],
            source(b, t, &in->src[0]) + (in->space == PTX_SP_SHARED ? (uint64_t)(uintptr_t)b->shared : 0));
        return true;
    case PTX_OP_MOV: return move(b, t, in);
    default: return arithmetic(b, t, in);
    }
}

/* ---- threads together ---- */

static const struct ptx_instr *here(const struct thread *t) { return &t->top->f->instr[t->top->pc]; }

static uint32_t members(struct block *b, struct thread *t)
{
    const struct ptx_instr *in = here(t);
    unsigned last = in->op == PTX_OP_BAR ? 0 : in->nsrc - 1u;
    return (uint32_t)source(b, t, &in->src[last]);
}

static uint64_t shuffled(struct block *b, struct thread *lane0, struct thread *t, bool *in_range)
{
    const struct ptx_instr *in = here(t);
    int lane = (int)(t->linear % 32);
    uint32_t shift = (uint32_t)source(b, t, &in->src[1]) & 31, c = (uint32_t)source(b, t, &in->src[2]);
    int seg = c >> 8 & 31, clamp = c & 31, j, most = (lane & seg) | (clamp & ~seg);
    switch (in->sub) {
    case PTX_SUB_UP:
        j = lane - (int)shift;
        *in_range = j >= most;
        break;
    case PTX_SUB_DOWN:
        j = lane + (int)shift;
        *in_range = j <= most;
        break;
    case PTX_SUB_BFLY:
        j = lane ^ (int)shift;
        *in_range = j <= most;
        break;
    default: j = (lane & seg) | ((int)shift & ~seg); *in_range = j <= most;
    }
    struct thread *from = *in_range ? lane0 + j : t;
    if (from >= b->t + b->n || from->state != AT_WARP || here(from) != in)
        return 0; /* a lane that is not here: the program does not look at it */
    return source(b, from, &in->src[0]);
}

/* The instruction's result for one lane of those in `group` (bits from lane0 on). */
static uint64_t collective(struct block *b, struct thread *lane0, struct thread *t, uint32_t group, bool *p)
{
    const struct ptx_instr *in = here(t);
    uint32_t ballot = 0, equal = 0;
    uint64_t own = source(b, t, &in->src[0]), r = own;
    bool first = true;
    if (in->op == PTX_OP_SHFL)
        return shuffled(b, lane0, t, p);
    for (unsigned l = 0; l < 32; l++) {
        if (!(group >> l & 1))
            continue;
        uint64_t v = source(b, &lane0[l], &in->src[0]);
        ballot |= (uint32_t)(v & 1) << l;
        equal |= (uint32_t)(v == own) << l;
        r = in->op != PTX_OP_REDUX ? 0 : first ? v : combine(in, r, v, 0);
        first = false;
    }
    *p = equal == group;
    if (in->op == PTX_OP_REDUX)
        return r;
    if (in->op == PTX_OP_MATCH)
        return in->sub == PTX_SUB_ANY ? equal : *p ? group : 0;
    switch (in->sub) {
    case PTX_SUB_ALL: return ballot == group;
    case PTX_SUB_ANY: return ballot != 0;
    case PTX_SUB_UNI: return ballot == group || !ballot;
    default: return ballot;
    }
}

/* Lets the lanes of t's collective pass if all have come. */
static bool pass_warp(struct block *b, struct thread *t)
{
    struct thread *lane0 = b->t + t->linear / 32 * 32;
    const struct ptx_instr *in = here(t);
    uint32_t mask = members(b, t), group = 0;
    uint64_t r[32];
    bool p[32];
    for (unsigned l = 0; l < 32 && lane0 + l < b->t + b->n; l++) {
        struct thread *o = lane0 + l;
        if (!(mask >> l & 1) || o->state == ENDED)
            continue;
        if (o->state != AT_WARP || here(o) != in || members(b, o) != mask)
            return false;
        group |= 1u << l;
    }
    for (unsigned l = 0; l < 32; l++)
        if (group >> l & 1)
            r[l] = collective(b, lane0, lane0 + l, group, &p[l]);
    for (unsigned l = 0; l < 32; l++)
        if (group >> l & 1) {
            struct frame *k = lane0[l].top;
            if (in->op != PTX_OP_BAR)
                set(k, &in->dst[0], r[l]);
            if (in->ndst > 1)
                set(k, &in->dst[1], p[l]);
            lane0[l].state = RUNS;
            k->pc++;
        }
    return group >> t->linear % 32 & 1;
}

/* All living threads are at a barrier. */
static void pass_block(struct block *b)
{
    uint32_t yes = 0, all = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        struct thread *t = &b->t[i];
        if (t->state == ENDED)
            continue;
        all++;
        if (here(t)->nsrc > 2)
            yes += (uint32_t)source(b, t, &here(t)->src[2]) & 1;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        struct thread *t = &b->t[i];
        if (t->state == ENDED)
            continue;
        const struct ptx_instr *in = here(t);
        if (in->ndst)
            set(t->top, &in->dst[0], in->sub == PTX_SUB_POPC ? yes : in->sub == PTX_SUB_AND ? yes == all : yes > 0);
        t->state = RUNS;
        t->top->pc++;
    }
}

static bool run_block(struct block *b)
{
    for (;;) {
        bool moved = false;
        uint32_t ended = 0, barrier = 0;
        for (uint32_t i = 0; i < b->n; i++) {
            struct thread *t = &b->t[i];
            while (t->state == RUNS) {
                moved = true;
                if (!step(b, t))
                    return false;
            }
        }
        for (uint32_t i = 0; i < b->n; i++) {
            if (b->t[i].state == AT_WARP)
                moved |= pass_warp(b, &b->t[i]);
            ended += b->t[i].state == ENDED;
            barrier += b->t[i].state == AT_BLOCK;
        }
        if (ended == b->n)
            return true;
        if (ended + barrier == b->n) {
            pass_block(b);
            moved = true;
        }
        if (!moved) {
            snprintf(b->why, b->size, "reference: threads wait for each other for ever");
            return false;
        }
    }
}

bool reference_knows(const struct ptx_instr *in)
{
    static const uint64_t s[4];
    uint64_t d[2];
    bool cc = false;
    return scalar(in, s, d, &cc);
}

bool reference_run(const char *text, const uint32_t block[3], const struct args *a, char *why, size_t size)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
    struct ptx_func *f = m ? ptx_module_func(m, "k") : NULL;
    if (!f || ptx_func_parse(f, &diag)) {
        snprintf(why, size, "front end: line %u: %s: %s", diag.line, diag.what, diag.msg);
        ptx_module_close(m);
        return false;
    }
    struct ptx_var *tab = ptx_module_var(m, "tab");
    struct block b = {.m = m,
                      .args = a,
                      .n = block[0] * block[1] * block[2],
                      .why = why,
                      .size = size,
                      .tab = tab ? tab->init : NULL};
    bool good = true;
    memcpy(b.ntid, block, sizeof b.ntid);
    b.t = calloc(b.n, sizeof *b.t);
    b.shared = malloc(SHARED_BYTES);
    for (b.ctaid = 0; b.ctaid < GRID && good; b.ctaid++) {
        memset(b.shared, 0, SHARED_BYTES);
        for (uint32_t i = 0; i < b.n; i++)
            b.t[i] = (struct thread){.tid = {i % block[0], i / block[0] % block[1], i / block[0] / block[1]},
                                     .linear = i,
                                     .top = push(NULL, f)};
        good = run_block(&b);
        for (uint32_t i = 0; i < b.n; i++)
            while (b.t[i].top)
                b.t[i].top = pop(b.t[i].top);
    }
    free(b.t);
    free(b.shared);
    ptx_module_close(m);
    return good;
}
