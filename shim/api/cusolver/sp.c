/* cuSOLVER Sp: handles, the way of matrices to the host, orders of rows and columns. */
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sp.h"
#include "api/object.h"

/* ---- handles ----------------------------------------------------------------------------------- */

struct handle {
    cudaStream_t stream;
};
int wrap_cusolverSpCreate(void *out)
{
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    struct handle *h = cumu_object_new(CUMU_SP, sizeof *h);
    *(struct handle **)out = h;
    return h ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
static struct handle *alive(void *h) { return cumu_object(CUMU_SP, h); }
int wrap_cusolverSpDestroy(void *handle)
{
    if (!cumu_object_end(CUMU_SP, handle))
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverSpSetStream(void *handle, cudaStream_t stream)
{
    struct handle *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    h->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}
int cumu_sp_stream(void *handle, musaStream_t *stream)
{
    struct handle *h = alive(handle);
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    *stream = (musaStream_t)h->stream;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverSpGetStream(void *handle, cudaStream_t *stream)
{
    musaStream_t s;
    int r = cumu_sp_stream(handle, &s);
    if (!r && !stream)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        *stream = (cudaStream_t)s;
    return r;
}

/* ---- to the host and back ---------------------------------------------------------------------- */

static bool copy(void *h, bool device, void *to, const void *from, size_t bytes, int kind)
{
    musaStream_t stream;
    if (!device)
        memcpy(to, from, bytes);
    return !device || !bytes ||
           (!cumu_sp_stream(h, &stream) && !mu.musaMemcpyAsync(to, from, bytes, kind, stream) &&
            !mu.musaStreamSynchronize(stream));
}
void *cumu_sp_fetch(void *h, bool device, const void *from, size_t n, size_t size)
{
    void *to = malloc(n * size + 1);
    if (to && !copy(h, device, to, from, n * size, musaMemcpyDeviceToHost)) {
        free(to);
        to = NULL;
    }
    return to;
}
int cumu_sp_store(void *h, bool device, void *to, const void *from, size_t n, size_t size)
{
    return copy(h, device, to, from, n * size, musaMemcpyHostToDevice) ? CUSOLVER_STATUS_SUCCESS
                                                                       : CUSOLVER_STATUS_EXECUTION_FAILED;
}
int cumu_sp_numbers(void *h, int type, bool device, const void *from, size_t n, void **out)
{
    const struct cumu_sparse *of = cumu_sp_of(type);
    void *raw = cumu_sp_fetch(h, device, from, n, cumu_solver_size(type));
    *out = malloc(n * of->size + 1);
    if (raw && *out)
        of->in(*out, raw, n, cumu_sp_single(type));
    bool made = raw && *out;
    free(raw);
    if (made)
        return CUSOLVER_STATUS_SUCCESS;
    free(*out);
    *out = NULL;
    return CUSOLVER_STATUS_ALLOC_FAILED;
}
int cumu_sp_results(void *h, int type, bool device, void *to, const void *numbers, size_t n)
{
    void *raw = malloc(n * cumu_solver_size(type) + 1);
    if (!raw)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    cumu_sp_of(type)->out(raw, numbers, n, cumu_sp_single(type));
    int r = cumu_sp_store(h, device, to, raw, n, cumu_solver_size(type));
    free(raw);
    return r;
}

int cumu_sp_solve(void *h, int type, bool device, const struct cumu_factor *f, int m, int n, const void *b, void *x)
{
    const struct cumu_sparse *of = cumu_sp_of(type);
    void *numbers, *found = malloc((size_t)n * of->size + 1);
    int r = cumu_sp_numbers(h, type, device, b, (size_t)m, &numbers);
    if (!r && !found)
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = of->solve(f, numbers, found, NULL);
    if (!r)
        r = cumu_sp_results(h, type, device, x, found, (size_t)n);
    free(numbers);
    free(found);
    return r;
}

/* ---- matrices ---------------------------------------------------------------------------------- */

void cumu_csr_free(struct cumu_csr *a)
{
    free(a->row);
    free(a->col);
    free(a->val);
    *a = (struct cumu_csr){0};
}

int cumu_sp_check(const struct cumu_sp *from, int *base)
{
    musaStream_t stream;
    int r = cumu_sp_stream(from->h, &stream);
    if (r)
        return r;
    if (from->m <= 0 || from->n <= 0 || from->nnz <= 0 || !from->descr)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (mu.musparseGetMatType((musparseMatDescr_t)from->descr) != (musparseMatrixType_t)CUSPARSE_MATRIX_TYPE_GENERAL)
        return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
    *base = (int)mu.musparseGetMatIndexBase((musparseMatDescr_t)from->descr);
    return CUSOLVER_STATUS_SUCCESS;
}

/* Zero-based; false for what is no matrix of these sizes. */
static bool rebase(struct cumu_csr *a, int nnz, int base)
{
    for (int i = 0; i <= a->m; i++) {
        a->row[i] -= base;
        if (a->row[i] < (i ? a->row[i - 1] : 0) || a->row[i] > nnz)
            return false;
    }
    for (int p = 0; p < nnz; p++) {
        a->col[p] -= base;
        if (a->col[p] < 0 || a->col[p] >= a->n)
            return false;
    }
    return a->row[0] == 0 && a->row[a->m] == nnz;
}

/* Columns of each row ascending: through the transposed matrix and back, which takes as long as there are elements. */
static int sort(struct cumu_csr *a, size_t size)
{
    size_t count = (size_t)a->row[a->m] + 1, widest = (size_t)(a->m > a->n ? a->m : a->n) + 2;
    bool sorted = true;
    for (int i = 0; i < a->m; i++)
        for (int p = a->row[i] + 1; p < a->row[i + 1]; p++)
            sorted = sorted && a->col[p - 1] < a->col[p];
    if (sorted)
        return CUSOLVER_STATUS_SUCCESS;
    int *first = calloc(widest, sizeof(int)), *row = malloc(count * sizeof(int)), *from = malloc(count * sizeof(int));
    int *col = malloc(count * sizeof(int));
    char *val = a->val ? malloc(count * size) : NULL;
    bool made = first && row && from && col && (val || !a->val);
    if (made) {
        for (int p = 0; p < a->row[a->m]; p++)
            first[a->col[p] + 1]++;
        for (int j = 0; j < a->n; j++)
            first[j + 1] += first[j];
        for (int i = 0; i < a->m; i++)
            for (int p = a->row[i]; p < a->row[i + 1]; p++) {
                int to = first[a->col[p]]++;
                row[to] = i;
                from[to] = p;
            }
        memcpy(first, a->row, (size_t)a->m * sizeof(int));
        for (int q = 0; q < a->row[a->m]; q++) {
            int to = first[row[q]]++;
            col[to] = a->col[from[q]];
            if (val)
                memcpy(val + (size_t)to * size, (char *)a->val + (size_t)from[q] * size, size);
        }
        free(a->col);
        free(a->val);
        a->col = col;
        a->val = val;
    } else {
        free(col);
        free(val);
    }
    free(first);
    free(row);
    free(from);
    return made ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

/* An element that is there several times is their sum. Numbers are one or two doubles. */
static void merge(struct cumu_csr *a, size_t size)
{
    size_t parts = size / sizeof(double);
    double *val = a->val;
    int to = 0, first = 0;
    for (int i = 0; i < a->m; i++) {
        int begin = to, end = a->row[i + 1];
        for (int p = first; p < end; p++) {
            bool same = to > begin && a->col[to - 1] == a->col[p];
            for (size_t k = 0; val && k < parts; k++) {
                double add = val[(size_t)p * parts + k];
                if (same)
                    val[(size_t)(to - 1) * parts + k] += add;
                else
                    val[(size_t)to * parts + k] = add;
            }
            if (!same)
                a->col[to++] = a->col[p];
        }
        first = end;
        a->row[i + 1] = to;
    }
}

int cumu_sp_take(const struct cumu_sp *from, struct cumu_csr *out)
{
    int base, r = cumu_sp_check(from, &base);
    *out = (struct cumu_csr){.m = from->m, .n = from->n};
    if (r)
        return r;
    if (!from->row || !from->col)
        return CUSOLVER_STATUS_INVALID_VALUE;
    out->row = cumu_sp_fetch(from->h, from->device, from->row, (size_t)from->m + 1, sizeof(int));
    out->col = cumu_sp_fetch(from->h, from->device, from->col, (size_t)from->nnz, sizeof(int));
    if (!out->row || !out->col)
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r && !rebase(out, from->nnz, base))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r && from->val)
        r = cumu_sp_numbers(from->h, from->type, from->device, from->val, (size_t)from->nnz, &out->val);
    if (!r)
        r = sort(out, cumu_sp_of(from->type)->size);
    if (r)
        cumu_csr_free(out);
    else
        merge(out, cumu_sp_of(from->type)->size);
    return r;
}

int cumu_sp_permuted(const struct cumu_csr *a, const struct cumu_sparse *of, const int *order, struct cumu_csr *out)
{
    size_t count = (size_t)a->row[a->m] + 1;
    int to = 0, *place = malloc(((size_t)a->n + 1) * sizeof(int));
    *out = (struct cumu_csr){a->m, a->n, malloc(((size_t)a->m + 1) * sizeof(int)), malloc(count * sizeof(int)),
                             malloc(count * of->size)};
    int r = place && out->row && out->col && out->val ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    for (int j = 0; !r && j < a->n; j++)
        place[order[j]] = j;
    for (int i = 0; !r && i < a->m; i++) {
        out->row[i] = to;
        for (int p = a->row[order[i]]; p < a->row[order[i] + 1]; p++, to++) {
            out->col[to] = place[a->col[p]];
            memcpy((char *)out->val + (size_t)to * of->size, (char *)a->val + (size_t)p * of->size, of->size);
        }
    }
    if (!r) {
        out->row[a->m] = to;
        r = sort(out, of->size);
    }
    free(place);
    if (r)
        cumu_csr_free(out);
    return r;
}

/* ---- orders of a program's matrix -------------------------------------------------------------- */

static int order_of(int how, void *h, int n, int nnz, const void *descr, const void *row, const void *col, int *order)
{
    struct cumu_csr a;
    struct cumu_sp from = {.h = h, .m = n, .n = n, .nnz = nnz, .descr = descr, .row = row, .col = col};
    int r = cumu_sp_take(&from, &a);
    if (!r)
        r = order ? cumu_sparse_order(how, &a, order) : CUSOLVER_STATUS_INVALID_VALUE;
    cumu_csr_free(&a);
    return r;
}
int wrap_cusolverSpXcsrsymrcmHost(void *h, int n, int nnz, void *descr, const void *row, const void *col, void *p)
{
    return order_of(CUMU_ORDER_RCM, h, n, nnz, descr, row, col, p);
}
int wrap_cusolverSpXcsrsymamdHost(void *h, int n, int nnz, void *descr, const void *row, const void *col, void *p)
{
    return order_of(CUMU_ORDER_AMD, h, n, nnz, descr, row, col, p);
}
/* METIS' options choose among its own methods. */
int wrap_cusolverSpXcsrmetisndHost(void *h, int n, int nnz, void *descr, const void *row, const void *col,
                                   const void *options, void *p)
{
    (void)options;
    return order_of(CUMU_ORDER_ND, h, n, nnz, descr, row, col, p);
}

/* The end of a row is told apart from the next one's beginning. */
int wrap_cusolverSpXcsrissymHost(void *h, int m, int nnz, void *descr, const void *row, const void *row_end,
                                 const void *col, void *out)
{
    struct cumu_sp from = {.h = h, .m = m, .n = m, .nnz = nnz, .descr = descr};
    const int *begin = row, *end = row_end, *c = col;
    int base, r = cumu_sp_check(&from, &base);
    if (r)
        return r;
    if (!row || !row_end || !col || !out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    /* Symmetric when each row meets the same columns as the rows met by its column: sums over pairs would lie, so
     * look each up. */
    *(int *)out = 1;
    for (int i = 0; i < m; i++)
        for (int p = begin[i] - base; p < end[i] - base; p++) {
            int j = c[p] - base, q;
            if (j < 0 || j >= m)
                return CUSOLVER_STATUS_INVALID_VALUE;
            for (q = begin[j] - base; q < end[j] - base && c[q] != i + base; q++)
                continue;
            if (q == end[j] - base)
                *(int *)out = 0;
        }
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- permutations ------------------------------------------------------------------------------ */

int wrap_cusolverSpXcsrperm_bufferSizeHost(void *h, int m, int n, int nnz, void *descr, const void *row,
                                           const void *col, const void *p, const void *q, void *bytes)
{
    struct cumu_sp from = {.h = h, .m = m, .n = n, .nnz = nnz, .descr = descr};
    int base, r = cumu_sp_check(&from, &base);
    if (!r && (!row || !col || !p || !q || !bytes))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        *(size_t *)bytes = ((size_t)m + 1 + (size_t)n + 2 * (size_t)nnz) * sizeof(int);
    return r;
}
static bool permutation(const int *p, int n, int *place)
{
    memset(place, -1, (size_t)n * sizeof *place);
    for (int i = 0; i < n; i++) {
        if (p[i] < 0 || p[i] >= n || place[p[i]] >= 0)
            return false;
        place[p[i]] = i;
    }
    return true;
}
/* B = A(p, q), in the buffer first; map's values go the way of their elements. */
int wrap_cusolverSpXcsrpermHost(void *h, int m, int n, int nnz, void *descr, void *row, void *col, const void *p,
                                const void *q, void *map, void *buffer)
{
    struct cumu_sp from = {.h = h, .m = m, .n = n, .nnz = nnz, .descr = descr};
    int base, r = cumu_sp_check(&from, &base), to = 0;
    if (!r && (!row || !col || !p || !q || !map || !buffer))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    int *rows = row, *cols = col, *maps = map, *begin = buffer;
    int *place = begin + m + 1, *c = place + n, *moved = c + nnz;
    const int *from_row = p;
    if (!permutation(p, m, begin) || !permutation(q, n, place))
        return CUSOLVER_STATUS_INVALID_VALUE;
    for (int i = 0; i < m; i++) {
        int first = to;
        begin[i] = to + base;
        for (int at = rows[from_row[i]] - base; at < rows[from_row[i] + 1] - base; at++) {
            int j, k = to++;
            if (at < 0 || k >= nnz || cols[at] < base || cols[at] >= n + base)
                return CUSOLVER_STATUS_INVALID_VALUE;
            for (j = place[cols[at] - base] + base; k > first && c[k - 1] > j; k--)
                c[k] = c[k - 1], moved[k] = moved[k - 1];
            c[k] = j;
            moved[k] = maps[at];
        }
    }
    begin[m] = to + base;
    memcpy(rows, begin, ((size_t)m + 1) * sizeof(int));
    memcpy(cols, c, (size_t)to * sizeof(int));
    memcpy(maps, moved, (size_t)to * sizeof(int));
    return CUSOLVER_STATUS_SUCCESS;
}

/* Elements that are zero do not fill the diagonal. */
static int zero_free(int type, void *h, int n, int nnz, const void *descr, const void *val, const void *row,
                     const void *col, int *order, int *found)
{
    size_t parts = cumu_sp_of(type)->size / sizeof(double);
    struct cumu_csr a;
    struct cumu_sp from = {h, type, n, n, nnz, false, descr, val, row, col};
    int r = val && order && found ? cumu_sp_take(&from, &a) : CUSOLVER_STATUS_INVALID_VALUE, to = 0, first = 0;
    if (r)
        return r;
    for (int i = 0; i < n; i++) {
        int end = a.row[i + 1];
        for (int p = first; p < end; p++) {
            const double *v = (const double *)a.val + (size_t)p * parts;
            if (v[0] != 0 || v[parts - 1] != 0)
                a.col[to++] = a.col[p];
        }
        first = end;
        a.row[i + 1] = to;
    }
    r = cumu_sparse_diagonal(&a, order, found);
    cumu_csr_free(&a);
    return r;
}
#define ZERO_FREE(X, t) \
    int wrap_cusolverSp##X##csrzfdHost(void *h, int n, int nnz, void *descr, const void *val, const void *row, \
                                       const void *col, void *order, void *found) \
    { \
        return zero_free(t, h, n, nnz, descr, val, row, col, order, found); \
    }
ZERO_FREE(S, S)
ZERO_FREE(D, D)
ZERO_FREE(C, C)
ZERO_FREE(Z, Z)
