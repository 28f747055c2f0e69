/* Keeping in touch: every rank has one TCP connection with rank 0, by which both say several times a second that they
 * live, and rank 0 passes on what ended the communicator. So a process that died, stopped or cannot be reached is
 * noticed by all within the time that a rank may be silent, whatever they wait for. The same thread moves what is on
 * the wire while no call does. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/mccl/net/net.h"

#define JOIN_MS 30000 /* once all ranks have met, until all are ready */
/* Of silence until then, once they have met: hundreds of ranks may start on a few CPUs; who ends is seen at once. */
#define MEET_MS 3000
#define BUSY_MS 2  /* without a call, until the wire is this thread's again */
#define END_MS 300 /* for the other sides to hear that this one leaves */
#define PENDING 16 /* connections that have not said who they are */

struct link {
    int fd, rank; /* -1: none */
    int64_t heard;
    size_t got;
    struct mccl_saying in;
    char *unsent; /* what did not fit into the socket's buffer, beginning within a message */
    size_t nunsent;
};

struct mccl_star {
    struct mccl_net *net;
    int listener, wake;
    struct link *links; /* rank 0: by rank, then PENDING; others: one */
    struct pollfd *polls;
    int nlinks, joined;
    int ready;                      /* ranks that are */
    _Atomic int live;               /* all ranks are; changes under `lock` */
    _Atomic bool met, mine, ending; /* met: all are there, so that silence tells something */
    bool told;
    struct mccl_circles *circles; /* rank 0's */
    unsigned moved;               /* by calls, when it last looked */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
};

static bool central(const struct mccl_star *s) { return s->net->comm->rank == 0; }

static void cut(struct link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    free(l->unsent);
    l->unsent = NULL;
    l->nunsent = 0;
    l->fd = -1;
    l->got = 0;
}

/* An error is found by who listens. */
static size_t push(const struct link *l, const void *from, size_t n)
{
    ssize_t sent = send(l->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? (size_t)sent : 0;
}

static void push_unsent(struct link *l)
{
    size_t n = l->nunsent ? push(l, l->unsent, l->nunsent) : 0;
    if (n)
        memmove(l->unsent, l->unsent + n, l->nunsent -= n);
}

/* One whole message, or for later what a reader that has stopped leaves no room for. A beat is only worth something
 * now. */
static void deliver(struct link *l, const struct mccl_saying *out)
{
    push_unsent(l);
    if (l->nunsent && out->word == MCCL_BEAT)
        return;
    size_t sent = l->nunsent ? 0 : push(l, out, sizeof *out), left = sizeof *out - sent;
    if (!left || (!sent && out->word == MCCL_BEAT))
        return;
    char *more = realloc(l->unsent, l->nunsent + left);
    if (!more) { /* a part of a message would make all that follows noise */
        shutdown(l->fd, SHUT_RDWR);
        return;
    }
    memcpy(more + l->nunsent, (const char *)out + sent, left);
    l->unsent = more;
    l->nunsent += left;
}

static void say(struct mccl_star *s, struct link *l, enum mccl_word word, int rank)
{
    const struct mccl_shared *m = s->net->comm->shared;
    struct mccl_saying out = {.word = word, .rank = rank};
    if (l->fd < 0)
        return;
    memcpy(out.magic, mccl_magic, sizeof out.magic);
    memcpy(out.secret, s->net->id.secret, sizeof out.secret);
    if (word == MCCL_BEAT && !central(s)) /* which rank 0 hears */
        out.waiting = mccl_waiting(s->net);
    if (word == MCCL_FAILED) {
        out.result = (int32_t)m->failed;
        out.unheard = m->unheard;
        snprintf(out.reason, sizeof out.reason, "%s", m->reasoned == 2 ? m->reason : "another rank could not go on");
    }
    deliver(l, &out);
}

static void say_all(struct mccl_star *s, enum mccl_word word, int rank)
{
    for (int i = 0; i < s->nlinks; i++)
        if (s->links[i].rank >= 0 && s->links[i].rank != rank)
            say(s, &s->links[i], word, rank);
}

static void set_live(struct mccl_star *s)
{
    for (int i = 0; i < s->nlinks; i++)
        s->links[i].heard = mccl_now_ms();
    pthread_mutex_lock(&s->lock);
    s->live = 1;
    pthread_cond_broadcast(&s->change);
    pthread_mutex_unlock(&s->lock);
}

static void count_ready(struct mccl_star *s)
{
    if (++s->ready < s->net->comm->nranks)
        return;
    say_all(s, MCCL_GO, 0);
    set_live(s);
}

/* Once. */
static void tell_failure(struct mccl_star *s)
{
    if (!s->net->comm->shared->failed || s->told)
        return;
    s->told = true;
    say_all(s, MCCL_FAILED, s->net->comm->rank);
}

/* A newcomer has said who it is. */
static void take_in(struct mccl_star *s, struct link *l)
{
    int rank = l->in.rank;
    struct link *to = &s->links[rank];
    if (l->in.word != MCCL_COMES || rank == 0 || to->rank >= 0) {
        cut(l);
        return;
    }
    *to = *l;
    to->rank = rank;
    if (s->told) /* the others have been, before it came */
        say(s, to, MCCL_FAILED, s->net->comm->rank);
    l->fd = -1;
    l->got = 0;
    if (++s->joined == s->net->comm->nranks - 1) {
        for (int i = s->net->comm->nranks; i < s->nlinks; i++)
            cut(&s->links[i]);
        close(s->listener);
        s->listener = -1;
    }
}

static void hear(struct mccl_star *s, struct link *l)
{
    mcclComm_t c = s->net->comm;
    const struct mccl_saying *in = &l->in;
    if (l->rank < 0) {
        take_in(s, l);
        return;
    }
    switch (in->word) {
    case MCCL_READY:
        if (central(s))
            count_ready(s);
        break;
    case MCCL_GO: set_live(s); break;
    case MCCL_BEAT:
        if (central(s))
            mccl_circles_told(s->circles, l->rank, &in->waiting, l->heard);
        break;
    case MCCL_FAILED:
        mccl_wire_drain(s->net->wire);
        if (in->unheard)
            c->shared->unheard = 1;
        if (in->result > 0)
            mccl_fail(c, (mcclResult_t)in->result, "%s", in->reason);
        break;
    case MCCL_LEAVES:
        tell_failure(s); /* which may be why it leaves */
        if (!s->live)
            mccl_fail(c, mcclRemoteError, "rank %d on host %s has left before all were ready", in->rank,
                      s->net->seats[in->rank].name);
        s->net->left[in->rank] = true;
        if (in->rank == l->rank)
            cut(l);
        if (central(s))
            say_all(s, MCCL_LEAVES, in->rank);
        break;
    default: break;
    }
}

static void lose(struct mccl_star *s, struct link *l, const char *how)
{
    int rank = l->rank;
    cut(l);
    if (rank < 0 || s->net->left[rank])
        return;
    const struct mccl_seat *seat = &s->net->seats[rank];
    mccl_wire_drain(s->net->wire); /* what it sent while it lived counts */
    if (strstr(how, "silent"))
        s->net->comm->shared->unheard = 1;
    mccl_fail(s->net->comm, mcclRemoteError, "%s rank %d on host %s, %d, %s",
              strstr(how, "silent") ? "the process or the host of" : "the process of", rank, seat->name, (int)seat->pid,
              how);
    s->net->left[rank] = true; /* nobody waits for it any more */
}

static void listen_to(struct mccl_star *s, struct link *l)
{
    while (l->fd >= 0) {
        ssize_t n = recv(l->fd, (char *)&l->in + l->got, sizeof l->in - l->got, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            lose(s, l, "has ended");
            return;
        }
        l->got += (size_t)n;
        if (l->got < sizeof l->in)
            continue;
        l->got = 0;
        l->heard = mccl_now_ms();
        if (!mccl_saying_good(&l->in, &s->net->id, s->net->comm->nranks)) {
            lose(s, l, "says what nobody understands");
            return;
        }
        hear(s, l);
    }
}

static void admit(struct mccl_star *s)
{
    int on = 1, fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct link *l = NULL;
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int i = s->net->comm->nranks; i < s->nlinks; i++) /* the one that has been silent longest makes room */
        if (!l || (l->fd >= 0 && (s->links[i].fd < 0 || s->links[i].heard < l->heard)))
            l = &s->links[i];
    cut(l);
    *l = (struct link){.fd = fd, .rank = -1, .heard = mccl_now_ms()};
}

/* Whoever has not been heard of for too long is gone. A thread that was itself stopped for a while cannot tell. */
static void check_silence(struct mccl_star *s, int64_t now, int64_t slept, int64_t meant)
{
    const bool counts = s->met;
    int limit = mccl_settings()->silence_ms;
    if (!s->live && limit < MEET_MS)
        limit = MEET_MS;
    for (int i = 0; i < s->nlinks; i++) {
        struct link *l = &s->links[i];
        if (l->fd < 0 || l->rank < 0)
            continue;
        if (!counts || slept > meant + limit / 4)
            l->heard = now;
        else if (now - l->heard > limit) {
            char how[64];
            snprintf(how, sizeof how, "has been silent for %.1f s", (double)(now - l->heard) / 1000);
            lose(s, l, how);
        }
    }
}

/* *busy: others move what is on the wire, so that it tells this thread nothing; or one of them has it just now. */
static int gather_polls(struct mccl_star *s, bool *busy)
{
    int n = 0;
    s->polls[n++] = (struct pollfd){.fd = s->wake, .events = POLLIN};
    s->polls[n++] = (struct pollfd){.fd = s->listener, .events = POLLIN};
    const bool idle = !*busy && !s->net->waiting && !s->net->comm->shared->failed;
    const bool armed = idle && mccl_wire_arm(s->net->wire);
    *busy = *busy || (idle && !armed);
    s->polls[n++] = (struct pollfd){.fd = armed ? mccl_wire_descriptor(s->net->wire) : -1, .events = POLLIN};
    for (int i = 0; i < s->nlinks; i++)
        s->polls[n++] = (struct pollfd){.fd = s->links[i].fd, .events = POLLIN};
    return n;
}

/* Tells the others that this rank is going, and hears them until they have understood. */
static void take_leave(struct mccl_star *s)
{
    int64_t end = mccl_now_ms() + END_MS;
    int rank = s->net->comm->rank;
    for (int i = 0; i < s->nlinks; i++)
        if (s->links[i].fd >= 0 && s->links[i].rank >= 0) {
            say(s, &s->links[i], MCCL_LEAVES, rank);
            s->net->left[s->links[i].rank] = true; /* no reason to complain */
        }
    for (bool any = true; any && mccl_now_ms() < end;) {
        any = false;
        for (int i = 0; i < s->nlinks; i++) {
            struct link *l = &s->links[i];
            s->polls[i] = (struct pollfd){.fd = l->rank < 0 ? -1 : l->fd, .events = POLLIN};
            any = any || s->polls[i].fd >= 0;
            if (s->polls[i].fd < 0)
                continue;
            push_unsent(l);
            if (!l->nunsent)
                shutdown(l->fd, SHUT_WR);
        }
        if (any && mccl_poll_some(s->polls, s->nlinks, END_MS / 10) <= 0)
            continue;
        for (int i = 0; i < s->nlinks && any; i++)
            if (s->polls[i].revents)
                listen_to(s, &s->links[i]);
    }
}

static void *run(void *arg)
{
    struct mccl_star *s = arg;
    struct mccl_shared *m = s->net->comm->shared;
    int beat = mccl_settings()->silence_ms / 8;
    int64_t said = 0, before = mccl_now_ms();
    bool mine = false;
    if (beat > 50)
        beat = 50;
    while (!s->ending) {
        /* While calls come one after the other, they look at the wire, and it wakes nobody else. */
        unsigned moved = atomic_load_explicit(&s->net->moved, memory_order_relaxed);
        bool busy = moved != s->moved;
        int n = gather_polls(s, &busy);
        s->moved = moved;
        (void)mccl_poll_some(s->polls, n, busy ? BUSY_MS : beat);
        int64_t now = mccl_now_ms(), slept = now - before;
        before = now;
        if (s->polls[0].revents) {
            uint64_t count;
            (void)!read(s->wake, &count, sizeof count);
        }
        if (s->polls[1].revents)
            admit(s);
        for (int i = 0; i + 3 < n; i++)
            if (s->polls[i + 3].revents && s->links[i].fd == s->polls[i + 3].fd)
                listen_to(s, &s->links[i]);
        if (s->mine && !mine) {
            mine = true;
            if (central(s))
                count_ready(s);
            else
                say(s, &s->links[0], MCCL_READY, s->net->comm->rank);
        }
        check_silence(s, now, slept, beat);
        if (!s->net->waiting && !m->failed)
            mccl_wire_progress(s->net->wire);
        tell_failure(s);
        if (now - said >= beat) {
            said = now;
            say_all(s, MCCL_BEAT, s->net->comm->rank);
            if (central(s)) {
                struct mccl_waiting own = mccl_waiting(s->net);
                mccl_circles_told(s->circles, 0, &own, now);
                mccl_circles_check(s->circles, s->net->comm, now);
            }
        }
    }
    tell_failure(s);
    take_leave(s);
    return NULL;
}

static struct mccl_star *new_star(struct mccl_net *n, int listener)
{
    struct mccl_star *s = calloc(1, sizeof *s);
    int nlinks = n->comm->rank ? 1 : n->comm->nranks + PENDING;
    if (!s)
        return NULL;
    s->net = n;
    s->listener = listener;
    s->nlinks = nlinks;
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->links = calloc((size_t)nlinks, sizeof *s->links);
    s->polls = calloc((size_t)nlinks + 3, sizeof *s->polls);
    s->circles = n->comm->rank ? NULL : mccl_circles_new(n->comm->nranks);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->change, NULL);
    for (int i = 0; i < nlinks && s->links; i++)
        s->links[i] = (struct link){.fd = -1, .rank = -1};
    return s;
}

static void free_star(struct mccl_star *s)
{
    for (int i = 0; i < s->nlinks && s->links; i++)
        cut(&s->links[i]);
    if (s->wake >= 0)
        close(s->wake);
    if (s->listener >= 0)
        close(s->listener);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->change);
    free(s->links);
    free(s->polls);
    free(s->circles);
    free(s);
}

mcclResult_t mccl_star_open(struct mccl_net *n, int listener, const struct mccl_place *at)
{
    struct mccl_star *s = new_star(n, listener);
    mcclComm_t c = n->comm;
    if (!s) {
        if (listener >= 0)
            close(listener);
        return mcclSystemError;
    }
    mcclResult_t r = s->wake < 0 || !s->links || !s->polls || (!c->rank && !s->circles) ? mcclSystemError : mcclSuccess;
    if (!r && c->rank) {
        int fd = mccl_connect(at, JOIN_MS / 3);
        if (fd < 0) {
            char text[80];
            mccl_place_text(at, text, sizeof text);
            mccl_fail(c, mcclRemoteError, "rank %d cannot connect to rank 0 on host %s at %s: %s", c->rank,
                      n->seats[0].name, text, strerror(errno));
            r = mcclRemoteError;
        } else {
            s->links[0] = (struct link){.fd = fd, .rank = 0, .heard = mccl_now_ms()};
            say(s, &s->links[0], MCCL_COMES, c->rank);
        }
    }
    if (!r) {
        sigset_t all, old; /* it takes none of the application's signals */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        r = pthread_create(&s->thread, NULL, run, s) ? mcclSystemError : mcclSuccess;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    if (r) {
        free_star(s);
        return r;
    }
    n->star = s;
    return mcclSuccess;
}

void mccl_star_met(struct mccl_net *n) { n->star->met = true; }

mcclResult_t mccl_star_ready(struct mccl_net *n)
{
    struct mccl_star *s = n->star;
    mcclComm_t c = n->comm;
    mcclResult_t r = mcclSuccess;
    uint64_t one = 1;
    s->mine = true;
    (void)!write(s->wake, &one, sizeof one);
    int64_t end = mccl_now_ms() + JOIN_MS;
    pthread_mutex_lock(&s->lock);
    while (!s->live && !(r = mccl_state(c)) && mccl_now_ms() < end) {
        if (mccl_given_up())
            mccl_fail(c, mcclRemoteError, "rank %d has given up", c->rank);
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 20000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&s->change, &s->lock, &t);
    }
    pthread_mutex_unlock(&s->lock);
    if (!s->live && !r) {
        mccl_fail(c, mcclRemoteError, "not all ranks were ready within %d s after they had met", JOIN_MS / 1000);
        r = mccl_state(c);
    }
    return r;
}

void mccl_star_close(struct mccl_net *n)
{
    struct mccl_star *s = n->star;
    uint64_t one = 1;
    if (!s)
        return;
    s->ending = true;
    (void)!write(s->wake, &one, sizeof one);
    pthread_join(s->thread, NULL);
    free_star(s);
    n->star = NULL;
}
