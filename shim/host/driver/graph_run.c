/* Launches of executable graphs: one operation of the stream, whose nodes run on its thread and on
 * helpers as soon as what they depend on is done. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/callback.h"
#include "host/driver/graph.h"
#include "host/driver/order.h"

#define MAX_HELPERS 16 /* where a node may hold its thread until another has run */
#define BATCH 64       /* nodes offered at once */
#define NONE UINT32_MAX

struct graph_run {
    struct graph_plan *plan;
    MUcontext ctx;
    MUgraphExec exec;          /* by its value: it may be gone */
    bool device;               /* kernels may launch it */
    struct graph_env *env;     /* that it runs in */
    unsigned char *args;       /* of all kernels, as they were at the launch */
    struct host_work **points; /* by plan_node.event.point */
    _Atomic uint32_t *pending; /* by node: dependencies that are not done */
    _Atomic uint32_t left;     /* nodes that are not done */
    _Atomic MUresult error;
    _Atomic bool broken;   /* by an error: what is left is not run */
    _Atomic uint32_t root; /* the next one that nobody has taken */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t *ready, nready;  /* nodes nobody has taken yet (lock) */
    int helpers, refs;        /* (lock) */
    int most;                 /* helpers there may be */
    struct host_order *order; /* of the launch, which outlives it */
    bool waiting;             /* the stream's thread, for work or the end (lock) */
};

struct helper {
    struct host_task task;
    struct graph_run *run;
};

static MUresult run_plan(struct graph_run *run);
static MUresult run_new(struct graph_plan *plan, MUcontext ctx, const void *args, struct graph_run **made);
static void run_unref(struct graph_run *run);

/* ---- one node -------------------------------------------------------------------------------- */

/* The body that the value chooses, and where its kernels' arguments are; NULL: none. */
static struct graph_plan *chosen(const struct plan_node *n, size_t *args)
{
    uint32_t value = __atomic_load_n(n->conditional.value, __ATOMIC_ACQUIRE);
    uint32_t at = n->conditional.type == MU_GRAPH_COND_TYPE_SWITCH ? value : !value;
    if (at >= n->conditional.n)
        return NULL;
    *args = n->conditional.args;
    for (uint32_t i = 0; i < at; i++)
        *args += n->conditional.body[i]->args;
    return n->conditional.body[at];
}

/* By the time a body runs the executable graph may be destroyed, or changed, and with it what its nodes' pointers lead
 * to: its arguments are those of the launch. */
static MUresult run_conditional(struct graph_run *run, const struct plan_node *n)
{
    MUresult r = MUSA_SUCCESS;
    struct graph_plan *body;
    size_t args;
    while (!r && !run->ctx->error && (body = chosen(n, &args))) {
        struct graph_run *inner;
        if ((r = run_new(body, run->ctx, body->args ? run->args + args : NULL, &inner)))
            break;
        inner->order = run->order;
        inner->env = run->env;
        r = run_plan(inner);
        run_unref(inner);
        if (n->conditional.type != MU_GRAPH_COND_TYPE_WHILE)
            break;
    }
    return r;
}

/* Runs one node on the thread that calls. Nodes of events and allocations did their bookkeeping when the graph was
 * launched. */
static MUresult run_node(struct graph_run *run, const struct plan_node *n)
{
    switch (n->type) {
    case MU_GRAPH_NODE_TYPE_KERNEL: return host_kernel_run(&n->kernel.launch, run->args + n->kernel.args);
    case MU_GRAPH_NODE_TYPE_MEMCPY:
        if (n->copy.width)
            host_copy_run(&n->copy);
        return MUSA_SUCCESS;
    case MU_GRAPH_NODE_TYPE_MEMSET: host_fill_run(&n->fill); return MUSA_SUCCESS;
    case MU_GRAPH_NODE_TYPE_HOST:
        host_callback_begin();
        n->host.fn(n->host.userData);
        return host_callback_end();
    case MU_GRAPH_NODE_TYPE_WAIT_EVENT:
        if (run->points[n->event.point])
            host_work_wait(run->points[n->event.point]);
        return MUSA_SUCCESS;
    case MU_GRAPH_NODE_TYPE_BATCH_MEM_OP: host_memops_run(n->memops); return MUSA_SUCCESS;
    case MU_GRAPH_NODE_TYPE_CONDITIONAL: return run_conditional(run, n);
    default: /* allocations and frees were booked at the launch */ return MUSA_SUCCESS;
    }
}

static void do_node(struct graph_run *run, uint32_t i)
{
    const struct plan_node *n = &run->plan->node[i];
    MUcontext ctx = n->ctx ? n->ctx : run->ctx;
    if (!run->broken && !ctx->error) {
        const struct host_running before = host_order_run((struct host_running){run->order, run->plan, i});
        struct graph_env *env = graph_env_enter(run->env);
        MUresult r = run_node(run, n);
        graph_env_enter(env);
        host_order_run(before);
        if (r) {
            host_log(2, "graph node of type %d: error %d", n->type, host_failure_code(r));
            run->error = r;
            run->broken = true;
            host_ctx_fail(ctx, r);
        }
    } else if (plan_watches(n)) {
        host_watched->skipped(n->host.userData);
    }
    if (n->type == MU_GRAPH_NODE_TYPE_EVENT_RECORD) { /* reached whatever happened */
        host_point_reach(run->points[n->event.point]);
        run->points[n->event.point] = NULL;
    }
}

/* ---- all nodes ------------------------------------------------------------------------------- */

static void run_unref(struct graph_run *run)
{
    pthread_mutex_lock(&run->lock);
    bool gone = --run->refs == 0;
    pthread_mutex_unlock(&run->lock);
    if (!gone)
        return;
    /* A record that was never reached (the launch was dropped), and what waits took. */
    for (uint32_t i = 0; i < run->plan->n && run->points; i++) {
        const struct plan_node *n = &run->plan->node[i];
        if (n->type == MU_GRAPH_NODE_TYPE_WAIT_EVENT)
            host_work_unref(run->points[n->event.point]);
        else if (n->type == MU_GRAPH_NODE_TYPE_EVENT_RECORD && run->points[n->event.point])
            host_point_reach(run->points[n->event.point]);
    }
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    plan_unref(run->plan);
    free(run->args);
    free(run->points);
    free(run->pending);
    free(run->ready);
    free(run);
}

static void help(struct host_task *t);

/* Calls so many helpers, if there may be so many. */
static void call_helpers(struct graph_run *run, uint32_t n)
{
    for (; n; n--) {
        struct helper *h = malloc(sizeof *h);
        pthread_mutex_lock(&run->lock);
        bool more = h && run->helpers < run->most;
        run->helpers += more;
        run->refs += more;
        pthread_mutex_unlock(&run->lock);
        if (!more) {
            free(h);
            return;
        }
        *h = (struct helper){{.run = help}, run};
        host_task_post(&h->task);
    }
}

/* Offers ready nodes to whoever is free. */
static void offer(struct graph_run *run, const uint32_t *nodes, uint32_t n)
{
    pthread_mutex_lock(&run->lock);
    memcpy(run->ready + run->nready, nodes, n * sizeof *nodes);
    run->nready += n;
    if (run->waiting) {
        run->waiting = false;
        n--;
        pthread_cond_signal(&run->changed);
    }
    n = run->helpers < run->most ? n : 0;
    pthread_mutex_unlock(&run->lock);
    call_helpers(run, n);
}

/* A node that is ready, or NONE. */
static uint32_t take(struct graph_run *run)
{
    uint32_t i = NONE, root = run->root;
    if (root < run->plan->roots && (root = atomic_fetch_add(&run->root, 1)) < run->plan->roots)
        return root;
    pthread_mutex_lock(&run->lock);
    if (run->nready)
        i = run->ready[--run->nready];
    pthread_mutex_unlock(&run->lock);
    return i;
}

/* Runs node i and what becomes ready by it; the first successor on this thread. */
static void follow(struct graph_run *run, uint32_t i)
{
    const struct graph_plan *plan = run->plan;
    uint32_t others[BATCH], n;
    for (uint32_t next; i != NONE; i = next) {
        do_node(run, i);
        const struct plan_node *node = &plan->node[i];
        next = NONE;
        n = 0;
        for (uint32_t k = 0; k < node->nout; k++) {
            uint32_t to = plan->out[node->first_out + k];
            if (atomic_fetch_sub(&run->pending[to], 1) > 1)
                continue;
            if (next == NONE)
                next = to;
            else
                others[n++] = to;
            if (n == BATCH) {
                offer(run, others, n);
                n = 0;
            }
        }
        if (n)
            offer(run, others, n);
        if (atomic_fetch_sub(&run->left, 1) == 1) {
            pthread_mutex_lock(&run->lock);
            pthread_cond_signal(&run->changed);
            pthread_mutex_unlock(&run->lock);
        }
    }
}

static void help(struct host_task *t)
{
    struct graph_run *run = ((struct helper *)t)->run;
    free(t);
    for (bool more = true; more;) {
        for (uint32_t i; (i = take(run)) != NONE;)
            follow(run, i);
        pthread_mutex_lock(&run->lock);
        more = run->nready; /* who offered it counted on this helper */
        run->helpers -= !more;
        pthread_mutex_unlock(&run->lock);
    }
    run_unref(run);
}

/* Until the last node is done, wherever it runs. */
static MUresult run_plan(struct graph_run *run)
{
    if (run->plan->roots > 1)
        call_helpers(run, run->plan->roots - 1);
    while (run->left) {
        uint32_t i = take(run);
        if (i != NONE) {
            follow(run, i);
            continue;
        }
        pthread_mutex_lock(&run->lock);
        while (run->left && !run->nready) {
            run->waiting = true;
            pthread_cond_wait(&run->changed, &run->lock);
        }
        run->waiting = false;
        pthread_mutex_unlock(&run->lock);
    }
    return run->error;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The values of the kernels' arguments are taken here, from where the nodes' pointers lead. */
static MUresult pack(const struct graph_plan *plan, unsigned char *args)
{
    MUresult r = MUSA_SUCCESS;
    for (uint32_t i = 0; i < plan->n && !r; i++) {
        const struct plan_node *n = &plan->node[i];
        if (n->type == MU_GRAPH_NODE_TYPE_KERNEL)
            r = host_kernel_pack(n->kernel.launch.f, n->kernel.params, n->kernel.extra, args + n->kernel.args);
        size_t at = n->type == MU_GRAPH_NODE_TYPE_CONDITIONAL ? n->conditional.args : 0;
        for (uint32_t k = 0; n->type == MU_GRAPH_NODE_TYPE_CONDITIONAL && k < n->conditional.n && !r; k++) {
            r = pack(n->conditional.body[k], args + at);
            at += n->conditional.body[k]->args;
        }
    }
    return r;
}

static unsigned char *new_args(const struct graph_plan *plan)
{
    unsigned char *args = plan->args ? aligned_alloc(HOST_PARAMS_ALIGN, plan->args) : NULL;
    if (args)
        memset(args, 0, plan->args);
    return args;
}

MUresult graph_upload(MUgraphExec e)
{
    const struct graph_plan *plan = e->plan;
    free(e->args);
    e->args = new_args(plan);
    MUresult r = plan->args && !e->args ? MUSA_ERROR_OUT_OF_MEMORY : pack(plan, e->args);
    e->uploaded = !r;
    return r;
}

/* Makes a run of a plan: a launch has counters, arguments and points of its own, so that one graph may be under way
 * several times and be changed meanwhile. Graphs in which nodes may block get more threads, as one that waits does
 * no work. args: of the kernels; NULL: they are where the nodes' pointers lead. */
static MUresult run_new(struct graph_plan *plan, MUcontext ctx, const void *args, struct graph_run **made)
{
    struct graph_run *run = calloc(1, sizeof *run);
    if (!run)
        return MUSA_ERROR_OUT_OF_MEMORY;
    run->pending = malloc((plan->n + 1) * sizeof *run->pending);
    run->ready = malloc((plan->n + 1) * sizeof *run->ready);
    run->args = new_args(plan);
    run->points = plan->points ? calloc(plan->points, sizeof *run->points) : NULL;
    plan->refs++;
    run->plan = plan;
    run->ctx = ctx;
    run->refs = 1;
    run->left = plan->n;
    run->most = plan->blocking ? MAX_HELPERS : host_config()->threads - 1;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    MUresult r = !run->pending || !run->ready || (plan->args && !run->args) || (plan->points && !run->points)
                     ? MUSA_ERROR_OUT_OF_MEMORY
                 : args ? MUSA_SUCCESS
                        : pack(plan, run->args);
    if (args && !r && plan->args)
        memcpy(run->args, args, plan->args);
    if (r) {
        run_unref(run);
        return r;
    }
    for (uint32_t i = 0; i < plan->n; i++)
        run->pending[i] = plan->node[i].nin;
    *made = run;
    return MUSA_SUCCESS;
}

/* In the order of the nodes, so that a wait finds the record before it in the same launch. */
static MUresult take_points(struct graph_run *run)
{
    for (uint32_t i = 0; i < run->plan->n; i++) {
        const struct plan_node *n = &run->plan->node[i];
        struct host_work **point = run->points + n->event.point;
        if (n->type == MU_GRAPH_NODE_TYPE_WAIT_EVENT) {
            MUresult r = host_event_of(n->event.event);
            if (r)
                return r;
            *point = host_event_work(n->event.event);
        } else if (n->type == MU_GRAPH_NODE_TYPE_EVENT_RECORD) {
            MUresult r = host_event_of(n->event.event);
            if (r || !(*point = host_point_new()))
                return r ? r : MUSA_ERROR_OUT_OF_MEMORY;
            pthread_mutex_lock(&host_sched);
            host_work_ref(*point);
            pthread_mutex_unlock(&host_sched);
            capture_forget(n->event.event);
            host_event_set_work(n->event.event, *point);
        }
    }
    return MUSA_SUCCESS;
}

static MUresult run_op(void *arg)
{
    struct graph_run *run = arg;
    run->order = host_order_running().order;
    graph_values_reset(run->plan->values);
    return graph_env_run(run->exec, run->device, run, run->ctx);
}

/* A module may have been unloaded since the graph was instantiated. */
static bool kernels_live(const struct graph_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct plan_node *n = &plan->node[i];
        if (n->type == MU_GRAPH_NODE_TYPE_KERNEL && !host_function_live(n->kernel.launch.f))
            return false;
        for (uint32_t k = 0; n->type == MU_GRAPH_NODE_TYPE_CONDITIONAL && k < n->conditional.n; k++)
            if (!kernels_live(n->conditional.body[k]))
                return false;
    }
    return true;
}

MUresult graph_run_again(MUgraphExec e, MUcontext ctx, struct graph_run **made)
{
    if (!kernels_live(e->plan))
        return MUSA_ERROR_INVALID_HANDLE;
    return run_new(e->plan, ctx, e->args ? e->args : (unsigned char *)"", made);
}

MUresult graph_run_now(struct graph_run *run, struct graph_env *env)
{
    run->env = env;
    return run_plan(run);
}

void graph_run_drop(struct graph_run *run) { run_unref(run); }

static void drop_op(void *arg) { run_unref(arg); }

static void tell_watcher(const struct graph_plan *plan, bool launched)
{
    for (uint32_t i = 0; i < plan->n && plan->watched; i++)
        if (plan_watches(&plan->node[i]))
            (launched ? host_watched->launched : host_watched->skipped)(plan->node[i].host.userData);
}

MUresult graph_launch(MUgraphExec exec, MUstream s)
{
    struct graph_plan *plan = exec->plan;
    if (!kernels_live(plan))
        return MUSA_ERROR_INVALID_HANDLE;
    bool auto_free = exec->flags & MUSA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    struct graph_run *run;
    MUresult r = run_new(plan, s->ctx, NULL, &run);
    if (r)
        return r;
    run->exec = exec;
    run->device = (exec->flags & MUSA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
    if (run->device)
        r = graph_upload(exec); /* which a launch is, too */
    if (!r && plan->memory)
        r = graph_memory_launch(plan, auto_free);
    if (!r && plan->points)
        r = take_points(run);
    if (r) {
        run_unref(run);
        return r;
    }
    tell_watcher(plan, true);
    struct host_op op = {run_op, drop_op, run, "graph", HOST_OP_ALWAYS};
    struct host_work *work = NULL;
    graph_memory_tell(plan, s, true);
    r = host_submit(s, &op, &exec->last, exec->last ? 1 : 0, HOST_CHECKED, &work);
    graph_memory_tell(plan, s, false);
    if (r) {
        tell_watcher(plan, false);
    } else {
        host_work_unref(exec->last);
        exec->last = work;
    }
    return r;
}
