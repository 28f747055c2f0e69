/* muSOLVER's Jacobi functions for eigenvalues, of which nothing public shows more than a name, over the direct ones:
 * the same results, more exact than a tolerance asks, in ascending order. */
#include "api/api.h"
#include "api/cusolver/cusolver.h"
#include "api/emulate.h"
#include "core/init.h"
#include "core/resolve.h"

#include "musa_enums.h"

#include <stdlib.h>
#include <string.h>

/* ---- options: kept, and of no effect ---------------------------------------------------------------- */

static musolverStatus_t create(musolverJacobi_t *info)
{
    if (!info)
        return MUSOLVER_STATUS_INVALID_VALUE;
    *info = malloc(1);
    return *info ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_ALLOC_FAILED;
}

static musolverStatus_t destroy(musolverJacobi_t info)
{
    free(info);
    return info ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_INVALID_VALUE;
}

static musolverStatus_t set_tolerance(musolverJacobi_t info, double tolerance)
{
    return info && tolerance >= 0 ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_INVALID_VALUE;
}

static musolverStatus_t set_sweeps(musolverJacobi_t info, int sweeps)
{
    return info && sweeps >= 0 ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_INVALID_VALUE;
}

static musolverStatus_t set_sort(musolverJacobi_t info, int sort)
{
    return info && (sort == 0 || sort == 1) ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_INVALID_VALUE;
}

/* A direct solver makes no sweeps, and measures no residual. */
static musolverStatus_t get_sweeps(musolverDnHandle_t h, musolverJacobi_t info, int *sweeps)
{
    if (!h || !info || !sweeps)
        return h ? MUSOLVER_STATUS_INVALID_VALUE : MUSOLVER_STATUS_NOT_INITIALIZED;
    *sweeps = 0;
    return MUSOLVER_STATUS_SUCCESS;
}

static musolverStatus_t get_residual(musolverDnHandle_t h, musolverJacobi_t info, double *residual)
{
    if (!h || !info || !residual)
        return h ? MUSOLVER_STATUS_INVALID_VALUE : MUSOLVER_STATUS_NOT_INITIALIZED;
    cumu_gap("cusolver", "cusolverDnXsyevjGetResidual", "a direct solver served; the residual was not measured");
    *residual = 0;
    return MUSOLVER_STATUS_SUCCESS;
}

/* ---- solvers ------------------------------------------------------------------------------------------ */

static int size_of(int type, void *h, int job, int uplo, int n, const void *a, int lda, int *lwork)
{
    int jobz = cumu_cusolverEigMode_t_from_musa(job), fill = cumu_cublasFillMode_t_from_musa(uplo);
    return cumu_cusolverStatus_t_to_musa(cumu_solver_syevd_size(type, h, jobz, fill, n, a, lda, lwork));
}

/* Matrices, values and infos of a batch lie one behind the other. */
static int solve(int type, void *h, int job, int uplo, int n, void *a, int lda, void *w, void *work, int lwork,
                 int *info, int batch)
{
    size_t matrix = (size_t)lda * (size_t)(n > 0 ? n : 0) * cumu_solver_size(type);
    size_t values = (size_t)(n > 0 ? n : 0) * cumu_solver_real(type);
    int jobz = cumu_cusolverEigMode_t_from_musa(job), fill = cumu_cublasFillMode_t_from_musa(uplo);
    int r = batch < 0 ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
    for (int i = 0; !r && i < batch; i++)
        r = cumu_solver_syevd(type, h, jobz, fill, n, (char *)a + (size_t)i * matrix, lda,
                              (char *)w + (size_t)i * values, work, lwork, info ? info + i : NULL);
    return cumu_cusolverStatus_t_to_musa(r);
}

#define H musolverDnHandle_t h
#define EV mublasEvect_t job, mublasFillMode_t uplo, int n
#define JACOBI(X, name, T, R) \
    static musolverStatus_t name##_size(H, EV, const T *a, int lda, const R *w, int *lwork, musolverJacobi_t info) \
    { \
        (void)w, (void)info; \
        return size_of(X, h, job, uplo, n, a, lda, lwork); \
    } \
    static musolverStatus_t name(H, EV, T *a, int lda, R *w, T *work, int lwork, int *info, musolverJacobi_t params) \
    { \
        (void)params; \
        return solve(X, h, job, uplo, n, a, lda, w, work, lwork, info, 1); \
    } \
    static musolverStatus_t name##_batch_size(H, EV, const T *a, int lda, const R *w, int *lwork, \
                                              musolverJacobi_t info, int batch) \
    { \
        (void)w, (void)info, (void)batch; \
        return size_of(X, h, job, uplo, n, a, lda, lwork); \
    } \
    static musolverStatus_t name##_batch(H, EV, T *a, int lda, R *w, T *work, int lwork, int *info, \
                                         musolverJacobi_t params, int batch) \
    { \
        (void)params; \
        return solve(X, h, job, uplo, n, a, lda, w, work, lwork, info, batch); \
    }
JACOBI(S, ssyevj, float, float)
JACOBI(D, dsyevj, double, double)
JACOBI(C, cheevj, muComplex, float)
JACOBI(Z, zheevj, muDoubleComplex, double)

/* ---- the family: the options are ours where no solver below could be given them ------------------------ */

#define STAND_IN(function) (void (*)(void))(function)
#define SOLVERS(symbol, name, direct, old) \
    {"musolverDn" symbol, direct, old, STAND_IN(name)}, \
        {"musolverDn" symbol "_bufferSize", direct, old, STAND_IN(name##_size)}, \
        {"musolverDn" symbol "Batched", direct, old, STAND_IN(name##_batch)}, \
    { \
        "musolverDn" symbol "Batched_bufferSize", direct, old, STAND_IN(name##_batch_size) \
    }
static const struct {
    const char *name, *direct, *old; /* the last two: what it stands on, by newer and older SDKs' names */
    void (*function)(void);
} rows[] = {
    {"musolverDnCreateSyevjInfo", NULL, NULL, STAND_IN(create)},
    {"musolverDnDestroySyevjInfo", NULL, NULL, STAND_IN(destroy)},
    {"musolverDnXsyevjGetResidual", NULL, NULL, STAND_IN(get_residual)},
    {"musolverDnXsyevjGetSweeps", NULL, NULL, STAND_IN(get_sweeps)},
    {"musolverDnXsyevjSetMaxSweeps", NULL, NULL, STAND_IN(set_sweeps)},
    {"musolverDnXsyevjSetSortEig", NULL, NULL, STAND_IN(set_sort)},
    {"musolverDnXsyevjSetTolerance", NULL, NULL, STAND_IN(set_tolerance)},
    SOLVERS("Ssyevj", ssyevj, "musolverDnSsyevd", "musolverSsyevd"),
    SOLVERS("Dsyevj", dsyevj, "musolverDnDsyevd", "musolverDsyevd"),
    SOLVERS("Cheevj", cheevj, "musolverDnCheevd", NULL),
    SOLVERS("Zheevj", zheevj, "musolverDnZheevd", NULL),
};

static bool has(const char *symbol) { return symbol && cumu_below_has("musolver", symbol); }

void *cumu_solver_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, symbol) != 0)
            continue;
        bool missing = rows[i].direct ? !has(symbol) : !has("musolverDnDsyevj") && !has("musolverDnSsyevj");
        bool stands = rows[i].direct ? has(rows[i].direct) || has(rows[i].old)
                                     : has("musolverDnDsyevd") || has("musolverDsyevd");
        return missing && stands ? cumu_code_address(rows[i].function) : NULL;
    }
    return NULL;
}
