/* The end of a wire that UCX would end the process for: a rank was lost while ranks made ways to each other, and others
 * may wait for answers that are not sent yet. */
#include "host/mccl/net/wire.h"

#if __has_include(<ucp/api/ucp.h>)

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "host/mccl/net/net.h"
#include "host/mccl/net/ways.h"

#define QUIET_MS 300   /* nothing has come to a worker for so long: what it owed is sent */
#define LINGER_MS 5000 /* how long that is waited for */
#define NAP_NS 2000000
#define MOST_SEEN (1 << 20) /* descriptors that are looked at */

/* Is a connection of this process being made? Then an answer may wait for that. */
static bool connects(void)
{
    struct rlimit most = {.rlim_cur = MOST_SEEN};
    bool any = false;
    (void)getrlimit(RLIMIT_NOFILE, &most);
    for (rlim_t fd = 0; fd < most.rlim_cur && fd < MOST_SEEN && !any; fd++) {
        struct tcp_info info;
        socklen_t size = sizeof info;
        any = getsockopt((int)fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_SYN_SENT;
    }
    return any;
}

/* Moves a worker until nothing has come for a while and all connections are made or refused, so that all answers are on
 * their way; then closes it. One to a host that is gone takes the kernel two minutes: then it is left as it is. */
static void *linger(void *wire)
{
    struct mccl_wire *w = wire;
    int64_t quiet = mccl_now_ms();
    const int64_t last = mccl_now_ms() + LINGER_MS;
    while (mccl_now_ms() < quiet + QUIET_MS || connects()) {
        if (mccl_now_ms() > last)
            return NULL;
        if (mccl_ucx.ucp_worker_progress(w->worker))
            quiet = mccl_now_ms();
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
    w->ending = false; /* nothing of it is closed yet, be it that it was cancelled */
    mccl_wire_end(w);
    return NULL;
}

/* With devices for RDMA nothing tells that an answer waits. */
void mccl_wire_linger(struct mccl_wire *w)
{
    mccl_wire_take(w, NULL, NULL); /* whose memory goes */
    if (w->only_tcp)
        (void)mccl_thread(linger, w);
}

#endif
