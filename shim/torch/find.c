/* Finds C++ names in the PyTorch and torch_musa that the process has loaded, wherever they are: Python opens
 * them privately, so the global scope has none of them. */
#include "torch/torch.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { FOUND = 16 };

struct found {
    char path[FOUND][512];
    unsigned rank[FOUND], count;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* torch_musa's libraries in the order of the map, then PyTorch's; -1: neither. A version may follow ".so". */
static int rank_of(const char *base)
{
    static const char *const torch[] = {"libc10.so", "libtorch_cpu.so", "libtorch_python.so"};
    unsigned n = 0;
    for (; cumu_torch_below[n]; n++)
        if (strncmp(base, cumu_torch_below[n], strlen(cumu_torch_below[n])) == 0)
            return (int)n;
    for (unsigned i = 0; i < sizeof torch / sizeof *torch; i++)
        if (strncmp(base, torch[i], strlen(torch[i])) == 0)
            return (int)(n + i);
    return -1;
}

/* The loader's lock is held here, so paths are only collected. */
static int collect(struct dl_phdr_info *info, size_t size, void *context)
{
    struct found *f = context;
    (void)size;
    int rank = info->dlpi_name ? rank_of(base_name(info->dlpi_name)) : -1;
    if (rank < 0 || f->count == FOUND || strlen(info->dlpi_name) >= sizeof f->path[0])
        return 0;
    unsigned i = f->count++;
    for (; i && f->rank[i - 1] > (unsigned)rank; i--) {
        f->rank[i] = f->rank[i - 1];
        memcpy(f->path[i], f->path[i - 1], sizeof f->path[0]);
    }
    f->rank[i] = (unsigned)rank;
    (void)snprintf(f->path[i], sizeof f->path[0], "%s", info->dlpi_name);
    return 0;
}

void *cumu_torch_find(const char *symbol)
{
    struct found f = {.count = 0};
    void *address = NULL;
    (void)dl_iterate_phdr(collect, &f);
    for (unsigned i = 0; i < f.count && !address; i++) {
        void *handle = dlopen(f.path[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue;
        address = dlsym(handle, symbol);
        (void)dlclose(handle); /* it was loaded before, and stays */
    }
    return address;
}

struct wanted {
    const char *prefix;
    char *name;
    size_t room;
    bool found;
};

static int match(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *w = context;
    const char *base = info->dlpi_name ? base_name(info->dlpi_name) : "";
    (void)size;
    if (strncmp(base, w->prefix, strlen(w->prefix)) != 0)
        return 0;
    w->found = snprintf(w->name, w->room, "%s", base) < (int)w->room;
    return 1;
}

bool cumu_torch_library(const char *prefix, char *name, size_t room)
{
    struct wanted w = {prefix, name, room, false};
    (void)dl_iterate_phdr(match, &w);
    return w.found;
}
