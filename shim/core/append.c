/* Appends lines to a file of the user's: what the logger and the tracer write with. */
#include "core/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(int fd, const char *line, size_t n)
{
    while (n) {
        ssize_t w = write(fd, line, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return;
        line += w;
        n -= (size_t)w;
    }
}

/* The file is opened for every line: a descriptor kept open in a guest would be closed and reused
 * behind our back by programs that close everything, and would be the parent's after fork. */
void cumu_append(const char *file, const char *line, size_t n)
{
    if (!*file) {
        put(STDERR_FILENO, line, n);
        return;
    }
    char path[1024];
    const char *p = strstr(file, "%p");
    int len = p ? snprintf(path, sizeof path, "%.*s%ld%s", (int)(p - file), file, (long)getpid(), p + 2)
                : snprintf(path, sizeof path, "%s", file);
    int fd = len < (int)sizeof path
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600)
                 : -1;
    put(fd < 0 ? STDERR_FILENO : fd, line, n);
    if (fd >= 0)
        (void)close(fd);
}
