/* Sparse LU by SuiteSparse's KLU: a part of sparse_numeric.h. */

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

/* The factors by columns: KLU's own are packed, and what cuSOLVER is asked about is in none of its functions. */
static bool extract_lu(const struct cumu_suitesparse *s, struct cumu_klu_numeric *lu, void *symbolic,
                       struct cumu_klu_common *c, struct cumu_factor *f)
{
    size_t l = (size_t)lu->lnz, u = (size_t)lu->unz, n = (size_t)f->n;
    int *same = malloc((n + 1) * sizeof(int));
    double *apart = XTYPE == SPQR_REAL ? NULL : malloc(2 * (l + u + 1) * sizeof *apart);
    bool made = new_columns(&f->l, n, l) && new_columns(&f->r, n, u) && same && (XTYPE == SPQR_REAL || apart);
    if (made && XTYPE == SPQR_REAL) {
        made = s->klu_extract(lu, symbolic, f->l.from, f->l.at, (double *)f->l.val, f->r.from, f->r.at,
                              (double *)f->r.val, NULL, NULL, NULL, f->order, same, NULL, NULL, c);
    } else if (made) { /* real parts and imaginary ones */
        double *lx = apart, *lz = lx + l, *ux = lz + l, *uz = ux + u;
        made = s->klu_z_extract(lu, symbolic, f->l.from, f->l.at, lx, lz, f->r.from, f->r.at, ux, uz, NULL, NULL, NULL,
                                NULL, f->order, same, NULL, NULL, c);
        for (size_t k = 0; made && k < l; k++)
            f->l.val[k] = NUMBER_OF(lx[k], lz[k]);
        for (size_t k = 0; made && k < u; k++)
            f->r.val[k] = NUMBER_OF(ux[k], uz[k]);
    }
    free(apart);
    free(same);
    return made;
}

/* KLU without the block form, in the order the matrix is in, goes on past columns without a pivot. */
static int do_lu(const struct cumu_csr *a, double threshold, struct cumu_factor **out)
{
    const struct cumu_suitesparse *s = cumu_suitesparse();
    struct cumu_factor *f = new_factor(BY_LU, a->n, a->n);
    struct cumu_klu_common c = {0};
    struct cumu_klu_numeric *lu = NULL;
    struct cumu_csr t = {0};
    void *symbolic = NULL;
    bool made = s && f && transposed(a, &t);
    if (made) {
        s->klu_defaults(&c);
        c.btf = c.scale = c.halt_if_singular = 0;
        c.tol = threshold;
        symbolic = s->klu_analyze_given(a->n, t.row, t.col, NULL, NULL, &c);
        lu = !symbolic            ? NULL
             : XTYPE == SPQR_REAL ? s->klu_factor(t.row, t.col, t.val, symbolic, &c)
                                  : s->klu_z_factor(t.row, t.col, t.val, symbolic, &c);
        made = lu && extract_lu(s, lu, symbolic, &c, f);
    }
    for (int j = 0; made && j < a->n; j++)
        for (int p = f->r.from[j]; p < f->r.from[j + 1]; p++)
            if (f->r.at[p] == j)
                f->d[j] = ABS(f->lead[j] = f->r.val[p]);
    if (lu && XTYPE == SPQR_REAL)
        s->klu_free_numeric(&lu, &c);
    else if (lu)
        s->klu_z_free_numeric(&lu, &c);
    if (symbolic)
        s->klu_free_symbolic(&symbolic, &c);
    cumu_csr_free(&t);
    return finish(f, s, made, out);
}
