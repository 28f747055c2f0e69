/* Multi-head attention: random layers of all modes against plain loops over its equations, the gradients against
 * differences of those loops; dropout by what it may make of known numbers; wrong input. */
#include "dnn.h"

enum { TIME, BATCH, BEAM, VECTOR, Q = 0, K, V, O, MODE_ONE_TO_ONE = 1, MODE_BIASES = 2 };

/* One of the four operands. Its numbers are in the order batch, beam, time; the program's is another. */
struct vectors {
    int dim[4], axes[4], step[4], n;
    double *v;
    void *desc, *at;
};
struct layer {
    int type, mode, heads, proj[4], width[4], lengths[2][16], lo[8], hi[8], residual, nw;
    int w_at[8]; /* where kinds of weights begin in the space, -1: not there */
    double scale, *w;
    struct vectors x[4];
    void *desc, *weights, *space, *reserve, *q_length, *k_length, *left; /* left: the residual */
    size_t weight_size, space_size, reserve_size;
};

static int place_of(const struct vectors *x, int bundle, int t, int c)
{
    return bundle / x->dim[BEAM] * x->step[BATCH] + bundle % x->dim[BEAM] * x->step[BEAM] + t * x->step[TIME] + c;
}
static void lay(struct vectors *x)
{
    int step = 1;
    for (int i = 2; i > 0; i--) {
        int k = upto(i + 1), a = x->axes[i];
        x->axes[i] = x->axes[k], x->axes[k] = a;
    }
    for (int i = 3; i >= 0; step *= x->dim[x->axes[i]], i--)
        x->step[x->axes[i]] = step;
    x->n = step;
}
static void fill(struct vectors *x, int type, const double *v)
{
    char *h = calloc((size_t)x->n, 8);
    int width = x->dim[VECTOR], times = x->dim[TIME];
    for (int i = 0; i < x->n; i++)
        put(h, type, (size_t)place_of(x, i / width / times, i / width % times, i % width), v[i]);
    OK(cudaMemcpy(x->at, h, (size_t)x->n * bytes(type), 1));
    free(h);
}
static double *fetch(const struct vectors *x, int type, const void *at)
{
    char *h = calloc((size_t)x->n, 8);
    double *v = calloc((size_t)x->n, 8);
    int width = x->dim[VECTOR], times = x->dim[TIME];
    OK(cudaMemcpy(h, at, (size_t)x->n * bytes(type), 2));
    for (int i = 0; i < x->n; i++)
        v[i] = get(h, type, (size_t)place_of(x, i / width / times, i / width % times, i % width));
    free(h);
    return v;
}

/* ---- plain loops ------------------------------------------------------------------------------- */

/* Element (head, row, column) of a kind of weights. */
static double weight(const struct layer *l, int kind, int head, int row, int column)
{

    return l->w_at[kind] < 0
               ? 0
               : l->w[l->w_at[kind] + row + (kind == 7 ? 0 : (column * l->heads + head) * l->proj[kind % 4])];
}
/* Head i's vector of one that the program gave. */
static int see(const struct layer *l, int kind, int head, const double *x, double *to)
{
    if (!l->proj[kind]) {
        memcpy(to, x, (size_t)l->width[kind] * 8);
        return l->width[kind];
    }
    for (int r = 0; r < l->proj[kind]; r++) {
        to[r] = weight(l, kind + 4, head, r, 0);
        for (int c = 0; c < l->width[kind]; c++)
            to[r] += weight(l, kind, head, r, c) * x[c];
    }
    return l->proj[kind];
}

static void plain(const struct layer *l, const double *residual, double *out)
{
    const struct vectors *q = &l->x[Q], *k = &l->x[K];
    memset(out, 0, (size_t)l->x[O].n * 8);
    for (int b = 0; b < q->dim[BATCH] * q->dim[BEAM]; b++)
        for (int t = 0; t < q->dim[TIME]; t++) {
            int keys = k->dim[BEAM] == q->dim[BEAM] ? b : b / q->dim[BEAM], wide = l->width[O];
            double *to = out + (b * q->dim[TIME] + t) * wide;
            for (int i = 0; t < l->lengths[0][b] && i < l->heads; i++) {
                double a[8], e[8], h[8] = {0}, p[8], most = -INFINITY, sum = 0;
                int n = see(l, Q, i, q->v + (b * q->dim[TIME] + t) * l->width[Q], a), m = 0;
                for (int s = 0; s < l->lengths[1][keys]; s++) {
                    bool shown = s >= l->lo[t] && s < l->hi[t];
                    see(l, K, i, k->v + (keys * k->dim[TIME] + s) * l->width[K], e);
                    p[s] = shown ? 0 : -INFINITY;
                    for (int c = 0; shown && c < n; c++)
                        p[s] += l->scale * a[c] * e[c];
                    most = fmax(most, p[s]);
                }
                for (int s = 0; s < l->lengths[1][keys]; s++)
                    sum += p[s] = p[s] == -INFINITY ? 0 : exp(p[s] - most);
                m = l->proj[V] ? l->proj[V] : l->width[V];
                for (int s = 0; s < l->lengths[1][keys] && sum > 0; s++) {
                    see(l, V, i, l->x[V].v + (keys * k->dim[TIME] + s) * l->width[V], e);
                    for (int c = 0; c < m; c++)
                        h[c] += p[s] / sum * e[c];
                }
                for (int r = 0; l->proj[O] && r < l->proj[O]; r++)
                    for (int c = 0; c < m; c++)
                        to[r] += weight(l, O, i, r, c) * h[c];
                for (int c = 0; !l->proj[O] && c < m; c++)
                    to[i * m + c] = h[c];
            }
            for (int c = 0; c < wide; c++)
                to[c] += (l->proj[O] ? weight(l, 7, 0, c, 0) : 0) +
                         (residual ? residual[(b * q->dim[TIME] + t) * wide + c] : 0);
        }
}

/* ---- layers ------------------------------------------------------------------------------------ */

static double *numbers(int n)
{
    double *v = calloc((size_t)n + 1, 8);
    for (int i = 0; i < n; i++)
        v[i] = (upto(33) - 16) / 16.0;
    return v;
}
static void *room(size_t n)
{
    void *p;
    MUST(cudaMalloc(&p, n + 64));
    OK(cudaMemset(p, 0x7f, n + 64)); /* which must not matter */
    return p;
}

static void describe(struct layer *l, void *dropout, void *after)
{
    static const int axes[4] = {0, 1, 2, 3};
    int dims[9], strides[9], n, type;
    OK(cudnnCreateAttnDescriptor(&l->desc));
    OK(cudnnSetAttnDescriptor(l->desc, (unsigned)l->mode, l->heads, l->scale, l->type, l->type, 0, dropout, after,
                              l->width[Q], l->width[K], l->width[V], l->proj[Q], l->proj[K], l->proj[V], l->proj[O],
                              l->x[Q].dim[TIME] + upto(2), l->x[K].dim[TIME] + upto(2), l->x[Q].dim[BATCH] + upto(2),
                              l->x[Q].dim[BEAM] + upto(2)));
    OK(cudnnGetMultiHeadAttnBuffers(handle, l->desc, &l->weight_size, &l->space_size, &l->reserve_size));
    l->nw = (int)(l->weight_size / bytes(l->type));
    l->w = numbers(l->nw);
    l->weights = room(l->weight_size);
    for (int i = 0; i < l->nw; i++)
        put((char *)l->w, l->type, (size_t)i, l->w[i]); /* in place: the later ones are larger, or as large */
    OK(cudaMemcpy(l->weights, l->w, l->weight_size, 1));
    for (int i = l->nw; i-- > 0;)
        l->w[i] = get(l->w, l->type, (size_t)i);
    l->space = room(l->space_size);
    l->reserve = room(l->reserve_size);
    for (int i = 0; i < 8; i++) {
        void *t, *at;
        OK(cudnnCreateTensorDescriptor(&t));
        OK(cudnnGetMultiHeadAttnWeights(handle, l->desc, i, l->weight_size, l->weights, t, &at));
        l->w_at[i] = at ? (int)(((char *)at - (char *)l->weights) / (ptrdiff_t)bytes(l->type)) : -1;
        EXPECT((at != NULL) == (l->proj[i % 4] && (i < 4 || l->mode & MODE_BIASES)), "weight %d", i);
        if (at) {
            OK(cudnnGetTensorNdDescriptor(t, 8, &type, &n, dims, strides));
            EXPECT(n == 3 && dims[0] == (i == 7 ? 1 : l->heads) && dims[1] == l->proj[i % 4] && strides[0] == dims[1] &&
                       strides[1] == 1 && strides[2] == dims[0] * dims[1] && type == l->type,
                   "weight %d: %d dimensions, %d x %d x %d", i, n, dims[0], dims[1], dims[2]);
        }
        OK(cudnnDestroyTensorDescriptor(t));
    }
    for (int i = 0; i < 4; i++) {
        struct vectors *x = &l->x[i];
        int lengths = x->dim[BATCH] * x->dim[BEAM], back[16], dim[4], order[4];
        size_t count;
        memcpy(x->axes, axes, sizeof axes);
        lay(x);
        x->v = numbers(x->n);
        x->at = room((size_t)x->n * 8);
        fill(x, l->type, x->v);
        OK(cudnnCreateSeqDataDescriptor(&x->desc));
        OK(cudnnSetSeqDataDescriptor(x->desc, l->type, 4, x->dim, x->axes, (size_t)lengths,
                                     l->lengths[i == K || i == V], NULL));
        OK(cudnnGetSeqDataDescriptor(x->desc, &type, &n, 4, dim, order, &count, 16, back, NULL));
        EXPECT(type == l->type && n == 4 && !memcmp(dim, x->dim, 16) && !memcmp(order, x->axes, 16) &&
                   count == (size_t)lengths && !memcmp(back, l->lengths[i == K || i == V], count * 4),
               "sequences as they were described");
    }
    l->q_length = room(64), l->k_length = room(64);
    OK(cudaMemcpy(l->q_length, l->lengths[0], 64, 1));
    OK(cudaMemcpy(l->k_length, l->lengths[1], 64, 1));
}

static void draw(struct layer *l, int type)
{
    memset(l, 0, sizeof *l);
    l->type = type;
    l->mode = upto(4);
    l->heads = 1 + upto(3);
    l->scale = upto(5) / 4.0;
    for (int i = 0; i < 4; i++)
        l->proj[i] = upto(2) ? 1 + upto(4) : 0;
    for (int i = 0; i < 3; i++)
        l->width[i] = 1 + upto(5);
    if (!l->proj[Q] && !l->proj[K])
        l->width[K] = l->width[Q];
    else if (l->proj[Q] && l->proj[K])
        l->proj[K] = l->proj[Q];
    else if (l->proj[Q])
        l->width[K] = l->proj[Q];
    else
        l->width[Q] = l->proj[K];
    l->width[O] = l->proj[O] ? l->proj[O] : l->heads * (l->proj[V] ? l->proj[V] : l->width[V]);
    int batch = 1 + upto(3), beam = 1 + upto(3);
    for (int i = 0; i < 4; i++) {
        int *dim = l->x[i].dim;
        bool keys = i == K || i == V;
        dim[TIME] = keys && i == V ? l->x[K].dim[TIME] : i == O ? l->x[Q].dim[TIME] : 1 + upto(6);
        dim[BATCH] = batch;
        dim[BEAM] = keys && !(l->mode & MODE_ONE_TO_ONE) ? 1 : beam;
        dim[VECTOR] = l->width[i];
    }
    for (int i = 0; i < 16; i++) {
        l->lengths[0][i] = upto(l->x[Q].dim[TIME] + 1);
        l->lengths[1][i] = upto(l->x[K].dim[TIME] + 1);
    }
    for (int i = 0; i < 8; i++) {
        bool all = upto(2);
        l->lo[i] = all ? 0 : upto(4) - 1;
        l->hi[i] = all ? 2147483647 : upto(8);
    }
    l->residual = l->width[O] == l->width[Q] && upto(2);
}
static void drop_layer(struct layer *l)
{
    OK(cudnnDestroyAttnDescriptor(l->desc));
    for (int i = 0; i < 4; i++) {
        OK(cudnnDestroySeqDataDescriptor(l->x[i].desc));
        cudaFree(l->x[i].at);
        free(l->x[i].v);
    }
    void *const all[] = {l->weights, l->space, l->reserve, l->q_length, l->k_length, l->left};
    for (int i = 0; i < 6; i++)
        cudaFree(all[i]);
    free(l->w);
}

static int forward(struct layer *l, int only, bool training)
{
    struct vectors *x = l->x;
    return cudnnMultiHeadAttnForward(
        handle, l->desc, only, l->lo, l->hi, l->q_length, l->k_length, x[Q].desc, x[Q].at, l->left, x[K].desc, x[K].at,
        x[V].desc, x[V].at, x[O].desc, x[O].at, l->weight_size, l->weights, training ? 0 : l->space_size,
        training ? NULL : l->space, training ? l->reserve_size : 0, training ? l->reserve : NULL);
}
static int data_pass(struct layer *l, void *const *d, const void *dout)
{
    struct vectors *x = l->x;
    return cudnnMultiHeadAttnBackwardData(handle, l->desc, l->lo, l->hi, l->q_length, l->k_length, x[O].desc, dout,
                                          x[Q].desc, d[Q], x[Q].at, x[K].desc, d[K], x[K].at, x[V].desc, d[V], x[V].at,
                                          l->weight_size, l->weights, l->space_size, l->space, l->reserve_size,
                                          l->reserve);
}
static int weight_pass(struct layer *l, int mode, const void *dout, void *dw)
{
    struct vectors *x = l->x;
    return cudnnMultiHeadAttnBackwardWeights(handle, l->desc, mode, x[Q].desc, x[Q].at, x[K].desc, x[K].at, x[V].desc,
                                             x[V].at, x[O].desc, dout, l->weight_size, l->weights, dw, l->space_size,
                                             l->space, l->reserve_size, l->reserve);
}

static bool near(const struct layer *l, const double *got, const double *want, int n, double scale, const char *what)
{
    bool good = true;
    for (int i = 0; i < n && good; i++) {
        good = fabs(got[i] - want[i]) <= tolerance(l->type) * scale * (1 + fabs(want[i]));
        EXPECT(good,
               "%s: type %d mode %d heads %d widths %d %d %d projected %d %d %d %d residual %d: %d of %d: %g, not %g",
               what, l->type, l->mode, l->heads, l->width[Q], l->width[K], l->width[V], l->proj[Q], l->proj[K],
               l->proj[V], l->proj[O], l->residual, i, n, got[i], want[i]);
    }
    return good;
}

/* The sum of dout and the result, of which gradients are; by differences in one number. */
static double total(const struct layer *l, const double *dout)
{
    double *out = calloc((size_t)l->x[O].n, 8), sum = 0;
    plain(l, NULL, out);
    for (int i = 0; i < l->x[O].n; i++) {
        int times = l->x[O].dim[TIME], row = i / l->width[O];
        sum += row % times < l->lengths[0][row / times] ? dout[i] * out[i] : 0; /* what lies behind has no gradient */
    }
    free(out);
    return sum;
}
static double *slopes(const struct layer *l, double *v, int n, const double *dout)
{
    double *d = calloc((size_t)n + 1, 8), step = 1e-5;
    for (int i = 0; i < n; i++) {
        double was = v[i], up;
        v[i] = was + step;
        up = total(l, dout);
        v[i] = was - step;
        d[i] = (up - total(l, dout)) / (2 * step);
        v[i] = was;
    }
    return d;
}

static void gradients(struct layer *l)
{
    struct vectors o = l->x[O];
    double *dout = numbers(o.n), *got, *want;
    void *d[4], *dw = room(l->weight_size);
    o.at = room((size_t)o.n * 8);
    fill(&o, l->type, dout);
    for (int i = 0; i < 3; i++)
        d[i] = room((size_t)l->x[i].n * 8);
    OK(data_pass(l, d, o.at));
    for (int i = 0; i < 3; i++) {
        want = slopes(l, l->x[i].v, l->x[i].n, dout);
        got = fetch(&l->x[i], l->type, d[i]);
        near(l, got, want, l->x[i].n, l->type == F64 ? 1e3 : 10, i == Q ? "dq" : i == K ? "dk" : "dv");
        free(got), free(want);
    }
    want = slopes(l, l->w, l->nw, dout);
    got = calloc((size_t)l->nw + 1, 8);
    for (int mode = 1; mode >= 0; mode--) { /* set, then added to that */
        OK(weight_pass(l, mode, o.at, dw));
        OK(cudaMemcpy(got, dw, l->weight_size, 2));
        for (int i = l->nw; i-- > 0;)
            got[i] = get(got, l->type, (size_t)i) / (mode ? 1 : 2);
        near(l, got, want, l->nw, l->type == F64 ? 1e3 : 10, mode ? "dw" : "dw, added");
    }
    free(got), free(want), free(dout);
    for (int i = 0; i < 3; i++)
        cudaFree(d[i]);
    cudaFree(o.at), cudaFree(dw);
}

static void layers(int type, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        struct layer l;
        draw(&l, type);
        describe(&l, NULL, NULL);
        struct vectors left = l.x[O];
        double *residual = numbers(left.n), *want = calloc((size_t)left.n, 8), *got;
        if (l.residual) { /* it lies as the queries do */
            left = l.x[Q];
            left.at = l.left = room((size_t)left.n * 8);
            fill(&left, type, residual);
        }
        plain(&l, l.residual ? residual : NULL, want);
        for (int training = 0; training < 2; training++) {
            OK(cudaMemset(l.x[O].at, 0x7f, (size_t)l.x[O].n * bytes(type)));
            OK(forward(&l, -1, training));
            got = fetch(&l.x[O], type, l.x[O].at);
            near(&l, got, want, left.n, 1, training ? "trained" : "inferred");
            free(got);
        }
        if (type != F16)
            gradients(&l);
        /* time by time, nothing but the one time is written */
        for (int t = 0; t < l.x[O].dim[TIME]; t++) {
            int wide = l.width[O], times = l.x[O].dim[TIME];
            double *zeros = calloc((size_t)l.x[O].n, 8);
            fill(&l.x[O], type, zeros);
            OK(forward(&l, t, false));
            got = fetch(&l.x[O], type, l.x[O].at);
            for (int i = 0; i < l.x[O].n; i++)
                zeros[i] = i / wide % times == t ? want[i] : 0;
            near(&l, got, zeros, l.x[O].n, 1, "one time");
            free(got), free(zeros);
        }
        free(residual), free(want);
        drop_layer(&l);
    }
}

/* ---- dropout ----------------------------------------------------------------------------------- */

/* Values that are the rows of the identity make a head's vector the probabilities, so the output shows what was kept of
 * them, and of the output itself; the gradient of the values is then the transposed product with the same numbers. */
static void drops(bool softmax, bool after)
{
    enum { N = 16 };
    struct layer l = {.type = F32, .heads = 1, .scale = 0.5, .width = {4, 4, N, N}};
    void *descs[2] = {NULL}, *states = room(64), *d[4];
    size_t size;
    int kept = 0, gone = 0;
    for (int i = 0; i < 2; i++) {
        OK(cudnnCreateDropoutDescriptor(&descs[i]));
        OK(cudnnDropoutGetStatesSize(handle, &size));
        OK(cudnnSetDropoutDescriptor(descs[i], handle, 0.25f, (char *)states + 16 * i, size, 7u + (unsigned)i));
    }
    for (int i = 0; i < 4; i++)
        memcpy(l.x[i].dim, (const int[]){N, 1, 1, l.width[i]}, 16);
    l.lengths[0][0] = l.lengths[1][0] = N;
    int window[2 * N];
    describe(&l, softmax ? descs[0] : NULL, after ? descs[1] : NULL);
    for (int i = 0; i < N; i++)
        window[i] = 0, window[N + i] = N;
    for (int i = 0; i < N * N; i++)
        l.x[V].v[i] = i / N == i % N;
    fill(&l.x[V], F32, l.x[V].v);
    struct vectors *x = l.x;
    OK(cudnnMultiHeadAttnForward(handle, l.desc, -1, window, window + N, l.q_length, l.k_length, x[Q].desc, x[Q].at,
                                 NULL, x[K].desc, x[K].at, x[V].desc, x[V].at, x[O].desc, x[O].at, 0, NULL,
                                 l.space_size, l.space, 0, NULL));
    double *full = fetch(&x[O], F32, x[O].at), *some, *dv, *dout = numbers(N * N);
    OK(cudnnMultiHeadAttnForward(handle, l.desc, -1, window, window + N, l.q_length, l.k_length, x[Q].desc, x[Q].at,
                                 NULL, x[K].desc, x[K].at, x[V].desc, x[V].at, x[O].desc, x[O].at, 0, NULL, 0, NULL,
                                 l.reserve_size, l.reserve));
    some = fetch(&x[O], F32, x[O].at);
    for (int i = 0; i < N * N; i++) {
        double times = some[i] / full[i], each = 4.0 / 3;
        bool good = fabs(times) < 1e-5 || fabs(times - each) < 1e-4 ||
                    (softmax && after && fabs(times - each * each) < 1e-4);
        EXPECT(good, "dropout multiplies %d by %g", i, times);
        kept += times > 0.1, gone += times < 0.1;
    }
    int most = softmax && after ? 160 : 100, least = softmax && after ? 80 : 40;
    EXPECT(gone > least && gone < most && kept + gone == N * N, "%d of %d gone", gone, N * N);
    for (int i = 0; i < 4; i++)
        d[i] = room(N * N * 4);
    struct vectors o = x[O];
    o.at = d[3];
    fill(&o, F32, dout);
    OK(cudnnMultiHeadAttnBackwardData(handle, l.desc, window, window + N, l.q_length, l.k_length, x[O].desc, d[3],
                                      x[Q].desc, d[Q], x[Q].at, x[K].desc, d[K], x[K].at, x[V].desc, d[V], x[V].at, 0,
                                      NULL, l.space_size, l.space, l.reserve_size, l.reserve));
    dv = fetch(&x[V], F32, d[V]);
    /* of the diagonal: out[t][c] is p[t][c] v[c][c], which are one each, so their sum is that of dout out */
    for (int c = 0; c < N; c++) {
        double want = 0;
        for (int t = 0; t < N; t++)
            want += dout[t * N + c] * some[t * N + c];
        EXPECT(fabs(dv[c * N + c] - want) < 1e-4 * (1 + fabs(want)), "dv with dropout: %g, not %g", dv[c * N + c],
               want);
    }
    double *dq = fetch(&x[Q], F32, d[Q]);
    for (int t = 0; t < N; t++) {
        double sum = 0;
        for (int c = 0; c < N; c++)
            sum += dout[t * N + c] * some[t * N + c];
        for (int w = 0; w < 4; w++) {
            double want = 0;
            for (int c = 0; c < N; c++)
                want += l.scale * (dout[t * N + c] * some[t * N + c] - full[t * N + c] * sum) * x[K].v[c * 4 + w];
            EXPECT(fabs(dq[t * 4 + w] - want) < 1e-4, "dq with dropout: %g, not %g", dq[t * 4 + w], want);
        }
    }
    free(full), free(some), free(dv), free(dq), free(dout);
    for (int i = 0; i < 4; i++)
        cudaFree(d[i]);
    drop_layer(&l);
    for (int i = 0; i < 2; i++)
        OK(cudnnDestroyDropoutDescriptor(descs[i]));
    cudaFree(states);
}

/* ---- wrong input ------------------------------------------------------------------------------- */

static int set_attention(void *d, int at, int value)
{
    int v[] = {0, 1, F32, F32, 0, 4, 4, 4, 0, 0, 0, 0, 2, 2, 2, 2};
    if (at >= 0)
        v[at] = value;
    return cudnnSetAttnDescriptor(d, (unsigned)v[0], v[1], 1, v[2], v[3], v[4], NULL, NULL, v[5], v[6], v[7], v[8],
                                  v[9], v[10], v[11], v[12], v[13], v[14], v[15]);
}
static void wrong(void)
{
    static const int bad[][2] = {{0, 4},   {1, 0},  {1, -1}, {2, 99},  {3, 99}, {4, 9}, {5, 0},
                                 {6, 0},   {6, 5},  {7, 0},  {8, -1},  {8, 3},  {9, 3}, {10, -1},
                                 {11, -1}, {12, 0}, {13, 0}, {14, -5}, {15, 0}};
    const int dims[] = {2, 2, 1, 4}, axes[] = {0, 1, 2, 3}, twice[] = {0, 1, 1, 3}, first[] = {3, 0, 1, 2};
    const int lengths[] = {2, 1}, longer[] = {3, 1}, none[] = {0, 2, 1, 4};
    void *d, *s, *at, *p = room(4096), *t, *other;
    size_t size, more, most;
    float f = 0;
    int n;
    OK(cudnnCreateAttnDescriptor(&d));
    OK(cudnnCreateSeqDataDescriptor(&s));
    OK(cudnnCreateSeqDataDescriptor(&other));
    OK(cudnnCreateTensorDescriptor(&t));
    IS(cudnnCreateAttnDescriptor(NULL), BAD);
    IS(cudnnCreateSeqDataDescriptor(NULL), BAD);
    IS(cudnnDestroyAttnDescriptor(s), BAD);
    IS(cudnnDestroySeqDataDescriptor(d), BAD);
    IS(cudnnGetMultiHeadAttnBuffers(handle, d, &size, &more, NULL), BAD); /* nothing was set */
    IS(cudnnGetAttnDescriptor(d, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL, NULL, NULL),
       BAD);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(set_attention(d, bad[i][0], bad[i][1]) == BAD, "argument %d: %d", bad[i][0], bad[i][1]);
    IS(set_attention(d, 2, I8), UNSUPPORTED);
    IS(set_attention(d, 3, F64), UNSUPPORTED);
    IS(cudnnSetAttnDescriptor(d, 0, 1, 1.0, F32, F32, 0, NULL, NULL, 4, 4, 4, 0, 0, 0, 0, 2147483647, 2147483647, 2, 2),
       UNSUPPORTED); /* 2^64 probabilities: no memory has that */
    IS(cudnnSetAttnDescriptor(d, 0, 1, -1.0, F32, F32, 0, NULL, NULL, 4, 4, 4, 0, 0, 0, 0, 2, 2, 2, 2), BAD);
    IS(cudnnSetAttnDescriptor(d, 0, 1, 1.0, F32, F32, 0, s, NULL, 4, 4, 4, 0, 0, 0, 0, 2, 2, 2, 2), BAD);
    OK(set_attention(d, 11, 4));
    OK(cudnnGetMultiHeadAttnBuffers(handle, d, &size, &more, &most));
    EXPECT(size == 64 && more > 0 && most > more, "sizes %zu %zu %zu", size, more, most);
    IS(cudnnGetMultiHeadAttnBuffers(handle, d, NULL, &more, NULL), BAD);
    IS(cudnnGetMultiHeadAttnBuffers(NULL, d, &size, &more, NULL), NOT_INITIALIZED);
    IS(cudnnGetMultiHeadAttnWeights(handle, d, 8, size, p, t, &at), BAD);
    IS(cudnnGetMultiHeadAttnWeights(handle, d, 3, size - 1, p, t, &at), BAD);
    IS(cudnnGetMultiHeadAttnWeights(handle, d, 3, size, p, s, &at), BAD);
    IS(cudnnGetMultiHeadAttnWeights(handle, d, 3, size, p, t, NULL), BAD);
    OK(cudnnGetMultiHeadAttnWeights(handle, d, 0, size, p, t, &at));
    EXPECT(!at, "a projection that is not there");

    IS(cudnnSetSeqDataDescriptor(s, F32, 3, dims, axes, 2, lengths, NULL), UNSUPPORTED);
    IS(cudnnSetSeqDataDescriptor(s, I8, 4, dims, axes, 2, lengths, NULL), UNSUPPORTED);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, first, 2, lengths, NULL), UNSUPPORTED);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, axes, 2, lengths, &f), UNSUPPORTED);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, twice, 2, lengths, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, none, axes, 2, lengths, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, axes, 3, lengths, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, axes, 2, longer, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, 99, 4, dims, axes, 2, lengths, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, NULL, axes, 2, lengths, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, NULL, 2, lengths, NULL), BAD);
    IS(cudnnSetSeqDataDescriptor(s, F32, 4, dims, axes, 2, NULL, NULL), BAD);
    IS(cudnnGetSeqDataDescriptor(s, NULL, &n, 0, NULL, NULL, NULL, 0, NULL, NULL), BAD); /* nothing was set */
    OK(cudnnSetSeqDataDescriptor(s, F32, 4, dims, axes, 2, lengths, NULL));
    OK(cudnnSetSeqDataDescriptor(other, F32, 4, (const int[]){2, 2, 1, 3}, axes, 2, lengths, NULL));

    int window[] = {0, 0, 2, 2};
    void *space = room(most);
#define FORWARD(attn, only, lo, len, q, q_at, v, out, ws, w, sp, rs, r) \
    cudnnMultiHeadAttnForward(handle, attn, only, lo, window + 2, len, p, q, q_at, NULL, s, p, v, p, s, out, ws, w, \
                              more, sp, rs, r)
    OK(cudaMemset(p, 0, 4096));
    OK(FORWARD(d, -1, window, p, s, p, s, p, size, p, space, 0, NULL));
    IS(FORWARD(s, -1, window, p, s, p, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, 2, window, p, s, p, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, NULL, p, s, p, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, NULL, s, p, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, other, p, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, d, p, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, NULL, s, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, other, p, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, NULL, size, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, p, size - 1, p, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, p, size, NULL, space, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, p, size, p, NULL, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, p, size, p, (char *)space + 1, 0, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, p, size, p, space, 8, NULL), BAD);
    IS(FORWARD(d, -1, window, p, s, p, s, p, size, p, space, 8, space), BAD);
    IS(FORWARD(d, 0, window, p, s, p, s, p, size, p, space, most, space), BAD); /* training has no single times */
#define DATA(dq, reserve, r) \
    cudnnMultiHeadAttnBackwardData(handle, d, window, window + 2, p, p, s, p, s, dq, p, s, p, p, s, p, p, size, p, 0, \
                                   NULL, reserve, r)
    OK(FORWARD(d, -1, window, p, s, p, s, p, size, p, space, most, space));
    OK(DATA(p, most, space));
    IS(DATA(NULL, most, space), BAD);
    IS(DATA(p, most / 2, space), BAD);
    IS(DATA(p, 0, NULL), BAD);
#define WEIGHTS(mode, dw, reserve, r) \
    cudnnMultiHeadAttnBackwardWeights(handle, d, mode, s, p, s, p, s, p, s, p, size, p, dw, 0, NULL, reserve, r)
    OK(WEIGHTS(0, p, most, space));
    IS(WEIGHTS(2, p, most, space), BAD);
    IS(WEIGHTS(0, NULL, most, space), BAD);
    IS(WEIGHTS(0, p, 8, space), BAD);
    OK(cudaDeviceSynchronize());
    OK(cudnnDestroyAttnDescriptor(d));
    OK(cudnnDestroySeqDataDescriptor(s));
    OK(cudnnDestroySeqDataDescriptor(other));
    OK(cudnnDestroyTensorDescriptor(t));
    cudaFree(p), cudaFree(space);
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    layers(F64, 60);
    layers(F32, 40);
    layers(F16, 20);
    drops(true, false);
    drops(false, true);
    drops(true, true);
    wrong();
    OK(cudnnDestroy(handle));
    return check_end("multi-head attention");
}
