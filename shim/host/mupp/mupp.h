/* Inside of the CPU muPP: lines of a picture on all CPUs, and how a call gets onto its stream. */
#ifndef CUMU_HOST_MUPP_H
#define CUMU_HOST_MUPP_H

#include <stdint.h>

#include "abi/mupp.h"

/* One line of a call's target. Lines share nothing but what is read. */
typedef void pp_line_of(const void *call, int y);
/* Puts line(call, y) for each line of the target, on several CPUs where there is much to do, on the stream with a copy
 * of the call, one of muPP's structs of `size` bytes; `each`: operations a pixel. */
muppStatus_t pp_submit(musaStream_t stream, const struct mupp_target *to, double each, pp_line_of *line,
                       const void *call, size_t size);

static inline const void *pp_line(const struct mupp_source *from, int y)
{
    return (const char *)from->at + (int64_t)y * from->step;
}
static inline void *pp_target(const struct mupp_target *to, int y) { return (char *)to->at + (int64_t)y * to->step; }

#endif
