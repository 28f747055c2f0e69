/* Ragged tensors: batches of different lengths that lie behind one another, and their dense copies. */
#include "host/mudnn/mudnn.h"

#include <stdlib.h>
#include <string.h>

#include "abi/mudnn_graph.h"

/* Both sides' begins of a batch and how much of it there is. */
struct batch {
    const struct mudnn_ragged *r;
    char *ragged, *dense;
    int64_t length; /* of dimension `dim`: what counts; behind that a dense copy is 0 */
};

/* A row of the last dimension at most: bytes are moved as they are. */
static void move_row(const struct batch *b, const int64_t *index, int64_t n)
{
    const struct mudnn_tensor *t = &b->r->ragged.t, *d = &b->r->dense.t;
    const size_t size = dnn_size(t->type);
    const int last = t->n - 1;
    int64_t from = 0, to = 0;
    bool counts = true;
    for (int i = 1; i < last; i++) {
        from += index[i] * t->stride[i];
        to += index[i] * d->stride[i];
        counts &= i != b->r->dim || index[i] < b->length;
    }
    const int64_t known = !counts ? 0 : b->r->dim == last && b->length < n ? b->length : n;
    for (int64_t i = 0; i < n; i++) {
        char *dense = b->dense + (to + i * d->stride[last]) * (int64_t)size;
        char *ragged = b->ragged + (from + i * t->stride[last]) * (int64_t)size;
        if (i >= known && b->r->store)
            break;
        if (i >= known)
            memset(dense, 0, size);
        else if (b->r->store)
            memcpy(ragged, dense, size);
        else
            memcpy(dense, ragged, size);
    }
}

static void move_batch(void *job, unsigned which)
{
    const struct mudnn_ragged *r = job;
    const struct mudnn_tensor *t = &r->ragged.t, *o = &r->offsets.t;
    const int64_t size = (int64_t)dnn_size(t->type), factor = t->stride[r->dim] / r->step;
    const int64_t begin = r->unit * (int64_t)dnn_get(r->offsets.at, o->type, which * o->stride[0]);
    const int64_t end = r->unit * (int64_t)dnn_get(r->offsets.at, o->type, (which + 1) * o->stride[0]);
    struct batch b = {r, (char *)r->ragged.at + begin * factor * size,
                      (char *)r->dense.at + (int64_t)which * r->dense.t.stride[0] * size,
                      end > begin ? (end - begin) / r->step : 0};
    int64_t index[MUDNN_DIMS] = {0}, rows = 1;
    for (int i = 1; i < t->n - 1; i++)
        rows *= t->dim[i];
    for (int64_t row = 0; row < rows; row++) {
        int64_t left = row;
        for (int i = t->n - 2; i > 0; left /= t->dim[i], i--)
            index[i] = left % t->dim[i];
        move_row(&b, index, t->dim[t->n - 1]);
    }
}

static void run_ragged(const void *call)
{
    struct mudnn_ragged r = *(const struct mudnn_ragged *)call;
    dnn_parallel((unsigned)r.ragged.t.dim[0], move_batch, &r, 4.0 * (double)dnn_count(&r.dense.t));
}

DNN_EXPORT mudnnStatus_t mudnnHostRagged(musaStream_t stream, const struct mudnn_ragged *r)
{
    if (!dnn_size(r->ragged.t.type) || r->ragged.t.dim[0] > UINT32_MAX)
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_ragged, r, sizeof *r, 4.0 * (double)dnn_count(&r->dense.t));
}
