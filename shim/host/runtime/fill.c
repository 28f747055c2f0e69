/* Fills of linear memory in one, two and three dimensions. */
#include "host/runtime/rt.h"

musaError_t musaMemset(void *p, int value, size_t n)
{
    RETURN_END(n ? muMemsetD8(rt_dev(p), (unsigned char)value, n) : MUSA_SUCCESS);
}

musaError_t musaMemsetAsync(void *p, int value, size_t n, musaStream_t stream)
{
    RETURN_END(n ? muMemsetD8Async(rt_dev(p), (unsigned char)value, n, stream) : MUSA_SUCCESS);
}

musaError_t musaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
    RETURN_END(width && height ? muMemsetD2D8(rt_dev(p), pitch, (unsigned char)value, width, height)
                               : MUSA_SUCCESS);
}

musaError_t musaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                              musaStream_t stream)
{
    RETURN_END(width && height ? muMemsetD2D8Async(rt_dev(p), pitch, (unsigned char)value, width,
                                                   height, stream)
                               : MUSA_SUCCESS);
}

/* Layers lie pitch * ysize apart; where the extent has whole layers, all rows are one 2D fill. */
static MUresult fill_3d(musaPitchedPtr p, int value, musaExtent e, bool async, musaStream_t stream)
{
    if (!e.width || !e.height || !e.depth)
        return MUSA_SUCCESS;
    if (e.depth > 1 && e.height > p.ysize)
        return MUSA_ERROR_INVALID_VALUE;
    bool whole = e.height == p.ysize || e.depth == 1;
    size_t rows = whole ? e.height * e.depth : e.height, layers = whole ? 1 : e.depth;
    MUresult r = MUSA_SUCCESS;
    for (size_t z = 0; z < layers && !r; z++) {
        MUdeviceptr at = rt_dev(p.ptr) + z * p.pitch * p.ysize;
        r = async ? muMemsetD2D8Async(at, p.pitch, (unsigned char)value, e.width, rows, stream)
                  : muMemsetD2D8(at, p.pitch, (unsigned char)value, e.width, rows);
    }
    return r;
}

musaError_t musaMemset3D(musaPitchedPtr p, int value, musaExtent extent)
{
    RETURN_END(fill_3d(p, value, extent, false, NULL));
}

musaError_t musaMemset3DAsync(musaPitchedPtr p, int value, musaExtent extent, musaStream_t stream)
{
    RETURN_END(fill_3d(p, value, extent, true, stream));
}
