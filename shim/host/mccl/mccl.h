/* Inside of the CPU MCCL: what its files share. It stands on the exported MUSA functions, and tells its failures by
 * host/driver/callback.h.
 *
 * A communicator is one shared memory file mapped by all its ranks, be they threads or processes. Each
 * rank writes only its own member and its pairs' mailboxes; the others read. Everything a rank does on a
 * communicator has a ticket, drawn when it is called, and is done in that order by callbacks of the
 * streams. Ranks meet by counters: a collective is number n of its communicator on every rank. */
#ifndef CUMU_HOST_MCCL_H
#define CUMU_HOST_MCCL_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "abi/mccl.h"
#include "host/driver/callback.h"
#include "host/mccl/net/place.h"

#define MCCL_MAX_RANKS 256
#define MCCL_INLINE 40              /* bytes of data that travel in the cache line of the counter */
#define MCCL_STAGE (64 << 10)       /* bytes of each of a rank's staging areas */
#define MCCL_STAGES 8               /* so many of them, which a CPU's cache still holds */
#define MCCL_STAGED_BYTES 8192      /* of a small staging area */
#define MCCL_COPIED_BYTES 2048      /* up to here the copy is cheaper than a second barrier */
#define MCCL_HERE_BYTES (128 << 10) /* that the calling thread moves itself: beyond, a stream's thread costs less */
#define MCCL_LETTER (8 << 10)       /* bytes of data that one letter holds */
#define MCCL_FEW 40                 /* that its first line holds */
#define MCCL_DEPTH 64               /* letters in a mailbox: so seldom a sender asks what is taken */
#define MCCL_LARGE 4                /* of those with more data than the first line holds */
#define MCCL_OWN 2                  /* transfers that a group's job holds itself */
#define MCCL_AHEAD 512              /* collectives that a rank may be ahead of another */
#define MCCL_STAGED_AHEAD 32        /* with data that its line does not hold */
#define MCCL_USER_OPS 64
#define MCCL_SIGNALS 16 /* numbers of signals, in each of: */
#define MCCL_CONTEXTS 4
#define MCCL_REASON 256 /* bytes of the text that tells why a communicator failed */
#define MCCL_LINE __attribute__((aligned(64)))

/* ---- what lies in shared memory -------------------------------------------------------------- */

enum mccl_kind {
    MCCL_ALL_REDUCE,
    MCCL_REDUCE,
    MCCL_BROADCAST,
    MCCL_ALL_GATHER,
    MCCL_REDUCE_SCATTER,
    MCCL_P2P,        /* sends and receives of one group */
    MCCL_PUT_SIGNAL, /* the rest: one-sided */
    MCCL_SIGNAL,
    MCCL_WAIT_SIGNAL,
    MCCL_JOIN /* never a job */
};

struct mccl_piece {    /* memory of one rank, as others may reach it */
    uint64_t address;  /* in its own process */
    uint64_t base, id; /* of the allocation; id 0: others cannot map it */
    musaIpcMemHandle_t handle;
};

struct mccl_offer { /* a rank's part in a collective whose data do not travel in the counter's line */
    struct mccl_piece send, recv;
};

struct mccl_view { /* a rank's part of a window */
    struct mccl_piece piece;
    uint64_t size;
    uint32_t mappable, unused;
};

struct mccl_what { /* a call, as far as all ranks must agree on it */
    uint8_t kind, type, op;
    uint8_t root;
    uint32_t unused;
    uint64_t count;
};

struct mccl_post {
    _Atomic uint64_t number; /* the collective or the chunk of it that the rest belongs to */
    uint64_t history;        /* hash of all collectives so far: must agree between ranks */
    uint32_t mappable;       /* offer is set; otherwise the data must be staged */
    uint32_t unused;
    unsigned char data[MCCL_INLINE];
} MCCL_LINE;

struct mccl_member {
    MCCL_LINE _Atomic uint32_t asleep; /* futex: 1 while the rank sleeps */
    _Atomic uint32_t attached, left;
    int32_t device; /* no other rank may be on it; -1: any */
    pid_t pid;
    ino_t pids;                        /* the namespace of the pid */
    uint64_t process;                  /* the same for ranks of one process, and for no others */
    cpu_set_t cpus;                    /* that it may use */
    uint32_t interrupted;              /* its threads are by a membarrier of another process */
    struct mccl_place meet;            /* its door for a reunion */
    MCCL_LINE _Atomic uint64_t done;   /* the last collective that reads nothing of the others' any more */
    _Atomic uint32_t touches;          /* calls of it that are at work in the others' memory (touch.c) */
    struct mccl_post post[MCCL_AHEAD]; /* these by number % MCCL_AHEAD */
    struct mccl_offer offer[MCCL_AHEAD];
    double scalar[MCCL_AHEAD]; /* the factor of a PreMulSum, in the type of the collective */
    struct mccl_what what[MCCL_AHEAD];
    /* While the rank sleeps: who it waits for and in which call, so that others can see that they wait in a circle. */
    MCCL_LINE _Atomic uint32_t awaited;   /* rank + 1, 0: it does not wait */
    _Atomic uint32_t looks;               /* how often it has found that what it waits for is not there */
    _Atomic uint32_t waits;               /* that it began */
    _Atomic uint32_t waits_in;            /* enum mccl_kind */
    _Atomic uint32_t beats;               /* where pid namespaces differ: grows while the process runs (stopped.c) */
    _Atomic uint32_t told;                /* of the first rank of a process: its line about the failure is written */
    MCCL_LINE _Atomic uint32_t signalled; /* futex: signals that came, of all ranks and numbers */
    _Atomic uint32_t listeners;           /* threads that sleep for one */
    struct mccl_view view[2];             /* of its last two windows: none is a window ahead by two */
    MCCL_LINE unsigned char small[MCCL_STAGED_AHEAD][MCCL_STAGED_BYTES]; /* these by number % their number */
    unsigned char stage[MCCL_STAGES][MCCL_STAGE];
};

struct mccl_letter { /* its first line is all of a short one: one line goes from the sender's CPU to the receiver's */
    MCCL_LINE _Atomic uint64_t number; /* of the letter, once the rest is there */
    uint64_t total;                    /* of the message: sender and receiver must agree */
    uint32_t bytes;                    /* of data */
    uint16_t direct;                   /* the receiver copies the whole message from `piece` */
    uint16_t type;                     /* of the sender's elements, for the text of an error */
    unsigned char few[MCCL_FEW];       /* data of no more */
    struct mccl_piece piece;
};

struct mccl_mailbox {                      /* from one rank to one other */
    MCCL_LINE _Atomic uint64_t sent;       /* the sender's: letters so far, */
    uint64_t seen;                         /* and how many of them it knows to be taken */
    MCCL_LINE _Atomic uint64_t taken;      /* the receiver's */
    struct mccl_letter letter[MCCL_DEPTH]; /* by its number % MCCL_DEPTH */
    MCCL_LINE unsigned char data[MCCL_LARGE][MCCL_LETTER];
    MCCL_LINE _Atomic uint64_t signals[MCCL_CONTEXTS * MCCL_SIGNALS]; /* how many came, never reset */
    _Atomic uint64_t windows;                                         /* that the one has shown the other */
};

struct mccl_shared {
    uint32_t nranks;
    uint64_t secret[2];                /* of its ranks' reunions */
    MCCL_LINE _Atomic uint64_t rooted; /* the last short broadcast's number << 8 | root, as roots say */
    MCCL_LINE _Atomic uint32_t failed; /* mcclResult_t that ended the communicator, 0 */
    _Atomic uint32_t reasoned;         /* 1: a rank writes the reason, 2: it is written */
    _Atomic uint32_t unheard;  /* it failed because nothing came of a rank for long: calls have waited for it already */
    _Atomic uint32_t keep_off; /* a rank's call has failed: its memory is its program's again (touch.c) */
    char reason[MCCL_REASON];
    MCCL_LINE _Atomic uint32_t sleepers;
    MCCL_LINE struct mccl_member member[]; /* nranks; then nranks * nranks mailboxes */
};

static inline size_t mccl_shared_size(int nranks)
{
    size_t n = (size_t)nranks;
    return sizeof(struct mccl_shared) + n * sizeof(struct mccl_member) + n * n * sizeof(struct mccl_mailbox);
}

static inline struct mccl_mailbox *mccl_mailbox(struct mccl_shared *s, int from, int to)
{
    struct mccl_mailbox *all = (struct mccl_mailbox *)&s->member[s->nranks];
    return &all[(size_t)from * s->nranks + (size_t)to];
}

/* ---- a rank's own side ----------------------------------------------------------------------- */

struct mccl_user_op {
    bool live;
    mcclDataType_t type;
    const void *device; /* where the factor lies, or NULL: */
    double host;        /* its bytes */
};

struct mcclComm {
    _Atomic bool taken, live;
    int rank, nranks, device;
    /* Ranks on several hosts: what is between them (net/net.h), and the communicator of this host's ranks, whose shared
     * memory is this one's too. That one's `names` are its ranks' numbers here. */
    struct mccl_net *net;
    struct mcclComm *local;
    const int *names;
    struct mccl_beat *beat;       /* where its ranks are in several pid namespaces: stopped.c */
    struct mccl_reunion *reunion; /* where its ranks can meet without it; keeps what `pidfd` is */
    bool one_process;             /* all ranks are threads of this process */
    bool direct;                  /* ranks can map each other's memory */
    bool crowded;                 /* more ranks than CPUs for them: a waiting rank gives its CPU away at once */
    bool unfenced;                /* who goes to sleep interrupts all others: mccl_notify needs no fence */
    bool crowded_streams;         /* the same of the streams' threads beside those that call for several ranks */
    int impatience; /* calls in a row for which the others did not come while the caller looked for them */
    struct mccl_shared *shared;
    bool knows_doors;          /* for reunions, of all ranks */
    int *pidfd;                /* by rank, or a connection to its door, -1 where there is neither */
    _Atomic uint32_t issued;   /* tickets drawn */
    _Atomic uint32_t finished; /* tickets done: a futex */
    _Atomic uint32_t queue;    /* threads that wait for it to advance */
    uint64_t number;           /* of the last collective begun */
    uint64_t history;          /* hash of what they were */
    uint64_t passed;           /* every rank is known to be done with this one */
    uint64_t refused;          /* the broadcast of which `rival` takes itself for the root, too; 0 */
    int rival;
    _Atomic int error; /* mcclResult_t: what mcclCommGetAsyncError tells */
    _Atomic bool aborting;
    _Atomic unsigned nfailures; /* of streams' work because of it, the last of which are: */
    int failures[MCCL_AHEAD];
    enum mccl_kind doing; /* the call whose turn it is */
    struct mccl_user_op ops[MCCL_USER_OPS];
    struct mccl_job *captured; /* jobs that graphs may run again; freed with the communicator */
    uint64_t capture;          /* the last one's, and its node there, which the next one goes behind */
    MUgraphNode node;
    _Atomic uint32_t flying; /* one-sided jobs that are not done: a futex */
    struct mcclWindow *_Atomic windows;
    uint64_t registered;        /* windows so far */
    _Atomic uint64_t *expected; /* signals waited for so far, by rank and number; made with the first window or wait */
};

struct mccl_transfer { /* one send or receive of a group */
    bool send;
    int peer;
    char *at;
    mcclDataType_t type;
    size_t bytes, moved;
    bool posted, complete, mappable; /* mappable: `piece` is set */
    uint64_t letter;                 /* number of the letter that a direct send waits for */
    struct mccl_piece piece;
};

/* Compilers clear and copy what is longer than a line by instructions that take longer to begin than a short call
 * has. */
static inline void mccl_transfer_copy(struct mccl_transfer *to, const struct mccl_transfer *from)
{
    memcpy(to, from, offsetof(struct mccl_transfer, piece));
    if (from->mappable)
        to->piece = from->piece;
}

struct mccl_job { /* what one callback does */
    mcclComm_t comm;
    enum mccl_kind kind;
    mcclDataType_t type;
    mcclRedOp_t op; /* mcclNumOps: PreMulSum with `scale` */
    struct mccl_user_op scale;
    int root;
    size_t count;
    const char *send;
    char *recv;
    bool mappable; /* `offer` is set */
    struct mccl_transfer *transfers;
    int ntransfers, capacity; /* capacity: of `transfers`, of a group's that is not at its end */
    struct mccl_piece target; /* of a put */
    int peer, signal, nwaits;
    mcclWaitSignalDesc_t *waits;
    struct mccl_way { /* a stream, and the place that the job has in it from its begin on, or NULL */
        musaStream_t stream;
        struct host_work *held;
    } way, *others; /* others: of a group's transfers, which wait for each other */
    int nothers;
    uint32_t ticket;              /* drawn with the place in the stream */
    bool drawn;                   /* or before there is one */
    const struct mccl_job *whole; /* that this is a step of; or NULL */
    uint64_t given;               /* number of a short collective whose first half is done; 0 */
    bool worked;                  /* transfers: all are done; a collective with offers: this rank's work is, with */
    mcclResult_t result;          /* this result, and the others' may not be */
    bool begun;                   /* it goes on from where it is */
    bool staged;                  /* by the staging areas, whatever its length */
    void *under_way;              /* over hosts: what has been begun and is not done (net/short.c, net/transfer.c) */
    struct mccl_launch *launches; /* of graphs that have it, and that it has not run in */
    struct mccl_job *next;
    struct mccl_offer offer;
    struct mccl_transfer own[MCCL_OWN]; /* what `transfers` is while there are no more */
};

/* All but what `mappable` tells of, by lines, each of a size that the compiler knows: it makes `rep movs` else. */
#define MCCL_JOB_BYTES offsetof(struct mccl_job, offer)
#define MCCL_JOB_LINES (MCCL_JOB_BYTES / 64 * 64)
static inline void mccl_job_clear(struct mccl_job *job)
{
    for (size_t at = 0; at < MCCL_JOB_LINES; at += 64)
        memset((char *)job + at, 0, 64);
    memset((char *)job + MCCL_JOB_LINES, 0, MCCL_JOB_BYTES - MCCL_JOB_LINES);
}

static inline void mccl_job_copy(struct mccl_job *to, const struct mccl_job *from)
{
    for (size_t at = 0; at < MCCL_JOB_LINES; at += 64)
        memcpy((char *)to + at, (const char *)from + at, 64);
    memcpy((char *)to + MCCL_JOB_LINES, (const char *)from + MCCL_JOB_LINES, MCCL_JOB_BYTES - MCCL_JOB_LINES);
    if (from->mappable)
        to->offer = from->offer;
}

/* comm.c. Handles lie in one reserved range that is never unmapped, so that any value can be checked. */
#define MCCL_COMMS 4096
extern _Atomic(struct mcclComm *) mccl_comms; /* so many; or NULL */
static inline bool mccl_live(mcclComm_t comm)
{
    const struct mcclComm *all = mccl_comms;
    const uintptr_t at = (uintptr_t)comm - (uintptr_t)all;
    return all && at < sizeof *all * MCCL_COMMS && at % sizeof *all == 0 && comm->live;
}
mcclComm_t mccl_comm_new(void); /* zeroed, not live yet; NULL when there are too many */
void mccl_comm_free(mcclComm_t comm);

void mccl_job_free(struct mccl_job *job);

/* rendezvous.c: makes the communicator of (id, nranks, rank) on the device; returns when every rank has
 * come. */
void mccl_unmap(struct mccl_shared *shared);
mcclResult_t mccl_join(mcclComm_t *comm, int nranks, const mcclUniqueId *id, int rank, int device);
struct mccl_part {    /* some of a communicator's ranks, those of one host, who meet */
    int silent;       /* for as long as this descriptor brings nothing, then it is mcclRemoteError; -1: none */
    const int *names; /* their numbers among all, or NULL: all are meant */
    char *reason;     /* MCCL_REASON bytes for what went wrong; NULL: it is said */
};
mcclResult_t mccl_join_part(const struct mccl_part *part, mcclComm_t *comm, int nranks, const mcclUniqueId *id,
                            int rank, int device);

/* group.c, here.c: a job now, or at the end of the group. Takes it over. */
mcclResult_t mccl_submit(struct mccl_job *job);
mcclResult_t mccl_submit_transfer(mcclComm_t comm, struct mccl_transfer *t, musaStream_t stream);
/* Tries to do a call at once, on the calling thread. False: submit a copy of it; or drop it, as there is no memory. */
bool mccl_done_here(struct mccl_job *job);
void mccl_drop_here(struct mccl_job *job);
/* Does a job in its turn. 0, or the number of the failure for what the stream does later. `healthy`: it may be done. */
int mccl_run_job(struct mccl_job *job, uint32_t ticket, bool healthy);
/* A one-sided job is counted, any other draws its ticket. */
uint32_t mccl_issue(const struct mccl_job *job);
/* graph.c. Makes it a node of the graph that its stream captures. Jobs of a communicator follow each other in a graph,
 * as they were called, on whatever streams. */
musaError_t mccl_capture_job(struct mccl_job *job);
/* call.c. Is [p, p + bytes) memory that MUSA knows? */
bool mccl_known(const void *p, size_t bytes);
/* A join in a group runs at its end, beside its siblings. */
bool mccl_grouped(void);
mcclResult_t mccl_submit_join(mcclComm_t *comm, int nranks, const mcclUniqueId *id, int rank, int device);
mcclResult_t mccl_group_fail(mcclResult_t r); /* the group ends with this error; returns it */

/* collective.c, p2p.c: run by a stream's thread, in ticket order. */
mcclResult_t mccl_run_collective(struct mccl_job *job);
mcclResult_t mccl_run_transfers(struct mccl_job *job);
/* Its parts: back to the start; each transfer as far as it goes now. How many are not complete is left in *left. */
void mccl_reset_transfers(struct mccl_job *job);
mcclResult_t mccl_step_transfers(struct mccl_job *job, int *left, bool *moved);
bool mccl_can_step(void *job);
bool mccl_waits_for(void *job, int rank);
/* The first half of a short collective, in its turn on the calling thread: this rank's data, or where they are, are
 * known to the others. False if it is none. Then: goes as far as it can without waiting; true once mccl_run_collective
 * would not wait, either. */
bool mccl_begin_collective(struct mccl_job *job);
bool mccl_advance_collective(struct mccl_job *job);
/* The same of a group's transfers: false if they are too long for the calling thread. Then: goes as far as they can
 * without waiting; true once they are done, or have failed. */
bool mccl_begin_transfers(struct mccl_job *job);
bool mccl_advance_transfers(struct mccl_job *job);
/* What one rank does at a stroke, in its turn and in some nanoseconds, while nothing else happens in its stream: a
 * short letter between ranks of this host, a short broadcast. Is it one? Could it be done now? Does it, if it could:
 * false, and nothing was done, where the others do not mean the same, which is for who may fail. (A root that has found
 * another one has given its number.) */
bool mccl_is_letter(mcclComm_t c, const struct mccl_transfer *t);
bool mccl_letter_can_go(mcclComm_t c, const struct mccl_transfer *t);
bool mccl_step_letter(mcclComm_t c, struct mccl_transfer *t);
bool mccl_is_stroke(const struct mccl_job *job);
bool mccl_stroke_can_go(const struct mccl_job *job);
bool mccl_step_stroke(struct mccl_job *job);
/* The first meeting of all ranks: finds out whether each can map the others' memory, of which `probe` is
 * an allocation of this one's. */
mcclResult_t mccl_settle(mcclComm_t c, const void *probe);

/* window.c: one-sided jobs, which have no tickets: a stream's thread runs them whatever else the rank does. */
static inline bool mccl_one_sided(const struct mccl_job *job) { return job->kind >= MCCL_PUT_SIGNAL; }
mcclResult_t mccl_run_one_sided(struct mccl_job *job);
void mccl_windows_free(mcclComm_t c);
/* Where [offset, offset + bytes) of this rank's part of that window lies; NULL if there is no such. */
void *mccl_window_at(mcclComm_t c, uint64_t window, uint64_t offset, uint64_t bytes);

/* wait.c. Waits until the word reaches the number; `rank` is who must write it. mcclSuccess, or why that
 * can never happen: the communicator failed, was aborted, or the rank is gone. */
mcclResult_t mccl_wait(mcclComm_t c, const _Atomic uint64_t *word, uint64_t number, int rank);
/* Waits for any change by one of the ranks that `ready` looks for. */
mcclResult_t mccl_wait_for(mcclComm_t c, bool (*ready)(void *), void *arg, bool (*waits_for)(void *, int rank));
/* The communicator has failed; may this rank still wait for those that live? A rank may have died right after a call of
 * which it had done its part: the others can end that call, and only the next one fails. `end`: 0 before the first
 * question of a wait. */
bool mccl_in_grace(mcclComm_t c, int64_t *end);
/* Has the rank left, or is its process dead, now or within so long? What it did before is to be looked at after
 * this. */
bool mccl_is_gone(mcclComm_t c, int rank, int patience_ms);
bool mccl_is_door(int fd);                   /* is it a connection, and no descriptor of a process? */
void mccl_fail_gone(mcclComm_t c, int rank); /* the communicator fails because of it */
/* stopped.c. Has the process been stopped for as long as a rank may be silent? Asked again and again while one waits
 * for it, with what was seen so far, 0 before the first question. */
struct mccl_watch {
    int64_t since[MCCL_MAX_RANKS], looked[MCCL_MAX_RANKS];
    uint32_t beats[MCCL_MAX_RANKS];
};
bool mccl_is_stopped(mcclComm_t c, int rank, struct mccl_watch *w);
bool mccl_stands_still(mcclComm_t c, int rank); /* just now */
void mccl_fail_stopped(mcclComm_t c, int rank, const struct mccl_watch *w);
bool mccl_beat_begin(mcclComm_t c); /* so that the others see that this one runs. False: no memory or no thread */
void mccl_beat_end(mcclComm_t c);
/* touch.c. Before and after this rank reads or writes memory of another one of its host. False: it must not, and
 * mccl_kept_off says why. Meanwhile it asks mccl_must_keep_off every now and then. */
bool mccl_touch(mcclComm_t c);
void mccl_touched(mcclComm_t c);
mcclResult_t mccl_kept_off(mcclComm_t c);
static inline bool mccl_must_keep_off(const struct mccl_shared *s)
{
    return atomic_load_explicit(&s->keep_off, memory_order_relaxed);
}
/* All of that. */
mcclResult_t mccl_touch_copy(mcclComm_t c, void *to, const void *from, size_t bytes);
mcclResult_t mccl_touch_put(mcclComm_t c, int rank, void *to, const void *from, size_t bytes); /* `to` is that rank's */
/* guard.c. Copies for as long as the others allow it, even if this process is stopped meanwhile; where that cannot be
 * (mccl_guarded), all. False: not all. */
bool mccl_guarded(void);
bool mccl_guarded_copy(const struct mccl_shared *s, void *to, const void *from, size_t bytes);
/* This rank's call has failed: returns when no other one is at work in its memory. */
void mccl_keep_off(mcclComm_t c) __attribute__((cold));
/* wait.c. Adds one to a counter that rank `to` may wait for; waits until one has reached the number, as mccl_wait does,
 * on any number of threads at once. */
void mccl_signal(mcclComm_t c, int to, _Atomic uint64_t *counter);
mcclResult_t mccl_wait_signal(mcclComm_t c, const _Atomic uint64_t *counter, uint64_t number, int rank);
void mccl_flown(mcclComm_t c);      /* a one-sided job is done */
void mccl_wait_flown(mcclComm_t c); /* all are */
bool mccl_interruptible(void);      /* by a membarrier of another process; asked before ranks meet */
void mccl_notify(mcclComm_t c);     /* after a store that others may wait for */
void mccl_wake_self(mcclComm_t c);
/* A detached thread that takes none of the application's signals. */
bool mccl_thread(void *(*body)(void *), void *arg);
void mccl_wait_turn(mcclComm_t c, uint32_t ticket);
void mccl_turn_done(mcclComm_t c);
void mccl_pause(void); /* between two looks at a word */
/* Gives the CPU away once. False if that took long: others want it, and who sleeps gets it back sooner than who gives
 * it away again and again. */
bool mccl_yield(void);

/* failure.c. Ends the communicator for every rank, with a text that says why. The first to call it is believed. */
void mccl_fail(mcclComm_t c, mcclResult_t why, const char *format, ...) __attribute__((format(printf, 3, 4), cold));
/* The same when memory of that rank cannot be mapped. The result. */
mcclResult_t mccl_fail_to_reach(mcclComm_t c, int rank) __attribute__((cold));
/* What the communicator's asynchronous error is: this rank's own, or what ended it for all. */
static inline mcclResult_t mccl_state(mcclComm_t c)
{
    const int own = c->error;
    return own ? (mcclResult_t)own : (mcclResult_t)atomic_load_explicit(&c->shared->failed, memory_order_acquire);
}
/* A call of this rank has failed, because the communicator has: one line of each process says so. `single`: a send
 * or receive outside of groups, else NULL. */
void mccl_tell(mcclComm_t c, enum mccl_kind kind, const struct mccl_transfer *single);
const char *mccl_kind_name(enum mccl_kind kind);
/* What the program calls this communicator's rank i. */
static inline int mccl_name(mcclComm_t c, int i) { return c->names ? c->names[i] : i; }
const char *mccl_type_name(unsigned type);
/* Fails the communicator over what this rank calls and what another one does. mcclInvalidUsage. */
mcclResult_t mccl_disagree(mcclComm_t c, const struct mccl_what *mine, int rank, const struct mccl_what *theirs)
    __attribute__((cold));

/* buffer.c. Describes memory of this process for the other ranks. False if p is no memory of MUSA. */
bool mccl_describe(mcclComm_t c, const void *p, struct mccl_piece *out);
/* The same memory seen from here, NULL if it cannot be mapped. Kept mapped for later calls. */
void *mccl_reach(mcclComm_t c, int rank, const struct mccl_piece *piece);

/* reduce.c. dst[0..ndst) = op of src[0..nsrc), element by element, accumulated in rank order; halves in
 * float and rounded once. A dst may be one of the srcs, no other overlap.
 * False: not all. */
struct mccl_combine {
    mcclDataType_t type;
    mcclRedOp_t op; /* mcclNumOps: the sum of scale[i] * src[i] */
    int nsrc, ndst;
    const void **src;
    const void **scale; /* each an element of the type; for halves a float */
    void **dst;
    size_t count;
    /* Or NULL: then it goes on until mccl_must_keep_off, and dst but the first may be other processes' (guard.c), */
    const struct mccl_shared *shared;
    bool foreign; /* the first one is */
};
bool mccl_combine(const struct mccl_combine *w);
void mccl_divide(mcclDataType_t type, void *at, int parts, size_t n); /* in place */
float mccl_half(mcclDataType_t type, const void *half);
static inline size_t mccl_type_size(mcclDataType_t type) /* 0: there is no such type */
{
    static const unsigned char sizes[mcclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return (unsigned)type < mcclNumTypes ? sizes[type] : 0;
}
/* The factor of a half as the float that mccl_combine takes; others stay. */
void mccl_widen_scale(struct mccl_user_op *op);

#endif
