/* The list of hot kernels: a line for each, the key of its object, nanoseconds, tries. */
#include "compile/hot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/scratch.h"
#include "core/file.h"

enum { DIGITS = 2 * CUMU_HASH_BYTES, LINE = DIGITS + 40 };

static bool read_line(const char *line, struct cumu_hot *h)
{
    for (unsigned i = 0; i < CUMU_HASH_BYTES; i++)
        if (sscanf(line + (size_t)2 * i, "%2hhx", &h->key.hash[i]) != 1)
            return false;
    return sscanf(line + DIGITS, " %" SCNu64 " %u", &h->ns, &h->tries) == 2;
}

unsigned cumu_hot_read(struct cumu_hot *h)
{
    struct stat st;
    unsigned n = 0;
    char text[CUMU_HOT_MOST * LINE + 1], *save = NULL;
    int dir = cumu_cache_open(false);
    int fd = dir >= 0 ? openat(dir, CUMU_HOT_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
        st.st_size < (off_t)sizeof text && cumu_read_all(fd, text, (size_t)st.st_size)) {
        text[st.st_size] = '\0';
        for (char *l = strtok_r(text, "\n", &save); l && n < CUMU_HOT_MOST; l = strtok_r(NULL, "\n", &save))
            n += strspn(l, "0123456789abcdef") == DIGITS && read_line(l, &h[n]);
    }
    if (fd >= 0)
        (void)close(fd);
    if (dir >= 0)
        (void)close(dir);
    return n;
}

static int hotter(const void *a, const void *b)
{
    const struct cumu_hot *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

void cumu_hot_write(struct cumu_hot *h, unsigned n)
{
    char temporary[64], line[LINE + 1];
    int dir = cumu_cache_open(n > 0);
    if (dir < 0)
        return;
    qsort(h, n, sizeof *h, hotter);
    cumu_scratch_name(temporary, sizeof temporary);
    int fd = n ? openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    bool good = fd >= 0;
    for (unsigned i = 0; good && i < n && i < CUMU_HOT_MOST; i++) {
        for (unsigned b = 0; b < CUMU_HASH_BYTES; b++)
            (void)snprintf(line + (size_t)2 * b, 3, "%02x", h[i].key.hash[b]);
        int end = snprintf(line + DIGITS, sizeof line - DIGITS, " %" PRIu64 " %u\n", h[i].ns, h[i].tries);
        good = cumu_write_all(fd, line, DIGITS + (size_t)end);
    }
    if (fd >= 0 && (close(fd) != 0 || !good || renameat(dir, temporary, dir, CUMU_HOT_FILE) != 0))
        (void)unlinkat(dir, temporary, 0);
    if (!n)
        (void)unlinkat(dir, CUMU_HOT_FILE, 0);
    (void)close(dir);
}
