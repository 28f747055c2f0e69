/* What the limits of a process leave for devices: RLIMIT_AS, RLIMIT_FSIZE, control groups, overcommit. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/driver/limits.h"

#define PAGE ((size_t)4096)
#define NONE SIZE_MAX

bool host_limit_text(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, room - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static size_t read_size(const char *root, const char *below)
{
    char path[600], text[64];
    snprintf(path, sizeof path, "%s%s", root, below);
    if (!host_limit_text(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return NONE;
    return strtoull(text, NULL, 10);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The smallest limit of a control group and those above it. `group` is cut from its end. */
static size_t group_limit(const char *root, const char *mount, char *group, const char *file)
{
    char below[600];
    size_t limit = NONE;
    for (;;) {
        snprintf(below, sizeof below, "%s%s/%s", mount, group, file);
        limit = least(limit, read_size(root, below));
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = 0;
    }
}

/* By both versions of control groups. In a container the group's path is often not below the mount: then the mount's
 * own files count, where the walk ends. */
size_t host_limit_groups(const char *root)
{
    char path[600], text[4096], group[512], *save = NULL;
    size_t limit = NONE;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!host_limit_text(path, text, sizeof text))
        text[0] = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *kind = strchr(line, ':'), *at = kind ? strchr(kind + 1, ':') : NULL;
        if (!at || at[1] != '/')
            continue;
        *at++ = 0;
        snprintf(group, sizeof group, "%s", at);
        if (!kind[1])
            limit = least(limit, group_limit(root, "/sys/fs/cgroup", group, "memory.max"));
        else if (strcmp(kind + 1, "memory") == 0)
            limit = least(limit, group_limit(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
    limit = least(limit, read_size(root, "/sys/fs/cgroup/memory.max"));
    return least(limit, read_size(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

/* The number behind a name in /proc/meminfo, in bytes. */
static size_t meminfo(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? (size_t)strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

/* With strict accounting pages beyond the limit are SIGBUS when they are touched. */
size_t host_limit_commit(const char *root)
{
    char path[600], text[4096];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_size(root, "/proc/sys/vm/overcommit_memory") != 2 || !host_limit_text(path, text, sizeof text))
        return NONE;
    size_t limit = meminfo(text, "CommitLimit:"), used = meminfo(text, "Committed_AS:");
    return limit > used ? limit - used : 0;
}

size_t host_limit_address_space(void)
{
    struct rlimit r;
    char text[64];
    if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY)
        return NONE;
    size_t used = host_limit_text("/proc/self/statm", text, sizeof text) ? strtoull(text, NULL, 10) * PAGE : 0;
    return r.rlim_cur > used ? r.rlim_cur - used : 0;
}

size_t host_limit_file(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_FSIZE, &r) || r.rlim_max == RLIM_INFINITY ? NONE : (size_t)r.rlim_max / PAGE * PAGE;
}

size_t host_limit_memory(int devices)
{
    size_t total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
           n = devices > 0 ? (size_t)devices : 1;
    total = least(least(total, host_limit_groups("")), host_limit_commit(""));
    size_t each = total / 2 / n, floor = (size_t)64 << 20;
    each = each > floor ? each : floor;
    /* Devices need address space twice, kernels, handles and the program as much again; one file is a device. */
    size_t space = host_limit_address_space(), file = host_limit_file();
    each = least(each, space == NONE ? NONE : space / 8 / n);
    each = least(each, file == NONE ? NONE : file / 2);
    size_t smallest = (size_t)1 << 20;
    return each > smallest ? each >> 20 << 20 : smallest;
}

int cumu_host_grow(int fd, size_t size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct rlimit r;
    if (getrlimit(RLIMIT_FSIZE, &r) || r.rlim_cur == RLIM_INFINITY || size <= r.rlim_cur)
        return ftruncate(fd, (off_t)size);
    if (size > r.rlim_max) {
        errno = EFBIG;
        return -1;
    }
    pthread_mutex_lock(&lock);
    int bad = -1;
    if (!getrlimit(RLIMIT_FSIZE, &r)) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){r.rlim_max, r.rlim_max});
        bad = ftruncate(fd, (off_t)size);
        int why = errno;
        setrlimit(RLIMIT_FSIZE, &r);
        errno = why;
    }
    pthread_mutex_unlock(&lock);
    return bad;
}
