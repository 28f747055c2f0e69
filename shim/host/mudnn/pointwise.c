/* Element by element: sums and products of tensors, activations and their derivatives, comparisons. */
#include "host/mudnn/pointwise.h"

#include <math.h>
#include <string.h>

static double relu(const struct mudnn_pointwise *p, double x)
{
    if (x != x)
        return p->nan ? x : p->low;
    if (x < p->low)
        return p->slope != 0 ? p->low + p->slope * (x - p->low) : p->low; /* of -infinity, too */
    return x > p->high ? p->high : x;
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(const struct mudnn_pointwise *p, double x)
{
    double z = p->softplus * x;
    return z > 30 ? x : log1p(exp(z)) / p->softplus;
}
/* 0.5 (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3), and its derivative by x */
static double gelu_gate(double x, double *derivative)
{
    const double root = 0.79788456080286535588, cube = 0.044715;
    double t = tanh(root * (x + cube * x * x * x));
    *derivative = 0.5 * (1 - t * t) * root * (1 + 3 * cube * x * x);
    return 0.5 * (1 + t);
}
static double gelu(double x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752440)); }
static double gelu_slope(double x)
{
    return 0.5 * (1 + erf(x * 0.70710678118654752440)) + x * 0.39894228040143267794 * exp(-0.5 * x * x);
}

double dnn_activate(int mode, double coefficient, double x)
{
    switch (mode) {
    case MUDNN_ACTIVATION_SIGMOID: return sigmoid(x);
    case MUDNN_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case MUDNN_ACTIVATION_TANH: return tanh(x);
    case MUDNN_ACTIVATION_CLIPPED_RELU: return x < 0 ? 0 : x > coefficient ? coefficient : x;
    case MUDNN_ACTIVATION_ELU: return x < 0 ? coefficient * expm1(x) : x;
    case MUDNN_ACTIVATION_SWISH: return x * sigmoid(coefficient * x);
    default: return x;
    }
}

static double select_min(const struct mudnn_pointwise *p, double a, double b)
{
    return p->nan && (a != a || b != b) ? NAN : fmin(a, b);
}
static double select_max(const struct mudnn_pointwise *p, double a, double b)
{
    return p->nan && (a != a || b != b) ? NAN : fmax(a, b);
}
/* dy f'(x): of sigmoid and tanh from y, where that is given. */
static double sigmoid_slope(const struct mudnn_pointwise *p, double x)
{
    double y = p->from_y ? x : sigmoid(x);
    return y * (1 - y);
}
static double tanh_slope(const struct mudnn_pointwise *p, double x)
{
    double y = p->from_y ? x : tanh(x);
    return 1 - y * y;
}
static double swish_slope(const struct mudnn_pointwise *p, double x)
{
    double s = sigmoid(p->swish * x);
    return s + p->swish * x * s * (1 - s);
}
static double elu_slope(const struct mudnn_pointwise *p, double x)
{
    return x > 0 ? 1 : p->from_y ? x + p->elu : p->elu * exp(x);
}
static double gelu_tanh_slope(double x)
{
    double d, g = gelu_gate(x, &d);
    return g + x * d;
}
static double gelu_tanh(double x)
{
    double d;
    return x * gelu_gate(x, &d);
}
static double relu_slope(const struct mudnn_pointwise *p, double x)
{
    return x > p->low ? x < p->high ? 1 : 0 : p->slope;
}

/* What of a softmax of nothing but -inf is: exponentials that are 0, and their share of a sum that is 0. */
static double masked_difference(double a, double b) { return b == -INFINITY && a == a ? b : a - b; }
static double masked_quotient(double a, double b) { return a == 0 && b == 0 ? 0 : a / b; }

/* The mode's function of a row: a[i] becomes f(a[i], b[i], t[i]). False for a mode that is none. */
static bool compute(const struct mudnn_pointwise *p, double *a, const double *b, const double *t, size_t n)
{
#define EACH(expression) \
    for (size_t i = 0; i < n; i++) \
        a[i] = (expression); \
    return true
    if (p->masked && p->mode == MUDNN_POINTWISE_SUB) {
        EACH(masked_difference(a[i], b[i]));
    }
    if (p->masked && p->mode == MUDNN_POINTWISE_DIV) {
        EACH(masked_quotient(a[i], b[i]));
    }
    switch (p->mode) {
    case MUDNN_POINTWISE_IDENTITY: return true;
    case MUDNN_POINTWISE_ADD: EACH(a[i] + b[i]);
    case MUDNN_POINTWISE_SUB: EACH(a[i] - b[i]);
    case MUDNN_POINTWISE_MUL: EACH(a[i] * b[i]);
    case MUDNN_POINTWISE_DIV: EACH(a[i] / b[i]);
    case MUDNN_POINTWISE_MIN: EACH(select_min(p, a[i], b[i]));
    case MUDNN_POINTWISE_MAX: EACH(select_max(p, a[i], b[i]));
    case MUDNN_POINTWISE_MOD: EACH(fmod(a[i], b[i]));
    case MUDNN_POINTWISE_POW: EACH(pow(a[i], b[i]));
    case MUDNN_POINTWISE_ATAN2: EACH(atan2(a[i], b[i]));
    case MUDNN_POINTWISE_ADD_SQUARE: EACH(a[i] + b[i] * b[i]);
    case MUDNN_POINTWISE_ABS: EACH(fabs(a[i]));
    case MUDNN_POINTWISE_CEIL: EACH(ceil(a[i]));
    case MUDNN_POINTWISE_FLOOR: EACH(floor(a[i]));
    case MUDNN_POINTWISE_COS: EACH(cos(a[i]));
    case MUDNN_POINTWISE_SIN: EACH(sin(a[i]));
    case MUDNN_POINTWISE_TAN: EACH(tan(a[i]));
    case MUDNN_POINTWISE_EXP: EACH(exp(a[i]));
    case MUDNN_POINTWISE_LOG: EACH(log(a[i]));
    case MUDNN_POINTWISE_NEG: EACH(-a[i]);
    case MUDNN_POINTWISE_SQRT: EACH(sqrt(a[i]));
    case MUDNN_POINTWISE_RSQRT: EACH(1 / sqrt(a[i]));
    case MUDNN_POINTWISE_RECIPROCAL: EACH(1 / a[i]);
    case MUDNN_POINTWISE_ERF: EACH(erf(a[i]));
    case MUDNN_POINTWISE_RELU_FWD: EACH(relu(p, a[i]));
    case MUDNN_POINTWISE_TANH_FWD: EACH(tanh(a[i]));
    case MUDNN_POINTWISE_SIGMOID_FWD: EACH(sigmoid(a[i]));
    case MUDNN_POINTWISE_ELU_FWD: EACH(a[i] > 0 ? a[i] : p->elu * expm1(a[i]));
    case MUDNN_POINTWISE_GELU_FWD: EACH(gelu(a[i]));
    case MUDNN_POINTWISE_GELU_APPROX_TANH_FWD: EACH(gelu_tanh(a[i]));
    case MUDNN_POINTWISE_SOFTPLUS_FWD: EACH(softplus(p, a[i]));
    case MUDNN_POINTWISE_SWISH_FWD: EACH(a[i] * sigmoid(p->swish * a[i]));
    case MUDNN_POINTWISE_RELU_BWD: EACH(a[i] * relu_slope(p, b[i]));
    case MUDNN_POINTWISE_TANH_BWD: EACH(a[i] * tanh_slope(p, b[i]));
    case MUDNN_POINTWISE_SIGMOID_BWD: EACH(a[i] * sigmoid_slope(p, b[i]));
    case MUDNN_POINTWISE_ELU_BWD: EACH(a[i] * elu_slope(p, b[i]));
    case MUDNN_POINTWISE_GELU_BWD: EACH(a[i] * gelu_slope(b[i]));
    case MUDNN_POINTWISE_GELU_APPROX_TANH_BWD: EACH(a[i] * gelu_tanh_slope(b[i]));
    case MUDNN_POINTWISE_SOFTPLUS_BWD: EACH(a[i] * sigmoid(p->softplus * b[i]));
    case MUDNN_POINTWISE_SWISH_BWD: EACH(a[i] * swish_slope(p, b[i]));
    case MUDNN_POINTWISE_CMP_EQ: EACH(a[i] == b[i]);
    case MUDNN_POINTWISE_CMP_NEQ: EACH(a[i] != b[i]);
    case MUDNN_POINTWISE_CMP_GT: EACH(a[i] > b[i]);
    case MUDNN_POINTWISE_CMP_GE: EACH(a[i] >= b[i]);
    case MUDNN_POINTWISE_CMP_LT: EACH(a[i] < b[i]);
    case MUDNN_POINTWISE_CMP_LE: EACH(a[i] <= b[i]);
    case MUDNN_POINTWISE_LOGICAL_AND: EACH(a[i] != 0 && b[i] != 0);
    case MUDNN_POINTWISE_LOGICAL_OR: EACH(a[i] != 0 || b[i] != 0);
    case MUDNN_POINTWISE_LOGICAL_NOT: EACH(a[i] == 0);
    case MUDNN_POINTWISE_BINARY_SELECT: EACH(t[i] != 0 ? a[i] : b[i]);
    default: return false;
    }
#undef EACH
}

static void scale(double *a, double by, size_t n)
{
    for (size_t i = 0; by != 1 && i < n; i++)
        a[i] *= by;
}

static void follow(const struct mudnn_pointwise *p, double *a, const double *t, size_t n)
{
    for (size_t i = 0; p->then && i < n; i++)
        a[i] = p->then == MUDNN_THEN_EXP ? exp(a[i]) : a[i] * t[i];
    if (p->factor_at)
        scale(a, dnn_get(p->factor_at, p->factor, 0), n);
}

static void row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct mudnn_pointwise *p = job;
    double a[DNN_ROW], b[DNN_ROW], t[DNN_ROW];
    if (dnn_pointwise_floats(p, at, step, n))
        return;
    dnn_load(a, p->x_at, p->x.type, at[DNN_X], step[DNN_X], n);
    scale(a, p->alpha[0], n);
    if (p->b_at) {
        dnn_load(b, p->b_at, p->b.type, at[DNN_B], step[DNN_B], n);
        scale(b, p->alpha[1], n);
    }
    if (p->t_at)
        dnn_load(t, p->t_at, p->t.type, at[DNN_T], step[DNN_T], n);
    compute(p, a, b, t, n);
    follow(p, a, t, n);
    scale(a, p->scale, n);
    if (p->beta != 0) {
        dnn_load(b, p->y_at, p->y.type, at[DNN_Y], step[DNN_Y], n);
        for (size_t i = 0; i < n; i++)
            a[i] += p->beta * b[i];
    }
    dnn_store(p->y_at, a, p->y.type, at[DNN_Y], step[DNN_Y], n);
}

static void run(const void *call)
{
    const struct mudnn_pointwise *p = call;
    const struct mudnn_tensor *const all[] = {&p->y, &p->x, p->b_at ? &p->b : &p->x, p->t_at ? &p->t : &p->x};
    struct dnn_walk w;
    dnn_plan(&w, &p->y, 4, all);
    dnn_walk(&w, true, row, (void *)(uintptr_t)p);
}

DNN_EXPORT mudnnStatus_t mudnnHostPointwise(musaStream_t stream, const struct mudnn_pointwise *p)
{
    double none[1] = {0};
    bool types = dnn_size(p->x.type) && dnn_size(p->y.type) && (!p->b_at || dnn_size(p->b.type)) &&
                 (!p->t_at || dnn_size(p->t.type));
    if (!types || !compute(p, none, none, none, 0))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run, p, sizeof *p, 16.0 * (double)dnn_count(&p->y));
}

/* ---- one value --------------------------------------------------------------------------------- */

struct fill {
    struct mudnn_tensor y;
    void *y_at;
    unsigned char value[8];
};

static void fill_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct fill *f = job;
    size_t size = dnn_size(f->y.type);
    char *to = (char *)f->y_at + (size_t)at[0] * size;
    for (size_t i = 0; i < n; i++)
        memcpy(to + (int64_t)i * step[0] * (int64_t)size, f->value, size);
}

static void run_fill(const void *call)
{
    const struct fill *f = call;
    const struct mudnn_tensor *const all[] = {&f->y};
    struct dnn_walk w;
    dnn_plan(&w, &f->y, 1, all);
    dnn_walk(&w, true, fill_row, (void *)(uintptr_t)f);
}

DNN_EXPORT mudnnStatus_t mudnnHostFill(musaStream_t stream, const struct mudnn_tensor *y, void *y_at, const void *value)
{
    struct fill f = {*y, y_at, {0}};
    if (!dnn_size(y->type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    memcpy(f.value, value, dnn_size(y->type));
    return dnn_submit(stream, MATHS_OWN_CODE, run_fill, &f, sizeof f, 8.0 * (double)dnn_count(y));
}
