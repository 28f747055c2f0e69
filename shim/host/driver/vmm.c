/* Virtual memory management: addresses are reserved, memory is created, and the one is mapped to the
 * other. Each allocation is a memfd of its own, so that it can be given to another process.
 *
 * All devices share the process's page tables: a mapping is accessible to kernels with the greatest of
 * the rights that any device (or, of memory of the host, the host) was given, and muMemGetAccess tells each one's own.
 * Memory of a NUMA node is the process's, of any node, and no device pays for it. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/driver/limits.h"
#include "host/driver/vmm.h"

#define PAGE ((size_t)4096)
#define GRANULARITY HOST_VMM_GRANULARITY
/* What a memory's file is called, by whose it is: a device's number follows, or a NUMA node's. */
#define DEVICE_NAME "musa-allocation"
#define NODE_NAME "musa-node-allocation"

struct reservation {
    uintptr_t base;
    size_t size;
};

static struct host_slab allocations = HOST_SLAB(struct host_phys, "allocation");
pthread_mutex_t host_vmm_lock = PTHREAD_MUTEX_INITIALIZER;
static void *reservations; /* tsearch tree */

static int cmp_reservation(const void *a, const void *b)
{
    const struct reservation *x = a, *y = b;
    return x->base + x->size <= y->base ? -1 : y->base + y->size <= x->base;
}

static struct reservation *reserved(uintptr_t p, size_t size)
{
    struct reservation key = {p, size ? size : 1};
    void *found = tfind(&key, &reservations, cmp_reservation);
    return found ? *(struct reservation **)found : NULL;
}

bool host_vmm_reserved(const void *p, size_t size)
{
    pthread_mutex_lock(&host_vmm_lock);
    bool is = reserved((uintptr_t)p, size) != NULL;
    pthread_mutex_unlock(&host_vmm_lock);
    return is;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Reserves so many bytes, at the wish if that is free; NULL if there is no room. */
static void *reserve(size_t size, size_t alignment, uintptr_t wish)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (wish && !(wish & (alignment - 1))) {
        void *p = mmap((void *)wish, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (p == (void *)wish)
            return p;
        if (p != MAP_FAILED) /* an old kernel takes the wish as a hint */
            munmap(p, size);
    }
    size_t room;
    if (__builtin_add_overflow(size, alignment, &room))
        return NULL;
    unsigned char *p = mmap(NULL, room, PROT_NONE, flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)p & (alignment - 1);
    if (before)
        munmap(p, before);
    munmap(p + before + size, room - before - size);
    return p + before;
}

/* Reserves address space, at the wanted place if that is free. */
MUresult muMemAddressReserve(MUdeviceptr *ptr, size_t size, size_t alignment, MUdeviceptr addr,
                             unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!ptr || !size || size % PAGE || addr % PAGE || flags || alignment & (alignment - 1))
        return MUSA_ERROR_INVALID_VALUE;
    struct reservation *v = malloc(sizeof *v);
    void *p = v ? reserve(size, alignment > GRANULARITY ? alignment : GRANULARITY, addr) : NULL;
    if (!p) {
        free(v);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *v = (struct reservation){(uintptr_t)p, size};
    pthread_mutex_lock(&host_vmm_lock);
    bool ok = tsearch(v, &reservations, cmp_reservation) != NULL;
    pthread_mutex_unlock(&host_vmm_lock);
    if (!ok) {
        munmap(p, size);
        free(v);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *ptr = (MUdeviceptr)(uintptr_t)p;
    return MUSA_SUCCESS;
}

/* The first mapping at or above p that begins below end; false if there is none. Mappings begin at
 * multiples of the granularity. */
static bool mapping_in(uintptr_t p, uintptr_t end, struct host_range *r)
{
    for (; p < end; p += GRANULARITY)
        if (host_mem_find((void *)p, r))
            return true;
    return false;
}

MUresult muMemAddressFree(MUdeviceptr ptr, size_t size)
{
    MUresult r = host_ready();
    if (r)
        return r;
    struct host_range range;
    pthread_mutex_lock(&host_vmm_lock);
    struct reservation *v = reserved(ptr, 1);
    if (!v || v->base != ptr || v->size != size || mapping_in(ptr, ptr + size, &range)) {
        v = NULL;
        r = MUSA_ERROR_INVALID_VALUE;
    } else {
        tdelete(v, &reservations, cmp_reservation);
        munmap((void *)(uintptr_t)ptr, size);
    }
    pthread_mutex_unlock(&host_vmm_lock);
    free(v);
    return r;
}

/* ---- memory ---------------------------------------------------------------------------------- */

MUmemGenericAllocationHandle host_phys_handle(struct host_phys *a)
{
    return (MUmemGenericAllocationHandle)(uintptr_t)a;
}

struct host_phys *host_phys_new(void) { return host_slab_get(&allocations); }

struct host_phys *host_phys_held(MUmemGenericAllocationHandle handle)
{
    struct host_phys *a = (struct host_phys *)(uintptr_t)handle;
    return host_slab_live(&allocations, a) && a->handles ? a : NULL;
}

static bool is_host(const MUmemLocation *l)
{
    return l->type == MU_MEM_LOCATION_TYPE_HOST || l->type == MU_MEM_LOCATION_TYPE_HOST_NUMA ||
           l->type == MU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

void host_phys_drop(struct host_phys *a)
{
    if (a->handles || a->mappings)
        return;
    if (a->multicast)
        host_multicast_free(a->multicast);
    close(a->fd);
    if (!a->imported && !is_host(&a->prop.location))
        host_device_refund(a->device, a->size);
    host_slab_put(&allocations, a);
}

/* Whose rights a location names: a device's number, or HOST_MAX_DEVICES for the host. */
static MUresult check_place(const MUmemLocation *l, int *place)
{
    if (!is_host(l) && l->type != MU_MEM_LOCATION_TYPE_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    *place = is_host(l) ? HOST_MAX_DEVICES : l->id;
    return is_host(l) || host_device(l->id) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_DEVICE;
}

/* Memory of the host gets the first device, which is told of it but does not pay. */
static MUresult check_prop(const MUmemAllocationProp *prop, struct host_device **d)
{
    if (!prop || prop->location.type == MU_MEM_LOCATION_TYPE_INVALID ||
        (prop->type != MU_MEM_ALLOCATION_TYPE_PINNED && prop->type != MU_MEM_ALLOCATION_TYPE_MANAGED))
        return MUSA_ERROR_INVALID_VALUE;
    bool on_host = is_host(&prop->location);
    if (prop->type != MU_MEM_ALLOCATION_TYPE_PINNED ||
        (!on_host && prop->location.type != MU_MEM_LOCATION_TYPE_DEVICE) ||
        prop->requestedHandleTypes & ~(unsigned)MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return MUSA_ERROR_NOT_SUPPORTED; /* the device's attributes say so */
    *d = host_device(on_host ? 0 : prop->location.id);
    return *d ? MUSA_SUCCESS : MUSA_ERROR_INVALID_DEVICE;
}

/* The name tells an importer whose memory it is; the seals, that it will not shrink under it. */
static int new_memfd(const MUmemLocation *l, const struct host_device *d, size_t size)
{
    char name[48];
    if (!is_host(l))
        snprintf(name, sizeof name, DEVICE_NAME "-%d", d->number);
    else
        snprintf(name, sizeof name, NODE_NAME "-%d",
                 l->type == MU_MEM_LOCATION_TYPE_HOST_NUMA && l->id > 0 ? l->id : 0);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (cumu_host_grow(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Makes memory without an address: a memory file, charged to the device. Other processes map the same file. */
MUresult muMemCreate(MUmemGenericAllocationHandle *handle, size_t size, const MUmemAllocationProp *prop,
                     unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!handle || !size || size % GRANULARITY || flags)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_device *d;
    r = check_prop(prop, &d);
    if (r)
        return r;
    bool paid = !is_host(&prop->location);
    if (paid && !host_device_charge(d, size))
        return MUSA_ERROR_OUT_OF_MEMORY;
    int fd = new_memfd(&prop->location, d, size);
    struct host_phys *a = fd >= 0 ? host_phys_new() : NULL;
    if (!a) {
        if (fd >= 0)
            close(fd);
        if (paid)
            host_device_refund(d, size);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    a->fd = fd;
    a->size = size;
    a->prop = *prop;
    a->device = d;
    a->handles = 1;
    *handle = host_phys_handle(a);
    return MUSA_SUCCESS;
}

MUresult muMemRelease(MUmemGenericAllocationHandle handle)
{
    MUresult r = host_ready();
    if (r)
        return r;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = host_phys_held(handle);
    if (a) {
        a->handles--;
        host_phys_drop(a);
    }
    pthread_mutex_unlock(&host_vmm_lock);
    return a ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

MUresult muMemRetainAllocationHandle(MUmemGenericAllocationHandle *handle, void *addr)
{
    MUresult r = host_ready();
    if (r)
        return r;
    struct host_range range;
    pthread_mutex_lock(&host_vmm_lock);
    if (handle && host_mem_find(addr, &range) && range.kind == HOST_MEM_MAPPED) {
        range.mapping->phys->handles++;
        *handle = host_phys_handle(range.mapping->phys);
    } else {
        r = MUSA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

MUresult muMemGetAllocationGranularity(size_t *granularity, const MUmemAllocationProp *prop,
                                       MUmemAllocationGranularity_flags option)
{
    MUresult r = host_ready();
    struct host_device *d;
    if (!r)
        r = check_prop(prop, &d);
    if (r)
        return r;
    if (!granularity || (option != MU_MEM_ALLOC_GRANULARITY_MINIMUM && option != MU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return MUSA_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return MUSA_SUCCESS;
}

MUresult muMemGetAllocationPropertiesFromHandle(MUmemAllocationProp *prop, MUmemGenericAllocationHandle handle)
{
    MUresult r = host_ready();
    if (r)
        return r;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = host_phys_held(handle);
    if (a && !a->multicast && prop)
        *prop = a->prop;
    else
        r = MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

/* ---- between processes ----------------------------------------------------------------------- */

MUresult muMemExportToShareableHandle(void *out, MUmemGenericAllocationHandle handle, MUmemAllocationHandleType type,
                                      unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!out || flags || type != MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = host_phys_held(handle);
    int fd = -1;
    if (!a || !(a->prop.requestedHandleTypes & type))
        r = MUSA_ERROR_INVALID_VALUE;
    else if ((fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        r = MUSA_ERROR_OPERATING_SYSTEM;
    pthread_mutex_unlock(&host_vmm_lock);
    if (!r)
        *(int *)out = fd;
    return r;
}

unsigned host_vmm_handle_types(const struct host_range *r)
{
    struct host_range now;
    unsigned types = 0;
    pthread_mutex_lock(&host_vmm_lock);
    if (r->mapping && host_mem_find((void *)r->base, &now) && now.mapping == r->mapping)
        types = (unsigned)r->mapping->phys->prop.requestedHandleTypes;
    pthread_mutex_unlock(&host_vmm_lock);
    return types;
}

int host_shared_fd_device(int fd, const char *what, size_t *size)
{
    char path[64], name[128], want[64];
    int number = -1, end = 0;
    struct stat st;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, name, sizeof name - 1);
    if (n <= 0 || fstat(fd, &st) || st.st_size <= 0)
        return -1;
    name[n] = 0;
    snprintf(want, sizeof want, "/memfd:%s-%%d%%n", what);
    if (sscanf(name, want, &number, &end) != 1 || number < 0 || (name[end] && name[end] != ' ' && name[end] != '-'))
        return -1;
    *size = (size_t)st.st_size;
    return number;
}

struct host_device *host_device_numbered(int number)
{
    for (int i = 0; i < host_device_count(); i++)
        if (host_device(i)->number == number)
            return host_device(i);
    return NULL;
}

/* A handle of the file that another process gave; its description, which is the file's own, becomes a's. */
static MUresult adopt(MUmemGenericAllocationHandle *handle, int from, const struct host_phys *like)
{
    int fd = fcntl(from, F_DUPFD_CLOEXEC, 0);
    struct host_phys *a = fd >= 0 ? host_phys_new() : NULL;
    if (!a) {
        if (fd >= 0)
            close(fd);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    a->fd = fd;
    a->size = like->size;
    a->imported = true; /* the exporter's device has paid for it, or none */
    a->device = like->device;
    a->multicast = like->multicast;
    a->prop = (MUmemAllocationProp){.type = MU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = like->prop.location};
    a->handles = 1;
    *handle = host_phys_handle(a);
    return MUSA_SUCCESS;
}

/* Imports another process's allocation, or its multicast object, by its file. The seal against shrinking proves that
 * the exporter's driver made it: a file that shrinks would be a bus error for who maps it. */
MUresult muMemImportFromShareableHandle(MUmemGenericAllocationHandle *handle, void *os_handle,
                                        MUmemAllocationHandleType type)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!handle || type != MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_phys like = {0};
    int from = (int)(intptr_t)os_handle;
    int node = host_shared_fd_device(from, NODE_NAME, &like.size);
    int number = node < 0 ? host_shared_fd_device(from, DEVICE_NAME, &like.size) : -1;
    if (!(fcntl(from, F_GET_SEALS) & F_SEAL_SHRINK))
        return MUSA_ERROR_INVALID_VALUE;
    if (node < 0 && number < 0 && !(like.multicast = host_multicast_open(from, &like.size)))
        return MUSA_ERROR_INVALID_VALUE;
    like.device = number < 0 ? host_device(0) : host_device_numbered(number);
    if (!like.device)
        return MUSA_ERROR_INVALID_DEVICE; /* MUSA_VISIBLE_DEVICES hides it here */
    like.prop.location = node < 0 ? (MUmemLocation){MU_MEM_LOCATION_TYPE_DEVICE, like.device->ordinal}
                                  : (MUmemLocation){MU_MEM_LOCATION_TYPE_HOST_NUMA, node};
    if ((r = adopt(handle, from, &like)) && like.multicast)
        host_multicast_free(like.multicast);
    return r;
}

/* ---- mapping --------------------------------------------------------------------------------- */

/* Maps memory into reserved addresses, without access: muMemSetAccess grants it. Address space and memory are both
 * looked up under one lock, as either may be freed by another thread. */
MUresult muMemMap(MUdeviceptr ptr, size_t size, size_t offset, MUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!ptr || ptr % GRANULARITY || !size || size % GRANULARITY || offset || flags || ptr + size < ptr)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_mapping *m = calloc(1, sizeof *m);
    if (!m)
        return MUSA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = host_phys_held(handle);
    if (a && a->multicast) { /* as CUDA's: until the object is complete */
        a->mappings++;
        pthread_mutex_unlock(&host_vmm_lock);
        host_multicast_wait(a->multicast);
        pthread_mutex_lock(&host_vmm_lock);
        a->mappings--;
        host_phys_drop(a);
        a = host_phys_held(handle);
    }
    struct reservation *v = reserved(ptr, 1);
    if (!a || size > a->size || !v || ptr + size > v->base + v->size) {
        r = MUSA_ERROR_INVALID_VALUE;
        goto out;
    }
    struct host_range range = {.base = ptr,
                               .size = size,
                               .kind = HOST_MEM_MAPPED,
                               .device = a->device,
                               .mapping = m,
                               .multicast = a->multicast != NULL,
                               .on_host = is_host(&a->prop.location)};
    if (!host_range_add(&range)) { /* mapped already */
        r = MUSA_ERROR_INVALID_VALUE;
        goto out;
    }
    void *p = (void *)(uintptr_t)ptr;
    /* A multicast object's addresses stay as they were reserved: only multimem instructions may use them. */
    if (!a->multicast && mmap(p, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, a->fd, 0) == MAP_FAILED) {
        host_range_remove(p, HOST_KIND(HOST_MEM_MAPPED), NULL);
        r = MUSA_ERROR_OUT_OF_MEMORY;
        goto out;
    }
    madvise(p, size, MADV_DONTFORK); /* as all device memory */
    if (a->multicast)
        host_multicast_changed();
    m->phys = a;
    a->mappings++;
    m = NULL;
out:
    pthread_mutex_unlock(&host_vmm_lock);
    free(m);
    return r;
}

/* Do whole mappings, side by side, make up [p, p+size)? *rights gets what any of them allows now. */
static bool whole_mappings(uintptr_t p, size_t size, unsigned *rights)
{
    struct host_range r;
    uintptr_t at = p, end = p + size;
    *rights = 0;
    while (at < end && host_mem_find((void *)at, &r) && r.kind == HOST_MEM_MAPPED && r.base == at) {
        *rights |= r.access | r.multicast;
        at += r.size;
    }
    return at == end && size;
}

/* Work under way may use what is about to be hidden, and a copy that faults would take the process
 * along. Nothing is locked. */
void host_vmm_drain(void)
{
    for (MUcontext c = NULL; (c = host_slab_next(&host_contexts, c)) != NULL;)
        host_ctx_drain(c);
}

/* Waits, if anything of [p, p+size) can be in use, and takes the lock; the range is whole mappings
 * then, or the lock is not taken. */
static bool lock_whole(uintptr_t p, size_t size)
{
    unsigned rights;
    if (!whole_mappings(p, size, &rights))
        return false;
    if (rights)
        host_vmm_drain();
    pthread_mutex_lock(&host_vmm_lock);
    if (whole_mappings(p, size, &rights))
        return true;
    pthread_mutex_unlock(&host_vmm_lock);
    return false;
}

MUresult muMemUnmap(MUdeviceptr ptr, size_t size)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (ptr + size < ptr || !lock_whole(ptr, size))
        return MUSA_ERROR_INVALID_VALUE;
    /* The addresses stay reserved. First, so that a failure leaves the books as they are. */
    if (mmap((void *)(uintptr_t)ptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        r = MUSA_ERROR_OUT_OF_MEMORY;
    struct host_range range;
    for (uintptr_t at = ptr; !r && at < ptr + size; at += range.size) {
        host_range_remove((void *)at, HOST_KIND(HOST_MEM_MAPPED), &range);
        if (range.multicast)
            host_multicast_changed();
        range.mapping->phys->mappings--;
        host_phys_drop(range.mapping->phys);
        free(range.mapping);
    }
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

/* Grants devices access. All devices share one address space here, so a page has the most that any device may do
 * with it. */
MUresult muMemSetAccess(MUdeviceptr ptr, size_t size, const MUmemAccessDesc *desc, size_t count)
{
    static const int protections[] = {[MU_MEM_ACCESS_FLAGS_PROT_NONE] = PROT_NONE,
                                      [MU_MEM_ACCESS_FLAGS_PROT_READ] = PROT_READ,
                                      [MU_MEM_ACCESS_FLAGS_PROT_READWRITE] = PROT_READ | PROT_WRITE};
    MUresult r = host_ready();
    if (r)
        return r;
    if (!desc || !count || ptr + size < ptr)
        return MUSA_ERROR_INVALID_VALUE;
    int place;
    for (size_t i = 0; i < count && !r; i++) {
        unsigned f = (unsigned)desc[i].flags;
        r = f == 2 || f > 3 ? MUSA_ERROR_INVALID_VALUE : check_place(&desc[i].location, &place);
    }
    if (r)
        return r;
    if (!lock_whole(ptr, size))
        return MUSA_ERROR_INVALID_VALUE;
    struct host_range range;
    for (uintptr_t at = ptr; !r && at < ptr + size; at += range.size) {
        host_mem_find((void *)at, &range);
        unsigned char *access = range.mapping->access;
        for (size_t i = 0; i < count; i++)
            if (!check_place(&desc[i].location, &place))
                access[place] = (unsigned char)desc[i].flags;
        unsigned all = access[HOST_MAX_DEVICES];
        for (int i = 0; i < host_device_count(); i++)
            all |= access[i];
        if (range.multicast)
            host_multicast_changed();
        else if (mprotect((void *)at, range.size, protections[all]))
            r = MUSA_ERROR_OUT_OF_MEMORY; /* the kernel's limit of mappings */
        else
            host_range_access((void *)at, all);
    }
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

MUresult muMemGetAccess(unsigned long long *flags, const MUmemLocation *location, MUdeviceptr ptr)
{
    MUresult r = host_ready();
    if (r)
        return r;
    int place;
    if (!flags || !location)
        return MUSA_ERROR_INVALID_VALUE;
    r = check_place(location, &place);
    if (r)
        return r;
    struct host_range range;
    pthread_mutex_lock(&host_vmm_lock);
    if (host_mem_find((void *)(uintptr_t)ptr, &range) && range.kind == HOST_MEM_MAPPED)
        *flags = range.mapping->access[place];
    else
        r = MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}
