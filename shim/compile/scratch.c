/* Folders that compilers work in, and what becomes of those that nobody will remove. */
#include "compile/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/config.h"
#include "compile/cache.h"

enum {
    GRACE = 60,  /* seconds that a new folder has until it is locked, and a new file until it has its name */
    STALE = 3600 /* where the file system has no locks: no compiler runs longer */
};
enum { HOW = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

/* ---- names ----------------------------------------------------------------------------------- */

static const char in_cache[] = "tmp.", elsewhere[] = "cumu-";

void cumu_scratch_name(char *name, size_t room)
{
    static atomic_uint serial;
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t); /* process numbers repeat, across containers as well */
    (void)snprintf(name, room, "%s%ld.%u.%lx", in_cache, (long)getpid(), atomic_fetch_add(&serial, 1),
                   (unsigned long)t.tv_nsec);
}

static bool of_cache(const char *name) { return strncmp(name, in_cache, sizeof in_cache - 1) == 0; }

static bool of_mkdtemp(const char *name)
{
    return strncmp(name, elsewhere, sizeof elsewhere - 1) == 0 && strlen(name) == sizeof elsewhere - 1 + 6 &&
           !strchr(name, '.');
}

/* ---- removal --------------------------------------------------------------------------------- */

/* A file, or a folder with its files: compilers make no folders in theirs. */
static void remove_entry(int dir, const char *name)
{
    int fd = openat(dir, name, HOW | O_DIRECTORY);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        (void)unlinkat(fd, e->d_name, 0);
    if (d)
        (void)closedir(d);
    else if (fd >= 0)
        (void)close(fd);
    (void)unlinkat(dir, name, fd >= 0 ? AT_REMOVEDIR : 0);
}

/* Ours, old enough, and no process holds it. While a compiler runs, its minder (child.c) has the lock's descriptor,
 * too: a program that closes all that it does not know does not let it go. */
static bool is_left_over(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid())
        return false;
    time_t age = time(NULL) - st.st_mtime;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return age > GRACE;
    return errno != EWOULDBLOCK && age > STALE;
}

static void sweep(int dir, bool (*ours)(const char *name))
{
    int copy = openat(dir, ".", HOW | O_DIRECTORY);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        int fd = ours(e->d_name) ? openat(dir, e->d_name, HOW) : -1;
        if (fd < 0)
            continue;
        if (is_left_over(fd))
            remove_entry(dir, e->d_name);
        (void)close(fd);
    }
    if (d)
        (void)closedir(d);
    else if (copy >= 0)
        (void)close(copy);
}

void cumu_scratch_sweep(int cache) { sweep(cache, of_cache); }

/* ---- folders --------------------------------------------------------------------------------- */

static bool first(atomic_bool *done) { return !atomic_exchange(done, true); }

/* Descriptor of the new folder in *held, which stays -1 where there is none. */
static bool new_in_cache(char *path, size_t room, int *held)
{
    static atomic_bool swept;
    char name[64];
    int dir = cumu_cache_open(true);
    if (dir < 0)
        return false;
    if (first(&swept))
        cumu_scratch_sweep(dir);
    cumu_scratch_name(name, sizeof name);
    if (mkdirat(dir, name, 0700) == 0)
        *held = openat(dir, name, HOW | O_DIRECTORY);
    (void)close(dir);
    return *held >= 0 && snprintf(path, room, "%s/%s", cumu_cache_path(), name) < (int)room;
}

static bool new_elsewhere(char *path, size_t room, int *held)
{
    static atomic_bool swept;
    struct stat st;
    const char *tmp = cumu_env("TMPDIR");
    tmp = tmp && *tmp == '/' ? tmp : "/tmp";
    int dir = first(&swept) ? open(tmp, HOW | O_DIRECTORY) : -1;
    if (dir >= 0) {
        sweep(dir, of_mkdtemp);
        (void)close(dir);
    }
    if (snprintf(path, room, "%s/%sXXXXXX", tmp, elsewhere) >= (int)room || !mkdtemp(path))
        return false;
    *held = open(path, HOW | O_DIRECTORY);
    /* where others may rename what is in that folder, it may be another one by now */
    return *held >= 0 && fstat(*held, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077);
}

bool cumu_scratch_new(struct cumu_scratch *s)
{
    struct stat st = {.st_ino = 0};
    bool made = false;
    s->held = -1;
    made = new_in_cache(s->path, sizeof s->path, &s->held);
    if (!made && s->held < 0)
        made = new_elsewhere(s->path, sizeof s->path, &s->held);
    if (made && fstat(s->held, &st) == 0)
        (void)flock(s->held, LOCK_EX | LOCK_NB); /* a sweeper that looks at it just now leaves it for its age */
    else if (s->held >= 0)
        (void)close(s->held);
    s->device = st.st_dev;
    s->inode = st.st_ino;
    return made;
}

int cumu_scratch_folder(const struct cumu_scratch *s)
{
    struct stat st;
    bool same = fstat(s->held, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
    return same ? s->held : -1;
}

void cumu_scratch_drop(struct cumu_scratch *s)
{
    remove_entry(AT_FDCWD, s->path);
    if (cumu_scratch_folder(s) >= 0)
        (void)close(s->held);
}
