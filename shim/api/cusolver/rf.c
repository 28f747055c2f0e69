/* cuSOLVER Rf: matrices of one pattern are factored again and again in the order and the pattern that a first
 * factorisation found; on the host. Indices are zero-based, numbers double. Here: handles, what is handed in, and how
 * the factors are shown; the arithmetic is in rf_factor.c. */
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/rf.h"

enum { CSR, CSC };
enum { STORED_L, STORED_U, ASSUMED_L, ASSUMED_U };

static void empty(struct rf *h)
{
    void *all[] = {h->row,  h->col, h->p,        h->q,     h->a, h->l_at,    h->u_at,
                   h->from, h->at,  h->diagonal, h->place, h->m, h->position};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    for (int i = 0; i < 3; i++)
        if (h->device[i])
            mu.musaFree(h->device[i]);
    *h = (struct rf){.format = h->format,
                     .unit = h->unit,
                     .factor = h->factor,
                     .solve = h->solve,
                     .fast = h->fast,
                     .zero = h->zero,
                     .boost = h->boost};
}

int wrap_cusolverRfCreate(void *out)
{
    struct rf *h = out ? cumu_object_new(CUMU_RF, sizeof *h) : NULL;
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (h)
        h->solve = 1;
    *(struct rf **)out = h;
    return h ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
int wrap_cusolverRfDestroy(void *handle)
{
    struct rf *h = cumu_rf(handle);
    if (!h || !cumu_object_end(CUMU_RF, h))
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    empty(h);
    free(h);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- settings ---------------------------------------------------------------------------------- */

/* Two values at once; each within its range. */
static int set2(void *handle, bool valid, int *(*where)(struct rf *, int), int first, int second)
{
    struct rf *h = cumu_rf(handle);
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
    struct rf *h = cumu_rf(handle);
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
    struct rf *h = cumu_rf(handle);
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
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    h->zero = zero;
    h->boost = boost;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfGetNumericProperties(void *handle, void *zero, void *boost)
{
    struct rf *h = cumu_rf(handle);
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
    struct rf *h = cumu_rf(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (mode < 0 || mode > 1)
        return CUSOLVER_STATUS_INVALID_VALUE;
    h->fast = mode;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverRfGetResetValuesFastMode(void *h, void *out) { return get(h, fast, out); }

/* ---- setting up -------------------------------------------------------------------------------- */

void *cumu_rf_fetched(bool device, const void *from, size_t bytes)
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
    int n = h->n, *first = cumu_rf_fetched(device, starts, ((size_t)n + 1) * sizeof(int));
    int *index = cumu_rf_fetched(device, indices, (size_t)nnz * sizeof(int));
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
bool cumu_rf_permutation(const int *p, int n)
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
    struct rf *h = cumu_rf(handle);
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
    h->p = cumu_rf_fetched(device, p, (size_t)n * sizeof(int));
    h->q = cumu_rf_fetched(device, q, (size_t)n * sizeof(int));
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
    if (!r && (!cumu_rf_permutation(h->p, n) || !cumu_rf_permutation(h->q, n)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int k = 0; !r && k < batch; k++) {
        double *val = values[k] ? cumu_rf_fetched(device, values[k], count * sizeof(double)) : NULL;
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
    struct rf *h = cumu_rf(handle);
    int r = ready(h);
    if (!r && (!nnz || !starts || !indices || !values))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    return r ? r : extracted(h, all, false, nnz, starts, indices, values);
}
int wrap_cusolverRfExtractSplitFactorsHost(void *handle, void *nnz_l, void *starts_l, void *indices_l, void *values_l,
                                           void *nnz_u, void *starts_u, void *indices_u, void *values_u)
{
    struct rf *h = cumu_rf(handle);
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
    struct rf *h = cumu_rf(handle);
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
