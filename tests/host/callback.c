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

    IS(cumu_host_idle(a), 1);
    MUST(muLaunchHostFunc(a, take_time, NULL));
    IS(cumu_host_idle(a), 0);
    IS(cumu_host_idle(b), 1);
    MUST(muLaunchHostFunc(a, fail, NULL));
    sleep_ms(70);
    IS(cumu_host_idle(a), 0); /* it has something to tell, and has told nobody */
    IS(cumu_host_idle(a), 0);
    IS(muStreamSynchronize(a), why);
    IS(cumu_host_idle(a), 1);

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
