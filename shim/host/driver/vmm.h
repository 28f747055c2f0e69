/* Memory without an address and its mappings: what vmm.c shares with multicast.c. */
#ifndef CUMU_HOST_VMM_H
#define CUMU_HOST_VMM_H

#include "host/driver/internal.h"

#define HOST_VMM_GRANULARITY ((size_t)2 << 20) /* that of GPUs: what works here works there */

struct host_multicast; /* multicast.c */
struct host_phys {     /* one allocation, or one multicast object; its handle is its address */
    uint64_t slab_;
    int fd;
    size_t size;
    bool imported;
    MUmemAllocationProp prop;
    struct host_device *device;
    struct host_multicast *multicast; /* NULL: memory */
    unsigned handles, mappings;       /* it goes when both are 0 */
};

struct host_mapping {
    struct host_phys *phys;
    unsigned char access[HOST_MAX_DEVICES + 1]; /* the last: the host's */
};

extern pthread_mutex_t host_vmm_lock; /* outside the range lock; guards all below */

struct host_phys *host_phys_new(void); /* without the lock; NULL: out of memory */
/* The allocation of a handle that the application holds, or NULL. */
struct host_phys *host_phys_held(MUmemGenericAllocationHandle handle);
MUmemGenericAllocationHandle host_phys_handle(struct host_phys *a);
/* Its handles or mappings have become fewer. */
void host_phys_drop(struct host_phys *a);
/* Waits for all work of all contexts. Nothing is locked. */
void host_vmm_drain(void);

/* ---- multicast.c ----------------------------------------------------------------------------- */

#define HOST_MULTICAST_NAME "musa-multicast" /* of the memfd that an object's processes share: -<number> */
/* The object that another process made, by its record's file, which is the caller's; NULL: it is none. */
struct host_multicast *host_multicast_open(int fd, size_t *size);
void host_multicast_free(struct host_multicast *m); /* with the lock */
/* Waits until all of the object's devices have been added. Without the lock; the object cannot go meanwhile. */
void host_multicast_wait(const struct host_multicast *m);
/* What was found at multicast addresses is to be found anew. */
void host_multicast_changed(void);

#endif
