/* Counts the handlers that the program installs for memory faults, so that a launch need not ask the kernel whether
 * its own is still in front (host/driver/fault.c): that would be a system call, a third of a small launch. */
#include "nodes/nodes.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

NODES_EXPORT extern _Atomic unsigned cumu_signal_changes;
_Atomic unsigned cumu_signal_changes;

/* Counted once the handler is there: whoever sees the number sees the handler. */
static void count(int sig)
{
    if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE)
        cumu_signal_changes++;
}

#define SIGACTION(name) \
    NODES_EXPORT int name(int sig, const struct sigaction *act, struct sigaction *old) \
    { \
        NODES_NEXT(int(int, const struct sigaction *, struct sigaction *), name) \
        if (!next) { \
            errno = ENOSYS; \
            return -1; \
        } \
        int r = next(sig, act, old); \
        if (act) \
            count(sig); \
        return r; \
    }
int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
SIGACTION(sigaction)
SIGACTION(__sigaction)

/* The older functions, under the names that headers give them; each goes to sigaction within the C library. */
typedef void handler(int);
#define SIGNAL(name) \
    NODES_EXPORT handler *name(int sig, handler *h) \
    { \
        NODES_NEXT(handler *(int, handler *), name) \
        if (!next) { \
            errno = ENOSYS; \
            return SIG_ERR; \
        } \
        handler *r = next(sig, h); \
        count(sig); \
        return r; \
    }
handler *bsd_signal(int sig, handler *h);
handler *__sysv_signal(int sig, handler *h);
SIGNAL(signal)
SIGNAL(bsd_signal)
SIGNAL(ssignal)
SIGNAL(sysv_signal)
SIGNAL(__sysv_signal)
SIGNAL(sigset)
