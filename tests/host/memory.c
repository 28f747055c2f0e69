/* Memory: allocation and exhaustion, reuse, host memory, managed memory, pools, attributes, bad
 * pointers. */
#include "faults.h"

static void device_memory(void)
{
    MUdeviceptr p, q, base;
    size_t free0, free1, total, size;
    MUST(muMemGetInfo(&free0, &total));
    CHECK("the device has the memory that was asked for", total == (size_t)64 << 20 && free0 == total);
    MUST(muMemAlloc(&p, 1000));
    MUST(muMemAlloc(&q, 5 << 20));
    CHECK("allocations are aligned", p % 512 == 0 && q % (2 << 20) == 0);
    MUST(muMemGetInfo(&free1, NULL));
    CHECK("and counted by blocks", free0 - free1 == 6 << 20);
    memset(at(q), 1, 5 << 20);
    IS(MUSA_SUCCESS, muMemGetAddressRange(&base, &size, q + 12345));
    CHECK("an address tells its allocation", base == q && size == 5 << 20);
    CHECK("what follows a large allocation faults", faults(q + (6 << 20)));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFree(q + 512));
    IS(MUSA_SUCCESS, muMemFree(q));
    CHECK("freed memory faults", faults(q));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFree(q));
    IS(MUSA_SUCCESS, muMemFree(0));
    IS(MUSA_SUCCESS, muMemFree(p));
    MUST(muMemGetInfo(&free1, NULL));
    CHECK("all of it comes back", free1 == free0);
    IS(MUSA_ERROR_INVALID_VALUE, muMemAlloc(&p, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAlloc(NULL, 16));
    IS(MUSA_ERROR_NOT_FOUND, muMemGetAddressRange(&base, &size, 4096));
}

static void exhaustion(void)
{
    MUdeviceptr p[64], big;
    size_t total, left;
    MUST(muMemGetInfo(NULL, &total));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAlloc(&big, total + 1));
    IS(MUSA_SUCCESS, muMemAlloc(&big, total));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAlloc(&p[0], 1));
    IS(MUSA_SUCCESS, muMemFree(big));
    for (int i = 0; i < 64; i++)
        MUST(muMemAlloc(&p[i], 1 << 20));
    MUST(muMemGetInfo(&left, NULL));
    CHECK("the last byte can be had", left == 0);
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAlloc(&big, 512));
    for (int i = 0; i < 64; i += 2)
        MUST(muMemFree(p[i]));
    IS(MUSA_SUCCESS, muMemAlloc(&big, 32 << 20)); /* capacity counts, not the holes */
    MUST(muMemFree(big));
    for (int i = 1; i < 64; i += 2)
        MUST(muMemFree(p[i]));
    IS(MUSA_SUCCESS, muMemAlloc(&big, total));
    MUST(muMemFree(big));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAlloc(&big, SIZE_MAX));
    size_t pitch;
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAllocPitch(&big, &pitch, SIZE_MAX, 2, 4));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAllocPitch(&big, &pitch, 1 << 20, SIZE_MAX / 2, 4));
    IS(MUSA_ERROR_INVALID_VALUE, muMemAllocPitch(&big, &pitch, 100, 10, 3));
    IS(MUSA_SUCCESS, muMemAllocPitch(&big, &pitch, 100, 10, 4));
    CHECK("pitch", pitch >= 100 && pitch % 32 == 0);
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
    CHECK("random allocations never overlap", bad == 0);
    CHECK("and are counted exactly", free0 - free1 == (held + (2 << 20) - 1) >> 21 << 21);
    for (int k = 0; k < N; k++)
        if (slot[k].p)
            MUST(muMemFree(slot[k].p));
    MUST(muMemGetInfo(&free1, NULL));
    CHECK("nothing is lost", free0 == free1);
    MUdeviceptr all;
    IS(MUSA_SUCCESS, muMemAlloc(&all, free0));
    MUST(muMemFree(all));
}

static void host_memory(void)
{
    void *p, *mine = malloc(10000);
    MUdeviceptr d;
    unsigned flags;
    IS(MUSA_SUCCESS, muMemHostAlloc(&p, 5000, MU_MEMHOSTALLOC_PORTABLE | MU_MEMHOSTALLOC_WRITECOMBINED));
    memset(p, 3, 5000);
    IS(MUSA_SUCCESS, muMemHostGetDevicePointer(&d, p, 0));
    IS(MUSA_SUCCESS, muMemHostGetFlags(&flags, p));
    CHECK("flags", (flags & 5) == 5);
    IS(MUSA_ERROR_INVALID_VALUE, muMemFree(dev(p)));
    IS(MUSA_SUCCESS, muMemFreeHost(p));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFreeHost(p));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFreeHost(mine));
    IS(MUSA_ERROR_INVALID_VALUE, muMemHostAlloc(&p, 100, 0x100));
    IS(MUSA_SUCCESS, muMemHostRegister(mine, 10000, 0));
    IS(MUSA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, muMemHostRegister((char *)mine + 100, 100, 0));
    IS(MUSA_SUCCESS, muMemHostGetDevicePointer(&d, (char *)mine + 7, 0));
    CHECK("registered memory has a device address", d == dev(mine) + 7);
    IS(MUSA_SUCCESS, muMemHostUnregister(mine));
    IS(MUSA_ERROR_HOST_MEMORY_NOT_REGISTERED, muMemHostUnregister(mine));
    IS(MUSA_ERROR_INVALID_VALUE, muMemHostGetDevicePointer(&d, mine, 0));
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
    IS(MUSA_SUCCESS, muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 100));
    CHECK("device memory", type == MU_MEMORYTYPE_DEVICE);
    IS(MUSA_SUCCESS, muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, dev(h)));
    CHECK("host memory", type == MU_MEMORYTYPE_HOST);
    IS(MUSA_SUCCESS, muPointerGetAttribute(&c, MU_POINTER_ATTRIBUTE_CONTEXT, p));
    CHECK("context", c == ctx);
    IS(MUSA_SUCCESS, muPointerGetAttribute(&managed, MU_POINTER_ATTRIBUTE_IS_MANAGED, m + 1));
    CHECK("managed", managed == 1);
    IS(MUSA_SUCCESS, muPointerGetAttribute(&base, MU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 4095));
    IS(MUSA_SUCCESS, muPointerGetAttribute(&size, MU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 4095));
    CHECK("range", base == p && size == 4096);
    IS(MUSA_SUCCESS, muPointerGetAttribute(&id1, MU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    IS(MUSA_SUCCESS, muPointerGetAttribute(&id2, MU_POINTER_ATTRIBUTE_BUFFER_ID, m));
    CHECK("buffer ids differ", id1 != id2);
    IS(MUSA_ERROR_INVALID_VALUE, muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, dev(&type)));
    MUpointer_attribute list[] = {MU_POINTER_ATTRIBUTE_MEMORY_TYPE, MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *out[] = {&type, &ordinal};
    IS(MUSA_SUCCESS, muPointerGetAttributes(2, list, out, p));
    CHECK("several at once", type == MU_MEMORYTYPE_DEVICE && ordinal == 0);
    IS(MUSA_SUCCESS, muPointerGetAttributes(2, list, out, dev(&type)));
    CHECK("an unknown pointer has none", type == 0);
    IS(MUSA_SUCCESS, muMemAdvise(m, 4096, MU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
    IS(MUSA_SUCCESS, muMemRangeGetAttribute(&where, 4, MU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 4096));
    CHECK("advice reads back", where == 0);
    IS(MUSA_SUCCESS, muMemPrefetchAsync(m, 4096, MU_DEVICE_CPU, NULL));
    IS(MUSA_SUCCESS, muMemRangeGetAttribute(&where, 4, MU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, 4096));
    CHECK("so does the last prefetch", where == MU_DEVICE_CPU);
    IS(MUSA_ERROR_INVALID_VALUE, muMemPrefetchAsync(p, 4096, 0, NULL));
    IS(MUSA_ERROR_INVALID_DEVICE, muMemPrefetchAsync(m, 4096, 9, NULL));
    IS(MUSA_SUCCESS, muMemFree(m));
    IS(MUSA_SUCCESS, muMemFree(p));
    IS(MUSA_SUCCESS, muMemFreeHost(h));
}

static void pause_stream(void *p) { sleep_ms((long)(intptr_t)p); }

static void pools(void)
{
    MUmemoryPool pool, own;
    MUdeviceptr p, q;
    MUstream s;
    uint64_t used, threshold = 1 << 20;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muDeviceGetDefaultMemPool(&pool, 0));
    IS(MUSA_SUCCESS, muMemPoolSetAttribute(pool, MU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    IS(MUSA_SUCCESS, muMemAllocAsync(&p, 40 << 20, s));
    IS(MUSA_SUCCESS, muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK("a pool counts", used == 40 << 20);
    MUST(muLaunchHostFunc(s, pause_stream, (void *)(intptr_t)30));
    IS(MUSA_SUCCESS, muMemFreeAsync(p, s));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFreeAsync(p, s));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFree(p));
    IS(MUSA_SUCCESS, muMemAllocAsync(&q, 40 << 20, s)); /* has to wait for the free */
    IS(MUSA_SUCCESS, muMemFree(q));
    MUST(muStreamSynchronize(s));
    IS(MUSA_SUCCESS, muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK("and counts down", used == 0);
    IS(MUSA_SUCCESS, muMemPoolGetAttribute(pool, MU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    CHECK("keeps the highest", used >= 40 << 20);
    MUmemPoolProps props = {
        .allocType = MU_MEM_ALLOCATION_TYPE_PINNED, .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}, .maxSize = 1 << 20};
    IS(MUSA_SUCCESS, muMemPoolCreate(&own, &props));
    IS(MUSA_SUCCESS, muMemAllocFromPoolAsync(&p, 1 << 20, own, s));
    IS(MUSA_ERROR_OUT_OF_MEMORY, muMemAllocFromPoolAsync(&q, 1, own, s));
    MUmemoryPool of = NULL;
    IS(MUSA_SUCCESS, muPointerGetAttribute(&of, MU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    CHECK("memory knows its pool", of == own);
    IS(MUSA_SUCCESS, muMemFreeAsync(p, s));
    MUST(muStreamSynchronize(s));
    IS(MUSA_SUCCESS, muMemPoolTrimTo(own, 0));
    IS(MUSA_SUCCESS, muMemPoolDestroy(own));
    IS(MUSA_ERROR_INVALID_VALUE, muMemPoolDestroy(own));
    IS(MUSA_ERROR_INVALID_VALUE, muMemPoolDestroy(pool));
    props.location.id = 5;
    IS(MUSA_ERROR_INVALID_DEVICE, muMemPoolCreate(&own, &props));
    MUST(muStreamDestroy(s));
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
    return result();
}
