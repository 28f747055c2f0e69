/* Who makes an id waits, in a thread of its own, for the ranks of it to come: by the abstract Unix socket whose name is
 * the id's random key, or by TCP from other hosts. When all have come by the socket, each is handed the same shared
 * memory; otherwise each is told who is where, and their cards go round. An abstract name and a memfd leave nothing
 * behind, however a process ends. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/mccl/net/desk.h"
#include "host/mccl/rendezvous.h"

#define HELLO_MS 10000  /* who connects must say its rank within that */
#define BEAT_MS 1000    /* how often who waits hears that the desk lives */
#define NOTICE_MS 30000 /* then a line says who is missing */
#define LAST_MS 1000    /* how long those still before the door are heard when it closes */
#define LATE_MS 10000   /* how long who comes to a meeting that was refused is told why */

/* ---- messages ---------------------------------------------------------------------------------- */

bool mccl_desk_reply(const struct guest *to, struct mccl_reply reply, int fd)
{
    struct iovec v = {&reply, sizeof reply};
    char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (!to->unix_socket) {
        reply.mapped = NULL;
        return mccl_send_all(to->fd, &reply, sizeof reply, HELLO_MS);
    }
    if (fd >= 0) {
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return sendmsg(to->fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof reply;
}

static void turn_away(const struct desk *d, const struct guest *g, mcclResult_t why)
{
    struct mccl_reply r = {.result = why};
    snprintf(r.reason, sizeof r.reason, "%s", d->reason);
    if (d->second)
        mccl_send_frame(g->fd, MCCL_REFUSAL, d->reason, strlen(d->reason) + 1, HELLO_MS);
    else
        mccl_desk_reply(g, r, -1);
    mccl_hang_up(g->fd);
}

int mccl_step_ms(void) { return mccl_settings()->join_ms < MCCL_STEP_MS ? mccl_settings()->join_ms : MCCL_STEP_MS; }

void mccl_desk_refuse(struct desk *d, mcclResult_t why, const char *format, ...)
{
    va_list list;
    if (d->result)
        return;
    d->result = why;
    va_start(list, format);
    vsnprintf(d->reason, sizeof d->reason, format, list);
    va_end(list);
}

/* ---- those who come ---------------------------------------------------------------------------- */

/* The first one says how many they are. */
static void open_book(struct desk *d, int nranks)
{
    if (!d->guests && (d->guests = calloc((size_t)nranks, sizeof *d->guests))) {
        d->since = d->local ? d->since : mccl_now_ms();
        d->nranks = nranks;
        for (int i = 0; i < d->nranks; i++)
            d->guests[i].fd = d->guests[i].line = -1;
    }
}

/* Its end is not its second visit, which has been. */
static void close_line(struct guest *g)
{
    if (g->line >= 0)
        close(g->line);
    g->line = -1;
}

/* One that knows the id, and is of another build: all are told, as it is missed otherwise. False: it is none. */
static bool turn_away_foreign(struct desk *d, const struct guest *g)
{
    const struct mccl_hello *h = &g->hello;
    char text[MCCL_REASON];
    if (!mccl_hello_foreign(h, &d->id, text, sizeof text))
        return false;
    if (h->nranks >= 1 && h->nranks <= MCCL_MAX_RANKS)
        open_book(d, h->nranks);
    d->here++;
    d->late = true;
    mccl_desk_refuse(d, mcclInvalidUsage, "%s", text);
    turn_away(d, g, d->result);
    return true;
}

/* Takes in one rank. Ranks that disagree about the communicator would wait for each other for ever. */
static void admit(struct desk *d, struct guest *g)
{
    const struct mccl_hello *h = &g->hello;
    if (h->second != d->second) {
        close(g->fd);
        return;
    }
    open_book(d, h->nranks);
    d->here++;
    if (!d->guests)
        mccl_desk_refuse(d, mcclSystemError, "out of memory");
    else if (d->result)
        ; /* too late */
    else if (h->lack) {
        d->late = h->lack != ECANCELED; /* those come at once, or have heard of it */
        mccl_desk_refuse(d, mcclSystemError, "rank %d on host %s cannot come: %s", mccl_desk_name(d, h->rank), h->name,
                         strerror((int)h->lack));
    } else if (h->nranks != d->nranks)
        mccl_desk_refuse(d, mcclInvalidUsage, "rank %d says that there are %d ranks, another one %d", h->rank,
                         h->nranks, d->nranks);
    else if (d->guests[h->rank].fd >= 0)
        mccl_desk_refuse(d, mcclInvalidUsage, "rank %d has come twice, or has given up", mccl_desk_name(d, h->rank));
    else if (h->user != geteuid()) {
        d->late = true;
        mccl_desk_refuse(d, mcclInvalidUsage,
                         "rank %d on host %s belongs to another user, %u, than who made the id, %u", h->rank, h->name,
                         h->user, geteuid());
    }
    if (d->result) {
        turn_away(d, g, d->result);
        if (d->guests && h->rank < d->nranks)
            close_line(&d->guests[h->rank]);
    } else {
        g->at_home = d->second ? d->guests[h->rank].at_home : g->unix_socket;
        g->line = d->guests[h->rank].line;
        d->guests[h->rank] = *g;
    }
}

/* What one by the Unix socket says, all at once; a stranger is turned away. */
static bool is_meant(struct desk *d, const struct guest *g, ssize_t n)
{
    if (n == sizeof g->hello && mccl_hello_good(&g->hello, &d->id))
        return true;
    if (n < (ssize_t)MCCL_HELLO_PREFIX || !turn_away_foreign(d, g))
        close(g->fd);
    return false;
}

/* Nobody could be let in. Those before the door would wait for as long as ranks may take to come. */
static void pause_if_exhausted(struct desk *d)
{
    const int why = errno;
    if (why == EINTR || why == ECONNABORTED || why == EAGAIN)
        return;
    d->scarce = d->scarce ? d->scarce : mccl_now_ms();
    if (mccl_now_ms() - d->scarce > MCCL_SCARCE_MS)
        mccl_desk_refuse(d, mcclSystemError, "who made the id, process %d, cannot let in the others: %s", (int)getpid(),
                         strerror(why));
    nanosleep(&(struct timespec){0, 10000000}, NULL); /* not in a busy loop */
}

/* Anybody may call, and say nothing: each is heard beside the others, and who has been silent longest makes room. */
static struct caller *note_caller(struct desk *d, int fd, bool unix_socket)
{
    struct caller *at = &d->callers[0];
    for (int i = 1; i < MCCL_DOOR_PENDING && at->fd >= 0; i++)
        if (d->callers[i].fd < 0 || d->callers[i].since < at->since)
            at = &d->callers[i];
    if (at->fd >= 0)
        close(at->fd);
    at->fd = fd;
    at->unix_socket = unix_socket;
    at->got = 0;
    at->since = mccl_now_ms();
    return at;
}

static void hear_by_socket(struct desk *d, struct caller *c)
{
    ssize_t n = recv(c->fd, &c->hello, sizeof c->hello, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    struct guest g = {.fd = c->fd, .line = -1, .unix_socket = true, .hello = c->hello};
    c->fd = -1;
    if (is_meant(d, &g, n))
        admit(d, &g);
}

static void admit_by_socket(struct desk *d)
{
    pid_t pid;
    int fd = accept4(d->door, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        pause_if_exhausted(d);
        return;
    }
    d->scarce = 0;
    if (mccl_same_user(fd, &pid))
        hear_by_socket(d, note_caller(d, fd, true)); /* a rank says at once who it is */
    else
        close(fd);
}

static void admit_caller(struct desk *d)
{
    int on = 1, fd = accept4(d->net, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        pause_if_exhausted(d);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* what waits for an answer to go is lost by a reset */
    d->scarce = 0;
    (void)note_caller(d, fd, false);
}

static void hear_caller(struct desk *d, struct caller *c)
{
    if (c->unix_socket) {
        hear_by_socket(d, c);
        return;
    }
    ssize_t n = recv(c->fd, (char *)&c->hello + c->got, sizeof c->hello - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->got += n > 0 ? (size_t)n : 0;
    struct guest g = {.fd = c->fd, .line = -1, .hello = c->hello};
    if (n > 0 && c->got >= MCCL_HELLO_PREFIX && turn_away_foreign(d, &g)) { /* whose hello may be shorter */
        c->fd = -1;
        return;
    }
    if (n > 0 && c->got < sizeof c->hello)
        return;
    c->fd = -1;
    if (n > 0 && mccl_hello_good(&g.hello, &d->id))
        admit(d, &g);
    else
        close(g.fd);
}

static void list_missing(const struct desk *d, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (int i = 0, named = 0; i < d->nranks && n < size; i++)
        if (d->guests[i].fd < 0 && named++ <= 8)
            n += (size_t)snprintf(text + n, size - n,
                                  named > 8   ? " ..."
                                  : named > 1 ? ", %d"
                                              : "%d",
                                  mccl_desk_name(d, i));
}

static void check_time(struct desk *d)
{
    int64_t now = mccl_now_ms(), waited = now - d->since;
    char missing[100];
    for (int i = 0; i < MCCL_DOOR_PENDING; i++)
        if (d->callers[i].fd >= 0 && now - d->callers[i].since > HELLO_MS) {
            close(d->callers[i].fd);
            d->callers[i].fd = -1;
        }
    if (now - d->beat > BEAT_MS && !d->second) {
        d->beat = now;
        for (int i = 0; i < d->nranks; i++)
            if (d->guests[i].fd >= 0 && !d->guests[i].unix_socket)
                mccl_desk_reply(&d->guests[i], (struct mccl_reply){.result = mcclInProgress}, -1);
    }
    if ((!d->guests && !d->local) || waited < (d->patience_ms < NOTICE_MS ? d->patience_ms : NOTICE_MS))
        return;
    list_missing(d, missing, sizeof missing);
    if (waited >= d->patience_ms) {
        mccl_desk_refuse(d, mcclRemoteError, "of %d ranks, these have not come within %d s: %s", d->nranks,
                         d->patience_ms / 1000, missing);
    } else if (!d->noticed) {
        char line[200];
        d->noticed = true;
        snprintf(line, sizeof line, "nccl: still waiting for these of %d ranks: %s", d->nranks, missing);
        cumu_host_say(line);
    }
}

static void miss_guest(struct desk *d, int i)
{
    struct guest *g = &d->guests[i];
    d->late = g->hello.process != mccl_process_number(); /* a rank of this one has given up */
    mccl_desk_refuse(d, mcclRemoteError, "rank %d on host %s has gone before all had come", mccl_desk_name(d, i),
                     g->hello.name);
    if (g->fd < 0) { /* it does not come again */
        close_line(g);
        d->here++;
    }
}

/* Until all are here, or one has gone. */
void mccl_desk_receive(struct desk *d)
{
    struct pollfd p[MCCL_MAX_RANKS + 2 + MCCL_DOOR_PENDING];
    while ((!d->result || mccl_now_ms() < d->until) && (!d->guests || d->here < d->nranks)) {
        int n = 0, calling = 0;
        for (int i = 0; i < d->nranks && d->guests; i++) { /* negative ones are skipped */
            const struct guest *g = &d->guests[i];
            p[n++] = (struct pollfd){.fd = g->fd >= 0 ? g->fd : g->line, .events = POLLIN};
        }
        p[n++] = (struct pollfd){.fd = d->door, .events = POLLIN};
        p[n++] = (struct pollfd){.fd = d->net, .events = POLLIN};
        for (int i = 0; i < MCCL_DOOR_PENDING; i++) {
            p[n++] = (struct pollfd){.fd = d->callers[i].fd, .events = POLLIN};
            calling += d->callers[i].fd >= 0;
        }
        int guests = n - 2 - MCCL_DOOR_PENDING;
        if (mccl_poll_some(p, n, d->guests || d->local || calling ? 500 : -1) < 0)
            continue;
        for (int i = 0; i < guests; i++)
            if (p[i].fd >= 0 && p[i].revents) /* it has nothing to say: it is gone */
                miss_guest(d, i);
        for (int i = 0; i < MCCL_DOOR_PENDING; i++)
            if (p[guests + 2 + i].revents && d->callers[i].fd == p[guests + 2 + i].fd)
                hear_caller(d, &d->callers[i]);
        if (p[guests].revents)
            admit_by_socket(d);
        if (p[guests + 1].revents)
            admit_caller(d);
        check_time(d);
    }
}

/* From now on callers are refused: the id has served, or never will. Those before the door are told so, since
 * a forked child may hold it too, and closing alone would leave them waiting there. */
static void close_door(struct desk *d)
{
    struct guest g = {.line = -1, .unix_socket = true};
    const int64_t end = mccl_now_ms() + LAST_MS; /* for all: who says nothing keeps nobody waiting */
    pid_t pid;
    shutdown(d->door, SHUT_RDWR);
    close(d->spare);
    for (int i = 0; i < MCCL_DOOR_PENDING || (g.fd = accept4(d->door, NULL, NULL, SOCK_CLOEXEC)) >= 0; i++) {
        if (i < MCCL_DOOR_PENDING) {
            if (d->callers[i].fd < 0 || !d->callers[i].unix_socket)
                continue;
            g.fd = d->callers[i].fd;
            d->callers[i].fd = -1;
        }
        struct pollfd p = {.fd = g.fd, .events = POLLIN};
        const int64_t left = end - mccl_now_ms();
        const bool says = mccl_same_user(g.fd, &pid) && poll(&p, 1, left > 0 ? (int)left : 0) == 1;
        if (is_meant(d, &g, says ? recv(g.fd, &g.hello, sizeof g.hello, MSG_DONTWAIT) : -1))
            turn_away(d, &g, d->result ? d->result : mcclInvalidUsage);
    }
    close(d->door);
    d->door = -1;
}

static void close_net(struct desk *d)
{
    for (int i = 0; i < MCCL_DOOR_PENDING; i++) {
        if (d->callers[i].fd >= 0)
            close(d->callers[i].fd);
        d->callers[i].fd = -1; /* this is done twice: by then another thread's may have the number */
    }
    if (d->net >= 0) {
        shutdown(d->net, SHUT_RDWR);
        close(d->net);
    }
    d->net = -1;
}

/* Those that are here, and those that come later. */
void mccl_desk_turn_away(struct desk *d)
{
    for (int i = 0; i < d->nranks && d->guests; i++)
        if (d->guests[i].fd >= 0) {
            turn_away(d, &d->guests[i], d->result);
            d->guests[i].fd = -1;
            close_line(&d->guests[i]);
        }
    d->until = mccl_now_ms() + LATE_MS;
    mccl_desk_receive(d);
}

/* ---- the desk -------------------------------------------------------------------------------------- */

static void *serve(void *arg)
{
    struct desk *d = arg;
    mccl_desk_receive(d);
    if (d->late)
        mccl_desk_turn_away(d);
    close_door(d); /* before anyone is told to go on, who might come again */
    if (!d->result && mccl_desk_spans(d)) {
        if (d->net < 0)
            mccl_desk_refuse(d, mcclSystemError,
                             "there are ranks on several hosts, and this one has no address for the others");
        else
            mccl_desk_introduce(d);
    }
    if (!d->second) {
        close_net(d); /* as above */
        mccl_desk_answer(d);
    }
    for (int i = 0; i < d->nranks && d->second; i++) {
        if (d->guests[i].fd >= 0) {
            if (d->result)
                turn_away(d, &d->guests[i], d->result);
            else
                close(d->guests[i].fd);
        }
        if (d->guests[i].line >= 0)
            close(d->guests[i].line);
    }
    close_net(d);
    free(d->guests);
    free(d->names);
    free(d);
    return NULL;
}

/* names: of the ranks of a host, their numbers among all; NULL: these are all, and may be abroad. */
static mcclResult_t open_desk(struct mccl_id *id, const int *names, int n)
{
    const bool abroad = !names;
    struct desk *d = calloc(1, sizeof *d);
    struct sockaddr_un name;
    if (!d || (names && !(d->names = malloc((size_t)n * sizeof *names)))) {
        free(d);
        return mcclSystemError;
    }
    for (d->nnames = 0; d->nnames < n; d->nnames++)
        d->names[d->nnames] = names[d->nnames];
    for (int i = 0; i < MCCL_DOOR_PENDING; i++)
        d->callers[i].fd = -1;
    d->local = !abroad;
    d->since = mccl_now_ms();
    d->patience_ms = abroad ? mccl_settings()->join_ms : mccl_step_ms();
    d->net = abroad ? mccl_listen(&id->door) : -1;
    if (d->net < 0 && !id->named)
        id->door = (struct mccl_place){0};
    d->id = *id;
    d->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    d->spare = fcntl(d->door, F_DUPFD_CLOEXEC, 0);
    if (d->spare >= 0 && bind(d->door, (struct sockaddr *)&name, mccl_name_of(&name, id)) == 0 &&
        listen(d->door, MCCL_MAX_RANKS) == 0 && (d->net >= 0 || !id->named) && mccl_thread(serve, d))
        return mcclSuccess;
    if (d->door >= 0)
        close(d->door);
    if (d->spare >= 0)
        close(d->spare);
    close_net(d);
    free(d->names);
    free(d);
    return mcclSystemError;
}

static mcclResult_t new_id(struct mccl_id *id, const int *names, int n)
{
    memset(id, 0, sizeof *id);
    memcpy(id->magic, mccl_magic, sizeof id->magic);
    if (getrandom(id->key, sizeof id->key, 0) != sizeof id->key ||
        getrandom(id->secret, sizeof id->secret, 0) != sizeof id->secret)
        return mcclSystemError;
    return open_desk(id, names, n);
}

mcclResult_t mccl_local_id(struct mccl_id *id, const int *names, int n) { return new_id(id, names, n); }

mcclResult_t mccl_named_id(const struct mccl_id *id)
{
    struct mccl_id copy = *id;
    return open_desk(&copy, NULL, 0);
}

/* Makes an id and opens its desk. NCCL_COMM_ID names the place of it: then rank 0 opens it when it joins, and every
 * rank may make the id for itself. */
mcclResult_t mcclGetUniqueId(mcclUniqueId *out)
{
    struct mccl_id id = {0};
    if (!out)
        return mcclInvalidArgument;
    mcclResult_t r = mcclSuccess;
    if (mccl_settings()->id[0]) {
        memcpy(id.magic, mccl_magic, sizeof id.magic);
        id.named = 1;
        if (!mccl_place_of_id(&id.door)) {
            cumu_host_say("nccl: NCCL_COMM_ID is no address: expected HOST:PORT or [IPv6]:PORT");
            return mcclInvalidArgument;
        }
        memcpy(id.key, id.door.address, sizeof id.key);
        id.key[0] ^= (uint64_t)id.door.port << 48;
    } else
        r = new_id(&id, NULL, 0);
    memset(out, 0, sizeof *out);
    memcpy(out, &id, sizeof id);
    return r;
}
