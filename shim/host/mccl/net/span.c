/* Makes a communicator of several hosts: the ranks learn from who made the id who is where, the ranks of each host
 * make a communicator of their own, and the addresses of the wire go round. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/net.h"
#include "host/mccl/rendezvous.h"

#define STEP_MS 60000   /* once all ranks have come, for each step of getting to know each other */
#define LINK_MS 5000    /* for the network to be in order, once one message has come through it */
#define OPENINGS 5      /* of a worker, when the link comes and goes */
#define PATIENCE_MS 300 /* for news of a rank that cannot be reached */

static const char lacks[] = "lacks memory, a socket or a thread";

static void *zeroed(size_t n, size_t size) { return calloc(n ? n : 1, size); }

/* Who is where, out of the roster. */
static bool take_seats(struct mccl_net *n, const void *roster, int nhosts)
{
    int nranks = n->comm->nranks;
    n->nhosts = nhosts;
    n->host_of = zeroed((size_t)nranks, sizeof(int));
    n->seat_of = zeroed((size_t)nranks, sizeof(int));
    n->ranks = zeroed((size_t)nranks, sizeof(int));
    n->first = zeroed((size_t)nhosts + 1, sizeof(int));
    n->left = zeroed((size_t)nranks, sizeof *n->left);
    n->seats = zeroed((size_t)nranks, sizeof *n->seats);
    if (!n->host_of || !n->seat_of || !n->ranks || !n->first || !n->left || !n->seats)
        return false;
    memcpy(n->seats, roster, (size_t)nranks * sizeof *n->seats);
    for (int h = 0, next = 0; h < nhosts; h++) {
        n->first[h] = next;
        for (int q = 0; q < nranks; q++)
            if (n->seats[q].host == h) {
                n->host_of[q] = h;
                n->seat_of[q] = next - n->first[h];
                n->ranks[next++] = q;
            }
        n->first[h + 1] = next;
    }
    n->host = n->host_of[n->comm->rank];
    n->rails = mccl_net_size(n, 0);
    for (int h = 1; h < nhosts; h++)
        if (mccl_net_size(n, h) < n->rails)
            n->rails = mccl_net_size(n, h);
    return true;
}

/* UCX leaves out a device that does not run: a worker that was opened while the link was away is opened once more. */
static struct mccl_wire *open_wire(struct mccl_net *n, int door, char *reason)
{
    struct mccl_wire *w = NULL;
    for (int i = 0; i < OPENINGS; i++) {
        mccl_wire_close(w);
        bool runs = mccl_await_link(door, LINK_MS);
        w = mccl_wire_open(n->comm->nranks, n->comm->rank, reason, MCCL_REASON);
        if (w && runs && mccl_await_link(door, 0))
            break;
    }
    if (w)
        reason[0] = 0;
    return w;
}

/* What this rank tells the others. The id for the ranks of its host comes last: it has a thread that waits for them. */
static struct mccl_card *make_card(struct mccl_net *n, int door, size_t *size, int *listener, char *reason)
{
    const void *address = NULL;
    size_t bytes = 0;
    int rank = n->comm->rank;
    struct mccl_card card = {0};
    if (n->nhosts > 1) {
        n->wire = open_wire(n, door, reason);
        if (!n->wire)
            return NULL;
        address = mccl_wire_address(n->wire, &bytes);
    }
    if (n->nhosts > 1 && rank == 0 && (*listener = mccl_listen(&card.star)) < 0) {
        snprintf(reason, MCCL_REASON, "no address for the other hosts to connect to");
        return NULL;
    }
    if (n->nhosts > 1) {
        int meet = mccl_listen(&card.meet);
        if (meet >= 0 && !(n->comm->reunion = mccl_reunion_new(meet, NULL, rank, n->comm->nranks)))
            close(meet);
        if (!n->comm->reunion)
            return NULL;
    }
    card.bytes = (uint32_t)bytes;
    *size = sizeof card + bytes;
    struct mccl_card *whole = malloc(*size);
    if (!whole || (n->seat_of[rank] == 0 &&
                   mccl_local_id(&card.local, n->ranks + n->first[n->host], mccl_net_size(n, n->host)))) {
        free(whole);
        return NULL;
    }
    memcpy(whole, &card, sizeof card);
    if (bytes)
        memcpy(whole + 1, address, bytes);
    return whole;
}

/* Says something to who made the id, and returns the frame that answers it. A refusal may have come before, and the
 * connection be closed since: it is read even if nothing could be said. Who is refused knows that all are: no rank
 * makes a way to this one's worker, which can be closed. */
static void *talk(struct mccl_net *n, int door, uint32_t type, const void *from, size_t bytes, uint32_t answer,
                  size_t most, size_t *size, char *reason)
{
    char refused[MCCL_REASON] = "";
    (void)mccl_send_frame(door, type, from, bytes, STEP_MS); /* a failure ends the receiving, too */
    void *frame = mccl_receive_frame(door, answer, most, size, STEP_MS, refused);
    if (refused[0]) {
        memcpy(reason, refused, sizeof refused);
        if (n->wire)
            mccl_wire_known(n->wire, false);
    }
    return frame;
}

/* Nobody may come to this host's id any more, so that its thread would wait long. */
static void give_up_local(struct mccl_net *n, const struct mccl_id *local)
{
    mcclUniqueId id = {{0}};
    memcpy(&id, local, sizeof *local);
    cumu_mccl_give_up(&id, mccl_net_size(n, n->host), 0);
}

/* Everybody's cards, one after the other. The connection stays open. */
static char *exchange(struct mccl_net *n, struct mccl_hello *me, size_t *where, int *door, int *listener, char *reason)
{
    int nranks = n->comm->nranks, nhosts = 0;
    size_t size = 0, most = (size_t)nranks * sizeof(struct mccl_seat);
    struct mccl_card *card = NULL;
    char *cards = NULL;
    int fd = *door = mccl_connect(&me->id.door, STEP_MS);
    if (fd < 0)
        snprintf(reason, MCCL_REASON, "no connection with who made the id: %s", strerror(errno));
    me->second = 1;
    bool good = fd >= 0 && mccl_send_all(fd, me, sizeof *me, STEP_MS);
    void *roster = good ? mccl_receive_frame(fd, MCCL_ROSTER, most, &size, STEP_MS, reason) : NULL;
    if (roster && mccl_roster_good(roster, size, nranks, &nhosts)) {
        if (take_seats(n, roster, nhosts))
            card = make_card(n, fd, &size, listener, reason);
        if (!card && !reason[0])
            snprintf(reason, MCCL_REASON, "%s", lacks);
    }
    free(roster);
    if (card) {
        most = (size_t)nranks * (sizeof *card + MCCL_ADDRESS_MAX);
        cards = talk(n, fd, MCCL_CARD, card, size, MCCL_CARDS, most, &size, reason);
        if (cards && !mccl_cards_good(cards, size, nranks, where)) {
            free(cards);
            cards = NULL;
        }
        if (!cards && n->seat_of[n->comm->rank] == 0)
            give_up_local(n, &card->local);
    } else if (fd >= 0 && reason[0])
        (void)mccl_send_frame(fd, MCCL_REFUSAL, reason, strlen(reason) + 1, STEP_MS);
    free(card);
    return cards;
}

/* The communicator of this host's ranks, which are met for as long as who made the id has nothing to say. */
static mcclResult_t join_local(struct mccl_net *n, int door, const char *cards, const size_t *where, char *reason)
{
    mcclComm_t c = n->comm;
    struct mccl_card card;
    mcclUniqueId id = {{0}};
    memcpy(&card, cards + where[mccl_net_rank(n, n->host, 0)], sizeof card);
    memcpy(&id, &card.local, sizeof card.local);
    const struct mccl_part part = {door, n->ranks + n->first[n->host], reason};
    mcclResult_t r = mccl_join_part(&part, &c->local, mccl_net_size(n, n->host), &id, n->seat_of[c->rank], c->device);
    if (r)
        return r;
    struct mcclComm *local = c->local;
    c->shared = local->shared;
    c->one_process = local->one_process;
    c->direct = local->direct;
    c->crowded = local->crowded;
    c->crowded_streams = local->crowded_streams;
    return mcclSuccess;
}

/* All that this rank may lack something for is done before it says that it has met its host's: once all have said so,
 * they make ways to each other, and whoever fails then may end others by UCX (README.md). */
static mcclResult_t prepare(struct mccl_net *n, const char *cards, const size_t *where, int *listener, char *reason)
{
    mcclComm_t c = n->comm;
    struct mccl_card card, first;
    mcclResult_t r = mcclSuccess;
    memcpy(&first, cards + where[0], sizeof first);
    mccl_reunion_secret(c->reunion, first.local.secret); /* an id that NCCL_COMM_ID names has none */
    for (int q = 0; q < c->nranks && !r; q++) {
        memcpy(&card, cards + where[q], sizeof card);
        mccl_reunion_told(c->reunion, q, &card.meet);
        if (n->host_of[q] != n->host && !mccl_wire_peer(n->wire, q, cards + where[q] + sizeof card, card.bytes))
            r = mcclSystemError;
    }
    if (!r && !mccl_far_open(n))
        r = mcclSystemError;
    if (!r) {
        r = mccl_star_open(n, *listener, &first.star);
        *listener = -1;
    }
    if (r)
        snprintf(reason, MCCL_REASON, "%s", c->shared->reasoned == 2 ? c->shared->reason : lacks);
    return r;
}

/* Returns when the ranks of every host have met, or with what kept them from it. */
static mcclResult_t settle(struct mccl_net *n, int door, mcclResult_t here, char *reason)
{
    size_t size;
    if (here && !reason[0])
        snprintf(reason, MCCL_REASON, "cannot meet the others of its host");
    if (!here && n->wire) /* when all have said that, they make ways to each other; before, nobody does */
        mccl_wire_known(n->wire, true);
    void *all = here ? talk(n, door, MCCL_REFUSAL, reason, strlen(reason) + 1, MCCL_SETTLED, 0, &size, reason)
                     : talk(n, door, MCCL_SETTLED, "", 0, MCCL_SETTLED, 0, &size, reason);
    free(all);
    if (!all && !reason[0])
        snprintf(reason, MCCL_REASON, "who made the id has gone");
    return all ? mcclSuccess : here ? here : mcclRemoteError;
}

static bool has_failed(void *comm)
{
    mcclComm_t c = comm;
    if (mccl_given_up() && !mccl_state(c))
        mccl_fail(c, mcclRemoteError, "rank %d has given up", c->rank);
    return c->aborting || mccl_state(c);
}

/* Ways are made before there is work: between few ranks all, else those that collectives take. */
static mcclResult_t greet(struct mccl_net *n)
{
    mcclComm_t c = n->comm;
    bool peers[MCCL_MAX_RANKS] = {false};
    for (int q = 0; q < c->nranks; q++)
        peers[q] = n->host_of[q] != n->host && (c->nranks <= 64 || n->seat_of[q] == n->seat_of[c->rank]);
    int who = 0;
    const char *why = "";
    bool met = mccl_wire_greet(n->wire, peers, STEP_MS / 2, has_failed, c, &who, &why);
    /* Who is gone, and how, the star knows better, and soon. */
    for (int i = 0; i < PATIENCE_MS && !met && !has_failed(c); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (!met && !mccl_state(c))
        mccl_fail(c, mcclRemoteError, "rank %d on host %s does not reach rank %d on host %s by UCX: %s", c->rank,
                  n->seats[c->rank].name, who, n->seats[who].name, why);
    return mccl_state(c);
}

mcclResult_t mccl_span(mcclComm_t *comm, mcclComm_t c, struct mccl_hello *me, char *reason)
{
    struct mccl_net *n = calloc(1, sizeof *n);
    size_t *where = calloc((size_t)c->nranks, sizeof *where);
    int listener = -1, door = -1;
    if (!n || !where) {
        free(n);
        free(where);
        return mcclSystemError;
    }
    n->comm = c;
    n->id = me->id;
    c->net = n;
    char *cards = exchange(n, me, where, &door, &listener, reason);
    mcclResult_t r = cards ? join_local(n, door, cards, where, reason) : mcclRemoteError;
    if (!r && n->nhosts > 1)
        r = prepare(n, cards, where, &listener, reason);
    if (cards)
        r = settle(n, door, r, reason);
    if (door >= 0)
        close(door);
    if (listener >= 0)
        close(listener);
    if (!r && n->nhosts == 1) { /* who made the id was elsewhere */
        *comm = c->local;
        c->local->names = NULL;
        c->local = NULL;
        c->shared = NULL;
    } else if (!r) {
        mccl_star_met(n);
        r = greet(n);
        r = r ? r : mccl_star_ready(n);
        if (!r)
            mccl_wire_settled(n->wire);
        else
            snprintf(reason, MCCL_REASON, "%s", c->shared->reasoned == 2 ? c->shared->reason : "");
    }
    free(cards);
    free(where);
    return r;
}

void mccl_net_free(struct mccl_net *n, bool in_order)
{
    if (n->wire && in_order)
        mccl_wire_flush(n->wire, n->left, STEP_MS / 2, has_failed, n->comm);
    mccl_star_close(n);
    mccl_wire_close(n->wire);
    mccl_far_free(n);
    free(n->host_of);
    free(n->seat_of);
    free(n->ranks);
    free(n->first);
    free(n->left);
    free(n->seats);
    free(n->scratch);
    mccl_short_free(n->brief);
    free(n);
}
