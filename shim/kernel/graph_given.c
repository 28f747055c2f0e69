/* What cudaGraphKernelNodeGetParams gives out of a node's arguments. Programs keep the array, write other pointers
 * into it and give it back to SetParams (ggml does so for each token), as CUDA's stays where it is until the node is
 * destroyed. The calls themselves cannot serve: executable graphs share them, and each SetParams makes a new one. */
#include "kernel/graph.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 }; /* the most that a parameter's type asks for */

struct cumu_given {
    struct cumu_given *smaller; /* of the node's earlier kernels, still in programs' hands */
    unsigned nparam;            /* room */
    size_t bytes;
    char *data;
    void *params[];
};

static struct cumu_given *make_room(struct cumu_given *old, unsigned nparam, size_t bytes)
{
    if (old && old->nparam >= nparam && old->bytes >= bytes)
        return old;
    if (old) { /* few steps, however often two kernels take turns */
        nparam = nparam < 2 * old->nparam ? 2 * old->nparam : nparam;
        bytes = bytes < 2 * old->bytes ? 2 * old->bytes : bytes;
    }
    size_t head = sizeof *old + nparam * sizeof(void *);
    head = (head + ALIGN - 1) / ALIGN * ALIGN;
    struct cumu_given *g = aligned_alloc(ALIGN, head + (bytes + ALIGN - 1) / ALIGN * ALIGN);
    if (g) {
        g->smaller = old;
        g->nparam = nparam;
        g->bytes = bytes;
        g->data = (char *)g + head;
    }
    return g;
}

void **cumu_given_fill(struct cumu_given **at, const struct cumu_call *c)
{
    struct cumu_given *g = make_room(*at, c->nparam, c->bytes);
    if (!g)
        return NULL;
    *at = g;
    if (c->bytes)
        memcpy(g->data, c->data, c->bytes);
    for (unsigned i = 0; i < c->nparam; i++)
        g->params[i] = g->data + ((char *)c->launch.kernelParams[i] - c->data);
    return g->params;
}

void cumu_given_free(struct cumu_given *g)
{
    for (struct cumu_given *next; g; g = next) {
        next = g->smaller;
        free(g);
    }
}
