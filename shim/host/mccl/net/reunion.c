/* How ranks of a communicator find each other without it: it may have failed or been revoked, and some of its ranks may
 * be gone. Every rank keeps a door whose address all others were told when they joined: by TCP, or on one host a Unix
 * socket. The first of those that meet takes in what the others bring, and hands all of it out. */
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

#include "host/mccl/net/net.h"

#define LOOK_MS 100    /* how often it is asked whether to give up */
#define FAILURES 4     /* meetings of which those that come late are told why they failed */
#define REACH_MS 3000  /* a host that does not answer for so long is gone */
#define HELLO_MS 10000 /* who connects must say what it wants within that */
#define RETRY_NS 5000000

struct mccl_reunion {
    _Atomic int users;
    pthread_mutex_t lock; /* of the failures */
    struct {
        uint64_t key;
        char text[sizeof((struct mccl_reunite *)0)->text];
    } failed[FAILURES];
    unsigned nfailed;
    int listener, rank, nranks;
    int *pidfd; /* by rank, -1 where there is none: a door may stay open in a child of a process that has ended */
    uint64_t secret[2];
    struct mccl_place at[]; /* by rank */
};

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

/* A host that vanishes says nothing: the kernel asks it. */
static void keep_asking(int fd)
{
    int on = 1, second = 1, times = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

static mcclResult_t wrong(struct mccl_reunite *m, mcclResult_t why, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
static mcclResult_t wrong(struct mccl_reunite *m, mcclResult_t why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(m->text, sizeof m->text, format, list);
    va_end(list);
    return why;
}

static mcclResult_t gone(struct mccl_reunite *m, const struct mccl_reunion *r, int rank, const char *why)
{
    char where[80];
    mccl_place_text(&r->at[rank], where, sizeof where);
    return wrong(m, mcclRemoteError, "rank %d, at %s, takes no part: %s", rank, where, why);
}

static bool has_ended(const struct mccl_reunion *r, int rank)
{
    struct pollfd p = {.fd = r->pidfd ? r->pidfd[rank] : -1, .events = POLLIN};
    return p.fd >= 0 && poll(&p, 1, 0) == 1 && !mccl_is_door(p.fd); /* doors are looked at by who meets there */
}

int cumu_mccl_reunion_lost(const struct mccl_reunion *r, const int *ranks, int n)
{
    bool lost = false;
    for (int i = 0; i < n; i++)
        lost = lost || (ranks[i] >= 0 && ranks[i] < r->nranks && has_ended(r, ranks[i]));
    return lost;
}

static bool over(const struct mccl_reunite *m, int64_t end) { return mccl_now_ms() > end || m->given_up(m->arg); }

static mcclResult_t late(struct mccl_reunite *m, int rank)
{
    if (m->given_up(m->arg))
        return wrong(m, mcclRemoteError, "given up");
    return wrong(m, mcclRemoteError, "rank %d has not come within %d s", rank, mccl_settings()->join_ms / 1000);
}

/* ---- who takes the others in ----------------------------------------------------------------------- */

struct guest {
    bool gone;
    int fd;        /* that it came by; -1: not here yet */
    int watch, at; /* until then: a connection to its door, which ends when it does; its place in the polls */
};

struct caller { /* who has not said yet what it wants: anybody */
    int fd, at;
    size_t got;
    int64_t since;
    struct mccl_visit *visit; /* and its bytes */
};

struct hall {
    struct mccl_reunion *r;
    struct mccl_reunite *m;
    struct mccl_visit mine;
    struct guest *guests; /* by number among those that meet */
    struct caller callers[MCCL_DOOR_PENDING];
    struct pollfd *polls;
    int settled;    /* of the others: here or gone */
    int64_t scarce; /* since then nobody can be let in, 0: the last one was */
    mcclResult_t result;
};

static void let_go(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool tell(int fd, mcclResult_t result, const char *reason)
{
    struct mccl_outcome o = {.result = result};
    memcpy(o.magic, mccl_magic, sizeof o.magic);
    snprintf(o.reason, sizeof o.reason, "%s", reason);
    return mccl_send_all(fd, &o, sizeof o, REACH_MS);
}

static void remember(struct mccl_reunion *r, const struct mccl_reunite *m)
{
    pthread_mutex_lock(&r->lock);
    unsigned i = r->nfailed++ % FAILURES;
    r->failed[i].key = m->key;
    memcpy(r->failed[i].text, m->text, sizeof m->text);
    pthread_mutex_unlock(&r->lock);
}

/* Another meeting: one that is still to come, or has failed. */
static void turn_away(struct mccl_reunion *r, const struct caller *c)
{
    char text[sizeof r->failed[0].text] = "";
    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < FAILURES && i < r->nfailed; i++)
        if (r->failed[i].key == c->visit->key)
            memcpy(text, r->failed[i].text, sizeof text);
    pthread_mutex_unlock(&r->lock);
    (void)tell(c->fd, text[0] ? mcclRemoteError : mcclInProgress, text);
}

/* There is no descriptor for those before the door: those by which others are watched are given up, and if that is not
 * enough, the meeting. */
static void make_place(struct hall *h, int why)
{
    h->scarce = h->scarce ? h->scarce : mccl_now_ms();
    for (int k = 1; k < h->m->n; k++)
        let_go(&h->guests[k].watch);
    if (!h->result && mccl_now_ms() - h->scarce > MCCL_SCARCE_MS) {
        h->result = wrong(h->m, mcclSystemError, "rank %d cannot let in the others: %s", h->r->rank, strerror(why));
        for (int k = 1; k < h->m->n; k++) {
            if (h->guests[k].fd >= 0)
                (void)tell(h->guests[k].fd, h->result, h->m->text);
            let_go(&h->guests[k].fd);
        }
    }
    nanosleep(&(struct timespec){0, RETRY_NS}, NULL);
}

/* Whoever has been silent longest makes room. */
static void admit(struct hall *h)
{
    int fd = accept4(h->r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct caller *to = &h->callers[0];
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            make_place(h, errno);
        return;
    }
    h->scarce = 0;
    for (int i = 1; i < MCCL_DOOR_PENDING && to->fd >= 0; i++)
        if (h->callers[i].fd < 0 || h->callers[i].since < to->since)
            to = &h->callers[i];
    let_go(&to->fd);
    keep_asking(fd);
    to->fd = fd;
    to->got = 0;
    to->since = mccl_now_ms();
}

static void hear(struct hall *h, struct caller *c)
{
    size_t whole = sizeof *c->visit + h->m->size;
    size_t want = c->got < sizeof *c->visit ? sizeof *c->visit : whole;
    ssize_t n = recv(c->fd, (char *)c->visit + c->got, want - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->got += n > 0 ? (size_t)n : 0;
    if (n > 0 && c->got < sizeof *c->visit)
        return;
    bool good = n > 0 && mccl_visit_good(c->visit, h->r->secret, h->r->nranks);
    if (good && !mccl_visit_meant(c->visit, &h->mine)) {
        turn_away(h->r, c);
        good = false;
    }
    int k = 0;
    while (good && k < h->m->n && h->m->ranks[k] != c->visit->rank)
        k++;
    good = good && k > 0 && k < h->m->n;
    if (good && c->got < whole)
        return;
    if (good && h->guests[k].fd < 0 && !h->guests[k].gone) {
        memcpy((char *)h->m->all + (size_t)k * h->m->size, c->visit + 1, h->m->size);
        let_go(&h->guests[k].watch);
        h->guests[k].fd = c->fd;
        c->fd = -1;
        h->settled++;
        return;
    }
    let_go(&c->fd);
}

/* The meeting cannot be. The others are still waited for, a short time, to be told so. */
static void miss(struct hall *h, int k, const char *why)
{
    struct guest *g = &h->guests[k];
    h->settled += g->fd < 0;
    g->gone = true;
    let_go(&g->fd);
    let_go(&g->watch);
    if (!h->result)
        h->result = gone(h->m, h->r, h->m->ranks[k], why);
}

/* A connection that ends may have been taken by another meeting of that rank: only one that cannot be made tells that
 * it is gone. */
static void watch(struct hall *h, int k)
{
    struct guest *g = &h->guests[k];
    let_go(&g->watch);
    g->watch = mccl_connect(&h->r->at[h->m->ranks[k]], REACH_MS);
    if (g->watch < 0)
        miss(h, k, strerror(errno));
    else
        keep_asking(g->watch);
}

static bool ended(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void look(struct hall *h)
{
    int n = 1;
    h->polls[0] = (struct pollfd){.fd = h->r->listener, .events = POLLIN};
    for (int i = 0; i < MCCL_DOOR_PENDING; i++) {
        struct caller *c = &h->callers[i];
        if (c->fd >= 0 && mccl_now_ms() - c->since > HELLO_MS)
            let_go(&c->fd);
        c->at = n;
        h->polls[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    }
    for (int k = 1; k < h->m->n; k++) {
        struct guest *g = &h->guests[k];
        g->at = n;
        h->polls[n++] = (struct pollfd){.fd = g->fd >= 0 ? g->fd : g->watch, .events = POLLIN};
    }
    int some = mccl_poll_some(h->polls, n, LOOK_MS);
    for (int k = 1; k < h->m->n && some == 0; k++)
        if (h->guests[k].fd < 0 && !h->guests[k].gone && has_ended(h->r, h->m->ranks[k]))
            miss(h, k, "its process has ended");
    if (some <= 0)
        return;
    for (int k = 1; k < h->m->n; k++) {
        struct guest *g = &h->guests[k];
        if (!h->polls[g->at].revents)
            continue;
        if (g->fd >= 0 && ended(g->fd))
            miss(h, k, "it came, and has gone");
        else if (g->fd < 0 && g->watch >= 0 && ended(g->watch))
            watch(h, k);
    }
    for (int i = 0; i < MCCL_DOOR_PENDING; i++)
        if (h->callers[i].fd >= 0 && h->polls[h->callers[i].at].revents)
            hear(h, &h->callers[i]);
    if (h->polls[0].revents)
        admit(h);
}

static void receive_all(struct hall *h)
{
    int64_t end = mccl_now_ms() + mccl_settings()->join_ms, told = 0;
    for (int k = 1; k < h->m->n; k++)
        watch(h, k);
    while (h->settled < h->m->n - 1 && (!told || mccl_now_ms() < told)) {
        look(h);
        if (h->result && !told)
            told = mccl_now_ms() + REACH_MS;
        if (!over(h->m, end))
            continue;
        for (int k = 1; k < h->m->n && !h->result; k++)
            if (h->guests[k].fd < 0)
                h->result = late(h->m, h->m->ranks[k]);
        return;
    }
}

static mcclResult_t serve(struct mccl_reunion *r, struct mccl_reunite *m, const struct mccl_visit *mine)
{
    size_t one = (sizeof(struct mccl_visit) + m->size + 15) / 16 * 16; /* so that each is aligned */
    struct hall *h = calloc(1, sizeof *h);
    struct guest *guests = calloc((size_t)m->n, sizeof *guests);
    struct pollfd *polls = calloc((size_t)m->n + MCCL_DOOR_PENDING + 1, sizeof *polls);
    char *visits = calloc(MCCL_DOOR_PENDING, one);
    mcclResult_t result = wrong(m, mcclSystemError, "out of memory");
    if (h && guests && polls && visits) {
        *h = (struct hall){.r = r, .m = m, .mine = *mine, .guests = guests, .polls = polls};
        for (int k = 0; k < m->n; k++)
            guests[k] = (struct guest){.fd = -1, .watch = -1};
        for (int i = 0; i < MCCL_DOOR_PENDING; i++)
            h->callers[i] = (struct caller){.fd = -1, .visit = (struct mccl_visit *)(void *)(visits + (size_t)i * one)};
        receive_all(h);
        result = h->result;
        if (result)
            remember(r, m);
        for (int k = 1; k < m->n; k++) {
            /* One that cannot be told has gone; what it then misses it finds out from the next meeting. */
            if (guests[k].fd >= 0 && tell(guests[k].fd, result, result ? m->text : "") && !result)
                (void)mccl_send_all(guests[k].fd, m->all, (size_t)m->n * m->size, REACH_MS);
            let_go(&guests[k].fd);
            let_go(&guests[k].watch);
        }
        for (int i = 0; i < MCCL_DOOR_PENDING; i++)
            let_go(&h->callers[i].fd);
    }
    free(h);
    free(guests);
    free(polls);
    free(visits);
    return result;
}

/* ---- the others ------------------------------------------------------------------------------------ */

/* mcclInProgress: come again. */
static mcclResult_t visit(const struct mccl_reunion *r, struct mccl_reunite *m, const struct mccl_visit *mine,
                          int64_t end)
{
    struct mccl_outcome o;
    int first = m->ranks[0], fd = mccl_connect(&r->at[first], REACH_MS);
    if (fd < 0)
        return gone(m, r, first, strerror(errno));
    keep_asking(fd);
    mcclResult_t result = mcclInProgress; /* it may have left between two meetings: the next connection tells */
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool good = mccl_send_all(fd, mine, sizeof *mine, REACH_MS) && mccl_send_all(fd, m->mine, m->size, REACH_MS);
    while (good && poll(&p, 1, LOOK_MS) <= 0)
        if (over(m, end)) {
            result = late(m, first);
            good = false;
        } else if (has_ended(r, first)) {
            result = gone(m, r, first, "its process has ended");
            good = false;
        }
    if (good && mccl_receive_all(fd, &o, sizeof o, REACH_MS) && mccl_outcome_good(&o)) {
        result = o.result;
        if (result && result != mcclInProgress)
            result = wrong(m, result, "%s", o.reason);
        else if (!result && !mccl_receive_all(fd, m->all, (size_t)m->n * m->size, REACH_MS))
            result = gone(m, r, first, "it has gone in the midst of it");
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
        if (m->ranks[i] < 0 || m->ranks[i] >= r->nranks || me == m->n)
            return wrong(m, mcclInvalidArgument, "no rank of the communicator");
    memcpy((char *)m->all + (size_t)me * m->size, m->mine, m->size);
    if (me == 0)
        return serve(r, m, &mine);
    mcclResult_t result;
    while ((result = visit(r, m, &mine, end)) == mcclInProgress) {
        if (over(m, end))
            return late(m, m->ranks[0]);
        nanosleep(&(struct timespec){0, RETRY_NS}, NULL);
    }
    return result;
}
