/* Batched memory operations: checked as a whole, then handed to the library below one by one. */
#include "api/batch.h"

#include <string.h>

/* An operation's attributes: those of the last entry of `firsts` that is not above it. The entries begin
 * at 0 and ascend. */
static bool ascending(const size_t *firsts, size_t n, size_t count)
{
    if (!firsts || !n || n > count || firsts[0] != 0)
        return false;
    for (size_t i = 1; i < n; i++)
        if (firsts[i] <= firsts[i - 1] || firsts[i] >= count)
            return false;
    return true;
}

static bool order_known(int order, unsigned flags)
{
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
           !(flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
}

/* As documented, not the legacy stream. */
static bool stream_fits(CUstream s) { return s && s != CUMU_STREAM_LEGACY; }

/* Sources that may be gone after the call are read during it. */
static int finish(bool during_call, CUstream stream)
{
    return during_call ? mu.muStreamSynchronize((MUstream)stream) : MUSA_SUCCESS;
}

/* Batched copies as single ones, in order, on the stream: MUSA has no batches before SDK 5.2. All arguments are
 * checked before the first copy, as CUDA does, so that a refused batch has copied nothing; `fail` names the element.
 * */
int cumu_copy_batch(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                    const CUmemcpyAttributes *attrs, const size_t *firsts, size_t nattrs, size_t *fail, CUstream stream)
{
    size_t unused;
    fail = fail ? fail : &unused;
    *fail = SIZE_MAX;
    if (!dsts || !srcs || !sizes || !count || !attrs || !ascending(firsts, nattrs, count) || !stream_fits(stream))
        return CUDA_ERROR_INVALID_VALUE;
    bool during_call = false;
    for (size_t i = 0; i < nattrs; i++) {
        if (!order_known(attrs[i].srcAccessOrder, attrs[i].flags)) {
            *fail = firsts[i];
            return CUDA_ERROR_INVALID_VALUE;
        }
        during_call |= attrs[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    }
    for (size_t i = 0; i < count; i++)
        if (!dsts[i] || !srcs[i] || !sizes[i]) {
            *fail = i;
            return CUDA_ERROR_INVALID_VALUE;
        }
    for (size_t i = 0; i < count; i++) {
        int err = mu.muMemcpyAsync(dsts[i], srcs[i], sizes[i], (MUstream)stream);
        if (err) {
            *fail = i;
            return err;
        }
    }
    return finish(during_call, stream);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Bytes of an array's element, 0 if the array or its format is not known. */
static size_t element_size(MUarray array)
{
    static const struct {
        int format;
        unsigned char bytes;
    } formats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1}, {CU_AD_FORMAT_UNSIGNED_INT16, 2}, {CU_AD_FORMAT_UNSIGNED_INT32, 4},
                   {CU_AD_FORMAT_SIGNED_INT8, 1},   {CU_AD_FORMAT_SIGNED_INT16, 2},   {CU_AD_FORMAT_SIGNED_INT32, 4},
                   {CU_AD_FORMAT_HALF, 2},          {CU_AD_FORMAT_FLOAT, 4}};
    MUSA_ARRAY3D_DESCRIPTOR d;
    memset(&d, 0, sizeof d);
    if (mu.muArray3DGetDescriptor(&d, array))
        return 0;
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format == d.Format)
            return formats[i].bytes * d.NumChannels;
    return 0;
}

static bool operand_known(const CUmemcpy3DOperand *o)
{
    return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY || (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER && o->op.ptr.ptr);
}

/* Element of the box: that of its arrays, which agree; else a byte. 0: no such box. */
static size_t box_element(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    if (!operand_known(&op->src) || !operand_known(&op->dst) || !op->width || !op->height || !op->depth ||
        !order_known(op->srcAccessOrder, op->flags))
        return 0;
    bool from = op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
    bool to = op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
    size_t a = from ? element_size(op->src.op.array.array) : 1;
    size_t b = to ? element_size(op->dst.op.array.array) : 1;
    return from && to && a != b ? 0 : from ? a : b;
}

/* One end of a box, whichever: the two ends of MUSA_MEMCPY3D have the same fields by other names. */
struct box_end {
    MUmemorytype type;
    MUarray array;
    MUdeviceptr pointer;
    size_t x, y, z, pitch, height;
};

static bool box_end(struct box_end *e, const CUmemcpy3DOperand *o, const CUDA_MEMCPY3D_BATCH_OP *op, size_t element)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        *e = (struct box_end){
            .type = CU_MEMORYTYPE_ARRAY, .array = o->op.array.array, .y = o->op.array.y, .z = o->op.array.z};
        return !__builtin_mul_overflow(o->op.array.x, element, &e->x);
    }
    size_t row = o->op.ptr.rowLength ? o->op.ptr.rowLength : op->width;
    *e = (struct box_end){.type = CU_MEMORYTYPE_UNIFIED,
                          .pointer = o->op.ptr.ptr,
                          .height = o->op.ptr.layerHeight ? o->op.ptr.layerHeight : op->height};
    return !__builtin_mul_overflow(row, element, &e->pitch);
}

/* One box of a 3-D batch, as the driver's 3-D copy. */
static int copy_box(const CUDA_MEMCPY3D_BATCH_OP *op, size_t element, CUstream stream)
{
    struct box_end from, to;
    size_t width;
    if (!box_end(&from, &op->src, op, element) || !box_end(&to, &op->dst, op, element) ||
        __builtin_mul_overflow(op->width, element, &width))
        return CUDA_ERROR_INVALID_VALUE;
    MUSA_MEMCPY3D m;
    memset(&m, 0, sizeof m);
    m.WidthInBytes = width;
    m.Height = op->height;
    m.Depth = op->depth;
    m.srcMemoryType = from.type;
    m.srcArray = from.array;
    m.srcDevice = from.pointer;
    m.srcXInBytes = from.x;
    m.srcY = from.y;
    m.srcZ = from.z;
    m.srcPitch = from.pitch;
    m.srcHeight = from.height;
    m.dstMemoryType = to.type;
    m.dstArray = to.array;
    m.dstDevice = to.pointer;
    m.dstXInBytes = to.x;
    m.dstY = to.y;
    m.dstZ = to.z;
    m.dstPitch = to.pitch;
    m.dstHeight = to.height;
    return mu.muMemcpy3DAsync_v2(&m, (MUstream)stream);
}

int cumu_copy3d_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags,
                      CUstream stream)
{
    size_t unused;
    bool during_call = false;
    fail = fail ? fail : &unused;
    *fail = SIZE_MAX;
    if (!count || !ops || flags || !stream_fits(stream))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (!box_element(&ops[i])) {
            *fail = i;
            return CUDA_ERROR_INVALID_VALUE;
        }
        during_call |= ops[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    }
    for (size_t i = 0; i < count; i++) {
        int err = copy_box(&ops[i], box_element(&ops[i]), stream);
        if (err) {
            *fail = i;
            return err;
        }
    }
    return finish(during_call, stream);
}

/* ---- managed ranges -------------------------------------------------------------------------- */

int cumu_range_batch(unsigned what, const CUdeviceptr *ptrs, const size_t *sizes, size_t count,
                     const CUmemLocation *locs, const size_t *firsts, size_t nlocs, unsigned long long flags,
                     CUstream stream)
{
    if (!ptrs || !sizes || !count || flags || !stream_fits(stream))
        return CUDA_ERROR_INVALID_VALUE;
    if (what & CUMU_PREFETCH) {
        if (!locs || !ascending(firsts, nlocs, count))
            return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < nlocs; i++)
            if (locs[i].type < CU_MEM_LOCATION_TYPE_DEVICE || locs[i].type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
                return CUDA_ERROR_INVALID_VALUE;
    }
    /* What is discarded may keep what it holds; that it is managed memory is checked here. */
    for (size_t i = 0; i < count; i++) {
        int advice = 0;
        int err = mu.muMemRangeGetAttribute(&advice, sizeof advice, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, ptrs[i],
                                            sizes[i]);
        if (err)
            return err;
    }
    for (size_t i = 0, at = 0; i < count && what & CUMU_PREFETCH; i++) {
        if (at + 1 < nlocs && firsts[at + 1] == i)
            at++;
        int device = locs[at].type == CU_MEM_LOCATION_TYPE_DEVICE ? locs[at].id : -1; /* the CPU */
        int err = mu.muMemPrefetchAsync(ptrs[i], sizes[i], device, (MUstream)stream);
        if (err)
            return err;
    }
    return CUDA_SUCCESS;
}

/* ---- pools of a location --------------------------------------------------------------------- */

static int pool_location(const CUmemLocation *where, int type)
{
    if (!where || where->type < CU_MEM_LOCATION_TYPE_DEVICE || where->type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
        type < CU_MEM_ALLOCATION_TYPE_PINNED || type > CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    /* The attributes say that the host has no pools and that managed memory comes from none. */
    return where->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_SUPPORTED;
}

int cumu_location_pool(MUmemoryPool *pool, const CUmemLocation *where, int type, bool current)
{
    int err = pool ? pool_location(where, type) : CUDA_ERROR_INVALID_VALUE;
    if (err)
        return err;
    return current ? mu.muDeviceGetMemPool(pool, where->id) : mu.muDeviceGetDefaultMemPool(pool, where->id);
}

int cumu_set_location_pool(const CUmemLocation *where, int type, MUmemoryPool pool)
{
    int err = pool_location(where, type);
    return err ? err : mu.muDeviceSetMemPool(where->id, pool);
}
