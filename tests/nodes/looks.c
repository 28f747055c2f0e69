/* Looks at the files by which programs recognise NVIDIA's driver, in every way that the C library has, and at others,
 * which must answer as ever, errno and all. `looks N` expects N devices; `looks time` prints what a call costs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static int bad;
static const char *volatile null;

static void told(const char *what, int good)
{
    printf("%s %s\n", good ? "ok" : "not ok", what);
    bad |= !good;
}

static int found(const char *path)
{
    struct stat st;
    struct stat64 st64;
    struct statx sx;
    int a = access(path, F_OK), b = stat(path, &st), c = lstat(path, &st), d = fstatat(AT_FDCWD, path, &st, 0),
        e = statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &sx), f = stat64(path, &st64),
        g = faccessat(AT_FDCWD, path, R_OK, 0), h = euidaccess(path, R_OK);
    int all = a + b + c + d + e + f + g + h;
    if (all && all != -8)
        printf("not ok %s: %d %d %d %d %d %d %d %d\n", path, a, b, c, d, e, f, g, h), bad = 1;
    return !all;
}

static int reads(const char *path, const char *text)
{
    char line[512] = "", again[512] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FILE *f = fopen(path, "re");
    int good = fd >= 0 && read(fd, line, sizeof line - 1) > 0 && f && fread(again, 1, sizeof again - 1, f) > 0 &&
               strstr(line, text) && strcmp(line, again) == 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC;
    if (f)
        fclose(f);
    close(fd);
    return good;
}

static int lists(const char *folder, const char *name)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += strcmp(e->d_name, name) == 0;
    if (d) {
        rewinddir(d);
        for (struct dirent *e; (e = readdir(d));)
            n += strcmp(e->d_name, name) == 0;
        closedir(d);
    }
    return n == 2;
}

/* Paths that a pattern matches, by glob and glob64, twice in one list. */
static int matches(const char *pattern)
{
    glob_t g = {0};
    glob64_t g64 = {0};
    int a = glob(pattern, 0, NULL, &g), b = glob64(pattern, GLOB_MARK, NULL, &g64);
    int n = a == GLOB_NOMATCH && b == GLOB_NOMATCH ? 0 : a || b || g.gl_pathc != g64.gl_pathc ? -1 : (int)g.gl_pathc;
    if (n > 0 &&
        (glob(pattern, GLOB_APPEND, NULL, &g) || g.gl_pathc != 2 * (size_t)n || (g.gl_flags & GLOB_ALTDIRFUNC)))
        n = -2;
    globfree(&g);
    globfree64(&g64);
    return n;
}

static int fails(int r, int with) { return r == -1 && errno == with; }

static void present(int devices)
{
    char path[64];
    struct stat st;
    for (int i = 0; i < devices; i++) {
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        told(path, found(path) && !stat(path, &st) && S_ISCHR(st.st_mode) && minor(st.st_rdev) == (unsigned)i);
    }
    snprintf(path, sizeof path, "/dev/nvidia%d", devices);
    told("no more than these", !found(path));
    int fd = open("/dev/nvidiactl", O_RDWR);
    told("the control device opens", fd >= 0 && found("/dev/nvidiactl") && found("/dev/nvidia-uvm"));
    close(fd);
    told("the driver's version", reads("/proc/driver/nvidia/version", "Kernel Module  "));
    told("the module", found("/sys/module/nvidia") && reads("/sys/module/nvidia/version", "."));
    told("what a device says of itself", reads("/proc/driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID"));
    told("folders are listed", lists("/proc/driver/nvidia/gpus", "0000:01:00.0") &&
                                   lists("/proc/driver/nvidia/", "version") && lists("/dev", "nvidia0"));
    told("patterns find them", matches("/dev/nvidia[0-9]*") == devices && matches("/dev/nvidia*") == devices + 3 &&
                                   matches("/d?v/nvidia0") == 1 && matches("/dev/nvidia0") == 1 &&
                                   matches("/proc/driver/nvidia/gpus/*/information") == devices &&
                                   matches("/*/module/nvidia/v*") == 1);
    told("a file of the driver is not written", fails(open("/proc/driver/nvidia/version", O_RDWR), EACCES) &&
                                                    fails(access("/proc/driver/nvidia/version", W_OK), EACCES));
    told("and is no folder", !opendir("/dev/nvidia0") && errno == ENOTDIR &&
                                 fails(open("/dev/nvidia0", O_RDONLY | O_DIRECTORY), ENOTDIR) &&
                                 !found("/dev/nvidia0/"));
}

static void others(void)
{
    struct stat st;
    told("what is not there is not there", !found("/dev/nvidia") && !found("/dev/nvidiax") && !found("/dev/nosuch") &&
                                               !found("/proc/driver/nvidia2") && !found("nvidia0"));
    told("nor do patterns find it", matches("/dev/nosuch*") == 0 && matches("nvidia*") == 0 &&
                                        matches("/dev/nul[l]") == 1 && matches("/et[c]/pass?d") == 1);
    told("errors are the system's",
         fails(stat("/dev/nosuch", &st), ENOENT) && fails(open("/dev/null/x", O_RDONLY), ENOTDIR) &&
             fails(access("", F_OK), ENOENT) && fails(stat("/", NULL), EFAULT) && !opendir("/nosuch") &&
             errno == ENOENT && !fopen("/nosuch", "r") && errno == ENOENT);
    told("a null pointer is an error", fails(access(null, F_OK), EFAULT));
    char name[] = "/tmp/cumu-nodes-XXXXXX";
    int fd = mkstemp(name);
    told("files are made with their mode", fd >= 0 && !unlink(name) &&
                                               (fd = open(name, O_CREAT | O_WRONLY, 0604)) >= 0 && !stat(name, &st) &&
                                               (st.st_mode & 0707) == 0604 && !unlink(name));
    close(fd);
}

static double nanoseconds(int (*call)(void))
{
    enum { TIMES = 200000 };
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < TIMES; i++)
        call();
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / TIMES;
}

static int there(void) { return access("/", F_OK); }
static int not_there(void) { return access("/nosuch", F_OK); }

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "0";
    if (strcmp(what, "time") == 0) {
        printf("access: %.0f ns where there is something, %.0f where there is nothing\n", nanoseconds(there),
               nanoseconds(not_there));
        return 0;
    }
    if (atoi(what))
        present(atoi(what));
    else
        told("no device is seen", !matches("/dev/nvidia*") && !found("/dev/nvidia0") && !found("/dev/nvidiactl") &&
                                      !found("/proc/driver/nvidia/version") && !opendir("/proc/driver/nvidia"));
    others();
    return bad;
}
