/* CUPTI: a subscriber, kinds of records and settings, each on and off again. What records and callbacks hold is in
 * tests/cupti. */
#include <pthread.h>
#include <stdlib.h>
#include "cuda_enums.h"
#include "snippet.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
    (void)user, (void)domain, (void)cbid, (void)data;
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = malloc(*size = 4096);
    *most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    void *record = NULL;
    (void)context, (void)stream, (void)size;
    if (valid) /* another thread may have flushed before there was any in it */
        IS(C(cuptiActivityGetNextRecord)(buffer, valid, &record), CUPTI_SUCCESS);
    free(buffer);
}

static void subscriber(void)
{
    void *me = NULL;
    unsigned on = 0;
    IS(C(cuptiSubscribe)(&me, (void *)callback, NULL), CUPTI_SUCCESS);
    IS(C(cuptiSubscribe)(&me, (void *)callback, NULL), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    IS(C(cuptiEnableCallback)(1, me, 2, 1), CUPTI_SUCCESS);
    IS(C(cuptiGetCallbackState)(&on, me, 2, 1), CUPTI_SUCCESS);
    IS(C(cuptiEnableDomain)(0, me, 2), CUPTI_SUCCESS);
    IS(C(cuptiEnableAllDomains)(0, me), CUPTI_SUCCESS);
    IS(C(cuptiUnsubscribe)(me), CUPTI_SUCCESS);
    IS(C(cuptiUnsubscribe)(NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

static void records(void)
{
    enum { RUNTIME = 5, MALLOC = 20 };
    void *record = NULL;
    size_t size = sizeof(size_t), value = 0;
    uint64_t id = 0;
    IS(C(cuptiActivityRegisterCallbacks)((void *)requested, (void *)completed), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnable)(RUNTIME), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableAndDump)(RUNTIME), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableContext)(NULL, RUNTIME), CUPTI_ERROR_INVALID_CONTEXT);
    IS(C(cuptiActivityDisableContext)(NULL, RUNTIME), CUPTI_ERROR_INVALID_CONTEXT);
    IS(C(cuptiActivityDisable)(RUNTIME), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableRuntimeApi)(MALLOC, 0), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableDriverApi)(1, 0), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableAllSyncRecords)(1), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableLatencyTimestamps)(0), CUPTI_SUCCESS);
    IS(C(cuptiActivityEnableLaunchAttributes)(0), CUPTI_SUCCESS);
    IS(C(cuptiActivityPushExternalCorrelationId)(3, 5), CUPTI_SUCCESS);
    IS(C(cuptiActivityPopExternalCorrelationId)(3, &id), CUPTI_SUCCESS);
    EXPECT(id == 5);
    IS(C(cuptiActivityGetAttribute)(0, &size, &value), CUPTI_SUCCESS);
    IS(C(cuptiActivitySetAttribute)(0, &size, &value), CUPTI_SUCCESS);
    IS(C(cuptiActivityFlushPeriod)(0), CUPTI_SUCCESS);
    IS(C(cuptiActivityFlush)(NULL, 0, 0), CUPTI_SUCCESS);
    IS(C(cuptiActivityFlushAll)(0), CUPTI_SUCCESS);
    IS(C(cuptiActivityGetNumDroppedRecords)(NULL, 0, &size), CUPTI_SUCCESS);
    IS(C(cuptiActivityGetNextRecord)(&id, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
}

void snippet_cupti(void)
{
    unsigned u;
    int i;
    uint64_t t;
    size_t n;
    const char *text;
    const int *domains;
    IS(C(cuptiGetVersion)(&u), CUPTI_SUCCESS);
    IS(C(cuptiGetTimestamp)(&t), CUPTI_SUCCESS);
    IS(C(cuptiActivityRegisterTimestampCallback)(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    IS(C(cuptiGetResultString)(0, &text), CUPTI_SUCCESS);
    IS(C(cuptiGetErrorMessage)(0, &text), CUPTI_SUCCESS);
    IS(C(cuptiGetLastError)(), CUPTI_SUCCESS);
    IS(C(cuptiGetCallbackName)(2, 20, &text), CUPTI_SUCCESS);
    EXPECT(strcmp(text, "cudaMalloc_v3020") == 0);
    IS(C(cuptiSupportedDomains)(&n, &domains), CUPTI_SUCCESS);
    pthread_mutex_lock(&one); /* there is one subscriber, and one pair of functions for buffers */
    subscriber();
    records();
    pthread_mutex_unlock(&one);
    IS(C(cuptiGetContextId)(NULL, &u), CUPTI_ERROR_INVALID_CONTEXT);
    IS(C(cuptiGetDeviceId)(NULL, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    IS(C(cuptiGetStreamId)(NULL, NULL, &u), CUPTI_SUCCESS);
    IS(C(cuptiGetStreamIdEx)(NULL, NULL, 1, &u), CUPTI_SUCCESS);
    IS(C(cuptiSetThreadIdType)(0), CUPTI_SUCCESS);
    IS(C(cuptiGetThreadIdType)(&i), CUPTI_SUCCESS);
    IS(C(cuptiComputeCapabilitySupported)(8, 0, &i), CUPTI_SUCCESS);
    IS(C(cuptiDeviceSupported)(99, &i), CUPTI_ERROR_INVALID_DEVICE);
    IS(C(InitializeInjectionNvtx2)(NULL), 0);
    pthread_mutex_lock(&one);
    IS(C(cuptiFinalize)(), CUPTI_SUCCESS);
    pthread_mutex_unlock(&one);
}
