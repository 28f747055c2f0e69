/* How NVTX's headers ask an injection library for an extension, of memory, payloads, counters. */
#ifndef CUMU_TESTS_MODULES_H
#define CUMU_TESTS_MODULES_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct segment {
    size_t id, count;
    intptr_t *slots;
};
struct module {
    uint16_t version, size, id, compatible;
    size_t segments;
    struct segment *segment;
    void *export;
    const void *info;
};
static inline int (*extension(void))(struct module *)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_NOW) : NULL;
    return lib ? (int (*)(struct module *))dlsym(lib, "InitializeInjectionNvtxExtension") : NULL;
}

#endif
