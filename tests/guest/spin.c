/* A kernel that runs until the host ends it, for what looks at it from outside: spin SECONDS. Linked with the facade of
 * libcuda.so.1. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_functions.h"

static const char text[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry spin(.param .u64 p) {\n .reg .b64 %d; .reg .b32 %r; .reg .pred %q;\n"
    " ld.param.u64 %d, [p];\n"
    "again:\n ld.volatile.global.u32 %r, [%d];\n setp.eq.u32 %q, %r, 0;\n @%q bra again;\n ret; }\n";

int main(int argc, char **argv)
{
    void *context, *module, *kernel, *other;
    uint64_t p;
    if (argc != 2 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleLoadData(&module, text) || cuModuleGetFunction(&kernel, module, "spin") || cuMemAlloc_v2(&p, 4) ||
        cuMemsetD32_v2(p, 0, 1) || cuCtxSynchronize() || cuStreamCreate(&other, 1) ||
        cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&p}, NULL))
        return 1;
    printf("ready %ld\n", (long)getpid());
    fflush(stdout);
    sleep((unsigned)atoi(argv[1]));
    int bad = cuMemsetD32Async(p, 1, 1, other) || cuCtxSynchronize();
    puts(bad ? "FAIL spin" : "PASS spin");
    return bad;
}
