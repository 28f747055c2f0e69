/* Tier 0: the object and the place that a lane means by an access to a texture or a surface, for who makes it
 * (core_texture.c) and for who looks at it (watch_texture.c). */
#ifndef CUMU_PTX_TIER0_TEXTURE_SPOT_H
#define CUMU_PTX_TIER0_TEXTURE_SPOT_H

#include "ptx/tier0/texture.h"
#include "ptx/tier0/warp.h"

/* NULL: the handle is none of this kind. Reading what is not mapped faults by itself. */
const struct t0_texture *t0_texture_object(uint64_t handle, bool surface);

struct t0_spot {
    uint8_t *p;      /* NULL: outside, nothing is read or written */
    int64_t at[3];   /* as the lane says; the first in bytes, or in elements of a formatted access */
    uint64_t width;  /* of the surface, bytes */
    uint32_t unit;   /* bytes of the access */
    bool misaligned; /* the first coordinate is no multiple of it */
    bool traps;      /* outside, which the access says is an error */
};
void t0_surface_locate(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_texture *t,
                       struct t0_spot *o);

#endif
