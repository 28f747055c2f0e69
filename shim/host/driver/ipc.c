/* Device memory of another process: a handle names the process, its device's memfd and the place
 * in it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/driver/internal.h"
#include "host/driver/memcheck.h"

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
    if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
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
    struct ipc_handle h = {.pid = getpid()};
    if (!handle || !host_mem_find((void *)(uintptr_t)p, &range) || range.kind != HOST_MEM_DEVICE || range.pool ||
        !host_arena_offset((void *)range.base, &h.fd, &offset))
        return MUSA_ERROR_INVALID_VALUE;
    host_initcheck_foreign();
    memcpy(h.magic, magic, sizeof magic);
    h.started = host_process_start(h.pid);
    h.offset = offset;
    h.size = range.size;
    h.number = range.device->number;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return MUSA_SUCCESS;
}

/* Memory that this process has open: a handle that a context opens again gives the same address, and is
 * closed as often. */
struct opened {
    struct ipc_handle handle;
    MUcontext ctx;
    uintptr_t base;
    uint64_t id; /* of the range: one that a destroyed context took along is not it */
    unsigned count;
    struct opened *next;
};
static struct opened *opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* outside the range lock */

static bool still_open(const struct opened *o)
{
    struct host_range r;
    return host_mem_find((void *)o->base, &r) && r.id == o->id;
}

/* The link to what the context has open of the handle or at the address; entries that are gone are
 * dropped on the way. The lock is held. */
static struct opened **find_open(const struct ipc_handle *h, MUcontext ctx, uintptr_t base)
{
    struct opened **link = &opened;
    while (*link) {
        struct opened *o = *link;
        if (!still_open(o)) {
            *link = o->next;
            free(o);
        } else if (h ? o->ctx == ctx && !memcmp(&o->handle, h, sizeof *h) : o->base == base) {
            return link;
        } else {
            link = &o->next;
        }
    }
    return NULL;
}

/* Maps another process's memory: through /proc/PID/fd of the exporter, so that no server is needed. The size is
 * checked against the file, as a mapping behind its end would be a bus error, not an error code. */
static MUresult map(const struct ipc_handle *h, MUcontext ctx, struct opened *o)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return MUSA_ERROR_INVALID_HANDLE;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || h->offset > (uint64_t)st.st_size ||
        h->size > (uint64_t)st.st_size - h->offset) { /* a page behind the file's end is a bus error */
        close(fd);
        return MUSA_ERROR_INVALID_HANDLE;
    }
    /* Mappings begin at pages, allocations need not. */
    size_t skew = h->offset & 4095, length = (h->size + skew + 4095) & ~(size_t)4095;
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(h->offset - skew));
    close(fd);
    if (base == MAP_FAILED)
        return MUSA_ERROR_OUT_OF_MEMORY;
    madvise(base, length, MADV_DONTFORK);
    struct host_device *home = host_device_numbered(h->number);
    struct host_range range = {.base = (uintptr_t)base + skew,
                               .size = h->size,
                               .kind = HOST_MEM_IPC,
                               .device = home ? home : ctx->device,
                               .ctx = ctx};
    if (!host_range_add(&range) || !host_mem_find((void *)range.base, &range)) {
        munmap(base, length);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *o = (struct opened){*h, ctx, range.base, range.id, 1, NULL};
    return MUSA_SUCCESS;
}

/* Opens another process's memory. The handle names the process and when it began, since process numbers come again;
 * opening twice gives the same address and counts. */
MUresult muIpcOpenMemHandle(MUdeviceptr *p, MUipcMemHandle handle, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    struct ipc_handle h;
    memcpy(&h, &handle, sizeof h);
    if (!p || flags != MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || memcmp(h.magic, magic, sizeof magic) || !h.size)
        return MUSA_ERROR_INVALID_VALUE;
    if (h.pid == getpid())
        return MUSA_ERROR_INVALID_CONTEXT; /* as CUDA: not in the process that exported it */
    if (!h.started || host_process_start(h.pid) != h.started)
        return MUSA_ERROR_INVALID_HANDLE;
    struct opened *o = malloc(sizeof *o);
    if (!o)
        return MUSA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    struct opened **again = find_open(&h, ctx, 0);
    if (again) {
        (*again)->count++;
        *p = (*again)->base;
    } else if (!(r = map(&h, ctx, o))) {
        *p = o->base;
        o->next = opened;
        opened = o;
        o = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(o);
    return r;
}
HOST_ALIAS(muIpcOpenMemHandle_v2, muIpcOpenMemHandle);

MUresult muIpcCloseMemHandle(MUdeviceptr p)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_range range;
    pthread_mutex_lock(&lock);
    struct opened **link = p ? find_open(NULL, NULL, (uintptr_t)p) : NULL, *o = NULL;
    if (link && --(*link)->count == 0) {
        o = *link;
        *link = o->next;
    }
    pthread_mutex_unlock(&lock);
    if (!link)
        return MUSA_ERROR_INVALID_VALUE;
    if (o && host_range_claim((void *)o->base, HOST_KIND(HOST_MEM_IPC), &range)) {
        r = host_ctx_wait(range.ctx);
        host_range_release(&range);
    }
    free(o);
    return r;
}
