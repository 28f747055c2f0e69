/* cumu doctor: how fast copies and launches are, and a sum over all devices where there are several. */
#include "abi/mccl.h"
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"
#include "cli/doctor_driver.h"
#include "cli/doctor_kernels.h"
#include "cli/doctor_probes.h"
#include "compile/compile.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECONDS = 25, BYTES = 32 << 20, COPIES = 5, LAUNCHES = 500, MOST_DEVICES = 16, ELEMENTS = 1 << 20, SUMS = 5 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static MUdeviceptr here, there;

static int to_device(void *host) { return MU(muMemcpyHtoD_v2)(here, host, BYTES); }
static int to_host(void *host) { return MU(muMemcpyDtoH_v2)(host, here, BYTES); }
static int on_device(void *host)
{
    int err = MU(muMemcpyDtoD_v2)(there, here, BYTES);
    (void)host;
    return err ? err : MU(muCtxSynchronize)();
}

/* The best of several, after one that is not counted. */
static void time_copy(const char *name, int (*copy)(void *), void *host)
{
    double best = 1e9;
    int err = copy(host);
    for (int k = 0; k < COPIES && !err; k++) {
        double t = now();
        err = copy(host);
        t = now() - t;
        best = t < best ? t : best;
    }
    if (err)
        doctor_line(name, "no: %s", doctor_error(err));
    else
        doctor_line(name, "%.2f GB/s", BYTES / best / 1e9);
}

static int time_copies(void *unused)
{
    void *pinned = NULL, *plain = calloc(1, BYTES);
    int err = doctor_driver_open();
    (void)unused;
    if (!err)
        err = MU(muMemAlloc_v2)(&here, BYTES);
    if (!err)
        err = MU(muMemAlloc_v2)(&there, BYTES);
    if (!err)
        err = MU(muMemAllocHost_v2)(&pinned, BYTES);
    if (err || !plain) {
        doctor_line("copies", "no: %s", doctor_error(err));
        return 0;
    }
    memset(plain, 1, BYTES);
    memset(pinned, 1, BYTES);
    time_copy("to the device, pinned", to_device, pinned);
    time_copy("to the device, pageable", to_device, plain);
    time_copy("to the host, pinned", to_host, pinned);
    time_copy("to the host, pageable", to_host, plain);
    time_copy("on the device", on_device, NULL);
    return 0;
}

/* ---- launches -------------------------------------------------------------------------------------- */

/* Times launches of a small kernel, queued and one by one. The first launch is not counted, as it loads. */
static int time_launches(void *arch)
{
    const unsigned *fallback = arch;
    struct doctor_kernel k;
    char why[DOCTOR_WHY];
    void *args[] = {&here};
    int err = doctor_driver_open();
    unsigned is = err ? 0 : doctor_driver_arch();
    if (!err && !doctor_kernel_make(&k, doctor_probes[0].ptx, NULL, cumu_arch_known(is) ? is : *fallback, why)) {
        doctor_line("launches", "no: %s", why);
        return 0;
    }
    if (!err)
        err = MU(muMemAlloc_v2)(&here, DOCTOR_THREADS * sizeof(uint32_t));
    if (!err)
        err = doctor_kernel_load(&k);
    if (!err)
        err = doctor_kernel_launch(&k, args);
    if (!err)
        err = MU(muCtxSynchronize)();
    double begin = now();
    for (int n = 0; n < LAUNCHES && !err; n++)
        err = doctor_kernel_launch(&k, args);
    if (!err)
        err = MU(muCtxSynchronize)();
    double middle = now();
    for (int n = 0; n < LAUNCHES && !err; n++) {
        err = doctor_kernel_launch(&k, args);
        if (!err)
            err = MU(muCtxSynchronize)();
    }
    if (err) {
        doctor_line("launches", "no: %s", doctor_error(err));
        return 0;
    }
    doctor_line("a launch among many", "%.2f us", (middle - begin) / LAUNCHES * 1e6);
    doctor_line("a launch and the wait for it", "%.2f us", (now() - middle) / LAUNCHES * 1e6);
    return 0;
}

/* ---- all devices ----------------------------------------------------------------------------------- */

static void *found(const char *name, bool *all)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    *all = *all && at;
    return at;
}

/* A function of the runtime or of MCCL; clears `all` where there is none. */
#define BELOW(name) __typeof__(name) *p_##name = (__typeof__(name) *)(uintptr_t)found(#name, &all)

struct rank {
    float *data;
    musaStream_t stream;
    mcclComm_t comm;
};

/* Device d brings d + 1 in every element; all must end with the sum. */
static int sum_over_devices(void *count)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    const int n = *(int *)count;
    struct rank rank[MOST_DEVICES];
    mcclComm_t comms[MOST_DEVICES];
    float *values = malloc(ELEMENTS * sizeof *values);
    char path[PATH_MAX];
    bool all = values != NULL;
    for (; l && l->name; l++)
        if ((!strcmp(l->name, "musart") || !strcmp(l->name, "mccl")) && cumu_sdk_library(l, path))
            (void)dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    BELOW(musaSetDevice);
    BELOW(musaMalloc);
    BELOW(musaMemcpy);
    BELOW(musaStreamCreate);
    BELOW(musaStreamSynchronize);
    BELOW(mcclCommInitAll);
    BELOW(mcclGroupStart);
    BELOW(mcclGroupEnd);
    BELOW(mcclAllReduce);
    if (!all) {
        doctor_line("sum over devices", "not tried: no runtime, or no MCCL");
        return 0;
    }
    int err = p_mcclCommInitAll(comms, n, NULL);
    for (int d = 0; d < n && !err; d++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            values[i] = (float)(d + 1);
        rank[d].comm = comms[d];
        err = p_musaSetDevice(d);
        if (!err)
            err = p_musaMalloc((void **)&rank[d].data, ELEMENTS * sizeof *values);
        if (!err)
            err = p_musaMemcpy(rank[d].data, values, ELEMENTS * sizeof *values, musaMemcpyHostToDevice);
        if (!err)
            err = p_musaStreamCreate(&rank[d].stream);
    }
    float want = (float)(n * (n + 1) / 2);
    double begin = now();
    for (int k = 0; k < SUMS && !err; k++) {
        err = p_mcclGroupStart();
        for (int d = 0; d < n && !err; d++)
            err = p_mcclAllReduce(rank[d].data, rank[d].data, ELEMENTS, mcclFloat32, mcclSum, rank[d].comm,
                                  rank[d].stream);
        int ended = p_mcclGroupEnd();
        err = err ? err : ended;
        for (int d = 0; d < n && !err; d++)
            err = p_musaStreamSynchronize(rank[d].stream);
        want *= k ? (float)n : 1;
    }
    double seconds = (now() - begin) / SUMS;
    for (int d = 0; d < n && !err; d++) {
        err = p_musaMemcpy(values, rank[d].data, ELEMENTS * sizeof *values, musaMemcpyDeviceToHost);
        for (size_t i = 0; i < ELEMENTS && !err; i++)
            if (values[i] < want || values[i] > want) {
                doctor_line("sum over devices", "wrong: device %d has %g, not %g", d, (double)values[i], (double)want);
                return 0;
            }
    }
    if (err)
        doctor_line("sum over devices", "no: MCCL or the runtime answers %d", err);
    else
        doctor_line("sum over devices", "right: %d devices, %.2f ms for %d MiB", n, seconds * 1e3,
                    (int)(ELEMENTS * sizeof *values >> 20));
    return 0;
}

static int count_devices(void *unused)
{
    int n = 0;
    (void)unused;
    if (!doctor_driver_load() || MU(muInit)(0) || MU(muDeviceGetCount)(&n))
        return 0;
    return n < MOST_DEVICES ? n : MOST_DEVICES;
}

void cumu_doctor_speed(unsigned arch)
{
    doctor_section("speed");
    int n = doctor_child("devices", count_devices, NULL, SECONDS);
    if (n <= 0)
        return;
    (void)doctor_child("copies", time_copies, NULL, SECONDS);
    (void)doctor_child("launches", time_launches, &arch, SECONDS);
    if (n > 1)
        (void)doctor_child("sum over devices", sum_over_devices, &n, SECONDS);
}
