/* What a stream runs besides copies and kernels: the application's host functions, and waiting for
 * or writing a value in memory. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "host/driver/internal.h"

struct callback {
    MUhostFn host_fn; /* or */
    MUstreamCallback stream_fn;
    MUstream stream;
    MUcontext ctx;
    void *user;
};

static MUresult run_callback(void *arg)
{
    struct callback *c = arg;
    MUresult status = c->ctx->error;
    host_in_callback = true;
    if (c->stream_fn)
        c->stream_fn(c->stream, status,
                     c->user); /* is told of errors; a host function is skipped */
    else if (!status)
        c->host_fn(c->user);
    host_in_callback = false;
    return MUSA_SUCCESS;
}

static MUresult enqueue_callback(MUstream handle, const struct callback *made)
{
    MUstream s;
    MUresult r = host_stream_of(handle, &s);
    if (r)
        return r;
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *c = *made;
    c->stream = handle;
    c->ctx = s->ctx;
    struct host_op op = { run_callback, free, c, "host function", HOST_OP_ALWAYS };
    return host_submit(s, &op, NULL, 0, 0, NULL);
}

MUresult muLaunchHostFunc(MUstream stream, MUhostFn fn, void *user)
{
    return fn ? enqueue_callback(stream, &(struct callback){ .host_fn = fn, .user = user })
              : MUSA_ERROR_INVALID_VALUE;
}

MUresult muStreamAddCallback(MUstream stream, MUstreamCallback fn, void *user, unsigned int flags)
{
    return fn && !flags
               ? enqueue_callback(stream, &(struct callback){ .stream_fn = fn, .user = user })
               : MUSA_ERROR_INVALID_VALUE;
}

/* ---- values ---------------------------------------------------------------------------------- */

struct value_op {
    void *p;
    uint64_t value;
    unsigned flags;
    bool wide;
    MUcontext ctx;
};

static uint64_t load(const struct value_op *v)
{
    return v->wide ? atomic_load((_Atomic uint64_t *)v->p) : atomic_load((_Atomic uint32_t *)v->p);
}

static bool met(const struct value_op *v)
{
    uint64_t now = load(v);
    switch (v->flags & 3) {
    case MU_STREAM_WAIT_VALUE_EQ:
        return now == v->value;
    case MU_STREAM_WAIT_VALUE_AND:
        return (now & v->value) != 0;
    case MU_STREAM_WAIT_VALUE_NOR:
        return (v->wide ? ~(now | v->value) : (uint32_t) ~(now | v->value)) != 0;
    default: /* a cyclic comparison: counters may wrap */
        return v->wide ? (int64_t)(now - v->value) >= 0 : (int32_t)(uint32_t)(now - v->value) >= 0;
    }
}

static MUresult run_wait(void *arg)
{
    const struct value_op *v = arg;
    for (unsigned tries = 0; !met(v) && !v->ctx->error; tries++) {
        if (tries < 1000)
            sched_yield();
        else
            nanosleep(&(struct timespec){ 0, 50000 }, NULL);
    }
    return MUSA_SUCCESS;
}

static MUresult run_write(void *arg)
{
    const struct value_op *v = arg;
    if (v->wide)
        atomic_store((_Atomic uint64_t *)v->p, v->value);
    else
        atomic_store((_Atomic uint32_t *)v->p, (uint32_t)v->value);
    return MUSA_SUCCESS;
}

static MUresult enqueue_value(MUstream handle, MUresult (*run)(void *), MUdeviceptr p,
                              uint64_t value, bool wide, unsigned flags, unsigned known_flags)
{
    MUstream s;
    MUresult r = host_stream_of(handle, &s);
    if (r)
        return r;
    size_t size = wide ? 8 : 4;
    void *at = (void *)(uintptr_t)p;
    if (flags & ~known_flags || p % size || !host_mem_on_device(at, size))
        return MUSA_ERROR_INVALID_VALUE;
    struct value_op *v = malloc(sizeof *v);
    if (!v)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *v = (struct value_op){ at, value, flags, wide, s->ctx };
    struct host_op op = { run, free, v, "value", 0 };
    return host_submit(s, &op, NULL, 0, 0, NULL);
}

#define WAIT_FLAGS (3u | (unsigned)MU_STREAM_WAIT_VALUE_FLUSH)
#define WRITE_FLAGS ((unsigned)MU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)

MUresult muStreamWaitValue32(MUstream s, MUdeviceptr p, uint32_t value, unsigned int flags)
{
    return enqueue_value(s, run_wait, p, value, false, flags, WAIT_FLAGS);
}

MUresult muStreamWaitValue64(MUstream s, MUdeviceptr p, uint64_t value, unsigned int flags)
{
    return enqueue_value(s, run_wait, p, value, true, flags, WAIT_FLAGS);
}

MUresult muStreamWriteValue32(MUstream s, MUdeviceptr p, uint32_t value, unsigned int flags)
{
    return enqueue_value(s, run_write, p, value, false, flags, WRITE_FLAGS);
}

MUresult muStreamWriteValue64(MUstream s, MUdeviceptr p, uint64_t value, unsigned int flags)
{
    return enqueue_value(s, run_write, p, value, true, flags, WRITE_FLAGS);
}

/* The forms whose stream 0 is the thread's own default stream. */
MUresult muLaunchHostFunc_ptsz(MUstream s, MUhostFn fn, void *user)
{
    return muLaunchHostFunc(host_ptsz(s), fn, user);
}
MUresult muStreamAddCallback_ptsz(MUstream s, MUstreamCallback fn, void *user, unsigned int flags)
{
    return muStreamAddCallback(host_ptsz(s), fn, user, flags);
}
MUresult muStreamWaitValue32_ptsz(MUstream s, MUdeviceptr p, uint32_t v, unsigned int f)
{
    return muStreamWaitValue32(host_ptsz(s), p, v, f);
}
MUresult muStreamWaitValue64_ptsz(MUstream s, MUdeviceptr p, uint64_t v, unsigned int f)
{
    return muStreamWaitValue64(host_ptsz(s), p, v, f);
}
MUresult muStreamWriteValue32_ptsz(MUstream s, MUdeviceptr p, uint32_t v, unsigned int f)
{
    return muStreamWriteValue32(host_ptsz(s), p, v, f);
}
MUresult muStreamWriteValue64_ptsz(MUstream s, MUdeviceptr p, uint64_t v, unsigned int f)
{
    return muStreamWriteValue64(host_ptsz(s), p, v, f);
}
