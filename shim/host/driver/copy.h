/* One copy in its general form, between the entry points (memcpy.c, memcpy3d.c) and what runs it
 * (copy.c). */
#ifndef CUMU_HOST_COPY_H
#define CUMU_HOST_COPY_H

#include "host/driver/internal.h"

/* What an address turned out to be. */
enum copy_place { COPY_DEVICE, COPY_MANAGED, COPY_PINNED, COPY_PAGEABLE };

struct copy {
    const unsigned char *src;
    unsigned char *dst;
    size_t width, height, depth; /* bytes, rows, layers */
    size_t src_pitch, src_slice, dst_pitch, dst_slice;
    enum copy_place src_place, dst_place;
};

/* Checks that the `size` bytes at p may be touched as the memory type says (MU_MEMORYTYPE_HOST,
 * _DEVICE or _UNIFIED) and tells what they are. INVALID_VALUE: memory that is not (wholly)
 * allocated, or mapped without the access (MU_MEM_ACCESS_FLAGS_*). */
MUresult host_copy_place(const void *p, size_t size, MUmemorytype type, unsigned access, enum copy_place *place);
enum { COPY_READS = MU_MEM_ACCESS_FLAGS_PROT_READ, COPY_WRITES = MU_MEM_ACCESS_FLAGS_PROT_READWRITE };

/* Runs or enqueues a checked copy. synchronous: the plain entry points, which return when the copy
 * is done unless both sides are device memory; else the Async ones, which wait only where pageable
 * memory makes the documented semantics do so. */
MUresult host_copy(const struct copy *c, MUstream stream, bool synchronous);

/* What a 3D descriptor means, checked; a copy of nothing has a width of 0. check_limits: a pitch
 * beyond the device's largest is refused. */
MUresult host_copy_resolve(const MUSA_MEMCPY3D *m, bool check_limits, struct copy *c);
void host_copy_run(const struct copy *c);

struct fill {
    unsigned char *p;
    size_t pitch, width, height; /* width in elements */
    uint32_t value;
    unsigned element; /* bytes: 1, 2, 4 */
};
MUresult host_fill_resolve(const MUSA_MEMSET_NODE_PARAMS *m, struct fill *f, size_t *bytes, enum copy_place *place);
void host_fill_run(const struct fill *f);

#endif
