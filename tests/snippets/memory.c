/* Symbols, pointer attributes per layout, advice and prefetch in their location forms. */
#include "snippet.h"

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

    struct { cudaPointerAttributes a; char guard[32]; } full;
    struct { char raw[24]; char guard[96]; } v12;
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
}
