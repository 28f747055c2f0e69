/* Wheels that unpack to far more than they are, and `cumu check` that is ended in the middle of one. */
#include "check.h"
#include "cli/inputs.h"
#include "cli/zip.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { PAGE = 4096 };
#define UNPACKED ((uint64_t)200 << 20)

static char dir[] = "/tmp/cumu-zip.XXXXXX";
static char said[200];

static void note(void *ctx, const char *member, const char *why)
{
    (void)ctx;
    (void)snprintf(said, sizeof said, "%s %s", member, why);
}

static void put(FILE *f, uint64_t value, unsigned bytes)
{
    for (; bytes--; value >>= 8)
        (void)fputc((int)(value & 255), f);
}

/* An archive of one ELF file: its magic, then this page over and over. */
static void make(const char *path, const unsigned char page[PAGE])
{
    FILE *f = fopen(path, "w");
    unsigned char first[PAGE], out[65536];
    z_stream z = {0};
    memcpy(first, page, PAGE);
    memcpy(first, ELFMAG, SELFMAG);
    put(f, 0x04034b50, 4);
    put(f, 0, 22);
    put(f, 4, 2);
    put(f, 0, 2);
    (void)fputs("a.so", f);
    (void)deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    for (uint64_t done = 0; done <= UNPACKED; done += PAGE) {
        z.next_in = (unsigned char *)(uintptr_t)(done ? page : first);
        z.avail_in = done < UNPACKED ? PAGE : 0;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            (void)deflate(&z, done < UNPACKED ? Z_NO_FLUSH : Z_FINISH);
            (void)fwrite(out, 1, sizeof out - z.avail_out, f);
        } while (!z.avail_out);
    }
    uint64_t packed = z.total_out, at = (uint64_t)ftell(f);
    (void)deflateEnd(&z);
    (void)fseek(f, 8, SEEK_SET);
    put(f, 8, 2);
    (void)fseek(f, 0, SEEK_END);
    put(f, 0x02014b50, 4);
    put(f, 0, 6);
    put(f, 8, 2);
    put(f, 0, 8);
    put(f, packed, 4);
    put(f, UNPACKED, 4);
    put(f, 4, 2);
    put(f, 0, 16);
    (void)fputs("a.so", f);
    uint64_t end = (uint64_t)ftell(f);
    put(f, 0x06054b50, 4);
    put(f, 0, 4);
    put(f, 1, 2);
    put(f, 1, 2);
    put(f, end - at, 4);
    put(f, at, 4);
    put(f, 0, 2);
    (void)fclose(f);
}

static unsigned entries(const char *path)
{
    unsigned n = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        (void)closedir(d);
    return n;
}

static void test_end(const char *archive, int sig)
{
    int ready[2], tries = 0;
    char byte;
    (void)fflush(stdout);
    MUST(pipe(ready));
    pid_t pid = fork();
    if (pid == 0) {
        struct check_inputs in;
        (void)check_inputs_make(&in, archive);
        (void)!write(ready[1], "x", 1);
        (void)pause();
        _exit(0);
    }
    (void)!read(ready[0], &byte, 1);
    const unsigned before = entries(dir);
    (void)kill(pid, sig);
    (void)waitpid(pid, NULL, 0);
    while (entries(dir) && tries++ < 100)
        (void)usleep(10000);
    check(before == 1 && !entries(dir), "nothing unpacked is left after signal %d", sig);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

int main(void)
{
    char zip[64], out[64], file[80];
    unsigned char page[PAGE] = {0};
    struct stat st = {0}, packed = {0};
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(zip, sizeof zip, "%s.zip", dir);
    (void)snprintf(out, sizeof out, "%s.out", dir);
    (void)snprintf(file, sizeof file, "%s/a.so", out);
    (void)setenv("TMPDIR", dir, 1);
    MUST(mkdir(out, 0700));

    make(zip, page);
    (void)stat(zip, &packed);
    check(!cumu_zip_unpack(zip, out, note, NULL) && !*said && !stat(file, &st) && (uint64_t)st.st_size == UNPACKED &&
              st.st_blocks < 1000,
          "zeros of %ld KB in an archive are no bytes on the disk (%ld blocks)", (long)packed.st_size >> 10,
          (long)st.st_blocks);
    (void)unlink(file);
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_FSIZE, &limit));
    MUST(setrlimit(RLIMIT_FSIZE, &(struct rlimit){UNPACKED - 1, limit.rlim_max}));
    *said = 0;
    check(!cumu_zip_unpack(zip, out, note, NULL) && strstr(said, strerror(EFBIG)),
          "beyond RLIMIT_FSIZE, no SIGXFSZ: %s", said);
    MUST(setrlimit(RLIMIT_FSIZE, &limit));
    (void)unlink(file);
    *said = 0;
    test_end(zip, SIGKILL);
    test_end(zip, SIGINT);
    test_end(zip, SIGTERM);

    srand(1);
    for (unsigned i = 0; i < PAGE; i++)
        page[i] = (unsigned char)rand();
    make(zip, page);
    (void)stat(zip, &packed);
    check(!cumu_zip_unpack(zip, out, note, NULL) && strstr(said, "far more") && (stat(file, &st) || !st.st_blocks),
          "what unpacks to 200 MB of %ld KB is left out: %s", (long)packed.st_size >> 10, said);
    (void)unlink(file);
    (void)unlink(zip);
    (void)rmdir(out);
    check(!rmdir(dir), "no files are left");
    return check_end("archives");
}
