/* Recurrent layers of all cells, layouts and lengths: the forward pass against plain loops over cuDNN's equations, the
 * gradients against differences of those loops. As a program of version 8 also by the interfaces before it: descriptors
 * of each time step, and those of sequences (Ex). */
#ifdef BAD /* the statuses of version 8 */
#define OLDER 1
#else
#define OLDER 0
#endif
#include "dnn.h"

enum { RELU, TANH, LSTM, GRU };

struct net {
    int cell, bias, dirs, skip, type, input, hidden, out, layers, layout, time, batch, length[40], gates;
    void *desc, *xd, *yd, *hd, *cd, *wd; /* wd: the weights as a filter */
    int way;                             /* of calling */
    void *xs[8], *ys[8];                 /* descriptors of time steps */
    double *x, *hx, *cx, *w;             /* numbers of the call: places of the program's layout for x */
    double *y, *hy, *cy;                 /* results of the plain loops */
    int nx, ny, nh, nc, nw;              /* how many */
    int m_at[12][9], b_at[12][9];        /* where matrices and biases begin, -1: none */
};

static int vector_at(const struct net *n, int t, int b)
{
    if (n->layout == 2)
        return b * n->time + t;
    if (n->layout == 0)
        return t * n->batch + b;
    int at = b;
    for (int s = 0; s < t; s++)
        for (int k = 0; k < n->batch; k++)
            at += s < n->length[k];
    return at;
}
static double sig(double x) { return 1 / (1 + exp(-x)); }

static void plain(struct net *n)
{
    int wide = n->dirs * n->out, most = n->input > wide ? n->input : wide;
    double *in = calloc((size_t)(n->time * n->batch * most), 8), *out = calloc((size_t)(n->time * n->batch * wide), 8);
    for (int t = 0; t < n->time; t++)
        for (int b = 0; b < n->batch; b++)
            for (int i = 0; t < n->length[b] && i < n->input; i++)
                in[(t * n->batch + b) * n->input + i] = n->x[vector_at(n, t, b) * n->input + i];
    for (int l = 0; l < n->layers; l++) {
        int width = l ? wide : n->input;
        for (int d = 0; d < n->dirs; d++)
            for (int b = 0; b < n->batch; b++) {
                int p = l * n->dirs + d;
                double h[16], c[16], s[16], g[4][16], r[4][16];
                for (int i = 0; i < n->out; i++)
                    h[i] = n->hx[(p * n->batch + b) * n->out + i];
                for (int i = 0; i < n->hidden; i++)
                    c[i] = n->cell == LSTM ? n->cx[(p * n->batch + b) * n->hidden + i] : 0;
                for (int k = 0; k < n->length[b]; k++) {
                    int t = d ? n->length[b] - 1 - k : k;
                    const double *x = in + (t * n->batch + b) * width;
                    for (int q = 0; q < n->gates; q++)
                        for (int i = 0; i < n->hidden; i++) {
                            double a = 0, e = 0;
                            for (int j = 0; j < width && n->m_at[p][q] >= 0; j++)
                                a += n->w[n->m_at[p][q] + i * width + j] * x[j];
                            if (n->m_at[p][q] < 0)
                                a = x[i];
                            for (int j = 0; j < n->out; j++)
                                e += n->w[n->m_at[p][n->gates + q] + i * n->out + j] * h[j];
                            g[q][i] = a + (n->b_at[p][q] < 0 ? 0 : n->w[n->b_at[p][q] + i]);
                            r[q][i] = e + (n->b_at[p][n->gates + q] < 0 ? 0 : n->w[n->b_at[p][n->gates + q] + i]);
                        }
                    for (int i = 0; i < n->hidden; i++)
                        if (n->cell == LSTM) {
                            c[i] = sig(g[1][i] + r[1][i]) * c[i] + sig(g[0][i] + r[0][i]) * tanh(g[2][i] + r[2][i]);
                            s[i] = sig(g[3][i] + r[3][i]) * tanh(c[i]);
                        } else if (n->cell == GRU) {
                            double u = sig(g[1][i] + r[1][i]);
                            s[i] = (1 - u) * tanh(g[2][i] + sig(g[0][i] + r[0][i]) * r[2][i]) + u * h[i];
                        } else {
                            s[i] = n->cell == TANH ? tanh(g[0][i] + r[0][i]) : fmax(0, g[0][i] + r[0][i]);
                        }
                    for (int i = 0; i < n->out; i++) {
                        h[i] = n->out == n->hidden ? s[i] : 0;
                        for (int j = 0; n->out != n->hidden && j < n->hidden; j++)
                            h[i] += n->w[n->m_at[p][8] + i * n->hidden + j] * s[j];
                        out[(t * n->batch + b) * wide + d * n->out + i] = h[i];
                    }
                }
                for (int i = 0; i < n->out; i++)
                    n->hy[(p * n->batch + b) * n->out + i] = h[i];
                for (int i = 0; n->cell == LSTM && i < n->hidden; i++)
                    n->cy[(p * n->batch + b) * n->hidden + i] = c[i];
            }
        memcpy(in, out, (size_t)(n->time * n->batch * wide) * 8);
    }
    for (int t = 0; t < n->time; t++)
        for (int b = 0; b < n->batch; b++)
            for (int i = 0; t < n->length[b] && i < wide; i++)
                n->y[vector_at(n, t, b) * wide + i] = out[(t * n->batch + b) * wide + i];
    free(in);
    free(out);
}

static void *give(int type, const double *v, int n)
{
    void *d, *h = calloc((size_t)n + 1, 8);
    for (int i = 0; i < n; i++)
        put(h, type, (size_t)i, v[i]);
    MUST(cudaMalloc(&d, (size_t)n * 8 + 8));
    OK(cudaMemcpy(d, h, (size_t)n * bytes(type), 1));
    free(h);
    return d;
}
static bool near(int type, void *d, const double *want, int n, double tol, const char *what, const struct net *t)
{
    char *h = malloc((size_t)n * 8 + 8);
    bool good = true;
    OK(cudaMemcpy(h, d, (size_t)n * bytes(type), 2));
    for (int i = 0; i < n && good; i++) {
        double got = get(h, type, (size_t)i);
        good = fabs(got - want[i]) <= tol * (1 + fabs(want[i]));
        EXPECT(good, "%s: cell %d bias %d directions %d skip %d layout %d layers %d projected %d: %d of %d: %g, not %g",
               what, t->cell, t->bias, t->dirs, t->skip, t->layout, t->layers, t->out != t->hidden, i, n, got, want[i]);
    }
    free(h);
    return good;
}
static double *numbers(int n)
{
    double *v = calloc((size_t)n + 1, 8);
    for (int i = 0; i < n; i++)
        v[i] = (upto(33) - 16) / 16.0;
    return v;
}

/* ---- the three interfaces ---------------------------------------------------------------------- */

enum { EIGHTH, EXTENDED, STEPS, SEARCHED /* as STEPS, by what looks for an algorithm */ };
struct memory {
    void *x, *hx, *cx, *w, *y, *hy, *cy, *keep, *dy, *dhy, *dcy, *dx, *dhx, *dcx, *dw;
    size_t weight_size, reserve;
};
#if OLDER
/* What a search found, once it is known to be right. */
static int found(int r, int count, void **perf)
{
    void *algorithm;
    int algo = 9, status = 9;
    float time = -1;
    size_t memory = 9;
    OK(cudnnCreateAlgorithmDescriptor(&algorithm));
    OK(cudnnGetAlgorithmPerformance(perf[0], &algorithm, &status, &time, &memory));
    OK(cudnnGetAlgorithmDescriptor(algorithm, &algo));
    EXPECT(r || (count == 1 && algo == 0 && status == 0 && time > 0 && memory == 0), "found %d: %d %d %g", count, algo,
           status, time);
    OK(cudnnDestroyAlgorithmDescriptor(algorithm));
    OK(cudnnDestroyAlgorithmPerformance(perf, 2));
    return r;
}
#endif
static int run_forward(const struct net *n, const struct memory *m, bool training)
{
    size_t reserve = training ? m->reserve : 0;
    void *keep = training ? m->keep : NULL;
#if OLDER
    void *perf[2];
    int count = 0;
    if (n->way == SEARCHED) {
        OK(cudnnCreateAlgorithmPerformance(perf, 2));
        int r = training ? cudnnFindRNNForwardTrainingAlgorithmEx(handle, n->desc, n->time, (void *)n->xs, m->x, n->hd,
                                                                  m->hx, n->cd, m->cx, n->wd, m->w, (void *)n->ys, m->y,
                                                                  n->hd, m->hy, n->cd, m->cy, 0.5f, 2, &count, perf,
                                                                  NULL, 0, keep, reserve)
                         : cudnnFindRNNForwardInferenceAlgorithmEx(
                               handle, n->desc, n->time, (void *)n->xs, m->x, n->hd, m->hx, n->cd, m->cx, n->wd, m->w,
                               (void *)n->ys, m->y, n->hd, m->hy, n->cd, m->cy, 0.5f, 2, &count, perf, NULL, 0);
        return found(r, count, perf);
    }
    if (n->way == STEPS && training)
        return cudnnRNNForwardTraining(handle, n->desc, n->time, (void *)n->xs, m->x, n->hd, m->hx, n->cd, m->cx, n->wd,
                                       m->w, (void *)n->ys, m->y, n->hd, m->hy, n->cd, m->cy, NULL, 0, keep, reserve);
    if (n->way == STEPS)
        return cudnnRNNForwardInference(handle, n->desc, n->time, (void *)n->xs, m->x, n->hd, m->hx, n->cd, m->cx,
                                        n->wd, m->w, (void *)n->ys, m->y, n->hd, m->hy, n->cd, m->cy, NULL, 0);
    if (n->way == EXTENDED && training)
        return cudnnRNNForwardTrainingEx(handle, n->desc, n->xd, m->x, n->hd, m->hx, n->cd, m->cx, n->wd, m->w, n->yd,
                                         m->y, n->hd, m->hy, n->cd, m->cy, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                         NULL, NULL, 0, keep, reserve);
    if (n->way == EXTENDED)
        return cudnnRNNForwardInferenceEx(handle, n->desc, n->xd, m->x, n->hd, m->hx, n->cd, m->cx, n->wd, m->w, n->yd,
                                          m->y, n->hd, m->hy, n->cd, m->cy, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                          NULL, NULL, 0);
#endif
    return cudnnRNNForward(handle, n->desc, training, NULL, n->xd, m->x, n->yd, m->y, n->hd, m->hx, m->hy, n->cd, m->cx,
                           m->cy, m->weight_size, m->w, 0, NULL, reserve, keep);
}
static int run_data(const struct net *n, const struct memory *m)
{
#if OLDER
    void *perf[2];
    int count = 0;
    if (n->way == SEARCHED) {
        OK(cudnnCreateAlgorithmPerformance(perf, 2));
        int r = cudnnFindRNNBackwardDataAlgorithmEx(handle, n->desc, n->time, (void *)n->ys, m->y, (void *)n->ys, m->dy,
                                                    n->hd, m->dhy, n->cd, m->dcy, n->wd, m->w, n->hd, m->hx, n->cd,
                                                    m->cx, (void *)n->xs, m->dx, n->hd, m->dhx, n->cd, m->dcx, 0.5f, 2,
                                                    &count, perf, NULL, 0, m->keep, m->reserve);
        return found(r, count, perf);
    }
    if (n->way == STEPS)
        return cudnnRNNBackwardData(handle, n->desc, n->time, (void *)n->ys, m->y, (void *)n->ys, m->dy, n->hd, m->dhy,
                                    n->cd, m->dcy, n->wd, m->w, n->hd, m->hx, n->cd, m->cx, (void *)n->xs, m->dx, n->hd,
                                    m->dhx, n->cd, m->dcx, NULL, 0, m->keep, m->reserve);
    if (n->way == EXTENDED)
        return cudnnRNNBackwardDataEx(handle, n->desc, n->yd, m->y, n->yd, m->dy, NULL, NULL, n->hd, m->dhy, n->cd,
                                      m->dcy, n->wd, m->w, n->hd, m->hx, n->cd, m->cx, n->xd, m->dx, n->hd, m->dhx,
                                      n->cd, m->dcx, NULL, NULL, NULL, 0, m->keep, m->reserve);
#endif
    return cudnnRNNBackwardData_v8(handle, n->desc, NULL, n->yd, m->y, m->dy, n->xd, m->dx, n->hd, m->hx, m->dhy,
                                   m->dhx, n->cd, m->cx, m->dcy, m->dcx, m->weight_size, m->w, 0, NULL, m->reserve,
                                   m->keep);
}
static int run_weights(const struct net *n, const struct memory *m, int add)
{
#if OLDER
    void *perf[2];
    int count = 0;
    if (n->way == SEARCHED) {
        OK(cudnnCreateAlgorithmPerformance(perf, 2));
        int r = cudnnFindRNNBackwardWeightsAlgorithmEx(handle, n->desc, n->time, (void *)n->xs, m->x, n->hd, m->hx,
                                                       (void *)n->ys, m->y, 0.5f, 2, &count, perf, NULL, 0, n->wd,
                                                       m->dw, m->keep, m->reserve);
        return found(r, count, perf);
    }
    if (n->way == STEPS)
        return cudnnRNNBackwardWeights(handle, n->desc, n->time, (void *)n->xs, m->x, n->hd, m->hx, (void *)n->ys, m->y,
                                       NULL, 0, n->wd, m->dw, m->keep, m->reserve);
    if (n->way == EXTENDED)
        return cudnnRNNBackwardWeightsEx(handle, n->desc, n->xd, m->x, n->hd, m->hx, n->yd, m->y, NULL, 0, n->wd, m->dw,
                                         m->keep, m->reserve);
#endif
    return cudnnRNNBackwardWeights_v8(handle, n->desc, add, NULL, n->xd, m->x, n->hd, m->hx, n->yd, m->y,
                                      m->weight_size, m->dw, 0, NULL, m->reserve, m->keep);
}

/* Descriptors of the net, sizes of its spaces. */
static void describe_net(struct net *n, void *dropout, struct memory *m)
{
    size_t space = 1;
#if OLDER
    if (n->way) {
        int v[10];
        void *drop_now;
        unsigned mode = 9;
        double low, high;
        OK(cudnnSetRNNDescriptor_v6(handle, n->desc, n->hidden, n->layers, dropout, n->skip, n->dirs - 1, n->cell, 0,
                                    n->type));
        OK(cudnnSetRNNBiasMode(n->desc, n->bias));
        OK(cudnnSetRNNProjectionLayers(handle, n->desc, n->out, 0));
        OK(cudnnSetRNNPaddingMode(n->desc, n->layout != 1));
        OK(cudnnSetRNNMatrixMathType(n->desc, 1));
        OK(cudnnRNNSetClip(handle, n->desc, 0, 0, -1, 1));
        OK(cudnnGetRNNDescriptor_v6(handle, n->desc, &v[0], &v[1], &drop_now, &v[2], &v[3], &v[4], &v[5], &v[6]));
        EXPECT(v[0] == n->hidden && v[1] == n->layers && drop_now == dropout && v[2] == n->skip &&
                   v[3] == n->dirs - 1 && v[4] == n->cell && v[5] == 0 && v[6] == n->type,
               "what a descriptor says");
        OK(cudnnGetRNNBiasMode(n->desc, &v[0]));
        OK(cudnnGetRNNProjectionLayers(handle, n->desc, &v[1], &v[2]));
        OK(cudnnGetRNNPaddingMode(n->desc, &mode));
        OK(cudnnGetRNNMatrixMathType(n->desc, &v[3]));
        OK(cudnnRNNGetClip(handle, n->desc, &v[4], &v[5], &low, &high));
        EXPECT(v[0] == n->bias && v[1] == n->out && v[2] == 0 && mode == (n->layout != 1) && v[3] == 1 && v[4] == 0 &&
                   low == -1 && high == 1,
               "what a descriptor says");
        for (int t = 0; t < n->time; t++) { /* of packed sequences: how many there still are */
            int batch = 0;
            for (int b = 0; b < n->batch; b++)
                batch += n->layout != 1 || t < n->length[b];
            int x[] = {batch, n->input, 1, 1, 1}, y[] = {batch, n->dirs * n->out, 1, 1, 1};
            const int rank = t % 2 ? 3 : 5;
            OK(cudnnCreateTensorDescriptor(&n->xs[t]));
            OK(cudnnCreateTensorDescriptor(&n->ys[t]));
            OK(cudnnSetTensorNdDescriptor(n->xs[t], n->type, rank, x, (int[]){n->input, 1, 1, 1, 1}));
            OK(cudnnSetTensorNdDescriptor(n->ys[t], n->type, rank, y, (int[]){n->dirs * n->out, 1, 1, 1, 1}));
        }
        IS(cudnnGetRNNParamsSize(handle, n->desc, n->xs[0], &m->weight_size, I32), BAD);
        OK(cudnnGetRNNParamsSize(handle, n->desc, n->xs[0], &m->weight_size, n->type));
        OK(cudnnGetRNNWorkspaceSize(handle, n->desc, n->time, (void *)n->xs, &space));
        OK(cudnnGetRNNTrainingReserveSize(handle, n->desc, n->time, (void *)n->xs, &m->reserve));
        IS(space, 0);
        OK(cudnnCreateFilterDescriptor(&n->wd));
        OK(cudnnSetFilterNdDescriptor(n->wd, n->type, 0, 3, (int[]){(int)(m->weight_size / bytes(n->type)), 1, 1}));
        return;
    }
#endif
    OK(cudnnSetRNNDescriptor_v8(n->desc, 0, n->cell, n->bias, n->dirs - 1, n->skip, n->type, n->type, 0, n->input,
                                n->hidden, n->out, n->layers, dropout, 0));
    OK(cudnnGetRNNWeightSpaceSize(handle, n->desc, &m->weight_size));
    OK(cudnnGetRNNTempSpaceSizes(handle, n->desc, 1, n->xd, &space, &m->reserve));
}
/* Where a gate's matrix and bias lie in a space at `base`: NULL: there is none. How many numbers that is. */
static int find_gate(const struct net *n, size_t weight_size, int p, int k, char *base, void **m, void **b)
{
    size_t size = 0;
    void *md, *bd;
#if OLDER
    if (n->way) {
        int type, format, dims, of[3], all[2];
        void **const at[] = {m, b};
        OK(cudnnCreateFilterDescriptor(&md));
        for (int i = 0; i < 2; i++) {
            OK((i ? cudnnGetRNNLinLayerBiasParams : cudnnGetRNNLinLayerMatrixParams)(handle, n->desc, p, n->xs[0],
                                                                                     n->wd, base, k, md, at[i]));
            all[i] = 0;
            if (*at[i]) {
                OK(cudnnGetFilterNdDescriptor(md, 3, &type, &format, &dims, of));
                EXPECT(type == n->type && dims == 3, "type %d, %d dimensions", type, dims);
                all[i] = of[0] * of[1] * of[2];
            }
        }
        OK(cudnnDestroyFilterDescriptor(md));
        return all[0] + all[1];
    }
#endif
    OK(cudnnCreateTensorDescriptor(&md));
    OK(cudnnCreateTensorDescriptor(&bd));
    OK(cudnnGetRNNWeightParams(handle, n->desc, p, weight_size, base, k, md, m, bd, b));
    OK(cudnnGetTensorSizeInBytes(md, &size));
    OK(cudnnDestroyTensorDescriptor(md));
    OK(cudnnDestroyTensorDescriptor(bd));
    return (*m ? (int)(size / bytes(n->type)) : 0) + (*b ? n->hidden : 0);
}

static void one(int type)
{
    struct net n = {.cell = upto(4),
                    .bias = upto(4),
                    .dirs = 1 + upto(2),
                    .skip = upto(4) == 0,
                    .type = type,
                    .hidden = 2 + upto(3),
                    .layers = 1 + upto(3),
                    .layout = upto(3),
                    .time = 1 + upto(4),
                    .batch = upto(6) ? 1 + upto(3) : 4 + upto(34)};
    void *drop_desc;
    struct memory m = {.weight_size = 0};
    n.input = n.skip ? n.hidden : 1 + upto(4);
    n.out = n.cell == LSTM && upto(2) ? n.hidden - 1 : n.hidden;
    n.gates = n.cell == LSTM ? 4 : n.cell == GRU ? 3 : 1;
    for (int b = 0; b < n.batch; b++)
        n.length[b] = n.layout == 1 ? (b ? 1 + upto(n.length[b - 1]) : n.time) : 1 + upto(n.time);
    n.way = OLDER ? upto(n.layout == 1 ? 4 : 2) : 0;
    int wide = n.dirs * n.out, vectors = 0;
    for (int b = 0; b < n.batch; b++)
        vectors += n.layout == 1 ? n.length[b] : n.time;
    OK(cudnnCreateRNNDescriptor(&n.desc));
    OK(cudnnCreateRNNDataDescriptor(&n.xd));
    OK(cudnnCreateRNNDataDescriptor(&n.yd));
    OK(cudnnCreateTensorDescriptor(&n.hd));
    OK(cudnnCreateTensorDescriptor(&n.cd));
    OK(cudnnCreateDropoutDescriptor(&drop_desc));
    OK(cudnnSetDropoutDescriptor(drop_desc, handle, 0, NULL, 0, 0));
    OK(cudnnSetRNNDataDescriptor(n.xd, type, n.layout, n.time, n.batch, n.input, n.length, NULL));
    OK(cudnnSetRNNDataDescriptor(n.yd, type, n.layout, n.time, n.batch, wide, n.length, NULL));
    const int rank = upto(2) ? 3 : 5; /* as PyTorch's, whose tensors all have five dimensions */
    int hd[5] = {n.layers * n.dirs, n.batch, n.out, 1, 1}, hs[5] = {n.batch * n.out, n.out, 1, 1, 1};
    int cd[5] = {n.layers * n.dirs, n.batch, n.hidden, 1, 1}, cs[5] = {n.batch * n.hidden, n.hidden, 1, 1, 1};
    OK(cudnnSetTensorNdDescriptor(n.hd, type, rank, hd, hs));
    OK(cudnnSetTensorNdDescriptor(n.cd, type, rank, cd, cs));
    describe_net(&n, drop_desc, &m);
    n.nw = (int)(m.weight_size / bytes(type));
    n.nx = vectors * n.input, n.ny = vectors * wide;
    n.nh = hd[0] * hs[0], n.nc = n.cell == LSTM ? cd[0] * cs[0] : 0;
    n.x = numbers(n.nx), n.hx = numbers(n.nh), n.cx = numbers(n.nc), n.w = numbers(n.nw);
    n.y = calloc((size_t)n.ny + 1, 8), n.hy = calloc((size_t)n.nh + 1, 8), n.cy = calloc((size_t)n.nc + 1, 8);
    /* every number of the space belongs to one matrix or bias */
    char *base = (char *)4096;
    int covered = 0;
    for (int p = 0; p < n.layers * n.dirs; p++)
        for (int k = 0; k < 2 * n.gates + (n.cell == LSTM); k++) {
            void *at = base, *b = base;
            covered += find_gate(&n, m.weight_size, p, k, base, &at, &b);
            n.m_at[p][k] = at ? (int)(((char *)at - base) / (int)bytes(type)) : -1;
            n.b_at[p][k] = b ? (int)(((char *)b - base) / (int)bytes(type)) : -1;
        }
    IS(covered, n.nw);
    plain(&n);
    m.x = give(type, n.x, n.nx), m.hx = give(type, n.hx, n.nh), m.cx = give(type, n.cx, n.nc);
    m.w = give(type, n.w, n.nw), m.y = give(type, n.y, n.ny);
    m.hy = give(type, n.hx, n.nh), m.cy = give(type, n.cx, n.nc);
    MUST(cudaMalloc(&m.keep, m.reserve + 8));
    double tol = type == F64 ? 1e-10 : type == F32 ? 1e-5 : 2e-2;
    OK(cudaMemset(m.y, 0, (size_t)n.ny * bytes(type)));
    OK(run_forward(&n, &m, false));
    OK(cudaDeviceSynchronize());
    near(type, m.y, n.y, n.ny, tol, "inference", &n);
    OK(cudaMemset(m.y, 0, (size_t)n.ny * bytes(type)));
    struct memory small = m, light = m, nothing = m;
    struct net wrong = n;
    small.reserve -= 8, light.weight_size--, nothing.w = NULL;
    wrong.xd = n.hd, wrong.xs[n.time - 1] = n.desc;
    IS(run_forward(&n, &small, true), BAD);
    if (!n.way) /* else the filter tells it */
        IS(run_forward(&n, &light, true), BAD);
    IS(run_forward(&n, &nothing, true), BAD);
    IS(run_forward(&wrong, &m, true), BAD);
    IS(run_data(&wrong, &m), BAD);
    IS(run_data(&n, &small), BAD);
    IS(run_weights(&wrong, &m, 0), BAD);
    wrong = n, wrong.wd = n.hd, wrong.hd = n.xd;
    IS(run_forward(&wrong, &m, true), BAD);
    OK(run_forward(&n, &m, true));
    OK(cudaDeviceSynchronize());
    near(type, m.y, n.y, n.ny, tol, "y", &n);
    near(type, m.hy, n.hy, n.nh, tol, "hy", &n);
    near(type, m.cy, n.cy, n.nc, tol, "cy", &n);
    double *dy = numbers(n.ny), *dhy = numbers(n.nh), *dcy = numbers(n.nc);
    m.dy = give(type, dy, n.ny), m.dhy = give(type, dhy, n.nh), m.dcy = give(type, dcy, n.nc);
    m.dx = give(type, n.x, n.nx), m.dhx = give(type, n.hx, n.nh), m.dcx = give(type, n.cx, n.nc);
    m.dw = give(type, n.w, n.nw);
    OK(run_data(&n, &m));
    int add = n.way ? 0 : upto(2); /* 0 adds, as the older interfaces do */
    OK(run_weights(&n, &m, add));
    OK(cudaDeviceSynchronize());
    if (type == F64 && n.cell != RELU) {
        double *const of[] = {n.x, n.hx, n.cx, n.w};
        void *const got[] = {m.dx, m.dhx, m.dcx, m.dw};
        const int many[] = {n.nx, n.nh, n.nc, n.nw};
        static const char *const names[] = {"dx", "dhx", "dcx", "dw"};
        for (int k = 0; k < 4; k++) {
            double *want = calloc((size_t)many[k] + 1, 8);
            for (int i = 0; i < many[k]; i++) {
                double old = of[k][i], loss[2];
                for (int s = 0; s < 2; s++) {
                    of[k][i] = old + (s ? 1e-5 : -1e-5);
                    plain(&n);
                    loss[s] = 0;
                    for (int j = 0; j < n.ny; j++)
                        loss[s] += n.y[j] * dy[j];
                    for (int j = 0; j < n.nh; j++)
                        loss[s] += n.hy[j] * dhy[j];
                    for (int j = 0; j < n.nc; j++)
                        loss[s] += n.cy[j] * dcy[j];
                }
                of[k][i] = old;
                want[i] = (loss[1] - loss[0]) / 2e-5 + (k == 3 && !add ? old : 0);
            }
            near(type, got[k], want, many[k], 1e-6, names[k], &n);
            free(want);
        }
    }
    void *const all[] = {m.x, m.hx, m.cx, m.w, m.y, m.hy, m.cy, m.keep, m.dy, m.dhy, m.dcy, m.dx, m.dhx, m.dcx, m.dw};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaFree(all[i]);
    double *const host[] = {n.x, n.hx, n.cx, n.w, n.y, n.hy, n.cy, dy, dhy, dcy};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        free(host[i]);
    for (int t = 0; n.way && t < n.time; t++) {
        OK(cudnnDestroyTensorDescriptor(n.xs[t]));
        OK(cudnnDestroyTensorDescriptor(n.ys[t]));
    }
    if (n.wd)
        OK(cudnnDestroyFilterDescriptor(n.wd));
    OK(cudnnDestroyRNNDescriptor(n.desc));
    OK(cudnnDestroyRNNDataDescriptor(n.xd));
    OK(cudnnDestroyRNNDataDescriptor(n.yd));
    OK(cudnnDestroyTensorDescriptor(n.hd));
    OK(cudnnDestroyTensorDescriptor(n.cd));
    OK(cudnnDestroyDropoutDescriptor(drop_desc));
}

#if OLDER
/* Algorithms and plans, right and wrong. */
static void algorithms(void)
{
    void *a, *b, *rnn, *plan, *perf[3], *none = NULL;
    char space[16];
    int algo = 9, n = 0;
    size_t size = 0;
    OK(cudnnCreateAlgorithmDescriptor(&a));
    OK(cudnnCreateAlgorithmDescriptor(&b));
    OK(cudnnCreateRNNDescriptor(&rnn));
    IS(cudnnCreateAlgorithmDescriptor(NULL), BAD);
    IS(cudnnSetRNNAlgorithmDescriptor(handle, rnn, a), BAD); /* not set */
    IS(cudnnGetRNNForwardTrainingAlgorithmMaxCount(handle, rnn, &n), BAD);
    OK(cudnnSetRNNDescriptor_v6(handle, rnn, 4, 1, NULL, 0, 0, LSTM, 0, F32));
    OK(cudnnGetRNNForwardTrainingAlgorithmMaxCount(handle, rnn, &n));
    OK(cudnnGetRNNForwardInferenceAlgorithmMaxCount(handle, rnn, &n));
    OK(cudnnGetRNNBackwardDataAlgorithmMaxCount(handle, rnn, &n));
    OK(cudnnGetRNNBackwardWeightsAlgorithmMaxCount(handle, rnn, &n));
    IS(n, 1);
    IS(cudnnGetRNNBackwardWeightsAlgorithmMaxCount(handle, rnn, NULL), BAD);
    IS(cudnnCreatePersistentRNNPlan(rnn, 2, F32, &plan), UNSUPPORTED); /* of the standard algorithm */
    OK(cudnnSetAlgorithmDescriptor(a, 2));
    OK(cudnnGetAlgorithmSpaceSize(handle, a, &size));
    EXPECT(size > 0 && size <= sizeof space, "%zu bytes", size);
    OK(cudnnSaveAlgorithm(handle, a, space, size));
    IS(cudnnSaveAlgorithm(handle, a, space, size - 1), BAD);
    OK(cudnnRestoreAlgorithm(handle, space, size, b));
    OK(cudnnGetAlgorithmDescriptor(b, &algo));
    IS(algo, 2);
    space[0] ^= 1;
    IS(cudnnRestoreAlgorithm(handle, space, size, b), BAD);
    OK(cudnnSetAlgorithmDescriptor(b, 7));
    IS(cudnnSetRNNAlgorithmDescriptor(handle, rnn, b), BAD); /* there is no such one */
    OK(cudnnCopyAlgorithmDescriptor(a, b));
    IS(cudnnCopyAlgorithmDescriptor(a, rnn), BAD);
    OK(cudnnSetRNNAlgorithmDescriptor(handle, rnn, b));
    OK(cudnnCreatePersistentRNNPlan(rnn, 2, F32, &plan));
    OK(cudnnSetPersistentRNNPlan(rnn, plan));
    IS(cudnnSetPersistentRNNPlan(rnn, a), BAD);
    IS(cudnnCreatePersistentRNNPlan(rnn, 0, F32, &plan), BAD);
    OK(cudnnDestroyPersistentRNNPlan(plan));
    IS(cudnnCreateAlgorithmPerformance(perf, 0), BAD);
    OK(cudnnCreateAlgorithmPerformance(perf, 3));
    OK(cudnnSetAlgorithmPerformance(perf[2], a, 3, 1.5f, 77));
    IS(cudnnSetAlgorithmPerformance(a, a, 3, 1.5f, 77), BAD);
    OK(cudnnGetAlgorithmPerformance(perf[2], NULL, &algo, NULL, &size));
    EXPECT(algo == 3 && size == 77, "status %d, %zu bytes", algo, size);
    IS(cudnnGetAlgorithmPerformance(perf[2], &none, NULL, NULL, NULL), BAD);
    IS(cudnnFindRNNForwardInferenceAlgorithmEx(handle, rnn, 1, &none, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &none,
                                               NULL, NULL, NULL, NULL, NULL, 0, 1, &n, perf, NULL, 0),
       BAD);
    IS(cudnnFindRNNForwardInferenceAlgorithmEx(handle, rnn, 1, &none, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &none,
                                               NULL, NULL, NULL, NULL, NULL, 0, 0, &n, perf, NULL, 0),
       BAD);
    OK(cudnnDestroyAlgorithmPerformance(perf, 3));
    IS(cudnnDestroyAlgorithmPerformance(perf, 1), BAD); /* twice */
    OK(cudnnDestroyRNNDescriptor(rnn));
    OK(cudnnDestroyAlgorithmDescriptor(a));
    OK(cudnnDestroyAlgorithmDescriptor(b));
}
#endif

int main(void)
{
    static const int types[] = {F64, F64, F32, F16, BF16};
    MUST(cudnnCreate(&handle));
#if OLDER
    algorithms();
#endif
    for (int i = 0; i < 200; i++)
        one(types[i % 5]);
    OK(cudnnDestroy(handle));
    return check_end("recurrent layers");
}
