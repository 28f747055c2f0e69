/* The muFFT ABI (mapping/facts/musa.md N7, S2, A5): cuFFT's names, parameters and numbers, but a handle that is a
 * pointer. Functions of which no declaration is known have cuFFT's parameters. */
#ifndef CUMU_ABI_MUFFT_H
#define CUMU_ABI_MUFFT_H

#include "abi/musa.h"

typedef struct mufftHandle_st *mufftHandle;
typedef float mufftReal;
typedef double mufftDoubleReal;
typedef struct {
    float x, y;
} mufftComplex;
typedef struct {
    double x, y;
} mufftDoubleComplex;

/* Enums are int in prototypes; their values come from mapping/types/cufft.enum (musa_enums.h). */
typedef int mufftResult, mufftType;

/* What is declared here is what libmufft exports. Transforms are ordered like kernels of the handle's stream. A
 * handle is made empty by mufftCreate, takes one plan for good, and may be destroyed while transforms are pending.
 * Sizes of the work area are in bytes. */
#pragma GCC visibility push(default)
mufftResult mufftCreate(mufftHandle *plan);
mufftResult mufftDestroy(mufftHandle plan);
mufftResult mufftGetVersion(int *version);
mufftResult mufftGetProperty(int which, int *value);
mufftResult mufftSetStream(mufftHandle plan, musaStream_t stream);
mufftResult mufftSetWorkArea(mufftHandle plan, void *area);
mufftResult mufftSetAutoAllocation(mufftHandle plan, int automatic);
mufftResult mufftGetSize(mufftHandle plan, size_t *size);

#define MUFFT_MANY \
    int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist, mufftType type, \
        int batch
#define MUFFT_XT_MANY \
    int rank, long long *n, long long *inembed, long long istride, long long idist, int itype, long long *onembed, \
        long long ostride, long long odist, int otype, long long batch, size_t *size, int etype
mufftResult mufftPlan1d(mufftHandle *plan, int nx, mufftType type, int batch);
mufftResult mufftPlan2d(mufftHandle *plan, int nx, int ny, mufftType type);
mufftResult mufftPlan3d(mufftHandle *plan, int nx, int ny, int nz, mufftType type);
mufftResult mufftPlanMany(mufftHandle *plan, MUFFT_MANY);
mufftResult mufftMakePlan1d(mufftHandle plan, int nx, mufftType type, int batch, size_t *size);
mufftResult mufftMakePlan2d(mufftHandle plan, int nx, int ny, mufftType type, size_t *size);
mufftResult mufftMakePlan3d(mufftHandle plan, int nx, int ny, int nz, mufftType type, size_t *size);
mufftResult mufftMakePlanMany(mufftHandle plan, MUFFT_MANY, size_t *size);
mufftResult mufftXtMakePlanMany(mufftHandle plan, MUFFT_XT_MANY);
mufftResult mufftGetSize1d(mufftHandle plan, int nx, mufftType type, int batch, size_t *size);
mufftResult mufftGetSize2d(mufftHandle plan, int nx, int ny, mufftType type, size_t *size);
mufftResult mufftGetSize3d(mufftHandle plan, int nx, int ny, int nz, mufftType type, size_t *size);
mufftResult mufftGetSizeMany(mufftHandle plan, MUFFT_MANY, size_t *size);
mufftResult mufftXtGetSizeMany(mufftHandle plan, MUFFT_XT_MANY);
mufftResult mufftEstimate1d(int nx, mufftType type, int batch, size_t *size);
mufftResult mufftEstimate2d(int nx, int ny, mufftType type, size_t *size);
mufftResult mufftEstimate3d(int nx, int ny, int nz, mufftType type, size_t *size);
mufftResult mufftEstimateMany(MUFFT_MANY, size_t *size);

mufftResult mufftExecC2C(mufftHandle plan, mufftComplex *in, mufftComplex *out, int direction);
mufftResult mufftExecR2C(mufftHandle plan, mufftReal *in, mufftComplex *out);
mufftResult mufftExecC2R(mufftHandle plan, mufftComplex *in, mufftReal *out);
mufftResult mufftExecZ2Z(mufftHandle plan, mufftDoubleComplex *in, mufftDoubleComplex *out, int direction);
mufftResult mufftExecD2Z(mufftHandle plan, mufftDoubleReal *in, mufftDoubleComplex *out);
mufftResult mufftExecZ2D(mufftHandle plan, mufftDoubleComplex *in, mufftDoubleReal *out);
mufftResult mufftXtExec(mufftHandle plan, void *in, void *out, int direction);
#pragma GCC visibility pop

#endif
