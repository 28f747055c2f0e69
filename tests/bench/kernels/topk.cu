// The 8 largest of each row of 256 with their columns, a warp a row, as mixture-of-experts models choose experts:
// eight times the largest by shuffles, which is then taken out. Of equals the first.
#define COLS 256
#define K 8
extern "C" __global__ void kernel(float *value, int *column, const float *in)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
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
        for (int d = 16; d > 0; d /= 2) {
            float other = __shfl_xor_sync(0xffffffffu, top, d);
            int where = __shfl_xor_sync(0xffffffffu, at, d);
            if (other > top || (other == top && where < at)) {
                top = other;
                at = where;
            }
        }
        if (lane == 0) {
            value[row * K + k] = top;
            column[row * K + k] = at;
        }
        for (int i = 0; i < COLS / 32; i++)
            if (at == i * 32 + lane)
                v[i] = -3e38f;
    }
}
