/* Assertions of the unit tests, and a way to look at what a fresh process says on stderr. */
#ifndef CUMU_TEST_UNIT_H
#define CUMU_TEST_UNIT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

static inline void check_text(const char *got, const char *want, const char *what)
{
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    check(same, "%s", what);
    if (!same)
        printf("    got  \"%s\"\n    want \"%s\"\n", got ? got : "(null)", want ? want : "(null)");
}

/* Runs f in a child of its own (options are read once a process) and returns its stderr. */
static inline const char *stderr_of(void (*f)(void))
{
    static char text[65536];
    size_t used = 0;
    ssize_t n;
    int p[2], status;
    (void)fflush(stdout);
    if (pipe(p) != 0)
        return "pipe failed";
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(p[1], STDERR_FILENO);
        (void)close(p[0]);
        f();
        _exit(0);
    }
    (void)close(p[1]);
    while ((n = read(p[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = 0;
    (void)close(p[0]);
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "the child died";
}

#endif
