/* cuSOLVER's solvers that refine what a lower precision found. Here the full precision solves at once, on a copy of A:
 * no iterations, and A as it was. A count below 0 would say so too, but CuPy takes that for a failure. */
#include <stdlib.h>

#include "api/cusolver/cusolver.h"
#include "api/object.h"

static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }
static int most(int a, int b) { return a > b ? a : b; }

static bool bad(int rows, int columns, int nrhs, int lda, int ldb, int ldx)
{
    return columns < 0 || rows < columns || nrhs < 0 || lda < most(rows, 1) || ldb < most(rows, 1) ||
           ldx < most(columns, 1);
}

/* Columns, on the device. */
static int copy(int type, musaStream_t stream, void *to, int ldto, const void *from, int ldfrom, int rows, int columns)
{
    size_t size = cumu_solver_size(type);
    return mu.musaMemcpy2DAsync(to, size * (size_t)ldto, from, size * (size_t)ldfrom, size * (size_t)rows,
                                (size_t)columns, musaMemcpyDeviceToDevice, stream)
               ? CUSOLVER_STATUS_EXECUTION_FAILED
               : CUSOLVER_STATUS_SUCCESS;
}

/* ---- square systems ---------------------------------------------------------------------------- */

/* The workspace: pivots where the caller has none, an info of the solution, the copy of A, getrf's. */
static int gesv_size(int type, void *h, int n, int nrhs, void *a, int lda, int ldb, int ldx, size_t *bytes)
{
    musaStream_t stream;
    int lwork = 0, r = cumu_solver_stream(h, &stream);
    if (!r && (!bytes || bad(n, n, nrhs, lda, ldb, ldx)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_getrf_size(type, h, n, n, a, most(n, 1), &lwork);
    if (!r)
        *bytes = rounded((size_t)n * sizeof(int)) + 256 + rounded((size_t)n * (size_t)n * cumu_solver_size(type)) +
                 (size_t)lwork * cumu_solver_size(type);
    return r;
}
/* Solves by a factorisation in full precision, where cuSOLVER factors in low precision and refines: muSOLVER has no
 * such solver. So there are no iterations, and the result is at least as exact. The workspace holds pivots, the
 * factors and getrf's own. */
static int gesv(int type, void *h, int n, int nrhs, void *a, int lda, int *ipiv, const void *b, int ldb, void *x,
                int ldx, void *work, size_t bytes, int *iterations, int *info)
{
    size_t need = 0;
    musaStream_t stream;
    int r = gesv_size(type, h, n, nrhs, a, lda, ldb, ldx, &need);
    if (!r && n && (bytes < need || !work))
        r = CUSOLVER_STATUS_INVALID_WORKSPACE;
    if (!r && n && nrhs && (!a || !b || !x))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    char *solved = (char *)work + rounded((size_t)n * sizeof(int)), *factors = solved + 256;
    char *more = factors + rounded((size_t)n * (size_t)n * cumu_solver_size(type));
    ipiv = ipiv ? ipiv : work;
    if (n && nrhs)
        r = copy(type, stream, x, ldx, b, ldb, n, nrhs);
    if (!r && n && a)
        r = copy(type, stream, factors, n, a, lda, n, n);
    if (!r)
        r = cumu_solver_getrf(type, h, n, n, factors, most(n, 1), more, ipiv, info);
    if (!r && n)
        r = cumu_solver_getrs(type, h, CUBLAS_OP_N, n, nrhs, factors, n, ipiv, x, ldx, (int *)(void *)solved);
    if (!r && iterations)
        *iterations = 0;
    return r;
}

/* ---- least squares ----------------------------------------------------------------------------- */

/* The workspace: reflectors' factors, an info of the product, the right sides, the copy of A, the larger of two
 * others. */
struct plan {
    size_t tau, info, sides, factors, work, bytes;
    int lwork;
};
static int transposed(int type) { return type >= C ? CUBLAS_OP_C : CUBLAS_OP_T; }

static int gels_plan(int type, void *h, int m, int n, int nrhs, void *a, int lda, int ldb, int ldx, struct plan *p)
{
    size_t size = cumu_solver_size(type);
    musaStream_t stream;
    int first = 0, second = 0, r = cumu_solver_stream(h, &stream);
    if (!r && bad(m, n, nrhs, lda, ldb, ldx))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_geqrf_size(type, h, m, n, a, most(m, 1), &first);
    if (!r)
        r = cumu_solver_ormqr_size(type, h, CUBLAS_SIDE_LEFT, transposed(type), m, nrhs, n, a, most(m, 1), NULL, NULL,
                                   most(m, 1), &second);
    if (r)
        return r;
    p->lwork = most(first, second);
    p->tau = 0;
    p->info = rounded(size * (size_t)n);
    p->sides = p->info + 256;
    p->factors = p->sides + rounded(size * (size_t)m * (size_t)nrhs);
    p->work = p->factors + rounded(size * (size_t)m * (size_t)n);
    p->bytes = p->work + size * (size_t)p->lwork;
    return r;
}
static int gels_size(int type, void *h, int m, int n, int nrhs, void *a, int lda, int ldb, int ldx, size_t *bytes)
{
    struct plan p;
    int r = gels_plan(type, h, m, n, nrhs, a, lda, ldb, ldx, &p);
    if (!r && !bytes)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        *bytes = p.bytes;
    return r;
}

/* R X = Q^H B by muBLAS, whose handle muSOLVER's is. Its scalars are on the host for this call. */
static int upper(int type, void *h, int n, int nrhs, void *r, int ldr, void *b, int ldb)
{
    static const float one_s[2] = {1};
    static const double one_d[2] = {1};
    const void *one = cumu_solver_real(type) == sizeof(float) ? (const void *)one_s : one_d;
    int side = MUBLAS_SIDE_LEFT, fill = MUBLAS_FILL_MODE_UPPER, op = MUBLAS_OP_N, diag = MUBLAS_DIAG_NON_UNIT;
    int status;
    switch (type) {
    case S: status = mu.mublasStrsm(h, side, fill, op, diag, n, nrhs, one, r, ldr, b, ldb); break;
    case D: status = mu.mublasDtrsm(h, side, fill, op, diag, n, nrhs, one, r, ldr, b, ldb); break;
    case C: status = mu.mublasCtrsm(h, side, fill, op, diag, n, nrhs, one, r, ldr, b, ldb); break;
    default: status = mu.mublasZtrsm(h, side, fill, op, diag, n, nrhs, one, r, ldr, b, ldb);
    }
    return status ? CUSOLVER_STATUS_INTERNAL_ERROR : CUSOLVER_STATUS_SUCCESS;
}

/* Least squares by QR in full precision (no refinement, as in gesv): factors, Q' b, then the triangle. The plan lays
 * the parts out in the workspace. */
static int gels(int type, void *h, int m, int n, int nrhs, void *a, int lda, const void *b, int ldb, void *x, int ldx,
                void *work, size_t bytes, int *iterations, int *info)
{
    struct plan p;
    musaStream_t stream;
    char *at = work;
    bool empty = !n || !nrhs;
    int r = gels_plan(type, h, m, n, nrhs, a, lda, ldb, ldx, &p);
    if (!r && !empty && (bytes < p.bytes || !work))
        r = CUSOLVER_STATUS_INVALID_WORKSPACE;
    if (!r && !empty && (!a || !b || !x))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_solver_stream(h, &stream);
    if (!r && !empty)
        r = copy(type, stream, at + p.sides, m, b, ldb, m, nrhs);
    if (!r && n && a)
        r = copy(type, stream, at + p.factors, m, a, lda, m, n);
    if (!r && n)
        r = cumu_solver_geqrf(type, h, m, n, at + p.factors, m, at + p.tau, at + p.work, p.lwork, info);
    if (!r && !empty)
        r = cumu_solver_ormqr(type, h, CUBLAS_SIDE_LEFT, transposed(type), m, nrhs, n, at + p.factors, m, at + p.tau,
                              at + p.sides, m, at + p.work, p.lwork, (int *)(void *)(at + p.info));
    if (!r && !empty)
        r = upper(type, h, n, nrhs, at + p.factors, m, at + p.sides, m);
    if (!r && !empty)
        r = copy(type, stream, x, ldx, at + p.sides, m, n, nrhs);
    if (!r && iterations)
        *iterations = 0;
    return r;
}

#define REFINED(X, t) \
    int wrap_cusolverDn##X##X##gesv_bufferSize(void *h, int n, int nrhs, void *a, int lda, void *ipiv, void *b, \
                                               int ldb, void *x, int ldx, void *work, void *bytes) \
    { \
        (void)ipiv, (void)b, (void)x, (void)work; \
        return gesv_size(t, h, n, nrhs, a, lda, ldb, ldx, bytes); \
    } \
    int wrap_cusolverDn##X##X##gesv(void *h, int n, int nrhs, void *a, int lda, void *ipiv, void *b, int ldb, void *x, \
                                    int ldx, void *work, size_t bytes, void *iterations, void *info) \
    { \
        return gesv(t, h, n, nrhs, a, lda, ipiv, b, ldb, x, ldx, work, bytes, iterations, info); \
    } \
    int wrap_cusolverDn##X##X##gels_bufferSize(void *h, int m, int n, int nrhs, void *a, int lda, void *b, int ldb, \
                                               void *x, int ldx, void *work, void *bytes) \
    { \
        (void)b, (void)x, (void)work; \
        return gels_size(t, h, m, n, nrhs, a, lda, ldb, ldx, bytes); \
    } \
    int wrap_cusolverDn##X##X##gels(void *h, int m, int n, int nrhs, void *a, int lda, void *b, int ldb, void *x, \
                                    int ldx, void *work, size_t bytes, void *iterations, void *info) \
    { \
        return gels(t, h, m, n, nrhs, a, lda, b, ldb, x, ldx, work, bytes, iterations, info); \
    }
REFINED(S, S)
REFINED(D, D)
REFINED(C, C)
REFINED(Z, Z)

/* ---- the expert interface ---------------------------------------------------------------------- */

struct irs_params {
    int main, lowest, solver, iterations, inner;
    double tolerance, inner_tolerance;
    bool fallback;
};
struct irs_infos {
    int iterations, limit;
    bool wanted, solved;
};

static int new_object(void *out, enum cumu_object kind, size_t size)
{
    void **at = out;
    if (!at)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *at = cumu_object_new(kind, size);
    return *at ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
int wrap_cusolverDnIRSParamsCreate(void *out)
{
    int r = new_object(out, CUMU_IRS_PARAMS, sizeof(struct irs_params));
    if (!r)
        **(struct irs_params **)out = (struct irs_params){
            .solver = CUSOLVER_IRS_REFINE_NOT_SET, .iterations = 50, .inner = 50, .fallback = true};
    return r;
}
int wrap_cusolverDnIRSParamsDestroy(void *params)
{
    if (!cumu_object_end(CUMU_IRS_PARAMS, params))
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    free(params);
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnIRSInfosCreate(void *out) { return new_object(out, CUMU_IRS_INFOS, sizeof(struct irs_infos)); }
int wrap_cusolverDnIRSInfosDestroy(void *infos)
{
    if (!cumu_object_end(CUMU_IRS_INFOS, infos))
        return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
    free(infos);
    return CUSOLVER_STATUS_SUCCESS;
}

/* The type of a main precision, or -1. */
static int main_type(int precision)
{
    switch (precision) {
    case CUSOLVER_R_32F: return S;
    case CUSOLVER_R_64F: return D;
    case CUSOLVER_C_32F: return C;
    case CUSOLVER_C_64F: return Z;
    default: return -1;
    }
}
static bool precision(int p)
{
    return (p >= CUSOLVER_R_8I && p <= CUSOLVER_R_AP) || (p >= CUSOLVER_C_8I && p <= CUSOLVER_C_AP);
}

#define PARAMS(name, T, field, valid, status) \
    int wrap_cusolverDnIRSParams##name(void *params, T value) \
    { \
        if (!cumu_object(CUMU_IRS_PARAMS, params)) \
            return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED; \
        if (!(valid)) \
            return CUSOLVER_STATUS_IRS_PARAMS_INVALID##status; \
        ((struct irs_params *)params)->field = value; \
        return CUSOLVER_STATUS_SUCCESS; \
    }
PARAMS(SetSolverMainPrecision, int, main, main_type(value) >= 0, _PREC)
PARAMS(SetSolverLowestPrecision, int, lowest, precision(value), _PREC)
PARAMS(SetRefinementSolver, int, solver,
       value >= CUSOLVER_IRS_REFINE_NOT_SET && value <= CUSOLVER_IRS_REFINE_GMRES_NOPCOND, _REFINE)
PARAMS(SetMaxIters, int, iterations, value >= 0, _MAXITER)
PARAMS(SetMaxItersInner, int, inner, value >= 0, _MAXITER)
PARAMS(SetTol, double, tolerance, value >= 0, )
PARAMS(SetTolInner, double, inner_tolerance, value >= 0, )

int wrap_cusolverDnIRSParamsSetSolverPrecisions(void *params, int first, int lowest)
{
    int r = wrap_cusolverDnIRSParamsSetSolverMainPrecision(params, first);
    return r ? r : wrap_cusolverDnIRSParamsSetSolverLowestPrecision(params, lowest);
}
static int fall_back(struct irs_params *params, bool may)
{
    if (!cumu_object(CUMU_IRS_PARAMS, params))
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    params->fallback = may;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnIRSParamsEnableFallback(void *params) { return fall_back(params, true); }
int wrap_cusolverDnIRSParamsDisableFallback(void *params) { return fall_back(params, false); }
int wrap_cusolverDnIRSParamsGetMaxIters(void *params, void *out)
{
    if (!cumu_object(CUMU_IRS_PARAMS, params))
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *(int *)out = ((struct irs_params *)params)->iterations;
    return CUSOLVER_STATUS_SUCCESS;
}

static int told(struct irs_infos *infos, int *out, const int *value)
{
    if (!cumu_object(CUMU_IRS_INFOS, infos) || !infos->solved)
        return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *out = *value;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnIRSInfosGetNiters(void *infos, void *out)
{
    return told(infos, out, &((struct irs_infos *)infos)->iterations);
}
int wrap_cusolverDnIRSInfosGetOuterNiters(void *infos, void *out)
{
    return told(infos, out, &((struct irs_infos *)infos)->iterations);
}
int wrap_cusolverDnIRSInfosGetMaxIters(void *infos, void *out)
{
    return told(infos, out, &((struct irs_infos *)infos)->limit);
}
int wrap_cusolverDnIRSInfosRequestResidual(void *infos)
{
    if (!cumu_object(CUMU_IRS_INFOS, infos))
        return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
    ((struct irs_infos *)infos)->wanted = true;
    return CUSOLVER_STATUS_SUCCESS;
}
/* No iterations, no history. */
int wrap_cusolverDnIRSInfosGetResidualHistory(void *infos, void *out)
{
    (void)out;
    return cumu_object(CUMU_IRS_INFOS, infos) ? CUSOLVER_STATUS_NOT_SUPPORTED
                                              : CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
}

static int expert(struct irs_params *p, const struct irs_infos *infos, bool with_infos, int *type)
{
    if (!cumu_object(CUMU_IRS_PARAMS, p))
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    if (with_infos && !cumu_object(CUMU_IRS_INFOS, infos))
        return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
    *type = main_type(p->main);
    return *type < 0 ? CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC : CUSOLVER_STATUS_SUCCESS;
}
static int solved(const struct irs_params *p, struct irs_infos *infos)
{
    *infos = (struct irs_infos){0, p->iterations, infos->wanted, true};
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnIRSXgesv_bufferSize(void *h, void *params, int n, int nrhs, void *bytes)
{
    int type, r = expert(params, NULL, false, &type);
    return r ? r : gesv_size(type, h, n, nrhs, NULL, most(n, 1), most(n, 1), most(n, 1), bytes);
}
int wrap_cusolverDnIRSXgesv(void *h, void *params, void *infos, int n, int nrhs, void *a, int lda, void *b, int ldb,
                            void *x, int ldx, void *work, size_t bytes, void *iterations, void *info)
{
    int type, r = expert(params, infos, true, &type);
    if (!r)
        r = gesv(type, h, n, nrhs, a, lda, NULL, b, ldb, x, ldx, work, bytes, iterations, info);
    return r ? r : solved(params, infos);
}
int wrap_cusolverDnIRSXgels_bufferSize(void *h, void *params, int m, int n, int nrhs, void *bytes)
{
    int type, r = expert(params, NULL, false, &type);
    return r ? r : gels_size(type, h, m, n, nrhs, NULL, most(m, 1), most(m, 1), most(n, 1), bytes);
}
int wrap_cusolverDnIRSXgels(void *h, void *params, void *infos, int m, int n, int nrhs, void *a, int lda, void *b,
                            int ldb, void *x, int ldx, void *work, size_t bytes, void *iterations, void *info)
{
    int type, r = expert(params, infos, true, &type);
    if (!r)
        r = gels(type, h, m, n, nrhs, a, lda, b, ldb, x, ldx, work, bytes, iterations, info);
    return r ? r : solved(params, infos);
}
