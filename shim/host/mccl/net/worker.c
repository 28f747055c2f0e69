/* Opens UCX for one communicator: a context and a worker, by which the wire's messages go. */
#include "host/mccl/net/wire.h"

#if __has_include(<ucp/api/ucp.h>)

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "host/mccl/net/net.h"
#include "host/mccl/net/ways.h"

/* Descriptors that must be left, and two for each rank: UCX 1.13 ends the process where it gets none. A worker takes 11
 * for TCP, 15 for all that a host without RDMA has; then a rank takes one, and two for each rank, until it has all ways
 * (4 to 8 ranks, one a host). The rest is for what it opens meanwhile. */
#define LEAST 24
#define KEPT 2
/* TCP brings a message by pieces of what a connection's buffer takes, 64 KiB if nothing is said: a chunk (collective.c)
 * takes 0.87 of the time if all but its beginning is one. Every connection has a buffer, so only between few ranks. */
#define SEGMENT "256k"
#define FEW 32

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int promised; /* descriptors of the workers whose ways are not made yet; the lock is held */

/* UCX chooses how messages go by what devices promise. Between TCP's ends its rendezvous takes 24 us for 32 KiB, which
 * are there in 9 if they are sent at once, and 490 us for 1 MiB, which takes 160. Nothing long comes unexpected
 * (message.c), so that everything may. */
static bool only_tcp(void)
{
    DIR *devices = opendir("/sys/class/infiniband");
    bool any = false;
    for (const struct dirent *d; devices && (d = readdir(devices)) && !any;)
        any = d->d_name[0] != '.';
    if (devices)
        closedir(devices);
    return !any;
}

/* `transports` as UCX_TLS; NULL: what that says, or all. */
static ucs_status_t begin(struct mccl_wire *w, const char *transports)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                                         UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                           .estimated_num_eps = (size_t)w->nranks};
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    static const ucp_am_recv_callback_t came[] = {[NOTE_ID] = mccl_note_came, [PUT_ID] = mccl_put_came};
    ucp_config_t *config = NULL;
    ucs_status_t s = mccl_ucx.ucp_config_read(NULL, NULL, &config);
    if (!s && transports)
        s = mccl_ucx.ucp_config_modify(config, "TLS", transports);
    w->only_tcp = only_tcp();
    if (!s && !mccl_settings()->rendezvous && w->only_tcp)
        s = mccl_ucx.ucp_config_modify(config, "RNDV_THRESH", "inf");
    if (!s && !mccl_settings()->segments && w->nranks <= FEW) /* a release that does not know it here: without */
        (void)mccl_ucx.ucp_config_modify(config, "RX_SEG_SIZE", SEGMENT);
    if (!s)
        s = mccl_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &w->context);
    if (config)
        mccl_ucx.ucp_config_release(config);
    if (s)
        w->context = NULL;
    if (!s && (s = mccl_ucx.ucp_worker_create(w->context, &worker, &w->worker)))
        w->worker = NULL;
    if (!s && (s = mccl_ucx.ucp_worker_get_address(w->worker, &w->address, &w->bytes)))
        w->address = NULL;
    s = s ? s : mccl_ucx.ucp_worker_get_efd(w->worker, &w->descriptor);
    for (unsigned id = 0; id < sizeof came / sizeof *came && !s; id++) {
        const ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                              UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                              UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                                .id = id,
                                                .cb = came[id],
                                                .arg = w};
        s = mccl_ucx.ucp_worker_set_am_recv_handler(w->worker, &handler);
    }
    return s;
}

void mccl_worker_made(struct mccl_wire *w)
{
    pthread_mutex_lock(&one_at_a_time);
    promised -= w->promised;
    w->promised = 0;
    pthread_mutex_unlock(&one_at_a_time);
}

/* When its last way over a device is closed, UCX 1.13 opens that device once more to ask it something, and ends the
 * process where it gets no descriptor (ucp_worker_set_am_handlers). */
void mccl_worker_ends(struct mccl_wire *w)
{
    if (w->spare >= 0)
        close(w->spare);
    w->spare = -1;
}

void mccl_worker_end(struct mccl_wire *w)
{
    mccl_worker_ends(w);
    if (w->address)
        mccl_ucx.ucp_worker_release_address(w->worker, w->address);
    if (w->worker)
        mccl_ucx.ucp_worker_destroy(w->worker);
    if (w->context)
        mccl_ucx.ucp_cleanup(w->context);
    w->address = NULL;
    w->worker = NULL;
    w->context = NULL;
}

/* May the process open so many more? Those that other ranks of it are about to open are not left. */
static bool has_descriptors(int n)
{
    n += promised;
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most))
        return true;
    for (rlim_t fd = 0; fd < most.rlim_cur && n > 0; fd++)
        n -= fcntl((int)fd, F_GETFD) < 0;
    return n <= 0;
}

struct mccl_wire *mccl_wire_open(int nranks, int rank, char *text, size_t size)
{
    const char *missing = mccl_ucx_open();
    struct mccl_wire *w = missing ? NULL : calloc(1, sizeof *w + (size_t)nranks * sizeof *w->peer);
    if (!w) {
        snprintf(text, size, "%s", missing ? missing : "out of memory");
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    w->nranks = nranks;
    w->rank = rank;
    w->spare = -1;
    w->last = &w->flights;
    for (unsigned k = 0; k < NOTES; k++)
        w->notes[k] = (struct note_header){k, rank, 0};
    for (int i = 0; i < nranks; i++)
        w->peer[i].has_taken = (struct note_header){TAKEN, rank, 0};
    sigset_t all, old; /* its thread takes none of the program's signals */
    sigfillset(&all);
    pthread_mutex_lock(&one_at_a_time);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool enough = has_descriptors(LEAST + 2 * nranks);
    ucs_status_t s = enough ? begin(w, NULL) : UCS_ERR_NO_RESOURCE;
    if (s && enough && !mccl_settings()->transports) { /* it takes 5 MB of /dev/shm, of which a container may have 64 */
        mccl_worker_end(w);
        s = begin(w, "^posix");
    }
    if (!s)
        promised += w->promised = KEPT + 2 * nranks;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    if (!s && w->bytes <= MCCL_ADDRESS_MAX) {
        w->spare = fcntl(w->descriptor, F_DUPFD_CLOEXEC, 0);
        return w;
    }
    if (enough)
        snprintf(text, size, "UCX: %s", s ? mccl_wire_error(s) : "too many devices for an address of 16 KiB");
    else
        snprintf(text, size, "lacks descriptors for UCX: %d and two a rank are not left (ulimit -n)", LEAST);
    mccl_wire_close(w);
    return NULL;
}

#endif
