// Quantised matrix times vector: weights of 4 bits in blocks of 32 that share a half's scale (value = scale * (nibble
// - 8), low nibbles first), the vector in blocks of 32 bytes with a float's scale and their sum times it. A warp a row,
// half a block a lane: dot products of four bytes, eights taken off by the sum, as inference programs compute them.
#include <cuda_fp16.h>
struct q4 {
    __half scale;
    unsigned short nibbles[8];
};
extern "C" __global__ void kernel(float *y, const q4 *w, const int *x, const float2 *scale, int cols)
{
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y, blocks = cols / 32, half = lane % 2;
    float sum = 0;
    for (int b = lane / 2; b < blocks; b += 16) {
        const q4 *block = w + (size_t)row * blocks + b;
        const int *u = x + b * 8 + half * 2;
        int dot = 0;
        for (int k = 0; k < 2; k++) {
            int at = (half * 2 + k) * 2, v = block->nibbles[at] | block->nibbles[at + 1] << 16;
            dot = __dp4a(v & 0x0f0f0f0f, u[k], dot);
            dot = __dp4a(v >> 4 & 0x0f0f0f0f, u[k + 4], dot);
        }
        float2 s = scale[b];
        sum += __half2float(block->scale) * (dot * s.x - 4 * s.y); /* half of the eights */
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (!lane)
        y[row] = sum;
}
