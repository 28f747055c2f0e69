/* Batched copies, prefetches and discards in all their signatures, pools of locations, atomic capabilities,
 * notifications. */
#include <stdint.h>
#include "snippet.h"

enum { N = 3, BYTES = 64 };

/* Fills sources, clears targets. */
static void refill(unsigned char *src, unsigned char *dst)
{
    for (int i = 0; i < N * BYTES; i++)
        src[i] = (unsigned char)(i + 1);
    memset(dst, 0, N * BYTES);
}

static void copies(unsigned char *src, unsigned char *dst, cudaStream_t s)
{
    CUdeviceptr d[N], f[N];
    size_t sizes[N], first[2] = {0, 1}, fail = 7;
    CUmemcpyAttributes attrs[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                                   {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL}};
    for (int i = 0; i < N; i++) {
        d[i] = (CUdeviceptr)(uintptr_t)(dst + i * BYTES);
        f[i] = (CUdeviceptr)(uintptr_t)(src + i * BYTES);
        sizes[i] = BYTES;
    }
    void **dv = (void **)d, **fv = (void **)f;
    const void **dc = (const void **)d, **fc = (const void **)f;
#define COPIED(call) \
    refill(src, dst); \
    OK(call); \
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)()); \
    EXPECT(memcmp(src, dst, N *BYTES) == 0)
    COPIED(C(cuMemcpyBatchAsync)(d, f, sizes, N, attrs, first, 2, &fail, s));
    COPIED(C(cuMemcpyBatchAsync_ptsz)(d, f, sizes, N, attrs, first, 1, NULL, NULL));
    COPIED(C(cuMemcpyBatchAsync_v2)(d, f, sizes, N, attrs, first, 2, s));
    COPIED(C(cuMemcpyBatchAsync_v2_ptsz)(d, f, sizes, N, attrs, first, 2, NULL));
    COPIED(C(cudaMemcpyBatchAsync)(dc, fc, sizes, N, attrs, first, 2, s));
    COPIED(C(cudaMemcpyBatchAsync_ptsz)(dc, fc, sizes, N, attrs, first, 2, NULL));
    COPIED(V(12, cudaMemcpyBatchAsync)(dv, fv, sizes, N, attrs, first, 2, &fail, s));
    COPIED(((__typeof__(wrap_cudaMemcpyBatchAsync_v12_ptsz) *)snippet_versioned(12, "cudaMemcpyBatchAsync_ptsz"))(
        dv, fv, sizes, N, attrs, first, 2, &fail, NULL));

    COPIED(C(cudaMemcpyWithAttributesAsync)(dst, src, N * BYTES, attrs, s));
    COPIED(C(cudaMemcpyWithAttributesAsync_ptsz)(dst, src, N * BYTES, attrs, NULL));
    COPIED(C(cudaMemcpyWithAttributesAsync)(dst, src, N * BYTES, attrs, NULL));

    IS(C(cuMemcpyBatchAsync)(d, f, sizes, N, attrs, first, 2, &fail, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == SIZE_MAX); /* the legacy stream: no operation's fault */
    first[1] = 3;
    IS(C(cuMemcpyBatchAsync_v2)(d, f, sizes, N, attrs, first, 2, s), CUDA_ERROR_INVALID_VALUE);
    first[1] = 1;
    attrs[1].srcAccessOrder = 9;
    IS(C(cuMemcpyBatchAsync)(d, f, sizes, N, attrs, first, 2, &fail, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == 1);
    d[2] = 0;
    IS(V(12, cudaMemcpyBatchAsync)(dv, fv, sizes, N, attrs, first, 1, &fail, s), cudaErrorInvalidValue);
    EXPECT(fail == 2);
    IS(C(cudaGetLastError)(), cudaErrorInvalidValue);
}

/* A box of 4 x 2 x 2 bytes out of rows of 8 and layers of 3 rows. */
static void boxes(unsigned char *src, unsigned char *dst, cudaStream_t s)
{
    size_t fail = 7;
    CUDA_MEMCPY3D_BATCH_OP op[2];
    memset(op, 0, sizeof op);
    for (int i = 0; i < 2; i++) {
        op[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        op[i].src.type = op[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
        op[i].src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)src + 64u * (unsigned)i;
        op[i].src.op.ptr.rowLength = 8;
        op[i].src.op.ptr.layerHeight = 3;
        op[i].dst.op.ptr.ptr = (CUdeviceptr)(uintptr_t)dst + 64u * (unsigned)i;
        op[i].width = 4;
        op[i].height = op[i].depth = 2;
    }
#define BOXED(call) \
    refill(src, dst); \
    OK(call); \
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)()); \
    EXPECT(dst[0] == 1 && dst[3] == 4 && dst[4] == 9 && dst[8] == 25 && dst[15] == 36 && dst[16] == 0); \
    EXPECT(dst[64] == 65 && dst[64 + 15] == 100)
    BOXED(C(cuMemcpy3DBatchAsync)(2, op, &fail, 0, s));
    BOXED(C(cuMemcpy3DBatchAsync_ptsz)(2, op, NULL, 0, NULL));
    BOXED(C(cuMemcpy3DBatchAsync_v2)(2, op, 0, s));
    BOXED(C(cuMemcpy3DBatchAsync_v2_ptsz)(2, op, 0, NULL));
    BOXED(C(cudaMemcpy3DBatchAsync)(2, op, 0, s));
    BOXED(C(cudaMemcpy3DBatchAsync_ptsz)(2, op, 0, NULL));
    BOXED((C(cudaMemcpy3DWithAttributesAsync)(op, 0, s), C(cudaMemcpy3DWithAttributesAsync)(op + 1, 0, s)));
    BOXED((C(cudaMemcpy3DWithAttributesAsync_ptsz)(op, 0, NULL),
           C(cudaMemcpy3DWithAttributesAsync_ptsz)(op + 1, 0, NULL)));
    BOXED(V(12, cudaMemcpy3DBatchAsync)(2, op, &fail, 0, s));
    BOXED(((__typeof__(wrap_cudaMemcpy3DBatchAsync_v12_ptsz) *)snippet_versioned(12, "cudaMemcpy3DBatchAsync_ptsz"))(
        2, op, &fail, 0, NULL));

    /* Through an array of two-channel shorts and back: extents are its elements. */
    MUarray array = NULL;
    MUSA_ARRAY3D_DESCRIPTOR d = {.Width = 4, .Height = 2, .Depth = 2, .NumChannels = 2};
    d.Format = MU_AD_FORMAT_UNSIGNED_INT16;
    OK(M(cuArray3DCreate_v2, muArray3DCreate_v2)(&array, &d));
    refill(src, dst);
    CUDA_MEMCPY3D_BATCH_OP trip[2];
    memset(trip, 0, sizeof trip);
    trip[0].srcAccessOrder = trip[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    trip[0].src.type = trip[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    trip[0].dst.type = trip[1].src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    trip[0].src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)src;
    trip[1].dst.op.ptr.ptr = (CUdeviceptr)(uintptr_t)dst;
    trip[0].dst.op.array.array = trip[1].src.op.array.array = array;
    trip[0].width = 4;
    trip[0].height = trip[0].depth = trip[1].height = trip[1].depth = 2;
    trip[1].src.op.array.x = 1;
    trip[1].width = 3;
    OK(C(cuMemcpy3DBatchAsync_v2)(1, &trip[0], 0, s));
    OK(C(cuMemcpy3DBatchAsync_v2)(1, &trip[1], 0, s));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    EXPECT(dst[0] == 5 && dst[11] == 16 && dst[12] == 21 && dst[47] == 64 && dst[48] == 0);
    OK(M(cuArrayDestroy, muArrayDestroy)(array));

    op[1].depth = 0;
    IS(C(cuMemcpy3DBatchAsync)(2, op, &fail, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == 1);
    IS(C(cuMemcpy3DBatchAsync)(1, op, &fail, 1, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == SIZE_MAX);
    op[0].width = SIZE_MAX;
    IS(C(cudaMemcpy3DBatchAsync)(1, op, 0, s), cudaErrorInvalidValue);
    IS(C(cudaGetLastError)(), cudaErrorInvalidValue);
}

static void ranges(cudaStream_t s)
{
    void *m = NULL;
    OK(M(cudaMallocManaged, musaMallocManaged)(&m, 2 * 65536, 1));
    CUdeviceptr p[2] = {(CUdeviceptr)(uintptr_t)m, (CUdeviceptr)(uintptr_t)m + 65536};
    size_t sizes[2] = {65536, 65536}, first[2] = {0, 1};
    CUmemLocation where[2] = {{CU_MEM_LOCATION_TYPE_HOST, 0}, {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    void **v = (void **)p;
    int last = 5;
    OK(C(cuMemPrefetchBatchAsync)(p, sizes, 2, where, first, 2, 0, s));
    OK(M(cuMemRangeGetAttribute, muMemRangeGetAttribute)(&last, 4, MU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p[1],
                                                         16));
    IS(last, 0);
    OK(C(cuMemPrefetchBatchAsync_ptsz)(p, sizes, 2, where, first, 2, 0, NULL));
    OK(C(cuMemDiscardBatchAsync)(p, sizes, 2, 0, s));
    OK(C(cuMemDiscardBatchAsync_ptsz)(p, sizes, 2, 0, NULL));
    OK(C(cuMemDiscardAndPrefetchBatchAsync)(p, sizes, 2, where, first, 2, 0, s));
    OK(C(cuMemDiscardAndPrefetchBatchAsync_ptsz)(p, sizes, 2, where, first, 2, 0, NULL));
    OK(C(cudaMemPrefetchBatchAsync)(v, sizes, 2, where, first, 1, 0, s));
    OK(C(cudaMemPrefetchBatchAsync_ptsz)(v, sizes, 2, where, first, 2, 0, NULL));
    OK(C(cudaMemDiscardBatchAsync)(v, sizes, 2, 0, s));
    OK(C(cudaMemDiscardBatchAsync_ptsz)(v, sizes, 2, 0, NULL));
    OK(C(cudaMemDiscardAndPrefetchBatchAsync)(v, sizes, 2, where, first, 2, 0, s));
    OK(C(cudaMemDiscardAndPrefetchBatchAsync_ptsz)(v, sizes, 2, where, first, 2, 0, NULL));
    where[0].type = 0;
    IS(C(cudaMemPrefetchBatchAsync)(v, sizes, 2, where, first, 2, 0, s), cudaErrorInvalidValue);
    IS(C(cudaMemDiscardBatchAsync)(v, sizes, 2, 1, s), cudaErrorInvalidValue);
    sizes[1] = 65537; /* beyond the allocation */
    IS(C(cudaMemDiscardBatchAsync)(v, sizes, 2, 0, s), cudaErrorInvalidValue);
    (void)C(cudaGetLastError)();
    OK(M(cudaFree, musaFree)(m));
}

static void pools(void)
{
    MUmemoryPool own = NULL, now = NULL, old = NULL, made = NULL;
    cudaMemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    OK(C(cudaMemGetDefaultMemPool)((void *)&own, &device, 1));
    OK(M(cudaDeviceGetDefaultMemPool, musaDeviceGetDefaultMemPool)(&old, 0));
    EXPECT(own && own == old);
    MUmemPoolProps props = {.allocType = 1, .location = {1, 0}};
    OK(M(cudaMemPoolCreate, musaMemPoolCreate)(&made, &props));
    OK(C(cudaMemSetMemPool)(&device, 1, made));
    OK(C(cudaMemGetMemPool)((void *)&now, &device, 1));
    EXPECT(now == made);
    OK(C(cuMemSetMemPool)(&device, 1, own));
    OK(C(cuMemGetMemPool)((void *)&now, &device, 1));
    EXPECT(now == own);
    OK(C(cuMemGetDefaultMemPool)((void *)&now, &device, 1));
    EXPECT(now == own);
    OK(M(cudaMemPoolDestroy, musaMemPoolDestroy)(made));
    IS(C(cuMemGetMemPool)((void *)&now, &host, 1), CUDA_ERROR_NOT_SUPPORTED);
    IS(C(cuMemGetMemPool)(NULL, &device, 1), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuMemGetMemPool)((void *)&now, &device, 7), CUDA_ERROR_INVALID_VALUE);
    device.id = 99;
    IS(C(cudaMemGetMemPool)((void *)&now, &device, 1), cudaErrorInvalidDevice);
    (void)C(cudaGetLastError)();
}

static void capabilities(void)
{
    int ops[3] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS, CU_ATOMIC_OPERATION_FLOAT_ADD};
    unsigned caps[3] = {77, 77, 77};
    OK(C(cuDeviceGetHostAtomicCapabilities)(caps, ops, 3, 0));
    EXPECT(caps[0] & CU_ATOMIC_CAPABILITY_SCALAR_64 && !(caps[2] & CU_ATOMIC_CAPABILITY_SIGNED));
    OK(C(cudaDeviceGetHostAtomicCapabilities)(caps, ops, 3, 0));
    EXPECT(caps[1] && !(caps[1] & CU_ATOMIC_CAPABILITY_REDUCTION));
    ops[2] = 13;
    caps[0] = 77;
    IS(C(cudaDeviceGetHostAtomicCapabilities)(caps, ops, 3, 0), cudaErrorInvalidValue);
    EXPECT(caps[0] == 77);
    IS(C(cuDeviceGetP2PAtomicCapabilities)(caps, ops, 1, 0, 99), CUDA_ERROR_INVALID_DEVICE);
    IS(C(cudaDeviceGetP2PAtomicCapabilities)(caps, ops, 1, 99, 0), cudaErrorInvalidDevice);
    (void)C(cudaGetLastError)();

    void *a = NULL, *b = NULL;
    OK(C(cuDeviceRegisterAsyncNotification)(0, (void *)capabilities, NULL, &a));
    OK(C(cudaDeviceRegisterAsyncNotification)(0, (void *)capabilities, NULL, &b));
    EXPECT(a && b && a != b);
    OK(C(cudaDeviceUnregisterAsyncNotification)(0, a));
    OK(C(cuDeviceUnregisterAsyncNotification)(0, b));
    IS(C(cuDeviceUnregisterAsyncNotification)(0, b), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuDeviceRegisterAsyncNotification)(0, NULL, NULL, &a), CUDA_ERROR_INVALID_VALUE);
}

void snippet_batch(void)
{
    void *src = NULL, *dst = NULL;
    cudaStream_t s = NULL;
    OK(M(cudaMallocHost, musaMallocHost)(&src, N * BYTES));
    OK(M(cudaMallocHost, musaMallocHost)(&dst, N * BYTES));
    OK(M(cudaStreamCreate, musaStreamCreate)((void *)&s));
    copies(src, dst, s);
    boxes(src, dst, s);
    ranges(s);
    OK(M(cudaStreamDestroy, musaStreamDestroy)((void *)s));
    OK(M(cudaFreeHost, musaFreeHost)(src));
    OK(M(cudaFreeHost, musaFreeHost)(dst));
    pools();
    capabilities();
}
