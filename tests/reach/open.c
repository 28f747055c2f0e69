/* Opens a CUDA runtime in the way and by the name given and prints `version N` and what cudaMalloc gave.
 * usage: open [local|deepbind|global|noload|newlm|driver|stale] NAME; driver: whether
 * the runtime has opened that, too; stale: the loader's errno, which is its own, is
 * that of an open which failed before. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *open_as(const char *way, const char *name)
{
    int flags = RTLD_NOW;
    if (strcmp(way, "newlm") == 0)
        return dlmopen(LM_ID_NEWLM, name, flags);
    if (strcmp(way, "deepbind") == 0)
        flags |= RTLD_DEEPBIND;
    if (strcmp(way, "global") == 0)
        flags |= RTLD_GLOBAL;
    if (strcmp(way, "noload") == 0) {
        if (!dlopen(name, flags))
            return NULL;
        flags |= RTLD_NOLOAD;
    }
    if (strcmp(way, "stale") == 0 && dlopen("/dev/null/none.so", RTLD_NOW)) /* ENOTDIR */
        return NULL;
    return dlopen(name, flags);
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[1] : "", *name = argv[argc - 1];
    void *lib = open_as(way, name), *p = NULL;
    if (!lib) {
        printf("%s\n", dlerror());
        return 1;
    }
    if (strcmp(way, "global") == 0)
        lib = RTLD_DEFAULT;
    int (*get)(int *) = (int (*)(int *))dlsym(lib, "cudaRuntimeGetVersion");
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(lib, "cudaMalloc");
    int version = 0, error = get ? get(&version) : -1;
    printf("version %d error %d", version, error);
    error = allocate ? allocate(&p, 4096) : -1;
    printf(" malloc %d %s", error, p == (void *)4097 ? "fake" : p ? "memory" : "nothing");
    if (strcmp(way, "driver") == 0)
        printf(" and %s driver", dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) ? "a" : "no");
    puts("");
    return 0;
}
