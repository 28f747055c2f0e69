/* Descriptors of sequences of vectors. */
#ifndef CUMU_API_CUDNN_SEQUENCE_H
#define CUMU_API_CUDNN_SEQUENCE_H

#include "abi/mudnn_heads.h"
#include "api/cudnn/dnn.h"

enum { DNN_AXES = 4 }; /* time, batch, beam and vector, the enumerators of cudnnSeqDataAxis_t */

struct dnn_sequence {
    struct dnn_object object;
    int type, width, axes[DNN_AXES], *length; /* length: of each sequence, the descriptor's own; NULL until it is set */
    struct mudnn_sequences s;
};

/* Is multi-head attention defined for the type? */
bool dnn_attends_in(int type);

#endif
