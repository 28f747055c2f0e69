/* Loads the synthetic library and launches a few of its kernels: time of the load, and what memory grew by.
 * Runs under `cumu run`; the library stands beside this program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lazy.h"

struct dim3 {
    unsigned x, y, z;
};
static int (*launch)(const void *, struct dim3, struct dim3, void **, size_t, void *);
static int (*allocate)(void **, size_t), (*copy)(void *, const void *, size_t, int), (*start)(int);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct memory { /* resident, in MB: all, and without pages of files, which cost nothing while unused */
    double all, anonymous;
};

static struct memory memory(void)
{
    long all = 0, file = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld %ld", &all, &file) != 2)
        exit(1);
    fclose(f);
    double page = (double)sysconf(_SC_PAGESIZE) / 1e6;
    return (struct memory){(double)all * page, (double)(all - file) * page};
}

static int wrong(const void *stub, unsigned kernel, void *device)
{
    uint32_t got[32], sum = 0;
    int err = launch(stub, (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1}, (void *[]){&device}, 0, NULL);
    if (err || copy(got, device, sizeof got, 2))
        return 1;
    for (unsigned l = 0; l < LINES; l++)
        sum += constant(kernel, l);
    for (uint32_t i = 0; i < 32; i++)
        if (got[i] != sum + i)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    enum { SOME = 10 };
    char path[4096];
    void *device, *cuda = dlopen("libcudart.so.13", RTLD_NOW);
    int bad = 0;
    snprintf(path, sizeof path, "%s/liblazy.so", argc > 1 ? argv[1] : ".");
    if (!cuda || !(*(void **)&launch = dlsym(cuda, "cudaLaunchKernel")) ||
        !(*(void **)&allocate = dlsym(cuda, "cudaMalloc")) || !(*(void **)&start = dlsym(cuda, "cudaSetDevice")) ||
        !(*(void **)&copy = dlsym(cuda, "cudaMemcpy")) || start(0) || allocate(&device, 128)) {
        printf("lazy: no runtime: run me under `cumu run`\n");
        return 1;
    }
    struct memory before = memory();
    double begin = now();
    void *library = dlopen(path, RTLD_NOW);
    double loaded = now();
    struct memory after = memory();
    const char *stubs = library ? dlsym(library, "stubs") : NULL;
    if (!stubs) {
        printf("lazy: %s\n", dlerror());
        return 1;
    }
    for (unsigned i = 0; i < SOME; i++) { /* each of another module */
        unsigned kernel = i * 673 + 5;
        bad += wrong(stubs + 16 * (size_t)kernel, kernel, device);
    }
    double launched = now();
    printf("bench kernels.lazy_load_s %.4f s\n", loaded - begin);
    printf("bench kernels.lazy_load_rss_mb %.1f MB\n", after.all - before.all);
    after = memory();
    printf("bench kernels.lazy_rss_mb %.1f MB (%.1f without the file's pages; %d kernels of as many modules, "
           "first launches %.1f ms each)\n",
           after.all - before.all, after.anonymous - before.anonymous, SOME, (launched - loaded) * 1e3 / SOME);
    if (bad)
        printf("lazy: %d WRONG\n", bad);
    return bad != 0;
}
