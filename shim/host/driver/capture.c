/* Stream capture: work of a capturing stream becomes nodes of a graph, each after what the stream
 * did before; events carry these dependencies to other streams, which join the capture by waiting.
 */
#include <stdlib.h>
#include <string.h>

#include "host/driver/graph.h"

struct host_capture {
    struct host_capture *next; /* of those under way */
    uint64_t id;
    int refs; /* the list, streams in it and events recorded in it */
    MUgraph graph;
    bool own_graph; /* else the application's, given at the start */
    bool ended, invalid;
    MUstreamCaptureMode mode;
    pthread_t thread;
    MUstream origin;
    struct graph_links left; /* where streams stood that were destroyed meanwhile */
    MUgraphNode *reported;   /* what GetCaptureInfo handed out: valid until the next call */
    MUgraphEdgeData *reported_data;
};

_Atomic int host_captures;
static struct host_capture *captures; /* host_graphs */
static _Thread_local MUstreamCaptureMode thread_mode = MU_STREAM_CAPTURE_MODE_GLOBAL;

static void unref(struct host_capture *c)
{
    if (--c->refs)
        return;
    links_free(&c->left);
    free(c->reported);
    free(c->reported_data);
    free(c);
}

static void leave(MUstream s)
{
    struct host_capture *c = s->capture;
    s->capture = NULL;
    links_free(&s->capture_deps);
    unref(c);
}

static bool copy_links(struct graph_links *to, const struct graph_links *from)
{
    to->n = 0;
    for (uint32_t i = 0; i < from->n; i++)
        if (!links_add(to, from->at[i].node, from->at[i].data))
            return false;
    return true;
}

/* Every stream that takes part in c, or (NULL) in any capture. */
#define FOR_STREAMS_OF(s, c) \
    for (MUstream s = NULL; (s = host_slab_next(&host_streams, s));) \
        if (s->capture && (!(c) || s->capture == (c)))

static void end(struct host_capture *c)
{
    FOR_STREAMS_OF(s, c)
    leave(s);
    for (struct host_capture **at = &captures; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    c->ended = true;
    c->graph->captures--;
    host_captures--;
    if (c->own_graph && c->invalid)
        graph_free(c->graph);
    unref(c);
}

/* ---- what is not allowed --------------------------------------------------------------------- */

MUresult host_capture_unsafe(void)
{
    if (!host_captures || thread_mode == MU_STREAM_CAPTURE_MODE_RELAXED)
        return MUSA_SUCCESS;
    MUresult r = MUSA_SUCCESS;
    pthread_mutex_lock(&host_graphs);
    for (struct host_capture *c = captures; c; c = c->next) {
        bool mine = pthread_equal(c->thread, pthread_self());
        bool forbids = mine ? c->mode != MU_STREAM_CAPTURE_MODE_RELAXED
                            : c->mode == MU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == MU_STREAM_CAPTURE_MODE_GLOBAL;
        if (forbids) {
            c->invalid = true;
            r = MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&host_graphs);
    return r;
}

/* Is any blocking stream of the context capturing? The legacy stream would have to wait for it. Who only asks about
 * the legacy stream gets the error, but ends no capture (cudaStreamIsCapturing). */
enum why { ASKS, WAITS_FOR_BLOCKING, WAITS_FOR_EVERY };

static MUresult implicit(MUcontext ctx, enum why why)
{
    MUresult r = MUSA_SUCCESS;
    const bool every = why == WAITS_FOR_EVERY;
    FOR_STREAMS_OF(s, (struct host_capture *)NULL)
    if (s->ctx == ctx && (every || !s->nonblocking)) {
        s->capture->invalid |= why != ASKS;
        r = every ? MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED : MUSA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return r;
}

static MUresult refuse(MUstream s)
{
    if (s->capture) {
        s->capture->invalid = true;
        return MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return s->legacy ? implicit(s->ctx, WAITS_FOR_BLOCKING) : MUSA_SUCCESS;
}

MUresult host_capture_refuse(MUstream s)
{
    if (!s->capture && !s->legacy)
        return MUSA_SUCCESS;
    pthread_mutex_lock(&host_graphs);
    MUresult r = refuse(s);
    pthread_mutex_unlock(&host_graphs);
    return r;
}

MUresult host_capture_check_wait(MUcontext ctx, MUstream s)
{
    pthread_mutex_lock(&host_graphs);
    MUresult r = s ? refuse(s) : implicit(ctx, WAITS_FOR_EVERY);
    pthread_mutex_unlock(&host_graphs);
    return r;
}

MUresult muThreadExchangeStreamCaptureMode(MUstreamCaptureMode *mode)
{
    if (!mode || *mode < MU_STREAM_CAPTURE_MODE_GLOBAL || *mode > MU_STREAM_CAPTURE_MODE_RELAXED)
        return MUSA_ERROR_INVALID_VALUE;
    MUstreamCaptureMode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return MUSA_SUCCESS;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Makes a captured call a node behind everything that the stream's work depends on so far, and the only thing that
 * later work depends on. Any failure invalidates the capture, as CUDA documents: a graph that misses a node must not
 * come out. */
static MUresult add(MUstream s, MUgraphNodeParams *p, MUgraphNode *node)
{
    struct host_capture *c = s->capture;
    if (!c)
        return MUSA_ERROR_ILLEGAL_STATE; /* another thread ended it */
    if (c->invalid)
        return MUSA_ERROR_STREAM_CAPTURE_INVALIDATED;
    uint32_t n = s->capture_deps.n;
    MUgraphNode *deps = malloc((n + 1) * sizeof *deps);
    MUgraphEdgeData *data = malloc((n + 1) * sizeof *data);
    MUresult r = deps && data ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < n && !r; i++) {
        deps[i] = s->capture_deps.at[i].node;
        data[i] = s->capture_deps.at[i].data;
    }
    MUgraphNode made;
    if (!r)
        r = graph_add(c->graph, deps, data, n, p, &made);
    if (!r) {
        s->capture_deps.n = 0;
        if (!links_add(&s->capture_deps, made, (MUgraphEdgeData){0}))
            r = MUSA_ERROR_OUT_OF_MEMORY;
        if (node)
            *node = made;
    }
    if (r)
        c->invalid = true;
    free(deps);
    free(data);
    return r;
}

MUresult host_capture_add(MUstream s, MUgraphNodeParams *p, MUgraphNode *node)
{
    pthread_mutex_lock(&host_graphs);
    MUresult r = add(s, p, node);
    pthread_mutex_unlock(&host_graphs);
    return r;
}

/* ---- events ---------------------------------------------------------------------------------- */

void capture_forget(MUevent e)
{
    if (!e->capture)
        return;
    unref(e->capture);
    e->capture = NULL;
    links_free(&e->capture_deps);
}

void host_capture_forget_event(MUevent e)
{
    if (!e->capture)
        return;
    pthread_mutex_lock(&host_graphs);
    capture_forget(e);
    pthread_mutex_unlock(&host_graphs);
}

MUresult host_capture_event_check(MUevent e)
{
    if (!host_captures && !e->capture)
        return MUSA_SUCCESS;
    pthread_mutex_lock(&host_graphs);
    bool captured = e->capture;
    if (captured)
        e->capture->invalid = true;
    pthread_mutex_unlock(&host_graphs);
    return captured ? MUSA_ERROR_CAPTURED_EVENT : host_capture_unsafe();
}

static MUresult record(MUstream s, MUevent e)
{
    struct host_capture *c = s->capture;
    if (!c)
        return MUSA_ERROR_ILLEGAL_STATE;
    if (c->invalid)
        return MUSA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture_forget(e);
    if (!copy_links(&e->capture_deps, &s->capture_deps))
        return MUSA_ERROR_OUT_OF_MEMORY;
    c->refs++;
    e->capture = c;
    return MUSA_SUCCESS;
}

MUresult host_capture_record(MUstream s, MUevent e)
{
    pthread_mutex_lock(&host_graphs);
    MUresult r = record(s, e);
    pthread_mutex_unlock(&host_graphs);
    return r;
}

/* A wait inside a capture, or for an event of one: the stream joins the capture that the event belongs to. Each
 * wrong combination has an error of its own in CUDA, and most of them invalidate the captures involved. */
static MUresult wait_for(MUstream s, MUevent e, bool *handled)
{
    struct host_capture *c = e->capture, *own = s->capture;
    *handled = c || own;
    if (own && own->invalid)
        return MUSA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!c) {
        if (!own || !e->work)
            return MUSA_SUCCESS; /* an event that was never recorded holds nobody up */
        own->invalid = true;
        return MUSA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (c->ended)
        return MUSA_ERROR_CAPTURED_EVENT;
    if (c->invalid)
        return MUSA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (own && own != c) {
        own->invalid = c->invalid = true;
        return MUSA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (s->legacy) {
        c->invalid = true;
        return MUSA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (!own) {
        c->refs++;
        s->capture = c;
    }
    for (uint32_t i = 0; i < e->capture_deps.n; i++) {
        struct graph_link l = e->capture_deps.at[i];
        if (!links_find(&s->capture_deps, l.node) && !links_add(&s->capture_deps, l.node, l.data)) {
            c->invalid = true;
            return MUSA_ERROR_OUT_OF_MEMORY;
        }
    }
    return MUSA_SUCCESS;
}

MUresult host_capture_wait(MUstream s, MUevent e, bool *handled)
{
    pthread_mutex_lock(&host_graphs);
    MUresult r = wait_for(s, e, handled);
    pthread_mutex_unlock(&host_graphs);
    return r;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* Begins a capture into a new graph, or into the program's behind the given nodes. */
static MUresult begin(MUstream s, MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n,
                      MUstreamCaptureMode mode)
{
    static uint64_t ids;
    if (mode < MU_STREAM_CAPTURE_MODE_GLOBAL || mode > MU_STREAM_CAPTURE_MODE_RELAXED)
        return MUSA_ERROR_INVALID_VALUE;
    if (s->legacy)
        return MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture)
        return MUSA_ERROR_ILLEGAL_STATE;
    struct host_capture *c = calloc(1, sizeof *c);
    bool own = !g;
    if (!c || (own && !(g = graph_new(false)))) {
        free(c);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        if (!links_add(&s->capture_deps, deps[i], data ? data[i] : (MUgraphEdgeData){0})) {
            links_free(&s->capture_deps);
            if (own)
                graph_free(g);
            free(c);
            return MUSA_ERROR_OUT_OF_MEMORY;
        }
    *c = (struct host_capture){.next = captures,
                               .id = ++ids,
                               .refs = 2,
                               .graph = g,
                               .own_graph = own,
                               .mode = mode,
                               .thread = pthread_self(),
                               .origin = s};
    captures = c;
    g->captures++;
    s->capture = c;
    host_captures++;
    return MUSA_SUCCESS;
}

static MUresult begin_into(MUstream s, MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n,
                           MUstreamCaptureMode mode)
{
    if (!graph_live(g) || (n && !deps))
        return MUSA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (!node_live(deps[i]) || deps[i]->graph != g)
            return MUSA_ERROR_INVALID_VALUE;
    return begin(s, g, deps, data, n, mode);
}

/* Looks up the stream, then does the call under the lock. */
#define STREAM_ENTRY(stream, call) \
    do { \
        MUstream s; \
        MUresult found_ = host_stream_of(stream, &s); \
        if (found_) \
            return found_; \
        GRAPH_ENTRY(call); \
    } while (0)

MUresult muStreamBeginCapture(MUstream stream, MUstreamCaptureMode mode)
{
    STREAM_ENTRY(stream, begin(s, NULL, NULL, NULL, 0, mode));
}
HOST_ALIAS(muStreamBeginCapture_v2, muStreamBeginCapture);

MUresult muStreamBeginCaptureToGraph(MUstream stream, MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data,
                                     size_t n, MUstreamCaptureMode mode)
{
    STREAM_ENTRY(stream, begin_into(s, g, deps, data, n, mode));
}

/* Does everything that other streams did lead to the origin? */
static bool joined(struct host_capture *c)
{
    for (MUgraphNode n = c->graph->first; n; n = n->next)
        n->mark = 0;
    for (uint32_t i = 0; i < c->origin->capture_deps.n; i++)
        c->origin->capture_deps.at[i].node->mark = 1;
    /* Nodes come after what they depend on, unless the application added edges itself: one pass
     * from the end marks all ancestors, and is repeated if it left one behind. */
    for (bool again = true; again;) {
        again = false;
        for (MUgraphNode n = c->graph->last; n; n = n->prev)
            for (uint32_t i = 0; n->mark && i < n->in.n; i++) {
                MUgraphNode before = n->in.at[i].node;
                again |= !before->mark && before->serial > n->serial;
                before->mark = 1;
            }
    }
    bool all = true;
    FOR_STREAMS_OF(s, c)
    for (uint32_t i = 0; i < s->capture_deps.n; i++)
        all &= s->capture_deps.at[i].node->mark != 0;
    for (uint32_t i = 0; i < c->left.n; i++)
        all &= c->left.at[i].node->mark != 0;
    return all;
}

static MUresult end_capture(MUstream s, MUgraph *graph)
{
    struct host_capture *c = s->capture;
    if (!c)
        return MUSA_ERROR_ILLEGAL_STATE;
    if (c->origin != s) {
        c->invalid = true;
        return MUSA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (c->mode != MU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return MUSA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    MUresult r = c->invalid ? MUSA_ERROR_STREAM_CAPTURE_INVALIDATED : MUSA_SUCCESS;
    if (!r && !joined(c)) {
        r = MUSA_ERROR_STREAM_CAPTURE_UNJOINED;
        c->invalid = true;
    }
    MUgraph g = c->graph;
    if (!graph && !r)
        c->invalid = true; /* nobody wants it */
    end(c);
    if (graph)
        *graph = r ? NULL : g;
    return r;
}

MUresult muStreamEndCapture(MUstream stream, MUgraph *graph) { STREAM_ENTRY(stream, end_capture(s, graph)); }

void host_capture_stream_gone(MUstream s)
{
    if (!s->capture)
        return;
    pthread_mutex_lock(&host_graphs);
    struct host_capture *c = s->capture;
    if (c && c->origin == s) {
        c->invalid = true;
        end(c);
    } else if (c) { /* what it did must still be joined, as an event may have been recorded in it */
        for (uint32_t i = 0; i < s->capture_deps.n; i++)
            if (!links_add(&c->left, s->capture_deps.at[i].node, s->capture_deps.at[i].data))
                c->invalid = true;
        leave(s);
    }
    pthread_mutex_unlock(&host_graphs);
}

/* ---- questions and changes ------------------------------------------------------------------- */

struct info {
    MUstreamCaptureStatus *status;
    uint64_t *id;
    MUgraph *graph;
    const MUgraphNode **deps;
    const MUgraphEdgeData **data;
    size_t *n;
};

/* Reports what the stream's next node will depend on. The arrays belong to the capture and stand until the next
 * report; a caller that does not take edge data must not lose any. */
static MUresult report_deps(MUstream s, struct host_capture *c, const struct info *i)
{
    static const MUgraphEdgeData plain;
    uint32_t n = s->capture_deps.n;
    MUgraphNode *deps = malloc((n + 1) * sizeof *deps);
    MUgraphEdgeData *data = malloc((n + 1) * sizeof *data);
    bool lossy = false;
    for (uint32_t k = 0; k < n && deps && data; k++) {
        deps[k] = s->capture_deps.at[k].node;
        data[k] = s->capture_deps.at[k].data;
        lossy |= memcmp(&data[k], &plain, sizeof plain) != 0;
    }
    if (!deps || !data || (lossy && !i->data)) {
        free(deps);
        free(data);
        return lossy ? MUSA_ERROR_LOSSY_QUERY : MUSA_ERROR_OUT_OF_MEMORY;
    }
    free(c->reported);
    free(c->reported_data);
    c->reported = deps;
    c->reported_data = data;
    *i->deps = deps;
    if (i->data)
        *i->data = data;
    return MUSA_SUCCESS;
}

static MUresult get_info(MUstream s, const struct info *i)
{
    struct host_capture *c = s->capture;
    if (!i->status || (i->data && !i->deps))
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = !c && s->legacy ? implicit(s->ctx, ASKS) : MUSA_SUCCESS;
    if (r)
        return r;
    if (c && !c->invalid && i->deps && (r = report_deps(s, c, i)))
        return r;
    *i->status = !c           ? MU_STREAM_CAPTURE_STATUS_NONE
                 : c->invalid ? MU_STREAM_CAPTURE_STATUS_INVALIDATED
                              : MU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!c || c->invalid)
        return MUSA_SUCCESS;
    if (i->id)
        *i->id = c->id;
    if (i->graph)
        *i->graph = c->graph;
    if (i->n)
        *i->n = s->capture_deps.n;
    return MUSA_SUCCESS;
}

MUresult muStreamIsCapturing(MUstream stream, MUstreamCaptureStatus *status)
{
    const struct info i = {.status = status};
    STREAM_ENTRY(stream, get_info(s, &i));
}

MUresult muStreamGetCaptureInfo(MUstream stream, MUstreamCaptureStatus *status, uint64_t *id)
{
    const struct info i = {.status = status, .id = id};
    STREAM_ENTRY(stream, get_info(s, &i));
}

MUresult muStreamGetCaptureInfo_v2(MUstream stream, MUstreamCaptureStatus *status, uint64_t *id, MUgraph *graph,
                                   const MUgraphNode **deps, size_t *n)
{
    const struct info i = {status, id, graph, deps, NULL, n};
    STREAM_ENTRY(stream, get_info(s, &i));
}

MUresult muStreamGetCaptureInfo_v3(MUstream stream, MUstreamCaptureStatus *status, uint64_t *id, MUgraph *graph,
                                   const MUgraphNode **deps, const MUgraphEdgeData **data, size_t *n)
{
    const struct info i = {status, id, graph, deps, data, n};
    STREAM_ENTRY(stream, get_info(s, &i));
}

/* Replaces or extends what the stream's next node will depend on. The new list is made apart, so that an error
 * changes nothing. */
static MUresult update(MUstream s, MUgraphNode *deps, const MUgraphEdgeData *data, size_t n, unsigned flags)
{
    struct host_capture *c = s->capture;
    if (!c)
        return MUSA_ERROR_ILLEGAL_STATE;
    if (c->invalid)
        return MUSA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if ((n && !deps) || flags > MU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return MUSA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (!node_live(deps[i]) || deps[i]->graph != c->graph)
            return MUSA_ERROR_INVALID_VALUE;
    struct graph_links made = {0};
    bool ok = flags == MU_STREAM_SET_CAPTURE_DEPENDENCIES || copy_links(&made, &s->capture_deps);
    for (size_t i = 0; i < n && ok; i++)
        ok = links_find(&made, deps[i]) || links_add(&made, deps[i], data ? data[i] : (MUgraphEdgeData){0});
    if (!ok) {
        links_free(&made);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    links_free(&s->capture_deps);
    s->capture_deps = made;
    return MUSA_SUCCESS;
}

MUresult muStreamUpdateCaptureDependencies(MUstream stream, MUgraphNode *deps, size_t n, unsigned int flags)
{
    STREAM_ENTRY(stream, update(s, deps, NULL, n, flags));
}

MUresult muStreamUpdateCaptureDependencies_v2(MUstream stream, MUgraphNode *deps, const MUgraphEdgeData *data, size_t n,
                                              unsigned int flags)
{
    STREAM_ENTRY(stream, update(s, deps, data, n, flags));
}

/* The forms of this file and of graph_exec.c whose stream 0 is the thread's own default stream. */
#define OWN(stream) host_ptsz(stream)
#define FN(name, params, args)
#define PTSZ(name, params, args, own) \
    MUresult mu##name##_ptsz params { return mu##name own; }
#include "abi/musa_graph.def"

MUresult muStreamBeginCapture_v2_ptsz(MUstream stream, MUstreamCaptureMode mode)
{
    return muStreamBeginCapture(host_ptsz(stream), mode);
}
