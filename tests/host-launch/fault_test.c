/* Kernels that fault: the process lives, the context is poisoned with the right error, one line
 * says what happened, and the application's own signal handlers keep working. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

static int *volatile nowhere = (int *)8;
static sigjmp_buf back;
static volatile int handled;

static void on_fault(int sig)
{
    (void)sig;
    handled++;
    siglongjmp(back, 1);
}

static bool own_fault_is_ours(void)
{
    int before = handled;
    if (!sigsetjmp(back, 1))
        *(volatile int *)nowhere = 1;
    return handled == before + 1;
}

static MUresult run(const char *name, void **params)
{
    MUfunction f = kernel_function(name);
    MUresult r = muLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
    return r ? r : muCtxSynchronize();
}

static void wild_child(void)
{
    uint64_t p = 0x1234567890;
    if (!kernels_start() || run("wild", (void *[]){&p}) != MUSA_ERROR_ILLEGAL_ADDRESS)
        _exit(1);
}

static void trap_child(void)
{
    if (!kernels_start() || run("trap", NULL) != MUSA_ERROR_LAUNCH_FAILED)
        _exit(1);
}

/* A grid-wide barrier of an ordinary launch that the device cannot hold at once: no memory, for which cooperative
 * groups have a trap. */
static void crowd_child(void)
{
    int per = 0, cores = 0;
    MUdeviceptr counter;
    if (!kernels_start() || muMemAlloc(&counter, 4))
        _exit(1);
    MUfunction f = kernel_function("rounds");
    muDeviceGetAttribute(&cores, MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    muOccupancyMaxActiveBlocksPerMultiprocessor(&per, f, 64, 0);
    if (muLaunchKernel(f, (unsigned)(per * cores) + 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&counter}, NULL) ||
        muCtxSynchronize() != MUSA_ERROR_LAUNCH_FAILED)
        _exit(1);
}

static void test_messages(void)
{
    const char *said = stderr_of(wild_child);
    check(strstr(said, "kernel wild") && strstr(said, "0x1234567890") && strstr(said, "block [0,0,0]") &&
              strstr(said, "thread [0,0,0]") && strstr(said, "st.global"),
          "a fault names kernel, address, block, thread and instruction");
    check(strstr(said, "\n") == said + strlen(said) - 1, "in one line");
    if (check_failures)
        printf("    said: %s\n", said);
    check(strstr(stderr_of(trap_child), "kernel trap: trap") != NULL, "a trap is named");
    check(strstr(stderr_of(crowd_child), "kernel rounds: trap") != NULL,
          "a grid-wide barrier of too many blocks has no memory");
}

static void test_poisoned(void)
{
    MUdeviceptr p = 0;
    MUcontext ctx;
    uint64_t null = 0;
    check(run("wild", (void *[]){&null}) == MUSA_ERROR_ILLEGAL_ADDRESS, "a null pointer");
    check(muCtxSynchronize() == MUSA_ERROR_ILLEGAL_ADDRESS, "the error sticks");
    check(muMemAlloc(&p, 64) == MUSA_ERROR_ILLEGAL_ADDRESS, "to every call");
    check(own_fault_is_ours() && own_fault_is_ours(), "a handler from before still works");

    check(!muDevicePrimaryCtxReset(0), "the device is reset");
    muDevicePrimaryCtxRelease(0);
    check(!muDevicePrimaryCtxRetain(&ctx, 0) && !muCtxSetCurrent(ctx) && !muMemAlloc(&p, 64), "and works again");
}

static void fresh_context(void)
{
    MUcontext ctx;
    muDevicePrimaryCtxReset(0);
    muDevicePrimaryCtxRelease(0);
    muDevicePrimaryCtxRetain(&ctx, 0);
    muCtxSetCurrent(ctx);
}

static void test_orphans(void)
{
    MUdeviceptr word = 0;
    muMemAlloc(&word, 4);
    muMemsetD32(word, 0, 1);
    void *params[] = {&word};
    check(run("orphans", params) == MUSA_ERROR_ILLEGAL_ADDRESS, "blocks that wait for a failed one end");
    fresh_context();
    muMemAlloc(&word, 4);
    muMemsetD32(word, 0, 1);
    MUfunction f = kernel_function("orphans");
    MUresult r = muLaunchCooperativeKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, params);
    check(!r && muCtxSynchronize() == MUSA_ERROR_ILLEGAL_ADDRESS, "in a cooperative launch too");
    fresh_context();
}

/* Kernels see the rights of a mapping. */
static void test_mapping(void)
{
    enum { SIZE = 2 << 20 };
    static const unsigned rights[] = {MU_MEM_ACCESS_FLAGS_PROT_READWRITE, MU_MEM_ACCESS_FLAGS_PROT_READ,
                                      MU_MEM_ACCESS_FLAGS_PROT_NONE};
    static const char *const what[] = {"a kernel writes mapped memory", "not where it may only read",
                                       "nor where it has no rights"};
    MUmemAllocationProp prop = {.type = MU_MEM_ALLOCATION_TYPE_PINNED, .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}};
    MUmemAccessDesc access = {.location = prop.location};
    MUmemGenericAllocationHandle h = 0;
    MUdeviceptr p = 0;
    check(!muMemAddressReserve(&p, SIZE, 0, 0, 0) && !muMemCreate(&h, SIZE, &prop, 0) && !muMemMap(p, SIZE, 0, h, 0),
          "memory is mapped");
    for (int i = 0; i < 3; i++) {
        access.flags = (MUmemAccess_flags)rights[i];
        muMemSetAccess(p, SIZE, &access, 1);
        check(run("wild", (void *[]){&p}) == (i ? MUSA_ERROR_ILLEGAL_ADDRESS : MUSA_SUCCESS), "%s", what[i]);
        if (i)
            fresh_context();
    }
    muMemUnmap(p, SIZE);
    check(run("wild", (void *[]){&p}) == MUSA_ERROR_ILLEGAL_ADDRESS, "nor when it is unmapped");
    fresh_context();
    check(!muMemRelease(h) && !muMemAddressFree(p, SIZE), "it outlives contexts");
}

static void test_later_handler(void)
{
    struct sigaction sa = {.sa_handler = on_fault};
    uint64_t wild = 64;
    sigaction(SIGSEGV, &sa, NULL);
    check(own_fault_is_ours(), "a handler installed after the first launch");
    check(run("wild", (void *[]){&wild}) == MUSA_ERROR_ILLEGAL_ADDRESS, "kernels are still contained");
    check(own_fault_is_ours() && own_fault_is_ours() && own_fault_is_ours(),
          "and the handler still serves the application");
    fresh_context();
    check(run("empty", NULL) == MUSA_SUCCESS, "a healthy kernel after all that");
}

int main(void)
{
    struct sigaction sa = {.sa_handler = on_fault};
    test_messages(); /* first: children must not come from a process whose driver runs */
    sigaction(SIGSEGV, &sa, NULL);
    if (!kernels_start())
        return 1;
    test_poisoned();
    test_orphans();
    test_mapping();
    test_later_handler();
    return check_end("host-launch fault");
}
