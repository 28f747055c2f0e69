// 128-bit integers as nvcc computes them, for tests/tier0/int128.c: a thread takes two operands and writes what
// every operator gives. int128.ptx was made by
//   nvcc -O3 -ptx -arch=compute_75 -o int128.ptx int128.cu && sed -i '/inline asm$/d' int128.ptx
typedef unsigned __int128 u128;
typedef __int128 s128;

extern "C" __global__ void wide_ops(const u128 *in, u128 *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    u128 a = in[2 * t], b = in[2 * t + 1], *to = out + 12 * t;
    unsigned n = (unsigned)b & 127;
    to[0] = a + b;
    to[1] = a - b;
    to[2] = a * b;
    to[3] = a / b;
    to[4] = a % b;
    to[5] = (u128)((s128)a / (s128)b);
    to[6] = (u128)((s128)a % (s128)b);
    to[7] = a << n;
    to[8] = a >> n;
    to[9] = (u128)((s128)a >> n);
    to[10] = (u128)(a < b) | (u128)((s128)a < (s128)b) << 1;
    to[11] = -a;
}
