/* Opens the driver API that the process was given. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda.h"

struct cuda cu;

void cuda_check(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "bench: %s: CUDA error %d\n", what, result);
        exit(1);
    }
}

void cuda_open(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context;
    if (!lib) {
        fprintf(stderr, "bench: %s; run me under `cumu run`\n", dlerror());
        exit(1);
    }
#define F(name, args) \
    if (!(cu.name = (int(*) args)dlsym(lib, #name))) { \
        fprintf(stderr, "bench: no %s\n", #name); \
        exit(1); \
    }
    CUDA_FUNCTIONS(F)
#undef F
    cuda_check(cu.cuInit(0), "cuInit");
    cuda_check(cu.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    cuda_check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

void *cuda_kernel(const char *ptx, const char *entry)
{
    void *module, *kernel;
    cuda_check(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    cuda_check(cu.cuModuleGetFunction(&kernel, module, entry), "cuModuleGetFunction");
    return kernel;
}
