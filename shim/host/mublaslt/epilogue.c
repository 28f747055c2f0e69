/* What the CPU muBLASLt does after a product: factors, bias, activations and their gradients, scales. */
#include <math.h>
#include <stdlib.h>

#include "host/maths/submit.h"
#include "host/mublaslt/mublaslt.h"

enum { RELU = 2, BIAS = 4, DRELU = 8, BGRAD = 16, GELU = 32, DGELU = 64, AUX = 128, BGRADA = 256, BGRADB = 512 };

/* The approximation by tanh, and its derivative. */
static const double root = 0.7978845608028654 /* sqrt(2 / pi) */, cubic = 0.044715;
static double gelu(double x) { return 0.5 * x * (1 + tanh(root * (x + cubic * x * x * x))); }
static double gelu_slope(double x)
{
    double t = tanh(root * (x + cubic * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * cubic * x * x);
}

/* What is known of the member while its lines pass. */
struct state {
    const struct lt_call *call;
    unsigned epilogue;
    bool down, integer;                /* lines are columns; sums modulo 2^32 */
    size_t rows, cols, n;              /* n: length of a line */
    double *alpha, *beta, *bias, *sum; /* by row */
    double *x, *other;                 /* lines */
    bool any_beta;
    char *aux;
    struct mublasLtMatrixLayout aux_layout;
    double amax, aux_amax;
};

/* A value for each row: one for all, or a vector of the device. */
static void by_row(double *to, const void *at, int type, bool vector, size_t first, size_t rows)
{
    lt_load(to, at, type, vector ? first : 0, 1, vector ? rows : 1);
    for (size_t i = 1; !vector && i < rows; i++)
        to[i] = to[0];
}

static void factors(struct state *s, int member)
{
    const struct lt_call *c = s->call;
    int mode = c->desc.pointers, type = c->desc.scale;
    bool both = mode == MUBLASLT_POINTER_MODE_DEVICE_VECTOR, vector = mode >= MUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    size_t first = (size_t)(c->desc.alpha_stride * member);
    by_row(s->alpha, c->alpha_at ? c->alpha_at : &c->alpha, type, vector, first, s->rows);
    by_row(s->beta, c->beta_at ? c->beta_at : &c->beta, type, both, first, s->rows);
    double a = (c->desc.a_scale ? *c->desc.a_scale : 1.0) * (c->desc.b_scale ? *c->desc.b_scale : 1.0);
    double b = c->desc.c_scale ? *c->desc.c_scale : 1.0;
    for (size_t i = 0; i < s->rows; i++) {
        s->alpha[i] *= a;
        s->beta[i] *= b;
        s->any_beta |= s->beta[i] != 0;
    }
}

/* x = alpha x + beta c. A row whose beta is 0 takes nothing of c. */
static void combine(struct state *s, const void *c, size_t line)
{
    size_t step = s->down ? 1 : 0;
    const double *alpha = s->alpha + (s->down ? 0 : line), *beta = s->beta + (s->down ? 0 : line);
    if (s->any_beta)
        lt_load_line(s->other, c, &s->call->lc, s->down, line, s->n);
    for (size_t i = 0; i < s->n; i++) {
        double a = alpha[i * step], b = beta[i * step];
        if (s->integer)
            s->x[i] = (int)((unsigned)(int)a * (unsigned)(long long)s->x[i] +
                            (b != 0 ? (unsigned)(int)b * (unsigned)(int)s->other[i] : 0));
        else
            s->x[i] = b != 0 ? a * s->x[i] + b * s->other[i] : a * s->x[i];
    }
}

static void keep_amax(double *amax, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *amax = fabs(x[i]) > *amax ? fabs(x[i]) : *amax;
}

/* The mask of ReLU: one bit an element, the first the lowest; set where the gradient passes. */
static void store_mask(struct state *s, size_t line)
{
    unsigned char *bits = (unsigned char *)s->aux + line * (size_t)s->aux_layout.ld / 8;
    for (size_t i = 0; i < s->n; i++) {
        unsigned char bit = (unsigned char)(1u << i % 8);
        bits[i / 8] = (unsigned char)(s->x[i] > 0 ? bits[i / 8] | bit : bits[i / 8] & ~bit);
    }
}
static bool masked(const struct state *s, size_t line, size_t i)
{
    const unsigned char *bits = (const unsigned char *)s->aux + line * (size_t)s->aux_layout.ld / 8;
    return !(bits[i / 8] >> i % 8 & 1);
}

static void store_inputs(struct state *s, size_t line)
{
    const struct mublasLtMatmulDesc *desc = &s->call->desc;
    keep_amax(&s->aux_amax, s->x, s->n);
    for (size_t i = 0; i < s->n; i++)
        s->other[i] = s->x[i] * (desc->aux_scale ? *desc->aux_scale : 1.0);
    lt_store_line(s->aux, s->other, &s->aux_layout, s->down, line, s->n);
}

/* Applies the epilogue to one line of results, in double: bias, activation or its gradient, what the backward pass
 * needs, the bias's gradient. By lines, as bias and masks run along one dimension. */
static void activate(struct state *s, size_t line)
{
    unsigned e = s->epilogue;
    const struct mublasLtMatmulDesc *desc = &s->call->desc;
    double *x = s->x;
    size_t n = s->n;
    if (e & BIAS)
        for (size_t i = 0; i < n; i++)
            x[i] += s->bias[s->down ? i : line];
    if (e & RELU) {
        if (e & AUX)
            store_mask(s, line);
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] < 0 ? 0 : x[i];
    } else if (e & GELU) {
        if (e & AUX)
            store_inputs(s, line);
        for (size_t i = 0; i < n; i++)
            x[i] = gelu(x[i]);
    } else if (e & DRELU) {
        for (size_t i = 0; i < n; i++)
            x[i] = masked(s, line, i) ? 0 : x[i];
    } else if (e & DGELU) {
        lt_load_line(s->other, s->aux, &s->aux_layout, s->down, line, n);
        for (size_t i = 0; i < n; i++)
            x[i] *= gelu_slope(s->other[i] * (desc->aux_scale ? *desc->aux_scale : 1.0));
    }
    if (e & BGRAD)
        for (size_t i = 0; i < n; i++)
            s->sum[s->down ? i : line] += x[i];
}

/* Sums over k of op(a), by rows of d, or of op(b), by its columns. */
static void sum_operand(const struct lt_call *call, int member, bool of_b, void *to, int type)
{
    const struct mublasLtMatrixLayout *l = of_b ? &call->lb : &call->la;
    const void *at = lt_member(of_b ? call->b : call->a, l, member);
    bool plain = call->desc.op[of_b] == MUBLAS_OP_N, down = plain == of_b;
    size_t n = down ? l->rows : l->cols, lines = down ? l->cols : l->rows;
    double *line = maths_alloc((n + 1) * sizeof *line);
    for (size_t i = 0; line && i < lines; i++) {
        double sum = 0;
        lt_load_line(line, at, l, down, i, n);
        for (size_t p = 0; p < n; p++)
            sum += line[p];
        lt_store(to, &sum, type, i, 1, 1);
    }
    free(line);
}

static void write_amax(float *to, double amax, int member)
{
    if (to && (!member || amax > *to))
        *to = (float)amax;
}

/* Bias and ReLU of floats that lie where they belong, the bias a float of each row. Added as floats: by way of double a
 * sum of two is rounded to the same. */
static bool is_of_floats(const struct lt_call *call, const void *acc, const void *d, int bias_type)
{
    const struct mublasLtMatmulDesc *desc = &call->desc;
    return acc == d && call->ld.type == MUSA_R_32F && call->ld.order <= MUBLASLT_ORDER_ROW &&
           !(desc->epilogue & ~(unsigned)(RELU | BIAS)) && !desc->d_scale && !desc->d_amax &&
           (!(desc->epilogue & BIAS) || bias_type == MUSA_R_32F);
}
static void activate_floats(float *d, const struct mublasLtMatrixLayout *l, const float *bias, bool relu)
{
    const bool down = l->order == MUBLASLT_ORDER_COL;
    const size_t n = down ? l->rows : l->cols, lines = down ? l->cols : l->rows;
    for (size_t line = 0; line < lines; line++, d += l->ld) {
        if (bias && down)
            for (size_t i = 0; i < n; i++)
                d[i] += bias[i];
        else if (bias)
            for (size_t i = 0; i < n; i++)
                d[i] += bias[line];
        for (size_t i = 0; relu && i < n; i++)
            d[i] = d[i] < 0 ? 0 : d[i];
    }
}

void lt_epilogue(const struct lt_call *call, int member, const void *acc, const struct mublasLtMatrixLayout *sums)
{
    const struct mublasLtMatmulDesc *desc = &call->desc;
    const struct mublasLtMatrixLayout *l = &call->ld;
    void *d = (void *)(uintptr_t)lt_member(call->d, l, member);
    struct state s = {.call = call,
                      .epilogue = desc->epilogue,
                      .down = sums->order == MUBLASLT_ORDER_COL,
                      .integer = desc->scale == MUSA_R_32I,
                      .rows = l->rows,
                      .cols = l->cols};
    size_t lines = s.down ? s.cols : s.rows, longest = s.rows > s.cols ? s.rows : s.cols;
    int bias_type = lt_bias_type(desc, call->lc.type, l->type);
    char *bias = desc->bias ? (char *)desc->bias + (int64_t)lt_size(bias_type) * desc->bias_stride * member : NULL;
    if (is_of_floats(call, acc, d, bias_type)) {
        activate_floats(d, l, desc->epilogue & BIAS ? (const float *)(const void *)bias : NULL, desc->epilogue & RELU);
        return;
    }
    double *all = maths_zeroed(6 * longest, sizeof *all);
    if (!all)
        return;
    s.n = s.down ? s.rows : s.cols;
    s.alpha = all, s.beta = all + longest, s.bias = all + 2 * longest;
    s.sum = all + 3 * longest, s.x = all + 4 * longest, s.other = all + 5 * longest;
    s.aux_layout = (struct mublasLtMatrixLayout){
        .type = lt_aux_type(desc, l->type), .order = sums->order, .ld = desc->aux_ld};
    bool bits = s.epilogue & (RELU | DRELU);
    if (desc->aux)
        s.aux = (char *)desc->aux +
                (bits ? desc->aux_stride / 8 : (int64_t)lt_size(s.aux_layout.type) * desc->aux_stride) * member;
    bool done = acc == d;
    if (!done)
        factors(&s, member);
    if (s.epilogue & BIAS)
        lt_load(s.bias, bias, bias_type, 0, 1, s.rows);
    for (size_t i = 0; i < lines; i++) {
        lt_load_line(s.x, acc, sums, s.down, i, s.n);
        if (!done)
            combine(&s, lt_member(call->c, &call->lc, member), i);
        activate(&s, i);
        if (desc->d_amax)
            keep_amax(&s.amax, s.x, s.n);
        for (size_t k = 0; desc->d_scale && k < s.n; k++)
            s.x[k] *= *desc->d_scale;
        lt_store_line(d, s.x, l, s.down, i, s.n);
    }
    if (s.epilogue & BGRAD)
        lt_store(bias, s.sum, bias_type, 0, 1, s.rows);
    if (s.epilogue & (BGRADA | BGRADB))
        sum_operand(call, member, s.epilogue & BGRADB, bias, bias_type);
    write_amax(desc->d_amax, s.amax, member);
    if (s.epilogue & GELU && s.epilogue & AUX)
        write_amax(desc->aux_amax, s.aux_amax, member);
    free(all);
}
