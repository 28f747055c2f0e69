/* Handles of the CPU muSPARSE: stream, pointer mode, scalars, and the way onto the stream. */
#include "host/maths/places.h"
#include "host/maths/submit.h"
#include "host/musparse/musparse.h"

enum { HANDLES = 1024 };

struct musparse_handle {
    struct maths_place place;
    musaStream_t stream;
    musparsePointerMode_t pointers;
};
static struct musparse_handle handles[HANDLES];
static struct maths_places places = MATHS_PLACES(handles);

bool musparse_live(musparseHandle_t h) { return maths_live(&places, h); }
musaStream_t musparse_stream(musparseHandle_t h) { return h->stream; }
bool musparse_on_device(musparseHandle_t h) { return h->pointers == MUSPARSE_POINTER_MODE_DEVICE; }

musparseStatus_t musparseCreate(musparseHandle_t *handle)
{
    POINTERS(handle);
    if (!maths_context())
        return MUSPARSE_STATUS_NOT_INITIALIZED;
    struct musparse_handle *h = maths_take(&places);
    if (!h)
        return MUSPARSE_STATUS_MEMORY_ERROR;
    h->stream = NULL;
    h->pointers = MUSPARSE_POINTER_MODE_HOST;
    h->place.live = true;
    *handle = h;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseDestroy(musparseHandle_t h)
{
    if (!maths_end(&places, h))
        return MUSPARSE_STATUS_INVALID_HANDLE;
    maths_free(h);
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSetStream(musparseHandle_t h, musaStream_t stream)
{
    LIVE(h);
    h->stream = stream;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseGetStream(musparseHandle_t h, musaStream_t *stream)
{
    LIVE(h);
    POINTERS(stream);
    *stream = h->stream;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSetPointerMode(musparseHandle_t h, musparsePointerMode_t mode)
{
    LIVE(h);
    VALUES(mode == MUSPARSE_POINTER_MODE_HOST || mode == MUSPARSE_POINTER_MODE_DEVICE);
    h->pointers = mode;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseGetPointerMode(musparseHandle_t h, musparsePointerMode_t *mode)
{
    LIVE(h);
    POINTERS(mode);
    *mode = h->pointers;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseGetVersion(musparseHandle_t h, int *version)
{
    LIVE(h);
    POINTERS(version);
    *version = 100000; /* no source gives muSPARSE's */
    return MUSPARSE_STATUS_SUCCESS;
}

struct scalar musparse_scalar(musparseHandle_t h, const void *at, musaDataType_t type)
{
    struct scalar s = {at, 0, type};
    if (!musparse_on_device(h)) {
        s.value = musparse_read(&s);
        s.at = NULL;
    }
    return s;
}

double complex musparse_read(const struct scalar *s)
{
    double complex v = 0;
    if (!s->at)
        return s->value;
    musparse_widen(&v, Z, s->at, s->type, 1);
    return v;
}

musparseStatus_t musparse_submit(musparseHandle_t h, void (*run)(const void *), const void *call, size_t size,
                                 double work)
{
    switch (maths_submit(h->stream, (struct maths_work){MATHS_OWN_CODE, run, NULL}, call, size, work)) {
    case musaSuccess: return MUSPARSE_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUSPARSE_STATUS_MEMORY_ERROR;
    default: return MUSPARSE_STATUS_INTERNAL_ERROR;
    }
}

musparseStatus_t musparse_submit_result(musparseHandle_t h, void (*run)(const void *), const void *call, size_t size,
                                        double work)
{
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    if (musaStreamIsCapturing(h->stream, &status))
        return MUSPARSE_STATUS_INTERNAL_ERROR;
    if (musparse_on_device(h) || status == musaStreamCaptureStatusActive)
        return musparse_submit(h, run, call, size, work);
    return musparse_submit_wait(h, run, call, size);
}

musparseStatus_t musparse_submit_wait(musparseHandle_t h, void (*run)(const void *), const void *call, size_t size)
{
    musparseStatus_t r = musparse_submit(h, run, call, size, 0);
    if (!r && musaStreamSynchronize(h->stream))
        r = MUSPARSE_STATUS_INTERNAL_ERROR;
    return r;
}
