/* The prelude of emitted kernels, first part: every name that a toolkit must give, in one place. Tags are
 * those of mapping/facts/musa.md (D8): [D] vendor documentation, [E] seen in public code that was compiled with the
 * SDK, [I] inferred from the CUDA name. The CUDA half serves the round trip of the tests; a host
 * compiler brings its own half as CM_PLATFORM. */
#if defined(CM_PLATFORM)
#include CM_PLATFORM
#else
#if defined(__has_include)
#if __has_include(<musa_runtime.h>)
#include <musa_runtime.h> /* [E] what sources for mcc begin with */
#endif
#endif
#if defined(CM_USE_HALF2) || defined(CM_USE_ATOMIC16)
#include <musa_fp16.h> /* [E] of __half and __half2 */
#endif
#define CM_FN static __device__ __forceinline__
#define CM_CALLED static __device__ __noinline__
#define CM_METHOD __device__ __forceinline__
#define CM_KERNEL extern "C" __global__
#define CM_GLOBAL __device__
#define CM_SHARED(n) static __shared__ __align__(128) unsigned char shared_memory[n];
#define CM_SHARED_EXTERN extern __shared__ __align__(128) unsigned char shared_memory[];
#define CM_SHARED_WORDS(name, n) static __shared__ cm::u64 name[n];
#define CM_STATIC static __device__
#define CM_EXTERNS(n) \
    extern "C" { \
    CM_GLOBAL cm::u64 cumu_externs[n]; \
    }
#define CM_BOUNDS(n) __launch_bounds__(n)
#define CM_STACK 4096 /* bytes that a function may allocate when it runs, in each thread */
/* Every NaN that arithmetic makes is one NaN on NVIDIA's devices. Programs do not look. */
#define CM_NAN32(x) (x)

namespace cm
{
CM_FN unsigned tid(int k) { return k == 0 ? threadIdx.x : k == 1 ? threadIdx.y : threadIdx.z; }
CM_FN unsigned ntid(int k) { return k == 0 ? blockDim.x : k == 1 ? blockDim.y : blockDim.z; }
CM_FN unsigned ctaid(int k) { return k == 0 ? blockIdx.x : k == 1 ? blockIdx.y : blockIdx.z; }
CM_FN unsigned nctaid(int k) { return k == 0 ? gridDim.x : k == 1 ? gridDim.y : gridDim.z; }

#if defined(__CUDACC__)
#define CM_NAMED_BARRIERS
#define CM_WARP 32
#define CM_WORKSPACE
#define CM_TEXTURE cudaTextureObject_t
#define CM_SURFACE cudaSurfaceObject_t
#define CM_EDGE_TRAP cudaBoundaryModeTrap
#define CM_EDGE_CLAMP cudaBoundaryModeClamp
#define CM_EDGE_ZERO cudaBoundaryModeZero
#define CM_ASM1(name, T, c, text) \
    CM_FN T name(T x) \
    { \
        T r; \
        asm(text " %0, %1;" : "=" c(r) : c(x)); \
        return r; \
    }
CM_ASM1(approx_rsqrt, float, "f", "rsqrt.approx.f32")
CM_ASM1(approx_ex2, float, "f", "ex2.approx.f32")
CM_ASM1(approx_lg2, float, "f", "lg2.approx.f32")
CM_ASM1(approx_sin, float, "f", "sin.approx.f32")
CM_ASM1(approx_cos, float, "f", "cos.approx.f32")
CM_ASM1(approx_tanh, float, "f", "tanh.approx.f32")
CM_ASM1(approx_rsqrt64, double, "d", "rsqrt.approx.f64")
CM_FN unsigned sm_id()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
    return r;
}
CM_FN unsigned sm_count()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(r));
    return r;
}
CM_FN unsigned long long grid_id()
{
    unsigned long long r;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(r));
    return r;
}
CM_FN unsigned launched_shared()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(r));
    return r;
}
#define dynamic_shared() (launched_shared() - CM_IN_FRONT) /* less what launches add for the static part */
CM_FN unsigned total_shared()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(r));
    return r;
}
CM_FN unsigned envreg1()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(r));
    return r;
}
CM_FN unsigned envreg2()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(r));
    return r;
}
CM_FN unsigned long long timer()
{
    unsigned long long r;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(r));
    return r;
}
CM_FN void bar_count(unsigned id, unsigned n) { asm volatile("barrier.sync %0, %1;" : : "r"(id), "r"(n) : "memory"); }
CM_FN void bar_arrive(unsigned id, unsigned n)
{
    asm volatile("barrier.arrive %0, %1;" : : "r"(id), "r"(n) : "memory");
}
CM_FN void bar_all(unsigned id) { asm volatile("barrier.sync %0;" : : "r"(id) : "memory"); }
CM_FN unsigned bar_count_popc(unsigned id, unsigned n, bool p)
{
    unsigned r;
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %3, 0; barrier.red.popc.u32 %0, %1, %2, q; }"
                 : "=r"(r)
                 : "r"(id), "r"(n), "r"((unsigned)p)
                 : "memory");
    return r;
}
#define CM_ASM_BAR(name, op) \
    CM_FN bool name(unsigned id, unsigned n, bool p) \
    { \
        unsigned r; \
        asm volatile("{ .reg .pred q; setp.ne.u32 q, %3, 0; barrier.red." op ".pred q, %1, %2, q; " \
                     "selp.u32 %0, 1, 0, q; }" \
                     : "=r"(r) \
                     : "r"(id), "r"(n), "r"((unsigned)p) \
                     : "memory"); \
        return r != 0; \
    }
CM_ASM_BAR(bar_count_and, "and")
CM_ASM_BAR(bar_count_or, "or")
CM_FN unsigned shfl_idx(unsigned mask, unsigned v, unsigned lane) { return __shfl_sync(mask, v, (int)lane, 32); }
CM_FN unsigned ballot(unsigned mask, bool p) { return __ballot_sync(mask, p); }
CM_FN unsigned active_mask() { return __activemask(); }
CM_FN void warp_sync(unsigned mask) { __syncwarp(mask); }
CM_FN bool in_shared(unsigned long long a) { return __isShared((const void *)a); }
CM_FN void pause() { __nanosleep(20); }
CM_FN void trap() { __trap(); }
#else
/* [E] tex2D, tex1Dfetch and the type, in a port of OpenCV; [I] the other geometries, surfaces */
#define CM_TEXTURE musaTextureObject_t
#define CM_SURFACE musaSurfaceObject_t
#define CM_EDGE_TRAP musaBoundaryModeTrap
#define CM_EDGE_CLAMP musaBoundaryModeClamp
#define CM_EDGE_ZERO musaBoundaryModeZero
/* What grid-wide barriers count in: one for a kernel's module, so one cooperative launch of it at a time. */
#define CM_WORKSPACE \
    namespace cm \
    { \
    static __device__ __align__(512) u64 grid_workspace[64]; \
    CM_FN u32 envreg1() { return (u32)((u64)grid_workspace >> 32); } \
    CM_FN u32 envreg2() { return (u32)(u64)grid_workspace; } \
    }
/* cvt.h takes rint, floor, ceil, trunc and their f forms by the C library's names, [I] as fmaf and fma. */
CM_FN float approx_rsqrt(float x) { return rsqrtf(x); } /* [I] CUDA's names; libdevice has __mt_*_f32 [E] */
CM_FN float approx_ex2(float x) { return exp2f(x); }
CM_FN float approx_lg2(float x) { return log2f(x); }
CM_FN float approx_sin(float x) { return __sinf(x); }
CM_FN float approx_cos(float x) { return __cosf(x); }
CM_FN float approx_tanh(float x) { return tanhf(x); }
CM_FN double approx_rsqrt64(double x) { return rsqrt(x); }
CM_FN unsigned sm_id() { return 0; } /* no counterpart is known; 0 of 1 is a valid answer */
CM_FN unsigned sm_count() { return 1; }
CM_FN unsigned long long grid_id() { return 0; }
CM_FN unsigned long long timer() { return (unsigned long long)clock64(); } /* [E] clock64; its unit is not ns */
CM_FN void bar_all(unsigned) { __syncthreads(); }                          /* [E] one barrier a block */
/* Warps have 128 lanes on mp_21 and mp_22, 32 on mp_31 [E]; PTX knows 32. Width 32 keeps a shuffle inside the
 * thread's own 32 lanes on both [E]; everything else of a warp is made of shuffles where they are 128. */
CM_FN unsigned shfl_idx(unsigned mask, unsigned v, unsigned lane) { return __shfl_sync(mask, v, (int)lane, 32); }
#if defined(__MUSA_ARCH__) && __MUSA_ARCH__ < 310
#define CM_WARP 128
CM_FN unsigned ballot(unsigned mask, bool p)
{
    unsigned r = 0;
    for (unsigned l = 0; l < 32; l++)
        if (mask >> l & 1)
            r |= (shfl_idx(mask, p, l) & 1) << l;
    return r;
}
/* [I] of the warp's 128 bits the thread's own 32, or all if there are no more */
template <class T> CM_FN unsigned quarter(T m)
{
    unsigned l = tid(0) + ntid(0) * (tid(1) + ntid(1) * tid(2));
    return sizeof(T) > 4 ? (unsigned)(m >> (l & 96 & (8 * sizeof(T) - 1))) : (unsigned)m;
}
CM_FN unsigned active_mask() { return quarter(__activemask()); }
#else
#define CM_WARP 32
CM_FN unsigned ballot(unsigned mask, bool p) { return __ballot_sync(mask, p); } /* [I] as CUDA's */
CM_FN unsigned active_mask() { return __activemask(); }                         /* [E] missing in some toolkits */
#endif
CM_FN void warp_sync(unsigned) { __syncwarp(); }                                               /* [I] */
CM_FN bool in_shared(unsigned long long a) { return __musa_isspacep_shared((const void *)a); } /* [E] */
CM_FN void pause() {}
/* A kernel that merely holds __trap goes wrong with 4.3.x [E]: a store to nowhere ends it as well. */
CM_FN void trap() { *(volatile int *)0 = 0; }
#endif

CM_FN void spin() {} /* a loop that waits has come round */
CM_FN unsigned long long clock_now() { return (unsigned long long)clock64(); }
/* 0: the block, 1: the device, 2: the system */
CM_FN void fence(int who)
{
    if (who == 2)
        __threadfence_system();
    else if (who == 1)
        __threadfence();
    else
        __threadfence_block();
}
CM_FN unsigned bar_popc(unsigned, bool p) { return (unsigned)__syncthreads_count(p); }
CM_FN bool bar_and(unsigned, bool p) { return __syncthreads_and(p) != 0; }
CM_FN bool bar_or(unsigned, bool p) { return __syncthreads_or(p) != 0; }
CM_FN unsigned cas(unsigned *p, unsigned old, unsigned v) { return atomicCAS(p, old, v); }
CM_FN unsigned long long cas(unsigned long long *p, unsigned long long old, unsigned long long v)
{
    return atomicCAS(p, old, v);
}
CM_FN unsigned add(unsigned *p, unsigned v) { return atomicAdd(p, v); }
CM_FN unsigned long long add(unsigned long long *p, unsigned long long v) { return atomicAdd(p, v); }
CM_FN unsigned swap(unsigned *p, unsigned v) { return atomicExch(p, v); }
CM_FN unsigned long long swap(unsigned long long *p, unsigned long long v) { return atomicExch(p, v); }
extern "C" __device__ int vprintf(const char *, const char *); /* [I] what clang makes of a device printf */
CM_FN int print(unsigned long long format, unsigned long long args)
{
    return vprintf((const char *)format, (const char *)args);
}
CM_FN void assert_fail(unsigned long long message, unsigned long long file, unsigned line, unsigned long long function)
{
    struct {
        const char *file;
        unsigned line;
        const char *function, *message;
    } a = {(const char *)file, line, (const char *)function, (const char *)message};
    vprintf("%s:%u: %s: Assertion `%s` failed.\n", (const char *)&a);
    trap();
}
CM_FN unsigned long long heap_alloc(unsigned long long n)
{
    void *volatile p = malloc(n); /* kept: compilers take out one that is only compared with NULL */
    return (unsigned long long)p;
}
CM_FN void heap_free(unsigned long long p) { free((void *)p); }
} // namespace cm
#endif
