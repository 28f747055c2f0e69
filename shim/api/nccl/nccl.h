/* Communicators as programs see them. The object is the shim's own, because a program holds it before MCCL
 * has made its communicator (non-blocking calls, groups) and after MCCL's is gone (finalised, revoked).
 *
 * A call that moves data takes MCCL's communicator out of it and goes on: one check of a range and one
 * load. While there is none, NULL goes down and MCCL gives its own answer, which also ends a group. */
#ifndef CUMU_API_NCCL_H
#define CUMU_API_NCCL_H

#include "api/api.h"
#include "wraps.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { NCCL_MAX_COMMS = 4096, NCCL_TEXT = 240 };

enum nccl_state {
    NCCL_NONE,      /* no communicator: the place is free */
    NCCL_JOINING,   /* something that was begun is not done: ncclInProgress */
    NCCL_ABANDONED, /* aborted while joining: freed by who does the joining */
    NCCL_READY,
    NCCL_REVOKED,   /* MCCL's is gone; rank and size are still known */
    NCCL_FINALIZED, /* the same, in the order of things */
    NCCL_FAILED     /* what was begun failed: `error` */
};

#define NCCL_NAME 64

struct nccl_comm {
    _Atomic(mcclComm_t) below; /* NULL unless READY */
    _Atomic int state;         /* enum nccl_state */
    _Atomic int error;         /* of a FAILED one, or of the last step that failed in the background */
    int rank, nranks, device;
    int registered; /* buffers so far, for the manifest */
    bool blocking;
    atomic_bool told; /* the asynchronous error is logged */
    bool grows;       /* `grow` was handed out by ncclCommGetUniqueId, and nobody has come by it */
    struct cumu_s128 grow;
    uint64_t key;                 /* made of the unique id: the same on all ranks, and on no other communicator */
    struct mccl_reunion *reunion; /* where its ranks meet when it is gone, if they are on several hosts; or NULL */
    char name[NCCL_NAME];         /* commName of its configuration, or "" */
    char text[NCCL_TEXT];         /* what went wrong in the background */
} __attribute__((aligned(512)));

extern struct nccl_comm cumu_nccl_comms[NCCL_MAX_COMMS];

/* The object if the value is the address of one, whatever its state; else NULL. */
static inline struct nccl_comm *cumu_nccl_comm(void *handle)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)cumu_nccl_comms;
    return at < sizeof cumu_nccl_comms && at % sizeof(struct nccl_comm) == 0 ? handle : NULL;
}

static inline mcclComm_t cumu_nccl_below(void *handle)
{
    struct nccl_comm *c = cumu_nccl_comm(handle);
    return c ? atomic_load_explicit(&c->below, memory_order_acquire) : NULL;
}

/* comm.c. A new object, JOINING, without rank; NULL when there are too many. */
struct nccl_comm *cumu_nccl_new(bool blocking);
void cumu_nccl_free(struct nccl_comm *c);
/* 0 if the call may work on this communicator; else the code to return, with its text told. */
int cumu_nccl_ready(const char *call, void *handle);
uint64_t cumu_nccl_key(const struct cumu_s128 *id);

/* errors.c. Remembers the text for ncclGetLastError and hands the code back. The group that the thread is in, if
 * any, ends with this error. */
int cumu_nccl_failed(const char *call, int result, const char *format, ...) __attribute__((format(printf, 3, 4), cold));
/* The thread's last text. */
const char *cumu_nccl_text(void);
void cumu_nccl_retell(const char *text); /* another thread's becomes this one's */

/* config.c. What an ncclConfig_t says, read up to the size it states; NULL takes what is in `out`. 0, or
 * ncclInvalidArgument with the field named. */
struct nccl_config {
    bool blocking;
    char name[NCCL_NAME];
};
int cumu_nccl_config(const char *call, const void *config, struct nccl_config *out);

/* task.c. A step that needs other ranks. Outside a group it is done at once; in one, at its end, beside its
 * siblings. That of a non-blocking communicator is left to a thread, and ncclInProgress is the answer. */
struct nccl_task {
    const char *call;
    int (*run)(struct nccl_task *t); /* on any thread, with `device` current; an ncclResult */
    struct nccl_comm *comm;          /* whose state tells how far it is; what `run` makes, if it makes one */
    struct nccl_comm *parent;        /* what it is made of, or NULL */
    bool aside;                      /* a step on a communicator that stays as it is; always waited for */
    void **out;                      /* set to NULL if making it fails in a blocking call; or NULL */
    int device;
    struct cumu_s128 id;
    bool own_id; /* others come by it: if the step is never done, it is given up */
    int nranks, rank, color, key, flags;
    uint64_t set;                 /* of a shrink: key of the parent and of who stays, */
    int *stay;                    /* and, of a split too, their ranks in the parent; freed with the task */
    bool whole;                   /* all ranks of the parent take part: its failure may be theirs */
    int64_t until_ms;             /* (CLOCK_MONOTONIC) the others have come, or never do; 0: any time */
    struct mccl_reunion *reunion; /* of the parent; given back with the task */
    void *record;                 /* of a window */
    int result;
    char text[NCCL_TEXT];
    bool done;
    pthread_t thread;
    struct nccl_task *then; /* to be done after it: ranks must do what one communicator does in one order */
    struct nccl_task *next;
};
int cumu_nccl_begin(const struct nccl_task *t); /* copies it */
void cumu_nccl_group_fail(int result);          /* the group that the thread is in, if any, ends with this error */

/* estimate.c. What a call of the thread's group moves, and how long all of them would take in us; that forgets
 * them. */
enum nccl_shape {
    NCCL_ONCE,  /* `bytes` go through a rank */
    NCCL_TWICE, /* an all-reduce */
    NCCL_EACH,  /* `bytes` for each of the other ranks */
    NCCL_OUT,
    NCCL_IN,
    NCCL_ADDS = 8 /* a flag, not weighed */
};
void cumu_nccl_weigh(void *comm, enum nccl_shape shape, size_t bytes);
float cumu_nccl_estimate(void);
bool cumu_nccl_grouped(void); /* task.c: is the thread in a group? */

/* exchange.c. Every rank of the parent gives `size` bytes and gets everybody's. Blocks. An
 * ncclResult. */
int cumu_nccl_exchange(struct nccl_comm *c, const void *mine, size_t size, void *all);
/* The same without MCCL, for a communicator that is revoked or has lost ranks: of the task's parent the ranks that
 * stay, or all, who know the key, the calling one as number `me` of them. */
int cumu_nccl_meet(const struct nccl_task *t, uint64_t key, int me, int n, const void *mine, size_t size, void *all);
/* Of MCCL's communicator: where its ranks meet without it, or NULL; one more user of that; one less. */
struct mccl_reunion *cumu_nccl_reunion(mcclComm_t below);
struct mccl_reunion *cumu_nccl_reunion_hold(struct mccl_reunion *r);
void cumu_nccl_reunion_free(struct mccl_reunion *r);
/* What this thread joins, it gives up once that says so; NULL: it waits. On MUSA it waits. */
void cumu_nccl_wait_while(int (*given_up)(void *), struct nccl_task *t);
/* Is one of those that stay known to be dead? */
bool cumu_nccl_lost(const struct nccl_task *t);
/* That rank does not come to the id: who made it, and the other ranks, are told so. On MUSA nothing. */
void cumu_nccl_give_up(const struct cumu_s128 *id, int nranks, int rank);

/* grow.c. The same of the id that the communicator, which ends, has made for others, if there is one. */
void cumu_nccl_drop_id(struct nccl_comm *c);

/* comm.c. Makes MCCL's communicator and publishes it. */
int cumu_nccl_join(struct nccl_task *t);
/* Begins a communicator: the handle exists at once, and the joining of the ranks becomes a task, run now, at the end
 * of the group, or by a thread if the communicator does not block. */
int cumu_nccl_make(const char *call, void **out, int nranks, const struct cumu_s128 *id, int rank, const void *config);

/* split.c. The handle of one made of others, whose configuration is its parent's unless it is given one. */
int cumu_nccl_child(const char *call, void *comm, void **out, const void *config, struct nccl_comm **made);
/* Everybody's part, of all ranks of the parent: through it while it works. */
int cumu_nccl_gather(struct nccl_task *t, const void *mine, size_t size, void *all);

/* buffer.c. Forgets what was registered with the communicator. */
void cumu_nccl_forget(struct nccl_comm *c);

/* buffer.c. One whose registration has failed. */
void cumu_nccl_forget_window(struct nccl_comm *c, void *window);
/* buffer.c. Is it a window of the communicator? Where it lies, and MCCL's own of it, or NULL. */
bool cumu_nccl_window(void *comm, void *window, void **buffer, void **below);

/* collective.c */
size_t cumu_nccl_type_size(int type); /* 0: no type */

#endif
