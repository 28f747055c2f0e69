/* NVIDIA's own program beside ours: found, asked, and run in our place. */
#include "core/config.h"
#include "core/tools.h"
#include "tools/tools.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_file(const char *path, const struct stat *file)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* Runs, and is neither this very program under another name nor bin/cumu, which would start this one again. */
static bool usable(const char *path)
{
    static const char launcher[] = "/../bin/cumu";
    char beside[PATH_MAX + sizeof launcher];
    struct stat st;
    ssize_t n = readlink("/proc/self/exe", beside, PATH_MAX);
    if (n <= 0 || access(path, X_OK) != 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    beside[n] = 0;
    char *slash = strrchr(beside, '/');
    if (slash)
        memcpy(slash, launcher, sizeof launcher);
    return !is_file("/proc/self/exe", &st) && !is_file(beside, &st);
}

const char *tool_real(const struct tool *t, char **argv)
{
    static char path[PATH_MAX];
    if (*path)
        return path;
    if (strchr(argv[0], '/')) {
        (void)snprintf(path, sizeof path, "%s", argv[0]);
        if (usable(path))
            return path;
    }
    for (const char *s = cumu_env("PATH"); s && *s;) {
        size_t n = strcspn(s, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)n, s, t->name);
        if (n && usable(path))
            return path;
        s += n + (s[n] != 0);
    }
    *path = 0;
    return NULL;
}

void tool_become_real(const struct tool *t, char **argv)
{
    const char *path = tool_real(t, argv);
    if (path && setenv("CUMU_TOOLS", "real", 1) == 0)
        (void)execv(path, argv);
}

/* What it says comes through a pipe, so that nothing is said where it is content. */
bool tool_real_takes(const struct tool *t, char **argv, bool *none)
{
    unsigned n = 0;
    int said[2], status = -1;
    char text[4096];
    size_t size = 0;
    *none = !tool_real(t, argv);
    if (*none || pipe(said) != 0)
        return false;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        while (argv[n])
            n++;
        char **longer = calloc(n + 2, sizeof *longer), version[] = "--version";
        if (!longer)
            _exit(TOOL_FAILED);
        memcpy(longer, argv, n * sizeof *longer);
        longer[n] = version;
        (void)dup2(said[1], 1);
        (void)dup2(said[1], 2);
        (void)close(said[0]);
        tool_become_real(t, longer);
        _exit(TOOL_FAILED);
    }
    (void)close(said[1]);
    for (ssize_t got; size < sizeof text && (got = read(said[0], text + size, sizeof text - size)) > 0;)
        size += (size_t)got;
    (void)close(said[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    (void)fwrite(text, 1, size, stderr);
    return false;
}

int tool_version(const struct tool *t)
{
    /* What most releases of callers take: Triton 3.2 refuses tools newer than 12.6. */
    printf("%s: cumu's, in the place of NVIDIA (R) %s\nCuda compilation tools, release 12.4, V12.4.131\n", t->name,
           t->title);
    return 0;
}
