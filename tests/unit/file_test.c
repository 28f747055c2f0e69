/* Whole reads and writes: files of all sizes about the buffer's, pieces from a pipe, files cut at a limit, errors. */
#include "core/file.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST = 1 << 16, LARGEST = 3 * FIRST };

static char bytes[LARGEST], path[] = "/tmp/cumu-file-XXXXXX";

static bool written(size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    return fd >= 0 && cumu_write_all(fd, bytes, size) && close(fd) == 0;
}

static bool reads(size_t size, size_t most)
{
    size_t got, want = size < most ? size : most;
    char *text = cumu_file_read(path, most, &got);
    bool good = text && got == want && memcmp(text, bytes, want) == 0 && !text[want];
    free(text);
    return good;
}

static void from_pipe(void)
{
    int p[2];
    char name[32];
    size_t got = 0;
    if (!check(pipe(p) == 0, "pipe"))
        return;
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < LARGEST; i += 4096)
            if (!cumu_write_all(p[1], bytes + i, 4096))
                _exit(1);
        _exit(0);
    }
    (void)close(p[1]);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", p[0]);
    char *text = cumu_file_read(name, INT_MAX, &got);
    check(text && got == LARGEST && memcmp(text, bytes, LARGEST) == 0, "a pipe's pieces are one text");
    free(text);
    (void)close(p[0]);
    (void)waitpid(child, NULL, 0);
}

int main(void)
{
    static const size_t sizes[] = {0, 1, FIRST - 1, FIRST, FIRST + 1, 2 * FIRST, LARGEST};
    char few[8];
    size_t got = 1;
    bool good = true;
    int fd = mkstemp(path);
    for (size_t i = 0; i < LARGEST; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        good &= written(sizes[i]);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            good &= reads(sizes[i], sizes[k]);
        good &= reads(sizes[i], PTRDIFF_MAX);
    }
    check(good, "files of all sizes, whole and cut at a limit");
    good = written(sizeof few) && cumu_read_all(fd, few, sizeof few) && !cumu_read_all(fd, few, 1);
    check(good, "what is not there is not read");
    check(!cumu_write_all(open("/dev/full", O_WRONLY), bytes, 1) && errno == ENOSPC, "a full disk is an error");
    (void)unlink(path);
    check(!cumu_file_read(path, 1, &got) && errno == ENOENT && !got, "no file");
    check(!cumu_file_read("/tmp", 1, &got) && errno == EISDIR, "a folder is no file");
    from_pipe();
    return check_end("unit file");
}
