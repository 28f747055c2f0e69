/* cumu doctor: the kernels that forms of a toolkit's own are tried with. Operands come out of a generator in the
 * kernel: numbers of all sizes for roundings, small integers where the order of sums must not matter. */
#include "cli/native_probes.h"

/* %r1 gathers the results, %r2 is the generator, %r3 counts the rounds */
#define BEGIN \
    ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry probe(.param .u64 out)\n{\n" \
    ".reg .b32 %r<40>;\n.reg .u64 %d<12>;\n.reg .f32 %f<16>;\n.reg .f64 %e<6>;\n.reg .b16 %h<4>;\n" \
    ".reg .pred %p<4>;\n" \
    ".shared .align 8 .b8 s[64];\nld.param.u64 %d0, [out];\ncvta.to.global.u64 %d0, %d0;\n" \
    "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d1, %d0, %d1;\nmov.u32 %r1, 0;\n" \
    "mad.lo.u32 %r2, %r0, 2654435761, 12345;\nmov.u32 %r3, 0;\n"
#define ROUNDS "LOOP:\n"
#define END(rounds) \
    "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, " rounds ";\n@%p0 bra LOOP;\nst.global.u32 [%d1], %r1;\nret;\n}\n"
#define DONE "st.global.u32 [%d1], %r1;\nret;\n}\n"
#define RANDOM(to) "mad.lo.u32 %r2, %r2, 1664525, 1013904223;\nshr.u32 %r30, %r2, 15;\nxor.b32 " to ", %r30, %r2;\n"
#define GATHER(word) "mad.lo.u32 %r1, %r1, 31, " word ";\n"
/* Which NaN it is may differ. */
#define GATHER_F32(f) \
    "testp.notanumber.f32 %p1, " f ";\nmov.b32 %r31, " f ";\nselp.u32 %r31, 7, %r31, %p1;\n" GATHER("%r31")
#define GATHER_F64(e) \
    "testp.notanumber.f64 %p1, " e ";\nmov.b64 {%r31, %r32}, " e ";\nxor.b32 %r31, %r31, %r32;\n" \
    "selp.u32 %r31, 7, %r31, %p1;\n" GATHER("%r31")
/* %f0, %f1, %f2 of any size; %f3, %f4, %f5 between 1/2 and 2, or their negatives. The same as %e in turn. */
#define OF_32 \
    RANDOM("%r4") \
    RANDOM("%r5") \
    RANDOM("%r6") \
    "mov.b32 %f0, %r4;\nmov.b32 %f1, %r5;\nmov.b32 %f2, %r6;\n" \
    "and.b32 %r4, %r4, 0x80ffffff;\nor.b32 %r4, %r4, 0x3f000000;\nmov.b32 %f3, %r4;\n" \
    "and.b32 %r5, %r5, 0x80ffffff;\nor.b32 %r5, %r5, 0x3f000000;\nmov.b32 %f4, %r5;\n" \
    "and.b32 %r6, %r6, 0x80ffffff;\nor.b32 %r6, %r6, 0x3f000000;\nmov.b32 %f5, %r6;\n"
#define OF_64 \
    RANDOM("%r4") \
    RANDOM("%r5") \
    RANDOM("%r6") \
    RANDOM("%r7") \
    "and.b32 %r8, %r3, 1;\nsetp.eq.u32 %p2, %r8, 0;\n@%p2 and.b32 %r5, %r5, 0x801fffff;\n" \
    "@%p2 or.b32 %r5, %r5, 0x3fe00000;\n" \
    "@%p2 and.b32 %r7, %r7, 0x801fffff;\n@%p2 or.b32 %r7, %r7, 0x3fe00000;\nmov.b64 %e0, {%r4, %r5};\n" \
    "mov.b64 %e1, {%r6, %r7};\n"
#define WAYS2(op, type, to, a, b, gather) \
    op ".rz." type " " to ", " a ", " b ";\n" gather(to) op ".rm." type " " to ", " a ", " b ";\n" gather(to) op \
        ".rp." type " " to ", " a ", " b ";\n" gather(to)
#define WAYS1(op, type, to, a, gather) \
    op ".rz." type " " to ", " a ";\n" gather(to) op ".rm." type " " to ", " a ";\n" gather(to) op \
        ".rp." type " " to ", " a ";\n" gather(to)
#define DIRECTED32(a, b, c) \
    WAYS2("add", "f32", "%f6", a, b, GATHER_F32) \
    WAYS2("sub", "f32", "%f6", a, b, GATHER_F32) \
    WAYS2("mul", "f32", "%f6", a, b, GATHER_F32) \
    WAYS2("div", "f32", "%f6", a, b, GATHER_F32) \
    WAYS2("fma", "f32", "%f6", a, b ", " c, GATHER_F32) WAYS1("sqrt", "f32", "%f6", a, GATHER_F32)
#define ONE32(op, a) op " %f6, " a ";\n" GATHER_F32("%f6")
#define ONE64(op, a) op " %e2, " a ";\n" GATHER_F64("%e2")

#define SHUFFLE(mode, by, bounds) \
    RANDOM("%r4") \
    "shfl.sync." mode ".b32 %r5|%p1, %r4, " by ", " bounds ", -1;\nselp.u32 %r6, 1, 0, %p1;\n" GATHER("%r5") \
        GATHER("%r6")
#define REDUCE(op) RANDOM("%r4") "redux.sync." op " %r5, %r4, -1;\n" GATHER("%r5")
#define PAIRS(op, more) op " %r7, %r4, %r5" more ";\n" GATHER("%r7")

/* Small integers, so that every sum is exact whatever its order. */
#define SMALL(f) RANDOM("%r4") "and.b32 %r4, %r4, 7;\ncvt.rn.f32.u32 " f ", %r4;\n"
#define PAIR_F16(to) \
    SMALL("%f0") "cvt.rn.f16.f32 %h0, %f0;\n" SMALL("%f0") "cvt.rn.f16.f32 %h1, %f0;\nmov.b32 " to ", {%h0, %h1};\n"
#define PAIR_BF16(to) \
    SMALL("%f0") SMALL("%f1") "mov.b32 %r5, %f0;\nmov.b32 %r6, %f1;\nprmt.b32 " to ", %r5, %r6, 0x7632;\n"
#define ONE_TF32(to) SMALL("%f0") "mov.b32 " to ", %f0;\n"
#define BYTES(to, mask) RANDOM(to) "and.b32 " to ", " to ", " mask ";\n"
#define SUMS SMALL("%f4") SMALL("%f5") SMALL("%f6") SMALL("%f7")
#define NO_SUMS "mov.f32 %f4, 0f00000000;\nmov.f32 %f5, %f4;\nmov.f32 %f6, %f4;\nmov.f32 %f7, %f4;\n"
#define A4 "{%r10, %r11, %r12, %r13}"
#define A2 "{%r10, %r11}"
#define B2 "{%r14, %r15}"
#define B1 "{%r14}"
#define SIX(of) of("%r10") of("%r11") of("%r12") of("%r13") of("%r14") of("%r15")
#define SIX_BYTES(mask) \
    BYTES("%r10", mask) \
    BYTES("%r11", mask) BYTES("%r12", mask) BYTES("%r13", mask) BYTES("%r14", mask) BYTES("%r15", mask)
/* Twice, so that sums go on where they are. */
#define MMA(form, a, b) \
    "mma.sync.aligned." form " {%f4, %f5, %f6, %f7}, " a ", " b ", {%f4, %f5, %f6, %f7};\n" \
    "mma.sync.aligned." form " {%f4, %f5, %f6, %f7}, " a ", " b ", {%f4, %f5, %f6, %f7};\n" GATHER_F32("%f4") \
        GATHER_F32("%f5") GATHER_F32("%f6") GATHER_F32("%f7")
#define MMA_INT(form, a, b) \
    "mma.sync.aligned." form " {%r16, %r17, %r18, %r19}, " a ", " b ", {%r10, %r11, %r12, %r13};\n" GATHER("%r16") \
        GATHER("%r17") GATHER("%r18") GATHER("%r19")

#define ATOMIC_FLOAT(type, store, zero, one, reg, gather) \
    BEGIN "mov.u64 %d4, s;\ncvt.u32.u64 %r4, %d4;\nst.shared." store " [%r4], " zero ";\nbar.sync 0;\n" \
          "atom.shared.add." type " " reg ", [%r4], " one ";\natom.global.add." type " " reg ", [%d0+2048], " one \
          ";\nred.global.add." type " [%d0+2064], " one ";\nbar.sync 0;\nld.shared." store " " reg \
          ", [%r4];\n" gather DONE

const char *const native_probes[] = {
    BEGIN ROUNDS OF_32 DIRECTED32("%f0", "%f1", "%f2") DIRECTED32("%f3", "%f4", "%f5")
        OF_64 WAYS2("add", "f64", "%e2", "%e0", "%e1", GATHER_F64) WAYS2("sub", "f64", "%e2", "%e0", "%e1", GATHER_F64)
            WAYS2("mul", "f64", "%e2", "%e0", "%e1", GATHER_F64) WAYS2("div", "f64", "%e2", "%e0", "%e1", GATHER_F64)
                WAYS2("fma", "f64", "%e2", "%e0", "%e1, %e0", GATHER_F64) WAYS1("sqrt", "f64", "%e2", "%e0", GATHER_F64)
                    END("64"),
    BEGIN ROUNDS OF_32 ONE32("div.rn.f32", "%f0, %f1") ONE32("div.rn.f32", "%f3, %f4") ONE32("rcp.rn.f32", "%f0")
        ONE32("rcp.rn.f32", "%f3") END("512"),
    BEGIN ROUNDS OF_64 ONE64("div.rn.f64", "%e0, %e1") ONE64("rcp.rn.f64", "%e0") END("256"),
    BEGIN ROUNDS OF_32 ONE32("sqrt.rn.f32", "%f0") ONE32("sqrt.rn.f32", "%f3") END("512"),
    BEGIN ROUNDS OF_64 ONE64("sqrt.rn.f64", "%e0") END("256"),
    ATOMIC_FLOAT("f32", "f32", "0f00000000", "0f3F800000", "%f0", GATHER_F32("%f0")),
    ATOMIC_FLOAT("f64", "f64", "0d0000000000000000", "0d3FF0000000000000", "%e0", GATHER_F64("%e0")),
    BEGIN "mov.u64 %d4, s;\ncvt.u32.u64 %r4, %d4;\nmov.u32 %r5, 0;\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\n"
          "mov.b16 %h0, 0x3c00;\natom.shared.add.noftz.f16 %h1, [%r4], %h0;\n"
          "atom.global.add.noftz.f16 %h1, [%d0+2050], %h0;\n"
          "bar.sync 0;\nld.shared.u32 %r5, [%r4];\n" GATHER("%r5") DONE,
    BEGIN "st.global.u32 [%d1+2048], %r2;\nbar.sync 0;\nxor.b32 %r4, %r0, 5;\nmul.wide.u32 %d2, %r4, 4;\n"
          "add.u64 %d2, %d0, %d2;\n"
          "ld.global.u32 %r5, [%d2+2048];\nld.volatile.global.u32 %r6, [%d2+2048];\n" GATHER("%r5") GATHER("%r6") DONE,
    BEGIN ROUNDS SHUFFLE("up", "1", "0") SHUFFLE("up", "5", "0x1800") SHUFFLE("up", "3", "0x1000")
        SHUFFLE("down", "1", "31") SHUFFLE("down", "5", "0x181f") SHUFFLE("down", "9", "0x101f")
            SHUFFLE("bfly", "1", "31") SHUFFLE("bfly", "16", "31") SHUFFLE("bfly", "3", "0x181f") END("4"),
    BEGIN ROUNDS REDUCE("add.u32") REDUCE("add.s32") REDUCE("min.u32") REDUCE("min.s32") REDUCE("max.u32")
        REDUCE("max.s32") REDUCE("and.b32") REDUCE("or.b32") REDUCE("xor.b32") END("4"),
    BEGIN ROUNDS BYTES("%r4", "0xbfffbfff") BYTES("%r5", "0xbfffbfff") BYTES("%r6", "0xbfffbfff")
        PAIRS("add.rn.f16x2", "") PAIRS("sub.rn.f16x2", "") PAIRS("mul.rn.f16x2", "") PAIRS("fma.rn.f16x2", ", %r6")
            END("256"),
    BEGIN ROUNDS SIX(PAIR_F16) SUMS MMA("m16n8k16.row.col.f32.f16.f16.f32", A4, B2)
        MMA("m16n8k8.row.col.f32.f16.f16.f32", A2, B1) END("4"),
    BEGIN ROUNDS SIX(PAIR_BF16) SUMS MMA("m16n8k16.row.col.f32.bf16.bf16.f32", A4, B2)
        MMA("m16n8k8.row.col.f32.bf16.bf16.f32", A2, B1) END("4"),
    BEGIN ROUNDS SIX(ONE_TF32) SUMS MMA("m16n8k8.row.col.f32.tf32.tf32.f32", A4, B2)
        MMA("m16n8k4.row.col.f32.tf32.tf32.f32", A2, B1) END("4"),
    BEGIN ROUNDS SIX_BYTES("0xffffffff") MMA_INT("m16n8k32.row.col.s32.s8.s8.s32", A4, B2)
        MMA_INT("m16n8k16.row.col.s32.u8.u8.s32", A2, B1) END("4"),
    BEGIN ROUNDS SIX_BYTES("0x8f8f8f8f") NO_SUMS MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", A4, B2)
        SIX_BYTES("0x87878787") NO_SUMS MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", A4, B2) END("4"),
    BEGIN ".shared .align 16 .b8 t[4096];\nmul.wide.u32 %d2, %r0, 16;\nadd.u64 %d2, %d0, %d2;\n" RANDOM("%r4")
        RANDOM("%r5") RANDOM("%r6") RANDOM(
            "%r7") "st.global.v4.u32 [%d2+2048], {%r4, %r5, %r6, %r7};\nmembar.gl;\nbar.sync 0;\n"
                   "xor.b32 %r8, %r0, 1;\nmul.wide.u32 %d3, %r8, 16;\nadd.u64 %d3, %d0, %d3;\nmov.u32 %r9, t;\n"
                   "mad.lo.u32 %r10, %r0, 32, %r9;\ncp.async.cg.shared.global [%r10], [%d2+2048], 16;\n"
                   "cp.async.cg.shared.global [%r10+16], [%d3+2048], 16;\ncp.async.wait_all;\nbar.sync 0;\n"
                   "xor.b32 %r8, %r0, 37;\nmad.lo.u32 %r10, %r8, 32, %r9;\nld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r10];\n"
                   "ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r10+16];\n" GATHER("%r4") GATHER("%r5") GATHER("%r6")
                       GATHER("%r7") GATHER("%r12") GATHER("%r13") GATHER("%r14") GATHER("%r15") DONE,
};
