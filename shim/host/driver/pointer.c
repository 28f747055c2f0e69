/* What is known about an address: pointer attributes, managed-memory advice and range
 * attributes. */
#include <string.h>

#include "host/driver/copy.h"

static bool on_host(const struct host_range *r) { return HOST_KIND(r->kind) & HOST_HOST_KINDS || r->on_host; }

/* One attribute of a known range. */
static MUresult attribute(const struct host_range *r, MUpointer_attribute a, MUdeviceptr p, void *out)
{
    switch (a) {
    case MU_POINTER_ATTRIBUTE_CONTEXT:
        if (r->kind == HOST_MEM_MAPPED || r->pool || r->graph)
            *(MUcontext *)out = NULL; /* it belongs to none */
        else
            *(MUcontext *)out = r->ctx ? r->ctx : r->device->primary; /* a module's variable */
        return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = on_host(r) ? MU_MEMORYTYPE_HOST : MU_MEMORYTYPE_DEVICE;
        return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(MUdeviceptr *)out = p; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)out = on_host(r) || r->kind == HOST_MEM_MANAGED ? (void *)(uintptr_t)p : NULL;
        return on_host(r) || r->kind == HOST_MEM_MANAGED ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
    case MU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)out = 0; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)out = r->id; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned char *)out = r->kind == HOST_MEM_MANAGED; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = r->device->ordinal; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_IS_LEGACY_MUSA_IPC_CAPABLE:
        *(unsigned char *)out = r->kind == HOST_MEM_DEVICE && !r->pool;
        return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case MU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *(void **)out = (void *)r->base; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case MU_POINTER_ATTRIBUTE_MAPPING_SIZE: *(size_t *)out = r->size; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_MAPPED: *(unsigned char *)out = 1; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)out = host_vmm_handle_types(r) | host_pool_handle_types(r->pool);
        return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(unsigned char *)out = 0; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)out = r->kind != HOST_MEM_MAPPED ? MU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                           : r->access == COPY_READS  ? MU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                           : r->access == COPY_WRITES ? MU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                                      : MU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
        return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(MUmemoryPool *)out = r->pool; return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *(unsigned long long *)out = r->id; return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

MUresult muPointerGetAttribute(void *data, MUpointer_attribute attr, MUdeviceptr p)
{
    MUresult r = host_ready();
    if (r)
        return r;
    struct host_range range;
    if (!data || !host_mem_find((void *)(uintptr_t)p, &range))
        return MUSA_ERROR_INVALID_VALUE;
    return attribute(&range, attr, p, data);
}

/* As CUDA: unlike the singular form, an unknown pointer is no error, its attributes read as
 * nothing. */
MUresult muPointerGetAttributes(unsigned int n, MUpointer_attribute *attrs, void **data, MUdeviceptr p)
{
    static const unsigned char widths[] = {[MU_POINTER_ATTRIBUTE_CONTEXT] = 8,
                                           [MU_POINTER_ATTRIBUTE_MEMORY_TYPE] = 4,
                                           [MU_POINTER_ATTRIBUTE_DEVICE_POINTER] = 8,
                                           [MU_POINTER_ATTRIBUTE_HOST_POINTER] = 8,
                                           [MU_POINTER_ATTRIBUTE_SYNC_MEMOPS] = 4,
                                           [MU_POINTER_ATTRIBUTE_BUFFER_ID] = 8,
                                           [MU_POINTER_ATTRIBUTE_IS_MANAGED] = 1,
                                           [MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL] = 4,
                                           [MU_POINTER_ATTRIBUTE_IS_LEGACY_MUSA_IPC_CAPABLE] = 1,
                                           [MU_POINTER_ATTRIBUTE_RANGE_START_ADDR] = 8,
                                           [MU_POINTER_ATTRIBUTE_RANGE_SIZE] = 8,
                                           [MU_POINTER_ATTRIBUTE_MAPPED] = 1,
                                           [MU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES] = 8,
                                           [MU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE] = 1,
                                           [MU_POINTER_ATTRIBUTE_ACCESS_FLAGS] = 4,
                                           [MU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE] = 8,
                                           [MU_POINTER_ATTRIBUTE_MAPPING_SIZE] = 8,
                                           [MU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR] = 8,
                                           [MU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID] = 8};
    MUresult r = host_ready();
    if (r)
        return r;
    if (!n || !attrs || !data)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_range range;
    bool known = host_mem_find((void *)(uintptr_t)p, &range);
    for (unsigned i = 0; i < n; i++) {
        if (attrs[i] < 1 || (size_t)attrs[i] >= sizeof widths || !widths[attrs[i]] || !data[i])
            return MUSA_ERROR_INVALID_VALUE;
        memset(data[i], 0, widths[attrs[i]]);
        if (known)
            attribute(&range, attrs[i], p, data[i]);
        else if (attrs[i] == MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = MU_DEVICE_INVALID;
    }
    return MUSA_SUCCESS;
}

MUresult muPointerSetAttribute(const void *value, MUpointer_attribute attr, MUdeviceptr p)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_range range;
    if (!value || attr != MU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !host_mem_find((void *)(uintptr_t)p, &range) ||
        range.kind != HOST_MEM_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    return MUSA_SUCCESS; /* synchronous copies are synchronous here anyway */
}

/* ---- managed memory: hints are checked and have nothing to move ------------------------------ */

/* The whole of [p, p+n) managed: else INVALID_VALUE. */
static MUresult managed(MUdeviceptr p, size_t n)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_range range;
    if (!n || !host_mem_find((void *)(uintptr_t)p, &range) || range.kind != HOST_MEM_MANAGED ||
        n > range.base + range.size - p)
        return MUSA_ERROR_INVALID_VALUE;
    return MUSA_SUCCESS;
}

static bool location_valid(MUdevice dev) { return dev == MU_DEVICE_CPU || host_device(dev); }

MUresult muMemAdvise(MUdeviceptr p, size_t n, MUmem_advise advice, MUdevice dev)
{
    MUresult r = managed(p, n);
    if (r)
        return r;
    if (advice < MU_MEM_ADVISE_SET_READ_MOSTLY || advice > MU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return MUSA_ERROR_INVALID_VALUE;
    if (advice >= MU_MEM_ADVISE_SET_PREFERRED_LOCATION && advice != MU_MEM_ADVISE_UNSET_PREFERRED_LOCATION &&
        !location_valid(dev))
        return MUSA_ERROR_INVALID_DEVICE;
    host_range_advise((void *)(uintptr_t)p, advice, dev);
    return MUSA_SUCCESS;
}

MUresult muMemPrefetchAsync(MUdeviceptr p, size_t n, MUdevice dev, MUstream stream)
{
    MUresult r = managed(p, n);
    if (!r)
        r = host_stream_ctx(stream, NULL);
    if (r)
        return r;
    if (!location_valid(dev))
        return MUSA_ERROR_INVALID_DEVICE;
    host_range_advise((void *)(uintptr_t)p, 0, dev);
    return MUSA_SUCCESS;
}

MUresult muMemPrefetchAsync_ptsz(MUdeviceptr p, size_t n, MUdevice dev, MUstream stream)
{
    return muMemPrefetchAsync(p, n, dev, host_ptsz(stream));
}

/* What the program has advised about managed memory. Nothing migrates here, so the last prefetch is what was asked
 * for, not where pages are. */
MUresult muMemRangeGetAttribute(void *data, size_t size, MUmem_range_attribute attr, MUdeviceptr p, size_t n)
{
    MUresult r = managed(p, n);
    if (r)
        return r;
    struct host_range range;
    if (!data || !size || size % 4 || !host_mem_find((void *)(uintptr_t)p, &range))
        return MUSA_ERROR_INVALID_VALUE;
    int *out = data;
    MUdevice where = attr == MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE ||
                             attr == MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID
                         ? range.preferred
                         : range.prefetched;
    switch (attr) {
    case MU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *out = range.read_mostly; break;
    case MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = range.preferred; break;
    case MU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: { /* a list, closed by invalid devices */
        size_t k = 0;
        for (int dev = MU_DEVICE_CPU; dev < host_device_count() && k < size / 4; dev++)
            if (range.accessed_by >> ((unsigned)(dev + 1) & 63) & 1)
                out[k++] = dev;
        while (k < size / 4)
            out[k++] = MU_DEVICE_INVALID;
        break;
    }
    case MU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = range.prefetched; break;
    case MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
    case MU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *out = where >= 0               ? MU_MEM_LOCATION_TYPE_DEVICE
               : where == MU_DEVICE_CPU ? MU_MEM_LOCATION_TYPE_HOST
                                        : MU_MEM_LOCATION_TYPE_INVALID;
        break;
    case MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
    case MU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *out = where; break;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
    return MUSA_SUCCESS;
}

MUresult muMemRangeGetAttributes(void **data, size_t *sizes, MUmem_range_attribute *attrs, size_t count, MUdeviceptr p,
                                 size_t n)
{
    if (!data || !sizes || !attrs || !count)
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = MUSA_SUCCESS;
    for (size_t i = 0; i < count && !r; i++)
        r = muMemRangeGetAttribute(data[i], sizes[i], attrs[i], p, n);
    return r;
}

/* Memory stays visible to every stream whatever it is attached to: the order of streams is enough
 * here. */
MUresult muStreamAttachMemAsync(MUstream stream, MUdeviceptr p, size_t n, unsigned int flags)
{
    MUresult r = host_stream_ctx(stream, NULL);
    if (r)
        return r;
    struct host_range range;
    if ((flags != MU_MEM_ATTACH_GLOBAL && flags != MU_MEM_ATTACH_HOST && flags != MU_MEM_ATTACH_SINGLE) ||
        !host_mem_find((void *)(uintptr_t)p, &range) || range.kind != HOST_MEM_MANAGED || range.base != p ||
        (n && n != range.size))
        return MUSA_ERROR_INVALID_VALUE;
    return MUSA_SUCCESS;
}

MUresult muStreamAttachMemAsync_ptsz(MUstream stream, MUdeviceptr p, size_t n, unsigned int flags)
{
    return muStreamAttachMemAsync(host_ptsz(stream), p, n, flags);
}
