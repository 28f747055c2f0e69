// Attention forward of halves without the matrix of scores in memory ("FlashAttention-2", Dao 2023): a block has 64
// queries of a head, each of its four warps 16; keys and values come 64 at a time, sums are rescaled when the greatest
// score of a row grows.
#include "mma.h"
#define SIZE 64
#define TILE 64
static __device__ unsigned pack(float lo, float hi)
{
    __half2 h = __floats2half2_rn(lo, hi);
    return *(unsigned *)&h;
}
static __device__ void fetch(__half (*to)[SIZE + 8], const __half *from)
{
    for (int i = threadIdx.x; i < TILE * SIZE / 8; i += 128)
        *(int4 *)&to[i / (SIZE / 8)][i % (SIZE / 8) * 8] = *(const int4 *)&from[i * 8];
}

extern "C" __global__ void kernel(float *out, const __half *q, const __half *k, const __half *v, int length)
{
    __shared__ __align__(16) __half ks[TILE][SIZE + 8], vs[TILE][SIZE + 8];
    int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
    size_t head = (size_t)blockIdx.y * length * SIZE, at = head + (size_t)blockIdx.x * TILE * SIZE;
    float sum[SIZE / 8][4] = {}, top[2] = {-INFINITY, -INFINITY}, total[2] = {};
    const float scale = 0.125f * 1.44269504f; /* 1 / sqrt(SIZE), and powers of two */
    unsigned fq[SIZE / 16][4];
    fetch(ks, q + at);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIZE / 16; i++)
        load4(fq[i], &ks[first + lane % 16][i * 16 + lane / 16 * 8]);
    for (int j = 0; j < length; j += TILE) {
        __syncthreads();
        fetch(ks, k + head + (size_t)j * SIZE);
        fetch(vs, v + head + (size_t)j * SIZE);
        __syncthreads();
        float s[TILE / 8][4] = {};
#pragma unroll
        for (int n = 0; n < TILE; n += 16)
#pragma unroll
            for (int i = 0; i < SIZE / 16; i++) {
                unsigned f[4];
                load4(f, &ks[n + lane / 16 * 8 + lane % 8][i * 16 + lane / 8 % 2 * 8]);
                multiply_f16(s[n / 8], fq[i], f[0], f[1]);
                multiply_f16(s[n / 8 + 1], fq[i], f[2], f[3]);
            }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float now = top[h], part = 0;
#pragma unroll
            for (int n = 0; n < TILE / 8; n++)
                now = fmaxf(now, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
            now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
            now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 2));
            float shrink = exp2f((top[h] - now) * scale);
            top[h] = now;
#pragma unroll
            for (int n = 0; n < TILE / 8; n++) {
                s[n][2 * h] = exp2f((s[n][2 * h] - now) * scale);
                s[n][2 * h + 1] = exp2f((s[n][2 * h + 1] - now) * scale);
                part += s[n][2 * h] + s[n][2 * h + 1];
            }
            total[h] = total[h] * shrink + part;
#pragma unroll
            for (int n = 0; n < SIZE / 8; n++) {
                sum[n][2 * h] *= shrink;
                sum[n][2 * h + 1] *= shrink;
            }
        }
#pragma unroll
        for (int i = 0; i < TILE / 16; i++) {
            unsigned fp[4] = {pack(s[2 * i][0], s[2 * i][1]), pack(s[2 * i][2], s[2 * i][3]),
                              pack(s[2 * i + 1][0], s[2 * i + 1][1]), pack(s[2 * i + 1][2], s[2 * i + 1][3])};
#pragma unroll
            for (int n = 0; n < SIZE; n += 16) {
                unsigned f[4];
                load4_turned(f, &vs[i * 16 + lane % 16][n + lane / 16 * 8]);
                multiply_f16(sum[n / 8], fp, f[0], f[1]);
                multiply_f16(sum[n / 8 + 1], fp, f[2], f[3]);
            }
        }
    }
    for (int h = 0; h < 2; h++) {
        total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
        total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
        float inverse = 1 / total[h], *to = out + at + (first + h * 8 + lane / 4) * SIZE + lane % 4 * 2;
        for (int n = 0; n < SIZE / 8; n++)
            *(float2 *)(to + n * 8) = make_float2(sum[n][2 * h] * inverse, sum[n][2 * h + 1] * inverse);
    }
}
