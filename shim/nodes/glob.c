/* glob(): the C library reads folders by itself, unless it is given functions to do so: it is given ours where a
 * pattern may mean nodes. */
#include "nodes/nodes.h"

#include <errno.h>
#include <glob.h>
#include <stdint.h>

/* Only where the folder of the nodes is written out, or a pattern takes its place. */
static bool may_mean_nodes(const char *pattern)
{
    static const char *const folders[] = {"/dev/", "/proc/driver", "/sys/module/"};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t n = strlen(folders[i]), fixed = strcspn(pattern, "*?[{");
        if (strncmp(pattern, folders[i], fixed < n ? fixed : n) == 0 && pattern[0] == '/')
            return true;
    }
    return false;
}

/* The functions of glob's with our types; the calls go to those of folders.c and files.c. */
static void *open_folder(const char *path) { return opendir(path); }
static struct dirent *read_folder(void *d) { return readdir(d); }
static void close_folder(void *d) { (void)closedir(d); }
static int look(const char *path, struct stat *out) { return stat(path, out); }
static int look_at_link(const char *path, struct stat *out) { return lstat(path, out); }

NODES_EXPORT int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *out)
{
    NODES_NEXT(int(const char *, int, int (*)(const char *, int), glob_t *), glob)
    if (!next) {
        errno = ENOSYS;
        return GLOB_ABORTED;
    }
    if ((flags & GLOB_ALTDIRFUNC) || !may_mean_nodes(pattern))
        return next(pattern, flags, failed, out);
    out->gl_opendir = open_folder;
    out->gl_readdir = read_folder;
    out->gl_closedir = close_folder;
    out->gl_stat = look;
    out->gl_lstat = look_at_link;
    int result = next(pattern, flags | GLOB_ALTDIRFUNC, failed, out);
    out->gl_flags &= ~GLOB_ALTDIRFUNC; /* not the caller's wish */
    return result;
}

/* The same where sizes have 64 bits. */
NODES_EXPORT int glob64(const char *pattern, int flags, int (*failed)(const char *, int), glob64_t *out)
{
    return glob(pattern, flags, failed, (glob_t *)(void *)out);
}
