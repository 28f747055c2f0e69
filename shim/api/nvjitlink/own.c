/* Finds the program's own nvJitLink. Its early releases export only the names that carry a version. */
#include "api/nvjitlink/nvjitlink.h"
#include "core/resolve.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = 12, TOOLKITS = 2, NEWEST_MINOR = 9 };

static const struct {
    const char *name;
    size_t offset;
    bool optional;
} members[] = {
    {"Create", offsetof(struct nvjitlink, create), false},
    {"Destroy", offsetof(struct nvjitlink, destroy), false},
    {"AddData", offsetof(struct nvjitlink, add), false},
    {"Complete", offsetof(struct nvjitlink, complete), false},
    {"GetLinkedPtxSize", offsetof(struct nvjitlink, ptx_size), false},
    {"GetLinkedPtx", offsetof(struct nvjitlink, ptx), false},
    {"GetErrorLogSize", offsetof(struct nvjitlink, error_size), false},
    {"GetErrorLog", offsetof(struct nvjitlink, error), false},
    {"GetLinkedLTOIRSize", offsetof(struct nvjitlink, lto_size), true},
    {"GetLinkedLTOIR", offsetof(struct nvjitlink, lto), true},
};

static struct {
    struct nvjitlink calls;
    atomic_bool ready;
} own[TOOLKITS];

const char *cumu_nvjitlink_soname(unsigned toolkit)
{
    return toolkit == 12 ? "libnvJitLink.so.12" : "libnvJitLink.so.13";
}

static void *named(unsigned toolkit, const char *name)
{
    char symbol[64];
    bool opened;
    (void)snprintf(symbol, sizeof symbol, "nvJitLink%s", name);
    void *f = cumu_resolve_real(cumu_nvjitlink_soname(toolkit), symbol, &opened);
    for (int minor = NEWEST_MINOR; !f && opened && minor >= 0; minor--) {
        (void)snprintf(symbol, sizeof symbol, "__nvJitLink%s_%u_%d", name, toolkit, minor);
        f = cumu_resolve_real(cumu_nvjitlink_soname(toolkit), symbol, &opened);
    }
    return f;
}

const struct nvjitlink *cumu_nvjitlink(unsigned toolkit)
{
    unsigned at = toolkit - FIRST;
    if (atomic_load(&own[at].ready))
        return &own[at].calls;
    struct nvjitlink calls = {0};
    for (unsigned i = 0; i < sizeof members / sizeof *members; i++) {
        void *f = named(toolkit, members[i].name);
        if (!f && !members[i].optional)
            return NULL;
        memcpy((char *)&calls + members[i].offset, &f, sizeof f);
    }
    own[at].calls = calls; /* two threads find the same */
    atomic_store(&own[at].ready, true);
    return &own[at].calls;
}
