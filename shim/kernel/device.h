/* Kernels on a MUSA device: what stands in for the images that the CPU driver takes. */
#ifndef CUMU_KERNEL_DEVICE_H
#define CUMU_KERNEL_DEVICE_H

#include "kernel/module.h"

/* The driver below runs mubins on a device, as all do that do not say they take images (LIR_TAKES_IMAGES). */
bool cumu_device_code(void);
extern atomic_int cumu_device_known; /* its answer, -1 until it was asked: a test's mock has no library to ask */

/* Makes f's mubin for the device of the current context: from the cache, or by a compiler, which may take
 * seconds. Nothing if it is there. No turn may be held. CUresult numbers; failures are kept and not tried
 * again. */
int cumu_device_compile(struct cumu_func *f);
/* Every kernel of the unit, as many at a time as there are CPUs. */
int cumu_device_compile_all(struct cumu_unit *u);
void cumu_device_code_free(struct cumu_func *f);

/* The rest needs the unit's turn, and ctx to be current. */
/* Loads f's mubin, which was compiled before: module and function of the instance. */
int cumu_device_load(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, struct func_inst *inst);
/* What is known of the kernel where the driver does not say. False: nothing. */
bool cumu_device_estimate(const struct cumu_func *f, int attribute, int *value);

/* Work of ours on a stream of its own: legal while the program captures others, and waits for none of its own. */
int cumu_device_work(int (*work)(MUstream s, const void *arg), const void *arg);

#endif
