/* Addresses: which interface other hosts reach this one by, listening, connecting, and whole messages. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/door.h"

#define DOUBT_MS 50 /* how often a thread asks whether to give up */

int64_t mccl_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

/* Of the thread, which waits for one thing at a time, below many calls. */
static _Thread_local struct {
    int (*given_up)(void *);
    void *arg;
} doubt;

void cumu_mccl_while(int (*given_up)(void *), void *arg)
{
    doubt.given_up = given_up;
    doubt.arg = arg;
}

bool mccl_given_up(void) { return doubt.given_up && doubt.given_up(doubt.arg); }

int mccl_poll(struct pollfd *p, unsigned n, int64_t end)
{
    for (;;) {
        int64_t left = end < 0 ? INT32_MAX : end - mccl_now_ms();
        if (left <= 0)
            return 0;
        bool doubts = doubt.given_up && left > DOUBT_MS;
        int some = poll(p, n, doubts ? DOUBT_MS : end < 0 ? -1 : (int)left);
        if (some > 0 || (some < 0 && errno != EINTR))
            return some;
        if (some == 0 && (!doubts || mccl_given_up()))
            return 0;
    }
}

int mccl_poll_some(struct pollfd *p, int n, int ms)
{
    struct pollfd some[MCCL_POLLS];
    int of[MCCL_POLLS], k = 0;
    for (int i = 0; i < n; i++) {
        p[i].revents = 0;
        if (p[i].fd < 0)
            continue;
        some[k] = p[i];
        of[k++] = i;
    }
    int r = poll(some, (nfds_t)k, ms);
    for (int i = 0; i < k && r > 0; i++)
        p[of[i]].revents = some[i].revents;
    return r;
}

/* ---- addresses ----------------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static socklen_t address_of(const struct mccl_place *p, union address *a)
{
    memset(a, 0, sizeof *a);
    if (p->family == AF_UNIX) {
        size_t n = p->port < sizeof p->address ? p->port : sizeof p->address;
        a->un.sun_family = AF_UNIX;
        memcpy(a->un.sun_path, p->address, n);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    }
    if (p->family == AF_INET) {
        a->in.sin_family = AF_INET;
        a->in.sin_port = htons(p->port);
        memcpy(&a->in.sin_addr, p->address, 4);
        return sizeof a->in;
    }
    a->in6.sin6_family = AF_INET6;
    a->in6.sin6_port = htons(p->port);
    a->in6.sin6_scope_id = p->scope;
    memcpy(&a->in6.sin6_addr, p->address, 16);
    return sizeof a->in6;
}

static bool place_of(const struct sockaddr *from, struct mccl_place *p)
{
    union address a;
    memset(p, 0, sizeof *p);
    if (from && from->sa_family == AF_INET) {
        memcpy(&a.in, from, sizeof a.in);
        p->port = ntohs(a.in.sin_port);
        memcpy(p->address, &a.in.sin_addr, 4);
    } else if (from && from->sa_family == AF_INET6) {
        memcpy(&a.in6, from, sizeof a.in6);
        p->port = ntohs(a.in6.sin6_port);
        p->scope = a.in6.sin6_scope_id;
        memcpy(p->address, &a.in6.sin6_addr, 16);
    } else
        return false;
    p->family = from->sa_family;
    return true;
}

void mccl_place_text(const struct mccl_place *at, char *text, size_t size)
{
    char address[INET6_ADDRSTRLEN] = "?";
    if (at->family == AF_UNIX) {
        snprintf(text, size, "this host");
        return;
    }
    inet_ntop(at->family, at->address, address, sizeof address);
    snprintf(text, size, at->family == AF_INET6 ? "[%s]:%d" : "%s:%d", address, at->port);
}

/* Does the interface stand on the list? NCCL's rules: names separated by commas, each the beginning of one; a list
 * that begins with = has whole names, with ^ names that are not meant. */
static bool listed(const char *list, const char *name)
{
    bool not = *list == '^';
    list += not ;
    bool whole = *list == '=';
    list += whole;
    bool found = false;
    while (*list && !found) {
        size_t n = strcspn(list, ",");
        found = n && strncmp(list, name, n) == 0 && (!whole || !name[n]);
        list += n + (list[n] == ',');
    }
    return found != not ;
}

/* How much an interface is wanted: 0 not at all. A loopback is better than none, as ranks in one namespace can meet
 * there; a container bridge has the same address on many hosts. */
static int worth(const struct ifaddrs *i, struct mccl_place *p)
{
    const struct mccl_settings *s = mccl_settings();
    if (!(i->ifa_flags & IFF_UP) || !place_of(i->ifa_addr, p) || (s->family && p->family != s->family))
        return 0;
    bool named = s->interfaces[0];
    if (named && !listed(s->interfaces, i->ifa_name))
        return 0;
    int v = p->family == AF_INET ? 2 : 1;
    if (p->family == AF_INET6 && p->address[0] == 0xfe && (p->address[1] & 0xc0) == 0x80)
        return v; /* link-local */
    if (i->ifa_flags & IFF_LOOPBACK)
        return named ? v + 30 : v + 2;
    return strncmp(i->ifa_name, "docker", 6) == 0 && !named ? v + 10 : v + 20;
}

static bool choose(struct mccl_place *at)
{
    struct ifaddrs *all, *i;
    int best = 0;
    if (getifaddrs(&all))
        return false;
    for (i = all; i; i = i->ifa_next) {
        struct mccl_place p;
        int v = worth(i, &p);
        if (v > best) {
            best = v;
            *at = p;
        }
    }
    freeifaddrs(all);
    return best > 0;
}

int mccl_listen(struct mccl_place *at)
{
    union address a;
    int on = 1, fd;
    if (!at->family && !choose(at))
        return -1;
    fd = socket(at->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t n = address_of(at, &a);
    if (fd < 0)
        return -1;
    if (at->port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &a.any, n) || listen(fd, MCCL_MAX_RANKS) || getsockname(fd, &a.any, &n) || !place_of(&a.any, at)) {
        close(fd);
        return -1;
    }
    return fd;
}

int mccl_listen_here(struct mccl_place *at)
{
    union address a = {.un = {.sun_family = AF_UNIX}};
    socklen_t n = sizeof a;
    size_t before = offsetof(struct sockaddr_un, sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, &a.any, sizeof a.un.sun_family) || listen(fd, MCCL_MAX_RANKS) || getsockname(fd, &a.any, &n) ||
        n <= before || n - before > sizeof at->address) {
        close(fd);
        return -1;
    }
    *at = (struct mccl_place){.family = AF_UNIX, .port = (uint16_t)(n - before)};
    memcpy(at->address, a.un.sun_path, n - before);
    return fd;
}

static int connect_once(const struct mccl_place *to, int patience_ms)
{
    union address a;
    socklen_t n = address_of(to, &a);
    int on = 1, error = 0, fd = socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof error;
    if (connect(fd, &a.any, n)) /* a Unix socket says at once that nobody is there */
        error = errno != EINPROGRESS ? errno : mccl_poll(&p, 1, mccl_now_ms() + patience_ms) == 1 ? 0 : ETIMEDOUT;
    if (!error && (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) || error))
        error = error ? error : EIO;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

int mccl_connect(const struct mccl_place *to, int patience_ms)
{
    int64_t end = mccl_now_ms() + patience_ms, scarce = mccl_now_ms() + MCCL_SCARCE_MS;
    if (to->family != AF_INET && to->family != AF_INET6 && to->family != AF_UNIX) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    for (;;) {
        int64_t left = end - mccl_now_ms();
        int fd = connect_once(to, left > 0 ? (int)left : 0);
        if (fd >= 0 || left <= 100 || errno == ECONNREFUSED || mccl_given_up())
            return fd;
        if ((errno == EMFILE || errno == ENFILE) && mccl_now_ms() > scarce)
            return fd;
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
}

static bool same_address(const struct sockaddr *a, const struct mccl_place *b)
{
    struct mccl_place p;
    return place_of(a, &p) && p.family == b->family && memcmp(p.address, b->address, sizeof p.address) == 0;
}

bool mccl_await_link(int fd, int patience_ms)
{
    union address own;
    socklen_t n = sizeof own;
    struct mccl_place here;
    if (getsockname(fd, &own.any, &n) || !place_of(&own.any, &here))
        return true;
    for (int64_t end = mccl_now_ms() + patience_ms;;) {
        struct ifaddrs *all;
        if (getifaddrs(&all))
            return true;
        bool runs = true;
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            if (same_address(i->ifa_addr, &here))
                runs = i->ifa_flags & IFF_RUNNING;
        freeifaddrs(all);
        if (runs || mccl_now_ms() >= end)
            return runs;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
}

bool mccl_place_of_id(struct mccl_place *at)
{
    char host[300];
    const struct mccl_settings *s = mccl_settings();
    snprintf(host, sizeof host, "%s", s->id);
    char *colon = strrchr(host, ':'), *name = host;
    if (!colon)
        return false;
    *colon = 0;
    size_t n = strlen(host);
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = 0;
        name++;
    }
    struct addrinfo hint = {.ai_family = s->family, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(name, colon + 1, &hint, &found) || !found)
        return false;
    bool good = place_of(found->ai_addr, at) && at->port;
    freeaddrinfo(found);
    return good;
}

/* ---- messages ------------------------------------------------------------------------------------ */

/* Until the socket can be read or written, or time is up. */
static bool await(int fd, short events, int64_t end)
{
    return mccl_poll(&(struct pollfd){.fd = fd, .events = events}, 1, end) > 0;
}

bool mccl_send_all(int fd, const void *from, size_t n, int patience_ms)
{
    int64_t end = mccl_now_ms() + patience_ms;
    for (size_t done = 0; done < n;) {
        ssize_t k = send(fd, (const char *)from + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k > 0)
            done += (size_t)k;
        else if (k == 0 || (errno != EAGAIN && errno != EINTR) || !await(fd, POLLOUT, end))
            return false;
    }
    return true;
}

bool mccl_receive_all(int fd, void *to, size_t n, int patience_ms)
{
    int64_t end = mccl_now_ms() + patience_ms;
    for (size_t done = 0; done < n;) {
        ssize_t k = recv(fd, (char *)to + done, n - done, MSG_DONTWAIT);
        if (k > 0)
            done += (size_t)k;
        else if (k == 0 || (errno != EAGAIN && errno != EINTR) || !await(fd, POLLIN, end))
            return false;
    }
    return true;
}

void mccl_hang_up(int fd)
{
    char unread[4096];
    while (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        ;
    close(fd);
}

bool mccl_send_frame(int fd, uint32_t type, const void *from, size_t n, int patience_ms)
{
    struct mccl_frame f = {.type = type, .bytes = (uint32_t)n};
    memcpy(f.magic, mccl_magic, sizeof f.magic);
    return mccl_send_all(fd, &f, sizeof f, patience_ms) && mccl_send_all(fd, from, n, patience_ms);
}

void *mccl_receive_frame(int fd, uint32_t type, size_t most, size_t *bytes, int patience_ms, char *reason)
{
    struct mccl_frame f;
    if (!mccl_receive_all(fd, &f, sizeof f, patience_ms))
        return NULL;
    if (mccl_frame_good(&f, MCCL_REFUSAL, MCCL_REASON)) {
        if (!mccl_receive_all(fd, reason, f.bytes, patience_ms))
            reason[0] = 0;
        reason[f.bytes < MCCL_REASON ? f.bytes : MCCL_REASON - 1] = 0;
        return NULL;
    }
    void *payload = mccl_frame_good(&f, type, most) ? malloc(f.bytes ? f.bytes : 1) : NULL;
    *bytes = f.bytes;
    if (payload && mccl_receive_all(fd, payload, f.bytes, patience_ms))
        return payload;
    free(payload);
    return NULL;
}
