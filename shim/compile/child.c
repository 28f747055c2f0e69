/* A child process that its parent's program does not see.
 *
 * An ordinary child would raise SIGCHLD in the program and turn up in its wait() calls. So the child has
 * a minder between: a process that shares this one's memory and is made to end without a signal, which
 * hides it from every wait that does not ask for such (__WCLONE). */
#include "compile/child.h"

#include <errno.h>
#include <fcntl.h>
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

struct child {
    const char *file, *output;
    char *const *argv, *const *envp;
    unsigned seconds;
    bool idle;
    int status;
};

enum { STACK = 64 << 10, NICE = 10 };

static _Noreturn void become(const struct child *c)
{
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0); /* the terminal's Ctrl-C is not for it, and all of it ends at once */
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    int in = open("/dev/null", O_RDONLY);
    int out = open(c->output, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(127);
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
    if (c->idle)
        (void)setpriority(PRIO_PROCESS, 0, NICE);
    execve(c->file, c->argv, c->envp);
    _exit(127);
}

/* In a process of its own, but in the parent's memory: nothing here may allocate or lock. */
static int mind(void *arg)
{
    struct child *c = arg;
    struct timespec end, now;
    int status = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status away */
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += c->seconds;
    pid_t pid = vfork();
    if (pid == 0)
        become(c);
    if (pid < 0)
        _exit(0);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (pid_t done; (done = waitpid(pid, &status, WNOHANG)) != pid;) {
        if (done < 0 && errno != EINTR)
            _exit(0);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > end.tv_sec)
            (void)kill(-pid, SIGKILL);
        (void)sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = 1});
    }
    c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    _exit(0);
}

/* Sleeps until the minder has ended, with all signals blocked: the program's handlers must not run there. */
static void *start_minder(void *arg)
{
    struct child *c = arg;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    /* VFORK: this thread sleeps until the minder ends, and shares errno and the like with it in peace. */
    pid_t minder = clone(mind, stack + STACK, CLONE_VM | CLONE_VFORK, c);
    if (minder > 0)
        while (waitpid(minder, NULL, (int)__WCLONE) < 0 && errno == EINTR)
            ;
    (void)munmap(stack, STACK);
    return NULL;
}

int cumu_child_run(const char *file, char *const argv[], char *const envp[], const char *output, unsigned seconds,
                   bool idle)
{
    struct child c = {file, output, argv, envp, seconds, idle, -1};
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    bool threaded = pthread_create(&thread, NULL, start_minder, &c) == 0;
    if (!threaded)
        (void)start_minder(&c);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (threaded) /* in the meantime SIGTERM ends the program, and with it the minder and the child */
        (void)pthread_join(thread, NULL);
    return c.status;
}
