/* Another device for a while: the thread's device and context, which may be the program's own, come back. */
#ifndef CUMU_HOST_MCCL_SWITCH_H
#define CUMU_HOST_MCCL_SWITCH_H

#include "abi/musa.h"

struct mccl_switch {
    MUcontext context;
    int device;
    bool away;
};

/* Where the device is current already the context stays as it is; after an error there is nothing to end. */
static inline musaError_t mccl_switch_to(struct mccl_switch *v, int device)
{
    *v = (struct mccl_switch){0};
    musaError_t r = musaGetDevice(&v->device);
    if (r || v->device == device)
        return r;
    (void)muCtxGetCurrent(&v->context);
    r = musaSetDevice(device);
    v->away = !r;
    return r;
}

static inline void mccl_switch_back(const struct mccl_switch *v)
{
    if (!v->away)
        return;
    (void)musaSetDevice(v->device);
    if (v->context)
        (void)muCtxSetCurrent(v->context);
}

#endif
