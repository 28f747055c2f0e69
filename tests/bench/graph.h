/* What the benches of cuDNN's graphs share: descriptors in one call each, and a plan of one operation with its pack. */
#ifndef CUMU_TESTS_BENCH_GRAPH_H
#define CUMU_TESTS_BENCH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_enums.h"
#include "library.h"

#define DNN(name) ((int (*)())in("libcudnn.so.9", "cudnn" #name))
#define RT(name) ((int (*)())in("libcudart.so.12", "cuda" #name))
#define A(name) CUDNN_ATTR_##name

static void *handle; /* cudnnCreate's */

/* Ends the bench. */
static inline void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        exit(1);
    }
}
static inline void set(void *d, int name, int type, int64_t n, const void *v)
{
    must(DNN(BackendSetAttribute)(d, name, type, n, v), "attribute");
}
static inline void set_object(void *d, int name, void *v) { set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v); }
static inline void *create(int kind)
{
    void *d;
    must(DNN(BackendCreateDescriptor)(kind, &d), "descriptor");
    return d;
}
/* Four dimensions without gaps. */
static inline void *tensor(int64_t uid, int type, const int64_t *dim, bool by_value)
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

/* An operation's plan and its pack, which has `n` memories: number i + 1 is at[i]. */
struct call {
    void *plan, *pack, *space;
};
static inline struct call prepare(void *op, int n, void *const *at)
{
    void *graph, *heuristics, *config;
    int64_t uid[32], size = 0;
    struct call c;
    long long count = 0;
    const int mode = CUDNN_HEUR_MODE_A;
    for (int i = 0; i < n; i++)
        uid[i] = i + 1;
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
    set(c.pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, n, uid);
    set(c.pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, n, at);
    set(c.pack, A(VARIANT_PACK_WORKSPACE), CUDNN_TYPE_VOID_PTR, 1, &c.space);
    must(DNN(BackendFinalize)(c.pack), "pack");
    return c;
}

#endif
