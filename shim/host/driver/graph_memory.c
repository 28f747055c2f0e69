/* Memory of allocation nodes: an address that is fixed when the node is made, memory that is live
 * from a launch of the allocation to a free, and its figures.
 *
 * The books change when a launch is enqueued, in the order of its nodes: streams keep the rest in
 * that order. Pages stay until they are trimmed. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host/driver/graph.h"
#include "host/driver/memcheck.h"

struct graph_memory {
    struct graph_memory *next, **link;
    struct host_device *device;
    uintptr_t base;
    size_t size;
    MUmemAccessDesc *access;
    int refs;
    bool live, reserved; /* reserved: it may have pages */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all of this; before the range lock */
static struct graph_memory *all;
static struct {
    uint64_t used, used_high, reserved, reserved_high;
} figures[HOST_MAX_DEVICES];

static bool props_good(const MUSA_MEM_ALLOC_NODE_PARAMS *p)
{
    return p->bytesize && p->poolProps.allocType == MU_MEM_ALLOCATION_TYPE_PINNED &&
           p->poolProps.location.type == MU_MEM_LOCATION_TYPE_DEVICE &&
           p->poolProps.handleTypes == MU_MEM_HANDLE_TYPE_NONE && (!p->accessDescCount || p->accessDescs) &&
           p->accessDescCount <= HOST_MAX_DEVICES;
}

/* Memory of an allocation node. It is taken when the node is made, since CUDA tells its address then; launches and
 * frees only keep books of it. */
MUresult graph_memory_new(MUSA_MEM_ALLOC_NODE_PARAMS *p, struct graph_memory **m)
{
    struct host_device *d = props_good(p) ? host_device(p->poolProps.location.id) : NULL;
    if (!d)
        return MUSA_ERROR_INVALID_VALUE;
    struct graph_memory *made = calloc(1, sizeof *made);
    size_t access = p->accessDescCount * sizeof *made->access;
    MUresult r = MUSA_ERROR_OUT_OF_MEMORY;
    if (!made || (access && !(made->access = malloc(access))))
        goto fail;
    if (access)
        memcpy(made->access, p->accessDescs, access);
    void *base;
    /* By a context of another device it is the primary one's, too. */
    MUcontext ctx = host_current() && host_ctx_device(host_current()) == d ? host_current() : d->primary;
    if ((r = host_range_alloc(d, NULL, host_pool_owner(d, ctx), p->bytesize, 0, HOST_MEM_DEVICE, NULL, &base)))
        goto fail;
    host_memcheck_unborn(base);
    made->device = d;
    made->base = (uintptr_t)base;
    made->size = p->bytesize;
    made->refs = 1;
    pthread_mutex_lock(&lock);
    host_range_set_graph(base, made);
    made->next = all;
    made->link = &all;
    if (all)
        all->link = &made->next;
    all = made;
    pthread_mutex_unlock(&lock);
    p->accessDescs = made->access;
    p->dptr = made->base;
    *m = made;
    return MUSA_SUCCESS;
fail:
    if (made)
        free(made->access);
    free(made);
    return r;
}

struct graph_memory *graph_memory_ref(struct graph_memory *m)
{
    pthread_mutex_lock(&lock);
    m->refs++;
    pthread_mutex_unlock(&lock);
    return m;
}

struct graph_memory *graph_memory_at(MUdeviceptr p)
{
    struct host_range r;
    pthread_mutex_lock(&lock);
    bool found = host_mem_find((void *)(uintptr_t)p, &r) && r.base == p && r.graph;
    if (found)
        r.graph->refs++;
    pthread_mutex_unlock(&lock);
    return found ? r.graph : NULL;
}

static void set_live(struct graph_memory *m, bool live)
{
    int d = m->device->ordinal;
    m->live = live;
    if (!live) {
        figures[d].used -= m->size;
        return;
    }
    figures[d].used += m->size;
    if (figures[d].used > figures[d].used_high)
        figures[d].used_high = figures[d].used;
    if (!m->reserved) {
        m->reserved = true;
        figures[d].reserved += m->size;
        if (figures[d].reserved > figures[d].reserved_high)
            figures[d].reserved_high = figures[d].reserved;
    }
}

/* Memory that outlives its graphs is an ordinary allocation from then on, the application's to
 * free. */
void graph_memory_unref(struct graph_memory *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&lock);
    bool gone = --m->refs == 0;
    if (gone) {
        struct host_range r;
        bool ours = host_mem_find((void *)m->base, &r) && r.graph == m;
        if (m->live)
            set_live(m, false);
        else if (ours)
            host_range_release(&r);
        if (ours)
            host_range_set_graph((void *)m->base, NULL);
        if (m->reserved)
            figures[m->device->ordinal].reserved -= m->size;
        *m->link = m->next;
        if (m->next)
            m->next->link = m->link;
    }
    pthread_mutex_unlock(&lock);
    if (gone) {
        free(m->access);
        free(m);
    }
}

MUresult graph_memory_launch(const struct graph_plan *plan, bool auto_free)
{
    MUresult r = MUSA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < plan->n && auto_free; i++)
        if (plan->node[i].type == MU_GRAPH_NODE_TYPE_MEM_ALLOC && plan->node[i].memory.memory->live)
            set_live(plan->node[i].memory.memory, false);
    uint32_t i = 0;
    for (; i < plan->n && !r; i++) {
        MUgraphNodeType type = plan->node[i].type;
        bool alloc = type == MU_GRAPH_NODE_TYPE_MEM_ALLOC;
        if (!alloc && type != MU_GRAPH_NODE_TYPE_MEM_FREE)
            continue;
        if (plan->node[i].memory.memory->live == alloc)
            r = MUSA_ERROR_INVALID_VALUE;
        else
            set_live(plan->node[i].memory.memory, alloc);
    }
    if (r)
        for (i--; i--;) {
            MUgraphNodeType type = plan->node[i].type;
            bool alloc = type == MU_GRAPH_NODE_TYPE_MEM_ALLOC;
            if (alloc || type == MU_GRAPH_NODE_TYPE_MEM_FREE)
                set_live(plan->node[i].memory.memory, !alloc);
        }
    pthread_mutex_unlock(&lock);
    return r;
}

bool graph_memory_holds(const struct graph_plan *plan, uint32_t node, uintptr_t base)
{
    for (uint32_t i = 0; i < plan->n && plan->memory; i++) {
        const bool alloc = plan->node[i].type == MU_GRAPH_NODE_TYPE_MEM_ALLOC;
        if ((alloc || plan->node[i].type == MU_GRAPH_NODE_TYPE_MEM_FREE) && plan->node[i].memory.memory->base == base &&
            ((alloc ? i > node : i < node) || !plan_follows(plan, i, node)))
            return false;
    }
    return true;
}

void graph_memory_tell(const struct graph_plan *plan, MUstream s, bool before)
{
    const MUgraphNodeType type = before ? MU_GRAPH_NODE_TYPE_MEM_ALLOC : MU_GRAPH_NODE_TYPE_MEM_FREE;
    for (uint32_t i = 0; i < plan->n && plan->memory && host_memcheck_on(); i++)
        if (plan->node[i].type == type)
            (before ? host_memcheck_pooled : host_memcheck_unpooled)(plan->node[i].memory.memory->base, s);
}

MUresult graph_memory_free(struct graph_memory *m)
{
    pthread_mutex_lock(&lock);
    bool live = m->live;
    if (live)
        set_live(m, false);
    pthread_mutex_unlock(&lock);
    return live ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

/* ---- figures --------------------------------------------------------------------------------- */

MUresult muDeviceGraphMemTrim(MUdevice device)
{
    MUresult r = host_ready();
    if (r)
        return r;
    struct host_device *d = host_device(device);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    for (struct graph_memory *m = all; m; m = m->next)
        if (m->device == d && m->reserved && !m->live) {
            uintptr_t lo = (m->base + 4095) & ~(uintptr_t)4095, hi = (m->base + m->size) & ~(uintptr_t)4095;
            if (lo < hi)
                madvise((void *)lo, hi - lo, MADV_REMOVE);
            m->reserved = false;
            figures[device].reserved -= m->size;
        }
    pthread_mutex_unlock(&lock);
    return MUSA_SUCCESS;
}

static MUresult figure_of(MUdevice device, MUgraphMem_attribute attr, void *value, uint64_t **figure)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_device(device))
        return MUSA_ERROR_INVALID_DEVICE;
    if (!value || attr < MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || attr > MU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return MUSA_ERROR_INVALID_VALUE;
    uint64_t *const by_attribute[] = {&figures[device].used, &figures[device].used_high, &figures[device].reserved,
                                      &figures[device].reserved_high};
    *figure = by_attribute[attr];
    return MUSA_SUCCESS;
}

MUresult muDeviceGetGraphMemAttribute(MUdevice device, MUgraphMem_attribute attr, void *value)
{
    uint64_t *figure;
    MUresult r = figure_of(device, attr, value, &figure);
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    *(uint64_t *)value = *figure;
    pthread_mutex_unlock(&lock);
    return MUSA_SUCCESS;
}

/* High-water marks may be reset, to what is current. */
MUresult muDeviceSetGraphMemAttribute(MUdevice device, MUgraphMem_attribute attr, void *value)
{
    uint64_t *figure;
    MUresult r = figure_of(device, attr, value, &figure);
    if (r)
        return r;
    if (*(uint64_t *)value || (attr != MU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != MU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *figure = figure[-1];
    pthread_mutex_unlock(&lock);
    return MUSA_SUCCESS;
}
