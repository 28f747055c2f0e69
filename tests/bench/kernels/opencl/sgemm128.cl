// Matrix product, 128x128 outputs a group, 8x8 of them in each item's registers, 8 deep in local memory.
kernel void run(global float *c, global const float *a, global const float *b, int n)
{
    local float as[8][128], bs[8][128];
    int t = get_local_id(0), tx = t % 16 * 8, ty = t / 16 * 8;
    int row0 = get_group_id(1) * 128, col0 = get_group_id(0) * 128;
    float sum[8][8] = {{0}};
    for (int k = 0; k < n; k += 8) {
        for (int i = 0; i < 4; i++) {
            int e = t + i * 256;
            as[e % 8][e / 8] = a[(row0 + e / 8) * n + k + e % 8];
            bs[e / 128][e % 128] = b[(k + e / 128) * n + col0 + e % 128];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int d = 0; d < 8; d++) {
            float u[8], v[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                u[i] = as[d][ty + i];
                v[i] = bs[d][tx + i];
            }
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[i][j] += u[i] * v[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            c[(row0 + ty + i) * n + col0 + tx + j] = sum[i][j];
}
