/* Launches: from a CUDA kernel handle to muLaunchKernel. */
#include "kernel/graph.h"
#include "kernel/jit.h"

int cumu_launch(struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra)
{
    struct func_inst *i;
    MUgraph g;
    if (atomic_load_explicit(&cumu_captures, memory_order_relaxed) &&
        (g = cumu_capture_graph(l->stream, NULL)) != NULL)
        return cumu_capture_launch(g, f, l, args, extra);
    int err = cumu_func_inst(f, &i);
    if (err)
        return err;
    if (l->shared > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    MUstream stream = (MUstream)l->stream;
    MUfunction mf = cumu_jit_function(f, i, l->grid, l->block);
    if (l->cooperative)
        return mu.muLaunchCooperativeKernel(mf, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y,
                                            l->block.z, (unsigned)l->shared, stream, args);
    return mu.muLaunchKernel(mf, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z,
                             (unsigned)l->shared, stream, args, extra);
}

int cumu_launch_attributes(struct cumu_launch *l, const cudaLaunchAttribute *attrs, unsigned n)
{
    if (n && !attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        const cudaLaunchAttribute *a = &attrs[i];
        switch (a->id) {
        case cudaLaunchAttributeCooperative:
            l->cooperative = a->val.cooperative != 0;
            break;
        case cudaLaunchAttributeClusterDimension:
            if (a->val.clusterDim.x * a->val.clusterDim.y * a->val.clusterDim.z > 1) {
                cumu_gap("kernel", "cluster", "thread block clusters are not supported");
                return CUDA_ERROR_NOT_SUPPORTED;
            }
            break;
        default: /* priorities, caching and overlap: hints that change no result */
            break;
        }
    }
    return CUDA_SUCCESS;
}
