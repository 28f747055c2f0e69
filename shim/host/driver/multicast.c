/* Multicast objects: memory of several devices under one address. A mapping of one has no memory of its own and stays
 * inaccessible: CUDA leaves undefined what anything but a multimem instruction does there, and here it faults. The
 * instructions ask host_multicast_copies for the memory behind an address.
 *
 * What an object's processes share is a record in a memfd: how many devices it has and which, and what each has bound,
 * by process and file descriptor, as IPC handles have it (ipc.c). Each process maps what others have bound when it
 * first needs it, and keeps that until the object or a mapping of it goes: a kernel may still be using it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/driver/limits.h"
#include "host/driver/vmm.h"
#include "ptx/tier0/tier0.h"

_Static_assert(T0_COPIES >= HOST_MAX_DEVICES, "copies");

enum { BINDINGS = 500, PATIENCE = 10 /* seconds until a line says what is waited for */ };
enum { FREE, TAKEN, BOUND };
static const char mark[8] = "cumumc1";

struct binding { /* of a device's memory at an offset of the object */
    _Atomic uint32_t state;
    int32_t device; /* the machine's number */
    int32_t pid, fd;
    uint64_t serial; /* no other binding of the object has or had it */
    uint64_t started, dev, ino, from, offset, size;
};

struct record {
    char mark[8];
    uint64_t size;
    uint32_t devices;
    _Atomic uint32_t added; /* futex */
    _Atomic uint64_t team;  /* bits of the machine's devices */
    _Atomic uint64_t serials;
    _Atomic uint64_t version; /* counts changes of bindings */
    struct binding binding[BINDINGS];
};

struct alias { /* where this process sees what is bound */
    uint64_t serial;
    uint8_t *at;
    size_t size;
    struct alias *next;
};

struct owner { /* memory of this process that is bound */
    uint64_t serial;
    struct host_phys *phys;
    struct owner *next;
};

struct host_multicast {
    struct record *r;
    uint64_t size; /* checked: others may write the record */
    uint32_t devices;
    struct alias *aliases;
    struct owner *owners;
};

static size_t record_bytes(void) { return (sizeof(struct record) + 4095) & ~(size_t)4095; }

static bool whole(uint64_t n) { return n % HOST_VMM_GRANULARITY == 0; }

/* ---- the object ------------------------------------------------------------------------------ */

static MUresult check_prop(const MUmulticastObjectProp *p)
{
    if (!p || !p->numDevices || p->numDevices > HOST_MAX_DEVICES || !p->size || p->flags)
        return MUSA_ERROR_INVALID_VALUE;
    return p->handleTypes & ~(unsigned long long)MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? MUSA_ERROR_NOT_SUPPORTED
                                                                                          : MUSA_SUCCESS;
}

/* The record of a file, NULL: it is none. */
static struct host_multicast *map_record(int fd)
{
    struct host_multicast *m = calloc(1, sizeof *m);
    void *p = m ? mmap(NULL, record_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        free(m);
        return NULL;
    }
    madvise(p, record_bytes(), MADV_DONTFORK);
    m->r = p;
    m->size = m->r->size;
    m->devices = m->r->devices;
    return m;
}

struct host_multicast *host_multicast_open(int fd, size_t *size)
{
    size_t bytes;
    if (host_shared_fd_device(fd, HOST_MULTICAST_NAME, &bytes) < 0 || bytes != record_bytes())
        return NULL;
    struct host_multicast *m = map_record(fd);
    if (m && (memcmp(m->r->mark, mark, sizeof mark) || !m->devices || m->devices > HOST_MAX_DEVICES || !m->size ||
              !whole(m->size))) {
        host_multicast_free(m);
        return NULL;
    }
    if (m)
        *size = m->size;
    return m;
}

static int new_file(void)
{
    int fd = memfd_create(HOST_MULTICAST_NAME "-0", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (cumu_host_grow(fd, record_bytes()) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

MUresult muMulticastCreate(MUmemGenericAllocationHandle *handle, const MUmulticastObjectProp *prop)
{
    MUresult r = host_ready();
    if (r || (r = check_prop(prop)))
        return r;
    if (!handle || !whole(prop->size))
        return MUSA_ERROR_INVALID_VALUE;
    int fd = new_file();
    struct host_multicast *m = fd >= 0 ? map_record(fd) : NULL;
    struct host_phys *a = m ? host_phys_new() : NULL;
    if (!a) {
        if (m)
            host_multicast_free(m);
        if (fd >= 0)
            close(fd);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(m->r->mark, mark, sizeof mark);
    m->size = m->r->size = prop->size;
    m->devices = m->r->devices = prop->numDevices;
    a->fd = fd;
    a->size = prop->size;
    a->imported = true; /* no device pays for it */
    a->device = host_device(0);
    a->multicast = m;
    a->prop.requestedHandleTypes = (MUmemAllocationHandleType)prop->handleTypes;
    a->handles = 1;
    *handle = host_phys_handle(a);
    return MUSA_SUCCESS;
}

MUresult muMulticastGetGranularity(size_t *granularity, const MUmulticastObjectProp *prop,
                                   MUmulticastGranularity_flags option)
{
    MUresult r = host_ready();
    if (r || (r = check_prop(prop)))
        return r;
    if (!granularity || (option != MU_MULTICAST_GRANULARITY_MINIMUM && option != MU_MULTICAST_GRANULARITY_RECOMMENDED))
        return MUSA_ERROR_INVALID_VALUE;
    *granularity = HOST_VMM_GRANULARITY;
    return MUSA_SUCCESS;
}

/* The object of a handle; NULL: it is none. The lock is held. */
static struct host_phys *object_of(MUmemGenericAllocationHandle handle)
{
    struct host_phys *a = host_phys_held(handle);
    return a && a->multicast ? a : NULL;
}

static uint64_t bit_of(const struct host_device *d)
{
    return d && d->number >= 0 && d->number < 64 ? (uint64_t)1 << d->number : 0;
}

MUresult muMulticastAddDevice(MUmemGenericAllocationHandle handle, MUdevice dev)
{
    MUresult r = host_ready();
    if (r)
        return r;
    const uint64_t bit = bit_of(host_device(dev));
    if (!bit)
        return MUSA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = object_of(handle);
    struct record *x = a ? a->multicast->r : NULL;
    uint64_t team = x ? x->team : 0;
    do
        if (!x || team & bit || (unsigned)__builtin_popcountll(team) >= a->multicast->devices)
            r = MUSA_ERROR_INVALID_VALUE;
    while (!r && !atomic_compare_exchange_weak(&x->team, &team, team | bit));
    if (!r) {
        x->added++;
        syscall(SYS_futex, &x->added, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

void host_multicast_wait(const struct host_multicast *m)
{
    static const struct timespec patience = {PATIENCE, 0};
    bool told = false;
    for (uint32_t n; (n = m->r->added) < m->devices;)
        if (syscall(SYS_futex, &m->r->added, FUTEX_WAIT, n, &patience, NULL, 0) && errno == ETIMEDOUT && !told) {
            told = true;
            host_say("a multicast object waits for %u of its %u devices to be added", m->devices - n, m->devices);
        }
}

/* ---- binding --------------------------------------------------------------------------------- */

/* The object of a handle once all of its devices have been added, counted as a mapping; NULL: it is none. The lock is
 * held, and given up in between. */
static struct host_phys *complete_object(MUmemGenericAllocationHandle handle)
{
    struct host_phys *a = object_of(handle);
    if (!a)
        return NULL;
    a->mappings++;
    pthread_mutex_unlock(&host_vmm_lock);
    host_multicast_wait(a->multicast);
    pthread_mutex_lock(&host_vmm_lock);
    return a;
}

static void let_go(struct host_phys *a)
{
    if (!a)
        return;
    a->mappings--;
    host_phys_drop(a);
}

static bool overlaps(const struct record *x, int device, uint64_t offset, uint64_t size)
{
    for (unsigned k = 0; k < BINDINGS; k++) {
        const struct binding *b = &x->binding[k];
        if (b->state == BOUND && b->device == device && b->offset < offset + size && offset < b->offset + b->size)
            return true;
    }
    return false;
}

/* Binds bytes of a file of this process. phys: what must not go meanwhile, or NULL. */
static MUresult bind_file(struct host_multicast *m, const struct host_device *d, uint64_t offset, uint64_t size, int fd,
                          uint64_t from, struct host_phys *phys)
{
    struct record *x = m->r;
    struct stat st;
    if (!(x->team & bit_of(d)))
        return MUSA_ERROR_INVALID_DEVICE;
    if (overlaps(x, d->number, offset, size))
        return MUSA_ERROR_INVALID_VALUE;
    if (fstat(fd, &st))
        return MUSA_ERROR_OPERATING_SYSTEM;
    struct owner *o = calloc(1, sizeof *o);
    if (!o)
        return MUSA_ERROR_OUT_OF_MEMORY;
    for (unsigned k = 0; k < BINDINGS; k++) {
        struct binding *b = &x->binding[k];
        uint32_t want = FREE;
        if (!atomic_compare_exchange_strong(&b->state, &want, TAKEN))
            continue;
        b->device = d->number;
        b->pid = getpid();
        b->fd = fd;
        b->serial = ++x->serials;
        b->started = host_process_start(b->pid);
        b->dev = st.st_dev;
        b->ino = st.st_ino;
        b->from = from;
        b->offset = offset;
        b->size = size;
        *o = (struct owner){b->serial, phys, m->owners};
        m->owners = o;
        if (phys)
            phys->mappings++;
        b->state = BOUND;
        x->version++;
        return MUSA_SUCCESS;
    }
    free(o);
    return MUSA_ERROR_OUT_OF_MEMORY;
}

MUresult muMulticastBindMem(MUmemGenericAllocationHandle handle, size_t offset, MUmemGenericAllocationHandle memory,
                            size_t memory_offset, size_t size, unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!size || !whole(size) || !whole(offset) || !whole(memory_offset) || flags)
        return MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = complete_object(handle), *p = host_phys_held(memory);
    if (!a || !p || p->multicast || p->prop.location.type != MU_MEM_LOCATION_TYPE_DEVICE || offset > a->size ||
        size > a->size - offset || memory_offset > p->size || size > p->size - memory_offset)
        r = MUSA_ERROR_INVALID_VALUE;
    else
        r = bind_file(a->multicast, p->device, offset, size, p->fd, memory_offset, p);
    let_go(a);
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

/* As CUDA documents: memory of muMemCreate, by one of its mappings, or of a pool. */
MUresult muMulticastBindAddr(MUmemGenericAllocationHandle handle, size_t offset, MUdeviceptr p, size_t size,
                             unsigned long long flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!size || !whole(size) || !whole(offset) || !whole(p) || flags)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_range range;
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = complete_object(handle);
    int fd = -1;
    size_t from = 0;
    bool there = host_mem_find((void *)(uintptr_t)p, &range) && size <= range.base + range.size - p;
    struct host_phys *phys = there && range.kind == HOST_MEM_MAPPED ? range.mapping->phys : NULL;
    if (phys && !phys->multicast && !range.on_host) {
        fd = phys->fd;
        from = p - range.base;
    } else if (phys || !there || range.kind != HOST_MEM_DEVICE || !range.pool ||
               !host_arena_offset((void *)(uintptr_t)p, &fd, &from)) {
        there = false;
    }
    if (!a || !there || offset > a->size || size > a->size - offset)
        r = MUSA_ERROR_INVALID_VALUE;
    else
        r = bind_file(a->multicast, range.device, offset, size, fd, from, phys);
    let_go(a);
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

static void disown(struct host_multicast *m, uint64_t serial)
{
    for (struct owner **at = &m->owners; *at; at = &(*at)->next)
        if ((*at)->serial == serial) {
            struct owner *o = *at;
            *at = o->next;
            if (o->phys) {
                o->phys->mappings--;
                host_phys_drop(o->phys);
            }
            free(o);
            return;
        }
}

MUresult muMulticastUnbind(MUmemGenericAllocationHandle handle, MUdevice dev, size_t offset, size_t size)
{
    MUresult r = host_ready();
    if (r)
        return r;
    const struct host_device *d = host_device(dev);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE;
    host_vmm_drain();
    pthread_mutex_lock(&host_vmm_lock);
    struct host_phys *a = object_of(handle);
    r = MUSA_ERROR_INVALID_VALUE; /* what was bound is unbound as it was */
    for (unsigned k = 0; a && r && k < BINDINGS; k++) {
        struct binding *b = &a->multicast->r->binding[k];
        if (b->state != BOUND || b->device != d->number || b->offset != offset || b->size != size)
            continue;
        const uint64_t serial = b->serial;
        b->state = FREE;
        a->multicast->r->version++;
        disown(a->multicast, serial);
        r = MUSA_SUCCESS;
    }
    pthread_mutex_unlock(&host_vmm_lock);
    return r;
}

/* The last handle and mapping of this process go: what it had bound is free again, as nothing would hold it. */
void host_multicast_free(struct host_multicast *m)
{
    host_multicast_changed();
    while (m->owners) {
        const uint64_t serial = m->owners->serial;
        for (unsigned k = 0; k < BINDINGS; k++)
            if (m->r->binding[k].state == BOUND && m->r->binding[k].serial == serial) {
                m->r->binding[k].state = FREE;
                m->r->version++;
            }
        disown(m, serial);
    }
    while (m->aliases) {
        struct alias *next = m->aliases->next;
        munmap(m->aliases->at, m->aliases->size);
        free(m->aliases);
        m->aliases = next;
    }
    munmap(m->r, record_bytes());
    free(m);
}

/* ---- what is behind an address --------------------------------------------------------------- */

static _Atomic uint64_t epoch = 1; /* of mappings of objects, in this process */

void host_multicast_changed(void) { epoch++; }

static struct owner *owner_of(const struct host_multicast *m, uint64_t serial)
{
    for (struct owner *o = m->owners; o; o = o->next)
        if (o->serial == serial)
            return o;
    return NULL;
}

/* The file of a binding: this process's own, or another's, if it is still what was bound. -1: gone. */
static int open_binding(const struct host_multicast *m, const struct binding *b)
{
    char path[64];
    struct stat st;
    int fd;
    if (owner_of(m, b->serial)) {
        fd = fcntl(b->fd, F_DUPFD_CLOEXEC, 0);
    } else {
        if (!b->started || host_process_start(b->pid) != b->started)
            return -1;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", b->pid, b->fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    /* A page behind the file's end is a bus error. */
    if (fd >= 0 && (fstat(fd, &st) || st.st_dev != b->dev || st.st_ino != b->ino || b->from > (uint64_t)st.st_size ||
                    b->size > (uint64_t)st.st_size - b->from || b->from % 4096 || !whole(b->size))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static uint8_t *alias_of(struct host_multicast *m, const struct binding *shared)
{
    const struct binding b = *shared; /* checked as it is used */
    for (struct alias *a = m->aliases; a; a = a->next)
        if (a->serial == b.serial)
            return a->size == b.size ? a->at : NULL;
    struct alias *a = malloc(sizeof *a);
    int fd = a ? open_binding(m, &b) : -1;
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)b.from);
    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED) {
        free(a);
        return NULL;
    }
    madvise(p, b.size, MADV_DONTFORK);
    *a = (struct alias){b.serial, p, b.size, m->aliases};
    m->aliases = a;
    return p;
}

struct found { /* what a thread has found last */
    uint64_t epoch, version;
    const struct record *record;
    uint64_t base, end; /* addresses of which that is true */
    unsigned n, access;
    uint8_t *at[HOST_MAX_DEVICES]; /* at base */
};

static bool is_current(const struct found *f, uint64_t address)
{
    return f->epoch == epoch && address >= f->base && address < f->end && f->record->version == f->version;
}

/* The memory of one device at an offset of the object; *from and *end, the stretch so far, become what is bound. */
static uint8_t *copy_at(struct host_multicast *m, int device, uint64_t offset, uint64_t *from, uint64_t *end)
{
    for (unsigned k = 0; k < BINDINGS; k++) {
        const struct binding *b = &m->r->binding[k];
        const uint64_t first = b->offset, size = b->size;
        if (b->state != BOUND || b->device != device || offset < first || offset - first >= size ||
            size > m->size - first)
            continue;
        uint8_t *p = alias_of(m, b);
        *from = first > *from ? first : *from;
        *end = first + size < *end ? first + size : *end;
        return p ? p + (offset - first) : NULL;
    }
    return NULL;
}

static bool find(struct found *f, uint64_t address)
{
    struct host_range range;
    *f = (struct found){.epoch = epoch};
    if (!host_mem_find((void *)(uintptr_t)address, &range) || !range.multicast)
        return false;
    struct host_multicast *m = range.mapping->phys->multicast;
    const uint64_t offset = address - range.base, team = m->r->team;
    uint64_t from = 0, end = range.size;
    f->record = m->r;
    f->version = m->r->version;
    for (unsigned k = 0; k <= HOST_MAX_DEVICES; k++)
        f->access |= range.mapping->access[k];
    for (int device = 0; device < HOST_MAX_DEVICES; device++)
        if (team >> device & 1 && !(f->at[f->n++] = copy_at(m, device, offset, &from, &end)))
            return false;
    for (unsigned k = 0; k < f->n; k++)
        f->at[k] -= offset - from;
    f->base = range.base + from;
    f->end = range.base + end;
    return f->n == m->devices;
}

/* Nearly always what the thread has found before. The order of the copies is that of the machine's devices. */
unsigned host_multicast_copies(void *ctx, uint64_t address, bool write, uint8_t **at, uint64_t *extent)
{
    static _Thread_local struct found last;
    (void)ctx;
    if (!is_current(&last, address)) {
        pthread_mutex_lock(&host_vmm_lock);
        bool there = find(&last, address);
        pthread_mutex_unlock(&host_vmm_lock);
        if (!there) {
            last.epoch = 0;
            return 0;
        }
    }
    if (!(last.access & (write ? MU_MEM_ACCESS_FLAGS_PROT_READWRITE & ~MU_MEM_ACCESS_FLAGS_PROT_READ
                               : MU_MEM_ACCESS_FLAGS_PROT_READ)))
        return 0;
    for (unsigned k = 0; k < last.n; k++)
        at[k] = last.at[k] + (address - last.base);
    *extent = last.end - address;
    return last.n;
}
