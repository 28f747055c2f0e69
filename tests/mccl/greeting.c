/* A rank gives up while ranks of several hosts make ways to each other, by UCX, which may not be closed then at once:
 * all hear of it, and soon have no descriptor and no thread more than before. (UCX ends the process, now and then, if a
 * rank is killed just then: shim/host/mccl/README.md.) */
#include "sanitize.h"
#include "team.h"

#include "host/mccl/net/door.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAP_NS = 200000 }; /* between two looks of one that greets (shim/host/mccl/net/wire.c) */

static _Atomic int to_let_in; /* 0: all */
static _Atomic int naps_left; /* then the rank gives up */
static _Atomic bool gives_up;

__attribute__((visibility("default"))) int nanosleep(const struct timespec *t, struct timespec *left)
{
    if (naps_left && t->tv_nsec == NAP_NS && --naps_left == 0)
        gives_up = true;
    if (to_let_in && t->tv_nsec == NAP_NS)
        nap_us(50000);
    return (int)syscall(SYS_nanosleep, t, left);
}

/* Of rank 0, which all keep in touch with: it lets the last one in when it has told the others that it is no use. */
static _Atomic bool told;
static bool comes_last;

__attribute__((visibility("default"))) int accept4(int fd, struct sockaddr *at, socklen_t *size, int flags)
{
    static double since;
    since = since > 0 || to_let_in != 1 ? since : seconds();
    if (to_let_in == 1 && !told && seconds() < since + 0.5) { /* should it be the one that gives up, nobody is told */
        errno = EAGAIN;
        return -1;
    }
    const int got = (int)syscall(SYS_accept4, fd, at, size, flags);
    to_let_in -= got >= 0 && to_let_in > 0;
    return got;
}

__attribute__((visibility("default"))) ssize_t send(int fd, const void *from, size_t n, int flags)
{
    const struct mccl_saying *s = from;
    if (n == sizeof *s && s->word == MCCL_FAILED)
        told = true;
    return sendto(fd, from, n, flags, NULL, 0);
}

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to, socklen_t size)
{
    if (comes_last && to->sa_family == AF_INET)
        nap_us(60000);
    return (int)syscall(SYS_connect, fd, to, size);
}

static int given_up(void *unused) { return (void)unused, gives_up; }

struct plan {
    int who, naps;
    bool late; /* the last one is let in after it has failed */
};

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    musaFree(NULL);
    const int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    if (r->rank == p->who)
        naps_left = p->naps;
    to_let_in = p->late && r->rank == 0 ? r->nranks - 1 : 0;
    comes_last = p->late && r->rank == r->nranks - 1;
    const double since = seconds();
    cumu_mccl_while(given_up, NULL);
    const mcclResult_t e = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank);
    RANK(r, e == mcclRemoteError || (!e && p->naps > 1)); /* which may be one more than there are */
    RANK(r, seconds() - since < 2);
    if (getenv("GREETING_SHOW"))
        printf("# rank %d: %.2f s\n", r->rank, seconds() - since);
    if (!e)
        RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
    int f = files + 1, t = threads + 1;
    for (const double until = seconds() + 8; (f > files || t > threads) && seconds() < until; nap_us(10000)) {
        f = entries("/proc/self/fd");
        t = entries("/proc/self/task");
    }
    RANK(r, f <= files && t <= threads);
    if (f > files || t > threads)
        printf("# %d descriptors where %d were, %d threads where %d were\n", f, files, t, threads);
}

int main(void)
{
    if (CUMU_TSAN || !team_can_open("libucp.so.0")) { /* ranks are forked, and UCX begins threads in them */
        printf("skip mccl greeting: %s\n", CUMU_TSAN ? "UCX under TSan" : "no libucp.so.0 (Debian: libucx0)");
        return 77;
    }
    setenv("CUMU_HOST_DEVICES", "4", 1);
    setenv("CUMU_NCCL_HOST_RANKS", "1", 1);
    setenv("UCX_TLS", "tcp,self", 1);
    for (int who = 0; who < 4; who += 2)
        for (int naps = 1; naps <= 4; naps++)
            report(team_run(PROCESSES, 4, false, body, &(struct plan){who, naps, false}), "rank %d gives up at look %d",
                   who, naps);
    report(team_run(PROCESSES, 4, false, body, &(struct plan){1, 1, true}), "the last one hears of it, too");
    return check_end("mccl greeting");
}
