/* Recurrent layers in doubles, of doubles. */
typedef double real;
#define REAL_GEMM dgemm_
#define RNN_RUN dnn_rnn_doubles
#define REAL_VECTOR
#define REAL_NARROW
#include <math.h>

static double real_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double real_tanh(double x) { return tanh(x); }

#include "host/mudnn/rnn_pass.h"
