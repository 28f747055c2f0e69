/* Loads a cubin from a file by the driver API and launches its kernel "plain", or says which call fails. */
#include <stdio.h>
#include <string.h>

#include "abi/cuda.h"
#include "cuda_functions.h"

static int say(const char *what, int r)
{
    printf("%s %d\n", what, r);
    return r;
}

int main(int argc, char **argv)
{
    void *ctx = NULL, *module = NULL, *f = NULL;
    CUdeviceptr p = 0;
    int out[32];
    double scale = 1.5;
    void *args[] = {&p, &scale};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
        return say("init", 1);
    if (say("load", cuModuleLoad(&module, argv[1])) || say("get", cuModuleGetFunction(&f, module, "plain")))
        return 1;
    if (cuMemAlloc_v2(&p, sizeof out) || cuMemsetD32_v2(p, 10, 32) ||
        say("launch", cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL)) ||
        say("copy", cuMemcpyDtoH_v2(out, p, sizeof out)))
        return 1;
    printf("result %d\n", out[31]); /* 10 * 1.5 + 7 */
    return 0;
}
