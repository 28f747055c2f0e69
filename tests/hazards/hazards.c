/* Kernels with one race, one read of what nobody wrote, or one wrong use of a barrier each, and the same without it,
 * for the tools racecheck, initcheck and synccheck of `cumu memcheck`; and as tool `tcgen05` those for racecheck that
 * ask for a device of 10.0, as `unallocated` those for memcheck that do.
 * usage: hazards list TOOL    name, tab, what is reported, a line each
 *        hazards wrong TOOL   all wrong kernels of a tool: prints "done"
 *        hazards one NAME     one of them
 *        hazards right [TOOL] all right ones, of every tool but that */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/driver.h"

enum { BYTES = 4096, FEWER = 20 }; /* no multiple of the 32 bytes that initcheck looks at together */
enum {
    RIGHT_FILLED = 1,
    COPIED = 2,
    AGAIN = 4,
    ASYNC = 8,
    COOPERATIVE = 16,
    HALF = 32,
    SM_90 = 64,
    SHORTER = 128,
    TWICE = 256,
    CLUSTERED = 512,
    TENSOR = 1024, /* at p: a map of 16 rows of 64 bytes at p + 1024 */
    SM_90A = 2048,
    SM_100A = 4096
};

struct test {
    const char *tool, *name, *report;
    const char *wrong, *right;
    unsigned blocks, threads, flags;
};

/* %r1 thread, %r2 block, %r3 = s + 16 thread, %r4 the same of the thread beside, %r5 of the one in the next warp;
 * %rd1 = p, %rd3 = p + 16 thread, %rd4 = p + 16 thread of the whole grid. */
#define A ".loc 1 77 3\n"
#define B ".loc 1 88 3\n"
#define SYNC "bar.sync 0;\n"
#define CLUSTER_SYNC "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define CLUSTER \
    "mapa.shared::cluster.u32 %r10, %r8, 1; mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p1, %r6, 0;\n" CLUSTER_SYNC
#define WARP "bar.warp.sync 0xffffffff;\n"
#define LEAVE(p) "@" p " bra END;\n"
#define RACE(a, b) \
    "Race reported between " a " access at .* in hazards.cu:77 .* and " b " access at .* in hazards.cu:88"
#define GLOBAL_RACE(a, b) \
    "Error: Race in global memory reported between " a " access at .* in hazards.cu:77 .* and " b \
    " access .*hazards.cu:"
#define NOT_WRITTEN(n) "Uninitialized __global__ memory read of size " #n " bytes .* in hazards.cu:77"
#define USE(r) "add.u32 " r ", " r ", 1;\n"
#define ONE_BYTE "st.global.u8 [%rd3], %r1;\n"
#define ARGUMENTS "Barrier error detected. Invalid arguments. .* in hazards.cu:77"

#define IN_WARP "Barrier error detected. Divergent thread.s. in warp. .* in hazards.cu:77"
#define IN_BLOCK "Barrier error detected. Divergent thread.s. in block. .* in hazards.cu:77"
#define NO_INIT "Barrier error detected. Missing init. .* in hazards.cu:77"
#define ODD "and.b32 %r6, %r1, 1; setp.ne.u32 %p1, %r6, 0;\n"
#define FIRST "setp.ne.u32 %p1, %r1, 0;\n"
#define FIRST_WARP "setp.ge.u32 %p1, %r1, 32;\n"
#define MBARRIER "mbarrier.init.shared.b64 [%r9], 64;\n"
#define READERS \
    FIRST "@!%p1 st.shared.u32 [s], 0;\n" SYNC "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra WAIT;\n" \
          "ld.shared.u32 %r6, [s+64];\nred.shared.add.u32 [s], 1;\n"
#define WRITER \
    "bra END;\nWAIT:\nld.volatile.shared.u32 %r6, [s];\nsetp.lt.u32 %p2, %r6, 64;\n@%p2 bra WAIT;\n" \
    "setp.ne.u32 %p2, %r1, 64;\n@%p2 bra END;\n" A "st.shared.u32 [s+64], 5;"

#define OTHER_WARP "xor.b32 %r6, %r1, 32; mul.wide.u32 %rd5, %r6, 16; add.u64 %rd5, %rd5, %rd1;\n"
/* Words side by side, of this thread and of the one in the next warp. */
#define WORDS \
    "mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd5, %rd1; xor.b32 %r6, %r1, 32;\n" \
    "mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd6, %rd1;\n"
#define READ_OTHER B "ld.global.u32 %r7, [%rd6];"
#define KEPT_RACE "Warning: Race in global memory reported between Write .*hazards.cu:77 .* and Read .*hazards.cu:88"
#define OTHER_LANE "xor.b32 %r6, %r1, 1; mul.wide.u32 %rd5, %r6, 16; add.u64 %rd5, %rd5, %rd1;\n"
/* Block 0 writes and sets a flag, block 1 waits for it by relaxed loads; the same by two warps. */
#define FLAG \
    "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra WAIT;\n" A "st.global.u32 [%rd1+64], 5;\nfence.acq_rel.gpu;\n" \
    "st.relaxed.gpu.global.u32 [%rd1], 1;\nbra END;\nWAIT:\nld.relaxed.gpu.global.u32 %r6, [%rd1];\n" \
    "setp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\n"
/* Block 0 reads and sets a flag, block 1 waits for it, without a fence, and writes. */
#define READER \
    "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra WAIT;\n" B "ld.global.u32 %r6, [%rd1+64];\nst.global.u32 [%rd1+128], %r6;\n" \
    "st.relaxed.gpu.global.u32 [%rd1], 1;\nbra END;\n"
#define WAIT "WAIT:\nld.relaxed.gpu.global.u32 %r6, [%rd1];\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\n"
#define BLOCK_0 "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra OTHER;\n"
#define OVERWRITER A "st.global.u32 [%rd1+64], 5;"
#define SHARED_FLAG \
    FIRST "@!%p1 st.shared.u32 [s], 0;\n" SYNC FIRST_WARP "@%p1 bra WAIT;\n" FIRST "@%p1 bra END;\n" A \
          "st.shared.u32 [s+64], 5;\nfence.acq_rel.cta;\nst.relaxed.cta.shared.u32 [s], 1;\nbra END;\nWAIT:\n" \
          "ld.relaxed.cta.shared.u32 %r6, [s];\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\n"

/* 64 bytes that thread 0 copies in bulk, as far as an mbarrier hears of it. */
#define BEGIN_COPY "@%p1 mbarrier.init.shared.b64 [%r9], 1;\nadd.u64 %rd7, %rd1, 1024;\n"
#define EXPECT "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd6, [%r9], 64;\n"
#define TO_SHARED(copy) BEGIN_COPY SYNC EXPECT A "@%p1 " copy ";\n"
#define TO_CLUSTER(copy) \
    BEGIN_COPY CLUSTER_SYNC EXPECT "mov.u32 %r6, %cluster_ctarank; setp.eq.and.u32 %p2, %r6, 0, %p1;\n" \
                                   "mov.u16 %h1, 3;\n" A "@%p2 " copy ", %h1;\n"
#define COPIED_TO_SHARED "AGAIN:\nmbarrier.test_wait.parity.shared.b64 %p2, [%r9], 0;\n@!%p2 bra AGAIN;\n"
#define USE_COPY B "ld.shared.u32 %r6, [s];\n"
#define BULK_COPY(more) \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" more " [%r8], [%rd7], 64, [%r9]"
#define TENSOR_COPY(more) \
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes" more " [%r8], [%rd1, {0, 3}], [%r9]"
#define FROM_SHARED \
    B "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 3}], [%r8];\n" \
      "@%p1 cp.async.bulk.commit_group;\n"
/* Groups of cp.async, the last one of which an mbarrier hears of, too. */
#define COPY_16(to) "cp.async.ca.shared.global [" to "], [%rd3], 16;\n"
#define GROUP_OF(to) COPY_16(to) "cp.async.commit_group;\n"
#define TRACKED_GROUP_OF(to) COPY_16(to) "cp.async.mbarrier.arrive.noinc.shared.b64 [%r9];\ncp.async.commit_group;\n"
#define USE_GROUP(at) "cp.async.wait_group 1;\n" B "ld.shared.u32 %r6, [" at "];"
#define MULTICAST ".multicast::cluster"
/* 64 bytes at `from` of thread 0, to global memory. */
#define SEND(from) "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [" from "], 64;\n"
#define COMMIT_SENT "@%p1 cp.async.bulk.commit_group;\n"
#define AWAIT_SENT(n) "@%p1 cp.async.bulk.wait_group.read " #n ";\n"
#define OVERWRITE_SENT SYNC A "st.shared.u32 [%r5], 5;"

/* Bytes of s times registers, by the first four warps. */
#define FACTORS "cvt.u64.u32 %rd7, %r8; shr.u64 %rd7, %rd7, 4; or.b64 %rd7, %rd7, 0x1000080000;\n"
#define GROUP "setp.ge.u32 %p2, %r1, 128;\n@%p2 bra OTHER;\n"
#define WGMMA "wgmma.fence.sync.aligned;\n" PRODUCT
#define PRODUCT \
    B "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r10, %r11, %r12, %r13}, " \
      "{%r1, %r1, %r1, %r1}, %rd7, 0;\nwgmma.commit_group.sync.aligned;\n"
#define AWAIT_GROUPS(n) "wgmma.wait_group.sync.aligned " #n ";\n"
#define STORE_BESIDE "OTHER:\n" SYNC "@!%p2 bra END;\n" A "st.shared.u32 [s+64], 5;"
/* Two groups: bytes of s + 256, then of s, which are overwritten. */
#define TWO_GROUPS FACTORS GROUP "add.u64 %rd7, %rd7, 16;\n" WGMMA "sub.u64 %rd7, %rd7, 16;\n" WGMMA
/* Bytes of s times themselves by thread 0, to tensor memory. */
#define TENSOR_MEMORY \
    "@%p1 mbarrier.init.shared.b64 [%r9], 1;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra ALLOCATED;\n" \
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [m+8], 32;\n" \
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nALLOCATED:\n" SYNC \
    "ld.shared.u32 %r10, [m+8];\n" FACTORS
#define MMA(p) "@" p " tcgen05.mma.cta_group::1.kind::i8 [%r10], %rd7, %rd7, 0x4020020, 0;\n"
#define MULTIPLY B MMA("%p1")
#define CP "@%p1 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r10], %rd7;\n"
#define COPY_IN B CP
#define TENSOR_RACE(a, b) \
    "Error: Race in tensor memory reported between " a " access at .* in hazards.cu:77 .* and " b \
    " access at .* in hazards.cu:88"
#define LOAD "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r6, %r7}, [%r10];\n"
#define LOADED "tcgen05.wait::ld.sync.aligned;\n"
#define FILL "tcgen05.st.sync.aligned.16x64b.x1.b32 [%r10], {%r1};\n"
#define FILLED "tcgen05.wait::st.sync.aligned;\n"
#define COMMIT "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\n"
#define STORE A "@!%p1 st.shared.u32 [%r3], 5;\n"
#define DEALLOC "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;\n"
#define FREE_AT(place) "\n" SYNC "@%p2 bra END;\n" place DEALLOC
#define FREE FREE_AT("")
#define DONE COMMIT "DONE:\nmbarrier.test_wait.parity.shared.b64 %p3, [%r9], 0;\n@!%p3 bra DONE;\n"
#define SECOND_WARP "setp.eq.u32 %p3, %r1, 32;\n"
#define SECOND_DONE \
    SECOND_WARP "@%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\nBOTH:\n" \
                "mbarrier.test_wait.parity.shared.b64 %p3, [%r9], 1;\n@!%p3 bra BOTH;\n"
#define NEXT_COLUMNS "add.u32 %r10, %r10, 32;\n"
#define THESE_COLUMNS "sub.u32 %r10, %r10, 32;\n"
#define TENSOR_INVALID(kind, n) "Invalid __tensor__ " kind " of " #n " columns"

static const struct test fixed[] = {
    /* shared memory */
    {"racecheck", "waw", "Error: " RACE("Write", "Write"),
     A "st.shared.u32 [s], %r1;\n@%p3 bar.sync 1;\n" B "st.shared.u32 [s], %r3;",
     A "st.shared.u32 [s], 7;\n" SYNC FIRST LEAVE("%p1") B "st.shared.u32 [s], %r3;", 1, 64, 0},
    {"information", "same_value", "", A "st.shared.u32 [s], 7;", A "st.shared.u32 [s], 7;", 1, 64, 0},
    {"racecheck", "bulk_not_awaited", "Error: " RACE("Write", "Read"), TO_SHARED(BULK_COPY("")) SYNC USE_COPY,
     TO_SHARED(BULK_COPY("")) COPIED_TO_SHARED USE_COPY, 1, 64, SM_90},
    {"racecheck", "tensor_not_awaited", "Error: " RACE("Write", "Read"), TO_SHARED(TENSOR_COPY("")) SYNC USE_COPY,
     TO_SHARED(TENSOR_COPY("")) COPIED_TO_SHARED USE_COPY, 1, 64, SM_90 | TENSOR},
    {"racecheck", "bulk_multicast_not_awaited", "Error: " RACE("Write", "Read"),
     TO_CLUSTER(BULK_COPY(MULTICAST)) CLUSTER_SYNC USE_COPY,
     TO_CLUSTER(BULK_COPY(MULTICAST)) COPIED_TO_SHARED USE_COPY CLUSTER_SYNC, 2, 32, CLUSTERED},
    {"racecheck", "tensor_multicast_not_awaited", "Error: " RACE("Write", "Read"),
     TO_CLUSTER(TENSOR_COPY(MULTICAST)) CLUSTER_SYNC USE_COPY,
     TO_CLUSTER(TENSOR_COPY(MULTICAST)) COPIED_TO_SHARED USE_COPY CLUSTER_SYNC, 2, 32, CLUSTERED | TENSOR},
    {"racecheck", "tensor_overwritten", "Error: " RACE("Write", "Read"), FROM_SHARED SYNC A "st.shared.u32 [%r5], 5;",
     FROM_SHARED "cp.async.bulk.wait_group.read 0;\n" SYNC A "st.shared.u32 [%r5], 5;", 1, 64, SM_90 | TENSOR},
    {"racecheck", "bulk_group_overwritten", "Error: " RACE("Write", "Read"),
     SEND("%r8+1024") COMMIT_SENT B SEND("%r8") COMMIT_SENT AWAIT_SENT(1) OVERWRITE_SENT,
     SEND("%r8") COMMIT_SENT B SEND("%r8+1024") COMMIT_SENT AWAIT_SENT(1) OVERWRITE_SENT, 1, 64, SM_90},
    {"racecheck", "bulk_group_not_committed", "Error: " RACE("Write", "Read"),
     B SEND("%r8") AWAIT_SENT(0) OVERWRITE_SENT, B SEND("%r8") COMMIT_SENT AWAIT_SENT(0) OVERWRITE_SENT, 1, 64, SM_90},
    /* A group is not what an mbarrier hears of, and counts what is committed alone. */
    {"racecheck", "bulk_awaited_as_a_group", RACE("Write", "Read"),
     TO_SHARED(BULK_COPY("")) COMMIT_SENT "cp.async.bulk.wait_group 0;\n" USE_COPY,
     TO_SHARED(BULK_COPY("")) COMMIT_SENT COPIED_TO_SHARED USE_COPY, 1, 32, SM_90},
    {"racecheck", "copy_of_a_group_that_is_tracked", RACE("Write", "Read"),
     "@%p1 mbarrier.init.shared.b64 [%r9], 64;\n" SYNC GROUP_OF("%r3+1024") A TRACKED_GROUP_OF("%r3") USE_GROUP("%r3"),
     "@%p1 mbarrier.init.shared.b64 [%r9], 64;\n" SYNC A GROUP_OF("%r3") TRACKED_GROUP_OF("%r3+1024") USE_GROUP("%r3"),
     1, 64, 0},
    {"racecheck", "wgmma_of_what_is_stored", "Error: " RACE("Write", "Read"),
     FACTORS GROUP WGMMA AWAIT_GROUPS(0) "bra END;\nOTHER:\n" A "st.shared.u32 [s+64], 5;",
     FACTORS GROUP SYNC WGMMA AWAIT_GROUPS(0) "bra END;\nOTHER:\n" A "st.shared.u32 [s+64], 5;\n" SYNC, 1, 160, SM_90A},
    {"racecheck", "wgmma_of_a_copy", "Error: " RACE("Write", "Read"), TO_SHARED(BULK_COPY("")) FACTORS WGMMA,
     TO_SHARED(BULK_COPY("")) COPIED_TO_SHARED FACTORS WGMMA, 1, 128, SM_90A},
    {"racecheck", "wgmma_overwritten", "Error: " RACE("Write", "Read"), FACTORS GROUP WGMMA STORE_BESIDE,
     FACTORS GROUP WGMMA AWAIT_GROUPS(0) STORE_BESIDE, 1, 160, SM_90A},
    {"racecheck", "wgmma_group_overwritten", "Error: " RACE("Write", "Read"), TWO_GROUPS AWAIT_GROUPS(1) STORE_BESIDE,
     TWO_GROUPS AWAIT_GROUPS(0) STORE_BESIDE, 1, 160, SM_90A},
    /* Products are of all four warps, which do not wait for each other: not at the fence, not behind the wait. */
    {"racecheck", "wgmma_fence_is_no_barrier", "Error: " RACE("Write", "Read"),
     A "st.shared.u32 [%r3], %r1;\nwgmma.fence.sync.aligned;\n" B "ld.shared.u32 %r6, [%r5];",
     A "st.shared.u32 [%r3], %r1;\nwgmma.fence.sync.aligned;\n" SYNC B "ld.shared.u32 %r6, [%r5];", 1, 128, SM_90A},
    {"racecheck", "wgmma_wait_is_no_barrier", "Error: " RACE("Write", "Read"),
     A "st.shared.u32 [%r3], %r1;\n" FACTORS WGMMA AWAIT_GROUPS(0) B "ld.shared.u32 %r6, [%r5];",
     A "st.shared.u32 [%r3], %r1;\n" FACTORS WGMMA AWAIT_GROUPS(0) SYNC B "ld.shared.u32 %r6, [%r5];", 1, 128, SM_90A},
    {"racecheck", "wgmma_overwritten_by_one", "Error: " RACE("Write", "Read"),
     FACTORS WGMMA FIRST LEAVE("%p1") A "st.shared.u32 [s+64], 5;",
     FACTORS WGMMA AWAIT_GROUPS(0) FIRST LEAVE("%p1") A "st.shared.u32 [s+64], 5;", 1, 128, SM_90A},
    {"racecheck", "wgmma_stored_behind_the_fence", "Error: " RACE("Write", "Read"),
     "wgmma.fence.sync.aligned;\n" FIRST A "@!%p1 st.shared.u32 [s+64], 5;\n" FACTORS PRODUCT AWAIT_GROUPS(0),
     FIRST A "@!%p1 st.shared.u32 [s+64], 5;\n" FACTORS WGMMA AWAIT_GROUPS(0), 1, 128, SM_90A},
    {"tcgen05", "st_bulk", "Error: " RACE("Write", "Read"),
     A "@%p1 st.bulk.weak.shared::cta [%r8], 64, 0;\n" B "@%p1 ld.shared.u32 %r6, [s];\nld.shared.u32 %r6, [s+16];",
     A "@%p1 st.bulk.weak.shared::cta [%r8], 64, 0;\n@%p1 ld.shared.u32 %r6, [s];\n" SYNC B
       "ld.shared.u32 %r6, [s+16];",
     1, 64, SM_100A},
    {"tcgen05", "mma_of_what_is_stored", "Error: " RACE("Write", "Read"), TENSOR_MEMORY STORE MULTIPLY FREE,
     TENSOR_MEMORY STORE SYNC MULTIPLY DONE FREE, 1, 128, SM_100A},
    {"tcgen05", "mma_overwritten", "Error: " RACE("Write", "Read"), TENSOR_MEMORY MULTIPLY COMMIT SYNC STORE FREE,
     TENSOR_MEMORY MULTIPLY COMMIT COPIED_TO_SHARED STORE FREE, 1, 128, SM_100A},
    {"tcgen05", "cp_of_what_is_stored", "Error: " RACE("Write", "Read"), TENSOR_MEMORY STORE COPY_IN FREE,
     TENSOR_MEMORY STORE SYNC COPY_IN DONE FREE, 1, 128, SM_100A},
    {"tcgen05", "cp_overwritten", "Error: " RACE("Write", "Read"), TENSOR_MEMORY COPY_IN COMMIT SYNC STORE FREE,
     TENSOR_MEMORY COPY_IN COMMIT COPIED_TO_SHARED STORE FREE, 1, 128, SM_100A},
    /* tensor memory: what is only started there, and what runs in the order of issue */
    {"tcgen05", "mma_read_early", TENSOR_RACE("Write", "Read"), TENSOR_MEMORY A MMA("%p1") COMMIT SYNC B LOAD FREE,
     TENSOR_MEMORY A MMA("%p1") COMMIT COPIED_TO_SHARED B LOAD FREE, 1, 128, SM_100A},
    {"tcgen05", "cp_read_early", TENSOR_RACE("Write", "Read"), TENSOR_MEMORY A CP COMMIT SYNC B LOAD FREE,
     TENSOR_MEMORY A CP MMA("%p1") COMMIT COPIED_TO_SHARED B LOAD FREE, 1, 128, SM_100A},
    {"tcgen05", "ld_overwritten", TENSOR_RACE("Write", "Read"), TENSOR_MEMORY B LOAD SYNC A MMA("%p1") FREE,
     TENSOR_MEMORY B LOAD LOADED SYNC A MMA("%p1") DONE FREE, 1, 128, SM_100A},
    {"tcgen05", "st_overwritten", TENSOR_RACE("Write", "Write"), TENSOR_MEMORY A FILL SYNC B MMA("%p1") FREE,
     TENSOR_MEMORY A FILL FILLED SYNC B MMA("%p1") DONE FREE, 1, 128, SM_100A},
    {"tcgen05", "st_read_early", TENSOR_RACE("Write", "Read"), TENSOR_MEMORY A FILL B LOAD FREE,
     TENSOR_MEMORY A FILL FILLED B LOAD LOADED FREE, 1, 128, SM_100A},
    {"tcgen05", "st_without_barrier", TENSOR_RACE("Write", "Write"), TENSOR_MEMORY A FILL FILLED B MMA("%p1") FREE,
     TENSOR_MEMORY A FILL FILLED SYNC B MMA("%p1") DONE FREE, 1, 128, SM_100A},
    {"tcgen05", "mma_of_two", TENSOR_RACE("Write", "Write"), TENSOR_MEMORY A MMA("%p1") SECOND_WARP B MMA("%p3") FREE,
     TENSOR_MEMORY A MMA("%p1") SECOND_WARP SYNC B MMA("%p3") DONE SYNC SECOND_DONE FREE, 1, 128, SM_100A},
    {"tcgen05", "free_while_read", TENSOR_RACE("Write", "Read"), TENSOR_MEMORY B LOAD FREE_AT(A),
     TENSOR_MEMORY B LOAD LOADED FREE_AT(A), 1, 128, SM_100A},
    {"tcgen05", "free_while_written", TENSOR_RACE("Write", "Write"), TENSOR_MEMORY A MMA("%p1") FREE_AT(B),
     TENSOR_MEMORY A MMA("%p1") DONE FREE_AT(B), 1, 128, SM_100A},
    {"unallocated", "load_not_allocated", TENSOR_INVALID("read", 2),
     TENSOR_MEMORY NEXT_COLUMNS A LOAD LOADED THESE_COLUMNS FREE, TENSOR_MEMORY A LOAD LOADED FREE, 1, 128, SM_100A},
    {"unallocated", "store_freed", TENSOR_INVALID("write", 2), TENSOR_MEMORY "@!%p2 " DEALLOC SYNC A FILL FILLED,
     TENSOR_MEMORY A FILL FILLED FREE, 1, 128, SM_100A},
    {"unallocated", "mma_not_allocated", TENSOR_INVALID("write", 8),
     TENSOR_MEMORY NEXT_COLUMNS A MMA("%p1") DONE THESE_COLUMNS FREE, TENSOR_MEMORY A MMA("%p1") DONE FREE, 1, 128,
     SM_100A},
    {"unallocated", "cp_not_allocated", TENSOR_INVALID("write", 4),
     TENSOR_MEMORY NEXT_COLUMNS A CP DONE THESE_COLUMNS FREE, TENSOR_MEMORY A CP DONE FREE, 1, 128, SM_100A},
    {"racecheck", "atomic_and_read", "Error: " RACE("Atomic", "Read"),
     A "red.shared.add.u32 [s], 1;\n" B "ld.shared.u32 %r6, [s];",
     A "red.shared.add.u32 [s], 1;\n" SYNC B "ld.shared.u32 %r6, [s];", 1, 64, 0},
    {"racecheck", "confirmed_by_cas", "Error: Race in global memory reported between Atomic .*77 .* and Read .*77",
     A "ld.global.u32 %r6, [%rd1];\nLOOP:\nmov.u32 %r7, %r6;\nadd.u32 %r10, %r7, 1;\n"
       "atom.global.cas.b32 %r6, [%rd1], %r10, %r7;\nsetp.ne.u32 %p1, %r6, %r7;\n@%p1 bra END;",
     A "ld.global.u32 %r6, [%rd1];\nLOOP:\nmov.u32 %r7, %r6;\nadd.u32 %r10, %r7, 1;\n"
       "atom.global.cas.b32 %r6, [%rd1], %r7, %r10;\nsetp.ne.u32 %p1, %r6, %r7;\n@%p1 bra LOOP;",
     8, 64, 0},
    /* Two warps say that they have read, the latter reads again, and a third one believes them. */
    {"racecheck", "read_after_release", "Error: " RACE("Write", "Read"),
     READERS "setp.lt.u32 %p2, %r1, 32;\n@%p2 bra END;\n" B "ld.shared.u32 %r6, [s+64];\n" WRITER, READERS WRITER, 1,
     96, 0},
    {"racecheck", "init_and_atomic", "Error: " RACE("Write", "Atomic"),
     FIRST "@%p1 bra NEXT;\n" A "st.shared.u32 [s], 0;\nNEXT:\n" B "red.shared.add.u32 [s], 1;",
     FIRST "@%p1 bra NEXT;\n" A "st.shared.u32 [s], 0;\nNEXT:\n" SYNC B "red.shared.add.u32 [s], 1;", 1, 64, 0},
    {"racecheck", "other_named_barrier", "Error: " RACE("Write", "Read"),
     A "st.shared.u32 [%r3], %r1;\n" FIRST_WARP "@%p1 bar.sync 1, 32;\n@!%p1 bar.sync 2, 32;\n" B
       "ld.shared.u32 %r6, [%r5];",
     A "st.shared.u32 [%r3], %r1;\nbar.sync 1, 64;\n" B "ld.shared.u32 %r6, [%r5];", 1, 64, 0},
    {"racecheck", "producer", "Error: " RACE("Write", "Read"),
     FIRST_WARP "@%p1 bra CONSUME;\nbar.arrive 1, 64;\n" A "st.shared.u32 [%r3], %r1;\nbra END;\nCONSUME:\n"
                "bar.sync 1, 64;\n" B "ld.shared.u32 %r6, [%r5];",
     FIRST_WARP "@%p1 bra CONSUME;\n" A "st.shared.u32 [%r3], %r1;\nbar.arrive 1, 64;\nbra END;\nCONSUME:\n"
                "bar.sync 1, 64;\n" B "ld.shared.u32 %r6, [%r5];",
     1, 64, 0},
    {"racecheck", "copy_not_waited_for", RACE("Write", "Read"),
     A "cp.async.ca.shared.global [%r3], [%rd3], 16;\n"
       "cp.async.commit_group;\n" B "ld.shared.u32 %r6, [%r3];",
     A "cp.async.ca.shared.global [%r3], [%rd3], 16;\n"
       "cp.async.commit_group;\ncp.async.wait_group 0;\n" B "ld.shared.u32 %r6, [%r3];",
     1, 64, 0},
    {"racecheck", "copy_of_another_group", RACE("Write", "Read"),
     "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.commit_group;\n" A
     "cp.async.ca.shared.global [%r3+1024], [%rd3], 16;\ncp.async.commit_group;\n"
     "cp.async.wait_group 1;\n" B "ld.shared.u32 %r6, [%r3+1024];",
     "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.commit_group;\n" A
     "cp.async.ca.shared.global [%r3+1024], [%rd3], 16;\ncp.async.commit_group;\n"
     "cp.async.wait_group 1;\n" B "ld.shared.u32 %r6, [%r3];",
     1, 64, 0},
    {"racecheck", "copy_without_barrier", "Error: " RACE("Write", "Read"),
     A "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.wait_all;\n" B "ld.shared.u32 %r6, [%r5];",
     A "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.wait_all;\n" SYNC B "ld.shared.u32 %r6, [%r5];", 1, 64,
     0},
    {"racecheck", "copy_over_what_is_read", "Error: " RACE("Write", "Read"),
     B "ld.shared.u32 %r6, [%r5];\n" A "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.wait_all;",
     B "ld.shared.u32 %r6, [%r5];\n" SYNC A "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.wait_all;", 1, 64,
     0},
    {"racecheck", "mbarrier_not_waited_for", "Error: " RACE("Write", "Read"),
     FIRST "@%p1 bra NEXT;\n" MBARRIER "NEXT:\n" SYNC A "st.shared.u32 [%r3], %r1;\n"
           "mbarrier.arrive.shared.b64 %rd5, [%r9];\n" B "ld.shared.u32 %r6, [%r5];",
     FIRST
     "@%p1 bra NEXT;\n" MBARRIER "NEXT:\n" SYNC A "st.shared.u32 [%r3], %r1;\n"
     "mbarrier.arrive.shared.b64 %rd5, [%r9];\nWAIT:\nmbarrier.test_wait.shared.b64 %p2, [%r9], %rd5;\n@!%p2 bra WAIT;\n" B
     "ld.shared.u32 %r6, [%r5];",
     1, 64, 0},
    {"racecheck", "generic", "Error: " RACE("Write", "Read"),
     "cvt.u64.u32 %rd5, %r3; cvta.shared.u64 %rd5, %rd5;\n" A "st.u32 [%rd5], %r1;\n" B "ld.shared.u32 %r6, [%r5];",
     "cvt.u64.u32 %rd5, %r3; cvta.shared.u64 %rd5, %rd5;\n" A "st.u32 [%rd5], %r1;\n" SYNC B
     "ld.shared.u32 %r6, [%r5];",
     1, 64, 0},
    {"racecheck", "dynamic", "Error: " RACE("Write", "Read"),
     "mov.u32 %r6, dyn; sub.u32 %r7, %r3, %r8; add.u32 %r6, %r6, %r7;\n" A "st.shared.u32 [%r6], 1;\n"
     "xor.b32 %r7, %r7, 512; mov.u32 %r6, dyn; add.u32 %r6, %r6, %r7;\n" B "ld.shared.u32 %r7, [%r6];",
     "mov.u32 %r6, dyn; sub.u32 %r7, %r3, %r8; add.u32 %r6, %r6, %r7;\n" A "st.shared.u32 [%r6], 1;\n" SYNC
     "xor.b32 %r7, %r7, 512; mov.u32 %r6, dyn; add.u32 %r6, %r6, %r7;\n" B "ld.shared.u32 %r7, [%r6];",
     1, 64, 0},
    {"racecheck", "matrix", "Error: " RACE("Write", "Read"),
     A "st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r1};\n" B "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];",
     A "st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r1};\n" SYNC B
       "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];",
     1, 64, 0},
    {"racecheck", "loop", "Error: " RACE("Write", "Read"),
     "mov.u32 %r6, 3;\nLOOP:\n" A "st.shared.u32 [%r3], %r6;\n" SYNC B
     "ld.shared.u32 %r7, [%r5];\nsub.u32 %r6, %r6, 1;\n"
     "setp.ne.u32 %p1, %r6, 0;\n@%p1 bra LOOP;",
     "mov.u32 %r6, 3;\nLOOP:\n" A "st.shared.u32 [%r3], %r6;\n" SYNC B "ld.shared.u32 %r7, [%r5];\n" SYNC
     "sub.u32 %r6, %r6, 1;\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 bra LOOP;",
     1, 64, 0},
    /* global memory */
    {"racecheck", "global_waw", GLOBAL_RACE("Write", "Write"), A "st.global.u32 [%rd1], %r2;\n",
     A "st.global.u32 [%rd4], %r2;", 8, 1, 0},
    {"racecheck", "global_raw", GLOBAL_RACE("Write", "Read"),
     A "st.global.u32 [%rd4], 5;\n" B "ld.global.u32 %r6, [%rd1+16];",
     A "st.global.u32 [%rd4], 5;\n" B "ld.global.u32 %r6, [%rd4];", 8, 1, 0},
    {"racecheck", "global_equal_data", KEPT_RACE, /* memory holds 0 */
     BLOCK_0 A "st.global.u32 [%rd1], 0;\nbra END;\nOTHER:\n" B "ld.global.u32 %r6, [%rd1];",
     BLOCK_0 A "st.global.u32 [%rd1], 0;\nbra END;\nOTHER:\n" B "ld.global.u32 %r6, [%rd1+64];", 2, 1, RIGHT_FILLED},
    {"racecheck", "global_equal_data_before", GLOBAL_RACE("Write", "Write"), /* the first one leaves it as it is */
     BLOCK_0 A "st.global.u32 [%rd1], 0;\nbra END;\nOTHER:\n" B "st.global.u32 [%rd1], 5;",
     BLOCK_0 A "st.global.u32 [%rd1], 0;\nbra END;\nOTHER:\n" B "st.global.u32 [%rd1+64], 5;", 2, 1, RIGHT_FILLED},
    {"racecheck", "equal_data", "Error: " RACE("Write", "Read"),
     FIRST "@!%p1 st.shared.u32 [s], 0;\n" SYNC FIRST_WARP "@%p1 bra OTHER;\n" A
           "st.shared.u32 [s], 0;\nbra END;\nOTHER:\n" B "ld.shared.u32 %r6, [s];",
     FIRST "@!%p1 st.shared.u32 [s], 0;\n" SYNC FIRST_WARP "@%p1 bra OTHER;\n" A
           "st.shared.u32 [s], 0;\nbra END;\nOTHER:\n" B "ld.shared.u32 %r6, [s+64];",
     1, 64, 0},
    {"racecheck", "global_flag", GLOBAL_RACE("Write", "Read"),
     "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra WAIT;\n" A "st.global.u32 [%rd1+64], 5;\nbra END;\nWAIT:\n" B
     "ld.global.u32 %r6, [%rd1+64];",
     "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra WAIT;\n" A "st.global.u32 [%rd1+64], 5;\nmembar.gl;\n"
     "st.volatile.global.u32 [%rd1], 1;\nbra END;\nWAIT:\nld.volatile.global.u32 %r6, [%rd1];\n"
     "setp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\nmembar.gl;\n" B "ld.global.u32 %r6, [%rd1+64];",
     2, 1, RIGHT_FILLED},
    {"racecheck", "global_last_block", GLOBAL_RACE("Write", "Read"),
     A "st.global.u32 [%rd4+64], 5;\n" B "ld.global.u32 %r7, [%rd1+64];",
     A "st.global.u32 [%rd4+64], 5;\nmembar.gl;\natom.global.add.u32 %r6, [%rd1], 1;\nsetp.ne.u32 %p1, %r6, 7;\n" LEAVE(
         "%p1") "membar.gl;\n" B "ld.global.u32 %r7, [%rd1+64];",
     8, 1, RIGHT_FILLED},
    {"racecheck", "global_counter", GLOBAL_RACE("Write", "Read"),
     B "ld.global.u32 %r6, [%rd1];\nadd.u32 %r6, %r6, 1;\n" A "st.global.u32 [%rd1], %r6;",
     "red.global.add.u32 [%rd1], 1;", 8, 1, RIGHT_FILLED},
    {"racecheck", "global_in_a_block", GLOBAL_RACE("Write", "Read"),
     OTHER_WARP A "st.global.u32 [%rd3], 5;\n" B "ld.global.u32 %r6, [%rd5];",
     OTHER_WARP A "st.global.u32 [%rd3], 5;\n" SYNC B "ld.global.u32 %r6, [%rd5];", 1, 64, 0},
    {"racecheck", "global_in_a_warp", "Warning: Race in global memory reported between Write .* and Read",
     OTHER_LANE A "st.global.u32 [%rd3], 5;\n" B "ld.global.u32 %r6, [%rd5];",
     OTHER_LANE A "st.global.u32 [%rd3], 5;\n" WARP B "ld.global.u32 %r6, [%rd5];", 1, 32, 0},
    {"racecheck", "global_rotated_in_a_warp", "Warning: Race in global memory reported between Write .* and Read",
     OTHER_LANE "mov.u32 %r7, 3;\nLOOP:\n" B "ld.global.u32 %r6, [%rd5];\nadd.u32 %r6, %r6, %r7;\n" A
                "st.global.u32 [%rd3], %r6;\nsub.u32 %r7, %r7, 1;\nsetp.ne.u32 %p1, %r7, 0;\n@%p1 bra LOOP;",
     OTHER_LANE "mov.u32 %r7, 3;\nLOOP:\n" B "ld.global.u32 %r6, [%rd5];\nadd.u32 %r6, %r6, %r7;\n" WARP A
                "st.global.u32 [%rd3], %r6;\n" WARP "sub.u32 %r7, %r7, 1;\nsetp.ne.u32 %p1, %r7, 0;\n@%p1 bra LOOP;",
     1, 32, RIGHT_FILLED},
    {"racecheck", "global_in_place", GLOBAL_RACE("Write", "Read"), /* x = x.T + 1 */
     OTHER_WARP B "ld.global.u32 %r6, [%rd5];\nadd.u32 %r6, %r6, 1;\n" A "st.global.u32 [%rd3], %r6;",
     OTHER_WARP B "ld.global.u32 %r6, [%rd5];\nadd.u32 %r6, %r6, 1;\n" A "st.global.u32 [%rd3+4], %r6;", 1, 64,
     RIGHT_FILLED},
    {"racecheck", "global_one_instruction", "Warning: Race in global memory reported between Write .* and Write",
     A "st.global.u32 [%rd1], %r1;", A "st.global.u32 [%rd1], 7;", 1, 32, 0},
    {"racecheck", "global_bytes", GLOBAL_RACE("Write", "Write"),
     "cvt.u64.u32 %rd5, %r1; shr.u64 %rd5, %rd5, 1; add.u64 %rd5, %rd5, %rd1;\n" A "st.global.u16 [%rd1+2], %h1;\n@%p3 "
     "bar.sync 1;\n" B "st.global.u8 [%rd1+3], %r1;",
     "cvt.u64.u32 %rd5, %r1; add.u64 %rd5, %rd5, %rd1;\n" A "st.global.u8 [%rd5], %r1;", 1, 64, 0},
    {"racecheck", "global_relaxed_flag", GLOBAL_RACE("Write", "Read"), FLAG B "ld.global.u32 %r6, [%rd1+64];",
     FLAG "fence.acq_rel.gpu;\n" B "ld.global.u32 %r6, [%rd1+64];", 2, 1, RIGHT_FILLED},
    /* Stores of the zeros that are there, and reads: after them, before them; with one that is no zero. */
    {"racecheck", "global_kept", KEPT_RACE, WORDS A "st.global.u32 [%rd5], 0;\n" READ_OTHER,
     WORDS A "st.global.u32 [%rd5], 0;\n" SYNC READ_OTHER, 1, 64, 0},
    /* Launched again where memory holds ones: no warning any more. */
    {"racecheck", "global_kept_once", "Error: Race in global memory reported between Write .*77 .* and Read .*:88",
     WORDS A "st.global.u32 [%rd5], 0;\n" READ_OTHER, WORDS A "st.global.u32 [%rd5], 0;\n" SYNC READ_OTHER, 1, 64,
     TWICE},
    {"racecheck", "global_kept_after_read", KEPT_RACE, WORDS READ_OTHER "\n" A "st.global.u32 [%rd5], 0;",
     WORDS READ_OTHER "\n" SYNC A "st.global.u32 [%rd5], 0;", 1, 64, 0},
    {"racecheck", "global_kept_apart", KEPT_RACE,
     OTHER_WARP A "st.global.v2.u32 [%rd3], {0, 0};\n" B "ld.global.u32 %r7, [%rd5];",
     OTHER_WARP A "st.global.v2.u32 [%rd3], {0, 0};\n" SYNC B "ld.global.u32 %r7, [%rd5];", 1, 64, 0},
    {"racecheck", "global_changed_by_one", GLOBAL_RACE("Write", "Read"),
     WORDS "setp.eq.u32 %p1, %r1, 5; selp.u32 %r10, 1, 0, %p1;\n" A "st.global.u32 [%rd5], %r10;\n" READ_OTHER,
     WORDS "setp.eq.u32 %p1, %r1, 5; selp.u32 %r10, 1, 0, %p1;\n" A "st.global.u32 [%rd5], %r10;\n" SYNC READ_OTHER, 1,
     64, 0},
    {"racecheck", "global_changed_before", GLOBAL_RACE("Write", "Read"),
     WORDS "st.global.u32 [%rd5], 7;\n" A "st.global.u32 [%rd5], 7;\n" READ_OTHER,
     WORDS "st.global.u32 [%rd5], 7;\n" A "st.global.u32 [%rd5], 7;\n" SYNC READ_OTHER, 1, 64, 0},
    {"racecheck", "global_overwritten", GLOBAL_RACE("Write", "Read"), READER "WAIT:\n" OVERWRITER,
     READER WAIT OVERWRITER, 2, 1, RIGHT_FILLED},
    {"racecheck", "shared_relaxed_flag", "Error: " RACE("Write", "Read"), SHARED_FLAG B "ld.shared.u32 %r6, [s+64];",
     SHARED_FLAG "fence.acq_rel.cta;\n" B "ld.shared.u32 %r6, [s+64];", 1, 33, 0},
    /* what nobody wrote */
    {"initcheck", "atomic", NOT_WRITTEN(4), A "red.global.add.u32 [%rd1], 1;", A "red.global.add.u32 [%rd1], 1;", 1, 1,
     RIGHT_FILLED},
    {"initcheck", "half_filled", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd1+2048];",
     A "ld.global.u32 %r6, [%rd1+2040];", 1, 1, HALF},
    {"initcheck", "a_byte_short", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd1+2044];\n" USE("%r6"),
     A "ld.global.u32 %r6, [%rd1+2040];\n" USE("%r6"), 1, 1, HALF},
    {"initcheck", "copied_on_the_device", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd1];",
     A "ld.global.u32 %r6, [%rd1];", 1, 1, RIGHT_FILLED | COPIED},
    {"initcheck", "allocated_again", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd1];", A "ld.global.u32 %r6, [%rd1];", 1,
     1, RIGHT_FILLED | AGAIN},
    {"initcheck", "allocated_async", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd1];", A "ld.global.u32 %r6, [%rd1];", 1,
     1, RIGHT_FILLED | ASYNC},
    {"initcheck", "other_threads_wrote", NOT_WRITTEN(4),
     "st.global.u32 [%rd3], 1;\n" SYNC A "ld.global.u32 %r6, [%rd3+4];\n" USE("%r6"),
     "st.global.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};\n" SYNC A "ld.global.u32 %r6, [%rd3+4];\n" USE("%r6"), 1, 32, 0},
    /* structures that are copied with their padding: {u8, u32}, {u32, pad 4, u64}; members that are taken out of it */
    {"initcheck", "padding_is_a_number", NOT_WRITTEN(4), ONE_BYTE A "ld.global.u32 %r6, [%rd3];\n" USE("%r6"),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nand.b32 %r7, %r6, 255;\n" USE("%r7") "st.global.u32 [%rd3+12], %r6;", 1,
     32, 0},
    {"initcheck", "padding_shifted", NOT_WRITTEN(4),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nshr.u32 %r7, %r6, 24;\n" USE("%r7"),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nshl.b32 %r7, %r6, 24;\nshr.s32 %r7, %r7, 24;\n" USE("%r7"), 1, 32, 0},
    {"initcheck", "padding_doubled", NOT_WRITTEN(4),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nshl.b32 %r7, %r6, 1;\nst.global.u32 [%rd3+12], %r7;",
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nshl.b32 %r7, %r6, 1;\nand.b32 %r7, %r7, 510;\n"
                "st.global.u32 [%rd3+12], %r7;\nshl.b32 %r7, %r6, 8;\nst.global.u32 [%rd3+12], %r7;",
     1, 32, 0},
    {"initcheck", "padding_permuted", NOT_WRITTEN(4),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nprmt.b32 %r7, %r6, %r1, 0x4442;\n" USE("%r7"),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nprmt.b32 %r7, %r6, %r1, 0x4448;\n" USE("%r7"), 1, 32, 0},
    {"initcheck", "padding_field", NOT_WRITTEN(4),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nbfe.u32 %r7, %r6, 4, 8;\n" USE("%r7"),
     ONE_BYTE A "ld.global.u32 %r6, [%rd3];\nbfe.s32 %r7, %r6, 0, 8;\n" USE("%r7"), 1, 32, 0},
    {"initcheck", "padding_compared", NOT_WRITTEN(8),
     ONE_BYTE "st.global.u32 [%rd3+4], %r1;\n" A "ld.global.v2.u32 {%r6, %r7}, [%rd3];\nsetp.lt.u32 %p1, %r6, 9;\n"
              "st.global.v2.u32 [%rd3+8], {%r6, %r7};",
     ONE_BYTE "st.global.u32 [%rd3+4], %r1;\n" A "ld.global.v2.u32 {%r6, %r7}, [%rd3];\ncvt.u32.u8 %r10, %r6;\n"
              "setp.lt.u32 %p1, %r10, 9;\nsetp.lt.u32 %p2, %r7, 9;\nselp.b32 %r6, %r6, %r7, %p1;\n"
              "st.global.v2.u32 [%rd3+8], {%r6, %r7};",
     1, 32, 0},
    {"initcheck", "padding_of_another_round", NOT_WRITTEN(4),
     ONE_BYTE "mov.u32 %r7, 0; mov.u32 %r10, 0;\nLOOP:\nadd.u32 %r10, %r10, %r7;\n" A "ld.global.u32 %r7, [%rd3];\n"
              "setp.ge.u32 %p1, %r10, 1;\n@%p1 bra END;\nadd.u32 %r10, %r10, 1;\nbra LOOP;",
     ONE_BYTE "mov.u32 %r7, 0; mov.u32 %r10, 0;\nLOOP:\nst.global.u32 [%rd3+8], %r7;\n" A "ld.global.u32 %r7, [%rd3];\n"
              "setp.ge.u32 %p1, %r10, 1;\n@%p1 bra END;\nadd.u32 %r10, %r10, 1;\nbra LOOP;",
     1, 32, 0},
    {"initcheck", "padding_as_an_address", NOT_WRITTEN(8),
     ONE_BYTE A "ld.global.u64 %rd5, [%rd3];\nand.b64 %rd5, %rd5, 0xff00;\nand.b64 %rd6, %rd5, 0xff;\n"
                "add.u64 %rd6, %rd5, %rd1;",
     ONE_BYTE A "ld.global.u64 %rd5, [%rd3];\nand.b64 %rd6, %rd5, 0xff;\nadd.u64 %rd6, %rd6, %rd1;\n"
                "mov.b64 {%r6, %r7}, %rd5;\nmov.b64 %rd5, {%r7, %r6};\nst.global.u64 [%rd3+8], %rd5;",
     1, 32, 0},
    {"initcheck", "padding_only", NOT_WRITTEN(4),
     "st.global.u32 [%rd3], 1;\n" A "ld.global.u32 %r6, [%rd3+4];\n" USE("%r6"),
     "st.global.u32 [%rd3], 1;\n" A "ld.global.u32 %r6, [%rd3+4];\nst.global.u32 [%rd3+12], %r6;", 1, 32, 0},
    {"initcheck", "nothing_is_copied", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd3];\nst.global.u32 [%rd1+2048], %r6;",
     "st.global.u32 [%rd3], 1;\n" A "ld.global.u32 %r6, [%rd3];\nst.global.u32 [%rd1+2048], %r6;", 1, 32, 0},
    {"initcheck", "copied_where_more_was", NOT_WRITTEN(4), A "ld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd1+4], %r6;",
     "st.global.u32 [%rd1], 1;\n" A "ld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd1+4], %r6;", 1, 1, AGAIN | SHORTER},
    {"initcheck", "copy_to_shared", NOT_WRITTEN(16),
     A "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.wait_all;",
     A "cp.async.ca.shared.global [%r3], [%rd3], 16;\ncp.async.wait_all;", 1, 32, RIGHT_FILLED},
    {"initcheck", "generic_read", NOT_WRITTEN(8), A "ld.u64 %rd5, [%rd3];", A "ld.u64 %rd5, [%rd3];", 1, 32,
     RIGHT_FILLED},
    /* of blocks of one cluster, in the second one's shared memory */
    {"racecheck", "cluster_both_write", "Error: " RACE("Write", "Write"),
     CLUSTER A "@%p1 st.shared::cluster.u32 [%r10], %r1;\n" B "@!%p1 st.shared.u32 [%r8], 7;\n" CLUSTER_SYNC,
     CLUSTER A "@%p1 st.shared::cluster.u32 [%r10], %r1;\n" CLUSTER_SYNC B
               "@!%p1 st.shared.u32 [%r8], 7;\n" CLUSTER_SYNC,
     2, 1, CLUSTERED},
    {"racecheck", "cluster_read", "Error: " RACE("Write", "Read"),
     CLUSTER A "@!%p1 st.shared.u32 [%r8], 7;\n" B "@%p1 ld.shared::cluster.u32 %r6, [%r10];\n" CLUSTER_SYNC,
     CLUSTER A "@!%p1 st.shared.u32 [%r8], 7;\n" CLUSTER_SYNC B
               "@%p1 ld.shared::cluster.u32 %r6, [%r10];\n" CLUSTER_SYNC,
     2, 1, CLUSTERED},
    /* barriers and masks */
    {"synccheck", "half_a_warp", IN_WARP,
     "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra NEXT;\n" A SYNC "NEXT:\nst.shared.u32 [%r3], 1;",
     A SYNC "st.shared.u32 [%r3], 1;", 1, 32, 0},
    {"synccheck", "part_of_a_block", IN_BLOCK,
     "setp.ge.u32 %p1, %r1, 48;\n@%p1 bra NEXT;\n" A SYNC "NEXT:\nst.shared.u32 [%r3], 1;",
     "setp.ge.u32 %p1, %r1, 48;\n@%p1 bra END;\n" A SYNC "st.shared.u32 [%r3], 1;", 1, 64, 0},
    {"synccheck", "last_round", IN_BLOCK,
     "mov.u32 %r6, %r1;\nLOOP:\nsetp.ge.u32 %p1, %r6, 100;\n@%p1 bra NEXT;\n" A SYNC
     "add.u32 %r6, %r6, 64;\nbra LOOP;\nNEXT:\nst.shared.u32 [%r3], 1;",
     "mov.u32 %r6, %r1;\nLOOP:\n" A SYNC "add.u32 %r6, %r6, 64;\nsetp.lt.u32 %p1, %r6, 128;\n@%p1 bra LOOP;\n"
     "st.shared.u32 [%r3], 1;",
     1, 64, 0},
    {"synccheck", "left_for_the_end", IN_WARP, /* some leave the loop, and only those that return at once are right */
     "mov.u32 %r6, %r1;\nLOOP:\nsetp.ge.u32 %p1, %r6, 64;\n@%p1 bra NEXT;\n" A SYNC
     "add.u32 %r6, %r6, 8;\nbra LOOP;\nNEXT:\nsetp.ge.u32 %p2, %r1, 16;\n@%p2 st.global.u32 [%rd3], 1;",
     "mov.u32 %r6, %r1;\nLOOP:\nsetp.ge.u32 %p1, %r6, 64;\n@%p1 bra NEXT;\n" A SYNC
     "add.u32 %r6, %r6, 8;\nbra LOOP;\nNEXT:\nbra END;",
     1, 32, 0},
    {"synccheck", "two_barriers", IN_WARP,
     ODD "@%p1 bra OTHER;\n" A SYNC "bra NEXT;\nOTHER:\n" B SYNC "NEXT:\nst.shared.u32 [%r3], 1;",
     A SYNC "st.shared.u32 [%r3], 1;", 1, 32, 0},
    {"synccheck", "two_barriers_of_warps", IN_BLOCK,
     FIRST_WARP "@%p1 bra OTHER;\n" A SYNC "bra NEXT;\nOTHER:\n" B SYNC "NEXT:\nst.shared.u32 [%r3], 1;",
     A SYNC "st.shared.u32 [%r3], 1;", 1, 64, 0},
    {"synccheck", "count_of_threads", ARGUMENTS, "mov.u32 %r6, 48;\n" A "bar.sync 1, %r6;", A "bar.sync 1, 64;", 1, 64,
     0},
    {"synccheck", "count_of_others", ARGUMENTS,
     FIRST_WARP "@%p1 bra OTHER;\nbar.arrive 1, 64;\nbra NEXT;\nOTHER:\n" A "bar.sync 1, 32;\nNEXT:\n",
     FIRST_WARP "@%p1 bra OTHER;\nbar.arrive 1, 64;\nbra NEXT;\nOTHER:\n" A "bar.sync 1, 64;\nNEXT:\n", 1, 64, 0},
    {"synccheck", "count_beyond", ARGUMENTS, FIRST_WARP LEAVE("%p1") A "bar.arrive 1, 128;",
     FIRST_WARP LEAVE("%p1") A "bar.arrive 1, 64;", 1, 64, 0},
    {"synccheck", "invalidated", NO_INIT,
     FIRST LEAVE("%p1") MBARRIER "mbarrier.inval.shared.b64 [%r9];\n" A "mbarrier.arrive.shared.b64 %rd5, [%r9];",
     FIRST LEAVE("%p1") MBARRIER "mbarrier.inval.shared.b64 [%r9];\n" MBARRIER A
                                 "mbarrier.arrive.shared.b64 %rd5, [%r9];\nmbarrier.inval.shared.b64 [%r9];",
     1, 64, 0},
    {"synccheck", "invalidated_twice", NO_INIT,
     FIRST LEAVE("%p1") MBARRIER "mbarrier.inval.shared.b64 [%r9];\n" A "mbarrier.inval.shared.b64 [%r9];",
     FIRST LEAVE("%p1") MBARRIER A "mbarrier.inval.shared.b64 [%r9];", 1, 64, 0},
    {"synccheck", "no_mbarrier", NO_INIT, A "mbarrier.arrive.shared.b64 %rd5, [%r9];",
     MBARRIER A "mbarrier.arrive.shared.b64 %rd5, [%r9];", 1, 1, 0},
    {"synccheck", "no_mbarrier_to_test", NO_INIT, A "mbarrier.test_wait.shared.b64 %p2, [%r9], %rd5;",
     MBARRIER "mbarrier.arrive.shared.b64 %rd5, [%r9];\n" A "mbarrier.test_wait.shared.b64 %p2, [%r9], %rd5;", 1, 1, 0},
    {"synccheck", "mbarrier_elsewhere", NO_INIT, MBARRIER A "mbarrier.arrive.shared.b64 %rd5, [%r9+8];",
     MBARRIER A "mbarrier.arrive.shared.b64 %rd5, [%r9];", 1, 1, 0},
    {"synccheck", "mbarrier_of_nobody", ARGUMENTS, A "mbarrier.init.shared.b64 [%r9], 0;", A MBARRIER, 1, 1, 0},
    {"synccheck", "too_many_arrivals", ARGUMENTS, MBARRIER A "mbarrier.arrive.shared.b64 %rd5, [%r9], 65;",
     MBARRIER A "mbarrier.arrive.shared.b64 %rd5, [%r9], 64;", 1, 1, SM_90},
    {"synccheck", "mask_names_who_is_elsewhere", IN_WARP,
     ODD "@%p1 bra OTHER;\n" A "shfl.sync.idx.b32 %r6, %r1, 0, 31, 0xffffffff;\nbra NEXT;\nOTHER:\n"
         "bar.sync 1, 64;\nNEXT:\n",
     ODD "@%p1 bra OTHER;\n" A "shfl.sync.idx.b32 %r6, %r1, 0, 31, 0x55555555;\nbra NEXT;\nOTHER:\n"
         "bar.sync 1, 64;\nNEXT:\n",
     1, 64, 0},
    {"synccheck", "too_large", "Cooperative launch that cannot be resident. .*too_large: 100000 blocks", A SYNC, A SYNC,
     1, 64, COOPERATIVE},
};
enum { FIXED = sizeof fixed / sizeof *fixed, MOST = FIXED + 100 };
static struct test tests[MOST];
static unsigned count;

static __attribute__((format(printf, 1, 2))) const char *text(const char *format, ...)
{
    char *s = NULL;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&s, format, list);
    va_end(list);
    if (n < 0)
        exit(3);
    return s;
}

/* Every width of access, between lanes of a warp and between warps, in either order, without the barrier that is
 * wanted; every width of a read of global memory; every collective with a mask that lacks a lane. */
static void make_variants(void)
{
    static const struct {
        const char *name, *type, *registers;
        unsigned bytes;
    } width[] = {
        {"u8", "u8", "%r1", 1},    {"u16", "u16", "%h1", 2},          {"u32", "u32", "%r1", 4},
        {"u64", "u64", "%rd1", 8}, {"v2", "v2.u32", "{%r1, %r2}", 8}, {"v4", "v4.u32", "{%r1, %r2, %r1, %r2}", 16}};
    static const struct {
        const char *name, *ptx, *mask;
    } collective[] = {{"syncwarp", "bar.warp.sync %s;", 0},
                      {"shfl", "shfl.sync.bfly.b32 %%r6, %%r1, 1, 31, %s;", 0},
                      {"ballot", "vote.sync.ballot.b32 %%r6, %%p1, %s;", 0},
                      {"any", "vote.sync.any.pred %%p2, %%p1, %s;", 0},
                      {"match", "match.any.sync.b32 %%r6, %%r1, %s;", 0},
                      {"redux", "redux.sync.add.u32 %%r6, %%r1, %s;", 0}};
    memcpy(tests, fixed, sizeof fixed);
    count = FIXED;
    for (unsigned k = 0; k < sizeof width / sizeof *width; k++) {
        const char *t = width[k].type, *r = width[k].registers;
        for (unsigned across = 0; across < 2; across++) {
            const char *other = across ? "%r5" : "%r4", *barrier = across ? SYNC : WARP;
            const char *level = across ? "Error: " : "Warning: ", *where = across ? "warps" : "lanes";
            const char *st = text("st.shared.%s [%%r3], %s;\n", t, r),
                       *ld = text("ld.shared.%s %s, [%s];\n", t, r, other);
            const char *report = text("%s" RACE("Write", "Read"), level);
            tests[count++] = (struct test){"racecheck",
                                           text("raw_%s_%s", width[k].name, where),
                                           report,
                                           text("%s%s%s%s", A, st, B, ld),
                                           text("%s%s%s%s%s", A, st, barrier, B, ld),
                                           1,
                                           64,
                                           0};
            tests[count++] = (struct test){"racecheck",
                                           text("war_%s_%s", width[k].name, where),
                                           report,
                                           text("%s%s%s%s", B, ld, A, st),
                                           text("%s%s%s%s%s", B, ld, barrier, A, st),
                                           1,
                                           64,
                                           0};
        }
        const char *read = text(A "ld.global.%s %s, [%%rd3];", t,
                                width[k].bytes > 4    ? r
                                : width[k].bytes == 2 ? r
                                                      : "%r6");
        tests[count++] = (struct test){
            "initcheck",
            text("read_%s", width[k].name),
            text("Uninitialized __global__ memory read of size %u bytes .* in hazards.cu:77", width[k].bytes),
            read,
            read,
            1,
            32,
            RIGHT_FILLED};
    }
    for (unsigned k = 0; k < sizeof collective / sizeof *collective; k++) {
        const char *wrong = text(collective[k].ptx, "0x0fffffff"), *right = text(collective[k].ptx, "0xffffffff");
        tests[count++] = (struct test){"synccheck",
                                       text("mask_of_%s", collective[k].name),
                                       ARGUMENTS,
                                       text(A "%s", wrong),
                                       text(A "%s", right),
                                       1,
                                       32,
                                       0};
    }
}

static const char *module_of(const struct test *t, const char *body)
{
    return text(".version %s\n.target %s\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n"
                ".visible .entry %s(.param .u64 p) %s\n{\n"
                ".reg .b32 %%r<16>; .reg .u64 %%rd<8>; .reg .u16 %%h<2>; .reg .pred %%p<4>;\n"
                ".shared .align 16 .b8 s[2048];\n.shared .align 8 .b8 m[16];\n"
                "ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x;\n"
                "mov.u32 %%r8, s; mov.u32 %%r9, m; mad.lo.u32 %%r3, %%r1, 16, %%r8;\n"
                "xor.b32 %%r6, %%r1, 1; mad.lo.u32 %%r4, %%r6, 16, %%r8;\n"
                "xor.b32 %%r6, %%r1, 32; mad.lo.u32 %%r5, %%r6, 16, %%r8;\n"
                "mul.wide.u32 %%rd3, %%r1, 16; add.u64 %%rd3, %%rd3, %%rd1;\n"
                "mov.u32 %%r6, %%ntid.x; mad.lo.u32 %%r6, %%r6, %%r2, %%r1;\n"
                "mul.wide.u32 %%rd4, %%r6, 16; add.u64 %%rd4, %%rd4, %%rd1;\n"
                "mov.u16 %%h1, 5; setp.eq.u32 %%p3, %%r1, 1000; setp.eq.u32 %%p1, %%r1, 0;\n"
                "%s\nEND:\nret;\n}\n.file 1 \"hazards.cu\"\n",
                t->flags & SM_100A ? "8.6" : "8.0",
                t->flags & SM_100A               ? "sm_100a"
                : t->flags & SM_90A              ? "sm_90a"
                : t->flags & (SM_90 | CLUSTERED) ? "sm_90"
                                                 : "sm_80",
                t->name, t->flags & CLUSTERED ? ".reqnctapercluster 2" : "", body);
}

static uint64_t allocate(const struct test *t, size_t bytes)
{
    uint64_t p;
    need(t->flags & ASYNC ? cuMemAllocAsync(&p, bytes, NULL) : cuMemAlloc_v2(&p, bytes), "allocation");
    return p;
}

static void release(const struct test *t, uint64_t p)
{
    need(t->flags & ASYNC ? cuMemFreeAsync(p, NULL) : cuMemFree_v2(p), "free");
}

static void put_tensor_map(uint64_t p)
{
    static _Alignas(64) char map[128];
    const uint64_t size[] = {16, 16}, stride[] = {64};
    const unsigned box[] = {16, 1}, step[] = {1, 1};
    need(cuTensorMapEncodeTiled((void *)map, 2, 2, (void *)(uintptr_t)(p + 1024), size, stride, box, step, 0, 0, 0, 0),
         "cuTensorMapEncodeTiled"); /* of 32 bits, unsigned */
    need(cuMemcpyHtoD_v2(p, map, sizeof map), "cuMemcpyHtoD");
}

static void run(const struct test *t, int wrong)
{
    void *module, *f;
    const size_t bytes = t->flags & SHORTER ? FEWER : BYTES;
    uint64_t p = allocate(t, BYTES);
    const char *ptx = module_of(t, wrong ? t->wrong : t->right);
    need(cuModuleLoadData(&module, ptx), t->name);
    need(cuModuleGetFunction(&f, module, t->name), t->name);
    if (t->flags & AGAIN) {
        need(cuMemsetD8_v2(p, 0, BYTES), "fill");
        release(t, p);
        p = allocate(t, bytes);
    }
    if (strcmp(t->tool, "initcheck") || (!wrong && t->flags & RIGHT_FILLED))
        need(cuMemsetD8_v2(p, 0, bytes), "fill");
    else if (t->flags & HALF)
        need(cuMemsetD8_v2(p, 0, BYTES / 2 - 1), "fill");
    if (t->flags & COPIED) {
        uint64_t q = allocate(t, BYTES);
        need(cuMemcpyDtoD_v2(q, p, BYTES), "copy");
        release(t, p);
        p = q;
    }
    if (t->flags & TENSOR)
        put_tensor_map(p);
    void *args[] = {&p};
    if (t->flags & COOPERATIVE) {
        const unsigned blocks = wrong ? 100000 : t->blocks;
        const int r = cuLaunchCooperativeKernel(f, blocks, 1, 1, t->threads, 1, 1, 0, NULL, args);
        need((r != 0) != wrong, t->name);
    } else {
        need(cuLaunchKernel(f, t->blocks, 1, 1, t->threads, 1, 1, 2048, NULL, args, NULL), t->name);
        if (t->flags & TWICE) {
            need(cuMemsetD8_v2(p, 1, bytes), "fill");
            need(cuLaunchKernel(f, t->blocks, 1, 1, t->threads, 1, 1, 2048, NULL, args, NULL), t->name);
        }
    }
    need(cuCtxSynchronize(), t->name);
    release(t, p);
    need(cuModuleUnload(module), t->name);
}

int main(int argc, char **argv)
{
    make_variants();
    if (argc < 2)
        return 2;
    const char *tool = argc > 2 ? argv[2] : "";
    if (!strcmp(argv[1], "list")) {
        for (unsigned k = 0; k < count; k++)
            if (!strcmp(tests[k].tool, tool))
                printf("%s\t%s\n", tests[k].name, tests[k].report);
        return 0;
    }
    open_device();
    for (unsigned k = 0; k < count; k++)
        if (!strcmp(argv[1], "right") && (*tool ? !strcmp(tests[k].tool, tool) : !(tests[k].flags & SM_100A)))
            run(&tests[k], 0);
        else if (!strcmp(strcmp(argv[1], "one") ? tests[k].tool : tests[k].name, tool))
            run(&tests[k], 1);
    puts("done");
    return 0;
}
