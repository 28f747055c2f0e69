/* What the ranks of one host are handed at the desk of their id, once all have come: the memory that they share. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/mccl/net/desk.h"
#include "host/mccl/rendezvous.h"

#define TAKEN_MS 10000 /* for ranks to take what they are handed */

/* Makes the memory and fills in who is who. Returns its descriptor, or -1. */
static int make_memory(struct desk *d, uint64_t process, struct mccl_shared **shared)
{
    int users = 1;
    for (int i = 0; i < d->nranks; i++)
        users += d->guests[i].hello.process == process;
    int memory = memfd_create("mccl", MFD_CLOEXEC);
    if (memory < 0 || cumu_host_grow(memory, mccl_shared_size(d->nranks)) ||
        !(*shared = mccl_map(memory, d->nranks, users))) {
        if (memory >= 0)
            close(memory);
        return -1;
    }
    (*shared)->nranks = (uint32_t)d->nranks;
    if (getrandom((*shared)->secret, sizeof(*shared)->secret, 0) != sizeof(*shared)->secret) {
        close(memory);
        mccl_unmap(*shared);
        return -1;
    }
    for (int i = 0; i < d->nranks; i++) {
        struct mccl_member *m = &(*shared)->member[i];
        m->pid = d->guests[i].hello.pid;
        m->pids = d->guests[i].hello.pids;
        m->process = d->guests[i].hello.process;
        m->device = d->guests[i].hello.device;
        m->cpus = d->guests[i].hello.cpus;
        m->interrupted = d->guests[i].hello.interrupted;
    }
    return memory;
}

/* This rank will never have the memory: the others, who have it, are told there. In this process it was counted among
 * its users. */
static void miss_taker(struct desk *d, int rank, uint64_t process, struct mccl_shared *shared, const char *why)
{
    struct mcclComm c = {.shared = shared, .rank = rank, .nranks = d->nranks};
    mccl_fail(&c, mcclRemoteError, "rank %d %s", mccl_desk_name(d, rank), why);
    if (d->guests[rank].hello.process == process)
        mccl_unmap(shared);
    close(d->guests[rank].fd);
    d->guests[rank].fd = -1;
}

/* Whoever has taken the memory closes its connection. One that could not says so; one that has given up meanwhile
 * leaves there what it was handed, which the kernel reports as a reset. */
static void see_taken(struct desk *d, uint64_t process, struct mccl_shared *shared)
{
    int64_t end = mccl_now_ms() + TAKEN_MS;
    for (int i = 0; i < d->nranks; i++) {
        int fd = d->guests[i].fd;
        char word;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = end - mccl_now_ms();
        if (fd < 0)
            continue;
        const ssize_t n = poll(&p, 1, left > 0 ? (int)left : 0) == 1 ? recv(fd, &word, 1, MSG_DONTWAIT) : 0;
        if (n) {
            miss_taker(d, i, process, shared,
                       n > 0 ? "cannot map the ranks' memory: it has no descriptor or no memory left" : "has given up");
            continue;
        }
        close(fd);
        d->guests[i].fd = -1;
    }
}

/* Ranks in this process get the memory's address, others the descriptor, so that threads of one process share one
 * mapping. */
void mccl_desk_answer(struct desk *d)
{
    uint64_t process = mccl_process_number();
    struct mccl_shared *shared = NULL;
    int memory = d->result ? -1 : make_memory(d, process, &shared);
    if (!d->result && memory < 0)
        mccl_desk_refuse(d, mcclSystemError, "no shared memory: %s", strerror(errno));
    struct mccl_reply r = {.result = d->result};
    snprintf(r.reason, sizeof r.reason, "%s", d->reason);
    for (int i = 0; i < d->nranks; i++) {
        struct guest *g = &d->guests[i];
        if (g->fd < 0)
            continue;
        r.mapped = g->hello.process == process ? shared : NULL;
        if (!mccl_desk_reply(g, r, memory) && shared)
            miss_taker(d, i, process, shared, "has given up");
        else if (!shared) {
            close(g->fd);
            g->fd = -1;
        }
    }
    if (shared)
        see_taken(d, process, shared);
    if (shared)
        mccl_unmap(shared);
    if (memory >= 0)
        close(memory);
}
