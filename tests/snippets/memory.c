/* Symbols, pointer attributes per layout, advice and prefetch in their location forms. */
#include "snippet.h"

/* What the runtimes of CUDA 11, 12 and 13 say about an address of each kind: 13 writes 88 bytes, the others
 * 24. NULL as `on_device` or `on_host`: not reachable there. */
static void attributes_are(const void *p, int type, int device, const void *on_device, const void *on_host)
{
    __typeof__(wrap_cudaPointerGetAttributes_v12) *older[2] = {
        (__typeof__(wrap_cudaPointerGetAttributes_v12) *)snippet_versioned(11, "cudaPointerGetAttributes"),
        V(12, cudaPointerGetAttributes)};
    cudaPointerAttributes a;
    OK(C(cudaPointerGetAttributes)(&a, p));
    IS(a.type, type);
    IS(a.device, device);
    EXPECT(a.devicePointer == on_device && a.hostPointer == on_host);
    for (int i = 0; i < 2; i++) {
        cudaPointerAttributes old;
        memset(&old, 0x5a, sizeof old);
        OK(older[i]((void *)&old, p));
        EXPECT(memcmp(&old, &a, 24) == 0 && ((char *)&old)[24] == 0x5a);
    }
}

static void pointer_kinds(void)
{
    static char mine[8192];
    char *p = NULL, *dead;
    OK(M(cudaMalloc, musaMalloc)((void **)&p, 4096));
    attributes_are(p + 5, cudaMemoryTypeDevice, 0, p + 5, NULL);
    OK(M(cudaFree, musaFree)(p));
    OK(M(cudaMallocAsync, musaMallocAsync)((void **)&p, 4096, NULL));
    attributes_are(p, cudaMemoryTypeDevice, 0, p, NULL);
    OK(M(cudaFreeAsync, musaFreeAsync)(p, NULL));
    OK(M(cudaMallocHost, musaMallocHost)((void **)&p, 4096));
    attributes_are(p + 5, cudaMemoryTypeHost, 0, p + 5, p + 5);
    OK(M(cudaFreeHost, musaFreeHost)(p));
    OK(M(cudaMallocManaged, musaMallocManaged)((void **)&p, 4096, 1));
    attributes_are(p + 5, cudaMemoryTypeManaged, 0, p + 5, p + 5);
    OK(M(cudaFree, musaFree)(p));
    dead = p;
    attributes_are(dead, cudaMemoryTypeUnregistered, -2, NULL, dead);
    p = mine;
    attributes_are(p, cudaMemoryTypeUnregistered, -2, NULL, p);
    OK(M(cudaHostRegister, musaHostRegister)(p, sizeof mine, 0));
    attributes_are(p + 4096, cudaMemoryTypeHost, 0, p + 4096, p + 4096);
    IS(M(cudaHostRegister, musaHostRegister)(p + 4096, 16, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(M(cudaHostUnregister, musaHostUnregister)(p));
    IS(M(cudaHostUnregister, musaHostUnregister)(p), cudaErrorHostMemoryNotRegistered);
    IS(M(cudaHostRegister, musaHostRegister)(p, sizeof mine, 0x40), cudaErrorInvalidValue);
    attributes_are(p, cudaMemoryTypeUnregistered, -2, NULL, p);

    MUmemAllocationProp prop = {.type = 1, .location = {1, 0}};
    MUmemAccessDesc access = {{1, 0}, 3};
    MUmemGenericAllocationHandle h = 0;
    MUdeviceptr va = 0;
    enum { SIZE = 2 << 20 };
    OK(M(cuMemAddressReserve, muMemAddressReserve)(&va, SIZE, 0, 0, 0));
    OK(M(cuMemCreate, muMemCreate)(&h, SIZE, &prop, 0));
    OK(M(cuMemMap, muMemMap)(va, SIZE, 0, h, 0));
    OK(M(cuMemSetAccess, muMemSetAccess)(va, SIZE, &access, 1));
    p = (char *)va;
    attributes_are(p + 5, cudaMemoryTypeDevice, 0, p + 5, NULL);
    OK(M(cudaMemset, musaMemset)(p, 3, SIZE));
    OK(M(cuMemUnmap, muMemUnmap)(va, SIZE));
    attributes_are(p, cudaMemoryTypeUnregistered, -2, NULL, p);
    IS(M(cudaMemset, musaMemset)(p, 3, SIZE), cudaErrorInvalidValue);
    OK(M(cuMemRelease, muMemRelease)(h));
    OK(M(cuMemAddressFree, muMemAddressFree)(va, SIZE));
    (void)C(cudaGetLastError)();
}

void snippet_memory(void)
{
    snippet_registered();
    unsigned v[4] = {0}, four[4] = {10, 20, 30, 40};
    void *address = NULL;
    size_t size = 0;
    OK(C(cudaGetSymbolAddress)(&address, &snippet_table));
    OK(C(cudaGetSymbolSize)(&size, &snippet_table));
    EXPECT(address && size == 16);
    OK(C(cudaMemcpyToSymbol)(&snippet_table, four, 16, 0, 1));
    OK(C(cudaMemcpyFromSymbol)(v, &snippet_table, 16, 0, 2));
    EXPECT(memcmp(v, four, 16) == 0);
    OK(C(cudaMemcpyToSymbol_ptds)(&snippet_table, four + 1, 4, 0, 1));
    OK(C(cudaMemcpyFromSymbol_ptds)(v, &snippet_table, 8, 0, 2));
    EXPECT(v[0] == 20 && v[1] == 20);
    OK(C(cudaMemcpyToSymbolAsync)(&snippet_table, four, 16, 0, 1, NULL));
    OK(C(cudaMemcpyFromSymbolAsync)(v, &snippet_table, 16, 0, 2, NULL));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    EXPECT(memcmp(v, four, 16) == 0);
    OK(C(cudaMemcpyToSymbolAsync_ptsz)(&snippet_table, four + 2, 4, 4, 1, NULL));
    OK(C(cudaMemcpyFromSymbolAsync_ptsz)(v, &snippet_table, 4, 4, 2, NULL));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    IS(v[0], 30);
    IS(C(cudaMemcpyToSymbol)(&snippet_table, four, 17, 0, 1), cudaErrorInvalidValue);
    IS(C(cudaMemcpyToSymbol)(v, four, 4, 0, 1), cudaErrorInvalidSymbol);
    (void)C(cudaGetLastError)();

    struct {
        cudaPointerAttributes a;
        char guard[32];
    } full;
    struct {
        char raw[24];
        char guard[96];
    } v12;
    memset(&full, 0x5a, sizeof full);
    memset(&v12, 0x5a, sizeof v12);
    OK(C(cudaPointerGetAttributes)(&full.a, address));
    OK(V(12, cudaPointerGetAttributes)((void *)&v12, address));
    EXPECT(full.a.type == cudaMemoryTypeDevice && full.a.devicePointer == address);
    EXPECT(memcmp(&v12, &full.a, 24) == 0);
    for (int i = 0; i < 96; i++)
        EXPECT(v12.guard[i] == 0x5a);
    for (int i = 0; i < 32; i++)
        EXPECT(full.guard[i] == 0x5a);
    OK(C(cudaPointerGetAttributes)(&full.a, &full)); /* the program's own memory: no error, unregistered */
    IS(full.a.type, cudaMemoryTypeUnregistered);

    void *m = NULL;
    cudaMemLocation device = {1, 0};
    OK(M(cudaMallocManaged, musaMallocManaged)(&m, 4096, 1));
    OK(C(cudaMemAdvise)(m, 4096, 1, device));
    OK(C(cudaMemPrefetchAsync)(m, 4096, device, 0, NULL));
    OK(C(cudaMemPrefetchAsync_ptsz)(m, 4096, device, 0, NULL));
    OK(C(cuMemAdvise_v2)((unsigned long long)m, 4096, 1, device));
    OK(C(cuMemPrefetchAsync_v2)((unsigned long long)m, 4096, device, 0, NULL));
    OK(C(cuMemPrefetchAsync_v2_ptsz)((unsigned long long)m, 4096, device, 0, NULL));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    OK(M(cudaFree, musaFree)(m));
    pointer_kinds();
}
