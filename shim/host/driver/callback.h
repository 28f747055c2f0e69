/* How a library of ours that works in streams' callbacks says that its part of the work failed. */
#ifndef CUMU_HOST_CALLBACK_H
#define CUMU_HOST_CALLBACK_H

#include "abi/musa.h"

/* Inside a callback or host function, of a stream or a graph: it has failed. The stream's work ends with this error,
 * as if the callback were a kernel: errors that are sticky in CUDA poison the context, the others are told by the next
 * wait for the stream, for what depended on it and for the context. The first one counts; MUSA_SUCCESS is none. */
__attribute__((visibility("default"))) void cumu_host_fail(MUresult why);

#endif
