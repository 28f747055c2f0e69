/* Sparse QR, LU and Cholesky factors and what is solved with them; included once for each arithmetic, with NUMBER its
 * type, NUMBERS its name, XTYPE SPQR's for it, and NUMBER_OF, CONJ, ABS, REAL and ARG. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sparse.h"
#include "api/cusolver/suitesparse.h"

typedef NUMBER num;

struct columns {
    int n, *from, *at; /* column j's elements: from[j] to from[j + 1] */
    num *val;
};
static bool new_columns(struct columns *c, size_t n, size_t count)
{
    *c = (struct columns){(int)n, calloc(n + 1, sizeof(int)), malloc((count + 1) * sizeof(int)),
                          malloc((count + 1) * sizeof(num))};
    return c->from && c->at && c->val;
}

/* n each, but for row and tau. A column without a pivot has 0 in d, and lead is of no use then. */
struct cumu_factor {
    enum { BY_QR, BY_LU, BY_CHOL } kind;
    int m, n, rank;
    struct columns r, l; /* R or U; QR's reflections, or L, Cholesky's without its diagonal */
    double *d;           /* sizes on the diagonal */
    num *lead;           /* of a row of R or U, its pivot; of a column of Cholesky's L, the diagonal */
    int *pivot;          /* the column of each row's pivot, rank of them */
    int *order;          /* LU: row of A at i; QR: column */
    int *row;            /* QR: where row i of A is among R's, m */
    num *tau;            /* QR: of each reflection */
};

static void do_release(struct cumu_factor *f)
{
    if (!f)
        return;
    void *all[] = {f->r.from, f->r.at,  f->r.val, f->l.from, f->l.at, f->l.val, f->d,
                   f->lead,   f->pivot, f->order, f->row,    f->tau,  f};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
static struct cumu_factor *new_factor(int kind, int m, int n)
{
    struct cumu_factor *f = calloc(1, sizeof *f);
    size_t each = (size_t)n + 1;
    if (!f)
        return NULL;
    *f = (struct cumu_factor){.kind = kind, .m = m, .n = n, .rank = n};
    f->d = calloc(each, sizeof *f->d);
    f->lead = calloc(each, sizeof *f->lead);
    f->pivot = malloc(each * sizeof *f->pivot);
    f->order = malloc(each * sizeof *f->order);
    if (!f->d || !f->lead || !f->pivot || !f->order) {
        do_release(f);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        f->pivot[i] = f->order[i] = i;
    return f;
}
static int finish(struct cumu_factor *f, bool library, bool made, struct cumu_factor **out)
{
    *out = made ? f : NULL;
    if (!made)
        do_release(f);
    return made ? CUSOLVER_STATUS_SUCCESS : library ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_NOT_SUPPORTED;
}

#include "api/cusolver/sparse_lu.h"
#include "api/cusolver/sparse_chol.h"
#include "api/cusolver/sparse_qr.h"

/* ---- what is asked of factors ------------------------------------------------------------------ */

static int do_pivot(const struct cumu_factor *f, double tol)
{
    for (int j = 0; j < f->n; j++)
        if (!(f->d[j] > tol))
            return f->kind == BY_QR ? f->order[j] : j;
    return -1;
}
static int do_rank(const struct cumu_factor *f, int *pick)
{
    for (int j = 0, live = 0, dead = f->rank; j < f->n; j++)
        pick[live < f->rank && f->pivot[live] == j ? live++ : dead++] = f->order[j];
    return f->rank;
}
static void do_diagonal(const struct cumu_factor *f, double *out) { memcpy(out, f->d, (size_t)f->n * sizeof *out); }
static double do_argument(const struct cumu_factor *f)
{
    double sum = 0;
    for (int j = 0; j < f->n; j++)
        sum += ARG(f->lead[j]);
    for (int j = 0; j < f->n; j++) { /* the sign of the rows' order: a turn by half for each cycle of even length */
        int length = 0;
        for (int i = j; f->order[i] >= 0; length++) {
            int to = f->order[i];
            f->order[i] = ~to;
            i = to;
        }
        if (length && length % 2 == 0)
            sum += M_PI;
    }
    for (int j = 0; j < f->n; j++)
        f->order[j] = ~f->order[j];
    return sum;
}

/* L x = y, and of Cholesky's also L^H x = y; in place. */
static void lower(const struct cumu_factor *f, num *y)
{
    for (int j = 0; j < f->n; j++) {
        if (f->kind == BY_CHOL)
            y[j] /= f->lead[j];
        for (int p = f->l.from[j]; p < f->l.from[j + 1]; p++)
            if (f->l.at[p] != j) /* LU's diagonal of ones */
                y[f->l.at[p]] -= f->l.val[p] * y[j];
    }
    for (int j = f->n; f->kind == BY_CHOL && j-- > 0;) {
        for (int p = f->l.from[j]; p < f->l.from[j + 1]; p++)
            y[j] -= CONJ(f->l.val[p]) * y[f->l.at[p]];
        y[j] /= f->lead[j];
    }
}
/* R x = y or U x = y with the pivots' columns alone. */
static void upper(const struct cumu_factor *f, num *y)
{
    for (int i = f->rank; i-- > 0;) {
        y[i] /= f->lead[i];
        for (int p = f->r.from[f->pivot[i]]; p < f->r.from[f->pivot[i] + 1]; p++)
            if (f->r.at[p] < i)
                y[f->r.at[p]] -= f->r.val[p] * y[i];
    }
}
static int do_solve(const struct cumu_factor *f, const void *b, void *out, double *residual)
{
    double rest = 0;
    num *y = malloc(((size_t)f->m + 1) * sizeof *y), *x = out;
    const num *from = b;
    if (!y)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    if (f->kind == BY_QR)
        turn(f, from, y);
    else
        for (int i = 0; i < f->n; i++)
            y[i] = from[f->order[i]];
    if (f->kind != BY_QR)
        lower(f, y);
    if (f->kind != BY_CHOL)
        upper(f, y);
    for (int i = f->rank; i < f->m; i++)
        rest += ABS(y[i]) * ABS(y[i]);
    memset(x, 0, (size_t)f->n * sizeof *x);
    for (int i = 0; i < f->rank; i++)
        x[f->kind == BY_QR ? f->order[f->pivot[i]] : i] = y[i];
    free(y);
    if (residual)
        *residual = sqrt(rest);
    return CUSOLVER_STATUS_SUCCESS;
}

/* KLU's L holds its diagonal of ones. */
static void do_sizes(const struct cumu_factor *f, int *l, int *u)
{
    if (l)
        *l = f->l.from[f->n] - f->n;
    if (u)
        *u = f->r.from[f->n];
}
/* Columns to rows, which come out ascending, as columns are gone through in their order; L's without its diagonal. */
static bool rows_of(const struct columns *c, bool diagonal, struct cumu_csr *out)
{
    size_t n = (size_t)c->n, count = (size_t)c->from[n];
    *out = (struct cumu_csr){c->n, c->n, calloc(n + 2, sizeof(int)), malloc((count + 1) * sizeof(int)),
                             malloc((count + 1) * sizeof(num))};
    if (!out->row || !out->col || !out->val) {
        cumu_csr_free(out);
        return false;
    }
    for (int j = 0; j < c->n; j++)
        for (int p = c->from[j]; p < c->from[j + 1]; p++)
            out->row[c->at[p] + 2] += diagonal || c->at[p] != j;
    for (int j = 0; j < c->n; j++)
        out->row[j + 2] += out->row[j + 1];
    for (int j = 0; j < c->n; j++)
        for (int p = c->from[j]; p < c->from[j + 1]; p++) {
            if (!diagonal && c->at[p] == j)
                continue;
            int to = out->row[c->at[p] + 1]++;
            out->col[to] = j;
            ((num *)out->val)[to] = c->val[p];
        }
    return true;
}
static int do_extract(const struct cumu_factor *f, int *order, struct cumu_csr *l, struct cumu_csr *u)
{
    if (!rows_of(&f->l, false, l))
        return CUSOLVER_STATUS_ALLOC_FAILED;
    if (!rows_of(&f->r, true, u)) {
        cumu_csr_free(l);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    memcpy(order, f->order, (size_t)f->n * sizeof *order);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- matrices ---------------------------------------------------------------------------------- */

static int do_shifted(const struct cumu_csr *a, const void *shift, struct cumu_csr *out)
{
    size_t room = (size_t)a->row[a->m] + (size_t)a->m + 1;
    num by = *(const num *)shift;
    int to = 0;
    *out = (struct cumu_csr){a->m, a->n, calloc((size_t)a->m + 2, sizeof(int)), malloc(room * sizeof(int)),
                             malloc(room * sizeof(num))};
    num *val = out->val;
    const num *from = a->val;
    if (!out->row || !out->col || !val) {
        cumu_csr_free(out);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    for (int i = 0; i < a->m; i++) {
        bool there = i >= a->n;
        for (int p = a->row[i]; p <= a->row[i + 1]; p++) {
            bool end = p == a->row[i + 1];
            if (!there && (end || a->col[p] >= i)) {
                there = true;
                out->col[to] = i;
                val[to++] = by;
                if (!end && a->col[p] == i) {
                    val[to - 1] += from[p];
                    continue;
                }
            }
            if (!end) {
                out->col[to] = a->col[p];
                val[to++] = from[p];
            }
        }
        out->row[i + 1] = to;
    }
    return CUSOLVER_STATUS_SUCCESS;
}
static void do_multiply(const struct cumu_csr *a, const void *from, void *to)
{
    const num *x = from, *val = a->val;
    num *y = to;
    for (int i = 0; i < a->m; i++) {
        y[i] = 0;
        for (int p = a->row[i]; p < a->row[i + 1]; p++)
            y[i] += val[p] * x[a->col[p]];
    }
}
static void do_in(void *numbers, const void *raw, size_t n, bool single)
{
    num *to = numbers;
    for (size_t i = 0; i < n; i++)
        to[i] = single ? ((const SINGLE *)raw)[i] : ((const num *)raw)[i];
}
static void do_out(void *raw, const void *numbers, size_t n, bool single)
{
    const num *from = numbers;
    for (size_t i = 0; i < n; i++)
        if (single)
            ((SINGLE *)raw)[i] = (SINGLE)from[i];
        else
            ((num *)raw)[i] = from[i];
}

const struct cumu_sparse NUMBERS = {sizeof(num), do_in,      do_out,      do_qr,      do_lu,       do_chol,
                                    do_release,  do_pivot,   do_rank,     do_solve,   do_diagonal, do_sizes,
                                    do_extract,  do_shifted, do_multiply, do_argument};
