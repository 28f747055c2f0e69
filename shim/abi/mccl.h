/* The MCCL ABI (mapping/facts/musa.md N10, A12): NCCL 2.11.4's interface with musaStream_t, which is what MCCL of the
 * 4.3 SDK offers. Numbers and the 128-byte id passed by value are NCCL's. */
#ifndef CUMU_ABI_MCCL_H
#define CUMU_ABI_MCCL_H

#include <stddef.h>
#include <stdint.h>

#include "abi/musa.h"

#define MCCL_VERSION_CODE 21104 /* 2.11.4 */
#define MCCL_UNIQUE_ID_BYTES 128

typedef struct mcclComm *mcclComm_t;
typedef struct {
    char internal[MCCL_UNIQUE_ID_BYTES];
} mcclUniqueId;

typedef struct mcclWindow *mcclWindow_t;
typedef struct {
    int count, peer, signal, context; /* so many signals of that number from that rank */
} mcclWaitSignalDesc_t;

/* The enumerators stand in mapping/types/nccl.enum. An operation from mcclNumOps up names a communicator's own. */
typedef int mcclResult_t, mcclRedOp_t, mcclDataType_t, mcclScalarResidence_t;

/* What is declared here is what libmccl exports. Counts are elements; every call that takes a stream is
 * ordered like a kernel of that stream and returns before it has run. */
#pragma GCC visibility push(default)
mcclResult_t mcclGetVersion(int *version);
mcclResult_t mcclGetUniqueId(mcclUniqueId *id);
const char *mcclGetErrorString(mcclResult_t result);
mcclResult_t mcclCommInitRank(mcclComm_t *comm, int nranks, mcclUniqueId id, int rank);
mcclResult_t mcclCommInitAll(mcclComm_t *comms, int ndev, const int *devices);
mcclResult_t mcclCommDestroy(mcclComm_t comm);
mcclResult_t mcclCommAbort(mcclComm_t comm);
mcclResult_t mcclCommGetAsyncError(mcclComm_t comm, mcclResult_t *error);
mcclResult_t mcclCommCount(mcclComm_t comm, int *count);
mcclResult_t mcclCommMuDevice(mcclComm_t comm, int *device);
mcclResult_t mcclCommUserRank(mcclComm_t comm, int *rank);
mcclResult_t mcclRedOpCreatePreMulSum(mcclRedOp_t *op, void *scalar, mcclDataType_t type,
                                      mcclScalarResidence_t residence, mcclComm_t comm);
mcclResult_t mcclRedOpDestroy(mcclRedOp_t op, mcclComm_t comm);
mcclResult_t mcclGroupStart(void);
mcclResult_t mcclGroupEnd(void);
mcclResult_t mcclAllReduce(const void *send, void *recv, size_t count, mcclDataType_t type, mcclRedOp_t op,
                           mcclComm_t comm, musaStream_t stream);
mcclResult_t mcclReduce(const void *send, void *recv, size_t count, mcclDataType_t type, mcclRedOp_t op, int root,
                        mcclComm_t comm, musaStream_t stream);
mcclResult_t mcclBroadcast(const void *send, void *recv, size_t count, mcclDataType_t type, int root, mcclComm_t comm,
                           musaStream_t stream);
mcclResult_t mcclBcast(void *buffer, size_t count, mcclDataType_t type, int root, mcclComm_t comm, musaStream_t stream);
mcclResult_t mcclAllGather(const void *send, void *recv, size_t sendcount, mcclDataType_t type, mcclComm_t comm,
                           musaStream_t stream);
mcclResult_t mcclReduceScatter(const void *send, void *recv, size_t recvcount, mcclDataType_t type, mcclRedOp_t op,
                               mcclComm_t comm, musaStream_t stream);
mcclResult_t mcclSend(const void *send, size_t count, mcclDataType_t type, int peer, mcclComm_t comm,
                      musaStream_t stream);
mcclResult_t mcclRecv(void *recv, size_t count, mcclDataType_t type, int peer, mcclComm_t comm, musaStream_t stream);
/* One-sided: NCCL 2.29's interface by MCCL's names, which no public MCCL has; the CPU's has it. */
mcclResult_t mcclCommWindowRegister(mcclComm_t comm, void *buffer, size_t size, mcclWindow_t *window, int flags);
mcclResult_t mcclCommWindowDeregister(mcclComm_t comm, mcclWindow_t window);
mcclResult_t mcclPutSignal(const void *send, size_t count, mcclDataType_t type, int peer, mcclWindow_t window,
                           size_t offset, int signal, int context, unsigned flags, mcclComm_t comm,
                           musaStream_t stream);
mcclResult_t mcclSignal(int peer, int signal, int context, unsigned flags, mcclComm_t comm, musaStream_t stream);
mcclResult_t mcclWaitSignal(int count, const mcclWaitSignalDesc_t *waits, mcclComm_t comm, musaStream_t stream);
/* Not MCCL's own: cumu's on the CPU. That rank will not come to who made the id, or waits there no more: the meeting
 * ends, for the other ranks too, who would wait in vain. Nothing if it is over. */
void cumu_mccl_give_up(const mcclUniqueId *id, int nranks, int rank);
/* What this thread joins from now on it gives up once the function says so, which is asked now and then; NULL: it
 * waits. */
void cumu_mccl_while(int (*given_up)(void *), void *arg);
/* What is left of a communicator when it is gone: where its ranks can meet again. One more user of it; NULL if it is
 * none that lives. Each user ends with Free. */
struct mccl_reunion;
struct mccl_reunion *cumu_mccl_reunion(mcclComm_t comm);
struct mccl_reunion *cumu_mccl_reunion_hold(struct mccl_reunion *r);
void cumu_mccl_reunion_free(struct mccl_reunion *r);
/* Is the process of one of these ranks known to have ended? Those of other hosts are never. */
int cumu_mccl_reunion_lost(const struct mccl_reunion *r, const int *ranks, int n);
/* These n of its ranks, in ascending order and this one among them, meet: each gives `size` bytes and gets everybody's.
 * `key`: the same for all, another one for every meeting. The text has the reason if they cannot, or if given_up says
 * that it is no use any more. */
struct mccl_reunite {
    uint64_t key;
    const int *ranks;
    int n;
    uint32_t size;
    const void *mine;
    void *all;
    int (*given_up)(void *);
    void *arg;
    char text[240];
};
mcclResult_t cumu_mccl_reunite(struct mccl_reunion *r, struct mccl_reunite *m);
#pragma GCC visibility pop

#endif
