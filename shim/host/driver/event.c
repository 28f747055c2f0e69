/* Events: points in streams that other streams, the host and clocks can refer to. */
#include "host/driver/internal.h"
#include "host/driver/order.h"

struct host_slab host_events = HOST_SLAB(struct MUevent_st, "event");

#define EVENT_FLAGS ((unsigned)(MU_EVENT_BLOCKING_SYNC | MU_EVENT_DISABLE_TIMING | MU_EVENT_INTERPROCESS))

MUresult host_event_of(MUevent e)
{
    MUresult r = host_ready();
    if (r)
        return r;
    return host_slab_live(&host_events, e) ? e->ctx->error : MUSA_ERROR_INVALID_HANDLE;
}

struct host_work *host_event_work(MUevent e)
{
    pthread_mutex_lock(&host_sched);
    struct host_work *w = e->work;
    if (w)
        host_work_ref(w);
    pthread_mutex_unlock(&host_sched);
    return w;
}

void host_event_set_work(MUevent e, struct host_work *w)
{
    pthread_mutex_lock(&host_sched);
    struct host_work *old = e->work;
    e->work = w;
    pthread_mutex_unlock(&host_sched);
    host_work_unref(old);
}

static void destroy(MUevent e)
{
    host_capture_forget_event(e);
    host_event_set_work(e, NULL); /* a pending record or wait keeps its own reference */
    host_shared_event_unref(e->shared);
    host_slab_put(&host_events, e);
}

void host_events_ctx_gone(MUcontext ctx)
{
    for (MUevent e = NULL; (e = host_slab_next(&host_events, e));)
        if (e->ctx == ctx)
            destroy(e);
}

MUresult muEventCreate(MUevent *event, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    if (!event || flags & ~EVENT_FLAGS || (flags & MU_EVENT_INTERPROCESS && !(flags & MU_EVENT_DISABLE_TIMING)))
        return MUSA_ERROR_INVALID_VALUE;
    MUevent e = host_slab_get(&host_events);
    if (!e)
        return MUSA_ERROR_OUT_OF_MEMORY;
    e->ctx = ctx;
    e->flags = flags;
    if (flags & MU_EVENT_INTERPROCESS && !(e->shared = host_shared_event_new())) {
        host_slab_put(&host_events, e);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *event = e;
    return MUSA_SUCCESS;
}

MUresult muEventDestroy(MUevent event)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_events, event))
        return MUSA_ERROR_INVALID_HANDLE;
    destroy(event);
    return MUSA_SUCCESS;
}
HOST_ALIAS(muEventDestroy_v2, muEventDestroy);

/* Records an event: a point in the stream's work. In a capture it becomes part of the graph, unless it is external,
 * which makes it a node; an event that other processes share is recorded in shared memory. */
MUresult muEventRecordWithFlags(MUevent event, MUstream stream, unsigned int flags)
{
    MUstream s;
    MUresult r = host_event_of(event);
    if (!r)
        r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (flags & ~(unsigned)MU_EVENT_RECORD_EXTERNAL)
        return MUSA_ERROR_INVALID_VALUE;
    if (s->ctx != event->ctx)
        return MUSA_ERROR_INVALID_HANDLE;
    if (host_capturing(s))
        return flags ? host_capture_add(
                           s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord.event = event},
                           NULL)
                     : host_capture_record(s, event);
    if (flags) /* means something inside a capture only */
        return MUSA_ERROR_ILLEGAL_STATE;
    host_capture_forget_event(event);
    if (event->shared)
        return host_shared_event_record(event->shared, s);
    struct host_work *w;
    r = host_submit(s, NULL, NULL, 0, 0, &w);
    if (!r)
        host_event_set_work(event, w);
    return r;
}

MUresult muEventRecord(MUevent event, MUstream stream)
{
    return muEventRecordWithFlags(event, stream, MU_EVENT_RECORD_DEFAULT);
}

/* Makes a stream wait for the work that the event stood for when this was called. If that has ended nothing is
 * queued; its failure goes to who waits, as it would have. */
MUresult muStreamWaitEvent(MUstream stream, MUevent event, unsigned int flags)
{
    MUstream s;
    MUresult r = host_event_of(event);
    if (!r)
        r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (flags & ~(unsigned)MU_EVENT_WAIT_EXTERNAL)
        return MUSA_ERROR_INVALID_VALUE;
    if (host_capturing(s) && flags)
        return host_capture_add(
            s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait.event = event}, NULL);
    if (host_captures || event->capture) {
        bool handled;
        r = host_capture_wait(s, event, &handled);
        if (r || handled)
            return r;
    }
    if (event->shared)
        return host_shared_event_wait_in(event->shared, s);
    struct host_work *w = host_event_work(event);
    if (w && !host_work_done(w))
        r = host_submit(s, NULL, &w, 1, 0, NULL);
    else if (w && w->tainted)
        s->async_error = w->tainted;
    if (w && host_order_on()) {
        pthread_mutex_lock(&host_sched);
        host_order_wait(s, w);
        pthread_mutex_unlock(&host_sched);
    }
    host_work_unref(w);
    return r;
}

/* After the recorded point was reached: what failed before it, told once by each record. */
static MUresult verdict(MUcontext ctx, struct host_work *w)
{
    MUresult own = w ? atomic_exchange(&w->tainted, 0) : MUSA_SUCCESS, r = host_ctx_verdict(ctx);
    return r ? r : host_failure_code(own);
}

MUresult muEventQuery(MUevent event)
{
    MUresult r = host_event_of(event);
    if (r || (r = host_capture_event_check(event)))
        return r;
    struct host_work *w = host_event_work(event);
    bool pending = event->shared ? !host_shared_event_done(event->shared) : w && !host_work_done(w);
    r = pending ? MUSA_ERROR_NOT_READY : verdict(event->ctx, w);
    if (w && !pending)
        host_work_synced(w);
    host_work_unref(w);
    return r;
}

MUresult muEventSynchronize(MUevent event)
{
    MUresult r = host_event_of(event);
    if (r || (r = host_capture_event_check(event)))
        return r;
    MUcontext ctx = event->ctx; /* the event may be destroyed while we wait */
    struct host_work *w = host_event_work(event);
    if (event->shared)
        host_shared_event_wait(event->shared);
    if (w)
        host_work_wait(w);
    host_kernels_synced(ctx);
    r = verdict(ctx, w);
    host_work_unref(w);
    return r;
}

MUresult muEventElapsedTime(float *ms, MUevent start, MUevent end)
{
    MUresult r = host_event_of(start);
    if (!r)
        r = host_event_of(end);
    if (r)
        return r;
    if (!ms)
        return MUSA_ERROR_INVALID_VALUE;
    if ((start->flags | end->flags) & MU_EVENT_DISABLE_TIMING || start->ctx != end->ctx)
        return MUSA_ERROR_INVALID_HANDLE;
    if (start->capture || end->capture)
        return MUSA_ERROR_CAPTURED_EVENT;
    struct host_work *a = host_event_work(start), *b = host_event_work(end);
    if (!a || !b)
        r = MUSA_ERROR_INVALID_HANDLE;
    else if (!host_work_done(a) || !host_work_done(b))
        r = MUSA_ERROR_NOT_READY;
    else
        *ms = (float)((double)(int64_t)(b->time - a->time) * 1e-6);
    host_work_unref(a);
    host_work_unref(b);
    return r;
}

/* ---- between processes ----------------------------------------------------------------------- */

MUresult muIpcGetEventHandle(MUipcEventHandle *handle, MUevent event)
{
    MUresult r = host_event_of(event);
    if (r)
        return r;
    if (!handle || !event->shared)
        return MUSA_ERROR_INVALID_VALUE;
    return host_shared_event_export(event->shared, handle);
}

MUresult muIpcOpenEventHandle(MUevent *event, MUipcEventHandle handle)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    struct host_shared_event *shared;
    if (!event)
        return MUSA_ERROR_INVALID_VALUE;
    if ((r = host_shared_event_open(&handle, &shared)))
        return r;
    MUevent e = host_slab_get(&host_events);
    if (!e) {
        host_shared_event_unref(shared);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    e->ctx = ctx;
    e->flags = MU_EVENT_INTERPROCESS | MU_EVENT_DISABLE_TIMING;
    e->shared = shared;
    *event = e;
    return MUSA_SUCCESS;
}

/* The forms whose stream 0 is the thread's own default stream. */
MUresult muEventRecord_ptsz(MUevent e, MUstream s) { return muEventRecord(e, host_ptsz(s)); }
MUresult muEventRecordWithFlags_ptsz(MUevent e, MUstream s, unsigned int flags)
{
    return muEventRecordWithFlags(e, host_ptsz(s), flags);
}
MUresult muStreamWaitEvent_ptsz(MUstream s, MUevent e, unsigned int flags)
{
    return muStreamWaitEvent(host_ptsz(s), e, flags);
}
