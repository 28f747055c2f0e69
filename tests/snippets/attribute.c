/* Attributes of streams and kernel nodes: values of 32 and of 64 bytes, with what lies behind an attribute's own. */
#include "snippet.h"

enum { GARBAGE = 0x5a, POLICY = 2 };

/* Writes the attribute with garbage behind its value, reads it into garbage: its own, then zeroes as far as the
 * program's union surely reaches, then what was there. */
static void there_and_back(int (*set)(void *on, int id, const void *value), int (*get)(void *on, int id, void *value),
                           void *on, int id, int number, size_t sure, bool may_lack)
{
    cuda_launch_attr_value v;
    memset(&v, GARBAGE, sizeof v);
    v.cooperative = number;
    int r = set(on, id, &v);
    if (may_lack && r == cudaErrorNotSupported)
        return;
    OK(r);
    memset(&v, GARBAGE, sizeof v);
    OK(get(on, id, &v));
    EXPECT(v.cooperative == number);
    bool right = true;
    for (size_t i = sizeof(int); i < sizeof v; i++)
        right = right && v.pad[i] == (i < sure ? 0 : GARBAGE);
    EXPECT(right);
    EXPECT(set(on, id, NULL) != 0 && get(on, id, NULL) != 0);
}

#define SET(function) ((int (*)(void *, int, const void *))(function))
#define GET(function) ((int (*)(void *, int, void *))(function))

static void of_streams(void)
{
    enum { SYNC = 3 };
    musaStream_t stream = NULL;
    OK(M(cudaStreamCreate, musaStreamCreate)(&stream));
    there_and_back(SET(C(cudaStreamSetAttribute)), GET(C(cudaStreamGetAttribute)), stream, SYNC, POLICY, 64, false);
    there_and_back(SET(C(cudaStreamSetAttribute_ptsz)), GET(C(cudaStreamGetAttribute_ptsz)), stream, SYNC, 3, 64,
                   false);
    there_and_back(SET(V(11, cudaStreamSetAttribute)), GET(V(11, cudaStreamGetAttribute)), stream, SYNC, 1, 32, false);
    there_and_back(SET(V(11, cudaStreamSetAttribute_ptsz)), GET(V(11, cudaStreamGetAttribute_ptsz)), stream, SYNC,
                   POLICY, 32, false);
    there_and_back(SET(C(cuStreamSetAttribute)), GET(C(cuStreamGetAttribute)), stream, SYNC, 3, 32, false);
    there_and_back(SET(C(cuStreamSetAttribute_ptsz)), GET(C(cuStreamGetAttribute_ptsz)), stream, SYNC, 1, 32, false);
    cuda_launch_attr_value v;
    EXPECT(C(cudaStreamGetAttribute)((cudaStream_t)stream, 99, &v) != 0);
    OK(M(cudaStreamDestroy, musaStreamDestroy)(stream));
    (void)C(cudaGetLastError)();
}

static void of_nodes(void)
{
    enum { COOPERATIVE = 2 };
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    int *out = NULL, add = 0;
    void *args[] = {&out, &add};
    cudaKernelNodeParams k = {.func = &snippet_stub, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = args};
    snippet_registered();
    OK(M(cudaGraphCreate, musaGraphCreate)((MUgraph *)&graph, 0));
    OK(C(cudaGraphAddKernelNode)(&node, graph, NULL, 0, &k));
    there_and_back(SET(C(cudaGraphKernelNodeSetAttribute)), GET(C(cudaGraphKernelNodeGetAttribute)), node, COOPERATIVE,
                   1, 64, true);
    there_and_back(SET(C(cuGraphKernelNodeSetAttribute)), GET(C(cuGraphKernelNodeGetAttribute)), node, COOPERATIVE, 0,
                   32, true);
    OK(C(cudaGraphDestroy)(graph));
    (void)C(cudaGetLastError)();
}

void snippet_attribute(void)
{
    of_streams();
    of_nodes();
}
