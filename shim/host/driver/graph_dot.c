/* A graph as Graphviz text, for people. */
#include <errno.h>
#include <stdio.h>

#include "host/driver/graph.h"

static const char *const names[] = {
    [MU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
    [MU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
    [MU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
    [MU_GRAPH_NODE_TYPE_HOST] = "HOST",
    [MU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
    [MU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
    [MU_GRAPH_NODE_TYPE_WAIT_EVENT] = "WAIT_EVENT",
    [MU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
    [MU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
    [MU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
    [MU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP",
    [MU_GRAPH_NODE_TYPE_CONDITIONAL] = "CONDITIONAL",
};

/* What a node's box says beside its type. */
static void details(FILE *f, const struct MUgraphNode_st *n, bool verbose)
{
    const MUgraphNodeParams *p = &n->p;
    const MUSA_KERNEL_NODE_PARAMS *k = &p->kernel.v1;
    const MUSA_MEMCPY3D *m = &p->memcpy.copyParams;
    const MUSA_MEMSET_NODE_PARAMS *s = &p->memset.v1;
    switch (p->type) {
    case MU_GRAPH_NODE_TYPE_KERNEL:
        fprintf(f, "\\n%s", host_function_live(k->func) ? k->func->info.name : "(unloaded)");
        if (verbose)
            fprintf(f, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", k->gridDimX, k->gridDimY, k->gridDimZ, k->blockDimX,
                    k->blockDimY, k->blockDimZ, k->sharedMemBytes);
        break;
    case MU_GRAPH_NODE_TYPE_MEMCPY:
        if (verbose)
            fprintf(f, "\\n%zu x %zu x %zu bytes", m->WidthInBytes, m->Height, m->Depth);
        break;
    case MU_GRAPH_NODE_TYPE_MEMSET:
        if (verbose)
            fprintf(f, "\\n%zu x %zu, element %u, value %u", s->width, s->height, s->elementSize, s->value);
        break;
    case MU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (verbose)
            fprintf(f, "\\n%zu bytes", p->alloc.bytesize);
        break;
    default: break;
    }
}

static void print(FILE *f, MUgraph g, const char *kind, bool verbose)
{
    fprintf(f, "%s \"graph_%p\" {\n", kind, (void *)g);
    for (MUgraphNode n = g->first; n; n = n->next) {
        fprintf(f, "\"node_%p\" [shape=\"record\" label=\"%s", (void *)n, names[n->p.type]);
        details(f, n, verbose);
        fprintf(f, "\"];\n");
        for (unsigned i = 0; i < n->bodies; i++)
            print(f, n->body[i], "subgraph", verbose);
    }
    for (MUgraphNode n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->out.n; i++)
            fprintf(f, "\"node_%p\" -> \"node_%p\";\n", (void *)n, (void *)n->out.at[i].node);
    fprintf(f, "}\n");
}

static MUresult print_file(MUgraph g, const char *path, unsigned flags)
{
    if (!graph_live(g) || !path)
        return MUSA_ERROR_INVALID_VALUE;
    FILE *f = fopen(path, "we");
    if (!f)
        return errno == ENOENT ? MUSA_ERROR_FILE_NOT_FOUND : MUSA_ERROR_OPERATING_SYSTEM;
    print(f, g, "digraph", flags != 0);
    bool bad = ferror(f) != 0;
    return fclose(f) || bad ? MUSA_ERROR_OPERATING_SYSTEM : MUSA_SUCCESS;
}

MUresult muGraphDebugDotPrint(MUgraph g, const char *path, unsigned int flags)
{
    GRAPH_ENTRY(print_file(g, path, flags));
}
