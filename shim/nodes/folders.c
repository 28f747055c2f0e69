/* opendir and its like: folders of nodes, and nodes at the end of the real folders that they lie in. */
#include "nodes/nodes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

enum { OPEN_FOLDERS = 32 };

/* A folder that is being read. The handle of one without a real folder is the address of its entry here. Entries are
 * taken and given back without a lock, which a fork could leave held in the child. */
static struct listing {
    _Atomic(DIR *) handle; /* NULL: free */
    char path[NODE_PATH];
    unsigned next;
    struct dirent entry;
} listings[OPEN_FOLDERS];
static atomic_uint used; /* while nobody reads such a folder nothing is searched */

static struct listing *listing_of(DIR *d)
{
    for (unsigned i = 0; atomic_load(&used) && i < OPEN_FOLDERS; i++)
        if (atomic_load(&listings[i].handle) == d)
            return &listings[i];
    return NULL;
}

static bool without_folder(const struct listing *l) { return (const void *)atomic_load(&l->handle) == (const void *)l; }

/* A new listing of this folder; `real` NULL makes one without a real folder. NULL if too many are open. Nobody else
 * knows the handle yet, so an entry that has it may still be filled. */
static struct listing *begin(const char *path, DIR *real)
{
    for (unsigned i = 0; i < OPEN_FOLDERS; i++) {
        struct listing *l = &listings[i];
        DIR *none = NULL;
        if (!atomic_compare_exchange_strong(&l->handle, &none, real ? real : (DIR *)(void *)l))
            continue;
        (void)snprintf(l->path, sizeof l->path, "%s", path);
        size_t n = strlen(l->path);
        if (n > 1 && l->path[n - 1] == '/')
            l->path[n - 1] = 0;
        l->next = 0;
        atomic_fetch_add(&used, 1);
        return l;
    }
    return NULL;
}

static bool holds_nodes(const char *path)
{
    static const char *const folders[] = {"/dev", "/proc/driver", "/sys/module"};
    size_t n = strlen(path);
    if (n > 1 && path[n - 1] == '/')
        n--;
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strlen(folders[i]) == n && strncmp(folders[i], path, n) == 0)
            return true;
    return false;
}

NODES_EXPORT DIR *opendir(const char *path)
{
    NODES_NEXT(DIR * (const char *), opendir)
    DIR *d = next ? next(path) : NULL;
    if (d) {
        if (path[0] == '/' && holds_nodes(path))
            (void)begin(path, d);
        return d;
    }
    const struct node *n = errno == ENOENT ? nodes_find(path) : NULL;
    if (!n)
        return NULL;
    if (n->kind != NODE_FOLDER) {
        errno = ENOTDIR;
        return NULL;
    }
    struct listing *l = begin(n->path, NULL);
    errno = l ? errno : EMFILE;
    return (DIR *)(void *)l;
}

/* The next node of a folder, as an entry. A folder of ours begins as all do. */
static struct dirent *next_node(struct listing *l)
{
    const char *name = NULL;
    const struct node *n = NULL;
    unsigned dots = without_folder(l) ? 2 : 0;
    if (l->next < dots)
        name = l->next ? ".." : ".";
    else
        n = nodes_in(l->path, l->next - dots, &name);
    if (!name)
        return NULL;
    l->next++;
    memset(&l->entry, 0, sizeof l->entry);
    struct stat st = {0};
    if (n)
        nodes_stat(n, &st);
    l->entry.d_ino = st.st_ino ? st.st_ino : 1;
    l->entry.d_off = (off_t)l->next;
    l->entry.d_reclen = sizeof l->entry;
    l->entry.d_type = !n || n->kind == NODE_FOLDER ? DT_DIR : n->kind == NODE_DEVICE ? DT_CHR : DT_REG;
    (void)snprintf(l->entry.d_name, sizeof l->entry.d_name, "%s", name);
    return &l->entry;
}

NODES_EXPORT struct dirent *readdir(DIR *d)
{
    NODES_NEXT(struct dirent * (DIR *), readdir)
    struct listing *l = listing_of(d);
    struct dirent *e = (l && without_folder(l)) || !next ? NULL : next(d);
    if (l && !e)
        e = next_node(l);
    return e;
}

/* The same where sizes have 64 bits. */
NODES_EXPORT struct dirent64 *readdir64(DIR *d) { return (struct dirent64 *)(void *)readdir(d); }

NODES_EXPORT int closedir(DIR *d)
{
    NODES_NEXT(int(DIR *), closedir)
    struct listing *l = listing_of(d);
    bool ours = l && without_folder(l);
    if (l) {
        atomic_store(&l->handle, NULL);
        atomic_fetch_sub(&used, 1);
    }
    return ours ? 0 : next ? next(d) : -1;
}

NODES_EXPORT void rewinddir(DIR *d)
{
    NODES_NEXT(void(DIR *), rewinddir)
    struct listing *l = listing_of(d);
    if (l)
        l->next = 0;
    if (!(l && without_folder(l)) && next)
        next(d);
}

NODES_EXPORT int dirfd(DIR *d)
{
    NODES_NEXT(int(DIR *), dirfd)
    struct listing *l = listing_of(d);
    if (!(l && without_folder(l)))
        return next ? next(d) : -1;
    errno = ENOTSUP;
    return -1;
}
