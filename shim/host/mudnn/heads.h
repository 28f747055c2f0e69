/* Passes of multi-head attention; `window` has the starts, then the ends. */
#ifndef CUMU_HOST_MUDNN_HEADS_H
#define CUMU_HOST_MUDNN_HEADS_H

#include "abi/mudnn_heads.h"
#include "host/mudnn/mudnn.h"

void dnn_heads_doubles(const struct mudnn_heads *m, const int *window);
void dnn_heads_floats(const struct mudnn_heads *m, const int *window);

#endif
