/* Puts calls of the CPU maths libraries on their streams. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"

/* Operations that take less time than handing them to another thread does (some 10 us). */
#define BRIEF 1e6

struct submitted {
    void (*run)(const void *call);
    _Alignas(max_align_t) unsigned char call[];
};

static void in_graph(void *copy)
{
    const struct submitted *s = copy;
    s->run(s->call);
}

static void on_stream(musaStream_t stream, musaError_t status, void *copy)
{
    (void)stream;
    if (status == musaSuccess)
        in_graph(copy);
    free(copy);
}

/* Nothing that the stream's next work would have to wait for is left. */
static bool idle(musaStream_t stream)
{
    unsigned flags = 0;
    if (stream && stream != MU_STREAM_LEGACY && musaStreamGetFlags(stream, &flags))
        return false;
    return musaStreamQuery(flags & musaStreamNonBlocking ? stream : MU_STREAM_LEGACY) == musaSuccess;
}

/* A graph may run the call as long as it lives, so it owns the copy. */
static musaError_t capture(musaStream_t stream, struct submitted *copy)
{
    musaStreamCaptureStatus status;
    musaGraph_t graph;
    musaUserObject_t object;
    musaError_t r = musaStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL);
    if (!r)
        r = musaUserObjectCreate(&object, copy, free, 1, musaUserObjectNoDestructorSync);
    if (r) {
        free(copy);
        return r;
    }
    r = musaGraphRetainUserObject(graph, object, 1, musaGraphUserObjectMove);
    if (r) {
        musaUserObjectRelease(object, 1);
        return r;
    }
    return musaLaunchHostFunc(stream, in_graph, copy);
}

musaError_t maths_submit(musaStream_t stream, void (*run)(const void *call), const void *call, size_t size,
                         double work)
{
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    musaError_t r = musaStreamIsCapturing(stream, &status);
    if (r)
        return r;
    bool captured = status == musaStreamCaptureStatusActive;
    if (!captured && work < BRIEF && idle(stream)) {
        run(call);
        return musaSuccess;
    }
    struct submitted *copy = malloc(sizeof *copy + size);
    if (!copy)
        return musaErrorMemoryAllocation;
    copy->run = run;
    memcpy(copy->call, call, size);
    if (captured)
        return capture(stream, copy);
    r = musaStreamAddCallback(stream, on_stream, copy, 0);
    if (r)
        free(copy);
    return r;
}
