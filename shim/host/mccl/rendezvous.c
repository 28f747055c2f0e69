/* How the ranks of a communicator find each other. Who makes the unique id listens, in a thread of its
 * own, on the abstract socket whose name is the id's random key; every rank calls there, and when all have
 * come, each is handed the same shared memory. An abstract name and a memfd leave nothing behind, however
 * a process ends. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/mccl.h"

#define HELLO_S 10 /* who connects must say its rank within that */

struct id { /* what an mcclUniqueId holds */
    char magic[8];
    uint64_t key[2];
};
static const char magic[8] = "cumumccl";

struct hello { /* from a rank */
    struct id id;
    int nranks, rank, device;
    pid_t pid;
    ino_t pids; /* the namespace that the pid is of */
    uint64_t process;
    cpu_set_t cpus;
};

struct reply { /* back to it; with the memory's descriptor if result is 0 */
    mcclResult_t result;
    struct mccl_shared *mapped; /* where it is mapped already, in the same process */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the number and the mappings */

/* A number for this process that no other has; a fork gets a new one. */
static uint64_t process_number(void)
{
    static uint64_t number;
    static pid_t of;
    pthread_mutex_lock(&lock);
    if (of != getpid()) {
        of = getpid();
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            number = (uint64_t)of;
    }
    uint64_t n = number;
    pthread_mutex_unlock(&lock);
    return n;
}

static socklen_t name_of(struct sockaddr_un *a, const struct id *id)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "cumu-mccl-%016llx%016llx",
                     (unsigned long long)id->key[0], (unsigned long long)id->key[1]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* The namespace of this process's pids, 0 if nobody tells. */
static ino_t pid_namespace(void)
{
    struct stat s;
    return stat("/proc/self/ns/pid", &s) ? 0 : s.st_ino;
}

static bool same_user(int fd, pid_t *pid)
{
    struct ucred who;
    socklen_t n = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || who.uid != geteuid())
        return false;
    *pid = who.pid;
    return true;
}

/* ---- the shared memory in this process --------------------------------------------------------- */

/* Ranks of one process share the mapping. */
static struct mapping {
    struct mccl_shared *at;
    size_t size;
    int users;
    struct mapping *next;
} * mapped;

static struct mccl_shared *map(int fd, int nranks, int users)
{
    size_t size = mccl_shared_size(nranks);
    struct mapping *m = malloc(sizeof *m);
    void *at = m ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(m);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *m = (struct mapping){at, size, users, mapped};
    mapped = m;
    pthread_mutex_unlock(&lock);
    return at;
}

void mccl_unmap(struct mccl_shared *at)
{
    pthread_mutex_lock(&lock);
    for (struct mapping **link = &mapped, *m; (m = *link); link = &m->next)
        if (m->at == at) {
            if (--m->users == 0) {
                *link = m->next;
                munmap(m->at, m->size);
                free(m);
            }
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* ---- messages ---------------------------------------------------------------------------------- */

static bool send_reply(int to, struct reply reply, int fd)
{
    struct iovec v = {&reply, sizeof reply};
    char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)sizeof reply;
}

/* Waits for one from a process; forked children may hold the other end too, so that it stays open when that
 * process dies. */
static bool reply_comes(int from, pid_t pid)
{
    struct pollfd p[2] = {{.fd = from, .events = POLLIN},
                          {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}};
    bool dead = p[1].fd < 0 && errno == ESRCH; /* any other error: it is in another pid namespace */
    while (!dead && poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    if (p[1].fd >= 0)
        close(p[1].fd);
    return p[0].revents || poll(p, 1, 0) == 1; /* it may have answered and died between the two looks */
}

static mcclResult_t receive_reply(int from, struct reply *reply, int *fd)
{
    struct iovec v = {reply, sizeof *reply};
    char control[CMSG_SPACE(sizeof *fd)];
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    *fd = -1;
    if (n != sizeof *reply)
        return mcclRemoteError; /* who made the id is gone */
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return reply->result ? reply->result : *fd < 0 ? mcclSystemError : mcclSuccess;
}

/* ---- who made the id ----------------------------------------------------------------------------- */

struct guest {
    int fd; /* -1: not here yet */
    struct hello hello;
};

struct desk { /* where the ranks of one id come to */
    int door;
    struct id id;
    int nranks, here; /* nranks: what the first one said */
    struct guest *guests;
    mcclResult_t result; /* once it is not success, everybody is told so */
};

/* Hears who has called; false if it is a stranger, which is turned away. */
static bool greet(const struct desk *d, struct guest *g)
{
    struct timeval patience = {HELLO_S, 0};
    pid_t pid;
    setsockopt(g->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct hello *h = &g->hello;
    if (same_user(g->fd, &pid) && recv(g->fd, h, sizeof *h, 0) == sizeof *h &&
        memcmp(&h->id, &d->id, sizeof d->id) == 0 && h->nranks >= 1 && h->nranks <= MCCL_MAX_RANKS && h->rank >= 0 &&
        h->rank < h->nranks)
        return true;
    close(g->fd);
    return false;
}

static void turn_away(const struct guest *g, mcclResult_t why)
{
    send_reply(g->fd, (struct reply){why, NULL}, -1);
    close(g->fd);
}

/* Takes in one rank. */
static void admit(struct desk *d)
{
    struct guest g = {.fd = accept4(d->door, NULL, NULL, SOCK_CLOEXEC)};
    const struct hello *h = &g.hello;
    if (g.fd < 0) {
        if (errno != EINTR && errno != ECONNABORTED) /* no descriptors left: not in a busy loop */
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        return;
    }
    if (!greet(d, &g))
        return;
    if (!d->guests && (d->guests = calloc((size_t)h->nranks, sizeof *d->guests))) {
        d->nranks = h->nranks;
        for (int i = 0; i < d->nranks; i++)
            d->guests[i].fd = -1;
    }
    d->here++;
    /* Ranks that disagree about the communicator would wait for each other for ever. */
    if (!d->guests || h->nranks != d->nranks || d->guests[h->rank].fd >= 0)
        d->result = d->result ? d->result : d->guests ? mcclInvalidUsage : mcclSystemError;
    if (d->result)
        turn_away(&g, d->result);
    else
        d->guests[h->rank] = g;
}

/* Until all are here, or one has gone. */
static void receive_all(struct desk *d)
{
    struct pollfd p[MCCL_MAX_RANKS + 1];
    while (!d->result && (!d->guests || d->here < d->nranks)) {
        for (int i = 0; i < d->nranks; i++) /* negative ones are skipped */
            p[i] = (struct pollfd){.fd = d->guests[i].fd, .events = POLLIN};
        p[d->nranks] = (struct pollfd){.fd = d->door, .events = POLLIN};
        if (poll(p, (nfds_t)d->nranks + 1, -1) < 0)
            continue;
        for (int i = 0; i < d->nranks; i++)
            if (p[i].fd >= 0 && p[i].revents)
                d->result = mcclRemoteError; /* it has nothing to say: it is gone */
        if (p[d->nranks].revents)
            admit(d);
    }
}

/* From now on callers are refused: the id has served, or never will. Those before the door are told so, since
 * a forked child may hold it too, and closing alone would leave them waiting there. */
static void close_door(const struct desk *d)
{
    struct guest g;
    shutdown(d->door, SHUT_RDWR);
    while ((g.fd = accept4(d->door, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        if (greet(d, &g))
            turn_away(&g, d->result ? d->result : mcclInvalidUsage);
    close(d->door);
}

/* Makes the memory and fills in who is who. Returns its descriptor, or -1. */
static int make_memory(struct desk *d, uint64_t process, struct mccl_shared **shared)
{
    int users = 1;
    for (int i = 0; i < d->nranks; i++)
        users += d->guests[i].hello.process == process;
    int memory = memfd_create("mccl", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)mccl_shared_size(d->nranks)) ||
        !(*shared = map(memory, d->nranks, users))) {
        if (memory >= 0)
            close(memory);
        return -1;
    }
    (*shared)->nranks = (uint32_t)d->nranks;
    for (int i = 0; i < d->nranks; i++) {
        struct mccl_member *m = &(*shared)->member[i];
        m->pid = d->guests[i].hello.pid;
        m->pids = d->guests[i].hello.pids;
        m->process = d->guests[i].hello.process;
        m->device = d->guests[i].hello.device;
        m->cpus = d->guests[i].hello.cpus;
    }
    return memory;
}

/* The desk of one id: waits for all ranks, makes their shared memory and hands it out, then ends. Ranks in this
 * process get its address, others the descriptor, so that threads of one process share one mapping. */
static void *serve(void *arg)
{
    struct desk *d = arg;
    uint64_t process = process_number();
    receive_all(d);
    close_door(d); /* before anyone is told to go on, who might come again */
    struct mccl_shared *shared = NULL;
    int memory = d->result ? -1 : make_memory(d, process, &shared);
    if (!d->result && memory < 0)
        d->result = mcclSystemError;
    for (int i = 0; i < d->nranks; i++) {
        struct guest *g = &d->guests[i];
        if (g->fd < 0)
            continue;
        bool here = g->hello.process == process;
        send_reply(g->fd, (struct reply){d->result, here ? shared : NULL}, memory);
        close(g->fd);
        g->fd = -1;
    }
    if (shared)
        mccl_unmap(shared);
    if (memory >= 0)
        close(memory);
    free(d->guests);
    free(d);
    return NULL;
}

/* A child forked while the thread of an id holds the lock must not find it held for ever. */
static void hold(void) { pthread_mutex_lock(&lock); }
static void let_go(void) { pthread_mutex_unlock(&lock); }
static void survive_fork(void) { pthread_atfork(hold, let_go, let_go); }

/* Makes an id and opens its desk: an abstract Unix socket named by the id's random key, served by a thread of the
 * process that asked. The ranks are on one machine, so no network is needed. */
mcclResult_t mcclGetUniqueId(mcclUniqueId *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, survive_fork);
    if (!out)
        return mcclInvalidArgument;
    struct desk *d = calloc(1, sizeof *d);
    if (!d)
        return mcclSystemError;
    memcpy(d->id.magic, magic, sizeof magic);
    struct sockaddr_un name;
    d->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (d->door < 0 || getrandom(d->id.key, sizeof d->id.key, 0) != sizeof d->id.key ||
        bind(d->door, (struct sockaddr *)&name, name_of(&name, &d->id)) || listen(d->door, MCCL_MAX_RANKS)) {
        if (d->door >= 0)
            close(d->door);
        free(d);
        return mcclSystemError;
    }
    memset(out, 0, sizeof *out);
    memcpy(out, &d->id, sizeof d->id);
    if (mccl_thread(serve, d))
        return mcclSuccess;
    close(d->door);
    free(d);
    return mcclSystemError;
}

/* ---- every rank ------------------------------------------------------------------------------ */

/* Calls on who made the id; returns when all ranks have. */
static mcclResult_t meet(const struct hello *me, struct mccl_shared **shared)
{
    struct sockaddr_un name;
    socklen_t length = name_of(&name, &me->id);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), memory = -1;
    pid_t pid;
    struct reply reply;
    if (fd < 0)
        return mcclSystemError;
    mcclResult_t r;
    if (connect(fd, (struct sockaddr *)&name, length))
        r = mcclInvalidUsage; /* the id has served already, or who made it is gone */
    else if (!same_user(fd, &pid) || send(fd, me, sizeof *me, MSG_NOSIGNAL) != sizeof *me)
        r = mcclRemoteError;
    else
        r = reply_comes(fd, pid) ? receive_reply(fd, &reply, &memory) : mcclRemoteError;
    if (!r)
        *shared = reply.mapped ? reply.mapped : map(memory, me->nranks, 1);
    if (memory >= 0)
        close(memory);
    close(fd);
    return r || *shared ? r : mcclSystemError;
}

/* Who the others are. Without a descriptor by which the end of a process is seen (it is in another pid
 * namespace) its death goes unnoticed; one that is dead already has left. */
static void look_round(mcclComm_t c)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 0; i < c->nranks; i++) {
        struct mccl_member *m = &c->shared->member[i];
        const struct mccl_member *me = &c->shared->member[c->rank];
        c->one_process = c->one_process && m->process == me->process;
        if (m->process != me->process && m->pids == me->pids) {
            c->pidfd[i] = (int)syscall(SYS_pidfd_open, m->pid, 0);
            if (c->pidfd[i] < 0 && errno == ESRCH)
                m->left = 1;
        }
        CPU_OR(&all, &all, &m->cpus);
    }
    c->crowded = c->nranks > CPU_COUNT(&all);
}

/* Device memory for others to map, kept for the next communicator: to free it would be to wait for the device, and so
 * for a rank on it that waits for this one already. */
static const void *kept_probe(int device)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    static void *kept[64];
    void **probe = &kept[device % 64];
    pthread_mutex_lock(&making);
    if (!mccl_known(*probe, 512) && musaMalloc(probe, 512)) /* the device may have been reset */
        *probe = NULL;
    pthread_mutex_unlock(&making);
    return *probe;
}

mcclResult_t mccl_join(mcclComm_t *comm, int nranks, const mcclUniqueId *id, int rank, int device)
{
    mcclComm_t c = mccl_comm_new();
    if (!c)
        return mcclSystemError;
    struct hello me = {.nranks = nranks,
                       .rank = rank,
                       .device = device,
                       .pid = getpid(),
                       .pids = pid_namespace(),
                       .process = process_number()};
    memcpy(&me.id, id, sizeof me.id);
    c->rank = rank;
    c->nranks = nranks;
    c->device = device;
    c->one_process = true;
    sched_getaffinity(0, sizeof me.cpus, &me.cpus);
    c->pidfd = malloc((size_t)nranks * sizeof *c->pidfd);
    for (int i = 0; i < nranks && c->pidfd; i++)
        c->pidfd[i] = -1;
    mcclResult_t r = c->pidfd ? meet(&me, &c->shared) : mcclSystemError;
    if (!r) {
        look_round(c);
        r = mccl_settle(c, c->one_process ? c : kept_probe(device));
    }
    if (r)
        mccl_comm_free(c);
    else {
        c->live = true;
        *comm = c;
    }
    return r;
}

mcclResult_t mcclCommInitRank(mcclComm_t *comm, int nranks, mcclUniqueId id, int rank)
{
    int device;
    if (!comm || nranks < 1 || nranks > MCCL_MAX_RANKS || rank < 0 || rank >= nranks ||
        memcmp(id.internal, magic, sizeof magic) != 0)
        return mccl_group_fail(mcclInvalidArgument);
    *comm = NULL;
    if (musaGetDevice(&device) || musaFree(NULL)) /* and its context is there from now on */
        return mccl_group_fail(mcclUnhandledMusaError);
    return mccl_grouped() ? mccl_submit_join(comm, nranks, &id, rank, device)
                          : mccl_join(comm, nranks, &id, rank, device);
}

/* All ranks of one process, as a group, so that they can wait for each other. */
mcclResult_t mcclCommInitAll(mcclComm_t *comms, int ndev, const int *devices)
{
    int count, old;
    if (!comms || ndev < 1 || ndev > MCCL_MAX_RANKS)
        return mcclInvalidArgument;
    if (musaGetDeviceCount(&count) || musaGetDevice(&old))
        return mcclUnhandledMusaError;
    for (int i = 0; i < ndev; i++) {
        int d = devices ? devices[i] : i;
        if (d < 0 || d >= count)
            return mcclInvalidArgument;
        for (int k = 0; k < i && devices; k++)
            if (devices[k] == d)
                return mcclInvalidUsage;
    }
    mcclUniqueId id;
    mcclResult_t r = mcclGetUniqueId(&id);
    mcclGroupStart();
    for (int i = 0; i < ndev && !r; i++) {
        musaSetDevice(devices ? devices[i] : i);
        r = mcclCommInitRank(&comms[i], ndev, id, i);
    }
    musaSetDevice(old);
    mcclResult_t end = mcclGroupEnd();
    return r ? r : end;
}
