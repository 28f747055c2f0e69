/* Threads are cancelled at random moments inside CUDA calls of all kinds; after each the main thread makes the same
 * calls and looks at their results. Usage: cancel ROUNDS [new]; "new" compiles a kernel of its own for each launch.
 * Linked with the facades of libcuda.so.1, libnccl.so.2 and libcublas.so.13. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_functions.h"

typedef struct {
    int type, id;
} location;
typedef struct {
    int type, handles;
    location where;
    void *metadata;
    unsigned char flags[8];
} memory_prop;
typedef struct {
    location where;
    int flags;
} memory_access;
typedef struct {
    void *func;
    unsigned grid[3], block[3], shared;
    void **args, **extra;
} kernel_node; /* CUDA 11's */
typedef struct {
    uint64_t dst;
    size_t pitch;
    unsigned value, size;
    size_t width, height;
} memset_node;
typedef uint64_t ptr;

enum { N = 512, VMM = 2 << 20, LARGE = 3 << 20, ORDER = 64, FLOAT = 7, SUM = 0, VICTIMS = 3, PATIENCE = 20 };

/* add(p): p[i] += %u, and the first thread prints a line. */
static const char source[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n"
    ".global .align 1 .b8 text[8] = {112, 114, 105, 110, 116, 10, 0};\n"
    ".visible .entry add(.param .u64 p) {\n"
    " .reg .b64 %%d<5>; .reg .b32 %%r<6>; .reg .pred %%q;\n"
    " ld.param.u64 %%d1, [p]; mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x;\n"
    " mad.lo.s32 %%r1, %%r1, %%r2, %%r3; mul.wide.s32 %%d2, %%r1, 4; add.s64 %%d1, %%d1, %%d2;\n"
    " ld.global.u32 %%r4, [%%d1]; add.u32 %%r4, %%r4, %u; st.global.u32 [%%d1], %%r4;\n"
    " setp.ne.s32 %%q, %%r1, 0; @%%q bra out; cvta.global.u64 %%d3, text; mov.u64 %%d4, 0;\n"
    " { .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %%d3; st.param.b64 [v], %%d4;\n"
    "   call.uni (r), vprintf, (f, v); }\n"
    "out: ret; }\n";

static void *context[2];
static bool compile_new;
static _Atomic unsigned kernels;                    /* texts so far: each adds another value */
static _Atomic(const char *) at = "the first call"; /* what the main thread does, for the watchdog */
static _Atomic unsigned long checked;

#define TRY(call) \
    do { \
        int e_ = (call); \
        if (e_) \
            return printf("%s: %d\n", #call, e_), false; \
    } while (0)

static bool all(ptr p, unsigned want)
{
    unsigned host[N];
    TRY(cuMemcpyDtoH_v2(host, p, sizeof host));
    for (int i = 0; i < N; i++)
        if (host[i] != want)
            return printf("[%d] is %u, not %u\n", i, host[i], want), false;
    return true;
}

static bool memory(void)
{
    ptr p;
    TRY(cuMemAlloc_v2(&p, LARGE));
    TRY(cuMemsetD32_v2(p, 7, N));
    bool ok = all(p, 7);
    TRY(cuMemFree_v2(p));
    return ok;
}

static bool copies(void)
{
    static const char from[LARGE];
    ptr p;
    TRY(cuMemAlloc_v2(&p, LARGE));
    TRY(cuMemcpyHtoD_v2(p, from, LARGE));
    bool ok = all(p, 0);
    TRY(cuMemFree_v2(p));
    return ok;
}

static bool mappings(void)
{
    memory_prop prop = {.type = 1, .where = {1, 0}};
    memory_access access = {{1, 0}, 3};
    uint64_t handle;
    ptr va;
    TRY(cuMemAddressReserve(&va, VMM, 0, 0, 0));
    TRY(cuMemCreate(&handle, VMM, &prop, 0));
    TRY(cuMemMap(va, VMM, 0, handle, 0));
    TRY(cuMemSetAccess(va, VMM, &access, 1));
    TRY(cuMemsetD32_v2(va, 9, N));
    bool ok = all(va, 9);
    TRY(cuMemUnmap(va, VMM));
    TRY(cuMemRelease(handle));
    TRY(cuMemAddressFree(va, VMM));
    return ok;
}

static void mark(void *arg) { *(_Atomic int *)arg = 1; }

static bool streams(void)
{
    unsigned host[N] = {0};
    void *stream, *event;
    _Atomic int marked = 0;
    ptr p;
    TRY(cuStreamCreate(&stream, 1));
    TRY(cuEventCreate(&event, 0));
    TRY(cuMemAllocAsync(&p, sizeof host, stream));
    TRY(cuMemsetD32Async(p, 5, N, stream));
    TRY(cuMemcpyDtoHAsync_v2(host, p, sizeof host, stream));
    TRY(cuLaunchHostFunc(stream, mark, (void *)&marked));
    TRY(cuMemFreeAsync(p, stream));
    TRY(cuEventRecord(event, stream));
    TRY(cuEventSynchronize(event));
    TRY(cuStreamSynchronize(stream));
    TRY(cuEventDestroy_v2(event));
    TRY(cuStreamDestroy_v2(stream));
    return marked && host[0] == 5 && host[N - 1] == 5;
}

static bool load(void **module, void **kernel, unsigned *value)
{
    char text[sizeof source + 16];
    *value = compile_new ? ++kernels : 3;
    snprintf(text, sizeof text, source, *value);
    TRY(cuModuleLoadData(module, text));
    TRY(cuModuleGetFunction(kernel, *module, "add"));
    return true;
}

static bool launches(void)
{
    void *module, *kernel;
    unsigned value;
    ptr p;
    if (!load(&module, &kernel, &value))
        return false;
    TRY(cuMemAlloc_v2(&p, N * sizeof(unsigned)));
    TRY(cuMemsetD32_v2(p, 1, N));
    TRY(cuLaunchKernel(kernel, N / 128, 1, 1, 128, 1, 1, 0, NULL, (void *[]){&p}, NULL));
    TRY(cuCtxSynchronize());
    bool ok = all(p, 1 + value);
    TRY(cuMemFree_v2(p));
    TRY(cuModuleUnload(module));
    return ok;
}

static bool graphs(void)
{
    void *module, *kernel, *graph, *exec, *nodes[2];
    unsigned value;
    ptr p;
    if (!load(&module, &kernel, &value))
        return false;
    TRY(cuMemAlloc_v2(&p, N * sizeof(unsigned)));
    TRY(cuGraphCreate(&graph, 0));
    memset_node zero = {.dst = p, .size = 4, .value = 2, .width = N, .height = 1};
    kernel_node add = {kernel, {N / 128, 1, 1}, {128, 1, 1}, 0, (void *[]){&p}, NULL};
    TRY(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &zero, context[0]));
    TRY(cuGraphAddKernelNode(&nodes[1], graph, nodes, 1, &add));
    TRY(cuGraphInstantiateWithFlags(&exec, graph, 0));
    TRY(cuGraphLaunch(exec, NULL));
    TRY(cuCtxSynchronize());
    bool ok = all(p, 2 + value);
    TRY(cuGraphExecDestroy(exec));
    TRY(cuGraphDestroy(graph));
    TRY(cuMemFree_v2(p));
    TRY(cuModuleUnload(module));
    return ok;
}

/* Streams of its own: two communicators on one stream would have to come in the same order on both devices. */
static bool collectives(void)
{
    void *comm[2], *stream[2];
    float host[N] = {0};
    ptr p[2];
    TRY(ncclCommInitAll(comm, 2, NULL));
    for (int i = 0; i < 2; i++) {
        TRY(cuCtxSetCurrent(context[i]));
        TRY(cuStreamCreate(&stream[i], 1));
        TRY(cuMemAlloc_v2(&p[i], sizeof host));
        TRY(cuMemsetD32Async(p[i], 0x3f800000, N, stream[i]));
    }
    TRY(ncclGroupStart());
    for (int i = 0; i < 2; i++)
        TRY(ncclAllReduce((void *)p[i], (void *)p[i], N, FLOAT, SUM, comm[i], stream[i]));
    TRY(ncclGroupEnd());
    for (int i = 2; i-- > 0;) {
        TRY(cuCtxSetCurrent(context[i]));
        TRY(cuStreamSynchronize(stream[i]));
        TRY(cuMemcpyDtoH_v2(host, p[i], sizeof host));
        TRY(cuStreamDestroy_v2(stream[i]));
        TRY(ncclCommDestroy(comm[i]));
        TRY(cuMemFree_v2(p[i]));
    }
    return host[0] == 2 && host[N - 1] == 2;
}

static bool products(void)
{
    static float ones[ORDER * ORDER];
    float one = 1, zero = 0, host[ORDER * ORDER];
    void *blas;
    ptr p[2];
    TRY(cublasCreate_v2(&blas));
    for (int i = 0; i < 2; i++) {
        TRY(cuMemAlloc_v2(&p[i], sizeof ones));
        TRY(cuMemsetD32_v2(p[i], 0x3f800000, ORDER * ORDER));
    }
    for (int i = 0; i < 20; i++)
        TRY(cublasSgemm_v2(blas, 0, 0, ORDER, ORDER, ORDER, &one, (float *)p[0], ORDER, (float *)p[0], ORDER, &zero,
                           (float *)p[1], ORDER));
    TRY(cuMemcpyDtoH_v2(host, p[1], sizeof host));
    for (int i = 0; i < 2; i++)
        TRY(cuMemFree_v2(p[i]));
    TRY(cublasDestroy_v2(blas));
    return host[0] == ORDER && host[ORDER * ORDER - 1] == ORDER;
}

static const struct {
    const char *name;
    bool (*run)(void);
} mix[] = {{"memory", memory},     {"copies", copies}, {"mappings", mappings},       {"streams", streams},
           {"launches", launches}, {"graphs", graphs}, {"collectives", collectives}, {"products", products}};
enum { KINDS = sizeof mix / sizeof *mix };

/* Its own calls are the only places where it may end: what it began there it brings to an end. */
static void *victim(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    (void)cuCtxSetCurrent(context[0]);
    for (;;) {
        (void)mix[rand_r(&seed) % KINDS].run();
        pthread_testcancel();
    }
    return NULL;
}

/* The calls are made by a thread of its own, so that a process that hangs still says where. */
static void *watch(void *unused)
{
    (void)unused;
    for (unsigned long before = ~0ul; before != checked; sleep(PATIENCE))
        before = checked;
    printf("not ok %s does not end\n", at);
    fflush(stdout);
    _exit(1);
}

static void pause_us(unsigned us)
{
    struct timespec t = {0, (long)us * 1000};
    nanosleep(&t, NULL);
}

static bool look(void)
{
    for (int i = 0; i < KINDS; i++, checked++) {
        at = mix[i].name;
        if (!mix[i].run())
            return printf("not ok %s after a thread was cancelled\n", mix[i].name), false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned seed = 1;
    size_t before, after, total;
    pthread_t watcher, threads[VICTIMS];
    compile_new = argc > 2 && !strcmp(argv[2], "new");
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context[1], 1) || cuDevicePrimaryCtxRetain(&context[0], 0) ||
        cuCtxSetCurrent(context[0]))
        return puts("not ok no two devices"), 1;
    pthread_create(&watcher, NULL, watch, NULL);
    if (!look() || cuMemGetInfo_v2(&before, &total))
        return 1;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < VICTIMS; i++)
            pthread_create(&threads[i], NULL, victim, (void *)(uintptr_t)rand_r(&seed));
        for (int i = 0; i < VICTIMS; i++) {
            pause_us((unsigned)rand_r(&seed) % 1500);
            pthread_cancel(threads[i]);
        }
        for (int i = 0; i < VICTIMS; i++, checked++) {
            at = "a cancelled thread";
            pthread_join(threads[i], NULL);
        }
        if (!look())
            return 1;
    }
    if (cuMemGetInfo_v2(&after, &total) || after != before)
        return printf("not ok %zu bytes are left over\n", before - after), 1;
    puts("done");
    return 0;
}
