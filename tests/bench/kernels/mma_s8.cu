// C = A B' of bytes with sums of 32 bits by matrix instructions, the columns of B lying along k, as quantised models
// have them: a block has 64 x 64 of C, each of its four warps 32 x 32; 64 along k at a time in shared memory.
#include "mma.h"
#define TILE 64
#define DEEP 64
extern "C" __global__ void kernel(int *c, const signed char *a, const signed char *b, int n)
{
    __shared__ __align__(16) signed char as[TILE][DEEP + 16], bs[TILE][DEEP + 16];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
    size_t row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    int sum[2][4][4] = {};
    for (int k = 0; k < n; k += DEEP) {
        for (int i = t; i < TILE * DEEP / 16; i += 128) {
            int r = i / (DEEP / 16), at = i % (DEEP / 16) * 16;
            *(int4 *)&as[r][at] = *(const int4 *)&a[(row + r) * n + k + at];
            *(int4 *)&bs[r][at] = *(const int4 *)&b[(col + r) * n + k + at];
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < DEEP; kk += 32) {
            unsigned fa[2][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load4(fa[i], &as[wm + i * 16 + lane % 16][kk + lane / 16 * 16]);
                load4(fb[i], &bs[wn + i * 16 + lane / 16 * 8 + lane % 8][kk + lane / 8 % 2 * 16]);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    multiply_s8(sum[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++) {
                int *to = &c[(row + wm + i * 16 + h * 8 + lane / 4) * n + col + wn + j * 8 + lane % 4 * 2];
                *(int2 *)to = make_int2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}
