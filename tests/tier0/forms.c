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
    "mad.lo.u32 %r40, " d ", 33, " c "; mad.lo.u32 %r40, %r40, 33, " b "; mad.lo.u32 %r40, %r40, 33, " a \
    ";\n" STORE("%r40")
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

static const char rotate4[] = KERNEL(
    FOUR "mov.v4.b32 {%r2, %r3, %r4, %r5}, {%r3, %r4, %r5, %r2};\n" MIX4("%r2", "%r3", "%r4", "%r5"));
static uint32_t rotate4_want(uint32_t i)
{
    uint32_t v[4];
    four(i, v);
    return mix((uint32_t[]){v[1], v[2], v[3], v[0]}, 4);
}

/* a chain, a cycle of two, and a source that is read twice */
static const char chain4[] = KERNEL(
    FOUR "setp.lt.u32 %p1, %r1, 40; @%p1 mov.v4.u32 {%r2, %r3, %r4, %r5}, {%r3, %r2, %r2, %r4};\n" MIX4("%r2", "%r3",
                                                                                                        "%r4", "%r5"));
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
static uint32_t wide_want(uint32_t i) { return mix((uint32_t[]){7, in[i], in[i & ~3u], in[(i & ~3u) + 2]}, 4); }

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

/* ---- operands ---- */

/* predicates whose names have no percent sign, negated */
static const char nots[] = KERNEL(
    ".reg .pred c, d; setp.lt.u32 c, %r1, 20; setp.lt.u32 d, %r1, 40; mov.u32 %r2, 0;\n"
    "setp.lt.and.u32 %p1, %r1, 50, !c; @%p1 or.b32 %r2, %r2, 1; selp.u32 %r3, 2, 0, ! d; or.b32 %r2, %r2, %r3;\n"
    "and.pred %p2, !c, d; @%p2 or.b32 %r2, %r2, 4; vote.sync.any.pred %p3, !d, -1; @%p3 or.b32 %r2, %r2, 8;\n"
    "@!c or.b32 %r2, %r2, 16; mov.u32 %r3, !5; add.u32 %r2, %r2, %r3; bar.red.or.pred %p4, 0, !d;\n"
    "@%p4 or.b32 %r2, %r2, 32;\n" STORE("%r2"));
static uint32_t nots_want(uint32_t i)
{
    uint32_t t = i % 64, c = t < 20, d = t < 40;
    return (t < 50 && !c) | !d << 1 | (!c && d) << 2 | (t >= 32) << 3 | !c << 4 | 32;
}

/* a register and a constant: their sum in the register's width */
static const char sums[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; mov.u32 %r3, %r2+5; selp.u32 %r4, %r2+-7, %r3, %p0; setp.lt.u32 %p1, %r2+0x80000000, 9;\n"
    "mul.lo.u32 %r4, %r3, %r2+1; cvt.u64.u32 %rd5, %r2+1; mov.u64 %rd6, %rd5+0x100000000; shr.u64 %rd6, %rd6, 32;\n"
    "cvt.u32.u64 %r5, %rd6; cvt.u16.u32 %h1, %r2; mov.u16 %h2, %h1+65535; cvt.u32.u16 %r6, %h2;\n"
    "st.global.u32 [%rd0], %r2+3; ld.global.u32 %r7, [%rd0+0]; shl.b32 %r7, %r7+1, 1;\n"
    "mad.lo.u32 %r4, %r4, 3, %r5+1; xor.b32 %r4, %r4, %r6; add.u32 %r4, %r4, %r7;\n" STORE("%r4"));
static uint32_t sums_want(uint32_t i)
{
    uint32_t x = in[i], high = (uint32_t)(((uint64_t)(uint32_t)(x + 1) + 0x100000000) >> 32);
    return (((x + 5) * (x + 1) * 3 + high + 1) ^ ((x + 65535) & 0xffff)) + ((x + 4) << 1);
}

/* registers wider than what goes through them, and the fourth element of a special register */
static const char widths[] = KERNEL(
    "mov.b64 %rd5, -1; ld.global.f32 %rd5, [%rd1]; mov.b64 {%r2, %r3}, %rd5; cvt.rn.f32.u32 %f1, %r0;\n"
    "mov.b32 %r4, -1; cvt.rn.f16.f32 %r4, %f1; or.b32 %r5, %r4, 0x7fff0000; cvt.f32.f16 %f2, %r5;\n"
    "cvt.rzi.u32.f32 %r5, %f2; or.b64 %rd5, %rd5, 0x700000000; st.global.f32 [%rd0], %rd5; ld.global.u32 %r6, [%rd0];\n"
    "mov.u32 %r7, %ntid.w; .reg .v4 .u32 %v; mov.v4.u32 %v, %ctaid; add.u32 %r7, %r7, %v.w; shr.u32 %r4, %r4, 16;\n"
    "add.u32 %r3, %r3, %r4; add.u32 %r5, %r5, %r7; sub.u32 %r6, %r6, %r2;\n" MIX4("%r2", "%r3", "%r5", "%r6"));
static uint32_t widths_want(uint32_t i) { return mix((uint32_t[]){in[i], 0, i, 0}, 4); }

/* registers of two halves, as older compilers declare them */
static const char halves[] = KERNEL(
    ".reg .f16x2 %z<2>; ld.global.u32 %r2, [%rd1]; and.b32 %r2, %r2, 0x03ff03ff; mov.b32 %z0, %r2;\n"
    "add.f16x2 %z1, %z0, %z0; mov.b32 %r3, %z1;\n" STORE("%r3"));
static uint32_t halves_want(uint32_t i) { return (in[i] & 0x03ff03ff) * 2; } /* denormals */

/* ---- declarations ---- */

static const char vectors_counted[] = KERNEL(
    ".reg .v2 .b32 x<4>; .reg .v4 .b16 %y<11>; .reg .b32 none<0>; ld.global.u32 %r2, [%rd1]; mov.b32 x3.y, %r2;\n"
    "mov.b32 x1.y, 4; mov.b32 x3.x, x1.y; mov.b64 %rd5, x3; mov.b64 %y10, %rd5; mov.b64 %rd5, %y10; mov.b64 {%r3, %r4}, %rd5;\n" MIX2(
        "%r3", "%r4"));
static uint32_t vectors_counted_want(uint32_t i) { return mix((uint32_t[]){4, in[i]}, 2); }

/* A name beside a range of it, whichever comes first, as Triton's conversions have them; inner ones hide outer ones. */
static const char beside[] = KERNEL(
    ".reg .b32 a; .reg .b16 a<2>; .reg .b16 b<3>; .reg .b32 b; ld.global.u32 a, [%rd1]; mov.b32 {a0, a1}, a;\n"
    "mov.b16 b2, a1; mov.b16 b1, a0; mov.b32 b, {b2, b1}; { .reg .b32 a, b<1>; mov.b32 a, 5; mov.b32 b0, 6; add.u32 b0, b0, a;\n"
    "add.u32 b, b, b0; }\n" MIX2("a", "b"));
static uint32_t beside_want(uint32_t i) { return mix((uint32_t[]){in[i], (in[i] >> 16 | in[i] << 16) + 11}, 2); }

static const char counted[] = HEAD
    ".global .u32 g<3>; .const .align 8 .u32 c<2>;\n"
    ".func (.param .b32 o) difference(.param .b32 a, .param .b32 b) { .reg .b32 x, y; ld.param.b32 x, [a];\n"
    "ld.param.b32 y, [b]; sub.u32 x, x, y; st.param.b32 [o], x; ret; }\n" ENTRY(
        "k") ".shared .u32 s<4>; .local .u32 l<3>; .param .b32 P<2>; .param .b32 R; ld.global.u32 %r2, [%rd1];\n"
             "st.local.u32 [l2], %r2; st.local.u32 [l1], 9; st.shared.u32 [s3], 5; st.shared.u32 [s0], 6; st.global.u32 [g1], 70;\n"
             "ld.local.u32 %r3, [l2]; ld.shared.u32 %r4, [s3]; ld.global.u32 %r5, [g1]; ld.const.u32 %r6, [c1];\n"
             "add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; st.param.b32 [P0], %r3; st.param.b32 [P1], %r4;\n"
             "call (R), difference, (P0, P1); ld.param.b32 %r7, [R];\n" STORE("%r7") END;
static uint32_t counted_want(uint32_t i) { return in[i] - 75; }

/* Variables of a body live as long as the module; a name may stand for another one in another scope. */
static const char inside[] = HEAD
    ".global .u32 twice[2] = {100, 200};\n"
    ".func (.param .b32 o) count(.param .b32 a) { .global .u32 calls = 1000; .reg .b32 x; ld.param.b32 x, [a];\n"
    "atom.global.add.u32 x, [calls], x; st.param.b32 [o], x; ret; }\n" ENTRY(
        "k") "/* .global */ .global .b32 from[4] = {1, 2, 3, 4}; .const .align 8 .b16 odd[3] = {7, 8, 9};\n"
             "ld.global.u32 %r2, [from+8]; ld.const.u16 %r3, [odd+2]; ld.global.u32 %r4, [twice+4]; mov.u32 %r6, 0;\n"
             "{ .global .u32 twice = 5; mov.u64 %rd5, twice; ld.global.u32 %r5, [%rd5]; } .param .b32 a; .param .b32 o;\n"
             "{ .global .align 16 .u32 twice[1] = {60}, more; ld.global.u32 %r7, [twice]; add.u32 %r5, %r5, %r7; }\n"
             "setp.eq.u32 %p1, %r0, 0; selp.b32 %r8, 1, 0, %p1; st.param.b32 [a], %r8; call (o), count, (a);\n"
             "@%p1 ld.param.b32 %r6, [o]; shl.b32 %r6, %r6, 4; add.u32 %r2, %r2, %r6; " MIX4("%r2", "%r3", "%r4", "%r5")
                 END;
static uint32_t inside_want(uint32_t i) { return mix((uint32_t[]){3 + (i ? 0 : 16000), 8, 200, 65}, 4); }

/* ---- calls ---- */

static const char calls[] = HEAD
    ".func (.reg .v2 .u32 o) turn(.reg .u32 add, .reg .v2 .u32 i) { mov.u32 o.x, i.y; add.u32 o.y, i.x, add; ret; }\n"
    ".func (.reg .u32 o, .reg .pred even, .reg .u64 far) parts(.reg .u32 x, .reg .pred odd) {\n"
    ".reg .u32 t; add.u32 o, x, 1; and.b32 t, x, 1; setp.eq.u32 even, t, 0; @odd add.u32 o, o, 100; mul.wide.u32 far, x, 3;\n"
    "ret; }\n" ENTRY(
        "k") ".reg .v2 .u32 %v; ld.global.u32 %r2, [%rd1]; mov.u32 %v.x, %r2; mov.u32 %v.y, %r1;\n"
             "call (%v), turn, (11, %v); and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 1; call (%r4, %p1, %rd5), parts, (%r1, %p2);\n"
             "selp.u32 %r4, %r4, 77, %p1; call (_, %p3, _), parts, (%r0, %p2); @%p3 add.u32 %r4, %r4, 1000; cvt.u32.u64 %r5, %rd5;\n" MIX4(
                 "%v.x", "%v.y", "%r4", "%r5") END;
static uint32_t calls_want(uint32_t i)
{
    uint32_t t = i % 64;
    return mix((uint32_t[]){t, in[i] + 11, (t & 1 ? 77 : t + 1) + (i & 1 ? 0 : 1000), t * 3}, 4);
}

/* ---- LLVM's short pointers: addresses of 32 bits in local and constant memory ---- */

static const char shorts[] = HEAD
    ".const .u32 table[4] = {3, 5, 7, 9}; .const .u32 other[2] = {21, 22};\n"
    ".func (.param .b32 o) through(.param .b32 a) { .reg .b32 x; .reg .b64 y, z; ld.param.b32 x, [a]; cvt.u64.u32 y, x;\n"
    "cvta.local.u64 z, y; st.u32 [z+4], 321; ld.local.u32 x, [x]; st.param.b32 [o], x; ret; }\n" ENTRY(
        "k") ".local .align 16 .b8 depot[64]; .reg .b32 %SP, %SPL; .param .b32 a; .param .b32 o;\n"
             "ld.global.u32 %r2, [%rd1]; mov.b32 %SPL, depot; cvt.u64.u32 %rd5, %SPL; cvta.local.u64 %rd6, %rd5;\n"
             "st.u32 [%rd6+8], %r2; and.b32 %r3, %r1, 3; shl.b32 %r4, %r3, 2; add.u32 %r5, %SPL, %r4; st.local.u32 [%r5+16], %r1;\n"
             "ld.local.v2.u32 {%r6, %r7}, [%SPL+8]; ld.local.u32 %r8, [depot+8]; add.u32 %r9, %SPL, 8; ld.local.u32 %r10, [%r5+16];\n"
             "cvta.to.local.u64 %rd7, %rd6; cvt.u32.u64 %r11, %rd7; sub.u32 %r11, %r11, %SPL; st.param.b32 [a], %r9;\n"
             "call (o), through, (a); ld.param.b32 %r12, [o]; ld.local.u32 %r13, [%SPL+12]; sub.u32 %r13, %r13, 321;\n"
             "mov.u32 %r14, table; add.u32 %r14, %r14, %r4; ld.const.u32 %r15, [%r14]; mov.u32 %r16, other+4;\n"
             "ld.const.u32 %r17, [%r16]; add.u32 %r15, %r15, %r17; cvt.u64.u32 %rd8, %r14; cvta.const.u64 %rd9, %rd8;\n"
             "ld.u32 %r18, [%rd9]; add.u32 %r15, %r15, %r18; add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r13;\n"
             "sub.u32 %r8, %r8, %r6; add.u32 %r12, %r12, %r8;\n" MIX4("%r6", "%r10", "%r12", "%r15") END;
static uint32_t shorts_want(uint32_t i)
{
    static const uint32_t table[] = {3, 5, 7, 9};
    return mix((uint32_t[]){in[i], i % 64, in[i], 2 * table[i & 3] + 22}, 4);
}

/* ---- elements of arrays without brackets; a kernel's parameters by addresses of 32 bits ---- */

static const char elements[] = HEAD ".global .u32 table[4] = {3, 5, 7, 9}; .const .u32 other[2] = {21, 22};\n" ENTRY(
    "k") ".shared .u32 cell[8]; setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 cell[3], 77; bar.sync 0;\n"
         "ld.global.u32 %r2, table[2]; ld.global.v2.u32 {%r3, %r4}, table[2]; ld.const.u32 %r5, other[1];\n"
         "ld.shared.u32 %r6, cell[3]; add.u32 %r3, %r3, %r4; mov.u32 %r7, pn; ld.param.u32 %r8, [%r7];\n"
         "mov.u32 %r7, pin; ld.param.u64 %rd5, [%r7]; ld.param.u64 %rd6, [pin]; sub.s64 %rd5, %rd5, %rd6;\n"
         "cvt.u32.u64 %r9, %rd5; add.u32 %r8, %r8, %r9; add.u32 %r5, %r5, %r6;\n" MIX4("%r2", "%r3", "%r5", "%r8") END;
static uint32_t elements_want(uint32_t i)
{
    (void)i;
    return mix((uint32_t[]){7, 16, 99, 128}, 4);
}

/* ---- what ptxas takes of constants where matrices are: bits of a float ---- */

static const char constant[] = KERNEL("movmatrix.sync.aligned.m8n8.trans.b16 %r2, 0f3F80BF00;\n" STORE("%r2"));
static uint32_t constant_want(uint32_t i) { return i / 4 % 2 ? 0x3f803f80 : 0xbf00bf00; }

int main(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u;
    vectors();
    expect("!p of names without %", nots, 2, 64, nots_want);
    expect("registers and constants", sums, 2, 64, sums_want);
    expect("registers of .f16x2", halves, 2, 64, halves_want);
    expect("registers of other widths", widths, 2, 64, widths_want);
    expect(".reg .v2 .b32 x<4>", vectors_counted, 2, 64, vectors_counted_want);
    expect("a name beside a range of it", beside, 2, 64, beside_want);
    expect(".param .b32 P<2>", counted, 2, 64, counted_want);
    expect(".global in a function", inside, 2, 64, inside_want);
    expect("vectors and several results of calls", calls, 2, 64, calls_want);
    expect("addresses of 32 bits", shorts, 2, 64, shorts_want);
    expect("elements without brackets, short addresses of parameters", elements, 2, 64, elements_want);
    expect("movmatrix of a constant", constant, 2, 64, constant_want);
    return t0t_done();
}
