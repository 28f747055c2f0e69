/* Messages of the wire that are matched by tags. What is long goes when the receiver is ready for it: its beginning at
 * once, which says that there is more, and the rest at a note of the peer, which sends it as soon as it has a place. So
 * nobody has to keep much that came too early, and UCX's own rendezvous is not needed, which is slow between TCP's ends
 * (worker.c). */
#include "host/mccl/net/wire.h"

#if __has_include(<ucp/api/ucp.h>)

#include <stdlib.h>

#include "host/mccl/net/ways.h"

#define AT_ONCE 65536 /* bytes of the longest message that goes whole; all that a short call sends (short.c) */
#define FIRST 8192    /* that begin a longer one */

/* In a tag, whose class (flight.c) leaves two bits: this begins a long one, which is not matched; this is its rest. */
#define TAG_LONG (1ull << 62)
#define TAG_REST (1ull << 63)

struct ready { /* what a peer is ready for */
    struct ready *next;
    uint64_t tag;
};

/* ---- flights ------------------------------------------------------------------------------------- */

void mccl_flight_begin(struct mccl_wire *w, struct mccl_flight *f, int peer, bool receives, unsigned parts)
{
    *f = (struct mccl_flight){.wire = w, .peer = peer, .receives = receives, .parts = (uint8_t)parts, .link = w->last};
    *w->last = f;
    w->last = &f->next;
}

void mccl_flight_part(struct mccl_flight *f, unsigned part, ucs_status_t status)
{
    f->request[part] = NULL;
    f->parts &= (uint8_t) ~(1u << part);
    if (status && !f->status && !f->astray)
        f->status = status;
    if (status && f->rest) { /* which nobody will be ready for */
        f->rest = NULL;
        f->parts &= (uint8_t)~REST;
    }
    if (f->parts)
        return;
    *f->link = f->next;
    *(f->next ? &f->next->link : &f->wire->last) = f->link;
    atomic_store_explicit(&f->done, 1, memory_order_release);
}

void mccl_flight_begun(struct mccl_flight *f, unsigned part, ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_PTR(request))
        f->request[part] = request;
    else
        mccl_flight_part(f, part, UCS_PTR_STATUS(request));
}

/* ---- sending ------------------------------------------------------------------------------------- */

void mccl_flight_sent(void *request, ucs_status_t status, void *flight)
{
    mccl_flight_part(flight, 0, status);
    mccl_ucx.ucp_request_free(request);
}

static void rest_sent(void *request, ucs_status_t status, void *flight)
{
    mccl_flight_part(flight, 1, status);
    mccl_ucx.ucp_request_free(request);
}

static void send_part(struct mccl_wire *w, struct mccl_flight *f, unsigned part, uint64_t tag, const void *from,
                      size_t bytes)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send = part ? rest_sent : mccl_flight_sent,
                                       .user_data = f};
    ucs_status_t s = w->ending ? UCS_ERR_CANCELED : mccl_way_reach(w, f->peer);
    mccl_flight_begun(f, part,
                      s ? UCS_STATUS_PTR(s) : mccl_ucx.ucp_tag_send_nbx(w->peer[f->peer].ep, from, bytes, tag, &param));
}

static void send_rest(struct mccl_wire *w, struct mccl_flight *f)
{
    const char *from = f->rest;
    f->rest = NULL;
    send_part(w, f, 1, f->tag | TAG_REST, from, f->bytes - FIRST);
}

/* Has the peer said that it is ready for this? Then that is used up. */
static bool is_ready(struct mccl_wire *w, const struct mccl_flight *f)
{
    for (struct ready **r = &w->peer[f->peer].ready; *r; r = &(*r)->next)
        if ((*r)->tag >> 32 == f->tag >> 32) {
            struct ready *used = *r;
            *r = used->next;
            free(used);
            return true;
        }
    return false;
}

void mccl_wire_send(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, const void *from, size_t bytes)
{
    const bool is_long = bytes > AT_ONCE;
    pthread_mutex_lock(&w->lock);
    mccl_flight_begin(w, f, peer, false, is_long ? WHOLE | REST : WHOLE);
    f->bytes = bytes;
    f->tag = tag;
    f->rest = is_long ? (const char *)from + FIRST : NULL;
    send_part(w, f, 0, is_long ? tag | TAG_LONG : tag, from, is_long ? FIRST : bytes);
    if (f->rest && is_ready(w, f))
        send_rest(w, f);
    pthread_mutex_unlock(&w->lock);
}

/* ---- receiving ----------------------------------------------------------------------------------- */

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *flight)
{
    struct mccl_flight *f = flight;
    const bool came = !status || status == UCS_ERR_MESSAGE_TRUNCATED;
    const bool astray = came && !(info->sender_tag & TAG_LONG) != (f->wanted <= AT_ONCE);
    if (came) {
        f->tag = info->sender_tag & ~TAG_LONG;
        f->bytes += astray && info->length == f->wanted ? SIZE_MAX : info->length;
    }
    mccl_ucx.ucp_request_free(request);
    if (astray) {
        f->status = f->status ? f->status : status;
        f->astray = f->wire->owes = true;
    }
    mccl_flight_part(f, 0, status);
}

static void rest_received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *flight)
{
    struct mccl_flight *f = flight;
    if (!status)
        f->bytes += info->length;
    mccl_ucx.ucp_request_free(request);
    mccl_flight_part(f, 1, status);
}

static void receive_part(struct mccl_wire *w, struct mccl_flight *f, unsigned part, uint64_t tag, uint64_t mask,
                         void *to, size_t bytes)
{
    /* Never done at once: UCX 1.13 then tells no tag for some messages. */
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                       UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                       .cb.recv = part ? rest_received : received,
                                       .user_data = f};
    void *request = w->ending ? UCS_STATUS_PTR(UCS_ERR_CANCELED)
                              : mccl_ucx.ucp_tag_recv_nbx(w->worker, to, bytes, tag, mask, &param);
    if (UCS_PTR_IS_ERR(request) || f->parts >> part & 1)
        mccl_flight_begun(f, part, request);
}

void mccl_wire_receive(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, uint64_t mask, void *to,
                       size_t bytes)
{
    const bool is_long = bytes > AT_ONCE;
    pthread_mutex_lock(&w->lock);
    mccl_flight_begin(w, f, peer, true, is_long ? WHOLE | REST : WHOLE);
    f->wanted = bytes;
    if (is_long) { /* the rest first: whoever sends it may be told before the beginning is looked for */
        receive_part(w, f, 1, tag | TAG_REST, mask, (char *)to + FIRST, bytes - FIRST);
        ucs_status_t s = f->parts & REST ? mccl_note_ready(w, peer, tag) : UCS_OK;
        if (s) { /* it will not come */
            f->status = s;
            f->astray = w->owes = true;
        }
    }
    receive_part(w, f, 0, tag, mask & ~TAG_LONG, to, is_long ? FIRST : bytes);
    pthread_mutex_unlock(&w->lock);
}

/* ---- what comes up -------------------------------------------------------------------------------- */

void mccl_message_ready(struct mccl_wire *w, int peer, uint64_t tag)
{
    struct peer *p = &w->peer[peer];
    struct ready **end = &p->ready;
    while (*end)
        end = &(*end)->next;
    if ((*end = malloc(sizeof **end)))
        **end = (struct ready){.tag = tag};
    else
        p->broken = UCS_ERR_NO_MEMORY;
    w->owes = true;
}

static void cancel(struct mccl_wire *w, struct mccl_flight *f)
{
    void *const request[2] = {f->request[0], f->request[1]}; /* f may be over after the first */
    for (unsigned k = 0; k < 2; k++)
        if (request[k])
            mccl_ucx.ucp_request_cancel(w->worker, request[k]);
}

void mccl_message_serve(struct mccl_wire *w)
{
    for (struct mccl_flight *f = w->flights, *next; f; f = next) { /* the oldest first, as they are matched */
        next = f->next;
        if (f->astray)
            cancel(w, f);
        else if (f->rest && w->peer[f->peer].broken)
            mccl_flight_part(f, 1, (ucs_status_t)w->peer[f->peer].broken);
        else if (f->rest && is_ready(w, f))
            send_rest(w, f);
    }
}

void mccl_message_cancel(struct mccl_wire *w)
{
    for (struct mccl_flight *f = w->flights, *next; f; f = next) {
        next = f->next;
        if (f->receives)
            cancel(w, f);
        else if (f->rest)
            mccl_flight_part(f, 1, UCS_ERR_CANCELED);
    }
}

void mccl_message_end(struct mccl_wire *w)
{
    while (w->flights) {
        w->flights->parts = WHOLE;
        w->flights->rest = NULL;
        mccl_flight_part(w->flights, 0, UCS_ERR_CANCELED);
    }
}

bool mccl_message_sends(const struct mccl_wire *w)
{
    for (const struct mccl_flight *f = w->flights; f; f = f->next)
        if (!f->receives)
            return true;
    return false;
}

void mccl_message_free(struct mccl_wire *w)
{
    for (int i = 0; i < w->nranks; i++)
        for (struct ready *r; (r = w->peer[i].ready);) {
            w->peer[i].ready = r->next;
            free(r);
        }
}

#endif
