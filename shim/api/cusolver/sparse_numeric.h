/* Sparse QR, LU and Cholesky factors and what is solved with them; included once for each arithmetic, with NUMBER its
 * type, NUMBERS its name and CONJ, ABS, REAL and ARG. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sparse.h"

typedef NUMBER num;

/* A row or column that grows: elements at `at`, by ascending index in QR. */
struct list {
    int count, room, *at;
    num *val;
};
static bool reserve(struct list *l, int count)
{
    if (count <= l->room)
        return true;
    int room = count + count / 2 + 4;
    int *at = realloc(l->at, (size_t)room * sizeof *at);
    if (at)
        l->at = at;
    num *val = at ? realloc(l->val, (size_t)room * sizeof *val) : NULL;
    if (!val)
        return false;
    l->val = val;
    l->room = room;
    return true;
}
static bool append(struct list *l, int at, num val)
{
    if (!reserve(l, l->count + 1))
        return false;
    l->at[l->count] = at;
    l->val[l->count++] = val;
    return true;
}

/* The reflection that leaves one row in a column: I - beta v v^H on these rows of A, of which the first stays. */
struct reflection {
    int count, *row;
    double beta;
    num *v;
};
struct cumu_factor {
    enum { BY_QR, BY_LU, BY_CHOL } kind;
    int m, n, stopped;  /* stopped: at what column no pivot was found, or -1 */
    struct list *r, *l; /* QR: rows of R; LU: columns of U, the diagonal at last, and of L below it; Cholesky: L's, the
                            diagonal first */
    struct reflection *q; /* QR: of each column */
    int *order;           /* LU: row of A at i; QR: column */
};

static void do_release(struct cumu_factor *f)
{
    if (!f)
        return;
    for (int i = 0; f->r && i < f->n; i++)
        free(f->r[i].at), free(f->r[i].val);
    for (int i = 0; f->l && i < f->n; i++)
        free(f->l[i].at), free(f->l[i].val);
    for (int i = 0; f->q && i < f->n; i++)
        free(f->q[i].row), free(f->q[i].v);
    free(f->r);
    free(f->l);
    free(f->q);
    free(f->order);
    free(f);
}
static struct cumu_factor *new_factor(int kind, int m, int n)
{
    struct cumu_factor *f = calloc(1, sizeof *f);
    size_t columns = (size_t)n + 1;
    if (!f)
        return NULL;
    *f = (struct cumu_factor){.kind = kind, .m = m, .n = n, .stopped = -1};
    f->r = calloc(columns, sizeof *f->r);
    f->l = kind == BY_QR ? NULL : calloc(columns, sizeof *f->l);
    f->q = kind == BY_QR ? calloc(columns, sizeof *f->q) : NULL;
    f->order = calloc(columns, sizeof *f->order);
    if (!f->r || !f->order || (kind == BY_QR ? !f->q : !f->l)) {
        do_release(f);
        return NULL;
    }
    return f;
}
static int finish(struct cumu_factor *f, bool made, struct cumu_factor **out)
{
    if (!made) {
        do_release(f);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *out = f;
    return CUSOLVER_STATUS_SUCCESS;
}

#include "api/cusolver/sparse_qr.h"
#include "api/cusolver/sparse_lu.h"

/* ---- what is asked of factors ------------------------------------------------------------------ */

static double diagonal_of(const struct cumu_factor *f, int j)
{
    const struct list *l = f->kind == BY_CHOL ? &f->l[j] : &f->r[j];
    if (!l->count)
        return 0;
    return ABS(l->val[f->kind == BY_LU ? l->count - 1 : 0]);
}
static int do_pivot(const struct cumu_factor *f, double tol)
{
    for (int j = 0; j < f->n; j++)
        if (j == f->stopped || !(diagonal_of(f, j) > tol))
            return f->kind == BY_QR ? f->order[j] : j;
    return -1;
}
static void do_diagonal(const struct cumu_factor *f, double *out)
{
    for (int j = 0; j < f->n; j++)
        out[j] = diagonal_of(f, j);
}
static double do_argument(const struct cumu_factor *f)
{
    double sum = 0;
    for (int j = 0; j < f->n; j++)
        sum += ARG(f->r[j].val[f->r[j].count - 1]);
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

static int do_solve(const struct cumu_factor *f, const void *b, void *out, double *residual)
{
    int n = f->n;
    double rest = 0;
    num *y = malloc(((size_t)n + 1) * sizeof *y), *x = out;
    const num *from = b;
    if (!y)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    switch (f->kind) {
    case BY_QR:
        rest = turn(f, from, y);
        for (int i = n; rest >= 0 && i-- > 0;) {
            const struct list *r = &f->r[i];
            for (int p = 1; p < r->count; p++)
                y[i] -= r->val[p] * y[r->at[p]];
            y[i] /= r->count ? r->val[0] : 0;
        }
        break;
    case BY_LU:
        for (int i = 0; i < n; i++)
            y[i] = from[f->order[i]];
        for (int j = 0; j < n; j++)
            for (int p = 0; p < f->l[j].count; p++)
                y[f->l[j].at[p]] -= f->l[j].val[p] * y[j];
        for (int j = n; j-- > 0;) {
            const struct list *u = &f->r[j];
            y[j] /= u->val[u->count - 1];
            for (int p = 0; p < u->count - 1; p++)
                y[u->at[p]] -= u->val[p] * y[j];
        }
        break;
    case BY_CHOL:
        memcpy(y, from, (size_t)n * sizeof *y);
        for (int j = 0; j < n; j++) {
            y[j] /= f->l[j].val[0];
            for (int p = 1; p < f->l[j].count; p++)
                y[f->l[j].at[p]] -= f->l[j].val[p] * y[j];
        }
        for (int j = n; j-- > 0;) {
            for (int p = 1; p < f->l[j].count; p++)
                y[j] -= CONJ(f->l[j].val[p]) * y[f->l[j].at[p]];
            y[j] /= f->l[j].val[0];
        }
        break;
    }
    for (int i = 0; rest >= 0 && i < n; i++)
        x[f->kind == BY_QR ? f->order[i] : i] = y[i];
    free(y);
    if (rest < 0)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    if (residual)
        *residual = sqrt(rest);
    return CUSOLVER_STATUS_SUCCESS;
}

/* One reflection of QR with columns chosen by size: dense, column-major, columns as pick says. */
static bool reflect(num *r, num *y, double *norms, int *pick, int n, int k, double tol)
{
    int best = k;
    for (int j = k; j < n; j++) {
        norms[j] = 0;
        for (int i = k; i < n; i++)
            norms[j] += ABS(r[(size_t)j * (size_t)n + (size_t)i]) * ABS(r[(size_t)j * (size_t)n + (size_t)i]);
        best = norms[j] > norms[best] ? j : best;
    }
    double size = sqrt(norms[best]);
    if (!(size > tol))
        return false;
    for (int i = 0; i < n; i++) {
        num swap = r[(size_t)k * (size_t)n + (size_t)i];
        r[(size_t)k * (size_t)n + (size_t)i] = r[(size_t)best * (size_t)n + (size_t)i];
        r[(size_t)best * (size_t)n + (size_t)i] = swap;
    }
    int swap = pick[k];
    pick[k] = pick[best];
    pick[best] = swap;
    num *v = r + (size_t)k * (size_t)n, head = v[k], phase = ABS(head) > 0 ? head / ABS(head) : 1;
    v[k] = head + phase * size;
    double square = 2 * (size * size + ABS(head) * size);
    for (int j = k + 1; j <= n; j++) { /* the last: the right-hand side */
        num *to = j < n ? r + (size_t)j * (size_t)n : y, dot = 0;
        for (int i = k; i < n; i++)
            dot += CONJ(v[i]) * to[i];
        for (int i = k; i < n; i++)
            to[i] -= 2 * dot / square * v[i];
    }
    v[k] = -phase * size;
    return true;
}
static int do_least(const struct cumu_factor *f, double tol, const void *b, void *out, int *pick, int *rank,
                    double *residual)
{
    size_t n = (size_t)f->n;
    num *r = calloc(n * n + 1, sizeof *r), *y = calloc(n + 1, sizeof *y), *x = out;
    double *norms = calloc(n + 1, sizeof *norms), rest = 0;
    bool made = r && y && norms;
    if (made)
        made = (rest = turn(f, b, y)) >= 0;
    if (made) {
        for (size_t i = 0; i < n; i++) {
            pick[i] = f->order[i];
            for (int p = 0; p < f->r[i].count; p++)
                r[(size_t)f->r[i].at[p] * n + i] = f->r[i].val[p];
        }
        int k = 0;
        while (k < f->n && reflect(r, y, norms, pick, f->n, k, tol))
            k++;
        for (size_t i = (size_t)k; i < n; i++)
            rest += ABS(y[i]) * ABS(y[i]);
        memset(x, 0, n * sizeof *x);
        for (int i = k; i-- > 0;) {
            for (int j = i + 1; j < k; j++)
                y[i] -= r[(size_t)j * n + (size_t)i] * y[j];
            y[i] /= r[(size_t)i * n + (size_t)i];
            x[pick[i]] = y[i];
        }
        *rank = k;
        *residual = sqrt(rest);
    }
    free(r);
    free(y);
    free(norms);
    return made ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

static void do_sizes(const struct cumu_factor *f, int *l, int *u)
{
    int below = 0, above = 0;
    for (int j = 0; j < f->n; j++)
        below += f->l[j].count, above += f->r[j].count;
    if (l)
        *l = below;
    if (u)
        *u = above;
}
/* Columns to rows; rows come out ascending, as columns are gone through in their order. */
static bool rows_of(const struct list *columns, int n, struct cumu_csr *out)
{
    size_t count = 0;
    for (int j = 0; j < n; j++)
        count += (size_t)columns[j].count;
    *out = (struct cumu_csr){n, n, calloc((size_t)n + 2, sizeof(int)), malloc((count + 1) * sizeof(int)),
                             malloc((count + 1) * sizeof(num))};
    if (!out->row || !out->col || !out->val) {
        cumu_csr_free(out);
        return false;
    }
    for (int j = 0; j < n; j++)
        for (int p = 0; p < columns[j].count; p++)
            out->row[columns[j].at[p] + 2]++;
    for (int j = 0; j < n; j++)
        out->row[j + 2] += out->row[j + 1];
    for (int j = 0; j < n; j++)
        for (int p = 0; p < columns[j].count; p++) {
            int to = out->row[columns[j].at[p] + 1]++;
            out->col[to] = j;
            ((num *)out->val)[to] = columns[j].val[p];
        }
    return true;
}
static int do_extract(const struct cumu_factor *f, int *order, struct cumu_csr *l, struct cumu_csr *u)
{
    if (!rows_of(f->l, f->n, l))
        return CUSOLVER_STATUS_ALLOC_FAILED;
    if (!rows_of(f->r, f->n, u)) {
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
                                    do_release,  do_pivot,   do_solve,    do_least,   do_diagonal, do_sizes,
                                    do_extract,  do_shifted, do_multiply, do_argument};
