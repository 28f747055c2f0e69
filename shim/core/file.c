/* Whole reads and writes of files. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = 1 << 16 }; /* room to begin with: most files that are read whole are smaller */

bool cumu_read_all(int fd, void *to, size_t size)
{
    char *p = to;
    while (size) {
        ssize_t n = read(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* Beyond RLIMIT_FSIZE a write is SIGXFSZ, which ends a program that did not even know of our file. */
static bool fits(int fd, size_t size)
{
    struct rlimit r;
    struct stat st;
    if (getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur == RLIM_INFINITY || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    off_t at = fcntl(fd, F_GETFL) & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
    return at < 0 || ((rlim_t)at <= r.rlim_cur && size <= r.rlim_cur - (rlim_t)at);
}

bool cumu_write_all(int fd, const void *from, size_t size)
{
    const char *p = from;
    if (!fits(fd, size)) {
        errno = EFBIG;
        return false;
    }
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* The bytes of an open file up to its end, which for a pipe is not known before. */
static char *read_on(int fd, size_t most, size_t *size)
{
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    for (;;) {
        if (*size == room) {
            if (text && room == most)
                break;
            room = room ? 2 * room : FIRST;
            room = room < most ? room : most;
            char *more = realloc(text, room + 1);
            if (!more)
                goto fail;
            text = more;
        }
        ssize_t n = read(fd, text + *size, room - *size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            goto fail;
        if (n == 0)
            break;
        *size += (size_t)n;
    }
    text[*size] = '\0';
    return text;
fail:
    free(text);
    return NULL;
}

char *cumu_file_read(const char *path, size_t most, size_t *size)
{
    return cumu_file_read_at(AT_FDCWD, path, most, size);
}

char *cumu_file_read_at(int folder, const char *path, size_t most, size_t *size)
{
    *size = 0;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return NULL;
    char *text = read_on(fd, most, size);
    int why = errno;
    (void)close(fd);
    errno = why;
    return text;
}
