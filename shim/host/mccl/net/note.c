/* Active messages of the wire, which the peer takes whatever its program does: notes between wires, and puts. */
#include "host/mccl/net/wire.h"

#if __has_include(<ucp/api/ucp.h>)

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

static void put_sent(void *request, ucs_status_t status, void *flight)
{
    mccl_flight_part(flight, 0, status);
    mccl_ucx.ucp_request_free(request);
}

void mccl_wire_put(struct mccl_wire *w, struct mccl_flight *f, int peer, const struct mccl_put *put, const void *from,
                   size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = put_sent,
                                 .user_data = f};
    pthread_mutex_lock(&w->lock);
    mccl_flight_begin(w, f, peer, false, WHOLE);
    f->bytes = bytes;
    ucs_status_t s = w->ending ? UCS_ERR_CANCELED : mccl_way_reach(w, peer);
    void *request = s ? NULL
                      : mccl_ucx.ucp_am_send_nbx(w->peer[peer].ep, PUT_ID, put, sizeof *put, from, bytes, &param);
    if (UCS_PTR_IS_PTR(request))
        f->request[0] = request;
    else
        mccl_flight_part(f, 0, s ? s : UCS_PTR_STATUS(request));
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

void mccl_note_send(struct mccl_wire *w, int peer, enum note note)
{
    const struct note_header *n = note == TAKEN ? &w->peer[peer].has_taken : &w->notes[note];
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = noted_sent};
    if (!mccl_way_reach(w, peer))
        (void)mccl_ucx.ucp_am_send_nbx(w->peer[peer].ep, NOTE_ID, n, sizeof *n, NULL, 0, &param);
}

#endif
