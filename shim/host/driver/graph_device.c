/* Graphs that kernels launch. A launch of a graph is an environment, as CUDA calls it: the graph, what its kernels
 * launch to be forgotten (beside it, at once), and what they launch behind it (when the graph and all of that has
 * ended, before what was behind it already). A sibling is of the environment that the launching one belongs to; that of
 * a launch by the host lasts until all of it has ended. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/graph.h"
#include "host/driver/nest.h"

enum { MOST_BESIDE = 120, MOST_BEHIND = 255 }; /* CUDA's limits, of one launch of a graph */
#define STREAM_BEHIND UINT64_C(0x0100000000000000)
#define STREAM_BESIDE UINT64_C(0x0200000000000000)
#define STREAM_SIBLING UINT64_C(0x0300000000000000)

struct item { /* a launch to come */
    struct item *next;
    MUgraphExec exec;
    struct graph_run *run; /* counted */
};

struct graph_env {
    struct graph_env *parent; /* NULL: the host's launch as a whole */
    MUcontext ctx;
    MUgraphExec exec; /* that runs now */
    unsigned live;    /* launches beside it that have not ended */
    unsigned beside, behind;
    struct item *first, **last; /* behind it */
    MUresult error;
};

struct beside {
    struct host_task task; /* first */
    struct graph_env env;
    struct item *item;
};

static pthread_mutex_t envs = PTHREAD_MUTEX_INITIALIZER; /* of all environments; inside host_graphs */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Thread_local struct graph_env *current;

struct graph_env *graph_env_enter(struct graph_env *now)
{
    struct graph_env *before = current;
    current = now;
    return before;
}

struct graph_env *graph_env_current(void) { return current; }
uint64_t graph_env_exec(void) { return current ? (uint64_t)(uintptr_t)current->exec : 0; }

/* ---- running --------------------------------------------------------------------------------- */

/* A graph runs, or has run: it cannot be launched by kernels meanwhile, but behind itself. */
static void mark_running(MUgraphExec e, bool runs)
{
    pthread_mutex_lock(&host_graphs);
    if (exec_live(e)) {
        if (runs) {
            e->running++;
            e->behind = false; /* it may be put behind itself again */
        } else if (e->running) {
            e->running--;
        }
    }
    pthread_mutex_unlock(&host_graphs);
}

static void drop_items(struct item *i)
{
    for (struct item *next; i; i = next) {
        next = i->next;
        pthread_mutex_lock(&host_graphs);
        if (exec_live(i->exec))
            i->exec->behind = false;
        pthread_mutex_unlock(&host_graphs);
        graph_run_drop(i->run);
        free(i);
    }
}

static void begin_item(struct graph_env *env, MUgraphExec e)
{
    pthread_mutex_lock(&envs);
    env->exec = e;
    env->beside = env->behind = 0;
    env->first = NULL;
    env->last = &env->first;
    pthread_mutex_unlock(&envs);
}

/* Waits for what the item has launched beside itself; what it has launched behind itself is in front of the rest
 * then. */
static void end_item(struct graph_env *env, struct item **rest)
{
    pthread_mutex_lock(&envs);
    while (env->live)
        pthread_cond_wait(&changed, &envs);
    if (env->first) {
        *env->last = *rest;
        *rest = env->first;
        env->first = NULL;
        env->last = &env->first;
    }
    pthread_mutex_unlock(&envs);
}

static MUresult run_env(struct graph_env *env, MUgraphExec exec, struct graph_run *run)
{
    struct item *rest = NULL;
    MUresult r;
    begin_item(env, exec);
    r = graph_run_now(run, env);
    end_item(env, &rest);
    while (rest && !r && !env->error) {
        struct item *i = rest;
        rest = i->next;
        mark_running(i->exec, true);
        begin_item(env, i->exec);
        r = graph_run_now(i->run, env);
        end_item(env, &rest);
        mark_running(i->exec, false);
        graph_run_drop(i->run);
        free(i);
    }
    drop_items(rest);
    return r ? r : env->error;
}

MUresult graph_env_run(MUgraphExec exec, bool device, struct graph_run *run, MUcontext ctx)
{
    struct graph_env all = {.ctx = ctx}, env = {.ctx = ctx, .parent = &all};
    if (device)
        mark_running(exec, true);
    MUresult r = run_env(&env, exec, run);
    if (device)
        mark_running(exec, false);
    pthread_mutex_lock(&envs);
    while (all.live)
        pthread_cond_wait(&changed, &envs);
    r = r ? r : all.error;
    pthread_mutex_unlock(&envs);
    return r;
}

static void run_beside(struct host_task *t)
{
    struct beside *b = (struct beside *)(void *)t;
    struct graph_env *parent = b->env.parent;
    MUresult r = run_env(&b->env, b->item->exec, b->item->run);
    mark_running(b->item->exec, false);
    graph_run_drop(b->item->run);
    free(b->item);
    free(b);
    pthread_mutex_lock(&envs);
    parent->error = parent->error ? parent->error : r;
    parent->live--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&envs);
}

/* ---- launches by kernels ---------------------------------------------------------------------- */

/* What CUDA asks of a graph; host_graphs is held. */
static int check(const struct graph_env *env, MUgraphExec e, uint64_t stream)
{
    if (!exec_live(e) || !(e->flags & MUSA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) || e->changed || !e->uploaded)
        return NEST_INVALID_VALUE;
    if (stream != STREAM_BEHIND && stream != STREAM_BESIDE && stream != STREAM_SIBLING)
        return NEST_INVALID_HANDLE;
    if (e->behind || (e->running && (stream != STREAM_BEHIND || env->exec != e)))
        return NEST_INVALID_VALUE;
    return NEST_OK;
}

static int put_behind(struct graph_env *env, struct item *i)
{
    pthread_mutex_lock(&envs);
    const bool more = env->behind < MOST_BEHIND;
    if (more) {
        env->behind++;
        *env->last = i;
        env->last = &i->next;
    }
    pthread_mutex_unlock(&envs);
    i->exec->behind = more;
    return more ? NEST_OK : NEST_PENDING_COUNT;
}

/* `of`: who waits for it. The limit is the launching graph's. */
static int put_beside(struct graph_env *env, struct graph_env *of, struct item *i)
{
    struct beside *b = malloc(sizeof *b);
    if (!b)
        return NEST_NO_MEMORY;
    *b = (struct beside){.task.run = run_beside, .env = {.parent = of, .ctx = env->ctx}, .item = i};
    pthread_mutex_lock(&envs);
    const bool more = env->beside < MOST_BESIDE;
    env->beside += more;
    of->live += more;
    pthread_mutex_unlock(&envs);
    if (!more) {
        free(b);
        return NEST_PENDING_COUNT;
    }
    host_task_post(&b->task);
    return NEST_OK;
}

static int launch(struct graph_env *env, MUgraphExec e, uint64_t stream)
{
    int error = check(env, e, stream);
    struct item *i = error ? NULL : calloc(1, sizeof *i);
    if (error || !i)
        return error ? error : NEST_NO_MEMORY;
    i->exec = e;
    if (graph_run_again(e, env->ctx, &i->run)) {
        free(i);
        return NEST_NO_MEMORY;
    }
    error = stream == STREAM_BEHIND ? put_behind(env, i)
                                    : put_beside(env, stream == STREAM_BESIDE || !env->parent ? env : env->parent, i);
    if (error) {
        graph_run_drop(i->run);
        free(i);
    } else if (stream != STREAM_BEHIND) {
        e->running++; /* run_beside, which needs the lock for its end, counts it down */
    }
    return error;
}

int graph_launch_by_kernel(struct graph_env *env, uint64_t exec, uint64_t stream)
{
    if (!env)
        return NEST_NOT_SUPPORTED; /* CUDA: only kernels of graphs launch graphs */
    pthread_mutex_lock(&host_graphs);
    int error = launch(env, (MUgraphExec)(uintptr_t)exec, stream);
    pthread_mutex_unlock(&host_graphs);
    return error;
}

/* ---- which graphs may be ---------------------------------------------------------------------- */

/* Kernels, copies without arrays, memsets and child graphs of these, all of one context. */
MUresult graph_device_check(MUgraph g, MUcontext *ctx, MUgraphNode *bad, MUgraphInstantiateResult *why)
{
    for (MUgraphNode n = g->first; n; n = n->next) {
        const MUSA_MEMCPY3D *c = &n->p.memcpy.copyParams;
        MUresult r = MUSA_SUCCESS;
        *why = MUSA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        switch (n->p.type) {
        case MU_GRAPH_NODE_TYPE_KERNEL:
        case MU_GRAPH_NODE_TYPE_MEMSET: break;
        case MU_GRAPH_NODE_TYPE_MEMCPY:
            if (c->srcMemoryType == MU_MEMORYTYPE_ARRAY || c->dstMemoryType == MU_MEMORYTYPE_ARRAY)
                r = MUSA_ERROR_NOT_SUPPORTED;
            break;
        case MU_GRAPH_NODE_TYPE_GRAPH: r = graph_device_check(n->body[0], ctx, bad, why); break;
        default: r = MUSA_ERROR_NOT_SUPPORTED;
        }
        if (!r && n->ctx && *ctx && *ctx != n->ctx) {
            *why = MUSA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED;
            r = MUSA_ERROR_NOT_SUPPORTED;
        }
        if (r) {
            *bad = *bad ? *bad : n;
            return r;
        }
        *ctx = n->ctx ? n->ctx : *ctx;
    }
    return MUSA_SUCCESS;
}
