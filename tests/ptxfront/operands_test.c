/* Which variables an address may name, which registers hold a value, which types variables have, where an opcode may be
 * in pieces: every form below beside each state space, each register type. The answers are those of ptxas 13.0 (-arch
 * sm_100a), but that it takes textures and surfaces as addresses of some copies, prefetches and sums, where their
 * handles mean nothing, and addresses in registers of 8 and 16 bits. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "ptx/lir/lir.h"

#define BULK "cp.async.bulk.tensor."
#define TX ".mbarrier::complete_tx::bytes"

/* The form, v being the variable, and the places where it may lie: g global, c const, s shared, l local, p parameter, t
 * texture, u surface. */
static const struct {
    const char *where, *form;
} addresses[] = {
    {"gsl", "ld.b32 %r0, [v]"},
    {"g", "ld.global.b32 %r0, [v]"},
    {"c", "ld.const.b32 %r0, [v+4]"},
    {"s", "ld.acquire.sys.shared::cluster.b32 %r0, [v]"},
    {"l", "st.local.b32 [v], %r0"},
    {"p", "ld.param.b32 %r0, [v]"},
    {"gsl", "ldu.b32 %r0, [v]"},
    {"gsl", "st.release.gpu.b64 [v], %d0"},
    {"s", "atom.shared.cas.b32 %r0, [v], 1, 2"},
    {"g", "red.relaxed.gpu.global.min.s64 [v], %d0"},
    {"s", "st.async.weak.shared::cluster" TX ".b32 [v], %r1, [%d2]"},
    {"s", "st.async.weak.shared::cluster" TX ".b32 [%d0], %r1, [v]"},
    {"g", "st.async.mmio.release.sys.global.b32 [v], %r1"},
    {"s", "red.async.relaxed.cluster.shared::cluster" TX ".add.u32 [%d0], %r1, [v]"},
    {"g", "multimem.ld_reduce.weak.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [v]"},
    {"gsl", "multimem.st.relaxed.sys.f32 [v], %f0"},
    {"gsl", "multimem.red.relaxed.sys.add.u32 [v], %r0"},
    {"g", "prefetch.global.L1 [v]"},
    {"l", "prefetch.local.L1 [v]"},
    {"g", "prefetchu.L1 [v]"},
    {"gsl", "prefetch.tensormap [v]"},
    {"p", "prefetch.param.tensormap [v]"},
    {"c", "prefetch.const.tensormap [v]"},
    {"g", "applypriority.global.L2::evict_normal [v], 128"},
    {"gsl", "discard.L2 [v], 128"},
    {"g", "discard.global.L2 [v], 128"},
    {"g", "createpolicy.range.global.L2::evict_last.b64 %d0, [v], %r1, %r2"},
    {"s", "cp.async.cg.shared.global [v], [%d1], 16"},
    {"g", "cp.async.cg.shared.global [%r0], [v], 16"},
    {"gsl", "cp.async.mbarrier.arrive.noinc.b64 [v]"},
    {"s", "cp.async.mbarrier.arrive.noinc.shared.b64 [v]"},
    {"s", "cp.async.bulk.shared::cluster.global" TX " [v], [%d1], 16, [%r2]"},
    {"g", "cp.async.bulk.shared::cluster.global" TX " [%r0], [v], 16, [%r2]"},
    {"s", "cp.async.bulk.shared::cluster.global" TX " [%r0], [%d1], 16, [v]"},
    {"g", "cp.async.bulk.global.shared::cta.bulk_group [v], [%r0], 16"},
    {"s", "cp.async.bulk.global.shared::cta.bulk_group [%d1], [v], 16"},
    {"s", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [v], 16"},
    {"g", "cp.async.bulk.prefetch.L2.global [v], 16"},
    {"s", BULK "2d.shared::cta.global.tile" TX " [v], [%d1, {%r1, %r2}], [%r3]"},
    {"g", BULK "2d.shared::cta.global.tile" TX " [%r0], [v, {%r1, %r2}], [%r3]"},
    {"s", BULK "2d.shared::cta.global.tile" TX " [%r0], [%d1, {%r1, %r2}], [v]"},
    {"g", BULK "4d.shared::cluster.global.im2col::w" TX " [%r0], [v, {%r1, %r2, %r3, %r4}], [%r5], {%h1, %h2}"},
    {"s", BULK "4d.shared::cluster.global.im2col::w" TX " [%r0], [%d1, {%r1, %r2, %r3, %r4}], [v], {%h1, %h2}"},
    {"g", BULK "2d.global.shared::cta.tile.bulk_group [v, {%r1, %r2}], [%r0]"},
    {"s", BULK "2d.global.shared::cta.tile.bulk_group [%d1, {%r1, %r2}], [v]"},
    {"g", "tensormap.replace.tile.rank.global.b1024.b32 [v], 1"},
    {"s", "tensormap.replace.tile.rank.shared::cta.b1024.b32 [v], 1"},
    {"gsl", "tensormap.replace.tile.rank.b1024.b32 [v], 1"},
    {"s", "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [v], 128"},
    {"gcslptu", "fence.proxy.tensormap::generic.acquire.gpu [v], 128"},
    {"s", "mbarrier.init.b64 [v], 1"},
    {"s", "mbarrier.arrive.expect_tx.release.cluster.b64 _, [v], %r2"},
    {"s", "mbarrier.arrive.shared::cluster.b64 _, [v]"},
    {"s", "mbarrier.test_wait.b64 %p0, [v], %d2"},
    {"s", "mbarrier.try_wait.parity.b64 %p0, [v], %r2"},
    {"s", "clusterlaunchcontrol.try_cancel.async.shared::cta" TX ".b128 [%r0], [v]"},
    {"gsl", "wmma.load.c.sync.aligned.row.m8n8k4.f64 {%w0, %w1}, [v]"},
    {"s", "wmma.load.c.sync.aligned.row.m8n8k4.shared.f64 {%w0, %w1}, [v]"},
    {"g", "wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [v], {%w0, %w1}"},
    {"gsl", "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [v]"},
    {"s", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [v], {%r0}"},
    {"gsl", "tcgen05.alloc.cta_group::1.sync.aligned.b32 [v], 32"},
    {"s", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [v], 32"},
    {"gsl", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [v]"},
    {"", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [v]"},
    {"", "tcgen05.st.sync.aligned.32x32b.x1.b32 [v], {%r0}"},
    {"", "tcgen05.cp.cta_group::1.128x256b [v], %d1"},
    {"", "tcgen05.mma.cta_group::1.kind::f16 [v], %d1, %d2, %r3, %p0"},
    {"", "tcgen05.mma.cta_group::1.kind::f16 [%r0], [v], %d2, %r3, %p0"},
    {"t", "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [v, {%f4, %f5}]"},
    {"t", "txq.width.b32 %r0, [v]"},
    {"u", "suld.b.1d.b32.trap %r0, [v, {%r1}]"},
    {"u", "sured.b.add.1d.u32.zero [v, {%r0}], %r2"},
    {"u", "suq.height.b32 %r0, [v]"},
    {"gtu", "cvta.global.u64 %d0, v"},
    {"s", "cvta.shared::cluster.u64 %d0, v"},
    {"p", "cvta.param.u64 %d0, v"},
    {"", "cvta.to.global.u64 %d0, v"},
    {"", "cvta.to.shared.u64 %d0, v"},
};

static const char *const registers[] = {"pred", "b8",  "u8",    "s8",  "b16", "u16", "s16", "f16", "b32",
                                        "u32",  "s32", "f16x2", "f32", "b64", "u64", "s64", "f64", "b128"};

/* X and Y are registers of one type; which types those may be. In a vector the first register is held against the
 * instruction's type, unless one of bits makes all of it bits; the others are held against the first. */
static const struct {
    const char *types, *form;
} values[] = {
    {"b32 u32 s32 f16x2", "add.u32 X, X, Y"},
    {"b32 f32", "add.f32 X, X, Y"},
    {"b64 f64", "fma.rn.f64 X, X, Y, Y"},
    {"b16 f16", "add.f16 X, X, Y"},
    {"b16", "add.bf16 X, X, Y"},
    {"b32 f16x2", "add.f16x2 X, X, Y"},
    {"b32", "fma.rn.bf16x2 X, X, Y, Y"},
    {"b32 f16x2", "add.u16x2 X, X, Y"},
    {"b64", "add.f32x2 X, X, Y"},
    {"b32 u32 s32 f16x2 f32", "and.b32 X, X, Y"},
    {"b32 u32 s32 f16x2", "mov.u32 X, Y"},
    {"b32 f32", "mov.f32 X, Y"},
    {"b64 f64", "selp.f64 X, X, Y, %p0"},
    {"b16", "setp.lt.bf16 %p0, X, Y"},
    {"b16 f16", "setp.lt.f16 %p0, X, Y"},
    {"b32 u32 s32 f16x2", "atom.global.add.u32 X, [%d0], Y"},
    {"b32 f32", "atom.global.add.f32 X, [%d0], Y"},
    {"b32 u32 s32 f16x2 b64 u64 s64 b128", "ld.global.u32 X, [%d0]"},
    {"b32 f32 b64 b128", "ld.global.f32 X, [%d0]"},
    {"b32 u32 s32 f32 b64 b128", "ld.global.v2.f32 {X, Y}, [%d0]"},
    {"b64 f64 b128", "st.global.f64 [%d0], X"},
    {"b16 u16 s16 b32 u32 s32 f16x2 b64 u64 s64 b128", "ld.global.s16 X, [%d0]"},
    {"b16 f16 b32 b64 b128", "cvt.rn.f16.f32 X, %f0"},
    {"b16", "cvt.rn.bf16.f32 X, %f0"},
    {"b16 f16 b32 b64 b128", "cvt.f32.f16 %f0, X"},
    {"b16", "cvt.f32.bf16 %f0, X"},
    {"b32", "cvt.rna.tf32.f32 X, %f0"},
    {"b32", "cvt.rn.bf16x2.f32 X, %f0, %f1"},
    {"b32 f32", "cvt.rn.bf16x2.f32 %r0, X, Y"},
    {"b32 f16x2 b64 b128", "cvt.rn.f16x2.f32 X, %f0, %f1"},
    {"b32 f32 b64 b128", "cvt.rn.f16x2.f32 %r0, X, Y"},
    {"b32 f32 b64 b128", "cvt.rs.f16x2.f32 %r0, X, Y, %r1"},
    {"b32 f32", "cvt.rs.bf16x2.f32 %r0, X, Y, %r1"},
    {"b32 u32 s32 f16x2", "mapa.shared::cluster.u32 X, Y, %r2"},
    {"b32 u32 s32", "mapa.shared::cluster.u32 %r0, %r1, X"},
    {"b16", "cvt.rn.satfinite.e4m3x2.f32 X, %f0, %f1"},
    {"b32 u32 s32 f16x2 b64 u64 s64 b128", "cvt.rni.u32.f32 X, %f0"},
    {"b32 f32", "set.lt.f32.f32 X, %f0, %f1"},
    {"b32 u32 s32 f16x2 f32", "ld.global.v2.u32 {X, %r0}, [%d0]"},
    {"b32 u32 s32 f16x2 f32", "ld.global.v2.f32 {X, %r0}, [%d0]"},
    {"b32 u32 s32 f16x2 f32", "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d0, {X, %r0}], [%r0]"},
    {"b32 u32 s32 f16x2 f32", "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {X, %r0}]"},
    {"b32 u32 s32", "tex.a1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {X, %r0}]"},
    {"b32 u32 s32 f16x2 f32",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {X, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, "
     "%f3}"},
    {"b32 u32 s32", "bfe.u32 %r0, %r1, X, 3"},
    {"b32 u32 s32", "popc.b32 X, %r1"},
    {"b32 u32 s32", "dp4a.u32.s32 X, Y, %r2, %r3"},
    {"b32 u32 s32", "redux.sync.and.b32 X, Y, %r2"},
    {"b32 u32 s32", "match.any.sync.b32 X, %r1, %r2"},
    {"b32 u32 s32", "elect.sync X|%p0, %r1"},
    {"b32 u32 s32 f16x2 f32", "shfl.sync.idx.b32 X, Y, 1, 31, %r4"},
    {"b32 u32 s32", "vset2.u32.u32.ne %r0, %r1, %r2, X"},
    {"b32 u32 s32", "vset.u32.s32.lt X, %r1, %r2"},
    {"b32 u32 s32", "vset4.s32.s32.gt.add X, %r1, %r2, %r3"},
    {"b32 u32 s32 f16x2", "vadd2.s32.s32.s32 %r0, %r1, %r2, X"},
    {"b32", "cvt.rs.f16x2.f32 %r0, %f1, %f2, X"},
    {"b32 u32 s32 f16x2 f32", "mov.b64 %d0, {X, %r1}"},
    {"b32 f32", "mov.b64 %d0, {%f1, X}"},
    {"b32 f32", "ld.global.v2.b32 {%f0, X}, [%d0]"},
    {"b32 u32 s32 f16x2 f32", "ld.global.v2.f32 {%r0, X}, [%d0]"},
    {"b32 u32 s32 f16x2 f32", "st.global.v2.u32 [%d0], {%r0, X}"},
    {"b32 f32", "st.global.v2.b32 [%d0], {X, %f0}"},
    {"b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64", "ld.shared.b32 %r0, [X]"},
    {"b32 f16x2", "atom.global.v2.add.noftz.f16x2 {X, Y}, [%d0], {%r0, %r1}"},
    {"b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64", "mbarrier.init.shared.b64 [X], 1"},
    {"b64 u64 s64", "mbarrier.arrive.shared.b64 X, [%r0]"},
    {"b64 u64 s64", "mbarrier.test_wait.shared.b64 %p0, [%r0], X"},
    {"b32 u32 s32", "mbarrier.try_wait.parity.shared.b64 %p0, [%r0], X"},
    {"b32 u32 s32", "mbarrier.pending_count.b64 X, %d0"},
    {"pred b32 u32 s32", "cp.async.cg.shared.global [%r0], [%d0], 16, X"},
    {"b32 u32 s32", "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d0, {X, Y}], [%r0]"},
    {"b32 u32 s32 f16x2 f32", "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d0, {%r0, X}], [%r0]"},
    {"b32 f32", "st.async.weak.shared::cluster" TX ".f32 [%r0], X, [%r1]"},
    {"b32 u32 s32 f32", "st.async.weak.shared::cluster" TX ".v2.f32 [%r0], {X, Y}, [%r1]"},
    {"b32 u32 s32 f16x2", "red.async.relaxed.cluster.shared::cluster" TX ".add.u32 [%r0], X, [%r1]"},
    {"b64 f64", "multimem.ld_reduce.relaxed.sys.global.add.f64 X, [%d0]"},
    {"b32 f16x2", "multimem.st.relaxed.sys.global.v2.f16x2 [%d0], {X, Y}"},
    {"b64 u64 s64", "createpolicy.fractional.L2::evict_first.b64 X, 0.5"},
    {"b32 f32", "createpolicy.fractional.L2::evict_first.b64 %d0, X"},
    {"b32 f32",
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {X, Y, X, Y}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}"},
    {"b32 f16x2",
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {X, Y}, {%f0, %f1, %f2, %f3}"},
    {"b32 f32",
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, X}"},
    {"b32 f16x2",
     "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {X, Y}"},
    {"b32",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {X, Y, X, Y}, {%r4, %r5}, {%f0, %f1, %f2, %f3}"},
    {"b32",
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {X, Y, X, Y}, {%r4, %r5}, {%f0, %f1, %f2, %f3}"},
    {"b32 u32 s32",
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {X, Y, X, Y}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1, %r2, %r3}"},
    {"b64 u64 s64 f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {X, Y}, {%w0}, {%w0}, {%w0, %w1}"},
    {"b32 f16x2",
     "mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r0, %r1, %r2, %r3}, {X, Y, X, Y}, {%r0, %r1}, %r5, 0"},
    {"b32", "wmma.load.a.sync.aligned.row.m16n16k16.bf16 {X, Y, X, Y}, [%d0], %r0"},
    {"b32 f16x2", "wmma.load.c.sync.aligned.row.m16n16k16.f16 {X, Y, X, Y}, [%d0], %r0"},
    {"b32 u32 s32", "wmma.store.d.sync.aligned.row.m8n8k32.s32 [%d0], {X, Y}, %r0"},
    {"b32 u32 s32", "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r0, %r1}, {X}, {%r3}, {%r0, %r1}"},
    {"b32 u32 s32 f32", "tex.2d.v4.f32.f32 {X, Y, X, Y}, [%d0, {%f4, %f5}]"},
    {"b32 u32 s32 f16x2", "tex.2d.v4.u32.f32 {X, Y, X, Y}, [%d0, {%f4, %f5}]"},
    {"b32 f16x2", "tex.2d.v2.f16x2.s32 {X, Y}, [%d0, {%r4, %r5}]"},
    {"b16 u16 s16 f16", "tex.2d.v4.f16.f32 {X, Y, X, Y}, [%d0, {%f4, %f5}]"},
    {"b32 u32 s32 f32", "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {X, Y}]"},
    {"b32 u32 s32 f16x2", "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {X, Y}]"},
    {"b32 u32 s32", "tex.a1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {X, %f5}]"},
    {"b32 f32", "tex.level.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}], X"},
    {"b32 f32", "tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}], {X, Y}, {%f6, %f7}"},
    {"b32 u32 s32 f16x2", "tld4.g.2d.v4.u32.f32 {X, Y, X, Y}, [%d0, {%f4, %f5}]"},
    {"b32 u32 s32", "suld.b.2d.b32.trap {%r0}, [%d0, {X, Y}]"},
    {"b32 u32 s32", "sured.b.add.1d.s32.trap [%d0, {X}], %r0"},
    {"b32 u32 s32 f16x2 f32", "tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r0, X}, [%r2]"},
    {"b32 u32 s32 f16x2", "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r0}, [X]"},
    {"b32", "tcgen05.mma.cta_group::1.kind::f16 [X], %d1, %d2, %r3, %p0"},
    {"b32", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%r0], %d0, %d1, %r1, [X], [%r3], %p0"},
    {"b32", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%r0], %d0, %d1, %r1, [%r2], [X], %p0"},
    {"b32", "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.block32 [%r0], %d0, %d1, [%r4], %r1, [X], [%r3], %p0"},
    {"b32", "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.block32 [%r0], %d0, %d1, [%r4], %r1, [%r2], [X], %p0"},
    {"b32 u32 s32 f16x2 f32", "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 X, %q0"},
};

static const char *const declared[] = {"b8", "b16", "b32", "b64", "b128", "u8",    "u16", "u32", "u64",
                                       "s8", "s16", "s32", "s64", "f16",  "f16x2", "f32", "f64"};
static const char *const undeclared[] = {"bf16",   "bf16x2", "tf32", "f32x2", "u16x2",
                                         "e4m3x2", "b1",     "u4",   "u8x4",  "pred"};

static bool is_taken(const char *text)
{
    struct ptx_diag diag;
    struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
    const bool taken = m && !ptx_func_parse(ptx_module_func(m, "k"), &diag);
    if (m)
        ptx_module_close(m);
    return taken;
}

/* The same, lowered, too: that a register is too wide for a matrix is found there. */
static bool is_lowered(const char *text)
{
    struct ptx_diag diag;
    void *image = NULL;
    size_t size;
    struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
    const bool lowered = m && !lir_lower_kernel(m, "k", &image, &size, &diag);
    free(image);
    if (m)
        ptx_module_close(m);
    return lowered;
}

#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"
#define REGISTERS \
    ".reg .pred %%p<2>; .reg .b16 %%h<4>; .reg .b32 %%r<8>; .reg .b64 %%d<4>; .reg .f32 %%f<8>; .reg .f64 %%w<2>; .reg " \
    ".b128 %%q<2>;\n"

static void check_addresses(void)
{
    static const struct {
        char place;
        const char *outside, *parameter, *inside;
    } at[] = {{'g', ".global .align 64 .b8 v[64];", "", ""}, {'c', ".const .align 64 .b8 v[64];", "", ""},
              {'s', "", "", ".shared .align 64 .b8 v[64];"}, {'l', "", "", ".local .align 64 .b8 v[64];"},
              {'p', "", ".param .align 64 .b8 v[64]", ""},   {'t', ".global .texref v;", "", ""},
              {'u', ".global .surfref v;", "", ""}};
    char text[1000];
    unsigned n = 0;
    for (size_t k = 0; k < sizeof addresses / sizeof addresses[0]; k++)
        for (size_t i = 0; i < sizeof at / sizeof at[0]; i++, n++) {
            snprintf(text, sizeof text, HEAD "%s\n.entry k(%s)\n{\n" REGISTERS "%s\n%s;\nret;\n}\n", at[i].outside,
                     at[i].parameter, at[i].inside, addresses[k].form);
            const bool want = strchr(addresses[k].where, at[i].place);
            EXPECT(is_taken(text) == want, "%s of %s: %s", addresses[k].form, text + sizeof HEAD - 1,
                   want ? "refused" : "taken");
        }
    check(n, "%u addresses of variables", n);
}

/* The form with X and Y as registers of a type. */
static void spell(char *to, size_t room, const char *form, const char *type)
{
    size_t n = 0;
    for (; *form && n + 16 < room; form++)
        n += *form == 'X' || *form == 'Y' ? (size_t)snprintf(to + n, room - n, "%%%s_%d", type, *form - 'X')
                                          : (size_t)snprintf(to + n, room - n, "%c", *form);
}

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static void check_values(void)
{
    char text[1400], form[300];
    unsigned n = 0;
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
        for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++, n++) {
            spell(form, sizeof form, values[k].form, registers[i]);
            snprintf(text, sizeof text, HEAD ".entry k()\n{\n" REGISTERS ".reg .%s %%%s_<2>;\n%s;\nret;\n}\n",
                     registers[i], registers[i], form);
            const bool want = has_word(values[k].types, registers[i]);
            EXPECT(is_lowered(text) == want, "%s is %s", form, want ? "refused" : "taken");
        }
    check(n, "%u values in registers", n);
}

static void check_declared(void)
{
    static const char *const places[] = {
        ".global .%s v;\n.entry k()\n{\nret;\n}\n", ".entry k(.param .%s v)\n{\nret;\n}\n",
        ".entry k()\n{\n.local .%s v;\nret;\n}\n", ".entry k()\n{\n.reg .%s v;\nret;\n}\n"};
    char text[300];
    unsigned n = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const bool is_reg = strstr(places[i], ".reg");
        for (size_t k = 0; k < sizeof declared / sizeof declared[0]; k++, n++) {
            size_t at = (size_t)snprintf(text, sizeof text, HEAD);
            snprintf(text + at, sizeof text - at, places[i], declared[k]);
            const bool want = strcmp(declared[k], "f16x2") || !strstr(text, ".param");
            EXPECT(is_taken(text) == want, "%s: %s", want ? "refused" : "taken", text + at);
        }
        for (size_t k = 0; k < sizeof undeclared / sizeof undeclared[0]; k++, n++) {
            size_t at = (size_t)snprintf(text, sizeof text, HEAD);
            snprintf(text + at, sizeof text - at, places[i], undeclared[k]);
            EXPECT(is_taken(text) == (is_reg && !strcmp(undeclared[k], "pred")), "taken: %s", text + at);
        }
    }
    check(n, "%u declarations", n);
}

/* Words of an opcode may stand apart, but no dot from its word; most in any order. */
static void check_apart(void)
{
    static const struct {
        bool taken;
        const char *form;
    } rows[] = {{true, "lop3 .b32 %r0, %r1, %r2, %r3, 0xca"},
                {true, "ld .global .u32 %r0, [%d0]"},
                {true, "ld.global\n .u32 %r0, [%d0]"},
                {true, "mad .lo/* low */ .s32 %r0, %r1, %r2, %r3"},
                {true, "@%p0 bar .sync 0"},
                {true, "ret .uni"},
                {true, "div.full.ftz.f32 %f0, %f1, %f2"},
                {true, "div.full.f32.ftz %f0, %f1, %f2"},
                {false, "div.f32.full %f0, %f1, %f2"},
                {false, "div.ftz.full.f32 %f0, %f1, %f2"},
                {true, "div.f32.ftz.approx %f0, %f1, %f2"},
                {false, "mad. lo.s32 %r0, %r1, %r2, %r3"},
                {false, "mad . lo . s32 %r0, %r1, %r2, %r3"},
                {false, "mad .lo .s33 %r0, %r1, %r2, %r3"},
                {false, "mbarrier.init.shared:: cta.b64 [%r0], 1"}};
    char text[2000];
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        snprintf(text, sizeof text, HEAD ".entry k()\n{\n" REGISTERS "%s;\n%s;\nret;\n}\n", rows[k].form, rows[k].form);
        EXPECT(is_lowered(text) == rows[k].taken, "%s is %s", rows[k].form, rows[k].taken ? "refused" : "taken");
    }
    for (unsigned words = 10; words < 300; words += 30) { /* as long as any buffer, and longer */
        size_t n = (size_t)snprintf(text, sizeof text, HEAD ".entry k()\n{\n" REGISTERS "add");
        for (unsigned k = 0; k < words; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, " .u32");
        snprintf(text + n, sizeof text - n, " %%r0, %%r1, %%r2;\nret;\n}\n");
        EXPECT(!is_lowered(text), "%u words are taken", words);
    }
    check(true, "opcodes in pieces");
}

/* Modifiers and types that ptxas 13.0 takes or refuses together, on sm_90a, sm_100a or sm_120a. */
static void check_modifiers(void)
{
#define BULK_LOAD "cp.async.bulk.shared::cluster.global" TX
#define F4 "{%f0, %f1, %f2, %f3}"
#define R4 "{%r0, %r1, %r2, %r3}"
#define R8 "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}"
#define D4 "{%d0, %d1, %d2, %d3}"
    static const char *const taken[] = {
        BULK_LOAD ".multicast::cluster.L2::cache_hint [%r0], [%d1], %r3, [%r2], %h1, %d2",
        BULK_LOAD ".multicast::cluster [%r0], [%d1], %r3, [%r2], %h1",
        "mapa.shared::cluster.s64 %d0, %d1, %r2",
        "mapa.shared::cluster.s32 %r0, %r1, %r2",
        "getctarank.shared::cluster.s32 %r0, %r1",
        "getctarank.s64 %r0, %d1",
        "mad.rz.ftz.sat.f32 %f0, %f1, %f2, %f3",
        "sured.b.min.1d.s64.trap [%d1, {%r1}], %d2",
        "sured.p.max.1d.b64.trap [%d1, {%r1}], %d2",
        "ld.global.v8.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%d1]",
        "st.v4.b64 [%d1], " D4,
        "st.shared.v4.b32 [%r1], " R4,
        "tensormap.replace.tile.global_stride.b1024.b64 [%d1], 2, %d2",
        "tensormap.replace.tile.rank.global.b1024.b32 [%d1], %r1",
        "mma.sync.aligned.m8n8k4.row.col.rn.f64.f64.f64.f64 {%w0, %w1}, {%w0}, {%w1}, {%w0, %w1}",
        "wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8 " R4 ", %d1, %d2, 1"};
    static const char *const refused[] = {
        "mapa.shared::cluster.b32 %r0, %r1, %r2",
        "getctarank.b64 %r0, %d1",
        "mad.f32 %f0, %f1, %f2, %f3",
        "mad.f64 %w0, %w1, %w0, %w1",
        "sured.b.add.1d.s64.trap [%d1, {%r1}], %d2",
        "sured.b.and.1d.u32.trap [%d1, {%r1}], %r2",
        "sured.b.min.1d.b32.trap [%d1, {%r1}], %r2",
        "sured.p.add.1d.b64.trap [%d1, {%r1}], %d2",
        "ldmatrix.sync.aligned.m8n8.x4.shared::cluster.b16 " R4 ", [%r4]",
        "stmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 [%r4], {%r0}",
        "elect.sync.aligned %r0|%p0, -1",
        "ld.shared.v4.b64 " D4 ", [%r1]",
        "st.local.v8.b32 [%r0], " R8,
        "ld.const.v8.b32 " R8 ", [%d1]",
        "ld.global.v2.b128 {%q0, %q1}, [%d1]",
        "st.global.v8.b64 [%d1], {%d0, %d1, %d2, %d3, %d0, %d1, %d2, %d3}",
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b64 [%d1], 1",
        "tensormap.replace.tile.global_address.shared::cta.b1024.b32 [%d1], %r1",
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%d1], %r1",
        "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%d1], 0, %r1",
        "mma.sync.aligned.m16n8k4.row.col.rn.f32.tf32.tf32.f32 " F4 ", {%r0, %r1}, {%r2}, " F4,
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 " F4 ", {%r0, %r1}, {%r2}, {%r4, %r5}",
        "mma.sync.aligned.m16n8k32.row.col.satfinite.f32.e4m3.e5m2.f32 " F4 ", " R4 ", {%r4, %r5}, " F4,
        "mma.sync.aligned.m16n8k16.row.col.xor.f32.f16.f16.f32 " F4 ", " R4 ", {%r4, %r5}, " F4,
        "mma.sync.aligned.m16n8k16.row.col.f32.b16.f16.f32 " F4 ", " R4 ", {%r4, %r5}, " F4,
        "wgmma.mma_async.sync.aligned.m64n8k16.satfinite.f32.f16.f16 " F4 ", %d1, %d2, 1, 1, 1, 0, 0",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.u16 " F4 ", %d1, %d2, 1, 1, 1, 0, 0",
        "ldu.shared.b32 %r0, [%d1]",
        "tcgen05.mma.cta_group::1.kind::f16.scale_vec::1X [%r0], %d1, %d2, %r3, %p0",
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r0], %d1, %d2, %r3, [%r4], [%r5], %p0",
        "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::4X [%r0], %d1, %d2, %r3, [%r4], [%r5], %p0",
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block16 [%r0], %d1, %d2, %r3, [%r4], [%r5], %p0",
        "atom.gpu.global.cas.b128.L2::cache_hint %q0, [%d1], %q1, %q1, %d2"};
    char text[1400];
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) {
        snprintf(text, sizeof text, HEAD ".entry k()\n{\n" REGISTERS "%s;\nret;\n}\n", taken[k]);
        EXPECT(is_lowered(text), "%s is refused", taken[k]);
    }
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        snprintf(text, sizeof text, HEAD ".entry k()\n{\n" REGISTERS "%s;\nret;\n}\n", refused[k]);
        EXPECT(!is_taken(text), "%s is taken", refused[k]);
    }
    check(true, "modifiers");
}

int main(void)
{
    check_addresses();
    check_modifiers();
    check_values();
    check_declared();
    check_apart();
    return check_end("operands");
}
