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
    size_t width, height, depth;            /* bytes, rows, layers */
    size_t src_pitch, src_slice, dst_pitch, dst_slice;
    enum copy_place src_place, dst_place;
};

/* Checks that the `size` bytes at p may be touched as the memory type says (MU_MEMORYTYPE_HOST,
 * _DEVICE or _UNIFIED) and tells what they are. INVALID_VALUE: memory that is not (wholly)
 * allocated. */
MUresult host_copy_place(const void *p, size_t size, MUmemorytype type, enum copy_place *place);

/* Runs or enqueues a checked copy. synchronous: the plain entry points, which return when the copy
 * is done unless both sides are device memory; else the Async ones, which wait only where pageable
 * memory makes the documented semantics do so. */
MUresult host_copy(const struct copy *c, MUstream stream, bool synchronous);

#endif
