/* Whose arguments live how long: graphs over a library that, as MUSA does, keeps the caller's pointers. A
 * launch reads them, so what was freed too early shows under AddressSanitizer and mostly without, and what
 * is never freed shows in the heap. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "mock.h"
#include "wraps.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* ---- the library ----------------------------------------------------------------------------- */

struct MUgraphNode_st {
    struct MUgraphNode_st *next, *original;
    MUSA_KERNEL_NODE_PARAMS kernel;
    MUgraph child;
};
struct MUgraph_st {
    struct MUgraphNode_st *nodes;
};
struct MUgraphExec_st {
    MUgraph graph;
};

static MUgraph capturing;     /* what stream 0x77 captures into */
static MUgraphNode last_node; /* of that capture */
static bool invalidated;

static MUresult graph_create(MUgraph *g, unsigned flags)
{
    (void)flags;
    *g = calloc(1, sizeof **g);
    return 0;
}
static MUresult add(MUgraphNode *node, MUgraph g)
{
    *node = calloc(1, sizeof **node);
    (*node)->next = g->nodes;
    g->nodes = *node;
    return 0;
}
static MUresult add_kernel(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n,
                           const MUSA_KERNEL_NODE_PARAMS *p)
{
    (void)deps, (void)n;
    add(node, g);
    (*node)->kernel = *p;
    return 0;
}
static MUgraph copy(MUgraph g)
{
    MUgraph to;
    graph_create(&to, 0);
    for (MUgraphNode n = g->nodes, m; n; n = n->next) {
        add(&m, to);
        m->kernel = n->kernel;
        m->original = n;
        m->child = n->child ? copy(n->child) : NULL;
    }
    return to;
}
static MUresult graph_destroy(MUgraph g)
{
    while (g->nodes) {
        MUgraphNode n = g->nodes;
        g->nodes = n->next;
        if (n->child)
            graph_destroy(n->child);
        free(n);
    }
    free(g);
    return 0;
}
static MUresult graph_clone(MUgraph *to, MUgraph g)
{
    *to = copy(g);
    return 0;
}
static MUgraphNode find(MUgraph g, MUgraphNode original)
{
    MUgraphNode found = NULL;
    for (MUgraphNode n = g->nodes; n && !found; n = n->next)
        found = n->original == original ? n : n->child ? find(n->child, original) : NULL;
    return found;
}
static MUresult find_in_clone(MUgraphNode *node, MUgraphNode original, MUgraph g)
{
    *node = find(g, original);
    return *node ? 0 : MUSA_ERROR_INVALID_VALUE;
}
static MUresult add_child(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n, MUgraph child)
{
    (void)deps, (void)n;
    add(node, g);
    (*node)->child = copy(child);
    return 0;
}
static MUresult get_child(MUgraphNode node, MUgraph *g)
{
    *g = node->child;
    return 0;
}
static MUresult get_kernel(MUgraphNode node, MUSA_KERNEL_NODE_PARAMS *p)
{
    *p = node->kernel;
    return 0;
}
static MUresult set_kernel(MUgraphNode node, const MUSA_KERNEL_NODE_PARAMS *p)
{
    node->kernel = *p;
    return 0;
}
static MUresult instantiate(MUgraphExec *x, MUgraph g, unsigned long long flags)
{
    (void)flags;
    *x = calloc(1, sizeof **x);
    (*x)->graph = copy(g);
    return 0;
}
/* Asked where no library below has the form with flags. */
static MUresult instantiate_log(MUgraphExec *x, MUgraph g, MUgraphNode *error, char *log, size_t size)
{
    (void)error, (void)log, (void)size;
    return instantiate(x, g, 0);
}
static MUresult exec_set_kernel(MUgraphExec x, MUgraphNode node, const MUSA_KERNEL_NODE_PARAMS *p)
{
    MUgraphNode mine = find(x->graph, node);
    return mine ? set_kernel(mine, p) : MUSA_ERROR_INVALID_VALUE;
}
static MUresult update(MUgraphExec x, MUgraph g, MUgraphExecUpdateResultInfo *info)
{
    (void)info;
    MUresult r = graph_destroy(x->graph);
    x->graph = copy(g);
    return r;
}
static int sum;
static void run(MUgraph g)
{
    for (MUgraphNode n = g->nodes; n; n = n->next)
        if (n->child)
            run(n->child);
        else
            sum += *(int *)n->kernel.kernelParams[0];
}
static MUresult graph_launch(MUgraphExec x, MUstream stream)
{
    if (stream && capturing) {
        add(&last_node, capturing);
        last_node->child = copy(x->graph);
    } else {
        run(x->graph);
    }
    return 0;
}
static MUresult exec_destroy(MUgraphExec x)
{
    graph_destroy(x->graph);
    free(x);
    return 0;
}
static MUresult destroy_node(MUgraphNode node)
{
    static int nothing;
    static void *params[] = {&nothing};
    node->kernel.kernelParams = params; /* as if it were gone */
    return 0;
}
static MUresult begin(MUstream s, MUstreamCaptureMode mode)
{
    (void)s, (void)mode;
    invalidated = false;
    return graph_create(&capturing, 0);
}
static MUresult info(MUstream s, MUstreamCaptureStatus *status, uint64_t *id, MUgraph *g, const MUgraphNode **deps,
                     size_t *n)
{
    *status = s && capturing ? invalidated ? 2 : 1 : 0;
    *id = 1;
    *g = capturing;
    *deps = &last_node;
    *n = 1;
    return 0;
}
static MUresult is_capturing(MUstream s, MUstreamCaptureStatus *status)
{
    *status = s && capturing ? 1 : 0;
    return 0;
}
static MUresult end(MUstream s, MUgraph *g)
{
    (void)s;
    *g = invalidated ? NULL : capturing;
    if (invalidated)
        graph_destroy(capturing);
    capturing = NULL;
    return invalidated ? MUSA_ERROR_STREAM_CAPTURE_INVALIDATED : 0;
}
static MUresult launch(MUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, MUstream stream, void **args, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    return add_kernel(&last_node, capturing, NULL, 0, &(MUSA_KERNEL_NODE_PARAMS){.func = f, .kernelParams = args});
}

static MUresult exchange_mode(MUstreamCaptureMode *mode)
{
    static MUstreamCaptureMode now;
    MUstreamCaptureMode was = now;
    now = *mode;
    *mode = was;
    return 0;
}

static void install(void)
{
    mock_install();
    mu.muGraphCreate = graph_create;
    mu.muGraphAddKernelNode = add_kernel;
    mu.muGraphDestroy = graph_destroy;
    mu.muGraphClone = graph_clone;
    mu.muGraphNodeFindInClone = find_in_clone;
    mu.muGraphAddChildGraphNode = add_child;
    mu.muGraphChildGraphNodeGetGraph = get_child;
    mu.muGraphKernelNodeGetParams = get_kernel;
    mu.muGraphKernelNodeSetParams = set_kernel;
    mu.muGraphInstantiateWithFlags = instantiate;
    mu.muGraphInstantiate = instantiate_log;
    mu.muGraphExecKernelNodeSetParams = exec_set_kernel;
    mu.muGraphExecUpdate = update;
    mu.muGraphLaunch = graph_launch;
    mu.muGraphExecDestroy = exec_destroy;
    mu.muGraphDestroyNode = destroy_node;
    mu.muStreamBeginCapture = begin;
    mu.muStreamEndCapture = end;
    mu.muStreamGetCaptureInfo_v2 = info;
    mu.musaStreamIsCapturing = is_capturing;
    mu.muThreadExchangeStreamCaptureMode = exchange_mode;
    mu.muLaunchKernel = launch;
}

/* ---- the test -------------------------------------------------------------------------------- */

static struct cumu_func *kernel;
static CUstream const stream = (CUstream)0x77;

static cudaKernelNodeParams call(int *value)
{
    static _Thread_local void *args[1];
    args[0] = value;
    return (cudaKernelNodeParams){kernel, {1, 1, 1}, {1, 1, 1}, 0, args, NULL};
}

static int launched(cudaGraphExec_t x)
{
    sum = 0;
    wrap_cuGraphLaunch(x, NULL);
    return sum;
}

/* Every way in which a call can come to be used, once; the sum of what launches read. */
static int cycle(void)
{
    cudaGraph_t g, clone, child, inside, made;
    cudaGraphExec_t x, y;
    cudaGraphNode_t a, b, c, d, nest;
    int v = 1, total = 0, failed = 0;
    cudaKernelNodeParams p = call(&v);
    mu.muGraphCreate((MUgraph *)&g, 0);
    mu.muGraphCreate((MUgraph *)&child, 0);
    failed |= wrap_cuGraphAddKernelNode(&a, g, NULL, 0, &p);
    v = 10;
    failed |= wrap_cuGraphAddKernelNode(&b, g, &a, 1, &p);
    v = 100;
    failed |= wrap_cuGraphAddKernelNode(&c, child, NULL, 0, &p);
    failed |= wrap_cuGraphAddChildGraphNode(&nest, g, &b, 1, child);
    failed |= wrap_cuGraphDestroy(child);
    v = 1000;
    failed |= wrap_cuGraphChildGraphNodeGetGraph(nest, &inside);
    failed |= wrap_cuGraphAddKernelNode(&d, inside, NULL, 0, &p);
    failed |= wrap_cuGraphInstantiateWithFlags(&x, g, 0);
    failed |= wrap_cuGraphClone(&clone, g);
    v = 2;
    failed |= wrap_cuGraphKernelNodeSetParams(a, &p);
    failed |= wrap_cuGraphInstantiateWithFlags(&y, g, 0);
    total += launched(y); /* 1112 */
    failed |= wrap_cuGraphDestroyNode(b);
    failed |= wrap_cuGraphDestroy(g);
    total += launched(x); /* 1111 */
    v = 5;
    failed |= wrap_cuGraphExecKernelNodeSetParams(x, a, &p);
    v = 6;
    failed |= wrap_cuGraphExecKernelNodeSetParams(x, a, &p);
    v = -1;
    total += launched(x); /* 1116 */
    failed |= wrap_cuStreamBeginCapture_v2(stream, 0);
    failed |= wrap_cuGraphLaunch(x, stream);
    v = 10000;
    failed |= wrap_cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&v}, NULL);
    v = -1;
    failed |= wrap_cuStreamEndCapture(stream, &made);
    failed |= wrap_cuGraphExecDestroy(x);
    failed |= wrap_cuGraphInstantiateWithFlags(&x, made, 0);
    failed |= wrap_cuGraphDestroy(made);
    total += launched(x); /* 11116 */
    cudaGraphExecUpdateResultInfo result;
    failed |= wrap_cuGraphExecUpdate_v2(y, clone, &result);
    failed |= wrap_cuGraphDestroy(clone);
    total += launched(y); /* 1111 */
    failed |= wrap_cuGraphExecDestroy(x);
    failed |= wrap_cuGraphExecDestroy(y);
    failed |= wrap_cuStreamBeginCapture_v2(stream, 0);
    failed |= wrap_cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&v}, NULL);
    invalidated = true;
    failed |= wrap_cuStreamEndCapture(stream, &made) != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return failed ? -1 : total;
}

/* What a node gave out stays where it is, and is written to and given back again and again. */
static bool kept(cudaGraph_t g, cudaGraphNode_t node)
{
    cudaKernelNodeParams p, again;
    cudaGraphExec_t x, y;
    cudaGraph_t clone;
    int failed = wrap_cuGraphKernelNodeGetParams(node, &p);
    void **given = p.params, *first = given[0];
    failed |= wrap_cuGraphInstantiateWithFlags(&x, g, 0);
    failed |= wrap_cuGraphClone(&clone, g);
    int before = *(int *)first;
    for (int i = 0; i < 100; i++) {
        int value = 100 + i;
        given[0] = &value;
        failed |= wrap_cuGraphKernelNodeSetParams(node, &p);
        failed |= given[0] != first || *(int *)first != value;
        given[0] = &value;
        value += 1000;
        failed |= wrap_cuGraphExecKernelNodeSetParams(x, node, &p);
        failed |= launched(x) != value;
        given[0] = first;
        *(int *)first = 7; /* not directly, CUDA says; it must do no harm */
        if (i % 10 == 0) {
            failed |= wrap_cuGraphInstantiateWithFlags(&y, g, 0);
            failed |= launched(y) != value - 1000;
            failed |= wrap_cuGraphExecDestroy(y);
        }
        failed |= wrap_cuGraphKernelNodeGetParams(node, &again);
        failed |= again.params != given || *(int *)given[0] != value - 1000;
    }
    failed |= wrap_cuGraphInstantiateWithFlags(&y, clone, 0);
    failed |= launched(y) != before;
    failed |= wrap_cuGraphExecDestroy(x) | wrap_cuGraphExecDestroy(y) | wrap_cuGraphDestroy(clone);
    return !failed;
}

static bool kept_everywhere(void)
{
    cudaGraph_t g, clone, inside;
    cudaGraphNode_t node, in_clone, nest, in_child;
    int v = 3;
    cudaKernelNodeParams p = call(&v);
    mu.muGraphCreate((MUgraph *)&g, 0);
    bool ok = !wrap_cuGraphAddKernelNode(&node, g, NULL, 0, &p) && kept(g, node) && !wrap_cuGraphClone(&clone, g) &&
              !mu.muGraphNodeFindInClone((MUgraphNode *)&in_clone, node, clone) && kept(clone, in_clone);
    ok = ok && !wrap_cuGraphAddChildGraphNode(&nest, clone, NULL, 0, g) &&
         !wrap_cuGraphChildGraphNodeGetGraph(nest, &inside) &&
         !mu.muGraphNodeFindInClone((MUgraphNode *)&in_child, node, inside) && kept(inside, in_child);
    return !wrap_cuGraphDestroy(g) && !wrap_cuGraphDestroy(clone) && ok;
}

int main(void)
{
    static const char text[] = HEAD ".visible .entry k(.param .u32 n)\n{\n ret;\n}\n";
    struct cumu_module *m = NULL;
    setenv("CUMU_JIT", "0", 1);
    install();
    check(wrap_cuModuleLoadData(&m, text) == 0 && wrap_cuModuleGetFunction(&kernel, m, "k") == 0, "module");
    check(cycle() == 1112 + 1111 + 1116 + 11116 + 1111, "every launch reads what its call was given");
    check(kept_everywhere(), "a node's arguments stay where they are");
    struct mallinfo2 before = mallinfo2();
    int bad = 0;
    for (int i = 0; i < 2000; i++)
        bad += (cycle() < 0) + (i % 100 == 0 && !kept_everywhere());
    struct mallinfo2 after = mallinfo2();
    check(bad == 0, "again and again");
    check(after.uordblks < before.uordblks + 65536, "nothing is kept but by malloc: %zd bytes",
          (ssize_t)after.uordblks - (ssize_t)before.uordblks);
    return check_end("kernel graph");
}
