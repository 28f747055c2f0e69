/* Registers of a run of arithmetic: rows are loaded when they are first read and written back when they are live behind
 * the run. Of several that could go, the one goes that is needed last (Belady 1966). */
#include "ptx/base/lanes.h"

#include <string.h>

#include "ptx/tier0/warp.h"

static bool use_template(struct lanes *l, const struct lir_insn *i)
{
    lanes_template *const *const tables[] = {lanes_integer, lanes_logic, lanes_compare, lanes_float, lanes_convert};
    for (unsigned k = 0; k < 5; k++)
        if (tables[k][i->op])
            return tables[k][i->op](l, i);
    return false;
}

bool lanes_can(const struct lanes *l, const struct lir_insn *i)
{
    struct lanes asks = {.constant = l->constant, .value = l->value};
    return use_template(&asks, i);
}

struct x86_rm lanes_c32(struct lanes *l, uint32_t value)
{
    uint32_t all[8] = {value, value, value, value, value, value, value, value};
    return x86_c(x86_constant(l->x, all));
}

struct x86_rm lanes_c64(struct lanes *l, uint64_t value)
{
    uint64_t all[4] = {value, value, value, value};
    return x86_c(x86_constant(l->x, all));
}

bool lanes_constant(const struct lanes *l, uint32_t row, uint64_t *value)
{
    *value = l->value[row / LIR_ROW_ALIGN];
    return l->constant[row / LIR_ROW_ALIGN];
}

/* Where a part of a row lies in memory. */
static struct x86_rm home(uint32_t row, enum lanes_part part)
{
    switch (part) {
    case LANES_32: return x86_indexed(LANES_REGS, LANES_OFFSET, 0, (int32_t)row);
    case LANES_LOW: return x86_indexed(LANES_REGS, LANES_OFFSET, 1, (int32_t)row);
    case LANES_HIGH: return x86_indexed(LANES_REGS, LANES_OFFSET, 1, (int32_t)row + 32);
    default: return x86_indexed(LANES_REGS, LANES_PIECE, 0, (int32_t)row);
    }
}

enum { NEVER = 1 << 30, BEHIND = 1 << 20 };

static bool names(const uint32_t *rows, unsigned n, uint32_t row)
{
    for (unsigned k = 0; k < n; k++)
        if (rows[k] == row)
            return true;
    return false;
}

/* How many instructions on a row is read next, counted from the one under way; NEVER: its value is dead. */
static uint32_t next_use(const struct lanes *l, uint32_t row)
{
    enum { FAR = 48 }; /* beyond, it is one among the last to go */
    for (uint32_t k = l->at; k < l->nop; k++) {
        const struct lanes_op *op = &l->op[k];
        if (names(op->o.use, op->o.nuse, row) || op->guard == row)
            return k - l->at;
        if (names(op->o.def, op->o.ndef, row)) {
            if (op->guard != LIR_NONE)
                return k - l->at;
            if (k > l->at)
                return NEVER;
        }
        if (k - l->at == FAR)
            return BEHIND;
    }
    return base_live(l->live, row) ? BEHIND : NEVER;
}

/* Four lanes of 32 bits of a register, those of this half, as 64 bits each in d; what: V_PMOVSXDQ or V_PMOVZXDQ. */
static void widen_half(struct lanes *l, uint32_t what, int d, int from, enum lanes_part half)
{
    if (half == LANES_HIGH) {
        x86_vex(l->x, V_EXTRACTI128, true, from, 0, x86_r(d), 1);
        from = d;
    }
    x86_v2(l->x, what, d, x86_r(from));
}

static void write_back(struct lanes *l, int reg)
{
    struct lanes_reg *r = &l->reg[reg];
    struct x86 *x = l->x;
    const struct x86_rm at = home(r->row, (enum lanes_part)r->part);
    r->dirty = false;
    if (r->part == LANES_PRED) {
        x86_v2(x, V_MOVMSKPS, RAX, x86_r(reg));
        if (l->partial) {
            x86_movzx_byte(x, RCX, at);
            x86_op(x, false, 0x23, RAX, x86_r(LANES_ON));
            x86_op(x, false, 0x23, RCX, x86_r(LANES_OFF));
            x86_op(x, false, 0x0b, RAX, x86_r(RCX));
        }
        x86_mov_to_byte(x, at, RAX);
        return;
    }
    if (l->partial) {
        const int mask = r->part == LANES_32 ? LANES_MASK : LANES_T0;
        if (mask == LANES_T0)
            widen_half(l, V_PMOVSXDQ, mask, LANES_MASK, (enum lanes_part)r->part);
        x86_v2(x, V_MOVUPS, LANES_T1, at);
        x86_v3i(x, V_BLENDVPS, LANES_T1, LANES_T1, x86_r(reg), mask << 4);
        reg = LANES_T1;
    }
    x86_v2(x, V_MOVUPS_TO, reg, at);
}

static void drop(struct lanes_reg *r) { *r = (struct lanes_reg){.row = LIR_NONE}; }

int lanes_new(struct lanes *l)
{
    int best = -1;
    uint32_t most = 0;
    for (int k = 0; k < LANES_NREG; k++) {
        struct lanes_reg *r = &l->reg[k];
        if (r->pinned)
            continue;
        const uint32_t next = r->row == LIR_NONE ? NEVER + 1u : next_use(l, r->row);
        if (best < 0 || next > most || (next == most && l->reg[best].dirty && !r->dirty)) {
            best = k;
            most = next;
        }
    }
    if (best < 0) { /* no template asks for so many */
        l->x->failed = true;
        return 0;
    }
    if (l->reg[best].row != LIR_NONE && l->reg[best].dirty && most < NEVER)
        write_back(l, best);
    drop(&l->reg[best]);
    l->reg[best].pinned = true;
    return best;
}

static int find(const struct lanes *l, uint32_t row, enum lanes_part part)
{
    for (int k = 0; k < LANES_NREG; k++)
        if (l->reg[k].row == row && l->reg[k].part == part)
            return k;
    return -1;
}

/* Bit l of a byte as a mask of lane l; the byte is in RAX. */
static void spread_bits(struct lanes *l, int reg)
{
    static const uint32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const struct x86_rm c = x86_c(x86_constant(l->x, bits));
    x86_vex(l->x, V_MOVD, false, reg, 0, x86_r(RAX), -1);
    x86_v2(l->x, V_PBROADCASTD, reg, x86_r(reg));
    x86_v3(l->x, V_PAND, reg, reg, c);
    x86_v3(l->x, V_PCMPEQD, reg, reg, c);
}

int lanes_use(struct lanes *l, uint32_t row, enum lanes_part part)
{
    int reg = find(l, row, part);
    if (reg < 0) {
        reg = lanes_new(l);
        if (part == LANES_PRED) {
            x86_movzx_byte(l->x, RAX, home(row, part));
            spread_bits(l, reg);
        } else {
            x86_v2(l->x, V_MOVUPS, reg, home(row, part));
        }
        l->reg[reg].row = row;
        l->reg[reg].part = (uint8_t)part;
    }
    l->reg[reg].pinned = true;
    return reg;
}

struct x86_rm lanes_read(struct lanes *l, uint32_t row, enum lanes_part part)
{
    if (find(l, row, part) >= 0)
        return x86_r(lanes_use(l, row, part));
    for (uint32_t k = l->at + 1; k < l->nop && k < l->at + 8; k++) /* soon again: worth a register */
        if (names(l->op[k].o.use, l->op[k].o.nuse, row))
            return x86_r(lanes_use(l, row, part));
    return home(row, part);
}

int lanes_widen_mask(struct lanes *l, int mask, enum lanes_part half)
{
    const int d = lanes_new(l);
    widen_half(l, V_PMOVSXDQ, d, mask, half);
    return d;
}

int lanes_widened(struct lanes *l, uint32_t row, enum lanes_part half, bool is_signed)
{
    const uint32_t what = is_signed ? V_PMOVSXDQ : V_PMOVZXDQ;
    const int d = lanes_new(l);
    const int from = find(l, row, LANES_32);
    if (from >= 0)
        widen_half(l, what, d, from, half);
    else
        x86_v2(l->x, what, d, x86_indexed(LANES_REGS, LANES_OFFSET, 0, (int32_t)row + (half == LANES_HIGH ? 16 : 0)));
    return d;
}

int lanes_narrowed(struct lanes *l, int low, int high, bool upper)
{
    const int d = lanes_new(l);
    x86_v3i(l->x, V_SHUFPS, d, low, x86_r(high), upper ? 0xdd : 0x88);
    x86_vex(l->x, V_PERMQ, true, d, 0, x86_r(d), 0xd8);
    return d;
}

void lanes_set(struct lanes *l, uint32_t row, enum lanes_part part, int reg)
{
    const struct lanes_op *op = &l->op[l->at];
    if (row == LIR_SINK) /* nobody reads it, and absent operands may lie there */
        return;
    if (op->guard != LIR_NONE) {
        const int old = lanes_use(l, row, part), d = lanes_new(l);
        int mask = l->guard;
        if (part == LANES_LOW || part == LANES_HIGH)
            mask = lanes_widen_mask(l, mask, part);
        x86_v3i(l->x, V_BLENDVPS, d, op->negated ? reg : old, x86_r(op->negated ? old : reg), mask << 4);
        reg = d;
    }
    const int before = find(l, row, part);
    if (before >= 0) {
        const bool pinned = l->reg[before].pinned; /* the template may still read it */
        drop(&l->reg[before]);
        l->reg[before].pinned = pinned;
    }
    if (l->reg[reg].row != LIR_NONE) { /* it holds a source, too: a move */
        const int d = lanes_new(l);
        x86_v2(l->x, V_MOVAPS, d, x86_r(reg));
        reg = d;
    }
    l->reg[reg].row = row;
    l->reg[reg].part = (uint8_t)part;
    l->reg[reg].dirty = true;
}

/* At a piece's begin: which of its lanes run. */
static void load_mask(struct lanes *l)
{
    x86_movzx_byte(l->x, RAX, x86_indexed(LANES_WARP, LANES_PIECE, 0, (int32_t)offsetof(struct t0_warp, l.mask)));
    x86_op(l->x, false, 0x8b, LANES_ON, x86_r(RAX));
    x86_op(l->x, false, 0x8b, LANES_OFF, x86_r(RAX));
    x86_op_imm(l->x, false, 6, x86_r(LANES_OFF), 0xff); /* xor */
    spread_bits(l, LANES_MASK);
}

void lanes_write(struct lanes *l)
{
    struct x86 *x = l->x;
    const uint32_t again = x86_label(x);
    x86_op(x, false, 0x33, LANES_PIECE, x86_r(LANES_PIECE)); /* xor */
    x86_op(x, false, 0x33, LANES_OFFSET, x86_r(LANES_OFFSET));
    x86_place(x, again);
    for (int k = 0; k < LANES_NREG; k++)
        drop(&l->reg[k]);
    if (l->partial)
        load_mask(l);
    for (l->at = 0; l->at < l->nop; l->at++) {
        const uint32_t guard = l->op[l->at].guard;
        l->guard = guard != LIR_NONE ? lanes_use(l, guard, LANES_PRED) : -1;
        (void)use_template(l, l->op[l->at].i);
        for (int k = 0; k < LANES_NREG; k++)
            l->reg[k].pinned = false;
    }
    for (int k = 0; k < LANES_NREG; k++)
        if (l->reg[k].row != LIR_NONE && l->reg[k].dirty && base_live(l->live, l->reg[k].row))
            write_back(l, k);
    x86_op_imm(x, true, 0, x86_r(LANES_OFFSET), 32);
    x86_op_imm(x, true, 0, x86_r(LANES_PIECE), 1);
    x86_op_imm(x, true, 7, x86_r(LANES_PIECE), 4);
    x86_jump_if(x, X86_NE, again);
}
