/* Streams: creation, the meaning of handles, waiting, host functions, memory operations. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "host/driver/callback.h"
#include "host/driver/internal.h"
#include "host/driver/order.h"

struct host_slab host_streams = HOST_SLAB(struct MUstream_st, "stream");

/* ---- handles --------------------------------------------------------------------------------- */

/* A thread's own default streams, one a context; given back when the thread ends. */
struct own_stream {
    struct own_stream *next;
    MUstream stream;
    uint64_t ctx_id;
};
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void free_own(void *p)
{
    for (struct own_stream *o = p, *next; o; o = next) {
        next = o->next;
        /* In a forked child the scheduler's lock may be held for ever by a thread that is not
         * there. */
        if (host_ready() != MUSA_ERROR_NOT_INITIALIZED && host_slab_live(&host_streams, o->stream) &&
            o->stream->ctx->id == o->ctx_id)
            host_stream_free(o->stream);
        free(o);
    }
}

static void make_own_key(void) { pthread_key_create(&own_key, free_own); }

static MUstream own_stream(MUcontext ctx)
{
    pthread_once(&own_once, make_own_key);
    struct own_stream *first = pthread_getspecific(own_key);
    for (struct own_stream *o = first; o; o = o->next)
        if (o->stream->ctx == ctx && o->ctx_id == ctx->id)
            return o->stream;
    struct own_stream *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->stream = host_stream_new(ctx, MU_STREAM_DEFAULT, 0);
    if (!o->stream) {
        free(o);
        return NULL;
    }
    o->stream->per_thread = true;
    o->ctx_id = ctx->id;
    o->next = first;
    pthread_setspecific(own_key, o);
    return o->stream;
}

MUstream host_stream_new(MUcontext ctx, unsigned flags, int priority)
{
    static _Atomic uint64_t ids;
    MUstream s = host_slab_get(&host_streams);
    if (!s)
        return NULL;
    s->ctx = ctx;
    s->flags = flags;
    s->priority = priority;
    s->nonblocking = flags & MU_STREAM_NON_BLOCKING;
    s->id = ++ids;
    pthread_mutex_lock(&host_sched);
    s->next = ctx->streams;
    ctx->streams = s;
    pthread_mutex_unlock(&host_sched);
    return s;
}

MUresult host_stream_default(MUstream handle, MUstream *s)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    *s = handle == MU_STREAM_PER_THREAD ? own_stream(ctx) : ctx->legacy;
    return *s ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

MUresult host_stream_ctx(MUstream handle, MUcontext *ctx)
{
    MUstream s;
    MUresult r = host_stream_of(handle, &s);
    if (!r && ctx)
        *ctx = s->ctx;
    return r;
}

/* ---- work in streams ------------------------------------------------------------------------- */

MUresult host_enqueue_in(MUstream s, const struct host_op *op)
{
    unsigned how = (host_config()->launch_blocking ? HOST_WAIT : 0) | (op->flags & HOST_OP_BRIEF ? HOST_INLINE : 0);
    return host_submit(s, op, NULL, 0, how, NULL);
}

MUresult host_enqueue(MUstream handle, const struct host_op *op)
{
    MUstream s;
    MUresult r = host_stream_of(handle, &s);
    if (r) {
        if (op->drop)
            op->drop(op->arg);
        return r;
    }
    return host_enqueue_in(s, op);
}

MUresult host_enqueue_wait(MUstream handle, const struct host_op *op)
{
    MUstream s;
    MUresult r = host_stream_of(handle, &s);
    if (r) {
        if (op->drop)
            op->drop(op->arg);
        return r;
    }
    r = host_submit(s, op, NULL, 0, HOST_WAIT | HOST_INLINE, NULL);
    host_kernels_synced(s->ctx);
    return r;
}

/* Takes the error; an exchange costs 20 cycles and more, and mostly there is none. */
static MUresult take(_Atomic MUresult *error) { return *error ? atomic_exchange(error, 0) : MUSA_SUCCESS; }

MUresult host_ctx_verdict(MUcontext ctx)
{
    MUresult r = ctx->error;
    return r ? r : host_failure_code(take(&ctx->async_error));
}

MUresult host_stream_verdict(MUstream s)
{
    MUresult own = take(&s->async_error), r = host_ctx_verdict(s->ctx);
    return r ? r : host_failure_code(own);
}

/* Waits for the last work of each stream of a context. */
void host_ctx_drain(MUcontext ctx)
{
    /* Only work that was there when we began counts: a busy neighbour must not hold us for ever. */
    struct host_work *small[16], **list = small;
    size_t n = 0, room = 16;
    pthread_mutex_lock(&host_sched);
    for (MUstream s = ctx->streams; s; s = s->next) {
        host_order_stream_synced(s);
        if (!s->tail || s->tail->done == 1)
            continue;
        if (n == room) {
            struct host_work **more = malloc(2 * room * sizeof *more);
            if (!more)
                break;
            for (size_t i = 0; i < n; i++)
                more[i] = list[i];
            if (list != small)
                free(list);
            list = more;
            room *= 2;
        }
        host_work_ref(s->tail);
        list[n++] = s->tail;
    }
    pthread_mutex_unlock(&host_sched);
    for (size_t i = 0; i < n; i++) {
        host_work_wait(list[i]);
        host_work_unref(list[i]);
    }
    if (list != small)
        free(list);
    host_kernels_synced(ctx);
}

MUresult host_ctx_wait(MUcontext ctx)
{
    host_ctx_drain(ctx);
    return host_ctx_verdict(ctx);
}

/* ---- entry points ---------------------------------------------------------------------------- */

MUresult muStreamCreateWithPriority(MUstream *stream, unsigned int flags, int priority)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    if (!stream || flags & ~(unsigned)MU_STREAM_NON_BLOCKING)
        return MUSA_ERROR_INVALID_VALUE;
    int clamped = priority > 0 ? 0 : priority < HOST_GREATEST_PRIORITY ? HOST_GREATEST_PRIORITY : priority;
    *stream = host_stream_new(ctx, flags, clamped);
    return *stream ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

MUresult muStreamCreate(MUstream *stream, unsigned int flags) { return muStreamCreateWithPriority(stream, flags, 0); }

MUresult muStreamDestroy(MUstream stream)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_streams, stream) || stream->legacy || stream->per_thread || stream->doomed)
        return MUSA_ERROR_INVALID_HANDLE;
    host_stream_free(stream);
    return MUSA_SUCCESS;
}
HOST_ALIAS(muStreamDestroy_v2, muStreamDestroy);

MUresult muStreamSynchronize(MUstream stream)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r || (r = host_capture_wait_check(NULL, s)))
        return r;
    if (s->legacy) {
        /* Includes what the legacy stream would wait for: all blocking streams of the context. */
        r = host_submit(s, NULL, NULL, 0, HOST_WAIT, NULL);
        if (r)
            return r;
    } else {
        struct host_work *w = host_stream_tail(s);
        if (w) {
            host_work_wait(w);
            host_work_unref(w);
        }
    }
    host_kernels_synced(s->ctx);
    return host_stream_verdict(s);
}

MUresult muStreamQuery(MUstream stream)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r || (r = host_capture_wait_check(NULL, s)))
        return r;
    bool busy = false;
    pthread_mutex_lock(&host_sched);
    for (MUstream t = s->legacy ? s->ctx->streams : s; t && !busy; t = t->next) {
        busy = (t == s || !t->nonblocking) && t->tail && t->tail->done != 1;
        if (!s->legacy)
            break;
    }
    if (!busy)
        host_order_stream_synced(s);
    pthread_mutex_unlock(&host_sched);
    return busy ? MUSA_ERROR_NOT_READY : host_stream_verdict(s);
}

MUresult muStreamGetPriority(MUstream stream, int *priority)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (!priority)
        return MUSA_ERROR_INVALID_VALUE;
    *priority = s->priority;
    return MUSA_SUCCESS;
}

MUresult muStreamGetFlags(MUstream stream, unsigned int *flags)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (!flags)
        return MUSA_ERROR_INVALID_VALUE;
    *flags = s->flags;
    return MUSA_SUCCESS;
}

MUresult muStreamGetCtx(MUstream stream, MUcontext *ctx)
{
    return ctx ? host_stream_ctx(stream, ctx) : MUSA_ERROR_INVALID_VALUE;
}

MUresult muStreamGetId(MUstream stream, unsigned long long *id)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (!id)
        return MUSA_ERROR_INVALID_VALUE;
    *id = s->id;
    return MUSA_SUCCESS;
}

/* ---- attributes ------------------------------------------------------------------------------ */

MUresult muStreamSetAttribute(MUstream stream, MUstreamAttrID attr, const MUstreamAttrValue *value)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (!value)
        return MUSA_ERROR_INVALID_VALUE;
    switch (attr) {
    case MU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: /* a hint to a cache that is not ours to steer */
    case MU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: s->attribute[attr] = *value; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_PRIORITY: s->priority = value->priority; return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

MUresult muStreamGetAttribute(MUstream stream, MUstreamAttrID attr, MUstreamAttrValue *value)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (!value)
        return MUSA_ERROR_INVALID_VALUE;
    switch (attr) {
    case MU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case MU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: *value = s->attribute[attr]; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_PRIORITY: *value = (MUstreamAttrValue){.priority = s->priority}; return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

MUresult muStreamCopyAttributes(MUstream dst, MUstream src)
{
    MUstream d, s;
    MUresult r = host_stream_of(dst, &d);
    if (!r)
        r = host_stream_of(src, &s);
    if (r)
        return r;
    for (int i = 0; i < HOST_STREAM_ATTRIBUTES; i++)
        d->attribute[i] = s->attribute[i];
    return MUSA_SUCCESS;
}

/* The forms whose stream 0 is the thread's own default stream. */
MUresult muStreamSynchronize_ptsz(MUstream s) { return muStreamSynchronize(host_ptsz(s)); }
MUresult muStreamQuery_ptsz(MUstream s) { return muStreamQuery(host_ptsz(s)); }
MUresult muStreamGetPriority_ptsz(MUstream s, int *p) { return muStreamGetPriority(host_ptsz(s), p); }
MUresult muStreamGetFlags_ptsz(MUstream s, unsigned *f) { return muStreamGetFlags(host_ptsz(s), f); }
MUresult muStreamGetCtx_ptsz(MUstream s, MUcontext *c) { return muStreamGetCtx(host_ptsz(s), c); }
MUresult muStreamGetId_ptsz(MUstream s, unsigned long long *i) { return muStreamGetId(host_ptsz(s), i); }
MUresult muStreamIsCapturing_ptsz(MUstream s, MUstreamCaptureStatus *c) { return muStreamIsCapturing(host_ptsz(s), c); }
MUresult muStreamSetAttribute_ptsz(MUstream s, MUstreamAttrID a, const MUstreamAttrValue *v)
{
    return muStreamSetAttribute(host_ptsz(s), a, v);
}
MUresult muStreamGetAttribute_ptsz(MUstream s, MUstreamAttrID a, MUstreamAttrValue *v)
{
    return muStreamGetAttribute(host_ptsz(s), a, v);
}
MUresult muStreamCopyAttributes_ptsz(MUstream d, MUstream s)
{
    return muStreamCopyAttributes(host_ptsz(d), host_ptsz(s));
}
