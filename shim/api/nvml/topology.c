/* How devices lie to each other and to the CPUs: the bus, MTLink, affinity. */
#include "api/nvml/nvml.h"
#include "wraps.h"

#include <string.h>

enum { LEVEL_STEP = 10, LINKS = 18 }; /* NVML's levels count in tens; so many links has a device at most */

static int from(int r) { return cumu_nvmlReturn_from_musa(r); }

static int pair(void *a, void *b, const void *out, struct nvml_device **x, struct nvml_device **y)
{
    int r = cumu_nvml_device(a, x);
    r = r ? r : cumu_nvml_device(b, y);
    return r ? r : out ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

int wrap_nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *level)
{
    struct nvml_device *x, *y;
    int below = 0, r = pair(a, b, level, &x, &y);
    r = r ? r : from(mu.mtmlDeviceGetTopologyLevel(x->mtml, y->mtml, &below));
    if (!r)
        *level = below * LEVEL_STEP;
    return r;
}

/* Writes up to *count devices for which `is`, and tells how many there are. */
static int select_devices(unsigned *count, void **out, bool (*is)(struct nvml_device *, const void *), const void *key)
{
    unsigned n = 0, room = *count;
    for (unsigned i = 0; i < cumu_nvml_count(); i++)
        if (is(cumu_nvml_at(i), key)) {
            if (n < room)
                out[n] = cumu_nvml_at(i);
            n++;
        }
    *count = room && n > room ? room : n; /* 0 asks for the number alone */
    return NVML_SUCCESS;
}

struct nearest {
    struct nvml_device *from;
    int level;
};

static bool near_enough(struct nvml_device *d, const void *key)
{
    const struct nearest *k = key;
    int level = 0;
    return d != k->from && mu.mtmlDeviceGetTopologyLevel(k->from->mtml, d->mtml, &level) == MTML_SUCCESS &&
           level * LEVEL_STEP <= k->level;
}

int wrap_nvmlDeviceGetTopologyNearestGpus(void *device, int level, unsigned *count, void **out)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !count || (*count && !out) || level < 0 || level > NVML_TOPOLOGY_SYSTEM || level % LEVEL_STEP)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    struct nearest key = {d, level};
    return select_devices(count, out, near_enough, &key);
}

enum { WORD = 8 * sizeof(unsigned long), CPU_WORDS = 1024 / WORD };

static bool near_cpu(struct nvml_device *d, const void *key)
{
    unsigned cpu = *(const unsigned *)key;
    unsigned long set[CPU_WORDS] = {0};
    return mu.mtmlDeviceGetCpuAffinityWithinNode(d->mtml, CPU_WORDS, set) == MTML_SUCCESS &&
           set[cpu / WORD] >> cpu % WORD & 1;
}

int wrap_nvmlSystemGetTopologyGpuSet(unsigned cpu, unsigned *count, void **out)
{
    int r = cumu_nvml_ready();
    if (r || !count || (*count && !out) || cpu >= CPU_WORDS * WORD)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    return select_devices(count, out, near_cpu, &cpu);
}

/* MTML knows reads (0) and writes (1); NVML asks for these and for links, atomics and more. */
int wrap_nvmlDeviceGetP2PStatus(void *a, void *b, int capability, int *status)
{
    static const int statuses[] = {NVML_P2P_STATUS_OK, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED,
                                   NVML_P2P_STATUS_GPU_NOT_SUPPORTED, NVML_P2P_STATUS_UNKNOWN};
    struct nvml_device *x, *y;
    int below = MTML_P2P_STATUS_UNKNOWN, r = pair(a, b, status, &x, &y);
    if (!r && (capability < 0 || capability > 5))
        r = NVML_ERROR_INVALID_ARGUMENT;
    if (!r && capability <= 1)
        r = from(mu.mtmlDeviceGetP2PStatus(x->mtml, y->mtml, capability, &below));
    else if (!r)
        below = MTML_P2P_STATUS_GPU_NOT_SUPPORTED;
    if (!r)
        *status = statuses[below < 0 || below > MTML_P2P_STATUS_UNKNOWN ? MTML_P2P_STATUS_UNKNOWN : below];
    return r;
}

/* NVLink's questions are MTLink's. */
static int link_of(void *device, unsigned link, const void *out, struct nvml_device **d)
{
    int r = cumu_nvml_device(device, d);
    return r ? r : out && link < LINKS ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

int wrap_nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
    struct nvml_device *d;
    int state = 0, r = link_of(device, link, active, &d);
    r = r ? r : from(mu.mtmlDeviceGetMtLinkState(d->mtml, link, &state));
    if (!r)
        *active = state != MTML_MTLINK_STATE_DOWN;
    return r;
}

int wrap_nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version)
{
    struct nvml_device *d;
    MtmlMtLinkSpec spec = {0};
    int r = link_of(device, link, version, &d);
    r = r ? r : from(mu.mtmlDeviceGetMtLinkSpec(d->mtml, &spec));
    if (!r)
        *version = spec.version / 10000;
    return r;
}

/* Peers reach each other's memory over a link (0) and the system's (2); of the rest MTML does not tell. */
int wrap_nvmlDeviceGetNvLinkCapability(void *device, unsigned link, int capability, unsigned *can)
{
    struct nvml_device *d;
    int state = 0, r = link_of(device, link, can, &d);
    if (!r && (capability < 0 || capability > 5))
        r = NVML_ERROR_INVALID_ARGUMENT;
    r = r ? r : from(mu.mtmlDeviceGetMtLinkState(d->mtml, link, &state));
    if (!r)
        *can = capability == 0 && state != MTML_MTLINK_STATE_DOWN;
    return r;
}

/* The device at the other end, found among ours by its place on the bus. */
static int remote(void *device, unsigned link, const void *out, struct nvml_device **there)
{
    struct nvml_device *d;
    MtmlDevice *other = NULL;
    MtmlPciInfo pci;
    int r = link_of(device, link, out, &d);
    r = r ? r : from(mu.mtmlDeviceGetMtLinkRemoteDevice(d->mtml, link, &other));
    r = r ? r : from(mu.mtmlDeviceGetPciInfo(other, &pci));
    if (r)
        return r;
    for (unsigned i = 0; i < cumu_nvml_count(); i++) {
        *there = cumu_nvml_at(i);
        if ((*there)->pci.segment == pci.segment && (*there)->pci.bus == pci.bus && (*there)->pci.device == pci.device)
            return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

int wrap_nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *out)
{
    struct nvml_device *there;
    int r = remote(device, link, out, &there);
    return r ? r : wrap_nvmlDeviceGetPciInfo_v3(there, out);
}

int wrap_nvmlDeviceGetNvLinkRemotePciInfo(void *device, unsigned link, void *out)
{
    struct nvml_device *there;
    int r = remote(device, link, out, &there);
    return r ? r : wrap_nvmlDeviceGetPciInfo_v2(there, out);
}

/* Fabrics of switches: MTML knows of none, which NVML has a state for (0, not supported). */
int wrap_nvmlDeviceGetGpuFabricInfo(void *device, void *out)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    memset(out, 0, sizeof(struct nvml_fabric));
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetGpuFabricInfoV(void *device, void *out)
{
    enum { V2 = offsetof(struct nvml_fabric_v, summary) };
    struct nvml_device *d;
    struct nvml_fabric_v *info = out;
    int r = cumu_nvml_device(device, &d);
    if (r || !info)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != (V2 | 2u << 24) && info->version != NVML_VERSION(nvml_fabric_v, 3))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    size_t size = info->version & 0xffffff;
    memset((char *)out + sizeof info->version, 0, size - sizeof info->version);
    return NVML_SUCCESS;
}

static int affinity(void *device, unsigned words, unsigned long *set, unsigned scope, bool memory)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !set || !words || scope > 1) /* of the node or the socket */
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    return from(memory ? mu.mtmlDeviceGetMemoryAffinityWithinNode(d->mtml, words, set)
                       : mu.mtmlDeviceGetCpuAffinityWithinNode(d->mtml, words, set));
}

int wrap_nvmlDeviceGetCpuAffinity(void *device, unsigned words, unsigned long *set)
{
    return affinity(device, words, set, 0, false);
}

int wrap_nvmlDeviceGetCpuAffinityWithinScope(void *device, unsigned words, unsigned long *set, unsigned scope)
{
    return affinity(device, words, set, scope, false);
}

int wrap_nvmlDeviceGetMemoryAffinity(void *device, unsigned words, unsigned long *set, unsigned scope)
{
    return affinity(device, words, set, scope, true);
}
