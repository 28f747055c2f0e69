/* Emitting a kernel as warp-vector C: what the parts share. Errors leave through t1_fail.
 *
 * Names in the emitted text
 *   v12            value 12: uniform, or lane 0's value of an affine one (predicates: 0 or 1)
 *   v12g0 v12g1    the same for each half of a warp
 *   v12_0 v12_1 .. its pieces when it varies: P pieces of 32-bit lanes, 2P of 64-bit ones
 *   v12m           its lanes as a mask, when it is a varying predicate
 *   x12_0, x12m    per-lane copy of a value that lanes take out of a loop in different rounds
 *   p7             lanes waiting to run block 7;  m: lanes that run this block;  live: lanes not exited
 *   B7 S7          block 7 and the place behind it
 *   b warp         struct t1_block *, index of the warp;  smem params: from b
 *
 * What the prelude gives (k, q, h, scale and other numbers below are constants; N = T1_N lanes a piece):
 *   types     pu32 pu64 ph32 (N/2 lanes of 32 bits); vector operators + - * & | ^ ~ << >> work on them
 *   masks     T1_MASK32(m, k) T1_MASK64(m, q): bits of piece k of a warp mask; T1_FOR_LANES(l, m) loops
 *   make      t1_splat_u32(x) t1_splat_u64(x) t1_ramp_u32(base, stride, k) t1_ramp_u64(base, stride, q):
 *             lane i = base + stride * (k * N + i), or (q * N/2 + i)
 *   halves    t1_half_u32(piece, h) -> ph32; t1_join_u32(ph32, ph32) -> pu32
 *             t1_zext_u32(ph32) t1_sext_u32(ph32) -> pu64; t1_trunc_u64(pu64) t1_high_u64(pu64) -> ph32
 *   blend     t1_blend_u32(bits, old, new) t1_blend_u64: new where the bit is set
 *   memory    t1_load_T(ptr) t1_maskload_T(bits, ptr) t1_store_T(ptr, v) t1_maskstore_T(bits, ptr, v),
 *             T = u8 s8 u16 s16 u32 (in pu32) and u64 (in pu64), stores without s8 s16; unaligned;
 *             inactive lanes of a load are 0
 *             t1_gather_T(bits, base, idx, scale) t1_scatter_T(bits, base, idx, v, scale): idx is pu32 for
 *             T of up to 32 bits, ph32 for u64, taken as signed; scale 1 2 4 8
 *             t1_gather64_T(bits, a_lo, a_hi) t1_scatter64_T(bits, a_lo, a_hi, v): pu64 addresses; u64: one
 *             pu64, t1_gather64_u64(bits, a), t1_scatter64_u64(bits, a, v)
 *   scalars   t1_ld_T(ptr) -> uint32_t / uint64_t, t1_st_T(ptr, v): one unaligned access
 *   lanes     t1_perm_u32(idx, v_0, .., v_{P-1}): lane idx[i] (0..31) of the whole warp value, for one piece
 *             t1_spill_u32(uint32_t *, k, v) t1_fill_u32(const uint32_t *, k), _u64: to and from uint_t[32]
 *   atomics   t1_atom_OP_T(ptr, b) returns the old value; OP = add min max inc dec and or xor exch,
 *             t1_atom_cas_T(ptr, compare, value); T = u32 s32 u64 s64 f32 f64 u16 f16 bf16 f16x2 bf16x2;
 *             all in raw containers. t1_satom_OP_T: the same on shared memory, no lock prefix
 *   warp      t1_match_any_u32/u64(m, const a[32], uint32_t d[32]), t1_match_all_u32/u64(...) returns pred mask
 *             t1_redux_OP_T(m, const uint32_t a[32]) -> uint32_t
 *             t1_shfl_index(mode, const b[32], const c[32], idx[32]) -> in-range mask; mode 0 up 1 down 2 bfly 3 idx
 *   control   t1_bar(b) whole-block barrier; t1_bar_popc(b, n) t1_bar_and(b, v) t1_bar_or(b, v) -> uint32_t: n =
 *             lanes of this warp, v = 0/1 of this warp; t1_yield(b) for spin loops; t1_fence()
 *             T1_COMPILER_FENCE()
 *             T1_TRAP(b, warp, m): services->fault(T0_FAULT_TRAP)
 *   before the prelude the text defines T1_FIBRES and T1_SPINS (0 or 1: warps are fibres; they may yield
 *   other than at barriers) and T1_SHAPE; behind everything stands T1_MAIN(t1_kernel), which defines cumu_t1_run and
 *   cumu_t1_info; void t1_kernel(struct t1_block *b, uint32_t warp, uint32_t live) runs one warp. */
#ifndef CUMU_PTX_T1_EMIT_H
#define CUMU_PTX_T1_EMIT_H

#include <setjmp.h>

#include "ptx/tier1/emit/alu.h"
#include "ptx/tier1/tier1.h"

#endif
