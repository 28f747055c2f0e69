/* Puts calls of the CPU muBLAS on their streams. */
#include <stdlib.h>
#include <string.h>

#include "host/mublas/mublas.h"

/* Operations that take less time than handing them to another thread does (some 10 us). */
#define BRIEF 1e6

mublasStatus_t mublas_scalars(mublasHandle_t h, struct mublas_call *c, const void *alpha, size_t alpha_size,
                              const void *beta, size_t beta_size)
{
    if ((alpha_size && !alpha) || (beta_size && !beta))
        return MUBLAS_STATUS_INVALID_POINTER;
    if (mublas_on_device(h)) {
        c->alpha_at = alpha;
        c->beta_at = beta;
        return MUBLAS_STATUS_SUCCESS;
    }
    memcpy(&c->alpha, alpha, alpha_size);
    if (beta_size)
        memcpy(&c->beta, beta, beta_size);
    return MUBLAS_STATUS_SUCCESS;
}

static void in_graph(void *copy)
{
    const struct mublas_call *c = copy;
    c->run(c);
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
static musaError_t capture(musaStream_t stream, struct mublas_call *copy)
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

mublasStatus_t mublas_submit(mublasHandle_t h, const struct mublas_call *c, double work)
{
    musaStream_t stream = mublas_stream(h);
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    if (musaStreamIsCapturing(stream, &status))
        return MUBLAS_STATUS_INTERNAL_ERROR;
    bool captured = status == musaStreamCaptureStatusActive;
    if (!captured && work < BRIEF && idle(stream)) {
        c->run(c);
        return MUBLAS_STATUS_SUCCESS;
    }
    struct mublas_call *copy = malloc(sizeof *copy);
    if (!copy)
        return MUBLAS_STATUS_MEMORY_ERROR;
    *copy = *c;
    if (captured)
        return capture(stream, copy) ? MUBLAS_STATUS_INTERNAL_ERROR : MUBLAS_STATUS_SUCCESS;
    if (musaStreamAddCallback(stream, on_stream, copy, 0)) {
        free(copy);
        return MUBLAS_STATUS_INTERNAL_ERROR;
    }
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublas_submit_result(mublasHandle_t h, const struct mublas_call *c, double work)
{
    mublasStatus_t r = mublas_submit(h, c, work);
    if (!r && !mublas_on_device(h) && musaStreamSynchronize(mublas_stream(h)))
        r = MUBLAS_STATUS_INTERNAL_ERROR;
    return r;
}

static const void *member(const struct mublas_call *c, const struct mublas_operand *o, int i, size_t size)
{
    if (!o->at)
        return NULL;
    if (c->pointers)
        return ((const void *const *)o->at)[i];
    return (const char *)o->at + (long long)size * o->stride * i;
}

void mublas_each(const struct mublas_call *c, const size_t size[3], void (*one)(const struct mublas_call *))
{
    struct mublas_call each = *c;
    for (int i = 0; i < c->batch; i++) {
        each.a.at = member(c, &c->a, i, size[0]);
        each.b.at = member(c, &c->b, i, size[1]);
        each.c.at = member(c, &c->c, i, size[2]);
        one(&each);
    }
}
