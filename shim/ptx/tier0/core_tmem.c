/* Tier 0 execution: tensor memory (tcgen05): its columns given out, loads, stores, copies from shared memory, and what
 * tells an mbarrier. Everything is done when issued. */
#include "ptx/lir/tensor_map.h"
#include "ptx/tier0/tile.h"
#include "ptx/tier0/tools.h"

#include <string.h>

_Noreturn static void refuse(struct t0_warp *w, const struct lir_insn *i, const char *why)
{
    t0_raise_text(w, i, T0_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(w->l.mask), why);
}

void t0_tensor_clear(uint8_t *shared)
{
    struct t0_tensor *t = (struct t0_tensor *)(void *)(shared + T0_TENSOR_OFFSET);
    t->used = 0;
}

static unsigned units_of(struct t0_warp *w, const struct lir_insn *i, uint32_t columns)
{
    if (columns < T0_TENSOR_UNIT || columns > T0_TENSOR_COLUMNS || columns & (columns - 1))
        refuse(w, i, "columns of tensor memory: a power of two from 32 to 512");
    return columns / T0_TENSOR_UNIT;
}

/* Whether another warp of the block may give columns back: it has not ended and does not wait for this one. */
static bool others_run(const struct t0_warp *w)
{
    const struct t0_block *b = w->block;
    if (b->again) /* tier 1 */
        return b->others_run;
    for (uint32_t k = 0; k < b->nwarp; k++)
        if (&b->warp[k] != w && b->warp[k].dead != ~0u && t0_warp_can_run(&b->warp[k]))
            return true;
    return false;
}

/* The first free columns, aligned to how many they are; the predicate says whether there were any. */
static void give_columns(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    struct t0_tensor *t = t0_tensor_of(w, t0_tile_own_rank(w));
    const unsigned n = units_of(w, i, t0_tile_u32(w, x, 1, lane));
    const uint64_t to = t0_tile_address(w, x, 0, lane, x->p[0] & LIR_TILE_A32);
    uint8_t *p = x->p[0] & LIR_TILE_A_SHARED ? t0_shared_at(w, i, lane, to, 4, 4) : t0_generic_shared(w, to, 4);
    const uint32_t mask = n == 16 ? 0xffff : (1u << n) - 1;
    if (!p)
        t0_raise(w, i, T0_FAULT_SHARED, lane, to);
    for (unsigned k = 0; k + n <= 16; k += n)
        if (!(t->used >> k & mask)) {
            const uint32_t address = k * T0_TENSOR_UNIT;
            t->used |= mask << k;
            if (w->block->grid->watch)
                t0_tools_tensor_given(w, t0_tile_own_rank(w), address, n * T0_TENSOR_UNIT);
            memcpy(p, &address, 4);
            T0_PRED(w, t0_tile_row(w, x, 2)) |= w->l.mask;
            return;
        }
    T0_PRED(w, t0_tile_row(w, x, 2)) &= ~w->l.mask;
    if (!others_run(w))
        t0_raise_text(w, i, T0_FAULT_DEADLOCK, lane,
                      "tcgen05.alloc: the block has no such columns of tensor memory left, and nobody gives any back");
}

/* Whoever gives columns back comes behind all that uses them. */
static void tell_free(struct t0_warp *w, const struct lir_insn *i, unsigned lane, unsigned column, unsigned columns)
{
    struct t0_tensor_part t = {
        .rank = t0_tile_own_rank(w), .column = column, .columns = columns, .kind = T0_WRITES, .async = T0_AT_ONCE};
    for (; t.lane < T0_TENSOR_LANES; t.lane += 16)
        t0_tools_tensor(w, i, lane, &t);
}

/* Columns that nobody holds may be given back again, as CUTLASS's example 112 has it done by four warps; of what is
 * held in part, the program and this disagree. */
static void take_columns(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    struct t0_tensor *t = t0_tensor_of(w, t0_tile_own_rank(w));
    const unsigned n = units_of(w, i, t0_tile_u32(w, x, 1, lane)), at = t0_tile_u32(w, x, 0, lane) / T0_TENSOR_UNIT;
    const uint32_t mask = n == 16 ? 0xffff : (1u << n) - 1;
    const uint32_t held = at + n <= 16 ? t->used >> at & mask : 0;
    if (at + n > 16 || (held && held != mask))
        refuse(w, i, "tcgen05.dealloc of columns that were not allocated");
    if (held && w->block->grid->watch)
        tell_free(w, i, lane, at * T0_TENSOR_UNIT, n * T0_TENSOR_UNIT);
    t->used &= ~(mask << at);
}

/* Where register r of a lane lies in shape x->p[1], as the ISA's figures and CuTe's TMEM layouts have it. Packed
 * registers are of two columns each; what lies between both halves of .16x32bx2 is in columns all the same. */
static void find_cell(const struct lir_tile *x, unsigned lane, unsigned r, unsigned *row, unsigned *column)
{
    switch (x->p[1]) {
    case LIR_TM_32X32: *row = lane, *column = r; break;
    case LIR_TM_16X64: *row = lane / 4 + lane % 2 * 8, *column = 2 * r + lane / 2 % 2; break;
    case LIR_TM_16X128: *row = lane / 4 + r % 2 * 8, *column = r / 2 * 4 + lane % 4; break;
    case LIR_TM_16X256: *row = lane / 4 + r / 2 % 2 * 8, *column = r / 4 * 8 + lane % 4 * 2 + r % 2; break;
    default: *row = lane % 16, *column = r;
    }
    if (x->p[0] & LIR_TM_PACKED)
        *column *= 2;
    if (x->p[1] == LIR_TM_16X32X2 && lane / 16)
        *column += x->p[3];
}

/* Of two words the one that tcgen05.ld.red keeps; NaNs as min and max have them. */
static uint32_t better(uint32_t how, uint32_t a, uint32_t b)
{
    const bool max = how & LIR_TM_RED_MAX;
    const uint32_t type = how & LIR_TM_RED_TYPE;
    if (type == LIR_TM_RED_U32)
        return (a < b) == max ? b : a;
    if (type == LIR_TM_RED_S32)
        return ((int32_t)a < (int32_t)b) == max ? b : a;
    const uint32_t nan = 0x7fffffff;
    const bool an = (a & nan) > 0x7f800000, bn = (b & nan) > 0x7f800000;
    if (an || bn)
        return an == bn || how & LIR_TM_RED_NAN ? nan : an ? b : a;
    /* by sign and magnitude, so that -0 is below +0 */
    const int32_t ka = (int32_t)(a >> 31 ? ~(a & nan) : a), kb = (int32_t)(b >> 31 ? ~(b & nan) : b);
    return (ka < kb) == max ? b : a;
}

static void reduce(struct t0_warp *w, const struct lir_tile *x, unsigned n)
{
    uint32_t *to = T0_U32(w, t0_tile_row(w, x, 1 + n));
    const uint32_t clear = x->p[4] & LIR_TM_RED_ABS ? 0x80000000u : 0;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint32_t best = T0_U32(w, t0_tile_row(w, x, 1))[l] & ~clear;
        for (unsigned r = 1; r < n; r++)
            best = better(x->p[4], best, T0_U32(w, t0_tile_row(w, x, 1 + r))[l] & ~clear);
        to[l] = best;
    }
}

/* Where tools look at the launch: columns of a transfer, by sixteen lanes. */
static void tell_transfer(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned first,
                          unsigned at, bool store)
{
    static const uint8_t each[LIR_TM_SHAPES] = {1, 2, 2, 2, 1}; /* columns of a register */
    const bool full = x->p[1] == LIR_TM_32X32, halves = x->p[1] == LIR_TM_16X32X2;
    const unsigned lead = (unsigned)__builtin_ctz(w->l.mask), packed = x->p[0] & LIR_TM_PACKED ? 2 : 1;
    struct t0_tensor_part t = {.rank = t0_tile_own_rank(w),
                               .columns = x->p[2] * each[x->p[1]] * packed,
                               .kind = store ? T0_WRITES : T0_READS,
                               .async = store ? T0_STORING : T0_LOADING};
    for (unsigned half = 0; half < 1u + (full || halves); half++) {
        t.lane = first + (full ? 16 * half : 0);
        t.column = at + (halves && half ? x->p[3] : 0);
        t0_tools_tensor(w, i, lead, &t);
    }
}

/* Between a warp's registers and its quarter of the lanes. The bits of the address that say which quarter may be left
 * out, as the hardware ignores them: CUTLASS's example 93 and DeepGEMM (by its comment) give all warps the same one. */
static void transfer(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, bool store)
{
    const unsigned lead = (unsigned)__builtin_ctz(w->l.mask), n = x->p[2];
    const bool packed = x->p[0] & LIR_TM_PACKED;
    const uint32_t address = t0_tile_u32(w, x, 0, lead), at = address & 0xffff, quarter = w->index % 4;
    const uint32_t lane = address >> 16, first = lane < LIR_LANES ? 32 * quarter + lane : lane;
    struct t0_tensor *t = t0_tensor_of(w, t0_tile_own_rank(w));
    if (first / 32 != quarter)
        refuse(w, i, "tensor memory: lanes of another warp's quarter");
    if (w->block->grid->watch)
        tell_transfer(w, i, x, first, at, store);
    for (unsigned r = 0; r < n; r++) {
        uint32_t *reg = T0_U32(w, t0_tile_row(w, x, 1 + r));
        for (unsigned l = 0; l < LIR_LANES; l++) {
            unsigned row, column;
            find_cell(x, l, r, &row, &column);
            row += first;
            column += at;
            if (row >= T0_TENSOR_LANES || column + packed >= T0_TENSOR_COLUMNS)
                t0_raise_text(w, i, T0_FAULT_ADDRESS, lead, "address outside tensor memory");
            uint32_t *c = &t->cell[row][column];
            if (store && packed)
                c[0] = reg[l] & 0xffff, c[1] = reg[l] >> 16;
            else if (store)
                c[0] = reg[l];
            else if (w->l.mask >> l & 1)
                reg[l] = packed ? (c[0] & 0xffff) | c[1] << 16 : c[0];
        }
    }
    if (x->p[4])
        reduce(w, x, n);
}

/* ---- tcgen05.cp ---- */

/* Sixteen bytes at the place of (row, chunk) of a matrix along k without or with a swizzle. */
static const uint8_t *source(struct t0_warp *w, const struct lir_insn *i, uint64_t d, unsigned row, unsigned chunk,
                             unsigned rank)
{
    static const uint8_t swizzles[8] = {
        LIR_TMAP_PLAIN, LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B, 255, LIR_TMAP_64B, 255, LIR_TMAP_32B, 255};
    const unsigned s = swizzles[d >> 61];
    if (s == 255)
        refuse(w, i, "matrix descriptor: no such swizzle");
    const uint32_t start = (uint32_t)(d & 0x3fff) << 4, lead = (uint32_t)(d >> 16 & 0x3fff) << 4;
    const uint32_t stride = (uint32_t)(d >> 32 & 0x3fff) << 4, base = (uint32_t)(d >> 49 & 7) << 7;
    const uint32_t span = lir_tmap_span(s), pitch = span ? span : 16;
    const uint32_t along = span ? chunk * 16 % span + chunk * 16 / span * lead : chunk * lead;
    const uint32_t at = (start + row % 8 * pitch + row / 8 * stride + along) & 0x3ffff, phase = at - base;
    const uint32_t a = at ^ lir_tmap_swizzled(s, phase) ^ phase;
    if (a + 16 > w->shared_size)
        t0_raise(w, i, T0_FAULT_SHARED, (unsigned)__builtin_ctz(w->l.mask), a);
    return t0_tile_window(w, rank) + a;
}

static void copy(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    const uint32_t address = t0_tile_u32(w, x, 0, lane);
    const uint64_t d = t0_tile_u64(w, x, 1, lane);
    const unsigned shape = x->p[1], chunks = shape == LIR_TM_CP_128X256 || shape == LIR_TM_CP_4X256 ? 2 : 1;
    const unsigned own = t0_tile_own_rank(w), first = x->p[0] & LIR_TM_PAIR ? own & ~1u : own;
    const unsigned last = first + (x->p[0] & LIR_TM_PAIR && w->block->cluster->size > 1);
    for (unsigned rank = first; rank <= last; rank++) {
        struct t0_tensor *t = t0_tensor_of(w, rank);
        for (unsigned to = 0; w->block->grid->watch && to < T0_TENSOR_LANES; to += shape == LIR_TM_CP_4X256 ? 32 : 16)
            t0_tools_tensor(w, i, lane,
                            &(struct t0_tensor_part){.rank = rank,
                                                     .lane = to + (address >> 16),
                                                     .column = address & 0xffff,
                                                     .columns = 4 * chunks,
                                                     .kind = T0_WRITES,
                                                     .async = T0_MULTIPLYING});
        for (unsigned to = 0; to < T0_TENSOR_LANES; to++) {
            unsigned row = to;
            switch (shape) {
            case LIR_TM_CP_4X256:
                if (to % 32)
                    continue;
                row = to / 32;
                break;
            case LIR_TM_CP_64X128_02_13: row = to % 64; break;
            case LIR_TM_CP_64X128_01_23: row = to / 64 * 32 + to % 32; break;
            case LIR_TM_CP_32X128: row = to % 32; break;
            default: break;
            }
            for (unsigned c = 0; c < chunks; c++) {
                const unsigned at = (address & 0xffff) + 4 * c, to_lane = to + (address >> 16);
                if (to_lane >= T0_TENSOR_LANES || at + 4 > T0_TENSOR_COLUMNS)
                    t0_raise_text(w, i, T0_FAULT_ADDRESS, lane, "address outside tensor memory");
                const uint8_t *from = source(w, i, d, row, c, rank);
                if (w->block->grid->watch)
                    t0_tile_reads(w, i, lane, from);
                memcpy(&t->cell[to_lane][at], from, 16);
            }
        }
    }
}

static void commit(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    uint64_t barrier = t0_tile_address(w, x, 0, lane, x->p[0] & LIR_TILE_A32);
    /* A generic address; one of 32 bits is in shared memory, as the device looks at its low half (Triton 3.6). */
    if (!(x->p[0] & LIR_TILE_A_SHARED) && barrier >> 32) {
        const uint8_t *p = t0_generic_shared(w, barrier, 8);
        if (!p)
            t0_raise(w, i, T0_FAULT_SHARED, lane, barrier);
        const uint64_t at = (uint64_t)(p - w->block->cluster->base);
        barrier = LIR_CLUSTER_FAR | at;
    }
    if (!(x->p[0] & LIR_TM_MULTICAST)) {
        t0_barrier_arrived(w, i, lane, barrier);
        return;
    }
    T0_FOR_LANES(rank, t0_tile_u32(w, x, 1, lane) & 0xffff)
    t0_barrier_arrived(w, i, lane, t0_tile_far(rank, barrier));
}

void t0_tmem(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x)
{
    const unsigned lane = (unsigned)__builtin_ctz(w->l.mask);
    switch (x->kind) {
    case LIR_TILE_TM_ALLOC: give_columns(w, i, x, lane); break;
    case LIR_TILE_TM_DEALLOC: take_columns(w, i, x, lane); break;
    case LIR_TILE_TM_LD: transfer(w, i, x, false); break;
    case LIR_TILE_TM_ST: transfer(w, i, x, true); break;
    case LIR_TILE_TM_CP: T0_FOR_LANES(l, w->l.mask) copy(w, i, x, l); break;
    default: T0_FOR_LANES(l, w->l.mask) commit(w, i, x, l);
    }
}
