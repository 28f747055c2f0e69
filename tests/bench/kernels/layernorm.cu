// Layer normalisation of each row, one block a row: mean and variance by shuffles.
static __device__ float block_sum(float v, float *warp)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? warp[threadIdx.x % 32] : 0;
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    __syncthreads();
    return v;
}

extern "C" __global__ void kernel(float *out, const float *in, const float *gain, const float *bias, int cols)
{
    __shared__ float warp[32];
    const float *row = in + (size_t)blockIdx.x * cols;
    float *to = out + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += row[i];
    float mean = block_sum(sum, warp) / cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        squares += (row[i] - mean) * (row[i] - mean);
    float scale = rsqrtf(block_sum(squares, warp) / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        to[i] = (row[i] - mean) * scale * gain[i] + bias[i];
}
