/* What handles of muBLAS and muSPARSE tell of themselves, where nothing public shows the question: their stream, and of
 * muSPARSE's where scalars lie. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/hmap.h"
#include "core/init.h"
#include "core/resolve.h"

#include "musa_enums.h"

#include <stdlib.h>
#include <string.h>

struct held {
    const void *handle;
    musaStream_t stream;
    UT_hash_handle hh;
};
static HMAP(struct held) all = HMAP_INIT;

/* A handle that has never been given a stream has none: the default stream. */
static musaStream_t stream_of(const void *handle)
{
    struct held *h;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &handle, h);
    musaStream_t stream = h ? h->stream : NULL;
    hmap_unlock(&all);
    return stream;
}

static void forget(const void *handle)
{
    struct held *h;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &handle, h);
    if (h)
        HASH_DEL(all.head, h);
    hmap_unlock(&all);
    free(h);
}

/* False: no memory. */
static bool hold(const void *handle, musaStream_t stream)
{
    struct held *h, *fresh = malloc(sizeof *fresh);
    bool kept = true;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &handle, h);
    if (h) {
        h->stream = stream;
    } else if (fresh) {
        *fresh = (struct held){.handle = handle, .stream = stream};
        HASH_ADD_PTR(all.head, handle, fresh);
        kept = hmap_added(fresh);
        if (kept)
            fresh = NULL;
    } else {
        kept = false;
    }
    hmap_unlock(&all);
    free(fresh);
    return kept;
}

#define BELOW(library, function) ((__typeof__(function) *)(void (*)(void))(uintptr_t)cumu_below(library, #function))

/* `live` is a question to the handle that every library has. */
#define STREAMS(library, upper, live) \
    static library##Status_t library##_set_stream(library##Handle_t handle, musaStream_t stream) \
    { \
        library##Status_t r = BELOW(#library, library##SetStream)(handle, stream); \
        return r || hold(handle, stream) ? r : upper##_STATUS_MEMORY_ERROR; \
    } \
    static library##Status_t library##_get_stream(library##Handle_t handle, musaStream_t *stream) \
    { \
        int value; \
        library##Status_t r = !stream ? upper##_STATUS_INVALID_POINTER : mu.live(handle, &value); \
        if (!r) \
            *stream = stream_of(handle); \
        return r; \
    } \
    static library##Status_t library##_destroy(library##Handle_t handle) \
    { \
        forget(handle); \
        return BELOW(#library, library##Destroy)(handle); \
    }
STREAMS(mublas, MUBLAS, mublasGetPointerMode)
STREAMS(musparse, MUSPARSE, musparseGetVersion)

/* The library below takes scalars from the host. */
static musparseStatus_t set_pointer_mode(musparseHandle_t handle, musparsePointerMode_t mode)
{
    int version;
    musparseStatus_t r = mu.musparseGetVersion(handle, &version);
    return r ? r : mode == MUSPARSE_POINTER_MODE_HOST ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_NOT_IMPLEMENTED;
}

static musparseStatus_t get_pointer_mode(musparseHandle_t handle, musparsePointerMode_t *mode)
{
    int version;
    musparseStatus_t r = !mode ? MUSPARSE_STATUS_INVALID_POINTER : mu.musparseGetVersion(handle, &version);
    if (!r)
        *mode = MUSPARSE_POINTER_MODE_HOST;
    return r;
}

#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *library, *name, *missing; /* stands in where this one is missing, and what it stands on is there */
    void (*function)(void);
} rows[] = {
    {"mublas", "mublasDestroy", "mublasGetStream", STAND_IN(mublas_destroy)},
    {"mublas", "mublasGetStream", "mublasGetStream", STAND_IN(mublas_get_stream)},
    {"mublas", "mublasSetStream", "mublasGetStream", STAND_IN(mublas_set_stream)},
    {"musparse", "musparseDestroy", "musparseGetStream", STAND_IN(musparse_destroy)},
    {"musparse", "musparseGetPointerMode", "musparseSetPointerMode", STAND_IN(get_pointer_mode)},
    {"musparse", "musparseGetStream", "musparseGetStream", STAND_IN(musparse_get_stream)},
    {"musparse", "musparseSetPointerMode", "musparseSetPointerMode", STAND_IN(set_pointer_mode)},
    {"musparse", "musparseSetStream", "musparseGetStream", STAND_IN(musparse_set_stream)},
};

void *cumu_handle_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool blas = strcmp(rows[i].library, "mublas") == 0;
        if (strcmp(rows[i].name, symbol) == 0)
            return !cumu_below_has(rows[i].library, rows[i].missing) &&
                           cumu_below_has(rows[i].library, blas ? "mublasSetStream" : "musparseSetStream") &&
                           cumu_below_has(rows[i].library, blas ? "mublasDestroy" : "musparseDestroy")
                       ? cumu_code_address(rows[i].function)
                       : NULL;
    }
    return NULL;
}
