/* What a stream runs besides copies and kernels: the application's host functions, and waiting for
 * or writing a value in memory. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "host/driver/callback.h"
#include "host/driver/internal.h"
#include "host/driver/memcheck.h"

static _Thread_local MUresult failed; /* by cumu_host_fail, in the callback under way */

void host_callback_begin(void)
{
    host_own.in_callback = true;
    host_initcheck_foreign();
    failed = MUSA_SUCCESS;
}

MUresult host_callback_end(void)
{
    host_own.in_callback = false;
    return failed;
}

/* Failures that may be pardoned, by number; -number stands for the error until it is told. Of old ones that nobody
 * ever asked for, the reason is forgotten. */
#define FAILURES 1024
static struct {
    _Atomic int number, why;
} failures[FAILURES];

MUresult host_failure_told(int failure)
{
    int why = failures[failure % FAILURES].why;
    return failures[failure % FAILURES].number == failure ? why : MUSA_ERROR_UNKNOWN;
}

int cumu_host_fail(MUresult why)
{
    static _Atomic unsigned last;
    MUresult r = why;
    if (why > 0 && !host_error_sticky(why)) {
        int number = (int)(++last & INT32_MAX);
        failures[number % FAILURES].number = number;
        failures[number % FAILURES].why = why;
        r = -number;
    }
    failed = failed ? failed : r;
    return r;
}

void cumu_host_pardon(int failure)
{
    if (failure < 0 && failures[-failure % FAILURES].number == -failure)
        failures[-failure % FAILURES].why = MUSA_SUCCESS;
}

const struct cumu_host_watch *_Atomic host_watched;

void cumu_host_watch(const struct cumu_host_watch *watch) { host_watched = watch; }

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
    host_callback_begin();
    if (c->stream_fn)
        c->stream_fn(c->stream, status, c->user); /* is told of errors; a host function is skipped */
    else if (!status)
        c->host_fn(c->user);
    return host_callback_end();
}

static MUresult enqueue_callback(MUstream handle, const struct callback *made)
{
    MUstream s;
    MUresult r = host_stream_of(handle, &s);
    if (r)
        return r;
    if (host_capturing(s) && made->host_fn)
        return host_capture_add(
            s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_HOST, .host = {made->host_fn, made->user}}, NULL);
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *c = *made;
    c->stream = handle;
    c->ctx = s->ctx;
    struct host_op op = {run_callback, free, c, "host function", HOST_OP_ALWAYS};
    return host_submit(s, &op, NULL, 0, 0, NULL);
}

struct host_work *cumu_host_hold(MUstream stream)
{
    MUstream s;
    return host_stream_open(stream, &s) ? host_hold(s) : NULL;
}

int cumu_host_release(struct host_work *held, MUstreamCallback fn, void *user)
{
    struct callback *c = NULL;
    if (fn && !(c = malloc(sizeof *c)))
        return 0;
    if (c)
        *c = (struct callback){.stream_fn = fn, .stream = held->stream, .ctx = held->stream->ctx, .user = user};
    host_release(held, c ? &(struct host_op){run_callback, free, c, "host function", HOST_OP_ALWAYS} : NULL);
    return 1;
}

MUresult muLaunchHostFunc(MUstream stream, MUhostFn fn, void *user)
{
    return fn ? enqueue_callback(stream, &(struct callback){.host_fn = fn, .user = user}) : MUSA_ERROR_INVALID_VALUE;
}

MUresult muStreamAddCallback(MUstream stream, MUstreamCallback fn, void *user, unsigned int flags)
{
    return fn && !flags ? enqueue_callback(stream, &(struct callback){.stream_fn = fn, .user = user})
                        : MUSA_ERROR_INVALID_VALUE;
}

/* The forms whose stream 0 is the thread's own default stream. */
MUresult muLaunchHostFunc_ptsz(MUstream s, MUhostFn fn, void *user) { return muLaunchHostFunc(host_ptsz(s), fn, user); }
MUresult muStreamAddCallback_ptsz(MUstream s, MUstreamCallback fn, void *user, unsigned int flags)
{
    return muStreamAddCallback(host_ptsz(s), fn, user, flags);
}
