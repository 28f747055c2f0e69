/* Loads an image in every way that the driver has, runs its kernel `add` and looks at what it wrote. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 100 };
static void *cuda;
static void *(*f(const char *name))() { return (void *(*)())dlsym(cuda, name); }
#define CALL(name, ...) ((int (*)())f(#name))(__VA_ARGS__)

static int runs(void *function, const char *how)
{
    unsigned out[N] = {0}, n = N - 1;
    unsigned long long p = 0;
    void *args[] = {&p, &n};
    int bad = CALL(cuMemAlloc_v2, &p, sizeof out) || CALL(cuMemsetD8_v2, p, 0, sizeof out) ||
              CALL(cuLaunchKernel, function, 1, 1, 1, 128, 1, 1, 0, NULL, args, NULL) ||
              CALL(cuMemcpyDtoH_v2, out, p, sizeof out) || out[N - 1];
    for (unsigned i = 0; i < n; i++)
        bad |= out[i] != 2 * i + 7;
    printf("%s %s\n", bad ? "wrong" : "right", how);
    return bad;
}

int main(int argc, char **argv)
{
    void *module, *library, *function;
    FILE *file = fopen(argv[argc - 1], "rb");
    char *image = malloc(1 << 20), *copy = malloc(1 << 20);
    unsigned long long size = file ? fread(image, 1, 1 << 20, file) : 0;
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda || !size || CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &module, 0) ||
        CALL(cuCtxSetCurrent, module))
        return 2;
    for (unsigned i = 0; i < size; i++) /* nothing that ends a text lies behind it */
        copy[i] = image[i];
    for (unsigned i = (unsigned)size; i < 1 << 20; i++)
        copy[i] = 'x';
    int error = CALL(cuModuleLoadData, &module, copy);
    if (error) {
        printf("error %d\n", error);
        return 3;
    }
    return CALL(cuModuleGetFunction, &function, module, "add") || runs(function, "cuModuleLoadData") ||
           CALL(cuModuleLoad, &module, argv[argc - 1]) || CALL(cuModuleGetFunction, &function, module, "add") ||
           runs(function, "cuModuleLoad") || CALL(cuLibraryLoadData, &library, copy, 0, 0, 0, 0, 0, 0) ||
           CALL(cuLibraryGetKernel, &function, library, "add") || runs(function, "cuLibraryLoadData");
}
