/* Communicators as objects: validity of handles, what they tell, their end; and the library's own
 * version and texts. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/mccl/net/net.h"

_Atomic(struct mcclComm *) mccl_comms;
static _Atomic unsigned cursor;

mcclComm_t mccl_comm_new(void)
{
    struct mcclComm *t = mccl_comms;
    if (!t) {
        struct mcclComm *made = mmap(NULL, sizeof *t * MCCL_COMMS, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED)
            return NULL;
        if (atomic_compare_exchange_strong(&mccl_comms, &t, made))
            t = made;
        else
            munmap(made, sizeof *t * MCCL_COMMS);
    }
    /* Round the table, so that a handle is not reused soon. */
    for (unsigned tries = 0; tries < MCCL_COMMS; tries++) {
        mcclComm_t c = &t[cursor++ % MCCL_COMMS];
        bool taken = false;
        if (atomic_compare_exchange_strong(&c->taken, &taken, true)) {
            memset((char *)c + offsetof(struct mcclComm, rank), 0, sizeof *c - offsetof(struct mcclComm, rank));
            return c;
        }
    }
    return NULL;
}

void mccl_comm_free(mcclComm_t c)
{
    bool in_order = c->shared && !c->aborting && !mccl_state(c);
    c->live = false;
    for (struct mccl_job *j = c->captured, *next; j; j = next) {
        next = j->next;
        mccl_job_free(j);
    }
    mccl_beat_end(c);
    if (c->net) /* until then its thread takes in puts */
        mccl_net_free(c->net, in_order);
    mccl_windows_free(c);
    if (c->local)
        mccl_comm_free(c->local);
    else if (c->shared)
        mccl_unmap(c->shared);
    for (int i = 0; i < c->nranks && c->pidfd && (!c->reunion || c->net); i++) /* else the reunion's */
        if (c->pidfd[i] >= 0)
            close(c->pidfd[i]);
    if (!c->reunion || c->net)
        free(c->pidfd);
    cumu_mccl_reunion_free(c->reunion);
    c->taken = false;
}

/* Waits for what has been called, tells the others and frees. Who aborts need not be told by streams of what failed:
 * it goes on without this communicator, perhaps with another one on the same streams. */
static void leave(mcclComm_t c)
{
    c->live = false;
    mccl_wait_turn(c, c->issued);
    mccl_wait_flown(c);
    if (c->aborting && c->nranks > 1) /* and a window is the program's again */
        mccl_keep_off(c);
    for (unsigned i = 0; i < MCCL_AHEAD && c->aborting; i++)
        cumu_host_pardon(c->failures[i]);
    atomic_store(&c->shared->member[c->local ? c->local->rank : c->rank].left, 1);
    mccl_notify(c);
    mccl_comm_free(c);
}

mcclResult_t mcclCommDestroy(mcclComm_t comm)
{
    if (!comm)
        return mcclSuccess;
    if (!mccl_live(comm))
        return mcclInvalidArgument;
    leave(comm);
    return mcclSuccess;
}

mcclResult_t mcclCommAbort(mcclComm_t comm)
{
    if (!comm)
        return mcclSuccess;
    if (!mccl_live(comm))
        return mcclInvalidArgument;
    comm->aborting = true;
    if (comm->local)
        comm->local->aborting = true;
    mccl_fail(comm, mcclRemoteError, "rank %d has aborted the communicator", comm->rank);
    leave(comm);
    return mcclSuccess;
}

mcclResult_t mcclCommGetAsyncError(mcclComm_t comm, mcclResult_t *error)
{
    if (!mccl_live(comm) || !error)
        return mcclInvalidArgument;
    *error = mccl_state(comm);
    return mcclSuccess;
}

static mcclResult_t tell(mcclComm_t comm, int *out, size_t member)
{
    if (!mccl_live(comm) || !out)
        return mcclInvalidArgument;
    memcpy(out, (const char *)comm + member, sizeof *out);
    return mcclSuccess;
}

mcclResult_t mcclCommCount(mcclComm_t comm, int *count) { return tell(comm, count, offsetof(struct mcclComm, nranks)); }

mcclResult_t mcclCommMuDevice(mcclComm_t comm, int *device)
{
    return tell(comm, device, offsetof(struct mcclComm, device));
}

mcclResult_t mcclCommUserRank(mcclComm_t comm, int *rank) { return tell(comm, rank, offsetof(struct mcclComm, rank)); }

mcclResult_t mcclGetVersion(int *version)
{
    if (!version)
        return mcclInvalidArgument;
    *version = MCCL_VERSION_CODE;
    return mcclSuccess;
}

const char *mcclGetErrorString(mcclResult_t result)
{
    static const char *const text[] = {
        [mcclSuccess] = "no error",
        [mcclUnhandledMusaError] = "unhandled musa error",
        [mcclSystemError] = "unhandled system error",
        [mcclInternalError] = "internal error",
        [mcclInvalidArgument] = "invalid argument",
        [mcclInvalidUsage] = "invalid usage",
        [mcclRemoteError] = "remote process exited or there was a network error",
        [mcclInProgress] = "MCCL operation in progress",
    };
    return (unsigned)result < sizeof text / sizeof *text ? text[result] : "unknown result code";
}

/* ---- a communicator's own reductions ---------------------------------------------------------- */

void mccl_widen_scale(struct mccl_user_op *op)
{
    if (op->type != mcclFloat16 && op->type != mcclBfloat16)
        return;
    float wide = mccl_half(op->type, &op->host);
    memcpy(&op->host, &wide, sizeof wide);
}

mcclResult_t mcclRedOpCreatePreMulSum(mcclRedOp_t *op, void *scalar, mcclDataType_t type,
                                      mcclScalarResidence_t residence, mcclComm_t comm)
{
    if (!mccl_live(comm) || !op || !scalar || !mccl_type_size(type) || (unsigned)residence > mcclScalarHostImmediate)
        return mcclInvalidArgument;
    for (int i = 0; i < MCCL_USER_OPS; i++) {
        struct mccl_user_op *u = &comm->ops[i];
        if (u->live)
            continue;
        *u = (struct mccl_user_op){.live = true, .type = type};
        if (residence == mcclScalarDevice)
            u->device = scalar; /* read when the stream comes to the reduction */
        else {
            memcpy(&u->host, scalar, mccl_type_size(type));
            mccl_widen_scale(u);
        }
        *op = (mcclRedOp_t)(mcclNumOps + i);
        return mcclSuccess;
    }
    return mcclInternalError;
}

mcclResult_t mcclRedOpDestroy(mcclRedOp_t op, mcclComm_t comm)
{
    if (!mccl_live(comm) || op < mcclNumOps || (int)op >= mcclNumOps + MCCL_USER_OPS ||
        !comm->ops[op - mcclNumOps].live)
        return mcclInvalidArgument;
    comm->ops[op - mcclNumOps].live = false;
    return mcclSuccess;
}
