/* What the files of the wire share: a worker, its peers, and what is under way to them. */
#ifndef CUMU_HOST_MCCL_WAYS_H
#define CUMU_HOST_MCCL_WAYS_H

#include <pthread.h>

#include "host/mccl/net/ucx.h"
#include "host/mccl/net/wire.h"

#define AGAIN_MS 100  /* before a greeting that was not answered is sent again */
#define RENEW_MS 3000 /* how long a way that breaks meanwhile is made anew: the link may have gone and come */
#define MOST_LOST (RENEW_MS / AGAIN_MS)

enum note { GREETING, GREETED, FAREWELL, HEARD, TAKEN, NOTES, READY }; /* below NOTES: one of each at a time */
enum { NOTE_ID, PUT_ID };                                              /* of active messages */
struct note_header { /* of an active message: I can reach you, I have sent all; and the answers */
    uint32_t note;
    int32_t rank;
    uint64_t count; /* TAKEN: puts; READY: the tag of a message for whose rest there is a place */
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
    struct ready *ready;          /* what it awaits and nobody has sent yet, oldest first */
};

struct mccl_wire { /* under its lock, as everything here */
    pthread_mutex_t lock;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t bytes;
    int descriptor, nranks, rank;
    int spare;              /* descriptor: given up before UCX closes ways, for which it needs one; or -1 */
    int promised;           /* descriptors that are kept for its ways, until they are made */
    bool owes, ending;      /* owes: something is to be sent when UCX has returned */
    _Atomic unsigned moves; /* how often something moved */
    bool known;             /* others have the address: they may be making ways to here */
    bool only_tcp;          /* there is no device for RDMA */
    bool settled;           /* all ranks have greeted each other */
    void (*take)(void *, const struct mccl_put *, const void *, size_t);
    void *taker;
    struct mccl_flight *flights, **last; /* by age; last: where the next one goes */
    struct note_header notes[NOTES];     /* what is sent of each kind, which stays where it is */
    struct peer peer[];
};

/* wire.c. The way to a peer, made when it is first needed. */
ucs_status_t mccl_way_reach(struct mccl_wire *w, int peer);

/* Closes and frees all of it; linger.c: when that can be, or never. */
void mccl_wire_end(struct mccl_wire *w);
void mccl_wire_linger(struct mccl_wire *w);

/* worker.c. All ways are made, or none will be. What UCX has of the wire; before it closes anything of that. */
void mccl_worker_made(struct mccl_wire *w);
void mccl_worker_end(struct mccl_wire *w);
void mccl_worker_ends(struct mccl_wire *w);

/* message.c. A part of a flight is over: part 0 or, of a long message, the rest, part 1. */
enum { WHOLE = 1, REST = 2 };
void mccl_flight_begin(struct mccl_wire *w, struct mccl_flight *f, int peer, bool receives, unsigned parts);
void mccl_flight_part(struct mccl_flight *f, unsigned part, ucs_status_t status);
/* What UCX gave for a part that it was asked to begin, and what it calls when the first part of one is sent. */
void mccl_flight_begun(struct mccl_flight *f, unsigned part, ucs_status_ptr_t request);
void mccl_flight_sent(void *request, ucs_status_t status, void *flight);
void mccl_message_ready(struct mccl_wire *w, int peer, uint64_t tag); /* as the peer says */
void mccl_message_serve(struct mccl_wire *w);                         /* does what has come up while UCX was at work */
void mccl_message_cancel(struct mccl_wire *w); /* what is received, and what waits for the peer to be ready */
void mccl_message_end(struct mccl_wire *w);    /* all, when UCX will not be called any more */
bool mccl_message_sends(const struct mccl_wire *w);
void mccl_message_free(struct mccl_wire *w);

/* note.c. Active messages, which the peer takes whatever it does. */
void mccl_note_send(struct mccl_wire *w, int peer, enum note note);
ucs_status_t mccl_note_ready(struct mccl_wire *w, int peer, uint64_t tag);

/* What UCX calls for them, with the wire. */
__typeof__(*(ucp_am_recv_callback_t)0) mccl_note_came, mccl_put_came;

#endif
