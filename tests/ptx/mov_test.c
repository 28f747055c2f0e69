/* What insn_check cannot show: 128-bit values, vectors of bytes, cvt into wider registers, and that
 * a kernel computes the same when the application has changed the FPU's mode. */
#include "tier0/harness.h"

#include <fenv.h>

enum { THREADS = 64 };
#define HEAD \
    ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, " \
    ".param .u64 out)\n{\n.reg .b8 %b<8>; .reg .b16 %rs<8>; .reg .b32 %r<8>; .reg .b64 %rd<12>; " \
    ".reg .b128 %q<4>; .reg .pred %p<4>;\nmov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 16;\n" \
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; add.u64 %rd1, %rd1, %rd0;\n" \
    "add.u64 %rd2, %rd2, %rd0; ld.global.v2.u64 {%rd3, %rd4}, [%rd1];\ncvt.u32.u64 %r1, %rd3;\n"
#define TAIL "st.global.v2.u64 [%rd2], {%rd5, %rd6};\nret;\n}\n"

struct pair {
    uint64_t lo, hi;
};

static struct pair swapped(struct pair x) { return (struct pair){x.hi, x.lo}; }
static struct pair odd_swapped(struct pair x) { return x.lo & 1 ? swapped(x) : (struct pair){7, 9}; }
static struct pair bytes(struct pair x)
{
    uint32_t v = (uint32_t)x.lo;
    return (struct pair){(v & 0xff) << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24, v & 0xffff};
}
static struct pair extended(struct pair x)
{
    return (struct pair){(uint64_t)(int64_t)(int8_t)x.lo, (uint64_t)(int64_t)(int16_t)x.hi};
}
static struct pair signed_low(struct pair x)
{
    const uint64_t low = (uint64_t)(int64_t)(int32_t)x.lo;
    return (struct pair){low, low >> 63 ? ~(uint64_t)0 : 0};
}
static struct pair low_of_high(struct pair x) { return (struct pair){(x.lo >> 32 << 32) | (uint32_t)x.hi, x.hi}; }
static struct pair none(struct pair x) { return (struct pair){x.lo & 0, 0}; }
static struct pair widened(struct pair x) { return (struct pair){(uint32_t)x.lo, (uint8_t)x.hi}; }

// clang-format off
static const struct { const char *name, *text; struct pair (*want)(struct pair); } cases[] = {
    {"mov.b128 packs and unpacks", HEAD "mov.b128 %q0, {%rd4, %rd3};\nmov.b128 %q1, %q0;\n"
                                        "mov.b128 {%rd5, %rd6}, %q1;\n" TAIL, swapped},
    {"mov.b128 under a guard", HEAD "mov.u64 %rd7, 7; mov.u64 %rd8, 9;\n"
                                    "mov.b128 %q0, {%rd7, %rd8};\n"
                                    "and.b32 %r2, %r1, 1; setp.ne.u32 %p0, %r2, 0;\n"
                                    "@%p0 mov.b128 %q0, {%rd4, %rd3};\n"
                                    "mov.b128 {%rd5, %rd6}, %q0;\n" TAIL, odd_swapped},
    {"vectors of bytes", HEAD "mov.b32 {%b0, %b1, %b2, %b3}, %r1;\n"
                              "mov.b32 %r2, {%b3, %b2, %b1, %b0};\n"
                              "cvt.u64.u32 %rd5, %r2;\nmov.b16 %rs1, {%b0, %b1};\n"
                              "mov.b16 {%b4, %b5}, %rs1;\nmov.b16 %rs2, {%b4, %b5};\n"
                              "cvt.u64.u16 %rd6, %rs2;\n" TAIL, bytes},
    {"cvt extends signed results to the register", HEAD "cvt.s8.s64 %rd5, %rd3;\n"
                                                        "cvt.s16.s64 %rd6, %rd4;\n" TAIL, extended},
    {"cvt reads the low part of a wide register", HEAD "cvt.u32.u32 %rd5, %rd3;\n"
                                                       "cvt.u8.u16 %rd6, %rd4;\n" TAIL, widened},
    {"cvt.pack does, of all sources",
     HEAD "cvt.u32.u64 %r3, %rd4; cvt.pack.sat.s16.s32 %r4, %r1, %r3; cvt.pack.sat.s16.s32 %r5, %rd3, %rd4;\n"
          "cvt.pack.sat.u8.s32.b32 %r6, %r1, %r3, %r3; cvt.pack.sat.u8.s32.b32 %r7, %r1, %rd4, %rd4;\n"
          "xor.b32 %r4, %r4, %r5; cvt.u64.u32 %rd5, %r4; xor.b32 %r6, %r6, %r7; cvt.u64.u32 %rd6, %r6;\n" TAIL, none},
    {"cvt extends to 128 bits", HEAD "cvt.s32.s32 %q0, %r1; mov.b128 {%rd5, %rd6}, %q0;\n" TAIL, signed_low},
    {"cvt reads the low part of 128 bits", HEAD "mov.b128 %q0, {%rd3, %rd4}; mov.b128 %q1, {%rd4, %rd3};\n"
                                                "cvt.u32.u32 %rd5, %q0; cvt.u8.u16 %rd6, %q1;\n" TAIL, widened},
    {"ld extends to 128 bits", HEAD "ld.global.s32 %q0, [%rd1]; mov.b128 {%rd5, %rd6}, %q0;\n" TAIL, signed_low},
    {"st stores the low part of 128 bits",
     HEAD "mov.b128 %q0, {%rd4, %rd3}; st.global.v2.u64 [%rd2], {%rd3, %rd4}; st.global.u32 [%rd2], %q0;\n"
          "ld.global.v2.u64 {%rd5, %rd6}, [%rd2];\n" TAIL, low_of_high},
    {"cvt to f16x2 reads low parts", HEAD "mov.b128 %q0, {%rd4, %rd3}; cvt.u32.u64 %r3, %rd4;\n"
                                    "cvt.rn.f16x2.f32 %r4, %r1, %r3; cvt.rn.f16x2.f32 %r5, %rd3, %q0;\n"
                                    "cvt.rs.f16x2.f32 %r6, %r1, %r3, %r0; cvt.rs.f16x2.f32 %r7, %rd3, %q0, %r0;\n"
                                    "xor.b32 %r4, %r4, %r5; cvt.u64.u32 %rd5, %r4;\n"
                                    "xor.b32 %r6, %r6, %r7; cvt.u64.u32 %rd6, %r6;\n" TAIL, none},
};
// clang-format on

static void run_case(unsigned n)
{
    struct pair in[THREADS], out[THREADS] = {{0, 0}};
    const struct {
        void *in, *out;
    } params = {in, out};
    for (unsigned t = 0; t < THREADS; t++)
        in[t] = (struct pair){0x9e3779b97f4a7c15ull * (t + 1), 0xc2b2ae3d27d4eb4full * (t + 3)};
    bool good = t0t_once(cases[n].text, "k", 1, THREADS, &params, NULL);
    for (unsigned t = 0; good && t < THREADS; t++) {
        struct pair want = cases[n].want(in[t]);
        good = out[t].lo == want.lo && out[t].hi == want.hi;
    }
    check(good, "%s", cases[n].name);
}

/* 2^-126 / 2 stays subnormal and 1 + 2^-24 ties to even, whatever the caller's FPU mode. */
static void fpu_mode(void)
{
    static const char text[] = HEAD "mov.f32 %r2, 0f00800000; mov.f32 %r3, 0f3F000000;\n"
                                    "mul.f32 %r4, %r2, %r3; cvt.u64.u32 %rd5, %r4;\n"
                                    "mov.f32 %r2, 0f3F800000; mov.f32 %r3, 0f33800000;\n"
                                    "add.f32 %r4, %r2, %r3; cvt.u64.u32 %rd6, %r4;\n" TAIL;
    struct pair in[THREADS] = {{0, 0}}, out[THREADS] = {{0, 0}};
    const struct {
        void *in, *out;
    } params = {in, out};
    int mode = fegetround();
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* FTZ, DAZ */
#endif
    bool good = t0t_once(text, "k", 1, THREADS, &params, NULL), kept = fegetround() == FE_UPWARD;
#if defined(__x86_64__)
    kept = kept && (__builtin_ia32_stmxcsr() & 0x8040) == 0x8040;
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x8040u);
#endif
    fesetround(mode);
    check(good && out[0].lo == 0x00400000 && out[0].hi == 0x3f800000, "kernels do not see the application's FPU mode");
    check(kept, "and the application gets its mode back");
}

int main(void)
{
    for (unsigned n = 0; n < sizeof cases / sizeof cases[0]; n++)
        run_case(n);
    fpu_mode();
    return t0t_done();
}
