/* How the CPU maths libraries put a call on its stream. Compiled into each of them. */
#ifndef CUMU_HOST_MATHS_SUBMIT_H
#define CUMU_HOST_MATHS_SUBMIT_H

#include <stddef.h>

#include "abi/musa.h"

/* Puts `run` on the stream with a copy of the `size` bytes at `call`: in order with the stream's other work,
 * into its graph while it captures. `work` is a rough number of operations, an element that memory has to
 * bring counted as eight: little of it on an idle stream is done before this returns. What the call points to
 * must live until it has run. musaErrorMemoryAllocation, or what the stream answers. Any thread. */
musaError_t maths_submit(musaStream_t stream, void (*run)(const void *call), const void *call, size_t size,
                         double work);

#endif
