/* Puts something that uses a buffer on one stream, an all-reduce of it on another, and between them what its
 * arguments say. Usage: race BEFORE BETWEEN [after]; "after" puts the all-reduce first. race captured nothing: all of
 * it in a capture. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "cuda_functions.h"

typedef void *cudaStream_t, *cudaEvent_t, *CUmodule, *CUfunction;
enum { cudaStreamCaptureModeGlobal = 0 };
enum { cudaErrorNotReady = 600, cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
struct pitched {
    void *p;
    size_t pitch, width, height;
};
struct extent {
    size_t width, height, depth;
};
struct copy3d { /* cudaMemcpy3DParms */
    void *from_array;
    struct extent from_at;
    struct pitched from;
    void *to_array;
    struct extent to_at;
    struct pitched to;
    struct extent extent;
    int kind;
};
struct cu_copy2d { /* CUDA_MEMCPY2D */
    size_t from_x, from_y;
    int from_kind;
    const void *from_host;
    unsigned long long from;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_kind;
    void *to_host;
    unsigned long long to;
    void *to_array;
    size_t to_pitch, width, height;
};
struct cu_copy3d { /* CUDA_MEMCPY3D */
    size_t from_x, from_y, from_z, from_lod;
    int from_kind;
    const void *from_host;
    unsigned long long from;
    void *from_array, *none;
    size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
    int to_kind;
    void *to_host;
    unsigned long long to;
    void *to_array, *none_either;
    size_t to_pitch, to_height, width, height, depth;
};
struct format {
    int x, y, z, w, kind;
};
struct cu_config { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared;
    cudaStream_t stream;
    void *attributes;
    unsigned n;
};
enum { HOST = 1, DEVICE = 2 };
int cudaMemset3DAsync(struct pitched, int, struct extent, cudaStream_t);
typedef void *comm_t;
enum { FLOAT = 7, SUM = 0, COUNT = 4096 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry fill(.param .u64 out, .param .u32 n) {\n"
                          " .reg .u64 %a<4>; .reg .u32 %r<4>; .reg .pred %p;\n"
                          " ld.param.u64 %a1, [out]; ld.param.u32 %r1, [n];\n"
                          " mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1;\n"
                          " mul.wide.u32 %a2, %r2, 4; add.s64 %a3, %a1, %a2;\n"
                          " @!%p st.global.u32 [%a3], %r2; ret; }\n";

/* A variable of the program as nvcc's host code registers it (mapping/facts/cuda.md F1): wrapper, container, one entry
 * of PTX text. */
static const char variable_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                   ".visible .global .align 4 .u32 variable[4096];\n";
static struct {
    unsigned magic, version;
    void *data, *prelinked;
} wrapper = {0x466243b1, 1, NULL, NULL};
static struct {
    unsigned magic;
    unsigned short version, header;
    size_t size;
    unsigned short kind, flags;
    unsigned entry_header;
    size_t entry_size;
    unsigned short none[5], minor;
    unsigned arch;
    size_t nothing, what[3];
    char text[sizeof variable_ptx + 7];
} container = {0xba55ed50, 1,      16, sizeof container - 16, 1, 0x101, 64, sizeof container - 80, {0}, 7, 70,
               0,          {0x11}, ""};
static char shadow;

static char *registered(void)
{
    void *address;
    memcpy(container.text, variable_ptx, sizeof variable_ptx);
    wrapper.data = &container;
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterVar(handle, &shadow, "variable", "variable", 0, 4 * COUNT, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return cudaGetSymbolAddress(&address, &shadow) ? NULL : address;
}

static char *x, *y, *host;
static comm_t comm;
static CUfunction fill;

static void use(const char *how, cudaStream_t s)
{
    unsigned n = 32;
    void *args[] = {&x, &n};
    if (!strcmp(how, "kernel"))
        MUST(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
    else if (!strcmp(how, "copy"))
        MUST(cudaMemcpyAsync(x + 100, host, 4, cudaMemcpyHostToDevice, s));
    else if (!strcmp(how, "copy2d"))
        MUST(cudaMemcpy2DAsync(x - 64, 128, host, 16, 16, 2, cudaMemcpyHostToDevice, s));
    else if (!strcmp(how, "memset"))
        MUST(cudaMemsetAsync(x, 0, 4, s));
    else if (!strcmp(how, "memset0")) /* of the device, and so without the host's waiting */
        MUST(cudaMemset(x, 0, 4));
    else if (!strcmp(how, "copy0"))
        MUST(cudaMemcpy(x, host, 4, cudaMemcpyHostToDevice));
    else if (!strcmp(how, "gather"))
        MUST(ncclAllGather(y + COUNT * 4, x, COUNT, FLOAT, comm, s));
    else if (!strcmp(how, "symbol"))
        MUST(cudaMemcpyToSymbolAsync(&shadow, host, 4, 8, cudaMemcpyHostToDevice, s));
    else if (!strcmp(how, "memset2d")) /* the last of its lines */
        MUST(cudaMemset2DAsync(x - 64, 64, 0, 4, 2, s));
    else if (!strcmp(how, "copy3d")) { /* the second of its slices */
        struct copy3d c = {
            .from = {host, 16, 16, 2}, .to = {x - 64, 16, 16, 4}, .extent = {16, 2, 2}, .kind = cudaMemcpyHostToDevice};
        MUST(cudaMemcpy3DAsync(&c, s));
    } else if (!strcmp(how, "memset3d"))
        MUST(cudaMemset3DAsync((struct pitched){x - 64, 16, 16, 4}, 0, (struct extent){16, 2, 2}, s));
    else if (!strcmp(how, "fromarray")) {
        void *array;
        MUST(cudaMallocArray(&array, &(struct format){32, 0, 0, 0, 2}, 16, 16, 0));
        MUST(cudaMemcpy2DFromArrayAsync(x - 64, 128, array, 0, 0, 16, 2, 3, s));
    } else if (!strcmp(how, "cucopy2d")) {
        struct cu_copy2d c = {.from_kind = HOST,
                              .from_host = host,
                              .from_pitch = 16,
                              .to_kind = DEVICE,
                              .to = (size_t)x - 64,
                              .to_y = 1,
                              .to_pitch = 64,
                              .width = 16,
                              .height = 1};
        MUST(cuMemcpy2DAsync_v2(&c, s));
    } else if (!strcmp(how, "cucopy3d")) {
        struct cu_copy3d c = {.from_kind = HOST,
                              .from_host = host,
                              .from_pitch = 16,
                              .from_height = 2,
                              .to_kind = DEVICE,
                              .to = (size_t)x - 64,
                              .to_pitch = 16,
                              .to_height = 4,
                              .width = 16,
                              .height = 2,
                              .depth = 2};
        MUST(cuMemcpy3DAsync_v2(&c, s));
    } else if (!strcmp(how, "words")) /* four bytes each: the last one */
        MUST(cuMemsetD32Async((size_t)x - 60, 0, 16, s));
    else if (!strcmp(how, "halves"))
        MUST(cuMemsetD2D16Async((size_t)x - 62, 128, 0, 32, 1, s));
    else if (!strcmp(how, "peer")) {
        void *context;
        MUST(cuCtxGetCurrent(&context));
        MUST(cuMemcpyPeerAsync((size_t)x, context, (size_t)y + 4 * COUNT, context, 4, s));
    } else if (!strcmp(how, "beside3d")) { /* slices that do not reach it */
        struct copy3d c = {
            .from = {host, 16, 16, 2}, .to = {x - 64, 16, 16, 2}, .extent = {16, 2, 2}, .kind = cudaMemcpyHostToDevice};
        MUST(cudaMemcpy3DAsync(&c, s));
    } else if (!strcmp(how, "read"))
        MUST(cudaMemcpyAsync(host, x, 4, cudaMemcpyDeviceToHost, s));
    else if (!strcmp(how, "messages") || !strcmp(how, "dependent")) { /* the second sends what the first gets */
        bool dependent = !strcmp(how, "dependent");
        MUST(ncclGroupStart());
        MUST(ncclSend(y, 8, FLOAT, 0, comm, s));
        MUST(ncclRecv(y + 64, 8, FLOAT, 0, comm, s));
        MUST(ncclSend(y + (dependent ? 64 : 0), 8, FLOAT, 0, comm, s));
        MUST(ncclRecv(y + 128, 8, FLOAT, 0, comm, s));
        MUST(ncclGroupEnd());
    } else if (!strcmp(how, "blas")) {
        void *blas;
        MUST(cublasCreate_v2(&blas));
        MUST(cublasSetStream_v2(blas, s));
        MUST(cublasSscal_v2(blas, 32, &(float){2}, (float *)x, 1));
    } else if (!strcmp(how, "beside")) { /* the bytes before and after it */
        MUST(cudaMemsetAsync(x + 4 * COUNT, 0, 4, s));
        MUST(cudaMemsetAsync(x - 4, 0, 4, s));
    } else
        exit(2);
}

static void reduce(cudaStream_t s) { MUST(ncclAllReduce(x, y, COUNT, FLOAT, SUM, comm, s)); }

/* A capture goes on, whatever is looked at while it lasts: a blocking stream's, during which it is an error to ask the
 * legacy stream for anything. */
static void captured(void)
{
    cudaStream_t s, side;
    cudaEvent_t e;
    int relaxed = 2;
    void *blas, *graph, *exec, *args[] = {&x, &(unsigned){32}}, *more;
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamDefault));
    MUST(cudaStreamCreateWithFlags(&side, cudaStreamDefault));
    MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    MUST(cublasCreate_v2(&blas));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    MUST(cublasSetWorkspace_v2(blas, y, 4 * COUNT)); /* of a handle whose stream is still the legacy one */
    struct cu_config config = {{1, 1, 1}, {32, 1, 1}, 0, s, NULL, 0};
    MUST(cuLaunchKernelEx(&config, fill, args, NULL));
    for (const char *const *how = (const char *const[]){"kernel", "copy", "memset", "peer", NULL}; *how; how++)
        use(*how, s);
    reduce(s);
    MUST(cudaEventRecord(e, s));
    MUST(cudaStreamWaitEvent(side, e, 0));
    MUST(cublasSetStream_v2(blas, side));
    MUST(cublasSscal_v2(blas, 32, &(float){2}, (float *)x, 1));
    MUST(cudaEventRecord(e, side));
    MUST(cudaStreamWaitEvent(s, e, 0));
    MUST(cuThreadExchangeStreamCaptureMode(&relaxed));
    MUST(cudaMalloc(&more, 64));
    MUST(cudaFree(more));
    MUST(cuThreadExchangeStreamCaptureMode(&relaxed));
    MUST(cudaStreamEndCapture(s, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphLaunch(exec, s));
    MUST(cudaStreamSynchronize(s));
}

static void order(const char *how, cudaStream_t *a, cudaStream_t *b)
{
    cudaEvent_t e, late;
    MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    MUST(cudaEventCreateWithFlags(&late, cudaEventDisableTiming));
    if (!strcmp(how, "event")) {
        MUST(cudaEventRecord(e, *a));
        MUST(cudaStreamWaitEvent(*b, e, 0));
    } else if (!strcmp(how, "host")) {
        MUST(cudaEventRecord(e, *a));
        MUST(cudaEventSynchronize(e));
    } else if (!strcmp(how, "query")) {
        while (cudaStreamQuery(*a) == cudaErrorNotReady)
            ;
    } else if (!strcmp(how, "stream"))
        MUST(cudaStreamSynchronize(*a));
    else if (!strcmp(how, "device"))
        MUST(cudaDeviceSynchronize());
    else if (!strcmp(how, "same"))
        *b = *a;
    else if (!strcmp(how, "other")) /* the wrong stream is waited for */
        MUST(cudaStreamSynchronize(*b));
    else if (!strcmp(how, "unrecorded"))
        MUST(cudaStreamWaitEvent(*b, e, 0));
    else if (strcmp(how, "nothing") && strcmp(how, "legacy") && strcmp(how, "blocking"))
        exit(2);
}

int main(int argc, char **argv)
{
    CUmodule module;
    cudaStream_t a, b;
    if (argc < 3)
        return 2;
    bool legacy = !strcmp(argv[2], "legacy"), blocking = !strcmp(argv[2], "blocking");
    MUST(cudaMalloc((void **)&x, 4 * COUNT + 4096));
    MUST(cudaMalloc((void **)&y, 8 * COUNT));
    MUST(cudaMallocHost((void **)&host, 4096));
    x = strcmp(argv[1], "symbol") ? x + 2048 : registered();
    MUST(cuModuleLoadData(&module, ptx));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    MUST(ncclCommInitAll(&comm, 1, NULL));
    if (!strcmp(argv[1], "captured")) {
        captured();
        printf("done\n");
        return 0;
    }
    /* legacy: a is the default stream, which b, a blocking one, waits for; blocking: two that do not wait
     * for each other. */
    unsigned flags = legacy || blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    MUST(cudaStreamCreateWithFlags(&a, flags));
    MUST(cudaStreamCreateWithFlags(&b, flags));
    if (legacy)
        a = NULL;
    if (argc > 3) {
        reduce(b);
        order(argv[2], &b, &a);
        use(argv[1], a);
    } else {
        use(argv[1], a);
        order(argv[2], &a, &b);
        MUST(ncclGroupStart());
        reduce(b);
        MUST(ncclGroupEnd());
    }
    MUST(cudaDeviceSynchronize());
    MUST(ncclCommDestroy(comm));
    printf("done\n");
    return 0;
}
