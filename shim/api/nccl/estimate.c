/* How long the calls of a group would take (ncclGroupSimulateEnd), from their sizes alone: of each communicator
 * LATENCY for every call and what its rank sends, or receives if that is more, at BANDWIDTH; the
 * communicators of a group run side by side. Neither the devices nor the links between them are asked. */
#include "api/nccl/nccl.h"

#include <stdlib.h>

#define LATENCY 10.0   /* us */
#define BANDWIDTH 20e3 /* bytes per us: PCIe 4.0 x16, nearly */

struct weight {
    const struct nccl_comm *comm;
    double in, out;
    unsigned calls;
};
static _Thread_local struct {
    struct weight *of;
    unsigned n, room;
} group;

static struct weight *weight_of(const struct nccl_comm *c)
{
    for (unsigned i = group.n; i-- > 0;)
        if (group.of[i].comm == c)
            return &group.of[i];
    if (group.n == group.room) {
        unsigned room = group.room * 2 + 8;
        struct weight *more = realloc(group.of, room * sizeof *more);
        if (!more)
            return NULL;
        group.of = more;
        group.room = room;
    }
    group.of[group.n] = (struct weight){.comm = c};
    return &group.of[group.n++];
}

void cumu_nccl_weigh(void *comm, enum nccl_shape shape, size_t bytes)
{
    const struct nccl_comm *c = cumu_nccl_comm(comm);
    struct weight *w = c ? weight_of(c) : NULL;
    if (!w)
        return;
    double n = c->nranks;
    double moved = (double)bytes * (shape == NCCL_TWICE ? 2 * (n - 1) / n : shape == NCCL_EACH ? n - 1 : 1);
    w->in += shape == NCCL_OUT ? 0 : moved;
    w->out += shape == NCCL_IN ? 0 : moved;
    w->calls++;
}

float cumu_nccl_estimate(void)
{
    double longest = 0;
    for (unsigned i = 0; i < group.n; i++) {
        const struct weight *w = &group.of[i];
        double time = w->calls * LATENCY + (w->in > w->out ? w->in : w->out) / BANDWIDTH;
        longest = time > longest ? time : longest;
    }
    free(group.of);
    group.of = NULL;
    group.n = group.room = 0;
    return (float)longest;
}
