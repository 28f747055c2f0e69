/* What limits say of memory: control groups of both versions and strict accounting, read below folders made here. */
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "host/driver/limits.h"

static char root[] = "/tmp/cumu-limits-XXXXXX";

/* Writes a file below the root, with its folders. */
static void put(const char *below, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s%s", root, below);
    for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        mkdir(path, 0700);
        *s = '/';
    }
    FILE *f = fopen(path, "w");
    MUST(!f);
    fputs(text, f);
    MUST(fclose(f));
}

static void groups(size_t want, const char *what)
{
    size_t got = host_limit_groups(root);
    check(got == want, "control groups: %s: %zu", what, got);
}

static void commit(size_t want, const char *what)
{
    size_t got = host_limit_commit(root);
    check(got == want, "accounting: %s: %zu", what, got);
}

int main(void)
{
    enum { MB = 1 << 20 };
    MUST(!mkdtemp(root));
    groups(SIZE_MAX, "no /proc, no groups");
    put("/proc/self/cgroup", "0::/user/me/job\n");
    groups(SIZE_MAX, "version 2, no memory controller");
    put("/sys/fs/cgroup/user/me/job/memory.max", "max\n");
    groups(SIZE_MAX, "version 2, no limit");
    put("/sys/fs/cgroup/user/memory.max", "536870912\n");
    groups(512 * MB, "version 2, of a group above");
    put("/sys/fs/cgroup/user/me/job/memory.max", "268435456\n");
    groups(256 * MB, "version 2, its own is smaller");
    put("/sys/fs/cgroup/user/me/memory.max", "rubbish\n");
    groups(256 * MB, "version 2, a file of rubbish");
    put("/sys/fs/cgroup/memory.max", "134217728\n");
    put("/proc/self/cgroup", "0::/../elsewhere\n");
    groups(128 * MB, "version 2, a container: the mount's own");
    put("/proc/self/cgroup", "0::/\n");
    groups(128 * MB, "version 2, the group is the mount");
    put("/proc/self/cgroup", "garbage\n:\n::\n1:\n2:memory\n3:memory:x\n");
    groups(128 * MB, "lines of rubbish");
    put("/sys/fs/cgroup/memory.max", "max\n");
    put("/proc/self/cgroup", "5:cpu:/a\n4:memory:/a/b\n0::/a/b\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n");
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    groups(64 * MB, "version 1, of a group above");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n");
    groups(32 * MB, "version 1, a container: the mount's own");

    commit(SIZE_MAX, "no /proc/sys");
    put("/proc/meminfo", "MemTotal: 9 kB\nCommitLimit:      4096 kB\nCommitted_AS:     1024 kB\n");
    put("/proc/sys/vm/overcommit_memory", "0\n");
    commit(SIZE_MAX, "heuristic");
    put("/proc/sys/vm/overcommit_memory", "1\n");
    commit(SIZE_MAX, "none");
    put("/proc/sys/vm/overcommit_memory", "2\n");
    commit(3 * MB, "strict: what is left");
    put("/proc/meminfo", "MemTotal: 9 kB\nCommitLimit:      1024 kB\nCommitted_AS:     4096 kB\n");
    commit(0, "strict: nothing is left");
    put("/proc/meminfo", "");
    commit(SIZE_MAX, "strict, an empty /proc/meminfo");

    char text[64]; /* sanitizers take terabytes */
    MUST(!host_limit_text("/proc/self/statm", text, sizeof text));
    rlim_t most = strtoull(text, NULL, 10) * 4096 + ((rlim_t)1 << 30);
    MUST(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}));
    size_t left = host_limit_address_space(), each = host_limit_memory(1);
    check(left <= (size_t)1 << 30 && left > (size_t)1 << 29, "address space: %zu of 1 GiB are left", left);
    check(each >= MB && each <= left / 8, "a device takes %zu of it at most", each);

    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    MUST(system(command));
    return check_end("limits");
}
