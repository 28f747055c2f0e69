/* The up-looking Cholesky factor: a part of sparse_numeric.h. Ours, as it keeps up with CHOLMOD's simplicial one
 * (tests/bench/README.md) and is not longer than what CHOLMOD's structs, which differ between its versions, would take;
 * CHOLMOD's supernodal one is faster for large factors. */

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

/* Row k of L, solved with the rows above it; next: where each column's next element goes. False: no pivot. */
static bool take_lower_row(struct cumu_factor *f, const struct cumu_csr *a, int k, int top, const int *reach, int *next,
                           num *x)
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
        num y = x[j] / f->lead[j]; /* the element of L at (k, j) */
        x[j] = 0;
        for (int q = f->l.from[j]; q < next[j]; q++)
            x[f->l.at[q]] -= y * CONJ(f->l.val[q]);
        diagonal -= REAL(y * CONJ(y));
        f->l.at[next[j]] = k;
        f->l.val[next[j]++] = y;
    }
    if (!(diagonal > 0))
        return false;
    f->lead[k] = f->d[k] = sqrt(diagonal);
    return true;
}

/* L's columns without the diagonal: counted first, then filled row by row. */
static int do_chol(const struct cumu_csr *a, struct cumu_factor **out)
{
    size_t each = (size_t)a->n + 1, count = 0;
    struct cumu_factor *f = new_factor(BY_CHOL, a->n, a->n);
    int *parent = calloc(5 * each, sizeof(int)), *mark = NULL, *stack = NULL, *reach = NULL, *next = NULL;
    num *x = calloc(each, sizeof(num));
    bool made = f && parent && x;
    if (made) {
        mark = parent + each, stack = mark + each, reach = stack + each, next = reach + each;
        tree_of(a, parent, mark);
        memset(mark, -1, each * sizeof(int));
        for (int k = 0; k < a->n; k++)
            for (int p = row_reach(a, k, parent, mark, stack, reach); p < a->n; p++, count++)
                next[reach[p]]++;
        made = count <= INT_MAX && new_columns(&f->l, (size_t)a->n, count);
    }
    if (made) {
        for (int j = 0; j < a->n; j++) {
            f->l.from[j + 1] = f->l.from[j] + next[j];
            next[j] = f->l.from[j];
        }
        memset(mark, -1, each * sizeof(int));
        for (int k = 0; k < a->n; k++)
            if (!take_lower_row(f, a, k, row_reach(a, k, parent, mark, stack, reach), reach, next, x))
                break;
    }
    free(parent);
    free(x);
    return finish(f, true, made, out);
}
