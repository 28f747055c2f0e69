/* stat, access, open and fopen, each first as the C library does it; what it does not find may be a node. */
#include "core/tools.h"
#include "nodes/nodes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void *nodes_next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The node of a path that was not found; a folder's descriptor does not matter for a path from the root. */
static const struct node *missing(const char *path) { return errno == ENOENT ? nodes_find(path) : NULL; }

static int no_function(void)
{
    errno = ENOSYS;
    return -1;
}

/* ---- stat ---- */

void nodes_stat(const struct node *n, struct stat *out)
{
    static const mode_t modes[] = {[NODE_FOLDER] = S_IFDIR | 0555,
                                   [NODE_DEVICE] = S_IFCHR | 0666,
                                   [NODE_TEXT] = S_IFREG | 0444,
                                   [NODE_PROGRAM] = S_IFREG | 0555};
    memset(out, 0, sizeof *out);
    out->st_mode = modes[n->kind];
    out->st_nlink = n->kind == NODE_FOLDER ? 2 : 1;
    out->st_blksize = 4096;
    out->st_ino = 1;
    for (const char *c = n->path; *c; c++) /* each its own, as FNV-1a mixes */
        out->st_ino = (out->st_ino ^ (unsigned char)*c) * 1099511628211u;
    if (n->kind == NODE_DEVICE)
        out->st_rdev = makedev(n->major, n->minor);
    if (n->kind == NODE_PROGRAM) /* some look whether it is empty */
        out->st_size = NODE_PROGRAM_SIZE;
}

static int told(const struct node *n, void *out)
{
    nodes_stat(n, out);
    return 0;
}

/* stat64 is stat where sizes have 64 bits, and the old __xstat takes a number of the struct's form first. */
#define STAT(name) \
    NODES_EXPORT int name(const char *path, struct stat *out) \
    { \
        NODES_NEXT(int(const char *, struct stat *), name) \
        int r = next ? next(path, out) : no_function(); \
        const struct node *n = r ? missing(path) : NULL; \
        return n ? told(n, out) : r; \
    }
#define XSTAT(name, type) \
    NODES_EXPORT int name(int form, const char *path, struct type *out); /* headers before glibc 2.33 have it so */ \
    NODES_EXPORT int name(int form, const char *path, struct type *out) \
    { \
        NODES_NEXT(int(int, const char *, struct type *), name) \
        int r = next ? next(form, path, out) : no_function(); \
        const struct node *n = r ? missing(path) : NULL; \
        return n ? told(n, out) : r; \
    }
STAT(stat)
STAT(lstat)
XSTAT(__xstat, stat)
XSTAT(__lxstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat64, stat64)

NODES_EXPORT int fstatat(int folder, const char *path, struct stat *out, int flags)
{
    NODES_NEXT(int(int, const char *, struct stat *, int), fstatat)
    int r = next ? next(folder, path, out, flags) : no_function();
    const struct node *n = r ? missing(path) : NULL;
    return n ? told(n, out) : r;
}

NODES_EXPORT int __fxstatat(int form, int folder, const char *path, struct stat *out, int flags);
NODES_EXPORT int __fxstatat(int form, int folder, const char *path, struct stat *out, int flags)
{
    NODES_NEXT(int(int, int, const char *, struct stat *, int), __fxstatat)
    int r = next ? next(form, folder, path, out, flags) : no_function();
    const struct node *n = r ? missing(path) : NULL;
    return n ? told(n, out) : r;
}

NODES_EXPORT int stat64(const char *path, struct stat64 *out) { return stat(path, (struct stat *)out); }
NODES_EXPORT int lstat64(const char *path, struct stat64 *out) { return lstat(path, (struct stat *)out); }
NODES_EXPORT int fstatat64(int folder, const char *path, struct stat64 *out, int flags)
{
    return fstatat(folder, path, (struct stat *)out, flags);
}

NODES_EXPORT int statx(int folder, const char *path, int flags, unsigned mask, struct statx *out)
{
    NODES_NEXT(int(int, const char *, int, unsigned, struct statx *), statx)
    int r = next ? next(folder, path, flags, mask, out) : no_function();
    const struct node *n = r ? missing(path) : NULL;
    if (!n)
        return r;
    struct stat st;
    nodes_stat(n, &st);
    memset(out, 0, sizeof *out);
    out->stx_mask = STATX_BASIC_STATS;
    out->stx_mode = (unsigned short)st.st_mode;
    out->stx_nlink = (unsigned)st.st_nlink;
    out->stx_blksize = (unsigned)st.st_blksize;
    out->stx_ino = st.st_ino;
    out->stx_size = (unsigned long long)st.st_size;
    out->stx_rdev_major = major(st.st_rdev);
    out->stx_rdev_minor = minor(st.st_rdev);
    return 0;
}

/* ---- access ---- */

int nodes_access(const struct node *n, int mode)
{
    struct stat st;
    nodes_stat(n, &st);
    if (!(mode & (W_OK | X_OK)) || (mode & ~(int)(st.st_mode & 7)) == 0)
        return 0;
    errno = EACCES;
    return -1;
}

NODES_EXPORT int access(const char *path, int mode)
{
    NODES_NEXT(int(const char *, int), access)
    int r = next ? next(path, mode) : no_function();
    const struct node *n = r ? missing(path) : NULL;
    return n ? nodes_access(n, mode) : r;
}

NODES_EXPORT int euidaccess(const char *path, int mode)
{
    NODES_NEXT(int(const char *, int), euidaccess)
    int r = next ? next(path, mode) : no_function();
    const struct node *n = r ? missing(path) : NULL;
    return n ? nodes_access(n, mode) : r;
}

NODES_EXPORT int eaccess(const char *path, int mode) { return euidaccess(path, mode); }

NODES_EXPORT int faccessat(int folder, const char *path, int mode, int flags)
{
    NODES_NEXT(int(int, const char *, int, int), faccessat)
    int r = next ? next(folder, path, mode, flags) : no_function();
    const struct node *n = r ? missing(path) : NULL;
    return n ? nodes_access(n, mode) : r;
}

/* ---- open ---- */

/* A device answers as /dev/null does, so that its descriptor can be polled, closed and asked by ioctl, which it knows
 * no number of; a file is one in memory. Folders are for opendir. */
int nodes_open(const struct node *n, int flags)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (n->kind == NODE_FOLDER) {
        errno = writes ? EISDIR : EACCES;
        return -1;
    }
    if (flags & O_DIRECTORY) {
        errno = ENOTDIR;
        return -1;
    }
    NODES_NEXT(int(const char *, int, ...), open)
    if (n->kind == NODE_DEVICE)
        return next ? next("/dev/null", flags & ~(O_CREAT | O_EXCL | O_TRUNC)) : no_function();
    if (writes) {
        errno = EACCES;
        return -1;
    }
    char tool[PATH_MAX];
    if (n->kind == NODE_PROGRAM)
        return next && nodes_tool(cumu_base_name(n->path), tool) ? next(tool, flags) : no_function();
    int fd = memfd_create("nvidia", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    size_t size = strlen(n->text);
    if (fd >= 0 && (write(fd, n->text, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)) {
        (void)close(fd);
        fd = -1;
        errno = EIO;
    }
    return fd;
}

/* The mode is there when a file may be made. */
static mode_t mode_of(int flags, va_list a) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(a, mode_t) : 0; }

#define OPEN(name) \
    NODES_EXPORT int name(const char *path, int flags, ...) \
    { \
        va_list a; \
        va_start(a, flags); \
        mode_t mode = mode_of(flags, a); \
        va_end(a); \
        NODES_NEXT(int(const char *, int, ...), name) \
        int r = next ? next(path, flags, mode) : no_function(); \
        const struct node *n = r < 0 ? missing(path) : NULL; \
        return n ? nodes_open(n, flags) : r; \
    }
#define OPENAT(name) \
    NODES_EXPORT int name(int folder, const char *path, int flags, ...) \
    { \
        va_list a; \
        va_start(a, flags); \
        mode_t mode = mode_of(flags, a); \
        va_end(a); \
        NODES_NEXT(int(int, const char *, int, ...), name) \
        int r = next ? next(folder, path, flags, mode) : no_function(); \
        const struct node *n = r < 0 ? missing(path) : NULL; \
        return n ? nodes_open(n, flags) : r; \
    }
/* What programs compiled with _FORTIFY_SOURCE call. */
#define OPEN_2(name) \
    NODES_EXPORT int name(const char *path, int flags); \
    NODES_EXPORT int name(const char *path, int flags) \
    { \
        NODES_NEXT(int(const char *, int), name) \
        int r = next ? next(path, flags) : no_function(); \
        const struct node *n = r < 0 ? missing(path) : NULL; \
        return n ? nodes_open(n, flags) : r; \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OPEN_2(__open_2)
OPEN_2(__open64_2)

/* "r", with + for writing and e for close-on-exec. */
static FILE *stream(const struct node *n, const char *mode)
{
    int flags = (strchr(mode, '+') ? O_RDWR : O_RDONLY) | (strchr(mode, 'e') ? O_CLOEXEC : 0);
    int fd = nodes_open(n, flags);
    FILE *f = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (fd >= 0 && !f)
        (void)close(fd);
    return f;
}

#define FOPEN(name) \
    NODES_EXPORT FILE *name(const char *path, const char *mode) \
    { \
        NODES_NEXT(FILE *(const char *, const char *), name) \
        FILE *f = next ? next(path, mode) : NULL; \
        const struct node *n = f || *mode != 'r' ? NULL : missing(path); \
        return n ? stream(n, mode) : f; \
    }
FOPEN(fopen)
FOPEN(fopen64)
