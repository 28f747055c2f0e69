/* Convolutions: floats by oneDNN, all else as products of matrices of doubles (im2col and BLAS), which are exact for
 * numbers of eight bits and double where the program computes in double. */
#include "host/mudnn/mudnn.h"

#include <stdlib.h>
#include <string.h>

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);

struct call {
    enum dnn_way way;
    struct mudnn_convolution c;
    struct mudnn_epilogue e;
    bool has_epilogue;
    double alpha, beta;
    const void *in[2]; /* x and w, w and y, or x and y */
    void *out;
};

/* Of each way: which of x, w, y are the operands, and which is the result. */
static const int sides[][3] = {{0, 1, 2}, {1, 2, 0}, {0, 2, 1}};
static const struct mudnn_tensor *tensor_of(const struct mudnn_convolution *c, int side)
{
    return side == 0 ? &c->x : side == 1 ? &c->w : &c->y;
}

/* ---- copies ------------------------------------------------------------------------------------ */

struct copy {
    const struct mudnn_tensor *from, *to;
    const void *from_at;
    void *to_at;
};
static void copy_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct copy *c = job;
    double v[DNN_ROW];
    if (c->to->type == MUDNN_DATA_FLOAT && step[0] == 1 && step[1] == 1 &&
        dnn_widen((float *)c->to_at + at[0], c->from_at, c->from->type, at[1], n))
        return;
    dnn_load(v, c->from_at, c->from->type, at[1], step[1], n);
    dnn_store(c->to_at, v, c->to->type, at[0], step[0], n);
}
/* The numbers of a tensor without gaps, in a type; a filter turned around where `flip`. NULL: no memory. */
static void *packed_copy(const struct mudnn_tensor *t, const void *at, int type, bool flip)
{
    struct mudnn_tensor p = dnn_packed(t, type), turned = p;
    char *to = maths_alloc((size_t)dnn_count(t) * dnn_size(type)), *first = to;
    if (!to)
        return NULL;
    for (int i = 2; flip && i < t->n; i++) {
        first += (size_t)((t->dim[i] - 1) * p.stride[i]) * dnn_size(type);
        turned.stride[i] = -p.stride[i];
    }
    struct copy c = {t, flip ? &turned : &p, at, first};
    const struct mudnn_tensor *const all[] = {c.to, t};
    struct dnn_walk w;
    dnn_plan(&w, t, 2, all);
    dnn_walk(&w, true, copy_row, &c);
    return to;
}

/* ---- the end ----------------------------------------------------------------------------------- */

struct ending {
    const struct call *call;
    const struct mudnn_tensor *out;
    struct mudnn_tensor result;
    const void *result_at;
};
enum { OUT, RESULT, Z, BIAS };

/* out = alpha result + beta out, or f(alpha result + alpha2 z + bias). */
static void end_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct ending *g = job;
    const struct call *call = g->call;
    const struct mudnn_epilogue *e = &call->e;
    double v[DNN_ROW], more[DNN_ROW];
    if (call->alpha == 1 && call->beta == 0 && !call->has_epilogue && g->result.type == MUDNN_DATA_FLOAT &&
        step[OUT] == 1 && step[RESULT] == 1 &&
        dnn_narrow(call->out, (const float *)g->result_at + at[RESULT], g->out->type, at[OUT], n))
        return;
    dnn_load(v, g->result_at, g->result.type, at[RESULT], step[RESULT], n);
    for (size_t i = 0; call->alpha != 1 && i < n; i++)
        v[i] *= call->alpha;
    if (call->beta != 0) {
        dnn_load(more, call->out, g->out->type, at[OUT], step[OUT], n);
        for (size_t i = 0; i < n; i++)
            v[i] += call->beta * more[i];
    }
    if (e->z_at) {
        dnn_load(more, e->z_at, e->z.type, at[Z], step[Z], n);
        for (size_t i = 0; i < n; i++)
            v[i] += e->alpha2 * more[i];
    }
    if (e->bias_at) {
        dnn_load(more, e->bias_at, e->bias.type, at[BIAS], step[BIAS], n);
        for (size_t i = 0; i < n; i++)
            v[i] += more[i];
    }
    for (size_t i = 0; call->has_epilogue && e->mode != MUDNN_ACTIVATION_IDENTITY && i < n; i++)
        v[i] = dnn_activate(e->mode, e->coefficient, v[i]);
    dnn_store(call->out, v, g->out->type, at[OUT], step[OUT], n);
}

static void finish(const struct call *call, const struct mudnn_tensor *out, const struct mudnn_tensor *result,
                   const void *result_at)
{
    struct ending g = {call, out, *result, result_at};
    const struct mudnn_tensor *z = call->e.z_at ? &call->e.z : out, *bias = call->e.bias_at ? &call->e.bias : out;
    const struct mudnn_tensor *const all[] = {out, &g.result, z, bias};
    struct dnn_walk w;
    dnn_plan(&w, out, 4, all);
    dnn_walk(&w, true, end_row, &g);
}

/* ---- floats ------------------------------------------------------------------------------------ */

static bool is_float(int type)
{
    return type == MUDNN_DATA_FLOAT || type == MUDNN_DATA_HALF || type == MUDNN_DATA_BFLOAT16;
}

/* bfloat16 is multiplied as it is where the CPU does that, which takes a half of the time or less; sums are floats, as
 * those of copies are. The CPU takes subnormal numbers for 0 there: operands that have any go another way. */
static bool by_bfloats(const struct call *call)
{
#if defined(__x86_64__)
    const struct mudnn_convolution *c = &call->c;
    const int *side = sides[call->way];
    struct dnn_floats f = {.way = call->way, .narrow = true, .c = c};
    void **const at[] = {&f.x, &f.w, &f.y};
    for (int i = 0; i < 3; i++)
        if (tensor_of(c, i)->type != MUDNN_DATA_BFLOAT16 || tensor_of(c, i)->vector != 1)
            return false;
    if (c->flip || c->spatial > 3 || call->alpha != 1 || call->beta != 0 || call->has_epilogue ||
        !__builtin_cpu_supports("avx512bf16") || !dnn_has_onednn())
        return false;
    for (int i = 0; i < 2; i++) {
        if (dnn_has_subnormals(call->in[i], (size_t)dnn_extent(tensor_of(c, side[i]))))
            return false;
        *at[side[i]] = (void *)(uintptr_t)call->in[i];
    }
    *at[side[2]] = call->out;
    return dnn_by_onednn(&f);
#else
    return (void)call, false;
#endif
}

/* Operands that are floats are taken where they lie, others as copies; the result is made in its place, or aside where
 * something is to be done with it that needs what is there. False: not by oneDNN. */
static bool by_floats(const struct call *call)
{
    struct dnn_floats f = {.way = call->way};
    struct mudnn_convolution c = call->c;
    const int *side = sides[call->way];
    struct mudnn_tensor *const tensors[] = {&c.x, &c.w, &c.y};
    void **const at[] = {&f.x, &f.w, &f.y};
    void *made[3] = {NULL};
    bool good = false;
    f.c = &c;
    for (int i = 0; i < 3; i++)
        if (!is_float(tensors[i]->type))
            return false;
    if (!dnn_has_onednn() || c.spatial > 3)
        return false;
    for (int i = 0; i < 2; i++) {
        struct mudnn_tensor *t = tensors[side[i]];
        bool flip = c.flip && side[i] == 1;
        *at[side[i]] = (void *)(uintptr_t)call->in[i];
        if (t->type == MUDNN_DATA_FLOAT && t->vector == 1 && !flip)
            continue;
        *at[side[i]] = made[i] = packed_copy(t, call->in[i], MUDNN_DATA_FLOAT, flip);
        if (!made[i])
            goto out;
        *t = dnn_packed(t, MUDNN_DATA_FLOAT);
    }
    struct mudnn_tensor *result = tensors[side[2]];
    const struct mudnn_tensor out = *result;
    bool turned = c.flip && side[2] == 1;
    bool aside = out.type != MUDNN_DATA_FLOAT || out.vector != 1 || call->beta != 0 || turned ||
                 (call->e.z_at && call->e.z_at == call->out);
    *at[side[2]] = call->out;
    if (aside) {
        *result = dnn_packed(result, MUDNN_DATA_FLOAT);
        *at[side[2]] = made[2] = maths_alloc((size_t)dnn_count(&out) * sizeof(float));
        if (!made[2])
            goto out;
    }
    good = dnn_by_onednn(&f);
    if (good && turned) {
        void *around = packed_copy(result, made[2], MUDNN_DATA_FLOAT, true);
        if (around)
            finish(call, &out, result, around);
        free(around);
    } else if (good && (aside || call->alpha != 1 || call->has_epilogue)) {
        finish(call, &out, result, *at[side[2]]);
    }
out:
    for (int i = 0; i < 3; i++)
        free(made[i]);
    return good;
}

/* ---- doubles ----------------------------------------------------------------------------------- */

struct columns {
    const struct mudnn_convolution *c;
    struct mudnn_tensor x, y; /* packed */
    int64_t rows, places;     /* of the matrix: channels of a group times the window; places of the result */
};

/* For each channel and element of the window, the values of x under it at all places of the result: col[rows][places].
 * Or back: what is there is added to x. */
static void unfold(const struct columns *m, double *x, double *col, bool back)
{
    const struct mudnn_convolution *c = m->c;
    int64_t window = 1;
    for (int i = 0; i < c->spatial; i++)
        window *= c->w.dim[i + 2];
    for (int64_t row = 0; row < m->rows; row++) {
        int64_t tap[MUDNN_DIMS], place[MUDNN_DIMS] = {0}, rest = row % window;
        double *image = x + row / window * m->x.stride[1], *to = col + row * m->places;
        for (int i = c->spatial - 1; i >= 0; rest /= c->w.dim[i + 2], i--)
            tap[i] = rest % c->w.dim[i + 2] * c->dilation[i] - c->pad[i];
        for (int64_t p = 0; p < m->places; p++) {
            int64_t at = 0;
            bool inside = true;
            for (int i = 0; i < c->spatial; i++) {
                int64_t k = place[i] * c->stride[i] + tap[i];
                inside &= k >= 0 && k < m->x.dim[i + 2];
                at += k * m->x.stride[i + 2];
            }
            if (back && inside)
                image[at] += to[p];
            else if (!back)
                to[p] = inside ? image[at] : 0;
            for (int i = c->spatial - 1; i >= 0 && ++place[i] == m->y.dim[i + 2]; i--)
                place[i] = 0;
        }
    }
}

/* Row by row c[m][n] = (or +=) a b, each perhaps transposed: BLAS's columns are our rows. */
static void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, const double *b, bool add,
                    double *c)
{
    const int M = (int)m, N = (int)n, K = (int)k, lda = ta ? M : K, ldb = tb ? K : N;
    const double one = 1, beta = add ? 1 : 0;
    dgemm_(tb ? "T" : "N", ta ? "T" : "N", &N, &M, &K, &one, b, &ldb, a, &lda, &beta, c, &N);
}

static void by_doubles(const struct call *call)
{
    const struct mudnn_convolution *c = &call->c;
    const int *side = sides[call->way];
    struct columns m = {c, dnn_packed(&c->x, MUDNN_DATA_DOUBLE), dnn_packed(&c->y, MUDNN_DATA_DOUBLE), 0, 0};
    const struct mudnn_tensor *out = tensor_of(c, side[2]), result = dnn_packed(out, MUDNN_DATA_DOUBLE);
    double *at[3] = {NULL}, *col;
    m.places = m.y.stride[1];
    m.rows = dnn_count(&c->w) / c->w.dim[0];
    col = maths_alloc((size_t)(m.rows * m.places) * sizeof *col);
    for (int i = 0; i < 2; i++)
        at[side[i]] = packed_copy(tensor_of(c, side[i]), call->in[i], MUDNN_DATA_DOUBLE, c->flip && side[i] == 1);
    at[side[2]] = maths_zeroed((size_t)dnn_count(out), sizeof(double));
    int64_t maps = c->w.dim[0] / c->groups, channels = c->w.dim[1];
    for (int64_t i = 0; col && at[0] && at[1] && at[2] && i < c->x.dim[0] * c->groups; i++) {
        int64_t n = i / c->groups, g = i % c->groups;
        double *x = at[0] + n * m.x.stride[0] + g * channels * m.x.stride[1];
        double *y = at[2] + n * m.y.stride[0] + g * maps * m.places, *w = at[1] + g * maps * m.rows;
        if (call->way == DNN_BACKWARD_DATA)
            product(true, false, m.rows, m.places, maps, w, y, false, col);
        unfold(&m, x, col, call->way == DNN_BACKWARD_DATA);
        if (call->way == DNN_FORWARD)
            product(false, false, maps, m.places, m.rows, w, col, false, y);
        else if (call->way == DNN_BACKWARD_FILTER)
            product(false, true, maps, m.rows, m.places, y, col, true, w);
    }
    if (col && at[0] && at[1] && at[2]) {
        double *turned = c->flip && side[2] == 1 ? packed_copy(&result, at[1], MUDNN_DATA_DOUBLE, true) : at[side[2]];
        if (turned)
            finish(call, out, &result, turned);
        if (turned != at[side[2]])
            free(turned);
    }
    free(col);
    for (int i = 0; i < 3; i++)
        free(at[i]);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static void run(const void *of)
{
    const struct call *call = of;
    const int *side = sides[call->way];
    for (int i = 0; i < 2; i++)
        dnn_touch(tensor_of(&call->c, side[i]), call->in[i], false);
    dnn_touch(tensor_of(&call->c, side[2]), call->out, true);
    if (!by_bfloats(call) && !by_floats(call))
        by_doubles(call);
}

static mudnnStatus_t submit(musaStream_t stream, struct call *call, const struct mudnn_epilogue *e)
{
    const struct mudnn_convolution *c = &call->c;
    double taps = (double)dnn_count(&c->w) / (double)c->w.dim[0];
    if (!dnn_size(c->x.type) || !dnn_size(c->w.type) || !dnn_size(c->y.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    /* BLAS counts in int */
    if (taps > 0x7fffffff || dnn_count(&c->y) / (c->y.dim[0] * c->y.dim[1]) > 0x7fffffff)
        return MUDNN_STATUS_NOT_SUPPORTED;
    if (e) {
        call->e = *e;
        call->has_epilogue = true;
        if (!e->z.n)
            call->e.z_at = NULL;
        if (!e->bias.n)
            call->e.bias_at = NULL;
    }
    for (int i = 0; i < 2; i++)
        call->in[i] = maths_operand(call->in[i]);
    call->out = maths_operand(call->out);
    return dnn_submit(stream, MATHS_LIBRARY, run, call, sizeof *call, 2 * taps * (double)dnn_count(&c->y));
}

DNN_EXPORT mudnnStatus_t mudnnHostConvolutionForward(musaStream_t stream, const struct mudnn_convolution *c,
                                                     double alpha, const void *x, const void *w, double beta, void *y,
                                                     const struct mudnn_epilogue *e)
{
    struct call call = {.way = DNN_FORWARD, .c = *c, .alpha = alpha, .beta = beta, .in = {x, w}, .out = y};
    return submit(stream, &call, e);
}
DNN_EXPORT mudnnStatus_t mudnnHostConvolutionBackwardData(musaStream_t stream, const struct mudnn_convolution *c,
                                                          double alpha, const void *w, const void *y, double beta,
                                                          void *x)
{
    struct call call = {.way = DNN_BACKWARD_DATA, .c = *c, .alpha = alpha, .beta = beta, .in = {w, y}, .out = x};
    return submit(stream, &call, NULL);
}
DNN_EXPORT mudnnStatus_t mudnnHostConvolutionBackwardFilter(musaStream_t stream, const struct mudnn_convolution *c,
                                                            double alpha, const void *x, const void *y, double beta,
                                                            void *w)
{
    struct call call = {.way = DNN_BACKWARD_FILTER, .c = *c, .alpha = alpha, .beta = beta, .in = {x, y}, .out = w};
    return submit(stream, &call, NULL);
}
