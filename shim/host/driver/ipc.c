/* Device memory of another process: a handle names the process, its device's memfd and the place
 * in it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/driver/internal.h"

struct ipc_handle { /* what MUipcMemHandle holds */
    char magic[8];
    int pid, fd;
    uint64_t started; /* of the process: a reused pid is refused */
    uint64_t offset, size;
    int number; /* the machine's device */
};
_Static_assert(sizeof(struct ipc_handle) <= sizeof(MUipcMemHandle), "handle");
static const char magic[8] = "cumuipc";

/* Start time of a process in clock ticks, 0 if it is gone. */
uint64_t host_process_start(int pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    char *p = strrchr(text, ')'); /* the command may hold anything; the rest are numbers */
    unsigned long long started = 0;
    if (!p ||
        sscanf(p + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &started) != 1)
        return 0;
    return started;
}

MUresult muIpcGetMemHandle(MUipcMemHandle *handle, MUdeviceptr p)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_range range;
    size_t offset;
    struct ipc_handle h = { .pid = getpid() };
    if (!handle || !host_mem_find((void *)(uintptr_t)p, &range) || range.kind != HOST_MEM_DEVICE ||
        range.pool || !host_arena_offset(range.device, (void *)range.base, &h.fd, &offset))
        return MUSA_ERROR_INVALID_VALUE;
    memcpy(h.magic, magic, sizeof magic);
    h.started = host_process_start(h.pid);
    h.offset = offset;
    h.size = range.size;
    h.number = range.device->number;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return MUSA_SUCCESS;
}

MUresult muIpcOpenMemHandle(MUdeviceptr *p, MUipcMemHandle handle, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    struct ipc_handle h;
    memcpy(&h, &handle, sizeof h);
    if (!p || flags != MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || memcmp(h.magic, magic, sizeof magic) ||
        !h.size)
        return MUSA_ERROR_INVALID_VALUE;
    if (h.pid == getpid())
        return MUSA_ERROR_INVALID_CONTEXT; /* as CUDA: not in the process that exported it */
    if (!h.started || host_process_start(h.pid) != h.started)
        return MUSA_ERROR_INVALID_HANDLE;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return MUSA_ERROR_INVALID_HANDLE;
    /* Mappings begin at pages, allocations need not. */
    size_t skew = h.offset & 4095, length = (h.size + skew + 4095) & ~(size_t)4095;
    void *base =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(h.offset - skew));
    close(fd);
    if (base == MAP_FAILED)
        return MUSA_ERROR_OUT_OF_MEMORY;
    struct host_range range = { .base = (uintptr_t)base + skew,
                                .size = h.size,
                                .kind = HOST_MEM_IPC,
                                .device = ctx->device,
                                .ctx = ctx };
    if (!host_range_add(&range)) {
        munmap(base, length);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *p = range.base;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muIpcOpenMemHandle_v2, muIpcOpenMemHandle);

MUresult muIpcCloseMemHandle(MUdeviceptr p)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_range range;
    if (!host_range_claim((void *)(uintptr_t)p, HOST_KIND(HOST_MEM_IPC), &range))
        return MUSA_ERROR_INVALID_VALUE;
    r = host_ctx_wait(range.ctx);
    host_range_release(&range);
    return r;
}
