/* Ranks on several hosts, for which CUMU_NCCL_HOST_RANKS lets ranks of this machine stand: ranks that stop, never come
 * or go, strangers at the door, and what is left behind. With TEAM_HOSTS the hosts are network namespaces, and the link
 * between them can go, too. */
#include "sanitize.h"
#include "team.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>

#include "host/mccl/net/door.h"

static void nap(double s) { nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL); }

static void sum(struct rank *r, int *x, size_t n)
{
    RANK(r, mcclAllReduce(x, x, n, mcclInt32, mcclSum, r->comm, r->stream) == mcclSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
}

#define HANGS_S 30 /* what takes a second on an idle machine */

/* The others notice, each with an error of its communicator. */
static void notice(struct rank *r, int *x, double since)
{
    mcclResult_t e = mcclAllReduce(x, x, 100000, mcclInt32, mcclSum, r->comm, r->stream);
    RANK(r, e == mcclSuccess || e == mcclRemoteError);
    RANK(r, e || musaStreamSynchronize(r->stream) != musaSuccess);
    RANK(r, async_error(r, true) == mcclRemoteError);
    RANK(r, seconds() - since < HANGS_S);
}

/* The last rank stops, as by SIGSTOP, until the others have noticed; `arg` counts those. */
static void stopped(struct rank *r)
{
    int *x = device_bytes(r, 1 << 20);
    _Atomic int *noticed = r->arg;
    sum(r, x, 1000);
    double since = seconds();
    if (r->rank < r->nranks - 1) {
        notice(r, x, since);
        ++*noticed;
        return;
    }
    pid_t self = getpid();
    if (fork() == 0) {
        while (*noticed < r->nranks - 1 && seconds() - since < HANGS_S)
            nap(0.01);
        kill(self, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
}

static void cut_off(struct rank *r)
{
    int *x = device_bytes(r, 1 << 20);
    sum(r, x, 1000);
    double since = seconds();
    if (r->rank == r->nranks - 1)
        RANK(r, system("ip link set eth7 down") == 0);
    notice(r, x, since);
    if (r->rank == r->nranks - 1) {
        nap(1.5);
        RANK(r, system("ip link set eth7 up") == 0);
    }
}

/* What the library's calls of it come to: while `scarce`, sockets take messages in parts, or nothing for a while, as
 * those do whose reader is stopped. */
static _Atomic bool scarce;

__attribute__((visibility("default"))) ssize_t send(int fd, const void *from, size_t n, int flags)
{
    static _Atomic unsigned calls;
    if (scarce && flags & MSG_DONTWAIT) {
        unsigned seed = ++calls * 2654435761u, some = (unsigned)rand_r(&seed) % 3;
        n = some == 0 ? 0 : some == 1 ? n : (size_t)rand_r(&seed) % n;
        if (!n) {
            errno = EAGAIN;
            return -1;
        }
    }
    return sendto(fd, from, n, flags, NULL, 0);
}

/* Ranks say that they live in parts of messages; the reason of a failure comes all the same. */
static void in_parts(struct rank *r)
{
    int *x = device_bytes(r, 1 << 20);
    memset(x, 0, 1 << 20);
    sum(r, x, 1000);
    scarce = true;
    for (int i = 0; i < 20; i++) {
        nap(0.05);
        sum(r, x, 1000);
    }
    if (r->rank == r->nranks - 1)
        _exit(0);
    notice(r, x, seconds());
}

static void never_comes(struct rank *r)
{
    double since = seconds();
    if (r->rank == r->nranks - 1)
        return;
    mcclResult_t e = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank);
    RANK(r, e == mcclRemoteError || e == mcclInvalidUsage); /* who comes when the others gave up finds nobody */
    RANK(r, seconds() - since < HANGS_S);
    r->comm = NULL;
}

/* ---- strangers ----------------------------------------------------------------------------------- */

static int connect_to(const struct mccl_place *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(p->port)};
    memcpy(&a.sin_addr, p->address, 4);
    int fd = p->family == AF_INET ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Is the connection closed without a word? */
static bool refused(int fd)
{
    char c;
    struct timeval patience = {HANGS_S, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return recv(fd, &c, 1, 0) <= 0;
}

/* A hello in which one thing is wrong that no rank of any version says (strangers.c has those of other versions). */
static void fake(const mcclUniqueId *id, struct mccl_hello *h, int what)
{
    memset(h, 0, sizeof *h);
    memcpy(&h->id, id, sizeof h->id);
    *h = (struct mccl_hello){.id = h->id, .order = MCCL_ORDER, .bytes = MCCL_BYTES, .nranks = 2, .rank = 0};
    switch (what) {
    case 0: h->id.secret[1] ^= 1; break;
    case 1: h->id.key[0] ^= 1; break;
    case 2: h->rank = 2; break;
    case 3: h->rank = -1; break;
    case 4: h->nranks = 1 << 30; break;
    case 5: memset(h->name, 'x', sizeof h->name); break;
    case 6: memset(h->release, 'x', sizeof h->release); break;
    case 7: memset(h->boot, 'x', sizeof h->boot); break;
    default: h->second = 7;
    }
}

/* Whoever comes to the door and is none of the ranks is turned away, and those find each other all the same. */
static void strangers(struct rank *r)
{
    struct mccl_id id;
    memcpy(&id, &r->id, sizeof id);
    if (r->rank == 0) {
        struct mccl_hello h;
        int silent[3];
        for (int i = 0; i < 3; i++)
            silent[i] = connect_to(&id.door);
        for (int what = 0; what < 9; what++) {
            int fd = connect_to(&id.door);
            fake(&r->id, &h, what);
            RANK(r, fd >= 0 && send(fd, &h, sizeof h, MSG_NOSIGNAL) == sizeof h && refused(fd));
            close(fd);
        }
        unsigned seed = 1;
        for (int i = 0; i < 40; i++) { /* noise of any length */
            char noise[2000];
            size_t n = (size_t)rand_r(&seed) % sizeof noise;
            for (size_t k = 0; k < n; k++)
                noise[k] = (char)rand_r(&seed);
            int fd = connect_to(&id.door);
            (void)!send(fd, noise, n, MSG_NOSIGNAL);
            close(fd);
        }
        for (int i = 0; i < 3; i++)
            close(silent[i]);
    }
    RANK(r, mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank) == mcclSuccess);
    int *x = device_bytes(r, 4);
    *x = r->rank;
    sum(r, x, 1);
    RANK(r, *x == r->nranks * (r->nranks - 1) / 2);
}

/* ---- what is left behind --------------------------------------------------------------------------- */

static void nothing(void *unused) { (void)unused; }

/* Communicators that come and go, in order or by an abort: threads and descriptors are as many as before. */
static void left_behind(struct rank *r)
{
    mcclUniqueId *ids = r->arg;
    int *x = device_bytes(r, 1 << 16), files = 0, threads = 0;
    /* The stream's own thread is there from the start: calls may do without it. */
    RANK(r, musaLaunchHostFunc(r->stream, nothing, NULL) == musaSuccess);
    for (int i = 0; i < 6; i++) {
        mcclComm_t c = NULL;
        RANK(r, mcclCommInitRank(&c, r->nranks, ids[i], r->rank) == mcclSuccess);
        /* Another rank may have aborted already. */
        RANK(r, mcclAllReduce(x, x, 1 << 14, mcclInt32, mcclSum, c, r->stream) == mcclSuccess || i % 3);
        if (i % 3 < 2)
            RANK(r, musaStreamSynchronize(r->stream) == musaSuccess || i % 3);
        RANK(r, (i % 3 ? mcclCommAbort(c) : mcclCommDestroy(c)) == mcclSuccess);
        (void)musaStreamSynchronize(r->stream);
        for (int k = 0; k < 500 && i && (entries("/proc/self/fd") > files || entries("/proc/self/task") > threads); k++)
            nap(0.02); /* what ends by itself */
        if (!i) {
            nap(0.1);
            files = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
        RANK(r, entries("/proc/self/fd") <= files);
        RANK(r, entries("/proc/self/task") <= threads);
    }
}

/* The ids are made by a process that stays until all is done. */
static pid_t make_ids(mcclUniqueId *ids, int n, int *way)
{
    pid_t self = getpid(), maker = pipe(way) ? -1 : fork();
    if (maker)
        return maker;
    team_end_with(self);
    for (int i = 0; i < n; i++)
        if (mcclGetUniqueId(&ids[i]))
            _exit(1);
    if (write(way[1], ids, (size_t)n * sizeof *ids) < 0)
        _exit(1);
    for (;;)
        pause();
}

int main(void)
{
    if (CUMU_TSAN) { /* ranks are forked, and UCX, which is not built for it, begins threads in them */
        printf("skip mccl hosts: UCX under TSan\n");
        return 77;
    }
    if (!team_can_open("libucp.so.0")) {
        printf("skip mccl hosts: no libucp.so.0 (Debian: libucx0)\n");
        return 77;
    }
    setenv("CUMU_NCCL_HOST_RANKS", "1", 0);
    setenv("CUMU_NCCL_JOIN_SECONDS", "2", 1);
    setenv("UCX_TLS", "tcp,self", 0);
    report(team_run(PROCESSES, 3, false, never_comes, NULL), "a rank never comes");
    setenv("CUMU_NCCL_JOIN_SECONDS", "50", 1);
    report(team_run(PROCESSES, 2, false, strangers, NULL), "strangers at the door");
    _Atomic int *noticed = mmap(NULL, sizeof *noticed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    report(noticed != MAP_FAILED && team_run(PROCESSES, 3, true, stopped, noticed), "a rank stops");
    if (getenv("TEAM_HOSTS"))
        report(team_run(PROCESSES, 4, true, cut_off, NULL), "the link between the hosts goes down");
    setenv("CUMU_NCCL_SILENCE_MS", "3000", 1); /* one word in three gets through */
    for (int i = 2; i <= 4; i++) {
        team_doom(i - 1);
        report(team_run(PROCESSES, i, true, in_parts, NULL), "%d ranks whose sockets take messages in parts", i);
    }
    mcclUniqueId ids[6];
    int way[2];
    pid_t maker = make_ids(ids, 6, way);
    if (!getenv("TEAM_HOSTS") && maker > 0 && read(way[0], ids, sizeof ids) == (ssize_t)sizeof ids)
        report(team_run(PROCESSES, 2, false, left_behind, ids), "nothing is left behind");
    if (maker > 0)
        kill(maker, SIGKILL);
    return check_end("mccl hosts");
}
