/* Launches: from a CUDA kernel handle to muLaunchKernel. */
#include "core/trace.h"
#include "kernel/device.h"
#include "kernel/graph.h"
#include "kernel/jit.h"

#include <stdlib.h>
#include <string.h>

static struct cumu_event launch_event(const struct cumu_func *f, const struct cumu_launch *l, const char *note)
{
    struct cumu_event e = {.kind = CUMU_EVENT_KERNEL,
                           .library = "kernel",
                           .name = f->name,
                           .start = cumu_trace_now(),
                           .stream = l->stream,
                           .note = note,
                           .grid = {l->grid.x, l->grid.y, l->grid.z},
                           .block = {l->block.x, l->block.y, l->block.z},
                           .shared = l->shared};
    cumu_trace_stamp(&e);
    return e;
}

/* Which code of the kernel it is. */
static const char *code(const struct func_inst *i, MUfunction mf)
{
    return cumu_device_code() ? "tier musa" : mf == i->function ? "tier 0" : "tier 1";
}

static bool in_clusters(const struct cumu_launch *l) { return l->cluster[0] | l->cluster[1] | l->cluster[2]; }

int cumu_launch_below(MUfunction mf, unsigned shared, const struct cumu_launch *l, void **args, void **extra)
{
    MUstream stream = (MUstream)l->stream;
    if (in_clusters(l)) {
        MUlaunchAttribute attrs[] = {{.id = MU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                      .value.clusterDim = {l->cluster[0], l->cluster[1], l->cluster[2]}},
                                     {.id = MU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
        MUlaunchConfig c = {l->grid.x,  l->grid.y, l->grid.z, l->block.x, l->block.y,
                            l->block.z, shared,    stream,    attrs,      l->cooperative ? 2 : 1};
        return mu.muLaunchKernelEx(&c, mf, args, extra);
    }
    if (l->cooperative)
        return mu.muLaunchCooperativeKernel(mf, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z,
                                            shared, stream, args);
    return mu.muLaunchKernel(mf, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z, shared, stream,
                             args, extra);
}

/* Public code passes arguments to MUSA one by one only. */
static int launch_packed(const struct cumu_func *f, MUfunction mf, unsigned shared, const struct cumu_launch *l,
                         void **extra)
{
    void *few[32], **args = few;
    if (f->ptx->nparam > sizeof few / sizeof *few && !(args = malloc(f->ptx->nparam * sizeof *args)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = cumu_args_unpack(f->ptx, extra, args);
    if (!err)
        err = cumu_launch_below(mf, shared, l, args, NULL);
    if (args != few)
        free(args);
    return err;
}

static int launch_traced(const struct cumu_func *f, const struct func_inst *i, MUfunction mf, unsigned shared,
                         const struct cumu_launch *l, void **args, void **extra)
{
    struct cumu_event e = launch_event(f, l, code(i, mf));
    int value = 0;
    if (mu.muFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, mf) == MUSA_SUCCESS)
        e.registers = (unsigned)value;
    if (mu.muFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, mf) == MUSA_SUCCESS)
        e.local = (unsigned)value;
    if (mu.muFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, mf) == MUSA_SUCCESS)
        e.fixed = (unsigned)value;
    void *work = cumu_work_begin(l->stream);
    int err = cumu_launch_below(mf, shared, l, args, extra);
    cumu_work_end(work, &e, err != MUSA_SUCCESS);
    return err;
}

int cumu_launch_fits(const struct cumu_func *f, const struct func_inst *i, const struct cumu_launch *l)
{
    if (l->shared + f->front > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    enum { ANY_KERNEL = 1024 }; /* CUDA's limit */
    bool wide = l->block.x > ANY_KERNEL || l->block.y > ANY_KERNEL || l->block.z > ANY_KERNEL;
    unsigned threads = wide ? ANY_KERNEL + 1 : l->block.x * l->block.y * l->block.z; /* no product overflows */
    if (!i->most_threads || threads <= i->most_threads)
        return CUDA_SUCCESS;
    return threads > ANY_KERNEL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

bool cumu_clusters(void) { return cumu_claimed_cc() >= 90 && !cumu_device_code(); }

int cumu_func_clusters(struct cumu_func *f, bool *may)
{
    int arch = 0, err = CUDA_SUCCESS;
    *may = cumu_clusters();
    if (!*may && !cumu_device_code() && !(err = cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION, &arch)))
        *may = arch >= 90;
    return err;
}

static int refuse_clusters(struct cumu_func *f)
{
    bool may;
    int err = cumu_func_clusters(f, &may);
    if (err || may)
        return err;
    cumu_func_report(f, CUMU_GAP, "%s",
                     cumu_device_code() ? "MUSA devices know no thread block clusters"
                                        : "thread block clusters need PTX for 9.0 or CUMU_COMPUTE_CAPABILITY=9.0");
    return CUDA_ERROR_NOT_SUPPORTED;
}

int cumu_launch(struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra)
{
    struct func_inst *i;
    MUgraph g;
    int err = in_clusters(l) ? refuse_clusters(f) : CUDA_SUCCESS;
    if (err)
        return err;
    bool watched = atomic_load_explicit(&cumu_captures, memory_order_relaxed) != 0;
    if (watched && (g = cumu_capture_graph(l->stream, NULL)) != NULL) {
        struct cumu_event e = launch_event(f, l, "into a graph");
        if (cumu_tracing())
            cumu_trace_event(&e);
        return cumu_capture_launch(g, f, l, args, extra);
    }
    err = cumu_func_inst(f, &i);
    if (!err)
        err = cumu_launch_fits(f, i, l);
    if (err)
        return err;
    unsigned shared = (unsigned)l->shared + f->front;
    MUfunction mf = cumu_jit_function(f, i, l->block);
    if (extra && !args && cumu_device_code())
        return launch_packed(f, mf, shared, l, extra);
    return watched && cumu_trace_times_work() ? launch_traced(f, i, mf, shared, l, args, extra)
                                              : cumu_launch_below(mf, shared, l, args, extra);
}

int cumu_launch_attributes(struct cumu_launch *l, const cudaLaunchAttribute *attrs, unsigned n)
{
    if (n && !attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        const cudaLaunchAttribute *a = &attrs[i];
        switch (a->id) {
        case cudaLaunchAttributeCooperative: l->cooperative = a->val.cooperative != 0; break;
        case cudaLaunchAttributeClusterDimension:
            if (!a->val.clusterDim.x || !a->val.clusterDim.y || !a->val.clusterDim.z)
                return CUDA_ERROR_INVALID_CLUSTER_SIZE;
            if (cumu_clusters() || a->val.clusterDim.x * a->val.clusterDim.y * a->val.clusterDim.z > 1)
                memcpy(l->cluster, &a->val.clusterDim, sizeof l->cluster);
            break;
        default: /* priorities, caching and overlap: hints that change no result */ break;
        }
    }
    return CUDA_SUCCESS;
}
