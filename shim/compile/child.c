/* A child process that its parent's program does not see, and that does not outlive it.
 *
 * An ordinary child would raise SIGCHLD in the program and turn up in its wait() calls. So the child has
 * a minder between: a process that shares this one's memory and is made to end without a signal, which
 * hides it from every wait that does not ask for such (__WCLONE).
 *
 * A compiler is a driver with children of its own, which a death signal of the driver does not reach. What reaches all
 * of them is their process group: the minder alone has one end of a pipe, and the kernel sends the group SIGKILL
 * when that end closes (F_SETSIG of O_ASYNC), which it does however the program and with it the minder ended. */
#include "compile/child.h"
#include "sanitize.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct run {
    const struct cumu_child *child;
    pid_t program;
    int why;         /* errno of what kept it from being started */
    int lifeline[2]; /* a pipe of the minder's: its closing end is the minder's alone */
    int status;
    char *stack; /* the child's until it executes the compiler, then the minder's above it */
};

enum { STACK = 64 << 10, NICE = 19, GUARD = 3 /* the pipe, in the child */, SPARE = 5, PATIENCE = 4 };

static void limit(int what, rlim_t most)
{
    struct rlimit r;
    if (getrlimit(what, &r) == 0 && r.rlim_cur > most) {
        r.rlim_cur = most;
        r.rlim_max = r.rlim_max < most ? r.rlim_max : most;
        (void)setrlimit(what, &r);
    }
}

/* Bounds what a compiler that goes astray takes of the machine. Where memory runs out, it goes before the program. */
static void limit_all(const struct cumu_child *c)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "1000", 4);
        (void)close(fd);
    }
    limit(RLIMIT_CORE, 0);
    struct rlimit r; /* of its files: the program's is for its own */
    if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != r.rlim_max)
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){r.rlim_max, r.rlim_max});
    limit(RLIMIT_CPU, (rlim_t)c->seconds + SPARE); /* should the minder not come to it */
    if (c->megabytes)
        limit(RLIMIT_DATA, (rlim_t)c->megabytes << 20);
    if (c->idle) { /* where that policy is not to be had, the lowest of the usual one */
        (void)setpriority(PRIO_PROCESS, 0, NICE);
        (void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){.sched_priority = 0});
    }
}

/* All of the program's descriptors; a kernel or sandbox without close_range takes one call each. */
static void close_from(unsigned first)
{
    struct rlimit r;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0)
        return;
#endif
    rlim_t end = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 65536 ? r.rlim_cur : 65536;
    for (rlim_t fd = first; fd < end; fd++)
        (void)close((int)fd);
}

/* Ends with its group when nobody holds the pipe's other end any more; false if that is so already. */
static bool tie(int end)
{
    struct pollfd p = {.fd = end, .events = POLLIN};
    (void)setpgid(0, 0); /* the terminal's Ctrl-C is not for it, and all of it ends at once */
    (void)fcntl(end, F_SETOWN, -getpid());
    (void)fcntl(end, F_SETSIG, SIGKILL);
    (void)fcntl(end, F_SETFL, O_ASYNC | O_NONBLOCK);
    return poll(&p, 1, 0) == 0;
}

static int become(void *arg)
{
    const struct run *r = arg;
    const struct cumu_child *c = r->child;
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (c->folder >= 0 && fchdir(c->folder) != 0)
        _exit(127);
    int in = open("/dev/null", O_RDONLY);
    int out = open(c->output, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    int end = fcntl(r->lifeline[0], F_DUPFD, GUARD + 1); /* above what is closed or overwritten here */
    if (in < 0 || out < 0 || end < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(end, GUARD) < 0)
        _exit(127);
    close_from(GUARD + 1); /* the other end among them */
    if (!tie(GUARD))
        _exit(127);
    limit_all(c);
    /* not libcumu-nodes', which looks the C library's up by the dynamic linker's lock: who unloads a module may hold
     * that and wait for this compiler */
    (void)syscall(SYS_execve, c->file, c->argv, c->envp);
    _exit(127);
}

/* In a process of its own, but in the parent's memory: nothing here may allocate or lock. */
static int mind(void *arg)
{
    struct run *r = arg;
    struct timespec end, now;
    siginfo_t gone = {.si_pid = 0};
    int status = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != r->program || pipe2(r->lifeline, O_CLOEXEC) != 0) { /* descriptors of its own: a copy */
        r->why = errno;
        _exit(0);
    }
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status away */
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)r->child->seconds * (r->child->idle ? PATIENCE : 1);
    /* Not vfork: ASan's own, in a program that has it, clears its marks from the thread's stack to this one. */
    pid_t pid = clone(become, r->stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, r);
    if (pid < 0) {
        r->why = errno;
        _exit(0);
    }
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (int e; (e = waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOHANG | WNOWAIT)) != 0 || gone.si_pid != pid;) {
        if (e < 0 && errno != EINTR)
            _exit(0);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > end.tv_sec)
            (void)kill(-pid, SIGKILL);
        (void)sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = 1});
    }
    (void)kill(-pid, SIGKILL); /* what the driver left behind; its number is not another's before it is waited for */
    if (waitpid(pid, &status, 0) == pid)
        r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    _exit(0);
}

/* Sleeps until the minder has ended, with all signals blocked: the program's handlers must not run there. */
static void *start_minder(void *arg)
{
    struct run *r = arg;
    char *stack = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) {
        r->why = errno;
        return NULL;
    }
    /* VFORK: this thread sleeps until the minder ends, and shares errno and the like with it in peace. */
    r->stack = stack;
    pid_t minder = clone(mind, stack + 2 * STACK, CLONE_VM | CLONE_VFORK, r);
    if (minder < 0)
        r->why = errno;
    else
        while (waitpid(minder, NULL, (int)__WCLONE) < 0 && errno == EINTR)
            ;
    cumu_stack_left(stack, 2 * STACK);
    (void)munmap(stack, 2 * STACK);
    return NULL;
}

int cumu_child_run(const struct cumu_child *child)
{
    sigset_t all, old;
    pthread_t thread;
    /* Shared, as valgrind makes forks of such clones: the answer would stay in the fork's copy. */
    struct run *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        return -1;
    *r = (struct run){.child = child, .program = getpid(), .status = -1};
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    bool threaded = pthread_create(&thread, NULL, start_minder, r) == 0;
    if (!threaded)
        (void)start_minder(r);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (threaded) /* in the meantime SIGTERM ends the program, and with it the minder and the child */
        (void)pthread_join(thread, NULL);
    const int status = r->status, why = r->why;
    (void)munmap(r, sizeof *r);
    errno = why;
    return status;
}
