/* The reference: every thread has its own place in the graph and runs until it ends or needs
 * others. */
#include <math.h>
#include <string.h>

#include "flow/flow.h"

enum { MOST_STEPS = 40000, QUANTUM = 1 << 20 };
enum state { RUNS, AT_WARP, AT_BLOCK, ENDED };
struct thread {
    uint64_t v[NVARS];
    uint32_t local[SLOTS], shared[SLOTS];
    int block, op, lane;
    uint32_t steps;
    enum state state;
};
static const struct program *prog;
static const struct graphs *graphs;
static struct memory *mem;
static struct thread threads[MAX_THREADS];
static uint32_t nthread, ctaid;
static const char *wrong;

uint32_t input[INPUTS];

void memory_init(struct memory *m)
{
    uint32_t x = 12345;
    for (unsigned k = 0; k < INPUTS; k++) {
        x = x * 1664525 + 1013904223;
        input[k] = k % 3 ? x >> 16 & 63 : x;
    }
    memset(m, 0, sizeof *m);
    for (unsigned k = 0; k < MAX_GRID * MAX_THREADS * SLOTS; k++)
        m->own[k / SLOTS][k % SLOTS] = k * 2654435761u >> (k % 23);
    for (unsigned k = 0; k < ACC_WORDS; k++) {
        m->acc[2][k] = ~0u; /* minimum */
        m->acc[5][k] = ~0u; /* and */
    }
}

static float as_float(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float x;
    memcpy(&x, &b, 4);
    return x;
}
static uint64_t float_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static uint64_t cut(int d, uint64_t v)
{
    switch (class_of(d)) {
    case C_WIDE:
    case C_COUNT64: return v;
    case C_SHORT:
    case C_COUNT16: return v & 0xffff;
    case C_PRED:
    case C_FLAG: return v & 1;
    default: return v & 0xffffffff;
    }
}

static float arithmetic_float(enum opcode op, float a, float b)
{
    float r;
    switch (op) {
    case OP_ADD:
    case OP_XOR: r = a + b; break;
    case OP_MUL: r = a * b; break;
    case OP_AND:
    case OP_MIN: r = a < b || (a == b && signbit(a)) ? a : b; break;
    case OP_OR:
    case OP_MAX: r = a > b || (a == b && !signbit(a)) ? a : b; break;
    default: r = a - b;
    }
    return r > 8388608 ? 8388608 : r < -8388608 ? -8388608 : r;
}

static uint64_t arithmetic(const struct op *o, const struct thread *t)
{
    enum class c = class_of(o->d);
    uint64_t a = t->v[o->a], b = o->b == NONE ? o->imm : t->v[o->b];
    unsigned width = bits_of(c);
    if (c == C_FLOAT)
        return float_bits(arithmetic_float(o->op, as_float(a), o->b == NONE ? (float)(int)o->imm : as_float(b)));
    if (width == 16 && o->b == NONE)
        b &= 0x7fff;
    switch (o->op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_XOR: return a ^ b;
    case OP_SHR: return b >= width ? 0 : a >> b;
    case OP_SHL: return b >= width ? 0 : a << b;
    case OP_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static uint64_t move(const struct op *o, const struct thread *t)
{
    enum class d = class_of(o->d);
    if (o->a == NONE)
        return d == C_FLOAT ? float_bits((float)(int)o->imm) : o->imm;
    enum class s = class_of(o->a);
    uint64_t a = t->v[o->a];
    if (d == C_FLOAT && s != C_FLOAT)
        return float_bits((float)(a < 8388608 ? a : 8388608));
    if (s == C_FLOAT && d != C_FLOAT) {
        float x = as_float(a);
        return d == C_SHORT ? (uint64_t)(x > 32767 ? 32767 : x < -32768 ? -32768 : (int)x) : (uint64_t)(int64_t)x;
    }
    return a;
}

static bool compare(const struct op *o, const struct thread *t)
{
    uint64_t a = t->v[o->a], b = o->b == NONE ? o->imm : t->v[o->b];
    int order = a < b ? -1 : a > b;
    if (class_of(o->a) == C_FLOAT) {
        float x = as_float(a), y = o->b == NONE ? (float)(int)o->imm : as_float(b);
        order = x < y ? -1 : x > y;
    } else if (bits_of(class_of(o->a)) == 16 && o->b == NONE) {
        b &= 0x7fff;
        order = a < b ? -1 : a > b;
    }
    switch (o->sub) {
    case CMP_EQ: return order == 0;
    case CMP_NE: return order != 0;
    case CMP_LT: return order < 0;
    case CMP_LE: return order <= 0;
    case CMP_GT: return order > 0;
    default: return order >= 0;
    }
}

static uint32_t number(const struct thread *t) { return ctaid * MAX_THREADS + (uint32_t)(t - threads); }

static uint32_t *slot(const struct op *o, struct thread *t)
{
    uint32_t k = (o->a == NONE ? o->imm : (uint32_t)t->v[o->a]) % SLOTS;
    return o->sub == SP_GLOBAL ? &mem->own[number(t)][k] : o->sub == SP_SHARED ? &t->shared[k] : &t->local[k];
}

static void atom(const struct op *o, uint32_t *p, uint32_t v)
{
    switch (o->imm / SLOTS % NATOMS) {
    case ATOM_ADD: *p += v; break;
    case ATOM_EXCH: *p = v; break;
    case ATOM_MAX: *p = *p > v ? *p : v; break;
    default: *p = *p == o->imm % SLOTS ? v : *p;
    }
}

static void reduce(uint32_t kind, uint32_t *p, uint32_t v)
{
    switch (kind) {
    case 0: *p += v; break;
    case 1: *p = *p > v ? *p : v; break;
    case 2: *p = *p < v ? *p : v; break;
    case 3: *p ^= v; break;
    case 4: *p |= v; break;
    default: *p &= v;
    }
}

static bool run(struct thread *t, const struct graph *g, uint64_t *v, int *block, int *op);

static void mix(uint64_t *v)
{
    for (unsigned k = 2; k < NINT; k++)
        v[V_INT + k] = (uint32_t)(v[V_INT + k - 1] * (77 * k + 1) + v[V_INT + k - 2]);
    for (int k = 0; k < NWIDE; k++)
        v[V_WIDE + k] = v[V_INT + k] * v[V_INT + k + 2];
    for (int k = 0; k < NSHORT; k++)
        v[V_SHORT + k] = v[V_INT + k + 1] & 0xffff;
    for (int k = 0; k < NFLOAT; k++)
        v[V_FLOAT + k] = float_bits((float)(v[V_INT + k + 2] & 255));
    for (int k = 0; k < NPRED; k++)
        v[V_PRED + k] = (v[V_INT + k + 1] & (4u << k)) != 0;
}

/* A function's variables are its own, memory is the thread's. False: the thread has exited. */
static bool call(const struct op *o, struct thread *t)
{
    uint64_t outer[NVARS];
    int block = 0, op = 0;
    memcpy(outer, t->v, sizeof outer);
    memset(t->v, 0, sizeof t->v);
    t->v[0] = outer[o->a];
    t->v[1] = outer[o->b];
    for (int k = 0; k < NUNI; k++)
        t->v[V_UNI + k] = 3u * (unsigned)k + 1;
    mix(t->v);
    bool back = run(t, &graphs->of[o->imm], t->v, &block, &op);
    uint64_t result = t->v[0];
    memcpy(t->v, outer, sizeof outer);
    t->v[o->d] = result;
    return back;
}

/* What needs no other thread. */
static void step(const struct op *o, struct thread *t)
{
    uint64_t r;
    if (o->op <= OP_MAX) {
        r = arithmetic(o, t);
    } else {
        switch (o->op) {
        case OP_MOVE: r = move(o, t); break;
        case OP_SETP: r = compare(o, t); break;
        case OP_SELECT: r = t->v[o->c] ? t->v[o->a] : t->v[o->b]; break;
        case OP_INPUT: r = input[(t->v[o->a] + o->imm) % INPUTS]; break;
        case OP_LOAD: r = *slot(o, t); break;
        case OP_STORE: *slot(o, t) = (uint32_t)t->v[o->b]; return;
        case OP_ATOM:
            r = *slot(o, t);
            atom(o, slot(o, t), (uint32_t)t->v[o->b]);
            break;
        default: reduce(o->imm, &mem->acc[o->imm][t->v[o->a] % ACC_WORDS], (uint32_t)t->v[o->b]); return;
        }
    }
    t->v[o->d] = cut(o->d, r);
}

static int end_of(const struct block *b, const uint64_t *v)
{
    switch (b->end) {
    case END_GO: return b->to[0];
    case END_IF: return b->to[v[b->flag] == b->not ];
    case END_TABLE:
        if (v[b->index] >= (unsigned)b->nto)
            wrong = "a branch beyond its table";
        return b->to[v[b->index] % (unsigned)b->nto];
    default: return NONE;
    }
}

/* Runs until the function's end (true), or until the thread has exited or waits (false). */
static bool run(struct thread *t, const struct graph *g, uint64_t *v, int *block, int *op)
{
    while (!wrong) {
        const struct block *b = &g->block[*block];
        for (; *op < b->n; ++*op) {
            const struct op *o = &g->op[b->first + *op];
            if (++t->steps > MOST_STEPS) {
                wrong = "endless";
                return false;
            }
            if (o->guard != NONE && v[o->guard] == o->not )
                continue;
            if (o->op >= OP_BAR) {
                t->state = o->op >= OP_SYNC ? AT_WARP : AT_BLOCK;
                return false;
            }
            if (o->op == OP_RETURN)
                return true;
            if (o->op == OP_EXIT) {
                t->state = ENDED;
                return false;
            }
            if (o->op != OP_CALL)
                step(o, t);
            else if (!call(o, t))
                return false;
        }
        if (++t->steps > MOST_STEPS)
            wrong = "endless";
        *op = 0;
        *block = end_of(b, v);
        if (*block == NONE)
            return true;
    }
    return false;
}

/* ---- threads together ---- */

static const struct op *here(const struct thread *t)
{
    const struct graph *g = &graphs->of[NFUNCS];
    return &g->op[g->block[t->block].first + t->op];
}

static uint64_t together(const struct op *o, const struct thread *warp, const struct thread *t, uint32_t mask)
{
    uint32_t ballot = 0, sum = 0, all = 0, most = 0;
    for (unsigned l = 0; l < 32; l++)
        if (mask >> l & 1 && o->op != OP_SYNC) {
            uint32_t a = (uint32_t)warp[l].v[o->a];
            ballot |= (a & 1) << l;
            sum += a;
            all |= a;
            most = a > most ? a : most;
        }
    switch (o->op) {
    case OP_BALLOT: return ballot;
    case OP_VOTE: return o->sub == 0 ? ballot != 0 : o->sub == 1 ? ballot == mask : ballot == mask || !ballot;
    case OP_REDUX: return o->sub == 0 ? sum : o->sub == 1 ? all : most;
    case OP_SHUFFLE: {
        unsigned from = t->v[o->b] & 31;
        return mask >> from & 1 ? warp[from].v[o->a] : t->v[o->a];
    }
    case OP_LAST: return warp[31 - __builtin_clz(mask)].v[o->a];
    default: return 0;
    }
}

/* Lets the lanes of t's collective go on; false if one is missing. */
static bool pass_warp(struct thread *t)
{
    struct thread *warp = t - t->lane;
    const struct op *o = here(t);
    uint32_t mask = (uint32_t)t->v[o->c];
    uint64_t r[32];
    if (!(mask >> t->lane & 1))
        wrong = "a lane that is not in its mask";
    for (unsigned l = 0; l < 32 && !wrong; l++) {
        if (!(mask >> l & 1))
            continue;
        if (warp + l >= threads + nthread || warp[l].state == ENDED)
            wrong = "a mask with a lane that is gone";
        else if (warp[l].state != AT_WARP)
            return false;
        else if (here(&warp[l]) != o || warp[l].v[o->c] != mask)
            wrong = "lanes at different collectives";
        else
            r[l] = together(o, warp, &warp[l], mask);
    }
    for (unsigned l = 0; l < 32 && !wrong; l++)
        if (mask >> l & 1) {
            if (o->op != OP_SYNC)
                warp[l].v[o->d] = cut(o->d, r[l]);
            warp[l].state = RUNS;
            warp[l].op++;
        }
    return true;
}

static bool pass_block(void)
{
    if (threads[0].state != AT_BLOCK) /* a thread that has ended is nowhere */
        return false;
    const struct op *o = here(&threads[0]);
    uint32_t n = 0, peer[MAX_THREADS];
    for (uint32_t k = 0; k < nthread; k++)
        if (threads[k].state != AT_BLOCK || here(&threads[k]) != o)
            return false;
    for (uint32_t k = 0; k < nthread && o->op == OP_BAR_RED; k++)
        n += threads[k].v[o->a] != 0;
    for (uint32_t k = 0; k < nthread && o->op == OP_PEER; k++)
        threads[k].shared[o->imm] = (uint32_t)threads[k].v[o->b];
    for (uint32_t k = 0; k < nthread; k++) {
        if (o->op == OP_PEER)
            peer[k] = threads[threads[k].v[o->a] % nthread].shared[o->imm];
    }
    for (uint32_t k = 0; k < nthread; k++) {
        if (o->op == OP_PEER)
            threads[k].v[o->d] = peer[k];
        if (o->op == OP_BAR_RED)
            threads[k].v[o->d] = o->sub == 0 ? n == nthread : o->sub == 1 ? n > 0 : n;
        threads[k].state = RUNS;
        threads[k].op++;
    }
    return true;
}

static void start(struct thread *t, uint32_t k)
{
    uint32_t base = k / 32 * 32, left = nthread - base;
    memset(t, 0, sizeof *t);
    t->lane = (int)(k % 32);
    t->v[0] = k % prog->block[0] + ctaid;
    t->v[1] = input[k];
    t->v[V_UNI] = ctaid;
    t->v[V_UNI + 1] = ARGUMENT;
    t->v[V_UNI + 2] = nthread;
    t->v[V_UNI + 3] = (uint32_t)(prog->seed * 40503u);
    t->v[V_MASK] = left >= 32 ? ~0u : (1u << left) - 1;
    for (int i = 0; i < SLOTS; i++) {
        t->local[i] = k % 32;
        t->shared[i] = k;
    }
    mix(t->v);
}

static void run_block(void)
{
    bool moved = true;
    for (uint32_t k = 0; k < nthread; k++)
        start(&threads[k], k);
    while (moved && !wrong) {
        moved = false;
        for (uint32_t k = 0; k < nthread && !wrong; k++) {
            struct thread *t = &threads[k];
            if (t->state == RUNS) {
                moved = true;
                if (run(t, &graphs->of[NFUNCS], t->v, &t->block, &t->op)) {
                    t->state = ENDED;
                    for (int v = 0; v < V_STORED; v++)
                        if (prog->keep[v])
                            mem->out[v][number(t)] = t->v[v];
                }
            } else if (t->state == AT_WARP) {
                moved |= pass_warp(t);
            }
        }
        moved |= !moved && pass_block();
    }
    for (uint32_t k = 0; k < nthread && !wrong; k++)
        if (threads[k].state != ENDED)
            wrong = "threads that wait for ever";
}

bool reference_run(const struct program *p, const struct graphs *g, struct memory *m, char *why, size_t size)
{
    prog = p;
    graphs = g;
    mem = m;
    nthread = threads_of(p->block);
    wrong = NULL;
    memory_init(m);
    for (ctaid = 0; ctaid < p->grid && !wrong; ctaid++)
        run_block();
    snprintf(why, size, "%s", wrong ? wrong : "");
    return !wrong;
}
