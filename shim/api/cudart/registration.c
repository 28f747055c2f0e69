/* What compiled host code calls at start-up and around a launch: the __cuda* functions. In which order, and what is
 * not passed: mapping/facts/cuda.md R1 to R6. */
#include "api/api.h"

/* A program cannot go on without a handle, so registration never fails visibly; kernels then do. */
void **wrap___cudaRegisterFatBinary(void *wrapper) { return (void **)cumu_module_register(wrapper); }

void wrap___cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

void wrap___cudaUnregisterFatBinary(void **handle)
{
    struct cumu_module *m = cumu_as_module(handle);
    if (m)
        cumu_unregister(m);
}

void wrap___cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int thread_limit,
                                 void *tid, void *bid, void *block, void *grid, int *warp_size)
{
    struct cumu_module *m = cumu_as_module(handle);
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
    if (m)
        cumu_register_func(m, host, name);
}

void wrap___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size,
                            int constant, int global)
{
    struct cumu_module *m = cumu_as_module(handle);
    (void)device, (void)ext, (void)constant, (void)global;
    if (m)
        cumu_register_var(m, host, NULL, name, size);
}

void wrap___cudaRegisterManagedVar(void **handle, void **pointer_at, char *device, const char *name, int ext,
                                   size_t size, int constant, int global)
{
    struct cumu_module *m = cumu_as_module(handle);
    (void)device, (void)ext, (void)constant, (void)global;
    if (m)
        cumu_register_var(m, pointer_at, pointer_at, name, size);
}

/* Variables of the host that kernels may use by name: pageable memory is not visible to devices. */
void wrap___cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
    (void)handle, (void)host, (void)size;
    cumu_gap("cudart", "__cudaRegisterHostVar", "host variable %s is not visible to kernels", name ? name : "?");
}

cudaError_t wrap___cudaRegisterUnifiedTable(void **handle, void *table)
{
    (void)handle, (void)table; /* functions callable from both sides: the host needs nothing */
    return cudaSuccess;
}

char wrap___cudaInitModule(void **handle)
{
    struct cumu_module *m = cumu_as_module(handle);
    int err = m ? cumu_managed_init(m) : CUDA_ERROR_INVALID_HANDLE;
    cumu_set_error(err);
    return err == CUDA_SUCCESS;
}

/* ---- launch configuration ------------------------------------------------------------------- */

/* A launch in a launch's argument list pushes before the outer one is popped, hence a stack. */
enum { DEPTH = 64 };
static __thread struct {
    unsigned n;
    struct cumu_launch at[DEPTH];
} pushed;

unsigned wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream stream)
{
    if (pushed.n == DEPTH) {
        cumu_set_error(cudaErrorMemoryAllocation);
        return cudaErrorMemoryAllocation;
    }
    pushed.at[pushed.n++] = (struct cumu_launch){.grid = grid, .block = block, .shared = shared, .stream = stream};
    return 0;
}

cudaError_t wrap___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (pushed.n == 0)
        return CUMU_RT(cudaErrorMissingConfiguration);
    const struct cumu_launch *l = &pushed.at[--pushed.n];
    if (grid)
        *grid = l->grid;
    if (block)
        *block = l->block;
    if (shared)
        *shared = l->shared;
    if (stream)
        *(CUstream *)stream = l->stream;
    return cudaSuccess;
}

cudaError_t wrap___cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    struct cumu_func *f = cumu_host_func(host);
    if (!kernel)
        return CUMU_BAD_ARG;
    if (!f)
        return CUMU_RT(cudaErrorInvalidDeviceFunction);
    *kernel = f;
    return cudaSuccess;
}
