/* cuDNN's descriptors of sequences of vectors, for multi-head attention. */
#include "api/cudnn/sequence.h"

#include <stdlib.h>
#include <string.h>

bool dnn_attends_in(int type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF;
}

int wrap_cudnnCreateSeqDataDescriptor(void **d) { return dnn_create(DNN_SEQUENCE, sizeof(struct dnn_sequence), d); }
int wrap_cudnnDestroySeqDataDescriptor(void *d)
{
    int *length = dnn_is(DNN_SEQUENCE, d) ? ((struct dnn_sequence *)d)->length : NULL;
    int r = dnn_destroy(DNN_SEQUENCE, d);
    if (!r)
        free(length);
    return r;
}

/* dims has the places of the axes' enumerators, `axes` their order in memory, the outermost first. The vectors are the
 * innermost, and no value fills up what lies behind a sequence's end: so it is documented. */
int wrap_cudnnSetSeqDataDescriptor(void *desc, int type, int n, const int *dims, const void *order, size_t lengths,
                                   const int *length, void *fill)
{
    struct dnn_sequence *d = desc;
    const int *axes = order;
    struct mudnn_sequences s = {0};
    unsigned seen = 0;
    int64_t step = 1;
    DNN_BAD_UNLESS(dnn_is(DNN_SEQUENCE, d) && dims && axes && length && dnn_size(type));
    if (n != DNN_AXES || !dnn_attends_in(type) || fill)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < n; i++) {
        DNN_BAD_UNLESS(dims[i] > 0 && (unsigned)axes[i] <= CUDNN_SEQDATA_VECT_DIM);
        seen |= 1u << axes[i];
    }
    DNN_BAD_UNLESS(seen == (1u << DNN_AXES) - 1);
    if (axes[n - 1] != CUDNN_SEQDATA_VECT_DIM)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = n; i-- > 0; step *= dims[axes[i]]) {
        if (axes[i] != CUDNN_SEQDATA_VECT_DIM)
            s.step[axes[i]] = step;
        if (step > INT32_MAX / dims[axes[i]])
            return CUDNN_STATUS_NOT_SUPPORTED;
    }
    for (int i = 0; i < CUDNN_SEQDATA_VECT_DIM; i++)
        s.dim[i] = dims[i];
    DNN_BAD_UNLESS(lengths == (size_t)(s.dim[CUDNN_SEQDATA_BATCH_DIM] * s.dim[CUDNN_SEQDATA_BEAM_DIM]));
    for (size_t i = 0; i < lengths; i++)
        DNN_BAD_UNLESS(length[i] >= 0 && length[i] <= dims[CUDNN_SEQDATA_TIME_DIM]);
    int *copy = malloc(lengths * sizeof *copy);
    if (!copy)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(copy, length, lengths * sizeof *copy);
    free(d->length);
    d->length = copy;
    d->s = s;
    d->type = type;
    d->width = dims[CUDNN_SEQDATA_VECT_DIM];
    memcpy(d->axes, axes, sizeof d->axes);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetSeqDataDescriptor(void *desc, int *type, int *n, int wanted, int *dims, int *axes, size_t *lengths,
                                   size_t lengths_wanted, int *length, void *fill)
{
    const struct dnn_sequence *d = desc;
    (void)fill; /* there is none */
    DNN_BAD_UNLESS(dnn_is(DNN_SEQUENCE, d) && d->length && wanted >= 0);
    const size_t count = (size_t)(d->s.dim[CUDNN_SEQDATA_BATCH_DIM] * d->s.dim[CUDNN_SEQDATA_BEAM_DIM]);
    if (type)
        *type = d->type;
    if (n)
        *n = DNN_AXES;
    for (int i = 0; i < wanted && i < DNN_AXES; i++) {
        if (dims)
            dims[i] = i == CUDNN_SEQDATA_VECT_DIM ? d->width : (int)d->s.dim[i];
        if (axes)
            axes[i] = d->axes[i];
    }
    if (lengths)
        *lengths = count;
    for (size_t i = 0; length && i < lengths_wanted && i < count; i++)
        length[i] = d->length[i];
    return CUDNN_STATUS_SUCCESS;
}
