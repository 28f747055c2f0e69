/* Clusters: which blocks form one, shared memory and mbarriers of its other blocks, its barrier, copies to several
 * blocks, in clusters of 1 to 16 blocks and of three dimensions, and the accesses that find nothing there. */
#include "tier0/kernels.h"

enum { BLOCKS = 32, THREADS = 64 };
static uint32_t size = 1; /* of the clusters, for the functions below */

static uint32_t block(uint32_t i) { return i / THREADS; }
static uint32_t rank(uint32_t i) { return block(i) % size; }
/* the same thread of the block that is `step` ranks further */
static uint32_t neighbour(uint32_t i, uint32_t step)
{
    return (block(i) - rank(i) + (rank(i) + step) % size) * THREADS + i % THREADS;
}

/* %r2 = s, %r3 = &s[tid], %r10 = rank, %r11 = blocks, %r12 = rank of the next one */
#define START \
    ".shared .align 16 .b32 s[128]; .shared .align 8 .b64 bar; mov.u32 %r2, s; shl.b32 %r3, %r1, 2;\n" \
    "add.u32 %r3, %r3, %r2; mov.u32 %r10, %cluster_ctarank; mov.u32 %r11, %cluster_nctarank;\n" \
    "add.u32 %r12, %r10, 1; rem.u32 %r12, %r12, %r11; setp.eq.u32 %p1, %r1, 0;\n"
#define SYNC "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define SYNC_APART "barrier.cluster.arrive; barrier.cluster.wait;\n" /* as nvcc writes it: lanes may come one by one */

/* What the next block wrote, by a generic address and by one of shared::cluster; and back into its memory. */
static const char ring[] = KERNEL(
    START
    "st.shared.u32 [%r3], %r0;\n" SYNC_APART
    "cvt.u64.u32 %rd5, %r3; cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd6, %rd5, %r12; ld.u32 %r20, [%rd6];\n"
    "mapa.shared::cluster.u32 %r21, %r3, %r12; ld.shared::cluster.u32 %r22, [%r21];\n"
    "mapa.shared::cluster.u32 %r23, s, %r12; shl.b32 %r24, %r1, 2; xor.b32 %r24, %r24, 4; add.u32 %r23, %r23, %r24;\n"
    "ld.shared::cluster.u32 %r25, [%r23];\n" SYNC_APART
    "mad.lo.u32 %r20, %r22, 3, %r20; mad.lo.u32 %r20, %r25, 5, %r20; st.shared::cluster.u32 [%r21+256], %r20;\n" SYNC_APART
    "ld.shared::cluster.u32 %r26, [%r3+256];\n" STORE("%r26"));
static uint32_t ring_want(uint32_t i)
{
    uint32_t from = neighbour(i, size - 1), at = neighbour(from, 1);
    return at + 3 * at + 5 * (at ^ 1);
}

/* Everybody counts in rank 0's memory, by red, atom and a generic atom; rank 0's plain load sees it. */
static const char histogram[] = KERNEL(
    START
    "st.shared.u32 [%r3], 0; st.shared.u32 [%r3+256], 0;\n" SYNC
    "mapa.shared::cluster.u32 %r20, %r2, 0; and.b32 %r21, %r1, 7; shl.b32 %r21, %r21, 2; add.u32 %r22, %r20, %r21;\n"
    "red.shared::cluster.add.u32 [%r22], 1; atom.shared::cluster.max.u32 %r23, [%r20+128], %r0;\n"
    "cvt.u64.u32 %rd5, %r2; cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd6, %rd5, 0; cvt.u64.u32 %rd7, %r21;\n"
    "add.u64 %rd6, %rd6, %rd7; atom.add.u32 %r24, [%rd6+256], 2; red.relaxed.cluster.shared::cluster.add.u32 [%r22], 0;\n" SYNC
    "setp.eq.u32 %p2, %r10, 0; mov.u32 %r25, 0;\n"
    "and.b32 %r26, %r1, 7; shl.b32 %r26, %r26, 2; add.u32 %r26, %r26, %r2;\n"
    "@%p2 ld.shared.u32 %r25, [%r26]; mov.u32 %r27, 0; @%p2 ld.shared.u32 %r27, [%r26+256];\n"
    "mov.u32 %r28, 0; @%p2 ld.shared.u32 %r28, [%r2+128]; mad.lo.u32 %r25, %r27, 1000, %r25;\n"
    "mad.lo.u32 %r25, %r28, 1000000, %r25;\n" STORE("%r25"));
static uint32_t histogram_want(uint32_t i)
{
    uint32_t n = size * THREADS / 8, last = (block(i) + size) * THREADS - 1;
    return rank(i) ? 0 : n + 2000 * n + 1000000 * last;
}

/* All arrive at the barrier of their pair's even block, whose rank comes of clearing bit 24: of an address without a
 * rank, as programs of pairs have it, of one with their own, and before what is added to it. That of the odd block
 * hears nothing. */
static const char pairs[] = KERNEL(
    START "and.b32 %r13, %r10, 1; add.u32 %r14, %r10, 1; setp.lt.u32 %p2, %r14, %r11; selp.u32 %r15, 512, 256, %p2;\n"
          "setp.eq.u32 %p3, %r13, 1; selp.u32 %r15, 1, %r15, %p3; @%p1 mbarrier.init.shared.b64 [bar], %r15;\n" SYNC
          "mov.u32 %r20, bar; and.b32 %r21, %r20, -16777224; mbarrier.arrive.shared::cluster.b64 _, [%r21];\n"
          "mapa.shared::cluster.u32 %r22, %r20, %r10; and.b32 %r23, %r22, -16777217; add.u32 %r20, %r20, 8;\n"
          "mbarrier.arrive.shared::cluster.b64 _, [%r23];\n"
          "mov.u32 %r25, bar; add.u32 %r25, %r25, -64; mov.b32 %r26, 0xfeffffff; and.b32 %r27, %r26, %r25;\n"
          "mov.b32 %r28, %r27; add.s32 %r29, %r28, 64; mbarrier.arrive.shared::cluster.b64 _, [%r29];\n"
          "add.s32 %r29, %r28, 32; mbarrier.arrive.shared::cluster.b64 _, [%r29+32];\n"
          "W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; or.pred %p4, %p4, %p3; @!%p4 bra W;\n" SYNC
          "mbarrier.test_wait.parity.shared.b64 %p5, [bar], 0; selp.u32 %r24, 1, 0, %p5;\n" STORE("%r24"));
static uint32_t pairs_want(uint32_t i) { return rank(i) % 2 == 0; }

/* A generic address has the place in shared memory in its low 24 bits, and stands for it where an mbarrier is. */
static const char window[] = KERNEL(
    START "mov.u64 %rd5, bar; cvta.shared.u64 %rd6, %rd5; and.b64 %rd7, %rd6, 0xffffff; setp.eq.u64 %p2, %rd7, %rd5;\n"
          "@%p1 mbarrier.init.shared::cta.b64 [%rd6], 64; bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [%rd6];\n"
          "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;\n"
          "mapa.u64 %rd8, %rd6, %r12; and.b64 %rd8, %rd8, 0xffffff; setp.eq.and.u64 %p2, %rd8, %rd5, %p2;\n"
          "selp.u32 %r20, 1, 0, %p2;\n" SYNC STORE("%r20"));
static uint32_t window_want(uint32_t i)
{
    (void)i;
    return 1;
}

/* Ring exchange: st.async into the next block, whose mbarrier counts the bytes; the arrival of the sender is remote,
 * too. Ten rounds. */
static const char exchange[] = KERNEL(
    START "@%p1 mbarrier.init.shared::cta.b64 [bar], 2; fence.mbarrier_init.release.cluster;\n" SYNC
          "mov.u32 %r30, 0; mov.u32 %r31, %r0; mov.u32 %r32, bar; mapa.shared::cluster.u32 %r33, %r32, %r12;\n"
          "mapa.shared::cluster.u32 %r34, %r3, %r12;\n"
          "L: @%p1 mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 _, [bar], 256;\n" SYNC
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r34], %r31, [%r33];\n"
          "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r33]; and.b32 %r35, %r30, 1;\n"
          "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], %r35; @!%p2 bra W;\n"
          "ld.shared.u32 %r31, [%r3]; add.u32 %r31, %r31, 1;\n" SYNC
          "add.u32 %r30, %r30, 1; setp.lt.u32 %p3, %r30, 10; @%p3 bra L;\n" STORE("%r31"));
static uint32_t exchange_want(uint32_t i) { return neighbour(i, 10 * size - 10) + 10; }

/* Rank 0 copies 256 bytes into all blocks of a mask at once, each of which waits at its own mbarrier; in halves, the
 * second with a policy for the cache behind the mask. */
static const char multicast[] = KERNEL(
    START
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 1; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n" SYNC
    "setp.eq.u32 %p2, %r10, 0; and.pred %p2, %p2, %p1; shl.b32 %r20, 1, %r11; sub.u32 %r20, %r20, 1;\n"
    "cvt.u16.u32 %h1, %r20; mul.wide.u32 %rd5, %r50, 256; add.u64 %rd6, %rd31, %rd5; mov.u32 %r21, bar;\n"
    "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd6], 128, "
    "[%r21], %h1; createpolicy.fractional.L2::evict_last.b64 %rd7; add.u32 %r23, %r2, 128; mov.u32 %r24, 128;\n"
    "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r23], "
    "[%rd6+128], %r24, [%r21], %h1, %rd7;\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;\n"
    "ld.shared.u32 %r22, [%r3];\n" SYNC STORE("%r22"));
static uint32_t multicast_want(uint32_t i) { return in[neighbour(i, size - rank(i))]; }

/* Each block copies its shared memory into the next one's, and takes over the sum of a reduction from the same. */
static const char copies[] = KERNEL(
    START
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 1; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
    "st.shared.u32 [%r3], %r0; st.shared.u32 [%r3+256], 1; fence.proxy.async;\n" SYNC
    "mov.u32 %r20, bar; mapa.shared::cluster.u32 %r21, %r20, %r12; mapa.shared::cluster.u32 %r22, %r2, %r12;\n"
    "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r22+256], [%r2], 256, [%r21];\n"
    "@%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r22+256], [%r2], 256, "
    "[%r21];\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;\n"
    "ld.shared.u32 %r23, [%r3+256];\n" SYNC STORE("%r23"));
static uint32_t copies_want(uint32_t i) { return 2 * neighbour(i, size - 1); }

/* Rank 0 brings about twenty phases of all blocks' mbarriers and waits at its own only: the others see each, as a
 * parity tells two phases apart, not three. */
static const char driven[] = KERNEL(
    START "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n" SYNC
          "mov.u32 %r20, 0; mov.u32 %r21, bar; setp.eq.u32 %p2, %r10, 0; and.pred %p2, %p2, %p1;\n"
          "L: @!%p2 bra W; mov.u32 %r22, 0;\n"
          "M: mapa.shared::cluster.u32 %r23, %r21, %r22;\n"
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r23];\n"
          "add.u32 %r22, %r22, 1; setp.lt.u32 %p3, %r22, %r11; @%p3 bra M;\n"
          "W: and.b32 %r24, %r20, 1;\n"
          "V: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [bar], %r24; @!%p4 bra V;\n"
          "add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, 20; @%p5 bra L;\n" SYNC STORE("%r20"));
static uint32_t driven_want(uint32_t i)
{
    (void)i;
    return 20;
}

/* An address that mapa gave means the same in every block: rank 0 hands one to all others. */
static const char passed[] = KERNEL(
    START "st.shared.u32 [%r3], %r0; mapa.shared::cluster.u32 %r20, %r2, %r10;\n" SYNC
          "mapa.shared::cluster.u32 %r21, %r2, %r12; @%p1 st.shared::cluster.u32 [%r21+256], %r20;\n" SYNC
          "ld.shared.u32 %r22, [%r2+256]; shl.b32 %r23, %r1, 2; add.u32 %r22, %r22, %r23;\n"
          "ld.shared::cluster.u32 %r24, [%r22];\n" SYNC STORE("%r24"));
static uint32_t passed_want(uint32_t i) { return neighbour(i, size - 1); }

/* Reductions into the next block's memory, whose mbarrier counts their bytes. */
#define RED "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
static const char reduced[] = KERNEL(
    START "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1280;\n"
          "st.shared.u32 [%r3], 5; st.shared.u32 [%r3+256], 0;\n" SYNC
          "mov.u32 %r20, bar; mapa.shared::cluster.u32 %r21, %r20, %r12; mapa.shared::cluster.u32 %r22, %r2, %r12;\n"
          "mapa.shared::cluster.u32 %r23, %r3, %r12; cvt.u64.u32 %rd5, %r0;\n" RED ".add.u32 [%r23], %r0, [%r21];\n" RED
          ".max.u32 [%r22+256], %r0, [%r21];\n" RED ".add.u64 [%r22+264], %rd5, [%r21];\n" RED
          ".inc.u32 [%r22+260], 1000, [%r21];\n"
          "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;\n"
          "ld.shared.u32 %r24, [%r3]; ld.shared.u32 %r25, [%r2+256]; ld.shared.u32 %r26, [%r2+264];\n"
          "ld.shared.u32 %r27, [%r2+260]; mad.lo.u32 %r24, %r25, 3, %r24; mad.lo.u32 %r24, %r26, 5, %r24;\n"
          "mad.lo.u32 %r24, %r27, 7, %r24;\n" SYNC STORE("%r24"));
static uint32_t reduced_want(uint32_t i)
{
    uint32_t from = neighbour(i, size - 1), first = block(from) * THREADS;
    return from + 5 + 3 * (first + THREADS - 1) + 5 * (first * THREADS + THREADS * (THREADS - 1) / 2) + 7 * THREADS;
}

/* What the address questions say, of a neighbour's memory, of the own, of global memory. */
static const char spaces[] = KERNEL(
    START
    "cvt.u64.u32 %rd5, %r3; cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd6, %rd5, %r12; mov.u32 %r20, 0;\n"
    "isspacep.shared::cluster %p2, %rd6; @%p2 add.u32 %r20, %r20, 1;\n"
    "isspacep.shared::cta %p2, %rd6; @%p2 add.u32 %r20, %r20, 2;\n"
    "isspacep.shared %p2, %rd5; @%p2 add.u32 %r20, %r20, 4; isspacep.shared::cluster %p2, %rd5; @%p2 add.u32 %r20, %r20, 8;\n"
    "isspacep.global %p2, %rd6; @%p2 add.u32 %r20, %r20, 16; isspacep.shared::cluster %p2, %rd0; @%p2 add.u32 %r20, %r20, 32;\n"
    "isspacep.global %p2, %rd0; @%p2 add.u32 %r20, %r20, 64;\n"
    "getctarank.u64 %r21, %rd6; getctarank.u64 %r22, %rd5; mapa.shared::cluster.u32 %r23, %r3, %r12;\n"
    "getctarank.shared::cluster.u32 %r24, %r23; getctarank.shared::cluster.u32 %r25, %r3;\n"
    "mad.lo.u32 %r20, %r21, 0x100, %r20; mad.lo.u32 %r20, %r22, 0x1000, %r20; mad.lo.u32 %r20, %r24, 0x10000, %r20;\n"
    "mad.lo.u32 %r20, %r25, 0x100000, %r20;\n"
    "cvt.u64.u32 %rd8, %r23; cvta.shared::cluster.u64 %rd8, %rd8; setp.eq.u64 %p3, %rd8, %rd6; @%p3 add.u32 %r20, %r20, 0x1000000;\n"
    "cvta.to.shared::cluster.u64 %rd9, %rd6; cvta.shared::cluster.u64 %rd9, %rd9; setp.eq.u64 %p3, %rd9, %rd6;\n"
    "@%p3 add.u32 %r20, %r20, 0x2000000; mapa.u64 %rd10, %rd6, %r10; setp.eq.u64 %p3, %rd10, %rd5;\n"
    "@%p3 add.u32 %r20, %r20, 0x4000000; mapa.shared::cluster.u32 %r26, %r23, %r10;\n"
    "mapa.shared::cluster.u32 %r27, %r3, %r10; setp.eq.u32 %p3, %r26, %r27; @%p3 add.u32 %r20, %r20, 0x8000000;\n" STORE(
        "%r20"));
static uint32_t spaces_want(uint32_t i)
{
    uint32_t next = (rank(i) + 1) % size, own = rank(i);
    return (size == 1 ? 79u : 77u) | next << 8 | own << 12 | next << 16 | own << 20 | 0xf000000;
}

/* A hundred rounds in which each block sees the round of all others; every second thread of odd warps is gone, and all
 * of the last rank but one warp. */
static const char rounds[] = KERNEL(
    START
    "sub.u32 %r20, %r11, 1; setp.eq.u32 %p2, %r10, %r20; setp.ge.u32 %p3, %r1, 32; and.pred %p2, %p2, %p3;\n"
    "st.global.u32 [%rd0], 7; @%p2 exit; and.b32 %r21, %r1, 33; setp.eq.u32 %p3, %r21, 33; @%p3 exit;\n"
    "@%p1 st.shared.u32 [%r2], 0; mov.u32 %r22, 0; mov.u32 %r23, 0;\n" SYNC
    "L: mapa.shared::cluster.u32 %r24, %r2, %r12; ld.shared::cluster.u32 %r25, [%r24]; setp.ne.u32 %p4, %r25, %r22;\n"
    "@%p4 add.u32 %r23, %r23, 1; barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
    "add.u32 %r22, %r22, 1; @%p1 st.shared.u32 [%r2], %r22; barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
    "setp.lt.u32 %p5, %r22, 100; @%p5 bra L;\n" STORE("%r23"));
static uint32_t rounds_want(uint32_t i)
{
    uint32_t t = i % THREADS;
    return (rank(i) == size - 1 && t >= 32) || (t & 33) == 33 ? 7 : 0;
}

/* Who has arrived may end before the others come, and does not count twice. */
static const char leaving[] = KERNEL(
    START
    "setp.lt.u32 %p2, %r1, 32; @%p1 st.shared.u32 [%r2], 0; bar.sync 0; mov.u32 %r20, %r10; @!%p2 bra A;\n"
    "barrier.cluster.arrive.aligned; st.global.u32 [%rd0], 9; exit;\n"
    "A: bar.warp.sync 0xffffffff; mov.u32 %r21, 50; B: sub.u32 %r21, %r21, 1; setp.ne.u32 %p3, %r21, 0; @%p3 bra B;\n"
    "atom.shared.add.u32 %r24, [%r2], 1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
    "mapa.shared::cluster.u32 %r22, %r2, %r12; ld.shared::cluster.u32 %r23, [%r22];\n"
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" STORE("%r23"));
static uint32_t leaving_want(uint32_t i) { return i % THREADS < 32 ? 9 : 32; }

/* Lanes of one warp arrive at different places. */
static const char parted[] = KERNEL(
    START "st.shared.u32 [%r3], %r0; and.b32 %r20, %r1, 1; setp.eq.u32 %p2, %r20, 0; @%p2 bra A;\n"
          "barrier.cluster.arrive; bra B;\nA: barrier.cluster.arrive;\nB: barrier.cluster.wait;\n"
          "mapa.shared::cluster.u32 %r21, %r3, %r12; ld.shared::cluster.u32 %r22, [%r21];\n" SYNC STORE("%r22"));
static uint32_t next_want(uint32_t i) { return neighbour(i, 1); }

/* Vectors, narrow and wide elements, strong accesses, each lane of another rank. */
static const char forms[] = KERNEL(
    START
    "st.shared.u32 [%r3], %r0;\n" SYNC "rem.u32 %r20, %r1, %r11; and.b32 %r21, %r1, 60; shl.b32 %r21, %r21, 2;\n"
    "add.u32 %r21, %r21, %r2; mapa.shared::cluster.u32 %r22, %r21, %r20;\n"
    "ld.shared::cluster.v4.u32 {%r23, %r24, %r25, %r26}, [%r22]; ld.shared::cluster.v2.u64 {%rd5, %rd6}, [%r22];\n"
    "ld.acquire.cluster.shared::cluster.u32 %r27, [%r22+4]; ld.shared::cluster.u16 %h1, [%r22+8]; cvt.u32.u16 %r28, %h1;\n"
    "ld.volatile.shared::cluster.v2.u32 {%r29, %r30}, [%r22+8]; shr.u64 %rd7, %rd6, 32; cvt.u32.u64 %r31, %rd7;\n"
    "add.u32 %r23, %r23, %r24; add.u32 %r23, %r23, %r25; add.u32 %r23, %r23, %r26; add.u32 %r23, %r23, %r27;\n"
    "add.u32 %r23, %r23, %r28; add.u32 %r23, %r23, %r30; add.u32 %r23, %r23, %r31;\n" SYNC
    "mov.u64 %rd8, %rd31; cvt.u64.u32 %rd9, %r22; ld.shared::cluster.u32 %r32, [%rd9+4]; add.u32 %r23, %r23, %r32;\n"
    "st.relaxed.cluster.shared::cluster.v2.u32 [%r22+256], {%r1, %r1};\n" SYNC STORE("%r23"));
static uint32_t forms_want(uint32_t i)
{
    uint32_t from = (block(i) - rank(i) + i % THREADS % size) * THREADS + (i % THREADS & 60);
    return 4 * from + 6 + (from + 1) + (from + 2) + 2 * (from + 3) + (from + 1);
}

/* One kernel in clusters of several sizes. */
static void expect_all(const char *name, const char *text, uint32_t (*want)(uint32_t))
{
    static const uint32_t sizes[] = {1, 2, 8, 16}, grid[3] = {BLOCKS, 1, 1}, threads[3] = {THREADS, 1, 1};
    struct args a = {out, in, BLOCKS * THREADS};
    struct t0t t;
    if (!t0t_open(&t, text, "k"))
        check(false, "%s: %s", name, t.why);
    for (unsigned s = 0; t.kernel && s < sizeof sizes / sizeof *sizes; s++) {
        struct t0_fault f = {0};
        uint32_t bad = 0, at = 0;
        size = sizes[s];
        memcpy(t0t_cluster, (uint32_t[3]){size, 1, 1}, sizeof t0t_cluster);
        memset(out, 0xee, sizeof out);
        t0t_run(&t, grid, threads, 0, &a, &f);
        memset(t0t_cluster, 0, sizeof t0t_cluster);
        for (uint32_t i = BLOCKS * THREADS; i-- > 0;)
            if (out[i] != want(i)) {
                bad++;
                at = i;
            }
        check(!bad && !f.kind, "%s, clusters of %u (fault %d, %u wrong, out[%u] = 0x%x, want 0x%x)", name, size, f.kind,
              bad, at, out[at], want(at));
    }
    t0t_close(&t);
}

/* ---- registers ------------------------------------------------------------------------------- */

static const char registers[] = HEAD ENTRY(
    "k") "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y;\n"
         "mad.lo.u32 %r7, %r4, %r6, %r3; mad.lo.u32 %r7, %r7, %r5, %r2; mul.wide.u32 %rd5, %r7, 64; add.u64 %rd5, %rd30, %rd5;\n"
         "mov.u32 %r8, %cluster_ctaid.x; mov.u32 %r9, %cluster_ctaid.y; mov.u32 %r10, %cluster_ctaid.z;\n"
         "st.global.u32 [%rd5], %r8; st.global.u32 [%rd5+4], %r9; st.global.u32 [%rd5+8], %r10;\n"
         "mov.u32 %r8, %cluster_nctaid.x; mov.u32 %r9, %cluster_nctaid.y; mov.u32 %r10, %cluster_nctaid.z;\n"
         "st.global.u32 [%rd5+12], %r8; st.global.u32 [%rd5+16], %r9; st.global.u32 [%rd5+20], %r10;\n"
         "mov.u32 %r8, %clusterid.x; mov.u32 %r9, %clusterid.y; mov.u32 %r10, %clusterid.z;\n"
         "st.global.u32 [%rd5+24], %r8; st.global.u32 [%rd5+28], %r9; st.global.u32 [%rd5+32], %r10;\n"
         "mov.u32 %r8, %nclusterid.x; mov.u32 %r9, %nclusterid.y; mov.u32 %r10, %nclusterid.z;\n"
         "st.global.u32 [%rd5+36], %r8; st.global.u32 [%rd5+40], %r9; st.global.u32 [%rd5+44], %r10;\n"
         "mov.u32 %r8, %cluster_ctarank; mov.u32 %r9, %cluster_nctarank; mov.u32 %r10, 0;\n"
         "mov.pred %p1, %is_explicit_cluster; @%p1 mov.u32 %r10, 1;\n"
         "st.global.u32 [%rd5+48], %r8; st.global.u32 [%rd5+52], %r9; st.global.u32 [%rd5+56], %r10;\n"
         /* the block that rank 0 has written down is in this cluster: its memory is seen */
         ".shared .align 4 .b32 s; setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [s], %r7; barrier.cluster.arrive;\n"
         "barrier.cluster.wait; mov.u32 %r11, s; mapa.shared::cluster.u32 %r11, %r11, 0; ld.shared::cluster.u32 %r12, [%r11];\n"
         "st.global.u32 [%rd5+60], %r12; barrier.cluster.arrive; barrier.cluster.wait;\n" END;

static void test_registers(struct t0t *t, const uint32_t n[3], bool explicit)
{
    static const uint32_t grid[3] = {4, 6, 4};
    static const uint32_t threads[3] = {32, 1, 1};
    const uint32_t c[3] = {n[0] ? n[0] : 1, n[0] ? n[1] : 1, n[0] ? n[2] : 1};
    struct args a = {out, in, 0};
    struct t0_fault f = {0};
    unsigned bad = 0;
    memset(out, 0xee, sizeof out);
    memcpy(t0t_cluster, n, sizeof t0t_cluster);
    bool good = t->kernel && !t0t_run(t, grid, threads, 0, &a, &f);
    memset(t0t_cluster, 0, sizeof t0t_cluster);
    for (uint32_t k = 0; good && k < grid[0] * grid[1] * grid[2]; k++) {
        const uint32_t at[3] = {k % grid[0], k / grid[0] % grid[1], k / grid[0] / grid[1]}, *got = out + 16 * k;
        uint32_t first[3];
        for (unsigned d = 0; d < 3; d++) {
            bad += got[d] != at[d] % c[d] || got[3 + d] != c[d] || got[6 + d] != at[d] / c[d] ||
                   got[9 + d] != grid[d] / c[d];
            first[d] = at[d] - at[d] % c[d];
        }
        bad += got[12] != got[0] + c[0] * (got[1] + c[1] * got[2]) || got[13] != c[0] * c[1] * c[2];
        bad += got[14] != explicit;
        bad += got[15] != first[0] + grid[0] * (first[1] + grid[1] * first[2]);
    }
    check(good && !bad, "registers in clusters of %u x %u x %u (%u wrong; %s fault %d)", n[0], n[1], n[2], bad, t->why,
          f.kind);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Thread 3 of the second of each two blocks does it. */
#define ONE_THREAD(body) \
    KERNEL(START "setp.eq.u32 %p2, %r10, 1; setp.eq.u32 %p3, %r1, 3; and.pred %p2, %p2, %p3; @!%p2 bra A;\n" body \
                 "st.global.u32 [%rd0], %r21;\nA: " SYNC)

static void faults(void)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"a rank that is not there",
         ONE_THREAD("mapa.shared::cluster.u32 %r20, %r2, 2; ld.shared::cluster.u32 %r21, [%r20];\n")},
        {"behind another block's memory",
         ONE_THREAD("mapa.shared::cluster.u32 %r20, %r2, 0; ld.shared::cluster.u32 %r21, [%r20+8192];\n")},
        {"an atomic behind it",
         ONE_THREAD("mapa.shared::cluster.u32 %r20, %r2, 0; red.shared::cluster.add.u32 [%r20+65536], 1;\n")},
        {"a remote mbarrier that is not there",
         ONE_THREAD("mov.u32 %r20, bar; mapa.shared::cluster.u32 %r20, %r20, 5;\n"
                    "mbarrier.arrive.shared::cluster.b64 _, [%r20];\n")},
    };
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct t0_fault f = {0};
        memcpy(t0t_cluster, (uint32_t[3]){2, 1, 1}, sizeof t0t_cluster);
        run(cases[k].text, 4, THREADS, &f);
        memset(t0t_cluster, 0, sizeof t0t_cluster);
        check(f.kind == T0_FAULT_SHARED && f.block[0] == 1 && f.thread[0] == 3 && f.line,
              "fault: %s (kind %d block %u thread %u line %u: %s)", cases[k].name, f.kind, f.block[0], f.thread[0],
              f.line, f.text);
    }
}

/* Barriers that are never complete: warps of one block wait for each other at two, or at that of their block while the
 * other block waits for them at the cluster's. A fault, not a hang. */
static void deadlocks(void)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"of the block and of the cluster", KERNEL(START "setp.lt.u32 %p2, %r1, 32; @%p2 bra A;\n" SYNC "bra B;\n"
                                                         "A: bar.sync 0;\nB: st.global.u32 [%rd0], %r1;\n")},
        {"of one block, that the other waits for",
         KERNEL(START "setp.ne.u32 %p3, %r10, 0; @%p3 bra C; setp.lt.u32 %p2, %r1, 32; @%p2 bra A;\nC: " SYNC
                      "bar.sync 0; bra B;\nA: bar.sync 0;\n" SYNC "B: st.global.u32 [%rd0], %r1;\n")},
    };
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct t0_fault f = {0};
        memcpy(t0t_cluster, (uint32_t[3]){2, 1, 1}, sizeof t0t_cluster);
        run(cases[k].text, 4, THREADS, &f);
        memset(t0t_cluster, 0, sizeof t0t_cluster);
        check(f.kind == T0_FAULT_DEADLOCK && f.block[0] < 2, "deadlock: barriers %s (kind %d block %u: %s)",
              cases[k].name, f.kind, f.block[0], f.text);
    }
}

int main(void)
{
    static const struct {
        const char *name, *text;
        uint32_t (*want)(uint32_t);
    } all[] = {{"ring of loads and stores", ring, ring_want},
               {"histogram in rank 0", histogram, histogram_want},
               {"generic addresses of shared memory", window, window_want},
               {"arrivals at the even block of a pair", pairs, pairs_want},
               {"ring of st.async and remote arrivals", exchange, exchange_want},
               {"ring of red.async", reduced, reduced_want},
               {"multicast", multicast, multicast_want},
               {"copies to the next block", copies, copies_want},
               {"an address handed on", passed, passed_want},
               {"address spaces", spaces, spaces_want},
               {"phases that one block drives", driven, driven_want},
               {"a hundred barriers", rounds, rounds_want},
               {"warps that end having arrived", leaving, leaving_want},
               {"lanes that arrive apart", parted, next_want},
               {"forms of access", forms, forms_want}};
    static const uint32_t shapes[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {1, 3, 2}, {4, 1, 2}, {2, 6, 1}};
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u;
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        expect_all(all[k].name, all[k].text, all[k].want);
    struct t0t t;
    t0t_open(&t, registers, "k");
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++)
        test_registers(&t, shapes[k], k > 0);
    t0t_close(&t);
    faults();
    deadlocks();
    return t0t_done();
}
