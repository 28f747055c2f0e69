/* Puts calls of the CPU maths libraries on their streams. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/callback.h"
#include "host/maths/submit.h"

/* Operations that take less time than handing them to another thread does (some 10 us). */
#define BRIEF 1e6
/* Below this no library calls its threads. */
#define ALONE 1e4

struct submitted {
    struct maths_work what;
    const void *entry;
    musaStream_t stream;
    unsigned flags;
    _Alignas(max_align_t) unsigned char call[];
};

static void drop(struct maths_work what, const void *call)
{
    if (what.drop)
        what.drop(call);
}

static void free_copy(void *copy)
{
    struct submitted *s = copy;
    drop(s->what, s->call);
    free(s);
}

static void in_graph(void *copy)
{
    const struct submitted *s = copy;
    struct cumu_failure failure;
    if (cumu_task_run(s->flags, s->what.run, s->call, &failure))
        cumu_task_report(s->stream, s->entry, &failure);
}

static void on_stream(musaStream_t stream, musaError_t status, void *copy)
{
    (void)stream;
    if (status == musaSuccess)
        in_graph(copy);
    free_copy(copy);
}

/* A graph may run the call as long as it lives, so it owns the copy. */
static musaError_t capture(musaStream_t stream, struct submitted *copy)
{
    musaStreamCaptureStatus status;
    musaGraph_t graph;
    musaUserObject_t object;
    musaError_t r = musaStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL);
    if (!r)
        r = musaUserObjectCreate(&object, copy, free_copy, 1, musaUserObjectNoDestructorSync);
    if (r) {
        free_copy(copy);
        return r;
    }
    r = musaGraphRetainUserObject(graph, object, 1, musaGraphUserObjectMove);
    if (r) {
        musaUserObjectRelease(object, 1);
        return r;
    }
    return musaLaunchHostFunc(stream, in_graph, copy);
}

/* A place in the exported function that was called, for messages: the frames of this library are followed to the one
 * that was called from outside of it. It is built with frame pointers and without tail calls (shim.mk). */
static const void *called_function(void)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char etext[] __attribute__((visibility("hidden")));
    const void *place = NULL;
    for (void *const *frame = __builtin_frame_address(0);; frame = *frame) {
        if ((uintptr_t)frame[1] - (uintptr_t)__ehdr_start >= (uintptr_t)etext - (uintptr_t)__ehdr_start)
            return place;
        place = frame[1];
    }
}

/* Whether the library stands on OpenBLAS, whose threads may run into faults. */
extern void sgemm_(void) __attribute__((weak));
static unsigned flags_of(enum maths_code code, double work)
{
    static _Atomic bool known;
    if (code == MATHS_OWN_CODE)
        return CUMU_TASK_OWN_CODE;
    if (!sgemm_ || work < ALONE)
        return 0;
    if (!known)
        cumu_task_library((const void *)(uintptr_t)sgemm_);
    known = true;
    return CUMU_TASK_THREADS;
}

void *maths_alloc(size_t size)
{
    void *p = malloc(size);
    if (!p)
        cumu_task_fail(musaErrorMemoryAllocation);
    return p;
}

void *maths_zeroed(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p)
        cumu_task_fail(musaErrorMemoryAllocation);
    return p;
}

bool maths_out_of_range(void)
{
    cumu_task_fail(musaErrorIllegalAddress);
    return false;
}

/* What an idle stream can do at once; else as a copy, which whoever has it drops. */
musaError_t maths_submit(musaStream_t stream, struct maths_work what, const void *call, size_t size, double work)
{
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    musaError_t r = musaSuccess;
    struct cumu_failure failure;
    if (work < BRIEF && cumu_task_run_in(stream, flags_of(what.code, work), what.run, call, &failure)) {
        if (failure.error)
            r = cumu_task_report(stream, called_function(), &failure);
        drop(what, call);
        return r;
    }
    if (stream && stream != MU_STREAM_LEGACY)
        r = musaStreamIsCapturing(stream, &status);
    if (r) {
        drop(what, call);
        return r;
    }
    const bool captured = status == musaStreamCaptureStatusActive;
    struct submitted *copy = malloc(sizeof *copy + size);
    if (!copy) {
        drop(what, call);
        return musaErrorMemoryAllocation;
    }
    copy->what = what;
    copy->entry = called_function();
    copy->stream = stream;
    copy->flags = flags_of(what.code, work);
    memcpy(copy->call, call, size);
    if (captured)
        return capture(stream, copy);
    r = musaStreamAddCallback(stream, on_stream, copy, 0);
    if (r)
        free_copy(copy);
    return r;
}
