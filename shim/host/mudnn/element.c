/* Numbers of all types as doubles, and walks over tensors. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <string.h>

#include "host/maths/element.h"
#include "host/maths/parallel.h"

size_t dnn_size(int type)
{
    switch (type) {
    case MUDNN_DATA_DOUBLE:
    case MUDNN_DATA_INT64: return 8;
    case MUDNN_DATA_FLOAT:
    case MUDNN_DATA_UINT32:
    case MUDNN_DATA_INT32: return 4;
    case MUDNN_DATA_HALF:
    case MUDNN_DATA_BFLOAT16: return 2;
    case MUDNN_DATA_INT8:
    case MUDNN_DATA_UINT8:
    case MUDNN_DATA_BOOLEAN:
    case MUDNN_DATA_FP8_E4M3:
    case MUDNN_DATA_FP8_E5M2: return 1;
    default: return 0;
    }
}

#define LOAD(T, expression) \
    { \
        const T *p = (const T *)from + first; \
        if (step == 1) \
            for (size_t i = 0; i < n; i++) { \
                T v = p[i]; \
                to[i] = (double)(expression); \
            } \
        else \
            for (size_t i = 0; i < n; i++) { \
                T v = p[(int64_t)i * step]; \
                to[i] = (double)(expression); \
            } \
        break; \
    }
void dnn_load(double *to, const void *from, int type, int64_t first, int64_t step, size_t n)
{
    switch (type) {
    case MUDNN_DATA_DOUBLE: LOAD(double, v)
    case MUDNN_DATA_FLOAT: LOAD(float, v)
    case MUDNN_DATA_HALF: LOAD(uint16_t, f16_to_f32(v))
    case MUDNN_DATA_BFLOAT16: LOAD(uint16_t, bf16_to_f32(v))
    case MUDNN_DATA_INT64: LOAD(int64_t, v)
    case MUDNN_DATA_INT32: LOAD(int32_t, v)
    case MUDNN_DATA_UINT32: LOAD(uint32_t, v)
    case MUDNN_DATA_INT8: LOAD(int8_t, v)
    case MUDNN_DATA_UINT8: LOAD(uint8_t, v)
    case MUDNN_DATA_BOOLEAN: LOAD(uint8_t, v != 0)
    case MUDNN_DATA_FP8_E4M3: LOAD(uint8_t, maths_from_e4m3(v))
    case MUDNN_DATA_FP8_E5M2: LOAD(uint8_t, maths_from_e5m2(v))
    default: memset(to, 0, n * sizeof *to);
    }
}

/* To the nearest integer of a type, as the devices convert: even, bounded, NaN to 0. */
static inline double whole(double v, double least, double most)
{
    v = v != v ? 0 : rint(v);
    return v < least ? least : v > most ? most : v;
}
#define STORE(T, expression) \
    { \
        T *p = (T *)to + first; \
        for (size_t i = 0; i < n; i++) { \
            double v = from[i]; \
            p[(int64_t)i * step] = (T)(expression); \
        } \
        break; \
    }
void dnn_store(void *to, const double *from, int type, int64_t first, int64_t step, size_t n)
{
    switch (type) {
    case MUDNN_DATA_DOUBLE: STORE(double, v)
    case MUDNN_DATA_FLOAT: STORE(float, v)
    case MUDNN_DATA_HALF: STORE(uint16_t, f32_to_f16((float)v))
    case MUDNN_DATA_BFLOAT16: STORE(uint16_t, f32_to_bf16((float)v))
    case MUDNN_DATA_INT64: STORE(int64_t, whole(v, -0x1p63, 0x1.fffffffffffffp62))
    case MUDNN_DATA_INT32: STORE(int32_t, whole(v, -0x1p31, 0x1p31 - 1))
    case MUDNN_DATA_UINT32: STORE(uint32_t, whole(v, 0, 0x1p32 - 1))
    case MUDNN_DATA_INT8: STORE(int8_t, whole(v, -128, 127))
    case MUDNN_DATA_UINT8: STORE(uint8_t, whole(v, 0, 255))
    case MUDNN_DATA_BOOLEAN: STORE(uint8_t, v != 0)
    case MUDNN_DATA_FP8_E4M3: STORE(uint8_t, maths_to_e4m3((float)v))
    case MUDNN_DATA_FP8_E5M2: STORE(uint8_t, maths_to_e5m2((float)v))
    default: break;
    }
}

/* ---- shapes ------------------------------------------------------------------------------------ */

int64_t dnn_count(const struct mudnn_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->n; i++)
        n *= t->dim[i];
    return n;
}

int64_t dnn_extent(const struct mudnn_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->n; i++)
        last += (i == 1 ? (t->dim[i] - 1) / t->vector : t->dim[i] - 1) * t->stride[i];
    return last + t->vector;
}

int64_t dnn_place(const struct mudnn_tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int i = 0; i < t->n; i++)
        at += i == 1 && t->vector > 1 ? index[i] / t->vector * t->stride[i] + index[i] % t->vector
                                      : index[i] * t->stride[i];
    return at;
}

int64_t dnn_count_rows(const struct mudnn_tensor *t) { return dnn_count(t) / t->dim[t->n - 1]; }

int64_t dnn_row_place(const struct mudnn_tensor *t, const struct mudnn_tensor *shape, int64_t row)
{
    int64_t at = 0;
    for (int d = shape->n - 2; d >= 0; row /= shape->dim[d], d--)
        at += t->dim[d] == 1 ? 0 : row % shape->dim[d] * t->stride[d];
    return at;
}

struct mudnn_tensor dnn_packed(const struct mudnn_tensor *t, int type)
{
    struct mudnn_tensor p = *t;
    int64_t step = 1;
    p.type = type;
    p.vector = 1;
    for (int i = p.n; i-- > 0; step *= p.dim[i])
        p.stride[i] = step;
    return p;
}

void dnn_touch(const struct mudnn_tensor *t, const void *at, bool write)
{
    size_t bytes = (size_t)dnn_extent(t) * dnn_size(t->type);
    volatile unsigned char *p = (volatile unsigned char *)(uintptr_t)at;
    if (cumu_task_knows(at, bytes)) /* a look at each page is an eighth of a normalisation's time */
        return;
    for (size_t i = 0; i < bytes; i = i + 4096 < bytes || i == bytes - 1 ? i + 4096 : bytes - 1) {
        unsigned char byte = p[i];
        if (write)
            p[i] = byte;
    }
}

/* ---- walks ------------------------------------------------------------------------------------- */

/* Vectors of channels are a dimension of their own here, the last. Where operands have vectors of two lengths, as of 4
 * and 32, there are two: the shorter vectors in a longer one, and the channels of the shorter. */
static void split_channels(struct dnn_walk *w, const struct mudnn_tensor *shape, unsigned operands,
                           const struct mudnn_tensor *const operand[])
{
    int longest = shape->vector, shortest = shape->vector;
    for (unsigned k = 0; k < operands; k++) {
        int vector = operand[k]->vector;
        longest = vector > longest ? vector : longest;
        shortest = vector > 1 && (shortest == 1 || vector < shortest) ? vector : shortest;
    }
    w->operands = operands;
    w->n = shape->n;
    for (int i = 0; i < shape->n; i++) {
        w->dim[i] = shape->dim[i];
        for (unsigned k = 0; k < operands; k++)
            w->step[k][i] = operand[k]->dim[i] == 1 ? 0 : operand[k]->stride[i];
    }
    if (longest == 1)
        return;
    w->dim[1] /= longest;
    w->dim[w->n] = longest / shortest;
    w->dim[w->n + 1] = shortest;
    for (unsigned k = 0; k < operands; k++) {
        const struct mudnn_tensor *t = operand[k];
        /* From one channel to the next within a vector, and from one vector of `shortest` to the next. */
        int64_t channel = t->dim[1] == 1 ? 0 : t->vector == 1 ? t->stride[1] : 1;
        int64_t vector = t->dim[1] == 1 ? 0 : t->vector == shortest ? t->stride[1] : channel * shortest;
        w->step[k][w->n + 1] = channel;
        w->step[k][w->n] = vector;
        w->step[k][1] = t->dim[1] == 1 ? 0 : t->vector == longest ? t->stride[1] : vector * (longest / shortest);
    }
    w->n += 2;
}

static void exchange(struct dnn_walk *w, int a, int b)
{
    int64_t t = w->dim[a];
    w->dim[a] = w->dim[b], w->dim[b] = t;
    for (unsigned k = 0; k < w->operands; k++)
        t = w->step[k][a], w->step[k][a] = w->step[k][b], w->step[k][b] = t;
}

/* Dimensions of length 1 go, the others are ordered by operand 0's strides, the smallest last, and neighbours that are
 * one dimension to every operand become one. */
void dnn_plan(struct dnn_walk *w, const struct mudnn_tensor *shape, unsigned operands,
              const struct mudnn_tensor *const operand[])
{
    int n = 0;
    split_channels(w, shape, operands, operand);
    for (int i = 0; i < w->n; i++)
        if (w->dim[i] != 1)
            exchange(w, n++, i);
    w->n = n;
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && w->step[0][k - 1] < w->step[0][k]; k--)
            exchange(w, k - 1, k);
    for (int i = n - 2; i >= 0; i--) {
        bool one = true;
        for (unsigned k = 0; k < operands; k++)
            one &= w->step[k][i] == w->step[k][i + 1] * w->dim[i + 1];
        if (!one)
            continue;
        w->dim[i + 1] *= w->dim[i];
        for (int m = i; m < w->n - 1; m++) {
            w->dim[m] = w->dim[m + 1];
            for (unsigned k = 0; k < operands; k++)
                w->step[k][m] = w->step[k][m + 1];
        }
        w->n--;
    }
    if (!w->n) {
        w->dim[w->n++] = 1;
        for (unsigned k = 0; k < operands; k++)
            w->step[k][0] = 0;
    }
}

struct walking {
    const struct dnn_walk *w;
    dnn_row *row;
    void *job;
    int64_t rows, pieces, parts; /* rows, and pieces of each */
};

static void walk_part(void *of, unsigned part)
{
    const struct walking *g = of;
    const struct dnn_walk *w = g->w;
    const int last = w->n - 1;
    int64_t total = g->rows * g->pieces, from = total * part / g->parts, to = total * (part + 1) / g->parts;
    int64_t at[DNN_OPERANDS], step[DNN_OPERANDS];
    for (unsigned k = 0; k < w->operands; k++)
        step[k] = w->step[k][last];
    for (int64_t i = from; i < to; i++) {
        int64_t row = i / g->pieces, begin = i % g->pieces * DNN_ROW, left = w->dim[last] - begin;
        for (unsigned k = 0; k < w->operands; k++)
            at[k] = begin * step[k];
        for (int d = last - 1; d >= 0; row /= w->dim[d], d--)
            for (unsigned k = 0; k < w->operands; k++)
                at[k] += row % w->dim[d] * w->step[k][d];
        g->row(g->job, at, step, left < DNN_ROW ? (size_t)left : DNN_ROW);
    }
}

void dnn_walk(const struct dnn_walk *w, bool parallel, dnn_row *row, void *job)
{
    struct walking g = {w, row, job, 1, (w->dim[w->n - 1] + DNN_ROW - 1) / DNN_ROW, 1};
    for (int i = 0; i + 1 < w->n; i++)
        g.rows *= w->dim[i];
    if (parallel && g.rows * w->dim[w->n - 1] > 1 << 16)
        g.parts = g.rows * g.pieces < 32 ? g.rows * g.pieces : 32;
    if (g.parts > 1)
        maths_parallel((unsigned)g.parts, walk_part, &g);
    else
        walk_part(&g, 0);
}

struct copy {
    const struct mudnn_tensor *t;
    void *at;
    double *v, alpha, beta;
};
static void read_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct copy *c = job;
    double v[DNN_ROW];
    dnn_load(v, c->at, c->t->type, at[1], step[1], n);
    dnn_store(c->v, v, MUDNN_DATA_DOUBLE, at[0], step[0], n);
}
double *dnn_read(const struct mudnn_tensor *t, const void *at)
{
    struct mudnn_tensor packed = dnn_packed(t, MUDNN_DATA_DOUBLE);
    struct copy c = {t, (void *)(uintptr_t)at, maths_alloc((size_t)dnn_count(t) * sizeof(double)), 1, 0};
    const struct mudnn_tensor *const all[] = {&packed, t};
    struct dnn_walk w;
    if (c.v) {
        dnn_plan(&w, t, 2, all);
        dnn_walk(&w, true, read_row, &c);
    }
    return c.v;
}
static void blend_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct copy *c = job;
    double v[DNN_ROW], old[DNN_ROW];
    dnn_load(v, c->v, MUDNN_DATA_DOUBLE, at[1], step[1], n);
    if (c->beta != 0)
        dnn_load(old, c->at, c->t->type, at[0], step[0], n);
    for (size_t i = 0; i < n; i++)
        v[i] = c->alpha * v[i] + (c->beta != 0 ? c->beta * old[i] : 0);
    dnn_store(c->at, v, c->t->type, at[0], step[0], n);
}
void dnn_blend(const struct mudnn_tensor *t, void *at, const double *v, double alpha, double beta)
{
    struct mudnn_tensor packed = dnn_packed(t, MUDNN_DATA_DOUBLE);
    struct copy c = {t, at, (double *)(uintptr_t)v, alpha, beta};
    const struct mudnn_tensor *const all[] = {t, &packed};
    struct dnn_walk w;
    dnn_plan(&w, t, 2, all);
    dnn_walk(&w, true, blend_row, &c);
}

mudnnStatus_t dnn_submit(musaStream_t stream, enum maths_code code, void (*run)(const void *call), const void *call,
                         size_t size, double work)
{
    switch (maths_submit(stream, (struct maths_work){code, run, NULL}, call, size, work)) {
    case musaSuccess: return MUDNN_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUDNN_STATUS_ALLOC_FAILED;
    default: return MUDNN_STATUS_EXECUTION_FAILED;
    }
}

void dnn_parallel(unsigned parts, void (*part)(void *job, unsigned i), void *job, double work)
{
    if (work > 1e6)
        maths_parallel(parts, part, job);
    else
        for (unsigned i = 0; i < parts; i++)
            part(job, i);
}
