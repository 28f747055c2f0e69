// The 8 largest of each row of 256 with their columns, 32 items a row; the largest of them by a tree in local memory.
#define COLS 256
#define K 8
kernel void run(global float *value, global int *column, global const float *in)
{
    local float tops[8][32];
    local int ats[8][32];
    int y = get_local_id(1), row = get_group_id(0) * get_local_size(1) + y, lane = get_local_id(0);
    float v[COLS / 32];
    for (int i = 0; i < COLS / 32; i++)
        v[i] = in[(size_t)row * COLS + i * 32 + lane];
    for (int k = 0; k < K; k++) {
        float top = v[0];
        int at = lane;
        for (int i = 1; i < COLS / 32; i++)
            if (v[i] > top) {
                top = v[i];
                at = i * 32 + lane;
            }
        tops[y][lane] = top;
        ats[y][lane] = at;
        for (int d = 16; d > 0; d /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lane < d) {
                float other = tops[y][lane + d];
                int where = ats[y][lane + d];
                if (other > tops[y][lane] || (other == tops[y][lane] && where < ats[y][lane])) {
                    tops[y][lane] = other;
                    ats[y][lane] = where;
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        at = ats[y][0];
        if (lane == 0) {
            value[row * K + k] = tops[y][0];
            column[row * K + k] = at;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < COLS / 32; i++)
            if (at == i * 32 + lane)
                v[i] = -3e38f;
    }
}
