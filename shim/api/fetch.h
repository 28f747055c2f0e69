/* What a wrapper computes on the host from the program's device memory. */
#ifndef CUMU_API_FETCH_H
#define CUMU_API_FETCH_H

#include <stddef.h>

#include "mu.h"

/* A copy of so many bytes of the device on the host, in stream order; waits for the stream. The caller's to free;
 * NULL: no memory, or no such copy. */
void *cumu_fetch(musaStream_t stream, const void *from, size_t bytes);

#endif
