/* Graphs with kernels: arguments, updates, branches that run at once, conditionals, order under random
 * graphs launched again and again, and a kernel that fails. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

static MUstream streams[3];
static MUdeviceptr memory; /* the host may look at it: this is the CPU */

static uint32_t *word(size_t i) { return (uint32_t *)(uintptr_t)memory + i; }

static MUSA_KERNEL_NODE_PARAMS single(MUfunction f, void **params)
{
    return (MUSA_KERNEL_NODE_PARAMS){f, 1, 1, 1, 32, 1, 1, 0, params, NULL};
}

static MUresult launch(MUgraphExec e)
{
    MUresult r = muGraphLaunch(e, streams[0]);
    return r ? r : muStreamSynchronize(streams[0]);
}

static MUgraphExec exec_of(MUgraph g)
{
    MUgraphExec e = NULL;
    check(!muGraphInstantiateWithFlags(&e, g, 0), "the graph is made executable");
    return e;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Nodes keep the caller's pointers, as the SDK's do (mapping/facts/musa.md B1): the values are those at the
 * launch. Whoever wants CUDA's semantics copies the arguments when the node is made. */
static void test_arguments(void)
{
    MUfunction f = kernel_function("fill");
    MUdeviceptr out = memory;
    uint32_t n = 32, v = 5, v2 = 100;
    void *params[] = {&out, &n, &v}, *others[] = {&out, &n, &v2};
    MUgraph g;
    MUgraphNode node = NULL;
    MUSA_KERNEL_NODE_PARAMS p = single(f, params), back;
    check(!muGraphCreate(&g, 0) && !muGraphAddKernelNode(&node, g, NULL, 0, &p), "a kernel node");
    check(!muGraphKernelNodeGetParams(node, &back) && back.func == f && back.kernelParams == params, "its parameters");
    MUgraphExec e = exec_of(g);
    check(!launch(e) && *word(0) == 5 && *word(31) == 36, "it runs");
    v = 6;
    check(!launch(e) && *word(0) == 6, "arguments are what they are at the launch");
    p.kernelParams = others;
    check(!muGraphExecKernelNodeSetParams(e, node, &p) && !launch(e) && *word(0) == 100,
          "others for the executable graph");
    check(!muGraphNodeSetEnabled(e, node, 0) && (*word(0) = 1, !launch(e)) && *word(0) == 1, "switched off");

    struct {
        MUdeviceptr out;
        uint32_t n, v;
    } buffer = {memory, 32, 9};
    size_t size = sizeof buffer;
    void *extra[] = {MU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, MU_LAUNCH_PARAM_BUFFER_SIZE, &size, MU_LAUNCH_PARAM_END};
    p.kernelParams = NULL;
    p.extra = extra;
    check(!muGraphKernelNodeSetParams(node, &p), "arguments as one buffer");
    MUgraphExecUpdateResultInfo info;
    check(!muGraphNodeSetEnabled(e, node, 1) && !muGraphExecUpdate(e, g, &info) && !launch(e) && *word(0) == 9,
          "and an update with them");
    MUkernelNodeAttrValue value = {.priority = -1};
    check(!muGraphKernelNodeSetAttribute(node, MU_LAUNCH_ATTRIBUTE_PRIORITY, &value) &&
              muGraphExecUpdate(e, g, &info) == MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE &&
              info.result == MU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
          "an attribute may not change");

    p.kernelParams = params;
    check(muGraphAddKernelNode(&node, g, NULL, 0, &p) == MUSA_ERROR_INVALID_VALUE, "both forms");
    p = single(f, NULL);
    check(muGraphAddKernelNode(&node, g, NULL, 0, &p) == MUSA_ERROR_INVALID_VALUE, "no form");
    p = single(NULL, params);
    check(muGraphAddKernelNode(&node, g, NULL, 0, &p) == MUSA_ERROR_INVALID_HANDLE, "no kernel");
    p = single(f, params);
    p.blockDimX = 0;
    check(muGraphAddKernelNode(&node, g, NULL, 0, &p) == MUSA_ERROR_INVALID_VALUE, "no threads");
    muGraphExecDestroy(e);
    muGraphDestroy(g);
}

static void test_capture(void)
{
    MUfunction f = kernel_function("fill");
    MUdeviceptr out = memory;
    uint32_t n = 32, v = 50;
    void *params[] = {&out, &n, &v};
    MUgraph g = NULL;
    check(!muStreamBeginCapture(streams[0], MU_STREAM_CAPTURE_MODE_GLOBAL) &&
              !muLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, streams[0], params, NULL) &&
              !muLaunchCooperativeKernel(f, 1, 1, 1, 32, 1, 1, 0, streams[0], params) &&
              !muStreamEndCapture(streams[0], &g),
          "launches are captured");
    MUgraphNode nodes[2];
    size_t count = 2;
    MUkernelNodeAttrValue a, b;
    check(!muGraphGetNodes(g, nodes, &count) && count == 2 &&
              !muGraphKernelNodeGetAttribute(nodes[0], MU_LAUNCH_ATTRIBUTE_COOPERATIVE, &a) &&
              !muGraphKernelNodeGetAttribute(nodes[1], MU_LAUNCH_ATTRIBUTE_COOPERATIVE, &b) && !a.cooperative &&
              b.cooperative,
          "a cooperative one is known as such");
    MUgraphExec e = exec_of(g);
    check(!launch(e) && *word(0) == 50, "and run");
    muGraphExecDestroy(e);
    muGraphDestroy(g);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Kernels that wait for each other: the test ends only if all run at once. */
static void test_branches(void)
{
    enum { BRANCHES = 6 };
    MUfunction f = kernel_function("meet");
    MUdeviceptr counter = memory;
    uint32_t n = BRANCHES;
    void *params[] = {&counter, &n};
    MUSA_KERNEL_NODE_PARAMS p = single(f, params);
    MUgraph g;
    MUgraphNode node, root;
    muGraphCreate(&g, 0);
    muGraphAddEmptyNode(&root, g, NULL, 0);
    for (int i = 0; i < BRANCHES; i++)
        muGraphAddKernelNode(&node, g, &root, 1, &p);
    MUgraphExec e = exec_of(g);
    bool ok = true;
    for (int i = 0; i < 20 && ok; i++) {
        *word(0) = 0;
        ok = !launch(e) && *word(0) == BRANCHES;
    }
    check(ok, "independent kernels run at once");
    muGraphExecDestroy(e);
    muGraphDestroy(g);
}

/* ---- conditionals ---------------------------------------------------------------------------- */

static MUSA_MEMSET_NODE_PARAMS store(MUdeviceptr p, unsigned v)
{
    return (MUSA_MEMSET_NODE_PARAMS){.dst = p, .value = v, .elementSize = 4, .width = 1, .height = 1};
}

/* A graph with values for a loop and for a choice, and the loop's node: its body. */
static MUgraph with_loop(MUgraph *g, MUgraphConditionalHandle *loop, MUgraphConditionalHandle *choice,
                         MUgraphNode *node)
{
    check(!muGraphCreate(g, 0) && !muGraphConditionalHandleCreate(loop, *g, NULL, 1, MU_GRAPH_COND_ASSIGN_DEFAULT) &&
              !muGraphConditionalHandleCreate(choice, *g, NULL, 1, MU_GRAPH_COND_ASSIGN_DEFAULT),
          "values");
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.handle = *loop, .type = MU_GRAPH_COND_TYPE_WHILE, .size = 1}};
    check(!muGraphAddNode(node, *g, NULL, 0, &p), "a loop");
    return p.conditional.phGraph_out[0];
}

static void test_conditional(void)
{
    MUgraph g;
    MUgraphConditionalHandle loop = 0, choice = 0;
    MUgraphNode first, node;
    MUcontext ctx;
    muCtxGetCurrent(&ctx);
    MUgraph body = with_loop(&g, &loop, &choice, &first);
    MUSA_MEMSET_NODE_PARAMS m = store(memory, 7);
    check(!muGraphAddMemsetNode(&node, body, NULL, 0, &m, ctx), "its body");
    m = store(loop, 0);
    check(!muGraphAddMemsetNode(&node, body, &node, 1, &m, ctx), "which ends it");
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.handle = choice, .type = MU_GRAPH_COND_TYPE_SWITCH, .size = 3}};
    check(!muGraphAddNode(&node, g, &first, 1, &p), "a switch");
    for (unsigned i = 0; i < 3; i++) {
        m = store(memory + 4, i + 10);
        check(!muGraphAddMemsetNode(&node, p.conditional.phGraph_out[i], NULL, 0, &m, ctx), "a case");
    }
    p.conditional.handle = 4096;
    check(muGraphAddNode(&node, g, NULL, 0, &p) == MUSA_ERROR_INVALID_VALUE, "no such handle");
    p.conditional.handle = choice;
    p.conditional.type = MU_GRAPH_COND_TYPE_WHILE;
    check(muGraphAddNode(&node, g, NULL, 0, &p) == MUSA_ERROR_INVALID_VALUE, "a loop of 3 bodies");
    MUgraphExec e = exec_of(g);
    *word(0) = *word(1) = 0;
    check(!launch(e) && *word(0) == 7 && *word(1) == 11, "loop and switch run");
    *word(0) = *word(1) = 0;
    check(!launch(e) && *word(0) == 7 && *word(1) == 11, "again, from the default");
    muGraphDestroy(g);
    check(!launch(e), "without the graph");
    muGraphExecDestroy(e);
}

static void hold_stream(void *go)
{
    while (!atomic_load((atomic_bool *)go))
        ;
}

/* A body's arguments are those of the launch, too: until it runs the executable graph may be gone, and with it what
 * its nodes' pointers lead to. */
static void test_conditional_arguments(void)
{
    static atomic_bool go;
    MUfunction f = kernel_function("fill");
    MUgraph g;
    MUgraphConditionalHandle loop = 0, choice = 0;
    MUgraphNode node;
    MUcontext ctx;
    uint32_t n = 32, v[3] = {20, 30, 40};
    MUdeviceptr out[3] = {memory, memory + 128, memory + 128};
    void *params[3][3] = {{&out[0], &n, &v[0]}, {&out[1], &n, &v[1]}, {&out[2], &n, &v[2]}};
    MUSA_KERNEL_NODE_PARAMS k[3];
    for (unsigned i = 0; i < 3; i++)
        k[i] = single(f, params[i]);
    muCtxGetCurrent(&ctx);
    MUgraph body = with_loop(&g, &loop, &choice, &node);
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.handle = choice, .type = MU_GRAPH_COND_TYPE_SWITCH, .size = 2}};
    check(!muGraphAddKernelNode(&node, body, NULL, 0, &k[0]) && !muGraphAddNode(&node, body, &node, 1, &p),
          "its body: a kernel, and a switch");
    for (unsigned i = 0; i < 2; i++)
        check(!muGraphAddKernelNode(&(MUgraphNode){NULL}, p.conditional.phGraph_out[i], NULL, 0, &k[1 + i]), "a case");
    MUSA_MEMSET_NODE_PARAMS m = store(loop, 0);
    check(!muGraphAddMemsetNode(&node, body, &node, 1, &m, ctx), "which ends it");
    MUgraphExec e = exec_of(g);
    *word(0) = *word(32) = 0;
    check(!muLaunchHostFunc(streams[0], hold_stream, &go) && !muGraphLaunch(e, streams[0]), "a launch that waits");
    check(!muGraphExecDestroy(e) && !muGraphDestroy(g), "and is all that is left");
    memset(params, 0, sizeof params);
    memset(out, 0, sizeof out);
    memset(v, 0, sizeof v);
    n = 0;
    atomic_store(&go, true);
    check(!muStreamSynchronize(streams[0]), "it runs");
    check(*word(0) == 20 && *word(31) == 51 && *word(32) == 40 && *word(63) == 71, "with the arguments of its launch");
}

/* ---- order ----------------------------------------------------------------------------------- */

enum { NODES = 80, LAUNCHES = 25 };

struct step { /* a host node: knows what must have happened before it */
    uint32_t *epoch, *before[NODES];
    int n;
};
static _Atomic int wrong;

static void take_step(void *arg)
{
    struct step *s = arg;
    uint32_t now = __atomic_load_n(s->epoch, __ATOMIC_RELAXED) + 1;
    for (int i = 0; i < s->n; i++)
        if (__atomic_load_n(s->before[i], __ATOMIC_RELAXED) != now)
            wrong++;
    __atomic_store_n(s->epoch, now, __ATOMIC_RELAXED);
}

static unsigned seed = 1;
static unsigned chance(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return seed / 65536 % n;
}

/* Host functions and kernels, each of which writes the launch's number; every host function looks
 * whether its predecessors did. Launches go to three streams, and still follow each other. */
static void test_order(void)
{
    MUfunction f = kernel_function("fill");
    uint32_t n = 1, epoch = 0;
    static struct step step[NODES];
    static MUdeviceptr out[NODES];
    static void *params[NODES][3];
    MUgraphNode node[NODES], deps[NODES];
    MUgraph g;
    muGraphCreate(&g, 0);
    memset(step, 0, sizeof step);
    bool ok = true;
    for (int i = 0; i < NODES; i++) {
        size_t count = 0;
        step[i].epoch = word((size_t)i * 16);
        *step[i].epoch = 0;
        out[i] = memory + (MUdeviceptr)i * 64;
        for (int k = 0; k < i; k++)
            if (chance(12) == 0) {
                deps[count++] = node[k];
                step[i].before[step[i].n++] = step[k].epoch;
            }
        if (chance(2)) {
            params[i][0] = &out[i];
            params[i][1] = &n;
            params[i][2] = &epoch;
            MUSA_KERNEL_NODE_PARAMS p = single(f, params[i]);
            ok &= !muGraphAddKernelNode(&node[i], g, deps, count, &p);
        } else {
            MUSA_HOST_NODE_PARAMS h = {take_step, &step[i]};
            ok &= !muGraphAddHostNode(&node[i], g, deps, count, &h);
        }
    }
    MUgraphExec e = exec_of(g);
    for (epoch = 1; epoch <= LAUNCHES; epoch++)
        ok &= !muGraphLaunch(e, streams[chance(3)]);
    for (int i = 0; i < 3; i++)
        ok &= !muStreamSynchronize(streams[i]);
    for (int i = 0; i < NODES; i++)
        ok &= *step[i].epoch == LAUNCHES;
    check(ok && !wrong, "a random graph keeps its order");
    muGraphExecDestroy(e);
    muGraphDestroy(g);
}

/* ---- failure: the context is lost ------------------------------------------------------------ */

static void never(void *called) { *(bool *)called = true; }

static void test_failure(void)
{
    MUfunction f = kernel_function("trap");
    bool called = false;
    MUgraph g;
    MUgraphNode node, record;
    MUevent event;
    muEventCreate(&event, 0);
    MUSA_KERNEL_NODE_PARAMS p = single(f, NULL);
    MUSA_HOST_NODE_PARAMS h = {never, &called};
    check(!muGraphCreate(&g, 0) && !muGraphAddKernelNode(&node, g, NULL, 0, &p) &&
              !muGraphAddHostNode(&node, g, &node, 1, &h) && !muGraphAddEventRecordNode(&record, g, &node, 1, event),
          "a kernel that fails");
    MUgraphExec e = exec_of(g);
    check(launch(e) != MUSA_SUCCESS && !called, "what depends on it does not run");
    MUresult r = muEventSynchronize(event);
    check(r && r != MUSA_ERROR_NOT_READY, "nobody waits for ever");
    check(muGraphLaunch(e, streams[0]) == r, "the context is lost");
    check(!muGraphExecDestroy(e) && !muGraphDestroy(g), "all goes");
}

int main(void)
{
    check(kernels_start() != NULL, "a context");
    for (int i = 0; i < 3; i++)
        muStreamCreate(&streams[i], i == 2 ? MU_STREAM_DEFAULT : MU_STREAM_NON_BLOCKING);
    check(!muMemAlloc(&memory, 1 << 16), "memory");
    test_arguments();
    test_capture();
    test_branches();
    test_conditional();
    test_conditional_arguments();
    for (int i = 0; i < 5; i++)
        test_order();
    test_failure();
    return check_end("host-launch graph");
}
