/* Ranks that meet while a process has hardly a descriptor left: a rank, or who made the id. Whatever comes of it, it
 * comes soon and to all: each rank has a communicator that works, or an error. */
#include "team.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST = 12,
    MOST_OF_HOSTS = 48,
    OPEN = 256,
    THREADS_MOST = 180,
    LIMIT_S = 20
}; /* what takes a second on an idle machine; who never comes is waited for 600 s */

static void leave_only(int spare)
{
    struct rlimit l;
    int last[OPEN], n = 0;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = OPEN;
    setrlimit(RLIMIT_NOFILE, &l);
    for (int fd; (fd = dup(0)) >= 0;)
        last[n++] = fd;
    while (n && spare--)
        close(last[--n]);
}

struct plan {
    int spare, poor; /* descriptors that this rank has */
};

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    int *x = device_bytes(r, 4);
    double since = seconds();
    *x = r->rank;
    musaFree(NULL);
    if (r->rank == p->poor)
        leave_only(p->spare);
    mcclResult_t e = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank);
    if (!e)
        e = mcclAllReduce(x, x, 1, mcclInt32, mcclSum, r->comm, r->stream);
    if (!e && musaStreamSynchronize(r->stream) == musaSuccess)
        RANK(r, *x == r->nranks * (r->nranks - 1) / 2);
    RANK(r, seconds() - since < LIMIT_S);
    if (r->comm)
        RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
    /* It goes on, as a program may that has handled the error: its end is not what tells the others. */
    for (double end = seconds() + 0.3; r->rank == p->poor && seconds() < end;)
        usleep(10000);
}

/* Ranks of one process, which share its descriptors: UCX must find those that it wants while others open theirs. */
static void joins(struct rank *r)
{
    const double since = seconds();
    if (mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank) == mcclSuccess)
        RANK(r, mcclCommDestroy(r->comm) == mcclSuccess);
    RANK(r, seconds() - since < LIMIT_S);
    r->comm = NULL;
}

static bool threads(int n, int spare)
{
    int status = -1;
    fflush(stdout);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        team_end_with(parent);
        musaFree(NULL);
        leave_only(spare);
        const bool good = team_run(THREADS, n, false, joins, NULL);
        fflush(stdout);
        _exit(!good);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char **arguments)
{
    bool makers = count > 1 && !strcmp(arguments[1], "makers"); /* those alone */
    setenv("CUMU_HOST_DEVICES", "8", 1);
    const int most = getenv("CUMU_NCCL_HOST_RANKS") ? MOST_OF_HOSTS : MOST;
    for (int spare = 0; spare <= most && !makers; spare += 1 + (spare >= MOST)) {
        struct plan p = {spare, spare % 3};
        report(team_run(PROCESSES, 3, false, body, &p), "rank %d has %d descriptors left", p.poor, spare);
    }
    for (int spare = 0; spare <= 5; spare++) {
        char text[16];
        snprintf(text, sizeof text, "%d", spare);
        setenv("TEAM_SPARE", text, 1);
        report(team_run(PROCESSES, 3, false, body, &(struct plan){0, -1}), "who made the id has %d left", spare);
    }
    for (int spare = 100; spare <= THREADS_MOST && most == MOST_OF_HOSTS && !makers; spare += 10)
        report(threads(8, spare), "8 ranks of one process that has %d descriptors left", spare);
    return check_end("mccl scarce");
}
