/* Tier 0, internal: how matrices lie in the registers of a warp, for lowering and execution alike.
 *
 * One rule covers the fragments of every shape but mma.m8n8k4.f16. A register of all lanes holds a
 * tile: 8 rows of A (columns of B), each in four lanes, each lane with the elements that fill its
 * register and follow one another along k. Tiles of A go two by two: both halves of 16 rows, then
 * the next step along k; tiles of B along k, then along n. C and D have two neighbours of a row in
 * a lane, as two registers, or as halves of one if they are f16. That is what the PTX ISA documents
 * for mma; the opaque fragments of wmma are put together of the same tiles, and f16 ones, which
 * have eight registers whatever the shape, repeat theirs. */
#ifndef CUMU_PTX_T0_MATRIX_H
#define CUMU_PTX_T0_MATRIX_H

#include "ptx/lir/image.h"

enum lir_mx {
#define LIR_MX(id, name, bits, product) LIR_MX_##id,
#include "ptx/lir/matrix.def"
#undef LIR_MX
    LIR_NMX
};
/* What is multiplied and summed: floats are a chain of fma in order of k, of f32 or of f64; integers are exact. */
enum lir_mx_product { LIR_BY_F32, LIR_BY_F64, LIR_BY_INT, LIR_BY_BIT };

struct lir_mx_format {
    const char *name;
    uint8_t bits, product;
};
static const struct lir_mx_format lir_mx[LIR_NMX] __attribute__((unused)) = {
#define LIR_MX(id, name, bits, product) [LIR_MX_##id] = {name, bits, LIR_BY_##product},
#include "ptx/lir/matrix.def"
#undef LIR_MX
};

enum lir_matrix_kind { LIR_MATRIX_MMA, LIR_MATRIX_A, LIR_MATRIX_B, LIR_MATRIX_C };
enum lir_matrix_flag { /* COL: of the matrix that is loaded or stored, of A in a product */
                       LIR_MX_WMMA = 1,
                       LIR_MX_COL = 2,
                       LIR_MX_COL_B = 4,
                       LIR_MX_SATFINITE = 8,
                       LIR_MX_AND = 16,
                       LIR_MX_QUADS = 32,         /* mma.m8n8k4.f16: four products, each in eight lanes */
                       LIR_MX_SPARSE = 64,        /* half of A is there; metadata say which, see lir_mx_sparse */
                       LIR_MX_SELECTOR_SHIFT = 7, /* 2 bits: the lanes of four that hold the metadata */
                       LIR_MX_SCALES_SHIFT = 9,   /* 2 bits: 0 none, else log2 of the scales along k, plus 1 */
                       LIR_MX_UE4M3 = 1 << 11     /* scales are these, else ue8m0 */
};
static inline unsigned lir_mx_scales(const struct lir_matrix *x)
{
    const unsigned n = x->flags >> LIR_MX_SCALES_SHIFT & 3;
    return n ? 1u << (n - 1) : 0;
}
enum { LIR_MX_ELEMENTS = 2048, LIR_MX_BYTES = 2048, LIR_MX_SUMS = 256 }; /* most in one A or B; C */

/* Do products of two elements fit into an f32, so that adding them afterwards is fma, too? */
static inline bool lir_mx_exact(unsigned format) { return format != LIR_MX_BF16 && format != LIR_MX_TF32; }

/* Elements in one register, of 64 bits for f64 and else of 32. */
static inline unsigned lir_mx_per(unsigned format) { return lir_mx[format].bits > 32 ? 1 : 32 / lir_mx[format].bits; }

/* Registers that hold rows x k elements of A or k x rows of B; repeated ones not counted. */
static inline unsigned lir_mx_tiles(unsigned rows, unsigned k, unsigned format)
{
    return rows / 8 * (k / (4 * lir_mx_per(format)));
}
static inline unsigned lir_mx_regs_ab(const struct lir_matrix *x, unsigned rows, unsigned format)
{
    if (x->flags & LIR_MX_QUADS)
        return 2;
    return x->flags & LIR_MX_WMMA && format == LIR_MX_F16 ? 8 : lir_mx_tiles(rows, x->k, format);
}
static inline unsigned lir_mx_regs_a(const struct lir_matrix *x)
{
    return x->flags & LIR_MX_SPARSE ? lir_mx_tiles(x->m, x->k / 2u, x->a) : lir_mx_regs_ab(x, x->m, x->a);
}
static inline unsigned lir_mx_regs_c(const struct lir_matrix *x, unsigned format)
{
    unsigned tiles = x->flags & LIR_MX_QUADS ? 4 : (unsigned)(x->m / 8 * (x->n / 8));
    return format == LIR_MX_F16 ? tiles : 2 * tiles;
}
/* Registers that the record's operands are, in the order d, a, b, c, metadata, and of A and of B scales, byte, lane. */
static inline unsigned lir_mx_regs(const struct lir_matrix *x)
{
    switch (x->kind) {
    case LIR_MATRIX_A: return lir_mx_regs_ab(x, x->m, x->a);
    case LIR_MATRIX_B: return lir_mx_regs_ab(x, x->n, x->b);
    case LIR_MATRIX_C: return lir_mx_regs_c(x, x->c);
    default:
        return lir_mx_regs_c(x, x->d) + lir_mx_regs_a(x) + lir_mx_regs_ab(x, x->n, x->b) + lir_mx_regs_c(x, x->c) +
               !!(x->flags & LIR_MX_SPARSE) + (lir_mx_scales(x) ? 6 : 0);
    }
}

/* A sparse A is dense in what it has: the first half of its columns. A chunk of 4 columns (2 of tf32, 8 of
 * 4-bit elements) has two elements (one of tf32, two pairs of 4-bit elements) and four bits that number
 * them, the first one's lowest. Rows g and g + 8 have theirs in the lanes of group g: in each word 4 chunks
 * of either row, or, for elements of 8 and 4 bits, 8 chunks of one row and then of the other. The
 * selector times the words that are needed is the first of the group's lanes that holds one. */
struct lir_mx_sparse {
    unsigned chunk, chunks, words; /* columns; chunks of a row; words of a group */
};
static inline struct lir_mx_sparse lir_mx_sparse(const struct lir_matrix *x)
{
    const unsigned bits = lir_mx[x->a].bits, chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    return (struct lir_mx_sparse){chunk, x->k / chunk, x->k / chunk / 4};
}
/* The columns of chunk c's elements, of so many bits, by its four bits of metadata; how many they are. */
static inline unsigned lir_mx_kept(unsigned bits, unsigned c, unsigned code, uint8_t column[4])
{
    const unsigned low = code & 3, high = code >> 2 & 3;
    switch (bits) {
    case 32: /* halves of an element are counted */ column[0] = (uint8_t)(2 * c + low / 2); return 1;
    case 4: /* pairs of elements are */
        for (unsigned e = 0; e < 4; e++)
            column[e] = (uint8_t)(8 * c + 2 * (e < 2 ? low : high) + e % 2);
        return 4;
    default:
        column[0] = (uint8_t)(4 * c + low);
        column[1] = (uint8_t)(4 * c + high);
        return 2;
    }
}

/* Tile that register r holds: rows 8 * row..., and along k or n the col-th. */
struct lir_mx_tile {
    unsigned row, col;
};
static inline struct lir_mx_tile lir_mx_tile_a(unsigned m, unsigned ktiles, unsigned r)
{
    if (m == 8)
        return (struct lir_mx_tile){0, r};
    return (struct lir_mx_tile){r / (2 * ktiles) * 2 + r % 2, r % (2 * ktiles) / 2};
}
static inline struct lir_mx_tile lir_mx_tile_b(unsigned ktiles, unsigned r)
{
    return (struct lir_mx_tile){r / ktiles, r % ktiles};
}
/* r counts pairs of neighbours */
static inline struct lir_mx_tile lir_mx_tile_c(unsigned m, unsigned n, unsigned r)
{
    unsigned across = n / 8;
    if (m == 8)
        return (struct lir_mx_tile){0, r};
    return (struct lir_mx_tile){r / (2 * across) * 2 + r % 2, r % (2 * across) / 2};
}

/* True if execution can rely on the record's sizes; says nothing about what PTX allows. */
static inline bool lir_matrix_fits(const struct lir_matrix *x)
{
    const struct lir_mx_format *a = &lir_mx[x->a % LIR_NMX], *b = &lir_mx[x->b % LIR_NMX];
    unsigned sum = a->product == LIR_BY_F64 ? LIR_MX_F64 : LIR_MX_S32;
    if (x->kind > LIR_MATRIX_C || x->a >= LIR_NMX || x->b >= LIR_NMX || x->c >= LIR_NMX || x->d >= LIR_NMX || !x->m ||
        x->m > 32 || x->m % 8 || (x->m % 16 && x->m != 8) || !x->n || x->n > 32 || x->n % 8 ||
        x->m * x->n > LIR_MX_SUMS || !x->k || a->bits != b->bits || a->product != b->product)
        return false;
    if (a->product == LIR_BY_F32
            ? (x->c != LIR_MX_F16 && x->c != LIR_MX_F32) || (x->d != LIR_MX_F16 && x->d != LIR_MX_F32)
            : x->c != sum || x->d != sum)
        return false;
    if (x->flags & LIR_MX_QUADS)
        return x->m == 8 && x->n == 8 && x->k == 4 && x->a == LIR_MX_F16 && x->kind == LIR_MATRIX_MMA &&
               !(x->flags & LIR_MX_WMMA);
    if (lir_mx_scales(x) && (x->kind != LIR_MATRIX_MMA || x->flags & LIR_MX_WMMA || x->m != 16 || x->n != 8 ||
                             a->product != LIR_BY_F32 || x->k % (4 * lir_mx_scales(x))))
        return false;
    unsigned most = x->m > x->n ? x->m : x->n, step = 4 * lir_mx_per(x->a);
    if (x->flags & LIR_MX_SPARSE &&
        (x->m != 16 || x->n != 8 || x->kind != LIR_MATRIX_MMA || x->flags & LIR_MX_WMMA || a->product == LIR_BY_F64 ||
         a->product == LIR_BY_BIT || x->k % (2 * step) || lir_mx_sparse(x).words > 4 ||
         (x->flags >> LIR_MX_SELECTOR_SHIFT & 3) * lir_mx_sparse(x).words > 3))
        return false;
    return x->k % step == 0 && x->k <= 256 && (a->product == LIR_BY_BIT || most * x->k <= LIR_MX_ELEMENTS) &&
           most * x->k * a->bits / 8 <= LIR_MX_BYTES &&
           (x->a != LIR_MX_F16 || !(x->flags & LIR_MX_WMMA) ||
            (8 % lir_mx_tiles(x->m, x->k, x->a) == 0 && 8 % lir_mx_tiles(x->n, x->k, x->a) == 0));
}

#endif
