/* The wire between hosts, by UCX (ucx.h); without its headers nowire.c is built instead. Here are its ways: how they
 * are made, moved on and ended; message.c and note.c are what goes by them, worker.c what UCX has of them. */
#include "host/mccl/net/wire.h"

#if __has_include(<ucp/api/ucp.h>)

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/mccl/net/ways.h"

const char *mccl_wire_error(int status) { return mccl_ucx.ucs_status_string((ucs_status_t)status); }

bool mccl_wire_truncated(int status) { return status == UCS_ERR_MESSAGE_TRUNCATED; }

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

static void broke(void *wire, ucp_ep_h ep, ucs_status_t status)
{
    struct mccl_wire *w = wire;
    for (int i = 0; i < w->nranks; i++)
        if (w->peer[i].ep == ep) { /* and none that was given up before */
            w->peer[i].broken = status;
            w->owes = true; /* who waits for it has to be told */
        }
}

/* The way to a peer, made when it is first needed. */
ucs_status_t mccl_way_reach(struct mccl_wire *w, int peer)
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
                              .err_handler = {.cb = broke, .arg = w}};
    if (!p->address)
        return UCS_ERR_INVALID_PARAM;
    ucs_status_t s = mccl_ucx.ucp_ep_create(w->worker, &params, &p->ep);
    if (s) {
        p->ep = NULL;
        p->broken = s;
    }
    return s;
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
    mccl_message_serve(w);
    for (int i = 0; i < w->nranks; i++)
        for (unsigned k = 0; k < NOTES; k++)
            if (w->peer[i].owed[k]) {
                w->peer[i].owed[k] = false;
                mccl_note_send(w, i, (enum note)k);
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
    if (pthread_mutex_trylock(&w->lock)) /* who has it may have to wait for a CPU, and the others hear from this rank */
        return false;
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
            mccl_note_send(w, i, note);
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
            mccl_note_send(w, i, note);
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
    mccl_worker_ends(w);
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
    mccl_message_cancel(w);
    for (bool all = false; !all && now_ms() < end;) {
        mccl_ucx.ucp_worker_progress(w->worker);
        all = !mccl_message_sends(w); /* a message that is coming in is not cancelled, but nothing brings more of it */
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
    mccl_message_end(w);
}

/* UCX 1.13 ends the process when it closes a way, or a worker to which somebody else makes a way, on which the answer
 * to a request to connect still waits (an assertion of ucp_request_send_state_ff). That happens when a rank is lost
 * while the communicator is made: then the worker lingers. */
static bool can_close(const struct mccl_wire *w)
{
    for (int i = 0; i < w->nranks; i++)
        if (w->peer[i].ep && !w->peer[i].greeted && !w->peer[i].heard)
            return false;
    return (w->settled || !w->known);
}

void mccl_wire_known(struct mccl_wire *w, bool known) { w->known = known; }
void mccl_wire_settled(struct mccl_wire *w)
{
    w->settled = true;
    mccl_worker_made(w);
}

void mccl_wire_cancel(struct mccl_wire *w)
{
    pthread_mutex_lock(&w->lock);
    if (!w->ending && can_close(w))
        close_ways(w, true);
    w->ending = true;
    pthread_mutex_unlock(&w->lock);
}

void mccl_wire_end(struct mccl_wire *w)
{
    if (w->worker && !w->ending)
        close_ways(w, true);
    mccl_worker_end(w);
    mccl_message_free(w);
    for (int i = 0; i < w->nranks; i++)
        free(w->peer[i].address);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void mccl_wire_close(struct mccl_wire *w)
{
    if (!w)
        return;
    mccl_worker_made(w);
    if (can_close(w))
        mccl_wire_end(w);
    else
        mccl_wire_linger(w);
}

#endif
