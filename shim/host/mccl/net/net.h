/* A communicator whose ranks are on several hosts. It stands on one communicator of the ranks of its host, whose
 * shared memory it uses, and on the wire between hosts (README.md). */
#ifndef CUMU_HOST_MCCL_NET_H
#define CUMU_HOST_MCCL_NET_H

#include <pthread.h>

#include "host/mccl/mccl.h"
#include "host/mccl/net/door.h"
#include "host/mccl/net/wire.h"

struct mccl_star;  /* star.c */
struct mccl_far;   /* far.c */
struct mccl_short; /* short.c */

struct mccl_net {
    mcclComm_t comm;
    struct mccl_id id;
    int nhosts, host;       /* this rank's */
    int rails;              /* ranks that every host has at least */
    int *host_of, *seat_of; /* by rank: its host, and its number there */
    int *first;             /* by host: where its ranks begin in: */
    int *ranks;             /* by host and number there; first[nhosts] ends it */
    struct mccl_seat *seats;
    struct mccl_wire *wire;
    struct mccl_star *star;
    struct mccl_far *far;
    _Atomic int waiting;      /* a call moves what is on the wire itself */
    _Atomic bool *left;       /* by rank: nothing will come from it any more */
    _Atomic uint32_t awaited; /* while a call sleeps: rank + 1 that it waits for, one after the other; else 0 */
    _Atomic uint32_t kind;    /* and in which call: enum mccl_kind */
    _Atomic uint32_t waits;   /* how often it began to */
    _Atomic uint32_t looks;   /* how often it has found that what it waits for is not there */
    _Atomic unsigned moved;   /* how often calls have looked at the wire: the star leaves it to them meanwhile */
    unsigned number;          /* of the collective */
    struct mccl_short *brief; /* the short collective under way, or the last one */
    char *scratch;
    size_t room; /* its bytes */
};

static inline int mccl_net_size(const struct mccl_net *n, int host) { return n->first[host + 1] - n->first[host]; }
static inline int mccl_net_rank(const struct mccl_net *n, int host, int seat)
{
    return n->ranks[n->first[host] + seat];
}

/* span.c. Makes the communicator of ranks that have been told that they cannot share one memory. Where they can (who
 * made the id was elsewhere), it ends up as their host's. */
mcclResult_t mccl_span(mcclComm_t *comm, mcclComm_t c, struct mccl_hello *me, char *reason);
/* Everything but what is shared with the ranks of this host. In good order: the others have what was sent to them. */
void mccl_net_free(struct mccl_net *n, bool in_order);

/* star.c. Keeps in touch: a thread that tells rank 0, and is told by it, that the other one lives; and what ended the
 * communicator. `listener`: rank 0's, which is taken over. */
mcclResult_t mccl_star_open(struct mccl_net *n, int listener, const struct mccl_place *at);
void mccl_star_met(struct mccl_net *n);           /* all have opened theirs: from now on silence counts */
mcclResult_t mccl_star_ready(struct mccl_net *n); /* returns when all ranks have called it, or what went wrong */
void mccl_star_close(struct mccl_net *n);

/* circle.c. Ranks of all hosts that wait for each other: rank 0 is told who waits for whom and finds them. */
struct mccl_waiting mccl_waiting(const struct mccl_net *n); /* this rank */
struct mccl_circles *mccl_circles_new(int nranks);          /* NULL: out of memory. free() */
void mccl_circles_told(struct mccl_circles *o, int rank, const struct mccl_waiting *w, int64_t now);
void mccl_circles_check(struct mccl_circles *o, mcclComm_t c, int64_t now); /* the communicator fails if there is one */

/* reunion.c. Takes over the listener and the descriptors of the ranks' processes, as `pidfd` of the communicator,
 * unless there is no memory: NULL. Then it is told every rank's door, and what they know each other by. */
struct mccl_reunion *mccl_reunion_new(int listener, int *pidfd, int rank, int nranks);
void mccl_reunion_told(struct mccl_reunion *r, int rank, const struct mccl_place *at);
void mccl_reunion_secret(struct mccl_reunion *r, const uint64_t secret[2]);

/* flight.c. Messages of a call: begun, and waited for. */
enum mccl_class { MCCL_PAIR = 1, MCCL_ALL = 2, MCCL_WINDOWS = 3 };
struct mccl_stream {
    mcclComm_t c;
    enum mccl_class class;
    uint32_t signature; /* what the sender means: told with the message, and compared */
    const struct mccl_job *job;
};
void mccl_net_send(const struct mccl_stream *s, struct mccl_flight *f, int to, unsigned step, const void *from,
                   size_t bytes);
void mccl_net_receive(const struct mccl_stream *s, struct mccl_flight *f, int from, unsigned step, void *to,
                      size_t bytes);
/* Until all are done; checks what came. On failure nothing is under way any more. */
mcclResult_t mccl_net_settle(const struct mccl_stream *s, struct mccl_flight *f, int n);
/* The same without waiting: mcclInProgress if they are not all done; a failure leaves the rest under way. */
mcclResult_t mccl_net_look(const struct mccl_stream *s, struct mccl_flight *f, int n);
/* Asleep, it looks again after so long at most, and whenever something comes by the wire. */
enum { MCCL_NAP_MS = 20 };
mcclResult_t mccl_net_wait(mcclComm_t c, bool (*ready)(void *), void *arg, bool (*waits_for)(void *, int rank),
                           int nap_ms);
/* What one that is done brought; the communicator fails if that is not what was expected. */
mcclResult_t mccl_net_check(const struct mccl_stream *s, const struct mccl_flight *f);
/* After a failure: nothing is under way any more. */
mcclResult_t mccl_net_give_up(mcclComm_t c, mcclResult_t why);

/* collective.c, transfer.c: as their namesakes for one host. */
mcclResult_t mccl_net_collective(struct mccl_job *job);
mcclResult_t mccl_net_transfers(struct mccl_job *job);
bool mccl_net_begin_transfers(struct mccl_job *job);
bool mccl_net_advance_transfers(struct mccl_job *job);
/* A job that was begun will not be done: nothing of it is under way any more. The communicator has failed. */
void mccl_net_drop(struct mccl_job *job);
/* What all ranks must mean by a collective, as the number of it. */
uint32_t mccl_net_signature(const struct mccl_job *j, unsigned number);

/* short.c. Collectives that the calling thread may do: begun in their turn, advanced without waiting (true: it is over,
 * with job->result), and done to the end. */
bool mccl_short_fits(const struct mccl_job *job);
bool mccl_short_begin(struct mccl_job *job);
bool mccl_short_advance(struct mccl_job *job);
mcclResult_t mccl_short_run(struct mccl_job *job);
void mccl_short_free(struct mccl_short *s);

/* far.c. Puts and signals to ranks of other hosts, on any thread; a job's target is the window's number (id) and the
 * offset in it (base). */
bool mccl_far_open(struct mccl_net *n);
void mccl_far_keep_off(struct mccl_net *n); /* takes in no more puts */
void mccl_far_free(struct mccl_net *n);
mcclResult_t mccl_far_put(struct mccl_job *job);
void mccl_far_take(void *net, const struct mccl_put *put, const void *data, size_t bytes);
_Atomic uint64_t *mccl_far_signal(const struct mccl_net *n, int rank, int slot);
/* sizes[q] of the ranks on other hosts: what they give as `mine` for this number. */
mcclResult_t mccl_far_exchange(mcclComm_t c, uint64_t number, uint64_t mine, uint64_t *sizes);

#endif
