/* The platform part of emitted kernels for the host's C++ compiler: one thread runs at a time, on a fiber, and
 * what threads do together goes through the machine of machine.c. Approximations are tier 0's handlers. */
#include "musa/machine.h"
#include <math.h>
#include <stdint.h>

#define CM_FN static inline __attribute__((unused))
#define CM_CALLED static __attribute__((unused, noinline))
#define CM_KERNEL extern "C"
#define CM_GLOBAL __attribute__((visibility("default")))
#define CM_SHARED(n)
#define CM_SHARED_EXTERN
#define shared_memory (cm_machine->shared)
#define CM_BOUNDS(n) __attribute__((visibility("default")))
#define CM_NAN32(x) 0x7fffffffu

extern "C" __attribute__((visibility("default"))) struct machine *cm_machine;
struct machine *cm_machine;

namespace cm {
typedef unsigned long long ull;
CM_FN unsigned tid(int k) { return cm_machine->tid[k]; }
CM_FN unsigned ntid(int k) { return cm_machine->ntid[k]; }
CM_FN unsigned ctaid(int k) { return cm_machine->ctaid[k]; }
CM_FN unsigned nctaid(int k) { return cm_machine->nctaid[k]; }

#define CM_ROUNDINGS(name, T, params, expr)                                                        \
    CM_FN T name##_rn params { return expr; }                                                      \
    CM_FN T name##_rz params { unsigned o = cm_machine->round(3); T r = expr; cm_machine->round(o); return r; } \
    CM_FN T name##_rd params { unsigned o = cm_machine->round(1); T r = expr; cm_machine->round(o); return r; } \
    CM_FN T name##_ru params { unsigned o = cm_machine->round(2); T r = expr; cm_machine->round(o); return r; }
#define CM_VOL(T, x) (*(volatile T *)&(x)) /* read between the changes of the mode */
#define CM_FP(p, T, s)                                                                             \
    CM_ROUNDINGS(__##p##add, T, (T a, T b), CM_VOL(T, a) + CM_VOL(T, b))                           \
    CM_ROUNDINGS(__##p##sub, T, (T a, T b), CM_VOL(T, a) - CM_VOL(T, b))                           \
    CM_ROUNDINGS(__##p##mul, T, (T a, T b), CM_VOL(T, a) * CM_VOL(T, b))                           \
    CM_ROUNDINGS(__##p##div, T, (T a, T b), CM_VOL(T, a) / CM_VOL(T, b))                           \
    CM_ROUNDINGS(__##p##rcp, T, (T a), (T)1 / CM_VOL(T, a))                                        \
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
CM_FN void bar_count(unsigned id, unsigned n) { cm_machine->barrier(id, n, 0, 0); }
CM_FN void bar_arrive(unsigned id, unsigned n) { cm_machine->barrier(id, n, 1, 0); }
CM_FN unsigned bar_popc(unsigned id, bool p) { return cm_machine->barrier(id, 0, 2, p); }
CM_FN bool bar_and(unsigned id, bool p) { return cm_machine->barrier(id, 0, 3, p) != 0; }
CM_FN bool bar_or(unsigned id, bool p) { return cm_machine->barrier(id, 0, 4, p) != 0; }
CM_FN unsigned shfl_idx(unsigned mask, unsigned v, unsigned lane) { return cm_machine->warp(0, mask, v, lane); }
CM_FN unsigned ballot(unsigned mask, bool p) { return cm_machine->warp(1, mask, p, 0); }
CM_FN unsigned active_mask() { return cm_machine->warp(2, 0, 0, 0); }
CM_FN void warp_sync(unsigned mask) { cm_machine->warp(1, mask, 0, 0); }
CM_FN bool in_shared(ull a) { return a - (ull)cm_machine->shared < cm_machine->shared_room; }
CM_FN void pause() { cm_machine->wait(); }
CM_FN void spin() { cm_machine->wait(); }
CM_FN void trap() { cm_machine->end(0, 0, 0, 0); }
CM_FN void fence(int) { __sync_synchronize(); }
CM_FN unsigned cas(unsigned *p, unsigned old, unsigned v) { spin(); return __sync_val_compare_and_swap(p, old, v); }
CM_FN ull cas(ull *p, ull old, ull v) { spin(); return __sync_val_compare_and_swap(p, old, v); }
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
} // namespace cm
