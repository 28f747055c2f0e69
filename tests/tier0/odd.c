/* Instructions that programs seldom use, or that are hints on a CPU: they must lower and, where
 * they compute something, compute it. */
#include "tier0/kernels.h"

/* hints leave memory and registers alone */
static const char hints[] = KERNEL(
    "createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0; prefetch.global.L1 [%rd1];\n"
    "prefetch.global.L2::evict_last [%rd1]; prefetchu.L1 [%rd1]; brkpt; pmevent 3;\n"
    "applypriority.global.L2::evict_normal [%rd31], 128; griddepcontrol.wait;\n"
    "setmaxnreg.inc.sync.aligned.u32 64; griddepcontrol.launch_dependents;\n"
    "fence.proxy.async; membar.proxy.alias;\n"
    "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd6, [%rd31], 0x1000, 0x2000;\n"
    "createpolicy.cvt.L2.b64 %rd7, 0x10000000; cp.async.bulk.prefetch.L2.global [%rd31], 256;\n"
    "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd31], 256, %rd7; discard.global.L2 [%rd30+131072], 128;\n"
    "prefetch.tensormap [%rd31]; fence.proxy.tensormap::generic.acquire.gpu [%rd31], 128;\n"
    "fence.mbarrier_init.release.cluster; fence.acq_rel.cluster; fence.sc.sys; membar.gl; fence.proxy.alias;\n"
    "fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster;\n"
    "ld.mmio.relaxed.sys.global.u32 %r3, [%rd1]; ld.global.nc.L1::no_allocate.L2::256B.u32 %r4, [%rd1];\n"
    "ld.global.L1::evict_last.L2::cache_hint.u32 %r2, [%rd1], %rd5; sub.u32 %r3, %r3, %r4; add.u32 %r2, %r2, %r3;\n"
    "st.global.L2::cache_hint.u32 [%rd0], %r2, %rd5;\n");
static uint32_t same(uint32_t i) { return in[i]; }

/* one block is the whole cluster: rank 0 of 1, and its shared memory is the cluster's */
static const char cluster[] = KERNEL(
    ".shared .align 4 .b32 s[64]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"
    "mapa.shared::cluster.u32 %r4, %r2, 0; st.shared::cluster.u32 [%r4], %r0;\n"
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
    "cvt.u64.u32 %rd5, %r2; cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd6, %rd5, 0;\n"
    "ld.u32 %r5, [%rd6]; getctarank.u64 %r6, %rd6; getctarank.shared::cluster.u32 %r7, %r4;\n"
    "mov.u32 %r8, %cluster_nctarank; add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8;\n"
    "atom.shared::cluster.add.u32 %r9, [%r4], 1; sub.u32 %r9, %r9, %r5; add.u32 %r6, %r6, %r9;\n"
    "mov.pred %p1, %is_explicit_cluster; @%p1 add.u32 %r6, %r6, 100;\n"
    "mad.lo.u32 %r5, %r5, 10, %r6; " STORE("%r5"));
static uint32_t cluster_want(uint32_t i) { return i * 10 + 1; }

/* lop3 with a predicate: p = (d != 0) or/and/xor q */
static const char lop3[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; and.b32 %r3, %r2, 12; setp.lt.u32 %p1, %r1, 16;\n"
    "lop3.or.b32 %r4|%p2, %r2, %r3, 255, 0x80, %p1; lop3.and.b32 _|%p3, %r3, 4, -1, 0x80, %p1;\n"
    "lop3.xor.b32 %r5|%p4, %r3, 8, 0, 0x3c, !%p1;\n"
    "@%p2 or.b32 %r4, %r4, 0x100; @%p3 or.b32 %r4, %r4, 0x200; @%p4 or.b32 %r4, %r4, 0x400;\n"
    "shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5;\n" STORE("%r4"));
static uint32_t lop3_want(uint32_t i)
{
    uint32_t x = in[i], y = x & 12, d = x & y & 255, q = i % 32 < 16, e = y ^ 8;
    return d | (d || q ? 0x100 : 0) | ((y & 4) && q ? 0x200 : 0) | ((e != 0) != !q ? 0x400 : 0) | e << 16;
}

/* cp.async with ignore-src and with a cache policy */
static const char copies[] = KERNEL(
    ".shared .align 16 .b8 s[512]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;\n"
    "and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; mov.u64 %rd5, 0;\n"
    "cp.async.ca.shared.global [%r4], [%rd1], 4, %p1;\n"
    "cp.async.ca.shared.global.L2::cache_hint [%r4+256], [%rd1], 4, %rd5;\n"
    "cp.async.wait_all; ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r4+256];\n"
    "mad.lo.u32 %r6, %r6, 3, %r7; " STORE("%r6"));
static uint32_t copies_want(uint32_t i) { return (i & 1 ? 3 * in[i] : 0) + in[i]; }

/* 1 KiB of shared memory beside the kernel's own */
static const char reserved[] = KERNEL(
    ".shared .align 4 .b32 s[64]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"
    "mov.u32 %r4, %reserved_smem_offset_1; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r1;\n"
    "st.shared.u32 [%r2], 7; mov.u32 %r5, %reserved_smem_offset_begin;\n"
    "mov.u32 %r6, %reserved_smem_offset_end; sub.u32 %r6, %r6, %r5; bar.sync 0;\n"
    "ld.shared.u32 %r7, [%r4]; mad.lo.u32 %r7, %r7, 10000, %r6; " STORE("%r7"));
static uint32_t reserved_want(uint32_t i) { return i % 64 * 10000 + 1024; }

/* alloca, and a stack that goes back */
static const char stack[] = KERNEL("stacksave.u64 %rd5; alloca.u64 %rd6, 64, 16; st.local.u32 [%rd6], %r0;\n"
                                   "ld.local.u32 %r2, [%rd6]; stackrestore.u64 %rd5; alloca.u64 %rd7, 64, 16;\n"
                                   "sub.u64 %rd7, %rd7, %rd6; cvt.u32.u64 %r3, %rd7;\n"
                                   "mad.lo.u32 %r2, %r3, 1000, %r2; " STORE("%r2"));
static uint32_t own(uint32_t i) { return i; }

/* bulk copies: one thread fetches 256 bytes, all wait for arrivals and bytes, one stores them back. Copies of nothing
 * may have odd addresses. The first wait, before the bytes came, must not pass. */
static const char bulk[] = KERNEL(
    ".shared .align 16 .b8 s[256]; .shared .align 8 .b64 bar; mov.u32 %r2, s; mov.u32 %r3, bar;\n"
    "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared::cta.b64 [%r3], 64; bar.sync 0;\n"
    "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 128;\n"
    "@!%p1 mbarrier.arrive.shared::cta.b64 _, [%r3];\n"
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128; bar.sync 0;\n"
    "mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r3], 0; selp.u32 %r9, 1, 0, %p2;\n"
    "bar.sync 0;\n"
    "mul.wide.u32 %rd5, %r50, 256; add.s64 %rd6, %rd31, %rd5; add.s64 %rd7, %rd30, %rd5;\n"
    "mov.u32 %r10, 0; add.u32 %r11, %r2, 8; add.s64 %rd8, %rd6, 3; add.s64 %rd9, %rd7, 5;\n"
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd8], %r10, [%r3];\n"
    "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r11], %r10;\n"
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd6], 256, "
    "[%r3];\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;\n"
    "shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];\n"
    "add.u32 %r5, %r5, %r9; add.u32 %r5, %r5, 1; st.shared.u32 [%r4], %r5;\n"
    "fence.proxy.async.shared::cta; bar.sync 0;\n"
    "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd7], [%r2], 256;\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n");
static uint32_t next(uint32_t i) { return in[i] + 1; }

/* Elements of arrays by constants and by registers of both widths, as ptxas 13 scales them: by single elements also
 * where the array has rows or vectors; the offset has 32 bits. */
#define TABLES \
    ".global .u32 t[8] = {10, 11, 12, 13, 14, 15, 16, 17}; .const .u16 c[4] = {5, 6, 7, 8};\n" \
    ".global .u32 m[2][3] = {{20, 21, 22}, {23, 24, 25}}; .global .v2 .u32 v[2] = {{30, 31}, {32, 33}};\n"
static const char elements[] = HEAD TABLES ENTRY(
    "k") ".shared .align 8 .b64 s[8]; and.b32 %r2, %r1, 3; cvt.u64.u32 %rd5, %r2; or.b64 %rd5, %rd5, 0x700000000;\n"
         "add.u32 %r3, %r2, 0x40000000; st.shared.u64 s[%r2+1], %rd5; ld.shared.u32 %r4, s[%rd5+1];\n"
         "ld.global.u32 %r5, t[%r2+2]; ld.global.u32 %r6, t[%r3]; ld.const.u16 %r7, c[%r2];\n"
         "ld.global.u32 %r8, m[1]; ld.global.u32 %r9, m[%r2]; mov.u64 %rd6, t[%rd5+4]; ld.global.u32 %r10, [%rd6];\n"
         "mov.u32 %r11, s[%r2+1]; ld.shared.u32 %r11, [%r11]; ld.global.u32 %r12, v[%r2]; ld.global.u32 %r13, v[3];\n"
         "mad.lo.u32 %r4, %r4, 31, %r5; mad.lo.u32 %r4, %r4, 31, %r6; mad.lo.u32 %r4, %r4, 31, %r7;\n"
         "mad.lo.u32 %r4, %r4, 31, %r8; mad.lo.u32 %r4, %r4, 31, %r9; mad.lo.u32 %r4, %r4, 31, %r10;\n"
         "mad.lo.u32 %r4, %r4, 31, %r11; mad.lo.u32 %r4, %r4, 31, %r12; mad.lo.u32 %r4, %r4, 31, %r13;\n" STORE("%r4")
             END;
static uint32_t elements_want(uint32_t i)
{
    const uint32_t k = i & 3, parts[] = {12 + k, 10 + k, 5 + k, 21, 20 + k, 14 + k, k, 30 + k, 33};
    uint32_t r = k;
    for (unsigned x = 0; x < sizeof parts / sizeof *parts; x++)
        r = r * 31 + parts[x];
    return r;
}

static void refused(const char *what, const char *body, const char *part)
{
    struct t0t t;
    bool good = t0t_open(&t, body, "k");
    check(!good && strstr(t.why, part), "%s: %s", what, good ? "lowered" : t.why);
    t0t_close(&t);
}

int main(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u;
    expect("hints", hints, 2, 64, same);
    expect("a cluster of one block", cluster, 2, 64, cluster_want);
    expect("lop3 with predicates", lop3, 2, 32, lop3_want);
    expect("cp.async with ignore-src and policy", copies, 1, 64, copies_want);
    expect("reserved shared memory", reserved, 3, 64, reserved_want);
    expect("stacksave and stackrestore", stack, 1, 64, own);
    expect("bulk copies", bulk, 3, 64, next);
    expect("elements of arrays", elements, 2, 64, elements_want);
    refused("an element by a register of 16 bits",
            HEAD TABLES ENTRY("k") ".reg .b16 %w<2>; ld.global.u32 %r2, t[%w1];\n" END, "32 or 64 bits");
    refused("launch from a kernel, declared otherwise",
            HEAD ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 f);\n" ENTRY(
                "k") "{ .param .b64 a; .param .b64 b; st.param.b64 [a], %rd0;\n"
                     "call.uni (b), cudaGetParameterBufferV2, (a); }\n" END,
            "call of `cudaGetParameterBufferV2`, which this device runtime");
    refused("tensor memory shifted", KERNEL("tcgen05.shift.cta_group::1.down [%r1];"),
            "from which side a row is taken");
    return t0t_done();
}
