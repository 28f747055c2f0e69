// A step of k-means: each point's nearest of 64 centres, and the sums and counts of the points of each centre, by
// atomics in shared memory. Points lie dimension by dimension, a thread a point; centres are shared.
#define DIMS 16
#define CENTRES 64
extern "C" __global__ void kernel(int *nearest, float *sums, int *counts, const float *points, const float *centres,
                                  int n)
{
    __shared__ float centre[CENTRES * DIMS], sum[CENTRES * DIMS];
    __shared__ int count[CENTRES];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < CENTRES * DIMS; k += blockDim.x) {
        centre[k] = centres[k];
        sum[k] = 0;
    }
    if (threadIdx.x < CENTRES)
        count[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) {
        float point[DIMS], least = 3e38f;
        int best = 0;
        for (int d = 0; d < DIMS; d++)
            point[d] = points[(size_t)d * n + i];
        for (int c = 0; c < CENTRES; c++) {
            float distance = 0;
            for (int d = 0; d < DIMS; d++) {
                float u = point[d] - centre[c * DIMS + d];
                distance += u * u;
            }
            if (distance < least) {
                least = distance;
                best = c;
            }
        }
        nearest[i] = best;
        for (int d = 0; d < DIMS; d++)
            atomicAdd(&sum[best * DIMS + d], point[d]);
        atomicAdd(&count[best], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < CENTRES * DIMS; k += blockDim.x)
        atomicAdd(&sums[k], sum[k]);
    if (threadIdx.x < CENTRES)
        atomicAdd(&counts[threadIdx.x], count[threadIdx.x]);
}
