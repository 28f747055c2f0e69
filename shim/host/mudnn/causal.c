/* Convolutions of each channel over what came before (depthwise and causal, as state-space models have), and their
 * gradients. */
#include "host/mudnn/mudnn.h"

#include <stdlib.h>
#include <string.h>

#include "host/mudnn/real.h"

/* to[t] += sum over k of w[k * step] from[t + k]; a tap at a time, which vectors serve. */
REAL_VECTOR static void add_taps(float *restrict to, const float *restrict from, const float *w, int64_t taps,
                                 int64_t step, int64_t n)
{
    for (int64_t k = 0; k < taps; k++)
        for (int64_t t = 0; t < n; t++)
            to[t] += w[k * step] * from[t + k];
}
/* Eight sums side by side: one alone would wait for itself. */
REAL_VECTOR static double sum_products(const float *a, const float *b, int64_t n)
{
    double lane[8] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++)
            lane[j] += (double)a[i + j] * (double)b[i + j];
    for (; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    for (int j = 0; j < 8; j++)
        sum += lane[j];
    return sum;
}

/* z f(z)'s gradient is f (1 + z (1 - f)), f the logistic function; below -88 both are 0, where real_exp ends. */
REAL_VECTOR static void apply_silu(float *z, int64_t n)
{
    for (int64_t t = 0; t < n; t++)
        z[t] = z[t] < -88 ? 0 : z[t] / (1 + real_exp(-z[t]));
}
REAL_VECTOR static void apply_silu_gradient(float *restrict z, const float *restrict dy, int64_t n)
{
    for (int64_t t = 0; t < n; t++) {
        float f = 1 / (1 + real_exp(-z[t]));
        z[t] = z[t] < -88 ? dy[t] * 0 : dy[t] * f * (1 + z[t] * (1 - f));
    }
}

/* One channel of all batches, since its taps' gradients are sums over them. Memory: `before` holds x behind zeros, `z`
 * what f is applied to and later its gradient before zeros. */
static void run_channel(void *job, unsigned channel)
{
    const struct mudnn_causal *c = job;
    const int64_t n = c->length, taps = c->taps, ahead = taps - 1;
    float *before = maths_zeroed((size_t)(n + ahead), sizeof *before),
          *z = maths_zeroed((size_t)(n + ahead), sizeof *z);
    float *line = maths_alloc((size_t)n * sizeof *line), *w = maths_alloc((size_t)taps * sizeof *w), b;
    double *sum = maths_zeroed((size_t)taps + 1, sizeof *sum);
    if (!before || !z || !line || !w || !sum)
        goto out;
    dnn_widen(w, c->w, c->type, channel * taps, (size_t)taps);
    dnn_widen(&b, c->b, c->type, channel, 1);
    for (int64_t batch = 0; batch < c->batch; batch++) {
        const int64_t at = (batch * c->channels + channel) * n;
        dnn_widen(before + ahead, c->x, c->type, at, (size_t)n);
        if (!c->backward || c->activation == MUDNN_CAUSAL_SILU) {
            for (int64_t t = 0; t < n; t++)
                z[t] = b;
            add_taps(z, before, w, taps, 1, n);
        }
        if (c->backward)
            dnn_widen(line, c->dy, c->type, at, (size_t)n);
        if (c->activation == MUDNN_CAUSAL_SILU && c->backward)
            apply_silu_gradient(z, line, n);
        else if (c->activation == MUDNN_CAUSAL_SILU)
            apply_silu(z, n);
        else if (c->backward)
            memcpy(z, line, (size_t)n * sizeof *z);
        if (!c->backward) {
            dnn_narrow(c->y, z, c->type, at, (size_t)n);
            continue;
        }
        for (int64_t k = 0; k < taps; k++)
            sum[k] += sum_products(z, before + k, n);
        for (int64_t t = 0; t < n; t++)
            sum[taps] += (double)z[t];
        memset(line, 0, (size_t)n * sizeof *line);
        add_taps(line, z, w + ahead, taps, -1, n);
        dnn_narrow(c->dx, line, c->type, at, (size_t)n);
    }
    for (int64_t k = 0; c->backward && k <= taps; k++) {
        void *to = k < taps ? c->dw : c->db;
        int64_t at = k < taps ? channel * taps + k : channel;
        dnn_put(to, c->weight_type, at, dnn_get(to, c->weight_type, at) + sum[k]);
    }
out:
    free(before);
    free(z);
    free(line);
    free(w);
    free(sum);
}

static double count_work(const struct mudnn_causal *c)
{
    return (double)(c->backward ? 3 * c->taps + 30 : c->taps + 20) * (double)(c->batch * c->channels * c->length);
}
static void run(const void *call)
{
    struct mudnn_causal c = *(const struct mudnn_causal *)call;
    dnn_parallel((unsigned)c.channels, run_channel, &c, count_work(&c));
}

static bool is_float(int type)
{
    return type == MUDNN_DATA_FLOAT || type == MUDNN_DATA_HALF || type == MUDNN_DATA_BFLOAT16;
}
DNN_EXPORT mudnnStatus_t mudnnHostCausal(musaStream_t stream, const struct mudnn_causal *c)
{
    if (!is_float(c->type) || (c->backward && !is_float(c->weight_type)))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run, c, sizeof *c, count_work(c));
}
