/* muSPARSE's legacy calls on matrices of blocks: conversions from rows of elements and back, products. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musparse/blocks.h"

void musparse_expand(const struct blocks *b, int *ptr, int *ind, void *val, int base)
{
    size_t size = work_size(b->work), to = 0;
    for (int r = 0; r < b->mb * b->high; r++) {
        ptr[r] = (int)to + base;
        for (int k = b->ptr[r / b->high] - b->base; k < b->ptr[r / b->high + 1] - b->base; k++)
            for (int j = 0; j < b->wide; j++, to++) {
                ind[to] = (b->ind[k] - b->base) * b->wide + j + base;
                if (val)
                    memcpy((char *)val + to * size,
                           (const char *)b->val + block_element(b, (size_t)k, r % b->high, j) * size, size);
            }
    }
    ptr[b->mb * b->high] = (int)to + base;
}

bool musparse_open_blocks(struct csr *c, const struct blocks *b)
{
    size_t n = 0, rows = (size_t)b->mb * (size_t)b->high;
    *c = (struct csr){0};
    for (int r = 0; r < b->mb; r++) {
        if (b->ptr[r + 1] < b->ptr[r])
            return maths_out_of_range();
        n += (size_t)(b->ptr[r + 1] - b->ptr[r]);
    }
    n *= (size_t)b->high * (size_t)b->wide;
    *c = (struct csr){.rows = (int64_t)rows, .cols = (int64_t)b->nb * b->wide, .nnz = (int64_t)n};
    c->ptr = c->made[0] = maths_alloc((rows + 1) * sizeof(int));
    c->ind = c->made[1] = maths_alloc(n * sizeof(int) + 1);
    c->val = c->made[2] = b->val ? maths_alloc(n * work_size(b->work) + 1) : NULL;
    if (!c->ptr || !c->ind || (b->val && !c->val))
        return false;
    musparse_expand(b, c->made[0], c->made[1], c->made[2], 0);
    return true;
}

void musparse_close_blocks(const struct blocks *b, const struct csr *c)
{
    size_t size = work_size(b->work), from = 0;
    for (int r = 0; r < b->mb * b->high; r++)
        for (int k = b->ptr[r / b->high] - b->base; k < b->ptr[r / b->high + 1] - b->base; k++)
            for (int j = 0; j < b->wide; j++, from++)
                memcpy((char *)(uintptr_t)b->val + block_element(b, (size_t)k, r % b->high, j) * size,
                       (const char *)c->val + from * size, size);
}

musparseStatus_t musparse_check_blocks(musparseHandle_t h, int dir, int m, int n, int high, int wide,
                                       musparseConstMatDescr_t d, const int *ptr)
{
    LIVE(h);
    VALUES(dir == MUSPARSE_DIRECTION_ROW || dir == MUSPARSE_DIRECTION_COLUMN);
    SIZES(m >= 0 && n >= 0 && high > 0 && wide > 0);
    DESCRIBED(d);
    POINTERS(ptr);
    return MUSPARSE_STATUS_SUCCESS;
}

/* ---- blocks to rows of elements */
struct expansion {
    struct blocks from;
    int *ptr, *ind, base;
    void *val;
};
static void run_expand(const void *call)
{
    const struct expansion *e = call;
    musparse_expand(&e->from, e->ptr, e->ind, e->val, e->base);
}
static musparseStatus_t to_rows(musparseHandle_t h, const struct expansion *e, musparseConstMatDescr_t da,
                                musparseConstMatDescr_t dc)
{
    const struct blocks *b = &e->from;
    musparseStatus_t r = musparse_check_blocks(h, b->dir, b->mb, b->nb, b->high, b->wide, da, b->ptr);
    if (r)
        return r;
    DESCRIBED(dc);
    POINTERS(e->ptr && (!b->mb || !b->nb || (b->val && b->ind && e->val && e->ind)));
    struct expansion call = *e;
    call.from.base = da->base;
    call.base = dc->base;
    return musparse_submit(h, run_expand, &call, sizeof call, 1e9);
}

/* ---- rows of elements, or other blocks, to blocks */
struct gathering {
    struct csr from;         /* 32-bit indices */
    bool blocks;             /* or these */
    struct blocks other, to; /* to.nb block columns; its arrays are the outputs below */
    int *ptr, *ind, *total;
    void *val;
};

/* `place` has -1 for each block column, before and after. */
static int gather_row(const struct gathering *g, const struct csr *a, int r, int first, int *place)
{
    const int *ptr = a->ptr, *ind = a->ind;
    const struct blocks *to = &g->to;
    size_t size = work_size(to->work), each = (size_t)to->high * (size_t)to->wide * size;
    int low = r * to->high, high = low + to->high < a->rows ? low + to->high : (int)a->rows, n = 0;
    for (int i = low; i < high; i++)
        for (int k = ptr[i] - a->base; k < ptr[i + 1] - a->base; k++)
            place[(ind[k] - a->base) / to->wide] = 0;
    for (int c = 0; c < to->nb; c++)
        if (place[c] == 0)
            place[c] = first + n++;
    if (g->ind) {
        memset((char *)g->val + (size_t)first * each, 0, (size_t)n * each);
        for (int i = low; i < high; i++)
            for (int k = ptr[i] - a->base; k < ptr[i + 1] - a->base; k++) {
                int j = ind[k] - a->base;
                size_t at = block_element(to, (size_t)place[j / to->wide], i % to->high, j % to->wide);
                memcpy((char *)g->val + at * size, (const char *)a->val + (size_t)k * size, size);
            }
    }
    for (int c = 0; c < to->nb; c++) {
        if (place[c] >= 0 && g->ind)
            g->ind[place[c]] = c + to->base;
        place[c] = -1;
    }
    return n;
}

/* Gathers rows of elements into rows of blocks: `place` says where in the row a block column is, so that a row costs
 * its elements only. Without room for results it only counts. */
static void run_gather(const void *call)
{
    const struct gathering *g = call;
    struct csr a = g->from;
    int *place = maths_alloc(((size_t)g->to.nb + 1) * sizeof *place), total = 0;
    bool ready = place && (!g->blocks || musparse_open_blocks(&a, &g->other));
    a.cols = (int64_t)g->to.nb * g->to.wide;
    if (ready && !g->blocks && a.rows)
        a.nnz = ((const int *)a.ptr)[a.rows] - a.base;
    ready = ready && musparse_sound(&a);
    if (ready) {
        int rows = (int)((a.rows + g->to.high - 1) / g->to.high);
        for (int c = 0; c < g->to.nb; c++)
            place[c] = -1;
        for (int r = 0; r < rows; r++) {
            g->ptr[r] = total + g->to.base;
            total += gather_row(g, &a, r, total, place);
        }
        g->ptr[rows] = total + g->to.base;
    }
    if (g->total)
        *g->total = ready ? total : -1;
    if (g->blocks)
        musparse_csr_free(&a);
    free(place);
}

/* Counts, if `total`; else the arrays are there. */
static musparseStatus_t to_blocks(musparseHandle_t h, const struct gathering *given, int m, int n,
                                  musparseConstMatDescr_t da, musparseConstMatDescr_t dc, bool count)
{
    struct gathering g = *given;
    const struct blocks *o = &g.other;
    musparseStatus_t r = g.blocks ? musparse_check_blocks(h, o->dir, m, n, o->high, o->wide, da, o->ptr)
                                  : musparse_check_blocks(h, g.to.dir, m, n, 1, 1, da, g.from.ptr);
    if (r)
        return r;
    DESCRIBED(dc);
    SIZES(g.to.high > 0 && g.to.wide > 0);
    POINTERS(g.ptr && (!count || g.total));
    POINTERS(count || !m || !n || (g.val && g.ind && (g.blocks ? o->val && o->ind : g.from.val && g.from.ind)));
    g.other.base = da->base;
    g.from.base = da->base;
    g.from.rows = m;
    g.to.base = dc->base;
    g.to.nb = ((g.blocks ? n * o->wide : n) + g.to.wide - 1) / g.to.wide;
    return count ? musparse_submit_result(h, run_gather, &g, sizeof g, 1e9)
                 : musparse_submit(h, run_gather, &g, sizeof g, 1e9);
}

#define ROWS(val_, ptr_, ind_) .from = {.ptr = ptr_, .ind = ind_, .val = val_}
#define TO(dir_, high_, wide_, W) .to = {.dir = dir_, .high = high_, .wide = wide_, .work = W}

musparseStatus_t musparseXcsr2gebsrNnz(musparseHandle_t h, musparseDirection_t dir, int m, int n,
                                       musparseConstMatDescr_t da, const int *ptra, const int *inda,
                                       musparseConstMatDescr_t dc, int *ptrc, int high, int wide, int *total,
                                       void *buffer)
{
    (void)buffer;
    struct gathering g = {ROWS(NULL, ptra, inda), TO(dir, high, wide, S), .ptr = ptrc, .total = total};
    return to_blocks(h, &g, m, n, da, dc, true);
}

musparseStatus_t musparseXcsr2bsrNnz(musparseHandle_t h, musparseDirection_t dir, int m, int n,
                                     musparseConstMatDescr_t da, const int *ptra, const int *inda, int block,
                                     musparseConstMatDescr_t dc, int *ptrc, int *total)
{
    return musparseXcsr2gebsrNnz(h, dir, m, n, da, ptra, inda, dc, ptrc, block, block, total, NULL);
}

musparseStatus_t musparseXgebsr2gebsrNnz(musparseHandle_t h, musparseDirection_t dir, int mb, int nb, int nnzb,
                                         musparseConstMatDescr_t da, const int *ptra, const int *inda, int higha,
                                         int widea, musparseConstMatDescr_t dc, int *ptrc, int highc, int widec,
                                         int *total, void *buffer)
{
    (void)buffer;
    LIVE(h);
    SIZES(nnzb >= 0);
    POINTERS(da);
    struct gathering g = {.blocks = true,
                          .other = BLOCKS_OF(mb, nb, nnzb, dir, higha, widea, S, da, NULL, ptra, inda),
                          TO(dir, highc, widec, S),
                          .ptr = ptrc,
                          .total = total};
    return to_blocks(h, &g, mb, nb, da, dc, true);
}

static musparseStatus_t size_of(musparseHandle_t h, int dir, bool sizes, musparseConstMatDescr_t d, int *size)
{
    LIVE(h);
    VALUES(dir == MUSPARSE_DIRECTION_ROW || dir == MUSPARSE_DIRECTION_COLUMN);
    SIZES(sizes);
    POINTERS(size);
    if (d)
        DESCRIBED(d);
    *size = 16;
    return MUSPARSE_STATUS_SUCCESS;
}

#define CONVERSIONS(X, T, W) \
    musparseStatus_t musparse##X##csr2gebsr_bufferSize(musparseHandle_t h, musparseDirection_t dir, int m, int n, \
                                                       musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                                       const int *inda, int high, int wide, int *size) \
    { \
        (void)vala, (void)ptra, (void)inda; \
        POINTERS(da); \
        return size_of(h, dir, m >= 0 && n >= 0 && high > 0 && wide > 0, da, size); \
    } \
    musparseStatus_t musparse##X##csr2gebsr(musparseHandle_t h, musparseDirection_t dir, int m, int n, \
                                            musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                            const int *inda, musparseConstMatDescr_t dc, T *valc, int *ptrc, \
                                            int *indc, int high, int wide, void *buffer) \
    { \
        (void)buffer; \
        struct gathering g = {ROWS(vala, ptra, inda), TO(dir, high, wide, W), .ptr = ptrc, .ind = indc, .val = valc}; \
        return to_blocks(h, &g, m, n, da, dc, false); \
    } \
    musparseStatus_t musparse##X##csr2bsr(musparseHandle_t h, musparseDirection_t dir, int m, int n, \
                                          musparseConstMatDescr_t da, const T *vala, const int *ptra, const int *inda, \
                                          int block, musparseConstMatDescr_t dc, T *valc, int *ptrc, int *indc) \
    { \
        return musparse##X##csr2gebsr(h, dir, m, n, da, vala, ptra, inda, dc, valc, ptrc, indc, block, block, NULL); \
    } \
    musparseStatus_t musparse##X##gebsr2gebsr_bufferSize( \
        musparseHandle_t h, musparseDirection_t dir, int mb, int nb, int nnzb, musparseConstMatDescr_t da, \
        const T *vala, const int *ptra, const int *inda, int higha, int widea, int highc, int widec, int *size) \
    { \
        (void)vala, (void)ptra, (void)inda; \
        POINTERS(da); \
        return size_of(h, dir, mb >= 0 && nb >= 0 && nnzb >= 0 && higha > 0 && widea > 0 && highc > 0 && widec > 0, \
                       da, size); \
    } \
    musparseStatus_t musparse##X##gebsr2gebsr(musparseHandle_t h, musparseDirection_t dir, int mb, int nb, int nnzb, \
                                              musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                              const int *inda, int higha, int widea, musparseConstMatDescr_t dc, \
                                              T *valc, int *ptrc, int *indc, int highc, int widec, void *buffer) \
    { \
        (void)buffer; \
        LIVE(h); \
        SIZES(nnzb >= 0); \
        POINTERS(da); \
        struct gathering g = {.blocks = true, \
                              .other = BLOCKS_OF(mb, nb, nnzb, dir, higha, widea, W, da, vala, ptra, inda), \
                              TO(dir, highc, widec, W), \
                              .ptr = ptrc, \
                              .ind = indc, \
                              .val = valc}; \
        return to_blocks(h, &g, mb, nb, da, dc, false); \
    } \
    musparseStatus_t musparse##X##gebsr2csr(musparseHandle_t h, musparseDirection_t dir, int mb, int nb, \
                                            musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                            const int *inda, int high, int wide, musparseConstMatDescr_t dc, T *valc, \
                                            int *ptrc, int *indc) \
    { \
        struct expansion e = {.from = {.mb = mb, \
                                       .nb = nb, \
                                       .dir = dir, \
                                       .high = high, \
                                       .wide = wide, \
                                       .work = W, \
                                       .val = vala, \
                                       .ptr = ptra, \
                                       .ind = inda}, \
                              .ptr = ptrc, \
                              .ind = indc, \
                              .val = valc}; \
        return to_rows(h, &e, da, dc); \
    } \
    musparseStatus_t musparse##X##bsr2csr(musparseHandle_t h, musparseDirection_t dir, int mb, int nb, \
                                          musparseConstMatDescr_t da, const T *vala, const int *ptra, const int *inda, \
                                          int block, musparseConstMatDescr_t dc, T *valc, int *ptrc, int *indc) \
    { \
        return musparse##X##gebsr2csr(h, dir, mb, nb, da, vala, ptra, inda, block, block, dc, valc, ptrc, indc); \
    } \
    musparseStatus_t musparse##X##gebsr2gebsc_bufferSize(musparseHandle_t h, int mb, int nb, int nnzb, const T *val, \
                                                         const int *ptr, const int *ind, int high, int wide, \
                                                         int *size) \
    { \
        (void)val, (void)ptr, (void)ind; \
        return size_of(h, 0, mb >= 0 && nb >= 0 && nnzb >= 0 && high > 0 && wide > 0, NULL, size); \
    } \
    /* blocks change places as elements do; within they stay as they are */ \
    musparseStatus_t musparse##X##gebsr2gebsc(musparseHandle_t h, int mb, int nb, int nnzb, const T *val, \
                                              const int *ptr, const int *ind, int high, int wide, T *bscval, \
                                              int *bscind, int *bscptr, musparseAction_t action, \
                                              musparseIndexBase_t base, void *buffer) \
    { \
        (void)buffer; \
        LIVE(h); \
        SIZES(high > 0 && wide > 0); \
        return musparse_transpose(h, mb, nb, nnzb, val, ptr, ind, bscval, bscptr, bscind, \
                                  (size_t)high * (size_t)wide * sizeof(T), action, base); \
    }
FOUR(CONVERSIONS)

/* ---- products */
struct block_product {
    struct blocks a;
    const int *mask, *end; /* bsrxmv: rows of blocks to compute, where they end */
    int masked;
    struct dense b, c;
    struct scalar alpha, beta;
};

static void multiply(const struct block_product *p, const struct blocks *a, const struct dense *c)
{
    struct csr rows;
    if (musparse_open_blocks(&rows, a))
        musparse_spmm(&rows, a->work, &p->b, c, musparse_read(&p->alpha), musparse_read(&p->beta));
    musparse_csr_free(&rows);
}

static void run_product(const void *call)
{
    const struct block_product *p = call;
    if (!p->mask) {
        multiply(p, &p->a, &p->c);
        return;
    }
    for (int i = 0; i < p->masked; i++) {
        int r = p->mask[i] - p->a.base, ptr[2] = {p->a.ptr[r], p->end[r]};
        struct blocks one = p->a;
        struct dense c = p->c;
        one.mb = 1;
        one.ptr = ptr;
        c.rows = one.high;
        c.at = (char *)c.at + (size_t)r * (size_t)one.high * work_size(one.work);
        multiply(p, &one, &c);
    }
}

static musparseStatus_t product(musparseHandle_t h, int ta, int tb, int n, const void *alpha, const struct blocks *a,
                                musparseConstMatDescr_t da, const void *b, int ldb, const void *beta, void *c, int ldc,
                                const struct block_product *more)
{
    int block = a->high;
    musparseStatus_t r = musparse_check_blocks(h, a->dir, a->mb, a->nb, block, block, da, a->ptr);
    if (r)
        return r;
    VALUES(op_valid(ta) && op_valid(tb));
    CHECK(ta == MUSPARSE_OPERATION_NON_TRANSPOSE, NOT_IMPLEMENTED);
    SIZES(n >= 0 && a->nnzb >= 0 && ldb >= (is_trans(tb) ? n : a->nb * block) && ldc >= a->mb * block);
    POINTERS(alpha && beta && (!a->nnzb || (a->val && a->ind)));
    POINTERS((!a->mb || !n || c) && (!a->nb || !n || b));
    struct block_product p = *more;
    p.a = *a;
    p.b = dense_of(b, a->nb * block, n, ldb, tb);
    p.c = dense_of(c, a->mb * block, n, ldc, MUSPARSE_OPERATION_NON_TRANSPOSE);
    p.alpha = musparse_scalar(h, alpha, work_type(a->work));
    p.beta = musparse_scalar(h, beta, work_type(a->work));
    return musparse_submit(h, run_product, &p, sizeof p, (double)a->nnzb * block * block * (n + 1) * 8);
}

#define PRODUCTS(X, T, W) \
    musparseStatus_t musparse##X##bsrmm(musparseHandle_t h, musparseDirection_t dir, OP ta, OP tb, int mb, int n, \
                                        int kb, int nnzb, const T *alpha, musparseConstMatDescr_t da, const T *vala, \
                                        const int *ptra, const int *inda, int block, const T *b, int ldb, \
                                        const T *beta, T *c, int ldc) \
    { \
        POINTERS(da); \
        struct blocks a = BLOCKS_OF(mb, kb, nnzb, dir, block, block, W, da, vala, ptra, inda); \
        return product(h, ta, tb, n, alpha, &a, da, b, ldb, beta, c, ldc, &(struct block_product){.mask = NULL}); \
    } \
    musparseStatus_t musparse##X##bsrmv(musparseHandle_t h, musparseDirection_t dir, OP ta, int mb, int nb, int nnzb, \
                                        const T *alpha, musparseConstMatDescr_t da, const T *vala, const int *ptra, \
                                        const int *inda, int block, const T *x, const T *beta, T *y) \
    { \
        return musparse##X##bsrmm(h, dir, ta, MUSPARSE_OPERATION_NON_TRANSPOSE, mb, 1, nb, nnzb, alpha, da, vala, \
                                  ptra, inda, block, x, nb * block, beta, y, mb * block); \
    } \
    musparseStatus_t musparse##X##bsrxmv(musparseHandle_t h, musparseDirection_t dir, OP ta, int masked, int mb, \
                                         int nb, int nnzb, const T *alpha, musparseConstMatDescr_t da, const T *vala, \
                                         const int *mask, const int *ptra, const int *enda, const int *inda, \
                                         int block, const T *x, const T *beta, T *y) \
    { \
        POINTERS(da && (mask || !masked) && enda); \
        SIZES(masked >= 0 && masked <= mb); \
        if (!masked) \
            return MUSPARSE_STATUS_SUCCESS; \
        struct blocks a = BLOCKS_OF(mb, nb, nnzb, dir, block, block, W, da, vala, ptra, inda); \
        return product(h, ta, MUSPARSE_OPERATION_NON_TRANSPOSE, 1, alpha, &a, da, x, nb * block, beta, y, mb * block, \
                       &(struct block_product){.mask = mask, .end = enda, .masked = masked}); \
    }
FOUR(PRODUCTS)
