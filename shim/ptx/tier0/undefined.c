/* Initcheck: whether a kernel uses the undefined bytes that it has loaded. Structures are copied with their padding, by
 * loads that fit the structure and not its members, and compiled code takes members out of them by shifts and masks.
 * So undefined bits are followed from the load along all paths, forwards, through what moves, shifts, masks and selects
 * bits, as valgrind's memcheck does while a program runs (Seward and Nethercote 2005): arithmetic, comparison, an
 * address or an atomic uses them; a store copies them, unless a shift by other than whole bytes came before: members
 * lie at bytes, and x * 2 is x << 1. The verdict on one load and one pattern of bytes is kept. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/lir/alu_aux.h"
#include "ptx/lir/matrix.h"
#include "ptx/tier0/tools.h"

enum { MOST_STATES = 1 << 16 }; /* of one walk: rather silent than slow */
enum { COMPUTED = 1 };          /* beside the number of a row, which is a multiple of LIR_ROW_ALIGN */

struct state { /* bits of a row that are undefined before an instruction */
    uint64_t key, bits;
};
struct walk {
    const struct lir_image *m;
    struct state *seen, *stack;
    uint32_t count, room, depth, stack_room;
    bool used, gave_up;
    bool compared; /* a compare-and-swap expects them */
};

/* ---- states ------------------------------------------------------------------------------------ */

static struct state *find(struct state *table, uint32_t room, uint64_t key)
{
    uint32_t k = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
    while (table[k & (room - 1)].key && table[k & (room - 1)].key != key)
        k++;
    return &table[k & (room - 1)];
}

static bool grow(struct walk *w)
{
    const uint32_t room = w->room ? 2 * w->room : 256;
    struct state *more = room <= 4 * MOST_STATES ? calloc(room, sizeof *more) : NULL;
    if (!more)
        return false;
    for (uint32_t k = 0; k < w->room; k++)
        if (w->seen[k].key)
            *find(more, room, w->seen[k].key) = w->seen[k];
    free(w->seen);
    w->seen = more;
    w->room = room;
    return true;
}

/* Every step distributes over unions of bits, so that only those that are new here go on. */
static void push(struct walk *w, uint32_t pc, uint32_t row, uint64_t bits)
{
    if (!bits || row < LIR_ROW_MAX || pc >= w->m->code.count || w->gave_up)
        return;
    if (2 * w->count >= w->room && !grow(w)) {
        w->gave_up = true;
        return;
    }
    const uint64_t key = ((uint64_t)pc << 32 | row) + 1;
    struct state *s = find(w->seen, w->room, key);
    w->count += !s->key;
    s->key = key;
    bits &= ~s->bits;
    if (!bits)
        return;
    s->bits |= bits;
    if (w->depth == w->stack_room) {
        const uint32_t room = w->stack_room ? 2 * w->stack_room : 64;
        struct state *more = realloc(w->stack, room * sizeof *more);
        if (!more) {
            w->gave_up = true;
            return;
        }
        w->stack = more;
        w->stack_room = room;
    }
    w->stack[w->depth++] = (struct state){key, bits};
}

/* ---- what an instruction makes of undefined bits ------------------------------------------------- */

static bool constant(const struct walk *w, uint32_t row, uint64_t *value)
{
    const struct lir_row *r = LIR_AT(w->m, rows, struct lir_row);
    for (uint32_t k = 0; k < w->m->rows.count; k++)
        if (r[k].offset == row && r[k].kind == LIR_ROW_IMM) {
            *value = r[k].value;
            return true;
        }
    return false;
}

static uint64_t low(unsigned n) { return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX; }

/* Bits as of a number of n bits whose sign is repeated above them. */
static uint64_t extend(uint64_t bits, unsigned n, bool is_signed)
{
    bits &= low(n);
    return is_signed && bits >> (n - 1) ? bits | ~low(n) : bits;
}

static uint64_t shift(const struct walk *w, const struct lir_insn *i, uint64_t bits, unsigned n, bool left, bool sign)
{
    uint64_t by;
    if (!constant(w, i->b, &by))
        return low(n);
    by = (uint32_t)by;
    bits = extend(bits, n, sign);
    if (by >= n)
        return sign && bits >> (n - 1) ? low(n) : 0;
    return (left ? bits << by : sign ? (uint64_t)((int64_t)bits >> by) : bits >> by) & low(n);
}

/* shf: of the 64 bits b:a. */
static uint64_t funnel(const struct walk *w, const struct lir_insn *i, uint64_t bits, bool high, bool left)
{
    uint64_t by;
    if (!constant(w, i->c, &by))
        return low(32);
    by = i->aux ? by & 31 : (uint32_t)by < 32 ? (uint32_t)by : 32;
    bits = high ? bits << 32 : bits & low(32);
    return left ? bits << by >> 32 : bits >> by & low(32);
}

static uint64_t permute(const struct walk *w, const struct lir_insn *i, uint64_t bits, bool second)
{
    uint64_t by, d = 0;
    if (i->aux || !constant(w, i->c, &by))
        return low(32);
    bits = second ? bits << 32 : bits & low(32);
    for (unsigned k = 0; k < 4; k++) {
        const unsigned what = by >> 4 * k & 15;
        const uint64_t byte = bits >> 8 * (what & 7) & 0xff;
        d |= (what & 8 ? (byte >> 7) * 0xff : byte) << 8 * k;
    }
    return d;
}

static uint64_t field(const struct walk *w, const struct lir_insn *i, uint64_t bits, unsigned n, bool sign)
{
    uint64_t at, count;
    if (!constant(w, i->b, &at) || !constant(w, i->c, &count))
        return low(n);
    at &= 0xff;
    count &= 0xff;
    if (!count)
        return 0;
    if (at >= n || at + count > n)
        return low(n); /* beyond the end the sign comes in */
    return extend(bits >> at, (unsigned)count, sign) & low(n);
}

static uint64_t insert(const struct walk *w, const struct lir_insn *i, uint64_t bits, unsigned n, bool into)
{
    uint64_t at, count;
    if (!constant(w, i->c, &at) || !constant(w, i->e, &count) || (at & 0xff) >= n)
        return low(n);
    const uint64_t mask = low(count & 0xff) << (at & 0xff) & low(n);
    return into ? bits & ~mask : bits << (at & 0xff) & mask;
}

/* lop3: bits whose value matters for the table, given the other two sources where they are constant. */
static uint64_t table3(const struct walk *w, const struct lir_insn *i, uint64_t bits, unsigned source)
{
    const uint32_t row[3] = {i->a, i->b, i->c};
    uint64_t value[3], d = 0;
    bool known[3];
    for (unsigned k = 0; k < 3; k++)
        known[k] = k != source && constant(w, row[k], &value[k]);
    for (unsigned bit = 0; bit < 32; bit++)
        for (unsigned x = 0; x < 8 && bits >> bit & 1; x++) {
            bool fits = true;
            for (unsigned k = 0; k < 3; k++)
                fits = fits && !(known[k] && (value[k] >> bit & 1) != (x >> (2 - k) & 1));
            if (fits && ((unsigned)i->imm >> x ^ (unsigned)i->imm >> (x ^ 4u >> source)) & 1)
                d |= (uint64_t)1 << bit;
        }
    return d;
}

/* Integer conversions, in the order of LIR_BY_INT. */
static bool convert(const struct lir_insn *i, uint64_t bits, uint64_t *d)
{
    static const struct {
        uint8_t bits, sign;
    } from[] = {{8, 0}, {8, 1}, {16, 0}, {32, 0}, {64, 0}, {16, 1}, {32, 1}, {64, 1}};
    const bool wide = i->op >= LIR_CVT_I64_U8 && i->op <= LIR_CVT_I64_S64;
    if (!wide && !(i->op >= LIR_CVT_I32_U8 && i->op <= LIR_CVT_I32_S64))
        return false;
    const unsigned k = i->op - (wide ? LIR_CVT_I64_U8 : LIR_CVT_I32_U8);
    bits = extend(bits, from[k].bits, from[k].sign);
    if (bits && i->aux & LIR_SAT)
        return false;
    *d = wide ? bits : bits & low(8u << (i->aux >> LIR_CVT_DST_SHIFT & 3));
    return true;
}

/* Whether it shifts by other than whole bytes. */
static bool computes(const struct walk *w, const struct lir_insn *i)
{
    uint64_t by;
    switch (i->op) {
    case LIR_SHL_B16:
    case LIR_SHL_B32:
    case LIR_SHL_B64:
    case LIR_SHR_U16:
    case LIR_SHR_U32:
    case LIR_SHR_U64:
    case LIR_SHR_S16:
    case LIR_SHR_S32:
    case LIR_SHR_S64: return !constant(w, i->b, &by) || by % 8;
    default: return false;
    }
}

/* Bits of d that source number `source` (a b c e) decides; false: they are used, in a way that is not followed. */
static bool pass(const struct walk *w, const struct lir_insn *i, unsigned source, uint64_t bits, uint64_t *d)
{
    const uint32_t other = source ? i->a : i->b;
    uint64_t value;
    *d = bits;
    switch (i->op) {
    case LIR_MOV_B16:
    case LIR_MOV_B32:
    case LIR_MOV_B64:
    case LIR_NOT_B16:
    case LIR_NOT_B32:
    case LIR_NOT_B64:
    case LIR_XOR_B32:
    case LIR_XOR_B64: return true;
    case LIR_AND_B32:
    case LIR_AND_B64: *d = constant(w, other, &value) ? bits & value : bits; return true;
    case LIR_OR_B32:
    case LIR_OR_B64: *d = constant(w, other, &value) ? bits & ~value : bits; return true;
    case LIR_LOP3_B32: *d = table3(w, i, bits, source); return true;
    case LIR_SHL_B16: *d = shift(w, i, bits, 16, true, false); return source == 0;
    case LIR_SHL_B32: *d = shift(w, i, bits, 32, true, false); return source == 0;
    case LIR_SHL_B64: *d = shift(w, i, bits, 64, true, false); return source == 0;
    case LIR_SHR_U16: *d = shift(w, i, bits, 16, false, false); return source == 0;
    case LIR_SHR_U32: *d = shift(w, i, bits, 32, false, false); return source == 0;
    case LIR_SHR_U64: *d = shift(w, i, bits, 64, false, false); return source == 0;
    case LIR_SHR_S16: *d = shift(w, i, bits, 16, false, true); return source == 0;
    case LIR_SHR_S32: *d = shift(w, i, bits, 32, false, true); return source == 0;
    case LIR_SHR_S64: *d = shift(w, i, bits, 64, false, true); return source == 0;
    case LIR_SHF_L_B32: *d = funnel(w, i, bits, source == 1, true); return source < 2;
    case LIR_SHF_R_B32: *d = funnel(w, i, bits, source == 1, false); return source < 2;
    case LIR_PRMT_B32: *d = permute(w, i, bits, source == 1); return source < 2;
    case LIR_BFE_U32: *d = field(w, i, bits, 32, false); return source == 0;
    case LIR_BFE_S32: *d = field(w, i, bits, 32, true); return source == 0;
    case LIR_BFE_U64: *d = field(w, i, bits, 64, false); return source == 0;
    case LIR_BFE_S64: *d = field(w, i, bits, 64, true); return source == 0;
    case LIR_BFI_B32: *d = insert(w, i, bits, 32, source == 1); return source < 2;
    case LIR_BFI_B64: *d = insert(w, i, bits, 64, source == 1); return source < 2;
    case LIR_PACK2_B16: *d = (bits & 0xff) << 8 * source; return true;
    case LIR_PACK4_B32: *d = (bits & 0xff) << 8 * source; return true;
    case LIR_PACK2_B32: *d = (bits & 0xffff) << 16 * source; return true;
    case LIR_PACK4_B64: *d = (bits & 0xffff) << 16 * source; return true;
    case LIR_PACK2_B64: *d = (bits & low(32)) << 32 * source; return true;
    case LIR_SELP_B32:
    case LIR_SELP_B64:
    case LIR_SLCT_B32_S32:
    case LIR_SLCT_B64_S32:
    case LIR_SLCT_B32_F32:
    case LIR_SLCT_B64_F32: return source < 2;
    case LIR_SHFL: return source == 0;
    default: return convert(i, bits, d);
    }
}

/* Elements that an UNPACK takes apart, and their bits; 0: it is another operation. */
static unsigned unpacks(uint16_t op, unsigned *bits)
{
    *bits = op == LIR_UNPACK2_B16 || op == LIR_UNPACK4_B32 ? 8 : op == LIR_UNPACK2_B64 ? 32 : 16;
    return op == LIR_UNPACK2_B16 || op == LIR_UNPACK2_B32 || op == LIR_UNPACK2_B64 ? 2
           : op == LIR_UNPACK4_B32 || op == LIR_UNPACK4_B64                        ? 4
                                                                                   : 0;
}

/* Whether a matrix or a tile has the row: what becomes of it there is not followed. */
static bool in_record(const struct walk *w, const struct lir_insn *i, uint32_t row)
{
    const uint32_t *rows = LIR_AT(w->m, operands, uint32_t);
    uint32_t n;
    if (i->op == LIR_TILE || i->op == LIR_WGMMA || i->op == LIR_TCMMA) {
        const struct lir_tile *t = LIR_AT(w->m, tiles, struct lir_tile) + i->imm;
        rows += t->first;
        n = t->nrow;
    } else {
        const struct lir_matrix *x = LIR_AT(w->m, matrices, struct lir_matrix) + i->imm;
        rows += x->first;
        n = lir_mx_regs(x);
    }
    for (uint32_t k = 0; k < n; k++)
        if (rows[k] == row)
            return true;
    return false;
}

/* Operands by what an operation does with them: a bit each of d a b c e. */
enum { D = 1, OF_A = 2, OF_B = 4, OF_C = 8, OF_E = 16, DATA = D | OF_B | OF_C | OF_E };
struct roles {
    uint8_t writes, copies, uses;
};
static struct roles roles_of(const struct lir_insn *i)
{
    unsigned bits;
    if (unpacks(i->op, &bits))
        return (struct roles){DATA, 0, 0}; /* a: see below */
    switch (i->op) {
    case LIR_LDG_8:
    case LIR_LDG_16:
    case LIR_LDG_32:
    case LIR_LDG_64:
    case LIR_LDS_8:
    case LIR_LDS_16:
    case LIR_LDS_32:
    case LIR_LDS_64: return (struct roles){D, 0, OF_A};
    case LIR_LD_ANY:
    case LIR_LDMATRIX:
    case LIR_TEX:
    case LIR_SULD: return (struct roles){DATA, 0, OF_A};
    case LIR_STG_8:
    case LIR_STG_16:
    case LIR_STG_32:
    case LIR_STG_64:
    case LIR_STS_8:
    case LIR_STS_16:
    case LIR_STS_32:
    case LIR_STS_64:
    case LIR_ST_ANY:
    case LIR_STMATRIX:
    case LIR_SUST: return (struct roles){0, DATA, OF_A};
    case LIR_LD_KPARAM:
    case LIR_LANE_LD: return (struct roles){D, 0, 0};
    case LIR_LANE_ST: return (struct roles){0, D, 0};
    case LIR_MATCH: return (struct roles){D | OF_B, 0, OF_A | OF_E};
    case LIR_TEX_ARGS:
    case LIR_BULK: return (struct roles){0, 0, DATA | OF_A};
    case LIR_SURED: return (struct roles){0, 0, DATA | OF_A};
    case LIR_CP_ASYNC:
    case LIR_WMMA_LD:
    case LIR_WMMA_ST: return (struct roles){0, 0, OF_A | OF_B | OF_C};
    case LIR_JOIN:
    case LIR_BRA:
    case LIR_CALL:
    case LIR_MMA:
    case LIR_WGMMA:
    case LIR_TCMMA:
    case LIR_TILE: return (struct roles){0, 0, 0};
    case LIR_ATOM: return (struct roles){i->aux & LIR_ATOM_NORET ? 0 : D, 0, OF_A | OF_B | OF_C};
    default:
        /* comparisons have a second result in e */
        if (i->op >= LIR_SETP_U16 && i->op < LIR_SELP_B32)
            return (struct roles){D | OF_E, 0, OF_A | OF_B | OF_C};
        return (struct roles){D, 0, OF_A | OF_B | OF_C | OF_E};
    }
}

/* Stores to where others see what is stored: no spills. */
static bool stores_away(const struct walk *w, const struct lir_insn *i)
{
    return (i->op >= LIR_STG_8 && i->op <= LIR_STG_64) ||
           (i->op == LIR_ST_ANY && !(i->aux & LIR_MEM_SHARED) && strncmp(lir_text(w->m, i), "st.local", 8) != 0);
}

/* Undefined bits of a row before an instruction: where they are behind it. */
static void step(struct walk *w, uint32_t pc, uint32_t row, uint32_t computed, uint64_t bits)
{
    const struct lir_insn *code = LIR_AT(w->m, code, struct lir_insn), *i = &code[pc];
    const uint32_t operand[] = {i->d, i->a, i->b, i->c, i->e};
    const struct roles r = roles_of(i);
    const bool guarded = pc && code[pc - 1].op == LIR_GUARD;
    const bool tiles = i->op == LIR_MMA || i->op == LIR_WGMMA || i->op == LIR_TCMMA || i->op == LIR_TILE ||
                       i->op == LIR_WMMA_LD || i->op == LIR_WMMA_ST;
    unsigned width;
    const unsigned parts = unpacks(i->op, &width);
    bool goes_on = !(tiles && in_record(w, i, row));
    if (parts && row == i->a) {
        const uint32_t to[] = {i->d, i->e, i->b, i->c};
        for (unsigned k = 0; k < parts; k++)
            push(w, pc + 1, to[k] | computed, bits >> k * width & low(width));
    }
    for (unsigned k = 0; k < 5; k++) {
        uint64_t d;
        if (operand[k] != row)
            continue;
        w->compared |= i->op == LIR_ATOM && (i->aux & LIR_ATOM_OP) == PTX_SUB_CAS && k == 2;
        if (r.uses >> k & 1) {
            if (k && pass(w, i, k - 1, bits, &d))
                push(w, pc + 1, i->d | computed | (computes(w, i) ? COMPUTED : 0), d);
            else
                w->used = true;
        }
        if (r.writes >> k & 1 && !guarded)
            goes_on = false;
        w->used |= computed && r.copies >> k & 1 && stores_away(w, i);
    }
    if (!goes_on || i->op == LIR_RET || i->op == LIR_EXIT || i->op == LIR_TRAP)
        return;
    if (i->op != LIR_BRA && i->op != LIR_BRX)
        push(w, pc + 1, row | computed, bits);
    if (i->op == LIR_BRA || i->op == LIR_BRP)
        push(w, (uint32_t)i->imm, row | computed, bits);
    if (i->op == LIR_BRX) {
        const struct lir_table *t = LIR_AT(w->m, tables, struct lir_table) + i->imm;
        for (uint32_t k = 0; k < t->count; k++)
            push(w, LIR_AT(w->m, targets, uint32_t)[t->first + k], row | computed, bits);
    }
}

/* ---- loads ---------------------------------------------------------------------------------------- */

/* Rows of a load and their undefined bits, of the undefined bytes of its access. False: it is no load. */
static bool begin(struct walk *w, uint32_t pc, uint32_t bytes)
{
    const struct lir_insn *i = LIR_AT(w->m, code, struct lir_insn) + pc;
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    unsigned size, n = 1;
    bool sign = false;
    if (i->op >= LIR_LDG_8 && i->op <= LIR_LDG_64) {
        size = 1u << (i->op - LIR_LDG_8);
    } else if (i->op == LIR_LD_ANY) {
        size = 1u << (i->aux & LIR_MEM_LOG2_SIZE);
        n = 1u << (i->aux >> LIR_MEM_VEC_SHIFT & 3);
        sign = i->aux & LIR_MEM_SIGNED;
    } else {
        return false;
    }
    for (unsigned k = 0; k < n && k < 4; k++) {
        uint64_t bits = 0;
        for (unsigned b = 0; b < size && b < 8; b++)
            if (bytes >> (k * size + b) & 1)
                bits |= (uint64_t)0xff << 8 * b;
        push(w, pc + 1, row[k], size < 8 ? extend(bits, 8 * size, sign) : bits);
        for (unsigned b = 8; b < size; b++) /* of 16 bytes: a second row */
            if (bytes >> (k * size + b) & 1)
                push(w, pc + 1, row[k] + 256, (uint64_t)0xff << 8 * (b - 8));
    }
    return true;
}

/* Until *found, a member of w, or to the end. */
static bool follow(struct walk *w, uint32_t pc, uint32_t bytes, const bool *found)
{
    begin(w, pc, bytes);
    while (w->depth && !*found && !w->gave_up) {
        const struct state s = w->stack[--w->depth];
        const uint32_t row = (uint32_t)(s.key - 1);
        step(w, (uint32_t)((s.key - 1) >> 32), row & ~(uint32_t)COMPUTED, row & COMPUTED, s.bits);
    }
    free(w->seen);
    free(w->stack);
    return *found;
}

static bool uses(const struct lir_image *m, uint32_t pc, uint32_t bytes)
{
    struct walk w = {.m = m};
    return follow(&w, pc, bytes, &w.used);
}

/* The first load of a loop around a compare-and-swap is a plain one in CUDA's own examples. */
bool t0_load_is_compared(const struct lir_image *m, uint32_t pc)
{
    struct walk w = {.m = m};
    return follow(&w, pc, UINT32_MAX, &w.compared);
}

/* Verdicts of a module; the longer its list, the older its first. */
struct t0_verdicts {
    pthread_mutex_t lock;
    uint32_t count, next;
    struct {
        uint32_t pc, bytes;
        bool uses;
    } verdict[64];
};

void t0_verdicts_free(struct t0_verdicts *v)
{
    if (v)
        pthread_mutex_destroy(&v->lock);
    free(v);
}

static struct t0_verdicts *verdicts_of(struct t0_module *m)
{
    struct t0_verdicts *v = atomic_load(&m->verdicts), *none = NULL;
    if (v || !(v = calloc(1, sizeof *v)))
        return v;
    pthread_mutex_init(&v->lock, NULL);
    if (atomic_compare_exchange_strong(&m->verdicts, &none, v))
        return v;
    t0_verdicts_free(v);
    return none;
}

static bool remembered_uses(struct t0_module *m, uint32_t pc, uint32_t bytes)
{
    struct t0_verdicts *v = verdicts_of(m);
    if (!v)
        return false;
    pthread_mutex_lock(&v->lock);
    uint32_t k = 0;
    while (k < v->count && !(v->verdict[k].pc == pc && v->verdict[k].bytes == bytes))
        k++;
    if (k == v->count) {
        const uint32_t most = sizeof v->verdict / sizeof *v->verdict;
        k = v->count < most ? v->count++ : v->next++ % most;
        v->verdict[k].pc = pc;
        v->verdict[k].bytes = bytes;
        v->verdict[k].uses = uses(m->image, pc, bytes);
    }
    const bool found = v->verdict[k].uses;
    pthread_mutex_unlock(&v->lock);
    return found;
}

static bool is_load(uint16_t op) { return (op >= LIR_LDG_8 && op <= LIR_LDG_64) || op == LIR_LD_ANY; }
static bool is_copy(uint16_t op) { return op == LIR_CP_ASYNC || op == LIR_BULK || op == LIR_TILE; }

bool t0_undefined_matters(const struct t0_watch *watch, const struct t0_kernel *k, uint32_t pc, uint64_t address,
                          uint32_t size)
{
    const uint16_t op = LIR_AT(k->module->image, code, struct lir_insn)[pc].op;
    bool alone = false;
    /* Padding of 16 bytes at once: of next to no structure. Copies are of such pieces. */
    const uint32_t piece = is_copy(op) && size >= 16 ? 16 : T0_UNDEFINED_PIECE;
    const uint32_t bytes = watch->undefined(watch->ctx, address, size, piece, &alone);
    if (alone || !(is_load(op) || is_copy(op)))
        return true;
    return is_load(op) && size <= 32 && remembered_uses(k->module, pc, bytes);
}

bool t0_undefined_matters_in(const struct t0_watch *watch, const struct t0_kernel *k, uint32_t line, uint64_t address,
                             uint32_t size)
{
    const struct lir_image *m = k->module->image;
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    const struct lir_line *lines = LIR_AT(m, lines, struct lir_line);
    bool any = false;
    for (uint32_t pc = 0; pc < m->code.count; pc++) {
        if (lines[pc].line != line || !(is_load(code[pc].op) || is_copy(code[pc].op)))
            continue;
        any = true;
        if (t0_undefined_matters(watch, k, pc, address, size))
            return true;
    }
    return !any;
}
