/* The devices of the CPU machine: identity, attributes, peers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/internal.h"
#include "host/driver/machine.h"
#include "host/driver/nest.h"

static struct host_device devices[HOST_MAX_DEVICES];
static int device_count;

MUresult host_devices_init(void)
{
    const struct host_config *c = host_config();
    for (int i = 0; i < c->nvisible; i++) {
        struct host_device *d = &devices[i];
        d->ordinal = i;
        d->number = c->visible[i];
        d->cores = c->threads;
        char name[sizeof CUMU_MACHINE_FILE + 12];
        snprintf(name, sizeof name, CUMU_MACHINE_FILE "%d", d->number);
        d->arena = host_arena_new(name, c->memory);
        d->primary = host_slab_get(&host_contexts);
        if (!d->arena || !d->primary) {
            if (d->arena)
                host_say("muInit: no memory for a context");
            return MUSA_ERROR_OUT_OF_MEMORY;
        }
        host_arena_show(d->arena);
        d->primary->device = d;
        d->primary->primary = true;
    }
    device_count = c->nvisible;
    return MUSA_SUCCESS;
}

int host_device_count(void) { return device_count; }

struct host_device *host_device(MUdevice ordinal)
{
    return ordinal >= 0 && ordinal < device_count ? &devices[ordinal] : NULL;
}

/* The device, or an error in *r. */
static struct host_device *get(MUdevice ordinal, MUresult *r)
{
    *r = host_ready();
    struct host_device *d = *r ? NULL : host_device(ordinal);
    if (!*r && !d)
        *r = MUSA_ERROR_INVALID_DEVICE;
    return d;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* What a device can do, by attribute number. Limits are those of tier 0 (threads, shared memory)
 * or of a recent GPU where nothing depends on them. 0 where a row is missing; see absent[] for
 * unknown ones. */
static const int attributes[120] = {
    [MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
    [MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
    [MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
    [MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
    [MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
    [MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
    [MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
    [MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 48 << 10,
    [MU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 64 << 10,
    [MU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
    [MU_DEVICE_ATTRIBUTE_MAX_PITCH] = 2147483647,
    [MU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
    [MU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1000000,
    [MU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
    [MU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
    [MU_DEVICE_ATTRIBUTE_INTEGRATED] = 0,
    [MU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
    [MU_DEVICE_ATTRIBUTE_COMPUTE_MODE] = MU_COMPUTEMODE_DEFAULT,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH] = 131072,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH] = 131072,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT] = 65536,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH] = 16384,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT] = 16384,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH] = 16384,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS] = 2048,
    [MU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT] = 512,
    [MU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
    [MU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 1000000,
    [MU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 128,
    [MU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 4 << 20,
    [MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
    [MU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 2,
    [MU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS] = 2048,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE] = 8192,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE] = 8192,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE] = 32768,
    [MU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS] = 2046,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH] = 131072,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT] = 65536,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH] = 16384,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT] = 16384,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH] = 16384,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS] = 2048,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS] = 2048,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS] = 2046,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH] = 268435456,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH] = 131072,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT] = 65000,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH] = 2097120,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT] = 32768,
    [MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 3, /* mp_31: the 32-lane MUSA architecture */
    [MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 1,
    [MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH] = 32768,
    [MU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 228 << 10, /* as sm_90 and sm_100 have */
    [MU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536,
    [MU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
    [MU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO] = 2,
    /* Pageable access works by accident of one address space; a program must not rely on it. */
    [MU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS] = 0,
    [MU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
    [MU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
    [MU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1] = 1,
    [MU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1] = 1,
    [MU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1] = 1,
    [MU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
    [MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 227 << 10,
    [MU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST] = 1,
    [MU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32,
    [MU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1 << 10,
    [MU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
    [MU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] = MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    /* Numbers that CUDA has and the runtime's header of the SDK does not (mapping/facts/musa.md N2). */
    [44] = -1,
    [102] = -1,
    [103] = -1,
    [104] = -1,
    [105] = -1,
    [107] = -1,
    [110] = -1,
};

int host_multiprocessors(const struct host_device *d)
{
    enum { OF_CLUSTERS = 16 }; /* blocks of the largest cluster, which programs want to be there at once */
    const struct t1_nest_shim *s = nest_shim();
    return s && s->capability >= 90 && d->cores < OF_CLUSTERS ? OF_CLUSTERS : d->cores;
}

int host_device_attribute(const struct host_device *d, int attribute)
{
    if (attribute < 1 || attribute > 119)
        return -1;
    switch (attribute) { /* what depends on the machine */
    case MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return host_multiprocessors(d);
    case MU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return d->number + 1;
    default: return attributes[attribute];
    }
}

/* ---- the machine, for our libmtml ------------------------------------------------------------ */

int cumu_machine_read(struct cumu_machine *m)
{
    const struct host_config *c = host_config();
    *m = (struct cumu_machine){c->devices, c->threads, c->memory};
    if (c->wrong)
        host_say("MTML: %s", c->wrong);
    return c->wrong != NULL;
}

void cumu_machine_uuid(int number, unsigned char bytes[16])
{
    MUuuid uuid;
    host_uuid(number, &uuid);
    memcpy(bytes, uuid.bytes, 16);
}

const char *cumu_machine_name(void) { return "cumu host CPU"; }

/* ---- identity -------------------------------------------------------------------------------- */

MUresult muDeviceGetCount(int *count)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!count)
        return MUSA_ERROR_INVALID_VALUE;
    *count = device_count;
    return MUSA_SUCCESS;
}

MUresult muDeviceGet(MUdevice *dev, int ordinal)
{
    MUresult r;
    if (!get(ordinal, &r))
        return r;
    if (!dev)
        return MUSA_ERROR_INVALID_VALUE;
    *dev = ordinal;
    return MUSA_SUCCESS;
}

MUresult muDeviceGetName(char *name, int len, MUdevice dev)
{
    MUresult r;
    if (!get(dev, &r))
        return r;
    if (!name || len <= 0)
        return MUSA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", cumu_machine_name());
    return MUSA_SUCCESS;
}

void host_uuid(int number, MUuuid *uuid)
{
    memcpy(uuid->bytes, "cumu-host-cpu\0\0", 15);
    uuid->bytes[15] = (char)(number + 1);
}

MUresult muDeviceGetUuid(MUuuid *uuid, MUdevice dev)
{
    MUresult r;
    struct host_device *d = get(dev, &r);
    if (!d)
        return r;
    if (!uuid)
        return MUSA_ERROR_INVALID_VALUE;
    host_uuid(d->number, uuid);
    return MUSA_SUCCESS;
}
HOST_ALIAS(muDeviceGetUuid_v2, muDeviceGetUuid);

MUresult muDeviceGetLuid(char *luid, unsigned int *node_mask, MUdevice dev)
{
    MUresult r;
    (void)luid, (void)node_mask;
    return get(dev, &r) ? MUSA_ERROR_NOT_SUPPORTED : r; /* exists on Windows only, as in CUDA */
}

MUresult muDeviceTotalMem(size_t *bytes, MUdevice dev)
{
    MUresult r;
    struct host_device *d = get(dev, &r);
    if (!d)
        return r;
    if (!bytes)
        return MUSA_ERROR_INVALID_VALUE;
    host_memory_info(d, NULL, bytes);
    return MUSA_SUCCESS;
}
HOST_ALIAS(muDeviceTotalMem_v2, muDeviceTotalMem);

MUresult muDeviceGetAttribute(int *value, MUdevice_attribute attribute, MUdevice dev)
{
    MUresult r;
    struct host_device *d = get(dev, &r);
    if (!d)
        return r;
    int v = host_device_attribute(d, attribute);
    if (!value || v < 0)
        return MUSA_ERROR_INVALID_VALUE;
    *value = v;
    return MUSA_SUCCESS;
}

MUresult muDeviceComputeCapability(int *major, int *minor, MUdevice dev)
{
    MUresult r;
    if (!get(dev, &r))
        return r;
    if (!major || !minor)
        return MUSA_ERROR_INVALID_VALUE;
    *major = attributes[MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
    *minor = attributes[MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
    return MUSA_SUCCESS;
}

/* The old form of the device's properties, from the table of attributes. */
MUresult muDeviceGetProperties(MUdevprop *prop, MUdevice dev)
{
    MUresult r;
    if (!get(dev, &r))
        return r;
    if (!prop)
        return MUSA_ERROR_INVALID_VALUE;
    const int *a = attributes;
    *prop = (MUdevprop){
        .maxThreadsPerBlock = a[MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
        .maxThreadsDim = {a[MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X], a[MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y],
                          a[MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z]},
        .maxGridSize = {a[MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X], a[MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y],
                        a[MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z]},
        .sharedMemPerBlock = a[MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK],
        .totalConstantMemory = a[MU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY],
        .SIMDWidth = a[MU_DEVICE_ATTRIBUTE_WARP_SIZE],
        .memPitch = a[MU_DEVICE_ATTRIBUTE_MAX_PITCH],
        .regsPerBlock = a[MU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK],
        .clockRate = a[MU_DEVICE_ATTRIBUTE_CLOCK_RATE],
        .textureAlign = a[MU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT],
    };
    return MUSA_SUCCESS;
}

MUresult muDeviceGetPCIBusId(char *id, int len, MUdevice dev)
{
    MUresult r;
    struct host_device *d = get(dev, &r);
    if (!d)
        return r;
    if (!id || len < 13)
        return MUSA_ERROR_INVALID_VALUE;
    snprintf(id, (size_t)len, "0000:%02X:00.0", (unsigned)(d->number + 1) & 0xff);
    return MUSA_SUCCESS;
}

MUresult muDeviceGetByPCIBusId(MUdevice *dev, const char *id)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!dev || !id)
        return MUSA_ERROR_INVALID_VALUE;
    unsigned domain, bus, slot, f; /* domain and function may be missing */
    int n;
    bool known = (sscanf(id, "%x:%x:%x.%x%n", &domain, &bus, &slot, &f, &n) == 4 && !id[n]) ||
                 (f = 0, sscanf(id, "%x:%x:%x%n", &domain, &bus, &slot, &n) == 3 && !id[n]) ||
                 (domain = 0, sscanf(id, "%x:%x.%x%n", &bus, &slot, &f, &n) == 3 && !id[n]);
    if (!known)
        return MUSA_ERROR_INVALID_VALUE;
    for (int i = 0; i < device_count; i++)
        if (!domain && !slot && !f && bus == (unsigned)devices[i].number + 1) {
            *dev = i;
            return MUSA_SUCCESS;
        }
    return MUSA_ERROR_INVALID_DEVICE;
}

MUresult muDeviceGetTexture1DLinearMaxWidth(size_t *width, MUarray_format format, unsigned int channels, MUdevice dev)
{
    MUresult r;
    if (!get(dev, &r))
        return r;
    size_t element = host_format_bytes(format) * channels;
    if (!width || !element || (channels != 1 && channels != 2 && channels != 4))
        return MUSA_ERROR_INVALID_VALUE;
    *width = (size_t)attributes[MU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH];
    return MUSA_SUCCESS;
}

/* ---- peers: all devices share one address space ---------------------------------------------- */

MUresult muDeviceCanAccessPeer(int *can, MUdevice dev, MUdevice peer)
{
    MUresult r;
    if (!get(dev, &r) || !get(peer, &r))
        return r;
    if (!can)
        return MUSA_ERROR_INVALID_VALUE;
    *can = dev != peer;
    return MUSA_SUCCESS;
}

MUresult muDeviceGetP2PAttribute(int *value, MUdevice_P2PAttribute attribute, MUdevice a, MUdevice b)
{
    MUresult r;
    if (!get(a, &r) || !get(b, &r))
        return r;
    if (!value)
        return MUSA_ERROR_INVALID_VALUE;
    if (a == b)
        return MUSA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case MU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; return MUSA_SUCCESS;
    case MU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case MU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case MU_DEVICE_P2P_ATTRIBUTE_MUSA_ARRAY_ACCESS_SUPPORTED: *value = 1; return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}
