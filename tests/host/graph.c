/* Graphs of copies, fills and host functions: structure, errors, updates, memory, user objects. */
#include <unistd.h>
#include "host/device.h"

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
    IS(muGraphCreate(NULL, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphCreate(&g, 1), MUSA_ERROR_INVALID_VALUE);
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&a, g, NULL, 0));
    MUST(muGraphAddEmptyNode(&b, g, &a, 1));
    MUST(muGraphAddEmptyNode(&c, g, (MUgraphNode[]){a, b}, 2));
    IS(muGraphAddEmptyNode(list, g, (MUgraphNode[]){a, a}, 2), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphAddEmptyNode(list, g, (MUgraphNode[]){NULL}, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphAddEmptyNode(NULL, g, NULL, 0), MUSA_ERROR_INVALID_VALUE);

    n = 0;
    OK(muGraphGetNodes(g, NULL, &n));
    check(n == 3, "three nodes");
    n = 8;
    memset(list, 1, sizeof list);
    OK(muGraphGetNodes(g, list, &n));
    check(n == 3 && list[0] == a && list[2] == c && !list[3] && !list[7], "the rest is cleared");
    n = 8;
    OK(muGraphGetRootNodes(g, list, &n));
    check(n == 1 && list[0] == a, "one root");
    n = 8;
    OK(muGraphGetEdges(g, list, to, &n));
    check(n == 3 && list[0] == a && to[0] == b && list[2] == b && to[2] == c, "three edges");
    n = 8;
    OK(muGraphNodeGetDependencies(c, list, &n));
    check(n == 2 && list[0] == a && list[1] == b, "dependencies in order");
    n = 8;
    OK(muGraphNodeGetDependentNodes(a, list, &n));
    check(n == 2, "dependents");

    IS(muGraphAddDependencies(g, &a, &b, 1), MUSA_ERROR_INVALID_VALUE); /* exists */
    IS(muGraphAddDependencies(g, &a, &a, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphRemoveDependencies(g, (MUgraphNode[]){a, c}, (MUgraphNode[]){b, a}, 2), MUSA_ERROR_INVALID_VALUE);
    n = 8;
    MUST(muGraphGetEdges(g, list, to, &n));
    check(n == 3, "a failed change changes nothing");

    MUgraphExec e = NULL;
    MUgraphNode bad = NULL;
    MUST(muGraphAddDependencies(g, &c, &b, 1)); /* b -> c -> b */
    IS(muGraphInstantiate(&e, g, &bad, NULL, 0), MUSA_ERROR_INVALID_VALUE);
    check(!e && (bad == b || bad == c), "a cycle is refused, and located");
    MUSA_GRAPH_INSTANTIATE_PARAMS p = {0};
    IS(muGraphInstantiateWithParams(&e, g, &p), MUSA_ERROR_INVALID_VALUE);
    check(p.result_out == MUSA_GRAPH_INSTANTIATE_INVALID_STRUCTURE && p.hErrNode_out == bad, "why");
    MUST(muGraphRemoveDependencies(g, &c, &b, 1));
    IS(muGraphInstantiateWithFlags(&e, g, 1 << 10), MUSA_ERROR_INVALID_VALUE);
    OK(muGraphInstantiateWithFlags(&e, g, 0));
    launch(e);

    MUgraph copy;
    MUgraphNode found = NULL;
    OK(muGraphClone(&copy, g));
    OK(muGraphNodeFindInClone(&found, c, copy));
    n = 8;
    MUST(muGraphNodeGetDependencies(found, list, &n));
    check(found != c && n == 2 && list[0] != a, "the clone has its own edges");
    IS(muGraphNodeFindInClone(&found, c, g), MUSA_ERROR_INVALID_VALUE);
    MUgraphNodeType type;
    OK(muGraphNodeGetType(found, &type));
    check(type == MU_GRAPH_NODE_TYPE_EMPTY, "empty");

    OK(muGraphDestroyNode(b));
    n = 8;
    MUST(muGraphGetEdges(g, list, to, &n));
    check(n == 1 && list[0] == a && to[0] == c, "its edges went with it");
    IS(muGraphDestroyNode(b), MUSA_ERROR_INVALID_VALUE);
    OK(muGraphDestroy(g));
    IS(muGraphDestroy(g), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphNodeGetType(a, &type), MUSA_ERROR_INVALID_VALUE);
    launch(e); /* an executable graph outlives its graph */
    OK(muGraphExecDestroy(e));
    IS(muGraphExecDestroy(e), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphLaunch(e, stream), MUSA_ERROR_INVALID_VALUE);
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
    IS(muGraphAddDependencies_v2(g, &a, &b, &odd, 1), MUSA_ERROR_INVALID_VALUE); /* no kernels */
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_EMPTY};
    IS(muGraphAddNode_v2(&c, g, &a, &odd, 1, &p), MUSA_ERROR_INVALID_VALUE);
    OK(muGraphAddNode_v2(&c, g, &a, data, 1, &p));
    OK(muGraphAddDependencies_v2(g, &b, &c, data, 1));
    memset(data, 1, sizeof data);
    OK(muGraphNodeGetDependencies_v2(c, list, data, &n));
    check(n == 2 && !data[0].type && !data[1].from_port, "plain edges");
    p.reserved2 = 1;
    IS(muGraphAddNode(&c, g, NULL, 0, &p), MUSA_ERROR_INVALID_VALUE);
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
    OK(muGraphAddMemcpyNode(&up, g, NULL, 0, &m, ctx));
    m = linear(MU_MEMORYTYPE_DEVICE, at(d2), MU_MEMORYTYPE_DEVICE, at(d), sizeof in);
    OK(muGraphAddMemcpyNode(&across, g, &up, 1, &m, ctx));
    MUSA_MEMSET_NODE_PARAMS f = fill(d2, 77, 10);
    OK(muGraphAddMemsetNode(&set, g, &across, 1, &f, ctx));
    m = linear(MU_MEMORYTYPE_HOST, got, MU_MEMORYTYPE_DEVICE, at(d2), sizeof in);
    OK(muGraphAddMemcpyNode(&down, g, &set, 1, &m, ctx));
    MUSA_HOST_NODE_PARAMS h = {count, &calls};
    OK(muGraphAddHostNode(&host, g, &down, 1, &h));
    m.dstHost = NULL;
    IS(muGraphAddMemcpyNode(&up, g, NULL, 0, &m, ctx), MUSA_ERROR_INVALID_VALUE);
    f.elementSize = 3;
    IS(muGraphAddMemsetNode(&up, g, NULL, 0, &f, ctx), MUSA_ERROR_INVALID_VALUE);
    h.fn = NULL;
    IS(muGraphAddHostNode(&up, g, NULL, 0, &h), MUSA_ERROR_INVALID_VALUE);
    MUSA_HOST_NODE_PARAMS back;
    OK(muGraphHostNodeGetParams(host, &back));
    check(back.fn == count && back.userData == &calls, "parameters come back");
    IS(muGraphHostNodeGetParams(set, &back), MUSA_ERROR_INVALID_VALUE);

    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    launch(e);
    check(calls == 1 && got[0] == 77 && got[9] == 77 && got[10] == 30 && got[N - 1] == (N - 1) * 3,
          "copies, fill and function, in order");
    in[500] = 1234; /* copies read what is there at the launch */
    launch(e);
    check(calls == 2 && got[500] == 1234, "twice");

    f = fill(d2, 88, 20);
    OK(muGraphExecMemsetNodeSetParams(e, set, &f, ctx));
    launch(e);
    check(got[0] == 88 && got[19] == 88 && got[20] == 60, "a changed fill");
    MUSA_MEMSET_NODE_PARAMS kept;
    MUST(muGraphMemsetNodeGetParams(set, &kept));
    check(kept.value == 77 && kept.width == 10, "the graph's own is as it was");
    unsigned enabled = 9;
    OK(muGraphNodeSetEnabled(e, set, 0));
    OK(muGraphNodeGetEnabled(e, set, &enabled));
    launch(e);
    check(!enabled && got[0] == 0 && got[1] == 3, "a disabled fill");
    IS(muGraphNodeSetEnabled(e, host, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muGraphNodeSetEnabled(e, set, 1));
    m = linear(MU_MEMORYTYPE_DEVICE, at(d2), MU_MEMORYTYPE_DEVICE, at(d), 40);
    IS(muGraphExecMemcpyNodeSetParams(e, up, &m, ctx), MUSA_ERROR_INVALID_VALUE); /* was from host */
    OK(muGraphExecMemcpyNodeSetParams(e, across, &m, ctx));
    uint64_t flags = 1;
    OK(muGraphExecGetFlags(e, &flags));
    check(flags == 0, "flags");
    OK(muGraphUpload(e, stream));
    OK(muGraphLaunch(e, stream));
    OK(muGraphExecDestroy(e)); /* while it may be running */
    MUST(muStreamSynchronize(stream));
    check(calls == 5, "it ran to its end");

    char path[] = "/tmp/cumu-graph-XXXXXX", text[4096] = "";
    int fd = mkstemp(path);
    OK(muGraphDebugDotPrint(g, path, 1));
    check(read(fd, text, sizeof text - 1) > 0 && strstr(text, "digraph") && strstr(text, "MEMSET") &&
              strstr(text, "->"),
          "as text");
    close(fd);
    unlink(path);
    IS(muGraphDebugDotPrint(g, "/no/such/folder/x", 0), MUSA_ERROR_FILE_NOT_FOUND);
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
    OK(muGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
    MUST(muGraphAddHostNode(&last, outer, &child, 1, &h));
    MUST(muGraphAddHostNode(&node, inner, NULL, 0, &h)); /* too late: the child is a copy */
    OK(muGraphChildGraphNodeGetGraph(child, &got));
    size_t n = 0;
    MUST(muGraphGetNodes(got, NULL, &n));
    check(got != inner && n == 5, "a copy");
    IS(muGraphDestroy(got), MUSA_ERROR_INVALID_VALUE); /* its node owns it */
    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, outer, 0));
    launch(e);
    check(calls == 6, "the child ran");
    IS(muGraphExecChildGraphNodeSetParams(e, child, inner), MUSA_ERROR_INVALID_VALUE); /* 6 nodes */
    MUST(muGraphDestroyNode(node));
    OK(muGraphExecChildGraphNodeSetParams(e, child, inner));
    launch(e);
    check(calls == 12, "again");
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
    OK(muGraphExecUpdate(e, g[1], &info));
    launch(e);
    uint32_t got;
    MUST(muMemcpyDtoH(&got, d, 4));
    check(info.result == MU_GRAPH_EXEC_UPDATE_SUCCESS && one == 1 && two == 1 && got == 6, "updated");

    MUST(muGraphRemoveDependencies(g[1], &host[1], &set[1], 1));
    IS(muGraphExecUpdate(e, g[1], &info), MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    check(info.result == MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == set[1], "an edge less");
    MUST(muGraphAddDependencies(g[1], &host[1], &set[1], 1));
    MUST(muGraphAddEmptyNode(&more, g[1], NULL, 0));
    IS(muGraphExecUpdate(e, g[1], &info), MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    check(info.result == MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !info.errorNode, "a node more");
    MUST(muGraphDestroyNode(more));
    MUST(muGraphDestroyNode(set[1]));
    MUST(muGraphAddEmptyNode(&set[1], g[1], &host[1], 1));
    IS(muGraphExecUpdate(e, g[1], &info), MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    check(info.result == MU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode == set[1], "another type");
    MUST(muGraphDestroyNode(set[1]));
    MUSA_MEMSET_NODE_PARAMS f = {d, 64, 1, 4, 4, 4};
    MUST(muGraphAddMemsetNode(&set[1], g[1], &host[1], 1, &f, ctx));
    IS(muGraphExecUpdate(e, g[1], &info), MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    check(info.result == MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED && info.errorNode == set[1], "another shape");
    launch(e);
    MUST(muMemcpyDtoH(&got, d, 4));
    check(two == 2 && got == 6, "a failed update changes nothing");
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
    OK(muGraphAddEventWaitNode(&wait, g, NULL, 0, e1));
    MUST(muGraphAddHostNode(&host, g, &wait, 1, &h));
    OK(muGraphAddEventRecordNode(&record, g, &host, 1, e2));
    OK(muGraphEventRecordNodeGetEvent(record, &seen));
    check(seen == e2, "the event");
    IS(muGraphEventWaitNodeGetEvent(record, &seen), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphEventWaitNodeSetEvent(wait, NULL), MUSA_ERROR_INVALID_HANDLE);
    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUdeviceptr gate;
    MUST(muMemAlloc(&gate, 4));
    MUST(muMemsetD32(gate, 0, 1));
    MUST(muStreamWaitValue32(other, gate, 1, MU_STREAM_WAIT_VALUE_EQ));
    MUST(muEventRecord(e1, other));
    MUST(muGraphLaunch(e, stream));
    sleep_ms(20);
    check(calls == 0 && muEventQuery(e2) == MUSA_ERROR_NOT_READY, "the graph waits");
    MUstream third;
    MUST(muStreamCreate(&third, MU_STREAM_NON_BLOCKING));
    MUST(muStreamWaitEvent(third, e2, 0));
    MUST(muLaunchHostFunc(third, count, &calls));
    __atomic_store_n((uint32_t *)at(gate), 1, __ATOMIC_RELEASE);
    MUST(muEventSynchronize(e2));
    MUST(muStreamSynchronize(third));
    check(calls == 2, "its record lets others go on");
    float ms = -1;
    OK(muEventElapsedTime(&ms, e1, e2));
    check(ms >= 0, "and has a time");
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
    OK(muGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    check(p.dptr != 0, "the address is known at once");
    MUSA_MEMSET_NODE_PARAMS fp = fill(p.dptr, 42, SIZE / 4);
    OK(muGraphAddMemsetNode(&set, g, &alloc, 1, &fp, ctx));
    IS(muGraphClone(&copy, g), MUSA_ERROR_NOT_SUPPORTED);
    IS(muGraphDestroyNode(set), MUSA_ERROR_NOT_SUPPORTED);
    OK(muGraphInstantiateWithFlags(&e, g, 0));
    IS(muGraphInstantiateWithFlags(&second, g, 0), MUSA_ERROR_NOT_SUPPORTED); /* one at a time */
    check(figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0, "nothing is used yet");
    launch(e);
    uint32_t got = 0;
    MUST(muMemcpyDtoH(&got, p.dptr + SIZE - 4, 4));
    check(got == 42, "it is there after the launch");
    check(figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == SIZE, "and counted");
    IS(muGraphLaunch(e, stream), MUSA_ERROR_INVALID_VALUE); /* not freed yet */

    MUST(muGraphCreate(&freeing, 0));
    OK(muGraphAddMemFreeNode(&node, freeing, NULL, 0, p.dptr));
    IS(muGraphAddMemFreeNode(&node, freeing, NULL, 0, p.dptr), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphAddMemFreeNode(&node, freeing, NULL, 0, 4096), MUSA_ERROR_INVALID_VALUE);
    MUST(muGraphInstantiateWithFlags(&f, freeing, 0));
    launch(f);
    check(figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0, "freed by another graph");
    IS(muGraphLaunch(f, stream), MUSA_ERROR_INVALID_VALUE);
    launch(e);
    OK(muMemFreeAsync(p.dptr, stream));
    IS(muMemFreeAsync(p.dptr, stream), MUSA_ERROR_INVALID_VALUE);
    launch(e);
    OK(muMemFree(p.dptr));
    check(figure(MU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == SIZE, "the most there was");
    check(figure(MU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == SIZE, "it is kept");
    OK(muDeviceGraphMemTrim(0));
    check(figure(MU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0, "until it is trimmed");
    OK(muDeviceSetGraphMemAttribute(0, MU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    check(figure(MU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0, "the mark is reset");
    IS(muDeviceSetGraphMemAttribute(0, MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero), MUSA_ERROR_INVALID_VALUE);
    IS(muDeviceGetGraphMemAttribute(9, MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero), MUSA_ERROR_INVALID_DEVICE);
    MUST(muGraphExecDestroy(e));

    OK(muGraphInstantiateWithFlags(&e, g, MUSA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    launch(e);
    launch(e); /* frees what the first one left */
    check(figure(MU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == SIZE, "freed by the launch");
    MUST(muGraphExecDestroy(e));
    MUST(muGraphExecDestroy(f));
    MUST(muGraphDestroy(g));
    MUST(muGraphDestroy(freeing));
    check(!muMemcpyDtoH(&got, p.dptr, 4) && got == 42, "it outlives its graphs");
    OK(muMemFree(p.dptr));
    IS(muMemFree(p.dptr), MUSA_ERROR_INVALID_VALUE);
}

/* ---- user objects ---------------------------------------------------------------------------- */

static _Atomic int destroyed;
static void destructor(void *p) { destroyed += *(int *)p; }

static bool comes_to(int n)
{
    for (int i = 0; i < 30000 && destroyed != n; i++)
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
    IS(muUserObjectCreate(&o, &one, destructor, 1, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muUserObjectCreate(&o, &one, destructor, 1, MU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(muUserObjectRetain(o, 2));
    MUST(muGraphCreate(&g, 0));
    MUSA_HOST_NODE_PARAMS h = {slow, NULL};
    MUST(muGraphAddHostNode(&node, g, NULL, 0, &h));
    OK(muGraphRetainUserObject(g, o, 1, MU_GRAPH_USER_OBJECT_MOVE));
    OK(muUserObjectRelease(o, 2)); /* the graph's is left */
    IS(muGraphReleaseUserObject(g, o, 2), MUSA_ERROR_INVALID_VALUE);
    MUST(muGraphClone(&copy, g));
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphDestroy(g));
    MUST(muGraphDestroy(copy));
    MUST(muGraphLaunch(e, stream));
    MUST(muGraphExecDestroy(e));
    check(destroyed == 0, "the launch still holds it");
    MUST(muStreamSynchronize(stream));
    check(comes_to(1), "destroyed with the last of them");
    IS(muUserObjectRetain(o, 1), MUSA_ERROR_INVALID_VALUE);
}

static _Atomic bool let_go;
static void held(void *p)
{
    (void)p;
    while (!let_go)
        sleep_ms(1);
}

/* A graph of one host node whose argument is an object's, which the graph alone holds. */
static MUgraph with_object(MUgraphNode *node)
{
    static int one = 1;
    MUuserObject o;
    MUgraph g;
    MUSA_HOST_NODE_PARAMS h = {held, &one};
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddHostNode(node, g, NULL, 0, &h));
    MUST(muUserObjectCreate(&o, &one, destructor, 1, MU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    MUST(muGraphRetainUserObject(g, o, 1, MU_GRAPH_USER_OBJECT_MOVE));
    return g;
}

/* What an executable graph takes over by an update is held by it: captured calls of libraries are such nodes. */
static void test_updated_objects(void)
{
    MUgraphNode node, child;
    MUgraphExec e;
    MUgraphExecUpdateResultInfo info;
    int before = destroyed;
    MUgraph g = with_object(&node), next = with_object(&node), last = with_object(&node), outer;
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphExecUpdate(e, next, &info));
    MUST(muGraphDestroy(next));
    MUST(muGraphLaunch(e, stream));
    MUST(muGraphExecUpdate(e, last, &info));
    MUST(muGraphDestroy(last));
    MUST(muGraphLaunch(e, stream));
    check(destroyed == before, "held by the launches");
    let_go = true;
    MUST(muStreamSynchronize(stream));
    check(comes_to(before + 1), "what an update replaced goes");
    MUST(muGraphExecDestroy(e));
    check(comes_to(before + 2), "and what it brought with the executable graph");
    MUST(muGraphCreate(&outer, 0));
    MUST(muGraphAddChildGraphNode(&child, outer, NULL, 0, g));
    MUST(muGraphDestroy(g));
    MUST(muGraphInstantiateWithFlags(&e, outer, 0));
    MUST(muGraphDestroy(outer));
    let_go = false;
    MUST(muGraphLaunch(e, stream));
    MUST(muGraphExecDestroy(e));
    check(destroyed == before + 2, "a launch holds what a child graph brought");
    let_go = true;
    MUST(muStreamSynchronize(stream));
    check(comes_to(before + 3), "until it is done");
    g = with_object(&node), next = with_object(&node);
    MUST(muGraphCreate(&outer, 0));
    MUST(muGraphAddChildGraphNode(&child, outer, NULL, 0, g));
    MUST(muGraphInstantiateWithFlags(&e, outer, 0));
    MUST(muGraphExecChildGraphNodeSetParams(e, child, next));
    MUST(muGraphDestroy(next));
    MUST(muGraphLaunch(e, stream));
    MUST(muStreamSynchronize(stream));
    check(destroyed == before + 3, "a child's update is held");
    MUST(muGraphExecDestroy(e));
    check(comes_to(before + 4), "until the executable graph goes");
    MUST(muGraphDestroy(outer));
    MUST(muGraphDestroy(g));
    check(comes_to(before + 5), "the last one");
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
    check(ok, "bad handles are told, and nothing is written");
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&n, g, NULL, 0));
    IS(muGraphGetNodes(g, NULL, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphNodeGetType(n, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphAddKernelNode(&n, g, NULL, 0, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphInstantiateWithFlags(NULL, g, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphInstantiateWithParams(&e, g, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muGraphDebugDotPrint(g, NULL, 0), MUSA_ERROR_INVALID_VALUE);
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
    test_updated_objects();
    test_garbage();
    return check_end("host graph");
}
