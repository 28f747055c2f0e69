/* cp.async with partial copies, mbarrier phases, and the cluster of one block. */
#include "tier0/kernels.h"

/* every thread copies 16 bytes, of which the source gives tid % 17; the rest is zero */
static const char copy[] = KERNEL(
    ".shared .align 16 .b8 s[2048]; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;\n"
    "cvt.u64.u32 %rd5, %r3; add.s64 %rd6, %rd31, %rd5; rem.u32 %r5, %r1, 17;\n"
    "cp.async.cg.shared.global [%r4], [%rd6+16], 16; cp.async.cg.shared.global [%r4], [%rd6+16], 16, %r5;\n"
    "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n"
    "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4]; add.u32 %r6, %r6, %r7; xor.b32 %r6, %r6, %r8;\n"
    "add.u32 %r6, %r6, %r9; " STORE("%r6"));
static uint32_t copy_want(uint32_t i)
{
    uint32_t v[4] = {0};
    memcpy(v, in + 4 * i + 4, i % 17);
    return ((v[0] + v[1]) ^ v[2]) + v[3];
}

/* odd threads copy nothing, from an address that is nobody's and not aligned: zeroes */
static const char nothing[] = KERNEL(
    ".shared .align 16 .b8 s[2048]; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;\n"
    "and.b32 %r5, %r1, 1; setp.ne.u32 %p1, %r5, 0; selp.u32 %r5, 0, 16, %p1;\n"
    "cvt.u64.u32 %rd5, %r3; add.s64 %rd6, %rd31, %rd5; mov.u64 %rd7, 7; selp.b64 %rd6, %rd7, %rd6, %p1;\n"
    "cp.async.cg.shared.global [%r4], [%rd6], 16, %r5; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n"
    "ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r4+12]; add.u32 %r6, %r6, %r7; " STORE("%r6"));
static uint32_t nothing_want(uint32_t i) { return i & 1 ? 0 : in[4 * i] + in[4 * i + 3]; }

/* four copies of 16 bytes under way together, the last under a guard, read by another thread */
static const char batch[] = KERNEL(
    ".shared .align 16 .b8 s[8192]; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;\n"
    "cvt.u64.u32 %rd5, %r3; add.s64 %rd6, %rd31, %rd5; setp.lt.u32 %p1, %r1, 64;\n"
    "cp.async.cg.shared.global [%r4], [%rd6], 16; cp.async.cg.shared.global [%r4+2048], [%rd6+16], 16;\n"
    "add.u32 %r5, %r4, 4096; cp.async.cg.shared.global [%r5], [%rd6+32], 16;\n"
    "add.u32 %r5, %r5, 2048; mov.u32 %r6, 0; st.shared.u32 [%r5], %r6;\n"
    "@%p1 cp.async.cg.shared.global [%r5], [%rd6+48], 16;\n"
    "cp.async.commit_group; cp.async.wait_all; bar.sync 0; xor.b32 %r3, %r3, 48; add.u32 %r4, %r2, %r3;\n"
    "ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r4+2048]; ld.shared.u32 %r8, [%r4+4096];\n"
    "ld.shared.u32 %r9, [%r4+6144]; mad.lo.u32 %r6, %r6, 3, %r7; mad.lo.u32 %r6, %r6, 3, %r8;\n"
    "mad.lo.u32 %r6, %r6, 3, %r9; " STORE("%r6"));
static uint32_t batch_want(uint32_t i)
{
    const uint32_t *v = in + 4 * (i ^ 3);
    return ((v[0] * 3 + v[4]) * 3 + v[8]) * 3 + ((i ^ 3) < 64 ? v[12] : 0);
}

/* 8 bytes, of which the source gives tid % 9, and behind them 4, of which it gives tid % 5; each by three lanes of four
 * of a warp, where the others keep what is there */
static const char narrow[] = KERNEL(
    ".shared .align 16 .b8 s[2048]; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;\n"
    "cvt.u64.u32 %rd5, %r3; add.s64 %rd6, %rd31, %rd5; rem.u32 %r5, %r1, 9; rem.u32 %r6, %r1, 5;\n"
    "st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1}; and.b32 %r7, %r1, 3; setp.ne.u32 %p1, %r7, 0;\n"
    "setp.ne.u32 %p2, %r7, 2; @%p1 cp.async.ca.shared.global [%r4], [%rd6+8], 8, %r5;\n"
    "@%p2 cp.async.ca.shared.global [%r4+8], [%rd6+4], 4, %r6; @%p2 cp.async.ca.shared.global [%r4+12], [%rd6], 4;\n"
    "cp.async.wait_all; bar.sync 0; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4]; mad.lo.u32 %r6, %r6, 3, %r7;\n"
    "mad.lo.u32 %r6, %r6, 3, %r8; mad.lo.u32 %r6, %r6, 3, %r9; " STORE("%r6"));
static uint32_t narrow_want(uint32_t i)
{
    uint32_t v[4] = {i, i, i, i};
    if (i % 4 != 0) {
        memset(v, 0, 8);
        memcpy(v, in + 4 * i + 2, i % 9);
    }
    if (i % 4 != 2) {
        v[2] = 0;
        memcpy(v + 2, in + 4 * i + 1, i % 5);
        v[3] = in[4 * i];
    }
    return ((v[0] * 3 + v[1]) * 3 + v[2]) * 3 + v[3];
}

/* two phases of an mbarrier instead of bar.sync; waits by state and by parity */
static const char phases[] = KERNEL(
    ".shared .align 8 .b64 bar; .shared .align 4 .b32 v[128]; mov.u32 %r2, 128; setp.eq.u32 %p1, %r1, 0;\n"
    "@%p1 mbarrier.init.shared.b64 [bar], %r2; bar.sync 0;\n"
    "mov.u32 %r3, v; shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r1;\n"
    "mbarrier.arrive.shared.b64 %rd5, [bar];\n"
    "W: mbarrier.test_wait.shared.b64 %p2, [bar], %rd5; @!%p2 bra W;\n"
    "sub.u32 %r5, 127, %r1; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r3; ld.shared.u32 %r6, [%r5];\n"
    "mbarrier.arrive.shared.b64 _, [bar];\n"
    "V: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 1; @!%p3 bra V;\n"
    "st.shared.u32 [%r4], %r6; bar.sync 0; ld.shared.u32 %r7, [%r5]; mad.lo.u32 %r6, %r6, 1000, %r7;\n"
    "mbarrier.pending_count.b64 %r8, %rd5; setp.eq.u32 %p4, %r8, 0; @%p4 add.u32 %r6, %r6, 5000000;\n" STORE("%r6"));
static uint32_t phases_want(uint32_t i) { return (127 - i) * 1000 + i; }

static const char cluster[] = KERNEL(
    "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctaid.x;\n"
    "mov.u32 %r4, %nclusterid.x; mov.u32 %r5, %clusterid.x; mad.lo.u32 %r2, %r2, 10, %r3;\n"
    "mad.lo.u32 %r2, %r2, 10, %r4; mad.lo.u32 %r2, %r2, 10, %r5; " STORE("%r2"));
static uint32_t cluster_want(uint32_t i) { return 130 + i / 64; }

int main(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u;
    expect("cp.async", copy, 1, 128, copy_want);
    expect("cp.async of nothing", nothing, 1, 128, nothing_want);
    expect("cp.async of 4 and 8 bytes by some lanes", narrow, 1, 128, narrow_want);
    expect("several cp.async", batch, 1, 128, batch_want);
    expect("mbarrier phases", phases, 1, 128, phases_want);
    expect("cluster of one block", cluster, 3, 64, cluster_want);
    expect_fault("cp.async outside shared memory",
                 KERNEL(".shared .align 16 .b8 s[64]; mov.u32 %r2, 64; cp.async.ca.shared.global "
                        "[%r2], [%rd31], 4;\n"),
                 1, 32, T0_FAULT_SHARED, 0, 0, 64);
    expect_fault(
        "cp.async of one byte from an address that is not aligned",
        KERNEL(
            ".shared .align 16 .b8 s[1024]; mov.u32 %r3, s; shl.b32 %r2, %r1, 4; add.u32 %r2, %r2, %r3; setp.eq.u32 %p1, %r1, 5; selp.u32 %r5, 1, 0, "
            "%p1; add.s64 %rd5, %rd31, 4; cp.async.cg.shared.global [%r2], [%rd5], 16, %r5;\n"),
        1, 32, T0_FAULT_MISALIGNED, 0, 5, 0);
    return t0t_done();
}
