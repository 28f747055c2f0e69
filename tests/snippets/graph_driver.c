/* Graphs of the driver: both forms of kernel nodes, capture, executable graphs. */
#include "snippet.h"

enum { LOCAL = 1, RELAXED = 2 };

static _Thread_local unsigned long long out;

static void expect(CUstream stream, cudaGraphExec_t exec, unsigned add)
{
    unsigned host[SNIPPET_THREADS];
    OK(M(cuMemsetD8Async, muMemsetD8Async)(out, 0, sizeof host, (MUstream)stream));
    OK(C(cuGraphLaunch)(exec, stream));
    OK(M(cuMemcpyDtoHAsync_v2, muMemcpyDtoHAsync_v2)(host, out, sizeof host, (MUstream)stream));
    OK(M(cuStreamSynchronize, muStreamSynchronize)((MUstream)stream));
    for (unsigned i = 0; i < SNIPPET_THREADS; i++)
        EXPECT(host[i] == i * 3 + add);
}

static void kernel_nodes(CUstream stream, CUfunction f)
{
    cudaGraph_t graph = NULL, clone = NULL, child = NULL, inside = NULL;
    cudaGraphNode_t a = NULL, b = NULL, c = NULL, nest = NULL, error = &graph;
    cudaGraphExec_t exec = NULL, v1 = NULL, params = NULL;
    unsigned add = 1;
    void *args[] = {&out, &add};
    cudaKernelNodeParams k = {f, {1, 1, 1}, {SNIPPET_THREADS, 1, 1}, 0, args, NULL}, got;
    CUDA_KERNEL_NODE_PARAMS k2 = {k, NULL, NULL}, got2;
    k2.v1.func = NULL;
    k2.kern = f;
    OK(M(cuGraphCreate, muGraphCreate)((MUgraph *)&graph, 0));
    OK(C(cuGraphAddKernelNode)(&a, graph, NULL, 0, &k));
    add = 2;
    OK(C(cuGraphAddKernelNode_v2)(&b, graph, &a, 1, &k2));
    add = 1000;
    OK(C(cuGraphKernelNodeGetParams)(a, &got));
    EXPECT(got.func == f && *(unsigned *)got.params[1] == 1);
    OK(C(cuGraphKernelNodeGetParams_v2)(b, &got2));
    EXPECT(got2.v1.func == f && got2.ctx != NULL && *(unsigned *)got2.v1.params[1] == 2);
    OK(C(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    char log[8];
    OK(C(cuGraphInstantiate_v2)(&v1, graph, &error, log, sizeof log));
    EXPECT(error == NULL);
    OK(C(cuGraphExecDestroy)(v1));
    OK(((__typeof__(wrap_cuGraphInstantiate_v2) *)snippet_symbol("cuGraphInstantiate"))(&v1, graph, NULL, NULL, 0));
    expect(stream, exec, 2);
    add = 3;
    OK(C(cuGraphKernelNodeSetParams)(b, &k));
    OK(C(cuGraphExecKernelNodeSetParams)(exec, b, &k));
    add = 4;
    expect(stream, exec, 3);
    OK(C(cuGraphExecKernelNodeSetParams_v2)(exec, b, &k2));
    OK(C(cuGraphKernelNodeSetParams_v2)(b, &k2));
    add = 1000;
    expect(stream, exec, 4);
    OK(C(cuGraphClone)(&clone, graph));
    int result = -1;
    OK(C(cuGraphExecUpdate)(v1, clone, &error, &result));
    EXPECT(result == 0);
    cudaGraphExecUpdateResultInfo info = {-1, NULL, NULL};
    OK(C(cuGraphExecUpdate_v2)(v1, clone, &info));
    EXPECT(info.result == 0);
    OK(C(cuGraphDestroy)(clone));
    expect(stream, v1, 4);
    OK(C(cuGraphExecDestroy)(v1));

    cudaGraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_KERNEL;
    p.kernel = k2;
    add = 5;
    OK(C(cuGraphExecNodeSetParams)(exec, b, &p));
    expect(stream, exec, 5);
    OK(C(cuGraphNodeSetParams)(b, &p));
    OK(C(cuGraphExecDestroy)(exec));
    OK(C(cuGraphAddNode)(&c, graph, &b, 1, &p));
    OK(C(cuGraphDestroyNode)(c));
    add = 6;
    OK(C(cuGraphAddNode_v2)(&c, graph, &b, NULL, 1, &p));
    OK(M(cuGraphCreate, muGraphCreate)((MUgraph *)&child, 0));
    add = 7;
    OK(C(cuGraphAddKernelNode)(&a, child, NULL, 0, &k));
    OK(C(cuGraphAddChildGraphNode)(&nest, graph, &c, 1, child));
    OK(C(cuGraphChildGraphNodeGetGraph)(nest, &inside));
    struct {
        unsigned long long flags;
        void *stream, *error;
        int result;
    } ip = {0, NULL, NULL, -1};
    OK(C(cuGraphInstantiateWithParams)(&params, graph, &ip));
    expect(stream, params, 7);
    add = 8;
    OK(C(cuGraphKernelNodeSetParams)(a, &k));
    OK(C(cuGraphExecChildGraphNodeSetParams)(params, nest, child));
    OK(C(cuGraphDestroy)(child));
    expect(stream, params, 8);
    OK(C(cuGraphExecDestroy)(params));
    OK(C(cuGraphInstantiateWithParams_ptsz)(&params, graph, &ip));
    OK(C(cuGraphExecDestroy)(params));

    k.func = &k; /* no kernel */
    IS(C(cuGraphAddKernelNode)(&a, graph, NULL, 0, &k), CUDA_ERROR_INVALID_HANDLE);
    k.func = NULL;
    IS(C(cuGraphAddKernelNode)(&a, graph, NULL, 0, &k), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuGraphAddKernelNode_v2)(&a, graph, NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuGraphKernelNodeGetParams_v2)(b, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuGraphDestroy)(graph));
}

static void captures(CUstream stream, CUfunction f)
{
    cudaGraph_t graph = NULL, same = NULL;
    cudaGraphExec_t exec = NULL;
    struct {
        unsigned long long out;
        unsigned add;
    } packed = {out, 9};
    size_t size = 12;
    void *extra[] = {CUMU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CUMU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CUMU_LAUNCH_PARAM_END};
    OK(C(cuStreamBeginCapture_v2)(stream, LOCAL));
    OK(C(cuLaunchKernel)(f, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, stream, NULL, extra));
    size = 8; /* too little for both */
    IS(C(cuLaunchKernel)(f, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, stream, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuStreamEndCapture)(stream, &graph));
    packed.add = 1000;
    OK(C(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    OK(C(cuGraphDestroy)(graph));
    expect(stream, exec, 9);
    OK(C(cuGraphLaunch_ptsz)(exec, stream));
    OK(C(cuGraphExecDestroy)(exec));

    OK(M(cuGraphCreate, muGraphCreate)((MUgraph *)&graph, 0));
    bool into = snippet_below("musaStreamBeginCaptureToGraph");
    int lacks = into ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    IS(C(cuStreamBeginCaptureToGraph)(stream, graph, NULL, NULL, 0, RELAXED), lacks);
    if (into)
        OK(C(cuStreamEndCapture)(stream, &same));
    IS(C(cuStreamBeginCaptureToGraph_ptsz)(NULL, graph, NULL, NULL, 0, RELAXED), lacks);
    if (into)
        OK(C(cuStreamEndCapture_ptsz)(NULL, &same));
    OK(C(cuGraphDestroy)(graph));
    OK(C(cuStreamBeginCapture_v2_ptsz)(NULL, RELAXED));
    OK(C(cuStreamEndCapture_ptsz)(NULL, &graph));
    OK(C(cuGraphDestroy)(graph));

    /* A global one would disturb the other topics: only that it gets there. */
    IS(C(cuStreamBeginCapture)(NULL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(C(cuStreamBeginCapture_v2)(stream, RELAXED));
    IS(C(cuStreamBeginCapture_ptsz)(stream), CUDA_ERROR_ILLEGAL_STATE);
    OK(C(cuStreamEndCapture)(stream, &graph));
    OK(C(cuGraphDestroy)(graph));
}

void snippet_graph_driver(void)
{
    MUstream stream = NULL;
    CUmodule module = NULL;
    CUfunction f = NULL;
    OK(C(cuModuleLoadData)(&module, snippet_ptx));
    OK(C(cuModuleGetFunction)(&f, module, "k"));
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&out, SNIPPET_THREADS * 4));
    OK(M(cuStreamCreate, muStreamCreate)(&stream, 1));
    kernel_nodes((CUstream)stream, f);
    captures((CUstream)stream, f);
    OK(M(cuStreamDestroy_v2, muStreamDestroy_v2)(stream));
    OK(M(cuMemFree_v2, muMemFree_v2)(out));
    OK(C(cuModuleUnload)(module));
}
