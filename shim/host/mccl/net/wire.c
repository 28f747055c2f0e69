/* The wire between hosts, by UCX (ucx.h); without its headers nowire.c is built instead. */
#include "host/mccl/net/wire.h"

#include <stdio.h>

#if __has_include(<ucp/api/ucp.h>)

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/net.h"
#include "host/mccl/net/ucx.h"

const char *mccl_wire_error(int status) { return mccl_ucx.ucs_status_string((ucs_status_t)status); }

bool mccl_wire_truncated(int status) { return status == UCS_ERR_MESSAGE_TRUNCATED; }

/* ---- a worker ---------------------------------------------------------------------------------- */

#define LEAST 24        /* descriptors that must be left: UCX 1.13 ends the process where it gets none */
#define AT_ONCE "65537" /* bytes of the shortest message that is not sent at once */
#define AGAIN_MS 100    /* before a greeting that was not answered is sent again */
#define MOST_LOST (RENEW_MS / AGAIN_MS)
#define RENEW_MS 3000 /* how long a way that breaks meanwhile is made anew: the link may have gone and come */

enum note { GREETING, GREETED, FAREWELL, HEARD, TAKEN, NOTES };
enum { NOTE_ID, PUT_ID }; /* of active messages */
struct note_header {      /* of an active message: I can reach you, I have sent all; and the answers */
    uint32_t note;
    int32_t rank;
    uint64_t count; /* TAKEN: puts */
};

struct peer {
    void *address;
    size_t bytes;
    ucp_ep_h ep, lost[MOST_LOST]; /* lost: that broke and are not closed */
    unsigned nlost;
    _Atomic int broken;           /* UCX's error */
    bool owed[NOTES];             /* answers that it has not got */
    bool greeted, heard;          /* it answered ours */
    _Atomic uint64_t taken;       /* puts of ours that it has taken */
    struct note_header has_taken; /* and we of its */
};

struct mccl_wire {
    pthread_mutex_t lock;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t bytes;
    int descriptor, nranks, rank;
    bool owes, ending;
    _Atomic unsigned moves; /* how often something moved */
    bool known;             /* others have the address: they may be making ways to here */
    bool settled;           /* all ranks have greeted each other */
    void (*take)(void *, const struct mccl_put *, const void *, size_t);
    void *taker;
    struct mccl_flight *flights;
    struct note_header notes[NOTES]; /* what is sent of each kind, which stays where it is */
    struct peer peer[];
};

static void take_out(struct mccl_flight *f)
{
    if (f->link) {
        *f->link = f->next;
        if (f->next)
            f->next->link = f->link;
        f->link = NULL;
    }
}

static void end_flight(struct mccl_flight *f, ucs_status_t status)
{
    take_out(f);
    f->status = status;
    atomic_store_explicit(&f->done, 1, memory_order_release);
}

static void sent(void *request, ucs_status_t status, void *flight)
{
    end_flight(flight, status);
    mccl_ucx.ucp_request_free(request);
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *flight)
{
    struct mccl_flight *f = flight;
    f->bytes = info->length;
    f->tag = info->sender_tag;
    end_flight(f, status);
    mccl_ucx.ucp_request_free(request);
}

static ucs_status_t noted(void *wire, const void *header, size_t size, void *data, size_t length,
                          const ucp_am_recv_param_t *param)
{
    struct mccl_wire *w = wire;
    struct note_header n;
    (void)data, (void)length, (void)param;
    if (size != sizeof n)
        return UCS_OK;
    memcpy(&n, header, sizeof n);
    if (n.rank < 0 || n.rank >= w->nranks)
        return UCS_OK;
    if (n.note == FAREWELL || n.note == GREETING)
        w->owes = w->peer[n.rank].owed[n.note + 1] = true;
    else if (n.note == HEARD)
        w->peer[n.rank].heard = true;
    else if (n.note == GREETED)
        w->peer[n.rank].greeted = true;
    else if (n.note == TAKEN && n.count > w->peer[n.rank].taken)
        w->peer[n.rank].taken = n.count;
    return UCS_OK;
}

static ucs_status_t put_came(void *wire, const void *header, size_t size, void *data, size_t length,
                             const ucp_am_recv_param_t *param)
{
    struct mccl_wire *w = wire;
    struct mccl_put put;
    if (size != sizeof put || param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return UCS_OK;
    memcpy(&put, header, sizeof put);
    if (put.rank < 0 || put.rank >= w->nranks || !w->take)
        return UCS_OK;
    w->take(w->taker, &put, data, length);
    w->peer[put.rank].has_taken.count++;
    w->owes = w->peer[put.rank].owed[TAKEN] = true;
    return UCS_OK;
}

static void broke(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct peer *p = arg;
    if (ep == p->ep) /* and none that was given up before */
        p->broken = status;
}

/* UCX chooses how messages go by what devices promise. Between TCP's ends its rendezvous takes 24 us for 32 KiB, which
 * are there in 9 if they are sent at once; so all do that a short call sends (short.c). */
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
    ucp_am_handler_param_t notes = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                  UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                    .id = NOTE_ID,
                                    .cb = noted,
                                    .arg = w};
    ucp_am_handler_param_t puts = notes;
    puts.id = PUT_ID;
    puts.cb = put_came;
    ucp_config_t *config = NULL;
    ucs_status_t s = mccl_ucx.ucp_config_read(NULL, NULL, &config);
    if (!s && transports)
        s = mccl_ucx.ucp_config_modify(config, "TLS", transports);
    if (!s && !mccl_settings()->rendezvous && only_tcp())
        s = mccl_ucx.ucp_config_modify(config, "RNDV_THRESH", AT_ONCE);
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
    s = s ? s : mccl_ucx.ucp_worker_set_am_recv_handler(w->worker, &notes);
    return s ? s : mccl_ucx.ucp_worker_set_am_recv_handler(w->worker, &puts);
}

static void end(struct mccl_wire *w)
{
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

/* May the process open so many more? */
static bool has_descriptors(int n)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most))
        return true;
    for (rlim_t fd = 0; fd < most.rlim_cur && n > 0; fd++)
        n -= fcntl((int)fd, F_GETFD) < 0;
    return n <= 0;
}

struct mccl_wire *mccl_wire_open(int nranks, int rank, char *text, size_t size)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (!has_descriptors(LEAST + 2 * nranks)) {
        snprintf(text, size, "lacks descriptors for UCX: %d and two a rank are not left (ulimit -n)", LEAST);
        return NULL;
    }
    const char *missing = mccl_ucx_open();
    struct mccl_wire *w = missing ? NULL : calloc(1, sizeof *w + (size_t)nranks * sizeof *w->peer);
    if (!w) {
        snprintf(text, size, "%s", missing ? missing : "out of memory");
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    w->nranks = nranks;
    w->rank = rank;
    for (unsigned k = 0; k < NOTES; k++)
        w->notes[k] = (struct note_header){k, rank, 0};
    for (int i = 0; i < nranks; i++)
        w->peer[i].has_taken = (struct note_header){TAKEN, rank, 0};
    sigset_t all, old; /* its thread takes none of the program's signals */
    sigfillset(&all);
    pthread_mutex_lock(&one_at_a_time);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ucs_status_t s = begin(w, NULL);
    if (s && !mccl_settings()->transports) { /* it takes 5 MB of /dev/shm, of which a container may have 64 */
        end(w);
        s = begin(w, "^posix");
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    if (!s && w->bytes <= MCCL_ADDRESS_MAX)
        return w;
    snprintf(text, size, "UCX: %s", s ? mccl_wire_error(s) : "too many devices for an address of 16 KiB");
    mccl_wire_close(w);
    return NULL;
}

const void *mccl_wire_address(const struct mccl_wire *w, size_t *bytes)
{
    *bytes = w->bytes;
    return w->address;
}

bool mccl_wire_peer(struct mccl_wire *w, int peer, const void *address, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);
    if (copy)
        memcpy(copy, address, bytes);
    w->peer[peer].address = copy;
    w->peer[peer].bytes = bytes;
    return copy != NULL;
}

int mccl_wire_descriptor(const struct mccl_wire *w) { return w->descriptor; }

/* ---- messages ---------------------------------------------------------------------------------- */

/* The way to a peer, made when it is first needed. lock held. */
static ucs_status_t reach(struct mccl_wire *w, int peer)
{
    struct peer *p = &w->peer[peer];
    if (p->broken)
        return (ucs_status_t)p->broken;
    if (p->ep)
        return UCS_OK;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = p->address,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {.cb = broke, .arg = p}};
    if (!p->address)
        return UCS_ERR_INVALID_PARAM;
    ucs_status_t s = mccl_ucx.ucp_ep_create(w->worker, &params, &p->ep);
    if (s) {
        p->ep = NULL;
        p->broken = s;
    }
    return s;
}

static void start(struct mccl_wire *w, struct mccl_flight *f, int peer, bool receives)
{
    *f = (struct mccl_flight){.peer = peer, .receives = receives, .next = w->flights, .link = &w->flights};
    if (f->next)
        f->next->link = &f->next;
    w->flights = f;
}

void mccl_wire_send(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, const void *from, size_t bytes)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .cb.send = sent, .user_data = f};
    pthread_mutex_lock(&w->lock);
    start(w, f, peer, false);
    f->bytes = bytes;
    ucs_status_t s = w->ending ? UCS_ERR_CANCELED : reach(w, peer);
    void *request = s ? NULL : mccl_ucx.ucp_tag_send_nbx(w->peer[peer].ep, from, bytes, tag, &param);
    if (UCS_PTR_IS_PTR(request))
        f->request = request;
    else
        end_flight(f, s ? s : UCS_PTR_STATUS(request));
    pthread_mutex_unlock(&w->lock);
}

void mccl_wire_receive(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, uint64_t mask, void *to,
                       size_t bytes)
{
    /* Never done at once: UCX 1.13 then tells no tag for some messages. */
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .cb.recv = received,
                                 .user_data = f};
    pthread_mutex_lock(&w->lock);
    start(w, f, peer, true);
    f->wanted = bytes;
    void *request = w->ending ? UCS_STATUS_PTR(UCS_ERR_CANCELED)
                              : mccl_ucx.ucp_tag_recv_nbx(w->worker, to, bytes, tag, mask, &param);
    if (UCS_PTR_IS_ERR(request))
        end_flight(f, UCS_PTR_STATUS(request));
    else if (!f->done)
        f->request = request;
    pthread_mutex_unlock(&w->lock);
}

void mccl_wire_put(struct mccl_wire *w, struct mccl_flight *f, int peer, const struct mccl_put *put, const void *from,
                   size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = sent,
                                 .user_data = f};
    pthread_mutex_lock(&w->lock);
    start(w, f, peer, false);
    f->bytes = bytes;
    ucs_status_t s = w->ending ? UCS_ERR_CANCELED : reach(w, peer);
    void *request = s ? NULL
                      : mccl_ucx.ucp_am_send_nbx(w->peer[peer].ep, PUT_ID, put, sizeof *put, from, bytes, &param);
    if (UCS_PTR_IS_PTR(request))
        f->request = request;
    else
        end_flight(f, s ? s : UCS_PTR_STATUS(request));
    pthread_mutex_unlock(&w->lock);
}

void mccl_wire_take(struct mccl_wire *w, void (*take)(void *, const struct mccl_put *, const void *, size_t), void *arg)
{
    pthread_mutex_lock(&w->lock);
    w->take = take;
    w->taker = arg;
    pthread_mutex_unlock(&w->lock);
}

uint64_t mccl_wire_taken(const struct mccl_wire *w, int peer) { return w->peer[peer].taken; }

static void noted_sent(void *request, ucs_status_t status, void *unused)
{
    (void)status, (void)unused;
    mccl_ucx.ucp_request_free(request);
}

/* lock held */
static void send_note(struct mccl_wire *w, int peer, enum note note)
{
    const struct note_header *n = note == TAKEN ? &w->peer[peer].has_taken : &w->notes[note];
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = noted_sent};
    if (!reach(w, peer))
        (void)mccl_ucx.ucp_am_send_nbx(w->peer[peer].ep, NOTE_ID, n, sizeof *n, NULL, 0, &param);
}

static void move(struct mccl_wire *w)
{
    if (w->ending)
        return;
    while (mccl_ucx.ucp_worker_progress(w->worker))
        w->moves++;
    if (!w->owes)
        return;
    w->owes = false;
    for (int i = 0; i < w->nranks; i++)
        for (unsigned k = 0; k < NOTES; k++)
            if (w->peer[i].owed[k]) {
                w->peer[i].owed[k] = false;
                send_note(w, i, (enum note)k);
            }
}

bool mccl_wire_progress(struct mccl_wire *w)
{
    if (pthread_mutex_trylock(&w->lock))
        return false;
    move(w);
    pthread_mutex_unlock(&w->lock);
    return true;
}

void mccl_wire_drain(struct mccl_wire *w)
{
    pthread_mutex_lock(&w->lock);
    move(w);
    pthread_mutex_unlock(&w->lock);
}

unsigned mccl_wire_moves(const struct mccl_wire *w) { return w->moves; }

bool mccl_wire_arm(struct mccl_wire *w)
{
    pthread_mutex_lock(&w->lock);
    bool armed = mccl_ucx.ucp_worker_arm(w->worker) == UCS_OK;
    pthread_mutex_unlock(&w->lock);
    return armed;
}

/* ---- its end ------------------------------------------------------------------------------------- */

static void nap(void) { nanosleep(&(struct timespec){0, 200000}, NULL); }

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool answered(const struct peer *p, enum note note) { return note == GREETING ? p->greeted : p->heard; }

/* Who greets may have begun while the link was away. The way that broke is closed with the others, and another one is
 * made; what was asked by the first one may be lost. lock held. */
static void renew(struct mccl_wire *w, int peer)
{
    struct peer *p = &w->peer[peer];
    if (p->ep && p->nlost < MOST_LOST)
        p->lost[p->nlost++] = p->ep;
    p->ep = NULL;
    p->broken = 0;
}

static void renew_all(struct mccl_wire *w, enum note note, const bool *peers)
{
    for (int i = 0; i < w->nranks; i++)
        if (peers[i] && !answered(&w->peer[i], note)) {
            if (w->peer[i].broken)
                renew(w, i);
            send_note(w, i, note);
        }
}

/* Sends the note to some peers, those it has a way to if NULL, and waits for their answers, but not for those that are
 * `gone`, which changes meanwhile. False: one of the peers asked for, `*who`, cannot be reached, or time is up and it
 * has not answered. */
static bool ask(struct mccl_wire *w, enum note note, const bool *peers, const _Atomic bool *gone, int patience_ms,
                bool (*give_up)(void *), void *arg, int *who)
{
    int64_t began = now_ms(), end = began + patience_ms, again = began + AGAIN_MS;
    bool all = false, broken = false;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->nranks; i++)
        if (peers ? peers[i] : w->peer[i].ep && !w->peer[i].broken)
            send_note(w, i, note);
    while (!all && !broken && now_ms() < end && !give_up(arg)) {
        move(w);
        if (note == GREETING && now_ms() > again && again < began + RENEW_MS) {
            renew_all(w, note, peers);
            again += AGAIN_MS;
        }
        all = true;
        for (int i = w->nranks - 1; i >= 0 && !broken; i--)
            if ((peers ? peers[i] : w->peer[i].ep && !w->peer[i].broken) && !(gone && gone[i]) &&
                !answered(&w->peer[i], note)) {
                all = false;
                broken = w->peer[i].broken && (note != GREETING || again >= began + RENEW_MS);
                *who = i;
            }
        if (!all && !broken) {
            pthread_mutex_unlock(&w->lock);
            nap();
            pthread_mutex_lock(&w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return all;
}

bool mccl_wire_greet(struct mccl_wire *w, const bool *peers, int patience_ms, bool (*give_up)(void *), void *arg,
                     int *who, const char **why)
{
    if (ask(w, GREETING, peers, NULL, patience_ms, give_up, arg, who))
        return true;
    *why = w->peer[*who].broken ? mccl_wire_error(w->peer[*who].broken) : "no answer";
    return false;
}

void mccl_wire_flush(struct mccl_wire *w, const _Atomic bool *gone, int patience_ms, bool (*give_up)(void *), void *arg)
{
    int who;
    (void)ask(w, FAREWELL, NULL, gone, patience_ms, give_up, arg, &who);
}

static void close_lost(ucp_ep_h ep)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    void *request = mccl_ucx.ucp_ep_close_nbx(ep, &param);
    if (UCS_PTR_IS_PTR(request))
        mccl_ucx.ucp_request_free(request);
}

/* Closing by force ends what is sent with an error; what is received has to be cancelled. lock held. */
static void close_ways(struct mccl_wire *w, bool force)
{
    int64_t end = now_ms() + 500;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0};
    void **closing = calloc((size_t)w->nranks, sizeof *closing);
    for (int i = 0; i < w->nranks; i++) {
        while (w->peer[i].nlost)
            close_lost(w->peer[i].lost[--w->peer[i].nlost]);
        if (!w->peer[i].ep)
            continue;
        void *request = mccl_ucx.ucp_ep_close_nbx(w->peer[i].ep, &param);
        w->peer[i].ep = NULL;
        if (!UCS_PTR_IS_PTR(request))
            continue;
        if (closing)
            closing[i] = request;
        else
            mccl_ucx.ucp_request_free(request);
    }
    for (struct mccl_flight *f = w->flights, *next; f; f = next) {
        next = f->next;
        if (f->receives)
            mccl_ucx.ucp_request_cancel(w->worker, f->request);
    }
    for (bool all = false; !all && now_ms() < end;) {
        mccl_ucx.ucp_worker_progress(w->worker);
        all = !w->flights;
        for (int i = 0; closing && i < w->nranks; i++) {
            if (closing[i] && mccl_ucx.ucp_request_check_status(closing[i]) != UCS_INPROGRESS) {
                mccl_ucx.ucp_request_free(closing[i]);
                closing[i] = NULL;
            }
            all = all && !closing[i];
        }
        if (!all)
            nap();
    }
    for (int i = 0; closing && i < w->nranks; i++)
        if (closing[i])
            mccl_ucx.ucp_request_free(closing[i]);
    free(closing);
}

/* UCX 1.13 ends the process when it closes a way, or a worker to which somebody else makes a way, on which the answer
 * to a request to connect still waits (an assertion of ucp_request_send_state_ff): then it is better to leave the
 * worker as it is, for ever. That happens when a rank is lost while the communicator is made. */
static bool can_close(const struct mccl_wire *w)
{
    for (int i = 0; i < w->nranks; i++)
        if (w->peer[i].ep && !w->peer[i].greeted && !w->peer[i].heard)
            return false;
    return (w->settled || !w->known);
}

void mccl_wire_known(struct mccl_wire *w) { w->known = true; }
void mccl_wire_settled(struct mccl_wire *w) { w->settled = true; }

void mccl_wire_cancel(struct mccl_wire *w)
{
    pthread_mutex_lock(&w->lock);
    if (!w->ending && can_close(w))
        close_ways(w, true);
    w->ending = true;
    pthread_mutex_unlock(&w->lock);
}

void mccl_wire_close(struct mccl_wire *w)
{
    if (!w)
        return;
    if (!can_close(w))
        return;
    if (w->worker && !w->ending)
        close_ways(w, true);
    end(w);
    for (int i = 0; i < w->nranks; i++)
        free(w->peer[i].address);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

#endif
