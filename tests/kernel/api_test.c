/* Wrappers over a mock MUSA library: what CUDA programs of each version are given, byte for byte. */
#include <string.h>

#include "api/api.h"
#include "cuda_structs.h"
#include "mock.h"
#include "wraps.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static void launches(void)
{
    static const char text[] = HEAD ".visible .entry k(.param .u32 n)\n{\n ret;\n}\n";
    struct cumu_module *m = NULL;
    struct cumu_func *f = NULL;
    int n = 1;
    void *args[] = {&n};
    dim3 g = {3, 2, 1}, b = {64, 1, 1}, zero = {0, 1, 1}, huge = {2048, 1, 1};
    check(wrap_cuModuleLoadData(&m, text) == 0 && wrap_cuModuleGetFunction(&f, m, "k") == 0, "module");
    check(wrap___cudaLaunchKernel(f, g, b, args, 128, (cudaStream_t)0x77) == 0 && mock_last.grid[0] == 3 &&
              mock_last.grid[1] == 2 && mock_last.block[0] == 64 && mock_last.shared == 128 &&
              mock_last.stream == (MUstream)0x77,
          "arguments arrive");
    check(wrap_cudaLaunchKernel_ptsz(f, g, b, args, 0, NULL) == 0 &&
              mock_last.stream == (MUstream)CUMU_STREAM_PER_THREAD,
          "stream 0 of the per-thread form");
    check(wrap_cudaLaunchCooperativeKernel(f, g, b, args, 0, NULL) == 0 && mock_last.cooperative, "cooperative");
    cudaLaunchAttribute attr = {.id = cudaLaunchAttributeCooperative};
    attr.val.cooperative = 1;
    cudaLaunchConfig_t c = {g, b, 16, (cudaStream_t)0x99, &attr, 1};
    check(wrap_cudaLaunchKernelExC(&c, f, args) == 0 && mock_last.cooperative && mock_last.shared == 16,
          "launch attributes");
    attr.id = cudaLaunchAttributeClusterDimension;
    attr.val.clusterDim.x = 2;
    attr.val.clusterDim.y = attr.val.clusterDim.z = 1;
    check(wrap_cudaLaunchKernelExC(&c, f, args) == cudaErrorNotSupported, "clusters");
    check(wrap_cudaGetLastError() == cudaErrorNotSupported && wrap_cudaGetLastError() == 0, "last error");
    mock_launch_error = MUSA_ERROR_INVALID_VALUE;
    check(wrap_cudaLaunchKernel(f, zero, b, args, 0, NULL) == cudaErrorInvalidConfiguration, "empty grid");
    check(wrap_cudaLaunchKernel(f, g, huge, args, 0, NULL) == cudaErrorInvalidConfiguration, "huge block");
    check(wrap_cudaLaunchKernel(f, g, b, args, 0, NULL) == cudaErrorInvalidValue, "another bad value");
    check(wrap_cudaPeekAtLastError() == cudaErrorInvalidValue, "peek");
    wrap_cudaGetLastError();
    mock_launch_error = 0;
    check(wrap_cudaLaunchKernel(&n, g, b, args, 0, NULL) == cudaErrorInvalidDeviceFunction, "not a kernel");
    check(wrap_cuLaunchKernel((CUfunction)(void *)&n, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) ==
              CUDA_ERROR_INVALID_HANDLE,
          "not a function");
    wrap_cuModuleUnload(m);
    check(wrap_cuModuleUnload(m) == CUDA_ERROR_INVALID_HANDLE, "unloaded twice");
}

static void call_configuration(void)
{
    dim3 a = {1, 2, 3}, b = {4, 5, 6}, c = {7, 8, 9}, g, k;
    size_t shared;
    cudaStream_t s;
    check(wrap___cudaPushCallConfiguration(a, b, 10, NULL) == 0 &&
              wrap___cudaPushCallConfiguration(c, a, 20, (cudaStream_t)0x5) == 0,
          "nested configurations");
    check(wrap___cudaPopCallConfiguration(&g, &k, &shared, (void *)&s) == 0 && g.x == 7 && k.z == 3 && shared == 20 &&
              s == (cudaStream_t)0x5,
          "inner first");
    check(wrap___cudaPopCallConfiguration(&g, &k, &shared, (void *)&s) == 0 && g.y == 2 && k.y == 5 && !s,
          "then outer");
    check(wrap___cudaPopCallConfiguration(&g, &k, &shared, (void *)&s) == cudaErrorMissingConfiguration, "none left");
    wrap_cudaGetLastError();
}

/* The struct of a version is filled, and not a byte behind it. */
static void guarded(int (*call)(void *, int), size_t size, size_t major, const char *what)
{
    unsigned char buf[2048];
    int value;
    memset(buf, 0xAB, sizeof buf);
    check(call(buf, 0) == 0 && !strcmp((char *)buf, "mock device"), "%s: name", what);
    bool intact = true;
    for (size_t i = size; i < sizeof buf; i++)
        intact = intact && buf[i] == 0xAB;
    check(intact, "%s: nothing behind %zu bytes", what, size);
    memcpy(&value, buf + major, sizeof value);
    check(value == 8, "%s: compute capability", what);
}

static void properties(void)
{
    guarded(wrap_cudaGetDeviceProperties, 1008, 360, "cudaDeviceProp 13");
    guarded(wrap_cudaGetDeviceProperties_v2, 1032, 360, "cudaDeviceProp 12");
    guarded(wrap_cudaGetDeviceProperties_v11, 728, 360, "cudaDeviceProp 11");
    struct cumu_cudaDeviceProp_v13 p;
    wrap_cudaGetDeviceProperties(&p, 0);
    check(p.totalGlobalMem == (size_t)5 << 30 && p.warpSize == 32 &&
              p.multiProcessorCount == cudaDevAttrMultiProcessorCount &&
              p.maxThreadsDim[1] == cudaDevAttrMaxBlockDimY && p.clusterLaunch == 0,
          "fields come from their attributes");
    check(wrap_cudaGetDeviceProperties(&p, 1) == cudaErrorInvalidDevice, "no such device");
    check(wrap_cudaGetDeviceProperties(NULL, 0) == cudaErrorInvalidValue, "nowhere to write");
    wrap_cudaGetLastError();
    int v = 0;
    check(wrap_cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0) == 0 && v == 8, "attribute");
    check(wrap_cudaDeviceGetAttribute(&v, 5000, 0) == cudaErrorInvalidValue, "no such attribute");
    wrap_cudaGetLastError();
    check(wrap_cudaRuntimeGetVersion(&v) == 0 && v / 1000 == 13, "runtime version 13");
    check(wrap_cudaRuntimeGetVersion_v12(&v) == 0 && v / 1000 == 12, "runtime version 12");
    check(wrap_cudaRuntimeGetVersion_v11(&v) == 0 && v / 1000 == 11, "runtime version 11");
    check(wrap_cuDriverGetVersion(&v) == 0 && v >= 13050, "driver version");
}

static void errors(void)
{
    const char *name = "";
    check(!strcmp(wrap_cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"), "runtime name");
    check(!strcmp(wrap_cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"), "runtime text");
    check(!strcmp(wrap_cudaGetErrorName(11), "unrecognized error code"), "unknown number");
    check(wrap_cuGetErrorName(CUDA_ERROR_INVALID_PTX, &name) == 0 && !strcmp(name, "CUDA_ERROR_INVALID_PTX"),
          "driver name");
    check(wrap_cuGetErrorName(9, &name) == CUDA_ERROR_INVALID_VALUE && !name, "no driver code");
}

int main(void)
{
    mock_install();
    launches();
    call_configuration();
    properties();
    errors();
    return check_end("kernel api");
}
