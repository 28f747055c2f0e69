/* Chooses the arithmetic handlers of this CPU once: baseline, AVX2 with FMA, or AVX-512. */
#include "ptx/tier0/handler.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#define LIR_OP(id, operands) t0_handler t0_alu_l1_##id;
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
#if defined(__x86_64__)
#define LIR_OP(id, operands) t0_handler t0_alu_l3_##id, t0_alu_l4_##id;
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
#endif

static t0_handler *const level1[] = {
#define LIR_OP(id, operands) [LIR_##id] = t0_alu_l1_##id,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};
#if defined(__x86_64__)
static t0_handler *const level3[] = {
#define LIR_OP(id, operands) [LIR_##id] = t0_alu_l3_##id,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};
static t0_handler *const level4[] = {
#define LIR_OP(id, operands) [LIR_##id] = t0_alu_l4_##id,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};
#endif
enum { NALU = sizeof level1 / sizeof level1[0] };

int t0_alu_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512cd")
               ? 4
               : 3;
#else
    return 1;
#endif
}

void t0_alu_handlers_level(t0_handler *table[LIR_NOPS], int level)
{
    t0_handler *const *from = level1;
#if defined(__x86_64__)
    from = level >= 4 ? level4 : level >= 3 ? level3 : level1;
#else
    (void)level;
#endif
    for (unsigned op = 1; op < NALU; op++)
        table[op] = from[op];
}

void t0_alu_handlers(t0_handler *table[LIR_NOPS]) { t0_alu_handlers_level(table, t0_alu_level()); }

#if defined(__x86_64__)
unsigned t0_fp_enter(void)
{
    unsigned old = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return old;
}
void t0_fp_leave(unsigned old) { _mm_setcsr(old); }
#else
unsigned t0_fp_enter(void)
{
    int old = fegetround();
    fesetround(FE_TONEAREST);
    return (unsigned)old;
}
void t0_fp_leave(unsigned old) { fesetround((int)old); }
#endif
