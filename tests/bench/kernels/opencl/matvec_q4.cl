// Quantised matrix times vector: 32 items a row, half a block an item, the sum by a tree in local memory.
kernel void run(global float *y, global const ushort *w, global const char *x, global const float2 *scale, int cols)
{
    local float part[4][32];
    int lane = get_local_id(0), r = get_local_id(1), row = get_group_id(0) * get_local_size(1) + r;
    int blocks = cols / 32, half_ = lane % 2;
    float sum = 0;
    for (int b = lane / 2; b < blocks; b += 16) {
        global const ushort *block = w + ((size_t)row * blocks + b) * 9;
        global const uchar *nibbles = (global const uchar *)(block + 1) + half_ * 8;
        global const char *u = x + b * 32 + half_ * 8;
        int dot = 0;
        for (int k = 0; k < 8; k++)
            dot += (nibbles[k] & 15) * u[k] + (nibbles[k] >> 4) * u[k + 16];
        sum += vload_half(0, (global const half *)block) * (dot * scale[b].x - 4 * scale[b].y);
    }
    part[r][lane] = sum;
    for (int d = 16; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < d)
            part[r][lane] += part[r][lane + d];
    }
    if (!lane)
        y[row] = part[r][0];
}
