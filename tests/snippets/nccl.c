/* NCCL in one process: every call with what it must answer to good and bad arguments. One rank is enough for
 * most; tests/nccl has the teams. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include "snippet.h"

enum { N = 64 };

struct config { /* ncclConfig_t, 2.28.9 */
    size_t size;
    unsigned magic, version;
    int blocking, cga, least, most;
    const char *net;
    int share, traffic;
    const char *name;
    int collnet, policy, shrink, nvls, channels, sched;
};
static const struct config defaults = {sizeof defaults, 0xcafebeef, 22809,   INT_MIN, INT_MIN, INT_MIN,
                                       INT_MIN,         NULL,       INT_MIN, INT_MIN, NULL,    INT_MIN,
                                       INT_MIN,         INT_MIN,    INT_MIN, INT_MIN, INT_MIN};

static void *alone(void)
{
    void *comm = NULL;
    struct cumu_s128 id;
    OK(C(ncclGetUniqueId)(&id));
    OK(C(ncclCommInitRank)(&comm, 1, id, 0));
    return comm;
}

static void tells(void)
{
    int n = -1, version = 0;
    OK(C(ncclGetVersion)(&version));
    EXPECT(version == NCCL_VERSION_CODE);
    IS(C(ncclGetVersion)(NULL), ncclInvalidArgument);
    IS(C(ncclGetUniqueId)(NULL), ncclInvalidArgument);
    EXPECT(strcmp(C(ncclGetErrorString)(ncclSuccess), "no error") == 0);
    EXPECT(strstr(C(ncclGetErrorString)(99), "unknown"));
    void *comm = alone(), *junk = &n;
    OK(C(ncclCommCount)(comm, &n));
    EXPECT(n == 1);
    OK(C(ncclCommUserRank)(comm, &n));
    EXPECT(n == 0);
    OK(C(ncclCommCuDevice)(comm, &n));
    EXPECT(n == 0);
    OK(C(ncclCommGetAsyncError)(comm, &n));
    EXPECT(n == ncclSuccess);
    IS(C(ncclCommGetAsyncError)(junk, &n), ncclInvalidArgument);
    IS(C(ncclCommCount)(comm, NULL), ncclInvalidArgument);
    IS(C(ncclCommCount)(NULL, &n), ncclInvalidArgument);
    EXPECT(strstr(C(ncclGetLastError)(comm), "ncclCommCount"));
    struct cumu_s12 world = C(ncclTeamWorld)(comm), near = C(ncclTeamLsa)(comm), rail = C(ncclTeamRail)(comm);
    EXPECT(world.at[0] == 1 && world.at[1] == 0 && world.at[2] == 1);
    EXPECT(near.at[0] == 1 && near.at[1] == 0 && near.at[2] == 1);
    EXPECT(rail.at[0] == 1 && rail.at[1] == 0 && rail.at[2] == 1);
    IS(C(ncclTeamRankToWorld)(comm, world, 0), 0);
    IS(C(ncclTeamRankToLsa)(comm, near, 0), 0);
    IS(C(ncclTeamRankToWorld)(junk, world, 0), -1);
    EXPECT(C(ncclTeamWorld)(junk).at[0] == 0);
    OK(C(ncclCommDestroy)(comm));
    IS(C(ncclCommDestroy)(comm), ncclInvalidArgument);
    IS(C(ncclCommUserRank)(comm, &n), ncclInvalidArgument);
    IS(C(ncclCommCuDevice)(junk, &n), ncclInvalidArgument);
    OK(C(ncclCommDestroy)(NULL));
    OK(C(ncclCommAbort)(NULL));
}

static void moves(void *comm, float *a, float *b, cudaStream_t s)
{
    float out[N] = {0};
    for (int i = 0; i < N; i++)
        out[i] = (float)i;
    OK(M(cudaMemcpy, musaMemcpy)(a, out, sizeof out, musaMemcpyHostToDevice));
    OK(C(ncclAllReduce)(a, b, N, ncclFloat32, ncclSum, comm, s));
    OK(C(ncclReduce)(b, a, N, ncclFloat32, ncclMax, 0, comm, s));
    OK(C(ncclBroadcast)(a, b, N, ncclFloat32, 0, comm, s));
    OK(C(ncclBcast)(b, N, ncclFloat32, 0, comm, s));
    OK(C(ncclAllGather)(b, a, 4 * N, ncclFloat8e4m3, comm, s)); /* bytes, when nothing is added */
    OK(C(ncclReduceScatter)(a, b, N, ncclFloat32, ncclAvg, comm, s));
    OK(C(ncclAlltoAll)(b, a, N, ncclFloat32, comm, s));
    OK(C(ncclGather)(a, b, N, ncclFloat32, 0, comm, s));
    OK(C(ncclScatter)(b, a, N, ncclFloat32, 0, comm, s));
    OK(C(ncclGroupStart)());
    OK(C(ncclSend)(a, N, ncclFloat32, 0, comm, s));
    OK(C(ncclRecv)(b, N, ncclFloat32, 0, comm, s));
    OK(C(ncclAlltoAll)(a, a, N, ncclFloat32, comm, s)); /* a group in the group; in place */
    OK(C(ncclGroupEnd)());
    int op = -1;
    float three = 3;
    OK(C(ncclRedOpCreatePreMulSum)(&op, &three, ncclFloat32, ncclScalarHostImmediate, comm));
    OK(C(ncclAllReduce)(b, b, N, ncclFloat32, op, comm, s));
    OK(C(ncclRedOpDestroy)(op, comm));
    IS(C(ncclRedOpDestroy)(op, comm), ncclInvalidArgument);
    OK(M(cudaStreamSynchronize, musaStreamSynchronize)((void *)s));
    OK(M(cudaMemcpy, musaMemcpy)(out, b, sizeof out, musaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        if (out[i] != 3 * (float)i) {
            EXPECT(!"the values");
            break;
        }
}

/* Hints change no result. */
static void hinted(void *comm, float *a, float *b, cudaStream_t s)
{
    OK(C(ncclAllReduceConfig)(a, b, N, ncclFloat32, ncclSum, comm, s, NULL));
    OK(C(ncclReduceConfig)(b, a, N, ncclFloat32, ncclMax, 0, comm, s, NULL));
    OK(C(ncclReduceScatterConfig)(a, b, N, ncclFloat32, ncclAvg, comm, s, NULL));
    OK(C(ncclAllGatherConfig)(b, a, N, ncclFloat32, comm, s, NULL));
    OK(C(ncclAlltoAllConfig)(b, a, N, ncclFloat32, comm, s, NULL));
    OK(C(ncclBroadcastConfig)(a, b, N, ncclFloat32, 0, comm, s, NULL));
    OK(C(ncclGatherConfig)(a, b, N, ncclFloat32, 0, comm, s, NULL));
    OK(C(ncclScatterConfig)(b, a, N, ncclFloat32, 0, comm, s, NULL));
    IS(C(ncclAllReduceConfig)(a, b, N, ncclNumTypes, ncclSum, comm, s, NULL), ncclInvalidArgument);
}

/* One rank, which writes into its own window; an MCCL without these calls says so. */
static void one_sided(void *comm, float *a, cudaStream_t s)
{
    struct {
        int count, peer, signal, context;
    } once = {1, 0, 0, 0};
    float *window_at = NULL, out[2] = {1, 2};
    void *window = NULL, *at = NULL;
    OK(C(ncclMemAlloc)((void **)&window_at, 4096));
    OK(C(ncclCommWindowRegister)(comm, window_at, 4096, &window, NCCL_WIN_STRICT_ORDERING));
    OK(C(ncclWinGetUserPtr)(comm, window, &at));
    EXPECT(at == window_at);
    IS(C(ncclWinGetUserPtr)(comm, comm, &at), ncclInvalidArgument);
    OK(M(cudaMemcpy, musaMemcpy)(a, out, sizeof out, musaMemcpyHostToDevice));
    int r = C(ncclPutSignal)(a, 1, ncclFloat32, 0, window, 8, 0, 0, 0, comm, s);
    EXPECT(r == ncclSuccess || r == ncclInvalidUsage);
    if (!r) {
        OK(C(ncclWaitSignal)(1, &once, comm, s));
        OK(C(ncclSignal)(0, 0, 0, 0, comm, s));
        OK(C(ncclWaitSignal)(1, &once, comm, s));
        OK(M(cudaStreamSynchronize, musaStreamSynchronize)((void *)s));
        OK(M(cudaMemcpy, musaMemcpy)(out + 1, window_at + 2, sizeof *out, musaMemcpyDeviceToHost));
        EXPECT(out[1] == 1);
    }
    EXPECT(C(ncclPutSignal)(a, 1, ncclFloat32, 0, comm, 0, 0, 0, 0, comm, s) != ncclSuccess);
    EXPECT(C(ncclPutSignal)(a, 1, ncclFloat32, 0, window, 4093, 0, 0, 0, comm, s) != ncclSuccess);
    EXPECT(C(ncclSignal)(1, 0, 0, 0, comm, s) != ncclSuccess);
    EXPECT(C(ncclWaitSignal)(1, NULL, comm, s) != ncclSuccess);
    OK(C(ncclCommWindowDeregister)(comm, window));
    OK(C(ncclMemFree)(window_at));
}

static void refuses(void *comm, float *a, cudaStream_t s)
{
    struct {
        size_t size;
        unsigned magic, version;
        float time;
    } info = {sizeof info, 0x74685283, 22809, 0};
    IS(C(ncclAllReduce)(a, a, N, ncclFloat8e5m2, ncclSum, comm, s), ncclInvalidArgument);
    IS(C(ncclAllReduce)(a, a, N, ncclNumTypes, ncclSum, comm, s), ncclInvalidArgument);
    IS(C(ncclAllReduce)(a, a, N, ncclFloat32, ncclSum, NULL, s), ncclInvalidArgument);
    IS(C(ncclReduce)(a, a, N, ncclFloat32, ncclSum, 1, comm, s), ncclInvalidArgument);
    IS(C(ncclAlltoAll)(a, a, N, ncclNumTypes, comm, s), ncclInvalidArgument);
    IS(C(ncclGather)(a, a, N, ncclFloat32, 1, comm, s), ncclInvalidArgument);
    IS(C(ncclScatter)(a, a, N, ncclFloat32, -1, comm, s), ncclInvalidArgument);
    IS(C(ncclSend)(a, N, ncclFloat32, 1, comm, s), ncclInvalidArgument);
    IS(C(ncclGroupEnd)(), ncclInvalidUsage);
    OK(C(ncclGroupStart)());
    IS(C(ncclAllReduce)(a, a, N, ncclFloat32, ncclSum, &info, s), ncclInvalidArgument);
    IS(C(ncclGroupEnd)(), ncclInvalidArgument);
    OK(C(ncclGroupStart)());
    OK(C(ncclAllReduce)(a, a, N, ncclFloat32, ncclSum, comm, s));
    OK(C(ncclGroupSimulateEnd)(&info));
    EXPECT(info.time == 10); /* one call, and one rank moves nothing */
    info.magic = 0;
    IS(C(ncclGroupSimulateEnd)(&info), ncclInvalidArgument);
}

static void buffers(void *comm)
{
    void *p = NULL, *handle = NULL, *window = NULL;
    OK(C(ncclMemAlloc)(&p, 4096));
    IS(C(ncclMemAlloc)(NULL, 1), ncclInvalidArgument);
    OK(C(ncclCommRegister)(comm, p, 4096, &handle));
    IS(C(ncclCommRegister)(comm, NULL, 4096, &handle), ncclInvalidArgument);
    OK(C(ncclCommWindowRegister)(comm, p, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
    IS(C(ncclCommWindowRegister)(comm, p, 4096, &window, 8), ncclInvalidArgument);
    IS(C(ncclCommDeregister)(comm, window), ncclInvalidArgument);
    OK(C(ncclCommDeregister)(comm, handle));
    IS(C(ncclCommDeregister)(comm, handle), ncclInvalidArgument);
    OK(C(ncclCommWindowDeregister)(comm, window));
    IS(C(ncclCommWindowDeregister)(comm, window), ncclInvalidArgument);
    OK(C(ncclMemFree)(p));
}

/* Until what was begun in the background is done. */
static int settled(void *comm)
{
    int error = ncclInProgress;
    for (int i = 0; i < 5000 && error == ncclInProgress; i++) {
        OK(C(ncclCommGetAsyncError)(comm, &error));
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return error;
}

static void configured(void)
{
    static const size_t sizes[] = {24, 40, 48, 72, 80, 96};
    struct cumu_s128 id;
    void *comm = NULL, *child = NULL;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct {
            struct config c;
            char more[16];
        } longer = {.c = defaults};
        longer.c.size = sizes[i];
        OK(C(ncclGetUniqueId)(&id));
        OK(C(ncclCommInitRankConfig)(&comm, 1, id, 0, &longer));
        OK(C(ncclCommDestroy)(comm));
    }
    struct config bad = defaults;
    bad.magic = 0;
    IS(C(ncclCommInitRankConfig)(&comm, 1, id, 0, &bad), ncclInvalidArgument);
    bad = defaults;
    bad.blocking = 7;
    IS(C(ncclCommInitRankConfig)(&comm, 1, id, 0, &bad), ncclInvalidArgument);
    EXPECT(strstr(C(ncclGetLastError)(NULL), "blocking"));
    OK(C(ncclGetUniqueId)(&id));
    IS(C(ncclCommInitRank)(&comm, 1, id, 1), ncclInvalidArgument);
    comm = NULL;
    OK(C(ncclGroupStart)()); /* a rank that cannot join: the other does not wait for it */
    OK(C(ncclCommInitRank)(&child, 2, id, 0));
    IS(C(ncclCommInitRank)(&comm, 2, id, 2), ncclInvalidArgument);
    IS(C(ncclGroupEnd)(), ncclInvalidArgument);
    EXPECT(!child && !comm);
    IS(C(ncclCommInitRankScalable)(&comm, 1, 0, 2, &id, NULL), ncclInvalidArgument);
    OK(C(ncclCommInitRankScalable)(&comm, 1, 0, 1, &id, NULL));
    OK(C(ncclCommSplit)(comm, 3, 0, &child, NULL));
    EXPECT(child && child != comm);
    OK(C(ncclCommDestroy)(child));
    OK(C(ncclCommSplit)(comm, NCCL_SPLIT_NOCOLOR, 0, &child, NULL));
    EXPECT(!child);
    IS(C(ncclCommSplit)(comm, -2, 0, &child, NULL), ncclInvalidArgument);
    IS(C(ncclCommShrink)(comm, (int[]){0}, 1, &child, NULL, NCCL_SHRINK_DEFAULT), ncclInvalidArgument);
    IS(C(ncclCommGrow)(comm, 2, NULL, -1, &child, NULL), ncclInvalidUsage); /* nobody has made an id */
    IS(C(ncclCommGrow)(comm, 1, NULL, -1, &child, NULL), ncclInvalidArgument);
    IS(C(ncclCommGrow)(comm, 2, NULL, 0, &child, NULL), ncclInvalidArgument);
    IS(C(ncclCommGrow)(NULL, 2, NULL, 1, &child, NULL), ncclInvalidArgument);
    IS(C(ncclCommGrow)(NULL, 2, &id, 2, &child, NULL), ncclInvalidArgument);
    IS(C(ncclCommGetUniqueId)(comm, NULL), ncclInvalidArgument);
    IS(C(ncclCommGetUniqueId)(NULL, &id), ncclInvalidArgument);
    {
        struct cumu_s128 grow;
        OK(C(ncclCommGetUniqueId)(comm, &grow));
        IS(C(ncclCommGetUniqueId)(comm, &grow), ncclInvalidUsage); /* that one first */
    }
    OK(C(ncclCommFinalize)(comm));
    IS(C(ncclCommFinalize)(comm), ncclInvalidUsage);
    OK(C(ncclCommDestroy)(comm));

    struct config background = defaults;
    background.blocking = 0;
    OK(C(ncclGetUniqueId)(&id));
    IS(C(ncclCommInitRankConfig)(&comm, 1, id, 0, &background), ncclInProgress);
    IS(settled(comm), ncclSuccess);
    IS(C(ncclCommRevoke)(comm, 1), ncclInvalidArgument);
    IS(C(ncclCommRevoke)(comm, NCCL_REVOKE_DEFAULT), ncclInProgress);
    IS(settled(comm), ncclSuccess);
    IS(C(ncclCommFinalize)(comm), ncclInvalidUsage);
    OK(C(ncclCommAbort)(comm));
    IS(C(ncclCommAbort)(comm), ncclInvalidArgument);
}

void snippet_nccl(void)
{
    float *a = NULL, *b = NULL;
    musaStream_t s = NULL;
    void *comm = NULL;
    tells();
    IS(C(ncclCommInitAll)(NULL, 1, NULL), ncclInvalidArgument);
    IS(C(ncclCommInitAll)(&comm, 1, (int[]){99}), ncclInvalidArgument);
    OK(C(ncclCommInitAll)(&comm, 1, NULL));
    OK(M(cudaMalloc, musaMalloc)((void **)&a, N * sizeof *a));
    OK(M(cudaMalloc, musaMalloc)((void **)&b, N * sizeof *b));
    OK(M(cudaStreamCreate, musaStreamCreate)(&s));
    moves(comm, a, b, (cudaStream_t)s);
    hinted(comm, a, b, (cudaStream_t)s);
    one_sided(comm, a, (cudaStream_t)s);
    refuses(comm, a, (cudaStream_t)s);
    buffers(comm);
    OK(C(ncclCommDestroy)(comm));
    configured();
    OK(M(cudaStreamDestroy, musaStreamDestroy)(s));
    OK(M(cudaFree, musaFree)(a));
    OK(M(cudaFree, musaFree)(b));
}
