/* Virtual memory management: reserving, creating, mapping, rights, bad input; and memory and pools that a
 * second process imports. */
#include "device.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define G ((size_t)2 << 20)

static MUmemAllocationProp on_device(int device, int types)
{
    return (MUmemAllocationProp){.type = MU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = types,
                                 .location = {MU_MEM_LOCATION_TYPE_DEVICE, device}};
}

static const MUmemAccessDesc both = {{MU_MEM_LOCATION_TYPE_DEVICE, 0}, MU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static size_t free_bytes(void)
{
    size_t n, total;
    MUST(muMemGetInfo(&n, &total));
    return n;
}

static void sleeps(void *unused)
{
    (void)unused;
    sleep_ms(20);
}

static void bad_input(void)
{
    MUmemAllocationProp prop = on_device(0, 0);
    MUmemGenericAllocationHandle h = 77;
    MUdeviceptr p = 77;
    size_t n = 77;
    OK(muMemGetAllocationGranularity(&n, &prop, MU_MEM_ALLOC_GRANULARITY_MINIMUM));
    check(n == G, "granularity");
    IS(muMemGetAllocationGranularity(&n, &prop, 2), MUSA_ERROR_INVALID_VALUE);
    IS(muMemGetAllocationGranularity(NULL, &prop, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemGetAllocationGranularity(&n, NULL, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemCreate(NULL, G, &prop, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemCreate(&h, G, NULL, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemCreate(&h, 0, &prop, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemCreate(&h, G - 4096, &prop, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemCreate(&h, G, &prop, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muMemCreate(&h, (size_t)1 << 40, &prop, 0), MUSA_ERROR_OUT_OF_MEMORY);
    prop.location.id = 9;
    IS(muMemCreate(&h, G, &prop, 0), MUSA_ERROR_INVALID_DEVICE);
    prop = on_device(0, MU_MEM_HANDLE_TYPE_WIN32);
    IS(muMemCreate(&h, G, &prop, 0), MUSA_ERROR_NOT_SUPPORTED);
    prop = on_device(0, 0);
    prop.location.type = 9;
    IS(muMemCreate(&h, G, &prop, 0), MUSA_ERROR_NOT_SUPPORTED);
    prop.type = MU_MEM_ALLOCATION_TYPE_INVALID;
    IS(muMemCreate(&h, G, &prop, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemRelease(77), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAddressReserve(NULL, G, 0, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAddressReserve(&p, 0, 0, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAddressReserve(&p, G + 1, 0, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAddressReserve(&p, G, 3, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAddressReserve(&p, G, 0, 0, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAddressReserve(&p, (size_t)-4096, 0, 0, 0), MUSA_ERROR_OUT_OF_MEMORY);
    IS(muMemAddressFree(p, G), MUSA_ERROR_INVALID_VALUE);
    IS(muMemUnmap(0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemUnmap(0x1000, G), MUSA_ERROR_INVALID_VALUE);
    IS(muMemSetAccess(0x1000, G, &both, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muMemRetainAllocationHandle(&h, &h), MUSA_ERROR_INVALID_VALUE);
    check(h == 77 && p == 77, "nothing was written");
}

/* Memory of the host's NUMA nodes, as XGBoost asks for it: mapped like a device's, and no device pays for it. */
static void of_the_host(void)
{
    MUmemAllocationProp prop = on_device(0, 0);
    MUmemAccessDesc rights[2] = {both, both};
    MUmemGenericAllocationHandle h;
    MUdeviceptr va;
    size_t before = free_bytes(), n = 77;
    unsigned kind = 0;
    unsigned long long flags = 77;
    prop.location = (MUmemLocation){MU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    rights[1].location = prop.location;
    OK(muMemGetAllocationGranularity(&n, &prop, MU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    check(n == G, "granularity of the host's memory");
    MUST(muMemCreate(&h, G, &prop, 0));
    check(free_bytes() == before, "no device pays for it");
    MUST(muMemAddressReserve(&va, G, 0, 0, 0));
    OK(muMemMap(va, G, 0, h, 0));
    OK(muMemGetAccess(&flags, &prop.location, va));
    check(flags == 0, "nor has the host rights at first");
    OK(muMemSetAccess(va, G, rights, 2));
    OK(muMemGetAccess(&flags, &prop.location, va));
    check(flags == MU_MEM_ACCESS_FLAGS_PROT_READWRITE, "rights of the host");
    *(int *)(uintptr_t)va = 5;
    OK(muMemsetD8(va + 4, 1, 4));
    check(*(long *)(uintptr_t)va == 0x0101010100000005, "host and device write to it");
    OK(muLaunchHostFunc(NULL, sleeps, NULL));
    OK(muMemsetD8(va, 2, 4));
    check(*(long *)(uintptr_t)va == 0x0101010102020202, "a fill of it in a busy stream ends before the call does");
    OK(muPointerGetAttribute(&kind, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, va));
    check(kind == MU_MEMORYTYPE_HOST, "its kind");
    OK(muMemUnmap(va, G));
    OK(muMemRelease(h));
    OK(muMemAddressFree(va, G));
    check(free_bytes() == before, "nor gets anything back");
}

/* Such memory goes to other processes by its file, as Realm asks for it (Legate). */
static void of_the_host_shared(void)
{
    MUmemAllocationProp prop = on_device(0, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), got;
    MUmemGenericAllocationHandle h, other;
    MUmemAccessDesc rights = both;
    MUdeviceptr a, b;
    size_t before = free_bytes(), n = 77;
    int fd = -1;
    prop.location = (MUmemLocation){MU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    rights.location = prop.location;
    OK(muMemGetAllocationGranularity(&n, &prop, MU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    check(n == G, "granularity of what can be shared");
    MUST(muMemCreate(&h, G, &prop, 0));
    MUST(muMemExportToShareableHandle(&fd, h, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(muMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    MUST(muMemGetAllocationPropertiesFromHandle(&got, other));
    check(!memcmp(&got, &prop, sizeof got), "it stays the host's");
    MUST(muMemAddressReserve(&a, 2 * G, 0, 0, 0));
    b = a + G;
    MUST(muMemMap(a, G, 0, h, 0));
    MUST(muMemMap(b, G, 0, other, 0));
    MUST(muMemSetAccess(a, 2 * G, &rights, 1));
    *(volatile int *)(uintptr_t)a = 5;
    check(*(volatile int *)(uintptr_t)b == 5, "both are one memory");
    check(free_bytes() == before, "that no device pays for");
    OK(muMemUnmap(a, 2 * G));
    OK(muMemRelease(h));
    OK(muMemRelease(other));
    OK(muMemAddressFree(a, 2 * G));
    check(free_bytes() == before, "nor gets back");
}

static void mapping(void)
{
    MUmemAllocationProp prop = on_device(0, 0), got;
    MUmemGenericAllocationHandle a, b, again;
    MUdeviceptr va, other, hint;
    size_t before = free_bytes(), size;
    unsigned long long rights = 77;
    int v = 5, w;
    MUST(muMemAddressReserve(&va, 4 * G, 0, 0, 0));
    OK(muMemAddressReserve(&hint, G, 8 * G, 0, 0));
    check(hint % (8 * G) == 0, "alignment");
    MUST(muMemAddressFree(hint, G));
    OK(muMemAddressReserve(&other, G, 0, hint, 0));
    check(other == hint, "a free address that is asked for is given");
    MUST(muMemAddressFree(other, G));
    OK(muMemAddressReserve(&other, G, 0, va, 0));
    check(other != va, "a taken one is not");
    IS(muMemAddressFree(other, 2 * G), MUSA_ERROR_INVALID_VALUE);
    MUST(muMemAddressFree(other, G));
    check(free_bytes() == before, "addresses cost no memory");

    MUST(muMemCreate(&a, G, &prop, 0));
    MUST(muMemCreate(&b, 2 * G, &prop, 0));
    check(free_bytes() == before - 3 * G, "memory does");
    OK(muMemGetAllocationPropertiesFromHandle(&got, a));
    check(!memcmp(&got, &prop, sizeof got), "properties come back");
    IS(muMemMap(va, 2 * G, 0, a, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemMap(va, G, G, b, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemMap(va, G, 0, a, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muMemMap(va + 4096, G, 0, a, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemMap(va + 4 * G, G, 0, a, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemMap(va, G, 0, 12345, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyHtoD(va, &v, sizeof v), MUSA_ERROR_INVALID_VALUE);
    OK(muMemMap(va, G, 0, a, 0));
    IS(muMemMap(va, G, 0, a, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muMemMap(va + G, 2 * G, 0, b, 0));
    IS(muMemcpyHtoD(va, &v, sizeof v), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpy(va, dev(&v), sizeof v), MUSA_ERROR_INVALID_VALUE);
    OK(muMemGetAccess(&rights, &both.location, va));
    check(rights == 0, "a mapping begins without rights");

    MUmemAccessDesc d = both;
    d.flags = MU_MEM_ACCESS_FLAGS_PROT_READ;
    IS(muMemSetAccess(va, 2 * G, &d, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muMemSetAccess(va, 4 * G, &d, 1), MUSA_ERROR_INVALID_VALUE);
    OK(muMemSetAccess(va, 3 * G, &d, 1));
    IS(muMemcpyHtoD(va, &v, sizeof v), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD8(va, 1, 4), MUSA_ERROR_INVALID_VALUE);
    OK(muMemcpyDtoH(&w, va, sizeof w));
    check(w == 0, "fresh memory is zero");
    d.flags = 2;
    IS(muMemSetAccess(va, G, &d, 1), MUSA_ERROR_INVALID_VALUE);
    d = both;
    d.location.id = 7;
    IS(muMemSetAccess(va, G, &d, 1), MUSA_ERROR_INVALID_DEVICE);
    OK(muMemSetAccess(va, 3 * G, &both, 1));
    OK(muMemGetAccess(&rights, &both.location, va + G + 5));
    check(rights == MU_MEM_ACCESS_FLAGS_PROT_READWRITE, "rights");
    d.location.id = 1;
    OK(muMemGetAccess(&rights, &d.location, va));
    check(rights == 0, "each device has its own");
    OK(muMemsetD8(va + G - 8, 0xab, 16)); /* over the seam */
    MUST(muMemcpyDtoH(&v, va + G - 4, 4));
    MUST(muMemcpyDtoH(&w, va + G, 4));
    check(v == (int)0xabababab && w == v, "a copy runs over mappings side by side");
    IS(muMemsetD8(va + 3 * G - 8, 0, 16), MUSA_ERROR_INVALID_VALUE);
    MUST(muMemGetAddressRange(&other, &size, va + G + 1));
    check(other == va + G && size == 2 * G, "an address knows its mapping");
    MUcontext ctx = (MUcontext)8;
    OK(muPointerGetAttribute(&ctx, MU_POINTER_ATTRIBUTE_CONTEXT, va));
    check(ctx == NULL, "and has no context");
    MUipcMemHandle ipc;
    IS(muIpcGetMemHandle(&ipc, va), MUSA_ERROR_INVALID_VALUE);
    IS(muMemFree(va), MUSA_ERROR_INVALID_VALUE);
    IS(muMemHostRegister(at(va), G, 0), MUSA_ERROR_INVALID_VALUE);

    IS(muMemAddressFree(va, 4 * G), MUSA_ERROR_INVALID_VALUE);
    OK(muMemRelease(a));
    IS(muMemRelease(a), MUSA_ERROR_INVALID_VALUE);
    check(free_bytes() == before - 3 * G, "memory lives while it is mapped");
    OK(muMemRetainAllocationHandle(&again, at(va + 100)));
    check(again == a, "an address gives the handle back");
    OK(muMemRelease(again));
    IS(muMemUnmap(va, 2 * G), MUSA_ERROR_INVALID_VALUE);
    OK(muMemUnmap(va, 3 * G));
    check(free_bytes() == before - 2 * G, "and while it is held");
    MUST(muMemMap(va + 2 * G, 2 * G, 0, b, 0)); /* elsewhere: the memory keeps what it had */
    MUST(muMemSetAccess(va + 2 * G, 2 * G, &both, 1));
    MUST(muMemcpyDtoH(&w, va + 2 * G, 4));
    check(w == v, "contents belong to the memory");
    MUST(muMemMap(va, 2 * G, 0, b, 0)); /* twice at once */
    MUST(muMemSetAccess(va, 2 * G, &both, 1));
    MUST(muMemsetD8(va, 1, 4));
    MUST(muMemcpyDtoH(&w, va + 2 * G, 4));
    check(w == 0x01010101, "which may be mapped twice");
    MUST(muMemRelease(b));
    MUST(muMemUnmap(va, 4 * G));
    MUST(muMemAddressFree(va, 4 * G));
    check(free_bytes() == before, "nothing is left");
}

/* ---- two processes --------------------------------------------------------------------------- */

static void send_fd(int socket, int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(socket, &m, 0) != 1)
        exit(1);
}

static int receive_fd(int socket)
{
    int fd = -1;
    char byte, room[CMSG_SPACE(sizeof fd)];
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static void put(int socket, const void *p, size_t n)
{
    if (write(socket, p, n) != (ssize_t)n)
        exit(1);
}

static void get(int socket, void *p, size_t n)
{
    if (recv(socket, p, n, MSG_WAITALL) != (ssize_t)n)
        exit(1);
}

static MUdeviceptr map_all(MUmemGenericAllocationHandle h, size_t size)
{
    MUdeviceptr p;
    MUST(muMemAddressReserve(&p, size, 0, 0, 0));
    MUST(muMemMap(p, size, 0, h, 0));
    MUST(muMemSetAccess(p, size, &both, 1));
    return p;
}

/* The importer outlives the exporter: it reads after the other is gone. */
static int importer(int socket)
{
    start_device();
    MUmemGenericAllocationHandle h;
    int fd = receive_fd(socket), v = 0;
    IS(muMemImportFromShareableHandle(&h, (void *)(intptr_t)socket, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
       MUSA_ERROR_INVALID_VALUE);
    IS(muMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_WIN32), MUSA_ERROR_INVALID_VALUE);
    OK(muMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    MUdeviceptr p = map_all(h, 2 * G);
    MUST(muMemcpyDtoH(&v, p + G, 4));
    check(v == 41, "imported memory holds what was written");
    v = 42;
    MUST(muMemcpyHtoD(p, &v, 4));

    MUmemoryPool pool;
    MUmemPoolPtrExportData data;
    MUdeviceptr q, r;
    fd = receive_fd(socket);
    IS(muMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
       MUSA_ERROR_INVALID_VALUE);
    OK(muMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    get(socket, &data, sizeof data);
    OK(muMemPoolImportPointer(&q, pool, &data));
    MUST(muMemcpyDtoH(&v, q, 4));
    check(v == 51, "an imported pool's pointer too");
    v = 52;
    MUST(muMemcpyHtoD(q, &v, 4));
    IS(muMemAllocFromPoolAsync(&r, 64, pool, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muMemPoolExportPointer(&data, q), MUSA_ERROR_INVALID_VALUE);
    data.reserved[16] ^= 1; /* another pool's number */
    IS(muMemPoolImportPointer(&r, pool, &data), MUSA_ERROR_INVALID_VALUE);
    OK(muMemFreeAsync(q, NULL));
    MUST(muCtxSynchronize());
    OK(muMemPoolDestroy(pool));
    put(socket, "x", 1);
    char byte;
    check(recv(socket, &byte, 1, 0) == 0, "the exporter exits");
    MUST(muMemcpyDtoH(&v, p + G, 4));
    check(v == 41, "and its memory stays");
    MUST(muMemRelease(h));
    return check_end("host vmm");
}

static void exporter(int socket)
{
    MUmemAllocationProp prop = on_device(0, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    MUmemGenericAllocationHandle h, plain;
    int fd, v = 41;
    MUST(muMemCreate(&h, 2 * G, &prop, 0));
    prop.requestedHandleTypes = 0;
    MUST(muMemCreate(&plain, G, &prop, 0));
    IS(muMemExportToShareableHandle(&fd, plain, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), MUSA_ERROR_INVALID_VALUE);
    MUST(muMemRelease(plain));
    MUdeviceptr p = map_all(h, 2 * G), q;
    unsigned long long types = 0;
    MUST(muPointerGetAttribute(&types, MU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p));
    check(types == MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, "the address tells how it may be exported");
    MUST(muMemcpyHtoD(p + G, &v, 4));
    OK(muMemExportToShareableHandle(&fd, h, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(socket, fd);
    close(fd);

    MUmemPoolProps props = {.allocType = MU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}};
    MUmemoryPool pool, own;
    MUmemPoolPtrExportData data;
    size_t before = free_bytes();
    MUST(muMemPoolCreate(&pool, &props));
    MUST(muMemAllocFromPoolAsync(&q, 100, pool, NULL)); /* a neighbour: the next begins no page */
    MUST(muMemAllocFromPoolAsync(&q, 1000, pool, NULL));
    check(free_bytes() < before, "a shared pool's memory is the device's");
    v = 51;
    MUST(muMemcpyHtoD(q, &v, 4));
    MUST(muDeviceGetDefaultMemPool(&own, 0));
    IS(muMemPoolExportToShareableHandle(&fd, own, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
       MUSA_ERROR_INVALID_VALUE);
    OK(muMemPoolExportToShareableHandle(&fd, pool, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(socket, fd);
    close(fd);
    IS(muMemPoolExportPointer(&data, p), MUSA_ERROR_INVALID_VALUE);
    OK(muMemPoolExportPointer(&data, q));
    put(socket, &data, sizeof data);
    char byte;
    get(socket, &byte, 1);
    MUST(muMemcpyDtoH(&v, p, 4));
    check(v == 42, "the importer wrote our memory");
    MUST(muMemcpyDtoH(&v, q, 4));
    check(v == 52, "and our pool's");
    MUST(muMemPoolDestroy(pool));
    MUST(muMemFreeAsync(q, NULL)); /* the last but one; the pool's memory goes after all of them */
    MUST(muCtxSynchronize());
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_MEMORY", "32M", 1);
    setenv("CUMU_HOST_DEVICES", "2", 1);
    if (argc > 1)
        return importer(atoi(argv[1]));
    start_device();
    bad_input();
    of_the_host();
    of_the_host_shared();
    mapping();
    int pair[2], status;
    char number[16];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    snprintf(number, sizeof number, "%d", pair[1]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        execl(argv[0], argv[0], number, (char *)NULL);
        _exit(9);
    }
    close(pair[1]);
    exporter(pair[0]);
    close(pair[0]);
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the importer agrees");
    return check_end("host vmm");
}
