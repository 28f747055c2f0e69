/* How the ranks of a communicator find each other: every rank calls on who made the unique id (desk.c), and when all
 * have come, each is handed the same shared memory, or learns that they are on several hosts. */
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

#include "host/driver/callback.h"
#include "host/mccl/net/net.h"
#include "host/mccl/rendezvous.h"
#include "host/mccl/switch.h"

#define HOST_DEVICES 64 /* that a machine may have */
#define CONNECT_MS 10000
#define GIVE_UP_MS 300 /* for a host that may be unreachable: who aborts does not wait */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the number and the mappings */

/* A child forked while the thread of an id holds the lock must not find it held for ever. */
static void hold(void) { pthread_mutex_lock(&lock); }
static void let_go(void) { pthread_mutex_unlock(&lock); }
static void survive_fork(void) { pthread_atfork(hold, let_go, let_go); }

/* A number for this process that no other has; a fork gets a new one. */
uint64_t mccl_process_number(void)
{
    static uint64_t number;
    static pid_t of;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, survive_fork);
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

socklen_t mccl_name_of(struct sockaddr_un *a, const struct mccl_id *id)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "cumu-mccl-%016llx%016llx",
                     (unsigned long long)id->key[0], (unsigned long long)id->key[1]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

bool mccl_same_user(int fd, pid_t *pid)
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

struct mccl_shared *mccl_map(int fd, int nranks, int users)
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

/* Waits for one from a process, while the descriptor is silent; forked children may hold the other end too, so that
 * it stays open when that process dies. */
static bool reply_comes(int from, pid_t pid, int silent)
{
    struct pollfd p[3] = {{.fd = from, .events = POLLIN},
                          {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN},
                          {.fd = silent, .events = POLLIN}};
    bool dead = p[1].fd < 0 && errno == ESRCH; /* any other error: it is in another pid namespace */
    if (!dead)
        (void)mccl_poll(p, 3, -1);
    if (p[1].fd >= 0)
        close(p[1].fd);
    return p[0].revents || poll(p, 1, 0) == 1; /* it may have answered and died between the two looks */
}

static mcclResult_t receive_reply(int from, struct mccl_reply *reply, int *fd)
{
    struct iovec v = {reply, sizeof *reply};
    char control[CMSG_SPACE(sizeof *fd)];
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    *fd = -1;
    if (n != sizeof *reply) {
        snprintf(reply->reason, sizeof reply->reason,
                 "who made the id has ended, or takes this rank for one of another version of cumu");
        return mcclRemoteError;
    }
    reply->reason[sizeof reply->reason - 1] = 0;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return reply->result ? reply->result : *fd < 0 && !reply->mapped ? mcclSystemError : mcclSuccess;
}

/* ---- a rank that does not come ------------------------------------------------------------------ */

static void describe_rank(struct mccl_hello *me, const mcclUniqueId *id, int nranks, int rank, int device)
{
    *me = (struct mccl_hello){.nranks = nranks, .rank = rank, .device = device, .process = mccl_process_number()};
    memcpy(&me->id, id, sizeof me->id);
    mccl_who(me);
}

/* Says it to whoever made the id, on whatever way there is. False: there is no descriptor for that. */
static bool say(const struct mccl_hello *me)
{
    struct sockaddr_un name;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 && mccl_lacks_descriptor(errno))
        return false;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&name, mccl_name_of(&name, &me->id)) == 0)
        (void)send(fd, me, sizeof *me, MSG_NOSIGNAL);
    else {
        if (fd >= 0)
            close(fd);
        fd = me->id.door.family ? mccl_connect(&me->id.door, GIVE_UP_MS) : -1;
        if (fd >= 0)
            (void)mccl_send_all(fd, me, sizeof *me, GIVE_UP_MS);
    }
    if (fd >= 0)
        close(fd);
    return true;
}

static void say_in_copy(void *me) { (void)say(me); }

/* This rank cannot come, perhaps for want of a descriptor: the others need not wait for it. */
static void tell_lack(const struct mccl_hello *me, int why)
{
    struct mccl_hello copy = *me;
    copy.lack = (uint32_t)why;
    if (!say(&copy))
        (void)mccl_in_copy(say_in_copy, &copy);
}

/* ---- every rank ------------------------------------------------------------------------------ */

/* Who made the id knows by this connection that a rank which comes again still lives. */
static void keep_line(mcclResult_t r, int fd, int *line)
{
    if (r == MCCL_SPANS)
        *line = fd;
    else
        close(fd);
}

/* By the Unix socket of this network namespace. mcclInvalidUsage: nobody is there. */
static mcclResult_t call_by_socket(const struct mccl_hello *me, struct mccl_reply *reply, struct mccl_shared **shared,
                                   int *memory, int *line, int silent)
{
    struct sockaddr_un name;
    socklen_t length = mccl_name_of(&name, &me->id);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    pid_t pid;
    mcclResult_t r;
    if (fd < 0) {
        const int why = errno;
        tell_lack(me, why);
        snprintf(reply->reason, sizeof reply->reason, "no socket: %s", strerror(why));
        return mcclSystemError;
    }
    if (connect(fd, (struct sockaddr *)&name, length))
        r = mcclInvalidUsage;
    else if (!mccl_same_user(fd, &pid)) { /* who hears it by TCP then tells all */
        snprintf(reply->reason, sizeof reply->reason, "another user than this one, %u, made the id", geteuid());
        r = mcclInvalidUsage;
    } else if (send(fd, me, sizeof *me, MSG_NOSIGNAL) != sizeof *me)
        r = mcclRemoteError;
    else
        r = reply_comes(fd, pid, silent) ? receive_reply(fd, reply, memory) : mcclRemoteError;
    if (!r && (*shared = reply->mapped ? reply->mapped : mccl_map(*memory, me->nranks, 1)) == NULL)
        r = mcclSystemError;
    if (r == mcclSystemError && !reply->result) { /* the others have it: they are to be told (desk.c) */
        (void)send(fd, "n", 1, MSG_NOSIGNAL);
        snprintf(reply->reason, sizeof reply->reason, "no descriptor or no memory left");
    }
    keep_line(r, fd, line);
    return r;
}

/* By TCP, from another host or namespace. */
static mcclResult_t call_by_net(const struct mccl_hello *me, struct mccl_reply *reply, int patience_ms, int *line)
{
    char where[80];
    int fd = mccl_connect(&me->id.door, patience_ms);
    const int why = errno;
    mccl_place_text(&me->id.door, where, sizeof where);
    if (fd < 0 && mccl_lacks_descriptor(why)) {
        tell_lack(me, why);
        snprintf(reply->reason, sizeof reply->reason, "no socket: %s", strerror(why));
        return mcclSystemError;
    }
    if (fd < 0) {
        snprintf(reply->reason, sizeof reply->reason, "nobody answers at %s: %s", where, strerror(why));
        return mcclInvalidUsage;
    }
    bool good = mccl_send_all(fd, me, sizeof *me, CONNECT_MS);
    do /* a child of who made the id may hold the connection when that one has died */
        good = good && mccl_receive_all(fd, reply, sizeof *reply, CONNECT_MS);
    while (good && reply->result == mcclInProgress);
    keep_line(good ? reply->result : mcclRemoteError, fd, line);
    reply->reason[sizeof reply->reason - 1] = 0;
    if (good && (reply->result == MCCL_SPANS || (reply->result > 0 && reply->result <= mcclInProgress)))
        return reply->result;
    if (mccl_given_up()) {
        snprintf(reply->reason, sizeof reply->reason, "given up");
        return mcclRemoteError;
    }
    snprintf(reply->reason, sizeof reply->reason,
             "who made the id, at %s, is gone or has given up, or took this rank for another version of cumu", where);
    return mcclRemoteError;
}

/* Calls on who made the id; returns when all ranks have. That one need not be there yet if the id is named. `line`: a
 * connection to keep until the ranks know each other, or -1. */
static mcclResult_t meet(const struct mccl_hello *me, struct mccl_shared **shared, char *reason, int *line, int silent)
{
    struct mccl_reply reply = {0};
    int memory = -1;
    int64_t end = mccl_now_ms() + mccl_settings()->join_ms;
    mcclResult_t r;
    do {
        r = me->part ? mcclInvalidUsage : call_by_socket(me, &reply, shared, &memory, line, silent);
        if (r == mcclInvalidUsage && !reply.result && me->id.door.family)
            r = call_by_net(me, &reply, CONNECT_MS, line);
        if (r == mcclInvalidUsage && !reply.result && me->id.named)
            nanosleep(&(struct timespec){0, 20000000}, NULL);
    } while (r == mcclInvalidUsage && !reply.result && me->id.named && mccl_now_ms() < end);
    if (memory >= 0)
        close(memory);
    snprintf(reason, MCCL_REASON, "%s", reply.reason);
    if (r == mcclInvalidUsage && !reason[0])
        snprintf(reason, MCCL_REASON, "the id has served already, or who made it is gone");
    return r || *shared ? r : mcclSystemError;
}

/* Who the others are. Without a descriptor by which the end of a process is seen (it is in another pid namespace) its
 * death goes unnoticed until all have met; one that is dead already has left. */
static void look_round(mcclComm_t c)
{
    cpu_set_t all;
    int callers = 0;
    CPU_ZERO(&all);
    for (int i = 0; i < c->nranks; i++) {
        struct mccl_member *m = &c->shared->member[i];
        const struct mccl_member *me = &c->shared->member[c->rank];
        c->one_process = c->one_process && m->process == me->process;
        c->unfenced = c->unfenced && m->interrupted;
        if (m->process != me->process && m->pids == me->pids) {
            c->pidfd[i] = (int)syscall(SYS_pidfd_open, m->pid, 0);
            if (c->pidfd[i] < 0 && errno == ESRCH)
                m->left = 1;
            else if (c->pidfd[i] < 0 &&
                     (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) /* it would die unseen */
                mccl_fail(c, mcclSystemError, "rank %d cannot watch rank %d: %s", mccl_name(c, c->rank),
                          mccl_name(c, i), strerror(errno));
        }
        CPU_OR(&all, &all, &m->cpus);
        int k = 0, more = 0;
        while (k < i && c->shared->member[k].process != m->process)
            k++;
        for (int q = i + 1; q < c->nranks && k == i; q++)
            more += c->shared->member[q].process == m->process;
        callers += more > 0;
    }
    c->crowded = c->nranks > CPU_COUNT(&all);
    c->crowded_streams = c->nranks + callers > CPU_COUNT(&all);
}

/* NCCL refuses two ranks on one device, on which they could wait for each other for ever. A program that would be
 * refused on a machine with GPUs is refused here, too. Every rank finds the same two. */
static mcclResult_t refuse_sharing(mcclComm_t c)
{
    int first[HOST_DEVICES], device;
    memset(first, -1, sizeof first);
    for (int i = 0; i < c->nranks; i++) {
        if ((device = c->shared->member[i].device) < 0 || device >= HOST_DEVICES)
            continue;
        if (first[device] >= 0) {
            mccl_fail(c, mcclInvalidUsage, "rank %d and rank %d are both on device %d (CUMU_HOST_SHARE=1 allows it)",
                      first[device], i, device);
            return mcclInvalidUsage;
        }
        first[device] = i;
    }
    return mcclSuccess;
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

/* Opens this rank's door for a reunion; after mccl_settle all know the others'. */
static mcclResult_t open_reunion(mcclComm_t c)
{
    int fd = mccl_listen_here(&c->shared->member[c->rank].meet);
    if (fd >= 0 && !(c->reunion = mccl_reunion_new(fd, c->pidfd, c->rank, c->nranks)))
        close(fd);
    if (c->reunion && mccl_beat_begin(c))
        return mcclSuccess;
    mccl_fail(c, mcclSystemError, "rank %d has no socket, no thread or no memory for it", mccl_name(c, c->rank));
    return mcclSystemError;
}

static void know_doors(mcclComm_t c)
{
    for (int i = 0; i < c->nranks; i++)
        mccl_reunion_told(c->reunion, i, &c->shared->member[i].meet);
    mccl_reunion_secret(c->reunion, c->shared->secret);
    c->knows_doors = true;
}

static void tell_why(const struct mccl_hello *me, const char *reason)
{
    char line[MCCL_REASON + 100];
    if (!reason[0])
        return;
    snprintf(line, sizeof line, "nccl: rank %d of %d cannot join: %s", me->rank, me->nranks, reason);
    cumu_host_say(line);
}

/* Who does not come ends the meeting (desk.c). */
void cumu_mccl_give_up(const mcclUniqueId *id, int nranks, int rank)
{
    struct mccl_hello me;
    describe_rank(&me, id, nranks, rank, -1);
    tell_lack(&me, ECANCELED);
}

mcclResult_t mccl_join(mcclComm_t *comm, int nranks, const mcclUniqueId *id, int rank, int device)
{
    return mccl_join_part(&(struct mccl_part){.silent = -1}, comm, nranks, id, rank, device);
}

mcclResult_t mccl_join_part(const struct mccl_part *part, mcclComm_t *comm, int nranks, const mcclUniqueId *id,
                            int rank, int device)
{
    mcclComm_t c = mccl_comm_new();
    struct mccl_hello me;
    char reason[MCCL_REASON] = "";
    describe_rank(&me, id, nranks, rank, cumu_host_exclusive(device));
    if (!c) {
        tell_lack(&me, ENOMEM);
        return mcclSystemError;
    }
    c->rank = rank;
    c->nranks = nranks;
    c->device = device;
    c->names = part->names;
    c->one_process = c->unfenced = true;
    c->pidfd = malloc((size_t)nranks * sizeof *c->pidfd);
    for (int i = 0; i < nranks && c->pidfd; i++)
        c->pidfd[i] = -1;
    int line = -1;
    mcclResult_t r = c->pidfd ? mcclSuccess : mcclSystemError;
    if (r)
        tell_lack(&me, ENOMEM);
    if (!r && me.id.named && rank == 0)
        r = mccl_named_id(&me.id);
    r = r ? r : meet(&me, &c->shared, reason, &line, part->silent);
    if (r == MCCL_SPANS) {
        *comm = c;
        r = mccl_span(comm, c, &me, reason);
        if (*comm != c) { /* it is one host after all */
            mccl_comm_free(c);
            c = *comm;
        }
    } else if (!r) {
        look_round(c);
        r = mccl_state(c);
        r = r ? r : refuse_sharing(c);
        r = r ? r : open_reunion(c);
        r = r ? r : mccl_settle(c, c->one_process ? c : kept_probe(device));
        if (!r)
            know_doors(c);
        else if (c->shared->reasoned == 2 && !part->reason)
            mccl_tell(c, MCCL_JOIN, NULL);
        else if (c->shared->reasoned == 2)
            snprintf(reason, sizeof reason, "%s", c->shared->reason);
    }
    if (line >= 0)
        close(line);
    if (r) {
        if (part->reason && reason[0])
            snprintf(part->reason, MCCL_REASON, "cannot meet the others of its host, whose id rank %d made: %.140s",
                     part->names[0], reason);
        else
            tell_why(&me, reason);
        mccl_comm_free(c);
        *comm = NULL;
    } else {
        c->live = true;
        *comm = c;
    }
    return r;
}

/* Another version's ids cannot be told from what is no id at all, except by its first bytes. */
static void tell_foreign_id(const mcclUniqueId *id, int nranks, int rank)
{
    struct mccl_hello me = {.nranks = nranks, .rank = rank};
    char text[MCCL_REASON];
    memcpy(&me.id, id, sizeof me.id);
    if (mccl_id_foreign(&me.id, text, sizeof text))
        tell_why(&me, text);
}

mcclResult_t mcclCommInitRank(mcclComm_t *comm, int nranks, mcclUniqueId id, int rank)
{
    int device;
    tell_foreign_id(&id, nranks, rank);
    if (!comm || nranks < 1 || nranks > MCCL_MAX_RANKS || rank < 0 || rank >= nranks ||
        memcmp(id.internal, mccl_magic, sizeof mccl_magic) != 0)
        return mccl_group_fail(mcclInvalidArgument);
    *comm = NULL;
    if (musaGetDevice(&device) || musaFree(NULL)) { /* and its context is there from now on */
        struct mccl_hello me;
        describe_rank(&me, &id, nranks, rank, -1);
        tell_lack(&me, ENODEV);
        return mccl_group_fail(mcclUnhandledMusaError);
    }
    return mccl_grouped() ? mccl_submit_join(comm, nranks, &id, rank, device)
                          : mccl_join(comm, nranks, &id, rank, device);
}

/* All ranks of one process, as a group, so that they can wait for each other. */
mcclResult_t mcclCommInitAll(mcclComm_t *comms, int ndev, const int *devices)
{
    int count;
    if (!comms || ndev < 1 || ndev > MCCL_MAX_RANKS)
        return mcclInvalidArgument;
    if (musaGetDeviceCount(&count))
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
        struct mccl_switch before;
        r = mccl_switch_to(&before, devices ? devices[i] : i) ? mcclUnhandledMusaError
                                                              : mcclCommInitRank(&comms[i], ndev, id, i);
        mccl_switch_back(&before);
    }
    mcclResult_t end = mcclGroupEnd();
    return r ? r : end;
}
