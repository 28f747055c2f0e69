// Sparse matrix (CSR) times vector, one row a thread: gathers.
extern "C" __global__ void kernel(float *y, const int *start, const int *col, const float *val,
                                  const float *x, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int i = start[r]; i < start[r + 1]; i++)
        sum += val[i] * x[col[i]];
    y[r] = sum;
}
