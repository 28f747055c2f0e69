/* What CUDA 12.9 and 13 added, and CUDA 3 had: error log, green contexts, ids, core dump settings, clusters,
 * the first launch interface. */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "snippet.h"

/* ---- error log ------------------------------------------------------------------------------- */

static void heard(void *data, int level, char *message, size_t length)
{
    EXPECT(level == 0 || level == 1);
    EXPECT(strlen(message) == length);
    __atomic_fetch_add((unsigned *)data, 1, __ATOMIC_RELAXED);
}

static void fail_loudly(void)
{
    CUmodule m = NULL;
    EXPECT(C(cuModuleLoadData)(&m, "junk of a program") != 0);
}

static void error_log(void)
{
    static const char word[] = "cumu";
    char file[] = "/tmp/cumu-log-XXXXXX", text[25600 + 64] = "", small[300];
    unsigned calls = 0, more = 0, start = 0, end = 0;
    void *handle = NULL, *other = NULL;
    size_t size = sizeof text;
    OK(C(cuLogsCurrent)(&start, 0));
    OK(C(cuLogsRegisterCallback)((void *)heard, &calls, &handle));
    OK(C(cudaLogsRegisterCallback)((void *)heard, &more, &other));
    fail_loudly(); /* the logger says it ten times at most */
    OK(C(cuLogsUnregisterCallback)(handle));
    OK(C(cudaLogsUnregisterCallback)(other));
    IS(C(cuLogsUnregisterCallback)(&calls), CUDA_ERROR_INVALID_VALUE);
    OK(C(cudaLogsCurrent)(&end, 0));
    EXPECT(end >= start);
    unsigned from = start;
    OK(C(cuLogsDumpToMemory)(&from, text, &size, 0));
    EXPECT(strlen(text) == size && (size == 0 || strstr(text, word)) && from >= end);
    size = sizeof text;
    OK(C(cudaLogsDumpToMemory)(NULL, text, &size, 0));
    EXPECT(size > 0 && text[size - 1] == '\n' && strstr(text, word));
    size_t whole = size;
    size = sizeof small;
    if (whole >= sizeof small && C(cuLogsDumpToMemory)(NULL, small, &size, 0) == 0)
        EXPECT(size < sizeof small && small[size] == 0 && small[size - 1] == '\n');
    IS(C(cuLogsDumpToMemory)(NULL, NULL, &size, 0), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuLogsCurrent)(&end, 1), CUDA_ERROR_INVALID_VALUE);
    int fd = mkstemp(file);
    EXPECT(fd >= 0);
    OK(C(cuLogsDumpToFile)(NULL, file, 0));
    EXPECT(lseek(fd, 0, SEEK_END) > 0);
    from = end;
    OK(C(cudaLogsDumpToFile)(&from, file, 0));
    IS(C(cuLogsDumpToFile)(NULL, "/nonexistent/file", 0), CUDA_ERROR_INVALID_VALUE);
    close(fd);
    unlink(file);
}

/* ---- green contexts ---------------------------------------------------------------------------- */

struct resource {
    int type;
    char pad[92];
    unsigned count, least, align, flags;
    char rest[32];
};
_Static_assert(sizeof(struct resource) == 144, "CUdevResource");

static void streams_of(void *green, void *ctx)
{
    CUstream s = NULL;
    void *of = NULL;
    CUcontext in = NULL;
    struct MUevent_st *e = NULL;
    struct resource r = {0};
    int device = -1;
    IS(C(cuGreenCtxStreamCreate)(&s, green, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuGreenCtxStreamCreate)(&s, green, 1, 0));
    OK(C(cuStreamGetGreenCtx)(s, &of));
    EXPECT(of == green);
    of = NULL;
    OK(C(cuStreamGetCtx_v2)(s, &in, &of));
    EXPECT(of == green && (void *)in == ctx);
    OK(C(cuStreamGetDevice)(s, &device));
    IS(device, 0);
    OK(C(cudaStreamGetDevResource)(s, &r, 1));
    EXPECT(r.type == 1 && r.count == 1);
    OK(M(cuStreamDestroy_v2, muStreamDestroy_v2)((MUstream)s));
    OK(M(cuEventCreate, muEventCreate)(&e, 0));
    OK(C(cuGreenCtxRecordEvent)(green, (CUevent)e));
    OK(C(cuGreenCtxWaitEvent)(green, (CUevent)e));
    OK(C(cuCtxRecordEvent)(in, (CUevent)e));
    OK(C(cuCtxWaitEvent)(NULL, (CUevent)e));
    OK(C(cudaExecutionCtxRecordEvent)(green, (CUevent)e));
    OK(C(cudaExecutionCtxWaitEvent)(green, (CUevent)e));
    OK(M(cuEventDestroy_v2, muEventDestroy_v2)(e));
}

static void green_contexts(void)
{
    struct resource all, one[2], rest, again;
    void *desc = NULL, *green = NULL, *other = NULL, *whole = NULL, *same = NULL, *of = &all;
    CUcontext ctx = NULL, current = NULL;
    CUstream s = NULL;
    unsigned n = 1;
    unsigned long long id = 0, id2 = 0;
    int device = -1;
    OK(C(cuDeviceGetDevResource)(0, &all, 1));
    EXPECT(all.type == 1 && all.count >= 1 && all.least >= 1);
    IS(C(cuDeviceGetDevResource)(0, &all, 1000), CUDA_ERROR_INVALID_RESOURCE_TYPE);
    OK(C(cuCtxGetDevResource)(NULL, &again, 1));
    EXPECT(!memcmp(&all, &again, sizeof all));
    OK(C(cudaDeviceGetDevResource)(0, &again, 1));
    EXPECT(!memcmp(&all, &again, sizeof all));
    OK(C(cuDevSmResourceSplitByCount)(NULL, &n, &all, NULL, 0, 1));
    IS(n, all.count);
    n = 1;
    OK(C(cudaDevSmResourceSplitByCount)(one, &n, &all, &rest, 0, 1));
    EXPECT(n == 1 && one[0].count == 1 && rest.count == all.count - 1 && rest.type == (all.count > 1));
    IS(C(cuDevSmResourceSplitByCount)(one, &n, &all, NULL, 0, all.count + 1),
       CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    IS(C(cuDevSmResourceSplitByCount)(one, NULL, &all, NULL, 0, 1), CUDA_ERROR_INVALID_VALUE);
    struct {
        unsigned count, more[15];
    } group = {0, {0}};
    OK(C(cudaDevSmResourceSplit)(&again, 1, &all, &rest, 0, &group));
    EXPECT(group.count == all.count && again.count == all.count && rest.type == 0);
    OK(C(cuDevResourceGenerateDesc)(&desc, one, 1));
    IS(C(cuGreenCtxCreate)(&green, desc, 0, 0), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuGreenCtxCreate)(&green, &all, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuGreenCtxCreate)(&green, desc, 0, 1));
    OK(C(cudaDevResourceGenerateDesc)(&desc, &all, 1));
    OK(C(cudaGreenCtxCreate)(&other, desc, 0, 0));
    OK(C(cuGreenCtxGetDevResource)(green, &again, 1));
    EXPECT(again.count == 1);
    OK(C(cudaExecutionCtxGetDevResource)(other, &again, 1));
    IS(again.count, all.count);
    OK(C(cuGreenCtxGetId)(green, &id));
    OK(C(cudaExecutionCtxGetId)(other, &id2));
    EXPECT(id && id2 && id != id2);
    OK(C(cudaExecutionCtxGetDevice)(&device, other));
    IS(device, 0);
    OK(C(cuCtxFromGreenCtx)(&ctx, green));
    OK(M(cuCtxGetCurrent, muCtxGetCurrent)((void *)&current));
    EXPECT(ctx == current);
    streams_of(green, ctx);
    OK(C(cudaExecutionCtxStreamCreate)(&s, other, 0, 0));
    OK(C(cudaExecutionCtxSynchronize)(other));
    OK(M(cuStreamDestroy_v2, muStreamDestroy_v2)((MUstream)s));
    OK(C(cuStreamGetGreenCtx)(NULL, &of));
    EXPECT(of == NULL);
    OK(C(cuStreamGetCtx_v2_ptsz)(NULL, &ctx, &of));
    OK(C(cuStreamGetDevice_ptsz)(NULL, &device));
    OK(C(cudaStreamGetDevResource_ptsz)(NULL, &again, 1));
    IS(again.count, all.count);
    OK(C(cudaDeviceGetExecutionCtx)(&whole, 0));
    OK(C(cudaDeviceGetExecutionCtx)(&same, 0));
    EXPECT(whole == same && whole != green);
    EXPECT(C(cudaExecutionCtxDestroy)(whole) != 0);
    OK(C(cudaExecutionCtxDestroy)(other));
    OK(C(cuGreenCtxDestroy)(green));
    IS(C(cuCtxFromGreenCtx)(&ctx, NULL), CUDA_ERROR_INVALID_CONTEXT);
    IS(C(cudaExecutionCtxSynchronize)(&all), cudaErrorInvalidResourceHandle);
    (void)C(cudaGetLastError)();
}

/* ---- ids, settings ----------------------------------------------------------------------------- */

static void ids(void)
{
    unsigned long long a = 0, b = 0, tools = 0, handle = 0;
    unsigned g1 = 0, g2 = 0, x1 = 0, n1 = 0;
    void *graph = NULL, *graph2 = NULL, *exec = NULL, *node = NULL;
    OK(C(cuCtxGetId)(NULL, &a));
    OK(C(cuCtxGetId)(NULL, &b));
    EXPECT(a && a == b);
    OK(M(cuGraphCreate, muGraphCreate)((void *)&graph, 0));
    OK(M(cuGraphCreate, muGraphCreate)((void *)&graph2, 0));
    OK(M(cuGraphAddEmptyNode, muGraphAddEmptyNode)((void *)&node, graph, NULL, 0));
    OK(C(cuGraphInstantiateWithFlags)((void *)&exec, graph, 0));
    OK(C(cudaGraphGetId)(graph, &g1));
    OK(C(cudaGraphGetId)(graph2, &g2));
    OK(C(cudaGraphExecGetId)(exec, &x1));
    OK(C(cudaGraphNodeGetLocalId)(node, &n1));
    OK(C(cudaGraphNodeGetToolsId)(node, &tools));
    EXPECT(g1 && g2 && g1 != g2 && x1 && n1 && tools);
    EXPECT(C(cudaGraphGetId)(NULL, &g1) != 0);
    IS(C(cudaGraphNodeGetToolsId)(node, NULL), cudaErrorInvalidValue);
    IS(C(cudaGraphConditionalHandleCreate_v2)(&handle, graph2, NULL, 0, 0),
       snippet_below("musaGraphConditionalHandleCreate") ? cudaSuccess : cudaErrorNotSupported);
    EXPECT(C(cudaGraphConditionalHandleCreate_v2)(&handle, graph2, &handle, 0, 0) != 0);
    OK(C(cuGraphExecDestroy)(exec));
    OK(C(cuGraphDestroy)(graph));
    OK(C(cuGraphDestroy)(graph2));
    (void)C(cudaGetLastError)();
}

static void settings(void)
{
    bool on = true;
    char name[1024] = "";
    size_t size = 0;
    unsigned flags = 0;
    int state = -1, value = -1;
    struct {
        int type;
        unsigned count;
    } affinity = {-1, 0};
    OK(C(cuCoredumpGetAttributeGlobal)(1, NULL, &size));
    IS(size, 1);
    OK(C(cuCoredumpGetAttribute)(1, &on, &size));
    EXPECT(!on);
    OK(C(cuCoredumpSetAttribute)(3, &on, &size));
    OK(C(cuCoredumpSetAttributeGlobal)(4, &on, &size));
    IS(C(cuCoredumpSetAttribute)(4, &on, &size), CUDA_ERROR_NOT_PERMITTED);
    size = sizeof name;
    OK(C(cuCoredumpGetAttribute)(5, name, &size));
    EXPECT(strncmp(name, "core", 4) == 0);
    IS(C(cuCoredumpGetAttribute)(99, name, &size), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuCoredumpGetAttribute)(1, &on, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuCheckpointProcessGetState)((int)getpid(), &state));
    IS(state, 0);
    IS(C(cuCheckpointProcessGetState)(-5, &state), CUDA_ERROR_INVALID_VALUE);
    OK(M(cuCtxGetFlags, muCtxGetFlags)(&flags));
    OK(C(cuCtxSetFlags)(flags));
    EXPECT(C(cuCtxSetFlags)(0xffff) != 0);
    OK(C(cuDeviceGetExecAffinitySupport)(&value, 0, 0));
    IS(value, 0);
    OK(C(cuCtxGetExecAffinity)(&affinity, 0));
    EXPECT(affinity.type == 0 && affinity.count >= 1);
    double d = 1;
    OK(ONLY(12, cudaSetDoubleForDevice)(&d));
    OK(ONLY(12, cudaSetDoubleForHost)(&d));
    EXPECT(d == 1);
    OK(ONLY(11, cudaProfilerInitialize)("a", "b", 0));
}

/* ---- launches ---------------------------------------------------------------------------------- */

static void launches(void)
{
    CUmodule m = NULL;
    CUfunction k = NULL;
    unsigned long long out = 0;
    unsigned host[SNIPPET_THREADS];
    OK(C(cuModuleLoadData)(&m, snippet_ptx));
    OK(C(cuModuleGetFunction)(&k, m, "k"));
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&out, sizeof host));
    IS(C(cuLaunch)(k), CUDA_ERROR_INVALID_VALUE); /* no block shape yet */
    OK(C(cuFuncSetBlockShape)(k, SNIPPET_THREADS, 1, 1));
    OK(C(cuFuncSetSharedSize)(k, 0));
    OK(C(cuParamSetSize)(k, 12));
    OK(C(cuParamSetv)(k, 0, &out, sizeof out));
    float as_float;
    unsigned add = 11;
    memcpy(&as_float, &add, sizeof add);
    for (int way = 0; way < 3; way++) {
        if (way)
            OK(C(cuParamSeti)(k, 8, 11));
        else
            OK(C(cuParamSetf)(k, 8, as_float));
        OK(M(cuMemsetD8_v2, muMemsetD8_v2)(out, 0, sizeof host));
        OK(way == 0 ? C(cuLaunch)(k) : way == 1 ? C(cuLaunchGrid)(k, 1, 1) : C(cuLaunchGridAsync)(k, 1, 1, NULL));
        OK(M(cuMemcpyDtoH_v2, muMemcpyDtoH_v2)(host, out, sizeof host));
        for (unsigned i = 0; i < SNIPPET_THREADS; i++)
            EXPECT(host[i] == i * 3 + 11);
    }
    IS(C(cuParamSetv)(k, 4090, &out, 8), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuParamSetSize)(k, 5000), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuFuncSetBlockShape)(k, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuLaunch)(NULL), CUDA_ERROR_INVALID_HANDLE);

    int n = 0;
    CUlaunchAttribute two = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .val.clusterDim = {2, 1, 1}};
    CUlaunchConfig c = {4, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, NULL, 0};
    cudaLaunchConfig_t rc = {{4, 1, 1}, {SNIPPET_THREADS, 1, 1}, 0, NULL, NULL, 0};
    OK(C(cuOccupancyMaxActiveClusters)(&n, k, &c));
    EXPECT(n >= 1);
    OK(C(cuOccupancyMaxPotentialClusterSize)(&n, k, &c));
    IS(n, 1);
    OK(C(cudaOccupancyMaxActiveClusters)(&n, k, &rc));
    EXPECT(n >= 1);
    OK(C(cudaOccupancyMaxPotentialClusterSize)(&n, k, &rc));
    IS(n, 1);
    c.attrs = &two;
    c.numAttrs = 1;
    IS(C(cuOccupancyMaxActiveClusters)(&n, k, &c), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(M(cuMemFree_v2, muMemFree_v2)(out));
    OK(C(cuModuleUnload)(m));
}

/* ---- tensor maps ------------------------------------------------------------------------------- */

/* Rows of 256 bytes of f16, boxes of 64 by 8; MUSA devices have no maps of this form. */
static void tensor_maps(void)
{
    enum { F16 = 6, SWIZZLE_128B = 3, ZERO = 0 };
    static uint8_t memory[4096] __attribute__((aligned(64)));
    uint64_t map[17] __attribute__((aligned(64))) = {[16] = 77}, dim[] = {128, 16, 2, 2}, stride[] = {256, 2048, 4096};
    uint32_t box[] = {64, 8, 1, 1}, step[] = {1, 1, 1, 1}, large[] = {264, 1, 1, 1}, none[] = {0, 1, 1, 1};
    int lower[] = {-1, -1}, upper[] = {0, 1}, far[] = {-200, 0};
    void *p = memory;
    int err = C(cuTensorMapEncodeTiled)(map, F16, 2, p, dim, stride, box, step, 0, SWIZZLE_128B, 2, ZERO);
    EXPECT(err == CUDA_SUCCESS || err == CUDA_ERROR_NOT_SUPPORTED);
    IS(C(cuTensorMapEncodeIm2col)(map, F16, 4, p, dim, stride, lower, upper, 64, 9, step, 0, SWIZZLE_128B, 0, ZERO),
       err);
    IS(C(cuTensorMapEncodeIm2colWide)(map, F16, 4, p, dim, stride, -1, 1, 64, 9, step, 0, 0, SWIZZLE_128B, 0, ZERO),
       err);
    IS(C(cuTensorMapEncodeTiled)(map, F16, 2, NULL, dim, stride, box, step, 0, SWIZZLE_128B, 2, ZERO), err);
    IS(C(cuTensorMapReplaceAddress)(map, memory + 1024), err ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
    IS(C(cuTensorMapReplaceAddress)(map, memory + 8), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuTensorMapReplaceAddress)(NULL, memory), CUDA_ERROR_INVALID_VALUE);
    EXPECT(map[16] == 77);
#define TILED(map, type, rank, p, dim, stride, box, step, interleave, swizzle, fill) \
    IS(C(cuTensorMapEncodeTiled)(map, type, rank, p, dim, stride, box, step, interleave, swizzle, 0, fill), \
       CUDA_ERROR_INVALID_VALUE)
    TILED(NULL, F16, 2, p, dim, stride, box, step, 0, 0, 0);
    TILED((char *)map + 8, F16, 2, p, dim, stride, box, step, 0, 0, 0);
    TILED(map, 16, 2, p, dim, stride, box, step, 0, 0, 0);
    TILED(map, F16, 0, p, dim, stride, box, step, 0, 0, 0);
    TILED(map, F16, 6, p, dim, stride, box, step, 0, 0, 0);
    TILED(map, F16, 2, memory + 8, dim, stride, box, step, 0, 0, 0);
    TILED(map, F16, 2, p, dim, stride, large, step, 0, 0, 0);
    TILED(map, F16, 2, p, dim, stride, none, step, 0, 0, 0);
    TILED(map, F16, 2, p, dim, stride, box, none, 0, 0, 0);
    TILED(map, F16, 2, p, dim, stride, box, step, 0, 1, 0); /* 128 bytes in lines of 32 */
    TILED(map, F16, 2, p, dim, stride, box, step, 1, 0, 0); /* interleaved, and only two dimensions */
    TILED(map, F16, 2, p, dim, stride, box, step, 0, 7, 0);
    TILED(map, 1, 2, p, dim, stride, box, step, 0, 0, 1); /* integers know no NaN */
    dim[1] = 0;
    TILED(map, F16, 2, p, dim, stride, box, step, 0, 0, 0);
    dim[1] = 16;
    stride[0] = 250;
    TILED(map, F16, 2, p, dim, stride, box, step, 0, 0, 0);
    stride[0] = 256;
    IS(C(cuTensorMapEncodeIm2col)(map, F16, 4, p, dim, stride, far, upper, 64, 9, step, 0, 3, 0, 0),
       CUDA_ERROR_INVALID_VALUE);
    IS(C(cuTensorMapEncodeIm2col)(map, F16, 4, p, dim, stride, lower, upper, 64, 1025, step, 0, 3, 0, 0),
       CUDA_ERROR_INVALID_VALUE);
    IS(C(cuTensorMapEncodeIm2colWide)(map, F16, 4, p, dim, stride, -1, 1, 64, 9, step, 0, 2, 3, 0, 0),
       CUDA_ERROR_INVALID_VALUE);
}

void snippet_newer(void)
{
    OK(M(cudaFree, musaFree)(NULL));
    tensor_maps();
    error_log();
    green_contexts();
    ids();
    settings();
    launches();
}
