/* A program of the driver API for run.sh: PTX text loaded, launched, asked about; what it sees, a line each. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cuda.h"
#include "cuda_enums.h"
#include "cuda_functions.h"

typedef unsigned long long ptr;

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 40;\n"
    ".visible .const .align 8 .u64 where = counter;\n"
    ".extern .shared .align 4 .b8 more[];\n"
    /* out[i] = counter + what the block's last thread left in static and dynamic shared memory */
    ".visible .entry both(.param .u64 out, .param .u8 small, .param .u32 add) {\n"
    ".reg .u32 %r<8>; .reg .u64 %d<6>; .reg .u16 %h;\n.shared .align 4 .u32 own;\n"
    "mov.u32 %r0, %tid.x;\nst.shared.u32 [own], 7;\nst.shared.u32 [more], 100;\nbar.sync 0;\n"
    "ld.shared.u32 %r1, [own];\nld.shared.u32 %r2, [more];\nadd.u32 %r1, %r1, %r2;\n"
    "ld.const.u64 %d0, [where];\nld.u32 %r3, [%d0];\nadd.u32 %r1, %r1, %r3;\n"
    "ld.param.u32 %r4, [add];\nadd.u32 %r1, %r1, %r4;\nld.param.u8 %h, [small];\ncvt.u32.u16 %r5, %h;\nadd.u32 %r1, %r1, %r5;\n"
    "ld.param.u64 %d1, [out];\nmul.wide.u32 %d2, %r0, 4;\nadd.u64 %d1, %d1, %d2;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
/* what MUSA has no counterpart of */
static const char refused[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry sizes(.param .u64 surface, .param .u64 out) {\n"
    ".reg .b32 %r; .reg .u64 %d;\nld.param.u64 %d, [surface];\n.reg .u64 %o;\n"
    "suq.width.b32 %r, [%d];\nld.param.u64 %o, [out];\nst.global.u32 [%o], %r;\nret;\n}\n"
    ".visible .entry both(.param .u64 out, .param .u8 small, .param .u32 add) {\n.reg .u64 %o;\n"
    "ld.param.u64 %o, [out];\nst.global.u32 [%o], 77;\nst.global.u32 [%o + 124], 77;\nret;\n}\n";

/* a product of ones */
static const char product[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry both(.param .u64 out, .param .u8 small, .param .u32 add) {\n"
    ".reg .b32 %r<8>; .reg .u64 %d<4>; .reg .f32 %f<5>;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, 0x3c003c00;\n"
    "mov.f32 %f4, 0f00000000;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, "
    "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f4, %f4, %f4, %f4};\ncvt.rzi.u32.f32 %r2, %f0;\n"
    "ld.param.u64 %d1, [out];\nmul.wide.u32 %d2, %r0, 4;\nadd.u64 %d1, %d1, %d2;\nst.global.u32 [%d1], %r2;\nret;\n}\n";

static void *module, *both;

static int load(const char *text)
{
    static char error[512];
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {error, (void *)sizeof error};
    int r = cuModuleLoadDataEx(&module, text, 2, options, values);
    printf("load %d\n", r);
    if (error[0])
        printf("log %s", error);
    return r ? r : cuModuleGetFunction(&both, module, "both");
}

static unsigned last(ptr p)
{
    unsigned v[32] = {0};
    return cuCtxSynchronize() || cuMemcpyDtoH_v2(v, p, sizeof v) ? 0 : v[31];
}

static ptr out;
static int launch(void *stream, unsigned shared, unsigned add)
{
    unsigned char small = 2;
    return cuLaunchKernel(both, 1, 1, 1, 32, 1, 1, shared, stream, (void *[]){&out, &small, &add}, NULL);
}

static void attributes(void)
{
    int fixed = -1, most = -1, blocks = -1, few = -1, threads = -1;
    size_t left = 0;
    cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, both);
    cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, both);
    int set = cuFuncSetAttribute(both, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000);
    int hint = cuFuncSetAttribute(both, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
    int nonsense = cuFuncSetAttribute(both, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101);
    printf("hint %d %d\n", hint, nonsense != 0);
    cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, both);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, both, 256, 4096);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(&few, both, 256, 40000);
    cuOccupancyAvailableDynamicSMemPerBlock(&left, both, 1, 256);
    printf("static %d threads %d set %d most %d fewer %d left %d\n", fixed, threads, set, most, blocks > few && few > 0,
           left > 4096 && left % 4 == 0);
}

/* Arguments in one buffer; then one that is too small for them. */
static void packed(void)
{
    struct {
        ptr out;
        unsigned char small;
        unsigned add;
    } a = {out, 2, 500};
    size_t size = sizeof a, little = 8;
    void *extra[] = {(void *)1, &a, (void *)2, &size, NULL};
    int r = cuLaunchKernel(both, 1, 1, 1, 32, 1, 1, 16, NULL, NULL, extra);
    unsigned value = last(out);
    extra[3] = &little;
    printf("packed %d value %u small %d\n", r, value, cuLaunchKernel(both, 1, 1, 1, 32, 1, 1, 16, NULL, NULL, extra));
}

/* The first launch inside a capture; arguments that are gone when the graph runs. */
static void capture(void)
{
    void *stream, *graph = NULL, *node = NULL, *exec = NULL;
    CUDA_KERNEL_NODE_PARAMS p;
    size_t n = 1;
    cuStreamCreate(&stream, 1);
    cuStreamBeginCapture_v2(stream, 0);
    int launched = launch(stream, 64, 1000);
    int ended = cuStreamEndCapture(stream, &graph);
    cuGraphGetNodes(graph, &node, &n);
    memset(&p, 0, sizeof p);
    int asked = cuGraphKernelNodeGetParams(node, &p);
    int made = cuGraphInstantiateWithFlags(&exec, graph, 0);
    int ran = cuGraphLaunch(exec, stream);
    cuStreamSynchronize(stream);
    printf("capture %d %d nodes %zu asked %d shared %u made %d ran %d value %u\n", launched, ended, n, asked,
           p.v1.shared, made, ran, last(out));
}

static void *one(void *arg)
{
    void *ctx = arg;
    cuCtxSetCurrent(ctx);
    return (void *)(intptr_t)launch(NULL, 16, 1);
}

static void threads(void *ctx)
{
    pthread_t t[8];
    int errors = 0;
    for (int k = 0; k < 8; k++)
        pthread_create(&t[k], NULL, one, ctx);
    for (int k = 0; k < 8; k++) {
        void *r;
        pthread_join(t[k], &r);
        errors += r != NULL;
    }
    printf("threads %d value %u\n", errors, last(out));
}

/* Variables of each context are its own. */
static void devices(void)
{
    void *ctx[2] = {NULL, NULL};
    unsigned value[2], set = 1;
    for (int d = 0; d < 2; d++) {
        int device;
        ptr p = 0;
        size_t size = 0;
        cuDeviceGet(&device, d);
        cuCtxCreate_v2(&ctx[d], 0, device);
        if (d == 0)
            load(ptx);
        cuMemAlloc_v2(&out, 4096);
        cuModuleGetGlobal_v2(&p, &size, module, "counter");
        if (d == 1)
            cuMemcpyHtoD_v2(p, &set, sizeof set);
        launch(NULL, 16, 0);
        value[d] = last(out);
    }
    printf("devices %u %u\n", value[0], value[1]);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int device = 0, mode = -1, r;
    void *ctx;
    if (cuInit(0))
        return 2;
    if (!strcmp(what, "devices")) {
        devices();
        return 0;
    }
    cuDeviceGet(&device, 0);
    cuCtxCreate_v2(&ctx, 0, device);
    cuMemAlloc_v2(&out, 4096);
    if (!strcmp(what, "warp")) {
        cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
        printf("warp %d\n", mode);
    }
    if (!strcmp(what, "limits")) {
        static const int asked[] = {8, 97, 9, 87}; /* shared memory a block, on request; constants; f32 : f64 */
        for (int k = 0; k < 4; k++) {
            r = cuDeviceGetAttribute(&mode, asked[k], 0);
            printf("limit %d %d\n", r, mode);
        }
        return 0;
    }
    if (!strcmp(what, "mode")) {
        cuModuleGetLoadingMode(&mode);
        printf("mode %d\n", mode);
    }
    if ((r = load(!strcmp(what, "refused") ? refused : !strcmp(what, "product") ? product : ptx)) != 0)
        return 1;
    if (!strcmp(what, "refused")) {
        void *sizes = NULL;
        int got = cuModuleGetFunction(&sizes, module, "sizes");
        printf("sizes %d %d\n", got, cuFuncGetAttribute(&mode, CU_FUNC_ATTRIBUTE_NUM_REGS, sizes));
    }
    if (!strcmp(what, "attributes"))
        attributes();
    if (!strcmp(what, "packed"))
        packed();
    if (!strcmp(what, "capture"))
        capture();
    if (!strcmp(what, "threads"))
        threads(ctx);
    if (!strcmp(what, "wide")) {
        void *args[] = {&out, &(unsigned char){0}, &(unsigned){0}};
        printf("wide %d %d\n", cuLaunchKernel(both, 1, 1, 1, 1024, 2, 1, 16, NULL, args, NULL),
               cuLaunchKernel(both, 1, 1, 1, 1u << 31, 1u << 31, 4, 16, NULL, args, NULL));
    }
    r = launch(NULL, 16, 0);
    printf("launch %d value %u\n", r, last(out));
    printf("unload %d\n", cuModuleUnload(module));
    return r != 0;
}
