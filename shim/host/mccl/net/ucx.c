/* Finds UCX's functions, and keeps what it says and the signals that it would catch out of the program. */
#if __has_include(<ucp/api/ucp.h>)

#include "host/mccl/net/ucx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

struct mccl_ucx mccl_ucx;

static const char *missing; /* why it cannot be used, NULL if it can */

/* UCX writes to stdout, which is the program's. What goes wrong is told by the status. */
static int say_nothing(void) { return 0; /* UCS_LOG_FUNC_RC_STOP */ }

/* Its constructors set handlers for faults, which are the program's affair: they are put back, unless the program uses
 * UCX itself. */
static void *load(void)
{
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library)
        return library;
    struct sigaction before[SIGRTMIN], now;
    for (int s = 1; s < SIGRTMIN; s++)
        sigaction(s, NULL, &before[s]);
    library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    for (int s = 1; s < SIGRTMIN; s++)
        if (sigaction(s, NULL, &now) == 0 && now.sa_handler != before[s].sa_handler)
            sigaction(s, &before[s], NULL);
    void (*push_handler)(int (*)(void)) = NULL;
    if (library)
        *(void **)&push_handler = dlsym(library, "ucs_log_push_handler");
    if (push_handler)
        push_handler(say_nothing);
    return library;
}

static void open_library(void)
{
    void *library = load();
    if (!library) {
        missing = "libucp.so.0 is not there (Debian: libucx0)";
        return;
    }
#define FIND(f) \
    *(void **)&mccl_ucx.f = dlsym(library, #f); \
    if (!mccl_ucx.f) \
        missing = "libucp.so.0 lacks " #f;
    MCCL_UCX(FIND)
}

const char *mccl_ucx_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return missing;
}

#else
typedef int mccl_no_ucx; /* a file of C has a declaration */
#endif
