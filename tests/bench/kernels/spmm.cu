// Sparse matrix (CSR) times a dense one of 64 columns: a warp a row, two columns a lane.
extern "C" __global__ void kernel(float2 *y, const int *start, const int *col, const float *val, const float2 *x)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    float2 sum = make_float2(0, 0);
    for (int i = start[row]; i < start[row + 1]; i++) {
        float v = val[i];
        float2 u = x[(size_t)col[i] * 32 + lane];
        sum.x += v * u.x;
        sum.y += v * u.y;
    }
    y[(size_t)row * 32 + lane] = sum;
}
