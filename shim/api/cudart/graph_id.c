/* Numbers of graphs and nodes (CUDA 13.1), for tools; and handles of conditions in a named context. */
#include "api/api.h"
#include "api/green.h"
#include "core/ids.h"
#include "core/resolve.h"

static cudaError_t number(int err, const void *handle, unsigned *out)
{
    if (err)
        return err;
    if (!out)
        return CUMU_BAD_ARG;
    uint64_t id = cumu_id_of(handle);
    if (id)
        *out = (unsigned)id;
    return id ? cudaSuccess : CUMU_RT(cudaErrorMemoryAllocation);
}

cudaError_t wrap_cudaGraphGetId(void *graph, unsigned *id)
{
    size_t n = 0;
    return number(mu.musaGraphGetNodes(graph, NULL, &n), graph, id);
}

cudaError_t wrap_cudaGraphExecGetId(void *exec, unsigned *id)
{
    unsigned long long flags;
    /* An SDK without flags: the handle is taken at its word. */
    int err = exec && !cumu_mu_has("musaGraphExecGetFlags") && cumu_mu_has("musaGraphExecDestroy")
                  ? musaSuccess
                  : mu.musaGraphExecGetFlags(exec, &flags);
    return number(err, exec, id);
}

/* Unique in the process, and so in the graph. */
cudaError_t wrap_cudaGraphNodeGetLocalId(void *node, unsigned *id)
{
    int type;
    return number(mu.musaGraphNodeGetType(node, (void *)&type), node, id);
}

cudaError_t wrap_cudaGraphNodeGetToolsId(void *node, unsigned long long *id)
{
    unsigned local = 0;
    if (!id)
        return CUMU_BAD_ARG;
    cudaError_t err = wrap_cudaGraphNodeGetLocalId(node, &local);
    if (!err)
        *id = local;
    return err;
}

cudaError_t wrap_cudaGraphConditionalHandleCreate_v2(unsigned long long *handle, void *graph, void *ctx, unsigned value,
                                                     unsigned flags)
{
    if (ctx && !cumu_as_green(ctx))
        return CUMU_RT(cudaErrorInvalidResourceHandle);
    return mu.musaGraphConditionalHandleCreate((void *)handle, graph, value, flags);
}
