/* Sparse QR by reflections of dense fronts of rows (Duff and Reid): a part of sparse_numeric.h. */

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
    *f = (struct front){NULL,
                        rows,
                        cols,
                        malloc((size_t)rows * sizeof(int)),
                        malloc((size_t)cols * sizeof(int)),
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
