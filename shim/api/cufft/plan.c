/* cuFFT: plans. They are int in cuFFT, pointers in muFFT: a table stands between, whose places are taken in turn,
 * so that the number of a destroyed plan stays none for long. */
#include "api/cufft/plan.h"
#include "api/release.h"

enum { PLANS = 65536, UNSET = -1 };
static struct cufft_plan plans[PLANS]; /* 0 stays free: programs take it for "none" */
static atomic_uint next;

struct cufft_plan *cumu_cufft_plan(int plan) { return plan > 0 && plan < PLANS ? &plans[plan] : NULL; }

/* The number of a new plan; 0 when all are taken. */
static int number(mufftHandle below, bool made)
{
    for (unsigned i = 0, first = next++; i < PLANS - 1; i++) {
        unsigned n = 1 + (first + i) % (PLANS - 1);
        struct cufft_plan *p = &plans[n];
        if (atomic_exchange(&p->taken, true))
            continue;
        p->made = made;
        p->patient = p->threads = UNSET;
        p->below = below;
        return (int)n;
    }
    return 0;
}

/* Hands out the number of what muFFT made. */
static int give(int *plan, int status, mufftHandle below, bool made)
{
    if (status == MUFFT_SETUP_FAILED)
        cumu_gap("cufft", NULL,
                 "muFFT cannot be set up; cumu's on the CPU needs FFTW (Debian: libfftw3-double3, libfftw3-single3)");
    if (status)
        return status;
    int n = number(below, made);
    if (!n) {
        mu.mufftDestroy(below);
        return CUFFT_ALLOC_FAILED;
    }
    *plan = n;
    return CUFFT_SUCCESS;
}

int wrap_cufftCreate(int *plan)
{
    mufftHandle h = NULL;
    if (!plan)
        return CUFFT_INVALID_VALUE;
    int status = mu.mufftCreate(&h);
    return give(plan, status, h, false);
}

int wrap_cufftPlan1d(int *plan, int nx, int type, int batch)
{
    mufftHandle h = NULL;
    if (!plan)
        return CUFFT_INVALID_VALUE;
    int status = mu.mufftPlan1d(&h, nx, type, batch);
    return give(plan, status, h, true);
}

int wrap_cufftPlan2d(int *plan, int nx, int ny, int type)
{
    mufftHandle h = NULL;
    if (!plan)
        return CUFFT_INVALID_VALUE;
    int status = mu.mufftPlan2d(&h, nx, ny, type);
    return give(plan, status, h, true);
}

int wrap_cufftPlan3d(int *plan, int nx, int ny, int nz, int type)
{
    mufftHandle h = NULL;
    if (!plan)
        return CUFFT_INVALID_VALUE;
    int status = mu.mufftPlan3d(&h, nx, ny, nz, type);
    return give(plan, status, h, true);
}

int wrap_cufftPlanMany(int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                       int odist, int type, int batch)
{
    mufftHandle h = NULL;
    if (!plan)
        return CUFFT_INVALID_VALUE;
    int status = mu.mufftPlanMany(&h, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch);
    return give(plan, status, h, true);
}

int wrap_cufftDestroy(int plan)
{
    struct cufft_plan *p = cumu_cufft_plan(plan);
    mufftHandle h = p ? atomic_exchange(&p->below, NULL) : NULL;
    if (!h)
        return CUFFT_INVALID_PLAN;
    p->taken = false;
    return mu.mufftDestroy(h);
}

/* Hints on how to plan, which muFFT has no use for: kept and told. */
static long long *property(struct cufft_plan *p, int which)
{
    return which == NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT            ? &p->patient
           : which == NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS ? &p->threads
                                                                     : NULL;
}

static int set_property(int plan, int which, long long value)
{
    CUFFT_BELOW(plan, h);
    (void)h;
    long long *at = property(place_, which);
    if (!at)
        return CUFFT_INVALID_VALUE;
    if (place_->made)
        return CUFFT_NOT_SUPPORTED;
    *at = value;
    return CUFFT_SUCCESS;
}

int wrap_cufftSetPlanPropertyInt64(int plan, int which, long long value)
{
    if (value < 0)
        return cumu_cufft_plan(plan) ? CUFFT_INVALID_VALUE : CUFFT_INVALID_PLAN;
    return set_property(plan, which, value);
}

int wrap_cufftResetPlanProperty(int plan, int which) { return set_property(plan, which, UNSET); }

int wrap_cufftGetPlanPropertyInt64(int plan, int which, long long *value)
{
    CUFFT_BELOW(plan, h);
    (void)h;
    const long long *at = property(place_, which);
    if (!at || !value)
        return CUFFT_INVALID_VALUE;
    *value = *at == UNSET ? 0 : *at;
    return CUFFT_SUCCESS;
}

static const struct cumu_release v11 = {10, 9, 0}, v12 = {11, 4, 1}, v13 = {12, 5, 0};

static int version(const struct cumu_release *r, int *out)
{
    if (!out)
        return CUFFT_INVALID_VALUE;
    *out = r->major * 1000 + r->minor * 100 + r->patch;
    return CUFFT_SUCCESS;
}
int wrap_cufftGetVersion_v11(int *out) { return version(&v11, out); }
int wrap_cufftGetVersion_v12(int *out) { return version(&v12, out); }
int wrap_cufftGetVersion(int *out) { return version(&v13, out); }

static int part(const struct cumu_release *r, int which, int *out)
{
    return cumu_release_property(*r, which, out) ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}
int wrap_cufftGetProperty_v11(int which, int *out) { return part(&v11, which, out); }
int wrap_cufftGetProperty_v12(int which, int *out) { return part(&v12, which, out); }
int wrap_cufftGetProperty(int which, int *out) { return part(&v13, which, out); }
