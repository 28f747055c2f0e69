/* Tier 1 emitter: matrix products by the vector routines of prelude/matrix.h, and matrices between
 * memory and registers. Factors are unpacked once a block, however many products have them. */
#include "ptx/lir/matrix.h"
#include "ptx/tier1/emit/single.h"

#include <string.h>

/* Matrices that a block of the kernel keeps in memory order, oldest given up first; registers of one. */
enum { SLOTS_A = 8, SLOTS_B = 16, SLOTS = SLOTS_A + SLOTS_B, FRAGMENT_MAX = 8, MOST_SUMS = 256 };

struct t1_fragment { /* what a slot holds */
    bool used;
    uint8_t format, m;
    uint16_t k;
    uint32_t stamp;
    int32_t value[FRAGMENT_MAX];
};

/* Formats as the prelude names them: of factors, and the routine of their products. */
static const struct {
    const char *name, *product;
    uint8_t planes; /* T1_E_name */
} formats[LIR_NMX] = {[LIR_MX_F16] = {"f16", "f16", 2},
                      [LIR_MX_BF16] = {"bf16", "bf16", 2},
                      [LIR_MX_TF32] = {"tf32", "tf32", 1},
                      [LIR_MX_S8] = {"s8", "s8", 2},
                      [LIR_MX_U8] = {"u8", "s8", 2}};

void t1_matrix_block(struct t1_emit *e)
{
    if (!e->fragment)
        e->fragment = t1_alloc(e, SLOTS, sizeof *e->fragment);
    memset(e->fragment, 0, SLOTS * sizeof *e->fragment);
    if (e->sums_busy)
        memset(e->sums_busy, 0, MOST_SUMS);
    e->held.name = NULL;
}

void t1_matrix_declare(struct t1_emit *e)
{
    static const char *const name[2] = {"mxa", "mxb"};
    for (unsigned k = 0; k < 2; k++)
        if (e->fragment_size[k])
            t1_put(e, "uint32_t %s[%u][%u] __attribute__((aligned(64)));\n", name[k], k ? SLOTS_B : SLOTS_A,
                   e->fragment_size[k]);
    memset(e->fragment_size, 0, sizeof e->fragment_size);
    if (e->sums)
        t1_put(e, "pu32 mxs[%u][8];\n", e->sums);
    e->sums = 0;
    e->sums_at = NULL;
}

/* ---- products ---- */

struct product {
    const struct t1_single *x;
    const struct lir_matrix *m;
    const uint32_t *d, *a, *b, *c;
};

static struct t1_arg register_of(struct t1_emit *e, const struct product *p, uint32_t row)
{
    struct t1_arg a = t1_single_arg(e, p->x, row);
    if (a.kind != T1_K_32)
        t1_fail(e, "fragment register of the wrong width");
    return a;
}

/* Slot with the fragment; *fresh: it has yet to be filled. */
static unsigned find_slot(struct t1_emit *e, const struct t1_fragment *want, bool is_b, bool nameless, bool *fresh)
{
    unsigned first = is_b ? SLOTS_A : 0, end = is_b ? SLOTS : SLOTS_A, oldest = first;
    for (unsigned k = first; k < end; k++) {
        struct t1_fragment *f = &e->fragment[k];
        if (!nameless && f->used && f->format == want->format && f->m == want->m && f->k == want->k &&
            !memcmp(f->value, want->value, sizeof f->value)) {
            f->stamp = ++e->fragment_clock;
            *fresh = false;
            return k - first;
        }
        if (f->stamp < e->fragment[oldest].stamp)
            oldest = k;
    }
    e->fragment[oldest] = *want;
    e->fragment[oldest].used = !nameless;
    e->fragment[oldest].stamp = ++e->fragment_clock;
    *fresh = true;
    return oldest - first;
}

static void put_pieces(struct t1_emit *e, const struct t1_arg *a)
{
    t1_put(e, "const pu32 v[] = {");
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "%s%s", k ? ", " : "", t1_piece(e, a, k));
    t1_put(e, "};\n");
}

/* Name of the array that holds A or B unpacked. */
static const char *unpack(struct t1_emit *e, const struct product *p, bool is_b)
{
    const struct lir_matrix *m = p->m;
    unsigned format = is_b ? m->b : m->a, rows = is_b ? m->n : m->m;
    const uint32_t *row = is_b ? p->b : p->a;
    unsigned tiles = lir_mx_tiles(rows, m->k, format), ktiles = m->k / (4 * lir_mx_per(format));
    unsigned planes = formats[format].planes, units = rows / 8 * e->np, groups = (units + 3) / 4;
    unsigned words = is_b ? tiles * planes * 32 : groups * ktiles * planes * 16 * e->nl;
    struct t1_fragment want = {.format = (uint8_t)format, .m = (uint8_t)rows, .k = m->k};
    bool fresh, nameless = tiles > FRAGMENT_MAX;
    for (unsigned r = 0; r < tiles && r < FRAGMENT_MAX; r++) {
        want.value[r] = t1_single_value(p->x, row[r], false);
        nameless |= want.value[r] < 0;
    }
    const char *name = t1_str(e, "%s[%u]", is_b ? "mxb" : "mxa", find_slot(e, &want, is_b, nameless, &fresh));
    if (words > e->fragment_size[is_b])
        e->fragment_size[is_b] = words;
    for (unsigned r = 0; fresh && r < tiles; r++) {
        struct t1_arg a = register_of(e, p, row[r]);
        struct lir_mx_tile t = is_b ? lir_mx_tile_b(ktiles, r) : lir_mx_tile_a(rows, ktiles, r);
        if (is_b) {
            t1_put(e, "{\n");
            put_pieces(e, &a);
            t1_put(e, "t1_mx_b_%s(%s + %u, v);\n}\n", formats[format].name, name,
                   (t.row * ktiles + t.col) * planes * 32);
        }
        for (unsigned k = 0; !is_b && k < e->np; k++) {
            unsigned u = t.row * e->np + k;
            t1_put(e, "t1_mx_a_%s((pu32 *)%s + %u, %s);\n", formats[format].name, name,
                   (u / 4 * ktiles + t.col) * planes * 16 + u % 4, t1_piece(e, &a, k));
        }
    }
    return name;
}

/* The registers of two neighbours in tile (row, col) of C or D; of f16, both are one. */
static unsigned pair_of(const struct lir_matrix *m, unsigned row, unsigned col)
{
    for (unsigned r = 0;; r++) {
        struct lir_mx_tile t = lir_mx_tile_c(m->m, m->n, r);
        if (t.row == row && t.col == col)
            return r;
    }
}

/* Unit u of C's columns 8 col, even or odd ones. */
static const char *sum_of(struct t1_emit *e, const struct product *p, unsigned u, unsigned col, bool odd)
{
    unsigned r = pair_of(p->m, u / e->np, col), k = u % e->np;
    bool f16 = p->m->c == LIR_MX_F16;
    struct t1_arg a = register_of(e, p, p->c[f16 ? r : 2 * r + odd]);
    return f16 ? t1_str(e, "t1_mx_f16(%s, %d)", t1_piece(e, &a, k), odd) : t1_piece(e, &a, k);
}

static void store_sums(struct t1_emit *e, const struct product *p, unsigned u, unsigned col, const char *c)
{
    unsigned r = pair_of(p->m, u / e->np, col), k = u % e->np;
    bool f16 = p->m->d == LIR_MX_F16;
    for (unsigned odd = 0; odd < (f16 ? 1 : 2); odd++) {
        int32_t v = t1_single_value(p->x, p->d[f16 ? r : 2 * r + odd], true);
        const char *pair = t1_str(e, "t1_mx_pair(%s[%u], %s[%u])", c, u % 4, c, 4 + u % 4);
        if (v >= 0)
            t1_def_piece(e, v, k, f16 ? pair : t1_str(e, "%s[%u]", c, 4 * odd + u % 4));
    }
}

/* ---- sums that nobody but the next product reads stay where products put them ---- */

/* The product behind, in this block, to which all sums of this one go and nowhere else; 0: there is none. */
static uint32_t next_product(const struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[e->block];
    const struct ptx_opnd *d = &e->in->dst[0];
    if (e->guarded || e->checked || e->in->ndst != 1 || d->kind != PTX_O_VEC)
        return 0;
    const int32_t *sum = f->opnd_value + d->first;
    for (unsigned k = 0; k < d->n; k++)
        if (sum[k] < 0 || !e->value[sum[k]].used || e->value[sum[k]].again || e->value[sum[k]].global)
            return 0;
    for (uint32_t i = e->at + 1; i < b->first + b->count; i++) {
        const struct ptx_instr *n = &f->instr[i];
        if (n->op == e->in->op && n->guard < 0 && n->nsrc > 2 && n->src[2].kind == PTX_O_VEC && n->src[2].n == d->n &&
            !memcmp(f->opnd_value + n->src[2].first, sum, d->n * sizeof *sum))
            return strcmp(n->opcode, e->in->opcode) ? 0 : i;
    }
    return 0;
}

/* One more than the first of n places side by side; 0: there are none. */
static uint32_t take_places(struct t1_emit *e, unsigned n)
{
    unsigned run = 0;
    if (!e->sums_busy)
        e->sums_busy = t1_alloc(e, MOST_SUMS, 1);
    if (!e->sums_at)
        e->sums_at = t1_alloc(e, e->f->ninstr, sizeof *e->sums_at);
    for (unsigned k = 0; k < MOST_SUMS; k++) {
        run = e->sums_busy[k] ? 0 : run + 1;
        if (run < n)
            continue;
        memset(e->sums_busy + k + 1 - n, 1, n);
        e->sums = k + 1 > e->sums ? k + 1 : e->sums;
        return k + 2 - n;
    }
    return 0;
}

/* A product whose sums lie in their place and stay there may wait, as only a later product reads them. With AVX-512,
 * which has registers for the sums of both, the next one that has the same A makes one call of the two; what each adds,
 * and in which order, is the same. */
static void put_held(struct t1_emit *e)
{
    if (e->held.name)
        t1_put(e, "t1_mx_%s_4_on(mxs[%u], %s, %s, %u);\n", e->held.name, e->held.at, e->held.a, e->held.b,
               e->held.ktiles);
    e->held.name = NULL;
}

static void hold(struct t1_emit *e, const char *name, unsigned at, const char *a, const char *b, unsigned ktiles)
{
    if (e->held.name && e->held.at != at && e->held.ktiles == ktiles && !strcmp(e->held.name, name) &&
        !strcmp(e->held.a, a)) {
        t1_put(e, "t1_mx_%s_4_two(mxs[%u], mxs[%u], %s, %s, %s, %u);\n", name, e->held.at, at, a, e->held.b, b, ktiles);
        e->held.name = NULL;
        return;
    }
    put_held(e);
    e->held.name = name, e->held.at = at, e->held.a = a, e->held.b = b, e->held.ktiles = ktiles;
}

/* Emits a matrix product by tiles of 8 rows and one piece of columns: operands are unpacked into memory once, in the
 * order in which the inner products of the prelude read them, and up to four tiles share one pass over b. False
 * leaves the instruction to tier 0's handler. */
static bool multiply(struct t1_emit *e, const struct t1_single *x, const struct lir_insn *i)
{
    const struct lir_matrix *m = LIR_AT(x->image, matrices, struct lir_matrix) + i->imm;
    struct product p = {.x = x, .m = m, .d = LIR_AT(x->image, operands, uint32_t) + m->first};
    if (!formats[m->a].name || !formats[m->b].name || m->flags & (LIR_MX_QUADS | LIR_MX_SATFINITE | LIR_MX_SPARSE) ||
        lir_mx_scales(m))
        return false;
    p.a = p.d + lir_mx_regs_c(m, m->d);
    p.b = p.a + lir_mx_regs_ab(m, m->m, m->a);
    p.c = p.b + lir_mx_regs_ab(m, m->n, m->b);
    e->matrices = e->deep = true;
    const char *a = unpack(e, &p, false), *b = unpack(e, &p, true);
    unsigned planes = formats[m->a].planes, ktiles = m->k / (4 * lir_mx_per(m->a)), units = m->m / 8 * e->np;
    const unsigned parts = m->n / 8u * ((units + 3) / 4);
    uint32_t next = m->c == m->d && m->d != LIR_MX_F16 ? next_product(e) : 0;
    const uint32_t in = e->sums_at ? e->sums_at[e->at] : 0, at = in ? in : next ? take_places(e, parts) : 0;
    next = at ? next : 0;
    for (unsigned part = 0; part < parts; part++) {
        const unsigned col = part / ((units + 3) / 4), first = part % ((units + 3) / 4) * 4;
        const unsigned n = units - first < 4 ? units - first : 4;
        const char *c = at ? t1_str(e, "mxs[%u]", at - 1 + part) : "c", *name = formats[m->a].product;
        const char *ua = t1_str(e, "(pu32 *)%s + %u", a, first / 4 * ktiles * planes * 16);
        const char *ub = t1_str(e, "%s + %u", b, col * ktiles * planes * 32);
        if (in && next && n == 4 && e->np == 2) {
            hold(e, name, at - 1 + part, ua, ub, ktiles);
            continue;
        }
        put_held(e);
        t1_put(e, "{\n%s", at ? "" : "pu32 c[8];\n");
        t1_put(e, "t1_mx_%s_%u%s(%s, %s, %s, %u", name, n, in ? "_on" : "", c, ua, ub, ktiles);
        for (unsigned k = 0; !in && k < 2 * n; k++)
            t1_put(e, ", %s", sum_of(e, &p, first + k % n, col, k >= n));
        t1_put(e, ");\n");
        for (unsigned u = first; !next && u < first + n; u++)
            store_sums(e, &p, u, col, c);
        t1_put(e, "}\n");
    }
    if (next)
        e->sums_at[next] = at;
    else if (at)
        memset(e->sums_busy + at - 1, 0, parts);
    for (unsigned r = 0; r < lir_mx_regs_c(m, m->d); r++) {
        int32_t v = t1_single_value(x, p.d[r], true);
        if (v >= 0)
            t1_def_done(e, v);
    }
    return true;
}

/* ---- between memory and registers ---- */

/* The address in row `row`, which an addition may have made of an operand and a number. */
static struct t1_arg address_in(struct t1_emit *e, const struct t1_single *x, uint32_t row, uint64_t *add,
                                int32_t *value)
{
    const struct lir_insn *code = LIR_AT(x->image, code, struct lir_insn);
    const struct lir_row *n = LIR_AT(x->image, rows, struct lir_row);
    for (uint32_t k = 0; k < x->image->code.count; k++) {
        if ((code[k].op != LIR_ADD_I32 && code[k].op != LIR_ADD_I64) || code[k].d != row)
            continue;
        for (uint32_t c = 0; c < x->image->rows.count; c++)
            if (n[c].offset == code[k].b)
                *add += n[c].value;
        row = code[k].a;
    }
    *value = t1_single_value(x, row, false);
    return t1_single_arg(e, x, row);
}

static void define_words(struct t1_emit *e, int32_t v, const char *array)
{
    if (v >= 0) {
        t1_def_lanes(e, v, array);
        t1_def_done(e, v);
    }
}

static void spill(struct t1_emit *e, const char *array, const struct t1_arg *a)
{
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "t1_spill_u32(%s, %u, %s);\n", array, k, t1_piece(e, a, k));
}

/* ldmatrix: a table of the rows' addresses, of which a routine makes registers. */
static void load_rows(struct t1_emit *e, const struct t1_single *x, const struct lir_insn *i, const struct t1_arg *a,
                      uint64_t imm)
{
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    const unsigned n = 1u << (i->aux & LIR_LDM_LOG2);
    t1_put(e, "{\npu32 r[%u];\n", n * e->np);
    t1_pointers(e, "p", a, i->aux & LIR_MEM_SHARED, imm, true);
    t1_put(e, "t1_mx_get%s(r, (const uint8_t *const *)p, %u);\n", i->aux & LIR_LDM_TRANS ? "_turned" : "", n);
    for (unsigned q = 0; q < n; q++) {
        const int32_t v = t1_single_value(x, row[q], true);
        for (unsigned k = 0; v >= 0 && k < e->np; k++)
            t1_def_piece(e, v, k, t1_str(e, "r[%u]", q * e->np + k));
        if (v >= 0)
            t1_def_done(e, v);
    }
    t1_put(e, "}\n");
}

/* ldmatrix and stmatrix: matrix q has its rows where lanes 8q to 8q + 7 say. */
static bool move_rows(struct t1_emit *e, const struct t1_single *x, const struct lir_insn *i, bool store)
{
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    bool shared = i->aux & LIR_MEM_SHARED, turn = i->aux & LIR_LDM_TRANS;
    uint64_t imm = (uint64_t)(int64_t)i->imm;
    int32_t value;
    struct t1_arg a = address_in(e, x, i->a, &imm, &value);
    if (a.kind == T1_K_NONE || i->aux & (LIR_LDM_BYTES | LIR_LDM_B4 | LIR_LDM_B6))
        return false;
    const char *lanes = e->mask,
               *givers = t1_str(e, "(%s & (uint32_t)0x%llxull)", lanes, (1ull << (8u << (i->aux & LIR_LDM_LOG2))) - 1);
    t1_watch(e, &a, NULL, imm, 16, (store ? T1_WATCH_WRITES : 0) | (shared ? T1_WATCH_SHARED : 0), givers);
    const bool guarded = e->guarded;
    e->mask = givers; /* what other lanes have there is no address, and is not tested for who reads it next */
    e->guarded = true;
    t1_aligned(e, &a, NULL, value, imm, 16);
    e->guarded = guarded;
    e->mask = lanes;
    e->matrices = true;
    if (!store) {
        load_rows(e, x, i, &a, imm);
        return true;
    }
    const char *p = t1_lane_pointer(e, &a, shared, imm);
    for (unsigned q = 0; q < 1u << (i->aux & LIR_LDM_LOG2); q++) {
        struct t1_arg from = t1_single_arg(e, x, row[q]);
        t1_put(e, "{\nuint32_t w[32] __attribute__((aligned(64)));\n");
        spill(e, "w", &from);
        if (turn)
            t1_put(e, "t1_mx_turn(w);\n");
        t1_put(e, "_Pragma(\"GCC unroll 1\") for (unsigned l = %u; l < %u; l++)\n", 8 * q, 8 * q + 8);
        t1_put(e, "if (%s >> l & 1) t1_copy16(%s, w + 4 * (l & 7));\n}\n", e->mask, p);
    }
    return true;
}

/* Emits wmma's load or store of an accumulator, tile by tile of 8 by 8: lanes hold two neighbours of a row each,
 * which the prelude's functions bring into and out of memory order; col turns the tile. */
static void move_sum(struct t1_emit *e, const struct t1_single *x, const struct lir_matrix *m, const uint32_t *rows,
                     bool store)
{
    unsigned size = lir_mx[m->c].bits / 8;
    bool col = m->flags & LIR_MX_COL;
    for (unsigned r = 0; r < m->m / 8u * (m->n / 8u); r++) {
        struct lir_mx_tile t = lir_mx_tile_c(m->m, m->n, r);
        unsigned line = 8 * (col ? t.col : t.row), across = 8 * (col ? t.row : t.col);
        const char *at = t1_str(e, "p + (%u * s + %u) * %u", line, across, size);
        t1_put(e, "{\nuint32_t w[2][32] __attribute__((aligned(64)));\n");
        for (unsigned odd = 0; store && odd < size / 2; odd++) {
            struct t1_arg a = t1_single_arg(e, x, rows[size == 2 ? r : 2 * r + odd]);
            spill(e, t1_str(e, "w[%u]", odd), &a);
        }
        if (size == 4) {
            t1_put(e, "t1_mx_%s_sum(w[0], w[1], %s, s * 4, %d);\n", store ? "store" : "load", at, col);
        } else {
            if (store && col)
                t1_put(e, "t1_mx_turn(w[0]);\n");
            t1_put(e, "t1_mx_%s(w[0], %s, s * 2);\n", store ? "store" : "load", at);
            if (!store && col)
                t1_put(e, "t1_mx_turn(w[0]);\n");
        }
        for (unsigned odd = 0; !store && odd < size / 2; odd++)
            define_words(e, t1_single_value(x, rows[size == 2 ? r : 2 * r + odd], true), odd ? "w[1]" : "w[0]");
        t1_put(e, "}\n");
    }
}

static void load_factor(struct t1_emit *e, const struct t1_single *x, const struct lir_matrix *m, const uint32_t *rows,
                        bool along_k)
{
    bool is_a = m->kind == LIR_MATRIX_A;
    unsigned format = is_a ? m->a : m->b, bits = lir_mx[format].bits, per = lir_mx_per(format);
    unsigned tiles = lir_mx_tiles(is_a ? m->m : m->n, m->k, format), ktiles = m->k / (4 * per);
    for (unsigned r = 0; r < tiles; r++) {
        struct lir_mx_tile t = is_a ? lir_mx_tile_a(m->m, ktiles, r) : lir_mx_tile_b(ktiles, r);
        unsigned row = t.row * 8, k = t.col * 4 * per;
        t1_put(e,
               "{\nuint32_t w[32] __attribute__((aligned(64)));\n"
               "t1_mx_load(w, p + (%u * s + %u) * %u / 8, s * %u / 8);\n",
               along_k ? row : k, along_k ? k : row, bits, bits);
        if (!along_k)
            t1_put(e, "t1_mx_turn(w);\n");
        for (unsigned again = r; again < lir_mx_regs(m); again += tiles)
            define_words(e, t1_single_value(x, rows[again], true), "w");
        t1_put(e, "}\n");
    }
}

/* wmma.load and wmma.store: the first lane says where. */
static bool transfer(struct t1_emit *e, const struct t1_single *x, const struct lir_insn *i, bool store)
{
    const struct lir_matrix *m = LIR_AT(x->image, matrices, struct lir_matrix) + i->imm;
    const uint32_t *rows = LIR_AT(x->image, operands, uint32_t) + m->first;
    bool sum = m->kind == LIR_MATRIX_C, is_a = m->kind == LIR_MATRIX_A;
    bool along_k = !!(m->flags & LIR_MX_COL) != is_a;
    unsigned bits = lir_mx[sum ? m->c : is_a ? m->a : m->b].bits;
    uint64_t imm = 0;
    int32_t value;
    struct t1_arg a = address_in(e, x, i->a, &imm, &value), s = t1_single_arg(e, x, i->b);
    if (e->watched || bits == 64 || (!sum && !along_k && bits != 16) || a.kind == T1_K_NONE || s.kind != T1_K_32)
        return false;
    e->matrices = true;
    if (e->guarded)
        t1_put(e, "if (%s) ", e->mask);
    t1_put(e, "{\nconst unsigned l = (unsigned)__builtin_ctz(%s | 0x80000000u);\n(void)l;\n", e->mask);
    const char *p = t1_lane_pointer(e, &a, i->aux & LIR_MEM_SHARED, imm), *stride = t1_lane(e, &s);
    t1_put(e, "uint8_t *const p = (uint8_t *)%s;\nconst uint64_t s = %s;\n", p, stride);
    if (sum)
        move_sum(e, x, m, rows, store);
    else
        load_factor(e, x, m, rows, along_k);
    t1_put(e, "}\n");
    return true;
}

static bool turn(struct t1_emit *e, const struct t1_single *x, const struct lir_insn *i)
{
    struct t1_arg a = t1_single_arg(e, x, i->a);
    e->matrices = true;
    t1_put(e, "uint32_t w[32] __attribute__((aligned(64)));\n");
    spill(e, "w", &a);
    t1_put(e, "t1_mx_turn(w);\n");
    define_words(e, t1_single_value(x, i->d, true), "w");
    return true;
}

bool t1_matrix(struct t1_emit *e, const struct t1_single *x)
{
    const struct lir_insn *last = LIR_AT(x->image, code, struct lir_insn) + x->image->code.count - 1;
    switch (last->op) {
    case LIR_MMA: return multiply(e, x, last);
    case LIR_LDMATRIX:
    case LIR_STMATRIX: return move_rows(e, x, last, last->op == LIR_STMATRIX);
    case LIR_WMMA_LD:
    case LIR_WMMA_ST: return !e->guarded && transfer(e, x, last, last->op == LIR_WMMA_ST);
    case LIR_MOVMATRIX: return turn(e, x, last);
    default: return false;
    }
}
