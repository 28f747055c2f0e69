/* CUMU_CHECK=race, memory: in which order streams, graphs and the host have the device do things, so that racecheck
 * can tell two that nothing orders. Vector clocks of streams, as api/check.c has for NCCL's calls, but by what the
 * driver lets wait for what. The host is one thread among them: threads of the program order each other where nobody
 * sees it, so that what one of them has waited for counts for all. */
#ifndef HOST_ORDER_H
#define HOST_ORDER_H

#include "host/driver/memcheck.h"

/* Where a piece of work stands: what it was put behind. Counted, constant once it is made. */
struct host_order {
    _Atomic int refs;
    uint32_t slot, clock;      /* its stream, and how much that had been given before */
    bool all;                  /* behind everything: it waits for what nobody here sees */
    struct host_frames origin; /* the call */
    uint32_t n;
    uint32_t known[]; /* clocks of the streams up to n */
};

extern _Atomic bool host_order_wanted;
static inline bool host_order_on(void) { return host_order_wanted; }
void host_order_want(void); /* order is kept from here on: for races, lifetimes, and initcheck's names of copies */
/* Whether what stands at `now` was put behind what stands at `before`, or in the same stream. */
bool host_order_knows(const struct host_order *now, const struct host_order *before);
/* A point in the stream, where memory begins or ends to live; order is kept from the first one on. The caller's to
 * release; NULL: no memory. host_sched is not held. */
struct host_order *host_order_point(MUstream s);
void host_order_unref(struct host_order *o); /* NULL is fine */
/* All with host_sched held. A work is put on a stream, behind these; NULL: nothing is checked, or no memory. */
struct host_order *host_order_put(MUstream s, struct host_work *const *after, size_t n,
                                  const struct host_frames *origin);
void host_order_wait(MUstream s, const struct host_work *w); /* the stream waits for what may be over already */
void host_order_wait_unseen(MUstream s);                     /* and for something that is not a work here */
void host_order_synced(const struct host_order *o);          /* the host knows that it is over; NULL is fine */
void host_order_stream_synced(MUstream s);
void host_order_stream_gone(MUstream s);

/* ---- what runs, by the thread that runs it ------------------------------------------------------ */

struct host_running {
    struct host_order *order;
    const struct graph_plan *plan; /* of a graph's node; else NULL */
    uint32_t node;
};
/* Returns what ran before, to be given back. */
struct host_running host_order_run(struct host_running now);
struct host_running host_order_running(void);
/* Its number for racecheck; 0: nothing runs here that has an order, or nothing is checked. */
uint32_t host_order_op(const struct t0_grid *g, const char *name);
struct copy;
void host_order_copied(const struct copy *c);
struct fill;
void host_order_filled(const struct fill *f);
/* The other side of a race: the backtrace of its call, if it has one. */
bool host_order_origin(uint32_t op, struct host_frames *f);

#endif
