/* Calls with handles and pointers that are none: every one must be refused, none may crash. */
#include "device.h"

#include <unistd.h>

static unsigned long long seed = 88172645463325252ull;

static unsigned long long rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static MUdeviceptr live_memory;
static MUstream live_stream, dead_stream;
static MUevent live_event, dead_event;
static MUarray live_array;
static char local[4096];

/* A value that is no handle of anything asked for, or only by luck. */
static void *junk(void)
{
    switch (rnd() % 10) {
    case 0: return NULL;
    case 1: return (void *)(uintptr_t)(rnd() % 64);
    case 2: return (void *)(uintptr_t)rnd();
    case 3: return local + rnd() % 64;
    case 4: return (char *)live_stream + rnd() % 256;
    case 5: return (char *)live_event + 8 * (rnd() % 64);
    case 6: return dead_stream;
    case 7: return dead_event;
    case 8: return (char *)live_array - 64 * (rnd() % 8);
    default: return at(live_memory + rnd() % 8192);
    }
}

static size_t size(void)
{
    static const size_t sizes[] = {0, 1, 4, 512, 4096, 5000, SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 40};
    return sizes[rnd() % (sizeof sizes / sizeof *sizes)];
}

/* Streams come as junk too, but none that holds work of ours for ever. */
static MUstream stream(void)
{
    MUstream s = junk();
    return s;
}

static MUresult one(unsigned which)
{
    static char out[256];
    /* As source or target only what the driver can check: device memory, or memory of ours that is
     * large. */
    MUdeviceptr a = rnd() % 2 ? live_memory + rnd() % 8192 : dev(junk()), b = live_memory + rnd() % 4096;
    size_t n = size(), few = n > sizeof local ? sizeof local : n;
    MUSA_MEMCPY3D m;
    MUSA_ARRAY3D_DESCRIPTOR d;
    switch (which) {
    case 0: return muMemcpyHtoD(a, local, few);
    case 1: return muMemcpyDtoD(a, b, n);
    case 2: return muMemcpyDtoH(local, dev(junk()), few);
    case 3: return muMemsetD8(a == live_memory ? a : dev(junk()), 1, n);
    case 4: return muMemsetD2D32Async(dev(junk()), n, 1, size(), size(), stream());
    case 5: return muStreamSynchronize(stream());
    case 6: return muStreamQuery(stream());
    case 7: return muEventRecord(junk(), stream());
    case 8: return muStreamWaitEvent(stream(), junk(), 0);
    case 9: return muEventElapsedTime((float *)(void *)out, junk(), junk());
    case 10: return muPointerGetAttribute(out, (int)(rnd() % 40) - 5, dev(junk()));
    case 11: return muMemGetAddressRange((MUdeviceptr *)(void *)out, (size_t *)(void *)(out + 8), dev(junk()));
    case 12: return muMemFreeHost(junk());
    case 13: return muMemHostUnregister(junk());
    case 14: return muMemcpyAtoH(local, junk(), size(), few);
    case 15:
        memset(&m, 0, sizeof m);
        m.srcMemoryType = (int)(rnd() % 6);
        m.dstMemoryType = MU_MEMORYTYPE_DEVICE;
        m.srcHost = NULL;
        m.srcDevice = dev(junk());
        m.srcArray = junk();
        m.dstDevice = live_memory;
        m.srcPitch = size(), m.dstPitch = size(), m.srcHeight = size(), m.dstHeight = size();
        m.srcXInBytes = size(), m.dstXInBytes = size(), m.srcY = size(), m.srcZ = size(), m.dstZ = size();
        m.WidthInBytes = size(), m.Height = size(), m.Depth = size();
        if (m.srcMemoryType == MU_MEMORYTYPE_UNIFIED) /* may name any memory of the host */
            m.srcDevice = live_memory;
        return muMemcpy3D(&m);
    case 16:
        d = (MUSA_ARRAY3D_DESCRIPTOR){
            size(), size(), size(), (int)(rnd() % 40), (unsigned)(rnd() % 6), (unsigned)(rnd() % 512)};
        MUarray made;
        if (!muArray3DCreate(&made, &d))
            return muArrayDestroy(made);
        return MUSA_SUCCESS;
    case 17: return muArray3DGetDescriptor(&d, junk());
    case 18: return muCtxSetCurrent(junk() ? (MUcontext)local : (MUcontext)0x10);
    case 19: return muMemPoolTrimTo(junk(), 0);
    case 20: return muMemPoolGetAttribute(junk(), (int)(rnd() % 12), out);
    case 21: return muMemPrefetchAsync(dev(junk()), n, (int)(rnd() % 5) - 2, stream());
    case 22: return muMemAdvise(dev(junk()), n, (int)(rnd() % 9), (int)(rnd() % 5) - 2);
    case 23: return muStreamWriteValue32(stream(), dev(junk()) & ~3ull, 1, 0);
    case 24: return muMemHostGetDevicePointer((MUdeviceptr *)(void *)out, junk(), 0);
    case 25: return muMemcpyPeer(live_memory, junk(), b, junk(), 16);
    case 26: return muCtxEnablePeerAccess(junk(), 0);
    case 27: return muStreamGetAttribute(stream(), (int)(rnd() % 20), (MUstreamAttrValue *)(void *)out);
    case 28: return muMemHostRegister(at(live_memory), 100, 0);
    case 29: return muIpcCloseMemHandle(dev(junk()));
    default: return MUSA_SUCCESS;
    }
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "16M", 1);
    start_device();
    MUSA_ARRAY_DESCRIPTOR d = {8, 8, MU_AD_FORMAT_FLOAT, 1};
    MUST(muMemAlloc(&live_memory, 8192));
    MUST(muStreamCreate(&live_stream, 0));
    MUST(muStreamCreate(&dead_stream, 0));
    MUST(muEventCreate(&live_event, 0));
    MUST(muEventCreate(&dead_event, 0));
    MUST(muArrayCreate(&live_array, &d));
    MUST(muStreamDestroy(dead_stream));
    MUST(muEventDestroy(dead_event));
    alarm(60);
    unsigned refused = 0, odd = 0;
    for (int i = 0; i < 200000; i++) {
        MUresult r = one((unsigned)(rnd() % 30));
        refused += r != MUSA_SUCCESS;
        odd += r == MUSA_ERROR_UNKNOWN || r == MUSA_ERROR_ILLEGAL_ADDRESS;
    }
    check(1, "200000 calls with junk are survived");
    check(refused > 100000, "most are refused");
    check(odd == 0, "and no context is poisoned");
    OK(muCtxSynchronize());
    OK(muStreamSynchronize(live_stream));
    OK(muArrayDestroy(live_array));
    OK(muMemFree(live_memory));
    size_t left, total;
    MUST(muMemGetInfo(&left, &total));
    check(left == total, "no memory is lost");
    return check_end("host garbage");
}
