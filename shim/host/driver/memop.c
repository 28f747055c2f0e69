/* Stream memory operations: a stream writes a word, or waits until a word says it may go on.
 * Kernels and host code may write that word, so a wait looks again and again, ever less often. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/driver/internal.h"
#include "host/driver/memcheck.h"
#include "host/driver/order.h"

#define MAX_OPERATIONS 256    /* of one call: the bound in cuStreamBatchMemOp's documentation */
#define LOOKS 2000            /* so many times at once */
#define LONGEST_NAP_NS 200000 /* naps double up to that: who waits long need not be quick */

struct memop {
    enum { WAIT, WRITE, NOTHING } what;
    bool wide;
    unsigned compare; /* MU_STREAM_WAIT_VALUE_* */
    void *at;
    uint64_t value;
};

struct host_memops {
    MUcontext ctx;
    size_t count;
    struct memop op[];
};

static bool go_on(const struct memop *o)
{
    uint64_t now = o->wide ? __atomic_load_n((uint64_t *)o->at, __ATOMIC_ACQUIRE)
                           : __atomic_load_n((uint32_t *)o->at, __ATOMIC_ACQUIRE);
    switch (o->compare) {
    case MU_STREAM_WAIT_VALUE_GEQ: /* cyclic: the difference's sign */
        return o->wide ? (int64_t)(now - o->value) >= 0 : (int32_t)(uint32_t)(now - o->value) >= 0;
    case MU_STREAM_WAIT_VALUE_EQ: return now == o->value;
    case MU_STREAM_WAIT_VALUE_AND: return (now & o->value) != 0;
    default: /* NOR */ return o->wide ? ~(now | o->value) != 0 : (uint32_t) ~(now | o->value) != 0;
    }
}

/* A poisoned context waits for nothing any more. */
static void wait_for(const struct memop *o, MUcontext ctx)
{
    for (int i = 0; i < LOOKS; i++)
        if (go_on(o))
            return;
    for (long nap = 1000; !go_on(o) && !ctx->error; nap = nap < LONGEST_NAP_NS ? nap * 2 : nap)
        nanosleep(&(struct timespec){0, nap}, NULL);
}

void host_memops_run(const struct host_memops *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct memop *o = &b->op[i];
        if (o->what == WAIT)
            wait_for(o, b->ctx);
        else if (o->what == WRITE && o->wide)
            __atomic_store_n((uint64_t *)o->at, o->value, __ATOMIC_RELEASE);
        else if (o->what == WRITE)
            __atomic_store_n((uint32_t *)o->at, (uint32_t)o->value, __ATOMIC_RELEASE);
        if (o->what == WRITE)
            host_initcheck_filled((const void *)(uintptr_t)o->at, o->wide ? 8 : 4);
    }
}

static MUresult run(void *arg)
{
    host_memops_run(arg);
    return MUSA_SUCCESS;
}

static MUresult memop(struct memop *o, bool wait, bool wide, MUdeviceptr p, uint64_t value, unsigned flags)
{
    unsigned compare = flags & ~(unsigned)MU_STREAM_WAIT_VALUE_FLUSH;
    bool known = wait ? compare <= MU_STREAM_WAIT_VALUE_NOR
                      : flags == MU_STREAM_WRITE_VALUE_DEFAULT || flags == MU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    void *at = (void *)(uintptr_t)p;
    size_t size = wide ? 8 : 4;
    if (!known || p % size || !host_mem_on_device(at, size))
        return MUSA_ERROR_INVALID_VALUE;
    *o = (struct memop){wait ? WAIT : WRITE, wide, wait ? compare : 0, at, wide ? value : (uint32_t)value};
    return MUSA_SUCCESS;
}

/* All or nothing: an operation that cannot be is found before any is enqueued. */
MUresult host_memops_new(MUcontext ctx, unsigned count, const MUstreamBatchMemOpParams *ops, unsigned flags,
                         struct host_memops **made)
{
    if (!count || count > MAX_OPERATIONS || !ops || flags)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_memops *b = malloc(sizeof *b + count * sizeof *b->op);
    if (!b)
        return MUSA_ERROR_OUT_OF_MEMORY;
    b->ctx = ctx;
    b->count = count;
    MUresult r = MUSA_SUCCESS;
    for (unsigned i = 0; i < count && !r; i++) {
        const MUstreamBatchMemOpParams *p = &ops[i];
        switch (p->operation) {
        case MU_STREAM_MEM_OP_WAIT_VALUE_32:
        case MU_STREAM_MEM_OP_WAIT_VALUE_64:
        case MU_STREAM_MEM_OP_WRITE_VALUE_32:
        case MU_STREAM_MEM_OP_WRITE_VALUE_64: {
            bool wait = p->operation == MU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                        p->operation == MU_STREAM_MEM_OP_WAIT_VALUE_64;
            bool wide = p->operation == MU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                        p->operation == MU_STREAM_MEM_OP_WRITE_VALUE_64;
            r = memop(&b->op[i], wait, wide, p->value.address, p->value.value64, p->value.flags);
            break;
        }
        case MU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        case MU_STREAM_MEM_OP_BARRIER:
            b->op[i].what = NOTHING; /* one memory: work in a stream is ordered anyway */
            break;
        default: r = MUSA_ERROR_INVALID_VALUE;
        }
    }
    if (r)
        free(b);
    else
        *made = b;
    return r;
}

static MUresult enqueue(MUstream stream, unsigned count, MUstreamBatchMemOpParams *ops, unsigned flags)
{
    MUstream s;
    struct host_memops *b;
    MUresult r = host_stream_of(stream, &s);
    if (r || (r = host_memops_new(s->ctx, count, ops, flags, &b)))
        return r;
    if (host_capturing(s)) {
        free(b);
        return host_capture_add(
            s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = {s->ctx, count, ops, flags}},
            NULL);
    }
    struct host_op op = {run, free, b, "memory operations", 0};
    for (unsigned k = 0; k < count && host_order_on(); k++)
        if (b->op[k].what == WAIT) {
            pthread_mutex_lock(&host_sched);
            host_order_wait_unseen(s);
            pthread_mutex_unlock(&host_sched);
        }
    return host_enqueue(stream, &op);
}

static MUresult single(MUstream stream, bool wait, bool wide, MUdeviceptr p, uint64_t value, unsigned flags)
{
    static const int operations[2][2] = {
        {MU_STREAM_MEM_OP_WRITE_VALUE_32, MU_STREAM_MEM_OP_WRITE_VALUE_64},
        {MU_STREAM_MEM_OP_WAIT_VALUE_32, MU_STREAM_MEM_OP_WAIT_VALUE_64},
    };
    MUstreamBatchMemOpParams op = {
        .value = {.operation = operations[wait][wide], .address = p, .value64 = value, .flags = flags}};
    return enqueue(stream, 1, &op, 0);
}

MUresult muStreamWaitValue32(MUstream s, MUdeviceptr p, uint32_t value, unsigned int flags)
{
    return single(s, true, false, p, value, flags);
}
MUresult muStreamWaitValue32_ptsz(MUstream s, MUdeviceptr p, uint32_t value, unsigned int flags)
{
    return single(host_ptsz(s), true, false, p, value, flags);
}
MUresult muStreamWaitValue64(MUstream s, MUdeviceptr p, uint64_t value, unsigned int flags)
{
    return single(s, true, true, p, value, flags);
}
MUresult muStreamWaitValue64_ptsz(MUstream s, MUdeviceptr p, uint64_t value, unsigned int flags)
{
    return single(host_ptsz(s), true, true, p, value, flags);
}
MUresult muStreamWriteValue32(MUstream s, MUdeviceptr p, uint32_t value, unsigned int flags)
{
    return single(s, false, false, p, value, flags);
}
MUresult muStreamWriteValue32_ptsz(MUstream s, MUdeviceptr p, uint32_t value, unsigned int flags)
{
    return single(host_ptsz(s), false, false, p, value, flags);
}
MUresult muStreamWriteValue64(MUstream s, MUdeviceptr p, uint64_t value, unsigned int flags)
{
    return single(s, false, true, p, value, flags);
}
MUresult muStreamWriteValue64_ptsz(MUstream s, MUdeviceptr p, uint64_t value, unsigned int flags)
{
    return single(host_ptsz(s), false, true, p, value, flags);
}

MUresult muStreamBatchMemOp(MUstream stream, unsigned int count, MUstreamBatchMemOpParams *ops, unsigned int flags)
{
    return enqueue(stream, count, ops, flags);
}
MUresult muStreamBatchMemOp_ptsz(MUstream stream, unsigned int count, MUstreamBatchMemOpParams *ops, unsigned int flags)
{
    return muStreamBatchMemOp(host_ptsz(stream), count, ops, flags);
}
