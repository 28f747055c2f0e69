/* Calls on the calling thread, as group.c knows them. */
#ifndef CUMU_HOST_MCCL_HERE_H
#define CUMU_HOST_MCCL_HERE_H

#include "host/mccl/mccl.h"

bool mccl_handle_of_thread(musaStream_t s); /* means another stream on each device and thread */
bool mccl_uses(const struct mccl_job *j, musaStream_t stream);
/* Its work in the streams is done, or has failed by that number: in all of them, in those behind the first. */
void mccl_leave(struct mccl_job *j, int failure);
void mccl_leave_others(struct mccl_job *j, int failure);
/* Does what it can of a list of jobs; those of one communicator or stream in their order. The rest, some of it begun,
 * is for streams. Every rank may be this thread's own: then nobody waits for another thread. */
struct mccl_job *mccl_do_here(struct mccl_job *jobs);
/* A short message. MCCL_DRAWN: it has drawn its ticket, and goes to its stream. */
enum mccl_stroke { MCCL_NO_STROKE, MCCL_DRAWN, MCCL_DONE };
enum mccl_stroke mccl_letter_here(mcclComm_t c, struct mccl_transfer *t, musaStream_t stream, uint32_t *ticket);

#endif
