/* Between the ranks that meet, rendezvous.c, and who made their id, desk.c. */
#ifndef CUMU_HOST_MCCL_RENDEZVOUS_H
#define CUMU_HOST_MCCL_RENDEZVOUS_H

#include <sys/un.h>

#include "host/mccl/mccl.h"
#include "host/mccl/net/door.h"

/* rendezvous.c. A number for this process that no other has; a fork gets a new one. */
uint64_t mccl_process_number(void);
socklen_t mccl_name_of(struct sockaddr_un *a, const struct mccl_id *id);
bool mccl_same_user(int fd, pid_t *pid);
/* Maps the memory of the descriptor, for so many ranks of this process. */
struct mccl_shared *mccl_map(int fd, int nranks, int users);

/* copy.c. Calls it in this memory with one descriptor more than there is; those that it opens end with it. It is to be
 * short, as signals to this thread wait for it. False: it cannot be. Is that errno of one that wants a descriptor? */
bool mccl_in_copy(void (*act)(void *), void *arg);
bool mccl_lacks_descriptor(int error);

/* desk.c. An id for ranks of this host. */
mcclResult_t mccl_local_id(struct mccl_id *id, const int *names, int n);
/* The door of an id that NCCL_COMM_ID names, which rank 0 opens. */
mcclResult_t mccl_named_id(const struct mccl_id *id);

#endif
