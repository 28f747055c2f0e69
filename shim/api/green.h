/* Green contexts and CUDA 13's execution contexts. MUSA has no partitions of a device: resources are counted as
 * the program splits them, and its kernels run on the whole device. */
#ifndef CUMU_API_GREEN_H
#define CUMU_API_GREEN_H

#include "api/api.h"

/* CUdevResource, cudaDevResource: 144 bytes since 12.4; the members behind `align` since 13.1. */
struct cumu_resource {
    int type;     /* 1: multiprocessors */
    int device_1; /* in the padding: device + 1 */
    unsigned char padding[88];
    unsigned count, least, align, flags, locality;
    unsigned char rest[28];
};
_Static_assert(sizeof(struct cumu_resource) == 144 && offsetof(struct cumu_resource, count) == 96, "resource");

struct cumu_resource_group { /* CU_DEV_SM_RESOURCE_GROUP_PARAMS */
    unsigned count, coscheduled, preferred, flags, reserved[12];
};

struct cumu_green; /* CUgreenCtx, cudaExecutionContext_t */
struct cumu_green *cumu_as_green(const void *p);

/* CUresult numbers, those of the runtime are the same. */
int cumu_resource_of_device(int device, struct cumu_resource *r, int type);
int cumu_resource_split_by_count(struct cumu_resource *result, unsigned *groups, const struct cumu_resource *in,
                                 struct cumu_resource *rest, unsigned flags, unsigned least);
int cumu_resource_split(struct cumu_resource *result, unsigned n, const struct cumu_resource *in,
                        struct cumu_resource *rest, unsigned flags, struct cumu_resource_group *group);
int cumu_resource_describe(void **desc, const struct cumu_resource *r, unsigned n);

int cumu_green_create(void **green, const void *desc, int device, unsigned flags);
int cumu_green_of_device(void **green, int device); /* the device's own: all of it */
int cumu_green_destroy(struct cumu_green *g);
int cumu_green_resource(const struct cumu_green *g, struct cumu_resource *r, int type);
int cumu_green_context(const struct cumu_green *g, MUcontext *ctx);
int cumu_green_device(const struct cumu_green *g);
unsigned long long cumu_green_id(const struct cumu_green *g);
int cumu_green_stream(struct cumu_green *g, MUstream *stream, unsigned flags, int priority);
/* NULL: an ordinary stream. */
struct cumu_green *cumu_green_of_stream(CUstream stream);

/* All work of a context so far, and all to come: both wait on the host, since MUSA's streams cannot be listed. */
int cumu_context_synchronize(MUcontext ctx);
int cumu_context_record(MUcontext ctx, MUevent event);
int cumu_context_wait(MUcontext ctx, MUevent event);

#endif
