/* Attention as one operation of cuDNN's graphs on the CPU muDNN beside oneDNN called directly: a product, a softmax, a
 * product, on the same memory in the same process, and its gradients, of which oneDNN takes seven. The direct calls
 * keep their primitives and the scores; times as ratios. Keys and values in pages are beside the same attention without
 * pages, as oneDNN has no such thing. */
#include "graph.h"

#include <math.h>
#include <string.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DNNL_ARG_SHIFT) && DNNL_VERSION_MAJOR == 2

enum { ROUNDS = 7, F32 = 0, F16 = 2, I32 = 4, BF16 = 9 };
#define ONE(name) ((__typeof__(dnnl_##name) *)in("libdnnl.so.2", "dnnl_" #name))

static dnnl_engine_t engine;
static dnnl_stream_t stream;

/* ---- cuDNN ------------------------------------------------------------------------------------- */

struct shape {
    int64_t batch, heads, sequence, depth, page; /* page 0: none */
    int type;
};

/* Memories, of which a tensor's number is one more. */
enum { Q, K, V, O, SCALE, LENGTHS, PAGES, STATS, DO, DQ, DK, DV, MEMORIES };

static void *memory(const struct shape *s, int which)
{
    const int64_t pages = s->page ? s->sequence / s->page : 0, dim[] = {s->batch, s->heads, s->sequence, s->depth},
                  cache[] = {s->batch * pages, s->heads, s->page, s->depth}, table[] = {s->batch, 1, pages, 1},
                  one[] = {1, 1, 1, 1}, lengths[] = {s->batch, 1, 1, 1}, stats[] = {s->batch, s->heads, s->sequence, 1};
    switch (which) {
    case SCALE: return tensor(which + 1, F32, one, true);
    case LENGTHS: return tensor(which + 1, I32, lengths, false);
    case PAGES: return tensor(which + 1, I32, table, false);
    case STATS: return tensor(which + 1, F32, stats, false);
    default: return tensor(which + 1, s->type, s->page && (which == K || which == V) ? cache : dim, false);
    }
}

static void *forward_operation(const struct shape *s)
{
    void *op = create(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    set_object(op, A(OPERATION_SDPA_FWD_QDESC), memory(s, Q));
    set_object(op, A(OPERATION_SDPA_FWD_KDESC), memory(s, K));
    set_object(op, A(OPERATION_SDPA_FWD_VDESC), memory(s, V));
    set_object(op, A(OPERATION_SDPA_FWD_ODESC), memory(s, O));
    set_object(op, A(OPERATION_SDPA_FWD_SCALEDESC), memory(s, SCALE));
    if (s->page) {
        void *t = memory(s, PAGES);
        set_object(op, A(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), memory(s, LENGTHS));
        set_object(op, A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), memory(s, LENGTHS));
        set_object(op, A(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), t);
        set_object(op, A(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), t);
    }
    return op;
}

static void *backward_operation(const struct shape *s)
{
    static const struct {
        int name, which;
    } all[] = {{A(OPERATION_SDPA_BWD_QDESC), Q},         {A(OPERATION_SDPA_BWD_KDESC), K},
               {A(OPERATION_SDPA_BWD_VDESC), V},         {A(OPERATION_SDPA_BWD_ODESC), O},
               {A(OPERATION_SDPA_BWD_SCALEDESC), SCALE}, {A(OPERATION_SDPA_BWD_STATSDESC), STATS},
               {A(OPERATION_SDPA_BWD_DODDESC), DO},      {A(OPERATION_SDPA_BWD_DQDESC), DQ},
               {A(OPERATION_SDPA_BWD_DKDESC), DK},       {A(OPERATION_SDPA_BWD_DVDESC), DV}};
    void *op = create(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        set_object(op, all[i].name, memory(s, all[i].which));
    return op;
}

/* ---- oneDNN ------------------------------------------------------------------------------------ */

enum { STEPS = 7 };
struct direct {
    dnnl_primitive_t step[STEPS];
    dnnl_exec_arg_t args[STEPS][3];
    int count[STEPS], steps;
};

/* A matrix of each head somewhere. */
struct matrix {
    dnnl_memory_desc_t layout;
    dnnl_memory_t memory;
};
static struct matrix matrix(const struct shape *s, int64_t rows, int64_t columns, bool turned, void *at)
{
    const dnnl_dims_t dim = {s->batch, s->heads, rows, columns},
                      stride = {s->heads * rows * columns, rows * columns, turned ? 1 : columns, turned ? rows : 1};
    struct matrix m;
    must(ONE(memory_desc_init_by_strides)(&m.layout, 4, dim,
                                          s->type == F16    ? dnnl_f16
                                          : s->type == BF16 ? dnnl_bf16
                                                            : dnnl_f32,
                                          stride),
         "layout");
    must(ONE(memory_create)(&m.memory, &m.layout, engine, at), "memory");
    return m;
}

static void add_step(struct direct *d, dnnl_primitive_desc_t pd, int n, const dnnl_exec_arg_t *args)
{
    must(ONE(primitive_create)(&d->step[d->steps], pd), "primitive");
    memcpy(d->args[d->steps], args, sizeof *args * (size_t)n);
    d->count[d->steps++] = n;
}
#define ARGS(...) ((const dnnl_exec_arg_t[]){__VA_ARGS__})
#define ARG(name, m) \
    { \
        DNNL_ARG_##name, (m).memory \
    }

/* c = scale a b */
static bool add_product(struct direct *d, struct matrix a, struct matrix b, struct matrix c, float scale)
{
    dnnl_primitive_attr_t attr;
    dnnl_matmul_desc_t product;
    dnnl_primitive_desc_t pd;
    must(ONE(primitive_attr_create)(&attr), "attributes");
    if (scale != 1)
        must(ONE(primitive_attr_set_output_scales)(attr, 1, 0, &scale), "scale");
    must(ONE(matmul_desc_init)(&product, &a.layout, &b.layout, NULL, &c.layout), "product");
    if (ONE(primitive_desc_create)(&pd, &product, attr, engine, NULL))
        return false; /* no halves on this CPU */
    add_step(d, pd, 3, ARGS(ARG(SRC, a), ARG(WEIGHTS, b), ARG(DST, c)));
    return true;
}

/* Softmax divides the scores in place; the scale is an attribute of the first product. The gradients begin with the
 * shares, then go back by way of their own. */
static bool make_direct(struct direct *d, const struct shape *s, void *const *at, float scale, bool backward)
{
    const int64_t n = s->sequence, wide = s->depth;
    const size_t scores = (size_t)(s->batch * s->heads * n * n) * (s->type == F32 ? 4 : 2);
    dnnl_softmax_desc_t softmax;
    dnnl_primitive_desc_t forward, back;
    void *const p = malloc(scores), *const dp = malloc(scores);
    const struct matrix share = matrix(s, n, n, false, p), slope = matrix(s, n, n, false, dp);
    const struct matrix q = matrix(s, n, wide, false, at[Q]), v = matrix(s, n, wide, false, at[V]);
    d->steps = 0;
    if (!add_product(d, q, matrix(s, wide, n, true, at[K]), share, scale))
        return false;
    must(ONE(softmax_forward_desc_init)(&softmax, dnnl_forward_training, &share.layout, 3), "softmax");
    must(ONE(primitive_desc_create)(&forward, &softmax, NULL, engine, NULL), "softmax");
    add_step(d, forward, 2, ARGS(ARG(SRC, share), ARG(DST, share)));
    if (!backward)
        return add_product(d, share, v, matrix(s, n, wide, false, at[O]), 1);
    const struct matrix down = matrix(s, n, wide, false, at[DO]), k = matrix(s, n, wide, false, at[K]);
    bool all = add_product(d, matrix(s, n, n, true, p), down, matrix(s, n, wide, false, at[DV]), 1) &&
               add_product(d, down, matrix(s, wide, n, true, at[V]), slope, 1);
    must(ONE(softmax_backward_desc_init)(&softmax, &slope.layout, &share.layout, 3), "softmax");
    must(ONE(primitive_desc_create)(&back, &softmax, NULL, engine, forward), "softmax");
    add_step(d, back, 3, ARGS(ARG(DST, share), ARG(DIFF_DST, slope), ARG(DIFF_SRC, slope)));
    return all && add_product(d, slope, k, matrix(s, n, wide, false, at[DQ]), scale) &&
           add_product(d, matrix(s, n, n, true, dp), q, matrix(s, n, wide, false, at[DK]), scale);
}

/* ---- both -------------------------------------------------------------------------------------- */

static void execute(const struct call *c)
{
    must(DNN(BackendExecute)(handle, c->plan, c->pack), "cudnnBackendExecute");
    must(RT(StreamSynchronize)(NULL), "cudaStreamSynchronize");
}
static void execute_directly(const struct direct *d)
{
    for (int i = 0; i < d->steps; i++)
        must(ONE(primitive_execute)(d->step[i], stream, d->count[i], d->args[i]), "execute");
    ONE(stream_wait)(stream);
}

static double number(const void *at, int type, size_t i)
{
    uint32_t bits;
    float f;
    if (type == F32)
        return (double)((const float *)at)[i];
    bits = (uint32_t)((const uint16_t *)at)[i] << 16;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* Are cuDNN's results oneDNN's? Of bfloat16 oneDNN rounds the scores, too. */
static void compare_results(const struct call *c, const struct direct *d, void *const *at, int type, int first, int n,
                            size_t count)
{
    const size_t size = type == F32 ? 4 : 2;
    char *kept = malloc(count * (size_t)n * size);
    double most = 0, far = 0;
    execute(c);
    for (int i = 0; i < n; i++)
        memcpy(kept + (size_t)i * count * size, at[first + i], count * size);
    execute_directly(d);
    for (size_t i = 0; i < count * (size_t)n; i++) {
        const double want = number(at[first + (int)(i / count)], type, i % count);
        far = fmax(far, fabs(number(kept, type, i) - want)), most = fmax(most, fabs(want));
    }
    must(!(far < (type == F32 ? 1e-4 : 0.03) * most), "results differ");
    free(kept);
}

/* Seconds of a call by cuDNN, and by oneDNN where there is one: of the rounds that others disturbed least. */
static bool compare(const struct shape *s, bool backward, double best[2])
{
    const size_t count = (size_t)(s->batch * s->heads * s->sequence * s->depth), size = s->type == F32 ? 4 : 2;
    float scale = 0.125f;
    void *at[MEMORIES];
    struct direct d;
    for (int i = 0; i < MEMORIES; i++) {
        const bool whole = i < SCALE || i >= DO;
        must(RT(Malloc)(&at[i], whole ? count * size : (size_t)(s->batch * (s->heads + 1) * (s->sequence + 1)) * 4),
             "cudaMalloc");
        for (size_t k = 0; k < count && whole; k++)
            if (s->type != F32) /* 0.125 to 0.25 and the like */
                ((uint16_t *)at[i])[k] = (uint16_t)((s->type == F16 ? 0x3000 : 0x3e00) +
                                                    k * 7919 % (s->type == F16 ? 1024 : 128));
            else
                ((float *)at[i])[k] = (float)(k * 7919 % 37) / 100 - 0.18f;
    }
    int pages = s->page ? (int)(s->batch * (s->sequence / s->page)) : 0, last = pages - 1;
    for (int i = 0; i < pages; i++) /* the last page first */
        ((int *)at[PAGES])[i] = last - i;
    for (int i = 0; i < s->batch; i++)
        ((int *)at[LENGTHS])[i] = (int)s->sequence;
    at[SCALE] = &scale;
    void *op = forward_operation(s);
    if (backward) /* for which the forward pass leaves what it needs */
        set_object(op, A(OPERATION_SDPA_FWD_STATSDESC), memory(s, STATS));
    must(DNN(BackendFinalize)(op), "operation");
    struct call c = prepare(op, MEMORIES, at);
    if (backward) {
        execute(&c);
        op = backward_operation(s);
        must(DNN(BackendFinalize)(op), "operation");
        c = prepare(op, MEMORIES, at);
    }
    bool both = !s->page && make_direct(&d, s, at, scale, backward);
    if (both)
        compare_results(&c, &d, at, s->type, backward ? DQ : O, backward ? 3 : 1, count);
    best[0] = best[1] = 1e9;
    for (int r = -1; r < ROUNDS; r++) {
        double t = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (both)
            execute_directly(&d);
        double half = seconds(CLOCK_PROCESS_CPUTIME_ID);
        execute(&c);
        double took[2] = {seconds(CLOCK_PROCESS_CPUTIME_ID) - half, half - t};
        for (int i = 0; i < 2 && r >= 0; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    return both;
}

/* A pass by both. */
static void tell(const char *pass, const char *what, const struct shape *s, double t[2])
{
    if (compare(s, pass[0], t)) {
        printf("# attention%s %s: oneDNN %.2f ms, cuDNN %.2f ms\n", pass, what, t[1] * 1e3, t[0] * 1e3);
        printf("bench mudnn.attention%s_%s_vs_onednn %.3f ratio\n", pass, what, t[0] / t[1]);
    } else {
        printf("# attention%s %s: cuDNN %.2f ms\n", pass, what, t[0] * 1e3);
    }
}

int main(void)
{
    static const struct shape shapes[] = {{2, 8, 128, 64, 0, F32},   {2, 8, 512, 64, 0, F32},
                                          {1, 8, 1024, 128, 0, F32}, {2, 8, 512, 64, 0, F16},
                                          {2, 8, 512, 64, 0, BF16},  {1, 8, 1024, 128, 0, BF16}};
    double t[2], paged[2];
    must(ONE(engine_create)(&engine, dnnl_cpu, 0), "engine");
    must(ONE(stream_create)(&stream, engine, dnnl_stream_default_flags), "stream");
    must(DNN(Create)(&handle), "cudnnCreate");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct shape s = shapes[i];
        const char *name = s.type == F16 ? "f16" : s.type == BF16 ? "bf16" : "f32";
        char what[64];
        snprintf(what, sizeof what, "%dx%dx%dx%d_%s", (int)s.batch, (int)s.heads, (int)s.sequence, (int)s.depth, name);
        tell("_backward", what, &s, t);
        tell("", what, &s, t);
        s.page = 16;
        compare(&s, false, paged);
        printf("# attention %s, pages of 16: cuDNN %.2f ms\n", what, paged[0] * 1e3);
        printf("bench mudnn.attention_%s_pages_vs_none %.3f ratio\n", what, paged[0] / t[0]);
    }
    return 0;
}

#else

int main(void)
{
    printf("# attention: built without oneDNN 2's headers\n");
    return 0;
}

#endif
