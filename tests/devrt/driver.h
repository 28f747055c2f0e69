/* The driver's functions by their names, for programs that see no header of CUDA's. */
#include <dlfcn.h>
#include <stddef.h>

static void *cuda;
static void *(*f(const char *name))() { return (void *(*)())dlsym(cuda, name); }
#define CALL(name, ...) ((int (*)())f(#name))(__VA_ARGS__)

static int start(void)
{
    void *context;
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    return !cuda || CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context);
}
