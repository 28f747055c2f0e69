/* Threads that map, use and unmap at once, with work of streams under way: for races (built with TSan), and
 * for pages that are hidden from a copy that still runs. */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 25 };
#define G ((size_t)2 << 20)

static MUcontext ctx;
static _Atomic int errors;

static void *work(void *arg)
{
    unsigned me = (unsigned)(intptr_t)arg, seed = me + 1;
    MUmemAllocationProp prop = {.type = MU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}};
    MUmemAccessDesc access = {prop.location, MU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    MUstream s;
    unsigned char *pinned;
    MUST(muCtxSetCurrent(ctx));
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muMemHostAlloc((void **)&pinned, 64, 0));
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned char value = (unsigned char)(seed >> 20);
        MUmemGenericAllocationHandle h[3], twin;
        MUdeviceptr va, other;
        int fd, n = 1 + (int)(seed >> 8) % 3;
        MUST(muMemAddressReserve(&va, 3 * G, 0, 0, 0));
        for (int i = 0; i < n; i++) {
            MUST(muMemCreate(&h[i], G, &prop, 0));
            MUST(muMemMap(va + (size_t)i * G, G, 0, h[i], 0));
        }
        MUST(muMemSetAccess(va, (size_t)n * G, &access, 1));
        MUST(muMemsetD8Async(va, value, (size_t)n * G, s));
        /* The last piece once more, as another process would have it. */
        MUST(muMemExportToShareableHandle(&fd, h[n - 1], MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        MUST(muMemImportFromShareableHandle(&twin, (void *)(intptr_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        close(fd);
        MUST(muMemAddressReserve(&other, G, 0, 0, 0));
        MUST(muMemMap(other, G, 0, twin, 0));
        MUST(muMemSetAccess(other, G, &access, 1));
        MUST(muMemcpyDtoHAsync(pinned, other + G - 64, 64, s));
        if (seed & 1)
            MUST(muStreamSynchronize(s));
        for (int i = 0; i < n; i++)
            MUST(muMemRelease(h[i]));
        MUST(muMemRelease(twin));
        MUST(muMemUnmap(other, G)); /* waits for the copy */
        errors += pinned[0] != value || pinned[63] != value;
        MUST(muMemsetD8Async(va, 0, (size_t)n * G, s));
        if (seed & 2)
            for (int i = 0; i < n; i++)
                MUST(muMemUnmap(va + (size_t)i * G, G));
        else
            MUST(muMemUnmap(va, (size_t)n * G));
        MUST(muMemAddressFree(other, G));
        MUST(muMemAddressFree(va, 3 * G));
    }
    MUST(muStreamDestroy(s));
    MUST(muMemFreeHost(pinned));
    return NULL;
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "32M", 1);
    ctx = start_device();
    size_t before, after, total;
    MUST(muMemGetInfo(&before, &total));
    pthread_t t[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    check(errors == 0, "every thread saw its own bytes");
    MUST(muMemGetInfo(&after, &total));
    check(after == before, "nothing is left");
    return check_end("host vmm_stress");
}
