/* Values of conditional graph nodes: words of device memory that kernels set. The handle is the
 * word's address, so that setting it is a store. */
#include <stdlib.h>

#include "host/driver/graph.h"

struct value {
    struct value *next;
    struct host_device *device;
    uint32_t *at, initial;
    bool assign; /* gets the initial value at every launch */
};

struct graph_values {
    _Atomic int refs;
    _Atomic(struct value *) first;
};

struct graph_values *graph_values_ref(struct graph_values *v)
{
    if (v)
        v->refs++;
    return v;
}

void graph_values_unref(struct graph_values *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
        return;
    for (struct value *at = v->first, *next; at; at = next) {
        next = at->next;
        host_mem_free(at->device, at->at);
        free(at);
    }
    free(v);
}

void graph_values_reset(struct graph_values *v)
{
    for (struct value *at = v ? v->first : NULL; at; at = at->next)
        if (at->assign)
            __atomic_store_n(at->at, at->initial, __ATOMIC_RELAXED);
}

bool graph_handle_of(MUgraph g, MUgraphConditionalHandle h)
{
    for (; g; g = g->owner ? g->owner->graph : NULL)
        for (struct value *at = g->values ? g->values->first : NULL; at; at = at->next)
            if ((uintptr_t)at->at == h)
                return true;
    return false;
}

static MUresult create(MUgraphConditionalHandle *handle, MUgraph g, MUcontext ctx, uint32_t initial, unsigned flags)
{
    if (!ctx)
        ctx = host_current();
    if (!handle || !graph_live(g) || flags & ~(unsigned)MU_GRAPH_COND_ASSIGN_DEFAULT)
        return MUSA_ERROR_INVALID_VALUE;
    if (!ctx || !host_ctx_live(ctx))
        return MUSA_ERROR_INVALID_CONTEXT;
    if (!g->values && !(g->values = calloc(1, sizeof *g->values)))
        return MUSA_ERROR_OUT_OF_MEMORY;
    g->values->refs += !g->values->refs;
    struct value *v = calloc(1, sizeof *v);
    if (!v || !(v->at = host_mem_alloc(ctx->device, 512, 512))) {
        free(v);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *v = (struct value){g->values->first, ctx->device, v->at, initial, flags & MU_GRAPH_COND_ASSIGN_DEFAULT};
    *v->at = initial;
    g->values->first = v;
    *handle = (uintptr_t)v->at;
    return MUSA_SUCCESS;
}

MUresult muGraphConditionalHandleCreate(MUgraphConditionalHandle *handle, MUgraph g, MUcontext ctx,
                                        unsigned int initial, unsigned int flags)
{
    GRAPH_ENTRY(create(handle, g, ctx, initial, flags));
}
