/* cuFFTW: FFTW's ways to say a transform, all of them in terms of FFTW's most general one, and that one in terms of
 * cuFFT's. A plan is NULL where there is none, as in FFTW. */
#include <stddef.h>
#include <stdlib.h>

#include "api/cufftw/plan.h"

enum kind { C2C, R2C, C2R };

/* A transform without its place. */
struct shape {
    bool precise;
    enum kind kind;
    int rank, sign;
    struct cufftw_dim dim[CUFFTW_RANK], batch;
};

static int type_of(const struct shape *s)
{
    static const int types[][3] = {{CUFFT_C2C, CUFFT_R2C, CUFFT_C2R}, {CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D}};
    return types[s->precise][s->kind];
}

/* Elements of one dimension: half of the last one's are enough where they mirror the others. */
static long long extent(const struct shape *s, int i, bool real)
{
    return i < s->rank - 1 || s->kind == C2C || real ? s->dim[i].n : s->dim[i].n / 2 + 1;
}

/* False where it is larger than any memory. */
static bool side(const struct shape *s, void *data, bool out, struct cufftw_side *side)
{
    bool real = s->kind == (out ? C2R : R2C);
    long long element = (s->precise ? 8 : 4) * (real ? 1 : 2), bytes = element, count = s->batch.n;
    for (int i = -1; i < s->rank; i++) {
        const struct cufftw_dim *d = i < 0 ? &s->batch : &s->dim[i];
        long long n = i < 0 ? d->n : extent(s, i, real), more;
        if (__builtin_mul_overflow(n - 1, out ? d->os : d->is, &more) ||
            __builtin_mul_overflow(more, element, &more) || __builtin_add_overflow(bytes, more, &bytes))
            return false;
        count *= i < 0 ? 1 : n; /* no more than cuFFT took */
    }
    *side = (struct cufftw_side){data, (size_t)bytes, bytes == count * element};
    return true;
}

/* cuFFT says the steps of all dimensions by the last one's and by how many of each are in the one before. */
static bool embed(const struct shape *s, bool out, long long sizes[CUFFTW_RANK])
{
    for (int i = 0; i < s->rank; i++) {
        long long step = out ? s->dim[i].os : s->dim[i].is;
        long long before = !i ? step : out ? s->dim[i - 1].os : s->dim[i - 1].is;
        if (step < 1 || before < step || before % step)
            return false;
        sizes[i] = before / step; /* the first says nothing */
    }
    return true;
}

/* Makes a cuFFT plan of FFTW's dimensions, which must lie within each other as cuFFT's embedding demands; NULL, as
 * FFTW answers, where they do not. */
static void *plan(const struct shape *s, void *in, void *out)
{
    long long n[CUFFTW_RANK], inembed[CUFFTW_RANK], onembed[CUFFTW_RANK];
    if (s->rank < 1 || s->rank > CUFFTW_RANK || s->batch.n < 1 || s->batch.is < 0 || s->batch.os < 0 ||
        (s->kind == C2C && s->sign != CUFFT_FORWARD && s->sign != CUFFT_INVERSE))
        return NULL;
    if (!embed(s, false, inembed) || !embed(s, true, onembed)) {
        cumu_gap("cufftw", "fftw_plan_guru_dft", "dimensions that do not lie within each other");
        return NULL;
    }
    for (int i = 0; i < s->rank; i++)
        n[i] = s->dim[i].n;
    struct cufftw_plan *p = malloc(sizeof *p);
    size_t size;
    if (!p || wrap_cufftCreate(&p->plan)) {
        free(p);
        return NULL;
    }
    const struct cufftw_dim *last = &s->dim[s->rank - 1];
    p->type = type_of(s);
    p->sign = s->sign;
    if (wrap_cufftMakePlanMany64(p->plan, s->rank, n, inembed, last->is, s->batch.is, onembed, last->os, s->batch.os,
                                 p->type, s->batch.n, &size) ||
        !side(s, in, false, &p->in) || !side(s, out, true, &p->out)) {
        wrap_cufftDestroy(p->plan);
        free(p);
        return NULL;
    }
    return p;
}

/* FFTW's other ways: sizes, and what each side is embedded in. Without that it is contiguous; a real side in place has
 * room for its complex one. */
struct layout {
    const int *embed;
    int stride, dist;
};

static void *many(bool precise, enum kind kind, int rank, const int *n, int batch, void *in, const struct layout *from,
                  void *out, const struct layout *to, int sign)
{
    struct shape s = {precise, kind, rank, sign, {{0, 0, 0}}, {batch, from->dist, to->dist}};
    if (rank < 1 || rank > CUFFTW_RANK || !n)
        return NULL;
    long long is = from->stride, os = to->stride;
    for (int i = rank - 1; i >= 0; i--) {
        s.dim[i] = (struct cufftw_dim){n[i], is, os};
        long long whole = i == rank - 1 && kind != C2C && in == out ? 2 * (n[i] / 2 + 1) : n[i];
        long long half = i == rank - 1 && kind != C2C ? n[i] / 2 + 1 : n[i];
        is *= from->embed ? from->embed[i] : kind == C2R ? half : kind == R2C ? whole : n[i];
        os *= to->embed ? to->embed[i] : kind == R2C ? half : kind == C2R ? whole : n[i];
    }
    return plan(&s, in, out);
}

static void *basic(bool precise, enum kind kind, int rank, const int *n, void *in, void *out, int sign)
{
    static const struct layout contiguous = {NULL, 1, 0};
    return many(precise, kind, rank, n, 1, in, &contiguous, out, &contiguous, sign);
}

/* The two forms of a dimension. Several batches must be one: each in the one before, so that the last one's steps are
 * those of all. What cannot be read, or is not so, has no plan. */
struct dim32 {
    int n, is, os;
};
struct dim64 {
    ptrdiff_t n, is, os;
};
#define GURU(name, T) \
    static void *name(bool precise, enum kind kind, int rank, const void *dims, int batches, const void *batch, \
                      void *in, void *out, int sign) \
    { \
        const struct T *d = dims, *b = batch; \
        struct shape s = {precise, kind, rank, sign, {{0, 0, 0}}, {1, 0, 0}}; \
        if (!d || batches < 0 || (batches && !b)) \
            return NULL; \
        for (int i = 0; i < rank && i < CUFFTW_RANK; i++) \
            s.dim[i] = (struct cufftw_dim){d[i].n, d[i].is, d[i].os}; \
        for (int i = 0; i < batches; i++) { \
            if (i && (b[i].is * b[i].n != b[i - 1].is || b[i].os * b[i].n != b[i - 1].os)) \
                return several_batches(); \
            s.batch = (struct cufftw_dim){s.batch.n * b[i].n, b[i].is, b[i].os}; \
        } \
        return plan(&s, in, out); \
    }
static void *several_batches(void)
{
    cumu_gap("cufftw", "fftw_plan_guru_dft", "batches that do not lie within each other");
    return NULL;
}
GURU(guru, dim32)
GURU(guru64, dim64)

/* One kind's functions. SIGN and sign: what only the complex kind has. */
#define PLANS(X, precise, what, KIND, SIGN, sign) \
    void *wrap_##X##_plan_##what##_1d(int n, void *in, void *out SIGN, unsigned flags) \
    { \
        (void)flags; \
        return basic(precise, KIND, 1, &n, in, out, sign); \
    } \
    void *wrap_##X##_plan_##what##_2d(int n0, int n1, void *in, void *out SIGN, unsigned flags) \
    { \
        (void)flags; \
        return basic(precise, KIND, 2, (int[]){n0, n1}, in, out, sign); \
    } \
    void *wrap_##X##_plan_##what##_3d(int n0, int n1, int n2, void *in, void *out SIGN, unsigned flags) \
    { \
        (void)flags; \
        return basic(precise, KIND, 3, (int[]){n0, n1, n2}, in, out, sign); \
    } \
    void *wrap_##X##_plan_##what(int rank, const int *n, void *in, void *out SIGN, unsigned flags) \
    { \
        (void)flags; \
        return basic(precise, KIND, rank, n, in, out, sign); \
    } \
    void *wrap_##X##_plan_many_##what(int rank, const int *n, int batch, void *in, const int *inembed, int istride, \
                                      int idist, void *out, const int *onembed, int ostride, int odist SIGN, \
                                      unsigned flags) \
    { \
        (void)flags; \
        return many(precise, KIND, rank, n, batch, in, &(struct layout){inembed, istride, idist}, out, \
                    &(struct layout){onembed, ostride, odist}, sign); \
    } \
    void *wrap_##X##_plan_guru_##what(int rank, const void *dims, int batches, const void *batch, void *in, \
                                      void *out SIGN, unsigned flags) \
    { \
        (void)flags; \
        return guru(precise, KIND, rank, dims, batches, batch, in, out, sign); \
    } \
    void *wrap_##X##_plan_guru64_##what(int rank, const void *dims, int batches, const void *batch, void *in, \
                                        void *out SIGN, unsigned flags) \
    { \
        (void)flags; \
        return guru64(precise, KIND, rank, dims, batches, batch, in, out, sign); \
    }
#define A_SIGN , int sign
#define NO_SIGN
PLANS(fftw, true, dft, C2C, A_SIGN, sign)
PLANS(fftwf, false, dft, C2C, A_SIGN, sign)
PLANS(fftw, true, dft_r2c, R2C, NO_SIGN, 0)
PLANS(fftwf, false, dft_r2c, R2C, NO_SIGN, 0)
PLANS(fftw, true, dft_c2r, C2R, NO_SIGN, 0)
PLANS(fftwf, false, dft_c2r, C2R, NO_SIGN, 0)
