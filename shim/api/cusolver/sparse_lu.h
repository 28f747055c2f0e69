/* Sparse LU by columns (Gilbert and Peierls) and the up-looking Cholesky factor: a part of sparse_numeric.h. */

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
