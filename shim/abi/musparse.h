/* The muSPARSE ABI (facts: musa.md 3.6 and 5.24): rocSPARSE's numbers, the generic functions as SDK 4.3.5 has them
 * (SpMV as in cuSPARSE; SpMM, SpSV, SpSM and SpGEMM with a stage). Functions of which no declaration is known have
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
FN0(CreateDnMat, musparseDnMatDescr_t *descr, int64_t rows, int64_t cols, int64_t ld, void *values,
    int type, musparseOrder_t order)
FN0(DestroyDnMat, musparseConstDnMatDescr_t descr)
FN0(DnMatGet, musparseConstDnMatDescr_t descr, int64_t *rows, int64_t *cols, int64_t *ld, void **values,
    int *type, musparseOrder_t *order)
FN0(DnMatGetValues, musparseConstDnMatDescr_t descr, void **values)
FN0(DnMatSetValues, musparseDnMatDescr_t descr, void *values)
FN0(DnMatSetStridedBatch, musparseDnMatDescr_t descr, int batch, int64_t stride)
FN0(DnMatGetStridedBatch, musparseConstDnMatDescr_t descr, int *batch, int64_t *stride)
FN0(CreateCsr, musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *columns,
    void *values, musparseIndexType_t otype, musparseIndexType_t itype, musparseIndexBase_t base,
    int type)
FN0(CreateCsc, musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *rowind,
    void *values, musparseIndexType_t otype, musparseIndexType_t itype, musparseIndexBase_t base,
    int type)
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
FN(SpVV_bufferSize, OP opx, musparseConstSpVecDescr_t x, musparseConstDnVecDescr_t y, const void *result,
   int compute, size_t *size)
FN(SpVV, OP opx, musparseConstSpVecDescr_t x, musparseConstDnVecDescr_t y, void *result, int compute,
   void *buffer)
FN(SpMV_bufferSize, OP op, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x,
   const void *beta, musparseDnVecDescr_t y, int compute, musparseSpMVAlg_t alg, size_t *size)
FN(SpMV, OP op, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, const void *beta,
   musparseDnVecDescr_t y, int compute, musparseSpMVAlg_t alg, void *buffer)
FN(SpMM, OP opa, OP opb, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnMatDescr_t b,
   const void *beta, musparseDnMatDescr_t c, int compute, musparseSpMMAlg_t alg,
   musparseSpMMStage_t stage, size_t *size, void *buffer)
FN(SpSV, OP op, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, musparseDnVecDescr_t y,
   int compute, musparseSpSVAlg_t alg, musparseSpSVStage_t stage, size_t *size, void *buffer)
FN(SpSM, OP opa, OP opb, const void *alpha, musparseConstSpMatDescr_t a, musparseConstDnMatDescr_t b,
   musparseDnMatDescr_t c, int compute, musparseSpSMAlg_t alg, musparseSpSMStage_t stage, size_t *size,
   void *buffer)
FN(SpGEMM, OP opa, OP opb, const void *alpha, musparseConstSpMatDescr_t a, musparseConstSpMatDescr_t b,
   const void *beta, musparseConstSpMatDescr_t d, musparseSpMatDescr_t c, int compute,
   musparseSpGEMMAlg_t alg, musparseSpGEMMStage_t stage, size_t *size, void *buffer)
FN(SDDMM_bufferSize, OP opa, OP opb, const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
   const void *beta, musparseSpMatDescr_t c, int compute, musparseSDDMMAlg_t alg, size_t *size)
FN(SDDMM_preprocess, OP opa, OP opb, const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
   const void *beta, musparseSpMatDescr_t c, int compute, musparseSDDMMAlg_t alg, void *buffer)
FN(SDDMM, OP opa, OP opb, const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
   const void *beta, musparseSpMatDescr_t c, int compute, musparseSDDMMAlg_t alg, void *buffer)
FN(SparseToDense_bufferSize, musparseConstSpMatDescr_t a, musparseDnMatDescr_t b, musparseSparseToDenseAlg_t alg,
   size_t *size)
FN(SparseToDense, musparseConstSpMatDescr_t a, musparseDnMatDescr_t b, musparseSparseToDenseAlg_t alg, void *buffer)
FN(DenseToSparse_bufferSize, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg,
   size_t *size)
FN(DenseToSparse_analysis, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg,
   void *buffer)
FN(DenseToSparse_convert, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg,
   void *buffer)


#undef FN
#undef FN0
#undef OP
#undef MUSPARSE_ALL
#undef MUSPARSE_REAL
#pragma GCC visibility pop

#endif
