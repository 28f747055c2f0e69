/* Graphs of the runtime: capture, nodes, executable graphs, in the layouts of CUDA 11, 12 and 13. Captures
 * are never global: other topics run in other threads. */
#include <stdlib.h>
#include "snippet.h"

enum { LOCAL = 1, RELAXED = 2 };

static _Thread_local unsigned *out;

static void expect(CUstream stream, cudaGraphExec_t exec, unsigned add)
{
    unsigned host[SNIPPET_THREADS];
    OK(M(cudaMemsetAsync, musaMemsetAsync)(out, 0, sizeof host, (MUstream)stream));
    OK(C(cudaGraphLaunch)(exec, stream));
    OK(M(cudaMemcpyAsync, musaMemcpyAsync)(host, out, sizeof host, 2, (MUstream)stream));
    OK(M(cudaStreamSynchronize, musaStreamSynchronize)((MUstream)stream));
    for (unsigned i = 0; i < SNIPPET_THREADS; i++)
        EXPECT(host[i] == i * 3 + add);
}

/* What the caller's memory holds after the call must not matter. */
static void captured_launch(CUstream stream, unsigned add)
{
    void *args[] = {&out, &add};
    OK(C(cudaLaunchKernel)(&snippet_stub, (dim3){1, 1, 1}, (dim3){SNIPPET_THREADS, 1, 1}, args, 0, stream));
    add = 999;
    args[1] = NULL;
}

static cudaKernelNodeParams call(void **args)
{
    return (cudaKernelNodeParams){&snippet_stub, {1, 1, 1}, {SNIPPET_THREADS, 1, 1}, 0, args, NULL};
}

static void capture(CUstream stream)
{
    cudaGraph_t graph = NULL, clone = NULL, same = NULL;
    cudaGraphExec_t exec = NULL, v11 = NULL, flags = NULL, params = NULL;
    cudaGraphNode_t error = &graph;
    char log[16] = "x";
    OK(C(cudaStreamBeginCapture)(stream, LOCAL));
    captured_launch(stream, 5);
    OK(C(cudaStreamEndCapture)(stream, &graph));
    OK(C(cudaGraphClone)(&clone, graph));
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    OK(V(11, cudaGraphInstantiate)(&v11, graph, &error, log, sizeof log));
    EXPECT(error == NULL && log[0] == '\0');
    OK(C(cudaGraphInstantiateWithFlags)(&flags, graph, 0));
    struct {
        unsigned long long flags;
        void *stream, *error;
        int result;
    } p = {0, NULL, NULL, -1};
    OK(C(cudaGraphInstantiateWithParams)(&params, graph, &p));
    EXPECT(p.result == 0);
    OK(C(cudaGraphExecDestroy)(params));
    OK(C(cudaGraphInstantiateWithParams_ptsz)(&params, graph, &p));
    OK(C(cudaGraphDestroy)(graph));
    expect(stream, exec, 5);
    expect(stream, v11, 5);
    expect(stream, flags, 5);
    expect(stream, params, 5);
    cudaGraphExecUpdateResultInfo info = {-1, NULL, NULL};
    OK(C(cudaGraphExecUpdate)(exec, clone, &info));
    EXPECT(info.result == 0);
    int result = -1;
    OK(V(11, cudaGraphExecUpdate)(v11, clone, &error, &result));
    EXPECT(result == 0);
    OK(C(cudaGraphDestroy)(clone));
    expect(stream, exec, 5);
    expect(stream, v11, 5);
    OK(C(cudaGraphExecDestroy)(v11));
    OK(C(cudaGraphExecDestroy)(flags));
    OK(C(cudaGraphExecDestroy)(params));

    bool into = snippet_below("musaStreamBeginCaptureToGraph");
    OK(M(cudaGraphCreate, musaGraphCreate)((MUgraph *)&graph, 0));
    IS(C(cudaStreamBeginCaptureToGraph)(stream, graph, NULL, NULL, 0, RELAXED),
       into ? cudaSuccess : cudaErrorNotSupported);
    if (!into) {
        OK(C(cudaGraphDestroy)(graph));
        OK(C(cudaStreamBeginCapture)(stream, RELAXED));
    }
    OK(C(cudaGraphLaunch)(exec, stream));
    OK(C(cudaStreamEndCapture)(stream, &same));
    EXPECT(same == graph || !into);
    graph = same;
    OK(C(cudaGraphExecDestroy)(exec));
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    OK(C(cudaGraphDestroy)(graph));
    expect(stream, exec, 5);
    OK(C(cudaGraphLaunch_ptsz)(exec, stream));
    OK(C(cudaGraphExecDestroy)(exec));

    OK(C(cudaStreamBeginCapture_ptsz)(NULL, RELAXED));
    OK(C(cudaStreamEndCapture_ptsz)(NULL, &graph));
    IS(C(cudaStreamBeginCaptureToGraph_ptsz)(NULL, graph, NULL, NULL, 0, RELAXED),
       into ? cudaSuccess : cudaErrorNotSupported);
    if (into)
        OK(C(cudaStreamEndCapture_ptsz)(NULL, &same));
    OK(C(cudaGraphDestroy)(graph));
    IS(C(cudaStreamEndCapture)(stream, &same), cudaErrorIllegalState);
    OK(C(cudaStreamBeginCapture)(stream, LOCAL));
    captured_launch(stream, 6);
    OK(C(cudaStreamEndCapture)(stream, NULL)); /* nobody wants the graph */
    (void)C(cudaGetLastError)();
}

/* A capture whose first kernel may begin while the node before it runs: launches into it are as good as others. */
static void programmatic(CUstream stream)
{
    const unsigned char edge[8] = {[0] = 1 /* from the programmatic port */, [2] = 1 /* programmatic */};
    cudaGraph_t graph = NULL, same = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t a = NULL;
    unsigned add = 3;
    void *args[] = {&out, &add};
    cudaKernelNodeParams k = call(args);
    if (!snippet_below("musaStreamBeginCaptureToGraph"))
        return;
    OK(M(cudaGraphCreate, musaGraphCreate)((MUgraph *)&graph, 0));
    OK(C(cudaGraphAddKernelNode)(&a, graph, NULL, 0, &k));
    OK(C(cudaStreamBeginCaptureToGraph)(stream, graph, &a, edge, 1, RELAXED));
    captured_launch(stream, 4);
    OK(C(cudaGetLastError)());
    OK(C(cudaStreamEndCapture)(stream, &same));
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    OK(C(cudaGraphDestroy)(graph));
    expect(stream, exec, 4);
    OK(C(cudaGraphExecDestroy)(exec));
}

static void nodes(CUstream stream)
{
    cudaGraph_t graph = NULL, child = NULL, inside = NULL;
    cudaGraphNode_t a = NULL, b = NULL, c = NULL, nest = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned add = 7;
    void *args[] = {&out, &add};
    cudaKernelNodeParams k = call(args), got;
    OK(M(cudaGraphCreate, musaGraphCreate)((MUgraph *)&graph, 0));
    OK(C(cudaGraphAddKernelNode)(&a, graph, NULL, 0, &k));
    add = 1000;
    memset(&got, 0x5a, sizeof got);
    OK(C(cudaGraphKernelNodeGetParams)(a, &got));
    EXPECT(got.func == &snippet_stub && got.block.x == SNIPPET_THREADS && *(unsigned *)got.params[1] == 7);
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    expect(stream, exec, 7);
    OK(C(cudaGraphKernelNodeSetParams)(a, &got)); /* its own arguments, given back */
    add = 8;
    OK(C(cudaGraphExecKernelNodeSetParams)(exec, a, &k));
    add = 1000;
    expect(stream, exec, 8);

    cudaGraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.v1 = k;
    add = 9;
    OK(C(cudaGraphExecNodeSetParams)(exec, a, &p));
    expect(stream, exec, 9);
    add = 10;
    OK(C(cudaGraphNodeSetParams)(a, &p));
    OK(C(cudaGraphExecDestroy)(exec));
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    expect(stream, exec, 10);
    OK(C(cudaGraphExecDestroy)(exec));
    OK(C(cudaGraphAddNode)(&b, graph, &a, NULL, 1, &p));
    OK(V(12, cudaGraphAddNode)(&c, graph, &b, 1, &p));
    OK(C(cudaGraphDestroyNode)(c));

    OK(M(cudaGraphCreate, musaGraphCreate)((MUgraph *)&child, 0));
    add = 11;
    OK(C(cudaGraphAddKernelNode)(&c, child, NULL, 0, &k));
    OK(C(cudaGraphAddChildGraphNode)(&nest, graph, &b, 1, child));
    OK(C(cudaGraphChildGraphNodeGetGraph)(nest, &inside));
    EXPECT(inside && inside != child);
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    expect(stream, exec, 11);
    add = 12;
    OK(C(cudaGraphKernelNodeSetParams)(c, &k));
    OK(C(cudaGraphExecChildGraphNodeSetParams)(exec, nest, child));
    OK(C(cudaGraphDestroy)(child));
    expect(stream, exec, 12);
    OK(C(cudaGraphExecDestroy)(exec));

    cuda_launch_attr_value value;
    memset(&value, 0x5a, sizeof value);
    bool has = snippet_below("musaGraphKernelNodeGetAttribute");
    int lacks = has ? cudaSuccess : cudaErrorNotSupported;
    IS(V(11, cudaGraphKernelNodeGetAttribute)(a, cudaLaunchAttributeCooperative, &value), lacks);
    EXPECT(!has || (value.cooperative == 0 && value.pad[CUMU_LAUNCH_ATTR_V11] == 0x5a));
    IS(V(11, cudaGraphKernelNodeSetAttribute)(a, cudaLaunchAttributeCooperative, &value), lacks);

    k.func = NULL;
    IS(C(cudaGraphAddKernelNode)(&c, graph, NULL, 0, &k), cudaErrorInvalidDeviceFunction);
    k = call(NULL);
    IS(C(cudaGraphAddKernelNode)(&c, graph, NULL, 0, &k), cudaErrorInvalidValue);
    IS(C(cudaGraphAddKernelNode)(&c, graph, NULL, 0, NULL), cudaErrorInvalidValue);
    IS(C(cudaGraphInstantiate)(NULL, graph, 0), cudaErrorInvalidValue);
    OK(C(cudaGraphDestroy)(graph));
    (void)C(cudaGetLastError)();
}

static void symbols(CUstream stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t to = NULL, from = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned in[2] = {1, 2}, got[2] = {0, 0}; /* other topics look at the table, too */
    OK(M(cudaGraphCreate, musaGraphCreate)((MUgraph *)&graph, 0));
    OK(C(cudaGraphAddMemcpyNodeToSymbol)(&to, graph, NULL, 0, &snippet_table, in, 4, 0, cudaMemcpyHostToDevice));
    OK(C(cudaGraphAddMemcpyNodeFromSymbol)(&from, graph, &to, 1, got, &snippet_table, 4, 0, cudaMemcpyDeviceToHost));
    OK(C(cudaGraphMemcpyNodeSetParamsToSymbol)(to, &snippet_table, in, 8, 0, cudaMemcpyHostToDevice));
    OK(C(cudaGraphMemcpyNodeSetParamsFromSymbol)(from, got, &snippet_table, 8, 0, cudaMemcpyDeviceToHost));
    OK(C(cudaGraphInstantiate)(&exec, graph, 0));
    OK(C(cudaGraphExecMemcpyNodeSetParamsToSymbol)(exec, to, &snippet_table, in, 8, 0, cudaMemcpyHostToDevice));
    OK(C(cudaGraphExecMemcpyNodeSetParamsFromSymbol)(exec, from, got, &snippet_table, 8, 4, cudaMemcpyDeviceToHost));
    OK(C(cudaGraphLaunch)(exec, stream));
    OK(M(cudaStreamSynchronize, musaStreamSynchronize)((MUstream)stream));
    EXPECT(got[0] == 2);
    IS(C(cudaGraphAddMemcpyNodeToSymbol)(&to, graph, NULL, 0, &snippet_table, in, 17, 0, cudaMemcpyHostToDevice),
       cudaErrorInvalidValue);
    IS(C(cudaGraphAddMemcpyNodeToSymbol)(&to, graph, NULL, 0, in, in, 4, 0, cudaMemcpyHostToDevice),
       cudaErrorInvalidSymbol);
    IS(C(cudaGraphAddMemcpyNodeFromSymbol)(&to, graph, NULL, 0, in, &snippet_table, 4, 0, cudaMemcpyHostToDevice),
       cudaErrorInvalidMemcpyDirection);
    OK(C(cudaGraphExecDestroy)(exec));
    OK(C(cudaGraphDestroy)(graph));
    (void)C(cudaGetLastError)();
}

void snippet_graph(void)
{
    snippet_registered();
    MUstream stream = NULL;
    OK(M(cudaMalloc, musaMalloc)((void **)&out, SNIPPET_THREADS * sizeof *out));
    OK(M(cudaStreamCreateWithFlags, musaStreamCreateWithFlags)(&stream, 1));
    capture((CUstream)stream);
    programmatic((CUstream)stream);
    nodes((CUstream)stream);
    symbols((CUstream)stream);
    OK(M(cudaStreamDestroy, musaStreamDestroy)(stream));
    OK(M(cudaFree, musaFree)(out));
}
