/* How one use of a plan runs. FFTW does most transforms whole. Of long columns its estimate is poor: a power of two
 * apart, they fall into the same places of the caches (two to four times the time at 256 x 256 and above). Those
 * transforms are done here dimension by dimension, columns side by side in blocks that are copied together. */
#include <stdlib.h>

#include "host/mufft/fftw.h"
#include "host/mufft/mufft.h"

enum {
    LONG = 256,        /* elements of a column from which blocks are the faster way, */
    LARGE = 256 << 10, /* and bytes of one transform */
    BLOCK = 64         /* bytes of a block's row: a line of the cache */
};

/* The transforms along one dimension, in place, `count` of them side by side. */
struct axis {
    long long n, stride, count, step;
    struct {
        long long n, stride;
    } outer[2];         /* the other dimension, the batch */
    void *block, *rest; /* FFTW's: of a whole block of columns, of what is left */
};
struct mufft_way {
    const struct mufft_fftw *fftw;
    bool precise, axes_first;
    mufftType kind;
    int axes;
    struct axis axis[RANK - 1];
    void *lines;                 /* FFTW's: everything, or the last dimension, */
    struct mufft_dim over[RANK]; /* once for each of these; their steps in bytes */
    int overs;
};

static size_t element(const struct mufft_shape *s) { return mufft_is_double(s->type) ? 16 : 8; }
static long long columns(const struct mufft_shape *s) { return (long long)(BLOCK / element(s)); }

static long long longest_column(const struct mufft_shape *s)
{
    long long n = 0;
    for (int i = 0; i < s->rank - 1; i++)
        n = s->n[i] > n ? s->n[i] : n;
    return n;
}

static bool by_blocks(const struct mufft_shape *s)
{
    double bytes = (double)element(s);
    for (int i = 0; i < s->rank; i++)
        bytes *= (double)s->n[i];
    return longest_column(s) >= LONG && bytes >= LARGE;
}

size_t mufft_way_scratch(const struct mufft_shape *s) { return by_blocks(s) ? (size_t)longest_column(s) * BLOCK : 0; }

/* A planner that estimates never touches the data; of its address it takes in the alignment, and whether both sides
 * are one. */
static void *plan(const struct mufft_fftw *f, mufftType kind, int rank, const struct mufft_dim *dims, int batches,
                  const struct mufft_dim *batch, unsigned use)
{
    static _Alignas(64) char data[2][64];
    void *in = data[0], *out = data[!(use & MUFFT_IN_PLACE)];
    unsigned flags = MUFFT_FFTW_ESTIMATE | (use & MUFFT_UNALIGNED ? MUFFT_FFTW_UNALIGNED : 0);
    switch (kind) {
    case MUFFT_R2C: return f->plan_guru64_dft_r2c(rank, dims, batches, batch, in, out, flags);
    case MUFFT_C2R: return f->plan_guru64_dft_c2r(rank, dims, batches, batch, in, out, flags);
    default: return f->plan_guru64_dft(rank, dims, batches, batch, in, out, use & MUFFT_INVERSE_USE ? 1 : -1, flags);
    }
}

/* The dimension i of a side, and FFTW's plans for its blocks in the scratch memory. */
static bool make_axis(struct mufft_way *w, struct axis *a, const struct mufft_shape *s, const struct mufft_extent *e,
                      int i, unsigned use)
{
    int last = s->rank - 1;
    long long width = columns(s);
    *a = (struct axis){.n = e->n[i], .stride = e->stride[i], .count = e->n[last], .step = e->stride[last]};
    a->outer[0].n = last > 1 ? e->n[1 - i] : 1;
    a->outer[0].stride = last > 1 ? e->stride[1 - i] : 0;
    a->outer[1].n = s->batch;
    a->outer[1].stride = e->dist;
    struct mufft_dim dim = {e->n[i], 1, 1}, whole = {width, e->n[i], e->n[i]},
                     rest = {a->count % width, e->n[i], e->n[i]};
    use = (use & MUFFT_INVERSE_USE) | MUFFT_IN_PLACE;
    if (a->count >= width && !(a->block = plan(w->fftw, MUFFT_C2C, 1, &dim, 1, &whole, use)))
        return false;
    return !rest.n || (a->rest = plan(w->fftw, MUFFT_C2C, 1, &dim, 1, &rest, use));
}

/* The lines of all batches at once, as FFTW does them. MKL's plans repeat a transform along one dimension alone: the
 * other repetitions are loops here. */
static bool make_lines(struct mufft_way *w, int rank, const struct mufft_dim *dims, int batches,
                       const struct mufft_dim *batch, unsigned use)
{
    if ((w->lines = plan(w->fftw, w->kind, rank, dims, batches, batch, use)) || batches < 2)
        return w->lines;
    const ptrdiff_t complex = w->precise ? 16 : 8, in = w->kind == MUFFT_R2C ? complex / 2 : complex,
                    out = w->kind == MUFFT_C2R ? complex / 2 : complex;
    for (int i = 0; i < batches - 1; i++)
        w->over[w->overs++] = (struct mufft_dim){batch[i].n, batch[i].is * in, batch[i].os * out};
    w->lines = plan(w->fftw, w->kind, rank, dims, 1, batch + batches - 1, use | MUFFT_UNALIGNED);
    return w->lines;
}

struct mufft_way *mufft_way_new(const struct mufft_shape *s, unsigned use)
{
    struct mufft_way *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->precise = mufft_is_double(s->type);
    w->kind = mufft_kind(s->type);
    w->axes_first = w->kind == MUFFT_C2R;
    if (!(w->fftw = mufft_fftw(w->precise)))
        goto fail;
    bool in_place = use & MUFFT_IN_PLACE, blocks = by_blocks(s);
    struct mufft_extent in = mufft_extent(s, false, in_place), out = mufft_extent(s, true, in_place);
    struct mufft_dim dims[RANK], batch[RANK] = {{s->batch, in.dist, out.dist}};
    for (int i = 0; i < s->rank; i++)
        dims[i] = (struct mufft_dim){s->n[i], in.stride[i], out.stride[i]};
    int rank = blocks ? 1 : s->rank, first = s->rank - rank;
    for (int i = 0; i < first; i++)
        batch[1 + i] = dims[i];
    /* The complex side has the dimensions but the last: the output, and the input of what ends in real numbers. */
    if (w->kind == MUFFT_C2R)
        use |= MUFFT_INVERSE_USE;
    for (int i = first - 1; i >= 0; i--)
        if (!make_axis(w, &w->axis[w->axes++], s, w->axes_first ? &in : &out, i, use))
            goto fail;
    if (!make_lines(w, rank, dims + first, 1 + first, batch, use))
        goto fail;
    return w;
fail:
    mufft_way_free(w);
    return NULL;
}

void mufft_way_free(struct mufft_way *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->axes; i++) {
        if (w->axis[i].block)
            w->fftw->destroy_plan(w->axis[i].block);
        if (w->axis[i].rest)
            w->fftw->destroy_plan(w->axis[i].rest);
    }
    if (w->lines)
        w->fftw->destroy_plan(w->lines);
    free(w);
}

/* One block: its columns become rows of the scratch memory and go back. */
#define RUN_BLOCK(name, T) \
    static void name(const struct mufft_way *w, const struct axis *a, T *data, T *scratch, long long columns) \
    { \
        long long n = a->n, width = BLOCK / (long long)sizeof(T); \
        void *fftw = columns == width ? a->block : a->rest; \
        for (long long y = 0; y < n; y++) \
            for (long long x = 0; x < columns; x++) \
                scratch[x * n + y] = data[y * a->stride + x * a->step]; \
        w->fftw->execute_dft(fftw, scratch, scratch); \
        for (long long y = 0; y < n; y++) \
            for (long long x = 0; x < columns; x++) \
                data[y * a->stride + x * a->step] = scratch[x * n + y]; \
    } \
    static void name##s(const struct mufft_way *w, const struct axis *a, T *data, T *scratch) \
    { \
        long long width = BLOCK / (long long)sizeof(T); \
        for (long long b = 0; b < a->outer[1].n; b++) \
            for (long long o = 0; o < a->outer[0].n; o++) \
                for (long long x = 0; x < a->count; x += width) \
                    name(w, a, data + b * a->outer[1].stride + o * a->outer[0].stride + x * a->step, scratch, \
                         a->count - x < width ? a->count - x : width); \
    }
RUN_BLOCK(float_block, mufftComplex)
RUN_BLOCK(double_block, mufftDoubleComplex)

static void run_axes(const struct mufft_way *w, void *data, void *scratch)
{
    for (int i = 0; i < w->axes; i++)
        if (w->precise)
            double_blocks(w, &w->axis[i], data, scratch);
        else
            float_blocks(w, &w->axis[i], data, scratch);
}

static void run_lines(const struct mufft_way *w, int over, char *in, char *out)
{
    for (ptrdiff_t i = 0; over < w->overs && i < w->over[over].n; i++)
        run_lines(w, over + 1, in + i * w->over[over].is, out + i * w->over[over].os);
    if (over < w->overs)
        return;
    switch (w->kind) {
    case MUFFT_R2C: w->fftw->execute_dft_r2c(w->lines, in, out); break;
    case MUFFT_C2R: w->fftw->execute_dft_c2r(w->lines, in, out); break;
    default: w->fftw->execute_dft(w->lines, in, out);
    }
}

void mufft_way_run(const struct mufft_way *w, void *in, void *out, void *scratch)
{
    if (w->axes_first)
        run_axes(w, in, scratch);
    run_lines(w, 0, in, out);
    if (!w->axes_first)
        run_axes(w, out, scratch);
}
