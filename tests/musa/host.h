/* The platform part of emitted kernels for the host's C++ compiler: one thread runs at a time, on a fiber, and
 * what threads do together goes through the machine of machine.c. Approximations are tier 0's handlers. */
#include "musa/machine.h"
#include <math.h>
#include <stdint.h>

#define CM_FN static inline __attribute__((unused))
#define CM_CALLED static inline __attribute__((unused, noinline))
#define CM_METHOD inline
#define CM_KERNEL extern "C"
#define CM_GLOBAL __attribute__((visibility("default")))
#define CM_SHARED(n)
#define CM_SHARED_EXTERN
#define CM_SHARED_WORDS(name, n) static cm::u64 name[n]; /* one block runs at a time */
#define CM_STATIC static
#define CM_EXTERNS(n) \
    extern "C" { \
    CM_GLOBAL cm::u64 cumu_externs[n]; \
    }
#define CM_WORKSPACE
#define CM_STACK 4096
#define CM_WARP 32
#define CM_TEXTURE ull
#define CM_SURFACE ull
#define CM_EDGE_TRAP 0
#define CM_EDGE_CLAMP 1
#define CM_EDGE_ZERO 2
#define shared_memory (cm_machine->shared)
#define CM_BOUNDS(n) __attribute__((visibility("default")))
#define CM_NAN32(x) 0x7fffffffu

extern "C" __attribute__((visibility("default"))) struct machine *cm_machine;
struct machine *cm_machine;

namespace cm
{
typedef unsigned long long ull;
CM_FN unsigned tid(int k) { return cm_machine->tid[k]; }
CM_FN unsigned ntid(int k) { return cm_machine->ntid[k]; }
CM_FN unsigned ctaid(int k) { return cm_machine->ctaid[k]; }
CM_FN unsigned nctaid(int k) { return cm_machine->nctaid[k]; }

#define CM_ROUNDINGS(name, T, params, expr) \
    CM_FN T name##_rn params { return expr; } \
    CM_IN_MODE(name##_rz, T, params, 3, expr) \
    CM_IN_MODE(name##_rd, T, params, 1, expr) \
    CM_IN_MODE(name##_ru, T, params, 2, expr)
/* Operands are read and the result is written between the changes of the mode. */
#define CM_IN_MODE(name, T, params, mode, expr) \
    CM_FN T name params \
    { \
        const unsigned before = cm_machine->round(mode); \
        volatile T r = expr; \
        cm_machine->round(before); \
        return r; \
    }
#define CM_VOL(T, x) (*(volatile T *)&(x))
#define CM_FP(p, T, s) \
    CM_ROUNDINGS(__##p##add, T, (T a, T b), CM_VOL(T, a) + CM_VOL(T, b)) \
    CM_ROUNDINGS(__##p##sub, T, (T a, T b), CM_VOL(T, a) - CM_VOL(T, b)) \
    CM_ROUNDINGS(__##p##mul, T, (T a, T b), CM_VOL(T, a) * CM_VOL(T, b)) \
    CM_ROUNDINGS(__##p##div, T, (T a, T b), CM_VOL(T, a) / CM_VOL(T, b)) \
    CM_ROUNDINGS(__##p##rcp, T, (T a), (T)1 / CM_VOL(T, a)) \
    CM_ROUNDINGS(__##p##sqrt, T, (T a), __builtin_sqrt##s(CM_VOL(T, a)))
CM_FP(f, float, f)
CM_FP(d, double, )
CM_ROUNDINGS(__fmaf, float, (float a, float b, float c),
             __builtin_fmaf(CM_VOL(float, a), CM_VOL(float, b), CM_VOL(float, c)))
CM_ROUNDINGS(__fma, double, (double a, double b, double c),
             __builtin_fma(CM_VOL(double, a), CM_VOL(double, b), CM_VOL(double, c)))

#define CM_BY_TIER0(name, which) \
    CM_FN float name(float x) \
    { \
        union { \
            float f; \
            unsigned u; \
        } v = {x}; \
        v.u = cm_machine->approx(which, v.u); \
        return v.f; \
    }
CM_BY_TIER0(approx_rsqrt, 0)
CM_BY_TIER0(approx_ex2, 1)
CM_BY_TIER0(approx_lg2, 2)
CM_BY_TIER0(approx_sin, 3)
CM_BY_TIER0(approx_cos, 4)
CM_BY_TIER0(approx_tanh, 5)
CM_FN double approx_rsqrt64(double x) { return 1.0 / __builtin_sqrt(x); }

CM_FN unsigned sm_id() { return 0; }
CM_FN unsigned sm_count() { return 1; }
CM_FN ull grid_id() { return cm_machine->grid_id; }
CM_FN unsigned dynamic_shared() { return cm_machine->dynamic_shared; }
CM_FN unsigned total_shared() { return cm_machine->total_shared; }
CM_FN unsigned envreg1() { return (unsigned)(cm_machine->envreg12 >> 32); }
CM_FN unsigned envreg2() { return (unsigned)cm_machine->envreg12; }
CM_FN ull timer() { return cm_machine->clock(1); }
CM_FN ull clock_now() { return cm_machine->clock(0); }

CM_FN void bar_all(unsigned id) { cm_machine->barrier(id, 0, 0, 0); }
CM_FN unsigned bar_popc(unsigned id, bool p) { return cm_machine->barrier(id, 0, 2, p); }
CM_FN bool bar_and(unsigned id, bool p) { return cm_machine->barrier(id, 0, 3, p) != 0; }
CM_FN bool bar_or(unsigned id, bool p) { return cm_machine->barrier(id, 0, 4, p) != 0; }
#ifndef CM_SOFT /* else those of the prelude */
#define CM_NAMED_BARRIERS
CM_FN void bar_count(unsigned id, unsigned n) { cm_machine->barrier(id, n, 0, 0); }
CM_FN void bar_arrive(unsigned id, unsigned n) { cm_machine->barrier(id, n, 1, 0); }
CM_FN unsigned bar_count_popc(unsigned id, unsigned n, bool p) { return cm_machine->barrier(id, n, 2, p); }
CM_FN bool bar_count_and(unsigned id, unsigned n, bool p) { return cm_machine->barrier(id, n, 3, p) != 0; }
CM_FN bool bar_count_or(unsigned id, unsigned n, bool p) { return cm_machine->barrier(id, n, 4, p) != 0; }
#endif
CM_FN unsigned shfl_idx(unsigned mask, unsigned v, unsigned lane)
{
    cm_machine->shuffles++;
    return cm_machine->warp(0, mask, v, lane);
}
CM_FN unsigned ballot(unsigned mask, bool p) { return cm_machine->warp(1, mask, p, 0); }
CM_FN unsigned active_mask() { return cm_machine->warp(2, 0, 0, 0); }
CM_FN void warp_sync(unsigned mask) { cm_machine->warp(1, mask, 0, 0); }
CM_FN bool in_shared(ull a) { return a - (ull)cm_machine->shared < cm_machine->shared_room; }
CM_FN void pause() { cm_machine->wait(); }
CM_FN void spin() { cm_machine->wait(); }
CM_FN void trap() { cm_machine->end(0, 0, 0, 0); }
CM_FN void fence(int) { __sync_synchronize(); }
CM_FN unsigned cas(unsigned *p, unsigned old, unsigned v)
{
    spin();
    return __sync_val_compare_and_swap(p, old, v);
}
CM_FN ull cas(ull *p, ull old, ull v)
{
    spin();
    return __sync_val_compare_and_swap(p, old, v);
}
CM_FN unsigned add(unsigned *p, unsigned v) { return __sync_fetch_and_add(p, v); }
CM_FN ull add(ull *p, ull v) { return __sync_fetch_and_add(p, v); }
CM_FN unsigned swap(unsigned *p, unsigned v) { return __sync_lock_test_and_set(p, v); }
CM_FN ull swap(ull *p, ull v) { return __sync_lock_test_and_set(p, v); }
CM_FN int print(ull format, ull args) { return cm_machine->print((const char *)format, (const unsigned char *)args); }
CM_FN void assert_fail(ull message, ull file, unsigned line, ull function)
{
    cm_machine->end((const char *)message, (const char *)file, line, (const char *)function);
}
CM_FN ull heap_alloc(ull n) { return (ull)cm_machine->alloc(n); }
CM_FN void heap_free(ull p) { cm_machine->release((void *)p); }

#include "musa/native.h"

/* ---- textures and surfaces: by tier 0's functions ---- */
struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct int4 {
    int x, y, z, w;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct uint2 {
    unsigned x, y;
};
struct ushort2 {
    unsigned short x, y;
};
struct ushort4 {
    unsigned short x, y, z, w;
};
struct uchar2 {
    unsigned char x, y;
};
struct uchar4 {
    unsigned char x, y, z, w;
};
struct ulonglong2 {
    ull x, y;
};
CM_FN float2 make_float2(float x, float y)
{
    float2 v = {x, y};
    return v;
}
CM_FN float4 make_float4(float x, float y, float z, float w)
{
    float4 v = {x, y, z, w};
    return v;
}

/* Geometries and modes by tier 0's numbers; at: x y z, layer, level, dx, dy. */
struct cm_place {
    union {
        float f;
        int i;
    } at[11];
    unsigned form;
    cm_place(unsigned geometry, unsigned mode, int layer) : at(), form(geometry | mode << 4) { at[3].i = layer; }
    cm_place &xyz(float x, float y = 0, float z = 0)
    {
        at[0].f = x;
        at[1].f = y;
        at[2].f = z;
        return *this;
    }
    cm_place &lod(float v)
    {
        at[4].f = v;
        return *this;
    }
    cm_place &grad(float a, float b)
    {
        at[5].f = a;
        at[8].f = b;
        return *this;
    }
    cm_place &grad(float2 a, float2 b)
    {
        at[6].f = a.y;
        at[9].f = b.y;
        return grad(a.x, b.x);
    }
    cm_place &grad(float4 a, float4 b)
    {
        at[6].f = a.y;
        at[7].f = a.z;
        at[9].f = b.y;
        at[10].f = b.z;
        return grad(a.x, b.x);
    }
    template <class T> T fetch(ull h) const
    {
        T v;
        cm_machine->texture(h, form, (const unsigned *)at, (unsigned *)&v);
        return v;
    }
};
template <class T> T tex1Dfetch(ull h, int x)
{
    cm_place p(8, 0, 0);
    p.at[0].i = x;
    return p.fetch<T>(h);
}
template <class T> T tex2Dgather(ull h, float x, float y, int channel)
{
    return cm_place(1 | (unsigned)channel << 8, 3, 0).xyz(x, y).fetch<T>(h);
}
#define CM_TEX(name, geometry, layer, coordinates, G, ...) \
    template <class T> T name(ull h, __VA_ARGS__) { return cm_place(geometry, 0, layer).xyz coordinates.fetch<T>(h); } \
    template <class T> T name##Lod(ull h, __VA_ARGS__, float lod) \
    { \
        return cm_place(geometry, 1, layer).xyz coordinates.lod(lod).fetch<T>(h); \
    } \
    template <class T> T name##Grad(ull h, __VA_ARGS__, G dx, G dy) \
    { \
        return cm_place(geometry, 2, layer).xyz coordinates.grad(dx, dy).fetch<T>(h); \
    }
CM_TEX(tex1D, 0, 0, (x), float, float x)
CM_TEX(tex2D, 1, 0, (x, y), float2, float x, float y)
CM_TEX(tex3D, 2, 0, (x, y, z), float4, float x, float y, float z)
CM_TEX(tex1DLayered, 3, layer, (x), float, float x, int layer)
CM_TEX(tex2DLayered, 4, layer, (x, y), float2, float x, float y, int layer)
CM_TEX(texCubemap, 5, 0, (x, y, z), float4, float x, float y, float z)
CM_TEX(texCubemapLayered, 6, layer, (x, y, z), float4, float x, float y, float z, int layer)

template <class T> T cm_load(ull h, unsigned geometry, int x, int y, int z, int edge)
{
    T v;
    void *p = cm_machine->surface(h, geometry, x, y, z, sizeof(T), edge);
    if (p)
        __builtin_memcpy(&v, p, sizeof v);
    else
        __builtin_memset(&v, 0, sizeof v);
    return v;
}
template <class T> void cm_store(T v, ull h, unsigned geometry, int x, int y, int z, int edge)
{
    void *p = cm_machine->surface(h, geometry, x, y, z, sizeof(T), edge);
    if (p)
        __builtin_memcpy(p, &v, sizeof v);
}
#define CM_SURF(name, geometry, x, y, z, ...) \
    template <class T> T name##read(ull h, __VA_ARGS__, int edge) { return cm_load<T>(h, geometry, x, y, z, edge); } \
    template <class T> void name##write(T v, ull h, __VA_ARGS__, int edge) { cm_store(v, h, geometry, x, y, z, edge); }
CM_SURF(surf1D, 0, x, 0, 0, int x)
CM_SURF(surf2D, 1, x, y, 0, int x, int y)
CM_SURF(surf3D, 2, x, y, z, int x, int y, int z)
CM_SURF(surf1DLayered, 3, x, 0, layer, int x, int layer)
CM_SURF(surf2DLayered, 4, x, y, layer, int x, int y, int layer)
} // namespace cm
