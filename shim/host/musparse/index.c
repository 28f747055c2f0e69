/* muSPARSE's legacy conversions of indices: rows to offsets and back, sorting, transposing. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musparse/legacy.h"

struct indices {
    int m, n, nnz, base;
    const int *in, *in2;
    int *out, *out2, *order;
    const void *values;
    void *values_out;
    size_t size;
    musparseInfo_t info;
};

static void run_coo2csr(const void *call)
{
    const struct indices *c = call;
    int k = 0; /* rows are sorted */
    for (int i = 0; i <= c->m; i++) {
        while (k < c->nnz && c->in[k] - c->base < i)
            k++;
        c->out[i] = k + c->base;
    }
}

musparseStatus_t musparseXcoo2csr(musparseHandle_t h, const int *rows, int nnz, int m, int *ptr,
                                  musparseIndexBase_t base)
{
    LIVE(h);
    SIZES(nnz >= 0 && m >= 0);
    POINTERS(ptr && (rows || !nnz));
    VALUES(base == 0 || base == 1);
    struct indices c = {.m = m, .nnz = nnz, .base = base, .in = rows, .out = ptr};
    return musparse_submit(h, run_coo2csr, &c, sizeof c, ((double)nnz + m) * 8);
}

static void run_csr2coo(const void *call)
{
    const struct indices *c = call;
    for (int i = 0; i < c->m; i++)
        for (int k = c->in[i] - c->base; k < c->in[i + 1] - c->base; k++)
            c->out[k] = i + c->base;
}

musparseStatus_t musparseXcsr2coo(musparseHandle_t h, const int *ptr, int nnz, int m, int *rows,
                                  musparseIndexBase_t base)
{
    LIVE(h);
    SIZES(nnz >= 0 && m >= 0);
    POINTERS(ptr && (rows || !nnz));
    VALUES(base == 0 || base == 1);
    struct indices c = {.m = m, .nnz = nnz, .base = base, .in = ptr, .out = rows};
    return musparse_submit(h, run_csr2coo, &c, sizeof c, (double)nnz * 8);
}

static void run_identity(const void *call)
{
    const struct indices *c = call;
    for (int i = 0; i < c->n; i++)
        c->out[i] = i;
}

musparseStatus_t musparseCreateIdentityPermutation(musparseHandle_t h, int n, int *p)
{
    LIVE(h);
    SIZES(n >= 0);
    POINTERS(p || !n);
    struct indices c = {.n = n, .out = p};
    return musparse_submit(h, run_identity, &c, sizeof c, (double)n * 8);
}

/* ---- sorting: of equal keys the first stays first */
struct key {
    int major, minor, at;
};
static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->major != y->major)
        return x->major < y->major ? -1 : 1;
    if (x->minor != y->minor)
        return x->minor < y->minor ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorts n pairs, and `order` (or values) along with them. */
static void sort_pairs(int *major, int *minor, int *order, int n)
{
    struct key *k = maths_alloc(((size_t)n + 1) * sizeof *k);
    int *was = maths_alloc(((size_t)n + 1) * sizeof *was);
    if (k && was) {
        for (int i = 0; i < n; i++)
            k[i] = (struct key){major ? major[i] : 0, minor[i], i};
        qsort(k, (size_t)n, sizeof *k, by_key);
        if (order)
            memcpy(was, order, (size_t)n * sizeof *was);
        for (int i = 0; i < n; i++) {
            if (major)
                major[i] = k[i].major;
            minor[i] = k[i].minor;
            if (order)
                order[i] = was[k[i].at];
        }
    }
    free(k);
    free(was);
}

static void run_coosort(const void *call)
{
    const struct indices *c = call;
    sort_pairs(c->out, c->out2, c->order, c->nnz);
}

static musparseStatus_t coosort(musparseHandle_t h, int m, int n, int nnz, int *major, int *minor, int *order)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnz >= 0);
    POINTERS(!nnz || (major && minor));
    struct indices c = {.nnz = nnz, .out = major, .out2 = minor, .order = order};
    return musparse_submit(h, run_coosort, &c, sizeof c, (double)nnz * 100);
}

musparseStatus_t musparseXcoosortByRow(musparseHandle_t h, int m, int n, int nnz, int *rows, int *cols, int *p,
                                       void *buffer)
{
    (void)buffer;
    return coosort(h, m, n, nnz, rows, cols, p);
}

musparseStatus_t musparseXcoosortByColumn(musparseHandle_t h, int m, int n, int nnz, int *rows, int *cols, int *p,
                                          void *buffer)
{
    (void)buffer;
    return coosort(h, m, n, nnz, cols, rows, p);
}

static void run_csrsort(const void *call)
{
    const struct indices *c = call;
    for (int i = 0; i < c->m; i++) {
        int from = c->in[i] - c->base;
        sort_pairs(NULL, c->out + from, c->order ? c->order + from : NULL, c->in[i + 1] - c->in[i]);
    }
}

static musparseStatus_t csrsort(musparseHandle_t h, int m, int n, int nnz, musparseConstMatDescr_t d, const int *ptr,
                                int *ind, int *p)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnz >= 0);
    DESCRIBED(d);
    POINTERS(ptr && (ind || !nnz));
    struct indices c = {.m = m, .base = d->base, .in = ptr, .out = ind, .order = p};
    return musparse_submit(h, run_csrsort, &c, sizeof c, (double)nnz * 100);
}

musparseStatus_t musparseXcsrsort(musparseHandle_t h, int m, int n, int nnz, musparseConstMatDescr_t d, const int *ptr,
                                  int *ind, int *p, void *buffer)
{
    (void)buffer;
    return csrsort(h, m, n, nnz, d, ptr, ind, p);
}

musparseStatus_t musparseXcscsort(musparseHandle_t h, int m, int n, int nnz, musparseConstMatDescr_t d, const int *ptr,
                                  int *ind, int *p, void *buffer)
{
    (void)buffer;
    return csrsort(h, n, m, nnz, d, ptr, ind, p);
}

#define SORT_SIZE(name) \
    musparseStatus_t musparse##name##_bufferSizeExt(musparseHandle_t h, int m, int n, int nnz, const int *a, \
                                                    const int *b, size_t *size) \
    { \
        LIVE(h); \
        SIZES(m >= 0 && n >= 0 && nnz >= 0); \
        POINTERS(size && (!nnz || (a && b))); \
        *size = 16; \
        return MUSPARSE_STATUS_SUCCESS; \
    }
SORT_SIZE(Xcoosort)
SORT_SIZE(Xcsrsort)
SORT_SIZE(Xcscsort)

/* ---- transposing: values of any size, or none */
static void run_csr2csc(const void *call)
{
    const struct indices *c = call;
    memset(c->out, 0, ((size_t)c->n + 1) * sizeof *c->out);
    for (int k = 0; k < c->nnz; k++)
        c->out[c->in2[k] - c->base + 1]++;
    for (int j = 0; j < c->n; j++)
        c->out[j + 1] += c->out[j];
    for (int i = 0; i < c->m; i++)
        for (int k = c->in[i] - c->base; k < c->in[i + 1] - c->base; k++) {
            int to = c->out[c->in2[k] - c->base]++;
            c->out2[to] = i + c->base;
            if (c->values_out)
                memcpy((char *)c->values_out + (size_t)to * c->size, (const char *)c->values + (size_t)k * c->size,
                       c->size);
        }
    memmove(c->out + 1, c->out, (size_t)c->n * sizeof *c->out);
    c->out[0] = 0;
    for (int j = 0; j <= c->n; j++)
        c->out[j] += c->base;
}

musparseStatus_t musparse_transpose(musparseHandle_t h, int m, int n, int nnz, const void *val, const int *ptr,
                                    const int *ind, void *cscval, int *cscptr, int *cscind, size_t size,
                                    musparseAction_t action, musparseIndexBase_t base)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnz >= 0);
    VALUES((action == MUSPARSE_ACTION_SYMBOLIC || action == MUSPARSE_ACTION_NUMERIC) && (base == 0 || base == 1));
    POINTERS((ptr || !m) && cscptr && (!nnz || (ind && cscind)));
    POINTERS(action == MUSPARSE_ACTION_SYMBOLIC || !nnz || (val && cscval));
    struct indices c = {.m = m,
                        .n = n,
                        .nnz = nnz,
                        .base = base,
                        .in = ptr,
                        .in2 = ind,
                        .out = cscptr,
                        .out2 = cscind,
                        .values = val,
                        .size = size,
                        .values_out = action == MUSPARSE_ACTION_NUMERIC ? cscval : NULL};
    return musparse_submit(h, run_csr2csc, &c, sizeof c, ((double)nnz + n) * 16);
}

musparseStatus_t musparseCsr2cscEx2_bufferSize(musparseHandle_t h, int m, int n, int nnz, const void *val,
                                               const int *ptr, const int *ind, void *cscval, int *cscptr, int *cscind,
                                               int type, musparseAction_t action, musparseIndexBase_t base,
                                               musparseCsr2CscAlg_t alg, size_t *size)
{
    (void)val, (void)ind, (void)cscval, (void)cscptr, (void)cscind;
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnz >= 0);
    POINTERS((ptr || !m) && size);
    VALUES(musparse_size(type) && (action == 0 || action == 1) && (base == 0 || base == 1) && (alg == 1 || alg == 2));
    *size = 16;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseCsr2cscEx2(musparseHandle_t h, int m, int n, int nnz, const void *val, const int *ptr,
                                    const int *ind, void *cscval, int *cscptr, int *cscind, int type,
                                    musparseAction_t action, musparseIndexBase_t base, musparseCsr2CscAlg_t alg,
                                    void *buffer)
{
    (void)buffer;
    LIVE(h);
    VALUES(musparse_size(type) && (alg == MUSPARSE_CSR2CSC_ALG1 || alg == MUSPARSE_CSR2CSC_ALG2));
    return musparse_transpose(h, m, n, nnz, val, ptr, ind, cscval, cscptr, cscind, musparse_size(type), action, base);
}

/* ---- sorting a matrix with a way back */
static void run_csru2csr(const void *call)
{
    const struct indices *c = call;
    int *order = c->info->kept;
    char *was = maths_alloc((size_t)c->nnz * c->size + 1);
    struct csr rows = {.rows = c->m, .nnz = c->nnz, .base = c->base, .ptr = c->in};
    if (!was || !musparse_sound(&rows)) {
        free(was);
        return;
    }
    for (int i = 0; i < c->nnz; i++)
        order[i] = i;
    struct indices sort = *c;
    sort.order = order;
    run_csrsort(&sort);
    memcpy(was, c->values_out, (size_t)c->nnz * c->size);
    for (int i = 0; i < c->nnz; i++)
        memcpy((char *)c->values_out + (size_t)i * c->size, was + (size_t)order[i] * c->size, c->size);
    free(was);
}

static void run_csr2csru(const void *call)
{
    const struct indices *c = call;
    const int *order = c->info->kept;
    char *was = maths_alloc((size_t)c->nnz * c->size + 1);
    int *ind = maths_alloc(((size_t)c->nnz + 1) * sizeof *ind);
    if (was && ind) {
        memcpy(was, c->values_out, (size_t)c->nnz * c->size);
        memcpy(ind, c->out, (size_t)c->nnz * sizeof *ind);
        for (int i = 0; i < c->nnz; i++) {
            memcpy((char *)c->values_out + (size_t)order[i] * c->size, was + (size_t)i * c->size, c->size);
            c->out[order[i]] = ind[i];
        }
    }
    free(was);
    free(ind);
}

static musparseStatus_t unsorted(musparseHandle_t h, int work, int m, int n, int nnz, musparseConstMatDescr_t d,
                                 void *val, const int *ptr, int *ind, musparseInfo_t info, bool sort)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnz >= 0);
    DESCRIBED(d);
    POINTERS(ptr && info && (!nnz || (val && ind)));
    if (sort) {
        free(info->kept);
        info->kept = malloc(((size_t)nnz + 1) * sizeof(int));
        info->count = nnz;
        CHECK(info->kept, MEMORY_ERROR);
    } else {
        VALUES(info->kept && info->count == nnz);
    }
    struct indices c = {.m = m,
                        .nnz = nnz,
                        .base = d->base,
                        .in = ptr,
                        .out = ind,
                        .values_out = val,
                        .size = work_size(work),
                        .info = info};
    return musparse_submit_wait(h, sort ? run_csru2csr : run_csr2csru, &c, sizeof c);
}

#define CSRU(X, T, W) \
    musparseStatus_t musparse##X##csru2csr_bufferSizeExt(musparseHandle_t h, int m, int n, int nnz, T *val, \
                                                         const int *ptr, int *ind, musparseInfo_t info, size_t *size) \
    { \
        LIVE(h); \
        SIZES(m >= 0 && n >= 0 && nnz >= 0); \
        POINTERS(info &&size &&ptr && (!nnz || (val && ind))); \
        *size = 16; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    musparseStatus_t musparse##X##csru2csr(musparseHandle_t h, int m, int n, int nnz, musparseConstMatDescr_t d, \
                                           T *val, const int *ptr, int *ind, musparseInfo_t info, void *buffer) \
    { \
        (void)buffer; \
        return unsorted(h, W, m, n, nnz, d, val, ptr, ind, info, true); \
    } \
    musparseStatus_t musparse##X##csr2csru(musparseHandle_t h, int m, int n, int nnz, musparseConstMatDescr_t d, \
                                           T *val, const int *ptr, int *ind, musparseInfo_t info, void *buffer) \
    { \
        (void)buffer; \
        return unsorted(h, W, m, n, nnz, d, val, ptr, ind, info, false); \
    }
FOUR(CSRU)
