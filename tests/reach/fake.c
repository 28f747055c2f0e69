/* A stand-in for NVIDIA's libraries: the runtime, or with -DDRIVER the driver. It tells by its version that it
 * was reached, and checks that arguments arrive whole. */
#include <stddef.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 4242
#endif

#ifndef DRIVER

struct dim3 {
    unsigned x, y, z;
};

int cudaRuntimeGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return 0;
}

int cudaMalloc(void **p, size_t size)
{
    *p = (void *)(size + 1);
    return 0;
}

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args, size_t shared,
                     void *stream)
{
    return function == (void *)1 && grid.x == 2 && grid.y == 3 && grid.z == 4 && block.x == 5 && block.y == 6 &&
                   block.z == 7 && args == (void *)8 && shared == 9 && stream == (void *)10
               ? FAKE_VERSION
               : 1;
}

const char *cudaGetErrorString(int error) { return error == 11 ? "fake string" : "?"; }

void **__cudaRegisterFatBinary(void *wrapper) { return (void **)wrapper; }

#else

int cuDriverGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return 0;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra)
{
    return f == (void *)1 && gx == 2 && gy == 3 && gz == 4 && bx == 5 && by == 6 && bz == 7 && shared == 8 &&
                   stream == (void *)9 && params == (void **)10 && extra == (void **)11
               ? FAKE_VERSION
               : 1;
}

#endif
