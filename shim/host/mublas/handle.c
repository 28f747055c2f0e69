/* Handles of the CPU muBLAS, and what they keep: stream, modes. */
#include "abi/text.h"
#include "host/maths/places.h"
#include "host/mublas/mublas.h"
#include "musa_texts.h"

enum { HANDLES = 1024 };

struct _mublasHandle_t {
    struct maths_place place;
    musaStream_t stream;
    mublasPointerMode_t pointers;
    mublasAtomicsMode_t atomics;
    mublasMath_t math;
};
static struct _mublasHandle_t handles[HANDLES];
static struct maths_places places = MATHS_PLACES(handles);

bool mublas_live(mublasHandle_t h) { return maths_live(&places, h); }

musaStream_t mublas_stream(mublasHandle_t h) { return h->stream; }

bool mublas_on_device(mublasHandle_t h) { return h->pointers == MUBLAS_POINTER_MODE_DEVICE; }

mublasStatus_t mublasCreate(mublasHandle_t *handle)
{
    if (!handle)
        return MUBLAS_STATUS_INVALID_POINTER;
    if (!maths_context())
        return MUBLAS_STATUS_INVALID_HANDLE;
    struct _mublasHandle_t *h = maths_take(&places);
    if (!h)
        return MUBLAS_STATUS_MEMORY_ERROR;
    h->stream = NULL;
    h->pointers = MUBLAS_POINTER_MODE_HOST;
    h->atomics = MUBLAS_ATOMICS_NOT_ALLOWED;
    h->math = MUBLAS_DEFAULT_MATH;
    h->place.live = true;
    *handle = h;
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasDestroy(mublasHandle_t h)
{
    if (!maths_end(&places, h))
        return MUBLAS_STATUS_INVALID_HANDLE;
    maths_free(h);
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasSetStream(mublasHandle_t h, musaStream_t stream)
{
    MUBLAS_LIVE(h);
    h->stream = stream;
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasGetStream(mublasHandle_t h, musaStream_t *stream)
{
    MUBLAS_LIVE(h);
    if (!stream)
        return MUBLAS_STATUS_INVALID_POINTER;
    *stream = h->stream;
    return MUBLAS_STATUS_SUCCESS;
}

#define MODE(name, type, field, valid) \
    mublasStatus_t mublasSet##name(mublasHandle_t h, type mode) \
    { \
        MUBLAS_LIVE(h); \
        if (!(valid)) \
            return MUBLAS_STATUS_INVALID_VALUE; \
        h->field = mode; \
        return MUBLAS_STATUS_SUCCESS; \
    } \
    mublasStatus_t mublasGet##name(mublasHandle_t h, type *mode) \
    { \
        MUBLAS_LIVE(h); \
        if (!mode) \
            return MUBLAS_STATUS_INVALID_POINTER; \
        *mode = h->field; \
        return MUBLAS_STATUS_SUCCESS; \
    }
MODE(PointerMode, mublasPointerMode_t, pointers, mode == 0 || mode == 1)
MODE(AtomicsMode, mublasAtomicsMode_t, atomics, mode == 0 || mode == 1)
MODE(MathMode, mublasMath_t, math,
     (mode & ~MUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) >= 0 &&
         (mode & ~MUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) <= MUBLAS_TF32_TENSOR_OP_MATH)

mublasStatus_t mublasGetVersion(mublasHandle_t h, int *version)
{
    MUBLAS_LIVE(h);
    if (!version)
        return MUBLAS_STATUS_INVALID_POINTER;
    *version = 11008; /* 1.10.8, of SDK 4.3.8 */
    return MUBLAS_STATUS_SUCCESS;
}

const char *mublasGetStatusString(mublasStatus_t status)
{
    static const struct cumu_text statuses[] = {CUMU_TEXTS_mublasStatus_t};
    const struct cumu_text *s = CUMU_TEXT_FIND(statuses, status);
    return s ? s->name : "unknown mublasStatus_t";
}

/* BLAS's letter of a value, which counts from `first`. */
static char letter(int value, int first, const char *letters)
{
    for (int i = 0; letters[i]; i++)
        if (value == first + i)
            return letters[i];
    return 0;
}

char mublas_op(mublasOperation_t op) { return letter(op, MUBLAS_OP_N, "NTC"); }
char mublas_fill(mublasFillMode_t uplo) { return letter(uplo, MUBLAS_FILL_MODE_UPPER, "UL"); }
char mublas_diag(mublasDiagType_t diag) { return letter(diag, MUBLAS_DIAG_NON_UNIT, "NU"); }
char mublas_side(mublasSideMode_t side) { return letter(side, MUBLAS_SIDE_LEFT, "LR"); }
