/* Who is turned away at the door of an id, and what all ranks then hear: ranks of other builds of cumu, which are drawn
 * from what such may say (`strangers [SEED [ROUNDS]]`), and ranks of another user; and those that come too late. */
#include "team.h"

#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/mccl/net/door.h"

enum { OTHER_USER = 12345, LATE_RANKS = 4, LATE_MS = 300, SOON_MS = 5000, TEXT = 4096 };

struct foreign { /* a build that differs */
    char magic;  /* the last byte of its protocol */
    bool net, other_order;
    uint32_t bytes; /* its layout */
    size_t size;    /* of its hello */
    char release[16];
    char expected[200];
};

static uint64_t state;
static uint64_t draw(uint64_t n)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u; /* SplitMix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % n;
}

/* Joins, which must fail soon, and says what the program is told: the text of standard error. */
static void join_refused(struct rank *r, const char *expected)
{
    char text[TEXT];
    struct caught caught = stderr_catch();
    double began = seconds();
    mcclResult_t result = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank);
    double took = seconds() - began;
    stderr_caught(caught, text, sizeof text);
    RANK(r, result == mcclInvalidUsage && took < SOON_MS / 1e3);
    bool named = strstr(text, expected) != NULL;
    RANK(r, named);
    if (!named)
        printf("# rank %d: expected \"%s\", got %d: %s\n", r->rank, expected, (int)result, text);
}

static int call_on(const struct mccl_id *id, bool net)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(id->door.port)};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cumu-mccl-%016llx%016llx",
                     (unsigned long long)id->key[0], (unsigned long long)id->key[1]);
    memcpy(&at.sin_addr, id->door.address, sizeof at.sin_addr);
    int fd = net ? socket(AF_INET, SOCK_STREAM, 0) : socket(AF_UNIX, SOCK_SEQPACKET, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (connect(fd, net ? (struct sockaddr *)&at : (struct sockaddr *)&name, net ? sizeof at : length) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Rank 1 is of another build; rank 2 comes when all is over. */
static void mixed(struct rank *r)
{
    const struct foreign *f = r->arg;
    struct mccl_id id;
    memcpy(&id, &r->id, sizeof id);
    if (r->rank == 2)
        usleep(LATE_MS * 1000);
    if (r->rank != 1) {
        join_refused(r, f->expected);
        return;
    }
    char hello[2 * sizeof(struct mccl_hello)] = {0};
    struct mccl_hello *h = (struct mccl_hello *)hello;
    struct mccl_reply reply = {0};
    h->id = id;
    h->id.magic[7] = f->magic;
    h->order = f->other_order ? __builtin_bswap32(MCCL_ORDER) : MCCL_ORDER;
    h->bytes = f->bytes;
    h->nranks = r->nranks;
    h->rank = r->rank;
    memcpy(h->release, f->release, sizeof h->release);
    int fd = call_on(&id, f->net);
    RANK(r, fd >= 0 && send(fd, hello, f->size, MSG_NOSIGNAL) == (ssize_t)f->size);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    RANK(r, poll(&p, 1, SOON_MS) == 1 && recv(fd, &reply, sizeof reply, MSG_WAITALL) == sizeof reply);
    RANK(r, reply.result == mcclInvalidUsage && strstr(reply.reason, f->expected));
    close(fd);
}

/* One that is like ours in all but some of what it says. */
static struct foreign draw_build(const char *ours)
{
    struct foreign f = {.magic = ours[7], .bytes = MCCL_BYTES, .net = draw(2)};
    const size_t least = MCCL_HELLO_PREFIX, most = 2 * sizeof(struct mccl_hello);
    snprintf(f.release, sizeof f.release, "%d.%d", (int)draw(20), (int)draw(100));
    int which = (int)draw(4);
    if (which == 0)
        f.magic = (char)(ours[7] + 1 + (char)draw(5));
    if (which == 1)
        f.magic = (char)(ours[7] - 1 - (char)draw(3));
    if (which == 2)
        f.other_order = true;
    if (which == 3 || draw(2))
        f.bytes += 1 + (uint32_t)draw(9999);
    f.size = draw(3) ? least + draw(most - least) : sizeof(struct mccl_hello);
    if (f.other_order)
        snprintf(f.expected, sizeof f.expected, "a rank comes from a machine of another byte order");
    else if (f.magic < '6')
        snprintf(f.expected, sizeof f.expected, "rank 1 runs an older version of cumu, protocol %c; who made", f.magic);
    else
        snprintf(f.expected, sizeof f.expected, "rank 1 runs cumu %s, protocol %c, layout %u; who made the id runs ",
                 f.release, f.magic, (unsigned)f.bytes);
    return f;
}

/* A rank is given an id of another version. */
static void foreign_id(struct rank *r)
{
    mcclComm_t comm;
    char text[TEXT];
    r->id.internal[7]++;
    struct caught caught = stderr_catch();
    RANK(r, mcclCommInitRank(&comm, r->nranks, r->id, r->rank) == mcclInvalidArgument);
    stderr_caught(caught, text, sizeof text);
    RANK(r, strstr(text, "another version of cumu made the id"));
}

static int visit(const struct rank *r, int rank, int second)
{
    struct mccl_hello h = {.order = MCCL_ORDER, .bytes = MCCL_BYTES, .nranks = LATE_RANKS, .rank = rank};
    memcpy(&h.id, &r->id, sizeof h.id);
    h.second = second;
    h.user = geteuid();
    h.process = 100 + (uint64_t)rank;
    int fd = call_on(&h.id, true);
    return fd < 0 || send(fd, &h, sizeof h, MSG_NOSIGNAL) == sizeof h ? fd : -1;
}

/* Ranks of several hosts, all spoken for here, come twice. The first one is lost between, the others hear of it and
 * end; so does the last one, which comes later. */
static void late(struct rank *r)
{
    int line[LATE_RANKS];
    for (int i = 0; i < LATE_RANKS; i++)
        line[i] = visit(r, i, 0);
    for (int i = 0; i < LATE_RANKS; i++) {
        struct mccl_reply reply = {.result = mcclInProgress};
        while (reply.result == mcclInProgress && recv(line[i], &reply, sizeof reply, MSG_WAITALL) == sizeof reply)
            ;
        RANK(r, (int)reply.result == MCCL_SPANS);
    }
    close(line[0]);
    for (int i = LATE_RANKS - 1; i; i--) {
        char text[MCCL_REASON] = "";
        struct mccl_frame frame = {.type = 0};
        usleep(i == 1 ? LATE_MS * 1000 : 0);
        int fd = visit(r, i, 1);
        RANK(r, fd >= 0 && recv(fd, &frame, sizeof frame, MSG_WAITALL) == sizeof frame);
        RANK(r, frame.type == MCCL_REFUSAL && frame.bytes <= sizeof text &&
                    recv(fd, text, frame.bytes, MSG_WAITALL) == (ssize_t)frame.bytes && strstr(text, "rank 0 on host"));
        close(fd);
        close(line[i]);
    }
}

static void become_another(struct rank *r)
{
    RANK(r, !setgroups(0, NULL) && !setresgid(OTHER_USER, OTHER_USER, OTHER_USER) &&
                !setresuid(OTHER_USER, OTHER_USER, OTHER_USER));
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* which that took back */
}

/* Ranks of two users: rank 1 or, of many, each odd one is another's. */
static void users(struct rank *r)
{
    if (r->rank % 2)
        become_another(r);
    join_refused(r, "belongs to another user, 12345, than who made the id, 0");
}

static void sum_up(struct rank *r)
{
    RANK(r, mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank) == mcclSuccess);
    if (r->wrong)
        return;
    for (size_t n = 1; n < 1 << 18; n *= 8) {
        int *x = device_bytes(r, n * sizeof *x);
        for (size_t k = 0; k < n; k++)
            x[k] = r->rank + (int)k;
        RANK(r, mcclAllReduce(x, x, n, mcclInt32, mcclSum, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        size_t wrong = 0;
        for (size_t k = 0; k < n; k++)
            wrong += x[k] != r->nranks * (r->nranks - 1) / 2 + r->nranks * (int)k;
        RANK(r, !wrong);
    }
}

/* All of them, and who makes the id, are another user's. */
static bool run_as_another(int nranks)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rank self = {0};
        become_another(&self);
        _exit(self.wrong || !team_run(PROCESSES, nranks, false, sum_up, NULL));
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char **arguments)
{
    int seed = count > 1 ? atoi(arguments[1]) : 1, rounds = count > 2 ? atoi(arguments[2]) : 20;
    char ours[8];
    mcclUniqueId id;
    setenv("CUMU_HOST_DEVICES", "4", 1);
    setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
    int pipes[2];
    if (pipe(pipes) || !fork()) { /* this process must not use MUSA yet */
        (void)!write(pipes[1], &id, mcclGetUniqueId(&id) ? 0 : sizeof id);
        _exit(0);
    }
    close(pipes[1]);
    EXPECT(read(pipes[0], &id, sizeof id) == sizeof id);
    memcpy(ours, &id, sizeof ours);
    for (int i = 0; i < rounds; i++) {
        state = (uint64_t)(seed + i) << 32;
        struct foreign f = draw_build(ours);
        report(team_run(PROCESSES, 3, false, mixed, &f), "build %d: %s%s", seed + i, f.expected,
               f.net ? ", by TCP" : "");
    }
    report(team_run(PROCESSES, 1, false, foreign_id, NULL), "another version's id");
    report(team_run(PROCESSES, 1, false, late, NULL), "who comes when a rank is lost, and others have ended");
    if (geteuid() == 0) {
        for (int n = 2; n <= 4; n += 2)
            report(team_run(PROCESSES, n, false, users, NULL), "%d ranks of two users", n);
        for (int n = 2; n <= 4; n++)
            report(run_as_another(n), "%d ranks of another user", n);
    }
    return check_end("mccl strangers");
}
