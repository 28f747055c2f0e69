/* What the two sides of a reunion share: who takes the others in (hall.c), and who comes (reunion.c). */
#ifndef CUMU_HOST_MCCL_REUNION_H
#define CUMU_HOST_MCCL_REUNION_H

#include <pthread.h>

#include "host/mccl/net/net.h"

enum {
    MCCL_MEETINGS = 4,    /* of which something is remembered */
    MCCL_LOOK_MS = 100,   /* how often it is asked whether to give up */
    MCCL_REACH_MS = 3000, /* a host that does not answer for so long is gone */
};

struct mccl_failure { /* of a meeting: who has not been told of it yet, is when it comes */
    uint64_t key;
    uint64_t untold[MCCL_MAX_RANKS / 64]; /* a bit for each rank */
    char text[sizeof((struct mccl_reunite *)0)->text];
};

struct mccl_reunion {
    _Atomic int users;
    _Atomic int serving;  /* meetings that take in callers just now */
    pthread_mutex_t lock; /* of what is remembered: */
    struct mccl_failure failed[MCCL_MEETINGS];
    unsigned nfailed;
    struct {
        uint64_t key;
        int rank, why;      /* why: errno; 0: none */
    } lacks[MCCL_MEETINGS]; /* ranks that will not come to a meeting that has not begun here */
    unsigned nlacks;
    bool answering; /* a thread tells those that come late */
    int listener, rank, nranks;
    int *pidfd; /* by rank, -1 where there is none: a door may stay open in a child of a process that has ended */
    uint64_t secret[2];
    struct mccl_place at[]; /* by rank */
};

/* reunion.c */
mcclResult_t mccl_reunion_wrong(struct mccl_reunite *m, mcclResult_t why, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
mcclResult_t mccl_reunion_gone(struct mccl_reunite *m, const struct mccl_reunion *r, int rank, const char *why);
mcclResult_t mccl_reunion_late(struct mccl_reunite *m, int rank); /* or it was given up */
bool mccl_reunion_over(const struct mccl_reunite *m, int64_t end);
bool mccl_has_ended(const struct mccl_reunion *r, int rank);
void mccl_keep_asking(int fd); /* a host that vanishes says nothing: the kernel asks it */

/* late.c. untold[k]: the k-th rank of the meeting is there, and does not know. */
void mccl_remember_failure(struct mccl_reunion *r, const struct mccl_reunite *m, const bool *untold);
/* Tells them when they come: for some seconds in here, so that they hear it if this rank ends; then in a thread. */
void mccl_answer_late(struct mccl_reunion *r, const struct mccl_reunite *m);
/* Has the meeting that it comes for failed? Another one may have the same key. */
bool mccl_is_late(struct mccl_reunion *r, const struct mccl_visit *v);
/* Answers one that is, or comes for another meeting. */
void mccl_turn_away(struct mccl_reunion *r, int fd, const struct mccl_visit *v);
/* errno of why that rank will not come to the meeting, which is forgotten; 0: it may. */
int mccl_take_lack(struct mccl_reunion *r, uint64_t key, int rank);
bool mccl_tell_outcome(int fd, mcclResult_t result, const char *reason);

/* hall.c. The first one's part. */
mcclResult_t mccl_hall_serve(struct mccl_reunion *r, struct mccl_reunite *m, const struct mccl_visit *mine);

#endif
