/* Which graphs and executable graphs may run which kernel calls, so that each lives long enough. Kept
 * here and not in user objects of the graphs, which older MUSA lacks and which cannot be given to an
 * executable graph. */
#include "kernel/graph.h"

#include <stdlib.h>

#include "core/hmap.h"
#include "core/ids.h"
#include "mu.h"

struct key {
    MUgraphExec exec; /* NULL: the node itself, else what it became in that executable graph */
    MUgraphNode node;
};

/* One call that an owner may run. */
struct held {
    struct key key; /* no node: not in the table, lives as long as its owner */
    struct held *next, **at;
    struct owner *owner;
    struct cumu_call *call;   /* NULL: a node that has graphs inside */
    struct cumu_given *given; /* of a graph's node whose arguments were asked for */
    bool cold;                /* of an executable graph: its compiled code is still to come */
    UT_hash_handle hh;
};

struct owner {
    void *handle; /* MUgraph or MUgraphExec */
    struct held *list;
    struct owner *parent, *children, *sibling; /* graphs inside nodes of graphs */
    MUgraphNode inside;                        /* which node of the parent's */
    unsigned cold;
    UT_hash_handle hh;
};

static HMAP(struct owner) owners = HMAP_INIT; /* its lock guards everything here */
static struct held *known;
static atomic_uint cold_execs;

static struct owner *find_owner(void *handle)
{
    struct owner *o;
    HASH_FIND_PTR(owners.head, &handle, o);
    return o;
}

static struct owner *get_owner(void *handle)
{
    struct owner *o = find_owner(handle);
    if (o || !(o = calloc(1, sizeof *o)))
        return o;
    o->handle = handle;
    HASH_ADD_PTR(owners.head, handle, o);
    if (hmap_added(o))
        return o;
    free(o);
    return NULL;
}

static struct held *find_held(MUgraphExec exec, MUgraphNode node)
{
    struct key key = {exec, node};
    struct held *h;
    HASH_FIND(hh, known, &key, sizeof key, h);
    return h;
}

static void set_cold(struct held *h, bool cold)
{
    struct owner *o = h->owner;
    if (h->cold == cold)
        return;
    h->cold = cold;
    o->cold += cold ? 1u : -1u;
    if (o->cold == (cold ? 1u : 0u))
        atomic_fetch_add(&cold_execs, cold ? 1u : -1u);
}

/* Adds a call to an owner, the reference included. Out of memory: nothing knows of it, so it stays. */
static void add(struct owner *o, MUgraphExec exec, MUgraphNode node, struct cumu_call *c)
{
    struct held *h = node ? find_held(exec, node) : NULL;
    if (h && h->owner == o) {
        set_cold(h, false);
        cumu_call_drop(h->call);
        h->call = c;
        if (h->given && c)
            (void)cumu_given_fill(&h->given, c);
    } else {
        if (!o || !(h = calloc(1, sizeof *h)))
            return;
        h->owner = o;
        h->call = c;
        h->key = (struct key){exec, node};
        if (node) {
            HASH_ADD(hh, known, key, sizeof h->key, h);
            if (!hmap_added(h))
                h->key.node = NULL;
        }
        h->next = o->list;
        h->at = &o->list;
        if (h->next)
            h->next->at = &h->next;
        o->list = h;
    }
    if (exec && h->key.node && c)
        set_cold(h, true);
}

static void remove_held(struct held *h)
{
    set_cold(h, false);
    if (h->key.node)
        HASH_DEL(known, h);
    *h->at = h->next;
    if (h->next)
        h->next->at = h->at;
    cumu_call_drop(h->call);
    cumu_given_free(h->given);
    free(h);
}

static void remove_all(struct owner *o)
{
    while (o->list)
        remove_held(o->list);
}

static void remove_owner(struct owner *o)
{
    if (!o)
        return;
    while (o->children)
        remove_owner(o->children);
    if (o->parent) {
        struct owner **at = &o->parent->children;
        while (*at != o)
            at = &(*at)->sibling;
        *at = o->sibling;
    }
    remove_all(o);
    HASH_DEL(owners.head, o);
    free(o);
}

static struct cumu_call *another(struct cumu_call *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

/* Gives `to` all calls of `from` (of its nodes only if `nodes`) and of the graphs inside it. With `exec`,
 * those of nodes can be replaced one by one. */
static void share(struct owner *to, MUgraphExec exec, const struct owner *from, bool nodes)
{
    if (!to || !from)
        return;
    for (const struct held *h = from->list; h; h = h->next)
        if (h->call && (nodes || !h->key.node))
            add(to, exec, exec && !h->key.exec ? h->key.node : NULL, another(h->call));
    for (const struct owner *c = from->children; c; c = c->sibling)
        share(to, exec, c, true);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void cumu_graph_hold(MUgraph g, MUgraphNode node, struct cumu_call *c)
{
    hmap_lock(&owners);
    add(get_owner(g), NULL, node, c);
    hmap_unlock(&owners);
}

void cumu_exec_hold(MUgraphExec x, MUgraphNode node, struct cumu_call *c)
{
    hmap_lock(&owners);
    add(get_owner(x), x, node, c);
    hmap_unlock(&owners);
}

void cumu_node_hold(MUgraphNode node, struct cumu_call *c)
{
    hmap_lock(&owners);
    struct held *h = find_held(NULL, node);
    if (h) /* else its graph is inside one that we never saw: the call stays for ever */
        add(h->owner, NULL, node, c);
    hmap_unlock(&owners);
}

struct cumu_call *cumu_node_call(MUgraphNode node, void ***args)
{
    hmap_lock(&owners);
    struct held *h = find_held(NULL, node);
    struct cumu_call *c = h && h->call ? another(h->call) : NULL;
    void **given = c ? cumu_given_fill(&h->given, c) : NULL;
    if (c)
        *args = given ? given : c->launch.kernelParams;
    hmap_unlock(&owners);
    return c;
}

void cumu_graph_parent(MUgraph g, MUgraphNode node) { cumu_graph_hold(g, node, NULL); }

void cumu_graph_inside(MUgraphNode node, MUgraph inner)
{
    hmap_lock(&owners);
    struct held *h = find_held(NULL, node);
    struct owner *o = h ? get_owner(inner) : NULL;
    if (o && !o->parent && o != h->owner) {
        o->parent = h->owner;
        o->inside = node;
        o->sibling = o->parent->children;
        o->parent->children = o;
    }
    hmap_unlock(&owners);
}

void cumu_node_gone(MUgraphNode node)
{
    cumu_id_drop(node);
    hmap_lock(&owners);
    struct held *h = find_held(NULL, node);
    if (h) {
        for (struct owner *c = h->owner->children, *next; c; c = next) {
            next = c->sibling;
            if (c->inside == node)
                remove_owner(c);
        }
        remove_held(h);
    }
    hmap_unlock(&owners);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

void cumu_graph_share(MUgraph to, MUgraph from)
{
    hmap_lock(&owners);
    struct owner *o = find_owner(from);
    if (o)
        share(get_owner(to), NULL, o, true);
    hmap_unlock(&owners);
}

void cumu_graph_share_exec(MUgraph to, MUgraphExec from)
{
    hmap_lock(&owners);
    struct owner *o = find_owner(from);
    if (o)
        share(get_owner(to), NULL, o, true);
    hmap_unlock(&owners);
}

/* A copy of an owner's calls of its own nodes, for work without the lock; NULL: none, or no memory. */
struct pair {
    MUgraphNode node;
    struct cumu_call *call;
};
static struct pair *copy_list(struct owner *o, bool cold_only, size_t *n)
{
    size_t all = 0;
    *n = 0;
    for (struct held *h = o ? o->list : NULL; h; h = h->next)
        all++;
    struct pair *list = all ? malloc(all * sizeof *list) : NULL;
    for (struct held *h = list ? o->list : NULL; h; h = h->next)
        if (h->call && h->key.node && (h->cold || !cold_only))
            list[(*n)++] = (struct pair){h->key.node, another(h->call)};
    return list;
}

static void drop_list(struct pair *list, size_t n)
{
    while (n)
        cumu_call_drop(list[--n].call);
    free(list);
}

void cumu_graph_cloned(MUgraph to, MUgraph from)
{
    size_t n;
    hmap_lock(&owners);
    struct owner *o = find_owner(from);
    struct pair *list = copy_list(o, false, &n);
    if (o)
        share(get_owner(to), NULL, o, list == NULL);
    hmap_unlock(&owners);
    for (size_t i = 0; i < n; i++) { /* the copies of known nodes are known, too */
        MUgraphNode node;
        if (mu.muGraphNodeFindInClone(&node, list[i].node, to) != MUSA_SUCCESS)
            node = NULL;
        cumu_graph_hold(to, node, another(list[i].call));
    }
    drop_list(list, n);
}

void cumu_graph_gone(MUgraph g)
{
    cumu_id_drop(g);
    hmap_lock(&owners);
    remove_owner(find_owner(g));
    hmap_unlock(&owners);
}

/* ---- executable graphs ----------------------------------------------------------------------- */

static void from_graph(MUgraphExec x, MUgraph from, bool fresh)
{
    hmap_lock(&owners);
    struct owner *g = find_owner(from), *o = g ? get_owner(x) : find_owner(x);
    if (o && fresh)
        remove_all(o);
    share(o, fresh ? NULL : x, g, true);
    hmap_unlock(&owners);
}

void cumu_exec_made(MUgraphExec x, MUgraph from) { from_graph(x, from, false); }

void cumu_exec_updated(MUgraphExec x, MUgraph from) { from_graph(x, from, true); }

void cumu_exec_share(MUgraphExec x, MUgraph from)
{
    hmap_lock(&owners);
    struct owner *g = find_owner(from);
    if (g)
        share(get_owner(x), NULL, g, true);
    /* Which of x's nodes these calls are now of is not known: none may be set back to an older one. */
    struct owner *o = find_owner(x);
    for (struct held *h = o ? o->list : NULL; h; h = h->next)
        set_cold(h, false);
    hmap_unlock(&owners);
}

void cumu_exec_gone(MUgraphExec x)
{
    cumu_id_drop(x);
    hmap_lock(&owners);
    remove_owner(find_owner(x));
    hmap_unlock(&owners);
}

void cumu_exec_refresh(MUgraphExec x)
{
    size_t n;
    if (atomic_load_explicit(&cold_execs, memory_order_relaxed) == 0)
        return;
    hmap_lock(&owners);
    struct pair *list = copy_list(find_owner(x), true, &n);
    hmap_unlock(&owners);
    for (size_t i = 0; i < n; i++) {
        struct cumu_call *c = list[i].call;
        MUfunction now;
        bool still = cumu_call_compiling(c, &now);
        if (now != c->launch.func) {
            MUSA_KERNEL_NODE_PARAMS params = c->launch;
            params.func = now;
            (void)mu.muGraphExecKernelNodeSetParams(x, list[i].node, &params);
        }
        if (still)
            continue;
        hmap_lock(&owners);
        struct held *h = find_held(x, list[i].node);
        if (h && h->call == c)
            set_cold(h, false);
        hmap_unlock(&owners);
    }
    drop_list(list, n);
}
