/* NCCL's one-sided calls (2.29), for libraries below that have them, and its collectives with hints (2.31): how many
 * blocks, which algorithm. MCCL chooses these itself, and a hint that is not followed changes no result. */
#include "api/nccl/nccl.h"
#include "core/resolve.h"

/* Is there something below that can do it? Looked up once. */
static int able(const char *call)
{
    static atomic_int known;
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (!k) {
        k = cumu_mu_has("mcclPutSignal") ? 1 : -1;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    if (k > 0)
        return ncclSuccess;
    cumu_gap("nccl", call, "one-sided communication: the MCCL below has no such calls");
    return cumu_nccl_failed(call, ncclInvalidUsage, "the MCCL below has no one-sided calls");
}

static int told(const char *call, void *comm, int r)
{
    if (!r)
        return r;
    int own = cumu_nccl_ready(call, comm);
    return own ? own
               : cumu_nccl_failed(call, r,
                                  "the rank, the signal, its context, the flags "
                                  "or the place in the window is out of range, or the communicator "
                                  "failed");
}

int wrap_ncclPutSignal(const void *send, size_t count, int type, int peer, void *window, size_t offset, int signal,
                       int context, unsigned flags, void *comm, cudaStream_t stream)
{
    const char *call = "ncclPutSignal";
    void *below = NULL;
    int r = able(call), moved = type == ncclFloat8e4m3 || type == ncclFloat8e5m2 ? ncclUint8 : type;
    if (r)
        return r;
    (void)cumu_nccl_window(comm, window, NULL, &below); /* without one, NULL goes down and ends a group, too */
    return told(call, comm,
                mu.mcclPutSignal(send, count, moved, peer, below, offset, signal, context, flags, cumu_nccl_below(comm),
                                 (musaStream_t)stream));
}

int wrap_ncclSignal(int peer, int signal, int context, unsigned flags, void *comm, cudaStream_t stream)
{
    const char *call = "ncclSignal";
    int r = able(call);
    return r ? r
             : told(call, comm,
                    mu.mcclSignal(peer, signal, context, flags, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclWaitSignal(int count, void *waits, void *comm, cudaStream_t stream)
{
    const char *call = "ncclWaitSignal";
    int r = able(call);
    return r ? r : told(call, comm, mu.mcclWaitSignal(count, waits, cumu_nccl_below(comm), (musaStream_t)stream));
}

/* ---- collectives with hints ---------------------------------------------------------------------- */

int wrap_ncclAllReduceConfig(const void *send, void *recv, size_t count, int type, int op, void *comm,
                             cudaStream_t stream, const void *config)
{
    (void)config;
    return wrap_ncclAllReduce(send, recv, count, type, op, comm, stream);
}

int wrap_ncclReduceConfig(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
                          cudaStream_t stream, const void *config)
{
    (void)config;
    return wrap_ncclReduce(send, recv, count, type, op, root, comm, stream);
}

int wrap_ncclReduceScatterConfig(const void *send, void *recv, size_t count, int type, int op, void *comm,
                                 cudaStream_t stream, const void *config)
{
    (void)config;
    return wrap_ncclReduceScatter(send, recv, count, type, op, comm, stream);
}

int wrap_ncclAllGatherConfig(const void *send, void *recv, size_t count, int type, void *comm, cudaStream_t stream,
                             const void *config)
{
    (void)config;
    return wrap_ncclAllGather(send, recv, count, type, comm, stream);
}

int wrap_ncclAlltoAllConfig(const void *send, void *recv, size_t count, int type, void *comm, cudaStream_t stream,
                            const void *config)
{
    (void)config;
    return wrap_ncclAlltoAll(send, recv, count, type, comm, stream);
}

int wrap_ncclBroadcastConfig(const void *send, void *recv, size_t count, int type, int root, void *comm,
                             cudaStream_t stream, const void *config)
{
    (void)config;
    return wrap_ncclBroadcast(send, recv, count, type, root, comm, stream);
}

int wrap_ncclGatherConfig(const void *send, void *recv, size_t count, int type, int root, void *comm,
                          cudaStream_t stream, const void *config)
{
    (void)config;
    return wrap_ncclGather(send, recv, count, type, root, comm, stream);
}

int wrap_ncclScatterConfig(const void *send, void *recv, size_t count, int type, int root, void *comm,
                           cudaStream_t stream, const void *config)
{
    (void)config;
    return wrap_ncclScatter(send, recv, count, type, root, comm, stream);
}
