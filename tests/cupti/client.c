/* A user of CUPTI beside a small CUDA program, with prototypes of our own from its documentation: records and callbacks
 * of all that the program does, then what is wrong. A line `ok` or `not ok` for each check. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cuda_enums.h"
#include "user.h"

typedef struct CUstream_st *stream;
typedef struct {
    unsigned x, y, z;
} dim3;
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, stream), cudaMemsetAsync(void *, int, size_t, stream);
int cudaMemset(void *, int, size_t), cudaStreamCreate(stream *), cudaStreamDestroy(stream);
int cudaStreamSynchronize(stream), cudaDeviceSynchronize(void), cudaGetDevice(int *);
int cuInit(unsigned), cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *);
int cuCtxGetCurrent(void **), cuModuleUnload(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, void **,
                   void **);

int cuptiSubscribe(void **, void (*)(void *, int, uint32_t, const void *), void *), cuptiUnsubscribe(void *);
int cuptiEnableCallback(uint32_t, void *, int, uint32_t), cuptiEnableDomain(uint32_t, void *, int);
int cuptiEnableAllDomains(uint32_t, void *), cuptiGetCallbackState(uint32_t *, void *, int, uint32_t);
int cuptiGetCallbackName(int, uint32_t, const char **), cuptiSupportedDomains(size_t *, int **);
int cuptiActivityEnable(int), cuptiActivityDisable(int), cuptiActivityFlushAll(uint32_t);
int cuptiActivityEnableRuntimeApi(uint32_t, uint8_t), cuptiActivityFlush(void *, uint32_t, uint32_t);
int cuptiActivityRegisterCallbacks(void (*)(uint8_t **, size_t *, size_t *),
                                   void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityGetNextRecord(uint8_t *, size_t, void **),
    cuptiActivityGetNumDroppedRecords(void *, uint32_t, size_t *);
int cuptiActivityPushExternalCorrelationId(int, uint64_t), cuptiActivityPopExternalCorrelationId(int, uint64_t *);
int cuptiActivityGetAttribute(int, size_t *, void *), cuptiActivitySetAttribute(int, size_t *, void *);
int cuptiActivityRegisterTimestampCallback(uint64_t (*)(void)), cuptiGetTimestamp(uint64_t *),
    cuptiGetVersion(uint32_t *);
int cuptiGetResultString(int, const char **), cuptiGetErrorMessage(int, const char **), cuptiGetLastError(void);
int cuptiGetContextId(void *, uint32_t *), cuptiGetDeviceId(void *, uint32_t *),
    cuptiGetStreamId(void *, stream, uint32_t *);
int cuptiGetThreadIdType(int *), cuptiSetThreadIdType(int), cuptiFinalize(void), cuptiDeviceSupported(int, int *);
int cuptiProfilerInitialize(void *), cuptiEventGroupCreate(void *, void **, uint32_t);
int nvtxRangePushA(const char *), nvtxRangePop(void);
void nvtxMarkA(const char *);

static int bad;
#define OK(what, is) \
    do { \
        bool is_ = (is); \
        printf("%s %s\n", is_ ? "ok" : "not ok", what); \
        bad += !is_; \
    } while (0)
#define CODE(call, code) OK(#call " is " #code, (call) == (code))

/* ---- records --------------------------------------------------------------------------------------- */

enum { MOST = 4096, BUFFER = 8192 };
static union record records[MOST];
static unsigned count;
static size_t buffer_size = BUFFER, buffer_most, misalign;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned requests, completions;
static void *module, *function;

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    int device;
    __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
    *size = buffer_size;
    *most = buffer_most;
    *buffer = buffer_size ? (uint8_t *)malloc(buffer_size + misalign) + misalign : NULL;
    if (module)
        (void)cudaGetDevice(&device); /* a program's functions may call CUDA */
}

static void completed(void *context, uint32_t id, uint8_t *buffer, size_t size, size_t valid)
{
    void *r = NULL;
    (void)context, (void)id, (void)size;
    pthread_mutex_lock(&lock);
    completions++;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == 0 && count < MOST) {
        size_t left = valid - (size_t)((uint8_t *)r - buffer);
        memcpy(&records[count++], r, left < sizeof *records ? left : sizeof *records);
    }
    pthread_mutex_unlock(&lock);
    free(buffer - misalign);
}

/* The nth record of the kind from 0, or NULL. */
static const union record *find(uint32_t kind, unsigned n)
{
    for (unsigned i = 0; i < count; i++)
        if (records[i].word[0] == kind && !n--)
            return &records[i];
    return NULL;
}

static const union record *api(uint32_t kind, uint32_t cbid)
{
    for (unsigned i = 0; i < count; i++)
        if (records[i].word[0] == kind && records[i].word[1] == cbid)
            return &records[i];
    return NULL;
}

enum {
    MEMCPY = 1,
    MEMSET,
    KERNEL,
    DRIVER,
    RUNTIME,
    CONCURRENT = 10,
    MARKER = 12,
    MARKER_DATA,
    OVERHEAD = 17,
    SYNC = 38,
    EXTERNAL
};
enum { CBID_LAUNCH = 307, CBID_MEMCPY = 31, CBID_MEMCPY_ASYNC = 41, CBID_MEMSET_ASYNC = 51, CBID_MALLOC = 20 };

static bool work(stream s)
{
    enum { N = 64 };
    unsigned host[N] = {0}, value = 7;
    void *device, *args[] = {&device, &value};
    bool good = cudaMalloc(&device, sizeof host) == 0 && cudaMemcpy(device, host, sizeof host, 1) == 0 &&
                cudaMemsetAsync(device, 3, sizeof host, s) == 0 &&
                cuLaunchKernel(function, 1, 1, 1, N, 1, 1, 0, s, args, NULL) == 0 &&
                cudaMemcpyAsync(host, device, sizeof host, 2, s) == 0 && cudaStreamSynchronize(s) == 0 &&
                cudaFree(device) == 0;
    return good && host[0] == 7 && host[N - 1] == 7;
}

static void check_records(void)
{
    static const int kinds[] = {MEMCPY, MEMSET,   CONCURRENT, DRIVER,      RUNTIME,
                                SYNC,   EXTERNAL, MARKER,     MARKER_DATA, OVERHEAD};
    uint64_t id = 0, before = 0, after = 0;
    stream s;
    uint32_t stream_id;
    CODE(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        OK("a kind", cuptiActivityEnable(kinds[i]) == 0);
    CODE(cudaStreamCreate(&s), 0);
    CODE(cuptiActivityPushExternalCorrelationId(3, 4711), CUPTI_SUCCESS);
    cuptiGetTimestamp(&before);
    nvtxRangePushA("range");
    OK("the program's result", work(s));
    nvtxRangePop();
    nvtxMarkA("mark");
    cuptiGetTimestamp(&after);
    CODE(cuptiActivityPopExternalCorrelationId(3, &id), CUPTI_SUCCESS);
    OK("the external number", id == 4711);
    cudaDeviceSynchronize();
    CODE(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        OK("a kind goes", cuptiActivityDisable(kinds[i]) == 0);

    cuptiGetStreamId(NULL, s, &stream_id);
    const union record *k = find(CONCURRENT, 0), *launch = api(DRIVER, CBID_LAUNCH), *m = find(MEMSET, 0);
    const union record *first = find(MEMCPY, 0), *second = find(MEMCPY, 1), *e = find(EXTERNAL, 0);
    const char *name = NULL;
    OK("a kernel, its launch, two copies and a memset", k && launch && first && second && m && e);
    if (!k || !launch || !first || !second || !m || !e)
        return;
    memcpy(&name, &k->two[13], sizeof name);
    OK("the kernel's name", name && strcmp(name, "add") == 0);
    OK("its launch", k->word[23] == launch->word[8] && launch->word[9] == 0);
    OK("its times", k->two[2] > before && k->two[2] <= k->two[3] && k->two[3] <= after);
    OK("its grid, block and stream", k->word[10] == 0 && k->word[11] == 1 && k->word[12] == stream_id &&
                                         k->word[13] == 1 && k->word[16] == 64 && k->word[17] == 1);
    const uint8_t *f = (const uint8_t *)first, *t = (const uint8_t *)second;
    OK("to the device", f[4] == 1 && f[5] == 1 && f[6] == 3 && first->two[1] == 256 && first->two[2] <= first->two[3]);
    OK("from the device",
       t[4] == 2 && t[5] == 3 && t[6] == 1 && second->two[1] == 256 && second->two[2] <= second->two[3]);
    OK("of their calls", api(RUNTIME, CBID_MEMCPY)->word[8] == first->word[11] &&
                             api(RUNTIME, CBID_MEMCPY_ASYNC)->word[8] == second->word[11]);
    OK("the memset", m->word[1] == 3 && m->two[1] == 256 && api(RUNTIME, CBID_MEMSET_ASYNC)->word[8] == m->word[11]);
    OK("a call's times", launch->two[1] >= before && launch->two[1] <= launch->two[2] && launch->two[2] <= after);
    OK("its process", launch->word[6] == (uint32_t)getpid());
    bool linked = false;
    for (unsigned i = 0; (e = find(EXTERNAL, i)); i++)
        linked |= e->word[4] == launch->word[8] && e->two[1] == 4711 && e->word[1] == 3;
    OK("the external number leads to the launch", linked);
    const union record *sync = find(SYNC, 0);
    OK("a wait", sync && sync->word[1] == 3 && sync->word[8] == stream_id);
    const union record *begin = find(MARKER, 0), *end = find(MARKER, 1), *mark = find(MARKER, 2);
    OK("markers", begin && end && mark && begin->word[1] == 2 && end->word[1] == 4 && mark->word[1] == 1 &&
                      begin->word[4] == end->word[4] && begin->two[1] <= launch->two[1] &&
                      end->two[1] >= launch->two[2]);
    size_t dropped = 1;
    CODE(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    OK("nothing is lost", dropped == 0);
    unsigned was = count;
    OK("the program's result", work(s));
    CODE(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    OK("nothing is recorded while nothing is wanted", count == was);
    CODE(cudaStreamDestroy(s), 0);
}

static void check_buffers(void)
{
    size_t dropped = 0;
    unsigned asked = requests;
    count = 0;
    cuptiActivityEnable(RUNTIME);
    buffer_size = 0;
    OK("a program that gives no buffer", work(NULL));
    CODE(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    OK("loses records", dropped >= 6 && requests > asked);
    buffer_size = 16;
    OK("or one that is too small", work(NULL));
    buffer_size = BUFFER;
    misalign = 4;
    OK("or unaligned", work(NULL));
    cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    OK("loses them, too", dropped >= 12 && count == 0);
    misalign = 0;
    buffer_most = 1;
    unsigned given = completions;
    OK("one record a buffer", work(NULL) && cuptiActivityFlushAll(0) == 0 && completions - given >= 6);
    buffer_most = 0;
    count = 0;
    CODE(cuptiActivityDisable(RUNTIME), CUPTI_SUCCESS);
#if VERSION > 18 /* CUPTI 11 does not have it */
    CODE(cuptiActivityEnableRuntimeApi(CBID_MALLOC, 1), CUPTI_SUCCESS);
    OK("one function's records",
       work(NULL) && cuptiActivityFlushAll(0) == 0 && count == 1 && records[0].word[1] == CBID_MALLOC);
    CODE(cuptiActivityEnableRuntimeApi(CBID_MALLOC, 0), CUPTI_SUCCESS);
#endif
}

/* ---- callbacks ------------------------------------------------------------------------------------- */

static struct {
    unsigned enters, exits, resources, synchronized, launches;
    bool kept, params, nested, symbol;
} seen;

static void callback(void *user, int domain, uint32_t cbid, const void *what)
{
    const struct data *d = what;
    int device;
    if (user != &seen)
        return;
    (void)cudaGetDevice(&device); /* is nobody's */
    if (domain == 3)
        seen.resources++;
    if (domain == 4)
        seen.synchronized++;
    if (domain > 2)
        return;
    seen.nested |= strcmp(d->function, "cudaGetDevice") == 0;
    if (d->site == 0) {
        seen.enters++;
        *d->kept = 1000 + d->correlation;
    } else {
        seen.exits++;
        seen.kept |= *d->kept == 1000u + d->correlation && *(int *)d->result == 0;
    }
    if (domain == 1 && cbid == CBID_LAUNCH && d->site == 0) {
        const struct {
            void *f;
            unsigned grid[3], block[3], shared;
            stream s;
            void **args, **extra;
        } *p = d->params;
        seen.launches++;
        seen.params = p->f == function && p->grid[0] == 1 && p->block[0] == 64 && p->block[1] == 1 && !p->s &&
                      p->args && !p->extra;
        seen.symbol = d->symbol && strcmp(d->symbol, "add") == 0;
    }
}

static void check_callbacks(void)
{
    void *me = NULL, *other = NULL;
    uint32_t on = 9;
    const char *name = NULL;
    stream s;
    CODE(cuptiSubscribe(&me, callback, &seen), CUPTI_SUCCESS);
    CODE(cuptiSubscribe(&other, callback, &seen), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CODE(cuptiEnableCallback(1, me, 1, CBID_LAUNCH), CUPTI_SUCCESS);
    OK("its state", cuptiGetCallbackState(&on, me, 1, CBID_LAUNCH) == 0 && on == 1);
    OK("one function", work(NULL) && seen.enters == 1 && seen.exits == 1 && seen.launches == 1);
    OK("has its arguments", seen.params);
    OK("and its kernel's name", seen.symbol);
    OK("and what the user keeps", seen.kept);
    CODE(cuptiEnableDomain(1, me, 2), CUPTI_SUCCESS);
    CODE(cuptiEnableDomain(1, me, 3), CUPTI_SUCCESS);
    CODE(cuptiEnableDomain(1, me, 4), CUPTI_SUCCESS);
    OK("domains", cudaStreamCreate(&s) == 0 && work(s) && cudaStreamDestroy(s) == 0);
    OK("have their callbacks",
       seen.enters == seen.exits && seen.enters >= 9 && seen.resources == 2 && seen.synchronized == 1);
    OK("but not of calls that callbacks make", !seen.nested);
    CODE(cuptiEnableAllDomains(0, me), CUPTI_SUCCESS);
    unsigned was = seen.enters;
    OK("none", work(NULL) && seen.enters == was);
    CODE(cuptiUnsubscribe(me), CUPTI_SUCCESS);
    CODE(cuptiEnableDomain(1, me, 2), CUPTI_ERROR_INVALID_PARAMETER);
    OK("a name", cuptiGetCallbackName(2, CBID_MALLOC, &name) == 0 && strcmp(name, "cudaMalloc_v3020") == 0);
}

/* ---- wrong input ----------------------------------------------------------------------------------- */

static void check_wrong(void)
{
    void *me, *r = NULL;
    uint32_t u;
    size_t n = 0, *none = NULL;
    uint64_t id, junk[4] = {0x1234567};
    int i;
    const char *s;
    CODE(cuptiSubscribe(NULL, callback, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiUnsubscribe(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiSubscribe(&me, NULL, NULL), CUPTI_SUCCESS);
    CODE(cuptiEnableDomain(1, me, 0), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiEnableDomain(1, me, 99), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiEnableCallback(1, me, 2, 0), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiEnableCallback(1, me, 2, 99999), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiEnableCallback(1, &u, 2, 1), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetCallbackState(NULL, me, 2, 1), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiEnableDomain(1, me, 2), CUPTI_SUCCESS);
    OK("a subscriber without a function", work(NULL));
    CODE(cuptiUnsubscribe(me), CUPTI_SUCCESS);
    CODE(cuptiGetCallbackName(2, 99999, &s), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetCallbackName(2, 1, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivityEnable(-1), CUPTI_ERROR_INVALID_KIND);
    CODE(cuptiActivityEnable(30), CUPTI_ERROR_INVALID_KIND); /* samples */
    CODE(cuptiActivityEnable(1 << 30), CUPTI_ERROR_INVALID_KIND);
    CODE(cuptiActivityRegisterCallbacks(NULL, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivityGetNextRecord(NULL, 8, &r), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivityGetNextRecord((uint8_t *)junk, 0, &r), CUPTI_ERROR_MAX_LIMIT_REACHED);
    CODE(cuptiActivityGetNextRecord((uint8_t *)junk, sizeof junk, &r), CUPTI_ERROR_INVALID_KIND);
    junk[0] = RUNTIME; /* 40 bytes, and 32 are there */
    CODE(cuptiActivityGetNextRecord((uint8_t *)junk, sizeof junk, &r), CUPTI_ERROR_INVALID_KIND);
    r = &u;
    CODE(cuptiActivityGetNextRecord((uint8_t *)junk, sizeof junk, &r), CUPTI_ERROR_INVALID_PARAMETER);
    for (size_t i = 1; i < sizeof(uint32_t); i++) { /* a record whose kind is not all there */
        r = (uint8_t *)junk + sizeof junk - i;
        CODE(cuptiActivityGetNextRecord((uint8_t *)junk, sizeof junk, &r), CUPTI_ERROR_INVALID_PARAMETER);
    }
    CODE(cuptiActivityGetNumDroppedRecords(NULL, 0, none), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivityPushExternalCorrelationId(0, 1), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivityPushExternalCorrelationId(99, 1), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivityPopExternalCorrelationId(4, &id), CUPTI_ERROR_QUEUE_EMPTY);
    CODE(cuptiActivityGetAttribute(0, &n, &id), CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    CODE(cuptiActivitySetAttribute(0, NULL, &id), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiActivitySetAttribute(77, &n, &id), CUPTI_ERROR_INVALID_PARAMETER);
    n = sizeof id;
    id = 12345;
    CODE(cuptiActivitySetAttribute(0, &n, &id), CUPTI_SUCCESS);
    id = 0;
    OK("an attribute is kept", cuptiActivityGetAttribute(0, &n, &id) == 0 && id == 12345);
    CODE(cuptiActivityRegisterTimestampCallback(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetTimestamp(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetVersion(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetContextId(NULL, &u), CUPTI_ERROR_INVALID_CONTEXT);
    CODE(cuptiGetDeviceId(NULL, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiSetThreadIdType(7), CUPTI_ERROR_NOT_SUPPORTED);
    CODE(cuptiGetThreadIdType(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    CODE(cuptiGetResultString(12345, &s), CUPTI_ERROR_INVALID_PARAMETER);
    OK("a result's name",
       cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, &s) == 0 && strcmp(s, "CUPTI_ERROR_NOT_SUPPORTED") == 0);
    CODE(cuptiDeviceSupported(99, &i), CUPTI_ERROR_INVALID_DEVICE);
    CODE(cuptiProfilerInitialize(&u), CUPTI_ERROR_NOT_SUPPORTED);
    CODE(cuptiEventGroupCreate(NULL, &me, 0), CUPTI_ERROR_NOT_SUPPORTED);
}

/* ---- threads, clocks, end --------------------------------------------------------------------------- */

static uint64_t ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) * 3; /* a clock that counts three times as fast */
}

static void check_clock(void)
{
    count = 0;
    CODE(cuptiActivityRegisterTimestampCallback(ticks), CUPTI_SUCCESS);
    cuptiActivityEnable(CONCURRENT);
    uint64_t before = ticks();
    OK("a clock of the program's", work(NULL) && cuptiActivityFlushAll(0) == 0);
    uint64_t after = ticks();
    const union record *k = find(CONCURRENT, 0);
    OK("gives the times", k && k->two[2] + 3000000 >= before && k->two[2] <= k->two[3] && k->two[3] <= after + 3000000);
    OK("and the number of a launch that nobody asked of", k && k->word[23] != 0);
    cuptiActivityDisable(CONCURRENT);
    /* A copy does not begin before its call, nor end after it. */
    enum { COPIES = 200 };
    unsigned inside = 0;
    int here = 1;
    void *there = NULL;
    cuptiActivityEnable(MEMCPY);
    cuptiActivityEnable(RUNTIME);
    if (cudaMalloc(&there, sizeof here) || cudaMemcpy(there, &here, sizeof here, 1))
        OK("memory", false);
    cuptiActivityFlushAll(0);
    count = 0;
    for (int i = 0; i < COPIES; i++)
        cudaMemcpy(&here, there, sizeof here, 2);
    cuptiActivityFlushAll(0);
    for (unsigned i = 0; i < count; i++)
        for (unsigned m = 0; records[i].word[0] == MEMCPY && m < count; m++)
            inside += records[m].word[0] == RUNTIME && records[m].word[8] == records[i].word[11] &&
                      records[m].two[1] <= records[i].two[2] && records[i].two[3] <= records[m].two[2];
    printf("# %u of %d copies are inside of their calls\n", inside, COPIES);
    OK("copies in time", inside >= COPIES * 9 / 10); /* but where the clocks are read anew between the two */
    cudaFree(there);
    cuptiActivityDisable(RUNTIME);
    cuptiActivityDisable(MEMCPY);
}

static void *loop(void *arg)
{
    for (int i = 0; i < 20; i++)
        if (!work(NULL))
            return NULL;
    return arg;
}

static void check_threads(void)
{
    pthread_t t[4];
    void *me = NULL, *done;
    unsigned good = 0;
    count = 0;
    buffer_size = 1024;
    cuptiSubscribe(&me, callback, NULL);
    cuptiEnableDomain(1, me, 2);
    cuptiActivityEnable(CONCURRENT);
    cuptiActivityEnable(RUNTIME);
    cuptiActivityEnable(MEMCPY);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, loop, &bad);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &done);
        good += done != NULL;
    }
    cuptiActivityFlushAll(0);
    unsigned kernels = 0, copies = 0;
    while (find(CONCURRENT, kernels))
        kernels++;
    while (find(MEMCPY, copies))
        copies++;
    OK("threads", good == 4);
    printf("# %u kernels, %u copies\n", kernels, copies);
    OK("have all their records", kernels == 80 && copies == 160);
    CODE(cuptiFinalize(), CUPTI_SUCCESS);
    count = 0;
    OK("and none after the end", work(NULL) && cuptiActivityFlushAll(0) == 0 && count == 0);
}

/* Kernels that kernels launch have records as others, between their parent's begin and end; no call is theirs, so that
 * each has a correlation of its own. */
static void check_nested(const char *path)
{
    static char text[1 << 14];
    const char *name = NULL;
    void *m, *waits, *to = NULL;
    unsigned n = 10, sums[3] = {0};
    void *args[] = {&to, &n};
    FILE *file = fopen(path, "r");
    count = 0;
    if (!file || !fread(text, 1, sizeof text - 1, file) || fclose(file) || cuModuleLoadData(&m, text) != 0 ||
        cuModuleGetFunction(&waits, m, "waits") != 0) {
        OK("kernels that launch kernels are there", false);
        return;
    }
    cudaMalloc(&to, sizeof sums);
    cudaMemset(to, 0, sizeof sums);
    CODE(cuptiActivityEnable(CONCURRENT), CUPTI_SUCCESS);
    OK("two launches of one that launches another",
       cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == 0 &&
           cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == 0 && cudaDeviceSynchronize() == 0);
    CODE(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    CODE(cuptiActivityDisable(CONCURRENT), CUPTI_SUCCESS);
    cudaMemcpy(sums, to, sizeof sums, 2);
    OK("their sums", sums[0] == 2 * 10 * 6 * 32 && sums[2] == 0);
    const union record *parents[2], *children[2], *k;
    unsigned np = 0, nc = 0;
    for (unsigned i = 0; (k = find(CONCURRENT, i)); i++) {
        memcpy(&name, &k->two[13], sizeof name);
        if (name && !strcmp(name, "waits") && np < 2)
            parents[np++] = k;
        else if (name && !strcmp(name, "add") && nc < 2)
            children[nc++] = k;
    }
    OK("two records of parents, two of children", np == 2 && nc == 2 && !find(CONCURRENT, 4));
    for (unsigned i = 0; i < nc; i++) {
        const unsigned *w = children[i]->word;
        bool inside = false;
        for (unsigned j = 0; j < np; j++)
            inside |= children[i]->two[2] >= parents[j]->two[2] && children[i]->two[3] <= parents[j]->two[3];
        OK("a child's grid and block",
           w[13] == 3 && w[14] == 2 && w[15] == 1 && w[16] == 8 && w[17] == 1 && w[18] == 4);
        OK("its times within a parent's", inside && children[i]->two[2] <= children[i]->two[3]);
        OK("its own correlation", w[23] && w[23] != parents[0]->word[23] && w[23] != parents[1]->word[23]);
    }
    OK("and no other child's", nc == 2 && children[0]->word[23] != children[1]->word[23]);
    cudaFree(to);
    cuModuleUnload(m);
}

/* The thread of the last mark in the records. */
static uint32_t marked_thread(void)
{
    const union record *last = NULL;
    nvtxMarkA("who");
    cuptiActivityFlushAll(1);
    for (unsigned n = 0; find(MARKER, n); n++)
        last = find(MARKER, n);
    return last ? last->word[7] : 0;
}

static int load(void) { return cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&function, module, "add"); }

/* A child that is forked before CUDA is used has a thread, and records, of its own. */
static void check_forked(void)
{
    int status = -1;
    CODE(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
    CODE(cuptiActivityEnable(MARKER), CUPTI_SUCCESS);
    CODE(cuptiActivityEnable(CONCURRENT), CUPTI_SUCCESS);
    CODE(cuptiSetThreadIdType(1), CUPTI_SUCCESS);
    OK("a mark has the system's thread", marked_thread() == (uint32_t)gettid());
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        OK("a forked child's mark has its own", marked_thread() == (uint32_t)gettid());
        OK("its program's result", cudaFree(NULL) == 0 && load() == 0 && work(NULL));
        cuptiActivityFlushAll(1);
        OK("its kernel", find(CONCURRENT, 0) && !find(CONCURRENT, 1));
        fflush(stdout);
        _exit(bad);
    }
    OK("the child's is right", waitpid(child, &status, 0) == child && status == 0);
    OK("the parent's mark still has its own", marked_thread() == (uint32_t)gettid());
}

int main(int argc, char **argv)
{
    uint32_t version = 0;
    void *p;
    if (argc > 1 && strcmp(argv[1], "forked") == 0) {
        check_forked();
        return bad != 0;
    }
    cudaMalloc(&p, 4);
    cudaFree(p);
    if (load() != 0)
        return 1;
    OK("a version", cuptiGetVersion(&version) == 0 && version == VERSION);
    CODE(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
    check_records();
    check_buffers();
    check_callbacks();
    check_wrong();
    check_clock();
    if (argc > 1)
        check_nested(argv[1]);
    check_threads();
    return bad != 0;
}
