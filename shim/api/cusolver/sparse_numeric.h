/* Sparse QR, LU and Cholesky factors and what is solved with them; included once for each arithmetic, with NUMBER its
 * type, NUMBERS its name and CONJ, ABS, REAL and ARG. Methods: reflections of dense fronts of rows (Duff and Reid),
 * Gilbert and Peierls' LU by columns, the up-looking Cholesky factor. */
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
    int m, n, stopped;   /* stopped: at what column no pivot was found, or -1 */
    struct list *r, *l;  /* QR: rows of R; LU: columns of U, the diagonal at last, and of L below it; Cholesky: L's, the
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

/* ---- QR ---------------------------------------------------------------------------------------- */

/* Rows with the same columns, the first of which is the next to be eliminated in them: dense, row after row. */
struct front {
    struct front *next;
    int rows, cols, *row, *col;
    num *val;
};
static struct front *new_front(int rows, int cols)
{
    struct front *f = malloc(sizeof *f);
    if (!f)
        return NULL;
    *f = (struct front){NULL, rows, cols, malloc((size_t)rows * sizeof(int)), malloc((size_t)cols * sizeof(int)),
                        calloc((size_t)rows * (size_t)cols, sizeof(num))};
    if (f->row && f->col && f->val)
        return f;
    free(f->row), free(f->col), free(f->val), free(f);
    return NULL;
}
static struct front *drop_front(struct front *f)
{
    struct front *next = f->next;
    free(f->row), free(f->col), free(f->val), free(f);
    return next;
}

struct qr {
    struct cumu_factor *f;
    const struct cumu_csr *a;
    struct front **fronts;                   /* by their first column */
    int *first, *next, *place, *mark, *cols; /* rows of A by their first column; a column's place in a front */
    int *to;                                 /* columns of A in the order of elimination */
};
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* All rows that begin with column k as one front; NULL with *rows 0 where there are none. */
static struct front *gather(struct qr *s, int k, int *rows)
{
    const struct cumu_csr *a = s->a;
    const num *val = a->val;
    int cols = 0, at = 0;
    *rows = 0;
    for (int i = s->first[k]; i >= 0; i = s->next[i], ++*rows)
        for (int p = a->row[i]; p < a->row[i + 1]; p++)
            if (s->mark[s->to[a->col[p]]] != k)
                s->mark[s->cols[cols++] = s->to[a->col[p]]] = k;
    for (const struct front *f = s->fronts[k]; f; *rows += f->rows, f = f->next)
        for (int p = 0; p < f->cols; p++)
            if (s->mark[f->col[p]] != k)
                s->mark[s->cols[cols++] = f->col[p]] = k;
    struct front *all = *rows ? new_front(*rows, cols) : NULL;
    if (!all)
        return NULL;
    qsort(s->cols, (size_t)cols, sizeof(int), ascending);
    memcpy(all->col, s->cols, (size_t)cols * sizeof(int));
    for (int p = 0; p < cols; p++)
        s->place[s->cols[p]] = p;
    for (int i = s->first[k]; i >= 0; i = s->next[i], at++) {
        all->row[at] = i;
        for (int p = a->row[i]; p < a->row[i + 1]; p++)
            all->val[(size_t)at * (size_t)cols + (size_t)s->place[s->to[a->col[p]]]] = val[p];
    }
    for (struct front *f = s->fronts[k]; f; f = drop_front(f))
        for (int i = 0; i < f->rows; i++, at++) {
            all->row[at] = f->row[i];
            for (int p = 0; p < f->cols; p++)
                all->val[(size_t)at * (size_t)cols + (size_t)s->place[f->col[p]]] =
                    f->val[(size_t)i * (size_t)f->cols + (size_t)p];
        }
    s->fronts[k] = NULL;
    return all;
}

/* Leaves the first row alone in the first column. False: no memory, or with q->count 0: nothing was in the column. */
static bool eliminate(struct front *f, struct reflection *q)
{
    size_t cols = (size_t)f->cols;
    double square = 0;
    for (int i = 0; i < f->rows; i++)
        square += ABS(f->val[(size_t)i * cols]) * ABS(f->val[(size_t)i * cols]);
    if (square == 0)
        return true;
    q->row = malloc((size_t)f->rows * sizeof(int));
    q->v = malloc((size_t)f->rows * sizeof(num));
    num *dot = calloc(cols, sizeof(num));
    if (!q->row || !q->v || !dot) {
        free(dot);
        return false;
    }
    double size = sqrt(square), head = ABS(f->val[0]);
    num phase = head > 0 ? f->val[0] / head : 1;
    q->count = f->rows;
    q->beta = f->rows > 1 ? 1 / (square + head * size) : 0;
    memcpy(q->row, f->row, (size_t)f->rows * sizeof(int));
    for (int i = 0; i < f->rows; i++) {
        num *row = f->val + (size_t)i * cols, v = row[0] + (i ? 0 : phase * size);
        q->v[i] = v;
        v = CONJ(v);
        for (size_t j = 1; j < cols; j++)
            dot[j] += v * row[j];
    }
    for (int i = 0; f->rows > 1 && i < f->rows; i++) {
        num *row = f->val + (size_t)i * cols, v = q->beta * q->v[i];
        for (size_t j = 1; j < cols; j++)
            row[j] -= v * dot[j];
        row[0] = i ? 0 : -phase * size;
    }
    free(dot);
    return true;
}

/* What is left of a front without its first column, and without its first row if that became R's. */
static bool pass_on(struct qr *s, const struct front *f, int first)
{
    if (f->rows == first || f->cols == 1)
        return true;
    struct front *rest = new_front(f->rows - first, f->cols - 1);
    if (!rest)
        return false;
    memcpy(rest->row, f->row + first, (size_t)rest->rows * sizeof(int));
    memcpy(rest->col, f->col + 1, (size_t)rest->cols * sizeof(int));
    for (int i = 0; i < rest->rows; i++)
        memcpy(rest->val + (size_t)i * (size_t)rest->cols, f->val + (size_t)(i + first) * (size_t)f->cols + 1,
               (size_t)rest->cols * sizeof(num));
    rest->next = s->fronts[rest->col[0]];
    s->fronts[rest->col[0]] = rest;
    return true;
}

static bool take_front(struct qr *s, int k)
{
    int rows;
    struct front *f = gather(s, k, &rows);
    struct reflection *q = &s->f->q[k];
    struct list *r = &s->f->r[k];
    if (!f)
        return !rows;
    bool made = eliminate(f, q) && (!q->count || reserve(r, f->cols)) && pass_on(s, f, q->count > 0);
    if (made && q->count) {
        memcpy(r->at, f->col, (size_t)f->cols * sizeof(int));
        memcpy(r->val, f->val, (size_t)f->cols * sizeof(num));
        r->count = f->cols;
    }
    drop_front(f);
    return made;
}

/* Large matrices get an order of their own, since the one that is best for A is not for A^T A; small ones keep theirs,
 * and with it which column is told to be the first that depends on others. */
static int order_columns(const struct cumu_csr *a, int *order)
{
    enum { LARGE = 500 };
    return cumu_sparse_order_qr(a->n > LARGE ? CUMU_ORDER_AMD : CUMU_ORDER_NONE, a, order);
}
static int do_qr(const struct cumu_csr *a, struct cumu_factor **out)
{
    size_t n = (size_t)a->n + 1;
    int *work = malloc((5 * n + (size_t)a->m) * sizeof(int));
    struct qr s = {new_factor(BY_QR, a->m, a->n), a, calloc(n, sizeof *s.fronts), work, NULL, NULL, NULL, NULL, NULL};
    bool made = s.f && s.fronts && work && !order_columns(a, s.f->order);
    if (made) {
        s.place = work + n, s.mark = s.place + n, s.cols = s.mark + n, s.to = s.cols + n, s.next = s.to + n;
        memset(s.first, -1, n * sizeof(int));
        memset(s.mark, -1, n * sizeof(int));
        for (int j = 0; j < a->n; j++)
            s.to[s.f->order[j]] = j;
    }
    for (int i = a->m; made && i-- > 0;) {
        int first = a->n;
        for (int p = a->row[i]; p < a->row[i + 1]; p++)
            first = s.to[a->col[p]] < first ? s.to[a->col[p]] : first;
        if (first < a->n) {
            s.next[i] = s.first[first];
            s.first[first] = i;
        }
    }
    for (int k = 0; made && k < a->n; k++)
        made = take_front(&s, k);
    for (int k = 0; s.fronts && k < a->n; k++)
        for (struct front *f = s.fronts[k]; f; f = drop_front(f))
            continue;
    free(s.fronts);
    free(work);
    return finish(s.f, made, out);
}

/* y = Q^H b; what is left over is the residual's square, negative where there is no memory. */
static double turn(const struct cumu_factor *f, const num *b, num *y)
{
    double rest = 0;
    num *t = malloc(((size_t)f->m + 1) * sizeof *t);
    if (!t)
        return -1;
    memcpy(t, b, (size_t)f->m * sizeof *t);
    memset(y, 0, (size_t)f->n * sizeof *y);
    for (int k = 0; k < f->n; k++) {
        const struct reflection *q = &f->q[k];
        num dot = 0;
        if (!q->count)
            continue;
        for (int i = 0; q->beta > 0 && i < q->count; i++)
            dot += CONJ(q->v[i]) * t[q->row[i]];
        for (int i = 0; q->beta > 0 && i < q->count; i++)
            t[q->row[i]] -= q->beta * dot * q->v[i];
        y[k] = t[q->row[0]];
        t[q->row[0]] = 0;
    }
    for (int i = 0; i < f->m; i++)
        rest += ABS(t[i]) * ABS(t[i]);
    free(t);
    return rest;
}

/* ---- LU ---------------------------------------------------------------------------------------- */

static bool transposed(const struct cumu_csr *a, struct cumu_csr *t)
{
    size_t count = (size_t)a->row[a->m] + 1;
    const num *val = a->val;
    *t = (struct cumu_csr){a->n, a->m, calloc((size_t)a->n + 2, sizeof(int)), malloc(count * sizeof(int)),
                           malloc(count * sizeof(num))};
    if (!t->row || !t->col || !t->val) {
        cumu_csr_free(t);
        return false;
    }
    for (int p = 0; p < a->row[a->m]; p++)
        t->row[a->col[p] + 2]++;
    for (int j = 0; j < a->n; j++)
        t->row[j + 2] += t->row[j + 1];
    for (int i = 0; i < a->m; i++)
        for (int p = a->row[i]; p < a->row[i + 1]; p++) {
            int to = t->row[a->col[p] + 1]++;
            t->col[to] = i;
            ((num *)t->val)[to] = val[p];
        }
    return true;
}

struct lu {
    struct cumu_factor *f;
    int *place, *mark, *stack, *next, *reach; /* place: of a row of A among the pivots, or -1 */
    num *x;
};
/* Rows that column j of A leads to, each after those that lead to it: from reach[top] on. */
static int reach_of(struct lu *s, const int *row, int count, int stamp)
{
    int top = s->f->n;
    for (int p = 0; p < count; p++) {
        int depth = 0;
        if (s->mark[row[p]] == stamp)
            continue;
        s->stack[0] = row[p];
        s->mark[row[p]] = stamp;
        s->next[0] = 0;
        while (depth >= 0) {
            int i = s->stack[depth], j = s->place[i];
            const struct list *l = j < 0 ? NULL : &s->f->l[j];
            while (l && s->next[depth] < l->count && s->mark[l->at[s->next[depth]]] == stamp)
                s->next[depth]++;
            if (l && s->next[depth] < l->count) {
                int down = l->at[s->next[depth]++];
                s->mark[down] = stamp;
                s->stack[++depth] = down;
                s->next[depth] = 0;
            } else {
                s->reach[--top] = i;
                depth--;
            }
        }
    }
    return top;
}

/* Column j; L's rows are A's until all are placed. False: no memory; stopped: no pivot. */
static bool take_column(struct lu *s, const struct cumu_csr *t, int j, double threshold)
{
    struct cumu_factor *f = s->f;
    const num *val = t->val;
    int first = t->row[j], count = t->row[j + 1] - first, pivot = -1;
    int top = reach_of(s, t->col + first, count, j + 1);
    double largest = 0;
    for (int p = top; p < f->n; p++)
        s->x[s->reach[p]] = 0;
    for (int p = first; p < first + count; p++)
        s->x[t->col[p]] = val[p];
    for (int p = top; p < f->n; p++) {
        int i = s->reach[p], k = s->place[i];
        if (k < 0) {
            if (ABS(s->x[i]) > largest)
                largest = ABS(s->x[pivot = i]);
            continue;
        }
        const struct list *l = &f->l[k];
        num x = s->x[i];
        if (!append(&f->r[j], k, x))
            return false;
        for (int q = 0; q < l->count; q++)
            s->x[l->at[q]] -= l->val[q] * x;
    }
    /* Elements of rows that are no pivots change until the last of the pivots' is done. */
    largest = 0;
    for (int p = top; p < f->n; p++)
        if (s->place[s->reach[p]] < 0 && ABS(s->x[s->reach[p]]) > largest)
            largest = ABS(s->x[pivot = s->reach[p]]);
    if (!(largest > 0)) {
        f->stopped = j;
        return true;
    }
    if (s->mark[j] == j + 1 && s->place[j] < 0 && s->x[j] != 0 && ABS(s->x[j]) >= threshold * largest)
        pivot = j;
    s->place[pivot] = j;
    f->order[j] = pivot;
    for (int p = top; p < f->n; p++)
        if (s->place[s->reach[p]] < 0 && !append(&f->l[j], s->reach[p], s->x[s->reach[p]] / s->x[pivot]))
            return false;
    return append(&f->r[j], j, s->x[pivot]);
}

static int do_lu(const struct cumu_csr *a, double threshold, struct cumu_factor **out)
{
    size_t n = (size_t)a->n, each = n + 1;
    struct cumu_csr t = {0};
    int *work = calloc(5 * each, sizeof(int));
    struct lu s = {new_factor(BY_LU, a->n, a->n), work, NULL, NULL, NULL, NULL, malloc(each * sizeof(num))};
    bool made = s.f && work && s.x && transposed(a, &t);
    if (made) {
        s.mark = work + each, s.stack = s.mark + each, s.next = s.stack + each, s.reach = s.next + each;
        for (size_t i = 0; i < n; i++)
            s.place[i] = -1;
    }
    for (int j = 0; made && j < a->n && s.f->stopped < 0; j++)
        made = take_column(&s, &t, j, threshold);
    for (int j = 0; made && s.f->stopped < 0 && j < a->n; j++)
        for (int p = 0; p < s.f->l[j].count; p++)
            s.f->l[j].at[p] = s.place[s.f->l[j].at[p]];
    cumu_csr_free(&t);
    free(work);
    free(s.x);
    return finish(s.f, made, out);
}

/* ---- Cholesky ---------------------------------------------------------------------------------- */

/* Row k of L: elements left of the diagonal are where the paths of A's row lead to in the elimination tree, ascending
 * from reach[top]. */
static int row_reach(const struct cumu_csr *a, int k, const int *parent, int *mark, int *stack, int *reach)
{
    int top = a->n;
    mark[k] = k;
    for (int p = a->row[k]; p < a->row[k + 1] && a->col[p] < k; p++) {
        int depth = 0;
        for (int i = a->col[p]; mark[i] != k; i = parent[i]) {
            stack[depth++] = i;
            mark[i] = k;
        }
        while (depth)
            reach[--top] = stack[--depth];
    }
    return top;
}
static void tree_of(const struct cumu_csr *a, int *parent, int *ancestor)
{
    for (int k = 0; k < a->n; k++) {
        parent[k] = ancestor[k] = -1;
        for (int p = a->row[k]; p < a->row[k + 1] && a->col[p] < k; p++)
            for (int i = a->col[p], up; i != -1 && i < k; i = up) {
                up = ancestor[i];
                ancestor[i] = k;
                if (up == -1)
                    parent[i] = k;
            }
    }
}

static bool take_lower_row(struct cumu_factor *f, const struct cumu_csr *a, int k, int top, const int *reach, num *x)
{
    const num *val = a->val;
    double diagonal = 0;
    for (int p = a->row[k]; p < a->row[k + 1]; p++)
        if (a->col[p] < k)
            x[a->col[p]] = val[p];
        else if (a->col[p] == k)
            diagonal = REAL(val[p]);
    for (int p = top; p < a->n; p++) {
        int j = reach[p];
        struct list *l = &f->l[j];
        num y = x[j] / l->val[0]; /* the element of L at (k, j) */
        x[j] = 0;
        for (int q = 1; q < l->count; q++)
            x[l->at[q]] -= y * CONJ(l->val[q]);
        diagonal -= REAL(y * CONJ(y));
        if (!append(l, k, y))
            return false;
    }
    if (!(diagonal > 0)) {
        f->stopped = k;
        return true;
    }
    return append(&f->l[k], k, sqrt(diagonal));
}

static int do_chol(const struct cumu_csr *a, struct cumu_factor **out)
{
    size_t each = (size_t)a->n + 1;
    struct cumu_factor *f = new_factor(BY_CHOL, a->n, a->n);
    int *parent = malloc(4 * each * sizeof(int)), *mark = parent + each, *stack = mark + each, *reach = stack + each;
    num *x = calloc(each, sizeof(num));
    bool made = f && parent && x;
    if (made) {
        tree_of(a, parent, mark);
        memset(mark, -1, each * sizeof(int));
    }
    for (int k = 0; made && k < a->n && f->stopped < 0; k++)
        made = take_lower_row(f, a, k, row_reach(a, k, parent, mark, stack, reach), reach, x);
    free(parent);
    free(x);
    return finish(f, made, out);
}

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

const struct cumu_sparse NUMBERS = {
    sizeof(num), do_in, do_out, do_qr, do_lu, do_chol, do_release, do_pivot, do_solve, do_least,
    do_diagonal, do_sizes, do_extract, do_shifted, do_multiply, do_argument,
};
