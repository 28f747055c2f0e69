/* Recurrent layers in floats, of floats and what is narrower. The functions of the gates are without branches, so that
 * the compiler makes vectors of their loops. */
typedef float real;
#define REAL_GEMM sgemm_
#define RNN_RUN dnn_rnn_floats
#include "host/mudnn/real.h"

static inline float real_sigmoid(float x) { return 1 / (1 + real_exp(-x)); }
/* Near 0 by its series, so that small numbers keep their digits. */
static inline float real_tanh(float x)
{
    float s = x * x;
    float near =
        x + x * s * (-1 / 3.0f + s * (2 / 15.0f + s * (-17 / 315.0f + s * (62 / 2835.0f - s * (1382 / 155925.0f)))));
    float far = 1 - 2 / (real_exp(2 * x) + 1);
    return s < 0.09f ? near : far;
}

#include "host/mudnn/rnn_pass.h"
