/* Tier 0 execution: matrices between memory and the registers of a warp, and movmatrix. */
#include "ptx/tier0/exec/warp.h"
#include "ptx/tier0/matrix.h"

#include <string.h>

static uint64_t address_of(struct t0_warp *w, const struct t0_insn *i, unsigned lane)
{
    return i->aux & T0_MEM_ADDR32 ? T0_U32(w, i->a)[lane] : T0_U64(w, i->a)[lane];
}

static uint8_t *reach(struct t0_warp *w, const struct t0_insn *i, unsigned lane, uint64_t a,
                      unsigned size)
{
    if (!(i->aux & T0_MEM_SHARED))
        return (uint8_t *)(uintptr_t)a;
    if (a + size > w->shared_size || a + size < a)
        t0_raise(w, i, T0_FAULT_SHARED, lane, a);
    return w->shared + a;
}

static void move(struct t0_warp *w, const struct t0_insn *i, unsigned lane, uint64_t a, void *bits,
                 unsigned size, bool store)
{
    uint8_t *p = reach(w, i, lane, a, size);
    if (store)
        memcpy(p, bits, size);
    else
        memcpy(bits, p, size);
}

/* A register of A or B: elements k.. of row `line`, side by side in memory or `stride` apart. */
static void move_factor(struct t0_warp *w, const struct t0_insn *i, const struct t0_matrix *x,
                        unsigned lane, unsigned r, uint64_t *bits)
{
    bool is_a = x->kind == T0_MATRIX_A, along_k = !!(x->flags & T0_MX_COL) != is_a;
    unsigned format = is_a ? x->a : x->b, size = t0_mx[format].bits, per = t0_mx_per(format);
    unsigned ktiles = x->k / (4 * per);
    struct t0_mx_tile t = is_a ? t0_mx_tile_a(x->m, ktiles, r) : t0_mx_tile_b(ktiles, r);
    uint64_t line = t.row * 8 + lane / 4, k = (t.col * 4 + lane % 4) * per;
    uint64_t base = address_of(w, i, lane), stride = T0_U32(w, i->b)[lane];
    if (along_k) {
        move(w, i, lane, base + (line * stride + k) * size / 8, bits, per * size / 8, false);
        return;
    }
    for (unsigned e = 0; e < per; e++) {
        uint64_t one = 0;
        move(w, i, lane, base + ((k + e) * stride + line) * (size / 8), &one, size / 8, false);
        *bits |= one << e * size;
    }
}

/* A register of C or D: one element, or two f16. */
static void move_sum(struct t0_warp *w, const struct t0_insn *i, const struct t0_matrix *x,
                     unsigned lane, unsigned r, uint64_t *bits, bool store)
{
    unsigned size = t0_mx[x->c].bits, n = size == 16 ? 2 : 1, pair = size == 16 ? r : r / 2;
    struct t0_mx_tile t = t0_mx_tile_c(x->m, x->n, pair);
    uint64_t row = t.row * 8 + lane / 4, col = t.col * 8 + lane % 4 * 2 + (n == 1 ? r % 2 : 0);
    uint64_t base = address_of(w, i, lane), stride = T0_U32(w, i->b)[lane];
    for (unsigned e = 0; e < n; e++, col++) {
        uint64_t at = x->flags & T0_MX_COL ? col * stride + row : row * stride + col;
        uint64_t one = *bits >> e * size;
        move(w, i, lane, base + at * (size / 8), &one, size / 8, store);
        if (!store)
            *bits |= one << e * size;
    }
}

static void transfer(struct t0_warp *w, const struct t0_insn *i, bool store)
{
    const struct t0_image *m = w->block->image;
    const struct t0_matrix *x = T0_AT(m, matrices, struct t0_matrix) + i->imm;
    const uint32_t *rows = T0_AT(m, operands, uint32_t) + x->first;
    unsigned format = x->kind == T0_MATRIX_A ? x->a : x->kind == T0_MATRIX_B ? x->b : x->c;
    unsigned n = t0_mx_regs(x), tiles = n;
    bool wide = format == T0_MX_F64;
    if (x->kind != T0_MATRIX_C)
        tiles = t0_mx_tiles(x->kind == T0_MATRIX_A ? x->m : x->n, x->k, format);
    w->at = i;
    T0_FOR_LANES(l, w->l.mask)
        for (unsigned r = 0; r < n; r++) { /* more registers than tiles: the tiles again */
            uint64_t bits = 0;
            if (store)
                bits = wide ? T0_U64(w, rows[r])[l] : T0_U32(w, rows[r])[l];
            if (x->kind == T0_MATRIX_C)
                move_sum(w, i, x, l, r, &bits, store);
            else
                move_factor(w, i, x, l, r % tiles, &bits);
            if (!store && wide)
                T0_U64(w, rows[r])[l] = bits;
            else if (!store)
                T0_U32(w, rows[r])[l] = (uint32_t)bits;
        }
}

static void wmma_ld(struct t0_warp *w, const struct t0_insn *i)
{
    transfer(w, i, false);
}

static void wmma_st(struct t0_warp *w, const struct t0_insn *i)
{
    transfer(w, i, true);
}

/* Lanes l hold elements 2 * (l % 4) and the next of row l / 4; transposed, of that column. */
static void transpose(uint32_t out[T0_LANES], const uint32_t in[T0_LANES])
{
    for (unsigned l = 0; l < T0_LANES; l++) {
        unsigned row = l % 4 * 2, col = l / 4;
        uint32_t low = in[row * 4 + col / 2] >> 16 * (col % 2) & 0xffff;
        uint32_t high = in[(row + 1) * 4 + col / 2] >> 16 * (col % 2) & 0xffff;
        out[l] = low | high << 16;
    }
}

/* Matrix q has its rows at the addresses of lanes 8q to 8q + 7, 16 bytes each. */
static uint8_t *row_at(struct t0_warp *w, const struct t0_insn *i, unsigned lane)
{
    uint64_t a = address_of(w, i, lane);
    a = i->aux & T0_MEM_ADDR32 ? (uint32_t)(a + (uint32_t)i->imm) : a + (uint64_t)(int64_t)i->imm;
    if (a & 15)
        t0_raise(w, i, T0_FAULT_MISALIGNED, lane, a);
    return reach(w, i, lane, a, 16);
}

static void matrix_rows(struct t0_warp *w, const struct t0_insn *i, bool store)
{
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    unsigned n = 1u << (i->aux & T0_LDM_LOG2);
    uint32_t words[4][T0_LANES] = {{0}}, turned[T0_LANES];
    w->at = i;
    for (unsigned q = 0; q < n && q < 4; q++) {
        if (store)
            memcpy(words[q], T0_U32(w, row[q]), sizeof words[q]);
        if (store && i->aux & T0_LDM_TRANS) {
            transpose(turned, words[q]);
            memcpy(words[q], turned, sizeof turned);
        }
        for (unsigned r = 0; r < 8; r++) {
            if (!(w->l.mask >> (8 * q + r) & 1))
                continue;
            uint8_t *p = row_at(w, i, 8 * q + r);
            if (store)
                memcpy(p, &words[q][4 * r], 16);
            else
                memcpy(&words[q][4 * r], p, 16);
        }
    }
    for (unsigned q = 0; !store && q < n && q < 4; q++) {
        uint32_t *d = T0_U32(w, row[q]);
        const uint32_t *from = words[q];
        if (i->aux & T0_LDM_TRANS) {
            transpose(turned, words[q]);
            from = turned;
        }
        T0_FOR_LANES(l, w->l.mask)
            d[l] = from[l];
    }
}

static void ldmatrix(struct t0_warp *w, const struct t0_insn *i)
{
    matrix_rows(w, i, false);
}

static void stmatrix(struct t0_warp *w, const struct t0_insn *i)
{
    matrix_rows(w, i, true);
}

static void movmatrix(struct t0_warp *w, const struct t0_insn *i)
{
    uint32_t out[T0_LANES];
    transpose(out, T0_U32(w, i->a));
    T0_FOR_LANES(l, w->l.mask)
        T0_U32(w, i->d)[l] = out[l];
}

void t0_matrix_handlers(t0_handler *table[T0_NOPS])
{
    table[T0_WMMA_LD] = wmma_ld;
    table[T0_WMMA_ST] = wmma_st;
    table[T0_LDMATRIX] = ldmatrix;
    table[T0_STMATRIX] = stmatrix;
    table[T0_MOVMATRIX] = movmatrix;
}
