/* Element by element in floats, for operations whose result is the same so, or within 3 units of the last place: sums,
 * differences, products and quotients of floats are rounded once, be it by way of doubles or not. */
#include <string.h>

#include "host/mudnn/mudnn.h"
#include "host/mudnn/pointwise.h"
#include "host/mudnn/real.h"

/* y[i] = f(x[i], b[i]) */
#define LOOP(expression) \
    for (size_t i = 0; i < n; i++) { \
        const float u = x[i], v = b[i]; \
        (void)v; \
        y[i] = (expression); \
    } \
    return true

/* e^x up to the largest float and then infinity; below 2^-125 0. As real_exp, but 2 e^r times half the power of two, so
 * that the greatest powers are floats. */
static inline float whole_exp(float x)
{
    const float magic = 12582912.0f, v = x > 89.0f ? 89.0f : x;
    const float shifted = v * 1.44269504088896341f + magic, n = shifted - magic;
    const float r = (v - n * 0.693359375f) - n * -2.12194440e-4f;
    const float e = 2 + r * (2 + r * (1 + r * (1 / 3.0f + r * (1 / 12.0f + r * (1 / 60.0f + r * (1 / 360.0f))))));
    int32_t bits;
    float half;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int32_t)(((uint32_t)bits << 23) + 0x3f000000u); /* nobody's below the least power */
    memcpy(&half, &bits, sizeof half);
    return x < -86.6f ? 0 : e * half;
}

REAL_VECTOR static bool compute(int mode, bool masked, const float *x, const float *b, float *y, size_t n)
{
    switch (mode) {
    case MUDNN_POINTWISE_ADD: LOOP(u + v);
    case MUDNN_POINTWISE_SUB:
        if (masked) {
            LOOP(v == -INFINITY && u == u ? v : u - v);
        }
        LOOP(u - v);
    case MUDNN_POINTWISE_MUL: LOOP(u * v);
    case MUDNN_POINTWISE_DIV:
        if (masked) {
            LOOP(u == 0 && v == 0 ? 0 : u / v);
        }
        LOOP(u / v);
    case MUDNN_POINTWISE_EXP: LOOP(whole_exp(u));
    default: return false;
    }
}

/* y[i] = e^(x[i] - b[i]), or (x[i] - b[i]) t[i] factor. b's step is 0 or 1, and the loops know it. */
#define EXPONENTIATE(step) \
    for (size_t i = 0; i < n; i++) \
        y[i] = whole_exp(x[i] - b[i * (step)]);
REAL_VECTOR static void exponentiate_difference(const float *x, const float *b, bool one, float *y, size_t n)
{
    if (one) {
        EXPONENTIATE(0)
    } else {
        EXPONENTIATE(1)
    }
}
#define MULTIPLY(step) \
    for (size_t i = 0; i < n; i++) \
        y[i] = (x[i] - b[i * (step)]) * t[i] * factor;
REAL_VECTOR static void multiply_difference(const float *x, const float *b, bool one, const float *t, float factor,
                                            float *y, size_t n)
{
    if (one) {
        MULTIPLY(0)
    } else {
        MULTIPLY(1)
    }
}

REAL_VECTOR double dnn_dot_floats(const float *a, const float *b, size_t n)
{
    enum { LANES = 16 };
    double part[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            part[k] += (double)a[i + (size_t)k] * (double)b[i + (size_t)k];
    for (int k = 0; k < LANES; k++)
        sum += part[k];
    for (; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static bool is_known(int mode)
{
    return mode == MUDNN_POINTWISE_ADD || mode == MUDNN_POINTWISE_SUB || mode == MUDNN_POINTWISE_MUL ||
           mode == MUDNN_POINTWISE_DIV || mode == MUDNN_POINTWISE_EXP;
}

/* A row as floats side by side: where it lies, or in `made`. */
static const float *row_of(const void *from, int type, int64_t at, int64_t step, size_t n, float *made)
{
    if (step == 1 && type == MUDNN_DATA_FLOAT)
        return (const float *)from + at;
    if (step == 1)
        return dnn_widen(made, from, type, at, n) ? made : NULL;
    if (step != 0 || !dnn_widen(made, from, type, at, 1))
        return NULL;
    for (size_t i = 1; i < n; i++)
        made[i] = made[0];
    return made;
}

/* ---- masks -------------------------------------------------------------------------------------- */

/* What attention's masks consist of: comparisons of places, and the choice by them. Steps are 1 and 1, or 0 where one
 * number serves all: the loops know them, or they would gather. */
#define STEPS(body) \
    if (xs == 1 && bs == 1) { \
        body(1, 1) \
    } else if (xs == 1 && bs == 0) { \
        body(1, 0) \
    } else if (xs == 0 && bs == 1) { \
        body(0, 1) \
    } else { \
        body(xs, bs) \
    }
#define COMPARE(T, xs, bs) \
    for (size_t i = 0; i < n; i++) { \
        const T u = ((const T *)x)[(int64_t)i * (xs)], v = ((const T *)b)[(int64_t)i * (bs)]; \
        y[i] = mode == MUDNN_POINTWISE_CMP_EQ    ? u == v \
               : mode == MUDNN_POINTWISE_CMP_NEQ ? u != v \
               : mode == MUDNN_POINTWISE_CMP_GT  ? u > v \
               : mode == MUDNN_POINTWISE_CMP_GE  ? u >= v \
               : mode == MUDNN_POINTWISE_CMP_LT  ? u < v \
                                                 : u <= v; \
    }
#define COMPARE_PLACES(xs, bs) COMPARE(int32_t, xs, bs)
#define COMPARE_FLOATS(xs, bs) COMPARE(float, xs, bs)
#define CHOOSE(xs, bs) \
    for (size_t i = 0; i < n; i++) \
        y[i] = t[i] ? x[(int64_t)i * (xs)] : b[(int64_t)i * (bs)];
#define ADD_PLACES(xs, bs) \
    for (size_t i = 0; i < n; i++) { \
        const int64_t sum = (int64_t)x[(int64_t)i * (xs)] + b[(int64_t)i * (bs)]; \
        y[i] = (int32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum); \
    }
REAL_VECTOR static void compare_places(int mode, const void *x, int64_t xs, const void *b, int64_t bs, uint8_t *y,
                                       size_t n){STEPS(COMPARE_PLACES)} REAL_VECTOR
    static void compare_floats(int mode, const void *x, int64_t xs, const void *b, int64_t bs, uint8_t *y,
                               size_t n){STEPS(COMPARE_FLOATS)} REAL_VECTOR
    static void choose(const float *x, int64_t xs, const float *b, int64_t bs, const uint8_t *t, float *y,
                       size_t n){STEPS(CHOOSE)} REAL_VECTOR
    static void add_places(const int32_t *x, int64_t xs, const int32_t *b, int64_t bs, int32_t *y, size_t n)
{
    STEPS(ADD_PLACES)
}

static bool mask_row(const struct mudnn_pointwise *p, const int64_t *at, const int64_t *step, size_t n)
{
    const int type = p->x.type;
    const void *x = (const char *)p->x_at + at[DNN_X] * 4, *b = (const char *)p->b_at + at[DNN_B] * 4;
    if (!p->b_at || type != p->b.type || (type != MUDNN_DATA_INT32 && type != MUDNN_DATA_FLOAT))
        return false;
    if (p->mode >= MUDNN_POINTWISE_CMP_EQ && p->mode <= MUDNN_POINTWISE_CMP_LE && p->y.type == MUDNN_DATA_BOOLEAN) {
        uint8_t *y = (uint8_t *)p->y_at + at[DNN_Y];
        (type == MUDNN_DATA_INT32 ? compare_places : compare_floats)(p->mode, x, step[DNN_X], b, step[DNN_B], y, n);
        return true;
    }
    if (p->y.type != type)
        return false;
    if (p->mode == MUDNN_POINTWISE_ADD && type == MUDNN_DATA_INT32) {
        add_places(x, step[DNN_X], b, step[DNN_B], (int32_t *)p->y_at + at[DNN_Y], n);
        return true;
    }
    if (p->mode != MUDNN_POINTWISE_BINARY_SELECT || type != MUDNN_DATA_FLOAT || p->t.type != MUDNN_DATA_BOOLEAN ||
        step[DNN_T] != 1)
        return false;
    choose(x, step[DNN_X], b, step[DNN_B], (const uint8_t *)p->t_at + at[DNN_T], (float *)p->y_at + at[DNN_Y], n);
    return true;
}

/* What is only carried elsewhere stays as it is; of truth values 1 is made of what is not 0. */
static bool copy_row(const struct mudnn_pointwise *p, const int64_t *at, const int64_t *step, size_t n)
{
    const size_t size = dnn_size(p->y.type);
    if (p->mode != MUDNN_POINTWISE_IDENTITY || p->x.type != p->y.type || p->y.type == MUDNN_DATA_BOOLEAN ||
        step[DNN_X] != 1)
        return false;
    memmove((char *)p->y_at + (size_t)at[DNN_Y] * size, (const char *)p->x_at + (size_t)at[DNN_X] * size, n * size);
    return true;
}

/* A difference and what follows it; one of -infinity less itself is not among them. */
static bool follow_difference(const struct mudnn_pointwise *p, const int64_t *at, const int64_t *step, float *y,
                              size_t n)
{
    float x[DNN_ROW], b[DNN_ROW], t[DNN_ROW];
    const float factor = p->factor_at ? (float)dnn_get(p->factor_at, p->factor, 0) : 1;
    const bool one = step[DNN_B] == 0, times = p->then == MUDNN_THEN_MUL;
    const float *xs = row_of(p->x_at, p->x.type, at[DNN_X], step[DNN_X], n, x);
    const float *bs = row_of(p->b_at, p->b.type, at[DNN_B], one ? 1 : step[DNN_B], one ? 1 : n, b);
    const float *ts = times ? row_of(p->t_at, p->t.type, at[DNN_T], step[DNN_T], n, t) : xs;
    if (p->mode != MUDNN_POINTWISE_SUB || !xs || !bs || !ts || (p->factor_at && !times))
        return false;
    for (size_t i = 0; p->masked && i < (one ? 1 : n); i++)
        if (bs[i] == -INFINITY)
            return false;
    if (times)
        multiply_difference(xs, bs, one, ts, factor, y, n);
    else
        exponentiate_difference(xs, bs, one, y, n);
    return true;
}

bool dnn_pointwise_floats(const struct mudnn_pointwise *p, const int64_t *at, const int64_t *step, size_t n)
{
    float x[DNN_ROW], b[DNN_ROW], y[DNN_ROW];
    if (p->alpha[0] != 1 || (p->b_at && p->alpha[1] != 1) || p->scale != 1 || p->beta != 0 || step[DNN_Y] != 1)
        return false;
    const bool plain = p->y.type == MUDNN_DATA_FLOAT,
               narrow = p->y.type == MUDNN_DATA_HALF || p->y.type == MUDNN_DATA_BFLOAT16;
    float *to = plain ? (float *)p->y_at + at[DNN_Y] : y;
    if (p->then)
        return (plain || narrow) && follow_difference(p, at, step, to, n) &&
               (plain || dnn_narrow(p->y_at, y, p->y.type, at[DNN_Y], n));
    if (mask_row(p, at, step, n) || copy_row(p, at, step, n))
        return true;
    if (!is_known(p->mode) || (!plain && !narrow))
        return false;
    const float *xs = row_of(p->x_at, p->x.type, at[DNN_X], step[DNN_X], n, x);
    const float *bs = p->b_at ? row_of(p->b_at, p->b.type, at[DNN_B], step[DNN_B], n, b) : xs;
    if (!xs || !bs)
        return false;
    if (!compute(p->mode, p->masked, xs, bs, to, n))
        return false;
    return plain || dnn_narrow(p->y_at, y, p->y.type, at[DNN_Y], n);
}
