/* Work of a stream that fails without ending the context: who waits for it, and for what depends on it, is told. */
#include "device.h"

#include "host/driver/callback.h"

static const MUresult why = MUSA_ERROR_ILLEGAL_STATE;

static int failure;

static void fail(void *unused)
{
    (void)unused;
    failure = cumu_host_fail(why);
    cumu_host_fail(MUSA_ERROR_NOT_SUPPORTED); /* the first reason stays */
}

static void fail_with_status(MUstream stream, MUresult status, void *unused)
{
    (void)stream, (void)status;
    fail(unused);
}

static void take_time(void *unused)
{
    (void)unused;
    sleep_ms(20);
}

/* Asks without a trace. */
static int idle(MUstream stream)
{
    struct host_work *held = cumu_host_hold(stream);
    return held && cumu_host_release(held, NULL, NULL);
}

static void note(void *at) { *(_Atomic int *)at += 1; }

static void note_at(MUstream stream, MUresult status, void *at)
{
    (void)stream, (void)status;
    sleep_ms(20);
    note(at);
}

/* What the caller does itself has its place in the stream, also when a thread of the stream goes on with it. */
static void hold(MUstream a, MUstream b, MUevent event)
{
    for (int how = 0; how < 3; how++) {
        static _Atomic int before, behind, elsewhere;
        before = behind = elsewhere = 0;
        struct host_work *held = cumu_host_hold(a);
        MUST(!held);
        MUST(muLaunchHostFunc(a, note, (void *)&behind));
        MUST(muEventRecord(event, a));
        MUST(muStreamWaitEvent(b, event, 0));
        MUST(muLaunchHostFunc(b, note, (void *)&elsewhere));
        IS(idle(a), 0);
        sleep_ms(20);
        IS(muStreamQuery(a), MUSA_ERROR_NOT_READY);
        IS(behind + elsewhere, 0);
        OK(!cumu_host_release(held, how == 0 ? NULL : how == 1 ? note_at : fail_with_status, (void *)&before));
        for (int early = 0; how == 1 && !before; sleep_ms(1)) {
            IS(early, 0);
            early = behind + elsewhere;
        }
        IS(muStreamSynchronize(b), how == 2 ? why : MUSA_SUCCESS);
        IS(behind + elsewhere, 2);
        IS(muStreamSynchronize(a), how == 2 ? why : MUSA_SUCCESS);
        IS(idle(a), 1);
    }
}

int main(void)
{
    MUdevice device;
    MUcontext ctx;
    MUstream a, b, c;
    MUevent early, late;
    MUST(muInit(0));
    MUST(muDeviceGet(&device, 0));
    MUST(muCtxCreate(&ctx, 0, device));
    MUST(muStreamCreate(&a, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&b, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&c, MU_STREAM_NON_BLOCKING));
    MUST(muEventCreate(&early, 0));
    MUST(muEventCreate(&late, 0));

    for (int form = 0; form < 2; form++) {
        MUST(muLaunchHostFunc(a, take_time, NULL));
        MUST(muEventRecord(early, a));
        MUST(form ? muStreamAddCallback(a, fail_with_status, NULL, 0) : muLaunchHostFunc(a, fail, NULL));
        MUST(muEventRecord(late, a));
        MUST(muStreamWaitEvent(b, late, 0));
        IS(muCtxSynchronize(), why); /* once for the context, */
        OK(muCtxSynchronize());
        IS(muStreamSynchronize(a), why); /* and although somebody has been told: the stream itself, */
        OK(muStreamSynchronize(a));
        IS(muStreamSynchronize(b), why); /* the one that waited for it, */
        OK(muStreamQuery(b));
        OK(muEventSynchronize(early));
        IS(muEventQuery(late), why); /* and the point behind it */
        OK(muEventSynchronize(late));
        OK(muStreamSynchronize(c));
    }

    MUST(muLaunchHostFunc(a, fail, NULL));
    MUST(muEventRecord(late, a));
    sleep_ms(50);
    MUST(muStreamWaitEvent(c, late, 0)); /* reached already */
    IS(muStreamSynchronize(c), why);
    IS(muStreamQuery(a), why);

    IS(idle(a), 1);
    MUST(muLaunchHostFunc(a, take_time, NULL));
    IS(idle(a), 0);
    IS(idle(b), 1);
    MUST(muLaunchHostFunc(a, fail, NULL));
    sleep_ms(70);
    IS(idle(a), 0); /* it has something to tell, and has told nobody */
    IS(idle(a), 0);
    IS(muStreamSynchronize(a), why);
    IS(idle(a), 1);
    hold(a, b, late);

    for (int i = 0; i < 2; i++) { /* the first of them is pardoned */
        MUST(muLaunchHostFunc(a, fail, NULL));
        MUST(muEventRecord(late, a));
        MUST(muStreamWaitEvent(b, late, 0));
        while (muStreamIsCapturing(b, &(MUstreamCaptureStatus){0}) || muEventElapsedTime(&(float){0}, late, late))
            sleep_ms(1); /* which do not tell */
        if (!i)
            cumu_host_pardon(failure);
        MUresult wanted = i ? why : MUSA_SUCCESS;
        IS(muStreamSynchronize(b), wanted);
        IS(muStreamSynchronize(a), wanted);
        IS(muEventSynchronize(late), wanted);
        OK(muCtxSynchronize());
    }

    MUgraph graph;
    MUgraphExec exec;
    MUgraphNode node;
    MUST(muGraphCreate(&graph, 0));
    MUST(muGraphAddHostNode(&node, graph, NULL, 0, &(MUSA_HOST_NODE_PARAMS){.fn = fail}));
    MUST(muGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(muGraphLaunch(exec, a));
    IS(muStreamSynchronize(a), why);
    OK(muStreamSynchronize(a));

    MUdeviceptr p;
    unsigned word = 7;
    MUST(muMemAlloc(&p, 4)); /* the context lives */
    MUST(muMemcpyHtoDAsync(p, &word, 4, a));
    OK(muStreamSynchronize(a));
    return check_end("host callback");
}
