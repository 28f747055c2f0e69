/* muSPARSE's products of sparse matrices: SpGEMM. */
#include <stdlib.h>

#include "host/maths/submit.h"
#include "host/musparse/spgemm.h"

#define KERNEL "host/musparse/spgemm.inc"
#include "host/musparse/each.h"

/* Columns of the second and third are places of the workspace, those of the first are rows of the second. */
static bool sound(const struct csr *a, const struct csr *b, const struct csr *d)
{
    return musparse_sound(a) && musparse_sound(b) && (!d || musparse_sound(d));
}

int64_t musparse_count(const struct csr *a, const struct csr *b, const struct csr *d, void *ptr, int base, int work)
{
    typedef int64_t kernel(const struct csr *, const struct csr *, const struct csr *, void *, int, unsigned char *,
                           int64_t *);
    static kernel *const count[4][2] = TABLE(count);
    int64_t n = -1;
    unsigned char *seen = maths_zeroed((size_t)b->cols + 1, 1);
    int64_t *columns = maths_alloc(((size_t)b->cols + 1) * sizeof *columns);
    if (seen && columns && sound(a, b, d))
        n = count[work][a->wide](a, b, d, ptr, base, seen, columns);
    free(seen);
    free(columns);
    return n;
}

bool musparse_multiply(const struct csr *a, const struct csr *b, const struct csr *d, const void *ptr, void *ind,
                       void *val, int base, int work, double complex alpha, double complex beta)
{
    typedef void kernel(const struct csr *, const struct csr *, const struct csr *, const void *, void *, void *, int,
                        unsigned char *, int64_t *, void *, double complex, double complex);
    static kernel *const multiply[4][2] = TABLE(multiply);
    unsigned char *seen = maths_zeroed((size_t)b->cols + 1, 1);
    int64_t *columns = maths_alloc(((size_t)b->cols + 1) * sizeof *columns);
    void *sum = maths_alloc(((size_t)b->cols + 1) * work_size(work));
    bool ready = seen && columns && sum && sound(a, b, d);
    if (ready)
        multiply[work][a->wide](a, b, d, ptr, ind, val, base, seen, columns, sum, alpha, beta);
    free(seen);
    free(columns);
    free(sum);
    return ready;
}

struct sparse_product {
    struct musparse_spmat a, b, c, d;
    bool with_d;
    musparseOperation_t opa, opb;
    struct scalar alpha, beta;
    int work;
    int64_t *count; /* its outcome, read after the wait; -1: no memory */
};

static bool operand(struct csr *c, const struct musparse_spmat *m, musparseOperation_t op, int work)
{
    return musparse_csr_wide(c, m, 0, op, work) && musparse_csr_plain(c, work_size(work));
}

static void run(const void *call)
{
    const struct sparse_product *p = call;
    struct csr a = {0}, b = {0}, d = {0};
    bool ready = operand(&a, &p->a, p->opa, p->work) && operand(&b, &p->b, p->opb, p->work) &&
                 (!p->with_d || operand(&d, &p->d, MUSPARSE_OPERATION_NON_TRANSPOSE, p->work));
    const struct csr *sum = p->with_d ? &d : NULL;
    if (ready && p->count) {
        *p->count = musparse_count(&a, &b, sum, p->c.offsets, p->c.base, p->work);
    } else if (ready) {
        size_t n = (size_t)p->c.nnz;
        bool own = musparse_size(p->c.type) != work_size(p->work);
        void *val = own ? maths_alloc(n * work_size(p->work) + 1) : p->c.values;
        if (val &&
            musparse_multiply(&a, &b, sum, p->c.offsets, p->c.indices, val, p->c.base, p->work,
                              musparse_read(&p->alpha), musparse_read(&p->beta)) &&
            own)
            musparse_narrow(p->c.values, p->c.type, val, p->work, n);
        if (own)
            free(val);
    } else if (p->count) {
        *p->count = -1;
    }
    musparse_csr_free(&a);
    musparse_csr_free(&b);
    musparse_csr_free(&d);
}

static int64_t rows_of(musparseOperation_t op, int64_t rows, int64_t cols) { return is_trans(op) ? cols : rows; }

/* A product of sparse matrices in three stages: the size of the workspace (none is needed, but programs allocate
 * what they are told), the number of elements, the product. */
musparseStatus_t musparseSpGEMM(musparseHandle_t h, musparseOperation_t opa, musparseOperation_t opb, const void *alpha,
                                musparseConstSpMatDescr_t a, musparseConstSpMatDescr_t b, const void *beta,
                                musparseConstSpMatDescr_t d, musparseSpMatDescr_t c, int compute,
                                musparseSpGEMMAlg_t alg, musparseSpGEMMStage_t stage, size_t *size, void *buffer)
{
    LIVE(h);
    (void)buffer;
    POINTERS(a && b && c && alpha && (!d || beta));
    VALUES(op_valid(opa) && op_valid(opb) && alg == 0);
    VALUES(stage >= MUSPARSE_SPGEMM_STAGE_BUFFER_SIZE && stage <= MUSPARSE_SPGEMM_STAGE_COMPUTE);
    SIZES(rows_of(opa, a->rows, a->cols) == c->rows && rows_of(opb, b->cols, b->rows) == c->cols &&
          rows_of(opa, a->cols, a->rows) == rows_of(opb, b->rows, b->cols));
    SIZES(!d || (d->rows == c->rows && d->cols == c->cols));
    struct sparse_product p = {.a = *a, .b = *b, .c = *c, .with_d = d && d->nnz, .opa = opa, .opb = opb};
    if (d)
        p.d = *d;
    p.work = musparse_types(a->type, b->type, c->type, compute);
    CHECK(p.work >= 0 && a->type == c->type && b->type == c->type, NOT_IMPLEMENTED);
    CHECK(a->format == CSR && b->format == CSR && c->format == CSR && (!d || d->format == CSR), NOT_IMPLEMENTED);
    CHECK(a->otype == a->itype && b->otype == a->otype && b->itype == a->otype && c->otype == a->otype &&
              c->itype == a->otype && (!d || (d->otype == a->otype && d->itype == a->otype)),
          NOT_IMPLEMENTED);
    if (stage == MUSPARSE_SPGEMM_STAGE_BUFFER_SIZE) {
        POINTERS(size);
        *size = 16;
        return MUSPARSE_STATUS_SUCCESS;
    }
    POINTERS(c->offsets);
    if (stage == MUSPARSE_SPGEMM_STAGE_NNZ) {
        int64_t n = 0;
        p.count = &n;
        musparseStatus_t r = musparse_submit_wait(h, run, &p, sizeof p);
        if (r)
            return r;
        CHECK(n >= 0, MEMORY_ERROR);
        c->nnz = n;
        return r;
    }
    POINTERS(!c->nnz || (c->indices && c->values));
    p.alpha = musparse_scalar(h, alpha, compute);
    if (d)
        p.beta = musparse_scalar(h, beta, compute);
    return musparse_submit(h, run, &p, sizeof p, (double)(a->nnz + b->nnz + c->nnz) * 64);
}
