/* Memory pools between processes: the pool travels as the file descriptor of its memory, a pointer as
 * its place in there. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/driver/internal.h"
#include "host/driver/memcheck.h"

struct pointer_data { /* what MUmemPoolPtrExportData holds */
    char magic[8];
    int pid;
    unsigned long long id; /* of the pool, as the process `pid` numbers it */
    uint64_t offset, size;
};
_Static_assert(sizeof(struct pointer_data) <= sizeof(MUmemPoolPtrExportData), "pointer data");
static const char magic[8] = "cumupoo";

unsigned host_pool_handle_types(MUmemoryPool pool)
{
    return pool && host_slab_live(&host_pools, pool) && pool->fd >= 0 ? MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                                      : MU_MEM_HANDLE_TYPE_NONE;
}

MUresult muMemPoolExportToShareableHandle(void *out, MUmemoryPool pool, MUmemAllocationHandleType type,
                                          unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!out || flags || !host_slab_live(&host_pools, pool) || !pool->arena ||
        type != MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return MUSA_ERROR_INVALID_VALUE;
    int fd = fcntl(pool->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return MUSA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return MUSA_SUCCESS;
}

/* Whose pool a descriptor is, by its name. */
static bool origin(int fd, int *pid, unsigned long long *id)
{
    char path[64], name[128];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, name, sizeof name - 1);
    if (n <= 0)
        return false;
    name[n] = 0;
    return sscanf(name, "/memfd:" HOST_POOL_NAME "-%*d-%d.%llu", pid, id) == 2;
}

/* Imports a pool: nothing is mapped yet, pointers are imported one by one. The file's name tells whose and which
 * device's it is. */
MUresult muMemPoolImportFromShareableHandle(MUmemoryPool *pool, void *handle, MUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    size_t size;
    int pid, fd = (int)(intptr_t)handle;
    unsigned long long id;
    int number = host_shared_fd_device(fd, HOST_POOL_NAME, &size);
    if (!pool || flags || type != MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || number < 0 || !origin(fd, &pid, &id))
        return MUSA_ERROR_INVALID_VALUE;
    struct host_device *d = host_device_numbered(number);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE; /* MUSA_VISIBLE_DEVICES hides it here */
    MUmemoryPool new = host_pool_new(d);
    if (!new || (new->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
        if (new)
            host_slab_put(&host_pools, new);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    new->imported = true;
    new->pid = pid;
    new->id = id;
    *pool = new;
    return MUSA_SUCCESS;
}

MUresult muMemPoolExportPointer(MUmemPoolPtrExportData *out, MUdeviceptr p)
{
    MUresult r = host_ready();
    if (r)
        return r;
    struct host_range range;
    struct pointer_data data;
    int fd;
    size_t offset;
    if (!out || !host_mem_find((void *)(uintptr_t)p, &range) || range.kind != HOST_MEM_DEVICE || range.freeing ||
        !host_slab_live(&host_pools, range.pool) || !range.pool->arena ||
        !host_arena_offset((void *)range.base, &fd, &offset))
        return MUSA_ERROR_INVALID_VALUE;
    memset(&data, 0, sizeof data);
    memcpy(data.magic, magic, sizeof magic);
    data.pid = range.pool->pid;
    data.id = range.pool->id;
    data.offset = offset;
    data.size = range.size;
    host_initcheck_foreign();
    memset(out, 0, sizeof *out);
    memcpy(out, &data, sizeof data);
    return MUSA_SUCCESS;
}

/* Maps one allocation of an imported pool, checked against the file's size as in ipc.c. */
MUresult muMemPoolImportPointer(MUdeviceptr *p, MUmemoryPool pool, MUmemPoolPtrExportData *in)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    struct pointer_data data;
    size_t total;
    if (!p || !in || !host_slab_live(&host_pools, pool) || !pool->imported)
        return MUSA_ERROR_INVALID_VALUE;
    memcpy(&data, in, sizeof data);
    if (memcmp(data.magic, magic, sizeof magic) || data.pid != pool->pid || data.id != pool->id ||
        host_shared_fd_device(pool->fd, HOST_POOL_NAME, &total) < 0 || !data.size || data.offset > total ||
        data.size > total - data.offset)
        return MUSA_ERROR_INVALID_VALUE;
    /* Mappings begin at pages, allocations need not. */
    size_t skew = data.offset & 4095, length = (data.size + skew + 4095) & ~(size_t)4095;
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd, (off_t)(data.offset - skew));
    if (base == MAP_FAILED)
        return MUSA_ERROR_OUT_OF_MEMORY;
    madvise(base, length, MADV_DONTFORK);
    struct host_range range = {.base = (uintptr_t)base + skew,
                               .size = data.size,
                               .kind = HOST_MEM_IPC,
                               .device = pool->device,
                               .ctx = host_pool_owner(pool->device, ctx),
                               .pool = pool};
    if (!host_range_add(&range)) {
        munmap(base, length);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    pool->held += data.size;
    pool->used += data.size;
    *p = range.base;
    return MUSA_SUCCESS;
}
