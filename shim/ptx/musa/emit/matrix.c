/* The MUSA emitter: matrix products and fragments, through arrays that the prelude works on. */
#include "ptx/musa/emit/emit.h"
#include "ptx/lir/matrix.h"

const struct lir_matrix *mu_matrix_of(const struct mu_emit *e, const struct lir_insn *i)
{
    return LIR_AT(e->image, matrices, struct lir_matrix) + i->imm;
}

/* n rows as array `name`; in: filled from them, else written back to them. */
static void array_rows(struct mu_emit *e, const char *name, const uint32_t *rows, unsigned n, bool wide, bool in)
{
    if (in)
        mu_put(e, "u%u %s[%u];\n", wide ? 64 : 32, name, n);
    for (unsigned k = 0; k < n; k++)
        if (in)
            mu_put(e, "%s[%u] = %s;\n", name, k, mu_get(e, rows[k], wide ? 'l' : 'w').s);
        else
            mu_put(e, "%s = %s[%u];\n", mu_set(e, rows[k], wide ? 'l' : 'w').s, name, k);
}

void mu_give_sums(struct mu_emit *e, const struct lir_insn *i, const char *array)
{
    const struct lir_matrix *x = mu_matrix_of(e, i);
    const unsigned n = lir_mx_regs_c(x, x->d);
    mu_put(e, "u32 d[%u];\nproducts<%u, %u, %u, %u>::give<%u>(d, %s);\n", n, x->m, x->n, x->a, x->b, x->d, array);
    array_rows(e, "d", LIR_AT(e->image, operands, uint32_t) + x->first, n, false, false);
}

/* A product that a device may have a unit for: its sums go to an array where the unit has them, unless the product
 * before left them there, and to registers, unless nobody reads those. */
static void by_unit(struct mu_emit *e, const struct lir_matrix *x, const uint32_t *c)
{
    static const struct mu_sums alone;
    const struct mu_sums *s = e->sums ? &e->sums[e->at - LIR_AT(e->image, code, struct lir_insn)] : &alone;
    char q[16] = "q";
    if (s->array)
        snprintf(q, sizeof q, "q%u", s->array);
    else
        mu_put(e, "u32 q[%u];\n", x->m * x->n / 32u);
    if (!s->taken) {
        mu_put(e, s->flag ? "if (!h%u) {\n" : "{\n", s->flag);
        array_rows(e, "c", c, lir_mx_regs_c(x, x->c), false, true);
        mu_put(e, "products<%u, %u, %u, %u>::take<%u>(%s, c);\n}\n", x->m, x->n, x->a, x->b, x->c, q);
    }
    mu_put(e, "products<%u, %u, %u, %u>::add<%u, %u, %u, %u>(%s, a, b);\n", x->m, x->n, x->a, x->b, x->k, x->c, x->d,
           x->flags, q);
    if (!s->quiet)
        mu_give_sums(e, e->at, q);
    if (s->sets)
        mu_put(e, "h%u = true;\n", s->flag);
}

/* A matrix product: fragments into arrays, the prelude's routine for the shape or the device's own unit, the result
 * back into registers. */
static void product(struct mu_emit *e)
{
    const struct lir_matrix *x = mu_matrix_of(e, e->at);
    const uint32_t *d = LIR_AT(e->image, operands, uint32_t) + x->first;
    const uint32_t *a = d + lir_mx_regs_c(x, x->d), *b = a + lir_mx_regs_a(x);
    const uint32_t *c = b + lir_mx_regs_ab(x, x->n, x->b), *meta = c + lir_mx_regs_c(x, x->c);
    const bool wide = x->a == LIR_MX_F64, quads = x->flags & LIR_MX_QUADS, sparse = x->flags & LIR_MX_SPARSE;
    if (lir_mx_scales(x))
        mu_fail(e, "products with scales of blocks are not written for MUSA");
    if (!wide && !quads && x->k * lir_mx[x->a].bits / 32 > 16)
        mu_fail(e, "matrices with rows of more than 64 bytes");
    e->info->products |= !wide;
    mu_put(e, "{\n");
    array_rows(e, "a", a, lir_mx_regs_a(x), wide, true);
    array_rows(e, "b", b, lir_mx_regs_ab(x, x->n, x->b), wide, true);
    if (mu_by_unit(x)) {
        by_unit(e, x, c);
        mu_put(e, "}\n");
        return;
    }
    array_rows(e, "c", c, lir_mx_regs_c(x, x->c), wide, true);
    mu_put(e, "u%u d[%u];\n", wide ? 64 : 32, lir_mx_regs_c(x, x->d));
    mu_put(e, "const product x = {%u, %u, %u, %u, %u, %u, %u, %u, %u};\n", x->m, x->n, x->k, x->a, x->b, x->c, x->d,
           x->flags, x->rnd);
    if (wide || quads)
        mu_put(e, "%s(x, d, a, b, c);\n", wide ? "MMA64" : "MMA_QUADS");
    else
        mu_put(e, "MMA(x, d, a, b, c, %s);\n", sparse ? mu_get(e, meta[0], 'w').s : "0");
    array_rows(e, "d", d, lir_mx_regs_c(x, x->d), wide, false);
    mu_put(e, "}\n");
}

static struct mu_str base(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    struct mu_str a = mu_get(e, i->a, i->aux & LIR_MEM_ADDR32 ? 'w' : 'l'), r;
    snprintf(r.s, sizeof r.s, i->aux & LIR_MEM_SHARED ? "(u64)CM_S(%.50s)" : "%.60s", a.s);
    return r;
}

static void factor(struct mu_emit *e, const struct lir_matrix *x, const uint32_t *rows)
{
    const bool is_a = x->kind == LIR_MATRIX_A, along_k = !!(x->flags & LIR_MX_COL) != is_a;
    const unsigned format = is_a ? x->a : x->b, height = is_a ? x->m : x->n, tiles = lir_mx_tiles(height, x->k, format);
    const bool wide = lir_mx[format].bits == 64;
    for (unsigned r = 0; r < tiles; r++) {
        mu_put(e, "{\nconst u64 v = load_factor(at, stride, %u, %u, %u, %d, %d, %u);\n", height, x->k, format, is_a,
               along_k, r);
        for (unsigned again = r; again < lir_mx_regs(x); again += tiles)
            mu_put(e, "%s = %sv;\n", mu_set(e, rows[again], wide ? 'l' : 'w').s, wide ? "" : "(u32)");
        mu_put(e, "}\n");
    }
}

static void sums(struct mu_emit *e, const struct lir_matrix *x, const uint32_t *rows, bool store)
{
    const unsigned size = lir_mx[x->c].bits / 8, pairs = x->m / 8u * (x->n / 8u);
    const char kind = size == 8 ? 'l' : 'w';
    for (unsigned r = 0; r < pairs; r++)
        for (unsigned h = 0; h < 2; h++) {
            char at[120];
            snprintf(at, sizeof at, "flat(sum_address(at, stride, %u, %u, %u, %d, %u, %u))", x->m, x->n, size,
                     !!(x->flags & LIR_MX_COL), r, h);
            const uint32_t row = rows[size == 2 ? r : 2 * r + h];
            if (store)
                mu_put(e, "store<%u>(%s, %s >> %u);\n", size, at, mu_get(e, row, kind).s, size == 2 ? 16 * h : 0);
            else if (size == 2 && h)
                mu_put(e, "%s |= (u32)load<2>(%s) << 16;\n", mu_set(e, row, kind).s, at);
            else
                mu_put(e, "%s = %sload<%u>(%s);\n", mu_set(e, row, kind).s, kind == 'w' ? "(u32)" : "", size, at);
        }
}

static void transfer(struct mu_emit *e, bool store)
{
    const struct lir_matrix *x = mu_matrix_of(e, e->at);
    const uint32_t *rows = LIR_AT(e->image, operands, uint32_t) + x->first;
    mu_put(e, "{\nconst u64 at = %s, stride = %s;\n", base(e).s, mu_get(e, e->at->b, 'w').s);
    if (x->kind == LIR_MATRIX_C)
        sums(e, x, rows, store);
    else
        factor(e, x, rows);
    mu_put(e, "}\n");
}

static void rows_of(struct mu_emit *e, bool store)
{
    const struct lir_insn *i = e->at;
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    const bool shared = i->aux & LIR_MEM_SHARED, turned = i->aux & LIR_LDM_TRANS;
    if (i->aux & (LIR_LDM_BYTES | LIR_LDM_B4 | LIR_LDM_B6))
        mu_fail(e, "ldmatrix and stmatrix of bytes and less are not written for MUSA");
    struct mu_str a = mu_get(e, i->a, i->aux & LIR_MEM_ADDR32 ? 'w' : 'l');
    mu_put(e, shared ? "{\nconst u64 at = (u64)CM_S(%s + %uu);\n" : "{\nconst u64 at = %s + %uu;\n", a.s,
           (unsigned)i->imm);
    for (unsigned q = 0; q < 1u << (i->aux & LIR_LDM_LOG2); q++)
        if (store)
            mu_put(e, "store_matrix(at, %u, %d, %s);\n", q, turned, mu_get(e, row[q], 'w').s);
        else
            mu_put(e, "%s = load_matrix(at, %u, %d);\n", mu_set(e, row[q], 'w').s, q, turned);
    mu_put(e, "}\n");
}

bool mu_matrix(struct mu_emit *e)
{
    const unsigned op = e->at->op;
    if (op != LIR_MMA && op != LIR_WMMA_LD && op != LIR_WMMA_ST && op != LIR_LDMATRIX && op != LIR_STMATRIX &&
        op != LIR_MOVMATRIX)
        return false;
    e->parts |= MU_MATRIX;
    switch (op) {
    case LIR_MMA: product(e); break;
    case LIR_WMMA_LD:
    case LIR_WMMA_ST: transfer(e, op == LIR_WMMA_ST); break;
    case LIR_LDMATRIX:
    case LIR_STMATRIX: rows_of(e, op == LIR_STMATRIX); break;
    default: mu_put(e, "%s = MOVMATRIX(%s);\n", mu_set(e, e->at->d, 'w').s, mu_get(e, e->at->a, 'w').s);
    }
    return true;
}
