/* Matrix products whose operands are spread in every way, plain and transposed: by rows, by columns, on all ranks, or
 * as blocks of a grid. */
#include "ranks.h"

enum layout { ROWS, COLUMNS, WHOLE, LAYOUTS };

struct spread { /* a matrix, of which each rank has a part of equal size; what lies behind its end is zero */
    enum layout layout;
    int rows, columns; /* of the whole, divided evenly where it is spread */
    const double *all; /* on the host */
    double *part;
};

static size_t size(const struct rank *r, const struct spread *m)
{
    return (size_t)(m->rows * m->columns) / (m->layout == WHOLE ? 1 : (size_t)r->n);
}

static double *slice(struct rank *r, const struct spread *m, enum layout how, int q)
{
    const int rows = m->rows / r->n, columns = m->columns / r->n;
    return how == WHOLE  ? cut(r, m->all, m->rows, 0, m->rows, 0, m->columns)
           : how == ROWS ? cut(r, m->all, m->rows, q * rows, rows, 0, m->columns)
                         : cut(r, m->all, m->rows, 0, m->rows, q * columns, columns);
}

/* Another layout of the same: gathered by columns, since those follow each other in memory; by rows they are the
 * columns of parts, exchanged by everybody with everybody. */
static double *as(struct rank *r, const struct spread *m, enum layout want)
{
    const int rows = m->rows / r->n, columns = m->columns / r->n;
    const size_t n = (size_t)(m->rows * m->columns), tile = (size_t)(rows * columns);
    if (want == m->layout)
        return m->part;
    double *out = room(r, n), *lines = room(r, n), *tiles = room(r, n);
    if (m->layout == WHOLE) { /* no rank needs another */
        const double *whole = got(r, m->part, n);
        const struct spread copy = {WHOLE, m->rows, m->columns, whole, NULL};
        return put(r, slice(r, &copy, want, r->me), n / (size_t)r->n);
    }
    if (m->layout == COLUMNS && want == WHOLE) {
        MUST(r, ncclAllGather(m->part, out, n / (size_t)r->n, F64, r->comm, r->stream) == 0);
        return out;
    }
    if (m->layout == ROWS) { /* its columns are pieces of everybody's */
        MUST(r, ncclAlltoAll(m->part, tiles, tile, F64, r->comm, r->stream) == 0);
        const double *t = got(r, tiles, n / (size_t)r->n);
        double *h = host(r, n / (size_t)r->n);
        for (int q = 0; q < r->n; q++)
            for (int k = 0; k < columns; k++)
                memcpy(h + k * m->rows + q * rows, t + q * (int)tile + k * rows, (size_t)rows * sizeof *h);
        const struct spread by_columns = {COLUMNS, m->rows, m->columns, m->all, put(r, h, n / (size_t)r->n)};
        return as(r, &by_columns, want);
    }
    const double *h = got(r, m->part, n / (size_t)r->n);
    double *t = host(r, n / (size_t)r->n);
    for (int q = 0; q < r->n; q++)
        memcpy(t + q * (int)tile, cut(r, h, m->rows, q * rows, rows, 0, columns), tile * sizeof *t);
    MUST(r, cudaMemcpyAsync(lines, t, n / (size_t)r->n * sizeof *t, 1, r->stream) == 0);
    MUST(r, ncclAlltoAll(lines, tiles, tile, F64, r->comm, r->stream) == 0);
    return tiles;
}

/* c = op(a) op(b): each rank makes the columns of c that it can make of the columns of op(b), or a summand of all c of
 * its share of the inner dimension, or rows; whichever leaves the larger operand where it is. */
static double *spread_product(struct rank *r, bool ta, bool tb, const struct spread *a, const struct spread *b,
                              int rows, int columns, int inner, enum layout *layout)
{
    const enum layout a_inner = ta ? ROWS : COLUMNS, b_inner = tb ? COLUMNS : ROWS, a_outer = ta ? COLUMNS : ROWS,
                      b_outer = tb ? ROWS : COLUMNS;
    double *c = room(r, (size_t)(rows * columns));
    if (a->layout == a_inner && b->layout != b_outer) {
        multiply(r, ta, tb, rows, columns, inner / r->n, a->part, as(r, b, b_inner), c, false);
        double *sum = room(r, (size_t)(rows * columns));
        MUST(r, ncclReduceScatter(c, sum, (size_t)(rows * columns) / (size_t)r->n, F64, SUM, r->comm, r->stream) == 0);
        *layout = COLUMNS;
        return sum;
    }
    if (a->layout == a_outer) {
        multiply(r, ta, tb, rows / r->n, columns, inner, a->part, as(r, b, WHOLE), c, false);
        *layout = ROWS;
        return c;
    }
    multiply(r, ta, tb, rows, columns / r->n, inner, as(r, a, WHOLE), as(r, b, b_outer), c, false);
    *layout = COLUMNS;
    return c;
}

/* SUMMA (van de Geijn and Watts 1997) on a grid of g x n / g: panels of a go along the rows of the grid, panels of b
 * along its columns. */
static void grid_product(struct rank *r, int g)
{
    const int up = g, across = r->n / g, row = r->me % up, column = r->me / up, panels = up * across;
    const int h = between(r, 1, 5), w = between(r, 1, 5), k = between(r, 1, 4); /* of a block, and of a panel */
    const int rows = h * up, columns = w * across, inner = k * panels;
    const unsigned salt = draw(r);
    ncclComm_t line, pile;
    MUST(r, ncclCommSplit(r->comm, row, column, &line, NULL) == 0 &&
                ncclCommSplit(r->comm, column, row, &pile, NULL) == 0);
    const double *a = matrix(r, salt, (size_t)(rows * inner)), *b = matrix(r, salt + 1, (size_t)(inner * columns));
    double *c = room(r, (size_t)(h * w)), *pa = room(r, (size_t)(h * k)), *pb = room(r, (size_t)(k * w));
    for (int p = 0; p < panels; p++) {
        if (p / up == column)
            pa = put(r, cut(r, a, rows, row * h, h, p * k, k), (size_t)(h * k));
        if (p / across == row)
            pb = put(r, cut(r, b, inner, p * k, k, column * w, w), (size_t)(k * w));
        MUST(r, ncclBroadcast(pa, pa, (size_t)(h * k), F64, p / up, line, r->stream) == 0);
        MUST(r, ncclBroadcast(pb, pb, (size_t)(k * w), F64, p / across, pile, r->stream) == 0);
        multiply(r, 0, 0, h, w, k, pa, pb, c, true);
    }
    double *one = room(r, (size_t)(rows * columns));
    multiply(r, 0, 0, rows, columns, inner, put(r, a, (size_t)(rows * inner)), put(r, b, (size_t)(inner * columns)),
             one, false);
    const double *whole = got(r, one, (size_t)(rows * columns));
    same(r, "a block", c, cut(r, whole, rows, row * h, h, column * w, w), (size_t)(h * w));
    MUST(r, ncclCommDestroy(line) == 0 && ncclCommDestroy(pile) == 0);
}

void products(struct rank *r)
{
    for (int how = 0; how < 4 * LAYOUTS * LAYOUTS; how++) {
        const bool ta = how & 1, tb = how >> 1 & 1;
        const int rows = r->n * between(r, 1, 3), columns = r->n * between(r, 1, 3), inner = r->n * between(r, 1, 3);
        const unsigned salt = draw(r);
        struct spread a = {(enum layout)(how / 4 % LAYOUTS), ta ? inner : rows, ta ? rows : inner, NULL, NULL};
        struct spread b = {(enum layout)(how / 4 / LAYOUTS), tb ? columns : inner, tb ? inner : columns, NULL, NULL};
        a.all = matrix(r, salt, (size_t)(rows * inner));
        b.all = matrix(r, salt + 1, (size_t)(inner * columns));
        a.part = put(r, slice(r, &a, a.layout, r->me), size(r, &a));
        b.part = put(r, slice(r, &b, b.layout, r->me), size(r, &b));
        struct spread c = {.rows = rows, .columns = columns};
        c.part = spread_product(r, ta, tb, &a, &b, rows, columns, inner, &c.layout);
        double *one = room(r, (size_t)(rows * columns));
        multiply(r, ta, tb, rows, columns, inner, put(r, a.all, (size_t)(rows * inner)),
                 put(r, b.all, (size_t)(inner * columns)), one, false);
        c.all = got(r, one, (size_t)(rows * columns));
        for (enum layout l = ROWS; l < LAYOUTS; l++) { /* and into every layout from there */
            const struct spread want = {l, rows, columns, c.all, NULL};
            same(r, "a part of the product", as(r, &c, l), slice(r, &want, l, r->me), size(r, &want));
        }
    }
    for (int g = 1; g <= r->n; g++)
        if (r->n % g == 0)
            grid_product(r, g);
}
