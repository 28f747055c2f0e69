/* Occupancy: how many blocks of a kernel one multiprocessor of the device, as its attributes
 * describe it, would hold. */
#include "host/driver/kernel.h"

#define WARP 32u
#define LARGEST 160u /* multiprocessors; a B300 has as many */

static unsigned attribute(MUfunction f, int which)
{
    int value = host_device_attribute(f->module->ctx->device, which);
    return value > 0 ? (unsigned)value : 0;
}

static unsigned lesser(unsigned a, unsigned b) { return a < b ? a : b; }

/* Without regard to registers. */
static unsigned fit_without_registers(MUfunction f, unsigned warps, size_t dynamic_shared)
{
    unsigned fit = attribute(f, MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * WARP);
    unsigned blocks = attribute(f, MU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    if (blocks)
        fit = lesser(fit, blocks);
    size_t shared = f->info.shared_size + dynamic_shared;
    if (shared)
        fit = lesser(fit, (unsigned)(attribute(f, MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared));
    return fit;
}

int host_occupancy(MUfunction f, unsigned threads, size_t dynamic_shared)
{
    unsigned warps = (threads + WARP - 1) / WARP;
    if (!warps || threads > f->info.max_threads || dynamic_shared > (size_t)host_function_max_dynamic(f))
        return 0;
    unsigned fit = fit_without_registers(f, warps, dynamic_shared);
    unsigned regs = attribute(f, MU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    if (regs && f->info.num_regs) /* a kernel that has a block size at all can be compiled to fit it once */
        fit = lesser(fit, regs / (f->info.num_regs * warps * WARP) ? regs / (f->info.num_regs * warps * WARP) : 1);
    return (int)fit;
}

uint64_t host_resident(MUfunction f, unsigned threads, size_t dynamic_shared)
{
    return (uint64_t)host_occupancy(f, threads, dynamic_shared) *
           (uint64_t)host_multiprocessors(f->module->ctx->device);
}

/* How many registers a device's compiler would give is not known, so they do not limit it. */
uint64_t host_resident_most(MUfunction f, unsigned threads, size_t dynamic_shared)
{
    unsigned fit = fit_without_registers(f, (threads + WARP - 1) / WARP, dynamic_shared);
    return (uint64_t)LARGEST * (fit ? fit : 1);
}

static MUresult enter(MUfunction f)
{
    MUresult r = host_enter(NULL);
    return r ? r : host_function_live(f) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_HANDLE;
}

MUresult muOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, MUfunction f, int block_size,
                                                              size_t dynamic_shared, unsigned int flags)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!blocks || block_size <= 0 || flags > MU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return MUSA_ERROR_INVALID_VALUE;
    *blocks = host_occupancy(f, (unsigned)block_size, dynamic_shared);
    return MUSA_SUCCESS;
}

MUresult muOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, MUfunction f, int block_size, size_t dynamic_shared)
{
    return muOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block_size, dynamic_shared, 0);
}

/* The block size with the most resident threads; the largest one among equals. */
MUresult muOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size, MUfunction f,
                                                   MUoccupancyB2DSize dynamic_shared_of, size_t dynamic_shared,
                                                   int block_limit, unsigned int flags)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!min_grid || !block_size || flags > MU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return MUSA_ERROR_INVALID_VALUE;
    unsigned limit = lesser(f->info.max_threads, attribute(f, MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    if (block_limit > 0)
        limit = lesser(limit, (unsigned)block_limit);
    unsigned best = 0, best_size = 0, best_blocks = 0;
    for (unsigned size = limit; size; size = size % WARP ? size - size % WARP : size - WARP) {
        size_t shared = dynamic_shared_of ? dynamic_shared_of((int)size) : dynamic_shared;
        unsigned blocks = (unsigned)host_occupancy(f, size, shared);
        if (blocks * size > best) {
            best = blocks * size;
            best_size = size;
            best_blocks = blocks;
        }
    }
    *block_size = (int)best_size;
    *min_grid = (int)(best_blocks * attribute(f, MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    return MUSA_SUCCESS;
}

MUresult muOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, MUfunction f,
                                          MUoccupancyB2DSize dynamic_shared_of, size_t dynamic_shared, int block_limit)
{
    return muOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, f, dynamic_shared_of, dynamic_shared,
                                                     block_limit, 0);
}

MUresult muOccupancyAvailableDynamicSMemPerBlock(size_t *size, MUfunction f, int blocks, int block_size)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!size || blocks <= 0 || block_size <= 0)
        return MUSA_ERROR_INVALID_VALUE;
    if (host_occupancy(f, (unsigned)block_size, 0) < blocks) {
        *size = 0;
        return MUSA_SUCCESS;
    }
    size_t share = attribute(f, MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / (unsigned)blocks;
    size_t most = (size_t)host_function_max_dynamic(f);
    share = share > f->info.shared_size ? share - f->info.shared_size : 0;
    *size = share < most ? share : most;
    return MUSA_SUCCESS;
}
