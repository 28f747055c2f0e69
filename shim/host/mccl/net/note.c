/* Active messages of the wire, which the peer takes whatever its program does: notes between wires, and puts. */
#include "host/mccl/net/wire.h"

#if __has_include(<ucp/api/ucp.h>)

#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/ways.h"

ucs_status_t mccl_note_came(void *wire, const void *header, size_t size, void *data, size_t length,
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
    else if (n.note == READY)
        mccl_message_ready(w, n.rank, n.count);
    return UCS_OK;
}

ucs_status_t mccl_put_came(void *wire, const void *header, size_t size, void *data, size_t length,
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

void mccl_wire_put(struct mccl_wire *w, struct mccl_flight *f, int peer, const struct mccl_put *put, const void *from,
                   size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = mccl_flight_sent,
                                 .user_data = f};
    pthread_mutex_lock(&w->lock);
    mccl_flight_begin(w, f, peer, false, WHOLE);
    f->bytes = bytes;
    ucs_status_t s = w->ending ? UCS_ERR_CANCELED : mccl_way_reach(w, peer);
    mccl_flight_begun(f, 0,
                      s ? UCS_STATUS_PTR(s)
                        : mccl_ucx.ucp_am_send_nbx(w->peer[peer].ep, PUT_ID, put, sizeof *put, from, bytes, &param));
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

/* kept: the header, if it is this note's own. One that does not go has a broken way, which whoever waits for the peer
 * learns. */
static void noted(void *request, ucs_status_t status, void *kept)
{
    (void)status;
    mccl_ucx.ucp_request_free(request);
    free(kept);
}

static ucs_status_t send_note(struct mccl_wire *w, int peer, const struct note_header *n, void *kept)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_FLAGS |
                                                       UCP_OP_ATTR_FIELD_USER_DATA,
                                       .flags = UCP_AM_SEND_FLAG_EAGER,
                                       .cb.send = noted,
                                       .user_data = kept};
    ucs_status_t s = mccl_way_reach(w, peer);
    void *request = s ? UCS_STATUS_PTR(s)
                      : mccl_ucx.ucp_am_send_nbx(w->peer[peer].ep, NOTE_ID, n, sizeof *n, NULL, 0, &param);
    if (UCS_PTR_IS_PTR(request))
        return UCS_OK;
    free(kept);
    return UCS_PTR_STATUS(request);
}

void mccl_note_send(struct mccl_wire *w, int peer, enum note note)
{
    (void)send_note(w, peer, note == TAKEN ? &w->peer[peer].has_taken : &w->notes[note], NULL);
}

ucs_status_t mccl_note_ready(struct mccl_wire *w, int peer, uint64_t tag)
{
    struct note_header *n = w->ending ? NULL : malloc(sizeof *n);
    if (!n)
        return w->ending ? UCS_ERR_CANCELED : UCS_ERR_NO_MEMORY;
    *n = (struct note_header){READY, w->rank, tag};
    return send_note(w, peer, n, n);
}

#endif
