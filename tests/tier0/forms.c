/* Ways to write operands, declarations and calls that ptxas takes and that nvcc itself seldom uses. */
#include "tier0/kernels.h"

static uint32_t mix(const uint32_t *v, unsigned n)
{
    uint32_t sum = 0;
    while (n--)
        sum = sum * 33 + v[n];
    return sum;
}

/* ---- vectors whose registers overlap: every source is read before any result is written ---- */

#define MIX2(a, b) "mad.lo.u32 %r40, " b ", 33, " a ";\n" STORE("%r40")
#define MIX4(a, b, c, d) \
    "mad.lo.u32 %r40, " d ", 33, " c "; mad.lo.u32 %r40, %r40, 33, " b "; mad.lo.u32 %r40, %r40, 33, " a ";\n" \
    STORE("%r40")
#define FOUR "ld.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, 5; xor.b32 %r4, %r2, 0x99; not.b32 %r5, %r2;\n"
static void four(uint32_t i, uint32_t v[4])
{
    v[0] = in[i];
    v[1] = in[i] + 5;
    v[2] = in[i] ^ 0x99;
    v[3] = ~in[i];
}

static const char swap2[] = KERNEL(FOUR "mov.v2.u32 {%r2, %r3}, {%r3, %r2};\n" MIX2("%r2", "%r3"));
static uint32_t swap2_want(uint32_t i)
{
    uint32_t v[4];
    four(i, v);
    return mix((uint32_t[]){v[1], v[0]}, 2);
}

static const char rotate4[] =
    KERNEL(FOUR "mov.v4.b32 {%r2, %r3, %r4, %r5}, {%r3, %r4, %r5, %r2};\n" MIX4("%r2", "%r3", "%r4", "%r5"));
static uint32_t rotate4_want(uint32_t i)
{
    uint32_t v[4];
    four(i, v);
    return mix((uint32_t[]){v[1], v[2], v[3], v[0]}, 4);
}

/* a chain, a cycle of two, and a source that is read twice */
static const char chain4[] =
    KERNEL(FOUR "setp.lt.u32 %p1, %r1, 40; @%p1 mov.v4.u32 {%r2, %r3, %r4, %r5}, {%r3, %r2, %r2, %r4};\n"
                MIX4("%r2", "%r3", "%r4", "%r5"));
static uint32_t chain4_want(uint32_t i)
{
    uint32_t v[4];
    four(i, v);
    return i % 64 < 40 ? mix((uint32_t[]){v[1], v[0], v[0], v[2]}, 4) : mix(v, 4);
}

static const char cycles[] = KERNEL(
    FOUR ".reg .v4.f32 %v; mov.v4.b32 %v, {%r2, %r3, %r4, %r5}; mov.v4.f32 {%v.x, %v.y, %v.z, %v.w}, "
         "{%v.y, %v.x, %v.w, %v.z}; mov.v2.b32 {%r6, _}, {%v.w, %v.x};\n"
         "mov.b32 %r2, %v.x; mov.b32 %r3, %v.y; mov.b32 %r4, %v.z;\n" MIX4("%r2", "%r3", "%r4", "%r6"));
static uint32_t cycles_want(uint32_t i)
{
    uint32_t v[4];
    four(i, v);
    return mix((uint32_t[]){v[1], v[0], v[3], v[2]}, 4);
}

/* wide elements, and a vector load over its own address */
static const char wide[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; cvt.u64.u32 %rd5, %r2; mov.u64 %rd6, 7; mov.v2.b64 {%rd5, %rd6}, {%rd6, %rd5};\n"
    "cvt.u32.u64 %r2, %rd5; cvt.u32.u64 %r3, %rd6; and.b64 %rd7, %rd1, -16; ld.global.v2.u64 {%rd7, %rd8}, [%rd7];\n"
    "cvt.u32.u64 %r4, %rd7; cvt.u32.u64 %r5, %rd8;\n" MIX4("%r2", "%r3", "%r4", "%r5"));
static uint32_t wide_want(uint32_t i)
{
    return mix((uint32_t[]){7, in[i], in[i & ~3u], in[(i & ~3u) + 2]}, 4);
}

/* The first element's old value lands where the second's operand is. */
static const char atom2[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; and.b32 %r2, %r2, 1023; cvt.rn.f32.u32 %f1, %r2; mov.f32 %f2, 0f41200000;\n"
    "shl.b64 %rd6, %rd32, 1; add.u64 %rd6, %rd30, %rd6; add.u64 %rd6, %rd6, 8192; st.global.v2.f32 [%rd6], {%f2, %f1};\n"
    "atom.global.add.v2.f32 {%f1, %f2}, [%rd6], {%f2, %f1};\n"
    "ld.global.v2.f32 {%f3, %f4}, [%rd6]; cvt.rzi.u32.f32 %r2, %f1; cvt.rzi.u32.f32 %r3, %f2;\n"
    "cvt.rzi.u32.f32 %r4, %f3; cvt.rzi.u32.f32 %r5, %f4;\n" MIX4("%r2", "%r3", "%r4", "%r5"));
static uint32_t atom2_want(uint32_t i)
{
    uint32_t x = in[i] & 1023;
    return mix((uint32_t[]){10, x, 20, 2 * x}, 4);
}

static void vectors(void)
{
    expect("mov.v2 {a, b}, {b, a}", swap2, 2, 64, swap2_want);
    expect("mov.v4 that rotates", rotate4, 2, 64, rotate4_want);
    expect("mov.v4 with a cycle, guarded", chain4, 2, 64, chain4_want);
    expect("mov.v4 of two cycles", cycles, 2, 64, cycles_want);
    expect("mov.v2.b64 and a load over its address", wide, 2, 64, wide_want);
    expect("atom.v2 {a, b}, {b, a}", atom2, 2, 64, atom2_want);
}

int main(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u;
    vectors();
    return t0t_done();
}
