/* Fuzz target of the zip reader: unpacks whatever it is given into a folder of its own. */
#include "cli/zip.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note(void *ctx, const char *member, const char *why)
{
    size_t *sum = ctx;
    *sum += (unsigned char)*member + (unsigned char)*why;
}

static int erase(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char dir[] = "/tmp/fuzz-zip.XXXXXX", path[64];
    size_t sum = 0;
    int fd = memfd_create("zip", MFD_CLOEXEC);
    if (fd >= 0 && mkdtemp(dir) && write(fd, data, size) == (ssize_t)size) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        (void)cumu_zip_is(path);
        (void)cumu_zip_unpack(path, dir, note, &sum);
        (void)nftw(dir, erase, 16, FTW_DEPTH | FTW_PHYS);
    }
    if (fd >= 0)
        (void)close(fd);
    return 0;
}
