/* Sparse QR by SuiteSparse's SPQR: a part of sparse_numeric.h. */

/* Columns with 64-bit indices, as SPQR takes matrices. */
static bool widened(const struct cumu_csr *a, struct cumu_spqr_sparse *out)
{
    struct cumu_csr t;
    if (!transposed(a, &t))
        return false;
    size_t n = (size_t)t.m, count = (size_t)t.row[n];
    *out = (struct cumu_spqr_sparse){.nrow = (size_t)t.n,
                                     .ncol = n,
                                     .nzmax = count,
                                     .itype = SPQR_LONG,
                                     .p = malloc((n + 1) * sizeof(int64_t)),
                                     .i = malloc((count + 1) * sizeof(int64_t)),
                                     .x = t.val,
                                     .xtype = XTYPE,
                                     .sorted = 1,
                                     .packed = 1};
    for (size_t j = 0; out->p && j <= n; j++)
        out->p[j] = t.row[j];
    for (size_t k = 0; out->i && k < count; k++)
        out->i[k] = t.col[k];
    t.val = NULL;
    cumu_csr_free(&t);
    return out->p && out->i;
}
static bool narrowed(const struct cumu_spqr_sparse *a, struct columns *out)
{
    size_t n = a->ncol, count = (size_t)a->p[n];
    if (count > INT_MAX || !new_columns(out, n, count))
        return false;
    for (size_t j = 0; j <= n; j++)
        out->from[j] = (int)a->p[j];
    for (size_t k = 0; k < count; k++)
        out->at[k] = (int)a->i[k];
    memcpy(out->val, a->x, count * sizeof(num));
    return true;
}

/* Which column is each row's pivot: the first that ends there. Columns that SPQR took as dependent end above. */
static void find_pivots(struct cumu_factor *f)
{
    f->rank = 0;
    for (int j = 0; j < f->n; j++) {
        int last = -1;
        num val = 0;
        for (int p = f->r.from[j]; p < f->r.from[j + 1]; p++) {
            if (f->r.at[p] == j)
                f->d[j] = ABS(f->r.val[p]);
            if (f->r.at[p] > last)
                last = f->r.at[p], val = f->r.val[p];
        }
        if (last == f->rank) {
            f->lead[last] = val;
            f->pivot[f->rank++] = j;
        }
    }
}

/* tol negative: all columns are taken as they are. Large matrices get an order of their own, since the one that is best
 * for A is not for A^T A; small ones keep theirs, and with it which column is told to be the first that depends on
 * others. COLAMD's, as METIS, which SPQR's default order may ask, sets signal handlers. */
static int do_qr(const struct cumu_csr *a, double tol, struct cumu_factor **out)
{
    enum { LARGE = 500 };
    const struct cumu_suitesparse *s = cumu_suitesparse();
    struct cumu_factor *f = new_factor(BY_QR, a->m, a->n);
    struct cumu_spqr_common *c = calloc(1, sizeof *c);
    struct cumu_spqr_sparse view = {0}, *r = NULL, *h = NULL;
    struct cumu_spqr_dense *factors = NULL;
    int64_t *columns = NULL, *rows = NULL;
    bool made = s && f && c && widened(a, &view);
    if (made) {
        s->cholmod_l_start(c);
        c->print = 0;
        made = s->SuiteSparseQR_C(a->n > LARGE ? SPQR_COLAMD : SPQR_FIXED, tol < 0 ? -1 : tol, a->n, 0, &view, NULL,
                                  NULL, NULL, NULL, &r, &columns, &h, &rows, &factors, c) >= 0 &&
               narrowed(r, &f->r) && narrowed(h, &f->l);
        f->row = made ? malloc(((size_t)a->m + 1) * sizeof(int)) : NULL;
        f->tau = made ? malloc((h->ncol + 1) * sizeof(num)) : NULL;
        made = f->row && f->tau;
    }
    if (made) {
        memcpy(f->tau, factors->x, h->ncol * sizeof(num));
        for (int i = 0; i < a->m; i++)
            f->row[i] = rows ? (int)rows[i] : i;
        for (int j = 0; j < a->n; j++)
            f->order[j] = columns ? (int)columns[j] : j;
        find_pivots(f);
    }
    if (s && c && view.p) {
        s->cholmod_l_free(columns ? (size_t)a->n : 0, sizeof *columns, columns, c);
        s->cholmod_l_free(rows ? (size_t)a->m : 0, sizeof *rows, rows, c);
        s->cholmod_l_free_sparse(&r, c);
        s->cholmod_l_free_sparse(&h, c);
        s->cholmod_l_free_dense(&factors, c);
        s->cholmod_l_finish(c);
    }
    free(view.p), free(view.i), free(view.x);
    free(c);
    return finish(f, s, made, out);
}

/* t = Q^H b, in R's rows. */
static void turn(const struct cumu_factor *f, const num *b, num *t)
{
    for (int i = 0; i < f->m; i++)
        t[f->row[i]] = b[i];
    for (int k = 0; k < f->l.n; k++) {
        num dot = 0;
        for (int p = f->l.from[k]; p < f->l.from[k + 1]; p++)
            dot += CONJ(f->l.val[p]) * t[f->l.at[p]];
        for (int p = f->l.from[k]; p < f->l.from[k + 1]; p++)
            t[f->l.at[p]] -= CONJ(f->tau[k]) * dot * f->l.val[p];
    }
}
