# Part of run.sh, which sources it.
# Check for one of MUSA's architectures: kernels that do not fit, are refused, or will be slow.
# shellcheck shell=sh disable=SC2154
cat >"$tmp/target.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry plain(.param .u64 out) { .reg .u64 %d; ld.param.u64 %d, [out]; st.global.u32 [%d], 1; ret; }
.visible .entry large(.param .u64 out)
{
.shared .align 4 .b8 room[40960];
.reg .u64 %d; .reg .u32 %r<3>;
mov.u32 %r0, %tid.x; mov.u32 %r1, room; mad.lo.u32 %r1, %r0, 4, %r1; st.shared.u32 [%r1], %r0; bar.sync 0;
ld.shared.u32 %r2, [%r1]; ld.param.u64 %d, [out]; st.global.u32 [%d], %r2; ret;
}
.visible .entry wide(.param .u64 out)
{
.reg .u64 %d; .reg .f64 %e<3>;
ld.param.u64 %d, [out]; ld.global.f64 %e0, [%d]; add.rn.f64 %e1, %e0, %e0; mul.rn.f64 %e2, %e1, %e0;
st.global.f64 [%d], %e2; ret;
}
.visible .entry tensor(.param .u64 out)
{
.reg .u64 %d; .reg .b32 %r<4>; .reg .f32 %f<4>;
mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r0}, {%r0}, {%f0, %f0, %f0, %f0};
ld.param.u64 %d, [out]; st.global.f32 [%d], %f0; ret;
}
.visible .entry some(.param .u64 out)
{
.reg .u64 %d; .reg .u32 %r; .reg .pred %p;
mov.u32 %r, %tid.x; setp.gt.u32 %p, %r, 63; @%p exit; bar.sync 1, 64; ld.param.u64 %d, [out]; st.global.u32 [%d], %r; ret;
}
.visible .entry small(.param .u64 out)
{
.reg .u64 %d; .reg .b32 %r<6>; .reg .pred %p;
mov.u32 %r0, %tid.x; setp.gt.u32 %p, %r0, 63; vote.sync.ballot.b32 %r5, %p, -1; mov.u32 %r3, 0; mov.u32 %r4, 0;
mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r3, %r4}, {%r0}, {%r5}, {%r3, %r4};
ld.param.u64 %d, [out]; st.global.u32 [%d], %r3; ret;
}
.extern .shared .align 4 .b8 more[];
.visible .entry launched(.param .u64 out)
{
.reg .u64 %d; .reg .u32 %r<2>;
mov.u32 %r0, more; ld.shared.u32 %r1, [%r0]; ld.param.u64 %d, [out]; st.global.u32 [%d], %r1; ret;
}
.visible .entry query(.param .u64 out, .param .u64 tex)
{
.reg .u64 %d<2>; .reg .b32 %r;
ld.param.u64 %d0, [tex]; txq.width.b32 %r, [%d0]; ld.param.u64 %d1, [out]; st.global.u32 [%d1], %r; ret;
}
END
# A fat binary with one image, PTX for sm_80, as nvcc would put it into a library.
cat >"$tmp/target.s" <<END
.section .nv_fatbin,"a"
.long 0xba55ed50
.short 1, 16
.quad end - entry
entry:
.short 1, 0x101
.long 64
.quad end - text
.quad 0
.long 0, 80
.long 64, 0
.quad 0, 0, 0
text:
.incbin "$tmp/target.ptx"
.byte 0
end:
END
"${CC:-cc}" -shared -nostdlib -o "$tmp/target.so" "$tmp/target.s"
check "check: all of them can be translated" 0 '^kernels +8: .* 8 can be translated$' -- "$cumu" check "$tmp/target.so"
absent "and no device's limits are told" '^slow'
check "check for an S80" 1 '^kernels +8: .* 5 can run on mp_21$' ' large: needs 40960 bytes of shared memory, mp_21 has 28672$' \
    ' some: barriers of some of a block' ' query: line [0-9]+: questions about a texture' '^slow +3 kernels$' \
    ' wide: 2 operations of double precision in software$' ' tensor: 1 matrix product in scalar code$' \
    ' small: 1 matrix product in scalar code, 1 operation of a warp by 32 shuffles$' \
    '^device +mp_21 .28 KiB of shared memory a block, in which 1 kernel uses more than it names, by the launch.;' -- "$cumu" check --target mp_21 "$tmp/target.so"
check "check for an S4000" 1 ' 6 can run on mp_22$' ' wide: 2 operations' -- "$cumu" check --target=mp_22 "$tmp/target.so"
absent "where it fits" 'large:'
check "check for an S5000" 1 ' 7 can run on mp_31$' ' query:' '^slow +1 kernel$' ' small: 1 matrix product in scalar code$' -- "$cumu" check --target mp_31 "$tmp/target.so"
check "check for an S80, tsv" 1 "$(printf '^kernel\tlarge\tptx\tlost\tneeds 40960 bytes')" \
    "$(printf '^slow\ttensor\t1 matrix product in scalar code$')" "$(printf '^device\tmp_21\t')" -- \
    "$cumu" check --format tsv --target mp_21 "$tmp/target.so"
check "check for a device that nobody knows" 125 'mp_21, mp_22 or mp_31' -- "$cumu" check --target mp_17 "$tmp/target.so"
