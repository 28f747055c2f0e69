// Softmax of each row, one block a row.
#include <math.h>
static __device__ float block_reduce(float v, bool want_max, float *warp)
{
    for (int d = 16; d > 0; d /= 2) {
        float o = __shfl_xor_sync(0xffffffffu, v, d);
        v = want_max ? fmaxf(v, o) : v + o;
    }
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = warp[0];
    for (int i = 1; i < blockDim.x / 32; i++)
        v = want_max ? fmaxf(v, warp[i]) : v + warp[i];
    __syncthreads();
    return v;
}

extern "C" __global__ void kernel(float *out, const float *in, int cols)
{
    __shared__ float warp[32];
    const float *row = in + (size_t)blockIdx.x * cols;
    float *to = out + (size_t)blockIdx.x * cols;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        top = fmaxf(top, row[i]);
    top = block_reduce(top, true, warp);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float e = expf(row[i] - top);
        to[i] = e;
        sum += e;
    }
    float scale = 1 / block_reduce(sum, false, warp);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        to[i] *= scale;
}
