/* Virtual memory management: reserving, creating, mapping, rights, bad input; and memory and pools that a
 * second process imports. */
#include "check.h"

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

static void bad_input(void)
{
    MUmemAllocationProp prop = on_device(0, 0);
    MUmemGenericAllocationHandle h = 77;
    MUdeviceptr p = 77;
    size_t n = 77;
    IS(MUSA_SUCCESS, muMemGetAllocationGranularity(&n, &prop, MU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK("granularity", n == G);
    IS(MUSA_ERROR_INVALID_VALUE, muMemGetAllocationGranularity(&n, &prop, 2));
    IS(MUSA_ERROR_INVALID_VALUE, muMemGetAllocationGranularity(NULL, &prop, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemGetAllocationGranularity(&n, NULL, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemCreate(NULL, G, &prop, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemCreate(&h, G, NULL, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemCreate(&h, 0, &prop, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemCreate(&h, G - 4096, &prop, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemCreate(&h, G, &prop, 1));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemCreate(&h, (size_t)1 << 40, &prop, 0));
    prop.location.id = 9;
    IS(MUSA_ERROR_INVALID_DEVICE, muMemCreate(&h, G, &prop, 0));
    prop = on_device(0, MU_MEM_HANDLE_TYPE_WIN32);
    IS(MUSA_ERROR_NOT_SUPPORTED, muMemCreate(&h, G, &prop, 0));
    prop = on_device(0, 0);
    prop.location.type = MU_MEM_LOCATION_TYPE_HOST_NUMA;
    IS(MUSA_ERROR_NOT_SUPPORTED, muMemCreate(&h, G, &prop, 0));
    prop.type = MU_MEM_ALLOCATION_TYPE_INVALID;
    IS(MUSA_ERROR_INVALID_VALUE, muMemCreate(&h, G, &prop, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemRelease(77));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressReserve(NULL, G, 0, 0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressReserve(&p, 0, 0, 0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressReserve(&p, G + 1, 0, 0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressReserve(&p, G, 3, 0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressReserve(&p, G, 0, 0, 1));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAddressReserve(&p, (size_t)-4096, 0, 0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressFree(p, G));
    IS(MUSA_ERROR_INVALID_VALUE, muMemUnmap(0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemUnmap(0x1000, G));
    IS(MUSA_ERROR_INVALID_VALUE, muMemSetAccess(0x1000, G, &both, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muMemRetainAllocationHandle(&h, &h));
    CHECK("nothing was written", h == 77 && p == 77);
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
    IS(MUSA_SUCCESS, muMemAddressReserve(&hint, G, 8 * G, 0, 0));
    CHECK("alignment", hint % (8 * G) == 0);
    MUST(muMemAddressFree(hint, G));
    IS(MUSA_SUCCESS, muMemAddressReserve(&other, G, 0, hint, 0));
    CHECK("a free address that is asked for is given", other == hint);
    MUST(muMemAddressFree(other, G));
    IS(MUSA_SUCCESS, muMemAddressReserve(&other, G, 0, va, 0));
    CHECK("a taken one is not", other != va);
    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressFree(other, 2 * G));
    MUST(muMemAddressFree(other, G));
    CHECK("addresses cost no memory", free_bytes() == before);

    MUST(muMemCreate(&a, G, &prop, 0));
    MUST(muMemCreate(&b, 2 * G, &prop, 0));
    CHECK("memory does", free_bytes() == before - 3 * G);
    IS(MUSA_SUCCESS, muMemGetAllocationPropertiesFromHandle(&got, a));
    CHECK("properties come back", !memcmp(&got, &prop, sizeof got));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va, 2 * G, 0, a, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va, G, G, b, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va, G, 0, a, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va + 4096, G, 0, a, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va + 4 * G, G, 0, a, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va, G, 0, 12345, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemcpyHtoD(va, &v, sizeof v));
    IS(MUSA_SUCCESS, muMemMap(va, G, 0, a, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemMap(va, G, 0, a, 0));
    IS(MUSA_SUCCESS, muMemMap(va + G, 2 * G, 0, b, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemcpyHtoD(va, &v, sizeof v));
    IS(MUSA_ERROR_INVALID_VALUE, muMemcpy(va, dev(&v), sizeof v));
    IS(MUSA_SUCCESS, muMemGetAccess(&rights, &both.location, va));
    CHECK("a mapping begins without rights", rights == 0);

    MUmemAccessDesc d = both;
    d.flags = MU_MEM_ACCESS_FLAGS_PROT_READ;
    IS(MUSA_ERROR_INVALID_VALUE, muMemSetAccess(va, 2 * G, &d, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muMemSetAccess(va, 4 * G, &d, 1));
    IS(MUSA_SUCCESS, muMemSetAccess(va, 3 * G, &d, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muMemcpyHtoD(va, &v, sizeof v));
    IS(MUSA_ERROR_INVALID_VALUE, muMemsetD8(va, 1, 4));
    IS(MUSA_SUCCESS, muMemcpyDtoH(&w, va, sizeof w));
    CHECK("fresh memory is zero", w == 0);
    d.flags = 2;
    IS(MUSA_ERROR_INVALID_VALUE, muMemSetAccess(va, G, &d, 1));
    d = both;
    d.location.id = 7;
    IS(MUSA_ERROR_INVALID_DEVICE, muMemSetAccess(va, G, &d, 1));
    IS(MUSA_SUCCESS, muMemSetAccess(va, 3 * G, &both, 1));
    IS(MUSA_SUCCESS, muMemGetAccess(&rights, &both.location, va + G + 5));
    CHECK("rights", rights == MU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    d.location.id = 1;
    IS(MUSA_SUCCESS, muMemGetAccess(&rights, &d.location, va));
    CHECK("each device has its own", rights == 0);
    IS(MUSA_SUCCESS, muMemsetD8(va + G - 8, 0xab, 16)); /* over the seam */
    MUST(muMemcpyDtoH(&v, va + G - 4, 4));
    MUST(muMemcpyDtoH(&w, va + G, 4));
    CHECK("a copy runs over mappings side by side", v == (int)0xabababab && w == v);
    IS(MUSA_ERROR_INVALID_VALUE, muMemsetD8(va + 3 * G - 8, 0, 16));
    MUST(muMemGetAddressRange(&other, &size, va + G + 1));
    CHECK("an address knows its mapping", other == va + G && size == 2 * G);
    MUcontext ctx = (MUcontext)8;
    IS(MUSA_SUCCESS, muPointerGetAttribute(&ctx, MU_POINTER_ATTRIBUTE_CONTEXT, va));
    CHECK("and has no context", ctx == NULL);
    MUipcMemHandle ipc;
    IS(MUSA_ERROR_INVALID_VALUE, muIpcGetMemHandle(&ipc, va));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFree(va));
    IS(MUSA_ERROR_INVALID_VALUE, muMemHostRegister(at(va), G, 0));

    IS(MUSA_ERROR_INVALID_VALUE, muMemAddressFree(va, 4 * G));
    IS(MUSA_SUCCESS, muMemRelease(a));
    IS(MUSA_ERROR_INVALID_VALUE, muMemRelease(a));
    CHECK("memory lives while it is mapped", free_bytes() == before - 3 * G);
    IS(MUSA_SUCCESS, muMemRetainAllocationHandle(&again, at(va + 100)));
    CHECK("an address gives the handle back", again == a);
    IS(MUSA_SUCCESS, muMemRelease(again));
    IS(MUSA_ERROR_INVALID_VALUE, muMemUnmap(va, 2 * G));
    IS(MUSA_SUCCESS, muMemUnmap(va, 3 * G));
    CHECK("and while it is held", free_bytes() == before - 2 * G);
    MUST(muMemMap(va + 2 * G, 2 * G, 0, b, 0)); /* elsewhere: the memory keeps what it had */
    MUST(muMemSetAccess(va + 2 * G, 2 * G, &both, 1));
    MUST(muMemcpyDtoH(&w, va + 2 * G, 4));
    CHECK("contents belong to the memory", w == v);
    MUST(muMemMap(va, 2 * G, 0, b, 0)); /* twice at once */
    MUST(muMemSetAccess(va, 2 * G, &both, 1));
    MUST(muMemsetD8(va, 1, 4));
    MUST(muMemcpyDtoH(&w, va + 2 * G, 4));
    CHECK("which may be mapped twice", w == 0x01010101);
    MUST(muMemRelease(b));
    MUST(muMemUnmap(va, 4 * G));
    MUST(muMemAddressFree(va, 4 * G));
    CHECK("nothing is left", free_bytes() == before);
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
    IS(MUSA_ERROR_INVALID_VALUE,
       muMemImportFromShareableHandle(&h, (void *)(intptr_t)socket, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    IS(MUSA_ERROR_INVALID_VALUE, muMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_WIN32));
    IS(MUSA_SUCCESS,
       muMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    MUdeviceptr p = map_all(h, 2 * G);
    MUST(muMemcpyDtoH(&v, p + G, 4));
    CHECK("imported memory holds what was written", v == 41);
    v = 42;
    MUST(muMemcpyHtoD(p, &v, 4));

    MUmemoryPool pool;
    MUmemPoolPtrExportData data;
    MUdeviceptr q, r;
    fd = receive_fd(socket);
    IS(MUSA_ERROR_INVALID_VALUE,
       muMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    IS(MUSA_SUCCESS,
       muMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    get(socket, &data, sizeof data);
    IS(MUSA_SUCCESS, muMemPoolImportPointer(&q, pool, &data));
    MUST(muMemcpyDtoH(&v, q, 4));
    CHECK("an imported pool's pointer too", v == 51);
    v = 52;
    MUST(muMemcpyHtoD(q, &v, 4));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAllocFromPoolAsync(&r, 64, pool, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muMemPoolExportPointer(&data, q));
    data.reserved[16] ^= 1; /* another pool's number */
    IS(MUSA_ERROR_INVALID_VALUE, muMemPoolImportPointer(&r, pool, &data));
    IS(MUSA_SUCCESS, muMemFreeAsync(q, NULL));
    MUST(muCtxSynchronize());
    IS(MUSA_SUCCESS, muMemPoolDestroy(pool));
    put(socket, "x", 1);
    char byte;
    CHECK("the exporter exits", recv(socket, &byte, 1, 0) == 0);
    MUST(muMemcpyDtoH(&v, p + G, 4));
    CHECK("and its memory stays", v == 41);
    MUST(muMemRelease(h));
    return result();
}

static void exporter(int socket)
{
    MUmemAllocationProp prop = on_device(0, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    MUmemGenericAllocationHandle h, plain;
    int fd, v = 41;
    MUST(muMemCreate(&h, 2 * G, &prop, 0));
    prop.requestedHandleTypes = 0;
    MUST(muMemCreate(&plain, G, &prop, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemExportToShareableHandle(&fd, plain, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(muMemRelease(plain));
    MUdeviceptr p = map_all(h, 2 * G), q;
    unsigned long long types = 0;
    MUST(muPointerGetAttribute(&types, MU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p));
    CHECK("the address tells how it may be exported", types == MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    MUST(muMemcpyHtoD(p + G, &v, 4));
    IS(MUSA_SUCCESS, muMemExportToShareableHandle(&fd, h, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
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
    CHECK("a shared pool's memory is the device's", free_bytes() < before);
    v = 51;
    MUST(muMemcpyHtoD(q, &v, 4));
    MUST(muDeviceGetDefaultMemPool(&own, 0));
    IS(MUSA_ERROR_INVALID_VALUE,
       muMemPoolExportToShareableHandle(&fd, own, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    IS(MUSA_SUCCESS, muMemPoolExportToShareableHandle(&fd, pool, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(socket, fd);
    close(fd);
    IS(MUSA_ERROR_INVALID_VALUE, muMemPoolExportPointer(&data, p));
    IS(MUSA_SUCCESS, muMemPoolExportPointer(&data, q));
    put(socket, &data, sizeof data);
    char byte;
    get(socket, &byte, 1);
    MUST(muMemcpyDtoH(&v, p, 4));
    CHECK("the importer wrote our memory", v == 42);
    MUST(muMemcpyDtoH(&v, q, 4));
    CHECK("and our pool's", v == 52);
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
    CHECK("the importer agrees", WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return result();
}
