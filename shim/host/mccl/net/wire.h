/* The wire between hosts: one UCX worker for each rank of a communicator, and messages that are matched by tags. */
#ifndef CUMU_HOST_MCCL_WIRE_H
#define CUMU_HOST_MCCL_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCCL_ADDRESS_MAX 16384 /* bytes that a worker's address may take */

struct mccl_wire;

struct mccl_flight { /* a message under way; stays where it is until `done` */
    _Atomic int done;
    int status; /* 0, or UCX's error */
    int peer;
    bool receives;
    size_t wanted, bytes; /* that the receiver has place for, and what came */
    uint64_t tag;         /* that it came with, or of what is sent */
    struct mccl_wire *wire;
    struct mccl_flight *next, **link; /* all that are under way */
    void *request[2];                 /* UCX's, of what is whole or begins a long message, and of the rest */
    const char *rest;                 /* that goes when the peer is ready for it, else NULL */
    uint8_t parts;                    /* that are under way */
    bool astray;                      /* received: what came is not what this is for, whatever the rest does */
};

struct mccl_put {    /* what goes before the data of a put */
    int32_t rank;    /* that puts; the rest is far.c's: */
    uint32_t signal; /* 0: none, else its number + 1 */
    uint64_t window, offset;
};

/* Opens UCX and a worker for one of nranks ranks. NULL with the reason in text: UCX is not there, or has nothing to
 * send by. */
struct mccl_wire *mccl_wire_open(int nranks, int rank, char *text, size_t size);
/* The worker's address, valid as long as the wire. */
const void *mccl_wire_address(const struct mccl_wire *w, size_t *bytes);
/* Where rank `peer` can be reached; copied. False: out of memory. */
bool mccl_wire_peer(struct mccl_wire *w, int peer, const void *address, size_t bytes);
/* Begin; on any thread. What cannot even begin is done at once, with its status. */
void mccl_wire_send(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, const void *from, size_t bytes);
void mccl_wire_receive(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, uint64_t mask, void *to,
                       size_t bytes);
/* A message that the peer takes by itself; `put` and the data stay where they are until it is done. */
void mccl_wire_put(struct mccl_wire *w, struct mccl_flight *f, int peer, const struct mccl_put *put, const void *from,
                   size_t bytes);
/* Who takes them; put->rank is a rank. And how many of this rank's the peer says it has taken. */
void mccl_wire_take(struct mccl_wire *w, void (*take)(void *, const struct mccl_put *, const void *, size_t),
                    void *arg);
uint64_t mccl_wire_taken(const struct mccl_wire *w, int peer);
/* Moves what can be moved; on any thread, one at a time: false if another one is at it. */
bool mccl_wire_progress(struct mccl_wire *w);
/* The same, after the other one: all that this host has got by now is moved. */
void mccl_wire_drain(struct mccl_wire *w);
unsigned mccl_wire_moves(const struct mccl_wire *w); /* changes when something has been */
/* A descriptor that becomes readable when there is something to move, once armed. False: there is already, or who has
 * the wire now will see it. */
int mccl_wire_descriptor(const struct mccl_wire *w);
bool mccl_wire_arm(struct mccl_wire *w);
/* All that is under way ends, now: nothing is written to or read from its memory any more. */
void mccl_wire_cancel(struct mccl_wire *w);
/* Makes the ways to these peers, and waits at most so long until both sides know it; `give_up` is asked meanwhile.
 * False, with a peer that is not reached and the reason, as soon as that is known. */
bool mccl_wire_greet(struct mccl_wire *w, const bool *peers, int patience_ms, bool (*give_up)(void *), void *arg,
                     int *who, const char **why);
/* Tell the wire that others have its address; and that all ranks have greeted each other, so that it can be closed. */
void mccl_wire_known(struct mccl_wire *w, bool known);
void mccl_wire_settled(struct mccl_wire *w);
/* Waits, at most so long, until the peers that are not gone have everything that was sent to them. */
void mccl_wire_flush(struct mccl_wire *w, const _Atomic bool *gone, int patience_ms, bool (*give_up)(void *),
                     void *arg);
void mccl_wire_close(struct mccl_wire *w);
const char *mccl_wire_error(int status);
bool mccl_wire_truncated(int status); /* more came than there is place for */

#endif
