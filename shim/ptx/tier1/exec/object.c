/* Tier 1 execution: loads objects. The dynamic linker takes files only, so an object passes through a file in memory:
 * nothing another process could exchange. Debuggers open the name that the linker shows, and gdb's own /proc/self/fd/N
 * may be a pipe that it waits for, so the name is this process's, and the file stays open. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptx/tier1/exec/object.h"

enum {
    HIGH = 512,      /* descriptors that a program counts on, or passes to select, lie below */
    MOST_FILES = 128 /* that stay open, of as many kernels: a program may open 1024 */
};
static atomic_uint open_files;

/* False with errno. What is longer than a file may be would be SIGXFSZ. */
static bool write_all(int fd, const char *p, size_t n)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY && n > r.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* The linker takes a name it has seen for the object it has loaded, and descriptors are used again. So
 * every load spells its name differently: the serial number's bits as "/" and "./". */
static void spell(char *path, size_t room, int fd, uint64_t serial)
{
    int n = snprintf(path, room, "/proc/%ld/fd/", (long)getpid());
    for (; serial; serial >>= 1)
        n += snprintf(path + n, room - (size_t)n, serial & 1 ? "./" : "/");
    snprintf(path + n, room - (size_t)n, "%d", fd);
}

static void *open_named(const char *path, const char **why)
{
    static _Thread_local char text[160];
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        snprintf(text, sizeof text, "%s", reason ? reason : "dlopen failed");
        *why = text;
    }
    return handle;
}

/* A file in memory, by a descriptor out of the program's way; -1 with *why set. */
static int make_file(const void *object, size_t size, const char **why)
{
    static _Thread_local char text[100];
    int fd = memfd_create("cumu-kernel", MFD_CLOEXEC), high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (fd >= 0 && write_all(fd, object, size))
        return fd;
    snprintf(text, sizeof text, "no file in memory for its object: %s", strerror(errno));
    *why = text;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Keeps the descriptor while the object is loaded, if there are few such. Of one that is closed the name may come to
 * mean another file, so it is made one that nothing has. */
static void keep_file(struct t1_object *o, int fd)
{
    struct rlimit r;
    struct stat st;
    struct link_map *map = NULL;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur / 8 < MOST_FILES ? r.rlim_cur / 8 : MOST_FILES;
    if (o->handle && fstat(fd, &st) == 0 && atomic_fetch_add(&open_files, 1) < most) {
        o->fd = fd;
        o->device = st.st_dev;
        o->inode = st.st_ino;
        return;
    }
    if (o->handle) {
        atomic_fetch_sub(&open_files, 1);
        if (dlinfo(o->handle, RTLD_DI_LINKMAP, &map) == 0 && map && strncmp(map->l_name, "/proc/", 6) == 0)
            memcpy(map->l_name, "/none/", 6); /* in place: the linker frees it */
    }
    close(fd);
}

static void drop_file(struct t1_object *o)
{
    struct stat st;
    if (o->fd < 0)
        return;
    atomic_fetch_sub(&open_files, 1);
    if (fstat(o->fd, &st) == 0 && st.st_dev == o->device && st.st_ino == o->inode) /* the program may have closed it */
        close(o->fd);
}

static void open_memory(struct t1_object *o, const void *object, size_t size, const char **why)
{
    char path[256];
    int fd = make_file(object, size, why);
    if (fd < 0)
        return;
    spell(path, sizeof path, fd, o->serial);
    o->handle = open_named(path, why);
    keep_file(o, fd);
}

/* By its name in the cache, which debuggers, perf and valgrind can open; once it was seen that the file is the user's
 * alone and begins with what was asked for. It is never written again, only removed. */
static void *open_file(const char *path, const void *object, size_t size)
{
    struct stat st;
    const char *why;
    void *handle = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
        (uint64_t)st.st_size >= size) {
        void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            if (memcmp(at, object, size) == 0)
                handle = open_named(path, &why);
            munmap(at, size);
        }
    }
    close(fd);
    return handle;
}

struct t1_object *t1_object_load(const void *object, size_t size, const char *path, const char **why)
{
    static atomic_uint_fast64_t serials = 1;
    struct t1_object *o = calloc(1, sizeof *o);
    *why = "out of memory";
    if (!o)
        return NULL;
    o->serial = atomic_fetch_add(&serials, 1);
    o->fd = -1;
    *why = "cannot be loaded";
    if (path)
        o->handle = open_file(path, object, size);
    if (!o->handle)
        open_memory(o, object, size, why);
    if (!o->handle)
        goto fail;
    *(void **)&o->run = dlsym(o->handle, "cumu_t1_run");
    o->info = dlsym(o->handle, "cumu_t1_info");
    *why = "not a kernel's object";
    if (!o->run || !o->info)
        goto fail;
    *why = "object of another version";
    if (o->info->version != T1_VERSION)
        goto fail;
    *why = "object for another CPU";
    if (o->info->isa > (uint32_t)t1_isa_here())
        goto fail;
    return o;
fail:
    t1_object_unload(o);
    return NULL;
}

void t1_object_unload(struct t1_object *o)
{
    if (!o)
        return;
    if (o->handle)
        dlclose(o->handle);
    drop_file(o);
    free(o->externs);
    free(o);
}

unsigned t1_object_watched(const struct t1_object *o) { return o->info->watched; }

bool t1_object_bind(struct t1_object *o, const struct t0_kernel *k)
{
    const struct lir_image *image = k->module->image;
    const struct lir_extern *e = LIR_AT(image, externs, struct lir_extern);
    uint64_t *all = calloc(image->externs.count + 1, sizeof *all);
    if (!all)
        return false;
    for (uint32_t i = 0; i < image->externs.count; i++)
        all[i] = e[i].address;
    free(o->externs);
    o->externs = all;
    return true;
}
