/* Workspaces of the CPU muSOLVER, its calls' way onto their streams, and the letters of LAPACK. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musolver/musolver.h"

musolver_number musolver_get(const void *a, int type, size_t i)
{
    switch (type) {
    case S: return ((const float *)a)[i];
    case D: return ((const double *)a)[i];
    case C: return ((const float _Complex *)a)[i];
    default: return ((const musolver_number *)a)[i];
    }
}

double musolver_get_real(const void *a, int type, size_t i)
{
    return musolver_real(type) == 4 ? ((const float *)a)[i] : ((const double *)a)[i];
}

void musolver_put(void *a, int type, size_t i, musolver_number v)
{
    switch (type) {
    case S: ((float *)a)[i] = (float)__real__ v; break;
    case D: ((double *)a)[i] = __real__ v; break;
    case C: ((float _Complex *)a)[i] = (float _Complex)v; break;
    default: ((musolver_number *)a)[i] = v;
    }
}

/* A size that LAPACK answered as a floating-point number; a float may have been rounded down. */
static int answered(const void *at, int type)
{
    double v = musolver_get_real(at, type, 0);
    return (int)(v > 1 << 24 ? v * 1.000001 : v);
}

static void query(const struct musolver_call *c, struct musolver_room *r)
{
    musolver_number work = 0, rwork = 0;
    int iwork = 0;
    *r = (struct musolver_room){
        .query = true, .lwork = -1, .lrwork = -1, .liwork = -1, .work = &work, .rwork = &rwork, .iwork = &iwork};
    c->op(c, r);
    if (r->lwork < 0)
        r->lwork = answered(&work, c->type);
    if (r->lrwork < 0)
        r->lrwork = answered(&rwork, c->type);
    if (r->liwork < 0)
        r->liwork = iwork;
    r->query = false;
    r->info = 0;
}

static size_t rounded(size_t bytes) { return (bytes + 15) / 16 * 16; }

/* The parts of a workspace that begins at `at`, one after the other. Their sum in bytes. */
static size_t layout(const struct musolver_call *c, struct musolver_room *r, char *at)
{
    size_t work = rounded((size_t)r->lwork * musolver_size(c->type));
    size_t rwork = rounded((size_t)r->lrwork * musolver_real(c->type)), iwork = rounded((size_t)r->liwork * 4);
    if (at) {
        r->work = at;
        r->rwork = at + work;
        r->iwork = (int *)(void *)(at + work + rwork);
        r->extra = at + work + rwork + iwork;
    }
    return work + rwork + iwork + c->extra;
}

size_t musolver_bytes(const struct musolver_call *c)
{
    struct musolver_room r;
    query(c, &r);
    return layout(c, &r, NULL);
}

static size_t elements(const struct musolver_call *c)
{
    size_t size = musolver_size(c->type), n = (musolver_bytes(c) + size - 1) / size;
    return n ? n : 1;
}

musolverStatus_t musolver_lwork(musolverDnHandle_t h, const struct musolver_call *c, bool bad, int *lwork)
{
    if (!musolver_live(h))
        return MUSOLVER_STATUS_NOT_INITIALIZED;
    if (bad || !lwork)
        return MUSOLVER_STATUS_INVALID_VALUE;
    size_t n = elements(c);
    if (n > INT32_MAX)
        return MUSOLVER_STATUS_NOT_SUPPORTED;
    *lwork = (int)n;
    return MUSOLVER_STATUS_SUCCESS;
}

static void *matrix(const struct musolver_call *c, const struct musolver_operand *o, size_t size, int i)
{
    if (!o->at)
        return NULL;
    return c->pointers ? maths_member(((void **)o->at)[i]) : (char *)o->at + (long long)size * o->stride * i;
}

/* Runs a call when its turn on the stream comes: workspace is the caller's or taken here, and each matrix of a batch
 * is solved with its own pointers. */
static void run(const void *call)
{
    const struct musolver_call *c = call;
    struct musolver_room r;
    query(c, &r);
    size_t bytes = layout(c, &r, NULL);
    void *own = c->work || !bytes ? NULL : maths_alloc(bytes);
    if (bytes && !c->work && !own)
        return; /* info keeps what it held: nothing here may say more */
    layout(c, &r, own ? own : c->work);
    size_t size = musolver_size(c->type), real = musolver_real(c->type);
    struct musolver_call each = *c;
    for (int i = 0; i < (c->batch ? c->batch : 1); i++) {
        each.a.at = matrix(c, &c->a, size, i);
        each.b.at = matrix(c, &c->b, size, i);
        each.u.at = c->u.at ? (char *)c->u.at + (long long)size * c->u.stride * i : NULL;
        each.v.at = c->v.at ? (char *)c->v.at + (long long)size * c->v.stride * i : NULL;
        if (c->w)
            each.w = (char *)c->w + (long long)real * c->stridew * i;
        if (c->residuals)
            each.residuals = c->residuals + i;
        r.info = 0;
        c->op(&each, &r);
        if (c->info)
            c->info[i] = r.info;
    }
    free(own);
}

static void run_empty(const void *call)
{
    const struct musolver_call *c = call;
    for (int i = 0; c->info && i < (c->batch ? c->batch : 1); i++)
        c->info[i] = 0;
    if (c->meig)
        *c->meig = 0;
}

musolverStatus_t musolver_submit(musolverDnHandle_t h, struct musolver_call *c, bool bad, bool empty, void *work,
                                 int lwork, double operations)
{
    musaStream_t stream;
    if (mublasGetStream(h, &stream))
        return MUSOLVER_STATUS_NOT_INITIALIZED;
    if (bad)
        return MUSOLVER_STATUS_INVALID_VALUE;
    if (!empty && lwork >= 0 && ((size_t)lwork < elements(c) || !work))
        return MUSOLVER_STATUS_INVALID_VALUE;
    void **const place[] = {&c->a.at, &c->b.at, &c->u.at, &c->v.at, &c->tau, &c->taup, &c->w, &c->e, &work};
    for (size_t i = 0; i < sizeof place / sizeof *place; i++)
        *place[i] = maths_operand(*place[i]);
    c->from_tau = maths_operand(c->from_tau);
    c->from_ints = maths_operand(c->from_ints);
    c->ints = maths_operand(c->ints);
    c->info = maths_operand(c->info);
    c->work = work;
    struct maths_work what = {MATHS_LIBRARY, empty ? run_empty : run, NULL};
    switch (maths_submit(stream, what, c, sizeof *c, empty ? 1 : operations)) {
    case musaSuccess: break;
    case musaErrorMemoryAllocation: return MUSOLVER_STATUS_ALLOC_FAILED;
    default: return MUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if ((c->meig || c->residuals) && musaStreamSynchronize(stream))
        return MUSOLVER_STATUS_EXECUTION_FAILED;
    return MUSOLVER_STATUS_SUCCESS;
}

/* The letter of a value, which counts from `first`. */
static struct musolver_letter letter(int value, int first, const char *letters)
{
    int i = value - first;
    return (struct musolver_letter){{i >= 0 && (size_t)i < strlen(letters) ? letters[i] : 0, 0}};
}

struct musolver_letter musolver_fill(mublasFillMode_t u) { return letter(u, MUBLAS_FILL_MODE_UPPER, "UL"); }
struct musolver_letter musolver_side(mublasSideMode_t s) { return letter(s, MUBLAS_SIDE_LEFT, "LR"); }
struct musolver_letter musolver_diag(mublasDiagType_t d) { return letter(d, MUBLAS_DIAG_NON_UNIT, "NU"); }
struct musolver_letter musolver_svect(mublasSvect_t s) { return letter(s, MUBLAS_SVECT_ALL, "ASON"); }
struct musolver_letter musolver_evect(mublasEvect_t e)
{
    return (struct musolver_letter){{e == MUBLAS_EVECT_ORIGINAL ? 'V' : e == MUBLAS_EVECT_NONE ? 'N' : 0, 0}};
}

/* What the functions of orthogonal matrices know: real ones no C, complex ones no T. */
struct musolver_letter musolver_op(mublasOperation_t t, int type)
{
    struct musolver_letter l = letter(t, MUBLAS_OP_N, "NTC");
    if (l.c[0] == 'C' && !musolver_complex(type))
        l.c[0] = 'T';
    return l;
}
