/* The muSPARSE ABI (mapping/facts/musa.md N8, A6): rocSPARSE's numbers, the generic functions as SDK 4.3.5 has
 * them (SpMV as in cuSPARSE; SpMM, SpSV, SpSM and SpGEMM with a stage). Functions of which no declaration is known have
 * cuSPARSE's parameters under muSPARSE's names. */
#ifndef CUMU_ABI_MUSPARSE_H
#define CUMU_ABI_MUSPARSE_H

#include "abi/mublas.h"
#include "abi/musa.h"
#include "abi/values.h"

/* Enums are int in prototypes; their values come from mapping/types/cusparse.enum (musa_enums.h). */
typedef int musparseStatus_t, musparseOperation_t, musparseFillMode_t, musparseDiagType_t, musparsePointerMode_t,
    musparseAction_t, musparseDirection_t, musparseSolvePolicy_t, musparseMatrixType_t, musparseIndexBase_t,
    musparseIndexType_t, musparseOrder_t, musparseSpMatAttribute_t, musparseColorAlg_t, musparseCsr2CscAlg_t,
    musparseAlgMode_t, musparseSpMVAlg_t, musparseSpMMAlg_t, musparseSpMMStage_t, musparseSpSVAlg_t,
    musparseSpSVStage_t, musparseSpSMAlg_t, musparseSpSMStage_t, musparseSpGEMMAlg_t, musparseSpGEMMStage_t,
    musparseSDDMMAlg_t, musparseSparseToDenseAlg_t, musparseDenseToSparseAlg_t;
/* An element type is an int of musaDataType. */

typedef struct musparse_handle *musparseHandle_t;
/* Descriptors hold addresses and numbers, never elements; a call copies what it needs of them. Analysis objects are
 * all of one type here: what is known of them is that they are pointers. */
typedef struct musparse_mat_descr *musparseMatDescr_t;
typedef const struct musparse_mat_descr *musparseConstMatDescr_t;
typedef struct musparse_info *musparseInfo_t;
typedef const struct musparse_info *musparseConstInfo_t;
typedef struct musparse_spmat *musparseSpMatDescr_t;
typedef const struct musparse_spmat *musparseConstSpMatDescr_t;
typedef struct musparse_spvec *musparseSpVecDescr_t;
typedef const struct musparse_spvec *musparseConstSpVecDescr_t;
typedef struct musparse_dnvec *musparseDnVecDescr_t;
typedef const struct musparse_dnvec *musparseConstDnVecDescr_t;
typedef struct musparse_dnmat *musparseDnMatDescr_t;
typedef const struct musparse_dnmat *musparseConstDnMatDescr_t;

/* What is declared here is what libmusparse exports. Every call that takes a handle is ordered like a kernel of
 * the handle's stream; scalars are read at once in host pointer mode, in stream order in device mode. Functions that
 * answer a number in host pointer mode, and stages that set a descriptor's, wait for the stream. */
#pragma GCC visibility push(default)
#define FN(name, ...) musparseStatus_t musparse##name(musparseHandle_t h, __VA_ARGS__);
#define FN0(name, ...) musparseStatus_t musparse##name(__VA_ARGS__);
#define OP musparseOperation_t

FN0(Create, musparseHandle_t *handle)
FN0(Destroy, musparseHandle_t handle)
FN(SetStream, musaStream_t stream)
FN(GetStream, musaStream_t *stream)
FN(SetPointerMode, musparsePointerMode_t mode)
FN(GetPointerMode, musparsePointerMode_t *mode)
FN(GetVersion, int *version)

FN0(CreateMatDescr, musparseMatDescr_t *descr)
FN0(DestroyMatDescr, musparseMatDescr_t descr)
FN0(SetMatType, musparseMatDescr_t descr, musparseMatrixType_t type)
FN0(SetMatFillMode, musparseMatDescr_t descr, musparseFillMode_t fill)
FN0(SetMatDiagType, musparseMatDescr_t descr, musparseDiagType_t diag)
FN0(SetMatIndexBase, musparseMatDescr_t descr, musparseIndexBase_t base)
musparseMatrixType_t musparseGetMatType(musparseConstMatDescr_t descr);
musparseFillMode_t musparseGetMatFillMode(musparseConstMatDescr_t descr);
musparseDiagType_t musparseGetMatDiagType(musparseConstMatDescr_t descr);
musparseIndexBase_t musparseGetMatIndexBase(musparseConstMatDescr_t descr);

FN0(CreateSpVec, musparseSpVecDescr_t *descr, int64_t size, int64_t nnz, void *indices, void *values,
    musparseIndexType_t itype, musparseIndexBase_t base, int type)
FN0(DestroySpVec, musparseConstSpVecDescr_t descr)
FN0(SpVecGet, musparseConstSpVecDescr_t descr, int64_t *size, int64_t *nnz, void **indices, void **values,
    musparseIndexType_t *itype, musparseIndexBase_t *base, int *type)
FN0(SpVecGetIndexBase, musparseConstSpVecDescr_t descr, musparseIndexBase_t *base)
FN0(SpVecGetValues, musparseConstSpVecDescr_t descr, void **values)
FN0(SpVecSetValues, musparseSpVecDescr_t descr, void *values)
FN0(CreateDnVec, musparseDnVecDescr_t *descr, int64_t size, void *values, int type)
FN0(DestroyDnVec, musparseConstDnVecDescr_t descr)
FN0(DnVecGet, musparseConstDnVecDescr_t descr, int64_t *size, void **values, int *type)
FN0(DnVecGetValues, musparseConstDnVecDescr_t descr, void **values)
FN0(DnVecSetValues, musparseDnVecDescr_t descr, void *values)
FN0(CreateDnMat, musparseDnMatDescr_t *descr, int64_t rows, int64_t cols, int64_t ld, void *values, int type,
    musparseOrder_t order)
FN0(DestroyDnMat, musparseConstDnMatDescr_t descr)
FN0(DnMatGet, musparseConstDnMatDescr_t descr, int64_t *rows, int64_t *cols, int64_t *ld, void **values, int *type,
    musparseOrder_t *order)
FN0(DnMatGetValues, musparseConstDnMatDescr_t descr, void **values)
FN0(DnMatSetValues, musparseDnMatDescr_t descr, void *values)
FN0(DnMatSetStridedBatch, musparseDnMatDescr_t descr, int batch, int64_t stride)
FN0(DnMatGetStridedBatch, musparseConstDnMatDescr_t descr, int *batch, int64_t *stride)
FN0(CreateCsr, musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *columns,
    void *values, musparseIndexType_t otype, musparseIndexType_t itype, musparseIndexBase_t base, int type)
FN0(CreateCsc, musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *rowind,
    void *values, musparseIndexType_t otype, musparseIndexType_t itype, musparseIndexBase_t base, int type)
FN0(CreateCoo, musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *rowind, void *columns,
    void *values, musparseIndexType_t itype, musparseIndexBase_t base, int type)
FN0(CreateBlockedEll, musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t block, int64_t ellcols,
    void *columns, void *values, musparseIndexType_t itype, musparseIndexBase_t base, int type)
FN0(DestroySpMat, musparseConstSpMatDescr_t descr)
FN0(SpMatGetSize, musparseConstSpMatDescr_t descr, int64_t *rows, int64_t *cols, int64_t *nnz)
FN0(SpMatSetValues, musparseSpMatDescr_t descr, void *values)
FN0(SpMatSetAttribute, musparseSpMatDescr_t descr, musparseSpMatAttribute_t what, const void *data, size_t size)
FN0(CsrSetPointers, musparseSpMatDescr_t descr, void *offsets, void *columns, void *values)
FN0(CscSetPointers, musparseSpMatDescr_t descr, void *offsets, void *rowind, void *values)
FN0(CooSetPointers, musparseSpMatDescr_t descr, void *rowind, void *columns, void *values)
FN0(CsrSetStridedBatch, musparseSpMatDescr_t descr, int batch, int64_t offsets, int64_t values)
FN0(CooSetStridedBatch, musparseSpMatDescr_t descr, int batch, int64_t stride)

FN(Axpby, const void *alpha, musparseConstSpVecDescr_t x, const void *beta, musparseDnVecDescr_t y)
FN(Gather, musparseConstDnVecDescr_t y, musparseSpVecDescr_t x)
FN(Scatter, musparseConstSpVecDescr_t x, musparseDnVecDescr_t y)
FN(Rot, const void *c, const void *s, musparseSpVecDescr_t x, musparseDnVecDescr_t y)
FN(SpVV_bufferSize, OP opx, musparseConstSpVecDescr_t x, musparseConstDnVecDescr_t y, const void *result, int compute,
   size_t *size)
FN(SpVV, OP opx, musparseConstSpVecDescr_t x, musparseConstDnVecDescr_t y, void *result, int compute, void *buffer)
FN(SpMV_bufferSize, OP op, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x,
   const void *beta, musparseDnVecDescr_t y, int compute, musparseSpMVAlg_t alg, size_t *size)
FN(SpMV, OP op, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, const void *beta,
   musparseDnVecDescr_t y, int compute, musparseSpMVAlg_t alg, void *buffer)
FN(SpMM, OP opa, OP opb, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnMatDescr_t b, const void *beta,
   musparseDnMatDescr_t c, int compute, musparseSpMMAlg_t alg, musparseSpMMStage_t stage, size_t *size, void *buffer)
FN(SpSV, OP op, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, musparseDnVecDescr_t y,
   int compute, musparseSpSVAlg_t alg, musparseSpSVStage_t stage, size_t *size, void *buffer)
FN(SpSM, OP opa, OP opb, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnMatDescr_t b,
   musparseDnMatDescr_t c, int compute, musparseSpSMAlg_t alg, musparseSpSMStage_t stage, size_t *size, void *buffer)
FN(SpGEMM, OP opa, OP opb, const void *alpha, musparseConstSpMatDescr_t a, musparseConstSpMatDescr_t b,
   const void *beta, musparseConstSpMatDescr_t d, musparseSpMatDescr_t c, int compute, musparseSpGEMMAlg_t alg,
   musparseSpGEMMStage_t stage, size_t *size, void *buffer)
FN(SDDMM_bufferSize, OP opa, OP opb, const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
   const void *beta, musparseSpMatDescr_t c, int compute, musparseSDDMMAlg_t alg, size_t *size)
FN(SDDMM_preprocess, OP opa, OP opb, const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
   const void *beta, musparseSpMatDescr_t c, int compute, musparseSDDMMAlg_t alg, void *buffer)
FN(SDDMM, OP opa, OP opb, const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b, const void *beta,
   musparseSpMatDescr_t c, int compute, musparseSDDMMAlg_t alg, void *buffer)
FN(SparseToDense_bufferSize, musparseConstSpMatDescr_t a, musparseDnMatDescr_t b, musparseSparseToDenseAlg_t alg,
   size_t *size)
FN(SparseToDense, musparseConstSpMatDescr_t a, musparseDnMatDescr_t b, musparseSparseToDenseAlg_t alg, void *buffer)
FN(DenseToSparse_bufferSize, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg,
   size_t *size)
FN(DenseToSparse_analysis, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg,
   void *buffer)
FN(DenseToSparse_convert, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg,
   void *buffer)

/* X: letter of the type T. */
#define MUSPARSE_ALL(X, T) \
    FN(X##bsric02, musparseDirection_t dir, int mb, int nnzb, musparseConstMatDescr_t descrA, T *val, const int *ptr, \
       const int *ind, int block, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsric02_analysis, musparseDirection_t dir, int mb, int nnzb, musparseConstMatDescr_t descrA, const T *val, \
       const int *ptr, const int *ind, int block, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsric02_bufferSize, musparseDirection_t dir, int mb, int nnzb, musparseConstMatDescr_t descrA, T *val, \
       const int *ptr, const int *ind, int block, musparseInfo_t info, int *size) \
    FN(X##bsrilu02, musparseDirection_t dir, int mb, int nnzb, musparseConstMatDescr_t descrA, T *val, const int *ptr, \
       const int *ind, int block, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsrilu02_analysis, musparseDirection_t dir, int mb, int nnzb, musparseConstMatDescr_t descrA, T *val, \
       const int *ptr, const int *ind, int block, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsrilu02_bufferSize, musparseDirection_t dir, int mb, int nnzb, musparseConstMatDescr_t descrA, T *val, \
       const int *ptr, const int *ind, int block, musparseInfo_t info, int *size) \
    FN(X##bsrilu02_numericBoost, musparseInfo_t info, int enable_boost, double *tol, T *boost_val) \
    FN(X##bsrsm2_analysis, musparseDirection_t dir, musparseOperation_t ta, musparseOperation_t txy, int mb, int n, \
       int nnzb, musparseConstMatDescr_t descrA, const T *val, const int *ptr, const int *ind, int block, \
       musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsrsm2_bufferSize, musparseDirection_t dir, musparseOperation_t ta, musparseOperation_t txy, int mb, int n, \
       int nnzb, musparseConstMatDescr_t descrA, T *val, const int *ptr, const int *ind, int block, \
       musparseInfo_t info, int *size) \
    FN(X##bsrsm2_solve, musparseDirection_t dir, musparseOperation_t ta, musparseOperation_t txy, int mb, int n, \
       int nnzb, const T *alpha, musparseConstMatDescr_t descrA, const T *val, const int *ptr, const int *ind, \
       int block, musparseInfo_t info, const T *b, int ldb, T *x, int ldx, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsrsv2_analysis, musparseDirection_t dir, musparseOperation_t ta, int mb, int nnzb, \
       musparseConstMatDescr_t descrA, const T *val, const int *ptr, const int *ind, int block, musparseInfo_t info, \
       musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsrsv2_bufferSize, musparseDirection_t dir, musparseOperation_t ta, int mb, int nnzb, \
       musparseConstMatDescr_t descrA, T *val, const int *ptr, const int *ind, int block, musparseInfo_t info, \
       int *size) \
    FN(X##bsrsv2_solve, musparseDirection_t dir, musparseOperation_t ta, int mb, int nnzb, const T *alpha, \
       musparseConstMatDescr_t descrA, const T *val, const int *ptr, const int *ind, int block, musparseInfo_t info, \
       const T *f, T *x, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##bsrxmv, musparseDirection_t dir, musparseOperation_t ta, int sizeOfMask, int mb, int nb, int nnzb, \
       const T *alpha, musparseConstMatDescr_t descrA, const T *val, const int *mask, const int *ptr, const int *end, \
       const int *ind, int block, const T *x, const T *beta, T *y) \
    FN(X##csr2gebsr, musparseDirection_t dir, int m, int n, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, musparseConstMatDescr_t descrC, T *valC, int *ptrC, int *indC, \
       int rowBlockDim, int colBlockDim, void *buffer) \
    FN(X##csr2gebsr_bufferSize, musparseDirection_t dir, int m, int n, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, int rowBlockDim, int colBlockDim, int *size) \
    FN(X##csrcolor, int m, int nnz, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, \
       const void *fractionToColor, int *ncolors, int *coloring, int *reordering, musparseConstInfo_t info) \
    FN(X##gebsr2csr, musparseDirection_t dir, int mb, int nb, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, int rowBlockDim, int colBlockDim, musparseConstMatDescr_t descrC, T *valC, \
       int *ptrC, int *indC) \
    FN(X##gebsr2gebsc, int mb, int nb, int nnzb, const T *val, const int *ptr, const int *ind, int rowBlockDim, \
       int colBlockDim, T *bscVal, int *bscInd, int *bscPtr, musparseAction_t copyValues, musparseIndexBase_t idxBase, \
       void *buffer) \
    FN(X##gebsr2gebsc_bufferSize, int mb, int nb, int nnzb, const T *val, const int *ptr, const int *ind, \
       int rowBlockDim, int colBlockDim, int *size) \
    FN(X##gebsr2gebsr, musparseDirection_t dir, int mb, int nb, int nnzb, musparseConstMatDescr_t descrA, \
       const T *valA, const int *ptrA, const int *indA, int rowBlockDimA, int colBlockDimA, \
       musparseConstMatDescr_t descrC, T *valC, int *ptrC, int *indC, int rowBlockDimC, int colBlockDimC, \
       void *buffer) \
    FN(X##gebsr2gebsr_bufferSize, musparseDirection_t dir, int mb, int nb, int nnzb, musparseConstMatDescr_t descrA, \
       const T *valA, const int *ptrA, const int *indA, int rowBlockDimA, int colBlockDimA, int rowBlockDimC, \
       int colBlockDimC, int *size) \
    FN(X##gemmi, int m, int n, int k, int nnz, const T *alpha, const T *a, int lda, const T *cscValB, \
       const int *cscPtrB, const int *cscIndB, const T *beta, T *c, int ldc) \
    FN(X##axpyi, int nnz, const T *alpha, const T *xval, const int *xInd, T *y, musparseIndexBase_t idxBase) \
    FN(X##bsr2csr, musparseDirection_t dir, int mb, int nb, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, int blockDim, musparseConstMatDescr_t descrC, T *valC, int *ptrC, int *indC) \
    FN(X##bsrmm, musparseDirection_t dir, musparseOperation_t ta, musparseOperation_t tb, int mb, int n, int kb, \
       int nnzb, const T *alpha, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, \
       int blockSize, const T *b, int ldb, const T *beta, T *c, int ldc) \
    FN(X##bsrmv, musparseDirection_t dir, musparseOperation_t ta, int mb, int nb, int nnzb, const T *alpha, \
       musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, int blockDim, const T *x, \
       const T *beta, T *y) \
    FN(X##csc2dense, int m, int n, musparseConstMatDescr_t descrA, const T *valA, const int *indA, const int *ptrA, \
       T *a, int lda) \
    FN(X##csr2bsr, musparseDirection_t dir, int m, int n, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, int blockDim, musparseConstMatDescr_t descrC, T *valC, int *ptrC, int *indC) \
    FN(X##csr2csru, int m, int n, int nnz, musparseConstMatDescr_t descrA, T *val, const int *ptr, int *ind, \
       musparseInfo_t info, void *buffer) \
    FN(X##csr2dense, int m, int n, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, \
       T *a, int lda) \
    FN(X##csrgeam2, int m, int n, const T *alpha, musparseConstMatDescr_t descrA, int nnzA, const T *valA, \
       const int *ptrA, const int *indA, const T *beta, musparseConstMatDescr_t descrB, int nnzB, const T *valB, \
       const int *ptrB, const int *indB, musparseConstMatDescr_t descrC, T *valC, int *ptrC, int *indC, void *buffer) \
    FN(X##csrgeam2_bufferSizeExt, int m, int n, const T *alpha, musparseConstMatDescr_t descrA, int nnzA, \
       const T *valA, const int *ptrA, const int *indA, const T *beta, musparseConstMatDescr_t descrB, int nnzB, \
       const T *valB, const int *ptrB, const int *indB, musparseConstMatDescr_t descrC, const T *valC, \
       const int *ptrC, const int *indC, size_t *size) \
    FN(X##csrgemm2, int m, int n, int k, const T *alpha, musparseConstMatDescr_t descrA, int nnzA, const T *valA, \
       const int *ptrA, const int *indA, musparseConstMatDescr_t descrB, int nnzB, const T *valB, const int *ptrB, \
       const int *indB, const T *beta, musparseConstMatDescr_t descrD, int nnzD, const T *valD, const int *ptrD, \
       const int *indD, musparseConstMatDescr_t descrC, T *valC, const int *ptrC, int *indC, musparseConstInfo_t info, \
       void *buffer) \
    FN(X##csrgemm2_bufferSizeExt, int m, int n, int k, const T *alpha, musparseConstMatDescr_t descrA, int nnzA, \
       const int *ptrA, const int *indA, musparseConstMatDescr_t descrB, int nnzB, const int *ptrB, const int *indB, \
       const T *beta, musparseConstMatDescr_t descrD, int nnzD, const int *ptrD, const int *indD, musparseInfo_t info, \
       size_t *size) \
    FN(X##csric02, int m, int nnz, musparseConstMatDescr_t descrA, T *valA, const int *ptrA, const int *indA, \
       musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csric02_analysis, int m, int nnz, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, \
       const int *indA, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csric02_bufferSize, int m, int nnz, musparseConstMatDescr_t descrA, T *valA, const int *ptrA, \
       const int *indA, musparseInfo_t info, int *size) \
    FN(X##csrilu02, int m, int nnz, musparseConstMatDescr_t descrA, T *valA, const int *ptrA, const int *indA, \
       musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csrilu02_analysis, int m, int nnz, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, \
       const int *indA, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csrilu02_bufferSize, int m, int nnz, musparseConstMatDescr_t descrA, T *valA, const int *ptrA, \
       const int *indA, musparseInfo_t info, int *size) \
    FN(X##csrilu02_numericBoost, musparseInfo_t info, int enable_boost, double *tol, T *boost_val) \
    FN(X##csrsm2_analysis, int algo, musparseOperation_t ta, musparseOperation_t tb, int m, int nrhs, int nnz, \
       const T *alpha, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, const T *b, \
       int ldb, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csrsm2_bufferSizeExt, int algo, musparseOperation_t ta, musparseOperation_t tb, int m, int nrhs, int nnz, \
       const T *alpha, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, const T *b, \
       int ldb, musparseInfo_t info, musparseSolvePolicy_t policy, size_t *size) \
    FN(X##csrsm2_solve, int algo, musparseOperation_t ta, musparseOperation_t tb, int m, int nrhs, int nnz, \
       const T *alpha, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, const int *indA, T *b, int ldb, \
       musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csrsv2_analysis, musparseOperation_t ta, int m, int nnz, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csrsv2_bufferSize, musparseOperation_t ta, int m, int nnz, musparseConstMatDescr_t descrA, T *valA, \
       const int *ptrA, const int *indA, musparseInfo_t info, int *size) \
    FN(X##csrsv2_solve, musparseOperation_t ta, int m, int nnz, const T *alpha, musparseConstMatDescr_t descrA, \
       const T *valA, const int *ptrA, const int *indA, musparseInfo_t info, const T *f, T *x, \
       musparseSolvePolicy_t policy, void *buffer) \
    FN(X##csru2csr, int m, int n, int nnz, musparseConstMatDescr_t descrA, T *val, const int *ptr, int *ind, \
       musparseInfo_t info, void *buffer) \
    FN(X##csru2csr_bufferSizeExt, int m, int n, int nnz, T *val, const int *ptr, int *ind, musparseInfo_t info, \
       size_t *size) \
    FN(X##dense2csc, int m, int n, musparseConstMatDescr_t descrA, const T *a, int lda, const int *nnzPerCol, T *valA, \
       int *indA, int *ptrA) \
    FN(X##dense2csr, int m, int n, musparseConstMatDescr_t descrA, const T *a, int lda, const int *nnzPerRow, T *valA, \
       int *ptrA, int *indA) \
    FN(X##gemvi, musparseOperation_t ta, int m, int n, const T *alpha, const T *a, int lda, int nnz, const T *xval, \
       const int *xInd, const T *beta, T *y, musparseIndexBase_t idxBase, void *buffer) \
    FN(X##gemvi_bufferSize, musparseOperation_t ta, int m, int n, int nnz, int *size) \
    FN(X##gpsvInterleavedBatch, int algo, int m, T *ds, T *dl, T *d, T *du, T *dw, T *x, int batchCount, void *buffer) \
    FN(X##gpsvInterleavedBatch_bufferSizeExt, int algo, int m, const T *ds, const T *dl, const T *d, const T *du, \
       const T *dw, const T *x, int batchCount, size_t *size) \
    FN(X##gthr, int nnz, const T *y, T *xval, const int *xInd, musparseIndexBase_t idxBase) \
    FN(X##gthrz, int nnz, T *y, T *xval, const int *xInd, musparseIndexBase_t idxBase) \
    FN(X##gtsv2, int m, int n, const T *dl, const T *d, const T *du, T *b, int ldb, void *buffer) \
    FN(X##gtsv2StridedBatch, int m, const T *dl, const T *d, const T *du, T *x, int batchCount, int batchStride, \
       void *buffer) \
    FN(X##gtsv2StridedBatch_bufferSizeExt, int m, const T *dl, const T *d, const T *du, const T *x, int batchCount, \
       int batchStride, size_t *size) \
    FN(X##gtsv2_bufferSizeExt, int m, int n, const T *dl, const T *d, const T *du, const T *b, int ldb, size_t *size) \
    FN(X##gtsv2_nopivot, int m, int n, const T *dl, const T *d, const T *du, T *b, int ldb, void *buffer) \
    FN(X##gtsv2_nopivot_bufferSizeExt, int m, int n, const T *dl, const T *d, const T *du, const T *b, int ldb, \
       size_t *size) \
    FN(X##gtsvInterleavedBatch, int algo, int m, T *dl, T *d, T *du, T *x, int batchCount, void *buffer) \
    FN(X##gtsvInterleavedBatch_bufferSizeExt, int algo, int m, const T *dl, const T *d, const T *du, const T *x, \
       int batchCount, size_t *size) \
    FN(X##nnz, musparseDirection_t dir, int m, int n, musparseConstMatDescr_t descrA, const T *a, int lda, \
       int *nnzPerRowCol, int *total) \
    FN(X##sctr, int nnz, const T *xval, const int *xInd, T *y, musparseIndexBase_t idxBase)

MUSPARSE_ALL(S, float)
MUSPARSE_ALL(D, double)
MUSPARSE_ALL(C, muComplex)
MUSPARSE_ALL(Z, muDoubleComplex)

/* Of the real types: the letter H is f16. */
#define MUSPARSE_PRUNE(X, T) \
    FN(X##pruneDense2csr, int m, int n, const T *a, int lda, const T *threshold, musparseConstMatDescr_t descrC, \
       T *valC, const int *ptrC, int *indC, void *buffer) \
    FN(X##pruneDense2csr_bufferSizeExt, int m, int n, const T *a, int lda, const T *threshold, \
       musparseConstMatDescr_t descrC, const T *valC, const int *ptrC, const int *indC, size_t *size) \
    FN(X##pruneDense2csrNnz, int m, int n, const T *a, int lda, const T *threshold, musparseConstMatDescr_t descrC, \
       int *ptrC, int *total, void *buffer) \
    FN(X##pruneDense2csrByPercentage, int m, int n, const T *a, int lda, float percentage, \
       musparseConstMatDescr_t descrC, T *valC, const int *ptrC, int *indC, musparseInfo_t info, void *buffer) \
    FN(X##pruneDense2csrByPercentage_bufferSizeExt, int m, int n, const T *a, int lda, float percentage, \
       musparseConstMatDescr_t descrC, const T *valC, const int *ptrC, const int *indC, musparseInfo_t info, \
       size_t *size) \
    FN(X##pruneDense2csrNnzByPercentage, int m, int n, const T *a, int lda, float percentage, \
       musparseConstMatDescr_t descrC, int *ptrC, int *total, musparseInfo_t info, void *buffer) \
    FN(X##pruneCsr2csr, int m, int n, int nnzA, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, \
       const int *indA, const T *threshold, musparseConstMatDescr_t descrC, T *valC, const int *ptrC, int *indC, \
       void *buffer) \
    FN(X##pruneCsr2csr_bufferSizeExt, int m, int n, int nnzA, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, const T *threshold, musparseConstMatDescr_t descrC, const T *valC, \
       const int *ptrC, const int *indC, size_t *size) \
    FN(X##pruneCsr2csrNnz, int m, int n, int nnzA, musparseConstMatDescr_t descrA, const T *valA, const int *ptrA, \
       const int *indA, const T *threshold, musparseConstMatDescr_t descrC, int *ptrC, int *total, void *buffer) \
    FN(X##pruneCsr2csrByPercentage, int m, int n, int nnzA, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, float percentage, musparseConstMatDescr_t descrC, T *valC, const int *ptrC, \
       int *indC, musparseInfo_t info, void *buffer) \
    FN(X##pruneCsr2csrByPercentage_bufferSizeExt, int m, int n, int nnzA, musparseConstMatDescr_t descrA, \
       const T *valA, const int *ptrA, const int *indA, float percentage, musparseConstMatDescr_t descrC, \
       const T *valC, const int *ptrC, const int *indC, musparseInfo_t info, size_t *size) \
    FN(X##pruneCsr2csrNnzByPercentage, int m, int n, int nnzA, musparseConstMatDescr_t descrA, const T *valA, \
       const int *ptrA, const int *indA, float percentage, musparseConstMatDescr_t descrC, int *ptrC, int *total, \
       musparseInfo_t info, void *buffer)
MUSPARSE_PRUNE(S, float)
MUSPARSE_PRUNE(D, double)
MUSPARSE_PRUNE(H, unsigned short)
FN(Sroti, int nnz, float *xVal, const int *xInd, float *y, const float *c, const float *s, musparseIndexBase_t idxBase)
FN(Droti, int nnz, double *xVal, const int *xInd, double *y, const double *c, const double *s,
   musparseIndexBase_t idxBase)

FN(Ccsr2csr_compress, int m, int n, musparseConstMatDescr_t descrA, const muComplex *valA, const int *indA,
   const int *ptrA, int nnzA, const int *nnzPerRow, muComplex *valC, int *indC, int *ptrC, struct cumu_f8 tol)
FN(Cnnz_compress, int m, musparseConstMatDescr_t descr, const muComplex *valA, const int *ptrA, int *nnzPerRow,
   int *nnzC, struct cumu_f8 tol)
FN0(CreateCsrgemm2Info, musparseInfo_t *info)
FN0(CreateCsric02Info, musparseInfo_t *info)
FN0(CreateCsrilu02Info, musparseInfo_t *info)
FN0(CreateCsrsm2Info, musparseInfo_t *info)
FN0(CreateCsrsv2Info, musparseInfo_t *info)
FN0(CreateCsru2csrInfo, musparseInfo_t *info)
FN(CreateIdentityPermutation, int n, int *p)
FN(Csr2cscEx2, int m, int n, int nnz, const void *val, const int *ptr, const int *ind, void *valC, int *ptrC, int *indC,
   int valType, musparseAction_t copyvalues, musparseIndexBase_t idxBase, musparseCsr2CscAlg_t alg, void *buffer)
FN(Csr2cscEx2_bufferSize, int m, int n, int nnz, const void *val, const int *ptr, const int *ind, void *valC, int *ptrC,
   int *indC, int valType, musparseAction_t copyvalues, musparseIndexBase_t idxBase, musparseCsr2CscAlg_t alg,
   size_t *bufferSize)
FN(Dcsr2csr_compress, int m, int n, musparseConstMatDescr_t descrA, const double *valA, const int *indA,
   const int *ptrA, int nnzA, const int *nnzPerRow, double *valC, int *indC, int *ptrC, double tol)
FN0(DestroyCsrgemm2Info, musparseInfo_t info)
FN0(DestroyCsric02Info, musparseInfo_t info)
FN0(DestroyCsrilu02Info, musparseInfo_t info)
FN0(DestroyCsrsm2Info, musparseInfo_t info)
FN0(DestroyCsrsv2Info, musparseInfo_t info)
FN0(DestroyCsru2csrInfo, musparseInfo_t info)
FN(Dnnz_compress, int m, musparseConstMatDescr_t descr, const double *valA, const int *ptrA, int *nnzPerRow, int *nnzC,
   double tol)
FN(Scsr2csr_compress, int m, int n, musparseConstMatDescr_t descrA, const float *valA, const int *indA, const int *ptrA,
   int nnzA, const int *nnzPerRow, float *valC, int *indC, int *ptrC, float tol)
FN(Snnz_compress, int m, musparseConstMatDescr_t descr, const float *valA, const int *ptrA, int *nnzPerRow, int *nnzC,
   float tol)
FN(Xcoo2csr, const int *cooind, int nnz, int m, int *ptr, musparseIndexBase_t idxBase)
FN(XcoosortByColumn, int m, int n, int nnz, int *cooRowsA, int *cooColsA, int *p, void *buffer)
FN(XcoosortByRow, int m, int n, int nnz, int *cooRowsA, int *cooColsA, int *p, void *buffer)
FN(Xcoosort_bufferSizeExt, int m, int n, int nnz, const int *cooRowsA, const int *cooColsA, size_t *size)
FN(Xcscsort, int m, int n, int nnz, musparseConstMatDescr_t descrA, const int *ptrA, int *indA, int *p, void *buffer)
FN(Xcscsort_bufferSizeExt, int m, int n, int nnz, const int *ptrA, const int *indA, size_t *size)
FN(Xcsr2bsrNnz, musparseDirection_t dir, int m, int n, musparseConstMatDescr_t descrA, const int *ptrA, const int *indA,
   int blockDim, musparseConstMatDescr_t descrC, int *ptrC, int *total)
FN(Xcsr2coo, const int *ptr, int nnz, int m, int *cooind, musparseIndexBase_t idxBase)
FN(Xcsrgeam2Nnz, int m, int n, musparseConstMatDescr_t descrA, int nnzA, const int *ptrA, const int *indA,
   musparseConstMatDescr_t descrB, int nnzB, const int *ptrB, const int *indB, musparseConstMatDescr_t descrC,
   int *ptrC, int *total, void *workspace)
FN(Xcsrgemm2Nnz, int m, int n, int k, musparseConstMatDescr_t descrA, int nnzA, const int *ptrA, const int *indA,
   musparseConstMatDescr_t descrB, int nnzB, const int *ptrB, const int *indB, musparseConstMatDescr_t descrD, int nnzD,
   const int *ptrD, const int *indD, musparseConstMatDescr_t descrC, int *ptrC, int *total, musparseConstInfo_t info,
   void *buffer)
FN(Xcsric02_zeroPivot, musparseInfo_t info, int *position)
FN(Xcsrilu02_zeroPivot, musparseInfo_t info, int *position)
FN(Xcsrsm2_zeroPivot, musparseInfo_t info, int *position)
FN(Xcsrsort, int m, int n, int nnz, musparseConstMatDescr_t descrA, const int *ptrA, int *indA, int *p, void *buffer)
FN(Xcsrsort_bufferSizeExt, int m, int n, int nnz, const int *ptrA, const int *indA, size_t *size)
FN(Xcsrsv2_zeroPivot, musparseInfo_t info, int *position)
FN(Zcsr2csr_compress, int m, int n, musparseConstMatDescr_t descrA, const muDoubleComplex *valA, const int *indA,
   const int *ptrA, int nnzA, const int *nnzPerRow, muDoubleComplex *valC, int *indC, int *ptrC, struct cumu_f16 tol)
FN(Znnz_compress, int m, musparseConstMatDescr_t descr, const muDoubleComplex *valA, const int *ptrA, int *nnzPerRow,
   int *nnzC, struct cumu_f16 tol)
FN0(CreateBsric02Info, musparseInfo_t *info)
FN0(DestroyBsric02Info, musparseInfo_t info)
FN0(CreateBsrilu02Info, musparseInfo_t *info)
FN0(DestroyBsrilu02Info, musparseInfo_t info)
FN0(CreateBsrsm2Info, musparseInfo_t *info)
FN0(DestroyBsrsm2Info, musparseInfo_t info)
FN0(CreateBsrsv2Info, musparseInfo_t *info)
FN0(DestroyBsrsv2Info, musparseInfo_t info)
FN0(CreateColorInfo, musparseInfo_t *info)
FN0(DestroyColorInfo, musparseInfo_t info)
FN0(CreatePruneInfo, musparseInfo_t *info)
FN0(DestroyPruneInfo, musparseInfo_t info)
FN(CsrmvEx, musparseAlgMode_t alg, musparseOperation_t ta, int m, int n, int nnz, const void *alpha, int alphatype,
   musparseConstMatDescr_t descrA, const void *val, int valtype, const int *ptr, const int *ind, const void *x,
   int xtype, const void *beta, int betatype, void *y, int ytype, int compute, void *buffer)
FN(CsrmvEx_bufferSize, musparseAlgMode_t alg, musparseOperation_t ta, int m, int n, int nnz, const void *alpha,
   int alphatype, musparseConstMatDescr_t descrA, const void *val, int valtype, const int *ptr, const int *ind,
   const void *x, int xtype, const void *beta, int betatype, void *y, int ytype, int compute, size_t *size)
FN(Xcsr2gebsrNnz, musparseDirection_t dir, int m, int n, musparseConstMatDescr_t descrA, const int *ptrA,
   const int *indA, musparseConstMatDescr_t descrC, int *ptrC, int rowBlockDim, int colBlockDim, int *total,
   void *buffer)
FN(Xgebsr2gebsrNnz, musparseDirection_t dir, int mb, int nb, int nnzb, musparseConstMatDescr_t descrA, const int *ptrA,
   const int *indA, int rowBlockDimA, int colBlockDimA, musparseConstMatDescr_t descrC, int *ptrC, int rowBlockDimC,
   int colBlockDimC, int *total, void *buffer)
FN(Xbsric02_zeroPivot, musparseInfo_t info, int *position)
FN(Xbsrilu02_zeroPivot, musparseInfo_t info, int *position)
FN(Xbsrsm2_zeroPivot, musparseInfo_t info, int *position)
FN(Xbsrsv2_zeroPivot, musparseInfo_t info, int *position)

#undef FN
#undef FN0
#undef OP
#undef MUSPARSE_ALL
#undef MUSPARSE_PRUNE
#pragma GCC visibility pop

#endif
