// Attention forward of halves without the matrix of scores in memory: 64 queries a group, of which every two items
// share one; keys and values come 64 at a time as floats in local memory.
#define SIZE 64
#define TILE 64
kernel void run(global float *out, global const half *q, global const half *k, global const half *v, int length)
{
    local float ks[TILE][SIZE], vs[TILE][SIZE], scores[TILE][TILE + 1];
    int t = get_local_id(0), row = t / 2, half_ = t % 2 * (SIZE / 2);
    size_t head = get_group_id(1) * (size_t)length * SIZE, at = head + (get_group_id(0) * TILE + row) * SIZE;
    float query[SIZE], sum[SIZE / 2], top = -INFINITY, total = 0;
    for (int d = 0; d < SIZE; d++)
        query[d] = vload_half(at + d, q) * (0.125f * 1.44269504f);
    for (int d = 0; d < SIZE / 2; d++)
        sum[d] = 0;
    for (int j = 0; j < length; j += TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = t; i < TILE * SIZE; i += 128) {
            ks[i / SIZE][i % SIZE] = vload_half(head + (size_t)j * SIZE + i, k);
            vs[i / SIZE][i % SIZE] = vload_half(head + (size_t)j * SIZE + i, v);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int n = 0; n < TILE / 2; n++) {
            float s = 0;
            for (int d = 0; d < SIZE; d++)
                s += query[d] * ks[half_ + n][d];
            scores[row][half_ + n] = s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float now = top, shrink, part = 0;
        for (int n = 0; n < TILE; n++)
            now = fmax(now, scores[row][n]);
        shrink = exp2(top - now);
        top = now;
        for (int d = 0; d < SIZE / 2; d++)
            sum[d] *= shrink;
        for (int n = 0; n < TILE; n++) {
            float p = exp2(scores[row][n] - now);
            part += p;
            for (int d = 0; d < SIZE / 2; d++)
                sum[d] += p * vs[n][half_ + d];
        }
        total = total * shrink + part;
    }
    for (int d = 0; d < SIZE / 2; d++)
        out[at + half_ + d] = sum[d] / total;
}
