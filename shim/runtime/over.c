/* What the CPU runtime's files need of a runtime, from the SDK's own one; and the slots of the driver's functions. */
#include "runtime/over.h"

#include <stddef.h>
#include <stdint.h>

#include "host/runtime/rt.h"

enum { DEVICES = 64 };

extern const char *const forward_names[]; /* of the assembly beside this: slot i is of name i; ends with NULL */
extern void *forward_slots[];

static struct cumu_over runtime;
static _Atomic(MUcontext) primary[DEVICES]; /* retained for the process */

static int missing(void) { return MUSA_ERROR_NOT_SUPPORTED; }

__attribute__((visibility("default"))) void cumu_over_start(const struct cumu_over *over)
{
    runtime = *over;
    for (size_t i = 0; forward_names[i]; i++) {
        void *p = over->driver(forward_names[i]);
        forward_slots[i] = p ? p : (void *)(uintptr_t)missing;
    }
}

MUresult rt_enter(void) { return (MUresult)runtime.enter(); }

MUresult rt_init(void) { return muInit(0); }

bool rt_valid(int device)
{
    int count = 0;
    return !muDeviceGetCount(&count) && device >= 0 && device < count && device < DEVICES;
}

MUresult rt_primary(int device, MUcontext *ctx)
{
    MUresult r = rt_valid(device) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_DEVICE;
    *ctx = r ? NULL : primary[device];
    if (r || *ctx)
        return r;
    r = muDevicePrimaryCtxRetain(ctx, device);
    if (!r)
        primary[device] = *ctx; /* of two threads both retain the same one */
    return r;
}

MUresult rt_of_function(MUresult r) { return r == MUSA_ERROR_INVALID_HANDLE ? musaErrorInvalidDeviceFunction : r; }

musaError_t rt_end(MUresult r)
{
    if (r)
        runtime.fail((int)r);
    return (musaError_t)r;
}

musaError_t musaSetDeviceFlags(unsigned int flags)
{
    MUdevice device = 0;
    MUresult r = rt_enter();
    if (!r)
        r = muCtxGetDevice(&device);
    return rt_end(r ? r : muDevicePrimaryCtxSetFlags(device, flags));
}

musaError_t musaGetDeviceFlags(unsigned int *flags)
{
    RETURN_END(flags ? muCtxGetFlags(flags) : MUSA_ERROR_INVALID_VALUE);
}
