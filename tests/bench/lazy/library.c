/* The synthetic library's start-up code: registers everything, as nvcc's does. */
#include <stddef.h>

#include "lazy.h"

struct wrapper {
    uint32_t words[6];
};
extern struct wrapper wrappers[MODULES] __attribute__((visibility("hidden")));
extern const char *const names[KERNELS] __attribute__((visibility("hidden")));
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

/* Their addresses stand for the kernels. */
__attribute__((visibility("default"))) char stubs[KERNELS][16];
static void **handles[MODULES];

__attribute__((constructor)) static void load(void)
{
    for (unsigned m = 0; m < MODULES; m++) {
        handles[m] = __cudaRegisterFatBinary(&wrappers[m]);
        for (unsigned k = m; k < KERNELS; k += MODULES)
            __cudaRegisterFunction(handles[m], stubs[k], (char *)names[k], names[k], -1, NULL, NULL, NULL, NULL, NULL);
        __cudaRegisterFatBinaryEnd(handles[m]);
    }
}

__attribute__((destructor)) static void unload(void)
{
    for (unsigned m = 0; m < MODULES; m++)
        __cudaUnregisterFatBinary(handles[m]);
}
