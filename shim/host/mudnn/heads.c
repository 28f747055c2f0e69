/* Multi-head attention on a stream: in doubles or in floats, by the type of the program's numbers. */
#include <stdlib.h>
#include <string.h>

#include "host/mudnn/heads.h"

struct call {
    struct mudnn_heads m;
    int *window; /* starts, then ends; the call's own */
};

static void run(const void *of)
{
    const struct call *call = of;
    if (call->m.s.type == MUDNN_DATA_DOUBLE)
        dnn_heads_doubles(&call->m, call->window);
    else
        dnn_heads_floats(&call->m, call->window);
}

static void drop(const void *of) { free(((const struct call *)of)->window); }

DNN_EXPORT mudnnStatus_t mudnnHostHeads(musaStream_t stream, const struct mudnn_heads *m, const int *lo, const int *hi)
{
    struct call call = {*m, NULL};
    const struct mudnn_heads_shape *s = &m->s;
    if (!dnn_size(s->type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    if (m->way == MUDNN_HEADS_WAY_FORWARD) {
        size_t times = (size_t)(m->only < 0 ? m->q.dim[0] : m->only + 1);
        call.window = malloc(2 * times * sizeof *lo);
        if (!call.window)
            return MUDNN_STATUS_ALLOC_FAILED;
        memcpy(call.window, lo, times * sizeof *lo);
        memcpy(call.window + times, hi, times * sizeof *hi);
    }
    double tokens = (double)(m->q.dim[0] + m->k.dim[0]) * (double)(m->q.dim[1] * m->q.dim[2]);
    double work = tokens * (double)(2 * mudnn_heads_weights(s, 8) + 8 * (s->q + s->k + s->v)) +
                  (double)(m->q.dim[0] * m->k.dim[0]) * (double)(m->q.dim[1] * m->q.dim[2] * s->heads) *
                      (double)(2 * (mudnn_heads_inner(s) + mudnn_heads_value(s)) + 20);
    switch (maths_submit(stream, (struct maths_work){MATHS_LIBRARY, run, drop}, &call, sizeof call, work)) {
    case musaSuccess: return MUDNN_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUDNN_STATUS_ALLOC_FAILED;
    default: return MUDNN_STATUS_EXECUTION_FAILED;
    }
}
