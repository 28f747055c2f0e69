/* Inside of the CPU muPP: lines of a picture on all CPUs, and how a call gets onto its stream. */
#ifndef CUMU_HOST_MUPP_H
#define CUMU_HOST_MUPP_H

#include <stdint.h>

#include "abi/mupp.h"

/* Calls line(call, y) for each line of the target, on several CPUs from about a million operations on,
 * `each` a pixel. Line by line nothing is shared but what is read. */
void pp_lines(const struct mupp_target *to, double each, void (*line)(const void *call, int y), const void *call);

/* Puts run(call) on the stream with a copy of the call; `each`: operations a pixel. */
muppStatus_t pp_submit(musaStream_t stream, const struct mupp_target *to, double each, void (*run)(const void *call),
                       const void *call, size_t size);

static inline const void *pp_line(const struct mupp_source *from, int y)
{
    return (const char *)from->at + (int64_t)y * from->step;
}
static inline void *pp_target(const struct mupp_target *to, int y) { return (char *)to->at + (int64_t)y * to->step; }

#endif
