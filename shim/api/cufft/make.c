/* cuFFT: calls that turn a plan's number into muFFT's and pass the rest on. */
#include <limits.h>

#include "api/cufft/plan.h"
#include "musa_enums.h"

/* A plan is made once; what muFFT says decides. */
static int made(struct cufft_plan *p, int status)
{
    if (!status)
        p->made = true;
    return status;
}

int wrap_cufftMakePlan1d(int plan, int nx, int type, int batch, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return made(place_, mu.mufftMakePlan1d(h, nx, type, batch, size));
}
int wrap_cufftMakePlan2d(int plan, int nx, int ny, int type, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return made(place_, mu.mufftMakePlan2d(h, nx, ny, type, size));
}
int wrap_cufftMakePlan3d(int plan, int nx, int ny, int nz, int type, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return made(place_, mu.mufftMakePlan3d(h, nx, ny, nz, type, size));
}
int wrap_cufftMakePlanMany(int plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                           int odist, int type, int batch, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return made(place_,
                mu.mufftMakePlanMany(h, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, size));
}
/* cuFFT's callers may name the real type where one side is real (nvmath-python does); muFFT is told the complex one. */
static int execution_type(int type)
{
    switch (type) {
    case MUSA_R_32F: return MUSA_C_32F;
    case MUSA_R_64F: return MUSA_C_64F;
    case MUSA_R_16F: return MUSA_C_16F;
    case MUSA_R_16BF: return MUSA_C_16BF;
    default: return type;
    }
}

int wrap_cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                             int itype, long long *onembed, long long ostride, long long odist, int otype,
                             long long batch, size_t *size, int etype)
{
    CUFFT_BELOW(plan, h);
    return made(place_, mu.mufftXtMakePlanMany(h, rank, n, inembed, istride, idist, itype, onembed, ostride, odist,
                                               otype, batch, size, execution_type(etype)));
}

int wrap_cufftGetSize1d(int plan, int nx, int type, int batch, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftGetSize1d(h, nx, type, batch, size);
}
int wrap_cufftGetSize2d(int plan, int nx, int ny, int type, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftGetSize2d(h, nx, ny, type, size);
}
int wrap_cufftGetSize3d(int plan, int nx, int ny, int nz, int type, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftGetSize3d(h, nx, ny, nz, type, size);
}
int wrap_cufftGetSizeMany(int plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                          int odist, int type, int batch, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftGetSizeMany(h, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, size);
}
int wrap_cufftXtGetSizeMany(int plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                            int itype, long long *onembed, long long ostride, long long odist, int otype,
                            long long batch, size_t *size, int etype)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftXtGetSizeMany(h, rank, n, inembed, istride, idist, itype, onembed, ostride, odist, otype, batch,
                                 size, execution_type(etype));
}

/* muFFT's 64-bit form takes element types, as cuFFT's Xt form does. */
static const struct element_types {
    int type, in, out, execution;
} element_types[] = {{CUFFT_C2C, MUSA_C_32F, MUSA_C_32F, MUSA_C_32F}, {CUFFT_Z2Z, MUSA_C_64F, MUSA_C_64F, MUSA_C_64F},
                     {CUFFT_R2C, MUSA_R_32F, MUSA_C_32F, MUSA_C_32F}, {CUFFT_D2Z, MUSA_R_64F, MUSA_C_64F, MUSA_C_64F},
                     {CUFFT_C2R, MUSA_C_32F, MUSA_R_32F, MUSA_C_32F}, {CUFFT_Z2D, MUSA_C_64F, MUSA_R_64F, MUSA_C_64F}};

static const struct element_types *elements(int type)
{
    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++)
        if (element_types[i].type == type)
            return &element_types[i];
    return NULL;
}

int wrap_cufftMakePlanMany64(int plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                             long long *onembed, long long ostride, long long odist, int type, long long batch,
                             size_t *size)
{
    CUFFT_BELOW(plan, h);
    const struct element_types *e = elements(type);
    if (!e)
        return CUFFT_INVALID_TYPE;
    return made(place_, mu.mufftXtMakePlanMany(h, rank, n, inembed, istride, idist, e->in, onembed, ostride, odist,
                                               e->out, batch, size, e->execution));
}
int wrap_cufftGetSizeMany64(int plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                            long long *onembed, long long ostride, long long odist, int type, long long batch,
                            size_t *size)
{
    CUFFT_BELOW(plan, h);
    const struct element_types *e = elements(type);
    if (!e)
        return CUFFT_INVALID_TYPE;
    return mu.mufftXtGetSizeMany(h, rank, n, inembed, istride, idist, e->in, onembed, ostride, odist, e->out, batch,
                                 size, e->execution);
}

int wrap_cufftGetSize(int plan, size_t *size)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftGetSize(h, size);
}
int wrap_cufftSetWorkArea(int plan, void *area)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftSetWorkArea(h, area);
}
/* One area for each GPU of the plan, which has one. */
int wrap_cufftXtSetWorkArea(int plan, void **areas)
{
    CUFFT_BELOW(plan, h);
    return areas ? mu.mufftSetWorkArea(h, *areas) : CUFFT_INVALID_VALUE;
}
int wrap_cufftSetAutoAllocation(int plan, int automatic)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftSetAutoAllocation(h, automatic);
}
/* muFFT's work area has one size: a limit below it cannot be kept. */
int wrap_cufftXtSetWorkAreaPolicy(int plan, int policy, size_t *limit)
{
    CUFFT_BELOW(plan, h);
    size_t needed = 0;
    if (policy < CUFFT_WORKAREA_MINIMAL || policy > CUFFT_WORKAREA_PERFORMANCE ||
        (policy == CUFFT_WORKAREA_USER && !limit))
        return CUFFT_INVALID_VALUE;
    if (place_->made && policy == CUFFT_WORKAREA_USER && !mu.mufftGetSize(h, &needed) && needed > *limit)
        return CUFFT_INVALID_SIZE;
    return CUFFT_SUCCESS;
}
int wrap_cufftSetStream(int plan, cudaStream_t stream)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftSetStream(h, (musaStream_t)stream);
}

#define BOTH_WAYS(name) \
    int wrap_cufft##name(int plan, void *in, void *out, int direction) \
    { \
        CUFFT_BELOW(plan, h); \
        return mu.mufft##name(h, in, out, direction); \
    }
BOTH_WAYS(XtExec)
BOTH_WAYS(ExecC2C)
BOTH_WAYS(ExecZ2Z)
BOTH_WAYS(XtExecDescriptor)
BOTH_WAYS(XtExecDescriptorC2C)
BOTH_WAYS(XtExecDescriptorZ2Z)
#define ONE_WAY(name) \
    int wrap_cufft##name(int plan, void *in, void *out) \
    { \
        CUFFT_BELOW(plan, h); \
        return mu.mufft##name(h, in, out); \
    }
ONE_WAY(ExecR2C)
ONE_WAY(ExecC2R)
ONE_WAY(ExecD2Z)
ONE_WAY(ExecZ2D)
ONE_WAY(XtExecDescriptorR2C)
ONE_WAY(XtExecDescriptorC2R)
ONE_WAY(XtExecDescriptorD2Z)
ONE_WAY(XtExecDescriptorZ2D)

/* Descriptors hold the data of plans over several GPUs; their layout and the numbers in them are cuFFT's in muFFT. */
int wrap_cufftXtSetGPUs(int plan, int count, int *gpus)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftXtSetGPUs(h, count, gpus);
}
int wrap_cufftXtMalloc(int plan, void **descriptor, int format)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftXtMalloc(h, descriptor, format);
}
int wrap_cufftXtMemcpy(int plan, void *to, void *from, int kind)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftXtMemcpy(h, to, from, kind);
}
int wrap_cufftXtQueryPlan(int plan, void *answer, int kind)
{
    CUFFT_BELOW(plan, h);
    return mu.mufftXtQueryPlan(h, answer, kind);
}
