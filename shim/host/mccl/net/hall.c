/* A reunion at the door of its first rank: it takes in what the others bring, and hands all of it out. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/reunion.h"
#include "host/mccl/rendezvous.h"

#define HELLO_MS 10000 /* who connects must say what it wants within that */
#define RETRY_NS 5000000

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
    int here;       /* of the others */
    int64_t scarce; /* since then nobody can be let in, 0: the last one was */
    mcclResult_t result;
};

static void lack_descriptor(struct hall *h, int why)
{
    if (!h->result)
        h->result = mccl_reunion_wrong(h->m, mcclSystemError, "rank %d cannot let in the others: %s", h->r->rank,
                                       strerror(why));
}

static void let_go(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* There is no descriptor for those before the door: those by which others are watched are given up, and if that is not
 * enough, the meeting. */
static void make_place(struct hall *h, int why)
{
    h->scarce = h->scarce ? h->scarce : mccl_now_ms();
    for (int k = 1; k < h->m->n; k++)
        let_go(&h->guests[k].watch);
    if (mccl_now_ms() - h->scarce > MCCL_SCARCE_MS)
        lack_descriptor(h, why);
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
    mccl_keep_asking(fd);
    to->fd = fd;
    to->got = 0;
    to->since = mccl_now_ms();
}

/* The meeting cannot be. */
static void miss(struct hall *h, int k, const char *why)
{
    struct guest *g = &h->guests[k];
    g->gone = true;
    let_go(&g->fd);
    let_go(&g->watch);
    if (!h->result)
        h->result = mccl_reunion_gone(h->m, h->r, h->m->ranks[k], why);
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
    if (good && (!mccl_visit_meant(c->visit, &h->mine) || mccl_is_late(h->r, c->visit))) {
        mccl_turn_away(h->r, c->fd, c->visit);
        mccl_hang_up(c->fd);
        c->fd = -1;
        return;
    }
    int k = 0;
    while (good && k < h->m->n && h->m->ranks[k] != c->visit->rank)
        k++;
    good = good && k > 0 && k < h->m->n;
    if (good && !c->visit->lack && c->got < whole)
        return;
    good = good && h->guests[k].fd < 0 && !h->guests[k].gone;
    if (good && c->visit->lack)
        miss(h, k, strerror((int)c->visit->lack));
    else if (good) {
        memcpy((char *)h->m->all + (size_t)k * h->m->size, c->visit + 1, h->m->size);
        let_go(&h->guests[k].watch);
        h->guests[k].fd = c->fd;
        c->fd = -1;
        h->here++;
        return;
    }
    let_go(&c->fd);
}

/* A connection that ends may have been taken by another meeting of that rank: only one that cannot be made tells that
 * it is gone. */
static void watch(struct hall *h, int k)
{
    struct guest *g = &h->guests[k];
    let_go(&g->watch);
    g->watch = mccl_connect(&h->r->at[h->m->ranks[k]], MCCL_REACH_MS);
    if (g->watch < 0 && mccl_lacks_descriptor(errno))
        lack_descriptor(h, errno);
    else if (g->watch < 0)
        miss(h, k, strerror(errno));
    else
        mccl_keep_asking(g->watch);
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
    int some = mccl_poll_some(h->polls, n, MCCL_LOOK_MS);
    for (int k = 1; k < h->m->n && some == 0; k++)
        if (h->guests[k].fd < 0 && !h->guests[k].gone && mccl_has_ended(h->r, h->m->ranks[k]))
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
    const int64_t end = mccl_now_ms() + mccl_settings()->join_ms;
    for (int k = 1, why; k < h->m->n && !h->result; k++)
        if ((why = mccl_take_lack(h->r, h->m->key, h->m->ranks[k])))
            miss(h, k, strerror(why));
        else
            watch(h, k);
    while (h->here < h->m->n - 1 && !h->result) {
        look(h);
        if (!mccl_reunion_over(h->m, end))
            continue;
        for (int k = 1; k < h->m->n && !h->result; k++)
            if (h->guests[k].fd < 0)
                h->result = mccl_reunion_late(h->m, h->m->ranks[k]);
    }
}

static void hand_out(struct hall *h)
{
    for (int k = 1; k < h->m->n; k++) /* one that cannot be told has gone */
        if (mccl_tell_outcome(h->guests[k].fd, mcclSuccess, ""))
            (void)mccl_send_all(h->guests[k].fd, h->m->all, (size_t)h->m->n * h->m->size, MCCL_REACH_MS);
}

/* It cannot be: tells those that have come. */
static void dismiss(struct hall *h, bool *untold)
{
    for (int k = 1; k < h->m->n; k++) {
        untold[k] = h->guests[k].fd < 0 && !h->guests[k].gone;
        if (h->guests[k].fd >= 0)
            (void)mccl_tell_outcome(h->guests[k].fd, h->result, h->m->text);
    }
}

mcclResult_t mccl_hall_serve(struct mccl_reunion *r, struct mccl_reunite *m, const struct mccl_visit *mine)
{
    size_t one = (sizeof(struct mccl_visit) + m->size + 15) / 16 * 16; /* so that each is aligned */
    bool untold[MCCL_MAX_RANKS];
    struct hall *h = calloc(1, sizeof *h);
    struct guest *guests = calloc((size_t)m->n, sizeof *guests);
    struct pollfd *polls = calloc((size_t)m->n + MCCL_DOOR_PENDING + 1, sizeof *polls);
    char *visits = calloc(MCCL_DOOR_PENDING, one);
    mcclResult_t result = mccl_reunion_wrong(m, mcclSystemError, "out of memory");
    memset(untold, true, sizeof untold);
    r->serving++;
    if (h && guests && polls && visits) {
        *h = (struct hall){.r = r, .m = m, .mine = *mine, .guests = guests, .polls = polls};
        for (int k = 0; k < m->n; k++)
            guests[k] = (struct guest){.fd = -1, .watch = -1};
        for (int i = 0; i < MCCL_DOOR_PENDING; i++)
            h->callers[i] = (struct caller){.fd = -1, .visit = (struct mccl_visit *)(void *)(visits + (size_t)i * one)};
        receive_all(h);
        result = h->result;
        if (result)
            dismiss(h, untold);
        else
            hand_out(h);
        for (int k = 1; k < m->n; k++) {
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
    if (result) {
        mccl_remember_failure(r, m, untold);
        mccl_answer_late(r, m);
    }
    r->serving--;
    return result;
}
