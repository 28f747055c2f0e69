// Inclusive sums of a whole array in one pass: each block adds up its part and looks back for the sum of those
// before it, which have published theirs ("Single-pass Parallel Prefix Scan with Decoupled Look-back", Merrill and
// Garland 2016). state: a counter of blocks, then a word a block: 1 << 32 | its sum, later 2 << 32 | all sums up to it.
#define ITEMS 8
extern "C" __global__ void kernel(int *out, unsigned long long *state, const int *in)
{
    __shared__ int warp[32], before, block;
    int t = threadIdx.x, lane = t % 32;
    if (!t)
        block = (int)atomicAdd(state, 1ull);
    __syncthreads();
    const int4 *from = (const int4 *)in + ((size_t)block * blockDim.x + t) * (ITEMS / 4);
    int v[ITEMS];
    for (int k = 0; k < ITEMS / 4; k++) {
        int4 x = from[k];
        v[4 * k] = x.x, v[4 * k + 1] = x.y, v[4 * k + 2] = x.z, v[4 * k + 3] = x.w;
    }
    for (int k = 1; k < ITEMS; k++)
        v[k] += v[k - 1];
    int sum = v[ITEMS - 1];
    for (int d = 1; d < 32; d *= 2) {
        int o = __shfl_up_sync(0xffffffffu, sum, d);
        sum += lane >= d ? o : 0;
    }
    if (lane == 31)
        warp[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        int s = t < blockDim.x / 32 ? warp[t] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int o = __shfl_up_sync(0xffffffffu, s, d);
            s += lane >= d ? o : 0;
        }
        warp[t] = s;
    }
    __syncthreads();
    if (!t) {
        volatile unsigned long long *word = state + 1;
        unsigned total = (unsigned)warp[blockDim.x / 32 - 1], sums = 0;
        word[block] = 1ull << 32 | total;
        for (int k = block - 1; k >= 0;) {
            unsigned long long w = word[k];
            if (!(w >> 32))
                continue;
            sums += (unsigned)w;
            if (w >> 33)
                break;
            k--;
        }
        word[block] = 2ull << 32 | (sums + total);
        before = (int)sums;
    }
    __syncthreads();
    int base = before + (t >= 32 ? warp[t / 32 - 1] : 0) + sum - v[ITEMS - 1];
    int4 *to = (int4 *)out + ((size_t)block * blockDim.x + t) * (ITEMS / 4);
    for (int k = 0; k < ITEMS / 4; k++)
        to[k] = make_int4(base + v[4 * k], base + v[4 * k + 1], base + v[4 * k + 2], base + v[4 * k + 3]);
}
