/* What the tests of cuDNN's graph interface share: descriptors in one call each, graphs that are run whole. */
#ifndef CUMU_TESTS_GRAPH_H
#define CUMU_TESTS_GRAPH_H

#include <float.h>

#include "cuda_enums.h"
#include "dnn.h"

typedef void *desc;
#define A(name) CUDNN_ATTR_##name
#define TYPE(name) CUDNN_TYPE_##name
#define KIND(name) CUDNN_BACKEND_##name##_DESCRIPTOR

/* Descriptors are destroyed all at once, or, all but the plan and its pack, before it runs: neither a graph nor a plan
 * needs those of what it was made of. */
static desc made[512];
static int made_count;
static bool destroys_early;
static inline desc create(int kind)
{
    desc d = NULL;
    OK(cudnnBackendCreateDescriptor(kind, &d));
    made[made_count++] = d;
    return d;
}
static inline void destroy_all(void)
{
    while (made_count)
        OK(cudnnBackendDestroyDescriptor(made[--made_count]));
}
static inline void set(desc d, int name, int type, int count, const void *v)
{
    int r = cudnnBackendSetAttribute(d, name, type, count, v);
    EXPECT(!r, "attribute %d: %d", name, r);
}
static inline void set_int(desc d, int name, int64_t v) { set(d, name, TYPE(INT64), 1, &v); }
static inline void set_enum(desc d, int name, int type, int v) { set(d, name, type, 1, &v); }
static inline void set_desc(desc d, int name, desc v)
{
    if (v)
        set(d, name, TYPE(BACKEND_DESCRIPTOR), 1, &v);
}
static inline int finalize(desc d) { return cudnnBackendFinalize(d); }

enum { REAL, VIRTUAL, VALUE };
/* A tensor that is not finalised. */
static inline desc begin_tensor(int64_t uid, int type, int n, const int *dim, const int *stride, int place)
{
    desc d = create(KIND(TENSOR));
    int64_t dims[8], strides[8], step = 1;
    bool yes = true;
    for (int i = n; i-- > 0; step *= dim[i]) {
        dims[i] = dim[i];
        strides[i] = stride ? stride[i] : step;
    }
    set_enum(d, A(TENSOR_DATA_TYPE), TYPE(DATA_TYPE), type);
    set(d, A(TENSOR_DIMENSIONS), TYPE(INT64), n, dims);
    set(d, A(TENSOR_STRIDES), TYPE(INT64), n, strides);
    set_int(d, A(TENSOR_UNIQUE_ID), uid);
    set_int(d, A(TENSOR_BYTE_ALIGNMENT), 16);
    if (place)
        set(d, place == VALUE ? A(TENSOR_IS_BY_VALUE) : A(TENSOR_IS_VIRTUAL), TYPE(BOOLEAN), 1, &yes);
    return d;
}
static inline desc describe(int64_t uid, int type, int n, const int *dim, const int *stride, int place)
{
    desc d = begin_tensor(uid, type, n, dim, stride, place);
    OK(finalize(d));
    return d;
}
/* Vectors of channels: dimensions and strides count them. */
static inline desc of_vectors(const struct tensor *t, int64_t uid, int place)
{
    const int vector = vector_of(t->type), type = t->type == U8X4 ? U8 : vector > 1 ? I8 : t->type;
    int dim[8], stride[8];
    for (int i = 0; i < t->n; i++)
        dim[i] = i == 1 ? t->dim[i] / vector : t->dim[i], stride[i] = t->stride[i] / vector;
    desc d = begin_tensor(uid, place == VIRTUAL ? F32 : type, t->n, dim, stride, place);
    set_int(d, A(TENSOR_VECTOR_COUNT), vector);
    set_int(d, A(TENSOR_VECTORIZED_DIMENSION), 1);
    OK(finalize(d));
    return d;
}
static inline desc of(const struct tensor *t, int64_t uid)
{
    return vector_of(t->type) > 1 ? of_vectors(t, uid, REAL) : describe(uid, t->type, t->n, t->dim, t->stride, REAL);
}
static inline desc scalar_of(int64_t uid, int type, int n)
{
    return describe(uid, type, n, (int[]){1, 1, 1, 1, 1, 1, 1, 1}, NULL, VALUE);
}

/* Lengths as cuDNN takes them summed up: each number more than the one before it by a length, with others behind. */
static inline struct tensor sums_of(const struct tensor *lengths)
{
    struct tensor t = make(I32, 4, (int[]){lengths->dim[0] + 1 + upto(2), 1, 1, 1}, NCHW, false, false);
    t.v[0] = upto(5);
    for (int i = 1; i < t.dim[0]; i++)
        t.v[i] = t.v[i - 1] + (i <= lengths->dim[0] ? lengths->v[i - 1] : 3);
    upload(&t);
    return t;
}

/* What differs between modes is set before finalising: name, value, ... of doubles. */
static inline desc pointwise(int mode, int more, double v)
{
    desc d = create(KIND(POINTWISE));
    set_enum(d, A(POINTWISE_MODE), TYPE(POINTWISE_MODE), mode);
    set_enum(d, A(POINTWISE_MATH_PREC), TYPE(DATA_TYPE), F32);
    if (more == A(POINTWISE_AXIS))
        set_int(d, more, (int64_t)v);
    else if (more)
        set(d, more, TYPE(DOUBLE), 1, &v);
    OK(finalize(d));
    return d;
}
static inline desc apply_with(desc pw, desc x, desc b, desc t, desc y)
{
    desc d = create(KIND(OPERATION_POINTWISE));
    set_desc(d, A(OPERATION_POINTWISE_PW_DESCRIPTOR), pw);
    set_desc(d, A(OPERATION_POINTWISE_XDESC), x);
    set_desc(d, A(OPERATION_POINTWISE_BDESC), b);
    set_desc(d, A(OPERATION_POINTWISE_TDESC), t);
    set_desc(d, A(OPERATION_POINTWISE_YDESC), y);
    OK(finalize(d));
    return d;
}
static inline desc apply(int mode, desc x, desc b, desc y) { return apply_with(pointwise(mode, 0, 0), x, b, NULL, y); }
/* padding: what stands where lengths end. */
static inline desc padded_product(desc a, desc b, desc c, desc rows, desc columns, desc inner, double padding)
{
    desc m = create(KIND(MATMUL)), d = create(KIND(OPERATION_MATMUL));
    set_enum(m, A(MATMUL_COMP_TYPE), TYPE(DATA_TYPE), F32);
    if (padding != 0)
        set(m, A(MATMUL_PADDING_VALUE), TYPE(DOUBLE), 1, &padding);
    OK(finalize(m));
    set_desc(d, A(OPERATION_MATMUL_DESC), m);
    set_desc(d, A(OPERATION_MATMUL_ADESC), a);
    set_desc(d, A(OPERATION_MATMUL_BDESC), b);
    set_desc(d, A(OPERATION_MATMUL_CDESC), c);
    set_desc(d, A(OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC), rows);
    set_desc(d, A(OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC), columns);
    set_desc(d, A(OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC), inner);
    OK(finalize(d));
    return d;
}
static inline desc product(desc a, desc b, desc c, desc rows, desc columns, desc inner)
{
    return padded_product(a, b, c, rows, columns, inner, 0);
}
static inline desc reduce(int how, desc x, desc y)
{
    desc r = create(KIND(REDUCTION)), d = create(KIND(OPERATION_REDUCTION));
    set_enum(r, A(REDUCTION_OPERATOR), TYPE(REDUCTION_OPERATOR_TYPE), how);
    set_enum(r, A(REDUCTION_COMP_TYPE), TYPE(DATA_TYPE), F32);
    OK(finalize(r));
    set_desc(d, A(OPERATION_REDUCTION_DESC), r);
    set_desc(d, A(OPERATION_REDUCTION_XDESC), x);
    set_desc(d, A(OPERATION_REDUCTION_YDESC), y);
    OK(finalize(d));
    return d;
}

/* A convolution of two dimensions without paddings, computed in `type`. */
static inline desc plain_convolution(int type, desc x, desc w, desc y)
{
    desc conv = create(KIND(CONVOLUTION)), d = create(KIND(OPERATION_CONVOLUTION_FORWARD));
    const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
    set_enum(conv, A(CONVOLUTION_COMP_TYPE), TYPE(DATA_TYPE), type);
    set_enum(conv, A(CONVOLUTION_CONV_MODE), TYPE(CONVOLUTION_MODE), CUDNN_CROSS_CORRELATION);
    set_int(conv, A(CONVOLUTION_SPATIAL_DIMS), 2);
    set(conv, A(CONVOLUTION_DILATIONS), TYPE(INT64), 2, ones);
    set(conv, A(CONVOLUTION_FILTER_STRIDES), TYPE(INT64), 2, ones);
    set(conv, A(CONVOLUTION_PRE_PADDINGS), TYPE(INT64), 2, zeros);
    set(conv, A(CONVOLUTION_POST_PADDINGS), TYPE(INT64), 2, zeros);
    OK(finalize(conv));
    set_desc(d, A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC), conv);
    set_desc(d, A(OPERATION_CONVOLUTION_FORWARD_X), x);
    set_desc(d, A(OPERATION_CONVOLUTION_FORWARD_W), w);
    set_desc(d, A(OPERATION_CONVOLUTION_FORWARD_Y), y);
    OK(finalize(d));
    return d;
}
static inline desc graph_of(int n, const desc *ops)
{
    desc d = create(KIND(OPERATIONGRAPH));
    set(d, A(OPERATIONGRAPH_HANDLE), TYPE(HANDLE), 1, &handle);
    set(d, A(OPERATIONGRAPH_OPS), TYPE(BACKEND_DESCRIPTOR), n, ops);
    return d;
}
/* By heuristics, as cudnn-frontend does. NULL: none runs it. */
static inline desc plan_of(desc graph)
{
    desc heur = create(KIND(ENGINEHEUR)), config = create(KIND(ENGINECFG)), plan = create(KIND(EXECUTION_PLAN));
    long long count = 0;
    set_desc(heur, A(ENGINEHEUR_OPERATION_GRAPH), graph);
    set_enum(heur, A(ENGINEHEUR_MODE), TYPE(HEUR_MODE), CUDNN_HEUR_MODE_A);
    int r = finalize(heur);
    EXPECT(!r || r == UNSUPPORTED, "heuristics: %d", r);
    if (r)
        return NULL;
    OK(cudnnBackendGetAttribute(heur, A(ENGINEHEUR_RESULTS), TYPE(BACKEND_DESCRIPTOR), 0, &count, NULL));
    EXPECT(count == 1, "%lld configurations", count);
    OK(cudnnBackendGetAttribute(heur, A(ENGINEHEUR_RESULTS), TYPE(BACKEND_DESCRIPTOR), 1, &count, &config));
    set(plan, A(EXECUTION_PLAN_HANDLE), TYPE(HANDLE), 1, &handle);
    set_desc(plan, A(EXECUTION_PLAN_ENGINE_CONFIG), config);
    OK(finalize(plan));
    return plan;
}
static inline desc pack_of(int n, const int64_t *uid, void *const *at, void *workspace)
{
    desc d = create(KIND(VARIANT_PACK));
    set(d, A(VARIANT_PACK_UNIQUE_IDS), TYPE(INT64), n, uid);
    set(d, A(VARIANT_PACK_DATA_POINTERS), TYPE(VOID_PTR), n, at);
    set(d, A(VARIANT_PACK_WORKSPACE), TYPE(VOID_PTR), 1, &workspace);
    OK(finalize(d));
    return d;
}
/* The same as nodes of a CUDA graph, which version 9 has. */
static inline void launch_nodes(desc plan, desc pack)
{
    void *graph, *exec;
    OK(cudaGraphCreate((void *)&graph, 0));
    int r = cudnnBackendPopulateCudaGraph(handle, plan, pack, graph);
    EXPECT(!r, "populate: %d", r);
    OK(cudaGraphInstantiate((void *)&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
}
static int64_t workspace_size; /* of the last plan that ran */
/* Runs a plan with a workspace of its size, behind which nothing may be written. */
static inline void execute(desc plan, int n, const int64_t *uid, void *const *at)
{
    enum { GUARD = 64 };
    int64_t size = 0;
    long long count;
    unsigned char guard[GUARD], now[GUARD];
    void *workspace = NULL;
    OK(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_WORKSPACE_SIZE), TYPE(INT64), 1, &count, &size));
    workspace_size = size;
    MUST(cudaMalloc(&workspace, (size_t)size + GUARD + 8));
    char *begin = (char *)workspace + upto(8);
    memset(guard, 0xa5, GUARD);
    OK(cudaMemcpy(begin + size, guard, GUARD, 1));
    desc pack = pack_of(n, uid, at, size ? begin : NULL);
    for (int i = 0; destroys_early && i < made_count; i++)
        if (made[i] != plan && made[i] != pack) {
            OK(cudnnBackendDestroyDescriptor(made[i]));
            made[i] = NULL;
        }
    if (VERSION < 9 || upto(3)) {
        int r = cudnnBackendExecute(handle, plan, pack);
        EXPECT(!r, "execute: %d", r);
    } else {
        launch_nodes(plan, pack);
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(now, begin + size, GUARD, 2));
    EXPECT(!memcmp(guard, now, GUARD), "written behind the workspace");
    OK(cudaFree(workspace));
}
/* The whole way: half of the plans go through their text. */
static inline bool run_graph(int ops, const desc *op, int n, const int64_t *uid, void *const *at)
{
    desc g = graph_of(ops, op);
    int r = finalize(g);
    EXPECT(!r, "graph of %d: %d", ops, r);
    desc plan = r ? NULL : plan_of(g);
    if (!plan)
        return false;
    if (upto(2)) {
        long long length = 0;
        OK(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), TYPE(CHAR), 0, &length, NULL));
        char *text = malloc((size_t)length + 1);
        OK(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), TYPE(CHAR), length, &length, text));
        plan = create(KIND(EXECUTION_PLAN));
        set(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), TYPE(CHAR), (int)length, text);
        set(plan, A(EXECUTION_PLAN_HANDLE), TYPE(HANDLE), 1, &handle);
        OK(finalize(plan));
        free(text);
    }
    execute(plan, n, uid, at);
    return true;
}

#endif
