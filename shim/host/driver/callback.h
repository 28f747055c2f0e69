/* What libmusa does for libraries of ours above it, beside MUSA's functions: it hears that work in streams' callbacks
 * failed, prints their lines, lets them work in streams themselves, and sizes their files in memory. */
#ifndef CUMU_HOST_CALLBACK_H
#define CUMU_HOST_CALLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* The machine's number for a device, whatever MUSA_VISIBLE_DEVICES makes of it, if it may have one rank of a
 * communicator only; -1 if it may have several (CUMU_HOST_SHARE), or is none. */
__attribute__((visibility("default"))) int cumu_host_exclusive(int device);
/* A work of the stream that the calling thread does itself: others of the stream wait for it. NULL, and nothing was
 * done, if it would wait for anything itself, or the stream is captured, the legacy one beside a capture, or has a
 * failure to be told. Unlike a query it tells none and leaves captures alone. */
struct host_work;
__attribute__((visibility("default"))) struct host_work *cumu_host_hold(MUstream stream);
/* It is done; or, with a function, goes on as a callback of the stream, in the same place. False: no memory for that,
 * and the stream is still held. */
__attribute__((visibility("default"))) int cumu_host_release(struct host_work *held, MUstreamCallback fn, void *user);
/* does(arg) with the scheduler's lock held, in place of hold and release: no more than a copy of 2 KiB, that waits for
 * nothing and calls nothing of MUSA. What it says, or false where there is nothing to hold, or a tool wants to know of
 * all work. */
__attribute__((visibility("default"))) bool cumu_host_at_once(MUstream stream, bool (*does)(void *), void *arg);
/* How many ranges of memory are known no more: while the number stays, one that was found is still what it was. */
__attribute__((visibility("default"))) const _Atomic uint64_t *cumu_host_forgotten(void);
/* A host function of graphs of which a library of ours has to know already when a graph is launched: `launched` is
 * called by the thread that does it, for each node with that function, in an order in which they may run; later the
 * function, or `skipped` where an error came before it. All get the node's argument. Bodies of conditional nodes are
 * not told of. */
struct cumu_host_watch {
    MUhostFn fn, launched, skipped;
};
__attribute__((visibility("default"))) void cumu_host_watch(const struct cumu_host_watch *watch);
/* ftruncate of a sparse file in memory: 0, or -1 with errno. Its size is address space and no file that fills a disk,
 * which is what a limit of RLIMIT_FSIZE is for, so it goes up to the hard limit; beyond, EFBIG and no SIGXFSZ. */
__attribute__((visibility("default"))) int cumu_host_grow(int fd, size_t size);

#endif
