// Kernels of tests/tier0/wmma.c, as nvcuda::wmma and inline assembly make them. One warp computes
// D = A * B + C for matrices of 32 x 32; wmma.ptx was made by
//   nvcc -std=c++17 -O3 -ptx -arch=compute_90 -o wmma.ptx wmma.cu
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// Through shared memory with padded rows; fragments are also used element by element.
template <int M, int N, int K, class T, class Frag, class Acc, class LA, class LB>
__device__ void product(const T *a, const T *b, const Acc *c, Acc *d, int size)
{
    __shared__ __align__(32) T sa[32 * 48], sb[32 * 48];
    #pragma unroll 1
    for (int i = threadIdx.x; i < size * size; i += 32) {
        sa[i / size * 48 + i % size] = a[i];
        sb[i / size * 48 + i % size] = b[i];
    }
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i < size; i += M)
        #pragma unroll 1
        for (int j = 0; j < size; j += N) {
            wmma::fragment<wmma::accumulator, M, N, K, Acc> sum, start;
            wmma::fill_fragment(sum, Acc(0));
            #pragma unroll 1
            for (int k = 0; k < size; k += K) {
                wmma::fragment<wmma::matrix_a, M, N, K, Frag, LA> fa;
                wmma::fragment<wmma::matrix_b, M, N, K, Frag, LB> fb;
                constexpr bool arow = std::is_same<LA, wmma::row_major>::value;
                constexpr bool brow = std::is_same<LB, wmma::row_major>::value;
                wmma::load_matrix_sync(fa, arow ? sa + i * 48 + k : sa + k * 48 + i, 48);
                wmma::load_matrix_sync(fb, brow ? sb + k * 48 + j : sb + j * 48 + k, 48);
                if constexpr (std::is_same<Frag, wmma::precision::tf32>::value) {
                    for (int e = 0; e < fa.num_elements; e++)
                        fa.x[e] = wmma::__float_to_tf32(fa.x[e]);
                    for (int e = 0; e < fb.num_elements; e++)
                        fb.x[e] = wmma::__float_to_tf32(fb.x[e]);
                }
                wmma::mma_sync(sum, fa, fb, sum);
            }
            wmma::load_matrix_sync(start, c + i * size + j, size, wmma::mem_row_major);
            for (int e = 0; e < sum.num_elements; e++)
                sum.x[e] = sum.x[e] + start.x[e] + start.x[e];
            wmma::store_matrix_sync(d + i * size + j, sum, size, wmma::mem_row_major);
        }
}

#define KERNEL(name, M, N, K, T, Frag, Acc, LA, LB)                                                \
    extern "C" __global__ void name(const T *a, const T *b, const Acc *c, Acc *d)                  \
    {                                                                                              \
        product<M, N, K, T, Frag, Acc, wmma::LA, wmma::LB>(a, b, c, d, 32);                        \
    }
KERNEL(half_rr, 16, 16, 16, half, half, float, row_major, row_major)
KERNEL(half_cc, 32, 8, 16, half, half, float, col_major, col_major)
KERNEL(half_rc, 8, 32, 16, half, half, half, row_major, col_major)
KERNEL(bf16_rr, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, row_major)
KERNEL(tf32_cr, 16, 16, 8, float, wmma::precision::tf32, float, col_major, row_major)
KERNEL(f64_rc, 8, 8, 4, double, double, double, row_major, col_major)
KERNEL(s8_rr, 16, 16, 16, signed char, signed char, int, row_major, row_major)
KERNEL(u8_rc, 8, 32, 16, unsigned char, unsigned char, int, row_major, col_major)

// d[8][8] = popc(a[8][128] ^ b[128][8]), bits along k.
extern "C" __global__ void bits(const unsigned *a, const unsigned *b, const int *c, int *d)
{
    using wmma::experimental::precision::b1;
    wmma::fragment<wmma::matrix_a, 8, 8, 128, b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
    wmma::load_matrix_sync(fa, a, 128);
    wmma::load_matrix_sync(fb, b, 128);
    wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);
    wmma::bmma_sync(sum, fa, fb, sum, wmma::experimental::bmmaBitOpXOR,
                    wmma::experimental::bmmaAccumulateOpPOPC);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

static __device__ unsigned shared(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// d[32][32] = a * b (both row-major) by ldmatrix and mma.m16n8k16, as a hand-written kernel does it:
// B through ldmatrix.trans, tiles fetched by cp.async, the result leaves by stmatrix.
extern "C" __global__ void inline_mma(const half *a, const half *b, half *d)
{
    __shared__ __align__(16) half sa[32][40], sb[32][40], sd[32][40];
    int lane = threadIdx.x;
    #pragma unroll 1
    for (int i = lane; i < 32 * 4; i += 32) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(shared(&sa[i / 4][i % 4 * 8])), "l"(a + i * 8));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(shared(&sb[i / 4][i % 4 * 8])), "l"(b + i * 8));
    }
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;");
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i < 32; i += 16)
        #pragma unroll 1
        for (int j = 0; j < 32; j += 8) {
            float s[4] = {0, 0, 0, 0};
            #pragma unroll 1
            for (int k = 0; k < 32; k += 16) {
                unsigned x[4], y[2];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                             : "r"(shared(&sa[i + lane % 16][k + lane / 16 * 8])));
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                             : "=r"(y[0]), "=r"(y[1])
                             : "r"(shared(&sb[k + lane % 16][j])));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
            half2 low = __floats2half2_rn(s[0], s[1]), high = __floats2half2_rn(s[2], s[3]);
            asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};"
                         :: "r"(shared(&sd[i + lane % 16][j])), "r"(*(unsigned *)&low), "r"(*(unsigned *)&high));
        }
    __syncthreads();
    #pragma unroll 1
    for (int i = lane; i < 32 * 32; i += 32)
        d[i] = sd[i / 32][i % 32];
}

// The eight rows of 8 b16 of each of four matrices, transposed by every way there is: d[0] by
// ldmatrix.trans, d[1] by movmatrix, d[2] by stmatrix.trans; d[3] is a copy.
extern "C" __global__ void transposes(const unsigned short *a, unsigned *d)
{
    __shared__ __align__(16) unsigned short s[4][8][8], t[4][8][8];
    int lane = threadIdx.x;
    #pragma unroll 1
    for (int i = lane; i < 256; i += 32)
        s[i / 64][i / 8 % 8][i % 8] = a[i];
    __syncthreads();
    unsigned p[4], q[4], m[4], row = shared(&s[lane / 8][lane % 8][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(q[0]), "=r"(q[1]), "=r"(q[2]), "=r"(q[3]) : "r"(row));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
                 :: "r"(shared(&t[lane / 8][lane % 8][0])),
                    "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]));
    __syncthreads();
    #pragma unroll 1
    for (int k = 0; k < 4; k++) {
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m[k]) : "r"(q[k]));
        d[k * 32 + lane] = p[k];
        d[128 + k * 32 + lane] = m[k];
        d[256 + k * 32 + lane] = ((unsigned *)t)[k * 32 + lane];
        d[384 + k * 32 + lane] = q[k];
    }
}
