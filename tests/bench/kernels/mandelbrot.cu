// Iterations until escape: a loop that lanes leave one by one.
extern "C" __global__ void kernel(int *out, int n, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    float cr = -2.0f + 3.0f * x / n, ci = -1.5f + 3.0f * y / n, zr = 0, zi = 0;
    int i = 0;
    while (i < limit && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        i++;
    }
    out[y * n + x] = i;
}
