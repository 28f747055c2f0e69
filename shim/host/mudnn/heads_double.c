/* Multi-head attention in doubles, of doubles. */
typedef double real;
#define REAL_GEMM dgemm_
#define REAL_EXP exp
#define HEADS_RUN dnn_heads_doubles

#include "host/mudnn/heads_pass.h"
