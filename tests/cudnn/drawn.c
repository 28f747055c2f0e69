/* Operation graphs that are drawn: element by element, reductions and products, over tensors of all orders and types
 * that stand for one another by dimensions of 1, some of them virtual, some ragged, against plain loops. Every number
 * is a multiple of a power of two that float holds exactly, so that only the types of results round. */
#include "graph.h"

enum { TENSORS = 20, DIMS = 4, MOST_BITS = 23, OFFSETS_UID = 100, LENGTHS_UID = 200, INEXACT = 1000 };
struct value {
    struct tensor t;
    desc d;
    bool is_virtual;
    /* A ragged tensor lies in `rows`, of which each batch has as much as it is long of the dimension `along`, 1 to 3;
     * what it has beyond that is 0 if it is read, and never stored. */
    int along, length[DIMS];
    struct tensor rows, offsets;
    int quantum;  /* every element is a multiple of 2^-quantum */
    double bound; /* and none is greater */
};
static struct value pool[TENSORS];
static int values;
static bool in_chain; /* most are floats that nobody sees, each made of the one before: what plans make one node of */
static bool in_rows;  /* many are ragged, and products have lengths */
static struct tensor lengths[TENSORS];
static int lengths_count;
static const int types[] = {F32, F16, BF16, F64};

static bool is_exact(int quantum, double bound) { return ldexp(bound, quantum) < ldexp(1, MOST_BITS) && bound < 30000; }

/* An element by its index in the whole shape. */
static double element(const struct value *v, const int *index)
{
    int at = 0;
    for (int i = 0; i < DIMS; i++)
        at = at * v->t.dim[i] + (v->t.dim[i] == 1 ? 0 : index[i]);
    return v->t.v[at];
}

/* Where an element of a ragged tensor lies; false: nowhere. */
static bool is_stored(const struct value *v, const int *index, int *at)
{
    *at = (int)v->offsets.v[index[0]] * (v->offsets.unit ? v->offsets.unit : 1);
    for (int i = 1; i < DIMS; i++)
        *at += index[i] * v->t.stride[i];
    return index[v->along] < v->length[index[0]];
}
static void next(int *index, const int *dim)
{
    for (int i = DIMS; i-- > 0 && ++index[i] == dim[i];)
        index[i] = 0;
}
/* Makes rows of a value whose batches lie behind one another anyway. */
static void make_ragged(struct value *v)
{
    const struct tensor *t = &v->t;
    int all = upto(2) * upto(20), index[DIMS] = {0}, at;
    for (int i = v->along = 1; i < DIMS; i++)
        v->along = t->dim[i] > 1 && (t->dim[v->along] == 1 || t->stride[i] > t->stride[v->along]) ? i : v->along;
    const int step = t->stride[v->along];
    v->offsets = make(upto(2) ? I64 : I32, DIMS, (int[]){t->dim[0] + 1, 1, 1, 1}, NCHW, false, false);
    v->offsets.unit = upto(2) ? step : 0;
    for (int b = 0; b <= t->dim[0]; b++) {
        v->offsets.v[b] = all * (v->offsets.unit ? 1 : step);
        if (b < t->dim[0])
            all += v->length[b] = upto(t->dim[v->along] + 1);
    }
    upload(&v->offsets);
    v->rows = make(t->type, 3, (int[]){1, 1, all * step + (int)t->size}, NCHW, false, false);
    for (int i = 0; i < count(t); i++, next(index, t->dim))
        if (is_stored(v, index, &at))
            v->rows.v[at] = t->v[i];
        else
            v->t.v[i] = 0;
    upload(&v->rows);
}

/* A view of another, or (NULL) a tensor of its own. */
static struct value *place_value(int type, const int *dim, const struct value *viewed, bool is_virtual)
{
    struct value *v = &pool[values++];
    *v = (struct value){.is_virtual = is_virtual, .quantum = 3, .bound = 2};
    v->t = make(type, DIMS, dim, upto(2) ? NHWC : NCHW, upto(2), false);
    struct tensor *t = &v->t;
    if (viewed) {
        const int *step = viewed->t.stride, stride[DIMS] = {step[0], step[1], step[3], step[2]};
        cudaFree(t->at), free(t->host);
        t->size = viewed->t.size;
        memcpy(t->stride, stride, sizeof stride);
        t->host = calloc(t->size, bytes(type));
        for (size_t i = 0; i < t->size; i++)
            put(t->host, type, i, 7);
        MUST(cudaMalloc(&t->at, t->size * bytes(type)));
        upload(t);
    }
    bool behind = !viewed || viewed->along || (int)t->size == count(t); /* rows have no gaps that a view could have */
    for (int i = 1; i < DIMS; i++)
        behind &= t->stride[0] > t->stride[i];
    if (!in_rows || !behind || !upto(3)) {
        v->d = describe(values, type, DIMS, dim, t->stride, is_virtual ? VIRTUAL : REAL);
        return v;
    }
    make_ragged(v);
    v->d = begin_tensor(values, type, DIMS, dim, t->stride, is_virtual ? VIRTUAL : REAL);
    set_desc(v->d, A(TENSOR_RAGGED_OFFSET_DESC), of(&v->offsets, values + OFFSETS_UID));
    if (v->offsets.unit)
        set_int(v->d, A(TENSOR_RAGGED_OFFSET_MULTIPLIER), v->offsets.unit);
    OK(finalize(v->d));
    return v;
}
static int draw_type(void) { return types[in_chain && upto(4) ? 0 : upto(4)]; }
static struct value *add_value(const int *dim, bool is_virtual)
{
    return place_value(draw_type(), dim, NULL, is_virtual);
}
/* What the reference computed, as the result's type holds it. */
static void keep(struct value *y, int quantum, double bound)
{
    char held_as[8];
    y->quantum = quantum, y->bound = bound * 1.01; /* it may be rounded up */
    for (int i = 0; i < count(&y->t); i++) {
        put(held_as, y->t.type, 0, y->t.v[i]);
        y->t.v[i] = get(held_as, y->t.type, 0);
    }
}

static desc draw_exponential(const struct value *a, bool is_virtual)
{
    if (!is_exact(a->quantum, a->bound) || a->bound > 8)
        return NULL;
    struct value *y = add_value(a->t.dim, is_virtual);
    for (int i = 0; i < count(&y->t); i++)
        y->t.v[i] = exp(a->t.v[i]);
    keep(y, INEXACT, exp(a->bound));
    return apply(CUDNN_POINTWISE_EXP, a->d, NULL, y->d);
}

static desc draw_pointwise(const struct value *a, const struct value *b, bool is_virtual)
{
    static const int modes[] = {CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_SUB, CUDNN_POINTWISE_MUL,
                                CUDNN_POINTWISE_MAX, CUDNN_POINTWISE_MIN, CUDNN_POINTWISE_RELU_FWD,
                                CUDNN_POINTWISE_ABS, CUDNN_POINTWISE_NEG, CUDNN_POINTWISE_IDENTITY};
    int which = in_chain && upto(2) ? 1 + upto(2) : upto(9), dim[DIMS], index[DIMS] = {0};
    int quantum = which == 2  ? a->quantum + b->quantum
                  : which < 5 ? (a->quantum > b->quantum ? a->quantum : b->quantum)
                              : a->quantum;
    double bound = which == 2 ? a->bound * b->bound : which < 2 ? a->bound + b->bound : fmax(a->bound, b->bound);
    if (!is_exact(quantum, bound))
        return NULL;
    for (int i = 0; which < 5 && i < DIMS; i++) /* as a view's need not */
        if (a->t.dim[i] != b->t.dim[i] && a->t.dim[i] != 1 && b->t.dim[i] != 1)
            return NULL;
    for (int i = 0; i < DIMS; i++)
        dim[i] = which < 5 && b->t.dim[i] > a->t.dim[i] ? b->t.dim[i] : a->t.dim[i];
    struct value *y = add_value(dim, is_virtual);
    for (int i = 0; i < count(&y->t); i++, next(index, dim)) {
        double u = element(a, index), v = which < 5 ? element(b, index) : 0;
        const double results[] = {u + v, u - v, u * v, fmax(u, v), fmin(u, v), fmax(u, 0), fabs(u), -u, u};
        y->t.v[i] = results[which];
    }
    keep(y, quantum, bound);
    return apply(modes[which], a->d, which < 5 ? b->d : NULL, y->d);
}

static desc draw_reduction(const struct value *a, bool is_virtual)
{
    static const int modes[] = {CUDNN_REDUCE_TENSOR_ADD, CUDNN_REDUCE_TENSOR_MAX, CUDNN_REDUCE_TENSOR_MIN,
                                CUDNN_REDUCE_TENSOR_AMAX};
    int which = upto(in_chain ? 2 : 4), dim[DIMS], index[DIMS] = {0};
    for (int i = 0; i < DIMS; i++)
        dim[i] = upto(2) ? 1 : a->t.dim[i];
    double bound = which == 0 ? a->bound * count(&a->t) : a->bound;
    if (!is_exact(a->quantum, bound))
        return NULL;
    struct value *y = add_value(dim, is_virtual);
    for (int i = 0; i < count(&y->t); i++)
        y->t.v[i] = which == 1 ? -INFINITY : which == 2 ? INFINITY : 0;
    for (int i = 0; i < count(&a->t); i++, next(index, a->t.dim)) {
        int to = 0;
        for (int k = 0; k < DIMS; k++)
            to = to * dim[k] + (dim[k] == 1 ? 0 : index[k]);
        double v = a->t.v[i], *at = &y->t.v[to];
        const double results[] = {*at + v, fmax(*at, v), fmin(*at, v), fmax(*at, fabs(v))};
        *at = results[which];
    }
    keep(y, a->quantum, bound);
    return reduce(modes[which], a->d, y->d);
}

/* How many rows, columns or members of a product count in each batch, of which there are more than `most` at times. */
static desc draw_lengths(int batches, int most, double *length)
{
    for (int b = 0; b < batches; b++)
        length[b] = most;
    if (!in_rows || upto(3))
        return NULL;
    struct tensor *t = &lengths[lengths_count++];
    *t = make(I32, DIMS, (int[]){batches, 1, 1, 1}, NCHW, false, false);
    for (int b = 0; b < batches; b++)
        length[b] = t->v[b] = upto(most + 2);
    upload(t);
    return of(t, LENGTHS_UID + lengths_count - 1);
}

static desc draw_product(const struct value *a, const struct value *b, bool is_virtual)
{
    const int inner = a->t.dim[3], quantum = a->quantum + b->quantum;
    int dim[DIMS], index[DIMS] = {0};
    double bound = a->bound * b->bound * inner, length[3][DIMS];
    const double padding = in_rows && !upto(3) ? (upto(33) - 16) / 8.0 : 0;
    if (inner != b->t.dim[2] || !is_exact(quantum, bound) || lengths_count + 3 > TENSORS)
        return NULL;
    for (int i = 0; i < 2; i++)
        dim[i] = a->t.dim[i] > b->t.dim[i] ? a->t.dim[i] : b->t.dim[i];
    dim[2] = a->t.dim[2], dim[3] = b->t.dim[3];
    struct value *y = add_value(dim, is_virtual);
    desc l[3];
    for (int i = 0; i < 3; i++)
        l[i] = draw_lengths(dim[0], i == 2 ? inner : dim[2 + i], length[i]);
    for (int i = 0; i < count(&y->t); i++, next(index, dim)) {
        const bool counts = index[2] < length[0][index[0]] && index[3] < length[1][index[0]];
        y->t.v[i] = counts ? 0 : padding;
        for (int k = 0; counts && k < inner && k < length[2][index[0]]; k++)
            y->t.v[i] += element(a, (int[]){index[0], index[1], index[2], k}) *
                         element(b, (int[]){index[0], index[1], k, index[3]});
    }
    keep(y, quantum > 3 ? quantum : 3, fmax(bound, fabs(padding)));
    return padded_product(a->d, b->d, y->d, l[0], l[1], l[2], padding);
}

/* The transposed matrices of a tensor, which lie as it does. */
static desc draw_view(const struct value *a, bool is_virtual)
{
    const int *d = a->t.dim, dim[DIMS] = {d[0], d[1], d[3], d[2]};
    int index[DIMS] = {0};
    struct value *y = place_value(upto(2) ? a->t.type : draw_type(), dim, a, is_virtual);
    for (int i = 0; i < count(&y->t); i++, next(index, dim))
        y->t.v[i] = element(a, (int[]){index[0], index[1], index[3], index[2]});
    keep(y, a->quantum, a->bound);
    desc op = create(KIND(OPERATION_RESHAPE));
    set_desc(op, A(OPERATION_RESHAPE_XDESC), a->d);
    set_desc(op, A(OPERATION_RESHAPE_YDESC), y->d);
    OK(finalize(op));
    return op;
}

/* What a graph wrote, and what it may not have written. */
static void look(const struct value *v, const char *what)
{
    int index[DIMS] = {0}, at;
    if (v->is_virtual)
        return;
    for (int i = 0; v->along && i < count(&v->t); i++, next(index, v->t.dim))
        if (is_stored(v, index, &at))
            v->rows.v[at] = v->t.v[i];
    /* an exponential is held as float somewhere, maybe, and rounded the other way */
    const double scale = v->quantum == INEXACT && v->t.type == F64 ? v->bound * 1e-6 / tolerance(F64) : 0;
    same(v->along ? &v->rows : &v->t, v->along ? v->rows.v : v->t.v, scale, what);
}

/* Whether it was taken. */
static bool draw_graph(int number)
{
    int whole[DIMS] = {1 + upto(3), 1 + upto(5), 1 + upto(6), 0}, ops = 0, n = 0, inputs = 2 + upto(3);
    const int wanted = 1 + upto(6);
    desc op[TENSORS];
    int64_t uid[3 * TENSORS];
    void *at[3 * TENSORS];
    char what[48];
    whole[3] = upto(2) ? whole[2] : 1 + upto(6);
    values = lengths_count = 0, in_chain = number % 2, in_rows = number % 4 > 1;
    for (int i = 0; i < inputs; i++) {
        int dim[DIMS];
        for (int k = 0; k < DIMS; k++)
            dim[k] = in_rows && i == 1 ? 1 : upto(4) && i ? whole[k] : i ? 1 : whole[k];
        add_value(dim, false);
    }
    for (int tries = 0; tries < 60 && ops < wanted && values < TENSORS; tries++) {
        /* most operations read what the last one wrote */
        const struct value *a = &pool[upto(in_chain ? 8 : 3) ? values - 1 : upto(values)], *b = &pool[upto(values)];
        const bool is_virtual = ops + 1 < wanted && upto(in_chain ? 8 : 2);
        int kind = upto(in_rows ? 8 : 7);
        op[ops] = kind < 4    ? draw_pointwise(a, b, is_virtual)
                  : kind == 7 ? draw_exponential(a, is_virtual)
                  : kind == 4 ? draw_reduction(a, is_virtual)
                  : kind == 5 ? draw_view(a, is_virtual)
                              : draw_product(a, b, is_virtual);
        ops += op[ops] != NULL;
    }
    for (int i = ops; i-- > 1;) { /* in any order */
        int k = upto(i + 1);
        desc o = op[i];
        op[i] = op[k], op[k] = o;
    }
    for (int i = 0; i < values; i++) {
        if (!pool[i].is_virtual)
            uid[n] = i + 1, at[n++] = pool[i].along ? pool[i].rows.at : pool[i].t.at;
        if (pool[i].along)
            uid[n] = i + 1 + OFFSETS_UID, at[n++] = pool[i].offsets.at;
    }
    for (int i = 0; i < lengths_count; i++)
        uid[n] = i + LENGTHS_UID, at[n++] = lengths[i].at;
    bool taken = false;
    if (ops) {
        desc g = graph_of(ops, op);
        int r = finalize(g);
        EXPECT(!r || r / 1000 == UNSUPPORTED / 1000, "graph of %d: %d", ops, r);
        desc plan = r ? NULL : plan_of(g);
        taken = plan != NULL;
        destroys_early = number % 2;
        if (plan)
            execute(plan, n, uid, at);
    }
    for (int i = 0; i < values; i++) {
        snprintf(what, sizeof what, "graph %d, tensor %d of %d", number, i + 1, values);
        if (taken)
            look(&pool[i], what);
        drop(&pool[i].t);
        if (pool[i].along)
            drop(&pool[i].rows), drop(&pool[i].offsets);
    }
    while (lengths_count)
        drop(&lengths[--lengths_count]);
    destroy_all();
    return taken;
}

int main(void)
{
    enum { GRAPHS = 6000 };
    int taken = 0;
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < GRAPHS; i++)
        taken += draw_graph(i);
    EXPECT(taken == GRAPHS, "%d of %d graphs were taken", taken, GRAPHS);
    OK(cudnnDestroy(handle));
    return check_end("drawn graphs");
}
