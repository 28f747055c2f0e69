/* Which release of the runtime a program would have got, for cudaRuntimeGetVersion: that in the name of the file behind
 * the soname (libcudart.so.12.4.127), of the wheel that the file is of, or of the runtime that is linked in. */
#include "api/cudart/release.h"
#include "core/config.h"
#include "core/log.h"
#include "core/resolve.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEVEN = 11, MAJORS = 3 };

/* "12.4" and what follows as 12040; 0 if it is of another major version. */
static int release(const char *text, int major)
{
    int first = 0, second = 0;
    if (sscanf(text, "%3d.%2d", &first, &second) != 2 || first != major || second < 0)
        return 0;
    return first * 1000 + second * 10;
}

/* The third number makes a release of it: "libcudart.so.11.0" is the soname of all of them. */
static int of_file(const char *path, int major)
{
    const char *name = strrchr(path, '/'), *numbers = name ? strstr(name, ".so.") : NULL;
    unsigned dots = 0;
    for (const char *s = numbers ? numbers + 4 : ""; *s; s++)
        dots += *s == '.';
    return dots == 2 ? release(numbers + 4, major) : 0;
}

/* PACKAGES/nvidia/.../libcudart.so.12 is of PACKAGES/nvidia_cuda_runtime_cu12-12.4.127.dist-info. */
static int of_wheel(const char *path, int major)
{
    static const char wheel[] = "nvidia_cuda_runtime", folder[] = "/nvidia/";
    const char *at = strstr(path, folder);
    char *packages = at ? strndup(path, (size_t)(at - path)) : NULL;
    DIR *list = packages ? opendir(packages) : NULL;
    int found = 0;
    for (struct dirent *e; list && !found && (e = readdir(list));) {
        const char *numbers = strchr(e->d_name, '-'), *end = strstr(e->d_name, ".dist-info");
        if (strncmp(e->d_name, wheel, sizeof wheel - 1) == 0 && numbers && end)
            found = release(numbers + 1, major);
    }
    if (list)
        (void)closedir(list);
    free(packages);
    return found;
}

struct wanted {
    int major, version;
};

/* The first file decides, whatever its name tells: the program would not have seen another. */
static bool look(const char *path, void *ctx)
{
    struct wanted *w = ctx;
    char *full = realpath(path, NULL);
    const char *file = full ? full : path;
    w->version = of_file(file, w->major);
    if (!w->version)
        w->version = of_wheel(file, w->major);
    if (!w->version && full)
        w->version = of_wheel(path, w->major);
    if (w->version)
        cumu_info("cudart", NULL, "the runtime is %d.%d, as %s", w->version / 1000, w->version % 1000 / 10, path);
    free(full);
    return true;
}

int cumu_runtime_release(int newest)
{
    static _Atomic int known[MAJORS];
    static const char *const sonames[MAJORS] = {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"};
    struct wanted w = {newest / 1000, 0};
    unsigned i = (unsigned)(w.major - ELEVEN);
    long claimed = cumu_opt_int(CUMU_OPT_RUNTIME_VERSION);
    if (claimed / 10 == w.major)
        return (int)(claimed / 10 * 1000 + claimed % 10 * 10);
    if (i >= MAJORS)
        return newest;
    int version = atomic_load(&known[i]);
    if (!version) { /* two threads find the same */
        (void)cumu_real_find(sonames[i], look, &w);
        version = w.version ? w.version : newest;
        atomic_store(&known[i], version);
    }
    return version;
}
