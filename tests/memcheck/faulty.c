/* Kernels with one wrong access each, and the same with a right one, for `cumu memcheck`.
 * usage: faulty list         name, tab, what is reported, a line each
 *        faulty right        all kernels with the right argument: prints "done"
 *        faulty wrong NAME   one of them with the wrong argument: prints CUDA's status
 *        faulty neighbour    the one that reads, 1024 bytes on, where cumu puts what is allocated next: prints the same
 *        faulty after        a right one that is launched first when a wrong one has failed: prints its status */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/driver.h"

enum { BYTES = 400, LINE = 77 };

/* What the kernel gets as p. */
enum memory {
    DEVICE,
    NEIGHBOUR,
    FREED,
    FREED_ASYNC,
    PINNED,
    FREED_PINNED,
    MANAGED,
    MALLOC,
    STACK,
    NOTHING,
    PEER,
    PEER_ENABLED,
    READ_ONLY,
    SURFACE,
    SURFACE_DESTROYED,
    SURFACE_FREED,
    TEXTURE,
    TEXTURE_DESTROYED,
    TEXTURE_FREED,
    TENSOR,
    TENSOR_TOO_LARGE,
    TENSOR_FREED
};

struct test {
    const char *name, *body; /* %rd1 = p + n, %rd2 = p, %r1 = n, %r2 = thread */
    const char *report;
    long wrong, right; /* n */
    enum memory memory, twin;
    unsigned threads;
};

#define LOC ".loc 1 77 3\n"
#define OUT "is out of bounds"
#define AFTER(n) "and is " #n " bytes after the nearest allocation at 0x[0-9a-f]+ of size 400 bytes"
#define SHARED ".shared .align 16 .b8 s[128];\ncvt.u64.u32 %rd3, %r1; mov.u64 %rd4, s; add.u64 %rd3, %rd3, %rd4;\n"
#define LOCAL ".local .align 16 .b8 a[64];\nmov.u64 %rd4, a; cvt.s64.s32 %rd3, %r1; add.u64 %rd3, %rd3, %rd4;\n"
#define HEAP \
    "{\n.param .b64 a; .param .b64 r;\nst.param.b64 [a], 40;\ncall (r), malloc, (a);\nld.param.b64 %rd4, [r];\n}\n" \
    "cvt.s64.s32 %rd3, %r1; add.u64 %rd3, %rd3, %rd4;\n"
#define FREE "{\n.param .b64 a;\nst.param.b64 [a], %rd4;\ncall free, (a);\n}\n"
#define GLOBAL "Invalid __global__ "

/* One block of two looks into the other's shared memory. */
#define CLUSTER_OF(rank) \
    ".shared .align 16 .b8 s[128];\nmov.u32 %r4, s; mapa.shared::cluster.u32 %r5, %r4, " rank ";\n" \
    "mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p1, %r6, 0;\n" \
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define CLUSTER CLUSTER_OF("1")
#define CLUSTER_END "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
#define BULK \
    ".shared .align 16 .b8 s[128];\n.shared .align 8 .b8 m[16];\nmov.u32 %r4, s; mov.u32 %r5, m;\n" \
    "mbarrier.init.shared.b64 [%r5], 1;\n"
#define BULK_WAIT \
    "mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r5], 64;\nAGAIN:\n" \
    "mbarrier.test_wait.shared.b64 %p1, [%r5], %rd5;\n@!%p1 bra AGAIN;"

/* Between rows of 64 bytes of the tensor that the map at p describes, and shared memory. */
#define TENSOR_TO_SHARED(n, more) \
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes" more " [%r4], [%rd2, {0, " n \
    "}], [%r5]"
#define TENSOR_TO_GLOBAL(op, n) \
    op ".bulk.tensor.2d.global.shared::cta" n ".bulk_group [%rd2, {0, %r1}], [%r4];\n" \
       "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"

static const struct test tests[] = {
    {"store", LOC "st.global.u32 [%rd1], 1;", GLOBAL "write of size 4", 400, 396, DEVICE, DEVICE, 1},
    {"store_far", LOC "st.global.u32 [%rd1], 1;", AFTER(3601), 4000, 0, DEVICE, DEVICE, 1},
    {"store_byte", LOC "st.global.u8 [%rd1], 1;", AFTER(1), 400, 399, DEVICE, DEVICE, 1},
    {"store_before", LOC "st.global.u16 [%rd1], 1;", "and is 2 bytes before the nearest", -2, 0, DEVICE, DEVICE, 1},
    {"load", LOC "ld.global.u32 %r3, [%rd1];", GLOBAL "read of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"load_across_end", LOC "ld.global.v2.u32 {%r3, %r4}, [%rd1+-8];", "read of size 8", 408, 400, DEVICE, DEVICE, 1},
    {"load_wide", LOC "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1];", "read of size 16", 400, 384, DEVICE, DEVICE, 1},
    {"load_nc", LOC "ld.global.nc.f64 %fd1, [%rd1];", "read of size 8", 400, 392, DEVICE, DEVICE, 1},
    {"load_generic", LOC "ld.u32 %r3, [%rd1];", GLOBAL "read of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"load_volatile", LOC "ld.volatile.global.u32 %r3, [%rd1];", "read of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"load_acquire", LOC "ld.acquire.gpu.global.u32 %r3, [%rd1];", "read of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"misaligned", LOC "st.global.u64 [%rd1], %rd2;", "is misaligned", 4, 8, DEVICE, DEVICE, 1},
    {"misaligned_at_the_end", LOC "st.global.u32 [%rd1], 1;", "is misaligned", 398, 396, DEVICE, DEVICE, 1},
    {"misaligned_vector", LOC "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1];", "is misaligned", 8, 16, DEVICE, DEVICE,
     1},
    {"atomic", LOC "atom.global.add.u32 %r3, [%rd1], 1;", GLOBAL "atomic of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"reduction", LOC "red.global.add.f32 [%rd1], %f1;", "atomic of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"compare_and_swap", LOC "atom.global.cas.b64 %rd5, [%rd1], %rd2, %rd2;", "atomic of size 8", 400, 0, DEVICE,
     DEVICE, 1},
    {"guarded", "setp.ne.u32 %p1, %r2, 99;\n" LOC "@%p1 st.global.u32 [%rd1], 1;", "write of size 4", 400, 0, DEVICE,
     DEVICE, 3},
    /* A thread that others wait for: they end, too. */
    {"awaited_flag",
     ".shared .align 4 .b32 flag;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 st.shared.u32 [flag], 0;\nbar.sync 0;\n"
     "@!%p1 bra WAIT;\n" LOC "st.global.u32 [%rd1], 1;\nst.volatile.shared.u32 [flag], 1;\nWAIT:\n"
     "ld.volatile.shared.u32 %r4, [flag];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra WAIT;",
     GLOBAL "write of size 4", 400, 0, DEVICE, DEVICE, 64},
    {"awaited_arrival",
     ".shared .align 8 .b64 m;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 mbarrier.init.shared.b64 [m], 64;\nbar.sync 0;\n"
     "@!%p1 bra COME;\n" LOC "st.global.u32 [%rd1], 1;\nCOME:\nmbarrier.arrive.shared.b64 %rd5, [m];\nAGAIN:\n"
     "mbarrier.test_wait.shared.b64 %p1, [m], %rd5;\n@!%p1 bra AGAIN;",
     GLOBAL "write of size 4", 400, 0, DEVICE, DEVICE, 64},
    {"copy_to_shared",
     ".shared .align 16 .b8 s[128];\nmov.u32 %r3, s;\n" LOC
     "cp.async.ca.shared.global [%r3], [%rd1], 16;\ncp.async.wait_all;",
     GLOBAL "read of size 16", 400, 384, DEVICE, DEVICE, 1},
    {"bulk_from_misaligned",
     BULK LOC "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 64, "
              "[%r5];\n" BULK_WAIT,
     "is misaligned", 8, 16, DEVICE, DEVICE, 1},
    {"matrix",
     LOC "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}, "
         "[%rd1], 8;",
     GLOBAL "read of size 16", 160, 0, DEVICE, DEVICE, 32},
    {"matrix_misaligned", LOC "wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%r10,%r11,%r12,%r13}, [%rd1], 8;",
     GLOBAL "read of size 16", 8, 16, DEVICE, DEVICE, 32},
    {"matrix_of_odd_rows",
     LOC "wmma.store.d.sync.aligned.row.m8n32k16.global.s32 [%rd2], {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}, %r1;",
     "is misaligned", 6, 8, DEVICE, DEVICE, 32},
    {"null", LOC "st.global.u32 [%rd1], 1;", "Address 0x8 is out of bounds", 8, 8, NOTHING, DEVICE, 1},
    {"malloced", LOC "st.global.u32 [%rd1], 1;", "is the program's own memory", 0, 0, MALLOC, DEVICE, 1},
    {"on_the_stack", LOC "ld.global.u32 %r3, [%rd1];", "is the program's own memory", 0, 0, STACK, DEVICE, 1},
    {"pinned", LOC "st.global.u32 [%rd1], 1;", AFTER(1), 400, 396, PINNED, PINNED, 1},
    {"managed", LOC "st.global.u32 [%rd1], 1;", AFTER(1), 400, 396, MANAGED, MANAGED, 1},
    {"freed", LOC "ld.global.u32 %r3, [%rd1];", "8 bytes inside an allocation .* that was freed", 8, 8, FREED, DEVICE,
     1},
    {"freed_async", LOC "ld.global.u32 %r3, [%rd1];", "inside an allocation .* that was freed", 8, 8, FREED_ASYNC,
     DEVICE, 1},
    {"freed_pinned", LOC "ld.global.u32 %r3, [%rd1];", "inside an allocation .* that was freed", 8, 8, FREED_PINNED,
     DEVICE, 1},
    {"shared_shifted", /* s[thread - 4] begins below s, where nobody reads it */
     ".shared .align 16 .b8 s[128];\nmov.u32 %r4, s; mad.lo.u32 %r5, %r2, 4, %r4; add.u32 %r5, %r5, %r1;\n"
     "setp.ge.u32 %p1, %r2, 4;\n" LOC "@%p1 ld.shared.u32 %r3, [%r5];",
     "Invalid __shared__ read of size 4", 16, -16, DEVICE, DEVICE, 32},
    {"ticket", "mov.u64 %rd3, var; atom.global.add.u32 %r3, [%rd3], 1;\n" LOC "st.global.u32 [%rd1], %r3;",
     GLOBAL "write of size 4", 400, 0, DEVICE, DEVICE, 1},
    {"peer", LOC "st.global.u32 [%rd1], 1;", "or on a device without peer access", 8, 8, PEER, PEER_ENABLED, 1},
    {"read_only", LOC "st.global.u32 [%rd1], 1;", "or mapped without the right", 8, 8, READ_ONLY, DEVICE, 1},
    {"shared", SHARED LOC "st.shared.u32 [%rd3], 1;", "Invalid __shared__ write of size 4", 128, 124, DEVICE, DEVICE,
     1},
    {"shared_misaligned", SHARED LOC "ld.shared.u32 %r3, [%rd3];", "Address 0x2 is misaligned", 2, 4, DEVICE, DEVICE,
     1},
    {"shared_atomic", SHARED LOC "atom.shared.add.u32 %r3, [%rd3], 1;", "Invalid __shared__ atomic of size 4", 128, 0,
     DEVICE, DEVICE, 1},
    {"shared_generic", SHARED "cvta.shared.u64 %rd3, %rd3;\n" LOC "ld.u32 %r3, [%rd3];", "Invalid __shared__ read", 128,
     0, DEVICE, DEVICE, 1},
    {"shared_wide", /* of 68 bytes; four words at the end of them are what LLVM makes of one to three */
     ".shared .align 16 .b8 s[68];\nmov.u64 %rd4, s; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, %rd4;\n" LOC
     "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];",
     "Invalid __shared__ read of size 16", 80, 64, DEVICE, DEVICE, 1},
    {"shared_dynamic",
     "mov.u64 %rd4, dyn; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, %rd4;\n" LOC "st.shared.u32 [%rd3], 1;",
     "Invalid __shared__ write", 64, 60, DEVICE, DEVICE, 1},
    {"shared_matrix", SHARED "cvt.u32.u64 %r9, %rd3;\n" LOC "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r9];",
     "Invalid __shared__ read of size 16", 128, 112, DEVICE, DEVICE, 32},
    {"local", LOCAL LOC "st.local.u32 [%rd3], 1;", "Invalid __local__ write of size 4", 65536, 12, DEVICE, DEVICE, 1},
    {"local_before", LOCAL LOC "ld.local.u32 %r3, [%rd3];", "Invalid __local__ read of size 4", -4096, 12, DEVICE,
     DEVICE, 1},
    {"local_generic", LOCAL "cvta.local.u64 %rd3, %rd4; st.u32 [%rd3], 1;\n" LOC "st.global.u32 [%rd1], 1;",
     "write of size 4", 400, 0, DEVICE, DEVICE, 32},
    {"variable",
     "mov.u64 %rd3, var; cvt.s64.s32 %rd4, %r1; add.u64 %rd3, %rd3, %rd4;\n" LOC "ld.global.u32 %r3, [%rd3];",
     GLOBAL "read of size 4", 40, 36, DEVICE, DEVICE, 1},
    {"constant",
     "mov.u64 %rd3, cst; cvt.s64.s32 %rd4, %r1; add.u64 %rd3, %rd3, %rd4;\n" LOC "ld.const.u32 %r3, [%rd3];",
     "read of size 4", 40, 36, DEVICE, DEVICE, 1},
    {"constant_store", /* by a generic pointer, which nothing but the address tells */
     "mov.u64 %rd3, cst; cvta.const.u64 %rd3, %rd3; setp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u64 %rd3, %rd2;\n" LOC
     "st.u32 [%rd3], 1;",
     GLOBAL "write of size 4", 4, 0, DEVICE, DEVICE, 1},
    {"constant_atomic",
     "mov.u64 %rd3, cst; cvta.const.u64 %rd3, %rd3; ld.u32 %r3, [%rd3]; setp.eq.u32 %p1, %r1, 0;\n"
     "@%p1 mov.u64 %rd3, %rd2;\n" LOC "atom.add.u32 %r3, [%rd3], 1;",
     "is constant: kernels may only read it", 4, 0, DEVICE, DEVICE, 1},
    {"some_threads", "mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd3, %rd1;\n" LOC "st.global.u32 [%rd3], 1;",
     "^========= 7 more errors of other threads", 304, 272, DEVICE, DEVICE, 32},
    {"others_go_on",
     "mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd3, %rd1;\n" LOC
     "st.global.u32 [%rd3], 1;\nbar.sync 0;\nbar.warp.sync 0xffffffff;\nshfl.sync.idx.b32 %r3, %r2, 0, 31, 0xffffffff;",
     "^========= 7 more errors of other threads", 176, 144, DEVICE, DEVICE, 64},
    {"heap", HEAP LOC "st.u8 [%rd3], 1;\n" FREE, "and is 1 bytes after the nearest allocation .* of size 40", 40, 39,
     DEVICE, DEVICE, 1},
    {"heap_freed", HEAP "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra keep;\n" FREE LOC "ld.u32 %r3, [%rd4];\nret;\nkeep:\n" FREE,
     "is 0 bytes inside an allocation .* of size 40 bytes that was freed", 1, 0, DEVICE, DEVICE, 1},
    {"heap_double_free", HEAP FREE "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra keep;\n" LOC FREE "keep:\n",
     "^========= Malloc/Free Error encountered", 1, 0, DEVICE, DEVICE, 1},
    {"heap_foreign_free", "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra keep;\nmov.u64 %rd4, %rd2;\n" LOC FREE "keep:\n",
     "^========= Malloc/Free Error encountered", 4, 0, DEVICE, DEVICE, 1},
    {"stack", LOC "call deep, (%r1);", "^========= Kernel ended: stack overflow", 100000, 3, DEVICE, DEVICE, 1},
    {"surface", LOC "sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r2};", "Invalid __surface__ write of size 4 bytes", 64,
     60, SURFACE, SURFACE, 4},
    {"surface_before", LOC "suld.b.2d.v2.b32.trap {%r3, %r4}, [%rd2, {%r1, %r2}];",
     "Coordinates \\(-8,0,0\\) are out of bounds", -8, 56, SURFACE, SURFACE, 1},
    {"surface_row", LOC "sust.p.2d.b32.trap [%rd2, {%r2, %r1}], {%r2};", "of a surface of 16 elements by 4 by 1", 4, 3,
     SURFACE, SURFACE, 1},
    {"surface_reduction", LOC "sured.b.add.2d.u32.trap [%rd2, {%r1, %r2}], %r2;",
     "Invalid __surface__ atomic of size 4 bytes", 64, 60, SURFACE, SURFACE, 1},
    {"surface_misaligned", LOC "suld.b.2d.b32.trap %r3, [%rd2, {%r1, %r2}];", "Coordinates \\(2,0,0\\) are misaligned",
     2, 4, SURFACE, SURFACE, 1},
    {"surface_that_clamps",
     "setp.eq.u32 %p1, %r1, 64;\n" LOC "@%p1 sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r2};\n"
     "@!%p1 sust.b.2d.b32.clamp [%rd2, {%r1, %r2}], {%r2};\n@!%p1 sust.b.2d.b32.zero [%rd2, {%r1, %r2}], {%r2};",
     "Invalid __surface__ write", 64, 68, SURFACE, SURFACE, 1},
    {"surface_destroyed", LOC "sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r2};", "is no object of this kind", 0, 0,
     SURFACE_DESTROYED, SURFACE, 1},
    {"surface_is_a_texture", LOC "suld.b.2d.b32.trap %r3, [%rd2, {%r1, %r2}];", "is no object of this kind", 0, 0,
     TEXTURE, SURFACE, 1},
    {"texture_freed", LOC "tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd2, {%r1}];",
     "inside an allocation .* that was freed", 3, 300, TEXTURE_FREED, TEXTURE, 4},
    {"misaligned_atomic", LOC "atom.global.add.u32 %r3, [%rd1], 1;", "is misaligned", 2, 4, DEVICE, DEVICE, 1},
    {"misaligned_half", LOC "st.global.u16 [%rd1], 1;", "is misaligned", 1, 2, DEVICE, DEVICE, 1},
    {"misaligned_local", LOCAL LOC "st.local.u32 [%rd3], 1;", "Invalid __local__ write of size 4", 2, 4, DEVICE, DEVICE,
     1},
    {"misaligned_shared_vector", SHARED LOC "ld.shared.v2.u32 {%r3, %r4}, [%rd3];", "is misaligned", 4, 8, DEVICE,
     DEVICE, 1},
    {"misaligned_copy_to_shared",
     ".shared .align 16 .b8 s[128];\nmov.u32 %r3, s;\n" LOC
     "cp.async.ca.shared.global [%r3], [%rd1], 16;\ncp.async.wait_all;",
     "Address 0x[0-9a-f]+ is misaligned", 8, 16, DEVICE, DEVICE, 1},
    {"copy_beyond_shared",
     ".shared .align 16 .b8 s[128];\nmov.u32 %r3, s; add.u32 %r3, %r3, %r1;\n" LOC
     "cp.async.ca.shared.global [%r3], [%rd2], 16;\ncp.async.wait_all;",
     "Invalid __shared__ write of size 16", 128, 112, DEVICE, DEVICE, 1},
    {"parameter", "mov.b64 %rd3, n; cvt.s64.s32 %rd4, %r1; add.u64 %rd3, %rd3, %rd4;\n" LOC "ld.param.u32 %r3, [%rd3];",
     "Invalid __global__ read of size 4", 4096, 0, DEVICE, DEVICE, 1},
    {"texture_destroyed", LOC "tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd2, {%r1}];", "is no object of this kind", 3,
     3, TEXTURE_DESTROYED, TEXTURE, 4},
    {"surface_array_freed", LOC "sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r2};",
     "0 bytes inside an allocation .* that was freed", 0, 0, SURFACE_FREED, SURFACE, 1},
    {"trap", "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra KEEP;\n" LOC "trap;\nKEEP:", "^========= Kernel ended: trap", 1, 0,
     DEVICE, DEVICE, 1},
    {"indirect_call",
     ".loc 1 78 3\nmov.u64 %rd3, device; cvt.s64.s32 %rd4, %r1; add.u64 %rd3, %rd3, %rd4;\nproto: .callprototype _ (.param .u64 a);\n" LOC
     "{\n.param .b64 x; st.param.b64 [x], %rd2;\ncall %rd3, (x), proto;\n}",
     "Kernel ended: call of no function", 4096, 0, DEVICE, DEVICE, 1},
    {"cluster_shared", CLUSTER "add.u32 %r5, %r5, %r1;\n" LOC "@%p1 ld.shared::cluster.u32 %r3, [%r5];\n" CLUSTER_END,
     "Invalid __shared__ read of size 4", 128, 124, DEVICE, DEVICE, 1},
    {"cluster_shared_generic",
     CLUSTER
     "cvt.u64.u32 %rd3, %r5; cvta.shared::cluster.u64 %rd3, %rd3; cvt.s64.s32 %rd4, %r1; add.u64 %rd3, %rd3, %rd4;\n" LOC
     "@%p1 st.u32 [%rd3], 1;\n" CLUSTER_END,
     "Invalid __shared__ write of size 4", 128, 124, DEVICE, DEVICE, 1},
    {"cluster_atomic",
     CLUSTER "add.u32 %r5, %r5, %r1;\n" LOC "@%p1 atom.shared::cluster.add.u32 %r3, [%r5], 1;\n" CLUSTER_END,
     "Invalid __shared__ atomic of size 4", 128, 124, DEVICE, DEVICE, 1},
    {"cluster_rank", CLUSTER_OF("%r1") LOC "@%p1 ld.shared::cluster.u32 %r3, [%r5];\n" CLUSTER_END,
     "Invalid __shared__ read of size 4", 5, 1, DEVICE, DEVICE, 1},
    {"bulk_from_global",
     BULK LOC "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 64, [%r5];\n" BULK_WAIT,
     GLOBAL "read of size 64", 352, 336, DEVICE, DEVICE, 1},
    {"bulk_to_shared",
     BULK "add.u32 %r4, %r4, %r1;\n" LOC
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd2], 64, [%r5];\n" BULK_WAIT,
     "Invalid __shared__ write of size 64", 96, 48, DEVICE, DEVICE, 1},
    {"bulk_multicast",
     BULK
     "mov.u16 %h1, 1;\n" LOC
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r4], [%rd1], 64, [%r5], %h1;\n" BULK_WAIT,
     GLOBAL "read of size 64", 352, 336, DEVICE, DEVICE, 1},
    {"bulk_multicast_to_shared",
     BULK
     "mov.u16 %h1, 1; add.u32 %r4, %r4, %r1;\n" LOC
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r4], [%rd2], 64, [%r5], %h1;\n" BULK_WAIT,
     "Invalid __shared__ write of size 64", 96, 48, DEVICE, DEVICE, 1},
    {"bulk_to_global",
     BULK LOC
     "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r4], 64;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
     GLOBAL "write of size 64", 352, 336, DEVICE, DEVICE, 1},
    {"bulk_from_shared",
     BULK
     "add.u32 %r4, %r4, %r1;\n" LOC
     "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r4], 64;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
     "Invalid __shared__ read of size 64", 96, 48, DEVICE, DEVICE, 1},
    {"bulk_reduction",
     BULK LOC
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r4], 64;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
     GLOBAL "atomic of size 64", 352, 336, DEVICE, DEVICE, 1},
    {"tensor_from_global", BULK LOC TENSOR_TO_SHARED("%r1", "") ";\n" BULK_WAIT, GLOBAL "read of size 64", 6, 3,
     TENSOR_TOO_LARGE, TENSOR, 1},
    {"tensor_multicast",
     BULK "mov.u16 %h1, 1;\n" LOC TENSOR_TO_SHARED("%r1", ".multicast::cluster") ", %h1;\n" BULK_WAIT,
     GLOBAL "read of size 64", 7, 3, TENSOR_TOO_LARGE, TENSOR, 1},
    {"tensor_to_global", BULK LOC TENSOR_TO_GLOBAL("cp.async", ""), GLOBAL "write of size 64", 6, 3, TENSOR_TOO_LARGE,
     TENSOR, 1},
    {"tensor_reduction", BULK LOC TENSOR_TO_GLOBAL("cp.reduce.async", ".add"), GLOBAL "atomic of size 64", 7, 3,
     TENSOR_TOO_LARGE, TENSOR, 1},
    {"tensor_to_shared", BULK "add.u32 %r4, %r4, %r1;\n" LOC TENSOR_TO_SHARED("0", "") ";\n" BULK_WAIT,
     "Invalid __shared__ write of size 64", 128, 0, TENSOR, TENSOR, 1},
    {"tensor_multicast_to_shared",
     BULK
     "mov.u16 %h1, 1; add.u32 %r4, %r4, %r1;\n" LOC TENSOR_TO_SHARED("0", ".multicast::cluster") ", %h1;\n" BULK_WAIT,
     "Invalid __shared__ write of size 64", 128, 0, TENSOR, TENSOR, 1},
    {"tensor_from_shared", BULK "add.u32 %r4, %r4, %r1; mov.u32 %r1, 0;\n" LOC TENSOR_TO_GLOBAL("cp.async", ""),
     "Invalid __shared__ read of size 64", 128, 0, TENSOR, TENSOR, 1},
    {"tensor_map_freed", BULK LOC TENSOR_TO_SHARED("%r1", "") ";\n" BULK_WAIT, "inside an allocation .* that was freed",
     0, 3, TENSOR_FREED, TENSOR, 1},
    {"bulk_of_odd_size",
     BULK "add.u32 %r6, %r1, 16;\n" LOC
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd2], %r6, [%r5];",
     "the size is no multiple of 16 bytes", 4, 32, DEVICE, DEVICE, 1},
    {"tensor_misaligned", BULK "add.u32 %r4, %r4, %r1;\n" LOC TENSOR_TO_SHARED("0", "") ";\n" BULK_WAIT,
     "Invalid __shared__ write of size 64", 32, 0, TENSOR, TENSOR, 1},
    {"tensormap_replace", LOC "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;", GLOBAL "write of size 128",
     512, 0, TENSOR, TENSOR, 1},
    {"misaligned_of_eight", LOC "ld.global.v8.f32 {%f1, %f2, %f3, %f1, %f2, %f3, %f1, %f2}, [%rd1];",
     GLOBAL "read of size 32", 16, 32, DEVICE, DEVICE, 1},
    {"misaligned_store_of_eight", LOC "st.global.v4.b64 [%rd1], {%rd2, %rd2, %rd2, %rd2};", GLOBAL "write of size 32",
     16, 32, DEVICE, DEVICE, 1},
    {"misaligned_reduction", LOC "red.global.v2.f32.add [%rd1], {%f1, %f1};", GLOBAL "atomic of size 8", 4, 8, DEVICE,
     DEVICE, 1},
    {"mbarrier", BULK "add.u32 %r5, %r5, %r1;\n" LOC "mbarrier.init.shared.b64 [%r5], 1;",
     "Invalid __shared__ write of size 8", 144, 8, DEVICE, DEVICE, 1},
    {"called", ".loc 1 78 3\ncall device, (%rd1);", "Device Frame: called in faulty.cu:78", 400, 0, DEVICE, DEVICE, 1},
    {"inlined", ".loc 2 5 1, function_name info, inlined_at 1 77 9\nst.global.u32 [%rd1], 1;",
     "inlined at faulty.cu:77", 400, 0, DEVICE, DEVICE, 1},
};
enum { TESTS = sizeof tests / sizeof *tests };

static int is_cluster(const struct test *t) { return !strncmp(t->name, "cluster", 7); }
static int is_new(const struct test *t)
{
    return is_cluster(t) || strstr(t->body, "mbarrier") || strstr(t->body, "tensormap");
}

static char *text_of(const struct test *t)
{
    char *s = NULL;
    if (asprintf(
            &s,
            ".version 8.0\n.target %s\n.address_size 64\n"
            ".visible .global .align 4 .b8 var[40];\n.const .align 4 .b8 cst[40];\n"
            ".extern .shared .align 16 .b8 dyn[];\n"
            ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
            ".func deep(.param .u32 a)\n{\n.reg .u32 %%r<3>; .reg .pred %%p<2>; .reg .u64 %%rd<2>;\n"
            ".local .align 16 .b8 room[4096];\nld.param.u32 %%r1, [a]; setp.eq.u32 %%p1, %%r1, 0;\n@%%p1 ret;\n"
            "mov.u64 %%rd1, room; st.local.u32 [%%rd1], %%r1; sub.u32 %%r2, %%r1, 1;\n" LOC
            "call deep, (%%r2);\nret;\n}\n"
            ".func device(.param .u64 a)\n{\n.reg .u64 %%rd<2>;\nld.param.u64 %%rd1, [a];\n" LOC
            "st.global.u32 [%%rd1], 1;\nret;\n}\n"
            ".visible .entry %s(.param .u64 p, .param .u32 n) %s\n{\n"
            ".reg .b32 %%r<32>; .reg .u64 %%rd<8>; .reg .f32 %%f<4>; .reg .f64 %%fd<2>; .reg .pred %%p<2>; .reg .u16 %%h<2>;\n"
            "ld.param.u64 %%rd2, [p]; ld.param.u32 %%r1, [n]; mov.u32 %%r2, %%tid.x;\n"
            "cvt.s64.s32 %%rd1, %%r1; add.u64 %%rd1, %%rd1, %%rd2; mov.f32 %%f1, 0f00000000;\n%s\nret;\n}\n"
            ".file 1 \"faulty.cu\"\n.file 2 \"folder in/a place/faulty.h\"\n",
            is_new(t) ? "sm_90" : "sm_80", t->name, is_cluster(t) ? ".reqnctapercluster 2" : "", t->body) < 0)
        exit(3);
    return s;
}

/* The other device's memory, to which the current context gets access, or loses it. */
static uint64_t of_peer(int enabled)
{
    void *own, *peer;
    int device;
    uint64_t p = 0;
    need(cuDeviceGet(&device, 1), "cuDeviceGet");
    need(cuCtxGetCurrent(&own), "cuCtxGetCurrent");
    need(cuDevicePrimaryCtxRetain(&peer, device), "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(peer), "cuCtxSetCurrent");
    need(cuMemAlloc_v2(&p, BYTES), "cuMemAlloc");
    need(cuCtxSetCurrent(own), "cuCtxSetCurrent");
    need(enabled ? cuCtxEnablePeerAccess(peer, 0) : cuCtxDisablePeerAccess(peer), "cuCtxEnablePeerAccess");
    return p;
}

/* A mapping that may be read only. */
static uint64_t read_only(void)
{
    struct {
        int type, handles, place, device;
        void *unused;
        uint64_t flags[2];
    } wanted = {.type = 1, .place = 1}; /* CUmemAllocationProp: pinned, on device 0 */
    struct {
        int place, device, flags;
    } access = {1, 0, 1}; /* CUmemAccessDesc: on device 0, read */
    uint64_t handle, p = 0;
    const size_t size = 2 << 20;
    need(cuMemCreate(&handle, size, (void *)&wanted, 0), "cuMemCreate");
    need(cuMemAddressReserve(&p, size, 0, 0, 0), "cuMemAddressReserve");
    need(cuMemMap(p, size, 0, handle, 0), "cuMemMap");
    need(cuMemSetAccess(p, size, (void *)&access, 1), "cuMemSetAccess");
    return p;
}

/* A surface of 4 rows of 16 words. */
struct of_array { /* CUDA_RESOURCE_DESC */
    uint64_t type, array, rest[20];
};
static uint64_t surface(int freed)
{
    struct {
        size_t width, height, depth;
        int format;
        unsigned channels, flags;
    } shape = {16, 4, 0, 3, 1, 2}; /* CUDA_ARRAY3D_DESCRIPTOR: unsigned, of 32 bits; surfaces */
    struct of_array what = {.type = 0};
    void *array;
    uint64_t s = 0;
    need(cuArray3DCreate_v2(&array, (void *)&shape), "cuArray3DCreate");
    what.array = (uint64_t)(uintptr_t)array;
    need(cuSurfObjectCreate(&s, (void *)&what), "cuSurfObjectCreate");
    if (freed)
        need(cuArrayDestroy(array), "cuArrayDestroy");
    return s;
}

static int destroy_surface(uint64_t s)
{
    struct of_array what;
    need(cuSurfObjectGetResourceDesc((void *)&what, s), "cuSurfObjectGetResourceDesc");
    need(cuSurfObjectDestroy(s), "cuSurfObjectDestroy");
    return cuArrayDestroy((void *)(uintptr_t)what.array);
}

/* A texture of 100 words of linear memory. */
struct linear { /* CUDA_RESOURCE_DESC */
    uint64_t type, p;
    unsigned format, channels;
    uint64_t size, rest[20];
};
static uint64_t texture(int freed)
{
    struct linear what = {.type = 2, .format = 3, .channels = 1, .size = BYTES};
    unsigned reads[64] = {0, 0, 0, 0, 1}; /* CUDA_TEXTURE_DESC: as integers */
    uint64_t t = 0;
    need(cuMemAlloc_v2(&what.p, BYTES), "cuMemAlloc");
    need(cuTexObjectCreate(&t, (void *)&what, (void *)reads, NULL), "cuTexObjectCreate");
    if (freed)
        need(cuMemFree_v2(what.p), "cuMemFree");
    return t;
}
static int destroy_texture(uint64_t t)
{
    struct linear what;
    need(cuTexObjectGetResourceDesc((void *)&what, t), "cuTexObjectGetResourceDesc");
    need(cuTexObjectDestroy(t), "cuTexObjectDestroy");
    return cuMemFree_v2(what.p);
}

/* A map, in device memory, of 4 rows of 16 words, or of 8, which are more than there are; the words lie behind it. */
static uint64_t tensor(enum memory kind)
{
    static _Alignas(64) char map[128];
    const uint64_t size[] = {16, kind == TENSOR_TOO_LARGE ? 8 : 4}, stride[] = {64};
    const unsigned box[] = {16, 1}, step[] = {1, 1};
    uint64_t p;
    need(cuMemAlloc_v2(&p, sizeof map + BYTES), "cuMemAlloc");
    need(cuTensorMapEncodeTiled((void *)map, 2, 2, (void *)(uintptr_t)(p + sizeof map), size, stride, box, step, 0, 0,
                                0, 0),
         "cuTensorMapEncodeTiled"); /* of 32 bits, unsigned */
    need(cuMemcpyHtoD_v2(p, map, sizeof map), "cuMemcpyHtoD");
    if (kind == TENSOR_FREED)
        need(cuMemFree_v2(p), "cuMemFree");
    return p;
}

static uint64_t memory(enum memory kind, void *stack)
{
    uint64_t p = 0;
    void *host = NULL;
    switch (kind) {
    case DEVICE: need(cuMemAlloc_v2(&p, BYTES), "cuMemAlloc"); break;
    case NEIGHBOUR: {
        uint64_t next;
        need(cuMemAlloc_v2(&p, BYTES), "cuMemAlloc");
        need(cuMemAlloc_v2(&next, BYTES), "cuMemAlloc");
        break;
    }
    case FREED:
        need(cuMemAlloc_v2(&p, BYTES), "cuMemAlloc");
        need(cuMemFree_v2(p), "cuMemFree");
        break;
    case FREED_ASYNC:
        need(cuMemAllocAsync(&p, BYTES, NULL), "cuMemAllocAsync");
        need(cuMemFreeAsync(p, NULL), "cuMemFreeAsync");
        need(cuStreamSynchronize(NULL), "cuStreamSynchronize");
        break;
    case PINNED:
    case FREED_PINNED:
        need(cuMemAllocHost_v2(&host, BYTES), "cuMemAllocHost");
        p = (uint64_t)(uintptr_t)host;
        if (kind == FREED_PINNED)
            need(cuMemFreeHost(host), "cuMemFreeHost");
        break;
    case MANAGED: need(cuMemAllocManaged(&p, BYTES, 1), "cuMemAllocManaged"); break;
    case MALLOC: p = (uint64_t)(uintptr_t)malloc(BYTES); break;
    case STACK: p = (uint64_t)(uintptr_t)stack; break;
    case PEER:
    case PEER_ENABLED: return of_peer(kind == PEER_ENABLED);
    case READ_ONLY: return read_only();
    case SURFACE:
    case SURFACE_FREED: return surface(kind == SURFACE_FREED);
    case SURFACE_DESTROYED:
        p = surface(0);
        need(cuSurfObjectDestroy(p), "cuSurfObjectDestroy");
        break;
    case TEXTURE_DESTROYED:
        p = texture(0);
        need(cuTexObjectDestroy(p), "cuTexObjectDestroy");
        break;
    case TENSOR:
    case TENSOR_TOO_LARGE:
    case TENSOR_FREED: return tensor(kind);
    case TEXTURE:
    case TEXTURE_FREED: return texture(kind == TEXTURE_FREED);
    default: break;
    }
    return p;
}

/* What a free behind the failed launch is made by: cuMemFree, cuMemFreeAsync; NULL: there is none. */
static const char *frees;

static int launch(const struct test *t, void *f, int wrong)
{
    char stack[BYTES];
    int n = (int)(wrong ? t->wrong : t->right);
    uint64_t p = memory(wrong ? t->memory : t->twin, stack);
    void *args[] = {&p, &n};
    need(cuLaunchKernel(f, is_cluster(t) ? 2 : 1, 1, 1, t->threads, 1, 1, 64, NULL, args, NULL), t->name);
    int r = cuCtxSynchronize();
    if (!wrong)
        need(t->twin == PINNED    ? cuMemFreeHost((void *)(uintptr_t)p)
             : t->twin == SURFACE ? destroy_surface(p)
             : t->twin == TEXTURE ? destroy_texture(p)
                                  : cuMemFree_v2(p),
             t->name);
    else if (frees)
        printf("freed %d\n", (int)(strcmp(frees, "free") ? cuMemFreeAsync(p, NULL) : cuMemFree_v2(p)));
    return r;
}

/* The right one first, in either case: the module's own memory is there then, and takes nothing that is freed. */
static int run(const struct test *t, int wrong)
{
    void *module, *f;
    char *text = text_of(t);
    need(cuModuleLoadData(&module, text), t->name);
    free(text);
    need(cuModuleGetFunction(&f, module, t->name), t->name);
    need(launch(t, f, 0), t->name);
    return wrong ? launch(t, f, 1) : 0;
}

static int launch_after(const struct test *failing)
{
    void *module, *f;
    need(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry after()\n{ret;}\n"),
         "after");
    need(cuModuleGetFunction(&f, module, "after"), "after");
    printf("status %d\n", (int)run(failing, 1));
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
    for (int k = 0; argc > 1 && !strcmp(argv[1], "list") && k < TESTS; k++)
        printf("%s\t%s\n", tests[k].name, tests[k].report);
    if (argc < 2 || !strcmp(argv[1], "list"))
        return 0;
    frees = argc > 3 ? argv[3] : NULL;
    open_device();
    if (!strcmp(argv[1], "after"))
        printf("status %d\n", launch_after(tests));
    for (int k = 0; k < TESTS; k++) {
        struct test near = tests[k];
        near.memory = NEIGHBOUR;
        near.wrong = 1024;
        if (!strcmp(argv[1], "right"))
            need(run(&tests[k], 0), tests[k].name);
        else if (!strcmp(argv[1], "neighbour") && !strcmp("load", tests[k].name))
            printf("status %d\n", (int)run(&near, 1));
        else if (argc > 2 && !strcmp(argv[2], tests[k].name))
            printf("status %d\n", (int)run(&tests[k], 1));
    }
    puts("done");
    return 0;
}
