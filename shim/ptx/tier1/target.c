/* Tier 1: what decides which object serves a launch: the class of its block's shape, the CPU's vectors. */
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "ptx/tier1/tier1.h"

enum t1_shape t1_shape(const uint32_t block[3])
{
    bool flat = block[1] == 1 && block[2] == 1, whole = block[0] * block[1] * block[2] % 32 == 0;
    return block[0] % 32 == 0            ? T1_SHAPE_LINEAR
           : block[0] % 16 == 0 && whole ? T1_SHAPE_HALF
           : flat                        ? T1_SHAPE_FLAT
                                         : T1_SHAPE_ANY;
}

bool t1_shape_fits(enum t1_shape object, const uint32_t block[3])
{
    enum t1_shape shape = t1_shape(block);
    return object == T1_SHAPE_ANY || object == shape || (object == T1_SHAPE_FLAT && shape == T1_SHAPE_LINEAR);
}

#if defined(__x86_64__)
/* clang 14 does not know it as a feature to ask for. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

enum t1_isa t1_isa_here(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && has_f16c();
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
        return T1_AVX512;
    if (avx2)
        return T1_AVX2;
#endif
    return T1_PLAIN;
}
