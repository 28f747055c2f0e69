/* Tensor maps, in a form of our own (ptx/lir/tensor_map.h) that only the CPU back end's copies read. Arguments are
 * checked as the driver API's documentation of each function lists them. */
#include <string.h>

#include "api/api.h"
#include "kernel/device.h"
#include "ptx/lir/tensor_map.h"

enum { MAP_BYTES = 128, MAP_ALIGN = 64 };
enum { INTERLEAVE_NONE, INTERLEAVE_16B, INTERLEAVE_32B };

struct request { /* what all forms of a map say */
    void *map;
    int type;
    unsigned rank, least;
    void *address;
    const uint64_t *dim, *stride;
    const unsigned *estride;
    int interleave, swizzle, l2, fill;
};

static bool is_float(int type)
{
    return type == LIR_TMAP_F16 || type == LIR_TMAP_BF16 || (type >= LIR_TMAP_F32 && type <= LIR_TMAP_TF32_FTZ);
}

static bool is_padded(int type) { return type == LIR_TMAP_U4X16_P64 || type == LIR_TMAP_U6X16_P32; }

/* An address of 0 is one, too: programs that write the address on the device begin with it (CUTLASS's groups). */
static bool check_common(const struct request *r)
{
    const unsigned align = r->interleave == INTERLEAVE_32B || is_padded(r->type) ? 32 : 16;
    if (!r->map || (uintptr_t)r->map % MAP_ALIGN || r->type < 0 || r->type >= LIR_TMAP_TYPES || r->rank < r->least ||
        r->rank > LIR_TMAP_RANK || (uintptr_t)r->address % align || !r->dim || !r->estride ||
        (r->rank > 1 && !r->stride))
        return false;
    if (r->interleave < 0 || r->interleave > INTERLEAVE_32B || r->swizzle < 0 || r->swizzle >= LIR_TMAP_SWIZZLES ||
        r->l2 < 0 || r->l2 > 3 || r->fill < 0 || r->fill > 1 || (r->interleave && r->rank < 3) ||
        (r->interleave == INTERLEAVE_32B && r->swizzle != LIR_TMAP_32B) || (r->fill && !is_float(r->type)))
        return false;
    for (unsigned k = 0; k < r->rank; k++)
        if (!r->dim[k] || r->dim[k] > (uint64_t)1 << 32 || !r->estride[k] || r->estride[k] > 8)
            return false;
    for (unsigned k = 0; k + 1 < r->rank; k++)
        if (r->stride[k] % align || r->stride[k] >= (uint64_t)1 << 40)
            return false;
    return !(is_padded(r->type) && r->dim[0] % 128) && !(r->type == LIR_TMAP_U4X16 && r->dim[0] % 2);
}

/* Bytes of the box's innermost line in shared memory: whole units of 16, and no more than the swizzle knows. */
static bool check_line(const struct request *r, unsigned elements)
{
    const struct lir_tmap_unit u = lir_tmap_unit((unsigned)r->type);
    const unsigned bytes = elements / u.elements * u.shared, span = lir_tmap_span((unsigned)r->swizzle);
    if (elements % u.elements || (is_padded(r->type) && elements != 128 && elements != 64))
        return false;
    if (is_padded(r->type) && r->swizzle != LIR_TMAP_PLAIN && r->swizzle != LIR_TMAP_128B &&
        r->swizzle != LIR_TMAP_128B_ATOM_32B && r->swizzle != LIR_TMAP_128B_ATOM_64B)
        return false;
    return r->interleave || (bytes && bytes % 16 == 0 && (!span || bytes <= span));
}

/* The pixels of a column, and the channels of each. */
static bool check_column(const struct request *r, unsigned channels, unsigned pixels)
{
    return channels && channels <= 256 && pixels && pixels <= 1024 && check_line(r, channels);
}

static struct lir_tmap start(const struct request *r)
{
    struct lir_tmap m = {.magic = LIR_TMAP_MAGIC,
                         .type = (uint8_t)r->type,
                         .rank = (uint8_t)r->rank,
                         .interleave = (uint8_t)r->interleave,
                         .swizzle = (uint8_t)r->swizzle,
                         .nan_fill = (uint8_t)r->fill,
                         .address = (uint64_t)(uintptr_t)r->address};
    for (unsigned k = 0; k < LIR_TMAP_RANK; k++) {
        m.dim[k] = k < r->rank ? (uint32_t)r->dim[k] : 1;
        m.box[k] = 1;
        m.estride[k] = k && k < r->rank ? (uint8_t)r->estride[k] : 1; /* the first is not looked at */
        if (k + 1 < r->rank)
            m.stride[k] = r->stride[k];
    }
    return m;
}

static CUresult finish(const struct request *r, const struct lir_tmap *m, const char *function)
{
    if (cumu_device_code()) {
        cumu_gap("driver", function, "tensor maps: MUSA devices have descriptors of another form");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (r->interleave) {
        cumu_gap("driver", function, "tensor maps with interleaved layouts");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    memset(r->map, 0, MAP_BYTES);
    memcpy(r->map, m, sizeof *m);
    return CUDA_SUCCESS;
}

CUresult wrap_cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const void *dim,
                                     const void *stride, const void *box, const void *estride, int interleave,
                                     int swizzle, int l2, int fill)
{
    const struct request r = {map, type, rank, 1, address, dim, stride, estride, interleave, swizzle, l2, fill};
    const unsigned *size = box;
    if (!check_common(&r) || !box)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < rank; k++)
        if (!size[k] || size[k] > 256)
            return CUDA_ERROR_INVALID_VALUE;
    if (!check_line(&r, size[0]))
        return CUDA_ERROR_INVALID_VALUE;
    struct lir_tmap m = start(&r);
    for (unsigned k = 0; k < rank; k++)
        m.box[k] = (uint16_t)size[k];
    return finish(&r, &m, "cuTensorMapEncodeTiled");
}

CUresult wrap_cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const void *dim,
                                      const void *stride, const void *lower, const void *upper, unsigned channels,
                                      unsigned pixels, const void *estride, int interleave, int swizzle, int l2,
                                      int fill)
{
    static const int bits[] = {[3] = 15, [4] = 7, [5] = 4}; /* of a corner's coordinate, beside its sign */
    const struct request r = {map, type, rank, 3, address, dim, stride, estride, interleave, swizzle, l2, fill};
    const int *low = lower, *high = upper;
    if (!check_common(&r) || !low || !high || !check_column(&r, channels, pixels))
        return CUDA_ERROR_INVALID_VALUE;
    struct lir_tmap m = start(&r);
    m.mode = LIR_TMAP_IM2COL;
    m.channels = (uint16_t)channels;
    m.pixels = (uint16_t)pixels;
    for (unsigned k = 0; k < rank - 2; k++) {
        const int most = 1 << bits[rank];
        if (low[k] < -most || low[k] >= most || high[k] < -most || high[k] >= most)
            return CUDA_ERROR_INVALID_VALUE;
        m.lower[k] = (int16_t)low[k];
        m.upper[k] = (int16_t)high[k];
    }
    return finish(&r, &m, "cuTensorMapEncodeIm2col");
}

CUresult wrap_cuTensorMapEncodeIm2colWide(void *map, int type, unsigned rank, void *address, const void *dim,
                                          const void *stride, int lower, int upper, unsigned channels, unsigned pixels,
                                          const void *estride, int interleave, int mode, int swizzle, int l2, int fill)
{
    enum { MOST = 1 << 15 };
    const struct request r = {map, type, rank, 3, address, dim, stride, estride, interleave, swizzle, l2, fill};
    if (!check_common(&r) || interleave || mode < 0 || mode > 1 || lower < -MOST || lower >= MOST || upper < -MOST ||
        upper >= MOST || swizzle < LIR_TMAP_64B || !check_column(&r, channels, pixels))
        return CUDA_ERROR_INVALID_VALUE;
    struct lir_tmap m = start(&r);
    m.mode = mode ? LIR_TMAP_IM2COL_W128 : LIR_TMAP_IM2COL_W;
    m.channels = (uint16_t)channels;
    m.pixels = mode ? 128 : (uint16_t)pixels;
    m.lower[0] = (int16_t)lower;
    m.upper[0] = (int16_t)upper;
    return finish(&r, &m, "cuTensorMapEncodeIm2colWide");
}

CUresult wrap_cuTensorMapReplaceAddress(void *map, void *address)
{
    struct lir_tmap m;
    if (!map || (uintptr_t)map % MAP_ALIGN || !address || (uintptr_t)address % 16)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, map, sizeof m);
    if (m.magic != LIR_TMAP_MAGIC || (is_padded(m.type) && (uintptr_t)address % 32))
        return CUDA_ERROR_INVALID_VALUE;
    m.address = (uint64_t)(uintptr_t)address;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}
