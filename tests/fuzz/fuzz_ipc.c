/* Fuzz target of handles from other processes: memory, events and pointers of a child that has
 * them, with bytes of the handles changed. What opens is read at both ends. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "abi/musa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 100000 };
static struct handles {
    MUipcMemHandle memory;
    MUipcEventHandle event;
} real;

static bool start_context(MUcontext *ctx)
{
    return !muInit(0) && !muDevicePrimaryCtxRetain(ctx, 0) && !muCtxSetCurrent(*ctx);
}

/* The child owns what the handles name, as long as this process lives. */
static bool start_child(void)
{
    int way[2];
    MUcontext ctx;
    if (pipe(way))
        return false;
    pid_t child = fork();
    if (child == 0) {
        MUdeviceptr p;
        MUevent e;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool good = start_context(&ctx) && !muMemAlloc(&p, BYTES) && !muIpcGetMemHandle(&real.memory, p) &&
                    memfd_create("empty", MFD_CLOEXEC) >= 0 && /* a neighbour of the event's */
                    !muEventCreate(&e, MU_EVENT_INTERPROCESS | MU_EVENT_DISABLE_TIMING) &&
                    !muIpcGetEventHandle(&real.event, e);
        if (good && write(way[1], &real, sizeof real) == sizeof real)
            for (;;)
                pause();
        _exit(1);
    }
    close(way[1]);
    bool got = child > 0 && read(way[0], &real, sizeof real) == sizeof real;
    close(way[0]);
    return got && start_context(&ctx);
}

static void open_all(struct handles *h)
{
    MUdeviceptr p, base;
    MUevent e;
    size_t size;
    static volatile uint8_t sum;
    if (!muIpcOpenMemHandle(&p, h->memory, MU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) {
        if (!muMemGetAddressRange(&base, &size, p))
            for (int k = 0; k < 3; k++) /* a page that is read is a page of memory */
                sum = (uint8_t)(sum + ((const uint8_t *)(uintptr_t)base)[k == 0 ? 0 : k == 1 ? size / 2 : size - 1]);
        (void)muIpcCloseMemHandle(p);
    }
    if (!muIpcOpenEventHandle(&e, h->event)) {
        (void)muEventQuery(e);
        (void)muEventDestroy(e);
    }
}

/* Pairs of a place and what is added to the byte there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool tried, good;
    if (!tried) {
        tried = true;
        good = start_child();
    }
    if (!good)
        abort();
    struct handles h = real;
    for (size_t k = 0; k + 1 < size; k += 2)
        ((uint8_t *)&h)[data[k] % sizeof h] += data[k + 1];
    open_all(&h);
    return 0;
}
