/* User objects: resources of the application that live as long as a graph, an executable graph or a
 * launch refers to them. */
#include <stdlib.h>

#include "host/driver/graph.h"

struct MUuserObject_st {
    uint64_t slab_;
    void *p;
    MUhostFn destroy;
    _Atomic int64_t refs;
};

struct graph_objects { /* what one graph refers to */
    _Atomic int refs;
    size_t n;
    struct {
        MUuserObject object;
        int64_t count;
    } * at;
};

static struct host_slab objects = HOST_SLAB(struct MUuserObject_st, "user object");

/* ---- objects --------------------------------------------------------------------------------- */

struct last { /* the destructor may not call into MUSA, and our locks may be held: it runs elsewhere
               */
    struct host_task task;
    MUhostFn destroy;
    void *p;
};

static void run_destructor(struct host_task *t)
{
    struct last *l = (struct last *)t;
    host_callback_begin();
    l->destroy(l->p);
    (void)host_callback_end();
    free(l);
}

static void release(MUuserObject o, int64_t count)
{
    if (atomic_fetch_sub(&o->refs, count) > count)
        return;
    struct last *l = malloc(sizeof *l);
    if (l) {
        *l = (struct last){{.run = run_destructor}, o->destroy, o->p};
        host_task_post(&l->task);
    } else {
        host_log(1, "out of host memory: a user object is never destroyed");
    }
    host_slab_put(&objects, o);
}

MUresult muUserObjectCreate(MUuserObject *object, void *p, MUhostFn destroy, unsigned int references,
                            unsigned int flags)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!object || !destroy || !references || references > INT32_MAX ||
        flags != MU_USER_OBJECT_NO_DESTRUCTOR_SYNC) /* the one behaviour there is: it must be named */
        return MUSA_ERROR_INVALID_VALUE;
    MUuserObject o = host_slab_get(&objects);
    if (!o)
        return MUSA_ERROR_OUT_OF_MEMORY;
    o->p = p;
    o->destroy = destroy;
    o->refs = references;
    *object = o;
    return MUSA_SUCCESS;
}

static MUresult count_good(MUuserObject o, unsigned count)
{
    MUresult r = host_ready();
    if (r)
        return r;
    return count && count <= INT32_MAX && host_slab_live(&objects, o) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

MUresult muUserObjectRetain(MUuserObject o, unsigned int count)
{
    MUresult r = count_good(o, count);
    if (!r)
        o->refs += count;
    return r;
}

MUresult muUserObjectRelease(MUuserObject o, unsigned int count)
{
    MUresult r = count_good(o, count);
    if (r || o->refs < (int64_t)count)
        return r ? r : MUSA_ERROR_INVALID_VALUE;
    release(o, count);
    return MUSA_SUCCESS;
}

/* ---- what graphs hold ------------------------------------------------------------------------ */

void graph_objects_unref(struct graph_objects *o)
{
    if (!o || atomic_fetch_sub(&o->refs, 1) > 1)
        return;
    for (size_t i = 0; i < o->n; i++)
        release(o->at[i].object, o->at[i].count);
    free(o->at);
    free(o);
}

bool graph_objects_add(struct graph_objects **to, const struct graph_objects *from)
{
    if (!from || !from->n)
        return true;
    if (!*to && !(*to = calloc(1, sizeof **to)))
        return false;
    struct graph_objects *l = *to;
    if (!l->refs)
        l->refs = 1;
    void *grown = realloc(l->at, (l->n + from->n) * sizeof *l->at);
    if (!grown)
        return false;
    l->at = grown;
    for (size_t i = 0; i < from->n; i++) { /* one reference is enough: the list goes as a whole */
        l->at[l->n].object = from->at[i].object;
        l->at[l->n++].count = 1;
        from->at[i].object->refs++;
    }
    return true;
}

/* Gives references to a user object to a graph. Copies of the graph share the list, as they share its lifetime's
 * end; with MOVE the caller's references become the graph's. */
static MUresult retain(MUgraph g, MUuserObject o, unsigned count, unsigned flags)
{
    if (!graph_live(g) || flags & ~(unsigned)MU_GRAPH_USER_OBJECT_MOVE || (flags && o->refs < (int64_t)count))
        return MUSA_ERROR_INVALID_VALUE;
    if (!g->objects) {
        if (!(g->objects = calloc(1, sizeof *g->objects)))
            return MUSA_ERROR_OUT_OF_MEMORY;
        g->objects->refs = 1;
    }
    struct graph_objects *l = g->objects;
    size_t i = 0;
    while (i < l->n && l->at[i].object != o)
        i++;
    if (i == l->n) {
        void *grown = realloc(l->at, (l->n + 1) * sizeof *l->at);
        if (!grown)
            return MUSA_ERROR_OUT_OF_MEMORY;
        l->at = grown;
        l->at[l->n].object = o;
        l->at[l->n++].count = 0;
    }
    l->at[i].count += count;
    if (!flags)
        o->refs += count; /* with MOVE the caller's references become the graph's */
    return MUSA_SUCCESS;
}

static MUresult release_from(MUgraph g, MUuserObject o, unsigned count)
{
    struct graph_objects *l = graph_live(g) ? g->objects : NULL;
    for (size_t i = 0; l && i < l->n; i++)
        if (l->at[i].object == o && l->at[i].count >= (int64_t)count) {
            l->at[i].count -= count;
            if (!l->at[i].count)
                l->at[i] = l->at[--l->n];
            release(o, count);
            return MUSA_SUCCESS;
        }
    return MUSA_ERROR_INVALID_VALUE;
}

MUresult muGraphRetainUserObject(MUgraph g, MUuserObject o, unsigned int count, unsigned int flags)
{
    MUresult r = count_good(o, count);
    if (r)
        return r;
    GRAPH_ENTRY(retain(g, o, count, flags));
}

MUresult muGraphReleaseUserObject(MUgraph g, MUuserObject o, unsigned int count)
{
    MUresult r = count_good(o, count);
    if (r)
        return r;
    GRAPH_ENTRY(release_from(g, o, count));
}
