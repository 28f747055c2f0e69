/* Start-up of the driver, its threads, and what a forked child may do (nothing: as with a real
 * driver). */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/host.h"
#include "host/driver/internal.h"
#include "host/driver/order.h"

_Atomic bool host_started;
static _Atomic bool in_child;
static MUresult init_result;

/* Locks and threads of the parent mean nothing in a child, and device memory is not mapped there
 * (MADV_DONTFORK). CUDA refuses every call there too. A child of a process that never called
 * muInit is an ordinary new process. */
static void forked(void)
{
    in_child = in_child || host_started;
    host_started = false;
}

static void init_once(void)
{
    const struct host_config *c = host_config();
    if (c->wrong) {
        host_say("muInit: %s", c->wrong);
        init_result = MUSA_ERROR_NO_DEVICE;
        return;
    }
    if (c->nvisible == 0) {
        init_result = MUSA_ERROR_NO_DEVICE;
        return;
    }
    if (c->check_tools & (T0_RACECHECK | T0_INITCHECK))
        host_order_want();
    host_pin_library();
    pthread_atfork(NULL, NULL, forked);
    init_result = host_devices_init();
    if (!init_result)
        init_result = host_kernels_init();
    if (!init_result)
        host_started = true;
    host_log(3, "%d device(s), %zu MiB each, %d threads", c->nvisible, c->memory >> 20, c->threads);
}

MUresult muInit(unsigned int flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (flags)
        return MUSA_ERROR_INVALID_VALUE;
    if (in_child)
        return MUSA_ERROR_NOT_INITIALIZED;
    pthread_once(&once, init_once);
    return init_result;
}

/* API level of SDK 4.0.1, which is not the SDK's own number (mapping/facts/musa.md L6). */
MUresult muDriverGetVersion(int *version)
{
    if (!version)
        return MUSA_ERROR_INVALID_VALUE;
    *version = 10504;
    return MUSA_SUCCESS;
}

MUresult muProfilerInitialize(const char *file, const char *output, int mode)
{
    (void)file, (void)output, (void)mode;
    return MUSA_ERROR_NOT_SUPPORTED;
}

MUresult muProfilerStart(void) { return host_enter(NULL); }

MUresult muProfilerStop(void) { return host_enter(NULL); }

MUresult muGetExportTable(const void **table, const MUuuid *id)
{
    (void)id;
    if (table)
        *table = NULL;
    return MUSA_ERROR_NOT_FOUND; /* undocumented tables: the SDK's are not ours to imitate */
}

struct start {
    char name[16];
    void *(*body)(void *);
    void *arg;
};

static void *thread_main(void *p)
{
    struct start s = *(struct start *)p;
    free(p);
    pthread_setname_np(pthread_self(), s.name);
    return s.body(s.arg);
}

bool host_thread(const char *name, void *(*body)(void *), void *arg)
{
    struct start *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    snprintf(s->name, sizeof s->name, "%s", name);
    s->body = body;
    s->arg = arg;
    /* Inherited by the new thread: the application's handlers run on the application's threads. */
    sigset_t all, old;
    sigfillset(&all);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    int why = pthread_create(&thread, &attr, thread_main, s);
    bool ok = why == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!ok) {
        free(s);
        if (!atomic_flag_test_and_set(&said))
            host_say("no thread %s: %s%s", name, strerror(why),
                     why == EAGAIN  ? " (ulimit -u or -v, or the container's limit of processes)"
                     : why == EPERM ? " (a seccomp filter that refuses clone3 with another error than ENOSYS)"
                                    : "");
    }
    return ok;
}
