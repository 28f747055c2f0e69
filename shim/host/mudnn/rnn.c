/* Recurrent layers on a stream: in doubles or in floats, by the type of the weights. */
#include <stdlib.h>
#include <string.h>

#include "host/mudnn/mudnn.h"

struct call {
    struct mudnn_rnn r;
    int *length; /* of each sequence; the call's own */
};

static void run(const void *of)
{
    const struct call *call = of;
    if (call->r.s.type == MUDNN_DATA_DOUBLE)
        dnn_rnn_doubles(&call->r, call->length);
    else
        dnn_rnn_floats(&call->r, call->length);
}

static void drop(const void *of) { free(((const struct call *)of)->length); }

DNN_EXPORT mudnnStatus_t mudnnHostRnn(musaStream_t stream, const struct mudnn_rnn *r, const int *lengths)
{
    struct call call = {*r, malloc((size_t)r->batch * sizeof *lengths)};
    double work = 4.0 * (double)mudnn_rnn_weights(&r->s, r->s.layers * r->s.directions, 3) *
                  (double)(r->time * r->batch);
    if (!call.length)
        return MUDNN_STATUS_ALLOC_FAILED;
    memcpy(call.length, lengths, (size_t)r->batch * sizeof *lengths);
    switch (maths_submit(stream, (struct maths_work){MATHS_LIBRARY, run, drop}, &call, sizeof call, work)) {
    case musaSuccess: return MUDNN_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUDNN_STATUS_ALLOC_FAILED;
    default: return MUDNN_STATUS_EXECUTION_FAILED;
    }
}
