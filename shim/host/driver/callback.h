/* How a library of ours that works in streams' callbacks says that its part of the work failed. */
#ifndef CUMU_HOST_CALLBACK_H
#define CUMU_HOST_CALLBACK_H

#include "abi/musa.h"

/* Inside a callback or host function, of a stream or a graph: it has failed. The stream's work ends with this error,
 * as if the callback were a kernel: errors that are sticky in CUDA poison the context, the others are told by the next
 * wait for the stream, for what depended on it and for the context. The first one counts; MUSA_SUCCESS is none.
 * Returns the failure by number, for cumu_host_pardon: who has not been told of it then need not be. The number may be
 * given instead of the reason, for the same failure elsewhere. */
__attribute__((visibility("default"))) int cumu_host_fail(MUresult why);
__attribute__((visibility("default"))) void cumu_host_pardon(int failure);
/* A line on stderr, as a kernel's fault has: `cumu: error: host: TEXT`. */
__attribute__((visibility("default"))) void cumu_host_say(const char *text);

#endif
