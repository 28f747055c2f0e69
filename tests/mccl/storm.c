/* A storm of initialisations: every rank enters forty communicators at once, a thread each, sums over all of them and
 * leaves; and once more. Of eight ranks that is 320 initialisations, which meet on two hosts with a /dev/shm of the
 * size that containers have (run.sh). What they took is given back.
 * usage: storm [RANKS] */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../shim/sanitize.h"
#include "team.h"

enum { COMMS = CUMU_TSAN || CUMU_ASAN ? 8 : 40, ROUNDS = 2 };
static struct shared {
    mcclUniqueId id[ROUNDS][COMMS];
    _Atomic int made; /* rounds whose ids are there */
} * shared;

struct entry {
    struct rank *rank;
    const mcclUniqueId *id;
    mcclResult_t result;
    mcclComm_t comm;
};
static void *enter(void *argument)
{
    struct entry *e = argument;
    musaSetDevice(e->rank->rank);
    e->result = mcclCommInitRank(&e->comm, e->rank->nranks, *e->id, e->rank->rank);
    return NULL;
}

static void one_round(struct rank *r, int round)
{
    struct entry e[COMMS];
    pthread_t thread[COMMS];
    int *x = device_bytes(r, sizeof *x), sums = 0;
    while (shared->made <= round)
        usleep(200);
    for (int k = 0; k < COMMS; k++) {
        e[k] = (struct entry){r, &shared->id[round][k], mcclSuccess, NULL};
        RANK(r, !pthread_create(&thread[k], NULL, enter, &e[k]));
    }
    for (int k = 0; k < COMMS; k++) {
        pthread_join(thread[k], NULL);
        RANK(r, e[k].result == mcclSuccess && e[k].comm);
    }
    for (int k = 0; k < COMMS && e[k].comm; k++) {
        *x = 1;
        sums += !mcclAllReduce(x, x, 1, mcclInt32, mcclSum, e[k].comm, r->stream) &&
                !musaStreamSynchronize(r->stream) && *x == r->nranks;
    }
    RANK(r, sums == COMMS);
    for (int k = 0; k < COMMS; k++)
        RANK(r, !e[k].comm || mcclCommDestroy(e[k].comm) == mcclSuccess);
}

static void body(struct rank *r)
{
    int files = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (r->rank == 0) {
            for (int k = 0; k < COMMS; k++)
                RANK(r, mcclGetUniqueId(&shared->id[round][k]) == mcclSuccess);
            shared->made = round + 1;
        }
        one_round(r, round);
        for (int patience = 0; files && entries("/proc/self/fd") > files && patience < 100; patience++)
            usleep(20000); /* what others hold of a communicator goes a little later */
        RANK(r, !files || entries("/proc/self/fd") <= files);
        files = entries("/proc/self/fd") + 8; /* the library's own, which stay */
    }
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_DEVICES", "8", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    report(team_run(PROCESSES, argc > 1 ? atoi(argv[1]) : 8, false, body, NULL), "%d communicators at once", COMMS);
    return check_end("mccl storm");
}
