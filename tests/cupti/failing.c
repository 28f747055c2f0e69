/* A user of CUPTI and NVTX while one allocation fails (lib/fail_at.c): every record that there is is right, what is
 * missing was counted as dropped or had a call's status, and callbacks come in pairs with their arguments. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "cuda_enums.h"
#include "cuda_functions.h"
#include "user.h"

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, CONCURRENT = 10, MARKER = 12, KINDS = 56, MOST = 512 };
static union record records[MOST];
static unsigned count, of_kind[KINDS];
static _Alignas(8) uint8_t space[1 << 16]; /* the program's own, so that nothing of it can fail */

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = space;
    *size = sizeof space;
    *most = 0;
}
static void completed(void *context, uint32_t id, uint8_t *buffer, size_t size, size_t valid)
{
    void *r = NULL;
    (void)context, (void)id, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == 0 && count < MOST) {
        size_t left = valid - (size_t)((uint8_t *)r - buffer);
        memcpy(&records[count], r, left < sizeof *records ? left : sizeof *records);
        of_kind[records[count++].word[0] % KINDS]++;
    }
}

static void *function;
static unsigned enters, exits;
static void callback(void *user, int domain, uint32_t cbid, const void *what)
{
    enum { CBID_LAUNCH = 307 };
    const struct data *d = what;
    (void)user;
    if (domain > 2)
        return;
    if (d->site == 0) {
        enters++;
        *d->kept = d->correlation;
    } else {
        exits++;
        EXPECT(*d->kept == d->correlation, "what the user keeps of %s", d->function);
    }
    EXPECT(d->params != NULL, "%s has its arguments", d->function);
    if (domain == 1 && cbid == CBID_LAUNCH && d->params)
        EXPECT(*(void *const *)d->params == function, "the launch's kernel");
}

static int status;
#define DO(call) (status = status ? status : (int)(call))

/* The statuses of all calls, the first that is not 0; the number of the stream is asked for as the program has it. */
static void work(void **stream, unsigned *number)
{
    enum { N = 64 };
    unsigned host[N] = {0}, value = 7;
    void *device = NULL, *args[] = {&device, &value};
    DO(cudaStreamCreate(stream));
    DO(cudaMalloc(&device, sizeof host));
    DO(cudaMemcpy(device, host, sizeof host, 1));
    DO(cudaMemsetAsync(device, 3, sizeof host, *stream));
    DO(cuLaunchKernel(function, 1, 1, 1, N, 1, 1, 0, *stream, args, NULL));
    DO(cudaMemcpyAsync(host, device, sizeof host, 2, *stream));
    DO(cudaStreamSynchronize(*stream));
    if (cuptiGetStreamId(NULL, *stream, number) != 0)
        *number = 0;
    cudaFree(device);
    EXPECT(status || (host[0] == 7 && host[N - 1] == 7), "the program's result");
}

/* A marker's begin and end: the id of the range whose begin has the name; its begin's time, and its end's, or 0. */
static bool find_range(const char *name, uint64_t *begun, uint64_t *ended)
{
    const char *text;
    *begun = *ended = 0;
    for (unsigned i = 0; i < count; i++) {
        memcpy(&text, &records[i].two[6], sizeof text);
        if (records[i].word[0] != MARKER || records[i].word[1] != 2 || !text || strcmp(text, name) != 0)
            continue;
        *begun = records[i].two[1];
        for (unsigned k = 0; k < count; k++)
            if (records[k].word[0] == MARKER && records[k].word[1] == 4 && records[k].word[4] == records[i].word[4])
                *ended = records[k].two[1];
    }
    return *begun != 0;
}

/* Numbers that there was no memory for are refused, and the others are there. */
enum { PUSHED = 20 };
static uint64_t pushed[PUSHED];
static unsigned pushes;
static void push_numbers(void)
{
    for (uint64_t i = 0; i < PUSHED; i++) {
        const int r = cuptiActivityPushExternalCorrelationId(3, 100 + i);
        EXPECT(r == 0 || r == CUPTI_ERROR_OUT_OF_MEMORY, "a number is pushed: %d", r);
        if (!r)
            pushed[pushes++] = 100 + i;
    }
}
static void pop_numbers(void)
{
    uint64_t id = 0;
    while (pushes) {
        OK(cuptiActivityPopExternalCorrelationId(3, &id));
        EXPECT(id == pushed[--pushes], "the number that was pushed last");
    }
    IS(cuptiActivityPopExternalCorrelationId(3, &id), CUPTI_ERROR_QUEUE_EMPTY);
}

int main(void)
{
    static const int kinds[] = {MEMCPY, MEMSET, CONCURRENT, DRIVER, RUNTIME, MARKER};
    static const unsigned wanted[] = {2, 1, 1, 1, 7, 6}; /* at least */
    void *stream = NULL, *me = NULL, *module = NULL, *p = NULL;
    unsigned number = 0;
    size_t dropped = 0, missing = 0;
    uint64_t outer_begin, outer_end, inner_begin, inner_end, inner_started, inner_popped;
    const char *name;
    DO(cudaMalloc(&p, 4));
    DO(cudaFree(p));
    DO(cuModuleLoadData(&module, ptx));
    DO(cuModuleGetFunction(&function, module, "add"));
    DO(cuptiActivityRegisterCallbacks((void *)requested, (void *)completed));
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        DO(cuptiActivityEnable(kinds[i]));
    DO(cuptiSubscribe(&me, (void *)callback, NULL));
    DO(cuptiEnableDomain(1, me, 1));
    DO(cuptiEnableDomain(1, me, 2));
    if (status)
        return printf("ok status %d at the start\n", status), 0;
    push_numbers();
    nvtxRangePushA("outer");
    cuptiGetTimestamp(&inner_started);
    nvtxRangePushA("inner");
    uint64_t range = nvtxRangeStartA("process");
    work(&stream, &number);
    nvtxRangePop();
    cuptiGetTimestamp(&inner_popped);
    nvtxRangePop();
    nvtxRangeEnd(range);
    pop_numbers();
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(0);
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    EXPECT(enters == exits && (status || enters >= 8), "callbacks: %u before and %u after", enters, exits);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        missing += of_kind[kinds[i]] < wanted[i] ? wanted[i] - of_kind[kinds[i]] : 0;
    /* A range that there was no memory for is one loss and two records. */
    EXPECT(status || missing <= 2 * dropped, "%zu records are missing, %zu were dropped", missing, dropped);
    EXPECT(!dropped || missing, "%zu were dropped, none is missing", dropped);
    for (unsigned i = 0; i < count; i++) {
        const union record *r = &records[i];
        if (r->word[0] == CONCURRENT) {
            memcpy(&name, &r->two[13], sizeof name);
            EXPECT(name && strcmp(name, "add") == 0, "the kernel's name");
            EXPECT(r->word[11] && r->word[12] > 7 && (!number || r->word[12] == number), "its context and stream");
            EXPECT(r->two[2] && r->two[2] <= r->two[3], "its times");
        }
        if (r->word[0] == MEMSET)
            EXPECT(r->word[9] && r->word[10] > 7 && (!number || r->word[10] == number), "the memset's stream");
        if (r->word[0] == RUNTIME || r->word[0] == DRIVER)
            EXPECT(r->word[1] && r->word[8], "a call's number");
    }
    if (find_range("outer", &outer_begin, &outer_end))
        EXPECT(outer_begin <= inner_started && outer_end >= inner_popped, "the outer range ends after the inner one");
    if (find_range("inner", &inner_begin, &inner_end))
        EXPECT(inner_begin >= inner_started && inner_end && inner_end <= inner_popped, "the inner range");
    printf("# status %d, %u records, %zu dropped, %zu missing\n", status, count, dropped, missing);
    return check_end("records");
}
