/* Inside of the CPU MUSA runtime: a thin layer over the exported driver functions. What it adds is
 * the current device of a thread, the lazy primary context, and the last error. */
#ifndef CUMU_HOST_RUNTIME_RT_H
#define CUMU_HOST_RUNTIME_RT_H

#include <stdbool.h>

#include "abi/musa.h"

/* Runtime and driver share their error numbers, so a MUresult is passed on as it is. */

/* Driver initialised and a context current: the thread's own, or its device's primary context. */
MUresult rt_enter(void);
/* Driver initialised; no context is made. */
MUresult rt_init(void);
/* Is there such a device? False before rt_init. */
bool rt_valid(int device);
/* Primary context of a device, retained for the process. */
MUresult rt_primary(int device, MUcontext *ctx);
/* kernel.c: where the driver says "invalid handle" the runtime says "invalid device function". */
MUresult rt_of_function(MUresult r);
/* Records a failure as the thread's last error and gives it back. */
musaError_t rt_end(MUresult r);

#define RETURN_END(call) \
    do { \
        MUresult entered_ = rt_enter(); \
        return rt_end(entered_ ? entered_ : (MUresult)(call)); \
    } while (0)

static inline MUdeviceptr rt_dev(const void *p) { return (MUdeviceptr)(uintptr_t)p; }
static inline MUarray rt_array(musaArray_const_t a) { return (MUarray)(uintptr_t)a; }

/* array.c: the driver's format of a descriptor, false if it has none; and the other way round. */
bool rt_format_of(const musaChannelFormatDesc *d, MUarray_format *format, unsigned *channels);
musaChannelFormatDesc rt_channels(MUarray_format format, unsigned n);
/* array.c: bytes of an element of the array; 0 if there is no such array. */
size_t rt_element_size(musaArray_const_t a);

#endif
