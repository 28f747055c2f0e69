/* The MUSA emitter: sums of matrix products that stay where a unit has them. A unit's sums lie in other lanes than
 * PTX's, and to bring them from one place to the other takes shuffles. From one product to the next that continues it,
 * and round a loop that does nothing else with them, they stay in an array of the function; registers get them where
 * something else may read them. */
#include "ptx/musa/emit/blocks.h"

#include <string.h>

#include "ptx/lir/matrix.h"

struct plan {
    struct mu_emit *e;
    struct ptx_ctx *c;
    const struct mu_blocks *b;
    const struct lir_insn *code;
    struct mu_sums *sums;
    uint32_t *mark, stamp, nmark; /* by row: rows that are looked for have this stamp */
    uint32_t *last;               /* by block: of its list in e->exit, + 1 */
};

bool mu_by_unit(const struct lir_matrix *x)
{
    return x->a != LIR_MX_F64 && !lir_mx_scales(x) && x->m % 16 == 0 &&
           !(x->flags & (LIR_MX_QUADS | LIR_MX_SPARSE | LIR_MX_SATFINITE));
}

/* A unit for these types, as the prelude names them (product.h). */
static bool has_unit(const struct lir_matrix *x)
{
    static const bool with[LIR_NMX] = {
        [LIR_MX_F16] = true, [LIR_MX_BF16] = true, [LIR_MX_TF32] = true, [LIR_MX_S8] = true,
        [LIR_MX_U8] = true,  [LIR_MX_E4M3] = true, [LIR_MX_E5M2] = true};
    const bool tiny = (x->a == LIR_MX_E4M3 || x->a == LIR_MX_E5M2) && (x->b == LIR_MX_E4M3 || x->b == LIR_MX_E5M2);
    return mu_by_unit(x) && with[x->a] && (x->a == x->b || tiny);
}

unsigned mu_scalar_products(const void *image, bool units)
{
    const struct lir_image *of = image;
    const struct lir_insn *code = LIR_AT(of, code, struct lir_insn);
    unsigned n = 0;
    for (uint32_t k = 0; k < of->code.count; k++)
        n += code[k].op == LIR_MMA && !(units && has_unit(LIR_AT(of, matrices, struct lir_matrix) + code[k].imm));
    return n;
}

static bool is_product(const struct plan *p, uint32_t k)
{
    return p->code[k].op == LIR_MMA && mu_by_unit(mu_matrix_of(p->e, &p->code[k])) &&
           !(k > p->e->fn->entry && p->code[k - 1].op == LIR_GUARD);
}

/* Rows of D and of C, both of so many registers as their formats have. */
static const uint32_t *rows_of_d(const struct plan *p, uint32_t k, unsigned *n)
{
    const struct lir_matrix *x = mu_matrix_of(p->e, &p->code[k]);
    *n = lir_mx_regs_c(x, x->d);
    return LIR_AT(p->e->image, operands, uint32_t) + x->first;
}

static const uint32_t *rows_of_c(const struct plan *p, uint32_t k, unsigned *n)
{
    const struct lir_matrix *x = mu_matrix_of(p->e, &p->code[k]);
    *n = lir_mx_regs_c(x, x->c);
    return LIR_AT(p->e->image, operands, uint32_t) + x->first + lir_mx_regs(x) - *n;
}

/* ---- who names a register ---- */

static void look_for(struct plan *p, const uint32_t *rows, unsigned n)
{
    p->stamp++;
    for (unsigned k = 0; k < n; k++)
        p->mark[rows[k] / LIR_ROW_ALIGN] = p->stamp;
}

static bool is_marked(const struct plan *p, uint32_t row)
{
    return row / LIR_ROW_ALIGN < p->nmark && p->mark[row / LIR_ROW_ALIGN] == p->stamp;
}

/* Fields that hold no row may look like one: that costs shuffles, and nothing else. */
static bool names_marked(const struct plan *p, const struct lir_insn *i)
{
    if (is_marked(p, i->d) || is_marked(p, i->a) || is_marked(p, i->b) || is_marked(p, i->c) || is_marked(p, i->e))
        return true;
    if (i->op == LIR_SHFL)
        return is_marked(p, (uint32_t)i->imm);
    if (i->op != LIR_MMA && i->op != LIR_WMMA_LD && i->op != LIR_WMMA_ST)
        return false;
    const struct lir_matrix *x = mu_matrix_of(p->e, i);
    const uint32_t *row = LIR_AT(p->e->image, operands, uint32_t) + x->first;
    for (unsigned k = 0; k < lir_mx_regs(x); k++)
        if (is_marked(p, row[k]))
            return true;
    return false;
}

/* ---- from one product to the next ---- */

static bool is_same(const uint32_t *a, unsigned na, const uint32_t *b, unsigned nb)
{
    return na == nb && memcmp(a, b, na * sizeof *a) == 0;
}

/* Does product j continue product i: C is i's D, in the same shape and of the same types, and A and B are others? */
static bool continues(const struct plan *p, uint32_t i, uint32_t j)
{
    const struct lir_matrix *x = mu_matrix_of(p->e, &p->code[i]), *y = mu_matrix_of(p->e, &p->code[j]);
    unsigned nd, nc, nown;
    const uint32_t *d = rows_of_d(p, i, &nd), *c = rows_of_c(p, j, &nc), *own = rows_of_d(p, j, &nown);
    if (!is_product(p, j) || x->m != y->m || x->n != y->n || x->a != y->a || x->b != y->b || x->d != y->c ||
        !is_same(d, nd, c, nc))
        return false;
    for (const uint32_t *factor = own + nown; factor < c; factor++)
        if (is_marked(p, *factor))
            return false;
    return true;
}

/* The next product, if it is the first in the block to name i's sums. */
static bool find_next(struct plan *p, uint32_t i, uint32_t end, uint32_t *next)
{
    unsigned n;
    const uint32_t *d = rows_of_d(p, i, &n);
    look_for(p, d, n);
    for (uint32_t k = i + 1; k < end && p->code[k].op != LIR_CALL && p->code[k].op != LIR_SYSCALL; k++)
        if (names_marked(p, &p->code[k])) {
            *next = k;
            return p->code[k].op == LIR_MMA && continues(p, i, k);
        }
    return false;
}

/* Registers of i's sums that product j overwrites, or that nothing reads behind it. */
static bool is_private(struct plan *p, uint32_t i, uint32_t j)
{
    unsigned n, m;
    const uint32_t *d = rows_of_d(p, i, &n), *of_next = rows_of_d(p, j, &m);
    look_for(p, of_next, m);
    for (unsigned k = 0; k < n; k++)
        if (!is_marked(p, d[k]) && !mu_is_dead(p->e, p->c, p->b, j, d[k]))
            return false;
    return true;
}

static void keep_array(struct plan *p, uint32_t first)
{
    if (!p->sums[first].array) {
        p->sums[first].array = ++p->e->nsums;
        p->sums[first].first = first + 1;
    }
}

static void link_block(struct plan *p, uint32_t from, uint32_t end)
{
    for (uint32_t i = from, j; i < end; i++) {
        if (!is_product(p, i) || !find_next(p, i, end, &j))
            continue;
        keep_array(p, i);
        p->sums[i].kept = true;
        p->sums[i].quiet = is_private(p, i, j);
        p->sums[j].array = p->sums[i].array;
        p->sums[j].first = p->sums[i].first;
        p->sums[j].taken = true;
    }
}

/* ---- round a loop ---- */

/* The block that a loop's only way out leads to, where v is passed before each way out and each way round, so that
 * whoever is in the loop has come by v; -1: there is none. */
static int32_t find_exit(const struct plan *p, int32_t header, int32_t v)
{
    int32_t out = -1;
    for (uint32_t n = 0; n < p->b->count; n++) {
        const int32_t from = p->b->order[n];
        if (!mu_in_loop(p->b, header, from))
            continue;
        for (uint32_t s = p->b->g.first[from]; s < p->b->g.first[from + 1]; s++) {
            const int32_t to = p->b->g.succ[s];
            const bool leaves = !mu_in_loop(p->b, header, to);
            if (!leaves && to != header)
                continue;
            if (!mu_dominates(p->b, v, from) || (leaves && out >= 0 && out != to))
                return -1;
            out = leaves ? to : out;
        }
    }
    return out;
}

/* Do the products from `first` to `last` of a block begin and end with the same registers, which nothing else in the
 * loop names? */
static bool goes_round(struct plan *p, int32_t header, uint32_t first, uint32_t last)
{
    const struct lir_matrix *x = mu_matrix_of(p->e, &p->code[first]), *y = mu_matrix_of(p->e, &p->code[last]);
    unsigned nd, nc;
    const uint32_t *d = rows_of_d(p, last, &nd), *c = rows_of_c(p, first, &nc);
    if (x->c != y->d || !is_same(d, nd, c, nc))
        return false;
    look_for(p, d, nd);
    for (uint32_t n = 0; n < p->b->count; n++) {
        const int32_t v = p->b->order[n];
        if (!mu_in_loop(p->b, header, v))
            continue;
        for (uint32_t k = p->b->first[v]; k < p->b->first[v + 1]; k++)
            if (k != last && p->sums[k].first != first + 1 && names_marked(p, &p->code[k]))
                return false;
    }
    return true;
}

/* Sums of the block's products that go round its loop: they are taken when the first round comes by, and leave where
 * the loop does. There and here all lanes of a warp are together, as the product itself wants it. */
static void round_loop(struct plan *p, int32_t v)
{
    const int32_t header = p->b->loops.header[v], out = header < 0 ? -1 : find_exit(p, header, v);
    uint32_t flag = 0, sets = 0;
    for (uint32_t k = p->b->first[v]; k < p->b->first[v + 1] && out >= 0; k++) {
        struct mu_sums *s = &p->sums[k];
        if (!is_product(p, k) || s->kept || !goes_round(p, header, s->first ? s->first - 1 : k, k))
            continue;
        keep_array(p, k);
        flag = flag ? flag : ++p->e->nflag;
        s->flag = p->sums[s->first - 1].flag = flag;
        s->quiet = true;
        sets = k + 1;
        if (p->last[out])
            p->sums[p->last[out] - 1].next = k + 1;
        else
            p->e->exit[out] = k + 1;
        p->last[out] = k + 1;
    }
    if (sets)
        p->sums[sets - 1].sets = true;
}

void mu_plan_sums(struct mu_emit *e, struct ptx_ctx *c, const struct mu_blocks *b)
{
    struct plan p = {.e = e, .c = c, .b = b, .code = mu_code(e)};
    uint32_t k = e->fn->entry;
    e->sums = NULL;
    e->exit = NULL;
    e->nsums = e->nflag = 0;
    while (k < e->end && !is_product(&p, k))
        k++;
    if (k == e->end)
        return;
    p.nmark = LIR_AT(e->image, kernels, struct lir_kernel_rec)->regs_size / LIR_ROW_ALIGN + 1;
    p.mark = PTX_NEW(c, uint32_t, p.nmark);
    p.last = PTX_NEW(c, uint32_t, b->n);
    e->exit = PTX_NEW(c, uint32_t, b->n);
    e->sums = p.sums = PTX_NEW(c, struct mu_sums, e->image->code.count);
    for (uint32_t v = 0; v < b->n; v++)
        link_block(&p, b->first[v], b->first[v + 1]);
    for (uint32_t n = 0; n < b->count && !b->loops.irreducible; n++)
        round_loop(&p, b->order[n]);
}

/* ---- text ---- */

void mu_leave_sums(struct mu_emit *e, int32_t block)
{
    char array[16];
    uint32_t flag = 0;
    for (uint32_t k = e->exit ? e->exit[block] : 0; k; k = e->sums[k - 1].next) {
        const struct mu_sums *s = &e->sums[k - 1];
        if (s->flag != flag)
            mu_put(e, "%sif (h%u) {\nh%u = false;\n", flag ? "}\n" : "", s->flag, s->flag);
        flag = s->flag;
        snprintf(array, sizeof array, "q%u", s->array);
        mu_put(e, "{\n");
        mu_give_sums(e, mu_code(e) + k - 1, array);
        mu_put(e, "}\n");
    }
    if (flag)
        mu_put(e, "}\n");
}

void mu_declare_sums(struct mu_emit *e)
{
    for (uint32_t k = 0; e->sums && k < e->image->code.count; k++) {
        const struct mu_sums *s = &e->sums[k];
        const struct lir_matrix *x = s->first == k + 1 ? mu_matrix_of(e, mu_code(e) + k) : NULL;
        if (x)
            mu_put(e, "    u32 q%u[%u];\n", s->array, x->m * x->n / 32u);
    }
    for (uint32_t k = 1; k <= e->nflag; k++)
        mu_put(e, "    bool h%u = false;\n", k);
}
