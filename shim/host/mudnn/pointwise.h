/* What the files of operations element by element share. */
#ifndef CUMU_HOST_MUDNN_POINTWISE_H
#define CUMU_HOST_MUDNN_POINTWISE_H

#include "host/mudnn/mudnn.h"

/* Operands of their walk. */
enum { DNN_Y, DNN_X, DNN_B, DNN_T };
/* A row in floats. False: not one of those, and nothing was written. */
bool dnn_pointwise_floats(const struct mudnn_pointwise *p, const int64_t *at, const int64_t *step, size_t n);

/* The sum of products, in doubles. */
double dnn_dot_floats(const float *a, const float *b, size_t n);

#endif
