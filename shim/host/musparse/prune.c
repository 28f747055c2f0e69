/* muSPARSE's pruning: rows of the elements whose modulus is above a threshold, from dense and from sparse matrices; the
 * threshold is given, or leaves out a percentage of them. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musparse/legacy.h"

struct pruning {
    int m, n, ld, nnz, base, base_out;
    musaDataType_t type;
    const void *a;        /* dense, or the values */
    const int *ptr, *ind; /* of the sparse one */
    struct scalar threshold;
    double percentage; /* or negative */
    int *ptr_out, *ind_out, *total;
    void *val_out;
};

static double modulus(const struct pruning *p, size_t k)
{
    double v = 0;
    musparse_widen(&v, D, (const char *)p->a + k * musparse_size(p->type), p->type, 1);
    return v < 0 ? -v : v;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The modulus that as many of the ascending ones do not exceed as shall go. Negative: no memory. */
static double percentile(const struct pruning *p)
{
    size_t n = p->ptr ? (size_t)p->nnz : (size_t)p->m * (size_t)p->n, to = 0;
    double *all = maths_alloc(n * sizeof *all + 1);
    if (!all || !n) {
        free(all);
        return n ? -1 : 0;
    }
    for (int j = 0; !p->ptr && j < p->n; j++)
        for (int i = 0; i < p->m; i++)
            all[to++] = modulus(p, (size_t)j * (size_t)p->ld + (size_t)i);
    for (; to < n; to++)
        all[to] = modulus(p, to);
    qsort(all, n, sizeof *all, ascending);
    double at = (double)n * (p->percentage / 100), last = (double)n - 1, whole = (double)(size_t)at;
    at = (at > whole ? whole + 1 : whole) - 1;
    double found = all[(size_t)(at < 0 ? 0 : at > last ? last : at)];
    free(all);
    return found;
}

/* Keeps the elements above a threshold (given, or a percentile), of a dense or a sparse matrix: called once to count
 * and once to write, as cuSPARSE's interface is. */
static void run(const void *call)
{
    const struct pruning *p = call;
    size_t size = musparse_size(p->type), to = 0;
    double threshold = p->percentage < 0 ? creal(musparse_read(&p->threshold)) : percentile(p);
    if (p->percentage >= 0 && threshold < 0)
        return;
    for (int i = 0; i < p->m; i++) {
        int from = p->ptr ? p->ptr[i] - p->base : 0, end = p->ptr ? p->ptr[i + 1] - p->base : p->n;
        if (p->total)
            p->ptr_out[i] = (int)to + p->base_out;
        for (int k = from; k < end; k++) {
            size_t at = p->ptr ? (size_t)k : (size_t)k * (size_t)p->ld + (size_t)i;
            if (!(modulus(p, at) > threshold))
                continue;
            if (p->ind_out) {
                p->ind_out[to] = (p->ptr ? p->ind[k] - p->base : k) + p->base_out;
                memcpy((char *)p->val_out + to * size, (const char *)p->a + at * size, size);
            }
            to++;
        }
    }
    if (p->total) {
        p->ptr_out[p->m] = (int)to + p->base_out;
        *p->total = (int)to;
    }
}

/* One step: the size (`size`), the count (p->total), or the elements. */
static musparseStatus_t prune(musparseHandle_t h, const struct pruning *given, musparseConstMatDescr_t da,
                              const void *threshold, musparseConstMatDescr_t dc, size_t *size)
{
    struct pruning p = *given;
    LIVE(h);
    SIZES(p.m >= 0 && p.n >= 0 && p.nnz >= 0 && (da || p.ld >= p.m));
    VALUES(p.percentage < 0 || (threshold == NULL && p.percentage <= 100));
    POINTERS(p.percentage >= 0 || threshold);
    DESCRIBED(dc);
    if (da) {
        DESCRIBED(da);
        p.base = da->base;
        POINTERS(p.ptr && (!p.nnz || (p.a && p.ind)));
    } else {
        POINTERS(p.a || !p.m || !p.n);
    }
    if (size) {
        *size = 16;
        return MUSPARSE_STATUS_SUCCESS;
    }
    p.base_out = dc->base;
    if (p.percentage < 0)
        p.threshold = musparse_scalar(h, threshold, p.type);
    POINTERS(p.ptr_out);
    if (p.total)
        return musparse_submit_result(h, run, &p, sizeof p, 1e9);
    return p.val_out && p.ind_out ? musparse_submit(h, run, &p, sizeof p, 1e9) : MUSPARSE_STATUS_SUCCESS;
}

/* What is pruned. */
static struct pruning dense(int m, int n, const void *a, int lda, musaDataType_t type, double percentage)
{
    return (struct pruning){.m = m, .n = n, .ld = lda, .type = type, .a = a, .percentage = percentage};
}
static struct pruning sparse(int m, int n, int nnz, const void *val, const int *ptr, const int *ind,
                             musaDataType_t type, double percentage)
{
    return (struct pruning){
        .m = m, .n = n, .nnz = nnz, .type = type, .a = val, .ptr = ptr, .ind = ind, .percentage = percentage};
}
/* The three steps of it. */
static musparseStatus_t size_of(musparseHandle_t h, struct pruning p, musparseConstMatDescr_t da, const void *threshold,
                                musparseConstMatDescr_t dc, size_t *size)
{
    POINTERS(size);
    return prune(h, &p, da, threshold, dc, size);
}
static musparseStatus_t count(musparseHandle_t h, struct pruning p, musparseConstMatDescr_t da, const void *threshold,
                              musparseConstMatDescr_t dc, int *ptr, int *total)
{
    POINTERS(total);
    p.ptr_out = ptr;
    p.total = total;
    return prune(h, &p, da, threshold, dc, NULL);
}
static musparseStatus_t fill(musparseHandle_t h, struct pruning p, musparseConstMatDescr_t da, const void *threshold,
                             musparseConstMatDescr_t dc, void *val, const int *ptr, int *ind)
{
    p.val_out = val;
    p.ptr_out = (int *)(uintptr_t)ptr;
    p.ind_out = ind;
    return prune(h, &p, da, threshold, dc, NULL);
}

#define FN(name, ...) musparseStatus_t musparse##name(musparseHandle_t h, int m, int n, __VA_ARGS__)
#define FROM_DENSE(T) const T *a, int lda
#define FROM_SPARSE(T) int nnza, musparseConstMatDescr_t da, const T *vala, const int *ptra, const int *inda
#define SIZE_OF(T) musparseConstMatDescr_t dc, const T *valc, const int *ptrc, const int *indc
#define COUNT musparseConstMatDescr_t dc, int *ptrc, int *total
#define FILL(T) musparseConstMatDescr_t dc, T *valc, const int *ptrc, int *indc
#define PRUNE(X, T, type) \
    FN(X##pruneDense2csr_bufferSizeExt, FROM_DENSE(T), const T *threshold, SIZE_OF(T), size_t *size) \
    { \
        (void)valc, (void)ptrc, (void)indc; \
        return size_of(h, dense(m, n, a, lda, type, -1), NULL, threshold, dc, size); \
    } \
    FN(X##pruneDense2csrNnz, FROM_DENSE(T), const T *threshold, COUNT, void *buffer) \
    { \
        (void)buffer; \
        return count(h, dense(m, n, a, lda, type, -1), NULL, threshold, dc, ptrc, total); \
    } \
    FN(X##pruneDense2csr, FROM_DENSE(T), const T *threshold, FILL(T), void *buffer) \
    { \
        (void)buffer; \
        return fill(h, dense(m, n, a, lda, type, -1), NULL, threshold, dc, valc, ptrc, indc); \
    } \
    FN(X##pruneCsr2csr_bufferSizeExt, FROM_SPARSE(T), const T *threshold, SIZE_OF(T), size_t *size) \
    { \
        (void)valc, (void)ptrc, (void)indc; \
        POINTERS(da); \
        return size_of(h, sparse(m, n, nnza, vala, ptra, inda, type, -1), da, threshold, dc, size); \
    } \
    FN(X##pruneCsr2csrNnz, FROM_SPARSE(T), const T *threshold, COUNT, void *buffer) \
    { \
        (void)buffer; \
        POINTERS(da); \
        return count(h, sparse(m, n, nnza, vala, ptra, inda, type, -1), da, threshold, dc, ptrc, total); \
    } \
    FN(X##pruneCsr2csr, FROM_SPARSE(T), const T *threshold, FILL(T), void *buffer) \
    { \
        (void)buffer; \
        POINTERS(da); \
        return fill(h, sparse(m, n, nnza, vala, ptra, inda, type, -1), da, threshold, dc, valc, ptrc, indc); \
    } \
    FN(X##pruneDense2csrByPercentage_bufferSizeExt, FROM_DENSE(T), float percentage, SIZE_OF(T), musparseInfo_t info, \
       size_t *size) \
    { \
        (void)valc, (void)ptrc, (void)indc; \
        POINTERS(info); \
        VALUES(percentage >= 0); \
        return size_of(h, dense(m, n, a, lda, type, (double)percentage), NULL, NULL, dc, size); \
    } \
    FN(X##pruneDense2csrNnzByPercentage, FROM_DENSE(T), float percentage, COUNT, musparseInfo_t info, void *buffer) \
    { \
        (void)buffer; \
        POINTERS(info); \
        VALUES(percentage >= 0); \
        return count(h, dense(m, n, a, lda, type, (double)percentage), NULL, NULL, dc, ptrc, total); \
    } \
    FN(X##pruneDense2csrByPercentage, FROM_DENSE(T), float percentage, FILL(T), musparseInfo_t info, void *buffer) \
    { \
        (void)buffer; \
        POINTERS(info); \
        VALUES(percentage >= 0); \
        return fill(h, dense(m, n, a, lda, type, (double)percentage), NULL, NULL, dc, valc, ptrc, indc); \
    } \
    FN(X##pruneCsr2csrByPercentage_bufferSizeExt, FROM_SPARSE(T), float percentage, SIZE_OF(T), musparseInfo_t info, \
       size_t *size) \
    { \
        (void)valc, (void)ptrc, (void)indc; \
        POINTERS(da &&info); \
        VALUES(percentage >= 0); \
        return size_of(h, sparse(m, n, nnza, vala, ptra, inda, type, (double)percentage), da, NULL, dc, size); \
    } \
    FN(X##pruneCsr2csrNnzByPercentage, FROM_SPARSE(T), float percentage, COUNT, musparseInfo_t info, void *buffer) \
    { \
        (void)buffer; \
        POINTERS(da &&info); \
        VALUES(percentage >= 0); \
        return count(h, sparse(m, n, nnza, vala, ptra, inda, type, (double)percentage), da, NULL, dc, ptrc, total); \
    } \
    FN(X##pruneCsr2csrByPercentage, FROM_SPARSE(T), float percentage, FILL(T), musparseInfo_t info, void *buffer) \
    { \
        (void)buffer; \
        POINTERS(da &&info); \
        VALUES(percentage >= 0); \
        return fill(h, sparse(m, n, nnza, vala, ptra, inda, type, (double)percentage), da, NULL, dc, valc, ptrc, \
                    indc); \
    }
PRUNE(S, float, MUSA_R_32F)
PRUNE(D, double, MUSA_R_64F)
PRUNE(H, unsigned short, MUSA_R_16F)
