/* Strands: several blocks of one thread under way at a time, each on a stack and with a worker of its own. */
#ifndef CUMU_HOST_STRANDS_H
#define CUMU_HOST_STRANDS_H

#include "host/driver/kernel.h"

struct host_strand;
struct host_strands {         /* of one thread, while it works on a grid */
    struct host_strand *now;  /* the one that runs */
    struct host_strand *done; /* those that have ended */
    unsigned count;           /* those that have not */
    bool backward;            /* turns go from the later ones to the earlier */
    void (*body)(struct host_strands *s);
    void *low; /* the thread's own stack, for sanitizers */
    size_t size;
};

/* Runs body(s) on the calling thread's stack with w, then all that body has added to their end. */
void host_strands_run(struct host_strands *s, struct t0_worker *w, void (*body)(struct host_strands *));
/* Called by body: another strand runs body(s) at once, and this one goes on when its turn comes. False without
 * memory: nothing has happened. */
bool host_strands_add(struct host_strands *s);
/* The next strand's turn, until it is this one's again. False: there is no other. */
bool host_strands_turn(struct host_strands *s);
/* That of the strand that runs. */
struct t0_worker *host_strands_worker(const struct host_strands *s);

#endif
