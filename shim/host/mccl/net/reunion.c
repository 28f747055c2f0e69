/* How ranks of a communicator find each other without it: it may have failed or been revoked, and some of its ranks may
 * be gone. Every rank keeps a door whose address all others were told when they joined: by TCP, or on one host a Unix
 * socket. The first of those that meet takes in what the others bring, and hands all of it out (hall.c). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/reunion.h"
#include "host/mccl/rendezvous.h"

#define RETRY_NS 5000000
#define SAY_MS 300 /* for a rank that cannot come to say so */

struct mccl_reunion *mccl_reunion_new(int listener, int *pidfd, int rank, int nranks)
{
    struct mccl_reunion *r = calloc(1, sizeof *r + (size_t)nranks * sizeof *r->at);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->users = 1;
    r->listener = listener;
    r->pidfd = pidfd;
    r->rank = rank;
    r->nranks = nranks;
    return r;
}

void mccl_reunion_told(struct mccl_reunion *r, int rank, const struct mccl_place *at) { r->at[rank] = *at; }

void mccl_reunion_secret(struct mccl_reunion *r, const uint64_t secret[2])
{
    memcpy(r->secret, secret, sizeof r->secret);
}

struct mccl_reunion *cumu_mccl_reunion(mcclComm_t c)
{
    return mccl_live(c) ? cumu_mccl_reunion_hold(c->reunion) : NULL;
}

struct mccl_reunion *cumu_mccl_reunion_hold(struct mccl_reunion *r)
{
    if (r)
        atomic_fetch_add(&r->users, 1);
    return r;
}

void cumu_mccl_reunion_free(struct mccl_reunion *r)
{
    if (!r || atomic_fetch_sub(&r->users, 1) > 1)
        return;
    close(r->listener);
    for (int i = 0; i < r->nranks && r->pidfd; i++)
        if (r->pidfd[i] >= 0)
            close(r->pidfd[i]);
    free(r->pidfd);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void mccl_keep_asking(int fd)
{
    int on = 1, second = 1, times = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

mcclResult_t mccl_reunion_wrong(struct mccl_reunite *m, mcclResult_t why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(m->text, sizeof m->text, format, list);
    va_end(list);
    return why;
}

mcclResult_t mccl_reunion_gone(struct mccl_reunite *m, const struct mccl_reunion *r, int rank, const char *why)
{
    char where[80];
    mccl_place_text(&r->at[rank], where, sizeof where);
    return mccl_reunion_wrong(m, mcclRemoteError, "rank %d, at %s, takes no part: %s", rank, where, why);
}

bool mccl_has_ended(const struct mccl_reunion *r, int rank)
{
    struct pollfd p = {.fd = r->pidfd ? r->pidfd[rank] : -1, .events = POLLIN};
    return p.fd >= 0 && poll(&p, 1, 0) == 1 && !mccl_is_door(p.fd); /* doors are looked at by who meets there */
}

int cumu_mccl_reunion_lost(const struct mccl_reunion *r, const int *ranks, int n)
{
    bool lost = false;
    for (int i = 0; i < n; i++)
        lost = lost || (ranks[i] >= 0 && ranks[i] < r->nranks && mccl_has_ended(r, ranks[i]));
    return lost;
}

bool mccl_reunion_over(const struct mccl_reunite *m, int64_t end) { return mccl_now_ms() > end || m->given_up(m->arg); }

mcclResult_t mccl_reunion_late(struct mccl_reunite *m, int rank)
{
    if (m->given_up(m->arg))
        return mccl_reunion_wrong(m, mcclRemoteError, "given up");
    return mccl_reunion_wrong(m, mcclRemoteError, "rank %d has not come within %d s", rank,
                              mccl_settings()->join_ms / 1000);
}

/* ---- those that come ------------------------------------------------------------------------------- */

struct lack {
    const struct mccl_place *to;
    struct mccl_visit visit;
};

static void say_in_copy(void *lack)
{
    const struct lack *l = lack;
    const int fd = mccl_connect(l->to, SAY_MS);
    if (fd >= 0) {
        (void)mccl_send_all(fd, &l->visit, sizeof l->visit, SAY_MS);
        close(fd);
    }
}

/* This rank has no descriptor to come by: nobody is to wait for it. */
static mcclResult_t say_lack(const struct mccl_reunion *r, struct mccl_reunite *m, const struct mccl_visit *mine,
                             int why)
{
    struct lack l = {.to = &r->at[m->ranks[0]], .visit = *mine};
    l.visit.lack = (uint32_t)why;
    (void)mccl_in_copy(say_in_copy, &l);
    return mccl_reunion_wrong(m, mcclSystemError, "rank %d cannot come: %s", r->rank, strerror(why));
}

/* mcclInProgress: come again. */
static mcclResult_t visit(const struct mccl_reunion *r, struct mccl_reunite *m, const struct mccl_visit *mine,
                          int64_t end)
{
    struct mccl_outcome o;
    int first = m->ranks[0], fd = mccl_connect(&r->at[first], MCCL_REACH_MS);
    if (fd < 0 && mccl_lacks_descriptor(errno))
        return say_lack(r, m, mine, errno);
    if (fd < 0)
        return mccl_reunion_gone(m, r, first, strerror(errno));
    mccl_keep_asking(fd);
    mcclResult_t result = mcclInProgress; /* it may have left between two meetings: the next connection tells */
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool good = mccl_send_all(fd, mine, sizeof *mine, MCCL_REACH_MS) &&
                mccl_send_all(fd, m->mine, m->size, MCCL_REACH_MS);
    while (good && poll(&p, 1, MCCL_LOOK_MS) <= 0)
        if (mccl_reunion_over(m, end)) {
            result = mccl_reunion_late(m, first);
            good = false;
        } else if (mccl_has_ended(r, first)) {
            result = mccl_reunion_gone(m, r, first, "its process has ended");
            good = false;
        }
    if (good && mccl_receive_all(fd, &o, sizeof o, MCCL_REACH_MS) && mccl_outcome_good(&o)) {
        result = o.result;
        if (result && result != mcclInProgress)
            result = mccl_reunion_wrong(m, result, "%s", o.reason);
        else if (!result && !mccl_receive_all(fd, m->all, (size_t)m->n * m->size, MCCL_REACH_MS))
            result = mccl_reunion_gone(m, r, first, "it has gone in the midst of it");
    }
    close(fd);
    return result;
}

mcclResult_t cumu_mccl_reunite(struct mccl_reunion *r, struct mccl_reunite *m)
{
    struct mccl_visit mine = {.key = m->key, .rank = r->rank, .n = m->n, .bytes = m->size};
    int64_t end = mccl_now_ms() + mccl_settings()->join_ms;
    int me = 0;
    memcpy(mine.magic, mccl_magic, sizeof mine.magic);
    memcpy(mine.secret, r->secret, sizeof mine.secret);
    while (me < m->n && m->ranks[me] != r->rank)
        me++;
    for (int i = 0; i < m->n; i++)
        if (m->ranks[i] < 0 || m->ranks[i] >= r->nranks || me == m->n || m->n > r->nranks)
            return mccl_reunion_wrong(m, mcclInvalidArgument, "no rank of the communicator");
    memcpy((char *)m->all + (size_t)me * m->size, m->mine, m->size);
    if (me == 0)
        return mccl_hall_serve(r, m, &mine);
    mcclResult_t result;
    while ((result = visit(r, m, &mine, end)) == mcclInProgress) {
        if (mccl_reunion_over(m, end))
            return mccl_reunion_late(m, m->ranks[0]);
        nanosleep(&(struct timespec){0, RETRY_NS}, NULL);
    }
    return result;
}
