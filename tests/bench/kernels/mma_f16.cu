// C = A B of halves with sums of floats by matrix instructions: a block has 64 x 64 of C, each of its four warps 32 x
// 32; 32 columns of A and rows of B at a time in shared memory.
#include "mma.h"
#define TILE 64
#define DEEP 32
extern "C" __global__ void kernel(float *c, const __half *a, const __half *b, int n)
{
    __shared__ __align__(16) __half as[TILE][DEEP + 8], bs[DEEP][TILE + 8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
    size_t row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    float sum[2][4][4] = {};
    for (int k = 0; k < n; k += DEEP) {
        for (int i = t; i < TILE * DEEP / 8; i += 128) {
            int ra = i / (DEEP / 8), ca = i % (DEEP / 8) * 8, rb = i / (TILE / 8), cb = i % (TILE / 8) * 8;
            *(int4 *)&as[ra][ca] = *(const int4 *)&a[(row + ra) * n + k + ca];
            *(int4 *)&bs[rb][cb] = *(const int4 *)&b[(size_t)(k + rb) * n + col + cb];
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < DEEP; kk += 16) {
            unsigned fa[2][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load4(fa[i], &as[wm + i * 16 + lane % 16][kk + lane / 16 * 8]);
                load4_turned(fb[i], &bs[kk + lane % 16][wn + i * 16 + lane / 16 * 8]);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    multiply_f16(sum[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++) {
                float *to = &c[(row + wm + i * 16 + h * 8 + lane / 4) * n + col + wn + j * 8 + lane % 4 * 2];
                *(float2 *)to = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}
