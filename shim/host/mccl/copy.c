/* What a thread does with one descriptor more than there is: in a process of its own that has this one's memory, and of
 * whose copies of the descriptors one is closed. The thread sleeps until that process has ended, of which the program
 * sees nothing: it is no child that it could wait for, and runs none of its handlers. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/mccl/rendezvous.h"

#define MOST_CLOSED 65536
#define STACK_BYTES (64 << 10)

struct deed {
    void (*act)(void *);
    void *arg;
};

static int act_in_copy(void *deed)
{
    const struct deed *d = deed;
    int fd = 0;
    while (close(fd) && fd < MOST_CLOSED)
        fd++;
    d->act(d->arg);
    return 0; /* that is its end */
}

bool mccl_in_copy(void (*act)(void *), void *arg)
{
    struct deed d = {act, arg};
    sigset_t all, old;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const pid_t pid = clone(act_in_copy, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, &d);
    while (pid > 0 && waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    munmap(stack, STACK_BYTES);
    return pid > 0;
}

bool mccl_lacks_descriptor(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}
