/* Launches: what reaches a kernel, and the error of every launch that cannot be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

enum { N = 10000 };

static bool filled(const uint32_t *got, uint32_t v)
{
    for (uint32_t i = 0; i < N; i++)
        if (got[i] != i + v)
            return false;
    return true;
}

static void test_blocks(void)
{
    MUfunction f = kernel_function("fill");
    static uint32_t got[N];
    MUdeviceptr out;
    uint32_t n = N, v = 7;
    check(f && !muMemAlloc(&out, sizeof got), "memory for the results");
    void *params[] = {&out, &n, &v};
    MUresult r = muLaunchKernel(f, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
    v = 1000; /* the arguments were copied at the call */
    check(!r && !muMemcpyDtoH(got, out, sizeof got) && filled(got, 7), "every block runs, once");

    struct {
        MUdeviceptr out;
        uint32_t n, v;
    } buffer = {out, N, 9};
    size_t size = sizeof buffer;
    void *extra[] = {MU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, MU_LAUNCH_PARAM_BUFFER_SIZE, &size, MU_LAUNCH_PARAM_END};
    r = muLaunchKernel(f, (N + 31) / 32, 1, 1, 32, 1, 1, 0, NULL, NULL, extra);
    buffer.v = 2000;
    check(!r && !muMemcpyDtoH(got, out, sizeof got) && filled(got, 9), "arguments as one buffer");
    size = 8;
    check(muLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra) == MUSA_ERROR_INVALID_VALUE,
          "a buffer that is too short");
    check(muLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, extra) == MUSA_ERROR_INVALID_VALUE,
          "arguments in both forms");
    check(muLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == MUSA_ERROR_INVALID_VALUE,
          "no arguments for a kernel that has some");

    MUlaunchConfig config = {(N + 63) / 64, 1, 1, 64, 1, 1, 0, MU_STREAM_PER_THREAD, NULL, 0};
    v = 11;
    r = muLaunchKernelEx(&config, f, params, NULL);
    check(!r && !muStreamSynchronize(MU_STREAM_PER_THREAD) && !muMemcpyDtoH(got, out, sizeof got) && filled(got, 11),
          "muLaunchKernelEx");
    muMemFree(out);
}

static void test_params(void)
{
    MUfunction f = kernel_function("params");
    MUdeviceptr out;
    uint64_t got[7] = {0};
    muMemAlloc(&out, sizeof got);
    muMemsetD8(out, 0, sizeof got);
    unsigned char a = 0xa5;
    uint64_t b = 0x1122334455667788;
    unsigned short c = 0xbeef;
    float d = 1.5f;
    uint64_t e[3] = {1, ~0ull, 0x0102030405060708};
    void *params[] = {&a, &b, &c, &d, e, &out};
    MUresult r = muLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    muMemcpyDtoH(got, out, sizeof got);
    float d_got;
    memcpy(&d_got, &got[3], sizeof d_got);
    check(!r && got[0] == a && got[1] == b && got[2] == c && d_got == d && got[4] == e[0] && got[5] == e[1] &&
              got[6] == e[2],
          "bytes, words, floats and structs arrive");
    size_t offset = 0, size = 0;
    check(!muFuncGetParamInfo(f, 4, &offset, &size) && offset == 24 && size == 24, "parameter info");
    check(muFuncGetParamInfo(f, 6, &offset, &size) == MUSA_ERROR_INVALID_VALUE,
          "info of a parameter that is not there");
    muMemFree(out);
}

static void test_errors(void)
{
    MUfunction empty = kernel_function("empty"), bounded = kernel_function("bounded"),
               required = kernel_function("required"), shared = kernel_function("shared16k");
    int not_a_function = 0;
    const struct {
        MUfunction f;
        unsigned g[3], b[3], shared;
        MUresult want;
        const char *what;
    } cases[] = {
        {empty, {1, 1, 1}, {1024, 1, 1}, 0, MUSA_SUCCESS, "1024 threads"},
        {empty, {0, 1, 1}, {1, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, "no block"},
        {empty, {1, 0, 1}, {1, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, "no row of blocks"},
        {empty, {1, 1, 1}, {0, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, "no thread"},
        {empty, {1, 1, 1}, {1025, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, "1025 threads"},
        {empty, {1, 1, 1}, {64, 32, 1}, 0, MUSA_ERROR_INVALID_VALUE, "64 x 32 threads"},
        {empty, {1, 1, 1}, {1, 1, 65}, 0, MUSA_ERROR_INVALID_VALUE, "65 layers of threads"},
        {empty, {1, 65536, 1}, {1, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, "65536 rows of blocks"},
        {empty, {1, 1, 65536}, {1, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, "65536 layers"},
        {empty, {1, 1, 1}, {1, 1, 1}, 49152, MUSA_SUCCESS, "48 KiB of dynamic shared memory"},
        {empty, {1, 1, 1}, {1, 1, 1}, 49153, MUSA_ERROR_INVALID_VALUE, "one byte more"},
        {shared, {1, 1, 1}, {1, 1, 1}, 32768, MUSA_SUCCESS, "16 KiB static + 32 KiB"},
        {shared, {1, 1, 1}, {1, 1, 1}, 32769, MUSA_ERROR_INVALID_VALUE, "and a byte"},
        {bounded, {1, 1, 1}, {64, 1, 1}, 0, MUSA_SUCCESS, ".maxntid kept"},
        {bounded, {1, 1, 1}, {65, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, ".maxntid exceeded"},
        {required, {1, 1, 1}, {32, 1, 1}, 0, MUSA_SUCCESS, ".reqntid met"},
        {required, {1, 1, 1}, {16, 1, 1}, 0, MUSA_ERROR_INVALID_VALUE, ".reqntid not met"},
        {NULL, {1, 1, 1}, {1, 1, 1}, 0, MUSA_ERROR_INVALID_HANDLE, "no function"},
        {(MUfunction)(void *)&not_a_function, {1, 1, 1}, {1, 1, 1}, 0, MUSA_ERROR_INVALID_HANDLE, "not a function"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        MUresult r = muLaunchKernel(cases[i].f, cases[i].g[0], cases[i].g[1], cases[i].g[2], cases[i].b[0],
                                    cases[i].b[1], cases[i].b[2], cases[i].shared, NULL, NULL, NULL);
        check(r == cases[i].want, "%s", cases[i].what);
        if (r != cases[i].want)
            printf("    got %d, want %d\n", r, cases[i].want);
    }
    check(muCtxSynchronize() == MUSA_SUCCESS, "a refused launch leaves the context healthy");

    int value = 0;
    check(!muFuncGetAttribute(&value, MU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded) && value == 64,
          "max threads of a bounded kernel");
    check(!muFuncGetAttribute(&value, MU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shared) && value == 16384,
          "static shared size");
    check(!muFuncSetAttribute(shared, MU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536) &&
              !muLaunchKernel(shared, 1, 1, 1, 1, 1, 1, 65536, NULL, NULL, NULL),
          "more dynamic shared memory by opting in");
    check(muFuncSetAttribute(shared, MU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20) ==
              MUSA_ERROR_INVALID_VALUE,
          "opting in to more than there is");
    check(!muOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 64, 0) && value > 0,
          "occupancy of a kernel that fits");
    check(!muOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 128, 0) && value == 0,
          "occupancy of a block that is too large");
    check(muCtxSynchronize() == MUSA_SUCCESS, "the legal launches ran");
}

static void test_cooperative(void)
{
    MUfunction f = kernel_function("meet");
    MUdeviceptr counter;
    uint32_t n, got = 0;
    int per = 0, cores = 0;
    muMemAlloc(&counter, 4);
    muDeviceGetAttribute(&cores, MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    muOccupancyMaxActiveBlocksPerMultiprocessor(&per, f, 64, 0);
    void *params[] = {&counter, &n};
    for (unsigned i = 0; i < 20; i++) {
        n = i % 2 ? 3 : (unsigned)(per * cores);
        muMemsetD32(counter, 0, 1);
        MUresult r = muLaunchCooperativeKernel(f, n, 1, 1, 64, 1, 1, 0, NULL, params);
        if (r || muMemcpyDtoH(&got, counter, 4) || got != n)
            break;
    }
    check(got == n, "all blocks of a cooperative launch meet");
    n = (unsigned)(per * cores) + 1;
    check(muLaunchCooperativeKernel(f, n, 1, 1, 64, 1, 1, 0, NULL, params) == MUSA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
          "a cooperative launch that is too large");
    muMemFree(counter);
}

/* Where the device holds all blocks at once, an ordinary launch has the memory for grid-wide barriers, too. */
static void test_ordinary_barrier(void)
{
    MUfunction f = kernel_function("rounds");
    MUdeviceptr counter;
    uint32_t got = 0;
    int per = 0, cores = 0;
    bool good = true;
    muMemAlloc(&counter, 4);
    muDeviceGetAttribute(&cores, MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    muOccupancyMaxActiveBlocksPerMultiprocessor(&per, f, 64, 0);
    void *params[] = {&counter};
    for (unsigned i = 0; i < 12 && good; i++) {
        const unsigned n = i % 3 ? i : (unsigned)(per * cores);
        muMemsetD32(counter, 0, 1);
        good = !muLaunchKernel(f, n, 1, 1, 64, 1, 1, 0, NULL, params, NULL) && !muMemcpyDtoH(&got, counter, 4) &&
               got == 3 * n;
    }
    check(good, "all blocks of an ordinary launch meet, three times");
    muMemFree(counter);
}

/* Grids of several streams share the workers and all finish. */
static void test_streams(void)
{
    enum { STREAMS = 4, ROUNDS = 10 };
    MUfunction f = kernel_function("fill");
    MUstream s[STREAMS];
    MUdeviceptr out[STREAMS];
    static uint32_t got[N];
    bool good = true;
    uint32_t n = N;
    for (uint32_t i = 0; i < STREAMS; i++)
        good = good && !muStreamCreate(&s[i], MU_STREAM_NON_BLOCKING) && !muMemAlloc(&out[i], sizeof got);
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < STREAMS; i++) {
            uint32_t v = i * 100 + round;
            void *params[] = {&out[i], &n, &v};
            good = good && !muLaunchKernel(f, (N + 63) / 64, 1, 1, 64, 1, 1, 0, s[i], params, NULL);
        }
    good = good && !muCtxSynchronize();
    for (uint32_t i = 0; i < STREAMS; i++) {
        good = good && !muMemcpyDtoH(got, out[i], sizeof got) && filled(got, i * 100 + ROUNDS - 1);
        muStreamDestroy(s[i]);
        muMemFree(out[i]);
    }
    check(good, "grids of four streams");
}

int main(void)
{
    if (!kernels_start())
        return 1;
    test_blocks();
    test_params();
    test_errors();
    test_cooperative();
    test_ordinary_barrier();
    test_streams();
    return check_end("host-launch launch");
}
