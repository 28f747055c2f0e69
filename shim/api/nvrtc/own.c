/* Finds the compiler behind an NVRTC facade. */
#include "api/nvrtc/nvrtc.h"
#include "core/resolve.h"
#include "mu.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_OWN = 4 };

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"nvrtcCreateProgram", offsetof(struct nvrtc, create)},    {"nvrtcCompileProgram", offsetof(struct nvrtc, compile)},
    {"nvrtcDestroyProgram", offsetof(struct nvrtc, destroy)},  {"nvrtcGetPTX", offsetof(struct nvrtc, ptx)},
    {"nvrtcGetPTXSize", offsetof(struct nvrtc, ptx_size)},     {"nvrtcGetCUBIN", offsetof(struct nvrtc, cubin)},
    {"nvrtcGetCUBINSize", offsetof(struct nvrtc, cubin_size)},
};

static struct {
    _Atomic(const char *) soname;
    struct nvrtc calls;
    atomic_bool ready;
} own[MAX_OWN];

static bool fill(struct nvrtc *n, const char *soname)
{
    bool opened;
    for (unsigned i = 0; i < sizeof members / sizeof *members; i++) {
        void *f = cumu_resolve_real(soname, members[i].name, &opened);
        if (!f)
            return false;
        memcpy((char *)n + members[i].offset, &f, sizeof f);
    }
    return true;
}

static const struct nvrtc *mtrtc(void)
{
    static struct nvrtc calls;
    static atomic_bool ready;
    if (!atomic_load(&ready)) { /* all threads write the same */
        calls = (struct nvrtc){mu.mtrtcCreateProgram, mu.mtrtcCompileProgram, mu.mtrtcDestroyProgram, mu.mtrtcGetFatBin,
                               mu.mtrtcGetFatBinSize, mu.mtrtcGetFatBin,      mu.mtrtcGetFatBinSize,  true};
        atomic_store(&ready, true);
    }
    return &calls;
}

const struct nvrtc *cumu_nvrtc(const char *soname)
{
    for (unsigned i = 0; i < MAX_OWN; i++) {
        const char *there = NULL;
        if (!atomic_compare_exchange_strong(&own[i].soname, &there, soname) && strcmp(there, soname) != 0)
            continue;
        if (atomic_load(&own[i].ready))
            return &own[i].calls;
        struct nvrtc calls = {0};
        if (!fill(&calls, soname))
            break;
        own[i].calls = calls; /* two threads find the same */
        atomic_store(&own[i].ready, true);
        return &own[i].calls;
    }
    if (cumu_backend() == CUMU_BACKEND_MUSA)
        return mtrtc();
    cumu_real_missed(soname);
    return NULL;
}
