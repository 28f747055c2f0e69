/* Multicast objects by CUDA's driver API: a process with several devices, processes with one each, and wrong uses.
 * multicast KERNELS one|peers|races|faults; the last line is "right WHAT". */
#include "../check.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../devrt/driver.h"

enum { G = 2 << 20, BLOCKS = 8, THREADS = 128, N = BLOCKS * THREADS, MOST = 4 };
enum { INVALID_VALUE = 1, INVALID_DEVICE = 101, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801 };
enum { FD = 1, MULTICAST_SUPPORTED = 132 };

typedef uint64_t handle;
struct object_prop {
    unsigned devices;
    size_t size;
    unsigned long long types, flags;
};
struct location {
    int type, id;
};
struct prop {
    int type, types;
    struct location location;
    void *security;
    unsigned char rest[8];
};
struct access {
    struct location location;
    int flags;
};

static const char *ptx;

static void *kernel(const char *name)
{
    void *module, *function;
    static char text[1 << 16];
    FILE *file = fopen(ptx, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = 0;
    MUST(CALL(cuModuleLoadData, &module, text));
    MUST(CALL(cuModuleGetFunction, &function, module, name));
    return function;
}

static int launch(const char *name, void **arguments)
{
    int r = CALL(cuLaunchKernel, kernel(name), BLOCKS, 1, 1, THREADS, 1, 1, 0, (void *)0, arguments, (void *)0);
    return r ? r : CALL(cuCtxSynchronize);
}

static handle memory_of(int device, size_t size)
{
    handle h;
    const struct prop p = {.type = 1, .types = FD, .location = {1, device}};
    MUST(CALL(cuMemCreate, &h, size, &p, 0ull));
    return h;
}

static uint64_t map(handle h, size_t size, int device)
{
    uint64_t p;
    const struct access a = {{1, device}, 3};
    MUST(CALL(cuMemAddressReserve, &p, size, (size_t)0, (uint64_t)0, 0ull));
    MUST(CALL(cuMemMap, p, size, (size_t)0, h, 0ull));
    MUST(CALL(cuMemSetAccess, p, size, &a, (size_t)1));
    return p;
}

static handle object(unsigned devices, size_t size)
{
    handle h;
    const struct object_prop p = {devices, size, FD, 0};
    MUST(CALL(cuMulticastCreate, &h, &p));
    return h;
}

static void use(int device)
{
    void *context;
    MUST(CALL(cuDevicePrimaryCtxRetain, &context, device));
    MUST(CALL(cuCtxSetCurrent, context));
}

static unsigned word(uint64_t p)
{
    unsigned v = 0;
    OK(CALL(cuMemcpyDtoH_v2, &v, p, (size_t)4));
    return v;
}

/* ---- one process, several devices ------------------------------------------------------------- */

static void one(unsigned devices)
{
    handle h = object(devices, 2 * G), memory[MOST];
    uint64_t own[MOST], mc, out;
    size_t granularity;
    unsigned value = 1000, words[N];
    const struct object_prop p = {devices, 2 * G, 0, 0};
    for (int option = 0; option < 2; option++) {
        OK(CALL(cuMulticastGetGranularity, &granularity, &p, option));
        check(granularity == G, "granularity");
    }
    for (unsigned d = 0; d < devices; d++) {
        int supported = 0;
        OK(CALL(cuDeviceGetAttribute, &supported, MULTICAST_SUPPORTED, (int)d));
        check(supported, "device %u has multicast", d);
        OK(CALL(cuMulticastAddDevice, h, (int)d));
        IS(CALL(cuMulticastAddDevice, h, (int)d), INVALID_VALUE);
    }
    for (unsigned d = 0; d < devices; d++) {
        use((int)d);
        memory[d] = memory_of((int)d, 2 * G);
        own[d] = map(memory[d], 2 * G, (int)d);
        if (d % 2) { /* in two pieces, crosswise */
            OK(CALL(cuMulticastBindMem, h, (size_t)0, memory[d], (size_t)G, (size_t)G, 0ull));
            OK(CALL(cuMulticastBindAddr, h, (size_t)G, own[d], (size_t)G, 0ull));
        } else {
            OK(CALL(cuMulticastBindMem, h, (size_t)0, memory[d], (size_t)0, (size_t)(2 * G), 0ull));
        }
        IS(CALL(cuMulticastBindMem, h, (size_t)0, memory[d], (size_t)0, (size_t)G, 0ull), INVALID_VALUE);
        OK(CALL(cuMemRelease, memory[d]));
    }
    mc = map(h, 2 * G, 0);
    OK(CALL(cuMemRelease, h)); /* the mapping holds it */
    use(0);
    MUST(CALL(cuMemAlloc_v2, &out, sizeof words));
    uint64_t place = mc + G - 4 * N / 2; /* over the border of the pieces */
    OK(launch("put", (void *[]){&place, &value}));
    for (unsigned d = 0; d < devices; d++)
        for (unsigned k = 0; k < N; k += N - 1) {
            const uint64_t at = G - 4 * N / 2 + 4 * k;
            const unsigned got = word(own[d] + (d % 2 ? (at + G) % (2 * G) : at));
            check(got == value + k, "device %u has word %u: %u", d, k, got);
        }
    OK(launch("sum", (void *[]){&place, &out}));
    OK(CALL(cuMemcpyDtoH_v2, words, out, sizeof words));
    unsigned bad = 0;
    for (unsigned k = 0; k < N; k++)
        bad += words[k] != devices * (value + k);
    check(!bad, "sums of %u devices, %u wrong", devices, bad);
    OK(launch("count", (void *[]){&mc}));
    for (unsigned d = 0; d < devices; d++)
        check(word(own[d] + (d % 2 ? G : 0)) == N, "device %u has counted", d);
    handle again;
    OK(CALL(cuMemRetainAllocationHandle, &again, mc));
    IS(CALL(cuMulticastUnbind, again, 0, (size_t)0, (size_t)G), INVALID_VALUE);
    OK(CALL(cuMulticastUnbind, again, 0, (size_t)0, (size_t)(2 * G)));
    OK(CALL(cuMulticastBindAddr, again, (size_t)0, own[0], (size_t)(2 * G), 0ull));
    OK(launch("count", (void *[]){&mc}));
    check(word(own[0]) == 2 * N, "bound again");
    IS(CALL(cuMemcpyDtoH_v2, words, mc, (size_t)4), INVALID_VALUE);
    OK(CALL(cuMemUnmap, mc, (size_t)(2 * G)));
    OK(CALL(cuMemRelease, again));
    IS(CALL(cuMemRelease, again), INVALID_VALUE);
}

/* ---- wrong arguments, and faults --------------------------------------------------------------- */

static void wrong(void)
{
    handle h = 7, m;
    struct object_prop p = {0, G, 0, 0};
    IS(CALL(cuMulticastCreate, &h, &p), INVALID_VALUE);
    p.devices = 2;
    IS(CALL(cuMulticastCreate, (handle *)0, &p), INVALID_VALUE);
    IS(CALL(cuMulticastCreate, &h, (void *)0), INVALID_VALUE);
    p.size = G + 4096;
    IS(CALL(cuMulticastCreate, &h, &p), INVALID_VALUE);
    p.size = 0;
    IS(CALL(cuMulticastCreate, &h, &p), INVALID_VALUE);
    p.size = G;
    p.flags = 1;
    IS(CALL(cuMulticastCreate, &h, &p), INVALID_VALUE);
    p.flags = 0;
    p.types = 8;
    IS(CALL(cuMulticastCreate, &h, &p), NOT_SUPPORTED);
    check(h == 7, "nothing is written");
    m = memory_of(0, G);
    IS(CALL(cuMulticastAddDevice, m, 0), INVALID_VALUE);
    IS(CALL(cuMulticastBindMem, m, (size_t)0, m, (size_t)0, (size_t)G, 0ull), INVALID_VALUE);
    h = object(1, G);
    IS(CALL(cuMulticastAddDevice, h, 99), INVALID_DEVICE);
    OK(CALL(cuMulticastAddDevice, h, 0));
    IS(CALL(cuMulticastAddDevice, h, 1), INVALID_VALUE); /* it is complete */
    IS(CALL(cuMulticastBindMem, h, (size_t)0, h, (size_t)0, (size_t)G, 0ull), INVALID_VALUE);
    IS(CALL(cuMulticastBindMem, h, (size_t)0, m, (size_t)0, (size_t)G, 1ull), INVALID_VALUE);
    IS(CALL(cuMulticastBindMem, h, (size_t)G, m, (size_t)0, (size_t)G, 0ull), INVALID_VALUE);
    IS(CALL(cuMulticastBindMem, h, (size_t)0, m, (size_t)G, (size_t)G, 0ull), INVALID_VALUE);
    IS(CALL(cuMulticastBindMem, h, (size_t)0, m, (size_t)0, (size_t)4096, 0ull), INVALID_VALUE);
    IS(CALL(cuMulticastBindAddr, h, (size_t)0, (uint64_t)G, (size_t)G, 0ull), INVALID_VALUE);
    handle other = memory_of(1, G);
    IS(CALL(cuMulticastBindMem, h, (size_t)0, other, (size_t)0, (size_t)G, 0ull), INVALID_DEVICE);
    IS(CALL(cuMulticastUnbind, h, 0, (size_t)0, (size_t)G), INVALID_VALUE);
}

static void fault(const char *what)
{
    handle h = object(1, G), m = memory_of(0, G);
    OK(CALL(cuMulticastAddDevice, h, 0));
    if (strcmp(what, "unbound"))
        OK(CALL(cuMulticastBindMem, h, (size_t)0, m, (size_t)0, (size_t)G, 0ull));
    uint64_t p = strcmp(what, "other") ? map(h, G, 0) : map(m, G, 0);
    const struct access a = {{1, 0}, 1};
    if (!strcmp(what, "read"))
        OK(CALL(cuMemSetAccess, p, (size_t)G, &a, (size_t)1));
    const int odd = !strcmp(what, "odd"); /* under memcheck */
    p += odd ? 2 : 0;
    IS(launch(strcmp(what, "plain") ? "count" : "plain", (void *[]){&p}), odd ? LAUNCH_FAILED : ILLEGAL_ADDRESS);
}

/* For racecheck: a kernel without a race, and one with. */
static void races(void)
{
    handle h = object(1, G), m = memory_of(0, G);
    OK(CALL(cuMulticastAddDevice, h, 0));
    OK(CALL(cuMulticastBindMem, h, (size_t)0, m, (size_t)0, (size_t)G, 0ull));
    uint64_t mc = map(h, G, 0), own = map(m, G, 0);
    OK(launch("hand_over", (void *[]){&mc, &own}));
    check(word(own + 1024 + 4 * 5) == 5, "what was handed over");
    OK(launch("clash", (void *[]){&mc}));
}

/* ---- processes with a device each -------------------------------------------------------------- */

static void give_fd(int to, int fd)
{
    char byte = 1, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    check(sendmsg(to, &m, 0) == 1, "the handle is sent");
}

static int take_fd(int from)
{
    char byte, room[CMSG_SPACE(sizeof(int))];
    int fd = -1;
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

/* Both say that they are there, and wait for the other. */
static void barrier(int peer)
{
    char byte = 0;
    check(write(peer, &byte, 1) == 1 && read(peer, &byte, 1) == 1, "the peer is there");
}

static void peer(int rank, int other)
{
    handle h;
    int fd;
    uint64_t out;
    unsigned words[N], bad = 0;
    MUST(start());
    use(rank);
    if (!rank) {
        h = object(2, G);
        OK(CALL(cuMemExportToShareableHandle, &fd, h, FD, 0ull));
        give_fd(other, fd);
        close(fd);
    } else {
        fd = take_fd(other);
        OK(CALL(cuMemImportFromShareableHandle, &h, (void *)(intptr_t)fd, FD));
        close(fd);
    }
    OK(CALL(cuMulticastAddDevice, h, rank)); /* the next call waits until both have */
    handle m = memory_of(rank, G);
    OK(CALL(cuMulticastBindMem, h, (size_t)0, m, (size_t)0, (size_t)G, 0ull));
    uint64_t own = map(m, G, rank), mc = map(h, G, rank);
    OK(CALL(cuMemRelease, h));
    OK(CALL(cuMemRelease, m));
    MUST(CALL(cuMemAlloc_v2, &out, sizeof words));
    barrier(other); /* all is bound */
    unsigned value = 7, want = 2 * N;
    uint64_t place = mc + 4096;
    if (!rank)
        OK(launch("put", (void *[]){&place, &value}));
    OK(launch("meet", (void *[]){&mc, &own, &want}));
    check(word(own) == want, "both have met: %u", word(own));
    OK(launch("sum", (void *[]){&place, &out}));
    OK(CALL(cuMemcpyDtoH_v2, words, out, sizeof words));
    for (unsigned k = 0; k < N; k++)
        bad += words[k] != 2 * (7 + k);
    check(!bad, "sums over processes, %u wrong", bad);
    check(word(own + 4096 + 4 * 5) == 12, "what the other process has put is here");
    barrier(other); /* nobody needs it any more */
    OK(CALL(cuMemUnmap, mc, (size_t)G));
}

static void peers(void)
{
    int pair[2], status = 1;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    fflush(stdout);
    const pid_t child = fork();
    close(pair[child != 0]);
    peer(child == 0, pair[child == 0]);
    if (!child) {
        fflush(stdout);
        _exit(check_failures != 0);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && !WEXITSTATUS(status), "the other process");
}

int main(int argc, char **argv)
{
    ptx = argc > 2 ? argv[1] : "";
    const char *what = argc > 2 ? argv[2] : "";
    if (strcmp(what, "peers"))
        MUST(start());
    if (!strcmp(what, "peers"))
        peers();
    else if (!strcmp(what, "one"))
        for (unsigned n = 1; n <= MOST; n++)
            one(n);
    else if (!strcmp(what, "wrong"))
        wrong();
    else if (!strcmp(what, "races"))
        races();
    else
        fault(what);
    if (!check_failures)
        printf("right %s\n", what);
    return check_failures != 0;
}
