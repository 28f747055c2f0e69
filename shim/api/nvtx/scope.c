/* NVTX's scopes: where what a program says of itself belongs, as a path. Those of NVTX's own numbers are shown by what
 * they are, as every event has its process and thread already. Layouts and numbers: NVTX's public headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/nvtx/nvtx.h"
#include "api/nvtx/registry.h"
#include "core/intern.h"

struct attributes { /* nvtxScopeAttr_t */
    size_t size;
    const char *path;
    uint64_t parent, id;
};
struct scope {
    struct nvtx_registered is;
    const char *path;
};
enum { LONGEST = 1024 };

static const struct {
    uint64_t id;
    const char *name;
} known[] = {{2, "machine"},    {3, "socket"},      {4, "core"},     {5, "CPU"},
             {15, "hardware"},  {16, "hypervisor"}, {17, "VM"},      {18, "kernel"},
             {19, "container"}, {20, "OS"},         {21, "process"}, {NVTX_SCOPE_THREAD, "thread"},
             {31, "software"}};

uint64_t cumu_nvtx_scope(const void *domain, const void *attributes)
{
    const struct attributes *a = attributes;
    if (!a || a->size < sizeof *a)
        return 0;
    struct scope *s = calloc(1, sizeof *s);
    if (!s)
        return 0;
    const char *parent = cumu_nvtx_scope_of(domain, a->parent), *path = a->path ? a->path : "";
    char whole[LONGEST];
    while (*path == '/')
        path++;
    (void)snprintf(whole, sizeof whole, "%s%s%s", parent ? parent : "", parent && *path ? "/" : "", path);
    s->path = *whole ? cumu_intern(whole) : NULL;
    return cumu_nvtx_keep(&s->is, NVTX_SCOPE, domain, a->id);
}

const char *cumu_nvtx_scope_of(const void *domain, uint64_t id)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].id == id)
            return known[i].name;
    const struct scope *s = id ? cumu_nvtx_kept(NVTX_SCOPE, domain, id) : NULL;
    return s ? s->path : NULL;
}
