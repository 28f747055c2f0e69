/* Appends lines to a file of the user's: what the logger and the tracer write with. */
#include "core/append.h"
#include "core/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cumu_append_name(const char *file, char *path, size_t size)
{
    const char *p = strstr(file, "%p");
    int n = p ? snprintf(path, size, "%.*s%ld%s", (int)(p - file), file, (long)getpid(), p + 2)
              : snprintf(path, size, "%s", file);
    return n >= 0 && (size_t)n < size;
}

/* The file is opened for every line: a descriptor kept open in a guest would be closed and reused
 * behind our back by programs that close everything, and would be the parent's after fork. */
void cumu_append(const char *file, const char *line, size_t n)
{
    char path[1024];
    int fd = *file && cumu_append_name(file, path, sizeof path)
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600)
                 : -1;
    (void)cumu_write_all(fd < 0 ? STDERR_FILENO : fd, line, n);
    if (fd >= 0)
        (void)close(fd);
}
