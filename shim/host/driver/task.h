/* What our libmusa exports for the CPU maths libraries alone: a call of theirs as work of the device. What fails in it
 * is an error of its stream, as a kernel's failure is, and a memory fault in it is error 700 and not the process's. */
#ifndef CUMU_HOST_TASK_H
#define CUMU_HOST_TASK_H

#include <stdbool.h>

#include "abi/musa.h"

struct cumu_task; /* a call that runs */

/* Between these, a fault can be made good: below, systems map nothing (vm.mmap_min_addr). */
#define CUMU_TASK_LOWEST ((uintptr_t)1 << 16)
#define CUMU_TASK_HIGHEST ((uintptr_t)1 << 47)

enum {
    CUMU_TASK_OWN_CODE = 1, /* `run` holds no lock and calls no library: a fault leaves it in the middle */
    CUMU_TASK_THREADS = 2,  /* it may run on the threads of a library (cumu_task_library), too */
};

#pragma GCC visibility push(default)
/* Runs run(call) on the calling thread. musaSuccess, what cumu_task_fail was told, or musaErrorIllegalAddress for a
 * memory fault; a failure must be reported. */
struct cumu_failure {
    int error;
    uintptr_t address; /* of a fault */
};
int cumu_task_run(unsigned flags, void (*run)(const void *call), const void *call, struct cumu_failure *failure);
/* The same as a work of the stream, whose other work waits for it, if that stream can run it at once; false, and
 * nothing was done: it is busy, captured, or has a failure to tell. */
bool cumu_task_run_in(musaStream_t stream, unsigned flags, void (*run)(const void *call), const void *call,
                      struct cumu_failure *failure);
/* Returns the error, after one line on stderr for a fault, which names the exported function around the address
 * `entry`. Inside a host function of a stream or graph the error becomes the stream's. Else a fault poisons the context
 * of `stream`, and the caller's caller hears of any other error. */
int cumu_task_report(musaStream_t stream, const void *entry, const struct cumu_failure *failure);
/* The call that runs on this thread has failed: the first error counts. Nothing outside of calls. */
void cumu_task_fail(int error);
/* For an address beyond these, one where nothing is either, to give to a library in its place: whether it is read or
 * written only the library knows. A fault there is called one of `address`. */
void *cumu_task_nowhere(const void *address);
/* Whether these bytes lie in one live allocation of ours, where no access faults. Mappings, which may be for reading
 * only, do not count. */
bool cumu_task_knows(const void *address, size_t size);
/* The call that runs on this thread, or NULL; and makes the calling thread one of that call's (NULL: of none). */
struct cumu_task *cumu_task_current(void);
void cumu_task_join(struct cumu_task *task);
/* Names a library with threads of its own by one of its functions. Faults in its code, on whatever thread, belong to
 * the calls with CUMU_TASK_THREADS that run. One library; those named later are not noted. */
void cumu_task_library(const void *function);
#pragma GCC visibility pop

#endif
