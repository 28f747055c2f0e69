/* Handles of the CPU muSOLVER, which are muBLAS's, and the options of Jacobi solvers. */
#include "host/maths/places.h"
#include "host/musolver/musolver.h"

bool musolver_live(musolverDnHandle_t h)
{
    musaStream_t stream;
    return mublasGetStream(h, &stream) == MUBLAS_STATUS_SUCCESS;
}

static musolverStatus_t status(mublasStatus_t r)
{
    switch (r) {
    case MUBLAS_STATUS_SUCCESS: return MUSOLVER_STATUS_SUCCESS;
    case MUBLAS_STATUS_INVALID_HANDLE: return MUSOLVER_STATUS_NOT_INITIALIZED;
    case MUBLAS_STATUS_MEMORY_ERROR: return MUSOLVER_STATUS_ALLOC_FAILED;
    case MUBLAS_STATUS_INVALID_POINTER: return MUSOLVER_STATUS_INVALID_VALUE;
    default: return MUSOLVER_STATUS_INTERNAL_ERROR;
    }
}

musolverStatus_t musolverDnCreate(musolverDnHandle_t *handle) { return status(mublasCreate(handle)); }
musolverStatus_t musolverDnDestroy(musolverDnHandle_t h) { return status(mublasDestroy(h)); }
musolverStatus_t musolverDnSetStream(musolverDnHandle_t h, musaStream_t s) { return status(mublasSetStream(h, s)); }
musolverStatus_t musolverDnGetStream(musolverDnHandle_t h, musaStream_t *s) { return status(mublasGetStream(h, s)); }

/* Places of one array: a run that a program did not wait for never writes into freed memory. */
enum { OPTIONS = 1024 };
struct _musolverParams_t {
    struct maths_place place;
    double tolerance, residual;
    int sweeps, sort;
    bool batched;
};
static struct _musolverParams_t options[OPTIONS];
static struct maths_places places = MATHS_PLACES(options);

bool musolver_params(musolverJacobi_t p) { return maths_live(&places, p); }

void musolver_told(musolverJacobi_t p, double residual, bool batched)
{
    p->residual = residual;
    p->batched = batched;
}

static musolverStatus_t create(musolverJacobi_t *out)
{
    if (!out)
        return MUSOLVER_STATUS_INVALID_VALUE;
    struct _musolverParams_t *p = maths_take(&places);
    if (!p)
        return MUSOLVER_STATUS_ALLOC_FAILED;
    p->tolerance = p->residual = 0;
    p->sweeps = 100;
    p->sort = 1;
    p->batched = false;
    p->place.live = true;
    *out = p;
    return MUSOLVER_STATUS_SUCCESS;
}

static musolverStatus_t destroy(musolverJacobi_t p)
{
    if (!maths_end(&places, p))
        return MUSOLVER_STATUS_INVALID_VALUE;
    maths_free(p);
    return MUSOLVER_STATUS_SUCCESS;
}

static musolverStatus_t told(musolverDnHandle_t h, musolverJacobi_t p)
{
    musaStream_t stream;
    if (mublasGetStream(h, &stream))
        return MUSOLVER_STATUS_NOT_INITIALIZED;
    if (!musolver_params(p))
        return MUSOLVER_STATUS_INVALID_VALUE;
    if (musaStreamSynchronize(stream))
        return MUSOLVER_STATUS_EXECUTION_FAILED;
    return p->batched ? MUSOLVER_STATUS_NOT_SUPPORTED : MUSOLVER_STATUS_SUCCESS;
}

#define SETTER(name, type, field, valid) \
    musolverStatus_t musolverDnX##name(musolverJacobi_t p, type value) \
    { \
        if (!musolver_params(p) || !(valid)) \
            return MUSOLVER_STATUS_INVALID_VALUE; \
        p->field = value; \
        return MUSOLVER_STATUS_SUCCESS; \
    }
#define GETTER(name, type, value) \
    musolverStatus_t musolverDnX##name(musolverDnHandle_t h, musolverJacobi_t p, type *out) \
    { \
        musolverStatus_t r = told(h, p); \
        if (!r && !out) \
            r = MUSOLVER_STATUS_INVALID_VALUE; \
        if (!r) \
            *out = value; \
        return r; \
    }
#define JACOBI(Name, x) \
    musolverStatus_t musolverDnCreate##Name##Info(musolverJacobi_t *out) { return create(out); } \
    musolverStatus_t musolverDnDestroy##Name##Info(musolverJacobi_t p) { return destroy(p); } \
    SETTER(x##SetTolerance, double, tolerance, value >= 0) \
    SETTER(x##SetMaxSweeps, int, sweeps, value >= 0) \
    SETTER(x##SetSortEig, int, sort, value == 0 || value == 1) \
    GETTER(x##GetResidual, double, p->residual) \
    GETTER(x##GetSweeps, int, 0)
JACOBI(Gesvdj, gesvdj)
JACOBI(Syevj, syevj)
