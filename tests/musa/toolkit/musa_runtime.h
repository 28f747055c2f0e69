/* What emitted kernels take from a MUSA toolkit, by clang alone: its CUDA front end and PTX back end, no SDK. The
 * names are those of the MUSA half of shim/ptx/musa/prelude/platform.h; the means are inline PTX. */
#ifndef CUMU_TESTS_MUSA_RUNTIME_H
#define CUMU_TESTS_MUSA_RUNTIME_H

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define TK static __device__ inline __attribute__((always_inline))

typedef unsigned long long tk_u64;
struct uint3 {
    unsigned x, y, z;
};
TK uint3 tk_three(unsigned x, unsigned y, unsigned z)
{
    uint3 v = {x, y, z};
    return v;
}
#define TK_THREE(sreg) \
    tk_three(__nvvm_read_ptx_sreg_##sreg##_x(), __nvvm_read_ptx_sreg_##sreg##_y(), __nvvm_read_ptx_sreg_##sreg##_z())
#define threadIdx TK_THREE(tid)
#define blockDim TK_THREE(ntid)
#define blockIdx TK_THREE(ctaid)
#define gridDim TK_THREE(nctaid)

/* ---- arithmetic ---- */
#define TK1(name, T, c, op) \
    TK T name(T a) \
    { \
        T r; \
        asm(op " %0, %1;" : "=" c(r) : c(a)); \
        return r; \
    }
#define TK2(name, T, c, op) \
    TK T name(T a, T b) \
    { \
        T r; \
        asm(op " %0, %1, %2;" : "=" c(r) : c(a), c(b)); \
        return r; \
    }
#define TK3(name, T, c, op) \
    TK T name(T a, T b, T d) \
    { \
        T r; \
        asm(op " %0, %1, %2, %3;" : "=" c(r) : c(a), c(b), c(d)); \
        return r; \
    }
#define TK_ROUNDED(K, name, T, c, op, type) \
    K(name##_rn, T, c, op ".rn." type) \
    K(name##_rz, T, c, op ".rz." type) K(name##_rd, T, c, op ".rm." type) K(name##_ru, T, c, op ".rp." type)
// clang-format off
#define TK_FLOATS(p, T, c, type) \
    TK_ROUNDED(TK2, __##p##add, T, c, "add", type) \
    TK_ROUNDED(TK2, __##p##sub, T, c, "sub", type) \
    TK_ROUNDED(TK2, __##p##mul, T, c, "mul", type) \
    TK_ROUNDED(TK2, __##p##div, T, c, "div", type) \
    TK_ROUNDED(TK1, __##p##rcp, T, c, "rcp", type) \
    TK_ROUNDED(TK1, __##p##sqrt, T, c, "sqrt", type)
// clang-format on
TK_FLOATS(f, float, "f", "f32")
TK_FLOATS(d, double, "d", "f64")
TK_ROUNDED(TK3, __fmaf, float, "f", "fma", "f32")
TK_ROUNDED(TK3, __fma, double, "d", "fma", "f64")
TK3(fmaf, float, "f", "fma.rn.f32")
TK3(fma, double, "d", "fma.rn.f64")
TK1(sqrtf, float, "f", "sqrt.rn.f32")
TK1(sqrt, double, "d", "sqrt.rn.f64")
TK1(rsqrtf, float, "f", "rsqrt.approx.f32")
TK1(exp2f, float, "f", "ex2.approx.f32")
TK1(log2f, float, "f", "lg2.approx.f32")
TK1(__sinf, float, "f", "sin.approx.f32")
TK1(__cosf, float, "f", "cos.approx.f32")
TK1(tanhf, float, "f", "tanh.approx.f32")
#define TK_WHOLE(name, how) \
    TK1(name##f, float, "f", "cvt." how ".f32.f32") TK1(name, double, "d", "cvt." how ".f64.f64")
TK_WHOLE(rint, "rni")
TK_WHOLE(floor, "rmi")
TK_WHOLE(ceil, "rpi")
TK_WHOLE(trunc, "rzi")
TK1(rsqrt, double, "d", "rsqrt.approx.f64")

/* ---- threads ---- */
TK long long clock64()
{
    long long r;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(r));
    return r;
}
#define __syncthreads tk_syncthreads /* clang has one of its own */
TK void __syncthreads() { asm volatile("barrier.sync 0;" : : : "memory"); }
TK int __syncthreads_count(int p)
{
    int r;
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; barrier.red.popc.u32 %0, 0, q; }"
                 : "=r"(r)
                 : "r"(p)
                 : "memory");
    return r;
}
#define TK_SYNC(name, op) \
    TK int name(int p) \
    { \
        int r; \
        asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; barrier.red." op ".pred q, 0, q; selp.u32 %0, 1, 0, q; }" \
                     : "=r"(r) \
                     : "r"(p) \
                     : "memory"); \
        return r; \
    }
TK_SYNC(__syncthreads_and, "and")
TK_SYNC(__syncthreads_or, "or")
/* Segments of 32 lanes are all there are: a mask of 32 bits is of the thread's own, as on parts with 128. */
TK unsigned __shfl_sync(unsigned mask, unsigned v, int lane, int)
{
    unsigned r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(r) : "r"(v), "r"(lane), "r"(mask) : "memory");
    return r;
}
TK unsigned __ballot_sync(unsigned mask, int p)
{
    unsigned r;
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, %2; }"
                 : "=r"(r)
                 : "r"(p), "r"(mask)
                 : "memory");
    return r;
}
TK unsigned tk_active()
{
    unsigned r;
    asm volatile("activemask.b32 %0;" : "=r"(r) : : "memory");
    return r;
}
#if defined(__MUSA_ARCH__) && __MUSA_ARCH__ < 310
TK unsigned __int128 __activemask()
{
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return (unsigned __int128)tk_active() << (t & 96);
}
#else
TK unsigned __activemask() { return tk_active(); }
#endif
TK void __syncwarp() { asm volatile("bar.warp.sync -1;" : : : "memory"); }
TK void __threadfence() { asm volatile("fence.sc.gpu;" : : : "memory"); }
TK void __threadfence_block() { asm volatile("fence.sc.cta;" : : : "memory"); }
TK void __threadfence_system() { asm volatile("fence.sc.sys;" : : : "memory"); }
TK bool __musa_isspacep_shared(const void *p)
{
    unsigned r;
    asm("{ .reg .pred q; isspacep.shared q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(r) : "l"(p));
    return r != 0;
}

/* ---- memory ---- */
#define TK_ATOMIC(name, op, T, c, type) \
    TK T name(T *p, T v) \
    { \
        T r; \
        asm volatile("atom." op "." type " %0, [%1], %2;" : "=" c(r) : "l"(p), c(v) : "memory"); \
        return r; \
    }
TK_ATOMIC(atomicAdd, "add", unsigned, "r", "u32")
TK_ATOMIC(atomicAdd, "add", tk_u64, "l", "u64")
TK_ATOMIC(atomicExch, "exch", unsigned, "r", "b32")
TK_ATOMIC(atomicExch, "exch", tk_u64, "l", "b64")
#define TK_CAS(T, c, type) \
    TK T atomicCAS(T *p, T old, T v) \
    { \
        T r; \
        asm volatile("atom.cas." type " %0, [%1], %2, %3;" : "=" c(r) : "l"(p), c(old), c(v) : "memory"); \
        return r; \
    }
TK_CAS(unsigned, "r", "b32")
TK_CAS(tk_u64, "l", "b64")
extern "C" __device__ void *malloc(unsigned long);
extern "C" __device__ void free(void *);

/* ---- textures and surfaces ---- */
typedef tk_u64 musaTextureObject_t, musaSurfaceObject_t;
enum { musaBoundaryModeZero, musaBoundaryModeClamp, musaBoundaryModeTrap };
#define TK_VECTOR(T, name) \
    struct name##1 { T x; }; \
    struct name##2 { T x, y; }; \
    struct name##4 { T x, y, z, w; };
TK_VECTOR(float, float)
TK_VECTOR(int, int)
TK_VECTOR(unsigned, uint)
TK_VECTOR(unsigned short, ushort)
TK_VECTOR(unsigned char, uchar)
TK_VECTOR(tk_u64, ulonglong)
TK float2 make_float2(float x, float y)
{
    float2 v = {x, y};
    return v;
}
TK float4 make_float4(float x, float y, float z, float w)
{
    float4 v = {x, y, z, w};
    return v;
}
/* Results travel as bits of registers of their type; in: the coordinates as text and as operands. */
#define TK_FETCH(T, c, type, name, form, from, text, params, ...) \
    template <> __device__ inline __attribute__((always_inline)) T name<T> params \
    { \
        T v; \
        asm volatile(form ".v4." type "." from " {%0, %1, %2, %3}, [%4, " text ";" \
                     : "=" c(v.x), "=" c(v.y), "=" c(v.z), "=" c(v.w) \
                     : "l"(h), __VA_ARGS__ \
                     : "memory"); \
        return v; \
    }
#define TK_TEX(name, form, from, text, params, ...) \
    template <class T> __device__ T name params; \
    TK_FETCH(float4, "f", "f32", name, form, from, text, params, __VA_ARGS__) \
    TK_FETCH(int4, "r", "s32", name, form, from, text, params, __VA_ARGS__) \
    TK_FETCH(uint4, "r", "u32", name, form, from, text, params, __VA_ARGS__)
#define TK_H musaTextureObject_t h
TK_TEX(tex1Dfetch, "tex.1d", "s32", "{%5}]", (TK_H, int x), "r"(x))
/* at: coordinates as operands 5 and on; n1: the number of the operand behind them */
#define TK_SHAPE(name, geo, at, n1, params, ...) \
    TK_TEX(name, "tex." geo, "f32", at "]", (TK_H, TK_ALL params), __VA_ARGS__) \
    TK_TEX(name##Lod, "tex.level." geo, "f32", at "], %" #n1, (TK_H, TK_ALL params, float lod), __VA_ARGS__, "f"(lod))
#define TK_ALL(...) __VA_ARGS__
#define TK_GRAD1(name, geo, at, grad, params, ...) \
    TK_TEX(name##Grad, "tex.grad." geo, "f32", at "], " grad, (TK_H, TK_ALL params, float a, float b), __VA_ARGS__, \
           "f"(a), "f"(b))
#define TK_GRAD2(name, geo, at, grad, params, ...) \
    TK_TEX(name##Grad, "tex.grad." geo, "f32", at "], " grad, (TK_H, TK_ALL params, float2 a, float2 b), __VA_ARGS__, \
           "f"(a.x), "f"(a.y), "f"(b.x), "f"(b.y))
#define TK_GRAD3(name, geo, at, grad, params, ...) \
    TK_TEX(name##Grad, "tex.grad." geo, "f32", at "], " grad, (TK_H, TK_ALL params, float4 a, float4 b), __VA_ARGS__, \
           "f"(a.x), "f"(a.y), "f"(a.z), "f"(b.x), "f"(b.y), "f"(b.z))
TK_SHAPE(tex1D, "1d", "{%5}", 6, (float x), "f"(x))
TK_GRAD1(tex1D, "1d", "{%5}", "{%6}, {%7}", (float x), "f"(x))
TK_SHAPE(tex2D, "2d", "{%5, %6}", 7, (float x, float y), "f"(x), "f"(y))
TK_GRAD2(tex2D, "2d", "{%5, %6}", "{%7, %8}, {%9, %10}", (float x, float y), "f"(x), "f"(y))
TK_SHAPE(tex3D, "3d", "{%5, %6, %7, %7}", 8, (float x, float y, float z), "f"(x), "f"(y), "f"(z))
TK_GRAD3(tex3D, "3d", "{%5, %6, %7, %7}", "{%8, %9, %10, %10}, {%11, %12, %13, %13}", (float x, float y, float z),
         "f"(x), "f"(y), "f"(z))
TK_SHAPE(tex1DLayered, "a1d", "{%5, %6}", 7, (float x, int l), "r"(l), "f"(x))
TK_GRAD1(tex1DLayered, "a1d", "{%5, %6}", "{%7}, {%8}", (float x, int l), "r"(l), "f"(x))
TK_SHAPE(tex2DLayered, "a2d", "{%5, %6, %7, %7}", 8, (float x, float y, int l), "r"(l), "f"(x), "f"(y))
TK_GRAD2(tex2DLayered, "a2d", "{%5, %6, %7, %7}", "{%8, %9}, {%10, %11}", (float x, float y, int l), "r"(l), "f"(x),
         "f"(y))
TK_SHAPE(texCubemap, "cube", "{%5, %6, %7, %7}", 8, (float x, float y, float z), "f"(x), "f"(y), "f"(z))
TK_SHAPE(texCubemapLayered, "acube", "{%5, %6, %7, %8}", 9, (float x, float y, float z, int l), "r"(l), "f"(x), "f"(y),
         "f"(z))
TK_TEX(tk_gather_r, "tld4.r.2d", "f32", "{%5, %6}]", (TK_H, float x, float y), "f"(x), "f"(y))
TK_TEX(tk_gather_g, "tld4.g.2d", "f32", "{%5, %6}]", (TK_H, float x, float y), "f"(x), "f"(y))
TK_TEX(tk_gather_b, "tld4.b.2d", "f32", "{%5, %6}]", (TK_H, float x, float y), "f"(x), "f"(y))
TK_TEX(tk_gather_a, "tld4.a.2d", "f32", "{%5, %6}]", (TK_H, float x, float y), "f"(x), "f"(y))
template <class T> TK T tex2Dgather(TK_H, float x, float y, int channel)
{
    return channel == 0   ? tk_gather_r<T>(h, x, y)
           : channel == 1 ? tk_gather_g<T>(h, x, y)
           : channel == 2 ? tk_gather_b<T>(h, x, y)
                          : tk_gather_a<T>(h, x, y);
}
/* The operands, outputs first, come as they stand in an asm. */
#define TK_EDGES(op, text, ...) \
    if (edge == musaBoundaryModeZero) \
        asm volatile(op ".zero" text:__VA_ARGS__ : "memory"); \
    else if (edge == musaBoundaryModeClamp) \
        asm volatile(op ".clamp" text:__VA_ARGS__ : "memory"); \
    else \
        asm volatile(op ".trap" text:__VA_ARGS__ : "memory");
#define TK_READ(name, T, params) \
    template <> __device__ inline T name##read<T>(musaSurfaceObject_t h, TK_ALL params, int edge)
#define TK_WRITE(name, T, params) TK void name##write(T v, musaSurfaceObject_t h, TK_ALL params, int edge)
#define TK_S1(name, geo, at, params, ops, T, type, c, R) \
    TK_READ(name, T, params) \
    { \
        R a; \
        TK_EDGES("suld.b." geo "." type, " {%0}, [%[h], " at "];", "=" c(a) : [h] "l"(h), TK_ALL ops) \
        return (T)a; \
    } \
    TK_WRITE(name, T, params) \
    { \
        TK_EDGES("sust.b." geo "." type, " [%[h], " at "], {%[a]};", : [h] "l"(h), [a] c((R)v), TK_ALL ops) \
    }
#define TK_S2(name, geo, at, params, ops, T, type, c, R) \
    TK_READ(name, T, params) \
    { \
        R a, b; \
        TK_EDGES("suld.b." geo ".v2." type, " {%0, %1}, [%[h], " at "];", "=" c(a), "=" c(b) : [h] "l"(h), TK_ALL ops) \
        T v; \
        v.x = a, v.y = b; \
        return v; \
    } \
    TK_WRITE(name, T, params) \
    { \
        TK_EDGES("sust.b." geo ".v2." type, " [%[h], " at "], {%[a], %[b]};", \
                 : [h] "l"(h), [a] c((R)v.x), [b] c((R)v.y), TK_ALL ops) \
    }
#define TK_S4(name, geo, at, params, ops, T, type, c, R) \
    TK_READ(name, T, params) \
    { \
        R a, b, d, e; \
        TK_EDGES("suld.b." geo ".v4." type, " {%0, %1, %2, %3}, [%[h], " at "];", "=" c(a), "=" c(b), "=" c(d), \
                 "=" c(e) \
                 : [h] "l"(h), TK_ALL ops) \
        T v; \
        v.x = a, v.y = b, v.z = d, v.w = e; \
        return v; \
    } \
    TK_WRITE(name, T, params) \
    { \
        TK_EDGES("sust.b." geo ".v4." type, " [%[h], " at "], {%[a], %[b], %[d], %[e]};", \
                 : [h] "l"(h), [a] c((R)v.x), [b] c((R)v.y), [d] c((R)v.z), [e] c((R)v.w), TK_ALL ops) \
    }
#define TK_SURFACE(name, geo, at, params, ops) \
    template <class T> __device__ T name##read(musaSurfaceObject_t, TK_ALL params, int edge); \
    TK_S1(name, geo, at, params, ops, unsigned char, "b8", "h", unsigned short) \
    TK_S1(name, geo, at, params, ops, unsigned short, "b16", "h", unsigned short) \
    TK_S1(name, geo, at, params, ops, unsigned, "b32", "r", unsigned) \
    TK_S1(name, geo, at, params, ops, tk_u64, "b64", "l", tk_u64) \
    TK_S2(name, geo, at, params, ops, uchar2, "b8", "h", unsigned short) \
    TK_S2(name, geo, at, params, ops, ushort2, "b16", "h", unsigned short) \
    TK_S2(name, geo, at, params, ops, uint2, "b32", "r", unsigned) \
    TK_S2(name, geo, at, params, ops, ulonglong2, "b64", "l", tk_u64) \
    TK_S4(name, geo, at, params, ops, uchar4, "b8", "h", unsigned short) \
    TK_S4(name, geo, at, params, ops, ushort4, "b16", "h", unsigned short) \
    TK_S4(name, geo, at, params, ops, uint4, "b32", "r", unsigned)
TK_SURFACE(surf1D, "1d", "{%[x]}", (int x), ([x] "r"(x)))
TK_SURFACE(surf2D, "2d", "{%[x], %[y]}", (int x, int y), ([x] "r"(x), [y] "r"(y)))
TK_SURFACE(surf3D, "3d", "{%[x], %[y], %[z], %[z]}", (int x, int y, int z), ([x] "r"(x), [y] "r"(y), [z] "r"(z)))
TK_SURFACE(surf1DLayered, "a1d", "{%[l], %[x]}", (int x, int l), ([x] "r"(x), [l] "r"(l)))
TK_SURFACE(surf2DLayered, "a2d", "{%[l], %[x], %[y], %[y]}", (int x, int y, int l),
           ([x] "r"(x), [y] "r"(y), [l] "r"(l)))
#endif
