/* Ranks that meet while a process has hardly a descriptor left: a rank, or who made the id. Whatever comes of it, it
 * comes soon and to all: each rank has a communicator that works, or an error. */
#include "team.h"

#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 12, LIMIT_S = 20 }; /* what takes a second on an idle machine; who never comes is waited for 600 s */

static rlim_t open_now(void)
{
    DIR *d = opendir("/proc/self/fd");
    rlim_t n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 2;
}

static void leave_only(int spare)
{
    struct rlimit l = {open_now() + (rlim_t)spare, open_now() + (rlim_t)spare};
    setrlimit(RLIMIT_NOFILE, &l);
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
    for (double end = seconds() + 1; r->rank == p->poor && seconds() < end;)
        usleep(10000);
}

int main(int count, char **arguments)
{
    bool makers = count > 1 && !strcmp(arguments[1], "makers"); /* those alone */
    setenv("CUMU_HOST_DEVICES", "4", 1);
    /* A rank that cannot even say that it has come is waited for as any that never comes. */
    setenv("CUMU_NCCL_JOIN_SECONDS", "3", 1);
    for (int spare = makers ? MOST + 1 : 0; spare <= MOST; spare += 2) {
        struct plan p = {spare, spare % 3};
        report(team_run(PROCESSES, 3, false, body, &p), "rank %d has %d descriptors left", p.poor, spare);
    }
    for (int spare = 0; spare <= 5; spare++) {
        char text[16];
        snprintf(text, sizeof text, "%d", spare);
        setenv("TEAM_SPARE", text, 1);
        setenv("CUMU_NCCL_JOIN_SECONDS", "600", 1);
        report(team_run(PROCESSES, 3, false, body, &(struct plan){0, -1}), "who made the id has %d left", spare);
    }
    return check_end("mccl scarce");
}
