/* The muBLAS ABI (mapping/facts/musa.md N4, A1 to A3): rocBLAS's numbers, names without _v2, int sizes,
 * long long strides. Functions of which no declaration is known have cuBLAS's parameters under muBLAS's names. */
#ifndef CUMU_ABI_MUBLAS_H
#define CUMU_ABI_MUBLAS_H

#include "abi/musa.h"

typedef struct _mublasHandle_t *mublasHandle_t;
typedef int mublas_int;
typedef unsigned short mublas_half;
typedef struct {
    float x, y;
} muComplex;
typedef struct {
    double x, y;
} muDoubleComplex;

/* Enums are int in prototypes; their values come from mapping/types/cublas.enum (musa_enums.h). */
typedef int mublasStatus_t, mublasOperation_t, mublasFillMode_t, mublasDiagType_t, mublasSideMode_t,
    mublasPointerMode_t, mublasAtomicsMode_t, mublasMath_t, mublasComputeType_t, mublasGemmAlgo_t;

/* What is declared here is what libmublas exports. Every call that takes a handle is ordered like a kernel of
 * the handle's stream; scalars are read at once in host pointer mode, in stream order in device mode. */
#pragma GCC visibility push(default)
mublasStatus_t mublasCreate(mublasHandle_t *handle);
mublasStatus_t mublasDestroy(mublasHandle_t handle);
mublasStatus_t mublasSetStream(mublasHandle_t handle, musaStream_t stream);
mublasStatus_t mublasGetStream(mublasHandle_t handle, musaStream_t *stream);
mublasStatus_t mublasSetPointerMode(mublasHandle_t handle, mublasPointerMode_t mode);
mublasStatus_t mublasGetPointerMode(mublasHandle_t handle, mublasPointerMode_t *mode);
mublasStatus_t mublasSetAtomicsMode(mublasHandle_t handle, mublasAtomicsMode_t mode);
mublasStatus_t mublasGetAtomicsMode(mublasHandle_t handle, mublasAtomicsMode_t *mode);
mublasStatus_t mublasSetMathMode(mublasHandle_t handle, mublasMath_t mode);
mublasStatus_t mublasGetMathMode(mublasHandle_t handle, mublasMath_t *mode);
mublasStatus_t mublasGetVersion(mublasHandle_t handle, int *version);
const char *mublasGetStatusString(mublasStatus_t status);

#define H mublasHandle_t h
#define OP mublasOperation_t
#define UP mublasFillMode_t
#define DI mublasDiagType_t
#define SI mublasSideMode_t
#define FN(name, ...) mublasStatus_t mublas##name(H, __VA_ARGS__);

/* X: letter of the type T; R: the real type beside it. */
#define MUBLAS_ALL(X, T, R) \
    FN(X##axpy, int n, const T *alpha, const T *x, int incx, T *y, int incy) \
    FN(X##copy, int n, const T *x, int incx, T *y, int incy) \
    FN(X##swap, int n, T *x, int incx, T *y, int incy) \
    FN(X##scal, int n, const T *alpha, T *x, int incx) \
    FN(X##rotg, T *a, T *b, R *c, T *s) \
    FN(X##rot, int n, T *x, int incx, T *y, int incy, const R *c, const T *s) \
    FN(X##gemv, OP t, int m, int n, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *y, \
       int incy) \
    FN(X##gemvBatched, OP t, int m, int n, const T *alpha, const T *const *a, int lda, const T *const *x, int incx, \
       const T *beta, T *const *y, int incy, int batch) \
    FN(X##gemvStridedBatched, OP t, int m, int n, const T *alpha, const T *a, int lda, long long stridea, const T *x, \
       int incx, long long stridex, const T *beta, T *y, int incy, long long stridey, int batch) \
    FN(X##gbmv, OP t, int m, int n, int kl, int ku, const T *alpha, const T *a, int lda, const T *x, int incx, \
       const T *beta, T *y, int incy) \
    FN(X##symv, UP u, int n, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *y, int incy) \
    FN(X##syr, UP u, int n, const T *alpha, const T *x, int incx, T *a, int lda) \
    FN(X##syr2, UP u, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *a, int lda) \
    FN(X##trmv, UP u, OP t, DI d, int n, const T *a, int lda, T *x, int incx) \
    FN(X##trsv, UP u, OP t, DI d, int n, const T *a, int lda, T *x, int incx) \
    FN(X##tbmv, UP u, OP t, DI d, int n, int k, const T *a, int lda, T *x, int incx) \
    FN(X##tbsv, UP u, OP t, DI d, int n, int k, const T *a, int lda, T *x, int incx) \
    FN(X##tpmv, UP u, OP t, DI d, int n, const T *ap, T *x, int incx) \
    FN(X##tpsv, UP u, OP t, DI d, int n, const T *ap, T *x, int incx) \
    FN(X##gemm, OP ta, OP tb, int m, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
       const T *beta, T *c, int ldc) \
    FN(X##gemmBatched, OP ta, OP tb, int m, int n, int k, const T *alpha, const T *const *a, int lda, \
       const T *const *b, int ldb, const T *beta, T *const *c, int ldc, int batch) \
    FN(X##gemmStridedBatched, OP ta, OP tb, int m, int n, int k, const T *alpha, const T *a, int lda, \
       long long stridea, const T *b, int ldb, long long strideb, const T *beta, T *c, int ldc, long long stridec, \
       int batch) \
    FN(X##symm, SI s, UP u, int m, int n, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, \
       T *c, int ldc) \
    FN(X##syrk, UP u, OP t, int n, int k, const T *alpha, const T *a, int lda, const T *beta, T *c, int ldc) \
    FN(X##syr2k, UP u, OP t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, \
       T *c, int ldc) \
    FN(X##syrkx, UP u, OP t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, \
       T *c, int ldc) \
    FN(X##trmm, SI s, UP u, OP t, DI d, int m, int n, const T *alpha, const T *a, int lda, const T *b, int ldb, T *c, \
       int ldc) \
    FN(X##trsm, SI s, UP u, OP t, DI d, int m, int n, const T *alpha, const T *a, int lda, T *b, int ldb) \
    FN(X##trsmBatched, SI s, UP u, OP t, DI d, int m, int n, const T *alpha, const T *const *a, int lda, T *const *b, \
       int ldb, int batch) \
    FN(X##geam, OP ta, OP tb, int m, int n, const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, \
       T *c, int ldc) \
    FN(X##dgmm, SI s, int m, int n, const T *a, int lda, const T *x, int incx, T *c, int ldc) \
    FN(X##tpttr, UP u, int n, const T *ap, T *a, int lda) \
    FN(X##trttp, UP u, int n, const T *a, int lda, T *ap) \
    FN(X##getrfBatched, int n, T *const *a, int lda, int *pivots, int *info, int batch) \
    FN(X##getrsBatched, OP t, int n, int nrhs, const T *const *a, int lda, const int *pivots, T *const *b, int ldb, \
       int *info, int batch) \
    FN(X##getriBatched, int n, const T *const *a, int lda, const int *pivots, T *const *c, int ldc, int *info, \
       int batch) \
    FN(X##geqrfBatched, int m, int n, T *const *a, int lda, T *const *tau, int *info, int batch) \
    FN(X##gelsBatched, OP t, int m, int n, int nrhs, T *const *a, int lda, T *const *c, int ldc, int *info, \
       int *infos, int batch) \
    FN(X##matinvBatched, int n, const T *const *a, int lda, T *const *ainv, int ldainv, int *info, int batch)

#define MUBLAS_REAL(X, T) \
    FN(X##dot, int n, const T *x, int incx, const T *y, int incy, T *result) \
    FN(X##nrm2, int n, const T *x, int incx, T *result) \
    FN(X##asum, int n, const T *x, int incx, T *result) \
    FN(X##rotm, int n, T *x, int incx, T *y, int incy, const T *param) \
    FN(X##rotmg, T *d1, T *d2, T *x1, const T *y1, T *param) \
    FN(X##ger, int m, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *a, int lda) \
    FN(X##sbmv, UP u, int n, int k, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *y, \
       int incy) \
    FN(X##spmv, UP u, int n, const T *alpha, const T *ap, const T *x, int incx, const T *beta, T *y, int incy) \
    FN(X##spr, UP u, int n, const T *alpha, const T *x, int incx, T *ap) \
    FN(X##spr2, UP u, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *ap)

/* RX: letters of functions whose result is real (Scnrm2), XR: whose scalar is (Csscal). */
#define MUBLAS_COMPLEX(X, T, R, RX, XR) \
    FN(X##dotu, int n, const T *x, int incx, const T *y, int incy, T *result) \
    FN(X##dotc, int n, const T *x, int incx, const T *y, int incy, T *result) \
    FN(RX##nrm2, int n, const T *x, int incx, R *result) \
    FN(RX##asum, int n, const T *x, int incx, R *result) \
    FN(XR##scal, int n, const R *alpha, T *x, int incx) \
    FN(XR##rot, int n, T *x, int incx, T *y, int incy, const R *c, const R *s) \
    FN(X##geru, int m, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *a, int lda) \
    FN(X##gerc, int m, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *a, int lda) \
    FN(X##hemv, UP u, int n, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *y, int incy) \
    FN(X##hbmv, UP u, int n, int k, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *y, \
       int incy) \
    FN(X##hpmv, UP u, int n, const T *alpha, const T *ap, const T *x, int incx, const T *beta, T *y, int incy) \
    FN(X##her, UP u, int n, const R *alpha, const T *x, int incx, T *a, int lda) \
    FN(X##her2, UP u, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *a, int lda) \
    FN(X##hpr, UP u, int n, const R *alpha, const T *x, int incx, T *ap) \
    FN(X##hpr2, UP u, int n, const T *alpha, const T *x, int incx, const T *y, int incy, T *ap) \
    FN(X##hemm, SI s, UP u, int m, int n, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, \
       T *c, int ldc) \
    FN(X##herk, UP u, OP t, int n, int k, const R *alpha, const T *a, int lda, const R *beta, T *c, int ldc) \
    FN(X##her2k, UP u, OP t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const R *beta, \
       T *c, int ldc) \
    FN(X##herkx, UP u, OP t, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const R *beta, \
       T *c, int ldc)

MUBLAS_ALL(S, float, float)
MUBLAS_ALL(D, double, double)
MUBLAS_ALL(C, muComplex, float)
MUBLAS_ALL(Z, muDoubleComplex, double)
MUBLAS_REAL(S, float)
MUBLAS_REAL(D, double)
MUBLAS_COMPLEX(C, muComplex, float, Sc, Cs)
MUBLAS_COMPLEX(Z, muDoubleComplex, double, Dz, Zd)

/* 1-based index of the first greatest or least |re| + |im|; 0 of an empty vector. */
FN(Isamax, int n, const float *x, int incx, int *result)
FN(Idamax, int n, const double *x, int incx, int *result)
FN(Icamax, int n, const muComplex *x, int incx, int *result)
FN(Izamax, int n, const muDoubleComplex *x, int incx, int *result)
FN(Isamin, int n, const float *x, int incx, int *result)
FN(Idamin, int n, const double *x, int incx, int *result)
FN(Icamin, int n, const muComplex *x, int incx, int *result)
FN(Izamin, int n, const muDoubleComplex *x, int incx, int *result)

/* f16 throughout, sums in f32. */
FN(Hgemm, OP ta, OP tb, int m, int n, int k, const mublas_half *alpha, const mublas_half *a, int lda,
   const mublas_half *b, int ldb, const mublas_half *beta, mublas_half *c, int ldc)
FN(HgemmBatched, OP ta, OP tb, int m, int n, int k, const mublas_half *alpha, const mublas_half *const *a, int lda,
   const mublas_half *const *b, int ldb, const mublas_half *beta, mublas_half *const *c, int ldc, int batch)
FN(HgemmStridedBatched, OP ta, OP tb, int m, int n, int k, const mublas_half *alpha, const mublas_half *a, int lda,
   long long stridea, const mublas_half *b, int ldb, long long strideb, const mublas_half *beta, mublas_half *c,
   int ldc, long long stridec, int batch)
FN(SgemmEx, OP ta, OP tb, int m, int n, int k, const float *alpha, const void *a, int atype, int lda, const void *b,
   int btype, int ldb, const float *beta, void *c, int ctype, int ldc)
FN(CgemmEx, OP ta, OP tb, int m, int n, int k, const muComplex *alpha, const void *a, int atype, int lda, const void *b,
   int btype, int ldb, const muComplex *beta, void *c, int ctype, int ldc)

/* The forms with a mublasComputeType_t are C++ overloads, exported under these names (each one word). */
#define MUBLAS_GEMM_EX \
    _Z12mublasGemmExP15_mublasHandle_t17mublasOperation_tS1_iiiPKvS3_14musaDataType_tiS3_S4_iS\
3_PvS4_i19mublasComputeType_t16mublasGemmAlgo_t
#define MUBLAS_GEMM_BATCHED_EX \
    _Z19mublasGemmBatchedExP15_mublasHandle_t17mublasOperation_tS1_iiiPKvPKS3_14musaDataType_t\
iS5_S6_iS3_PKPvS6_ii19mublasComputeType_t16mublasGemmAlgo_t
#define MUBLAS_GEMM_STRIDED_BATCHED_EX \
    _Z26mublasGemmStridedBatchedExP15_mublasHandle_t17mublasOperation_tS1_iiiPKvS3_14musaDataT\
ype_tixS3_S4_ixS3_PvS4_ixi19mublasComputeType_t16mublasGemmAlgo_t
mublasStatus_t MUBLAS_GEMM_EX(H, OP ta, OP tb, int m, int n, int k, const void *alpha, const void *a, int atype,
                              int lda, const void *b, int btype, int ldb, const void *beta, void *c, int ctype, int ldc,
                              mublasComputeType_t compute, mublasGemmAlgo_t algo);
mublasStatus_t MUBLAS_GEMM_BATCHED_EX(H, OP ta, OP tb, int m, int n, int k, const void *alpha, const void *const *a,
                                      int atype, int lda, const void *const *b, int btype, int ldb, const void *beta,
                                      void *const *c, int ctype, int ldc, int batch, mublasComputeType_t compute,
                                      mublasGemmAlgo_t algo);
mublasStatus_t MUBLAS_GEMM_STRIDED_BATCHED_EX(H, OP ta, OP tb, int m, int n, int k, const void *alpha, const void *a,
                                              int atype, int lda, long long stridea, const void *b, int btype, int ldb,
                                              long long strideb, const void *beta, void *c, int ctype, int ldc,
                                              long long stridec, int batch, mublasComputeType_t compute,
                                              mublasGemmAlgo_t algo);
#undef H
#undef OP
#undef UP
#undef DI
#undef SI
#undef FN
#undef MUBLAS_ALL
#undef MUBLAS_REAL
#undef MUBLAS_COMPLEX
#pragma GCC visibility pop

#endif
