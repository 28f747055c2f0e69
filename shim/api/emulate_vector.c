/* muSPARSE's operations of a sparse and a dense vector, of which only gathering and scattering are seen: on the host,
 * by what was said of the vectors when they were made. They wait for their stream. */
#include "api/api.h"
#include "api/emulate.h"
#include "api/fetch.h"
#include "core/hmap.h"
#include "core/init.h"
#include "core/resolve.h"

#include "musa_enums.h"

#include <stdlib.h>
#include <string.h>

/* ---- vectors and what they hold ------------------------------------------------------------------------ */

struct vector {
    int64_t size, count; /* count: elements that have a place in memory */
    void *indices, *values;
    int itype, base, type;
};
struct held {
    const void *descr;
    struct vector v;
    UT_hash_handle hh;
};
static HMAP(struct held) all = HMAP_INIT;

#define BELOW(function) ((__typeof__(function) *)(void (*)(void))(uintptr_t)cumu_below("musparse", #function))

static bool find(const void *descr, struct vector *v)
{
    struct held *h;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &descr, h);
    if (h)
        *v = h->v;
    hmap_unlock(&all);
    return h != NULL;
}

static void forget(const void *descr)
{
    struct held *h;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &descr, h);
    if (h)
        HASH_DEL(all.head, h);
    hmap_unlock(&all);
    free(h);
}

/* A vector that finds no memory here serves all that muSPARSE has. */
static void hold(const void *descr, const struct vector *v)
{
    struct held *h = malloc(sizeof *h);
    if (!h)
        return;
    *h = (struct held){.descr = descr, .v = *v};
    hmap_lock(&all);
    HASH_ADD_PTR(all.head, descr, h);
    bool kept = hmap_added(h);
    hmap_unlock(&all);
    if (!kept)
        free(h);
}

static musparseStatus_t create_sparse(musparseSpVecDescr_t *descr, int64_t size, int64_t count, void *indices,
                                      void *values, musparseIndexType_t itype, musparseIndexBase_t base, int type)
{
    musparseStatus_t r = BELOW(musparseCreateSpVec)(descr, size, count, indices, values, itype, base, type);
    if (!r)
        hold(*descr, &(struct vector){size, count, indices, values, itype, base, type});
    return r;
}

static musparseStatus_t create_dense(musparseDnVecDescr_t *descr, int64_t size, void *values, int type)
{
    musparseStatus_t r = BELOW(musparseCreateDnVec)(descr, size, values, type);
    if (!r)
        hold(*descr, &(struct vector){size, size, NULL, values, 0, 0, type});
    return r;
}

static musparseStatus_t destroy_sparse(musparseConstSpVecDescr_t descr)
{
    forget(descr);
    return BELOW(musparseDestroySpVec)(descr);
}

static musparseStatus_t destroy_dense(musparseConstDnVecDescr_t descr)
{
    forget(descr);
    return BELOW(musparseDestroyDnVec)(descr);
}

static void set_values(const void *descr, void *values)
{
    struct held *h;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &descr, h);
    if (h)
        h->v.values = values;
    hmap_unlock(&all);
}

static musparseStatus_t set_sparse(musparseSpVecDescr_t descr, void *values)
{
    musparseStatus_t r = BELOW(musparseSpVecSetValues)(descr, values);
    if (!r)
        set_values(descr, values);
    return r;
}

static musparseStatus_t set_dense(musparseDnVecDescr_t descr, void *values)
{
    musparseStatus_t r = BELOW(musparseDnVecSetValues)(descr, values);
    if (!r)
        set_values(descr, values);
    return r;
}

#define GIVE(to, value) ((to) ? (void)(*(to) = (value)) : (void)0)

static musparseStatus_t get_sparse(musparseConstSpVecDescr_t descr, int64_t *size, int64_t *count, void **indices,
                                   void **values, musparseIndexType_t *itype, musparseIndexBase_t *base, int *type)
{
    struct vector v;
    if (!find(descr, &v))
        return MUSPARSE_STATUS_INVALID_VALUE;
    GIVE(size, v.size);
    GIVE(count, v.count);
    GIVE(indices, v.indices);
    GIVE(values, v.values);
    GIVE(itype, v.itype);
    GIVE(base, v.base);
    GIVE(type, v.type);
    return MUSPARSE_STATUS_SUCCESS;
}

static musparseStatus_t get_sparse_values(musparseConstSpVecDescr_t descr, void **values)
{
    return values ? get_sparse(descr, NULL, NULL, NULL, values, NULL, NULL, NULL) : MUSPARSE_STATUS_INVALID_POINTER;
}

static musparseStatus_t get_dense(musparseConstDnVecDescr_t descr, int64_t *size, void **values, int *type)
{
    return get_sparse((const void *)descr, size, NULL, NULL, values, NULL, NULL, type);
}

static musparseStatus_t get_dense_values(musparseConstDnVecDescr_t descr, void **values)
{
    return values ? get_dense(descr, NULL, values, NULL) : MUSPARSE_STATUS_INVALID_POINTER;
}

/* ---- their elements on the host ------------------------------------------------------------------------- */

struct number {
    double re, im;
};
static struct number times(struct number a, struct number b)
{
    return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static struct number plus(struct number a, struct number b) { return (struct number){a.re + b.re, a.im + b.im}; }

static size_t size_of(int type)
{
    return type == MUSA_R_32F ? 4 : type == MUSA_R_64F || type == MUSA_C_32F ? 8 : type == MUSA_C_64F ? 16 : 0;
}
static bool is_complex(int type) { return type == MUSA_C_32F || type == MUSA_C_64F; }
static bool is_double(int type) { return type == MUSA_R_64F || type == MUSA_C_64F; }

static struct number load(const void *at, int type, size_t i)
{
    size_t k = is_complex(type) ? 2 * i : i;
    struct number n = {is_double(type) ? ((const double *)at)[k] : (double)((const float *)at)[k], 0};
    if (is_complex(type))
        n.im = is_double(type) ? ((const double *)at)[k + 1] : (double)((const float *)at)[k + 1];
    return n;
}

static void store(void *at, int type, size_t i, struct number n)
{
    size_t k = is_complex(type) ? 2 * i : i;
    for (size_t part = 0; part < (is_complex(type) ? 2 : 1); part++) {
        double v = part ? n.im : n.re;
        if (is_double(type))
            ((double *)at)[k + part] = v;
        else
            ((float *)at)[k + part] = (float)v;
    }
}

/* Both vectors, of one type, on the host. */
struct pair {
    struct vector x, y;
    musaStream_t stream;
    void *index, *xs, *ys;
    bool device; /* scalars lie there */
};

static int64_t index_at(const struct pair *p, int64_t k)
{
    switch (p->x.itype) {
    case MUSPARSE_INDEX_16U: return ((const uint16_t *)p->index)[k] - p->x.base;
    case MUSPARSE_INDEX_32I: return ((const int32_t *)p->index)[k] - p->x.base;
    default: return ((const int64_t *)p->index)[k] - p->x.base;
    }
}

static void close_pair(struct pair *p)
{
    free(p->index);
    free(p->xs);
    free(p->ys);
}

static musparseStatus_t open_pair(musparseHandle_t h, const void *x, const void *y, struct pair *p)
{
    int mode = MUSPARSE_POINTER_MODE_HOST;
    *p = (struct pair){.stream = NULL};
    musparseStatus_t r = mu.musparseGetStream(h, &p->stream);
    if (r)
        return r;
    p->device = !mu.musparseGetPointerMode(h, &mode) && mode == MUSPARSE_POINTER_MODE_DEVICE;
    if (!find(x, &p->x) || !find(y, &p->y))
        return MUSPARSE_STATUS_INVALID_VALUE;
    size_t size = size_of(p->x.type), width = p->x.itype == MUSPARSE_INDEX_64I ? 8 : 4;
    if (!size || p->y.type != p->x.type)
        return MUSPARSE_STATUS_NOT_IMPLEMENTED;
    width = p->x.itype == MUSPARSE_INDEX_16U ? 2 : width;
    p->index = cumu_fetch(p->stream, p->x.indices, (size_t)p->x.count * width);
    p->xs = cumu_fetch(p->stream, p->x.values, (size_t)p->x.count * size);
    p->ys = cumu_fetch(p->stream, p->y.values, (size_t)p->y.count * size);
    r = p->index && p->xs && p->ys ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_INTERNAL_ERROR;
    for (int64_t k = 0; !r && k < p->x.count; k++)
        if (index_at(p, k) < 0 || index_at(p, k) >= p->y.size)
            r = MUSPARSE_STATUS_INVALID_VALUE;
    if (r)
        close_pair(p);
    return r;
}

static musparseStatus_t copy(const struct pair *p, void *to, const void *from, size_t bytes, int kind)
{
    return bytes && (mu.musaMemcpyAsync(to, from, bytes, kind, p->stream) || mu.musaStreamSynchronize(p->stream))
               ? MUSPARSE_STATUS_INTERNAL_ERROR
               : MUSPARSE_STATUS_SUCCESS;
}

static musparseStatus_t give_back(const struct pair *p, const struct vector *v, const void *values)
{
    return copy(p, v->values, values, (size_t)v->count * size_of(v->type), musaMemcpyHostToDevice);
}

static musparseStatus_t scalar(const struct pair *p, const void *at, struct number *n)
{
    double cell[2];
    if (!at)
        return MUSPARSE_STATUS_INVALID_POINTER;
    size_t size = size_of(p->x.type);
    musparseStatus_t r = p->device ? copy(p, cell, at, size, musaMemcpyDeviceToHost) : MUSPARSE_STATUS_SUCCESS;
    if (!r)
        *n = load(p->device ? cell : at, p->x.type, 0);
    return r;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static musparseStatus_t axpby(musparseHandle_t h, const void *alpha, musparseConstSpVecDescr_t x, const void *beta,
                              musparseDnVecDescr_t y)
{
    struct pair p;
    struct number a, b;
    musparseStatus_t r = open_pair(h, x, y, &p);
    if (r)
        return r;
    r = scalar(&p, alpha, &a);
    if (!r)
        r = scalar(&p, beta, &b);
    bool none = !r && b.re == 0 && b.im == 0; /* what y held does not count then */
    for (size_t i = 0; !r && i < (size_t)p.y.count; i++)
        store(p.ys, p.y.type, i, none ? (struct number){0, 0} : times(b, load(p.ys, p.y.type, i)));
    for (int64_t k = 0; !r && k < p.x.count; k++) {
        size_t i = (size_t)index_at(&p, k);
        struct number ax = times(a, load(p.xs, p.x.type, (size_t)k));
        store(p.ys, p.y.type, i, plus(load(p.ys, p.y.type, i), ax));
    }
    if (!r)
        r = give_back(&p, &p.y, p.ys);
    close_pair(&p);
    return r;
}

static musparseStatus_t rot(musparseHandle_t h, const void *cosine, const void *sine, musparseSpVecDescr_t x,
                            musparseDnVecDescr_t y)
{
    struct pair p;
    struct number c, s;
    musparseStatus_t r = open_pair(h, x, y, &p);
    if (r)
        return r;
    r = scalar(&p, cosine, &c);
    if (!r)
        r = scalar(&p, sine, &s);
    for (int64_t k = 0; !r && k < p.x.count; k++) {
        size_t i = (size_t)index_at(&p, k);
        struct number a = load(p.xs, p.x.type, (size_t)k), b = load(p.ys, p.y.type, i), minus = {-s.re, s.im};
        store(p.xs, p.x.type, (size_t)k, plus(times(c, a), times(s, b)));
        store(p.ys, p.y.type, i, plus(times(c, b), times(minus, a)));
    }
    if (!r)
        r = give_back(&p, &p.x, p.xs);
    if (!r)
        r = give_back(&p, &p.y, p.ys);
    close_pair(&p);
    return r;
}

static musparseStatus_t spvv_size(musparseHandle_t h, musparseOperation_t op, musparseConstSpVecDescr_t x,
                                  musparseConstDnVecDescr_t y, const void *result, int compute, size_t *size)
{
    struct vector v;
    int version;
    (void)op, (void)result, (void)compute;
    if (!size || !find(x, &v) || !find(y, &v))
        return MUSPARSE_STATUS_INVALID_VALUE;
    *size = sizeof(struct number); /* not used: some programs take no memory for an error */
    return mu.musparseGetVersion(h, &version);
}

static musparseStatus_t spvv(musparseHandle_t h, musparseOperation_t op, musparseConstSpVecDescr_t x,
                             musparseConstDnVecDescr_t y, void *result, int compute, void *buffer)
{
    struct pair p;
    struct number sum = {0, 0};
    double cell[2];
    (void)buffer;
    if (!result)
        return MUSPARSE_STATUS_INVALID_POINTER;
    musparseStatus_t r = open_pair(h, x, y, &p);
    if (r)
        return r;
    if (compute != p.x.type)
        r = MUSPARSE_STATUS_NOT_IMPLEMENTED;
    for (int64_t k = 0; !r && k < p.x.count; k++) {
        struct number a = load(p.xs, p.x.type, (size_t)k);
        if (op == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE)
            a.im = -a.im;
        sum = plus(sum, times(a, load(p.ys, p.y.type, (size_t)index_at(&p, k))));
    }
    if (!r)
        store(p.device ? cell : result, compute, 0, sum);
    if (!r && p.device)
        r = copy(&p, result, cell, size_of(compute), musaMemcpyHostToDevice);
    close_pair(&p);
    return r;
}

static musparseStatus_t identity(musparseHandle_t h, int n, int *out)
{
    musaStream_t stream;
    musparseStatus_t r = mu.musparseGetStream(h, &stream);
    if (r || n <= 0)
        return r || !n ? r : MUSPARSE_STATUS_INVALID_SIZE;
    int *numbers = malloc((size_t)n * sizeof *numbers);
    for (int i = 0; numbers && i < n; i++)
        numbers[i] = i;
    bool bad = !out || !numbers ||
               mu.musaMemcpyAsync(out, numbers, (size_t)n * sizeof *numbers, musaMemcpyHostToDevice, stream) ||
               mu.musaStreamSynchronize(stream);
    free(numbers);
    return bad ? MUSPARSE_STATUS_INVALID_VALUE : MUSPARSE_STATUS_SUCCESS;
}

/* ---- the family ---------------------------------------------------------------------------------------- */

/* Stands in where it is missing, or around the library's where one of the others is: those need to know the vectors. */
enum when { MISSING, AROUND };
#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name;
    enum when when;
    void (*function)(void);
} rows[] = {
    {"musparseAxpby", MISSING, STAND_IN(axpby)},
    {"musparseCreateDnVec", AROUND, STAND_IN(create_dense)},
    {"musparseCreateIdentityPermutation", MISSING, STAND_IN(identity)},
    {"musparseCreateSpVec", AROUND, STAND_IN(create_sparse)},
    {"musparseDestroyDnVec", AROUND, STAND_IN(destroy_dense)},
    {"musparseDestroySpVec", AROUND, STAND_IN(destroy_sparse)},
    {"musparseDnVecGet", MISSING, STAND_IN(get_dense)},
    {"musparseDnVecGetValues", MISSING, STAND_IN(get_dense_values)},
    {"musparseDnVecSetValues", AROUND, STAND_IN(set_dense)},
    {"musparseRot", MISSING, STAND_IN(rot)},
    {"musparseSpVV", MISSING, STAND_IN(spvv)},
    {"musparseSpVV_bufferSize", MISSING, STAND_IN(spvv_size)},
    {"musparseSpVecGet", MISSING, STAND_IN(get_sparse)},
    {"musparseSpVecGetValues", MISSING, STAND_IN(get_sparse_values)},
    {"musparseSpVecSetValues", AROUND, STAND_IN(set_sparse)},
};
enum { ROWS = sizeof rows / sizeof *rows };

void *cumu_vector_stand_in(const char *symbol)
{
    unsigned found = ROWS;
    bool any = false, stands = cumu_below_has("musparse", "musparseCreate");
    for (unsigned i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, symbol) == 0)
            found = i;
    if (found == ROWS)
        return NULL;
    for (unsigned i = 0; stands && i < ROWS; i++)
        any |= rows[i].when == MISSING && !cumu_below_has("musparse", rows[i].name);
    bool there = cumu_below_has("musparse", symbol);
    return any && there == (rows[found].when == AROUND) ? cumu_code_address(rows[found].function) : NULL;
}
