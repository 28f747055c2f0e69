/* Drawn use of CUPTI, right and wrong, against a model: subscribers, kinds and functions that are switched on and off,
 * buffers that are missing, too small, odd, of few records or read late, external numbers that do not pair, flushes by
 * other threads, while one to three threads call CUDA. The model says each call's status, which records there are, in
 * which order, with which numbers, and which callbacks.
 * usage: drawn [SEED [ROUNDS]] */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "cuda_enums.h"
#include "cuda_functions.h"
#include "user.h"

enum { MEMCPY = 1, MEMSET, KERNEL, DRIVER, RUNTIME, CONCURRENT = 10, MARKER = 12, SYNC = 38, EXTERNAL, KINDS = 56 };
enum { OP_MALLOC, OP_FREE, OP_COPY, OP_FAIL, OP_ASYNC, OP_SET, OP_LAUNCH, OP_STREAM, OP_DEVICE, OP_RANGE, OPS };
static const struct {
    unsigned domain, cbid, kind, synchronizes; /* kind: of what it puts on the device */
} ops[OPS] = {[OP_MALLOC] = {2, 20, 0, 0},       [OP_FREE] = {2, 22, 0, 0},       [OP_COPY] = {2, 31, MEMCPY, 0},
              [OP_FAIL] = {2, 31, 0, 0},         [OP_ASYNC] = {2, 41, MEMCPY, 0}, [OP_SET] = {2, 51, MEMSET, 0},
              [OP_LAUNCH] = {1, 307, KERNEL, 0}, [OP_STREAM] = {2, 131, 0, 3},    [OP_DEVICE] = {2, 165, 0, 4}};
enum { THREADS = 3, MOST = 40, KEEP = 4096, NUMBERS = 5, DEEP = 200, SIZE = 256 };
enum { LATE = 20000000 }; /* nanoseconds for which a thread may stand still between the two clocks */

/* ---- the model --------------------------------------------------------------------------------- */

static struct {
    bool kind[KINDS], subscribed, registered, api_on[3][400], api_off[3][400], callback[5][400];
    void *subscriber;
} model;
struct step {
    int op, result;
    unsigned depth[NUMBERS + 1];
    uint64_t top[NUMBERS + 1];
};
static struct thread {
    unsigned seed, id, stream_number, steps;
    void *stream, *memory;
    struct step step[MOST + 1];
    uint64_t pushed[NUMBERS + 1][DEEP];
    unsigned depth[NUMBERS + 1];
} threads[THREADS];
static unsigned seed_of_main;

static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (unsigned)((uint64_t)(*seed >> 4) * n >> 28);
}
#define UPTO(n) draw(&seed_of_main, n)

static bool api_recorded(unsigned domain, unsigned cbid)
{
    return model.kind[domain == 1 ? DRIVER : RUNTIME] ? !model.api_off[domain][cbid] : model.api_on[domain][cbid];
}
static bool any(const bool *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (b[i])
            return true;
    return false;
}
/* External numbers are of calls that somebody looks at. */
static bool calls_seen(void)
{
    static const int looks[] = {MEMCPY, MEMSET, KERNEL, CONCURRENT, DRIVER, RUNTIME, SYNC};
    for (unsigned i = 0; i < sizeof looks / sizeof *looks; i++)
        if (model.kind[looks[i]])
            return true;
    return any(model.api_on[1], 400) || any(model.api_on[2], 400) || any(model.callback[0], 5 * 400);
}
static unsigned kernel_kind(void) { return model.kind[CONCURRENT] ? CONCURRENT : KERNEL; }
static unsigned device_kind(int op) { return ops[op].kind == KERNEL ? kernel_kind() : ops[op].kind; }

static unsigned correlation_of(const union record *r)
{
    switch (r->word[0]) {
    case MEMCPY:
    case MEMSET: return r->word[11];
    case KERNEL:
    case CONCURRENT: return r->word[23];
    case DRIVER:
    case RUNTIME: return r->word[8];
    case SYNC: return r->word[6];
    case EXTERNAL: return r->word[4];
    default: return 0;
    }
}

/* ---- buffers ----------------------------------------------------------------------------------- */

static enum { GOOD, NONE, SMALL, ODD, FEW, MODES } mode;
static struct {
    uint8_t *at, *made;
    size_t valid;
} full[KEEP];
static unsigned fulls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static union record records[KEEP];
static unsigned count;

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = mode == SMALL ? 8 : 2048;
    *most = mode == FEW ? 3 : 0;
    *buffer = mode == NONE ? NULL : (uint8_t *)aligned_alloc(8, 2048 + 8) + (mode == ODD ? 4 : 0);
}
/* They are read when the round is over. */
static void completed(void *context, uint32_t id, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)id, (void)size;
    pthread_mutex_lock(&lock);
    EXPECT(fulls < KEEP && valid <= size, "%u buffers, %zu of %zu bytes", fulls, valid, size);
    full[fulls].at = buffer, full[fulls].made = buffer - (mode == ODD ? 4 : 0);
    full[fulls++].valid = valid;
    pthread_mutex_unlock(&lock);
}
static int by_call(const void *a, const void *b)
{
    const unsigned x = correlation_of(a), y = correlation_of(b);
    return (x > y) - (x < y);
}
/* Two threads that flush may give two buffers back in either order. */
static void read_buffers(bool in_order)
{
    count = 0;
    for (unsigned i = 0; i < fulls; i++) {
        void *r = NULL;
        unsigned here = 0;
        while (cuptiActivityGetNextRecord(full[i].at, full[i].valid, &r) == 0 && count < KEEP) {
            const size_t left = full[i].valid - (size_t)((uint8_t *)r - full[i].at);
            memset(&records[count], 0, sizeof *records);
            memcpy(&records[count++], r, left < sizeof *records ? left : sizeof *records);
            here++;
        }
        EXPECT(mode != FEW || here <= 3, "%u records in a buffer of three", here);
        free(full[i].made);
    }
    fulls = 0;
    if (!in_order)
        qsort(records, count, sizeof *records, by_call);
}

/* ---- callbacks --------------------------------------------------------------------------------- */

static unsigned told[5][400], returned[5][400];
static void callback(void *user, int domain, uint32_t cbid, const void *what)
{
    const struct data *d = what;
    uint64_t now;
    int device;
    EXPECT(user == told && domain >= 1 && domain <= 4 && cbid < 400, "a callback's domain and number");
    (void)cudaGetDevice(&device); /* is nobody's */
    (void)cuptiGetTimestamp(&now);
    if (domain > 2) {
        __atomic_add_fetch(&told[domain][cbid], 1, __ATOMIC_RELAXED);
        return;
    }
    if (d->site == 0)
        *d->kept = d->correlation;
    else
        EXPECT(*d->kept == d->correlation, "what the user keeps of %s", d->function);
    __atomic_add_fetch(d->site ? &returned[domain][cbid] : &told[domain][cbid], 1, __ATOMIC_RELAXED);
}

/* ---- settings, right and wrong ----------------------------------------------------------------- */

#define STATUS(call, want) \
    do { \
        const int is_ = (call), want_ = (want); \
        EXPECT(is_ == want_, #call ": %d, not %d", is_, want_); \
    } while (0)

static void set_kind(void)
{
    static const int kinds[] = {MEMCPY, MEMSET,   KERNEL, DRIVER, RUNTIME, CONCURRENT, MARKER,
                                SYNC,   EXTERNAL, 0,      -1,     30,      999};
    const int k = kinds[UPTO(13)];
    const bool on = UPTO(3) != 0;
    const bool known = k > 0 && k < KINDS && k != 30;
    STATUS(on ? cuptiActivityEnable(k) : cuptiActivityDisable(k), known ? 0 : CUPTI_ERROR_INVALID_KIND);
    if (known)
        model.kind[k] = on;
}
static void set_function(void)
{
    const int op = (int)UPTO(OP_RANGE);
    const unsigned domain = ops[op].domain, on = UPTO(2);
    const unsigned cbid = UPTO(8) ? ops[op].cbid : UPTO(2) ? 0 : 4000;
    STATUS(domain == 1 ? cuptiActivityEnableDriverApi(cbid, (uint8_t)on)
                       : cuptiActivityEnableRuntimeApi(cbid, (uint8_t)on),
           cbid && cbid < 4000 ? 0 : CUPTI_ERROR_INVALID_PARAMETER);
    if (cbid && cbid < 4000)
        model.api_on[domain][cbid] = on, model.api_off[domain][cbid] = !on;
}
static void subscribe(void)
{
    void *s = NULL;
    if (UPTO(3)) {
        STATUS(cuptiSubscribe(&s, (void *)callback, told),
               model.subscribed ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : 0);
        if (!model.subscribed)
            model.subscriber = s, model.subscribed = true;
        return;
    }
    s = UPTO(3) ? model.subscriber : UPTO(2) ? (void *)&model : NULL;
    const bool right = model.subscribed && s == model.subscriber;
    STATUS(cuptiUnsubscribe(s), right ? 0 : CUPTI_ERROR_INVALID_PARAMETER);
    if (right)
        model.subscribed = false, memset(model.callback, 0, sizeof model.callback);
}
static void set_callback(void)
{
    void *const s = UPTO(8) ? model.subscriber : (void *)&mode;
    const int op = (int)UPTO(OP_RANGE), domain = UPTO(8) ? (int)ops[op].domain : UPTO(2) ? 4 : 17;
    const unsigned on = UPTO(3) != 0, cbid = UPTO(8) ? domain == 4 ? 1 : ops[op].cbid : 0;
    const bool right = model.subscribed && s == model.subscriber && domain < 5;
    unsigned is = 7;
    if (UPTO(3)) {
        STATUS(cuptiEnableCallback(on, s, domain, cbid), right && cbid ? 0 : CUPTI_ERROR_INVALID_PARAMETER);
        if (right && cbid)
            model.callback[domain][cbid] = on;
    } else {
        STATUS(cuptiEnableDomain(on, s, domain), right ? 0 : CUPTI_ERROR_INVALID_PARAMETER);
        for (unsigned i = 1; right && i < 400; i++)
            model.callback[domain][i] = on;
    }
    STATUS(cuptiGetCallbackState(&is, s, domain, cbid), right && cbid ? 0 : CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT(!right || !cbid || is == model.callback[domain][cbid], "a callback's state: %u", is);
}
static void settings(void)
{
    for (unsigned n = 3 + UPTO(12); n--;)
        switch (UPTO(10)) {
        case 0: subscribe(); break;
        case 1:
        case 2: set_callback(); break;
        case 3: set_function(); break;
        case 4: STATUS(cuptiActivityRegisterCallbacks(NULL, (void *)completed), CUPTI_ERROR_INVALID_PARAMETER); break;
        case 5:
            STATUS(cuptiActivityRegisterCallbacks((void *)requested, (void *)completed), 0);
            model.registered = true;
            break;
        case 6:
            if (UPTO(12))
                break;
            STATUS(cuptiFinalize(), 0);
            memset(model.kind, 0, sizeof model.kind);
            memset(model.api_on, 0, sizeof model.api_on);
            memset(model.api_off, 0, sizeof model.api_off);
            memset(model.callback, 0, sizeof model.callback);
            model.subscribed = false;
            break;
        default: set_kind();
        }
}

/* ---- work -------------------------------------------------------------------------------------- */

static void *function;
static bool beside, flushing; /* a thread that flushes all the time */

static void external(struct thread *t)
{
    const int kind = (int)draw(&t->seed, 12) - 2;
    const bool known = kind > 0 && kind <= NUMBERS;
    uint64_t id = draw(&t->seed, 1 << 20), got = 0;
    for (unsigned n = draw(&t->seed, 20) ? 1 : 90; n--; id++) {
        if (draw(&t->seed, 2) || n) {
            if (known && t->depth[kind] == DEEP)
                continue;
            STATUS(cuptiActivityPushExternalCorrelationId(kind, id), known ? 0 : CUPTI_ERROR_INVALID_PARAMETER);
            if (known)
                t->pushed[kind][t->depth[kind]++] = id;
            continue;
        }
        const bool some = known && t->depth[kind];
        STATUS(cuptiActivityPopExternalCorrelationId(kind, &got), some    ? 0
                                                                  : known ? CUPTI_ERROR_QUEUE_EMPTY
                                                                          : CUPTI_ERROR_INVALID_PARAMETER);
        EXPECT(!some || got == t->pushed[kind][t->depth[kind] - 1], "the number that was pushed last");
        if (some)
            t->depth[kind]--;
    }
}

static void call(struct thread *t, int op)
{
    static char host[THREADS][SIZE];
    char *const here = host[t - threads];
    unsigned value = 7;
    void *args[] = {&t->memory, &value};
    struct step *const s = &t->step[t->steps++];
    s->op = op, s->result = 0;
    for (int k = 1; k <= NUMBERS; k++) {
        s->depth[k] = t->depth[k];
        s->top[k] = t->depth[k] ? t->pushed[k][t->depth[k] - 1] : 0;
    }
    switch (op) {
    case OP_MALLOC: s->result = cudaMalloc(&t->memory, SIZE); break;
    case OP_FREE: s->result = cudaFree(t->memory), t->memory = NULL; break;
    case OP_COPY: s->result = cudaMemcpy(t->memory, here, SIZE, 1); break;
    case OP_FAIL: s->result = cudaMemcpy(t->memory, here, SIZE, 99); break;
    case OP_ASYNC: s->result = cudaMemcpyAsync(t->memory, here, SIZE, 1, t->stream); break;
    case OP_SET: s->result = cudaMemsetAsync(t->memory, 3, SIZE, t->stream); break;
    case OP_LAUNCH: s->result = cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, t->stream, args, NULL); break;
    case OP_STREAM: s->result = cudaStreamSynchronize(t->stream); break;
    case OP_DEVICE: s->result = cudaDeviceSynchronize(); break;
    default: nvtxRangePushA("range"); nvtxRangePop();
    }
    EXPECT(!s->result == (op != OP_FAIL), "call %d: %d", op, s->result);
}

static void *work(void *arg)
{
    struct thread *const t = arg;
    t->id = (unsigned)syscall(SYS_gettid);
    memset(t->depth, 0, sizeof t->depth); /* a thread's own, and each round has threads of its own */
    call(t, OP_MALLOC);
    for (unsigned n = draw(&t->seed, MOST - 4); n--;) {
        if (!draw(&t->seed, 4))
            external(t);
        call(t, OP_COPY + (int)draw(&t->seed, OPS - OP_COPY));
    }
    call(t, OP_STREAM);
    call(t, OP_FREE);
    return NULL;
}

static void *flush(void *once)
{
    do
        STATUS(cuptiActivityFlushAll(0), model.registered ? 0 : CUPTI_ERROR_INVALID_OPERATION);
    while (!once && __atomic_load_n(&flushing, __ATOMIC_ACQUIRE) && !usleep(300));
    return NULL;
}

/* ---- what came of it --------------------------------------------------------------------------- */

static unsigned wanted[KINDS];
static void expect_of(const struct step *s)
{
    if (s->op == OP_RANGE) {
        wanted[MARKER] += model.kind[MARKER] ? 2 : 0;
        return;
    }
    const unsigned domain = ops[s->op].domain, cbid = ops[s->op].cbid, kind = device_kind(s->op);
    wanted[domain == 1 ? DRIVER : RUNTIME] += api_recorded(domain, cbid);
    if (kind)
        wanted[kind] += model.kind[kind];
    if (ops[s->op].synchronizes)
        wanted[SYNC] += model.kind[SYNC];
    for (int k = 1; k <= NUMBERS; k++)
        wanted[EXTERNAL] += model.kind[EXTERNAL] && s->depth[k] && calls_seen();
}

/* How many records of the kind belong to a call; the last of them. */
static unsigned find(unsigned kind, unsigned correlation, const union record **r)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        if (records[i].word[0] == kind && correlation_of(&records[i]) == correlation)
            *r = &records[i], n++;
    return n;
}

/* The records of one call whose own is there. */
static void check_call(const struct thread *t, const struct step *s, const union record *api)
{
    const unsigned kind = device_kind(s->op), number = correlation_of(api);
    const union record *r = NULL;
    unsigned n;
    if (kind) {
        n = find(kind, number, &r);
        EXPECT(n == model.kind[kind], "%u records of kind %u of a call", n, kind);
        if (r) {
            EXPECT(r->two[2] <= r->two[3] && r->two[3] + LATE >= api->two[1],
                   "times of kind %u: %lld to %lld ns after its call", kind, (long long)(r->two[2] - api->two[1]),
                   (long long)(r->two[3] - api->two[1]));
            EXPECT(ops[s->op].kind == KERNEL || r->two[1] == SIZE, "its bytes");
            EXPECT(s->op != OP_ASYNC || r->word[10] == t->stream_number, "its stream: %u", r->word[10]);
        }
    }
    for (unsigned other = MEMCPY; other <= MEMSET; other++)
        EXPECT(other == kind || !find(other, number, &r), "a record of kind %u of another call", other);
    n = find(SYNC, number, &r);
    EXPECT(n == (ops[s->op].synchronizes && model.kind[SYNC]) && (!n || r->word[1] == ops[s->op].synchronizes),
           "%u records of waiting", n);
    n = 0;
    for (unsigned i = 0; i < count; i++)
        if (records[i].word[0] == EXTERNAL && correlation_of(&records[i]) == number) {
            const unsigned k = records[i].word[1];
            EXPECT(k >= 1 && k <= NUMBERS && s->depth[k] && records[i].two[1] == s->top[k] &&
                       (beside || &records[i] < api),
                   "external number %u is the last that was pushed", k);
            n++;
        }
    for (int k = 1; k <= NUMBERS; k++)
        n -= model.kind[EXTERNAL] && s->depth[k];
    EXPECT(!n, "%d external numbers too many", (int)n);
}

static void check_thread(const struct thread *t)
{
    unsigned at = 0, before = 0;
    uint64_t begun = 0;
    for (unsigned i = 0; i < t->steps; i++) {
        const struct step *s = &t->step[i];
        if (s->op == OP_RANGE || !api_recorded(ops[s->op].domain, ops[s->op].cbid))
            continue;
        while (at < count &&
               !((records[at].word[0] == DRIVER || records[at].word[0] == RUNTIME) && records[at].word[7] == t->id))
            at++;
        EXPECT(at < count, "a record of call %d", s->op);
        if (at == count)
            return;
        const union record *r = &records[at++];
        EXPECT(r->word[0] == (ops[s->op].domain == 1 ? DRIVER : RUNTIME) && r->word[1] == ops[s->op].cbid &&
                   r->word[6] == (unsigned)getpid() && r->word[9] == (unsigned)s->result,
               "function %u with result %u, not %u with %d", r->word[1], r->word[9], ops[s->op].cbid, s->result);
        EXPECT(r->word[8] > before && r->two[1] >= begun && r->two[2] >= r->two[1], "calls in their order");
        before = r->word[8], begun = r->two[1];
        check_call(t, s, r);
    }
}

static void check_round(unsigned n)
{
    unsigned got[KINDS] = {0}, all = 0;
    size_t dropped = 0;
    memset(wanted, 0, sizeof wanted);
    for (unsigned t = 0; t < n; t++)
        for (unsigned i = 0; i < threads[t].steps; i++)
            expect_of(&threads[t].step[i]);
    for (unsigned i = 0; i < count; i++)
        got[records[i].word[0] % KINDS]++;
    STATUS(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
    for (unsigned k = 0; k < KINDS; k++)
        all += wanted[k];
    if (!model.registered || mode == NONE || mode == SMALL || mode == ODD) {
        EXPECT(!count && dropped == (model.registered ? all : 0), "%u records, %zu dropped of %u", count, dropped, all);
    } else {
        EXPECT(!dropped, "%zu records dropped", dropped);
        for (unsigned k = 0; k < KINDS; k++)
            EXPECT(got[k] == wanted[k], "%u records of kind %u, not %u", got[k], k, wanted[k]);
        for (unsigned t = 0; t < n; t++)
            check_thread(&threads[t]);
    }
    unsigned calls[5][400] = {{0}};
    for (unsigned t = 0; t < n; t++)
        for (unsigned i = 0; i < threads[t].steps; i++) {
            const int op = threads[t].step[i].op;
            if (op != OP_RANGE)
                calls[ops[op].domain][ops[op].cbid]++;
            if (op == OP_STREAM || op == OP_DEVICE)
                calls[4][op == OP_STREAM ? 1 : 2]++;
        }
    for (unsigned d = 1; d < 5; d++)
        for (unsigned c = 0; c < 400; c++) {
            const unsigned want = model.callback[d][c] ? calls[d][c] : 0;
            EXPECT(told[d][c] == want && (d > 2 || returned[d][c] == want), "%u and %u callbacks of %u.%u, not %u",
                   told[d][c], returned[d][c], d, c, want);
        }
}

static void round_of_work(void)
{
    const unsigned n = 1 + UPTO(THREADS);
    pthread_t worker[THREADS], flusher;
    mode = (int)UPTO(2) ? GOOD : (int)UPTO(MODES);
    settings();
    memset(told, 0, sizeof told);
    memset(returned, 0, sizeof returned);
    beside = UPTO(2);
    flushing = true;
    for (unsigned t = 0; t < n; t++) {
        threads[t].steps = 0;
        threads[t].seed = UPTO(1 << 28);
        MUST(pthread_create(&worker[t], NULL, work, &threads[t]));
    }
    if (beside)
        MUST(pthread_create(&flusher, NULL, flush, NULL));
    for (unsigned t = 0; t < n; t++)
        MUST(pthread_join(worker[t], NULL));
    __atomic_store_n(&flushing, false, __ATOMIC_RELEASE);
    if (beside)
        MUST(pthread_join(flusher, NULL));
    MUST(pthread_create(&flusher, NULL, flush, &flushing)); /* by a thread that did nothing else */
    MUST(pthread_join(flusher, NULL));
    read_buffers(!beside);
    check_round(n);
}

int main(int argc, char **argv)
{
    void *module = NULL, *p = NULL;
    seed_of_main = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    MUST(cudaMalloc(&p, 4));
    MUST(cudaFree(p));
    MUST(cuModuleLoadData(&module, ptx));
    MUST(cuModuleGetFunction(&function, module, "add"));
    MUST(cuptiSetThreadIdType(1));
    for (unsigned t = 0; t < THREADS; t++) {
        MUST(cudaStreamCreate(&threads[t].stream));
        MUST(cuptiGetStreamId(NULL, threads[t].stream, &threads[t].stream_number));
    }
    for (int rounds = argc > 2 ? atoi(argv[2]) : 60; rounds--;)
        round_of_work();
    return check_end("CUPTI, drawn");
}
