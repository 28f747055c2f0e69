/* muSPARSE's triangular solves with vectors and matrices: SpSV, SpSM. */
#include <stdlib.h>
#include <string.h>

#include "host/musparse/legacy.h"

#define KERNEL "host/musparse/solve.inc"
#include "host/musparse/each.h"
#define KERNEL "host/musparse/fill.inc"
#include "host/musparse/each.h"

struct solution {
    struct musparse_spmat a;
    struct musparse_dnmat b, c; /* a vector is a column */
    musparseOperation_t opa, opb;
    struct scalar alpha;
    int work;
};

void musparse_solve(const struct csr *a, int work, bool upper, bool unit, const struct dense *y)
{
    typedef void kernel(const struct csr *, bool, bool, const struct dense *);
    static kernel *const solve[4][2] = TABLE(solve);
    solve[work][a->wide](a, upper, unit, y);
}

void musparse_fill(const struct dense *to, const struct dense *from, int work, double complex alpha)
{
    typedef void kernel(const struct dense *, const struct dense *, double complex);
    static kernel *const fill[4][2] = TABLE(fill);
    fill[work][0](to, from, alpha);
}

static void run(const void *call)
{
    const struct solution *s = call;
    for (int i = 0; i < s->c.batch; i++) {
        struct csr a;
        struct dense b = {.made = NULL}, c = {.made = NULL};
        bool ready = musparse_csr_wide(&a, &s->a, s->a.batch > 1 ? i : 0, s->opa, s->work) &&
                     dense_in(&b, &s->b, s->b.batch > 1 ? i : 0, s->opb, s->work) &&
                     dense_in(&c, &s->c, i, MUSPARSE_OPERATION_NON_TRANSPOSE, s->work) &&
                     (!c.made || musparse_sound(&a));
        if (ready) {
            /* a matrix by columns is its transpose by rows: its triangle is the other one */
            bool upper = (s->a.fill == MUSPARSE_FILL_MODE_UPPER) != (s->a.format == CSC);
            musparse_fill(&c, &b, s->work, musparse_read(&s->alpha));
            musparse_solve(&a, s->work, upper, s->a.diag == MUSPARSE_DIAG_TYPE_UNIT, &c);
            dense_out(&c, &s->c, i, s->work);
        } else {
            free(c.made);
        }
        free(b.made);
        musparse_csr_free(&a);
    }
}

/* What both calls check, and what their stages do. */
static musparseStatus_t staged(musparseHandle_t h, struct solution *s, const void *alpha, int compute, int alg,
                               int stage, size_t *size)
{
    VALUES(op_valid(s->opa) && op_valid(s->opb) && alg == 0);
    VALUES(stage >= MUSPARSE_SPSV_STAGE_BUFFER_SIZE && stage <= MUSPARSE_SPSV_STAGE_COMPUTE);
    SIZES(s->a.rows == s->a.cols && s->c.rows == s->a.rows);
    SIZES((is_trans(s->opb) ? s->b.cols : s->b.rows) == s->c.rows);
    SIZES((is_trans(s->opb) ? s->b.rows : s->b.cols) == s->c.cols);
    s->work = musparse_types(s->a.type, s->b.type, s->c.type, compute);
    CHECK(s->work >= 0 && s->a.type == s->c.type && s->a.type == compute, NOT_IMPLEMENTED);
    CHECK(s->a.format == CSR || s->a.format == COO || s->a.format == CSC, NOT_IMPLEMENTED);
    POINTERS(!s->a.nnz || (s->a.offsets && s->a.indices && s->a.values));
    if (stage == MUSPARSE_SPSV_STAGE_BUFFER_SIZE) {
        POINTERS(size);
        *size = 16; /* nothing is kept there */
    }
    if (stage != MUSPARSE_SPSV_STAGE_COMPUTE || !s->c.rows || !s->c.cols)
        return MUSPARSE_STATUS_SUCCESS;
    s->alpha = musparse_scalar(h, alpha, compute);
    return musparse_submit(h, run, s, sizeof *s, ((double)s->a.nnz + (double)s->c.rows) * 8 * (double)s->c.cols);
}

musparseStatus_t musparseSpSV(musparseHandle_t h, musparseOperation_t op, const void *alpha,
                              musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, musparseDnVecDescr_t y,
                              int compute, musparseSpSVAlg_t alg, musparseSpSVStage_t stage, size_t *size, void *buffer)
{
    LIVE(h);
    (void)buffer;
    POINTERS(alpha && a && x && y);
    struct solution s = {
        .a = *a,
        .b = {x->size, 1, x->size, 0, x->values, x->type, MUSPARSE_ORDER_COLUMN, 1},
        .c = {y->size, 1, y->size, 0, y->values, y->type, MUSPARSE_ORDER_COLUMN, 1},
        .opa = op,
        .opb = MUSPARSE_OPERATION_NON_TRANSPOSE,
    };
    return staged(h, &s, alpha, compute, alg, stage, size);
}

musparseStatus_t musparseSpSM(musparseHandle_t h, musparseOperation_t opa, musparseOperation_t opb, const void *alpha,
                              musparseConstSpMatDescr_t a, musparseConstDnMatDescr_t b, musparseDnMatDescr_t c,
                              int compute, musparseSpSMAlg_t alg, musparseSpSMStage_t stage, size_t *size, void *buffer)
{
    LIVE(h);
    (void)buffer;
    POINTERS(alpha && a && b && c);
    VALUES((a->batch == 1 || a->batch == c->batch) && (b->batch == 1 || b->batch == c->batch));
    struct solution s = {.a = *a, .b = *b, .c = *c, .opa = opa, .opb = opb};
    return staged(h, &s, alpha, compute, alg, stage, size);
}
