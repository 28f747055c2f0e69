/* Stream capture: which streams capture into what, and launches into a capture. A launch below keeps
 * pointing at its arguments, so it is given a copy that the graph holds. */
#include <pthread.h>
#include <stdlib.h>

#include "core/ids.h"
#include "core/resolve.h"
#include "kernel/graph.h"
#include "kernel/module.h"

struct capture {
    struct capture *next;
    CUstream stream;
    pthread_t thread; /* that began it: tells per-thread default streams apart */
    uint64_t id;
    MUgraph graph;
    bool ours; /* the graph goes if the capture fails */
};

atomic_uint cumu_captures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;

static bool is_of(const struct capture *c, CUstream stream)
{
    return c->stream == stream && (stream != CUMU_STREAM_PER_THREAD || pthread_equal(c->thread, pthread_self()));
}

/* SDKs up to 4 answer no question about captures. */
static bool can_ask(void)
{
    static atomic_int known; /* 1: it can, 2: it cannot */
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (!k) {
        k = cumu_below_has("musa", "muStreamGetCaptureInfo_v2") ||
                    cumu_below_has("musart", "musaStreamGetCaptureInfo_v2")
                ? 1
                : 2;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    return k == 1;
}

bool cumu_capture_of(CUstream stream, uint64_t *id)
{
    pthread_mutex_lock(&lock);
    const struct capture *c = captures;
    while (c && !is_of(c, stream))
        c = c->next;
    if (c && id)
        *id = c->id;
    pthread_mutex_unlock(&lock);
    return c != NULL;
}

/* Where nobody can be asked, the record of a capture stands for its graph until it has one. Which streams have joined
 * it by an event is not known: while there is a capture every launch's arguments are kept, except on the legacy
 * stream, which cannot capture. */
static MUgraph recorded_graph(CUstream stream)
{
    if (!stream || stream == (CUstream)MU_STREAM_LEGACY)
        return NULL;
    pthread_mutex_lock(&lock);
    struct capture *c = captures;
    while (c && !is_of(c, stream))
        c = c->next;
    MUgraph graph = c ? c->graph : captures ? captures->graph : NULL;
    pthread_mutex_unlock(&lock);
    return graph;
}

MUgraph cumu_capture_graph(CUstream stream, MUgraphNode *last)
{
    if (!can_ask()) {
        if (last)
            *last = NULL;
        return recorded_graph(stream);
    }
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    const MUgraphNode *deps = NULL;
    MUgraph graph = NULL;
    uint64_t id;
    size_t n = 0;
    /* Where the next node will start programmatically, _v2 gives no nodes but an error, which stays the last one. */
    const MUgraphNode **nodes = last ? &deps : NULL;
    if (mu.muStreamGetCaptureInfo_v2((MUstream)stream, &status, &id, &graph, nodes, &n) != MUSA_SUCCESS &&
        mu.musaStreamGetCaptureInfo_v2((MUstream)stream, &status, &id, &graph, nodes, &n) != musaSuccess)
        return NULL;
    if (status != musaStreamCaptureStatusActive)
        return NULL;
    if (last)
        *last = n == 1 && deps ? deps[0] : NULL;
    return graph;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void cumu_capture_begun(CUstream stream, MUgraph into)
{
    struct capture *c = calloc(1, sizeof *c);
    if (c) {
        c->stream = stream;
        c->thread = pthread_self();
        c->id = cumu_id_new();
        c->graph = into ? into : can_ask() ? cumu_capture_graph(stream, NULL) : (MUgraph)(void *)c;
        c->ours = !into;
        pthread_mutex_lock(&lock);
        c->next = captures;
        captures = c;
        pthread_mutex_unlock(&lock);
    }
    atomic_fetch_add(&cumu_captures, 1); /* without memory it stays up: slower, still right */
}

/* A capture that its own thread has to end goes on; with questions the stream says so itself. */
static bool goes_on(CUstream stream, int result)
{
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    if (result == MUSA_SUCCESS || !can_ask())
        return result == MUSA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    return mu.musaStreamIsCapturing((MUstream)stream, &status) == musaSuccess && status != musaStreamCaptureStatusNone;
}

bool cumu_capture_ended(CUstream stream, int result, MUgraph made)
{
    if (goes_on(stream, result))
        return false;
    pthread_mutex_lock(&lock);
    struct capture **at = &captures, *c;
    while (*at && !is_of(*at, stream))
        at = &(*at)->next;
    c = *at;
    if (c)
        *at = c->next;
    pthread_mutex_unlock(&lock);
    if (!c)
        return false;
    atomic_fetch_sub(&cumu_captures, 1);
    bool ours = c->ours, record = c->graph == (MUgraph)(void *)c;
    if (result == MUSA_SUCCESS && record && made)
        cumu_graph_cloned(made, c->graph);
    if (record || (result != MUSA_SUCCESS && ours))
        cumu_graph_gone(c->graph);
    free(c);
    return ours;
}

/* ---- meanwhile ------------------------------------------------------------------------------- */

int cumu_capture_relax(void)
{
    int mode = musaStreamCaptureModeRelaxed;
    if (atomic_load_explicit(&cumu_captures, memory_order_relaxed) == 0 ||
        mu.muThreadExchangeStreamCaptureMode(&mode) != MUSA_SUCCESS)
        return -1;
    return mode;
}

void cumu_capture_restore(int mode)
{
    if (mode >= 0)
        (void)mu.muThreadExchangeStreamCaptureMode(&mode);
}

void cumu_finish_work(void)
{
    pthread_mutex_lock(&lock);
    bool capturing = captures != NULL;
    pthread_mutex_unlock(&lock);
    if (!capturing)
        (void)mu.muCtxSynchronize(); /* an error of the work is for the program's own wait to tell */
}

int cumu_capture_launch(MUgraph g, struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra)
{
    struct cumu_call *c;
    int err = cumu_call_new(f, l, args, extra, &c);
    if (err)
        return err;
    const MUSA_KERNEL_NODE_PARAMS *k = &c->launch;
    err = cumu_launch_below(k->func, k->sharedMemBytes, l, k->kernelParams, NULL);
    if (err) {
        cumu_call_drop(c);
        return err;
    }
    MUgraphNode node = NULL;
    (void)cumu_capture_graph(l->stream, &node);
    cumu_graph_hold(g, node, c);
    return CUDA_SUCCESS;
}
