/* How the ranks of a communicator tell each other something: through MCCL, or, where MCCL's communicator is
 * gone or some ranks are, through an abstract socket of this machine, which leaves nothing behind, or by the doors that
 * MCCL on the CPU keeps for ranks on several hosts. */
#include "abi/mccl.h"
#include "api/nccl/nccl.h"
#include "core/file.h"
#include "core/resolve.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, RETRY_NS = 2000000 };

/* ---- through MCCL ------------------------------------------------------------------------------ */

int cumu_nccl_exchange(struct nccl_comm *c, const void *mine, size_t size, void *all)
{
    char *device = NULL;
    musaStream_t stream = NULL;
    size_t n = (size_t)c->nranks;
    int lost = ncclSuccess, r = mu.musaStreamCreateWithFlags(&stream, musaStreamNonBlocking);
    r = r ? r : mu.musaMalloc((void **)&device, size * (n + 1));
    r = r ? r : mu.musaMemcpyAsync(device, mine, size, musaMemcpyHostToDevice, stream);
    int below = r ? ncclUnhandledCudaError : mu.mcclAllGather(device, device + size, size, ncclUint8, c->below, stream);
    if (!below) {
        r = mu.musaMemcpyAsync(all, device + size, size * n, musaMemcpyDeviceToHost, stream);
        r = r ? r : mu.musaStreamSynchronize(stream);
        below = r ? ncclUnhandledCudaError : mu.mcclCommGetAsyncError(c->below, &lost);
        below = below ? below : lost;
    }
    if (device)
        (void)mu.musaFree(device);
    if (stream)
        (void)mu.musaStreamDestroy(stream);
    return below;
}

/* ---- on this machine ----------------------------------------------------------------------------- */

struct hello {
    uint64_t key;
    int me, n;
    size_t size;
};

static socklen_t name_of(struct sockaddr_un *a, uint64_t key)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "cumu-nccl-%016llx", (unsigned long long)key);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool same_user(int fd)
{
    struct ucred who;
    socklen_t n = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
}

/* A peer that has gone is an error, no SIGPIPE. */
static bool send_all(int fd, const void *from, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = send(fd, (const char *)from + done, n - done, MSG_NOSIGNAL);
        if (k <= 0 && !(k < 0 && errno == EINTR))
            return false;
        done += k > 0 ? (size_t)k : 0;
    }
    return true;
}

static void be_patient(int fd)
{
    struct timeval limit = {PATIENCE_MS / 1000, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* The first of the list takes in what the others bring, and hands all of it out. */
static bool serve(int door, const struct hello *mine, char *all)
{
    bool good = true;
    int *guests = malloc((size_t)mine->n * sizeof *guests);
    for (int i = 0; guests && i < mine->n; i++)
        guests[i] = -1;
    for (int here = 1; guests && good && here < mine->n;) {
        struct pollfd p = {.fd = door, .events = POLLIN};
        struct hello h;
        int k = poll(&p, 1, PATIENCE_MS);
        if (k < 0 && errno == EINTR)
            continue;
        int fd = k > 0 ? accept4(door, NULL, NULL, SOCK_CLOEXEC) : -1;
        good = fd >= 0;
        if (!good)
            break;
        be_patient(fd);
        if (!same_user(fd) || !cumu_read_all(fd, &h, sizeof h) || h.key != mine->key) {
            close(fd);
            continue;
        }
        good = h.n == mine->n && h.size == mine->size && h.me > 0 && h.me < h.n && guests[h.me] < 0 &&
               cumu_read_all(fd, all + (size_t)h.me * h.size, h.size);
        if (good)
            guests[h.me] = fd;
        else
            close(fd);
        here++;
    }
    for (int i = 1; guests && i < mine->n; i++)
        if (guests[i] >= 0) {
            good = good && send_all(guests[i], all, mine->size * (size_t)mine->n);
            close(guests[i]);
        }
    free(guests);
    return guests && good;
}

/* A door that closes on us belonged to the meeting before this one: the next one opens soon. */
static bool visit(const struct sockaddr_un *name, socklen_t length, const struct hello *mine, char *all)
{
    struct timespec pause = {0, RETRY_NS};
    bool good = false;
    for (long waited = 0; !good && waited < PATIENCE_MS * 1000000L; waited += RETRY_NS) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return false;
        if (connect(fd, (const struct sockaddr *)name, length) == 0) {
            be_patient(fd);
            good = same_user(fd) && send_all(fd, mine, sizeof *mine) &&
                   send_all(fd, all + (size_t)mine->me * mine->size, mine->size) &&
                   cumu_read_all(fd, all, mine->size * (size_t)mine->n);
        }
        close(fd);
        if (!good)
            (void)nanosleep(&pause, NULL);
    }
    return good;
}

static int meet_here(uint64_t key, int me, int n, const void *mine, size_t size, void *all)
{
    struct sockaddr_un name;
    socklen_t length = name_of(&name, key);
    struct hello h = {key, me, n, size};
    memcpy((char *)all + (size_t)me * size, mine, size);
    bool good;
    if (me > 0)
        good = visit(&name, length, &h, all);
    else {
        int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        good = door >= 0 && bind(door, (struct sockaddr *)&name, length) == 0 && listen(door, n) == 0 &&
               serve(door, &h, all);
        if (door >= 0)
            close(door);
    }
    if (!good)
        cumu_gap("nccl", NULL, "without their communicator, ranks find each other on one machine only");
    return good ? ncclSuccess : ncclRemoteError;
}

/* ---- on several ---------------------------------------------------------------------------------- */

#define BELOW(function) ((__typeof__(function) *)(void (*)(void))(uintptr_t)cumu_below("mccl", #function))

struct mccl_reunion *cumu_nccl_reunion(mcclComm_t below)
{
    __typeof__(cumu_mccl_reunion) *f = BELOW(cumu_mccl_reunion);
    return f ? f(below) : NULL;
}

struct mccl_reunion *cumu_nccl_reunion_hold(struct mccl_reunion *r)
{
    return r ? BELOW(cumu_mccl_reunion_hold)(r) : NULL;
}

void cumu_nccl_reunion_free(struct mccl_reunion *r)
{
    if (r)
        BELOW(cumu_mccl_reunion_free)(r);
}

void cumu_nccl_give_up(const struct cumu_s128 *id, int nranks, int rank)
{
    __typeof__(cumu_mccl_give_up) *f = BELOW(cumu_mccl_give_up);
    mcclUniqueId copy;
    memcpy(&copy, id, sizeof copy);
    if (f)
        f(&copy, nranks, rank);
}

void cumu_nccl_wait_while(int (*given_up)(void *), struct nccl_task *t)
{
    __typeof__(cumu_mccl_while) *f = BELOW(cumu_mccl_while);
    if (f)
        f(given_up, t);
}

bool cumu_nccl_lost(const struct nccl_task *t)
{
    struct mccl_reunion *r = t->reunion ? t->reunion : t->parent ? t->parent->reunion : NULL;
    return r && t->stay && BELOW(cumu_mccl_reunion_lost)(r, t->stay, t->nranks);
}

static int abandoned(void *comm) { return ((struct nccl_comm *)comm)->state == NCCL_ABANDONED; }

int cumu_nccl_meet(const struct nccl_task *t, uint64_t key, int me, int n, const void *mine, size_t size, void *all)
{
    if (!t->reunion)
        return meet_here(key, me, n, mine, size, all);
    int *ranks = malloc((size_t)n * sizeof *ranks);
    for (int i = 0; i < n && ranks; i++)
        ranks[i] = t->stay ? t->stay[i] : i;
    struct mccl_reunite m = {.key = key,
                             .ranks = ranks,
                             .n = n,
                             .size = (uint32_t)size,
                             .mine = mine,
                             .all = all,
                             .given_up = abandoned,
                             .arg = t->comm};
    int r = ranks ? BELOW(cumu_mccl_reunite)(t->reunion, &m) : ncclSystemError;
    free(ranks);
    return r ? cumu_nccl_failed(t->call, r, "%s", ranks ? m.text : "out of memory") : ncclSuccess;
}
