/* muSPARSE's operations of sparse and dense vectors. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musparse/musparse.h"

#define KERNEL "host/musparse/vector.inc"
#include "host/musparse/each.h"

struct vectors {
    struct musparse_spvec x;
    struct musparse_dnvec y;
    struct scalar alpha, beta;
    int work;
    bool conj;
    void *result;
    musaDataType_t result_type;
};

/* Indices of 16 bits become 32. */
static const void *indices(const struct musparse_spvec *x, int *wide, void **made)
{
    *made = NULL;
    *wide = x->itype == MUSPARSE_INDEX_64I;
    if (x->itype != MUSPARSE_INDEX_16U)
        return x->indices;
    int32_t *to = *made = maths_alloc((size_t)x->nnz * sizeof *to + 1);
    for (int64_t i = 0; to && i < x->nnz; i++)
        to[i] = (int32_t)musparse_index(x->indices, x->itype, (size_t)i);
    return to;
}

/* Both vectors in the work type and back: what every operation here does around its loop. */
struct open {
    const void *ind, *x, *y;
    void *made[3];
    int wide;
    bool ready;
};
static struct open open_vectors(const struct vectors *v)
{
    struct open o = {.made = {NULL, NULL, NULL}};
    o.ind = indices(&v->x, &o.wide, &o.made[0]);
    o.x = musparse_wide(v->x.values, v->x.type, v->work, (size_t)v->x.nnz, &o.made[1]);
    o.y = musparse_wide(v->y.values, v->y.type, v->work, (size_t)v->y.size, &o.made[2]);
    o.ready = (o.ind && o.x) || !v->x.nnz;
    o.ready = o.ready && (o.y || !v->y.size);
    for (int64_t k = 0; o.ready && o.made[2] && k < v->x.nnz; k++)
        o.ready = maths_in_range(musparse_index(v->x.indices, v->x.itype, (size_t)k) - v->x.base, v->y.size);
    return o;
}
static void close_vectors(const struct vectors *v, struct open *o, bool x_changed, bool y_changed)
{
    if (o->ready && x_changed && o->made[1])
        musparse_narrow(v->x.values, v->x.type, o->made[1], v->work, (size_t)v->x.nnz);
    if (o->ready && y_changed && o->made[2])
        musparse_narrow(v->y.values, v->y.type, o->made[2], v->work, (size_t)v->y.size);
    for (int i = 0; i < 3; i++)
        free(o->made[i]);
}
static void *out(const void *p) { return (void *)(uintptr_t)p; }

static musparseStatus_t check(struct vectors *v, musparseHandle_t h, musparseConstSpVecDescr_t x,
                              musparseConstDnVecDescr_t y)
{
    LIVE(h);
    POINTERS(x && y);
    SIZES(x->size == y->size);
    *v = (struct vectors){.x = *x, .y = *y, .work = musparse_work(x->type)};
    return MUSPARSE_STATUS_SUCCESS;
}

static void run_axpby(const void *call)
{
    typedef void kernel(int64_t, int64_t, const void *, int, const void *, void *, double complex, double complex);
    static kernel *const axpby[4][2] = TABLE(axpby);
    const struct vectors *v = call;
    struct open o = open_vectors(v);
    if (o.ready)
        axpby[v->work][o.wide](v->y.size, v->x.nnz, o.ind, v->x.base, o.x, out(o.y), musparse_read(&v->alpha),
                               musparse_read(&v->beta));
    close_vectors(v, &o, false, true);
}

musparseStatus_t musparseAxpby(musparseHandle_t h, const void *alpha, musparseConstSpVecDescr_t x, const void *beta,
                               musparseDnVecDescr_t y)
{
    struct vectors v;
    musparseStatus_t r = check(&v, h, x, y);
    if (r)
        return r;
    POINTERS(alpha && beta);
    CHECK(x->type == y->type && x->type != MUSA_R_8I, NOT_IMPLEMENTED);
    v.alpha = musparse_scalar(h, alpha, work_type(v.work));
    v.beta = musparse_scalar(h, beta, work_type(v.work));
    return musparse_submit(h, run_axpby, &v, sizeof v, (double)(x->nnz + y->size) * 8);
}

/* x = y there, or y = x there: elements of any type move as they are. */
static void move(const struct vectors *v, bool gather)
{
    size_t size = musparse_size(v->x.type);
    for (int64_t k = 0; k < v->x.nnz; k++) {
        int64_t i = musparse_index(v->x.indices, v->x.itype, (size_t)k) - v->x.base;
        char *x = (char *)v->x.values + (size_t)k * size, *y = (char *)v->y.values + (size_t)i * size;
        memcpy(gather ? x : y, gather ? y : x, size);
    }
}
static void run_gather(const void *call) { move(call, true); }
static void run_scatter(const void *call) { move(call, false); }

static musparseStatus_t submit_move(musparseHandle_t h, musparseConstSpVecDescr_t x, musparseConstDnVecDescr_t y,
                                    void (*run)(const void *))
{
    struct vectors v;
    musparseStatus_t r = check(&v, h, x, y);
    if (r)
        return r;
    VALUES(x->type == y->type);
    return musparse_submit(h, run, &v, sizeof v, (double)x->nnz * 8);
}

musparseStatus_t musparseGather(musparseHandle_t h, musparseConstDnVecDescr_t y, musparseSpVecDescr_t x)
{
    return submit_move(h, x, y, run_gather);
}

musparseStatus_t musparseScatter(musparseHandle_t h, musparseConstSpVecDescr_t x, musparseDnVecDescr_t y)
{
    return submit_move(h, x, y, run_scatter);
}

static void run_rot(const void *call)
{
    typedef void kernel(int64_t, const void *, int, void *, void *, double complex, double complex);
    static kernel *const rot[4][2] = TABLE(rot);
    const struct vectors *v = call;
    struct open o = open_vectors(v);
    if (o.ready)
        rot[v->work][o.wide](v->x.nnz, o.ind, v->x.base, out(o.x), out(o.y), musparse_read(&v->alpha),
                             musparse_read(&v->beta));
    close_vectors(v, &o, true, true);
}

musparseStatus_t musparseRot(musparseHandle_t h, const void *c, const void *s, musparseSpVecDescr_t x,
                             musparseDnVecDescr_t y)
{
    struct vectors v;
    musparseStatus_t r = check(&v, h, x, y);
    if (r)
        return r;
    POINTERS(c && s);
    CHECK(x->type == y->type && x->type != MUSA_R_8I, NOT_IMPLEMENTED);
    v.alpha = musparse_scalar(h, c, work_type(v.work));
    v.beta = musparse_scalar(h, s, work_type(v.work));
    return musparse_submit(h, run_rot, &v, sizeof v, (double)x->nnz * 16);
}

static void run_spvv(const void *call)
{
    typedef void kernel(int64_t, const void *, int, const void *, const void *, int, void *);
    static kernel *const spvv[4][2] = TABLE(spvv);
    const struct vectors *v = call;
    struct open o = open_vectors(v);
    double complex sum = 0;
    if (o.ready) {
        spvv[v->work][o.wide](v->x.nnz, o.ind, v->x.base, o.x, o.y, v->conj, &sum);
        musparse_narrow(v->result, v->result_type, &sum, v->work, 1);
    }
    close_vectors(v, &o, false, false);
}

static musparseStatus_t check_spvv(struct vectors *v, musparseHandle_t h, musparseOperation_t opx,
                                   musparseConstSpVecDescr_t x, musparseConstDnVecDescr_t y, musaDataType_t compute)
{
    musparseStatus_t r = check(v, h, x, y);
    if (r)
        return r;
    VALUES(opx == MUSPARSE_OPERATION_NON_TRANSPOSE || opx == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE);
    v->conj = is_conj(opx);
    v->result_type = compute;
    v->work = musparse_types(x->type, y->type, compute, compute); /* the sum's type is the result's */
    if (v->work < 0)
        v->work = musparse_types(x->type, y->type, x->type, compute);
    CHECK(v->work >= 0 && x->type == y->type, NOT_IMPLEMENTED);
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSpVV_bufferSize(musparseHandle_t h, musparseOperation_t opx, musparseConstSpVecDescr_t x,
                                         musparseConstDnVecDescr_t y, const void *result, musaDataType_t compute,
                                         size_t *size)
{
    struct vectors v;
    musparseStatus_t r = check_spvv(&v, h, opx, x, y, compute);
    if (r)
        return r;
    POINTERS(result && size);
    *size = 16;
    return r;
}

musparseStatus_t musparseSpVV(musparseHandle_t h, musparseOperation_t opx, musparseConstSpVecDescr_t x,
                              musparseConstDnVecDescr_t y, void *result, musaDataType_t compute, void *buffer)
{
    struct vectors v;
    musparseStatus_t r = check_spvv(&v, h, opx, x, y, compute);
    (void)buffer;
    if (r)
        return r;
    POINTERS(result);
    v.result = result;
    return musparse_submit_result(h, run_spvv, &v, sizeof v, (double)x->nnz * 8);
}
