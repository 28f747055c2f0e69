// Sum of an array: grid-stride loop, shuffles within the warp, shared memory between warps.
extern "C" __global__ void kernel(float *partial, const float *x, int n)
{
    __shared__ float warp[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? warp[threadIdx.x] : 0;
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, d);
        if (threadIdx.x == 0)
            partial[blockIdx.x] = sum;
    }
}
