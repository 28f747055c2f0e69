/* Memory: allocation and exhaustion, reuse, host memory, managed memory, pools, attributes, bad
 * pointers. */
#include "faults.h"

#include <sys/mman.h>

static void device_memory(void)
{
    MUdeviceptr p, q, base;
    size_t free0, free1, total, size;
    MUST(muMemGetInfo(&free0, &total));
    check(total == (size_t)64 << 20 && free0 == total, "the device has the memory that was asked for");
    MUST(muMemAlloc(&p, 1000));
    MUST(muMemAlloc(&q, 5 << 20));
    check(p % 512 == 0 && q % (2 << 20) == 0, "allocations are aligned");
    MUST(muMemGetInfo(&free1, NULL));
    check(free0 - free1 == 6 << 20, "and counted by blocks");
    memset(at(q), 1, 5 << 20);
    OK(muMemGetAddressRange(&base, &size, q + 12345));
    check(base == q && size == 5 << 20, "an address tells its allocation");
    check(faults(q + (6 << 20)), "what follows a large allocation faults");
    IS(muMemFree(q + 512), MUSA_ERROR_INVALID_VALUE);
    OK(muMemFree(q));
    check(faults(q), "freed memory faults");
    IS(muMemFree(q), MUSA_ERROR_INVALID_VALUE);
    OK(muMemFree(0));
    OK(muMemFree(p));
    MUST(muMemGetInfo(&free1, NULL));
    check(free1 == free0, "all of it comes back");
    IS(muMemAlloc(&p, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemAlloc(NULL, 16), MUSA_ERROR_INVALID_VALUE);
    IS(muMemGetAddressRange(&base, &size, 4096), MUSA_ERROR_NOT_FOUND);
}

static void exhaustion(void)
{
    MUdeviceptr p[64], big;
    size_t total, left;
    MUST(muMemGetInfo(NULL, &total));
    IS(muMemAlloc(&big, total + 1), MUSA_ERROR_OUT_OF_MEMORY);
    OK(muMemAlloc(&big, total));
    IS(muMemAlloc(&p[0], 1), MUSA_ERROR_OUT_OF_MEMORY);
    OK(muMemFree(big));
    for (int i = 0; i < 64; i++)
        MUST(muMemAlloc(&p[i], 1 << 20));
    MUST(muMemGetInfo(&left, NULL));
    check(left == 0, "the last byte can be had");
    IS(muMemAlloc(&big, 512), MUSA_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 64; i += 2)
        MUST(muMemFree(p[i]));
    OK(muMemAlloc(&big, 32 << 20)); /* capacity counts, not the holes */
    MUST(muMemFree(big));
    for (int i = 1; i < 64; i += 2)
        MUST(muMemFree(p[i]));
    OK(muMemAlloc(&big, total));
    MUST(muMemFree(big));
    IS(muMemAlloc(&big, SIZE_MAX), MUSA_ERROR_OUT_OF_MEMORY);
    size_t pitch;
    IS(muMemAllocPitch(&big, &pitch, SIZE_MAX, 2, 4), MUSA_ERROR_OUT_OF_MEMORY);
    IS(muMemAllocPitch(&big, &pitch, 1 << 20, SIZE_MAX / 2, 4), MUSA_ERROR_OUT_OF_MEMORY);
    IS(muMemAllocPitch(&big, &pitch, 100, 10, 3), MUSA_ERROR_INVALID_VALUE);
    OK(muMemAllocPitch(&big, &pitch, 100, 10, 4));
    check(pitch >= 100 && pitch % 32 == 0, "pitch");
    MUST(muMemFree(big));
}

/* Random allocations and frees; every allocation keeps its own pattern and overlaps no other. */
static void churn(void)
{
    enum { N = 200, ROUNDS = 8000 };
    static struct {
        MUdeviceptr p;
        size_t size;
        unsigned char c;
    } slot[N];
    unsigned seed = 7, bad = 0;
    size_t held = 0, free0, free1;
    MUST(muMemGetInfo(&free0, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned k = (seed >> 8) % N;
        if (slot[k].p) {
            unsigned char *m = at(slot[k].p);
            bad += m[0] != slot[k].c || m[slot[k].size - 1] != slot[k].c || m[slot[k].size / 2] != slot[k].c;
            MUST(muMemFree(slot[k].p));
            held -= (slot[k].size + 511) & ~(size_t)511;
            slot[k].p = 0;
        } else {
            size_t size = 1 + (seed >> 3) % (seed % 7 ? 3000 : 200000);
            MUST(muMemAlloc(&slot[k].p, size));
            slot[k].size = size;
            slot[k].c = (unsigned char)i;
            memset(at(slot[k].p), slot[k].c, size);
            held += (size + 511) & ~(size_t)511;
        }
    }
    MUST(muMemGetInfo(&free1, NULL));
    check(bad == 0, "random allocations never overlap");
    check(free0 - free1 == (held + (2 << 20) - 1) >> 21 << 21, "and are counted exactly");
    for (int k = 0; k < N; k++)
        if (slot[k].p)
            MUST(muMemFree(slot[k].p));
    MUST(muMemGetInfo(&free1, NULL));
    check(free0 == free1, "nothing is lost");
    MUdeviceptr all;
    OK(muMemAlloc(&all, free0));
    MUST(muMemFree(all));
}

static void host_memory(void)
{
    void *p, *mine = malloc(10000);
    MUdeviceptr d;
    unsigned flags;
    OK(muMemHostAlloc(&p, 5000, MU_MEMHOSTALLOC_PORTABLE | MU_MEMHOSTALLOC_WRITECOMBINED));
    memset(p, 3, 5000);
    OK(muMemHostGetDevicePointer(&d, p, 0));
    OK(muMemHostGetFlags(&flags, p));
    check((flags & 5) == 5, "flags");
    IS(muMemFree(dev(p)), MUSA_ERROR_INVALID_VALUE);
    OK(muMemFreeHost(p));
    IS(muMemFreeHost(p), MUSA_ERROR_INVALID_VALUE);
    IS(muMemFreeHost(mine), MUSA_ERROR_INVALID_VALUE);
    IS(muMemHostAlloc(&p, 100, 0x100), MUSA_ERROR_INVALID_VALUE);
    char *gap = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(munmap(gap + 4096, 4096));
    IS(muMemHostRegister(gap, 3 * 4096, 0), MUSA_ERROR_INVALID_VALUE); /* not all of it is there */
    IS(muMemHostRegister(gap + 4096, 100, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMemHostRegister(gap + 4000, 97, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muMemHostRegister(gap + 4000, 96, 0));
    OK(muMemHostUnregister(gap + 4000));
    OK(muMemHostRegister(mine, 10000, 0));
    IS(muMemHostRegister((char *)mine + 100, 100, 0), MUSA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(muMemHostGetDevicePointer(&d, (char *)mine + 7, 0));
    check(d == dev(mine) + 7, "registered memory has a device address");
    OK(muMemHostUnregister(mine));
    IS(muMemHostUnregister(mine), MUSA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    IS(muMemHostGetDevicePointer(&d, mine, 0), MUSA_ERROR_INVALID_VALUE);
    free(mine);
}

static void attributes(MUcontext ctx)
{
    MUdeviceptr p, m, base;
    void *h;
    unsigned type;
    MUcontext c;
    unsigned char managed;
    int ordinal, where;
    size_t size;
    unsigned long long id1, id2;
    MUST(muMemAlloc(&p, 4096));
    MUST(muMemAllocManaged(&m, 4096, MU_MEM_ATTACH_GLOBAL));
    MUST(muMemAllocHost(&h, 4096));
    OK(muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 100));
    check(type == MU_MEMORYTYPE_DEVICE, "device memory");
    OK(muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, dev(h)));
    check(type == MU_MEMORYTYPE_HOST, "host memory");
    OK(muPointerGetAttribute(&c, MU_POINTER_ATTRIBUTE_CONTEXT, p));
    check(c == ctx, "context");
    OK(muPointerGetAttribute(&managed, MU_POINTER_ATTRIBUTE_IS_MANAGED, m + 1));
    check(managed == 1, "managed");
    OK(muPointerGetAttribute(&base, MU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 4095));
    OK(muPointerGetAttribute(&size, MU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 4095));
    check(base == p && size == 4096, "range");
    OK(muPointerGetAttribute(&id1, MU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    OK(muPointerGetAttribute(&id2, MU_POINTER_ATTRIBUTE_BUFFER_ID, m));
    check(id1 != id2, "buffer ids differ");
    IS(muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, dev(&type)), MUSA_ERROR_INVALID_VALUE);
    MUpointer_attribute list[] = {MU_POINTER_ATTRIBUTE_MEMORY_TYPE, MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *out[] = {&type, &ordinal};
    OK(muPointerGetAttributes(2, list, out, p));
    check(type == MU_MEMORYTYPE_DEVICE && ordinal == 0, "several at once");
    OK(muPointerGetAttributes(2, list, out, dev(&type)));
    check(type == 0, "an unknown pointer has none");
    OK(muMemAdvise(m, 4096, MU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
    OK(muMemRangeGetAttribute(&where, 4, MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 4096));
    check(where == 0, "advice reads back");
    OK(muMemPrefetchAsync(m, 4096, MU_DEVICE_CPU, NULL));
    OK(muMemRangeGetAttribute(&where, 4, MU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, 4096));
    check(where == MU_DEVICE_CPU, "so does the last prefetch");
    IS(muMemPrefetchAsync(p, 4096, 0, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muMemPrefetchAsync(m, 4096, 9, NULL), MUSA_ERROR_INVALID_DEVICE);
    OK(muMemFree(m));
    OK(muMemFree(p));
    OK(muMemFreeHost(h));
}

static void hold_stream(void *go)
{
    while (!*(_Atomic bool *)go)
        sleep_ms(1);
}

static void pools(void)
{
    MUmemoryPool pool, own;
    MUdeviceptr p, q;
    MUstream s;
    uint64_t used, threshold = 1 << 20;
    static _Atomic bool go;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muDeviceGetDefaultMemPool(&pool, 0));
    OK(muMemPoolSetAttribute(pool, MU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    p = 1;
    OK(muMemAllocAsync(&p, 0, s));
    check(p == 0, "no bytes are had, and nowhere");
    OK(muMemFreeAsync(p, s));
    p = 1;
    OK(muMemAllocFromPoolAsync(&p, 0, pool, s));
    check(p == 0, "from a pool that is named, too");
    OK(muMemAllocAsync(&p, 40 << 20, s));
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    check(used == 40 << 20, "a pool counts");
    MUST(muLaunchHostFunc(s, hold_stream, &go));
    OK(muMemFreeAsync(p, s));
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    check(used == 0, "what is freed is not used, wherever the stream is");
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &used));
    check(used == 64 << 20, "but reserved till then, in pieces of 32 MiB");
    IS(muMemFreeAsync(p, s), MUSA_ERROR_INVALID_VALUE);
    IS(muMemFree(p), MUSA_ERROR_INVALID_VALUE);
    OK(muMemAllocAsync(&q, 40 << 20, s)); /* has to wait for the free */
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    check(used == 40 << 20, "and used again by who takes it before");
    go = true;
    OK(muMemFree(q));
    MUST(muStreamSynchronize(s));
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    check(used == 0, "and counts down");
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &used));
    check(used == 0, "nothing is kept");
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    check(used >= 40 << 20, "keeps the highest");
    MUmemPoolProps props = {
        .allocType = MU_MEM_ALLOCATION_TYPE_PINNED, .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}, .maxSize = 1 << 20};
    OK(muMemPoolCreate(&own, &props));
    OK(muMemAllocFromPoolAsync(&p, 1 << 20, own, s));
    IS(muMemAllocFromPoolAsync(&q, 1, own, s), MUSA_ERROR_OUT_OF_MEMORY);
    MUmemoryPool of = NULL;
    OK(muPointerGetAttribute(&of, MU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    check(of == own, "memory knows its pool");
    OK(muMemFreeAsync(p, s));
    MUST(muStreamSynchronize(s));
    OK(muMemPoolTrimTo(own, 0));
    OK(muMemPoolDestroy(own));
    IS(muMemPoolDestroy(own), MUSA_ERROR_INVALID_VALUE);
    IS(muMemPoolDestroy(pool), MUSA_ERROR_INVALID_VALUE);
    props.location.id = 5;
    IS(muMemPoolCreate(&own, &props), MUSA_ERROR_INVALID_DEVICE);
    MUST(muStreamDestroy(s));
}

/* What a stream of a second context took from the device's pools, or captured, stays when that context is destroyed:
 * the programming guide calls stream-ordered memory "not context associated". Its other memory goes. */
static void pools_outlive_contexts(MUcontext ctx)
{
    MUmemoryPool pool, own;
    MUmemPoolProps props = {.allocType = MU_MEM_ALLOCATION_TYPE_PINNED, .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}};
    MUcontext second, of = ctx;
    MUdeviceptr kept[3], gone;
    MUstream s;
    MUgraph graph;
    MUgraphExec exec;
    uint64_t before, used;
    MUST(muDeviceGetDefaultMemPool(&pool, 0));
    MUST(muMemPoolCreate(&own, &props));
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &before));
    OK(muMemAllocAsync(&gone, 4096, NULL));
    OK(muPointerGetAttribute(&of, MU_POINTER_ATTRIBUTE_CONTEXT, gone));
    check(of == NULL, "stream-ordered memory is told as no context's");
    OK(muMemFree(gone));
    MUST(muCtxCreate(&second, 0, 0));
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muMemAlloc(&gone, 4096));
    MUST(muMemAllocAsync(&kept[0], 4096, s));
    MUST(muMemAllocFromPoolAsync(&kept[1], 4096, own, s));
    MUST(muStreamBeginCapture(s, MU_STREAM_CAPTURE_MODE_GLOBAL));
    MUST(muMemAllocAsync(&kept[2], 4096, s));
    MUST(muStreamEndCapture(s, &graph));
    MUST(muGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(muGraphLaunch(exec, s));
    for (unsigned i = 0; i < 3; i++)
        OK(muMemsetD32Async(kept[i], 7 + i, 1024, s));
    MUST(muCtxSynchronize());
    MUST(muCtxDestroy(second));
    MUST(muCtxSetCurrent(ctx));
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    check(used == before + 4096, "the pool's memory is used still");
    IS(muMemFree(gone), MUSA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < 3; i++) {
        unsigned value = 0;
        OK(muMemcpyDtoH(&value, kept[i] + 4092, 4));
        check(value == 7 + i, "and holds what was written");
        OK(i ? muMemFree(kept[i]) : muMemFreeAsync(kept[i], NULL));
    }
    MUST(muCtxSynchronize());
    OK(muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    check(used == before, "till it is freed");
    OK(muGraphExecDestroy(exec));
    OK(muGraphDestroy(graph));
    OK(muMemPoolDestroy(own));
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "64M", 1);
    setenv("CUMU_HOST_DEVICES", "1", 1);
    MUcontext ctx = start_device();
    device_memory();
    exhaustion();
    churn();
    host_memory();
    attributes(ctx);
    pools();
    pools_outlive_contexts(ctx);
    return check_end("host memory");
}
