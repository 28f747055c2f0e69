/* cuDNN: handles, and what the library tells of itself. */
#include <stdatomic.h>
#include <string.h>

#include "abi/text.h"
#include "api/cudnn/dnn.h"
#include "api/release.h"
#include "kernel/graph.h"
#include "cuda_texts.h"

/* What the facades stand for. A program refuses a library whose major number is another, or older than its headers. */
static const struct cumu_release eight = {8, 9, 7}, nine = {9, 28, 0};

/* FNV-1a. */
static uint64_t digest(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
    return h;
}

/* One function says what many cannot do, so that "once a site" would leave all but the first unsaid. */
void dnn_gap(const char *symbol, const char *what)
{
    enum { SAID = 256 };
    static _Atomic uint64_t said[SAID];
    const uint64_t h = digest(digest(0xcbf29ce484222325ull, symbol), what) | 1;
    for (unsigned i = 0; i < SAID; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&said[(h + i) % SAID], &there, h))
            break;
        if (there == h)
            return;
    }
    cumu_log(NULL, CUMU_GAP, "cudnn", symbol, "%s", what);
}

int dnn_done(mudnnStatus_t status, const char *symbol)
{
    if (status == MUDNN_STATUS_NOT_SUPPORTED)
        dnn_gap(symbol, "the library below does not compute this (types, shapes, or all of it)");
    return DNN(status);
}

/* ---- handles ----------------------------------------------------------------------------------- */

int wrap_cudnnCreate(void **handle)
{
    DNN_BAD_UNLESS(handle);
    int device;
    if (mu.musaGetDevice(&device))
        return CUDNN_STATUS_NOT_INITIALIZED;
    return dnn_create(DNN_HANDLE, sizeof(struct dnn_handle), handle);
}

int wrap_cudnnDestroy(void *handle)
{
    DNN_HANDLE_OR_LEAVE(handle);
    cumu_finish_work();
    return dnn_destroy(DNN_HANDLE, handle);
}

int wrap_cudnnSetStream(void *handle, cudaStream_t stream)
{
    DNN_HANDLE_OR_LEAVE(handle);
    ((struct dnn_handle *)handle)->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetStream(void *handle, cudaStream_t *stream)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(stream);
    *stream = ((struct dnn_handle *)handle)->stream;
    return CUDNN_STATUS_SUCCESS;
}

/* Errors of device code that cuDNN 7 wrote down for later: here a stream has them. */
int wrap_cudnnQueryRuntimeError(void *handle, int *status, int mode, void *tag)
{
    (void)tag;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(status && mode >= 0 && mode <= 2);
    *status = CUDNN_STATUS_SUCCESS;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- versions ---------------------------------------------------------------------------------- */

size_t wrap_cudnnGetVersion(void) { return (size_t)(nine.major * 10000 + nine.minor * 100 + nine.patch); }
size_t wrap_cudnnGetVersion_v8(void) { return (size_t)(eight.major * 1000 + eight.minor * 100 + eight.patch); }
size_t wrap_cudnnGetMaxDeviceVersion(void) { return (size_t)cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY) * 10; }
size_t wrap_cudnnGetCudartVersion(void) { return CUMU_CUDART_13; }
size_t wrap_cudnnGetCudartVersion_v8(void) { return CUMU_CUDART_12; }

int wrap_cudnnGetProperty(int which, int *value)
{
    return cumu_release_property(nine, which, value) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INVALID_VALUE;
}
int wrap_cudnnGetProperty_v8(int which, int *value)
{
    return cumu_release_property(eight, which, value) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INVALID_VALUE;
}

int wrap_cudnnAdvVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnCnnVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnGraphVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnOpsVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnAdvInferVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnAdvTrainVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnCnnInferVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnCnnTrainVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnOpsInferVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
int wrap_cudnnOpsTrainVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }

/* ---- texts ------------------------------------------------------------------------------------- */

static const struct cumu_text statuses[] = {CUMU_TEXTS_cudnnStatus_t};

const char *wrap_cudnnGetErrorString(int status)
{
    const struct cumu_text *s = CUMU_TEXT_FIND(statuses, status);
    return s ? s->name : "CUDNN_UNKNOWN_STATUS";
}

const char *wrap_cudnnGetErrorString_v8(int status)
{
    return wrap_cudnnGetErrorString(status ? cumu_cudnnStatus_t_from_musa(status) : CUDNN_STATUS_SUCCESS);
}

/* The shim keeps no texts of its own of what went wrong; the log has them. */
void wrap_cudnnGetLastErrorString(void *message, size_t size)
{
    if (message && size)
        *(char *)message = 0;
}

/* Messages to a program's function: none are sent, and none was set. */
int wrap_cudnnSetCallback(unsigned mask, void *data, void *function)
{
    (void)mask, (void)data, (void)function;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetCallback(unsigned *mask, void **data, void *function)
{
    if (mask)
        *mask = 0;
    if (data)
        *data = NULL;
    if (function)
        memset(function, 0, sizeof(void *));
    return CUDNN_STATUS_SUCCESS;
}
