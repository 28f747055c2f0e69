/* Linked with libcudart and libcuda (by whichever names and search paths the test gives it); prints what it
 * reaches. As a library (-DLIBRARY) it is called through `plugin_run`. */
#include <stdio.h>
#include <stdlib.h>

#ifndef NO_DRIVER
#define DRIVER 1
#else
#define DRIVER 0
#define cuDriverGetVersion(version) (*(version) = 0)
#define cuLaunchKernel(...) 0
#endif

struct dim3 {
    unsigned x, y, z;
};
int cudaRuntimeGetVersion(int *version);
int cudaMalloc(void **p, size_t size);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);
const char *cudaGetErrorString(int error);
#if DRIVER
int cuDriverGetVersion(int *version);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                   void **);
#endif

#ifdef LIBRARY
#define main plugin_run
#endif

int main(void)
{
    struct dim3 grid = {2, 3, 4}, block = {5, 6, 7};
    int version = 0, error = cudaRuntimeGetVersion(&version);
    void *p = NULL;
    printf("version %d error %d", version, error);
    error = cudaMalloc(&p, 4096);
    printf(" malloc %d %s\n", error, p == (void *)4097 ? "fake" : p ? "memory" : "nothing");
    if (getenv("REACH_FAKE")) {
        printf("launch %d", cudaLaunchKernel((void *)1, grid, block, (void **)8, 9, (void *)10));
        printf(" string %s", cudaGetErrorString(11));
        error = cuDriverGetVersion(&version);
        printf(" driver %d", version);
        printf(" launch %d\n", cuLaunchKernel((void *)1, 2, 3, 4, 5, 6, 7, 8, (void *)9, (void **)10, (void **)11));
    }
    fflush(stdout);
    return 0;
}
