/* Fills: one element of 1, 2 or 4 bytes over a row or a pitched area. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/copy.h"
#include "host/driver/memcheck.h"
#include "host/driver/order.h"

#define SMALL ((size_t)16 << 10) /* cheaper to do on an idle stream than to hand over */

static void fill_row(unsigned char *p, uint32_t value, unsigned element, size_t n)
{
    if (element == 1) {
        memset(p, (int)value, n);
    } else if (element == 2) {
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)(void *)p)[i] = (uint16_t)value;
    } else {
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)(void *)p)[i] = value;
    }
}

void host_fill_run(const struct fill *f)
{
    for (size_t y = 0; y < f->height; y++)
        fill_row(f->p + y * f->pitch, f->value, f->element, f->width);
    for (size_t y = 0; host_memcheck_on() && y < f->height; y++)
        host_initcheck_filled(f->p + y * f->pitch, f->width * f->element);
    host_order_filled(f);
    host_memcheck_touched(f->p, "fill");
}

static MUresult run_fill(void *arg)
{
    host_fill_run(arg);
    return MUSA_SUCCESS;
}

MUresult host_fill_resolve(const MUSA_MEMSET_NODE_PARAMS *m, struct fill *f, size_t *bytes, enum copy_place *place)
{
    size_t row, end, w = m->width, h = m->height, pitch = m->pitch;
    unsigned element = m->elementSize;
    if ((element != 1 && element != 2 && element != 4) || __builtin_mul_overflow(w, element, &row) ||
        m->dst % element || (h > 1 && (pitch < row || pitch % element)) || __builtin_mul_overflow(pitch, h - 1, &end) ||
        __builtin_add_overflow(end, row, &end))
        return MUSA_ERROR_INVALID_VALUE;
    if (pitch == row || h == 1) {
        w *= h;
        h = 1;
    }
    *f = (struct fill){(void *)(uintptr_t)m->dst, pitch, w, h, m->value, element};
    *bytes = end;
    return host_copy_place(f->p, end, MU_MEMORYTYPE_DEVICE, COPY_WRITES, place);
}

/* h rows of w elements, pitch bytes apart. Asynchronous to the host even in the plain forms, unless host code may
 * look at the memory; but on an idle stream those are done at once (see host_copy). */
static MUresult fill(MUdeviceptr p, size_t pitch, uint32_t value, unsigned element, size_t w, size_t h, MUstream stream,
                     bool synchronous)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r || !w || !h)
        return r;
    const MUSA_MEMSET_NODE_PARAMS m = {p, pitch, value, element, w, h};
    struct fill made;
    size_t end;
    enum copy_place place;
    if ((r = host_fill_resolve(&m, &made, &end, &place)))
        return r;
    if (host_capturing(s) && !synchronous)
        return host_capture_add(s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_MEMSET, .memset.v1 = m}, NULL);
    struct fill *f = malloc(sizeof *f);
    if (!f)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *f = made;
    struct host_op op = {run_fill, free, f, "fill", 0};
    bool wait = synchronous && place != COPY_DEVICE;
    r = host_submit(s, &op, NULL, 0, (wait ? HOST_WAIT : 0) | (synchronous || end <= SMALL ? HOST_INLINE : 0), NULL);
    return r;
}

#define PER_THREAD MU_STREAM_PER_THREAD

/* Three widths of everything: the names differ in the element and nothing else. */
#define FILLS(bits, type) \
    MUresult muMemsetD##bits(MUdeviceptr p, type v, size_t n) { return fill(p, 0, v, bits / 8, n, 1, NULL, true); } \
    HOST_ALIAS(muMemsetD##bits##_v2, muMemsetD##bits); \
    MUresult muMemsetD##bits##_v2_ptds(MUdeviceptr p, type v, size_t n) \
    { \
        return fill(p, 0, v, bits / 8, n, 1, PER_THREAD, true); \
    } \
    MUresult muMemsetD##bits##Async(MUdeviceptr p, type v, size_t n, MUstream s) \
    { \
        return fill(p, 0, v, bits / 8, n, 1, s, false); \
    } \
    MUresult muMemsetD##bits##Async_ptsz(MUdeviceptr p, type v, size_t n, MUstream s) \
    { \
        return fill(p, 0, v, bits / 8, n, 1, host_ptsz(s), false); \
    } \
    MUresult muMemsetD2D##bits(MUdeviceptr p, size_t pitch, type v, size_t w, size_t h) \
    { \
        return fill(p, pitch, v, bits / 8, w, h, NULL, true); \
    } \
    HOST_ALIAS(muMemsetD2D##bits##_v2, muMemsetD2D##bits); \
    MUresult muMemsetD2D##bits##_v2_ptds(MUdeviceptr p, size_t pitch, type v, size_t w, size_t h) \
    { \
        return fill(p, pitch, v, bits / 8, w, h, PER_THREAD, true); \
    } \
    MUresult muMemsetD2D##bits##Async(MUdeviceptr p, size_t pitch, type v, size_t w, size_t h, MUstream s) \
    { \
        return fill(p, pitch, v, bits / 8, w, h, s, false); \
    } \
    MUresult muMemsetD2D##bits##Async_ptsz(MUdeviceptr p, size_t pitch, type v, size_t w, size_t h, MUstream s) \
    { \
        return fill(p, pitch, v, bits / 8, w, h, host_ptsz(s), false); \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
