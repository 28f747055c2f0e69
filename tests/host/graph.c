/* Graphs of copies, fills and host functions: structure, errors, updates, memory, user objects. */
#include <unistd.h>
#include "host/check.h"

static MUcontext ctx;
static MUstream stream;

static MUSA_MEMCPY3D linear(MUmemorytype to, const void *dst, MUmemorytype from, const void *src, size_t n)
{
    return (MUSA_MEMCPY3D){.srcMemoryType = from,
                           .srcHost = src,
                           .srcDevice = dev(src),
                           .srcPitch = n,
                           .dstMemoryType = to,
                           .dstHost = (void *)(uintptr_t)dst,
                           .dstDevice = dev(dst),
                           .dstPitch = n,
                           .WidthInBytes = n,
                           .Height = 1,
                           .Depth = 1};
}

static MUSA_MEMSET_NODE_PARAMS fill(MUdeviceptr p, unsigned value, size_t n)
{
    return (MUSA_MEMSET_NODE_PARAMS){.dst = p, .value = value, .elementSize = 4, .width = n, .height = 1};
}

static void launch(MUgraphExec e)
{
    MUST(muGraphLaunch(e, stream));
    MUST(muStreamSynchronize(stream));
}

/* ---- structure ------------------------------------------------------------------------------- */

static void test_structure(void)
{
    MUgraph g;
    MUgraphNode a, b, c, list[8], to[8];
    size_t n;
    IS(MUSA_ERROR_INVALID_VALUE, muGraphCreate(NULL, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphCreate(&g, 1));
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&a, g, NULL, 0));
    MUST(muGraphAddEmptyNode(&b, g, &a, 1));
    MUST(muGraphAddEmptyNode(&c, g, (MUgraphNode[]){a, b}, 2));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddEmptyNode(list, g, (MUgraphNode[]){a, a}, 2));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddEmptyNode(list, g, (MUgraphNode[]){NULL}, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddEmptyNode(NULL, g, NULL, 0));

    n = 0;
    IS(MUSA_SUCCESS, muGraphGetNodes(g, NULL, &n));
    CHECK("three nodes", n == 3);
    n = 8;
    memset(list, 1, sizeof list);
    IS(MUSA_SUCCESS, muGraphGetNodes(g, list, &n));
    CHECK("the rest is cleared", n == 3 && list[0] == a && list[2] == c && !list[3] && !list[7]);
    n = 8;
    IS(MUSA_SUCCESS, muGraphGetRootNodes(g, list, &n));
    CHECK("one root", n == 1 && list[0] == a);
    n = 8;
    IS(MUSA_SUCCESS, muGraphGetEdges(g, list, to, &n));
    CHECK("three edges", n == 3 && list[0] == a && to[0] == b && list[2] == b && to[2] == c);
    n = 8;
    IS(MUSA_SUCCESS, muGraphNodeGetDependencies(c, list, &n));
    CHECK("dependencies in order", n == 2 && list[0] == a && list[1] == b);
    n = 8;
    IS(MUSA_SUCCESS, muGraphNodeGetDependentNodes(a, list, &n));
    CHECK("dependents", n == 2);

    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddDependencies(g, &a, &b, 1)); /* exists */
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddDependencies(g, &a, &a, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphRemoveDependencies(g, (MUgraphNode[]){a, c}, (MUgraphNode[]){b, a}, 2));
    n = 8;
    MUST(muGraphGetEdges(g, list, to, &n));
    CHECK("a failed change changes nothing", n == 3);

    MUgraphExec e = NULL;
    MUgraphNode bad = NULL;
    MUST(muGraphAddDependencies(g, &c, &b, 1)); /* b -> c -> b */
    IS(MUSA_ERROR_INVALID_VALUE, muGraphInstantiate(&e, g, &bad, NULL, 0));
    CHECK("a cycle is refused, and located", !e && (bad == b || bad == c));
    MUSA_GRAPH_INSTANTIATE_PARAMS p = {0};
    IS(MUSA_ERROR_INVALID_VALUE, muGraphInstantiateWithParams(&e, g, &p));
    CHECK("why", p.result_out == MUSA_GRAPH_INSTANTIATE_INVALID_STRUCTURE && p.hErrNode_out == bad);
    MUST(muGraphRemoveDependencies(g, &c, &b, 1));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphInstantiateWithFlags(&e, g, 1 << 10));
    IS(MUSA_SUCCESS, muGraphInstantiateWithFlags(&e, g, 0));
    launch(e);

    MUgraph copy;
    MUgraphNode found = NULL;
    IS(MUSA_SUCCESS, muGraphClone(&copy, g));
    IS(MUSA_SUCCESS, muGraphNodeFindInClone(&found, c, copy));
    n = 8;
    MUST(muGraphNodeGetDependencies(found, list, &n));
    CHECK("the clone has its own edges", found != c && n == 2 && list[0] != a);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphNodeFindInClone(&found, c, g));
    MUgraphNodeType type;
    IS(MUSA_SUCCESS, muGraphNodeGetType(found, &type));
    CHECK("empty", type == MU_GRAPH_NODE_TYPE_EMPTY);

    IS(MUSA_SUCCESS, muGraphDestroyNode(b));
    n = 8;
    MUST(muGraphGetEdges(g, list, to, &n));
    CHECK("its edges went with it", n == 1 && list[0] == a && to[0] == c);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphDestroyNode(b));
    IS(MUSA_SUCCESS, muGraphDestroy(g));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphDestroy(g));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphNodeGetType(a, &type));
    launch(e); /* an executable graph outlives its graph */
    IS(MUSA_SUCCESS, muGraphExecDestroy(e));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphExecDestroy(e));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphLaunch(e, stream));
    MUST(muGraphDestroy(copy));
}

static void test_edge_data(void)
{
    MUgraph g;
    MUgraphNode a, b, c, list[4];
    MUgraphEdgeData data[4] = {0};
    size_t n = 4;
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&a, g, NULL, 0));
    MUST(muGraphAddEmptyNode(&b, g, NULL, 0));
    MUgraphEdgeData odd = {.from_port = 1, .type = MU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddDependencies_v2(g, &a, &b, &odd, 1)); /* no kernels */
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_EMPTY};
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddNode_v2(&c, g, &a, &odd, 1, &p));
    IS(MUSA_SUCCESS, muGraphAddNode_v2(&c, g, &a, data, 1, &p));
    IS(MUSA_SUCCESS, muGraphAddDependencies_v2(g, &b, &c, data, 1));
    memset(data, 1, sizeof data);
    IS(MUSA_SUCCESS, muGraphNodeGetDependencies_v2(c, list, data, &n));
    CHECK("plain edges", n == 2 && !data[0].type && !data[1].from_port);
    p.reserved2 = 1;
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddNode(&c, g, NULL, 0, &p));
    MUST(muGraphDestroy(g));
}

/* ---- running --------------------------------------------------------------------------------- */

static void count(void *p) { ++*(int *)p; }

static void test_run(void)
{
    enum { N = 1000 };
    static uint32_t in[N], got[N];
    static int calls;
    MUdeviceptr d, d2;
    MUST(muMemAlloc(&d, sizeof in));
    MUST(muMemAlloc(&d2, sizeof in));
    for (unsigned i = 0; i < N; i++)
        in[i] = i * 3;
    MUgraph g;
    MUgraphNode up, across, down, set, host;
    MUST(muGraphCreate(&g, 0));
    MUSA_MEMCPY3D m = linear(MU_MEMORYTYPE_DEVICE, at(d), MU_MEMORYTYPE_HOST, in, sizeof in);
    IS(MUSA_SUCCESS, muGraphAddMemcpyNode(&up, g, NULL, 0, &m, ctx));
    m = linear(MU_MEMORYTYPE_DEVICE, at(d2), MU_MEMORYTYPE_DEVICE, at(d), sizeof in);
    IS(MUSA_SUCCESS, muGraphAddMemcpyNode(&across, g, &up, 1, &m, ctx));
    MUSA_MEMSET_NODE_PARAMS f = fill(d2, 77, 10);
    IS(MUSA_SUCCESS, muGraphAddMemsetNode(&set, g, &across, 1, &f, ctx));
    m = linear(MU_MEMORYTYPE_HOST, got, MU_MEMORYTYPE_DEVICE, at(d2), sizeof in);
    IS(MUSA_SUCCESS, muGraphAddMemcpyNode(&down, g, &set, 1, &m, ctx));
    MUSA_HOST_NODE_PARAMS h = {count, &calls};
    IS(MUSA_SUCCESS, muGraphAddHostNode(&host, g, &down, 1, &h));
    m.dstHost = NULL;
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddMemcpyNode(&up, g, NULL, 0, &m, ctx));
    f.elementSize = 3;
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddMemsetNode(&up, g, NULL, 0, &f, ctx));
    h.fn = NULL;
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddHostNode(&up, g, NULL, 0, &h));
    MUSA_HOST_NODE_PARAMS back;
    IS(MUSA_SUCCESS, muGraphHostNodeGetParams(host, &back));
    CHECK("parameters come back", back.fn == count && back.userData == &calls);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphHostNodeGetParams(set, &back));

    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    launch(e);
    CHECK("copies, fill and function, in order",
          calls == 1 && got[0] == 77 && got[9] == 77 && got[10] == 30 && got[N - 1] == (N - 1) * 3);
    in[500] = 1234; /* copies read what is there at the launch */
    launch(e);
    CHECK("twice", calls == 2 && got[500] == 1234);

    f = fill(d2, 88, 20);
    IS(MUSA_SUCCESS, muGraphExecMemsetNodeSetParams(e, set, &f, ctx));
    launch(e);
    CHECK("a changed fill", got[0] == 88 && got[19] == 88 && got[20] == 60);
    MUSA_MEMSET_NODE_PARAMS kept;
    MUST(muGraphMemsetNodeGetParams(set, &kept));
    CHECK("the graph's own is as it was", kept.value == 77 && kept.width == 10);
    unsigned enabled = 9;
    IS(MUSA_SUCCESS, muGraphNodeSetEnabled(e, set, 0));
    IS(MUSA_SUCCESS, muGraphNodeGetEnabled(e, set, &enabled));
    launch(e);
    CHECK("a disabled fill", !enabled && got[0] == 0 && got[1] == 3);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphNodeSetEnabled(e, host, 0));
    IS(MUSA_SUCCESS, muGraphNodeSetEnabled(e, set, 1));
    m = linear(MU_MEMORYTYPE_DEVICE, at(d2), MU_MEMORYTYPE_DEVICE, at(d), 40);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphExecMemcpyNodeSetParams(e, up, &m, ctx)); /* was from host */
    IS(MUSA_SUCCESS, muGraphExecMemcpyNodeSetParams(e, across, &m, ctx));
    uint64_t flags = 1;
    IS(MUSA_SUCCESS, muGraphExecGetFlags(e, &flags));
    CHECK("flags", flags == 0);
    IS(MUSA_SUCCESS, muGraphUpload(e, stream));
    IS(MUSA_SUCCESS, muGraphLaunch(e, stream));
    IS(MUSA_SUCCESS, muGraphExecDestroy(e)); /* while it may be running */
    MUST(muStreamSynchronize(stream));
    CHECK("it ran to its end", calls == 5);

    char path[] = "/tmp/cumu-graph-XXXXXX", text[4096] = "";
    int fd = mkstemp(path);
    IS(MUSA_SUCCESS, muGraphDebugDotPrint(g, path, 1));
    CHECK("as text", read(fd, text, sizeof text - 1) > 0 && strstr(text, "digraph") && strstr(text, "MEMSET") &&
                         strstr(text, "->"));
    close(fd);
    unlink(path);
    IS(MUSA_ERROR_FILE_NOT_FOUND, muGraphDebugDotPrint(g, "/no/such/folder/x", 0));
    MUST(muGraphDestroy(g));
    MUST(muMemFree(d));
    MUST(muMemFree(d2));
}

static void test_child(void)
{
    static int calls;
    MUgraph outer, inner, got = NULL;
    MUgraphNode node, child, last;
    MUSA_HOST_NODE_PARAMS h = {count, &calls};
    MUST(muGraphCreate(&outer, 0));
    MUST(muGraphCreate(&inner, 0));
    for (int i = 0; i < 5; i++)
        MUST(muGraphAddHostNode(&node, inner, i ? &node : NULL, i != 0, &h));
    IS(MUSA_SUCCESS, muGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
    MUST(muGraphAddHostNode(&last, outer, &child, 1, &h));
    MUST(muGraphAddHostNode(&node, inner, NULL, 0, &h)); /* too late: the child is a copy */
    IS(MUSA_SUCCESS, muGraphChildGraphNodeGetGraph(child, &got));
    size_t n = 0;
    MUST(muGraphGetNodes(got, NULL, &n));
    CHECK("a copy", got != inner && n == 5);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphDestroy(got)); /* its node owns it */
    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, outer, 0));
    launch(e);
    CHECK("the child ran", calls == 6);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphExecChildGraphNodeSetParams(e, child, inner)); /* 6 nodes */
    MUST(muGraphDestroyNode(node));
    IS(MUSA_SUCCESS, muGraphExecChildGraphNodeSetParams(e, child, inner));
    launch(e);
    CHECK("again", calls == 12);
    MUST(muGraphExecDestroy(e));
    MUST(muGraphDestroy(inner));
    MUST(muGraphDestroy(outer));
}

/* ---- update ---------------------------------------------------------------------------------- */

static void test_update(void)
{
    static int one, two;
    MUdeviceptr d;
    MUST(muMemAlloc(&d, 4096));
    MUgraph g[2];
    MUgraphNode host[2], set[2], more;
    for (int i = 0; i < 2; i++) {
        MUSA_HOST_NODE_PARAMS h = {count, i ? &two : &one};
        MUSA_MEMSET_NODE_PARAMS f = fill(d, (unsigned)i + 5, 16);
        MUST(muGraphCreate(&g[i], 0));
        MUST(muGraphAddHostNode(&host[i], g[i], NULL, 0, &h));
        MUST(muGraphAddMemsetNode(&set[i], g[i], &host[i], 1, &f, ctx));
    }
    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, g[0], 0));
    launch(e);
    MUgraphExecUpdateResultInfo info;
    IS(MUSA_SUCCESS, muGraphExecUpdate(e, g[1], &info));
    launch(e);
    uint32_t got;
    MUST(muMemcpyDtoH(&got, d, 4));
    CHECK("updated", info.result == MU_GRAPH_EXEC_UPDATE_SUCCESS && one == 1 && two == 1 && got == 6);

    MUST(muGraphRemoveDependencies(g[1], &host[1], &set[1], 1));
    IS(MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, muGraphExecUpdate(e, g[1], &info));
    CHECK("an edge less", info.result == MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == set[1]);
    MUST(muGraphAddDependencies(g[1], &host[1], &set[1], 1));
    MUST(muGraphAddEmptyNode(&more, g[1], NULL, 0));
    IS(MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, muGraphExecUpdate(e, g[1], &info));
    CHECK("a node more", info.result == MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !info.errorNode);
    MUST(muGraphDestroyNode(more));
    MUST(muGraphDestroyNode(set[1]));
    MUST(muGraphAddEmptyNode(&set[1], g[1], &host[1], 1));
    IS(MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, muGraphExecUpdate(e, g[1], &info));
    CHECK("another type", info.result == MU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode == set[1]);
    MUST(muGraphDestroyNode(set[1]));
    MUSA_MEMSET_NODE_PARAMS f = {d, 64, 1, 4, 4, 4};
    MUST(muGraphAddMemsetNode(&set[1], g[1], &host[1], 1, &f, ctx));
    IS(MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, muGraphExecUpdate(e, g[1], &info));
    CHECK("another shape", info.result == MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED && info.errorNode == set[1]);
    launch(e);
    MUST(muMemcpyDtoH(&got, d, 4));
    CHECK("a failed update changes nothing", two == 2 && got == 6);
    MUST(muGraphExecDestroy(e));
    MUST(muGraphDestroy(g[0]));
    MUST(muGraphDestroy(g[1]));
    MUST(muMemFree(d));
}

/* ---- events ---------------------------------------------------------------------------------- */

static void test_events(void)
{
    static int calls;
    MUevent e1, e2, seen;
    MUstream other;
    MUST(muEventCreate(&e1, 0));
    MUST(muEventCreate(&e2, 0));
    MUST(muStreamCreate(&other, MU_STREAM_NON_BLOCKING));
    MUgraph g;
    MUgraphNode wait, host, record;
    MUSA_HOST_NODE_PARAMS h = {count, &calls};
    MUST(muGraphCreate(&g, 0));
    IS(MUSA_SUCCESS, muGraphAddEventWaitNode(&wait, g, NULL, 0, e1));
    MUST(muGraphAddHostNode(&host, g, &wait, 1, &h));
    IS(MUSA_SUCCESS, muGraphAddEventRecordNode(&record, g, &host, 1, e2));
    IS(MUSA_SUCCESS, muGraphEventRecordNodeGetEvent(record, &seen));
    CHECK("the event", seen == e2);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphEventWaitNodeGetEvent(record, &seen));
    IS(MUSA_ERROR_INVALID_HANDLE, muGraphEventWaitNodeSetEvent(wait, NULL));
    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUdeviceptr gate;
    MUST(muMemAlloc(&gate, 4));
    MUST(muMemsetD32(gate, 0, 1));
    MUST(muStreamWaitValue32(other, gate, 1, MU_STREAM_WAIT_VALUE_EQ));
    MUST(muEventRecord(e1, other));
    MUST(muGraphLaunch(e, stream));
    sleep_ms(20);
    CHECK("the graph waits", calls == 0 && muEventQuery(e2) == MUSA_ERROR_NOT_READY);
    MUstream third;
    MUST(muStreamCreate(&third, MU_STREAM_NON_BLOCKING));
    MUST(muStreamWaitEvent(third, e2, 0));
    MUST(muLaunchHostFunc(third, count, &calls));
    __atomic_store_n((uint32_t *)at(gate), 1, __ATOMIC_RELEASE);
    MUST(muEventSynchronize(e2));
    MUST(muStreamSynchronize(third));
    CHECK("its record lets others go on", calls == 2);
    float ms = -1;
    IS(MUSA_SUCCESS, muEventElapsedTime(&ms, e1, e2));
    CHECK("and has a time", ms >= 0);
    MUST(muGraphExecDestroy(e));
    MUST(muGraphDestroy(g));
    MUST(muStreamDestroy(other));
    MUST(muStreamDestroy(third));
    MUST(muEventDestroy(e1));
    MUST(muEventDestroy(e2));
    MUST(muMemFree(gate));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t figure(MUgraphMem_attribute a)
{
    uint64_t v = ~0ull;
    MUST(muDeviceGetGraphMemAttribute(0, a, &v));
    return v;
}

static void test_memory(void)
{
    enum { SIZE = 1 << 20 };
    uint64_t zero = 0;
    MUgraph g, freeing, copy;
    MUgraphNode alloc, set, node;
    MUgraphExec e, f, second;
    MUSA_MEM_ALLOC_NODE_PARAMS p = {
        .poolProps = {.allocType = MU_MEM_ALLOCATION_TYPE_PINNED, .location = {MU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = SIZE};
    MUST(muGraphCreate(&g, 0));
    IS(MUSA_SUCCESS, muGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    CHECK("the address is known at once", p.dptr != 0);
    MUSA_MEMSET_NODE_PARAMS fp = fill(p.dptr, 42, SIZE / 4);
    IS(MUSA_SUCCESS, muGraphAddMemsetNode(&set, g, &alloc, 1, &fp, ctx));
    IS(MUSA_ERROR_NOT_SUPPORTED, muGraphClone(&copy, g));
    IS(MUSA_ERROR_NOT_SUPPORTED, muGraphDestroyNode(set));
    IS(MUSA_SUCCESS, muGraphInstantiateWithFlags(&e, g, 0));
    IS(MUSA_ERROR_NOT_SUPPORTED, muGraphInstantiateWithFlags(&second, g, 0)); /* one at a time */
    CHECK("nothing is used yet", figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    launch(e);
    uint32_t got = 0;
    MUST(muMemcpyDtoH(&got, p.dptr + SIZE - 4, 4));
    CHECK("it is there after the launch", got == 42);
    CHECK("and counted", figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == SIZE);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphLaunch(e, stream)); /* not freed yet */

    MUST(muGraphCreate(&freeing, 0));
    IS(MUSA_SUCCESS, muGraphAddMemFreeNode(&node, freeing, NULL, 0, p.dptr));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddMemFreeNode(&node, freeing, NULL, 0, p.dptr));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddMemFreeNode(&node, freeing, NULL, 0, 4096));
    MUST(muGraphInstantiateWithFlags(&f, freeing, 0));
    launch(f);
    CHECK("freed by another graph", figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    IS(MUSA_ERROR_INVALID_VALUE, muGraphLaunch(f, stream));
    launch(e);
    IS(MUSA_SUCCESS, muMemFreeAsync(p.dptr, stream));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFreeAsync(p.dptr, stream));
    launch(e);
    IS(MUSA_SUCCESS, muMemFree(p.dptr));
    CHECK("the most there was", figure(MU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == SIZE);
    CHECK("it is kept", figure(MU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == SIZE);
    IS(MUSA_SUCCESS, muDeviceGraphMemTrim(0));
    CHECK("until it is trimmed", figure(MU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    IS(MUSA_SUCCESS, muDeviceSetGraphMemAttribute(0, MU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    CHECK("the mark is reset", figure(MU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
    IS(MUSA_ERROR_INVALID_VALUE, muDeviceSetGraphMemAttribute(0, MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
    IS(MUSA_ERROR_INVALID_DEVICE, muDeviceGetGraphMemAttribute(9, MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
    MUST(muGraphExecDestroy(e));

    IS(MUSA_SUCCESS, muGraphInstantiateWithFlags(&e, g, MUSA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    launch(e);
    launch(e); /* frees what the first one left */
    CHECK("freed by the launch", figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == SIZE);
    MUST(muGraphExecDestroy(e));
    MUST(muGraphExecDestroy(f));
    MUST(muGraphDestroy(g));
    MUST(muGraphDestroy(freeing));
    CHECK("it outlives its graphs", !muMemcpyDtoH(&got, p.dptr, 4) && got == 42);
    IS(MUSA_SUCCESS, muMemFree(p.dptr));
    IS(MUSA_ERROR_INVALID_VALUE, muMemFree(p.dptr));
}

/* ---- user objects ---------------------------------------------------------------------------- */

static _Atomic int destroyed;
static void destructor(void *p) { destroyed += *(int *)p; }

static bool comes_to(int n)
{
    for (int i = 0; i < 500 && destroyed != n; i++)
        sleep_ms(2);
    return destroyed == n;
}

static void slow(void *p)
{
    (void)p;
    sleep_ms(30);
}

static void test_objects(void)
{
    static int one = 1;
    MUuserObject o;
    MUgraph g, copy;
    MUgraphNode node;
    MUgraphExec e;
    IS(MUSA_ERROR_INVALID_VALUE, muUserObjectCreate(&o, &one, destructor, 1, 0));
    IS(MUSA_SUCCESS, muUserObjectCreate(&o, &one, destructor, 1, MU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    IS(MUSA_SUCCESS, muUserObjectRetain(o, 2));
    MUST(muGraphCreate(&g, 0));
    MUSA_HOST_NODE_PARAMS h = {slow, NULL};
    MUST(muGraphAddHostNode(&node, g, NULL, 0, &h));
    IS(MUSA_SUCCESS, muGraphRetainUserObject(g, o, 1, MU_GRAPH_USER_OBJECT_MOVE));
    IS(MUSA_SUCCESS, muUserObjectRelease(o, 2)); /* the graph's is left */
    IS(MUSA_ERROR_INVALID_VALUE, muGraphReleaseUserObject(g, o, 2));
    MUST(muGraphClone(&copy, g));
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphDestroy(g));
    MUST(muGraphDestroy(copy));
    MUST(muGraphLaunch(e, stream));
    MUST(muGraphExecDestroy(e));
    CHECK("the launch still holds it", destroyed == 0);
    MUST(muStreamSynchronize(stream));
    CHECK("destroyed with the last of them", comes_to(1));
    IS(MUSA_ERROR_INVALID_VALUE, muUserObjectRetain(o, 1));
}

/* ---- bad handles ----------------------------------------------------------------------------- */

/* A dead graph, node and exec, and addresses that never were any: an error, and nothing is written. */
static void test_garbage(void)
{
    MUgraph g;
    MUgraphNode n;
    MUgraphExec e;
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&n, g, NULL, 0));
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphExecDestroy(e));
    MUST(muGraphDestroy(g));
    const uintptr_t odd[] = {
        0, 1, 8, 4097, (uintptr_t)&odd, (uintptr_t)stream, ~(uintptr_t)0, (uintptr_t)n + 4, (uintptr_t)n};
    bool ok = true;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        MUgraph bg = i + 1 == sizeof odd / sizeof *odd ? g : (MUgraph)odd[i];
        MUgraphExec be = i + 1 == sizeof odd / sizeof *odd ? e : (MUgraphExec)odd[i];
        MUgraphNode bn = (MUgraphNode)odd[i];
        MUSA_KERNEL_NODE_PARAMS k = {0};
        MUSA_MEMCPY3D m = {0};
        MUSA_MEMSET_NODE_PARAMS f = {0};
        MUSA_HOST_NODE_PARAMS h = {0};
        MUSA_MEM_ALLOC_NODE_PARAMS a = {0};
        MUgraphExecUpdateResultInfo info = {0};
        MUdeviceptr p = 0;
        MUgraph child = NULL;
        MUevent event = NULL;
        MUgraphNodeType type = -1;
        size_t count = 77;
        unsigned enabled = 77;
        uint64_t flags = 77;
        ok &= muGraphDestroy(bg) && muGraphClone(&child, bg) && muGraphGetNodes(bg, NULL, &count) &&
              muGraphGetEdges(bg, NULL, NULL, &count) && muGraphAddEmptyNode(&bn, bg, NULL, 0) &&
              muGraphInstantiateWithFlags(&be, bg, 0) && muGraphDebugDotPrint(bg, "/dev/null", 0);
        ok &= muGraphDestroyNode(bn) && muGraphNodeGetType(bn, &type) && muGraphNodeGetDependencies(bn, NULL, &count) &&
              muGraphKernelNodeGetParams(bn, &k) && muGraphMemcpyNodeGetParams(bn, &m) &&
              muGraphMemsetNodeGetParams(bn, &f) && muGraphHostNodeGetParams(bn, &h) &&
              muGraphMemAllocNodeGetParams(bn, &a) && muGraphMemFreeNodeGetParams(bn, &p) &&
              muGraphChildGraphNodeGetGraph(bn, &child) && muGraphEventWaitNodeGetEvent(bn, &event) &&
              muGraphHostNodeSetParams(bn, &h) && muGraphKernelNodeCopyAttributes(bn, bn);
        ok &= muGraphLaunch(be, stream) && muGraphUpload(be, stream) && muGraphExecDestroy(be) &&
              muGraphExecUpdate(be, bg, &info) && muGraphExecGetFlags(be, &flags) &&
              muGraphNodeGetEnabled(be, bn, &enabled) && muGraphNodeSetEnabled(be, bn, 0) &&
              muUserObjectRetain((MUuserObject)odd[i], 1) && muGraphRetainUserObject(bg, (MUuserObject)odd[i], 1, 0);
        ok &= !child && !event && type == -1 && count == 77 && enabled == 77 && flags == 77 &&
              bn == (MUgraphNode)odd[i];
    }
    CHECK("bad handles are told, and nothing is written", ok);
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&n, g, NULL, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphGetNodes(g, NULL, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphNodeGetType(n, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphAddKernelNode(&n, g, NULL, 0, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphInstantiateWithFlags(NULL, g, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphInstantiateWithParams(&e, g, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphDebugDotPrint(g, NULL, 0));
    MUST(muGraphDestroy(g));
}

int main(void)
{
    ctx = start_device();
    MUST(muStreamCreate(&stream, MU_STREAM_NON_BLOCKING));
    test_structure();
    test_edge_data();
    test_run();
    test_child();
    test_update();
    test_events();
    test_memory();
    test_objects();
    test_garbage();
    return result();
}
