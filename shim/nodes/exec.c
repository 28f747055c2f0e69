/* exec and posix_spawn: a program that cumu has its own of runs as that one, also where it is not on the machine
 * (/usr/bin/nvidia-smi) or has no dynamic loader. What the C library itself starts, a shell for system(), comes through
 * here in its turn. The calls may be a vfork's child's: nothing here takes memory or a lock. */
#include "core/tools.h"
#include "nodes/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The environment that the program gets decides, as it does for the audit module. */
static bool wants_real(char *const envp[])
{
    for (; envp && *envp; envp++)
        if (strcmp(*envp, "CUMU_TOOLS=real") == 0)
            return true;
    return false;
}

/* Asked of the kernel: our own access() may have to find the nodes first. */
static bool lies_there(const char *path)
{
    int was = errno;
    bool there = syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
    errno = was;
    return there || strcmp(path, NODES_SMI) == 0;
}

/* Our program for this path, in `to`; NULL if the path is to be run as it is. */
static const char *own_tool(const char *path, char *const envp[], char to[PATH_MAX])
{
    const char *name = path ? cumu_tool_named(path) : NULL;
    return name && !wants_real(envp) && lies_there(path) && nodes_tool(name, to) ? to : NULL;
}

/* The words with the path in front: ours is told by it where the program lies. */
enum { MOST = 1024 };
struct words {
    char *word[MOST + 2];
};
static char *const *with_path(const char *path, char *const argv[], struct words *w)
{
    size_t n = 0;
    while (argv && argv[n] && n < MOST)
        n++;
    if (n == 0 || argv[n])
        return argv;
    memcpy(w->word, argv, (n + 1) * sizeof *w->word);
    w->word[0] = (char *)(uintptr_t)path;
    return w->word;
}

static int run(const char *path, char *const argv[], char *const envp[])
{
    NODES_NEXT(int(const char *, char *const[], char *const[]), execve)
    char tool[PATH_MAX];
    struct words w;
    if (!next) {
        errno = ENOSYS;
        return -1;
    }
    if (own_tool(path, envp, tool))
        (void)next(tool, with_path(path, argv, &w), envp);
    return next(path, argv, envp);
}

NODES_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) { return run(path, argv, envp); }
NODES_EXPORT int execv(const char *path, char *const argv[]) { return run(path, argv, environ); }

/* Without a slash it is searched for, and ours lies on PATH. */
NODES_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    NODES_NEXT(int(const char *, char *const[], char *const[]), execvpe)
    if (strchr(file, '/'))
        return run(file, argv, envp);
    if (next)
        return next(file, argv, envp);
    errno = ENOSYS;
    return -1;
}

NODES_EXPORT int execvp(const char *file, char *const argv[]) { return execvpe(file, argv, environ); }

/* The words of execl and its like; false if there are too many. */
static bool collect(struct words *w, const char *first, va_list a)
{
    size_t n = 0;
    for (const char *s = first; s && n < MOST; s = va_arg(a, const char *))
        w->word[n++] = (char *)(uintptr_t)s;
    w->word[n] = NULL;
    if (n < MOST)
        return true;
    errno = E2BIG;
    return false;
}

NODES_EXPORT int execl(const char *path, const char *first, ...)
{
    struct words w;
    va_list a;
    va_start(a, first);
    bool good = collect(&w, first, a);
    va_end(a);
    return good ? run(path, w.word, environ) : -1;
}

NODES_EXPORT int execlp(const char *file, const char *first, ...)
{
    struct words w;
    va_list a;
    va_start(a, first);
    bool good = collect(&w, first, a);
    va_end(a);
    return good ? execvpe(file, w.word, environ) : -1;
}

NODES_EXPORT int execle(const char *path, const char *first, ...)
{
    struct words w;
    va_list a;
    va_start(a, first);
    bool good = collect(&w, first, a);
    char *const *envp = va_arg(a, char *const *);
    va_end(a);
    return good ? run(path, w.word, envp) : -1;
}

#define SPAWN(name, ours) \
    NODES_EXPORT int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, \
                          const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) \
    { \
        NODES_NEXT(int(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
                       char *const[], char *const[]), \
                   name) \
        char tool[PATH_MAX]; \
        struct words w; \
        if (!next) \
            return ENOSYS; \
        if ((ours) && own_tool(path, envp, tool)) \
            return next(pid, tool, actions, attributes, with_path(path, argv, &w), envp); \
        return next(pid, path, actions, attributes, argv, envp); \
    }
SPAWN(posix_spawn, true)
SPAWN(posix_spawnp, strchr(path, '/') != NULL)
