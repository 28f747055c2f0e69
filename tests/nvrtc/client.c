/* A program that compiles at run time: opens the library it is told and prints what becomes of its options.
 * client LIBRARY OPTION... */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void *named(const char *name)
{
    void *f = dlsym(library, name);
    if (!f) {
        printf("no %s\n", name);
        exit(2);
    }
    return f;
}
#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))named(name))

int main(int argc, char **argv)
{
    void *p = NULL;
    size_t size = 0;
    int major = 0, minor = 0;
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        printf("no library\n");
        return 2;
    }
    int err = CALL(int, "nvrtcVersion", int *, int *)(&major, &minor);
    printf("version %d.%d status %d\n", major, minor, err);
    err = CALL(int, "nvrtcCreateProgram", void **, const char *, const char *, int, const char *const *,
               const char *const *)(&p, "", "x.cu", 0, NULL, NULL);
    if (err) {
        printf("create: %s\n", CALL(const char *, "nvrtcGetErrorString", int)(err));
        return 1;
    }
    err = CALL(int, "nvrtcCompileProgram", void *, int, char **)(p, argc - 2, argv + 2);
    printf("compile %d\n", err);
    CALL(int, "nvrtcGetPTXSize", void *, size_t *)(p, &size);
    char *text = calloc(1, size + 1);
    CALL(int, "nvrtcGetPTX", void *, char *)(p, text);
    printf("ptx %zu %s\n", size, text);
    free(text);
    CALL(int, "nvrtcGetCUBINSize", void *, size_t *)(p, &size);
    text = calloc(1, size + 1);
    CALL(int, "nvrtcGetCUBIN", void *, char *)(p, text);
    printf("cubin %zu %s\n", size, text);
    free(text);
    printf("destroy %d\n", CALL(int, "nvrtcDestroyProgram", void **)(&p));
    return 0;
}
