/* cuDNN's graphs of random shapes, strides and types against plain loops: convolutions, products of matrices and
 * reductions with pointwise operations behind them, moves. */
#include "graph.h"

/* ---- convolutions ------------------------------------------------------------------------------ */

struct conv {
    int n, pre[3], post[3], stride[3], dilation[3], groups;
    struct tensor x, w, y;
};
static struct tensor plain(int type, int n, const int *dim)
{
    return make(type, n, dim, vector_of(type) > 1 ? VECT : upto(2), upto(3) == 0, false);
}
static void forget(struct tensor *t) { drop(t); }

/* result: the type of what is computed. */
static struct conv random_conv(int type, int way, int result)
{
    struct conv c = {.n = 2 + (upto(4) == 0), .groups = upto(3) ? 1 : 1 + upto(3)};
    int x[5], w[5], y[5];
    x[0] = y[0] = 1 + upto(3);
    w[1] = (1 + upto(vector_of(type) > 1 ? 2 : 4)) * vector_of(type);
    x[1] = w[1] * c.groups;
    w[0] = y[1] = (1 + upto(4)) * c.groups * vector_of(result);
    for (int i = 0; i < c.n; i++) {
        w[i + 2] = 1 + upto(3);
        c.dilation[i] = 1 + upto(2);
        c.stride[i] = 1 + upto(2);
        c.pre[i] = upto(3);
        c.post[i] = upto(3);
        x[i + 2] = (w[i + 2] - 1) * c.dilation[i] + 1 + upto(5);
        y[i + 2] = (x[i + 2] + c.pre[i] + c.post[i] - (w[i + 2] - 1) * c.dilation[i] - 1) / c.stride[i] + 1;
    }
    c.x = plain(way == 1 ? result : type, c.n + 2, x);
    c.w = plain(way == 2 ? result : type, c.n + 2, w);
    c.y = plain(way == 0 ? result : type, c.n + 2, y);
    return c;
}
/* out[...] += product, for each: way 0 y, 1 x, 2 w */
static void convolve(const struct conv *c, int way, double *out)
{
    int ys = 1, ws = 1, xs = 1, channels = c->w.dim[1], maps = c->w.dim[0] / c->groups;
    for (int i = 0; i < c->n; i++)
        ys *= c->y.dim[i + 2], ws *= c->w.dim[i + 2], xs *= c->x.dim[i + 2];
    for (int b = 0; b < c->x.dim[0]; b++)
        for (int k = 0; k < c->w.dim[0]; k++)
            for (int ch = 0; ch < channels; ch++)
                for (int p = 0; p < ys; p++)
                    for (int r = 0; r < ws; r++) {
                        int at = 0, step = 1, rp = p, rr = r;
                        bool inside = true;
                        for (int i = c->n - 1; i >= 0; i--) {
                            int o = rp % c->y.dim[i + 2], t = rr % c->w.dim[i + 2];
                            int pos = o * c->stride[i] - c->pre[i] + t * c->dilation[i];
                            rp /= c->y.dim[i + 2], rr /= c->w.dim[i + 2];
                            inside &= pos >= 0 && pos < c->x.dim[i + 2];
                            at += pos * step;
                            step *= c->x.dim[i + 2];
                        }
                        if (!inside)
                            continue;
                        int xi = (b * c->x.dim[1] + k / maps * channels + ch) * xs + at,
                            wi = (k * channels + ch) * ws + r;
                        int yi = (b * c->w.dim[0] + k) * ys + p;
                        if (way == 0)
                            out[yi] += c->x.v[xi] * c->w.v[wi];
                        else if (way == 1)
                            out[xi] += c->y.v[yi] * c->w.v[wi];
                        else
                            out[wi] += c->y.v[yi] * c->x.v[xi];
                    }
}
static desc conv_desc(const struct conv *c)
{
    desc d = create(KIND(CONVOLUTION));
    int64_t v[4][3];
    for (int i = 0; i < c->n; i++)
        v[0][i] = c->pre[i], v[1][i] = c->post[i], v[2][i] = c->stride[i], v[3][i] = c->dilation[i];
    set_enum(d, A(CONVOLUTION_COMP_TYPE), TYPE(DATA_TYPE), F32);
    set_enum(d, A(CONVOLUTION_CONV_MODE), TYPE(CONVOLUTION_MODE), CUDNN_CROSS_CORRELATION);
    set_int(d, A(CONVOLUTION_SPATIAL_DIMS), c->n);
    set(d, A(CONVOLUTION_PRE_PADDINGS), TYPE(INT64), c->n, v[0]);
    set(d, A(CONVOLUTION_POST_PADDINGS), TYPE(INT64), c->n, v[1]);
    set(d, A(CONVOLUTION_FILTER_STRIDES), TYPE(INT64), c->n, v[2]);
    set(d, A(CONVOLUTION_DILATIONS), TYPE(INT64), c->n, v[3]);
    OK(finalize(d));
    return d;
}
static desc conv_op(const struct conv *c, int way, desc x, desc w, desc y)
{
    static const int names[][6] = {
        {KIND(OPERATION_CONVOLUTION_FORWARD), A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
         A(OPERATION_CONVOLUTION_FORWARD_X), A(OPERATION_CONVOLUTION_FORWARD_W), A(OPERATION_CONVOLUTION_FORWARD_Y),
         A(OPERATION_CONVOLUTION_FORWARD_ALPHA)},
        {KIND(OPERATION_CONVOLUTION_BACKWARD_DATA), A(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
         A(OPERATION_CONVOLUTION_BWD_DATA_DX), A(OPERATION_CONVOLUTION_BWD_DATA_W),
         A(OPERATION_CONVOLUTION_BWD_DATA_DY), A(OPERATION_CONVOLUTION_BWD_DATA_ALPHA)},
        {KIND(OPERATION_CONVOLUTION_BACKWARD_FILTER), A(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
         A(OPERATION_CONVOLUTION_BWD_FILTER_X), A(OPERATION_CONVOLUTION_BWD_FILTER_DW),
         A(OPERATION_CONVOLUTION_BWD_FILTER_DY), A(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA)}};
    const int *n = names[way];
    float one = 1, zero = 0;
    desc d = create(n[0]);
    set_desc(d, n[1], conv_desc(c));
    set_desc(d, n[2], x);
    set_desc(d, n[3], w);
    set_desc(d, n[4], y);
    set(d, n[5], TYPE(FLOAT), 1, &one);
    set(d, n[5] + 1, TYPE(FLOAT), 1, &zero);
    OK(finalize(d));
    return d;
}

/* With the groups in front of the channels, or of a filter's maps (first 0). */
static desc of_groups(const struct tensor *t, int64_t uid, int first, int groups)
{
    int dim[8], stride[8];
    for (int i = 0; i < t->n; i++)
        dim[i + (i > first)] = t->dim[i], stride[i + (i > first)] = t->stride[i];
    dim[first] = groups, dim[first + 1] = t->dim[first] / groups;
    stride[first] = t->stride[first] * dim[first + 1], stride[first + 1] = t->stride[first];
    return describe(uid, t->type, t->n + 1, dim, stride, REAL);
}

/* A convolution; forward also with a bias of each channel, another tensor added, and ReLU, as frameworks fuse them. */
static void convolution(int type, int result, int way, bool fused)
{
    struct conv c = random_conv(type, way, result);
    struct tensor *out = way == 0 ? &c.y : way == 1 ? &c.x : &c.w;
    int bias_dim[5] = {1, c.y.dim[1], 1, 1, 1};
    struct tensor bias = plain(result, c.n + 2, bias_dim), z = plain(result, c.n + 2, c.y.dim);
    double *want = calloc((size_t)count(out), sizeof *want);
    int64_t uid[] = {1, 2, 3, 4, 5};
    void *at[] = {c.x.at, c.w.at, c.y.at, bias.at, z.at};
    desc x = of(&c.x, 1), w = of(&c.w, 2), y = of(&c.y, 3), op[4];
    convolve(&c, way, want);
    if (!fused && vector_of(type) == 1 && upto(2)) {
        op[0] = conv_op(&c, way, of_groups(&c.x, 1, 1, c.groups), of_groups(&c.w, 2, 0, c.groups),
                        of_groups(&c.y, 3, 1, c.groups));
    } else if (!fused) {
        op[0] = conv_op(&c, way, x, w, y);
    } else {
        int per = count(&c.y) / c.y.dim[0] / c.y.dim[1];
        desc v[3];
        for (int i = 0; i < 3; i++)
            v[i] = vector_of(result) > 1 && i < 2
                       ? of_vectors(&c.y, 10 + i, VIRTUAL)
                       : describe(10 + i, F32, c.n + 2, c.y.dim, upto(2) ? c.y.stride : NULL, VIRTUAL);
        op[0] = conv_op(&c, 0, x, w, v[0]);
        op[1] = apply(CUDNN_POINTWISE_ADD, v[0], of(&z, 5), v[1]);
        op[2] = apply(CUDNN_POINTWISE_ADD, v[1], of(&bias, 4), v[2]);
        op[3] = apply(CUDNN_POINTWISE_RELU_FWD, v[2], NULL, y);
        for (int i = 0; i < count(&c.y); i++)
            want[i] = fmax(0, want[i] + z.v[i] + bias.v[i / per % c.y.dim[1]]);
    }
    for (int i = 0; i < count(out); i++)
        want[i] = vector_of(result) > 1 ? held(result, want[i]) : want[i];
    if (run_graph(fused ? 4 : 1, op, 5, uid, at))
        same(out, want, 4, fused ? "convolution with more behind it" : "convolution");
    destroy_all();
    free(want);
    forget(&c.x), forget(&c.w), forget(&c.y), forget(&bias), forget(&z);
}

/* Groups whose channels do not lie behind one another, vectors along another dimension or of another length, and
 * vectors where none are known. */
static void misplaced(void)
{
    struct conv c = {.n = 2, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 2};
    c.x = make(F32, 4, (int[]){1, 4, 3, 3}, NCHW, false, false),
    c.w = make(F32, 4, (int[]){4, 2, 1, 1}, NCHW, false, false);
    c.y = make(F32, 4, (int[]){1, 4, 3, 3}, NCHW, false, false);
    int dim[] = {1, 2, 2, 3, 3}, apart[] = {54, 9, 27, 3, 1}, small[] = {1, 2, 1, 1, 1};
    desc w = of_groups(&c.w, 2, 0, 2), y = of_groups(&c.y, 3, 1, 2), op;
    op = conv_op(&c, 0, describe(1, F32, 5, dim, apart, REAL), w, y);
    EXPECT(finalize(graph_of(1, &op)) != 0, "groups that are apart");
    op = conv_op(&c, 0, of_groups(&c.x, 1, 1, 4), w, y);
    EXPECT(finalize(graph_of(1, &op)) != 0, "other groups");
    for (int i = 0; i < 4; i++) {
        desc v = begin_tensor(1, I8, 4, dim, NULL, REAL), p = begin_tensor(3, i == 2 ? F32 : I8, 4, dim, NULL, REAL);
        set_int(v, A(TENSOR_VECTOR_COUNT), i == 0 ? 8 : 4);
        set_int(v, A(TENSOR_VECTORIZED_DIMENSION), i == 1 ? 2 : 1);
        set_int(p, A(TENSOR_VECTOR_COUNT), i == 0 ? 8 : 4);
        set_int(p, A(TENSOR_VECTORIZED_DIMENSION), i == 1 ? 2 : 1);
        OK(finalize(v));
        OK(finalize(p));
        op = i < 2 ? apply(CUDNN_POINTWISE_IDENTITY, v, NULL, p)
                   : reduce(CUDNN_REDUCE_TENSOR_ADD, v, describe(4, F32, 4, small, NULL, REAL));
        EXPECT(finalize(graph_of(1, &op)) != 0, "vectors, %d", i);
    }
    destroy_all();
    forget(&c.x), forget(&c.w), forget(&c.y);
}

/* ---- products of matrices ---------------------------------------------------------------------- */

/* gelu(scale a b + bias), with heads that share b, and lengths. */
static void matmul(int type, int result, bool lengths)
{
    int heads = 1 + upto(2), group = 1 + upto(3), m = 1 + upto(20), n = 1 + upto(20), k = 1 + upto(20),
        batch = 1 + upto(2);
    struct tensor a = plain(type, 4, (int[]){batch, heads * group, m, k});
    struct tensor b = plain(type, 4, (int[]){upto(2) ? batch : 1, heads, k, n});
    struct tensor c = plain(result, 4, (int[]){batch, heads * group, m, n}),
                  bias = plain(result, 4, (int[]){1, 1, 1, n});
    struct tensor len[3];
    float scale = 0.5f;
    const double padding = lengths && upto(2) ? -1.5 : 0;
    double *want = calloc((size_t)count(&c), sizeof *want);
    int64_t uid[] = {1, 2, 3, 4, 5, 6, 7, 8};
    desc v[2], l[3] = {NULL}, op[4];
    for (int i = 0; i < 3; i++) {
        len[i] = make(I32, 4, (int[]){batch, 1, 1, 1}, 0, false, false);
        for (int e = 0; e < batch; e++)
            len[i].v[e] = upto((i == 0 ? m : i == 1 ? n : k) + 2); /* sometimes beyond the end */
        upload(&len[i]);
        if (lengths)
            l[i] = of(&len[i], 6 + i);
    }
    for (int i = 0; i < 2; i++)
        v[i] = describe(10 + i, F32, 4, c.dim, NULL, VIRTUAL);
    for (int i = 0; i < count(&c); i++) {
        int col = i % n, row = i / n % m, h = i / n / m % (heads * group), e = i / n / m / heads / group;
        int last = lengths && len[2].v[e] < k ? (int)len[2].v[e] : k;
        bool in = !lengths || (row < len[0].v[e] && col < len[1].v[e]);
        double s = in ? 0 : padding;
        for (int j = 0; in && j < last; j++)
            s += a.v[((e * heads * group + h) * m + row) * k + j] *
                 b.v[(((b.dim[0] > 1 ? e : 0) * heads + h / group) * k + j) * n + col];
        s = s * scale + bias.v[col];
        want[i] = 0.5 * s * (1 + erf(s * 0.70710678118654752440));
    }
    op[0] = apply(CUDNN_POINTWISE_ADD, v[1], of(&bias, 4), v[0]); /* given in another order than they run in */
    op[1] = padded_product(of(&a, 1), of(&b, 2), describe(20, F32, 4, c.dim, NULL, VIRTUAL), l[0], l[1], l[2], padding);
    op[2] = apply(CUDNN_POINTWISE_MUL, describe(20, F32, 4, c.dim, NULL, VIRTUAL), scalar_of(5, F32, 1 + upto(4)),
                  v[1]);
    op[3] = apply(CUDNN_POINTWISE_GELU_FWD, v[0], NULL, of(&c, 3));
    void *at[] = {a.at, b.at, c.at, bias.at, &scale, len[0].at, len[1].at, len[2].at};
    if (run_graph(4, op, 8, uid, at))
        same(&c, want, 4, "product of matrices");
    destroy_all();
    free(want);
    forget(&a), forget(&b), forget(&c), forget(&bias), forget(&len[0]), forget(&len[1]), forget(&len[2]);
}

/* ---- reductions and moves ---------------------------------------------------------------------- */

static void reduction(int type, int how)
{
    int group = 1 + upto(3), dim[] = {1 + upto(3), group * (1 + upto(3)), 1 + upto(5), 1 + upto(5)}, to[4];
    for (int i = 0; i < 4; i++)
        to[i] = upto(2) ? 1 : i == 1 ? dim[i] / group : dim[i];
    struct tensor x = plain(type, 4, dim), y = plain(type, 4, to);
    int members = count(&x) / count(&y);
    double *want = calloc((size_t)count(&y), sizeof *want);
    for (int i = 0; i < count(&y); i++)
        want[i] = how == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY : 0;
    for (int i = 0; i < count(&x); i++) {
        int place = 0, rest = i, index[4];
        for (int d = 3; d >= 0; rest /= dim[d], d--)
            index[d] = rest % dim[d] / (dim[d] / to[d]);
        for (int d = 0; d < 4; d++)
            place = place * to[d] + index[d];
        if (how == CUDNN_REDUCE_TENSOR_MAX)
            want[place] = fmax(want[place], x.v[i]);
        else if (how == CUDNN_REDUCE_TENSOR_AMAX)
            want[place] = fmax(want[place], fabs(x.v[i]));
        else
            want[place] += x.v[i] / (how == CUDNN_REDUCE_TENSOR_AVG ? members : 1);
    }
    desc op = reduce(how, of(&x, 1), of(&y, 2));
    if (run_graph(1, &op, 2, (int64_t[]){1, 2}, (void *[]){x.at, y.at}))
        same(&y, want, 8, "reduction");
    destroy_all();
    free(want);
    forget(&x), forget(&y);
}

/* A slice of a transpose beside a logical reshape of it, concatenated. */
static void moves(int type)
{
    int a = 2 + upto(4), b = 2 + upto(4), c = 2 + upto(4);
    struct tensor x = plain(type, 3, (int[]){a, b, c}), y = plain(type, 3, (int[]){c, a, 2 * b - 1});
    double *want = calloc((size_t)count(&y), sizeof *want);
    int64_t turn[] = {2, 0, 1}, start[] = {0, 0, 1}, limit[] = {c, a, b}, axis = 2;
    int whole[] = {c, a, b}, part[] = {c, a, b - 1};
    desc t = describe(3, type, 3, whole, NULL, VIRTUAL), s = describe(4, type, 3, part, NULL, VIRTUAL);
    desc r = describe(5, type, 3, whole, NULL, VIRTUAL), op[4], in[] = {s, r};
    for (int i = 0; i < 4; i++)
        op[i] = create((const int[]){KIND(OPERATION_TRANSPOSE), KIND(OPERATION_SLICE), KIND(OPERATION_RESHAPE),
                                     KIND(OPERATION_CONCAT)}[i]);
    set_desc(op[0], A(OPERATION_TRANSPOSE_XDESC), of(&x, 1));
    set_desc(op[0], A(OPERATION_TRANSPOSE_YDESC), t);
    set(op[0], A(OPERATION_TRANSPOSE_PERMUTATION), TYPE(INT64), 3, turn);
    set_desc(op[1], A(OPERATION_SLICE_XDESC), t);
    set_desc(op[1], A(OPERATION_SLICE_YDESC), s);
    set(op[1], A(OPERATION_SLICE_START_INDICES), TYPE(INT64), 3, start);
    set(op[1], A(OPERATION_SLICE_LIMIT_INDICES), TYPE(INT64), 3, limit);
    set_desc(op[2], A(OPERATION_RESHAPE_XDESC), of(&x, 1));
    set_desc(op[2], A(OPERATION_RESHAPE_YDESC), r);
    set_enum(op[2], A(OPERATION_RESHAPE_MODE), TYPE(RESHAPE_MODE), CUDNN_RESHAPE_LOGICAL);
    set_int(op[3], A(OPERATION_CONCAT_AXIS), axis);
    set(op[3], A(OPERATION_CONCAT_INPUT_DESCS), TYPE(BACKEND_DESCRIPTOR), 2, in);
    set_desc(op[3], A(OPERATION_CONCAT_OUTPUT_DESC), of(&y, 2));
    for (int i = 0; i < 4; i++)
        OK(finalize(op[i]));
    for (int i = 0; i < count(&y); i++) {
        int k = i % (2 * b - 1), j = i / (2 * b - 1) % a, l = i / (2 * b - 1) / a;
        want[i] = k < b - 1 ? x.v[(j * b + k + 1) * c + l] : x.v[(l * a + j) * b + k - b + 1];
    }
    if (run_graph(4, op, 2, (int64_t[]){1, 2}, (void *[]){x.at, y.at}))
        same(&y, want, 0, "moves");
    destroy_all();
    free(want);
    forget(&x), forget(&y);
}

/* y = scale |x| as nodes of a CUDA graph: launched, updated with other memory by the graph itself and by its child's
 * node, and again after all that it was made of is gone. */
static void nodes(void)
{
    struct tensor x[2], y[2];
    double *want[2];
    void *workspace[2], *graph[2], *child, *node, *exec;
    float scale[2] = {2, -3};
    const int64_t uids[] = {1, 2, 3};
    desc pack[2], plan, g, op[2], mid;
    int note = 0;
    long long notes = 0;
    for (int i = 0; i < 2; i++) {
        x[i] = make(F32, 4, (int[]){2, 3, 4, 5}, 0, false, false);
        y[i] = make(F32, 4, (int[]){2, 3, 4, 5}, 0, false, false);
        MUST(cudaMalloc(&workspace[i], 4096));
        want[i] = calloc((size_t)y[i].size, sizeof **want);
        for (int k = 0; k < count(&y[i]); k++)
            want[i][k] = scale[i] * fabs(x[i].v[k]);
    }
    mid = describe(4, F32, 4, x->dim, NULL, VIRTUAL);
    op[0] = apply(CUDNN_POINTWISE_ABS, of(&x[0], 1), NULL, mid);
    op[1] = apply(CUDNN_POINTWISE_MUL, mid, scalar_of(3, F32, 4), of(&y[0], 2));
    g = graph_of(2, op);
    OK(finalize(g));
    plan = plan_of(g);
    desc engine = create(KIND(ENGINE));
    set_desc(engine, A(ENGINE_OPERATION_GRAPH), g);
    set_int(engine, A(ENGINE_GLOBAL_INDEX), 0);
    OK(finalize(engine));
    OK(cudnnBackendGetAttribute(engine, A(ENGINE_BEHAVIOR_NOTE), TYPE(BEHAVIOR_NOTE), 1, &notes, &note));
    EXPECT(notes == 1 && note == CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API, "note %d", note);
    for (int i = 0; i < 2; i++) {
        pack[i] = pack_of(3, uids, (void *[]){x[i].at, y[i].at, &scale[i]}, workspace[i]);
        OK(cudaGraphCreate((void *)&graph[i], 0));
    }
    IS(cudnnBackendUpdateCudaGraph(handle, plan, pack[0], graph[0]), BAD);
    OK(cudnnBackendPopulateCudaGraph(handle, plan, pack[0], graph[0]));
    IS(cudnnBackendPopulateCudaGraph(handle, plan, pack[0], graph[0]), BAD);
    IS(cudnnBackendPopulateCudaGraph(handle, plan, pack[0], NULL), BAD);
    IS(cudnnBackendPopulateCudaGraph(handle, pack[0], plan, graph[1]) == 0, 0);
    OK(cudaGraphAddChildGraphNode((void *)&node, graph[1], NULL, 0, graph[0]));
    OK(cudaGraphDestroy(graph[0]));
    OK(cudaGraphInstantiate((void *)&exec, graph[1], 0));
    for (int turn = 0; turn < 3; turn++) {
        int i = turn % 2;
        if (turn) {
            OK(cudaGraphChildGraphNodeGetGraph(node, (void *)&child));
            OK(cudnnBackendUpdateCudaGraph(handle, plan, pack[i], child));
            OK(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
        }
        if (turn == 2) /* what the executable graph was updated from is gone */
            OK(cudaGraphDestroy(graph[1]));
        OK(cudaMemset(y[i].at, 0xff, y[i].size * 4));
        OK(cudaGraphLaunch(exec, NULL));
        OK(cudaDeviceSynchronize());
        same(&y[i], want[i], 0, "nodes");
    }
    OK(cudaGraphExecDestroy(exec));
    destroy_all();
    for (int i = 0; i < 2; i++) {
        free(want[i]);
        OK(cudaFree(workspace[i]));
        forget(&x[i]), forget(&y[i]);
    }
}

/* Numbers below the least normal one of bfloat16 count in products, on whatever the CPU multiplies: 2^-130 times 2^100,
 * of either factor. */
static void subnormals(void)
{
    enum { N = 64 };
    struct tensor x = make(BF16, 3, (int[]){1, N, N}, NCHW, false, false), c = make(BF16, 3, x.dim, NCHW, false, false);
    struct tensor diagonal = make(BF16, 3, x.dim, NCHW, false, false);
    double *want = calloc(N * N, sizeof *want);
    for (int i = 0; i < N * N; i++)
        x.v[i] = 0x1p-130, diagonal.v[i] = i % (N + 1) ? 0 : 0x1p100, want[i] = 0x1p-30;
    upload(&x), upload(&diagonal);
    for (int first = 0; first < 2; first++) {
        desc op = product(of(first ? &x : &diagonal, 1), of(first ? &diagonal : &x, 2), of(&c, 3), NULL, NULL, NULL);
        void *at[] = {first ? x.at : diagonal.at, first ? diagonal.at : x.at, c.at};
        if (run_graph(1, &op, 3, (int64_t[]){1, 2, 3}, at))
            same(&c, want, 0, "a product of subnormals");
        destroy_all();
    }
    free(want);
    drop(&x), drop(&diagonal), drop(&c);
}

/* Complex numbers, here pairs of real ones: the right operand lies by rows or by columns. */
static void complex_matmul(int type)
{
    int batch = 1 + upto(3), m = 1 + upto(9), n = 1 + upto(9), k = 1 + upto(9), shared = upto(2);
    bool turned = upto(2);
    struct tensor a = make(type, 4, (int[]){batch, m, k, 2}, 0, false, false);
    struct tensor b = make(type, 4, (int[]){shared ? 1 : batch, turned ? n : k, turned ? k : n, 2}, 0, false, false);
    struct tensor c = make(type, 4, (int[]){batch, m, n, 2}, 0, false, false);
    double *want = calloc((size_t)count(&c), sizeof *want);
    for (int i = 0; i < count(&c) / 2; i++)
        for (int j = 0; j < k; j++) {
            int e = i / n / m, bi = (shared ? 0 : e * k * n) + (turned ? i % n * k + j : j * n + i % n);
            const double *x = &a.v[2 * (i / n * k + j)], *y = &b.v[2 * bi];
            want[2 * i] += x[0] * y[0] - x[1] * y[1];
            want[2 * i + 1] += x[0] * y[1] + x[1] * y[0];
        }
    int complex_type = type == F32 ? CUDNN_DATA_COMPLEX_FP32 : CUDNN_DATA_COMPLEX_FP64;
    desc op = product(describe(1, complex_type, 3, a.dim, NULL, REAL),
                      describe(2, complex_type, 3, (int[]){b.dim[0], k, n},
                               turned ? (int[]){k * n, 1, k} : (int[]){k * n, n, 1}, REAL),
                      describe(3, complex_type, 3, c.dim, NULL, REAL), NULL, NULL, NULL);
    if (run_graph(1, &op, 3, (int64_t[]){1, 2, 3}, (void *[]){a.at, b.at, c.at}))
        same(&c, want, k * 16, "a product of complex numbers");
    destroy_all();
    drop(&a), drop(&b), drop(&c), free(want);
}

int main(void)
{
    static const int types[] = {F32, F16, BF16, F64}, narrow[] = {I8, E4M3, E5M2, U8};
    static const int wide[][3] = {{I32, F32, F64}, {F32, F16, BF16}, {F32, BF16, F16}, {F32, I32, F64}};
    OK(cudnnCreate(&handle));
    for (int i = 0; i < 48; i++)
        convolution(types[i % 4], types[i % 4], i / 4 % 3, false);
    for (int i = 0; i < 24; i++)
        convolution(types[i % 3], types[i % 3], 0, true);
    for (int i = 0; i < 36; i++)
        convolution(narrow[i % 4], wide[i % 4][i / 4 % 3], i / 12, i / 12 == 0 && i % 3 == 0);

    for (int i = 0; i < 40; i++)
        convolution(i % 4 ? I8X4 : I8X32, i % 4 > 2 ? F32 : i % 4 ? I8X4 : I8X32, 0, i % 3 == 0);
    misplaced();

    for (int i = 0; i < 60; i++)
        matmul(types[i % 4], types[i % 4], i % 3 == 0);
    for (int i = 0; i < 24; i++)
        matmul(narrow[i % 4], i % 2 ? F32 : F64, i % 3 == 0);

    subnormals();

    for (int i = 0; i < 20; i++)
        complex_matmul(i % 2 ? F32 : F64);

    for (int i = 0; i < 40; i++)
        reduction(types[i % 2 * 3], (const int[]){0, 3, 4, 5}[i / 2 % 4]);
    for (int i = 0; i < 20; i++)
        moves(types[i % 4]);
    if (VERSION >= 9)
        nodes();

    OK(cudnnDestroy(handle));
    return check_end("graph");
}
