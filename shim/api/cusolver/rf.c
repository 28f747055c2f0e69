/* cuSOLVER Rf: matrices of one pattern are factored again and again in the order and the pattern that a first
 * factorisation found; on the host. Indices are zero-based, numbers double.
 *
 * KLU's klu_refactor, which takes half the time (tests/bench/README.md), has no way in: it wants factors that KLU made,
 * and knows neither pivots that are raised nor a place in the program's own pattern for each element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sparse.h"

enum { ALIVE = 0x52666163 };
enum { CSR, CSC };
enum { STORED_L, STORED_U, ASSUMED_L, ASSUMED_U };

struct rf {
    int alive, format, unit, factor, solve, fast;
    double zero, boost;
    bool batched, analysed, factored, boosted;
    int n, nnz, batch;
    int *row, *col, *p, *q;            /* of each of A's elements; orders: P[new] = old */
    double *a;                         /* batch times nnz */
    int nnz_l, nnz_u, *l_at, *u_at;    /* rows, then columns, of the factors' elements */
    int *from, *at, *diagonal, *place; /* M = L + U by rows; where each element of A goes in it */
    double *m;                         /* batch times from[n] */
    int *position;                     /* batch: where a pivot was zero */
    void *device[3];                   /* M, as AccessBundledFactorsDevice showed it */
};

static struct rf *alive(void *h) { return h && ((struct rf *)h)->alive == ALIVE ? h : NULL; }

static void empty(struct rf *h)
{
    void *all[] = {h->row,  h->col, h->p,        h->q,     h->a, h->l_at,    h->u_at,
                   h->from, h->at,  h->diagonal, h->place, h->m, h->position};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    for (int i = 0; i < 3; i++)
        if (h->device[i])
            mu.musaFree(h->device[i]);
    *h = (struct rf){.alive = ALIVE,
                     .format = h->format,
                     .unit = h->unit,
                     .factor = h->factor,
                     .solve = h->solve,
                     .fast = h->fast,
                     .zero = h->zero,
                     .boost = h->boost};
}

int wrap_cusolverRfCreate(void *out)
{
    struct rf *h = out ? calloc(1, sizeof *h) : NULL;
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (h)
        *h = (struct rf){.alive = ALIVE, .solve = 1};
    *(struct rf **)out = h;
    return h ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
int wrap_cusolverRfDestroy(void *handle)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    empty(h);
    h->alive = 0;
    free(h);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- settings ---------------------------------------------------------------------------------- */

/* Two values at once; each within its range. */
static int set2(void *handle, bool valid, int *(*where)(struct rf *, int), int first, int second)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!valid)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *where(h, 0) = first;
    *where(h, 1) = second;
    return CUSOLVER_STATUS_SUCCESS;
}
static int get2(void *handle, int *(*where)(struct rf *, int), int *first, int *second)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!first || !second)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *first = *where(h, 0);
    *second = *where(h, 1);
    return CUSOLVER_STATUS_SUCCESS;
}
static int get(void *handle, int (*what)(const struct rf *), int *out)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *out = what(h);
    return CUSOLVER_STATUS_SUCCESS;
}
static int boosted(const struct rf *h) { return h->boosted; }
static int fast(const struct rf *h) { return h->fast; }
static int *algorithms(struct rf *h, int i) { return i ? &h->solve : &h->factor; }
static int *format(struct rf *h, int i) { return i ? &h->unit : &h->format; }
int wrap_cusolverRfSetAlgs(void *h, int factor, int solve)
{
    return set2(h, factor >= 0 && factor <= 2 && solve >= 1 && solve <= 3, algorithms, factor, solve);
}
int wrap_cusolverRfGetAlgs(void *h, void *factor, void *solve) { return get2(h, algorithms, factor, solve); }
int wrap_cusolverRfSetMatrixFormat(void *h, int f, int unit)
{
    return set2(h, f >= CSR && f <= CSC && unit >= STORED_L && unit <= ASSUMED_U, format, f, unit);
}
int wrap_cusolverRfGetMatrixFormat(void *h, void *f, void *unit) { return get2(h, format, f, unit); }
int wrap_cusolverRfSetNumericProperties(void *handle, double zero, double boost)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    h->zero = zero;
    h->boost = boost;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfGetNumericProperties(void *handle, void *zero, void *boost)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!zero || !boost)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *(double *)zero = h->zero;
    *(double *)boost = h->boost;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfGetNumericBoostReport(void *h, void *out) { return get(h, boosted, out); }
/* Values are reset as fast either way. */
int wrap_cusolverRfSetResetValuesFastMode(void *handle, int mode)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (mode < 0 || mode > 1)
        return CUSOLVER_STATUS_INVALID_VALUE;
    h->fast = mode;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfGetResetValuesFastMode(void *h, void *out) { return get(h, fast, out); }

/* ---- setting up -------------------------------------------------------------------------------- */

/* A copy on the host of what lies there or on the device. */
static void *fetched(bool device, const void *from, size_t bytes)
{
    void *to = from ? malloc(bytes + 1) : NULL;
    if (to && device && mu.musaMemcpy(to, from, bytes, musaMemcpyDeviceToHost)) {
        free(to);
        return NULL;
    }
    if (to && !device)
        memcpy(to, from, bytes);
    return to;
}

/* The row and the column of each element of a matrix by rows, or by columns. */
static int coordinates(const struct rf *h, bool device, const void *starts, const void *indices, int nnz, int *row,
                       int *col)
{
    int n = h->n, *first = fetched(device, starts, ((size_t)n + 1) * sizeof(int));
    int *index = fetched(device, indices, (size_t)nnz * sizeof(int));
    int r = first && index ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r && (first[0] != 0 || first[n] != nnz))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int i = 0; !r && i < n; i++)
        if (first[i] > first[i + 1] || first[i + 1] > nnz)
            r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int i = 0; !r && i < n; i++)
        for (int p = first[i]; !r && p < first[i + 1]; p++) {
            row[p] = h->format == CSR ? i : index[p];
            col[p] = h->format == CSR ? index[p] : i;
            if (index[p] < 0 || index[p] >= n)
                r = CUSOLVER_STATUS_INVALID_VALUE;
        }
    free(first);
    free(index);
    return r;
}
static bool permutation(const int *p, int n)
{
    bool *seen = calloc((size_t)n + 1, sizeof *seen), good = seen;
    for (int i = 0; good && i < n; i++) {
        good = p[i] >= 0 && p[i] < n && !seen[p[i]];
        if (good)
            seen[p[i]] = true;
    }
    free(seen);
    return good;
}

struct input {
    const void *row, *col;
    int nnz;
};
/* Takes a refactorisation's matrix, factors and permutations to the host, as coordinates. muSOLVER has none of
 * cusolverRf, and its first step is sequential anyway. */
static int set_up(void *handle, bool device, int batch, int n, struct input a, const double *const *values,
                  struct input l, struct input u, const void *p, const void *q)
{
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (n <= 0 || a.nnz <= 0 || l.nnz < 0 || u.nnz < 0 || batch <= 0 || !a.row || !a.col || !l.row || !l.col ||
        !u.row || !u.col || !p || !q)
        return CUSOLVER_STATUS_INVALID_VALUE;
    empty(h);
    size_t count = (size_t)a.nnz;
    h->n = n, h->nnz = a.nnz, h->batch = batch, h->nnz_l = l.nnz, h->nnz_u = u.nnz;
    h->row = malloc(count * sizeof(int));
    h->col = malloc(count * sizeof(int));
    h->a = malloc(count * (size_t)batch * sizeof(double));
    h->p = fetched(device, p, (size_t)n * sizeof(int));
    h->q = fetched(device, q, (size_t)n * sizeof(int));
    h->l_at = malloc(2 * (size_t)l.nnz * sizeof(int) + 1);
    h->u_at = malloc(2 * (size_t)u.nnz * sizeof(int) + 1);
    h->position = malloc((size_t)batch * sizeof(int));
    int r = h->row && h->col && h->a && h->p && h->q && h->l_at && h->u_at && h->position
                ? CUSOLVER_STATUS_SUCCESS
                : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = coordinates(h, device, a.row, a.col, a.nnz, h->row, h->col);
    if (!r)
        r = coordinates(h, device, l.row, l.col, l.nnz, h->l_at, h->l_at + l.nnz);
    if (!r)
        r = coordinates(h, device, u.row, u.col, u.nnz, h->u_at, h->u_at + u.nnz);
    if (!r && (!permutation(h->p, n) || !permutation(h->q, n)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int k = 0; !r && k < batch; k++) {
        double *val = values[k] ? fetched(device, values[k], count * sizeof(double)) : NULL;
        if (val)
            memcpy(h->a + (size_t)k * count, val, count * sizeof(double));
        else
            r = values[k] ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_INVALID_VALUE;
        free(val);
    }
    if (r)
        empty(h);
    return r;
}
int wrap_cusolverRfSetupHost(int n, int nnz, void *row, void *col, void *val, int nnz_l, void *row_l, void *col_l,
                             void *val_l, int nnz_u, void *row_u, void *col_u, void *val_u, void *p, void *q, void *h)
{
    const double *values[] = {val};
    (void)val_l, (void)val_u;
    return set_up(h, false, 1, n, (struct input){row, col, nnz}, values, (struct input){row_l, col_l, nnz_l},
                  (struct input){row_u, col_u, nnz_u}, p, q);
}
int wrap_cusolverRfSetupDevice(int n, int nnz, void *row, void *col, void *val, int nnz_l, void *row_l, void *col_l,
                               void *val_l, int nnz_u, void *row_u, void *col_u, void *val_u, void *p, void *q, void *h)
{
    const double *values[] = {val};
    (void)val_l, (void)val_u;
    return set_up(h, true, 1, n, (struct input){row, col, nnz}, values, (struct input){row_l, col_l, nnz_l},
                  (struct input){row_u, col_u, nnz_u}, p, q);
}
int wrap_cusolverRfBatchSetupHost(int batch, int n, int nnz, void *row, void *col, void *values, int nnz_l, void *row_l,
                                  void *col_l, void *val_l, int nnz_u, void *row_u, void *col_u, void *val_u, void *p,
                                  void *q, void *handle)
{
    (void)val_l, (void)val_u;
    if (!values)
        return CUSOLVER_STATUS_INVALID_VALUE;
    int r = set_up(handle, false, batch, n, (struct input){row, col, nnz}, values, (struct input){row_l, col_l, nnz_l},
                   (struct input){row_u, col_u, nnz_u}, p, q);
    if (!r)
        ((struct rf *)handle)->batched = true;
    return r;
}

/* ---- factors ----------------------------------------------------------------------------------- */

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
    struct rf *h = alive(handle);
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
    struct rf *h = alive(handle);
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
    return fetched(device, from, bytes);
}
int wrap_cusolverRfBatchResetValues(int batch, int n, int nnz, void *row, void *col, void *array, void *p, void *q,
                                    void *h)
{
    const struct rf *rf = alive(h);
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
    struct rf *h = alive(handle);
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
    struct rf *h = alive(handle);
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
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!h->factored || h->batched != batched || !p || !q || nrhs <= 0 || !temp || ldt < h->n || ldx < h->n)
        return CUSOLVER_STATUS_INVALID_VALUE;
    size_t n = (size_t)h->n, bytes = n * sizeof(double);
    int *rows = fetched(true, p, n * sizeof(int)), *cols = fetched(true, q, n * sizeof(int));
    double *at = malloc(2 * bytes);
    int r = rows && cols && at ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r && (!permutation(rows, h->n) || !permutation(cols, h->n)))
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
    struct rf *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    double **x = pointers(array, h->batch);
    int r = x ? solve(h, true, p, q, nrhs, temp, ldt, x, ldx) : CUSOLVER_STATUS_INVALID_VALUE;
    free(x);
    return r;
}

/* ---- looking at factors ------------------------------------------------------------------------ */

/* With a unit diagonal of U the scale of each row of U is L's column's instead. */
static double shown(const struct rf *h, int row, int k)
{
    int col = h->at[k];
    bool unit_u = h->unit == STORED_U || h->unit == ASSUMED_U;
    if (!unit_u)
        return h->m[k];
    return col > row ? h->m[k] / h->m[h->diagonal[row]] : col < row ? h->m[k] * h->m[h->diagonal[col]] : h->m[k];
}
static int ready(const struct rf *h)
{
    return !h                           ? CUSOLVER_STATUS_NOT_INITIALIZED
           : !h->factored || h->batched ? CUSOLVER_STATUS_INVALID_VALUE
                                        : CUSOLVER_STATUS_SUCCESS;
}

/* By rows or by columns as the program has its matrices; which: below the diagonal, on it, above. Memory is malloc's
 * and the program's. */
static int extracted(const struct rf *h, const bool which[3], bool ones, int *nnz, int **starts, int **indices,
                     double **values)
{
    size_t n = (size_t)h->n, count = (size_t)h->from[n] + n;
    *starts = calloc(n + 2, sizeof(int));
    *indices = malloc((count + 1) * sizeof(int));
    *values = malloc((count + 1) * sizeof(double));
    if (!*starts || !*indices || !*values) {
        free(*starts), free(*indices), free(*values);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    int *begin = *starts + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < h->n; i++)
            for (int k = h->from[i]; k < h->from[i + 1]; k++) {
                int j = h->at[k], side = j < i ? 0 : j == i ? 1 : 2, major = h->format == CSR ? i : j;
                if (!which[side] && !(ones && side == 1))
                    continue;
                if (!pass) {
                    begin[major + 1]++;
                } else {
                    int to = begin[major]++;
                    (*indices)[to] = h->format == CSR ? j : i;
                    (*values)[to] = ones && side == 1 ? 1 : shown(h, i, k);
                }
            }
        for (int i = 0; !pass && i < h->n; i++)
            begin[i + 1] += begin[i];
    }
    *nnz = (*starts)[n];
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfExtractBundledFactorsHost(void *handle, void *nnz, void *starts, void *indices, void *values)
{
    static const bool all[3] = {true, true, true};
    struct rf *h = alive(handle);
    int r = ready(h);
    if (!r && (!nnz || !starts || !indices || !values))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    return r ? r : extracted(h, all, false, nnz, starts, indices, values);
}
int wrap_cusolverRfExtractSplitFactorsHost(void *handle, void *nnz_l, void *starts_l, void *indices_l, void *values_l,
                                           void *nnz_u, void *starts_u, void *indices_u, void *values_u)
{
    struct rf *h = alive(handle);
    int r = ready(h);
    if (!r && (!nnz_l || !starts_l || !indices_l || !values_l || !nnz_u || !starts_u || !indices_u || !values_u))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    bool unit_u = h->unit == STORED_U || h->unit == ASSUMED_U;
    const bool lower[3] = {true, unit_u, false}, upper[3] = {false, !unit_u, true};
    r = extracted(h, lower, h->unit == STORED_L, nnz_l, starts_l, indices_l, values_l);
    if (!r)
        r = extracted(h, upper, h->unit == STORED_U, nnz_u, starts_u, indices_u, values_u);
    return r;
}
/* Copies of the factors on the device, made once and kept with the handle, as cuSOLVER hands out its own arrays. */
int wrap_cusolverRfAccessBundledFactorsDevice(void *handle, void *nnz, void *starts, void *indices, void *values)
{
    static const bool all[3] = {true, true, true};
    struct rf *h = alive(handle);
    void **out[3] = {starts, indices, values}, *host[3] = {NULL};
    int count, r = ready(h);
    if (!r && (!nnz || !starts || !indices || !values))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = extracted(h, all, false, &count, (int **)&host[0], (int **)&host[1], (double **)&host[2]);
    if (r)
        return r;
    const size_t bytes[3] = {((size_t)h->n + 1) * sizeof(int), (size_t)count * sizeof(int),
                             (size_t)count * sizeof(double)};
    for (int i = 0; i < 3; i++) {
        if (!r && !h->device[i] && mu.musaMalloc(&h->device[i], bytes[i]))
            r = CUSOLVER_STATUS_ALLOC_FAILED;
        if (!r && mu.musaMemcpy(h->device[i], host[i], bytes[i], musaMemcpyHostToDevice))
            r = CUSOLVER_STATUS_EXECUTION_FAILED;
        if (!r)
            *out[i] = h->device[i];
        free(host[i]);
    }
    if (!r)
        *(int *)nnz = count;
    return r;
}
