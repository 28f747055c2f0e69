/* muGetProcAddress, in the four-argument form of the SDK: names to this library's own exports. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "host/driver/internal.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *self;

/* A handle of this library, however it was loaded; keeping it also pins our threads' code. */
static void open_self(void)
{
    Dl_info info;
    if (dladdr(&once, &info) && info.dli_fname)
        self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void host_pin_library(void) { pthread_once(&once, open_self); }

MUresult muGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags)
{
    /* From the form asked for to the plainest that exists; _v2 is the 64-bit one of CUDA 3.2 and
     * later. */
    static const char *const suffixes[] = {"_v2_ptsz", "_v2_ptds", "_ptsz", "_ptds", "_v2", ""};
    if (!symbol || !fn || flags & ~(uint64_t)3 || strlen(symbol) > 96)
        return MUSA_ERROR_INVALID_VALUE;
    *fn = NULL;
    host_pin_library();
    size_t first = flags & MU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? 0 : 4;
    if (first && version && version < 3020)
        first = 5;
    for (size_t i = first; self && !strncmp(symbol, "mu", 2) && i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[112];
        snprintf(name, sizeof name, "%s%s", symbol, suffixes[i]);
        if ((*fn = dlsym(self, name)))
            return MUSA_SUCCESS;
    }
    return MUSA_ERROR_NOT_FOUND;
}
