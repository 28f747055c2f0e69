/* Calls functions that no release of CUDA has, as a program linked against a newer one would; LIBRARY: as a library
 * that another opens. */
#include <stdio.h>

#ifdef OPENER
#include <dlfcn.h>

int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*run)(void) = library ? (int (*)(void))dlsym(library, "asks") : NULL;
    if (!run)
        printf("not opened: %s\n", dlerror());
    return run ? run() : 1;
}
#else

int cudaGetDeviceCount(int *count);
int cudaFuture(int a, double b);
int ncclFuture(int a);
int cublasFuture(void);
int cuFuture(void);
int ncclMine(void); /* of the program's own library */
#ifdef DATA
extern int cudaFutureData;
#endif

static int (*const table[])(int, double) = {cudaFuture};

#ifdef LIBRARY
int asks(void)
#else
int main(void)
#endif
{
    int n = 0, error = cudaGetDeviceCount(&n);
    printf("count %d %d\n", error, n);
    for (int i = 0; i < 2; i++)
        printf("cudart %d nccl %d cublas %d driver %d table %d mine %d\n", cudaFuture(1, 2.0), ncclFuture(3),
               cublasFuture(), cuFuture(), table[0](1, 2.0), ncclMine());
#ifdef DATA
    printf("data %d\n", cudaFutureData);
#endif
    return 0;
}
#endif
