/* Tier 0 execution: matrices between memory and the registers of a warp, and movmatrix. */
#include "ptx/tier0/tools.h"
#include "ptx/lir/matrix.h"

#include <string.h>

static uint64_t address_of(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    return i->aux & LIR_MEM_ADDR32 ? T0_U32(w, i->a)[lane] : T0_U64(w, i->a)[lane];
}

static uint8_t *reach(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t a, unsigned size)
{
    const struct t0_part part = {.address = a,
                                 .size = size,
                                 .kind = i->op == LIR_WMMA_ST ? T0_WRITES : T0_READS,
                                 .shared = (i->aux & LIR_MEM_SHARED) != 0};
    if (i->op != LIR_LDMATRIX && i->op != LIR_STMATRIX && !t0_watch_piece(w, i, lane, &part))
        t0_raise(w, i, T0_FAULT_ADDRESS, lane, a); /* the warp has no matrix then */
    if (!(i->aux & LIR_MEM_SHARED))
        return (uint8_t *)(uintptr_t)a;
    if (a + size > w->shared_size || a + size < a)
        t0_raise(w, i, T0_FAULT_SHARED, lane, a);
    return w->shared + a;
}

/* A tile as it lies in a register of all lanes: 8 rows of four lanes, words in lane order. */
union tile {
    uint8_t packed[8 * 32]; /* rows of 16 bytes, of 32 for f64 */
    uint32_t word[LIR_LANES];
    uint64_t wide[LIR_LANES];
};

static void put_tile(struct t0_warp *w, uint32_t row, const union tile *t, bool wide)
{
    T0_FOR_LANES(l, w->l.mask)
    if (wide)
        T0_U64(w, row)[l] = t->wide[l];
    else
        T0_U32(w, row)[l] = t->word[l];
}

/* What every lane says alike: where the matrix begins and how far apart its rows are. */
struct where {
    uint64_t base, stride;
    unsigned lane;
};

/* A or B: rows of a tile lie along k in memory, or k elements of all its rows do. */
static void load_factor(struct t0_warp *w, const struct lir_insn *i, const struct lir_matrix *x, const uint32_t *rows,
                        struct where at)
{
    bool is_a = x->kind == LIR_MATRIX_A, along_k = !!(x->flags & LIR_MX_COL) != is_a;
    unsigned format = is_a ? x->a : x->b, bits = lir_mx[format].bits, per = lir_mx_per(format);
    unsigned ktiles = x->k / (4 * per), line = bits == 64 ? 32 : 16, size = bits / 8;
    unsigned tiles = lir_mx_tiles(is_a ? x->m : x->n, x->k, format), n = lir_mx_regs(x);
    for (unsigned r = 0; r < tiles; r++) {
        struct lir_mx_tile t = is_a ? lir_mx_tile_a(x->m, ktiles, r) : lir_mx_tile_b(ktiles, r);
        union tile tile;
        uint8_t *to = tile.packed;
        uint64_t row = t.row * 8, k = t.col * 4 * per;
        for (unsigned g = 0; along_k && g < 8; g++) {
            uint64_t a = at.base + ((row + g) * at.stride + k) * bits / 8;
            memcpy(to + g * line, reach(w, i, at.lane, a, line), line);
        }
        for (unsigned e = 0; !along_k && e < 4 * per; e++) {
            uint64_t a = at.base + ((k + e) * at.stride + row) * size;
            const uint8_t *from = reach(w, i, at.lane, a, 8 * size);
            for (unsigned g = 0; g < 8; g++)
                memcpy(to + g * line + e * size, from + g * size, size);
        }
        for (unsigned again = r; again < n; again += tiles) /* f16 has its tiles repeated */
            put_tile(w, rows[again], &tile, bits == 64);
    }
}

/* C or D, by pairs of registers (f16: by one): rows of eight elements, two in a lane. */
static void move_sum(struct t0_warp *w, const struct lir_insn *i, const struct lir_matrix *x, const uint32_t *rows,
                     struct where at, bool store)
{
    unsigned size = lir_mx[x->c].bits / 8, pairs = x->m / 8 * (x->n / 8);
    bool col = x->flags & LIR_MX_COL;
    for (unsigned r = 0; r < pairs; r++) {
        struct lir_mx_tile t = lir_mx_tile_c(x->m, x->n, r);
        uint64_t lines = col ? t.col * 8 : t.row * 8, first = col ? t.row * 8 : t.col * 8;
        for (unsigned k = 0; k < 8; k++) { /* a line of memory: a row, or a column */
            uint64_t a = at.base + ((lines + k) * at.stride + first) * size;
            uint8_t *p = reach(w, i, at.lane, a, 8 * size);
            for (unsigned e = 0; e < 8; e++, p += size) {
                unsigned row = col ? e : k, column = col ? k : e, lane = row * 4 + column / 2;
                uint8_t *reg = size == 2   ? (uint8_t *)&T0_U32(w, rows[r])[lane] + column % 2 * 2
                               : size == 4 ? (uint8_t *)&T0_U32(w, rows[2 * r + column % 2])[lane]
                                           : (uint8_t *)&T0_U64(w, rows[2 * r + column % 2])[lane];
                if (!(w->l.mask >> lane & 1))
                    continue;
                if (store)
                    memcpy(p, reg, size);
                else
                    memcpy(reg, p, size);
            }
        }
    }
}

/* ISA: each row is aligned as the fragment of a lane is, which devices ask of up to 16 bytes (CUDA's wmma asks for a
 * leading dimension of 16 bytes, not of the fragment's 32). */
static void look_at_rows(struct t0_warp *w, const struct lir_insn *i, const struct lir_matrix *x, struct where at)
{
    const struct t0_watch *watch = w->block->grid->watch;
    const unsigned format = x->kind == LIR_MATRIX_A ? x->a : x->kind == LIR_MATRIX_B ? x->b : x->c;
    const unsigned bits = lir_mx[format].bits, bytes = lir_mx_regs(x) * (bits == 64 ? 8 : 4),
                   unit = bytes < 16 ? bytes : 16;
    if (watch && watch->tools & T0_MEMCHECK && (at.base | at.stride * bits / 8) % unit)
        t0_misaligned(w, i, at.lane,
                      &(struct t0_part){.address = at.base % unit ? at.base : at.base + at.stride * bits / 8,
                                        .size = unit,
                                        .kind = i->op == LIR_WMMA_ST ? T0_WRITES : T0_READS,
                                        .shared = (i->aux & LIR_MEM_SHARED) != 0});
}

static void transfer(struct t0_warp *w, const struct lir_insn *i, bool store)
{
    const struct lir_image *m = w->block->image;
    const struct lir_matrix *x = LIR_AT(m, matrices, struct lir_matrix) + i->imm;
    const uint32_t *rows = LIR_AT(m, operands, uint32_t) + x->first;
    struct where at = {.lane = (unsigned)__builtin_ctz(w->l.mask)};
    at.base = address_of(w, i, at.lane);
    at.stride = T0_U32(w, i->b)[at.lane];
    w->at = i;
    look_at_rows(w, i, x, at);
    if (x->kind == LIR_MATRIX_C)
        move_sum(w, i, x, rows, at, store);
    else
        load_factor(w, i, x, rows, at);
}

static void wmma_ld(struct t0_warp *w, const struct lir_insn *i) { transfer(w, i, false); }

static void wmma_st(struct t0_warp *w, const struct lir_insn *i) { transfer(w, i, true); }

/* Lanes l hold elements 2 * (l % 4) and the next of row l / 4; transposed, of that column. */
static void transpose(uint32_t out[LIR_LANES], const uint32_t in[LIR_LANES])
{
    for (unsigned l = 0; l < LIR_LANES; l++) {
        unsigned row = l % 4 * 2, col = l / 4;
        uint32_t low = in[row * 4 + col / 2] >> 16 * (col % 2) & 0xffff;
        uint32_t high = in[(row + 1) * 4 + col / 2] >> 16 * (col % 2) & 0xffff;
        out[l] = low | high << 16;
    }
}

/* Matrix q has its rows at the addresses of lanes 8q to 8q + 7, 16 bytes each. */
static uint8_t *row_at(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    uint64_t a = address_of(w, i, lane);
    a = i->aux & LIR_MEM_ADDR32 ? (uint32_t)(a + (uint32_t)i->imm) : a + (uint64_t)(int64_t)i->imm;
    if (a & 15)
        t0_raise(w, i, T0_FAULT_MISALIGNED, lane, a);
    return reach(w, i, lane, a, 16);
}

/* 16 elements of 4 or 6 bits, one behind the other, as bytes. */
static void spread(uint8_t *row, unsigned bits)
{
    uint64_t half[2];
    uint8_t out[16];
    memcpy(half, row, sizeof half);
    for (unsigned e = 0; e < 16; e++) {
        const unsigned at = e * bits;
        uint64_t v = half[at / 64] >> at % 64;
        if (at / 64 == 0 && at + bits > 64)
            v |= half[1] << (64 - at);
        out[e] = (uint8_t)(v & ((1u << bits) - 1));
    }
    memcpy(row, out, sizeof out);
}

/* Two of 8 rows are 16 rows of 16 bytes: rows become columns. */
static void transpose_bytes(uint32_t upper[LIR_LANES], uint32_t lower[LIR_LANES])
{
    uint8_t from[16][16], to[16][16];
    memcpy(from[0], upper, 128);
    memcpy(from[8], lower, 128);
    for (unsigned r = 0; r < 16; r++)
        for (unsigned c = 0; c < 16; c++)
            to[c][r] = from[r][c];
    memcpy(upper, to[0], 128);
    memcpy(lower, to[8], 128);
}

/* A matrix of 16 rows and 8 columns of bytes to its columns, one behind the other: lane l holds of rows l / 4 and that
 * plus 8 the columns 2 * (l % 4) and the next. */
static void columns_of_bytes(uint32_t words[LIR_LANES])
{
    uint8_t to[8][16];
    for (unsigned l = 0; l < LIR_LANES; l++)
        for (unsigned e = 0; e < 4; e++)
            to[l % 4 * 2 + e % 2][l / 4 + e / 2 * 8] = (uint8_t)(words[l] >> 8 * e);
    memcpy(words, to, sizeof to);
}

/* ldmatrix and stmatrix: lanes 8q to 8q + 7 give the addresses of the rows of matrix q, 16 bytes each, and lane l
 * holds the two elements l % 4 of row l / 4. Rows of lanes that are not active are left alone. */
static void matrix_rows(struct t0_warp *w, const struct lir_insn *i, bool store)
{
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    unsigned n = 1u << (i->aux & LIR_LDM_LOG2);
    uint32_t words[4][LIR_LANES] = {{0}}, turned[LIR_LANES];
    w->at = i;
    for (unsigned q = 0; q < n && q < 4; q++) {
        if (store)
            memcpy(words[q], T0_U32(w, row[q]), sizeof words[q]);
        if (store && i->aux & LIR_LDM_TRANS) {
            transpose(turned, words[q]);
            memcpy(words[q], turned, sizeof turned);
        }
        if (store && i->aux & LIR_LDM_BYTES)
            columns_of_bytes(words[q]);
        for (unsigned r = 0; r < 8; r++) {
            if (!(w->l.mask >> (8 * q + r) & 1))
                continue;
            uint8_t *p = row_at(w, i, 8 * q + r);
            if (store)
                memcpy(p, &words[q][4 * r], 16);
            else
                memcpy(&words[q][4 * r], p, 16);
            if (i->aux & (LIR_LDM_B4 | LIR_LDM_B6))
                spread((uint8_t *)&words[q][4 * r], i->aux & LIR_LDM_B4 ? 4 : 6);
        }
    }
    for (unsigned q = 0; !store && i->aux & LIR_LDM_BYTES && q + 1 < n; q += 2)
        transpose_bytes(words[q], words[q + 1]);
    for (unsigned q = 0; !store && q < n && q < 4; q++) {
        uint32_t *d = T0_U32(w, row[q]);
        const uint32_t *from = words[q];
        if (i->aux & LIR_LDM_TRANS) {
            transpose(turned, words[q]);
            from = turned;
        }
        T0_FOR_LANES(l, w->l.mask)
        d[l] = from[l];
    }
}

static void ldmatrix(struct t0_warp *w, const struct lir_insn *i) { matrix_rows(w, i, false); }

static void stmatrix(struct t0_warp *w, const struct lir_insn *i) { matrix_rows(w, i, true); }

static void movmatrix(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t out[LIR_LANES];
    transpose(out, T0_U32(w, i->a));
    T0_FOR_LANES(l, w->l.mask)
    T0_U32(w, i->d)[l] = out[l];
}

void t0_matrix_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_WMMA_LD] = wmma_ld;
    table[LIR_WMMA_ST] = wmma_st;
    table[LIR_LDMATRIX] = ldmatrix;
    table[LIR_STMATRIX] = stmatrix;
    table[LIR_MOVMATRIX] = movmatrix;
}
