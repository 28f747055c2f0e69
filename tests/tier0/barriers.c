/* Barriers: whole block, under divergence, named with counts, reductions, spinning warps. */
#include "tier0/kernels.h"

#define SHARED(size) ".shared .align 16 .b8 sm[" size "];\n"

/* every thread writes, all read the mirror thread's value, several rounds */
static const char mirror[] = KERNEL(
    SHARED("4096") "mov.u32 %r2, sm; shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2;\n"
                   "mov.u32 %r10, %ntid.x; sub.u32 %r11, %r10, 1; sub.u32 %r11, %r11, %r1; shl.b32 %r12, %r11, 2;\n"
                   "add.u32 %r12, %r12, %r2; mov.u32 %r4, %r1; mov.u32 %r5, 0;\n"
                   "L: st.shared.u32 [%r3], %r4; bar.sync 0; ld.shared.u32 %r6, [%r12]; bar.sync 0;\n"
                   "add.u32 %r4, %r6, 1; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 5; @%p1 bra L;\n" STORE("%r4"));
static uint32_t mirror_want(uint32_t i) { return 200 - 1 - i % 200 + 5; }

/* half of each warp arrives at one bar.sync, the other half at another one */
static const char split[] = KERNEL(SHARED(
    "1024") "shl.b32 %r3, %r1, 2; mov.u32 %r2, sm; add.u32 %r3, %r3, %r2; and.b32 %r4, %r1, 1;\n"
            "setp.eq.u32 %p1, %r4, 0; @%p1 bra E;\n"
            "st.shared.u32 [%r3], 100; bar.sync 0; bra J;\n"
            "E: st.shared.u32 [%r3], 200; bar.sync 0;\n"
            "J: xor.b32 %r5, %r1, 33; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];\n" STORE(
                "%r6"));
static uint32_t split_want(uint32_t i) { return (i ^ 33) & 1 ? 100 : 200; }

/* warps 0, 1 produce for warps 2, 3: bar.arrive and bar.sync with a count */
static const char named[] = KERNEL(
    SHARED("1024") "mov.u32 %r2, sm; setp.ge.u32 %p1, %r1, 64; @%p1 bra C;\n"
                   "shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2; add.u32 %r4, %r1, 500; st.shared.u32 [%r3], %r4;\n"
                   "membar.cta; bar.arrive 3, 128; mov.u32 %r6, 1; bra S;\n"
                   "C: bar.sync 3, 128; sub.u32 %r5, %r1, 64; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2;\n"
                   "ld.shared.u32 %r6, [%r5];\n"
                   "S: " STORE("%r6"));
static uint32_t named_want(uint32_t i) { return i < 64 ? 1 : i - 64 + 500; }

/* Three warps take turns, each by a barrier of its own; the first gives itself the first turn, so that its threads
 * arrive twice: FlashAttention 3's groups do. */
static const char turns[] = KERNEL(
    SHARED("4") "mov.u32 %r2, sm; shr.u32 %r3, %r1, 5; add.u32 %r4, %r3, 1; add.u32 %r5, %r3, 2;\n"
                "setp.eq.u32 %p1, %r5, 4; selp.u32 %r5, 1, %r5, %p1; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
                "setp.ne.u32 %p2, %r3, 0; @%p2 bra L; st.shared.u32 [%r2], 0; bar.arrive 1, 64;\n"
                "L: bar.sync %r4, 64; ld.shared.u32 %r8, [%r2]; bar.warp.sync -1; and.b32 %r9, %r1, 31;\n"
                "setp.eq.u32 %p3, %r9, 0; add.u32 %r10, %r8, 1; @%p3 st.shared.u32 [%r2], %r10;\n"
                "mad.lo.u32 %r7, %r7, 16, %r8; bar.arrive %r5, 64; add.u32 %r6, %r6, 1;\n"
                "setp.lt.u32 %p4, %r6, 3; @%p4 bra L;\n" STORE("%r7"));
static uint32_t turns_want(uint32_t i) { return 0x36 + i / 32 * 0x111; }

/* All threads arrive, and come again to wait: on a GPU, whose warps keep pace, all have stored by then, though half of
 * them coming twice are as many as the barrier asks for. flashinfer's epilogue for Hopper does. */
static const char paced[] = KERNEL(
    SHARED("512") "shl.b32 %r3, %r1, 2; mov.u32 %r2, sm; add.u32 %r3, %r3, %r2; add.u32 %r4, %r1, 7;\n"
                  "st.shared.u32 [%r3], %r4; bar.arrive 1, 128; bar.sync 1, 128; xor.b32 %r5, %r1, 64;\n"
                  "shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];\n" STORE("%r6"));
static uint32_t paced_want(uint32_t i) { return (i % 128 ^ 64) + 7; }

static const char reduce[] = KERNEL(
    "setp.lt.u32 %p1, %r1, 37; setp.lt.u32 %p2, %r1, 1000;\n"
    "bar.red.popc.u32 %r2, 1, %p1; barrier.red.popc.u32 %r3, 2, 96, !%p1;\n"
    "bar.red.and.pred %p3, 0, %p1; bar.red.or.pred %p4, 0, %p1; bar.red.and.pred %p5, 0, %p2;\n"
    "selp.u32 %r4, 1, 0, %p3; selp.u32 %r5, 2, 0, %p4; selp.u32 %r6, 4, 0, %p5;\n"
    "or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r6; mad.lo.u32 %r7, %r2, 256, %r3;\n"
    "mad.lo.u32 %r7, %r7, 16, %r4; " STORE("%r7"));
static uint32_t reduce_want(uint32_t i)
{
    (void)i;
    return (37 * 256 + 59) * 16 + 6;
}

/* Every thread fills its element, and the first one of each warp then writes those of all warps: without a barrier
 * between, as on a GPU all have filled theirs before (shim/ptx/analysis/turn.c). */
static const char fill[] = KERNEL(SHARED(
    "512") "shl.b32 %r3, %r1, 2; mov.u32 %r2, sm; add.u32 %r3, %r3, %r2; mov.u32 %r4, 5; neg.s32 %r5, %r4;\n"
           "st.shared.u32 [%r3], %r5; and.b32 %r6, %r1, 31; shr.u32 %r8, %r1, 5; setp.ne.u32 %p1, %r6, 0; @%p1 bra J;\n"
           "L: shl.b32 %r9, %r8, 2; add.u32 %r9, %r9, %r2; mul.lo.u32 %r10, %r8, 3; st.shared.u32 [%r9], %r10;\n"
           "add.u32 %r8, %r8, 4; setp.lt.u32 %p2, %r8, 128; @%p2 bra L;\n"
           "J: bar.sync 0; ld.shared.u32 %r11, [%r3];\n" STORE("%r11"));
static uint32_t fill_want(uint32_t i) { return i % 128 * 3; }

/* warp 0 spins on a flag in shared memory that warp 1 sets after a long loop */
static const char spin[] = KERNEL(
    SHARED("16") "mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [sm], %r2; bar.sync 0;\n"
                 "setp.ge.u32 %p2, %r1, 32; @%p2 bra W;\n"
                 "S: ld.volatile.shared.u32 %r3, [sm]; setp.eq.u32 %p3, %r3, 0; @%p3 bra S; bra D;\n"
                 "W: mov.u32 %r4, 0;\n"
                 "X: add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 3000; @%p4 bra X;\n"
                 "mov.u32 %r3, 42; setp.eq.u32 %p5, %r1, 63; @%p5 st.volatile.shared.u32 [sm], %r3;\n"
                 "D: " STORE("%r3"));
static uint32_t spin_want(uint32_t i)
{
    (void)i;
    return 42;
}

/* a lock that lanes of one warp take in turn: in lock-step it would hang */
static const char lock[] = KERNEL(
    SHARED("16") "mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [sm], %r2;\n"
                 "@%p1 st.shared.u32 [sm+4], %r2; bar.sync 0;\n"
                 "T: atom.shared.cas.b32 %r3, [sm], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra T;\n"
                 "ld.volatile.shared.u32 %r4, [sm+4]; add.u32 %r5, %r4, 1; st.volatile.shared.u32 [sm+4], %r5;\n"
                 "membar.cta; atom.shared.exch.b32 %r6, [sm], 0;\n"
                 "bar.sync 0; ld.shared.u32 %r7, [sm+4]; " STORE("%r7"));
static uint32_t lock_want(uint32_t i)
{
    (void)i;
    return 96;
}

/* the same lock, written with the release inside the loop, as the CUDA guide has it */
static const char lock_inside[] = KERNEL(
    SHARED("16") "mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [sm], %r2;\n"
                 "@%p1 st.shared.u32 [sm+4], %r2; bar.sync 0; mov.u32 %r9, 0;\n"
                 "T: atom.shared.cas.b32 %r3, [sm], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra N;\n"
                 "ld.volatile.shared.u32 %r4, [sm+4]; add.u32 %r5, %r4, 1; st.volatile.shared.u32 [sm+4], %r5;\n"
                 "mov.u32 %r9, 1; membar.cta; atom.shared.exch.b32 %r6, [sm], 0;\n"
                 "N: nanosleep.u32 100; setp.eq.u32 %p3, %r9, 0; @%p3 bra T;\n"
                 "bar.sync 0; ld.shared.u32 %r7, [sm+4]; " STORE("%r7"));

/* one more at [sm+4], under a spin lock */
#define LOCKED \
    "W: atom.shared.cas.b32 %r5, [sm], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra W;\n" \
    "ld.volatile.shared.u32 %r6, [sm+4]; add.u32 %r6, %r6, 1; st.volatile.shared.u32 [sm+4], %r6;\n" \
    "membar.cta; st.volatile.shared.u32 [sm], 0;\n"
#define CLEARED \
    "mov.u32 %r2, 0; mov.u32 %r3, 0; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [sm], %r2;\n" \
    "@%p1 st.shared.u32 [sm+4], %r2;\n"

/* rounds that begin with a barrier and take a lock: whoever is done first waits for the others */
static const char lock_rounds[] = KERNEL(
    SHARED("16") CLEARED
    "R: bar.sync 0; ld.volatile.shared.u32 %r4, [sm+4]; bar.sync 0; mad.lo.u32 %r3, %r3, 1000, %r4;\n" LOCKED
    "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra R;\n" STORE("%r3"));
static uint32_t lock_rounds_want(uint32_t i)
{
    (void)i;
    return 96 * 1000 + 192;
}

/* behind a lock, rounds that end with a barrier: the first begins at different times, the others do not */
static const char rounds_behind_lock[] = KERNEL(
    SHARED("16") CLEARED "and.b32 %r8, %r1, 3; setp.eq.u32 %p4, %r8, 0; bar.sync 0;\n" LOCKED
                         "R: redux.sync.add.u32 %r7, %r8, -1; add.u32 %r3, %r3, %r7;\n"
                         "bar.red.popc.u32 %r6, 0, %p4; add.u32 %r3, %r3, %r6;\n"
                         "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra R;\n"
                         "bar.sync 0; ld.shared.u32 %r6, [sm+4]; add.u32 %r3, %r3, %r6;\n" STORE("%r3"));
static uint32_t rounds_behind_lock_want(uint32_t i)
{
    (void)i;
    return 3 * (48 + 24) + 96;
}

#ifndef ONE_COUNTER /* of a warp: a back end whose lanes wait for each other in vain */
/* The first thread sums what the warps have left before the barrier, and none keeps them from the next round's until it
 * has: a race that no GPU shows, as the other warps have more to do than it has. HeCBench's groupnorm has it. */
static const char summed[] = KERNEL(
    SHARED("16") "mov.u32 %r2, sm; shr.u32 %r3, %r1, 5; shl.b32 %r4, %r3, 2; add.u32 %r4, %r4, %r2; mov.u32 %r5, 0;\n"
                 "mov.u32 %r6, 0; and.b32 %r7, %r1, 31; setp.eq.u32 %p1, %r7, 0; setp.eq.u32 %p2, %r1, 0;\n"
                 "L: mad.lo.u32 %r8, %r5, 10, %r3; @%p1 st.shared.u32 [%r4], %r8; bar.sync 0; @!%p2 bra N;\n"
                 "ld.shared.v4.u32 {%r9, %r10, %r11, %r12}, [%r2]; add.u32 %r9, %r9, %r10; add.u32 %r9, %r9, %r11;\n"
                 "add.u32 %r9, %r9, %r12; mad.lo.u32 %r6, %r6, 1000, %r9;\n"
                 "N: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 3; @%p3 bra L;\n" STORE("%r6"));
static uint32_t summed_want(uint32_t i) { return i ? 0 : 6046086; }

/* Sums of four warps' numbers that the first one makes and all read, round after round, without a barrier between
 * reading a sum and writing the next round's numbers, as on a GPU all have read it before; at a constant place, and at
 * one that is computed. */
#define SUMS(at) \
    KERNEL( \
        SHARED("64") "mov.u32 %r2, sm; shr.u32 %r3, %r1, 5; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r2;\n" \
                     "and.b32 %r4, %r1, 31; setp.eq.u32 %p1, %r4, 0; mov.u32 %r5, 1; mov.u32 %r6, 0;\n" \
                     "L: @%p1 st.shared.u32 [%r3], %r5; bar.sync 0; setp.ne.u32 %p2, %r1, 0; @%p2 bra J;\n" \
                     "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [sm]; add.u32 %r7, %r7, %r8; add.u32 %r9, %r9, %r10;\n" \
                     "add.u32 %r7, %r7, %r9; st.shared.u32 [sm], %r7;\n" \
                     "J: bar.sync 0; " at "add.u32 %r5, %r5, 1; add.u32 %r6, %r6, 1;\n" \
                     "setp.lt.u32 %p3, %r6, 5; @%p3 bra L;\n" STORE("%r5"))
static const char sums[] = SUMS("ld.shared.u32 %r5, [sm];\n");
static const char sums_by_round[] = SUMS("mov.u32 %r11, %ctaid.y; mul.lo.u32 %r11, %r11, %r6; shl.b32 %r11, %r11, 2;\n"
                                         "add.u32 %r11, %r11, %r2; ld.shared.u32 %r5, [%r11];\n");
static uint32_t sums_want(uint32_t i)
{
    (void)i;
    return 1365; /* 1, 5, 21, ... */
}

/* Each round's branch lets one lane go; behind the loop they are all there, and half of them wait for the others. */
static const char gathered[] = KERNEL(
    SHARED("16") "mov.u32 %r2, 0; st.shared.u32 [sm], %r2;\n"
                 "L: setp.eq.u32 %p1, %r1, %r2; @%p1 bra X; add.u32 %r2, %r2, 1; bra L;\n"
                 "X: and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra S;\n"
                 "W: ld.volatile.shared.u32 %r4, [sm]; setp.eq.u32 %p3, %r4, 0; @%p3 bra W; bra E;\n"
                 "S: mov.u32 %r4, 7; st.volatile.shared.u32 [sm], %r4;\n"
                 "E: ld.volatile.shared.u32 %r5, [sm]; " STORE("%r5"));
static uint32_t gathered_want(uint32_t i)
{
    (void)i;
    return 7;
}
#endif

/* two warps wait for ever at different barriers */
static const char stuck[] = KERNEL(
    "setp.ge.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1; bra E; B: bar.sync 2; E: " STORE("%r1"));

/* all blocks of a cooperative launch meet twice at a counter in global memory */
static const char grid[] = KERNEL("setp.eq.u32 %p1, %r1, 0; mov.u32 %r9, %nctaid.x; mov.u32 %r8, 0;\n"
                                  "A: add.u32 %r8, %r8, %r9; bar.sync 0; @!%p1 bra B;\n"
                                  "atom.global.add.u32 %r3, [%rd31], 1;\n"
                                  "W: ld.acquire.gpu.global.u32 %r4, [%rd31]; setp.lt.u32 %p2, %r4, %r8; @%p2 bra W;\n"
                                  "B: bar.sync 0; setp.lt.u32 %p3, %r8, 20; @%p3 bra A;\n"
                                  "ld.global.u32 %r5, [%rd31]; " STORE("%r5"));

static void cooperative(void)
{
    struct t0t t;
    struct args a = {out, in, 0};
    struct t0_fault f = {0};
    bool good;
    in[0] = 0;
    if (!t0t_open(&t, grid, "k")) {
        check(false, "grid barrier: %s", t.why);
        return;
    }
    struct t0_grid g = {.kernel = t.kernel,
                        .grid = {10, 1, 1},
                        .block = {40, 1, 1},
                        .params = &a,
                        .env = &t0t_env,
                        .grid_id = 1,
                        .nsm = 1};
    struct t0_worker *w = t0_worker_new(0);
    good = t0_blocks_run_resident(w, &g, 0, 10, &f) == T0_OK;
    for (unsigned i = 0; i < 400; i++)
        good &= out[i] == 20;
    check(good, "grid barrier of resident blocks");
    t0_worker_free(w);
    t0t_close(&t);
}

int main(void)
{
    expect("exchange through shared memory", mirror, 2, 200, mirror_want);
    expect("two bar.sync of one barrier in a warp", split, 1, 128, split_want);
    expect("bar.arrive and bar.sync with a count", named, 1, 128, named_want);
    expect("warps that give each other turns", turns, 1, 96, turns_want);
    expect("threads that arrive and then wait", paced, 2, 128, paced_want);
    expect("bar.red popc, and, or", reduce, 2, 96, reduce_want);
    expect("a constant that other warps write over", fill, 2, 128, fill_want);
    expect("a warp spins for another", spin, 1, 64, spin_want);
    expect("spin lock within warps", lock, 2, 96, lock_want);
    expect("spin lock with nanosleep", lock_inside, 2, 96, lock_want);
    expect("rounds that begin with a barrier and take a lock", lock_rounds, 1, 96, lock_rounds_want);
    expect("rounds that end with a barrier, behind a lock", rounds_behind_lock, 1, 96, rounds_behind_lock_want);
#ifndef ONE_COUNTER
    expect("sums that the next round's values race with", summed, 1, 128, summed_want);
    expect("a sum that the next one is written over", sums, 2, 128, sums_want);
    expect("the same at a place that is computed", sums_by_round, 2, 128, sums_want);
    expect("lanes that leave a loop one by one and wait for each other", gathered, 1, 32, gathered_want);
#endif
    expect_fault("barriers that never complete", stuck, 1, 64, T0_FAULT_DEADLOCK, 0, 0, 0);
    cooperative();
    return t0t_done();
}
