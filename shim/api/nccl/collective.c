/* Calls that move data: MCCL's, and those that MCCL 2.11 lacks made of its sends and receives. */
#include "api/nccl/nccl.h"
#include "core/resolve.h"

/* Why MCCL refused, for people. */
static __attribute__((cold, noinline)) int explain(const char *call, void *comm, int type, int r)
{
    int own = cumu_nccl_ready(call, comm);
    if (own)
        r = own;
    else if (type == ncclFloat8e4m3 || type == ncclFloat8e5m2) {
        (void)cumu_nccl_failed(call, r, "MCCL does not reduce 8-bit floats");
        cumu_gap("nccl", call, "reductions of 8-bit floats: the MCCL below has no such type");
    } else if (type == ncclBfloat16 && r != ncclInvalidArgument)
        (void)cumu_nccl_failed(call, r, "MCCL refuses it; older devices have no bfloat16");
    else
        (void)cumu_nccl_failed(call, r, "MCCL refuses the arguments, or the communicator failed");
    return r;
}

static inline int told(const char *call, void *comm, int type, int r)
{
    return __builtin_expect(r != ncclSuccess, 0) ? explain(call, comm, type, r) : r;
}

/* A call that moves data: count elements of the type, in that shape, NCCL_ADDS with it if it adds up. */
static inline int moves(const char *call, void *comm, unsigned shape, size_t count, int type, int r)
{
    if (__builtin_expect(r != ncclSuccess, 0))
        return explain(call, comm, shape & NCCL_ADDS ? type : -1, r);
    if (cumu_nccl_grouped())
        cumu_nccl_weigh(comm, shape & ~(unsigned)NCCL_ADDS, count * cumu_nccl_type_size(type));
    return ncclSuccess;
}

/* Where nothing is added up, an 8-bit float is a byte, which every MCCL knows. */
static inline int moved(int type) { return type == ncclFloat8e4m3 || type == ncclFloat8e5m2 ? ncclUint8 : type; }

size_t cumu_nccl_type_size(int type)
{
    static const unsigned char sizes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return (unsigned)type < ncclNumTypes ? sizes[type] : 0;
}

int wrap_ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, cudaStream_t stream)
{
    return moves("ncclAllReduce", comm, NCCL_TWICE | NCCL_ADDS, count, type,
                 mu.mcclAllReduce(send, recv, count, type, op, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
                    cudaStream_t stream)
{
    return moves("ncclReduce", comm, NCCL_ONCE | NCCL_ADDS, count, type,
                 mu.mcclReduce(send, recv, count, type, op, root, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm,
                           cudaStream_t stream)
{
    return moves("ncclReduceScatter", comm, NCCL_EACH | NCCL_ADDS, count, type,
                 mu.mcclReduceScatter(send, recv, count, type, op, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, cudaStream_t stream)
{
    return moves("ncclAllGather", comm, NCCL_EACH, count, type,
                 mu.mcclAllGather(send, recv, count, moved(type), cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, cudaStream_t stream)
{
    return moves("ncclBroadcast", comm, NCCL_ONCE, count, type,
                 mu.mcclBroadcast(send, recv, count, moved(type), root, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclBcast(void *buffer, size_t count, int type, int root, void *comm, cudaStream_t stream)
{
    return moves(
        "ncclBcast", comm, NCCL_ONCE, count, type,
        mu.mcclBroadcast(buffer, buffer, count, moved(type), root, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclSend(const void *send, size_t count, int type, int peer, void *comm, cudaStream_t stream)
{
    return moves("ncclSend", comm, NCCL_OUT, count, type,
                 mu.mcclSend(send, count, moved(type), peer, cumu_nccl_below(comm), (musaStream_t)stream));
}

int wrap_ncclRecv(void *recv, size_t count, int type, int peer, void *comm, cudaStream_t stream)
{
    return moves("ncclRecv", comm, NCCL_IN, count, type,
                 mu.mcclRecv(recv, count, moved(type), peer, cumu_nccl_below(comm), (musaStream_t)stream));
}

/* ---- made of sends and receives ------------------------------------------------------------------ */

/* One of them: blocks of `send` go to every rank of [0, outs) (of `to`, if that is not -1), blocks of `recv`
 * come from every one of [0, ins). A group of its own inside the program's, if there is one. */
struct exchange {
    const char *call;
    const char *send;
    char *recv;
    size_t count;
    int type;
    int to, from; /* the one rank; ALL; NONE */
    void *comm;
    musaStream_t stream;
};
enum { ALL = -1, NONE = -2 };

static int transfer(const struct exchange *x)
{
    struct nccl_comm *c = cumu_nccl_comm(x->comm);
    mcclComm_t below = cumu_nccl_below(x->comm);
    size_t bytes = x->count * cumu_nccl_type_size(x->type);
    int type = moved(x->type), n = below ? c->nranks : 1, rank = below ? c->rank : 0;
    int r = mu.mcclGroupStart();
    if (r)
        return told(x->call, x->comm, -1, r);
    if (!below || x->to >= n || x->from >= n || x->to < NONE || x->from < NONE || !cumu_nccl_type_size(x->type))
        r = mu.mcclSend(x->send, x->count, type, -1, NULL, x->stream); /* spoils the group */
    for (int i = 0; i < n && !r; i++) {
        bool sends = x->to == ALL || x->to == i, receives = x->from == ALL || x->from == i;
        const char *send = x->to == ALL ? x->send + (size_t)i * bytes : x->send;
        char *recv = x->from == ALL ? x->recv + (size_t)i * bytes : x->recv;
        if (i == rank && sends && receives && send == recv)
            continue; /* in place */
        if (sends)
            r = mu.mcclSend(send, x->count, type, i, below, x->stream);
        if (receives && !r)
            r = mu.mcclRecv(recv, x->count, type, i, below, x->stream);
    }
    int end = mu.mcclGroupEnd();
    return moves(x->call, x->comm, NCCL_EACH, x->count, x->type, r ? r : end);
}

/* Does the library below have it itself? Looked up once. */
static bool below_has(atomic_int *known, const char *symbol)
{
    int k = atomic_load_explicit(known, memory_order_relaxed);
    if (!k) {
        k = cumu_mu_has(symbol) ? 1 : -1;
        atomic_store_explicit(known, k, memory_order_relaxed);
    }
    return k > 0;
}

int wrap_ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, cudaStream_t stream)
{
    static atomic_int known;
    const char *call = "ncclAlltoAll";
    if (below_has(&known, "mcclAlltoAll"))
        return moves(call, comm, NCCL_EACH, count, type,
                     mu.mcclAlltoAll(send, recv, count, moved(type), cumu_nccl_below(comm), (musaStream_t)stream));
    return transfer(&(struct exchange){call, send, recv, count, type, ALL, ALL, comm, (musaStream_t)stream});
}

static bool is_root(void *comm, int root) { return cumu_nccl_below(comm) && cumu_nccl_comm(comm)->rank == root; }

int wrap_ncclGather(const void *send, void *recv, size_t count, int type, int root, void *comm, cudaStream_t stream)
{
    static atomic_int known;
    const char *call = "ncclGather";
    if (below_has(&known, "mcclGather"))
        return moves(call, comm, NCCL_EACH, count, type,
                     mu.mcclGather(send, recv, count, moved(type), root, cumu_nccl_below(comm), (musaStream_t)stream));
    return transfer(&(struct exchange){call, send, recv, count, type, root < 0 ? INT_MAX : root,
                                       is_root(comm, root) ? ALL : NONE, comm, (musaStream_t)stream});
}

int wrap_ncclScatter(const void *send, void *recv, size_t count, int type, int root, void *comm, cudaStream_t stream)
{
    static atomic_int known;
    const char *call = "ncclScatter";
    if (below_has(&known, "mcclScatter"))
        return moves(call, comm, NCCL_EACH, count, type,
                     mu.mcclScatter(send, recv, count, moved(type), root, cumu_nccl_below(comm), (musaStream_t)stream));
    return transfer(&(struct exchange){call, send, recv, count, type, is_root(comm, root) ? ALL : NONE,
                                       root < 0 ? INT_MAX : root, comm, (musaStream_t)stream});
}

/* ---- a communicator's own reductions --------------------------------------------------------------- */

int wrap_ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, void *comm)
{
    return told("ncclRedOpCreatePreMulSum", comm, type,
                mu.mcclRedOpCreatePreMulSum(op, scalar, type, residence, cumu_nccl_below(comm)));
}

int wrap_ncclRedOpDestroy(int op, void *comm)
{
    return told("ncclRedOpDestroy", comm, -1, mu.mcclRedOpDestroy(op, cumu_nccl_below(comm)));
}
