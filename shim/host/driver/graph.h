/* Graphs inside the CPU driver: what graph.c, graph_node.c, graph_plan.c, graph_exec.c, graph_device.c,
 * graph_run.c, graph_memory.c, graph_object.c and capture.c share.
 *
 * A graph is a list of nodes; an executable graph keeps a private copy of the graph it was made
 * from, which its setters change, and a plan: nodes in topological order with all that running them
 * needs. The plan is made anew when the copy has changed, and launches hold on to theirs. */
#ifndef CUMU_HOST_GRAPH_H
#define CUMU_HOST_GRAPH_H

#include "host/driver/copy.h"
#include "host/driver/kernel.h"

struct graph_memory;
struct graph_objects;
struct graph_values;

struct graph_attributes { /* of a kernel node, by MU_LAUNCH_ATTRIBUTE_* */
    int cooperative, priority;
    MUlaunchAttributeValue window, cluster;
};

struct MUgraphNode_st {
    uint64_t slab_;
    MUgraph graph;
    MUgraphNode prev, next;    /* in its graph, oldest first */
    uint64_t serial, original; /* unique, growing; serial of the node this is a copy of, or 0 */
    MUgraphNodeParams p;       /* kernelParams and extra: the caller's own pointers, as in the SDK */
    MUcontext ctx;             /* it runs in; NULL: the launch's */
    struct graph_attributes attributes;
    struct graph_links in, out;
    MUgraph *body; /* child graph, or bodies of a conditional; `bodies` of them */
    unsigned bodies;
    MUstreamBatchMemOpParams *ops; /* p.memOp's own copy */
    struct graph_memory *memory;   /* of an allocation: a reference; of a free: found by address */
    bool disabled;                 /* in executable graphs */
    uint32_t mark;                 /* scratch of walks, under host_graphs */
};

struct MUgraph_st {
    uint64_t slab_;
    MUgraphNode first, last;
    size_t n;
    bool private;                  /* an executable graph's copy: no handle of the application's */
    MUgraphNode owner;             /* the node whose body it is, or NULL */
    unsigned execs;                /* made from it and not destroyed */
    unsigned captures;             /* under way into it */
    struct graph_objects *objects; /* or NULL */
    struct graph_objects *updated; /* those of the graph whose nodes' parameters it took last; or NULL */
    struct graph_values *values;   /* of conditionals, shared with copies; or NULL */
};

struct MUgraphExec_st {
    uint64_t slab_;
    MUgraph copy;
    MUgraph source; /* to count execs; NULL once it is destroyed */
    struct graph_plan *plan;
    bool changed; /* the copy, since the plan was made */
    MUcontext ctx;
    uint64_t flags;
    struct host_work *last; /* of its launches, so that they follow each other */
    /* for launches by kernels: */
    bool uploaded;       /* args are those of the plan */
    unsigned char *args; /* of all kernels, as they were then */
    unsigned running;    /* launches of it that have begun */
    bool behind;         /* one is to come behind what runs */
};

extern pthread_mutex_t host_graphs; /* all of the above, and captures */
extern struct host_slab host_graph_slab, host_node_slab, host_exec_slab;

/* Body of an entry point that works on graphs: initialised, and under the lock. */
#define GRAPH_ENTRY(call) \
    do { \
        MUresult entry_ = host_ready(); \
        if (entry_) \
            return entry_; \
        pthread_mutex_lock(&host_graphs); \
        entry_ = (call); \
        pthread_mutex_unlock(&host_graphs); \
        return entry_; \
    } while (0)

/* Everything from here on is called with host_graphs held unless it says otherwise. */

/* ---- graph.c --------------------------------------------------------------------------------- */

static inline bool graph_live(MUgraph g) { return host_slab_live(&host_graph_slab, g); }
static inline bool node_live(MUgraphNode n) { return host_slab_live(&host_node_slab, n); }
static inline bool exec_live(MUgraphExec e) { return host_slab_live(&host_exec_slab, e); }

MUgraph graph_new(bool private);
void graph_free(MUgraph g); /* with its nodes and bodies */
/* A copy whose nodes remember their originals; NULL: out of memory. */
MUgraph graph_copy(MUgraph g, bool private);
/* Has it nodes whose memory or value exists once? Then it has one executable graph at a time, no
 * clones, is no child, and loses neither nodes nor edges. */
bool graph_single(MUgraph g);
/* The node of copy g (or of a body in it) that was made from the node with this serial, or NULL. */
MUgraphNode graph_find_copy(MUgraph g, uint64_t serial);
/* Adds a node without parameters' checks. data may be NULL. */
MUresult graph_node_new(MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n, MUgraphNode *node);
void graph_node_free(MUgraphNode node); /* with its edges */
/* What CUDA 12 defines: full dependencies, and programmatic ones between kernels. */
bool edge_good(MUgraphEdgeData data, MUgraphNode from, MUgraphNode to);
bool links_add(struct graph_links *l, MUgraphNode node, MUgraphEdgeData data); /* false: no memory */
struct graph_link *links_find(const struct graph_links *l, MUgraphNode node);
void links_free(struct graph_links *l);

/* ---- graph_param.c --------------------------------------------------------------------------- */

/* Checks parameters of p->type and, if they are good, makes them the node's. */
MUresult node_set(MUgraphNode node, const MUgraphNodeParams *p);
/* May parameters p replace the node's in an executable graph? An MU_GRAPH_EXEC_UPDATE_*. */
MUgraphExecUpdateResult node_change(MUgraphNode node, const MUgraphNodeParams *p);
/* A node of any type, checked; p's out-fields are filled. */
MUresult graph_add(MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n, MUgraphNodeParams *p,
                   MUgraphNode *node);
/* Makes the node's own copy of p's memory operations; false: out of memory. */
bool node_own_ops(MUgraphNode node, MUgraphNodeParams *p);
/* A kernel node as a launch. */
struct host_kernel_launch graph_launch_of(const MUSA_KERNEL_NODE_PARAMS *k, const struct graph_attributes *a);
bool same_attributes(const struct graph_attributes *a, const struct graph_attributes *b);

/* ---- graph_plan.c ---------------------------------------------------------------------------- */

struct plan_node {
    MUgraphNodeType type; /* EMPTY where the node is disabled or only stands for a child's ends */
    uint32_t nin, first_out, nout;
    MUcontext ctx; /* NULL: the launch's */
    union {
        struct {
            struct host_kernel_launch launch;
            void **params, **extra;
            size_t args; /* offset in the launch's block of arguments */
        } kernel;
        struct copy copy;
        struct fill fill;
        MUSA_HOST_NODE_PARAMS host;
        struct host_memops *memops; /* owned */
        struct {
            MUevent event;
            uint32_t point; /* index among the launch's points */
        } event;
        struct {
            struct graph_memory *memory; /* a reference; NULL: a free of other memory */
            MUdeviceptr p;
        } memory;
        struct {
            const uint32_t *value;
            MUgraphConditionalNodeType type;
            uint32_t n;
            struct graph_plan **body;
            size_t args; /* offset of the bodies' blocks of arguments in the launch's, one after the other */
        } conditional;
    };
};

struct graph_plan {
    _Atomic int refs;
    uint32_t n, roots, points; /* roots come first */
    bool memory;               /* has nodes that allocate or free */
    bool watched;              /* has nodes that a library is told of (callback.h) */
    bool blocking;             /* has nodes that may hold their thread until another has run */
    size_t args;               /* bytes of arguments, those of bodies included */
    struct plan_node *node;    /* in topological order */
    uint32_t *out;             /* successors: node[i] has out[first_out .. + nout) */
    struct graph_objects *objects;
    struct graph_values *values;
};

/* MUSA_ERROR_INVALID_VALUE and *error_node where the graph has a cycle. */
MUresult plan_new(MUgraph g, struct graph_plan **plan, MUgraphNode *error_node);
void plan_unref(struct graph_plan *plan); /* NULL is fine; the lock need not be held */
bool plan_watches(const struct plan_node *n);
/* Whether a path leads from one of the nodes to the other. */
bool plan_follows(const struct graph_plan *plan, uint32_t a, uint32_t b);

/* ---- graph_run.c ----------------------------------------------------------------------------- */

/* Puts one launch into the stream, after the exec's previous one. */
MUresult graph_launch(MUgraphExec exec, MUstream s);

/* Takes the arguments of the plan's kernels for launches by kernels. */
MUresult graph_upload(MUgraphExec exec);
struct graph_env;
struct graph_run;
/* A launch of what has been uploaded; without the lock it runs, and goes. */
MUresult graph_run_again(MUgraphExec exec, MUcontext ctx, struct graph_run **made);
MUresult graph_run_now(struct graph_run *run, struct graph_env *env);
void graph_run_drop(struct graph_run *run);

/* ---- graph_device.c -------------------------------------------------------------------------- */

/* May kernels launch it? *ctx is NULL before, and then the context of its nodes. */
MUresult graph_device_check(MUgraph g, MUcontext *ctx, MUgraphNode *bad, MUgraphInstantiateResult *why);
/* Runs a launch of the host's, and all that its kernels launch; device: of a graph that they may launch. Without the
 * lock, as all that follow. */
MUresult graph_env_run(MUgraphExec exec, bool device, struct graph_run *run, MUcontext ctx);
/* What this thread runs is part of that launch; returns the one before, to be given back. */
struct graph_env *graph_env_enter(struct graph_env *now);

/* ---- graph_memory.c -------------------------------------------------------------------------- */

MUresult graph_memory_new(MUSA_MEM_ALLOC_NODE_PARAMS *p, struct graph_memory **m);
struct graph_memory *graph_memory_ref(struct graph_memory *m);
void graph_memory_unref(struct graph_memory *m);     /* NULL is fine */
struct graph_memory *graph_memory_at(MUdeviceptr p); /* a reference, or NULL */
/* A launch of the plan begins: its allocations become live and its frees are done, in order.
 * INVALID_VALUE: one of them is live (dead) already; nothing has changed then. */
MUresult graph_memory_launch(const struct graph_plan *plan, bool auto_free);
/* For memcheck: whether a node stands behind the allocation of the memory at `base` and before its free, as far as they
 * are nodes of the plan. */
bool graph_memory_holds(const struct graph_plan *plan, uint32_t node, uintptr_t base);
/* The same: the launch of what has been put into the stream gives and takes memory, `before` it and behind it. */
void graph_memory_tell(const struct graph_plan *plan, MUstream s, bool before);
/* muMemFree and muMemFreeAsync of a graph's memory. */
MUresult graph_memory_free(struct graph_memory *m);

/* ---- graph_value.c --------------------------------------------------------------------------- */

/* The values that conditional nodes look at: words of device memory, whose address is the handle.
 */
struct graph_values *graph_values_ref(struct graph_values *v); /* NULL is fine */
void graph_values_unref(struct graph_values *v);               /* NULL is fine */
/* Is h a handle of the graph, or of one that it is a body in? */
bool graph_handle_of(MUgraph g, MUgraphConditionalHandle h);
void graph_values_reset(struct graph_values *v); /* a launch begins; NULL is fine */

/* ---- capture.c ------------------------------------------------------------------------------- */

void capture_forget(MUevent e); /* host_capture_forget_event under the lock */

/* ---- graph_object.c -------------------------------------------------------------------------- */

/* References of a graph, or of a plan made from it, to user objects. */
/* Adds a reference to each of `from` (NULL: of none) to *to, which may be none yet. False: no memory. */
bool graph_objects_add(struct graph_objects **to, const struct graph_objects *from);
void graph_objects_unref(struct graph_objects *o); /* destructors run later, on a thread of ours */

#endif
