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
    RETURN_END(width && height ? muMemsetD2D8(rt_dev(p), pitch, (unsigned char)value, width, height) : MUSA_SUCCESS);
}

musaError_t musaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height, musaStream_t stream)
{
    RETURN_END(width && height ? muMemsetD2D8Async(rt_dev(p), pitch, (unsigned char)value, width, height, stream)
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
    size_t rows = e.height, layers = whole ? 1 : e.depth, slice, end;
    if (__builtin_mul_overflow(p.pitch, p.ysize, &slice) || __builtin_mul_overflow(slice, e.depth, &end) ||
        (whole && __builtin_mul_overflow(e.height, e.depth, &rows)))
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = MUSA_SUCCESS;
    /* The last layer first: where that one lies outside, nothing is written. */
    for (size_t z = layers; z-- > 0 && !r;) {
        MUdeviceptr at = rt_dev(p.ptr) + z * slice;
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
