/* One rank of an NCCL program as a launcher starts it: who it is comes from the launcher's variables, its device is its
 * number on this machine, and the ranks meet at NCCL_COMM_ID. Built with -DMPI it asks MPI, as NCCL's own performance
 * tests do: ranks of a host are counted by its name, and the id is broadcast. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_functions.h"

#ifdef MPI
#include <mpi.h>
#endif

typedef struct {
    char internal[128];
} ncclUniqueId;
typedef void *ncclComm_t;
enum { ncclFloat32 = 7, ncclSum = 0, COUNT = 1 << 18 };
int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);

static int rank, nranks, local; /* local: the number on this machine */

#ifdef MPI
static void who(ncclUniqueId *id)
{
    enum { NAME = 256 };
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    char mine[NAME] = "", *all = calloc((size_t)nranks, NAME);
    gethostname(mine, sizeof mine - 1);
    MPI_Allgather(mine, NAME, MPI_CHAR, all, NAME, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < rank; i++)
        local += strcmp(all + i * NAME, mine) == 0;
    free(all);
    if (rank == 0 && ncclGetUniqueId(id))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(id, sizeof *id, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static int end(int wrong)
{
    int all;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all;
}
#else
static int number(const char *const *names)
{
    for (; *names; names++)
        if (getenv(*names))
            return atoi(getenv(*names));
    return -1;
}

static void who(ncclUniqueId *id)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    static const char *const here[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                       NULL};
    rank = number(ranks);
    nranks = number(sizes);
    local = number(here);
    if (rank < 0 || nranks < 1 || local < 0 || ncclGetUniqueId(id))
        exit(2);
}

static int end(int wrong) { return wrong; }
#endif

int main(int argc, char **argv)
{
    ncclUniqueId id;
    ncclComm_t comm;
    float *x = NULL, *y = NULL;
    void *stream;
    int devices = 0, wrong = 0;
    memset(&id, 0, sizeof id);
    who(&id);
    wrong += cudaGetDeviceCount(&devices) != 0 || devices < (argc > 1 ? atoi(argv[1]) : nranks);
    wrong += cudaSetDevice(local % (devices ? devices : 1)) != 0;
    wrong += cudaStreamCreateWithFlags(&stream, 1) != 0;
    wrong += cudaMallocManaged((void **)&x, COUNT * sizeof *x, 1) != 0;
    wrong += cudaMallocManaged((void **)&y, COUNT * sizeof *y, 1) != 0;
    if (wrong || ncclCommInitRank(&comm, nranks, id, rank)) {
        printf("rank %d of %d: %d devices: FAIL\n", rank, nranks, devices);
        exit(1);
    }
    for (size_t n = 1; n <= COUNT; n *= 8) {
        for (size_t i = 0; i < n; i++)
            x[i] = (float)((i + (size_t)rank) % 128);
        wrong += ncclAllReduce(x, y, n, ncclFloat32, ncclSum, comm, stream) || cudaStreamSynchronize(stream);
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (int r = 0; r < nranks; r++)
                sum += (float)((i + (size_t)r) % 128);
            wrong += y[i] != sum;
        }
    }
    wrong += ncclCommDestroy(comm) != 0;
    printf("rank %d of %d: %d devices: %s\n", rank, nranks, devices, wrong ? "FAIL" : "PASS");
    return end(wrong) != 0;
}
