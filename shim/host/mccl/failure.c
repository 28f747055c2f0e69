/* What becomes of a communicator whose ranks cannot go on: every rank learns the result and the reason, and one line
 * of each process tells the user. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/driver/callback.h"
#include "host/mccl/mccl.h"

#define PATIENCE_MS 100

/* Programs call these functions by NCCL's names. */
const char *mccl_kind_name(enum mccl_kind kind)
{
    static const char *const names[] = {
        [MCCL_ALL_REDUCE] = "ncclAllReduce",         [MCCL_REDUCE] = "ncclReduce",
        [MCCL_BROADCAST] = "ncclBroadcast",          [MCCL_ALL_GATHER] = "ncclAllGather",
        [MCCL_REDUCE_SCATTER] = "ncclReduceScatter", [MCCL_P2P] = "ncclSend and ncclRecv",
        [MCCL_PUT_SIGNAL] = "ncclPutSignal",         [MCCL_SIGNAL] = "ncclSignal",
        [MCCL_WAIT_SIGNAL] = "ncclWaitSignal",       [MCCL_JOIN] = "ncclCommInitRank"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

const char *mccl_type_name(unsigned type)
{
    static const char *const names[mcclNumTypes] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                                    "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                                    "ncclFloat64", "ncclBfloat16"};
    return type < mcclNumTypes ? names[type] : "?";
}

static const char *op_name(unsigned op)
{
    static const char *const names[] = {"ncclSum", "ncclProd", "ncclMax",
                                        "ncclMin", "ncclAvg",  "a ncclRedOpCreatePreMulSum"};
    return op < sizeof names / sizeof *names ? names[op] : "?";
}

void mccl_fail(mcclComm_t c, mcclResult_t why, const char *format, ...)
{
    struct mccl_shared *s = c->shared;
    uint32_t none = 0;
    if (atomic_compare_exchange_strong(&s->reasoned, &none, 1)) {
        va_list list;
        va_start(list, format);
        vsnprintf(s->reason, sizeof s->reason, format, list);
        va_end(list);
        atomic_store(&s->reasoned, 2);
    }
    none = 0;
    atomic_compare_exchange_strong(&s->failed, &none, (uint32_t)why);
    mccl_notify(c);
    mccl_wake_self(c);
}

/* Adds what one of two numbers is to the text, if they differ. */
#define DIFFER(format, a, b) \
    if ((a) != (b) && n < sizeof text) \
    n += (size_t)snprintf(text + n, sizeof text - n, format, n ? ", " : "", a, b)

mcclResult_t mccl_disagree(mcclComm_t c, const struct mccl_what *mine, int rank, const struct mccl_what *theirs)
{
    char text[MCCL_REASON] = "";
    size_t n = 0;
    const char *call = mccl_kind_name(mine->kind);
    if (mine->kind != theirs->kind) {
        mccl_fail(c, mcclInvalidUsage, "rank %d calls %s, rank %d calls %s", mccl_name(c, c->rank), call,
                  mccl_name(c, rank), mccl_kind_name(theirs->kind));
        return mcclInvalidUsage;
    }
    DIFFER("%scount %llu against %llu", (unsigned long long)mine->count, (unsigned long long)theirs->count);
    DIFFER("%stype %s against %s", mccl_type_name(mine->type), mccl_type_name(theirs->type));
    DIFFER("%soperation %s against %s", op_name(mine->op), op_name(theirs->op));
    DIFFER("%sroot %d against %d", mine->root, theirs->root);
    mccl_fail(c, mcclInvalidUsage, "rank %d and rank %d disagree in %s: %s", mccl_name(c, c->rank), mccl_name(c, rank),
              call, n ? text : "an earlier call was not the same");
    return mcclInvalidUsage;
}

/* Mostly because its process has just ended: its descriptors go before it does. */
mcclResult_t mccl_fail_to_reach(mcclComm_t c, int rank)
{
    if (mccl_is_gone(c, rank, PATIENCE_MS))
        mccl_fail_gone(c, rank);
    else
        mccl_fail(c, mcclSystemError, "rank %d cannot map memory of rank %d", mccl_name(c, c->rank),
                  mccl_name(c, rank));
    return mccl_state(c);
}

void mccl_tell(mcclComm_t c, enum mccl_kind kind, const struct mccl_transfer *single)
{
    struct mccl_shared *s = c->shared;
    int first = 0, self = c->local ? c->local->rank : c->rank;
    while (s->member[first].process != s->member[self].process)
        first++;
    if (atomic_exchange(&s->member[first].told, 1))
        return;
    /* Another rank may be about to write the reason, or have been killed at that. */
    for (int i = 0; s->reasoned == 1 && i < PATIENCE_MS; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    char line[MCCL_REASON + 128], call[64];
    snprintf(call, sizeof call, "%s", mccl_kind_name(kind));
    if (single)
        snprintf(call, sizeof call, "%s rank %d", single->send ? "ncclSend to" : "ncclRecv from", single->peer);
    snprintf(line, sizeof line, "nccl: rank %d of %d: %s failed: %s", c->rank, c->nranks, call,
             s->reasoned == 2 ? s->reason : "another rank could not go on");
    cumu_host_say(line);
}
