/* Copies: what an address is, when a copy waits, and the copying itself. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/copy.h"
#include "host/driver/memcheck.h"
#include "host/driver/order.h"

#define SMALL ((size_t)16 << 10)  /* cheaper to do on an idle stream than to hand over */
#define STAGED ((size_t)64 << 10) /* pageable memory is staged up to this size, as by real drivers */

/* Mappings that lie side by side are as good as one. */
static bool mapped(const unsigned char *p, size_t size, unsigned access)
{
    struct host_range r;
    while (host_mem_find(p, &r) && r.kind == HOST_MEM_MAPPED && (r.access & access) == access) {
        size_t rest = r.base + r.size - (uintptr_t)p;
        if (size <= rest)
            return true;
        p += rest;
        size -= rest;
    }
    return false;
}

MUresult host_copy_place(const void *p, size_t size, MUmemorytype type, unsigned access, enum copy_place *place)
{
    struct host_range r;
    if (!p || (uintptr_t)p + size < (uintptr_t)p)
        return MUSA_ERROR_INVALID_VALUE;
    if (!host_mem_find(p, &r)) {
        if (type == MU_MEMORYTYPE_DEVICE || host_in_arena(p, size) || host_vmm_reserved(p, size))
            return MUSA_ERROR_INVALID_VALUE;
        *place = COPY_PAGEABLE;
        return MUSA_SUCCESS;
    }
    static const unsigned char places[] = {
        [HOST_MEM_DEVICE] = COPY_DEVICE,  [HOST_MEM_INTERNAL] = COPY_DEVICE, [HOST_MEM_MAPPED] = COPY_DEVICE,
        [HOST_MEM_IPC] = COPY_DEVICE,     [HOST_MEM_PINNED] = COPY_PINNED,   [HOST_MEM_REGISTERED] = COPY_PINNED,
        [HOST_MEM_MANAGED] = COPY_MANAGED};
    *place = r.on_host ? COPY_PINNED : (enum copy_place)places[r.kind];
    if (r.kind == HOST_MEM_MAPPED)
        return mapped(p, size, access) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
    bool inside = size <= r.base + r.size - (uintptr_t)p;
    if (!inside && r.kind == HOST_MEM_REGISTERED && type != MU_MEMORYTYPE_DEVICE) {
        *place = COPY_PAGEABLE; /* the application's own memory goes on behind what it registered */
        return MUSA_SUCCESS;
    }
    return inside ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

void host_copy_run(const struct copy *c)
{
    if (host_memcheck_on()) {
        host_initcheck_copied(c);
        host_order_copied(c);
        host_memcheck_touched(c->src, "copy");
        host_memcheck_touched(c->dst, "copy");
    }
    if (c->width == c->src_pitch && c->width == c->dst_pitch &&
        (c->depth == 1 || (c->src_slice == c->dst_slice && c->src_slice == c->width * c->height))) {
        memmove(c->dst, c->src, c->width * c->height * c->depth);
        return;
    }
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(c->dst + z * c->dst_slice + y * c->dst_pitch, c->src + z * c->src_slice + y * c->src_pitch,
                    c->width);
}

static MUresult run_copy(void *arg)
{
    host_copy_run(arg);
    return MUSA_SUCCESS;
}

/* Pageable source memory belongs to the application again when the call returns: packs it behind
 * the struct, which becomes the source. */
static void stage(struct copy *c)
{
    struct copy pack = *c;
    pack.dst = (unsigned char *)(c + 1);
    pack.dst_pitch = c->width;
    pack.dst_slice = c->width * c->height;
    host_copy_run(&pack);
    c->src = pack.dst;
    c->src_pitch = pack.dst_pitch;
    c->src_slice = pack.dst_slice;
}

/* The context whose device memory this is, if it is of another device than the stream's. */
static MUcontext away(const void *p, MUstream s)
{
    struct host_range r;
    if (!host_mem_find(p, &r) || !r.device || r.device == s->ctx->device)
        return NULL;
    MUcontext ctx = r.ctx ? r.ctx : r.device->primary;
    return ctx->alive && ctx->legacy ? ctx : NULL;
}

/* A copy on the default stream from or to another device's memory begins when all that both devices have been given
 * is done, and what they are given later begins when it is (programming guide, peer-to-peer memory copy): the other
 * device's default stream has a point in front of it and one behind it. */
static MUresult submit_beyond(MUstream s, const MUcontext beyond[2], const struct host_op *op, unsigned flags)
{
    struct host_work *before[2] = {NULL, NULL}, *it = NULL;
    size_t n = 0;
    MUresult r = MUSA_SUCCESS;
    for (unsigned k = 0; k < 2 && !r; k++)
        if (beyond[k] && !(r = host_submit(beyond[k]->legacy, NULL, NULL, 0, 0, &before[n])))
            n++;
    if (r)
        op->drop(op->arg);
    else
        r = host_submit(s, op, before, n, flags, &it);
    for (unsigned k = 0; k < 2 && !r; k++)
        if (beyond[k])
            r = host_submit(beyond[k]->legacy, NULL, &it, 1, 0, NULL);
    for (size_t k = 0; k < n; k++)
        host_work_unref(before[k]);
    host_work_unref(it);
    return r;
}

/* Copies as CUDA orders copies (its API synchronisation behaviour): from or to pageable memory the caller waits, but
 * for a small source, which is staged; within the device it does not. "Synchronous" forms wait unless both sides are
 * the device's. */
MUresult host_copy(const struct copy *c, MUstream stream, bool synchronous)
{
    size_t total = c->width * c->height * c->depth;
    bool from_pageable = c->src_place == COPY_PAGEABLE, to_pageable = c->dst_place == COPY_PAGEABLE;
    bool host_only = c->src_place >= COPY_PINNED && c->dst_place >= COPY_PINNED;
    bool wait;
    if (synchronous)
        wait = c->src_place != COPY_DEVICE || c->dst_place != COPY_DEVICE;
    else
        wait = to_pageable || (host_only && from_pageable) || (from_pageable && total > STAGED);

    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r || !total)
        return r;
    if (synchronous && (r = host_capture_unsafe()))
        return r;
    if (wait) {
        struct copy here = *c;
        struct host_op op = {run_copy, NULL, &here, "copy", 0};
        r = host_submit(s, &op, NULL, 0, HOST_WAIT | HOST_INLINE, NULL);
        host_kernels_synced(s->ctx);
        return r ? r : host_stream_verdict(s);
    }
    struct copy *later = malloc(sizeof *later + (from_pageable ? total : 0));
    if (!later)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *later = *c;
    if (from_pageable)
        stage(later);
    /* A device copies within itself before the host can ask for anything else. The plain forms do so on the calling
     * thread if nothing is before them: programs count on it, with streams that do not wait for the default one. */
    struct host_op op = {run_copy, free, later, "copy", 0};
    const unsigned flags = synchronous || total <= SMALL ? HOST_INLINE : 0;
    MUcontext beyond[2] = {NULL, NULL};
    if (s->legacy && host_device_count() > 1 && c->src_place == COPY_DEVICE && c->dst_place == COPY_DEVICE) {
        beyond[0] = away(c->src, s);
        beyond[1] = away(c->dst, s);
        beyond[1] = beyond[1] == beyond[0] ? NULL : beyond[1];
    }
    return beyond[0] || beyond[1] ? submit_beyond(s, beyond, &op, flags) : host_submit(s, &op, NULL, 0, flags, NULL);
}
