/* What drawn programs of cuDNN's layers share (programs.c): descriptors that live for a whole program and are set anew
 * for each call, by each of the functions that can, and after calls that must not change them; tensors at any place of
 * memory that others used before; and the look at every byte of them behind a call. */
#ifndef CUMU_TESTS_PROGRAM_H
#define CUMU_TESTS_PROGRAM_H

#include "dnn.h"

enum { OPERANDS = 20, ROOM = 1 << 20, GUARD = 64, MOST_DIMS = 5 };
struct operand {
    struct tensor t;       /* `at` is where it begins, `host` what should be there, guards and gaps included */
    void *tensor, *filter; /* its descriptors */
    char *room, *copy;     /* of the device, of the host */
    size_t start;          /* of the tensor, in bytes behind the guard */
    const double *wants;   /* of settle_all: what it becomes, NULL: what it was */
    double scale;
};
static struct operand o[OPERANDS];
static int operands;
static bool mixed; /* types are drawn one by one: what is refused is fine, what is done must be right */

static inline int either(int a, int b) { return upto(2) ? a : b; }

static inline void open_operands(void)
{
    for (int i = 0; i < OPERANDS; i++) {
        MUST(cudaMalloc((void **)&o[i].room, ROOM));
        MUST(!(o[i].copy = malloc(ROOM)));
        MUST(!(o[i].t.v = malloc(ROOM * sizeof(double))));
    }
}
static inline void make_descriptors(void)
{
    for (int i = 0; i < OPERANDS; i++) {
        OK(cudnnCreateTensorDescriptor(&o[i].tensor));
        OK(cudnnCreateFilterDescriptor(&o[i].filter));
    }
}
static inline void drop_descriptors(void)
{
    for (int i = 0; i < OPERANDS; i++) {
        OK(cudnnDestroyTensorDescriptor(o[i].tensor));
        OK(cudnnDestroyFilterDescriptor(o[i].filter));
    }
}
static inline void close_operands(void)
{
    for (int i = 0; i < OPERANDS; i++) {
        OK(cudaFree(o[i].room));
        free(o[i].copy);
        free(o[i].t.v);
    }
}

/* What must be refused, and leave the descriptor as it was. */
static inline void set_wrong(struct operand *p)
{
    const struct tensor *t = &p->t;
    int dim[8], stride[8];
    memcpy(dim, t->dim, sizeof dim);
    memcpy(stride, t->stride, sizeof stride);
    dim[upto(t->n)] = either(0, -1 - upto(5));
    int r = t->is_filter ? cudnnSetFilterNdDescriptor(p->filter, F32, NCHW, t->n, dim)
                         : cudnnSetTensorNdDescriptor(p->tensor, F32, t->n, dim, stride);
    IS(r, BAD);
    r = t->is_filter ? cudnnSetFilterNdDescriptor(p->filter, E4M3 + upto(20) * 3, NCHW, t->n, t->dim)
                     : cudnnSetTensorNdDescriptorEx(p->tensor, NCHW, either(I8X4, I8X32), t->n, t->dim);
    EXPECT(r, "a type that is none");
    r = t->is_filter ? cudnnSetFilterNdDescriptor(p->filter, F32, 3 + upto(9), t->n, t->dim)
                     : cudnnSetTensorNdDescriptor(p->tensor, t->type, either(2, 9), t->dim, t->stride);
    EXPECT(r, "a format or a number of dimensions that is none");
}

/* The same by one of the functions that can say it. */
static inline void describe_operand(struct operand *p, int format, bool gaps)
{
    const struct tensor *t = &p->t;
    const int *d = t->dim;
    int steps[8], got_dim[8], got_step[8], type, n, how;
    for (int i = 0; i < t->n; i++)
        steps[i] = t->stride[i] / vector_of(t->type);
    if (t->is_filter) {
        OK(t->n == 4 && upto(2) ? cudnnSetFilter4dDescriptor(p->filter, t->type, format, d[0], d[1], d[2], d[3])
                                : cudnnSetFilterNdDescriptor(p->filter, t->type, format, t->n, d));
        if (upto(4) == 0)
            set_wrong(p);
        OK(cudnnGetFilterNdDescriptor(p->filter, 8, &type, &how, &n, got_dim));
        EXPECT(type == t->type && n == t->n && how == format && !memcmp(got_dim, d, (size_t)n * sizeof n));
        return;
    }
    const bool named = !gaps && upto(2);
    OK(named && t->n == 4 && upto(2) ? cudnnSetTensor4dDescriptor(p->tensor, format, t->type, d[0], d[1], d[2], d[3])
       : named                       ? cudnnSetTensorNdDescriptorEx(p->tensor, format, t->type, t->n, d)
       : t->n == 4 && upto(2) ? cudnnSetTensor4dDescriptorEx(p->tensor, t->type, d[0], d[1], d[2], d[3], steps[0],
                                                             steps[1], steps[2], steps[3])
                              : cudnnSetTensorNdDescriptor(p->tensor, t->type, t->n, d, steps));
    if (upto(4) == 0)
        set_wrong(p);
    OK(cudnnGetTensorNdDescriptor(p->tensor, 8, &type, &n, got_dim, got_step));
    EXPECT(type == t->type && n == t->n && !memcmp(got_dim, d, (size_t)n * sizeof n) &&
           !memcmp(got_step, steps, (size_t)n * sizeof n));
}

static inline double special(int type, int chance)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0};
    const bool floats = type == F32 || type == F64 || type == F16 || type == BF16;
    return chance && floats && upto(chance) == 0 ? values[upto(4)] : number(type);
}

/* Values go to the device, with noise before, behind and between them. */
static inline void upload_operand(struct operand *p)
{
    struct tensor *t = &p->t;
    const size_t size = t->size * bytes(t->type) + 2 * GUARD + p->start, at = GUARD + p->start;
    for (size_t i = 0; i < size; i++)
        p->copy[i] = (char)(upto(250) + 1);
    for (int i = 0; i < count(t); i++) {
        put(p->copy + at, t->type, place(t, i), t->v[i]);
        t->v[i] = get(p->copy + at, t->type, place(t, i));
    }
    OK(cudaMemcpy(p->room, p->copy, size, 1));
}

/* A tensor of drawn numbers at any place; `chance`: one in so many is infinite or none. */
static inline struct operand *lay_operand(int type, int n, const int *dim, bool filter, int format, bool gaps,
                                          int chance)
{
    struct operand *p = &o[operands++];
    double *v = p->t.v;
    p->t = (struct tensor){.type = type, .n = n, .is_filter = filter, .v = v};
    memcpy(p->t.dim, dim, sizeof(int) * (size_t)n);
    lay_out(&p->t, format, gaps);
    p->start = bytes(type) * (size_t)(upto(2) ? upto(8) : 0);
    p->t.at = p->room + GUARD + p->start;
    p->t.desc = filter ? p->filter : p->tensor;
    p->wants = NULL;
    if (p->t.size * bytes(type) > ROOM - 4 * GUARD || (size_t)count(&p->t) > ROOM) {
        fprintf(stderr, "no room\n");
        exit(1);
    }
    describe_operand(p, format, gaps);
    for (int i = 0; i < count(&p->t); i++)
        v[i] = special(type, chance);
    upload_operand(p);
    return p;
}
/* Of a type (or of another, if they are mixed) in any layout. */
static inline struct operand *draw_operand(int type, int n, const int *dim, bool filter, int chance)
{
    static const int types[] = {F32, F64, F16, BF16, I8, U8, I32, I8X4, I8X32};
    if (mixed && upto(3) == 0)
        type = types[upto(dim[1] % 32 == 0 ? 9 : dim[1] % 4 == 0 ? 8 : 7)];
    const int format = vector_of(type) > 1 ? VECT : upto(2);
    return lay_operand(type, n, dim, filter, format, !filter && upto(2), chance);
}
/* Without gaps, its numbers multiplied by `shrink`. */
static inline struct operand *packed_operand(int type, int n, const int *dim, double shrink)
{
    struct operand *p = lay_operand(type, n, dim, false, NCHW, false, 0);
    for (int i = 0; i < count(&p->t); i++)
        p->t.v[i] *= shrink;
    upload_operand(p);
    return p;
}
/* A result that nothing reads, as beta is 0: it holds what must not show in the end. */
static inline void poison(struct operand *p)
{
    const bool floats = p->t.type == F32 || p->t.type == F64 || p->t.type == F16 || p->t.type == BF16;
    for (int i = 0; i < count(&p->t); i++)
        p->t.v[i] = floats ? NAN : number(p->t.type);
    upload_operand(p);
}

static inline bool near(int type, double got, double want, double scale, bool loose)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want || (type == F16 && fabs(got) > 65000);
    double far = fabs(got - want);
    if (type == F16 && fabs(want) > 65000)
        return fabs(got) > 65000;
    const double unsure = loose ? 2e-6 * (fabs(want) + scale + 300) : 0; /* of factors, below */
    if (tolerance(type) == 0)
        return far <= (loose ? 1 + unsure : 0);
    return far <= fmax(tolerance(type) * (fabs(want) + scale), unsure);
}
/* `want` NULL: nothing was written, of any operand. Results are what is wanted, all else is as it was. */
static inline bool look(struct operand *p, const double *want, double scale, const char *what)
{
    const struct tensor *t = &p->t;
    const size_t at = GUARD + p->start, unit = bytes(t->type), size = t->size * unit + 2 * GUARD + p->start;
    char *now = malloc(size);
    const bool none = tolerance(t->type) == 0; /* NaN becomes 0 */
    bool good = true;
    OK(cudaMemcpy(now, p->room, size, 2));
    for (int i = 0; want && i < count(t); i++) {
        const size_t k = place(t, i);
        double got = get(now + at, t->type, k), w = held(t->type, none && isnan(want[i]) ? 0 : want[i]);
        w = t->type == I32 ? fmin(fmax(w, INT32_MIN), INT32_MAX) : w;
        if (good && !near(t->type, got, w, scale, mixed)) {
            good = false;
            EXPECT(good, "%s: type %d, element %d of %d: %.12g, not %.12g", what, t->type, i, count(t), got, w);
        }
        memcpy(now + at + k * unit, p->copy + at + k * unit, unit);
    }
    EXPECT(!memcmp(now, p->copy, size), "%s: operand %d: written %s", what, (int)(p - o),
           want ? "beside its elements" : "though it is no result");
    good = good && !memcmp(now, p->copy, size);
    free(now);
    return good;
}

/* A factor that a call may read as a float or as a double: it is the same number up to 1e-6. */
union factor {
    double d;
    struct {
        float low;
        unsigned high;
    } as;
};
static inline union factor factor_of(int type, double v)
{
    union factor f = {.d = v};
    unsigned long long u;
    memcpy(&u, &f.d, 8);
    if (mixed)
        f.as.low = (float)v;
    else if (type != F64)
        f.as.low = (float)v, f.as.high = (unsigned)upto(1 << 30); /* noise behind a float */
    return f;
}

static inline bool is_refused(int r)
{
    return VERSION == 9 ? r / 1000 == BAD / 1000 || r / 1000 == UNSUPPORTED / 1000 : r == BAD || r == UNSUPPORTED;
}

/* ---- calls -------------------------------------------------------------------------------------- */

static void *conv, *pool, *act, *lrn, *op, *red, *drp, *drop_state;
static void *streams[2];
static size_t state_size;

static inline void make_all(void)
{
    make_descriptors();
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnCreatePoolingDescriptor(&pool));
    OK(cudnnCreateActivationDescriptor(&act));
    OK(cudnnCreateLRNDescriptor(&lrn));
    OK(cudnnCreateOpTensorDescriptor(&op));
    OK(cudnnCreateReduceTensorDescriptor(&red));
    OK(cudnnCreateDropoutDescriptor(&drp));
}
static inline void drop_all(void)
{
    drop_descriptors();
    OK(cudnnDestroyConvolutionDescriptor(conv));
    OK(cudnnDestroyPoolingDescriptor(pool));
    OK(cudnnDestroyActivationDescriptor(act));
    OK(cudnnDestroyLRNDescriptor(lrn));
    OK(cudnnDestroyOpTensorDescriptor(op));
    OK(cudnnDestroyReduceTensorDescriptor(red));
    OK(cudnnDestroyDropoutDescriptor(drp));
}

/* ---- what a call is made of -------------------------------------------------------------------- */

static int type;
static double a, b; /* alpha, beta */
static union factor alpha, beta;
static unsigned calls, done;

/* Draws programs until so many calls are made as the command line says, or one is wrong. */
static inline void draw_programs(int argc, char **argv, void (*one)(void))
{
    const unsigned wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 1500;
    MUST(cudnnCreate(&handle));
    MUST(cudaStreamCreate(&streams[0]));
    open_operands();
    OK(cudnnDropoutGetStatesSize(handle, &state_size));
    MUST(cudaMalloc(&drop_state, state_size));
    while (calls < wanted && !check_failures)
        one();
    OK(cudaFree(drop_state));
    close_operands();
    OK(cudaStreamDestroy(streams[0]));
    OK(cudnnDestroy(handle));
}

static inline int float_type(void)
{
    static const int types[] = {F32, F64, F16, BF16};
    return types[upto(4)];
}
static inline void factors(int of)
{
    static const double as[] = {1, 1, 0.5, -2, 0}, bs[] = {0, 0, 0, 1, -0.5, 2};
    a = as[upto(5)], b = bs[upto(6)];
    alpha = factor_of(of, a), beta = factor_of(of, b);
}
static inline int draw_dims(int *dim, int least, int most)
{
    const int n = least + upto(most - least + 1);
    const bool large = upto(24) == 0;
    for (int i = 0; i < n; i++)
        dim[i] = large && i ? 1 + upto(i == 1 ? 40 : n == 5 ? 6 : 20) : 1 + upto(i ? 6 : 3);
    if (upto(4) == 0)
        dim[1] = 4 * (1 + upto(2));
    return n;
}
/* Behind a call: its status, its result or that it left all as it was, and all other operands. */
static inline bool settle(int r, struct operand *y, const double *values, double scale, const char *what)
{
    OK(cudaDeviceSynchronize());
    calls++;
    EXPECT(!r || (mixed && is_refused(r)), "%s: status %d of type %d", what, r, type);
    for (int i = 0; i < operands; i++)
        if (!look(&o[i], !r && &o[i] == y ? values : NULL, scale, what)) {
            fprintf(stderr, "call %u: type %d, dims", calls, type);
            for (int k = 0; k < operands; k++) {
                fprintf(stderr, " |%d:", o[k].t.type);
                for (int d = 0; d < o[k].t.n; d++)
                    fprintf(stderr, " %d/%d", o[k].t.dim[d], o[k].t.stride[d]);
            }
            fprintf(stderr, "\n");
        }
    done += !r;
    return !r;
}
/* The operand's values become what is on the device. */
static inline void take(struct operand *p)
{
    const size_t size = p->t.size * bytes(p->t.type) + 2 * GUARD + p->start;
    OK(cudaMemcpy(p->copy, p->room, size, 2));
    for (int i = 0; i < count(&p->t); i++)
        p->t.v[i] = get(p->copy + GUARD + p->start, p->t.type, place(&p->t, i));
}
static inline double most_of(const double *v, int n) /* 1 at least; of those that are finite */
{
    double most = 1;
    for (int i = 0; i < n; i++)
        most = isfinite(v[i]) ? fmax(most, fabs(v[i])) : most;
    return most;
}
/* Behind a call with several results: those that have `wants` are it and become the operand's, if the call was taken;
 * all else is as it was. ANYTHING: whatever its values are. */
static const double anything;
#define ANYTHING (&anything)
static inline void expects(struct operand *p, const double *wants, double scale)
{
    if (p)
        p->wants = wants, p->scale = scale;
}
static inline bool settle_all(int r, bool taken, const char *what)
{
    bool good = true;
    OK(cudaDeviceSynchronize());
    calls++, done += !r;
    EXPECT(taken ? !r : r != 0, "%s: status %d of type %d", what, r, type);
    for (int i = 0; i < operands; i++) {
        struct operand *p = &o[i];
        const double *wants = r ? NULL : p->wants;
        if (wants == ANYTHING) {
            char *room = malloc(ROOM);
            OK(cudaMemcpy(room, p->room, ROOM, 2));
            for (int k = 0; k < count(&p->t); k++)
                p->t.v[k] = get(room + GUARD + p->start, p->t.type, place(&p->t, k));
            free(room);
            wants = p->t.v;
        }
        good = look(p, wants, p->scale, what) && good;
        if (wants)
            take(p);
        p->wants = taken ? NULL : p->wants;
    }
    return good && !r;
}
static inline double blended(double v, const struct operand *y, int i) { return a * v + (b != 0 ? b * y->t.v[i] : 0); }
static inline void result(struct operand *y)
{
    if (b == 0)
        poison(y);
}
/* Element i of a shape, in a smaller one whose dimensions of 1 stand for all. */
static inline int served(const int *dim, const int *small, int n, int i)
{
    int at = 0, step = 1;
    for (int k = n - 1; k >= 0; i /= dim[k], k--) {
        at += (small[k] == 1 ? 0 : i % dim[k]) * step;
        step *= small[k];
    }
    return at;
}

#endif
