/* Bulk copies and reductions, st.async and red.async with the mbarriers that count their bytes, all
 * within the only block of a cluster; and video instructions and special registers as kernels. */
#include "tier0/kernels.h"

enum { THREADS = 128 };
#define SHARED ".shared .align 16 .b8 s[4096]; .shared .align 8 .b64 bar;\n"
/* thread 0 makes a barrier that waits for itself; %r2 = s, %r3 = bar */
#define START \
    SHARED "mov.u32 %r2, s; mov.u32 %r3, bar; setp.eq.u32 %p1, %r1, 0;\n" \
           "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n fence.mbarrier_init.release.cluster; bar.sync 0;\n"
#define WAIT "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;\n"
#define MINE "shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r2;\n"

/* global to shared and back: out[i] = in[i ^ 1] */
static const char there_and_back[] = KERNEL(
    START "@!%p1 bra A;\n mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd31], 256, [%r3];\n"
          "mov.b16 %h1, 1; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%r2+256], [%rd31+256], 256, [%r3], %h1;\nA: " WAIT MINE
          "xor.b32 %r5, %r1, 1; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];\n"
          "st.shared.u32 [%r4+1024], %r6; fence.proxy.async.shared::cta; bar.sync 0;\n"
          "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd30], [%r2+1024], 512;\n"
          "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n");
static uint32_t there_and_back_want(uint32_t i) { return in[i ^ 1]; }

/* every thread stores two words to its neighbour's place, 1024 bytes in all */
static const char stores[] = KERNEL(
    START
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1536;\n"
    "add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, 128; shl.b32 %r5, %r5, 3; add.u32 %r5, %r5, %r2;\n"
    "mapa.shared::cluster.u32 %r6, %r5, 0; mapa.shared::cluster.u32 %r7, %r3, 0; mul.lo.u32 %r8, %r1, 7;\n"
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r6], {%r1, %r8}, [%r7];\n"
    "shl.b32 %r9, %r1, 2; add.u32 %r9, %r9, %r2;\n"
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9+1024], %r0, [%r7];\n" WAIT
    "shl.b32 %r10, %r1, 3; add.u32 %r10, %r10, %r2; ld.shared.v2.u32 {%r11, %r12}, [%r10];\n"
    "ld.shared.u32 %r13, [%r9+1024]; mad.lo.u32 %r11, %r11, 1000, %r12; mad.lo.u32 %r11, %r13, 100000, %r11;\n" STORE(
        "%r11"));
static uint32_t stores_want(uint32_t i)
{
    uint32_t from = (i + THREADS - 1) % THREADS;
    return from * 1000 + from * 7 + i * 100000;
}

/* The same by 16 bytes, a register of 128 bits that was loaded and moved; then 15 bytes at both ends of a copy that the
 * program need not have. */
static const char wide_stores[] = KERNEL(
    START
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 2560;\n"
    "shl.b32 %r5, %r1, 4; add.u32 %r5, %r5, %r2; mul.lo.u32 %r8, %r1, 7; mov.b64 %rd5, {%r1, %r8};\n"
    "mov.b64 %rd6, {%r8, %r1}; mov.b128 %q0, {%rd5, %rd6}; st.shared.b128 [%r5+2048], %q0; mov.b64 %rd5, 0;\n"
    "ld.shared.b128 %q1, [%r5+2048]; mov.b128 %q2, %q1; mov.b128 {_, %rd6}, %q2; setp.lt.u32 %p3, %r1, 0;\n"
    "@%p3 mov.b128 %q2, {%rd5, %rd5};\n"
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r5], %q2, [%r3];\n"
    "@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob "
    "[%r2+2048], [%rd31], 512, 3, 15, [%r3];\n" WAIT
    "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5]; cvt.u32.u64 %r14, %rd6; xor.b32 %r12, %r12, %r14;\n"
    "shl.b32 %r9, %r1, 2; add.u32 %r9, %r9, %r2; ld.shared.u32 %r14, [%r9+2048]; and.b32 %r14, %r14, 0xff000000;\n"
    "mad.lo.u32 %r10, %r13, 1000, %r10; add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12;\n"
    "setp.lt.u32 %p3, %r1, 124; @%p3 add.u32 %r10, %r10, %r14;\n" STORE("%r10"));
static uint32_t wide_want(uint32_t i) { return i * 1000 + i + i * 7 + (i < 124 ? in[i] & 0xff000000 : 0); }

/* all threads reduce into six words and a long one */
static const char reductions[] = KERNEL(
    START "@%p1 st.shared.v4.u32 [%r2], {5, 5, 77, 1000}; @%p1 st.shared.v4.u32 [%r2+16], {0, 0, 0, 0};\n"
          "bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 3584;\n"
#define RED "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
          "add.u32 %r5, %r1, 3; and.b32 %r6, %r1, 15; shl.b32 %r7, 1, %r6; cvt.u64.u32 %rd5, %r1;\n" RED
          ".add.u32 [%r2], %r1, [%r3];\n" RED ".max.s32 [%r2+4], %r1, [%r3];\n" RED
          ".min.u32 [%r2+8], %r5, [%r3];\n" RED ".inc.u32 [%r2+12], 100, [%r3];\n" RED
          ".or.b32 [%r2+16], %r7, [%r3];\n" RED ".add.u64 [%r2+24], %rd5, [%r3];\n" WAIT
          "rem.u32 %r8, %r1, 8; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r2; ld.shared.u32 %r9, [%r8];\n" STORE("%r9"));
static uint32_t reductions_want(uint32_t i)
{
    uint32_t sum = THREADS * (THREADS - 1) / 2, wound = 1000;
    for (unsigned k = 0; k < THREADS; k++)
        wound = wound >= 100 ? 0 : wound + 1;
    const uint32_t want[] = {5 + sum, THREADS - 1, 3, wound, 0xffff, 0, sum, 0};
    return want[i % 8];
}

/* cp.reduce.async.bulk of 512 bytes, of both halves of `in`: in shared memory, then on top of `out` */
static char reduce_text[8192];
static const char *reduce(const char *inner, const char *outer)
{
    static const char head[] = HEAD ENTRY("k") START
        "@!%p1 bra A;\n mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd31], 1024, [%r3];\n"
        "A: " WAIT "bar.sync 0; @!%p1 bra B;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n";
    snprintf(reduce_text, sizeof reduce_text,
             "%scp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%s "
             "[%%r2], [%%r2+512], 512, [%%r3];\n"
             "B: mbarrier.try_wait.parity.shared::cta.b64 %%p2, [bar], 1; @!%%p2 bra B; bar.sync 0;\n"
             "@%%p1 cp.async.bulk.global.shared::cta.bulk_group [%%rd30], [%%r2], 512;\n"
             "@%%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [%%rd30], [%%r2], 512;\n"
             "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}\n",
             head, inner, outer);
    return reduce_text;
}
static uint32_t sum_want(uint32_t i) { return 2 * (in[i] + in[i + THREADS]); }
static uint32_t bits_want(uint32_t i)
{
    uint32_t v = in[i] & in[i + THREADS];
    return v ^ v;
}
static uint32_t least_want(uint32_t i)
{
    const int32_t a = (int32_t)in[i], b = (int32_t)in[i + THREADS];
    return (uint32_t)(a < b ? a : b);
}
static uint32_t float_want(uint32_t i)
{
    const uint32_t bits = in[i] < in[i + THREADS] ? in[i] : in[i + THREADS];
    float a;
    memcpy(&a, &bits, 4);
    a += a;
    memcpy(&i, &a, 4);
    return i;
}

static const char video[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; not.b32 %r3, %r2; vadd.u32.u32.u32 %r4, %r2.b1, %r3.h1;\n"
    "vset4.u32.u32.gt.add %r5, %r2, %r3.b0123, %r0; vmad.s32.s32.u32.shr7 %r6, -%r2.h0, %r3.b2, %r0;\n"
    "vsub2.s32.s32.s32.sat %r7.h1, %r2.h10, %r3.h03, %r0; vshr.u32.u32.u32.clamp %r8.b3, %r2, 3, %r3;\n"
    "xor.b32 %r4, %r4, %r5; xor.b32 %r6, %r6, %r7; xor.b32 %r4, %r4, %r6; xor.b32 %r4, %r4, %r8;\n"
    "mov.u32 %r9, %pm0; mov.u64 %rd9, %pm3_64; sub.u32 %r9, %r9, %r9; add.u32 %r4, %r4, %r9;\n" STORE("%r4"));
static uint32_t video_want(uint32_t i)
{
    uint32_t a = in[i], b = ~a, greater = 0;
    for (unsigned k = 0; k < 4; k++) /* element k of b is part 3 - k of a: digits below 4 */
        greater += (a >> 8 * k & 255) > (a >> 8 * (3 - k) & 255);
    uint32_t sum = (a >> 8 & 255) + (b >> 16);
    int64_t product = -(int64_t)(int16_t)a * (int64_t)(b >> 16 & 255) + (int32_t)i;
    int32_t high = (int16_t)(a >> 16) - (int16_t)a; /* .h03: element 1 is part 0, of a */
    high = high > 32767 ? 32767 : high < -32768 ? -32768 : high;
    uint32_t merged = (i & 0xffff) | (uint32_t)high << 16, shifted = a >> 3;
    shifted = (shifted & 255) << 24 | (b & 0xffffff);
    return sum ^ (i + greater) ^ (uint32_t)(product >> 7) ^ merged ^ shifted;
}

/* Without an mbarrier they are stores and reductions in global memory, which the text need not name. */
static const char plain[] = ".version 8.7\n.target sm_100\n.address_size 64\n" ENTRY(
    "k") "st.async.mmio.release.sys.b32 [%rd0], %r0; red.async.mmio.release.sys.add.u32 [%rd0], 7;\n"
         "red.async.mmio.release.sys.global.xor.b32 [%rd0], 3;\n" END;
static uint32_t plain_want(uint32_t i) { return (i + 7) ^ 3; }

int main(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u ^ i << 7;
    expect("cp.async.bulk", there_and_back, 1, THREADS, there_and_back_want);
    expect("st.async", stores, 1, THREADS, stores_want);
    expect("st.async.b128, .ignore_oob", wide_stores, 1, THREADS, wide_want);
    expect("st.async.mmio, red.async.mmio", plain, 1, THREADS, plain_want);
    expect("red.async", reductions, 1, THREADS, reductions_want);
    expect("cp.reduce.async.bulk.add.u32", reduce("add.u32", "add.u32"), 1, THREADS, sum_want);
    expect("cp.reduce.async.bulk.and.b32, .xor.b64", reduce("and.b32", "xor.b64"), 1, THREADS, bits_want);
    expect("cp.reduce.async.bulk.min.s32, .max.s64", reduce("min.s32", "max.s64"), 1, THREADS, least_want);
    expect("video", video, 8, THREADS, video_want);
    for (uint32_t i = 0; i < MOST; i++) {
        float f = (float)(int32_t)(i * 40503u % 2001 - 1000) / 8;
        memcpy(in + i, &f, 4);
    }
    expect("cp.reduce.async.bulk.min.u32, .add.f32", reduce("min.u32", "add.f32"), 1, THREADS, float_want);
    expect_fault("bulk copy outside shared memory",
                 KERNEL(SHARED "cp.async.bulk.global.shared::cta.bulk_group [%rd30], [%r0+1048576], 16;\n"), 1, 1,
                 T0_FAULT_SHARED, 0, 0, 1048576);
    expect_fault("bulk copy of 8 bytes",
                 KERNEL(SHARED "mov.u32 %r2, s; cp.async.bulk.global.shared::cta.bulk_group [%rd30], [%r2], 8;\n"), 1,
                 1, T0_FAULT_MISALIGNED, 0, 0, 0);
    return t0t_done();
}
