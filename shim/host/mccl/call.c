/* The collective calls: arguments are checked and described here, then handed to group.c. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/callback.h"
#include "host/mccl/net/net.h"

/* The last ranges that this thread has found: programs call with the same buffers again and again. */
#define SEEN 4
static _Thread_local struct {
    uint64_t forgotten;
    unsigned next;
    struct {
        uintptr_t base;
        size_t size;
    } range[SEEN];
} seen;

static bool covers(uintptr_t base, size_t size, uintptr_t at, size_t bytes)
{
    return at - base <= size && bytes <= size - (at - base);
}

/* Is [p, p + bytes) memory that MUSA knows? Data are moved by a thread of the device, where a stray
 * pointer would be a fault. */
bool mccl_known(const void *p, size_t bytes)
{
    if (!bytes)
        return true;
    if (!p)
        return false;
    const uint64_t forgotten = atomic_load_explicit(cumu_host_forgotten(), memory_order_acquire);
    for (int i = 0; i < SEEN && seen.forgotten == forgotten; i++)
        if (covers(seen.range[i].base, seen.range[i].size, (uintptr_t)p, bytes))
            return true;
    MUdeviceptr base = 0, at = (MUdeviceptr)(uintptr_t)p;
    size_t size = 0;
    MUpointer_attribute names[] = {MU_POINTER_ATTRIBUTE_RANGE_START_ADDR, MU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&base, &size};
    if (muMemGetAddressRange_v2(&base, &size, at)) { /* the short question; host memory needs the long one */
        if (muPointerGetAttributes(2, names, values, at) || !base)
            return false;
    }
    if (!covers(base, size, at, bytes))
        return false;
    if (seen.forgotten != forgotten) {
        memset(&seen, 0, sizeof seen);
        seen.forgotten = forgotten;
    }
    seen.range[seen.next++ % SEEN].base = base;
    seen.range[(seen.next - 1) % SEEN].size = size;
    return true;
}

/* Arguments that every call has; and a communicator that failed takes no more. `single` as mccl_tell has it. */
static mcclResult_t check(mcclComm_t c, mcclDataType_t type, size_t count, int root, enum mccl_kind kind,
                          const struct mccl_transfer *single)
{
    if (!mccl_live(c) || !mccl_type_size(type) || root < 0 || root >= c->nranks || count >= (size_t)1 << 44)
        return mcclInvalidArgument;
    mcclResult_t r = mccl_state(c);
    if (r)
        mccl_tell(c, kind, single);
    return r;
}

struct call {
    enum mccl_kind kind;
    const void *send;
    void *recv;
    size_t count; /* as the job's: elements of a block for gather and scatter */
    mcclDataType_t type;
    mcclRedOp_t op;
    int root;
};

/* Checks a collective's arguments and makes it a job. The checks are those that one rank can make alone; what ranks
 * disagree in, the collective itself finds. */
static mcclResult_t start(mcclComm_t c, const struct call *a, musaStream_t stream)
{
    mcclResult_t r = check(c, a->type, a->count, a->root, a->kind, NULL);
    if (r)
        return mccl_group_fail(r);
    struct mccl_user_op user = {0};
    mcclRedOp_t op = a->op;
    if (op >= mcclNumOps) {
        if ((int)op >= mcclNumOps + MCCL_USER_OPS || !c->ops[op - mcclNumOps].live ||
            c->ops[op - mcclNumOps].type != a->type)
            return mccl_group_fail(mcclInvalidArgument);
        user = c->ops[op - mcclNumOps];
        op = mcclNumOps;
    } else if ((int)op < 0)
        return mccl_group_fail(mcclInvalidArgument);
    size_t bytes = a->count * mccl_type_size(a->type), all = bytes * (size_t)c->nranks;
    bool sends = a->kind != MCCL_BROADCAST || c->rank == a->root;
    bool receives = a->kind != MCCL_REDUCE || c->rank == a->root;
    size_t sent = !sends ? 0 : a->kind == MCCL_REDUCE_SCATTER ? all : bytes;
    size_t received = !receives ? 0 : a->kind == MCCL_ALL_GATHER ? all : bytes;
    bool one = a->send == a->recv && sent <= received;
    if ((!one && !mccl_known(a->send, sent)) || !mccl_known(a->recv, received))
        return mccl_group_fail(mcclInvalidArgument);
    if (!a->count)
        return mcclSuccess; /* on every rank, so none waits */
    struct mccl_job job;
    mccl_job_clear(&job);
    job.comm = c;
    job.kind = a->kind;
    job.type = a->type;
    job.op = op;
    job.scale = user;
    job.root = a->root;
    job.count = a->count;
    job.send = a->send;
    job.recv = a->recv;
    job.way.stream = stream;
    if (c->direct && all > MCCL_COPIED_BYTES) {
        memset(&job.offer, 0, sizeof job.offer);
        job.mappable = (!sends || mccl_describe(c, a->send, &job.offer.send)) &&
                       (!receives || mccl_describe(c, a->recv, &job.offer.recv));
    }
    if (mccl_done_here(&job))
        return mcclSuccess;
    struct mccl_job *j = malloc(sizeof *j);
    if (!j) {
        mccl_drop_here(&job);
        return mccl_group_fail(mcclSystemError);
    }
    mccl_job_copy(j, &job);
    return mccl_submit(j);
}

mcclResult_t mcclAllReduce(const void *send, void *recv, size_t count, mcclDataType_t type, mcclRedOp_t op,
                           mcclComm_t comm, musaStream_t stream)
{
    return start(comm, &(struct call){MCCL_ALL_REDUCE, send, recv, count, type, op, 0}, stream);
}

mcclResult_t mcclReduce(const void *send, void *recv, size_t count, mcclDataType_t type, mcclRedOp_t op, int root,
                        mcclComm_t comm, musaStream_t stream)
{
    return start(comm, &(struct call){MCCL_REDUCE, send, recv, count, type, op, root}, stream);
}

mcclResult_t mcclBroadcast(const void *send, void *recv, size_t count, mcclDataType_t type, int root, mcclComm_t comm,
                           musaStream_t stream)
{
    return start(comm, &(struct call){MCCL_BROADCAST, send, recv, count, type, mcclSum, root}, stream);
}

mcclResult_t mcclBcast(void *buffer, size_t count, mcclDataType_t type, int root, mcclComm_t comm, musaStream_t stream)
{
    return mcclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

mcclResult_t mcclAllGather(const void *send, void *recv, size_t sendcount, mcclDataType_t type, mcclComm_t comm,
                           musaStream_t stream)
{
    return start(comm, &(struct call){MCCL_ALL_GATHER, send, recv, sendcount, type, mcclSum, 0}, stream);
}

mcclResult_t mcclReduceScatter(const void *send, void *recv, size_t recvcount, mcclDataType_t type, mcclRedOp_t op,
                               mcclComm_t comm, musaStream_t stream)
{
    return start(comm, &(struct call){MCCL_REDUCE_SCATTER, send, recv, recvcount, type, op, 0}, stream);
}

static mcclResult_t transfer(mcclComm_t c, bool send, void *at, size_t count, mcclDataType_t type, int peer,
                             musaStream_t stream)
{
    struct mccl_transfer t;
    memset(&t, 0, offsetof(struct mccl_transfer, piece));
    t.send = send;
    t.peer = peer;
    t.at = at;
    t.type = type;
    mcclResult_t r = check(c, type, count, peer, MCCL_P2P, &t);
    size_t bytes = r ? 0 : count * mccl_type_size(type);
    if (!r && !mccl_known(at, bytes))
        r = mcclInvalidArgument;
    if (r)
        return mccl_group_fail(r);
    if (!count)
        return mcclSuccess;
    t.bytes = bytes;
    if (send && bytes > MCCL_LETTER && c->direct)
        t.mappable = mccl_describe(c, at, &t.piece);
    return mccl_submit_transfer(c, &t, stream);
}

mcclResult_t mcclSend(const void *send, size_t count, mcclDataType_t type, int peer, mcclComm_t comm,
                      musaStream_t stream)
{
    return transfer(comm, true, (void *)(uintptr_t)send, count, type, peer, stream);
}

mcclResult_t mcclRecv(void *recv, size_t count, mcclDataType_t type, int peer, mcclComm_t comm, musaStream_t stream)
{
    return transfer(comm, false, recv, count, type, peer, stream);
}
