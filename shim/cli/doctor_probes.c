/* cumu doctor: the table of kernels that it runs. */
#include "cli/doctor_probes.h"

#include <math.h>
#include <string.h>

enum { THREADS = DOCTOR_THREADS };

#define PTX ".version 7.0\n.target sm_80\n.address_size 64\n"
#define BODY \
    "{\n.reg .b32 %r<16>;\n.reg .u64 %d<8>;\n.reg .f32 %f<12>;\n.reg .f64 %e<4>;\n.reg .b16 %h<4>;\n" \
    ".reg .pred %p<4>;\nmov.u32 %r0, %tid.x;\n"
#define ENTRY ".visible .entry probe(.param .u64 out)\n" BODY
#define END /* %r1 is the thread's result */ \
    "ld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], %r1;\nret;\n}\n"
/* Every thread adds one to a variable of the module. */
#define COUNT(type, add) \
    PTX ".visible .global .align 8 ." type " v;\n" ENTRY "mov.u64 %d2, v;\n" add "membar.gl;\nbar.sync 0;\n"

/* ---- what they must give ------------------------------------------------------------------------- */

static uint32_t triple(uint32_t t) { return 3 * t + 7; }
static uint32_t reversed(uint32_t t) { return THREADS - 1 - t; }
static uint32_t reversed_and_5(uint32_t t) { return THREADS - 1 - t + 5; }
static uint32_t neighbour(uint32_t t) { return t ^ 1; }
static uint32_t one_up(uint32_t t) { return t & 31 ? t - 1 : t; }
static uint32_t one_down(uint32_t t) { return (t & 31) == 31 ? t : t + 1; }
static uint32_t one_down_of_8(uint32_t t) { return (t & 7) == 7 ? t : t + 1; }
static uint32_t lane_5(uint32_t t) { return (t & ~31u) + 5; }
static uint32_t first_quarter(uint32_t t) { return t < 32; }
static uint32_t sum_of_32(uint32_t t) { return 32 * (t & ~31u) + 496; }
static uint32_t odd_lanes(uint32_t t) { return t & 1 ? 0xaaaaaaaau : 0x55555555u; }
static uint32_t lane(uint32_t t) { return t & 31; }
static uint32_t itself(uint32_t t) { return t; }
static uint32_t nothing(uint32_t t) { return (void)t, 0; }
static uint32_t all(uint32_t t) { return (void)t, THREADS; }
static uint32_t forty_two(uint32_t t) { return (void)t, 42; }
static uint32_t parameters(uint32_t t) { return (void)t, 0x0a + 0x0b0c + 0x0d; }
static uint32_t square(uint32_t t) { return t * t + 1; }
static uint32_t root(uint32_t t) { return (uint32_t)(1000000 * sqrt((double)t)); }
static uint32_t texel(uint32_t t) { return 100 * (t / DOCTOR_TEXTURE_WIDTH) + t % DOCTOR_TEXTURE_WIDTH; }
static uint32_t evens_only(uint32_t t) { return t & 1 ? 77 : t; }

/* D = A * B of mma.m16n8k16 with A[i][k] = i + 3k and B[k][j] = k + 2j, whose sums f32 holds exactly; a thread has
 * four of D's elements (PTX ISA, "Matrix Fragments for mma.m16n8k16"). */
static uint32_t product(uint32_t t)
{
    uint32_t sum = 0, row = (t & 31) / 4, column = 2 * (t & 3);
    for (uint32_t e = 0; e < 4; e++)
        for (uint32_t k = 0; k < 16; k++)
            sum += (2 * e + 1) * (row + 8 * (e / 2) + 3 * k) * (k + 2 * (column + e % 2));
    return sum;
}

/* The same matrices by mp_31's instruction: what a thread has of D there (mapping/facts/musa.md D10). */
static uint32_t product_of_unit(uint32_t t)
{
    uint32_t sum = 0, column = t & 7;
    for (uint32_t v = 0; v < 4; v++)
        for (uint32_t k = 0; k < 16; k++)
            sum += (2 * v + 1) * ((t & 31) / 8 + 4 * v + 3 * k) * (k + 2 * column);
    return sum;
}
static uint32_t half_of_all(uint32_t t) { return (void)t, 0x5800; } /* 128 */

/* Operands of the roundings: all bits of their mantissas change from thread to thread. Sums and products of two, and a
 * product with a sum, are exact in double precision. */
static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint32_t bits_of(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static double a_of(uint32_t t) { return (double)float_of(0x3f800000u + t * 66191); }
static double b_of(uint32_t t) { return (double)float_of(0x3f9e3779u + t * 40503); }

/* The three directed roundings of a positive number in one word: towards zero, down, up. side: the sign of what is
 * rounded, less the exact number. */
static uint32_t three_ways(double near, int side)
{
    float f = (float)near, down = side > 0 ? nextafterf(f, 0) : f, up = side < 0 ? nextafterf(f, INFINITY) : f;
    return 8 * bits_of((double)down) + 7 * bits_of((double)up);
}
static int sign(double x) { return (x > 0) - (x < 0); }
static uint32_t exactly(double exact) { return three_ways(exact, sign((double)(float)exact - exact)); }

static uint32_t sums(uint32_t t) { return bits_of(a_of(t) + b_of(t)); }
static uint32_t products(uint32_t t) { return bits_of(a_of(t) * b_of(t)); }
static uint32_t fused(uint32_t t) { return bits_of(a_of(t) * b_of(t) + a_of(t)); }
static uint32_t twice(uint32_t t) { return bits_of((double)(float)(a_of(t) * b_of(t)) + a_of(t)); }
static uint32_t quotients(uint32_t t) { return bits_of(a_of(t) / b_of(t)); }
static uint32_t roots(uint32_t t) { return bits_of(sqrt(a_of(t))); }
static uint32_t sums_directed(uint32_t t) { return exactly(a_of(t) + b_of(t)); }
static uint32_t products_directed(uint32_t t) { return exactly(a_of(t) * b_of(t)); }
static uint32_t fused_directed(uint32_t t) { return exactly(a_of(t) * b_of(t) + a_of(t)); }
static uint32_t quotients_directed(uint32_t t)
{
    double q = a_of(t) / b_of(t);
    return three_ways(q, sign((double)(float)q * b_of(t) - a_of(t)));
}
static uint32_t roots_directed(uint32_t t)
{
    double r = sqrt(a_of(t));
    return three_ways(r, sign((double)(float)r * (double)(float)r - a_of(t)));
}

static double wide_of(uint32_t t, uint32_t high, uint32_t step)
{
    uint64_t bits = (uint64_t)(high + t * step) << 32 | t * 2654435761u;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static double aa_of(uint32_t t) { return wide_of(t, 0x3ff00000, 8273); }
static double bb_of(uint32_t t) { return wide_of(t, 0x3ff3c6ef, 5063); }
static uint32_t folded(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint32_t)(bits ^ bits >> 32);
}
static uint32_t wide_sums(uint32_t t) { return folded(aa_of(t) + bb_of(t)); }
static uint32_t wide_products(uint32_t t) { return folded(aa_of(t) * bb_of(t)); }
static uint32_t wide_fused(uint32_t t) { return folded(fma(aa_of(t), bb_of(t), aa_of(t))); }
static uint32_t wide_quotients(uint32_t t) { return folded(aa_of(t) / bb_of(t)); }
static uint32_t wide_roots(uint32_t t) { return folded(sqrt(aa_of(t))); }

/* ---- their operands ------------------------------------------------------------------------------ */

#define OPERANDS \
    "mad.lo.u32 %r2, %r0, 66191, 0x3f800000;\nmov.b32 %f0, %r2;\n" \
    "mad.lo.u32 %r3, %r0, 40503, 0x3f9e3779;\nmov.b32 %f1, %r3;\n"
#define NEAREST(op, args) PTX ENTRY OPERANDS op " %f2, " args ";\nmov.b32 %r1, %f2;\n" END
#define DIRECTED(op, args) \
    PTX ENTRY OPERANDS op ".rz.f32 %f2, " args ";\n" op ".rm.f32 %f3, " args ";\n" op ".rp.f32 %f4, " args ";\n" \
                          "mov.b32 %r2, %f2;\nmov.b32 %r3, %f3;\nmov.b32 %r4, %f4;\n" \
                          "mad.lo.u32 %r1, %r3, 7, %r2;\nmad.lo.u32 %r1, %r4, 7, %r1;\n" END
#define WIDE(op, args) \
    PTX ENTRY "mul.lo.u32 %r2, %r0, 2654435761;\nmad.lo.u32 %r3, %r0, 8273, 0x3ff00000;\nmov.b64 %e0, {%r2, %r3};\n" \
              "mad.lo.u32 %r3, %r0, 5063, 0x3ff3c6ef;\nmov.b64 %e1, {%r2, %r3};\n" op " %e2, " args ";\n" \
              "mov.b64 {%r2, %r3}, %e2;\nxor.b32 %r1, %r2, %r3;\n" END
#define AB "%f0, %f1"
/* Two f16 numbers in one register. */
#define PAIR(to, from, first, second) \
    "add.u32 %r4, " from ", " first ";\ncvt.rn.f16.u32 %h0, %r4;\nadd.u32 %r4, " from ", " second \
    ";\ncvt.rn.f16.u32 %h1, %r4;\nmov.b32 " to ", {%h0, %h1};\n"
/* The same in MUSA C++: what operators and functions of the toolkit do. */
#define MUSA_OPERANDS \
    "union { unsigned u; float f; } a, b, c; a.u = 0x3f800000u + t * 66191u; b.u = 0x3f9e3779u + t * 40503u; "
/* How often a form of the toolkit's differs from the prelude's software in one thread's numbers of all sizes: bits of a
 * linear congruential generator (Knuth's multipliers). One NaN is as good as another. */
#define TRY \
    "\n#define TRY(real_t, word, factor, theirs, ours) { word s = (word)t * 2654435761u + 12345; " \
    "for (int k = 0; k < 400; k++) { s = s * factor + 1013904223u; real_t a = real<real_t>::of(s ^ s >> 13); " \
    "s = s * factor + 1013904223u; real_t b = real<real_t>::of(s ^ s >> 13), p = theirs, q = ours; (void)b; " \
    "r += bits(p) != bits(q) && (p == p || q == q); } }\n"
#define NARROW "f32, u32, 1664525u"
#define LONG "f64, u64, 6364136223846793005ull"
#define MODES \
    "\n#define MODE(real_t, word, factor, add, mul, fma, div, root, mode) " \
    "TRY(real_t, word, factor, add(a, b), directed_sum(a, b, mode)) " \
    "TRY(real_t, word, factor, mul(a, b), directed_product(a, b, mode)) " \
    "TRY(real_t, word, factor, fma(a, b, a), directed_fma(a, b, a, mode)) " \
    "TRY(real_t, word, factor, div(a, b), divided(a, b, mode)) " \
    "TRY(real_t, word, factor, root(a), rooted(a, mode))\n"
#define MODE(suffix, mode) \
    "MODE(" NARROW ", __fadd" suffix ", __fmul" suffix ", __fmaf" suffix ", __fdiv" suffix ", __fsqrt" suffix \
    ", " mode ") " \
    "MODE(" LONG ", __dadd" suffix ", __dmul" suffix ", __fma" suffix ", __ddiv" suffix ", __dsqrt" suffix ", " mode \
    ") "

#define WARP "functions of warps are wrong: programs that use them cannot run on this device yet"
#define ROUNDS "the last digit of results may differ from NVIDIA's devices"
#define FASTER "nothing is wrong; a faster form cannot be used"

/* ---- the table ----------------------------------------------------------------------------------- */

const struct doctor_probe doctor_probes[] = {
    {"a kernel", PTX ENTRY "mad.lo.u32 %r1, %r0, 3, 7;\n" END, NULL, triple, 0, 0,
     "no kernel runs: nothing else matters before this"},
    {"parameters of 1, 2, 4 and 8 bytes",
     PTX ".visible .entry probe(.param .u64 out, .param .u8 a, .param .u16 b, .param .u32 c)\n" BODY
         "ld.param.u8 %h0, [a];\nld.param.u16 %h1, [b];\nld.param.u32 %r1, [c];\ncvt.u32.u16 %r2, %h0;\n"
         "cvt.u32.u16 %r3, %h1;\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n" END,
     NULL, parameters, 0, 0, "arguments arrive in other places than ours: kernels get wrong arguments"},
    {"shared memory and a barrier",
     PTX ENTRY ".shared .align 4 .b8 s[512];\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r0, 4, %r2;\n"
               "st.shared.u32 [%r3], %r0;\n"
               "bar.sync 0;\nsub.u32 %r4, 127, %r0;\nmad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r1, [%r3];\n" END,
     NULL, reversed, 0, 0, "shared memory or barriers do not work"},
    {"dynamic shared memory behind static",
     PTX ".extern .shared .align 4 .b8 more[];\n" ENTRY ".shared .align 4 .u32 five;\nst.shared.u32 [five], 5;\n"
         "mov.u32 %r2, more;\nmad.lo.u32 %r3, %r0, 4, %r2;\nst.shared.u32 [%r3], %r0;\nbar.sync 0;\n"
         "sub.u32 %r4, 127, %r0;\nmad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r1, [%r3];\nld.shared.u32 %r5, [five];\n"
         "add.u32 %r1, %r1, %r5;\n" END,
     NULL, reversed_and_5, 0, 0, "kernels with both kinds of shared memory are wrong"},
    {"generic addresses of shared memory",
     PTX ENTRY
     ".shared .align 4 .b8 s[512];\nmov.u64 %d2, s;\ncvta.shared.u64 %d3, %d2;\nmul.wide.u32 %d4, %r0, 4;\n"
     "add.u64 %d4, %d3, %d4;\nst.u32 [%d4], %r0;\nbar.sync 0;\nsub.u32 %r4, 127, %r0;\nmul.wide.u32 %d4, %r4, 4;\n"
     "add.u64 %d4, %d3, %d4;\nld.u32 %r1, [%d4];\n" END,
     NULL, reversed, 0, 0, "pointers to shared memory do not work"},
    {"shuffles stay within 32 lanes", PTX ENTRY "shfl.sync.bfly.b32 %r1|%p0, %r0, 1, 31, -1;\n" END, NULL, neighbour, 0,
     0, WARP},
    {"a shuffle from one lane", PTX ENTRY "shfl.sync.idx.b32 %r1|%p0, %r0, 5, 31, -1;\n" END, NULL, lane_5, 0, 0, WARP},
    {"ballots of 32 lanes",
     PTX ENTRY "and.b32 %r2, %r0, 1;\nsetp.ne.u32 %p0, %r2, 0;\nvote.sync.ballot.b32 %r1, %p0, -1;\n"
               "@!%p0 not.b32 %r1, %r1;\n" END,
     NULL, odd_lanes, 0, 0, WARP},
    {"shuffles up", PTX ENTRY "shfl.sync.up.b32 %r1|%p0, %r0, 1, 0, -1;\n" END, NULL, one_up, 0, 0, WARP},
    {"shuffles down", PTX ENTRY "shfl.sync.down.b32 %r1|%p0, %r0, 1, 31, -1;\n" END, NULL, one_down, 0, 0, WARP},
    {"shuffles within 8 lanes", PTX ENTRY "shfl.sync.down.b32 %r1|%p0, %r0, 1, 0x181f, -1;\n" END, NULL, one_down_of_8,
     0, 0, WARP},
    {"votes of one quarter of 128 lanes",
     PTX ENTRY "setp.eq.u32 %p0, %r0, 7;\nvote.sync.any.pred %p1, %p0, -1;\nselp.u32 %r1, 1, 0, %p1;\n" END, NULL,
     first_quarter, 0, 0, WARP},
    {"sums over 32 lanes", PTX ENTRY "redux.sync.add.s32 %r1, %r0, -1;\n" END, NULL, sum_of_32, 0, 0, WARP},
    {"lane numbers of 32", PTX ENTRY "mov.u32 %r1, %laneid;\n" END, NULL, lane, 0, 0, WARP},
    {"atomics in shared memory",
     PTX ENTRY ".shared .align 4 .u32 n;\nsetp.ne.u32 %p0, %r0, 0;\n@!%p0 st.shared.u32 [n], 0;\nbar.sync 0;\n"
               "atom.shared.add.u32 %r2, [n], 1;\nbar.sync 0;\nld.shared.u32 %r1, [n];\n" END,
     NULL, all, 0, 0, "counters and locks in shared memory are wrong"},
    {"variables of the module, and addresses in them",
     PTX ".visible .global .align 4 .u32 v = 42;\n.visible .const .align 8 .u64 at = v;\n" ENTRY
         "ld.const.u64 %d2, [at];\nld.u32 %r1, [%d2];\n" END,
     NULL, forty_two, 0, 0, "__device__ and __constant__ variables are wrong"},
    {"atomics of 64 bits in a variable",
     PTX ".visible .global .align 8 .u64 v = 42;\n" ENTRY
         "mov.u64 %d2, v;\natom.global.cas.b64 %d3, [%d2], 1, 2;\ncvt.u32.u64 %r1, %d3;\n" END,
     NULL, forty_two, 0, 0, "64-bit atomics are wrong"},
    {"a function that is called",
     PTX
     ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .u32 %x;\nld.param.u32 %x, [a];\nmad.lo.u32 %x, %x, %x, 1;\n"
     "st.param.b32 [r], %x;\nret;\n}\n" ENTRY
     "{\n.param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %r0;\ncall (r), f, (a);\nld.param.b32 %r1, [r];\n}\n" END,
     NULL, square, 0, 0, "kernels with functions that are not inlined are wrong"},
    {"double precision",
     PTX ENTRY "cvt.rn.f64.u32 %e0, %r0;\nsqrt.rn.f64 %e1, %e0;\nmul.rn.f64 %e1, %e1, 0d412E848000000000;\n"
               "cvt.rzi.u32.f64 %r1, %e1;\n" END,
     NULL, root, 1, 0, "double precision is wrong"},
    {"half precision",
     PTX ENTRY "cvt.rn.f16.u32 %h0, %r0;\nmov.b16 %h1, 0x4200;\nmov.b16 %h2, 0x4700;\nfma.rn.f16 %h3, %h0, %h1, %h2;\n"
               "cvt.rzi.u32.f16 %r1, %h3;\n" END,
     NULL, triple, 0, 0, "half precision is wrong"},
    {"approximate functions",
     PTX ENTRY "cvt.rn.f32.u32 %f0, %r0;\nadd.f32 %f0, %f0, 0f34000000;\nlg2.approx.f32 %f1, %f0;\n"
               "mul.f32 %f1, %f1, 0f3F000000;\nex2.approx.f32 %f2, %f1;\nmul.f32 %f2, %f2, 0f49742400;\n"
               "cvt.rzi.u32.f32 %r1, %f2;\n" END,
     NULL, root, 400, 0, "fast mathematical functions are far from NVIDIA's"},
    {"atomic sums of f32",
     COUNT(
         "f32",
         "atom.global.add.f32 %f0, [%d2], 0f3F800000;\n") "ld.volatile.global.f32 %f1, [%d2];\ncvt.rzi.u32.f32 %r1, %f1;\n" END,
     NULL, all, 0, 0, "sums of f32 by many threads are wrong"},
    {"atomic sums of f64",
     COUNT(
         "f64",
         "atom.global.add.f64 %e0, [%d2], 0d3FF0000000000000;\n") "ld.volatile.global.f64 %e1, [%d2];\ncvt.rzi.u32.f64 %r1, %e1;\n" END,
     NULL, all, 0, 0, "sums of f64 by many threads are wrong"},
    {"atomic sums of f16",
     COUNT(
         "b32",
         "mov.b16 %h0, 0x3c00;\natom.global.add.noftz.f16 %h1, [%d2], %h0;\n") "ld.volatile.global.b16 %h2, [%d2];\ncvt.rzi.u32.f16 %r1, %h2;\n" END,
     NULL, all, 0, 0, "sums of f16 by many threads are wrong"},
    {"the allocator of kernels",
     PTX ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n" ENTRY
         "{\n.param .b64 n;\n.param .b64 p;\nst.param.b64 [n], 16;\ncall (p), malloc, (n);\nld.param.b64 %d2, [p];\n}\n"
         "st.u32 [%d2], %r0;\nbar.sync 0;\nld.u32 %r1, [%d2];\n"
         "{\n.param .b64 p;\nst.param.b64 [p], %d2;\ncall free, (p);\n}\n" END,
     NULL, itself, 0, 0, "kernels that call malloc are wrong"},
    {"printf of kernels",
     PTX
     ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
     ".visible .global .align 1 .b8 format[9] = {99, 117, 109, 117, 32, 37, 100, 10, 0};\n" ENTRY
     ".local .align 8 .b8 args[8];\nmov.u32 %r1, %r0;\nsetp.ne.u32 %p0, %r0, 5;\n@%p0 bra $done;\n"
     "mov.u32 %r2, 42;\nmov.u64 %d2, args;\nst.local.u32 [%d2], %r2;\ncvta.local.u64 %d3, %d2;\nmov.u64 %d4, format;\n"
     "cvta.global.u64 %d5, %d4;\n{\n.param .b64 f;\n.param .b64 a;\n.param .b32 r;\nst.param.b64 [f], %d5;\n"
     "st.param.b64 [a], %d3;\ncall (r), vprintf, (f, a);\n}\n$done:\n" END,
     NULL, itself, 0, DOCTOR_PRINTS, "what kernels print is lost; nothing else is wrong"},
    {"textures",
     PTX ".visible .entry probe(.param .u64 out, .param .u64 tex)\n" BODY
         "ld.param.u64 %d2, [tex];\nand.b32 %r2, %r0, 7;\nshr.u32 %r3, %r0, 3;\ncvt.rn.f32.u32 %f0, %r2;\n"
         "cvt.rn.f32.u32 %f1, %r3;\nadd.f32 %f0, %f0, 0f3F000000;\nadd.f32 %f1, %f1, 0f3F000000;\n"
         "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%d2, {%f0, %f1}];\ncvt.rzi.u32.f32 %r1, %f2;\n" END,
     NULL, texel, 0, DOCTOR_NEEDS_TEXTURE, "programs that use textures are wrong"},
    {"fragments of matrix products",
     PTX ENTRY
     "mov.u32 %r2, %laneid;\nshr.u32 %r3, %r2, 2;\nand.b32 %r2, %r2, 3;\nmad.lo.u32 %r11, %r2, 6, %r3;\n"
     "add.u32 %r12, %r2, %r3;\nadd.u32 %r12, %r12, %r12;\n" PAIR("%r5", "%r11", "0", "3") PAIR("%r6", "%r11", "8", "11")
         PAIR("%r7", "%r11", "24", "27") PAIR("%r8", "%r11", "32", "35") PAIR("%r9", "%r12", "0", "1") PAIR(
             "%r10", "%r12", "8",
             "9") "mov.f32 %f4, 0f00000000;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, "
                  "{%r5, %r6, %r7, %r8}, {%r9, %r10}, {%f4, %f4, %f4, %f4};\n"
                  "cvt.rzi.u32.f32 %r1, %f0;\ncvt.rzi.u32.f32 %r2, %f1;\nmad.lo.u32 %r1, %r2, 3, %r1;\ncvt.rzi.u32.f32 %r2, %f2;\n"
                  "mad.lo.u32 %r1, %r2, 5, %r1;\ncvt.rzi.u32.f32 %r2, %f3;\nmad.lo.u32 %r1, %r2, 7, %r1;\n" END,
     NULL, product, 0, 0, "programs that use tensor cores are wrong"},
    {"f32 sums to the nearest", NEAREST("add.rn.f32", AB), NULL, sums, 0, 0, ROUNDS},
    {"f32 products to the nearest", NEAREST("mul.rn.f32", AB), NULL, products, 0, 0, ROUNDS},
    {"f32 fused to the nearest", NEAREST("fma.rn.f32", AB ", %f0"), NULL, fused, 0, 0, ROUNDS},
    {"f32 quotients to the nearest", NEAREST("div.rn.f32", AB), NULL, quotients, 0, 0, ROUNDS},
    {"f32 roots to the nearest", NEAREST("sqrt.rn.f32", "%f0"), NULL, roots, 0, 0, ROUNDS},
    {"f32 sums rounded in a direction", DIRECTED("add", AB), NULL, sums_directed, 0, 0, ROUNDS},
    {"f32 products rounded in a direction", DIRECTED("mul", AB), NULL, products_directed, 0, 0, ROUNDS},
    {"f32 fused rounded in a direction", DIRECTED("fma", AB ", %f0"), NULL, fused_directed, 0, 0, ROUNDS},
    {"f32 quotients rounded in a direction", DIRECTED("div", AB), NULL, quotients_directed, 0, 0, ROUNDS},
    {"f32 roots rounded in a direction", DIRECTED("sqrt", "%f0"), NULL, roots_directed, 0, 0, ROUNDS},
    {"f64 sums to the nearest", WIDE("add.rn.f64", "%e0, %e1"), NULL, wide_sums, 0, 0, ROUNDS},
    {"f64 products to the nearest", WIDE("mul.rn.f64", "%e0, %e1"), NULL, wide_products, 0, 0, ROUNDS},
    {"f64 fused to the nearest", WIDE("fma.rn.f64", "%e0, %e1, %e0"), NULL, wide_fused, 0, 0, ROUNDS},
    {"f64 quotients to the nearest", WIDE("div.rn.f64", "%e0, %e1"), NULL, wide_quotients, 0, 0, ROUNDS},
    {"f64 roots to the nearest", WIDE("sqrt.rn.f64", "%e0"), NULL, wide_roots, 0, 0, ROUNDS},

    /* What a toolkit has of its own: forms that may take the place of the safe ones. */
    {"mcc: a product and a sum, each rounded", NULL, MUSA_OPERANDS "c.f = a.f * b.f + a.f; r = c.u;", twice, 0, 0,
     ROUNDS},
    {"mcc: operator / of f32", NULL, TRY "TRY(" NARROW ", a / b, divided(a, b))", nothing, 0, 0, FASTER},
    {"mcc: sqrtf", NULL, TRY "TRY(" NARROW ", sqrtf(a), rooted(a))", nothing, 0, 0, FASTER},
    {"mcc: operator / of f64", NULL, TRY "TRY(" LONG ", a / b, divided(a, b))", nothing, 0, 0, FASTER},
    {"mcc: sqrt of f64", NULL, TRY "TRY(" LONG ", sqrt(a), rooted(a))", nothing, 0, 0, FASTER},
    {"mcc: __fadd_rz and its like", NULL, TRY MODES MODE("_rz", "CM_RZ") MODE("_rd", "CM_RM") MODE("_ru", "CM_RP"),
     nothing, 0, 0, FASTER},
    {"mcc: fmaf", NULL, MUSA_OPERANDS "c.f = fmaf(a.f, b.f, a.f); r = c.u;", fused, 0, 0, ROUNDS},
    {"mcc: atomicAdd of float", NULL,
     "__shared__ float s; if (!t) s = 0; __syncthreads(); atomicAdd(&s, 1.0f); __syncthreads(); r = (unsigned)s;", all,
     0, 0, FASTER},
    {"mcc: atomicAdd of double", NULL,
     "__shared__ double s; if (!t) s = 0; __syncthreads(); atomicAdd(&s, 1.0); __syncthreads(); r = (unsigned)s;", all,
     0, 0, FASTER},
    {"mcc: atomicAdd of __half", NULL,
     "__shared__ __half s; __half h; *(unsigned short *)&h = 0x3c00; if (!t) *(unsigned short *)&s = 0; __syncthreads(); "
     "atomicAdd(&s, h); __syncthreads(); r = *(unsigned short *)&s;",
     half_of_all, 0, 0, FASTER},
    {"mcc: fragments of __musa_wmma_m16n8k16_mma", NULL,
     "unsigned g = t % 32 / 4, q = t % 4; int a[4], b[2], c[4] = {0, 0, 0, 0}; for (unsigned v = 0; v < 4; v++) { "
     "unsigned k = 2 * q + 8 * (v & 1), x = g + 8 * (v / 2) + 3 * k, y = k + 2 * g; "
     "a[v] = (int)(to_f16((float)x) | to_f16((float)(x + 3)) << 16); "
     "b[v & 1] = (int)(to_f16((float)y) | to_f16((float)(y + 1)) << 16); } "
     "__musa_wmma_m16n8k16_mma(c, a, b, c, 0, 0, 0, 0, 0, 1, 2); "
     "for (unsigned v = 0; v < 4; v++) r += (2 * v + 1) * (unsigned)as_f32((unsigned)c[v]);",
     product_of_unit, 0, 0, FASTER},
    {"mcc: address spaces 1 and 3", NULL,
     "__shared__ unsigned s[128]; *(__attribute__((address_space(3))) unsigned *)&s[t] = t; __syncthreads(); "
     "((__attribute__((address_space(1))) unsigned *)out)[t] = s[t]; r = "
     "((__attribute__((address_space(1))) unsigned *)out)[t];",
     itself, 0, 0, FASTER},
    {"mcc: __shfl_xor_sync", NULL, "r = __shfl_xor_sync(0xffffffffu, t, 1, 32);", neighbour, 0, 0, FASTER},
    {"mcc: __shfl_up_sync", NULL, "r = __shfl_up_sync(0xffffffffu, t, 1, 32);", one_up, 0, 0, FASTER},
    {"mcc: __shfl_down_sync", NULL, "r = __shfl_down_sync(0xffffffffu, t, 1, 32);", one_down, 0, 0, FASTER},
    {"mcc: __reduce_add_sync", NULL, "r = __reduce_add_sync(0xffffffffu, t);", sum_of_32, 0, 0, FASTER},
    {"mcc: bytes of __ballot_sync", NULL, "r = sizeof(__ballot_sync(0xffffffffu, 1));", NULL, 0, 0, FASTER},
    {"mcc: bits of __ballot_sync", NULL, "r = (unsigned)__popcll(__ballot_sync(0xffffffffu, 1));", NULL, 0, 0, FASTER},
    {"mcc: bytes of __activemask", NULL, "r = sizeof(__activemask());", NULL, 0, 0, FASTER},
    {"mcc: warpSize", NULL, "r = (unsigned)warpSize;", NULL, 0, 0, FASTER},
    {"mcc: __musa_memcpy_g2s", NULL,
     "__shared__ __align__(16) unsigned s[128]; out[t] = t; __syncthreads(); if (t % 4 == 0) __musa_memcpy_g2s("
     "(__attribute__((address_space(3))) void *)&s[t], (__attribute__((address_space(1))) void *)&out[t], 16, 0); "
     "__musa_memcpy_g2s_wait(); __syncthreads(); r = s[t];",
     itself, 0, 0, FASTER},
    /* Shapes that the compiler is known to break down on, or to compile wrongly (mapping/facts/musa.md D7). */
    {"mcc: conditions that are always true", NULL,
     "unsigned one = 1; for (int k = 0; k < 1; k++) if (one) { if (one) { if (one) { do { "
     "atomicAdd(&out[t], 0u); r = t; } while (0); } } }",
     itself, 0, 0, "kernels may be compiled wrongly: CUMU_MCC_FLAGS=-O1 may help"},
    {"mcc: a return inside a condition", NULL, "out[t] = 77; if (t & 1) return; r = t;", evens_only, 0, 0,
     "kernels may be compiled wrongly: CUMU_MCC_FLAGS=-O1 may help"},
    {.name = NULL},
};

const struct doctor_probe *doctor_probe_named(const char *name)
{
    const struct doctor_probe *p = doctor_probes;
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    return p->name ? p : NULL;
}
