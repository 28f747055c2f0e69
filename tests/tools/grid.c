/* Links a kernel of blocks that wait for each other with CUDA's device runtime library, and runs it as a cooperative
 * launch: `grid PTX ARCHIVE`. */
#include <dlfcn.h>
#include <stdio.h>

enum { BLOCKS = 4, THREADS = 64, ROUNDS = 20, N = BLOCKS * THREADS };
static void *cuda;
static void *(*f(const char *name))() { return (void *(*)())dlsym(cuda, name); }
#define CALL(name, ...) ((int (*)())f(#name))(__VA_ARGS__)

int main(int argc, char **argv)
{
    void *context, *link, *module, *function, *image;
    unsigned out[N], rounds = ROUNDS, wrong = 0;
    unsigned long long p, size;
    void *args[] = {&p, &rounds};
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda || CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context) ||
        CALL(cuLinkCreate_v2, 0, NULL, NULL, &link) || CALL(cuLinkAddFile_v2, link, 1, argv[1], 0, NULL, NULL))
        return 2;
    int error = CALL(cuLinkAddFile_v2, link, 4 /* a library */, argv[2], 0, NULL, NULL);
    printf("archive %d\n", error);
    if (error || CALL(cuLinkComplete, link, &image, &size) || CALL(cuModuleLoadData, &module, image) ||
        CALL(cuModuleGetFunction, &function, module, "turns") || CALL(cuMemAlloc_v2, &p, sizeof out))
        return 3;
    if (CALL(cuMemsetD8_v2, p, 0, sizeof out) ||
        CALL(cuLaunchCooperativeKernel, function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args) ||
        CALL(cuMemcpyDtoH_v2, out, p, sizeof out))
        return 4;
    for (unsigned i = 0; i < N; i++)
        wrong += out[i] != ROUNDS;
    printf("%u wrong\n", wrong);
    return wrong != 0;
}
