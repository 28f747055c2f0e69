/* Multi-head attention in floats, of floats and halves. */
typedef float real;
#define REAL_GEMM sgemm_
#define REAL_EXP expf
#define HEADS_RUN dnn_heads_floats

#include "host/mudnn/heads_pass.h"
