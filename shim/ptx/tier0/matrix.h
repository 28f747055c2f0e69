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

#include "ptx/tier0/image.h"

enum t0_mx {
#define T0_MX(id, name, bits, product) T0_MX_##id,
#include "ptx/tier0/matrix.def"
#undef T0_MX
    T0_NMX
};
/* What is multiplied and summed: T0_BY_F32 sums in f32, in order of k, products being exact as far
 * as f32 reaches; T0_BY_F64 is a chain of fma in order of k; integers are exact. */
enum t0_mx_product { T0_BY_F32, T0_BY_F64, T0_BY_INT, T0_BY_BIT };

struct t0_mx_format {
    const char *name;
    uint8_t bits, product;
};
static const struct t0_mx_format t0_mx[T0_NMX] __attribute__((unused)) = {
#define T0_MX(id, name, bits, product) [T0_MX_##id] = {name, bits, T0_BY_##product},
#include "ptx/tier0/matrix.def"
#undef T0_MX
};

enum t0_matrix_kind { T0_MATRIX_MMA, T0_MATRIX_A, T0_MATRIX_B, T0_MATRIX_C };
enum t0_matrix_flag { /* COL: of the matrix that is loaded or stored, of A in a product */
    T0_MX_WMMA = 1, T0_MX_COL = 2, T0_MX_COL_B = 4, T0_MX_SATFINITE = 8, T0_MX_AND = 16,
    T0_MX_QUADS = 32, /* mma.m8n8k4.f16: four products, each in eight lanes */
    T0_MX_SPARSE = 64, /* half of A is there; metadata say which, see t0_mx_sparse */
    T0_MX_SELECTOR_SHIFT = 7 /* 2 bits: the lanes of four that hold the metadata */
};
enum { T0_MX_ELEMENTS = 2048, T0_MX_BYTES = 2048, T0_MX_SUMS = 256 }; /* most in one A or B; C */

/* Elements in one register, of 64 bits for f64 and else of 32. */
static inline unsigned t0_mx_per(unsigned format)
{
    return t0_mx[format].bits > 32 ? 1 : 32 / t0_mx[format].bits;
}

/* Registers that hold rows x k elements of A or k x rows of B; repeated ones not counted. */
static inline unsigned t0_mx_tiles(unsigned rows, unsigned k, unsigned format)
{
    return rows / 8 * (k / (4 * t0_mx_per(format)));
}
static inline unsigned t0_mx_regs_ab(const struct t0_matrix *x, unsigned rows, unsigned format)
{
    if (x->flags & T0_MX_QUADS)
        return 2;
    return x->flags & T0_MX_WMMA && format == T0_MX_F16 ? 8 : t0_mx_tiles(rows, x->k, format);
}
static inline unsigned t0_mx_regs_a(const struct t0_matrix *x)
{
    return x->flags & T0_MX_SPARSE ? t0_mx_tiles(x->m, x->k / 2u, x->a)
                                   : t0_mx_regs_ab(x, x->m, x->a);
}
static inline unsigned t0_mx_regs_c(const struct t0_matrix *x, unsigned format)
{
    unsigned tiles = x->flags & T0_MX_QUADS ? 4 : (unsigned)(x->m / 8 * (x->n / 8));
    return format == T0_MX_F16 ? tiles : 2 * tiles;
}
/* Registers that the record's operands are, in the order d, a, b, c. */
static inline unsigned t0_mx_regs(const struct t0_matrix *x)
{
    switch (x->kind) {
    case T0_MATRIX_A: return t0_mx_regs_ab(x, x->m, x->a);
    case T0_MATRIX_B: return t0_mx_regs_ab(x, x->n, x->b);
    case T0_MATRIX_C: return t0_mx_regs_c(x, x->c);
    default:
        return t0_mx_regs_c(x, x->d) + t0_mx_regs_a(x) + t0_mx_regs_ab(x, x->n, x->b) +
               t0_mx_regs_c(x, x->c) + !!(x->flags & T0_MX_SPARSE);
    }
}

/* A sparse A is dense in what it has: the first half of its columns. A chunk of 4 columns (2 of tf32, 8 of
 * 4-bit elements) has two elements (one of tf32, two pairs of 4-bit elements) and four bits that number
 * them, the first one's lowest. Rows g and g + 8 have theirs in the lanes of group g: in each word 4 chunks
 * of either row, or, for elements of 8 and 4 bits, 8 chunks of one row and then of the other. The
 * selector times the words that are needed is the first of the group's lanes that holds one. */
struct t0_mx_sparse {
    unsigned chunk, chunks, words; /* columns; chunks of a row; words of a group */
};
static inline struct t0_mx_sparse t0_mx_sparse(const struct t0_matrix *x)
{
    const unsigned bits = t0_mx[x->a].bits, chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    return (struct t0_mx_sparse){chunk, x->k / chunk, x->k / chunk / 4};
}

/* Tile that register r holds: rows 8 * row..., and along k or n the col-th. */
struct t0_mx_tile {
    unsigned row, col;
};
static inline struct t0_mx_tile t0_mx_tile_a(unsigned m, unsigned ktiles, unsigned r)
{
    if (m == 8)
        return (struct t0_mx_tile){0, r};
    return (struct t0_mx_tile){r / (2 * ktiles) * 2 + r % 2, r % (2 * ktiles) / 2};
}
static inline struct t0_mx_tile t0_mx_tile_b(unsigned ktiles, unsigned r)
{
    return (struct t0_mx_tile){r / ktiles, r % ktiles};
}
/* r counts pairs of neighbours */
static inline struct t0_mx_tile t0_mx_tile_c(unsigned m, unsigned n, unsigned r)
{
    unsigned across = n / 8;
    if (m == 8)
        return (struct t0_mx_tile){0, r};
    return (struct t0_mx_tile){r / (2 * across) * 2 + r % 2, r % (2 * across) / 2};
}

/* True if execution can rely on the record's sizes; says nothing about what PTX allows. */
static inline bool t0_matrix_fits(const struct t0_matrix *x)
{
    const struct t0_mx_format *a = &t0_mx[x->a % T0_NMX], *b = &t0_mx[x->b % T0_NMX];
    unsigned sum = a->product == T0_BY_F64 ? T0_MX_F64 : T0_MX_S32;
    if (x->kind > T0_MATRIX_C || x->a >= T0_NMX || x->b >= T0_NMX || x->c >= T0_NMX ||
        x->d >= T0_NMX || !x->m || x->m > 32 || x->m % 8 || (x->m % 16 && x->m != 8) || !x->n ||
        x->n > 32 || x->n % 8 || x->m * x->n > T0_MX_SUMS || !x->k || a->bits != b->bits ||
        a->product != b->product)
        return false;
    if (a->product == T0_BY_F32 ? (x->c != T0_MX_F16 && x->c != T0_MX_F32) ||
                                      (x->d != T0_MX_F16 && x->d != T0_MX_F32)
                                : x->c != sum || x->d != sum)
        return false;
    if (x->flags & T0_MX_QUADS)
        return x->m == 8 && x->n == 8 && x->k == 4 && x->a == T0_MX_F16 &&
               x->kind == T0_MATRIX_MMA && !(x->flags & T0_MX_WMMA);
    unsigned most = x->m > x->n ? x->m : x->n, step = 4 * t0_mx_per(x->a);
    if (x->flags & T0_MX_SPARSE &&
        (x->m != 16 || x->n != 8 || x->kind != T0_MATRIX_MMA || x->flags & T0_MX_WMMA ||
         a->product == T0_BY_F64 || a->product == T0_BY_BIT || x->k % (2 * step) ||
         t0_mx_sparse(x).words > 4 || (x->flags >> T0_MX_SELECTOR_SHIFT & 3) * t0_mx_sparse(x).words > 3))
        return false;
    return x->k % step == 0 && x->k <= 256 &&
           (a->product == T0_BY_BIT || most * x->k <= T0_MX_ELEMENTS) &&
           most * x->k * a->bits / 8 <= T0_MX_BYTES &&
           (x->a != T0_MX_F16 || !(x->flags & T0_MX_WMMA) ||
            (8 % t0_mx_tiles(x->m, x->k, x->a) == 0 && 8 % t0_mx_tiles(x->n, x->k, x->a) == 0));
}

#endif
