/* Ranks that find each other without their communicator, on one host and on several: all of them, some, after it was
 * aborted, and when one that should come is gone or has no descriptor to come by. */
#include "sanitize.h"
#include "team.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 8, BIG = 5000 };

static int never(void *arg) { return (void)arg, 0; }
static int at_once(void *arg) { return (void)arg, 1; }

/* Ranks first to last - 1 but that one meet, each with so many bytes made of its rank. */
static mcclResult_t meet_but(struct rank *r, struct mccl_reunion *u, uint64_t key, int first, int last, int without,
                             uint32_t size, char *text)
{
    int ranks[MOST], n = 0;
    for (int q = first; q < last; q++)
        if (q != without)
            ranks[n++] = q;
    unsigned char *mine = malloc(size), *all = calloc((size_t)n, size);
    memset(mine, 'a' + r->rank, size);
    struct mccl_reunite m = {
        .key = key, .ranks = ranks, .n = n, .size = size, .mine = mine, .all = all, .given_up = never};
    mcclResult_t result = cumu_mccl_reunite(u, &m);
    for (int i = 0; i < n && !result; i++)
        RANK(r, all[(size_t)i * size] == 'a' + ranks[i] && all[(size_t)(i + 1) * size - 1] == 'a' + ranks[i]);
    if (text)
        strcpy(text, m.text);
    else if (result)
        printf("# rank %d: %s\n", r->rank, m.text);
    free(mine);
    free(all);
    return result;
}

static mcclResult_t meet(struct rank *r, struct mccl_reunion *u, uint64_t key, int first, int last, uint32_t size,
                         char *text)
{
    return meet_but(r, u, key, first, last, -1, size, text);
}

static void meets(struct rank *r)
{
    struct mccl_reunion *u = cumu_mccl_reunion(r->comm);
    RANK(r, u);
    for (uint64_t k = 0; k < 5; k++) /* one after the other: who is late for one is early for the next */
        RANK(r, meet(r, u, k, 0, r->nranks, k ? BIG : 1, NULL) == mcclSuccess);
    if (r->rank) /* two meetings at once, and a rank that is in neither */
        RANK(r, meet(r, u, 77, r->rank < 3 ? 1 : 3, r->rank < 3 ? 3 : r->nranks, 128, NULL) == mcclSuccess);
    RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
    RANK(r, meet(r, u, 99, 0, r->nranks, 128, NULL) == mcclSuccess);
    cumu_mccl_reunion_free(u);
}

/* The rank that is told leaves; nobody waits for it for ever, and everybody hears which one it was. */
static void misses(struct rank *r)
{
    struct mccl_reunion *u = cumu_mccl_reunion(r->comm);
    const int gone = *(int *)r->arg;
    char text[sizeof((struct mccl_reunite *)0)->text], want[32];
    RANK(r, meet(r, u, 1, 0, r->nranks, 16, NULL) == mcclSuccess); /* nobody is gone before all have begun */
    RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
    snprintf(want, sizeof want, "rank %d, at ", gone);
    if (r->rank != gone) {
        RANK(r, meet(r, u, 2, 0, r->nranks, 16, text) == mcclRemoteError);
        RANK(r, strncmp(text, want, strlen(want)) == 0);
        /* Who is late for the meeting that failed is told so by the next one. */
        RANK(r, meet_but(r, u, 3, 0, r->nranks, gone, 16, NULL) == mcclSuccess);
    }
    cumu_mccl_reunion_free(u);
}

/* One that waits is told that it is no use. */
static void gives_up(struct rank *r)
{
    struct mccl_reunion *u = cumu_mccl_reunion(r->comm);
    int ranks[] = {0, 1};
    char mine = 0, all[2];
    struct mccl_reunite m = {
        .key = 5, .ranks = ranks, .n = 2, .size = 1, .mine = &mine, .all = all, .given_up = at_once};
    if (r->rank == 0)
        RANK(r, cumu_mccl_reunite(u, &m) == mcclRemoteError && strcmp(m.text, "given up") == 0);
    m.key = 6;
    RANK(r, meet(r, u, 7, 0, r->nranks, 1, NULL) == mcclSuccess);
    if (r->rank == 1)
        RANK(r, cumu_mccl_reunite(u, &m) == mcclRemoteError && strcmp(m.text, "given up") == 0);
    RANK(r, meet(r, u, 8, 0, r->nranks, 1, NULL) == mcclSuccess);
    m.ranks = (int[]){0, 9};
    RANK(r, cumu_mccl_reunite(u, &m) == mcclInvalidArgument);
    cumu_mccl_reunion_free(u);
}

/* A rank is killed. A child of it, as of a program that loads data, holds its door open; its process has ended all the
 * same. */
static void leaves_a_child(struct rank *r)
{
    struct mccl_reunion *u = cumu_mccl_reunion(r->comm);
    const int gone = *(int *)r->arg;
    char text[sizeof((struct mccl_reunite *)0)->text];
    RANK(r, u && !cumu_mccl_reunion(NULL));
    RANK(r, meet(r, u, 1, 0, r->nranks, 16, NULL) == mcclSuccess);
    if (r->rank == gone) {
        pid_t maker = r->maker;
        if (fork() == 0) { /* until the team is over */
            fclose(stdout);
            for (int i = 0; i < 6000 && kill(maker, 0) == 0; i++)
                usleep(10000);
            _exit(0);
        }
        _exit(0);
    }
    RANK(r, meet(r, u, 2, 0, r->nranks, 16, text) == mcclRemoteError);
    RANK(r, getenv("TEAM_PIDS") || strstr(text, "its process has ended"));
    RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
    RANK(r, meet_but(r, u, 3, 0, r->nranks, gone, 16, NULL) == mcclSuccess);
    cumu_mccl_reunion_free(u);
}

/* A rank has hardly a descriptor left, and another one may come late. All hear the same, soon, though nobody leaves or
 * meets again; and the same ranks may try it again. */
struct scarcity {
    int poor, spare, late;
};
static _Atomic int *ends; /* shared: ranks that know, and how many of them that it failed */

static void lacks_descriptors(struct rank *r)
{
    enum { MOST_OPEN = 256 };
    struct mccl_reunion *u = cumu_mccl_reunion(r->comm);
    const struct scarcity *s = r->arg;
    int taken[MOST_OPEN], n = 0;
    struct rlimit all, few;
    RANK(r, meet(r, u, 1, 0, r->nranks, 16, NULL) == mcclSuccess);
    getrlimit(RLIMIT_NOFILE, &all);
    few = all;
    few.rlim_cur = MOST_OPEN;
    if (r->rank == s->poor && setrlimit(RLIMIT_NOFILE, &few) == 0) {
        for (int fd; (fd = dup(0)) >= 0;)
            taken[n++] = fd;
        for (int i = 0; i < s->spare; i++)
            close(taken[--n]);
    }
    if (r->rank == s->late)
        sleep(4);
    const double since = seconds();
    char text[sizeof((struct mccl_reunite *)0)->text] = "";
    const bool fails = meet(r, u, 2, 0, r->nranks, 16, text) != mcclSuccess;
    RANK(r, seconds() - since < (s->late < 0 || s->late == r->rank ? 3 : 6));
    RANK(r, !fails || strstr(text, strerror(EMFILE)));
    RANK(r, fails || s->spare);
    ends[1] += fails;
    ends[0]++;
    for (const double until = seconds() + 10; ends[0] % r->nranks && seconds() < until;)
        nap_us(1000);
    RANK(r, ends[1] == 0 || ends[1] == r->nranks);
    while (n)
        close(taken[--n]);
    setrlimit(RLIMIT_NOFILE, &all);
    RANK(r, meet(r, u, 2, 0, r->nranks, 16, NULL) == mcclSuccess);
    cumu_mccl_reunion_free(u);
}

/* One that never comes is given up by those that wait for it, at any time of the joining. */
static int after_a_while(void *since) { return seconds() > *(double *)since + 0.2; }
static void waits_no_more(struct rank *r)
{
    double since = seconds();
    mcclComm_t c = NULL;
    if (r->rank == r->nranks - 1)
        return;
    cumu_mccl_while(after_a_while, &since);
    RANK(r, mcclCommInitRank(&c, r->nranks, r->id, r->rank) != mcclSuccess && !c);
    cumu_mccl_while(NULL, NULL);
    RANK(r, seconds() - since < 20);
}

int main(void)
{
    if (CUMU_TSAN || !team_can_open("libucp.so.0")) { /* ranks are forked, and UCX begins threads in them */
        printf("skip mccl reunion: %s\n", CUMU_TSAN ? "UCX under TSan" : "no libucp.so.0 (Debian: libucx0)");
        return 77;
    }
    setenv("CUMU_HOST_DEVICES", "8", 1);
    setenv("UCX_TLS", "tcp,self", 0);
    unsetenv("CUMU_NCCL_HOST_RANKS");
    ends = mmap(NULL, 2 * sizeof *ends, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool spaces = getenv("TEAM_HOSTS") != NULL;
    for (int hosts = 1 + spaces; hosts <= 2; hosts++) {
        const char *where = hosts == 1 ? "one host" : "two hosts";
        if (hosts > 1 && !spaces)
            setenv("CUMU_NCCL_HOST_RANKS", "2", 1);
        report(team_run(PROCESSES, 5, true, meets, NULL), "all and some, at once and one after the other, %s", where);
        for (int gone = 0; gone < 4; gone++)
            report(team_run(PROCESSES, 4, true, misses, &gone), "rank %d is gone, %s", gone, where);
        report(team_run(PROCESSES, 3, true, gives_up, NULL), "it is no use, %s", where);
        report(team_run(PROCESSES, 4, false, waits_no_more, NULL), "joining is no use, %s", where);
        for (int i = 0; i < 2 * 3 + 2; i++) {
            const struct scarcity plans[] = {{.poor = 0, .late = 2}, {.poor = 2, .late = 0}};
            struct scarcity s = i < 6 ? (struct scarcity){.poor = i % 2 ? 3 : 0, .spare = i / 2, .late = -1}
                                      : plans[i - 6];
            ends[0] = ends[1] = 0;
            report(team_run(PROCESSES, 4, true, lacks_descriptors, &s), "rank %d has %d descriptors, %d is late, %s",
                   s.poor, s.spare, s.late, where);
        }
        for (int gone = 0; gone < 3 && hosts == 1; gone++)
            report(team_run(PROCESSES, 3, true, leaves_a_child, &gone), "rank %d has ended and left a child", gone);
    }
    return check_end("mccl reunion");
}
