/* Attention as one operation of cuDNN's graphs on the CPU muDNN beside oneDNN called directly: a product, a softmax, a
 * product, on the same memory in the same process. The direct calls keep their primitives and the scores; times as
 * ratios. Keys and values in pages are beside the same attention without pages, as oneDNN has no such thing. */
#include "library.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cuda_enums.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DNNL_ARG_SHIFT) && DNNL_VERSION_MAJOR == 2

enum { ROUNDS = 7, LAST = 8, F32 = 0, F16 = 2, I32 = 4 };
#define ONE(name) ((__typeof__(dnnl_##name) *)in("libdnnl.so.2", "dnnl_" #name))
#define DNN(name) ((int (*)())in("libcudnn.so.9", "cudnn" #name))
#define RT(name) ((int (*)())in("libcudart.so.12", "cuda" #name))
#define A(name) CUDNN_ATTR_##name

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static void *handle;
static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        exit(1);
    }
}

/* ---- cuDNN ------------------------------------------------------------------------------------- */

struct shape {
    int64_t batch, heads, sequence, depth, page; /* page 0: none */
    int type;
};

static void set(void *d, int name, int type, int64_t n, const void *v)
{
    must(DNN(BackendSetAttribute)(d, name, type, n, v), "attribute");
}
static void set_object(void *d, int name, void *v) { set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v); }
static void *create(int kind)
{
    void *d;
    must(DNN(BackendCreateDescriptor)(kind, &d), "descriptor");
    return d;
}
static void *tensor(int64_t uid, int type, const int64_t *dim, bool by_value)
{
    void *d = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t stride[] = {dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1}, alignment = 16;
    set(d, A(TENSOR_DATA_TYPE), CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(d, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 4, dim);
    set(d, A(TENSOR_STRIDES), CUDNN_TYPE_INT64, 4, stride);
    set(d, A(TENSOR_UNIQUE_ID), CUDNN_TYPE_INT64, 1, &uid);
    set(d, A(TENSOR_BYTE_ALIGNMENT), CUDNN_TYPE_INT64, 1, &alignment);
    if (by_value)
        set(d, A(TENSOR_IS_BY_VALUE), CUDNN_TYPE_BOOLEAN, 1, &by_value);
    must(DNN(BackendFinalize)(d), "tensor");
    return d;
}

/* A plan and its pack of q, k, v, o, the scale, the lengths of keys and the table of pages. */
struct call {
    void *plan, *pack, *space;
};
static struct call prepare(const struct shape *s, void *const *at)
{
    const int64_t dim[] = {s->batch, s->heads, s->sequence, s->depth}, one[] = {1, 1, 1, 1},
                  pages = s->page ? s->sequence / s->page : 0,
                  cache[] = {s->batch * pages, s->heads, s->page, s->depth}, table[] = {s->batch, 1, pages, 1},
                  lengths[] = {s->batch, 1, 1, 1}, uid[] = {1, 2, 3, 4, 5, 6, 7};
    void *op = create(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR), *graph, *heuristics, *config;
    struct call c;
    long long count = 0;
    int64_t size = 0;
    const int mode = CUDNN_HEUR_MODE_A;
    set_object(op, A(OPERATION_SDPA_FWD_QDESC), tensor(1, s->type, dim, false));
    set_object(op, A(OPERATION_SDPA_FWD_KDESC), tensor(2, s->type, s->page ? cache : dim, false));
    set_object(op, A(OPERATION_SDPA_FWD_VDESC), tensor(3, s->type, s->page ? cache : dim, false));
    set_object(op, A(OPERATION_SDPA_FWD_ODESC), tensor(4, s->type, dim, false));
    set_object(op, A(OPERATION_SDPA_FWD_SCALEDESC), tensor(5, F32, one, true));
    if (s->page) {
        void *t = tensor(7, I32, table, false);
        set_object(op, A(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), tensor(6, I32, lengths, false));
        set_object(op, A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), tensor(6, I32, lengths, false));
        set_object(op, A(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), t);
        set_object(op, A(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), t);
    }
    must(DNN(BackendFinalize)(op), "operation");
    graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph, A(OPERATIONGRAPH_HANDLE), CUDNN_TYPE_HANDLE, 1, &handle);
    set_object(graph, A(OPERATIONGRAPH_OPS), op);
    must(DNN(BackendFinalize)(graph), "graph");
    heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_object(heuristics, A(ENGINEHEUR_OPERATION_GRAPH), graph);
    set(heuristics, A(ENGINEHEUR_MODE), CUDNN_TYPE_HEUR_MODE, 1, &mode);
    must(DNN(BackendFinalize)(heuristics), "heuristics");
    config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    must(DNN(BackendGetAttribute)(heuristics, A(ENGINEHEUR_RESULTS), CUDNN_TYPE_BACKEND_DESCRIPTOR, (int64_t)1, &count,
                                  &config),
         "configuration");
    c.plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(c.plan, A(EXECUTION_PLAN_HANDLE), CUDNN_TYPE_HANDLE, 1, &handle);
    set_object(c.plan, A(EXECUTION_PLAN_ENGINE_CONFIG), config);
    must(DNN(BackendFinalize)(c.plan), "plan");
    must(
        DNN(BackendGetAttribute)(c.plan, A(EXECUTION_PLAN_WORKSPACE_SIZE), CUDNN_TYPE_INT64, (int64_t)1, &count, &size),
        "workspace");
    must(RT(Malloc)(&c.space, (size_t)size + 1), "cudaMalloc");
    c.pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(c.pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, s->page ? 7 : 5, uid);
    set(c.pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, s->page ? 7 : 5, at);
    set(c.pack, A(VARIANT_PACK_WORKSPACE), CUDNN_TYPE_VOID_PTR, 1, &c.space);
    must(DNN(BackendFinalize)(c.pack), "pack");
    return c;
}

/* ---- oneDNN ------------------------------------------------------------------------------------ */

struct direct {
    dnnl_primitive_t step[3];
    dnnl_exec_arg_t args[3][4];
    int count[3];
};

static void describe(dnnl_memory_desc_t *md, const struct shape *s, int64_t rows, int64_t columns, bool turned)
{
    const dnnl_dims_t dim = {s->batch, s->heads, rows, columns},
                      stride = {s->heads * rows * columns, rows * columns, turned ? 1 : columns, turned ? rows : 1};
    must(ONE(memory_desc_init_by_strides)(md, 4, dim, s->type == F16 ? dnnl_f16 : dnnl_f32, stride), "layout");
}

/* Softmax divides the scores in place; the scale is an attribute of the first product. */
static bool make_direct(struct direct *d, const struct shape *s, void *const *at, float scale)
{
    dnnl_memory_desc_t q, k, score, v;
    dnnl_memory_t m[5];
    dnnl_matmul_desc_t product;
    dnnl_softmax_desc_t softmax;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    describe(&q, s, s->sequence, s->depth, false), describe(&k, s, s->depth, s->sequence, true);
    describe(&score, s, s->sequence, s->sequence, false), describe(&v, s, s->sequence, s->depth, false);
    const dnnl_memory_desc_t *const md[] = {&q, &k, &v, &v, &score};
    for (int i = 0; i < 5; i++)
        must(ONE(memory_create)(&m[i], md[i], engine, i < 4 ? at[i] : DNNL_MEMORY_ALLOCATE), "memory");
    must(ONE(primitive_attr_create)(&attr), "attributes");
    must(ONE(primitive_attr_set_output_scales)(attr, 1, 0, &scale), "scale");
    must(ONE(matmul_desc_init)(&product, &q, &k, NULL, &score), "product");
    if (ONE(primitive_desc_create)(&pd, &product, attr, engine, NULL))
        return false; /* no halves on this CPU */
    must(ONE(primitive_create)(&d->step[0], pd), "product");
    must(ONE(softmax_forward_desc_init)(&softmax, dnnl_forward_inference, &score, 3), "softmax");
    must(ONE(primitive_desc_create)(&pd, &softmax, NULL, engine, NULL), "softmax");
    must(ONE(primitive_create)(&d->step[1], pd), "softmax");
    must(ONE(matmul_desc_init)(&product, &score, &v, NULL, &v), "product");
    must(ONE(primitive_desc_create)(&pd, &product, NULL, engine, NULL), "product");
    must(ONE(primitive_create)(&d->step[2], pd), "product");
    const dnnl_exec_arg_t args[3][4] = {{{DNNL_ARG_SRC, m[0]}, {DNNL_ARG_WEIGHTS, m[1]}, {DNNL_ARG_DST, m[4]}},
                                        {{DNNL_ARG_SRC, m[4]}, {DNNL_ARG_DST, m[4]}},
                                        {{DNNL_ARG_SRC, m[4]}, {DNNL_ARG_WEIGHTS, m[2]}, {DNNL_ARG_DST, m[3]}}};
    memcpy(d->args, args, sizeof args);
    d->count[0] = d->count[2] = 3, d->count[1] = 2;
    return true;
}

/* ---- both -------------------------------------------------------------------------------------- */

/* Seconds of a call by cuDNN, and by oneDNN where there is one: of the rounds that others disturbed least. */
static bool compare(const struct shape *s, double best[2])
{
    const size_t count = (size_t)(s->batch * s->heads * s->sequence * s->depth), size = s->type == F16 ? 2 : 4;
    float scale = 0.125f;
    void *at[7];
    struct direct d;
    for (int i = 0; i < 7; i++) {
        must(RT(Malloc)(&at[i], i < 4 ? count * size : (size_t)(s->batch * (s->sequence + 1)) * 4), "cudaMalloc");
        for (size_t k = 0; k < count && i < 4; k++)
            if (s->type == F16)
                ((uint16_t *)at[i])[k] = (uint16_t)(0x3000 + k * 7919 % 1024); /* 0.125 to 0.25 */
            else
                ((float *)at[i])[k] = (float)(k * 7919 % 37) / 100 - 0.18f;
    }
    int pages = s->page ? (int)(s->batch * (s->sequence / s->page)) : 0, last = pages - 1;
    for (int i = 0; i < pages; i++) /* the last page first */
        ((int *)at[6])[i] = last - i;
    for (int i = 0; i < s->batch; i++)
        ((int *)at[5])[i] = (int)s->sequence;
    at[4] = &scale;
    struct call c = prepare(s, at);
    bool both = !s->page && make_direct(&d, s, at, scale);
    best[0] = best[1] = 1e9;
    for (int r = -1; r < ROUNDS; r++) {
        double t = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; both && i < 3; i++)
            must(ONE(primitive_execute)(d.step[i], stream, d.count[i], d.args[i]), "execute");
        ONE(stream_wait)(stream);
        double half = seconds(CLOCK_PROCESS_CPUTIME_ID);
        must(DNN(BackendExecute)(handle, c.plan, c.pack), "cudnnBackendExecute");
        must(RT(StreamSynchronize)(NULL), "cudaStreamSynchronize");
        double took[2] = {seconds(CLOCK_PROCESS_CPUTIME_ID) - half, half - t};
        for (int i = 0; i < 2 && r >= 0; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    return both;
}

int main(void)
{
    static const struct shape shapes[] = {
        {2, 8, 128, 64, 0, F32}, {2, 8, 512, 64, 0, F32}, {1, 8, 1024, 128, 0, F32}, {2, 8, 512, 64, 0, F16}};
    double t[2], paged[2];
    must(ONE(engine_create)(&engine, dnnl_cpu, 0), "engine");
    must(ONE(stream_create)(&stream, engine, dnnl_stream_default_flags), "stream");
    must(DNN(Create)(&handle), "cudnnCreate");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct shape s = shapes[i];
        const char *name = s.type == F16 ? "f16" : "f32";
        char what[64];
        snprintf(what, sizeof what, "%dx%dx%dx%d_%s", (int)s.batch, (int)s.heads, (int)s.sequence, (int)s.depth, name);
        if (compare(&s, t)) {
            printf("# attention %s: oneDNN %.2f ms, cuDNN %.2f ms\n", what, t[1] * 1e3, t[0] * 1e3);
            printf("bench mudnn.attention_%s_vs_onednn %.3f ratio\n", what, t[0] / t[1]);
        } else {
            printf("# attention %s: cuDNN %.2f ms\n", what, t[0] * 1e3);
        }
        s.page = 16;
        compare(&s, paged);
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
