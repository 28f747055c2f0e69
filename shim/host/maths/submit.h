/* How the CPU maths libraries put a call on its stream. Compiled into each of them. */
#ifndef CUMU_HOST_MATHS_SUBMIT_H
#define CUMU_HOST_MATHS_SUBMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/driver/task.h"

/* What a call runs: see host/driver/task.c on faults. */
enum maths_code {
    MATHS_OWN_CODE, /* loops of its own, over indices that lie in memory; it holds no lock */
    MATHS_LIBRARY   /* OpenBLAS, FFTW, locks */
};
struct maths_work {
    enum maths_code code;
    void (*run)(const void *call);
    void (*drop)(const void *call); /* once, when it will not run any more, or if it cannot be submitted; or NULL */
};

/* Puts `run` on the stream with a copy of the `size` bytes at `call`: in order with the stream's other work,
 * into its graph while it captures. `work` is a rough number of operations, an element that memory has to
 * bring counted as eight: little of it on an idle stream is done before this returns. What the call points to
 * must live until it has run. musaErrorMemoryAllocation, what the stream answers, or how `run` failed if it was done
 * already; what fails later is an error of the stream. Any thread. */
musaError_t maths_submit(musaStream_t stream, struct maths_work what, const void *call, size_t size, double work);

/* malloc and calloc for `run`: no memory is the call's failure, whatever `run` makes of the NULL. */
void *maths_alloc(size_t size);
void *maths_zeroed(size_t count, size_t size);

/* For `run`: false, and the call has failed, unless 0 <= i < n. Of indices that the program gave, where they name
 * places in memory that the call has allocated: there the device's pages catch nothing. */
bool maths_out_of_range(void); /* false */
static inline bool maths_in_range(int64_t i, int64_t n) { return (uint64_t)i < (uint64_t)n || maths_out_of_range(); }

/* Addresses that the program gave, on their way to OpenBLAS or FFTW: an operand's place; a member's of a batch, where
 * NULL is one like any other. */
static inline bool maths_beyond(const void *p)
{
    return (uintptr_t)p - CUMU_TASK_LOWEST >= CUMU_TASK_HIGHEST - CUMU_TASK_LOWEST;
}
static inline void *maths_member(const void *p)
{
    return maths_beyond(p) ? cumu_task_nowhere(p) : (void *)(uintptr_t)p;
}
static inline void *maths_operand(const void *p) { return p ? maths_member(p) : NULL; }

#endif
