/* Shapes that are given when a plan of cuDNN's graphs is executed: the same numbers as of a graph that had them from
 * the beginning, for drawn graphs and shapes; what does not fit is refused. */
#include "graph.h"

/* std::vector<std::vector<int64_t>>, as cudnn-frontend hands it over. */
struct list {
    const void *begin, *end, *room;
};

enum { TENSORS = 8 };
/* A drawn graph's tensors in memory, with two shapes: that of the plan, and that of the call. */
struct drawing {
    int n;
    struct tensor t[TENSORS], other[TENSORS]; /* of the call; of the plan */
    bool output[TENSORS];
};
static int add(struct drawing *g, int type, int n, const int *now, const int *then, bool output)
{
    const bool gaps = upto(2);
    g->t[g->n] = make(type, n, now, NCHW, gaps, false);
    g->other[g->n] = make(type, n, then, NCHW, gaps, false);
    g->output[g->n] = output;
    return g->n++;
}
static desc shaped(const struct drawing *g, int i, bool then) { return of(then ? &g->other[i] : &g->t[i], i + 1); }
static desc between(int64_t uid, int n, const int *now, const int *then, bool use)
{
    return describe(uid, F32, n, use ? then : now, NULL, VIRTUAL);
}

/* ---- graphs ------------------------------------------------------------------------------------ */

static int draw_sizes(int n, int *now, int *then, int most)
{
    for (int i = 0; i < n; i++)
        now[i] = 1 + upto(most), then[i] = upto(3) ? 1 + upto(most) : now[i];
    return n;
}

/* c = relu(a b + bias), its sums over the columns. */
static int products(struct drawing *g, desc *op, bool then, const int *s, const int *o, int type)
{
    enum { B, M, K, N };
    if (!g->n) {
        add(g, type, 3, (int[]){s[B], s[M], s[K]}, (int[]){o[B], o[M], o[K]}, false);
        add(g, type, 3, (int[]){s[B], s[K], s[N]}, (int[]){o[B], o[K], o[N]}, false);
        add(g, F32, 3, (int[]){1, 1, s[N]}, (int[]){1, 1, o[N]}, false);
        add(g, type, 3, (int[]){s[B], s[M], s[N]}, (int[]){o[B], o[M], o[N]}, true);
        add(g, F32, 3, (int[]){s[B], s[M], 1}, (int[]){o[B], o[M], 1}, true);
    }
    const int now[] = {s[B], s[M], s[N]}, before[] = {o[B], o[M], o[N]};
    desc c = between(20, 3, now, before, then), d = between(21, 3, now, before, then), y = shaped(g, 3, then);
    op[0] = apply(CUDNN_POINTWISE_ADD, c, shaped(g, 2, then), d); /* not in their order */
    op[1] = product(shaped(g, 0, then), shaped(g, 1, then), c, NULL, NULL, NULL);
    op[2] = apply(CUDNN_POINTWISE_RELU_FWD, d, NULL, y);
    op[3] = reduce(CUDNN_REDUCE_TENSOR_ADD, d, shaped(g, 4, then));
    return 4;
}

/* y = x * filter + bias, or its softmax over the last dimension. */
static int convolutions(struct drawing *g, desc *op, bool then, const int *s, const int *o, int type)
{
    enum { B, C, K, H, W };
    const int r = 1 + s[C] % 3, now[] = {s[B], s[K], s[H], s[W]}, before[] = {o[B], o[K], o[H], o[W]};
    if (!g->n) {
        add(g, type, 4, (int[]){s[B], s[C], s[H] + r - 1, s[W]}, (int[]){o[B], o[C], o[H] + r - 1, o[W]}, false);
        add(g, type, 4, (int[]){s[K], s[C], r, 1}, (int[]){o[K], o[C], r, 1}, false);
        add(g, F32, 4, (int[]){1, s[K], 1, 1}, (int[]){1, o[K], 1, 1}, false);
        add(g, F32, 4, now, before, true);
    }
    desc y = between(20, 4, now, before, then), z = between(21, 4, now, before, then), p;
    op[0] = plain_convolution(F32, shaped(g, 0, then), shaped(g, 1, then), y);
    op[1] = apply(CUDNN_POINTWISE_ADD, y, shaped(g, 2, then), z);
    p = create(KIND(OPERATION_SOFTMAX));
    set_desc(p, A(OPERATION_SOFTMAX_XDESC), z);
    set_desc(p, A(OPERATION_SOFTMAX_YDESC), shaped(g, 3, then));
    OK(finalize(p));
    op[2] = p;
    return 3;
}

/* Attention as one operation, masked and scaled by a graph of its own. */
static int attentions(struct drawing *g, desc *op, bool then, const int *s, const int *o, int type)
{
    enum { B, H, Q, K, D };
    if (!g->n) {
        add(g, type, 4, (int[]){s[B], s[H], s[Q], s[D]}, (int[]){o[B], o[H], o[Q], o[D]}, false);
        add(g, type, 4, (int[]){s[B], s[H], s[K], s[D]}, (int[]){o[B], o[H], o[K], o[D]}, false);
        add(g, type, 4, (int[]){s[B], s[H], s[K], s[D]}, (int[]){o[B], o[H], o[K], o[D]}, false);
        add(g, type, 4, (int[]){s[B], s[H], s[Q], s[D]}, (int[]){o[B], o[H], o[Q], o[D]}, true);
        add(g, F32, 4, (int[]){s[B], s[H], s[Q], 1}, (int[]){o[B], o[H], o[Q], 1}, true);
        add(g, F32, 4, (int[]){1, s[H], s[Q], s[K]}, (int[]){1, o[H], o[Q], o[K]}, false);
    }
    const int now[] = {s[B], s[H], s[Q], s[K]}, before[] = {o[B], o[H], o[Q], o[K]};
    desc d = create(KIND(OPERATION_SDPA_FWD)), sub = create(KIND(OPERATIONGRAPH)), mask[2];
    desc from = between(20, 4, now, before, then), biased = between(21, 4, now, before, then);
    desc masked = between(22, 4, now, before, then), band = create(KIND(OPERATION_DIAGONAL_BAND_MASK));
    static float fill = -1e9f;
    static char bytes[4];
    memcpy(bytes, &fill, 4);
    desc low = begin_tensor(23, F32, 4, (int[]){1, 1, 1, 1}, NULL, REAL);
    set(low, A(TENSOR_CONSTANT_VALUE), TYPE(VOID_PTR), 1, &(void *){bytes});
    OK(finalize(low));
    mask[0] = apply(CUDNN_POINTWISE_ADD, from, shaped(g, 5, then), biased);
    set_desc(band, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), biased);
    set_desc(band, A(OPERATION_DIAGONAL_BAND_MASK_BDESC), low);
    set_desc(band, A(OPERATION_DIAGONAL_BAND_MASK_YDESC), masked);
    set_enum(band, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), TYPE(POINTWISE_MODE), CUDNN_POINTWISE_CMP_GE);
    OK(finalize(band));
    mask[1] = band;
    set(sub, A(OPERATIONGRAPH_OPS), TYPE(BACKEND_DESCRIPTOR), 2, mask);
    OK(finalize(sub));
    set_desc(d, A(OPERATION_SDPA_FWD_QDESC), shaped(g, 0, then));
    set_desc(d, A(OPERATION_SDPA_FWD_KDESC), shaped(g, 1, then));
    set_desc(d, A(OPERATION_SDPA_FWD_VDESC), shaped(g, 2, then));
    set_desc(d, A(OPERATION_SDPA_FWD_ODESC), shaped(g, 3, then));
    set_desc(d, A(OPERATION_SDPA_FWD_STATSDESC), shaped(g, 4, then));
    set_desc(d, A(OPERATION_SDPA_FWD_SUBGRAPH), sub);
    set_int(d, A(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), 20);
    set_int(d, A(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), 22);
    OK(finalize(d));
    op[0] = d;
    return 1;
}

/* ---- calls ------------------------------------------------------------------------------------- */

static desc plan_with(int ops, const desc *op, bool enabled)
{
    desc graph = graph_of(ops, op);
    set(graph, A(OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED), TYPE(BOOLEAN), 1, &enabled);
    int r = finalize(graph);
    EXPECT(!r, "graph: %d", r);
    return r ? NULL : plan_of(graph);
}

/* What is wrong with a call. */
enum { NOTHING, RANK, SHAPE, TWICE, FEWER, ZERO, KINDS };
struct lists {
    int64_t uid[TENSORS], dim[TENSORS][8], stride[TENSORS][8];
    struct list dims[TENSORS], strides[TENSORS], all_dims, all_strides;
};
static void list(const struct drawing *g, struct lists *l, int wrong)
{
    for (int i = 0; i < g->n; i++) {
        const struct tensor *t = &g->t[i];
        const int n = t->n - (wrong == RANK && i == 0);
        l->uid[i] = i + 1;
        for (int k = 0; k < t->n; k++)
            l->dim[i][k] = t->dim[k], l->stride[i][k] = t->stride[k];
        l->dims[i] = (struct list){l->dim[i], l->dim[i] + n, l->dim[i] + 8};
        /* strides of another number do not count: the plan's do */
        const bool own = !wrong && !memcmp(t->stride, g->other[i].stride, sizeof(int) * (size_t)t->n) && upto(2);
        l->strides[i] = (struct list){l->stride[i], l->stride[i] + t->n - own, l->stride[i] + 8};
        if (own)
            l->stride[i][0] = l->stride[i][1] = 1;
    }
    if (wrong == SHAPE)
        l->dim[1][1]++, l->stride[1][1] = 0;
    if (wrong == TWICE)
        l->uid[1] = 1;
    if (wrong == ZERO)
        l->dim[0][0] = 0;
    l->all_dims = (struct list){l->dims, l->dims + g->n - (wrong == FEWER), l->dims + TENSORS};
    l->all_strides = (struct list){l->strides, l->strides + g->n, l->strides + TENSORS};
}
static int pack_with(const struct drawing *g, const struct lists *l, void *workspace, desc *pack)
{
    void *at[TENSORS];
    int64_t uid[TENSORS];
    for (int i = 0; i < g->n; i++)
        at[i] = g->t[i].at, uid[i] = i + 1;
    *pack = create(KIND(VARIANT_PACK));
    set(*pack, A(VARIANT_PACK_UNIQUE_IDS), TYPE(INT64), g->n, uid);
    set(*pack, A(VARIANT_PACK_DATA_POINTERS), TYPE(VOID_PTR), g->n, at);
    set(*pack, A(VARIANT_PACK_WORKSPACE), TYPE(VOID_PTR), 1, &workspace);
    set(*pack, A(VARIANT_PACK_OVERRIDE_UNIQUE_IDS), TYPE(INT64), g->n, l->uid);
    set(*pack, A(VARIANT_PACK_OVERRIDE_SHAPES), TYPE(VOID_PTR), 1, &l->all_dims);
    set(*pack, A(VARIANT_PACK_OVERRIDE_STRIDES), TYPE(VOID_PTR), 1, &l->all_strides);
    return finalize(*pack);
}

/* A call of the plan, with its workspace and no more. */
static int call(desc plan, const struct drawing *g, int wrong)
{
    struct lists l;
    size_t size = 0, asked = 0;
    long long count;
    void *workspace = NULL;
    desc pack, question = create(KIND(VARIANT_PACK));
    list(g, &l, wrong);
    OK(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_WORKSPACE_SIZE), TYPE(INT64), 1, &count, &size));
    MUST(cudaMalloc(&workspace, size + 1));
    int r = pack_with(g, &l, workspace, &pack);
    memset(l.dim, 0x55, sizeof l.dim); /* the lists are read when they are given */
    r = r ? r : cudnnBackendExecute(handle, plan, pack);
    OK(cudaDeviceSynchronize());
    if (wrong == NOTHING) { /* how much is needed may be asked without tensors */
        list(g, &l, wrong);
        set(question, A(VARIANT_PACK_OVERRIDE_UNIQUE_IDS), TYPE(INT64), g->n, l.uid);
        set(question, A(VARIANT_PACK_OVERRIDE_SHAPES), TYPE(VOID_PTR), 1, &l.all_dims);
        set(question, A(VARIANT_PACK_OVERRIDE_STRIDES), TYPE(VOID_PTR), 1, &l.all_strides);
        OK(finalize(question));
        OK(cudnnGetExecutionPlanWorkspaceSize(handle, plan, question, &asked));
        EXPECT(asked == size, "%zu bytes, not %zu", asked, size);
        IS(cudnnBackendExecute(handle, plan, question), BAD);
    }
    OK(cudaFree(workspace));
    return r;
}

static void one(int (*draw)(struct drawing *, desc *, bool, const int *, const int *, int), int type)
{
    struct drawing g = {.n = 0};
    int now[5], then[5], wrong;
    double *want[TENSORS];
    desc op[4];
    draw_sizes(5, now, then, 9);
    int ops = draw(&g, op, false, now, then, type);
    int64_t uid[TENSORS];
    void *at[TENSORS];
    for (int i = 0; i < g.n; i++)
        uid[i] = i + 1, at[i] = g.t[i].at;
    desc plan = plan_with(ops, op, false);
    if (!plan)
        return;
    execute(plan, g.n, uid, at);
    IS(call(plan, &g, NOTHING) == 0, 0); /* not enabled */
    for (int i = 0; i < g.n; i++) {
        want[i] = calloc((size_t)count(&g.t[i]), sizeof(double));
        struct tensor result = g.t[i];
        result.v = want[i];
        download(&result);
        if (g.output[i])
            upload(&g.t[i]); /* as it was */
    }
    destroy_all();
    ops = draw(&g, op, true, now, then, type);
    plan = plan_with(ops, op, true);
    wrong = 1 + upto(KINDS - 1);
    if (plan) {
        int r = call(plan, &g, wrong);
        EXPECT(r == BAD || (wrong == TWICE && r == 2009) || (wrong == RANK && r / 1000 == 3), "what is wrong, %d: %d",
               wrong, r);
        r = call(plan, &g, NOTHING);
        EXPECT(!r, "with other shapes: %d", r);
        for (int i = 0; !r && i < g.n; i++)
            same(&g.t[i], want[i], g.output[i] ? 1 : 0, "with other shapes");
        for (int i = 0; i < g.n; i++) /* and then with its own */
            at[i] = g.other[i].at;
        execute(plan, g.n, uid, at);
    }
    destroy_all();
    for (int i = 0; i < g.n; i++) {
        free(want[i]);
        drop(&g.t[i]), drop(&g.other[i]);
    }
}

int main(void)
{
    static const int types[] = {F32, F16, BF16, F32};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 120; i++) {
        one(products, types[i % 4]);
        one(convolutions, types[i % 4]);
        one(attentions, types[i % 4]);
    }
    OK(cudnnDestroy(handle));
    return check_end("shapes given at execution");
}
