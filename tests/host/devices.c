/* Devices and contexts: two devices, identity, attributes, the current context, peers, sticky
 * errors of handles, names of errors, entry points by name, IPC and fork. */
#include "device.h"

#include <sys/wait.h>
#include <unistd.h>

static void identity(void)
{
    int n, v, major, minor;
    MUdevice d;
    char name[64], bus0[32], bus1[32];
    MUuuid u0, u1;
    size_t bytes;
    OK(muDeviceGetCount(&n));
    check(n == 2, "two devices");
    OK(muDeviceGet(&d, 1));
    IS(muDeviceGet(&d, 2), MUSA_ERROR_INVALID_DEVICE);
    IS(muDeviceGet(&d, -1), MUSA_ERROR_INVALID_DEVICE);
    OK(muDeviceGetName(name, sizeof name, 0));
    check(!strcmp(name, "cumu host CPU"), "name");
    OK(muDeviceGetName(name, 5, 0));
    check(!strcmp(name, "cumu"), "a short buffer is filled and closed");
    MUST(muDeviceGetUuid(&u0, 0));
    MUST(muDeviceGetUuid_v2(&u1, 1));
    check(memcmp(&u0, &u1, 16) != 0, "uuids differ");
    OK(muDeviceTotalMem_v2(&bytes, 0));
    check(bytes == (size_t)32 << 20, "memory");
    MUST(muDeviceGetPCIBusId(bus0, sizeof bus0, 0));
    MUST(muDeviceGetPCIBusId(bus1, sizeof bus1, 1));
    OK(muDeviceGetByPCIBusId(&d, bus1));
    check(d == 1 && strcmp(bus0, bus1) != 0, "the bus id leads back");
    IS(muDeviceGetByPCIBusId(&d, "0000:7f:00.0"), MUSA_ERROR_INVALID_DEVICE);
    static const char *const forms[] = {"0000:02:00.0", "00000000:02:00.0", "0:2:0", "02:00.0", "0000:02:00"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        d = -1;
        check(muDeviceGetByPCIBusId(&d, forms[i]) == MUSA_SUCCESS && d == 1, "%s", forms[i]);
    }
    static const char *const wrong[] = {"x", "", "02", "02:00.0 ", "0000:02:00.0g", "0000:02:00.", "GPU-63"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        IS(muDeviceGetByPCIBusId(&d, wrong[i]), MUSA_ERROR_INVALID_VALUE);
    IS(muDeviceGetByPCIBusId(&d, "0001:02:00.0"), MUSA_ERROR_INVALID_DEVICE);
    IS(muDeviceGetByPCIBusId(&d, "0000:02:00.1"), MUSA_ERROR_INVALID_DEVICE);
    OK(muDeviceGetAttribute(&v, MU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    check(v == 32, "warp size");
    int known = 0;
    for (int i = -3; i < 200; i++) {
        MUresult r = muDeviceGetAttribute(&v, i, 0);
        known += r == MUSA_SUCCESS;
        if (r != MUSA_SUCCESS && r != MUSA_ERROR_INVALID_VALUE)
            check(0, "attributes answer or refuse");
    }
    check(known == 112, "119 attributes but the seven that the SDK lacks");
    MUST(muDeviceComputeCapability(&major, &minor, 0));
    check(major == 3 && minor == 1, "mp_31");
    MUST(muDriverGetVersion(&v));
    check(v == 10504, "API version");
}

static void contexts(void)
{
    MUcontext p0, p1, c, now;
    MUdevice d;
    unsigned flags;
    int active;
    MUdeviceptr p;
    OK(muCtxGetCurrent(&now));
    check(now == NULL, "a thread starts without a context");
    IS(muMemAlloc(&p, 16), MUSA_ERROR_INVALID_CONTEXT);
    IS(muCtxGetDevice(&d), MUSA_ERROR_INVALID_CONTEXT);
    MUST(muDevicePrimaryCtxGetState(0, &flags, &active));
    check(active == 0, "a primary context is inactive until retained");
    MUST(muDevicePrimaryCtxSetFlags(0, MU_CTX_SCHED_BLOCKING_SYNC));
    IS(muDevicePrimaryCtxSetFlags(0, 3), MUSA_ERROR_INVALID_VALUE);
    MUST(muDevicePrimaryCtxRetain(&p0, 0));
    MUST(muDevicePrimaryCtxRetain(&p1, 1));
    MUST(muDevicePrimaryCtxRetain(&c, 0));
    check(c == p0 && p1 != p0, "one primary context a device");
    MUST(muDevicePrimaryCtxGetState(0, &flags, &active));
    check(active == 1 && flags == MU_CTX_SCHED_BLOCKING_SYNC, "state");
    MUST(muCtxPushCurrent(p0));
    MUST(muCtxPushCurrent(p1));
    MUST(muCtxGetDevice(&d));
    check(d == 1, "the top of the stack is current");
    MUST(muCtxPopCurrent(&c));
    MUST(muCtxGetDevice(&d));
    check(c == p1 && d == 0, "and what is below comes back");
    MUST(muMemAlloc(&p, 1 << 20));
    MUST(muCtxCreate(&c, 0, 1));
    MUST(muCtxGetDevice(&d));
    check(d == 1, "a created context is current");
    MUdeviceptr q;
    MUST(muMemAlloc(&q, 1 << 20));
    OK(muCtxDestroy(c));
    IS(muCtxDestroy(c), MUSA_ERROR_INVALID_CONTEXT);
    IS(muCtxSetCurrent(c), MUSA_ERROR_INVALID_CONTEXT);
    IS(muCtxDestroy(p0), MUSA_ERROR_INVALID_CONTEXT);
    MUST(muCtxSetCurrent(p1));
    IS(muMemFree(q), MUSA_ERROR_INVALID_VALUE); /* went with its context */
    OK(muMemFree(p));                           /* of the other device: addresses are global */

    MUST(muCtxSetCurrent(p0));
    size_t limit;
    OK(muCtxSetLimit(MU_LIMIT_MALLOC_HEAP_SIZE, 1 << 24));
    OK(muCtxGetLimit(&limit, MU_LIMIT_MALLOC_HEAP_SIZE));
    check(limit == 1 << 24, "limits read back");
    IS(muCtxGetLimit(&limit, 55), MUSA_ERROR_UNSUPPORTED_LIMIT);
    MUstream s;
    MUST(muStreamCreate(&s, 0));
    MUST(muMemAlloc(&p, 100));
    OK(muDevicePrimaryCtxReset(0));
    IS(muMemFree(p), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamSynchronize(s), MUSA_ERROR_INVALID_HANDLE);
    OK(muMemAlloc(&p, 100)); /* goes on as a fresh context */
    OK(muDevicePrimaryCtxRelease(0));
    OK(muMemFree(p));
    OK(muDevicePrimaryCtxRelease(0));
    IS(muMemAlloc(&p, 100), MUSA_ERROR_CONTEXT_IS_DESTROYED);
    IS(muDevicePrimaryCtxRelease(0), MUSA_ERROR_INVALID_CONTEXT);
    MUST(muDevicePrimaryCtxRetain(&c, 0));
    check(c == p0, "retained again, it is the same context");
    OK(muMemAlloc(&p, 100));
    OK(muMemFree(p));
}

static void nap(void *p)
{
    sleep_ms(20);
    *(volatile int *)p = 1;
}

static void peers(MUcontext a, MUcontext b)
{
    int can, v;
    MUdeviceptr p, q;
    int in[1000], out[1000] = {0};
    OK(muDeviceCanAccessPeer(&can, 0, 1));
    check(can == 1, "peers reach each other");
    OK(muDeviceGetP2PAttribute(&v, MU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    IS(muDeviceGetP2PAttribute(&v, MU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0), MUSA_ERROR_INVALID_DEVICE);
    MUST(muCtxSetCurrent(b));
    MUST(muMemAlloc(&q, sizeof in));
    MUST(muCtxSetCurrent(a));
    MUST(muMemAlloc(&p, sizeof in));
    OK(muCtxEnablePeerAccess(b, 0));
    IS(muCtxEnablePeerAccess(b, 0), MUSA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    IS(muCtxEnablePeerAccess(a, 0), MUSA_ERROR_INVALID_CONTEXT);
    OK(muCtxDisablePeerAccess(b));
    IS(muCtxDisablePeerAccess(b), MUSA_ERROR_PEER_ACCESS_NOT_ENABLED);
    for (int i = 0; i < 1000; i++)
        in[i] = i * 7;
    MUST(muMemcpyHtoD(p, in, sizeof in));
    MUST(muMemcpyPeer(q, b, p, a, sizeof in));
    MUST(muMemcpyDtoH(out, q, sizeof out));
    check(!memcmp(in, out, sizeof in), "memory travels between devices");

    /* events order across devices; streams of one context, events of another */
    MUstream sa, sb;
    MUevent e, f;
    static volatile int first;
    MUST(muStreamCreate(&sa, MU_STREAM_NON_BLOCKING));
    MUST(muEventCreate(&e, 0));
    MUST(muCtxSetCurrent(b));
    MUST(muStreamCreate(&sb, MU_STREAM_NON_BLOCKING));
    MUST(muEventCreate(&f, 0));
    MUST(muLaunchHostFunc(sa, nap, (void *)&first));
    MUST(muEventRecord(e, sa));
    MUST(muStreamWaitEvent(sb, e, 0));
    MUST(muStreamSynchronize(sb));
    check(first == 1, "an event of one device holds a stream of another");
    IS(muEventRecord(f, sa), MUSA_ERROR_INVALID_HANDLE);
    MUcontext of;
    MUST(muStreamGetCtx(sb, &of));
    check(of == b, "a stream knows its context");
    MUST(muEventDestroy(e));
    MUST(muEventDestroy(f));
    MUST(muStreamDestroy(sa));
    MUST(muStreamDestroy(sb));
    MUST(muMemFree(p));
    MUST(muMemFree(q));
    MUST(muCtxSetCurrent(a));
}

static void names(void)
{
    const char *text;
    void *fn;
    OK(muGetErrorName(MUSA_ERROR_ILLEGAL_ADDRESS, &text));
    check(!strcmp(text, "MUSA_ERROR_ILLEGAL_ADDRESS"), "error name");
    OK(muGetErrorString(MUSA_ERROR_OUT_OF_MEMORY, &text));
    check(!strcmp(text, "out of memory"), "error text");
    IS(muGetErrorName(12345, &text), MUSA_ERROR_INVALID_VALUE);
    check(text == NULL, "an unknown error has none");
    OK(muGetProcAddress("muMemAlloc", &fn, 11000, 0));
    MUdeviceptr p = 0;
    MUresult (*alloc)(MUdeviceptr *, size_t);
    memcpy(&alloc, &fn, sizeof alloc);
    OK(alloc(&p, 64));
    MUST(muMemFree(p));
    void *plain, *own;
    OK(muGetProcAddress("muStreamSynchronize", &plain, 11000, 1));
    OK(muGetProcAddress("muStreamSynchronize", &own, 11000, 2));
    check(plain != own, "the per-thread form is another function");
    IS(muGetProcAddress("muNothing", &fn, 11000, 0), MUSA_ERROR_NOT_FOUND);
    IS(muGetProcAddress("", &fn, 0, 0), MUSA_ERROR_NOT_FOUND);
}

/* A child started by exec opens the memory; a forked one may not use the driver. */
static void unhex(const char *hex, char *out)
{
    for (size_t i = 0; i < MU_IPC_HANDLE_SIZE; i++)
        sscanf(hex + 2 * i, "%2hhx", (unsigned char *)&out[i]);
}

static int ipc_child(const char *hex, const char *event_hex, int ready)
{
    MUipcMemHandle h;
    MUipcEventHandle eh;
    MUevent e;
    unhex(hex, h.reserved);
    unhex(event_hex, eh.reserved);
    start_device();
    MUdeviceptr p;
    int text[4];
    MUST(muIpcOpenEventHandle(&e, eh));
    if (muEventQuery(e) != MUSA_ERROR_NOT_READY) /* the parent's stream is still at it */
        return 2;
    MUST(muStreamWaitEvent(NULL, e, 0));
    if (write(ready, "", 1) != 1)
        return 3;
    MUdeviceptr again;
    MUST(muIpcOpenMemHandle(&p, h, MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    MUST(muIpcOpenMemHandle(&again, h, MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (again != p || muIpcOpenMemHandle(&again, h, 0) != MUSA_ERROR_INVALID_VALUE)
        return 4;
    MUST(muIpcCloseMemHandle(p)); /* opened twice: still there */
    MUdeviceptr base;
    size_t size;
    int device = -1;
    MUST(muMemGetAddressRange(&base, &size, p + 3));
    MUST(muPointerGetAttribute(&device, MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    if (base != p || size != 1000 || device != 0 || muMemFree(p) != MUSA_ERROR_INVALID_VALUE)
        return 5;
    MUST(muMemcpyDtoH(text, p, sizeof text));
    text[0] += 1;
    MUST(muMemcpyHtoD(p, text, 4));
    MUST(muIpcCloseMemHandle(p));
    if (muIpcCloseMemHandle(p) != MUSA_ERROR_INVALID_VALUE || muMemcpyDtoH(text, p, 4) != MUSA_ERROR_INVALID_VALUE)
        return 6;
    MUcontext other; /* of another device: a mapping of its own, which goes with the context */
    MUST(muCtxCreate(&other, 0, 1));
    MUST(muIpcOpenMemHandle(&p, h, MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    MUST(muCtxDestroy(other));
    if (muIpcCloseMemHandle(p) != MUSA_ERROR_INVALID_VALUE)
        return 7;
    MUST(muEventRecord(e, NULL));
    MUST(muEventSynchronize(e));
    MUST(muEventDestroy(e));
    return text[3] == 40 ? 0 : 1;
}

static void processes(const char *self)
{
    MUdeviceptr pad, p;
    MUipcMemHandle h;
    int in[4] = {10, 20, 30, 40}, status;
    char hex[2 * sizeof h + 1], event_hex[2 * sizeof h + 1];
    MUipcEventHandle eh;
    MUevent e, plain;
    MUstream s;
    MUST(muMemAlloc(&pad, 512)); /* so that the next one does not begin a page */
    MUST(muMemAlloc(&p, 1000));
    OK(muIpcGetMemHandle(&h, p + 8)); /* any address of it names the allocation */
    MUST(muEventCreate(&plain, MU_EVENT_DISABLE_TIMING));
    IS(muIpcGetEventHandle(&eh, plain), MUSA_ERROR_INVALID_VALUE);
    MUST(muEventDestroy(plain));
    OK(muEventCreate(&e, MU_EVENT_INTERPROCESS | MU_EVENT_DISABLE_TIMING));
    OK(muIpcGetEventHandle(&eh, e));
    for (size_t i = 0; i < sizeof h; i++) {
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)h.reserved[i]);
        snprintf(event_hex + 2 * i, 3, "%02x", (unsigned char)eh.reserved[i]);
    }
    void *flag;
    MUST(muMemAllocHost(&flag, 4));
    *(int *)flag = 0;
    int ready[2];
    char number[16];
    if (pipe(ready))
        exit(1);
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muStreamWaitValue32(s, dev(flag), 1, 0));
    void *pinned;
    MUST(muMemAllocHost(&pinned, sizeof in));
    memcpy(pinned, in, sizeof in);
    MUST(muMemcpyHtoDAsync(p, pinned, sizeof in, s)); /* the child must wait for this */
    MUST(muEventRecord(e, s));
    IS(muEventQuery(e), MUSA_ERROR_NOT_READY);
    MUdeviceptr q;
    IS(muIpcOpenMemHandle(&q, h, MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), MUSA_ERROR_INVALID_CONTEXT);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        snprintf(number, sizeof number, "%d", ready[1]);
        execl(self, self, hex, event_hex, number, (char *)NULL);
        _exit(9);
    }
    close(ready[1]);
    check(read(ready[0], number, 1) == 1, "the child's stream waits");
    close(ready[0]);
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "another process opens our memory");
    MUST(muMemcpyDtoH(in, p, sizeof in));
    check(in[0] == 11, "waits for our stream, and writes it");
    OK(muEventSynchronize(e)); /* the child recorded it last */
    MUST(muStreamDestroy(s));
    MUST(muEventDestroy(e));
    MUST(muMemFreeHost(flag));
    MUST(muMemFreeHost(pinned));
    IS(muIpcCloseMemHandle(p), MUSA_ERROR_INVALID_VALUE);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        MUresult a = muMemAlloc(&q, 16), b = muInit(0), c = muCtxSynchronize();
        _exit(a == MUSA_ERROR_NOT_INITIALIZED && b == a && c == a ? 0 : 1);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child is refused, as by a real driver");
    MUST(muMemFree(p));
    MUST(muMemFree(pad));
}

static void slow_five(void *p)
{
    sleep_ms(30);
    memset(p, 5, 64);
}

/* A copy on the default stream of one device, from or to the other's memory, is behind all work of both, and their
 * later work behind it. */
static void order_of_devices(MUcontext here, MUcontext there)
{
    static const char *const ways[] = {"muMemcpyDtoDAsync", "muMemcpyDtoD", "muMemcpyPeerAsync", "muMemcpy2DAsync",
                                       "muMemcpyAsync"};
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++)
        for (unsigned from = 0; from < 2; from++) {
            MUdeviceptr a, b;
            MUstream other, own;
            unsigned char got[2] = {0, 0};
            MUST(muCtxSetCurrent(there));
            MUST(muMemAlloc_v2(&a, 64));
            MUST(muMemsetD8_v2(a, 1, 64));
            MUST(muStreamCreate(&other, 0));
            MUST(muCtxSetCurrent(here));
            MUST(muMemAlloc_v2(&b, 64));
            MUST(muMemsetD8_v2(b, 2, 64));
            MUST(muStreamCreate(&own, 0));
            MUST(muCtxSynchronize());
            const MUdeviceptr src = from ? b : a, dst = from ? a : b;
            const MUcontext of[] = {from ? here : there, from ? there : here};
            const MUSA_MEMCPY2D rows = {.srcMemoryType = MU_MEMORYTYPE_DEVICE,
                                        .srcDevice = src,
                                        .srcPitch = 8,
                                        .dstMemoryType = MU_MEMORYTYPE_DEVICE,
                                        .dstDevice = dst,
                                        .dstPitch = 8,
                                        .WidthInBytes = 8,
                                        .Height = 8};
            MUST(muLaunchHostFunc(from ? own : other, slow_five, at(src))); /* work of the source's device before, */
            MUST(way == 0   ? muMemcpyDtoDAsync_v2(dst, src, 64, NULL)
                 : way == 1 ? muMemcpyDtoD_v2(dst, src, 64)
                 : way == 2 ? muMemcpyPeerAsync(dst, of[1], src, of[0], 64, NULL)
                 : way == 3 ? muMemcpy2DAsync_v2(&rows, NULL)
                            : muMemcpyAsync(dst, src, 64, NULL));
            MUST(muCtxSetCurrent(there));
            MUST(muMemsetD8Async(a, 9, 64, other)); /* and of the other device behind it */
            MUST(muStreamSynchronize(other));
            got[0] = *(unsigned char *)at(a);
            MUST(muCtxSetCurrent(here));
            MUST(muCtxSynchronize());
            got[1] = *(unsigned char *)at(b);
            check(got[0] == 9 && got[1] == 5, "%s on the default stream, %s: %u, %u", ways[way], from ? "away" : "here",
                  got[0], got[1]);
            MUST(muMemFree_v2(b));
            MUST(muStreamDestroy_v2(own));
            MUST(muCtxSetCurrent(there));
            MUST(muMemFree_v2(a));
            MUST(muStreamDestroy_v2(other));
            MUST(muCtxSetCurrent(here));
        }
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_MEMORY", "32M", 1);
    setenv("CUMU_HOST_DEVICES", "2", 1);
    if (argc > 3)
        return ipc_child(argv[1], argv[2], atoi(argv[3]));
    int n;
    IS(muDeviceGetCount(&n), MUSA_ERROR_NOT_INITIALIZED);
    IS(muInit(1), MUSA_ERROR_INVALID_VALUE);
    OK(muInit(0));
    identity();
    contexts();
    MUcontext a, b;
    MUST(muDevicePrimaryCtxRetain(&a, 0));
    MUST(muDevicePrimaryCtxRetain(&b, 1));
    MUST(muCtxSetCurrent(a));
    peers(a, b);
    order_of_devices(a, b);
    names();
    processes(argv[0]);
    return check_end("host devices");
}
