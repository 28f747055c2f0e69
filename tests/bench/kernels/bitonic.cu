// Sorts each run of 1024 in shared memory, 512 threads a block, a barrier before each of 55 steps.
extern "C" __global__ void kernel(int *data)
{
    __shared__ int s[1024];
    int t = threadIdx.x, base = blockIdx.x * 1024;
    s[t] = data[base + t];
    s[t + 512] = data[base + t + 512];
#pragma unroll
    for (int size = 2; size <= 1024; size *= 2)
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int i = 2 * t - (t & (step - 1)), j = i + step;
            bool up = (t & (size / 2)) == 0;
            int a = s[i], b = s[j];
            if ((a > b) == up) {
                s[i] = b;
                s[j] = a;
            }
        }
    __syncthreads();
    data[base + t] = s[t];
    data[base + t + 512] = s[t + 512];
}
