/* The current device of each thread, and the primary context that the first real call makes. */
#include <pthread.h>

#include "host/runtime/rt.h"

#define MAX_DEVICES 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static MUresult init_result;
static int device_count;
static int first_valid; /* what threads that choose nothing use: musaSetValidDevices */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MUcontext primary[MAX_DEVICES]; /* retained by us; NULL again after a reset */
static _Atomic unsigned resets;        /* a thread whose number is older binds its context anew */

static _Thread_local struct {
    int device;
    bool chosen;
    unsigned seen;  /* resets */
    MUcontext held; /* the last current one that was found to be ours, or none's primary */
} mine;

static void init(void)
{
    init_result = muInit(0);
    if (!init_result)
        init_result = muDeviceGetCount(&device_count);
    if (!init_result && !device_count)
        init_result = MUSA_ERROR_NO_DEVICE;
}

MUresult rt_init(void)
{
    pthread_once(&once, init);
    return init_result;
}

static int my_device(void) { return mine.chosen ? mine.device : first_valid; }

bool rt_valid(int device) { return device >= 0 && device < device_count; }

MUresult rt_primary(int device, MUcontext *ctx)
{
    if (!rt_valid(device))
        return MUSA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    MUresult r = primary[device] ? MUSA_SUCCESS : muDevicePrimaryCtxRetain(&primary[device], device);
    *ctx = primary[device];
    pthread_mutex_unlock(&lock);
    return r;
}

static MUresult bind(int device)
{
    MUcontext ctx;
    MUresult r = rt_primary(device, &ctx);
    if (r)
        return r;
    mine.seen = resets;
    return muCtxSetCurrent(ctx);
}

/* Whoever made the primary context current, the runtime's objects lie in it: it has a reference of its own, so that it
 * outlives the program's release. Of any other context nothing is held. */
static __attribute__((noinline)) void hold(MUcontext ctx)
{
    MUdevice device;
    unsigned flags;
    int active = 0;
    MUcontext its = NULL;
    pthread_mutex_lock(&lock);
    if (!muCtxGetDevice(&device) && device < MAX_DEVICES && !primary[device] &&
        !muDevicePrimaryCtxGetState(device, &flags, &active) && active && !muDevicePrimaryCtxRetain(&its, device)) {
        if (its == ctx)
            primary[device] = its;
        else
            (void)muDevicePrimaryCtxRelease(device);
    }
    pthread_mutex_unlock(&lock);
    mine.held = ctx;
}

MUresult rt_enter(void)
{
    MUcontext ctx = NULL;
    if (mine.held && mine.seen == resets && !muCtxGetCurrent(&ctx) && ctx == mine.held) /* as nearly always */
        return MUSA_SUCCESS;
    MUresult r = rt_init();
    if (r)
        return r;
    if (mine.seen == resets && !muCtxGetCurrent(&ctx) && ctx) {
        hold(ctx);
        return MUSA_SUCCESS;
    }
    return bind(my_device());
}

/* ---- choice ---------------------------------------------------------------------------------- */

musaError_t musaGetDeviceCount(int *count)
{
    MUresult r = rt_init();
    if (!count)
        return rt_end(MUSA_ERROR_INVALID_VALUE);
    *count = r ? 0 : device_count;
    return rt_end(r);
}

musaError_t musaSetDevice(int device)
{
    MUresult r = rt_init();
    if (r || !rt_valid(device))
        return rt_end(r ? r : MUSA_ERROR_INVALID_DEVICE);
    mine.device = device;
    mine.chosen = true;
    return rt_end(bind(device));
}

musaError_t musaGetDevice(int *device)
{
    MUresult r = rt_init();
    if (r || !device)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUcontext ctx = NULL; /* a context of the driver API decides over what was chosen here */
    if (mine.seen == resets && !muCtxGetCurrent(&ctx) && ctx && !muCtxGetDevice(device))
        return musaSuccess;
    *device = my_device();
    return musaSuccess;
}

musaError_t musaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    MUresult r = rt_init();
    MUcontext ctx;
    if (r || !rt_valid(device))
        return rt_end(r ? r : MUSA_ERROR_INVALID_DEVICE);
    if (flags & musaInitDeviceFlagsAreValid)
        r = muDevicePrimaryCtxSetFlags(device, device_flags);
    return rt_end(r ? r : rt_primary(device, &ctx));
}

musaError_t musaSetValidDevices(int *devices, int n)
{
    MUresult r = rt_init();
    if (r || n < 0 || (n && !devices))
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    for (int i = 0; i < n; i++)
        if (!rt_valid(devices[i]))
            return rt_end(MUSA_ERROR_INVALID_DEVICE);
    first_valid = n ? devices[0] : 0;
    return musaSuccess;
}

musaError_t musaSetDeviceFlags(unsigned int flags)
{
    MUresult r = rt_init();
    return rt_end(r ? r : muDevicePrimaryCtxSetFlags(my_device(), flags));
}

musaError_t musaGetDeviceFlags(unsigned int *flags)
{
    RETURN_END(flags ? muCtxGetFlags(flags) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaDeviceSynchronize(void) { RETURN_END(muCtxSynchronize()); }
musaError_t musaThreadSynchronize(void) { return musaDeviceSynchronize(); }

musaError_t musaDeviceReset(void)
{
    int device;
    musaError_t e = musaGetDevice(&device);
    if (e)
        return e;
    pthread_mutex_lock(&lock);
    primary[device] = NULL;
    pthread_mutex_unlock(&lock);
    resets++;
    MUresult r = muDevicePrimaryCtxReset(device);
    muCtxSetCurrent(NULL);
    musaGetLastError(); /* what the old context left is over */
    return rt_end(r);
}

musaError_t musaThreadExit(void) { return musaDeviceReset(); }
