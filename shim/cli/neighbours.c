/* Looks for a library where Python's packages keep what they load themselves: ld.so finds it in a process that has it
 * loaded already, though no path leads there. */
#include "cli/closure.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LEVELS = 8 }; /* folders between a library and its environment */

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    return n >= m && strcmp(s + n - m, with) == 0;
}

static bool there(char out[PATH_MAX], const char *folder, const char *entry, const char *below, const char *soname,
                  bool (*suits)(const char *path))
{
    int n = snprintf(out, PATH_MAX, "%s/%s%s/%s", folder, entry, below, soname);
    return n > 0 && n < PATH_MAX && suits(out);
}

/* Looks below each folder in `folder`: in NAME.libs, which repaired wheels bring along; of all with `any`, in NAME/lib
 * as well (torch/lib, nvidia/cudnn/lib). */
static bool look_below(char out[PATH_MAX], const char *folder, bool any, const char *soname,
                       bool (*suits)(const char *path))
{
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        found = (ends(e->d_name, ".libs") && there(out, folder, e->d_name, "", soname, suits)) ||
                (any && (there(out, folder, e->d_name, "/lib", soname, suits) ||
                         there(out, folder, e->d_name, "/lib64", soname, suits)));
    }
    if (d)
        (void)closedir(d);
    return found;
}

/* From the object's folder upwards to site-packages (dist-packages), where other packages lie, too. */
bool cumu_neighbour_find(char out[PATH_MAX], const char *object, const char *soname, bool (*suits)(const char *path))
{
    char folder[PATH_MAX], nvidia[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s", object) >= (int)sizeof folder)
        return false;
    const bool packaged = strstr(object, "/site-packages/") || strstr(object, "/dist-packages/");
    for (int level = 0; level < MAX_LEVELS; level++) {
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            return false;
        *slash = 0;
        bool environment = ends(folder, "/site-packages") || ends(folder, "/dist-packages");
        /* A package's plug-ins lie below what loads them (OpenMM.libs/lib, OpenMM.libs/lib/plugins). */
        if ((packaged && !environment && there(out, folder, "", "", soname, suits)) ||
            look_below(out, folder, environment, soname, suits))
            return true;
        if (environment) {
            int n = snprintf(nvidia, sizeof nvidia, "%s/nvidia", folder);
            return n < (int)sizeof nvidia && look_below(out, nvidia, true, soname, suits);
        }
    }
    return false;
}
