/* Work of the CPU maths libraries on all CPUs. Compiled into those that use it. */
#ifndef CUMU_HOST_MATHS_PARALLEL_H
#define CUMU_HOST_MATHS_PARALLEL_H

/* Calls part(job, i) for each i below `parts`, in any order, on the calling thread and on as many more as the device
 * has processors (CUMU_HOST_THREADS), if there are parts for them; returns when all are done. For work that takes
 * longer than starting threads does, some 50 us; a thread that cannot be started is done without. Any thread. */
void maths_parallel(unsigned parts, void (*part)(void *job, unsigned i), void *job);

#endif
