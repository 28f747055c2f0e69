/* cuSOLVER Rf's arithmetic: the pattern that holds both factors, factorisations within it, solutions.
 *
 * KLU's klu_refactor, which takes half the time (tests/bench/README.md), has no way in: it wants factors that KLU made,
 * and knows neither pivots that are raised nor a place in the program's own pattern for each element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/rf.h"

static int by_column(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* M's pattern: L's and U's and the diagonal, by rows, each column once. */
static int bundle(struct rf *h)
{
    size_t n = (size_t)h->n, room = (size_t)h->nnz_l + (size_t)h->nnz_u + n;
    h->from = calloc(n + 2, sizeof(int));
    h->at = malloc((room + 1) * sizeof(int));
    h->diagonal = malloc((n + 1) * sizeof(int));
    if (!h->from || !h->at || !h->diagonal)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    const struct {
        const int *row, *col;
        int count;
    } of[] = {{h->l_at, h->l_at + h->nnz_l, h->nnz_l}, {h->u_at, h->u_at + h->nnz_u, h->nnz_u}};
    for (int i = 0; i < h->n; i++)
        h->from[i + 2]++;
    for (int k = 0; k < 2; k++)
        for (int p = 0; p < of[k].count; p++)
            h->from[of[k].row[p] + 2]++;
    for (int i = 0; i < h->n; i++)
        h->from[i + 2] += h->from[i + 1];
    for (int i = 0; i < h->n; i++)
        h->at[h->from[i + 1]++] = i;
    for (int k = 0; k < 2; k++)
        for (int p = 0; p < of[k].count; p++)
            h->at[h->from[of[k].row[p] + 1]++] = of[k].col[p];
    int to = 0, first = 0;
    for (int i = 0; i < h->n; i++) {
        int last = h->from[i + 1], begin = to;
        qsort(h->at + first, (size_t)(last - first), sizeof(int), by_column);
        for (int p = first; p < last; p++)
            if (p == first || h->at[p] != h->at[p - 1]) {
                if (h->at[p] == i)
                    h->diagonal[i] = to;
                h->at[to++] = h->at[p];
            }
        h->from[i] = begin;
        first = last;
    }
    h->from[n] = to;
    return CUSOLVER_STATUS_SUCCESS;
}
static int find(const struct rf *h, int row, int col)
{
    const int *at = bsearch(&col, h->at + h->from[row], (size_t)(h->from[row + 1] - h->from[row]), sizeof(int),
                            by_column);
    return at ? (int)(at - h->at) : -1;
}

/* Finds, for each element of A, its place in the bundle of L and U after both permutations, so that refactorising is
 * no search. An element without a place means factors of another matrix. */
static int analyse(void *handle, bool batched)
{
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!h->a || h->batched != batched || h->analysed)
        return CUSOLVER_STATUS_INVALID_VALUE;
    size_t n = (size_t)h->n;
    int *new_row = malloc((n + 1) * sizeof(int)), *new_col = malloc((n + 1) * sizeof(int));
    h->place = malloc(((size_t)h->nnz + 1) * sizeof(int));
    int r = new_row && new_col && h->place ? bundle(h) : CUSOLVER_STATUS_ALLOC_FAILED;
    for (int i = 0; !r && i < h->n; i++) {
        new_row[h->p[i]] = i;
        new_col[h->q[i]] = i;
    }
    for (int k = 0; !r && k < h->nnz; k++) { /* an element for which the factors have no place: they are of another */
        h->place[k] = find(h, new_row[h->row[k]], new_col[h->col[k]]);
        if (h->place[k] < 0)
            r = CUSOLVER_STATUS_INVALID_VALUE;
    }
    if (!r && !(h->m = malloc(((size_t)h->from[n] + 1) * (size_t)h->batch * sizeof(double))))
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    free(new_row);
    free(new_col);
    h->analysed = !r;
    return r;
}
int wrap_cusolverRfAnalyze(void *h) { return analyse(h, false); }
int wrap_cusolverRfBatchAnalyze(void *h) { return analyse(h, true); }

static int reset(void *handle, bool batched, int batch, int n, int nnz, const double *const *values, const void *p,
                 const void *q)
{
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!h->a || h->batched != batched || batch != h->batch || n != h->n || nnz != h->nnz || !p || !q)
        return CUSOLVER_STATUS_INVALID_VALUE;
    for (int k = 0; k < batch; k++) {
        if (!values[k])
            return CUSOLVER_STATUS_INVALID_VALUE;
        if (mu.musaMemcpy(h->a + (size_t)k * (size_t)nnz, values[k], (size_t)nnz * sizeof(double),
                          musaMemcpyDeviceToHost))
            return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    h->factored = false;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfResetValues(int n, int nnz, void *row, void *col, void *val, void *p, void *q, void *h)
{
    const double *values[] = {val};
    return row && col ? reset(h, false, 1, n, nnz, values, p, q) : CUSOLVER_STATUS_INVALID_VALUE;
}

/* Pointers to the batch's arrays, which lie on the host or on the device; to be freed. */
static double **pointers(const void *from, int batch)
{
    struct musaPointerAttributes about;
    size_t bytes = (size_t)batch * sizeof(double *);
    if (!from || batch <= 0)
        return NULL;
    bool device = !mu.musaPointerGetAttributes(&about, from) && about.type == musaMemoryTypeDevice;
    if (!device)
        mu.musaGetLastError(); /* some SDKs report what is no memory of theirs as an error */
    return cumu_rf_fetched(device, from, bytes);
}
int wrap_cusolverRfBatchResetValues(int batch, int n, int nnz, void *row, void *col, void *array, void *p, void *q,
                                    void *h)
{
    const struct rf *rf = cumu_rf(h);
    if (!rf)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    double **values = row && col && batch == rf->batch ? pointers(array, batch) : NULL; /* no more than there are */
    int r = values ? reset(h, true, batch, n, nnz, (const double *const *)values, p, q) : CUSOLVER_STATUS_INVALID_VALUE;
    free(values);
    return r;
}

/* One matrix, row by row, within the pattern: what a factorisation with these orders fills. where: of each column, its
 * element in the row at hand, or -1. The position of a zero pivot, or -1. */
static int factor_one(struct rf *h, const double *a, double *m, int *where)
{
    int zero = -1;
    memset(m, 0, (size_t)h->from[h->n] * sizeof *m);
    for (int k = 0; k < h->nnz; k++)
        m[h->place[k]] += a[k];
    memset(where, -1, (size_t)h->n * sizeof *where);
    for (int i = 0; i < h->n && zero < 0; i++) {
        for (int p = h->from[i]; p < h->from[i + 1]; p++)
            where[h->at[p]] = p;
        for (int p = h->from[i]; p < h->diagonal[i]; p++) {
            int k = h->at[p];
            double factor = m[p] /= m[h->diagonal[k]];
            for (int q = h->diagonal[k] + 1; q < h->from[k + 1]; q++)
                if (where[h->at[q]] >= 0)
                    m[where[h->at[q]]] -= factor * m[q];
        }
        for (int p = h->from[i]; p < h->from[i + 1]; p++)
            where[h->at[p]] = -1;
        double *pivot = &m[h->diagonal[i]];
        if (h->zero > 0 && fabs(*pivot) < h->zero && h->boost > 0) {
            *pivot = *pivot < 0 ? -h->boost : h->boost;
            h->boosted = true;
        }
        if (*pivot == 0)
            zero = i;
    }
    return zero;
}
static int refactor(void *handle, bool batched)
{
    struct rf *h = cumu_rf(handle);
    bool zero = false;
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!h->analysed || h->batched != batched)
        return CUSOLVER_STATUS_INVALID_VALUE;
    int *where = malloc((size_t)h->n * sizeof *where);
    if (!where)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    h->boosted = false;
    for (int k = 0; k < h->batch; k++) {
        h->position[k] = factor_one(h, h->a + (size_t)k * (size_t)h->nnz, h->m + (size_t)k * (size_t)h->from[h->n],
                                    where);
        zero = zero || h->position[k] >= 0;
    }
    free(where);
    h->factored = true;
    return zero && !batched ? CUSOLVER_STATUS_ZERO_PIVOT : CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfRefactor(void *h) { return refactor(h, false); }
int wrap_cusolverRfBatchRefactor(void *h) { return refactor(h, true); }

int wrap_cusolverRfBatchZeroPivot(void *handle, void *position)
{
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!h->factored || !h->batched || !position)
        return CUSOLVER_STATUS_INVALID_VALUE;
    memcpy(position, h->position, (size_t)h->batch * sizeof(int));
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- solving ----------------------------------------------------------------------------------- */

/* A(P, Q) = LU: y = b(P), L and U, x(Q) = y. */
static void solve_one(const struct rf *h, const double *m, const int *p, const int *q, double *x, double *y)
{
    for (int i = 0; i < h->n; i++) {
        y[i] = x[p[i]];
        for (int k = h->from[i]; k < h->diagonal[i]; k++)
            y[i] -= m[k] * y[h->at[k]];
    }
    for (int i = h->n; i-- > 0;) {
        for (int k = h->diagonal[i] + 1; k < h->from[i + 1]; k++)
            y[i] -= m[k] * y[h->at[k]];
        y[i] /= m[h->diagonal[i]];
        x[q[i]] = y[i];
    }
}
/* Solves for each matrix and right-hand side with the factors on the host; columns go there and back one by one. */
static int solve(void *handle, bool batched, const void *p, const void *q, int nrhs, const void *temp, int ldt,
                 double *const *x, int ldx)
{
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!h->factored || h->batched != batched || !p || !q || nrhs <= 0 || !temp || ldt < h->n || ldx < h->n)
        return CUSOLVER_STATUS_INVALID_VALUE;
    size_t n = (size_t)h->n, bytes = n * sizeof(double);
    int *rows = cumu_rf_fetched(true, p, n * sizeof(int)), *cols = cumu_rf_fetched(true, q, n * sizeof(int));
    double *at = malloc(2 * bytes);
    int r = rows && cols && at ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r && (!cumu_rf_permutation(rows, h->n) || !cumu_rf_permutation(cols, h->n)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int k = 0; !r && k < h->batch; k++) {
        if (!x[k])
            r = CUSOLVER_STATUS_INVALID_VALUE;
        for (int j = 0; !r && j < nrhs; j++) {
            double *column = x[k] + (size_t)j * (size_t)ldx;
            if (mu.musaMemcpy(at, column, bytes, musaMemcpyDeviceToHost))
                r = CUSOLVER_STATUS_EXECUTION_FAILED;
            if (!r)
                solve_one(h, h->m + (size_t)k * (size_t)h->from[n], rows, cols, at, at + n);
            if (!r && mu.musaMemcpy(column, at, bytes, musaMemcpyHostToDevice))
                r = CUSOLVER_STATUS_EXECUTION_FAILED;
        }
    }
    free(rows);
    free(cols);
    free(at);
    return r;
}
int wrap_cusolverRfSolve(void *h, void *p, void *q, int nrhs, void *temp, int ldt, void *x, int ldx)
{
    double *all[] = {x};
    return solve(h, false, p, q, nrhs, temp, ldt, all, ldx);
}
int wrap_cusolverRfBatchSolve(void *handle, void *p, void *q, int nrhs, void *temp, int ldt, void *array, int ldx)
{
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    double **x = pointers(array, h->batch);
    int r = x ? solve(h, true, p, q, nrhs, temp, ldt, x, ldx) : CUSOLVER_STATUS_INVALID_VALUE;
    free(x);
    return r;
}
