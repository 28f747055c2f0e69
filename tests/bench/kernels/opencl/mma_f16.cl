// C = A B of halves with sums of floats: tiles of 64 x 64 widened to floats in local memory, 8 x 4 sums an item.
#define TILE 64
#define DEEP 32
kernel void run(global float *c, global const half *a, global const half *b, int n)
{
    local float as[DEEP][TILE], bs[DEEP][TILE];
    int t = get_local_id(0), y = t / 16 * 8, x = t % 16 * 4;
    size_t row = get_group_id(1) * TILE, col = get_group_id(0) * TILE;
    float4 sum[8] = {0};
    for (int k = 0; k < n; k += DEEP) {
        for (int i = t; i < TILE * DEEP; i += 128) {
            as[i % DEEP][i / DEEP] = vload_half((row + i / DEEP) * n + k + i % DEEP, a);
            bs[i / TILE][i % TILE] = vload_half((size_t)(k + i / TILE) * n + col + i % TILE, b);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < DEEP; i++) {
            float4 v = vload4(0, &bs[i][x]);
            for (int r = 0; r < 8; r++)
                sum[r] += as[i][y + r] * v;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < 8; r++)
        vstore4(sum[r], 0, &c[(row + y + r) * n + col + x]);
}
