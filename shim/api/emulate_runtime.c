/* Functions of MUSA's runtime that the SDK's own one lacks, over its driver (libcumu-runtime.so). */
#include "api/api.h"
#include "api/emulate.h"
#include "core/error.h"
#include "core/resolve.h"
#include "runtime/over.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library; /* NULL: not in this build, or no use */

static int enter(void) { return mu.musaFree(NULL); }

static void open_library(void)
{
    static const struct cumu_over over = {cumu_resolve_driver, enter, cumu_set_error};
    char path[4096];
    const char *dir = cumu_home();
    int n = dir ? snprintf(path, sizeof path, "%s/libcumu-runtime.so", dir) : 0;
    void *h = n > 0 && n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = h ? dlsym(h, CUMU_OVER_START) : NULL;
    void (*start)(const struct cumu_over *) = (void (*)(const struct cumu_over *))(uintptr_t)symbol;
    if (start)
        start(&over);
    library = start ? h : NULL;
}

/* Without a runtime to make contexts, or a driver to work with, there is nothing to stand on: what is missing is then
 * the function that was asked for. The same if the driver lacks the function of that name. */
void *cumu_runtime_over(const char *symbol)
{
    char twin[128];
    int n = snprintf(twin, sizeof twin, "mu%s", symbol + strlen("musa"));
    if (cumu_backend() != CUMU_BACKEND_MUSA || n >= (int)sizeof twin || cumu_mu_lacks(twin) ||
        !cumu_below_has("musart", "musaFree") || !cumu_below_has("musa", "muCtxGetCurrent"))
        return NULL;
    (void)pthread_once(&once, open_library);
    return library ? dlsym(library, symbol) : NULL;
}
