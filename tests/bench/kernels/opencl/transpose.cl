// Matrix transpose through a padded tile.
kernel void run(global float *out, global const float *in, int n)
{
    local float tile[32][33];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_group_id(0) * 32 + lx, y = get_group_id(1) * 32 + ly;
    for (int i = 0; i < 32; i += 8)
        tile[ly + i][lx] = in[(y + i) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + lx;
    y = get_group_id(0) * 32 + ly;
    for (int i = 0; i < 32; i += 8)
        out[(y + i) * n + x] = tile[lx][ly + i];
}
