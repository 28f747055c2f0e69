/* Collectives of the CPU MCCL beside Open MPI's, in the same processes on the same buffers. Run as
 * `mpirun -n N mccl [CALL [hosts]]`. A figure is a ratio: of bandwidths from 64 KiB on, of latencies (MCCL's over
 * MPI's) below. MPI blocks; MCCL's calls are put on a stream: short ones are waited for one by one, long ones once a
 * round. With `hosts` (hosts.sh) the ranks are in network namespaces: fewer calls, and the best round of each side
 * counts instead of the median, as whatever else runs on the machine only adds. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/mccl.h"

enum { ROUNDS = 11, LARGEST = 64 << 20, SHORT = 16 << 10 };

static int rank, nranks;
static bool hosts;
static mcclComm_t comm;
static musaStream_t stream;
static char *a, *b;

/* bytes: of the whole vector; gather and scatter move a rank's share of it at a time. */
static void mpi_all_reduce(size_t n) { MPI_Allreduce(a, b, (int)(n / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void mpi_broadcast(size_t n) { MPI_Bcast(a, (int)(n / 4), MPI_FLOAT, 0, MPI_COMM_WORLD); }
static void mpi_all_gather(size_t n)
{
    int each = (int)(n / 4) / nranks;
    MPI_Allgather(a, each, MPI_FLOAT, b, each, MPI_FLOAT, MPI_COMM_WORLD);
}
static void mpi_reduce_scatter(size_t n)
{
    MPI_Reduce_scatter_block(a, b, (int)(n / 4) / nranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void mccl_all_reduce(size_t n) { mcclAllReduce(a, b, n / 4, mcclFloat32, mcclSum, comm, stream); }
static void mccl_broadcast(size_t n) { mcclBroadcast(a, a, n / 4, mcclFloat32, 0, comm, stream); }
static void mccl_all_gather(size_t n) { mcclAllGather(a, b, n / 4 / (size_t)nranks, mcclFloat32, comm, stream); }
static void mccl_reduce_scatter(size_t n)
{
    mcclReduceScatter(a, b, n / 4 / (size_t)nranks, mcclFloat32, mcclSum, comm, stream);
}

/* There and back between two ranks; and from the one before to the next. */
static void mpi_send_recv(size_t n)
{
    const int peer = rank ^ 1;
    if (rank & 1)
        MPI_Recv(b, (int)n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(a, (int)n, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    if (!(rank & 1))
        MPI_Recv(b, (int)n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void mccl_send_recv(size_t n)
{
    const int peer = rank ^ 1;
    if (rank & 1)
        mcclRecv(b, n, mcclInt8, peer, comm, stream);
    mcclSend(a, n, mcclInt8, peer, comm, stream);
    if (!(rank & 1))
        mcclRecv(b, n, mcclInt8, peer, comm, stream);
}
static void mpi_exchange(size_t n)
{
    MPI_Sendrecv(a, (int)n, MPI_BYTE, (rank + 1) % nranks, 0, b, (int)n, MPI_BYTE, (rank + nranks - 1) % nranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void mccl_exchange(size_t n)
{
    mcclGroupStart();
    mcclSend(a, n, mcclInt8, (rank + 1) % nranks, comm, stream);
    mcclRecv(b, n, mcclInt8, (rank + nranks - 1) % nranks, comm, stream);
    mcclGroupEnd();
}

static const struct {
    const char *name;
    void (*mpi)(size_t), (*mccl)(size_t);
} kinds[] = {{"allreduce", mpi_all_reduce, mccl_all_reduce},
             {"allgather", mpi_all_gather, mccl_all_gather},
             {"reducescatter", mpi_reduce_scatter, mccl_reduce_scatter},
             {"broadcast", mpi_broadcast, mccl_broadcast},
             {"sendrecv", mpi_send_recv, mccl_send_recv},
             {"exchange", mpi_exchange, mccl_exchange}};

static int by_value(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return p < q ? -1 : p > q;
}

/* Seconds of one call, of the slowest rank. Short ones are waited for one by one, as MPI's calls do. */
static double time_of(void (*call)(size_t), size_t bytes, int calls, bool mccl)
{
    bool each = bytes <= SHORT && mccl;
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime(), worst;
    for (int i = 0; i < calls; i++) {
        call(bytes);
        if (each)
            musaStreamSynchronize(stream);
    }
    musaStreamSynchronize(stream);
    t = (MPI_Wtime() - t) / calls;
    MPI_Allreduce(&t, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

static void compare(unsigned kind, size_t bytes)
{
    int calls = bytes <= SHORT ? hosts ? 100 : 2000 : bytes <= 1 << 20 ? 50 : bytes <= 4 << 20 ? 10 : 3;
    double mpi[ROUNDS], mccl[ROUNDS], ratio[ROUNDS];
    for (int i = -1; i < ROUNDS; i++) { /* one round to warm up */
        int at = i < 0 ? 0 : i;
        mpi[at] = time_of(kinds[kind].mpi, bytes, calls, false);
        mccl[at] = time_of(kinds[kind].mccl, bytes, calls, true);
        ratio[at] = bytes >= 64 << 10 ? mpi[at] / mccl[at] : mccl[at] / mpi[at];
    }
    const int at = hosts ? 0 : ROUNDS / 2;
    qsort(mpi, ROUNDS, sizeof *mpi, by_value);
    qsort(mccl, ROUNDS, sizeof *mccl, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    if (rank)
        return;
    char size[32];
    snprintf(size, sizeof size,
             bytes >= 1 << 20 ? "%zuMiB"
             : bytes >= 1024  ? "%zuKiB"
                              : "%zuB",
             bytes >= 1 << 20 ? bytes >> 20
             : bytes >= 1024  ? bytes >> 10
                              : bytes);
    if (hosts)
        ratio[at] = bytes >= 64 << 10 ? mpi[at] / mccl[at] : mccl[at] / mpi[at];
    printf("bench mccl.%s%s_%s_vs_openmpi%s %.2f ratio  # %d ranks: %.2f us, Open MPI %.2f us%s\n",
           hosts ? "hosts." : "", kinds[kind].name, size, nranks == 2 ? "" : "_4ranks", ratio[at], nranks,
           mccl[at] * 1e6, mpi[at] * 1e6, bytes >= 64 << 10 ? "; of bandwidths" : "; of latencies, less is faster");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    hosts = argc > 2 && !strcmp(argv[2], "hosts");
    mcclUniqueId id;
    int devices = 1;
    if (!rank)
        mcclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    musaGetDeviceCount(&devices);
    musaSetDevice(rank % devices);
    musaStreamCreate(&stream);
    if (musaMalloc((void **)&a, LARGEST) || musaMalloc((void **)&b, LARGEST) ||
        mcclCommInitRank(&comm, nranks, id, rank)) {
        fprintf(stderr, "mccl: cannot start\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(a, 0, LARGEST);
    memset(b, 0, LARGEST);
    static const size_t sizes[] = {16, 1 << 10, 16 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes && (argc < 2 || !strcmp(argv[1], kinds[k].name)); s++)
            compare(k, s || (k != 0 && k < 4) ? sizes[s] : 4);
    mcclCommDestroy(comm);
    MPI_Finalize();
    return 0;
}
