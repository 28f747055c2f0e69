/* muSPARSE's legacy sums and products: csrgeam2, csrgemm2, gemvi, bsrmv, bsrmm, and conversions of blocks. */
#include <stdlib.h>
#include <string.h>

#include "host/musparse/legacy.h"
#include "host/musparse/spgemm.h"

#define OP musparseOperation_t

/* ---- alpha A + beta B: a product of A with one and a matrix that is added, which spgemm.c has */
struct sum {
    struct csr a, b, d;
    bool product, with_d; /* csrgemm2 */
    int work, base;
    struct scalar alpha, beta;
    int *ptr, *ind, *total;
    void *val;
};

/* An identity to multiply with. */
static struct csr identity(int n, int work, void **made)
{
    int *p = *made = malloc(((size_t)n + 1) * sizeof *p + (size_t)n * work_size(work) + 16);
    struct csr one = {.rows = n, .cols = n, .nnz = n, .ptr = p, .ind = p};
    for (int i = 0; p && i <= n; i++)
        p[i] = i;
    size_t at = (((size_t)n + 1) * sizeof *p + 15) / 16 * 16;
    static const double complex unit = 1;
    static const float complex unitf = 1;
    for (size_t i = 0; p && i < (size_t)n; i++)
        memcpy((char *)p + at + i * work_size(work), work == S || work == C ? (const void *)&unitf : &unit,
               work_size(work));
    one.val = p ? (char *)p + at : NULL;
    return one;
}

static void run_sum_count(const void *call)
{
    const struct sum *s = call;
    void *made = NULL;
    struct csr b = s->product ? s->b : identity((int)s->a.cols, s->work, &made);
    const struct csr *d = !s->product ? &s->b : s->with_d ? &s->d : NULL;
    int64_t n = s->product || made ? musparse_count(&s->a, &b, d, s->ptr, s->base, s->work) : -1;
    if (s->total)
        *s->total = (int)n;
    free(made);
}

static void run_sum(const void *call)
{
    const struct sum *s = call;
    void *made = NULL;
    struct csr b = s->product ? s->b : identity((int)s->a.cols, s->work, &made);
    const struct csr *d = !s->product ? &s->b : s->with_d ? &s->d : NULL;
    if (s->product || made)
        musparse_multiply(&s->a, &b, d, s->ptr, s->ind, s->val, s->base, s->work, musparse_read(&s->alpha),
                          musparse_read(&s->beta));
    free(made);
}

static musparseStatus_t check_sum(musparseHandle_t h, int m, int n, musparseConstMatDescr_t da, int nnza,
                                  const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb,
                                  const int *ptrb, const int *indb, musparseConstMatDescr_t dc, const int *ptrc)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnza >= 0 && nnzb >= 0);
    DESCRIBED(da);
    DESCRIBED(db);
    DESCRIBED(dc);
    POINTERS(ptra && ptrb && ptrc && (!nnza || inda) && (!nnzb || indb));
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseXcsrgeam2Nnz(musparseHandle_t h, int m, int n, musparseConstMatDescr_t da, int nnza,
                                      const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb,
                                      const int *ptrb, const int *indb, musparseConstMatDescr_t dc, int *ptrc,
                                      int *total, void *workspace)
{
    musparseStatus_t r = check_sum(h, m, n, da, nnza, ptra, inda, db, nnzb, ptrb, indb, dc, ptrc);
    (void)workspace;
    if (r)
        return r;
    struct sum s = {.a = csr_of(m, n, nnza, da, NULL, ptra, inda), .b = csr_of(m, n, nnzb, db, NULL, ptrb, indb),
                    .base = dc->base, .ptr = ptrc, .total = total};
    return musparse_submit_result(h, run_sum_count, &s, sizeof s, 1e9);
}

#define GEAM(X, T, W) \
    musparseStatus_t musparse##X##csrgeam2_bufferSizeExt( \
        musparseHandle_t h, int m, int n, const T *alpha, musparseConstMatDescr_t da, int nnza, const T *vala, \
        const int *ptra, const int *inda, const T *beta, musparseConstMatDescr_t db, int nnzb, const T *valb, \
        const int *ptrb, const int *indb, musparseConstMatDescr_t dc, const T *valc, const int *ptrc, \
        const int *indc, size_t *size) \
    { \
        (void)alpha, (void)vala, (void)ptra, (void)inda, (void)beta, (void)valb, (void)ptrb, (void)indb; \
        (void)valc, (void)ptrc, (void)indc; \
        LIVE(h); \
        SIZES(m >= 0 && n >= 0 && nnza >= 0 && nnzb >= 0); \
        POINTERS(da && db && dc && size); \
        *size = 16; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    musparseStatus_t musparse##X##csrgeam2( \
        musparseHandle_t h, int m, int n, const T *alpha, musparseConstMatDescr_t da, int nnza, const T *vala, \
        const int *ptra, const int *inda, const T *beta, musparseConstMatDescr_t db, int nnzb, const T *valb, \
        const int *ptrb, const int *indb, musparseConstMatDescr_t dc, T *valc, int *ptrc, int *indc, void *buffer) \
    { \
        musparseStatus_t r = check_sum(h, m, n, da, nnza, ptra, inda, db, nnzb, ptrb, indb, dc, ptrc); \
        (void)buffer; \
        if (r) \
            return r; \
        POINTERS(alpha && beta && (!nnza || vala) && (!nnzb || valb) && (!(nnza + nnzb) || (valc && indc))); \
        struct sum s = {.a = csr_of(m, n, nnza, da, vala, ptra, inda), \
                        .b = csr_of(m, n, nnzb, db, valb, ptrb, indb), .base = dc->base, .work = W, \
                        .alpha = musparse_scalar(h, alpha, type_of_work[W]), \
                        .beta = musparse_scalar(h, beta, type_of_work[W]), .ptr = ptrc, .ind = indc, .val = valc}; \
        return musparse_submit(h, run_sum, &s, sizeof s, ((double)nnza + nnzb) * 64); \
    }
FOUR(GEAM)

/* ---- a dense matrix with a sparse vector */
struct gemvi {
    int work, rows, cols, nnz, base;
    struct dense a;
    const void *x;
    const int *ind;
    void *y;
    struct scalar alpha, beta;
};

static void run_gemvi(const void *call)
{
    const struct gemvi *g = call;
    /* the vector as a matrix of one row, whose product with the transpose is the row y */
    int ptr[2] = {g->base, g->nnz + g->base};
    struct csr x = {.rows = 1, .cols = g->cols, .nnz = g->nnz, .base = g->base, .ptr = ptr, .ind = g->ind, .val = g->x};
    struct dense at = {.rows = g->cols, .cols = g->rows, .rs = g->a.cs, .cs = g->a.rs, .at = g->a.at,
                       .conj = g->a.conj};
    struct dense y = {.rows = 1, .cols = g->rows, .rs = g->rows, .cs = 1, .at = g->y};
    musparse_spmm(&x, g->work, &at, &y, musparse_read(&g->alpha), musparse_read(&g->beta));
}

#define GEMVI(X, T, W) \
    musparseStatus_t musparse##X##gemvi_bufferSize(musparseHandle_t h, OP ta, int m, int n, int nnz, int *size) \
    { \
        LIVE(h); \
        VALUES(op_valid(ta)); \
        SIZES(m >= 0 && n >= 0 && nnz >= 0); \
        POINTERS(size); \
        *size = 16; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    musparseStatus_t musparse##X##gemvi(musparseHandle_t h, OP ta, int m, int n, const T *alpha, const T *a, int lda, \
                                        int nnz, const T *x, const int *ind, const T *beta, T *y, \
                                        musparseIndexBase_t base, void *buffer) \
    { \
        (void)buffer; \
        LIVE(h); \
        VALUES(op_valid(ta) && (base == 0 || base == 1)); \
        SIZES(m >= 0 && n >= 0 && nnz >= 0 && lda >= m); \
        POINTERS(alpha && beta && (!m || !n || (a && y)) && (!nnz || (x && ind))); \
        int rows = is_trans(ta) ? n : m, cols = is_trans(ta) ? m : n; \
        struct gemvi g = {.work = W, .rows = rows, .cols = cols, .nnz = nnz, .base = base, \
                          .a = dense_of(a, rows, cols, lda, ta), .x = x, .ind = ind, .y = y, \
                          .alpha = musparse_scalar(h, alpha, type_of_work[W]), \
                          .beta = musparse_scalar(h, beta, type_of_work[W])}; \
        return musparse_submit(h, run_gemvi, &g, sizeof g, ((double)nnz * rows + rows) * 8); \
    }
FOUR(GEMVI)

/* ---- matrices of blocks, which are made rows of elements */
struct blocks {
    int mb, nb, nnzb, dir, block, work;
    int base, base_out;
    const int *ptr, *ind;
    const void *val;
    int *ptr_out, *ind_out, *total;
    void *val_out;
    struct dense b, c; /* products */
    struct scalar alpha, beta;
};

/* Element (i, j) of block k. */
static size_t element(const struct blocks *b, size_t k, int i, int j)
{
    size_t n = (size_t)b->block;
    return k * n * n + (b->dir == MUSPARSE_DIRECTION_ROW ? (size_t)i * n + (size_t)j : (size_t)j * n + (size_t)i);
}

/* The rows of elements, into arrays of nnzb block^2 elements. */
static void expand(const struct blocks *b, int *ptr, int *ind, void *val)
{
    size_t size = work_size(b->work), to = 0;
    for (int r = 0; r < b->mb * b->block; r++) {
        ptr[r] = (int)to + b->base_out;
        for (int k = b->ptr[r / b->block] - b->base; k < b->ptr[r / b->block + 1] - b->base; k++)
            for (int j = 0; j < b->block; j++, to++) {
                ind[to] = (b->ind[k] - b->base) * b->block + j + b->base_out;
                memcpy((char *)val + to * size, (const char *)b->val + element(b, (size_t)k, r % b->block, j) * size,
                       size);
            }
    }
    ptr[b->mb * b->block] = (int)to + b->base_out;
}

static void run_bsr2csr(const void *call)
{
    const struct blocks *b = call;
    expand(b, b->ptr_out, b->ind_out, b->val_out);
}

static void run_bsrmm(const void *call)
{
    const struct blocks *b = call;
    size_t n = (size_t)b->nnzb * (size_t)b->block * (size_t)b->block, rows = (size_t)b->mb * (size_t)b->block;
    int *ptr = malloc((rows + 1) * sizeof *ptr), *ind = malloc((n + 1) * sizeof *ind);
    void *val = malloc(n * work_size(b->work) + 1);
    if (ptr && ind && val) {
        expand(b, ptr, ind, val);
        struct csr a = {.rows = (int64_t)rows, .cols = (int64_t)b->nb * b->block, .nnz = (int64_t)n,
                        .base = b->base_out, .ptr = ptr, .ind = ind, .val = val};
        musparse_spmm(&a, b->work, &b->b, &b->c, musparse_read(&b->alpha), musparse_read(&b->beta));
    }
    free(ptr);
    free(ind);
    free(val);
}

/* Blocks that have an element, of each row of blocks: `mark` has a place for each block column. */
static int block_columns(const struct blocks *b, int rows, int r, unsigned char *mark, int *columns)
{
    int n = 0;
    for (int i = r * b->block; i < (r + 1) * b->block && i < rows; i++)
        for (int k = b->ptr[i] - b->base; k < b->ptr[i + 1] - b->base; k++)
            mark[(b->ind[k] - b->base) / b->block] = 1;
    for (int c = 0; c < b->nb; c++)
        if (mark[c]) {
            columns[n++] = c;
            mark[c] = 0;
        }
    return n;
}

static void run_csr2bsr(const void *call)
{
    const struct blocks *b = call; /* mb is the number of rows of elements here */
    int rows = b->mb, block_rows = (rows + b->block - 1) / b->block, total = 0;
    size_t size = work_size(b->work), each = (size_t)b->block * (size_t)b->block;
    unsigned char *mark = calloc((size_t)b->nb + 1, 1);
    int *columns = malloc(((size_t)b->nb + 1) * sizeof *columns);
    for (int r = 0; mark && columns && r < block_rows; r++) {
        int n = block_columns(b, rows, r, mark, columns);
        if (b->ind_out) {
            memset((char *)b->val_out + (size_t)total * each * size, 0, (size_t)n * each * size);
            for (int c = 0; c < n; c++)
                b->ind_out[total + c] = columns[c] + b->base_out;
            for (int i = r * b->block; i < (r + 1) * b->block && i < rows; i++)
                for (int k = b->ptr[i] - b->base; k < b->ptr[i + 1] - b->base; k++) {
                    int j = b->ind[k] - b->base, at = 0;
                    while (columns[at] != j / b->block)
                        at++;
                    memcpy((char *)b->val_out +
                               element(b, (size_t)(total + at), i % b->block, j % b->block) * size,
                           (const char *)b->val + (size_t)k * size, size);
                }
        }
        b->ptr_out[r] = total + b->base_out;
        total += n;
    }
    if (mark && columns)
        b->ptr_out[block_rows] = total + b->base_out;
    if (b->total)
        *b->total = mark && columns ? total : -1;
    free(mark);
    free(columns);
}

static musparseStatus_t check_blocks(musparseHandle_t h, int dir, int m, int n, int block, musparseConstMatDescr_t d,
                                     const int *ptr)
{
    LIVE(h);
    VALUES(dir == MUSPARSE_DIRECTION_ROW || dir == MUSPARSE_DIRECTION_COLUMN);
    SIZES(m >= 0 && n >= 0 && block > 0);
    DESCRIBED(d);
    POINTERS(ptr);
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseXcsr2bsrNnz(musparseHandle_t h, musparseDirection_t dir, int m, int n,
                                     musparseConstMatDescr_t da, const int *ptra, const int *inda, int block,
                                     musparseConstMatDescr_t dc, int *ptrc, int *total)
{
    musparseStatus_t r = check_blocks(h, dir, m, n, block, da, ptra);
    if (r)
        return r;
    DESCRIBED(dc);
    POINTERS(ptrc && total);
    struct blocks b = {.mb = m, .nb = (n + block - 1) / block, .dir = dir, .block = block, .base = da->base,
                       .base_out = dc->base, .ptr = ptra, .ind = inda, .ptr_out = ptrc, .total = total};
    return musparse_submit_result(h, run_csr2bsr, &b, sizeof b, 1e9);
}

#define BLOCKS(X, T, W) \
    musparseStatus_t musparse##X##csr2bsr(musparseHandle_t h, musparseDirection_t dir, int m, int n, \
                                          musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                          const int *inda, int block, musparseConstMatDescr_t dc, T *valc, int *ptrc, \
                                          int *indc) \
    { \
        musparseStatus_t r = check_blocks(h, dir, m, n, block, da, ptra); \
        if (r) \
            return r; \
        DESCRIBED(dc); \
        POINTERS(vala && inda && valc && ptrc && indc); \
        struct blocks b = {.mb = m, .nb = (n + block - 1) / block, .dir = dir, .block = block, .work = W, \
                           .base = da->base, .base_out = dc->base, .ptr = ptra, .ind = inda, .val = vala, \
                           .ptr_out = ptrc, .ind_out = indc, .val_out = valc}; \
        return musparse_submit(h, run_csr2bsr, &b, sizeof b, 1e9); \
    } \
    musparseStatus_t musparse##X##bsr2csr(musparseHandle_t h, musparseDirection_t dir, int mb, int nb, \
                                          musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                          const int *inda, int block, musparseConstMatDescr_t dc, T *valc, int *ptrc, \
                                          int *indc) \
    { \
        musparseStatus_t r = check_blocks(h, dir, mb, nb, block, da, ptra); \
        if (r) \
            return r; \
        DESCRIBED(dc); \
        POINTERS(vala && inda && valc && ptrc && indc); \
        struct blocks b = {.mb = mb, .nb = nb, .dir = dir, .block = block, .work = W, .base = da->base, \
                           .base_out = dc->base, .ptr = ptra, .ind = inda, .val = vala, .ptr_out = ptrc, \
                           .ind_out = indc, .val_out = valc}; \
        return musparse_submit(h, run_bsr2csr, &b, sizeof b, 1e9); \
    } \
    musparseStatus_t musparse##X##bsrmm(musparseHandle_t h, musparseDirection_t dir, OP ta, OP tb, int mb, int n, \
                                        int kb, int nnzb, const T *alpha, musparseConstMatDescr_t da, \
                                        const T *vala, const int *ptra, const int *inda, int block, const T *b, \
                                        int ldb, const T *beta, T *c, int ldc) \
    { \
        musparseStatus_t r = check_blocks(h, dir, mb, kb, block, da, ptra); \
        if (r) \
            return r; \
        VALUES(op_valid(ta) && op_valid(tb)); \
        CHECK(ta == MUSPARSE_OPERATION_NON_TRANSPOSE, NOT_IMPLEMENTED); \
        SIZES(n >= 0 && nnzb >= 0 && ldb >= (is_trans(tb) ? n : kb * block) && ldc >= mb * block); \
        POINTERS(alpha && beta && (!nnzb || (vala && inda)) && b && c); \
        struct blocks p = {.mb = mb, .nb = kb, .nnzb = nnzb, .dir = dir, .block = block, .work = W, \
                           .base = da->base, .ptr = ptra, .ind = inda, .val = vala, \
                           .b = dense_of(b, kb * block, n, ldb, tb), \
                           .c = dense_of(c, mb * block, n, ldc, MUSPARSE_OPERATION_NON_TRANSPOSE), \
                           .alpha = musparse_scalar(h, alpha, type_of_work[W]), \
                           .beta = musparse_scalar(h, beta, type_of_work[W])}; \
        return musparse_submit(h, run_bsrmm, &p, sizeof p, (double)nnzb * block * block * (n + 1) * 8); \
    } \
    musparseStatus_t musparse##X##bsrmv(musparseHandle_t h, musparseDirection_t dir, OP ta, int mb, int nb, \
                                        int nnzb, const T *alpha, musparseConstMatDescr_t da, const T *vala, \
                                        const int *ptra, const int *inda, int block, const T *x, const T *beta, \
                                        T *y) \
    { \
        return musparse##X##bsrmm(h, dir, ta, MUSPARSE_OPERATION_NON_TRANSPOSE, mb, 1, nb, nnzb, alpha, da, vala, \
                                  ptra, inda, block, x, nb * block, beta, y, mb * block); \
    }
FOUR(BLOCKS)
