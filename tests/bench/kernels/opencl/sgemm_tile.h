// C = A B with one output element a work item and TILE x TILE tiles of A and B in local memory.
kernel void run(global float *c, global const float *a, global const float *b, int n)
{
    local float as[TILE][TILE], bs[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int row = get_group_id(1) * TILE + y, col = get_group_id(0) * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; i++)
            sum += as[y][i] * bs[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
